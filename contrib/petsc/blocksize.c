/*
  MatSetBlockSize() before the preallocation of mpiaijcusparse does not reach its blocks                          PETSc 3.26.1, a GPU, 2 processes

  MatMPIAIJSetPreallocation() of mpiaijcusparse (SetPreallocation() in mpiaijcupm.hpp) creates the diagonal block without the block sizes of the
  matrix, which that of mpiaij takes over by MatSetBlockSizesFromMats(). So MatInvertBlockDiagonal() of the diagonal block returns n numbers, and
  PCPBJACOBI, which goes by the block size bs of the whole matrix, copies bs n: it reads beyond the array, and its blocks are wrong. GAMG with
  -mg_levels_pc_type pbjacobi meets this on coarse levels, whose matrices MatCreateSubMatrix() preallocates (ksp ex56 crashes).

    mpiexec -n 2 ./blocksize                         the block size of the diagonal block is 1
    mpiexec -n 2 ./blocksize -mat_type mpiaij        3
*/
#include <petscmat.h>

int main(int argc, char **argv)
{
  Mat      A, D;
  PetscInt bs;
  char     type[64] = MATMPIAIJCUSPARSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", type, sizeof(type), NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, 6, 6, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(A, 3));
  PetscCall(MatSetType(A, type));
  PetscCall(MatMPIAIJSetPreallocation(A, 3, NULL, 0, NULL));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatGetDiagonalBlock(A, &D));
  PetscCall(MatGetBlockSize(D, &bs));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: the block size of the diagonal block is %" PetscInt_FMT "\n", type, bs));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
