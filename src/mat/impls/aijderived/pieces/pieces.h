#pragma once

/* More nonzeros than a form counts, stored as several matrices of consecutive rows */
#include "../derived.h"

/* Stores nonzeros as the kind does: at once, or in pieces if there are more than the kind's getpiece() says */
PETSC_INTERN PetscErrorCode AIJPiecesBuild(const AIJKind *, const void *settings, PetscBool ondevice, const AIJPurpose *, const AIJCSR *, AIJStored *);
#if defined(PETSCCSRC_HAVE_CUDA)
/* add.cu: Y += S on the device, K columns of n entries, side by side in S */
PETSC_INTERN PetscErrorCode AIJAddColumns(PetscInt n, PetscInt K, const PetscScalar *S, PetscScalar *Y, PetscInt ldy);
#endif
