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

/* (Re)makes the layout of b from the CSR on the host; value is already on the device, or NULL */
static PetscErrorCode CSRCBalancedCUDAMake(CSRCBalancedCUDA *b, const AIJFormCSR *csr, const PetscScalar *value, PetscBool keepfrom)
{
  cudaStream_t stream;
  CSRCArrays   arrays;
  PetscInt    *start, *column;
  PetscScalar *copy;
  char        *memory;
  const size_t nnz = (size_t)csr->nnz, nstarts = (size_t)csr->m + 1;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallCUDA(CSRCBalancedFree(&b->form, &b->refill));
  PetscCallCUDA(CSRCBalancedRepeatFree(&b->repeat));
  CSRCScratch scratch(stream);
  arrays.add(&start, nstarts);
  arrays.add(&column, nnz);
  if (!value) arrays.add(&copy, nnz);
  PetscCall(CSRCBalancedCheck(arrays.get(scratch, &memory), csr));
  PetscCall(AIJFormDeviceUpload(start, csr->i, nstarts * sizeof(*start)));
  PetscCall(AIJFormDeviceUpload(column, csr->j, nnz * sizeof(*column)));
  if (!value) PetscCall(AIJFormDeviceUpload(copy, csr->a, nnz * sizeof(*copy)));
  PetscCall(CSRCBalancedCheck(CSRCBalancedMake<PetscScalar, PetscInt>((int)csr->m, (int)csr->n, (int)csr->nnz, csr->i, start, column, value ? value : copy, b->params, keepfrom, stream, &b->form, &b->refill), csr));
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

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  CSRCScratch scratch(stream);
  PetscCall(CSRCBalancedCheck(scratch.get(&value, (size_t)csr->nnz), csr));
  PetscCall(AIJFormDeviceUpload(value, csr->a, (size_t)csr->nnz * sizeof(*value)));
  if (b->refill.from) PetscCall(CSRCBalancedCheck(CSRCBalancedSetValues(&b->form, &b->refill, value, stream, &fits), csr));
  /* at the first change, and when values are to be stored in another way, the layout is made again, this time with all that refilling needs */
  if (!fits) PetscCall(CSRCBalancedCUDAMake(b, csr, value, PETSC_TRUE));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
