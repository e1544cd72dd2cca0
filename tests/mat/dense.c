static char help[] = "Products of A and A^T with dense matrices, entry by entry against plain loops.\n\n";

#include "reference.h"

/* A matrix without CSR keeps its values */
static PetscErrorCode ScaleBoth(Reference *ref, Mat A, PetscScalar alpha)
{
  PetscBool released;

  PetscFunctionBegin;
  PetscCall(ReferenceIsReleased(A, &released));
  if (released) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < ref->nnz; k++) ref->a[k] *= alpha;
  PetscCall(MatScale(A, alpha));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef PetscErrorCode (*ProductFn)(Mat, Mat, MatReuse, PetscReal, Mat *);

/* Products by MatMatMult() and the like, repeated into the same Y after X or A changed */
static PetscErrorCode CheckCalls(Reference *ref, Mat A, ReferenceOp op, const char what[], ProductFn product, Mat X, PetscInt *bad)
{
  Mat  Y;
  char label[128];

  PetscFunctionBegin;
  PetscCall(ReferenceDenseFill(X, 1));
  PetscCall((*product)(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &Y));
  PetscCall(ReferenceCheckDense(ref, op, 1, Y, what, bad));

  PetscCall(ReferenceDenseFill(X, 40));
  PetscCall(ReferenceDenseFill(Y, -1));
  PetscCall((*product)(A, X, MAT_REUSE_MATRIX, PETSC_CURRENT, &Y));
  PetscCall(PetscSNPrintf(label, sizeof(label), "%s again, other X", what));
  PetscCall(ReferenceCheckDense(ref, op, 40, Y, label, bad));

  PetscCall(ScaleBoth(ref, A, -2));
  PetscCall(ReferenceDenseFill(Y, -1));
  PetscCall((*product)(A, X, MAT_REUSE_MATRIX, PETSC_CURRENT, &Y));
  PetscCall(PetscSNPrintf(label, sizeof(label), "%s again, other A", what));
  PetscCall(ReferenceCheckDense(ref, op, 40, Y, label, bad));
  PetscCall(ScaleBoth(ref, A, -0.5));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products by MatProductCreateWithMat() into a Y of the caller, set up and cleared twice, as SLEPc's BV does */
static PetscErrorCode CheckProductWithMat(const Reference *ref, Mat A, ReferenceOp op, const char what[], Mat X, Mat Y, PetscInt *bad)
{
  char label[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(label, sizeof(label), "%s into a given matrix", what));
  for (PetscInt s = 3; s < 5; s++) {
    PetscCall(ReferenceDenseFill(X, s));
    PetscCall(ReferenceDenseFill(Y, -1));
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
  PetscCall(ReferenceDenseCreate(PETSC_COMM_SELF, K, K, ref->n, padded, &X));
  PetscCall(MatDenseGetLDA(X, &lda));
  PetscCall(MatDenseGetArrayWrite(X, &x));
  for (PetscInt j = 0; j < ref->n; j++)
    for (PetscInt c = 0; c < K; c++) x[j * lda + c] = ReferenceValue(6 + c, j);
  PetscCall(MatDenseRestoreArrayWrite(X, &x));
  PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatMatTransposeMult(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &Y));
  PetscCall(ReferenceCheckDense(ref, REFERENCE_N, 6, Y, "MatMatTransposeMult", bad));
  PetscCall(ReferenceDenseFill(Y, -1));
  PetscCall(MatMatTransposeMult(A, X, MAT_REUSE_MATRIX, PETSC_CURRENT, &Y));
  PetscCall(ReferenceCheckDense(ref, REFERENCE_N, 6, Y, "MatMatTransposeMult again", bad));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt Ks[] = {1, 5, 0, 2, 17, 3, 8, 4, 9, 33, 7, 40, 6}; /* both sides of panels of 2, 4, 8 and 32 columns */
  PetscInt       count, first = 0, step = 1, bad = 0, done = 0;
  PetscMPIInt    size;
  PetscBool      nonempty = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-step", &step, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-nonempty", &nonempty, NULL));
  PetscCall(ShapesCount(&count));
  for (PetscInt k = first; k < count; k += step) {
    const PetscInt K = Ks[k % (PetscInt)PETSC_STATIC_ARRAY_LENGTH(Ks)];
    Reference      ref;
    Mat            A;

    if (nonempty && !K) continue;
    PetscCall(ShapesGet(k, &ref));
    PetscCall(ReferenceToMat(&ref, PETSC_COMM_WORLD, &A));
    if (k % 2) PetscCall(ReferenceCheckProducts(&ref, A, &bad)); /* by the default path, dense operands come before vectors or after */
    for (PetscInt padded = 0; padded < 2; padded++) {
      Mat      X, U;
      PetscInt m, n;

      PetscCall(MatGetLocalSize(A, &m, &n));
      PetscCall(ReferenceDenseCreate(PETSC_COMM_WORLD, n, ref.n, K, (PetscBool)padded, &X));
      PetscCall(ReferenceDenseCreate(PETSC_COMM_WORLD, m, ref.m, K, (PetscBool)padded, &U));
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
    PetscCall(ScaleBoth(&ref, A, 4));
    PetscCall(ReferenceCheckProducts(&ref, A, &bad));
    PetscCall(MatDestroy(&A));
    PetscCall(ReferenceDestroy(&ref));
    done++;
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, ", done ? "matrices checked" : "no matrix checked"));
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c shapes.c

  testset:
    output_file: output/dense_1.out
    # PETSc has no A^T B of AIJ and a dense B without columns
    test:
      suffix: aij
      args: -mat_type aij -nonempty
    test:
      suffix: csrccuda
      args: -mat_type csrccuda
    test:
      suffix: bccoo
      args: -mat_type bccoo -mat_bccoo_compression {{tuples simd csr}}
    test:
      suffix: copies
      args: -mat_type bccoo -mat_form_copies {{2 auto}} -mat_bccoo_compression {{tuples simd}}
    test:
      suffix: released
      args: -mat_type bccoo -mat_form_release -step 3
      nsize: {{1 3}}
    test:
      suffix: pieces
      args: -mat_type bccoo -pieces 3
      nsize: {{1 2}}
    test:
      suffix: gpu_pieces
      args: -mat_type csrccuda -pieces {{2 5}} -dense_mat_type {{dense densecuda}}
    test:
      suffix: gpu_pieces_copies
      args: -mat_type csrccuda -pieces 3 -mat_form_copies 2 -mat_csrc_reproducible {{0 1}} -dense_mat_type densecuda
    test:
      suffix: gpu
      args: -mat_type csrccuda -mat_csrc_layout {{csrc balanced}} -dense_mat_type {{dense densecuda}}
    test:
      suffix: gpu_copies
      args: -mat_type csrccuda -mat_form_copies {{2 auto}} -mat_csrc_reproducible {{0 1}} -dense_mat_type densecuda
    test:
      suffix: default
      args: -mat_type bccoo -mat_form_store_at_once false -step 3
      nsize: {{1 2}}
    test:
      suffix: gpu_default
      args: -mat_type csrccuda -mat_form_store_at_once false -step 3 -dense_mat_type {{dense densecuda}}
      nsize: {{1 2}}
    test:
      suffix: parallel
      args: -mat_type bccoo -step 3
      nsize: {{2 3 4}}
    test:
      suffix: exchange
      args: -mat_type bccoo -exchange_pattern gather -step 3
      nsize: {{2 4}}
    test:
      suffix: batches
      args: -mat_type {{csrccuda bccoo}} -exchange_pattern {{lists gather}} -matproduct_batch_size 3 -step 3
      nsize: 3
    test:
      suffix: batches_gpu
      args: -mat_type csrccuda -mat_form_exchange {{auto peer}} -exchange_pattern {{lists gather}} -matproduct_batch_size 3 -step 3 -dense_mat_type densecuda
      nsize: 2
    test:
      suffix: panels_gpu
      args: -mat_type csrccuda -mat_form_exchange peer -exchange_pattern gather -panel {{1 3}} -step 3 -dense_mat_type {{dense densecuda}}
      nsize: {{2 3}}
    test:
      suffix: exchange_gpu
      args: -mat_type csrccuda -mat_form_exchange {{auto mpi}} -exchange_pattern {{lists gather}} -dense_mat_type {{dense densecuda}} -step 3
      nsize: {{2 3}}
    test:
      suffix: parallel_gpu
      args: -mat_type csrccuda -mat_csrc_layout {{csrc balanced}} -dense_mat_type densecuda -step 3 -first 1
      nsize: {{2 3}}

  # all columns at once: PETSc says so when it multiplies a column at a time
  test:
    suffix: noloop
    args: -mat_type {{csrccuda bccoo}} -step 9 -info :mat
    filter: grep -E "looping over columns|faults"
    output_file: output/dense_1.out

TEST*/
