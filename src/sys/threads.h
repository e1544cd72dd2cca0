#pragma once

#include <petscsys.h>

/*
  threads.c: the number of OpenMP threads that the library uses on the host. Code that opens a parallel region asks here, not
  OpenMP. A stored form asks once, when it is built, and keeps the number, since its work and its sums are cut by it.
*/

/* Called when the library is loaded, before the functions below */
PETSC_INTERN PetscErrorCode PetscCSRCThreadsInitialize(void);
/* Collective. Finds out, once, which processes share cores. Does nothing on a communicator without all processes of PETSC_COMM_WORLD */
PETSC_INTERN PetscErrorCode PetscCSRCThreadsMeet(MPI_Comm);
/* The present number. from may be NULL; *from says in a few words where the number comes from */
PETSC_INTERN int PetscCSRCGetNumThreads(const char **from);
