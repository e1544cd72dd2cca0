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
  bool       early = true;
  const auto needs = [&](int groups) { return CSRCSharedBytes<CSRCMultShared<Scalar>>(*A, A->values, groups) + CSRC_SHARED_FIXED; };

  CSRCTry(cudaGetDevice(&device));
  CSRCTry(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  A->groups           = needs(3) <= (size_t)most * CSRC_GROUPS_SHARED / 227 ? 3 : needs(2) <= (size_t)most ? 2 : 1;
  A->transposethreads = CSRCSharedBytes<CSRCTransposeShared<Scalar>>(*A, A->values, 768 / 32) + CSRC_SHARED_FIXED <= (size_t)most ? 768 : 512;
  CSRCTry(CSRCPrepareKernel(CSRCMultKernel<false>(*A), &early));
  CSRCTry(CSRCPrepareKernel(CSRCMultTransposeKernel<false>(*A), &early));
  if constexpr (CSRCParts<Scalar> == 2) {
    CSRCTry(CSRCPrepareKernel(CSRCMultKernel<true>(*A), &early));
    CSRCTry(CSRCPrepareKernel(CSRCMultTransposeKernel<true>(*A), &early));
  }
  A->early = early;
  return cudaSuccess;
}
