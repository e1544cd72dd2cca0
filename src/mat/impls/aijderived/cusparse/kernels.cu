/* Transposes and diagonals of a CSR on the device */
#include "kernels.h"
#include "cuda/csrtranspose.cuh"
#include "cuda/memory.cuh"

#define THREADS 256

/*
  to[k] = from[place[k]]. Thread: one nonzero of A^T. Reads 4 bytes and a scalar, from wherever it stands, and writes a scalar, side by side.
  Nothing is atomic.
*/
static __global__ void GatherKernel(int n, const int *__restrict__ place, const PetscScalar *__restrict__ from, PetscScalar *__restrict__ to)
{
  const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (k < n) to[k] = from[place[k]];
}

/*
  Adds a, or d[row], to the diagonal, or puts it there. Warp: one row, whose columns it reads up to the diagonal entry, 32 at a time, in any
  order; one lane of it finds that entry, reads it and writes it. Nothing is atomic: each row has one.
*/
static __global__ void ChangeDiagonalKernel(PetscInt m, const PetscInt *__restrict__ start, const PetscInt *__restrict__ column, PetscScalar a, const PetscScalar *__restrict__ d, bool add, PetscScalar *__restrict__ value)
{
  const size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x, row = thread / 32;
  bool         found = false;

  if (row >= (size_t)m) return;
  for (size_t k = start[row], end = start[row + 1]; k < end && !found; k += 32) {
    const size_t mine = k + thread % 32;

    found = mine < end && (size_t)column[mine] == row;
    if (found) {
      if (d) a = d[row];
      value[mine] = add ? value[mine] + a : a;
    }
    found = __any_sync(0xffffffffu, found);
  }
}

PetscErrorCode AIJTransposePattern(const AIJCSR *csr, PetscInt **i, PetscInt **j, int **place, PetscBool *fits)
{
  const PetscInt                        most = PETSC_INT32_MAX - THREADS;
  const size_t                          nnz = (size_t)csr->nnz, nstarts = (size_t)csr->n + 1;
  cudaStream_t                          stream;
  cudaError_t                           cerr;
  CSRCTransposed<PetscScalar, PetscInt> t;

  PetscFunctionBegin;
  *place = NULL;
  *fits  = csr->m <= most && csr->n <= most && csr->nnz <= most ? PETSC_TRUE : PETSC_FALSE;
  if (!*fits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  CSRCScratch scratch(stream);
  cerr = CSRCTransposeCSR((int)csr->m, (int)csr->n, (int)csr->nnz, csr->device.i, csr->device.j, (const PetscScalar *)NULL, scratch, &t);
  if (cerr == cudaSuccess) cerr = cudaMalloc((void **)place, nnz * sizeof(int));
  if (cerr != cudaSuccess) *place = NULL;
  PetscCall(CSRCCheckMemory(cerr, "a transpose", nnz * (4 * sizeof(int) + sizeof(PetscInt)), fits));
  if (!*fits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)(nstarts * sizeof(PetscInt))));
  PetscCallCUDA(cudaMemcpyAsync(*place, t.place, nnz * sizeof(int), cudaMemcpyDeviceToDevice, stream));
  if (i) {
    PetscCall(PetscMalloc1(nstarts, i));
    PetscCall(PetscMalloc1(nnz, j));
    PetscCall(PetscArraycpy(*i, t.hoststart.data(), nstarts));
    PetscCallCUDA(cudaMemcpyAsync(*j, t.column, nnz * sizeof(PetscInt), cudaMemcpyDeviceToHost, stream));
    PetscCall(PetscLogGpuToCpu((PetscLogDouble)(nnz * sizeof(PetscInt))));
  }
  PetscCallCUDA(cudaStreamSynchronize(stream)); /* scratch is freed */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJGather(PetscInt n, const int place[], const PetscScalar from[], PetscScalar to[])
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  GatherKernel<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, stream>>>((int)n, place, from, to);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJChangeDiagonal(PetscInt m, const PetscInt i[], const PetscInt j[], const PetscScalar *a, const PetscScalar d[], InsertMode mode, PetscScalar values[])
{
  const PetscInt rows = THREADS / 32; /* of a thread block */
  cudaStream_t   stream;

  PetscFunctionBegin;
  if (!m) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  ChangeDiagonalKernel<<<(unsigned)((m - 1) / rows + 1), THREADS, 0, stream>>>(m, i, j, a ? *a : PetscScalar(0.0), a ? NULL : d, mode == ADD_VALUES, values);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
