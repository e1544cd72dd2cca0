#pragma once

/* Lists the nonzeros that are stored in chunks, from which a CSR can be made again */
#include "chunk.cuh"
#include "launch.cuh"
#include "mat/impls/csrc/balanced/setup/rowblocks.cuh"

/*
  Writes row, column and value of the nonzeros of 'many' chunks, from chunk 'first' on, in the order of the chunks; row -1 stands for
  padding.

  Warp: one chunk. Lane: its 8 nonzeros of the chunk. Bytes per nonzero: reads what is stored, writes a row, a column and a value.
*/
template <class Scalar, CSRCValues VALUES>
__global__ void CSRCListKernel(const CSRCBalancedMatrix<Scalar> A, int first, int many, int *row, int *column, Scalar *value)
{
  const int                     k = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x & 31;
  CSRCLaneChunk<Scalar, VALUES> a;
  int                           col[CSRC_PER_LANE];

  if (k >= many) return;
  const int              g = CSRCFindRowBlock<&CSRCRowBlock::chunk>(A.block, A.nblocks, first + k);
  const CSRCThisRowBlock b(A, g);
  const int              place = k * CSRC_CHUNK + lane * CSRC_PER_LANE;

  CSRCLoadChunk(a, A, first + k, lane, A.head[first + k]);
  CSRCColumns(A, a, col);
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    const int acc = CSRCAccumulator(a.acc, i);

    row[place + i]    = acc < b.nrows ? b.row + acc : acc < b.naccs ? b.row + A.replicarow[b.replica + acc - b.nrows] : -1;
    column[place + i] = col[i];
    value[place + i]  = CSRCValue(a, i, A.table);
  }
}

/* Lists these chunks: 'many', which is positive, times CSRC_CHUNK entries in each array */
template <class Scalar>
static cudaError_t CSRCListChunks(const CSRCBalancedMatrix<Scalar> &A, int first, int many, int *row, int *column, Scalar *value, cudaStream_t stream)
{
  const auto kernel = CSRCSelect([](auto values) { return CSRCListKernel<Scalar, decltype(values)::value>; }, CSRCOneOfValues{A.values});

  kernel<<<(many + 7) / 8, 256, 0, stream>>>(A, first, many, row, column, value);
  return cudaGetLastError();
}
