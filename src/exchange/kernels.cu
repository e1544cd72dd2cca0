/*
  Packing and unpacking. A thread has up to COLUMNS columns of one row; neighbouring threads have neighbouring rows. Each entry is read and
  written once, and those that are added to are read too; nothing is atomic.
*/
#include "kernels.h"
#include <petscdevice_cuda.h>

#define THREADS 256
#define COLUMNS 8 /* of a thread; further columns belong to threads of the next blockIdx.y */

static dim3 Blocks(PetscInt n, PetscInt K)
{
  return dim3((unsigned)((n + THREADS - 1) / THREADS), (unsigned)((K + COLUMNS - 1) / COLUMNS));
}

static __global__ void PackKernel(PetscInt n, PetscInt total, PetscInt K, const PetscInt *__restrict__ idx, const PetscScalar *__restrict__ a, size_t lda, PetscScalar *__restrict__ b, size_t row, size_t column)
{
  const PetscInt p = (PetscInt)blockIdx.x * THREADS + threadIdx.x, end = min(K, (PetscInt)(blockIdx.y + 1) * COLUMNS);

  if (p >= total) return;
  if (p < n) a += idx ? idx[p] : p;
  b += p * row;
  for (PetscInt k = (PetscInt)blockIdx.y * COLUMNS; k < end; k++) b[k * column] = p < n ? a[k * lda] : PetscScalar(0.0);
}

template <bool add>
static __global__ void UnpackKernel(PetscInt n, PetscInt K, const PetscInt *__restrict__ idx, const PetscScalar *__restrict__ b, size_t row, size_t column, PetscScalar *__restrict__ a, size_t lda)
{
  const PetscInt p = (PetscInt)blockIdx.x * THREADS + threadIdx.x, end = min(K, (PetscInt)(blockIdx.y + 1) * COLUMNS);

  if (p >= n) return;
  a += idx ? idx[p] : p;
  b += p * row;
  for (PetscInt k = (PetscInt)blockIdx.y * COLUMNS; k < end; k++) {
    if (add) a[k * lda] += b[k * column];
    else a[k * lda] = b[k * column];
  }
}

static __global__ void UnpackSumsKernel(PetscInt n, PetscInt K, const PetscInt *__restrict__ idx, const PetscInt *__restrict__ first, const PetscInt *__restrict__ place, const PetscScalar *__restrict__ b, size_t row, size_t column,
                                        PetscScalar *__restrict__ a, size_t lda)
{
  const PetscInt p = (PetscInt)blockIdx.x * THREADS + threadIdx.x, end = min(K, (PetscInt)(blockIdx.y + 1) * COLUMNS);

  if (p >= n) return;
  a += idx[p];
  for (PetscInt k = (PetscInt)blockIdx.y * COLUMNS; k < end; k++) {
    PetscScalar sum = a[k * lda];

    for (PetscInt q = first[p]; q < first[p + 1]; q++) sum += b[place[q] * row + k * column];
    a[k * lda] = sum;
  }
}

PetscErrorCode PetscCSRCPack(PetscInt n, PetscInt total, PetscInt K, const PetscInt idx[], const PetscScalar a[], PetscInt lda, PackedRows buffer)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!total || !K) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PackKernel<<<Blocks(total, K), THREADS, 0, stream>>>(n, total, K, idx, a, (size_t)lda, buffer.a, (size_t)buffer.row, (size_t)buffer.column);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCUnpack(PetscInt n, PetscInt K, const PetscInt idx[], PackedRows buffer, InsertMode mode, PetscScalar a[], PetscInt lda)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!n || !K) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  if (mode == ADD_VALUES) UnpackKernel<true><<<Blocks(n, K), THREADS, 0, stream>>>(n, K, idx, buffer.a, (size_t)buffer.row, (size_t)buffer.column, a, (size_t)lda);
  else UnpackKernel<false><<<Blocks(n, K), THREADS, 0, stream>>>(n, K, idx, buffer.a, (size_t)buffer.row, (size_t)buffer.column, a, (size_t)lda);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCUnpackSums(PetscInt n, PetscInt K, const PetscInt idx[], const PetscInt first[], const PetscInt place[], PackedRows buffer, PetscScalar a[], PetscInt lda)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!n || !K) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  UnpackSumsKernel<<<Blocks(n, K), THREADS, 0, stream>>>(n, K, idx, first, place, buffer.a, (size_t)buffer.row, (size_t)buffer.column, a, (size_t)lda);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
