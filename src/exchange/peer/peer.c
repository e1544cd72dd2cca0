/*
  Exchange by kernels that store into memory of the other devices, among the processes of one host. A process needs one or two launches for an
  exchange, and no library: short messages take some microseconds, where a collective of NCCL takes eight.

  Each process has memory that all others map:

      flags                PEER_PARTS of each process
      buffer 0, buffer 1   `rows` rows of `width` columns: what this process receives, in forward ghost entries, in reverse contributions to its
                           own entries; those of each neighbour together, in the order of ranks
      buffer 0, buffer 1   the same with stamps, for at most STAMPED_ENTRIES entries

  More than `width` columns are exchanged in several rounds. peerkernels.cu says why nobody waits for a buffer.

  Sums are made in the order of processes.
*/
#include "../exchangeimpl.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include "peerkernels.h"
  #include "peermemory.h"
  #include <petscdevice_cuda.h>

  /* Size of a buffer for more than one column, about; a test has smaller ones */
  #if !defined(BUFFER_BYTES)
    #define BUFFER_BYTES 67108864.0
  #endif
  /* Entries that a process receives have stamps if no process receives more than so many */
  #define STAMPED_ENTRIES 65536

/* Processes with which rows are exchanged, in at least one direction; sides: own entries, ghost entries */
typedef struct {
  PetscMPIInt  n;
  PetscMPIInt *rank;
  PetscInt    *first[2], *count[2]; /* rows of each side: numbers in a list, or rows */
  PetscInt    *place[2];            /* where they are in the buffer of this process ... */
  PetscInt    *theirplace[2];       /* ... and in the neighbour's those that this process sends: of its own entries, and of its ghosts */
  PetscInt    *theirrows[2];        /* rows that the neighbour receives altogether: in forward, in reverse */
} Neighbours;

typedef struct {
  Neighbours     nb;
  PetscInt      *idx[2];  /* lists of rows; NULL: the rows of each neighbour are consecutive. On the device */
  PetscInt       rows[2]; /* rows that this process receives in reverse (own entries), and in forward (ghosts) */
  PetscInt       most[2]; /* of all processes: rows that one receives, rows of a message */
  int            before;  /* neighbours of a lower rank */
  ExchangeSums   sums;
  ExchangeBuffer stage[2];

  PetscCSRCPeerMemory memory;
  PetscInt            width;
  PeerNeighbour      *direction[2]; /* forward, reverse; on the device */
  PeerExchange        round;        /* the last round, whose number counts rounds: Begin sends the first one of the pattern lists, and End receives it */
} PeerData;

enum {
  FORWARD,
  REVERSE
};

static size_t BufferScalars(const PetscInt rows[2], PetscInt width)
{
  return (size_t)PetscMax(rows[0], rows[1]) * (size_t)width;
}

static size_t StampedBytes(const PetscInt rows[2], PetscInt width)
{
  return PetscMin(BufferScalars(rows, width), STAMPED_ENTRIES) * PEER_STAMPED;
}

static PetscErrorCode AllocateNeighbours(PetscMPIInt n, Neighbours *nb)
{
  PetscFunctionBegin;
  nb->n = n;
  PetscCall(PetscMalloc1(n, &nb->rank));
  for (int s = 0; s < 2; s++) PetscCall(PetscCalloc5(n, &nb->first[s], n, &nb->count[s], n, &nb->place[s], n, &nb->theirplace[s], n, &nb->theirrows[s]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FreeNeighbours(Neighbours *nb)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(nb->rank));
  for (int s = 0; s < 2; s++) PetscCall(PetscFree5(nb->first[s], nb->count[s], nb->place[s], nb->theirplace[s], nb->theirrows[s]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pattern gather: all other processes */
static PetscErrorCode SetGather(PetscCSRCExchange e)
{
  Neighbours     *nb = &((PeerData *)e->data)->nb;
  const PetscInt *range;

  PetscFunctionBegin;
  PetscCall(AllocateNeighbours(e->size - 1, nb));
  PetscCall(PetscLayoutGetRanges(e->layout, &range));
  for (PetscMPIInt k = 0; k < nb->n; k++) {
    const PetscMPIInt r = k < e->rank ? k : k + 1;

    nb->rank[k]                  = r;
    nb->count[EXCHANGE_OWN][k]   = e->n;
    nb->count[EXCHANGE_GHOST][k] = range[r + 1] - range[r];
    nb->first[EXCHANGE_GHOST][k] = r * e->stride;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One side of the pattern lists, for the neighbours that have it. Rows that are consecutive for each neighbour need no list on the device. */
static PetscErrorCode SetSide(PeerData *d, int side, const ExchangeNeighbours *list)
{
  Neighbours           *nb     = &d->nb;
  const PetscInt *const offset = list->offset, *const idx = list->idx;
  PetscBool consecutive = PETSC_TRUE;

  PetscFunctionBegin;
  for (PetscMPIInt k = 0; k < list->n; k++) {
    for (PetscInt p = offset[k] + 1; p < offset[k + 1] && consecutive; p++) consecutive = idx[p] == idx[p - 1] + 1 ? PETSC_TRUE : PETSC_FALSE;
  }
  for (PetscMPIInt k = 0, l = 0; k < list->n; k++) {
    while (nb->rank[l] < list->rank[k]) l++;
    nb->count[side][l] = offset[k + 1] - offset[k];
    nb->first[side][l] = consecutive && nb->count[side][l] ? idx[offset[k]] : offset[k];
  }
  if (!consecutive) PetscCall(ExchangeDeviceIntegers(idx, offset[list->n], &d->idx[side]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The neighbours of either side, each once */
static PetscErrorCode MergeNeighbours(const ExchangeNeighbours list[2], Neighbours *nb)
{
  PetscFunctionBegin;
  PetscCall(AllocateNeighbours(list[0].n + list[1].n, nb));
  nb->n = 0;
  for (PetscMPIInt k[2] = {0, 0}; k[0] < list[0].n || k[1] < list[1].n; nb->n++) {
    PetscMPIInt rank = PETSC_MPI_INT_MAX;

    for (int s = 0; s < 2; s++) rank = k[s] < list[s].n ? PetscMin(rank, list[s].rank[k[s]]) : rank;
    for (int s = 0; s < 2; s++) k[s] += k[s] < list[s].n && list[s].rank[k[s]] == rank ? 1 : 0;
    nb->rank[nb->n] = rank;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* list[]: of own entries that others need, and of ghosts; to be freed also after an error */
static PetscErrorCode SetLists(PetscCSRCExchange e, PetscSF sf, ExchangeNeighbours list[2])
{
  PeerData          *d = (PeerData *)e->data;
  PetscMPIInt        n;
  const PetscMPIInt *rank;
  const PetscInt    *offset, *idx;

  PetscFunctionBegin;
  PetscCall(PetscSFGetLeafRanks(sf, &n, &rank, &offset, &idx));
  PetscCall(ExchangeNeighboursCreate(n, rank, offset, idx, &list[EXCHANGE_OWN]));
  PetscCall(PetscSFGetRootRanks(sf, &n, &rank, &offset, &idx, NULL));
  PetscCall(ExchangeNeighboursCreate(n, rank, offset, idx, &list[EXCHANGE_GHOST]));
  PetscCall(MergeNeighbours(list, &d->nb));
  PetscCall(ExchangeSumsCreate(e, list[EXCHANGE_OWN].offset[list[EXCHANGE_OWN].n], list[EXCHANGE_OWN].idx, &d->sums));
  for (int s = 0; s < 2; s++) PetscCall(SetSide(d, s, &list[s]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Places in the buffer of this process, and in those of the neighbours; collective. mine and theirs are for each process, zeros at first: where
  its own entries, and its ghosts, are to be stored, and how many rows there are altogether
*/
static PetscErrorCode SetPlaces(PetscCSRCExchange e, PetscInt mine[][4], PetscInt theirs[][4])
{
  PeerData   *d  = (PeerData *)e->data;
  Neighbours *nb = &d->nb;

  PetscFunctionBegin;
  for (int s = 0; s < 2; s++) {
    for (PetscMPIInt k = 0; k < nb->n; k++) {
      nb->place[s][k] = d->rows[s];
      d->rows[s] += nb->count[s][k];
      d->most[1] = PetscMax(d->most[1], nb->count[s][k]);
    }
    d->most[0] = PetscMax(d->most[0], d->rows[s]);
  }
  for (PetscMPIInt k = 0; k < nb->n; k++) {
    for (int s = 0; s < 2; s++) {
      mine[nb->rank[k]][s]     = nb->place[s][k];
      mine[nb->rank[k]][2 + s] = d->rows[s];
    }
    if (nb->rank[k] < e->rank) d->before++;
  }
  PetscCallMPI(MPI_Alltoall(mine, 4, MPIU_INT, theirs, 4, MPIU_INT, e->comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, d->most, 2, MPIU_INT, MPI_MAX, e->comm));
  for (PetscMPIInt k = 0; k < nb->n; k++) {
    for (int s = 0; s < 2; s++) { /* what is an own entry of one process is a ghost of the other */
      nb->theirplace[s][k] = theirs[nb->rank[k]][1 - s];
      nb->theirrows[s][k]  = theirs[nb->rank[k]][2 + 1 - s];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create_Peer(PetscCSRCExchange e, PetscSF sf)
{
  PeerData      *d = NULL;
  PetscErrorCode ierr;
  PetscInt(*places)[4]       = NULL;
  ExchangeNeighbours list[2] = {{0}, {0}};

  PetscFunctionBegin;
  ierr    = PetscNew(&d);
  e->data = d;
  if (!ierr) ierr = PetscCalloc1(2 * e->size, &places);
  if (!ierr) ierr = e->gather ? SetGather(e) : SetLists(e, sf, list);
  for (int s = 0; s < 2 && !ierr; s++) ierr = PetscCSRCDeviceMalloc("the lists of an exchange", (size_t)d->nb.n * sizeof(PeerNeighbour), &d->direction[s]);
  for (int s = 0; s < 2; s++) PetscCall(ExchangeNeighboursFree(&list[s]));
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
  PetscCall(FreeNeighbours(&d->nb));
  for (int s = 0; s < 2; s++) {
    PetscCall(PetscCSRCDeviceFree(&d->direction[s]));
    PetscCall(PetscCSRCDeviceFree(&d->idx[s]));
    PetscCall(PetscCSRCDeviceFree(&d->stage[s].a));
  }
  PetscCall(ExchangeSumsDestroy(&d->sums));
  PetscCall(PetscFree(e->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the kernels need to know of the neighbours. In forward own entries are sent and ghosts received, in reverse the other way round. */
static PetscErrorCode SetDirections(PetscCSRCExchange e)
{
  PeerData         *d  = (PeerData *)e->data;
  const Neighbours *nb = &d->nb;
  PeerNeighbour    *list;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(nb->n, &list));
  for (int direction = 0; direction < 2; direction++) {
    const int sent = direction == FORWARD ? EXCHANGE_OWN : EXCHANGE_GHOST, received = 1 - sent;

    for (PetscMPIInt k = 0; k < nb->n; k++) {
      char *const        base    = PetscCSRCPeerMemoryOf(d->memory, nb->rank[k]);
      PetscScalar *const buffer  = (PetscScalar *)(base + PeerFlagBytes(e->size));
      const PetscInt     rows[2] = {nb->theirrows[0][k], nb->theirrows[1][k]};

      list[k].to[0]        = buffer + nb->theirplace[sent][k];
      list[k].to[1]        = list[k].to[0] + BufferScalars(rows, d->width);
      list[k].stampedto[0] = (char *)(buffer + 2 * BufferScalars(rows, d->width)) + nb->theirplace[sent][k] * PEER_STAMPED;
      list[k].stampedto[1] = list[k].stampedto[0] + StampedBytes(rows, d->width);
      list[k].ldto         = (size_t)nb->theirrows[sent][k];
      list[k].place        = nb->place[received][k];
      list[k].tell         = PeerFlags(base, e->rank);
      list[k].told         = PeerFlags(PetscCSRCPeerMemoryOf(d->memory, e->rank), nb->rank[k]);
      list[k].sendfirst    = nb->first[sent][k];
      list[k].nsend        = nb->count[sent][k];
      list[k].recvfirst    = nb->first[received][k];
      list[k].nreceive     = nb->count[received][k];
    }
    PetscCall(PetscCSRCDeviceUpload(d->direction[direction], list, (size_t)nb->n * sizeof(*list)));
  }
  PetscCall(PetscFree(list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The width is the same on all processes */
static PetscErrorCode Widen(PetscCSRCExchange e, PetscInt width)
{
  PeerData           *d = (PeerData *)e->data;
  PetscErrorCode      ierr;
  PetscCSRCPeerMemory memory;

  PetscFunctionBegin;
  PetscCall(PetscCSRCPeerMemoryCreate(e->comm, "buffers of an exchange", PeerFlagBytes(e->size) + 2 * (BufferScalars(d->rows, width) * sizeof(PetscScalar) + StampedBytes(d->rows, width)), &memory));
  PetscCall(PetscCSRCPeerMemoryDestroy(&d->memory));
  d->memory       = memory;
  d->width        = width;
  d->round.number = 0;
  ierr            = PetscCSRCAgree(e->comm, SetDirections(e), "The lists of an exchange");
  if (ierr) d->width = 0; /* on all processes, which then make the memory again together */
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Prepare_Peer(PetscCSRCExchange e, const ExchangeArrays *a)
{
  PeerData      *d     = (PeerData *)e->data;
  const double   fit   = BUFFER_BYTES / ((double)PetscMax(d->most[0], 1) * sizeof(PetscScalar));
  const PetscInt width = fit < 1 ? 1 : (PetscInt)PetscMin(fit, (double)a->K);
  ExchangeArrays b;

  PetscFunctionBegin;
  if (width > d->width) PetscCall(Widen(e, width));
  PetscCall(ExchangeOnDevice(e, a, d->stage, &b)); /* for its memory: here processes agree on an error */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Begins a round of an exchange, for `width` columns or those that are left from column k on */
static const PeerExchange *Round(PetscCSRCExchange e, int direction, PetscInt K, PetscInt k)
{
  PeerData         *d       = (PeerData *)e->data;
  const char *const buffers = PetscCSRCPeerMemoryOf(d->memory, e->rank) + PeerFlagBytes(e->size);
  const size_t      bytes   = BufferScalars(d->rows, d->width) * sizeof(PetscScalar);
  PeerExchange     *x       = &d->round;

  x->number++;
  x->nb         = d->direction[direction];
  x->n          = d->nb.n;
  x->first      = d->before < d->nb.n ? d->before : 0;
  x->K          = PetscMin(d->width, K - k);
  x->parts      = PetscCSRCPeerParts(d->most[1], x->K);
  x->most       = PETSC_INT_MAX;
  x->stamped    = (double)d->most[0] * x->K <= STAMPED_ENTRIES ? PETSC_TRUE : PETSC_FALSE;
  x->received   = x->stamped ? buffers + 2 * bytes + (x->number & 1 ? StampedBytes(d->rows, d->width) : 0) : buffers + (x->number & 1 ? bytes : 0);
  x->ldreceived = (size_t)d->rows[direction == FORWARD ? EXCHANGE_GHOST : EXCHANGE_OWN];
  return x;
}

/* The columns of an array from column k on, with its list of rows */
static PeerArray Columns(PetscCSRCExchange e, const ExchangeArrays *a, int side, PetscInt k)
{
  const ExchangeArray *array = side == EXCHANGE_OWN ? &a->own : &a->ghost;
  const PeerArray      p     = {array->a + (size_t)array->ld * (size_t)k, (size_t)array->ld, ((PeerData *)e->data)->idx[side]};

  return p;
}

/* Pattern lists: sends in a new round */
static PetscErrorCode Send(PetscCSRCExchange e, int direction, const ExchangeArrays *a, PetscInt k)
{
  const PeerSelf none = {NULL, NULL, 0, 0, 0};

  PetscFunctionBegin;
  PetscCall(PetscCSRCPeerSend(Round(e, direction, a->K, k), Columns(e, a, direction == FORWARD ? EXCHANGE_OWN : EXCHANGE_GHOST, k), none));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the pattern is lists, and this process has neighbours and something to exchange with them */
static PetscBool HasLists(PetscCSRCExchange e, const ExchangeArrays *a)
{
  return !e->gather && ((PeerData *)e->data)->nb.n && a->K ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode ForwardBegin_Peer(PetscCSRCExchange e, const ExchangeArrays *host)
{
  PeerData      *d = (PeerData *)e->data;
  ExchangeArrays a;

  PetscFunctionBegin;
  PetscCall(ExchangeOnDevice(e, host, d->stage, &a));
  PetscCall(ExchangeCopyOwn(e, host, &a));
  if (HasLists(e, &a)) PetscCall(Send(e, FORWARD, &a, 0));
  for (PetscInt k = 0; e->gather && k < a.K; k += d->width) {
    const PeerArray own = Columns(e, &a, EXCHANGE_OWN, k), ghost = Columns(e, &a, EXCHANGE_GHOST, k);
    const PeerSelf  self = {own.a, ghost.a + (size_t)e->rank * (size_t)e->stride, own.ld, ghost.ld, e->n};

    PetscCall(PetscCSRCPeerSendReceive(Round(e, FORWARD, a.K, k), own, self, ghost));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ForwardEnd_Peer(PetscCSRCExchange e, const ExchangeArrays *host)
{
  PeerData      *d = (PeerData *)e->data;
  ExchangeArrays a;

  PetscFunctionBegin;
  PetscCall(ExchangeOnDevice(e, host, d->stage, &a));
  for (PetscInt k = 0; HasLists(e, &a) && k < a.K; k += d->width) {
    if (k) PetscCall(Send(e, FORWARD, &a, k));
    PetscCall(PetscCSRCPeerReceive(&d->round, Columns(e, &a, EXCHANGE_GHOST, k)));
  }
  PetscCall(ExchangeCopyGhosts(e, &a, host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pattern gather */
static PetscErrorCode SumAll(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *a)
{
  const PeerData *d = (PeerData *)e->data;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < a->K; k += d->width) {
    PetscCall(PetscCSRCPeerSumAll(Round(e, REVERSE, a->K, k), Columns(e, a, EXCHANGE_GHOST, k), e->rank * e->stride, d->before, e->n, mode, Columns(e, a, EXCHANGE_OWN, k)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With the pattern gather, sums with own entries are made in End, when these are final */
static PetscErrorCode ReverseBegin_Peer(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *host)
{
  ExchangeArrays a;

  PetscFunctionBegin;
  PetscCall(ExchangeOnDevice(e, host, ((PeerData *)e->data)->stage, &a));
  PetscCall(ExchangeCopyGhosts(e, host, &a));
  if (HasLists(e, &a)) PetscCall(Send(e, REVERSE, &a, 0));
  if (e->gather && mode == INSERT_VALUES) PetscCall(SumAll(e, mode, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReverseEnd_Peer(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *host)
{
  PeerData           *d    = (PeerData *)e->data;
  const ExchangeSums *sums = &d->sums;
  ExchangeArrays      a;

  PetscFunctionBegin;
  PetscCall(ExchangeOnDevice(e, host, d->stage, &a));
  if (mode == ADD_VALUES) PetscCall(ExchangeCopyOwn(e, host, &a));
  if (e->gather && mode == ADD_VALUES) PetscCall(SumAll(e, mode, &a));
  for (PetscInt k = 0; HasLists(e, &a) && k < a.K; k += d->width) {
    if (k) PetscCall(Send(e, REVERSE, &a, k));
    PetscCall(PetscCSRCPeerReceiveSums(&d->round, sums->n, sums->dest, sums->first, sums->place, Columns(e, &a, EXCHANGE_OWN, k)));
  }
  PetscCall(ExchangeCopyOwn(e, &a, host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Describe_Peer(PetscCSRCExchange e, char text[], size_t len)
{
  PetscFunctionBegin;
  (void)e;
  (void)text;
  (void)len;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const ExchangeOps ExchangePeer = {
  .name         = "stores into memory of the other devices",
  .byte         = 1 / 230e9,
  .queued       = PETSC_TRUE,
  .create       = Create_Peer,
  .destroy      = Destroy_Peer,
  .prepare      = Prepare_Peer,
  .forwardbegin = ForwardBegin_Peer,
  .forwardend   = ForwardEnd_Peer,
  .reversebegin = ReverseBegin_Peer,
  .reverseend   = ReverseEnd_Peer,
  .describe     = Describe_Peer,
};
#endif
