#pragma once

/* What tune.cu does: the choice of a format by timing */
#include "balanced/balanced.h"
#include "csrc/csrc.h"

#if defined(PETSCCSRC_HAVE_CUDA)
/* csrc: is the layout of 256 rows a candidate, too? stored->format stays NULL if the device's memory leaves no room to time any. */
PETSC_INTERN PetscErrorCode CSRCTune(const AIJCSR *csr, const AIJPurpose *purpose, PetscBool csrc, AIJStored *stored);
#endif
