static char help[] = "On a device, a second solve copies neither the matrix nor a vector between host and device, and what changes or copies a matrix no values to the host.\n\n";

#include "reference.h"
#include <petscksp.h>

/* Bytes copied between host and device in a stage of the log */
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

/* Operations on a matrix whose newest values are on the device */
typedef enum {
  TRANSPOSE,
  TRANSPOSE_AGAIN,
  TRANSPOSE_IN_PLACE,
  SHIFT,
  DIAGONAL_SET,
  DUPLICATE,
  DUPLICATE_PATTERN,
  CHANGES
} Change;
static const char *const ChangeNames[] = {"transpose", "transpose again", "transpose in place", "shift", "diagonal set", "duplicate", "duplicate without values"};

/* Applies the operation to A, where B is or becomes its transpose, and reports if half of the values or more were copied */
static PetscErrorCode DoChange(Mat A, Mat *B, Vec b, Change change)
{
  PetscLogStage  stage;
  PetscLogDouble tohost = 0, todevice = 0, values, pattern = 0;
  MatInfo        info;
  PetscInt       n;
  Mat            C = NULL;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  values = info.nz_used * sizeof(PetscScalar);
  if (change == TRANSPOSE || change == TRANSPOSE_IN_PLACE) pattern = (info.nz_used + n + 1) * sizeof(PetscInt); /* AIJ has the pattern on the host */
  PetscCall(MatScale(change == TRANSPOSE_IN_PLACE ? *B : A, 2));
  PetscCall(PetscLogStageRegister(ChangeNames[change], &stage));
  PetscCall(PetscLogStagePush(stage));
  switch (change) {
  case TRANSPOSE:
    PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, B));
    break;
  case TRANSPOSE_AGAIN:
    PetscCall(MatTranspose(A, MAT_REUSE_MATRIX, B));
    break;
  case TRANSPOSE_IN_PLACE:
    PetscCall(MatTranspose(*B, MAT_INPLACE_MATRIX, B));
    break;
  case SHIFT:
    PetscCall(MatShift(A, 3));
    break;
  case DIAGONAL_SET:
    PetscCall(MatDiagonalSet(A, b, ADD_VALUES));
    break;
  default:
    PetscCall(MatDuplicate(A, change == DUPLICATE ? MAT_COPY_VALUES : MAT_DO_NOT_COPY_VALUES, &C));
    break;
  }
  PetscCall(PetscLogStagePop());
  PetscCall(MatDestroy(&C));
  PetscCall(Copied(stage, &tohost, &todevice));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: values go to the host: %s", ChangeNames[change], tohost < pattern + values / 2 ? "no" : "yes"));
  if (tohost >= pattern + values / 2) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " (%g bytes; values have %g and the pattern %g)", tohost, values, pattern));
  if (change == TRANSPOSE_AGAIN || change == SHIFT || change == DIAGONAL_SET) { /* a new matrix gets its arrays from the host */
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", to the device: %s", todevice < values / 2 ? "no" : "yes"));
    if (todevice >= values / 2) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " (%g bytes)", todevice));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt n = 20000;
  Mat            A, B;
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
  PetscCall(KSPSetType(ksp, KSPLSQR)); /* products with A and A^T in every iteration */
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

  for (int change = 0; change < CHANGES; change++) PetscCall(DoChange(A, &B, b, (Change)change));

  PetscCall(MatDestroy(&B));
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
