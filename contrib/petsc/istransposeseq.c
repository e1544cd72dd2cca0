/*
  MatIsTranspose() of sequential AIJ matrices says yes if B has the entries of A^T and more                                   PETSc 3.26.1

  MatIsTranspose_SeqAIJ() goes through the entries of A only, and looks up each of them in B. Nothing counts the entries of B that are left over.
  For a row of B without entries it reads the first entry of a later row, or past the end of the array.

    ./istransposeseq
    B is A^T: 1, A is B^T: 0

  The function should also ask that bptr[i] is bii[i + 1] at its end, for each row of B, and that bptr[idc] is below bii[idc + 1] before it reads. So
  should MatIsHermitianTranspose_SeqAIJ().
*/
#include <petscmat.h>

int main(int argc, char **argv)
{
  Mat       A, B;
  PetscBool ab, ba;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 2, 2, 2, NULL, &A));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 2, 2, 2, NULL, &B));
  for (PetscInt i = 0; i < 2; i++) {
    PetscCall(MatSetValue(A, i, i, 1.0, INSERT_VALUES));
    PetscCall(MatSetValue(B, i, i, 1.0, INSERT_VALUES));
  }
  PetscCall(MatSetValue(B, 0, 1, 5.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatIsTranspose(A, B, 0.0, &ab));
  PetscCall(MatIsTranspose(B, A, 0.0, &ba));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "B is A^T: %d, A is B^T: %d\n", ab, ba));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFinalize());
  return 0;
}
