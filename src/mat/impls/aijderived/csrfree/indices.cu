/* Row offsets and columns of a CSR on the device */
#include "indices.h"
#include "cuda/device.h"
#include <petscdevice_cuda.h>

#define THREADS 256

/* Thread: one integer, of which it reads 4 bytes and writes sizeof(PetscInt) */
static __global__ void WidenKernel(PetscInt n, const int *__restrict__ from, PetscInt *__restrict__ to)
{
  const size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x;

  if (k < (size_t)n) to[k] = from[k];
}

/* Thread: the column of one nonzero, which it reads; atomic: the place of the first one that is out of range */
static __global__ void CheckKernel(size_t nnz, const PetscInt *__restrict__ j, PetscInt n, unsigned long long *bad)
{
  const size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x;

  if (k < nnz && (j[k] < 0 || j[k] >= n)) atomicMin(bad, (unsigned long long)k);
}

static unsigned Blocks(PetscInt n)
{
  return (unsigned)(((size_t)n + THREADS - 1) / THREADS);
}

PetscErrorCode AIJWidenOnDevice(const int from[], PetscInt n, PetscInt **to)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(PetscCSRCDeviceMalloc("integers of a CSR", (size_t)n * sizeof(**to), to));
  WidenKernel<<<Blocks(n), THREADS, 0, stream>>>(n, from, *to);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJCheckColumnsOnDevice(const PetscInt j[], PetscInt nnz, PetscInt n)
{
  unsigned long long *bad, first;
  PetscInt            column = 0;
  cudaStream_t        stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(PetscCSRCDeviceMalloc("a place", sizeof(*bad), &bad));
  PetscCallCUDA(cudaMemsetAsync(bad, 0xff, sizeof(*bad), stream));
  CheckKernel<<<Blocks(nnz), THREADS, 0, stream>>>((size_t)nnz, j, n, bad);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&first, bad, sizeof(first), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscCSRCDeviceFree(&bad));
  if (first < (unsigned long long)nnz) PetscCallCUDA(cudaMemcpy(&column, j + first, sizeof(column), cudaMemcpyDeviceToHost));
  PetscCheck(first >= (unsigned long long)nnz, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, AIJ_COLUMN_RANGE, (PetscInt)first, column, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}
