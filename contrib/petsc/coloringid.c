/*
  MATCOLORINGID writes in front of an array if a matrix has no entries, or few                                                 PETSc 3.26.1

  MINPACKido() looks for a column of maximal degree among the first maxlst columns of a list. maxlst is the sum of the squares of the rows' lengths
  divided by the number of columns, in integers: 0 if the sum is smaller. Then no column is looked at, jcol keeps its initial value 0, which is no
  column, and list[jcol] = numord writes in front of the array.

    ./coloringid
    Caught signal number 11 SEGV: Segmentation Violation

  With -malloc_debug PETSc reports the overwritten memory. maxlst should be at least 1.
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
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 10, 10, 0, NULL, &A));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatColoringCreate(A, &coloring));
  PetscCall(MatColoringSetType(coloring, MATCOLORINGID));
  PetscCall(MatColoringApply(coloring, &colors));
  PetscCall(ISColoringGetColors(colors, NULL, &count, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " colors\n", count)); /* 1 */
  PetscCall(ISColoringDestroy(&colors));
  PetscCall(MatColoringDestroy(&coloring));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
