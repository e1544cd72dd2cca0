/*
  The balanced layout of CSRC on a CUDA device: csrcbalanced.cuh says what it stores. Its set-up (csrcbalancedbuild.cuh) and
  products (csrcbalancedmult.cuh) know nothing of PETSc; this file puts them behind the layout interface.
*/
#include "../csrclayout.h"
#include <petscdevice_cuda.h>
#include "csrcbalancedrepeat.cuh"
#include "csrcbalancedmatmult.cuh"

typedef struct {
  CSRCBalancedForm<PetscScalar>   form;
  CSRCBalancedRefill<PetscScalar> refill; /* what new values need: made at their first change */
  CSRCBalancedRepeat<PetscScalar> repeat; /* what A^T u needs to have the same bits every time: made at its first use, if asked for */
  CSRCBalancedParams              params;
  PetscBool                       reproducible;
  PetscLogDouble                  tuned;  /* microseconds of A x and A^T u, if params were found by timing */
  int                             kt;     /* columns of a panel of a dense matrix: as many as fit the shared memory, at most CSRC_PANEL_MOST */
  int                             cache;  /* bytes of the second-level cache */
  PetscScalar                    *packed; /* scratch for A X and A^T U: panels of n rows, and the parts of split rows */
  size_t                          npacked;
} CSRCBalancedCUDA;

/* Columns of the panels that blocks are cut for: usual ones, and such that a row of a panel fills the 128 bytes of all banks of the shared memory */
#define CSRC_PANEL_COLUMNS 8
#define CSRC_PANEL_MOST    (sizeof(PetscScalar) > 8 ? CSRC_PANEL_COLUMNS : 16)

/* The parameters by rule, for products with so many columns */
static CSRCBalancedParams CSRCBalancedCUDAParams(PetscInt columns)
{
  const CSRCBalancedParams params = {1, -1, true, NULL, columns < CSRC_DENSE_COLUMNS ? 1 : columns < 2 * CSRC_PANEL_COLUMNS ? CSRC_PANEL_COLUMNS : CSRC_PANEL_MOST, 0};

  return params;
}

/* Device memory that runs out during set-up is an error that says how much was wanted; other errors are CUDA's own */
static PetscErrorCode CSRCBalancedCheck(cudaError_t cerr, const AIJFormCSR *csr)
{
  PetscFunctionBegin;
  if (cerr == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    /* the CSR, two pairs of keys and places with room to sort, and the layout */
    PetscCall(AIJFormDeviceMemoryError("the set-up of the balanced CSRC form", (size_t)csr->nnz * (2 * sizeof(PetscScalar) + 2 * sizeof(PetscInt) + 24)));
  }
  PetscCallCUDA(cerr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCBalancedCUDADestroy(void **data)
{
  CSRCBalancedCUDA *b = (CSRCBalancedCUDA *)*data;

  PetscFunctionBegin;
  if (!b) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(CSRCBalancedFree(&b->form, &b->refill));
  PetscCallCUDA(CSRCBalancedRepeatFree(&b->repeat));
  PetscCall(AIJFormDeviceFree(&b->packed));
  PetscCall(PetscFree(*data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* (Re)makes the layout of b from the CSR on the host; values is already on the device, or NULL */
static PetscErrorCode CSRCBalancedCUDAMake(CSRCBalancedCUDA *b, const AIJFormCSR *csr, PetscScalar *values, PetscBool keepfrom)
{
  cudaStream_t stream;
  CSRCScratch *scratch;
  PetscInt    *start, *column;
  PetscScalar *value = values;
  const size_t nnz   = (size_t)csr->nnz;
  cudaError_t  cerr;
  int          device, shared;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallCUDA(CSRCBalancedFree(&b->form, &b->refill));
  PetscCallCUDA(CSRCBalancedRepeatFree(&b->repeat));
  scratch = new CSRCScratch(stream);
  cerr    = scratch->get(&start, (size_t)csr->m + 1);
  if (cerr == cudaSuccess) cerr = scratch->get(&column, nnz);
  if (cerr == cudaSuccess && !value) {
    cerr = scratch->get(&value, nnz);
    if (cerr == cudaSuccess) cerr = cudaMemcpyAsync(value, csr->a, nnz * sizeof(*value), cudaMemcpyHostToDevice, stream);
  }
  if (cerr == cudaSuccess) cerr = cudaMemcpyAsync(start, csr->i, ((size_t)csr->m + 1) * sizeof(*start), cudaMemcpyHostToDevice, stream);
  if (cerr == cudaSuccess) cerr = cudaMemcpyAsync(column, csr->j, nnz * sizeof(*column), cudaMemcpyHostToDevice, stream);
  if (cerr == cudaSuccess) cerr = CSRCBalancedBuild<PetscScalar, PetscInt>((int)csr->m, (int)csr->n, (int)csr->nnz, csr->i, start, column, value, b->params, keepfrom, stream, &b->form, &b->refill);
  delete scratch;
  PetscCall(CSRCBalancedCheck(cerr, csr));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)(nnz * (sizeof(*column) + (values ? 0 : sizeof(*value))) + ((size_t)csr->m + 1) * sizeof(*start))));
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&b->cache, cudaDevAttrL2CacheSize, device));
  b->kt = CSRC_PANEL_MOST;
  while (b->kt > 2 && CSRCBalancedMatMultShared(b->form, b->kt) > (size_t)shared) b->kt /= 2;
  if (b->kt == 2 && CSRCBalancedMultTransposeShared(b->form, 2) > (size_t)shared) b->kt = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCBalancedCUDABuildWith(const AIJFormCSR *csr, const CSRCBalancedParams &params, void **data)
{
  CSRCBalancedCUDA *b;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  *data = NULL;
  PetscCheck(CSRCLayoutBalancedFits(csr), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "The balanced layout counts rows, columns and nonzeros in 31 bits; this matrix has %" PetscInt_FMT " x %" PetscInt_FMT " and %" PetscInt_FMT " nonzeros: use -mat_csrc_layout paper", csr->m, csr->n, csr->nnz);
  PetscCall(PetscNew(&b));
  b->params = params;
  ierr      = CSRCBalancedCUDAMake(b, csr, NULL, PETSC_FALSE);
  if (PetscUnlikely(ierr)) (void)CSRCBalancedCUDADestroy((void **)&b); /* the first error is the one to report */
  PetscCall(ierr);
  *data = b;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCBalancedCUDABuild(const AIJFormCSR *csr, PetscInt columns, void **data)
{
  PetscFunctionBegin;
  PetscCall(CSRCBalancedCUDABuildWith(csr, CSRCBalancedCUDAParams(columns), data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A form for dense matrices does for more columns, too, where its blocks leave room for a wider panel */
static PetscErrorCode CSRCBalancedCUDAMadeFor(const void *data, PetscInt columns, PetscBool *yes)
{
  const CSRCBalancedCUDA *b  = (const CSRCBalancedCUDA *)data;
  const int               kt = CSRCBalancedCUDAParams(columns).kt;

  PetscFunctionBegin;
  *yes = kt == 1 || (b->params.kt > 1 && b->kt >= kt) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCBalancedCUDASetValues(void *data, const AIJFormCSR *csr)
{
  CSRCBalancedCUDA *b    = (CSRCBalancedCUDA *)data;
  bool              fits = false;
  PetscScalar      *value;
  cudaStream_t      stream;
  cudaError_t       cerr;
  PetscErrorCode    ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(AIJFormDeviceMalloc("new values of the balanced CSRC form", (size_t)csr->nnz * sizeof(*value), &value));
  cerr = cudaMemcpyAsync(value, csr->a, (size_t)csr->nnz * sizeof(*value), cudaMemcpyHostToDevice, stream);
  if (cerr == cudaSuccess && b->refill.from) cerr = CSRCBalancedSetValues(&b->form, &b->refill, value, b->params.compress, stream, &fits);
  /* at the first change, and when values are to be stored in another way, the layout is made again, this time with all that refilling needs */
  if (cerr == cudaSuccess && !fits) ierr = CSRCBalancedCUDAMake(b, csr, value, PETSC_TRUE);
  if (cerr == cudaSuccess && !ierr) cerr = cudaStreamSynchronize(stream);
  (void)AIJFormDeviceFree(&value);
  PetscCall(ierr);
  PetscCall(CSRCBalancedCheck(cerr, csr));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)csr->nnz * sizeof(*value)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCBalancedCUDAApply(void *data, AIJFormOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  CSRCBalancedCUDA                    *b      = (CSRCBalancedCUDA *)data;
  const CSRCBalancedForm<PetscScalar> &f      = b->form;
  const CSRCPlaces<PetscScalar>        places = {NULL, NULL};
  constexpr bool                       COMPLEX = CSRCParts<PetscScalar> == 2;
  cudaStream_t                         stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  if (op == AIJFORM_N) PetscCallCUDA(CSRCBalancedVector(f, x, z, y, stream));
  else if (b->reproducible) {
    if (!b->repeat.sum) {
      const cudaError_t cerr = CSRCBalancedRepeatBuild(f, stream, &b->repeat);

      if (cerr == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        PetscCall(AIJFormDeviceMemoryError("the set-up of repeatable products with the transpose", (size_t)f.nnz * (sizeof(PetscScalar) + 16)));
      }
      PetscCallCUDA(cerr);
    }
    if (op == AIJFORM_T) PetscCallCUDA(CSRCBalancedTransposeVectorRepeat<false>(f, b->repeat, x, z, y, stream));
    else PetscCallCUDA(CSRCBalancedTransposeVectorRepeat<COMPLEX>(f, b->repeat, x, z, y, stream));
  } else if (op == AIJFORM_T) PetscCallCUDA(CSRCBalancedTransposeVector<false>(f, x, z, y, places, stream));
  else PetscCallCUDA(CSRCBalancedTransposeVector<COMPLEX>(f, x, z, y, places, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for n scalars of scratch, which stays with the matrix */
static PetscErrorCode CSRCBalancedCUDAGetScratch(CSRCBalancedCUDA *b, size_t n)
{
  PetscFunctionBegin;
  if (n <= b->npacked) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJFormDeviceFree(&b->packed));
  b->npacked = 0;
  PetscCall(AIJFormDeviceMalloc("scratch for products with dense matrices", n * sizeof(PetscScalar), &b->packed));
  b->npacked = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = op(A) X for K columns in panels of KT */
template <int KT>
static PetscErrorCode CSRCBalancedCUDAPanels(CSRCBalancedCUDA *b, AIJFormOp op, int K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy, cudaStream_t stream)
{
  const CSRCBalancedForm<PetscScalar> &f         = b->form;
  const size_t                         packed    = (size_t)f.n * ((K + KT - 1) / KT * KT);
  constexpr bool                       conjugate = CSRCParts<PetscScalar> == 2;

  PetscFunctionBegin;
  PetscCall(CSRCBalancedCUDAGetScratch(b, packed + (f.nsplit ? (size_t)2 * f.nblocks * K : 0)));
  if constexpr (KT == 2) {
    if (op == AIJFORM_N) PetscCallCUDA(CSRCBalancedMatMultTwo(f, X, (size_t)ldx, Y, (size_t)ldy, b->packed, b->packed + packed, stream));
    else if (op == AIJFORM_T) PetscCallCUDA((CSRCBalancedMatMultTransposeTwo<false>(f, X, (size_t)ldx, Y, (size_t)ldy, b->packed, stream)));
    else PetscCallCUDA((CSRCBalancedMatMultTransposeTwo<conjugate>(f, X, (size_t)ldx, Y, (size_t)ldy, b->packed, stream)));
  } else {
    if (op == AIJFORM_N) PetscCallCUDA(CSRCBalancedMatMult<KT>(f, K, X, (size_t)ldx, Y, (size_t)ldy, b->packed, b->packed + packed, stream));
    else if (op == AIJFORM_T) PetscCallCUDA((CSRCBalancedMatMultTranspose<KT, false>(f, K, X, (size_t)ldx, Y, (size_t)ldy, b->packed, stream)));
    else PetscCallCUDA((CSRCBalancedMatMultTranspose<KT, conjugate>(f, K, X, (size_t)ldx, Y, (size_t)ldy, b->packed, stream)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCBalancedCUDAApplyDense(void *data, AIJFormOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  CSRCBalancedCUDA *b = (CSRCBalancedCUDA *)data;
  cudaStream_t      stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  while (K > 0) {
    /* panels no wider than needed; a column that would have a panel for itself is multiplied as a vector */
    const int kt = PetscMin(K == 1 || (b->reproducible && op != AIJFORM_N) || (K == 2 && b->params.kt == 1 && op == AIJFORM_N) ? 1 : K == 2 ? 2 : K <= 4 ? 4 : K <= CSRC_PANEL_COLUMNS ? CSRC_PANEL_COLUMNS : CSRC_PANEL_MOST, b->kt);
    int       k  = (int)PetscMin(K, kt <= 2 ? kt : CSRCPackedColumns(b->form, kt, b->cache));

    if (k > kt && (kt > CSRC_PANEL_COLUMNS || k % kt == 1)) k -= k % kt;
    switch (kt) {
    case 1:
      PetscCall(CSRCBalancedCUDAApply(data, op, X, NULL, Y));
      break;
    case 2:
      PetscCall(CSRCBalancedCUDAPanels<2>(b, op, k, X, ldx, Y, ldy, stream));
      break;
    case 4:
      PetscCall(CSRCBalancedCUDAPanels<4>(b, op, k, X, ldx, Y, ldy, stream));
      break;
    case CSRC_PANEL_COLUMNS:
      PetscCall(CSRCBalancedCUDAPanels<CSRC_PANEL_COLUMNS>(b, op, k, X, ldx, Y, ldy, stream));
      break;
    default:
      PetscCall(CSRCBalancedCUDAPanels<CSRC_PANEL_MOST>(b, op, k, X, ldx, Y, ldy, stream));
    }
    K -= k;
    X += (size_t)ldx * k;
    Y += (size_t)ldy * k;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What new values need, and scratch, apart from the layout itself */
static PetscLogDouble CSRCBalancedCUDAExtra(const CSRCBalancedCUDA *b)
{
  PetscLogDouble extra = 0.0;

  if (b->refill.from) extra += (PetscLogDouble)sizeof(int) * ((PetscLogDouble)b->form.nchunks * CSRC_CHUNK + b->form.nleft);
  if (b->refill.tablebits) extra += 256.0 * 8;
  extra += CSRCBalancedRepeatBytes(b->form, b->repeat);
  extra += (PetscLogDouble)sizeof(PetscScalar) * b->npacked;
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

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "%d nonzeros in %d blocks for products with %s, %.2f bytes per nonzero on the device\n", f.nnz, f.nblocks, b->params.kt > 1 ? "dense matrices" : "vectors", CSRCBalancedBytes(f) / nnz));
  PetscCall(PetscViewerASCIIPrintf(viewer, "values %s\n", values[f.values]));
  if (detail) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "bytes per nonzero: values %.2f, accumulators %.2f, columns %.2f, heads %.2f, copies of rows %.2f, leftovers %.2f; what new values need and scratch: %.2f more\n", CSRCValueBytes<PetscScalar>(f.values) * (double)CSRC_CHUNK * f.nchunks / nnz,
                                     2.0 * CSRC_CHUNK * f.nchunks / nnz, (double)f.columnbytes / nnz, 8.0 * f.nchunks / nnz, 2.0 * f.ncopies / nnz, f.nleft * (6.0 + sizeof(PetscScalar)) / nnz, CSRCBalancedCUDAExtra(b) / nnz));
    PetscCall(PetscViewerASCIIPrintf(viewer, "nonzeros of a block in one column: %.2f on average, a lane's are %s; copies of rows %d, leftovers %d, split rows %d; columns at a time: %d\n", f.meanrun, f.order == CSRC_CONSECUTIVE ? "consecutive" : "interleaved", f.ncopies, f.nleft, f.nsplit, b->kt));
    PetscCall(PetscViewerASCIIPrintf(viewer, "A x: %d thread blocks for each block, %d domains; A^T x: %d threads%s\n", f.team, f.domains, f.tthreads, b->reproducible ? ", the same bits every time" : ""));
    if (b->tuned > 0) PetscCall(PetscViewerASCIIPrintf(viewer, "chosen by timing: A x and A^T x took %.1f us\n", b->tuned));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The layout is of use where few leftovers remain */
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

/* Microseconds of A x and A^T x together: the median of five groups of five */
static PetscErrorCode CSRCLayoutTime(const CSRCLayoutOps *ops, void *data, const AIJFormCSR *csr, PetscLogDouble *us)
{
  const size_t length = (size_t)PetscMax(csr->m, csr->n) * sizeof(PetscScalar);
  float        ms[5];
  PetscScalar *x, *y;
  cudaEvent_t  begin, end;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(AIJFormDeviceMalloc("vectors to time products with", length, &x));
  PetscCall(AIJFormDeviceMalloc("vectors to time products with", length, &y));
  PetscCallCUDA(cudaMemsetAsync(x, 0, length, stream));
  PetscCallCUDA(cudaEventCreate(&begin));
  PetscCallCUDA(cudaEventCreate(&end));
  for (int group = -1; group < 5; group++) { /* the first is to warm up */
    PetscCallCUDA(cudaEventRecord(begin, stream));
    for (int t = 0; t < 5; t++) {
      PetscCall((*ops->apply)(data, AIJFORM_N, x, NULL, y));
      PetscCall((*ops->apply)(data, AIJFORM_T, x, NULL, y));
    }
    PetscCallCUDA(cudaEventRecord(end, stream));
    PetscCallCUDA(cudaEventSynchronize(end));
    if (group >= 0) PetscCallCUDA(cudaEventElapsedTime(&ms[group], begin, end));
  }
  std::sort(ms, ms + 5);
  *us = 1000.0 * ms[2] / 5;
  PetscCallCUDA(cudaEventDestroy(begin));
  PetscCallCUDA(cudaEventDestroy(end));
  PetscCall(AIJFormDeviceFree(&x));
  PetscCall(AIJFormDeviceFree(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Builds one layout after the other and keeps the fastest: the balanced one with large and with larger blocks, in both orders, and, if asked for, the paper's */
PetscErrorCode CSRCLayoutTune(const AIJFormCSR *csr, PetscBool paper, PetscBool reproducible, const CSRCLayoutOps **ops, void **data)
{
  const CSRCBalancedParams candidates[] = {{1, CSRC_CONSECUTIVE, true, NULL, 1, 0}, {1, CSRC_INTERLEAVED, true, NULL, 1, 0}, {0.5, CSRC_CONSECUTIVE, true, NULL, 1, 0}, {0.5, CSRC_INTERLEAVED, true, NULL, 1, 0}};
  const int                ncandidates = (int)PETSC_STATIC_ARRAY_LENGTH(candidates);
  PetscLogDouble           best = PETSC_MAX_REAL;

  PetscFunctionBegin;
  *data = NULL;
  for (int c = 0; c < ncandidates + (paper ? 1 : 0); c++) {
    const CSRCLayoutOps *try_  = c < ncandidates ? &CSRCLayoutBalancedCUDA : &CSRCLayoutPaperCUDA;
    void                *trial = NULL;
    PetscLogDouble       us    = 0;

    if (c < ncandidates) {
      PetscCall(CSRCBalancedCUDABuildWith(csr, candidates[c], &trial));
      ((CSRCBalancedCUDA *)trial)->reproducible = reproducible;
    } else PetscCall((*try_->build)(csr, 1, &trial));
    PetscCall(CSRCLayoutTime(try_, trial, csr, &us));
    PetscCall(PetscInfo(NULL, "Layout %s, candidate %d: %g us\n", try_->name, c, us));
    if (us < best) {
      if (*data) PetscCall((*(*ops)->destroy)(data));
      best  = us;
      *ops  = try_;
      *data = trial;
      if (c < ncandidates) ((CSRCBalancedCUDA *)trial)->tuned = us;
    } else PetscCall((*try_->destroy)(&trial));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
