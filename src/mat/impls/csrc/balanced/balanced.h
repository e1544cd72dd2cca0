#pragma once

/* The balanced layout of CSRC on a CUDA device: interface for the kind that chooses it. docs/balanced.md describes the layout, balanced.cuh its data. */
#include "mat/impls/aijderived/format.h"

/* Whether blocks consist of rows or columns; either: chosen by rule */
typedef enum {
  CSRC_EITHER,
  CSRC_ROWS,
  CSRC_COLUMNS
} CSRCOrientation;

/* AIJPurpose.tuning */
typedef struct {
  CSRCOrientation orientation;
  int             order;  /* of the nonzeros of a lane, CSRCOrder; -1: by rule */
  double          persm;  /* blocks for each multiprocessor, at least; less than 1: several thread blocks work on each */
  PetscBool       single; /* values are rounded to single precision if that keeps 24 bits of each */
} CSRCBalancedTuning;

/* Whether the layout can hold a matrix: its counts, with padding to whole chunks and thread blocks, must be below 2^31 */
static inline PetscBool CSRCBalancedHolds(const AIJCSR *csr)
{
  const PetscInt64 limit = 2147483647 - (1 << 26);

  return (PetscInt64)csr->m < limit && (PetscInt64)csr->n < limit && (PetscInt64)csr->nnz < limit ? PETSC_TRUE : PETSC_FALSE;
}

#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN const AIJFormat AIJFormatBalanced;
/* Whether blocks consist of columns */
PETSC_INTERN PetscErrorCode CSRCBalancedByColumns(const AIJCSR *csr, CSRCOrientation orientation, PetscBool *bycolumns);
/* For a built layout: whether it is expected to be faster than the layout csrc; the order of the nonzeros of a lane */
PETSC_INTERN PetscErrorCode CSRCBalancedSuits(const void *data, PetscBool *suits);
PETSC_INTERN PetscErrorCode CSRCBalancedGetOrder(const void *data, int *order);
/* Makes in advance what a reproducible product needs, if requested; fits as in AIJPurpose */
PETSC_INTERN PetscErrorCode CSRCBalancedPrepareReproducible(void *data, PetscBool *fits);
#endif
