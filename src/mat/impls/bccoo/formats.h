#pragma once

/*
  The formats of this folder, for the kinds that choose among them. All are on the host. Their products run in OpenMP threads, which call
  no PETSc functions; memory is allocated before the threads start. The order of every sum depends only on the number of threads for
  which the nonzeros were stored, so that products have the same bits in every run.
*/
#include "mat/impls/aijderived/format.h"

PETSC_INTERN const AIJFormat AIJFormatCSR;    /* csr/: a copy of the CSR, for comparison */
PETSC_INTERN const AIJFormat AIJFormatTuples; /* tuples/: a tuple of bytes for each nonzero */
PETSC_INTERN const AIJFormat AIJFormatSIMD;   /* simd/: short streams for vector instructions */

/* Stores the nonzeros in a format, as one copy or as two (mat/impls/formats/pair) */
PETSC_INTERN PetscErrorCode BCCOOStoredBuild(AIJStored *, const AIJFormat *, MatFormCopies, const AIJCSR *, const AIJPurpose *);
