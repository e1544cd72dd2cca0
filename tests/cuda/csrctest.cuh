#pragma once

/*
  Shared by the programs of this folder: repeatable random numbers, host matrices in CSR, their CSRC form made in the simplest way,
  and device copies of both. No PETSc.
*/
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>
#include <cuda_runtime.h>
#include <thrust/complex.h>
#include "mat/impls/csrc/csrc/kernels.cuh"

#define CheckCUDA(call) \
  do { \
    const cudaError_t err_ = (call); \
    if (err_ != cudaSuccess) { \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(err_)); \
      exit(2); \
    } \
  } while (0)

/* How much is tested: everything, or less under tools that slow programs down a hundred or a thousand times */
enum Amount {
  TINY,
  SMALL,
  ALL
};

/* xorshift64*: the same numbers everywhere */
class Random {
public:
  explicit Random(uint64_t seed = 1) : state(seed * 0x9e3779b97f4a7c15ull + 1) { }

  uint64_t bits()
  {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1dull;
  }
  double  unit() { return static_cast<double>(bits() >> 11) * (1.0 / 9007199254740992.0); }    /* [0, 1) */
  int64_t below(int64_t n) { return static_cast<int64_t>(bits() % static_cast<uint64_t>(n)); } /* 0 .. n-1 */

  /* a scalar with parts in (-1, 1) */
  template <class Scalar>
  Scalar scalar()
  {
    using Real = CSRCReal<Scalar>;

    const Real re = static_cast<Real>(2 * unit() - 1);
    if constexpr (CSRCParts<Scalar> == 1) return re;
    else return Scalar(re, static_cast<Real>(2 * unit() - 1));
  }

private:
  uint64_t state;
};

/* A host matrix in CSR. Generators fill rows (column numbers, any order, repetitions allowed) and call finish(). */
template <class Scalar, class Index>
struct Csr {
  std::string                     name;
  Index                           m = 0, n = 0;
  std::vector<std::vector<Index>> rows;
  std::vector<Index>              i, j;
  std::vector<Scalar>             a;

  Csr(std::string name_, Index m_, Index n_) : name(std::move(name_)), m(m_), n(n_), rows(m_) { }

  Index nnz() const { return i.back(); }

  void finish(Random &random)
  {
    i.assign(1, 0);
    for (auto &row : rows) {
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
      j.insert(j.end(), row.begin(), row.end());
      i.push_back(static_cast<Index>(j.size()));
    }
    rows.clear();
    rows.shrink_to_fit();
    a.resize(j.size());
    for (auto &value : a) value = random.scalar<Scalar>();
  }
};

/* A device array with the contents of a host vector, and no padding */
template <class T>
class DeviceArray {
public:
  explicit DeviceArray(const std::vector<T> &host) : bytes(host.size() * sizeof(T))
  {
    static const bool kept = KeepFreed();

    (void)kept;
    CheckCUDA(cudaMallocAsync(reinterpret_cast<void **>(&pointer), std::max<size_t>(bytes, 1), nullptr));
    put(host);
  }
  DeviceArray(const DeviceArray &)            = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;
  ~DeviceArray() { cudaFreeAsync(pointer, nullptr); }

  T   *get() const { return pointer; }
  void put(const std::vector<T> &host) const { CheckCUDA(cudaMemcpy(pointer, host.data(), bytes, cudaMemcpyHostToDevice)); }
  void take(std::vector<T> &host) const { CheckCUDA(cudaMemcpy(host.data(), pointer, bytes, cudaMemcpyDeviceToHost)); }

private:
  /* Checks allocate memory thousands of times. Freeing it makes the device wait, even longer if other programs use it: the pool keeps it */
  static bool KeepFreed()
  {
    int           device;
    cudaMemPool_t pool;
    uint64_t      all = UINT64_MAX;

    CheckCUDA(cudaGetDevice(&device));
    CheckCUDA(cudaDeviceGetDefaultMemPool(&pool, device));
    CheckCUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
    return true;
  }

  T     *pointer = nullptr;
  size_t bytes;
};

/* A matrix in the layout csrc, on the device */
template <class Scalar, class Index>
class Csrc {
public:
  explicit Csrc(const Csr<Scalar, Index> &A) : Csrc(A, Arrays(A)) { }

  CSRC256Device<Scalar, Index> form() const { return {m, n, nblocks, p.get(), r.get(), j.get(), v.get()}; }

private:
  struct Arrays {
    std::vector<Index>         p, j;
    std::vector<unsigned char> r;
    std::vector<Scalar>        v;

    explicit Arrays(const Csr<Scalar, Index> &A) : p(1, 0)
    {
      struct Entry {
        Index j, row, k;
      };
      std::vector<Entry> block;

      for (Index first = 0; first < A.m; first += CSRC256_THREADS) {
        const Index end = first + std::min<Index>(CSRC256_THREADS, A.m - first);

        block.clear();
        for (Index row = first; row < end; row++)
          for (Index k = A.i[row]; k < A.i[row + 1]; k++) block.push_back({A.j[k], row, k});
        std::sort(block.begin(), block.end(), [](const Entry &a, const Entry &b) { return a.j != b.j ? a.j < b.j : a.row < b.row; });
        for (const Entry &e : block) {
          r.push_back(static_cast<unsigned char>(e.row - first));
          j.push_back(e.j);
          v.push_back(A.a[e.k]);
        }
        p.push_back(static_cast<Index>(j.size()));
        if (end == A.m) break; /* first + 256 may not be representable */
      }
    }
  };

  Csrc(const Csr<Scalar, Index> &A, const Arrays &arrays) : m(A.m), n(A.n), nblocks(static_cast<Index>(arrays.p.size()) - 1), p(arrays.p), j(arrays.j), r(arrays.r), v(arrays.v) { }

  Index                      m, n, nblocks;
  DeviceArray<Index>         p, j;
  DeviceArray<unsigned char> r;
  DeviceArray<Scalar>        v;
};

static int passed = 0, failed = 0;

static const int guard = 17; /* number of elements before and behind an operand */

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
static long double Size(const Scalar &s)
{
  if constexpr (CSRCParts<Scalar> == 1) return std::fabs(s);
  else return std::hypot(Part(s, 0), Part(s, 1));
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

/* The expected value of an entry of the result, and data for the error allowed */
struct Expected {
  long double part[2] = {0, 0};
  long double size    = 0;
  long        terms   = 0;
};

template <class Scalar>
static bool Agrees(const Scalar &found, const Expected &e)
{
  const long double eps    = std::numeric_limits<CSRCReal<Scalar>>::epsilon();
  long double       off2   = 0;
  bool              finite = true;

  for (int part = 0; part < CSRCParts<Scalar>; part++) {
    const long double f = Part(found, part), want = e.part[part];

    if (std::isfinite(want)) off2 += (f - want) * (f - want);
    else {
      finite = false;
      if (std::isnan(want) ? !std::isnan(f) : f != want) return false;
    }
  }
  /* if a part is infinite, the only condition for the other one is that it is finite where it should be */
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

/*
  Checks one product of a matrix at a time.

  Each entry of y = op(A) x + z must differ from the sum in long double by at most (nonzeros summed + 8) eps (|op(A)| |x| + |z|); where
  that sum is infinite or NaN, the entry must be the same. In addition, in every check
  - outputs are NaN before, and so are all numbers around them: before, behind, and between columns where ld > rows; those around
    must not change;
  - entries of x that meet no nonzero are NaN or Inf, and so are the numbers between columns of X: none may reach y;
  - operands begin at an odd element, and arrays of the form have no padding behind their last element.
*/
template <class Scalar, class Index>
class ProductCheck {
public:
  ProductCheck(const char *types_, const Csr<Scalar, Index> &A_, Random &random_) : types(types_), A(A_), random(random_), rowused(A_.m, false), columnused(A_.n, false), sizes(A_.a.size())
  {
    for (size_t k = 0; k < sizes.size(); k++) sizes[k] = Size(A.a[k]);
    CheckCUDA(cudaStreamCreate(&stream));
    for (Index row = 0; row < A.m; row++) {
      for (Index k = A.i[row]; k < A.i[row + 1]; k++) rowused[row] = columnused[A.j[k]] = true;
    }
  }

  ProductCheck(const ProductCheck &)            = delete;
  ProductCheck &operator=(const ProductCheck &) = delete;
  ~ProductCheck() { cudaStreamDestroy(stream); }

  /*
    Y = op(A) X + Z by apply(x, ldx, z, y, ldy, stream), which returns a cudaError_t. It is called repeat times in a row, and all results
    must be bitwise the same. variant is a word for the report.
  */
  template <class Apply>
  void run(const char variant[], Op op, size_t K, size_t padin, size_t padout, Addend addend, const Apply &apply, int repeat = 1)
  {
    const Problem         &p = problem(op, K, padin, padout);
    const Operand<Scalar> &x = p.x, &z = p.z;
    Operand<Scalar>        y = addend == SAME ? z : Operand<Scalar>(z.rows, z.K, z.ld);

    const DeviceArray<Scalar>       dx(x.all), dz(addend == OTHER ? z.all : std::vector<Scalar>());
    std::deque<DeviceArray<Scalar>> dy;
    std::vector<Scalar>             first;

    for (int turn = 0; turn < repeat; turn++) dy.emplace_back(y.all);
    for (const DeviceArray<Scalar> &result : dy) CheckCUDA(apply(dx.get() + guard, x.ld, addend == NONE ? nullptr : (addend == SAME ? result : dz).get() + guard, result.get() + guard, y.ld, stream));
    CheckCUDA(cudaStreamSynchronize(stream));
    dy[0].take(y.all);
    judge(variant, op, addend, y, p);
    first = y.all;
    for (int turn = 1; turn < repeat; turn++) {
      dy[turn].take(y.all);
      if (std::memcmp(static_cast<const void *>(first.data()), static_cast<const void *>(y.all.data()), first.size() * sizeof(Scalar))) {
        failed++;
        printf("FAILED %s %s%s %s%s: other bits the next time\n", types, variant, A.name.c_str(), opnames[op], addendnames[addend]);
        break;
      }
    }
  }

private:
  /* Operands, and what op(A) X should be. All variants of a product get the same ones, since the sums take longer than all else. */
  struct Problem {
    Operand<Scalar>       x, z;
    std::vector<Expected> expected;
  };

  const Problem &problem(Op op, size_t K, size_t padin, size_t padout)
  {
    const size_t             nin = op == N ? A.n : A.m, nout = op == N ? A.m : A.n;
    const std::vector<bool> &used  = op == N ? columnused : rowused;
    const auto               found = problems.find({op, K, padin, padout});

    if (found != problems.end()) return found->second;
    Problem &p = problems.emplace(Key{op, K, padin, padout}, Problem{Operand<Scalar>(nin, K, nin + padin), Operand<Scalar>(nout, K, nout + padout), std::vector<Expected>(nout * K)}).first->second;

    for (size_t c = 0; c < K; c++) {
      for (size_t i = 0; i < nin; i++) p.x.at(i, c) = used[i] ? random.scalar<Scalar>() : Special<Scalar>(i % 2);
      for (size_t i = 0; i < nout; i++) p.z.at(i, c) = random.scalar<Scalar>();
    }
    expect(op, p.x, p.expected);
    return p;
  }

  void expect(Op op, const Operand<Scalar> &x, std::vector<Expected> &expected) const
  {
    const size_t             nout = op == N ? A.m : A.n;
    std::vector<long double> xsizes(x.rows * x.K);

    for (size_t c = 0; c < x.K; c++) {
      for (size_t i = 0; i < x.rows; i++) xsizes[c * x.rows + i] = Size(x.at(i, c));
    }
    for (Index row = 0; row < A.m; row++) {
      for (Index k = A.i[row]; k < A.i[row + 1]; k++) {
        const size_t      in = op == N ? A.j[k] : row, out = op == N ? row : A.j[k];
        const long double re = Part(A.a[k], 0), im = CSRCParts<Scalar> == 1 ? 0 : (op == H ? -1 : 1) * Part(A.a[k], 1);

        for (size_t c = 0; c < x.K; c++) {
          Expected         &e   = expected[c * nout + out];
          const long double xre = Part(x.at(in, c), 0);

          if constexpr (CSRCParts<Scalar> == 1) e.part[0] += re * xre;
          else {
            const long double xim = Part(x.at(in, c), 1);

            e.part[0] += re * xre - im * xim;
            e.part[1] += re * xim + im * xre;
          }
          e.size += sizes[k] * xsizes[c * x.rows + in];
          e.terms++;
        }
      }
    }
  }

  void judge(const char variant[], Op op, Addend addend, const Operand<Scalar> &y, const Problem &p)
  {
    std::string fault;

    for (size_t at = 0; at < y.all.size() && fault.empty(); at++) {
      const bool   in  = at >= guard && at < y.all.size() - guard;
      const size_t row = in ? (at - guard) % y.ld : 0, c = in ? (at - guard) / y.ld : 0;

      if (in && row < y.rows) {
        Expected e = p.expected[c * y.rows + row];

        if (addend != NONE) {
          for (int part = 0; part < CSRCParts<Scalar>; part++) e.part[part] += Part(p.z.at(row, c), part);
          e.size += Size(p.z.at(row, c));
        }
        if (!Agrees(y.all[at], e)) {
          char text[256];

          snprintf(text, sizeof(text), "entry %zu of column %zu is (%.17Lg, %.17Lg), not (%.17Lg, %.17Lg), %ld terms, size %.3Lg", row, c, Part(y.all[at], 0), CSRCParts<Scalar> == 2 ? Part(y.all[at], 1) : 0.0L, e.part[0], e.part[1], e.terms, e.size);
          fault = text;
        }
      } else if (!Untouched(y.all[at])) fault = "element " + std::to_string(at) + " outside of the result was written";
    }
    if (fault.empty()) passed++;
    else {
      if (failed++ < 20) printf("FAILED %s %s%s (%lld x %lld, %lld nonzeros) %s K %zu ld %zu%s: %s\n", types, variant, A.name.c_str(), (long long)A.m, (long long)A.n, (long long)A.nnz(), opnames[op], y.K, y.ld, addendnames[addend], fault.c_str());
    }
  }

  using Key = std::tuple<Op, size_t, size_t, size_t>; /* the arguments of problem() */

  const char               *types;
  const Csr<Scalar, Index> &A;
  Random                   &random;
  std::map<Key, Problem>    problems;
  std::vector<bool>         rowused, columnused;
  std::vector<long double>  sizes; /* moduli of A's values */
  cudaStream_t              stream;
};
