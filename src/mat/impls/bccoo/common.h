#pragma once

/* Shared by the formats of this folder: the order of rows that the CSR does not sort by column, scratch, memory statistics, division of work into parts */
#include "formats.h"
#if defined(__linux__)
  #include <sys/mman.h>
#endif

#define BCCOO_LINE  (64 / (PetscInt)sizeof(PetscScalar)) /* scalars of a cache line */
#define BCCOO_PANEL 8                                    /* columns of a dense matrix that are multiplied in one pass over the nonzeros */
#define BCCOO_CHUNK 1024                                 /* nonzeros of a chunk of tuples, and about the fewest for which a thread is used */

/* Products with vectors: number of columns whose private sums a thread adds up at a time, so that these stay in the first-level cache */
#define BCCOO_MERGE 1024

/* Rows whose columns do not ascend in the CSR. Entry k of row urow[i] by column is its entry perm[uptr[i] + k] in the CSR. */
typedef struct {
  PetscInt  nunsorted;
  PetscInt *urow, *uptr, *perm;
} BCCOOOrder;

PETSC_INTERN PetscErrorCode BCCOOOrderBuild(const AIJCSR *, PetscInt nthreads, BCCOOOrder *);
PETSC_INTERN PetscErrorCode BCCOOOrderDestroy(BCCOOOrder *);
/* The CSR with all rows sorted by column: with copies of columns and values if it has others, to be freed also after an error */
typedef struct {
  AIJCSR       csr;
  PetscInt    *j;
  PetscScalar *a;
} BCCOOSorted;
PETSC_INTERN PetscErrorCode BCCOOOrderApply(const BCCOOOrder *, const AIJCSR *, PetscInt nthreads, BCCOOSorted *);
PETSC_INTERN size_t         BCCOOOrderGetBytes(const BCCOOOrder *);

/* The lowest i with a[i] >= key, or n; a[] ascends */
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

/*
  How many sums for columns, shared ones counted once for each thread that has them, threads may have together in A^T u: one for each nonzero and each
  column. Each of them is set to zero and added once, so that with more of them a product by several threads takes longer than by one.
*/
static inline PetscCount BCCOOMostSums(PetscInt nnz, PetscInt n)
{
  return (PetscCount)nnz + (PetscCount)n;
}

/* Scratch that is kept with the stored nonzeros; allocated at the first product that needs it */
typedef struct {
  PetscScalar *array;
  PetscCount   n;
} BCCOOWork;

/* Gets at least n scalars, aligned to a cache line; previous contents are lost */
PETSC_INTERN PetscErrorCode BCCOOWorkGet(BCCOOWork *, PetscCount n, PetscScalar **);

/* Bytes that stored nonzeros take, by purpose; scratch counts as buffers */
typedef struct {
  size_t rows, columns, values, tables, buffers;
} BCCOOBytes;

PETSC_INTERN PetscLogDouble BCCOOBytesTotal(const BCCOOBytes *);
PETSC_INTERN PetscErrorCode BCCOOBytesView(const BCCOOBytes *, PetscInt nnz, PetscViewer);

/* Number of parts into which work is divided: the number of threads, but at most the number of chunks of BCCOO_CHUNK nonzeros */
PETSC_INTERN PetscInt BCCOONumParts(const AIJCSR *);

/* Asks the system for large pages, for memory that will be read in sequence; to be called before the memory is touched */
static inline void BCCOOAdviseHugePages(void *p, size_t bytes)
{
#if defined(MADV_HUGEPAGE)
  const uintptr_t page = 2 << 20, first = ((uintptr_t)p + page - 1) / page * page, end = ((uintptr_t)p + bytes) / page * page;

  if (end > first + 4 * page) (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
#endif
}

/* Whether values must be conjugated */
static inline PetscBool BCCOOIsHermitian(AIJOp op)
{
  return (PetscBool)(PetscDefined(USE_COMPLEX) && op == AIJ_H);
}

/* The first item of part p if total items are cut into n parts whose sizes differ by at most one */
static inline PetscInt BCCOOPartStart(PetscInt total, PetscInt n, PetscInt p)
{
  return (total / n) * p + PetscMin(p, total % n);
}

/* The end of the first piece of start .. end - 1, of at most `most` items; start + most may be too large for a PetscInt */
static inline PetscInt BCCOOPieceEnd(PetscInt start, PetscInt most, PetscInt end)
{
  return end - start > most ? start + most : end;
}

/* y = z, or 0 if z is NULL, in [start, end) */
static inline void BCCOOFill(PetscInt start, PetscInt end, const PetscScalar *z, PetscScalar *y)
{
  if (start >= end || z == y) return;
  if (z) memcpy(y + start, z + start, (end - start) * sizeof(PetscScalar));
  else memset(y + start, 0, (end - start) * sizeof(PetscScalar));
}
