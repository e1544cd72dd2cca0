/*
  Panels of the pattern gather are copied by copy engines, on a stream of their own, while kernels multiply other panels: kernels that store would take
  multiprocessors from these. Nothing is copied twice: beside the memory for kernels (peer.c) each process has more that all others map,

      flags                two of each process: how many panels have come from it, and for how many calls its memory may be written
      ghost rows           of all columns; forward stores there
      contributions        to its own rows, those of each neighbour together; reverse stores there
*/
#include "../exchangeimpl.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include "peerimpl.h"
  #include <dlfcn.h>

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

PetscErrorCode PeerPanelRows(PetscCSRCExchange e, PetscInt K, PetscScalar **rows)
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
PetscErrorCode PeerBeginPanels(PetscCSRCExchange e, PetscCSRCDirection direction, const ExchangeArrays *a)
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

PetscErrorCode PeerPanel(PetscCSRCExchange e, PetscCSRCDirection direction, const ExchangeArrays *a, PetscInt k)
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
PetscErrorCode PeerEndPanels(PetscCSRCExchange e, PetscCSRCDirection direction, const ExchangeArrays *a)
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

PetscErrorCode PeerDestroyPanels(PeerData *d)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCPeerMemoryDestroy(&d->shared));
  if (d->side) PetscCallCUDA(cudaStreamDestroy(d->side));
  if (d->event) PetscCallCUDA(cudaEventDestroy(d->event));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
