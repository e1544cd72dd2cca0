#pragma once

/* The CSR of A^T on the host */
#include "../common.h"

typedef struct {
  AIJCSR       csr; /* its arrays are those below; rows are sorted by column */
  PetscInt    *i, *j;
  PetscScalar *a;
} BCCOOTransposed;

/* With as many threads as the CSR may have. If it fails, it leaves nothing behind. */
PETSC_INTERN PetscErrorCode BCCOOTransposeCSR(const AIJCSR *, BCCOOTransposed *);
PETSC_INTERN PetscErrorCode BCCOOTransposedDestroy(BCCOOTransposed *);
