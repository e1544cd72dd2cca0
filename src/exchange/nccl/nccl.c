/*
  Exchange by NCCL. Packing, messages and sums are all queued, and the host waits only for copies of arrays that are in host memory. With K
  columns, the entries of a row travel side by side.

  Messages between neighbours have a stream of their own, of high priority, if there is enough other work meanwhile: synchronizing the
  two streams costs some microseconds.

  Sums are in the order of processes with the pattern lists, and in NCCL's order with gather: the same every time on the same machine.
*/
#include "../exchangeimpl.h"
#include "ncclload.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include "../kernels.h"
  #include <petscdevice_cuda.h>

typedef struct {
  PetscCSRCNCCL     *nccl;
  ExchangeNeighbours side[2]; /* lists: own entries that others need, and ghosts of this process; without idx once they are made */
  PetscInt          *idx[2];  /* the same on the device: the row of each entry in the own or ghost array; NULL: entry k is row k */
  ExchangeSums       sums;
  ExchangeBuffer     buffer[2]; /* packed rows of each side ... */
  ExchangeBuffer     stage[2];  /* ... and a copy of an array that is on the host */
  cudaStream_t       stream;    /* for messages between Begin and End, if these are to overlap with other work; NULL: the current stream */
  cudaEvent_t        ready, done;
} NCCLData;

static PetscErrorCode SetSide(NCCLData *d, int side, PetscMPIInt n, const PetscMPIInt rank[], const PetscInt offset[], const PetscInt idx[])
{
  ExchangeNeighbours *nb   = &d->side[side];
  PetscBool           same = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(ExchangeNeighboursCreate(n, rank, offset, idx, nb));
  for (PetscInt k = 0; k < nb->offset[n] && same; k++) same = nb->idx[k] == k ? PETSC_TRUE : PETSC_FALSE;
  if (!same) PetscCall(ExchangeDeviceIntegers(nb->idx, nb->offset[n], &d->idx[side]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateStream(NCCLData *d)
{
  int least, greatest;

  PetscFunctionBegin;
  PetscCallCUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  PetscCallCUDA(cudaStreamCreateWithPriority(&d->stream, cudaStreamNonBlocking, greatest));
  PetscCallCUDA(cudaEventCreateWithFlags(&d->ready, cudaEventDisableTiming));
  PetscCallCUDA(cudaEventCreateWithFlags(&d->done, cudaEventDisableTiming));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create_NCCL(PetscCSRCExchange e, PetscSF sf)
{
  NCCLData          *d = NULL;
  PetscMPIInt        n;
  const PetscMPIInt *rank;
  const PetscInt    *offset, *idx;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  ierr = PetscCSRCAgree(e->comm, PetscNew(&d), "An exchange by NCCL");
  if (ierr) PetscCall(PetscFree(d));
  PetscCall(ierr);
  e->data = d;
  PetscCall(PetscCSRCNCCLGet(e->comm, &d->nccl));
  if (e->gather) PetscFunctionReturn(PETSC_SUCCESS);
  if (e->overlap) PetscCall(CreateStream(d));
  PetscCall(PetscSFGetLeafRanks(sf, &n, &rank, &offset, &idx));
  PetscCall(SetSide(d, EXCHANGE_OWN, n, rank, offset, idx));
  PetscCall(ExchangeSumsCreate(e, d->side[EXCHANGE_OWN].offset[n], d->side[EXCHANGE_OWN].idx, &d->sums));
  PetscCall(PetscSFGetRootRanks(sf, &n, &rank, &offset, &idx, NULL));
  PetscCall(SetSide(d, EXCHANGE_GHOST, n, rank, offset, idx));
  for (int s = 0; s < 2; s++) PetscCall(PetscFree(d->side[s].idx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy_NCCL(PetscCSRCExchange e)
{
  NCCLData *d = (NCCLData *)e->data;

  PetscFunctionBegin;
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  for (int s = 0; s < 2; s++) {
    PetscCall(ExchangeNeighboursFree(&d->side[s]));
    PetscCall(PetscCSRCDeviceFree(&d->idx[s]));
    PetscCall(PetscCSRCDeviceFree(&d->buffer[s].a));
    PetscCall(PetscCSRCDeviceFree(&d->stage[s].a));
  }
  if (d->stream) PetscCallCUDA(cudaStreamDestroy(d->stream));
  if (d->ready) PetscCallCUDA(cudaEventDestroy(d->ready));
  if (d->done) PetscCallCUDA(cudaEventDestroy(d->done));
  PetscCall(ExchangeSumsDestroy(&d->sums));
  PetscCall(PetscFree(e->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Prepare_NCCL(PetscCSRCExchange e, const ExchangeArrays *a)
{
  NCCLData      *d    = (NCCLData *)e->data;
  const size_t   K    = (size_t)a->K;
  const size_t   own  = e->gather ? (size_t)e->stride : (size_t)d->side[EXCHANGE_OWN].offset[d->side[EXCHANGE_OWN].n];
  const size_t   rows = e->gather ? (size_t)e->nghost : (size_t)d->side[EXCHANGE_GHOST].offset[d->side[EXCHANGE_GHOST].n];
  ExchangeArrays b;

  PetscFunctionBegin;
  PetscCall(ExchangeBufferGrow(&d->buffer[EXCHANGE_OWN], own * K));
  if (K > 1 || d->idx[EXCHANGE_GHOST]) PetscCall(ExchangeBufferGrow(&d->buffer[EXCHANGE_GHOST], rows * K));
  PetscCall(ExchangeOnDevice(e, a, d->stage, &b)); /* for its memory: here processes agree on an error */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The stream for messages, which is made to wait for all work queued on the current stream */
static PetscErrorCode BeginMessages(NCCLData *d, cudaStream_t *stream)
{
  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(stream));
  if (!d->stream) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaEventRecord(d->ready, *stream));
  PetscCallCUDA(cudaStreamWaitEvent(d->stream, d->ready, 0));
  *stream = d->stream;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes work that is queued from now on wait for the messages */
static PetscErrorCode EndMessages(NCCLData *d)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!d->stream) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallCUDA(cudaStreamWaitEvent(stream, d->done, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A buffer with the K entries of a row side by side */
static PackedRows Packed(PetscScalar *a, PetscInt K)
{
  const PackedRows packed = {a, K, 1};

  return packed;
}

/* Messages between neighbours: sends rows of from[] to the neighbours `to`, receives rows into[] from the neighbours `of` */
static PetscErrorCode SendAndReceive(NCCLData *d, PetscInt K, const ExchangeNeighbours *to, const PetscScalar from[], const ExchangeNeighbours *of, PetscScalar into[])
{
  const size_t parts = (size_t)K * NCCL_SCALAR_PARTS;
  cudaStream_t stream;
  NCCLResult   ok = NCCL_SUCCESS, ended;

  PetscFunctionBegin;
  if (!to->n && !of->n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BeginMessages(d, &stream));
  PetscCallNCCL((*PetscCSRCNCCLFunctions.GroupStart)());
  /* to the end also after an error: a group that stays open would hold back whatever comes after it */
  for (PetscMPIInt k = 0; k < to->n && ok == NCCL_SUCCESS; k++) {
    ok = (*PetscCSRCNCCLFunctions.Send)(from + (size_t)to->offset[k] * K, (size_t)(to->offset[k + 1] - to->offset[k]) * parts, NCCL_SCALAR, to->rank[k], d->nccl->comm, stream);
  }
  for (PetscMPIInt k = 0; k < of->n && ok == NCCL_SUCCESS; k++) {
    ok = (*PetscCSRCNCCLFunctions.Recv)(into + (size_t)of->offset[k] * K, (size_t)(of->offset[k + 1] - of->offset[k]) * parts, NCCL_SCALAR, of->rank[k], d->nccl->comm, stream);
  }
  ended = (*PetscCSRCNCCLFunctions.GroupEnd)();
  PetscCallNCCL(ok);
  PetscCallNCCL(ended);
  if (d->stream) PetscCallCUDA(cudaEventRecord(d->done, d->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Arrays of one column that NCCL can use without a buffer: ghosts whose order in the array is that of the messages; with the pattern
  gather, own entries if this process has as many as the stride
*/
static PetscBool GhostsDirect(PetscCSRCExchange e, const ExchangeArrays *a)
{
  return a->K == 1 && !((NCCLData *)e->data)->idx[EXCHANGE_GHOST] ? PETSC_TRUE : PETSC_FALSE;
}

static PetscBool OwnDirect(PetscCSRCExchange e, const ExchangeArrays *a)
{
  return a->K == 1 && e->gather && e->n == e->stride ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode ForwardBegin_NCCL(PetscCSRCExchange e, const ExchangeArrays *host)
{
  NCCLData                 *d   = (NCCLData *)e->data;
  const ExchangeNeighbours *own = &d->side[EXCHANGE_OWN], *ghosts = &d->side[EXCHANGE_GHOST];
  ExchangeArrays            a;
  PetscScalar              *into;
  cudaStream_t              stream;

  PetscFunctionBegin;
  PetscCall(ExchangeOnDevice(e, host, d->stage, &a));
  PetscCall(ExchangeCopyOwn(e, host, &a));
  into = GhostsDirect(e, &a) ? a.ghost.a : d->buffer[EXCHANGE_GHOST].a;
  if (e->gather) {
    if (!OwnDirect(e, &a)) PetscCall(PetscCSRCPack(e->n, e->stride, a.K, NULL, a.own.a, a.own.ld, Packed(d->buffer[EXCHANGE_OWN].a, a.K)));
    PetscCall(PetscGetCurrentCUDAStream(&stream));
    PetscCallNCCL((*PetscCSRCNCCLFunctions.AllGather)(OwnDirect(e, &a) ? a.own.a : d->buffer[EXCHANGE_OWN].a, into, (size_t)e->stride * a.K * NCCL_SCALAR_PARTS, NCCL_SCALAR, d->nccl->comm, stream));
  } else {
    PetscCall(PetscCSRCPack(own->offset[own->n], own->offset[own->n], a.K, d->idx[EXCHANGE_OWN], a.own.a, a.own.ld, Packed(d->buffer[EXCHANGE_OWN].a, a.K)));
    PetscCall(SendAndReceive(d, a.K, own, d->buffer[EXCHANGE_OWN].a, ghosts, into));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ForwardEnd_NCCL(PetscCSRCExchange e, const ExchangeArrays *host)
{
  NCCLData      *d = (NCCLData *)e->data;
  ExchangeArrays a;

  PetscFunctionBegin;
  PetscCall(ExchangeOnDevice(e, host, d->stage, &a));
  PetscCall(EndMessages(d));
  if (!GhostsDirect(e, &a)) PetscCall(PetscCSRCUnpack(e->nghost, a.K, d->idx[EXCHANGE_GHOST], Packed(d->buffer[EXCHANGE_GHOST].a, a.K), INSERT_VALUES, a.ghost.a, a.ghost.ld));
  PetscCall(ExchangeCopyGhosts(e, &a, host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReverseStart(PetscCSRCExchange e, const ExchangeArrays *a)
{
  NCCLData                 *d   = (NCCLData *)e->data;
  const ExchangeNeighbours *own = &d->side[EXCHANGE_OWN], *ghosts = &d->side[EXCHANGE_GHOST];
  const PetscScalar        *from = GhostsDirect(e, a) ? a->ghost.a : d->buffer[EXCHANGE_GHOST].a;
  cudaStream_t              stream;

  PetscFunctionBegin;
  if (!GhostsDirect(e, a)) PetscCall(PetscCSRCPack(e->nghost, e->nghost, a->K, d->idx[EXCHANGE_GHOST], a->ghost.a, a->ghost.ld, Packed(d->buffer[EXCHANGE_GHOST].a, a->K)));
  if (e->gather) {
    PetscCall(PetscGetCurrentCUDAStream(&stream));
    PetscCallNCCL((*PetscCSRCNCCLFunctions.ReduceScatter)(from, OwnDirect(e, a) ? a->own.a : d->buffer[EXCHANGE_OWN].a, (size_t)e->stride * a->K * NCCL_SCALAR_PARTS, NCCL_SCALAR, NCCL_SUM, d->nccl->comm, stream));
  } else PetscCall(SendAndReceive(d, a->K, ghosts, from, own, d->buffer[EXCHANGE_OWN].a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With the pattern gather, own entries that are to be added are part of NCCL's sum, so it begins in End, when they are final */
static PetscErrorCode ReverseBegin_NCCL(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *host)
{
  NCCLData      *d = (NCCLData *)e->data;
  ExchangeArrays a;

  PetscFunctionBegin;
  PetscCall(ExchangeOnDevice(e, host, d->stage, &a));
  PetscCall(ExchangeCopyGhosts(e, host, &a));
  if (!e->gather || mode == INSERT_VALUES) PetscCall(ReverseStart(e, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReverseEnd_NCCL(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *host)
{
  NCCLData      *d = (NCCLData *)e->data;
  ExchangeArrays a;

  PetscFunctionBegin;
  PetscCall(ExchangeOnDevice(e, host, d->stage, &a));
  if (mode == ADD_VALUES) PetscCall(ExchangeCopyOwn(e, host, &a));
  if (e->gather) {
    if (mode == ADD_VALUES) {
      const PackedRows own = {a.own.a, 1, a.own.ld};

      PetscCall(PetscCSRCUnpack(e->n, a.K, NULL, own, ADD_VALUES, a.ghost.a + (size_t)e->rank * e->stride, a.ghost.ld));
      PetscCall(ReverseStart(e, &a));
    }
    if (!OwnDirect(e, &a)) PetscCall(PetscCSRCUnpack(e->n, a.K, NULL, Packed(d->buffer[EXCHANGE_OWN].a, a.K), INSERT_VALUES, a.own.a, a.own.ld));
  } else {
    PetscCall(EndMessages(d));
    PetscCall(PetscCSRCUnpackSums(d->sums.n, a.K, d->sums.dest, d->sums.first, d->sums.place, Packed(d->buffer[EXCHANGE_OWN].a, a.K), a.own.a, a.own.ld));
  }
  PetscCall(ExchangeCopyOwn(e, &a, host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Describe_NCCL(PetscCSRCExchange e, char text[], size_t len)
{
  const int v = PetscCSRCNCCLVersion, major = v < 10000 ? v / 1000 : v / 10000;

  PetscFunctionBegin;
  (void)e;
  PetscCall(PetscSNPrintf(text, len, " %d.%d.%d", major, v < 10000 ? v % 1000 / 100 : v % 10000 / 100, v % 100));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const ExchangeOps ExchangeNCCL = {
  .name         = "NCCL",
  .message      = 1e-6,
  .byte         = 1 / 150e9,
  .queued       = PETSC_TRUE,
  .create       = Create_NCCL,
  .destroy      = Destroy_NCCL,
  .prepare      = Prepare_NCCL,
  .forwardbegin = ForwardBegin_NCCL,
  .forwardend   = ForwardEnd_NCCL,
  .reversebegin = ReverseBegin_NCCL,
  .reverseend   = ReverseEnd_NCCL,
  .describe     = Describe_NCCL,
};
#endif
