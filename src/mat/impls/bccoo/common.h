#pragma once

/* What the formats of this folder share: rows that the CSR does not have by column, scratch, sizes, cutting work into parts */
#include "formats.h"
#if defined(__linux__)
  #include <sys/mman.h>
#endif

#define BCCOO_LINE  (64 / (PetscInt)sizeof(PetscScalar)) /* scalars of a cache line */
#define BCCOO_PANEL 8                                    /* columns of a dense matrix that one pass over the nonzeros serves */
#define BCCOO_CHUNK 1024                                 /* nonzeros of a chunk of tuples; a thread has as many at least */

/* Columns that a thread merges at a time, products with vectors: their sums stay in the first-level cache. Dense ones have several sums each. */
#define BCCOO_MERGE 1024

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

/* Scratch that stays with the nonzeros; made at the first product that needs it */
typedef struct {
  PetscScalar *array;
  PetscCount   n;
} BCCOOWork;

/* At least n scalars, aligned to a cache line; what was there before is lost */
PETSC_INTERN PetscErrorCode BCCOOWorkGet(BCCOOWork *, PetscCount n, PetscScalar **);

/* What stored nonzeros cost, in bytes, by what it is for; scratch counts as buffers */
typedef struct {
  size_t rows, columns, values, tables, buffers;
} BCCOOBytes;

PETSC_INTERN PetscLogDouble BCCOOBytesTotal(const BCCOOBytes *);
PETSC_INTERN PetscErrorCode BCCOOBytesView(const BCCOOBytes *, PetscInt nnz, PetscViewer);

/* As many as there are threads, but no more than one for each chunk */
PETSC_INTERN PetscInt BCCOONumParts(const AIJCSR *);

/* For getcsr(), an AIJVisitor with this context: puts nonzeros in their places; next[k] is the place of the next nonzero of row own + k */
typedef struct {
  AIJCSR            csr; /* its i only */
  const BCCOOOrder *order;
  PetscInt          own, *next, *j;
  PetscScalar      *a;
} BCCOOTarget;
PETSC_INTERN void BCCOOPlaceNonzeros(void *target, PetscInt n, const PetscInt row[], const PetscInt col[], const PetscScalar val[]);

/* Memory that will be read in one go, before it is touched: fewer and larger pages, where the system grants them */
static inline void BCCOOAdviseHugePages(void *p, size_t bytes)
{
#if defined(MADV_HUGEPAGE)
  const uintptr_t page = 2 << 20, first = ((uintptr_t)p + page - 1) / page * page, end = ((uintptr_t)p + bytes) / page * page;

  if (end > first + 4 * page) (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
#endif
}

/* Are values to be conjugated? */
static inline PetscBool BCCOOIsHermitian(AIJOp op)
{
  return (PetscBool)(PetscDefined(USE_COMPLEX) && op == AIJ_H);
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
