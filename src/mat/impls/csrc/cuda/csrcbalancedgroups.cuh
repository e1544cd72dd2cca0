#pragma once

/* Steps 3 and 4 of csrcbalancedmake.cuh: accumulators of rows, groups of the nonzeros of tiles, and the resulting chunks */
#include "csrcbalancedbanks.cuh"
#include "csrcbalancedblocks.cuh"
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

/* Weight of a row with count of the nnz nonzeros of a block: how many of them a tile of per nonzeros has on average */
static __device__ __forceinline__ float CSRCWeightOfRow(int count, int nnz, int per)
{
  return (float)count * per / max(nnz, per);
}

/* Number of accumulators of such a row: so many that each gets at most share nonzeros of a tile, but no more than the row has nonzeros */
static __device__ __forceinline__ int CSRCAccumulatorsOfRow(int count, int nnz, int per, float share)
{
  return max(1, min(count, (int)ceilf(CSRCWeightOfRow(count, nnz, per) / share)));
}

/*
  firstcopy[row + block] = first copy of the row in the block, if the block has any; ncopies[block] = copies in all;
  shares[block] = share, or more if not all copies would fit; the largest weight of a row. Thread block: one block of the layout.
*/
template <class Index>
__global__ void __launch_bounds__(512) CSRCCopiesKernel(const CSRCBlock *block, const Index *start, int per, float share, int maxaccumulators, uint16_t *firstcopy, int *ncopies, float *shares, CSRCFound *found)
{
  constexpr int ROWS = 4; /* of a thread, at a time */
  using Scan         = cub::BlockScan<int, 512>;
  using Reduce       = cub::BlockReduce<int, 512>;
  __shared__ union {
    typename Scan::TempStorage   scan;
    typename Reduce::TempStorage reduce;
  } temp;
  __shared__ int  heaviest;
  const CSRCBlock b = block[blockIdx.x], next = block[blockIdx.x + 1];
  const int       nnz   = next.entry - b.entry;
  const auto      count = [&](int i) { return i < b.nrows ? min((int)start[b.row + i + 1], next.entry) - max((int)start[b.row + i], b.entry) : 0; };
  int             most  = 0, carry;

  for (int i = threadIdx.x; i < b.nrows; i += 512) most = max(most, count(i));
  most = Reduce(temp.reduce).Reduce(most, [](int a, int c) { return max(a, c); });
  if (threadIdx.x == 0) {
    heaviest = most;
    atomicMax((int *)&found->weight, __float_as_int(CSRCWeightOfRow(most, nnz, per))); /* floats that are not negative compare as integers */
  }
  __syncthreads();
  for (;; share *= 1.3f) {
    carry = 0;
    if (CSRCAccumulatorsOfRow(heaviest, nnz, per, share) == 1) break;
    for (int i0 = ROWS * threadIdx.x; i0 - ROWS * (int)threadIdx.x < b.nrows; i0 += ROWS * 512) {
      int copies[ROWS], sum;

#pragma unroll
      for (int e = 0; e < ROWS; e++) copies[e] = CSRCAccumulatorsOfRow(count(i0 + e), nnz, per, share) - 1;
      Scan(temp.scan).ExclusiveSum(copies, copies, sum);
#pragma unroll
      for (int e = 0; e < ROWS; e++) {
        if (i0 + e < b.nrows) firstcopy[b.row + blockIdx.x + i0 + e] = (uint16_t)min(carry + copies[e], 65535);
      }
      carry += sum;
      __syncthreads(); /* temp is used again */
    }
    if (b.nrows + carry <= maxaccumulators) break;
  }
  if (threadIdx.x == 0) {
    ncopies[blockIdx.x] = carry;
    shares[blockIdx.x]  = share;
  }
}

/* The row that holds nonzero k; called by all lanes of a warp, each of which looks at one row of 32 at a time */
template <class Index>
static __device__ __forceinline__ int CSRCFindRow(const Index *start, int m, int k)
{
  int lo = 0, hi = m; /* start[lo] <= k < start[hi] */

  while (hi - lo > 1) {
    const int step = (hi - lo + 31) / 32, row = lo + ((int)(threadIdx.x & 31) + 1) * step;

    lo += step * __popc(__ballot_sync(0xffffffffu, row < hi && (int)start[row] <= k));
    hi = min(hi, lo + step);
  }
  return lo;
}

/*
  acc[k] = accumulator of nonzero k of the CSR; copyof[c] = row of copy c. Thread block: 2048 nonzeros, thread: 8 consecutive ones,
  so that heavy rows take no longer than others: rows store their numbers at their first nonzeros, and a scan spreads them to the others.
  A row that is cut begins again in each block.
*/
template <class Index>
__global__ void __launch_bounds__(256) CSRCAccumulatorsKernel(const CSRCBlock *block, int nblocks, int m, int nnz, const Index *start, int per, const float *shares, const uint16_t *firstcopy, uint16_t *acc, uint16_t *copyof)
{
  using Scan = cub::BlockScan<int, 256>;
  __shared__ typename Scan::TempStorage temp;
  __shared__ int4                       memory[512];
  __shared__ int                        begin, rows[2];
  int *const                            rowof = reinterpret_cast<int *>(memory);
  const int                             tid = threadIdx.x, warp = tid / 32, from = 2048 * blockIdx.x, k0 = from + 8 * tid, to = min(nnz - from, 2048) + from;

  memory[2 * tid] = memory[2 * tid + 1] = make_int4(0, 0, 0, 0);
  if (warp < 2) {
    const int row = CSRCFindRow(start, m, warp ? to - 1 : from);

    if (tid % 32 == 0) rows[warp] = row;
  } else if (tid == 64) begin = CSRCFindBlock<&CSRCBlock::entry>(block, nblocks, from);
  __syncthreads();
  for (int r = rows[0] + tid; r <= rows[1]; r += 256) {
    const int first = max((int)start[r], from);

    if ((int)start[r + 1] > first) rowof[first - from] = r;
  }
  __syncthreads();
  const int4 low = memory[2 * tid], high = memory[2 * tid + 1];
  int        row[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};

  Scan(temp).InclusiveScan(row, row, [](int a, int b) { return max(a, b); });
  if (k0 >= nnz) return;
  int       g = begin, end = block[g + 1].entry, lo = 0, hi = 0, naccs = 1, first = 0; /* the row has nonzeros lo .. hi - 1 of block g */
  CSRCBlock b       = block[g];
  unsigned  word[4] = {0, 0, 0, 0};

#pragma unroll
  for (int e = 0; e < 8; e++) {
    const int k = k0 + e;

    if (k >= nnz) break;
    if (k >= hi) { /* another row, or another block's part of it */
      if (k >= end) {
        while (k >= end) end = block[++g + 1].entry;
        b = block[g];
      }
      lo    = max((int)start[row[e]], b.entry);
      hi    = min((int)start[row[e] + 1], end);
      naccs = CSRCAccumulatorsOfRow(hi - lo, end - b.entry, per, shares[g]);
      first = naccs > 1 ? firstcopy[row[e] + g] : 0;
    }
    const int local = row[e] - b.row, which = naccs > 1 ? (k - lo) % naccs : 0;

    word[e / 2] |= (unsigned)(which ? b.nrows + first + which - 1 : local) << (16 * (e % 2));
    if (which && k - lo == which) copyof[b.copy + first + which - 1] = (uint16_t)local;
  }
  reinterpret_cast<uint4 *>(acc)[k0 / 8] = make_uint4(word[0], word[1], word[2], word[3]);
}

/*
  Puts the nonzeros of each tile into groups, and writes its chunks: heads, columns, accumulators, values; r.from = place in the CSR of
  each slot (-1: none), if it is given; list = places of leftovers, in any order.

  Thread block: one tile, as many threads as it has in products. Warp: a chunk. Thread: the 8 nonzeros that will be its lane's, at
  first in the order by column. In each step, the first thread whose nonzero uses an accumulator takes it for this group. A nonzero that
  comes too late changes places with another nonzero of its lane, in another group, if neither group then has an accumulator twice; of
  several changes that concern one accumulator, that of the first thread is made, the others try again. Nonzeros of its own column are
  tried before others, so that few runs are broken. The few that find no place in this way change places with nonzeros of other lanes.
  Finally, banks: see CSRCAvoidBanks().
  A claim is a number that is smaller in each round than in those before, so that claims need not be taken back.
  Dynamic shared memory: an int and a byte an accumulator.
*/
template <class Scalar, class Key, int BANKS, int THREADS>
__global__ void __launch_bounds__(THREADS) CSRCGroupsKernel(const CSRCBalancedForm<Scalar> f, const CSRCBalancedRefill<Scalar> r, int ntiles, int naccs, const Key *key, const int *place, const uint16_t *acc, const int *unit, const Scalar *value, int *list, CSRCFound *found)
{
  constexpr int                        ROUNDS = 28, MORE = 40, FIRST = (ROUNDS + MORE + CSRC_PER_LANE) * THREADS;
  extern __shared__ unsigned long long table[]; /* at the end */
  int *const                           owner = reinterpret_cast<int *>(table);
  volatile unsigned char *const        taken = reinterpret_cast<unsigned char *>(owner + naccs); /* groups that have the accumulator, one bit each */
  const int                            tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, g = blockIdx.x / ntiles;
  const CSRCBlock                      b = f.block[g], next = f.block[g + 1];
  const int                            inblock = blockIdx.x % ntiles * (THREADS / 32) + warp, first = b.entry + inblock * CSRC_CHUNK;
  int                                  a[CSRC_PER_LANE], k[CSRC_PER_LANE]; /* accumulators and sorted numbers, by step */
  Key                                  keys[CSRC_PER_LANE];                /* and keys: nonzeros with the same key are of one column */
  unsigned                             late  = 0;                          /* steps whose nonzero came too late */
  int                                  claim = FIRST + tid;

  if (b.chunk + inblock - warp >= next.chunk) return; /* the block has fewer tiles */
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    const int n = first + (f.order == CSRC_CONSECUTIVE ? lane * CSRC_PER_LANE + i : i * 32 + lane);

    k[i] = n < next.entry ? n : -1;
  }
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    a[i]    = k[i] >= 0 ? place[k[i]] : -1;
    keys[i] = k[i] >= 0 ? key[k[i]] : (Key)0;
  }
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    if (k[i] < 0) continue;
    a[i]        = acc[a[i]];
    owner[a[i]] = FIRST + THREADS;
    taken[a[i]] = 0;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++, claim -= THREADS) {
    if (k[i] >= 0) atomicMin(owner + a[i], claim);
    __syncthreads();
    if (k[i] >= 0) {
      if (owner[a[i]] == claim) taken[a[i]] |= 1 << i;
      else late |= 1u << i;
    }
    __syncthreads();
  }
  int tried = 0; /* places that were tried for the present late nonzero */
#pragma unroll 1
  for (int round = 0; round < ROUNDS && __syncthreads_or(late != 0); round++, claim -= THREADS) {
    /* the late nonzero of this round; bits of the places with the same column, relative to it */
    const int mine = late ? __ffs(late) - 1 : 0;
    Key       cm   = 0;
    unsigned  same = 0;
    int       am = -1, aw = -1;

#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) {
      if (i == mine) cm = keys[i];
    }
#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) same |= (k[i] >= 0 && keys[i] == cm) << i;
    same = (same | same << CSRC_PER_LANE) >> (mine + 1) & ((1 << (CSRC_PER_LANE - 1)) - 1);
    /* the nonzero that it would change places with */
    const int nsame = __popc(same), nth = tried % (CSRC_PER_LANE - 1);
    unsigned  from = nth < nsame ? same : ~same;
    for (int t = nth < nsame ? nth : nth - nsame; t; t--) from &= from - 1;
    const int with = (mine + __ffs(from)) % CSRC_PER_LANE;

#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) {
      if (i == mine) am = a[i];
      if (i == with) aw = a[i];
    }
    /* an empty place can be changed with, too: aw is -1 then */
    const bool tries = late && am != aw && !((taken[am] >> with) & 1) && (aw < 0 || !((taken[aw] >> mine) & 1));
    if (tries) {
      atomicMin(owner + am, claim);
      if (aw >= 0) atomicMin(owner + aw, claim);
    }
    __syncthreads();
    if (tries && owner[am] == claim && (aw < 0 || owner[aw] == claim)) {
      const bool withlate = (late >> with) & 1;
      int        km = 0, kw = 0;
      Key        cw = 0;

      tried = -1;
      taken[am] |= 1 << with;
      if (aw >= 0) taken[aw] = (withlate ? taken[aw] : taken[aw] & ~(1 << with)) | (1 << mine);
      late &= ~(1u << mine | 1u << with);
#pragma unroll
      for (int i = 0; i < CSRC_PER_LANE; i++) {
        if (i == mine) km = k[i];
        if (i == with) {
          kw = k[i];
          cw = keys[i];
        }
      }
#pragma unroll
      for (int i = 0; i < CSRC_PER_LANE; i++) {
        if (i == mine) {
          a[i]    = aw;
          k[i]    = kw;
          keys[i] = cw;
        } else if (i == with) {
          a[i]    = am;
          k[i]    = km;
          keys[i] = cm;
        }
      }
    }
    tried++;
  }

  /*
    Nonzeros that are still late change places with a nonzero of another lane of their warp, one for each warp and round: with that of the
    first lane where this is possible. Lanes are counted from a different one each time.
  */
  const auto firstof = [](unsigned lanes, int from) { return (__ffs(__funnelshift_r(lanes, lanes, from)) - 1 + from) & 31; };
#pragma unroll 1
  for (int round = 0; round < MORE && __syncthreads_or(late != 0); round++, claim -= THREADS) {
    const unsigned who  = __ballot_sync(0xffffffffu, late != 0);
    const int      from = firstof(who, 7 * round & 31), mine = __shfl_sync(0xffffffffu, __ffs(late) - 1, from);
    int            am = -1, aw = -1, km = 0, kw = 0, with = -1;

#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) {
      if (i == mine) {
        am = a[i];
        km = k[i];
      }
    }
    am = __shfl_sync(0xffffffffu, am, from);
    km = __shfl_sync(0xffffffffu, km, from);
    if (who && lane != from) {
#pragma unroll
      for (int i = 0; i < CSRC_PER_LANE; i++) {
        if (i == mine || ((late >> i) & 1) || ((taken[am] >> i) & 1) || (a[i] >= 0 && ((taken[a[i]] >> mine) & 1))) continue;
        with = i;
        aw   = a[i];
        kw   = k[i];
      }
    }
    const unsigned can   = __ballot_sync(0xffffffffu, with >= 0);
    const int      to    = firstof(can, 5 * round & 31);
    const bool     tries = can && lane == to;

    if (tries) {
      atomicMin(owner + am, claim);
      if (aw >= 0) atomicMin(owner + aw, claim);
    }
    __syncthreads();
    const bool does = tries && owner[am] == claim && (aw < 0 || owner[aw] == claim);
    if (does) {
      taken[am] |= 1 << with;
      if (aw >= 0) taken[aw] = (taken[aw] & ~(1 << with)) | (1 << mine);
    }
    const bool done = __ballot_sync(0xffffffffu, does) != 0;
    aw              = __shfl_sync(0xffffffffu, aw, to);
    kw              = __shfl_sync(0xffffffffu, kw, to);
#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) {
      if (does && i == with) {
        a[i] = am;
        k[i] = km;
      }
      if (done && lane == from && i == mine) {
        a[i] = aw;
        k[i] = kw;
      }
    }
    if (done && lane == from) late &= ~(1u << mine);
  }
  if constexpr (BANKS > 0) CSRCAvoidBanks<THREADS, BANKS>(a, k, late, key, owner, taken, claim);

  if (f.values == CSRC_VALUES_TABLE) { /* it goes where owner stood */
    __syncthreads();
    for (int t = tid; t < r.ntable; t += THREADS) table[t] = reinterpret_cast<const unsigned long long *>(f.table)[t];
    __syncthreads();
  }
  if (first >= next.entry) return;
  const int      chunk = b.chunk + inblock, end = min(first + CSRC_CHUNK, next.entry), count = __popc(late);
  const Key      smallest = key[first], range = key[end - 1] - smallest;
  const int      mode   = range < 256 ? 2 : range < 65536 ? 1 : 0;
  unsigned char *column = f.column + (size_t)unit[chunk] * CSRC_CHUNK;
  /* padding gets the accumulator of the thread that will work on it */
  const int padding = b.nrows + (next.copy - b.copy) + tid;
  int       offset[CSRC_PER_LANE], src[CSRC_PER_LANE];
  Scalar    values[CSRC_PER_LANE];

#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    src[i] = k[i] >= 0 ? place[k[i]] : -1;
    /* padding, at the end of a lane, and places of leftovers get the chunk's largest column */
    offset[i] = (int)(k[i] >= 0 ? key[k[i]] - smallest : range);
  }
  /* those left over */
  int before = count;
#pragma unroll
  for (int o = 1; o < 32; o *= 2) {
    const int t = __shfl_up_sync(0xffffffffu, before, o);

    if (lane >= o) before += t;
  }
  const int all = __shfl_sync(0xffffffffu, before, 31);
  if (all) {
    int at = 0;

    if (lane == 0) at = atomicAdd(&found->nleft, all);
    at = __shfl_sync(0xffffffffu, at, 0) + before - count;
#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) {
      if (!((late >> i) & 1)) continue;
      list[at++] = src[i];
      src[i]     = -1;
    }
  }
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    values[i] = src[i] >= 0 ? value[src[i]] : Scalar(0);
    if (src[i] < 0) a[i] = padding;
  }

  if (lane == 0) f.head[chunk] = make_int2((int)(smallest - (Key)g * (Key)f.n), (int)((unsigned)unit[chunk] * (CSRC_CHUNK / 16) << 2 | (unsigned)mode));
  const auto pair   = [](int low, int high) { return (unsigned)low | (unsigned)high << 16; };
  const auto places = [&](int i) { return pair(CSRCPlace(a[i]), CSRCPlace(a[i + 1])); };
  if (mode == 2) {
    const auto four = [&](int i) { return (unsigned)offset[i] | (unsigned)offset[i + 1] << 8 | (unsigned)offset[i + 2] << 16 | (unsigned)offset[i + 3] << 24; };

    reinterpret_cast<uint2 *>(column)[lane] = make_uint2(four(0), four(4));
  } else if (mode == 1) {
    reinterpret_cast<uint4 *>(column)[lane] = make_uint4(pair(offset[0], offset[1]), pair(offset[2], offset[3]), pair(offset[4], offset[5]), pair(offset[6], offset[7]));
  } else {
    reinterpret_cast<int4 *>(column)[lane]      = make_int4(offset[0], offset[1], offset[2], offset[3]);
    reinterpret_cast<int4 *>(column)[32 + lane] = make_int4(offset[4], offset[5], offset[6], offset[7]);
  }
  const size_t slot                      = (size_t)chunk * 32 + lane;
  reinterpret_cast<uint4 *>(f.acc)[slot] = make_uint4(places(0), places(2), places(4), places(6));
  (void)CSRCStoreLane(f, chunk, lane, values, table, r.ntable);
  if (r.from) {
    reinterpret_cast<int4 *>(r.from)[2 * slot]     = make_int4(src[0], src[1], src[2], src[3]);
    reinterpret_cast<int4 *>(r.from)[2 * slot + 1] = make_int4(src[4], src[5], src[6], src[7]);
  }
}

/*
  Launches CSRCGroupsKernel(). banks: as in CSRCBalancedParams, for tiles of 512. ntiles: of the block with the most tiles; for the others
  some thread blocks have no work.
*/
template <class Scalar, class Key>
static cudaError_t CSRCGroups(int banks, int ntiles, int naccs, const CSRCBalancedForm<Scalar> &f, const CSRCBalancedRefill<Scalar> &r, const Key *key, const int *place, const uint16_t *acc, const int *unit, const Scalar *value, int *list, CSRCFound *found, cudaStream_t stream)
{
  const size_t shared = std::max((size_t)naccs * (sizeof(int) + 1), CSRC_TABLE * sizeof(unsigned long long));
  const auto   kernel = f.threads == 256 ? CSRCGroupsKernel<Scalar, Key, 0, 256> : banks == 4 ? CSRCGroupsKernel<Scalar, Key, 4, 512> : banks == 2 ? CSRCGroupsKernel<Scalar, Key, 2, 512> : CSRCGroupsKernel<Scalar, Key, 0, 512>;

  CSRCTry(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
  kernel<<<ntiles * f.nblocks, f.threads, shared, stream>>>(f, r, ntiles, naccs, key, place, acc, unit, value, list, found);
  return cudaGetLastError();
}
