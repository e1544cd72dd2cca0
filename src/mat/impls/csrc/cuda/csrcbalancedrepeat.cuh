#pragma once

/*
  A^T u with the same bits every time. Instead of being added to v by atomics, in the order in which thread blocks come, the
  sums of each chunk are stored at places of their own; then those of a column are gathered and added, always in the same order.

  What it takes beside the layout: a scalar and an index of 4 bytes for each sum, one for each run of equal columns in a chunk
  and for each leftover; and 4 bytes a column and a chunk.
*/
#include "csrcbalancedvector.cuh"
#include "csrctranspose.cuh"

/*
  What CSRCBalancedTransposeVectorKernel() will make of each chunk: how many sums (column NULL), or the column of each. A sum is a
  run of equal columns in the order in which that kernel adds. Warp: a chunk.
*/
template <class Scalar>
__global__ void __launch_bounds__(256) CSRCPlacesKernel(const CSRCBalancedForm<Scalar> f, int *count, const int *start, int *column)
{
  __shared__ int cols[8][CSRC_CHUNK];
  const int      warp = threadIdx.x / 32, lane = threadIdx.x & 31, chunk = blockIdx.x * 8 + warp;
  int            c[CSRC_PER_LANE], none[CSRC_PER_LANE] = {}, n = 0;

  if (chunk > f.nchunks) return;
  if (chunk == f.nchunks) {
    if (!column && lane == 0) count[chunk] = f.nleft;
    return;
  }
  CSRCLaneChunk<Scalar, CSRC_VALUES_TABLE> a; /* of which the columns are read only */
  CSRCLoadColumns(a, f, lane, f.head[chunk]);
  CSRCColumns(a, c);
  if (f.order == CSRC_INTERLEAVED) CSRCSortLane(none, c);
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) cols[warp][f.order == CSRC_CONSECUTIVE ? lane * CSRC_PER_LANE + i : i * 32 + lane] = c[i];
  __syncwarp();
  for (int k = lane; k < CSRC_CHUNK; k += 32) {
    const bool     ends = k == CSRC_CHUNK - 1 || cols[warp][k] != cols[warp][k + 1];
    const unsigned mask = __ballot_sync(0xffffffffu, ends);

    if (column && ends) column[start[chunk] + n + __popc(mask & ((1u << lane) - 1))] = cols[warp][k];
    n += __popc(mask);
  }
  if (!column && lane == 0) count[chunk] = n;
}

static __global__ void CSRCCountKernel(int n, int *k)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;

  if (i < n) k[i] = i;
}

/*
  v = the sums of each column, + z. LANES lanes: a column; of each, 8 sums are under way at a time, and the places of the next 8. A
  column that has many is added by the warp.
*/
template <class Scalar, int LANES>
__global__ void __launch_bounds__(256) CSRCGatherPlacesKernel(int n, const int *column, const int *from, const Scalar *sum, const Scalar *z, Scalar *v)
{
  constexpr int AHEAD = 8;
  const int     c = (blockIdx.x * 256 + threadIdx.x) / LANES, lane = threadIdx.x % 32, l = lane % LANES;
  int           begin = 0, end = 0, k, place[AHEAD];
  Scalar        s    = Scalar(0);
  const auto    next = [&]() {
#pragma unroll
    for (int q = 0; q < AHEAD; q++) place[q] = k + q * LANES < end ? from[k + q * LANES] : -1;
  };

  if (c < n) {
    begin = column[c];
    end   = column[c + 1];
  }
  const bool many = LANES < 32 && end - begin > 4 * AHEAD * LANES;
  unsigned   todo = __ballot_sync(0xffffffffu, many && l == 0); /* columns for the warp */
  k               = many ? end : begin + l;
  next();
  CSRCLetNextBegin();
  CSRCWaitPrevious();
  while (k < end) {
    Scalar t[AHEAD];

#pragma unroll
    for (int q = 0; q < AHEAD; q++) t[q] = place[q] >= 0 ? sum[place[q]] : Scalar(0);
    k += AHEAD * LANES;
    next();
#pragma unroll
    for (int q = 0; q < AHEAD; q++) s += t[q];
  }
#pragma unroll
  for (int o = LANES / 2; o; o >>= 1) s += CSRCShuffleDown(s, o);
  while (todo) {
    const int from0 = __ffs(todo) - 1, first = __shfl_sync(0xffffffffu, begin, from0), last = __shfl_sync(0xffffffffu, end, from0);
    Scalar    t = Scalar(0);

    todo &= todo - 1;
#pragma unroll 4
    for (int q = first + lane; q < last; q += 32) t += sum[from[q]];
#pragma unroll
    for (int o = 16; o; o >>= 1) t += CSRCShuffleDown(t, o);
    t = CSRCShuffle(t, 0);
    if (lane == from0) s = t;
  }
  if (c < n && l == 0) v[c] = z ? s + z[c] : s;
}

/* Makes the places; the function waits for the stream. Leaves nothing allocated if it fails. */
template <class Scalar>
static cudaError_t CSRCBalancedRepeatBuild(const CSRCBalancedForm<Scalar> &f, cudaStream_t stream, CSRCBalancedRepeat<Scalar> *repeat)
{
  CSRCScratch                scratch(stream), kept(stream);
  CSRCBalancedRepeat<Scalar> r = {};
  int                       *count, *key, *key2, *place, bits = 1;
  void                      *temp;
  size_t                     bytes = 0;
  const int                  grid  = f.nchunks / 8 + 1;

  *repeat = r;
  CSRCTry(scratch.get(&count, (size_t)f.nchunks + 2));
  CSRCTry(scratch.get(&r.start, (size_t)f.nchunks + 2));
  CSRCTry(cudaMemsetAsync(count + f.nchunks + 1, 0, sizeof(int), stream));
  CSRCPlacesKernel<Scalar><<<grid, 256, 0, stream>>>(f, count, nullptr, nullptr);
  CSRCTry(cudaGetLastError());
  CSRCTry(cub::DeviceScan::ExclusiveSum(nullptr, bytes, count, r.start, f.nchunks + 2, stream));
  CSRCTry(scratch.get((char **)&temp, bytes));
  CSRCTry(cub::DeviceScan::ExclusiveSum(temp, bytes, count, r.start, f.nchunks + 2, stream));
  CSRCTry(cudaMemcpyAsync(&r.nplaces, r.start + f.nchunks + 1, sizeof(int), cudaMemcpyDeviceToHost, stream));
  CSRCTry(cudaStreamSynchronize(stream));
  scratch.release(&temp, false);
  scratch.release(&r.start, true);
  kept.all.push_back(r.start);
  CSRCTry(kept.get(&r.sum, r.nplaces));
  CSRCTry(kept.get(&r.from, r.nplaces));
  CSRCTry(kept.get(&r.column, (size_t)f.n + 1));
  CSRCTry(scratch.get(&key, r.nplaces));
  CSRCTry(scratch.get(&key2, r.nplaces));
  CSRCTry(scratch.get(&place, r.nplaces));
  CSRCPlacesKernel<Scalar><<<grid, 256, 0, stream>>>(f, count, r.start, key);
  CSRCTry(cudaGetLastError());
  if (f.nleft) CSRCTry(cudaMemcpyAsync(key + r.nplaces - f.nleft, f.leftcolumn, f.nleft * sizeof(int), cudaMemcpyDeviceToDevice, stream));
  CSRCCountKernel<<<r.nplaces / 256 + 1, 256, 0, stream>>>(r.nplaces, place);
  CSRCTry(cudaGetLastError());
  while (bits < 31 && (1 << bits) < f.n) bits++;
  bytes = 0;
  CSRCTry(cub::DeviceRadixSort::SortPairs(nullptr, bytes, key, key2, place, r.from, r.nplaces, 0, bits, stream));
  CSRCTry(scratch.get((char **)&temp, bytes));
  CSRCTry(cub::DeviceRadixSort::SortPairs(temp, bytes, key, key2, place, r.from, r.nplaces, 0, bits, stream));
  CSRCColumnStartsKernel<<<r.nplaces / 256 + 1, 256, 0, stream>>>(f.n, r.nplaces, key2, r.column);
  CSRCTry(cudaGetLastError());
  CSRCTry(cudaStreamSynchronize(stream)); /* kernels that begin early read what stands here */
  kept.all.clear();
  *repeat = r;
  return cudaSuccess;
}

/* v = A^T u + z, or A^H u + z, the same bits every time; z may be NULL or v */
template <bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedTransposeVectorRepeat(const CSRCBalancedForm<Scalar> &f, const CSRCBalancedRepeat<Scalar> &r, const Scalar *u, const Scalar *z, Scalar *v, cudaStream_t stream)
{
  const int each = r.nplaces / f.n, lanes = each >= 100 ? 32 : each >= 7 ? 4 : each >= 4 ? 2 : 1, grid = (int)(((long long)f.n * lanes + 255) / 256);

  CSRCTry(CSRCBalancedTransposeVector<CONJUGATE>(f, u, z, v, CSRCPlaces<Scalar>{r.sum, r.start}, stream));
  const auto kernel = lanes == 32 ? CSRCGatherPlacesKernel<Scalar, 32> : lanes == 4 ? CSRCGatherPlacesKernel<Scalar, 4> : lanes == 2 ? CSRCGatherPlacesKernel<Scalar, 2> : CSRCGatherPlacesKernel<Scalar, 1>;
  return CSRCLaunch(kernel, grid, 256, 0, 1, f.early, stream, f.n, r.column, r.from, r.sum, z, v);
}
