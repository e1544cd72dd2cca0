#pragma once

/* The balanced layout of CSRC, made from a CSR on the device and ready for products with one vector. */
#include "setup.cuh"
#include "mat/impls/csrc/balanced/kernels/prepare.cuh"

/* As CSRCBalancedMake(), followed by CSRCBalancedPrepare() */
template <class Scalar, class Index>
static cudaError_t CSRCBalancedBuild(const CSRCSource<Scalar, Index> &csr, const CSRCBalancedParams &params, bool keepfrom, cudaStream_t stream, CSRCBalancedMatrix<Scalar> *matrix, CSRCBalancedRefill<Scalar> *refill)
{
  CSRCTry(CSRCBalancedMake(csr, params, keepfrom, stream, matrix, refill));
  const cudaError_t err = CSRCBalancedPrepare(matrix);
  if (err != cudaSuccess) (void)CSRCBalancedFree(matrix, refill);
  return err;
}
