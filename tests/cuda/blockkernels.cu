/*
  Tests the kernels for blocks of vectors (src/blockops) without PETSc: passes, A^H B and the small Cholesky factor are compared with
  plain loops in long double.

    nvcc -std=c++17 -O3 -arch=sm_90 -Isrc -Isrc/blockops/cuda -o blockkernels tests/cuda/blockkernels.cu
    ./blockkernels          all checks, ends with 'N passed, N failed'; not 0 if one failed
    ./blockkernels -small   without the larger ones; -tiny: each way through each kernel once, for compute-sanitizer
    ./blockkernels -time    times instead: microseconds, and TB/s for reading and writing all operands once

  Leading dimensions are larger than columns are long, outputs are NaN before, and the numbers between columns must not change.
*/
#include <cmath>
#include <cstring>
#include <limits>
#include "csrctest.cuh"
#include "blocklaunch.cuh"

template <class Scalar>
using Wide = std::conditional_t<CSRCParts<Scalar> == 1, long double, thrust::complex<long double>>;

template <class Scalar>
static Wide<Scalar> Widen(const Scalar &s, bool conjugate = false)
{
  if constexpr (CSRCParts<Scalar> == 1) return s;
  else return Wide<Scalar>(s.real(), conjugate ? -s.imag() : s.imag());
}

template <class Wide>
static long double Length(const Wide &s)
{
  if constexpr (std::is_same_v<Wide, long double>) return std::fabs(s);
  else return std::hypot(s.real(), s.imag());
}

/* A matrix stored by columns, on host and device; NaN between the columns */
template <class Scalar>
struct Matrix {
  size_t              rows, cols, ld;
  std::vector<Scalar> host;
  Scalar             *device;

  Matrix(size_t rows_, size_t cols_, size_t gap) : rows(rows_), cols(cols_), ld(rows_ + gap), host((rows_ + gap) * cols_ + 1)
  {
    std::memset(static_cast<void *>(host.data()), 0xff, host.size() * sizeof(Scalar));
    CheckCUDA(cudaMalloc(&device, host.size() * sizeof(Scalar)));
    upload();
  }
  Matrix(const Matrix &)            = delete;
  Matrix &operator=(const Matrix &) = delete;
  ~Matrix() { CheckCUDA(cudaFree(device)); }

  void upload() { CheckCUDA(cudaMemcpy(device, host.data(), host.size() * sizeof(Scalar), cudaMemcpyHostToDevice)); }
  void download() { CheckCUDA(cudaMemcpy(host.data(), device, host.size() * sizeof(Scalar), cudaMemcpyDeviceToHost)); }
  void fill(Random &random, double factor = 1)
  {
    using Real = CSRCReal<Scalar>;

    for (size_t j = 0; j < cols; j++)
      for (size_t i = 0; i < rows; i++) host[i + j * ld] = random.scalar<Scalar>() * static_cast<Real>(factor);
    upload();
  }
  const Scalar &at(size_t i, size_t j) const { return host[i + j * ld]; }
  bool          gapskept() const
  {
    for (size_t j = 0; j < cols; j++) {
      const unsigned char *byte = reinterpret_cast<const unsigned char *>(&host[rows + j * ld]);

      for (size_t b = 0; b < (ld - rows) * sizeof(Scalar); b++) {
        if (byte[b] != 0xff) return false;
      }
    }
    return true;
  }
};

static void Judge(bool good, const std::string &what, double error)
{
  if (good) passed++;
  else {
    failed++;
    printf("FAILED %s: %g\n", what.c_str(), error);
  }
}

/* The error allowed for sums of n products of numbers up to one: some hundred units of rounding */
template <class Scalar>
static double Allowed(size_t n)
{
  return 16 * std::numeric_limits<CSRCReal<Scalar>>::epsilon() * (std::sqrt(static_cast<double>(n)) + 8);
}

template <class Scalar>
static void CheckGram(const std::string &name, int rows, int m, int n)
{
  Random         random(static_cast<uint64_t>(rows * 1000 + m * 10 + n));
  Matrix<Scalar> A(rows, m, 3), B(rows, n, 5), C(m, n, 0), again(m, n, 0);
  const size_t   ntickets = BlockGramTickets<Scalar>(rows, m, n);
  Scalar        *scratch;
  unsigned int  *tickets;
  double         worst = 0;

  A.fill(random);
  B.fill(random);
  CheckCUDA(cudaMalloc(&scratch, BlockGramScratch<Scalar>(rows, m, n) * sizeof(Scalar)));
  CheckCUDA(cudaMalloc(&tickets, (ntickets + 1) * sizeof(unsigned int)));
  CheckCUDA(cudaMemset(tickets, 0, (ntickets + 1) * sizeof(unsigned int)));
  BlockLaunchGram<Scalar>(rows, m, n, A.device, A.ld, B.device, B.ld, C.device, scratch, tickets, 0);
  BlockLaunchGram<Scalar>(rows, m, n, A.device, A.ld, B.device, B.ld, again.device, scratch, tickets, 0);
  CheckCUDA(cudaGetLastError());
  CheckCUDA(cudaDeviceSynchronize());
  C.download();
  again.download();
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < m; i++) {
      Wide<Scalar> sum = 0;

      for (int r = 0; r < rows; r++) sum += Widen(A.at(r, i), true) * Widen(B.at(r, j));
      const double error = static_cast<double>(Length<Wide<Scalar>>(Widen(C.at(i, j)) - sum));

      if (!(error <= worst)) worst = error;
    }
  }
  Judge(worst <= Allowed<Scalar>(rows), name + " A^H B " + std::to_string(rows) + " x " + std::to_string(m) + ", " + std::to_string(n), worst);
  Judge(!std::memcmp(C.host.data(), again.host.data(), sizeof(Scalar) * m * n), name + " A^H B again", 0);
  CheckCUDA(cudaFree(tickets));
  CheckCUDA(cudaFree(scratch));
}

/* The operands that a pass may have, as bits */
enum {
  SCALED  = 1,
  OWN     = 2,
  INPLACE = 4,
  GRAM    = 8
};

template <class Scalar>
static void CheckPass(const std::string &name, int rows, int w, int k, int what)
{
  Random                     random(static_cast<uint64_t>(rows * 1000 + w * 100 + k * 16 + what));
  const bool                 scaled = what & SCALED, own = what & OWN, inplace = !scaled && what & INPLACE;
  const int                  parts = what & GRAM ? BlockPassParts<Scalar>(rows, w) : 0;
  Matrix<Scalar>             in(rows, w, 1), M(w, w, 0), Q(rows, k + 1, 2), H(k + 1, w, 0), Own(rows, w, 3), OwnH(w, w, 0), copy(rows, w, 4), out(rows, w, 5), partial(w, w * (parts + 1), 0);
  Matrix<Scalar>             R(w, w, 0), Rinv(w, w, 0), found(4, 1, 0), results(300, 1, 0), ticket(1, 1, 0);
  BlockPassArguments<Scalar> a = {};
  Scalar                    *mirror;
  double                     worst = 0, worstgram = 0, worstfactor = 0;
  bool                       copied = true;

  in.fill(random);
  M.fill(random, 1.0 / w);
  Q.fill(random);
  H.fill(random, 1.0 / (k + 1));
  Own.fill(random);
  OwnH.fill(random, 1.0 / w);
  std::vector<Scalar> h(k * w); /* compact, k x w */
  for (int j = 0; j < w; j++)
    for (int i = 0; i < k; i++) h[i + j * k] = H.at(i, j);
  if (k) CheckCUDA(cudaMemcpy(H.device, h.data(), h.size() * sizeof(Scalar), cudaMemcpyHostToDevice));
  a.rows   = rows;
  a.w      = w;
  a.factor = -1;
  a.in     = in.device;
  a.ldin   = in.ld;
  a.M      = scaled ? M.device : nullptr;
  a.k      = k;
  a.Q      = Q.device;
  a.ldq    = Q.ld;
  a.H      = H.device;
  if (own) {
    a.P      = Own.device;
    a.ldp    = Own.ld;
    a.K      = OwnH.device;
    a.copy   = copy.device;
    a.ldcopy = copy.ld;
  }
  a.out     = inplace ? in.device : out.device;
  a.ldout   = inplace ? in.ld : out.ld;
  a.partial = parts ? partial.device : nullptr;
  if (parts) {
    CheckCUDA(cudaMemset(ticket.device, 0, sizeof(Scalar)));
    a.R        = R.device;
    a.Rinv     = Rinv.device;
    a.findings = found.device;
    a.ticket   = reinterpret_cast<unsigned int *>(ticket.device);
  }
  if (!own && k * w <= BLOCK_PASS_INLINED) {
    a.H = nullptr;
    std::copy(h.begin(), h.end(), a.inlined);
  }
  results.fill(random);
  CheckCUDA(cudaMallocHost(&mirror, 300 * sizeof(Scalar)));
  a.results                        = results.device;
  a.mirror                         = mirror;
  a.nresults                       = 300;
  const std::vector<Scalar> before = in.host;
  BlockLaunchPass(a, 0);
  CheckCUDA(cudaGetLastError());
  CheckCUDA(cudaDeviceSynchronize());
  Matrix<Scalar> &result = inplace ? in : out;
  result.download();
  copy.download();
  partial.download();
  R.download();
  for (int j = 0; j < w; j++) {
    for (int r = 0; r < rows; r++) {
      Wide<Scalar> sum = 0;

      if (scaled) {
        for (int i = 0; i < w; i++) sum += Widen(before[r + i * in.ld]) * Widen(M.at(i, j));
      } else sum = Widen(before[r + j * in.ld]);
      for (int i = 0; i < k; i++) sum -= Widen(Q.at(r, i)) * Widen(h[i + j * k]);
      if (own) {
        for (int i = 0; i < w; i++) sum -= Widen(Own.at(r, i)) * Widen(OwnH.at(i, j));
        copied = copied && !std::memcmp(&copy.at(r, j), &Own.at(r, j), sizeof(Scalar));
      }
      const double error = static_cast<double>(Length<Wide<Scalar>>(Widen(result.at(r, j)) - sum));

      if (!(error <= worst)) worst = error;
    }
  }
  for (int j = 0; j < w && parts; j++) {
    for (int i = 0; i < w; i++) {
      Wide<Scalar> sum = 0, got = 0;

      for (int r = 0; r < rows; r++) sum += Widen(result.at(r, i), true) * Widen(result.at(r, j));
      for (int p = 0; p < parts; p++) got += Widen(partial.host[i + j * w + static_cast<size_t>(p) * w * w]);
      const double error = static_cast<double>(Length<Wide<Scalar>>(got - sum));

      if (!(error <= worstgram)) worstgram = error;
      for (int r = 0; r <= std::min(i, j); r++) sum -= Widen(R.at(r, i), true) * Widen(R.at(r, j));
      const double left = static_cast<double>(Length<Wide<Scalar>>(sum));

      if (rows > 4 * w && !(left <= worstfactor)) worstfactor = left;
    }
  }
  const std::string title = name + " pass " + std::to_string(rows) + " rows, width " + std::to_string(w) + ", " + std::to_string(k) + " columns, " + std::to_string(what);
  Judge(worst <= Allowed<Scalar>(4), title, worst);
  Judge(worstgram <= 4 * Allowed<Scalar>(rows), title + ", Gram matrix", worstgram);
  Judge(worstfactor <= 8 * Allowed<Scalar>(rows) * (k + 4), title + ", factor", worstfactor);
  Judge(!std::memcmp(mirror, results.host.data(), 300 * sizeof(Scalar)), title + ", results", 0);
  CheckCUDA(cudaFreeHost(mirror));
  Judge(copied && result.gapskept() && copy.gapskept(), title + ", copies and gaps", 0);
}

template <class Scalar>
static void CheckMultiply(const std::string &name, int rows, int n, int k, bool add)
{
  Random         random(static_cast<uint64_t>(rows * 1000 + n * 100 + k));
  Matrix<Scalar> A(rows, k + 1, 1), B(k + 1, n, 0), C(rows, n, 2);
  const Scalar   alpha = 3;
  double         worst = 0;

  A.fill(random);
  B.fill(random, 1.0 / (k + 1));
  C.fill(random);
  std::vector<Scalar>       b(k * n); /* compact, k x n */
  const std::vector<Scalar> before = C.host;

  for (int j = 0; j < n; j++)
    for (int i = 0; i < k; i++) b[i + j * k] = B.at(i, j);
  if (k) CheckCUDA(cudaMemcpy(B.device, b.data(), b.size() * sizeof(Scalar), cudaMemcpyHostToDevice));
  BlockLaunchMultiply<Scalar>(rows, n, k, alpha, A.device, A.ld, B.device, add, C.device, C.ld, 0);
  CheckCUDA(cudaGetLastError());
  CheckCUDA(cudaDeviceSynchronize());
  C.download();
  for (int j = 0; j < n; j++) {
    for (int r = 0; r < rows; r++) {
      Wide<Scalar> sum = add ? Widen(before[r + j * C.ld]) : Wide<Scalar>(0);

      for (int i = 0; i < k; i++) sum += Widen(alpha) * Widen(A.at(r, i)) * Widen(b[i + j * k]);
      const double error = static_cast<double>(Length<Wide<Scalar>>(Widen(C.at(r, j)) - sum));

      if (!(error <= worst)) worst = error;
    }
  }
  const std::string title = name + " A B, " + std::to_string(rows) + " rows, " + std::to_string(k) + " times " + std::to_string(n) + " columns";
  Judge(worst <= Allowed<Scalar>(4), title, worst);
  Judge(C.gapskept(), title + ", gaps", 0);
}

/* The Gram matrix of w columns of very different length, in parts; with rank < w it is singular */
template <class Scalar>
static void CheckFactor(const std::string &name, int w, int nparts, int rank, bool finite)
{
  using Real = CSRCReal<Scalar>;

  Random                    random(static_cast<uint64_t>(w * 100 + nparts));
  Matrix<Scalar>            parts(w, w * nparts, 0), R(w, w, 0), Rinv(w, w, 0), found(4, 1, 0);
  std::vector<Scalar>       B(4 * w * w);
  std::vector<Wide<Scalar>> G(w * w);
  std::vector<long double>  length(w);
  double                    worst = 0, worstinverse = 0;
  bool                      upper = true;

  for (int j = 0; j < w; j++)
    for (int i = 0; i < 4 * w; i++) B[i + j * 4 * w] = j >= rank ? B[i] : random.scalar<Scalar>() * static_cast<Real>(std::pow(10.0, j % 5 - 2));
  for (int j = 0; j < w; j++) {
    for (int i = 0; i < w; i++) {
      Wide<Scalar> sum = 0;

      for (int r = 0; r < 4 * w; r++) sum += Widen(B[r + i * 4 * w], true) * Widen(B[r + j * 4 * w]);
      G[i + j * w] = sum;
      for (int p = 0; p < nparts; p++) {
        Real re, im = 0;

        if constexpr (CSRCParts<Scalar> == 1) re = static_cast<Real>(sum / nparts);
        else {
          re = static_cast<Real>(sum.real() / nparts);
          im = static_cast<Real>(sum.imag() / nparts);
        }
        if constexpr (CSRCParts<Scalar> == 1) parts.host[i + j * w + static_cast<size_t>(p) * w * w] = re;
        else parts.host[i + j * w + static_cast<size_t>(p) * w * w] = Scalar(re, im);
      }
    }
    length[j] = std::sqrt(Length<Wide<Scalar>>(G[j + j * w]));
  }
  if (!finite) parts.host[w > 1 ? w : 0] = Scalar(std::numeric_limits<Real>::quiet_NaN());
  parts.upload();
  BlockLaunchFactor<Scalar>(w, nparts, parts.device, R.device, Rinv.device, found.device, 0);
  CheckCUDA(cudaGetLastError());
  CheckCUDA(cudaDeviceSynchronize());
  R.download();
  Rinv.download();
  found.download();
  const std::string title = name + " factor " + std::to_string(w) + ", " + std::to_string(nparts) + " parts, rank " + std::to_string(rank);
  const double      pivot = static_cast<double>(Length<Wide<Scalar>>(Widen(found.at(0, 0)))), deviation = static_cast<double>(Length<Wide<Scalar>>(Widen(found.at(3, 0))));

  if (!finite) {
    Judge(pivot == 0 && deviation != deviation, title + ", not finite", pivot);
    return;
  }
  if (rank < w) {
    Judge(pivot < 1e3 * std::sqrt(static_cast<double>(std::numeric_limits<Real>::epsilon())), title + ", singular", pivot);
    return;
  }
  for (int j = 0; j < w; j++) {
    for (int i = 0; i < w; i++) {
      Wide<Scalar> sum = 0, one = 0;

      for (int r = 0; r <= std::min(i, j); r++) sum += Widen(R.at(r, i), true) * Widen(R.at(r, j));
      for (int r = i; r <= j; r++) one += Widen(R.at(i, r)) * Widen(Rinv.at(r, j));
      if (i == j) one -= 1;
      const double error = static_cast<double>(Length<Wide<Scalar>>(sum - G[i + j * w]) / (length[i] * length[j])), inverse = static_cast<double>(Length<Wide<Scalar>>(one) * length[j] / length[i]);

      if (!(error <= worst)) worst = error;
      if (!(inverse <= worstinverse)) worstinverse = inverse;
      if (i > j && (Length<Wide<Scalar>>(Widen(R.at(i, j))) != 0 || Length<Wide<Scalar>>(Widen(Rinv.at(i, j))) != 0)) upper = false;
    }
  }
  Judge(worst <= 10 * Allowed<Scalar>(w) && upper, title, worst);
  Judge(worstinverse <= 1000 * Allowed<Scalar>(w), title + ", inverse", worstinverse);
  Judge(pivot > 0.01 && pivot <= 1, title + ", pivot", pivot);
}

/*
  Every kernel, each number of columns that it is compiled for, and each of its ways: few and many rows, so that a row of a pass is shared by
  threads or is not; tiles that are not full; all operands of a pass and none; coefficients in the arguments, and in two tiles of memory
*/
template <class Scalar>
static void Tiny(const std::string &name)
{
  CheckGram<Scalar>(name, 65, 9, 4);
  CheckGram<Scalar>(name, 65, 9, 7);
  CheckGram<Scalar>(name, 65, 17, 7);
  CheckGram<Scalar>(name, 65, 73, 9);
  for (int w : {3, 7, 12, 20}) {
    CheckPass<Scalar>(name, 65, w, 0, SCALED | OWN | GRAM);
    CheckPass<Scalar>(name, 65, w, 5, OWN | INPLACE | GRAM);
    CheckPass<Scalar>(name, 65, w, 5, INPLACE | GRAM);
    CheckPass<Scalar>(name, 65, w, BLOCK_PASS_TILE + 2, 0);
    CheckMultiply<Scalar>(name, 65, w, BLOCK_PASS_TILE + 2, w % 2 == 0);
  }
  CheckMultiply<Scalar>(name, BLOCK_THREADS * BLOCK_PARALLEL + 1, 16, 2, true);
  CheckMultiply<Scalar>(name, BLOCK_THREADS * BLOCK_PARALLEL + 1, 41, 2, false);
  CheckPass<Scalar>(name, BLOCK_THREADS * BLOCK_PARALLEL + 1, 3, 1, GRAM);
  CheckFactor<Scalar>(name, 1, 1, 1, true);
  CheckFactor<Scalar>(name, 5, 3, 5, true);
  CheckFactor<Scalar>(name, 5, 3, 5, false);
  CheckFactor<Scalar>(name, 5, 3, 4, true);
  CheckFactor<Scalar>(name, BLOCK_WIDTH, 3, BLOCK_WIDTH, true);
}

template <class Scalar>
static void Suite(const std::string &name, Amount amount)
{
  if (amount == TINY) {
    Tiny<Scalar>(name);
    return;
  }
  for (int rows : {1, 31, 64, 257, 3001, 70001}) {
    if (rows > 300 && amount == SMALL) continue;
    for (int n : {1, 3, 4, 7, 8, 12, 16, 20, 32}) {
      for (int m : {1, 8, 9, 33, 97}) {
        if (rows < 10000 || (m == 9 && n % 8 == 0)) CheckGram<Scalar>(name, rows, m, n);
      }
      for (int what = 0; what < 16; what++) {
        for (int k : {0, 1, 50, 200}) {
          /* host loops are slow: only some of the larger sizes */
          if (rows > 300 && (k % 50 || k > 50 || n % 4)) continue;
          if (rows > 10000 && (!k || n != 8 || what % 5)) continue;
          CheckPass<Scalar>(name, rows, n, k, what);
          if (what < 2) CheckMultiply<Scalar>(name, rows, n, k, what);
        }
      }
    }
  }
  for (int w : {1, 2, 3, 4, 5, 8, 11, 16, 17, 24, 32}) {
    for (int nparts : {1, 2, 264}) {
      CheckFactor<Scalar>(name, w, nparts, w, true);
      CheckFactor<Scalar>(name, w, nparts, w, false);
      if (w > 1) CheckFactor<Scalar>(name, w, nparts, w - 1, true);
    }
  }
}

/* The median of five groups of ten launches, microseconds */
template <class Function>
static double Time(Function f)
{
  cudaEvent_t        a, b;
  std::vector<float> times;

  CheckCUDA(cudaEventCreate(&a));
  CheckCUDA(cudaEventCreate(&b));
  for (int i = 0; i < 3; i++) f();
  for (int group = 0; group < 5; group++) {
    float ms;

    CheckCUDA(cudaEventRecord(a, 0));
    for (int i = 0; i < 10; i++) f();
    CheckCUDA(cudaEventRecord(b, 0));
    CheckCUDA(cudaEventSynchronize(b));
    CheckCUDA(cudaEventElapsedTime(&ms, a, b));
    times.push_back(ms * 100);
  }
  CheckCUDA(cudaEventDestroy(a));
  CheckCUDA(cudaEventDestroy(b));
  std::sort(times.begin(), times.end());
  return times[2];
}

static void Times()
{
  const size_t  most = 460261;
  double       *A, *B, *C, *D, *small, *scratch;
  unsigned int *tickets;

  CheckCUDA(cudaMalloc(&A, most * 128 * sizeof(double)));
  CheckCUDA(cudaMalloc(&B, most * 16 * sizeof(double)));
  CheckCUDA(cudaMalloc(&C, most * 128 * sizeof(double)));
  CheckCUDA(cudaMalloc(&D, most * 16 * sizeof(double)));
  CheckCUDA(cudaMalloc(&small, 1 << 20));
  CheckCUDA(cudaMalloc(&scratch, 1 << 26));
  CheckCUDA(cudaMalloc(&tickets, 1 << 12));
  CheckCUDA(cudaMemset(tickets, 0, 1 << 12));
  CheckCUDA(cudaMemset(A, 0, most * 128 * sizeof(double)));
  CheckCUDA(cudaMemset(B, 0, most * 16 * sizeof(double)));
  CheckCUDA(cudaMemset(small, 0, 1 << 20));
  for (int n : {4284, 12471, 37830, 105840, 460261}) {
    for (int k : {16, 64, 96, 128}) {
      const double copy = Time([&] { CheckCUDA(cudaMemcpyAsync(C, A, sizeof(double) * n * k, cudaMemcpyDeviceToDevice, 0)); });

      printf("%6d rows, %3d columns: copy %6.1f us %.2f TB/s;", n, k, copy, 2e-6 * sizeof(double) * n * k / copy);
      for (int w : {2, 4, 8, 16}) {
        BlockPassArguments<double> a = {};

        a.rows   = n;
        a.w      = w;
        a.factor = -1;
        a.in = a.out = B;
        a.ldin = a.ldout = a.ldq = static_cast<size_t>(n);
        a.k                      = k;
        a.Q                      = A;
        a.H                      = small;
        a.partial                = scratch;
        a.R                      = small + 65536;
        a.Rinv                   = small + 66560;
        a.findings               = small + 67584;
        a.ticket                 = tickets;
        const double gram        = Time([&] { BlockLaunchGram<double>(n, k, w, A, n, B, n, small, scratch, tickets, 0); });
        const double pass        = Time([&] { BlockLaunchPass(a, 0); });

        printf(" w %2d A^H B %6.1f us %.2f TB/s, pass %6.1f us %.2f TB/s;", w, gram, 1e-6 * sizeof(double) * n * (k + w) / gram, pass, 1e-6 * sizeof(double) * n * (k + 2 * w) / pass);
      }
      printf("\n");
    }
    for (int w : {2, 4, 8, 16}) {
      BlockPassArguments<double> a = {};

      a.rows   = n;
      a.w      = w;
      a.factor = -1;
      a.in     = B;
      a.out    = D;
      a.M      = small;
      a.ldin = a.ldout = a.ldq = a.ldp = a.ldcopy = static_cast<size_t>(n);
      const double scale                          = Time([&] { BlockLaunchPass(a, 0); });

      a.M                = nullptr;
      a.in               = D;
      a.k                = w;
      a.Q                = A;
      a.H                = small;
      a.P                = B;
      a.K                = small;
      a.copy             = C;
      a.partial          = scratch;
      a.R                = small + 65536;
      a.Rinv             = small + 66560;
      a.findings         = small + 67584;
      a.ticket           = tickets;
      const double known = Time([&] { BlockLaunchPass(a, 0); });

      printf("%6d rows, w %2d: scaling %.1f us, known blocks %.1f us, A^H A %.1f us, factor of %d parts %.1f us\n", n, w, scale, known, Time([&] { BlockLaunchGram<double>(n, w, w, B, n, B, n, small, scratch, tickets, 0); }),
             BlockPassParts<double>(n, w), Time([&] { BlockLaunchFactor<double>(w, BlockPassParts<double>(n, w), scratch, small, small + 4096, small + 8192, 0); }));
    }
  }
}

int main(int argc, char **argv)
{
  const Amount amount = argc > 1 && !std::strcmp(argv[1], "-tiny") ? TINY : argc > 1 && !std::strcmp(argv[1], "-small") ? SMALL : ALL;

  if (argc > 1 && !std::strcmp(argv[1], "-time")) {
    Times();
    return 0;
  }
  Suite<double>("double:", amount);
  Suite<float>("single:", amount);
  Suite<thrust::complex<double>>("complex double:", amount);
  Suite<thrust::complex<float>>("complex single:", amount);
  printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
