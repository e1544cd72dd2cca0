#pragma once

/* replicas() in setup.cuh: assigns accumulators to the rows of each row block; rows with many nonzeros get several */
#include "rowblocks.cuh"
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

/* The weight of a row with count of the nnz nonzeros of a row block: the mean number of its nonzeros in a tile of per nonzeros */
static __device__ __forceinline__ float CSRCWeightOfRow(int count, int nnz, int per)
{
  return (float)count * per / max(nnz, per);
}

/*
  The number of accumulators of such a row: so many that each gets on average at most share nonzeros of a tile, but no more than the row has
  nonzeros
*/
static __device__ __forceinline__ int CSRCAccumulatorsOfRow(int count, int nnz, int per, float share)
{
  return max(1, min(count, (int)ceilf(CSRCWeightOfRow(count, nnz, per) / share)));
}

/* The shares that are tried in turn */
__host__ __device__ constexpr float CSRCShare(int t)
{
  return CSRC_SHARE_FIRST / (1 << t);
}

/* The replicas of the row blocks, on the device */
struct CSRCReplicas {
  uint16_t *first; /* by row + row block: the first replica of the row in the row block, if it has any there */
  int      *count; /* by row block: how many there are */
  float    *share; /* by row block: the share that they are made for, which is larger where not all would fit */
};

/* Counts the replicas of each row. found->weight = largest weight of a row, by an atomic. Thread block: one row block. */
template <class Index>
__global__ void __launch_bounds__(512) CSRCReplicasKernel(const CSRCRowBlock *block, const Index *start, int per, float share, int maxaccumulators, const CSRCReplicas replicas, CSRCFound *found)
{
  constexpr int ROWS = 4; /* rows that a thread processes at a time */
  using Scan         = cub::BlockScan<int, 512>;
  using Reduce       = cub::BlockReduce<int, 512>;
  __shared__ union {
    typename Scan::TempStorage   scan;
    typename Reduce::TempStorage reduce;
  } temp;
  __shared__ int     heaviest;
  const CSRCRowBlock b = block[blockIdx.x], next = block[blockIdx.x + 1];
  const int          nnz   = next.entry - b.entry;
  const auto         count = [&](int i) { return i < b.nrows ? min((int)start[b.row + i + 1], next.entry) - max((int)start[b.row + i], b.entry) : 0; };
  int                most  = 0, carry;

  for (int i = threadIdx.x; i < b.nrows; i += 512) most = max(most, count(i));
  most = Reduce(temp.reduce).Reduce(most, [](int a, int c) { return max(a, c); });
  if (threadIdx.x == 0) {
    heaviest = most;
    atomicMax((int *)&found->weight, __float_as_int(CSRCWeightOfRow(most, nnz, per))); /* nonnegative floats compare as integers */
  }
  __syncthreads();
  for (;; share *= CSRC_SHARE_MORE) {
    carry = 0;
    if (CSRCAccumulatorsOfRow(heaviest, nnz, per, share) == 1) break;
    for (int i0 = ROWS * threadIdx.x; i0 - ROWS * (int)threadIdx.x < b.nrows; i0 += ROWS * 512) {
      int more[ROWS], sum;

#pragma unroll
      for (int e = 0; e < ROWS; e++) more[e] = CSRCAccumulatorsOfRow(count(i0 + e), nnz, per, share) - 1;
      Scan(temp.scan).ExclusiveSum(more, more, sum);
#pragma unroll
      for (int e = 0; e < ROWS; e++) {
        if (i0 + e < b.nrows) replicas.first[b.row + blockIdx.x + i0 + e] = (uint16_t)min(carry + more[e], 65535);
      }
      carry += sum;
      __syncthreads(); /* temp is reused */
    }
    if (b.nrows + carry <= maxaccumulators) break;
  }
  if (threadIdx.x == 0) {
    replicas.count[blockIdx.x] = carry;
    replicas.share[blockIdx.x] = share;
  }
}

/* The row that holds nonzero k; called by all lanes of a warp, each of which tests one of 32 rows at a time */
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
  acc[k] = accumulator of nonzero k of the CSR; A.replicarow[c] = row of replica c. Thread block: 2048 nonzeros. Thread: 8 consecutive
  nonzeros, so that heavy rows take no longer than others. Each row stores its number at its first nonzero, and a scan spreads it to the
  others. A row that is split among row blocks has its own accumulators in each row block. Bytes per nonzero: 2 written. Nothing is atomic.
*/
template <class Scalar, class Index>
__global__ void __launch_bounds__(256) CSRCAccumulatorsKernel(const CSRCBalancedMatrix<Scalar> A, const Index *start, int per, const CSRCReplicas replicas, uint16_t *acc)
{
  using Scan = cub::BlockScan<int, 256>;
  __shared__ typename Scan::TempStorage temp;
  __shared__ int4                       memory[512];
  __shared__ int                        begin, rows[2];
  int *const                            rowof = reinterpret_cast<int *>(memory);
  const int                             tid = threadIdx.x, warp = tid / 32, from = 2048 * blockIdx.x, k0 = from + 8 * tid, to = min(A.nnz - from, 2048) + from;

  memory[2 * tid] = memory[2 * tid + 1] = make_int4(0, 0, 0, 0);
  if (warp < 2) {
    const int row = CSRCFindRow(start, A.m, warp ? to - 1 : from);

    if (tid % 32 == 0) rows[warp] = row;
  } else if (tid == 64) begin = CSRCFindRowBlock<&CSRCRowBlock::entry>(A.block, A.nblocks, from);
  __syncthreads();
  for (int r = rows[0] + tid; r <= rows[1]; r += 256) {
    const int first = max((int)start[r], from);

    if ((int)start[r + 1] > first) rowof[first - from] = r;
  }
  __syncthreads();
  const int4 low = memory[2 * tid], high = memory[2 * tid + 1];
  int        row[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};

  Scan(temp).InclusiveScan(row, row, [](int a, int b) { return max(a, b); });
  if (k0 >= A.nnz) return;
  int          g = begin, end = A.block[g + 1].entry, lo = 0, hi = 0, naccs = 1, first = 0; /* nonzeros lo .. hi - 1 of row block g belong to the row */
  CSRCRowBlock b       = A.block[g];
  unsigned     word[4] = {0, 0, 0, 0};

#pragma unroll
  for (int e = 0; e < 8; e++) {
    const int k = k0 + e;

    if (k >= A.nnz) break;
    if (k >= hi) { /* another row, or the part of the row in another row block */
      if (k >= end) {
        while (k >= end) end = A.block[++g + 1].entry;
        b = A.block[g];
      }
      lo    = max((int)start[row[e]], b.entry);
      hi    = min((int)start[row[e] + 1], end);
      naccs = CSRCAccumulatorsOfRow(hi - lo, end - b.entry, per, replicas.share[g]);
      first = naccs > 1 ? replicas.first[row[e] + g] : 0;
    }
    const int local = row[e] - b.row, which = naccs > 1 ? (k - lo) % naccs : 0;

    word[e / 2] |= (unsigned)(which ? b.nrows + first + which - 1 : local) << (16 * (e % 2));
    if (which && k - lo == which) A.replicarow[b.replica + first + which - 1] = (uint16_t)local;
  }
  reinterpret_cast<uint4 *>(acc)[k0 / 8] = make_uint4(word[0], word[1], word[2], word[3]);
}

/*
  found->excess[t] += a lower bound of the overflow if replicas are made for share CSRCShare(t): a row that has more nonzeros in a tile than 8
  for each of its accumulators leaves the others without a step. row: the row of each nonzero in its row block, by place.

  Thread block: one tile. Thread: 8 of its nonzeros, and those rows of which it counted the first nonzero. Dynamic shared memory: a count for
  each row. Atomic: counts in shared memory; the sums, once for each warp that has any.
*/
template <class Index>
__global__ void CSRCExcessKernel(const CSRCRowBlock *block, const Index *start, const int *place, const uint16_t *row, int ntiles, CSRCFound *found)
{
  extern __shared__ int many[];
  const int             per = CSRC_PER_LANE * blockDim.x, g = blockIdx.x / ntiles;
  const CSRCRowBlock    b = block[g], next = block[g + 1];
  const int             nnz = next.entry - b.entry, first = b.entry + blockIdx.x % ntiles * per, end = min(first + per, next.entry);
  int                   mine[CSRC_PER_LANE], excess[CSRC_NSHARES] = {};

  if (first >= end) return; /* the row block has fewer tiles */
#pragma unroll
  for (int e = 0; e < CSRC_PER_LANE; e++) {
    const int k = first + e * blockDim.x + threadIdx.x;

    mine[e] = k < end ? row[place[k]] : -1;
    if (mine[e] >= 0) many[mine[e]] = 0;
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < CSRC_PER_LANE; e++) {
    if (mine[e] >= 0 && atomicAdd(many + mine[e], 1)) mine[e] = -1;
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < CSRC_PER_LANE; e++) {
    if (mine[e] < 0 || many[mine[e]] <= CSRC_PER_LANE) continue;
    const int i = b.row + mine[e], count = min((int)start[i + 1], next.entry) - max((int)start[i], b.entry);

#pragma unroll
    for (int t = 0; t < CSRC_NSHARES; t++) excess[t] += max(0, many[mine[e]] - CSRC_PER_LANE * CSRCAccumulatorsOfRow(count, nnz, per, CSRCShare(t)));
  }
#pragma unroll
  for (int t = 0; t < CSRC_NSHARES; t++) {
    const int all = CSRCSumAlong(excess[t]);

    if ((threadIdx.x & 31) == 0 && all) atomicAdd(found->excess + t, all);
  }
}
