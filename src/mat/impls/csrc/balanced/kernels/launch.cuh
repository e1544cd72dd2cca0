#pragma once

/*
  The choice of a kernel by what is known at run time; launches of kernels for a matrix. Before CSRCWaitPrevious() these may access
  only the layout; therefore each kernel that changes the layout is followed by a synchronization.
*/
#include "mat/impls/csrc/balanced/balanced.cuh"
#include "cuda/launch.cuh"
#include "cuda/scratch.cuh"
#include <type_traits>

/* A value that is known at run time, and all that it may be; if it is none of them, the last one stands for it */
template <auto FIRST, auto... OTHERS>
struct CSRCOneOf {
  decltype(FIRST) value;
};
using CSRCOneOfValues = CSRCOneOf<CSRC_VALUES_SINGLE, CSRC_VALUES_TABLE, CSRC_VALUES_FULL>;

/*
  of(constant, ...) for the values of a list of CSRCOneOf, each of them as an std::integral_constant: decltype(constant)::value is a template
  argument. The result has the same type for all values, such as the kernels of one template.
*/
template <class Of>
static auto CSRCSelect(const Of &of)
{
  return of();
}
template <class Of, auto FIRST, auto... OTHERS, class... More>
static auto CSRCSelect(const Of &of, CSRCOneOf<FIRST, OTHERS...> one, More... more)
{
  if constexpr (sizeof...(OTHERS) > 0) {
    if (one.value != FIRST) return CSRCSelect(of, CSRCOneOf<OTHERS...>{one.value}, more...);
  }
  return CSRCSelect([&](auto... constants) { return of(std::integral_constant<decltype(FIRST), FIRST>(), constants...); }, more...);
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
