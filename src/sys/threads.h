#pragma once

#include <petscsys.h>

/*
  threads.c: how many OpenMP threads the library takes on the host. Whatever opens a parallel region asks here, not OpenMP; a
  form asks once, when it is built, and keeps the number, which its sums are cut by.
*/

/* Called when the library is loaded, before the others */
PETSC_INTERN PetscErrorCode PetscCSRCThreadsInitialize(void);
/* Collective: called where a communicator's processes meet, it counts, once, who shares cores, if they are all of PETSC_COMM_WORLD */
PETSC_INTERN PetscErrorCode PetscCSRCThreadsMeet(MPI_Comm);
/* The present number; *from, which may be NULL, says in a few words where it comes from */
PETSC_INTERN int PetscCSRCGetNumThreads(const char **from);
