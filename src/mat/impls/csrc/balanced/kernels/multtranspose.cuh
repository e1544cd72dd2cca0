#pragma once

/* The kernel of v = A^T u + z (or A^H u + z) from the balanced layout of CSRC, for one vector. mult.cuh launches it. */
#include "launch.cuh"
#include "chunk.cuh"

/* Where A^T u leaves its partial sums: they are added to v, or, if results are to be reproducible, each is stored by itself */
template <class Scalar>
struct CSRCPartials {
  Scalar    *sum;   /* NULL: added to v */
  const int *start; /* first partial sum of each chunk, then of the overflow */
};

/*
  v = A^T u + z, or A^H u + z

  Thread block  one row block, or with a cluster of several its share of the chunks; it keeps the row block's part of u in shared memory,
                replicas included. Each row block begins at another of its chunks, so that not all of them add to the same part of v at once
  Warp          every (THREADS/32)th chunk, among those of a cluster
  Lane          8 nonzeros of the chunk, consecutive by column or 32 apart. Products of a column are summed within the lane, then along the
                warp; the sums of a chunk, one a column, are put next to each other in shared memory and added to v, neighbouring lanes
                adding to neighbouring entries
  Bytes         a nonzero: as in A x; u is read once a thread block; v, and z if there is one, once for setting v
  Atomic        one addition to v in global memory for each run of equal columns in a chunk, and for each nonzero of the overflow; none with partials.sum
  Shared        dynamic: u, 288 sums and columns a warp, and the table of values, if there is one

  The kernel sets v to zero, or to z: v is cut into slices, which thread blocks take as they begin. No thread block waits for one that has
  not begun: it waits only after it has seen that no slice is left to be taken. zero[0] counts attempts to take a slice: each product makes
  slices + thread blocks of them, since every thread block finds out once that nothing is left; after two products it begins again at zero.
  zero[1] counts slices that are done, in such a way that its highest bit changes with the last slice of a product. If zero is NULL, v is
  not set.
*/
template <class Scalar, CSRCValues VALUES, CSRCOrder ORDER, bool CONJUGATE, int THREADS>
__global__ void __launch_bounds__(THREADS) CSRCBalancedMultTransposeKernel(const CSRCBalancedMatrix<Scalar> A, const Scalar *u, const Scalar *z, Scalar *v, unsigned *zero, int nslices, const CSRCPartials<Scalar> partials)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ unsigned                           target; /* highest bit of zero[1] once all slices are done */
  constexpr int                                 WARPS = THREADS / 32, LIST = CSRC_CHUNK + 32;
  const int                                     tid = threadIdx.x, warp = tid >> 5, lane = tid & 31, cluster = A.cluster, g = blockIdx.x / cluster, part = blockIdx.x % cluster;
  Scalar *const                                 su    = reinterpret_cast<Scalar *>(shared);
  Scalar *const                                 lists = su + A.accumulators;
  Scalar *const                                 sums  = lists + warp * LIST;
  Scalar *const                                 table = lists + WARPS * LIST;
  int *const                                    cols  = reinterpret_cast<int *>(table + (VALUES == CSRC_VALUES_TABLE ? 256 : 0)) + warp * LIST;
  const CSRCRowBlock                            b = A.block[g], next = A.block[g + 1];
  const int                                     nreplicas = next.replica - b.replica, many = next.chunk - b.chunk, step = cluster * WARPS, offset = (int)((long long)many * g / A.nblocks);
  int                                           k       = part * WARPS + warp; /* number of the warp's chunk, in the order of the row block */
  bool                                          waits   = zero != nullptr;
  const auto                                    chunkof = [&](int l) { return b.chunk + (l + offset >= many ? l + offset - many : l + offset); };

  CSRCLaneChunk<Scalar, VALUES> a;
  int2                          head1 = make_int2(0, 0);

  if (k < many) {
    CSRCLoadChunk(a, A, chunkof(k), lane, A.head[chunkof(k)]);
    head1 = A.head[chunkof(min(k + step, many - 1))];
  }
  const int firstrow = tid < nreplicas ? A.replicarow[b.replica + tid] : 0; /* row of the thread's first replica */
  if (VALUES == CSRC_VALUES_TABLE) {
    for (int t = tid; t < 256; t += THREADS) table[t] = A.table[t];
  }
  for (int t = tid; t < A.tilethreads; t += THREADS) su[CSRCSwizzle(b.nrows + nreplicas + t)] = Scalar(0);
  CSRCLetNextBegin();
  CSRCWaitPrevious();

  const unsigned turns = (unsigned)nslices + gridDim.x; /* by which zero[0] grows in a product */
  unsigned       taken = 0;
  const auto     take  = [&]() { /* returns whether the product is the second of two */
                            taken             = __shfl_sync(0xffffffffu, lane == 0 ? atomicInc(zero, 2 * turns - 1) : 0, 0);
                            const bool second = taken >= turns;

                            if (second) taken -= turns;
                            return second;
  };
  const auto fill = [&]() {
    const int from = (int)((long long)A.n * taken / nslices), to = (int)((long long)A.n * (taken + 1) / nslices);

    for (int i = from + lane; i < to; i += 32) v[i] = z ? z[i] : Scalar(0);
  };
  if (zero && warp == WARPS - 1) {
    const bool second = take();

    if (lane == 0) target = second ? 0 : 1;
    if (taken < (unsigned)nslices) fill();
  }
  for (int i = tid; i < b.nrows; i += THREADS) su[CSRCSwizzle(i)] = u[b.row + i];
  for (int c = tid; c < nreplicas; c += THREADS) su[CSRCSwizzle(b.nrows + c)] = u[b.row + (c == tid ? firstrow : A.replicarow[b.replica + c])];
  __syncthreads();
  if (zero && warp == WARPS - 1) {
    while (taken < (unsigned)nslices) {
      __threadfence();
      __syncwarp();
      if (lane == 0) atomicAdd(zero + 1, taken ? 1u : 0x80000001u - (unsigned)nslices);
      (void)take();
      if (taken < (unsigned)nslices) fill();
    }
  }
  const auto waitzero = [&]() {
    if (waits) {
      unsigned done;

      do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(done) : "l"(zero + 1) : "memory");
      } while (done >> 31 != target);
      waits = false;
    }
  };

  if (A.noverflow && part == 0) {
    const int lstart = A.overflowstart[g], lend = A.overflowstart[g + 1];

    for (int l = lstart + tid; l < lend; l += THREADS) {
      const Scalar s = CSRCProduct<CONJUGATE>(A.overflowvalue[l], su[CSRCSwizzle(A.overflowrow[l])]);

      waitzero();
      if (partials.sum) partials.sum[partials.start[A.nchunks] + l] = s;
      else CSRCAtomicAdd(v + A.overflowcolumn[l], s);
    }
    __syncwarp();
  }

  for (; k < many; k += step) {
    const int chunk = chunkof(k);
    Scalar    product[CSRC_PER_LANE];
    int       column[CSRC_PER_LANE];

    CSRCColumns(a, column);
#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) product[i] = CSRCProduct<CONJUGATE>(CSRCValue<Scalar, VALUES>(a, i, table), su[CSRCSwizzledAccumulator(a.acc, i)]);
    if (k + step < many) CSRCLoadChunk(a, A, chunkof(k + step), lane, head1);
    head1 = A.head[chunkof(min(k + 2 * step, many - 1))]; /* always: under a condition the compiler waits for it */

    const int count = CSRCSumRuns<ORDER>(product, column, sums, cols, lane);

    waitzero();
    __syncwarp();
    if (partials.sum) {
      Scalar *const to = partials.sum + partials.start[chunk];

      for (int l = lane; l < count; l += 32) to[l] = sums[CSRCPadded(l)];
    } else {
      for (int l = lane; l < count; l += 32) CSRCAtomicAdd(v + cols[CSRCPadded(l)], sums[CSRCPadded(l)]);
    }
    __syncwarp();
  }
}
