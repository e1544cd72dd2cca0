#pragma once

/* What is chosen and set up before the first products with one vector */
#include "mult.cuh"
#include "multtranspose.cuh"

/*
  Chooses the kernels for a matrix's products with one vector. Three warp groups, if they leave enough of the shared memory to the
  first-level cache, where entries of x are kept; otherwise two, if these fit at all.
*/
template <class Scalar>
static cudaError_t CSRCBalancedPrepare(CSRCBalancedMatrix<Scalar> *A)
{
  const size_t fixed = 1024 + 512; /* the system's, and static arrays */
  int          device, most, major;
  bool         early   = true;
  const auto   prepare = [&](auto kernel, int) { return CSRCPrepareKernel(kernel, &early); };

  CSRCTry(cudaGetDevice(&device));
  CSRCTry(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  CSRCTry(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  A->groups           = CSRCMultShared(*A, 3) + fixed <= (size_t)most * CSRC_GROUPS_SHARED / 227 ? 3 : CSRCMultShared(*A, 2) + fixed <= (size_t)most ? 2 : 1;
  A->transposethreads = CSRCMultTransposeShared(*A, 768) + fixed <= (size_t)most ? 768 : 512;
  CSRCTry(CSRCWithMultKernel<false>(*A, prepare));
  CSRCTry(CSRCWithMultTransposeKernel<false>(*A, prepare));
  if constexpr (CSRCParts<Scalar> == 2) {
    CSRCTry(CSRCWithMultKernel<true>(*A, prepare));
    CSRCTry(CSRCWithMultTransposeKernel<true>(*A, prepare));
  }
  A->early = early && major >= 9;
  return cudaSuccess;
}
