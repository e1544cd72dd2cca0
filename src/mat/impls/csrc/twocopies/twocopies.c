/*
  Two stored copies of a matrix on a CUDA device, both in the balanced layout: one with blocks of rows, one with blocks of columns. The
  first copy adds A x without atomics, the second one A^T u. This is not always faster: where many nonzeros of a block share a column, the
  block adds their sum to memory at once. Therefore both products are timed with both copies, and each uses the faster copy; a copy that
  gains nothing is freed.
*/
#include "twocopies.h"
#include "mat/impls/csrc/tune.h"
#include "cuda/device.h"

#if defined(PETSCCSRC_HAVE_CUDA)
typedef struct {
  AIJStored copy[2]; /* blocks of rows, blocks of columns; one may be empty */
  int       uses[2]; /* index of the copy that A x uses, and of the one that A^T u uses */
} TwoCopies;

/* Products are timed with at most this many columns of dense operands, in groups of this many milliseconds */
  #define TIMED_COLUMNS 16
  #define TIMED_MS      0.2

/* Device copies of those parts of a CSR that are only on the host; kept until both copies of the matrix are made */
typedef struct {
  PetscInt    *i, *j;
  PetscScalar *a;
} Uploaded;

static PetscErrorCode UploadedFree(Uploaded *u)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCDeviceFree(&u->i));
  PetscCall(PetscCSRCDeviceFree(&u->j));
  PetscCall(PetscCSRCDeviceFree(&u->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Upload(const char what[], const void *host, size_t bytes, void *device)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCDeviceMalloc(what, bytes, device));
  PetscCall(PetscCSRCDeviceUpload(*(void **)device, host, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* If this fails, the caller must still free u */
static PetscErrorCode UploadCSR(const AIJCSR *csr, PetscBool pattern, Uploaded *u, AIJCSR *with)
{
  const size_t nnz = (size_t)csr->nnz;

  PetscFunctionBegin;
  *with = *csr;
  if (pattern && !csr->device.i) PetscCall(Upload("row pointers", csr->i, ((size_t)csr->m + 1) * sizeof(*csr->i), &u->i));
  if (pattern && !csr->device.j) PetscCall(Upload("columns", csr->j, nnz * sizeof(*csr->j), &u->j));
  if (!csr->device.a) PetscCall(Upload("values", csr->a, nnz * sizeof(*csr->a), &u->a));
  if (u->i) with->device.i = u->i;
  if (u->j) with->device.j = u->j;
  if (u->a) with->device.a = u->a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesDestroy(void **data)
{
  TwoCopies *t = (TwoCopies *)*data;

  PetscFunctionBegin;
  if (!t) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 2; k++) PetscCall(AIJStoredDestroy(&t->copy[k]));
  PetscCall(PetscFree(*data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Chooses the copy for each product: the one that needs no atomics, unless the other is faster; or a single copy for both products if a
  second one gains too little
*/
static PetscErrorCode TwoCopiesChoose(TwoCopies *t, const AIJCSR *csr, PetscInt columns)
{
  CSRCTimer      timer    = {0};
  PetscLogDouble us[2][2] = {{0}}, both = 0; /* us[p][k]: time of product p with copy k */
  PetscErrorCode ierr;
  PetscBool      fits = PETSC_TRUE;

  PetscFunctionBegin;
  ierr = CSRCTimerCreate(csr, columns < AIJ_DENSE_COLUMNS ? 1 : PetscMin(columns, TIMED_COLUMNS), &timer, &fits);
  for (int p = 0; p < 2 && fits && !ierr; p++) {
    const AIJOp op = p ? AIJ_T : AIJ_N;

    for (int k = 0; k < 2 && !ierr; k++) ierr = CSRCTimerRun(&timer, &t->copy[k], 1, &op, TIMED_MS, &us[p][k]);
    if (!ierr) ierr = PetscInfo(NULL, "%s takes %g us with blocks of rows, %g us with blocks of columns\n", p ? "A^T x" : "A x", us[p][0], us[p][1]);
    if (us[p][!p] < CSRC_TUNE_GAIN * us[p][p]) t->uses[p] = !p;
    both += us[p][t->uses[p]];
  }
  PetscCall(CSRCTimerDestroy(&timer));
  PetscCall(ierr);
  if (fits) {
    const int best = us[0][1] + us[1][1] < us[0][0] + us[1][0] ? 1 : 0;

    if (both >= CSRC_TUNE_GAIN * (us[0][best] + us[1][best])) t->uses[0] = t->uses[1] = best;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesBuild(const AIJCSR *csr, const AIJPurpose *purpose, void **data)
{
  const CSRCBalancedTuning given    = *(const CSRCBalancedTuning *)purpose->tuning;
  Uploaded                 uploaded = {NULL, NULL, NULL};
  TwoCopies               *t;
  AIJCSR                   with;
  PetscErrorCode           ierr;
  PetscBool                fits = PETSC_TRUE;

  PetscFunctionBegin;
  *data = NULL;
  PetscCall(PetscNew(&t));
  ierr = UploadCSR(csr, PETSC_TRUE, &uploaded, &with);
  for (int k = 0; k < 2 && fits && !ierr; k++) {
    CSRCBalancedTuning tuning = given;
    AIJPurpose         one    = *purpose;

    tuning.orientation = k ? CSRC_COLUMNS : CSRC_ROWS;
    one.tuning         = &tuning;
    one.reproducible   = PETSC_FALSE; /* if reproducible products are requested, no product uses the transpose of a stored copy */
    ierr               = AIJStoredBuild(&t->copy[k], &AIJFormatBalanced, &with, &one);
    if (!t->copy[k].format) fits = PETSC_FALSE;
  }
  PetscCall(UploadedFree(&uploaded));
  t->uses[1] = 1;
  if (!ierr && fits && !purpose->reproducible) ierr = TwoCopiesChoose(t, csr, purpose->columns);
  if (!ierr && fits && t->uses[0] == t->uses[1]) ierr = AIJStoredDestroy(&t->copy[!t->uses[0]]);
  if (PetscUnlikely(ierr || !fits)) (void)TwoCopiesDestroy((void **)&t); /* the first error is the one to report */
  PetscCall(ierr);
  *data = t;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesSetValues(void *data, const AIJCSR *csr)
{
  TwoCopies     *t        = (TwoCopies *)data;
  Uploaded       uploaded = {NULL, NULL, NULL};
  AIJCSR         with;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = UploadCSR(csr, PETSC_FALSE, &uploaded, &with);
  for (int k = 0; k < 2 && !ierr; k++) {
    if (t->copy[k].format) ierr = (*AIJFormatBalanced.setvalues)(t->copy[k].data, &with);
  }
  PetscCall(UploadedFree(&uploaded));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesApply(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  TwoCopies *t = (TwoCopies *)data;

  PetscFunctionBegin;
  PetscCall((*AIJFormatBalanced.apply)(t->copy[t->uses[op != AIJ_N]].data, op, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesApplyDense(void *data, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  TwoCopies *t = (TwoCopies *)data;

  PetscFunctionBegin;
  PetscCall((*AIJFormatBalanced.applydense)(t->copy[t->uses[op != AIJ_N]].data, op, K, X, ldx, Y, ldy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesGetMemory(const void *data, PetscLogDouble *bytes)
{
  const TwoCopies *t = (const TwoCopies *)data;

  PetscFunctionBegin;
  *bytes = 0.0;
  for (int k = 0; k < 2; k++) {
    PetscLogDouble one;

    if (!t->copy[k].format) continue;
    PetscCall((*AIJFormatBalanced.getmemory)(t->copy[k].data, &one));
    *bytes += one;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesView(const void *data, PetscViewer viewer, PetscBool detail)
{
  const TwoCopies *t = (const TwoCopies *)data;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    if (!t->copy[k].format) continue;
    PetscCall(PetscViewerASCIIPrintf(viewer, "for %s%s:\n", t->uses[0] == k ? "A x" : "A^T x", t->uses[0] == t->uses[1] ? " and A^T x, which a second copy does not make faster" : ""));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscCall((*AIJFormatBalanced.view)(t->copy[k].data, viewer, detail));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesVisit(const void *data, AIJVisitor visit, void *visitctx)
{
  const TwoCopies *t = (const TwoCopies *)data;

  PetscFunctionBegin;
  PetscCall((*AIJFormatBalanced.visit)(t->copy[t->uses[0]].data, visit, visitctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesMadeFor(const void *data, const AIJPurpose *purpose, PetscBool *yes)
{
  const TwoCopies *t = (const TwoCopies *)data;

  PetscFunctionBegin;
  /* both copies were made for the same purpose */
  PetscCall((*AIJFormatBalanced.madefor)(t->copy[t->uses[0]].data, purpose, yes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJFormat AIJFormatTwoCopies = {
  .name       = "two balanced copies, on the device",
  .ondevice   = PETSC_TRUE,
  .build      = TwoCopiesBuild,
  .setvalues  = TwoCopiesSetValues,
  .destroy    = TwoCopiesDestroy,
  .apply      = TwoCopiesApply,
  .applydense = TwoCopiesApplyDense,
  .getmemory  = TwoCopiesGetMemory,
  .view       = TwoCopiesView,
  .visit      = TwoCopiesVisit,
  .madefor    = TwoCopiesMadeFor,
};
#endif
