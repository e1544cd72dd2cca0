/* Integers of 32 bits as PetscInt, on the device */
#include "widen.h"
#include "cuda/device.h"
#include <petscdevice_cuda.h>

#define THREADS 256

/* Thread: one integer, of which it reads 4 bytes and writes sizeof(PetscInt) */
static __global__ void WidenKernel(PetscInt n, const int *__restrict__ from, PetscInt *__restrict__ to)
{
  const size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x;

  if (k < (size_t)n) to[k] = from[k];
}

PetscErrorCode AIJWidenOnDevice(const int from[], PetscInt n, PetscInt **to)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(PetscCSRCDeviceMalloc("integers of a CSR", (size_t)n * sizeof(**to), to));
  WidenKernel<<<(unsigned)(((size_t)n + THREADS - 1) / THREADS), THREADS, 0, stream>>>(n, from, *to);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
