/* The stored nonzeros of a sequential matrix as a cache of its CSR: when they are stored, refilled and freed; scratch for products */
#include "seq.h"
#include "pieces/pieces.h"
#include "sys/threads.h"

/* Gets the CSR to store nonzeros from, and frees what was made for this */
static PetscErrorCode GetCSR(Mat A, PetscBool ondevice, AIJCSR *csr)
{
  const AIJSource *source = &MatDerivedOf(A)->cache.source;

  PetscFunctionBegin;
  if (source->get) PetscCall((*source->get)(source->ctx, ondevice, csr));
  else PetscCall(MatDerivedGetCSR(A, ondevice, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestoreCSR(Mat A, AIJCSR *csr)
{
  const AIJSource *source = &MatDerivedOf(A)->cache.source;

  PetscFunctionBegin;
  if (source->restore) PetscCall((*source->restore)(source->ctx, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The object state tells whether anything changed; nonzero state and sizes tell whether the pattern did */
AIJChanged MatDerivedChangedSince(Mat A, MatState now)
{
  const AIJCache *c = &MatDerivedOf(A)->cache;

  if (!c->built || c->ondevice != MatDerivedOnDevice(A) || now.nonzerostate != c->state.nonzerostate || now.id != c->state.id || A->rmap->n != c->m || A->cmap->n != c->n) return AIJ_CHANGED_PATTERN;
  return c->mat == A && now.state == c->state.state ? AIJ_CHANGED_NOTHING : AIJ_CHANGED_VALUES;
}

/* Gets the CSR unless nothing has changed. The number of nonzeros and, if the matrix has a CSR of its own, the address of the column indices must be the same too. */
static PetscErrorCode WhatChanged(Mat A, MatState now, PetscBool ondevice, AIJCSR *csr, AIJChanged *changed)
{
  const AIJCache *c = &MatDerivedOf(A)->cache;

  PetscFunctionBegin;
  *changed = MatDerivedChangedSince(A, now);
  if (*changed == AIJ_CHANGED_NOTHING) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(A->assembled, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "Matrix of type %s must be assembled before a product", ((PetscObject)A)->type_name);
  PetscCheck(!A->structure_only, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "Matrix of type %s holds a structure and no values (MAT_STRUCTURE_ONLY): it has no products", ((PetscObject)A)->type_name);
  PetscCall(GetCSR(A, ondevice, csr));
  csr->nthreads = c->nthreads;
  if (csr->nnz != c->nnz || (!c->source.get && csr->j != c->j)) *changed = AIJ_CHANGED_PATTERN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetValues(Mat A, const AIJCSR *csr)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MAT_FormSetValues, A, 0, 0, 0));
  f->cache.built = PETSC_FALSE; /* if this fails, values may be changed in part: the next product stores them again */
  if (csr->nnz) PetscCall((*f->cache.stored.format->setvalues)(f->cache.stored.data, csr));
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
  (*f->kind->getpurpose)(f->settings, f->cache.columns, &purpose);
  f->cache.nthreads = csr->nthreads = PetscCSRCGetNumThreads(&f->cache.threadsfrom);
  csr->nprocesses                   = PetscCSRCGetNumProcesses();
  if (!ondevice) {
    PetscCall(PetscCSRCThreadsSpread(f->cache.nthreads));
    PetscCall(PetscCSRCThreadsYield(f->cache.nthreads, PETSC_FALSE));
  }
  if (csr->nnz) {
    PetscCall(AIJPiecesBuild(f->kind, f->settings, ondevice, &purpose, csr, &f->cache.stored));
    PetscCheck(f->cache.stored.format->ondevice == ondevice, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Format %s is not for this memory", f->cache.stored.format->name);
  }
  PetscCall(PetscLogEventEnd(MAT_FormBuild, A, 0, 0, 0));
  PetscCall(PetscInfo(A, "Stored %" PetscInt_FMT " x %" PetscInt_FMT " with %" PetscInt_FMT " nonzeros in format %s; at most %d threads of the host (%s)\n", csr->m, csr->n, csr->nnz, f->cache.stored.format ? f->cache.stored.format->name : "none",
                      f->cache.nthreads, f->cache.threadsfrom));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedUpdate(Mat A)
{
  Mat_Derived    *f        = MatDerivedOf(A);
  const PetscBool ondevice = MatDerivedOnDevice(A);
  MatState        now;
  AIJCSR          csr;
  AIJChanged      changed;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  if (f->released && !f->cache.source.get) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetState(A, &now));
  PetscCall(WhatChanged(A, now, ondevice, &csr, &changed));
  if (changed == AIJ_CHANGED_NOTHING) PetscFunctionReturn(PETSC_SUCCESS);
  ierr       = changed == AIJ_CHANGED_VALUES ? SetValues(A, &csr) : Build(A, ondevice, &csr);
  f->cache.j = csr.j;
  PetscCall(RestoreCSR(A, &csr));
  PetscCall(ierr);
  f->cache.built    = PETSC_TRUE;
  f->cache.ondevice = ondevice;
  f->cache.state    = now;
  f->cache.mat      = A;
  f->cache.m        = csr.m;
  f->cache.n        = csr.n;
  f->cache.nnz      = csr.nnz;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJCacheReset(AIJCache *c)
{
  PetscFunctionBegin;
  PetscCall(AIJStoredDestroy(&c->stored));
#if defined(PETSCCSRC_HAVE_CUDA)
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscCSRCDeviceFree(&c->stage[k]));
    c->stagesize[k] = 0;
  }
#endif
  c->built = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedReset(Mat A)
{
  PetscFunctionBegin;
  PetscCall(AIJCacheReset(&MatDerivedOf(A)->cache));
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
  f->cache.suited = PetscMin(f->cache.suited + 1, COLUMNS_COUNTED);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedExpectColumns(Mat A, PetscInt K)
{
  Mat_Derived *f     = MatDerivedOf(A);
  PetscBool    suits = PETSC_TRUE;
  AIJPurpose   purpose;

  PetscFunctionBegin;
  if (f->released) PetscFunctionReturn(PETSC_SUCCESS); /* without a CSR they cannot be stored again */
  if (f->cache.stored.format && f->cache.stored.format->madefor) {
    (*f->kind->getpurpose)(f->settings, PetscMax(f->cache.columns, K), &purpose);
    PetscCall((*f->cache.stored.format->madefor)(f->cache.stored.data, &purpose, &suits));
  }
  f->cache.suited = suits ? PetscMin(f->cache.suited + K, COLUMNS_COUNTED) : f->cache.suited - K;
  if (suits || f->cache.suited < 0) f->cache.columns = PetscMax(f->cache.columns, K);
  if (f->cache.suited >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  f->cache.suited = 0;
  if (f->cache.built) {
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
  if (!f->cache.stagetold) {
    PetscCall(PetscInfo(A, "Operands of a product are on the host and the matrix is on the device: they are copied at each product; -vec_type cuda or -dm_vec_type cuda avoids it\n"));
    f->cache.stagetold = PETSC_TRUE;
  }
  if (f->cache.stagesize[slot] < n) {
    PetscCall(PetscCSRCDeviceFree(&f->cache.stage[slot]));
    f->cache.stagesize[slot] = 0;
    PetscCall(PetscCSRCDeviceMalloc("scratch for operands on the host", n * sizeof(PetscScalar), &f->cache.stage[slot]));
    f->cache.stagesize[slot] = n;
  }
  *ptr = f->cache.stage[slot];
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
