#pragma once

/*
  The balanced layout of CSRC: what it stores. docs/balanced.md draws it; setup/setup.cuh makes it from a CSR on the
  device; kernels/mult.cuh and kernels/matmult.cuh multiply with it. Nothing here needs PETSc. Words: docs/glossary.md.

  Row blocks. The nonzeros, in the order of the CSR, are cut into row blocks of equal count (fewer where rows are very heavy): one or a few
  for each multiprocessor, or, for dense matrices, so many that the sums of several columns fit at once. A cut falls between rows, or inside
  a row that is too heavy for one row block. A thread block, or a cluster of several, works on a row block and keeps its part of y (or of u)
  in shared memory: the accumulators.

  Accumulators. Row i of a row block has accumulator i. A row with so many nonzeros that several of them would often be worked on at once has
  more, its replicas, which its nonzeros use in turn. Replicas follow the rows, those of a row together; replicarow holds the row of each.
  At the end there is one accumulator for each thread, to which padding adds (zeros, or NaN where x has NaN or Inf). Accumulator a is stored
  at the swizzled index CSRCSwizzle(a); chunks hold swizzled indices.

  Chunks. The nonzeros of a row block are sorted by column and cut into chunks of 256. A warp works on a chunk, 8 nonzeros a lane. In order
  'consecutive' lane l holds the sorted nonzeros 8 l .. 8 l + 7, in order 'interleaved' l, l + 32, l + 64, ..., except for those that
  changed their steps, see below. A lane's values are stored together, and so are its accumulators and its columns: loads are of 8 or
  16 bytes a lane and coalesced. Columns are offsets of 8, 16 or 32 bits from the smallest of their chunk.

  Tiles and conflict-free steps. 8 or 16 consecutive chunks are a tile; as many warps work on it at once. If two nonzeros of a tile added to
  one accumulator at the same time, one of the sums would be lost. So there are 8 steps: every lane adds the product of one of its nonzeros,
  then comes a barrier, then the next step. The set-up assigns the nonzeros of each chunk to steps so that those of one step of the tile
  have different accumulators; few of them leave their place in the order by column. So no atomics are needed, and the order of sums is
  fixed.

  Overflow. Nonzeros for which there is no conflict-free step are taken out of the chunks and listed by row.
*/
#include "tuning.cuh"
#include "cuda/scalar.cuh"
#include <cstdint>

constexpr int CSRC_CHUNK    = 256;
constexpr int CSRC_PER_LANE = 8;

enum CSRCOrder {
  CSRC_CONSECUTIVE,
  CSRC_INTERLEAVED
};

/* How values are stored: in full, in single precision if that holds them exactly, or if they are to be rounded, or as indices into a table */
enum CSRCValues {
  CSRC_VALUES_FULL,
  CSRC_VALUES_SINGLE,
  CSRC_VALUES_TABLE
};

/*
  Where accumulator a is stored. Those of a step often have equal distances: replicas of one row that are taken in turn, or the same ones of
  neighbouring rows. So the 16 that cover all banks of the shared memory are permuted, in each line of 16 differently. The function is its
  own inverse: CSRCSwizzle(CSRCSwizzle(a)) = a.
*/
__host__ __device__ __forceinline__ int CSRCSwizzle(int a)
{
  return a ^ ((a >> 4 ^ a >> 8) & 15);
}

/* An array of row blocks has one more at its end, whose starts are the ends of the last row block */
struct CSRCRowBlock {
  int entry;   /* first nonzero, in the order of the CSR */
  int row;     /* first row */
  int nrows;   /* rows, a part of one counted as one */
  int chunk;   /* first chunk */
  int replica; /* first entry of replicarow */
  int split;   /* bit 0: the first row began in the row block before; bit 1: the last row goes on in the next */
  int owner;   /* of a first row that is split: the row block in which it began */
  int sharers; /* of a last row that goes on and begins here: how many row blocks have a part of it */
};

template <class Scalar>
struct CSRCBalancedMatrix {
  int        m, n, nnz;
  int        nblocks, nchunks, nreplicas, noverflow, nsplit;
  int        tilethreads;      /* 32 for each chunk of a tile */
  int        cluster;          /* thread blocks that work on a row block, in products with one vector */
  int        groups;           /* warp groups of the kernel of A x, and ... */
  int        transposethreads; /* ... threads of that of A^T u: CSRCBalancedPrepare() */
  bool       early;            /* whether kernels may begin while the one before still runs */
  int        accumulators;     /* most of any row block, replicas and those for padding included, a multiple of 16 */
  CSRCOrder  order;
  CSRCValues values;
  bool       rounded; /* CSRC_VALUES_SINGLE holds values rounded, see CSRCFitsSingle() */
  float      share;   /* nonzeros of a tile that share an accumulator on average, at most */
  double     meanrun; /* nonzeros of a row block in one column, on average over the columns in which it has any */

  CSRCRowBlock  *block;      /* nblocks + 1 */
  uint16_t      *replicarow; /* nreplicas: row in its row block */
  int2          *head;       /* nchunks: smallest column; 4 (place in column / 16 bytes) + log2(4 / bytes of an offset) */
  unsigned char *v;          /* values by chunk */
  Scalar        *table;      /* 256, for CSRC_VALUES_TABLE */
  uint16_t      *acc;        /* swizzled indices of accumulators by chunk */
  unsigned char *column;     /* offsets of columns by chunk, 16-byte aligned */
  size_t         columnbytes;

  int      *overflowstart; /* nblocks + 1, if noverflow */
  uint16_t *overflowrow;   /* row in its row block, ascending */
  int      *overflowcolumn;
  Scalar   *overflowvalue;

  Scalar   *carry;   /* 2 nblocks, if nsplit: sums of first and last rows that are split */
  unsigned *arrived; /* nblocks, if nsplit: how many parts of the split row that begins in a row block are there */

  unsigned *zero; /* 2: counts of A^T u, see CSRCBalancedMultTransposeKernel() */

  char *memory, *overflowmemory; /* the allocations for all of it, and for the overflow */
};

/* Bytes of one value as stored */
template <class Scalar>
__host__ __device__ __forceinline__ int CSRCValueBytes(CSRCValues values)
{
  return values == CSRC_VALUES_FULL ? (int)sizeof(Scalar) : values == CSRC_VALUES_SINGLE ? 4 * CSRCParts<Scalar> : 1;
}

/* A value as the overflow holds it: all nonzeros of a matrix whose values are rounded are, so that A x and A^T u are products with the same matrix */
template <class Scalar>
__device__ __forceinline__ Scalar CSRCRounded(const Scalar &value, bool rounded)
{
  return rounded ? CSRCByParts(value, [](CSRCReal<Scalar> part) { return (CSRCReal<Scalar>)(float)part; }) : value;
}

/* What new values need; allocated with the matrix */
template <class Scalar>
struct CSRCBalancedRefill {
  int *from;         /* place in the CSR of each slot, -1 for padding */
  int *overflowfrom; /* and of each nonzero of the overflow */
  int *misfit;       /* see CSRCRefillKernel() */
  int  ntable;       /* entries of the table, whose bit patterns ascend */
};

/* The partial sums of A^T u, where this is to have the same bits every time: kernels/multtransposereproducible.cuh */
template <class Scalar>
struct CSRCBalancedPartials {
  int     npartials;
  Scalar *sum;    /* npartials */
  int    *start;  /* nchunks + 2: first partial sum of each chunk, then of the overflow, and npartials */
  int    *from;   /* npartials: their numbers by column, those of a column in ascending order */
  int    *column; /* n + 1: where those of each column begin in from */
  int    *heavy;  /* nheavy: columns with so many that a warp adds them */
  int     nheavy;
  int     lanes; /* that add those of another column */
};

/* The CSR that a matrix is made from */
template <class Scalar, class Index>
struct CSRCSource {
  int           m, n, nnz;      /* nnz > 0, all below 2^31 */
  const Index  *hoststart;      /* row starts, on the host */
  const Index  *start, *column; /* on the device */
  const Scalar *value;          /* likewise */
};

/* Parameters that may be chosen */
struct CSRCBalancedParams {
  double persm;    /* row blocks for each multiprocessor, at least; less than 1: a cluster works on each */
  int    order;    /* CSRCOrder, or -1: consecutive where columns have long runs in a row block, CSRC_LONG_RUN, or where kt > 1 */
  bool   compress; /* store values as single precision or by table where that is exact */
  bool   round;    /* and, otherwise, rounded to single precision */

  cudaMemPool_t workspace; /* where memory that is not kept comes from; NULL: cudaMalloc() */
  int           kt;        /* columns of a dense matrix whose sums are to fit the shared memory; 1: a vector */
  int           tile;      /* threads that work on a tile: 256 or 512; 0: by rule */
  int           bankrows;  /* number of packed rows that cover all banks: if 2 or 4, neighbouring lanes add to rows in different banks */
};

template <class Scalar>
static cudaError_t CSRCBalancedFree(CSRCBalancedMatrix<Scalar> *A, CSRCBalancedRefill<Scalar> *refill)
{
  cudaError_t err = cudaSuccess, overflowerr = cudaSuccess;

  if (A->memory) err = cudaFree(A->memory);
  if (A->overflowmemory) overflowerr = cudaFree(A->overflowmemory);
  *A      = CSRCBalancedMatrix<Scalar>();
  *refill = CSRCBalancedRefill<Scalar>();
  return err != cudaSuccess ? err : overflowerr;
}

/* Device bytes of all that, without what refilling needs */
template <class Scalar>
static double CSRCBalancedBytes(const CSRCBalancedMatrix<Scalar> &A)
{
  double b = (A.nblocks + 1.0) * sizeof(CSRCRowBlock) + 2.0 * A.nreplicas + 8.0 * A.nchunks + (2.0 + CSRCValueBytes<Scalar>(A.values)) * CSRC_CHUNK * A.nchunks + (double)A.columnbytes;

  if (A.values == CSRC_VALUES_TABLE) b += 256.0 * sizeof(Scalar);
  if (A.noverflow) b += 4.0 * (A.nblocks + 1) + A.noverflow * (6.0 + sizeof(Scalar));
  if (A.nsplit) b += 2.0 * A.nblocks * sizeof(Scalar) + 4.0 * A.nblocks;
  return b;
}

template <class Scalar>
static cudaError_t CSRCBalancedPartialsFree(CSRCBalancedPartials<Scalar> *r)
{
  void       *all[] = {r->sum, r->start, r->from, r->column, r->heavy};
  cudaError_t err   = cudaSuccess;

  for (void *p : all) {
    if (!p) continue;
    const cudaError_t e = cudaFree(p);
    if (err == cudaSuccess) err = e;
  }
  *r = CSRCBalancedPartials<Scalar>();
  return err;
}

template <class Scalar>
static double CSRCBalancedPartialsBytes(const CSRCBalancedMatrix<Scalar> &A, const CSRCBalancedPartials<Scalar> &r)
{
  return r.sum ? (sizeof(Scalar) + 4.0) * r.npartials + 4.0 * (A.n + 1.0) + 4.0 * (A.nchunks + 2.0) + 4.0 * r.nheavy : 0.0;
}
