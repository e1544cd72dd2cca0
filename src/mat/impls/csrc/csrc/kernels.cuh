#pragma once

/*
  Products with the layout csrc on a CUDA device: two kernels and the two functions that launch them. docs/csrc.md
  has drawings of the layout. Nothing here needs PETSc, so that tests/cuda can test the kernels without it.

  Dense operands are column-major. Columns are multiplied in panels of at most CSRC256_PANEL: a thread that has loaded a nonzero
  uses it for all columns of the panel. Y and V may be uninitialized; only their m x K or n x K entries are written.
  Each product is one of a stored nonzero with an entry of the operand. There is no padding, and thus no product 0 x Inf that the
  matrix does not have.
*/
#include <algorithm>
#include <cstddef>
#include "cuda/scalar.cuh"
#include "tuning.h"

inline constexpr int CSRC256_THREADS = 256; /* threads of a thread block, and rows of a row block: thread t owns row t */

/*
  Number of nonzeros that a thread loads before it uses the first one, so that several loads are pending; the products of all of them take
  the registers of one panel
*/
template <int panel>
inline constexpr int CSRC256Batch = panel >= CSRC256_AHEAD ? 1 : CSRC256_AHEAD / panel;

/* The layout, in one memory. Rows are cut into blocks of CSRC256_THREADS; the nonzeros of a row block are sorted by column and, within a column, by row. */
template <class Scalar, class Index>
struct CSRC256Device {
  Index          m, n;
  Index          nblocks;
  Index         *p; /* p[g] .. p[g+1]-1: the nonzeros of row block g */
  unsigned char *r; /* row of a nonzero, relative to its row block */
  Index         *j; /* column and value */
  Scalar        *v;
};

/*
  Y = A X + Z for one panel. Z is NULL (nothing is added), or has Y's shape and leading dimension, and may be Y.

  thread    every 256th nonzero of its row block during the additions, then one row of Y
  warp      32 consecutive nonzeros: mostly of one or a few columns, hence nearby entries of X and distinct rows
  block     one row block (blockIdx.x) and one panel (blockIdx.y)
  shared    256 x panel accumulators, real and imaginary parts separately: 2 KB a column in double precision
  memory    per nonzero and panel: 1 (r) + index (j) + scalar (v) bytes, coalesced, and one gather of X for each column of the panel,
            mostly from cache where columns of the row block repeat. Y is written once, coalesced; Z is read once.
  atomic    additions to the accumulators, in shared memory. None in global memory, hence Y need not be set to zero.

  The order of additions to an accumulator is not fixed: Y may differ in its last bits from run to run. Many nonzeros of one row wait
  for one accumulator; the result is right, but the product is slow.
*/
template <int panel, class Scalar, class Index>
__global__ void __launch_bounds__(CSRC256_THREADS)
  CSRC256MultKernel(Index m, const Index *__restrict__ p, const unsigned char *__restrict__ r, const Index *__restrict__ j, const Scalar *__restrict__ v, const Scalar *__restrict__ X, size_t ldx, const Scalar *Z, Scalar *Y, size_t ldy)
{
  using Real  = CSRCReal<Scalar>;
  using Count = std::make_unsigned_t<Index>; /* a count plus a stride may exceed Index */

  constexpr int parts = CSRCParts<Scalar>, batch = CSRC256Batch<panel>;

  __shared__ Real sum[panel * parts][CSRC256_THREADS];

  const int   t     = threadIdx.x;
  const Index begin = p[blockIdx.x];
  const Count count = p[blockIdx.x + 1] - begin;
  const Index row   = static_cast<Index>(blockIdx.x) * CSRC256_THREADS + t;

  X += blockIdx.y * panel * ldx;
  r += begin;
  j += begin;
  v += begin;

#pragma unroll
  for (int c = 0; c < panel * parts; c++) sum[c][t] = 0;
  __syncthreads();

  for (Count first = t; first < count; first += CSRC256_THREADS * batch) {
    int    to[batch];
    Index  column[batch];
    Scalar a[batch], product[batch][panel];

    /* three loops, so that all loads of the batch are pending at the same time, and then all gathers */
#pragma unroll
    for (int b = 0; b < batch; b++) {
      const Count k = first + b * CSRC256_THREADS;

      to[b] = -1; /* beyond the last nonzero */
      if (k < count) {
        to[b]     = r[k];
        column[b] = j[k];
        a[b]      = v[k];
      }
    }
#pragma unroll
    for (int b = 0; b < batch; b++) {
      if (to[b] >= 0) {
#pragma unroll
        for (int c = 0; c < panel; c++) product[b][c] = CSRCProduct<false>(a[b], X[c * ldx + column[b]]);
      }
    }
#pragma unroll
    for (int b = 0; b < batch; b++) {
      if (to[b] >= 0) {
#pragma unroll
        for (int c = 0; c < panel * parts; c++) atomicAdd(&sum[c][to[b]], CSRCGetPart(product[b][c / parts], c % parts));
      }
    }
  }
  __syncthreads();

  if (row < m) {
    const size_t at = blockIdx.y * panel * ldy + row;

#pragma unroll
    for (int c = 0; c < panel; c++) {
      const Scalar s = CSRCFromParts<Scalar>(&sum[c * parts][t], CSRC256_THREADS);

      Y[at + c * ldy] = Z ? Z[at + c * ldy] + s : s;
    }
  }
}

/*
  Sums over runs of equal columns in a warp: afterwards the first lane of a run holds the sums of the run. heads has the bits of the
  first lanes, including bit 0. All lanes call it.

  In step d a lane adds the sums of lane + d if that lane belongs to the same run, which doubles the number of lanes that
  its sums cover. Step d is needed only if a run is longer than d: bit i of open says that each of the lanes i .. i+d-1 continues the run of
  the previous lane. Thus the longest run determines the number of steps, and there is none if all columns differ.
*/
template <int panel, class Scalar>
__device__ __forceinline__ void CSRCWarpRunSums(unsigned heads, Scalar s[panel])
{
  const int      lane = threadIdx.x % 32;
  const unsigned next = heads & ~((2u << lane) - 1); /* heads above this lane; lane 31 has none: 2u << 31 is 0 */
  const int      end  = next ? __ffs(next) - 1 : 32;

  unsigned open = ~heads;

  for (int d = 1; open; d *= 2) {
#pragma unroll
    for (int c = 0; c < panel; c++) {
      const Scalar above = CSRCShuffleDown(s[c], d);

      if (lane + d < end) s[c] += above;
    }
    open &= open >> d;
  }
}

/*
  V += A^T U for one panel, or V += A^H U (conjugate).

  thread    one nonzero of each group of 32
  warp      groups of 32 consecutive nonzeros: adds runs of equal columns among its lanes
  block     one row block (blockIdx.x) and one panel (blockIdx.y)
  shared    the rows of U that belong to the row block, read once, coalesced: 256 x panel
  memory    per nonzero and panel: 1 (r) + index (j) + scalar (v) bytes, coalesced; for each run of equal columns in a
            group one atomic addition for each column of the panel
  atomic    these additions to V in global memory; real and imaginary parts separately

  V must hold zeros, or the matrix to which A^T U is added. The order of additions is not fixed: V may differ in its last bits from run to
  run.
*/
template <int panel, bool conjugate, class Scalar, class Index>
__global__ void __launch_bounds__(CSRC256_THREADS)
  CSRC256MultTransposeKernel(Index m, const Index *__restrict__ p, const unsigned char *__restrict__ r, const Index *__restrict__ j, const Scalar *__restrict__ v, const Scalar *__restrict__ U, size_t ldu, Scalar *V, size_t ldv)
{
  using Count = std::make_unsigned_t<Index>;

  constexpr int batch = CSRC256Batch<panel>;

  /* an array of bytes, since complex types may have constructors, which are not allowed in shared memory */
  alignas(Scalar) __shared__ unsigned char store[sizeof(Scalar) * panel * CSRC256_THREADS];
  Scalar(*u)[CSRC256_THREADS] = reinterpret_cast<Scalar(*)[CSRC256_THREADS]>(store);

  const int   t = threadIdx.x, lane = t % 32;
  const Index begin = p[blockIdx.x];
  const Count count = p[blockIdx.x + 1] - begin;
  const Index row   = static_cast<Index>(blockIdx.x) * CSRC256_THREADS + t;

  if (!count) return;
  U += blockIdx.y * panel * ldu;
  V += blockIdx.y * panel * ldv;
  r += begin;
  j += begin;
  v += begin;

  if (row < m) {
#pragma unroll
    for (int c = 0; c < panel; c++) u[c][t] = U[c * ldu + row];
  }
  __syncthreads();

  for (Count first = (t - lane) * batch; first < count; first += CSRC256_THREADS * batch) {
    int    from[batch];
    Index  column[batch];
    Scalar a[batch];

#pragma unroll
    for (int b = 0; b < batch; b++) {
      const Count k = first + b * 32 + lane;

      column[b] = -1; /* a lane beyond the last nonzero: belongs to a run that is not added */
      if (k < count) {
        from[b]   = r[k];
        column[b] = j[k];
        a[b]      = v[k];
      }
    }
#pragma unroll
    for (int b = 0; b < batch; b++) {
      const Index    previous = __shfl_up_sync(0xffffffffu, column[b], 1);
      const bool     head     = lane == 0 || column[b] != previous;
      const unsigned heads    = __ballot_sync(0xffffffffu, head);
      Scalar         s[panel];

#pragma unroll
      for (int c = 0; c < panel; c++) s[c] = column[b] < 0 ? Scalar(0) : CSRCProduct<conjugate>(a[b], u[c][from[b]]);
      CSRCWarpRunSums<panel>(heads, s);
      if (head && column[b] >= 0) {
#pragma unroll
        for (int c = 0; c < panel; c++) CSRCAtomicAdd(V + c * ldv + column[b], s[c]);
      }
    }
  }
}

/*
  Calls launch(panel, first, panels) for K columns: for all full panels, as many of them at once as possible, from column
  first on; then for one panel each of 4, 2 and 1 columns if K has that bit. panel is an integral constant, for use as a template argument.
*/
template <class Launch>
cudaError_t CSRC256ForEachPanel(size_t K, const Launch &launch)
{
  const size_t maxpanels = 65535; /* gridDim.y */
  size_t       first     = 0;
  cudaError_t  err       = cudaSuccess;

  while (err == cudaSuccess && K - first >= CSRC256_PANEL) {
    const size_t panels = std::min((K - first) / CSRC256_PANEL, maxpanels);

    err = launch(std::integral_constant<int, CSRC256_PANEL>(), first, panels);
    first += panels * CSRC256_PANEL;
  }
  if (err == cudaSuccess && (K & 4)) {
    err = launch(std::integral_constant<int, 4>(), first, 1);
    first += 4;
  }
  if (err == cudaSuccess && (K & 2)) {
    err = launch(std::integral_constant<int, 2>(), first, 1);
    first += 2;
  }
  if (err == cudaSuccess && (K & 1)) err = launch(std::integral_constant<int, 1>(), first, 1);
  return err;
}

/* Y = A X + Z, K columns, on a stream. Z is NULL or has Y's shape and leading dimension, and may be Y. */
template <class Scalar, class Index>
cudaError_t CSRC256Mult(const CSRC256Device<Scalar, Index> &A, size_t K, const Scalar *X, size_t ldx, const Scalar *Z, Scalar *Y, size_t ldy, cudaStream_t stream)
{
  if (!A.nblocks) return cudaSuccess;
  return CSRC256ForEachPanel(K, [&](auto panel, size_t first, size_t panels) {
    const dim3 grid(static_cast<unsigned>(A.nblocks), static_cast<unsigned>(panels));

    CSRC256MultKernel<decltype(panel)::value><<<grid, CSRC256_THREADS, 0, stream>>>(A.m, A.p, A.r, A.j, A.v, X + first * ldx, ldx, Z ? Z + first * ldy : nullptr, Y + first * ldy, ldy);
    return cudaGetLastError();
  });
}

/* V = A^T U + Z or V = A^H U + Z (conjugate), K columns, on a stream. Z is NULL or has V's shape and leading dimension, and may be V. */
template <bool conjugate, class Scalar, class Index>
cudaError_t CSRC256MultTranspose(const CSRC256Device<Scalar, Index> &A, size_t K, const Scalar *U, size_t ldu, const Scalar *Z, Scalar *V, size_t ldv, cudaStream_t stream)
{
  const size_t width = static_cast<size_t>(A.n) * sizeof(Scalar), pitch = ldv * sizeof(Scalar);
  cudaError_t  err = cudaSuccess;

  if (!A.n || !K) return cudaSuccess;
  if (width != pitch && pitch <= INT_MAX) { /* the largest pitch of such copies */
    if (!Z) err = cudaMemset2DAsync(V, pitch, 0, width, K, stream);
    else if (Z != V) err = cudaMemcpy2DAsync(V, pitch, Z, pitch, width, K, cudaMemcpyDeviceToDevice, stream);
  } else {
    for (size_t k = 0, columns = width == pitch ? K : 1; k < K && err == cudaSuccess; k += columns) {
      if (!Z) err = cudaMemsetAsync(V + k * ldv, 0, width * columns, stream);
      else if (Z != V) err = cudaMemcpyAsync(V + k * ldv, Z + k * ldv, width * columns, cudaMemcpyDeviceToDevice, stream);
    }
  }
  if (err != cudaSuccess || !A.nblocks) return err;
  return CSRC256ForEachPanel(K, [&](auto panel, size_t first, size_t panels) {
    const dim3 grid(static_cast<unsigned>(A.nblocks), static_cast<unsigned>(panels));

    CSRC256MultTransposeKernel<decltype(panel)::value, conjugate><<<grid, CSRC256_THREADS, 0, stream>>>(A.m, A.p, A.r, A.j, A.v, U + first * ldu, ldu, V + first * ldv, ldv);
    return cudaGetLastError();
  });
}
