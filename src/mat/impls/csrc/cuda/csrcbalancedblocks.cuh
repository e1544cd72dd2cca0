#pragma once

/* Steps 1 and 2 of csrcbalancedmake.cuh: blocks are cut, nonzeros sorted by block and column. */
#include "csrcbalanced.cuh"
#include <algorithm>
#include <vector>

/*
  Cuts the nonzeros of m rows into at least nblocks blocks of at most maxrows rows. A row of more than an eighth of a block
  may be cut; otherwise cuts move to the nearest end of a row. Every row is in a block, empty ones too.
*/
template <class Index>
static std::vector<CSRCBlock> CSRCCutBlocks(const Index *start, int m, int nblocks, int maxrows)
{
  std::vector<CSRCBlock> blocks;
  const int              nnz = (int)start[m];
  CSRCBlock              b   = {};
  const double           per = (double)nnz / std::max(1, nblocks);

  while (b.row < m) {
    /* the block begins at nonzero b.entry of row b.row */
    double target = per * (1 + (int)(b.entry / per + 0.5));
    if (target - b.entry < 0.5 * per) target += per;
    const int want = target >= nnz - 0.5 ? nnz : (int)target;
    int       r    = (int)(std::upper_bound(start + b.row, start + m + 1, (Index)want) - start) - 1; /* row that holds nonzero want; m if want is nnz */
    CSRCBlock next = b;

    next.split = 0;
    if (want >= nnz) r = m;
    if (r - b.row >= maxrows) { /* too many rows: end where they fit */
      next.row   = b.row + maxrows;
      next.entry = (int)start[next.row];
    } else if (r == m) {
      next.row   = m;
      next.entry = nnz;
    } else {
      const int before = want - (int)start[r], after = (int)start[r + 1] - want;

      if ((double)(before + after) > per / 8 && before > 0) { /* cut row r */
        next.row   = r;
        next.entry = want;
        next.split = 1;
      } else if (before <= after && r > b.row) {
        next.row   = r;
        next.entry = (int)start[r];
      } else {
        next.row   = r + 1;
        next.entry = (int)start[r + 1];
      }
    }
    b.nrows = next.row - b.row + next.split;
    b.split |= 2 * next.split;
    blocks.push_back(b);
    b = next;
  }
  b.nrows = b.split = 0;
  blocks.push_back(b);
  for (size_t g = 0, owner = 0; g + 1 < blocks.size(); g++) {
    if (blocks[g].split & 1) {
      blocks[g].owner = (int)owner;
      blocks[owner].sharers++;
    }
    if ((blocks[g].split & 2) && !((blocks[g].split & 1) && blocks[g].nrows == 1)) {
      owner             = g;
      blocks[g].sharers = 1;
    }
  }
  for (size_t g = 0; g + 1 < blocks.size(); g++) {
    const int chunks    = (blocks[g + 1].entry - blocks[g].entry + CSRC_CHUNK - 1) / CSRC_CHUNK;
    blocks[g + 1].chunk = blocks[g].chunk + chunks;
  }
  return blocks;
}

/* The block that holds nonzero k (by entry) or begins last at or before row r */
static __device__ __forceinline__ int CSRCFindBlock(const CSRCBlock *block, int nblocks, int entry)
{
  int lo = 0, hi = nblocks;

  while (hi - lo > 1) {
    const int mid = (lo + hi) / 2;

    if (block[mid].entry <= entry) lo = mid;
    else hi = mid;
  }
  return lo;
}

/* The block that holds a chunk */
static __device__ __forceinline__ int CSRCBlockOfChunk(const CSRCBlock *block, int nblocks, int chunk)
{
  int lo = 0, hi = nblocks;

  while (hi - lo > 1) {
    const int mid = (lo + hi) / 2;

    if (block[mid].chunk <= chunk) lo = mid;
    else hi = mid;
  }
  return lo;
}

/* key = block << bits | column, place = number in the CSR. Thread: 4 nonzeros, 256 apart; all of them mostly in one block. */
template <class Key, class Index>
__global__ void CSRCKeysKernel(const CSRCBlock *block, int nblocks, int nnz, int bits, const Index *column, Key *key, int *place)
{
  for (int k = blockIdx.x * 1024 + threadIdx.x, e = 0; e < 4 && k < nnz; e++, k += 256) {
    key[k]   = ((Key)CSRCFindBlock(block, nblocks, k) << bits) | (Key)column[k];
    place[k] = k;
  }
}

/* runs[0] += nonzeros that begin a column of their block. Thread: one sorted nonzero. */
template <class Key>
__global__ void CSRCRunsKernel(int nnz, const Key *key, unsigned long long *runs)
{
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  const int c = __syncthreads_count(k < nnz && (k == 0 || key[k] != key[k - 1]));

  if (threadIdx.x == 0) atomicAdd(runs, (unsigned long long)c);
}
