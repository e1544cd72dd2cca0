/*
  The simplest format: a copy of the CSR. Tests compare the other formats with it. docs/addformat.md, which explains how to add a format, uses
  this file as its example.
*/
#include "mat/impls/bccoo/formats.h"

static PetscErrorCode CSRBuild(const AIJCSR *, const AIJPurpose *, void **);
static PetscErrorCode CSRSetValues(void *, const AIJCSR *);
static PetscErrorCode CSRDestroy(void **);
static PetscErrorCode CSRApply(void *, AIJOp, const PetscScalar *, const PetscScalar *, PetscScalar *);
static PetscErrorCode CSRApplyDense(void *, AIJOp, PetscInt, const PetscScalar *, PetscInt, PetscScalar *, PetscInt);
static PetscErrorCode CSRGetMemory(const void *, PetscLogDouble *);
static PetscErrorCode CSRView(const void *, PetscViewer, PetscBool);
static PetscErrorCode CSRVisit(const void *, AIJVisitor, void *);
static PetscErrorCode CSRGetRows(const void *, PetscInt[]);
static PetscErrorCode CSRGetCSR(const void *, const PetscInt[], PetscInt[], PetscScalar[]);

const AIJFormat AIJFormatCSR = {
  .name       = "csr",
  .ondevice   = PETSC_FALSE,
  .build      = CSRBuild,
  .setvalues  = CSRSetValues,
  .destroy    = CSRDestroy,
  .apply      = CSRApply,
  .applydense = CSRApplyDense,
  .getmemory  = CSRGetMemory,
  .view       = CSRView,
  .visit      = CSRVisit,
  .getrows    = CSRGetRows,
  .getcsr     = CSRGetCSR,
};

typedef struct {
  PetscInt     m, n, nnz;
  PetscInt    *i, *j;
  PetscScalar *a;
} CSR;

static PetscErrorCode Copy(const AIJCSR *csr, CSR *f)
{
  PetscFunctionBegin;
  f->m   = csr->m;
  f->n   = csr->n;
  f->nnz = csr->nnz;
  PetscCall(PetscMalloc1(csr->m + 1, &f->i));
  PetscCall(PetscMalloc1(csr->nnz, &f->j));
  PetscCall(PetscMalloc1(csr->nnz, &f->a));
  PetscCall(PetscArraycpy(f->i, csr->i, csr->m + 1));
  PetscCall(PetscArraycpy(f->j, csr->j, csr->nnz));
  PetscCall(PetscArraycpy(f->a, csr->a, csr->nnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRBuild(const AIJCSR *csr, const AIJPurpose *purpose, void **data)
{
  CSR           *f;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  (void)purpose; /* the same data serve all products */
  PetscCall(PetscNew(&f));
  *data = f;
  ierr  = Copy(csr, f);
  if (ierr) PetscCall(CSRDestroy(data));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRSetValues(void *data, const AIJCSR *csr)
{
  PetscFunctionBegin;
  PetscCall(PetscArraycpy(((CSR *)data)->a, csr->a, csr->nnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRDestroy(void **data)
{
  CSR *f = (CSR *)*data;

  PetscFunctionBegin;
  if (!f) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree(f->i));
  PetscCall(PetscFree(f->j));
  PetscCall(PetscFree(f->a));
  PetscCall(PetscFree(*data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRApply(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  const CSR *f = (const CSR *)data;

  PetscFunctionBegin;
  if (op == AIJ_N) {
    for (PetscInt r = 0; r < f->m; r++) {
      PetscScalar sum = z ? z[r] : 0.0;

      for (PetscInt k = f->i[r]; k < f->i[r + 1]; k++) sum += f->a[k] * x[f->j[k]];
      y[r] = sum;
    }
  } else {
    if (!z) PetscCall(PetscArrayzero(y, f->n));
    else if (z != y) PetscCall(PetscArraycpy(y, z, f->n));
    for (PetscInt r = 0; r < f->m; r++) {
      for (PetscInt k = f->i[r]; k < f->i[r + 1]; k++) y[f->j[k]] += (op == AIJ_H ? PetscConj(f->a[k]) : f->a[k]) * x[r];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRApplyDense(void *data, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < K; k++) PetscCall(CSRApply(data, op, X + (PetscCount)ldx * k, NULL, Y + (PetscCount)ldy * k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRGetMemory(const void *data, PetscLogDouble *bytes)
{
  const CSR *f = (const CSR *)data;

  PetscFunctionBegin;
  *bytes = (PetscLogDouble)(f->m + 1) * sizeof(*f->i) + (PetscLogDouble)f->nnz * (sizeof(*f->j) + sizeof(*f->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRView(const void *data, PetscViewer viewer, PetscBool detail)
{
  const CSR *f = (const CSR *)data;

  PetscFunctionBegin;
  if (detail) PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " rows, %.2f nonzeros each\n", f->m, (double)f->nnz / f->m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRVisit(const void *data, AIJVisitor visit, void *visitctx)
{
  const CSR *f = (const CSR *)data;
  PetscInt  *row;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(f->nnz, &row));
  for (PetscInt r = 0; r < f->m; r++) {
    for (PetscInt k = f->i[r]; k < f->i[r + 1]; k++) row[k] = r;
  }
  (*visit)(visitctx, f->nnz, row, f->j, f->a);
  PetscCall(PetscFree(row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRGetRows(const void *data, PetscInt i[])
{
  const CSR *f = (const CSR *)data;

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(i, f->i, f->m + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRGetCSR(const void *data, const PetscInt i[], PetscInt j[], PetscScalar a[])
{
  const CSR *f = (const CSR *)data;

  PetscFunctionBegin;
  (void)i; /* those from getrows() */
  PetscCall(PetscArraycpy(j, f->j, f->nnz));
  PetscCall(PetscArraycpy(a, f->a, f->nnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}
