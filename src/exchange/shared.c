/*
  Exchange through memory that the processes of a node share (sharedmemory.c). Each process writes what others need into its
  segment of this memory and increments a counter; the others read it there. There are no messages, and no copies but into the segment and
  out of it. Entries from and for other nodes travel by messages of MPI.

      segment of a process  written  read        the number of exchanges for which it has written, and has read from the others
                            buffer 0, buffer 1   `rows` rows of up to `width` columns: in forward its own entries that others need, in
                                                 reverse its ghost entries, those of each owner together

  Exchange t uses buffer t % 2. Before a process writes, its neighbours must have read exchange t - 2. This is nearly always so, and then a
  process waits only for what it reads.

  A process that waits polls the segment of the other process. After some microseconds it yields its core between two polls, in case there
  are more processes than cores, and lets MPI make progress: others may be in an MPI call that needs something from this process.
*/
#include "exchangeimpl.h"

#if defined(PETSC_HAVE_MPI_PROCESS_SHARED_MEMORY)
  #include <sched.h>

  #define LOOKS 400 /* polls before a process yields its core, some 10 us */
  #define LINE  128 /* bytes that are written by one process only: a cache line, and the one that is prefetched with it */

typedef struct {
  PetscInt64 written;
  char       pad0[LINE - sizeof(PetscInt64)];
  PetscInt64 read;
  char       pad1[LINE - sizeof(PetscInt64)];
} SharedSegment; /* buffers follow */

/* Entries of an array that a process writes to its segment */
typedef struct {
  PetscInt  n, *idx;
  PetscBool consecutive; /* idx[k] = idx[0] + k, which is frequent */
} SharedList;

typedef struct {
  PetscShmComm     shm;
  MPI_Comm         node;
  PetscMPIInt      nodesize, noderank;
  PetscMPIInt      first; /* the rank in `shm`, which numbers all processes that share memory, of the process that has number 0 on this node */
  ExchangeSegments segments;
  SharedSegment  **segment; /* of each process of the node */
  PetscInt64       now;     /* the number of the present or last exchange */
  PetscInt         rows, width;

  /* processes of the node, by their ranks there: EXCHANGE_OWN: readers of own entries, idx: own entries; EXCHANGE_GHOST: owners of ghosts, idx: rows of the ghost array */
  ExchangeNeighbours nb[2];
  PetscInt          *place;          /* for each ghost, its row in the owner's buffer */
  PetscInt          *start;          /* for each reader, the row in its buffer where its sums for this process begin */
  SharedList         packed, ghosts; /* own entries that are written for others; ghosts, with the idx of owners */
  PetscCSRCExchange  rest;           /* the exchange of this process with other nodes; NULL if there is none */
  PetscBool          between;        /* some process has one */
} SharedData;

static inline PetscScalar *Buffer(const SharedData *d, PetscMPIInt r)
{
  return (PetscScalar *)(d->segment[r] + 1) + (size_t)(d->now % 2) * d->rows * d->width;
}

/* Waits until another process's counter is at least `least`; after LOOKS polls it yields the core */
static PetscErrorCode WaitUntil(const SharedData *d, const PetscInt64 *count, PetscInt64 least)
{
  PetscFunctionBegin;
  for (int looks = 0; __atomic_load_n(count, __ATOMIC_ACQUIRE) < least;) {
    if (looks < LOOKS) {
      looks++;
  #if defined(__x86_64__)
      __builtin_ia32_pause();
  #elif defined(__aarch64__)
      __asm__ volatile("isb"); /* takes about as long; the instruction yield takes no time */
  #endif
    } else {
      int found;

      PetscCallMPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, d->node, &found, MPI_STATUS_IGNORE));
      (void)sched_yield();
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Begins the next exchange: waits until nobody reads any more from the buffer that this process is about to overwrite */
static PetscErrorCode Next(SharedData *d)
{
  PetscFunctionBegin;
  d->now++;
  for (int s = 0; s < 2; s++) {
    for (PetscMPIInt k = 0; k < d->nb[s].n; k++) PetscCall(WaitUntil(d, &d->segment[d->nb[s].rank[k]]->read, d->now - 2));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Publishes that this process has written, or read, exchange `now`: others may then read it, or overwrite it */
static void Tell(const SharedData *d, PetscInt64 *count)
{
  __atomic_store_n(count, d->now, __ATOMIC_RELEASE);
}

/* ---------------------------------------------------------------- creation */
/* The number of a process on this node; MPI_PROC_NULL if it is on another node */
static PetscErrorCode NodeRank(const SharedData *d, PetscMPIInt rank, PetscMPIInt *local)
{
  PetscFunctionBegin;
  PetscCall(PetscShmCommGlobalToLocal(d->shm, rank, local));
  if (*local < d->first || *local >= d->first + d->nodesize) *local = MPI_PROC_NULL;
  else *local -= d->first;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The communicator of the processes that share memory, or of at most e->pernode of them */
static PetscErrorCode SetNode(PetscCSRCExchange e)
{
  SharedData *d = (SharedData *)e->data;
  MPI_Comm    all;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCall(PetscShmCommGet(e->comm, &d->shm));
  PetscCall(PetscShmCommGetMpiShmComm(d->shm, &all));
  PetscCallMPI(MPI_Comm_rank(all, &rank));
  if (e->pernode) d->first = rank / e->pernode * e->pernode;
  if (e->pernode) PetscCallMPI(MPI_Comm_split(all, d->first, rank, &d->node));
  else d->node = all;
  PetscCallMPI(MPI_Comm_size(d->node, &d->nodesize));
  PetscCallMPI(MPI_Comm_rank(d->node, &d->noderank));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static SharedList SetList(PetscInt n, PetscInt idx[])
{
  SharedList list = {n, idx, (PetscBool)(n > 0)};

  for (PetscInt k = 0; k < n && list.consecutive; k++) list.consecutive = (PetscBool)(idx[k] == idx[0] + k);
  return list;
}

/*
  The own entries that are written for others. Most readers share one list, in which each entry is written once; number[] is the row of an
  entry. A reader that would touch many cache lines there for the entries that it needs gets rows of its own, from start[] on; -1: it reads
  the shared list.
*/
static PetscErrorCode SetPacked(PetscCSRCExchange e, PetscInt number[], PetscInt start[])
{
  SharedData               *d       = (SharedData *)e->data;
  const ExchangeNeighbours *readers = &d->nb[EXCHANGE_OWN];
  const PetscInt            perline = LINE / 2 / sizeof(PetscScalar);
  PetscInt                  n, *packed;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(e->n + readers->offset[readers->n], &packed));
  for (PetscMPIInt r = 0; r < readers->n; r++) start[r] = -1;
  for (int pass = 0; pass < 2; pass++) { /* pass 0: all share the list, to find who needs rows of its own; pass 1: without these */
    PetscCall(PetscArrayzero(number, e->n));
    for (PetscMPIInt r = 0; r < readers->n; r++) {
      if (start[r] >= 0) continue;
      for (PetscInt k = readers->offset[r]; k < readers->offset[r + 1]; k++) number[readers->idx[k]] = 1;
    }
    n = 0;
    for (PetscInt i = 0; i < e->n; i++) {
      if (!number[i]) continue;
      packed[n] = i;
      number[i] = n++;
    }
    for (PetscMPIInt r = 0; !pass && r < readers->n; r++) {
      const PetscInt count = readers->offset[r + 1] - readers->offset[r];
      PetscInt       lines = 0, last = -1;

      for (PetscInt k = readers->offset[r]; k < readers->offset[r + 1]; k++) {
        const PetscInt line = number[readers->idx[k]] / perline;

        if (line != last) lines++;
        last = line;
      }
      if (lines > 2 * (count / perline + 1)) start[r] = 0;
    }
  }
  for (PetscMPIInt r = 0; r < readers->n; r++) {
    if (start[r] < 0) continue;
    start[r] = n;
    for (PetscInt k = readers->offset[r]; k < readers->offset[r + 1]; k++) packed[n++] = readers->idx[k];
  }
  d->packed = SetList(n, packed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for what processes tell each other at the set-up */
typedef struct {
  PetscInt    *number, *start; /* as above */
  PetscInt    *place;          /* for each entry that is read, its row in the segment */
  MPI_Request *requests;
} SharedWork;

/* Those of nb that are on this node, and the others */
static PetscErrorCode Divide(const SharedData *d, const ExchangeNeighbours *nb, ExchangeNeighbours *here, ExchangeNeighbours *elsewhere)
{
  PetscBool     *take;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(nb->n, &take));
  for (PetscMPIInt k = 0; k < nb->n; k++) {
    PetscMPIInt local;

    PetscCall(NodeRank(d, nb->rank[k], &local));
    take[k] = local == MPI_PROC_NULL ? PETSC_FALSE : PETSC_TRUE;
  }
  ierr = ExchangeNeighboursCreate(nb->n, nb->rank, nb->offset, nb->idx, take, here);
  for (PetscMPIInt k = 0; k < nb->n; k++) take[k] = take[k] ? PETSC_FALSE : PETSC_TRUE;
  if (!ierr) ierr = ExchangeNeighboursCreate(nb->n, nb->rank, nb->offset, nb->idx, take, elsewhere);
  PetscCall(PetscFree(take));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateRest(PetscCSRCExchange e, const ExchangeNeighbours nb[2])
{
  SharedData *d = (SharedData *)e->data;

  PetscFunctionBegin;
  if (!nb[0].n && !nb[1].n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&d->rest));
  *d->rest      = *e;
  d->rest->ops  = &ExchangeMPI;
  d->rest->data = NULL;
  PetscCall((*d->rest->ops->create)(d->rest, nb));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Who reads what this process writes, and what it reads of others, without communication. elsewhere is to be freed also after an error. */
static PetscErrorCode SetPeers(PetscCSRCExchange e, const ExchangeNeighbours nb[2], ExchangeNeighbours elsewhere[2], SharedWork *w)
{
  SharedData               *d      = (SharedData *)e->data;
  const ExchangeNeighbours *owners = &d->nb[EXCHANGE_GHOST], *readers = &d->nb[EXCHANGE_OWN];

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(d->nodesize, &d->segment));
  for (int s = 0; s < 2; s++) PetscCall(Divide(d, &nb[s], &d->nb[s], &elsewhere[s]));
  PetscCall(CreateRest(e, elsewhere));
  d->ghosts = SetList(owners->offset[owners->n], owners->idx);
  PetscCall(PetscMalloc1(owners->offset[owners->n], &d->place));
  PetscCall(PetscMalloc1(readers->n, &d->start));
  PetscCall(PetscMalloc4(e->n, &w->number, readers->n, &w->start, readers->offset[readers->n], &w->place, 2 * (readers->n + owners->n), &w->requests));
  PetscCall(SetPacked(e, w->number, w->start));
  for (PetscMPIInt r = 0; r < readers->n; r++) {
    for (PetscInt k = readers->offset[r]; k < readers->offset[r + 1]; k++) w->place[k] = w->start[r] < 0 ? w->number[readers->idx[k]] : w->start[r] + k - readers->offset[r];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tells the readers where their entries are, and the owners where their sums are. Then the numbers of processes are those on the node. */
static PetscErrorCode TellPeers(PetscCSRCExchange e, SharedWork *w)
{
  SharedData               *d      = (SharedData *)e->data;
  const ExchangeNeighbours *owners = &d->nb[EXCHANGE_GHOST], *readers = &d->nb[EXCHANGE_OWN];
  MPI_Request              *request = w->requests;

  PetscFunctionBegin;
  for (PetscMPIInt o = 0; o < owners->n; o++) PetscCallMPI(MPI_Irecv(d->place + owners->offset[o], (PetscMPIInt)(owners->offset[o + 1] - owners->offset[o]), MPIU_INT, owners->rank[o], e->tag, e->comm, request++));
  for (PetscMPIInt r = 0; r < readers->n; r++) PetscCallMPI(MPI_Irecv(&d->start[r], 1, MPIU_INT, readers->rank[r], e->tag, e->comm, request++));
  for (PetscMPIInt r = 0; r < readers->n; r++) PetscCallMPI(MPI_Isend(w->place + readers->offset[r], (PetscMPIInt)(readers->offset[r + 1] - readers->offset[r]), MPIU_INT, readers->rank[r], e->tag, e->comm, request++));
  for (PetscMPIInt o = 0; o < owners->n; o++) PetscCallMPI(MPI_Isend(&owners->offset[o], 1, MPIU_INT, owners->rank[o], e->tag, e->comm, request++));
  PetscCallMPI(MPI_Waitall((PetscMPIInt)(request - w->requests), w->requests, MPI_STATUSES_IGNORE));
  for (int s = 0; s < 2; s++) {
    for (PetscMPIInt k = 0; k < d->nb[s].n; k++) PetscCall(NodeRank(d, d->nb[s].rank[k], &d->nb[s].rank[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Replaces the segments by ones with buffers of `width` columns. If there is no memory for these, the old segments stay and *done is false,
  on all processes of a node
*/
static PetscErrorCode Allocate(SharedData *d, PetscInt width, PetscBool *done)
{
  const size_t     bytes = sizeof(SharedSegment) + 2 * (size_t)d->rows * (size_t)width * sizeof(PetscScalar);
  ExchangeSegments segments;

  PetscFunctionBegin;
  PetscCall(ExchangeSegmentsCreate(d->node, bytes, &segments));
  *done = segments ? PETSC_TRUE : PETSC_FALSE;
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscMPIInt r = 0; r < d->nodesize; r++) d->segment[r] = (SharedSegment *)ExchangeSegmentOf(segments, r);
  PetscCall(ExchangeSegmentsDestroy(&d->segments));
  d->segments = segments;
  d->width    = width;
  Tell(d, &d->segment[d->noderank]->written);
  Tell(d, &d->segment[d->noderank]->read);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy_Shared(PetscCSRCExchange e)
{
  SharedData *d = (SharedData *)e->data;

  PetscFunctionBegin;
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ExchangeSegmentsDestroy(&d->segments));
  if (e->pernode && d->node != MPI_COMM_NULL) PetscCallMPI(MPI_Comm_free(&d->node));
  PetscCall(PetscFree(d->segment));
  PetscCall(ExchangeNeighboursFree(d->nb));
  PetscCall(PetscFree(d->place));
  PetscCall(PetscFree(d->start));
  PetscCall(PetscFree(d->packed.idx));
  if (d->rest) PetscCall((*d->rest->ops->destroy)(d->rest));
  PetscCall(PetscFree(d->rest));
  PetscCall(PetscFree(e->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After the step without communication, which can fail on one process only, all agree: the others would wait in the next step */
static PetscErrorCode SetUp(PetscCSRCExchange e, const ExchangeNeighbours nb[2])
{
  SharedData        *d            = (SharedData *)e->data;
  ExchangeNeighbours elsewhere[2] = {{0}, {0}};
  SharedWork         w            = {NULL, NULL, NULL, NULL};
  PetscInt           most[2];
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  ierr = PetscCSRCAgree(e->comm, SetPeers(e, nb, elsewhere, &w), "The lists of a node");
  if (!ierr) ierr = TellPeers(e, &w);
  PetscCall(PetscFree4(w.number, w.start, w.place, w.requests));
  PetscCall(ExchangeNeighboursFree(elsewhere));
  PetscCall(ierr);
  most[0] = PetscMax(d->packed.n, d->ghosts.n);
  most[1] = d->rest ? 1 : 0;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, most, 2, MPIU_INT, MPI_MAX, e->comm));
  d->rows = e->rows = most[0];
  d->between        = most[1] ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create_Shared(PetscCSRCExchange e, const ExchangeNeighbours nb[2])
{
  SharedData    *d = NULL;
  PetscBool      done;
  PetscErrorCode ierr;
  int            all;

  PetscFunctionBegin;
  ierr = PetscCSRCAgree(e->comm, PetscNew(&d), "An exchange by shared memory");
  if (ierr) PetscCall(PetscFree(d));
  PetscCall(ierr);
  e->data = d;
  e->mem  = PETSC_MEMTYPE_HOST;
  d->node = MPI_COMM_NULL;
  PetscCall(SetNode(e));
  PetscCall(SetUp(e, nb));
  PetscCall(PetscCSRCAgree(e->comm, Allocate(d, 1, &done), "Memory that the processes of a node share"));
  all = done;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, e->comm));
  if (all) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!e->required, e->comm, PETSC_ERR_SUP, "Exchange shared: there is no shared memory for %" PetscInt_FMT " numbers of each process", 2 * d->rows);
  PetscCall(PetscInfo(NULL, "Exchange by messages of MPI: no shared memory for %" PetscInt_FMT " numbers of each process\n", 2 * d->rows));
  PetscCall(Destroy_Shared(e));
  e->ops = &ExchangeMPI;
  PetscCall((*e->ops->create)(e, nb));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Widen_Shared(PetscCSRCExchange e, PetscInt *width)
{
  SharedData *d = (SharedData *)e->data;
  PetscBool   done;

  PetscFunctionBegin;
  if (*width > d->width) PetscCall(Allocate(d, *width, &done)); /* if this fails, the narrower buffers are used */
  *width = d->width;
  if (d->rest) PetscCall((*d->rest->ops->widen)(d->rest, width));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---------------------------------------------------------------- exchanges */
/* Writes K columns into the segment of this process */
static PetscErrorCode Write(SharedData *d, const SharedList *list, PetscInt K, const ExchangeArray *x)
{
  PetscFunctionBegin;
  PetscCall(Next(d));
  for (PetscInt k = 0; k < K; k++) {
    const PetscScalar *from  = x->a + (size_t)k * x->ld;
    PetscScalar *restrict to = Buffer(d, d->noderank) + (size_t)k * d->rows;

    if (list->consecutive) PetscCall(PetscArraycpy(to, from + list->idx[0], list->n));
    else {
      for (PetscInt j = 0; j < list->n; j++) to[j] = from[list->idx[j]];
    }
  }
  Tell(d, &d->segment[d->noderank]->written);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Begin_Shared(PetscCSRCExchange e, PetscCSRCDirection direction, const ExchangeArrays *a)
{
  SharedData         *d = (SharedData *)e->data;
  const ExchangeArray x = ExchangeSideOf(a, ExchangeSent(direction));

  PetscFunctionBegin;
  if (d->rest) PetscCall((*d->rest->ops->begin)(d->rest, direction, a));
  PetscCall(Write(d, direction == PETSCCSRC_FORWARD ? &d->packed : &d->ghosts, a->K, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads ghosts from their owners, beginning with the next process, so that not all begin with the first one */
static PetscErrorCode ReadGhosts(SharedData *d, const ExchangeArrays *a)
{
  const ExchangeNeighbours *owners = &d->nb[EXCHANGE_GHOST];
  PetscMPIInt               first  = 0;

  PetscFunctionBegin;
  while (first < owners->n && owners->rank[first] < d->noderank) first++;
  for (PetscMPIInt p = 0; p < owners->n; p++) {
    const PetscMPIInt o = (first + p) % owners->n;

    PetscCall(WaitUntil(d, &d->segment[owners->rank[o]]->written, d->now));
    for (PetscInt k = 0; k < a->K; k++) {
      const PetscScalar *restrict from = Buffer(d, owners->rank[o]) + (size_t)k * d->rows;
      PetscScalar *restrict ghost      = a->ghost.a + (size_t)k * a->ghost.ld;

      for (PetscInt j = owners->offset[o]; j < owners->offset[o + 1]; j++) ghost[owners->idx[j]] = from[d->place[j]];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the sums of others to own entries, in the order of processes */
static PetscErrorCode ReadSums(SharedData *d, const ExchangeArrays *a)
{
  const ExchangeNeighbours *readers = &d->nb[EXCHANGE_OWN];

  PetscFunctionBegin;
  for (PetscMPIInt r = 0; r < readers->n; r++) {
    PetscCall(WaitUntil(d, &d->segment[readers->rank[r]]->written, d->now));
    for (PetscInt k = 0; k < a->K; k++) {
      const PetscScalar *restrict from = Buffer(d, readers->rank[r]) + (size_t)k * d->rows + d->start[r];
      const PetscInt *restrict idx     = readers->idx + readers->offset[r];
      PetscScalar *restrict own        = a->own.a + (size_t)k * a->own.ld;

      for (PetscInt j = 0; j < readers->offset[r + 1] - readers->offset[r]; j++) own[idx[j]] += from[j];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What comes from other nodes is received last: sums are added last */
static PetscErrorCode End_Shared(PetscCSRCExchange e, PetscCSRCDirection direction, const ExchangeArrays *a)
{
  SharedData *d = (SharedData *)e->data;

  PetscFunctionBegin;
  if (direction == PETSCCSRC_FORWARD) PetscCall(ReadGhosts(d, a));
  else PetscCall(ReadSums(d, a));
  Tell(d, &d->segment[d->noderank]->read);
  if (d->rest) PetscCall((*d->rest->ops->end)(d->rest, direction, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Describe_Shared(PetscCSRCExchange e, char text[], size_t len)
{
  PetscFunctionBegin;
  PetscCall(PetscStrncpy(text, ((SharedData *)e->data)->between ? ", by messages of MPI between nodes" : "", len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const ExchangeOps ExchangeShared = {
  .name     = "shared memory",
  .type     = PETSCCSRC_EXCHANGE_SHARED,
  .bytes    = 4194304,
  .columns  = 8,
  .create   = Create_Shared,
  .destroy  = Destroy_Shared,
  .widen    = Widen_Shared,
  .begin    = Begin_Shared,
  .end      = End_Shared,
  .describe = Describe_Shared,
};
#endif
