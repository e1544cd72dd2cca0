#pragma once

/* transpose.c: makes the CSR of A^T, whose rows are sorted by column, with at most csr->nthreads threads; as AIJPairing.transpose says */
#include "mat/impls/formats/pair/pair.h"

PETSC_INTERN PetscErrorCode BCCOOTransposeCSR(const AIJCSR *, AIJMadeCSR *);
