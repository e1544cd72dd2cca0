#pragma once

/* The CSR of A^T on the host */
#include "../common.h"

typedef struct {
  AIJCSR       csr; /* its arrays are the members below; rows are sorted by column */
  PetscInt    *i, *j;
  PetscScalar *a;
} BCCOOTransposed;

/* Uses at most csr->nthreads threads. If it fails, nothing stays allocated. */
PETSC_INTERN PetscErrorCode BCCOOTransposeCSR(const AIJCSR *, BCCOOTransposed *);
PETSC_INTERN PetscErrorCode BCCOOTransposedDestroy(BCCOOTransposed *);
