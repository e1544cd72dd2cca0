static char help[] = "Coding simd: random patterns and values that reach every kind of chunk, by all instructions, with 1 to 16 threads.\n\n";

#if !defined(_GNU_SOURCE)
  #define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#endif
#include "caught.h"
#include "wayback.h"
#include <petsccsrc.h>
#include <petscmat.h>
#include <fenv.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <sys/mman.h>

typedef enum {
  UNIFORM, /* any columns */
  FAR,     /* neighbouring columns, and one at the other end: columns need many bits */
  POWER,   /* a few rows have most of the nonzeros */
  ONEROW,  /* one row has all nonzeros: row blocks begin and end inside it */
  ONECOLUMN,
  STENCIL,   /* columns that follow each other from row to row */
  DIAGONAL,  /* one nonzero a row, on a permuted diagonal */
  BLOCKS,    /* runs of columns along a row, the same in consecutive rows */
  DENSEROWS, /* two full rows among short ones */
  SCATTERED, /* consecutive rows have few columns, in groups of eight, all over the matrix */
  SHARED,    /* groups of rows with the same columns: groups smaller than a vector, then larger */
  TWOROWS    /* only two rows are not sorted, and their lowest columns are not first */
} Pattern;

typedef enum {
  EQUAL,
  SMALL,  /* 5 values */
  TABLE,  /* 200 */
  LARGE,  /* 3000 */
  OWN,    /* few in each part of the matrix, many in total */
  SINGLE, /* any that single precision holds */
  FULL,
  SPECIAL, /* NaN, infinity, denormal numbers and -0 among others */
  NVALUES
} Values;

typedef struct {
  const char *name;
  Pattern     pattern;
  PetscInt    m, n, degree;
  int         threads; /* if not 0, only with this number of threads, and values of one kind */
} Shape;

static const Shape shapes[] = {
  {"uniform",             UNIFORM,   3000,   2000,    20,    0},
  {"long rows",           UNIFORM,   40,     9000,    1500,  0},
  {"ranges of columns",   UNIFORM,   5000,   200000,  12,    0},
  {"few columns",         UNIFORM,   12000,  73,      7,     0},
  {"hardly any nonzeros", UNIFORM,   300000, 300000,  0,     0},
  {"far apart",           FAR,       8000,   150000,  5,     0},
  {"power law",           POWER,     4000,   20000,   16000, 0},
  {"one row",             ONEROW,    5,      60000,   50000, 0},
  {"one column",          ONECOLUMN, 50000,  5,       1,     0},
  {"stencil",             STENCIL,   16000,  16000,   5,     0},
  {"permuted diagonal",   DIAGONAL,  40000,  40000,   1,     0},
  {"blocks",              BLOCKS,    3000,   3000,    9,     0},
  {"two dense rows",      DENSEROWS, 9000,   9000,    3,     0},
  {"one nonzero",         UNIFORM,   1,      1,       1,     0},
  {"beyond caches",       UNIFORM,   16000,  9000,    20,    0}, /* with few threads: values of these have tables */
  {"scattered lines",     SCATTERED, 40000,  6003,    3,     0},
  {"shared columns",      SHARED,    9000,   3001,    6,     0},
  {"far beyond caches",   FAR,       50000,  150000,  5,     0},
  {"many ranges",         UNIFORM,   40,     2200000, 1000,  1}, /* more ranges than are gathered at a time */
  {"two unsorted rows",   TWOROWS,   2000,   3000,    5,     0}
};

typedef struct {
  PetscInt     m, n, nnz;
  PetscInt    *i, *j;
  PetscScalar *a;
} CSR;

static uint64_t state = 1;

static uint64_t Random(void)
{
  uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static PetscReal RandomReal(void)
{
  return (PetscReal)(2.0 * (double)(Random() >> 11) / 9007199254740992.0 - 1.0);
}

/* Generates the entries of row i in any order, some twice; returns their number */
static PetscInt Row(const Shape *s, PetscInt i, PetscInt j[])
{
  PetscInt n = 0;

  switch (s->pattern) {
  case UNIFORM:
    for (PetscInt k = s->degree ? (PetscInt)(Random() % (2 * s->degree + 1)) : (PetscInt)(Random() % 16 == 0); k > 0; k--) j[n++] = (PetscInt)(Random() % s->n);
    break;
  case FAR:
    for (PetscInt k = 0; k < s->degree; k++) j[n++] = i + k;
    j[n++] = s->n - 1 - i % 5;
    break;
  case POWER:
    for (PetscInt k = s->degree / (i + 1) + 1; k > 0; k--) j[n++] = (PetscInt)(Random() % s->n);
    break;
  case ONEROW:
    for (PetscInt k = 0; i == 2 && k < s->degree; k++) j[n++] = (PetscInt)(Random() % s->n);
    break;
  case ONECOLUMN:
    j[n++] = 3;
    break;
  case STENCIL:
    for (PetscInt k = -2; k <= 2; k++) {
      const PetscInt c = i + (k == -2 ? -120 : k == 2 ? 120 : k);

      if (c >= 0 && c < s->n && !(k == -1 && i % 120 == 0)) j[n++] = c;
    }
    break;
  case DIAGONAL:
    j[n++] = (PetscInt)(((PetscInt64)i * 7919 + 11) % s->n);
    break;
  case BLOCKS:
    for (PetscInt b = -2; b <= 2; b++) {
      const PetscInt first = (i / 3 + 40 * b) * 3;

      for (PetscInt k = 0; k < (i % 700 < 3 ? 6 : s->degree); k++) {
        if (first + k >= 0 && first + k < s->n) j[n++] = first + k;
      }
    }
    break;
  case DENSEROWS:
    if (i == 17 || i == 5000) {
      for (n = 0; n < s->n; n++) j[n] = n;
    } else {
      for (PetscInt k = 0; k < s->degree; k++) j[n++] = (PetscInt)(Random() % s->n);
    }
    break;
  case SCATTERED:
    /* one row is so long that it is cut between row blocks */
    for (PetscInt k = 0; k < (i == 9800 ? 2400 : s->degree); k++) {
      const PetscInt line = (PetscInt)(Random() % (s->n / 256 + 1)) * 32 + i / (s->m / 32);

      j[n++] = (line * 8 + (PetscInt)(Random() % 8)) % s->n;
    }
    break;
  case SHARED: {
    const PetscInt group = i / (i < s->m / 2 ? 6 : 20);

    for (PetscInt k = 0; k < s->degree + (i % 11 == 0); k++) j[n++] = (PetscInt)(((PetscInt64)group * 7919 + k * 401) % s->n);
    break;
  }
  case TWOROWS: {
    const PetscInt step = (s->n - 10) / s->degree;

    for (PetscInt k = 0; k < s->degree; k++) j[n++] = 10 + k * step + i % step;
    if (i == 100 || i == 1900) j[1] = 3;
  }
  }
  return n;
}

static PetscScalar Value(Values values, PetscInt k)
{
  switch (values) {
  case EQUAL:
    return 1.25;
  case SMALL:
    return (PetscReal)(k % 5) - (PetscReal)2.25;
  case TABLE:
    return 1 / (PetscReal)(1 + Random() % 200);
  case LARGE:
    return 1 / (PetscReal)(1 + Random() % 3000);
  case OWN:
    return 1 / (PetscReal)(1 + k / 64);
  case SINGLE:
    return (PetscReal)(float)RandomReal();
  case SPECIAL:
    switch (Random() % 256) {
    case 0:
      return (PetscReal)INFINITY;
    case 1:
      return (PetscReal)NAN;
    case 2:
      return PETSC_REAL_MIN / 16;
    case 3:
      return -(PetscReal)0.0;
    default:
      return RandomReal();
    }
  default:
    return RandomReal();
  }
}

static PetscErrorCode CSRCreate(const Shape *s, Values values, CSR *csr)
{
  PetscInt *row, max = 0;

  PetscFunctionBegin;
  csr->m = s->m;
  csr->n = s->n;
  PetscCall(PetscMalloc1(PetscMax(2 * s->degree, s->n) + 8, &row));
  PetscCall(PetscMalloc1(s->m + 1, &csr->i));
  csr->j    = NULL;
  csr->i[0] = 0;
  for (PetscInt i = 0; i < s->m; i++) {
    PetscInt n = Row(s, i, row);

    if (PetscDefined(USE_DEBUG)) PetscCall(PetscSortRemoveDupsInt(&n, row)); /* with debugging PETSc refuses unsorted rows */
    else if (i % 2) PetscCall(PetscSortInt(n, row));                         /* every second row may be unsorted */
    if (csr->i[i] + n > max || !csr->j) {
      max = 2 * (csr->i[i] + n) + 16;
      PetscCall(PetscRealloc(max * sizeof(PetscInt), &csr->j));
    }
    PetscCall(PetscArraycpy(csr->j + csr->i[i], row, n));
    csr->i[i + 1] = csr->i[i] + n;
  }
  csr->nnz = csr->i[s->m];
  PetscCall(PetscMalloc1(csr->nnz + 1, &csr->a));
  for (PetscInt k = 0; k < csr->nnz; k++) csr->a[k] = Value(values, k);
  PetscCall(PetscFree(row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRDestroy(CSR *csr)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(csr->i));
  PetscCall(PetscFree(csr->j));
  PetscCall(PetscFree(csr->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Counts the entries that differ from op(A) x by a plain loop, column by column, by more than rounding. NaN and infinity must be where the
  loop has them; in complex arithmetic either is accepted, since products with infinity depend on the compiler.
*/
static PetscErrorCode Wrong(const CSR *csr, PetscBool transposed, PetscInt K, const PetscScalar *x, PetscInt ldx, const PetscScalar *found, PetscInt ldf, PetscInt *wrong)
{
  const PetscInt rows = transposed ? csr->n : csr->m;
  PetscScalar   *y;
  PetscReal     *bound;

  PetscFunctionBegin;
  *wrong = 0;
  PetscCall(PetscMalloc2(rows, &y, rows, &bound));
  for (PetscInt c = 0; c < K; c++) {
    PetscCall(PetscArrayzero(y, rows));
    PetscCall(PetscArrayzero(bound, rows));
    for (PetscInt i = 0; i < csr->m; i++) {
      for (PetscInt k = csr->i[i]; k < csr->i[i + 1]; k++) {
        const PetscInt    to   = transposed ? csr->j[k] : i;
        const PetscScalar term = csr->a[k] * x[(transposed ? i : csr->j[k]) + (size_t)c * ldx];

        y[to] += term;
        bound[to] += PetscAbsScalar(term) * (1 + (PetscReal)csr->nnz * PETSC_MACHINE_EPSILON);
      }
    }
    for (PetscInt i = 0; i < rows; i++) {
      const PetscScalar f = found[i + (size_t)c * ldf];

      if (PetscDefined(USE_COMPLEX) && PetscIsInfOrNanScalar(y[i]) && PetscIsInfOrNanScalar(f)) continue;
      if (PetscIsNanScalar(y[i]) ? PetscIsNanScalar(f) : y[i] == f || PetscAbsScalar(y[i] - f) <= 1000 * PETSC_MACHINE_EPSILON * bound[i]) continue;
      (*wrong)++;
    }
  }
  PetscCall(PetscFree2(y, bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A checksum of all results but NaNs, whose bits depend on the processor: products by AVX2 and by NEON have the same */
static uint64_t Sum;

static void AddBits(PetscCount n, const PetscScalar a[])
{
  const PetscReal *r = (const PetscReal *)a;

  for (PetscCount k = 0; k < n * (PetscCount)(sizeof(*a) / sizeof(*r)); k++) {
    uint64_t u = 0;

    (void)memcpy(&u, &r[k], PetscMin(sizeof(u), sizeof(*r)));
    if (!PetscIsNanReal(r[k])) Sum = (Sum ^ u) * UINT64_C(1099511628211);
  }
}

/* A product with K columns, with leading dimensions larger than needed, made twice */
static PetscErrorCode CheckDense(const char what[], const CSR *csr, Mat A, PetscBool transposed, PetscInt K, const PetscScalar *x, PetscInt ldx, PetscInt *bad)
{
  const PetscInt in = transposed ? csr->m : csr->n, out = transposed ? csr->n : csr->m, ldy = out + 3;
  PetscScalar   *y[2];
  PetscInt       wrong;
  PetscBool      same;

  PetscFunctionBegin;
  for (int again = 0; again < 2; again++) {
    Mat X, Y;

    PetscCall(PetscMalloc1((size_t)ldy * K, &y[again]));
    for (PetscInt k = 0; k < ldy * K; k++) y[again][k] = (PetscReal)(k % ldy < out ? NAN : 7.0);
    PetscCall(MatCreateDenseFromVecType(PETSC_COMM_SELF, VECSEQ, in, K, in, K, ldx, (PetscScalar *)x, &X));
    PetscCall(MatCreateDenseFromVecType(PETSC_COMM_SELF, VECSEQ, out, K, out, K, ldy, y[again], &Y));
    PetscCall(MatProductCreateWithMat(A, X, NULL, Y));
    PetscCall(MatProductSetType(Y, transposed ? MATPRODUCT_AtB : MATPRODUCT_AB));
    PetscCall(MatProductSetFromOptions(Y));
    PetscCall(MatProductSymbolic(Y));
    PetscCall(MatProductNumeric(Y));
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&Y));
  }
  PetscCall(Wrong(csr, transposed, K, x, ldx, y[0], ldy, &wrong));
  for (PetscInt k = 0; k < ldy * K; k++) wrong += k % ldy >= out && y[0][k] != (PetscReal)7.0;
  PetscCall(PetscMemcmp(y[0], y[1], (size_t)ldy * K * sizeof(PetscScalar), &same));
  AddBits((PetscCount)ldy * K, y[0]);
  if (wrong || !same) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s of %" PetscInt_FMT " columns has %" PetscInt_FMT " wrong entries%s\n", what, transposed ? "A^T X" : "A X", K, wrong, same ? "" : ", and others the second time"));
  *bad += wrong + !same;
  PetscCall(PetscFree(y[0]));
  PetscCall(PetscFree(y[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckVector(const char what[], const CSR *csr, Mat A, PetscBool transposed, const PetscScalar *x, PetscInt *bad)
{
  const PetscInt     in = transposed ? csr->m : csr->n, out = transposed ? csr->n : csr->m;
  Vec                vx, y, again;
  const PetscScalar *ya, *za;
  PetscInt           wrong;
  PetscBool          same;

  PetscFunctionBegin;
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, in, x, &vx));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, out, &y));
  PetscCall(VecDuplicate(y, &again));
  PetscCall(VecSet(y, (PetscReal)NAN));
  PetscCall(transposed ? MatMultTranspose(A, vx, y) : MatMult(A, vx, y));
  PetscCall(transposed ? MatMultTranspose(A, vx, again) : MatMult(A, vx, again));
  PetscCall(VecGetArrayRead(y, &ya));
  PetscCall(VecGetArrayRead(again, &za));
  PetscCall(Wrong(csr, transposed, 1, x, in, ya, out, &wrong));
  PetscCall(PetscMemcmp(ya, za, out * sizeof(PetscScalar), &same));
  AddBits(out, ya);
  PetscCall(VecRestoreArrayRead(y, &ya));
  PetscCall(VecRestoreArrayRead(again, &za));
  if (wrong || !same) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s has %" PetscInt_FMT " wrong entries%s\n", what, transposed ? "A^T x" : "A x", wrong, same ? "" : ", and others the second time"));
  *bad += wrong + !same;
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&again));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with a vector, and with K columns */
static PetscErrorCode Check(const char what[], const CSR *csr, Mat A, PetscInt K, PetscInt *bad)
{
  PetscFunctionBegin;
  for (int t = 0; t < 2; t++) {
    const PetscInt in = t ? csr->m : csr->n, ldx = in + 5;
    PetscScalar   *x;

    PetscCall(PetscMalloc1((size_t)ldx * K, &x));
    for (PetscInt k = 0; k < ldx * K; k++) x[k] = k % ldx < in ? RandomReal() : (PetscReal)NAN;
    x[in / 2] = (PetscReal)INFINITY; /* may change only entries that have a nonzero in this column */
    PetscCall(CheckVector(what, csr, A, (PetscBool)t, x, bad));
    PetscCall(CheckDense(what, csr, A, (PetscBool)t, K, x, ldx, bad));
    PetscCall(PetscFree(x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckWayBack(const char what[], const CSR *csr, Mat A, PetscInt *bad)
{
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(WayBack(A, csr->i, csr->j, csr->a, &same));
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: another CSR comes back\n", what));
  *bad += !same;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the processor has these instructions */
static PetscBool Supported(const char simd[])
{
#if defined(__x86_64__) && defined(PETSC_USE_REAL_DOUBLE) && !defined(PETSC_USE_COMPLEX)
  if (!strcmp(simd, "avx2")) return (PetscBool)(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  if (!strncmp(simd, "avx512", 6)) return (PetscBool)(__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"));
#elif defined(__aarch64__) && defined(PETSC_USE_REAL_DOUBLE) && !defined(PETSC_USE_COMPLEX)
  if (!strcmp(simd, "neon")) return PETSC_TRUE;
#endif
  return (PetscBool)(!strcmp(simd, "best") || !strcmp(simd, "portable"));
}

/* What the library reads for tests: bytes that stay in cache, and instructions; "": those of the processor */
static void SetTest(const char cache[], const char simd[])
{
  char value[64];

  (void)snprintf(value, sizeof(value), "cache=%s,simd=%s", cache, simd);
  setenv("PETSCCSRC_TEST", value, 1);
}

static const char *const simd[] = {"best", "portable", "avx2", "avx512", "avx512loads", "neon"};

/*
  Where no entry is NaN, products raise no floating-point exception for an invalid operation, with which -fp_trap ends a program: with infinity in the
  vector, or stored, and whatever lanes are not in use. Everything is positive, so that infinity is not subtracted from infinity.
*/
static PetscErrorCode CheckExceptions(const Shape *s, Values kind, const char which[], PetscInt *bad)
{
  const uint64_t before = state;

  PetscFunctionBegin;
  omp_set_num_threads(1); /* each thread has exceptions of its own */
  SetTest("0", strcmp(which, "best") ? which : "");
  for (int stored = 0; stored < 2; stored++) {
    CSR csr;
    Mat A, B;

    PetscCall(CSRCreate(s, kind, &csr));
    for (PetscInt k = 0; k < csr.nnz; k++) csr.a[k] = stored && (kind == EQUAL || k % 97 == 0) ? (PetscScalar)INFINITY : (PetscScalar)(PetscAbsScalar(csr.a[k]) + 1);
    PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, csr.m, csr.n, csr.i, csr.j, csr.a, &B));
    PetscCall(MatConvert(B, "bccoo", MAT_INITIAL_MATRIX, &A));
    PetscCall(MatSetFromOptions(A));
    for (int t = 0; t < 2; t++) {
      const PetscInt in = t ? csr.m : csr.n, out = t ? csr.n : csr.m;

      for (PetscInt K = 0; K <= 11; K = K ? 4 * K - 1 : 3) { /* 0: a vector */
        Mat          X, Y;
        Vec          x, y;
        PetscScalar *a;
        int          raised;

        PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, in, PetscMax(1, K), NULL, &X));
        PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, out, PetscMax(1, K), NULL, &Y));
        PetscCall(MatDenseGetArrayWrite(X, &a));
        for (PetscInt k = 0; k < in * PetscMax(1, K); k++) a[k] = !stored && k % 5 == 2 ? (PetscScalar)INFINITY : (PetscScalar)(1 + k % 3);
        PetscCall(MatDenseRestoreArrayWrite(X, &a));
        if (K) {
          PetscCall(MatProductCreateWithMat(A, X, NULL, Y));
          PetscCall(MatProductSetType(Y, t ? MATPRODUCT_AtB : MATPRODUCT_AB));
          PetscCall(MatProductSetFromOptions(Y));
          PetscCall(MatProductSymbolic(Y));
          (void)feclearexcept(FE_INVALID);
          PetscCall(MatProductNumeric(Y));
          raised = fetestexcept(FE_INVALID);
        } else {
          PetscCall(MatDenseGetColumnVecRead(X, 0, &x));
          PetscCall(MatDenseGetColumnVecWrite(Y, 0, &y));
          (void)feclearexcept(FE_INVALID);
          PetscCall(t ? MatMultTranspose(A, x, y) : MatMult(A, x, y));
          raised = fetestexcept(FE_INVALID);
          PetscCall(MatDenseRestoreColumnVecRead(X, 0, &x));
          PetscCall(MatDenseRestoreColumnVecWrite(Y, 0, &y));
        }
        if (raised) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, values %d, %s, infinity is %s: %s with %" PetscInt_FMT " columns raises FE_INVALID, which is wrong\n", s->name, (int)kind, which, stored ? "stored" : "in X", t ? "A^T X" : "A X", K));
        *bad += raised != 0;
        PetscCall(MatDestroy(&X));
        PetscCall(MatDestroy(&Y));
      }
    }
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
    PetscCall(CSRDestroy(&csr));
  }
  state = before; /* the matrices that follow, and -instructions' checksum of their products, are the same on every processor */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Threads that share the columns up to the last one that an index can count; the vector with their sums has addresses, and memory where it is used */
static PetscErrorCode CheckLastColumn(PetscInt *bad)
{
  const PetscInt m = 2000, each = 10, n = 2147483647;
  const size_t   bytes = (size_t)n * sizeof(PetscScalar);
  PetscScalar   *a     = (PetscScalar *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  PetscInt       wrong = 0;
  Mat            A;
  Vec            u, v;

  PetscFunctionBegin;
  if (a == (PetscScalar *)MAP_FAILED) PetscFunctionReturn(PETSC_SUCCESS); /* the system does not give so many addresses */
  omp_set_num_threads(16);
  SetTest("0", "");
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, m, n, each, NULL, &A));
  for (PetscInt i = 0; i < m; i++) {
    for (PetscInt k = 0; k < each; k++) PetscCall(MatSetValue(A, i, n - each + k, k + 1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatConvert(A, "bccoo", MAT_INPLACE_MATRIX, &A));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, m, &u));
  PetscCall(VecSet(u, 1));
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, a, &v));
  PetscCall(MatMultTransposeAdd(A, u, v, v));
  for (PetscInt k = 0; k < 100; k++) wrong += a[n - 100 + k] != (PetscReal)(k < 100 - each ? 0 : m * (k - 99 + each));
  if (wrong) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " columns: A^T x has %" PetscInt_FMT " wrong entries among the last ones\n", n, wrong));
  *bad += wrong;
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(MatDestroy(&A));
  (void)munmap(a, bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values by a table that is not in registers are stored only in matrices that do not stay in cache, unless gathers are instructions */
static PetscErrorCode CheckCache(PetscInt *bad)
{
  const PetscInt    m = 1000, each = 200; /* more than a megabyte */
  const char *const cache[] = {"0", "1000000000", "many"};
  PetscLogDouble    bytes[3];
  PetscMemType      mtype;

  PetscFunctionBegin;
  omp_set_num_threads(1);
  for (int k = 0; k < 3; k++) {
    Mat            A;
    PetscErrorCode ierr;

    SetTest(cache[k], "portable");
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, m, m, each, NULL, &A));
    for (PetscInt i = 0; i < m; i++) {
      for (PetscInt j = 0; j < each; j++) PetscCall(MatSetValue(A, i, (i + 7 * j) % m, 1 + (PetscReal)((i + 13 * j) % 100) / 7, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatConvert(A, "bccoo", MAT_INPLACE_MATRIX, &A));
    Catch(ierr, MatFormGetMemory(A, &bytes[k], &mtype));
    if (k < 2) PetscCall(ierr);
    else if (ierr != PETSC_ERR_ARG_WRONG || !strstr(caught.message, "PETSCCSRC_TEST=cache=many")) {
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "unknown size of a cache: error %d, \"%s\"\n", (int)ierr, caught.message));
      (*bad)++;
    }
    PetscCall(MatDestroy(&A));
  }
  if (bytes[1] < bytes[0] + 0.7 * m * each * (sizeof(PetscScalar) - 1)) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%g bytes in cache, %g beyond\n", bytes[1], bytes[0]));
    (*bad)++;
  }
  SetTest("0", "");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A name of instructions that do not exist is an error, which lists those that exist */
static PetscErrorCode CheckUnknown(PetscInt *bad)
{
  Mat            A, B;
  Vec            x, y;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  SetTest("0", "bogus");
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 2, 2, 1, NULL, &B));
  PetscCall(MatSetValue(B, 0, 0, 1, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatConvert(B, "bccoo", MAT_INITIAL_MATRIX, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  Catch(ierr, MatMult(A, x, y));
  if (ierr != PETSC_ERR_SUP || !strstr(caught.message, "PETSCCSRC_TEST=simd=bogus") || !strstr(caught.message, "portable")) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "unknown instructions: error %d, \"%s\"\n", (int)ierr, caught.message));
    (*bad)++;
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Values   kinds[]   = {EQUAL, SMALL, TABLE, SINGLE, FULL};
  const int      threads[] = {1, 3, 16};
  const PetscInt columns[] = {19, 8, 3}; /* several panels, one, less than one */
  char           all[16];                /* the instructions of all products */
  PetscBool      given;
  PetscInt       bad = 0, count = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-instructions", all, sizeof(all), &given));
  PetscCall(CheckUnknown(&bad));
  PetscCall(CheckCache(&bad));
  PetscCall(CheckLastColumn(&bad));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(simd) && !shapes[s].threads && !PetscDefined(USE_COMPLEX); k++) {
      if (Supported(simd[k])) PetscCall(CheckExceptions(&shapes[s], kinds[(s + k) % PETSC_STATIC_ARRAY_LENGTH(kinds)], simd[k], &bad));
    }
    for (int v = 0; v < NVALUES; v++) {
      CSR csr;

      if (shapes[s].threads && v != SMALL) continue;
      PetscCall(CSRCreate(&shapes[s], (Values)v, &csr));
      for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(threads); t++) {
        const char  *which = simd[(s + v + t) % PETSC_STATIC_ARRAY_LENGTH(simd)];
        Mat          B, A;
        PetscScalar *a;
        char         what[128];
        const int    nthreads = shapes[s].threads ? shapes[s].threads : threads[t];

        if (shapes[s].threads && t != 1) continue;
        if (given) which = all;
        else if (!Supported(which)) which = "best";
        omp_set_num_threads(nthreads);
        PetscCall(PetscSNPrintf(what, sizeof(what), "%s, values %d, %d threads, %s", shapes[s].name, v, nthreads, which));
        SetTest("0", strcmp(which, "best") ? which : "");
        PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, csr.m, csr.n, csr.i, csr.j, csr.a, &B));
        PetscCall(MatConvert(B, "bccoo", MAT_INITIAL_MATRIX, &A));
        PetscCall(MatSetFromOptions(A));
        PetscCall(Check(what, &csr, A, columns[(v + t) % 3], &bad));
        if (shapes[s].pattern == SCATTERED && v == SMALL && nthreads == 16) PetscCall(MatViewFromOptions(A, NULL, "-form_view"));
        if (t == 1 || shapes[s].pattern == SCATTERED) { /* new values: of the same kind, and of another */
          for (int again = 0; again < 2; again++) {
            PetscCall(MatSeqAIJGetArrayWrite(A, &a));
            for (PetscInt k = 0; k < csr.nnz; k++) a[k] = csr.a[k] = again ? Value((Values)((v + 3) % NVALUES), k) : 3 * csr.a[k];
            PetscCall(MatSeqAIJRestoreArrayWrite(A, &a));
            PetscCall(Check(what, &csr, A, columns[(v + t) % 3], &bad));
          }
        }
        if (t == 2) PetscCall(CheckWayBack(what, &csr, A, &bad));
        PetscCall(MatDestroy(&A));
        PetscCall(MatDestroy(&B));
        count++;
      }
      PetscCall(CSRDestroy(&csr));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " matrices, %" PetscInt_FMT " faults\n", count, bad));
  if (given) PetscCall(PetscPrintf(PETSC_COMM_SELF, "checksum %016" PRIx64 "\n", Sum));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: openmp

  test:
    args: -mat_bccoo_compression simd -form_view ::ascii_info_detail
    filter: grep -E "faults|numbered|wrong|another" | sed -e "s/: [0-9]* lines of [0-9]* columns/: lines/" -e "s/^ \{1,\}//"

TEST*/
