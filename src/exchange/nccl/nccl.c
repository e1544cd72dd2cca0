/*
  Exchange by messages of NCCL, or with the pattern gather by its collectives. Packing, messages and sums are all queued. With K columns, the entries of a row
  travel side by side.

  Messages between neighbours have a stream of their own, of high priority, if there is enough other work meanwhile: synchronizing the
  two streams costs some microseconds.

  Sums are in the order of processes with the pattern lists, and in NCCL's order with gather: the same every time on the same machine.
*/
#include "../messages.h"
#include "ncclload.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include <petscdevice_cuda.h>

typedef struct {
  ExchangeMessages messages; /* first */
  PetscCSRCNCCL   *nccl;
  cudaStream_t     stream; /* for messages between Begin and End, if these are to overlap with other work; NULL: the current stream */
  cudaEvent_t      ready, done;
} NCCLData;

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
static PetscErrorCode End_NCCL(PetscCSRCExchange e)
{
  NCCLData    *d = (NCCLData *)e->data;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!d->stream) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallCUDA(cudaStreamWaitEvent(stream, d->done, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SendAndReceive(NCCLData *d, PetscInt K, const ExchangeMessageSide *to, const PetscScalar from[], const ExchangeMessageSide *of, PetscScalar into[])
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
    const ExchangeMessage *m = &to->message[k];

    ok = (*PetscCSRCNCCLFunctions.Send)(from + (size_t)m->sent * K, (size_t)m->n * parts, NCCL_SCALAR, m->rank, d->nccl->comm, stream);
  }
  for (PetscMPIInt k = 0; k < of->n && ok == NCCL_SUCCESS; k++) {
    const ExchangeMessage *m = &of->message[k];

    ok = (*PetscCSRCNCCLFunctions.Recv)(into + (size_t)m->received * K, (size_t)m->n * parts, NCCL_SCALAR, m->rank, d->nccl->comm, stream);
  }
  ended = (*PetscCSRCNCCLFunctions.GroupEnd)();
  PetscCallNCCL(ok);
  PetscCallNCCL(ended);
  if (d->stream) PetscCallCUDA(cudaEventRecord(d->done, d->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Begin_NCCL(PetscCSRCExchange e, int side, PetscInt K, PackedRows from, PackedRows into)
{
  NCCLData    *d = (NCCLData *)e->data;
  const size_t n = (size_t)e->stride * K * NCCL_SCALAR_PARTS;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  if (!e->gather) PetscCall(SendAndReceive(d, K, &d->messages.side[side], from.a, &d->messages.side[1 - side], into.a));
  else if (side == EXCHANGE_OWN) PetscCallNCCL((*PetscCSRCNCCLFunctions.AllGather)(from.a, into.a, n, NCCL_SCALAR, d->nccl->comm, stream));
  else PetscCallNCCL((*PetscCSRCNCCLFunctions.ReduceScatter)(from.a, into.a, n, NCCL_SCALAR, NCCL_SUM, d->nccl->comm, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const ExchangeTransport TransportNCCL = {PETSC_TRUE, PETSC_TRUE, Begin_NCCL, End_NCCL};

static PetscErrorCode Create_NCCL(PetscCSRCExchange e, const ExchangeNeighbours nb[2])
{
  NCCLData      *d = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PetscCSRCAgree(e->comm, PetscNew(&d), "An exchange by NCCL");
  if (ierr) PetscCall(PetscFree(d));
  PetscCall(ierr);
  e->data = d;
  e->mem  = PETSC_MEMTYPE_CUDA;
  PetscCall(PetscCSRCNCCLGet(e->comm, &d->nccl));
  if (e->overlap && !e->gather) PetscCall(CreateStream(d));
  PetscCall(ExchangeMessagesSetUp(e, nb, &TransportNCCL, EXCHANGE_DEVICE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy_NCCL(PetscCSRCExchange e)
{
  NCCLData *d = (NCCLData *)e->data;

  PetscFunctionBegin;
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  if (d->stream) PetscCallCUDA(cudaStreamDestroy(d->stream));
  if (d->ready) PetscCallCUDA(cudaEventDestroy(d->ready));
  if (d->done) PetscCallCUDA(cudaEventDestroy(d->done));
  PetscCall(ExchangeMessagesDestroy(e));
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
  .name     = "NCCL",
  .type     = PETSCCSRC_EXCHANGE_NCCL,
  .bytes    = 67108864.0,
  .columns  = PETSC_INT_MAX,
  .create   = Create_NCCL,
  .destroy  = Destroy_NCCL,
  .widen    = ExchangeMessagesWiden,
  .begin    = ExchangeMessagesBegin,
  .end      = ExchangeMessagesEnd,
  .describe = Describe_NCCL,
};
#endif
