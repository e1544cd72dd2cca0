#pragma once

/*
  Memory on the devices of several processes of one host that all of them map (CUDA IPC), so that kernels of one process store into the memory
  of another. peermemory.c
*/
#include <petscsys.h>

#if defined(PETSCCSRC_HAVE_CUDA)
typedef struct _n_PetscCSRCPeerMemory *PetscCSRCPeerMemory;

/*
  Collective on one of PETSc's communicators: whether its processes can map memory of each other's devices, and whether some of them share a
  device. The answer is the same on all processes, and kept with the communicator. *reason says why they cannot.
*/
PETSC_INTERN PetscErrorCode PetscCSRCPeersUsable(MPI_Comm, PetscBool *usable, PetscBool *share, const char **reason);

/* Whether the processes of a communicator have been asked: the first time takes milliseconds for each of them */
PETSC_INTERN PetscErrorCode PetscCSRCPeersAsked(MPI_Comm, PetscBool *asked);

/*
  Collective. `bytes` bytes on the device of this process, set to zero, and those of the others: a piece of what is mapped for the communicator, or
  memory that is allocated and mapped. An error on one process is one on all. Destroying waits until no process uses the memory any more.
*/
PETSC_INTERN PetscErrorCode PetscCSRCPeerMemoryCreate(MPI_Comm, const char what[], size_t bytes, PetscCSRCPeerMemory *);
PETSC_INTERN PetscErrorCode PetscCSRCPeerMemoryDestroy(PetscCSRCPeerMemory *);
/* Where the memory of a process is in the addresses of this one */
PETSC_INTERN char *PetscCSRCPeerMemoryOf(PetscCSRCPeerMemory, PetscMPIInt rank);
#endif
