#pragma once

/*
  A second stream, for short work that would otherwise stand before or after long work on the stream of the current PetscDeviceContext. Between
  Enter and Leave the second stream is the current one; it sees all that was queued before Enter. After Join the first stream sees all that was
  queued between Enter and Leave. What is queued between Leave and Join may run at the same time. The two streams cost the host some microseconds.
*/
#include <petscsys.h>

typedef struct _n_PetscCSRCSideStream *PetscCSRCSideStream;

PETSC_INTERN PetscErrorCode PetscCSRCSideStreamCreate(PetscCSRCSideStream *);
PETSC_INTERN PetscErrorCode PetscCSRCSideStreamDestroy(PetscCSRCSideStream *);
PETSC_INTERN PetscErrorCode PetscCSRCSideStreamEnter(PetscCSRCSideStream);
PETSC_INTERN PetscErrorCode PetscCSRCSideStreamLeave(PetscCSRCSideStream); /* also after an error */
PETSC_INTERN PetscErrorCode PetscCSRCSideStreamJoin(PetscCSRCSideStream);
