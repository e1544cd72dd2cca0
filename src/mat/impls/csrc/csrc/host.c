/*
  The layout csrc on the host, with OpenMP. It serves for comparison, and as a reference in tests of the layout on the device.

  y = A x: a thread takes whole row blocks and sums the rows of a row block in 256 private accumulators.

  v = A^T u: threads take contiguous ranges of row blocks with equal counts of nonzeros. Each thread sums into a private array that covers
  the range of columns of its nonzeros; the arrays are then added in the order of the threads. There are no atomics, and
  the same number of threads gives the same bits. The number of threads is limited so that the arrays together
  have at most one entry for each nonzero and one for each column.
*/
#include "csrc.h"

typedef struct {
  CSRC256 *csrc;

  /* for A^T u, made at its first use: a partition of the row blocks, and the range of columns and the sums of each part */
  int          nparts;
  PetscInt    *partblock; /* nparts + 1: first row block of each part */
  PetscInt    *lo, *hi;   /* nparts: columns of each part are lo .. hi-1 */
  PetscCount  *start;     /* nparts + 1: position of each part in sums, counted in columns */
  PetscInt     sumscols;  /* number of columns of a dense operand that sums has room for */
  PetscScalar *sums;
} CSRCHost;

static PetscErrorCode CSRCHostBuild(const AIJCSR *, const AIJPurpose *, void **);
static PetscErrorCode CSRCHostSetValues(void *, const AIJCSR *);
static PetscErrorCode CSRCHostDestroy(void **);
static PetscErrorCode CSRCHostApply(void *, AIJOp, const PetscScalar *, const PetscScalar *, PetscScalar *);
static PetscErrorCode CSRCHostApplyDense(void *, AIJOp, PetscInt, const PetscScalar *, PetscInt, PetscScalar *, PetscInt);
static PetscErrorCode CSRCHostGetMemory(const void *, PetscLogDouble *);
static PetscErrorCode CSRCHostView(const void *, PetscViewer, PetscBool);
static PetscErrorCode CSRCHostVisit(const void *, AIJVisitor, void *);

const AIJFormat AIJFormatCSRCHost = {
  .name       = "csrc, on the host",
  .ondevice   = PETSC_FALSE,
  .build      = CSRCHostBuild,
  .setvalues  = CSRCHostSetValues,
  .destroy    = CSRCHostDestroy,
  .apply      = CSRCHostApply,
  .applydense = CSRCHostApplyDense,
  .getmemory  = CSRCHostGetMemory,
  .view       = CSRCHostView,
  .visit      = CSRCHostVisit,
};

static PetscErrorCode CSRCHostDestroy(void **data)
{
  CSRCHost *h = (CSRCHost *)*data;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CSRC256Destroy(&h->csrc));
  PetscCall(PetscFree4(h->partblock, h->lo, h->hi, h->start));
  PetscCall(PetscFree(h->sums));
  PetscCall(PetscFree(*data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCHostBuild(const AIJCSR *csr, const AIJPurpose *purpose, void **data)
{
  CSRCHost      *h;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  (void)purpose; /* the layout is the same for all products */
  PetscCall(PetscNew(&h));
  ierr = CSRC256Build(csr, &h->csrc);
  if (ierr) PetscCall(PetscFree(h));
  PetscCall(ierr);
  *data = h;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCHostSetValues(void *data, const AIJCSR *csr)
{
  PetscFunctionBegin;
  PetscCall(CSRC256SetValues(((CSRCHost *)data)->csrc, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the partition for A^T u at its first use, and allocates the sums of K columns */
static PetscErrorCode CSRCHostPrepareTranspose(CSRCHost *h, PetscInt K)
{
  const CSRC256 *a      = h->csrc;
  const int      nparts = (int)PetscMin(a->nthreads, PetscMin(1 + (PetscInt64)(a->nnz / PetscMax(1, a->n)), PetscMax(1, a->nblocks)));

  PetscFunctionBegin;
  if (!h->nparts) {
    PetscCall(PetscFree4(h->partblock, h->lo, h->hi, h->start)); /* left by an attempt that failed, if PETSc allocates the arrays separately */
    PetscCall(PetscMalloc4(nparts + 1, &h->partblock, nparts, &h->lo, nparts, &h->hi, nparts + 1, &h->start));
    h->nparts   = nparts;
    h->start[0] = 0;
    for (PetscInt t = 0, g = 0; t <= nparts; t++) {
      const PetscInt64 target = (PetscInt64)a->nnz * t / nparts;

      while (g < a->nblocks && a->p[g] < target) g++;
      h->partblock[t] = t == nparts ? a->nblocks : g;
    }
    for (int t = 0; t < nparts; t++) {
      PetscInt lo = a->n, hi = 0;

      for (PetscInt g = h->partblock[t]; g < h->partblock[t + 1]; g++) {
        if (a->p[g] == a->p[g + 1]) continue;
        lo = PetscMin(lo, a->j[a->p[g]]);
        hi = PetscMax(hi, a->j[a->p[g + 1] - 1] + 1);
      }
      h->lo[t]        = PetscMin(lo, hi);
      h->hi[t]        = hi;
      h->start[t + 1] = h->start[t] + (h->hi[t] - h->lo[t]);
    }
  }
  if (K > h->sumscols) {
    PetscCall(PetscFree(h->sums));
    h->sumscols = 0;
    PetscCall(PetscMalloc1(h->start[nparts] * K, &h->sums));
    h->sumscols = K;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Adds the product of one row block with kp columns of X to s[kp * row + c]. Callers pass a constant kp where possible, so that loops over
  it are unrolled.
*/
static inline void BlockMult(const CSRC256 *a, PetscInt g, int kp, const PetscScalar *X, PetscInt ldx, PetscScalar *s)
{
  for (PetscInt k = a->p[g]; k < a->p[g + 1]; k++) {
    PetscScalar       *sr = s + (size_t)kp * a->r[k];
    const PetscScalar *x  = X + a->j[k];
    const PetscScalar  v  = a->v[k];

    for (int c = 0; c < kp; c++) sr[c] += v * x[(size_t)ldx * c];
  }
}

/* Adds the transposed product of one row block with kp columns of U to s[kp * (column - lo) + c] */
static inline void BlockMultTranspose(const CSRC256 *a, PetscInt g, int kp, PetscBool conjugate, const PetscScalar *U, PetscInt ldu, PetscInt lo, PetscScalar *s)
{
  const PetscScalar *u = U + g * CSRC256_ROWS;

  for (PetscInt k = a->p[g]; k < a->p[g + 1]; k++) {
    PetscScalar       *sj = s + (size_t)kp * (a->j[k] - lo);
    const PetscScalar *ur = u + a->r[k];
    const PetscScalar  v  = conjugate ? PetscConj(a->v[k]) : a->v[k];

    for (int c = 0; c < kp; c++) sj[c] += v * ur[(size_t)ldu * c];
  }
}

/* Y = A X + Z for kp <= CSRC256_HOST_PANEL_N columns; Z is NULL, or has Y's shape, and may be Y */
static void PanelMult(const CSRC256 *a, int kp, const PetscScalar *X, PetscInt ldx, const PetscScalar *Z, PetscScalar *Y, PetscInt ldy)
{
  PetscPragmaOMP(parallel for schedule(dynamic, 4) num_threads(a->nthreads))
  for (PetscInt g = 0; g < a->nblocks; g++) {
    const PetscInt first = g * CSRC256_ROWS, rows = PetscMin(CSRC256_ROWS, a->m - first);
    PetscScalar    s[CSRC256_ROWS * CSRC256_HOST_PANEL_N];

    /* sums start from Z, so that the additions of a row have the same order as in AIJ */
    for (int c = 0; c < kp; c++) {
      const PetscScalar *z = Z ? Z + (size_t)ldy * c + first : NULL;

      for (PetscInt i = 0; i < rows; i++) s[i * kp + c] = z ? z[i] : 0.0;
    }
    if (kp == 1) BlockMult(a, g, 1, X, ldx, s);
    else if (kp == CSRC256_HOST_PANEL_N) BlockMult(a, g, CSRC256_HOST_PANEL_N, X, ldx, s);
    else BlockMult(a, g, kp, X, ldx, s);
    for (int c = 0; c < kp; c++) {
      PetscScalar *y = Y + (size_t)ldy * c + first;

      for (PetscInt i = 0; i < rows; i++) y[i] = s[i * kp + c];
    }
  }
}

/* V = A^T U + Z, or A^H U + Z, for kp <= CSRC256_HOST_PANEL_T columns. The sums of a part begin at sums + kp * start. */
static void PanelMultTranspose(const CSRCHost *h, int kp, PetscBool conjugate, const PetscScalar *U, PetscInt ldu, const PetscScalar *Z, PetscScalar *V, PetscInt ldv)
{
  const CSRC256 *a = h->csrc;

  PetscPragmaOMP(parallel for schedule(static, 1) num_threads(a->nthreads))
  for (int t = 0; t < h->nparts; t++) {
    PetscScalar *s = h->sums + kp * h->start[t];

    /* the first part starts from Z: with one part, the additions have the same order as in AIJ */
    for (PetscInt j = h->lo[t]; j < h->hi[t]; j++) {
      for (int c = 0; c < kp; c++) s[(PetscCount)kp * (j - h->lo[t]) + c] = Z && !t ? Z[(size_t)ldv * c + j] : 0.0;
    }
    for (PetscInt g = h->partblock[t]; g < h->partblock[t + 1]; g++) {
      if (kp == 1) BlockMultTranspose(a, g, 1, conjugate, U, ldu, h->lo[t], s);
      else if (kp == CSRC256_HOST_PANEL_T) BlockMultTranspose(a, g, CSRC256_HOST_PANEL_T, conjugate, U, ldu, h->lo[t], s);
      else BlockMultTranspose(a, g, kp, conjugate, U, ldu, h->lo[t], s);
    }
  }
  PetscPragmaOMP(parallel for schedule(static) num_threads(a->nthreads))
  for (PetscInt j = 0; j < a->n; j++) {
    for (int c = 0; c < kp; c++) {
      const PetscBool infirst = j >= h->lo[0] && j < h->hi[0] ? PETSC_TRUE : PETSC_FALSE;
      PetscScalar     sum     = 0.0;

      if (infirst) sum = h->sums[kp * (h->start[0] + j - h->lo[0]) + c];
      else if (Z) sum = Z[(size_t)ldv * c + j];
      for (int t = 1; t < h->nparts; t++) {
        if (j >= h->lo[t] && j < h->hi[t]) sum += h->sums[kp * (h->start[t] + j - h->lo[t]) + c];
      }
      V[(size_t)ldv * c + j] = sum;
    }
  }
}

static PetscErrorCode CSRCHostApply(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  CSRCHost *h = (CSRCHost *)data;

  PetscFunctionBegin;
  if (op == AIJ_N) PanelMult(h->csrc, 1, x, 0, z, y, 0);
  else {
    PetscCall(CSRCHostPrepareTranspose(h, 1));
    PanelMultTranspose(h, 1, op == AIJ_H ? PETSC_TRUE : PETSC_FALSE, x, 0, z, y, 0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCHostApplyDense(void *data, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  CSRCHost      *h     = (CSRCHost *)data;
  const PetscInt panel = op == AIJ_N ? CSRC256_HOST_PANEL_N : CSRC256_HOST_PANEL_T;

  PetscFunctionBegin;
  if (op != AIJ_N) PetscCall(CSRCHostPrepareTranspose(h, PetscMin(K, CSRC256_HOST_PANEL_T)));
  for (PetscInt k = 0; k < K; k += panel) {
    const int kp = (int)PetscMin(panel, K - k);

    if (op == AIJ_N) PanelMult(h->csrc, kp, X + (size_t)ldx * k, ldx, NULL, Y + (size_t)ldy * k, ldy);
    else PanelMultTranspose(h, kp, op == AIJ_H ? PETSC_TRUE : PETSC_FALSE, X + (size_t)ldx * k, ldx, NULL, Y + (size_t)ldy * k, ldy);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCHostGetMemory(const void *data, PetscLogDouble *bytes)
{
  const CSRCHost *h = (const CSRCHost *)data;
  const CSRC256  *a = h->csrc;

  PetscFunctionBegin;
  *bytes = (PetscLogDouble)a->nnz * (sizeof(*a->r) + sizeof(*a->j) + sizeof(*a->v) + sizeof(*a->perm)) + (PetscLogDouble)(a->nblocks + 1) * sizeof(*a->p);
  if (h->nparts) *bytes += (PetscLogDouble)h->start[h->nparts] * h->sumscols * sizeof(PetscScalar);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCHostView(const void *data, PetscViewer viewer, PetscBool detail)
{
  const CSRCHost *h   = (const CSRCHost *)data;
  const CSRC256  *a   = h->csrc;
  const double    nnz = (double)PetscMax(1, a->nnz);

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " blocks of %d rows\n", a->nblocks, CSRC256_ROWS));
  if (detail) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "bytes per nonzero: rows %zu, columns %zu, values %zu, places for new values %zu, block starts %.2f, sums for A^T u %.2f\n", sizeof(*a->r), sizeof(*a->j), sizeof(*a->v), sizeof(*a->perm),
                                     (double)(a->nblocks + 1) * sizeof(*a->p) / nnz, h->nparts ? (double)h->start[h->nparts] * h->sumscols * sizeof(PetscScalar) / nnz : 0.0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCHostVisit(const void *data, AIJVisitor visit, void *visitctx)
{
  PetscFunctionBegin;
  PetscCall(CSRC256Visit(((const CSRCHost *)data)->csrc, visit, visitctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}
