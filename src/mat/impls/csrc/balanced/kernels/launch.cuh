#pragma once

/*
  Calls with template arguments that are known only at run time; launches of kernels for a matrix. Before CSRCWaitPrevious() these may access
  only the layout; therefore each kernel that changes the layout is followed by a synchronization.
*/
#include "mat/impls/csrc/balanced/balanced.cuh"
#include "cuda/launch.cuh"
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
  Called before the first launch of a kernel for a matrix. Lets the kernel use all shared memory. Sets *early to false if the kernel may not
  begin early.
*/
template <class Kernel>
static cudaError_t CSRCPrepareKernel(Kernel kernel, bool *early)
{
  cudaFuncAttributes attributes;
  int                device, most;
  bool               may;

  CSRCTry(cudaGetDevice(&device));
  CSRCTry(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  CSRCTry(cudaFuncGetAttributes(&attributes, kernel));
  CSRCTry(CSRCMayBeginEarly(attributes, &may));
  if (!may) *early = false;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most - (int)attributes.sharedSizeBytes);
}

/* Launches a kernel for dense matrices with the given dynamic shared memory in bytes */
template <class Kernel, class Scalar, class... Arguments>
static cudaError_t CSRCLaunchDense(Kernel kernel, const CSRCBalancedMatrix<Scalar> &A, int grid, int threads, size_t shared, cudaStream_t stream, Arguments... arguments)
{
  if (shared > 48 * 1024) CSRCTry(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
  return CSRCLaunch(kernel, grid, threads, shared, 1, A.early, stream, A, arguments...);
}
