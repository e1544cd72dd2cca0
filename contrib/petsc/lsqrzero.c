/*
  KSPLSQR divides by zero if A^T b = 0, where x = 0 is the solution                                                                   PETSc 3.26.1

  KSPSolve_LSQR() tests at its beginning whether b - A x is zero, but not whether A^T (b - A x) is, which is the residual of a least-squares problem.
  alpha is then zero, V is scaled by 1 / alpha, and the solve ends with KSP_DIVERGED_NANORINF; with a preconditioner it ends with
  KSP_DIVERGED_BREAKDOWN.

    ./lsqrzero
    reason -9 after 0 iterations, |x| = 0.

  After alpha has been computed the function should end if it is zero, with x as it is and a reason that says so: KSP_CONVERGED_ATOL_NORMAL, or that of
  KSPLSQRConvergedDefault() with an arnorm of zero, as it ends when arnorm is zero later.
*/
#include <petscksp.h>

int main(int argc, char **argv)
{
  Mat                A;
  Vec                b, x;
  KSP                ksp;
  PC                 pc;
  PetscInt           its;
  PetscReal          norm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  /* b is orthogonal to the columns of A */
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 3, 2, 1, NULL, &A));
  for (PetscInt i = 0; i < 2; i++) PetscCall(MatSetValue(A, i, i, 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetValue(b, 2, 1.0, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPLSQR));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(VecNorm(x, NORM_2, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "reason %d after %" PetscInt_FMT " iterations, |x| = %g\n", (int)reason, its, (double)norm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
