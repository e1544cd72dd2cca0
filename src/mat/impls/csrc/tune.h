#pragma once

/* tune.cu: formats are chosen by timing products */
#include "mat/impls/aijderived/format.h"
#include "balanced/balanced.h"
#include "csrc/csrc.h"

#if defined(PETSCCSRC_HAVE_CUDA)
  #include <petscdevice_cuda.h>

  /* What takes the place of a rule's choice must take less than this times as long: smaller gains might be noise (measurements/experiments.md, V31) */
  #define CSRC_TUNE_GAIN 0.98

/* What products are timed with; all zero before CSRCTimerCreate(), for operands of so many columns; fits as in AIJPurpose */
typedef struct {
  PetscInt     m, n, K;
  PetscScalar *x, *y;
  cudaEvent_t  begin, end;
} CSRCTimer;

PETSC_INTERN PetscErrorCode CSRCTimerCreate(const AIJCSR *csr, PetscInt columns, CSRCTimer *timer, PetscBool *fits);
PETSC_INTERN PetscErrorCode CSRCTimerDestroy(CSRCTimer *timer);
/* Microseconds of some products together: the median of five groups of so many milliseconds each, or of five times all of them if these take longer */
PETSC_INTERN PetscErrorCode CSRCTimerRun(const CSRCTimer *timer, const AIJStored *stored, int nops, const AIJOp ops[], double group, PetscLogDouble *us);

/* csrc: is the layout of 256 rows a candidate, too? stored->format stays NULL if the device's memory leaves no room to time any. */
PETSC_INTERN PetscErrorCode CSRCTune(const AIJCSR *csr, const AIJPurpose *purpose, PetscBool csrc, AIJStored *stored);
#endif
