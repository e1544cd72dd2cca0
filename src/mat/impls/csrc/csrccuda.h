#pragma once

#include "mat/impls/aijderived/derived.h"

PETSC_INTERN const AIJKind  AIJKindCSRCCUDA;
PETSC_INTERN PetscErrorCode MatCreate_SeqCSRCCUDA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPICSRCCUDA(Mat);
