#pragma once

/*
  Memory that the devices of several processes map (src/exchange/peer/peermemory.c), without devices: its own source, with files that processes map
  for the memory. To be included by one file of a program, after POOL_BLOCK is defined.
*/
#include "exchange/exchangeimpl.h"
#include "exchange/nccl/ncclload.h"
#include "exchange/peer/peerkernels.h"
#include "exchange/peer/peermemory.h"
#include <petscdevice_cuda.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
  void  *address;
  char   name[64];
  size_t bytes;
} Mapping;

static Mapping mappings[1000];

static PetscErrorCode Map(const char name[], size_t bytes, int flags, void **address)
{
  Mapping *m = mappings;
  int      file;

  PetscFunctionBegin;
  while (m->address) m++;
  PetscCheck(m < mappings + PETSC_STATIC_ARRAY_LENGTH(mappings) - 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Too many mappings");
  PetscCall(PetscStrncpy(m->name, name, sizeof(m->name)));
  m->bytes = bytes;
  file     = shm_open(name, O_RDWR | flags, 0600);
  PetscCheck(file >= 0 && (!flags || !ftruncate(file, (off_t)bytes)), PETSC_COMM_SELF, PETSC_ERR_SYS, "No shared memory %s", name);
  m->address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  PetscCheck(m->address != MAP_FAILED, PETSC_COMM_SELF, PETSC_ERR_SYS, "No mapping of %s", name);
  (void)close(file);
  *address = m->address;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static Mapping *MappingOf(const void *address)
{
  for (Mapping *m = mappings; m < mappings + PETSC_STATIC_ARRAY_LENGTH(mappings); m++) {
    if (m->address == address) return m;
  }
  return NULL;
}

static PetscErrorCode Unmap(void *address, PetscBool last)
{
  Mapping *m = MappingOf(address);

  PetscFunctionBegin;
  PetscCheck(m, PETSC_COMM_SELF, PETSC_ERR_PLIB, "This is not mapped");
  PetscCheck(!munmap(address, m->bytes) && (!last || !shm_unlink(m->name)), PETSC_COMM_SELF, PETSC_ERR_SYS, "Cannot unmap %s", m->name);
  m->address = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCDeviceMalloc(const char what[], size_t bytes, void *ptr)
{
  static int count = 0;
  char       name[64], *probe;

  PetscFunctionBegin;
  (void)what;
  PetscCall(PetscMalloc1(1, &probe)); /* so that tests can make it fail */
  PetscCall(PetscFree(probe));
  PetscCall(PetscSNPrintf(name, sizeof(name), "/petsccsrc-test-%d-%d", (int)getpid(), count++));
  PetscCall(Map(name, PetscMax(bytes, 1), O_CREAT | O_EXCL, (void **)ptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCDeviceFree(void *ptr)
{
  PetscFunctionBegin;
  if (*(void **)ptr) PetscCall(Unmap(*(void **)ptr, PETSC_TRUE));
  *(void **)ptr = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A handle holds name and size */
static cudaError_t GetHandle(cudaIpcMemHandle_t *handle, void *address)
{
  const Mapping *m = MappingOf(address);

  if (!m || sizeof(*handle) < 56) return cudaErrorInvalidValue;
  (void)memcpy(handle->reserved, &m->bytes, sizeof(m->bytes));
  (void)memcpy(handle->reserved + sizeof(m->bytes), m->name, 48);
  return cudaSuccess;
}

static cudaError_t OpenHandle(void **address, cudaIpcMemHandle_t handle, unsigned flags)
{
  size_t bytes;

  (void)flags;
  (void)memcpy(&bytes, handle.reserved, sizeof(bytes));
  return Map(handle.reserved + sizeof(bytes), bytes, 0, address) ? cudaErrorMapBufferObjectFailed : cudaSuccess;
}

static cudaError_t CloseHandle(void *address)
{
  return Unmap(address, PETSC_FALSE) ? cudaErrorInvalidValue : cudaSuccess;
}

/* Tests can make it fail */
static cudaError_t Synchronize(void)
{
  char *probe;

  return PetscMalloc1(1, &probe) || PetscFree(probe) ? cudaErrorUnknown : cudaSuccess;
}

PetscErrorCode PetscCSRCDeviceWait(void)
{
  return PETSC_SUCCESS;
}

PetscErrorCode PetscCSRCDeviceUsable(PetscBool *usable, const char **reason)
{
  PetscFunctionBegin;
  *usable = PETSC_TRUE;
  if (reason) *reason = "";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another device on each process */
static cudaError_t GetProperties(struct cudaDeviceProp *properties, int device)
{
  PetscMPIInt rank;

  (void)device;
  PetscCallMPIAbort(PETSC_COMM_SELF, MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  (void)memset(&properties->uuid, rank, sizeof(properties->uuid));
  return cudaSuccess;
}

PetscErrorCode PetscCSRCPeerMark(unsigned long long *at, unsigned long long number)
{
  *at = number;
  return PETSC_SUCCESS;
}

PetscErrorCode PetscCSRCDeviceUpload(void *to, const void *from, size_t bytes)
{
  PetscFunctionBegin;
  PetscCall(PetscMemcpy(to, from, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCDeviceCopy2D(PetscScalar *to, PetscInt ldto, PetscMemType tomem, const PetscScalar *from, PetscInt ldfrom, PetscMemType frommem, PetscInt m, PetscInt n)
{
  PetscFunctionBegin;
  (void)tomem;
  (void)frommem;
  for (PetscInt k = 0; k < n; k++) PetscCall(PetscArraycpy(to + (size_t)ldto * k, from + (size_t)ldfrom * k, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeSharedCount(MPI_Comm comm, PetscInt *n)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  *n = size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCNCCLGet(MPI_Comm comm, PetscCSRCNCCL **nccl)
{
  static PetscCSRCNCCL none = {PETSC_FALSE, "a test", NULL};

  PetscFunctionBegin;
  (void)comm;
  *nccl = &none;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define cudaIpcGetMemHandle   GetHandle
#define cudaIpcOpenMemHandle  OpenHandle
#define cudaIpcCloseMemHandle CloseHandle
#undef cudaGetDeviceProperties
#define cudaGetDeviceProperties      GetProperties
#define cudaGetDevice(device)        (*(device) = 0, cudaSuccess)
#define cudaDeviceSynchronize        Synchronize
#define cudaMemset(to, byte, n)      ((void)memset(to, byte, n), cudaSuccess)
#define cudaMemcpy(to, from, n, way) ((void)memcpy(to, from, n), cudaSuccess)
#define PetscGetCurrentCUDAStream(s) (*(s) = NULL, PETSC_SUCCESS)
#include "../../src/exchange/common.c"
#define Attribute PeerAttribute
#define Create    PeerMemoryCreate
#define Free      PeerMemoryFree
#include "../../src/exchange/peer/peermemory.c"
#undef Attribute
#undef Create
#undef Free
