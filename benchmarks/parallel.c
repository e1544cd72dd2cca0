static const char help[] = "Products and singular values of generated matrices over several processes, one GPU each.\n\n\
  -matrix M,...   tall, rail, GL7d16, ESOC, stencil: the same matrix for any number of processes; default all five\n\
                  weaktall, weakstencil: as much for each process as the first and the last of these have\n\
                  billion: 10^9 nonzeros, some 50 GB of host memory\n\
  -scale s        size of the matrices: rows, columns and nonzeros, but for the columns of tall\n\
  -type T,...     matrix types; default csrccuda\n\
  -K k,...        columns of dense operands; 0: none; default 8,32\n\
  -solver S,...   SVD types; default blocklanczos; none: no SVD. Only types that multiply in parallel with what a solver asks for\n\
  -nsv n          singular values; default 16\n\
  -seconds s      for which products are repeated, about; default 0.2\n\
  -csv FILE       a line for each time is added to it\n\n\
Times are in microseconds: of a product, among many that are queued one after the other; of the third of three solves. Every product is\n\
checked: u^H (A x) = (A^H u)^H x, the same for dense operands. The exit status is 1 if one was wrong.\n";

#include <slepcsvd.h>
#include "bench.h"

/* The distribution of the nonzeros of a generated matrix */
typedef enum {
  LAW_UNIFORM, /* columns at random */
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
  {"ESOC",        LAW_BANDED,  327062,  37830,   5.9e6,  2000, PETSC_FALSE, PETSC_TRUE },
  {"stencil",     LAW_STENCIL, 7077888, 7077888, 4.95e7, 192,  PETSC_FALSE, PETSC_FALSE},
  {"weaktall",    LAW_ZIPF,    8e6,     10000,   7.9e7,  0,    PETSC_TRUE,  PETSC_FALSE},
  {"weakstencil", LAW_STENCIL, 7077888, 7077888, 4.95e7, 192,  PETSC_TRUE,  PETSC_FALSE},
  {"billion",     LAW_ZIPF,    1.013e8, 10000,   1e9,    0,    PETSC_FALSE, PETSC_FALSE},
};

typedef struct {
  PetscMPIInt ranks;
  PetscReal   scale, seconds;
  PetscInt    nsv, nK, K[MAXLIST];
  char        exchange[64], csv[PETSC_MAX_PATH_LEN];
  PetscInt    wrong;
} Run;

/*
  The columns of a row, sorted and distinct; returns their number. columns has room for MAXROW of them. The state belongs to the row, so
  that a matrix does not depend on the number of processes.
*/
#define MAXROW 128
static PetscInt RowColumns(const Problem *p, PetscInt M, PetscInt N, PetscInt row, PetscInt grid, uint64_t *state, PetscInt columns[])
{
  PetscInt n = 0;

  if (p->law == LAW_STENCIL) {
    const PetscInt plane = grid * grid, x = row % grid, y = row / grid % grid;
    const PetscInt at[7]    = {row - plane, row - grid, row - 1, row, row + 1, row + grid, row + plane};
    const int      there[7] = {row >= plane, y > 0, x > 0, 1, x < grid - 1, y < grid - 1, row + plane < M};

    for (int k = 0; k < 7; k++) {
      if (there[k]) columns[n++] = at[k];
    }
    return n;
  } else {
    const double mean  = p->nonzeros / p->rows;
    PetscInt     count = (PetscInt)mean;

    if (RandomUniform(state) < mean - count) count++;
    count = PetscMin(PetscMin(count, N), MAXROW);
    for (PetscInt k = 0; k < count; k++) {
      const double u = RandomUniform(state);
      PetscInt     c, at;

      if (p->law == LAW_ZIPF) c = (PetscInt)((uint64_t)(u * u * u * N) * 2654435761ull % (uint64_t)N);
      else if (p->law == LAW_BANDED) c = PetscClipInterval((PetscInt)((double)row / M * N + (u - 0.5) * p->parameter), 0, N - 1);
      else c = (PetscInt)(u * N);
      for (at = n; at > 0 && columns[at - 1] > c; at--) { }
      if (at > 0 && columns[at - 1] == c) continue;
      for (PetscInt l = n++; l > at; l--) columns[l] = columns[l - 1];
      columns[at] = c;
    }
    return n;
  }
}

static PetscErrorCode Generate(const Problem *p, const Run *run, MatType type, Mat *A)
{
  const PetscInt  times = p->weak ? run->ranks : 1;
  const PetscReal cube  = PetscPowReal(run->scale, 1.0 / 3);
  PetscInt        M = (PetscInt)(p->rows * run->scale) * times, N = (PetscInt)(p->law == LAW_ZIPF ? p->columns : p->columns * run->scale), grid = 0, first, last, m;
  PetscInt       *i, *j;
  PetscScalar    *v;
  Problem         scaled = *p;

  PetscFunctionBeginUser;
  if (p->law == LAW_STENCIL) {
    grid = PetscMax((PetscInt)(p->parameter * cube + 0.5), 2);
    M = N = grid * grid * grid * times;
  }
  if (p->law == LAW_BANDED) scaled.parameter = PetscMax(p->parameter * run->scale, 8);
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, M, N));
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
  /* rows are generated twice: first for their lengths, then for their columns */
  PetscPragmaOMP(parallel for schedule(static))
  for (PetscInt r = 0; r < m; r++) {
    uint64_t state = (uint64_t)(first + r) * 0xD1342543DE82EF95ull;
    PetscInt columns[MAXROW];

    i[r + 1] = RowColumns(&scaled, M, N, first + r, grid, &state, columns);
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
    uint64_t state = (uint64_t)(first + r) * 0xD1342543DE82EF95ull;
    PetscInt columns[MAXROW], n = RowColumns(&scaled, M, N, first + r, grid, &state, columns);

    for (PetscInt k = 0; k < n; k++) {
      j[i[r] + k] = columns[k];
      v[i[r] + k] = p->law == LAW_STENCIL ? (columns[k] == first + r ? 6.0 : -1.0 + 0.1 * RandomUniform(&state)) : 2 * RandomUniform(&state) - 1;
    }
  }
  PetscCall(MatSeqAIJSetPreallocationCSR(*A, i, j, v));
  PetscCall(MatMPIAIJSetPreallocationCSR(*A, i, j, v));
  PetscCall(PetscFree(v));
  PetscCall(PetscFree(j));
  PetscCall(PetscFree(i));
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
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-11s %-12s %d ranks %-5s %-14s K %2" PetscInt_FMT " %12.1f us  error %.1e%s\n", p->name, type, (int)run->ranks, run->exchange, what, K, seconds * 1e6, (double)error, wrong ? "  WRONG" : ""));
  if (wrong) run->wrong++;
  if (run->csv[0]) {
    PetscCall(PetscFOpen(PETSC_COMM_WORLD, run->csv, "a", &csv));
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, csv, "%s,%g,%s,%s,%d,%" PetscInt_FMT ",%" PetscInt_FMT ",%.0f,%s,%" PetscInt_FMT ",%.3f,%.3e\n", p->name, (double)run->scale, type, run->exchange, (int)run->ranks, M, N, info.nz_used, what, K,
                           seconds * 1e6, (double)error));
    PetscCall(PetscFClose(PETSC_COMM_WORLD, csv));
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

/* Relative difference of y^T (A x) and (A^T y)^T x, given as a and b */
static PetscReal AdjointError(PetscScalar a, PetscScalar b, PetscReal size)
{
  return PetscAbsScalar(a - b) / PetscMax(size, PETSC_MACHINE_EPSILON);
}

static PetscErrorCode Vectors(Run *run, const Problem *p, MatType type, Mat A)
{
  Vec            x, y, Ax, Aty;
  PetscScalar    a, b;
  PetscReal      nAx, ny;
  PetscLogDouble start, end, time;
  Product        product = {A, NULL, NULL, NULL, NULL, PETSC_FALSE};

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &Aty));
  PetscCall(VecDuplicate(y, &Ax));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(VecSetRandom(y, NULL));
  PetscCall(Now(&start));
  PetscCall(MatMult(A, x, Ax));
  PetscCall(Now(&end));
  PetscCall(MatMultTranspose(A, y, Aty));
  PetscCall(VecTDot(Ax, y, &a));
  PetscCall(VecTDot(Aty, x, &b));
  PetscCall(VecNorm(Ax, NORM_2, &nAx));
  PetscCall(VecNorm(y, NORM_2, &ny));
  PetscCall(Report(run, p, type, A, "first", 1, end - start, AdjointError(a, b, nAx * ny), 1e-11));
  product.x = x;
  product.y = Ax;
  PetscCall(TimeProduct(run, &product, &time));
  PetscCall(Report(run, p, type, A, "N", 1, time, AdjointError(a, b, nAx * ny), 1e-11));
  product.transpose = PETSC_TRUE;
  product.x         = Aty;
  product.y         = y;
  PetscCall(TimeProduct(run, &product, &time));
  PetscCall(Report(run, p, type, A, "T", 1, time, AdjointError(a, b, nAx * ny), 1e-11));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&Ax));
  PetscCall(VecDestroy(&Aty));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateDense(PetscInt m, PetscInt M, PetscInt K, PetscBool device, Mat *X)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, X));
  PetscCall(MatSetSizes(*X, m, PETSC_DECIDE, M, K));
  PetscCall(MatSetType(*X, device ? MATDENSECUDA : MATDENSE));
  PetscCall(MatSetUp(*X));
  PetscCall(MatSetRandom(*X, NULL));
  PetscCall(MatAssemblyBegin(*X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*X, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sum of the products of corresponding entries of X and Y, and the product of their norms */
static PetscErrorCode DenseDot(Mat X, Mat Y, PetscScalar *sum, PetscReal *size)
{
  const PetscScalar *x, *y;
  PetscInt           m, K, ldx, ldy;
  PetscReal          nx, ny;

  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(X, &m, NULL));
  PetscCall(MatGetSize(X, NULL, &K));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Y, &ldy));
  PetscCall(MatDenseGetArrayRead(X, &x));
  PetscCall(MatDenseGetArrayRead(Y, &y));
  *sum = 0.0;
  for (PetscInt k = 0; k < K; k++)
    for (PetscInt i = 0; i < m; i++) *sum += x[i + (size_t)k * ldx] * y[i + (size_t)k * ldy];
  PetscCall(MatDenseRestoreArrayRead(Y, &y));
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, 1, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
  PetscCall(MatNorm(X, NORM_FROBENIUS, &nx));
  PetscCall(MatNorm(Y, NORM_FROBENIUS, &ny));
  *size = nx * ny;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Dense(Run *run, const Problem *p, MatType type, Mat A, PetscInt K, PetscBool device)
{
  Mat            X, Y, AX, AtY = NULL;
  PetscInt       m, n, M, N;
  PetscScalar    a, b;
  PetscReal      size, other, error = 0.0;
  PetscLogDouble time, ttime = 0.0;
  PetscBool      cusparse;
  Product        product = {A, NULL, NULL, NULL, NULL, PETSC_FALSE};

  PetscFunctionBeginUser;
  /* PETSc has no parallel A^T Y on devices */
  PetscCall(PetscStrcmp(type, MATAIJCUSPARSE, &cusparse));
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(CreateDense(n, N, K, device, &X));
  PetscCall(CreateDense(m, M, K, device, &Y));
  PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &AX));
  product.X = X;
  product.Y = AX;
  PetscCall(TimeProduct(run, &product, &time));
  if (!cusparse || run->ranks == 1) {
    PetscCall(MatTransposeMatMult(A, Y, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &AtY));
    product.X         = AtY;
    product.Y         = Y;
    product.transpose = PETSC_TRUE;
    PetscCall(TimeProduct(run, &product, &ttime));
    PetscCall(DenseDot(AX, Y, &a, &size));
    PetscCall(DenseDot(AtY, X, &b, &other));
    error = AdjointError(a, b, PetscMax(size, other));
  }
  PetscCall(Report(run, p, type, A, "NK", K, time, error, 1e-11));
  if (AtY) PetscCall(Report(run, p, type, A, "TK", K, ttime, error, 1e-11));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscCall(MatDestroy(&AX));
  PetscCall(MatDestroy(&AtY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Run *run, const Problem *p, MatType type, Mat A, const char solver[])
{
  PetscLogDouble start, end = 0.0;
  PetscReal      error = 0.0, e;
  char           what[64];

  PetscFunctionBeginUser;
  for (int k = 0; k < 3; k++) {
    SVD      svd;
    PetscInt nconv;

    PetscCall(Now(&start));
    PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
    PetscCall(SVDSetOperators(svd, A, NULL));
    PetscCall(SVDSetType(svd, solver));
    PetscCall(SVDSetImplicitTranspose(svd, PETSC_TRUE));
    PetscCall(SVDSetDimensions(svd, run->nsv, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(SVDSetTolerances(svd, 1e-8, PETSC_CURRENT)); /* without it cross has a tenth of this */
    PetscCall(SVDSetFromOptions(svd));
    PetscCall(SVDSolve(svd));
    PetscCall(Now(&end));
    PetscCall(SVDGetConverged(svd, &nconv));
    if (nconv < run->nsv) error = PETSC_MAX_REAL;
    for (PetscInt i = 0; k == 2 && i < PetscMin(nconv, run->nsv); i++) {
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

  PetscFunctionBeginUser;
  PetscCall(Generate(p, run, type, &A));
  PetscCall(MatGetVecType(A, &vtype));
  PetscCall(PetscStrcmpAny(vtype, &device, VECCUDA, VECSEQCUDA, VECMPICUDA, ""));
  PetscCall(Vectors(run, p, type, A));
  for (PetscInt k = 0; k < run->nK; k++) {
    if (run->K[k] > 0) PetscCall(Dense(run, p, type, A, run->K[k], device));
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
  PetscCall(GetList("-matrix", "tall,rail,GL7d16,ESOC,stencil", matrices, &nmatrices));
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
