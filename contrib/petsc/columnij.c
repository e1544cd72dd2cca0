/*
  MatGetColumnIJ() of sequential AIJ matrices with inodes reads a column number that an empty row does not have                 PETSc 3.26.1

  MatGetColumnIJ_SeqAIJ_Inode_Nonsymmetric() reads the first column of each inode before it looks whether its rows have entries, and takes what it
  finds as an index of tvc. MATCOLORINGSL and MATCOLORINGLF call it.

    ./columnij
    Caught signal number 11 SEGV: Segmentation Violation

  Whether it crashes depends on what is in memory there. Both loops should leave out inodes with nz = 0, as
  MatGetRowIJ_SeqAIJ_Inode_Symmetric() does.
*/
#include <petscmat.h>

int main(int argc, char **argv)
{
  Mat         A;
  MatColoring coloring;
  ISColoring  colors;
  PetscInt    count;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 10, 10, 1, NULL, &A));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatColoringCreate(A, &coloring));
  PetscCall(MatColoringSetType(coloring, MATCOLORINGSL));
  PetscCall(MatColoringApply(coloring, &colors));
  PetscCall(ISColoringGetColors(colors, NULL, &count, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " colors\n", count)); /* 1 */
  PetscCall(ISColoringDestroy(&colors));
  PetscCall(MatColoringDestroy(&coloring));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
