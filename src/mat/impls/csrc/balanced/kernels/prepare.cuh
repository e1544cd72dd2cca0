#pragma once

/* Preparation of a matrix for its first products with one vector */
#include "mult.cuh"
#include "multtranspose.cuh"

/*
  Chooses the kernels for a matrix's products with one vector, and prepares them. A x has three warp groups if these leave enough of the
  shared memory to the L1 cache, which keeps entries of x; otherwise two if their sums fit, otherwise one.
*/
template <class Scalar>
static cudaError_t CSRCBalancedPrepare(CSRCBalancedMatrix<Scalar> *A)
{
  int        device, most;
  bool       early   = true;
  const auto prepare = [&](auto kernel, int) { return CSRCPrepareKernel(kernel, &early); };

  CSRCTry(cudaGetDevice(&device));
  CSRCTry(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  A->groups           = CSRCMultShared(*A, 3) + CSRC_SHARED_FIXED <= (size_t)most * CSRC_GROUPS_SHARED / 227 ? 3 : CSRCMultShared(*A, 2) + CSRC_SHARED_FIXED <= (size_t)most ? 2 : 1;
  A->transposethreads = CSRCMultTransposeShared(*A, 768) + CSRC_SHARED_FIXED <= (size_t)most ? 768 : 512;
  CSRCTry(CSRCWithMultKernel<false>(*A, prepare));
  CSRCTry(CSRCWithMultTransposeKernel<false>(*A, prepare));
  if constexpr (CSRCParts<Scalar> == 2) {
    CSRCTry(CSRCWithMultKernel<true>(*A, prepare));
    CSRCTry(CSRCWithMultTransposeKernel<true>(*A, prepare));
  }
  A->early = early;
  return cudaSuccess;
}
