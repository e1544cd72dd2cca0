/*
  Times the kernels of the paper's CSRC form against cuSPARSE, without PETSc, in double precision with 32-bit indices.

    nvcc -std=c++17 -O3 -arch=sm_90 -Isrc/mat/impls/csrc/cuda -o kernelstime tests/cuda/kernelstime.cu -lcusparse
    ./kernelstime [scale]      scale < 1 shrinks all matrices but the chessboard one

  A time is the median of five groups of products run back to back between two events, after a warm-up, in microseconds. A^T u
  has the zeroing of its result in it. cuSPARSE: the faster of its two algorithms for CSR, after its preprocessing; T is
  A^T from CSR, stored A^T is A x with a second, transposed matrix. Each product is first compared with cuSPARSE's. Matrices with ~ in their
  names are random ones with the size, the number of nonzeros and roughly the distribution of the matrix they are named after.
*/
#include <cmath>
#include <functional>
#include <cusparse.h>
#include "csrctest.cuh"

#define CheckCUSPARSE(call) \
  do { \
    const cusparseStatus_t err_ = (call); \
    if (err_ != CUSPARSE_STATUS_SUCCESS) { \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cusparseGetErrorString(err_)); \
      exit(2); \
    } \
  } while (0)

using Matrix = Csr<double, int>;

/* columns uniform (skew 1) or crowded at few of them, row lengths equal or exponentially distributed */
static Matrix Scattered(const char name[], double scale, int m, int n, double nnz, double skew, bool varying)
{
  Matrix A(name, std::max(1, static_cast<int>(m * scale)), std::max(1, static_cast<int>(n * scale)));
  Random random;

  for (auto &row : A.rows) {
    const double mean   = nnz / m;
    const int    length = std::min<int>(A.n, static_cast<int>((varying ? -std::log(1 - random.unit()) * mean : mean) + random.unit()));

    for (int k = 0; k < length; k++) {
      const uint64_t column = static_cast<uint64_t>(std::pow(random.unit(), skew) * A.n);

      row.push_back(static_cast<int>(skew == 1 ? column : column * 2654435761ull % A.n)); /* the crowded columns lie apart */
    }
  }
  A.finish(random);
  return A;
}

/* columns within a window that moves with the row */
static Matrix Band(const char name[], double scale, int m, int n, double nnz, double window)
{
  Matrix A(name, std::max(1, static_cast<int>(m * scale)), std::max(1, static_cast<int>(n * scale)));
  Random random;

  for (int row = 0; row < A.m; row++) {
    for (int k = static_cast<int>(nnz / m + random.unit()); k > 0; k--) {
      const double column = static_cast<double>(row) * A.n / A.m + (random.unit() - 0.5) * window;

      A.rows[row].push_back(std::min(A.n - 1, std::max(0, static_cast<int>(column))));
    }
  }
  A.finish(random);
  return A;
}

/* the 7-point stencil on a cube */
static Matrix Stencil(const char name[], double scale, int side)
{
  const int s = std::max(1, static_cast<int>(side * std::cbrt(scale)));
  Matrix    A(name, s * s * s, s * s * s);
  Random    random;

  for (int z = 0; z < s; z++) {
    for (int y = 0; y < s; y++) {
      for (int x = 0; x < s; x++) {
        const int         at  = (z * s + y) * s + x;
        std::vector<int> &row = A.rows[at];

        row.push_back(at);
        if (x) row.push_back(at - 1);
        if (x < s - 1) row.push_back(at + 1);
        if (y) row.push_back(at - s);
        if (y < s - 1) row.push_back(at + s);
        if (z) row.push_back(at - s * s);
        if (z < s - 1) row.push_back(at + s * s);
      }
    }
  }
  A.finish(random);
  return A;
}

/* all ways to place k rooks on an a x b board so that none attacks another, as sorted lists of fields, in order */
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

/* rows: k+1 rooks, columns: k rooks; a nonzero where one rook taken away leads from the row to the column */
static Matrix Chessboard(const char name[], int a, int b, int k)
{
  std::vector<std::vector<int>> rows, columns;
  std::vector<int>              rooks;

  Placements(a, b, k + 1, 0, 0, rooks, rows);
  Placements(a, b, k, 0, 0, rooks, columns);
  std::sort(rows.begin(), rows.end());
  std::sort(columns.begin(), columns.end());

  Matrix A(name, static_cast<int>(rows.size()), static_cast<int>(columns.size()));
  Random random;

  for (int row = 0; row < A.m; row++) {
    for (int gone = 0; gone <= k; gone++) {
      rooks = rows[row];
      rooks.erase(rooks.begin() + gone);
      A.rows[row].push_back(static_cast<int>(std::lower_bound(columns.begin(), columns.end(), rooks) - columns.begin()));
    }
  }
  A.finish(random);
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

static double Time(int repetitions, const std::function<void()> &product)
{
  std::vector<float> times;
  cudaEvent_t        begin, end;

  CheckCUDA(cudaEventCreate(&begin));
  CheckCUDA(cudaEventCreate(&end));
  for (int i = 0; i < 3; i++) product();
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

/* A matrix in cuSPARSE's CSR */
class Cusparse {
public:
  Cusparse(cusparseHandle_t handle_, const Matrix &A) : handle(handle_), m(A.m), n(A.n), i(A.i), j(A.j), a(A.a) { CheckCUSPARSE(cusparseCreateCsr(&matrix, m, n, A.nnz(), i.get(), j.get(), a.get(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F)); }
  ~Cusparse() { cusparseDestroySpMat(matrix); }

  /* y = A x or A^T x; K = 0 stands for vectors, otherwise column-major X and Y of K columns. The time of the faster algorithm. */
  double time(bool transpose, int K, double *x, double *y, int repetitions) const
  {
    double best = INFINITY;

    if (K) {
      for (cusparseSpMMAlg_t algorithm : {CUSPARSE_SPMM_CSR_ALG1, CUSPARSE_SPMM_CSR_ALG2}) {
        if (transpose && algorithm == CUSPARSE_SPMM_CSR_ALG2) continue; /* documented not to do A^T */
        best = std::min(best, dense(transpose, K, x, y, algorithm, repetitions));
      }
    } else {
      for (cusparseSpMVAlg_t algorithm : {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2}) best = std::min(best, vector(transpose, x, y, algorithm, repetitions));
    }
    return best;
  }

private:
  double vector(bool transpose, double *x, double *y, cusparseSpMVAlg_t algorithm, int repetitions) const
  {
    const cusparseOperation_t op  = transpose ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
    const double              one = 1, zero = 0;
    cusparseDnVecDescr_t      dx, dy;
    size_t                    bytes;
    void                     *work;

    CheckCUSPARSE(cusparseCreateDnVec(&dx, transpose ? m : n, x, CUDA_R_64F));
    CheckCUSPARSE(cusparseCreateDnVec(&dy, transpose ? n : m, y, CUDA_R_64F));
    CheckCUSPARSE(cusparseSpMV_bufferSize(handle, op, &one, matrix, dx, &zero, dy, CUDA_R_64F, algorithm, &bytes));
    CheckCUDA(cudaMalloc(&work, std::max<size_t>(bytes, 8)));
    CheckCUSPARSE(cusparseSpMV_preprocess(handle, op, &one, matrix, dx, &zero, dy, CUDA_R_64F, algorithm, work));
    const double us = Time(repetitions, [&] { CheckCUSPARSE(cusparseSpMV(handle, op, &one, matrix, dx, &zero, dy, CUDA_R_64F, algorithm, work)); });
    CheckCUDA(cudaFree(work));
    CheckCUSPARSE(cusparseDestroyDnVec(dx));
    CheckCUSPARSE(cusparseDestroyDnVec(dy));
    return us;
  }

  double dense(bool transpose, int K, double *x, double *y, cusparseSpMMAlg_t algorithm, int repetitions) const
  {
    const cusparseOperation_t op  = transpose ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
    const double              one = 1, zero = 0;
    const int                 nx = transpose ? m : n, ny = transpose ? n : m;
    cusparseDnMatDescr_t      dx, dy;
    size_t                    bytes;
    void                     *work;

    CheckCUSPARSE(cusparseCreateDnMat(&dx, nx, K, nx, x, CUDA_R_64F, CUSPARSE_ORDER_COL));
    CheckCUSPARSE(cusparseCreateDnMat(&dy, ny, K, ny, y, CUDA_R_64F, CUSPARSE_ORDER_COL));
    CheckCUSPARSE(cusparseSpMM_bufferSize(handle, op, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, dx, &zero, dy, CUDA_R_64F, algorithm, &bytes));
    CheckCUDA(cudaMalloc(&work, std::max<size_t>(bytes, 8)));
    CheckCUSPARSE(cusparseSpMM_preprocess(handle, op, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, dx, &zero, dy, CUDA_R_64F, algorithm, work));
    const double us = Time(repetitions, [&] { CheckCUSPARSE(cusparseSpMM(handle, op, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, dx, &zero, dy, CUDA_R_64F, algorithm, work)); });
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

static void Compare(const char name[], const char what[], int K, const DeviceArray<double> &ours, const DeviceArray<double> &theirs, size_t length)
{
  std::vector<double> a(length), b(length);
  double              off2 = 0, size2 = 0;

  CheckCUDA(cudaMemcpy(a.data(), ours.get(), length * sizeof(double), cudaMemcpyDeviceToHost));
  CheckCUDA(cudaMemcpy(b.data(), theirs.get(), length * sizeof(double), cudaMemcpyDeviceToHost));
  for (size_t k = 0; k < length; k++) {
    off2 += (a[k] - b[k]) * (a[k] - b[k]);
    size2 += b[k] * b[k];
  }
  if (off2 <= 1e-24 * size2) passed++; /* false for NaN */
  else {
    failed++;
    printf("FAILED %s %s K %d: differs from cuSPARSE by %.1e\n", name, what, K, std::sqrt(off2 / size2));
  }
}

static void Measure(cusparseHandle_t handle, const Matrix &A)
{
  const int               Kmax = 32, repetitions = A.nnz() > 10000000 ? 20 : 50;
  const Csrc<double, int> csrc(A);
  const Cusparse          csr(handle, A), stored(handle, Transpose(A));
  Random                  random;
  std::vector<double>     x(static_cast<size_t>(A.n) * Kmax), u(static_cast<size_t>(A.m) * Kmax);

  for (double &value : x) value = 2 * random.unit() - 1;
  for (double &value : u) value = 2 * random.unit() - 1;
  const DeviceArray<double>    dx(x), du(u), y(u), ycsr(u), v(x), vcsr(x);
  CSRCPaperDevice<double, int> F = csrc.form();

  printf("%-18s %8d %7d %9d |", A.name.c_str(), A.m, A.n, A.nnz());
  for (int K : {1, 2, 4, 8, 16, 32}) {
    const int    reps = std::max(5, repetitions / K), asked = K == 1 ? 0 : K;
    const double csrN  = csr.time(false, asked, dx.get(), ycsr.get(), reps);
    const double csrT  = csr.time(true, asked, du.get(), vcsr.get(), reps);
    const double oursN = Time(reps, [&] { CheckCUDA(CSRCPaperMult(F, K, dx.get(), A.n, static_cast<const double *>(nullptr), y.get(), A.m, nullptr)); });
    const double oursT = Time(reps, [&] { CheckCUDA(CSRCPaperMultTranspose<false>(F, K, du.get(), A.m, static_cast<const double *>(nullptr), v.get(), A.n, nullptr)); });

    Compare(A.name.c_str(), "N", K, y, ycsr, static_cast<size_t>(A.m) * K);
    Compare(A.name.c_str(), "T", K, v, vcsr, static_cast<size_t>(A.n) * K);
    const double storedT = stored.time(false, asked, du.get(), vcsr.get(), reps);

    if (K > 1) printf("%-45s |", "");
    printf(" %3d | %8.1f %8.1f %8.1f | %8.1f %8.1f | %5.2f %5.2f\n", K, csrN, csrT, storedT, oursN, oursT, (csrN + csrT) / (oursN + oursT), (csrN + storedT) / (oursN + oursT));
    fflush(stdout);
  }
}

int main(int argc, char **argv)
{
  const double     scale = argc > 1 ? atof(argv[1]) : 1;
  cudaDeviceProp   properties;
  cusparseHandle_t handle;
  int              version;

  CheckCUDA(cudaGetDeviceProperties(&properties, 0));
  CheckCUSPARSE(cusparseCreate(&handle));
  CheckCUSPARSE(cusparseGetVersion(handle, &version));
  printf("%s, cuSPARSE %d, scale %g, microseconds\n", properties.name, version, scale);
  printf("%-18s %8s %7s %9s |   K |    csr N    csr T stored A^T | csrc N   csrc T | (csr N + csr T) / csrc, (csr N + stored A^T) / csrc\n", "matrix", "rows", "columns", "nonzeros");
  Measure(handle, Chessboard("ch7-9-b4", 7, 9, 4));
  Measure(handle, Scattered("12month1~", scale, 872622, 12471, 22624727, 3, true));
  Measure(handle, Scattered("connectus~", scale, 394792, 512, 1127525, 2, true));
  Measure(handle, Scattered("GL7d16~", scale, 955128, 460261, 14488881, 1, true));
  Measure(handle, Scattered("rail4284~", scale, 1096894, 4284, 11284032, 1, false));
  Measure(handle, Band("stormG2_1000~", scale, 1377306, 528185, 3459881, 4));
  Measure(handle, Stencil("atmosmodd~", scale, 108));
  CheckCUSPARSE(cusparseDestroy(handle));
  printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
