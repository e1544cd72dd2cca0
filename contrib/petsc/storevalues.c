/*
  MatStoreValues() writes past its array when the pattern has grown since the last call                                   PETSc 3.26.1

  MatStoreValues_SeqAIJ() allocates aij->saved_values once, for the number of nonzeros of the first call, and copies as many as there are now.

    ./storevalues -malloc_debug
    Block ... is corrupted (probably write past end of array)

  It should allocate anew, or raise the error that MatRetrieveValues_SeqAIJ() raises, if the number of nonzeros is another one.
*/
#include <petscmat.h>

int main(int argc, char **argv)
{
  Mat            A;
  const PetscInt n = 50;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 1, NULL, &A));
  for (int diagonals = 1; diagonals <= 3; diagonals++) {
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    for (PetscInt i = 0; i < n; i++) PetscCall(MatSetValue(A, i, (i + diagonals) % n, 1.0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
    PetscCall(MatStoreValues(A));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
