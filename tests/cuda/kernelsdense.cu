/*
  Checks and times products with dense matrices from the balanced layout of CSRC, without PETSc.

    nvcc -std=c++17 -O3 -arch=sm_90 -Xcompiler -fopenmp -Isrc -o kernelsdense tests/cuda/kernelsdense.cu -lcusparse
    ./kernelsdense -check [-small | -tiny]      small matrices, every entry against a loop on the host; -small, and for racecheck -tiny, for compute-sanitizer
    ./kernelsdense [-scale 1] [names ...]       times compared with cuSPARSE; three columns of every product are checked

  A time is the median of five groups of products run back to back between two events, in microseconds; it includes packing, zeroing
  and transposing of operands. cuSPARSE by columns: its first algorithm; by rows: the better of algorithms 2 and 3, with both
  transpositions of operands; stored: a second, transposed matrix, the better of both ways.
*/
#include <cmath>
#include <cstring>
#include <functional>
#include <cusparse.h>
#include "csrctest.cuh"
#include "mat/impls/csrc/balanced/setup/build.cuh"
#include "mat/impls/csrc/balanced/kernels/transposematmult.cuh"

#define CheckCUSPARSE(call) \
  do { \
    const cusparseStatus_t err_ = (call); \
    if (err_ != CUSPARSE_STATUS_SUCCESS) { \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cusparseGetErrorString(err_)); \
      exit(2); \
    } \
  } while (0)

using Matrix = Csr<double, int>;

struct Law {
  const char *name;
  int         m, n;
  double      nnz;
  bool        varying; /* row lengths distributed exponentially, or equal */
  double      skew;    /* how unevenly columns are used; 1: uniform */
  double      band;    /* columns within a window that moves with the row; 0: none */
};
static const Law laws[] = {
  {"12month1",  872622,  12471,  22624727, true,  3, 0    },
  {"connectus", 394792,  512,    1127525,  true,  2, 0    },
  {"ESOC",      327062,  37830,  6019939,  false, 1, 2000 },
  {"GL7d16",    955128,  460261, 14488881, true,  1, 0    },
  {"IMDB",      896308,  428440, 3782463,  true,  3, 0    },
  {"rail4284",  1096894, 4284,   11284032, false, 1, 0    },
  {"spal_004",  321696,  10203,  46168124, false, 1, 0    },
  {"specular",  477976,  1600,   7647040,  false, 1, 0    },
  {"Rucci1",    1977885, 109900, 7791168,  false, 1, 500  },
  {"stormG2",   1377306, 528185, 3459881,  false, 1, 4    },
  {"tp-6",      1014301, 142752, 11537419, true,  1, 0    },
  {"pds-100",   514577,  156243, 1096002,  false, 1, 40000},
  {"Delor338K", 887058,  343236, 4211599,  true,  4, 0    },
};

static Matrix Generate(const Law &law, double scale)
{
  Matrix A(law.name, std::max(1, static_cast<int>(law.m * scale)), std::max(1, static_cast<int>(law.n * scale)));

#pragma omp parallel for schedule(dynamic, 1000)
  for (int row = 0; row < A.m; row++) {
    Random            random(row + 1);
    std::vector<int> &columns = A.rows[row];
    const double      mean    = law.nnz / law.m;

    for (int k = 0; k < 8; k++) random.bits();
    const int length = std::min<int>(A.n, law.varying ? static_cast<int>(-std::log(1 - random.unit()) * mean + random.unit()) : static_cast<int>(mean) + (random.unit() < mean - static_cast<int>(mean)));
    for (int k = 0; k < length; k++) {
      if (law.band > 0) columns.push_back(std::min(A.n - 1, std::max(0, static_cast<int>(static_cast<double>(row) * A.n / A.m + (random.unit() - 0.5) * law.band))));
      else {
        const uint64_t column = static_cast<uint64_t>(std::pow(random.unit(), law.skew) * A.n);

        columns.push_back(static_cast<int>(law.skew == 1 ? column : column * 2654435761ull % A.n));
      }
    }
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  }
  A.i.assign(1, 0);
  for (auto &row : A.rows) A.i.push_back(A.i.back() + static_cast<int>(row.size()));
  A.j.resize(A.i.back());
  A.a.resize(A.i.back());
#pragma omp parallel for schedule(dynamic, 1000)
  for (int row = 0; row < A.m; row++) {
    Random random(row + 77);

    std::copy(A.rows[row].begin(), A.rows[row].end(), A.j.begin() + A.i[row]);
    for (int k = 0; k < 8; k++) random.bits();
    for (int k = A.i[row]; k < A.i[row + 1]; k++) A.a[k] = 2 * random.unit() - 1;
  }
  A.rows.clear();
  A.rows.shrink_to_fit();
  return A;
}

/* all ways to place k rooks on an a x b board so that none attacks another, as sorted lists of fields, in lexicographic order */
static void Placements(int a, int b, int k, int row, unsigned used, std::vector<int> &rooks, std::vector<std::vector<int>> &all)
{
  if (static_cast<int>(rooks.size()) == k) {
    all.push_back(rooks);
    return;
  }
  for (; row < a; row++) {
    for (int column = 0; column < b; column++) {
      if (used >> column & 1) continue;
      rooks.push_back(row * b + column);
      Placements(a, b, k, row + 1, used | 1u << column, rooks, all);
      rooks.pop_back();
    }
  }
}

/* rows: k+1 rooks, columns: k rooks; a nonzero, +1 or -1, where one rook taken away leads from the row to the column */
static Matrix Chessboard(const char name[], int a, int b, int k)
{
  std::vector<std::vector<int>> rows, columns;
  std::vector<int>              rooks;
  Random                        random;

  Placements(a, b, k + 1, 0, 0, rooks, rows);
  Placements(a, b, k, 0, 0, rooks, columns);
  std::sort(rows.begin(), rows.end());
  std::sort(columns.begin(), columns.end());

  Matrix A(name, static_cast<int>(rows.size()), static_cast<int>(columns.size()));

  for (int row = 0; row < A.m; row++) {
    for (int gone = 0; gone <= k; gone++) {
      rooks = rows[row];
      rooks.erase(rooks.begin() + gone);
      A.rows[row].push_back(static_cast<int>(std::lower_bound(columns.begin(), columns.end(), rooks) - columns.begin()));
    }
  }
  A.finish(random);
  for (double &a_ : A.a) a_ = a_ < 0 ? -1 : 1;
  return A;
}

static Matrix Transpose(const Matrix &A)
{
  Matrix B(A.name, A.n, A.m);

  B.rows.clear();
  B.i.assign(A.n + 1, 0);
  B.j.resize(A.nnz());
  B.a.resize(A.nnz());
  for (int column : A.j) B.i[column + 1]++;
  std::partial_sum(B.i.begin(), B.i.end(), B.i.begin());
  std::vector<int> next(B.i.begin(), B.i.end() - 1);
  for (int row = 0; row < A.m; row++) {
    for (int k = A.i[row]; k < A.i[row + 1]; k++) {
      const int at = next[A.j[k]]++;

      B.j[at] = row;
      B.a[at] = A.a[k];
    }
  }
  return B;
}

/* A row times x, and the error allowed; below, an error as a share of the allowed one, NaN being the worst */
static long double SumOfRow(const Matrix &A, int row, const double *x, double *allowed)
{
  long double sum  = 0;
  double      size = 0;

  for (int k = A.i[row]; k < A.i[row + 1]; k++) {
    sum += static_cast<long double>(A.a[k]) * x[A.j[k]];
    size += std::fabs(A.a[k] * x[A.j[k]]);
  }
  *allowed = (A.i[row + 1] - A.i[row] + 8) * 2.3e-16 * size;
  return sum;
}
static double Share(double found, long double sum, double allowed)
{
  const double off = std::fabs(static_cast<double>(found - sum));

  if (off <= allowed) return allowed > 0 ? off / allowed : 0;
  return off < INFINITY ? off / std::max(allowed, 1e-300) : 1e300;
}

/* The largest error of y = A x in one column, as a share of what is allowed */
static double ErrorOfColumn(const Matrix &A, const double *x, const double *y)
{
  double worst = 0;

#pragma omp parallel for reduction(max : worst) schedule(dynamic, 1000)
  for (int row = 0; row < A.m; row++) {
    double            allowed;
    const long double sum = SumOfRow(A, row, x, &allowed);

    worst = std::max(worst, Share(y[row], sum, allowed));
  }
  return worst;
}

static double Time(int repetitions, const std::function<void()> &product)
{
  std::vector<float> times;
  cudaEvent_t        begin, end;

  CheckCUDA(cudaEventCreate(&begin));
  CheckCUDA(cudaEventCreate(&end));
  for (int i = 0; i < 2; i++) product();
  for (int group = 0; group < 5; group++) {
    float ms;

    CheckCUDA(cudaEventRecord(begin));
    for (int i = 0; i < repetitions; i++) product();
    CheckCUDA(cudaEventRecord(end));
    CheckCUDA(cudaEventSynchronize(end));
    CheckCUDA(cudaEventElapsedTime(&ms, begin, end));
    times.push_back(ms / repetitions);
  }
  CheckCUDA(cudaEventDestroy(begin));
  CheckCUDA(cudaEventDestroy(end));
  std::sort(times.begin(), times.end());
  return 1000.0 * times[2];
}

/* Transposes between storage by columns and by rows, through a tile in shared memory */
template <bool torows>
static __global__ void TransposeKernel(int rows, int K, const double *__restrict__ in, double *__restrict__ out)
{
  __shared__ double tile[32][65];
  const int         row = blockIdx.x * 64, col = blockIdx.y * 32, nrows = min(64, rows - row), ncols = min(32, K - col), count = nrows * ncols;

  if (torows) {
    for (int t = threadIdx.x; t < count; t += blockDim.x) tile[t / nrows][t % nrows] = in[(size_t)(col + t / nrows) * rows + row + t % nrows];
    __syncthreads();
    for (int t = threadIdx.x; t < count; t += blockDim.x) out[(size_t)(row + t / ncols) * K + col + t % ncols] = tile[t % ncols][t / ncols];
  } else {
    for (int t = threadIdx.x; t < count; t += blockDim.x) tile[t % ncols][t / ncols] = in[(size_t)(row + t / ncols) * K + col + t % ncols];
    __syncthreads();
    for (int t = threadIdx.x; t < count; t += blockDim.x) out[(size_t)(col + t / nrows) * rows + row + t % nrows] = tile[t / nrows][t % nrows];
  }
}

/* A matrix in cuSPARSE's CSR */
class Cusparse {
public:
  Cusparse(cusparseHandle_t handle_, const Matrix &A) : handle(handle_), m(A.m), n(A.n), i(A.i), j(A.j), a(A.a)
  {
    CheckCUSPARSE(cusparseCreateCsr(&matrix, m, n, A.nnz(), i.get(), j.get(), a.get(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  }
  ~Cusparse() { cusparseDestroySpMat(matrix); }

  /* Y = A X, or A^T X; operands by rows are in xt and yt */
  double time(bool transpose, int K, bool byrows, cusparseSpMMAlg_t algorithm, double *x, double *y, double *xt, double *yt, int repetitions) const
  {
    const cusparseOperation_t op  = transpose ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
    const double              one = 1, zero = 0;
    const int                 nx = transpose ? m : n, ny = transpose ? n : m;
    const cusparseOrder_t     order = byrows ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
    cusparseDnMatDescr_t      dx, dy;
    size_t                    bytes;
    void                     *work;

    CheckCUSPARSE(cusparseCreateDnMat(&dx, nx, K, byrows ? K : nx, byrows ? xt : x, CUDA_R_64F, order));
    CheckCUSPARSE(cusparseCreateDnMat(&dy, ny, K, byrows ? K : ny, byrows ? yt : y, CUDA_R_64F, order));
    CheckCUSPARSE(cusparseSpMM_bufferSize(handle, op, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, dx, &zero, dy, CUDA_R_64F, algorithm, &bytes));
    CheckCUDA(cudaMalloc(&work, std::max<size_t>(bytes, 8)));
    (void)cusparseSpMM_preprocess(handle, op, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, dx, &zero, dy, CUDA_R_64F, algorithm, work);
    const double us = Time(repetitions, [&] {
      if (byrows) TransposeKernel<true><<<dim3((nx + 63) / 64, (K + 31) / 32), 256>>>(nx, K, x, xt);
      CheckCUSPARSE(cusparseSpMM(handle, op, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, dx, &zero, dy, CUDA_R_64F, algorithm, work));
      if (byrows) TransposeKernel<false><<<dim3((ny + 63) / 64, (K + 31) / 32), 256>>>(ny, K, yt, y);
    });
    CheckCUDA(cudaFree(work));
    CheckCUSPARSE(cusparseDestroyDnMat(dx));
    CheckCUSPARSE(cusparseDestroyDnMat(dy));
    return us;
  }

  cusparseHandle_t     handle;
  int                  m, n;
  DeviceArray<int>     i, j;
  DeviceArray<double>  a;
  cusparseSpMatDescr_t matrix;
};

/* How blocks are cut: for panels of this many columns, or 1 for vectors; the order of nonzeros, or -1; and how many thread blocks share a block */
struct Variant {
  const char *name;
  int         kt, order, cluster;
};

/* Multiplies K columns in panels of KT; with KT = 2, one panel at a time */
template <int KT>
static cudaError_t Panels(bool transpose, const CSRCBalancedMatrix<double> &f, int K, const double *x, size_t ldx, double *y, size_t ldy, double *scratch)
{
  const int   most = KT == 2 ? KT : K;
  cudaError_t err  = cudaSuccess;

  for (int k = 0; k < K && err == cudaSuccess; k += most) {
    const int     columns = std::min(most, K - k);
    const double *from    = x + ldx * k;
    double       *to      = y + ldy * k;

    err = transpose ? CSRCBalancedTransposeMatMult<KT, false>(f, columns, from, ldx, to, ldy, scratch, nullptr) : CSRCBalancedMatMult<KT, false>(f, columns, from, ldx, to, ldy, scratch, nullptr);
  }
  return err;
}
static cudaError_t Product(bool transpose, int kt, const CSRCBalancedMatrix<double> &f, int K, const double *x, size_t ldx, double *y, size_t ldy, double *scratch)
{
  switch (kt) {
  case 2:
    return Panels<2>(transpose, f, K, x, ldx, y, ldy, scratch);
  case 4:
    return Panels<4>(transpose, f, K, x, ldx, y, ldy, scratch);
  case 8:
    return Panels<8>(transpose, f, K, x, ldx, y, ldy, scratch);
  case 16:
    return Panels<16>(transpose, f, K, x, ldx, y, ldy, scratch);
  default:
    return cudaErrorInvalidValue;
  }
}

/* Whether panels of kt columns fit the shared memory */
static bool Fits(const CSRCBalancedMatrix<double> &f, int kt, int maxshared)
{
  return CSRCSelect([&](auto width) { return CSRCTransposeMatMultBytes<decltype(width)::value>(f); }, CSRCOneOf<2, 4, 8, 16>{kt}) <= (size_t)maxshared;
}

struct Form {
  CSRCBalancedMatrix<double> f;
  CSRCBalancedRefill<double> refill;

  Form(const Matrix &A, const int *i, const int *j, const double *a, const CSRCBalancedParams &params) { CheckCUDA((CSRCBalancedBuild(CSRCSource<double, int>{A.m, A.n, A.nnz(), A.i.data(), i, j, a}, params, false, nullptr, &f, &refill))); }
  ~Form() { CheckCUDA(CSRCBalancedFree(&f, &refill)); }
};

static void Fill(std::vector<double> &x, uint64_t seed)
{
#pragma omp parallel for
  for (size_t c = 0; c < x.size() / 4096 + 1; c++) {
    Random random(seed + c);

    for (int k = 0; k < 8; k++) random.bits();
    for (size_t k = 4096 * c; k < std::min(x.size(), 4096 * (c + 1)); k++) x[k] = 2 * random.unit() - 1;
  }
}

static const Variant variants[] = {
  {"few",    6,  -1, 1},
  {"dense",  8,  -1, 1},
  {"wide",   16, -1, 1},
  {"vector", 1,  -1, 0},
};

static void Measure(cusparseHandle_t handle, const Matrix &A, bool baselines, const std::string &only)
{
  const int           Kmax = 32, reps = A.nnz() > 10000000 ? 5 : 15;
  const Matrix        At = Transpose(A);
  std::vector<double> x((size_t)A.n * Kmax), u((size_t)A.m * Kmax), y(u.size()), v(x.size());

  Fill(x, 1);
  Fill(u, 1000000);
  const DeviceArray<double> dx(x), du(u), dy(u), dv(x), xt(x), ut(u), sums(std::vector<double>(x.size()));
  const Cusparse            csr(handle, A);

  printf("== %s %d x %d, %d nonzeros\n", A.name.c_str(), A.m, A.n, A.nnz());
  if (baselines) {
    const Cusparse stored(handle, At);

    for (int K : {4, 8, 16, 32}) {
      const int r = std::max(1, reps * 4 / K);

      printf("K %2d cusparse N col %.1f row %.1f %.1f | T col %.1f row %.1f stored col %.1f row %.1f %.1f\n", K, csr.time(false, K, false, CUSPARSE_SPMM_CSR_ALG1, dx.get(), dy.get(), xt.get(), ut.get(), r),
             csr.time(false, K, true, CUSPARSE_SPMM_CSR_ALG2, dx.get(), dy.get(), xt.get(), ut.get(), r), csr.time(false, K, true, CUSPARSE_SPMM_CSR_ALG3, dx.get(), dy.get(), xt.get(), ut.get(), r),
             csr.time(true, K, false, CUSPARSE_SPMM_CSR_ALG1, du.get(), dv.get(), ut.get(), xt.get(), r), csr.time(true, K, true, CUSPARSE_SPMM_CSR_ALG2, du.get(), dv.get(), ut.get(), xt.get(), r),
             stored.time(false, K, false, CUSPARSE_SPMM_CSR_ALG1, du.get(), dv.get(), ut.get(), xt.get(), r), stored.time(false, K, true, CUSPARSE_SPMM_CSR_ALG2, du.get(), dv.get(), ut.get(), xt.get(), r),
             stored.time(false, K, true, CUSPARSE_SPMM_CSR_ALG3, du.get(), dv.get(), ut.get(), xt.get(), r));
      fflush(stdout);
    }
  }
  for (const Variant &variant : variants) {
    if (!only.empty() && only != variant.name) continue;
    const Form    form(A, csr.i.get(), csr.j.get(), csr.a.get(), {variant.cluster, variant.order, true, nullptr, variant.kt, 0, variant.kt == 6 ? 4 : 16 / variant.kt});
    const auto   &f = form.f;
    double       *scratch;
    int           device, maxshared;
    const double *vector[2] = {dx.get(), du.get()};
    double       *result[2] = {dy.get(), dv.get()};

    CheckCUDA(cudaGetDevice(&device));
    CheckCUDA(cudaDeviceGetAttribute(&maxshared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    int cache;
    CheckCUDA(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device));
    CheckCUDA(cudaMalloc(&scratch, sizeof(double) * ((size_t)A.n + 2 * f.nblocks) * Kmax));
    printf("%-8s blocks %d run %.2f share %.2f accs %d left %.4f copies %.3f split %d bytes %.2f |", variant.name, f.nblocks, f.meanrun, f.share, f.accumulators - f.tilethreads, (double)f.noverflow / f.nnz, (double)f.nreplicas / f.m, f.nsplit,
           CSRCBalancedBytes(f) / f.nnz);
    if (!strcmp(variant.name, "vector") || !strcmp(variant.name, "few")) {
      const double tn = Time(2 * reps, [&] { CheckCUDA(CSRCBalancedMult<false>(f, vector[0], (const double *)nullptr, result[0], nullptr)); });
      const double tt = Time(2 * reps, [&] { CheckCUDA(CSRCBalancedMultTranspose<false>(f, vector[1], (const double *)nullptr, result[1], nullptr)); });
      printf(" vector N %.1f T %.1f", tn, tt);
    }
    printf("\n");
    for (int transpose = 0; transpose < 2; transpose++) {
      const Matrix &B = transpose ? At : A;

      for (int kt : {2, 4, 8, 16}) {
        if (!Fits(f, kt, maxshared)) continue;
        printf("   %s kt %3d:", transpose ? "T" : "N", kt);
        for (int K : {2, 4, 8, 16, 32}) {
          if (K < kt) continue;
          const int  together = std::min(K, CSRCPackedColumns(f, kt, cache));
          const auto product  = [&] {
            for (int k = 0; k < K; k += together) CheckCUDA(Product(transpose, kt, f, together, vector[transpose] + (size_t)B.n * k, B.n, result[transpose] + (size_t)B.m * k, B.m, transpose ? sums.get() : scratch));
          };
          auto  &got   = transpose ? v : y;
          double error = 0;

          CheckCUDA(cudaMemset(result[transpose], 0xff, sizeof(double) * B.m * K));
          product();
          CheckCUDA(cudaDeviceSynchronize());
          for (int c : {0, K - 1}) {
            if (K > kt && K < Kmax) continue;
            CheckCUDA(cudaMemcpy(got.data() + (size_t)B.m * c, result[transpose] + (size_t)B.m * c, sizeof(double) * B.m, cudaMemcpyDeviceToHost));
            error = std::max(error, ErrorOfColumn(B, (transpose ? u : x).data() + (size_t)B.n * c, got.data() + (size_t)B.m * c));
          }
          if (error <= 1) passed++;
          else {
            failed++;
            printf(" WRONG %g", error);
          }
          printf(" K%d %.1f", K, Time(std::max(1, reps * 4 / K), product));
          fflush(stdout);
        }
        printf("\n");
      }
    }
    CheckCUDA(cudaFree(scratch));
  }
}

/* An operand of many columns, NaN between them, and its product with A, which is computed once for all checks */
struct Operands {
  const int           m;
  const size_t        ldx;
  std::vector<double> x;

  Operands(const Matrix &A, int K) : m(A.m), ldx(A.n + 3), x(ldx * K, NAN), sum((size_t)A.m * K), allowed((size_t)A.m * K)
  {
    for (int c = 0; c < K; c++) {
      Random        random(c + 1);
      double *const xc = x.data() + ldx * c;

      for (int r = 0; r < A.n; r++) xc[r] = 2 * random.unit() - 1;
      for (int row = 0; row < A.m; row++) {
        const size_t at = (size_t)A.m * c + row;

        sum[at] = SumOfRow(A, row, xc, &allowed[at]);
      }
    }
  }

  /* the largest error of K columns of y, as a share of the allowed one; 1e300 if something was written behind a column */
  double error(int K, const double *y, size_t ldy) const
  {
    double worst = 0;

    for (int c = 0; c < K; c++, y += ldy) {
      for (int row = 0; row < m; row++) worst = std::max(worst, Share(y[row], sum[(size_t)m * c + row], allowed[(size_t)m * c + row]));
      if (std::any_of(y + m, y + ldy, [](double beyond) { return !std::isnan(beyond); })) worst = 1e300;
    }
    return worst;
  }

private:
  std::vector<long double> sum;
  std::vector<double>      allowed;
};

static void CheckMatrix(const Matrix &A, Amount amount)
{
  const Operands            operands(A, amount == ALL ? 40 : 13), toperands(Transpose(A), amount == ALL ? 40 : 13);
  const DeviceArray<int>    i(A.i), j(A.j);
  const DeviceArray<double> a(A.a);
  static const Variant      tried[] = {
         {"few",                6,  -1,               1},
         {"dense",              8,  -1,               1},
         {"dense, small",       64, -1,               1},
         {"wide",               16, -1,               1},
         {"dense, interleaved", 8,  CSRC_INTERLEAVED, 1},
         {"vector",             1,  -1,               1},
         {"vector, shared",     1,  CSRC_INTERLEAVED, 2},
  };
  int device, maxshared;

  CheckCUDA(cudaGetDevice(&device));
  CheckCUDA(cudaDeviceGetAttribute(&maxshared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  if (!A.nnz()) return;
  for (const Variant &variant : tried) {
    if (amount < SMALL && variant.cluster == 1 && (variant.order >= 0 || (variant.kt != 6 && variant.kt != 8 && variant.kt != 16))) continue;
    const Form form(A, i.get(), j.get(), a.get(), {variant.cluster, variant.order, true, nullptr, variant.kt, 0, variant.kt == 6 ? 4 : 16 / variant.kt});

    for (int kt : {2, 4, 8, 16}) {
      if (!Fits(form.f, kt, maxshared)) continue;
      for (int K : {1, 2, 3, 5, 8, 13, 16, 17, 40}) {
        if ((amount < ALL && K != 2 && K != 3 && K != 13) || (amount < SMALL && K != (kt == 2 ? 2 : 13))) continue;
        for (int transpose = 0; transpose < 2; transpose++) {
          const Operands           &o   = transpose ? toperands : operands;
          const size_t              ldy = o.m + 5, nscratch = (size_t)A.n * ((K + kt - 1) / kt * kt) + 2 * form.f.nblocks * K;
          const DeviceArray<double> dx(std::vector<double>(o.x.begin(), o.x.begin() + o.ldx * K)), scratch(std::vector<double>(nscratch, transpose ? 0 : NAN));
          std::vector<double>       y(ldy * K + 7, NAN), z(y);
          const DeviceArray<double> dy(y);
          double                    error;

          CheckCUDA(Product(transpose, kt, form.f, K, dx.get(), o.ldx, dy.get(), ldy, scratch.get()));
          CheckCUDA(cudaDeviceSynchronize());
          dy.take(y);
          error = o.error(K, y.data(), ldy);
          if (transpose) { /* scratch must be zero again */
            z.resize(nscratch);
            scratch.take(z);
            if (std::any_of(z.begin(), z.end(), [](double left) { return left != 0; })) error = 3e300;
          } else { /* a second product must be bitwise the same */
            CheckCUDA(Product(transpose, kt, form.f, K, dx.get(), o.ldx, dy.get(), ldy, scratch.get()));
            CheckCUDA(cudaDeviceSynchronize());
            dy.take(z);
            if (memcmp(y.data(), z.data(), y.size() * sizeof(double))) error = 2e300;
          }
          if (error <= 1) passed++;
          else {
            if (failed++ < 20) printf("FAILED %s %d x %d, blocks %s, kt %d, K %d %s: error %g\n", A.name.c_str(), A.m, A.n, variant.name, kt, K, transpose ? "T" : "N", error);
          }
        }
      }
    }
  }
}

static void CheckAll(Amount amount)
{
  Random random;

  for (int m : {1, 33, 700, 9000}) {
    for (int n : {1, 40, 500, 70000}) {
      for (int few : {0, 1, 3, 9, 100, -1}) { /* number of distinct values, 0: any, -1: any of single precision */
        if (amount < ALL && (m == 1 || n == 1 || n == 500 || m == 33 || (m == 9000) != (n == 70000) || (m == 9000 && few))) continue;
        if (amount < SMALL && (m != 700 || few < 0 || few > 1)) continue;
        if ((few == 3 || few > 9) && m > 700) continue;
        Matrix A(few == 0 ? "scattered" : few == 1 ? "scattered, one value" : few > 0 ? "scattered, few values" : "scattered, single", m, n);

        for (auto &row : A.rows) {
          for (int k = 0; k < 12; k++) row.push_back(random.below(n));
        }
        A.finish(random);
        for (double &a : A.a) a = few == 0 ? a : few > 0 ? (double)random.below(few) - 4.5 : (double)(float)a;
        CheckMatrix(A, amount);
      }
    }
  }
  for (int m : {8000, 9000, 12000}) { /* one row block: for two columns, 512 threads fit beside its rows, 256 threads, or another kernel */
    if (amount < SMALL && m != 9000) continue;
    Matrix A("mostly empty rows", m, 70000);

    for (int k = 0; k < 500; k++) A.rows[random.below(m)].push_back(random.below(A.n));
    A.finish(random);
    CheckMatrix(A, amount);
  }
  for (int full : {0, 57, 299}) {
    if (amount < ALL && full != 57) continue;
    Matrix A("full row and column", 300, 20000);

    for (auto &row : A.rows) row.push_back(4711);
    for (int c = 0; c < A.n; c++) A.rows[full].push_back(c);
    A.finish(random);
    CheckMatrix(A, amount);
  }
  if (amount > TINY) {
    Matrix A("dense", 130, 300);

    for (auto &row : A.rows)
      for (int c = 0; c < A.n; c++) row.push_back(c);
    A.finish(random);
    CheckMatrix(A, amount);
  }
  if (amount > TINY) {
    Matrix A("diagonals", 2000, 2000);

    for (int r = 0; r < A.m; r++)
      for (int c = std::max(0, r - 3); c < std::min(A.n, r + 4); c++) A.rows[r].push_back(c);
    A.finish(random);
    CheckMatrix(A, amount);
  }
}

int main(int argc, char **argv)
{
  double                   scale = 1;
  bool                     check = false, baselines = true;
  Amount                   amount = ALL;
  std::vector<std::string> names;
  std::string              only;
  cudaDeviceProp           properties;
  cusparseHandle_t         handle;

  for (int k = 1; k < argc; k++) {
    if (!strcmp(argv[k], "-check")) check = true;
    else if (!strcmp(argv[k], "-small")) amount = SMALL;
    else if (!strcmp(argv[k], "-tiny")) amount = TINY;
    else if (!strcmp(argv[k], "-nobaselines")) baselines = false;
    else if (!strcmp(argv[k], "-variant") && k + 1 < argc) only = argv[++k];
    else if (!strcmp(argv[k], "-scale") && k + 1 < argc) scale = atof(argv[++k]);
    else names.push_back(argv[k]);
  }
  const auto wanted = [&](const std::string &name) { return names.empty() || std::find(names.begin(), names.end(), name) != names.end(); };
  CheckCUDA(cudaGetDeviceProperties(&properties, 0));
  printf("%s\n", properties.name);
  if (check) CheckAll(amount);
  else {
    CheckCUSPARSE(cusparseCreate(&handle));
    if (wanted("ch7-9-b4")) Measure(handle, Chessboard("ch7-9-b4", 7, 9, 4), baselines, only);
    for (const Law &law : laws) {
      if (wanted(law.name)) Measure(handle, Generate(law, scale), baselines, only);
    }
    CheckCUSPARSE(cusparseDestroy(handle));
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
