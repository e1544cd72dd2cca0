#pragma once

/*
  Part of chunks() in setup.cuh: assigns a tile's nonzeros to conflict-free steps, those of one step adding to different
  accumulators.

  A thread has the 8 nonzeros that will be its lane's, one for each step, at first in the order by column. In each step, the first
  thread whose nonzero uses an accumulator takes it for this step. A nonzero that comes too late is exchanged with another one
  of its lane, of another step, if neither step then has an accumulator twice; of several exchanges that concern one accumulator, that
  of the first thread is made, the others try again. Nonzeros of its own column are tried before others, so that few runs are broken.
  The few that find no step in this way are exchanged with nonzeros of other lanes. Bank conflicts come last, in bankconflicts.cuh.
*/
#include "mat/impls/csrc/balanced/balanced.cuh"

/*
  What a thread knows meanwhile. A claim on an accumulator is a number; the smallest one holds. It is smaller in each round
  than in those before, so that claims need not be taken back.
*/
template <class Key>
struct CSRCAssignment {
  int      a[CSRC_PER_LANE];   /* accumulators of the thread's nonzeros, by step; -1 where there is no nonzero */
  int      k[CSRC_PER_LANE];   /* their sorted numbers, likewise */
  Key      key[CSRC_PER_LANE]; /* nonzeros with the same key are of one column; 0 where there is no nonzero */
  unsigned late;               /* bits of steps whose nonzero came too late */
  int      claim;              /* what the thread claims with in this round */

  int                    *owner; /* of the tile, by accumulator: the claim that holds */
  volatile unsigned char *taken; /* likewise: steps that have the accumulator, a bit each */

  __device__ __forceinline__ bool isLate(int i) const { return (late >> i) & 1; }

  /* Whether step i has accumulator number; there is none with number -1 */
  __device__ __forceinline__ bool has(int i, int number) const { return number >= 0 && ((taken[number] >> i) & 1); }

  /* Claims an accumulator, if there is one; after a barrier: whether the claim holds */
  __device__ __forceinline__ void wants(int number) const
  {
    if (number >= 0) atomicMin(owner + number, claim);
  }
  __device__ __forceinline__ bool gets(int number) const { return number < 0 || owner[number] == claim; }

  /* An accumulator leaves step 'from' for step 'to' */
  __device__ __forceinline__ void move(int number, int from, int to) const
  {
    if (number >= 0) taken[number] = (taken[number] & ~(1 << from)) | 1 << to;
  }

  /* The nonzeros of steps i and j are exchanged */
  __device__ __forceinline__ void exchange(int i, int j);
};

/* Element i of an array that lies in registers, and another value for it */
template <class T>
static __device__ __forceinline__ T CSRCPick(const T (&array)[CSRC_PER_LANE], int i)
{
  T picked = array[0];

#pragma unroll
  for (int t = 1; t < CSRC_PER_LANE; t++) picked = t == i ? array[t] : picked;
  return picked;
}
template <class T>
static __device__ __forceinline__ void CSRCPut(T (&array)[CSRC_PER_LANE], int i, T value)
{
#pragma unroll
  for (int t = 0; t < CSRC_PER_LANE; t++) array[t] = t == i ? value : array[t];
}

template <class Key>
__device__ __forceinline__ void CSRCAssignment<Key>::exchange(int i, int j)
{
  const auto swap = [&](auto &array) {
    const auto t = CSRCPick(array, i);

    CSRCPut(array, i, CSRCPick(array, j));
    CSRCPut(array, j, t);
  };

  swap(a);
  swap(k);
  swap(key);
}

/* Each step's accumulators, as far as nonzeros may stay where they are */
template <int THREADS, class Key>
static __device__ __forceinline__ void CSRCAssignSteps(CSRCAssignment<Key> &s)
{
  s.late = 0;
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++, s.claim -= THREADS) {
    s.wants(s.a[i]);
    __syncthreads();
    if (s.a[i] >= 0) {
      if (s.gets(s.a[i])) s.taken[s.a[i]] |= 1 << i;
      else s.late |= 1u << i;
    }
    __syncthreads();
  }
}

/* The step that the nonzero of step 'mine' tries as its nth, counted from 0: those with a nonzero of its own column come first */
template <class Key>
static __device__ __forceinline__ int CSRCNthStep(const CSRCAssignment<Key> &s, int mine, int nth)
{
  const Key own  = CSRCPick(s.key, mine);
  unsigned  same = 0; /* bits of the steps that have its column, then as seen from it */

#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) same |= (s.k[i] >= 0 && s.key[i] == own) << i;
  same            = (same | same << CSRC_PER_LANE) >> (mine + 1) & ((1 << (CSRC_PER_LANE - 1)) - 1);
  const int nsame = __popc(same);
  unsigned  from  = nth < nsame ? same : ~same;
  for (int t = nth < nsame ? nth : nth - nsame; t; t--) from &= from - 1;
  return (mine + __ffs(from)) % CSRC_PER_LANE;
}

/* Nonzeros that are late are exchanged with another one of their lane, or with an empty slot; one of each lane tries in a round */
template <int THREADS, class Key>
static __device__ __forceinline__ void CSRCExchangeInLane(CSRCAssignment<Key> &s)
{
  int tried = 0; /* steps that were tried for the present late nonzero */

#pragma unroll 1
  for (int round = 0; round < CSRC_ROUNDS_LANE && __syncthreads_or(s.late != 0); round++, s.claim -= THREADS, tried++) {
    const int  mine = s.late ? __ffs(s.late) - 1 : 0, with = CSRCNthStep(s, mine, tried % (CSRC_PER_LANE - 1));
    const int  am = CSRCPick(s.a, mine), aw = CSRCPick(s.a, with);
    const bool tries = s.late && am != aw && !s.has(with, am) && !s.has(mine, aw);

    if (tries) {
      s.wants(am);
      s.wants(aw);
    }
    __syncthreads();
    if (tries && s.gets(am) && s.gets(aw)) {
      s.taken[am] |= 1 << with;
      if (s.isLate(with)) s.taken[aw] |= 1 << mine; /* it had not its own step */
      else s.move(aw, with, mine);
      s.late &= ~(1u << mine | 1u << with);
      s.exchange(mine, with);
      tried = -1;
    }
  }
}

/*
  Nonzeros that are still late are exchanged with a nonzero of another lane of their warp, one for each warp and round: with that of the
  first lane where this is possible. Lanes are counted from a different one each time.
*/
template <int THREADS, class Key>
static __device__ __forceinline__ void CSRCExchangeInWarp(CSRCAssignment<Key> &s)
{
  const int  lane    = threadIdx.x & 31;
  const auto firstof = [](unsigned lanes, int from) { return (__ffs(__funnelshift_r(lanes, lanes, from)) - 1 + from) & 31; };

#pragma unroll 1
  for (int round = 0; round < CSRC_ROUNDS_WARP && __syncthreads_or(s.late != 0); round++, s.claim -= THREADS) {
    const unsigned who  = __ballot_sync(0xffffffffu, s.late != 0);
    const int      from = firstof(who, 7 * round & 31), mine = __shfl_sync(0xffffffffu, __ffs(s.late) - 1, from);
    const int      am = __shfl_sync(0xffffffffu, CSRCPick(s.a, mine), from), km = __shfl_sync(0xffffffffu, CSRCPick(s.k, mine), from);
    int            aw = -1, kw = 0, with = -1;

    if (who && lane != from) {
#pragma unroll
      for (int i = 0; i < CSRC_PER_LANE; i++) {
        if (i == mine || s.isLate(i) || s.has(i, am) || s.has(mine, s.a[i])) continue;
        with = i;
        aw   = s.a[i];
        kw   = s.k[i];
      }
    }
    const unsigned can   = __ballot_sync(0xffffffffu, with >= 0);
    const int      to    = firstof(can, 5 * round & 31);
    const bool     tries = can && lane == to;

    if (tries) {
      s.wants(am);
      s.wants(aw);
    }
    __syncthreads();
    const bool does = tries && s.gets(am) && s.gets(aw);
    if (does) {
      s.taken[am] |= 1 << with;
      s.move(aw, with, mine);
      CSRCPut(s.a, with, am);
      CSRCPut(s.k, with, km);
    }
    const bool done = __ballot_sync(0xffffffffu, does) != 0;
    aw              = __shfl_sync(0xffffffffu, aw, to);
    kw              = __shfl_sync(0xffffffffu, kw, to);
    if (done && lane == from) {
      CSRCPut(s.a, mine, aw);
      CSRCPut(s.k, mine, kw);
      s.late &= ~(1u << mine);
    }
  }
}
