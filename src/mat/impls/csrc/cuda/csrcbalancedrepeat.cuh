#pragma once

/*
  A^T u with the same bits every time. Instead of being added to v by atomics, in the order in which thread blocks come, the
  sums of each chunk are stored at places of their own, which ascend by column within a block; then those of a column are added,
  always in the order of the blocks, leftovers last.

  Slices. v is cut into slices of 32 to 256 columns. What a block has for a slice stands together: its segment. A warp, or several,
  walks through the segments of a slice, with sums for the slice's columns in shared memory: all that is read stands together, and
  no two lanes add to one column.

  What it takes beside the layout: a scalar and a byte for each sum, one for each run of equal columns in a chunk and for each
  leftover; 4 bytes for each segment, of which there are about a twenty-fourth as many; and 4 bytes a chunk.
*/
#include "csrcbalancedvector.cuh"
#include "csrcscratch.cuh"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

constexpr int CSRC_SLICE_WARPS = 8; /* of a thread block that adds */

/*
  What CSRCBalancedTransposeVectorKernel() will make of each chunk: how many sums (column NULL), or the column of each. A sum is a
  run of equal columns in ascending order. Warp: a chunk.
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
  CSRCSortLane(none, c);
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

/* k[i] = i, or k[order[i]] = i */
static __global__ void CSRCCountKernel(int n, const int *order, int *k)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;

  if (i < n) k[order ? order[i] : i] = i;
}

/* Where segments begin, those of a slice together, from the columns of all places; and the column of each place in its slice. Thread: one of either. */
template <class Scalar>
__global__ void __launch_bounds__(256) CSRCSegmentsKernel(const CSRCBalancedForm<Scalar> f, const CSRCBalancedRepeat<Scalar> r, const int *column)
{
  const long long t = (long long)blockIdx.x * 256 + threadIdx.x;

  if (t < r.nplaces) r.column[t] = (unsigned char)(column[t] & (r.width - 1));
  if (t >= (r.nslices + 1ll) * r.nsegments) return;
  const int slice = (int)(t / r.nsegments), g = (int)(t % r.nsegments);
  int       lo = r.start[f.block[g].chunk], hi = g < f.nblocks ? r.start[f.block[g + 1].chunk] : r.nplaces;

  while (lo < hi) {
    const int mid = lo + (hi - lo) / 2;

    if (column[mid] / r.width < slice) lo = mid + 1;
    else hi = mid;
  }
  r.segment[t] = lo;
}

/*
  v = the sums of each column, + z

  Thread block: 8 warps. Warp: a slice, or with parts > 1 a parts-th of the segments of one, one after the other; what they hold of
  several is under way at once. The columns of a segment ascend, so sums of a column stand in neighbouring lanes and are added
  along the warp first. Bytes a sum: a scalar and 1, and 4/24 for the segment. Dynamic shared memory: a slice a warp.
*/
template <class Scalar>
__global__ void __launch_bounds__(32 * CSRC_SLICE_WARPS) CSRCAddSlicesKernel(const CSRCBalancedRepeat<Scalar> r, int n, const Scalar *z, Scalar *v)
{
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int                                 AHEAD = 4;
  const int                                     tid = threadIdx.x, warp = tid / 32, lane = tid & 31, parts = r.parts, part = warp % parts;
  const int                                     first = blockIdx.x * (CSRC_SLICE_WARPS / parts), slice = first + warp / parts;
  const int                                     begin = slice < r.nslices ? r.nsegments * part / parts : 0, end = slice < r.nslices ? r.nsegments * (part + 1) / parts : 0;
  Scalar *const                                 sums = reinterpret_cast<Scalar *>(shared), *const sum = sums + warp * r.width;
  const int *const                              segment = r.segment + (size_t)slice * r.nsegments;
  int                                           from = 0, to = 0; /* of segment g + lane */

  if (begin + lane < end) {
    from = segment[begin + lane];
    to   = segment[begin + lane + r.nsegments];
  }
  for (int t = lane; t < r.width; t += 32) sum[t] = Scalar(0);
  __syncwarp();
  CSRCLetNextBegin();
  CSRCWaitPrevious();
  for (int g = begin; g < end; g += 32) {
    const int from0 = from, to0 = to;
    unsigned  todo = __ballot_sync(0xffffffffu, from < to);

    from = to = 0;
    if (g + 32 + lane < end) {
      from = segment[g + 32 + lane];
      to   = segment[g + 32 + lane + r.nsegments];
    }
    while (todo) {
      int    k[AHEAD], last[AHEAD], column[AHEAD];
      Scalar s[AHEAD];

#pragma unroll
      for (int q = 0; q < AHEAD; q++) {
        const int l = todo ? __ffs(todo) - 1 : 0, stop = __shfl_sync(0xffffffffu, to0, l);

        k[q]      = __shfl_sync(0xffffffffu, from0, l) + lane;
        last[q]   = todo ? stop : 0;
        column[q] = k[q] < last[q] ? r.column[k[q]] : -1;
        s[q]      = k[q] < last[q] ? r.sum[k[q]] : Scalar(0);
        todo &= todo - 1;
      }
#pragma unroll
      for (int q = 0; q < AHEAD; q++) {
        while (k[q] - lane < last[q]) {
          const int      before = __shfl_up_sync(0xffffffffu, column[q], 1);
          const unsigned heads  = __ballot_sync(0xffffffffu, lane == 0 || column[q] != before || column[q] < 0);

          CSRCSumInWarp(heads, s[q], lane);
          if (column[q] >= 0 && (lane == 31 || ((heads >> (lane + 1)) & 1))) sum[column[q]] += s[q];
          __syncwarp();
          k[q] += 32;
          if (k[q] - lane < last[q]) {
            column[q] = k[q] < last[q] ? r.column[k[q]] : -1;
            s[q]      = k[q] < last[q] ? r.sum[k[q]] : Scalar(0);
          }
        }
      }
    }
  }
  __syncthreads();
  for (int t = tid; t < CSRC_SLICE_WARPS / parts * r.width; t += 32 * CSRC_SLICE_WARPS) {
    const int           c     = first * r.width + t;
    const Scalar *const parts0 = sums + (t / r.width * parts) * r.width + t % r.width;
    Scalar              s     = parts0[0];

    if (c >= n) continue;
    for (int p = 1; p < parts; p++) s += parts0[p * r.width];
    v[c] = z ? s + z[c] : s;
  }
}

/* Makes the places; the function waits for the stream. Leaves nothing allocated if it fails. */
template <class Scalar>
static cudaError_t CSRCBalancedRepeatBuild(const CSRCBalancedForm<Scalar> &f, cudaStream_t stream, CSRCBalancedRepeat<Scalar> *repeat)
{
  CSRCScratch                scratch(stream), kept(stream);
  CSRCArrays                 arrays;
  CSRCBalancedRepeat<Scalar> r = {};
  int                       *count, *start, *key;
  void                      *temp;
  size_t                     bytes = 0;
  const int                  grid  = f.nchunks / 8 + 1;

  *repeat = r;
  CSRCTry(scratch.get(&count, (size_t)f.nchunks + 2));
  CSRCTry(scratch.get(&start, (size_t)f.nchunks + 2));
  CSRCTry(cudaMemsetAsync(count + f.nchunks + 1, 0, sizeof(int), stream));
  CSRCPlacesKernel<Scalar><<<grid, 256, 0, stream>>>(f, count, nullptr, nullptr);
  CSRCTry(cudaGetLastError());
  CSRCTry(cub::DeviceScan::ExclusiveSum(nullptr, bytes, count, start, f.nchunks + 2, stream));
  CSRCTry(scratch.get((char **)&temp, bytes));
  CSRCTry(cub::DeviceScan::ExclusiveSum(temp, bytes, count, start, f.nchunks + 2, stream));
  CSRCTry(cudaMemcpyAsync(&r.nplaces, start + f.nchunks + 1, sizeof(int), cudaMemcpyDeviceToHost, stream));
  CSRCTry(cudaStreamSynchronize(stream));
  scratch.release(&temp, false);

  /* slices whose segments are of 24 sums on average, and warps enough for all of the device */
  r.nsegments = f.nblocks + (f.nleft > 0);
  for (r.width = 32; r.width < 256 && 2.0 * r.width * r.nplaces <= 24.0 * f.n * r.nsegments;) r.width *= 2;
  r.nslices = (f.n + r.width - 1) / r.width;
  for (r.parts = 1; r.parts < CSRC_SLICE_WARPS && r.nslices * r.parts < 2048;) r.parts *= 2;
  const size_t nsegments = (r.nslices + (size_t)1) * r.nsegments;
  arrays.add(&r.sum, r.nplaces);
  arrays.add(&r.start, (size_t)f.nchunks + 1);
  arrays.add(&r.segment, nsegments);
  if (f.nleft) arrays.add(&r.left, f.nleft);
  arrays.add(&r.column, r.nplaces);
  CSRCTry(arrays.get(kept, &r.memory));
  CSRCTry(cudaMemcpyAsync(r.start, start, (f.nchunks + 1) * sizeof(int), cudaMemcpyDeviceToDevice, stream));
  CSRCTry(scratch.get(&key, r.nplaces));
  CSRCPlacesKernel<Scalar><<<grid, 256, 0, stream>>>(f, count, start, key);
  CSRCTry(cudaGetLastError());
  if (f.nleft) {
    int *number, *order, bits = 1;

    CSRCTry(scratch.get(&number, f.nleft));
    CSRCTry(scratch.get(&order, f.nleft));
    CSRCCountKernel<<<f.nleft / 256 + 1, 256, 0, stream>>>(f.nleft, nullptr, number);
    CSRCTry(cudaGetLastError());
    while (bits < 31 && (1 << bits) < f.n) bits++;
    bytes = 0;
    CSRCTry(cub::DeviceRadixSort::SortPairs(nullptr, bytes, f.leftcolumn, key, number, order, f.nleft, 0, bits, stream));
    CSRCTry(scratch.get((char **)&temp, bytes));
    CSRCTry(cub::DeviceRadixSort::SortPairs(temp, bytes, f.leftcolumn, key + r.nplaces - f.nleft, number, order, f.nleft, 0, bits, stream));
    CSRCCountKernel<<<f.nleft / 256 + 1, 256, 0, stream>>>(f.nleft, order, r.left);
    CSRCTry(cudaGetLastError());
  }
  CSRCSegmentsKernel<<<(unsigned)(std::max(nsegments, (size_t)r.nplaces) / 256 + 1), 256, 0, stream>>>(f, r, key);
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
  const int each = CSRC_SLICE_WARPS / r.parts, grid = (r.nslices + each - 1) / each;

  CSRCTry(CSRCBalancedTransposeVector<CONJUGATE>(f, u, z, v, CSRCPlaces<Scalar>{r.sum, r.start, r.left}, stream));
  return CSRCLaunch(CSRCAddSlicesKernel<Scalar>, grid, 32 * CSRC_SLICE_WARPS, CSRC_SLICE_WARPS * r.width * sizeof(Scalar), 1, f.early, stream, r, f.n, z, v);
}
