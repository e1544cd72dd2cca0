#pragma once

/*
  Kernels for blocks of columns that are long and few: C = alpha A B + beta C with B small, C = A^H B with C small, and the Cholesky
  factor of a small matrix. Their cost is reading the long operands once; a thread has a row, or a few, and the small operand or the
  sums in registers. All sums are made in the same order at every run.

  Arrays are column by column. Nothing here needs PETSc.
*/
#include "../../../../mat/impls/csrc/cuda/csrcscalar.cuh"

#define BLOCK_THREADS 256 /* of the kernels with long operands */
#define BLOCK_WIDTH   32  /* the largest matrix that is factored */

/* ---------------------------------------------------------------- C = alpha A B + beta C */

/* Rows of B in shared memory at a time */
#define BLOCK_TILE 32

/* A is rows x k, B is k x n; blockIdx.y takes N columns of B and C */
template <int N, class Scalar>
__global__ void __launch_bounds__(BLOCK_THREADS) BlockMultiplyKernel(int rows, int n, int k, Scalar alpha, const Scalar *__restrict__ A, size_t lda, const Scalar *__restrict__ B, size_t ldb, Scalar beta, bool add, Scalar *C, size_t ldc)
{
  __shared__ __align__(16) char shared[BLOCK_TILE * N * sizeof(Scalar)];
  Scalar   *b   = reinterpret_cast<Scalar *>(shared);
  const int row = blockIdx.x * BLOCK_THREADS + threadIdx.x, j0 = blockIdx.y * N;
  Scalar    sum[N];

#pragma unroll
  for (int j = 0; j < N; j++) sum[j] = Scalar(0);
  for (int k0 = 0; k0 < k; k0 += BLOCK_TILE) {
    const int kn = min(BLOCK_TILE, k - k0);

    __syncthreads();
    for (int t = threadIdx.x; t < BLOCK_TILE * N; t += BLOCK_THREADS) {
      const int i = t % BLOCK_TILE, j = t / BLOCK_TILE;

      b[i * N + j] = i < kn && j0 + j < n ? B[k0 + i + (j0 + j) * ldb] : Scalar(0);
    }
    __syncthreads();
    if (row < rows) {
      const Scalar *a = A + row + (size_t)k0 * lda;

      if (kn == BLOCK_TILE) {
#pragma unroll 8
        for (int i = 0; i < BLOCK_TILE; i++) {
          const Scalar x = a[(size_t)i * lda];

#pragma unroll
          for (int j = 0; j < N; j++) sum[j] += CSRCProduct<false>(x, b[i * N + j]);
        }
      } else {
#pragma unroll 4
        for (int i = 0; i < kn; i++) {
          const Scalar x = a[(size_t)i * lda];

#pragma unroll
          for (int j = 0; j < N; j++) sum[j] += CSRCProduct<false>(x, b[i * N + j]);
        }
      }
    }
  }
  if (row < rows) {
#pragma unroll
    for (int j = 0; j < N; j++) {
      if (j0 + j < n) {
        Scalar *c = C + row + (size_t)(j0 + j) * ldc;

        *c = add ? CSRCProduct<false>(alpha, sum[j]) + CSRCProduct<false>(beta, *c) : CSRCProduct<false>(alpha, sum[j]);
      }
    }
  }
}

/* ---------------------------------------------------------------- C = A^H B */

/* The scalar of the lane whose number differs in the bits of mask; called by all lanes of a warp */
template <class Scalar>
__device__ __forceinline__ Scalar BlockShuffleXor(const Scalar &s, int mask)
{
  CSRCReal<Scalar> parts[CSRCParts<Scalar>];

#pragma unroll
  for (int part = 0; part < CSRCParts<Scalar>; part++) parts[part] = __shfl_xor_sync(0xffffffffu, CSRCGetPart(s, part), mask);
  return CSRCFromParts<Scalar>(parts, 1);
}

/* One halving of BlockWarpSum(): lanes with the bit keep the second half of the sums, the others the first */
template <int Half, int Bit, class Scalar>
__device__ __forceinline__ void BlockWarpHalve(Scalar *sum, int lane)
{
  const bool upper = lane & Bit;

#pragma unroll
  for (int i = 0; i < Half; i++) {
    const Scalar give = upper ? sum[i] : sum[i + Half], keep = upper ? sum[i + Half] : sum[i];

    sum[i] = keep + BlockShuffleXor(give, Bit);
  }
}

/*
  Count sums of each lane added up over the warp, Count a multiple of 32: Count/32 of them come out in each lane, those from
  Count/32 times the lane's number with its bits read from the highest
*/
template <int Count, class Scalar>
__device__ __forceinline__ int BlockWarpSum(Scalar *sum, int lane)
{
  BlockWarpHalve<Count / 2, 16>(sum, lane);
  BlockWarpHalve<Count / 4, 8>(sum, lane);
  BlockWarpHalve<Count / 8, 4>(sum, lane);
  BlockWarpHalve<Count / 16, 2>(sum, lane);
  BlockWarpHalve<Count / 32, 1>(sum, lane);
  return (lane & 16 ? Count / 2 : 0) + (lane & 8 ? Count / 4 : 0) + (lane & 4 ? Count / 8 : 0) + (lane & 2 ? Count / 16 : 0) + (lane & 1 ? Count / 32 : 0);
}

/*
  A is rows x m, B is rows x n. A block adds up the products of M columns of A (blockIdx.y) and N of B (blockIdx.z) over its share
  of the rows: entry e of C goes to partial[e * gridDim.x + blockIdx.x].
*/
template <int M, int N, class Scalar>
__global__ void __launch_bounds__(BLOCK_THREADS) BlockGramKernel(int rows, int m, int n, const Scalar *__restrict__ A, size_t lda, const Scalar *__restrict__ B, size_t ldb, Scalar *partial)
{
  __shared__ __align__(16) char shared[BLOCK_THREADS / 32 * M * N * sizeof(Scalar)];
  Scalar      *warps = reinterpret_cast<Scalar *>(shared);
  const int    i0 = blockIdx.y * M, j0 = blockIdx.z * N, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const size_t share = (((size_t)rows + gridDim.x - 1) / gridDim.x + 31) / 32 * 32;
  const size_t first = blockIdx.x * share, last = first + share < (size_t)rows ? first + share : (size_t)rows;
  Scalar       sum[M * N];

#pragma unroll
  for (int e = 0; e < M * N; e++) sum[e] = Scalar(0);
  for (size_t row = first + threadIdx.x; row < last; row += BLOCK_THREADS) {
    Scalar a[M], b[N];

    /* columns beyond the last are the last again: what they give is not stored */
#pragma unroll
    for (int i = 0; i < M; i++) a[i] = A[row + (size_t)min(i0 + i, m - 1) * lda];
#pragma unroll
    for (int j = 0; j < N; j++) b[j] = B[row + (size_t)min(j0 + j, n - 1) * ldb];
#pragma unroll
    for (int j = 0; j < N; j++) {
#pragma unroll
      for (int i = 0; i < M; i++) sum[i + j * M] += CSRCProduct<true>(a[i], b[j]);
    }
  }
  {
    const int e0 = BlockWarpSum<M * N>(sum, lane);

#pragma unroll
    for (int e = 0; e < M * N / 32; e++) warps[warp * M * N + e0 + e] = sum[e];
  }
  __syncthreads();
  for (int e = threadIdx.x; e < M * N; e += BLOCK_THREADS) {
    const int i = i0 + e % M, j = j0 + e / M;
    Scalar    s = warps[e];

    for (int w = 1; w < BLOCK_THREADS / 32; w++) s += warps[w * M * N + e];
    if (i < m && j < n) partial[(size_t)(i + j * m) * gridDim.x + blockIdx.x] = s;
  }
}

/* A warp adds up the parts of an entry */
template <class Scalar>
__global__ void __launch_bounds__(BLOCK_THREADS) BlockGramSumKernel(int entries, int parts, const Scalar *__restrict__ partial, Scalar *C)
{
  const int e = (blockIdx.x * BLOCK_THREADS + threadIdx.x) / 32, lane = threadIdx.x % 32;
  Scalar    s = Scalar(0);

  if (e < entries) {
    for (int p = lane; p < parts; p += 32) s += partial[(size_t)e * parts + p];
  }
  for (int distance = 16; distance; distance /= 2) s += CSRCShuffleDown(s, distance);
  if (e < entries && !lane) C[e] = s;
}

/* ---------------------------------------------------------------- a small Cholesky factor */

__device__ __forceinline__ float  BlockRoot(float x) { return sqrtf(x); }
__device__ __forceinline__ double BlockRoot(double x) { return sqrt(x); }

/* The length of a scalar is all that is asked of it here; a number that is none stays one */
template <class Scalar>
__device__ __forceinline__ CSRCReal<Scalar> BlockAbs(const Scalar &s)
{
  if constexpr (CSRCParts<Scalar> == 1) return s < 0 ? -s : s;
  else return BlockRoot(s.real() * s.real() + s.imag() * s.imag());
}

/*
  G = R^H R for a w x w matrix, of which the upper triangle is read, and the inverse of R; a thread for every entry, one block. The
  matrix is scaled to a unit diagonal first. If it has no factor, R and Rinv are the identity and the pivot found is 0. findings:
  pivot, shortest, longest, deviation, as blockmemory.h tells.
*/
template <class Scalar>
__global__ void BlockFactorKernel(int w, const Scalar *__restrict__ G, Scalar *R, Scalar *Rinv, Scalar *findings)
{
  using Real = CSRCReal<Scalar>;
  __shared__ __align__(16) char sharedS[BLOCK_WIDTH * (BLOCK_WIDTH + 1) * sizeof(Scalar)], sharedX[BLOCK_WIDTH * (BLOCK_WIDTH + 1) * sizeof(Scalar)];
  __shared__ Real               d[BLOCK_WIDTH], deviation[BLOCK_WIDTH];
  __shared__ int                good;
  Scalar   *S = reinterpret_cast<Scalar *>(sharedS), *X = reinterpret_cast<Scalar *>(sharedX);
  const int i = threadIdx.x, j = threadIdx.y, ld = BLOCK_WIDTH + 1;
  Real      pivot = 0;

  S[i + j * ld] = G[i + j * w];
  if (!i && !j) good = 1;
  __syncthreads();
  if (!i) {
    const Real g = CSRCGetPart(S[j + j * ld], 0);
    Real       worst = 0;

    for (int r = 0; r < w; r++) {
      const Real x = BlockAbs(S[r + j * ld] - Scalar(r == j ? 1 : 0));

      if (!(x <= worst) && worst == worst) worst = x; /* once it is no number it stays none */
    }
    deviation[j] = worst;
    d[j]         = g > 0 ? BlockRoot(g) : Real(0);
    if (!(g > 0) || worst - worst != 0) good = 0; /* infinities too */
  }
  __syncthreads();
  if (good) S[i + j * ld] = CSRCProduct<false>(S[i + j * ld], Scalar(1 / d[i] / d[j]));
  for (int p = 0; p < w; p++) {
    Real r;

    __syncthreads();
    r = CSRCGetPart(S[p + p * ld], 0);
    if (good && !(r > 0)) {
      __syncthreads();
      if (!i && !j) good = 0;
    }
    __syncthreads();
    if (!good) break;
    r     = BlockRoot(r);
    pivot = p && pivot < r ? pivot : r;
    if (i == p && j >= p) S[p + j * ld] = j == p ? Scalar(r) : CSRCProduct<false>(S[p + j * ld], Scalar(1 / r));
    __syncthreads();
    if (i > p && j >= i) S[i + j * ld] = S[i + j * ld] - CSRCProduct<true>(S[p + i * ld], S[p + j * ld]);
  }
  __syncthreads();
  /* R X = I, a row of X at a time from the last */
  X[i + j * ld] = Scalar(i == j ? 1 : 0);
  if (good) {
    for (int p = w - 1; p >= 0; p--) {
      __syncthreads();
      if (i == p) X[p + j * ld] = CSRCProduct<false>(X[p + j * ld], Scalar(1 / CSRCGetPart(S[p + p * ld], 0)));
      __syncthreads();
      if (i < p) X[i + j * ld] = X[i + j * ld] - CSRCProduct<false>(S[i + p * ld], X[p + j * ld]);
    }
    __syncthreads();
    R[i + j * w]    = i <= j ? CSRCProduct<false>(S[i + j * ld], Scalar(d[j])) : Scalar(0);
    Rinv[i + j * w] = i <= j ? CSRCProduct<false>(X[i + j * ld], Scalar(1 / d[i])) : Scalar(0);
  } else {
    R[i + j * w] = Rinv[i + j * w] = Scalar(i == j ? 1 : 0);
  }
  if (!i && !j) {
    Real shortest = d[0], longest = d[0], worst = deviation[0];

    for (int r = 1; r < w; r++) {
      shortest = shortest < d[r] ? shortest : d[r];
      longest  = longest > d[r] ? longest : d[r];
      if (!(deviation[r] <= worst) && worst == worst) worst = deviation[r];
    }
    findings[0] = Scalar(good ? pivot : Real(0));
    findings[1] = Scalar(shortest);
    findings[2] = Scalar(longest);
    findings[3] = Scalar(worst);
  }
}
