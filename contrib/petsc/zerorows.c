/*
  MatZeroRows() with a diagonal loses diagonals, and writes into freed memory, where a row has no room                      PETSc 3.26.1

  MatZeroRows_SeqAIJ() with a pattern that is not kept takes the array of values once, before its loop. For an empty row it calls
  MatSetValues(), which may allocate the arrays anew; the diagonals of the rows after it go into the old array.

    ./zerorows -malloc_debug
    Memory at address ... is corrupted
    valgrind ./zerorows
    Invalid write of size 8 at MatZeroRows_SeqAIJ

  With this the program prints 9 of 9, and neither tool complains:

  +          PetscCall(MatSeqAIJRestoreArray(A, &aa));
             PetscCall(MatSetValues_SeqAIJ(A, 1, &rows[i], 1, &rows[i], &diagv, INSERT_VALUES));
  +          PetscCall(MatSeqAIJGetArray(A, &aa)); // the arrays may have been allocated anew
*/
#include <petscmat.h>

int main(int argc, char **argv)
{
  Mat            A;
  const PetscInt n = 10;
  PetscInt       rows[10], right = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 1, NULL, &A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt i = 1; i < n; i++) PetscCall(MatSetValue(A, i, i, 7.0, INSERT_VALUES)); /* row 0 is empty */
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  for (PetscInt i = 0; i < n; i++) rows[i] = i;
  PetscCall(MatZeroRows(A, n, rows, 3.0, NULL, NULL));
  for (PetscInt i = 1; i < n; i++) {
    PetscScalar value;

    PetscCall(MatGetValue(A, i, i, &value));
    if (value == (PetscScalar)3.0) right++;
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " of %" PetscInt_FMT " diagonals are right\n", right, n - 1));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return right == n - 1 ? 0 : 1;
}
