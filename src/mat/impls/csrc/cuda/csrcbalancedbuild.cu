/* The balanced layout of CSRC on a CUDA device: its set-up from a CSR on the host, new values, its end. */
#include "csrcbalancedcuda.cuh"
#include "csrcbalancedmake.cuh"

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

PetscErrorCode CSRCBalancedCUDADestroy(void **data)
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
  if (cerr == cudaSuccess) cerr = CSRCBalancedMake<PetscScalar, PetscInt>((int)csr->m, (int)csr->n, (int)csr->nnz, csr->i, start, column, value, b->params, keepfrom, stream, &b->form, &b->refill);
  delete scratch;
  PetscCall(CSRCBalancedCheck(cerr, csr));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)(nnz * (sizeof(*column) + (values ? 0 : sizeof(*value))) + ((size_t)csr->m + 1) * sizeof(*start))));
  PetscCall(CSRCBalancedCUDAPrepare(b));
  PetscCall(CSRCBalancedCUDAPrepareDense(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CSRCBalancedCUDABuildWith(const AIJFormCSR *csr, const CSRCBalancedParams &params, void **data)
{
  CSRCBalancedCUDA *b;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  *data = NULL;
  PetscCheck(CSRCLayoutBalancedFits(csr), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "The balanced layout counts rows, columns and nonzeros in 31 bits; this matrix has %" PetscInt_FMT " x %" PetscInt_FMT " and %" PetscInt_FMT " nonzeros: use -mat_csrc_layout paper", csr->m, csr->n, csr->nnz);
  PetscCall(PetscNew(&b));
  b->params = params;
  b->dense  = params.kt > 1 ? PETSC_TRUE : PETSC_FALSE;
  ierr      = CSRCBalancedCUDAMake(b, csr, NULL, PETSC_FALSE);
  if (PetscUnlikely(ierr)) (void)CSRCBalancedCUDADestroy((void **)&b); /* the first error is the one to report */
  PetscCall(ierr);
  *data = b;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CSRCBalancedCUDASetValues(void *data, const AIJFormCSR *csr)
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
  if (cerr == cudaSuccess && b->refill.from) cerr = CSRCBalancedSetValues(&b->form, &b->refill, value, stream, &fits);
  /* at the first change, and when values are to be stored in another way, the layout is made again, this time with all that refilling needs */
  if (cerr == cudaSuccess && !fits) ierr = CSRCBalancedCUDAMake(b, csr, value, PETSC_TRUE);
  if (cerr == cudaSuccess && !ierr) cerr = cudaStreamSynchronize(stream);
  (void)AIJFormDeviceFree(&value);
  PetscCall(ierr);
  PetscCall(CSRCBalancedCheck(cerr, csr));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)csr->nnz * sizeof(*value)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
