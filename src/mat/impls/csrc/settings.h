#pragma once

/* The settings of a csrccuda matrix. settings.c has options, setters and getters; csrccuda.c chooses a format by the settings. */
#include "mat/impls/aijderived/derived.h"

typedef struct {
  MatCSRCLayout layout;
  PetscBool     requiredevice;
  PetscBool     reproducible;
  MatFormCopies copies;
} CSRCSettings;

PETSC_INTERN const CSRCSettings CSRCDefaults;
PETSC_INTERN const AIJComposed  CSRCSetters[];
PETSC_INTERN PetscErrorCode     CSRCSetFromOptions(Mat, const void *, PetscOptionItemsArg);
