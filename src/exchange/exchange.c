/*
  Creation of exchanges, with the choice of implementation and pattern; the functions of exchange.h. These copy arrays that are not in the memory of the
  implementation, and call it for as many columns at a time as its buffers have room for: Begin begins the first round, End ends it and makes the others.
*/
#include "exchangeimpl.h"
#include "nccl/ncclload.h"
#include "peer/peermemory.h"
#include "sys/testvalue.h"
#include <petsc/private/petscimpl.h>

const char *const PetscCSRCExchangeTypes[]    = {"auto", "mpi", "nccl", "peer", "shared", "PetscCSRCExchangeType", "PETSCCSRC_EXCHANGE_", NULL};
const char *const PetscCSRCExchangePatterns[] = {"auto", "lists", "gather", "PetscCSRCExchangePattern", "PETSCCSRC_PATTERN_", NULL};

/* The neighbours of the pattern lists. Each of the steps can fail on one process only, which must not leave the others waiting in the next one. */
static PetscErrorCode GetNeighbours(PetscCSRCExchange e, const PetscCSRCExchangeRequest *request, ExchangeNeighbours nb[2])
{
  PetscErrorCode ierr;
  PetscSF        sf;

  PetscFunctionBegin;
  /* on all processes, whatever fails then: PETSc counts the objects of a communicator for the tags of their messages */
  PetscCall(PetscSFCreate(e->comm, &sf));
  ierr = PetscCSRCAgree(e->comm, PetscSFSetGraphLayout(sf, request->layout, request->nghosts, NULL, PETSC_OWN_POINTER, request->ghosts), "The graph of an exchange");
  if (!ierr) ierr = PetscCSRCAgree(e->comm, PetscSFSetUp(sf), "The PetscSF of an exchange");
  if (!ierr) ierr = PetscCSRCAgree(e->comm, ExchangeNeighboursGet(sf, nb), "The neighbours of an exchange");
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(PetscCSRCExchange e, const PetscCSRCExchangeRequest *request)
{
  ExchangeNeighbours nb[2] = {{0}, {0}};
  PetscErrorCode     ierr  = e->gather ? PETSC_SUCCESS : GetNeighbours(e, request, nb);

  PetscFunctionBegin;
  if (!ierr) ierr = PetscCSRCAgree(e->comm, (*e->ops->create)(e, nb), "The set-up of an exchange");
  PetscCall(ExchangeNeighboursFree(nb));
  PetscCall(ierr);
  for (int s = 0; s < 2; s++) e->stage[s].place = PetscMemTypeHost(e->mem) ? EXCHANGE_HOST : EXCHANGE_DEVICE;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &e->rows, 1, MPIU_INT, MPI_MAX, e->comm));
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
  *chosen = nccl->usable ? PETSCCSRC_EXCHANGE_NCCL : PETSCCSRC_EXCHANGE_MPI;
  if (!nccl->usable) PetscCall(PetscInfo(NULL, "Exchange by messages of MPI, not of NCCL: %s\n", nccl->reason));
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

/* What processes ask for, as maxima over all of them */
enum {
  MOST_OWN,
  MOST_GHOSTS,
  MOST_NEIGHBOURS,
  MOST_ONNODE, /* processes that share memory */
  ANY_HOST,    /* 1: some process has its arrays on the host; likewise the others */
  ANY_DEVICE,
  ANY_LISTS,
  NUM_MOST
};

/* Collective, with the same answer on all processes */
static PetscErrorCode ChooseImplementation(PetscCSRCExchange e, PetscCSRCExchangeType type, const PetscInt most[])
{
  PetscFunctionBegin;
  e->ops      = &ExchangeMPI;
  e->required = type == PETSCCSRC_EXCHANGE_AUTO ? PETSC_FALSE : PETSC_TRUE;
#if defined(PETSC_HAVE_MPI_PROCESS_SHARED_MEMORY)
  PetscCheck(type != PETSCCSRC_EXCHANGE_SHARED || !most[ANY_DEVICE], e->comm, PETSC_ERR_SUP, "Exchange shared: a process has its part on a device");
  if (type == PETSCCSRC_EXCHANGE_SHARED || (type == PETSCCSRC_EXCHANGE_AUTO && !most[ANY_DEVICE] && most[MOST_ONNODE] > 1)) e->ops = &ExchangeShared;
#else
  PetscCheck(type != PETSCCSRC_EXCHANGE_SHARED, e->comm, PETSC_ERR_SUP, "Exchange shared: this MPI has no memory that processes share");
#endif
#if defined(PETSCCSRC_HAVE_CUDA)
  if (type == PETSCCSRC_EXCHANGE_PEER || type == PETSCCSRC_EXCHANGE_NCCL || (type == PETSCCSRC_EXCHANGE_AUTO && !most[ANY_HOST] && e->size > 1)) {
    PetscCSRCExchangeType chosen = PETSCCSRC_EXCHANGE_MPI;
    const char           *whynot = "";

    PetscCheck(!most[ANY_HOST], e->comm, PETSC_ERR_SUP, "Exchange %s: not all processes have their part on a device; leave -mat_form_exchange out to let the library choose", PetscCSRCExchangeTypes[type]);
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
  PetscCSRCExchangePattern pattern = request->pattern;
  PetscInt                 most[NUM_MOST];
  PetscLogDouble           seconds[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(e->comm, &e->size));
  PetscCallMPI(MPI_Comm_rank(e->comm, &e->rank));
  PetscCall(PetscLayoutReference(request->layout, &e->layout));
  PetscCall(PetscLayoutGetLocalSize(e->layout, &e->n));
  e->overlap        = request->overlap;
  e->ondevice       = request->ondevice;
  e->pernode        = request->pernode;
  most[MOST_OWN]    = e->n;
  most[MOST_GHOSTS] = request->nghosts;
  most[ANY_HOST]    = request->ondevice ? 0 : 1;
  most[ANY_DEVICE]  = request->ondevice ? 1 : 0;
  most[ANY_LISTS]   = request->lists ? 1 : 0;
  most[MOST_ONNODE] = 1;
  PetscCall(CountNeighbours(request, &most[MOST_NEIGHBOURS]));
#if defined(PETSC_HAVE_MPI_PROCESS_SHARED_MEMORY)
  PetscCall(ExchangeSharedCount(e->comm, &most[MOST_ONNODE]));
#endif
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, most, NUM_MOST, MPIU_INT, MPI_MAX, e->comm));
  PetscCall(ChooseImplementation(e, request->type, most));
  e->stride    = most[MOST_OWN];
  e->processes = (PetscCSRCProcesses){e->ops->type, e->size, most[MOST_OWN], most[MOST_GHOSTS], most[MOST_NEIGHBOURS]};
  if (most[ANY_LISTS]) pattern = PETSCCSRC_PATTERN_LISTS;
  /* on the host, lists with one product for each block are no slower, and the blocks exist already */
  if (pattern == PETSCCSRC_PATTERN_AUTO) pattern = most[ANY_HOST] || e->size == 1 ? PETSCCSRC_PATTERN_LISTS : PetscCSRCExpect(&e->processes, pattern, 0, NULL, seconds);
  e->gather = (PetscBool)(pattern == PETSCCSRC_PATTERN_GATHER);
  if (e->gather && e->ops->type == PETSCCSRC_EXCHANGE_SHARED) e->ops = &ExchangeMPI; /* tests ask for it */
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
  e->ops = &ExchangeMPI; /* until another one is chosen */
  PetscCall(PetscCommDuplicate(comm, &e->comm, &e->tag));
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
  for (int s = 0; s < 2; s++) PetscCall(ExchangeBufferFree(&(*e)->stage[s]));
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

PetscErrorCode PetscCSRCExchangeExpect(PetscCSRCExchange e, PetscInt n, const PetscCSRCWork work[], PetscLogDouble seconds[2])
{
  PetscFunctionBegin;
  seconds[0] = seconds[1] = 0;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (!PetscMemTypeHost(e->mem) && !(e->processes.type == PETSCCSRC_EXCHANGE_MPI && use_gpu_aware_mpi)) (void)PetscCSRCExpect(&e->processes, e->gather ? PETSCCSRC_PATTERN_GATHER : PETSCCSRC_PATTERN_LISTS, n, work, seconds);
#else
  (void)e;
  (void)n;
  (void)work;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCExchangeDescribe(PetscCSRCExchange e, char text[], size_t len)
{
  char     more[128] = "";
  PetscInt N;

  PetscFunctionBegin;
  if (e->ops->describe) PetscCall((*e->ops->describe)(e, more, sizeof(more)));
  PetscCall(PetscLayoutGetSize(e->layout, &N));
  if (e->gather) PetscCall(PetscSNPrintf(text, len, "by %s%s, all %" PetscInt_FMT " entries are gathered", e->ops->name, more, N));
  else PetscCall(PetscSNPrintf(text, len, "by %s%s, lists of at most %" PetscInt_FMT " entries from %" PetscInt_FMT " processes", e->ops->name, more, e->processes.ghosts, e->processes.neighbours));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The arrays of a call in the memory of the implementation: copies in place of those that are elsewhere; contents are not copied */
static PetscErrorCode Stage(PetscCSRCExchange e, const ExchangeArrays *a, ExchangeArrays *b)
{
  ExchangeArray *const x[2] = {&b->own, &b->ghost};
  const PetscInt       n[2] = {e->n, e->nghost};

  PetscFunctionBegin;
  *b = *a;
  for (int s = 0; s < 2; s++) {
    if (PetscMemTypeHost(x[s]->mem) == PetscMemTypeHost(e->mem)) continue;
    PetscCall(ExchangeBufferGrow(&e->stage[s], (size_t)n[s] * a->K));
    *x[s] = (ExchangeArray){e->stage[s].a, n[s], e->mem};
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeRoom(PetscCSRCExchange e, const ExchangeArrays *a, PetscInt *width)
{
  ExchangeArrays b;

  PetscFunctionBegin;
  if (*width > e->width) PetscCall((*e->ops->widen)(e, width));
  PetscCall(Stage(e, a, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A call with more columns than any before makes room for them. This happens on all processes, since K is the same */
static PetscErrorCode Prepare(PetscCSRCExchange e, const ExchangeArrays *a)
{
  const double    fit    = e->ops->bytes / ((double)PetscMax(e->rows, 1) * sizeof(PetscScalar));
  PetscInt        width  = fit < 1 || a->panel ? 1 : (PetscInt)PetscMin(fit, (double)PetscMin(a->K, e->ops->columns));
  PetscInt *const widest = &e->widest[a->panel ? 1 : 0];
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  if (a->K <= *widest) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = PetscCSRCAgree(e->comm, MakeRoom(e, a, &width), "Room for an exchange");
  if (ierr) e->width = e->widest[0] = e->widest[1] = 0; /* on all processes, which then make it again together */
  PetscCall(ierr);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &width, 1, MPIU_INT, MPI_MIN, e->comm));
  e->width = PetscMax(e->width, width);
  *widest  = a->K;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The columns of a round, which begins with column k; of panels, all */
static ExchangeArrays Columns(PetscCSRCExchange e, const ExchangeArrays *a, PetscInt k)
{
  ExchangeArrays b = *a;

  if (!a->panel) b.K = PetscMin(e->width, a->K - k);
  b.own.a += (size_t)a->own.ld * k;
  b.ghost.a += (size_t)a->ghost.ld * k;
  return b;
}

/* Copies a side between the arrays of a call and those in the memory of the implementation, unless they are the same; waits for the copy */
static PetscErrorCode CopySide(PetscCSRCExchange e, int side, const ExchangeArrays *from, const ExchangeArrays *to)
{
  const ExchangeArray x = ExchangeSideOf(from, side), y = ExchangeSideOf(to, side);

  PetscFunctionBegin;
  if (PetscMemTypeHost(x.mem) == PetscMemTypeHost(y.mem)) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(PETSCCSRC_HAVE_CUDA)
  PetscCall(PetscCSRCDeviceCopy2D(y.a, y.ld, y.mem, x.a, x.ld, x.mem, side == EXCHANGE_OWN ? e->n : e->nghost, from->K));
  PetscCall(PetscCSRCDeviceWait());
#else
  (void)e;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCExchangeBegin(PetscCSRCExchange e, PetscCSRCDirection direction, const ExchangeArrays *a)
{
  ExchangeArrays b;

  PetscFunctionBegin;
  PetscCheck(direction != PETSCCSRC_REVERSE_INSERT || e->gather, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "With the pattern lists sums are added, not inserted");
  if (!a->K) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Prepare(e, a));
  PetscCall(Stage(e, a, &b));
  PetscCall(CopySide(e, ExchangeSent(direction), a, &b));
  b = Columns(e, &b, 0);
  PetscCall((*e->ops->begin)(e, direction, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCExchangeEnd(PetscCSRCExchange e, PetscCSRCDirection direction, const ExchangeArrays *a)
{
  ExchangeArrays b, round;

  PetscFunctionBegin;
  PetscCall(Stage(e, a, &b));
  if (direction == PETSCCSRC_REVERSE_ADD) PetscCall(CopySide(e, EXCHANGE_OWN, a, &b));
  for (PetscInt k = 0; k < a->K; k += round.K) {
    round = Columns(e, &b, k);
    if (k) PetscCall((*e->ops->begin)(e, direction, &round));
    PetscCall((*e->ops->end)(e, direction, &round));
  }
  PetscCall(CopySide(e, 1 - ExchangeSent(direction), &b, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCExchangeGetPanel(PetscCSRCExchange e, PetscInt K, PetscInt *panel, PetscScalar **rows)
{
  char      value[16];
  PetscBool found;

  PetscFunctionBegin;
  *panel = K;
  if (!e->gather || !e->ops->panel) PetscFunctionReturn(PETSC_SUCCESS);
  *panel = PetscCSRCExpectPanel(&e->processes, K);
  PetscCall(PetscCSRCTestValue("panel", value, sizeof(value), &found)); /* 0: all columns at once */
  if (found) *panel = atoi(value) > 0 ? (PetscInt)PetscMin(K, atoi(value)) : K;
  if (rows && *panel < K) PetscCall((*e->ops->rows)(e, K, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCExchangePanel(PetscCSRCExchange e, PetscCSRCDirection direction, const ExchangeArrays *a, PetscInt k)
{
  ExchangeArrays b;

  PetscFunctionBegin;
  PetscCall(Stage(e, a, &b));
  PetscCall((*e->ops->panel)(e, direction, &b, k));
  PetscFunctionReturn(PETSC_SUCCESS);
}
