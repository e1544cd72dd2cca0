/* Scratch, memory statistics, number of parts */
#include "common.h"

PetscErrorCode BCCOOWorkGet(BCCOOWork *work, PetscCount n, PetscScalar **array)
{
  PetscFunctionBegin;
  if (n > work->n) {
    work->n = 0;
    PetscCall(PetscFree(work->array));
    PetscCall(PetscMalloc1(n + BCCOO_LINE, &work->array));
    work->n = n;
    BCCOOAdviseHugePages(work->array, (n + BCCOO_LINE) * sizeof(PetscScalar));
  }
  *array = (PetscScalar *)(((uintptr_t)work->array + 63) / 64 * 64);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscLogDouble BCCOOBytesTotal(const BCCOOBytes *b)
{
  return (PetscLogDouble)(b->rows + b->columns + b->values + b->tables + b->buffers);
}

PetscErrorCode BCCOOBytesView(const BCCOOBytes *b, PetscInt nnz, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(
    PetscViewerASCIIPrintf(viewer, "bytes per nonzero: rows %.2f, columns %.2f, values %.2f, tables %.2f, buffers %.2f\n", (double)b->rows / nnz, (double)b->columns / nnz, (double)b->values / nnz, (double)b->tables / nnz, (double)b->buffers / nnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt BCCOONumParts(const AIJCSR *csr)
{
  return PetscMax(1, PetscMin(csr->nthreads, (csr->nnz - 1) / BCCOO_CHUNK + 1));
}
