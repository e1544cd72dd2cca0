static char help[] = "The functions and options of blocklanczos: defaults, what is set, what is refused, solvers of another type.\n\n";

#include <slepccsrc.h>
#include <math.h>
#include "../mat/caught.h"

static PetscInt failed;

static PetscErrorCode Expect(const char what[], PetscBool right)
{
  PetscFunctionBegin;
  if (!right) failed++;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %s\n", right ? "ok" : "FAILED", what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Checks the results of the getters */
static PetscErrorCode ExpectSettings(const char what[], SVD svd, PetscInt bs, PetscReal certify, SVDBlockLanczosForm form)
{
  PetscInt            b = 0;
  PetscReal           g = 0.5;
  SVDBlockLanczosForm f = SVD_BLOCKLANCZOS_FORM_AUTO;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosGetBlockSize(svd, &b));
  PetscCall(SVDBlockLanczosGetCertify(svd, &g));
  PetscCall(SVDBlockLanczosGetForm(svd, &f));
  PetscCall(Expect(what, (PetscBool)(b == bs && g == certify && f == form)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Checks that a call failed with this code and text, and did not change the settings */
static PetscErrorCode ExpectRefused(const char what[], PetscErrorCode ierr, PetscErrorCode code, const char text[])
{
  char *found;

  PetscFunctionBegin;
  PetscCall(PetscStrstr(caught.message, text, &found));
  PetscCall(Expect(what, (PetscBool)(ierr == code && caught.code == code && found)));
  if (ierr != code || !found) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  error %d: %s\n", (int)ierr, caught.message));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A diagonal matrix of 60 x 40 with the values 1 .. 40 */
static PetscErrorCode Create(Mat *A, SVD *svd)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 60, 40, 1, NULL, 1, NULL, A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt i = start; i < PetscMin(end, 40); i++) PetscCall(MatSetValue(*A, i, i, (PetscScalar)(i + 1), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(SVDCreate(PETSC_COMM_WORLD, svd));
  PetscCall(SVDSetOperators(*svd, *A, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solver(SVD svd)
{
  PetscInt  bs, steps = -1, vectors = -1, guards = -1, copies = -1;
  PetscReal sigma;

  PetscFunctionBegin;
  PetscCall(SVDSetType(svd, SVDBLOCKLANCZOS));
  PetscCall(ExpectSettings("defaults", svd, PETSC_DETERMINE, PETSC_DETERMINE, SVD_BLOCKLANCZOS_FORM_AUTO));
  PetscCall(SVDSetUp(svd));
  PetscCall(SVDBlockLanczosGetBlockSize(svd, &bs));
  PetscCall(Expect("set-up chooses a block size", (PetscBool)(bs > 0)));

  PetscCall(SVDBlockLanczosSetBlockSize(svd, 3));
  PetscCall(SVDBlockLanczosSetCertify(svd, 0));
  PetscCall(SVDBlockLanczosSetForm(svd, SVD_BLOCKLANCZOS_FORM_TWOSIDED));
  PetscCall(ExpectSettings("what the functions set", svd, 3, 0, SVD_BLOCKLANCZOS_FORM_TWOSIDED));
  PetscCall(SVDSetUp(svd));
  PetscCall(SVDBlockLanczosGetBlockSize(svd, &bs));
  PetscCall(Expect("set-up takes the block size that was set", (PetscBool)(bs == 3)));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDGetSingularTriplet(svd, 0, &sigma, NULL, NULL));
  PetscCall(SVDBlockLanczosGetCounts(svd, &steps, &vectors, &guards, &copies));
  PetscCall(Expect("the largest value", (PetscBool)(PetscAbsReal(sigma - 40) < 1e-6)));
  PetscCall(Expect("counts: a step multiplies a block, the check one vector; without the guard no block is sent to look", (PetscBool)(steps > 0 && vectors > steps && vectors <= 3 * steps + 1 && !guards && !copies)));

  PetscCall(SVDBlockLanczosSetBlockSize(svd, PETSC_DETERMINE));
  PetscCall(SVDBlockLanczosSetCertify(svd, PETSC_DETERMINE));
  PetscCall(SVDBlockLanczosSetForm(svd, SVD_BLOCKLANCZOS_FORM_AUTO));
  PetscCall(ExpectSettings("the defaults again", svd, PETSC_DETERMINE, PETSC_DETERMINE, SVD_BLOCKLANCZOS_FORM_AUTO));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDBlockLanczosGetCounts(svd, NULL, NULL, &guards, NULL));
  PetscCall(Expect("the default block holds the one triplet wanted, and nothing is left to look for", (PetscBool)!guards));
  PetscCall(SVDBlockLanczosSetBlockSize(svd, 1));
  PetscCall(SVDSetDimensions(svd, 4, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDBlockLanczosGetCounts(svd, NULL, NULL, &guards, NULL));
  PetscCall(Expect("blocks of one column are followed by the guard", (PetscBool)(guards > 0)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Refused(SVD svd)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosSetBlockSize(svd, 5));
  Catch(ierr, SVDBlockLanczosSetBlockSize(svd, 0));
  PetscCall(ExpectRefused("block size 0", ierr, PETSC_ERR_ARG_OUTOFRANGE, "Block size 0"));
  Catch(ierr, SVDBlockLanczosSetBlockSize(svd, -7));
  PetscCall(ExpectRefused("block size -7", ierr, PETSC_ERR_ARG_OUTOFRANGE, "Block size -7"));
  Catch(ierr, SVDBlockLanczosSetCertify(svd, (PetscReal)1.5));
  PetscCall(ExpectRefused("a gap of 1.5", ierr, PETSC_ERR_ARG_OUTOFRANGE, "1.5"));
  Catch(ierr, SVDBlockLanczosSetCertify(svd, (PetscReal)NAN));
  PetscCall(ExpectRefused("a gap that is no number", ierr, PETSC_ERR_ARG_OUTOFRANGE, "nan"));
  Catch(ierr, SVDBlockLanczosSetForm(svd, (SVDBlockLanczosForm)7));
  PetscCall(ExpectRefused("form 7", ierr, PETSC_ERR_ARG_OUTOFRANGE, "7"));
  PetscCall(ExpectSettings("what is refused changes nothing", svd, 5, PETSC_DETERMINE, SVD_BLOCKLANCZOS_FORM_AUTO));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With a solver of another type, setters do nothing and getters are an error */
static PetscErrorCode Other(SVD svd)
{
  PetscErrorCode      ierr[4];
  PetscInt            bs;
  PetscReal           certify;
  PetscBool           right = PETSC_TRUE;
  SVDBlockLanczosForm form;

  PetscFunctionBegin;
  PetscCall(SVDSetType(svd, SVDCROSS));
  PetscCall(SVDBlockLanczosSetBlockSize(svd, 3));
  PetscCall(SVDBlockLanczosSetCertify(svd, 0));
  PetscCall(SVDBlockLanczosSetForm(svd, SVD_BLOCKLANCZOS_FORM_ATA));
  Catch(ierr[0], SVDBlockLanczosGetBlockSize(svd, &bs));
  Catch(ierr[1], SVDBlockLanczosGetCertify(svd, &certify));
  Catch(ierr[2], SVDBlockLanczosGetForm(svd, &form));
  Catch(ierr[3], SVDBlockLanczosGetCounts(svd, &bs, NULL, NULL, NULL));
  for (int k = 0; k < 4; k++) right = (PetscBool)(right && ierr[k] == PETSC_ERR_SUP);
  PetscCall(Expect("getters of a solver of another type", right));
  PetscCall(SVDSetType(svd, SVDBLOCKLANCZOS));
  PetscCall(ExpectSettings("a new type begins with its defaults", svd, PETSC_DETERMINE, PETSC_DETERMINE, SVD_BLOCKLANCZOS_FORM_AUTO));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Options(SVD svd)
{
  const char *const options[][2] = {
    {"-p_svd_blocklanczos_blocksize", "6"  },
    {"-p_svd_blocklanczos_certify",   "0"  },
    {"-p_svd_blocklanczos_form",      "ata"}
  };

  PetscFunctionBegin;
  PetscCall(SVDSetOptionsPrefix(svd, "p_"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(options); k++) PetscCall(PetscOptionsSetValue(NULL, options[k][0], options[k][1]));
  PetscCall(SVDSetFromOptions(svd));
  PetscCall(ExpectSettings("what options with a prefix set", svd, 6, 0, SVD_BLOCKLANCZOS_FORM_ATA));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(options); k++) PetscCall(PetscOptionsClearValue(NULL, options[k][0]));
  PetscCall(SVDSetFromOptions(svd));
  PetscCall(ExpectSettings("no option leaves what is set", svd, 6, 0, SVD_BLOCKLANCZOS_FORM_ATA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat A;
  SVD svd;

  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(SlepcCSRCInitializePackage());
  PetscCall(Create(&A, &svd));
  PetscCall(Solver(svd));
  PetscCall(SVDBlockLanczosSetBlockSize(svd, PETSC_DETERMINE));
  PetscCall(Refused(svd));
  PetscCall(Other(svd));
  PetscCall(Options(svd));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscCall(SlepcFinalize());
  return failed ? 1 : 0;
}

/*TEST

  build:
    requires: double

  test:
    suffix: 1
    nsize: {{1 2}}

TEST*/
