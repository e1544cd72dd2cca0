#pragma once

/* The kind bccoo, for the code that registers it */
#include "mat/impls/aijderived/derived.h"

PETSC_INTERN const AIJKind  AIJKindBCCOO;
PETSC_INTERN PetscErrorCode MatCreate_SeqBCCOO(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIBCCOO(Mat);
