/* Operations on blocks in the memory of a CUDA device, on the stream of PETSc's current device context */
#include <petscdevice_cuda.h>
#include "blockops/blockops.h"
#include "blockops/blockrandom.h"
#include "blocklaunch.cuh"

static PetscErrorCode Allocate_CUDA(size_t n, PetscScalar **a)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallCUDA(cudaMalloc((void **)a, PetscMax(n, 1) * sizeof(PetscScalar)));
  PetscCallCUDA(cudaMemsetAsync(*a, 0, PetscMax(n, 1) * sizeof(PetscScalar), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Free_CUDA(PetscScalar **a)
{
  PetscFunctionBegin;
  if (*a) PetscCallCUDA(cudaFree(*a));
  *a = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Allocating page-locked memory takes most of a millisecond, so one piece is kept for the next solver, until PetscFinalize() */
static struct {
  PetscScalar *memory;
  size_t       n;
  PetscBool    used;
} spare;

static PetscErrorCode FreeSpareMirror(void)
{
  PetscFunctionBegin;
  if (spare.memory) PetscCallCUDA(cudaFreeHost(spare.memory));
  spare.memory = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AllocateMirror_CUDA(size_t n, PetscScalar **a)
{
  PetscFunctionBegin;
  if (!spare.used) {
    if (!spare.memory) PetscCall(PetscRegisterFinalize(FreeSpareMirror));
    if (spare.memory && spare.n < n) PetscCall(FreeSpareMirror());
    if (!spare.memory) {
      PetscCallCUDA(cudaMallocHost((void **)&spare.memory, PetscMax(n, 1) * sizeof(PetscScalar)));
      spare.n = n;
    }
    spare.used = PETSC_TRUE;
    *a         = spare.memory;
  } else PetscCallCUDA(cudaMallocHost((void **)a, PetscMax(n, 1) * sizeof(PetscScalar)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FreeMirror_CUDA(PetscScalar **a)
{
  PetscFunctionBegin;
  if (*a && *a == spare.memory) spare.used = PETSC_FALSE;
  else if (*a) PetscCallCUDA(cudaFreeHost(*a));
  *a = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Not by cuBLAS, whose kernels for this product take a tenth of a second to be loaded: ten times as long as many a solve */
static PetscErrorCode Multiply_CUDA(PetscInt rows, PetscInt n, PetscInt k, PetscScalar alpha, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscBool add, PetscScalar C[], PetscInt ldc)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!rows || !n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  BlockLaunchMultiply<PetscScalar>((int)rows, (int)n, (int)k, alpha, A, (size_t)lda, B, add, C, (size_t)ldc, stream);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(2.0 * rows * n * k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt PassParts_CUDA(PetscInt rows, PetscInt w)
{
  return BlockPassParts<PetscScalar>((int)rows, (int)w);
}

static PetscErrorCode Pass_CUDA(const BlockPass *p)
{
  BlockPassArguments<PetscScalar> a;
  cudaStream_t                    stream;

  PetscFunctionBegin;
  a.rows     = (int)p->rows;
  a.w        = (int)p->w;
  a.factor   = -1;
  a.in       = p->in;
  a.M        = p->M;
  a.Q        = p->Q;
  a.H        = p->H;
  a.P        = p->P;
  a.K        = p->K;
  a.copy     = p->copy;
  a.out      = p->out;
  a.partial  = p->parts;
  a.R        = p->R;
  a.Rinv     = p->Rinv;
  a.findings = p->findings;
  a.ticket   = (unsigned int *)p->tickets;
  a.results  = p->results;
  a.mirror   = p->mirror;
  a.nresults = (int)p->nresults;
  a.k        = (int)p->k;
  a.ldin     = (size_t)p->ldin;
  a.ldq      = (size_t)p->ldq;
  a.ldp      = (size_t)p->ldp;
  a.ldcopy   = (size_t)p->ldcopy;
  a.ldout    = (size_t)p->ldout;
  for (PetscInt i = 0; p->hostH && i < p->k * p->w; i++) a.inlined[i] = p->hostH[i];
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  BlockLaunchPass(a, stream);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(2.0 * p->rows * p->w * (p->k + (p->M ? p->w : 0) + (p->P ? p->w : 0) + (p->parts ? p->w : 0))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GramScratch_CUDA(PetscInt rows, PetscInt m, PetscInt n, size_t *scratch, size_t *tickets)
{
  PetscFunctionBegin;
  *scratch = BlockGramScratch<PetscScalar>((int)rows, (int)m, (int)n);
  *tickets = BlockGramTickets<PetscScalar>((int)rows, (int)m, (int)n); /* in scalars: one ticket fits in each */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Gram_CUDA(PetscInt rows, PetscInt m, PetscInt n, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscInt ldb, PetscScalar C[], PetscScalar scratch[], PetscScalar tickets[])
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!m || !n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  BlockLaunchGram<PetscScalar>((int)rows, (int)m, (int)n, A, (size_t)lda, B, (size_t)ldb, C, scratch, (unsigned int *)tickets, stream);
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
  BlockLaunchFactor<PetscScalar>((int)w, 1, G, R, Rinv, findings, stream);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The number of entries that a thread copies; it loads all before it writes the first */
#define COPY_ENTRIES 4

/* blockIdx.y: a column; blockIdx.x: COPY_ENTRIES * BLOCK_THREADS rows of it. Moves 16 bytes for each eight copied */
static __global__ void BlockCopyKernel(size_t rows, const PetscScalar *__restrict__ A, size_t lda, PetscScalar *__restrict__ B, size_t ldb)
{
  const size_t first = (size_t)blockIdx.x * COPY_ENTRIES * BLOCK_THREADS + threadIdx.x;
  PetscScalar  a[COPY_ENTRIES];

  A += blockIdx.y * lda;
  B += blockIdx.y * ldb;
#pragma unroll
  for (int e = 0; e < COPY_ENTRIES; e++) {
    if (first + e * BLOCK_THREADS < rows) a[e] = A[first + e * BLOCK_THREADS];
  }
#pragma unroll
  for (int e = 0; e < COPY_ENTRIES; e++) {
    if (first + e * BLOCK_THREADS < rows) B[first + e * BLOCK_THREADS] = a[e];
  }
}

static PetscErrorCode Copy_CUDA(PetscInt rows, PetscInt cols, const PetscScalar A[], PetscInt lda, PetscScalar B[], PetscInt ldb)
{
  const size_t share = COPY_ENTRIES * BLOCK_THREADS;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!rows || !cols) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  BlockCopyKernel<<<dim3((unsigned)(((size_t)rows + share - 1) / share), (unsigned)cols), BLOCK_THREADS, 0, stream>>>((size_t)rows, A, (size_t)lda, B, (size_t)ldb);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The source is pageable host memory: CUDA has copied it to a buffer when the call returns */
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
const BlockOps BlockOpsCUDA = {
  "cuda",           BLOCK_WIDTH, 65536,          BLOCK_PASS_INLINED, PETSC_TRUE, Allocate_CUDA, Free_CUDA,     AllocateMirror_CUDA, FreeMirror_CUDA, Multiply_CUDA, Gram_CUDA,
  GramScratch_CUDA, Pass_CUDA,   PassParts_CUDA, Factor_CUDA,        Copy_CUDA,  Upload_CUDA,   Download_CUDA, Mark_CUDA,           Wait_CUDA,       FreeMark_CUDA, Random_CUDA,
};
