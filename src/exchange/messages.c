/*
  Exchange by messages between neighbours, and that by MPI. Begin packs rows into a buffer, unless they are rows of the array in order, and sends them; End
  unpacks what has come. Contributions to an entry are summed in the order of processes.

  For arrays on a device, MPI gets buffers on the device if it is GPU-aware. Otherwise kernels pack into page-locked memory of the host, and read from it what
  came: a copy engine would be waited for between kernels, and if processes share a device, it works for another one meanwhile. The host waits once, after
  packing, which also waits for the kernels before it: these may still read what is about to be overwritten.
*/
#include "messages.h"
#include <petsc/private/petscimpl.h>

static PetscErrorCode SetSide(PetscCSRCExchange e, ExchangeMessageSide *side, const ExchangeNeighbours *nb)
{
  PetscBool ordered = PETSC_TRUE;

  PetscFunctionBegin;
  side->n    = nb->n;
  side->sent = side->rows = nb->offset[nb->n];
  PetscCall(PetscMalloc1(nb->n, &side->message));
  for (PetscMPIInt k = 0; k < nb->n; k++) side->message[k] = (ExchangeMessage){nb->rank[k], nb->offset[k + 1] - nb->offset[k], nb->offset[k], nb->offset[k]};
  for (PetscInt p = 0; p < side->sent && ordered; p++) ordered = nb->idx[p] == p ? PETSC_TRUE : PETSC_FALSE;
  if (!ordered) PetscCall(ExchangeIntegersCreate(e->mem, nb->idx, side->sent, &side->idx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetLists(PetscCSRCExchange e, const ExchangeNeighbours nb[2])
{
  ExchangeMessages *m = (ExchangeMessages *)e->data;

  PetscFunctionBegin;
  for (int s = 0; s < 2; s++) PetscCall(SetSide(e, &m->side[s], &nb[s]));
  PetscCall(ExchangeSumsCreate(e->mem, e->n, m->side[EXCHANGE_OWN].rows, nb[EXCHANGE_OWN].idx, &m->sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pattern gather: each process, this one included, gets all own entries, and sends sums for all of them. *idx is to be freed also after an error. */
static PetscErrorCode SetGather(PetscCSRCExchange e, PetscInt **idx)
{
  ExchangeMessages    *m   = (ExchangeMessages *)e->data;
  ExchangeMessageSide *own = &m->side[EXCHANGE_OWN], *ghosts = &m->side[EXCHANGE_GHOST];
  const PetscInt      *range;

  PetscFunctionBegin;
  own->sent    = m->transport->sums ? e->stride : e->n;
  own->rows    = m->transport->sums ? e->stride : e->size * e->n;
  ghosts->sent = ghosts->rows = e->nghost;
  if (m->transport->sums) PetscFunctionReturn(PETSC_SUCCESS);
  own->n = ghosts->n = e->size;
  for (int s = 0; s < 2; s++) PetscCall(PetscMalloc1(e->size, &m->side[s].message));
  PetscCall(PetscLayoutGetRanges(e->layout, &range));
  PetscCall(PetscMalloc1(own->rows, idx));
  for (PetscMPIInt r = 0; r < e->size; r++) {
    own->message[r]    = (ExchangeMessage){r, e->n, 0, r * e->n};
    ghosts->message[r] = (ExchangeMessage){r, range[r + 1] - range[r], r * e->stride, r * e->stride};
    for (PetscInt i = 0; i < e->n; i++) (*idx)[r * e->n + i] = i;
  }
  PetscCall(ExchangeSumsCreate(e->mem, e->n, own->rows, *idx, &m->sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeMessagesSetUp(PetscCSRCExchange e, const ExchangeNeighbours nb[2], const ExchangeTransport *transport, ExchangePlace place)
{
  ExchangeMessages *m   = (ExchangeMessages *)e->data;
  PetscInt         *idx = NULL;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  m->transport = transport;
  for (int s = 0; s < 2; s++) m->side[s].buffer.place = place;
  ierr = e->gather ? SetGather(e, &idx) : SetLists(e, nb);
  PetscCall(PetscFree(idx));
  PetscCall(ierr);
  e->rows = PetscMax(m->side[EXCHANGE_OWN].rows, m->side[EXCHANGE_GHOST].rows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeMessagesDestroy(PetscCSRCExchange e)
{
  ExchangeMessages *m = (ExchangeMessages *)e->data;

  PetscFunctionBegin;
  if (!m) PetscFunctionReturn(PETSC_SUCCESS);
  for (int s = 0; s < 2; s++) {
    PetscCall(PetscFree(m->side[s].message));
    PetscCall(ExchangeIntegersFree(e->mem, &m->side[s].idx));
    PetscCall(ExchangeBufferFree(&m->side[s].buffer));
  }
  PetscCall(ExchangeSumsDestroy(&m->sums));
  PetscCall(PetscFree(m->requests));
  PetscCall(PetscFree(e->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the rows of messages are those of an array of K columns, so that no buffer is needed */
static PetscBool Direct(PetscCSRCExchange e, int s, PetscInt K)
{
  const ExchangeMessages    *m    = (const ExchangeMessages *)e->data;
  const ExchangeMessageSide *side = &m->side[s];

  if (side->idx || side->buffer.place == EXCHANGE_PAGELOCKED || (K > 1 && m->transport->sidebyside)) return PETSC_FALSE;
  return s == EXCHANGE_GHOST || !e->gather || side->sent == e->n ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode ExchangeMessagesWiden(PetscCSRCExchange e, PetscInt *width)
{
  ExchangeMessageSide *side = ((ExchangeMessages *)e->data)->side;

  PetscFunctionBegin;
  PetscCall(ExchangeBufferGrow(&side[EXCHANGE_OWN].buffer, (size_t)side[EXCHANGE_OWN].rows * *width));
  if (!Direct(e, EXCHANGE_GHOST, *width)) PetscCall(ExchangeBufferGrow(&side[EXCHANGE_GHOST].buffer, (size_t)side[EXCHANGE_GHOST].rows * *width));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries among the rows of a side that are sent: where the transport makes sums, some own rows have none */
static PetscInt Entries(PetscCSRCExchange e, int s)
{
  return e->gather && s == EXCHANGE_OWN ? e->n : ((ExchangeMessages *)e->data)->side[s].sent;
}

static PackedRows Rows(ExchangeArray x)
{
  return (PackedRows){x.a, 1, x.ld};
}

static PackedRows Buffer(PetscCSRCExchange e, int s, PetscInt K)
{
  const ExchangeMessages    *m    = (const ExchangeMessages *)e->data;
  const ExchangeMessageSide *side = &m->side[s];

  return m->transport->sidebyside ? (PackedRows){side->buffer.a, K, 1} : (PackedRows){side->buffer.a, 1, side->rows};
}

#if defined(PETSCCSRC_HAVE_CUDA)
/* Bytes between a device and page-locked memory, for the log */
static PetscErrorCode Log(const ExchangeBuffer *b, PetscInt rows, PetscInt K, PetscErrorCode (*log)(PetscLogDouble))
{
  PetscFunctionBegin;
  if (b->place == EXCHANGE_PAGELOCKED) PetscCall((*log)((PetscLogDouble)rows * K * sizeof(PetscScalar)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Rows that are sent, packed unless they are the array's */
static PetscErrorCode Pack(PetscCSRCExchange e, int s, PetscInt K, ExchangeArray x, PackedRows *rows)
{
  ExchangeMessageSide *side = &((ExchangeMessages *)e->data)->side[s];

  PetscFunctionBegin;
  *rows = Direct(e, s, K) ? Rows(x) : Buffer(e, s, K);
  if (Direct(e, s, K)) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(PETSCCSRC_HAVE_CUDA)
  if (!PetscMemTypeHost(e->mem)) {
    PetscCall(PetscCSRCPack(Entries(e, s), side->sent, K, side->idx, x.a, x.ld, *rows));
    PetscCall(Log(&side->buffer, side->sent, K, PetscLogGpuToCpu));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  for (PetscInt k = 0; k < K; k++) {
    const PetscScalar *from  = x.a + (size_t)x.ld * k;
    PetscScalar *restrict to = rows->a + rows->column * k;

    for (PetscInt p = 0; p < side->sent; p++) to[p] = from[side->idx[p]];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of a side's buffer that have come in order, into an array */
static PetscErrorCode Unpack(PetscCSRCExchange e, int s, PetscInt K, ExchangeArray x)
{
  ExchangeMessageSide *side = &((ExchangeMessages *)e->data)->side[s];
  const PackedRows     rows = Buffer(e, s, K);
  const PetscInt       n    = Entries(e, s);

  PetscFunctionBegin;
  if (Direct(e, s, K)) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(PETSCCSRC_HAVE_CUDA)
  if (!PetscMemTypeHost(e->mem)) {
    PetscCall(PetscCSRCUnpack(n, K, side->idx, rows, INSERT_VALUES, x.a, x.ld));
    PetscCall(Log(&side->buffer, n, K, PetscLogCpuToGpu));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  for (PetscInt k = 0; k < K; k++) {
    const PetscScalar *from  = rows.a + rows.column * k;
    PetscScalar *restrict to = x.a + (size_t)x.ld * k;

    for (PetscInt p = 0; p < n; p++) to[side->idx[p]] = from[p];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds what has come to own entries, or to 0 */
static PetscErrorCode UnpackSums(PetscCSRCExchange e, InsertMode mode, PetscInt K, ExchangeArray x)
{
  const ExchangeMessages *m    = (const ExchangeMessages *)e->data;
  const ExchangeSums     *sums = &m->sums;
  const PackedRows        rows = Buffer(e, EXCHANGE_OWN, K);

  PetscFunctionBegin;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (!PetscMemTypeHost(e->mem)) {
    PetscCall(PetscCSRCUnpackSums(sums, K, rows, mode, x.a, x.ld));
    PetscCall(Log(&m->side[EXCHANGE_OWN].buffer, m->side[EXCHANGE_OWN].rows, K, PetscLogCpuToGpu));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  for (PetscInt k = 0; k < K; k++) {
    const PetscScalar *from  = rows.a + rows.column * k;
    PetscScalar *restrict to = x.a + (size_t)x.ld * k;

    for (PetscInt d = 0; d < sums->n; d++) {
      PetscScalar sum = mode == ADD_VALUES ? to[sums->dest[d]] : 0.0;

      for (PetscInt q = sums->first[d]; q < sums->first[d + 1]; q++) sum += from[sums->place[q]];
      to[sums->dest[d]] = sum;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sends a side, and receives the other one, sums of own entries into the buffer unless the transport makes them */
static PetscErrorCode Start(PetscCSRCExchange e, int sent, const ExchangeArrays *a)
{
  const ExchangeTransport *transport = ((ExchangeMessages *)e->data)->transport;
  const int                received  = 1 - sent;
  const PetscBool          direct    = (received == EXCHANGE_GHOST || (e->gather && transport->sums)) && Direct(e, received, a->K) ? PETSC_TRUE : PETSC_FALSE;
  PackedRows               rows;

  PetscFunctionBegin;
  PetscCall(Pack(e, sent, a->K, ExchangeSideOf(a, sent), &rows));
  PetscCall((*transport->begin)(e, sent, a->K, rows, direct ? Rows(ExchangeSideOf(a, received)) : Buffer(e, received, a->K)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the transport makes the sums, of which own entries are then a part: all is done in End */
static PetscBool SumsInEnd(PetscCSRCExchange e, PetscCSRCDirection direction)
{
  return direction != PETSCCSRC_FORWARD && e->gather && ((ExchangeMessages *)e->data)->transport->sums ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode ExchangeMessagesBegin(PetscCSRCExchange e, PetscCSRCDirection direction, const ExchangeArrays *a)
{
  PetscFunctionBegin;
  if (!SumsInEnd(e, direction)) PetscCall(Start(e, ExchangeSent(direction), a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeMessagesEnd(PetscCSRCExchange e, PetscCSRCDirection direction, const ExchangeArrays *a)
{
  const PetscBool all = SumsInEnd(e, direction);

  PetscFunctionBegin;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (all) {
    if (direction == PETSCCSRC_REVERSE_ADD) PetscCall(PetscCSRCUnpack(e->n, a->K, NULL, Rows(a->own), ADD_VALUES, a->ghost.a + (size_t)e->rank * e->stride, a->ghost.ld));
    PetscCall(Start(e, EXCHANGE_GHOST, a));
  }
#endif
  PetscCall((*((ExchangeMessages *)e->data)->transport->end)(e));
  if (direction == PETSCCSRC_FORWARD) PetscCall(Unpack(e, EXCHANGE_GHOST, a->K, a->ghost));
  else if (all) PetscCall(Unpack(e, EXCHANGE_OWN, a->K, a->own));
  else PetscCall(UnpackSums(e, direction == PETSCCSRC_REVERSE_ADD ? ADD_VALUES : INSERT_VALUES, a->K, a->own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---------------------------------------------------------------- messages of MPI */
/* K columns of n rows as `count` items, to be freed if they are several columns: a buffer's or an array's distance apart */
static PetscErrorCode ItemCreate(PetscInt n, PetscInt K, PackedRows rows, PetscMPIInt *count, MPI_Datatype *item)
{
  PetscMPIInt columns, distance;

  PetscFunctionBegin;
  *item = MPIU_SCALAR;
  PetscCall(PetscMPIIntCast(n, count));
  if (K == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMPIIntCast(K, &columns));
  PetscCall(PetscMPIIntCast(rows.column, &distance));
  PetscCallMPI(MPI_Type_vector(columns, *count, distance, MPIU_SCALAR, item));
  PetscCallMPI(MPI_Type_commit(item));
  *count = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Begin_MPI(PetscCSRCExchange e, int side, PetscInt K, PackedRows from, PackedRows into)
{
  ExchangeMessages          *m  = (ExchangeMessages *)e->data;
  const ExchangeMessageSide *to = &m->side[side], *of = &m->side[1 - side];
  MPI_Datatype               item;
  PetscMPIInt                n;

  PetscFunctionBegin;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (!PetscMemTypeHost(e->mem) && (to->n || of->n)) PetscCall(PetscCSRCDeviceWait());
#endif
  m->nrequests = 0;
  for (PetscMPIInt k = 0; k < of->n; k++) {
    if (!of->message[k].n) continue;
    PetscCall(ItemCreate(of->message[k].n, K, into, &n, &item));
    PetscCallMPI(MPI_Irecv(into.a + of->message[k].received, n, item, of->message[k].rank, e->tag, e->comm, &m->requests[m->nrequests++]));
    if (K > 1) PetscCallMPI(MPI_Type_free(&item));
  }
  for (PetscMPIInt k = 0; k < to->n; k++) {
    if (!to->message[k].n) continue;
    PetscCall(ItemCreate(to->message[k].n, K, from, &n, &item));
    PetscCallMPI(MPI_Isend(from.a + to->message[k].sent, n, item, to->message[k].rank, e->tag, e->comm, &m->requests[m->nrequests++]));
    if (K > 1) PetscCallMPI(MPI_Type_free(&item));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode End_MPI(PetscCSRCExchange e)
{
  ExchangeMessages *m = (ExchangeMessages *)e->data;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Waitall(m->nrequests, m->requests, MPI_STATUSES_IGNORE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const ExchangeTransport TransportMPI = {PETSC_FALSE, PETSC_FALSE, Begin_MPI, End_MPI};

static PetscErrorCode Create_MPI(PetscCSRCExchange e, const ExchangeNeighbours nb[2])
{
  ExchangePlace     place = EXCHANGE_HOST;
  ExchangeMessages *m;

  PetscFunctionBegin;
  PetscCall(PetscCalloc(sizeof(*m), &e->data));
  m      = (ExchangeMessages *)e->data;
  e->mem = PETSC_MEMTYPE_HOST;
#if defined(PETSCCSRC_HAVE_CUDA)
  PetscBool usable;

  PetscCall(PetscCSRCDeviceUsable(&usable, NULL));
  if (e->ondevice && usable) {
    e->mem = PETSC_MEMTYPE_CUDA;
    place  = use_gpu_aware_mpi ? EXCHANGE_DEVICE : EXCHANGE_PAGELOCKED;
  }
#endif
  PetscCall(ExchangeMessagesSetUp(e, nb, &TransportMPI, place));
  PetscCall(PetscMalloc1(m->side[0].n + m->side[1].n, &m->requests));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Describe_MPI(PetscCSRCExchange e, char text[], size_t len)
{
  PetscFunctionBegin;
  PetscCall(PetscStrncpy(text, ((ExchangeMessages *)e->data)->side[0].buffer.place == EXCHANGE_PAGELOCKED ? " through the host's memory" : "", len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const ExchangeOps ExchangeMPI = {
  .name     = "messages of MPI",
  .type     = PETSCCSRC_EXCHANGE_MPI,
  .bytes    = 67108864.0,
  .columns  = PETSC_INT_MAX,
  .create   = Create_MPI,
  .destroy  = ExchangeMessagesDestroy,
  .widen    = ExchangeMessagesWiden,
  .begin    = ExchangeMessagesBegin,
  .end      = ExchangeMessagesEnd,
  .describe = Describe_MPI,
};
