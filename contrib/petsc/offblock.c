/*
  MatFindOffBlockDiagonalEntries() of parallel AIJ matrices crashes if the off-diagonal block has no zero row       PETSc 3.26.1, two processes

  MatFindOffBlockDiagonalEntries_MPIAIJ() calls MatFindNonzeroRows() for the off-diagonal block. This returns NULL in place of an IS when all rows have
  nonzeros, so also on a process without rows, and ISGetSize() dereferences it.

    mpiexec -n 2 ./offblock
    Caught signal number 11 SEGV: Segmentation Violation

  It should take NULL for all local rows.
*/
#include <petscmat.h>

int main(int argc, char **argv)
{
  Mat      A;
  IS       rows;
  PetscInt n = 4, first, last, count;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 0, NULL, 1, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i++) PetscCall(MatSetValue(A, i, (i + n / 2) % n, 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatFindOffBlockDiagonalEntries(A, &rows));
  PetscCall(ISGetSize(rows, &count));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " rows\n", count)); /* 4 */
  PetscCall(ISDestroy(&rows));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
