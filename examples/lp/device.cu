/* The loops of kernels.h on a device, and graphs of iterations */
#include <petscdevice_cuda.h>
#include "lp.h"
#include "kernels.h"

static constexpr int blockSize = 256, maxBlocks = 1024;

struct Device {
  cudaStream_t       stream;
  LPStep            *step;
  PetscReal         *partial, *total; /* sums of thread blocks, of all */
  cudaGraphExec_t    graph;
  PetscDeviceContext context, capturing;
};

template <LPKind kind, bool sums>
__global__ void __launch_bounds__(blockSize) LPLoopKernel(LPSide s, PetscReal k, PetscReal *partial)
{
  PetscReal sum[LP_SUMS] = {};

  for (PetscInt i = blockIdx.x * (PetscInt)blockDim.x + threadIdx.x; i < s.n; i += gridDim.x * (PetscInt)blockDim.x) LPEntry(kind, &s, k, i, sum);
  if constexpr (sums) {
    __shared__ PetscReal warps[LP_SUMS][blockSize / 32];

    for (int v = 0; v < LP_SUMS; v++) {
      for (int d = 16; d; d /= 2) sum[v] += __shfl_down_sync(0xffffffff, sum[v], d);
      if (threadIdx.x % 32 == 0) warps[v][threadIdx.x / 32] = sum[v];
    }
    __syncthreads();
    if (threadIdx.x < LP_SUMS) {
      PetscReal all = 0;

      for (int w = 0; w < blockSize / 32; w++) all += warps[threadIdx.x][w];
      partial[LP_SUMS * blockIdx.x + threadIdx.x] = all;
    }
  }
}

/* One thread block adds up the sums of all, always in the same order */
static __global__ void __launch_bounds__(32) LPTotalKernel(const PetscReal *partial, int blocks, PetscReal *total)
{
  for (int v = 0; v < LP_SUMS; v++) {
    PetscReal sum = 0;

    for (int b = threadIdx.x; b < blocks; b += 32) sum += partial[LP_SUMS * b + v];
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (threadIdx.x == 0) total[v] = sum;
  }
}

template <LPKind kind>
static PetscErrorCode Launch(const Device *d, const LPSide *side, PetscInt k, PetscReal sums[])
{
  constexpr bool has    = kind == LP_COLUMN_POINT || kind == LP_COLUMN_RESIDUAL || kind == LP_ROW_POINT || kind == LP_ROW_RESIDUAL;
  const int      blocks = (int)PetscMin((side->n + blockSize - 1) / blockSize, has ? maxBlocks : 1 << 20);

  PetscFunctionBegin;
  if (blocks) {
    LPLoopKernel<kind, has><<<blocks, blockSize, 0, d->stream>>>(*side, (PetscReal)k, d->partial);
    PetscCallCUDA(cudaGetLastError());
  }
  if constexpr (has) {
    LPTotalKernel<<<1, 32, 0, d->stream>>>(d->partial, blocks, d->total);
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUDA(cudaMemcpyAsync(sums, d->total, LP_SUMS * sizeof(*sums), cudaMemcpyDeviceToHost, d->stream));
    PetscCallCUDA(cudaStreamSynchronize(d->stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetStream(cudaStream_t *stream)
{
  PetscDeviceContext context;
  void              *handle;

  PetscFunctionBegin;
  PetscCall(PetscDeviceContextGetCurrentContext(&context));
  PetscCall(PetscDeviceContextGetStreamHandle(context, &handle));
  *stream = *(cudaStream_t *)handle;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create_Device(void **data, LPStep **step)
{
  Device *d;

  PetscFunctionBegin;
  PetscCall(PetscNew(&d));
  PetscCall(GetStream(&d->stream));
  PetscCallCUDA(cudaMalloc(&d->step, sizeof(*d->step)));
  PetscCallCUDA(cudaMalloc(&d->partial, LP_SUMS * (maxBlocks + 1) * sizeof(*d->partial)));
  d->total = d->partial + LP_SUMS * maxBlocks;
  *step    = d->step;
  *data    = d;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetStep_Device(void *data, const LPStep *step)
{
  const Device *d = (const Device *)data;

  PetscFunctionBegin;
  /* from pageable memory: the call returns when the step has been read */
  PetscCallCUDA(cudaMemcpyAsync(d->step, step, sizeof(*step), cudaMemcpyHostToDevice, d->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Loop_Device(void *data, LPKind kind, const LPSide *side, PetscInt k, PetscReal sums[])
{
  const Device *d = (const Device *)data;

  PetscFunctionBegin;
  switch (kind) {
#define LPLaunchCase(kind) \
  case kind: \
    PetscCall(Launch<kind>(d, side, k, sums)); \
    break
    LPLaunchCase(LP_COLUMN_STEP);
    LPLaunchCase(LP_COLUMN_REFLECT);
    LPLaunchCase(LP_COLUMN_POINT);
    LPLaunchCase(LP_COLUMN_RESIDUAL);
    LPLaunchCase(LP_ROW_STEP);
    LPLaunchCase(LP_ROW_POINT);
    LPLaunchCase(LP_ROW_RESIDUAL);
    LPLaunchCase(LP_MOVE);
    LPLaunchCase(LP_RESTART);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's default stream cannot be captured: while a graph is made, another context is the current one */
static PetscErrorCode Capture_Device(void *data, PetscBool begin)
{
  Device *d = (Device *)data;

  PetscFunctionBegin;
  if (begin) {
    PetscCall(PetscDeviceContextGetCurrentContext(&d->context));
    PetscCall(PetscDeviceContextCreate(&d->capturing));
    PetscCall(PetscDeviceContextSetStreamType(d->capturing, PETSC_STREAM_NONBLOCKING));
    PetscCall(PetscDeviceContextSetUp(d->capturing));
    PetscCall(PetscDeviceContextSetCurrentContext(d->capturing));
    PetscCall(GetStream(&d->stream));
    PetscCallCUDA(cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal));
  } else {
    cudaGraph_t graph;

    PetscCallCUDA(cudaStreamEndCapture(d->stream, &graph));
    PetscCall(PetscDeviceContextSetCurrentContext(d->context));
    PetscCall(PetscDeviceContextDestroy(&d->capturing));
    PetscCall(GetStream(&d->stream));
    PetscCallCUDA(cudaGraphInstantiate(&d->graph, graph, 0));
    PetscCallCUDA(cudaGraphDestroy(graph));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Launch_Device(void *data)
{
  const Device *d = (const Device *)data;

  PetscFunctionBegin;
  PetscCallCUDA(cudaGraphLaunch(d->graph, d->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy_Device(void **data)
{
  Device *d = (Device *)*data;

  PetscFunctionBegin;
  PetscCallCUDA(cudaStreamSynchronize(d->stream));
  if (d->graph) PetscCallCUDA(cudaGraphExecDestroy(d->graph));
  PetscCallCUDA(cudaFree(d->step));
  PetscCallCUDA(cudaFree(d->partial));
  PetscCall(PetscFree(d));
  *data = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const LPLoops LPLoopsDevice = {Create_Device, SetStep_Device, Loop_Device, Capture_Device, Launch_Device, Destroy_Device};
