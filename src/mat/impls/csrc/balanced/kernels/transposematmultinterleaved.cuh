#pragma once

/*
  V = A^T U (or A^H U) for two columns, with the balanced layout of CSRC in order 'interleaved', where runs of equal columns go along the
  warp. V is packed: the KT entries of a row are stored together, since nonzeros scatter over rows of V. transposematmultnarrow.cuh has the
  kernel for order 'consecutive'.
*/
#include "packedrow.cuh"
#include "launch.cuh"
#include "shared.cuh"

/*
  V += A^T U, or A^H U, KT columns, V packed

  Thread block: one row block, or every other of its chunks if two share it; its part of U in shared memory, including replicas. Warp: every
  (THREADS/32)th chunk. Lane: 8 nonzeros of a chunk. Products of a column are summed along the warp. The sums of a chunk, each one packed
  row of V, are compacted in shared memory and added to V by global atomics; neighbouring lanes add to neighbouring scalars of V. Bytes per
  nonzero: value, 2 for the accumulator, 1 to 4 for the column, 8/256 for the head; U is read once by each row block. Dynamic shared memory:
  CSRCTransposeShared. The kernel gains 1.15 over transposematmultnarrow.cuh
  where runs are short, and up to 1.5 over two products with one vector (D12, D16). It has 512 threads where their lists fit, otherwise 256
  (D39).
*/
template <class Scalar, CSRCValues VALUES, CSRCCoding CODING, bool CONJUGATE, int THREADS, int KT>
__global__ void __launch_bounds__(THREADS, 512 / THREADS) CSRCBalancedTransposeMatMultInterleavedKernel(const CSRCBalancedMatrix<Scalar> A, const Scalar *u, size_t ldu, Scalar *v)
{
  using Pack = CSRCPack<Scalar, KT>;
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int                                 WARPS = THREADS / 32;
  const int                                     tid = threadIdx.x, warp = CSRCWarp(), lane = tid & 31;
  const CSRCTransposeShared<Scalar, Pack>       memory(shared, A, VALUES, WARPS, warp);
  Pack *const su = memory.u, *const sums = memory.sums;
  Scalar *const                         table = memory.table;
  int *const                            cols  = memory.columns;
  const int                             g = blockIdx.x / A.cluster, part = blockIdx.x % A.cluster;
  const CSRCThisRowBlock                b(A, g);
  CSRCChunkReader                       reader(b, g, A.nblocks, part * WARPS + warp, A.cluster * WARPS);
  CSRCLaneChunk<Scalar, VALUES, CODING> a;

  reader.loadFirst(A, a, lane);
  CSRCLoadTable<VALUES, THREADS>(A, table);
  CSRCLetNextBegin();
  CSRCWaitPrevious();
  for (int i = tid; i < b.nrows; i += THREADS) su[i] = CSRCPackRow<KT>(u, ldu, b.row + i);
  for (int c = tid; c < b.nreplicas; c += THREADS) su[b.nrows + c] = CSRCPackRow<KT>(u, ldu, b.row + A.replicarow[b.replica + c]);
  for (int t = tid; t < A.tilethreads; t += THREADS) su[b.naccs + t] = CSRCPackZero<Scalar, KT>();
  __syncthreads();

  for (; !reader.done(); reader.k += reader.step) {
    Pack product[CSRC_PER_LANE];
    int  column[CSRC_PER_LANE];

    CSRCColumns(A, a, column);
#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) product[i] = CSRCPackProduct<CONJUGATE>(CSRCValue<Scalar, VALUES>(a, i, table), su[CSRCAccumulator(a.acc, i)]);
    reader.loadNext(A, a, lane);
    const int total = CSRCSumRuns<CSRC_INTERLEAVED>(product, column, sums, cols, lane);

    __syncwarp();
    for (int l = lane; l < total * KT; l += 32) CSRCAtomicAdd(v + (size_t)KT * cols[CSRCPadded(l / KT)] + l % KT, sums[CSRCPadded(l / KT)].s[l % KT]);
    __syncwarp();
  }

  if (A.noverflow && part == 0) {
    for (int k = A.overflowstart[g] + tid; k < A.overflowstart[g + 1]; k += THREADS) {
      const Pack p = CSRCPackProduct<CONJUGATE>(A.overflowvalue[k], su[A.overflowrow[k]]);

#pragma unroll
      for (int c = 0; c < KT; c++) CSRCAtomicAdd(v + (size_t)KT * A.overflowcolumn[k] + c, p.s[c]);
    }
  }
}

/* The number of threads with which KT columns fit shared memory of 'most' bytes; 0: they do not fit */
template <int KT, class Scalar>
static int CSRCTransposeMatMultInterleavedThreads(const CSRCBalancedMatrix<Scalar> &A, size_t most)
{
  for (int threads : {CSRC_DENSE_THREADS, 256}) {
    if (CSRCSharedBytes<CSRCTransposeShared<Scalar, CSRCPack<Scalar, KT>>>(A, A.values, threads / 32) <= most) return threads;
  }
  return 0;
}

/* V += A^T U, or A^H U, KT columns, V packed; done: whether they fit the shared memory */
template <int KT, bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedTransposeMatMultInterleaved(const CSRCBalancedMatrix<Scalar> &A, const Scalar *u, size_t ldu, Scalar *v, cudaStream_t stream, bool *done)
{
  int device, most;

  CSRCTry(cudaGetDevice(&device));
  CSRCTry(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  const int threads = CSRCTransposeMatMultInterleavedThreads<KT>(A, (size_t)most);
  *done             = threads > 0;
  if (!*done) return cudaSuccess;
  const auto kernel = CSRCSelect([](auto values, auto coding, auto threads) { return CSRCBalancedTransposeMatMultInterleavedKernel<Scalar, decltype(values)::value, decltype(coding)::value, CONJUGATE, decltype(threads)::value, KT>; },
                                 CSRCOneOfValues{A.values}, CSRCOneOf<CSRC_WHOLE, CSRC_SPLIT>{A.coding}, CSRCOneOf<256, CSRC_DENSE_THREADS>{threads});
  return CSRCLaunchDense(kernel, A, A.nblocks * A.cluster, threads, CSRCSharedBytes<CSRCTransposeShared<Scalar, CSRCPack<Scalar, KT>>>(A, A.values, threads / 32), stream, u, ldu, v);
}
