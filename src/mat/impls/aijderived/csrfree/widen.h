#pragma once

#include <petscsys.h>

#if defined(PETSCCSRC_HAVE_CUDA)
/* n integers on the device as PetscInt, in memory that is allocated there, on the stream of the current PetscDeviceContext */
PETSC_INTERN PetscErrorCode AIJWidenOnDevice(const int from[], PetscInt n, PetscInt **to);
#endif
