#pragma once

/*
  What the programs in this folder share: a repeatable source of random numbers, host matrices in CSR, their CSRC form made in
  the most obvious way, and copies of both on the device. No PETSc.
*/
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>
#include <cuda_runtime.h>
#include <thrust/complex.h>
#include "csrcpaperkernels.cuh"

#define CheckCUDA(call) \
  do { \
    const cudaError_t err_ = (call); \
    if (err_ != cudaSuccess) { \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(err_)); \
      exit(2); \
    } \
  } while (0)

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
  double  unit() { return static_cast<double>(bits() >> 11) * (1.0 / 9007199254740992.0); }        /* [0, 1) */
  int64_t below(int64_t n) { return static_cast<int64_t>(bits() % static_cast<uint64_t>(n)); }     /* 0 .. n-1 */

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

/* An array on the device that holds what a host vector holds, from its first to its last element */
template <class T>
class DeviceArray {
public:
  explicit DeviceArray(const std::vector<T> &host) : bytes(host.size() * sizeof(T))
  {
    CheckCUDA(cudaMalloc(reinterpret_cast<void **>(&pointer), std::max<size_t>(bytes, 1)));
    put(host);
  }
  DeviceArray(const DeviceArray &)            = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;
  ~DeviceArray() { cudaFree(pointer); }

  T   *get() const { return pointer; }
  void put(const std::vector<T> &host) const { CheckCUDA(cudaMemcpy(pointer, host.data(), bytes, cudaMemcpyHostToDevice)); }
  void take(std::vector<T> &host) const { CheckCUDA(cudaMemcpy(host.data(), pointer, bytes, cudaMemcpyDeviceToHost)); }

private:
  T     *pointer = nullptr;
  size_t bytes;
};

/* The paper's CSRC form of a matrix, on the device */
template <class Scalar, class Index>
class Csrc {
public:
  explicit Csrc(const Csr<Scalar, Index> &A) : Csrc(A, Arrays(A)) { }

  CSRCPaperDevice<Scalar, Index> form() const { return {m, n, nblocks, p.get(), r.get(), j.get(), v.get()}; }

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

      for (Index first = 0; first < A.m; first += CSRC_PAPER_THREADS) {
        const Index end = first + std::min<Index>(CSRC_PAPER_THREADS, A.m - first);

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
