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
  PetscInt             columns; /* forms are made for products of so many */
  PetscInt             suited;  /* columns multiplied since then of such products, less those of wider ones */
} CSRC;

/* csrcsettings.c */
PETSC_INTERN PetscErrorCode CSRCSetFromOptions(Mat, void *, PetscOptionItems);
PETSC_INTERN PetscErrorCode CSRCCompose(Mat, PetscBool);
