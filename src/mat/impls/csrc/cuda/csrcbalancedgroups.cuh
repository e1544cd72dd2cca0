#pragma once

/* Step 3 of csrcbalancedmake.cuh: accumulators of rows, groups of the nonzeros of tiles. */
#include "csrcbalancedblocks.cuh"
#include "csrcscratch.cuh"
#include <cub/block/block_scan.cuh>

/* How many accumulators a row of count nonzeros gets in a block of nnz nonzeros with tiles of per: such that each has at most share in a tile on average */
static __device__ __forceinline__ int CSRCAccumulatorsOfRow(int count, int nnz, int per, float share)
{
  return max(1, (int)ceilf((float)count * per / (share * max(nnz, per))));
}

/*
  firstcopy[row + block] = first copy of the row in the block; ncopies[block] = copies in all; shares[block] = share, or more
  if not all copies would fit. Thread block: one block of the layout.
*/
template <class Index>
__global__ void __launch_bounds__(512) CSRCCopiesKernel(const CSRCBlock *block, const Index *start, int per, float share, int maxaccumulators, uint16_t *firstcopy, int *ncopies, float *shares)
{
  using Scan = cub::BlockScan<int, 512>;
  __shared__ typename Scan::TempStorage temp;
  __shared__ int                        carry;
  const CSRCBlock                       b = block[blockIdx.x], next = block[blockIdx.x + 1];
  const int                             nnz = next.entry - b.entry;

  for (;;) {
    if (threadIdx.x == 0) carry = 0;
    __syncthreads();
    for (int i0 = 0; i0 < b.nrows; i0 += 512) {
      const int i      = i0 + threadIdx.x;
      int       copies = 0, before, sum;

      if (i < b.nrows) {
        const int from = max((int)start[b.row + i], b.entry), to = min((int)start[b.row + i + 1], next.entry);

        copies = CSRCAccumulatorsOfRow(to - from, nnz, per, share) - 1;
      }
      Scan(temp).ExclusiveSum(copies, before, sum);
      if (i < b.nrows) firstcopy[b.row + blockIdx.x + i] = (uint16_t)min(carry + before, 65535);
      __syncthreads();
      if (threadIdx.x == 0) carry += sum;
      __syncthreads();
    }
    if (b.nrows + carry <= maxaccumulators) break;
    share *= 1.3f;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    ncopies[blockIdx.x] = carry;
    shares[blockIdx.x]  = share;
  }
}

/*
  acc[k] = accumulator of nonzero k of the CSR; copyof[c] = row of copy c. Group of 8 threads: one row. A row that is cut
  begins anew in each block.
*/
template <class Index>
__global__ void CSRCAccumulatorsKernel(const CSRCBlock *block, int nblocks, int m, const Index *start, int per, const float *shares, const uint16_t *firstcopy, uint16_t *acc, uint16_t *copyof)
{
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, t = threadIdx.x % 8;

  if (row >= m) return;
  const int from = (int)start[row], to = (int)start[row + 1];

  if (from == to) return;
  for (int g = CSRCFindBlock(block, nblocks, from); g < nblocks && block[g].entry < to; g++) {
    const CSRCBlock b = block[g];
    const int       nextentry = block[g + 1].entry, lo = max(from, b.entry), hi = min(to, nextentry), local = row - b.row;

    if (hi <= lo || local < 0 || local >= b.nrows) continue;
    const int naccs = CSRCAccumulatorsOfRow(hi - lo, nextentry - b.entry, per, shares[g]);
    const int first = firstcopy[b.row + g + local];

    for (int k = lo + t; k < hi; k += 8) {
      const int which = (k - lo) % naccs;

      acc[k] = (uint16_t)(which ? b.nrows + first + which - 1 : local);
    }
    for (int c = t; c < naccs - 1; c += 8) copyof[b.copy + first + c] = (uint16_t)local;
  }
}

/*
  The places of the nonzeros of each tile: slot[256 chunk + place] = sorted number (-1 stays where there is none), left[k] = 1
  for those left over, and their count.

  Thread block: one tile, as many threads as it has in products. Thread: the 8 nonzeros that will be its lane's, at first in
  the order by column. Step by step, the first thread whose nonzero of the step uses an accumulator that the group has not yet
  takes it for the group. A nonzero that comes too late changes places with another of its lane in another group, if neither
  group has the accumulator that it gets; of several changes that concern one accumulator, that of the first thread is
  made, the others try again. So runs of one column are hardly torn: where they are long, a lane's nonzeros are of one column.
  Dynamic shared memory: an int and a byte an accumulator.
*/
template <int THREADS>
__global__ void __launch_bounds__(THREADS) CSRCGroupsKernel(const CSRCBlock *block, const int *tile, int nblocks, int naccs, CSRCOrder order, const int *place, const uint16_t *acc, unsigned char *left, int *slot, int *nleft)
{
  constexpr int            NOBODY = 0x7fffffff, ROUNDS = 28;
  extern __shared__ int    owner[];
  volatile unsigned char  *taken = reinterpret_cast<unsigned char *>(owner + naccs); /* groups that have the accumulator, one bit each */
  __shared__ int           myblock;
  const int                tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;

  if (tid == 0) {
    int lo = 0, hi = nblocks;

    while (hi - lo > 1) {
      const int mid = (lo + hi) / 2;

      if (tile[mid] <= (int)blockIdx.x) lo = mid;
      else hi = mid;
    }
    myblock = lo;
  }
  for (int t = tid; t < naccs; t += THREADS) taken[t] = 0;
  __syncthreads();
  const CSRCBlock b = block[myblock];
  const int       end = block[myblock + 1].entry, inblock = ((int)blockIdx.x - tile[myblock]) * (THREADS / 32) + warp, first = b.entry + inblock * CSRC_CHUNK;
  int             a[CSRC_PER_LANE], k[CSRC_PER_LANE]; /* accumulators and sorted numbers, by step */
  unsigned        late = 0;                           /* steps whose nonzero came too late */

#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    const int n = first + (order == CSRC_CONSECUTIVE ? lane * CSRC_PER_LANE + i : i * 32 + lane);

    k[i] = n < end ? n : -1;
    a[i] = n < end ? acc[place[n]] : -1;
  }
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    const bool wants = k[i] >= 0 && !((taken[max(a[i], 0)] >> i) & 1);

    if (wants) owner[a[i]] = NOBODY;
    __syncthreads();
    if (wants) atomicMin(owner + a[i], tid);
    __syncthreads();
    const bool gets = wants && owner[a[i]] == tid;
    if (gets) taken[a[i]] |= 1 << i;
    else if (k[i] >= 0) late |= 1u << i;
    __syncthreads();
  }
#pragma unroll 1
  for (int round = 0; round < ROUNDS && __syncthreads_or(late != 0); round++) {
    /* the late nonzero that has its try in this round, and the one it would change with */
    const int mine = late ? __ffs(late) - 1 : 0, with = (mine + 1 + round % (CSRC_PER_LANE - 1)) % CSRC_PER_LANE;
    int       am = -1, aw = -1;

#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) {
      if (i == mine) am = a[i];
      if (i == with) aw = a[i];
    }
    /* an empty place can be changed with, too: aw is -1 then */
    const bool tries = late && am != aw && !((taken[am] >> with) & 1) && (aw < 0 || !((taken[aw] >> mine) & 1));
    if (tries) {
      owner[am] = NOBODY;
      if (aw >= 0) owner[aw] = NOBODY;
    }
    __syncthreads();
    if (tries) {
      atomicMin(owner + am, tid);
      if (aw >= 0) atomicMin(owner + aw, tid);
    }
    __syncthreads();
    if (tries && owner[am] == tid && (aw < 0 || owner[aw] == tid)) {
      const bool withlate = (late >> with) & 1;
      int        km = 0, kw = 0;

      taken[am] |= 1 << with;
      if (aw >= 0) taken[aw] = (withlate ? taken[aw] : taken[aw] & ~(1 << with)) | (1 << mine);
      late &= ~(1u << mine | 1u << with);
#pragma unroll
      for (int i = 0; i < CSRC_PER_LANE; i++) {
        if (i == mine) km = k[i];
        if (i == with) kw = k[i];
      }
#pragma unroll
      for (int i = 0; i < CSRC_PER_LANE; i++) {
        if (i == mine) {
          a[i] = aw;
          k[i] = kw;
        } else if (i == with) {
          a[i] = am;
          k[i] = km;
        }
      }
    }
  }

  int count = __popc(late);
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    if (k[i] < 0) continue;
    left[k[i]] = (late >> i) & 1;
    if (!((late >> i) & 1)) slot[(size_t)(b.chunk + inblock) * CSRC_CHUNK + lane * CSRC_PER_LANE + i] = k[i];
  }
  for (int o = 16; o; o >>= 1) count += __shfl_down_sync(0xffffffffu, count, o);
  if (lane == 0 && count) atomicAdd(nleft, count);
}

template <int THREADS>
static cudaError_t CSRCGroups(int ntiles, int naccs, cudaStream_t stream, const CSRCBlock *block, const int *tile, int nblocks, CSRCOrder order, const int *place, const uint16_t *acc, unsigned char *left, int *slot, int *nleft)
{
  const size_t shared = (size_t)naccs * (sizeof(int) + 1);

  CSRCTry(cudaFuncSetAttribute(CSRCGroupsKernel<THREADS>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
  CSRCGroupsKernel<THREADS><<<ntiles, THREADS, shared, stream>>>(block, tile, nblocks, naccs, order, place, acc, left, slot, nleft);
  return cudaGetLastError();
}
