/*
  MatDiagonalSet() of MPIAIJ leaves MatGetRow()'s buffer too short                                      PETSc 3.26.1, two processes

  MatGetRow_MPIAIJ() allocates, at its first call, a buffer for the longest row (mpiaij.c, mat->rowvalues), which MatAssemblyEnd_MPIAIJ()
  frees. MatDiagonalSet() with congruent layouts works on the diagonal block alone: entries that it adds make rows longer, but nothing
  assembles the parallel matrix, and the next MatGetRow() writes past the end.

    mpiexec -n 2 ./rowbuffer
    40 wrong values

  MatDiagonalSet_MPIAIJ() should free mat->rowvalues and mat->rowindices as MatAssemblyEnd_MPIAIJ() does.
*/
#include <petscmat.h>

int main(int argc, char **argv)
{
  Mat      A;
  Vec      d;
  PetscInt n = 40, first, last, count, wrong = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(A, MATMPIAIJ));
  PetscCall(MatMPIAIJSetPreallocation(A, 1, NULL, 1, NULL));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i++) { /* no diagonal */
    PetscCall(MatSetValue(A, i, (i + 1) % n, 1.0, INSERT_VALUES));
    PetscCall(MatSetValue(A, i, (i + 2) % n, 1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  for (int pass = 0; pass < 2; pass++) {
    for (PetscInt i = first; i < last; i++) {
      const PetscInt    *columns;
      const PetscScalar *values;

      PetscCall(MatGetRow(A, i, &count, &columns, &values));
      for (PetscInt k = 0; k < count; k++) {
        if (values[k] != (PetscScalar)(columns[k] == i ? 2.0 : 1.0)) wrong++;
      }
      PetscCall(MatRestoreRow(A, i, &count, &columns, &values));
    }
    PetscCall(MatCreateVecs(A, NULL, &d));
    PetscCall(VecSet(d, 2.0));
    if (!pass) PetscCall(MatDiagonalSet(A, d, INSERT_VALUES));
    PetscCall(VecDestroy(&d));
  }
  PetscCall(MatDestroy(&A));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &wrong, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " wrong values\n", wrong));
  PetscCall(PetscFinalize());
  return wrong ? 1 : 0;
}
