#pragma once

/*
  The BCCOO form (Aliaga, Anzt, Gruetzmacher, Quintana-Orti, Tomas, Concurrency Computat. Pract. Exper. 2021, section 2).

  The nonzeros, row by row, are cut into chunks of 1024 (the last one may be shorter). With compression `tuples` a chunk is
  a sequence of bytes, and the chunks are stored one after the other in data:

      crow[c]                row of the first nonzero of chunk c
      data + offset[c] ..    its tuples, up to data + offset[c + 1]

  A tuple is a nonzero or an end of row:

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

  The previous column is 0 at the start of a chunk and of a row, so that every chunk can be decoded alone. Columns ascend within
  a row (equal ones keep their order). A row without nonzeros is an end of row if it is inside a chunk; between chunks it takes
  no tuple. A chunk ends with a nonzero. Numbers are unaligned, in the machine's byte order.

  With compression `none` the form is BCOO: the chunks are sections of the arrays row, col and val, in the order of the CSR.

  Work is divided into parts: a part is a range of chunks that one thread processes. The order of every sum depends on the
  parts, not on the number of threads that the system grants.
*/
#include "mat/impls/bccoo/common.h"
#include "tuning.h"

#define BCCOO_TABLE 256 /* entries of the value table: an index is a byte */

#define BCCOO_KEY_TABLED  0x80
#define BCCOO_CODE_DELTA  0x7D /* the lowest code that is not itself a difference of columns */
#define BCCOO_CODE_COLUMN 0x7E
#define BCCOO_KEY_ROWEND  0x7F

/*
  How a product with the transpose is divided: part p has the chunks first[p] .. first[p+1]-1, all columns of which are in
  lo[p] .. lo[p] + (off[p+1] - off[p]) - 1; its private sums begin at off[p]. There are as many parts as threads, or fewer if
  so many would have too many private sums.
*/
typedef struct {
  PetscInt    n;
  PetscInt   *first, *lo;
  PetscCount *off;
} BCCOOSplit;

typedef enum {
  CODING_NONE,
  CODING_TUPLES
} BCCOOCoding;

typedef struct {
  BCCOOCoding coding;
  BCCOOOrder  order;

  PetscInt  m, n, nnz;
  PetscInt  nchunks;
  PetscInt *crow;

  /* coding none */
  PetscInt    *row, *col;
  PetscScalar *val;

  /* coding tuples */
  size_t        *offset;
  unsigned char *data;
  PetscScalar    table[BCCOO_TABLE];
  PetscInt       ntable;  /* entries of the table in use */
  PetscInt       ntabled; /* nonzeros coded through the table */
  PetscInt       nrowend; /* end of row tuples */

  /*
    A x: part p has the chunks first[p] .. first[p+1]-1 and writes the rows own[p] .. own[p+1]-1. own[p] is the row of the
    part's first nonzero (own[0] = 0), so that only the last row of a part's nonzeros can be owned by another part. Its sum
    for that row is its carry, which is added after all parts.
  */
  PetscInt     nparts;
  PetscInt    *first, *own;
  PetscScalar *carry; /* BCCOO_PANEL per part */

  BCCOOSplit transposed;
  BCCOOWork  work; /* private sums of transposed products, packed operand of dense ones */
} BCCOOTuples;

/* encode.c: make what depends on the pattern only; make what depends on the values, also for new ones. table.c: find the most frequent values */
PETSC_INTERN PetscErrorCode BCCOOTuplesBuildPattern(BCCOOTuples *, const AIJCSR *);
PETSC_INTERN PetscErrorCode BCCOOTuplesEncode(BCCOOTuples *, const AIJCSR *);
PETSC_INTERN PetscErrorCode BCCOOTableBuild(PetscInt, PetscInt, const PetscScalar[], PetscScalar[], PetscInt *, PetscInt *);

/* mult.c, matmult.c */
PETSC_INTERN PetscErrorCode BCCOOTuplesMult(BCCOOTuples *, const PetscScalar *, const PetscScalar *, PetscScalar *);
PETSC_INTERN PetscErrorCode BCCOOTuplesMultTranspose(BCCOOTuples *, PetscBool, const PetscScalar *, const PetscScalar *, PetscScalar *);
PETSC_INTERN PetscErrorCode BCCOOTuplesMatMult(BCCOOTuples *, PetscInt, const PetscScalar *, PetscInt, PetscScalar *, PetscInt);
PETSC_INTERN PetscErrorCode BCCOOTuplesTransposeMatMult(BCCOOTuples *, PetscBool, PetscInt, const PetscScalar *, PetscInt, PetscScalar *, PetscInt);

/* decode.c */
PETSC_INTERN PetscErrorCode BCCOOTuplesVisit(const void *, AIJVisitor, void *);
PETSC_INTERN PetscErrorCode BCCOOTuplesGetCSR(const void *, const PetscInt[], PetscInt[], PetscScalar[]);

/* The first nonzero of chunk c; nnz for c = nchunks */
static inline PetscInt BCCOOChunkStart(const BCCOOTuples *f, PetscInt c)
{
  return c < f->nchunks ? c * BCCOO_CHUNK : f->nnz;
}
