/*
  MatMatTransposeMult() of parallel AIJ matrices is wrong with MAT_REUSE_MATRIX                           PETSc 3.26.1, two processes or more

  MatProductSymbolic_ABt_MPIAIJ_MPIAIJ() puts B^T in the place of B, product->B, and lets A B's functions do the rest. With MAT_REUSE_MATRIX,
  MatProductReplaceMats() puts B there again, and MatProductNumeric_AB() takes it for B^T: it copies B's values into the arrays of B^T's pattern.

    mpiexec -n 2 ./abtreuse
    A A^T is right at first, wrong when reused

  This matrix has one entry in each row and column. If a process has more entries of B than of B^T, MatMPIAIJGetLocalMat() writes past the end of an
  array, and so does MatGetBrowsOfAoCols_MPIAIJ() if the rows that it sends are longer.

  The product should leave product->B alone, and keep B^T in its own data: the numeric function updates it by MatTranspose() with MAT_REUSE_MATRIX,
  and multiplies with it.
*/
#include <petscmat.h>

int main(int argc, char **argv)
{
  Mat       A, C;
  PetscInt  n = 6, first, last;
  PetscBool initial, reused;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 1, NULL, 1, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i++) PetscCall(MatSetValue(A, i, (i + 1) % n, i + 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatMatTransposeMult(A, A, MAT_INITIAL_MATRIX, PETSC_CURRENT, &C));
  PetscCall(MatMatTransposeMultEqual(A, A, C, 3, &initial));
  PetscCall(MatMatTransposeMult(A, A, MAT_REUSE_MATRIX, PETSC_CURRENT, &C));
  PetscCall(MatMatTransposeMultEqual(A, A, C, 3, &reused));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "A A^T is %s at first, %s when reused\n", initial ? "right" : "wrong", reused ? "right" : "wrong"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&C));
  PetscCall(PetscFinalize());
  return 0;
}
