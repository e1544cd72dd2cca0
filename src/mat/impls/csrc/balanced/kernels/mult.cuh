#pragma once

/*
  y = A x + z, or with the conjugate of A, for one vector, with the balanced layout of CSRC. A is the matrix that is stored, which may be
  the transpose of the user's matrix.
*/
#include "chunk.cuh"
#include "launch.cuh"
#include "shared.cuh"

/* A barrier of the WARPS warps of one group */
template <int WARPS>
__device__ __forceinline__ void CSRCGroupBarrier(int group)
{
  asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(32 * WARPS) : "memory");
}

/*
  Reads, at the same address as 'mine', the shared memory of another thread block of the cluster. CSRCClusterBarrier() is a barrier of the
  cluster.
*/
template <class Scalar>
__device__ __forceinline__ Scalar CSRCClusterRead(const Scalar *mine, unsigned rank)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  const Scalar *theirs;

  asm("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(mine), "r"(rank));
  return *theirs;
#else
  return *mine; /* this architecture has no clusters */
#endif
}
__device__ __forceinline__ void CSRCClusterBarrier()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#endif
}

/* The sum of s over this lane and those later lanes that have the same key; keys ascend along the warp */
template <class Scalar>
__device__ __forceinline__ Scalar CSRCSumOfKey(Scalar s, int key)
{
#pragma unroll
  for (int o = 1; o < 32; o *= 2) {
    const Scalar t     = CSRCShuffleDown(s, o);
    const int    other = __shfl_down_sync(0xffffffffu, key, o);

    if ((threadIdx.x & 31) + o < 32 && other == key) s += t;
  }
  return s;
}

/*
  Adds items begin .. end - 1 to the sums of their rows: item(k) is a scalar, rowof(k) its row; rows ascend. Each of the thread block's
  WARPS warps takes an equal part of the items, 32 at a time. A row that began in an earlier part belongs to another warp: the sum of this
  warp for it goes to endrows and endsums, which the first warp adds. The order of sums is fixed. All threads call it, and all sums are
  complete on return.
*/
template <int WARPS, class Scalar, class RowOf, class Item>
__device__ __forceinline__ void CSRCAddByRow(int begin, int end, const RowOf &rowof, const Item &item, Scalar *sums, int *endrows, Scalar *endsums)
{
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, each = (end - begin + 32 * WARPS - 1) / (32 * WARPS) * 32;
  const int from = min(begin + warp * each, end), to = min(from + each, end), open = begin < from && from < to ? rowof(from - 1) : -1; /* the last row of the previous part */
  Scalar    carry  = Scalar(0);
  bool      goeson = false;

  for (int k0 = from; k0 < to; k0 += 32) {
    const int    k = k0 + lane, row = k < to ? rowof(k) : -1, before = __shfl_up_sync(0xffffffffu, row, 1);
    const Scalar s = CSRCSumOfKey(k < to ? item(k) : Scalar(0), row);

    if (row >= 0 && (lane == 0 || row != before)) {
      if (row == open) {
        carry += s;
        goeson = true;
      } else sums[CSRCSwizzle(row)] += s;
    }
    __syncwarp(); /* the next 32 items may belong to the same row */
  }
  if (lane == 0) {
    endrows[warp] = goeson ? open : -1;
    endsums[warp] = carry;
  }
  __syncthreads();
  if (warp == 0) {
    const int    row = lane < WARPS ? endrows[lane] : -1, before = __shfl_up_sync(0xffffffffu, row, 1);
    const Scalar s = CSRCSumOfKey(lane < WARPS ? endsums[lane] : Scalar(0), row);

    if (row >= 0 && (lane == 0 || row != before)) sums[CSRCSwizzle(row)] += s;
  }
  __syncthreads();
}

/*
  Finishes those rows of row block g that are split among row blocks. Each row block stores its partial sum in carry. The last one to do so
  adds all partial sums of the row, in the order of the row blocks. Warp 0 does this for the first row of the row block, warp 1 for its last
  row, if that is another row and continues in the next row block. partof(i) is the row block's partial sum of its row i; it is valid in the
  thread block of a cluster that has added it up.
*/
template <class Scalar, class PartOf>
__device__ __forceinline__ void CSRCSplitRows(const CSRCBalancedMatrix<Scalar> &A, const CSRCRowBlock &b, int g, int rank, int cluster, const Scalar *z, Scalar *y, const PartOf &partof)
{
  const int  warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  const bool first = b.split & 1, last = (b.split & 2) && !(first && b.nrows == 1);

  if (warp > 1 || !(warp ? last : first)) return;
  const int i = warp ? b.nrows - 1 : 0, owner = warp ? g : b.owner, sharers = A.block[owner].sharers;
  int       all = 0;

  if (rank != ((i + 1) * cluster - 1) / b.nrows) return;
  if (lane == 0) {
    A.carry[owner == g ? 2 * g + 1 : 2 * g] = partof(i);
    __threadfence();
    all = atomicInc(A.arrived + owner, (unsigned)sharers - 1) == (unsigned)sharers - 1; /* the counter returns to zero after 'sharers' increments */
    __threadfence();
  }
  if (!__shfl_sync(0xffffffffu, all, 0)) return;
  __syncwarp(); /* what lane 0 has seen, all lanes see */
  Scalar s = Scalar(0);
  for (int q = lane; q < sharers; q += 32) {
    const volatile CSRCReal<Scalar> *carry = reinterpret_cast<const volatile CSRCReal<Scalar> *>(A.carry + (q ? 2 * (owner + q) : 2 * owner + 1));
    CSRCReal<Scalar>                 part[CSRCParts<Scalar>];

#pragma unroll
    for (int p = 0; p < CSRCParts<Scalar>; p++) part[p] = carry[p];
    s += CSRCFromParts<Scalar>(part, 1);
  }
#pragma unroll
  for (int o = 16; o; o >>= 1) s += CSRCShuffleDown(s, o);
  if (lane == 0) y[b.row + i] = z ? s + z[b.row + i] : s;
}

/*
  y = A x + z, or with the conjugate of A

  Thread block  one row block; with CLUSTER the thread blocks of a cluster share the tiles of one row block
  Warp group    WARPS warps that process one tile at a time. A group has its own barrier, and its own sums for all rows of the row block: while
                one group waits, another one works
  Warp          one chunk of each tile of its group
  Lane          8 nonzeros of the chunk. Its part of the next chunk is loaded while products are added. Entries of x are not loaded ahead,
                since registers for them would leave room for fewer warps
  Bytes         per nonzero: its value, 2 for the accumulator, 1/8 to 4 for the column, 8/256 for the head; the entry of x mostly comes from the
                caches. Per row: its entry of y is written, and that of z is read, if there is one
  Atomic        only the counter of stored partial sums of a row that is split among row blocks. The order of sums is fixed
  Shared        dynamic: CSRCMultShared
  Gains         conflict-free steps 1.6 over lanes that add in turns (V1), warp groups 1.1 over one group (V5), entries of x not loaded ahead
                1.1 (V6), loads by predicate 1.05 to 1.15 (V22), clusters 0.94 to 1.12, and 1.2 to 1.35 in A^T u, where columns are scattered (V37)
*/
template <class Scalar, CSRCValues VALUES, CSRCCoding CODING, bool CONJUGATE, int WARPS, int GROUPS, bool CLUSTER>
__global__ void __launch_bounds__(32 * WARPS * GROUPS) CSRCBalancedMultKernel(const CSRCBalancedMatrix<Scalar> A, const Scalar *x, const Scalar *z, Scalar *y)
{
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int                                 THREADS = 32 * WARPS * GROUPS, ALLWARPS = WARPS * GROUPS;
  __shared__ __align__(16) unsigned char endsmemory[ALLWARPS * sizeof(Scalar)];
  __shared__ int                         endrows[ALLWARPS];
  Scalar *const                          endsums = reinterpret_cast<Scalar *>(endsmemory);
  const int                              tid = threadIdx.x, lane = tid & 31, blockwarp = tid >> 5, group = blockwarp / WARPS, warp = blockwarp % WARPS;
  const int                              cluster = CLUSTER ? A.cluster : 1, g = blockIdx.x / cluster, rank = blockIdx.x % cluster, step = cluster * GROUPS * WARPS;
  const CSRCMultShared<Scalar>           memory(shared, A, VALUES, GROUPS);
  Scalar *const sums = memory.sums, *const sum = sums + group * A.accumulators, *const table = memory.table;
  const CSRCThisRowBlock b(A, g);
  const int              end   = b.endchunk;
  int                    first = b.chunk + (rank * GROUPS + group) * WARPS; /* first chunk of the group's tile */

  CSRCLaneChunk<Scalar, VALUES, CODING> a;
  int2                                  head1 = make_int2(0, 0);

  if (first + warp < end) {
    CSRCLoadChunk(a, A, first + warp, lane, A.head[first + warp]);
    head1 = A.head[min(first + warp + step, end - 1)];
  }
  int lstart = 0, lend = 0; /* overflow */
  if (A.noverflow && rank == 0) {
    lstart = A.overflowstart[g];
    lend   = A.overflowstart[g + 1];
  }
  CSRCLoadTable<VALUES, THREADS>(A, table);
  const int used = (b.naccs + 32 * WARPS + 15) / 16 * 16; /* number of accumulators of the row block, including those of a group's threads for padding */
#pragma unroll
  for (int d = 0; d < GROUPS; d++) {
#pragma unroll 4
    for (int t = tid; t < used; t += THREADS) sums[d * A.accumulators + t] = Scalar(0);
  }
  CSRCLetNextBegin();
  CSRCWaitPrevious();
  __syncthreads();

  const unsigned padding = CSRCSwizzle(b.naccs + warp * 32 + lane); /* the thread's own accumulator, for a chunk that does not exist */
  for (; first < end; first += step) {
    const int chunk = first + warp;
    uint4     acc   = make_uint4(padding * 0x10001u, padding * 0x10001u, padding * 0x10001u, padding * 0x10001u);
    Scalar    product[CSRC_PER_LANE];

#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) product[i] = Scalar(0);
    if (chunk < end) {
      Scalar xs[CSRC_PER_LANE];
      int    column[CSRC_PER_LANE];

      CSRCColumns(A, a, column);
#pragma unroll
      for (int i = 0; i < CSRC_PER_LANE; i++) xs[i] = x[column[i]];
      acc = a.acc;
#pragma unroll
      for (int i = 0; i < CSRC_PER_LANE; i++) product[i] = CSRCProduct<CONJUGATE>(CSRCValue<Scalar, VALUES>(a, i, table), xs[i]);
    }
    CSRCLoadChunk(a, A, chunk + step, lane, head1, chunk + step < end); /* no branch, see CSRCLoad16() */
    head1 = A.head[min(chunk + 2 * step, end - 1)];                     /* unconditional: otherwise the compiler would wait for this load */
#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) { /* a step: nonzeros of one step have different accumulators */
      sum[CSRCSwizzledAccumulator(acc, i)] += product[i];
      CSRCGroupBarrier<WARPS>(group);
    }
  }
  __syncthreads();

  /* the overflow, and the sums of replicas */
  const auto total = [&](int t) {
    const int at = CSRCSwizzle(t);
    Scalar    s  = sums[at];

#pragma unroll
    for (int d = 1; d < GROUPS; d++) s += sums[d * A.accumulators + at];
    return s;
  };
  if (lstart < lend)
    CSRCAddByRow<ALLWARPS>(
      lstart, lend, [&](int k) { return (int)A.overflowrow[k]; }, [&](int k) { return CSRCProduct<CONJUGATE>(A.overflowvalue[k], x[A.overflowcolumn[k]]); }, sums, endrows, endsums);
  if (b.nreplicas)
    CSRCAddByRow<ALLWARPS>(
      0, b.nreplicas, [&](int k) { return (int)A.replicarow[b.replica + k]; }, [&](int k) { return total(b.nrows + k); }, sums, endrows, endsums);

  /* writes y; a first or last row that is split among row blocks follows below */
  const int lo = b.split & 1, hi = b.nrows - (b.split >> 1);
  if (cluster > 1) {
    for (int i = tid; i < b.nrows; i += THREADS) sums[CSRCSwizzle(i)] = total(i);
    CSRCClusterBarrier();
    for (int i = (int)((long long)b.nrows * rank / cluster) + tid; i < (int)((long long)b.nrows * (rank + 1) / cluster); i += THREADS) {
      Scalar s = CSRCClusterRead(sums + CSRCSwizzle(i), 0);

      for (int r = 1; r < cluster; r++) s += CSRCClusterRead(sums + CSRCSwizzle(i), r);
      if (i < lo || i >= hi) sums[CSRCSwizzle(i)] = s;
      else y[b.row + i] = z ? s + z[b.row + i] : s;
    }
    CSRCClusterBarrier(); /* other thread blocks may still read these sums */
  } else {
#pragma unroll 4
    for (int i = lo + tid; i < hi; i += THREADS) {
      Scalar s = total(i);

      if (z) s += z[b.row + i];
      y[b.row + i] = s;
    }
  }
  if (!b.split) return;

  if (cluster > 1) __syncthreads();
  CSRCSplitRows(A, b, g, rank, cluster, z, y, [&](int i) { return cluster > 1 ? sums[CSRCSwizzle(i)] : total(i); });
}

/* The kernel for the product with this matrix, and the number of its threads */
template <bool CONJUGATE, class Scalar>
static auto CSRCMultKernel(const CSRCBalancedMatrix<Scalar> &A)
{
  const int groups = A.groups == 1 && A.tilethreads == 512 ? 0 : A.groups; /* 0: one group of 16 warps; the others have 8 */

  return CSRCSelect(
    [](auto values, auto coding, auto cluster, auto groups) {
      constexpr int WARPS = decltype(groups)::value ? 8 : 16, GROUPS = decltype(groups)::value ? decltype(groups)::value : 1;

      return CSRCBalancedMultKernel<Scalar, decltype(values)::value, decltype(coding)::value, CONJUGATE, WARPS, GROUPS, decltype(cluster)::value>;
    },
    CSRCOneOfValues{A.values}, CSRCOneOf<CSRC_SPLIT, CSRC_BY_LANE>{A.coding}, CSRCOneOf<true, false>{A.cluster > 1}, CSRCOneOf<3, 2, 1, 0>{groups});
}
template <class Scalar>
static int CSRCMultThreads(const CSRCBalancedMatrix<Scalar> &A)
{
  return A.groups == 1 ? A.tilethreads : 256 * A.groups;
}

/* y = A x + z, or with the conjugate of A; z may be NULL or y */
template <bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedMult(const CSRCBalancedMatrix<Scalar> &A, const Scalar *x, const Scalar *z, Scalar *y, cudaStream_t stream)
{
  return CSRCLaunch(CSRCMultKernel<CONJUGATE>(A), A.nblocks * A.cluster, CSRCMultThreads(A), CSRCSharedBytes<CSRCMultShared<Scalar>>(A, A.values, A.groups), A.cluster, A.early, stream, A, x, z, y);
}
