#pragma once

/*
  Makes the balanced layout of CSRC from a CSR on the device. csrcbalanced.cuh says what it is. Sorting and scans are CUB's.

  1. The host cuts the nonzeros into blocks (it has the row starts).
  2. A sort by block and column of the places of the nonzeros in the CSR.
  3. Accumulators for the rows of each block, then the groups of the nonzeros of each tile, with more accumulators and
     smaller groups until few enough leftovers remain.
  4. Sizes of the columns of each chunk, and a scan: their places. Then the chunks are written.
  5. Leftovers are sorted by row.

  The result depends on nothing but the matrix and the parameters: where threads race, the smallest number wins.
*/
#include "csrcbalancedvector.cuh"
#include <cub/cub.cuh>
#include <algorithm>
#include <vector>

/* What may be chosen */
struct CSRCBalancedParams {
  double persm;    /* blocks for each multiprocessor; less than 1: one block for several, which work on it as a team; more where rows would not fit */
  int    order;    /* CSRCOrder, or -1: consecutive where columns have runs of more than 2.6 nonzeros in a block, or where kt > 1 */
  bool   compress; /* store values as single precision or by table where that is exact */

  cudaMemPool_t workspace; /* where memory that is not kept comes from; NULL: from a pool that lives as long as the set-up */
  int           kt;        /* columns of a dense matrix for which a block's accumulators are to fit the shared memory; 1: a vector */
  int           tile;      /* threads that work on a tile: 256 or 512; 0: by rule */
};

#define CSRCTry(...) \
  do { \
    const cudaError_t csrc_try_ = __VA_ARGS__; \
    if (csrc_try_ != cudaSuccess) return csrc_try_; \
  } while (0)

/*
  Device memory of a set-up, from a pool: what is not kept is freed when it goes out of scope, whatever happens.
*/
struct CSRCScratch {
  cudaStream_t        stream;
  cudaMemPool_t       pool; /* NULL: the device's own */
  std::vector<void *> all;

  explicit CSRCScratch(cudaStream_t s, cudaMemPool_t p = nullptr) : stream(s), pool(p) { }
  ~CSRCScratch()
  {
    for (void *p : all) (void)cudaFreeAsync(p, stream);
  }
  template <class T>
  cudaError_t get(T **p, size_t n)
  {
    *p = nullptr;
    if (!n) n = 1;
    const cudaError_t err = pool ? cudaMallocFromPoolAsync((void **)p, n * sizeof(T), pool, stream) : cudaMallocAsync((void **)p, n * sizeof(T), stream);
    if (err == cudaSuccess) all.push_back(*p);
    return err;
  }
  /* frees p now, or leaves it to the caller */
  template <class T>
  void release(T **p, bool keep)
  {
    if (!*p) return;
    all.erase(std::find(all.begin(), all.end(), (void *)*p));
    if (!keep) {
      (void)cudaFreeAsync(*p, stream);
      *p = nullptr;
    }
  }
};

/*
  A pool of its own for what a set-up needs while it runs. It keeps what is freed, so that the next step gets it without
  asking the driver: the device's pool would give it back whenever the set-up waits. Destroyed with the set-up, it gives
  back all; nothing of the form is in it.
*/
struct CSRCWorkspace {
  cudaMemPool_t pool = nullptr;

  ~CSRCWorkspace()
  {
    if (pool) (void)cudaMemPoolDestroy(pool);
  }
  cudaError_t create(int device)
  {
    cudaMemPoolProps props = {};
    uint64_t         all   = UINT64_MAX;

    props.allocType     = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id   = device;
    CSRCTry(cudaMemPoolCreate(&pool, &props));
    return cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
  }
};

/* ------------------------------------------------------------------ 1. blocks, on the host */

/*
  Cuts the nonzeros of m rows into at least nblocks blocks of at most maxrows rows. A row of more than an eighth of a block
  may be cut; otherwise cuts move to the nearest end of a row. Every row is in a block, empty ones too.
*/
template <class Index>
static std::vector<CSRCBlock> CSRCCutBlocks(const Index *start, int m, int nblocks, int maxrows)
{
  std::vector<CSRCBlock> blocks;
  const int              nnz = (int)start[m];
  CSRCBlock              b   = {};
  const double           per = (double)nnz / std::max(1, nblocks);

  while (b.row < m) {
    /* the block begins at nonzero b.entry of row b.row */
    double target = per * (1 + (int)(b.entry / per + 0.5));
    if (target - b.entry < 0.5 * per) target += per;
    const int want = target >= nnz - 0.5 ? nnz : (int)target;
    int       r    = (int)(std::upper_bound(start + b.row, start + m + 1, (Index)want) - start) - 1; /* row that holds nonzero want; m if want is nnz */
    CSRCBlock next = b;

    next.split = 0;
    if (want >= nnz) r = m;
    if (r - b.row >= maxrows) { /* too many rows: end where they fit */
      next.row   = b.row + maxrows;
      next.entry = (int)start[next.row];
    } else if (r == m) {
      next.row   = m;
      next.entry = nnz;
    } else {
      const int before = want - (int)start[r], after = (int)start[r + 1] - want;

      if ((double)(before + after) > per / 8 && before > 0) { /* cut row r */
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

/* ------------------------------------------------------------------ 2. sort by block and column */

/* The block that holds nonzero k (by entry) or begins last at or before row r */
static __device__ __forceinline__ int CSRCFindBlock(const CSRCBlock *block, int nblocks, int entry)
{
  int lo = 0, hi = nblocks;

  while (hi - lo > 1) {
    const int mid = (lo + hi) / 2;

    if (block[mid].entry <= entry) lo = mid;
    else hi = mid;
  }
  return lo;
}

/* key = block << bits | column, place = number in the CSR. Thread: 4 nonzeros, 256 apart; all of them mostly in one block. */
template <class Key, class Index>
__global__ void CSRCKeysKernel(const CSRCBlock *block, int nblocks, int nnz, int bits, const Index *column, Key *key, int *place)
{
  for (int k = blockIdx.x * 1024 + threadIdx.x, e = 0; e < 4 && k < nnz; e++, k += 256) {
    key[k]   = ((Key)CSRCFindBlock(block, nblocks, k) << bits) | (Key)column[k];
    place[k] = k;
  }
}

/* runs[0] += nonzeros that begin a column of their block. Thread: one sorted nonzero. */
template <class Key>
__global__ void CSRCRunsKernel(int nnz, const Key *key, unsigned long long *runs)
{
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  const int c = __syncthreads_count(k < nnz && (k == 0 || key[k] != key[k - 1]));

  if (threadIdx.x == 0) atomicAdd(runs, (unsigned long long)c);
}

/* ------------------------------------------------------------------ 3. accumulators and groups */

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
template <int THREADS, int STEPS>
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
    const int  group = i / STEPS;
    const bool wants = k[i] >= 0 && !((taken[max(a[i], 0)] >> group) & 1);

    if (wants) owner[a[i]] = NOBODY;
    __syncthreads();
    if (wants) atomicMin(owner + a[i], tid);
    __syncthreads();
    const bool gets = wants && owner[a[i]] == tid;
    if (gets) taken[a[i]] |= 1 << group;
    else if (k[i] >= 0) late |= 1u << i;
    __syncthreads();
  }
#pragma unroll 1
  for (int round = 0; round < ROUNDS && __syncthreads_or(late != 0); round++) {
    /* the late nonzero that has its try in this round, and the one it would change with */
    const int mine = late ? __ffs(late) - 1 : 0, with = (mine + 1 + round % (CSRC_PER_LANE - 1)) % CSRC_PER_LANE, mygroup = mine / STEPS, withgroup = with / STEPS;
    int       am = -1, aw = -1;

#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) {
      if (i == mine) am = a[i];
      if (i == with) aw = a[i];
    }
    /* an empty place can be changed with, too: aw is -1 then */
    const bool tries = late && mygroup != withgroup && am != aw && !((taken[am] >> withgroup) & 1) && (aw < 0 || !((taken[aw] >> mygroup) & 1));
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

      taken[am] |= 1 << withgroup;
      if (aw >= 0) taken[aw] = (withlate ? taken[aw] : taken[aw] & ~(1 << withgroup)) | (1 << mygroup);
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

template <int THREADS, int STEPS>
static cudaError_t CSRCGroups(int ntiles, int naccs, cudaStream_t stream, const CSRCBlock *block, const int *tile, int nblocks, CSRCOrder order, const int *place, const uint16_t *acc, unsigned char *left, int *slot, int *nleft)
{
  const size_t shared = (size_t)naccs * (sizeof(int) + 1);

  CSRCTry(cudaFuncSetAttribute(CSRCGroupsKernel<THREADS, STEPS>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
  CSRCGroupsKernel<THREADS, STEPS><<<ntiles, THREADS, shared, stream>>>(block, tile, nblocks, naccs, order, place, acc, left, slot, nleft);
  return cudaGetLastError();
}

/* ------------------------------------------------------------------ 4. chunks */

/* The block that holds a chunk */
static __device__ __forceinline__ int CSRCBlockOfChunk(const CSRCBlock *block, int nblocks, int chunk)
{
  int lo = 0, hi = nblocks;

  while (hi - lo > 1) {
    const int mid = (lo + hi) / 2;

    if (block[mid].chunk <= chunk) lo = mid;
    else hi = mid;
  }
  return lo;
}

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

/* value of the CSR as the layout stores it, at its place */
template <class Scalar>
__device__ __forceinline__ void CSRCStoreValue(const CSRCBalancedForm<Scalar> &f, int chunk, int slot, Scalar value, const unsigned long long *bits, int ntable)
{
  using Real      = CSRCReal<Scalar>;
  const int lane  = slot / CSRC_PER_LANE, i = slot % CSRC_PER_LANE;
  constexpr int P = CSRCParts<Scalar>;

  if (f.values == CSRC_VALUES_TABLE) {
    int lo = 0;

    if constexpr (sizeof(Scalar) == 8 && P == 1) {
      const unsigned long long want = (unsigned long long)__double_as_longlong((double)value);
      int                      hi   = ntable;

      while (hi - lo > 1) {
        const int mid = (lo + hi) / 2;

        if (bits[mid] <= want) lo = mid;
        else hi = mid;
      }
    }
    f.v[(size_t)chunk * CSRC_CHUNK + lane * CSRC_PER_LANE + i] = (unsigned char)lo;
    return;
  }
#pragma unroll
  for (int p = 0; p < P; p++) {
    const int k = i * P + p; /* number of the real among the lane's */

    if (f.values == CSRC_VALUES_SINGLE || sizeof(Real) == 4) {
      float *v = reinterpret_cast<float *>(f.v + (size_t)chunk * (CSRC_CHUNK * 4 * P));

      v[(k / 4) * 128 + lane * 4 + k % 4] = (float)CSRCGetPart(value, p);
    } else {
      double *v = reinterpret_cast<double *>(f.v + (size_t)chunk * (CSRC_CHUNK * 8 * P));

      v[(k / 2) * 64 + lane * 2 + k % 2] = (double)CSRCGetPart(value, p);
    }
  }
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

/* New values at the places of the old ones. Thread: one slot. */
template <class Scalar>
__global__ void CSRCRefillKernel(CSRCBalancedForm<Scalar> f, const int *from, const Scalar *value, const unsigned long long *tablebits, int ntable)
{
  const size_t s = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

  if (s >= (size_t)f.nchunks * CSRC_CHUNK) return;
  const int src = from[s];
  CSRCStoreValue(f, (int)(s / CSRC_CHUNK), (int)(s % CSRC_CHUNK), src >= 0 ? value[src] : Scalar(0), tablebits, ntable);
}

/* ------------------------------------------------------------------ 5. leftovers */

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

template <class Scalar>
__global__ void CSRCLeftRefillKernel(int nleft, const int *list, const Scalar *value, Scalar *leftvalue)
{
  const int k = blockIdx.x * blockDim.x + threadIdx.x;

  if (k < nleft) leftvalue[k] = value[list[k]];
}

/* ------------------------------------------------------------------ values */

/*
  What the values allow. flags[0] = 1 if one is not what single precision makes of it (NaN counts as such: its payload may be
  lost); flags[1] = how many distinct bit patterns values of 8 bytes have, more than 256 if they are too many; set[4096] holds
  them, empty places being ~0 (a NaN that counts as too many).

  Thread block: values a grid apart; it collects patterns in shared memory, and adds them to those of all blocks at the end.
  It stops when neither form is possible, which with most matrices is soon.
*/
template <class Scalar>
__global__ void __launch_bounds__(256) CSRCClassifyKernel(int nnz, const Scalar *value, unsigned long long *set, int *flags)
{
  constexpr bool           TABLE = sizeof(Scalar) == 8;
  constexpr int            MANY = 256, SLOTS = 4 * MANY; /* as many again as there are threads may come too late to be told to stop */
  const unsigned long long empty = ~0ull;
  __shared__ unsigned long long     own[SLOTS];
  __shared__ volatile int           stop;
  __shared__ int                    count, inexact;

  for (int h = threadIdx.x; h < SLOTS; h += 256) own[h] = empty;
  if (threadIdx.x == 0) {
    count   = TABLE ? 0 : MANY + 1;
    inexact = stop = 0;
  }
  __syncthreads();
  bool exact = true;
  for (int k = blockIdx.x * 256 + threadIdx.x; k < nnz && !stop; k += gridDim.x * 256) {
    if (exact) {
#pragma unroll
      for (int p = 0; p < CSRCParts<Scalar>; p++) {
        const CSRCReal<Scalar> r = CSRCGetPart(value[k], p);

        if (!((CSRCReal<Scalar>)(float)r == r)) exact = false;
      }
      if (!exact) inexact = 1;
    }
    const int sofar = *(volatile int *)&count;
    if (sofar > MANY) {
      if (*(volatile int *)&inexact) stop = 1;
      continue;
    }
    if constexpr (TABLE) {
      const unsigned long long bits = reinterpret_cast<const unsigned long long *>(value)[k];

      if (bits == empty) atomicAdd(&count, MANY + 1);
      else {
        for (unsigned h = (unsigned)((bits * 0x9e3779b97f4a7c15ull) >> 40) % SLOTS;; h = (h + 1) % SLOTS) {
          unsigned long long old = ((volatile unsigned long long *)own)[h];

          if (old == empty) {
            old = atomicCAS(own + h, empty, bits);
            if (old == empty) atomicAdd(&count, 1);
          }
          if (old == empty || old == bits) break;
        }
      }
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    if (inexact) flags[0] = 1;
    if (count > MANY) atomicAdd(flags + 1, MANY + 1);
  }
  if (count > MANY) return;
  for (int s = threadIdx.x; s < SLOTS; s += 256) {
    const unsigned long long bits = own[s];

    if (bits == empty) continue;
    bool found = false;
    for (unsigned h = (unsigned)((bits * 0x9e3779b97f4a7c15ull) >> 40) & 4095, tries = 0; tries < 64 && !found; h = (h + 1) & 4095, tries++) {
      const unsigned long long old = atomicCAS(set + h, empty, bits);

      if (old == empty) atomicAdd(flags + 1, 1);
      found = old == empty || old == bits;
    }
    if (!found) atomicAdd(flags + 1, MANY + 1); /* so full it is only of too many */
  }
}

/* ------------------------------------------------------------------ the whole */

/* Everything a form has been made with that new values need */
template <class Scalar>
struct CSRCBalancedRefill {
  int                *from;      /* place in the CSR of each slot */
  int                *leftfrom;  /* and of each leftover */
  unsigned long long *tablebits; /* sorted bit patterns of the table */
  int                 ntable;
};

template <class Scalar>
static cudaError_t CSRCBalancedFree(CSRCBalancedForm<Scalar> *f, CSRCBalancedRefill<Scalar> *refill)
{
  void       *all[] = {f->block, f->copyof, f->head, f->v, f->table, f->acc, f->column, f->leftstart, f->leftrow, f->leftcolumn, f->leftvalue, f->carry, f->arrived, f->zero, f->rowcopy, refill->from, refill->leftfrom, refill->tablebits};
  cudaError_t err   = cudaSuccess;

  for (void *p : all) {
    if (!p) continue;
    const cudaError_t e = cudaFree(p);
    if (err == cudaSuccess) err = e;
  }
  *f      = CSRCBalancedForm<Scalar>();
  *refill = CSRCBalancedRefill<Scalar>();
  return err;
}

/* Device bytes of a form, without what refilling needs */
template <class Scalar>
static double CSRCBalancedBytes(const CSRCBalancedForm<Scalar> &f)
{
  double b = (f.nblocks + 1.0) * sizeof(CSRCBlock) + 2.0 * f.ncopies + 8.0 * f.nchunks + (2.0 + CSRCValueBytes<Scalar>(f.values)) * CSRC_CHUNK * f.nchunks + (double)f.columnbytes;

  if (f.values == CSRC_VALUES_TABLE) b += 256.0 * sizeof(Scalar);
  if (f.nleft) b += 4.0 * (f.nblocks + 1) + f.nleft * (6.0 + sizeof(Scalar));
  if (f.nsplit) b += 2.0 * f.nblocks * sizeof(Scalar) + 4.0 * f.nblocks;
  if (f.ncopies) b += 2.0 * (f.m + f.nblocks + 1.0);
  return b;
}

/*
  How values may be stored, into f->values; a table is made, if that is the way, into f->table and r->tablebits, which are
  the caller's to free (with cudaFreeAsync() or CSRCBalancedFree()).
*/
template <class Scalar>
static cudaError_t CSRCBalancedClassify(int nnz, const Scalar *value, bool compress, int sms, cudaMemPool_t pool, cudaStream_t stream, CSRCBalancedForm<Scalar> *f, CSRCBalancedRefill<Scalar> *r)
{
  CSRCScratch         scratch(stream, pool), kept(stream);
  unsigned long long *set;
  int                *counts, hostcounts[2]; /* inexact, distinct */

  f->values = CSRC_VALUES_FULL;
  if (!compress || sizeof(CSRCReal<Scalar>) != 8) return cudaSuccess;
  CSRCTry(scratch.get(&counts, 2));
  CSRCTry(cudaMemsetAsync(counts, 0, 2 * sizeof(int), stream));
  CSRCTry(scratch.get(&set, 4096));
  CSRCTry(cudaMemsetAsync(set, 0xff, 4096 * sizeof(*set), stream));
  CSRCClassifyKernel<<<std::min((nnz + 255) / 256, 4 * sms), 256, 0, stream>>>(nnz, value, set, counts);
  CSRCTry(cudaGetLastError());
  CSRCTry(cudaMemcpyAsync(hostcounts, counts, 2 * sizeof(int), cudaMemcpyDeviceToHost, stream));
  CSRCTry(cudaStreamSynchronize(stream));
  if (sizeof(Scalar) == 8 && hostcounts[1] <= 255) { /* and a zero, as which padding is stored */
    std::vector<unsigned long long> bits(4096);

    CSRCTry(cudaMemcpyAsync(bits.data(), set, 4096 * sizeof(*set), cudaMemcpyDeviceToHost, stream));
    CSRCTry(cudaStreamSynchronize(stream));
    bits.erase(std::remove(bits.begin(), bits.end(), ~0ull), bits.end());
    bits.push_back(0);
    std::sort(bits.begin(), bits.end());
    bits.erase(std::unique(bits.begin(), bits.end()), bits.end());
    r->ntable = (int)bits.size();
    bits.resize(256, 0);
    CSRCTry(kept.get(&f->table, 256));
    CSRCTry(kept.get(&r->tablebits, 256));
    CSRCTry(cudaMemcpyAsync(f->table, bits.data(), 256 * sizeof(*set), cudaMemcpyHostToDevice, stream));
    CSRCTry(cudaMemcpyAsync(r->tablebits, bits.data(), 256 * sizeof(*set), cudaMemcpyHostToDevice, stream));
    CSRCTry(cudaStreamSynchronize(stream));
    kept.all.clear();
    f->values = CSRC_VALUES_TABLE;
  } else if (!hostcounts[0]) f->values = CSRC_VALUES_SINGLE;
  return cudaSuccess;
}

/*
  Input Parameters:
+ m, n, nnz      - sizes; nnz > 0 and all below 2^31
. hoststart      - row starts on the host, m + 1
. start, column  - CSR on the device
. value          - its values, on the device
. params         - see CSRCBalancedParams
. keepfrom       - whether what new values need is kept
- stream         - where the work is done; the function waits for it several times

  Output Parameters:
+ form   - the layout
- refill - what new values need, if asked for

  Leaves nothing allocated if it fails.
*/
template <class Scalar, class Key, class Index>
static cudaError_t CSRCBalancedBuildKeyed(int m, int n, int nnz, int bits, const Index *hoststart, const Index *start, const Index *column, const Scalar *value, CSRCBalancedParams params, bool keepfrom, cudaStream_t stream, CSRCBalancedForm<Scalar> *form, CSRCBalancedRefill<Scalar> *refill)
{
  CSRCBalancedForm<Scalar>   f = {};
  CSRCBalancedRefill<Scalar> r = {};
  int                        device, sms, maxshared;

  *form   = f;
  *refill = r;
  CSRCTry(cudaGetDevice(&device));
  CSRCWorkspace workspace;
  if (!params.workspace) CSRCTry(workspace.create(device));
  const cudaMemPool_t pool = params.workspace ? params.workspace : workspace.pool;
  CSRCScratch         scratch(stream, pool), kept(stream);
  CSRCTry(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  CSRCTry(cudaDeviceGetAttribute(&maxshared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));

  /*
    Accumulators that fit: once, beside the lists of the transposed product with 512 threads and a table; twice, for two domains of
    A x; kt times. For a vector, two domains with tiles of 256 are faster than one with tiles of 512, and even than larger blocks. A
    few rows' room is left for copies.
  */
  const size_t room    = (size_t)maxshared - 1536 - 256 * sizeof(Scalar);
  const int    once    = std::min<int>((int)((room - 16 * (CSRC_CHUNK + 32) * (sizeof(Scalar) + sizeof(int))) / sizeof(Scalar)), 65535);
  const int    twice   = std::min<int>((int)(room / 2 / sizeof(Scalar)), once);
  const double persm   = params.kt > 1 ? 1 : params.persm;
  const int    rows    = (int)(m / (sms * persm)) + 1;
  const bool   large   = params.kt > 1 || (persm < 1 && rows + rows / 16 + 512 <= once && rows + rows / 16 + 256 > twice);
  const int    threads = params.tile ? params.tile : large ? 512 : 256, warps = threads / 32;
  const int    maxacc  = params.kt > 1 ? std::min<int>(once - threads, (int)((maxshared - 256 * sizeof(Scalar)) / (params.kt * sizeof(Scalar))) - 1) : (threads == 512 ? once : twice) - threads;
  const int    maxrows = std::max(1, maxacc - maxacc / 16);
  /* as many for each multiprocessor as it takes */
  const int    wanted  = params.kt > 1 ? sms * ((int)(m / (0.97 * maxrows * sms)) + 1) : std::max((int)(sms * persm), rows > maxrows ? (int)((m + (long long)maxrows * sms - 1) / ((long long)maxrows * sms)) * sms : 0);

  f.m       = m;
  f.n       = n;
  f.nnz     = nnz;
  f.threads = threads;
  std::vector<CSRCBlock> blocks = CSRCCutBlocks(hoststart, m, std::min(wanted, std::max(1, nnz / CSRC_CHUNK)), maxrows);
  f.nblocks = (int)blocks.size() - 1;
  f.team    = 2 * f.nblocks <= sms && persm < 1 ? (int)(1 / persm) : 1;
  f.nchunks = blocks.back().chunk;
  for (const CSRCBlock &b : blocks) f.nsplit += (b.split & 2) != 0;
  CSRCTry(kept.get(&f.block, blocks.size()));
  CSRCTry(cudaMemcpyAsync(f.block, blocks.data(), blocks.size() * sizeof(CSRCBlock), cudaMemcpyHostToDevice, stream));

  /* 2. */
  Key                *key, *key2;
  int                *place, *place2;
  void               *temp;
  size_t              tempbytes = 0;
  int                 blockbits = 1;
  unsigned long long *runs, hostruns = 0;

  while ((1 << blockbits) < f.nblocks) blockbits++;
  CSRCTry(scratch.get(&key, nnz));
  CSRCTry(scratch.get(&key2, nnz));
  CSRCTry(scratch.get(&place, nnz));
  CSRCTry(scratch.get(&place2, nnz));
  CSRCTry(scratch.get(&runs, 1));
  CSRCKeysKernel<<<(nnz + 1023) / 1024, 256, 0, stream>>>(f.block, f.nblocks, nnz, bits, column, key, place);
  CSRCTry(cudaGetLastError());
  cub::DoubleBuffer<Key> keys(key, key2);
  cub::DoubleBuffer<int> places(place, place2);
  CSRCTry(cub::DeviceRadixSort::SortPairs(nullptr, tempbytes, keys, places, nnz, 0, bits + blockbits, stream));
  CSRCTry(scratch.get((char **)&temp, tempbytes));
  CSRCTry(cub::DeviceRadixSort::SortPairs(temp, tempbytes, keys, places, nnz, 0, bits + blockbits, stream));
  scratch.release(&temp, false);
  const Key *sortedkey   = keys.Current();
  const int *sortedplace = places.Current();
  {
    Key *otherkey   = keys.Alternate();
    int *otherplace = places.Alternate();

    scratch.release(&otherkey, false);
    scratch.release(&otherplace, false);
  }
  CSRCTry(cudaMemsetAsync(runs, 0, sizeof(*runs), stream));
  CSRCRunsKernel<<<(nnz + 255) / 256, 256, 0, stream>>>(nnz, sortedkey, runs);
  CSRCTry(cudaGetLastError());
  CSRCTry(cudaMemcpyAsync(&hostruns, runs, sizeof(hostruns), cudaMemcpyDeviceToHost, stream));
  CSRCTry(cudaStreamSynchronize(stream));
  f.meanrun = (double)nnz / (double)std::max<unsigned long long>(1, hostruns);
  f.order   = params.order >= 0 ? (CSRCOrder)params.order : f.meanrun > 2.6 || params.kt > 1 ? CSRC_CONSECUTIVE : CSRC_INTERLEAVED;

  /* 3. */
  uint16_t        *acc, *firstcopy;
  unsigned char   *left;
  int             *ncopies, *counts, *tile, *slot; /* counts[0]: leftovers */
  float           *shares;
  const size_t     slots   = (size_t)f.nchunks * CSRC_CHUNK;
  const float      tries[] = {8.0f, 4.0f, 2.0f, 1.0f, 0.5f, 0.25f}; /* the first would do without copies but for the heaviest rows */
  std::vector<int> hosttile(f.nblocks + 1, 0), hostcopies(f.nblocks); /* tiles are numbered through all blocks; hosttile: the first of each */

  for (int g = 0; g < f.nblocks; g++) hosttile[g + 1] = hosttile[g] + (blocks[g + 1].chunk - blocks[g].chunk + warps - 1) / warps;
  CSRCTry(scratch.get(&acc, nnz));
  CSRCTry(scratch.get(&left, nnz));
  CSRCTry(scratch.get(&slot, slots));
  CSRCTry(kept.get(&firstcopy, (size_t)m + f.nblocks + 1));
  CSRCTry(scratch.get(&ncopies, f.nblocks));
  CSRCTry(scratch.get(&shares, f.nblocks));
  CSRCTry(scratch.get(&counts, 1));
  CSRCTry(scratch.get(&tile, f.nblocks + 1));
  CSRCTry(cudaMemcpyAsync(tile, hosttile.data(), hosttile.size() * sizeof(int), cudaMemcpyHostToDevice, stream));
  for (float share : tries) {
    if (params.kt > 1 && share > 4) continue; /* leftovers cost more there */
    const int per = threads * CSRC_PER_LANE;

    f.share = share;
    CSRCCopiesKernel<<<f.nblocks, 512, 0, stream>>>(f.block, start, per, share, maxacc, firstcopy, ncopies, shares);
    CSRCTry(cudaGetLastError());
    CSRCTry(cudaMemsetAsync(counts, 0, sizeof(int), stream));
    CSRCTry(cudaMemsetAsync(slot, 0xff, slots * sizeof(int), stream));
    CSRCTry(cudaMemcpyAsync(hostcopies.data(), ncopies, f.nblocks * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CSRCTry(cudaStreamSynchronize(stream));
    int most = 0; /* accumulators of a block */
    for (int g = 0; g < f.nblocks; g++) {
      blocks[g + 1].copy = blocks[g].copy + hostcopies[g];
      most               = std::max(most, blocks[g].nrows + hostcopies[g]);
    }
    f.ncopies = blocks[f.nblocks].copy;
    CSRCTry(cudaMemcpyAsync(f.block, blocks.data(), blocks.size() * sizeof(CSRCBlock), cudaMemcpyHostToDevice, stream));
    kept.release(&f.copyof, false);
    CSRCTry(kept.get(&f.copyof, f.ncopies));
    CSRCAccumulatorsKernel<<<(int)(((long long)m * 8 + 255) / 256), 256, 0, stream>>>(f.block, f.nblocks, m, start, per, shares, firstcopy, acc, f.copyof);
    CSRCTry(cudaGetLastError());
    f.accumulators = most + threads;
    CSRCTry((threads == 512 ? CSRCGroups<512, CSRC_BALANCED_STEPS> : CSRCGroups<256, CSRC_BALANCED_STEPS>)(hosttile[f.nblocks], most, stream, f.block, tile, f.nblocks, f.order, sortedplace, acc, left, slot, counts));
    CSRCTry(cudaMemcpyAsync(&f.nleft, counts, sizeof(int), cudaMemcpyDeviceToHost, stream));
    CSRCTry(cudaStreamSynchronize(stream));
    if (f.nleft <= nnz / 300) break;
  }

  CSRCTry(CSRCBalancedClassify(nnz, value, params.compress, sms, pool, stream, &f, &r));
  if (f.table) {
    kept.all.push_back(f.table);
    kept.all.push_back(r.tablebits);
  }

  /* 4. */
  unsigned long long *size, *at, bytes;

  CSRCTry(scratch.get(&size, (size_t)f.nchunks + 1));
  CSRCTry(scratch.get(&at, (size_t)f.nchunks + 1));
  CSRCColumnSizesKernel<<<(f.nchunks + 256) / 256, 256, 0, stream>>>(f.block, f.nblocks, f.nchunks, bits, sortedkey, size);
  CSRCTry(cudaGetLastError());
  tempbytes = 0;
  CSRCTry(cub::DeviceScan::ExclusiveSum(nullptr, tempbytes, size, at, f.nchunks + 1, stream));
  CSRCTry(scratch.get((char **)&temp, tempbytes));
  CSRCTry(cub::DeviceScan::ExclusiveSum(temp, tempbytes, size, at, f.nchunks + 1, stream));
  CSRCTry(cudaMemcpyAsync(&bytes, at + f.nchunks, sizeof(bytes), cudaMemcpyDeviceToHost, stream));
  CSRCTry(cudaStreamSynchronize(stream));
  scratch.release(&temp, false);
  f.columnbytes = bytes;
  CSRCTry(kept.get(&f.head, f.nchunks));
  CSRCTry(kept.get(&f.column, f.columnbytes));
  CSRCTry(kept.get(&f.acc, (size_t)f.nchunks * CSRC_CHUNK));
  CSRCTry(kept.get(&f.v, (size_t)f.nchunks * CSRC_CHUNK * CSRCValueBytes<Scalar>(f.values)));
  if (keepfrom) CSRCTry(kept.get(&r.from, (size_t)f.nchunks * CSRC_CHUNK));
  if (f.nsplit) {
    CSRCTry(kept.get(&f.carry, 2 * (size_t)f.nblocks));
    CSRCTry(kept.get(&f.arrived, f.nblocks));
    CSRCTry(cudaMemsetAsync(f.arrived, 0, f.nblocks * sizeof(*f.arrived), stream));
  }
  CSRCTry(kept.get(&f.zero, 2));
  CSRCTry(cudaMemsetAsync(f.zero, 0, 2 * sizeof(*f.zero), stream));
  if (f.ncopies) f.rowcopy = firstcopy;
  else kept.release(&firstcopy, false);
  CSRCEncodeKernel<<<(int)(((long long)f.nchunks * 32 + 255) / 256), 256, 0, stream>>>(f, bits, sortedkey, sortedplace, acc, slot, at, value, r.tablebits, r.ntable, r.from);
  CSRCTry(cudaGetLastError());

  /* 5. */
  if (f.nleft) {
    int *list, *sorted;

    CSRCTry(scratch.get(&list, f.nleft));
    CSRCTry(scratch.get(&sorted, f.nleft));
    CSRCTry(cudaMemsetAsync(counts, 0, sizeof(int), stream));
    CSRCLeftKernel<<<(nnz + 255) / 256, 256, 0, stream>>>(nnz, left, sortedplace, counts, list);
    CSRCTry(cudaGetLastError());
    tempbytes = 0;
    CSRCTry(cub::DeviceRadixSort::SortKeys(nullptr, tempbytes, list, sorted, f.nleft, 0, 31, stream));
    CSRCTry(scratch.get((char **)&temp, tempbytes));
    CSRCTry(cub::DeviceRadixSort::SortKeys(temp, tempbytes, list, sorted, f.nleft, 0, 31, stream));
    CSRCTry(kept.get(&f.leftstart, f.nblocks + 1));
    CSRCTry(kept.get(&f.leftrow, f.nleft));
    CSRCTry(kept.get(&f.leftcolumn, f.nleft));
    CSRCTry(kept.get(&f.leftvalue, f.nleft));
    CSRCLeftStartKernel<<<(f.nblocks + 256) / 256, 256, 0, stream>>>(f.block, f.nblocks, f.nleft, sorted, f.leftstart);
    CSRCTry(cudaGetLastError());
    CSRCLeftEncodeKernel<<<(f.nleft + 255) / 256, 256, 0, stream>>>(f, sorted, start, column, value);
    CSRCTry(cudaGetLastError());
    if (keepfrom) {
      CSRCTry(kept.get(&r.leftfrom, f.nleft));
      CSRCTry(cudaMemcpyAsync(r.leftfrom, sorted, f.nleft * sizeof(int), cudaMemcpyDeviceToDevice, stream));
    }
  }
  CSRCTry(CSRCBalancedPrepare(&f));
  CSRCTry(cudaStreamSynchronize(stream)); /* kernels that begin early read what stands here */
  kept.all.clear(); /* now the caller's */
  *form   = f;
  *refill = r;
  return cudaSuccess;
}

/* As CSRCBalancedBuildKeyed(), with keys of 32 bits where they suffice */
template <class Scalar, class Index>
static cudaError_t CSRCBalancedBuild(int m, int n, int nnz, const Index *hoststart, const Index *start, const Index *column, const Scalar *value, CSRCBalancedParams params, bool keepfrom, cudaStream_t stream, CSRCBalancedForm<Scalar> *form, CSRCBalancedRefill<Scalar> *refill)
{
  int bits = 1, blockbits = 10;

  while (bits < 31 && (1 << bits) < n) bits++;
  /* blocks: a few for each multiprocessor, and one more for every few thousand rows */
  while ((1ll << blockbits) < 1024 + m / (params.kt > 1 ? 1024 : 2048)) blockbits++;
  if (bits + blockbits <= 32) return CSRCBalancedBuildKeyed<Scalar, uint32_t>(m, n, nnz, bits, hoststart, start, column, value, params, keepfrom, stream, form, refill);
  return CSRCBalancedBuildKeyed<Scalar, unsigned long long>(m, n, nnz, bits, hoststart, start, column, value, params, keepfrom, stream, form, refill);
}

/*
  New values, on the device, in the order of the CSR. fits = false, and nothing has changed, if they cannot be stored as the
  old ones are: then the layout is to be built anew.
*/
template <class Scalar>
static cudaError_t CSRCBalancedSetValues(CSRCBalancedForm<Scalar> *f, CSRCBalancedRefill<Scalar> *r, const Scalar *value, bool compress, cudaStream_t stream, bool *fits)
{
  const size_t               slots = (size_t)f->nchunks * CSRC_CHUNK;
  CSRCBalancedForm<Scalar>   newform   = *f;
  CSRCBalancedRefill<Scalar> newrefill = *r;

  *fits = true;
  if (f->values != CSRC_VALUES_FULL) {
    newform.table       = nullptr;
    newrefill.tablebits = nullptr;
    CSRCTry(CSRCBalancedClassify(f->nnz, value, compress, 64, nullptr, stream, &newform, &newrefill));
    /* a table's values are single precision often enough, but are not stored so */
    *fits = newform.values == f->values;
    Scalar             *droptable = *fits ? f->table : newform.table;
    unsigned long long *dropbits  = *fits ? r->tablebits : newrefill.tablebits;
    if (*fits) {
      *f = newform;
      *r = newrefill;
    }
    if (droptable) CSRCTry(cudaFreeAsync(droptable, stream));
    if (dropbits) CSRCTry(cudaFreeAsync(dropbits, stream));
    if (!*fits) return cudaSuccess;
  }
  CSRCRefillKernel<<<(unsigned)((slots + 255) / 256), 256, 0, stream>>>(*f, r->from, value, r->tablebits, r->ntable);
  CSRCTry(cudaGetLastError());
  if (f->nleft) {
    CSRCLeftRefillKernel<<<(f->nleft + 255) / 256, 256, 0, stream>>>(f->nleft, r->leftfrom, value, f->leftvalue);
    CSRCTry(cudaGetLastError());
  }
  return cudaSuccess;
}
