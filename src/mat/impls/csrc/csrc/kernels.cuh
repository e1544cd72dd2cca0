#pragma once

/*
  Products with the layout csrc on a CUDA device: two kernels and the two functions that launch them. docs/csrc.md
  draws the form. Nothing here needs PETSc, so that tests/cuda can try the kernels by themselves.

  Dense operands are column-major. Columns are taken in panels of at most CSRC256_PANEL: a thread that has loaded a nonzero
  uses it for all columns of the panel. Y and V may hold rubbish; nothing but their m x K or n x K numbers is written.
  Every product is one of a stored nonzero with an operand's entry: there is no padding, and so no 0 x Inf that the matrix
  does not have.
*/
#include <algorithm>
#include <cstddef>
#include "cuda/scalar.cuh"
#include "tuning.h"

inline constexpr int CSRC256_THREADS = 256; /* of a thread block; also the rows of a row block, so that thread t owns row t */

/* Nonzeros that a thread loads before it uses the first: several loads in flight, one panel's worth of registers */
template <int panel>
inline constexpr int CSRC256Batch = panel >= CSRC256_AHEAD ? 1 : CSRC256_AHEAD / panel;

/* The form in device memory; csrc.h says what the arrays hold */
template <class Scalar, class Index>
struct CSRC256Device {
  Index          m, n;
  Index          nblocks;
  Index         *p;
  unsigned char *r;
  Index         *j;
  Scalar        *v;
};

/*
  Y = A X + Z for one panel. Z is NULL (none) or has Y's shape and leading dimension, and may be Y.

  thread    every 256th nonzero of its row block while adding up, then one row of Y
  warp      32 consecutive nonzeros: mostly one column or a few, hence nearby entries of X and distinct rows
  block     one row block (blockIdx.x) and one panel (blockIdx.y)
  shared    256 x panel accumulators, the parts of complex ones in planes: 2 KB a column in double precision
  memory    per nonzero and panel: 1 (r) + index (j) + scalar (v) bytes, coalesced, and panel gathers of X, which meet in
            cache as far as the row block repeats columns. Y is written once, coalesced; Z is read once.
  atomic    additions to the accumulators, in shared memory. None in global memory, hence no zeroing of Y.

  The accumulators take additions in any order: Y may differ in its last bits from run to run. Many nonzeros of one row queue
  up at one accumulator; that is right but slow.
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

    /* in three loops, so that the loads of all nonzeros of the batch, and then all gathers, are under way together */
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
  Sums over runs of equal columns in a warp: afterwards the first lane of a run holds the run's sums. heads has the bits of the
  first lanes, bit 0 among them. All lanes call it.

  In step d a lane takes over the sums of the lane d further up if that belongs to its run, which doubles the stretch that
  its own sums cover. Step d is needed only if a run is longer than d: bit i of open says that lanes i .. i+d-1 all continue
  the lane before them. The steps are thus as many as the longest run asks for, and none if all columns differ.
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
  warp      groups of 32 consecutive nonzeros: adds up runs of equal columns among its lanes
  block     one row block (blockIdx.x) and one panel (blockIdx.y)
  shared    the row block's rows of U, read once, coalesced: 256 x panel
  memory    per nonzero and panel: 1 (r) + index (j) + scalar (v) bytes, coalesced, and for each run of equal columns in a
            group one atomic addition a column of the panel
  atomic    these additions to V in global memory, by parts if complex

  V must hold zeros, or what A^T U is to be added to. Additions come in any order: V may differ in its last bits from run to
  run.
*/
template <int panel, bool conjugate, class Scalar, class Index>
__global__ void __launch_bounds__(CSRC256_THREADS)
  CSRC256MultTransposeKernel(Index m, const Index *__restrict__ p, const unsigned char *__restrict__ r, const Index *__restrict__ j, const Scalar *__restrict__ v, const Scalar *__restrict__ U, size_t ldu, Scalar *V, size_t ldv)
{
  using Count = std::make_unsigned_t<Index>;

  constexpr int batch = CSRC256Batch<panel>;

  /* bytes, since complex types may have constructors, which shared memory does not run */
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

      column[b] = -1; /* a lane beyond the last nonzero: a run of its own, never added */
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
  Calls launch(panel, first, panels) for K columns: as many full panels as there are, panels of them at once from column
  first on, then one panel each of 4, 2, 1 columns where K has that bit. The panel comes as a type, to be a template's argument.
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
  if (width == pitch) { /* the common case, and 2D copies have an upper limit on the pitch */
    if (!Z) err = cudaMemsetAsync(V, 0, width * K, stream);
    else if (Z != V) err = cudaMemcpyAsync(V, Z, width * K, cudaMemcpyDeviceToDevice, stream);
  } else {
    if (!Z) err = cudaMemset2DAsync(V, pitch, 0, width, K, stream);
    else if (Z != V) err = cudaMemcpy2DAsync(V, pitch, Z, pitch, width, K, cudaMemcpyDeviceToDevice, stream);
  }
  if (err != cudaSuccess || !A.nblocks) return err;
  return CSRC256ForEachPanel(K, [&](auto panel, size_t first, size_t panels) {
    const dim3 grid(static_cast<unsigned>(A.nblocks), static_cast<unsigned>(panels));

    CSRC256MultTransposeKernel<decltype(panel)::value, conjugate><<<grid, CSRC256_THREADS, 0, stream>>>(A.m, A.p, A.r, A.j, A.v, U + first * ldu, ldu, V + first * ldv, ldv);
    return cudaGetLastError();
  });
}
