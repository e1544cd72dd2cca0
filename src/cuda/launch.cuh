#pragma once

/* Kernel launches, optionally with clusters of thread blocks, and optionally so that the kernel begins while the previous one still runs */
#include <cuda_runtime.h>

/*
  Programmatic dependent launch: a kernel may begin while the previous one in the stream still runs. Before CSRCWaitPrevious() a kernel may
  access only what no preceding kernel writes. Operands are read by plain loads, since the compiler might move loads of the read-only path
  before the wait.
*/
__device__ __forceinline__ void CSRCLetNextBegin()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ __forceinline__ void CSRCWaitPrevious()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Whether a kernel with these attributes may begin early: it must have been compiled with the instruction to wait, for a device that knows it */
static inline cudaError_t CSRCMayBeginEarly(const cudaFuncAttributes &attributes, bool *early)
{
  int         device, major = 0;
  cudaError_t cerr = cudaGetDevice(&device);

  if (cerr == cudaSuccess) cerr = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  *early = cerr == cudaSuccess && major >= 9 && attributes.ptxVersion >= 90;
  return cerr;
}

template <class... Parameters, class... Arguments>
static cudaError_t CSRCLaunch(void (*kernel)(Parameters...), int grid, int threads, size_t shared, int cluster, bool early, cudaStream_t stream, Arguments... arguments)
{
  cudaLaunchConfig_t  config = {};
  cudaLaunchAttribute attributes[2];

  config.gridDim          = dim3(grid);
  config.blockDim         = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream           = stream;
  config.attrs            = attributes;
  if (early) {
    attributes[config.numAttrs].id                                         = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[config.numAttrs].val.programmaticStreamSerializationAllowed = 1;
    config.numAttrs++;
  }
  if (cluster > 1) {
    attributes[config.numAttrs].id               = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs].val.clusterDim.x = cluster;
    attributes[config.numAttrs].val.clusterDim.y = 1;
    attributes[config.numAttrs].val.clusterDim.z = 1;
    config.numAttrs++;
  }
  return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}
