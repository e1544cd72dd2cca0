#pragma once

/* Too little device memory: an error, or an answer for a caller that can do without */
#include "cuda/device.h"
#include <petscdevice_cuda.h>

/*
  Checks the result of a call that needs `bytes` bytes for `what`. If there is too little device memory: *fits = PETSC_FALSE, or, with
  fits = NULL, an error that says how many bytes are wanted and free. Any other failure is reported as CUDA's error.
*/
static inline PetscErrorCode CSRCCheckMemory(cudaError_t cerr, const char what[], size_t bytes, PetscBool *fits)
{
  PetscFunctionBegin;
  if (fits) *fits = cerr == cudaErrorMemoryAllocation ? PETSC_FALSE : PETSC_TRUE;
  if (cerr == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    if (fits) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscCSRCDeviceMemoryError(what, bytes));
  }
  PetscCallCUDA(cerr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
