#pragma once

/* Included only by the files of this folder */
#include "exchange.h"
#include "cuda/device.h"
#include <petscsf.h>

typedef struct {
  PetscScalar *a;
  PetscInt     ld; /* leading dimension */
  PetscMemType mem;
} ExchangeArray;

/* Arrays of a call, K columns each: own entries, which forward only reads, and ghost entries */
typedef struct {
  PetscInt      K;
  ExchangeArray own, ghost;
} ExchangeArrays;

typedef struct {
  const char *name;
  double      message, byte; /* on devices, seconds for each further neighbour, and for each byte; both 0: not made for devices */
  PetscBool   queued;        /* Begin and End, with arrays on the device, only queue work on the current stream, which may be another one in each */
  /* sf: own entries are its roots, ghost entries its leaves; NULL for the pattern gather if queued, since the layout says all then */
  PetscErrorCode (*create)(PetscCSRCExchange, PetscSF sf);
  PetscErrorCode (*destroy)(PetscCSRCExchange);
  /* makes room for K columns; collective */
  PetscErrorCode (*prepare)(PetscCSRCExchange, const ExchangeArrays *);
  PetscErrorCode (*forwardbegin)(PetscCSRCExchange, const ExchangeArrays *);
  PetscErrorCode (*forwardend)(PetscCSRCExchange, const ExchangeArrays *);
  PetscErrorCode (*reversebegin)(PetscCSRCExchange, InsertMode, const ExchangeArrays *);
  PetscErrorCode (*reverseend)(PetscCSRCExchange, InsertMode, const ExchangeArrays *);
  /* appends to a description */
  PetscErrorCode (*describe)(PetscCSRCExchange, char text[], size_t len);
} ExchangeOps;

struct _n_PetscCSRCExchange {
  const ExchangeOps *ops;
  MPI_Comm           comm; /* a communicator of PETSc's, not the user's */
  PetscMPIInt        size, rank;
  PetscBool          gather, reproducible, overlap, anydevice; /* anydevice: some process has its arrays on a device */
  PetscBool          required;                                 /* the user asked for this implementation: no other may replace it */
  PetscMPIInt        pernode;
  PetscLayout        layout;              /* of own entries */
  PetscInt           n;                   /* own entries */
  PetscInt           nghost;              /* rows of a ghost array ... */
  PetscInt           stride;              /* ... and the number of them for each process, with the pattern gather */
  PetscInt           N;                   /* own entries of all processes */
  PetscInt           widest;              /* columns that there is room for */
  PetscInt           mostghosts, mostnbs; /* the largest number of ghosts, and of neighbours, of a process */
  void              *data;
};

PETSC_INTERN const ExchangeOps ExchangeSF;
#if defined(PETSC_HAVE_MPI_PROCESS_SHARED_MEMORY)
PETSC_INTERN const ExchangeOps ExchangeShared;
/* The number of processes that share memory, this one included */
PETSC_INTERN PetscErrorCode ExchangeSharedCount(MPI_Comm, PetscInt *);
/*
  sharedmemory.c: memory of so many bytes of each process of a node, zeros at first, which all of them map; collective, with the same size. NULL, on all
  processes, if there is no such memory. Destroying is not collective, but no process may use an exchange's memory when another creates new memory.
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
/* Copies m rows of n columns between any memories; waits for copies from and to the host */
PETSC_INTERN PetscErrorCode ExchangeCopy(PetscInt m, PetscInt n, ExchangeArray from, ExchangeArray to);
/* The same for own entries and for ghosts; nothing if the arrays are the same */
PETSC_INTERN PetscErrorCode ExchangeCopyOwn(PetscCSRCExchange, const ExchangeArrays *from, const ExchangeArrays *to);
PETSC_INTERN PetscErrorCode ExchangeCopyGhosts(PetscCSRCExchange, const ExchangeArrays *from, const ExchangeArrays *to);

/* Other processes, in the order of ranks, with a list of entries for each */
typedef struct {
  PetscMPIInt  n;
  PetscMPIInt *rank;
  PetscInt    *offset; /* n + 1 numbers: where the entries of each begin in idx */
  PetscInt    *idx;
} ExchangeNeighbours;

/* Copies neighbours as PetscSF gives them, sorted. *nb is to be freed also after an error. */
PETSC_INTERN PetscErrorCode ExchangeNeighboursCreate(PetscMPIInt n, const PetscMPIInt rank[], const PetscInt offset[], const PetscInt idx[], ExchangeNeighbours *nb);
PETSC_INTERN PetscErrorCode ExchangeNeighboursFree(ExchangeNeighbours *nb);

#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN const ExchangeOps ExchangeNCCL, ExchangePeer;

/* ondevice.c: what exchanges on devices have in common */
enum {
  EXCHANGE_OWN,
  EXCHANGE_GHOST
};

typedef struct {
  PetscScalar *a;
  size_t       n;
} ExchangeBuffer;

/* Pattern lists, reverse: the own entries that get sums, and of which received entries; arguments of PetscCSRCUnpackSums(), on the device */
typedef struct {
  PetscInt  n;
  PetscInt *dest, *first, *place;
} ExchangeSums;

/*
  exchange.c: collective, for processes on devices: the way that was asked for, or with auto the best one: peer, NCCL or PetscSF. *whynot says why it is not the
  one asked for.
*/
PETSC_INTERN PetscErrorCode ExchangeChooseOnDevices(MPI_Comm, PetscCSRCExchangeType asked, PetscCSRCExchangeType *chosen, const char **whynot);
/* ondevice.c: collective: whether each process has a device that can be used, and if so, another one than all others */
PETSC_INTERN PetscErrorCode ExchangeDevicesDiffer(MPI_Comm, PetscBool *usable, PetscBool *differ);
PETSC_INTERN PetscErrorCode ExchangeDeviceIntegers(const PetscInt from[], PetscInt n, PetscInt **to);
/* idx[p]: the own entry that received entry p is for; those of one process are consecutive, in the order of processes */
PETSC_INTERN PetscErrorCode ExchangeSumsCreate(PetscCSRCExchange, PetscInt total, const PetscInt idx[], ExchangeSums *);
PETSC_INTERN PetscErrorCode ExchangeSumsDestroy(ExchangeSums *);
/* Contents are lost when it grows */
PETSC_INTERN PetscErrorCode ExchangeBufferGrow(ExchangeBuffer *, size_t n);
/* The arrays of a call on the device. Those that are on the host are replaced by buffers; contents are not copied */
PETSC_INTERN PetscErrorCode ExchangeOnDevice(PetscCSRCExchange, const ExchangeArrays *, ExchangeBuffer stage[2], ExchangeArrays *);
#endif
