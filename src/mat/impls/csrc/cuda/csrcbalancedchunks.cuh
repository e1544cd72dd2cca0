#pragma once

/* Steps 4 and 5 of csrcbalancedmake.cuh: chunks are written, leftovers listed. */
#include "csrcbalancedblocks.cuh"
#include "csrcbalancedvalues.cuh"

/* size[c] = bytes of the columns of chunk c. Thread: one chunk. */
template <class Key>
__global__ void CSRCColumnSizesKernel(const CSRCBlock *block, int nblocks, int nchunks, int bits, const Key *key, unsigned long long *size)
{
  const int c = blockIdx.x * blockDim.x + threadIdx.x;

  if (c > nchunks) return;
  if (c == nchunks) {
    size[c] = 0;
    return;
  }
  const int g     = CSRCBlockOfChunk(block, nblocks, c);
  const int first = block[g].entry + (c - block[g].chunk) * CSRC_CHUNK, last = min(first + CSRC_CHUNK, block[g + 1].entry) - 1;
  const Key mask  = ((Key)1 << bits) - 1;
  const Key range = (key[last] & mask) - (key[first] & mask);

  size[c] = range < 256 ? 256 : range < 65536 ? 512 : 1024;
}

/*
  Heads, columns, accumulators and values of the chunks; from[slot] = place in the CSR (-1: none), if from is given. slot is
  what CSRCGroupsKernel() made. Warp: one chunk.
*/
template <class Scalar, class Key>
__global__ void CSRCEncodeKernel(CSRCBalancedForm<Scalar> f, int bits, const Key *key, const int *place, const uint16_t *acc, const int *slot, const unsigned long long *at, const Scalar *value, const unsigned long long *tablebits, int ntable, int *from)
{
  const int chunk = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;

  if (chunk >= f.nchunks) return;
  const int       g = CSRCBlockOfChunk(f.block, f.nblocks, chunk);
  const CSRCBlock b = f.block[g], next = f.block[g + 1];
  const int       first = b.entry + (chunk - b.chunk) * CSRC_CHUNK;
  const Key       mask  = ((Key)1 << bits) - 1;
  const int       base  = (int)(key[first] & mask), size = (int)(at[chunk + 1] - at[chunk]), mode = size == 256 ? 2 : size == 512 ? 1 : 0;
  unsigned char  *column = f.column + at[chunk];
  /* what is no nonzero goes to an accumulator of the thread that will work on it */
  const int padding = b.nrows + (next.copy - b.copy) + (chunk - b.chunk) % (f.threads / 32) * 32;

  if (lane == 0) f.head[chunk] = make_int2(base, (int)((unsigned)(at[chunk] / 16) << 2 | (unsigned)mode));
#pragma unroll
  for (int e = 0; e < CSRC_PER_LANE; e++) {
    const int s = e * 32 + lane, l = s / CSRC_PER_LANE, i = s % CSRC_PER_LANE, k = slot[(size_t)chunk * CSRC_CHUNK + s];
    const int src = k >= 0 ? place[k] : -1, offset = k >= 0 ? (int)(key[k] & mask) - base : 0;

    if (mode == 2) column[s] = (unsigned char)offset;
    else if (mode == 1) reinterpret_cast<uint16_t *>(column)[s] = (uint16_t)offset;
    else reinterpret_cast<int *>(column)[(i / 4) * 128 + l * 4 + i % 4] = offset;
    f.acc[(size_t)chunk * CSRC_CHUNK + s] = (uint16_t)(k >= 0 ? acc[src] : padding + l);
    CSRCStoreValue(f, chunk, s, k >= 0 ? value[src] : Scalar(0), tablebits, ntable);
    if (from) from[(size_t)chunk * CSRC_CHUNK + s] = src;
  }
}

/* key = place in the CSR of the leftovers, in any order. Thread: one sorted nonzero. */
static __global__ void CSRCLeftKernel(int nnz, const unsigned char *left, const int *place, int *count, int *list)
{
  const int k = blockIdx.x * blockDim.x + threadIdx.x;

  if (k < nnz && left[k]) list[atomicAdd(count, 1)] = place[k];
}

/* The leftovers in the order of the CSR, which is that of blocks and rows. Thread: one leftover; leftfrom[k] = its place. */
template <class Scalar, class Index>
__global__ void CSRCLeftEncodeKernel(CSRCBalancedForm<Scalar> f, const int *list, const Index *start, const Index *column, const Scalar *value)
{
  const int k = blockIdx.x * blockDim.x + threadIdx.x;

  if (k >= f.nleft) return;
  const int src = list[k], g = CSRCFindBlock(f.block, f.nblocks, src);
  int       lo = f.block[g].row, hi = lo + f.block[g].nrows;

  while (hi - lo > 1) {
    const int mid = (lo + hi) / 2;

    if ((int)start[mid] <= src) lo = mid;
    else hi = mid;
  }
  f.leftrow[k]    = (uint16_t)(lo - f.block[g].row);
  f.leftcolumn[k] = (int)column[src];
  f.leftvalue[k]  = value[src];
}

/* leftstart[g] = leftovers of blocks before g. Thread: one g. */
static __global__ void CSRCLeftStartKernel(const CSRCBlock *block, int nblocks, int nleft, const int *list, int *leftstart)
{
  const int g = blockIdx.x * blockDim.x + threadIdx.x;

  if (g > nblocks) return;
  int lo = 0, hi = nleft; /* first leftover at or behind the block's first nonzero */
  while (lo < hi) {
    const int mid = (lo + hi) / 2;

    if (list[mid] < block[g].entry) lo = mid + 1;
    else hi = mid;
  }
  leftstart[g] = lo;
}
