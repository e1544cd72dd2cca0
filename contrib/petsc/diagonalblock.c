/*
  MatMultDiagonalBlock() of sequential AIJ matrices multiplies with the diagonal blocks of the last MatSOR(): old values,             PETSc 3.26.1
  or a segmentation fault

  MatMultDiagonalBlock_SeqAIJ_Inode() reads a->inode.bdiag, which only MatInvertDiagonalForSOR_SeqAIJ_Inode() allocates and sets. Before the first
  MatSOR() it is NULL, and after a change of the values it is out of date.

    ./diagonalblock
    3, not 6
    Caught signal number 11 SEGV: Segmentation Violation

  The function should copy the diagonal blocks itself if a->inode.ibdiagState is not the matrix's state.

  Without inodes there is no such function, but MPIAIJ always has MatMultDiagonalBlock_MPIAIJ(), so that MatHasOperation() does not tell. Thus
  PCEISENSTAT stops on two processes, with "No method multdiagonalblock for Mat of type seqaij" (src/ksp/ksp/tutorials/ex2.c, -pc_type eisenstat).
  MPIAIJ should have the function only if its diagonal block has it.
*/
#include <petscmat.h>

int main(int argc, char **argv)
{
  Mat               A, B;
  Vec               x, y;
  const PetscScalar values[] = {2.0, 1.0, 1.0, 2.0}, *v;
  const PetscInt    rows[]   = {0, 1};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 2, 2, 2, NULL, &A));
  PetscCall(MatSetValues(A, 2, rows, 2, rows, values, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatSOR(A, x, 1.0, SOR_LOCAL_SYMMETRIC_SWEEP, 0.0, 1, 1, y));
  PetscCall(MatScale(A, 2.0));
  PetscCall(MatMultDiagonalBlock(A, x, y));
  PetscCall(VecGetArrayRead(y, &v));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%d, not 6\n", (int)PetscRealPart(v[0])));
  PetscCall(VecRestoreArrayRead(y, &v));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatMultDiagonalBlock(B, x, y));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFinalize());
  return 0;
}
