static char help[] = "With the same number of threads the products have the same bits every time; values keep theirs.\n\n";

#include "reference.h"
#include <math.h>

#define REPETITIONS 12

static PetscInt bad = 0;

static PetscErrorCode SameArray(const char name[], const char what[], PetscInt n, const PetscScalar found[], const PetscScalar expected[])
{
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(PetscMemcmp(found, expected, n * sizeof(PetscScalar), &same));
  if (!same) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s has other bits this time\n", name, what));
    bad++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Same(const char name[], const char what[], Vec found, Vec expected)
{
  const PetscScalar *f, *e;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(found, &n));
  PetscCall(VecGetArrayRead(found, &f));
  PetscCall(VecGetArrayRead(expected, &e));
  PetscCall(SameArray(name, what, n, f, e));
  PetscCall(VecRestoreArrayRead(found, &f));
  PetscCall(VecRestoreArrayRead(expected, &e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A X or A^T U with this many columns, of the matrix and of the duplicate in turn */
static PetscErrorCode RepeatDense(const char name[], Mat pair[], PetscBool transposed, PetscInt columns)
{
  Mat                X, Y[2];
  PetscInt           m, n;
  const PetscScalar *found, *expected;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(pair[0], &m, &n));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, transposed ? m : n, PETSC_DECIDE, PETSC_DETERMINE, columns, NULL, &X));
  PetscCall(MatSetRandom(X, NULL));
  for (int k = 0; k < REPETITIONS; k++) {
    const int to = k > 0;

    if (transposed) PetscCall(MatTransposeMatMult(pair[k % 2], X, k > 1 ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, PETSC_CURRENT, &Y[to]));
    else PetscCall(MatMatMult(pair[k % 2], X, k > 1 ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, PETSC_CURRENT, &Y[to]));
    if (!k) continue;
    PetscCall(MatDenseGetArrayRead(Y[0], &expected));
    PetscCall(MatDenseGetArrayRead(Y[1], &found));
    PetscCall(SameArray(name, transposed ? "MatTransposeMatMult" : "MatMatMult", (transposed ? n : m) * columns, found, expected));
    PetscCall(MatDenseRestoreArrayRead(Y[1], &found));
    PetscCall(MatDenseRestoreArrayRead(Y[0], &expected));
  }
  PetscCall(MatDestroy(&Y[0]));
  PetscCall(MatDestroy(&Y[1]));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Repeated products, also of a duplicate, which builds its form again */
static PetscErrorCode Repeat(const Reference *ref)
{
  Mat pair[2];
  Vec x, u, y, v, ynow, vnow;

  PetscFunctionBegin;
  PetscCall(ReferenceToMat(ref, PETSC_COMM_WORLD, &pair[0]));
  PetscCall(MatDuplicate(pair[0], MAT_COPY_VALUES, &pair[1]));
  PetscCall(MatCreateVecs(pair[0], &x, &u));
  PetscCall(MatCreateVecs(pair[0], &y, &v));
  PetscCall(MatCreateVecs(pair[0], &ynow, &vnow));
  PetscCall(ReferenceFillVec(x, 1));
  PetscCall(ReferenceFillVec(u, 2));
  PetscCall(MatMult(pair[0], x, v));
  PetscCall(MatMultTranspose(pair[0], u, y));
  for (int k = 0; k < 3 * REPETITIONS; k++) { /* so many that on busy cores one thread of bccoo computes some of them alone */
    PetscCall(MatMult(pair[k % 2], x, vnow));
    PetscCall(Same(ref->name, "MatMult", vnow, v));
    PetscCall(MatMultTranspose(pair[k % 2], u, ynow));
    PetscCall(Same(ref->name, "MatMultTranspose", ynow, y));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&ynow));
  PetscCall(VecDestroy(&vnow));
  for (PetscInt columns = 1; columns < 12; columns += 5) {
    PetscCall(RepeatDense(ref->name, pair, PETSC_FALSE, columns));
    PetscCall(RepeatDense(ref->name, pair, PETSC_TRUE, columns));
  }
  PetscCall(MatDestroy(&pair[0]));
  PetscCall(MatDestroy(&pair[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Values must be stored bit by bit: with one nonzero in each row and column and x = 1, the product is the values themselves. They are
  NaN payloads, infinities, denormals, the largest and the smallest numbers; few (for a table) and many. In single precision, arithmetic
  on a device has only one NaN, and its atomic additions flush denormals to zero.
*/
static PetscErrorCode KeepBits(PetscInt kinds, PetscInt n)
{
  Mat          A;
  Vec          x, y;
  PetscInt     first, last;
  PetscScalar *expected, *a;
  VecType      vectype;
  PetscBool    plain; /* the product uses arithmetic of a device in single precision */

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &expected));
  for (PetscInt i = 0; i < n; i++) {
    PetscReal value;

    switch (i % 7) {
    case 0:
#if PetscDefined(USE_REAL_SINGLE)
      value = nanf("77");
#else
      value = nan("77");
#endif
      break;
    case 1:
      value = (PetscReal)INFINITY;
      break;
    case 2:
      value = -(PetscReal)INFINITY;
      break;
    case 3:
      value = PETSC_REAL_MIN / 16;
      break;
    case 4:
      value = -PETSC_MAX_REAL;
      break;
    default:
      value = 1 + (PetscReal)(i % kinds) * PETSC_MACHINE_EPSILON;
    }
    expected[i] = value;
  }
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i++) PetscCall(MatSetValue(A, i, (7 * i + 3) % n, expected[i], INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(MatGetVecType(A, &vectype));
  PetscCall(PetscStrendswith(vectype, VECCUDA, &plain));
  if (!PetscDefined(USE_REAL_SINGLE)) plain = PETSC_FALSE;
  PetscCall(VecSet(x, 1));
  for (int transposed = 0; transposed < 2; transposed++) {
    if (transposed) PetscCall(MatMultTranspose(A, x, y));
    else PetscCall(MatMult(A, x, y));
    PetscCall(VecGetArray(y, &a));
    for (PetscInt i = 0; i < n; i++) {
      const PetscInt to = transposed ? (7 * i + 3) % n : i;
      PetscBool      same;

      if (to < first || to >= last) continue;
      PetscCall(PetscMemcmp(&a[to - first], &expected[i], sizeof(PetscReal), &same)); /* the real part */
      if (plain && i % 7 == 0) same = PetscIsNanReal(PetscRealPart(a[to - first]));
      if (plain && i % 7 == 3 && PetscRealPart(a[to - first]) == 0) same = PETSC_TRUE;
      if (!same) {
        PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %g became %g\n", transposed ? "A^T x" : "A x", (double)PetscRealPart(expected[i]), (double)PetscRealPart(a[to - first])));
        bad++;
      }
    }
    PetscCall(VecRestoreArray(y, &a));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A x with x = 1, for a matrix with one entry v[i] in its i-th local row, which takes the place of the entry before */
static PetscErrorCode KeepValues(Mat A, const PetscScalar v[], const char what[])
{
  Vec          x, y;
  PetscInt     first, last, n;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i++) PetscCall(MatSetValue(A, i, (7 * i + 3) % n, v[i - first], INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecGetArray(y, &a));
  for (PetscInt i = 0; i < last - first; i++) {
    if (a[i] == v[i]) continue;
    if (bad++ < 5) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: row %" PetscInt_FMT ": %g became %g\n", what, first + i, (double)PetscRealPart(v[i]), (double)PetscRealPart(a[i])));
  }
  PetscCall(VecRestoreArray(y, &a));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSquare(PetscInt n, Mat *A, PetscInt *m, PetscScalar **v)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetLocalSize(*A, m, NULL));
  PetscCall(PetscMalloc1(*m, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Half of the values are all different, the others equal; then the halves change places: a form with a table of values codes as many by it as before, but others */
static PetscErrorCode MoveBits(PetscInt n)
{
  Mat          A;
  PetscInt     m;
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(CreateSquare(n, &A, &m, &v));
  for (int turn = 0; turn < 3; turn++) {
    for (PetscInt i = 0; i < m; i++) v[i] = (i < m / 2) == (turn % 2 == 0) ? (PetscReal)2.5 : 1 + (PetscReal)i * PETSC_MACHINE_EPSILON;
    PetscCall(KeepValues(A, v, "values that change places"));
  }
  PetscCall(PetscFree(v));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values of the same pattern, with so many different ones that indices into a table, which may have zero too, need more bits than before, or fewer */
static PetscErrorCode FewValues(PetscInt n)
{
  const PetscInt counts[] = {1, 2, 3, 4, 15, 16, 255, 256, 3, 1, 16, 1};
  Mat            A;
  PetscInt       m;
  PetscScalar   *v;

  PetscFunctionBegin;
  PetscCall(CreateSquare(n, &A, &m, &v));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(counts); k++) {
    for (PetscInt i = 0; i < m; i++) v[i] = 1 + ((PetscReal)(i % counts[k]) + k) * 16 * PETSC_MACHINE_EPSILON;
    PetscCall(KeepValues(A, v, "few different values"));
  }
  PetscCall(PetscFree(v));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values with few bits and with exponents from lowest to highest: at the limits of a shorter number format, in which they might be stored */
static PetscErrorCode KeepExponents(PetscInt lowest, PetscInt highest)
{
  const PetscInt range = highest - lowest + 1;
  Mat            A;
  PetscInt       m;
  PetscScalar   *v;

  PetscFunctionBegin;
  PetscCall(CreateSquare(4 * 3 * range, &A, &m, &v)); /* all exponents on each of up to four processes */
  for (PetscInt i = 0; i < m; i++) v[i] = (PetscReal)ldexp(1 + (i % 16) / 16.0, (int)(lowest + i % range));
  PetscCall(KeepValues(A, v, "exponents at the limits of a shorter format"));
  PetscCall(PetscFree(v));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  count, step = 2;
  PetscBool repeat = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-step", &step, NULL));
  PetscCall(ShapesCount(&count));
  for (PetscInt k = 0; k < count && repeat; k += step) {
    Reference ref;

    PetscCall(ShapesGet(k, &ref));
    PetscCall(Repeat(&ref));
    PetscCall(ReferenceDestroy(&ref));
  }
  PetscCall(KeepBits(3, 1000));
  PetscCall(KeepBits(1000, 1000));
  PetscCall(KeepBits(2000, 5000));
  PetscCall(MoveBits(6000));
  PetscCall(FewValues(6000));
  PetscCall(KeepExponents(-126, 127)); /* all of single precision, then more */
  if (!PetscDefined(USE_REAL_SINGLE)) {
    PetscCall(KeepExponents(-127, 127));
    PetscCall(KeepExponents(-126, 128));
  }
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c shapes.c

  testset:
    output_file: output/bitwise_1.out
    args: -mat_type bccoo -mat_bccoo_compression {{tuples simd csr}}
    test:
      suffix: 2threads
      env: OMP_NUM_THREADS=2
    test:
      suffix: 3threads
      env: OMP_NUM_THREADS=3
    test:
      suffix: copies
      env: OMP_NUM_THREADS=3
      args: -mat_form_copies 2
    test:
      suffix: parallel
      nsize: 2

  # a device adds in any order, but keeps values
  test:
    suffix: csrccuda
    output_file: output/bitwise_1.out
    args: -mat_type csrccuda -repeat 0
    nsize: {{1 2}}
  test:
    suffix: gpu
    output_file: output/bitwise_1.out
    args: -mat_type csrccuda -mat_csrc_layout {{csrc balanced}} -repeat 0
    nsize: {{1 2}}
  # unless it is told not to, which takes two copies; with four processes several add to one entry
  test:
    suffix: gpu_reproducible
    output_file: output/bitwise_1.out
    args: -mat_type csrccuda -mat_csrc_reproducible -step 6
  test:
    suffix: gpu_pieces
    output_file: output/bitwise_1.out
    args: -mat_type csrccuda -pieces 3 -mat_csrc_reproducible -step 12
  # which share the device by time slices and wait for each other in each of the 150 products of a matrix: few matrices
  test:
    suffix: gpu_reproducible_parallel
    output_file: output/bitwise_1.out
    nsize: 4
    args: -mat_type csrccuda -mat_csrc_reproducible -step 24
  test:
    suffix: gpu_copies
    output_file: output/bitwise_1.out
    args: -mat_type csrccuda -mat_form_copies 2 -repeat 0

TEST*/
