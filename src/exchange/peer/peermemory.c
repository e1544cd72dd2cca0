/*
  Memory of devices that the processes of a host map. Each process allocates a part and sends the others a handle to it, which they open. A part may
  be freed only after all others have closed it. Where processes cannot open handles (devices without a path between them, other hosts,
  instances of one GPU) the answer is that peers are not usable, and another exchange is chosen.

  That handles can be opened does not prove that stores arrive: on some virtual machines they do not. So each pair of processes tries it once.
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
};

/* What is kept for a communicator */
typedef struct {
  PetscBool   usable, share;
  const char *reason;
} Peers;

static ExchangeAttribute Attribute = {sizeof(Peers), NULL, MPI_KEYVAL_INVALID};

/* CUDA maps whole pieces of this size: with a piece of its own, nothing else of a process is seen by the others */
  #define PIECE ((size_t)2 << 20)

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

/* All that is allocated, on which processes agree */
static PetscErrorCode Allocate(MPI_Comm comm, const char what[], size_t bytes, PetscCSRCPeerMemory *memory)
{
  PetscCSRCPeerMemory m;

  PetscFunctionBegin;
  bytes = (bytes + PIECE - 1) / PIECE * PIECE;
  PetscCall(PetscNew(memory));
  m       = *memory;
  m->comm = comm;
  PetscCallMPI(MPI_Comm_size(comm, &m->size));
  PetscCallMPI(MPI_Comm_rank(comm, &m->rank));
  PetscCall(PetscCalloc1(m->size, &m->part));
  PetscCall(PetscMalloc1(m->size, &m->handle));
  PetscCall(PetscCSRCDeviceMalloc(what, bytes, &m->part[m->rank]));
  PetscCallCUDA(cudaMemset(m->part[m->rank], 0, bytes));
  PetscCallCUDA(cudaDeviceSynchronize()); /* zero before others write there */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees what no other process has opened, or all have closed */
static PetscErrorCode Free(PetscCSRCPeerMemory *memory)
{
  PetscCSRCPeerMemory m = *memory;

  PetscFunctionBegin;
  if (!m) PetscFunctionReturn(PETSC_SUCCESS);
  if (m->part) PetscCall(PetscCSRCDeviceFree(&m->part[m->rank]));
  PetscCall(PetscFree(m->part));
  PetscCall(PetscFree(m->handle));
  PetscCall(PetscFree(*memory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerMemoryDestroy(PetscCSRCPeerMemory *memory)
{
  PetscCSRCPeerMemory m = *memory;

  PetscFunctionBegin;
  if (!m) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaDeviceSynchronize()); /* kernels of this process that write to others have ended */
  for (PetscMPIInt r = 0; r < m->size; r++) {
    if (r != m->rank && m->part[r]) PetscCallCUDA(cudaIpcCloseMemHandle(m->part[r]));
  }
  PetscCallMPI(MPI_Barrier(m->comm));
  PetscCall(Free(memory));
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
  else PetscCall(PetscCSRCPeerMemoryDestroy(&m));
  if (opened) *opened = mapped;
  else PetscCheck(mapped, comm, PETSC_ERR_GPU, "The memory of devices cannot be mapped for %s; -info says which and why", what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerMemoryCreate(MPI_Comm comm, const char what[], size_t bytes, PetscCSRCPeerMemory *memory)
{
  PetscFunctionBegin;
  PetscCall(Create(comm, what, bytes, NULL, memory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

char *PetscCSRCPeerMemoryOf(PetscCSRCPeerMemory m, PetscMPIInt rank)
{
  return m->part[rank];
}

/* Each process stores a number into the memory of all others; whether all have arrived */
static PetscErrorCode Try(PetscCSRCPeerMemory m, PetscBool *arrived)
{
  unsigned long long *found = NULL;
  PetscErrorCode      ierr;

  PetscFunctionBegin;
  for (PetscMPIInt r = 0; r < m->size; r++) PetscCall(PetscCSRCPeerMark((unsigned long long *)m->part[r] + m->rank, 1000ull + (unsigned long long)m->rank));
  PetscCall(PetscCSRCDeviceWait());
  PetscCallMPI(MPI_Barrier(m->comm));
  ierr     = PetscMalloc1(m->size, &found);
  *arrived = ierr ? PETSC_FALSE : PETSC_TRUE;
  if (!ierr) PetscCallCUDA(cudaMemcpy(found, m->part[m->rank], sizeof(*found) * m->size, cudaMemcpyDeviceToHost));
  for (PetscMPIInt r = 0; r < m->size && !ierr; r++) {
    if (found[r] != 1000ull + (unsigned long long)r) *arrived = PETSC_FALSE;
  }
  PetscCall(PetscFree(found));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, arrived, 1, MPI_C_BOOL, MPI_LAND, m->comm));
  PetscCall(ierr);
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
  PetscCall(Create(comm, "a trial of memory that devices share", (size_t)size * sizeof(unsigned long long), &ok, &m));
  if (!ok) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Try(m, &ok));
  PetscCall(PetscCSRCPeerMemoryDestroy(&m));
  p->reason = "what one device stores in the memory of another does not arrive";
  p->usable = ok;
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
