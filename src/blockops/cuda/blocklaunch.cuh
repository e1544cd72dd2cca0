#pragma once

/*
  Launches of the kernels for blocks: grids and sizes of scratch. Nothing here needs PETSc; tests/cuda calls the kernels through this file.
*/
#include "blockkernels.cuh"

/* The number of thread blocks that share the work on all rows: two for each multiprocessor of a large device */
#define BLOCK_PARALLEL 264

/* ---------------------------------------------------------------- passes */

/* Columns that a thread of a pass has in registers. A wider block needs several times as many threads, and the pass makes no Gram matrix */
template <class Scalar>
constexpr int BlockPassWidth = CSRCParts<Scalar> == 2 ? 8 : 16;

/* The number of threads that share the columns of a row; more than one for short matrices */
static inline int BlockPassSlices(int rows)
{
  int slices = 1;

  while (slices < 8 && (size_t)rows * slices < (size_t)BLOCK_THREADS * BLOCK_PARALLEL) slices *= 2;
  return slices;
}

/* As many thread blocks as a large device holds at a time; with fewer columns a thread needs fewer registers, so there are more blocks */
static inline int BlockPassBlocks(int rows, int w)
{
  const int tile = BLOCK_THREADS / BlockPassSlices(rows), tiles = (rows + tile - 1) / tile, most = BLOCK_PARALLEL / 2 * (w <= 4 ? 4 : w <= 8 ? 3 : 2);

  return tiles < 1 ? 1 : tiles < most ? tiles : most;
}

/* The number of parts of the Gram matrix that a pass makes; 0: it makes none */
template <class Scalar>
static inline int BlockPassParts(int rows, int w)
{
  return w <= BlockPassWidth<Scalar> ? BlockPassBlocks(rows, w) : 0;
}

template <int N, class Scalar>
static void BlockLaunchPassOfWidth(const BlockPassArguments<Scalar> &a, cudaStream_t stream)
{
  const dim3   grid((unsigned)BlockPassBlocks(a.rows, a.w), (unsigned)((a.w + N - 1) / N));
  const size_t shared = sizeof(Scalar) * N * (BLOCK_THREADS + 1); /* at least the tile of small operands, the last sums, and the scratch of the factor */

  static_assert(BLOCK_FACTOR_SHARED(N, BLOCK_THREADS) <= N * (BLOCK_THREADS + 1));
  BlockPassKernel<N, Scalar><<<grid, BLOCK_THREADS, shared, stream>>>(a, BlockPassSlices(a.rows));
}

template <class Scalar>
static void BlockLaunchPass(const BlockPassArguments<Scalar> &a, cudaStream_t stream)
{
  if (a.w <= 4) BlockLaunchPassOfWidth<4>(a, stream);
  else if (a.w <= 8) BlockLaunchPassOfWidth<8>(a, stream);
  else BlockLaunchPassOfWidth<BlockPassWidth<Scalar>>(a, stream);
}

/* ---------------------------------------------------------------- A^H B */

/* In double precision, tensor cores are used, also for A B, if there are enough columns; how many was measured */
template <class Scalar>
constexpr bool BlockMayTensor = std::is_same_v<Scalar, double>;

/* Tensor cores compute in double precision from compute capability 8.0 on */
static inline bool BlockDeviceHasTensor(void)
{
  static int major = 0;
  int        device;

  if (!major && (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess)) major = 0;
  return major >= 8;
}

/* The columns of A and of B of each thread block, and the grid */
struct BlockGramShape {
  bool tensor;
  int  mtiles, columns; /* tiles of eight columns of A, columns of B */
  dim3 grid;
};

template <class Scalar>
static inline BlockGramShape BlockShapeOfGram(int rows, int m, int n)
{
  const int      tiles = (m + 7) / 8;
  BlockGramShape s;
  int            groups, shares;

  s.tensor = BlockMayTensor<Scalar> && m > 16 && n > 4 && BlockDeviceHasTensor();
  if (s.tensor) {
    s.grid.y  = (unsigned)((tiles + BLOCK_GRAM_M - 1) / BLOCK_GRAM_M);
    s.mtiles  = (tiles + (int)s.grid.y - 1) / (int)s.grid.y;
    s.columns = n <= 8 ? 8 : 16;
  } else {
    s.grid.y  = (unsigned)tiles;
    s.mtiles  = 1;
    s.columns = CSRCParts<Scalar> == 2 || n <= 4 ? 4 : 8;
  }
  s.grid.z = (unsigned)((n + s.columns - 1) / s.columns);
  groups   = (int)(s.grid.y * s.grid.z);
  shares   = (BLOCK_PARALLEL + groups - 1) / groups;
  if (shares > (rows + 63) / 64) shares = (rows + 63) / 64;
  s.grid.x = (unsigned)(shares < 1 ? 1 : shares);
  return s;
}

template <class Scalar>
static inline size_t BlockGramScratch(int rows, int m, int n)
{
  return (size_t)BlockShapeOfGram<Scalar>(rows, m, n).grid.x * (size_t)m * (size_t)n;
}

/* The number of tickets that BlockLaunchGram() needs, which are zero before and after */
template <class Scalar>
static inline size_t BlockGramTickets(int rows, int m, int n)
{
  const BlockGramShape s = BlockShapeOfGram<Scalar>(rows, m, n);

  return s.tensor ? 0 : (size_t)s.grid.y * s.grid.z;
}

/* C = A^H B, m x n */
template <class Scalar>
static void BlockLaunchGram(int rows, int m, int n, const Scalar *A, size_t lda, const Scalar *B, size_t ldb, Scalar *C, Scalar *scratch, unsigned int *tickets, cudaStream_t stream)
{
  const BlockGramShape s = BlockShapeOfGram<Scalar>(rows, m, n);

  if constexpr (BlockMayTensor<Scalar>) {
    if (s.tensor && s.columns == 8) BlockGramTensorKernel<1><<<s.grid, BLOCK_THREADS, 0, stream>>>(rows, m, n, s.mtiles, A, lda, B, ldb, scratch);
    else if (s.tensor) BlockGramTensorKernel<2><<<s.grid, BLOCK_THREADS, 0, stream>>>(rows, m, n, s.mtiles, A, lda, B, ldb, scratch);
    if (s.tensor) BlockGramSumKernel<Scalar><<<(unsigned)(((size_t)m * n * 32 + BLOCK_THREADS - 1) / BLOCK_THREADS), BLOCK_THREADS, 0, stream>>>(m * n, (int)s.grid.x, scratch, C);
  }
  if (!s.tensor) {
    if (s.columns == 4) BlockGramKernel<8, 4, Scalar><<<s.grid, BLOCK_THREADS, 0, stream>>>(rows, m, n, A, lda, B, ldb, scratch, tickets, C);
    else BlockGramKernel<8, 8, Scalar><<<s.grid, BLOCK_THREADS, 0, stream>>>(rows, m, n, A, lda, B, ldb, scratch, tickets, C);
  }
}

/* ---------------------------------------------------------------- C = alpha A B */

template <int RT, int NT>
static void BlockLaunchMultiplyTensor(int rows, int n, int k, double alpha, const double *A, size_t lda, const double *B, bool add, double *C, size_t ldc, cudaStream_t stream)
{
  constexpr int ROWS = BLOCK_THREADS / 32 * RT * 8, COLUMNS = NT * 8;

  BlockMultiplyTensorKernel<RT, NT><<<(unsigned)((rows + ROWS - 1) / ROWS) * (unsigned)((n + COLUMNS - 1) / COLUMNS), BLOCK_THREADS, 0, stream>>>(rows, n, k, alpha, A, lda, B, add, C, ldc);
}

/* C = alpha A B, or C += alpha A B; rows, n > 0. With few columns a pass does it, which is all that it does then. */
template <class Scalar>
static void BlockLaunchMultiply(int rows, int n, int k, const Scalar &alpha, const Scalar *A, size_t lda, const Scalar *B, bool add, Scalar *C, size_t ldc, cudaStream_t stream)
{
  BlockPassArguments<Scalar> a = {};

  if constexpr (BlockMayTensor<Scalar>) {
    if (n > 8 && BlockDeviceHasTensor()) {
      if (rows < BLOCK_THREADS * BLOCK_PARALLEL) BlockLaunchMultiplyTensor<1, 2>(rows, n, k, alpha, A, lda, B, add, C, ldc, stream);
      else if (n <= 16) BlockLaunchMultiplyTensor<4, 2>(rows, n, k, alpha, A, lda, B, add, C, ldc, stream);
      else BlockLaunchMultiplyTensor<4, 5>(rows, n, k, alpha, A, lda, B, add, C, ldc, stream);
      return;
    }
  }
  a.rows   = rows;
  a.w      = n;
  a.k      = k;
  a.factor = alpha;
  a.in     = add ? C : nullptr;
  a.Q      = A;
  a.H      = B;
  a.out    = C;
  a.ldin = a.ldout = ldc;
  a.ldq            = lda;
  BlockLaunchPass(a, stream);
}

/* ---------------------------------------------------------------- a small factor */

template <class Scalar>
static void BlockLaunchFactor(int w, int nparts, const Scalar *parts, Scalar *R, Scalar *Rinv, Scalar *findings, cudaStream_t stream)
{
  BlockFactorKernel<Scalar><<<1, BLOCK_FACTOR_THREADS, 0, stream>>>(w, nparts, parts, R, Rinv, findings);
}
