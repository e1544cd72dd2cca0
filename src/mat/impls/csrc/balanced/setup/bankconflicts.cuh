#pragma once

/* Part of chunks() in setup.cuh: exchanges nonzeros so that in a conflict-free step neighbouring lanes add to rows in different banks */
#include "steps.cuh"

/*
  Exchanges nonzeros of a tile once more, each with another one of its lane, so that in A X the lanes that are served at once seldom have
  bank conflicts. ROWS packed rows cover all banks: four rows of 32 bytes, such as four columns in double precision, or two rows of 64
  bytes. ROWS neighbouring lanes have no conflict if their accumulators in the step are different modulo ROWS. Expected time with ROWS = 4,
  relative to no conflicts: 2.38 before, 1.72 after 8 rounds, and not less after more rounds.

  In each round one of ROWS lanes looks for its best exchange. Runs of a column are not broken: nonzeros are exchanged only with nonzeros of
  the same column, or if neither of them has a neighbour of its own column.
*/
template <int THREADS, int ROWS, class Key>
static __device__ __forceinline__ void CSRCAvoidBankConflicts(CSRCAssignment<Key> &s)
{
  constexpr int PER = CSRC_PER_LANE;

#pragma unroll 1
  for (int round = 0; round < CSRC_ROUNDS_BANKS; round++, s.claim -= THREADS) {
    unsigned classes = 0, valid = 0; /* accumulators modulo ROWS, two bits each; one bit for each nonzero that has a step */
    unsigned others[PER];            /* by step: number of accumulators of the other lanes in each class, one byte each */
    int      steps[PER];             /* by step: the steps that have its accumulator */
    int      best = 0, mine = 0, with = 0;

    __syncthreads();
#pragma unroll
    for (int i = 0; i < PER; i++) {
      others[i] = 0;
      steps[i]  = s.a[i] >= 0 ? s.taken[s.a[i]] : 0;
      if (s.a[i] >= 0 && !s.isLate(i)) {
        classes |= (unsigned)(s.a[i] & (ROWS - 1)) << (2 * i);
        valid |= 1u << i;
      }
    }
#pragma unroll
    for (int o = 1; o < ROWS; o++) {
      const unsigned theirs = __shfl_xor_sync(0xffffffffu, classes, o), there = __shfl_xor_sync(0xffffffffu, valid, o);

#pragma unroll
      for (int i = 0; i < PER; i++) others[i] += (there >> i & 1) << (8 * (theirs >> (2 * i) & 3));
    }
    if ((threadIdx.x & (ROWS - 1)) == (round & (ROWS - 1))) {
      const auto meets  = [&](int i, int step) { return valid >> i & 1 ? (int)(others[step] >> (8 * (classes >> (2 * i) & 3)) & 0xff) : 0; };
      const auto single = [&](int i) { return (i == 0 || s.key[i > 0 ? i - 1 : 0] != s.key[i]) && (i == PER - 1 || s.key[i < PER - 1 ? i + 1 : i] != s.key[i]); };

#pragma unroll
      for (int i = 0; i < PER; i++) {
#pragma unroll
        for (int j = i + 1; j < PER; j++) {
          const int more = meets(i, j) + meets(j, i) - meets(i, i) - meets(j, j);

          if (more < best && s.a[i] != s.a[j] && !s.isLate(i) && !s.isLate(j) && !(steps[i] >> j & 1) && !(steps[j] >> i & 1) && (s.key[i] == s.key[j] || (single(i) && single(j)))) {
            best = more;
            mine = i;
            with = j;
          }
        }
      }
    }
    const int am = CSRCPick(s.a, mine), aw = CSRCPick(s.a, with);
    if (best < 0) {
      s.wants(am);
      s.wants(aw);
    }
    __syncthreads();
    if (best < 0 && s.gets(am) && s.gets(aw)) {
      s.move(am, mine, with);
      s.move(aw, with, mine);
      s.exchange(mine, with);
    }
  }
}
