/*
  The balanced layout of CSRC on a CUDA device: table of the format, view. balanced.cuh describes the data, balancedimpl.cuh lists the
  files.
*/
#include "balancedimpl.cuh"

static PetscErrorCode CSRCBalancedCUDAGetMemory(const void *, PetscLogDouble *);
static PetscErrorCode CSRCBalancedCUDAView(const void *, PetscViewer, PetscBool);
static PetscErrorCode CSRCBalancedCUDAGetWork(const void *, PetscLogDouble *, PetscLogDouble *, PetscBool *);

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
  PetscDesignatedInitializer(visit, CSRCBalancedCUDAVisit),
  PetscDesignatedInitializer(madefor, CSRCBalancedCUDAMadeFor),
  PetscDesignatedInitializer(getwork, CSRCBalancedCUDAGetWork),
};

/* Bytes of what new values need and of scratch: everything but the stored matrix itself */
static PetscLogDouble CSRCBalancedCUDAExtra(const CSRCBalancedCUDA *b)
{
  PetscLogDouble extra = 0.0;

  if (b->refill.from) extra += (PetscLogDouble)sizeof(int) * ((PetscLogDouble)b->A.nchunks * CSRC_CHUNK + b->A.noverflow);
  extra += (PetscLogDouble)sizeof(PetscScalar) * (b->npacked + b->nsums);
  return extra;
}

static PetscErrorCode CSRCBalancedCUDAGetMemory(const void *data, PetscLogDouble *bytes)
{
  const CSRCBalancedCUDA *b = (const CSRCBalancedCUDA *)data;

  PetscFunctionBegin;
  *bytes = CSRCBalancedBytes(b->A) + CSRCBalancedCUDAExtra(b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCBalancedCUDAGetWork(const void *data, PetscLogDouble *bytes, PetscLogDouble *runs, PetscBool *bycolumns)
{
  const CSRCBalancedCUDA *b = (const CSRCBalancedCUDA *)data;

  PetscFunctionBegin;
  *bytes     = CSRCBalancedBytes(b->A);
  *runs      = b->A.nnz / b->A.meanrun;
  *bycolumns = b->bycolumns;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCBalancedCUDAView(const void *data, PetscViewer viewer, PetscBool detail)
{
  const CSRCBalancedCUDA                *b        = (const CSRCBalancedCUDA *)data;
  const CSRCBalancedMatrix<PetscScalar> &A        = b->A;
  const char *const                      values[] = {"as they are", "in single precision, which holds them exactly", "by a table of distinct ones"};
  const double                           nnz      = (double)A.nnz;
  const char *const                      rows     = b->bycolumns ? "columns" : "rows"; /* what blocks are made of */

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "%d blocks of %s for products with %s, %.2f bytes per nonzero without scratch\n", A.nblocks, rows, b->params.kt > 1 ? "dense matrices" : "vectors", CSRCBalancedBytes(A) / nnz));
  PetscCall(PetscViewerASCIIPrintf(viewer, "values %s\n", values[A.values]));
  if (detail) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "bytes per nonzero: values %.2f, accumulators %.2f, columns %.2f, heads %.2f, replicas of %s %.2f, overflow %.2f; what new values need and scratch: %.2f more\n",
                                     CSRCChunkValueBytes(A) * (double)A.nchunks / nnz, 2.0 * CSRC_CHUNK * A.nchunks / nnz, (double)A.columnbytes / nnz, 8.0 * A.nchunks / nnz, rows, 2.0 * A.nreplicas / nnz,
                                     A.noverflow * (6.0 + sizeof(PetscScalar)) / nnz, CSRCBalancedCUDAExtra(b) / nnz));
    PetscCall(PetscViewerASCIIPrintf(viewer, "nonzeros of a block in one %s: %.2f on average, a lane's are %s; replicas of %s %d, overflow %d, split %s %d; columns of a dense matrix at a time: %d\n", b->bycolumns ? "row" : "column", A.meanrun,
                                     A.order == CSRC_CONSECUTIVE ? "consecutive" : "interleaved", rows, A.nreplicas, A.noverflow, rows, A.nsplit, b->kt));
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s: clusters of %d thread blocks, %d warp groups in each; %s: %d threads\n", b->bycolumns ? "A^T x" : "A x", A.cluster, A.groups, b->bycolumns ? "A x" : "A^T x", A.transposethreads));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nonzeros of the overflow take longer than others: the layout suits a matrix only if there are few of them */
PetscErrorCode CSRCBalancedSuits(const void *data, PetscBool *suits)
{
  const CSRCBalancedMatrix<PetscScalar> &A = ((const CSRCBalancedCUDA *)data)->A;

  PetscFunctionBegin;
  *suits = A.noverflow <= A.nnz / 20 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
