#pragma once

/*
  The balanced layout of CSRC on a CUDA device: its interface for the kind csrccuda. docs/balanced.md describes the layout, balanced.cuh its
  data.
*/
#include "mat/impls/aijderived/format.h"

/* Whether blocks consist of rows or of columns; CSRC_EITHER: a rule chooses */
typedef enum {
  CSRC_EITHER,
  CSRC_ROWS,
  CSRC_COLUMNS
} CSRCOrientation;

/* What AIJPurpose.tuning points to */
typedef struct {
  CSRCOrientation orientation;
  int             order;   /* order of the nonzeros of a lane, a CSRCOrder; -1: a rule chooses */
  int             cluster; /* number of thread blocks that share a block in products with one vector: 1 or 2; 0: a rule chooses */
  PetscBool       single;  /* whether values are rounded to single precision, if that keeps 24 bits of each */
} CSRCBalancedTuning;

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
/* Whether the blocks of the layout for this matrix consist of columns */
PETSC_INTERN PetscErrorCode CSRCBalancedByColumns(const AIJCSR *csr, CSRCOrientation orientation, PetscBool *bycolumns);
/* For stored nonzeros: whether products are expected to be faster than with the layout csrc; what rules have chosen, as in CSRCBalancedTuning */
PETSC_INTERN PetscErrorCode CSRCBalancedSuits(const void *data, PetscBool *suits);
PETSC_INTERN PetscErrorCode CSRCBalancedGetChoice(const void *data, int *order, int *cluster);
/* Allocates and computes what a reproducible product needs, if such products are requested; for fits see AIJPurpose */
PETSC_INTERN PetscErrorCode CSRCBalancedPrepareReproducible(void *data, PetscBool *fits);
#endif
