#pragma once

/*
  The data of the balanced layout of CSRC. setup/setup.cuh makes it from a CSR on the device; kernels/mult.cuh and kernels/matmult.cuh
  multiply with it. Nothing here needs PETSc. docs/balanced.md has drawings of the layout, docs/glossary.md defines the terms.

  Row blocks. The nonzeros, in the order of the CSR, are cut into row blocks with equal counts (fewer nonzeros where rows are very heavy).
  There are one or a few row blocks for each multiprocessor, or one for two of them, or, for dense matrices, as many as it takes for the sums
  of several columns to fit the shared memory at once. A cut falls between two rows, or inside a row that is too heavy for one row block. A
  thread block, or a cluster of two, works on a row block and keeps its part of y (or of u) in shared memory: the accumulators.

  Accumulators. Row i of a row block has accumulator i. A row with so many nonzeros that several of them would often be processed at the
  same time has additional accumulators, its replicas, which its nonzeros use in turn. The replicas follow the rows; those of one row are
  stored together; replicarow holds the row of each. The last accumulators, one for each thread, are for padding, which adds zeros to them
  (or NaN where x has NaN or Inf). Accumulator a is stored at the swizzled index CSRCSwizzle(a); chunks hold swizzled indices.

  Chunks. The nonzeros of a row block are sorted by column and cut into chunks of 256. A warp processes a chunk, each lane 8 nonzeros. In
  order 'consecutive' lane l holds the sorted nonzeros 8 l .. 8 l + 7, in order 'interleaved' l, l + 32, l + 64, ..., except for nonzeros
  that were moved to another step, see below. The values of a lane are stored together, and so are its accumulators and its columns: loads
  are coalesced, 8 or 16 bytes a lane. Columns are offsets of 8, 16 or 32 bits from the smallest column of their chunk. The highest bits of an
  accumulator, which no number of an accumulator needs, can hold a part of a column. In order consecutive this is the difference to the lane's
  base, an offset of 8 bits, where the eight columns of each lane are close together. In order interleaved it is the highest bits of an offset
  of which 8, 9 or 10 bits are stored otherwise.

  Tiles and conflict-free steps. A tile is 8 or 16 consecutive chunks, which as many warps process at the same time. If two nonzeros of a
  tile were added to one accumulator at the same time, one of the two sums would be lost. Therefore a tile takes 8 steps: in each step every
  lane adds the product of one of its nonzeros, and a barrier follows. The set-up assigns the nonzeros of each chunk to steps so that those
  of one step of the tile have different accumulators; this moves few of them from their place in the order by column. Thus no atomics are
  needed, and the order of sums is fixed.

  Overflow. Nonzeros for which there is no conflict-free step are taken out of the chunks and listed by row.
*/
#include "tuning.cuh"
#include "cuda/scalar.cuh"
#include <cstdint>

constexpr int CSRC_CHUNK        = 256;
constexpr int CSRC_LIST         = CSRC_CHUNK + 32; /* padded sums of a chunk */
constexpr int CSRC_SHARED_FIXED = 1024 + 512;      /* shared memory reserved by the system, and static arrays */
constexpr int CSRC_PER_LANE     = 8;
constexpr int CSRC_UNIT         = 32; /* bytes; the columns of a chunk take a multiple of them */

enum CSRCOrder {
  CSRC_CONSECUTIVE,
  CSRC_INTERLEAVED
};

/* How values are stored: in full; in single precision, if this is exact; or as indices of 1, 2, 4 or 8 bits into a table */
enum CSRCValues {
  CSRC_VALUES_FULL,
  CSRC_VALUES_SINGLE,
  CSRC_VALUES_TABLE
};

/*
  What highest bits of accumulators hold in some chunks: differences to the bases of lanes, in order consecutive; nothing; or highest bits of
  offsets. The latter two are in order interleaved. A kernel for any of these takes longer than one for one of them (V34).
*/
enum CSRCCoding {
  CSRC_BY_LANE,
  CSRC_WHOLE,
  CSRC_SPLIT,
  CSRC_ANY_CODING
};

/*
  How a chunk stores its columns: by offsets of 32, 16 or 8 bits for each nonzero; by 8 bits for each lane, its base, and differences; or by 8, 9
  or 10 bits of each offset and its highest bits
*/
enum CSRCColumnMode {
  CSRC_OFFSETS_32,
  CSRC_OFFSETS_16,
  CSRC_OFFSETS_8,
  CSRC_BASES,
  CSRC_SPLIT_8,
  CSRC_SPLIT_9,
  CSRC_SPLIT_10
};

/*
  The index at which accumulator a is stored. The accumulators of a step often have equal distances: those of replicas of one row, which are
  used in turn, or of neighbouring rows. To avoid bank conflicts, the 16 accumulators that cover all banks of the shared memory are
  permuted, in each line of 16 differently. The function is its own inverse: CSRCSwizzle(CSRCSwizzle(a)) = a.
*/
__host__ __device__ __forceinline__ int CSRCSwizzle(int a)
{
  return a ^ ((a >> 4 ^ a >> 8) & 15);
}

/* A row block. An array of row blocks has one more element at its end, with the ends of the last row block as its starts. */
struct CSRCRowBlock {
  int entry;   /* first nonzero, in the order of the CSR */
  int row;     /* first row */
  int nrows;   /* number of rows; a part of a row counts as one */
  int chunk;   /* first chunk */
  int replica; /* first entry of replicarow */
  int split;   /* bit 0: the first row begins in an earlier row block; bit 1: the last row continues in the next row block */
  int owner;   /* if bit 0 is set: the row block in which the first row begins */
  int sharers; /* if the last row begins here and continues: how many row blocks have a part of it */
};

template <class Scalar>
struct CSRCBalancedMatrix {
  int        m, n, nnz;
  int        nblocks, nchunks, nreplicas, noverflow, nsplit;
  int        tilethreads;      /* threads that process a tile: 32 for each of its chunks */
  int        cluster;          /* thread blocks that share a row block in products with one vector */
  int        groups;           /* number of warp groups in the kernel of A x, and ... */
  int        transposethreads; /* ... of threads in the kernel of A^T u; CSRCBalancedPrepare() chooses both */
  bool       early;            /* whether a kernel may begin while the previous one still runs */
  int        accumulators;     /* largest number of accumulators of a row block, including replicas and those for padding; a multiple of 16 */
  int        columnbits;       /* number of highest bits of an element of acc that can hold a part of a column */
  CSRCOrder  order;
  CSRCCoding coding;
  CSRCValues values;
  int        valuebits; /* bits of a value as stored */
  float      share;     /* upper limit for the mean number of nonzeros of a tile that share an accumulator */
  double     meanrun;   /* mean number of nonzeros of a row block in one column, over the columns in which it has any */

  CSRCRowBlock  *block;      /* nblocks + 1 */
  uint16_t      *replicarow; /* nreplicas: row of each replica, counted from the first row of its row block */
  int2          *head;       /* nchunks: smallest column; 8 (position in the array column / CSRC_UNIT) + CSRCColumnMode */
  unsigned char *v;          /* values by chunk */
  Scalar        *table;      /* 256, for CSRC_VALUES_TABLE */
  uint16_t      *acc;        /* swizzled indices of accumulators by chunk, and columnbits bits of a column */
  unsigned char *column;     /* offsets of columns by chunk, 32-byte aligned */
  size_t         columnbytes;

  int      *overflowstart; /* nblocks + 1, if noverflow */
  uint16_t *overflowrow;   /* counted from the first row of the row block; ascending */
  int      *overflowcolumn;
  Scalar   *overflowvalue;

  Scalar   *carry;   /* 2 nblocks, if nsplit: partial sums of a split first row and of a split last row of each row block; in A X as many for each column, in scratch */
  unsigned *arrived; /* nblocks, if nsplit: how many partial sums of the split row that begins in a row block have been stored */

  unsigned *zero; /* 2: counters of A^T u, see CSRCBalancedMultTransposeKernel() */

  char *memory, *overflowmemory; /* the allocation for the overflow, and the one for everything else */
};

/* Bytes of the values of a chunk */
template <class Scalar>
__host__ __device__ __forceinline__ int CSRCChunkValueBytes(const CSRCBalancedMatrix<Scalar> &A)
{
  return A.valuebits * (CSRC_CHUNK / 8);
}

/* What setting new values needs; allocated with the matrix, if requested */
template <class Scalar>
struct CSRCBalancedRefill {
  int *from;         /* place in the CSR of each slot of a chunk, -1 for padding */
  int *overflowfrom; /* place in the CSR of each nonzero of the overflow */
  int *misfit;       /* see CSRCRefillKernel() */
  int  ntable;       /* number of entries of the table of values, which is sorted by bit pattern */
};

/* The CSR from which a matrix is made */
template <class Scalar, class Index>
struct CSRCSource {
  int           m, n, nnz;      /* nnz > 0; all are below 2^31 */
  const Index  *hoststart;      /* row pointers, on the host */
  const Index  *start, *column; /* row pointers and columns, on the device */
  const Scalar *value;          /* values, on the device */
};

/* Parameters of the set-up */
struct CSRCBalancedParams {
  int  cluster;  /* number of thread blocks that share a row block in products with one vector: 1 or 2; 0: 2 where that saves many additions to v */
  int  order;    /* CSRCOrder; -1: consecutive where the runs of columns in a row block are long (CSRC_LONG_RUN) and no other thread block shares it, or kt > 1 */
  bool compress; /* whether values are stored in single precision or by table where that is exact */

  cudaMemPool_t workspace; /* the pool that scratch of the set-up comes from; NULL: cudaMalloc() */
  int           kt;        /* number of columns of a dense matrix whose sums shall fit the shared memory; 1: a vector */
  int           tile;      /* number of threads that process a tile: 256 or 512; 0: by rule */
  int           bankrows;  /* number of packed rows that cover all banks; if 2 or 4, the set-up lets neighbouring lanes add to rows in different banks */
  double        splitfrom; /* offsets are split only in matrices of at least so many bytes */
  int           pairfrom;  /* by rule, thread blocks share row blocks only in matrices of at least so many nonzeros */
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

/* Device memory of the matrix in bytes, without that for new values */
template <class Scalar>
static double CSRCBalancedBytes(const CSRCBalancedMatrix<Scalar> &A)
{
  double b = (A.nblocks + 1.0) * sizeof(CSRCRowBlock) + 2.0 * A.nreplicas + 8.0 * A.nchunks + (2.0 * CSRC_CHUNK + CSRCChunkValueBytes(A)) * A.nchunks + (double)A.columnbytes;

  if (A.values == CSRC_VALUES_TABLE) b += 256.0 * sizeof(Scalar);
  if (A.noverflow) b += 4.0 * (A.nblocks + 1) + A.noverflow * (6.0 + sizeof(Scalar));
  if (A.nsplit) b += 2.0 * A.nblocks * sizeof(Scalar) + 4.0 * A.nblocks;
  return b;
}
