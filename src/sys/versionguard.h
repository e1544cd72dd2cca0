#pragma once

#include <petscsys.h>

PETSC_INTERN PetscErrorCode PetscCSRCCheckPETSc(void);
