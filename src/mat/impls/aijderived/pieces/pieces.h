#pragma once

/* More nonzeros than a form counts, stored as several matrices of consecutive rows */
#include "../derived.h"

/* Stores nonzeros as the kind does: at once, or in pieces if there are more than the kind's getpiece() says */
PETSC_INTERN PetscErrorCode AIJPiecesBuild(const AIJKind *, const void *settings, PetscBool ondevice, const AIJPurpose *, const AIJCSR *, AIJStored *);
