/* Adds dense matrices on the device */
#include "pieces.h"
#include <petscdevice_cuda.h>

#define THREADS 256

/* Y += S. Thread: one entry of each column; it reads two scalars and writes one, side by side. Nothing is atomic. */
static __global__ void AddColumnsKernel(PetscInt n, PetscInt K, const PetscScalar *__restrict__ S, PetscScalar *__restrict__ Y, size_t ldy)
{
  const size_t j = (size_t)blockIdx.x * THREADS + threadIdx.x;

  if (j >= (size_t)n) return;
  for (PetscInt k = 0; k < K; k++) Y[k * ldy + j] += S[k * (size_t)n + j];
}

PetscErrorCode AIJAddColumns(PetscInt n, PetscInt K, const PetscScalar *S, PetscScalar *Y, PetscInt ldy)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  AddColumnsKernel<<<(unsigned)((n - 1) / THREADS + 1), THREADS, 0, stream>>>(n, K, S, Y, (size_t)ldy);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
