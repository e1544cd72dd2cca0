/*
  The balanced layout of CSRC on a CUDA device: balanced.cuh says what it stores, balancedimpl.cuh which file does what.
*/
#include "balancedimpl.cuh"

/* The parameters that the rule chooses for products with so many columns */
static CSRCBalancedParams CSRCBalancedCUDAParams(PetscInt columns)
{
  CSRCBalancedParams params = {1, -1, true, NULL, 1};
  int                panel  = 1;

  if (columns >= CSRC_DENSE_COLUMNS) {
    panel     = columns <= CSRC_PANEL_FEW ? CSRC_PANEL_FEW : columns < 2 * CSRC_PANEL_COLUMNS ? CSRC_PANEL_COLUMNS : CSRC_PANEL_MOST;
    params.kt = panel == CSRC_PANEL_FEW ? CSRC_PANEL_FEW_ROOM : panel;
  }
  params.banks = 128 / (panel * (int)sizeof(PetscScalar));
  return params;
}

static PetscErrorCode CSRCBalancedCUDABuild(const AIJCSR *csr, PetscInt columns, MatCSRCOrientation orientation, PetscBool *fits, void **data)
{
  PetscBool bycolumns;

  PetscFunctionBegin;
  PetscCall(CSRCBalancedCUDAByColumns(csr, orientation, &bycolumns));
  PetscCall(CSRCBalancedCUDABuildWith(csr, CSRCBalancedCUDAParams(columns), bycolumns, fits, data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A form for dense matrices serves more columns than it was made for if its blocks leave room for a wider panel */
static PetscErrorCode CSRCBalancedCUDAMadeFor(const void *data, PetscInt columns, PetscBool *yes)
{
  const CSRCBalancedCUDA *b  = (const CSRCBalancedCUDA *)data;
  const int               kt = CSRCBalancedCUDAParams(columns).kt;

  PetscFunctionBegin;
  *yes = kt == 1 || (b->params.kt > 1 && (b->params.kt >= kt || b->kt >= kt)) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes for refilling values and of scratch: everything but the layout itself */
static PetscLogDouble CSRCBalancedCUDAExtra(const CSRCBalancedCUDA *b)
{
  PetscLogDouble extra = 0.0;

  if (b->refill.from) extra += (PetscLogDouble)sizeof(int) * ((PetscLogDouble)b->form.nchunks * CSRC_CHUNK + b->form.nleft);
  extra += CSRCBalancedRepeatBytes(b->form, b->repeat);
  extra += (PetscLogDouble)sizeof(PetscScalar) * (b->npacked + b->nsums);
  return extra;
}

static PetscErrorCode CSRCBalancedCUDAGetMemory(void *data, PetscLogDouble *bytes)
{
  const CSRCBalancedCUDA *b = (const CSRCBalancedCUDA *)data;

  PetscFunctionBegin;
  *bytes = CSRCBalancedBytes(b->form) + CSRCBalancedCUDAExtra(b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCBalancedCUDAView(void *data, PetscViewer viewer, PetscBool detail)
{
  const CSRCBalancedCUDA              *b        = (const CSRCBalancedCUDA *)data;
  const CSRCBalancedForm<PetscScalar> &f        = b->form;
  const char *const                    values[] = {"as they are", "in single precision, which holds them exactly", "by a table of distinct ones"};
  const double                         nnz      = (double)f.nnz;
  const char *const                    rows     = b->bycolumns ? "columns" : "rows"; /* what blocks are made of */

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "%d nonzeros in %d blocks of %s for products with %s, %.2f bytes per nonzero on the device\n", f.nnz, f.nblocks, rows, b->params.kt > 1 ? "dense matrices" : "vectors", CSRCBalancedBytes(f) / nnz));
  PetscCall(PetscViewerASCIIPrintf(viewer, "values %s\n", values[f.values]));
  if (detail) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "bytes per nonzero: values %.2f, accumulators %.2f, columns %.2f, heads %.2f, copies of %s %.2f, leftovers %.2f; what new values need and scratch: %.2f more\n", CSRCValueBytes<PetscScalar>(f.values) * (double)CSRC_CHUNK * f.nchunks / nnz, 2.0 * CSRC_CHUNK * f.nchunks / nnz, (double)f.columnbytes / nnz, 8.0 * f.nchunks / nnz, rows, 2.0 * f.ncopies / nnz,
                                     f.nleft * (6.0 + sizeof(PetscScalar)) / nnz, CSRCBalancedCUDAExtra(b) / nnz));
    PetscCall(PetscViewerASCIIPrintf(viewer, "nonzeros of a block in one %s: %.2f on average, a lane's are %s; copies of %s %d, leftovers %d, split %s %d; columns of a dense matrix at a time: %d\n", b->bycolumns ? "row" : "column", f.meanrun, f.order == CSRC_CONSECUTIVE ? "consecutive" : "interleaved", rows, f.ncopies, f.nleft, rows, f.nsplit, b->kt));
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s: %d thread blocks for each block, %d domains; %s: %d threads%s\n", b->bycolumns ? "A^T x" : "A x", f.team, f.domains, b->bycolumns ? "A x" : "A^T x", f.tthreads, b->reproducible ? ", the same bits every time" : ""));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Leftovers take longer than other nonzeros: there must be few */
PetscErrorCode CSRCLayoutBalancedSuits(const void *data, PetscBool *suits)
{
  const CSRCBalancedForm<PetscScalar> &f = ((const CSRCBalancedCUDA *)data)->form;

  PetscFunctionBegin;
  *suits = f.nleft <= f.nnz / 20 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* in the order of CSRCLayoutOps: C++17 has no designated initialisers */
const CSRCLayoutOps CSRCLayoutBalancedCUDA = {"balanced, on the device", CSRCBalancedCUDABuild, CSRCBalancedCUDASetValues, CSRCBalancedCUDADestroy, CSRCBalancedCUDAApply, CSRCBalancedCUDAApplyDense, CSRCBalancedCUDAGetMemory, CSRCBalancedCUDAView, CSRCBalancedCUDAMadeFor};

PetscErrorCode CSRCLayoutBalancedSetReproducible(void *data, PetscBool reproducible)
{
  PetscFunctionBegin;
  ((CSRCBalancedCUDA *)data)->reproducible = reproducible;
  PetscFunctionReturn(PETSC_SUCCESS);
}
