#pragma once

/* Device memory for set-ups: scratch of a function, or memory for its results. Nothing here needs PETSc. */
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#define CSRCTry(...) \
  do { \
    const cudaError_t csrc_try_ = __VA_ARGS__; \
    if (csrc_try_ != cudaSuccess) return csrc_try_; \
  } while (0)

/* The number of bits that hold the numbers 0 .. count - 1: those that a sort has to compare */
static inline int CSRCBits(unsigned long long count)
{
  int bits = 1;

  while (bits < 64 && count > 1ull << bits) bits++;
  return bits;
}

/*
  Device memory, from a pool if one is given, otherwise from cudaMalloc(). What is not kept is freed when the object goes out of scope. The
  device's default pool is not used: on an H200 its first use in a process takes 10 ms, and it saves a quarter of a millisecond a set-up.
*/
struct CSRCScratch {
  cudaStream_t        stream;
  cudaMemPool_t       pool;
  std::vector<void *> all;

  explicit CSRCScratch(cudaStream_t s, cudaMemPool_t p = nullptr) : stream(s), pool(p) { }
  ~CSRCScratch() { clear(); }
  void clear()
  {
    for (void *p : all) (void)free(p);
    all.clear();
  }
  template <class T>
  cudaError_t get(T **p, size_t n)
  {
    *p = nullptr;
    if (!n) n = 1;
    const cudaError_t err = pool ? cudaMallocFromPoolAsync((void **)p, n * sizeof(T), pool, stream) : cudaMalloc((void **)p, n * sizeof(T));
    if (err == cudaSuccess) all.push_back(*p);
    return err;
  }
  template <class T>
  void release(T **p)
  {
    if (!*p) return;
    all.erase(std::find(all.begin(), all.end(), (void *)*p));
    (void)free(*p);
    *p = nullptr;
  }

private:
  cudaError_t free(void *p) { return pool ? cudaFreeAsync(p, stream) : cudaFree(p); }
};

/* Several arrays in one allocation: add() them all, then get() */
struct CSRCArrays {
  std::vector<std::pair<void **, size_t>> all; /* pointers to set, and offsets of their arrays */
  size_t                                  bytes = 0;

  template <class T>
  void add(T **p, size_t n)
  {
    all.emplace_back((void **)p, bytes);
    bytes += (n * sizeof(T) + 255) / 256 * 256;
  }
  cudaError_t get(CSRCScratch &from, char **memory)
  {
    CSRCTry(from.get(memory, bytes));
    for (const auto &a : all) *a.first = *memory + a.second;
    return cudaSuccess;
  }
};
