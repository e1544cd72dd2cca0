/* Sums over processes of small arrays on devices, by stores into memory of the other devices or by NCCL */
#include "exchangeimpl.h"
#include "nccl/ncclload.h"
#include "peer/peermemory.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include "cuda/device.h"
  #include "peer/peerkernels.h"
  #include <petscdevice_cuda.h>

/*
  What is kept for a communicator: how sums are made (PETSCCSRC_EXCHANGE_MPI: not on devices), and for stores into memory of the
  other devices such memory, as in peer/peer.c: flags, and two buffers of `size` rows of `room` scalars with stamps. Every process sends its
  array to all others, and sums.
*/
typedef struct {
  PetscCSRCExchangeType type;
  PetscCSRCPeerMemory   memory;
  PetscMPIInt           size, rank;
  size_t                room;
  PeerNeighbour        *nb; /* on the device */
  PeerFlag              number;
} DeviceSum;

  #define ROOM_LEAST 16384

static PetscErrorCode FreeRoom(DeviceSum *s)
{
  PetscFunctionBegin;
  s->room = 0;
  PetscCall(PetscCSRCPeerMemoryDestroy(&s->memory));
  PetscCall(PetscCSRCDeviceFree(&s->nb));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for n scalars of each process; collective, with the same n */
static PetscErrorCode Room(MPI_Comm comm, size_t n, DeviceSum *s)
{
  const size_t   flags = PeerFlagBytes(s->size), buffer = (size_t)s->size * n * PEER_STAMPED;
  PetscErrorCode ierr;
  PeerNeighbour *nb;

  PetscFunctionBegin;
  PetscCall(PetscCSRCAgree(comm, FreeRoom(s), "Room for sums over processes"));
  PetscCall(PetscCSRCPeerMemoryCreate(comm, "sums over processes", flags + 2 * buffer, &s->memory));
  PetscCall(PetscCalloc1(s->size, &nb));
  for (PetscMPIInt k = 0; k < s->size - 1; k++) {
    const PetscMPIInt r    = k < s->rank ? k : k + 1;
    char *const       base = PetscCSRCPeerMemoryOf(s->memory, r);

    nb[k].stampedto[0] = base + flags + (size_t)s->rank * n * PEER_STAMPED;
    nb[k].stampedto[1] = nb[k].stampedto[0] + buffer;
    nb[k].place        = (PetscInt)(r * n);
    nb[k].tell         = PeerFlags(base, s->rank);
    nb[k].told         = PeerFlags(PetscCSRCPeerMemoryOf(s->memory, s->rank), r);
    nb[k].nsend = nb[k].nreceive = (PetscInt)n;
  }
  ierr = PetscCSRCDeviceMalloc("sums over processes", (size_t)s->size * sizeof(*nb), &s->nb);
  if (!ierr) ierr = PetscCSRCDeviceUpload(s->nb, nb, (size_t)s->size * sizeof(*nb));
  PetscCall(PetscFree(nb));
  PetscCall(ierr);
  s->room   = n;
  s->number = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(void *sum)
{
  PetscFunctionBegin;
  PetscCall(FreeRoom((DeviceSum *)sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static ExchangeAttribute Attribute = {sizeof(DeviceSum), Destroy, MPI_KEYVAL_INVALID};

static PetscErrorCode Get(MPI_Comm comm, DeviceSum **sum)
{
  PetscBool isnew;

  PetscFunctionBegin;
  PetscCall(ExchangeAttributeGet(&Attribute, comm, sum, &isnew));
  if (isnew) {
    PetscCallMPI(MPI_Comm_size(comm, &(*sum)->size));
    PetscCallMPI(MPI_Comm_rank(comm, &(*sum)->rank));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SumByPeers(MPI_Comm comm, PetscScalar a[], size_t n, DeviceSum *s)
{
  PeerExchange    x;
  PetscErrorCode  ierr;
  const PeerArray array = {a, 0, NULL};

  PetscFunctionBegin;
  if (s->room < n) {
    const size_t room = PetscMax(2 * n, ROOM_LEAST);

    PetscCheck((double)room * s->size < PETSC_INT_MAX, comm, PETSC_ERR_SUP, "A sum of %zu scalars over %d processes is too long", n, (int)s->size);
    ierr = PetscCSRCAgree(comm, Room(comm, room, s), "Room for sums over processes");
    if (ierr) s->room = 0; /* on all processes, which then make it again together */
    PetscCall(ierr);
  }
  s->number++;
  x.nb         = s->nb;
  x.n          = s->size - 1;
  x.before     = s->rank;
  x.K          = 1;
  x.parts      = PetscCSRCPeerParts((PetscInt)n, 1);
  x.most       = (PetscInt)n;
  x.stamped    = PETSC_TRUE;
  x.received   = PetscCSRCPeerMemoryOf(s->memory, s->rank) + PeerFlagBytes(s->size) + (s->number & 1 ? (size_t)s->size * s->room * PEER_STAMPED : 0);
  x.ldreceived = 0;
  x.number     = s->number;
  PetscCall(PetscCSRCPeerSumAll(&x, array, 0, (PetscInt)n, INSERT_VALUES, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How sums are made; PETSCCSRC_EXCHANGE_MPI: not on devices. -mat_form_exchange without a prefix counts here too, where no matrix is involved */
static PetscErrorCode Choose(MPI_Comm comm, PetscCSRCExchangeType *type)
{
  PetscMPIInt size;
  const char *whynot;
  PetscEnum   asked = (PetscEnum)PETSCCSRC_EXCHANGE_AUTO;

  PetscFunctionBegin;
  *type = PETSCCSRC_EXCHANGE_MPI;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-mat_form_exchange", PetscCSRCExchangeTypes, &asked, NULL));
  if (size == 1 || asked == (PetscEnum)PETSCCSRC_EXCHANGE_MPI || asked == (PetscEnum)PETSCCSRC_EXCHANGE_SHARED) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ExchangeChooseOnDevices(comm, (PetscCSRCExchangeType)asked, type, &whynot));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode PetscCSRCDeviceSumUsable(MPI_Comm comm, PetscBool *usable)
{
  PetscFunctionBegin;
  *usable = PETSC_FALSE;
#if defined(PETSCCSRC_HAVE_CUDA)
  DeviceSum *s;

  PetscCall(Get(comm, &s));
  PetscCall(Choose(comm, &s->type));
  *usable = s->type == PETSCCSRC_EXCHANGE_MPI ? PETSC_FALSE : PETSC_TRUE;
#else
  (void)comm;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCDeviceSum(MPI_Comm comm, PetscScalar a[], size_t n)
{
#if defined(PETSCCSRC_HAVE_CUDA)
  DeviceSum     *s;
  PetscCSRCNCCL *nccl;
  cudaStream_t   stream;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Get(comm, &s));
  PetscCheck(s->type == PETSCCSRC_EXCHANGE_PEER || s->type == PETSCCSRC_EXCHANGE_NCCL, comm, PETSC_ERR_SUP, "Sums over these processes cannot be made on devices");
  if (s->type == PETSCCSRC_EXCHANGE_PEER) {
    PetscCall(SumByPeers(comm, a, n, s));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscCSRCNCCLGet(comm, &nccl));
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallNCCL((*PetscCSRCNCCLFunctions.AllReduce)(a, a, n * NCCL_SCALAR_PARTS, NCCL_SCALAR, NCCL_SUM, nccl->comm, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
#else
  PetscFunctionBegin;
  (void)a;
  (void)n;
  SETERRQ(comm, PETSC_ERR_SUP, "petsccsrc was built without CUDA");
#endif
}
