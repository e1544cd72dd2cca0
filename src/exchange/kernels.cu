/*
  Packing and unpacking. A thread has up to COLUMNS columns of one row at a time; neighbouring threads have neighbouring rows. Each entry is read and
  written once, and those that are added to are read too; nothing is atomic.
*/
#include "kernels.h"
#include <petscdevice_cuda.h>

#define THREADS 256
#define COLUMNS 8     /* of a thread at a time; the next ones belong to threads of the next blockIdx.y */
#define YBLOCKS 65535 /* more blocks in y cannot be launched; their columns come after those of the first ones */

static dim3 Blocks(PetscInt n, PetscInt K)
{
  return dim3((unsigned)((n + THREADS - 1) / THREADS), (unsigned)PetscMin(K / COLUMNS + (K % COLUMNS ? 1 : 0), YBLOCKS));
}

/* Calls f(k) for each column k of this thread */
template <class F>
static __device__ __forceinline__ void ForColumns(PetscInt K, F f)
{
  for (size_t first = (size_t)blockIdx.y * COLUMNS; first < (size_t)K; first += (size_t)gridDim.y * COLUMNS) {
    const size_t end = min((size_t)K, first + COLUMNS);

    for (size_t k = first; k < end; k++) f(k);
  }
}

static __global__ void PackKernel(PetscInt n, PetscInt total, PetscInt K, const PetscInt *__restrict__ idx, const PetscScalar *__restrict__ a, size_t lda, PackedRows b)
{
  const PetscInt p = (PetscInt)blockIdx.x * THREADS + threadIdx.x;

  if (p >= total) return;
  if (p < n) a += idx ? idx[p] : p;
  b.a += (size_t)p * b.row;
  ForColumns(K, [=](size_t k) { b.a[k * b.column] = p < n ? a[k * lda] : PetscScalar(0.0); });
}

template <bool add>
static __global__ void UnpackKernel(PetscInt n, PetscInt K, const PetscInt *__restrict__ idx, PackedRows b, PetscScalar *__restrict__ a, size_t lda)
{
  const PetscInt p = (PetscInt)blockIdx.x * THREADS + threadIdx.x;

  if (p >= n) return;
  a += idx ? idx[p] : p;
  b.a += (size_t)p * b.row;
  ForColumns(K, [=](size_t k) {
    if (add) a[k * lda] += b.a[k * b.column];
    else a[k * lda] = b.a[k * b.column];
  });
}

static __global__ void UnpackSumsKernel(const ExchangeSums sums, PetscInt K, PackedRows b, bool add, PetscScalar *__restrict__ a, size_t lda)
{
  const PetscInt p = (PetscInt)blockIdx.x * THREADS + threadIdx.x;

  if (p >= sums.n) return;
  a += sums.dest[p];
  ForColumns(K, [=](size_t k) {
    PetscScalar sum = add ? a[k * lda] : PetscScalar(0.0);

    for (PetscInt q = sums.first[p]; q < sums.first[p + 1]; q++) sum += b.a[(size_t)sums.place[q] * b.row + k * b.column];
    a[k * lda] = sum;
  });
}

PetscErrorCode PetscCSRCPack(PetscInt n, PetscInt total, PetscInt K, const PetscInt idx[], const PetscScalar a[], PetscInt lda, PackedRows buffer)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!total || !K) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PackKernel<<<Blocks(total, K), THREADS, 0, stream>>>(n, total, K, idx, a, (size_t)lda, buffer);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCUnpack(PetscInt n, PetscInt K, const PetscInt idx[], PackedRows buffer, InsertMode mode, PetscScalar a[], PetscInt lda)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!n || !K) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  if (mode == ADD_VALUES) UnpackKernel<true><<<Blocks(n, K), THREADS, 0, stream>>>(n, K, idx, buffer, a, (size_t)lda);
  else UnpackKernel<false><<<Blocks(n, K), THREADS, 0, stream>>>(n, K, idx, buffer, a, (size_t)lda);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCUnpackSums(const ExchangeSums *sums, PetscInt K, PackedRows buffer, InsertMode mode, PetscScalar a[], PetscInt lda)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!sums->n || !K) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  UnpackSumsKernel<<<Blocks(sums->n, K), THREADS, 0, stream>>>(*sums, K, buffer, mode == ADD_VALUES, a, (size_t)lda);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
