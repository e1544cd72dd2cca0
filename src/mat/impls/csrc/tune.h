#pragma once

/* tune.cu: chooses formats by timing products */
#include "mat/impls/aijderived/format.h"
#include "balanced/balanced.h"
#include "csrc/csrc.h"

#if defined(PETSCCSRC_HAVE_CUDA)
  #include <petscdevice_cuda.h>

  /*
    A candidate replaces the best one so far, at first the choice of the rule, only if it takes less than this fraction of the time: smaller gains might be noise
    (measurements/experiments.md, V31)
  */
  #define CSRC_TUNE_GAIN 0.98

/*
  Operands, with K columns, and events to time products with. All members must be zero before CSRCTimerCreate(); for fits see AIJPurpose.
*/
typedef struct {
  PetscInt     m, n, K;
  PetscScalar *x, *y;
  cudaEvent_t  begin, end;
} CSRCTimer;

PETSC_INTERN PetscErrorCode CSRCTimerCreate(const AIJCSR *csr, PetscInt columns, CSRCTimer *timer, PetscBool *fits);
PETSC_INTERN PetscErrorCode CSRCTimerDestroy(CSRCTimer *timer);
/*
  Microseconds of one execution of all nops products: the median of five groups. A group lasts 'group' milliseconds, or five executions if
  these take longer.
*/
PETSC_INTERN PetscErrorCode CSRCTimerRun(const CSRCTimer *timer, const AIJStored *stored, int nops, const AIJOp ops[], double group, PetscLogDouble *us);

/* csrc: whether the layout csrc is a candidate, too. stored->format stays NULL if device memory does not suffice to time any candidate. */
PETSC_INTERN PetscErrorCode CSRCTune(const AIJCSR *csr, const AIJPurpose *purpose, PetscBool csrc, AIJStored *stored);
#endif
