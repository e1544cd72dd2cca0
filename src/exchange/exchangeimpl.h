#pragma once

/* Shared only by the files of this folder */
#include "exchange.h"
#include "cuda/device.h"
#include <petscsf.h>

typedef struct {
  PetscScalar *a;
  PetscInt     ld; /* columns are so far apart */
  PetscMemType mem;
} ExchangeArray;

/* Arrays of a call: rows of own entries, which are only read in forward, and of ghost entries, K columns */
typedef struct {
  PetscInt      K;
  ExchangeArray own, ghost;
} ExchangeArrays;

typedef struct {
  const char *name;
  /* sf: own entries are its roots, ghost entries its leaves */
  PetscErrorCode (*create)(PetscCSRCExchange, PetscSF sf);
  PetscErrorCode (*destroy)(PetscCSRCExchange);
  /* room for K columns: collective, and what is allocated is allocated here */
  PetscErrorCode (*prepare)(PetscCSRCExchange, const ExchangeArrays *);
  PetscErrorCode (*forwardbegin)(PetscCSRCExchange, const ExchangeArrays *);
  PetscErrorCode (*forwardend)(PetscCSRCExchange, const ExchangeArrays *);
  PetscErrorCode (*reversebegin)(PetscCSRCExchange, InsertMode, const ExchangeArrays *);
  PetscErrorCode (*reverseend)(PetscCSRCExchange, InsertMode, const ExchangeArrays *);
  /* adds to a description */
  PetscErrorCode (*describe)(PetscCSRCExchange, char text[], size_t len);
} ExchangeOps;

struct _n_PetscCSRCExchange {
  const ExchangeOps *ops;
  MPI_Comm           comm; /* PETSc's own */
  PetscMPIInt        size, rank;
  PetscBool          gather, reproducible, overlap, anydevice; /* anydevice: of any process */
  PetscBool          required;                                 /* no other implementation will do */
  PetscMPIInt        pernode;
  PetscInt           n;                   /* own entries */
  PetscInt           nghost;              /* rows of a ghost array ... */
  PetscInt           stride;              /* ... of which each process has so many, with the pattern gather */
  PetscInt           N;                   /* of all processes */
  PetscInt           widest;              /* columns that there is room for */
  PetscInt           mostghosts, mostnbs; /* ghosts and neighbours of the process that has most */
  void              *data;
};

PETSC_INTERN const ExchangeOps ExchangeSF;
#if defined(PETSC_HAVE_MPI_PROCESS_SHARED_MEMORY)
PETSC_INTERN const ExchangeOps ExchangeShared;
/* How many processes share memory with this one */
PETSC_INTERN PetscErrorCode ExchangeSharedCount(MPI_Comm, PetscInt *);
#endif
/* m rows of n columns, in any memory; waits for copies from and to the host */
PETSC_INTERN PetscErrorCode ExchangeCopy(PetscInt m, PetscInt n, ExchangeArray from, ExchangeArray to);
/* The same for own entries and for ghosts, unless the arrays are the same */
PETSC_INTERN PetscErrorCode ExchangeCopyOwn(PetscCSRCExchange, const ExchangeArrays *from, const ExchangeArrays *to);
PETSC_INTERN PetscErrorCode ExchangeCopyGhosts(PetscCSRCExchange, const ExchangeArrays *from, const ExchangeArrays *to);
/* Neighbours and their entries, as PetscSF gives them, in the order of processes: frees are PetscFree2(rank, offset) and PetscFree(idx) */
PETSC_INTERN PetscErrorCode ExchangeSortNeighbours(PetscMPIInt n, const PetscMPIInt rank[], const PetscInt offset[], const PetscInt idx[], PetscMPIInt **sortedrank, PetscInt **sortedoffset, PetscInt **sortedidx);

#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN const ExchangeOps ExchangeNCCL;
#endif
