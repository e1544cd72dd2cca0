/* A second stream, for work that may run at the same time as what is queued on the stream of the current PetscDeviceContext meanwhile */
#include "sidestream.h"

#if defined(PETSCCSRC_HAVE_CUDA)
  #include <petscdevice_cuda.h>

struct _n_PetscCSRCSideStream {
  PetscDeviceContext side, main;
  cudaEvent_t        ready, done; /* work queued before Enter, and between Enter and Leave */
};

static PetscErrorCode SetUp(PetscCSRCSideStream s)
{
  PetscFunctionBegin;
  PetscCall(PetscDeviceContextCreate(&s->side));
  PetscCall(PetscDeviceContextSetStreamType(s->side, PETSC_STREAM_NONBLOCKING));
  PetscCall(PetscDeviceContextSetUp(s->side));
  PetscCallCUDA(cudaEventCreateWithFlags(&s->ready, cudaEventDisableTiming));
  PetscCallCUDA(cudaEventCreateWithFlags(&s->done, cudaEventDisableTiming));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCSideStreamCreate(PetscCSRCSideStream *s)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscNew(s));
  ierr = SetUp(*s);
  if (ierr) PetscCall(PetscCSRCSideStreamDestroy(s));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCSideStreamDestroy(PetscCSRCSideStream *s)
{
  PetscFunctionBegin;
  if (!*s) PetscFunctionReturn(PETSC_SUCCESS);
  if ((*s)->ready) PetscCallCUDA(cudaEventDestroy((*s)->ready));
  if ((*s)->done) PetscCallCUDA(cudaEventDestroy((*s)->done));
  PetscCall(PetscDeviceContextDestroy(&(*s)->side));
  PetscCall(PetscFree(*s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCSideStreamEnter(PetscCSRCSideStream s)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscDeviceContextGetCurrentContext(&s->main));
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallCUDA(cudaEventRecord(s->ready, stream));
  PetscCall(PetscDeviceContextSetCurrentContext(s->side));
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallCUDA(cudaStreamWaitEvent(stream, s->ready, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCSideStreamLeave(PetscCSRCSideStream s)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(PetscDeviceContextSetCurrentContext(s->main));
  PetscCallCUDA(cudaEventRecord(s->done, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCSideStreamJoin(PetscCSRCSideStream s)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallCUDA(cudaStreamWaitEvent(stream, s->done, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
