#pragma once

/*
  The balanced layout of CSRC: what it stores. docs/csrc.md draws it; csrcbalancedbuild.cuh makes it from a CSR on the
  device; csrcbalancedmult.cuh and csrcbalancedmatmult.cuh multiply with it. Nothing here needs PETSc.

  Blocks. The nonzeros, taken in the order of the CSR, are cut into blocks of equal count, one or two for each
  multiprocessor, or more and smaller ones whose sums fit for several columns of a dense matrix at once; a cut falls between
  rows, or inside a row that is too heavy for one block. A block is worked on by one
  thread block, which keeps the block's part of y (or of u) in shared memory: its accumulators.

  Accumulators. Row i of a block has accumulator i. A row with so many nonzeros that several of them would often be worked
  on at once has further ones, its copies, which its nonzeros use in turn: they stand behind the rows, those of a row
  together, and copyof tells the row of each. One more for each thread, at the end, takes what padding adds (zeros, or NaN
  where x has them).

  Chunks. The nonzeros of a block are sorted by column and cut into chunks of 256; a chunk is worked on by one warp, a lane
  holding 8 of its nonzeros. In order 'consecutive', lane l holds the sorted ones 8 l .. 8 l + 7; in order 'interleaved', it
  holds l, l + 32, l + 64, ... (but for those that changed their group, see below). A lane's values, accumulators and columns each stand together, so that all loads are of 8
  or 16 bytes a lane and coalesced. Columns are stored as offsets of 8, 16 or 32 bits from the smallest of their chunk.

  Tiles and groups. As many consecutive chunks as a thread block has warps are a tile: they are worked on at once. Two
  nonzeros of a tile that add to the same accumulator at the same time would lose one of the sums. So a tile is worked on in
  8 / STEPS groups, in each of which every lane adds STEPS of its products, with a barrier behind each; and the nonzeros of
  each chunk are put into groups such that those of one group of the tile have different accumulators. Few have to leave
  the place they have by column. So sums come in one order only, and no atomics are needed.

  Leftovers. Nonzeros for which there is no group are taken out of the chunks and listed by row.
*/
#include "csrcscalar.cuh"
#include <cstdint>

constexpr int CSRC_CHUNK    = 256;
constexpr int CSRC_PER_LANE = 8;

enum CSRCOrder {
  CSRC_CONSECUTIVE,
  CSRC_INTERLEAVED
};

/* How values are stored: as they are, as single precision that holds them exactly, or as numbers of entries of a table */
enum CSRCValues {
  CSRC_VALUES_FULL,
  CSRC_VALUES_SINGLE,
  CSRC_VALUES_TABLE
};

/* One block; an array of them ends with one more, whose starts are the ends of the last */
struct CSRCBlock {
  int entry;  /* first nonzero, in the order of the CSR */
  int row;    /* first row */
  int nrows;  /* rows, a part of one counted as one */
  int chunk;  /* first chunk */
  int copy;   /* first entry of copyof */
  int split;  /* bit 0: the first row began in the block before; bit 1: the last row goes on in the next */
};

template <class Scalar>
struct CSRCBalancedForm {
  int m, n, nnz;
  int nblocks, nchunks, ncopies, nleft, nsplit;
  int threads;             /* of a thread block */
  int accumulators;        /* most of any block, copies and those for padding included */
  CSRCOrder  order;
  CSRCValues values;
  float      share;        /* nonzeros of a tile that share an accumulator on average, at most */
  double     meanrun;      /* nonzeros of a block in one column, on average over the columns it has */

  CSRCBlock     *block;    /* nblocks + 1 */
  uint16_t      *copyof;   /* ncopies: row in its block */
  int2          *head;     /* nchunks: smallest column; 4 (place in column / 16 bytes) + log2(4 / bytes of an offset) */
  unsigned char *v;        /* values by chunk */
  Scalar        *table;    /* 256, for CSRC_VALUES_TABLE */
  uint16_t      *acc;      /* accumulators by chunk */
  unsigned char *column;   /* offsets of columns by chunk, 16-byte aligned */
  size_t         columnbytes;

  int           *leftstart; /* nblocks + 1, if nleft */
  uint16_t      *leftrow;   /* row in its block, ascending */
  int           *leftcolumn;
  Scalar        *leftvalue;

  Scalar        *carry;    /* 2 nblocks, if nsplit: sums of first and last rows that are split */
};

/* Bytes of one value as stored */
template <class Scalar>
__host__ __device__ __forceinline__ int CSRCValueBytes(CSRCValues values)
{
  return values == CSRC_VALUES_FULL ? (int)sizeof(Scalar) : values == CSRC_VALUES_SINGLE ? 4 * CSRCParts<Scalar> : 1;
}
