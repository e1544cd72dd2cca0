#pragma once

#include <petscksp.h>

PETSC_INTERN PetscErrorCode KSPCreate_QMR(KSP);
