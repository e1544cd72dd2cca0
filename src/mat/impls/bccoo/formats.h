#pragma once

/*
  The formats of this folder, as seen by the kinds that choose among them. All are on the host. Their products run in OpenMP threads,
  which call no PETSc functions; memory is allocated before the threads start. The order of every sum depends on the number of threads
  that there was when the nonzeros were stored and on nothing else, so that products have the same bits in every run.
*/
#include "mat/impls/aijderived/format.h"

PETSC_INTERN const AIJFormat AIJFormatCSR;    /* csr/: a copy of the CSR, to compare with */
PETSC_INTERN const AIJFormat AIJFormatCOO;    /* tuples/: rows, columns and values as they are, in chunks */
PETSC_INTERN const AIJFormat AIJFormatTuples; /* tuples/: a tuple of bytes for each nonzero */
PETSC_INTERN const AIJFormat AIJFormatSIMD;   /* simd/: short streams that vector instructions read */

/* twocopies/: of A and of A^T, in the format that is its tuning */
PETSC_INTERN const AIJFormat AIJFormatHostTwoCopies;

/* In one copy or in two */
PETSC_INTERN PetscErrorCode BCCOOStoredBuild(AIJStored *, const AIJFormat *, MatFormCopies, const AIJCSR *, const AIJPurpose *);
