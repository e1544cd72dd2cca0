#pragma once

#include "csrclayout.h"

PETSC_INTERN const AIJFormClass AIJFormCSRCCUDA;
PETSC_INTERN PetscErrorCode     MatCreate_SeqCSRCCUDA(Mat);
PETSC_INTERN PetscErrorCode     MatCreate_MPICSRCCUDA(Mat);
