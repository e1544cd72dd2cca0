/* What exchanges on devices have in common: whether processes have different devices, lists on the device, and device copies of arrays that are on the host */
#include "exchangeimpl.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include <petscdevice_cuda.h>

/* Whether this process has a device that can be used, and which one */
static PetscErrorCode AskDevice(PetscBool *usable, cudaUUID_t *device)
{
  int                   id;
  cudaStream_t          stream;
  struct cudaDeviceProp properties;

  PetscFunctionBegin;
  PetscCall(PetscCSRCDeviceUsable(usable, NULL));
  if (!*usable) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream)); /* now PETSc has chosen a device */
  PetscCallCUDA(cudaGetDevice(&id));
  PetscCallCUDA(cudaGetDeviceProperties(&properties, id));
  *device = properties.uuid;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeDevicesDiffer(MPI_Comm comm, PetscBool *usable, PetscBool *differ)
{
  cudaUUID_t  device, *all = NULL;
  PetscMPIInt size;
  PetscBool   same;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscMemzero(&device, sizeof(device)));
  if (AskDevice(usable, &device) || PetscMalloc1(size, &all)) *usable = PETSC_FALSE; /* the error has been printed; the others must not wait */
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, usable, 1, MPI_C_BOOL, MPI_LAND, comm));
  *differ = PETSC_FALSE;
  if (!*usable) {
    PetscCall(PetscFree(all));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallMPI(MPI_Allgather(&device, sizeof(device), MPI_BYTE, all, sizeof(device), MPI_BYTE, comm));
  *differ = PETSC_TRUE;
  for (PetscMPIInt r = 0; r < size; r++) {
    for (PetscMPIInt s = 0; s < r; s++) {
      PetscCall(PetscMemcmp(&all[r], &all[s], sizeof(*all), &same));
      if (same) *differ = PETSC_FALSE;
    }
  }
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeDeviceIntegers(const PetscInt from[], PetscInt n, PetscInt **to)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCDeviceMalloc("the lists of an exchange", (size_t)n * sizeof(PetscInt), to));
  PetscCall(PetscCSRCDeviceUpload(*to, from, (size_t)n * sizeof(PetscInt)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* dest, first and place of ExchangeSums; next is scratch, with the number of contributions to each own entry at first */
static void FillSums(PetscInt n, PetscInt total, const PetscInt idx[], PetscInt next[], PetscInt dest[], PetscInt first[], PetscInt place[])
{
  first[0] = 0;
  for (PetscInt i = 0, k = 0; i < n; i++) {
    if (!next[i]) continue;
    dest[k]      = i;
    first[k + 1] = first[k] + next[i];
    next[i]      = first[k++];
  }
  for (PetscInt p = 0; p < total; p++) place[next[idx[p]]++] = p;
}

PetscErrorCode ExchangeSumsCreate(PetscCSRCExchange e, PetscInt total, const PetscInt idx[], ExchangeSums *sums)
{
  PetscErrorCode ierr;
  PetscInt      *next, *dest = NULL, *first = NULL, *place = NULL;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(e->n, &next));
  for (PetscInt p = 0; p < total; p++) next[idx[p]]++;
  sums->n = 0;
  for (PetscInt i = 0; i < e->n; i++) sums->n += next[i] ? 1 : 0;
  ierr = PetscMalloc3(sums->n, &dest, sums->n + 1, &first, total, &place);
  if (!ierr) FillSums(e->n, total, idx, next, dest, first, place);
  if (!ierr) ierr = ExchangeDeviceIntegers(dest, sums->n, &sums->dest);
  if (!ierr) ierr = ExchangeDeviceIntegers(first, sums->n + 1, &sums->first);
  if (!ierr) ierr = ExchangeDeviceIntegers(place, total, &sums->place);
  PetscCall(PetscFree3(dest, first, place));
  PetscCall(PetscFree(next));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeSumsDestroy(ExchangeSums *sums)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCDeviceFree(&sums->dest));
  PetscCall(PetscCSRCDeviceFree(&sums->first));
  PetscCall(PetscCSRCDeviceFree(&sums->place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeBufferGrow(ExchangeBuffer *buffer, size_t n)
{
  PetscFunctionBegin;
  if (buffer->n >= n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCSRCDeviceFree(&buffer->a));
  buffer->n = 0;
  PetscCall(PetscCSRCDeviceMalloc("buffers of an exchange", n * sizeof(PetscScalar), &buffer->a));
  buffer->n = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeOnDevice(PetscCSRCExchange e, const ExchangeArrays *a, ExchangeBuffer stage[2], ExchangeArrays *b)
{
  PetscFunctionBegin;
  *b = *a;
  if (PetscMemTypeHost(a->own.mem)) {
    PetscCall(ExchangeBufferGrow(&stage[EXCHANGE_OWN], (size_t)e->n * a->K));
    b->own = (ExchangeArray){stage[EXCHANGE_OWN].a, e->n, PETSC_MEMTYPE_CUDA};
  }
  if (PetscMemTypeHost(a->ghost.mem)) {
    PetscCall(ExchangeBufferGrow(&stage[EXCHANGE_GHOST], (size_t)e->nghost * a->K));
    b->ghost = (ExchangeArray){stage[EXCHANGE_GHOST].a, e->nghost, PETSC_MEMTYPE_CUDA};
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
