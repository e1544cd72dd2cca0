#pragma once

/* Settings and form of a csrccuda matrix: for csrccuda.c, which makes the form, and settings.c */
#include "layout.h"

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
  PetscInt             columns; /* columns of the products that the form is made for, unless blocking decides */
  PetscInt             suited;  /* columns of such products since then, at most CSRC_COLUMNS_COUNTED, less those of wider products */
} CSRC;

/* settings.c */
PETSC_INTERN PetscErrorCode CSRCSetFromOptions(Mat, void *, PetscOptionItems);
PETSC_INTERN PetscErrorCode CSRCCompose(Mat, PetscBool);
