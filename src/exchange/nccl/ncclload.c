/*
  NCCL's library is loaded when processes with devices first have something to exchange; without it another implementation is used. All
  processes of a communicator come to the same answer: if one of them cannot use NCCL, none does.

  Creating a communicator of NCCL takes a good part of a second. It belongs to PETSc's communicator and is freed with it.
*/
#include "../exchangeimpl.h"
#include "ncclload.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include "cuda/device.h"
  #include <petscdevice_cuda.h>
  #include <dlfcn.h>

NCCLFunctions PetscCSRCNCCLFunctions;
int           PetscCSRCNCCLVersion;

static void *Library = NULL;

/* Why NCCL cannot be used. The largest value over all processes is the reason to report */
typedef enum {
  NCCL_USABLE,
  NCCL_SHARED,
  NCCL_VERSIONS,
  NCCL_FAILED,
  NCCL_OLD,
  NCCL_MISSING,
  NCCL_PRECISION,
  NCCL_NODEVICE
} Usability;

static const char *const Reasons[] = {"",
                                      "processes share a device",
                                      "processes have different versions of it",
                                      "it fails to connect the processes",
                                      NCCL_LIBRARY " of a process is not a version from 2.7 to 2.99, or lacks a function",
                                      "a process finds no " NCCL_LIBRARY,
                                      "it knows no scalars of this precision",
                                      "a process has no device that can be used"};

static PetscErrorCode LoadLibrary(Usability *usability)
{
  const struct {
    const char *name;
    void       *function;
  } functions[] = {
    {"ncclGetVersion",     &PetscCSRCNCCLFunctions.GetVersion    },
    {"ncclGetErrorString", &PetscCSRCNCCLFunctions.GetErrorString},
    {"ncclGetUniqueId",    &PetscCSRCNCCLFunctions.GetUniqueId   },
    {"ncclCommInitRank",   &PetscCSRCNCCLFunctions.CommInitRank  },
    {"ncclCommDestroy",    &PetscCSRCNCCLFunctions.CommDestroy   },
    {"ncclGroupStart",     &PetscCSRCNCCLFunctions.GroupStart    },
    {"ncclGroupEnd",       &PetscCSRCNCCLFunctions.GroupEnd      },
    {"ncclSend",           &PetscCSRCNCCLFunctions.Send          },
    {"ncclRecv",           &PetscCSRCNCCLFunctions.Recv          },
    {"ncclAllGather",      &PetscCSRCNCCLFunctions.AllGather     },
    {"ncclReduceScatter",  &PetscCSRCNCCLFunctions.ReduceScatter },
    {"ncclAllReduce",      &PetscCSRCNCCLFunctions.AllReduce     },
  };

  PetscFunctionBegin;
  if (!Library) Library = dlopen(NCCL_LIBRARY, RTLD_NOW | RTLD_LOCAL); /* it stays loaded: NCCL has threads of its own */
  if (!Library) {
    *usability = NCCL_MISSING;
    PetscCall(PetscInfo(NULL, "%s\n", dlerror()));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(functions); k++) {
    *(void **)functions[k].function = dlsym(Library, functions[k].name);
    if (!*(void **)functions[k].function) {
      *usability = NCCL_OLD;
      PetscCall(PetscInfo(NULL, "%s has no %s\n", NCCL_LIBRARY, functions[k].name));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCallNCCL((*PetscCSRCNCCLFunctions.GetVersion)(&PetscCSRCNCCLVersion));
  if (PetscCSRCNCCLVersion < NCCL_MINIMUM || PetscCSRCNCCLVersion >= NCCL_MAJOR_MAXIMUM) *usability = NCCL_OLD;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The worst answer of all processes */
static PetscErrorCode Worst(MPI_Comm comm, Usability *usability)
{
  int worst = (int)*usability;

  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, comm));
  *usability = (Usability)worst;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether all processes have the same version */
static PetscErrorCode CompareVersions(MPI_Comm comm, Usability *usability)
{
  int versions[2] = {PetscCSRCNCCLVersion, -PetscCSRCNCCLVersion};

  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, versions, 2, MPI_INT, MPI_MAX, comm));
  if (versions[0] != -versions[1]) *usability = NCCL_VERSIONS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Connect(MPI_Comm comm, PetscMPIInt size, NCCLComm *nccl, Usability *usability)
{
  NCCLUniqueId id     = {{0}};
  NCCLResult   result = NCCL_SUCCESS;
  PetscMPIInt  rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (!rank) result = (*PetscCSRCNCCLFunctions.GetUniqueId)(&id);
  *usability = result == NCCL_SUCCESS ? NCCL_USABLE : NCCL_FAILED;
  PetscCall(Worst(comm, usability));
  if (*usability != NCCL_USABLE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, comm));
  result     = (*PetscCSRCNCCLFunctions.CommInitRank)(nccl, size, id, rank);
  *usability = result == NCCL_SUCCESS ? NCCL_USABLE : NCCL_FAILED;
  if (result != NCCL_SUCCESS) PetscCall(PetscInfo(NULL, "NCCL error %d: %s\n", (int)result, (*PetscCSRCNCCLFunctions.GetErrorString)(result)));
  PetscCall(Worst(comm, usability));
  if (*usability != NCCL_USABLE && result == NCCL_SUCCESS) PetscCallNCCL((*PetscCSRCNCCLFunctions.CommDestroy)(*nccl));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Disconnect(void *data)
{
  const PetscCSRCNCCL *nccl = (PetscCSRCNCCL *)data;

  PetscFunctionBegin;
  if (nccl->usable) PetscCallNCCL((*PetscCSRCNCCLFunctions.CommDestroy)(nccl->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static ExchangeAttribute Attribute = {sizeof(PetscCSRCNCCL), Disconnect, MPI_KEYVAL_INVALID};

PetscErrorCode PetscCSRCNCCLGet(MPI_Comm comm, PetscCSRCNCCL **nccl)
{
  Usability   usability = NCCL_USABLE;
  PetscBool   usable, differ, isnew;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(ExchangeAttributeGet(&Attribute, comm, nccl, &isnew));
  if (!isnew) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(ExchangeDevicesDiffer(comm, &usable, &differ));
  if (!usable) usability = NCCL_NODEVICE;
  else if (!PetscDefined(USE_REAL_DOUBLE) && !PetscDefined(USE_REAL_SINGLE)) usability = NCCL_PRECISION;
  else if (!differ) usability = NCCL_SHARED;
  else {
    if (LoadLibrary(&usability)) usability = NCCL_FAILED; /* the error has been printed; the others must not wait */
    PetscCall(Worst(comm, &usability));
    if (usability == NCCL_USABLE) PetscCall(CompareVersions(comm, &usability));
  }
  if (usability == NCCL_USABLE) PetscCall(Connect(comm, size, &(*nccl)->comm, &usability));
  (*nccl)->usable = usability == NCCL_USABLE ? PETSC_TRUE : PETSC_FALSE;
  (*nccl)->reason = Reasons[usability];
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
