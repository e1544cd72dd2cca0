#pragma once

/* Functions by which the library registers the kind csrccuda */
#include "mat/impls/aijderived/derived.h"

PETSC_INTERN PetscErrorCode MatCSRCCUDARegister(void);
PETSC_INTERN PetscErrorCode MatCreate_SeqCSRCCUDA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPICSRCCUDA(Mat);
