/*
  Products with A and with A^T on CPUs: MKL, librsb, a plain CSR loop with OpenMP, PETSc's AIJ and MATBCCOO, in one process.
  README.md here tells how it is used.

  The program is linked to nothing of the library that it measures: the type comes by -dll_append, as it does for users.
*/
static char help[] = "Measures products with sparse matrices on CPUs: MKL, librsb, OpenMP CSR, PETSc's AIJ and the matrix type bccoo.\n"
                     "  -dll_append <libpetsccsrc.so> : the library that brings bccoo\n"
                     "  -matrices generated|sampling|<names> : generated matrices: the eight of measurements/performance.md, some with few nonzeros, or some by name\n"
                     "  -file <file>, -dir <folder>   : Matrix Market files, or PETSc binary files\n"
                     "  -transposes                   : wide matrices (n >= 2 m) of files also on their side\n"
                     "  -scale <1>                    : makes generated matrices smaller, for a trial\n"
                     "  -threads <n,...>              : numbers of threads, one after the other; default: all\n"
                     "  -K <8,32>                     : products with so many vectors, too, also in turns with as many products with one vector\n"
                     "  -compressions <simd,tuples>   : compressions of bccoo; simd:avx2 is simd with PETSCCSRC_TEST=simd=avx2, simd:copies with two copies\n"
                     "  -baselines <true>             : MKL, librsb and OpenMP CSR\n"
                     "  -cold                         : times each product also with caches that hold something else\n"
                     "  -aij                          : PETSc's AIJ too, which has one thread\n"
                     "  -budget <0.1>                 : seconds that a product is timed for, about\n"
                     "  -csv <file>                   : writes what was measured there\n"
                     "Further options of bccoo are given with the prefix bench_. The exit status is 1 if a product was wrong.\n\n";

#include <petscmat.h>

#if defined(PETSC_USE_COMPLEX) || !defined(PETSC_USE_REAL_DOUBLE)
int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "This benchmark compares products of real matrices in double precision; this PETSc has other scalars. Nothing was measured.\n"));
  PetscCall(PetscFinalize());
  return 0;
}
#else

  #include <algorithm>
  #include <fstream>
  #include <functional>
  #include <map>
  #include <string>
  #include <vector>
  #include <omp.h>
  #include <unistd.h>
  #include "grouptime.h"
  #include "hostcheck.h"
  #include "matrixlist.h"
  #include "mklproducts.h"
  #include "rsbproducts.h"

typedef struct {
  FILE               *csv;
  PetscReal           scale, budget;
  PetscBool           cold, aij, transposes, baselines;
  PetscInt            nK, K[8], nthreads, threads[8], ncompressions;
  char               *compressions[8];
  int                 now; /* threads */
  std::vector<double> sweep;
  PetscInt            nwrong, nchecked;
  /* of the matrix and the number of threads being measured: microseconds by name */
  std::map<std::string, double>              hot, chilled, turns;
  std::map<std::string, std::vector<double>> ratios;
} Bench;

/* An array whose pages are first touched by the threads that will read them */
template <class T>
class Placed {
public:
  Placed(size_t n, const T *from) : n_(n), p_(static_cast<T *>(malloc(n * sizeof(T) + 64)))
  {
  #pragma omp parallel for schedule(static)
    for (size_t k = 0; k < n; k++) p_[k] = from ? from[k] : T(0);
  }
  Placed(const Placed &)            = delete;
  Placed &operator=(const Placed &) = delete;
  ~Placed() { free(p_); }
  T     *data() { return p_; }
  size_t size() const { return n_; }

private:
  size_t n_;
  T     *p_;
};

static volatile double Sink; /* so that what is read is read */

static double Now()
{
  return omp_get_wtime();
}

/* Microseconds of a product */
static double Time(const Bench *b, const std::function<void()> &product)
{
  return GroupTime(b->budget, [&](int n) {
    const double start = Now();

    for (int k = 0; k < n; k++) product();
    return (Now() - start) / n;
  });
}

/* Before each product all threads read memory of more than the last cache */
static double TimeCold(const Bench *b, const std::function<void()> &product)
{
  std::vector<double> t;

  for (int k = 0; k < 5; k++) {
    double sum = 0;

  #pragma omp parallel for schedule(static) reduction(+ : sum) num_threads(omp_get_num_procs())
    for (size_t q = 0; q < b->sweep.size(); q += 8) sum += b->sweep[q];
    Sink               = sum;
    const double start = Now();

    product();
    t.push_back(Now() - start);
  }
  std::nth_element(t.begin(), t.begin() + t.size() / 2, t.end());
  return 1e6 * t[t.size() / 2];
}

/* Times a product and checks it; one that is wrong has no time */
static PetscErrorCode Measure(Bench *b, const char matrix[], const Reference *ref, const char what[], PetscBool transposed, PetscInt K, const std::function<void()> &product, double *out, PetscInt ld, bool byrows = false)
{
  const PetscInt      rows = transposed ? ref->n : ref->m;
  double              error, us, cold = 0;
  std::vector<double> columns;

  PetscFunctionBegin;
  std::fill(out, out + (size_t)ld * (byrows ? rows : K), (double)NAN);
  product();
  if (byrows) { /* the check wants columns */
    columns.resize((size_t)rows * K);
    for (PetscInt r = 0; r < rows; r++)
      for (PetscInt k = 0; k < K; k++) columns[(size_t)k * rows + r] = out[(size_t)r * ld + k];
    PetscCall(ReferenceCheck(ref, transposed, K, columns.data(), rows, &error));
  } else PetscCall(ReferenceCheck(ref, transposed, K, out, ld, &error));
  b->nchecked++;
  us = Time(b, product);
  if (b->cold && K == 1) cold = TimeCold(b, product);
  if (error <= 1) {
    b->hot[what] = us;
    if (cold > 0) b->chilled[what] = cold;
  } else {
    b->nwrong++;
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s WRONG: error %g of what is allowed\n", what, error));
  }
  if (b->csv) {
    fprintf(b->csv, "%s,%d,%d,%d,%s,%d,%d,%.2f,%.2f,,%.3g\n", matrix, (int)ref->m, (int)ref->n, (int)ref->i[ref->m], what, b->now, (int)K, us, cold, error);
    fflush(b->csv);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A figure that is no product */
static PetscErrorCode Note(Bench *b, const char matrix[], const Reference *ref, const char what[], double us, double bytes)
{
  PetscFunctionBegin;
  b->hot[what] = us;
  if (b->csv) fprintf(b->csv, "%s,%d,%d,%d,%s,%d,0,%.2f,,%.3f,\n", matrix, (int)ref->m, (int)ref->n, (int)ref->i[ref->m], what, b->now, us, bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The least of those that were measured */
static double Best(const std::map<std::string, double> &times, std::initializer_list<const char *> names)
{
  double best = INFINITY;

  for (const char *name : names) {
    auto found = times.find(name);

    if (found != times.end()) best = std::min(best, found->second);
  }
  return best;
}

static void Ratio(Bench *b, const std::string &what, double baseline, double ours)
{
  if (baseline < INFINITY && ours < INFINITY) b->ratios[std::to_string(b->now) + " threads: " + what].push_back(baseline / ours);
}

static double ResidentBytes()
{
  long  pages = 0;
  FILE *f     = fopen("/proc/self/statm", "r");

  if (f && fscanf(f, "%*d %ld", &pages) != 1) pages = 0;
  if (f) fclose(f);
  return (double)pages * sysconf(_SC_PAGESIZE);
}

static PetscErrorCode MeasureCSR(Bench *b, const char matrix[], const Reference *ref, Placed<PetscInt> &i, Placed<PetscInt> &j, Placed<double> &a, const char what[], PetscBool transposed, const double *x, double *y)
{
  const PetscInt *ip = i.data(), *jp = j.data();
  const double   *ap   = a.data();
  const PetscInt  rows = (PetscInt)i.size() - 1;

  const auto product = [=] {
  #pragma omp parallel for schedule(static)
    for (PetscInt r = 0; r < rows; r++) {
      double sum = 0;

      for (PetscInt k = ip[r]; k < ip[r + 1]; k++) sum += ap[k] * x[jp[k]];
      y[r] = sum;
    }
  };

  PetscFunctionBegin;
  PetscCall(Measure(b, matrix, ref, what, transposed, 1, product, y, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if defined(PETSCCSRC_HAVE_MKL)
static PetscErrorCode MeasureMKL(Bench *b, const char matrix[], const Reference *ref, Placed<PetscInt> &i, Placed<PetscInt> &j, Placed<double> &a, bool stored, const double *x, const double *u, double *y, double *v)
{
  PetscFunctionBegin;
  for (int t = stored ? 1 : 0; t < 2; t++) {
    for (int way = 0; way < (stored ? MKL_BOTH : MKL_NWAYS); way++) {
      MKLMatrix    M(stored ? ref->n : ref->m, stored ? ref->m : ref->n, i.data(), j.data(), a.data());
      const bool   op    = t == 1 && !stored;
      const double start = Now();
      std::string  what  = std::string(stored ? "mkl_stored_" : "mkl_") + (t ? "T_" : "N_") + MKLWays[way];

      M.optimize((MKLWay)way, op, SPARSE_LAYOUT_COLUMN_MAJOR, 0);
      PetscCall(Note(b, matrix, ref, (what + "_setup").c_str(), 1e6 * (Now() - start), 0));
      PetscCall(Measure(
        b, matrix, ref, what.c_str(), (PetscBool)t, 1, [&] { M.mult(op, t ? u : x, t ? v : y); }, t ? v : y, t ? ref->n : ref->m));
      if (!M.good()) b->hot.erase(what);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureMKLDense(Bench *b, const char matrix[], const Reference *ref, Placed<PetscInt> &i, Placed<PetscInt> &j, Placed<double> &a, PetscInt K)
{
  PetscFunctionBegin;
  for (int t = 0; t < 2; t++) {
    const PetscInt in = t ? ref->m : ref->n, out = t ? ref->n : ref->m;

    for (int rows = 0; rows < 2; rows++) {
      const sparse_layout_t layout = rows ? SPARSE_LAYOUT_ROW_MAJOR : SPARSE_LAYOUT_COLUMN_MAJOR;
      Placed<double>        X((size_t)in * K, t ? ref->U : ref->X), Y((size_t)out * K, NULL);

      if (rows) {
        for (PetscInt r = 0; r < in; r++)
          for (PetscInt k = 0; k < K; k++) X.data()[(size_t)r * K + k] = (t ? ref->U : ref->X)[(size_t)k * in + r];
      }
      for (int way = 0; way < MKL_BOTH; way++) {
        MKLMatrix   M(ref->m, ref->n, i.data(), j.data(), a.data());
        std::string what = std::string("mkl_") + (t ? "T_" : "N_") + (rows ? "rows_" : "columns_") + MKLWays[way] + "_" + std::to_string(K);

        M.optimize((MKLWay)way, t == 1, layout, K);
        PetscCall(Measure(
          b, matrix, ref, what.c_str(), (PetscBool)t, K, [&] { M.multdense(t == 1, layout, K, X.data(), rows ? K : in, Y.data(), rows ? K : out); }, Y.data(), rows ? K : out, rows == 1));
        if (!M.good()) b->hot.erase(what);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

  #if defined(PETSCCSRC_HAVE_RSB)
/* As librsb cuts the matrix, and tuned for each product */
static PetscErrorCode MeasureRSB(Bench *b, const char matrix[], const Reference *ref, Placed<PetscInt> &i, Placed<PetscInt> &j, Placed<double> &a, const double *x, const double *u, double *y, double *v)
{
  PetscFunctionBegin;
  for (int t = 0; t < 2; t++) {
    RSBMatrix M(ref->m, ref->n, i.data(), j.data(), a.data(), b->now);

    for (int tuned = 0; tuned < 2 && M.good(); tuned++) {
      const double      start = Now();
      const std::string what  = std::string("rsb_") + (t ? "T" : "N") + (tuned ? "_tuned" : "");

      if (tuned) {
        M.tune(t == 1, 10 * b->budget, t ? u : x, t ? v : y);
        PetscCall(Note(b, matrix, ref, (what + "_setup").c_str(), 1e6 * (Now() - start), 0));
      }
      PetscCall(Measure(
        b, matrix, ref, what.c_str(), (PetscBool)t, 1, [&] { M.mult(t == 1, t ? u : x, t ? v : y); }, t ? v : y, t ? ref->n : ref->m));
      if (!M.good()) b->hot.erase(what);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

/* Products of a Mat with vectors, named after its type */
static PetscErrorCode MeasureMat(Bench *b, const char matrix[], const Reference *ref, const char name[], Mat A)
{
  Vec               x, u, y, v;
  double           *ya, *va;
  const std::string prefix = std::string(name) + "_";

  PetscFunctionBegin;
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, ref->n, ref->X, &x));
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, ref->m, ref->U, &u));
  PetscCall(PetscMalloc2(ref->m, &ya, ref->n, &va));
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, ref->m, ya, &y));
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, ref->n, va, &v));
  PetscCall(Measure(
    b, matrix, ref, (prefix + "N").c_str(), PETSC_FALSE, 1, [=] { PetscCallAbort(PETSC_COMM_SELF, MatMult(A, x, y)); }, ya, ref->m));
  PetscCall(Measure(
    b, matrix, ref, (prefix + "T").c_str(), PETSC_TRUE, 1, [=] { PetscCallAbort(PETSC_COMM_SELF, MatMultTranspose(A, u, v)); }, va, ref->n));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&v));
  PetscCall(PetscFree2(ya, va));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The time of a product with K columns over that of K products with their vectors: the median of ratios of groups in turns */
static PetscErrorCode MeasureTurns(Bench *b, const std::string &what, Mat A, bool transposed, PetscInt K, const double *x, PetscInt in, double *y, PetscInt out, const std::function<void()> &dense)
{
  std::vector<Vec>    xs(K), ys(K);
  std::vector<double> ratios;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < K; k++) {
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, in, x + (size_t)k * in, &xs[k]));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, out, y + (size_t)k * out, &ys[k]));
  }
  const auto vectors = [&] {
    for (PetscInt k = 0; k < K; k++) PetscCallAbort(PETSC_COMM_SELF, transposed ? MatMultTranspose(A, xs[k], ys[k]) : MatMult(A, xs[k], ys[k]));
  };
  const auto group = [](const std::function<void()> &product, int n) {
    const double start = Now();

    for (int q = 0; q < n; q++) product();
    return (Now() - start) / n;
  };
  const int n = (int)std::max(1.0, 1e-3 / group(dense, 3));

  for (int turn = 0; turn < 21; turn++) {
    const double first = turn % 2 ? group(vectors, n) : group(dense, n), second = turn % 2 ? group(dense, n) : group(vectors, n);

    ratios.push_back(turn % 2 ? second / first : first / second);
  }
  std::nth_element(ratios.begin(), ratios.begin() + ratios.size() / 2, ratios.end());
  b->turns[what] = ratios[ratios.size() / 2];
  for (PetscInt k = 0; k < K; k++) {
    PetscCall(VecDestroy(&xs[k]));
    PetscCall(VecDestroy(&ys[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureMatDense(Bench *b, const char matrix[], const Reference *ref, const char name[], Mat A, PetscInt K)
{
  PetscFunctionBegin;
  for (int t = 0; t < 2; t++) {
    Mat               X, Y;
    double           *y, *all;
    const std::string what = std::string(name) + (t ? "_T_" : "_N_") + std::to_string(K);

    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, t ? ref->m : ref->n, K, t ? ref->U : ref->X, &X));
    PetscCall(MatProductCreate(A, X, NULL, &Y));
    PetscCall(MatProductSetType(Y, t ? MATPRODUCT_AtB : MATPRODUCT_AB));
    PetscCall(MatProductSetFromOptions(Y));
    PetscCall(MatProductSymbolic(Y));
    PetscCall(MatDenseGetArray(Y, &y));
    all = y;
    PetscCall(MatDenseRestoreArray(Y, &y));
    PetscCall(Measure(
      b, matrix, ref, what.c_str(), (PetscBool)t, K, [=] { PetscCallAbort(PETSC_COMM_SELF, MatProductNumeric(Y)); }, all, t ? ref->n : ref->m));
    PetscCall(MeasureTurns(b, what, A, t == 1, K, t ? ref->U : ref->X, t ? ref->m : ref->n, all, t ? ref->n : ref->m, [=] { PetscCallAbort(PETSC_COMM_SELF, MatProductNumeric(Y)); }));
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&Y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureBCCOO(Bench *b, const char matrix[], const Reference *ref, Mat A, const char compression[])
{
  PetscErrorCode (*getmemory)(Mat, PetscLogDouble *, PetscMemType *);
  const std::string name   = std::string("bccoo_") + compression;
  const char       *suffix = strchr(compression, ':');
  const bool        copies = suffix && !strcmp(suffix, ":copies");
  Mat               B;
  Vec               x, y;
  PetscLogDouble    bytes;
  PetscMemType      mtype;
  PetscScalar      *a;
  char              simd[64];
  double            start, setup, refill, resident;

  PetscFunctionBegin;
  /* defaults are not named, so that libraries in which they have other names can be measured */
  PetscCall(PetscOptionsClearValue(NULL, "-bench_mat_bccoo_compression"));
  if (strncmp(compression, "simd", 4)) PetscCall(PetscOptionsSetValue(NULL, "-bench_mat_bccoo_compression", compression));
  PetscCall(PetscOptionsClearValue(NULL, "-bench_mat_form_copies"));
  if (copies) PetscCall(PetscOptionsSetValue(NULL, "-bench_mat_form_copies", "2"));
  PetscCall(PetscSNPrintf(simd, sizeof(simd), "simd=%s", suffix && !copies ? suffix + 1 : ""));
  setenv("PETSCCSRC_TEST", simd, 1);
  PetscCall(MatConvert(A, "bccoo", MAT_INITIAL_MATRIX, &B));
  PetscCall(MatSetOptionsPrefix(B, "bench_"));
  PetscCall(MatSetFromOptions(B));
  PetscCall(MatCreateVecs(B, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(VecSet(y, 1));
  resident = ResidentBytes();
  start    = Now();
  PetscCall(MatMult(B, x, y));
  setup    = 1e6 * (Now() - start);
  resident = ResidentBytes() - resident;
  PetscCall(MatSeqAIJGetArray(B, &a)); /* the values may have changed */
  PetscCall(MatSeqAIJRestoreArray(B, &a));
  start = Now();
  PetscCall(MatMult(B, x, y));
  refill = 1e6 * (Now() - start);
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MeasureMat(b, matrix, ref, name.c_str(), B));
  PetscCall(PetscObjectQueryFunction((PetscObject)B, "MatFormGetMemory_C", &getmemory));
  PetscCall((*getmemory)(B, &bytes, &mtype));
  PetscCall(Note(b, matrix, ref, (name + "_setup").c_str(), setup - b->hot[name + "_N"], bytes / ref->i[ref->m]));
  PetscCall(Note(b, matrix, ref, (name + "_values").c_str(), refill - b->hot[name + "_N"], resident / ref->i[ref->m]));
  b->hot[name + "_bytes"] = bytes / ref->i[ref->m];
  for (PetscInt k = 0; k < b->nK; k++) PetscCall(MeasureMatDense(b, matrix, ref, name.c_str(), B, b->K[k]));
  PetscCall(MatViewFromOptions(B, NULL, "-view"));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One line a matrix, and what goes into the means */
static PetscErrorCode Report(Bench *b, const char matrix[], const Reference *ref)
{
  const double N = Best(b->hot, {"bccoo_simd_N"}), T = Best(b->hot, {"bccoo_simd_T"});
  const double mklN   = Best(b->hot, {"mkl_N_nohint", "mkl_N_hint", "mkl_N_both", "mkl_N_lean"});
  const double mklone = Best(b->hot, {"mkl_T_nohint", "mkl_T_lean"}), mklT = Best(b->hot, {"mkl_T_nohint", "mkl_T_hint", "mkl_T_both", "mkl_T_lean", "mkl_stored_T_nohint", "mkl_stored_T_hint"});
  const double csrN = Best(b->hot, {"csr_N"}), csrT = Best(b->hot, {"csr_stored_T"}), bytes = b->hot["bccoo_simd_bytes"];
  const double csrbytes = 12.0 + 4.0 * (ref->m + 1) / ref->i[ref->m];

  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-20s %2d threads | N mkl %8.1f csr %8.1f bccoo %8.1f: %.2f | T mkl one copy %8.1f, any %8.1f csr stored %8.1f bccoo %8.1f: %.2f %.2f | %.2f bytes, %.2f of CSR | setup %.0f N, values %.1f N\n", matrix,
                        b->now, mklN, csrN, N, mklN / N, mklone, mklT, csrT, T, mklone / T, mklT / T, bytes, bytes / csrbytes, b->hot["bccoo_simd_setup"] / N, b->hot["bccoo_simd_values"] / N));
  Ratio(b, "N, best of MKL", mklN, N);
  Ratio(b, "N, OpenMP CSR", csrN, N);
  Ratio(b, "T, MKL with one copy", mklone, T);
  Ratio(b, "T, best of MKL", mklT, T);
  Ratio(b, "N, librsb, tuned or not", Best(b->hot, {"rsb_N", "rsb_N_tuned"}), N);
  Ratio(b, "T, librsb, tuned or not", Best(b->hot, {"rsb_T", "rsb_T_tuned"}), T);
  Ratio(b, "T, OpenMP CSR of a stored transpose", csrT, T);
  Ratio(b, "CSR's bytes", csrbytes, bytes);
  for (const char *name : {"bccoo_tuples", "aij"}) {
    Ratio(b, std::string("N, ") + name, Best(b->hot, {(std::string(name) + "_N").c_str()}), N);
    Ratio(b, std::string("T, ") + name, Best(b->hot, {(std::string(name) + "_T").c_str()}), T);
    if (strcmp(name, "aij")) Ratio(b, std::string("T, aij over ") + name, Best(b->hot, {"aij_T"}), Best(b->hot, {(std::string(name) + "_T").c_str()}));
  }
  if (b->hot.count("bccoo_simd:copies_T")) {
    const double N2 = b->hot["bccoo_simd:copies_N"], T2 = b->hot["bccoo_simd:copies_T"];

    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  two copies: N %.1f, T %.1f | %.2f bytes | setup %.0f N, values %.1f N\n", N2, T2, b->hot["bccoo_simd:copies_bytes"], b->hot["bccoo_simd:copies_setup"] / N, b->hot["bccoo_simd:copies_values"] / N));
    Ratio(b, "two copies: T, with one", T, T2);
    Ratio(b, "two copies: N, with one", N, N2);
    Ratio(b, "two copies: T, best of MKL", mklT, T2);
    Ratio(b, "two copies: T, librsb, tuned or not", Best(b->hot, {"rsb_T", "rsb_T_tuned"}), T2);
    Ratio(b, "two copies: CSR's bytes", csrbytes, b->hot["bccoo_simd:copies_bytes"]);
    for (PetscInt q = 0; q < b->nK; q++) {
      const std::string k = "_T_" + std::to_string(b->K[q]);

      Ratio(b, "two copies: K = " + std::to_string(b->K[q]) + ", T, with one", Best(b->hot, {("bccoo_simd" + k).c_str()}), Best(b->hot, {("bccoo_simd:copies" + k).c_str()}));
    }
  }
  if (b->cold) {
    const double coldN = Best(b->chilled, {"bccoo_simd_N"}), coldT = Best(b->chilled, {"bccoo_simd_T"});

    Ratio(b, "cold N, best of MKL", Best(b->chilled, {"mkl_N_nohint", "mkl_N_hint", "mkl_N_both", "mkl_N_lean"}), coldN);
    Ratio(b, "cold T, best of MKL", Best(b->chilled, {"mkl_T_nohint", "mkl_T_hint", "mkl_T_both", "mkl_T_lean", "mkl_stored_T_nohint", "mkl_stored_T_hint"}), coldT);
  }
  for (PetscInt q = 0; q < b->nK; q++) {
    const std::string k = "_" + std::to_string(b->K[q]);

    for (const char *op : {"N", "T"}) {
      const double ours = Best(b->hot, {(std::string("bccoo_simd_") + op + k).c_str()}), turns = b->turns[std::string("bccoo_simd_") + op + k];

      Ratio(b, std::string("K = ") + std::to_string(b->K[q]) + ", " + op + ", K products with vectors, in turns", 1, turns);
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "  K=%d %s: %.2f times K products with vectors\n", (int)b->K[q], op, turns));
      for (const char *layout : {"columns", "rows"}) {
        const std::string mkl  = std::string("mkl_") + op + "_" + layout + "_";
        const double      best = Best(b->hot, {(mkl + "nohint" + k).c_str(), (mkl + "hint" + k).c_str()});

        Ratio(b, std::string("K = ") + std::to_string(b->K[q]) + ", " + op + ", MKL by " + layout, best, ours);
        if (best < INFINITY) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  K=%d %s: mkl by %s %.1f, bccoo %.1f: %.2f\n", (int)b->K[q], op, layout, best, ours, best / ours));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureMatrix(Bench *b, const char matrix[], Mat A)
{
  Reference          ref;
  Mat                At;
  PetscInt           K = 1, rows;
  const PetscInt    *ti, *tj;
  const PetscScalar *ta;
  PetscBool          done;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < b->nK; k++) K = PetscMax(K, b->K[k]);
  omp_set_num_threads(omp_get_num_procs());
  PetscCall(ReferenceCreate(A, K, &ref));
  if (!ref.i[ref.m]) {
    PetscCall(ReferenceDestroy(A, &ref));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &At));
  PetscCall(MatGetRowIJ(At, 0, PETSC_FALSE, PETSC_FALSE, &rows, &ti, &tj, &done));
  PetscCall(MatSeqAIJGetArrayRead(At, &ta));
  for (PetscInt t = 0; t < b->nthreads; t++) {
    const size_t nnz = (size_t)ref.i[ref.m];

    b->now = (int)b->threads[t];
    omp_set_num_threads(b->now);
    b->hot.clear();
    b->chilled.clear();
    if (b->baselines) {
      Placed<PetscInt> i(ref.m + 1, ref.i), j(nnz, ref.j), tip(ref.n + 1, ti), tjp(nnz, tj);
      Placed<double>   a(nnz, ref.a), tap(nnz, ta), x(ref.n, ref.X), u(ref.m, ref.U), y(ref.m, NULL), v(ref.n, NULL);

      PetscCall(MeasureCSR(b, matrix, &ref, i, j, a, "csr_N", PETSC_FALSE, x.data(), y.data()));
      PetscCall(MeasureCSR(b, matrix, &ref, tip, tjp, tap, "csr_stored_T", PETSC_TRUE, u.data(), v.data()));
  #if defined(PETSCCSRC_HAVE_MKL)
      mkl_set_num_threads(b->now);
      PetscCall(MeasureMKL(b, matrix, &ref, i, j, a, false, x.data(), u.data(), y.data(), v.data()));
      PetscCall(MeasureMKL(b, matrix, &ref, tip, tjp, tap, true, x.data(), u.data(), y.data(), v.data()));
      for (PetscInt k = 0; k < b->nK; k++) PetscCall(MeasureMKLDense(b, matrix, &ref, i, j, a, b->K[k]));
  #endif
  #if defined(PETSCCSRC_HAVE_RSB)
      PetscCall(MeasureRSB(b, matrix, &ref, i, j, a, x.data(), u.data(), y.data(), v.data()));
  #endif
    }
    if (b->aij) PetscCall(MeasureMat(b, matrix, &ref, "aij", A));
    for (PetscInt c = 0; c < b->ncompressions; c++) PetscCall(MeasureBCCOO(b, matrix, &ref, A, b->compressions[c]));
    PetscCall(Report(b, matrix, &ref));
  }
  PetscCall(MatSeqAIJRestoreArrayRead(At, &ta));
  PetscCall(MatRestoreRowIJ(At, 0, PETSC_FALSE, PETSC_FALSE, &rows, &ti, &tj, &done));
  PetscCall(MatDestroy(&At));
  PetscCall(ReferenceDestroy(A, &ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GB/s of reading and of copying, of memory and of what the caches hold */
static PetscErrorCode Bandwidths(Bench *b)
{
  const size_t sizes[] = {8, 64, 256, 512};

  PetscFunctionBegin;
  for (PetscInt t = 0; t < b->nthreads; t++) {
    omp_set_num_threads((int)b->threads[t]);
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%d threads, GB/s of reading, and of copying:", (int)b->threads[t]));
    for (size_t mb : sizes) {
      Placed<double> from(mb * 125000, NULL), to(mb * 125000, NULL);
      const double  *f       = from.data();
      double        *d       = to.data();
      const size_t   n       = from.size();
      const auto     readall = [=] {
        double sum = 0;

  #pragma omp parallel reduction(+ : sum)
        {
          double part[32] = {0}; /* so many that no addition waits for the one before */

  #pragma omp for schedule(static)
          for (size_t k = 0; k < n / 32; k++) {
            PetscPragmaSIMD
            for (int l = 0; l < 32; l++) part[l] += f[32 * k + l];
          }
          for (double p : part) sum += p;
        }
        Sink = sum;
      };
      const auto copyall = [=] {
  #pragma omp parallel for simd schedule(static)
        for (size_t k = 0; k < n; k++) d[k] = f[k];
      };
      const double read = Time(b, readall), copy = Time(b, copyall);

      PetscCall(PetscPrintf(PETSC_COMM_SELF, " %zu MB %.0f %.0f;", mb, 8e-3 * n / read, 16e-3 * n / copy));
      if (b->csv) fprintf(b->csv, "# %d threads %zu MB: read %.1f GB/s copy %.1f GB/s\n", (int)b->threads[t], mb, 8e-3 * n / read, 16e-3 * n / copy);
    }
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchSetFromOptions(Bench *b)
{
  char      path[PETSC_MAX_PATH_LEN];
  PetscBool set;

  PetscFunctionBegin;
  PetscOptionsBegin(PETSC_COMM_WORLD, "", "Benchmark of products on CPUs", "");
  PetscCall(PetscOptionsReal("-scale", "Size of generated matrices, 1 for the original's", NULL, b->scale, &b->scale, NULL));
  PetscCall(PetscOptionsReal("-budget", "Seconds a product is timed for", NULL, b->budget, &b->budget, NULL));
  PetscCall(PetscOptionsBool("-cold", "Time with cold caches too", NULL, b->cold, &b->cold, NULL));
  PetscCall(PetscOptionsBool("-baselines", "MKL, librsb and OpenMP CSR", NULL, b->baselines, &b->baselines, NULL));
  PetscCall(PetscOptionsBool("-aij", "PETSc's AIJ too", NULL, b->aij, &b->aij, NULL));
  PetscCall(PetscOptionsBool("-transposes", "Wide matrices of files also on their side", NULL, b->transposes, &b->transposes, NULL));
  PetscCall(PetscOptionsIntArray("-threads", "Numbers of threads", NULL, b->threads, &b->nthreads, &set));
  if (!set) {
    b->nthreads   = 1;
    b->threads[0] = omp_get_max_threads();
  }
  PetscCall(PetscOptionsIntArray("-K", "Numbers of vectors", NULL, b->K, &b->nK, &set));
  if (!set) b->nK = 0;
  PetscCall(PetscOptionsStringArray("-compressions", "Compressions of bccoo", NULL, b->compressions, &b->ncompressions, &set));
  if (!set) {
    b->ncompressions = 1;
    PetscCall(PetscStrallocpy("simd", &b->compressions[0]));
  }
  PetscCall(PetscOptionsString("-csv", "File for what was measured", NULL, "", path, sizeof(path), &set));
  if (set) {
    b->csv = fopen(path, "w");
    PetscCheck(b->csv, PETSC_COMM_WORLD, PETSC_ERR_FILE_OPEN, "-csv %s: cannot be written", path);
  }
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A line about the machine or the run, on the screen and in the CSV */
static PetscErrorCode Say(const Bench *b, const std::string &line)
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s\n", line.c_str()));
  if (b->csv) fprintf(b->csv, "# %s\n", line.c_str());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Machine(const Bench *b)
{
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string   line, processor = "unknown processor";
  const char   *bind = getenv("OMP_PROC_BIND");

  PetscFunctionBegin;
  while (std::getline(cpuinfo, line)) {
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos) {
      processor = line.substr(line.find(": ") + 2);
      break;
    }
  }
  PetscCall(Say(b, processor + ", " + std::to_string(omp_get_num_procs()) + " processors for this process, OMP_PROC_BIND " + (bind ? bind : "not set")));
  #if defined(PETSCCSRC_HAVE_MKL)
  {
    char version[256];

    mkl_set_dynamic(0);
    mkl_get_version_string(version, sizeof(version));
    PetscCall(Say(b, version));
  }
  #else
  PetscCall(Say(b, "Built without MKL: this baseline is left out (benchmarks/README.md)"));
  #endif
  #if !defined(PETSCCSRC_HAVE_RSB)
  PetscCall(Say(b, "Built without librsb: this baseline is left out (benchmarks/README.md)"));
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureSource(Bench *b, const MatrixSource *source)
{
  Mat      A, At;
  PetscInt rows, cols;

  PetscFunctionBegin;
  PetscCall(MatrixSourceLoad(PETSC_COMM_SELF, source, b->scale, &A));
  PetscCall(MeasureMatrix(b, source->name, A));
  PetscCall(MatGetSize(A, &rows, &cols));
  if (b->transposes && source->file[0] && cols >= 2 * rows) {
    PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &At));
    PetscCall(MeasureMatrix(b, (std::string(source->name) + "^T").c_str(), At));
    PetscCall(MatDestroy(&At));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Means(const Bench *b)
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\nGeometric means, baseline's time over that of bccoo with compression simd:\n"));
  for (const auto &r : b->ratios) {
    double log = 0, least = INFINITY;

    for (double q : r.second) {
      log += std::log(q);
      least = std::min(least, q);
    }
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-60s %.2f (%zu matrices, least %.2f)\n", r.first.c_str(), std::exp(log / r.second.size()), r.second.size(), least));
    if (b->csv) fprintf(b->csv, "# mean: %s: %.3f of %zu, least %.3f\n", r.first.c_str(), std::exp(log / r.second.size()), r.second.size(), least);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench       b;
  MatrixList  list;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsSetValue(NULL, "-mat_form_store_at_once", "true")); /* products of stored nonzeros are measured */
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(size == 1, PETSC_COMM_WORLD, PETSC_ERR_WRONG_MPI_SIZE, "This benchmark measures the threads of one process");
  list.n = 0;
  b.csv  = NULL;
  b.cold = b.aij = b.transposes = PETSC_FALSE;
  b.baselines                   = PETSC_TRUE;
  b.scale                       = 1;
  b.budget                      = 0.1;
  b.nwrong = b.nchecked = 0;
  b.nthreads            = PETSC_STATIC_ARRAY_LENGTH(b.threads);
  b.ncompressions       = PETSC_STATIC_ARRAY_LENGTH(b.compressions);
  b.nK                  = PETSC_STATIC_ARRAY_LENGTH(b.K);
  PetscCall(BenchSetFromOptions(&b));
  PetscCall(MatrixListSetFromOptions(&list, "generated"));

  PetscCall(Machine(&b));
  if (b.cold) b.sweep.assign((size_t)std::max(256l << 20, 3 * std::max(0l, sysconf(_SC_LEVEL3_CACHE_SIZE))) / sizeof(double), 1.0);
  if (b.baselines) PetscCall(Bandwidths(&b));
  if (b.csv) fprintf(b.csv, "matrix,rows,columns,nonzeros,what,threads,K,microseconds,cold microseconds,bytes per nonzero,error\n");
  for (PetscInt s = 0; s < list.n; s++) PetscCall(MeasureSource(&b, &list.sources[s]));
  PetscCall(Means(&b));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%d products checked, %d wrong\n", (int)b.nchecked, (int)b.nwrong));
  if (b.csv) fclose(b.csv);
  for (PetscInt c = 0; c < b.ncompressions; c++) PetscCall(PetscFree(b.compressions[c]));
  PetscCall(PetscFinalize());
  return b.nwrong ? 1 : 0;
}
#endif
