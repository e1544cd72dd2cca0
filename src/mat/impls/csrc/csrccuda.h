#pragma once

/* The kind csrccuda, as seen by what registers it */
#include "mat/impls/aijderived/derived.h"

PETSC_INTERN PetscErrorCode MatCSRCCUDARegister(void);
PETSC_INTERN PetscErrorCode MatCreate_SeqCSRCCUDA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPICSRCCUDA(Mat);
