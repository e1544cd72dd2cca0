/*
  A B^T of two sequential AIJ matrices whose types differ ends in a segmentation fault                                       PETSc 3.26.1

  MatMatTransposeMultSymbolic_SeqAIJ_SeqAIJ() transposes B, which gives a matrix of B's type, and sets its type to that of A. MatSetType() destroys
  the data of a matrix whose type changes, and the product reads them.

    ./abt
    Caught signal number 11 SEGV: Segmentation Violation

  It should convert the transpose with MatConvert(), or leave its type alone: all that it needs of it are the arrays of AIJ.
*/
#include <petscmat.h>

int main(int argc, char **argv)
{
  Mat A, B, C;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 2, 2, 2, NULL, &A));
  PetscCall(MatSetValue(A, 0, 1, 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatConvert(A, MATSEQAIJPERM, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatMatTransposeMult(A, B, MAT_INITIAL_MATRIX, PETSC_CURRENT, &C));
  PetscCall(MatView(C, PETSC_VIEWER_STDOUT_SELF));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(PetscFinalize());
  return 0;
}
