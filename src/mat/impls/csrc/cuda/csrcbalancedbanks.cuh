#pragma once

/* Part of step 4 of csrcbalancedmake.cuh: groups in which neighbouring lanes add to rows in different banks */
#include "csrcbalanced.cuh"

/*
  Nonzeros of a tile change places once more, each with another of its lane, so that in A X the lanes that are served at once seldom have
  bank conflicts. ROWS packed rows cover all banks: four rows of 32 bytes, as of four columns in double precision, or two of 64 bytes. ROWS
  neighbouring lanes are served at once if their accumulators in the group are different modulo ROWS. Expected time with ROWS = 4, relative
  to no conflicts: 2.38 before, 1.72 after 8 rounds, no less after more.

  a, k: accumulators and sorted numbers of the thread's nonzeros by group, -1 where there is none; late: bits of those that are left over;
  owner, taken, claim: as in CSRCGroupsKernel(). In each round one of ROWS lanes looks for its best change. Runs of a column are not
  broken: nonzeros change places only with those of their own column, or if they have no neighbour of their own column.
*/
template <int THREADS, int ROWS, class Key>
static __device__ __forceinline__ void CSRCAvoidBanks(int a[CSRC_PER_LANE], int k[CSRC_PER_LANE], unsigned late, const Key *key, int *owner, volatile unsigned char *taken, int claim)
{
  constexpr int ROUNDS = 8, PER = CSRC_PER_LANE;
  Key           column[PER];

#pragma unroll
  for (int i = 0; i < PER; i++) column[i] = k[i] >= 0 ? key[k[i]] : (Key)0;
#pragma unroll 1
  for (int round = 0; round < ROUNDS; round++, claim -= THREADS) {
    unsigned classes = 0, valid = 0; /* accumulators modulo ROWS, two bits each; a bit for each nonzero that is added */
    unsigned others[PER];            /* of the other lanes' in this group: how many are of each class, a byte each */
    int      groups[PER];            /* that have the accumulator */
    int      best = 0, mine = 0, with = 0, am = -1, aw = -1;

    __syncthreads();
#pragma unroll
    for (int i = 0; i < PER; i++) {
      others[i] = 0;
      groups[i] = a[i] >= 0 ? taken[a[i]] : 0;
      if (a[i] >= 0 && !((late >> i) & 1)) {
        classes |= (unsigned)(a[i] & (ROWS - 1)) << (2 * i);
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
      const auto meets  = [&](int i, int group) { return valid >> i & 1 ? (int)(others[group] >> (8 * (classes >> (2 * i) & 3)) & 0xff) : 0; };
      const auto single = [&](int i) { return (i == 0 || column[i > 0 ? i - 1 : 0] != column[i]) && (i == PER - 1 || column[i < PER - 1 ? i + 1 : i] != column[i]); };

#pragma unroll
      for (int i = 0; i < PER; i++) {
#pragma unroll
        for (int j = i + 1; j < PER; j++) {
          const int more = meets(i, j) + meets(j, i) - meets(i, i) - meets(j, j);

          if (more < best && a[i] != a[j] && !((late >> i | late >> j) & 1) && !(groups[i] >> j & 1) && !(groups[j] >> i & 1) && (column[i] == column[j] || (single(i) && single(j)))) {
            best = more;
            mine = i;
            with = j;
          }
        }
      }
    }
#pragma unroll
    for (int i = 0; i < PER; i++) {
      if (i == mine) am = a[i];
      if (i == with) aw = a[i];
    }
    if (best < 0) {
      if (am >= 0) atomicMin(owner + am, claim);
      if (aw >= 0) atomicMin(owner + aw, claim);
    }
    __syncthreads();
    if (best < 0 && (am < 0 || owner[am] == claim) && (aw < 0 || owner[aw] == claim)) {
      int km = 0, kw = 0;
      Key cm = 0, cw = 0;

      if (am >= 0) taken[am] = (taken[am] & ~(1 << mine)) | 1 << with;
      if (aw >= 0) taken[aw] = (taken[aw] & ~(1 << with)) | 1 << mine;
#pragma unroll
      for (int i = 0; i < PER; i++) {
        if (i == mine) {
          km = k[i];
          cm = column[i];
        }
        if (i == with) {
          kw = k[i];
          cw = column[i];
        }
      }
#pragma unroll
      for (int i = 0; i < PER; i++) {
        if (i == mine) {
          a[i]      = aw;
          k[i]      = kw;
          column[i] = cw;
        } else if (i == with) {
          a[i]      = am;
          k[i]      = km;
          column[i] = cm;
        }
      }
    }
  }
}
