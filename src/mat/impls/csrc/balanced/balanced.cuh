#pragma once

/*
  The balanced layout of CSRC: what it stores. docs/balanced.md draws it; setup/setup.cuh makes it from a CSR on the
  device; kernels/mult.cuh and kernels/matmult.cuh multiply with it. Nothing here needs PETSc.

  Blocks. The nonzeros, in the order of the CSR, are cut into blocks of equal count (fewer where rows are very heavy): one or a few for each
  multiprocessor, or, for dense matrices, so many that the sums of several columns fit at once. A cut falls between rows, or inside a row
  that is too heavy for one block. A thread block, or a team of several, works on a block and keeps its part of y (or of u) in shared
  memory: the block's accumulators.

  Accumulators. Row i of a block has accumulator i. A row with so many nonzeros that several of them would often be worked on at once has
  more, its copies, which its nonzeros use in turn. Copies follow the rows, those of a row together; copyof holds the row of each. At the
  end there is one accumulator for each thread, to which padding adds (zeros, or NaN where x has NaN or Inf). Accumulator a is stored at
  place CSRCPlace(a); chunks hold places.

  Chunks. The nonzeros of a block are sorted by column and cut into chunks of 256. A warp works on a chunk, 8 nonzeros a lane. In order
  'consecutive' lane l holds the sorted nonzeros 8 l .. 8 l + 7, in order 'interleaved' l, l + 32, l + 64, ..., except for those that
  changed their groups, see below. A lane's values are stored together, and so are its accumulators and its columns: loads are of 8 or
  16 bytes a lane and coalesced. Columns are offsets of 8, 16 or 32 bits from the smallest of their chunk.

  Tiles and groups. 8 or 16 consecutive chunks are a tile; as many warps work on it at once. If two nonzeros of a tile added to one
  accumulator at the same time, one of the sums would be lost. So there are 8 groups: every lane adds the product of one of its nonzeros,
  then comes a barrier, then the next group. The set-up puts the nonzeros of each chunk into groups so that those of one group of the tile
  have different accumulators; few of them leave their place in the order by column. So no atomics are needed, and the order of sums is
  fixed.

  Leftovers. Nonzeros for which there is no group are taken out of the chunks and listed by row.
*/
#include "cuda/scalar.cuh"
#include <cstdint>

constexpr int CSRC_CHUNK    = 256;
constexpr int CSRC_PER_LANE = 8;

enum CSRCOrder {
  CSRC_CONSECUTIVE,
  CSRC_INTERLEAVED
};

/* How values are stored: in full, in single precision if that holds them exactly, or as indices into a table */
enum CSRCValues {
  CSRC_VALUES_FULL,
  CSRC_VALUES_SINGLE,
  CSRC_VALUES_TABLE
};

/*
  Where accumulator a is stored. Those of a group often have equal distances: copies of one row that are taken in turn, or the same copies
  of neighbouring rows. So the 16 that cover all banks of the shared memory are shuffled, in each line of 16 differently. The function is
  its own inverse: CSRCPlace(CSRCPlace(a)) = a.
*/
__host__ __device__ __forceinline__ int CSRCPlace(int a)
{
  return a ^ ((a >> 4 ^ a >> 8) & 15);
}

/* One block; an array of blocks has one more at its end, whose starts are the ends of the last block */
struct CSRCBlock {
  int entry;   /* first nonzero, in the order of the CSR */
  int row;     /* first row */
  int nrows;   /* rows, a part of one counted as one */
  int chunk;   /* first chunk */
  int copy;    /* first entry of copyof */
  int split;   /* bit 0: the first row began in the block before; bit 1: the last row goes on in the next */
  int owner;   /* of a first row that is split: the block in which it began */
  int sharers; /* of a last row that goes on and begins here: how many blocks have a part of it */
};

template <class Scalar>
struct CSRCBalancedForm {
  int        m, n, nnz;
  int        nblocks, nchunks, ncopies, nleft, nsplit;
  int        threads;           /* that work on a tile: 32 for each of its chunks */
  int        team;              /* thread blocks that work on a block, in products with one vector */
  int        domains, tthreads; /* CSRCBalancedPrepare(): domains of the kernel of A x, threads of that of A^T u */
  bool       early;             /* whether kernels may begin while the one before still runs */
  int        accumulators;      /* most of any block, copies and those for padding included, a multiple of 16 */
  CSRCOrder  order;
  CSRCValues values;
  float      share;   /* nonzeros of a tile that share an accumulator on average, at most */
  double     meanrun; /* nonzeros of a block in one column, on average over the columns in which it has any */

  CSRCBlock     *block;  /* nblocks + 1 */
  uint16_t      *copyof; /* ncopies: row in its block */
  int2          *head;   /* nchunks: smallest column; 4 (place in column / 16 bytes) + log2(4 / bytes of an offset) */
  unsigned char *v;      /* values by chunk */
  Scalar        *table;  /* 256, for CSRC_VALUES_TABLE */
  uint16_t      *acc;    /* places of accumulators by chunk */
  unsigned char *column; /* offsets of columns by chunk, 16-byte aligned */
  size_t         columnbytes;

  int      *leftstart; /* nblocks + 1, if nleft */
  uint16_t *leftrow;   /* row in its block, ascending */
  int      *leftcolumn;
  Scalar   *leftvalue;

  Scalar   *carry;   /* 2 nblocks, if nsplit: sums of first and last rows that are split */
  unsigned *arrived; /* nblocks, if nsplit: how many parts of the split row that begins in a block are there */

  unsigned *zero; /* 2: counts of A^T u, see CSRCBalancedTransposeVectorKernel() */

  char *memory, *leftmemory; /* the allocations for all of it, and for leftovers */
};

/* Bytes of one value as stored */
template <class Scalar>
__host__ __device__ __forceinline__ int CSRCValueBytes(CSRCValues values)
{
  return values == CSRC_VALUES_FULL ? (int)sizeof(Scalar) : values == CSRC_VALUES_SINGLE ? 4 * CSRCParts<Scalar> : 1;
}

/* What new values need; allocated with the form */
template <class Scalar>
struct CSRCBalancedRefill {
  int *from;     /* place in the CSR of each slot, -1 for padding */
  int *leftfrom; /* and of each leftover */
  int *misfit;   /* see CSRCRefillKernel() */
  int  ntable;   /* entries of the form's table, whose bit patterns ascend */
};

/* What A^T u needs beside the layout to have the same bits every time: kernels/multtransposerepeatable.cuh */
template <class Scalar>
struct CSRCBalancedRepeat {
  int     nplaces;
  Scalar *sum;    /* nplaces */
  int    *start;  /* nchunks + 2: first place of each chunk, then of the leftovers, and nplaces */
  int    *from;   /* nplaces: places by column, those of a column in ascending order */
  int    *column; /* n + 1: where the places of each column begin in from */
  int    *heavy;  /* nheavy: columns of so many places that a warp adds them */
  int     nheavy;
  int     lanes; /* that add those of another column */
};

/* Parameters that may be chosen */
struct CSRCBalancedParams {
  double persm;    /* blocks for each multiprocessor, at least; less than 1: a team of several works on each */
  int    order;    /* CSRCOrder, or -1: consecutive where columns have runs of more than 2.6 nonzeros in a block, or where kt > 1 */
  bool   compress; /* store values as single precision or by table where that is exact */

  cudaMemPool_t workspace; /* where memory that is not kept comes from; NULL: the device's own pool */
  int           kt;        /* columns of a dense matrix whose sums are to fit the shared memory; 1: a vector */
  int           tile;      /* threads that work on a tile: 256 or 512; 0: by rule */
  int           banks;     /* number of packed rows that cover all banks: if 2 or 4, neighbouring lanes add to rows in different banks */
};

template <class Scalar>
static cudaError_t CSRCBalancedFree(CSRCBalancedForm<Scalar> *f, CSRCBalancedRefill<Scalar> *refill)
{
  cudaError_t err = cudaSuccess, lefterr = cudaSuccess;

  if (f->memory) err = cudaFree(f->memory);
  if (f->leftmemory) lefterr = cudaFree(f->leftmemory);
  *f      = CSRCBalancedForm<Scalar>();
  *refill = CSRCBalancedRefill<Scalar>();
  return err != cudaSuccess ? err : lefterr;
}

/* Device bytes of a form, without what refilling needs */
template <class Scalar>
static double CSRCBalancedBytes(const CSRCBalancedForm<Scalar> &f)
{
  double b = (f.nblocks + 1.0) * sizeof(CSRCBlock) + 2.0 * f.ncopies + 8.0 * f.nchunks + (2.0 + CSRCValueBytes<Scalar>(f.values)) * CSRC_CHUNK * f.nchunks + (double)f.columnbytes;

  if (f.values == CSRC_VALUES_TABLE) b += 256.0 * sizeof(Scalar);
  if (f.nleft) b += 4.0 * (f.nblocks + 1) + f.nleft * (6.0 + sizeof(Scalar));
  if (f.nsplit) b += 2.0 * f.nblocks * sizeof(Scalar) + 4.0 * f.nblocks;
  return b;
}

template <class Scalar>
static cudaError_t CSRCBalancedRepeatFree(CSRCBalancedRepeat<Scalar> *r)
{
  void       *all[] = {r->sum, r->start, r->from, r->column, r->heavy};
  cudaError_t err   = cudaSuccess;

  for (void *p : all) {
    if (!p) continue;
    const cudaError_t e = cudaFree(p);
    if (err == cudaSuccess) err = e;
  }
  *r = CSRCBalancedRepeat<Scalar>();
  return err;
}

template <class Scalar>
static double CSRCBalancedRepeatBytes(const CSRCBalancedForm<Scalar> &f, const CSRCBalancedRepeat<Scalar> &r)
{
  return r.sum ? (sizeof(Scalar) + 4.0) * r.nplaces + 4.0 * (f.n + 1.0) + 4.0 * (f.nchunks + 2.0) + 4.0 * r.nheavy : 0.0;
}
