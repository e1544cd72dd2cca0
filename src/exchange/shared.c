/*
  Exchange through memory that the processes of a node share (sharedmemory.c). Each process writes what others need into its
  segment of this memory and increments a counter; the others read it there. There are no messages, and no copies but into the segment and
  out of it. Entries from and for other nodes travel by PetscSF.

      segment of a process  written  read        the number of exchanges for which it has written, and has read from the others
                            buffer 0, buffer 1   `rows` rows of up to `width` columns: in forward its own entries that others need, in
                                                 reverse its ghost entries, those of each owner together

  Exchange t uses buffer t % 2. Before a process writes, its neighbours must have read exchange t - 2. This is nearly always so, and then a
  process waits only for what it reads. More than `width` columns are exchanged in several rounds.

  A process that waits polls the segment of the other process. After some microseconds it yields its core between two polls, in case there
  are more processes than cores, and lets MPI make progress: others may be in an MPI call that needs something from this process.
*/
#include "exchangeimpl.h"

#if defined(PETSC_HAVE_MPI_PROCESS_SHARED_MEMORY)
  #include <sched.h>

  #define WIDTH_MAX    8
  #define BUFFER_BYTES 4194304 /* size of a buffer for more than one column, about */
  #define LOOKS        400     /* polls before a process yields its core, some 10 us */
  #define LINE         128     /* bytes that are written by one process only: a cache line, and the one that is prefetched with it */

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

  /* processes of the node, by their ranks there: owners of ghosts, idx: rows of the ghost array; readers of own entries, idx: own entries */
  ExchangeNeighbours owners, readers;
  PetscInt          *place;                       /* for each ghost, its row in the owner's buffer */
  PetscInt          *start;                       /* for each reader, the row in its buffer where its sums for this process begin */
  SharedList         packed, ghosts;              /* own entries that are written for others; ghosts, with the idx of owners */
  PetscInt           nself, *selfghost, *selfown; /* with the pattern gather, ghost entries that are own ones */

  PetscCSRCExchange rest;    /* the exchange with other nodes; NULL if there is none */
  PetscScalar      *host[2]; /* copies of arrays that are on a device */
  size_t            nhost[2];
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
  for (PetscMPIInt k = 0; k < d->readers.n; k++) PetscCall(WaitUntil(d, &d->segment[d->readers.rank[k]]->read, d->now - 2));
  for (PetscMPIInt k = 0; k < d->owners.n; k++) PetscCall(WaitUntil(d, &d->segment[d->owners.rank[k]]->read, d->now - 2));
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

/* Sorts peers. The numbers of processes on a node are in the order of their ranks */
static PetscErrorCode PeersCreate(const SharedData *d, PetscMPIInt n, const PetscMPIInt rank[], const PetscInt offset[], const PetscInt idx[], ExchangeNeighbours *peers)
{
  PetscFunctionBegin;
  PetscCall(ExchangeNeighboursCreate(n, rank, offset, idx, peers));
  for (PetscMPIInt k = 0; k < n; k++) PetscCall(NodeRank(d, peers->rank[k], &peers->rank[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the owner of a leaf of sf is: this process, another one of this node, another node */
enum {
  LEAF_OWN,
  LEAF_NODE,
  LEAF_ELSEWHERE
};

static PetscErrorCode SortLeaves(PetscCSRCExchange e, PetscSF sf, PetscInt *leaves[3], PetscInt n[3])
{
  const SharedData  *d = (SharedData *)e->data;
  const PetscSFNode *remote;
  PetscInt           nleaves;
  PetscMPIInt        last = -1, local = MPI_PROC_NULL;

  PetscFunctionBegin;
  PetscCall(PetscSFGetGraph(sf, NULL, &nleaves, NULL, &remote));
  PetscCall(PetscMalloc3(nleaves, &leaves[LEAF_OWN], nleaves, &leaves[LEAF_NODE], nleaves, &leaves[LEAF_ELSEWHERE]));
  PetscCall(PetscArrayzero(n, 3));
  for (PetscInt k = 0; k < nleaves; k++) {
    int kind;

    if (remote[k].rank != last) {
      last = (PetscMPIInt)remote[k].rank;
      PetscCall(NodeRank(d, last, &local));
    }
    kind                    = last == e->rank ? LEAF_OWN : (local == MPI_PROC_NULL ? LEAF_ELSEWHERE : LEAF_NODE);
    leaves[kind][n[kind]++] = k;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetSelf(PetscCSRCExchange e, PetscSF sf, PetscInt n, const PetscInt leaves[])
{
  SharedData        *d = (SharedData *)e->data;
  const PetscInt    *local;
  const PetscSFNode *remote;

  PetscFunctionBegin;
  PetscCall(PetscSFGetGraph(sf, NULL, NULL, &local, &remote));
  PetscCall(PetscMalloc2(n, &d->selfghost, n, &d->selfown));
  d->nself = n;
  for (PetscInt k = 0; k < n; k++) {
    d->selfghost[k] = local ? local[leaves[k]] : leaves[k];
    d->selfown[k]   = remote[leaves[k]].index;
  }
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
  entry. A reader that would touch many cache lines there for the entries that it needs gets rows of its own, from start[] on, indexed by
  its number on the node; -1: it reads the shared list.
*/
static PetscErrorCode SetPacked(PetscCSRCExchange e, PetscInt number[], PetscInt start[])
{
  SharedData               *d       = (SharedData *)e->data;
  const ExchangeNeighbours *readers = &d->readers;
  const PetscInt            perline = LINE / 2 / sizeof(PetscScalar);
  PetscInt                  n, *packed;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(e->n + readers->offset[readers->n], &packed));
  for (PetscMPIInt r = 0; r < readers->n; r++) start[readers->rank[r]] = -1;
  for (int pass = 0; pass < 2; pass++) { /* pass 0: all share the list, to find who needs rows of its own; pass 1: without these */
    PetscCall(PetscArrayzero(number, e->n));
    for (PetscMPIInt r = 0; r < readers->n; r++) {
      if (start[readers->rank[r]] >= 0) continue;
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
      if (lines > 2 * (count / perline + 1)) start[readers->rank[r]] = 0;
    }
  }
  for (PetscMPIInt r = 0; r < readers->n; r++) {
    if (start[readers->rank[r]] < 0) continue;
    start[readers->rank[r]] = n;
    for (PetscInt k = readers->offset[r]; k < readers->offset[r + 1]; k++) packed[n++] = readers->idx[k];
  }
  d->packed = SetList(n, packed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for what processes tell each other at the set-up */
typedef struct {
  PetscInt *starts, *theirs;     /* a number for each process of the node, and from it */
  PetscInt *number, *leafnumber; /* the rows of own entries in the segment, and those of ghosts */
} SharedWork;

/* Who reads what this process writes, and what it reads of others, without communication. near has the leaves whose owners are on this node. */
static PetscErrorCode SetPeers(PetscCSRCExchange e, PetscSF near, SharedWork *w)
{
  SharedData        *d = (SharedData *)e->data;
  PetscMPIInt        n;
  const PetscMPIInt *rank;
  const PetscInt    *offset, *mine;

  PetscFunctionBegin;
  PetscCall(PetscSFGetLeafRanks(near, &n, &rank, &offset, &mine));
  PetscCall(PeersCreate(d, n, rank, offset, mine, &d->readers));
  PetscCall(PetscSFGetRootRanks(near, &n, &rank, &offset, &mine, NULL));
  PetscCall(PeersCreate(d, n, rank, offset, mine, &d->owners));
  d->ghosts = SetList(d->owners.offset[d->owners.n], d->owners.idx);
  PetscCall(PetscMalloc1(d->owners.offset[d->owners.n], &d->place));
  PetscCall(PetscMalloc1(d->readers.n, &d->start));
  PetscCall(PetscCalloc2(d->nodesize, &w->starts, d->nodesize, &w->theirs));
  PetscCall(PetscMalloc2(e->n, &w->number, e->nghost, &w->leafnumber));
  PetscCall(SetPacked(e, w->number, w->starts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tells the readers where their entries are, and the owners where their sums are */
static PetscErrorCode TellPeers(PetscCSRCExchange e, PetscSF near, SharedWork *w)
{
  SharedData *d = (SharedData *)e->data;

  PetscFunctionBegin;
  PetscCall(PetscSFBcastBegin(near, MPIU_INT, w->number, w->leafnumber, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(near, MPIU_INT, w->number, w->leafnumber, MPI_REPLACE));
  PetscCallMPI(MPI_Alltoall(w->starts, 1, MPIU_INT, w->theirs, 1, MPIU_INT, d->node));
  for (PetscMPIInt o = 0; o < d->owners.n; o++) {
    const PetscInt first = d->owners.offset[o], start = w->theirs[d->owners.rank[o]];

    for (PetscInt k = first; k < d->owners.offset[o + 1]; k++) d->place[k] = start < 0 ? w->leafnumber[d->owners.idx[k]] : start + k - first;
  }
  for (PetscMPIInt k = 0; k < d->owners.n; k++) w->starts[d->owners.rank[k]] = d->owners.offset[k];
  PetscCallMPI(MPI_Alltoall(w->starts, 1, MPIU_INT, w->theirs, 1, MPIU_INT, d->node));
  for (PetscMPIInt k = 0; k < d->readers.n; k++) d->start[k] = w->theirs[d->readers.rank[k]];
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

static PetscErrorCode CreateRest(PetscCSRCExchange e, PetscSF sf)
{
  SharedData    *d = (SharedData *)e->data;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PetscCSRCAgree(e->comm, PetscNew(&d->rest), "The exchange between nodes");
  if (ierr) PetscCall(PetscFree(d->rest));
  PetscCall(ierr);
  *d->rest      = *e;
  d->rest->ops  = &ExchangeSF;
  d->rest->data = NULL;
  PetscCall((*d->rest->ops->create)(d->rest, sf));
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
  PetscCall(ExchangeNeighboursFree(&d->owners));
  PetscCall(ExchangeNeighboursFree(&d->readers));
  PetscCall(PetscFree(d->place));
  PetscCall(PetscFree(d->start));
  PetscCall(PetscFree(d->packed.idx));
  PetscCall(PetscFree2(d->selfghost, d->selfown));
  for (int k = 0; k < 2; k++) PetscCall(PetscFree(d->host[k]));
  if (d->rest) PetscCall((*d->rest->ops->destroy)(d->rest));
  PetscCall(PetscFree(d->rest));
  PetscCall(PetscFree(e->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The leaves of each kind, and those that need no other process */
static PetscErrorCode SetLeaves(PetscCSRCExchange e, PetscSF sf, PetscInt *leaves[3], PetscInt n[3])
{
  SharedData *d = (SharedData *)e->data;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(d->nodesize, &d->segment));
  PetscCall(SortLeaves(e, sf, leaves, n));
  PetscCall(SetSelf(e, sf, n[LEAF_OWN], leaves[LEAF_OWN]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The part of sf with these leaves; an error is one on all processes */
static PetscErrorCode CreatePart(PetscCSRCExchange e, PetscSF sf, PetscInt n, const PetscInt leaves[], PetscSF *part)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *part = NULL;
  ierr  = PetscCSRCAgree(e->comm, PetscSFCreateEmbeddedLeafSF(sf, n, leaves, part), "A part of the PetscSF of an exchange");
  if (!ierr) ierr = PetscCSRCAgree(e->comm, PetscSFSetUp(*part), "A part of the PetscSF of an exchange");
  if (ierr) PetscCall(PetscSFDestroy(part));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After each step without communication, which can fail on one process only, all agree: the others would wait in the next step */
static PetscErrorCode SetUp(PetscCSRCExchange e, PetscSF sf, const PetscInt n[3], PetscInt *const leaves[3])
{
  SharedData    *d = (SharedData *)e->data;
  SharedWork     w = {NULL, NULL, NULL, NULL};
  PetscSF        near, rest;
  PetscInt       most[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreatePart(e, sf, n[LEAF_NODE], leaves[LEAF_NODE], &near));
  ierr = PetscCSRCAgree(e->comm, SetPeers(e, near, &w), "The lists of a node");
  if (!ierr) ierr = TellPeers(e, near, &w);
  PetscCall(PetscFree2(w.starts, w.theirs));
  PetscCall(PetscFree2(w.number, w.leafnumber));
  PetscCall(PetscSFDestroy(&near));
  PetscCall(ierr);
  most[0] = PetscMax(d->packed.n, n[LEAF_NODE]);
  most[1] = n[LEAF_ELSEWHERE];
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, most, 2, MPIU_INT, MPI_MAX, e->comm));
  d->rows = most[0];
  if (!most[1]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CreatePart(e, sf, n[LEAF_ELSEWHERE], leaves[LEAF_ELSEWHERE], &rest));
  ierr = PetscCSRCAgree(e->comm, CreateRest(e, rest), "The exchange between nodes");
  PetscCall(PetscSFDestroy(&rest));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create_Shared(PetscCSRCExchange e, PetscSF sf)
{
  SharedData    *d = NULL;
  PetscInt       n[3], *leaves[3] = {NULL, NULL, NULL};
  PetscBool      done;
  PetscErrorCode ierr;
  int            all;

  PetscFunctionBegin;
  ierr = PetscCSRCAgree(e->comm, PetscNew(&d), "An exchange by shared memory");
  if (ierr) PetscCall(PetscFree(d));
  PetscCall(ierr);
  e->data = d;
  d->node = MPI_COMM_NULL;
  PetscCall(SetNode(e));
  ierr = PetscCSRCAgree(e->comm, SetLeaves(e, sf, leaves, n), "The entries of a node");
  if (!ierr) ierr = SetUp(e, sf, n, leaves);
  PetscCall(PetscFree3(leaves[LEAF_OWN], leaves[LEAF_NODE], leaves[LEAF_ELSEWHERE]));
  PetscCall(ierr);
  PetscCall(PetscCSRCAgree(e->comm, Allocate(d, 1, &done), "Memory that the processes of a node share"));
  all = done;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, e->comm));
  if (all) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!e->required, e->comm, PETSC_ERR_SUP, "Exchange shared: there is no shared memory for %" PetscInt_FMT " numbers of each process", 2 * d->rows);
  PetscCall(PetscInfo(NULL, "Exchange by PetscSF: no shared memory for %" PetscInt_FMT " numbers of each process\n", 2 * d->rows));
  PetscCall(Destroy_Shared(e));
  e->ops = &ExchangeSF;
  PetscCall((*e->ops->create)(e, sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Prepare_Shared(PetscCSRCExchange e, const ExchangeArrays *a)
{
  SharedData    *d     = (SharedData *)e->data;
  const PetscInt most  = (PetscInt)(BUFFER_BYTES / (PetscMax(d->rows, 1) * sizeof(PetscScalar)));
  const PetscInt width = PetscMin(a->K, PetscMin(WIDTH_MAX, most));
  PetscBool      done;

  PetscFunctionBegin;
  if (width > d->width) PetscCall(Allocate(d, width, &done)); /* if this fails, the narrower buffers are used */
  if (d->rest) PetscCall((*d->rest->ops->prepare)(d->rest, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---------------------------------------------------------------- exchanges */
/* The arrays of a call on the host. Those that are on a device are replaced by host arrays; contents are not copied */
static PetscErrorCode OnHost(PetscCSRCExchange e, const ExchangeArrays *a, ExchangeArrays *b)
{
  SharedData  *d       = (SharedData *)e->data;
  const size_t need[2] = {PetscMemTypeHost(a->own.mem) ? 0 : (size_t)e->n * a->K, PetscMemTypeHost(a->ghost.mem) ? 0 : (size_t)e->nghost * a->K};

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    if (need[k] <= d->nhost[k]) continue;
    d->nhost[k] = 0;
    PetscCall(PetscFree(d->host[k]));
    PetscCall(PetscMalloc1(need[k], &d->host[k]));
    d->nhost[k] = need[k];
  }
  *b = *a;
  if (!PetscMemTypeHost(a->own.mem)) b->own = (ExchangeArray){d->host[0], e->n, PETSC_MEMTYPE_HOST};
  if (!PetscMemTypeHost(a->ghost.mem)) b->ghost = (ExchangeArray){d->host[1], e->nghost, PETSC_MEMTYPE_HOST};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes columns from k0 on, as many as a buffer has room for, into the segment of this process */
static PetscErrorCode Write(SharedData *d, const SharedList *list, PetscInt K, PetscInt k0, const ExchangeArray *x)
{
  PetscFunctionBegin;
  PetscCall(Next(d));
  for (PetscInt k = 0; k < PetscMin(d->width, K - k0); k++) {
    const PetscScalar *from  = x->a + (size_t)(k0 + k) * x->ld;
    PetscScalar *restrict to = Buffer(d, d->noderank) + (size_t)k * d->rows;

    if (list->consecutive) PetscCall(PetscArraycpy(to, from + list->idx[0], list->n));
    else {
      for (PetscInt j = 0; j < list->n; j++) to[j] = from[list->idx[j]];
    }
  }
  Tell(d, &d->segment[d->noderank]->written);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads ghosts from their owners, beginning with the next process, so that not all begin with the first one */
static PetscErrorCode ReadGhosts(SharedData *d, const ExchangeArrays *a, PetscInt k0)
{
  const ExchangeNeighbours *owners = &d->owners;
  PetscMPIInt               first  = 0;

  PetscFunctionBegin;
  while (first < owners->n && owners->rank[first] < d->noderank) first++;
  for (PetscMPIInt p = 0; p < owners->n; p++) {
    const PetscMPIInt o = (first + p) % owners->n;

    PetscCall(WaitUntil(d, &d->segment[owners->rank[o]]->written, d->now));
    for (PetscInt k = 0; k < PetscMin(d->width, a->K - k0); k++) {
      const PetscScalar *restrict from = Buffer(d, owners->rank[o]) + (size_t)k * d->rows;
      PetscScalar *restrict ghost      = a->ghost.a + (size_t)(k0 + k) * a->ghost.ld;

      for (PetscInt j = owners->offset[o]; j < owners->offset[o + 1]; j++) ghost[owners->idx[j]] = from[d->place[j]];
    }
  }
  for (PetscInt k = k0; k < PetscMin(k0 + d->width, a->K); k++) {
    for (PetscInt j = 0; j < d->nself; j++) a->ghost.a[d->selfghost[j] + (size_t)k * a->ghost.ld] = a->own.a[d->selfown[j] + (size_t)k * a->own.ld];
  }
  Tell(d, &d->segment[d->noderank]->read);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the sums of others to own entries, or to 0 with INSERT_VALUES, in the order of processes */
static PetscErrorCode ReadSums(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *a, PetscInt k0)
{
  SharedData               *d       = (SharedData *)e->data;
  const ExchangeNeighbours *readers = &d->readers;

  PetscFunctionBegin;
  for (PetscInt k = k0; k < PetscMin(k0 + d->width, a->K); k++) {
    if (mode == INSERT_VALUES) PetscCall(PetscArrayzero(a->own.a + (size_t)k * a->own.ld, e->n));
    for (PetscInt j = 0; j < d->nself; j++) a->own.a[d->selfown[j] + (size_t)k * a->own.ld] += a->ghost.a[d->selfghost[j] + (size_t)k * a->ghost.ld];
  }
  for (PetscMPIInt r = 0; r < readers->n; r++) {
    PetscCall(WaitUntil(d, &d->segment[readers->rank[r]]->written, d->now));
    for (PetscInt k = 0; k < PetscMin(d->width, a->K - k0); k++) {
      const PetscScalar *restrict from = Buffer(d, readers->rank[r]) + (size_t)k * d->rows + d->start[r];
      const PetscInt *restrict idx     = readers->idx + readers->offset[r];
      PetscScalar *restrict own        = a->own.a + (size_t)(k0 + k) * a->own.ld;

      for (PetscInt j = 0; j < readers->offset[r + 1] - readers->offset[r]; j++) own[idx[j]] += from[j];
    }
  }
  Tell(d, &d->segment[d->noderank]->read);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ForwardBegin_Shared(PetscCSRCExchange e, const ExchangeArrays *given)
{
  SharedData    *d = (SharedData *)e->data;
  ExchangeArrays a;

  PetscFunctionBegin;
  PetscCall(OnHost(e, given, &a));
  PetscCall(ExchangeCopyOwn(e, given, &a));
  if (d->rest) PetscCall((*d->rest->ops->forwardbegin)(d->rest, &a));
  PetscCall(Write(d, &d->packed, a.K, 0, &a.own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ForwardEnd_Shared(PetscCSRCExchange e, const ExchangeArrays *given)
{
  SharedData    *d = (SharedData *)e->data;
  ExchangeArrays a;

  PetscFunctionBegin;
  PetscCall(OnHost(e, given, &a));
  if (d->rest) PetscCall((*d->rest->ops->forwardend)(d->rest, &a)); /* first, since it may overwrite all ghosts */
  for (PetscInt k0 = 0; k0 < a.K; k0 += d->width) {
    if (k0) PetscCall(Write(d, &d->packed, a.K, k0, &a.own));
    PetscCall(ReadGhosts(d, &a, k0));
  }
  PetscCall(ExchangeCopyGhosts(e, &a, given));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether the sums for other nodes are sent in Begin or in End. The answer is the same on all processes: PetscSF may wait there for all
  processes (PetscLogEventSync()), and no process must wait for another one elsewhere meanwhile.
*/
static PetscBool RestBeginsEarly(PetscCSRCExchange e, const ExchangeArrays *a)
{
  return a->K == 1 && !e->gather ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode ReverseBegin_Shared(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *given)
{
  SharedData    *d = (SharedData *)e->data;
  ExchangeArrays a;

  PetscFunctionBegin;
  (void)mode;
  PetscCall(OnHost(e, given, &a));
  PetscCall(ExchangeCopyGhosts(e, given, &a));
  PetscCall(Write(d, &d->ghosts, a.K, 0, &a.ghost));
  if (d->rest && RestBeginsEarly(e, &a)) PetscCall((*d->rest->ops->reversebegin)(d->rest, ADD_VALUES, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sums of other nodes are added last */
static PetscErrorCode ReverseEnd_Shared(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *given)
{
  SharedData    *d = (SharedData *)e->data;
  ExchangeArrays a;

  PetscFunctionBegin;
  PetscCall(OnHost(e, given, &a));
  if (mode == ADD_VALUES) PetscCall(ExchangeCopyOwn(e, given, &a));
  for (PetscInt k0 = 0; k0 < a.K; k0 += d->width) {
    if (k0) PetscCall(Write(d, &d->ghosts, a.K, k0, &a.ghost));
    PetscCall(ReadSums(e, mode, &a, k0));
  }
  if (d->rest && !RestBeginsEarly(e, &a)) PetscCall((*d->rest->ops->reversebegin)(d->rest, ADD_VALUES, &a));
  if (d->rest) PetscCall((*d->rest->ops->reverseend)(d->rest, ADD_VALUES, &a));
  PetscCall(ExchangeCopyOwn(e, &a, given));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Describe_Shared(PetscCSRCExchange e, char text[], size_t len)
{
  PetscFunctionBegin;
  PetscCall(PetscStrncpy(text, ((SharedData *)e->data)->rest ? ", by PetscSF between nodes" : "", len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const ExchangeOps ExchangeShared = {
  .name         = "shared memory",
  .create       = Create_Shared,
  .destroy      = Destroy_Shared,
  .prepare      = Prepare_Shared,
  .forwardbegin = ForwardBegin_Shared,
  .forwardend   = ForwardEnd_Shared,
  .reversebegin = ReverseBegin_Shared,
  .reverseend   = ReverseEnd_Shared,
  .describe     = Describe_Shared,
};
#endif
