/* Dense arithmetic in the memory of a CUDA device, on the stream of PETSc's current device context */
#include <petscdevice_cuda.h>
#include "../blockmemory.h"
#include "../blockrandom.h"
#include "blockkernels.cuh"

/* Blocks of threads that a product over all rows is spread over, two for each multiprocessor of a large device */
#define GRAM_BLOCKS 264
/* Wider operands than this are cuBLAS's */
#define NARROW 32

#if PetscDefined(USE_COMPLEX)
  #if PetscDefined(USE_REAL_SINGLE)
    #define BLOCK_GEMM cublasCgemm
typedef cuComplex BlockCublasScalar;
  #else
    #define BLOCK_GEMM cublasZgemm
typedef cuDoubleComplex BlockCublasScalar;
  #endif
#elif PetscDefined(USE_REAL_SINGLE)
  #define BLOCK_GEMM cublasSgemm
typedef float BlockCublasScalar;
#else
  #define BLOCK_GEMM cublasDgemm
typedef double BlockCublasScalar;
#endif

static PetscErrorCode Allocate_CUDA(size_t n, PetscScalar **a)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc((void **)a, PetscMax(n, 1) * sizeof(PetscScalar)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Free_CUDA(PetscScalar **a)
{
  PetscFunctionBegin;
  if (*a) PetscCallCUDA(cudaFree(*a));
  *a = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AllocateMirror_CUDA(size_t n, PetscScalar **a)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMallocHost((void **)a, PetscMax(n, 1) * sizeof(PetscScalar)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FreeMirror_CUDA(PetscScalar **a)
{
  PetscFunctionBegin;
  if (*a) PetscCallCUDA(cudaFreeHost(*a));
  *a = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int N>
static PetscErrorCode MultiplyNarrow(cudaStream_t stream, int rows, int n, int k, PetscScalar alpha, const PetscScalar *A, PetscInt lda, const PetscScalar *B, PetscInt ldb, PetscScalar beta, PetscScalar *C, PetscInt ldc)
{
  const dim3 grid((rows + BLOCK_THREADS - 1) / BLOCK_THREADS, (n + N - 1) / N);

  PetscFunctionBegin;
  BlockMultiplyKernel<N, PetscScalar><<<grid, BLOCK_THREADS, 0, stream>>>(rows, n, k, alpha, A, (size_t)lda, B, (size_t)ldb, beta, beta != (PetscScalar)0.0, C, (size_t)ldc);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Multiply_CUDA(PetscInt rows, PetscInt n, PetscInt k, PetscScalar alpha, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscInt ldb, PetscScalar beta, PetscScalar C[], PetscInt ldc)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!rows || !n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogGpuTimeBegin());
  if (n <= NARROW) {
    PetscCall(PetscGetCurrentCUDAStream(&stream));
    if (n <= 4) PetscCall(MultiplyNarrow<4>(stream, (int)rows, (int)n, (int)k, alpha, A, lda, B, ldb, beta, C, ldc));
    else if (n <= 8) PetscCall(MultiplyNarrow<8>(stream, (int)rows, (int)n, (int)k, alpha, A, lda, B, ldb, beta, C, ldc));
    else PetscCall(MultiplyNarrow<16>(stream, (int)rows, (int)n, (int)k, alpha, A, lda, B, ldb, beta, C, ldc));
  } else {
    cublasHandle_t handle;

    PetscCall(PetscCUBLASGetHandle(&handle));
    PetscCallCUBLAS(BLOCK_GEMM(handle, CUBLAS_OP_N, CUBLAS_OP_N, (int)rows, (int)n, (int)k, (const BlockCublasScalar *)&alpha, (const BlockCublasScalar *)A, (int)lda, (const BlockCublasScalar *)B, (int)ldb, (const BlockCublasScalar *)&beta, (BlockCublasScalar *)C, (int)ldc));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(2.0 * rows * n * k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How the products of A^H B are spread: columns of A and of B that a block has, and shares of the rows */
typedef struct {
  int  columns;
  dim3 grid;
} GramShape;

static GramShape ShapeOfGram(PetscInt rows, PetscInt m, PetscInt n)
{
  GramShape s;
  int       groups, shares;

  s.columns = CSRCParts<PetscScalar> == 2 || n <= 4 ? 4 : 8;
  s.grid.y  = (unsigned)((m + 7) / 8);
  s.grid.z  = (unsigned)((n + s.columns - 1) / s.columns);
  groups    = (int)(s.grid.y * s.grid.z);
  shares    = (GRAM_BLOCKS + groups - 1) / groups;
  s.grid.x  = (unsigned)PetscMax(PetscMin((PetscInt)shares, (rows + BLOCK_THREADS - 1) / BLOCK_THREADS), 1);
  return s;
}

static size_t GramScratch_CUDA(PetscInt rows, PetscInt m, PetscInt n)
{
  return (size_t)ShapeOfGram(rows, m, n).grid.x * (size_t)m * (size_t)n;
}

static PetscErrorCode Gram_CUDA(PetscInt rows, PetscInt m, PetscInt n, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscInt ldb, PetscScalar C[], PetscScalar scratch[])
{
  const GramShape s       = ShapeOfGram(rows, m, n);
  const int       entries = (int)(m * n);
  cudaStream_t    stream;

  PetscFunctionBegin;
  if (!entries) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  if (s.columns == 4) BlockGramKernel<8, 4, PetscScalar><<<s.grid, BLOCK_THREADS, 0, stream>>>((int)rows, (int)m, (int)n, A, (size_t)lda, B, (size_t)ldb, scratch);
  else BlockGramKernel<8, 8, PetscScalar><<<s.grid, BLOCK_THREADS, 0, stream>>>((int)rows, (int)m, (int)n, A, (size_t)lda, B, (size_t)ldb, scratch);
  PetscCallCUDA(cudaGetLastError());
  BlockGramSumKernel<PetscScalar><<<(entries * 32 + BLOCK_THREADS - 1) / BLOCK_THREADS, BLOCK_THREADS, 0, stream>>>(entries, (int)s.grid.x, scratch, C);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(2.0 * rows * m * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Factor_CUDA(PetscInt w, const PetscScalar G[], PetscScalar R[], PetscScalar Rinv[], PetscScalar findings[])
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  BlockFactorKernel<PetscScalar><<<1, dim3((unsigned)w, (unsigned)w), 0, stream>>>((int)w, G, R, Rinv, findings);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Copy_CUDA(PetscInt rows, PetscInt cols, const PetscScalar A[], PetscInt lda, PetscScalar B[], PetscInt ldb)
{
  const size_t s = sizeof(PetscScalar);
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!rows || !cols) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallCUDA(cudaMemcpy2DAsync(B, s * (size_t)ldb, A, s * (size_t)lda, s * (size_t)rows, (size_t)cols, cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The source is the host's pageable memory: CUDA has copied it elsewhere when the call returns */
static PetscErrorCode Upload_CUDA(PetscScalar to[], const PetscScalar from[], size_t n)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallCUDA(cudaMemcpyAsync(to, from, n * sizeof(PetscScalar), cudaMemcpyHostToDevice, stream));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)(n * sizeof(PetscScalar))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Download_CUDA(PetscScalar to[], const PetscScalar from[], size_t n)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallCUDA(cudaMemcpyAsync(to, from, n * sizeof(PetscScalar), cudaMemcpyDeviceToHost, stream));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)(n * sizeof(PetscScalar))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Mark_CUDA(void **mark)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!*mark) {
    cudaEvent_t event;

    PetscCallCUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    *mark = (void *)event;
  }
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallCUDA(cudaEventRecord((cudaEvent_t)*mark, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Wait_CUDA(void *mark)
{
  PetscFunctionBegin;
  if (mark) PetscCallCUDA(cudaEventSynchronize((cudaEvent_t)mark));
  else {
    cudaStream_t stream;

    PetscCall(PetscGetCurrentCUDAStream(&stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FreeMark_CUDA(void **mark)
{
  PetscFunctionBegin;
  if (*mark) PetscCallCUDA(cudaEventDestroy((cudaEvent_t)*mark));
  *mark = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static __global__ void BlockRandomKernel(PetscInt rows, PetscInt first, PetscInt64 key, PetscReal factor, PetscScalar *a)
{
  const PetscInt i = (PetscInt)blockIdx.x * BLOCK_THREADS + threadIdx.x;

  if (i < rows) a[i] = factor * BlockRandomNormal(key, first + i);
}

static PetscErrorCode Random_CUDA(PetscInt rows, PetscInt first, PetscInt64 key, PetscReal factor, PetscScalar a[])
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!rows) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  BlockRandomKernel<<<(unsigned)((rows + BLOCK_THREADS - 1) / BLOCK_THREADS), BLOCK_THREADS, 0, stream>>>(rows, first, key, factor, a);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In the order of the structure */
const BlockMemoryOps BlockMemoryCUDA = {
  "cuda", BLOCK_WIDTH, 65536, PETSC_TRUE, Allocate_CUDA, Free_CUDA, AllocateMirror_CUDA, FreeMirror_CUDA, Multiply_CUDA, Gram_CUDA, GramScratch_CUDA, Factor_CUDA, Copy_CUDA, Upload_CUDA, Download_CUDA, Mark_CUDA, Wait_CUDA, FreeMark_CUDA, Random_CUDA,
};
