#pragma once

/* The data of an exchange between devices by mapped memory, for its two ways: peer.c, by kernels that store, and panels.c, by copy engines */
#include "../exchangeimpl.h"
#include "peerkernels.h"
#include "peermemory.h"

/* A process with which rows are exchanged, in at least one direction; sides: own entries, ghost entries */
typedef struct {
  PetscMPIInt rank;
  PetscInt    first[2], count[2]; /* rows of each side: numbers in a list, or rows */
  PetscInt    place[2];           /* where they are in the buffer of this process ... */
  PetscInt    theirplace[2];      /* ... and in the neighbour's those that this process sends: of its own entries, and of its ghosts */
  PetscInt    theirrows[2];       /* rows that the neighbour receives altogether: in forward, in reverse */
} Neighbour;

typedef struct {
  PetscMPIInt  n;
  Neighbour   *nb;
  PetscInt    *idx[2];  /* lists of rows; NULL: the rows of each neighbour are consecutive. On the device */
  PetscInt     rows[2]; /* rows that this process receives in reverse (own entries), and in forward (ghosts) */
  PetscInt     most;    /* rows of a message, of all processes */
  int          before;  /* neighbours of a lower rank */
  ExchangeSums sums;

  PetscCSRCPeerMemory memory;
  PetscInt            width;   /* columns that it has room for */
  PeerNeighbour      *sent[2]; /* what kernels need to know when own entries are sent, and when ghosts are; on the device */

  PeerExchange round; /* the last round, whose number counts rounds: Begin sends the first one of the pattern lists, and End receives it */

  PetscCSRCPeerMemory shared;  /* for panels */
  PetscInt            columns; /* that it has room for */
  cudaStream_t        side;
  cudaEvent_t         event;
  unsigned            calls, panels; /* the numbers of calls with panels, and of panels that have been received */
} PeerData;

/* panels.c: the functions of ExchangeOps for calls with panels */
PETSC_INTERN PetscErrorCode PeerPanelRows(PetscCSRCExchange, PetscInt K, PetscScalar **rows);
PETSC_INTERN PetscErrorCode PeerBeginPanels(PetscCSRCExchange, PetscCSRCDirection, const ExchangeArrays *);
PETSC_INTERN PetscErrorCode PeerPanel(PetscCSRCExchange, PetscCSRCDirection, const ExchangeArrays *, PetscInt k);
PETSC_INTERN PetscErrorCode PeerEndPanels(PetscCSRCExchange, PetscCSRCDirection, const ExchangeArrays *);
PETSC_INTERN PetscErrorCode PeerDestroyPanels(PeerData *);
