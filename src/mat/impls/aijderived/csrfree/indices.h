#pragma once

#include <petscsys.h>

/* What is wrong with a column: the nonzero, its column, how many there are */
#define AIJ_COLUMN_RANGE "Nonzero %" PetscInt_FMT " has column %" PetscInt_FMT ", there are %" PetscInt_FMT " columns"

#if defined(PETSCCSRC_HAVE_CUDA)
/* On the stream of the current PetscDeviceContext. n integers on the device as PetscInt, in memory that is allocated there */
PETSC_INTERN PetscErrorCode AIJWidenOnDevice(const int from[], PetscInt n, PetscInt **to);
/* Whether the columns of nnz nonzeros, on the device, are from 0 to n - 1; waits for the answer */
PETSC_INTERN PetscErrorCode AIJCheckColumnsOnDevice(const PetscInt j[], PetscInt nnz, PetscInt n);
#endif
