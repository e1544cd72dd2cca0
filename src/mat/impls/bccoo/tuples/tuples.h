#pragma once

/*
  The BCCOO form (Aliaga, Anzt, Gruetzmacher, Quintana-Orti, Tomas, Concurrency Computat. Pract. Exper. 2021, section 2).

  The nonzeros, row by row, are cut into chunks of 1024 (the last one may be shorter). With compression `paper` a chunk is
  a string of bytes, and the strings of all chunks lie one after the other in data:

      crow[c]                row of the first nonzero of chunk c
      data + offset[c] ..    its tuples, up to data + offset[c + 1]

  A tuple is one nonzero or one end of row:

      key (1 byte)                       column (0, 2 or sizeof(PetscInt) bytes)   value (1 or sizeof(PetscScalar) bytes)
      +-+-------+                        +- - - - - - - - - - - - - - - - - - -+   +-------------------------------------+
      |t| code  |                        |                                     |   |                                     |
      +-+-------+                        +- - - - - - - - - - - - - - - - - - -+   +-------------------------------------+

      code 0x00 .. 0x7C      column = previous column + code
      code 0x7D              column = previous column + the 2 bytes that follow
      code 0x7E              column = the sizeof(PetscInt) bytes that follow
      key  0x7F              end of row: row + 1, previous column 0, nothing follows
      t = 1                  value = table[the byte that follows]
      t = 0                  value = the sizeof(PetscScalar) bytes that follow

  The previous column is 0 at the start of a chunk and of a row, so every chunk can be decoded alone. Columns ascend within
  a row (equal ones keep their order); rows without nonzeros are an end of row each when they lie inside a chunk, and
  nothing at all between chunks. A chunk ends with a nonzero. Numbers are unaligned, in the machine's byte order.

  With compression `none` the form is BCOO: the chunks are pieces of the arrays row, col and val, in the order of the CSR.

  Work is cut into parts: a part is a range of chunks, computed by one thread. The parts, not the threads, decide the order
  of every sum, so that results do not depend on how many threads the run time gives.
*/
#include "mat/impls/aijderived/derived.h"
#if defined(__linux__)
  #include <sys/mman.h>
#endif

/* Columns that a thread merges at a time, products with vectors: their sums stay in the first-level cache. Dense ones have several sums each. */
#define BCCOO_MERGE 1024

#define BCCOO_CHUNK 1024                                 /* nonzeros of a chunk */
#define BCCOO_TABLE 256                                  /* entries of the value table: an index is a byte */
#define BCCOO_LINE  (64 / (PetscInt)sizeof(PetscScalar)) /* scalars of a cache line */
#define BCCOO_PANEL 8                                    /* columns of a dense matrix that one pass over the form serves */

#define BCCOO_KEY_TABLED  0x80
#define BCCOO_CODE_DELTA  0x7D /* the first code that is not itself the difference of columns */
#define BCCOO_CODE_COLUMN 0x7E
#define BCCOO_KEY_ROWEND  0x7F

/*
  How a product with the transpose is cut: part p is the chunks first[p] .. first[p+1]-1, whose columns all lie in
  lo[p] .. lo[p] + (off[p+1] - off[p]) - 1; off[p] is where its private sums begin. There are as many parts as threads, or
  fewer where the private sums of so many would be too large.
*/
typedef struct {
  PetscInt    n;
  PetscInt   *first, *lo;
  PetscCount *off;
} BCCOOSplit;

/* Rows whose columns do not ascend in the CSR: entry k of row urow[i], by column, is entry perm[uptr[i] + k] in the CSR */
typedef struct {
  PetscInt  nunsorted;
  PetscInt *urow, *uptr, *perm;
} BCCOOOrder;

PETSC_INTERN PetscErrorCode BCCOOOrderBuild(const AIJCSR *, PetscInt nthreads, BCCOOOrder *);
PETSC_INTERN PetscErrorCode BCCOOOrderDestroy(BCCOOOrder *);
PETSC_INTERN size_t         BCCOOOrderGetBytes(const BCCOOOrder *);

/* The first i in 0 .. n with a[i] >= key, a ascending */
static inline PetscInt BCCOOLowerBound(PetscInt n, const PetscInt a[], PetscInt key)
{
  PetscInt lo = 0, hi = n;

  while (lo < hi) {
    PetscInt mid = lo + (hi - lo) / 2;

    if (a[mid] < key) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/* The order of row i, or NULL where the CSR has it by column */
static inline const PetscInt *BCCOOOrderGetRow(const BCCOOOrder *order, PetscInt i)
{
  PetscInt u;

  if (!order->nunsorted) return NULL;
  u = BCCOOLowerBound(order->nunsorted, order->urow, i);
  return u < order->nunsorted && order->urow[u] == i ? order->perm + order->uptr[u] : NULL;
}

/* Place in the CSR of the nonzero of row i that comes in place k by column, k counted as the CSR does */
static inline PetscInt BCCOOOrderGetPlace(const BCCOOOrder *order, const AIJCSR *csr, PetscInt i, PetscInt k)
{
  const PetscInt *perm = BCCOOOrderGetRow(order, i);

  return perm ? csr->i[i] + perm[k - csr->i[i]] : k;
}

/* Compression lanes: ../simd/simd.h */
typedef struct _n_BCCOOLanes BCCOOLanes;

typedef struct {
  MatBCCOOCompression compression;
  BCCOOLanes         *lanes; /* NULL for the other compressions, whose members come below */
  BCCOOOrder          order;

  PetscInt  m, n, nnz;
  PetscInt  nchunks;
  PetscInt *crow;

  /* compression none */
  PetscInt    *row, *col;
  PetscScalar *val;

  /* compression paper */
  size_t        *offset;
  unsigned char *data;
  PetscScalar    table[BCCOO_TABLE];
  PetscInt       ntable;  /* entries of the table in use */
  PetscInt       ntabled; /* nonzeros coded through the table */
  PetscInt       nrowend; /* end of row tuples */

  /*
    A x: part p is the chunks first[p] .. first[p+1]-1 and writes the rows own[p] .. own[p+1]-1. own[p] is the row of the
    part's first nonzero (own[0] = 0), so only the last row that a part meets can be another's; what the part has for that
    row is its carry, which is added after all parts are done.
  */
  PetscInt     nparts; /* for lanes, the number of threads when the form was built */
  PetscInt    *first, *own;
  PetscScalar *carry; /* BCCOO_PANEL a part */

  BCCOOSplit transposed, transposeddense;

  /* private sums of transposed products, packed operand of dense ones; made at the first product that needs it */
  PetscScalar *work;
  size_t       nwork;
} BCCOOForm;

/* What the parts of a form cost, in bytes */
typedef struct {
  size_t rows, columns, values, tables, buffers;
} BCCOOBytes;

/* Compression lanes: the same. work is scratch of at least as many scalars as the function ...Work() tells */
PETSC_INTERN PetscErrorCode BCCOOLanesBuild(const AIJCSR *, const BCCOOOrder *, MatBCCOOSIMD, PetscInt nthreads, BCCOOLanes **);
PETSC_INTERN PetscErrorCode BCCOOLanesRefill(BCCOOLanes *, const AIJCSR *, const BCCOOOrder *);
PETSC_INTERN PetscErrorCode BCCOOLanesDestroy(BCCOOLanes **);
PETSC_INTERN PetscErrorCode BCCOOLanesGetBytes(const BCCOOLanes *, BCCOOBytes *);
PETSC_INTERN PetscErrorCode BCCOOLanesView(const BCCOOLanes *, PetscViewer, PetscBool detail);
PETSC_INTERN size_t         BCCOOLanesMultWork(const BCCOOLanes *);
PETSC_INTERN void           BCCOOLanesMult(const BCCOOLanes *, const PetscScalar *, const PetscScalar *, PetscScalar *, PetscScalar *work);
PETSC_INTERN size_t         BCCOOLanesMultTransposeWork(const BCCOOLanes *);
PETSC_INTERN void           BCCOOLanesMultTranspose(const BCCOOLanes *, PetscBool, const PetscScalar *, const PetscScalar *, PetscScalar *, PetscScalar *work);
PETSC_INTERN PetscInt       BCCOOLanesDenseVectors(const BCCOOLanes *, PetscInt K);
PETSC_INTERN size_t         BCCOOLanesMultDenseWork(const BCCOOLanes *, PetscInt K);
PETSC_INTERN void           BCCOOLanesMultDense(const BCCOOLanes *, PetscInt, const PetscScalar *, size_t, PetscScalar *, size_t, PetscScalar *work);
PETSC_INTERN size_t         BCCOOLanesMultTransposeDenseWork(const BCCOOLanes *, PetscInt K);
PETSC_INTERN void           BCCOOLanesMultTransposeDense(const BCCOOLanes *, PetscBool, PetscInt, const PetscScalar *, size_t, PetscScalar *, size_t, PetscScalar *work);

PETSC_INTERN PetscErrorCode BCCOOFormBuild(const AIJCSR *, MatBCCOOCompression, MatBCCOOSIMD, BCCOOForm **);
PETSC_INTERN PetscErrorCode BCCOOFormSetValues(BCCOOForm *, const AIJCSR *);
PETSC_INTERN PetscErrorCode BCCOOFormDestroy(BCCOOForm **);
PETSC_INTERN PetscErrorCode BCCOOFormGetWork(BCCOOForm *, size_t, PetscScalar **);
PETSC_INTERN PetscErrorCode BCCOOFormGetBytes(const BCCOOForm *, BCCOOBytes *);

PETSC_INTERN PetscErrorCode BCCOOFormVisit(const BCCOOForm *, AIJVisitor, void *);
PETSC_INTERN PetscErrorCode BCCOOFormGetRows(const BCCOOForm *, PetscInt[]);
PETSC_INTERN PetscErrorCode BCCOOFormGetCSR(const BCCOOForm *, const PetscInt[], PetscInt[], PetscScalar[]);

PETSC_INTERN PetscErrorCode BCCOOFormMult(BCCOOForm *, const PetscScalar *, const PetscScalar *, PetscScalar *);
PETSC_INTERN PetscErrorCode BCCOOFormMultTranspose(BCCOOForm *, PetscBool, const PetscScalar *, const PetscScalar *, PetscScalar *);
PETSC_INTERN PetscErrorCode BCCOOFormMultDense(BCCOOForm *, PetscInt, const PetscScalar *, PetscInt, PetscScalar *, PetscInt);
PETSC_INTERN PetscErrorCode BCCOOFormMultTransposeDense(BCCOOForm *, PetscBool, PetscInt, const PetscScalar *, PetscInt, PetscScalar *, PetscInt);

/* The nonzeros of chunks c .. end at BCCOOChunkStart(f, c + 1) */
static inline PetscInt BCCOOChunkStart(const BCCOOForm *f, PetscInt c)
{
  return c < f->nchunks ? c * BCCOO_CHUNK : f->nnz;
}

/* Memory that will be read in one go, before it is touched: fewer and larger pages, where the system grants them */
static inline void BCCOOAdviseHugePages(void *p, size_t bytes)
{
#if defined(MADV_HUGEPAGE)
  const uintptr_t page = 2 << 20, first = ((uintptr_t)p + page - 1) / page * page, end = ((uintptr_t)p + bytes) / page * page;

  if (end > first + 4 * page) (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
#endif
}

/* Where part p begins when total things are cut into n parts that differ by one at most */
static inline PetscInt BCCOOPartStart(PetscInt total, PetscInt n, PetscInt p)
{
  return (total / n) * p + PetscMin(p, total % n);
}

/* y = z or 0 in [start, end) */
static inline void BCCOOFill(PetscInt start, PetscInt end, const PetscScalar *z, PetscScalar *y)
{
  if (start >= end || z == y) return;
  if (z) memcpy(y + start, z + start, (end - start) * sizeof(PetscScalar));
  else memset(y + start, 0, (end - start) * sizeof(PetscScalar));
}
