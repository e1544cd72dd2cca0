#pragma once

/*
  The balanced layout of CSRC on a CUDA device: its interface for the kind csrccuda. docs/balanced.md describes the layout, balanced.cuh its
  data.
*/
#include "mat/impls/aijderived/format.h"

/* What AIJPurpose.tuning points to: whether blocks consist of rows or of columns. If it is NULL, a rule chooses. */
typedef enum {
  CSRC_ROWS,
  CSRC_COLUMNS
} CSRCOrientation;

/* Whether the layout can hold a matrix: its counts, with padding to whole chunks and thread blocks, must be below 2^31 */
static inline PetscBool CSRCBalancedHolds(const AIJCSR *csr)
{
  const PetscInt64 limit = 2147483647 - (1 << 26);

  return (PetscInt64)csr->m < limit && (PetscInt64)csr->n < limit && (PetscInt64)csr->nnz < limit ? PETSC_TRUE : PETSC_FALSE;
}

#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN const AIJFormat AIJFormatBalanced;
/* Whether the device has enough shared memory for the layout: *has and *needs are bytes for a thread block */
PETSC_INTERN PetscErrorCode CSRCBalancedDeviceHolds(PetscBool *holds, int *has, int *needs);
/* For stored nonzeros: whether products are expected to be faster than with the layout csrc */
PETSC_INTERN PetscErrorCode CSRCBalancedSuits(const void *data, PetscBool *suits);
#endif
