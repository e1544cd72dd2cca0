#pragma once

/*
  Makes the CSR of A^T from that of A, on the device: a stable sort by column (CUB) of the positions of the nonzeros, then a gather of
  rows and values from these positions. Nothing here needs PETSc.
*/
#include "cuda/scratch.cuh"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

template <class Scalar, class Index>
struct CSRCTransposed {
  std::vector<Index> hoststart;
  Index             *start  = nullptr; /* n + 1 */
  Index             *column = nullptr; /* nnz: rows of A, ascending in each column of A */
  Scalar            *value  = nullptr; /* nnz; nullptr if only the pattern was asked for */
  int               *place  = nullptr; /* nnz: position of each nonzero in the CSR of A */
};

/* start[c] = first k with key[k] >= c; keys ascend. Thread: one c, which it looks for by bisection: a gap between keys takes no longer. */
template <class Index>
static __global__ void CSRCColumnStartsKernel(int n, int nkeys, const int *key, Index *start)
{
  const int c  = blockIdx.x * blockDim.x + threadIdx.x;
  int       lo = 0, hi = nkeys;

  if (c > n) return;
  while (lo < hi) {
    const int mid = lo + (hi - lo) / 2;

    if (key[mid] < c) lo = mid + 1;
    else hi = mid;
  }
  start[c] = (Index)lo;
}

/* key[k] = column[k], place[k] = k. Thread: one nonzero. */
template <class Index>
static __global__ void CSRCColumnKeysKernel(int nnz, const Index *column, int *key, int *place)
{
  const int k = blockIdx.x * blockDim.x + threadIdx.x;

  if (k >= nnz) return;
  key[k]   = (int)column[k];
  place[k] = k;
}

/* row[k] = i where row i begins with nonzero k. Thread: one row. */
template <class Index>
static __global__ void CSRCRowStartsKernel(int m, const Index *start, int *row)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;

  if (i < m && start[i] < start[i + 1]) row[start[i]] = i;
}

struct CSRCLarger {
  __host__ __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};

/* Gathers the row and, if tvalue is given, the value of each nonzero of A^T from its place in the CSR of A. Thread: one nonzero of A^T. */
template <class Scalar, class Index>
static __global__ void CSRCGatherTransposeKernel(int nnz, const int *place, const int *row, const Scalar *value, Index *tcolumn, Scalar *tvalue)
{
  const int k = blockIdx.x * blockDim.x + threadIdx.x;

  if (k >= nnz) return;
  tcolumn[k] = (Index)row[place[k]];
  if (tvalue) tvalue[k] = value[place[k]];
}

/* from[k] = place[from[k]], unless from[k] is -1 (padding). Thread: one k. */
static __global__ void CSRCComposeKernel(size_t count, const int *place, int *from)
{
  const size_t k = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

  if (k < count && from[k] >= 0) from[k] = place[from[k]];
}

/*
  Input Parameters:
+ m, n, nnz     - sizes of A; nnz > 0 and all below 2^31
. start, column - CSR of A on the device
. value         - its values, on the device; nullptr: only the pattern
- kept          - allocates the memory of A^T; the function waits for its stream

  Output Parameter:
. t - the CSR of A^T
*/
template <class Scalar, class Index>
static cudaError_t CSRCTransposeCSR(int m, int n, int nnz, const Index *start, const Index *column, const Scalar *value, CSRCScratch &kept, CSRCTransposed<Scalar, Index> *t)
{
  const cudaStream_t     stream = kept.stream;
  CSRCScratch            scratch(stream, kept.pool);
  CSRCArrays             arrays, tarrays;
  int                   *key, *key2, *place2, *row = nullptr;
  char                  *temp, *memory;
  size_t                 sortbytes = 0, scanbytes = 0;
  const int              grid = (nnz + 255) / 256, bits = CSRCBits(n);
  cub::DoubleBuffer<int> keys, places;

  CSRCTry(cub::DeviceRadixSort::SortPairs(nullptr, sortbytes, keys, places, nnz, 0, bits, stream));
  CSRCTry(cub::DeviceScan::InclusiveScan(nullptr, scanbytes, row, row, CSRCLarger(), nnz, stream));
  tarrays.add(&t->start, (size_t)n + 1);
  tarrays.add(&t->column, nnz);
  if (value) tarrays.add(&t->value, nnz);
  tarrays.add(&t->place, nnz);
  CSRCTry(tarrays.get(kept, &memory));
  arrays.add(&key, nnz);
  arrays.add(&key2, nnz);
  arrays.add(&place2, nnz);
  arrays.add(&temp, std::max(sortbytes, scanbytes));
  CSRCTry(arrays.get(scratch, &memory));

  CSRCColumnKeysKernel<<<grid, 256, 0, stream>>>(nnz, column, key, t->place);
  CSRCTry(cudaGetLastError());
  keys   = cub::DoubleBuffer<int>(key, key2);
  places = cub::DoubleBuffer<int>(t->place, place2);
  CSRCTry(cub::DeviceRadixSort::SortPairs(temp, sortbytes, keys, places, nnz, 0, bits, stream));
  CSRCColumnStartsKernel<<<n / 256 + 1, 256, 0, stream>>>(n, nnz, keys.Current(), t->start);
  CSRCTry(cudaGetLastError());
  if (places.Current() != t->place) CSRCTry(cudaMemcpyAsync(t->place, places.Current(), (size_t)nnz * sizeof(int), cudaMemcpyDeviceToDevice, stream));
  row = keys.Current(); /* reused: the sort is done */
  CSRCTry(cudaMemsetAsync(row, 0, (size_t)nnz * sizeof(int), stream));
  CSRCRowStartsKernel<<<(m + 255) / 256, 256, 0, stream>>>(m, start, row);
  CSRCTry(cudaGetLastError());
  CSRCTry(cub::DeviceScan::InclusiveScan(temp, scanbytes, row, row, CSRCLarger(), nnz, stream));
  CSRCGatherTransposeKernel<<<grid, 256, 0, stream>>>(nnz, t->place, row, value, t->column, t->value);
  CSRCTry(cudaGetLastError());
  t->hoststart.resize((size_t)n + 1);
  CSRCTry(cudaMemcpyAsync(t->hoststart.data(), t->start, ((size_t)n + 1) * sizeof(Index), cudaMemcpyDeviceToHost, stream));
  return cudaStreamSynchronize(stream);
}
