/*
  MatShift() of a parallel matrix writes into a freed matrix where diagonals lie in off-diagonal blocks                     PETSc 3.26.1

  MatShift_Basic() takes the two blocks of an MPIAIJ matrix before its loop, so that it can set their member nonew, and sets it back after
  the assembly. If a diagonal is new in an off-diagonal block, the assembly makes this block anew, and the old one is freed.

    mpiexec -n 2 ./shift
    Caught signal number 11 SEGV: Segmentation Violation

  It should get the blocks again before it sets the member back.
*/
#include <petscmat.h>

int main(int argc, char **argv)
{
  Mat         A;
  PetscMPIInt rank;
  PetscInt    first, last;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  /* the first process has rows 0 to 2 and columns 0 and 1: the diagonal of row 2 is in its off-diagonal block */
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, rank ? 1 : 3, 2, 4, 4, 2, NULL, 2, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i++) PetscCall(MatSetValue(A, i, (i + 3) % 4, 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatShift(A, 1.0));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "MatShift() returned\n"));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
