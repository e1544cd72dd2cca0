#pragma once

/*
  Part of pair() in setup.cuh: whether two thread blocks should share a row block in products with one vector. Such a row block has twice as
  many rows, so that more of its nonzeros are in the same column, or in columns next to each other: A^T u adds to fewer sectors of v, and A x
  loads fewer sectors of x. On the other hand, each of the two thread blocks clears sums for all rows, and adds those of the other.
*/
#include "mat/impls/csrc/balanced/kernels/chunk.cuh"

constexpr int CSRC_PAIRS_SAMPLED = 4;  /* number of pairs that are looked at */
constexpr int CSRC_PAIR_GRID     = 16; /* thread blocks for each row block of them */

/* Columns whose entries of a vector are in one sector of 32 bytes */
template <class Scalar>
constexpr int CSRCSectorColumns = 32 / (int)sizeof(Scalar);

/*
  Marks the sectors that the row blocks of some pairs touch, if each row block has 'each' nonzeros: touched[s * nsectors + sector] for row
  block s of the sample. Thread block: a share of the nonzeros of one row block. touched must be zero before.
*/
template <class Scalar, class Index>
__global__ void __launch_bounds__(256) CSRCTouchedKernel(int npairs, int each, int nsectors, const Index *column, unsigned char *touched)
{
  const int s = blockIdx.x / CSRC_PAIR_GRID, block = 2 * ((s / 2) * npairs / CSRC_PAIRS_SAMPLED) + s % 2, begin = block * each, end = begin + each;

  touched += (size_t)s * nsectors;
#pragma unroll 4
  for (int k = begin + (blockIdx.x % CSRC_PAIR_GRID) * 256 + threadIdx.x; k < end; k += CSRC_PAIR_GRID * 256) touched[column[k] / CSRCSectorColumns<Scalar>] = 1;
}

/* *count += number of sectors that both row blocks of a pair touch, summed over the pairs. Thread: sectors a grid apart. */
static __global__ void __launch_bounds__(256) CSRCTouchedTwiceKernel(int nsectors, const unsigned char *touched, int *count)
{
  int mine = 0;

  for (int i = blockIdx.x * 256 + threadIdx.x; i < nsectors; i += gridDim.x * 256) {
#pragma unroll
    for (int p = 0; p < CSRC_PAIRS_SAMPLED; p++) mine += touched[(size_t)(2 * p) * nsectors + i] & touched[(size_t)(2 * p + 1) * nsectors + i];
  }
  mine = CSRCSumAlong(mine);
  if ((threadIdx.x & 31) == 0 && mine) atomicAdd(count, mine);
}
