/* What exchanges have in common: errors that processes agree on, data of communicators, scratch, lists of neighbours and of sums; whether processes have different devices */
#include "exchangeimpl.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include <petscdevice_cuda.h>
#endif

PetscErrorCode PetscCSRCAgree(MPI_Comm comm, PetscErrorCode ierr, const char what[])
{
  int         failed[2] = {ierr ? 1 : 0, 0};
  PetscMPIInt rank, first;

  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(&failed[0], &failed[1], 1, MPI_INT, MPI_MAX, comm));
  if (!failed[1]) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(PETSCCSRC_HAVE_CUDA)
  (void)cudaGetLastError(); /* an allocation of PETSc's that has failed leaves it to whoever asks next, after a launch that is right */
#endif
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  first = ierr ? rank : PETSC_MPI_INT_MAX;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm));
  PetscCall(ierr);
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "%s failed on process %d: see its error message", what, (int)first);
}

/* The kinds of data that communicators have, and PETSc's communicator for PETSC_COMM_WORLD, which PETSc frees whenever no object is left on it: it is kept */
static ExchangeAttribute *Attributes[3];
static size_t             NumAttributes = 0;
static MPI_Comm           World         = MPI_COMM_NULL;

static PetscMPIInt MPIAPI DeleteAttribute(MPI_Comm comm, PetscMPIInt keyval, void *data, void *attribute)
{
  PetscErrorCode (*const destroy)(void *) = ((ExchangeAttribute *)attribute)->destroy;

  PetscFunctionBegin;
  (void)comm;
  (void)keyval;
  if (destroy && (*destroy)(data)) PetscFunctionReturn(MPI_ERR_OTHER);
  if (PetscFree(data)) PetscFunctionReturn(MPI_ERR_OTHER);
  PetscFunctionReturn(MPI_SUCCESS);
}

static PetscErrorCode FinalizeAttributes(void)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < NumAttributes; k++) {
    PetscMPIInt found = 0;
    void       *data;

    if (World != MPI_COMM_NULL) PetscCallMPI(MPI_Comm_get_attr(World, Attributes[k]->keyval, &data, &found));
    if (found) PetscCallMPI(MPI_Comm_delete_attr(World, Attributes[k]->keyval));
    PetscCallMPI(MPI_Comm_free_keyval(&Attributes[k]->keyval));
  }
  NumAttributes = 0;
  if (World != MPI_COMM_NULL) PetscCall(PetscCommDestroy(&World));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All processes are here, as PetscCommDuplicate() may need: it is collective if no object is on PETSC_COMM_WORLD */
static PetscErrorCode KeepWorld(MPI_Comm comm)
{
  PetscMPIInt same;
  MPI_Comm    world;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_compare(comm, PETSC_COMM_WORLD, &same));
  if (same != MPI_CONGRUENT || World != MPI_COMM_NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCommDuplicate(PETSC_COMM_WORLD, &world, NULL));
  if (world == comm) World = world;
  else PetscCall(PetscCommDestroy(&world));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeAttributeGet(ExchangeAttribute *attribute, MPI_Comm comm, void *data, PetscBool *isnew)
{
  PetscErrorCode ierr;
  PetscMPIInt    found;

  PetscFunctionBegin;
  if (attribute->keyval == MPI_KEYVAL_INVALID) {
    PetscCheck(NumAttributes < PETSC_STATIC_ARRAY_LENGTH(Attributes), PETSC_COMM_SELF, PETSC_ERR_PLIB, "There are more kinds of data than %zu", NumAttributes);
    if (!NumAttributes) PetscCall(PetscRegisterFinalize(FinalizeAttributes));
    PetscCallMPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, DeleteAttribute, &attribute->keyval, attribute));
    Attributes[NumAttributes++] = attribute;
  }
  PetscCallMPI(MPI_Comm_get_attr(comm, attribute->keyval, data, &found));
  *isnew = found ? PETSC_FALSE : PETSC_TRUE;
  if (found) PetscFunctionReturn(PETSC_SUCCESS);
  *(void **)data = NULL;
  ierr           = PetscCSRCAgree(comm, PetscCalloc(attribute->bytes, (void **)data), "Data of a communicator");
  if (ierr) PetscCall(PetscFree(*(void **)data));
  PetscCall(ierr);
  PetscCallMPI(MPI_Comm_set_attr(comm, attribute->keyval, *(void **)data));
  PetscCall(KeepWorld(comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeBufferFree(ExchangeBuffer *b)
{
  PetscFunctionBegin;
  if (b->place == EXCHANGE_HOST) PetscCall(PetscFree(b->a));
#if defined(PETSCCSRC_HAVE_CUDA)
  if (b->place == EXCHANGE_DEVICE) PetscCall(PetscCSRCDeviceFree(&b->a));
  if (b->place == EXCHANGE_PAGELOCKED && b->a) {
    PetscCall(PetscCSRCDeviceWait()); /* a kernel that reads it may still be queued */
    PetscCallCUDA(cudaFreeHost(b->a));
    b->a = NULL;
  }
#endif
  b->n = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeBufferGrow(ExchangeBuffer *b, size_t n)
{
  PetscFunctionBegin;
  if (b->n >= n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ExchangeBufferFree(b));
  if (b->place == EXCHANGE_HOST) PetscCall(PetscMalloc1(n, &b->a));
#if defined(PETSCCSRC_HAVE_CUDA)
  if (b->place == EXCHANGE_DEVICE) PetscCall(PetscCSRCDeviceMalloc("buffers of an exchange", n * sizeof(PetscScalar), &b->a));
  if (b->place == EXCHANGE_PAGELOCKED) PetscCallCUDA(cudaMallocHost((void **)&b->a, n * sizeof(PetscScalar)));
#endif
  b->n = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeIntegersCreate(PetscMemType mem, const PetscInt from[], PetscInt n, PetscInt **to)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(mem)) {
    PetscCall(PetscMalloc1(n, to));
    PetscCall(PetscArraycpy(*to, from, n));
  }
#if defined(PETSCCSRC_HAVE_CUDA)
  else {
    PetscCall(PetscCSRCDeviceMalloc("the lists of an exchange", (size_t)n * sizeof(PetscInt), to));
    PetscCall(PetscCSRCDeviceUpload(*to, from, (size_t)n * sizeof(PetscInt)));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeIntegersFree(PetscMemType mem, PetscInt **a)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(mem)) PetscCall(PetscFree(*a));
#if defined(PETSCCSRC_HAVE_CUDA)
  else PetscCall(PetscCSRCDeviceFree(a));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeNeighboursCreate(PetscMPIInt n, const PetscMPIInt rank[], const PetscInt offset[], const PetscInt idx[], const PetscBool take[], ExchangeNeighbours *nb)
{
  PetscMPIInt *order, *sorted;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &nb->rank, n + 1, &nb->offset));
  PetscCall(PetscMalloc1(n ? offset[n] : 0, &nb->idx));
  PetscCall(PetscMalloc2(n, &order, n, &sorted));
  PetscCall(PetscArraycpy(sorted, rank, n));
  for (PetscMPIInt k = 0; k < n; k++) order[k] = k;
  PetscCall(PetscSortMPIIntWithArray(n, sorted, order));
  nb->offset[0] = 0;
  for (PetscMPIInt k = 0; k < n; k++) {
    const PetscInt begin = offset[order[k]], count = offset[order[k] + 1] - begin;

    if (take && !take[order[k]]) continue;
    PetscCall(PetscArraycpy(nb->idx + nb->offset[nb->n], idx + begin, count));
    nb->rank[nb->n]       = sorted[k];
    nb->offset[nb->n + 1] = nb->offset[nb->n] + count;
    nb->n++;
  }
  PetscCall(PetscFree2(order, sorted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeNeighboursGet(PetscSF sf, ExchangeNeighbours nb[2])
{
  PetscMPIInt        n;
  const PetscMPIInt *rank;
  const PetscInt    *offset, *idx;

  PetscFunctionBegin;
  PetscCall(PetscSFGetLeafRanks(sf, &n, &rank, &offset, &idx));
  PetscCall(ExchangeNeighboursCreate(n, rank, offset, idx, NULL, &nb[EXCHANGE_OWN]));
  PetscCall(PetscSFGetRootRanks(sf, &n, &rank, &offset, &idx, NULL));
  PetscCall(ExchangeNeighboursCreate(n, rank, offset, idx, NULL, &nb[EXCHANGE_GHOST]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeNeighboursFree(ExchangeNeighbours nb[2])
{
  PetscFunctionBegin;
  for (int s = 0; s < 2; s++) {
    PetscCall(PetscFree2(nb[s].rank, nb[s].offset));
    PetscCall(PetscFree(nb[s].idx));
    nb[s].n = 0;
  }
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

PetscErrorCode ExchangeSumsCreate(PetscMemType mem, PetscInt n, PetscInt total, const PetscInt idx[], ExchangeSums *sums)
{
  PetscErrorCode ierr;
  PetscInt      *next, *dest = NULL, *first = NULL, *place = NULL;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(n, &next));
  for (PetscInt p = 0; p < total; p++) next[idx[p]]++;
  sums->mem = mem;
  sums->n   = 0;
  for (PetscInt i = 0; i < n; i++) sums->n += next[i] ? 1 : 0;
  ierr = PetscMalloc3(sums->n, &dest, sums->n + 1, &first, total, &place);
  if (!ierr) FillSums(n, total, idx, next, dest, first, place);
  if (!ierr) ierr = ExchangeIntegersCreate(mem, dest, sums->n, &sums->dest);
  if (!ierr) ierr = ExchangeIntegersCreate(mem, first, sums->n + 1, &sums->first);
  if (!ierr) ierr = ExchangeIntegersCreate(mem, place, total, &sums->place);
  PetscCall(PetscFree3(dest, first, place));
  PetscCall(PetscFree(next));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeSumsDestroy(ExchangeSums *sums)
{
  PetscFunctionBegin;
  PetscCall(ExchangeIntegersFree(sums->mem, &sums->dest));
  PetscCall(ExchangeIntegersFree(sums->mem, &sums->first));
  PetscCall(ExchangeIntegersFree(sums->mem, &sums->place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
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
#endif
