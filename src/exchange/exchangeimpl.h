#pragma once

/* Included only by the files of this folder */
#include "exchange.h"
#include "cuda/device.h"
#include "kernels.h"
#include <petscsf.h>

typedef PetscCSRCExchangeArray  ExchangeArray;
typedef PetscCSRCExchangeArrays ExchangeArrays;

/* The two sides of an exchange, as indices */
enum {
  EXCHANGE_OWN,
  EXCHANGE_GHOST
};

static inline ExchangeArray ExchangeSideOf(const ExchangeArrays *a, int side)
{
  return side == EXCHANGE_OWN ? a->own : a->ghost;
}

/* The side that is sent */
static inline int ExchangeSent(PetscCSRCDirection direction)
{
  return direction == PETSCCSRC_FORWARD ? EXCHANGE_OWN : EXCHANGE_GHOST;
}

/* Scratch, in one kind of memory */
typedef enum {
  EXCHANGE_HOST,
  EXCHANGE_PAGELOCKED, /* of the host, for kernels to read and write */
  EXCHANGE_DEVICE
} ExchangePlace;

typedef struct {
  PetscScalar  *a;
  size_t        n;
  ExchangePlace place;
} ExchangeBuffer;

/* Other processes, in the order of ranks, with a list of entries for each */
typedef struct {
  PetscMPIInt  n;
  PetscMPIInt *rank;
  PetscInt    *offset; /* n + 1 numbers: where the entries of each begin in idx */
  PetscInt    *idx;
} ExchangeNeighbours;

/*
  An implementation. The functions get arrays in the memory e->mem of this process, and at most e->width columns: exchange.c copies arrays that are in other
  memory, and makes several rounds where there are more columns, unless they are panels. A round is begun and ended before the next one.
*/
typedef struct {
  const char           *name;
  PetscCSRCExchangeType type;
  double                bytes;   /* size of a buffer for more than one column, about */
  PetscInt              columns; /* the most columns of a round */
  /* nb: who needs own entries, and who owns ghosts; none with the pattern gather, since the layout says all then. Sets e->mem, e->rows, e->data. */
  PetscErrorCode (*create)(PetscCSRCExchange, const ExchangeNeighbours nb[2]);
  PetscErrorCode (*destroy)(PetscCSRCExchange);
  /* makes room for so many columns, or if there is no memory for them for fewer; collective */
  PetscErrorCode (*widen)(PetscCSRCExchange, PetscInt *width);
  /* in reverse, own entries of the arrays are not used before End */
  PetscErrorCode (*begin)(PetscCSRCExchange, PetscCSRCDirection, const ExchangeArrays *);
  PetscErrorCode (*end)(PetscCSRCExchange, PetscCSRCDirection, const ExchangeArrays *);
  /* where a call has panels; NULL: it never has */
  PetscErrorCode (*rows)(PetscCSRCExchange, PetscInt K, PetscScalar **);
  PetscErrorCode (*panel)(PetscCSRCExchange, PetscCSRCDirection, const ExchangeArrays *, PetscInt k);
  /* appends to a description; NULL: nothing */
  PetscErrorCode (*describe)(PetscCSRCExchange, char text[], size_t len);
} ExchangeOps;

struct _n_PetscCSRCExchange {
  const ExchangeOps *ops;
  MPI_Comm           comm; /* a communicator of PETSc's, not the user's */
  PetscMPIInt        tag;  /* of messages on it */
  PetscMPIInt        size, rank;
  PetscBool          gather, overlap, ondevice;
  PetscBool          required; /* the user asked for this implementation: no other may replace it */
  PetscMPIInt        pernode;
  PetscLayout        layout;    /* of own entries */
  PetscInt           n;         /* own entries */
  PetscInt           nghost;    /* rows of a ghost array ... */
  PetscInt           stride;    /* ... and the number of them for each process, with the pattern gather */
  PetscInt           rows;      /* of a buffer; the most of all processes */
  PetscInt           width;     /* columns that buffers have room for */
  PetscInt           widest[2]; /* the most columns of a call; of a call with panels */
  PetscCSRCProcesses processes;
  PetscMemType       mem;
  ExchangeBuffer     stage[2]; /* copies of arrays that are in other memory */
  void              *data;
};

PETSC_INTERN const ExchangeOps ExchangeMPI;
#if defined(PETSC_HAVE_MPI_PROCESS_SHARED_MEMORY)
PETSC_INTERN const ExchangeOps ExchangeShared; /* pattern lists only */
/* The number of processes that share memory, this one included */
PETSC_INTERN PetscErrorCode ExchangeSharedCount(MPI_Comm, PetscInt *);
/*
  sharedmemory.c: memory of so many bytes of each process of a node, zeros at first, which all of them map; collective, with the same size. NULL, on all
  processes, if there is no such memory. Destroying is not collective.
*/
typedef struct _n_ExchangeSegments *ExchangeSegments;
PETSC_INTERN PetscErrorCode         ExchangeSegmentsCreate(MPI_Comm node, size_t bytes, ExchangeSegments *);
PETSC_INTERN PetscErrorCode         ExchangeSegmentsDestroy(ExchangeSegments *);
PETSC_INTERN void                  *ExchangeSegmentOf(ExchangeSegments, PetscMPIInt rank); /* where it is in the addresses of this process */
#endif
/*
  common.c: data of a communicator, of PETSc's or of a node: an MPI attribute, made when it is first asked for, of zeros, and freed with the communicator. The one of
  PETSC_COMM_WORLD stays until PetscFinalize(). Collective.
*/
typedef struct {
  size_t bytes;
  PetscErrorCode (*destroy)(void *data); /* frees what belongs to the data; NULL: nothing */
  PetscMPIInt keyval;                    /* MPI_KEYVAL_INVALID at first */
} ExchangeAttribute;

PETSC_INTERN PetscErrorCode ExchangeAttributeGet(ExchangeAttribute *, MPI_Comm, void *data, PetscBool *isnew);
/* Contents are lost when it grows */
PETSC_INTERN PetscErrorCode ExchangeBufferGrow(ExchangeBuffer *, size_t n);
PETSC_INTERN PetscErrorCode ExchangeBufferFree(ExchangeBuffer *);
/* A copy of integers in host or device memory */
PETSC_INTERN PetscErrorCode ExchangeIntegersCreate(PetscMemType, const PetscInt from[], PetscInt n, PetscInt **to);
PETSC_INTERN PetscErrorCode ExchangeIntegersFree(PetscMemType, PetscInt **);

/* Copies neighbours, in any order, or those that take is true for; nb has none at first. It is to be freed also after an error. */
PETSC_INTERN PetscErrorCode ExchangeNeighboursCreate(PetscMPIInt n, const PetscMPIInt rank[], const PetscInt offset[], const PetscInt idx[], const PetscBool take[], ExchangeNeighbours *nb);
/* Both sides of a PetscSF: the processes that need own entries, and the owners of ghosts, with rows of the own and of the ghost array */
PETSC_INTERN PetscErrorCode ExchangeNeighboursGet(PetscSF, ExchangeNeighbours nb[2]);
PETSC_INTERN PetscErrorCode ExchangeNeighboursFree(ExchangeNeighbours nb[2]);

/* idx[p]: the own entry, of n, that received entry p is for; those of one process are consecutive, in the order of processes */
PETSC_INTERN PetscErrorCode ExchangeSumsCreate(PetscMemType, PetscInt n, PetscInt total, const PetscInt idx[], ExchangeSums *);
PETSC_INTERN PetscErrorCode ExchangeSumsDestroy(ExchangeSums *);

#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN const ExchangeOps ExchangeNCCL, ExchangePeer;

/*
  exchange.c: collective, for processes on devices: the way that was asked for, or with auto the best one: peer, NCCL or messages of MPI. *whynot says why it is
  not the one asked for.
*/
PETSC_INTERN PetscErrorCode ExchangeChooseOnDevices(MPI_Comm, PetscCSRCExchangeType asked, PetscCSRCExchangeType *chosen, const char **whynot);
/* common.c: collective: whether each process has a device that can be used, and if so, another one than all others */
PETSC_INTERN PetscErrorCode ExchangeDevicesDiffer(MPI_Comm, PetscBool *usable, PetscBool *differ);
#endif
