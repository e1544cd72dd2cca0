#pragma once

/*
  Part of chunks() in setup.cuh: assigns a tile's nonzeros to conflict-free steps, those of one step adding to different
  accumulators.

  A thread has the 8 nonzeros that will be its lane's, one for each step, at first in the order by column. In each step, the first
  thread whose nonzero uses an accumulator takes it for this step. If very many come too late, other orders are tried. A nonzero that comes too late is exchanged with another one
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

/* Each step's accumulators, as far as nonzeros may stay where they are; returns how many of the tile are late */
template <int THREADS, class Key>
static __device__ __forceinline__ int CSRCAssignSteps(CSRCAssignment<Key> &s)
{
  int all = 0;

#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    if (s.a[i] >= 0) s.taken[s.a[i]] = 0;
  }
  s.late = 0;
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++, s.claim -= THREADS) {
    s.wants(s.a[i]);
    __syncthreads();
    if (s.a[i] >= 0) {
      if (s.gets(s.a[i])) s.taken[s.a[i]] |= 1 << i;
      else s.late |= 1u << i;
    }
    all += __syncthreads_count(s.isLate(i));
  }
  return all;
}

/* Moves a thread's nonzeros on by so many steps, cyclically: all of them, or those of each column among themselves, so that no run is broken */
template <class Key>
static __device__ __forceinline__ void CSRCRotate(CSRCAssignment<Key> &s, bool bycolumn, int by)
{
  const CSRCAssignment<Key> was = s;
  int                       first[CSRC_PER_LANE], last[CSRC_PER_LANE]; /* steps of those that nonzero i is moved among */

  first[0] = 0;
#pragma unroll
  for (int i = 1; i < CSRC_PER_LANE; i++) first[i] = bycolumn && was.key[i] != was.key[i - 1] ? i : first[i - 1];
  last[CSRC_PER_LANE - 1] = CSRC_PER_LANE - 1;
#pragma unroll
  for (int i = CSRC_PER_LANE - 2; i >= 0; i--) last[i] = first[i + 1] == first[i] ? last[i + 1] : i;
#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) {
    const int many = last[i] - first[i] + 1, to = first[i] + ((i - first[i] + by) % many + many) % many;

    CSRCPut(s.a, to, was.a[i]);
    CSRCPut(s.k, to, was.k[i]);
    CSRCPut(s.key, to, was.key[i]);
  }
}

/*
  Each step's accumulators. If very many nonzeros are late in the order by column, two orders are tried that differ from lane to lane: one within
  runs, and, in the order consecutive only where much less are late, one of all nonzeros of a lane, which breaks runs. In a stencil the
  nonzeros of a row are at equal distances; if that is 8, or 32 in the order interleaved, all of them come in the same step.
*/
template <int THREADS, class Key>
static __device__ __forceinline__ void CSRCAssignStepsInSomeOrder(CSRCAssignment<Key> &s, CSRCOrder order)
{
  const bool consecutive = order == CSRC_CONSECUTIVE;
  const int  by = consecutive ? (int)threadIdx.x : (int)(threadIdx.x & 31) / 4, bycolumn = CSRCAssignSteps<THREADS>(s);
  int        inruns = bycolumn;

  if (bycolumn <= THREADS * CSRC_PER_LANE / CSRC_LATE) return;
  if (consecutive) {
    CSRCRotate(s, true, by);
    inruns = CSRCAssignSteps<THREADS>(s);
    if (inruns <= THREADS * CSRC_PER_LANE / CSRC_LATE) return;
    CSRCRotate(s, true, -by);
  }
  CSRCRotate(s, false, by);
  if (CSRCAssignSteps<THREADS>(s) <= bycolumn / (consecutive ? 4 : 2)) return;
  CSRCRotate(s, false, -by);
  if (inruns < bycolumn) CSRCRotate(s, true, by);
  (void)CSRCAssignSteps<THREADS>(s);
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

/*
  Nonzeros that are late are exchanged with another one of their lane, or with an empty slot; one of each lane tries in a round. Of those that
  try in a round, one succeeds at least. So if none has tried for as many rounds as there are other steps, no exchange is possible.
*/
template <int THREADS, class Key>
static __device__ __forceinline__ void CSRCExchangeInLane(CSRCAssignment<Key> &s)
{
  int tried = 0; /* steps that were tried for the present late nonzero */
  int idle  = 0; /* rounds in which no thread tried, up to now */

#pragma unroll 1
  for (int round = 0; round < CSRC_ROUNDS_LANE && idle < CSRC_PER_LANE - 1 && __syncthreads_or(s.late != 0); round++, s.claim -= THREADS, tried++) {
    int  mine = 0, with = 0, am = -1, aw = -1;
    bool tries = false;

    if (s.late) { /* in most warps nobody is */
      mine  = __ffs(s.late) - 1;
      with  = CSRCNthStep(s, mine, tried % (CSRC_PER_LANE - 1));
      am    = CSRCPick(s.a, mine);
      aw    = CSRCPick(s.a, with);
      tries = am != aw && !s.has(with, am) && !s.has(mine, aw);
    }
    if (tries) {
      s.wants(am);
      s.wants(aw);
    }
    idle = __syncthreads_or(tries) ? 0 : idle + 1;
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
  Nonzeros that are still late are exchanged with a nonzero of another lane of their warp, one for each warp and round, the late lanes of
  a warp in turn: with that of the first lane where this is possible, counted from a different one each time. The rounds end when no warp has
  tried since each of them came to all of its late lanes.
*/
template <int THREADS, class Key>
static __device__ __forceinline__ void CSRCExchangeInWarp(CSRCAssignment<Key> &s)
{
  const int lane = threadIdx.x & 31;
  int       idle = 0; /* rounds in which no warp tried, up to now */

#pragma unroll 1
  for (int round = 0; round < CSRC_ROUNDS_WARP; round++, s.claim -= THREADS) {
    const unsigned who  = __ballot_sync(0xffffffffu, s.late != 0);
    int            from = 0, to = 0, mine = 0, am = 0, km = 0; /* the late nonzero: lane, step, accumulator, number; the lane that it is exchanged with */
    int            aw = -1, kw = 0, with = -1;                 /* what this lane would exchange */
    bool           tries = false;

    if (!__syncthreads_or(idle < __popc(who))) break;
    if (who) {
      unsigned lanes = who;

      for (int t = round % __popc(who); t; t--) lanes &= lanes - 1;
      from = __ffs(lanes) - 1;
      mine = __shfl_sync(0xffffffffu, __ffs(s.late) - 1, from);
      am   = __shfl_sync(0xffffffffu, CSRCPick(s.a, mine), from);
      km   = __shfl_sync(0xffffffffu, CSRCPick(s.k, mine), from);
      if (lane != from) {
#pragma unroll
        for (int i = 0; i < CSRC_PER_LANE; i++) {
          if (i == mine || s.isLate(i) || s.has(i, am) || s.has(mine, s.a[i])) continue;
          with = i;
          aw   = s.a[i];
          kw   = s.k[i];
        }
      }
      const unsigned can = __ballot_sync(0xffffffffu, with >= 0);

      to    = (__ffs(__funnelshift_r(can, can, 5 * round & 31)) - 1 + 5 * round) & 31;
      tries = can && lane == to;
    }
    if (tries) {
      s.wants(am);
      s.wants(aw);
    }
    idle = __syncthreads_or(tries) ? 0 : idle + 1;
    if (who) {
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
}
