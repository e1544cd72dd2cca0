static const char help[] = "Steps that leave out the pass against the whole basis: most do, and values, vectors and counts of steps are what they are without.\n";

#include "check.h"
#include <support.h>

#define NSV 16

/* Gets the number of short steps of a solve from SVDView() */
static PetscErrorCode CountShort(SVD svd, PetscInt *shorts)
{
  PetscViewer viewer;
  FILE       *file = tmpfile();
  char        line[256];
  int         steps, n = -1;

  PetscFunctionBegin;
  PetscCheck(file, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "No temporary file");
  PetscCall(PetscViewerASCIIOpenWithFILE(PetscObjectComm((PetscObject)svd), file, &viewer));
  PetscCall(SVDView(svd, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  rewind(file);
  while (n < 0 && fgets(line, sizeof(line), file)) {
    if (sscanf(line, " last solve: %d steps, of which %d short", &steps, &n) != 2) n = -1;
  }
  *shorts = n;
  PetscCallMPI(MPI_Bcast(shorts, 1, MPIU_INT, 0, PetscObjectComm((PetscObject)svd)));
  fclose(file);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With PETSC_FALSE all steps are full. Users do not need this, so the solver has only a composed function for it */
static PetscErrorCode SetShortSteps(SVD svd, PetscBool shortsteps)
{
  PetscErrorCode (*set)(SVD, PetscBool);

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)svd, "SVDBlockLanczosSetShortSteps_C", &set));
  PetscCheck(set, PetscObjectComm((PetscObject)svd), PETSC_ERR_SUP, "The solver composes no SVDBlockLanczosSetShortSteps_C");
  PetscCall((*set)(svd, shortsteps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Mat A, PetscBool shortsteps, const PetscReal expected[], PetscReal values[], SVDCheck *check, PetscInt *steps, PetscInt *shorts)
{
  SVD svd;

  PetscFunctionBegin;
  PetscCall(SVDCheckCreateSolver(A, NSV, &svd));
  PetscCall(SetShortSteps(svd, shortsteps));
  PetscCall(SVDSolve(svd));
  for (PetscInt i = 0; i < NSV; i++) PetscCall(SVDGetSingularTriplet(svd, i, &values[i], NULL, NULL));
  PetscCall(SVDCheckSolution(svd, NSV, expected, check));
  PetscCall(SVDBlockLanczosGetCounts(svd, steps, NULL, NULL, NULL));
  PetscCall(CountShort(svd, shorts));
  PetscCall(SVDDestroy(&svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *names[] = {"GL7d16-fixed", "rail4284", "ESOC", "12month1-fixed"};
  PetscReal   scale[] = {0.02, 0.05, 0.02, 0.02}; /* larger than the basis: without room in the space all steps are full */
  PetscInt    bad     = 0;

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(SlepcCSRCInitializePackage());
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(names); i++) {
    Mat       A;
    PetscReal values[2][NSV];
    SVDCheck  full, some;
    PetscInt  steps[2], shorts[2];

    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetFromOptions(A));
    PetscCall(MatFillStandin(A, names[i], scale[i]));
    PetscCall(Solve(A, PETSC_FALSE, NULL, values[0], &full, &steps[0], &shorts[0]));
    PetscCall(Solve(A, PETSC_TRUE, values[0], values[1], &some, &steps[1], &shorts[1]));
    PetscCall(PetscInfo(A, "%s: %" PetscInt_FMT " steps, %" PetscInt_FMT " of %" PetscInt_FMT " short; values differ by %.1e, orthogonality %.1e and %.1e, residuals %.1e and %.1e\n", names[i], steps[0], shorts[1], steps[1], (double)some.value,
                        (double)full.orthogonal, (double)some.orthogonal, (double)full.residual, (double)some.residual));
    /* on a device the order of sums varies, so a convergence check may have another result */
    if (shorts[0] || 2 * shorts[1] < steps[1] || PetscAbsInt(steps[0] - steps[1]) > 1 + steps[0] / 20 || some.n < NSV || some.value > 1e-12 || some.orthogonal > 1e-13 || some.residual > 1e-8) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " steps, and %" PetscInt_FMT " with %" PetscInt_FMT " short ones; values differ by %.1e, orthogonality %.1e, residuals %.1e\n", names[i], steps[0], steps[1], shorts[1],
                            (double)some.value, (double)some.orthogonal, (double)some.residual));
      bad++;
    }
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " faults\n", bad));
  PetscCall(SlepcFinalize());
  return 0;
}

/*TEST

  build:
    depends: check.c
    requires: double

  testset:
    output_file: output/shortsteps_1.out
    test:
      suffix: 1
      nsize: {{1 3}}
      args: -mat_type {{aij csrccuda}} -svd_blocklanczos_blocksize {{2 4 8}} -svd_blocklanczos_certify 0
    test:
      suffix: gpu
      args: -mat_type {{csrccuda aijcusparse}} -svd_blocklanczos_blocksize {{2 4 8 16}} -svd_blocklanczos_certify 0

TEST*/
