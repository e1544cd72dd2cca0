static char help[] = "A second solve on a device copies neither the matrix nor a vector between host and device.\n\n";

#include "reference.h"
#include <petscksp.h>

/* Bytes that went between host and device in a stage of the log */
static PetscErrorCode Copied(PetscLogStage stage, PetscLogDouble *tohost, PetscLogDouble *todevice)
{
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  PetscCall(PetscLogStageGetPerfInfo(stage, &info));
  *tohost   = info.GpuToCpuSize;
  *todevice = info.CpuToGpuSize;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(KSP ksp, Vec b, Vec x, PetscLogStage stage)
{
  PetscFunctionBegin;
  PetscCall(PetscLogStagePush(stage));
  PetscCall(VecSet(x, 0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscLogStagePop());
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt n = 20000;
  Mat            A;
  Vec            b, x;
  KSP            ksp;
  PC             pc;
  PetscInt       first, last;
  PetscLogStage  stages[3];
  PetscLogDouble tohost, todevice;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PetscLogStageRegister("first", &stages[0]));
  PetscCall(PetscLogStageRegister("second", &stages[1]));
  PetscCall(PetscLogStageRegister("new values", &stages[2]));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt k = 0; k < 10; k++) PetscCall(MatSetValue(A, i, (i + k * k) % n, k ? ReferenceValue(1, 10 * i + k) : (PetscScalar)8.0, ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPLSQR)); /* A and A^T at every iteration */
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_CURRENT, PETSC_CURRENT, 40));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Solve(ksp, b, x, stages[0]));
  PetscCall(Solve(ksp, b, x, stages[1]));
  PetscCall(MatScale(A, 2));
  PetscCall(Solve(ksp, b, x, stages[2]));

  PetscCall(Copied(stages[0], &tohost, &todevice));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "first solve: the matrix goes to the device: %s\n", todevice >= 10.0 * (last - first) * sizeof(PetscScalar) ? "yes" : "no"));
  PetscCall(Copied(stages[1], &tohost, &todevice));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "second solve: as much as a vector goes to the device: %s, to the host: %s\n", todevice >= (double)(last - first) * sizeof(PetscScalar) ? "yes" : "no",
                        tohost >= (double)(last - first) * sizeof(PetscScalar) ? "yes" : "no"));
  PetscCall(Copied(stages[2], &tohost, &todevice));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "after new values: they go to the device: %s\n", todevice >= 10.0 * (last - first) * sizeof(PetscScalar) ? "yes" : "no"));

  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c
    requires: cuda

  test:
    suffix: gpu
    args: -mat_type csrccuda

TEST*/
