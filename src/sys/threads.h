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
/* The number of processes of this node, as far as it is known: see threads.c */
PETSC_INTERN int PetscCSRCGetNumProcesses(void);
/* team.c: how the threads begin and wait. Called before the first region of n threads: starts them, each on a core of its own if there are enough */
PETSC_INTERN PetscErrorCode PetscCSRCThreadsSpread(int n);
/*
  Lets the n threads of a team, which will be used again and again, sleep between regions: if OpenBLAS has threads that need the same cores, or, with busy,
  since other threads have been seen to need them
*/
PETSC_INTERN PetscErrorCode PetscCSRCThreadsYield(int n, PetscBool busy);
/* Called when the library is finalized */
PETSC_INTERN PetscErrorCode PetscCSRCThreadsFinalize(void);
