/*
  Two stored copies of a matrix on a CUDA device, both in the balanced layout: one with blocks of rows for A x, one with blocks of
  columns for A^T u. Neither product adds to memory by atomics, so both are as fast as A x alone, and have the same bits every time;
  both copies take twice the memory of one.
*/
#include "twocopies.h"
#include "mat/impls/csrc/balanced/balanced.h"
#include "cuda/device.h"

#if defined(PETSCCSRC_HAVE_CUDA)
typedef struct {
  AIJStored copy[2]; /* for A x, for A^T u */
} TwoCopies;

/* The parts of a CSR that are on the host only, on the device for as long as both copies are made from them */
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

/* u is to be freed also if this fails */
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

static PetscErrorCode TwoCopiesBuild(const AIJCSR *csr, const AIJPurpose *purpose, void **data)
{
  const CSRCBalancedTuning given    = purpose->tuning ? *(const CSRCBalancedTuning *)purpose->tuning : (CSRCBalancedTuning){CSRC_EITHER, -1, 1, PETSC_FALSE};
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
    one.reproducible   = PETSC_FALSE; /* no product is with the transpose of what is stored */
    ierr               = AIJStoredBuild(&t->copy[k], &AIJFormatBalanced, &with, &one);
    if (!t->copy[k].format) fits = PETSC_FALSE;
  }
  PetscCall(UploadedFree(&uploaded));
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
  for (int k = 0; k < 2 && !ierr; k++) ierr = (*AIJFormatBalanced.setvalues)(t->copy[k].data, &with);
  PetscCall(UploadedFree(&uploaded));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesApply(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  PetscFunctionBegin;
  PetscCall((*AIJFormatBalanced.apply)(((TwoCopies *)data)->copy[op != AIJ_N].data, op, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesApplyDense(void *data, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  PetscFunctionBegin;
  PetscCall((*AIJFormatBalanced.applydense)(((TwoCopies *)data)->copy[op != AIJ_N].data, op, K, X, ldx, Y, ldy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesGetMemory(const void *data, PetscLogDouble *bytes)
{
  PetscFunctionBegin;
  *bytes = 0.0;
  for (int k = 0; k < 2; k++) {
    PetscLogDouble one;

    PetscCall((*AIJFormatBalanced.getmemory)(((const TwoCopies *)data)->copy[k].data, &one));
    *bytes += one;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesView(const void *data, PetscViewer viewer, PetscBool detail)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "for %s:\n", k ? "A^T x" : "A x"));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscCall((*AIJFormatBalanced.view)(((const TwoCopies *)data)->copy[k].data, viewer, detail));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesMadeFor(const void *data, const AIJPurpose *purpose, PetscBool *yes)
{
  PetscFunctionBegin;
  /* both were made for the same */
  PetscCall((*AIJFormatBalanced.madefor)(((const TwoCopies *)data)->copy[0].data, purpose, yes));
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
  .madefor    = TwoCopiesMadeFor,
};
#endif
