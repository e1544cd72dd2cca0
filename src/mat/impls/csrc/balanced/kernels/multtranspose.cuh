#pragma once

/* v = A^T u + z, or A^H u + z, for one vector, with the balanced layout of CSRC */
#include "chunk.cuh"
#include "launch.cuh"
#include <algorithm>

/*
  v = A^T u + z, or A^H u + z

  Thread block  one row block or, in a cluster, a share of its chunks. It keeps the row block's part of u in shared memory, including
                replicas
  Warp          every (THREADS/32)th chunk, counted over the thread blocks of a cluster: CSRCChunkReader
  Lane          8 nonzeros of the chunk, consecutive by column or 32 apart. Products of one column are summed within the lane, then along the
                warp. The sums of a chunk, one for each run, are compacted in shared memory and added to v; neighbouring lanes add to
                neighbouring entries
  Bytes         per nonzero: as in A x. u is read once by each thread block; v is written once when it is set, and z read, if there is one
  Atomic        one addition to v in global memory for each run of equal columns in a chunk, and for each nonzero of the overflow. The
                counters zero[]
  Shared        dynamic: u, 288 sums and columns for each warp, and the table of values, if there is one
  Gains         setting v in this kernel, 2 us; beginning early, 1.5 to 3 us; 768 threads instead of 512, 10 % (V9); sorting a lane's
                products, 1.1 to 1.5 where nonzeros were exchanged at set-up (V15)

  The kernel sets v to zero, or to z. v is cut into slices, which thread blocks take as they begin. A thread block adds to v only after all
  slices are set, but it never waits for a thread block that has not begun: it waits only after it has seen that no slice is left to be
  taken. zero[0] counts attempts to take a slice. Each product makes as many attempts as there are slices and thread blocks together, since
  every thread block finds once that no slice is left; after two products the counter returns to zero. zero[1] counts slices that are set,
  so that its highest bit changes with the last slice of a product. If zero is NULL, v is not set.
*/
template <class Scalar, CSRCValues VALUES, CSRCCoding CODING, bool CONJUGATE, int THREADS>
__global__ void __launch_bounds__(THREADS) CSRCBalancedMultTransposeKernel(const CSRCBalancedMatrix<Scalar> A, const Scalar *u, const Scalar *z, Scalar *v, unsigned *zero, int nslices)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ unsigned                           target; /* highest bit of zero[1] once all slices are set */
  constexpr int                                 WARPS = THREADS / 32, LIST = CSRC_LIST;
  const int                                     tid = threadIdx.x, warp = tid >> 5, lane = tid & 31, cluster = A.cluster, g = blockIdx.x / cluster, part = blockIdx.x % cluster;
  Scalar *const                                 su    = reinterpret_cast<Scalar *>(shared);
  Scalar *const                                 lists = su + A.accumulators;
  Scalar *const                                 sums  = lists + warp * LIST;
  Scalar *const                                 table = lists + WARPS * LIST;
  int *const                                    cols  = reinterpret_cast<int *>(table + (VALUES == CSRC_VALUES_TABLE ? 256 : 0)) + warp * LIST;
  const CSRCThisRowBlock                        b(A, g);
  bool                                          waits = zero != nullptr;
  CSRCChunkReader                               reader(b, g, A.nblocks, part * WARPS + warp, cluster * WARPS);
  CSRCLaneChunk<Scalar, VALUES, CODING>         a;

  reader.loadFirst(A, a, lane);
  const int firstrow = tid < b.nreplicas ? A.replicarow[b.replica + tid] : 0; /* row of the thread's first replica */
  CSRCLoadTable<VALUES, THREADS>(A, table);
  for (int t = tid; t < A.tilethreads; t += THREADS) su[CSRCSwizzle(b.naccs + t)] = Scalar(0);
  CSRCLetNextBegin();
  CSRCWaitPrevious();

  const unsigned turns = (unsigned)nslices + gridDim.x; /* number of attempts to take a slice in one product */
  unsigned       taken = 0;
  const auto     take  = [&]() { /* returns whether this is the second of two products */
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
  for (int c = tid; c < b.nreplicas; c += THREADS) su[CSRCSwizzle(b.nrows + c)] = u[b.row + (c == tid ? firstrow : A.replicarow[b.replica + c])];
  __syncthreads();
  if (zero && warp == WARPS - 1) {
    while (taken < (unsigned)nslices) {
      __syncwarp();
      __threadfence();
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
      CSRCAtomicAdd(v + A.overflowcolumn[l], s);
    }
    __syncwarp();
  }

  for (; !reader.done(); reader.k += reader.step) {
    Scalar product[CSRC_PER_LANE];
    int    column[CSRC_PER_LANE];

    CSRCColumns(A, a, column);
#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) product[i] = CSRCProduct<CONJUGATE>(CSRCValue<Scalar, VALUES>(a, i, table), su[CSRCSwizzledAccumulator(a.acc, i)]);
    reader.loadNext(A, a, lane);

    const int count = CSRCSumRuns<(CODING == CSRC_BY_LANE ? CSRC_CONSECUTIVE : CSRC_INTERLEAVED)>(product, column, sums, cols, lane);

    waitzero();
    __syncwarp();
    for (int l = lane; l < count; l += 32) CSRCAtomicAdd(v + cols[CSRCPadded(l)], sums[CSRCPadded(l)]);
    __syncwarp();
  }
}

/* Dynamic shared memory in bytes */
template <class Scalar>
static size_t CSRCMultTransposeShared(const CSRCBalancedMatrix<Scalar> &A, int threads)
{
  return sizeof(Scalar) * ((size_t)A.accumulators + (A.values == CSRC_VALUES_TABLE ? 256 : 0)) + (size_t)(threads / 32) * CSRC_LIST * (sizeof(Scalar) + sizeof(int));
}

/*
  Calls use(kernel, threads) with the kernel and the number of threads for the product with this matrix, either to prepare or to launch the
  kernel
*/
template <bool CONJUGATE, class Scalar, class Use>
static cudaError_t CSRCWithMultTransposeKernel(const CSRCBalancedMatrix<Scalar> &A, const Use &use)
{
  return CSRCWith<CSRC_VALUES_SINGLE, CSRC_VALUES_TABLE, CSRC_VALUES_FULL>(A.values, [&](auto values) {
    return CSRCWith<CSRC_BY_LANE, CSRC_WHOLE, CSRC_SPLIT>(A.coding, [&](auto coding) {
      return CSRCWith<768, 512>(A.transposethreads, [&](auto threads) {
        constexpr int THREADS = decltype(threads)::value;

        return use(CSRCBalancedMultTransposeKernel<Scalar, decltype(values)::value, decltype(coding)::value, CONJUGATE, THREADS>, THREADS);
      });
    });
  });
}

/* v = A^T u + z, or A^H u + z; z may be NULL or v */
template <bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedMultTranspose(const CSRCBalancedMatrix<Scalar> &A, const Scalar *u, const Scalar *z, Scalar *v, cudaStream_t stream)
{
  const int       grid = A.nblocks * A.cluster, nslices = std::max(1, std::min((A.n + CSRC_SLICE - 1) / CSRC_SLICE, grid));
  unsigned *const zero = z && z == v ? nullptr : A.zero;

  return CSRCWithMultTransposeKernel<CONJUGATE>(A, [&](auto kernel, int threads) { return CSRCLaunch(kernel, grid, threads, CSRCMultTransposeShared(A, A.transposethreads), 1, A.early, stream, A, u, z, v, zero, nslices); });
}
