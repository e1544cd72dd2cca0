static char help[] = "The stored form is rebuilt when the pattern changed, refilled when values changed, and left alone otherwise.\n\n";

#include "reference.h"

/*
  Builds and refills are counted by the library's log events. On one process the counts must be exact. On several, a change of values
  must rebuild nothing on any process, and a change of the pattern must rebuild something on one.
*/
typedef enum {
  KEEP,
  REFILL,
  REBUILD
} Expected;

static Mat      A, Y;
static PetscInt forms = 2; /* of a process: the two blocks, or with the pattern gather all rows as one matrix */

static PetscErrorCode Products(void)
{
  Vec x, y;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMultTranspose(A, y, x));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Expect(const char what[], Expected expected, PetscInt *bad)
{
  const char *const words[] = {"leave it alone", "refill it once", "rebuild it once"};
  int               before[2], after[2], builds[2];
  PetscMPIInt       size;
  PetscBool         good;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ReferenceCountEvents("MatFormBuild", &before[0]));
  PetscCall(ReferenceCountEvents("MatFormSetVals", &before[1]));
  PetscCall(Products());
  PetscCall(ReferenceCountEvents("MatFormBuild", &after[0]));
  PetscCall(ReferenceCountEvents("MatFormSetVals", &after[1]));
  for (int k = 0; k < 2; k++) builds[k] = after[k] - before[k];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, builds, 2, MPI_INT, MPI_SUM, PETSC_COMM_WORLD));
  if (size == 1) good = (PetscBool)(builds[0] == (expected == REBUILD) && builds[1] == (expected == REFILL));
  else if (expected == REBUILD) good = (PetscBool)(builds[0] > 0 && builds[0] + builds[1] <= forms * size);
  else if (expected == REFILL) good = (PetscBool)(builds[0] == 0 && builds[1] > 0 && builds[1] <= forms * size);
  else good = (PetscBool)(builds[0] == 0 && builds[1] == 0);
  if (!good) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: the form should %s; built %d times, refilled %d times\n", what, words[expected], builds[0], builds[1]));
    (*bad)++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetOne(Mat M, PetscInt i, PetscInt j)
{
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(M, &first, &last));
  if (i >= first && i < last) PetscCall(MatSetValue(M, i, j, 3, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(M, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(M, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DenseProduct(PetscInt columns, int *builds)
{
  Mat      X, Z;
  PetscInt n;
  int      before;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, NULL, &n));
  PetscCall(MatCreateDense(PetscObjectComm((PetscObject)A), n, PETSC_DECIDE, PETSC_DETERMINE, columns, NULL, &X));
  PetscCall(MatZeroEntries(X));
  PetscCall(ReferenceCountEvents("MatFormBuild", &before));
  PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &Z));
  PetscCall(ReferenceCountEvents("MatFormBuild", builds));
  *builds -= before;
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Products with dense matrices. On a device, the balanced layout is built again for three columns and more if it may choose its blocks and
  these products have had more columns than there were vectors. Further products with the same or more columns, or with vectors, do not
  rebuild it. rebuilds: the expected number; -1: not checked.
*/
static PetscErrorCode DenseProducts(PetscInt rebuilds, PetscInt *bad)
{
  int narrow, first, more = 0, wide, builds;

  PetscFunctionBegin;
  for (int k = 0; k < 10; k++) PetscCall(Products());
  PetscCall(DenseProduct(2, &narrow));
  PetscCall(DenseProduct(3, &first));
  for (int k = 0; k < 100; k++) {
    PetscCall(DenseProduct(3, &builds));
    more += builds;
  }
  PetscCall(DenseProduct(8, &wide));
  if (rebuilds >= 0 && (narrow || first || more != rebuilds || wide)) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the form was built %d times for 2 columns, %d for the first product with 3, %d for more of them, %d for 8\n", narrow, first, more, wide));
    (*bad)++;
  }
  PetscCall(Expect("products with vectors after those with dense matrices", KEEP, bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt     n = 600, first, last, bad = 0, rebuilds = 0, *i, *j, count = 0;
  PetscScalar *v;
  Vec          d;
  Mat          Z;
  char         pattern[16];
  PetscBool    isseq, gather;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-exchange_pattern", pattern, sizeof(pattern), &gather));
  if (gather && !strcmp(pattern, "gather")) forms = 1;
  PetscCall(ReferenceSetTestValues());
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSetUp(A));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt r = first; r < last; r++) {
    for (PetscInt c = PetscMax(0, r - 2); c <= PetscMin(n - 1, r + 2); c++) PetscCall(MatSetValue(A, r, c, ReferenceValue(1, 5 * r + c), INSERT_VALUES));
    PetscCall(MatSetValue(A, r, (r + n / 2) % n, 1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, NULL, &d));
  PetscCall(ReferenceFillVec(d, 7));

  if (isseq) PetscCall(Expect("first product", REBUILD, &bad));
  else PetscCall(Products());
  PetscCall(Expect("second product", KEEP, &bad));
  PetscCall(MatSetFromOptions(A));
  PetscCall(Expect("MatSetFromOptions with the same options", KEEP, &bad));

  PetscCall(MatScale(A, 2));
  PetscCall(Expect("MatScale", REFILL, &bad));
  PetscCall(MatDiagonalScale(A, d, NULL));
  PetscCall(Expect("MatDiagonalScale", REFILL, &bad));
  PetscCall(SetOne(A, n / 3, n / 3));
  PetscCall(Expect("MatSetValues at an old place", REFILL, &bad));
  PetscCall(MatShift(A, 1));
  PetscCall(Expect("MatShift", REFILL, &bad));
  PetscCall(MatDiagonalSet(A, d, ADD_VALUES));
  PetscCall(Expect("MatDiagonalSet", REFILL, &bad));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &Y));
  PetscCall(Expect("MatDuplicate", KEEP, &bad));
  PetscCall(MatAXPY(A, 2, Y, SAME_NONZERO_PATTERN));
  PetscCall(Expect("MatAXPY, same pattern", REFILL, &bad));
  PetscCall(MatCopy(Y, A, SAME_NONZERO_PATTERN));
  PetscCall(Expect("MatCopy, same pattern", REFILL, &bad));
  PetscCall(MatDestroy(&Y));
  PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &Y));
  PetscCall(MatAXPY(A, 2, Y, SUBSET_NONZERO_PATTERN));
  PetscCall(Expect("MatAXPY, subset", REFILL, &bad));
  PetscCall(MatDestroy(&Y));
  if (isseq) {
    PetscScalar       *a;
    const PetscScalar *b;

    PetscCall(MatSeqAIJGetArray(A, &a));
    a[0] = 17;
    PetscCall(MatSeqAIJRestoreArray(A, &a));
    PetscCall(Expect("MatSeqAIJGetArray", REFILL, &bad));
    PetscCall(MatSeqAIJGetArrayRead(A, &b));
    PetscCall(MatSeqAIJRestoreArrayRead(A, &b));
    PetscCall(Expect("MatSeqAIJGetArrayRead", KEEP, &bad));
  }
  PetscCall(MatZeroEntries(A));
  PetscCall(Expect("MatZeroEntries", REFILL, &bad));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(Products()); /* may refill the form or not */
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(SetOne(A, n / 2 + 1, 3));
  PetscCall(Expect("MatSetValues at a new place", REBUILD, &bad));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &Y));
  PetscCall(MatSetOption(Y, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(SetOne(Y, n / 2 + 2, 5));
  PetscCall(MatAXPY(A, 2, Y, DIFFERENT_NONZERO_PATTERN));
  PetscCall(Expect("MatAXPY, different pattern", REBUILD, &bad));
  PetscCall(MatDestroy(&Y));

  /* coordinates: the pattern once, then values several times */
  PetscCall(PetscMalloc3(2 * (last - first), &i, 2 * (last - first), &j, 2 * (last - first), &v));
  for (PetscInt r = first; r < last; r++) {
    i[count]   = r;
    j[count++] = r;
    i[count]   = r;
    j[count++] = (r + 5) % n;
  }
  for (PetscInt k = 0; k < count; k++) v[k] = ReferenceValue(3, k);
  PetscCall(MatSetPreallocationCOO(A, count, i, j));
  PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  PetscCall(Expect("MatSetPreallocationCOO", REBUILD, &bad));
  PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  PetscCall(Expect("MatSetValuesCOO", REFILL, &bad));
  PetscCall(MatSetValuesCOO(A, v, ADD_VALUES));
  PetscCall(Expect("MatSetValuesCOO, adding", REFILL, &bad));
  PetscCall(PetscFree3(i, j, v));

  /* operations that only read */
  for (PetscInt r = first; r < last; r++) {
    PetscScalar value;

    PetscCall(MatGetValues(A, 1, &r, 1, &r, &value));
  }
  PetscCall(MatGetDiagonal(A, d));
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &Z));
  PetscCall(Expect("reading", KEEP, &bad));
  Y = A;
  A = Z; /* it inherits the settings, the pattern among them */
  PetscCall(Expect("the first product of a transpose", REBUILD, &bad));
  A = Y;
  PetscCall(MatDestroy(&Z));

  PetscCall(VecDestroy(&d));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dense_rebuilds", &rebuilds, NULL));
  PetscCall(DenseProducts(isseq ? rebuilds : -1, &bad));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " surprises\n", bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c

  testset:
    output_file: output/rebuild_1.out
    nsize: {{1 2 4}}
    # options that say what is so already change nothing
    test:
      suffix: csrccuda
      args: -mat_type csrccuda -mat_csrc_layout auto -device_enable none -options_left 0
    test:
      suffix: bccoo
      args: -mat_type bccoo -mat_bccoo_compression simd
    test:
      suffix: gather
      args: -mat_type {{csrccuda bccoo}} -exchange_pattern gather -device_enable none -options_left 0
    test:
      suffix: gpu
      args: -mat_type csrccuda -mat_csrc_layout csrc
    test:
      suffix: gpu_anew
      args: -mat_type csrccuda -mat_csrc_layout balanced -dense_rebuilds 1
    test:
      suffix: gpu_pieces
      args: -mat_type csrccuda -mat_csrc_layout balanced -pieces 3 -dense_rebuilds 1
    test: # the same bits every time: nonzeros stay stored for vectors
      suffix: gpu_reproducible
      args: -mat_type csrccuda -mat_csrc_reproducible

TEST*/
