static const char help[] = "On a device a second solve copies nothing that is as long as the matrix, neither blocklanczos' nor SLEPc's.\n\n";

#include <slepccsrc.h>

/* m x n, some entries in each row, and a few large ones on the diagonal, so that solves are short */
static PetscErrorCode CreateMatrix(PetscInt m, PetscInt n, Mat *A)
{
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, m, n));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt k = 1; k < 5; k++) PetscCall(MatSetValue(*A, i, (i + 101 * k * k) % n, (PetscReal)((7 * i + 3 * k) % 11 - 5) / 4, ADD_VALUES));
    PetscCall(MatSetValue(*A, i, i % n, i < 40 ? 100 - 2 * i : 1, ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /* SLEPc's solvers generate their starting vector on the host */
  const struct {
    const char *type;
    PetscInt    vectors;
  } solvers[] = {
    {SVDBLOCKLANCZOS, 0},
    {SVDTRLANCZOS,    1},
    {SVDCROSS,        1},
    {SVDLANCZOS,      1},
    {SVDCYCLIC,       3}  /* m + n */
  };
  const PetscInt m = 200000, n = 100000;
  PetscInt       bad = 0;
  Mat            A;

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(SlepcCSRCInitializePackage());
  PetscCall(PetscLogDefaultBegin());
  PetscCall(CreateMatrix(m, n, &A));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(solvers); k++) {
    SVD                svd;
    PetscLogStage      stage;
    PetscEventPerfInfo info;
    PetscInt           nconv;

    PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
    PetscCall(SVDSetOperators(svd, A, NULL));
    PetscCall(SVDSetType(svd, solvers[k].type));
    PetscCall(SVDSetDimensions(svd, 8, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(SVDSolve(svd));
    PetscCall(SVDSetOperators(svd, A, NULL));
    PetscCall(PetscLogStageRegister(solvers[k].type, &stage));
    PetscCall(PetscLogStagePush(stage));
    PetscCall(SVDSolve(svd));
    PetscCall(PetscLogStagePop());
    PetscCall(SVDGetConverged(svd, &nconv));
    PetscCall(PetscLogStageGetPerfInfo(stage, &info));
    PetscCall(PetscInfo(svd, "%s: %g bytes to the device, %g to the host\n", solvers[k].type, info.CpuToGpuSize, info.GpuToCpuSize));
    if (nconv < 8 || info.CpuToGpuSize + info.GpuToCpuSize > (solvers[k].vectors + 0.75) * n * sizeof(PetscScalar)) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " triplets, %g bytes to the device, %g to the host\n", solvers[k].type, nconv, info.CpuToGpuSize, info.GpuToCpuSize));
      bad++;
    }
    PetscCall(SVDDestroy(&svd));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " faults\n", bad));
  PetscCall(MatDestroy(&A));
  PetscCall(SlepcFinalize());
  return 0;
}

/*TEST

  build:
    requires: cuda

  test:
    suffix: gpu
    args: -mat_type csrccuda

TEST*/
