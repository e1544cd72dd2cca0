#pragma once

/*
  Kernels that exchange rows of arrays between devices, on the stream of the current PetscDeviceContext. They store into memory of the
  neighbours that this process has mapped (peermemory.h), set flags there when they have stored, and wait for the neighbours' flags.

  A message of n rows and K columns is stored in the buffer of its receiver, by columns. It is cut into parts of consecutive rows; the number of
  parts is the same on all processes. A large message has a flag for each part, so that the receiver works on the first parts while the last
  ones travel. In a small one each entry is stored together with the number of the exchange (a stamp), for which the receiver waits: that is
  twice the bytes, but needs no flag that waits for the stores before it.
*/
#include "../kernels.h"
#include <petscdevice_cuda.h>

#define PEER_PARTS   1024                      /* most parts of a message */
#define PEER_STAMPED (2 * sizeof(PetscScalar)) /* bytes of an entry with stamp; a complex number has two */

typedef unsigned long long PeerFlag;

/* Memory that is mapped begins with PEER_PARTS flags of each of `size` processes: their bytes, and those of one process */
static inline size_t PeerFlagBytes(int size)
{
  return (size_t)size * PEER_PARTS * sizeof(PeerFlag);
}

static inline PeerFlag *PeerFlags(char *memory, int rank)
{
  return (PeerFlag *)memory + (size_t)rank * PEER_PARTS;
}

/* A neighbour of this process in one direction, forward or reverse; in device memory */
typedef struct {
  PetscScalar *to[2];               /* where this process stores: in the neighbour's buffers for even and odd exchanges, ... */
  char        *stampedto[2];        /* ... in those for entries with stamps ... */
  size_t       ldto;                /* ... whose columns are so far apart */
  PetscInt     place;               /* where the neighbour stores: this row of the buffer of this process */
  PeerFlag    *tell, *told;         /* PEER_PARTS flags each: the neighbour's for this process, and this process's for the neighbour */
  PetscInt     sendfirst, nsend;    /* rows that this process sends: of an array, or numbers in a list of rows */
  PetscInt     recvfirst, nreceive; /* rows that it receives, likewise */
} PeerNeighbour;

/* K columns */
typedef struct {
  PetscScalar    *a;
  size_t          ld;
  const PetscInt *idx; /* device memory; the rows meant by the numbers of PeerNeighbour; NULL: these are the rows */
} PeerArray;

typedef struct {
  const PeerNeighbour *nb; /* device memory, sorted by rank */
  int                  n;
  int                  before;   /* neighbours of a lower rank; what is sent goes first to the next one: another one on each process */
  int                  parts;    /* of each message */
  PetscInt             most;     /* messages have at most so many rows; longer ones are cut off */
  PetscBool            stamped;  /* entries have stamps */
  const char          *received; /* the buffer of this process for this exchange, and the rows between its columns */
  size_t               ldreceived;
  PeerFlag             number; /* of the exchange, from 1; 0: of none, see PetscCSRCPeerSumAll() */
  PetscInt             K;
} PeerExchange;

/* Rows of this process that are copied from an array of its own to another one */
typedef struct {
  const PetscScalar *from;
  PetscScalar       *to;
  size_t             ldfrom, ldto;
  PetscInt           n;
} PeerSelf;

/* The number of parts of messages of at most so many rows and columns */
PETSC_INTERN int PetscCSRCPeerParts(PetscInt rows, PetscInt K);
/*
  Sends rows of a, and copies `self`. All functions that send and receive in one launch need receivers that are other arrays than what is sent,
  unless entries have stamps.
*/
PETSC_INTERN PetscErrorCode PetscCSRCPeerSend(const PeerExchange *, PeerArray a, PeerSelf self);
/* Receives rows into a */
PETSC_INTERN PetscErrorCode PetscCSRCPeerReceive(const PeerExchange *, PeerArray a);
/* Both in one launch */
PETSC_INTERN PetscErrorCode PetscCSRCPeerSendReceive(const PeerExchange *, PeerArray a, PeerSelf self, PeerArray b);
/* Adds the sums of what was received to rows of a, in this order */
PETSC_INTERN PetscErrorCode PetscCSRCPeerReceiveSums(const PeerExchange *, const ExchangeSums *, PeerArray a);
/*
  Sends rows of a; each neighbour sends rows 0 to n - 1. Row i of b = the sum of row i of all of them, in the order of ranks, and of row own + i
  of a, for this process; += with ADD_VALUES. With number 0 nothing is sent, and no flag is waited for.
*/
PETSC_INTERN PetscErrorCode PetscCSRCPeerSumAll(const PeerExchange *, PeerArray a, PetscInt own, PetscInt n, InsertMode, PeerArray b);
/* The stream of the current PetscDeviceContext; an error if it is being captured in a graph */
PETSC_INTERN PetscErrorCode PetscCSRCPeerStream(cudaStream_t *);
/* Stores a number, as a trial of the memory */
PETSC_INTERN PetscErrorCode PetscCSRCPeerMark(unsigned long long *at, unsigned long long number);
