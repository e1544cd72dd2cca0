#pragma once

/* What matrices with aijcusparse underneath do on the device by kernels of ours, on the stream of the current PetscDeviceContext */
#include "../format.h"

#if defined(PETSCCSRC_HAVE_CUDA)
/*
  The pattern of A^T from a CSR on the device, as host arrays for the caller to free, unless i and j are NULL: none come back then. Nonzero
  k of A^T stands at place[k] in the CSR of A, an array on the device for the caller to free. *fits is PETSC_FALSE, and nothing is made,
  if the device's memory does not suffice, or if A is too large for such places.
*/
PETSC_INTERN PetscErrorCode AIJTransposePattern(const AIJCSR *csr, PetscInt **i, PetscInt **j, int **place, PetscBool *fits);
/* to[k] = from[place[k]], all on the device */
PETSC_INTERN PetscErrorCode AIJGather(PetscInt n, const int place[], const PetscScalar from[], PetscScalar to[]);
/* Adds *a, which is on the host, or, if a is NULL, row by row an entry of d to the diagonal of a CSR on the device, or puts it there. All diagonal entries must exist. */
PETSC_INTERN PetscErrorCode AIJChangeDiagonal(PetscInt m, const PetscInt i[], const PetscInt j[], const PetscScalar *a, const PetscScalar d[], InsertMode mode, PetscScalar values[]);
#endif
