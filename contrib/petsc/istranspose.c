/*
  MatIsTranspose() of parallel AIJ matrices is wrong for rectangular ones, and may differ between processes   PETSc 3.26.1, two processes

  MatIsTranspose_MPIAIJ() compares the off-diagonal block of A on each process with the transposed block of B. It makes the list of the block's
  columns, notme, from the ownership range of A's rows, and up to the number of rows, M, in an array for the number of columns, N. With M > N it
  writes past the end of the array and leaves columns out; with M < N it leaves the last elements unset; with more rows than N on a process the
  array's length is negative. Nothing combines the answers for these blocks, so that processes may return different ones.

    mpiexec -n 2 ./istranspose
    B = 2 A^T is A^T on 2 of 2 processes for the entry (0, 2), on 1 for (0, 3)

  It should list the columns below A->cmap->rstart and from A->cmap->rend to N, and combine the answers as it does for the diagonal blocks.
*/
#include <petscmat.h>

int main(int argc, char **argv)
{
  Mat         A, B;
  PetscBool   transpose;
  PetscInt    yes[2];
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 6, 4, 1, NULL, 1, NULL, &A));
    PetscCall(MatSetValue(A, 0, 2 + k, 1.0, INSERT_VALUES)); /* in the off-diagonal block of the first process */
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &B));
    PetscCall(MatScale(B, 2.0));
    PetscCall(MatIsTranspose(A, B, 0.0, &transpose));
    yes[k] = transpose ? 1 : 0;
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, yes, 2, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "B = 2 A^T is A^T on %" PetscInt_FMT " of %d processes for the entry (0, 2), on %" PetscInt_FMT " for (0, 3)\n", yes[0], size, yes[1]));
  PetscCall(PetscFinalize());
  return 0;
}
