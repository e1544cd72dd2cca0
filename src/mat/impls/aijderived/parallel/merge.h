#pragma once

/* The rows of two blocks as one CSR, on the device and the stream of the current PetscDeviceContext */
#include "../format.h"

/*
  The blocks, and where their columns go in the merged rows: a row has the columns of o below nbefore, then those of d, then the others of o. Column k of
  d becomes column first + k, and column k of o column place[k].
*/
typedef struct {
  AIJCSR    d, o;
  PetscInt  nbefore, first;
  PetscInt *place;
} AIJBlocks;

#if defined(PETSCCSRC_HAVE_CUDA)
/*
  Blocks whose CSR is not on the device are copied there for this time. csr has sizes and row pointers on the host; it gets the CSR on the device, one
  piece of memory that begins with the values. The caller frees it.
*/
PETSC_INTERN PetscErrorCode AIJMergeRowsOnDevice(const AIJBlocks *, AIJCSR *csr);
#endif
