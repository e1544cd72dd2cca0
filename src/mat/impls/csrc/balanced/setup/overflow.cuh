#pragma once

/* Step 5 of setup.cuh: leftovers, in the order of the CSR, which is that of blocks and rows. */
#include "rowblocks.cuh"
#include <cub/device/device_radix_sort.cuh>

/* Writes the leftovers, whose places in that order are in leftfrom. Thread: one leftover. */
template <class Scalar, class Index>
__global__ void CSRCLeftEncodeKernel(CSRCBalancedForm<Scalar> f, const int *leftfrom, const Index *start, const Index *column, const Scalar *value)
{
  const int k = blockIdx.x * blockDim.x + threadIdx.x;

  if (k >= f.nleft) return;
  const int src = leftfrom[k], g = CSRCFindBlock<&CSRCBlock::entry>(f.block, f.nblocks, src);
  int       lo = f.block[g].row, hi = lo + f.block[g].nrows;

  while (hi - lo > 1) {
    const int mid = (lo + hi) / 2;

    if ((int)start[mid] <= src) lo = mid;
    else hi = mid;
  }
  f.leftrow[k]    = (uint16_t)(lo - f.block[g].row);
  f.leftcolumn[k] = (int)column[src];
  f.leftvalue[k]  = value[src];
}

/* leftstart[g] = leftovers of blocks before g. Thread: one g. */
static __global__ void CSRCLeftStartKernel(const CSRCBlock *block, int nblocks, int nleft, const int *leftfrom, int *leftstart)
{
  const int g = blockIdx.x * blockDim.x + threadIdx.x;

  if (g > nblocks) return;
  int lo = 0, hi = nleft; /* first leftover at or after the block's first nonzero */
  while (lo < hi) {
    const int mid = (lo + hi) / 2;

    if (leftfrom[mid] < block[g].entry) lo = mid + 1;
    else hi = mid;
  }
  leftstart[g] = lo;
}

/* Lists the leftovers. list: their places, in any order; leftfrom, temp: scratch */
template <class Scalar, class Index>
static cudaError_t CSRCLeft(const int *list, int *leftfrom, void *temp, size_t tempbytes, const Index *start, const Index *column, const Scalar *value, bool keepfrom, CSRCScratch &kept, CSRCBalancedForm<Scalar> *f, CSRCBalancedRefill<Scalar> *r)
{
  CSRCArrays arrays;

  arrays.add(&f->leftvalue, f->nleft);
  arrays.add(&f->leftstart, f->nblocks + 1);
  arrays.add(&f->leftcolumn, f->nleft);
  arrays.add(&f->leftrow, f->nleft);
  if (keepfrom) arrays.add(&r->leftfrom, f->nleft);
  CSRCTry(arrays.get(kept, &f->leftmemory));
  if (keepfrom) leftfrom = r->leftfrom;
  CSRCTry(cub::DeviceRadixSort::SortKeys(temp, tempbytes, list, leftfrom, f->nleft, 0, CSRCBits(f->nnz), kept.stream));
  CSRCLeftStartKernel<<<(f->nblocks + 256) / 256, 256, 0, kept.stream>>>(f->block, f->nblocks, f->nleft, leftfrom, f->leftstart);
  CSRCTry(cudaGetLastError());
  CSRCLeftEncodeKernel<<<(f->nleft + 255) / 256, 256, 0, kept.stream>>>(*f, leftfrom, start, column, value);
  return cudaGetLastError();
}
