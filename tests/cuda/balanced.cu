/*
  Tests products with one vector in the balanced layout, without PETSc. Every product is compared with a plain loop over the CSR,
  for every form that the set-up can make.

    nvcc -std=c++17 -O3 -arch=sm_90 -Isrc -o balanced tests/cuda/balanced.cu
    ./balanced            all checks, ends with 'N passed, N failed'; not 0 if one failed
    ./balanced -small     few small matrices of doubles; -tiny: fewer still, for compute-sanitizer

  csrctest.cuh describes the checks. A x is computed several times and must be bitwise the same.
*/
#include "csrctest.cuh"
#include "mat/impls/csrc/balanced/setup/build.cuh"
#include "mat/impls/csrc/balanced/kernels/list.cuh"
#include "cuda/csrtranspose.cuh"

/* How values are drawn: there is one for each way of storing them */
enum Values {
  FULL,
  SINGLE,
  ONE,
  THREE,
  TEN,
  MANY
};
static const char *const valuenames[] = {"", "single-precision ", "one-valued ", "three-valued ", "ten-valued ", "many-valued "};
static const int         distinct[]   = {0, 0, 1, 3, 10, 100}; /* number of values, if they are few: 1, 2, 4 and 8 bits each, zero being one more */

/* n elements of an array on the device */
template <class T>
static std::vector<T> Taken(const T *device, size_t n)
{
  std::vector<T> host(n);

  CheckCUDA(cudaMemcpy(host.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}

/* y = A x, on the host, from the list of the nonzeros, by which the CSR is made again */
template <class Scalar>
static cudaError_t MultByList(const CSRCBalancedMatrix<Scalar> &A, const Scalar *x, Scalar *y)
{
  const size_t              n = (size_t)A.nchunks * CSRC_CHUNK;
  const DeviceArray<int>    rows{std::vector<int>(n)}, columns{std::vector<int>(n)};
  const DeviceArray<Scalar> values{std::vector<Scalar>(n)};
  const auto                entries = Taken(x, A.n);
  std::vector<Scalar>       sums(A.m, Scalar(0));

  if (A.nchunks) CSRCTry(CSRCListChunks(A, 0, A.nchunks, rows.get(), columns.get(), values.get(), nullptr));
  const auto row = Taken(rows.get(), n), column = Taken(columns.get(), n);
  const auto value = Taken(values.get(), n);
  for (size_t k = 0; k < n; k++) {
    if (row[k] >= 0) sums[row[k]] += value[k] * entries[column[k]];
  }
  if (A.noverflow) {
    const auto block      = Taken(A.block, A.nblocks);
    const auto start      = Taken(A.overflowstart, A.nblocks + 1);
    const auto laterow    = Taken(A.overflowrow, A.noverflow);
    const auto latecolumn = Taken(A.overflowcolumn, A.noverflow);
    const auto latevalue  = Taken(A.overflowvalue, A.noverflow);

    for (int g = 0; g < A.nblocks; g++) {
      for (int k = start[g]; k < start[g + 1]; k++) sums[block[g].row + laterow[k]] += latevalue[k] * entries[latecolumn[k]];
    }
  }
  return cudaMemcpy(y, sums.data(), sums.size() * sizeof(Scalar), cudaMemcpyHostToDevice);
}

template <class Scalar>
class Suite {
public:
  Suite(const char *types_, Amount amount_) : types(types_), amount(amount_) { }

  void run()
  {
    for (Values values : {FULL, SINGLE, ONE, THREE, TEN, MANY}) {
      const bool thorough = values == FULL;

      check(heavy(300, 3000, 10), values);
      if (amount < ALL && !thorough) continue;
      check(scattered(257, 33, 0.05), values);
      if (amount < SMALL) continue;
      check(band(6000, 3), values);
      check(rows(40000, 900, 3), values);
      check(popular(60000, 30000, 40), values);
      check(spans(), values);
      if (amount == ALL && (values <= SINGLE || values == TEN)) {
        for (int m : {1, 31, 33, 256, 257, 700}) {
          for (int n : {1, 2, 33, 257, 600}) {
            if (thorough || m == 257) check(scattered(m, n, 0.05), values);
          }
        }
        check(scattered(300, 200, 0.9), values);
        check(scattered(3, 30000, 0.5), values);
        check(scattered(30000, 3, 0.5), values);
        check(heavy(2000, 3000, 1), values);
        check(heavy(500, 9000, 40), values);
        check(rows(300000, 40000, 7), values);
        check(rows(3000000, 5000, 1), values); /* more rows than fit the usual number of blocks */
        check(heavy(3000, 500000, 8), values);
        check(band(400000, 3), values);
      }
    }
    ieee();
    shared();
  }

private:
  using Matrix = Csr<Scalar, int>;

  Matrix scattered(int m, int n, double density)
  {
    Matrix A("scattered", m, n);

    for (int row = 0; row < m; row++) {
      for (int column = 0; column < n; column++) {
        if (random.unit() < density) A.rows[row].push_back(column);
      }
    }
    if (m && n) A.rows[m / 2].push_back(n / 2); /* a layout needs at least one nonzero */
    A.finish(random);
    return A;
  }

  /* the last rows have many nonzeros, so that they are split among blocks and have replicas */
  Matrix heavy(int m, int n, int many)
  {
    Matrix A("heavy rows", m, n);

    for (int row = 0; row < m; row++) A.rows[row].push_back(static_cast<int>(random.below(n)));
    for (int h = 0; h < many; h++) {
      for (int column = h % 3; column < n; column += 1 + h % 3) A.rows[(h * 37) % m].push_back(column);
    }
    A.finish(random);
    return A;
  }

  Matrix band(int m, int width)
  {
    Matrix A("band", m, m);

    for (int row = 0; row < m; row++) {
      for (int d = -width; d <= width; d++) {
        if (row + d >= 0 && row + d < m) A.rows[row].push_back(row + d);
      }
    }
    A.finish(random);
    return A;
  }

  Matrix rows(int m, int n, int each)
  {
    Matrix A("rows of few", m, n);

    for (int row = 0; row < m; row++) {
      for (int k = 0; k < each; k++) A.rows[row].push_back(static_cast<int>(random.below(n)));
    }
    A.finish(random);
    return A;
  }

  /* every 32 rows have columns as far apart as a number of bits from 8 to 16 can tell, or one column farther */
  Matrix spans()
  {
    const int first = 1000;
    Matrix    A("spans", 32 * 18, first + 0x10000 + 1);

    for (int row = 0; row < A.m; row++) {
      const int group = row / 32, span = (group & 1) + (0x100 << group / 2) - 1, seventh = (span - 1) / 7;

      A.rows[row].push_back(row % 2 ? first : first + span);
      for (int k = 0; k < 7; k++) A.rows[row].push_back(first + 1 + k * seventh + static_cast<int>(random.below(seventh)));
    }
    A.finish(random);
    return A;
  }

  /* the first columns have many nonzeros, in every block; the others have two */
  Matrix popular(int m, int n, int many)
  {
    Matrix A("popular columns", m, n);

    for (int row = 0; row < m; row++) {
      A.rows[row].push_back(row % many);
      A.rows[row].push_back(static_cast<int>(random.below(n)));
    }
    A.finish(random);
    return A;
  }

  /* What is stored of a matrix */
  struct Stored {
    CSRCBalancedMatrix<Scalar> f;
    CSRCBalancedRefill<Scalar> refill;
    cudaStream_t               stream;

    Stored(const CSRCSource<Scalar, int> &source, const CSRCBalancedParams &params)
    {
      CheckCUDA(cudaStreamCreate(&stream));
      CheckCUDA(CSRCBalancedBuild(source, params, false, stream, &f, &refill));
    }
    ~Stored()
    {
      CheckCUDA(CSRCBalancedFree(&f, &refill));
      CheckCUDA(cudaStreamDestroy(stream));
    }
  };

  /* Two thread blocks share a row block, by rule, if many nonzeros of it have columns next to each other, but not in a band */
  void shared()
  {
    for (bool expected : {true, false}) {
      const Matrix              A = expected ? rows(9000, 1500, 7) : band(13200, 2);
      const DeviceArray<int>    start(A.i), column(A.j);
      const DeviceArray<Scalar> value(A.a);
      ProductCheck<Scalar, int> checks(types, A, random);
      const Stored              stored({A.m, A.n, A.nnz(), A.i.data(), start.get(), column.get(), value.get()}, {0, -1, false, nullptr, 1});
      int                       device, major;

      CheckCUDA(cudaGetDevice(&device));
      CheckCUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
      if (stored.f.cluster == (expected && major >= 9 ? 2 : 1)) passed++;
      else {
        failed++;
        printf("FAILED %s %s: %d thread blocks share a row block\n", types, A.name.c_str(), stored.f.cluster);
      }
      products(checks, stored.f, FULL);
    }
  }

  void ieee()
  {
    Matrix A = scattered(300, 200, 0.1);

    A.name = "infinities and NaN";
    for (int k = 0; k < A.nnz(); k += 1 + static_cast<int>(random.below(800))) A.a[k] = Special<Scalar>(random.bits() % 2);
    check(A, FULL);
  }

  void check(Matrix A, Values values)
  {
    std::vector<Scalar> drawn(distinct[values]);

    for (Scalar &d : drawn) d = random.scalar<Scalar>();
    for (Scalar &a : A.a) {
      if (!drawn.empty()) a = drawn[random.bits() % drawn.size()];
      if (values == SINGLE) {
        if constexpr (CSRCParts<Scalar> == 1) a = static_cast<float>(a);
        else a = Scalar(static_cast<float>(a.real()), static_cast<float>(a.imag()));
      }
    }
    const DeviceArray<int>    start(A.i), column(A.j);
    const DeviceArray<Scalar> value(A.a);
    ProductCheck<Scalar, int> checks(types, A, random);

    for (int cluster : {1, 2}) {
      for (int order : {-1, 0, 1}) {
        for (int tile : {0, 256, 512}) {
          if (cluster > 1 && tile) continue;
          if (amount < ALL && (order < 0) != (tile > 0)) continue;
          Stored                      stored({A.m, A.n, A.nnz(), A.i.data(), start.get(), column.get(), value.get()}, {cluster, order, values != FULL, nullptr, 1, tile});
          CSRCBalancedMatrix<Scalar> &f = stored.f;

          products(checks, f, values);
          /* the same with fewer warp groups and threads, as on a device with less shared memory */
          if (tile && order < 0) {
            const int groups = f.groups;
            bool      early;

            for (f.groups = 1; f.groups < groups; f.groups++) {
              CheckCUDA(CSRCWithMultKernel<false>(f, [&](auto kernel, int) { return CSRCPrepareKernel(kernel, &early); }));
              products(checks, f, values);
            }
            if (f.transposethreads > 512) {
              f.transposethreads = 512;
              CheckCUDA(CSRCWithMultTransposeKernel<false>(f, [&](auto kernel, int) { return CSRCPrepareKernel(kernel, &early); }));
              CheckCUDA(CSRCWithMultTransposeKernel<CSRCParts<Scalar> == 2>(f, [&](auto kernel, int) { return CSRCPrepareKernel(kernel, &early); }));
              products(checks, f, values);
            }
          }
        }
      }
    }
  }

  void products(ProductCheck<Scalar, int> &check, const CSRCBalancedMatrix<Scalar> &f, Values values)
  {
    constexpr bool COMPLEX = CSRCParts<Scalar> == 2;
    char           variant[128];

    snprintf(variant, sizeof(variant), "%s%d blocks, cluster %d, %d warp groups, %d threads, tile %d, %s: ", valuenames[values], f.nblocks, f.cluster, f.groups, f.transposethreads, f.tilethreads,
             f.order == CSRC_CONSECUTIVE ? "consecutive" : "interleaved");
    for (Addend addend : {NONE, OTHER, SAME}) {
      check.run(
        variant, N, 1, 0, 0, addend, [&](const Scalar *x, size_t, const Scalar *z, Scalar *y, size_t, cudaStream_t stream) { return CSRCBalancedMult<false>(f, x, z, y, stream); }, 3);
      check.run(variant, T, 1, 0, 0, addend, [&](const Scalar *u, size_t, const Scalar *z, Scalar *v, size_t, cudaStream_t stream) { return CSRCBalancedMultTranspose<false>(f, u, z, v, stream); });
      if (COMPLEX) check.run(variant, H, 1, 0, 0, addend, [&](const Scalar *u, size_t, const Scalar *z, Scalar *v, size_t, cudaStream_t stream) { return CSRCBalancedMultTranspose<COMPLEX>(f, u, z, v, stream); });
    }
    check.run(variant, N, 1, 0, 0, NONE, [&](const Scalar *x, size_t, const Scalar *, Scalar *y, size_t, cudaStream_t) { return MultByList(f, x, y); });
    /* a product in the graph of a captured stream, launched several times in a row: there too a kernel begins before the one before ends */
    check.run(variant, T, 1, 0, 0, NONE, [&](const Scalar *u, size_t, const Scalar *z, Scalar *v, size_t, cudaStream_t stream) {
      cudaGraph_t     graph;
      cudaGraphExec_t exec;

      CheckCUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      for (int k = 0; k < 2; k++) CheckCUDA(CSRCBalancedMultTranspose<false>(f, u, z, v, stream));
      CheckCUDA(cudaStreamEndCapture(stream, &graph));
      CheckCUDA(cudaGraphInstantiate(&exec, graph, 0));
      for (int k = 0; k < 3; k++) CheckCUDA(cudaGraphLaunch(exec, stream));
      CheckCUDA(cudaStreamSynchronize(stream));
      CheckCUDA(cudaGraphExecDestroy(exec));
      return cudaGraphDestroy(graph);
    });
  }

  const char *types;
  Amount      amount;
  Random      random;
};

/*
  Where the columns of a CSR begin, if nearly all of them are in one gap between two occupied ones: right, and in a small fraction of the time
  that one thread would take to write them, some 300 ms on an H200
*/
static void Gap()
{
  const int              n    = 100000000;
  const std::vector<int> keys = {3, 3, n - 5};
  const DeviceArray<int> key(keys), start{std::vector<int>(n + 1)};
  cudaEvent_t            begin, end;
  float                  ms    = 0;
  bool                   right = true;

  CheckCUDA(cudaEventCreate(&begin));
  CheckCUDA(cudaEventCreate(&end));
  for (int turn = 0; turn < 2; turn++) { /* the first one loads the kernel */
    CheckCUDA(cudaEventRecord(begin));
    CSRCColumnStartsKernel<<<n / 256 + 1, 256>>>(n, (int)keys.size(), key.get(), start.get());
    CheckCUDA(cudaGetLastError());
    CheckCUDA(cudaEventRecord(end));
    CheckCUDA(cudaEventSynchronize(end));
    CheckCUDA(cudaEventElapsedTime(&ms, begin, end));
  }
  const std::vector<int> found = Taken(start.get(), (size_t)n + 1);
  for (int c = 0; c <= n; c++) right = right && found[c] == (c <= 3 ? 0 : c <= n - 5 ? 2 : 3);
  if (right && ms < 30) passed++;
  else {
    failed++;
    printf("FAILED where columns begin: %s, %.1f ms\n", right ? "right" : "wrong", ms);
  }
  CheckCUDA(cudaEventDestroy(begin));
  CheckCUDA(cudaEventDestroy(end));
}

int main(int argc, char **argv)
{
  Amount         amount = ALL;
  cudaDeviceProp properties;

  if (argc > 1 && !strcmp(argv[1], "-small")) amount = SMALL;
  if (argc > 1 && !strcmp(argv[1], "-tiny")) amount = TINY;
  CheckCUDA(cudaGetDeviceProperties(&properties, 0));
  printf("%s%s\n", properties.name, amount == ALL ? "" : amount == SMALL ? ", small" : ", tiny");
  Suite<double>("double:", amount).run();
  if (amount == ALL) {
    Suite<float>("single:", amount).run();
    Suite<thrust::complex<double>>("complex double:", amount).run();
    Gap();
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
