static const char help[] = "What is certified about missed values: copies close above dense spectra, wrong settings, matrices that are not finite.\n";

#include "check.h"

static PetscInt faults = 0;

static PetscErrorCode Expect(PetscBool right, const char format[], ...)
{
  char    what[256];
  va_list args;

  PetscFunctionBeginUser;
  if (right) PetscFunctionReturn(PETSC_SUCCESS);
  va_start(args, format);
  PetscCall(PetscVSNPrintf(what, sizeof(what), format, NULL, args));
  va_end(args);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "FAULT %s\n", what));
  faults++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies of 1 above equidistant values in [low, 1 - distance]: all copies are found, or the bound of the certificate is at least 1 */
static PetscErrorCode DenseSpectrum(PetscInt n, PetscInt copies, PetscReal low, PetscReal distance, PetscReal gap)
{
  Mat       A;
  SVD       svd;
  PetscReal bound, *s;
  PetscInt  found = 0, ncertain;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n, &s));
  for (PetscInt i = 0; i < n; i++) s[i] = i < copies ? 1 : 1 - distance - (1 - distance - low) * (i - copies) / (n - copies);
  PetscCall(SVDCheckCreateDiagonal(n, s, &A));
  PetscCall(SVDCheckCreateSolver(A, copies, &svd));
  PetscCall(SVDBlockLanczosSetCertify(svd, gap, PETSC_DETERMINE));
  PetscCall(SVDSolve(svd));
  for (PetscInt i = 0; i < copies; i++) {
    PetscReal sigma;

    PetscCall(SVDGetSingularTriplet(svd, i, &sigma, NULL, NULL));
    if (PetscAbsReal(sigma - 1) < 1e-10) found++;
  }
  PetscCall(SVDBlockLanczosGetCertificate(svd, &ncertain, &bound, NULL));
  PetscCall(Expect((PetscBool)(ncertain == copies), "%" PetscInt_FMT " copies %g above [%g, ..]: certified for %" PetscInt_FMT, copies, (double)distance, (double)low, ncertain));
  PetscCall(Expect((PetscBool)(found == copies || bound >= 1), "%" PetscInt_FMT " copies %g above [%g, ..]: %" PetscInt_FMT " found, although %g is certified", copies, (double)distance, (double)low, found, (double)bound));
  PetscCall(Expect((PetscBool)(found == copies || distance < gap), "%" PetscInt_FMT " copies %g above [%g, ..]: %" PetscInt_FMT " found", copies, (double)distance, (double)low, found));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve that must fail with the given error */
static PetscErrorCode Fails(const char what[], PetscReal entry, PetscErrorCode error)
{
  const PetscReal s[] = {entry, 3, 2, 1};
  PetscErrorCode  ierr;
  Mat             A;
  SVD             svd;

  PetscFunctionBeginUser;
  PetscCall(SVDCheckCreateDiagonal(4, s, &A));
  PetscCall(SVDCheckCreateSolver(A, 2, &svd));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = SVDSolve(svd);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Expect((PetscBool)(ierr == error), "%s: error %d", what, (int)ierr));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values at all scales that a number can have; most are so small that a product with a random block does not show the largest */
static PetscErrorCode Scales(void)
{
  const PetscReal scales[] = {1e-318, 1e-310, 1e-300, 1e-160, 1e-100, 1e100, 1e160, 1e300, 1e307, 1.7e308};

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(scales); k++) {
    PetscReal s[800], sigma;
    Mat       A;
    SVD       svd;

    for (PetscInt i = 0; i < 800; i++) s[i] = (i < 40 ? 1 - i / 50.0 : 0.01) * scales[k];
    PetscCall(SVDCheckCreateDiagonal(800, s, &A));
    PetscCall(SVDCheckCreateSolver(A, 3, &svd));
    PetscCall(SVDSolve(svd));
    for (PetscInt i = 0; i < 3; i++) {
      PetscCall(SVDGetSingularTriplet(svd, i, &sigma, NULL, NULL));
      PetscCall(Expect((PetscBool)(PetscAbsReal(sigma - s[i]) <= 1e-5 * s[0]), "scale %g: value %" PetscInt_FMT " is %g, not %g", (double)scales[k], i, (double)sigma, (double)s[i]));
    }
    PetscCall(SVDDestroy(&svd));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Setters, getters, and an effort that does not suffice */
static PetscErrorCode Settings(void)
{
  PetscReal s[800], gap, effort, bound, chance, sigma;
  PetscInt  ncertain;
  Mat       A;
  SVD       svd;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 800; i++) s[i] = i < 6 ? 1 : 1 - 1e-4 - i * 1e-6;
  PetscCall(SVDCheckCreateDiagonal(800, s, &A));
  PetscCall(SVDCheckCreateSolver(A, 6, &svd));
  PetscCall(SVDBlockLanczosGetCertify(svd, &gap, &effort));
  PetscCall(Expect((PetscBool)(gap == (PetscReal)1e-3 && effort == 4), "defaults %g, %g", (double)gap, (double)effort));
  PetscCall(SVDBlockLanczosGetCertificate(svd, &ncertain, &bound, &chance));
  PetscCall(Expect((PetscBool)(ncertain < 0 && bound == PETSC_INFINITY), "a certificate before a solve"));
  PetscCall(SVDBlockLanczosSetCertify(svd, 1e-9, 0.1));
  PetscCall(SVDBlockLanczosSetCertify(svd, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(SVDBlockLanczosGetCertify(svd, &gap, &effort));
  PetscCall(Expect((PetscBool)(gap == (PetscReal)1e-9 && effort == (PetscReal)0.1), "settings %g, %g", (double)gap, (double)effort));
  PetscCall(SVDBlockLanczosSetBlockSize(svd, 2));
  PetscCall(SVDSolve(svd)); /* prints on stderr that the effort did not suffice */
  PetscCall(SVDBlockLanczosGetCertificate(svd, &ncertain, &bound, &chance));
  PetscCall(SVDGetSingularTriplet(svd, 5, &sigma, NULL, NULL));
  PetscCall(Expect((PetscBool)(ncertain < 0 || bound > sigma * (1 + 1e-8)), "more is certified than the effort allows: %g above %g", (double)bound, (double)sigma));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(SlepcCSRCInitializePackage());
  PetscCall(DenseSpectrum(2000, 8, 0.5, 1e-3, 1e-3));
  PetscCall(DenseSpectrum(2000, 8, 0.985, 5e-4, 1e-3));
  PetscCall(DenseSpectrum(2000, 8, 0.985, 5e-4, 2.5e-4));
  PetscCall(DenseSpectrum(2000, 8, 0.9, 1e-4, 5e-5));
  PetscCall(DenseSpectrum(3000, 12, 0.99, 1e-5, 1e-3));
  PetscCall(DenseSpectrum(3000, 12, 0.99, 1e-5, 5e-6));
  PetscCall(DenseSpectrum(400, 8, 0.995, 1e-5, 5e-6));
  PetscCall(DenseSpectrum(2000, 8, 0.5, 5e-3, 1e-3));
  PetscCall(DenseSpectrum(2000, 8, 0, 1e-3, 1e-3));
  PetscCall(Fails("NaN", NAN, PETSC_ERR_FP));
  PetscCall(Fails("Inf", INFINITY, PETSC_ERR_FP));
  PetscCall(Scales());
  PetscCall(Settings());
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " faults\n", faults));
  PetscCall(SlepcFinalize());
  return 0;
}

/*TEST

  build:
    depends: check.c
    requires: double

  test:
    suffix: 1
    nsize: {{1 2}}
    filter: grep -E "FAULT|faults"

TEST*/
