#pragma once

/* The balanced layout of CSRC on a CUDA device, as seen by the kind that chooses it. docs/balanced.md describes it, balanced.cuh its bytes. */
#include "mat/impls/aijderived/format.h"

/* What blocks are made of; either: by rule */
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
  PetscBool       single; /* values are rounded to single precision, if that leaves each with 24 bits */
} CSRCBalancedTuning;

/* Whether the layout can hold a matrix: its counts, including padding to whole chunks and thread blocks, have 31 bits */
static inline PetscBool CSRCBalancedHolds(const AIJCSR *csr)
{
  const PetscInt64 limit = 2147483647 - (1 << 26);

  return (PetscInt64)csr->m < limit && (PetscInt64)csr->n < limit && (PetscInt64)csr->nnz < limit ? PETSC_TRUE : PETSC_FALSE;
}

#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN const AIJFormat AIJFormatBalanced;
/* Whether blocks are made of columns */
PETSC_INTERN PetscErrorCode CSRCBalancedByColumns(const AIJCSR *csr, CSRCOrientation orientation, PetscBool *bycolumns);
/* Once built: whether it can be expected to be faster than the layout of 256 rows; the order of the nonzeros of a lane */
PETSC_INTERN PetscErrorCode CSRCBalancedSuits(const void *data, PetscBool *suits);
PETSC_INTERN PetscErrorCode CSRCBalancedGetOrder(const void *data, int *order);
/* Makes what a product with the same bits every time needs, if that is asked for, before the product does it; fits as in AIJPurpose */
PETSC_INTERN PetscErrorCode CSRCBalancedPrepareReproducible(void *data, PetscBool *fits);
#endif
