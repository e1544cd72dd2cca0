#pragma once

/* What a csrccuda matrix is told and what it has: for csrccuda.c, which makes the form, and csrcsettings.c */
#include "csrclayout.h"

typedef struct {
  /* settings */
  MatCSRCLayout      layout;
  MatCSRCBlocking    blocking;
  MatCSRCOrientation orientation;
  PetscBool          requiredevice;
  PetscBool          autotune;
  PetscBool          reproducible;
  /* the form, if built */
  const CSRCLayoutOps *ops;
  void                *data;
  PetscLogDouble       tuned;   /* microseconds of A x and A^T x if timing chose it, otherwise 0 */
  PetscInt             columns; /* most of any product so far: forms are made for so many from then on */
} CSRC;

/* csrcsettings.c */
PETSC_INTERN PetscErrorCode CSRCSetFromOptions(Mat, void *, PetscOptionItems);
PETSC_INTERN PetscErrorCode CSRCCompose(Mat, PetscBool);
