/*
  Tries the kernels of the paper's CSRC form by themselves, without PETSc: every product against a plain loop over the CSR.

    nvcc -std=c++17 -O3 -arch=sm_90 -Isrc/mat/impls/csrc/cuda -o kernels tests/cuda/kernels.cu
    ./kernels            all checks, ends with 'N passed, N failed'; not 0 if one failed
    ./kernels -small     without the large matrices, for compute-sanitizer

  What a check demands of y = op(A) x + z, for each entry: within (nonzeros summed + 8) eps (|op(A)| |x| + |z|) of the sum made
  in long double; where that is infinite or NaN, the same. Moreover, in every check
  - outputs begin as NaN, and so do all numbers around them: before, behind, and between columns where ld > rows; those must
    keep their bits;
  - entries of x that meet no nonzero are NaN or Inf, and so are the numbers between columns of X: none may reach y;
  - operands begin at an odd element, and arrays of the form end where their last element does.
*/
#include <cmath>
#include <cstring>
#include <limits>
#include "csrctest.cuh"

static int passed = 0, failed = 0;

static const int guard = 17; /* elements before and behind an operand */

enum Op {
  N,
  T,
  H
};
static const char *const opnames[] = {"N", "T", "H"};

enum Addend {
  NONE,
  OTHER,
  SAME
};
static const char *const addendnames[] = {"", " + z", " + y"};

template <class Scalar>
static long double Part(const Scalar &s, int part)
{
  if constexpr (CSRCParts<Scalar> == 1) return s;
  else return part ? s.imag() : s.real();
}

template <class Scalar>
static Scalar Special(bool nan)
{
  using Real = CSRCReal<Scalar>;

  return Scalar(nan ? std::numeric_limits<Real>::quiet_NaN() : std::numeric_limits<Real>::infinity());
}

/* A column-major operand of rows x K with guards; elements outside of the rows are poison */
template <class Scalar>
struct Operand {
  size_t              rows, K, ld;
  std::vector<Scalar> all;

  Operand(size_t rows_, size_t K_, size_t ld_) : rows(rows_), K(K_), ld(ld_), all(2 * guard + ld_ * K_) { std::memset(static_cast<void *>(all.data()), 0xff, all.size() * sizeof(Scalar)); }

  Scalar       &at(size_t row, size_t c) { return all[guard + c * ld + row]; }
  const Scalar &at(size_t row, size_t c) const { return all[guard + c * ld + row]; }
};

/* What one entry of the result should be, and how far it may be off */
struct Expected {
  long double part[2] = {0, 0};
  long double size    = 0;
  long        terms   = 0;
};

template <class Scalar>
static bool Agrees(const Scalar &found, const Expected &e)
{
  const long double eps  = std::numeric_limits<CSRCReal<Scalar>>::epsilon();
  long double       off2 = 0;
  bool              finite = true;

  for (int part = 0; part < CSRCParts<Scalar>; part++) {
    const long double f = Part(found, part), want = e.part[part];

    if (std::isfinite(want)) off2 += (f - want) * (f - want);
    else {
      finite = false;
      if (std::isnan(want) ? !std::isnan(f) : f != want) return false;
    }
  }
  /* an infinite part leaves no bound for the other one but that it be finite as well */
  return finite ? std::sqrt(off2) <= (e.terms + 8) * eps * e.size : std::isfinite(off2);
}

template <class Scalar>
static bool Untouched(const Scalar &s)
{
  unsigned char bytes[sizeof(Scalar)], poison[sizeof(Scalar)];

  std::memcpy(bytes, static_cast<const void *>(&s), sizeof(Scalar));
  std::memset(poison, 0xff, sizeof(Scalar));
  return !std::memcmp(bytes, poison, sizeof(Scalar));
}

/* The products of one matrix */
template <class Scalar, class Index>
class Checker {
public:
  Checker(const char *types_, const Csr<Scalar, Index> &A_, Random &random_) : types(types_), A(A_), form(A_), random(random_), rowused(A_.m, false), columnused(A_.n, false)
  {
    for (Index row = 0; row < A.m; row++) {
      for (Index k = A.i[row]; k < A.i[row + 1]; k++) rowused[row] = columnused[A.j[k]] = true;
    }
  }

  /* one column */
  void vectors()
  {
    for (Op op : {N, T, H})
      for (Addend addend : {NONE, OTHER, SAME}) product(op, 1, 0, 0, addend);
  }

  void panels(std::initializer_list<size_t> Ks)
  {
    for (size_t K : Ks)
      for (Op op : {N, T, H})
        for (int pad : {0, 3}) product(op, K, pad, pad ? 5 : 0, NONE);
  }

  void product(Op op, size_t K, size_t padin, size_t padout, Addend addend)
  {
    const size_t              nin = op == N ? A.n : A.m, nout = op == N ? A.m : A.n;
    const std::vector<bool>  &used = op == N ? columnused : rowused;
    Operand<Scalar>           x(nin, K, nin + padin), y(nout, K, nout + padout), z(nout, K, nout + padout);
    std::vector<Expected>     expected(nout * K);

    for (size_t c = 0; c < K; c++) {
      for (size_t i = 0; i < nin; i++) x.at(i, c) = used[i] ? random.scalar<Scalar>() : Special<Scalar>(i % 2);
      if (addend != NONE) {
        for (size_t i = 0; i < nout; i++) {
          Expected &e = expected[c * nout + i];

          z.at(i, c) = random.scalar<Scalar>();
          for (int part = 0; part < CSRCParts<Scalar>; part++) e.part[part] = Part(z.at(i, c), part);
          e.size = std::hypot(e.part[0], e.part[1]);
        }
      }
    }
    if (addend == SAME) y = z;
    expect(op, x, expected);

    const DeviceArray<Scalar>            dx(x.all), dy(y.all), dz(z.all);
    const CSRCPaperDevice<Scalar, Index> F    = form.form();
    const Scalar                        *xptr = dx.get() + guard, *zptr = addend == NONE ? nullptr : (addend == SAME ? dy.get() : dz.get()) + guard;
    Scalar                              *yptr = dy.get() + guard;
    cudaStream_t                         stream;

    CheckCUDA(cudaStreamCreate(&stream));
    if (op == N) CheckCUDA(CSRCPaperMult(F, K, xptr, x.ld, zptr, yptr, y.ld, stream));
    else if (op == T) CheckCUDA(CSRCPaperMultTranspose<false>(F, K, xptr, x.ld, zptr, yptr, y.ld, stream));
    else CheckCUDA(CSRCPaperMultTranspose<CSRCParts<Scalar> == 2>(F, K, xptr, x.ld, zptr, yptr, y.ld, stream));
    CheckCUDA(cudaStreamSynchronize(stream));
    CheckCUDA(cudaStreamDestroy(stream));
    dy.take(y.all);
    judge(op, addend, y, expected);
  }

private:
  void expect(Op op, const Operand<Scalar> &x, std::vector<Expected> &expected) const
  {
    for (Index row = 0; row < A.m; row++) {
      for (Index k = A.i[row]; k < A.i[row + 1]; k++) {
        const size_t      in = op == N ? A.j[k] : row, out = op == N ? row : A.j[k], nout = op == N ? A.m : A.n;
        const long double re = Part(A.a[k], 0), im = CSRCParts<Scalar> == 1 ? 0 : (op == H ? -1 : 1) * Part(A.a[k], 1);

        for (size_t c = 0; c < x.K; c++) {
          Expected         &e   = expected[c * nout + out];
          const long double xre = Part(x.at(in, c), 0);

          if constexpr (CSRCParts<Scalar> == 1) e.part[0] += re * xre;
          else {
            const long double xim = Part(x.at(in, c), 1);

            e.part[0] += re * xre - im * xim;
            e.part[1] += re * xim + im * xre;
            e.size += std::hypot(re, im) * std::hypot(xre, xim);
          }
          if constexpr (CSRCParts<Scalar> == 1) e.size += std::fabs(re * xre);
          e.terms++;
        }
      }
    }
  }

  void judge(Op op, Addend addend, const Operand<Scalar> &y, const std::vector<Expected> &expected)
  {
    std::string fault;

    for (size_t at = 0; at < y.all.size() && fault.empty(); at++) {
      const bool   in  = at >= guard && at < y.all.size() - guard;
      const size_t row = in ? (at - guard) % y.ld : 0, c = in ? (at - guard) / y.ld : 0;

      if (in && row < y.rows) {
        const Expected &e = expected[c * y.rows + row];

        if (!Agrees(y.all[at], e)) {
          char text[256];

          snprintf(text, sizeof(text), "entry %zu of column %zu is (%.17Lg, %.17Lg), not (%.17Lg, %.17Lg), %ld terms, size %.3Lg", row, c, Part(y.all[at], 0), CSRCParts<Scalar> == 2 ? Part(y.all[at], 1) : 0.0L, e.part[0], e.part[1], e.terms, e.size);
          fault = text;
        }
      } else if (!Untouched(y.all[at])) fault = "element " + std::to_string(at) + " outside of the result was written";
    }
    if (fault.empty()) passed++;
    else {
      if (failed++ < 20) printf("FAILED %s %s (%lld x %lld, %lld nonzeros) %s K %zu ld %zu%s: %s\n", types, A.name.c_str(), (long long)A.m, (long long)A.n, (long long)A.nnz(), opnames[op], y.K, y.ld, addendnames[addend], fault.c_str());
    }
  }

  const char               *types;
  const Csr<Scalar, Index> &A;
  const Csrc<Scalar, Index> form;
  Random                   &random;
  std::vector<bool>         rowused, columnused;
};

template <class Scalar, class Index>
class Suite {
public:
  Suite(const char *types_, bool large_) : types(types_), large(large_) { }

  void run()
  {
    shapes();
    runs();
    heavy();
    ieee();
    manypanels();
  }

private:
  using Matrix = Csr<Scalar, Index>;

  /* each nonzero of an m x n matrix there with probability density */
  Matrix scattered(Index m, Index n, double density)
  {
    Matrix A("scattered", m, n);

    for (Index row = 0; row < m; row++) {
      for (Index column = 0; column < n; column++) {
        if (random.unit() < density) A.rows[row].push_back(column);
      }
    }
    A.finish(random);
    return A;
  }

  Checker<Scalar, Index> check(const Matrix &A) { return Checker<Scalar, Index>(types, A, random); }

  /* sizes on both sides of every boundary of warps and blocks, sparse and nearly full */
  void shapes()
  {
    for (Index m : {0, 1, 31, 32, 33, 255, 256, 257, 511, 512, 513, 769}) {
      for (Index n : {0, 1, 2, 31, 32, 33, 255, 256, 257, 600}) {
        for (double density : {0.0, 0.01, 0.9}) {
          const Matrix A = scattered(m, n, density * m * n > 20000 ? 20000.0 / (static_cast<double>(m) * n) : density);

          check(A).vectors();
        }
      }
    }
    for (Index m : {0, 1, 33, 256, 257, 600}) {
      for (Index n : {0, 1, 33, 300}) {
        const Matrix A = scattered(m, n, 0.03);

        check(A).panels({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 32});
      }
    }
  }

  /* one row block with exactly this many nonzeros, in runs of exactly this many equal columns: every position of a run in a warp */
  void runs()
  {
    for (Index count : {1, 31, 32, 33, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 1300}) {
      for (Index length : {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 64, 97, 200, 256}) {
        Matrix A("runs of " + std::to_string(length), 256, (count + length - 1) / length + 2);

        for (Index k = 0; k < count; k++) A.rows[k % length].push_back(k / length + 1); /* columns 0 and n-1 stay empty */
        A.finish(random);
        check(A).vectors();
        if (count >= 1023) check(A).panels({2, 4, 8});
      }
    }
  }

  /* full rows and columns at the ends of row blocks, empty ones, only one nonzero, very wide and very tall */
  void heavy()
  {
    for (Index full : {0, 255, 256, 599}) {
      Matrix A("full row " + std::to_string(full), 600, 5000);

      for (Index row = 0; row < A.m; row += 3) A.rows[row].push_back(random.below(A.n));
      for (Index column = 0; column < A.n; column++) A.rows[full].push_back(column);
      A.finish(random);
      check(A).vectors();
      check(A).panels({1, 9});
    }
    for (Index full : {0, 1, 57}) {
      Matrix A("full column " + std::to_string(full), 5000, 58);

      for (Index row = 0; row < A.m; row++) {
        A.rows[row].push_back(full);
        if (row % 7 == 0) A.rows[row].push_back(random.below(A.n));
      }
      A.finish(random);
      check(A).vectors();
      check(A).panels({1, 9});
    }
    for (Index row : {0, 255, 256, 999}) {
      Matrix A("one nonzero", 1000, 400);

      A.rows[row].push_back(row % A.n);
      A.finish(random);
      check(A).vectors();
      check(A).panels({1, 3});
    }
    {
      Matrix A("diagonal", 1025, 1025);

      for (Index row = 0; row < A.m; row++) A.rows[row].push_back(row);
      A.finish(random);
      check(A).vectors();
      check(A).panels({1, 11});
    }
    {
      Matrix A("every other row block empty", 256 * 9 + 3, 77);

      for (Index row = 0; row < A.m; row++) {
        if (row / 256 % 2) A.rows[row].push_back(random.below(A.n));
      }
      A.finish(random);
      check(A).vectors();
      check(A).panels({1, 11});
    }
    for (bool wide : {true, false}) {
      const Index m = wide ? 3 : 100000, n = wide ? 100000 : 3;
      Matrix      A(wide ? "wide" : "tall", m, n);

      for (Index k = 0; k < 60000; k++) A.rows[random.below(m)].push_back(random.below(n));
      A.finish(random);
      check(A).vectors();
      if (large) check(A).panels({1, 7});
    }
    if (large) {
      Matrix A("full row and column", 1000, 1000000);

      for (Index column = 0; column < A.n; column++) A.rows[300].push_back(column);
      for (Index row = 0; row < A.m; row++) A.rows[row].push_back(4711);
      A.finish(random);
      check(A).vectors();
      check(A).panels({3});
    }
  }

  /* infinities and NaN in the matrix and in operands' entries that count */
  void ieee()
  {
    Matrix A = scattered(300, 200, 0.1);

    A.name = "infinities and NaN";
    for (Index k = 0; k < A.nnz(); k += 1 + random.below(800)) A.a[k] = Special<Scalar>(random.bits() % 2);
    check(A).vectors();
    check(A).panels({1, 8, 11});
    for (Index k = 0; k < A.nnz(); k++) A.a[k] = Special<Scalar>(false);
    A.name = "infinities";
    check(A).vectors();
  }

  /* more panels than one grid takes */
  void manypanels()
  {
    const Matrix A = scattered(2, 2, 1);

    if (large) check(A).panels({8 * 65535 + 8 + 7});
  }

  const char *types;
  bool        large;
  Random      random;
};

int main(int argc, char **argv)
{
  const bool     large = !(argc > 1 && !strcmp(argv[1], "-small"));
  cudaDeviceProp properties;

  CheckCUDA(cudaGetDeviceProperties(&properties, 0));
  printf("%s%s\n", properties.name, large ? "" : ", small");
  Suite<double, int>("double, 32-bit indices:", large).run();
  Suite<double, long long>("double, 64-bit indices:", large).run();
  Suite<float, int>("single:", large).run();
  Suite<thrust::complex<double>, int>("complex double:", large).run();
  Suite<thrust::complex<float>, long long>("complex single, 64-bit indices:", large).run();
  printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
