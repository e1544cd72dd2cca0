#pragma once

/*
  Calls with template arguments that are known only at run time; kernel launches, optionally with clusters of thread blocks, and optionally
  so that the kernel begins while the previous one still runs.
*/
#include "mat/impls/csrc/balanced/balanced.cuh"
#include "cuda/scratch.cuh"
#include <type_traits>

/*
  Calls use(constant), where constant is an std::integral_constant for the one among FIRST, OTHERS that equals value, or for the last of
  them if none does: decltype(constant)::value is a template argument.
*/
template <auto FIRST, auto... OTHERS, class T, class Use>
static cudaError_t CSRCWith(T value, const Use &use)
{
  if constexpr (sizeof...(OTHERS) > 0) {
    if (value != FIRST) return CSRCWith<OTHERS...>(value, use);
  }
  return use(std::integral_constant<decltype(FIRST), FIRST>());
}

/*
  Programmatic dependent launch: a kernel may begin while the previous one in the stream still runs. Before CSRCWaitPrevious() a kernel may
  access only the layout; therefore each kernel that changes the layout is followed by a synchronization. Operands are read by plain loads,
  since the compiler might move loads of the read-only path before the wait.
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

/*
  Called before the first launch of a kernel for a matrix. Lets the kernel use all shared memory. Sets *early to false if the kernel was
  compiled for an architecture without programmatic dependent launches: without the instruction to wait it must not begin early.
*/
template <class Kernel>
static cudaError_t CSRCPrepareKernel(Kernel kernel, bool *early)
{
  cudaFuncAttributes attributes;
  int                device, most;

  CSRCTry(cudaGetDevice(&device));
  CSRCTry(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  CSRCTry(cudaFuncGetAttributes(&attributes, kernel));
  if (attributes.ptxVersion < 90) *early = false;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most - (int)attributes.sharedSizeBytes);
}

/* Launches a kernel for dense matrices with the given dynamic shared memory in bytes */
template <class Kernel, class Scalar, class... Arguments>
static cudaError_t CSRCLaunchDense(Kernel kernel, const CSRCBalancedMatrix<Scalar> &A, int grid, int threads, size_t shared, cudaStream_t stream, Arguments... arguments)
{
  if (shared > 48 * 1024) CSRCTry(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
  return CSRCLaunch(kernel, grid, threads, shared, 1, A.early, stream, A, arguments...);
}
