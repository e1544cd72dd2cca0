/* Creation of exchanges, with the choice of implementation and pattern; the functions of exchange.h, which call the implementation */
#include "exchangeimpl.h"
#include "nccl/ncclload.h"
#include "peer/peermemory.h"
#include <petsc/private/petscimpl.h>

const char *const PetscCSRCExchangeTypes[]    = {"auto", "sf", "nccl", "peer", "shared", "PetscCSRCExchangeType", "PETSCCSRC_EXCHANGE_", NULL};
const char *const PetscCSRCExchangePatterns[] = {"auto", "lists", "gather", "PetscCSRCExchangePattern", "PETSCCSRC_PATTERN_", NULL};

/*
  Seconds that the pattern lists takes longer than gather, besides what an exchange is made for: two short kernels, for packing and for the
  separate product with the off-diagonal block (two H200s of one host, docs/parallel.md)
*/
#define SECONDS_KERNELS 8e-6

/* Whether the pattern gather is faster than lists on devices. Both times are the same on all processes, and so is the answer. */
static PetscBool GatherPays(PetscCSRCExchange e)
{
  const double gather = (double)(e->size - 1) * (double)e->stride * sizeof(PetscScalar) * e->ops->byte;
  const double lists  = (double)e->mostghosts * sizeof(PetscScalar) * e->ops->byte + PetscMax(e->mostnbs - 1, 0) * e->ops->message + SECONDS_KERNELS;

  return gather <= lists ? PETSC_TRUE : PETSC_FALSE;
}

/* The leaves of a gather: ghost entry r * stride + i is entry i of process r */
static PetscErrorCode GatherLeaves(PetscCSRCExchange e, PetscInt **local, PetscSFNode **remote)
{
  const PetscInt *range;
  PetscInt        k = 0;

  PetscFunctionBegin;
  PetscCall(PetscLayoutGetRanges(e->layout, &range));
  PetscCall(PetscMalloc1(e->N, local));
  PetscCall(PetscMalloc1(e->N, remote));
  for (PetscMPIInt r = 0; r < e->size; r++) {
    for (PetscInt i = 0; i < range[r + 1] - range[r]; i++, k++) {
      (*local)[k]        = r * e->stride + i;
      (*remote)[k].rank  = r;
      (*remote)[k].index = i;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetGraph(PetscCSRCExchange e, const PetscCSRCExchangeRequest *request, PetscSF sf)
{
  PetscInt      *local  = NULL;
  PetscSFNode   *remote = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (e->gather) {
    /* agreed before the graph is set: when events are logged, all processes meet there */
    ierr = PetscCSRCAgree(e->comm, GatherLeaves(e, &local, &remote), "The graph of an exchange");
    if (ierr) {
      PetscCall(PetscFree(local));
      PetscCall(PetscFree(remote));
    }
    PetscCall(ierr);
    PetscCall(PetscSFSetGraph(sf, e->n, e->N, local, PETSC_OWN_POINTER, remote, PETSC_OWN_POINTER));
  } else {
    ierr = PetscSFSetGraphLayout(sf, request->layout, request->nghosts, NULL, PETSC_OWN_POINTER, request->ghosts);
    PetscCall(PetscCSRCAgree(e->comm, ierr, "The graph of an exchange"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the implementation from the graph of the exchange. Each of the steps can fail on one process only, which must not leave the others waiting in the next one. */
static PetscErrorCode Create(PetscCSRCExchange e, const PetscCSRCExchangeRequest *request)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscSF        sf   = NULL;

  PetscFunctionBegin;
  if (!e->gather || !e->ops->queued) {
    /* on all processes, whatever fails then: PETSc counts the objects of a communicator for the tags of their messages */
    PetscCall(PetscSFCreate(e->comm, &sf));
    ierr = SetGraph(e, request, sf);
    if (!ierr) ierr = PetscCSRCAgree(e->comm, PetscSFSetUp(sf), "The PetscSF of an exchange");
  }
  if (!ierr) ierr = PetscCSRCAgree(e->comm, (*e->ops->create)(e, sf), "The set-up of an exchange");
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
/*
  Processes that share a device wait for each other's time on it, if their kernels wait for each other: so they exchange by `peer` only if that is
  asked for, as tests do.
*/
PetscErrorCode ExchangeChooseOnDevices(MPI_Comm comm, PetscCSRCExchangeType asked, PetscCSRCExchangeType *chosen, const char **whynot)
{
  PetscBool      usable = PETSC_FALSE, share = PETSC_FALSE;
  PetscCSRCNCCL *nccl;

  PetscFunctionBegin;
  *chosen = PETSCCSRC_EXCHANGE_PEER;
  if (asked != PETSCCSRC_EXCHANGE_NCCL) {
    PetscCall(PetscCSRCPeersUsable(comm, &usable, &share, whynot));
    if (usable && (!share || asked == PETSCCSRC_EXCHANGE_PEER)) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscInfo(NULL, "Exchange not through memory of the other devices: %s\n", *whynot));
  }
  PetscCall(PetscCSRCNCCLGet(comm, &nccl));
  *chosen = nccl->usable ? PETSCCSRC_EXCHANGE_NCCL : PETSCCSRC_EXCHANGE_SF;
  if (!nccl->usable) PetscCall(PetscInfo(NULL, "Exchange by PetscSF, not by NCCL: %s\n", nccl->reason));
  if (asked == PETSCCSRC_EXCHANGE_NCCL) *whynot = nccl->reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static PetscErrorCode CountNeighbours(const PetscCSRCExchangeRequest *request, PetscInt *n)
{
  const PetscInt *range;
  PetscMPIInt     owner = -1;

  PetscFunctionBegin;
  *n = 0;
  PetscCall(PetscLayoutGetRanges(request->layout, &range));
  /* in unsorted ghosts an owner is counted more than once: lists then only look more expensive than they are */
  for (PetscInt k = 0; k < request->nghosts; k++) {
    if (owner >= 0 && request->ghosts[k] >= range[owner] && request->ghosts[k] < range[owner + 1]) continue;
    PetscCall(PetscLayoutFindOwner(request->layout, request->ghosts[k], &owner));
    (*n)++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective, with the same answer on all processes. pernode: the largest number of processes that share memory. */
static PetscErrorCode ChooseImplementation(PetscCSRCExchange e, PetscCSRCExchangeType type, PetscBool ondevices, PetscInt pernode)
{
  PetscFunctionBegin;
  e->ops      = &ExchangeSF;
  e->required = type == PETSCCSRC_EXCHANGE_AUTO ? PETSC_FALSE : PETSC_TRUE;
#if defined(PETSC_HAVE_MPI_PROCESS_SHARED_MEMORY)
  PetscCheck(type != PETSCCSRC_EXCHANGE_SHARED || !e->anydevice, e->comm, PETSC_ERR_SUP, "Exchange shared: a process has its part on a device");
  if (type == PETSCCSRC_EXCHANGE_SHARED || (type == PETSCCSRC_EXCHANGE_AUTO && !e->anydevice && pernode > 1)) e->ops = &ExchangeShared;
#else
  (void)pernode;
  PetscCheck(type != PETSCCSRC_EXCHANGE_SHARED, e->comm, PETSC_ERR_SUP, "Exchange shared: this MPI has no memory that processes share");
#endif
#if defined(PETSCCSRC_HAVE_CUDA)
  if (type == PETSCCSRC_EXCHANGE_PEER || type == PETSCCSRC_EXCHANGE_NCCL || (type == PETSCCSRC_EXCHANGE_AUTO && ondevices && e->size > 1)) {
    PetscCSRCExchangeType chosen = PETSCCSRC_EXCHANGE_SF;
    const char           *whynot = "";

    PetscCheck(ondevices, e->comm, PETSC_ERR_SUP, "Exchange %s: not all processes have their part on a device; leave -mat_form_exchange out to let the library choose", PetscCSRCExchangeTypes[type]);
    PetscCall(ExchangeChooseOnDevices(e->comm, type, &chosen, &whynot));
    PetscCheck(chosen == type || type == PETSCCSRC_EXCHANGE_AUTO, e->comm, PETSC_ERR_SUP, "Exchange %s: %s", PetscCSRCExchangeTypes[type], whynot);
    if (chosen == PETSCCSRC_EXCHANGE_PEER) e->ops = &ExchangePeer;
    if (chosen == PETSCCSRC_EXCHANGE_NCCL) e->ops = &ExchangeNCCL;
  }
#else
  PetscCheck(type != PETSCCSRC_EXCHANGE_NCCL && type != PETSCCSRC_EXCHANGE_PEER, e->comm, PETSC_ERR_SUP, "Exchange %s: petsccsrc was built without CUDA", PetscCSRCExchangeTypes[type]);
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error here is one on all processes */
static PetscErrorCode SetUp(PetscCSRCExchange e, const PetscCSRCExchangeRequest *request)
{
  PetscInt most[7];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(e->comm, &e->size));
  PetscCallMPI(MPI_Comm_rank(e->comm, &e->rank));
  PetscCall(PetscLayoutReference(request->layout, &e->layout));
  PetscCall(PetscLayoutGetLocalSize(e->layout, &e->n));
  PetscCall(PetscLayoutGetSize(e->layout, &e->N));
  e->overlap      = request->overlap;
  e->reproducible = request->reproducible;
  e->pernode      = request->pernode;
  most[0]         = e->n;
  most[1]         = request->nghosts;
  most[3]         = request->ondevice ? 0 : 1;
  most[4]         = request->ondevice ? 1 : 0;
  PetscCall(CountNeighbours(request, &most[2]));
  most[5] = 1;
  most[6] = request->lists ? 1 : 0;
#if defined(PETSC_HAVE_MPI_PROCESS_SHARED_MEMORY)
  PetscCall(ExchangeSharedCount(e->comm, &most[5]));
#endif
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, most, 7, MPIU_INT, MPI_MAX, e->comm));
  e->stride     = most[0];
  e->mostghosts = most[1];
  e->mostnbs    = most[2];
  e->anydevice  = most[4] ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(ChooseImplementation(e, request->type, most[3] ? PETSC_FALSE : PETSC_TRUE, most[5]));
  if (most[6]) e->gather = PETSC_FALSE;
  else if (request->pattern != PETSCCSRC_PATTERN_AUTO) e->gather = request->pattern == PETSCCSRC_PATTERN_GATHER ? PETSC_TRUE : PETSC_FALSE;
  else e->gather = !most[3] && e->size > 1 ? GatherPays(e) : PETSC_FALSE; /* on the host, lists with one product for each block are no slower, and the blocks exist already */
  PetscCheck(!e->gather || (double)e->size * e->stride < PETSC_INT_MAX, e->comm, PETSC_ERR_SUP, "Exchange pattern gather: %d processes with up to %" PetscInt_FMT " entries are more than an integer can count", (int)e->size, e->stride);
  if (!e->gather) e->stride = 0;
  e->nghost = e->gather ? e->size * e->stride : request->nghosts;
  PetscCall(Create(e, request));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCExchangeCreate(MPI_Comm comm, const PetscCSRCExchangeRequest *request, PetscCSRCExchange *exchange)
{
  PetscCSRCExchange e = NULL;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  ierr = PetscCSRCAgree(comm, PetscNew(&e), "An exchange");
  if (ierr) PetscCall(PetscFree(e));
  PetscCall(ierr);
  e->ops = &ExchangeSF; /* until another one is chosen */
  PetscCall(PetscCommDuplicate(comm, &e->comm, NULL));
  ierr = SetUp(e, request);
  if (ierr) PetscCall(PetscCSRCExchangeDestroy(&e));
  PetscCall(ierr);
  *exchange = e;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCExchangeDestroy(PetscCSRCExchange *e)
{
  PetscFunctionBegin;
  if (!*e) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*(*e)->ops->destroy)(*e));
  PetscCall(PetscLayoutDestroy(&(*e)->layout));
  PetscCall(PetscCommDestroy(&(*e)->comm));
  PetscCall(PetscFree(*e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCExchangeGetGhosts(PetscCSRCExchange e, PetscInt *n, PetscInt *stride)
{
  PetscFunctionBegin;
  if (n) *n = e->nghost;
  if (stride) *stride = e->stride;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCExchangeDescribe(PetscCSRCExchange e, char text[], size_t len)
{
  char more[128] = "";

  PetscFunctionBegin;
  PetscCall((*e->ops->describe)(e, more, sizeof(more)));
  if (e->gather) PetscCall(PetscSNPrintf(text, len, "by %s%s, all %" PetscInt_FMT " entries are gathered", e->ops->name, more, e->N));
  else PetscCall(PetscSNPrintf(text, len, "by %s%s, lists of at most %" PetscInt_FMT " entries from %" PetscInt_FMT " processes", e->ops->name, more, e->mostghosts, e->mostnbs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A call with more columns than any before makes room for them. This happens on all processes, since K is the same */
static PetscErrorCode Prepare(PetscCSRCExchange e, const ExchangeArrays *a)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (a->K <= e->widest) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = (*e->ops->prepare)(e, a);
  PetscCall(PetscCSRCAgree(e->comm, ierr, "Room for an exchange"));
  e->widest = a->K;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCExchangeForwardBegin(PetscCSRCExchange e, PetscInt K, const PetscScalar own[], PetscInt ldown, PetscMemType ownmem, PetscScalar ghost[], PetscInt ldghost, PetscMemType ghostmem)
{
  const ExchangeArrays a = {.K = K, .own.a = (PetscScalar *)own, .own.ld = ldown, .own.mem = ownmem, .ghost.a = ghost, .ghost.ld = ldghost, .ghost.mem = ghostmem};

  PetscFunctionBegin;
  PetscCall(Prepare(e, &a));
  PetscCall((*e->ops->forwardbegin)(e, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCExchangeForwardEnd(PetscCSRCExchange e, PetscInt K, const PetscScalar own[], PetscInt ldown, PetscMemType ownmem, PetscScalar ghost[], PetscInt ldghost, PetscMemType ghostmem)
{
  const ExchangeArrays a = {.K = K, .own.a = (PetscScalar *)own, .own.ld = ldown, .own.mem = ownmem, .ghost.a = ghost, .ghost.ld = ldghost, .ghost.mem = ghostmem};

  PetscFunctionBegin;
  PetscCall((*e->ops->forwardend)(e, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCExchangeReverseBegin(PetscCSRCExchange e, InsertMode mode, PetscInt K, PetscScalar ghost[], PetscInt ldghost, PetscMemType ghostmem, PetscScalar own[], PetscInt ldown, PetscMemType ownmem)
{
  const ExchangeArrays a = {.K = K, .own.a = own, .own.ld = ldown, .own.mem = ownmem, .ghost.a = ghost, .ghost.ld = ldghost, .ghost.mem = ghostmem};

  PetscFunctionBegin;
  PetscCheck(mode == ADD_VALUES || (mode == INSERT_VALUES && e->gather), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "InsertMode %d: the pattern %s takes %s", (int)mode, e->gather ? "gather" : "lists",
             e->gather ? "ADD_VALUES and INSERT_VALUES" : "ADD_VALUES only");
  PetscCall(Prepare(e, &a));
  PetscCall((*e->ops->reversebegin)(e, mode, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCExchangeReverseEnd(PetscCSRCExchange e, InsertMode mode, PetscInt K, PetscScalar ghost[], PetscInt ldghost, PetscMemType ghostmem, PetscScalar own[], PetscInt ldown, PetscMemType ownmem)
{
  const ExchangeArrays a = {.K = K, .own.a = own, .own.ld = ldown, .own.mem = ownmem, .ghost.a = ghost, .ghost.ld = ldghost, .ghost.mem = ghostmem};

  PetscFunctionBegin;
  PetscCall((*e->ops->reverseend)(e, mode, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}
