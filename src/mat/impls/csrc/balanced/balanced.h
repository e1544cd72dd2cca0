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

/* Most rows, columns and nonzeros that the layout can hold: with padding to whole chunks and thread blocks, its counts must be below 2^31 */
#define CSRC_BALANCED_MOST (2147483646 - (1 << 26))

static inline PetscBool CSRCBalancedHolds(const AIJCSR *csr)
{
  return csr->m <= CSRC_BALANCED_MOST && csr->n <= CSRC_BALANCED_MOST && csr->nnz <= CSRC_BALANCED_MOST ? PETSC_TRUE : PETSC_FALSE;
}

#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN const AIJFormat AIJFormatBalanced;
/* Whether the device has enough shared memory for the layout: *has and *needs are bytes for a thread block */
PETSC_INTERN PetscErrorCode CSRCBalancedDeviceHolds(PetscBool *holds, int *has, int *needs);
/* For stored nonzeros: whether products are expected to be faster than with the layout csrc */
PETSC_INTERN PetscErrorCode CSRCBalancedSuits(const void *data, PetscBool *suits);
#endif
