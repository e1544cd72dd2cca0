/*
  Exchange by kernels that store into memory of the other devices, among the processes of one host. A process needs one or two launches for an
  exchange, and no library: short messages take some microseconds, where a collective of NCCL takes eight.

  Each process has memory that all others map:

      flags                PEER_PARTS of each process
      buffer 0, buffer 1   `rows` rows of `width` columns: what this process receives, in forward ghost entries, in reverse contributions to its
                           own entries; those of each neighbour together, in the order of ranks
      buffer 0, buffer 1   the same with stamps, for at most STAMPED_ENTRIES entries

  peerkernels.cu says why nobody waits for a buffer.

  Sums are made in the order of processes.

  Panels of the pattern gather travel another way: panels.c.
*/
#include "../exchangeimpl.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include "peerimpl.h"

  /* Size of a buffer for more than one column, about; a test has smaller ones */
  #if !defined(BUFFER_BYTES)
    #define BUFFER_BYTES 67108864.0
  #endif
  /* Entries that a process receives have stamps if no process receives more than so many */
  #define STAMPED_ENTRIES 65536

static size_t BufferScalars(const PetscInt rows[2], PetscInt width)
{
  return (size_t)PetscMax(rows[0], rows[1]) * (size_t)width;
}

static size_t StampedBytes(const PetscInt rows[2], PetscInt width)
{
  return PetscMin(BufferScalars(rows, width), STAMPED_ENTRIES) * PEER_STAMPED;
}

/* Pattern gather: all other processes */
static PetscErrorCode SetGather(PetscCSRCExchange e)
{
  PeerData       *d = (PeerData *)e->data;
  const PetscInt *range;

  PetscFunctionBegin;
  d->n = e->size - 1;
  PetscCall(PetscCalloc1(d->n, &d->nb));
  PetscCall(PetscLayoutGetRanges(e->layout, &range));
  for (PetscMPIInt k = 0; k < d->n; k++) {
    const PetscMPIInt r = k < e->rank ? k : k + 1;

    d->nb[k] = (Neighbour){
      .rank  = r,
      .count = {e->n, range[r + 1] - range[r]},
      .first = {0,    r * e->stride          }
    };
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One side of the pattern lists, for the neighbours that have it. Rows that are consecutive for each neighbour need no list on the device. */
static PetscErrorCode SetSide(PeerData *d, int side, const ExchangeNeighbours *list)
{
  const PetscInt *const offset = list->offset, *const idx = list->idx;
  PetscBool consecutive = PETSC_TRUE;

  PetscFunctionBegin;
  for (PetscMPIInt k = 0; k < list->n; k++) {
    for (PetscInt p = offset[k] + 1; p < offset[k + 1] && consecutive; p++) consecutive = idx[p] == idx[p - 1] + 1 ? PETSC_TRUE : PETSC_FALSE;
  }
  for (PetscMPIInt k = 0, l = 0; k < list->n; k++) {
    while (d->nb[l].rank < list->rank[k]) l++;
    d->nb[l].count[side] = offset[k + 1] - offset[k];
    d->nb[l].first[side] = consecutive && d->nb[l].count[side] ? idx[offset[k]] : offset[k];
  }
  if (!consecutive) PetscCall(ExchangeIntegersCreate(PETSC_MEMTYPE_CUDA, idx, offset[list->n], &d->idx[side]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The neighbours of either side, each once */
static PetscErrorCode MergeNeighbours(PeerData *d, const ExchangeNeighbours list[2])
{
  PetscFunctionBegin;
  PetscCall(PetscCalloc1(list[0].n + list[1].n, &d->nb));
  for (PetscMPIInt k[2] = {0, 0}; k[0] < list[0].n || k[1] < list[1].n; d->n++) {
    PetscMPIInt rank = PETSC_MPI_INT_MAX;

    for (int s = 0; s < 2; s++) rank = k[s] < list[s].n ? PetscMin(rank, list[s].rank[k[s]]) : rank;
    for (int s = 0; s < 2; s++) k[s] += k[s] < list[s].n && list[s].rank[k[s]] == rank ? 1 : 0;
    d->nb[d->n].rank = rank;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetLists(PetscCSRCExchange e, const ExchangeNeighbours list[2])
{
  PeerData *d = (PeerData *)e->data;

  PetscFunctionBegin;
  PetscCall(MergeNeighbours(d, list));
  PetscCall(ExchangeSumsCreate(e->mem, e->n, list[EXCHANGE_OWN].offset[list[EXCHANGE_OWN].n], list[EXCHANGE_OWN].idx, &d->sums));
  for (int s = 0; s < 2; s++) PetscCall(SetSide(d, s, &list[s]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Places in the buffer of this process, and in those of the neighbours; collective. mine and theirs are for each process, zeros at first: where
  its own entries, and its ghosts, are to be stored, and how many rows there are altogether
*/
static PetscErrorCode SetPlaces(PetscCSRCExchange e, PetscInt mine[][4], PetscInt theirs[][4])
{
  PeerData *d = (PeerData *)e->data;

  PetscFunctionBegin;
  for (int s = 0; s < 2; s++) {
    for (PetscMPIInt k = 0; k < d->n; k++) {
      d->nb[k].place[s] = d->rows[s];
      d->rows[s] += d->nb[k].count[s];
      d->most = PetscMax(d->most, d->nb[k].count[s]);
    }
    e->rows = PetscMax(e->rows, d->rows[s]);
  }
  for (PetscMPIInt k = 0; k < d->n; k++) {
    for (int s = 0; s < 2; s++) {
      mine[d->nb[k].rank][s]     = d->nb[k].place[s];
      mine[d->nb[k].rank][2 + s] = d->rows[s];
    }
    if (d->nb[k].rank < e->rank) d->before++;
  }
  PetscCallMPI(MPI_Alltoall(mine, 4, MPIU_INT, theirs, 4, MPIU_INT, e->comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &d->most, 1, MPIU_INT, MPI_MAX, e->comm));
  for (PetscMPIInt k = 0; k < d->n; k++) {
    for (int s = 0; s < 2; s++) { /* what is an own entry of one process is a ghost of the other */
      d->nb[k].theirplace[s] = theirs[d->nb[k].rank][1 - s];
      d->nb[k].theirrows[s]  = theirs[d->nb[k].rank][2 + 1 - s];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create_Peer(PetscCSRCExchange e, const ExchangeNeighbours list[2])
{
  PeerData      *d = NULL;
  PetscErrorCode ierr;
  PetscInt(*places)[4] = NULL;

  PetscFunctionBegin;
  ierr    = PetscNew(&d);
  e->data = d;
  e->mem  = PETSC_MEMTYPE_CUDA;
  if (!ierr) ierr = PetscCalloc1(2 * e->size, &places);
  if (!ierr) ierr = e->gather ? SetGather(e) : SetLists(e, list);
  for (int s = 0; s < 2 && !ierr; s++) ierr = PetscCSRCDeviceMalloc("the lists of an exchange", (size_t)d->n * sizeof(PeerNeighbour), &d->sent[s]);
  /* an error on one process must not keep the others waiting */
  ierr = PetscCSRCAgree(e->comm, ierr, "The set-up of an exchange between devices");
  if (!ierr) ierr = SetPlaces(e, places, places + e->size);
  PetscCall(PetscFree(places));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy_Peer(PetscCSRCExchange e)
{
  PeerData *d = (PeerData *)e->data;

  PetscFunctionBegin;
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCSRCPeerMemoryDestroy(&d->memory));
  PetscCall(PeerDestroyPanels(d));
  PetscCall(PetscFree(d->nb));
  for (int s = 0; s < 2; s++) {
    PetscCall(PetscCSRCDeviceFree(&d->sent[s]));
    PetscCall(PetscCSRCDeviceFree(&d->idx[s]));
  }
  PetscCall(ExchangeSumsDestroy(&d->sums));
  PetscCall(PetscFree(e->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the kernels need to know of the neighbours. In forward own entries are sent and ghosts received, in reverse the other way round. */
static PetscErrorCode SetDirections(PetscCSRCExchange e)
{
  PeerData      *d = (PeerData *)e->data;
  PeerNeighbour *list;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(d->n, &list));
  for (int sent = 0; sent < 2; sent++) {
    const int received = 1 - sent;

    for (PetscMPIInt k = 0; k < d->n; k++) {
      const Neighbour   *nb     = &d->nb[k];
      char *const        base   = PetscCSRCPeerMemoryOf(d->memory, nb->rank);
      PetscScalar *const buffer = (PetscScalar *)(base + PeerFlagBytes(e->size));

      list[k].to[0]        = buffer + nb->theirplace[sent];
      list[k].to[1]        = list[k].to[0] + BufferScalars(nb->theirrows, d->width);
      list[k].stampedto[0] = (char *)(buffer + 2 * BufferScalars(nb->theirrows, d->width)) + nb->theirplace[sent] * PEER_STAMPED;
      list[k].stampedto[1] = list[k].stampedto[0] + StampedBytes(nb->theirrows, d->width);
      list[k].ldto         = (size_t)nb->theirrows[sent];
      list[k].place        = nb->place[received];
      list[k].tell         = PeerFlags(base, e->rank);
      list[k].told         = PeerFlags(PetscCSRCPeerMemoryOf(d->memory, e->rank), nb->rank);
      list[k].sendfirst    = nb->first[sent];
      list[k].nsend        = nb->count[sent];
      list[k].recvfirst    = nb->first[received];
      list[k].nreceive     = nb->count[received];
    }
    PetscCall(PetscCSRCDeviceUpload(d->sent[sent], list, (size_t)d->n * sizeof(*list)));
  }
  PetscCall(PetscFree(list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The width is the same on all processes */
static PetscErrorCode Widen_Peer(PetscCSRCExchange e, PetscInt *width)
{
  PeerData           *d = (PeerData *)e->data;
  PetscCSRCPeerMemory memory;
  PetscErrorCode      ierr;

  PetscFunctionBegin;
  PetscCall(PetscCSRCPeerMemoryCreate(e->comm, "buffers of an exchange", PeerFlagBytes(e->size) + 2 * (BufferScalars(d->rows, *width) * sizeof(PetscScalar) + StampedBytes(d->rows, *width)), &memory));
  ierr            = PetscCSRCPeerMemoryDestroy(&d->memory);
  d->memory       = memory; /* also after an error, which may be one of this process alone: all destroy it together */
  d->width        = *width;
  d->round.number = 0;
  PetscCall(ierr);
  PetscCall(SetDirections(e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Begins a round of K columns */
static const PeerExchange *Round(PetscCSRCExchange e, int sent, PetscInt K)
{
  PeerData         *d       = (PeerData *)e->data;
  const char *const buffers = PetscCSRCPeerMemoryOf(d->memory, e->rank) + PeerFlagBytes(e->size);
  const size_t      bytes   = BufferScalars(d->rows, d->width) * sizeof(PetscScalar);
  PeerExchange     *x       = &d->round;

  x->number++;
  x->nb         = d->sent[sent];
  x->n          = d->n;
  x->before     = d->before;
  x->K          = K;
  x->parts      = PetscCSRCPeerParts(d->most, K);
  x->most       = PETSC_INT_MAX;
  x->stamped    = (double)e->rows * K <= STAMPED_ENTRIES ? PETSC_TRUE : PETSC_FALSE;
  x->received   = x->stamped ? buffers + 2 * bytes + (x->number & 1 ? StampedBytes(d->rows, d->width) : 0) : buffers + (x->number & 1 ? bytes : 0);
  x->ldreceived = (size_t)d->rows[1 - sent];
  return x;
}

/* An array with its list of rows */
static PeerArray Rows(PetscCSRCExchange e, const ExchangeArrays *a, int side)
{
  const ExchangeArray array = ExchangeSideOf(a, side);

  return (PeerArray){array.a, (size_t)array.ld, ((PeerData *)e->data)->idx[side]};
}

/* Pattern lists: sends. Gather, forward: sends and receives */
static PetscErrorCode Begin_Peer(PetscCSRCExchange e, PetscCSRCDirection direction, const ExchangeArrays *a)
{
  const PeerArray own = Rows(e, a, EXCHANGE_OWN), ghost = Rows(e, a, EXCHANGE_GHOST);
  const int       sent = ExchangeSent(direction);

  PetscFunctionBegin;
  if (a->panel) PetscCall(PeerBeginPanels(e, direction, a));
  else if (!e->gather) {
    const PeerSelf none = {NULL, NULL, 0, 0, 0};

    if (((PeerData *)e->data)->n) PetscCall(PetscCSRCPeerSend(Round(e, sent, a->K), Rows(e, a, sent), none));
  } else if (sent == EXCHANGE_OWN) {
    const PeerSelf self = {own.a, ghost.a + (size_t)e->rank * (size_t)e->stride, own.ld, ghost.ld, e->n};

    PetscCall(PetscCSRCPeerSendReceive(Round(e, sent, a->K), own, self, ghost));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pattern lists: receives. Gather, reverse: sends and receives */
static PetscErrorCode End_Peer(PetscCSRCExchange e, PetscCSRCDirection direction, const ExchangeArrays *a)
{
  const PeerData *d   = (PeerData *)e->data;
  const PeerArray own = Rows(e, a, EXCHANGE_OWN), ghost = Rows(e, a, EXCHANGE_GHOST);

  PetscFunctionBegin;
  if (a->panel) PetscCall(PeerEndPanels(e, direction, a));
  else if (e->gather) {
    if (direction != PETSCCSRC_FORWARD) PetscCall(PetscCSRCPeerSumAll(Round(e, EXCHANGE_GHOST, a->K), ghost, e->rank * e->stride, e->n, direction == PETSCCSRC_REVERSE_ADD ? ADD_VALUES : INSERT_VALUES, own));
  } else if (d->n) {
    if (direction == PETSCCSRC_FORWARD) PetscCall(PetscCSRCPeerReceive(&d->round, ghost));
    else PetscCall(PetscCSRCPeerReceiveSums(&d->round, &d->sums, own));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const ExchangeOps ExchangePeer = {
  .name    = "stores into memory of the other devices",
  .type    = PETSCCSRC_EXCHANGE_PEER,
  .bytes   = BUFFER_BYTES,
  .columns = PETSC_INT_MAX,
  .create  = Create_Peer,
  .destroy = Destroy_Peer,
  .widen   = Widen_Peer,
  .begin   = Begin_Peer,
  .end     = End_Peer,
  .rows    = PeerPanelRows,
  .panel   = PeerPanel,
};
#endif
