/* The stored nonzeros of a matrix as a cache of its CSR: when they are stored, refilled and freed; scratch, blocks and kind of a matrix */
#include "derivedimpl.h"
#include "sys/threads.h"

/* What has changed in the CSR since the nonzeros were stored */
typedef enum {
  CHANGED_NOTHING,
  CHANGED_VALUES,
  CHANGED_PATTERN
} Changed;

PetscErrorCode MatDerivedGetCSR(Mat A, PetscBool ondevice, AIJCSR *csr)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(csr, sizeof(*csr)));
  csr->m = A->rmap->n;
  csr->n = A->cmap->n;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &csr->m, &csr->i, &csr->j, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatGetRowIJ() does not work for the matrix type %s", ((PetscObject)A)->type_name);
  csr->nnz = csr->m ? csr->i[csr->m] : 0;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (ondevice) PetscCall(MatDerivedGetDeviceCSR(A, csr));
  if (csr->device.a && A->offloadmask == PETSC_OFFLOAD_GPU) PetscFunctionReturn(PETSC_SUCCESS);
#endif
  /* what it gives is AIJ's array for as long as the matrix lives, so that there is nothing to restore; if the device has newer values they are fetched */
  PetscCall(MatSeqAIJGetArrayRead(A, &csr->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the CSR to store nonzeros from, and frees what was made for this */
static PetscErrorCode GetCSR(Mat A, PetscBool ondevice, AIJCSR *csr)
{
  const AIJSource *source = &MatDerivedOf(A)->source;

  PetscFunctionBegin;
  if (source->get) PetscCall((*source->get)(source->ctx, ondevice, csr));
  else PetscCall(MatDerivedGetCSR(A, ondevice, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestoreCSR(Mat A, AIJCSR *csr)
{
  const AIJSource *source = &MatDerivedOf(A)->source;

  PetscFunctionBegin;
  if (source->restore) PetscCall((*source->restore)(source->ctx, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The object state tells whether anything changed. Nonzero state, sizes, number of nonzeros and address of the column indices tell whether the
  pattern did; the address counts only if the matrix has a CSR of its own. Gets the CSR unless nothing has changed.
*/
static PetscErrorCode WhatChanged(Mat A, const Mat_Derived *f, MatState now, PetscBool ondevice, AIJCSR *csr, Changed *changed)
{
  const PetscBool same = f->built && f->ondevice == ondevice && now.nonzerostate == f->state.nonzerostate && now.id == f->state.id && A->rmap->n == f->m && A->cmap->n == f->n ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  *changed = CHANGED_NOTHING;
  if (same && f->mat == A && now.state == f->state.state) PetscFunctionReturn(PETSC_SUCCESS);

  PetscCheck(A->assembled, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "Matrix of type %s must be assembled before a product", ((PetscObject)A)->type_name);
  PetscCheck(!A->structure_only, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "Matrix of type %s holds a structure and no values (MAT_STRUCTURE_ONLY): it has no products", ((PetscObject)A)->type_name);
  PetscCall(GetCSR(A, ondevice, csr));
  csr->nthreads = f->nthreads;
  *changed      = same && csr->nnz == f->nnz && (f->source.get || csr->j == f->j) ? CHANGED_VALUES : CHANGED_PATTERN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetValues(Mat A, const AIJCSR *csr)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MAT_FormSetValues, A, 0, 0, 0));
  f->built = PETSC_FALSE; /* if this fails, values may be changed in part: the next product stores them again */
  if (csr->nnz) PetscCall((*f->stored.format->setvalues)(f->stored.data, csr));
  PetscCall(PetscLogEventEnd(MAT_FormSetValues, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Build(Mat A, PetscBool ondevice, AIJCSR *csr)
{
  Mat_Derived *f = MatDerivedOf(A);
  AIJPurpose   purpose;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MAT_FormBuild, A, 0, 0, 0));
  PetscCall(MatDerivedReset(A));
  (*f->kind->getpurpose)(f->settings, f->columns, &purpose);
  f->nthreads = csr->nthreads = PetscCSRCGetNumThreads(&f->threadsfrom);
  csr->nprocesses             = PetscCSRCGetNumProcesses();
  if (!ondevice) {
    PetscCall(PetscCSRCThreadsSpread(f->nthreads));
    PetscCall(PetscCSRCThreadsYield(f->nthreads, PETSC_FALSE));
  }
  if (csr->nnz) {
    PetscCall((*f->kind->build)(f->settings, ondevice, &purpose, csr, &f->stored));
    PetscCheck(f->stored.format->ondevice == ondevice, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Format %s is not for this memory", f->stored.format->name);
  }
  PetscCall(PetscLogEventEnd(MAT_FormBuild, A, 0, 0, 0));
  PetscCall(PetscInfo(A, "Stored %" PetscInt_FMT " x %" PetscInt_FMT " with %" PetscInt_FMT " nonzeros in format %s; at most %d threads of the host (%s)\n", csr->m, csr->n, csr->nnz, f->stored.format ? f->stored.format->name : "none", f->nthreads,
                      f->threadsfrom));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedUpdate(Mat A)
{
  Mat_Derived    *f        = MatDerivedOf(A);
  const PetscBool ondevice = MatDerivedOnDevice(A);
  MatState        now;
  AIJCSR          csr;
  Changed         changed;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  if (f->released && !f->source.get) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetState(A, &now));
  PetscCall(WhatChanged(A, f, now, ondevice, &csr, &changed));
  if (changed == CHANGED_NOTHING) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = changed == CHANGED_VALUES ? SetValues(A, &csr) : Build(A, ondevice, &csr);
  f->j = csr.j;
  PetscCall(RestoreCSR(A, &csr));
  PetscCall(ierr);
  f->built    = PETSC_TRUE;
  f->ondevice = ondevice;
  f->state    = now;
  f->mat      = A;
  f->m        = csr.m;
  f->n        = csr.n;
  f->nnz      = csr.nnz;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedStayBound(Mat A, PetscBool flg)
{
  PetscBool usable;

  PetscFunctionBegin;
  PetscCall(PetscCSRCDeviceUsable(&usable, NULL));
  if (!flg && !usable) MatDerivedSetBoundToCPU(A, PETSC_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedReset(Mat A)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  PetscCall(AIJStoredDestroy(&f->stored));
#if defined(PETSCCSRC_HAVE_CUDA)
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscCSRCDeviceFree(&f->stage[k]));
    f->stagesize[k] = 0;
  }
#endif
  f->built = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Nonzeros are stored again for wider products as soon as these have had more columns than the products that they were made for, of which
  at most so many columns count. Not at once: solvers that multiply vectors, or narrow blocks, may end with one or two wide products, and
  the next solve would be slower with what was made for these.
*/
#define COLUMNS_COUNTED 256

PetscErrorCode MatDerivedCountVector(Mat A)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  f->suited = PetscMin(f->suited + 1, COLUMNS_COUNTED);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedExpectColumns(Mat A, PetscInt K)
{
  Mat_Derived *f     = MatDerivedOf(A);
  PetscBool    suits = PETSC_TRUE;
  AIJPurpose   purpose;

  PetscFunctionBegin;
  if (f->released && !f->source.get) PetscFunctionReturn(PETSC_SUCCESS); /* without a CSR they cannot be stored again */
  if (f->stored.format && f->stored.format->madefor) {
    (*f->kind->getpurpose)(f->settings, PetscMax(f->columns, K), &purpose);
    PetscCall((*f->stored.format->madefor)(f->stored.data, &purpose, &suits));
  }
  f->suited = suits ? PetscMin(f->suited + K, COLUMNS_COUNTED) : f->suited - K;
  if (suits || f->suited < 0) f->columns = PetscMax(f->columns, K);
  if (f->suited >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  f->suited = 0;
  if (f->built) {
    PetscCall(PetscInfo(A, "The nonzeros are stored again for products with %" PetscInt_FMT " columns and more\n", K));
    PetscCall(MatDerivedReset(A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
PetscErrorCode MatDerivedGetStage(Mat A, int slot, size_t n, PetscScalar **ptr)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  if (!f->stagetold) {
    PetscCall(PetscInfo(A, "Operands of a product are on the host and the matrix is on the device: they are copied at each product; -vec_type cuda or -dm_vec_type cuda avoids it\n"));
    f->stagetold = PETSC_TRUE;
  }
  if (f->stagesize[slot] < n) {
    PetscCall(PetscCSRCDeviceFree(&f->stage[slot]));
    f->stagesize[slot] = 0;
    PetscCall(PetscCSRCDeviceMalloc("scratch for operands on the host", n * sizeof(PetscScalar), &f->stage[slot]));
    f->stagesize[slot] = n;
  }
  *ptr = f->stage[slot];
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode MatDerivedGetBlocks(Mat A, Mat *Ad, Mat *Ao, const PetscInt **garray)
{
  PetscFunctionBegin;
  if (MatDerivedOf(A)->released) {
    const Mat_MPICSRFree *r = (const Mat_MPICSRFree *)A->data;

    *Ad = r->blocks[0];
    *Ao = r->blocks[1];
    if (garray) *garray = r->garray;
  } else PetscCall(MatMPIAIJGetSeqAIJ(A, Ad, Ao, garray));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedCopySettings(Mat from, Mat to)
{
  Mat_Derived *f = MatDerivedOf(from), *t = MatDerivedOf(to);

  PetscFunctionBegin;
  PetscCheck(f->kind == t->kind, PetscObjectComm((PetscObject)to), PETSC_ERR_PLIB, "Settings of %s do not fit %s", f->kind->name, t->kind->name);
  PetscCall(PetscMemcpy(t->settings, f->settings, f->kind->size));
  t->parallel.type = f->parallel.type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedCompose(Mat A, const AIJComposed *setters, PetscBool on)
{
  PetscFunctionBegin;
  for (; setters->name; setters++) PetscCall(PetscObjectComposeFunction((PetscObject)A, setters->name, on ? setters->function : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
