/*
  Products into a dense matrix whose leading dimension is larger than its number of rows are wrong:                         PETSc 3.26.1
  A^T B of parallel dense matrices, and a product with MATNORMAL

  MatTransposeMatMultNumeric_MPIDense_MPIDense() passes C's array to MPI_Reduce_scatter() (or MPI_Iallreduce()'s copy) with the layout of a matrix
  without gaps between columns. MatProductNumeric_Normal_Dense() places C's array in a work matrix without gaps. SLEPc's BV gives its matrices an
  even leading dimension, so that solvers with blocks of vectors meet this for odd numbers of local rows.

    mpiexec -n 2 ./denseld
    A^T B of dense matrices: largest error 6.87, largest entry 7.74
    product with MATNORMAL: largest error 28.4, largest entry 34.2

  With one process the first is right, the second is not.

  Both should take the leading dimension from MatDenseGetLDA(): copy column by column, or work in a matrix of their own and copy it.
*/
#include <petscmat.h>

#define K 3

/* The largest difference between the columns of C, with one row more in memory, and the product of A, or A^T, with those of B */
static PetscErrorCode Check(const char what[], Mat A, PetscBool transpose, Mat B)
{
  Mat       C;
  Vec       b, c, y;
  PetscInt  m, n;
  PetscReal error = 0.0, largest = 0.0, norm;

  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &C));
  PetscCall(MatSetSizes(C, transpose ? n : m, PETSC_DECIDE, PETSC_DETERMINE, K));
  PetscCall(MatSetType(C, MATDENSE));
  PetscCall(MatDenseSetLDA(C, (transpose ? n : m) + 1));
  PetscCall(MatSetUp(C));
  PetscCall(MatProductCreateWithMat(A, B, NULL, C));
  PetscCall(MatProductSetType(C, transpose ? MATPRODUCT_AtB : MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(C));
  PetscCall(MatProductSymbolic(C));
  PetscCall(MatProductNumeric(C));
  PetscCall(MatCreateVecs(A, transpose ? &y : NULL, transpose ? NULL : &y));
  for (PetscInt k = 0; k < K; k++) {
    PetscCall(MatDenseGetColumnVecRead(B, k, &b));
    if (transpose) PetscCall(MatMultTranspose(A, b, y));
    else PetscCall(MatMult(A, b, y));
    PetscCall(MatDenseRestoreColumnVecRead(B, k, &b));
    PetscCall(VecNorm(y, NORM_INFINITY, &norm));
    largest = PetscMax(largest, norm);
    PetscCall(MatDenseGetColumnVecRead(C, k, &c));
    PetscCall(VecAXPY(y, -1.0, c));
    PetscCall(MatDenseRestoreColumnVecRead(C, k, &c));
    PetscCall(VecNorm(y, NORM_INFINITY, &norm));
    error = PetscMax(error, norm);
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: largest error %.3g, largest entry %.3g\n", what, (double)error, (double)largest));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat A, B, S, N, X;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 20, 10, NULL, &A));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 20, K, NULL, &B));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 10, K, NULL, &X));
  PetscCall(MatSetRandom(A, NULL));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatSetRandom(X, NULL));
  PetscCall(Check("A^T B of dense matrices", A, PETSC_TRUE, B));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &S));
  PetscCall(MatCreateNormal(S, &N));
  PetscCall(Check("product with MATNORMAL", N, PETSC_FALSE, X));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&N));
  PetscCall(MatDestroy(&X));
  PetscCall(PetscFinalize());
  return 0;
}
