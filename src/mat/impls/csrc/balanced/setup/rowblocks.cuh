#pragma once

/* cut() and sort() in setup.cuh: cuts the nonzeros into row blocks, sorts them by row block and column, and finds how chunks may store columns */
#include "values.cuh"
#include "mat/impls/csrc/balanced/kernels/chunk.cuh"
#include <algorithm>
#include <vector>

/*
  The cost of nonzeros. It is 1 each, and more in a row that has more than half a row block of nonzeros. There hardly two nonzeros of a row
  block share a column, so that each needs its own entry of x and its own addition to v.
*/
struct CSRCCosts {
  std::vector<std::pair<int, int>> heavy; /* first and end nonzeros of such rows */

  template <class Index>
  CSRCCosts(const Index *start, int m, int nblocks)
  {
    const double half = 0.5 * (double)start[m] / std::max(1, nblocks);

    for (int q = 1; q * half < (double)start[m]; q++) { /* each such row contains one of the nonzeros q * half */
      const int row = (int)(std::upper_bound(start, start + m + 1, (Index)(q * half)) - start) - 1;

      if ((double)(start[row + 1] - start[row]) > half && (heavy.empty() || heavy.back().first < (int)start[row])) heavy.push_back({(int)start[row], (int)start[row + 1]});
    }
  }
  /* the cost of nonzeros 0 .. k - 1 */
  double operator()(int k) const
  {
    double c = k;

    for (const auto &h : heavy) c += CSRC_HEAVY_ROW * std::max(0, std::min(k, h.second) - h.first);
    return c;
  }
  /* the nonzero k for which the cost of nonzeros 0 .. k - 1 is c */
  double place(double c) const
  {
    for (const auto &h : heavy) {
      if (c <= h.first) break;
      c -= CSRC_HEAVY_ROW * std::min((c - h.first) / (1 + CSRC_HEAVY_ROW), (double)(h.second - h.first));
    }
    return c;
  }
};

/*
  Cuts the nonzeros of m rows into about nblocks row blocks of equal cost, or more, since each has at most maxrows rows. A row that has more
  than an eighth of the cost of a row block may be cut; otherwise a cut moves to the nearest row boundary. Every row is in a row block,
  including empty rows.
*/
template <class Index>
static std::vector<CSRCRowBlock> CSRCCutRowBlocks(const Index *start, int m, int nblocks, int maxrows)
{
  std::vector<CSRCRowBlock> blocks;
  const int                 nnz = (int)start[m];
  CSRCRowBlock              b   = {};
  const CSRCCosts           cost(start, m, nblocks);
  const double              all = cost(nnz), per = all / std::max(1, nblocks);

  while (b.row < m) {
    /* the row block begins at nonzero b.entry of row b.row */
    const double begin  = cost(b.entry);
    double       target = per * (1 + (int)(begin / per + 0.5));
    if (target - begin < 0.5 * per) target += per;
    const int    want = target >= all - 0.5 ? nnz : std::min((int)cost.place(target), nnz);
    int          r    = (int)(std::upper_bound(start + b.row, start + m + 1, (Index)want) - start) - 1; /* the row that holds nonzero want; m if want is nnz */
    CSRCRowBlock next = b;

    next.split = 0;
    if (want >= nnz) r = m;
    if (r - b.row >= maxrows) { /* too many rows: the row block ends after maxrows rows */
      next.row   = b.row + maxrows;
      next.entry = (int)start[next.row];
    } else if (r == m) {
      next.row   = m;
      next.entry = nnz;
    } else {
      const int before = want - (int)start[r], after = (int)start[r + 1] - want;

      if ((double)(before + after) > per / CSRC_CUT_ROW && before > 0) { /* cut row r */
        next.row   = r;
        next.entry = want;
        next.split = 1;
      } else if (before <= after && r > b.row) {
        next.row   = r;
        next.entry = (int)start[r];
      } else {
        next.row   = r + 1;
        next.entry = (int)start[r + 1];
      }
    }
    b.nrows = next.row - b.row + next.split;
    b.split |= 2 * next.split;
    blocks.push_back(b);
    b = next;
  }
  b.nrows = b.split = 0;
  blocks.push_back(b);
  for (size_t g = 0, owner = 0; g + 1 < blocks.size(); g++) {
    if (blocks[g].split & 1) {
      blocks[g].owner = (int)owner;
      blocks[owner].sharers++;
    }
    if ((blocks[g].split & 2) && !((blocks[g].split & 1) && blocks[g].nrows == 1)) {
      owner             = g;
      blocks[g].sharers = 1;
    }
  }
  for (size_t g = 0; g + 1 < blocks.size(); g++) {
    const int chunks    = (blocks[g + 1].entry - blocks[g].entry + CSRC_CHUNK - 1) / CSRC_CHUNK;
    blocks[g + 1].chunk = blocks[g].chunk + chunks;
  }
  return blocks;
}

/* The row block that holds nonzero k, if First is the member entry, or chunk k, if First is the member chunk */
template <int CSRCRowBlock::*First>
static __device__ __forceinline__ int CSRCFindRowBlock(const CSRCRowBlock *block, int nblocks, int k)
{
  int lo = 0, hi = nblocks;

  while (hi - lo > 1) {
    const int mid = (lo + hi) / 2;

    if (block[mid].*First <= k) lo = mid;
    else hi = mid;
  }
  return lo;
}

/*
  The span of a chunk's columns, which says how it may store them. Offsets from its smallest column have at most 8 bits (below CSRC_SPAN_8: also
  the number of bits that can hold the difference of any two columns of a lane in order consecutive), as many bits as the number says, or more
  than 16. CSRC_CROWDED is added if a late nonzero found no lane with room for its column, where offsets have room in all lanes.
*/
constexpr unsigned char CSRC_SPAN_8 = 8, CSRC_SPAN_16 = 16, CSRC_SPAN_MORE = 17, CSRC_CROWDED = 32, CSRC_SPANS = CSRC_CROWDED + CSRC_SPAN_8;

/* How a chunk of a matrix stores its columns, from its span */
struct CSRCColumnRule {
  int        bits; /* as columnbits in CSRCBalancedMatrix */
  CSRCCoding coding;
  bool       widen; /* whether crowded chunks, too, use offsets */

  __host__ __device__ __forceinline__ CSRCColumnMode operator()(unsigned char span) const
  {
    const unsigned char plain = span & (CSRC_CROWDED - 1);

    if (coding == CSRC_BY_LANE && plain < CSRC_SPAN_8 && plain <= bits && !(widen && plain != span)) return CSRC_BASES;
    if (plain <= CSRC_SPAN_8) return CSRC_OFFSETS_8;
    for (int mode = CSRC_SPLIT_8; coding == CSRC_SPLIT && mode <= CSRC_SPLIT_10; mode++) {
      if (plain <= CSRC_SPAN_8 + CSRCMoreBits(mode) + bits) return (CSRCColumnMode)mode;
    }
    return plain <= CSRC_SPAN_16 ? CSRC_OFFSETS_16 : CSRC_OFFSETS_32;
  }
};

/* How many units columns take */
__host__ __device__ __forceinline__ int CSRCColumnUnits(CSRCColumnMode mode)
{
  return mode == CSRC_BASES ? 1 : mode == CSRC_OFFSETS_16 ? 16 : mode == CSRC_OFFSETS_32 ? 32 : 8 + CSRCMoreBits(mode);
}

/* Results that are computed on the device and that the host needs before it can go on; all zero at first */
struct CSRCFound {
  CSRCValuesFound values;

  int   twice;                /* see CSRCTouchedTwiceKernel() */
  int   runs;                 /* number of nonzeros that are the first of their column in their row block */
  int   noverflow;            /* number of nonzeros of the overflow, and ... */
  int   chunks[CSRC_SPANS];   /* ... of chunks of each span */
  int   excess[CSRC_NSHARES]; /* see CSRCExcessKernel() */
  float weight;               /* the largest weight of a row in a row block: the mean number of its nonzeros in a tile */
};

/* key = block n + column, place = number in the CSR. Thread: 4 nonzeros, 256 apart, mostly of one row block. */
template <class Key, class Index>
__global__ void __launch_bounds__(256) CSRCKeysKernel(const CSRCRowBlock *block, int nblocks, int n, int nnz, const Index *column, Key *key, int *place)
{
  __shared__ int begin;

  if (threadIdx.x == 0) begin = CSRCFindRowBlock<&CSRCRowBlock::entry>(block, nblocks, blockIdx.x * 1024);
  __syncthreads();
  int g = begin, end = block[g + 1].entry;
#pragma unroll
  for (int e = 0; e < 4; e++) {
    const int k = blockIdx.x * 1024 + e * 256 + threadIdx.x;

    if (k >= nnz) return;
    while (k >= end) end = block[++g + 1].entry;
    key[k]   = (Key)g * (Key)n + (Key)column[k];
    place[k] = k;
  }
}

/*
  span[c] = span of the columns of chunk c. Also counts runs of the sorted nonzeros, and chunks by span, by one atomic each for each thread
  block. Warp: chunks a grid apart.
*/
template <class Key>
__global__ void __launch_bounds__(256) CSRCSortedKernel(const CSRCRowBlock *block, int nblocks, int nchunks, const Key *key, unsigned char *span, CSRCFound *found)
{
  __shared__ int runs, chunks[CSRC_SPANS];
  const int      warp = threadIdx.x / 32, lane = threadIdx.x & 31;
  int            begins = 0;

  if (threadIdx.x < CSRC_SPANS) chunks[threadIdx.x] = 0;
  if (threadIdx.x == 0) runs = 0;
  __syncthreads();
  for (int c = blockIdx.x * 8 + warp; c < nchunks; c += gridDim.x * 8) {
    const int g     = CSRCFindRowBlock<&CSRCRowBlock::chunk>(block, nblocks, c);
    const int first = block[g].entry + (c - block[g].chunk) * CSRC_CHUNK, end = min(first + CSRC_CHUNK, block[g + 1].entry), mine = first + lane * CSRC_PER_LANE;
    const Key range = key[end - 1] - key[first];
    Key       last  = first ? key[first - 1] : ~key[0];

#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) {
      const int k      = first + i * 32 + lane;
      const Key now    = key[min(k, end - 1)];
      const Key before = __shfl_up_sync(0xffffffffu, now, 1);

      begins += k < end && now != (lane ? before : last);
      last = __shfl_sync(0xffffffffu, now, 31);
    }
    const unsigned differences = range < 256 ? CSRCOrAlong((unsigned)(key[min(mine + CSRC_PER_LANE, end) - 1] - key[min(mine, end - 1)])) : 0; /* the highest bit is that of the largest difference */
    if (lane == 0) {
      span[c] = range < 65536 ? (unsigned char)(32 - __clz((int)(range < 256 ? differences : (unsigned)range))) : CSRC_SPAN_MORE;
      atomicAdd(chunks + span[c], 1);
    }
  }
  begins = CSRCSumAlong(begins);
  if (lane == 0) atomicAdd(&runs, begins);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&found->runs, runs);
  if (threadIdx.x < CSRC_SPANS && chunks[threadIdx.x]) atomicAdd(found->chunks + threadIdx.x, chunks[threadIdx.x]);
}

/* unit[c] = number of units that the columns of chunk c take, and 0 for c = nchunks. Thread: one chunk. */
static __global__ void CSRCUnitsKernel(int nchunks, const unsigned char *span, CSRCColumnRule rule, int *unit)
{
  const int c = blockIdx.x * blockDim.x + threadIdx.x;

  if (c <= nchunks) unit[c] = c < nchunks ? CSRCColumnUnits(rule(span[c])) : 0;
}
