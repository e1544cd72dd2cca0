#pragma once

/* overflow() in setup.cuh: lists the overflow in the order of the CSR, which is that of row blocks and rows */
#include "rowblocks.cuh"
#include <cub/device/device_radix_sort.cuh>

/* Writes the overflow, whose places in the CSR are in overflowfrom. Thread: one nonzero of the overflow. */
template <class Scalar, class Index>
__global__ void CSRCEncodeOverflowKernel(CSRCBalancedMatrix<Scalar> A, const int *overflowfrom, const Index *start, const Index *column, const Scalar *value)
{
  const int k = blockIdx.x * blockDim.x + threadIdx.x;

  if (k >= A.noverflow) return;
  const int src = overflowfrom[k], g = CSRCFindRowBlock<&CSRCRowBlock::entry>(A.block, A.nblocks, src);
  int       lo = A.block[g].row, hi = lo + A.block[g].nrows;

  while (hi - lo > 1) {
    const int mid = (lo + hi) / 2;

    if ((int)start[mid] <= src) lo = mid;
    else hi = mid;
  }
  A.overflowrow[k]    = (uint16_t)(lo - A.block[g].row);
  A.overflowcolumn[k] = (int)column[src];
  A.overflowvalue[k]  = value[src];
}

/* overflowstart[g] = number of nonzeros of the overflow in row blocks before g. Thread: one g. */
static __global__ void CSRCOverflowStartsKernel(const CSRCRowBlock *block, int nblocks, int noverflow, const int *overflowfrom, int *overflowstart)
{
  const int g = blockIdx.x * blockDim.x + threadIdx.x;

  if (g > nblocks) return;
  int lo = 0, hi = noverflow; /* search for the first nonzero of the overflow that is not before the row block's first nonzero */
  while (lo < hi) {
    const int mid = (lo + hi) / 2;

    if (overflowfrom[mid] < block[g].entry) lo = mid + 1;
    else hi = mid;
  }
  overflowstart[g] = lo;
}

/*
  Stores the overflow. list: its places in the CSR, in any order; overflowfrom: scratch as large as the CSR, or NULL if r is to keep what is
  stored there; temp: scratch of tempbytes bytes for the sort, which allocates more if it needs more
*/
template <class Scalar, class Index>
static cudaError_t CSRCStoreOverflow(const CSRCSource<Scalar, Index> &csr, const int *list, int *overflowfrom, void *temp, size_t tempbytes, CSRCScratch &kept, CSRCBalancedMatrix<Scalar> *A, CSRCBalancedRefill<Scalar> *r)
{
  const bool keepfrom = !overflowfrom;
  CSRCArrays arrays;

  arrays.add(&A->overflowvalue, A->noverflow);
  arrays.add(&A->overflowstart, A->nblocks + 1);
  arrays.add(&A->overflowcolumn, A->noverflow);
  arrays.add(&A->overflowrow, A->noverflow);
  if (keepfrom) arrays.add(&r->overflowfrom, A->noverflow);
  CSRCTry(arrays.get(kept, &A->overflowmemory));
  if (keepfrom) overflowfrom = r->overflowfrom;
  CSRCScratch more(kept.stream);
  size_t      sortbytes = 0;
  CSRCTry(cub::DeviceRadixSort::SortKeys(nullptr, sortbytes, list, overflowfrom, A->noverflow, 0, CSRCBits(A->nnz), kept.stream));
  if (sortbytes > tempbytes) {
    tempbytes = sortbytes;
    CSRCTry(more.get((char **)&temp, sortbytes));
  }
  CSRCTry(cub::DeviceRadixSort::SortKeys(temp, tempbytes, list, overflowfrom, A->noverflow, 0, CSRCBits(A->nnz), kept.stream));
  CSRCOverflowStartsKernel<<<(A->nblocks + 256) / 256, 256, 0, kept.stream>>>(A->block, A->nblocks, A->noverflow, overflowfrom, A->overflowstart);
  CSRCTry(cudaGetLastError());
  CSRCEncodeOverflowKernel<<<(A->noverflow + 255) / 256, 256, 0, kept.stream>>>(*A, overflowfrom, csr.start, csr.column, csr.value);
  return cudaGetLastError();
}
