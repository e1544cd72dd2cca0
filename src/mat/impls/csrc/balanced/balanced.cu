/*
  The balanced layout of CSRC on a CUDA device: balanced.cuh says what it stores, balancedimpl.cuh which file does what.
*/
#include "balancedimpl.cuh"

static PetscErrorCode CSRCBalancedCUDAGetMemory(const void *, PetscLogDouble *);
static PetscErrorCode CSRCBalancedCUDAView(const void *, PetscViewer, PetscBool);

const AIJFormat AIJFormatBalanced = {
  PetscDesignatedInitializer(name, "balanced, on the device"),
  PetscDesignatedInitializer(ondevice, PETSC_TRUE),
  PetscDesignatedInitializer(build, CSRCBalancedCUDABuild),
  PetscDesignatedInitializer(setvalues, CSRCBalancedCUDASetValues),
  PetscDesignatedInitializer(destroy, CSRCBalancedCUDADestroy),
  PetscDesignatedInitializer(apply, CSRCBalancedCUDAApply),
  PetscDesignatedInitializer(applydense, CSRCBalancedCUDAApplyDense),
  PetscDesignatedInitializer(getmemory, CSRCBalancedCUDAGetMemory),
  PetscDesignatedInitializer(view, CSRCBalancedCUDAView),
  PetscDesignatedInitializer(madefor, CSRCBalancedCUDAMadeFor),
};

/* Bytes for refilling values and of scratch: everything but the layout itself */
static PetscLogDouble CSRCBalancedCUDAExtra(const CSRCBalancedCUDA *b)
{
  PetscLogDouble extra = 0.0;

  if (b->refill.from) extra += (PetscLogDouble)sizeof(int) * ((PetscLogDouble)b->form.nchunks * CSRC_CHUNK + b->form.nleft);
  extra += CSRCBalancedRepeatBytes(b->form, b->repeat);
  extra += (PetscLogDouble)sizeof(PetscScalar) * (b->npacked + b->nsums);
  return extra;
}

static PetscErrorCode CSRCBalancedCUDAGetMemory(const void *data, PetscLogDouble *bytes)
{
  const CSRCBalancedCUDA *b = (const CSRCBalancedCUDA *)data;

  PetscFunctionBegin;
  *bytes = CSRCBalancedBytes(b->form) + CSRCBalancedCUDAExtra(b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCBalancedCUDAView(const void *data, PetscViewer viewer, PetscBool detail)
{
  const CSRCBalancedCUDA              *b        = (const CSRCBalancedCUDA *)data;
  const CSRCBalancedForm<PetscScalar> &f        = b->form;
  const char *const                    values[] = {"as they are", "in single precision, which holds them exactly", "by a table of distinct ones"};
  const double                         nnz      = (double)f.nnz;
  const char *const                    rows     = b->bycolumns ? "columns" : "rows"; /* what blocks are made of */

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "%d blocks of %s for products with %s, %.2f bytes per nonzero without scratch\n", f.nblocks, rows, b->params.kt > 1 ? "dense matrices" : "vectors", CSRCBalancedBytes(f) / nnz));
  PetscCall(PetscViewerASCIIPrintf(viewer, "values %s\n", values[f.values]));
  if (detail) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "bytes per nonzero: values %.2f, accumulators %.2f, columns %.2f, heads %.2f, copies of %s %.2f, leftovers %.2f; what new values need and scratch: %.2f more\n",
                                     CSRCValueBytes<PetscScalar>(f.values) * (double)CSRC_CHUNK * f.nchunks / nnz, 2.0 * CSRC_CHUNK * f.nchunks / nnz, (double)f.columnbytes / nnz, 8.0 * f.nchunks / nnz, rows, 2.0 * f.ncopies / nnz,
                                     f.nleft * (6.0 + sizeof(PetscScalar)) / nnz, CSRCBalancedCUDAExtra(b) / nnz));
    PetscCall(PetscViewerASCIIPrintf(viewer, "nonzeros of a block in one %s: %.2f on average, a lane's are %s; copies of %s %d, leftovers %d, split %s %d; columns of a dense matrix at a time: %d\n", b->bycolumns ? "row" : "column", f.meanrun,
                                     f.order == CSRC_CONSECUTIVE ? "consecutive" : "interleaved", rows, f.ncopies, f.nleft, rows, f.nsplit, b->kt));
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s: %d thread blocks for each block, %d domains; %s: %d threads%s\n", b->bycolumns ? "A^T x" : "A x", f.team, f.domains, b->bycolumns ? "A x" : "A^T x", f.tthreads,
                                     b->reproducible ? ", the same bits every time" : ""));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Leftovers take longer than other nonzeros: there must be few */
PetscErrorCode CSRCBalancedSuits(const void *data, PetscBool *suits)
{
  const CSRCBalancedForm<PetscScalar> &f = ((const CSRCBalancedCUDA *)data)->form;

  PetscFunctionBegin;
  *suits = f.nleft <= f.nnz / 20 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CSRCBalancedGetOrder(const void *data, int *order)
{
  PetscFunctionBegin;
  *order = ((const CSRCBalancedCUDA *)data)->form.order;
  PetscFunctionReturn(PETSC_SUCCESS);
}
