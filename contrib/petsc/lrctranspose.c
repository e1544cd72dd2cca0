/*
  MatMultTranspose() and MatMultHermitianTranspose() of MATLRC, A + U C V^H, are wrong if U or V is complex      PETSc 3.26.1, complex scalars, the host

  MatMult_LRC_kernel() exchanges U and V for the transposed product, so it adds V C U^H x. The transpose of U C V^H is conj(V) C U^T.

    ./lrctranspose                   the product with A^T is 1.4 from what it should be

  It should conjugate x before its product with U^H, and the result of the product with V; or have an operation for A^H of its own, which adds
  V conj(C) U^H x, and make the transposed product of it.
*/
#include <petscmat.h>

int main(int argc, char **argv)
{
  Mat               U, V, B;
  Vec               x, y, z;
  const PetscScalar i = PETSC_i;
  PetscReal         wrong;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 1, 1, NULL, &U));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 1, 1, NULL, &V));
  PetscCall(MatSetValue(U, 0, 0, 1.0, INSERT_VALUES));
  PetscCall(MatSetValue(V, 0, 0, (1.0 + i) / PetscSqrtReal(2.0), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(U, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(U, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyBegin(V, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(V, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateLRC(NULL, U, NULL, V, &B));
  PetscCall(MatCreateVecs(B, &x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(B, x, y));
  PetscCall(MatMultTranspose(B, x, z)); /* of a 1 x 1 matrix: the same */
  PetscCall(VecAXPY(z, -1.0, y));
  PetscCall(VecNorm(z, NORM_2, &wrong));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "the product with A^T is %g from what it should be\n", (double)wrong));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&U));
  PetscCall(MatDestroy(&V));
  PetscCall(PetscFinalize());
  return wrong > PETSC_SQRT_MACHINE_EPSILON ? 1 : 0;
}
