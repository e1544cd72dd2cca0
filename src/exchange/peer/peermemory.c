/*
  Memory of devices that the processes of a host map. Each process allocates a part and sends the others a handle to it, which they open. A part may
  be freed only after all others have closed it. Where processes cannot open handles (devices without a path between them, other hosts,
  instances of one GPU) the answer is that peers are not usable, and another exchange is chosen.

  That handles can be opened does not prove that stores arrive: on some virtual machines they do not. So each pair of processes tries it once.

  Opening takes 2 to 10 ms for each other process. So the memory of this trial, a pool, is kept for the communicator, and what is asked for later
  is a piece of it, as long as there is room in that of each process.
*/
#include "../exchangeimpl.h"
#include "peermemory.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include "peerkernels.h"
  #include <petscdevice_cuda.h>

struct _n_PetscCSRCPeerMemory {
  MPI_Comm            comm;
  PetscMPIInt         size, rank;
  char              **part;   /* of each process */
  cudaIpcMemHandle_t *handle; /* of each part */
  PetscInt            refs;   /* 1, and the pieces of a pool */
  uint64_t            taken;  /* of the blocks of this process's part of a pool */
  PetscCSRCPeerMemory pool;   /* of a piece; NULL: this is no piece */
  uint64_t            blocks; /* of a piece */
};

/* What is kept for a communicator */
typedef struct {
  PetscBool           usable, share;
  const char         *reason;
  PetscCSRCPeerMemory pool;
} Peers;

static PetscErrorCode DestroyPeers(void *peers)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCPeerMemoryDestroy(&((Peers *)peers)->pool));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static ExchangeAttribute Attribute = {sizeof(Peers), DestroyPeers, MPI_KEYVAL_INVALID};

/* CUDA maps whole pages of this size: with pages of its own, nothing else of a process is seen by the others */
  #define PAGE ((size_t)2 << 20)
  /* A pool has 64 blocks of this size, a bit each; a test has smaller ones */
  #if !defined(POOL_BLOCK)
    #define POOL_BLOCK ((size_t)256 << 10)
  #endif
  #define POOL_BLOCKS 64

/* Opens the parts of all others; *opened is PETSC_FALSE if one cannot be opened */
static PetscErrorCode Open(PetscCSRCPeerMemory m, PetscBool *opened)
{
  cudaIpcMemHandle_t own;
  cudaError_t        cerr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&own, sizeof(own)));
  cerr    = cudaIpcGetMemHandle(&own, m->part[m->rank]);
  *opened = cerr == cudaSuccess ? PETSC_TRUE : PETSC_FALSE;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, opened, 1, MPI_C_BOOL, MPI_LAND, m->comm));
  PetscCallMPI(MPI_Allgather(&own, sizeof(own), MPI_BYTE, m->handle, sizeof(own), MPI_BYTE, m->comm));
  for (PetscMPIInt r = 0; r < m->size && *opened; r++) {
    if (r == m->rank) continue;
    cerr = cudaIpcOpenMemHandle((void **)&m->part[r], m->handle[r], cudaIpcMemLazyEnablePeerAccess);
    if (cerr != cudaSuccess) {
      m->part[r] = NULL;
      *opened    = PETSC_FALSE;
    }
  }
  if (cerr != cudaSuccess) {
    PetscCall(PetscInfo(NULL, "Memory of another device cannot be mapped: %s\n", cudaGetErrorString(cerr)));
    (void)cudaGetLastError();
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, opened, 1, MPI_C_BOOL, MPI_LAND, m->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode New(MPI_Comm comm, PetscCSRCPeerMemory *memory)
{
  PetscCSRCPeerMemory m;

  PetscFunctionBegin;
  PetscCall(PetscNew(memory));
  m       = *memory;
  m->comm = comm;
  m->refs = 1;
  PetscCallMPI(MPI_Comm_size(comm, &m->size));
  PetscCallMPI(MPI_Comm_rank(comm, &m->rank));
  PetscCall(PetscCalloc1(m->size, &m->part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zero before others write there */
static PetscErrorCode Zero(char *part, size_t bytes)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemset(part, 0, bytes));
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that is allocated, on which processes agree */
static PetscErrorCode Allocate(MPI_Comm comm, const char what[], size_t bytes, PetscCSRCPeerMemory *memory)
{
  PetscCSRCPeerMemory m;

  PetscFunctionBegin;
  bytes = (bytes + PAGE - 1) / PAGE * PAGE;
  PetscCall(New(comm, memory));
  m = *memory;
  PetscCall(PetscMalloc1(m->size, &m->handle));
  PetscCall(PetscCSRCDeviceMalloc(what, bytes, &m->part[m->rank]));
  PetscCall(Zero(m->part[m->rank], bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes consecutive blocks of this process's part of a pool; *first is the first of them, or -1 if there is no room */
static PetscErrorCode TakeBlocks(PetscCSRCPeerMemory pool, size_t bytes, PetscCSRCPeerMemory *piece, PetscMPIInt *first)
{
  const size_t   n   = PetscMax((bytes + POOL_BLOCK - 1) / POOL_BLOCK, 1);
  const uint64_t run = n < POOL_BLOCKS ? ((uint64_t)1 << n) - 1 : ~(uint64_t)0;

  PetscFunctionBegin;
  *first = -1;
  PetscCall(New(pool->comm, piece));
  for (size_t b = 0; b + n <= POOL_BLOCKS && *first < 0; b++) {
    if (!(pool->taken & (run << b))) *first = (PetscMPIInt)b;
  }
  if (*first < 0) PetscFunctionReturn(PETSC_SUCCESS);
  (*piece)->blocks = run << *first;
  PetscCall(Zero(pool->part[pool->rank] + (size_t)*first * POOL_BLOCK, n * POOL_BLOCK));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees what no other process has opened, or all have closed */
static PetscErrorCode Free(PetscCSRCPeerMemory *memory)
{
  PetscCSRCPeerMemory m = *memory;

  PetscFunctionBegin;
  if (!m) PetscFunctionReturn(PETSC_SUCCESS);
  if (m->part && !m->pool) PetscCall(PetscCSRCDeviceFree(&m->part[m->rank]));
  PetscCall(PetscFree(m->part));
  PetscCall(PetscFree(m->handle));
  PetscCall(PetscFree(*memory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerMemoryDestroy(PetscCSRCPeerMemory *memory)
{
  PetscCSRCPeerMemory m = *memory, pool;
  PetscErrorCode      ierr;
  cudaError_t         cerr;

  PetscFunctionBegin;
  *memory = NULL;
  if (!m || --m->refs > 0) PetscFunctionReturn(PETSC_SUCCESS);
  cerr = cudaDeviceSynchronize(); /* kernels of this process that write to others have ended */
  for (PetscMPIInt r = 0; r < m->size && !m->pool; r++) {
    const cudaError_t closed = r != m->rank && m->part[r] ? cudaIpcCloseMemHandle(m->part[r]) : cudaSuccess;

    if (cerr == cudaSuccess) cerr = closed;
  }
  PetscCallMPI(MPI_Barrier(m->comm)); /* also after an error: the others wait here */
  if (m->pool) {
    m->pool->taken &= ~m->blocks;
    pool = m->pool;
    PetscCall(PetscCSRCPeerMemoryDestroy(&pool));
  }
  ierr = Free(&m);
  PetscCallCUDA(cerr);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *opened may be NULL: then it is an error if the memory cannot be mapped */
static PetscErrorCode Create(MPI_Comm comm, const char what[], size_t bytes, PetscBool *opened, PetscCSRCPeerMemory *memory)
{
  PetscCSRCPeerMemory m = NULL;
  PetscErrorCode      ierr;
  PetscBool           mapped;

  PetscFunctionBegin;
  *memory = NULL;
  ierr    = PetscCSRCAgree(comm, Allocate(comm, what, bytes, &m), what);
  if (ierr) PetscCall(Free(&m));
  PetscCall(ierr);
  PetscCall(Open(m, &mapped));
  if (mapped) *memory = m;
  else PetscCall(PetscCSRCAgree(comm, PetscCSRCPeerMemoryDestroy(&m), what));
  if (opened) *opened = mapped;
  else PetscCheck(mapped, comm, PETSC_ERR_GPU, "The memory of devices cannot be mapped for %s; -info says which and why", what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A piece of a pool; NULL if it has no room on one of the processes */
static PetscErrorCode CreatePiece(PetscCSRCPeerMemory pool, const char what[], size_t bytes, PetscCSRCPeerMemory *memory)
{
  PetscCSRCPeerMemory m = NULL;
  PetscErrorCode      ierr;
  PetscMPIInt         first, *all = NULL;
  PetscBool           room = PETSC_TRUE;

  PetscFunctionBegin;
  *memory = NULL;
  ierr    = TakeBlocks(pool, bytes, &m, &first);
  if (!ierr) ierr = PetscMalloc1(pool->size, &all);
  ierr = PetscCSRCAgree(pool->comm, ierr, what);
  if (!ierr) {
    PetscCallMPI(MPI_Allgather(&first, 1, MPI_INT, all, 1, MPI_INT, pool->comm));
    for (PetscMPIInt r = 0; r < pool->size; r++) {
      if (all[r] < 0) room = PETSC_FALSE;
      else m->part[r] = pool->part[r] + (size_t)all[r] * POOL_BLOCK;
    }
  }
  PetscCall(PetscFree(all));
  if (m) m->pool = pool; /* so that Free() leaves the part alone */
  if (ierr || !room) PetscCall(Free(&m));
  PetscCall(ierr);
  if (!room) PetscFunctionReturn(PETSC_SUCCESS);
  pool->taken |= m->blocks;
  pool->refs++;
  *memory = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is kept for a communicator, or NULL */
static PetscErrorCode FindPeers(MPI_Comm comm, Peers **p)
{
  PetscMPIInt found = 0;

  PetscFunctionBegin;
  if (Attribute.keyval != MPI_KEYVAL_INVALID) PetscCallMPI(MPI_Comm_get_attr(comm, Attribute.keyval, p, &found));
  if (!found) *p = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerMemoryCreate(MPI_Comm comm, const char what[], size_t bytes, PetscCSRCPeerMemory *memory)
{
  Peers *p;

  PetscFunctionBegin;
  *memory = NULL;
  PetscCall(FindPeers(comm, &p));
  if (p && p->pool) PetscCall(CreatePiece(p->pool, what, bytes, memory));
  if (!*memory) PetscCall(Create(comm, what, bytes, NULL, memory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

char *PetscCSRCPeerMemoryOf(PetscCSRCPeerMemory m, PetscMPIInt rank)
{
  return m->part[rank];
}

static PetscErrorCode CopyToHost(void *to, const void *from, size_t bytes)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each process stores a number into the memory of all others; whether all have arrived. An error is printed and counts as "no": the others must not wait. */
static PetscErrorCode Try(PetscCSRCPeerMemory m, PetscBool *arrived)
{
  unsigned long long *found = NULL;
  PetscErrorCode      ierr;

  PetscFunctionBegin;
  ierr = PetscMalloc1(m->size, &found);
  for (PetscMPIInt r = 0; r < m->size && !ierr; r++) ierr = PetscCSRCPeerMark((unsigned long long *)m->part[r] + m->rank, 1000ull + (unsigned long long)m->rank);
  if (!ierr) ierr = PetscCSRCDeviceWait();
  PetscCallMPI(MPI_Barrier(m->comm));
  if (!ierr) ierr = CopyToHost(found, m->part[m->rank], sizeof(*found) * m->size);
  *arrived = ierr ? PETSC_FALSE : PETSC_TRUE;
  for (PetscMPIInt r = 0; r < m->size && !ierr; r++) {
    if (found[r] != 1000ull + (unsigned long long)r) *arrived = PETSC_FALSE;
  }
  PetscCall(PetscFree(found));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, arrived, 1, MPI_C_BOOL, MPI_LAND, m->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Ask(MPI_Comm comm, Peers *p)
{
  PetscCSRCPeerMemory m;
  PetscMPIInt         size;
  PetscInt            onnode[2];
  PetscBool           usable, ok;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(ExchangeDevicesDiffer(comm, &usable, &ok));
  p->share  = usable && !ok ? PETSC_TRUE : PETSC_FALSE;
  p->reason = "a process has no device that can be used";
  if (!usable) PetscFunctionReturn(PETSC_SUCCESS);
  onnode[0] = 1;
  #if defined(PETSC_HAVE_MPI_PROCESS_SHARED_MEMORY)
  PetscCall(ExchangeSharedCount(comm, &onnode[0]));
  #endif
  PetscCallMPI(MPIU_Allreduce(&onnode[0], &onnode[1], 1, MPIU_INT, MPI_MIN, comm));
  p->reason = "processes are on several hosts";
  if (onnode[1] < size) PetscFunctionReturn(PETSC_SUCCESS);
  p->reason = "memory of one device cannot be mapped for another";
  PetscCall(Create(comm, "memory that devices share", POOL_BLOCKS * POOL_BLOCK, &ok, &m));
  if (!ok) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Try(m, &ok));
  p->reason = "what one device stores in the memory of another does not arrive";
  p->usable = ok;
  if (ok) p->pool = m;
  else PetscCall(PetscCSRCAgree(comm, PetscCSRCPeerMemoryDestroy(&m), "Memory that devices share"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeersAsked(MPI_Comm comm, PetscBool *asked)
{
  Peers *p;

  PetscFunctionBegin;
  PetscCall(FindPeers(comm, &p));
  *asked = p ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeersUsable(MPI_Comm comm, PetscBool *usable, PetscBool *share, const char **reason)
{
  Peers    *p;
  PetscBool isnew;

  PetscFunctionBegin;
  PetscCall(ExchangeAttributeGet(&Attribute, comm, &p, &isnew));
  if (isnew) PetscCall(Ask(comm, p));
  *usable = p->usable;
  *share  = p->share;
  *reason = p->usable ? "processes share a device" : p->reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
