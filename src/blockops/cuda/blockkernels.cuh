#pragma once

/*
  Kernels for blocks of few long columns: C = A^H B with C small, passes that combine columns, and the Cholesky factor of a small
  matrix. Their cost is reading the long operands once. All sums are made in the same order in every run.

  Arrays are stored by columns. Nothing here needs PETSc.
*/
#include "cuda/scalar.cuh"

#define BLOCK_THREADS 256 /* threads per block of the kernels with long operands */
#define BLOCK_WIDTH   32  /* the largest matrix that is factored */

/* ---------------------------------------------------------------- the last thread block */

/*
  Whether this thread block is the last of `blocks` to call this; it can then read what the others wrote to memory before. Called by
  all threads. The ticket is zero before and after.
*/
__device__ __forceinline__ bool BlockComesLast(unsigned int *ticket, unsigned int blocks)
{
  __shared__ bool last;

  __threadfence();
  __syncthreads();
  if (!threadIdx.x) {
    last = atomicAdd(ticket, 1u) == blocks - 1;
    if (last) *ticket = 0;
  }
  __syncthreads();
  __threadfence();
  return last;
}

/* ---------------------------------------------------------------- C = A^H B */

/* The scalar of the lane whose number is this one's with the bits of mask flipped; called by all lanes of a warp */
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
  Adds up Count sums of each lane over the warp, Count being a multiple of 32. Each lane gets Count/32 of the results, beginning with
  number Count/32 times the lane's number with its five bits reversed
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

/* A warp adds up the parts of an entry; lane 0 gets the sum */
template <class Scalar>
__device__ __forceinline__ Scalar BlockGramSum(int parts, const Scalar *partial, int lane)
{
  Scalar s = Scalar(0);

#pragma unroll 4
  for (int p = lane; p < parts; p += 32) s += partial[p];
  for (int distance = 16; distance; distance /= 2) s += CSRCShuffleDown(s, distance);
  return s;
}

/*
  A is rows x m, B is rows x n. A thread block sums the products of M columns of A (blockIdx.y) and N of B (blockIdx.z) over its share
  of the rows: entry e of C goes to partial[e * gridDim.x + blockIdx.x]. The last thread block of a tile of C adds up the parts of the
  tile; there is one ticket for each tile.
*/
template <int M, int N, class Scalar>
__global__ void __launch_bounds__(BLOCK_THREADS) BlockGramKernel(int rows, int m, int n, const Scalar *__restrict__ A, size_t lda, const Scalar *__restrict__ B, size_t ldb, Scalar *partial, unsigned int *tickets, Scalar *C)
{
  __shared__ __align__(16) char shared[BLOCK_THREADS / 32 * M * N * sizeof(Scalar)];
  Scalar                       *warps = reinterpret_cast<Scalar *>(shared);
  const int                     i0 = blockIdx.y * M, j0 = blockIdx.z * N, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const size_t                  share = (((size_t)rows + gridDim.x - 1) / gridDim.x + 31) / 32 * 32;
  const size_t                  first = blockIdx.x * share, last = first + share < (size_t)rows ? first + share : (size_t)rows;
  Scalar                        sum[M * N];

#pragma unroll
  for (int e = 0; e < M * N; e++) sum[e] = Scalar(0);
  for (size_t row = first + threadIdx.x; row < last; row += BLOCK_THREADS) {
    Scalar a[M], b[N];

    /* columns beyond the last repeat the last one: their results are not stored */
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
  if (!BlockComesLast(tickets + blockIdx.y + gridDim.y * blockIdx.z, gridDim.x)) return;
  for (int e = warp; e < M * N; e += BLOCK_THREADS / 32) {
    const int i = i0 + e % M, j = j0 + e / M;

    if (i < m && j < n) {
      const Scalar s = BlockGramSum(gridDim.x, partial + (size_t)(i + j * m) * gridDim.x, lane);

      if (!lane) C[i + j * m] = s;
    }
  }
}

/* The largest number of tiles of eight columns of A that a warp has */
#define BLOCK_GRAM_M 8

/* D += A B for an 8 x 4 matrix A and a 4 x 8 matrix B, of which each lane has the entries A(lane / 4, lane % 4) and B(lane % 4, lane / 4) */
__device__ __forceinline__ void BlockMultiplyAdd(double (&d)[2], double a, double b)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800 /* older devices do not get here: BlockDeviceHasTensor() */
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(d[0]), "+d"(d[1]) : "d"(a), "d"(b));
#else
  (void)d;
  (void)a;
  (void)b;
#endif
}

/*
  C = A^T B in double precision on tensor cores; A is rows x m, B is rows x n. A thread block has mtiles tiles of columns of A from
  blockIdx.y on, NT of B from blockIdx.z on, and a share of the rows. A warp has eight rows of every 64 in the share, and keeps all
  sums of its tiles in registers. A is read once for each blockIdx.z, B once for each blockIdx.y. Entry e of C goes to
  partial[e * gridDim.x + blockIdx.x]; these are too many for one thread block to add up.
*/
template <int NT>
__global__ void __launch_bounds__(BLOCK_THREADS, 2) BlockGramTensorKernel(int rows, int m, int n, int mtiles, const double *__restrict__ A, size_t lda, const double *__restrict__ B, size_t ldb, double *partial)
{
  __shared__ double sums[BLOCK_THREADS / 32][64];
  const int         i0 = blockIdx.y * mtiles * 8, j0 = blockIdx.z * NT * 8, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int         share = ((rows + gridDim.x - 1) / gridDim.x + 31) / 32 * 32, first = blockIdx.x * share, last = min(first + share, rows);
  constexpr int     MT = BLOCK_GRAM_M;
  const double     *a[MT], *b[NT];
  double            d[MT][NT][2];

#pragma unroll
  for (int i = 0; i < MT; i++) {
    /* columns beyond the last repeat the last one: their results are not stored */
    a[i] = A + (size_t)min(i0 + i * 8 + lane / 4, m - 1) * lda;
#pragma unroll
    for (int j = 0; j < NT; j++) d[i][j][0] = d[i][j][1] = 0;
  }
#pragma unroll
  for (int j = 0; j < NT; j++) b[j] = B + (size_t)min(j0 + j * 8 + lane / 4, n - 1) * ldb;
  for (int r0 = first + warp * 8; r0 < last; r0 += BLOCK_THREADS / 32 * 8) {
    double x[2][MT], y[2][NT];

#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int r = r0 + 4 * h + lane % 4;

#pragma unroll
      for (int i = 0; i < MT; i++) x[h][i] = i < mtiles && r < last ? a[i][r] : 0;
#pragma unroll
      for (int j = 0; j < NT; j++) y[h][j] = r < last ? b[j][r] : 0;
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
#pragma unroll
      for (int i = 0; i < MT; i++) {
        if (i < mtiles) {
#pragma unroll
          for (int j = 0; j < NT; j++) BlockMultiplyAdd(d[i][j], x[h][i], y[h][j]);
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < MT; i++) {
    if (i >= mtiles) break;
#pragma unroll
    for (int j = 0; j < NT; j++) {
      __syncthreads();
      sums[warp][lane * 2]     = d[i][j][0];
      sums[warp][lane * 2 + 1] = d[i][j][1];
      __syncthreads();
      if (threadIdx.x < 64) {
        const int row = i0 + i * 8 + threadIdx.x / 8, col = j0 + j * 8 + threadIdx.x % 8;
        double    s = 0;

#pragma unroll
        for (int w = 0; w < BLOCK_THREADS / 32; w++) s += sums[w][threadIdx.x];
        if (row < m && col < n) partial[(size_t)(row + col * m) * gridDim.x + blockIdx.x] = s;
      }
    }
  }
}

/* A warp adds up the parts of an entry */
template <class Scalar>
__global__ void __launch_bounds__(BLOCK_THREADS) BlockGramSumKernel(int entries, int parts, const Scalar *__restrict__ partial, Scalar *C)
{
  const int e = (blockIdx.x * BLOCK_THREADS + threadIdx.x) / 32, lane = threadIdx.x % 32;

  if (e < entries) {
    const Scalar s = BlockGramSum(parts, partial + (size_t)e * parts, lane);

    if (!lane) C[e] = s;
  }
}

/* ---------------------------------------------------------------- Cholesky factor of a small matrix */

__device__ __forceinline__ float BlockRoot(float x)
{
  return sqrtf(x);
}
__device__ __forceinline__ double BlockRoot(double x)
{
  return sqrt(x);
}

/* The modulus of a scalar; NaN stays NaN */
template <class Scalar>
__device__ __forceinline__ CSRCReal<Scalar> BlockAbs(const Scalar &s)
{
  if constexpr (CSRCParts<Scalar> == 1) return s < 0 ? -s : s;
  else return BlockRoot(s.real() * s.real() + s.imag() * s.imag());
}

/* Scalars of shared memory that BlockFactor() needs */
#define BLOCK_FACTOR_SHARED(w, threads) ((w) * ((w) + 1) + ((w) * ((w) + 1) > (threads) ? (w) * ((w) + 1) : (threads)) + 2 * (w))

/*
  G = R^H R for a w x w matrix, and the inverse of R, by one block of THREADS threads, at least one for each entry. G is the sum of parts
  that are stored one after the other. findings: pivot, shortest, longest, deviation, as in blockops.h. Some warps return before the
  last barriers of the others, so nothing but the end of the kernel may follow.

  The matrix is scaled to a unit diagonal and factored without square roots, S = L D L^H. The identity beside it is transformed along
  and becomes the inverse of L. Thread (i, j) has one entry of each, so that a column costs one barrier. If a pivot is not positive,
  R and Rinv are the identity and the pivot found is 0.
*/
template <int THREADS, class Scalar>
__device__ void BlockFactor(int w, int parts, const Scalar *partial, Scalar *R, Scalar *Rinv, Scalar *findings, Scalar *shared)
{
  using Real  = CSRCReal<Scalar>;
  const int t = threadIdx.x, ww = w * w, i = t % w, j = t / w, ld = w + 1;
  Scalar   *S = shared, *X = S + w * ld, *sums = X; /* sums: used before X */
  Real     *d = reinterpret_cast<Real *>(X + (w * ld > THREADS ? w * ld : THREADS)), *deviation = d + w;
  Real      pivot = 0;
  bool      good  = true;

  {
    /* share threads for each entry; each adds up every share-th part */
    const int share = THREADS / ww, e = t % ww, group = t / ww;
    int       last = share;

    if (group < share) {
      Scalar s = Scalar(0);

#pragma unroll 16
      for (int p = group; p < parts; p += share) s += partial[e + (size_t)p * ww];
      sums[e + group * ww] = s;
    }
    /* adds the second half to the first until few are left */
    for (; last > 4; last = (last + 1) / 2) {
      const int half = (last + 1) / 2;

      __syncthreads();
      if (group < last - half) sums[e + group * ww] += sums[e + (group + half) * ww];
    }
    __syncthreads();
    if (t < ww) {
      Scalar s = sums[t];

      for (int g = 1; g < last; g++) s += sums[t + g * ww];
      S[i + j * ld] = s;
    }
    __syncthreads();
  }
  if (t < w) {
    const Real g     = CSRCGetPart(S[t + t * ld], 0);
    Real       worst = 0;

    for (int r = 0; r < w; r++) {
      const Real x = BlockAbs(S[r + t * ld] - Scalar(r == t ? 1 : 0));

      if (!(x <= worst) && worst == worst) worst = x; /* once it is NaN it stays NaN */
    }
    deviation[t] = worst;
    d[t]         = g > 0 ? BlockRoot(g) : Real(0);
  }
  __syncthreads();
  /* warps without an entry take no part in later barriers */
  if (t >= (ww + 31) / 32 * 32) return;
  for (int r = 0; r < w; r++) good = good && d[r] > 0 && deviation[r] - deviation[r] == 0; /* no infinities either */
  if (t < ww) {
    if (good) S[i + j * ld] = CSRCProduct<false>(S[i + j * ld], Scalar(1 / d[i] / d[j]));
    X[i + j * ld] = Scalar(i == j ? 1 : 0);
  }
  for (int p = 0; p < w && good; p++) {
    Real r;

    __syncthreads();
    r = CSRCGetPart(S[p + p * ld], 0);
    if (!(r > 0)) good = false;
    else {
      pivot = p && pivot < r ? pivot : r;
      if (t < ww && i > p) {
        const Scalar f = CSRCProduct<false>(S[p + i * ld], Scalar(1 / r));

        if (j >= i) S[i + j * ld] = S[i + j * ld] - CSRCProduct<true>(f, S[p + j * ld]);
        else if (j <= p) X[i + j * ld] = X[i + j * ld] - CSRCProduct<true>(f, X[p + j * ld]);
      }
    }
  }
  __syncthreads();
  if (t < ww) {
    if (good) {
      Scalar x = X[j + i * ld];

      if constexpr (CSRCParts<Scalar> == 2) x = Scalar(x.real(), -x.imag());
      R[t]    = i <= j ? CSRCProduct<false>(S[i + j * ld], Scalar(d[j] / BlockRoot(CSRCGetPart(S[i + i * ld], 0)))) : Scalar(0);
      Rinv[t] = i <= j ? CSRCProduct<false>(x, Scalar(1 / d[i] / BlockRoot(CSRCGetPart(S[j + j * ld], 0)))) : Scalar(0);
    } else {
      R[t] = Rinv[t] = Scalar(i == j ? 1 : 0);
    }
  }
  if (!t) {
    Real shortest = d[0], longest = d[0], worst = deviation[0];

    for (int r = 1; r < w; r++) {
      shortest = shortest < d[r] ? shortest : d[r];
      longest  = longest > d[r] ? longest : d[r];
      if (!(deviation[r] <= worst) && worst == worst) worst = deviation[r];
    }
    findings[0] = Scalar(good ? BlockRoot(pivot) : Real(0));
    findings[1] = Scalar(shortest);
    findings[2] = Scalar(longest);
    findings[3] = Scalar(worst);
  }
}

/* Threads per block of BlockFactorKernel() */
#define BLOCK_FACTOR_THREADS 1024

/* BlockFactor() as a kernel of its own, for any width up to BLOCK_WIDTH; one thread block */
template <class Scalar>
__global__ void __launch_bounds__(BLOCK_FACTOR_THREADS) BlockFactorKernel(int w, int parts, const Scalar *partial, Scalar *R, Scalar *Rinv, Scalar *findings)
{
  __shared__ __align__(16) char shared[BLOCK_FACTOR_SHARED(BLOCK_WIDTH, BLOCK_FACTOR_THREADS) * sizeof(Scalar)];

  BlockFactor<BLOCK_FACTOR_THREADS>(w, parts, partial, R, Rinv, findings, reinterpret_cast<Scalar *>(shared));
}

/* ---------------------------------------------------------------- a pass over the rows of a block */

/* The largest number of scalars of H that are passed as kernel arguments */
#define BLOCK_PASS_INLINED 64

/* What BlockPassKernel() works on: out = in M + factor Q H - P K; see BlockPass in blockops.h. The small operands are compact. */
template <class Scalar>
struct BlockPassArguments {
  int           rows, w;
  Scalar        factor;
  const Scalar *in, *M;              /* rows x w, or NULL: zero; w x w or NULL */
  const Scalar *Q, *H;               /* rows x k, k x w; NULL: H is inlined */
  const Scalar *P, *K;               /* rows x w or NULL, w x w */
  Scalar       *copy, *out;          /* P's copy, rows x w */
  Scalar       *partial;             /* of out^H out: entry e of part p is at e + p w w; or NULL */
  Scalar       *R, *Rinv, *findings; /* its factor, if R is not NULL */
  unsigned int *ticket;
  const Scalar *results; /* nresults scalars of earlier kernels, to be copied to host memory */
  Scalar       *mirror;
  int           k, nresults;
  size_t        ldin, ldq, ldp, ldcopy, ldout;
  Scalar        inlined[BLOCK_PASS_INLINED];
};

/* The number of rows of small operands in shared memory at a time */
#define BLOCK_PASS_TILE 128

/*
  sum[0, N) += factor times this thread's row of A times columns [j0, j0 + N) of B. Of A's k columns the thread takes those of its slice,
  every slices-th one. If copy is given, the row is copied to it. Called by all threads; b is in shared memory.
*/
template <int N, class Scalar>
__device__ __forceinline__ void BlockPassAccumulate(Scalar *sum, Scalar factor, bool inside, int slice, int slices, int k, const Scalar *__restrict__ a, size_t lda, const Scalar *__restrict__ B, int w, int j0, Scalar *copy, size_t ldcopy, Scalar *b)
{
  for (int k0 = 0; k0 < k; k0 += BLOCK_PASS_TILE) {
    const int kn = min(BLOCK_PASS_TILE, k - k0);

    __syncthreads();
    for (int t = threadIdx.x; t < kn * N; t += BLOCK_THREADS) {
      const int i = t % kn, j = t / kn;

      b[i * N + j] = j0 + j < w ? CSRCProduct<false>(factor, B[k0 + i + (size_t)(j0 + j) * k]) : Scalar(0);
    }
    __syncthreads();
    if (inside) {
      const Scalar *from = a + (size_t)(k0 + slice) * lda;
      const size_t  step = (size_t)slices * lda;

#pragma unroll 8
      for (int i = slice; i < kn; i += slices, from += step) {
        const Scalar x = *from;

#pragma unroll
        for (int j = 0; j < N; j++) sum[j] += CSRCProduct<false>(x, b[i * N + j]);
        if (copy) copy[(size_t)(k0 + i) * ldcopy] = x;
      }
    }
  }
}

/*
  Computes out = in M + factor Q H - P K, row by row, the parts of out^H out, and the Cholesky factor of their sum, in the thread block that
  ends last.

  A thread block has tiles of BLOCK_THREADS / slices rows. The columns of Q are divided among `slices` threads of a row, in different
  warps: a short matrix has too few rows to hide the latency of loads. blockIdx.y computes N columns of out; with more than N columns
  in all, partial is NULL. Everything is read once and written once: (k + 2 w) scalars a row, 2 w more with P. The columns of out form
  four groups; of out^H out, thread t computes the products of two groups given by t % 16, for every sixteenth row of a tile.
*/
template <int N, class Scalar>
__global__ void __launch_bounds__(BLOCK_THREADS) BlockPassKernel(const __grid_constant__ BlockPassArguments<Scalar> p, int slices)
{
  extern __shared__ __align__(16) char passshared[];
  constexpr int                        G    = N / 4;
  const int                            tile = BLOCK_THREADS / slices, r = threadIdx.x % tile, slice = threadIdx.x / tile, j0 = blockIdx.y * N, ldt = tile + 1;
  Scalar                              *b  = reinterpret_cast<Scalar *>(passshared); /* BLOCK_PASS_TILE x N; later the sums of the slices, or the tile of out */
  const int                            gi = threadIdx.x % 4 * G, gj = threadIdx.x / 4 % 4 * G, first = threadIdx.x / 16;
  Scalar                               gram[G * G];

#pragma unroll
  for (int e = 0; e < G * G; e++) gram[e] = Scalar(0);
  if (!blockIdx.x && !blockIdx.y) {
    for (int e = threadIdx.x; e < p.nresults; e += BLOCK_THREADS) p.mirror[e] = p.results[e];
  }
  for (int row0 = blockIdx.x * tile; row0 < p.rows; row0 += gridDim.x * tile) {
    const int  row    = row0 + r;
    const bool inside = row < p.rows;
    Scalar     sum[N];

#pragma unroll
    for (int j = 0; j < N; j++) sum[j] = Scalar(0);
    if (p.M) BlockPassAccumulate<N>(sum, Scalar(1), inside, slice, slices, p.w, p.in + row, p.ldin, p.M, p.w, j0, (Scalar *)nullptr, 0, b);
    else if (p.in && inside && !slice) {
#pragma unroll
      for (int j = 0; j < N; j++) {
        if (j0 + j < p.w) sum[j] = p.in[row + (size_t)(j0 + j) * p.ldin];
      }
    }
    if (p.P) BlockPassAccumulate<N>(sum, Scalar(-1), inside, slice, slices, p.w, p.P + row, p.ldp, p.K, p.w, j0, j0 ? (Scalar *)nullptr : p.copy + row, p.ldcopy, b);
    if (p.k) BlockPassAccumulate<N>(sum, p.factor, inside, slice, slices, p.k, p.Q + row, p.ldq, p.H ? p.H : p.inlined, p.w, j0, (Scalar *)nullptr, 0, b);
    __syncthreads();
    if (slices > 1) {
      /* adds the sums of the slices in order */
      if (slice) {
#pragma unroll
        for (int j = 0; j < N; j++) b[threadIdx.x + j * BLOCK_THREADS] = sum[j];
      }
      __syncthreads();
      if (!slice) {
        for (int s = 1; s < slices; s++) {
#pragma unroll
          for (int j = 0; j < N; j++) sum[j] += b[s * tile + r + j * BLOCK_THREADS];
        }
      }
      __syncthreads();
    }
    if (!slice) {
#pragma unroll
      for (int j = 0; j < N; j++) {
        if (inside && j0 + j < p.w) p.out[row + (size_t)(j0 + j) * p.ldout] = sum[j];
        if (p.partial) b[r + j * ldt] = inside ? sum[j] : Scalar(0);
      }
    }
    if (p.partial) {
      __syncthreads();
      for (int i = first; i < tile; i += BLOCK_THREADS / 16) {
        Scalar x[G], y[G];

#pragma unroll
        for (int e = 0; e < G; e++) {
          x[e] = b[i + (gi + e) * ldt];
          y[e] = b[i + (gj + e) * ldt];
        }
#pragma unroll
        for (int e = 0; e < G * G; e++) gram[e] += CSRCProduct<true>(x[e % G], y[e / G]);
      }
      __syncthreads();
    }
  }
  if (p.partial) {
    /* sums over the sixteen threads that have the same columns: two in each warp, then over the warps */
#pragma unroll
    for (int e = 0; e < G * G; e++) {
      gram[e] += BlockShuffleXor(gram[e], 16);
      if (threadIdx.x % 32 < 16) b[threadIdx.x / 32 + (gi + e % G + (gj + e / G) * N) * (BLOCK_THREADS / 32)] = gram[e];
    }
    __syncthreads();
    for (int e = threadIdx.x; e < N * N; e += BLOCK_THREADS) {
      const int i = e % N, j = e / N;
      Scalar    s = Scalar(0);

#pragma unroll
      for (int w = 0; w < BLOCK_THREADS / 32; w++) s += b[w + e * (BLOCK_THREADS / 32)];
      if (i < p.w && j < p.w) p.partial[i + j * p.w + (size_t)blockIdx.x * p.w * p.w] = s;
    }
    if (p.R && BlockComesLast(p.ticket, gridDim.x)) BlockFactor<BLOCK_THREADS>(p.w, gridDim.x, p.partial, p.R, p.Rinv, p.findings, b);
  }
}

/* ---------------------------------------------------------------- C = alpha A B */

/* The number of rows of B in shared memory at a time */
#define BLOCK_MULTIPLY_TILE 128

/*
  C = alpha A B, or C += alpha A B, in double precision on tensor cores; A is rows x k, B is k x n and compact. A warp has RT tiles of eight
  rows, and NT tiles of eight columns, whose sums are in registers; the warps of a thread block have neighbouring rows. The thread blocks of
  the groups of columns are neighbours in the grid, so that they read the rows of A from the second-level cache. A is read once for each group
  of columns, C is written once.
*/
template <int RT, int NT>
__global__ void __launch_bounds__(BLOCK_THREADS, 2) BlockMultiplyTensorKernel(int rows, int n, int k, double alpha, const double *__restrict__ A, size_t lda, const double *__restrict__ B, bool add, double *C, size_t ldc)
{
  __shared__ double b[NT * 8][BLOCK_MULTIPLY_TILE + 4]; /* B by rows of its transpose, which begin in different banks */
  const int         groups = (n + NT * 8 - 1) / (NT * 8), j0 = (int)(blockIdx.x % groups) * NT * 8, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const size_t      row0 = ((size_t)(blockIdx.x / groups) * (BLOCK_THREADS / 32) + warp) * RT * 8 + lane / 4;
  const double     *a[RT];
  double            d[RT][NT][2];

#pragma unroll
  for (int r = 0; r < RT; r++) {
    a[r] = A + (row0 + r * 8 < (size_t)rows ? row0 + r * 8 : (size_t)rows - 1) + lane % 4 * lda; /* rows beyond the last repeat it: their results are not stored */
#pragma unroll
    for (int j = 0; j < NT; j++) d[r][j][0] = d[r][j][1] = 0;
  }
  for (int k0 = 0; k0 < k; k0 += BLOCK_MULTIPLY_TILE) {
    __syncthreads();
    for (int t = threadIdx.x; t < NT * 8 * BLOCK_MULTIPLY_TILE; t += BLOCK_THREADS) {
      const int i = k0 + t % BLOCK_MULTIPLY_TILE, j = j0 + t / BLOCK_MULTIPLY_TILE;

      b[j - j0][i - k0] = i < k && j < n ? B[i + (size_t)j * k] : 0;
    }
    __syncthreads();
#pragma unroll 4
    for (int i = k0; i < min(k, k0 + BLOCK_MULTIPLY_TILE); i += 4) {
      double x[RT];

#pragma unroll
      for (int r = 0; r < RT; r++) {
        x[r] = i + lane % 4 < k ? *a[r] : 0;
        a[r] += 4 * lda;
      }
#pragma unroll
      for (int j = 0; j < NT; j++) {
        const double y = b[j * 8 + lane / 4][i - k0 + lane % 4];

#pragma unroll
        for (int r = 0; r < RT; r++) BlockMultiplyAdd(d[r][j], x[r], y);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < RT; r++) {
#pragma unroll
    for (int j = 0; j < NT * 2; j++) {
      const int    column = j0 + j / 2 * 8 + lane % 4 * 2 + j % 2;
      const size_t row    = row0 + r * 8;

      if (row < (size_t)rows && column < n) {
        double *const c = C + row + column * ldc;

        *c = alpha * d[r][j / 2][j % 2] + (add ? *c : 0);
      }
    }
  }
}
