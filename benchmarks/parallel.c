static const char help[] = "Products and singular values of generated matrices over several processes, one GPU each.\n\n\
  -matrix M,...   tall, rail, GL7d16, uniform, ESOC, stencil: the same matrix for any number of processes; default all six\n\
                  weaktall, weakstencil: as much for each process as the first and the last of these have\n\
                  billion: 10^9 nonzeros, some 50 GB of host memory\n\
                  1e9, 2.2e9: so many nonzeros, 100 in each row, 32 bytes of host memory for each; the second with 64-bit integers, or several processes\n\
  -scale s        size of the matrices: rows, columns and nonzeros, but for the columns of tall\n\
  -type T,...     matrix types; default csrccuda\n\
  -K k,...        columns of dense operands; 0: none; default 8,32\n\
  -solver S,...   SVD types; default blocklanczos; none: no SVD. Only types that multiply in parallel with what a solver asks for\n\
  -nsv n          singular values; default 16\n\
  -seconds s      for which products are repeated, about; default 0.2\n\
  -csv FILE       a line for each time is added to it\n\n\
Times are in microseconds: of a product, among many that are queued one after the other; of the third of three solves. Every product is\n\
checked entry by entry: the rows of the matrix are generated again, and multiplied on the host. The error of a product is the largest of an\n\
entry, as a share of what rounding allows: above 1 it is wrong, and the worst entry is printed. Singular values have their relative\n\
residuals. The exit status is 1 if anything was wrong.\n";

#include <slepcsvd.h>
#include <omp.h>
#include "bench.h"
#include "entrycheck.h"

/* The distribution of the nonzeros of a generated matrix */
typedef enum {
  LAW_UNIFORM, /* columns at random */
  LAW_SPREAD,  /* the same, but one in each of as many equal ranges, so that they come in ascending order */
  LAW_ZIPF,    /* few columns have most of the nonzeros */
  LAW_BANDED,  /* columns at random within a band */
  LAW_STENCIL  /* 7 points on a grid */
} Law;

typedef struct {
  const char *name;
  Law         law;
  PetscReal   rows, columns, nonzeros;
  PetscReal   parameter; /* band: its width; stencil: number of points along each side */
  PetscBool   weak;      /* whether rows and nonzeros are numbers for each process */
  PetscBool   svd;
} Problem;

static const Problem Problems[] = {
  {"tall",        LAW_ZIPF,    8e6,     10000,   7.9e7,  0,    PETSC_FALSE, PETSC_TRUE },
  {"rail",        LAW_UNIFORM, 1092610, 4284,    1.13e7, 0,    PETSC_FALSE, PETSC_TRUE },
  {"GL7d16",      LAW_UNIFORM, 955128,  460261,  1.45e7, 0,    PETSC_FALSE, PETSC_TRUE },
  {"uniform",     LAW_UNIFORM, 1e6,     1000000, 2e7,    0,    PETSC_FALSE, PETSC_TRUE },
  {"ESOC",        LAW_BANDED,  327062,  37830,   5.9e6,  2000, PETSC_FALSE, PETSC_TRUE },
  {"stencil",     LAW_STENCIL, 7077888, 7077888, 4.95e7, 192,  PETSC_FALSE, PETSC_FALSE},
  {"weaktall",    LAW_ZIPF,    8e6,     10000,   7.9e7,  0,    PETSC_TRUE,  PETSC_FALSE},
  {"weakstencil", LAW_STENCIL, 7077888, 7077888, 4.95e7, 192,  PETSC_TRUE,  PETSC_FALSE},
  {"billion",     LAW_ZIPF,    1.013e8, 10000,   1e9,    0,    PETSC_FALSE, PETSC_FALSE},
  {"1e9",         LAW_SPREAD,  1e7,     1000000, 1e9,    0,    PETSC_FALSE, PETSC_FALSE},
  {"2.2e9",       LAW_SPREAD,  2.2e7,   1000000, 2.2e9,  0,    PETSC_FALSE, PETSC_FALSE},
};

typedef struct {
  PetscMPIInt ranks;
  PetscReal   scale, seconds;
  PetscInt    nsv, nK, K[MAXLIST];
  char        exchange[64], csv[PETSC_MAX_PATH_LEN];
  PetscInt    wrong;
} Run;

/* What the rows of a matrix are made from */
typedef struct {
  Law       law;
  PetscInt  M, N, grid; /* grid: points along each side */
  PetscReal mean, band; /* nonzeros of a row, width of the band */
} Generator;

static void GeneratorInit(const Problem *p, const Run *run, Generator *g)
{
  const PetscInt times = p->weak ? run->ranks : 1;

  g->law  = p->law;
  g->mean = p->nonzeros / p->rows;
  g->band = PetscMax(p->parameter * run->scale, 8);
  g->grid = PetscMax((PetscInt)(p->parameter * PetscPowReal(run->scale, 1.0 / 3) + 0.5), 2);
  g->M    = p->law == LAW_STENCIL ? g->grid * g->grid * g->grid * times : PetscMax((PetscInt)(p->rows * run->scale), 1) * times;
  g->N    = p->law == LAW_STENCIL ? g->M : PetscMax((PetscInt)(p->law == LAW_ZIPF ? p->columns : p->columns * run->scale), 1);
}

/*
  The columns of a row, sorted and distinct, and their values, unless values is NULL; returns their number, at most MAXROW. The random
  numbers belong to the row: a matrix does not depend on the number of processes, and a check can generate its rows again.
*/
#define MAXROW 128
static PetscInt GenerateRow(const Generator *g, PetscInt row, PetscInt columns[], PetscScalar values[])
{
  uint64_t state = (uint64_t)row * 0xD1342543DE82EF95ull;
  PetscInt n     = 0;

  if (g->law == LAW_STENCIL) {
    const PetscInt grid = g->grid, plane = grid * grid, x = row % grid, y = row / grid % grid;
    const PetscInt at[7]    = {row - plane, row - grid, row - 1, row, row + 1, row + grid, row + plane};
    const int      there[7] = {row >= plane, y > 0, x > 0, 1, x < grid - 1, y < grid - 1, row + plane < g->M};

    for (int k = 0; k < 7; k++) {
      if (there[k]) columns[n++] = at[k];
    }
  } else {
    PetscInt count = (PetscInt)g->mean;

    if (RandomUniform(&state) < g->mean - count) count++;
    count = PetscMin(PetscMin(count, g->N), MAXROW);
    for (PetscInt k = 0; k < count; k++) {
      const double u = RandomUniform(&state);
      PetscInt     c, at;

      if (g->law == LAW_ZIPF) c = (PetscInt)((uint64_t)(u * u * u * g->N) * 2654435761ull % (uint64_t)g->N);
      else if (g->law == LAW_SPREAD) c = PetscMin((PetscInt)((k + u) * g->N / count), g->N - 1);
      else if (g->law == LAW_BANDED) c = PetscClipInterval((PetscInt)((double)row / g->M * g->N + (u - 0.5) * g->band), 0, g->N - 1);
      else c = (PetscInt)(u * g->N);
      for (at = n; at > 0 && columns[at - 1] > c; at--) { }
      if (at > 0 && columns[at - 1] == c) continue;
      for (PetscInt l = n++; l > at; l--) columns[l] = columns[l - 1];
      columns[at] = c;
    }
  }
  for (PetscInt k = 0; values && k < n; k++) {
    if (g->law == LAW_STENCIL) values[k] = columns[k] == row ? 6.0 : -1.0 + 0.1 * RandomUniform(&state);
    else values[k] = 2 * RandomUniform(&state) - 1;
  }
  return n;
}

static PetscErrorCode Generate(const Problem *p, const Generator *g, MatType type, Mat *A)
{
  PetscInt     first, last, m;
  PetscInt    *i, *j;
  PetscScalar *v;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, g->M, g->N));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetFromOptions(*A)); /* for options of the type; this program does not use -mat_type */
  {
    PetscLayout rows;

    PetscCall(MatGetLayouts(*A, &rows, NULL));
    PetscCall(PetscLayoutSetUp(rows));
    PetscCall(PetscLayoutGetRange(rows, &first, &last));
  }
  m = last - first;
  PetscCall(PetscMalloc1(m + 1, &i));
  /* rows are generated twice: first for their lengths, then for their entries */
  PetscPragmaOMP(parallel for schedule(static))
  for (PetscInt r = 0; r < m; r++) {
    PetscInt columns[MAXROW];

    i[r + 1] = GenerateRow(g, first + r, columns, NULL);
  }
  i[0] = 0;
  for (PetscInt r = 0; r < m; r++) {
    PetscCheck(i[r] <= PETSC_INT_MAX - i[r + 1], PETSC_COMM_SELF, PETSC_ERR_SUP, "%s has more nonzeros on a process than an integer counts", p->name);
    i[r + 1] += i[r];
  }
  PetscCall(PetscMalloc1(i[m], &j));
  PetscCall(PetscMalloc1(i[m], &v));
  PetscPragmaOMP(parallel for schedule(static))
  for (PetscInt r = 0; r < m; r++) {
    PetscInt    columns[MAXROW];
    PetscScalar values[MAXROW];
    PetscInt    n = GenerateRow(g, first + r, columns, values);

    for (PetscInt k = 0; k < n; k++) {
      j[i[r] + k] = columns[k];
      v[i[r] + k] = values[k];
    }
  }
  PetscCall(MatSeqAIJSetPreallocationCSR(*A, i, j, v));
  PetscCall(MatMPIAIJSetPreallocationCSR(*A, i, j, v));
  PetscCall(PetscFree(v));
  PetscCall(PetscFree(j));
  PetscCall(PetscFree(i));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An entry of a product and what it should be; of several the worst */
typedef struct {
  PetscReal   error; /* as a share of what rounding allows */
  PetscInt    row, column;
  PetscScalar value, expected;
} Entry;

/* Entry (i, k) of the operand X of A X, or U of A^T U: a function of its place, so that no process asks another one for it */
static inline PetscScalar OperandEntry(const Generator *g, PetscBool transpose, PetscInt i, PetscInt k)
{
  const uint64_t place = (uint64_t)k * (uint64_t)(transpose ? g->M : g->N) + (uint64_t)i, index = transpose ? ~place : place;

#if defined(PETSC_USE_COMPLEX)
  return PetscCMPLX(ReferenceValue(index), ReferenceValue(index ^ UINT64_C(1) << 62));
#else
  return ReferenceValue(index);
#endif
}

/* Fills an operand of K columns, this process's rows of it, by columns that are ld apart */
static void FillOperand(const Generator *g, PetscBool transpose, PetscInt first, PetscInt last, PetscInt K, PetscScalar a[], PetscInt ld)
{
  for (PetscInt k = 0; k < K; k++) {
    PetscPragmaOMP(parallel for schedule(static))
    for (PetscInt i = first; i < last; i++) a[i - first + (size_t)k * ld] = OperandEntry(g, transpose, i, k);
  }
}

/*
  Terms have both signs, so that rounding errors of long sums grow no faster than the sum of absolute values: a multiple of this that does
  not depend on the number of terms suffices, and a term that is missing from millions is noticed.
*/
#define ROUNDING (32 * PETSC_MACHINE_EPSILON)
static inline void CompareEntry(PetscScalar value, PetscScalar expected, PetscReal absolute, PetscInt row, PetscInt column, Entry *worst)
{
  const PetscReal error = ErrorShare(PetscAbsScalar(value - expected), ROUNDING * absolute);

  if (error > worst->error) *worst = (Entry){error, row, column, value, expected};
}

/* Compares this process's rows of Y, K columns that are ld apart, with A X */
static PetscErrorCode CheckTimes(const Generator *g, PetscInt first, PetscInt last, PetscInt K, const PetscScalar Y[], PetscInt ld, Entry *worst)
{
  Entry all = {0};

  PetscFunctionBeginUser;
  PetscPragmaOMP(parallel)
  {
    Entry mine = {0};

    PetscPragmaOMP(for schedule(static))
    for (PetscInt row = first; row < last; row++) {
      PetscInt       columns[MAXROW];
      PetscScalar    values[MAXROW];
      const PetscInt n = GenerateRow(g, row, columns, values);

      for (PetscInt k = 0; k < K; k++) {
        PetscScalar sum      = 0;
        PetscReal   absolute = 0;

        for (PetscInt e = 0; e < n; e++) {
          const PetscScalar term = values[e] * OperandEntry(g, PETSC_FALSE, columns[e], k);

          sum += term;
          absolute += PetscAbsScalar(term);
        }
        CompareEntry(Y[row - first + (size_t)k * ld], sum, absolute, row, k, &mine);
      }
    }
    PetscPragmaOMP(critical)
    if (mine.error > all.error) all = mine;
  }
  *worst = all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The same for X and A^T U. The sums are made in pieces of columns of A: each thread has sums of its own for a piece, so that none waits
  for another one, whatever the matrix; then they are added over threads and processes, to those that have these rows of X. All rows are
  generated again for each piece.
*/
#define PIECE 4194304
static PetscErrorCode CheckTransposeTimes(const Generator *g, Mat A, PetscInt K, const PetscScalar X[], PetscInt ld, Entry *worst)
{
  const int       threads = omp_get_max_threads();
  const PetscInt  width   = PetscMin(PetscMax(PIECE / K, 1), g->N);
  const size_t    size    = (size_t)width * K;
  const PetscInt *ranges;
  PetscInt        first, last, mine, end;
  PetscScalar    *sums, *sum;
  PetscReal      *absolutes, *absolute;
  PetscMPIInt    *counts, ranks;
  Entry           all = {0};

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatGetOwnershipRangeColumn(A, &mine, &end));
  PetscCall(MatGetOwnershipRangesColumn(A, &ranges));
  PetscCall(PetscMalloc5(size * threads, &sums, size * threads, &absolutes, size, &sum, size, &absolute, ranks, &counts));
  for (PetscInt low = 0; low < g->N; low += width) {
    const PetscInt high = low + PetscMin(width, g->N - low), start = PetscClipInterval(mine, low, high);

    for (int rank = 0; rank < ranks; rank++) {
      PetscCall(PetscMPIIntCast((PetscClipInterval(ranges[rank + 1], low, high) - PetscClipInterval(ranges[rank], low, high)) * K, &counts[rank]));
    }
    PetscPragmaOMP(parallel num_threads(threads))
    {
      const int    team = omp_get_num_threads();
      PetscScalar *s    = sums + size * omp_get_thread_num();
      PetscReal   *a    = absolutes + size * omp_get_thread_num();

      for (size_t t = 0; t < size; t++) s[t] = a[t] = 0;
      PetscPragmaOMP(for schedule(static))
      for (PetscInt row = first; row < last; row++) {
        PetscInt    columns[MAXROW], n, inside = 0;
        PetscScalar values[MAXROW];

        n = GenerateRow(g, row, columns, values);
        for (PetscInt e = 0; e < n; e++) {
          if (columns[e] < low || columns[e] >= high) continue;
          columns[inside]  = columns[e] - low;
          values[inside++] = values[e];
        }
        for (PetscInt k = 0; inside && k < K; k++) {
          const PetscScalar u = OperandEntry(g, PETSC_TRUE, row, k);

          for (PetscInt e = 0; e < inside; e++) {
            const PetscScalar term = values[e] * u;

            s[(size_t)columns[e] * K + k] += term;
            a[(size_t)columns[e] * K + k] += PetscAbsScalar(term);
          }
        }
      }
      PetscPragmaOMP(for schedule(static))
      for (size_t t = 0; t < size; t++) {
        for (int thread = 1; thread < team; thread++) {
          sums[t] += sums[t + size * thread];
          absolutes[t] += absolutes[t + size * thread];
        }
      }
    }
    PetscCallMPI(MPI_Reduce_scatter(sums, sum, counts, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
    PetscCallMPI(MPI_Reduce_scatter(absolutes, absolute, counts, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
    for (PetscInt i = start; i < PetscClipInterval(end, low, high); i++) {
      for (PetscInt k = 0; k < K; k++) {
        const size_t t = (size_t)(i - start) * K + k;

        CompareEntry(X[i - mine + (size_t)k * ld], sum[t], absolute[t], i, k, &all);
      }
    }
  }
  PetscCall(PetscFree5(sums, absolutes, sum, absolute, counts));
  *worst = all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Report(Run *run, const Problem *p, MatType type, Mat A, const char what[], PetscInt K, PetscLogDouble seconds, PetscReal error, PetscReal tolerance)
{
  PetscInt        M, N;
  MatInfo         info;
  FILE           *csv;
  const PetscBool wrong = error <= tolerance ? PETSC_FALSE : PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-11s %-12s %d ranks %-5s %-14s K %2" PetscInt_FMT " %12.1f us %8.2f ps a nonzero  error %.1e%s\n", p->name, type, (int)run->ranks, run->exchange, what, K, seconds * 1e6,
                        seconds * 1e12 / PetscMax(info.nz_used, 1), (double)error, wrong ? "  WRONG" : ""));
  if (wrong) run->wrong++;
  if (run->csv[0]) {
    PetscCall(PetscFOpen(PETSC_COMM_WORLD, run->csv, "a", &csv));
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, csv, "%s,%g,%s,%s,%d,%" PetscInt_FMT ",%" PetscInt_FMT ",%.0f,%s,%" PetscInt_FMT ",%.3f,%.3e\n", p->name, (double)run->scale, type, run->exchange, (int)run->ranks, M, N, info.nz_used, what, K,
                           seconds * 1e6, (double)error));
    PetscCall(PetscFClose(PETSC_COMM_WORLD, csv));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for a product, and which entry is wrong if one is */
static PetscErrorCode ReportProduct(Run *run, const Problem *p, MatType type, Mat A, const char what[], PetscInt K, PetscLogDouble seconds, const Entry *worst)
{
  PetscFunctionBeginUser;
  PetscCall(Report(run, p, type, A, what, K, seconds, worst->error, 1));
  if (worst->error > 1) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s %s %s K %" PetscInt_FMT ", entry (%" PetscInt_FMT ", %" PetscInt_FMT "), the worst: %.16g", p->name, type, what, K, worst->row, worst->column, (double)PetscRealPart(worst->value)));
    if (PetscDefined(USE_COMPLEX)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %+.16g i", (double)PetscImaginaryPart(worst->value)));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", expected %.16g", (double)PetscRealPart(worst->expected)));
    if (PetscDefined(USE_COMPLEX)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %+.16g i", (double)PetscImaginaryPart(worst->expected)));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product to be timed: Y = A X or X = A^T Y, with vectors or dense matrices */
typedef struct {
  Mat       A, X, Y;
  Vec       x, y;
  PetscBool transpose;
} Product;

static PetscErrorCode Multiply(Product *p)
{
  PetscFunctionBeginUser;
  if (p->X) PetscCall(MatProductNumeric(p->transpose ? p->X : p->Y));
  else if (p->transpose) PetscCall(MatMultTranspose(p->A, p->y, p->x));
  else PetscCall(MatMult(p->A, p->x, p->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The median of five times of a product; each of these is a mean over many products */
static PetscErrorCode TimeProduct(const Run *run, Product *p, PetscLogDouble *median)
{
  PetscLogDouble start, end;
  PetscReal      batches[5];
  PetscInt       times = 1;

  PetscFunctionBeginUser;
  for (int k = 0; k < 3; k++) PetscCall(Multiply(p));
  PetscCall(Now(&start));
  PetscCall(Multiply(p));
  PetscCall(Now(&end));
  times = PetscClipInterval((PetscInt)(run->seconds / 5 / PetscMax(end - start, 1e-7)), 1, 500);
  PetscCallMPI(MPI_Bcast(&times, 1, MPIU_INT, 0, PETSC_COMM_WORLD));
  for (int batch = 0; batch < 5; batch++) {
    PetscCall(Now(&start));
    for (PetscInt k = 0; k < times; k++) PetscCall(Multiply(p));
    PetscCall(Now(&end));
    batches[batch] = (PetscReal)((end - start) / times);
  }
  PetscCall(PetscSortReal(5, batches));
  *median = batches[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills the output of a product with NaN, so that an entry that is not written is noticed */
static PetscErrorCode FillNaN(const Product *p)
{
  const Mat Z = p->transpose ? p->X : p->Y;

  PetscFunctionBeginUser;
  if (Z) {
    PetscInt K;

    PetscCall(MatGetSize(Z, NULL, &K));
    for (PetscInt k = 0; k < K; k++) {
      Vec z;

      PetscCall(MatDenseGetColumnVecWrite(Z, k, &z));
      PetscCall(VecSet(z, NAN));
      PetscCall(MatDenseRestoreColumnVecWrite(Z, k, &z));
    }
  } else PetscCall(VecSet(p->transpose ? p->x : p->y, NAN));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compares the output of a product with what the generated rows give; returns the worst entry of all processes */
static PetscErrorCode Check(const Generator *g, const Product *p, Entry *worst)
{
  const Mat          Z = p->transpose ? p->X : p->Y;
  const Vec          z = p->transpose ? p->x : p->y;
  const PetscScalar *a;
  PetscInt           first, last, K = 1, ld = 0;
  struct {
    double error;
    int    rank;
  } largest;

  PetscFunctionBeginUser;
  if (Z) {
    PetscCall(MatGetSize(Z, NULL, &K));
    PetscCall(MatDenseGetLDA(Z, &ld));
    PetscCall(MatDenseGetArrayRead(Z, &a));
  } else PetscCall(VecGetArrayRead(z, &a));
  PetscCall(MatGetOwnershipRange(p->A, &first, &last));
  if (p->transpose) PetscCall(CheckTransposeTimes(g, p->A, K, a, ld, worst));
  else PetscCall(CheckTimes(g, first, last, K, a, ld, worst));
  if (Z) PetscCall(MatDenseRestoreArrayRead(Z, &a));
  else PetscCall(VecRestoreArrayRead(z, &a));
  largest.error = worst->error;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &largest.rank));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE_INT, MPI_MAXLOC, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Bcast(worst, sizeof(*worst), MPI_BYTE, largest.rank, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes a product again, checks it, and reports its time */
static PetscErrorCode CheckAndReport(Run *run, const Problem *p, const Generator *g, MatType type, Product *product, PetscInt K, PetscLogDouble seconds)
{
  Entry worst;

  PetscFunctionBeginUser;
  PetscCall(FillNaN(product));
  PetscCall(Multiply(product));
  PetscCall(Check(g, product, &worst));
  PetscCall(ReportProduct(run, p, type, product->A, product->X ? (product->transpose ? "TK" : "NK") : product->transpose ? "T" : "N", K, seconds, &worst));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Vectors(Run *run, const Problem *p, const Generator *g, MatType type, Mat A)
{
  Vec                x, y, Ax, Aty;
  PetscScalar       *a;
  const PetscScalar *read;
  PetscInt           first, last;
  PetscLogDouble     start, end, time;
  Product            product = {A, NULL, NULL, NULL, NULL, PETSC_FALSE};
  Entry              worst;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &Aty));
  PetscCall(VecDuplicate(y, &Ax));
  for (int transpose = 0; transpose < 2; transpose++) {
    const Vec v = transpose ? y : x;

    PetscCall(VecGetOwnershipRange(v, &first, &last));
    PetscCall(VecGetArrayWrite(v, &a));
    FillOperand(g, transpose ? PETSC_TRUE : PETSC_FALSE, first, last, 1, a, 0);
    PetscCall(VecRestoreArrayWrite(v, &a));
    /* now to the device, if the vector has one, so that no product's time has this copy in it */
    PetscCall(VecGetArrayReadAndMemType(v, &read, NULL));
    PetscCall(VecRestoreArrayReadAndMemType(v, &read));
  }
  product.x = x;
  product.y = Ax;
  PetscCall(Now(&start));
  PetscCall(Multiply(&product));
  PetscCall(Now(&end));
  PetscCall(Check(g, &product, &worst));
  PetscCall(ReportProduct(run, p, type, A, "first", 1, end - start, &worst));
  PetscCall(TimeProduct(run, &product, &time));
  PetscCall(CheckAndReport(run, p, g, type, &product, 1, time));
  product.transpose = PETSC_TRUE;
  product.x         = Aty;
  product.y         = y;
  PetscCall(TimeProduct(run, &product, &time));
  PetscCall(CheckAndReport(run, p, g, type, &product, 1, time));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&Ax));
  PetscCall(VecDestroy(&Aty));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A dense operand of K columns, X of A X or U of A^T U */
static PetscErrorCode CreateDense(const Generator *g, Mat A, PetscBool transpose, PetscInt K, PetscBool device, Mat *X)
{
  PetscInt     first, last, ld;
  PetscScalar *a;

  PetscFunctionBeginUser;
  if (transpose) PetscCall(MatGetOwnershipRange(A, &first, &last));
  else PetscCall(MatGetOwnershipRangeColumn(A, &first, &last));
  PetscCall(MatCreate(PETSC_COMM_WORLD, X));
  PetscCall(MatSetSizes(*X, last - first, PETSC_DECIDE, transpose ? g->M : g->N, K));
  PetscCall(MatSetType(*X, device ? MATDENSECUDA : MATDENSE));
  PetscCall(MatSetUp(*X));
  PetscCall(MatDenseGetLDA(*X, &ld));
  PetscCall(MatDenseGetArrayWrite(*X, &a));
  FillOperand(g, transpose, first, last, K, a, ld);
  PetscCall(MatDenseRestoreArrayWrite(*X, &a));
  PetscCall(MatAssemblyBegin(*X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*X, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Dense(Run *run, const Problem *p, const Generator *g, MatType type, Mat A, PetscInt K, PetscBool device)
{
  Mat            X, Y, AX, AtY;
  PetscLogDouble time;
  PetscBool      cusparse;
  Product        product = {A, NULL, NULL, NULL, NULL, PETSC_FALSE};

  PetscFunctionBeginUser;
  PetscCall(CreateDense(g, A, PETSC_FALSE, K, device, &X));
  PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &AX));
  product.X = X;
  product.Y = AX;
  PetscCall(TimeProduct(run, &product, &time));
  PetscCall(CheckAndReport(run, p, g, type, &product, K, time));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&AX));
  /* PETSc has no parallel A^T Y on devices */
  PetscCall(PetscStrcmp(type, MATAIJCUSPARSE, &cusparse));
  if (cusparse && run->ranks > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CreateDense(g, A, PETSC_TRUE, K, device, &Y));
  PetscCall(MatTransposeMatMult(A, Y, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &AtY));
  product.X         = AtY;
  product.Y         = Y;
  product.transpose = PETSC_TRUE;
  PetscCall(TimeProduct(run, &product, &time));
  PetscCall(CheckAndReport(run, p, g, type, &product, K, time));
  PetscCall(MatDestroy(&Y));
  PetscCall(MatDestroy(&AtY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Run *run, const Problem *p, MatType type, Mat A, const char solver[])
{
  PetscLogDouble start, end = 0.0;
  PetscReal      error = 0.0, e;
  PetscInt       M, N, nsv;
  char           what[64];

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &M, &N));
  nsv = PetscMin(run->nsv, PetscMin(M, N)); /* a small -scale leaves few columns */
  for (int k = 0; k < 3; k++) {
    SVD      svd;
    PetscInt nconv;

    PetscCall(Now(&start));
    PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
    PetscCall(SVDSetOperators(svd, A, NULL));
    PetscCall(SVDSetType(svd, solver));
    PetscCall(SVDSetImplicitTranspose(svd, PETSC_TRUE));
    PetscCall(SVDSetDimensions(svd, nsv, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(SVDSetTolerances(svd, 1e-8, PETSC_CURRENT)); /* without it cross has a tenth of this */
    PetscCall(SVDSetFromOptions(svd));
    PetscCall(SVDSolve(svd));
    PetscCall(Now(&end));
    PetscCall(SVDGetConverged(svd, &nconv));
    if (nconv < nsv) error = PETSC_MAX_REAL;
    for (PetscInt i = 0; k == 2 && i < PetscMin(nconv, nsv); i++) {
      PetscCall(SVDComputeError(svd, i, SVD_ERROR_RELATIVE, &e));
      error = PetscMax(error, e);
    }
    PetscCall(SVDDestroy(&svd));
  }
  PetscCall(PetscSNPrintf(what, sizeof(what), "svd:%s", solver));
  PetscCall(Report(run, p, type, A, what, 0, end - start, error, 1e-7));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunProblem(Run *run, const Problem *p, MatType type, PetscInt nsolvers, char *const solvers[])
{
  Mat       A;
  VecType   vtype;
  PetscBool device, none;
  Generator g;

  PetscFunctionBeginUser;
  GeneratorInit(p, run, &g);
  PetscCall(Generate(p, &g, type, &A));
  PetscCall(MatGetVecType(A, &vtype));
  PetscCall(PetscStrcmpAny(vtype, &device, VECCUDA, VECSEQCUDA, VECMPICUDA, ""));
  PetscCall(Vectors(run, p, &g, type, A));
  for (PetscInt k = 0; k < run->nK; k++) {
    if (run->K[k] > 0) PetscCall(Dense(run, p, &g, type, A, run->K[k], device));
  }
  for (PetscInt s = 0; p->svd && s < nsolvers; s++) {
    PetscCall(PetscStrcmp(solvers[s], "none", &none));
    if (!none) PetscCall(Solve(run, p, type, A, solvers[s]));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Run       run = {0};
  char     *matrices[MAXLIST], *types[MAXLIST], *solvers[MAXLIST];
  PetscInt  nmatrices, ntypes, nsolvers;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsSetValue(NULL, "-mat_form_store_at_once", "true")); /* products of stored nonzeros are measured */
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &run.ranks));
  run.scale   = 1.0;
  run.seconds = 0.2;
  run.nsv     = 16;
  run.nK      = MAXLIST;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-scale", &run.scale, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-seconds", &run.seconds, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-nsv", &run.nsv, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-K", run.K, &run.nK, &set));
  if (!set) {
    run.nK   = 2;
    run.K[0] = 8;
    run.K[1] = 32;
  }
  PetscCall(PetscStrncpy(run.exchange, "auto", sizeof(run.exchange)));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_form_exchange", run.exchange, sizeof(run.exchange), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", run.csv, sizeof(run.csv), NULL));
  if (run.csv[0]) {
    PetscCall(PetscTestFile(run.csv, 'r', &set));
    if (!set) {
      FILE *csv;

      PetscCall(PetscFOpen(PETSC_COMM_WORLD, run.csv, "w", &csv));
      PetscCall(PetscFPrintf(PETSC_COMM_WORLD, csv, "matrix,scale,type,exchange,ranks,rows,columns,nonzeros,what,K,us,error\n"));
      PetscCall(PetscFClose(PETSC_COMM_WORLD, csv));
    }
  }
  PetscCall(GetList("-matrix", "tall,rail,GL7d16,uniform,ESOC,stencil", matrices, &nmatrices));
  PetscCall(GetList("-type", "csrccuda", types, &ntypes));
  PetscCall(GetList("-solver", "blocklanczos", solvers, &nsolvers));
  for (PetscInt k = 0; k < nmatrices; k++) {
    const Problem *p = NULL;

    for (size_t l = 0; l < PETSC_STATIC_ARRAY_LENGTH(Problems); l++) {
      PetscCall(PetscStrcmp(matrices[k], Problems[l].name, &set));
      if (set) p = &Problems[l];
    }
    PetscCheck(p, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-matrix %s: see -help for those that there are", matrices[k]);
    for (PetscInt t = 0; t < ntypes; t++) PetscCall(RunProblem(&run, p, types[t], nsolvers, solvers));
  }
  for (PetscInt k = 0; k < nmatrices; k++) PetscCall(PetscFree(matrices[k]));
  for (PetscInt k = 0; k < ntypes; k++) PetscCall(PetscFree(types[k]));
  for (PetscInt k = 0; k < nsolvers; k++) PetscCall(PetscFree(solvers[k]));
  PetscCall(SlepcFinalize());
  return run.wrong ? 1 : 0;
}
