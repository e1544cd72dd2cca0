#pragma once

/* The balanced layout of CSRC, made from a CSR on the device and ready for products with one vector. */
#include "setup.cuh"
#include "mat/impls/csrc/balanced/kernels/mult.cuh"

/* As CSRCBalancedMake() */
template <class Scalar, class Index>
static cudaError_t CSRCBalancedBuild(int m, int n, int nnz, const Index *hoststart, const Index *start, const Index *column, const Scalar *value, const CSRCBalancedParams &params, bool keepfrom, cudaStream_t stream, CSRCBalancedForm<Scalar> *form,
                                     CSRCBalancedRefill<Scalar> *refill)
{
  CSRCTry(CSRCBalancedMake(m, n, nnz, hoststart, start, column, value, params, keepfrom, stream, form, refill));
  const cudaError_t err = CSRCBalancedPrepare(form);
  if (err != cudaSuccess) (void)CSRCBalancedFree(form, refill);
  return err;
}
