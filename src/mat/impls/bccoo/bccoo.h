#pragma once

/* The kind bccoo, as seen by what registers it */
#include "mat/impls/aijderived/derived.h"

PETSC_INTERN const AIJKind  AIJKindBCCOO;
PETSC_INTERN PetscErrorCode MatCreate_SeqBCCOO(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIBCCOO(Mat);
