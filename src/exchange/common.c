/* What all exchanges use: errors that processes agree on, data of communicators, copies of arrays, lists of neighbours */
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

PetscErrorCode ExchangeCopy(PetscInt m, PetscInt n, ExchangeArray from, ExchangeArray to)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(from.mem) && PetscMemTypeHost(to.mem)) {
    for (PetscInt k = 0; k < n; k++) PetscCall(PetscArraycpy(to.a + (size_t)to.ld * k, from.a + (size_t)from.ld * k, m));
  }
#if defined(PETSCCSRC_HAVE_CUDA)
  else {
    PetscCall(PetscCSRCDeviceCopy2D(to.a, to.ld, to.mem, from.a, from.ld, from.mem, m, n));
    if (PetscMemTypeHost(from.mem) || PetscMemTypeHost(to.mem)) PetscCall(PetscCSRCDeviceWait());
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeCopyOwn(PetscCSRCExchange e, const ExchangeArrays *from, const ExchangeArrays *to)
{
  PetscFunctionBegin;
  if (from->own.a != to->own.a) PetscCall(ExchangeCopy(e->n, from->K, from->own, to->own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeCopyGhosts(PetscCSRCExchange e, const ExchangeArrays *from, const ExchangeArrays *to)
{
  PetscFunctionBegin;
  if (from->ghost.a != to->ghost.a) PetscCall(ExchangeCopy(e->nghost, from->K, from->ghost, to->ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeNeighboursCreate(PetscMPIInt n, const PetscMPIInt rank[], const PetscInt offset[], const PetscInt idx[], ExchangeNeighbours *nb)
{
  PetscMPIInt *order;

  PetscFunctionBegin;
  nb->n = n;
  PetscCall(PetscMalloc2(n, &nb->rank, n + 1, &nb->offset));
  PetscCall(PetscMalloc1(n ? offset[n] : 0, &nb->idx));
  PetscCall(PetscMalloc1(n, &order));
  PetscCall(PetscArraycpy(nb->rank, rank, n));
  for (PetscMPIInt k = 0; k < n; k++) order[k] = k;
  PetscCall(PetscSortMPIIntWithArray(n, nb->rank, order));
  nb->offset[0] = 0;
  for (PetscMPIInt k = 0; k < n; k++) {
    const PetscInt begin = offset[order[k]], count = offset[order[k] + 1] - begin;

    PetscCall(PetscArraycpy(nb->idx + nb->offset[k], idx + begin, count));
    nb->offset[k + 1] = nb->offset[k] + count;
  }
  PetscCall(PetscFree(order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeNeighboursFree(ExchangeNeighbours *nb)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(nb->rank, nb->offset));
  PetscCall(PetscFree(nb->idx));
  nb->n = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
