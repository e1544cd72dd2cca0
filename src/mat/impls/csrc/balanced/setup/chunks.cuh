#pragma once

/* chunks() in setup.cuh: assigns the nonzeros of each tile to conflict-free steps and writes the chunks */
#include "bankconflicts.cuh"
#include "rowblocks.cuh"
#include "mat/impls/csrc/balanced/kernels/chunk.cuh"
#include "mat/impls/csrc/balanced/kernels/shared.cuh"

/* Appends the overflow, as places in the CSR, to the list, whose length is atomic, and empties the slots */
static __device__ __forceinline__ void CSRCListOverflow(unsigned late, int (&src)[CSRC_PER_LANE], int *list, int *noverflow)
{
  const int lane = threadIdx.x & 31, count = __popc(late), before = CSRCScanLanes(count, lane), all = __shfl_sync(0xffffffffu, before, 31);
  if (all) {
    int at = 0;

    if (lane == 0) at = atomicAdd(noverflow, all);
    at = __shfl_sync(0xffffffffu, at, 0) + before - count;
#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) {
      if (!((late >> i) & 1)) continue;
      list[at++] = src[i];
      src[i]     = -1;
    }
  }
}

/*
  Stores a lane's columns, as offsets from the smallest column of the chunk. lanebase: the smallest offset that is possible in this lane,
  used if columns are stored with accumulators.
*/
static __device__ __forceinline__ void CSRCStoreColumns(unsigned char *column, CSRCColumnMode mode, const int (&offset)[CSRC_PER_LANE], int lanebase)
{
  const int  lane = threadIdx.x & 31;
  const auto low  = [&](int i) { return (unsigned)offset[i] & 0xff; };
  const auto four = [&](int i) { return low(i) | low(i + 1) << 8 | low(i + 2) << 16 | low(i + 3) << 24; };
  const auto pair = [&](int i) { return (unsigned)offset[i] | (unsigned)offset[i + 1] << 16; };

  if (mode == CSRC_BASES) {
    column[lane] = (unsigned char)lanebase;
  } else if (mode >= CSRC_OFFSETS_8) {
    const int more = CSRCMoreBits(mode);
    unsigned  bits = 0;

#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) bits |= ((unsigned)offset[i] >> 8 & ((1u << more) - 1)) << i * more;
    reinterpret_cast<uint2 *>(column)[lane] = make_uint2(four(0), four(4));
    for (int k = 0; k < more; k++) column[CSRC_CHUNK + lane * more + k] = (unsigned char)(bits >> 8 * k);
  } else if (mode == CSRC_OFFSETS_16) {
    reinterpret_cast<uint4 *>(column)[lane] = make_uint4(pair(0), pair(2), pair(4), pair(6));
  } else {
    reinterpret_cast<int4 *>(column)[lane]      = make_int4(offset[0], offset[1], offset[2], offset[3]);
    reinterpret_cast<int4 *>(column)[32 + lane] = make_int4(offset[4], offset[5], offset[6], offset[7]);
  }
}

/* Stores a lane's accumulators as swizzled indices, with their highest bits set as given */
static __device__ __forceinline__ void CSRCStoreAccumulators(uint4 *slot, const int (&a)[CSRC_PER_LANE], const unsigned (&high)[CSRC_PER_LANE])
{
  const auto pair = [&](int i) { return (unsigned)CSRCSwizzle(a[i]) | high[i] | ((unsigned)CSRCSwizzle(a[i + 1]) | high[i + 1]) << 16; };

  *slot = make_uint4(pair(0), pair(2), pair(4), pair(6));
}

/* The nonzeros sorted by row block and column */
template <class Scalar, class Key>
struct CSRCSorted {
  const Key      *key;   /* row block and column */
  const int      *place; /* place in the CSR */
  const uint16_t *acc;   /* accumulator, by place */
  const Scalar   *value; /* by place */
  CSRCColumnRule  rule;
  unsigned char  *span;     /* by chunk: span of its columns, see CSRC_SPAN_8 */
  const int      *unit;     /* by chunk: position of its columns, in units of CSRC_UNIT bytes */
  int            *overflow; /* the places of those that go to no chunk, in any order: found->noverflow of them */
};

/* Marks a chunk as crowded, which is counted once. Called by one lane of the chunk's warp. */
static __device__ __forceinline__ void CSRCMarkCrowded(unsigned char *span, int chunks[CSRC_SPANS])
{
  if (*span >= CSRC_CROWDED) return;
  atomicSub(chunks + *span, 1);
  *span += CSRC_CROWDED;
  atomicAdd(chunks + *span, 1);
}

/* Claims on naccs accumulators: see CSRCAssignment */
struct CSRCClaimsShared {
  int           *owner;
  unsigned char *taken, *end;

  __host__ __device__ __forceinline__ CSRCClaimsShared(unsigned char *memory, int naccs) : owner(reinterpret_cast<int *>(memory)), taken(reinterpret_cast<unsigned char *>(owner + naccs)), end(taken + naccs) { }
};

/*
  Assigns the nonzeros of each tile to conflict-free steps, and writes its chunks: heads, columns, accumulators, values. If r.from is given,
  r.from = place in the CSR of each slot (-1: none). Lists the overflow.

  Thread block: one tile, with as many threads as process it in products. Warp: one chunk. Thread: the 8 nonzeros of a lane.
  Atomic: claims on accumulators, in shared memory; the length of the overflow, once for each warp with overflow; counts of chunks, once for each
  that is crowded.
  Dynamic shared memory: CSRCClaimsShared, later reused for the table of values.
*/
template <class Scalar, class Key, int BANKROWS, int THREADS>
__global__ void __launch_bounds__(THREADS) CSRCChunksKernel(const CSRCBalancedMatrix<Scalar> A, const CSRCBalancedRefill<Scalar> r, int ntiles, int naccs, const CSRCSorted<Scalar, Key> sorted, CSRCFound *found)
{
  constexpr int                        FIRST = (CSRC_ROUNDS_LANE + CSRC_ROUNDS_WARP + 4 * CSRC_PER_LANE) * THREADS;
  extern __shared__ unsigned long long table[];
  const int                            tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, g = blockIdx.x / ntiles;
  const CSRCRowBlock                   b = A.block[g], next = A.block[g + 1];
  const int                            inblock = blockIdx.x % ntiles * (THREADS / 32) + warp, first = b.entry + inblock * CSRC_CHUNK;
  const int                            chunk = b.chunk + inblock, end = min(first + CSRC_CHUNK, next.entry);
  CSRCAssignment<Key>                  s;

  if (chunk - warp >= next.chunk) return; /* the row block has fewer tiles */
  const bool             exists   = first < next.entry;
  const Key              smallest = exists ? sorted.key[first] : (Key)0, largest = exists ? sorted.key[end - 1] : (Key)0;
  const CSRCColumnMode   mode = exists ? sorted.rule(sorted.span[chunk]) : CSRC_OFFSETS_32;
  const CSRCClaimsShared claims(reinterpret_cast<unsigned char *>(table), naccs);
  s.owner = claims.owner;
  s.taken = claims.taken;
  s.claim = FIRST + tid;
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    const int n = first + (A.order == CSRC_CONSECUTIVE ? lane * CSRC_PER_LANE + i : i * 32 + lane);

    s.k[i] = n < next.entry ? n : -1;
  }
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    s.a[i]   = s.k[i] >= 0 ? sorted.place[s.k[i]] : -1;
    s.key[i] = s.k[i] >= 0 ? sorted.key[s.k[i]] : (Key)0;
  }
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    if (s.k[i] < 0) continue;
    s.a[i]          = sorted.acc[s.a[i]];
    s.owner[s.a[i]] = FIRST + THREADS;
  }
  s.lowest = smallest;
  s.window = ~(Key)0;
  if (mode == CSRC_BASES) { /* the window of a lane has its columns in the middle, so that neighbouring lanes can exchange nonzeros */
    const Key low  = s.k[0] >= 0 ? s.key[0] : largest;
    Key       high = low;

#pragma unroll
    for (int i = 1; i < CSRC_PER_LANE; i++) high = s.k[i] >= 0 ? s.key[i] : high;
    s.window = ((Key)1 << A.columnbits) - 1;
    s.lowest = low - min(low - smallest, (s.window - (high - low)) / 2);
  }
  __syncthreads();
  CSRCAssignStepsInSomeOrder<THREADS>(s, A.order);
  CSRCExchangeInLane<THREADS>(s);
  CSRCExchangeInWarp<THREADS>(s);
  const bool crowded = mode == CSRC_BASES && CSRCLateByWindows(s);
  if constexpr (BANKROWS > 0) CSRCAvoidBankConflicts<THREADS, BANKROWS>(s);

  if (A.values == CSRC_VALUES_TABLE) { /* the table reuses the memory of owner */
    __syncthreads();
    for (int t = tid; t < r.ntable; t += THREADS) table[t] = reinterpret_cast<const unsigned long long *>(A.table)[t];
    __syncthreads();
  }
  if (!exists) return;
  if (crowded && lane == 0) CSRCMarkCrowded(sorted.span + chunk, found->chunks);
  const int    lanebase = (int)(s.lowest - smallest), empty = (int)min(largest - smallest, s.lowest - smallest + s.window);
  const int    padding = b.nrows + (next.replica - b.replica) + tid; /* the accumulator for padding of the thread that will process this lane */
  const size_t slot    = (size_t)chunk * 32 + lane;
  int          offset[CSRC_PER_LANE], src[CSRC_PER_LANE];
  unsigned     columnpart[CSRC_PER_LANE]; /* the part of an accumulator that holds a column */
  Scalar       values[CSRC_PER_LANE];

#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    src[i] = s.k[i] >= 0 ? sorted.place[s.k[i]] : -1;
    /* empty slots get the largest column, of the chunk or that is possible; slots of the overflow keep the column of their nonzero */
    offset[i]     = s.k[i] >= 0 ? (int)(s.key[i] - smallest) : empty;
    columnpart[i] = (unsigned)(mode == CSRC_BASES ? offset[i] - lanebase : mode >= CSRC_SPLIT_8 ? offset[i] >> (8 + CSRCMoreBits(mode)) : 0) << (16 - A.columnbits);
  }
  CSRCListOverflow(s.late, src, sorted.overflow, &found->noverflow);
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    values[i] = src[i] >= 0 ? sorted.value[src[i]] : Scalar(0);
    if (src[i] < 0) s.a[i] = padding;
  }
  if (lane == 0) A.head[chunk] = make_int2((int)(smallest - (Key)g * (Key)A.n), (int)((unsigned)sorted.unit[chunk] << 3 | (unsigned)mode));
  CSRCStoreColumns(A.column + (size_t)sorted.unit[chunk] * CSRC_UNIT, mode, offset, lanebase);
  CSRCStoreAccumulators(reinterpret_cast<uint4 *>(A.acc) + slot, s.a, columnpart);
  (void)CSRCStoreLane(A, chunk, lane, values, table, r.ntable);
  if (r.from) {
    reinterpret_cast<int4 *>(r.from)[2 * slot]     = make_int4(src[0], src[1], src[2], src[3]);
    reinterpret_cast<int4 *>(r.from)[2 * slot + 1] = make_int4(src[4], src[5], src[6], src[7]);
  }
}

/*
  Launches CSRCChunksKernel(). bankrows: as in CSRCBalancedParams; used for tiles of 512 threads only. ntiles: the largest number of tiles
  of a row block; some thread blocks of the other row blocks have no work.
*/
template <class Scalar, class Key>
static cudaError_t CSRCChunks(int bankrows, int ntiles, int naccs, const CSRCBalancedMatrix<Scalar> &A, const CSRCBalancedRefill<Scalar> &r, const CSRCSorted<Scalar, Key> &sorted, CSRCFound *found, cudaStream_t stream)
{
  const size_t shared = std::max(CSRCSharedBytes<CSRCClaimsShared>(naccs), CSRC_TABLE * sizeof(unsigned long long));
  const auto   kernel = A.tilethreads == 256 ? CSRCChunksKernel<Scalar, Key, 0, 256> : bankrows == 4 ? CSRCChunksKernel<Scalar, Key, 4, 512> : bankrows == 2 ? CSRCChunksKernel<Scalar, Key, 2, 512> : CSRCChunksKernel<Scalar, Key, 0, 512>;

  CSRCTry(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
  kernel<<<ntiles * A.nblocks, A.tilethreads, shared, stream>>>(A, r, ntiles, naccs, sorted, found);
  return cudaGetLastError();
}
