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

  Panels of the pattern gather are copied by copy engines, on a stream of their own, while kernels multiply other panels: kernels that store would take
  multiprocessors from these (G12, G16). Nothing is copied twice: each process has more memory that all others map,

      flags                two of each process: how many panels have come from it, and for how many calls its memory may be written
      ghost rows           of all columns; forward stores there
      contributions        to its own rows, those of each neighbour together; reverse stores there
*/
#include "../exchangeimpl.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include "peerkernels.h"
  #include "peermemory.h"
  #include <petscdevice_cuda.h>
  #include <dlfcn.h>

  /* Size of a buffer for more than one column, about; a test has smaller ones */
  #if !defined(BUFFER_BYTES)
    #define BUFFER_BYTES 67108864.0
  #endif
  /* Entries that a process receives have stamps if no process receives more than so many */
  #define STAMPED_ENTRIES 65536

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
  PetscCall(PetscCSRCPeerMemoryDestroy(&d->shared));
  if (d->side) PetscCallCUDA(cudaStreamDestroy(d->side));
  if (d->event) PetscCallCUDA(cudaEventDestroy(d->event));
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

/* Operations of streams, of the driver's library, which the runtime has loaded: this library is not linked with it */
typedef int (*StreamOperation)(cudaStream_t, unsigned long long at, unsigned number, unsigned flags);

static StreamOperation WriteValue, WaitValue;

static PetscErrorCode LoadDriver(void)
{
  void *const library = dlopen("libcuda.so.1", RTLD_NOW);

  PetscFunctionBegin;
  if (library) *(void **)&WriteValue = dlsym(library, "cuStreamWriteValue32_v2");
  if (library) *(void **)&WaitValue = dlsym(library, "cuStreamWaitValue32_v2");
  PetscCheck(WriteValue && WaitValue, PETSC_COMM_SELF, PETSC_ERR_GPU, "CUDA's driver is too old for cuStreamWriteValue32_v2()");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The flags of panels: so many PANELS of a process have come, for so many CALLS it may be written to */
enum {
  PANELS,
  CALLS
};

/* Tells all others a number, after what the stream has done before; or lets the stream wait until all others have told it, or a later one */
static PetscErrorCode Flag(PetscCSRCExchange e, PetscBool tell, cudaStream_t stream, int flag, unsigned number)
{
  const PeerData *d = (PeerData *)e->data;

  PetscFunctionBegin;
  for (PetscMPIInt k = 0; k < d->n; k++) {
    PeerFlag *const at  = PeerFlags(PetscCSRCPeerMemoryOf(d->shared, tell ? d->nb[k].rank : e->rank), tell ? e->rank : d->nb[k].rank) + flag;
    const int       err = (*(tell ? WriteValue : WaitValue))(stream, (unsigned long long)(uintptr_t)at, number, 0);

    PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_GPU, "%s returns %d", tell ? "cuStreamWriteValue32()" : "cuStreamWaitValue32()", err);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One stream waits for what another one has been given */
static PetscErrorCode Follow(PeerData *d, cudaStream_t stream, cudaStream_t other)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaEventRecord(d->event, other));
  PetscCallCUDA(cudaStreamWaitEvent(stream, d->event, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Rows_Peer(PetscCSRCExchange e, PetscInt K, PetscScalar **rows)
{
  PeerData           *d = (PeerData *)e->data;
  PetscCSRCPeerMemory memory;
  PetscErrorCode      ierr;

  PetscFunctionBegin;
  if (K > d->columns) {
    PetscCall(PetscCSRCPeerMemoryCreate(e->comm, "panels of an exchange", PeerFlagBytes(e->size) + (size_t)K * ((size_t)e->nghost + (size_t)d->rows[EXCHANGE_OWN]) * sizeof(PetscScalar), &memory));
    ierr       = PetscCSRCPeerMemoryDestroy(&d->shared);
    d->shared  = memory;
    d->columns = K;
    d->calls = d->panels = 0;
    PetscCall(ierr);
  }
  if (!WriteValue) PetscCall(LoadDriver());
  if (!d->side) PetscCallCUDA(cudaStreamCreateWithFlags(&d->side, cudaStreamNonBlocking));
  if (!d->event) PetscCallCUDA(cudaEventCreateWithFlags(&d->event, cudaEventDisableTiming));
  *rows = (PetscScalar *)(PetscCSRCPeerMemoryOf(d->shared, e->rank) + PeerFlagBytes(e->size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The number of the panel that begins with column k */
static unsigned PanelNumber(const PeerData *d, const ExchangeArrays *a, PetscInt k)
{
  return d->panels + (unsigned)(k / a->panel) + 1;
}

/* Copies the columns k ... of what is sent into the memory of the others */
static PetscErrorCode SendPanel(PetscCSRCExchange e, PetscCSRCDirection direction, const ExchangeArrays *a, PetscInt k)
{
  PeerData      *d    = (PeerData *)e->data;
  const int      sent = ExchangeSent(direction);
  const PetscInt K    = PetscMin(a->panel, a->K - k);
  ExchangeArray  from = ExchangeSideOf(a, sent);

  PetscFunctionBegin;
  for (PetscMPIInt m = 0; m < d->n; m++) {
    const Neighbour *nb   = &d->nb[(d->before + m) % d->n]; /* another one first on each process */
    PetscScalar     *to   = (PetscScalar *)(PetscCSRCPeerMemoryOf(d->shared, nb->rank) + PeerFlagBytes(e->size));
    const PetscInt   ldto = sent == EXCHANGE_OWN ? e->nghost : nb->theirrows[sent];

    to += sent == EXCHANGE_OWN ? (size_t)e->rank * (size_t)e->stride : (size_t)e->nghost * (size_t)d->columns + (size_t)nb->theirplace[sent];
    PetscCall(PetscCSRCDeviceCopy2DOn(d->side, to + (size_t)ldto * k, ldto, from.a + nb->first[sent] + (size_t)from.ld * k, from.ld, nb->count[sent], K));
  }
  PetscCall(Flag(e, PETSC_TRUE, d->side, PANELS, PanelNumber(d, a, k)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Forward: sends all panels, and copies own entries while the first one travels */
static PetscErrorCode BeginPanels(PetscCSRCExchange e, PetscCSRCDirection direction, const ExchangeArrays *a)
{
  PeerData    *d = (PeerData *)e->data;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscCSRCPeerStream(&stream));
  PetscCall(Flag(e, PETSC_TRUE, stream, CALLS, ++d->calls)); /* what this process had to read there is read */
  PetscCall(Follow(d, d->side, stream));
  PetscCall(Flag(e, PETSC_FALSE, d->side, CALLS, d->calls));
  if (direction != PETSCCSRC_FORWARD) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < a->K; k += a->panel) PetscCall(SendPanel(e, direction, a, k));
  PetscCall(PetscCSRCPack(e->n, e->n, a->K, NULL, a->own.a, a->own.ld, (PackedRows){a->ghost.a + (size_t)e->rank * (size_t)e->stride, 1, (size_t)a->ghost.ld}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Panel_Peer(PetscCSRCExchange e, PetscCSRCDirection direction, const ExchangeArrays *a, PetscInt k)
{
  PeerData    *d = (PeerData *)e->data;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscCSRCPeerStream(&stream));
  if (direction == PETSCCSRC_FORWARD) PetscCall(Flag(e, PETSC_FALSE, stream, PANELS, PanelNumber(d, a, k)));
  else {
    PetscCall(Follow(d, d->side, stream));
    PetscCall(SendPanel(e, direction, a, k));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reverse: sums what has come */
static PetscErrorCode EndPanels(PetscCSRCExchange e, PetscCSRCDirection direction, const ExchangeArrays *a)
{
  PeerData    *d = (PeerData *)e->data;
  PeerExchange x = {.nb = d->sent[EXCHANGE_GHOST], .n = d->n, .before = d->before, .most = PETSC_INT_MAX, .ldreceived = (size_t)d->rows[EXCHANGE_OWN]};
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscCSRCPeerStream(&stream));
  for (PetscInt k = 0; k < a->K && direction != PETSCCSRC_FORWARD; k += a->panel) {
    const PeerArray ghost = {a->ghost.a + (size_t)a->ghost.ld * k, (size_t)a->ghost.ld, NULL}, own = {a->own.a + (size_t)a->own.ld * k, (size_t)a->own.ld, NULL};

    x.K        = PetscMin(a->panel, a->K - k);
    x.parts    = PetscCSRCPeerParts(d->most, x.K);
    x.received = (const char *)((PetscScalar *)(PetscCSRCPeerMemoryOf(d->shared, e->rank) + PeerFlagBytes(e->size)) + (size_t)e->nghost * (size_t)d->columns + x.ldreceived * (size_t)k);
    PetscCall(Flag(e, PETSC_FALSE, stream, PANELS, PanelNumber(d, a, k)));
    PetscCall(PetscCSRCPeerSumAll(&x, ghost, e->rank * e->stride, e->n, INSERT_VALUES, own));
  }
  d->panels = PanelNumber(d, a, a->K - 1);
  PetscCall(Follow(d, stream, d->side)); /* what is sent may be changed after that */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pattern lists: sends. Gather, forward: sends and receives */
static PetscErrorCode Begin_Peer(PetscCSRCExchange e, PetscCSRCDirection direction, const ExchangeArrays *a)
{
  const PeerArray own = Rows(e, a, EXCHANGE_OWN), ghost = Rows(e, a, EXCHANGE_GHOST);
  const int       sent = ExchangeSent(direction);

  PetscFunctionBegin;
  if (a->panel) PetscCall(BeginPanels(e, direction, a));
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
  if (a->panel) PetscCall(EndPanels(e, direction, a));
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
  .rows    = Rows_Peer,
  .panel   = Panel_Peer,
};
#endif
