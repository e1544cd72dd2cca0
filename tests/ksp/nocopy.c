static char help[] = "On a device no solver copies a vector in a product, nor more than a few numbers an iteration elsewhere.\n\n";

#include "systems.h"

/* Checks the second solve, when the form and all vectors are on the device */
static PetscErrorCode Check(const SystemSolver *solver, Mat A, PetscInt *bad)
{
  const char        *events[] = {"MatMult", "MatMultTranspose", "MatMultAdd", "MatMultTrAdd", "MatMultHermitianTranspose"};
  KSP                ksp;
  Vec                x, b;
  PetscLogStage      stage;
  PetscEventPerfInfo info;
  PetscInt           its;
  int                products = 0;
  KSPConvergedReason reason;
  SystemHistory     *history;

  PetscFunctionBegin;
  PetscCall(SystemCreateSolver(solver, A, &ksp, &history));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SystemVec(1, b));
  PetscCall(VecScale(b, 2.0)); /* moves b to the device, where copies of it are then made */
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscLogStageRegister(solver->ksp, &stage));
  PetscCall(PetscLogStagePush(stage));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscLogStagePop());
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  for (size_t e = 0; e < PETSC_STATIC_ARRAY_LENGTH(events); e++) {
    PetscLogEvent id;

    PetscCall(PetscLogEventGetId(events[e], &id));
    if (id < 0) continue;
    PetscCall(PetscLogEventGetPerfInfo(stage, id, &info));
    products += info.count;
    if (info.CpuToGpuCount || info.GpuToCpuCount) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %g copies to the device and %g to the host in %d %s\n", solver->ksp, info.CpuToGpuCount, info.GpuToCpuCount, info.count, events[e]));
      (*bad)++;
    }
  }
  PetscCall(PetscLogStageGetPerfInfo(stage, &info));
  PetscCall(PetscInfo(ksp, "%s: %" PetscInt_FMT " iterations, %d products, %g bytes to the device, %g to the host\n", solver->ksp, its, products, info.CpuToGpuSize, info.GpuToCpuSize));
  if (reason <= 0 || products < its || info.CpuToGpuSize > 1024.0 * its || info.GpuToCpuSize > 1024.0 * its) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s, %" PetscInt_FMT " iterations, %d products, %g bytes to the device, %g to the host\n", solver->ksp, KSPConvergedReasons[reason], its, products, info.CpuToGpuSize, info.GpuToCpuSize));
    (*bad)++;
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat      square, tall;
  PetscInt bad = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(SystemConvection(60, PETSC_FALSE, &square)); /* vectors of 29 kB: one copy in each iteration would be noticed */
  PetscCall(SystemTall(9000, 4000, PETSC_FALSE, &tall));
  for (PetscInt k = 0; k < SystemNumSolvers; k++) {
    /* in complex arithmetic PETSc's CGNE uses A^T in place of A^H */
    if (PetscDefined(USE_COMPLEX) && !strcmp(SystemSolvers[k].ksp, KSPCGNE)) continue;
    if (!SystemSolvers[k].host) PetscCall(Check(&SystemSolvers[k], SystemSolvers[k].tall ? tall : square, &bad));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " faults\n", bad));
  PetscCall(MatDestroy(&square));
  PetscCall(MatDestroy(&tall));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: systems.c
    requires: cuda

  test:
    suffix: gpu
    args: -mat_type csrccuda

TEST*/
