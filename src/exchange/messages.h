#pragma once

/* Exchange by messages between neighbours: what travels, packed, and the two ways in which it travels, MPI and NCCL */
#include "exchangeimpl.h"

/* Rows that go to a process, or come from it: where they begin in the buffer of a side when they are sent, and when they are received */
typedef struct {
  PetscMPIInt rank;
  PetscInt    n, sent, received;
} ExchangeMessage;

typedef struct {
  PetscBool sidebyside; /* in buffers the entries of a row are side by side; otherwise columns are the rows of the buffer apart */
  PetscBool sums;       /* with the pattern gather it sums over processes itself, and needs no messages; own entries then have `stride` rows in their buffer */
  /* sends the rows of a side, and receives those of the other one; K columns */
  PetscErrorCode (*begin)(PetscCSRCExchange, int side, PetscInt K, PackedRows from, PackedRows into);
  PetscErrorCode (*end)(PetscCSRCExchange);
} ExchangeTransport;

typedef struct {
  PetscMPIInt      n;
  ExchangeMessage *message;
  PetscInt        *idx;  /* the row of the array of each row that is sent; NULL: row k is row k. In the memory of the array */
  PetscInt         sent; /* rows that are sent altogether */
  PetscInt         rows; /* of the buffer, which has room for those that are received, too */
  ExchangeBuffer   buffer;
} ExchangeMessageSide;

/* The data of an exchange by messages, or their first member */
typedef struct {
  const ExchangeTransport *transport;
  ExchangeMessageSide      side[2];
  ExchangeSums             sums;
  PetscMPIInt              nrequests;
  MPI_Request             *requests;
} ExchangeMessages;

/* e->data is zeros at first, of e->mem, e->rows is set. Without communication. */
PETSC_INTERN PetscErrorCode ExchangeMessagesSetUp(PetscCSRCExchange, const ExchangeNeighbours nb[2], const ExchangeTransport *, ExchangePlace);
PETSC_INTERN PetscErrorCode ExchangeMessagesDestroy(PetscCSRCExchange);
PETSC_INTERN PetscErrorCode ExchangeMessagesWiden(PetscCSRCExchange, PetscInt *);
PETSC_INTERN PetscErrorCode ExchangeMessagesBegin(PetscCSRCExchange, PetscCSRCDirection, const ExchangeArrays *);
PETSC_INTERN PetscErrorCode ExchangeMessagesEnd(PetscCSRCExchange, PetscCSRCDirection, const ExchangeArrays *);
