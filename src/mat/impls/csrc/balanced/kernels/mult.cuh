#pragma once

/*
  y = A x + z and v = A^T u + z, or with the conjugate of A, from the balanced layout of CSRC, for one vector. A is what the form was
  made from, which may be the transpose of the matrix. Here is the kernel of A x, and the choice among the kernels of both products;
  multtranspose.cuh has the kernel of A^T u, multtransposerepeatable.cuh A^T u with the same bits every time.
*/
#include "multtranspose.cuh"
#include <algorithm>

/* A barrier of the WARPS warps of one domain */
template <int WARPS>
__device__ __forceinline__ void CSRCDomainBarrier(int domain)
{
  asm volatile("bar.sync %0, %1;" ::"r"(domain + 1), "n"(32 * WARPS) : "memory");
}

/* Reads the same place in the shared memory of another thread block of the cluster; below, a barrier of the cluster */
template <class Scalar>
__device__ __forceinline__ Scalar CSRCTeamRead(const Scalar *mine, unsigned rank)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  const Scalar *theirs;

  asm("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(mine), "r"(rank));
  return *theirs;
#else
  return *mine; /* there are no teams */
#endif
}
__device__ __forceinline__ void CSRCTeamBarrier()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#endif
}

/* The sum of s over this lane and those after it with the same key; keys ascend along the warp */
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
  Adds items begin .. end - 1 to the sums of their rows: item(k) is a scalar, rowof(k) its row, and rows ascend. Each of the thread block's
  WARPS warps takes an equal part, 32 items at a time. A row that began in an earlier part belongs to another warp: what this warp has of it
  goes to endrows and endsums, which the first warp adds. The order is fixed. All threads call it, and all sums are complete on return.
*/
template <int WARPS, class Scalar, class RowOf, class Item>
__device__ __forceinline__ void CSRCAddByRow(int begin, int end, const RowOf &rowof, const Item &item, Scalar *sums, int *endrows, Scalar *endsums)
{
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, each = (end - begin + 32 * WARPS - 1) / (32 * WARPS) * 32;
  const int from = min(begin + warp * each, end), to = min(from + each, end), open = begin < from && from < to ? rowof(from - 1) : -1; /* the row that the part before ends with */
  Scalar    carry  = Scalar(0);
  bool      goeson = false;

  for (int k0 = from; k0 < to; k0 += 32) {
    const int    k = k0 + lane, row = k < to ? rowof(k) : -1, before = __shfl_up_sync(0xffffffffu, row, 1);
    const Scalar s = CSRCSumOfKey(k < to ? item(k) : Scalar(0), row);

    if (row >= 0 && (lane == 0 || row != before)) {
      if (row == open) {
        carry += s;
        goeson = true;
      } else sums[CSRCPlace(row)] += s;
    }
    __syncwarp(); /* the next 32 items may go on with the row */
  }
  if (lane == 0) {
    endrows[warp] = goeson ? open : -1;
    endsums[warp] = carry;
  }
  __syncthreads();
  if (warp == 0) {
    const int    row = lane < WARPS ? endrows[lane] : -1, before = __shfl_up_sync(0xffffffffu, row, 1);
    const Scalar s = CSRCSumOfKey(lane < WARPS ? endsums[lane] : Scalar(0), row);

    if (row >= 0 && (lane == 0 || row != before)) sums[CSRCPlace(row)] += s;
  }
  __syncthreads();
}

/*
  Finishes the rows of block g that are split among blocks. Each block leaves its part in carry, and the last one to get here adds all of
  them, in the order of the blocks. Warp 0: the block's first row; warp 1: its last row, if that is another one and goes on in the next
  block. partof(i): the block's part of its row i, for the thread block of a team that has summed it.
*/
template <class Scalar, class PartOf>
__device__ __forceinline__ void CSRCSplitRows(const CSRCBalancedForm<Scalar> &f, const CSRCBlock &b, int g, int rank, int team, const Scalar *z, Scalar *y, const PartOf &partof)
{
  const int  warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  const bool first = b.split & 1, last = (b.split & 2) && !(first && b.nrows == 1);

  if (warp > 1 || !(warp ? last : first)) return;
  const int i = warp ? b.nrows - 1 : 0, owner = warp ? g : b.owner, sharers = f.block[owner].sharers;
  int       all = 0;

  if (rank != ((i + 1) * team - 1) / b.nrows) return;
  if (lane == 0) {
    f.carry[owner == g ? 2 * g + 1 : 2 * g] = partof(i);
    __threadfence();
    all = atomicInc(f.arrived + owner, (unsigned)sharers - 1) == (unsigned)sharers - 1; /* it counts to sharers and begins anew */
    __threadfence();
  }
  if (!__shfl_sync(0xffffffffu, all, 0)) return;
  Scalar s = Scalar(0);
  for (int q = lane; q < sharers; q += 32) {
    const volatile CSRCReal<Scalar> *carry = reinterpret_cast<const volatile CSRCReal<Scalar> *>(f.carry + (q ? 2 * (owner + q) : 2 * owner + 1));
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

  Thread block  one block of the layout; with TEAM, a team of several (a cluster) shares the tiles of one block
  Domain        WARPS warps that work on one tile at a time, with a barrier of their own, and sums of their own for all rows of the block: while
                one domain waits, another works
  Warp          one chunk of each tile of its domain
  Lane          8 nonzeros of the chunk. Its part of the next chunk is loaded while products are added. Entries of x are not loaded ahead:
                registers for them would leave room for fewer warps
  Bytes         a nonzero: its value, 2 for the accumulator, 1 to 4 for the column, 8/256 for the head; the entry of x mostly comes from the
                caches. A row: its entry of y written, that of z read, if there is one
  Atomic        only the count of the parts of a row that is split among blocks. Sums are made in one order
  Shared        dynamic: the accumulators of each domain, and the table of values, if there is one
*/
template <class Scalar, CSRCValues VALUES, bool CONJUGATE, int WARPS, int DOMAINS, bool TEAM>
__global__ void __launch_bounds__(32 * WARPS * DOMAINS) CSRCBalancedVectorKernel(const CSRCBalancedForm<Scalar> f, const Scalar *x, const Scalar *z, Scalar *y)
{
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int                                 THREADS = 32 * WARPS * DOMAINS, ALLWARPS = WARPS * DOMAINS;
  __shared__ __align__(16) unsigned char endsmemory[ALLWARPS * sizeof(Scalar)];
  __shared__ int                         endrows[ALLWARPS];
  Scalar *const                          endsums = reinterpret_cast<Scalar *>(endsmemory);
  const int                              tid = threadIdx.x, lane = tid & 31, blockwarp = tid >> 5, domain = blockwarp / WARPS, warp = blockwarp % WARPS;
  const int                              team = TEAM ? f.team : 1, g = blockIdx.x / team, rank = blockIdx.x % team, step = team * DOMAINS * WARPS;
  Scalar *const sums = reinterpret_cast<Scalar *>(shared), *const sum = sums + domain * f.accumulators;
  Scalar *const   table = sums + DOMAINS * f.accumulators;
  const CSRCBlock b = f.block[g], next = f.block[g + 1];
  const int       ncopies = next.copy - b.copy, end = next.chunk;
  int             first = b.chunk + (rank * DOMAINS + domain) * WARPS; /* chunk of the domain's tile */

  CSRCLaneChunk<Scalar, VALUES> a;
  int2                          head1 = make_int2(0, 0);

  if (first + warp < end) {
    CSRCLoadChunk(a, f, first + warp, lane, f.head[first + warp]);
    head1 = f.head[min(first + warp + step, end - 1)];
  }
  int lstart = 0, lend = 0; /* leftovers */
  if (f.nleft && rank == 0) {
    lstart = f.leftstart[g];
    lend   = f.leftstart[g + 1];
  }
  if (VALUES == CSRC_VALUES_TABLE) {
    for (int t = tid; t < 256; t += THREADS) table[t] = f.table[t];
  }
  const int used = (b.nrows + ncopies + 32 * WARPS + 15) / 16 * 16; /* accumulators of the block, those of a domain's threads included */
#pragma unroll
  for (int d = 0; d < DOMAINS; d++) {
#pragma unroll 4
    for (int t = tid; t < used; t += THREADS) sums[d * f.accumulators + t] = Scalar(0);
  }
  CSRCLetNextBegin();
  CSRCWaitPrevious();
  __syncthreads();

  const unsigned padding = CSRCPlace(b.nrows + ncopies + warp * 32 + lane); /* the thread's own accumulator, for a chunk that does not exist */
  for (; first < end; first += step) {
    const int chunk = first + warp;
    uint4     acc   = make_uint4(padding * 0x10001u, padding * 0x10001u, padding * 0x10001u, padding * 0x10001u);
    Scalar    product[CSRC_PER_LANE];

#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) product[i] = Scalar(0);
    if (chunk < end) {
      Scalar xs[CSRC_PER_LANE];
      int    column[CSRC_PER_LANE];

      CSRCColumns(a, column);
#pragma unroll
      for (int i = 0; i < CSRC_PER_LANE; i++) xs[i] = x[column[i]];
      acc = a.acc;
#pragma unroll
      for (int i = 0; i < CSRC_PER_LANE; i++) product[i] = CSRCProduct<CONJUGATE>(CSRCValue<Scalar, VALUES>(a, i, table), xs[i]);
    }
    CSRCLoadChunk(a, f, chunk + step, lane, head1, chunk + step < end); /* no branch, see CSRCLoad16() */
    head1 = f.head[min(chunk + 2 * step, end - 1)];                     /* always: under a condition the compiler waits for it */
#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) { /* a group: its nonzeros have different accumulators */
      sum[CSRCAccumulatorPlace(acc, i)] += product[i];
      CSRCDomainBarrier<WARPS>(domain);
    }
  }
  __syncthreads();

  /* leftovers, and the sums of copies of rows */
  const auto total = [&](int t) {
    const int place = CSRCPlace(t);
    Scalar    s     = sums[place];

#pragma unroll
    for (int d = 1; d < DOMAINS; d++) s += sums[d * f.accumulators + place];
    return s;
  };
  if (lstart < lend)
    CSRCAddByRow<ALLWARPS>(
      lstart, lend, [&](int k) { return (int)f.leftrow[k]; }, [&](int k) { return CSRCProduct<CONJUGATE>(f.leftvalue[k], x[f.leftcolumn[k]]); }, sums, endrows, endsums);
  if (ncopies)
    CSRCAddByRow<ALLWARPS>(
      0, ncopies, [&](int k) { return (int)f.copyof[b.copy + k]; }, [&](int k) { return total(b.nrows + k); }, sums, endrows, endsums);

  /* writes y; a first or last row that is split among blocks follows below */
  const int lo = b.split & 1, hi = b.nrows - (b.split >> 1);
  if (team > 1) {
    for (int i = tid; i < b.nrows; i += THREADS) sums[CSRCPlace(i)] = total(i);
    CSRCTeamBarrier();
    for (int i = (int)((long long)b.nrows * rank / team) + tid; i < (int)((long long)b.nrows * (rank + 1) / team); i += THREADS) {
      Scalar s = CSRCTeamRead(sums + CSRCPlace(i), 0);

      for (int r = 1; r < team; r++) s += CSRCTeamRead(sums + CSRCPlace(i), r);
      if (i < lo || i >= hi) sums[CSRCPlace(i)] = s;
      else y[b.row + i] = z ? s + z[b.row + i] : s;
    }
    CSRCTeamBarrier(); /* others may still read what stands here */
  } else {
#pragma unroll 4
    for (int i = lo + tid; i < hi; i += THREADS) {
      Scalar s = total(i);

      if (z) s += z[b.row + i];
      y[b.row + i] = s;
    }
  }
  if (!b.split) return;

  if (team > 1) __syncthreads();
  CSRCSplitRows(f, b, g, rank, team, z, y, [&](int i) { return team > 1 ? sums[CSRCPlace(i)] : total(i); });
}

/* Dynamic shared memory of the two kernels */
template <class Scalar>
static size_t CSRCVectorShared(const CSRCBalancedForm<Scalar> &f, int domains)
{
  return sizeof(Scalar) * ((size_t)domains * f.accumulators + (f.values == CSRC_VALUES_TABLE ? 256 : 0));
}
template <class Scalar>
static size_t CSRCTransposeVectorShared(const CSRCBalancedForm<Scalar> &f, int threads)
{
  return CSRCVectorShared(f, 1) + (size_t)(threads / 32) * (CSRC_CHUNK + 32) * (sizeof(Scalar) + sizeof(int));
}

/* Calls use(kernel, threads) for the kernel of a form's product: to prepare it, or to launch it */
template <class Scalar, CSRCValues VALUES, bool CONJUGATE, bool TEAM, class Use>
static cudaError_t CSRCWithVectorKernel(const CSRCBalancedForm<Scalar> &f, const Use &use)
{
  switch (f.domains) {
  case 3:
    return use(CSRCBalancedVectorKernel<Scalar, VALUES, CONJUGATE, 8, 3, TEAM>, 768);
  case 2:
    return use(CSRCBalancedVectorKernel<Scalar, VALUES, CONJUGATE, 8, 2, TEAM>, 512);
  default:
    return f.threads == 512 ? use(CSRCBalancedVectorKernel<Scalar, VALUES, CONJUGATE, 16, 1, TEAM>, 512) : use(CSRCBalancedVectorKernel<Scalar, VALUES, CONJUGATE, 8, 1, TEAM>, 256);
  }
}
template <class Scalar, CSRCValues VALUES, CSRCOrder ORDER, bool CONJUGATE, class Use>
static cudaError_t CSRCWithTransposeVectorKernel(const CSRCBalancedForm<Scalar> &f, const Use &use)
{
  return f.tthreads == 768 ? use(CSRCBalancedTransposeVectorKernel<Scalar, VALUES, ORDER, CONJUGATE, 768>, 768) : use(CSRCBalancedTransposeVectorKernel<Scalar, VALUES, ORDER, CONJUGATE, 512>, 512);
}

/* Calls use(values), where the type of values says how a form's values are stored */
template <class Scalar, class Use>
static cudaError_t CSRCWithValues(const CSRCBalancedForm<Scalar> &f, const Use &use)
{
  switch (f.values) {
  case CSRC_VALUES_SINGLE:
    return use(std::integral_constant<CSRCValues, CSRC_VALUES_SINGLE>());
  case CSRC_VALUES_TABLE:
    return use(std::integral_constant<CSRCValues, CSRC_VALUES_TABLE>());
  default:
    return use(std::integral_constant<CSRCValues, CSRC_VALUES_FULL>());
  }
}
template <bool CONJUGATE, class Scalar, class Use>
static cudaError_t CSRCWithVectorKernel(const CSRCBalancedForm<Scalar> &f, const Use &use)
{
  return CSRCWithValues(f, [&](auto values) {
    constexpr CSRCValues VALUES = decltype(values)::value;

    return f.team > 1 ? CSRCWithVectorKernel<Scalar, VALUES, CONJUGATE, true>(f, use) : CSRCWithVectorKernel<Scalar, VALUES, CONJUGATE, false>(f, use);
  });
}
template <bool CONJUGATE, class Scalar, class Use>
static cudaError_t CSRCWithTransposeVectorKernel(const CSRCBalancedForm<Scalar> &f, const Use &use)
{
  return CSRCWithValues(f, [&](auto values) {
    constexpr CSRCValues VALUES = decltype(values)::value;

    return f.order == CSRC_CONSECUTIVE ? CSRCWithTransposeVectorKernel<Scalar, VALUES, CSRC_CONSECUTIVE, CONJUGATE>(f, use) : CSRCWithTransposeVectorKernel<Scalar, VALUES, CSRC_INTERLEAVED, CONJUGATE>(f, use);
  });
}

/*
  Chooses the kernels for a form's products with one vector. Three domains, if they leave 60 of 256 kB to the first-level cache, where
  entries of x are kept; otherwise two, if these fit at all.
*/
template <class Scalar>
static cudaError_t CSRCBalancedPrepare(CSRCBalancedForm<Scalar> *f)
{
  const size_t fixed = 1024 + 512; /* the system's, and static arrays */
  int          device, most, major;
  bool         early   = true;
  const auto   prepare = [&](auto kernel, int) { return CSRCPrepareKernel(kernel, &early); };

  CSRCTry(cudaGetDevice(&device));
  CSRCTry(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  CSRCTry(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  f->domains  = CSRCVectorShared(*f, 3) + fixed <= (size_t)most * 196 / 227 ? 3 : CSRCVectorShared(*f, 2) + fixed <= (size_t)most ? 2 : 1;
  f->tthreads = CSRCTransposeVectorShared(*f, 768) + fixed <= (size_t)most ? 768 : 512;
  CSRCTry(CSRCWithVectorKernel<false>(*f, prepare));
  CSRCTry(CSRCWithTransposeVectorKernel<false>(*f, prepare));
  if constexpr (CSRCParts<Scalar> == 2) {
    CSRCTry(CSRCWithVectorKernel<true>(*f, prepare));
    CSRCTry(CSRCWithTransposeVectorKernel<true>(*f, prepare));
  }
  f->early = early && major >= 9;
  return cudaSuccess;
}

/* y = A x + z, or with the conjugate of A; z may be NULL or y */
template <bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedVector(const CSRCBalancedForm<Scalar> &f, const Scalar *x, const Scalar *z, Scalar *y, cudaStream_t stream)
{
  return CSRCWithVectorKernel<CONJUGATE>(f, [&](auto kernel, int threads) { return CSRCLaunch(kernel, f.nblocks * f.team, threads, CSRCVectorShared(f, f.domains), f.team, f.early, stream, f, x, z, y); });
}

/* v = A^T u + z, or A^H u + z; z may be NULL or v. With places.sum, v and z are not touched. */
template <bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedTransposeVector(const CSRCBalancedForm<Scalar> &f, const Scalar *u, const Scalar *z, Scalar *v, const CSRCPlaces<Scalar> &places, cudaStream_t stream)
{
  const int       grid = f.nblocks * f.team, nslices = std::max(1, std::min((f.n + 511) / 512, grid));
  unsigned *const zero = places.sum || (z && z == v) ? nullptr : f.zero;

  return CSRCWithTransposeVectorKernel<CONJUGATE>(f, [&](auto kernel, int threads) { return CSRCLaunch(kernel, grid, threads, CSRCTransposeVectorShared(f, f.tthreads), 1, f.early, stream, f, u, z, v, zero, nslices, places); });
}
