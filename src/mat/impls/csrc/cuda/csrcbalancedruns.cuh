#pragma once

/*
  Sums along runs of equal columns for A^T u where sorted nonzeros stand across a warp, register after register, as order
  'interleaved' has them: nothing goes through shared memory. CSRCSumRuns() of csrcbalancedparts.cuh does it where a lane
  holds consecutive ones.
*/
#include "csrcbalancedparts.cuh"

/*
  Puts a lane's nonzeros in the order of their columns, so that the chunk is sorted again: nonzeros that changed their groups at
  set-up did so within their lane. Without that they would tear runs, and ask for sectors of v that their neighbours do not want: in
  a stencil 220 sums a chunk instead of 112. A network of 19 exchanges, and none where all lanes are in order.
*/
template <class Sum>
__device__ __forceinline__ void CSRCSortLane(Sum product[CSRC_PER_LANE], int column[CSRC_PER_LANE])
{
  constexpr int pair[19][2] = {
    {0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 1}, {2, 3}, {4, 5}, {6, 7}, {2, 4}, {3, 5}, {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}
  };
  bool sorted = true;

#pragma unroll
  for (int i = 1; i < CSRC_PER_LANE; i++) sorted = sorted && column[i - 1] <= column[i];
  if (__all_sync(0xffffffffu, sorted)) return;
#pragma unroll
  for (int k = 0; k < 19; k++) {
    const int  p = pair[k][0], q = pair[k][1], cp = column[p], cq = column[q];
    const Sum  s    = product[p];
    const bool swap = cq < cp;

    column[p]  = swap ? cq : cp;
    column[q]  = swap ? cp : cq;
    product[p] = swap ? product[q] : s;
    product[q] = swap ? s : product[q];
  }
}

/*
  Sums along the warp within runs; bit l of heads says that a run begins in lane l, and is set for lane 0. The last lane of a
  run has the run's sum. There are as many steps as the longest run asks for: in step d bit l of open says that lanes l-d+1 .. l
  all continue a run.
*/
template <class Sum>
__device__ __forceinline__ void CSRCSumInWarp(unsigned heads, Sum &s, int lane)
{
  unsigned open = ~heads;

#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    if (!open) break;
    const Sum t = CSRCShuffleUp(s, d);

    if ((open >> lane) & 1) s += t;
    open &= open << d;
  }
}

/*
  Sums along the runs of a chunk, in the order of columns. Called by a warp with the products and columns of each lane's nonzeros.
  Calls out(number, column, sum) in the lane that closes a run; numbers count the runs of the chunk.
*/
template <class Sum, class Out>
__device__ __forceinline__ void CSRCSumAcross(Sum product[CSRC_PER_LANE], int column[CSRC_PER_LANE], int lane, const Out &out)
{
  unsigned heads[CSRC_PER_LANE + 1]; /* lanes in which runs begin, register by register */
  int      last = -1, count = 0;

  CSRCSortLane(product, column);
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    const int before = __shfl_sync(0xffffffffu, column[i], lane + 31); /* in lane 0: of lane 31 */

    heads[i] = __ballot_sync(0xffffffffu, column[i] != (lane ? before : last));
    last     = before;
  }
  heads[CSRC_PER_LANE] = 1;
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    if (i && !(heads[i] & 1)) { /* a run goes on from lane 31 of the register before */
      const Sum t = CSRCShuffle(product[i - 1], 31);

      if (lane == 0) product[i] += t;
    }
    CSRCSumInWarp(heads[i] | 1, product[i], lane);
    const unsigned closes = heads[i] >> 1 | heads[i + 1] << 31;

    if ((closes >> lane) & 1) out(count + __popc(closes & ((1u << lane) - 1)), column[i], product[i]);
    count += __popc(closes);
  }
}
