#pragma once

/* Step 4 of setup.cuh: the chunks of each tile, whose nonzeros are put into groups before. */
#include "banks.cuh"
#include "rowblocks.cuh"

/* Appends the places of leftovers to the list, and empties their slots */
static __device__ __forceinline__ void CSRCListLeft(unsigned late, int (&src)[CSRC_PER_LANE], int *list, int *nleft)
{
  const int lane = threadIdx.x & 31, count = __popc(late);
  int       before = count;

#pragma unroll
  for (int o = 1; o < 32; o *= 2) {
    const int t = __shfl_up_sync(0xffffffffu, before, o);

    if (lane >= o) before += t;
  }
  const int all = __shfl_sync(0xffffffffu, before, 31);
  if (all) {
    int at = 0;

    if (lane == 0) at = atomicAdd(nleft, all);
    at = __shfl_sync(0xffffffffu, at, 0) + before - count;
#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) {
      if (!((late >> i) & 1)) continue;
      list[at++] = src[i];
      src[i]     = -1;
    }
  }
}

/* A lane's columns, offsets from the smallest of the chunk; mode: as in the chunk's head, log2(4 / bytes of an offset) */
static __device__ __forceinline__ void CSRCStoreColumns(unsigned char *column, int mode, const int (&offset)[CSRC_PER_LANE])
{
  const int  lane = threadIdx.x & 31;
  const auto four = [&](int i) { return (unsigned)offset[i] | (unsigned)offset[i + 1] << 8 | (unsigned)offset[i + 2] << 16 | (unsigned)offset[i + 3] << 24; };
  const auto pair = [&](int i) { return (unsigned)offset[i] | (unsigned)offset[i + 1] << 16; };

  if (mode == 2) {
    reinterpret_cast<uint2 *>(column)[lane] = make_uint2(four(0), four(4));
  } else if (mode == 1) {
    reinterpret_cast<uint4 *>(column)[lane] = make_uint4(pair(0), pair(2), pair(4), pair(6));
  } else {
    reinterpret_cast<int4 *>(column)[lane]      = make_int4(offset[0], offset[1], offset[2], offset[3]);
    reinterpret_cast<int4 *>(column)[32 + lane] = make_int4(offset[4], offset[5], offset[6], offset[7]);
  }
}

/* A lane's accumulators */
static __device__ __forceinline__ void CSRCStorePlaces(uint4 *slot, const int (&a)[CSRC_PER_LANE])
{
  const auto pair = [&](int i) { return (unsigned)CSRCPlace(a[i]) | (unsigned)CSRCPlace(a[i + 1]) << 16; };

  *slot = make_uint4(pair(0), pair(2), pair(4), pair(6));
}

/*
  Puts the nonzeros of each tile into groups, and writes its chunks: heads, columns, accumulators, values; r.from = place in the CSR of
  each slot (-1: none), if it is given; list = places of leftovers, in any order.

  Thread block: one tile, as many threads as it has in products. Warp: a chunk. Thread: the 8 nonzeros of a lane.
  Dynamic shared memory: an int and a byte an accumulator, and later, in their place, a table of values.
*/
template <class Scalar, class Key, int BANKS, int THREADS>
__global__ void __launch_bounds__(THREADS)
  CSRCChunksKernel(const CSRCBalancedForm<Scalar> f, const CSRCBalancedRefill<Scalar> r, int ntiles, int naccs, const Key *key, const int *place, const uint16_t *acc, const int *unit, const Scalar *value, int *list, CSRCFound *found)
{
  constexpr int                        FIRST = (CSRC_ROUNDS_LANE + CSRC_ROUNDS_WARP + CSRC_PER_LANE) * THREADS;
  extern __shared__ unsigned long long table[];
  const int                            tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, g = blockIdx.x / ntiles;
  const CSRCBlock                      b = f.block[g], next = f.block[g + 1];
  const int                            inblock = blockIdx.x % ntiles * (THREADS / 32) + warp, first = b.entry + inblock * CSRC_CHUNK;
  CSRCGrouping<Key>                    s;

  if (b.chunk + inblock - warp >= next.chunk) return; /* the block has fewer tiles */
  s.owner = reinterpret_cast<int *>(table);
  s.taken = reinterpret_cast<unsigned char *>(s.owner + naccs);
  s.claim = FIRST + tid;
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    const int n = first + (f.order == CSRC_CONSECUTIVE ? lane * CSRC_PER_LANE + i : i * 32 + lane);

    s.k[i] = n < next.entry ? n : -1;
  }
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    s.a[i]   = s.k[i] >= 0 ? place[s.k[i]] : -1;
    s.key[i] = s.k[i] >= 0 ? key[s.k[i]] : (Key)0;
  }
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    if (s.k[i] < 0) continue;
    s.a[i]          = acc[s.a[i]];
    s.owner[s.a[i]] = FIRST + THREADS;
    s.taken[s.a[i]] = 0;
  }
  __syncthreads();
  CSRCTakePlaces<THREADS>(s);
  CSRCChangeInLane<THREADS>(s);
  CSRCChangeInWarp<THREADS>(s);
  if constexpr (BANKS > 0) CSRCAvoidBanks<THREADS, BANKS>(s, key);

  if (f.values == CSRC_VALUES_TABLE) { /* it goes where owner stood */
    __syncthreads();
    for (int t = tid; t < r.ntable; t += THREADS) table[t] = reinterpret_cast<const unsigned long long *>(f.table)[t];
    __syncthreads();
  }
  if (first >= next.entry) return;
  const int    chunk = b.chunk + inblock, end = min(first + CSRC_CHUNK, next.entry);
  const Key    smallest = key[first], range = key[end - 1] - smallest;
  const int    mode    = range < 256 ? 2 : range < 65536 ? 1 : 0;
  const int    padding = b.nrows + (next.copy - b.copy) + tid; /* padding gets the accumulator of the thread that will work on it */
  const size_t slot    = (size_t)chunk * 32 + lane;
  int          offset[CSRC_PER_LANE], src[CSRC_PER_LANE];
  Scalar       values[CSRC_PER_LANE];

#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    src[i] = s.k[i] >= 0 ? place[s.k[i]] : -1;
    /* padding, at the end of a lane, and places of leftovers get the chunk's largest column */
    offset[i] = (int)(s.k[i] >= 0 ? key[s.k[i]] - smallest : range);
  }
  CSRCListLeft(s.late, src, list, &found->nleft);
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    values[i] = src[i] >= 0 ? value[src[i]] : Scalar(0);
    if (src[i] < 0) s.a[i] = padding;
  }
  if (lane == 0) f.head[chunk] = make_int2((int)(smallest - (Key)g * (Key)f.n), (int)((unsigned)unit[chunk] * (CSRC_CHUNK / 16) << 2 | (unsigned)mode));
  CSRCStoreColumns(f.column + (size_t)unit[chunk] * CSRC_CHUNK, mode, offset);
  CSRCStorePlaces(reinterpret_cast<uint4 *>(f.acc) + slot, s.a);
  (void)CSRCStoreLane(f, chunk, lane, values, table, r.ntable);
  if (r.from) {
    reinterpret_cast<int4 *>(r.from)[2 * slot]     = make_int4(src[0], src[1], src[2], src[3]);
    reinterpret_cast<int4 *>(r.from)[2 * slot + 1] = make_int4(src[4], src[5], src[6], src[7]);
  }
}

/*
  Launches CSRCChunksKernel(). banks: as in CSRCBalancedParams, for tiles of 512. ntiles: of the block with the most tiles; for the others
  some thread blocks have no work.
*/
template <class Scalar, class Key>
static cudaError_t CSRCChunks(int banks, int ntiles, int naccs, const CSRCBalancedForm<Scalar> &f, const CSRCBalancedRefill<Scalar> &r, const Key *key, const int *place, const uint16_t *acc, const int *unit, const Scalar *value, int *list,
                              CSRCFound *found, cudaStream_t stream)
{
  const size_t shared = std::max((size_t)naccs * (sizeof(int) + 1), CSRC_TABLE * sizeof(unsigned long long));
  const auto   kernel = f.threads == 256 ? CSRCChunksKernel<Scalar, Key, 0, 256> : banks == 4 ? CSRCChunksKernel<Scalar, Key, 4, 512> : banks == 2 ? CSRCChunksKernel<Scalar, Key, 2, 512> : CSRCChunksKernel<Scalar, Key, 0, 512>;

  CSRCTry(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
  kernel<<<ntiles * f.nblocks, f.threads, shared, stream>>>(f, r, ntiles, naccs, key, place, acc, unit, value, list, found);
  return cudaGetLastError();
}
