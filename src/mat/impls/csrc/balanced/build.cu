/* The balanced layout of CSRC on a CUDA device: set-up from a CSR, new values, destruction. */
#include "balancedimpl.cuh"
#include "mat/impls/csrc/balanced/setup/setup.cuh"
#include "cuda/csrtranspose.cuh"
#include "cuda/memory.cuh"

PetscErrorCode CSRCBalancedCUDADestroy(void **data)
{
  CSRCBalancedCUDA *b = (CSRCBalancedCUDA *)*data;

  PetscFunctionBegin;
  if (!b) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(CSRCBalancedFree(&b->A, &b->refill));
  PetscCall(PetscCSRCDeviceFree(&b->packed));
  PetscCall(PetscCSRCDeviceFree(&b->sums));
  PetscCall(PetscFree(*data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A matrix with so many times as many columns as rows is wide. Half of the rows of a square matrix, on one of two processes, are not: with blocks of columns their
  A x, which then adds to memory, would take longer than that of all rows on one device (G19).
*/
#define WIDE 2.01

/*
  Whether blocks are better made of columns. With blocks of rows, A^T u adds to memory once for each run of equal columns in a block; with
  blocks of columns, A x adds once for each run of equal rows, and these runs are longer in a wide matrix. Blocks are also made of columns
  if a row is too heavy for one block and no column is.
*/
static PetscErrorCode CSRCBalancedByColumns(const AIJCSR *csr, const CSRCOrientation *given, PetscBool *bycolumns)
{
  PetscInt        row = 0, column = 0, *count, *copy = NULL; /* nonzeros of the heaviest row and column */
  const PetscInt *j = csr->j;
  int             device, sms;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  *bycolumns = given && *given == CSRC_COLUMNS ? PETSC_TRUE : PETSC_FALSE;
  if (given) PetscFunctionReturn(PETSC_SUCCESS);
  if (csr->n > WIDE * csr->m || csr->m > WIDE * csr->n) {
    *bycolumns = csr->n > csr->m ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  for (PetscInt i = 0; i < csr->m; i++) row = PetscMax(row, csr->i[i + 1] - csr->i[i]);
  if (row <= csr->nnz / sms) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc1(csr->n, &count));
  ierr = PetscCSRCHostCopy(j ? NULL : csr->device.j, (size_t)csr->nnz, sizeof(*j), &copy);
  if (!j) j = copy;
  for (PetscInt k = 0; k < csr->nnz && !ierr; k++) column = PetscMax(column, ++count[j[k]]);
  PetscCall(PetscFree(count));
  PetscCall(PetscFree(copy));
  PetscCall(ierr);
  *bycolumns = column <= csr->nnz / sms ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Makes the layout of b from a CSR on the device. scratch holds those parts of the CSR that were uploaded, and nothing else; it is freed as
  soon as A^T has been made from them.
*/
static cudaError_t CSRCBalancedCUDAMakeFrom(CSRCBalancedCUDA *b, const AIJCSR *csr, const PetscInt *start, const PetscInt *column, const PetscScalar *value, PetscBool keepfrom, CSRCScratch &scratch)
{
  const int  m = (int)csr->m, n = (int)csr->n, nnz = (int)csr->nnz;
  const auto compose = [&](size_t count, const int *place, int *from) {
    CSRCComposeKernel<<<(unsigned)((count + 255) / 256), 256, 0, scratch.stream>>>(count, place, from);
    return cudaGetLastError();
  };

  if (!b->bycolumns) return CSRCBalancedMake(CSRCSource<PetscScalar, PetscInt>{m, n, nnz, csr->i, start, column, value}, b->params, keepfrom, scratch.stream, &b->A, &b->refill);

  CSRCTransposed<PetscScalar, PetscInt> t;
  CSRCScratch                           transposed(scratch.stream);
  CSRCTry(CSRCTransposeCSR(m, n, nnz, start, column, value, transposed, &t));
  scratch.clear();
  CSRCTry(CSRCBalancedMake(CSRCSource<PetscScalar, PetscInt>{n, m, nnz, t.hoststart.data(), t.start, t.column, t.value}, b->params, keepfrom, scratch.stream, &b->A, &b->refill));
  if (keepfrom) CSRCTry(compose((size_t)b->A.nchunks * CSRC_CHUNK, t.place, b->refill.from));
  if (keepfrom && b->A.noverflow) CSRCTry(compose((size_t)b->A.noverflow, t.place, b->refill.overflowfrom));
  return cudaSuccess;
}

/* Makes the layout of b, for the first time or again. Parts of the CSR that are only on the host are copied to the device for this time. */
static PetscErrorCode CSRCBalancedCUDAMake(CSRCBalancedCUDA *b, const AIJCSR *csr, PetscBool keepfrom)
{
  cudaStream_t stream;
  cudaError_t  cerr;
  CSRCArrays   arrays;
  PetscInt    *start = NULL, *column = NULL;
  PetscScalar *value = NULL;
  char        *memory;
  const size_t nnz = (size_t)csr->nnz, nstarts = (size_t)csr->m + 1;
  const size_t wanted = nnz * (2 * sizeof(PetscScalar) + 2 * sizeof(PetscInt) + 24); /* the CSR, two arrays of keys and of places, room to sort, and the layout */

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallCUDA(CSRCBalancedFree(&b->A, &b->refill));
  CSRCScratch scratch(stream);
  if (!csr->device.i) arrays.add(&start, nstarts);
  if (!csr->device.j) arrays.add(&column, nnz);
  if (!csr->device.a) arrays.add(&value, nnz);
  cerr = arrays.bytes ? arrays.get(scratch, &memory) : cudaSuccess;
  if (cerr == cudaSuccess) {
    if (start) PetscCall(PetscCSRCDeviceUpload(start, csr->i, nstarts * sizeof(*start)));
    if (column) PetscCall(PetscCSRCDeviceUpload(column, csr->j, nnz * sizeof(*column)));
    if (value) PetscCall(PetscCSRCDeviceUpload(value, csr->a, nnz * sizeof(*value)));
    cerr = CSRCBalancedCUDAMakeFrom(b, csr, start ? start : csr->device.i, column ? column : csr->device.j, value ? value : csr->device.a, keepfrom, scratch);
  }
  PetscCall(CSRCCheckMemory(cerr, "the set-up of the balanced layout", wanted, NULL));
  PetscCall(CSRCBalancedCUDAPrepare(b));
  PetscCall(CSRCBalancedCUDAPrepareDense(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parameters chosen by rule for products with this many columns */
static CSRCBalancedParams CSRCBalancedCUDAParams(PetscInt columns)
{
  CSRCBalancedParams params = {0, -1, true, NULL, 1};
  int                panel  = 1;

  if (columns >= AIJ_DENSE_COLUMNS) {
    panel     = columns <= CSRC_PANEL_FEW ? CSRC_PANEL_FEW : columns < 2 * CSRC_PANEL_COLUMNS ? CSRC_PANEL_COLUMNS : CSRC_PANEL_MOST;
    params.kt = panel == CSRC_PANEL_FEW ? CSRC_PANEL_FEW_ROOM : panel;
  }
  params.bankrows  = 128 / (panel * (int)sizeof(PetscScalar));
  params.splitfrom = CSRC_SPLIT_FROM;
  params.pairfrom  = CSRC_PAIR_FROM;
  return params;
}

/* A^T u with 512 threads, a table, and a few hundred accumulators, as CSRCChooseShape() counts them */
PetscErrorCode CSRCBalancedDeviceHolds(PetscBool *holds, int *has, int *needs)
{
  CSRCBalancedMatrix<PetscScalar> A = {};
  int                             device;

  PetscFunctionBegin;
  A.accumulators = 512;
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetAttribute(has, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  *needs = (int)(CSRC_SHARED_FIXED + CSRCSharedBytes<CSRCTransposeShared<PetscScalar>>(A, CSRC_VALUES_TABLE, 512 / 32));
  *holds = *has >= *needs ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CSRCBalancedCUDABuild(const AIJCSR *csr, const AIJPurpose *purpose, void **data)
{
  CSRCBalancedCUDA *b;
  PetscBool         holds;
  int               has, needs;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  *data = NULL;
  PetscCall(CSRCBalancedDeviceHolds(&holds, &has, &needs));
  PetscCheck(holds, PETSC_COMM_SELF, PETSC_ERR_SUP, "The balanced layout needs %d bytes of shared memory for a thread block, of which this device has %d: use -mat_csrc_layout csrc", needs, has);
  PetscCheck(CSRCBalancedHolds(csr), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "The balanced layout counts rows, columns and nonzeros, padded, in 31 bits; this matrix has %" PetscInt_FMT " x %" PetscInt_FMT " and %" PetscInt_FMT " nonzeros: use -mat_csrc_layout csrc", csr->m, csr->n, csr->nnz);
  PetscCall(PetscNew(&b));
  b->params = CSRCBalancedCUDAParams(purpose->columns);
  ierr      = CSRCBalancedByColumns(csr, (const CSRCOrientation *)purpose->tuning, &b->bycolumns);
  if (!ierr) ierr = CSRCBalancedCUDAMake(b, csr, PETSC_FALSE);
  if (PetscUnlikely(ierr)) (void)CSRCBalancedCUDADestroy((void **)&b); /* the first error is the one to report */
  PetscCall(ierr);
  *data = b;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A layout made for dense matrices also serves more columns than it was made for if its row blocks leave room for a wider panel */
PetscErrorCode CSRCBalancedCUDAMadeFor(const void *data, const AIJPurpose *purpose, PetscBool *yes)
{
  const CSRCBalancedCUDA *b  = (const CSRCBalancedCUDA *)data;
  const int               kt = CSRCBalancedCUDAParams(purpose->columns).kt;

  PetscFunctionBegin;
  *yes = kt == 1 || (b->params.kt > 1 && (b->params.kt >= kt || b->kt >= kt)) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CSRCBalancedCUDASetValues(void *data, const AIJCSR *csr)
{
  CSRCBalancedCUDA *b    = (CSRCBalancedCUDA *)data;
  const size_t      nnz  = (size_t)csr->nnz;
  AIJCSR            with = *csr; /* the same CSR, with values on the device */
  bool              fits = false;
  PetscScalar      *value;
  cudaStream_t      stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  CSRCScratch scratch(stream);
  if (!csr->device.a) {
    PetscCall(CSRCCheckMemory(scratch.get(&value, nnz), "new values of the balanced layout", nnz * sizeof(*value), NULL));
    PetscCall(PetscCSRCDeviceUpload(value, csr->a, nnz * sizeof(*value)));
    with.device.a = value;
  }
  if (b->refill.from) PetscCall(CSRCCheckMemory(CSRCBalancedSetValues(&b->A, &b->refill, with.device.a, stream, &fits), "counting the new values of the balanced layout", sizeof(CSRCValuesFound), NULL));
  /* at the first change, and if values must be stored in another way, the layout is made again, with the places that new values need */
  if (!fits) PetscCall(CSRCBalancedCUDAMake(b, &with, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
