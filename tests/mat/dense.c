static char help[] = "Products of A and A^T with dense matrices, entry by entry against plain loops.\n\n";

#include "reference.h"
#include <math.h>

/* rows x K, column c being test vector s + c; padded: columns further apart than rows; transposed: K x rows, row c being the vector */
static PetscErrorCode DenseCreate(MPI_Comm comm, PetscInt mlocal, PetscInt m, PetscInt K, PetscBool padded, Mat *X)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(comm, X));
  PetscCall(MatSetSizes(*X, mlocal, PETSC_DECIDE, m, K));
  PetscCall(MatSetType(*X, MATDENSE));
  PetscCall(MatSetOptionsPrefix(*X, "dense_"));
  PetscCall(MatSetFromOptions(*X));
  if (padded) PetscCall(MatDenseSetLDA(*X, mlocal + 5));
  PetscCall(MatSetUp(*X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DenseFill(Mat X, PetscInt s)
{
  PetscInt     first, last, K, lda;
  PetscScalar *x;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, NULL, &K));
  PetscCall(MatGetOwnershipRange(X, &first, &last));
  PetscCall(MatDenseGetLDA(X, &lda));
  PetscCall(MatDenseGetArrayWrite(X, &x));
  for (PetscInt c = 0; c < K; c++)
    for (PetscInt k = first; k < last; k++) x[c * lda + k - first] = s < 0 ? NAN : ReferenceValue(s + c, k);
  PetscCall(MatDenseRestoreArrayWrite(X, &x));
  PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ScaleBoth(Reference *ref, Mat A, PetscScalar alpha)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < ref->nnz; k++) ref->a[k] *= alpha;
  PetscCall(MatScale(A, alpha));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef PetscErrorCode (*ProductFn)(Mat, Mat, MatReuse, PetscReal, Mat *);

/* By MatMatMult() and the like, then again into the same Y after X or A changed */
static PetscErrorCode CheckCalls(Reference *ref, Mat A, ReferenceOp op, const char what[], ProductFn product, Mat X, PetscInt *bad)
{
  Mat  Y;
  char label[128];

  PetscFunctionBegin;
  PetscCall(DenseFill(X, 1));
  PetscCall((*product)(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &Y));
  PetscCall(ReferenceCheckDense(ref, op, 1, Y, what, bad));

  PetscCall(DenseFill(X, 40));
  PetscCall(DenseFill(Y, -1));
  PetscCall((*product)(A, X, MAT_REUSE_MATRIX, PETSC_CURRENT, &Y));
  PetscCall(PetscSNPrintf(label, sizeof(label), "%s again, other X", what));
  PetscCall(ReferenceCheckDense(ref, op, 40, Y, label, bad));

  PetscCall(ScaleBoth(ref, A, -2));
  PetscCall(DenseFill(Y, -1));
  PetscCall((*product)(A, X, MAT_REUSE_MATRIX, PETSC_CURRENT, &Y));
  PetscCall(PetscSNPrintf(label, sizeof(label), "%s again, other A", what));
  PetscCall(ReferenceCheckDense(ref, op, 40, Y, label, bad));
  PetscCall(ScaleBoth(ref, A, -0.5));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By the product interface into a Y of the caller, set up and cleared twice as SLEPc's basis vectors do */
static PetscErrorCode CheckProductWithMat(const Reference *ref, Mat A, ReferenceOp op, const char what[], Mat X, Mat Y, PetscInt *bad)
{
  char label[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(label, sizeof(label), "%s into a given matrix", what));
  for (PetscInt s = 3; s < 5; s++) {
    PetscCall(DenseFill(X, s));
    PetscCall(DenseFill(Y, -1));
    PetscCall(MatProductCreateWithMat(A, X, NULL, Y));
    PetscCall(MatProductSetType(Y, op == REFERENCE_N ? MATPRODUCT_AB : MATPRODUCT_AtB));
    PetscCall(MatProductSetFromOptions(Y));
    PetscCall(MatProductSymbolic(Y));
    PetscCall(MatProductNumeric(Y));
    PetscCall(MatProductClear(Y));
    PetscCall(ReferenceCheckDense(ref, op, s, Y, label, bad));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A X^T; PETSc has it for sequential matrices only */
static PetscErrorCode CheckABt(const Reference *ref, Mat A, PetscInt K, PetscBool padded, PetscInt *bad)
{
  Mat          X, Y;
  PetscInt     lda;
  PetscScalar *x;

  PetscFunctionBegin;
  PetscCall(DenseCreate(PETSC_COMM_SELF, K, K, ref->n, padded, &X));
  PetscCall(MatDenseGetLDA(X, &lda));
  PetscCall(MatDenseGetArrayWrite(X, &x));
  for (PetscInt j = 0; j < ref->n; j++)
    for (PetscInt c = 0; c < K; c++) x[j * lda + c] = ReferenceValue(6 + c, j);
  PetscCall(MatDenseRestoreArrayWrite(X, &x));
  PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatMatTransposeMult(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &Y));
  PetscCall(ReferenceCheckDense(ref, REFERENCE_N, 6, Y, "MatMatTransposeMult", bad));
  PetscCall(DenseFill(Y, -1));
  PetscCall(MatMatTransposeMult(A, X, MAT_REUSE_MATRIX, PETSC_CURRENT, &Y));
  PetscCall(ReferenceCheckDense(ref, REFERENCE_N, 6, Y, "MatMatTransposeMult again", bad));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt Ks[] = {1, 5, 0, 2, 17, 3, 8};
  PetscInt       count, first = 0, step = 1, bad = 0, done = 0;
  PetscMPIInt    size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-step", &step, NULL));
  PetscCall(ShapesCount(&count));
  for (PetscInt k = first; k < count; k += step, done++) {
    const PetscInt K = Ks[k % (PetscInt)PETSC_STATIC_ARRAY_LENGTH(Ks)];
    Reference      ref;
    Mat            A;

    PetscCall(ShapesGet(k, &ref));
    PetscCall(ReferenceToMat(&ref, PETSC_COMM_WORLD, &A));
    for (PetscInt padded = 0; padded < 2; padded++) {
      Mat      X, U;
      PetscInt m, n;

      PetscCall(MatGetLocalSize(A, &m, &n));
      PetscCall(DenseCreate(PETSC_COMM_WORLD, n, ref.n, K, (PetscBool)padded, &X));
      PetscCall(DenseCreate(PETSC_COMM_WORLD, m, ref.m, K, (PetscBool)padded, &U));
      PetscCall(CheckCalls(&ref, A, REFERENCE_N, "MatMatMult", MatMatMult, X, &bad));
      PetscCall(CheckCalls(&ref, A, REFERENCE_T, "MatTransposeMatMult", MatTransposeMatMult, U, &bad));
      PetscCall(CheckProductWithMat(&ref, A, REFERENCE_N, "MatMatMult", X, U, &bad));
      if (size == 1) {
        PetscCall(CheckProductWithMat(&ref, A, REFERENCE_T, "MatTransposeMatMult", U, X, &bad));
        PetscCall(CheckABt(&ref, A, K, (PetscBool)padded, &bad));
      }
      PetscCall(MatDestroy(&X));
      PetscCall(MatDestroy(&U));
    }
    PetscCall(MatDestroy(&A));
    PetscCall(ReferenceDestroy(&ref));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &bad, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " matrices, %" PetscInt_FMT " wrong entries\n", done, bad));
  PetscCall(PetscFinalize());
  return 0;
}
