#pragma once

/*
  A reproducible A^T u: the result has the same bits in every run. Atomics would add partial sums to v in the order in which thread blocks
  come. Instead, each partial sum is stored separately; a second kernel then gathers those of a column and adds them, always in the same
  order.

  Memory in addition to the matrix: a scalar and an index of 4 bytes for each partial sum, of which there is one for each run of equal
  columns in a chunk and one for each nonzero of the overflow; and 4 bytes for each column, heavy column and chunk. It takes 1.3 times as
  long as A^T u by atomics (V13). Loading eight partial sums of a column at a time gains up to 1.4 (V18), a warp for each heavy column up to
  4 where there are many such columns (V28).
*/
#include "multtranspose.cuh"
#include "cuda/csrtranspose.cuh"

/*
  Computes the number of partial sums that CSRCBalancedMultTransposeKernel() makes of each chunk (column NULL), or the column of each
  partial sum. There is one for each run of equal columns, in the order in which that kernel adds. Warp: one chunk.
*/
template <class Scalar>
__global__ void __launch_bounds__(256) CSRCPartialsKernel(const CSRCBalancedMatrix<Scalar> A, int *count, const int *start, int *column)
{
  __shared__ int cols[8][CSRC_CHUNK];
  const int      warp = threadIdx.x / 32, lane = threadIdx.x & 31, chunk = blockIdx.x * 8 + warp;
  int            c[CSRC_PER_LANE], none[CSRC_PER_LANE] = {}, n = 0;

  if (chunk > A.nchunks) return;
  if (chunk == A.nchunks) {
    if (!column && lane == 0) count[chunk] = A.noverflow;
    return;
  }
  CSRCLaneChunk<Scalar, CSRC_VALUES_TABLE> a; /* only its columns are used */
  CSRCLoadIndices(a, A, chunk, lane, A.head[chunk]);
  CSRCColumns(A, a, c);
  if (A.order == CSRC_INTERLEAVED) CSRCSortLane(none, c);
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) cols[warp][A.order == CSRC_CONSECUTIVE ? lane * CSRC_PER_LANE + i : i * 32 + lane] = c[i];
  __syncwarp();
  for (int k = lane; k < CSRC_CHUNK; k += 32) {
    const bool     ends = k == CSRC_CHUNK - 1 || cols[warp][k] != cols[warp][k + 1];
    const unsigned mask = __ballot_sync(0xffffffffu, ends);

    if (column && ends) column[start[chunk] + n + __popc(mask & ((1u << lane) - 1))] = cols[warp][k];
    n += __popc(mask);
  }
  if (!column && lane == 0) count[chunk] = n;
}

/* k[i] = i. Thread: one i. */
static __global__ void CSRCCountKernel(int n, int *k)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;

  if (i < n) k[i] = i;
}

/* A column is heavy if it has more partial sums than this; lanes: the number of lanes that add the partial sums of any other column */
static inline int CSRCHeavyColumn(int lanes)
{
  return CSRC_PARTIALS_HEAVY * lanes;
}

/* Lists the heavy columns, in any order; if heavy is NULL, only counts them. Thread: one column. count is atomic. */
static __global__ void CSRCHeavyColumnsKernel(int n, int limit, const int *column, int *heavy, int *count)
{
  const int c = blockIdx.x * blockDim.x + threadIdx.x;

  if (c >= n || column[c + 1] - column[c] <= limit) return;
  const int k = atomicAdd(count, 1);

  if (heavy) heavy[k] = c;
}

/*
  v = the sums of the partial sums of each column, + z. The first thread blocks do the heavy columns, those with more partial sums than
  limit, with a warp for each, since such columns are often neighbours. In the other thread blocks LANES lanes do one column. Each lane
  loads AHEAD partial sums at a time, and the indices of the next ones.
*/
template <class Scalar, int LANES>
__global__ void __launch_bounds__(256) CSRCSumPartialsKernel(int n, int nheavy, int limit, const int *heavy, const int *column, const int *from, const Scalar *sum, const Scalar *z, Scalar *v)
{
  constexpr int AHEAD = CSRC_PARTIALS_AHEAD, WARPS = 8;
  const int     first   = (nheavy + WARPS - 1) / WARPS; /* first thread block of the other columns */
  const bool    byheavy = (int)blockIdx.x < first;
  const int     h = blockIdx.x * WARPS + threadIdx.x / 32, lanes = byheavy ? 32 : LANES, l = threadIdx.x % lanes;
  const int     c     = !byheavy ? (int)(((blockIdx.x - first) * 256 + threadIdx.x) / LANES) : h < nheavy ? heavy[h] : n;
  const int     begin = c < n ? column[c] : 0, end = c < n ? column[c + 1] : 0;
  const bool    mine = c < n && (byheavy || end - begin <= limit);
  int           k    = mine ? begin + l : end, place[AHEAD];
  Scalar        s    = Scalar(0);
  const auto    next = [&]() {
#pragma unroll
    for (int q = 0; q < AHEAD; q++) place[q] = k + q * lanes < end ? from[k + q * lanes] : -1;
  };

  next();
  CSRCLetNextBegin();
  CSRCWaitPrevious();
  while (k < end) {
    Scalar t[AHEAD];

#pragma unroll
    for (int q = 0; q < AHEAD; q++) t[q] = place[q] >= 0 ? sum[place[q]] : Scalar(0);
    k += AHEAD * lanes;
    next();
#pragma unroll
    for (int q = 0; q < AHEAD; q++) s += t[q];
  }
  for (int o = lanes / 2; o; o >>= 1) s += CSRCShuffleDown(s, o);
  if (mine && l == 0) v[c] = z ? s + z[c] : s;
}

/* Counts the partial sums of each chunk and allocates memory for them */
template <class Scalar>
static cudaError_t CSRCPartialsCount(const CSRCBalancedMatrix<Scalar> &A, CSRCScratch &kept, CSRCBalancedPartials<Scalar> *r)
{
  const cudaStream_t stream  = kept.stream;
  const int          nstarts = A.nchunks + 2; /* one for each chunk, one for the overflow, and the end */
  CSRCScratch        scratch(stream);
  int               *count;
  char              *temp;
  size_t             bytes = 0;

  CSRCTry(scratch.get(&count, nstarts));
  CSRCTry(kept.get(&r->start, nstarts));
  CSRCTry(cudaMemsetAsync(count + nstarts - 1, 0, sizeof(int), stream));
  CSRCPartialsKernel<Scalar><<<A.nchunks / 8 + 1, 256, 0, stream>>>(A, count, nullptr, nullptr);
  CSRCTry(cudaGetLastError());
  CSRCTry(cub::DeviceScan::ExclusiveSum(nullptr, bytes, count, r->start, nstarts, stream));
  CSRCTry(scratch.get(&temp, bytes));
  CSRCTry(cub::DeviceScan::ExclusiveSum(temp, bytes, count, r->start, nstarts, stream));
  CSRCTry(cudaMemcpyAsync(&r->npartials, r->start + nstarts - 1, sizeof(int), cudaMemcpyDeviceToHost, stream));
  CSRCTry(cudaStreamSynchronize(stream));
  return kept.get(&r->sum, r->npartials);
}

/* Sorts the numbers of the partial sums by column; the sort is stable */
template <class Scalar>
static cudaError_t CSRCPartialsSort(const CSRCBalancedMatrix<Scalar> &A, CSRCScratch &kept, CSRCBalancedPartials<Scalar> *r)
{
  const cudaStream_t stream = kept.stream;
  const int          bits   = CSRCBits(A.n);
  CSRCScratch        scratch(stream);
  int               *key, *sorted, *place;
  char              *temp;
  size_t             bytes = 0;

  CSRCTry(kept.get(&r->from, r->npartials));
  CSRCTry(kept.get(&r->column, (size_t)A.n + 1));
  CSRCTry(scratch.get(&key, r->npartials));
  CSRCTry(scratch.get(&sorted, r->npartials));
  CSRCTry(scratch.get(&place, r->npartials));
  CSRCPartialsKernel<Scalar><<<A.nchunks / 8 + 1, 256, 0, stream>>>(A, nullptr, r->start, key);
  CSRCTry(cudaGetLastError());
  if (A.noverflow) CSRCTry(cudaMemcpyAsync(key + r->npartials - A.noverflow, A.overflowcolumn, A.noverflow * sizeof(int), cudaMemcpyDeviceToDevice, stream));
  CSRCCountKernel<<<r->npartials / 256 + 1, 256, 0, stream>>>(r->npartials, place);
  CSRCTry(cudaGetLastError());
  CSRCTry(cub::DeviceRadixSort::SortPairs(nullptr, bytes, key, sorted, place, r->from, r->npartials, 0, bits, stream));
  CSRCTry(scratch.get(&temp, bytes));
  CSRCTry(cub::DeviceRadixSort::SortPairs(temp, bytes, key, sorted, place, r->from, r->npartials, 0, bits, stream));
  CSRCColumnStartsKernel<<<r->npartials / 256 + 1, 256, 0, stream>>>(A.n, r->npartials, sorted, r->column);
  return cudaGetLastError();
}

/* Chooses how many lanes add the partial sums of a column, and lists the columns that are too heavy for these */
template <class Scalar>
static cudaError_t CSRCPartialsHeavy(const CSRCBalancedMatrix<Scalar> &A, CSRCScratch &kept, CSRCBalancedPartials<Scalar> *r)
{
  const cudaStream_t stream = kept.stream;
  const int          each   = r->npartials / A.n;
  CSRCScratch        scratch(stream);
  int               *count; /* two counters: one to count, one to fill the list */

  r->lanes = each >= CSRC_PARTIALS_32 ? 32 : each >= CSRC_PARTIALS_4 ? 4 : each >= CSRC_PARTIALS_2 ? 2 : 1;
  CSRCTry(scratch.get(&count, 2));
  CSRCTry(cudaMemsetAsync(count, 0, 2 * sizeof(int), stream));
  CSRCHeavyColumnsKernel<<<A.n / 256 + 1, 256, 0, stream>>>(A.n, CSRCHeavyColumn(r->lanes), r->column, nullptr, count);
  CSRCTry(cudaGetLastError());
  CSRCTry(cudaMemcpyAsync(&r->nheavy, count, sizeof(int), cudaMemcpyDeviceToHost, stream));
  CSRCTry(cudaStreamSynchronize(stream));
  CSRCTry(kept.get(&r->heavy, r->nheavy));
  CSRCHeavyColumnsKernel<<<A.n / 256 + 1, 256, 0, stream>>>(A.n, CSRCHeavyColumn(r->lanes), r->column, r->heavy, count + 1);
  return cudaGetLastError();
}

/* Makes the partial sums and their lists; waits for the stream. If it fails, nothing stays allocated. */
template <class Scalar>
static cudaError_t CSRCBalancedPartialsBuild(const CSRCBalancedMatrix<Scalar> &A, cudaStream_t stream, CSRCBalancedPartials<Scalar> *partials)
{
  CSRCScratch                  kept(stream);
  CSRCBalancedPartials<Scalar> r = {};

  *partials = r;
  CSRCTry(CSRCPartialsCount(A, kept, &r));
  CSRCTry(CSRCPartialsSort(A, kept, &r));
  CSRCTry(CSRCPartialsHeavy(A, kept, &r));
  CSRCTry(cudaStreamSynchronize(stream)); /* a kernel that begins early may read these lists before earlier kernels in the stream are done */
  kept.all.clear();
  *partials = r;
  return cudaSuccess;
}

/* v = A^T u + z, or A^H u + z, with the same bits in every run; z may be NULL or v */
template <bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedMultTransposeReproducible(const CSRCBalancedMatrix<Scalar> &A, const CSRCBalancedPartials<Scalar> &r, const Scalar *u, const Scalar *z, Scalar *v, cudaStream_t stream)
{
  const int  grid   = (int)(((long long)A.n * r.lanes + 255) / 256) + (r.nheavy + 7) / 8;
  const auto kernel = r.lanes == 32 ? CSRCSumPartialsKernel<Scalar, 32> : r.lanes == 4 ? CSRCSumPartialsKernel<Scalar, 4> : r.lanes == 2 ? CSRCSumPartialsKernel<Scalar, 2> : CSRCSumPartialsKernel<Scalar, 1>;

  CSRCTry(CSRCBalancedMultTranspose<CONJUGATE>(A, u, z, v, CSRCPartials<Scalar>{r.sum, r.start}, stream));
  return CSRCLaunch(kernel, grid, 256, 0, 1, A.early, stream, A.n, r.nheavy, CSRCHeavyColumn(r.lanes), r.heavy, r.column, r.from, r.sum, z, v);
}
