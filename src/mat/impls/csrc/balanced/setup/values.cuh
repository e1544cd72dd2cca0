#pragma once

/* Storage of values in the balanced layout of CSRC: chooses a way that keeps all bits, stores the values, and replaces them by new ones */
#include "mat/impls/csrc/balanced/balanced.cuh"
#include "cuda/scratch.cuh"
#include <algorithm>
#include <vector>

constexpr int CSRC_TABLE = 256, CSRC_PATTERNS = 4 * CSRC_TABLE;

/* The results of CSRCClassifyKernel(); all zero before it */
struct CSRCValuesFound {
  int                inexact;                 /* 1 if single precision cannot hold every value, or if one is NaN, whose payload may be lost */
  int                distinct;                /* number of distinct bit patterns of 8-byte values, without zero; CSRC_TABLE or more if they are too many */
  unsigned long long patterns[CSRC_PATTERNS]; /* these patterns; other elements are zero */
};

/* Whether single precision holds r exactly */
template <class Real>
static __device__ __forceinline__ bool CSRCFitsSingle(Real r)
{
  return (Real)(float)r == r;
}

static __device__ __forceinline__ unsigned CSRCHash(unsigned long long bits)
{
  static_assert(CSRC_PATTERNS == 1 << 10, "the hash has 10 bits");
  return (unsigned)((bits * 0x9e3779b97f4a7c15ull) >> 54); /* the highest bits: lower ones are zero where the lowest bits of all values are */
}

/*
  Finds whether the values fit single precision or a table.

  Thread: values a grid apart, four at a time. A thread block collects bit patterns in shared memory, by atomics, and
  at the end adds them to those of all thread blocks, by atomics. It stops when it knows that neither is possible, which for most matrices
  is soon.
*/
template <class Scalar>
__global__ void __launch_bounds__(256) CSRCClassifyKernel(int nnz, const Scalar *value, CSRCValuesFound *found)
{
  constexpr bool                TABLE = sizeof(Scalar) == 8;
  constexpr int                 AHEAD = 4;
  __shared__ unsigned long long own[CSRC_PATTERNS];   /* more patterns than a table has may be inserted before all threads know that they must stop */
  __shared__ int                count, inexact, stop; /* read by all threads while some write: written by atomics only */
  const auto                    now = [](const int *shared) { return *(const volatile int *)shared; };

  for (int h = threadIdx.x; h < CSRC_PATTERNS; h += 256) own[h] = 0;
  if (threadIdx.x == 0) {
    count   = TABLE ? 0 : CSRC_TABLE;
    inexact = stop = 0;
  }
  __syncthreads();
  const long long step  = (long long)gridDim.x * 256;
  bool            exact = true;
  for (long long k0 = (long long)blockIdx.x * 256 + threadIdx.x; k0 < nnz && !now(&stop); k0 += AHEAD * step) {
    Scalar values[AHEAD];

#pragma unroll
    for (int e = 0; e < AHEAD; e++) values[e] = k0 + e * step < nnz ? value[k0 + e * step] : Scalar(0);
#pragma unroll
    for (int e = 0; e < AHEAD; e++) {
      if (exact) {
#pragma unroll
        for (int p = 0; p < CSRCParts<Scalar>; p++) {
          if (!CSRCFitsSingle(CSRCGetPart(values[e], p))) exact = false;
        }
        if (!exact) atomicExch(&inexact, 1);
      }
      if (now(&count) >= CSRC_TABLE) {
        if (now(&inexact)) atomicExch(&stop, 1);
        continue;
      }
      if constexpr (TABLE) {
        const unsigned long long bits = *reinterpret_cast<const unsigned long long *>(values + e);

        for (unsigned h = CSRCHash(bits); bits; h = (h + 1) % CSRC_PATTERNS) {
          unsigned long long old = ((volatile unsigned long long *)own)[h];

          if (!old) {
            old = atomicCAS(own + h, 0ull, bits);
            if (!old) atomicAdd(&count, 1);
          }
          if (!old || old == bits) break;
        }
      }
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    if (inexact) found->inexact = 1;
    if (count >= CSRC_TABLE) atomicAdd(&found->distinct, CSRC_TABLE);
  }
  if (count >= CSRC_TABLE) return;
  for (int s = threadIdx.x; s < CSRC_PATTERNS; s += 256) {
    const unsigned long long bits = own[s];
    bool                     done = !bits;

    for (unsigned h = CSRCHash(bits), tries = 0; tries < 64 && !done; h = (h + 1) % CSRC_PATTERNS, tries++) {
      unsigned long long old = ((volatile unsigned long long *)found->patterns)[h]; /* mostly another thread block has added it before */

      if (!old) {
        old = atomicCAS(found->patterns + h, 0ull, bits);
        if (!old) atomicAdd(&found->distinct, 1);
      }
      done = !old || old == bits;
    }
    if (!done) atomicAdd(&found->distinct, CSRC_TABLE); /* so many collisions occur only if there are too many patterns */
  }
}

/* Whether values of this type can be stored in fewer bytes */
template <class Scalar>
inline constexpr bool CSRCCompressible = sizeof(CSRCReal<Scalar>) == 8;

template <class Scalar>
static cudaError_t CSRCClassify(int nnz, const Scalar *value, int sms, cudaStream_t stream, CSRCValuesFound *found)
{
  CSRCClassifyKernel<<<std::min(nnz / CSRC_CLASSIFY_EACH + 1, 8 * sms), 256, 0, stream>>>(nnz, value, found);
  return cudaGetLastError();
}

/*
  How to store the values, from the results of CSRCClassifyKernel(). table: all bit patterns of the values, and that of zero for padding,
  sorted
*/
template <class Scalar>
static CSRCValues CSRCChooseValues(const CSRCValuesFound &found, std::vector<unsigned long long> *table)
{
  table->clear();
  if (sizeof(Scalar) == 8 && found.distinct < CSRC_TABLE) {
    table->push_back(0);
    std::copy_if(found.patterns, found.patterns + CSRC_PATTERNS, std::back_inserter(*table), [](unsigned long long bits) { return bits != 0; });
    std::sort(table->begin(), table->end());
    return CSRC_VALUES_TABLE;
  }
  return found.inexact ? CSRC_VALUES_FULL : CSRC_VALUES_SINGLE;
}

/* The number of bits of an index into the table */
static inline int CSRCIndexBits(const std::vector<unsigned long long> &table)
{
  int bits = 1;

  while (table.size() > 1ull << bits) bits *= 2;
  return bits;
}

/*
  Stores the values of a lane's slots in the way chosen for the matrix; returns false if they cannot be stored in that way. table: the
  sorted bit patterns of the matrix's table, in shared memory.
*/
template <class Scalar>
__device__ __forceinline__ bool CSRCStoreLane(const CSRCBalancedMatrix<Scalar> &A, int chunk, int lane, const Scalar (&value)[CSRC_PER_LANE], const unsigned long long *table, int ntable)
{
  using Real         = CSRCReal<Scalar>;
  constexpr int P    = CSRCParts<Scalar>;
  bool          fits = true;

  if (A.values == CSRC_VALUES_TABLE) {
    unsigned long long word = 0;

    if constexpr (sizeof(Scalar) == 8 && P == 1) {
#pragma unroll
      for (int i = 0; i < CSRC_PER_LANE; i++) {
        const unsigned long long want = (unsigned long long)__double_as_longlong((double)value[i]);
        int                      lo = 0, hi = ntable;

        while (hi - lo > 1) {
          const int mid = (lo + hi) / 2;

          if (table[mid] <= want) lo = mid;
          else hi = mid;
        }
        fits = fits && table[lo] == want;
        word |= (unsigned long long)lo << (i * A.valuebits);
      }
    }
    const size_t slot = (size_t)chunk * 32 + lane;
    if (A.valuebits == 8) reinterpret_cast<unsigned long long *>(A.v)[slot] = word;
    else if (A.valuebits == 4) reinterpret_cast<unsigned *>(A.v)[slot] = (unsigned)word;
    else if (A.valuebits == 2) reinterpret_cast<uint16_t *>(A.v)[slot] = (uint16_t)word;
    else A.v[slot] = (unsigned char)word;
  } else if (A.values == CSRC_VALUES_SINGLE || sizeof(Real) == 4) {
    float4 *v = reinterpret_cast<float4 *>(A.v) + (size_t)chunk * (CSRC_CHUNK * P / 4);

#pragma unroll
    for (int q = 0; q < CSRC_PER_LANE * P / 4; q++) { /* four reals of the lane at a time */
      float part[4];

#pragma unroll
      for (int e = 0; e < 4; e++) {
        const Real r = CSRCGetPart(value[(4 * q + e) / P], (4 * q + e) % P);

        part[e] = (float)r;
        fits    = fits && CSRCFitsSingle(r);
      }
      v[q * 32 + lane] = make_float4(part[0], part[1], part[2], part[3]);
    }
    if (A.values == CSRC_VALUES_FULL) fits = true; /* also for NaN */
  } else {
    double2 *v = reinterpret_cast<double2 *>(A.v) + (size_t)chunk * (CSRC_CHUNK * P / 2);

#pragma unroll
    for (int q = 0; q < CSRC_PER_LANE * P / 2; q++) v[q * 32 + lane] = make_double2((double)CSRCGetPart(value[2 * q / P], 2 * q % P), (double)CSRCGetPart(value[(2 * q + 1) / P], (2 * q + 1) % P));
  }
  return fits;
}

/*
  Stores new values in place of the old ones; misfit = 1 if one of them cannot be stored in the same way. Warp: one chunk. Lane: its 8
  slots, whose 8 values are gathered at once. Bytes per nonzero: reads 4 for the place and a value, writes the value as stored.
*/
template <class Scalar>
__global__ void __launch_bounds__(256) CSRCRefillKernel(const CSRCBalancedMatrix<Scalar> A, const CSRCBalancedRefill<Scalar> r, const Scalar *value)
{
  __shared__ unsigned long long table[CSRC_TABLE];
  const int                     chunk = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x & 31;

  if (A.values == CSRC_VALUES_TABLE) {
    if ((int)threadIdx.x < r.ntable) table[threadIdx.x] = reinterpret_cast<const unsigned long long *>(A.table)[threadIdx.x];
    __syncthreads();
  }
  if (chunk >= A.nchunks) return;
  const int4 *from = reinterpret_cast<const int4 *>(r.from + (size_t)chunk * CSRC_CHUNK + lane * CSRC_PER_LANE);
  const int4  a = __ldcs(from), b = __ldcs(from + 1); /* read once; the cache is left to the values, of which a sector has several */
  const int   src[CSRC_PER_LANE] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
  Scalar      values[CSRC_PER_LANE];

#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) values[i] = src[i] >= 0 ? value[src[i]] : Scalar(0);
  if (!CSRCStoreLane(A, chunk, lane, values, table, r.ntable)) *r.misfit = 1;
}

/* New values of the overflow. Thread: one nonzero. */
template <class Scalar>
__global__ void CSRCRefillOverflowKernel(int noverflow, const int *list, const Scalar *value, Scalar *overflowvalue)
{
  const int k = blockIdx.x * blockDim.x + threadIdx.x;

  if (k < noverflow) overflowvalue[k] = value[list[k]];
}

/* Stores new values in place of the old ones; fits = false if one of them cannot be stored in the same way */
template <class Scalar>
static cudaError_t CSRCRefill(const CSRCBalancedMatrix<Scalar> &A, const CSRCBalancedRefill<Scalar> &r, const Scalar *value, cudaStream_t stream, bool *fits)
{
  const bool always = A.values == CSRC_VALUES_FULL;
  int        misfit = 0;

  if (!always) CSRCTry(cudaMemsetAsync(r.misfit, 0, sizeof(int), stream));
  CSRCRefillKernel<<<(A.nchunks + 7) / 8, 256, 0, stream>>>(A, r, value);
  CSRCTry(cudaGetLastError());
  if (A.noverflow) {
    CSRCRefillOverflowKernel<<<(A.noverflow + 255) / 256, 256, 0, stream>>>(A.noverflow, r.overflowfrom, value, A.overflowvalue);
    CSRCTry(cudaGetLastError());
  }
  if (!always) CSRCTry(cudaMemcpyAsync(&misfit, r.misfit, sizeof(int), cudaMemcpyDeviceToHost, stream));
  CSRCTry(cudaStreamSynchronize(stream)); /* in any case: the next product may begin to read values before it waits for kernels before it (launch.cuh) */
  *fits = !misfit;
  return cudaSuccess;
}

/*
  Sets new values, which are on the device in the order of the CSR. They are stored in the same way as the old ones; if one is not in the
  table, a new table is tried, if indices have as many bits as it needs. fits = false if that is not possible either: then the values are
  undefined, and the matrix must be made again.
*/
template <class Scalar>
static cudaError_t CSRCBalancedSetValues(CSRCBalancedMatrix<Scalar> *A, CSRCBalancedRefill<Scalar> *r, const Scalar *value, cudaStream_t stream, bool *fits)
{
  CSRCTry(CSRCRefill(*A, *r, value, stream, fits));
  if (*fits || A->values != CSRC_VALUES_TABLE) return cudaSuccess;

  CSRCScratch                     scratch(stream);
  CSRCValuesFound                *found;
  std::vector<CSRCValuesFound>    host(1);
  std::vector<unsigned long long> table;
  int                             device, sms;

  CSRCTry(cudaGetDevice(&device));
  CSRCTry(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  CSRCTry(scratch.get(&found, 1));
  CSRCTry(cudaMemsetAsync(found, 0, sizeof(*found), stream));
  CSRCTry(CSRCClassify(A->nnz, value, sms, stream, found));
  CSRCTry(cudaMemcpyAsync(host.data(), found, sizeof(*found), cudaMemcpyDeviceToHost, stream));
  CSRCTry(cudaStreamSynchronize(stream));
  if (CSRCChooseValues<Scalar>(host[0], &table) != CSRC_VALUES_TABLE || CSRCIndexBits(table) > A->valuebits) return cudaSuccess;
  r->ntable = (int)table.size();
  CSRCTry(cudaMemcpyAsync(A->table, table.data(), table.size() * sizeof(table[0]), cudaMemcpyHostToDevice, stream));
  return CSRCRefill(*A, *r, value, stream, fits);
}
