#pragma once

/* Settings of a bccoo matrix: settings.c has options, setters and getters; bccoo.c chooses a format by them */
#include "mat/impls/aijderived/derived.h"

typedef struct {
  MatBCCOOCompression compression;
  MatFormCopies       copies;
} BCCOOSettings;

PETSC_INTERN const BCCOOSettings BCCOODefaults;
PETSC_INTERN const AIJComposed   BCCOOSetters[];
PETSC_INTERN PetscErrorCode      BCCOOSetFromOptions(Mat, const void *, PetscOptionItemsArg);
