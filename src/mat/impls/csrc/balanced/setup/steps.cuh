#pragma once

/*
  Part of chunks() in setup.cuh: assigns the nonzeros of a tile to conflict-free steps, so that the nonzeros of one step are added to
  different accumulators.

  A thread has the 8 nonzeros that its lane will have in products, one for each step, at first in the order by column. In each step, the
  first thread whose nonzero uses an accumulator takes the accumulator for this step; the nonzeros of other threads that use it are late. If
  very many nonzeros are late, other orders are tried. A late nonzero is exchanged with another one of its lane, of another step, if
  afterwards neither step has an accumulator twice. If several exchanges concern one accumulator, that of the first thread is made, and the
  others try again. Nonzeros of the same column are tried before others, so that few runs are broken. The few nonzeros that find no step in
  this way are exchanged with nonzeros of other lanes. Exchanges against bank conflicts come last, see bankconflicts.cuh.
*/
#include "mat/impls/csrc/balanced/balanced.cuh"

/*
  The state of a thread during the assignment. A claim on an accumulator is a number; the smallest claim holds. Claims of each round
  are smaller than those of earlier rounds, so that claims need not be withdrawn.
*/
template <class Key>
struct CSRCAssignment {
  int      a[CSRC_PER_LANE];   /* accumulators of the thread's nonzeros, by step; -1: no nonzero */
  int      k[CSRC_PER_LANE];   /* numbers of these nonzeros in the sorted order, by step; -1: no nonzero */
  Key      key[CSRC_PER_LANE]; /* sort keys, by step: nonzeros with the same key have the same column; 0 if there is no nonzero */
  Key      lowest, window;     /* the lane may hold nonzeros with keys lowest ... lowest + window only */
  unsigned late;               /* one bit for each step: whether its nonzero is late */
  int      claim;              /* the thread's claim in this round */

  int                    *owner; /* for each accumulator of the tile: the claim that holds */
  volatile unsigned char *taken; /* for each accumulator of the tile: one bit for each step that has it */

  __device__ __forceinline__ bool isLate(int i) const { return (late >> i) & 1; }

  /* Whether a lane whose keys begin with 'from' may hold a nonzero with this key */
  __device__ __forceinline__ bool fits(Key other, Key from) const { return other - from <= window; }

  /* Whether step i has this accumulator; number -1 stands for none */
  __device__ __forceinline__ bool has(int i, int number) const { return number >= 0 && ((taken[number] >> i) & 1); }

  /* wants() claims an accumulator, if there is one; after a barrier, gets() says whether the claim holds */
  __device__ __forceinline__ void wants(int number) const
  {
    if (number >= 0) atomicMin(owner + number, claim);
  }
  __device__ __forceinline__ bool gets(int number) const { return number < 0 || owner[number] == claim; }

  /* Moves an accumulator from step 'from' to step 'to' */
  __device__ __forceinline__ void move(int number, int from, int to) const
  {
    if (number >= 0) taken[number] = (taken[number] & ~(1 << from)) | 1 << to;
  }

  /*
    Whether this lane's step i may give its nonzero to step 'mine' of another lane, and get that step's late nonzero, which has this
    accumulator; windows are another condition
  */
  __device__ __forceinline__ bool mayExchange(int i, int mine, int number) const { return i != mine && !isLate(i) && !has(i, number) && !has(mine, a[i]); }

  /* Exchanges the nonzeros of steps i and j */
  __device__ __forceinline__ void exchange(int i, int j);
};

/* Read and set element i of an array that is in registers */
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

/* Assigns accumulators to the steps, without exchanges; returns the number of late nonzeros of the tile */
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

/*
  Moves a thread's nonzeros on by a number of steps, cyclically: all together, or those of each column separately, so that no run is broken
*/
template <class Key>
static __device__ __forceinline__ void CSRCRotate(CSRCAssignment<Key> &s, bool bycolumn, int by)
{
  const CSRCAssignment<Key> was = s;
  int                       first[CSRC_PER_LANE], last[CSRC_PER_LANE]; /* first and last step of the nonzeros among which nonzero i is moved */

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
  Assigns accumulators to the steps. If very many nonzeros are late in the order by column, two orders are tried that differ from lane to
  lane. The first one moves nonzeros within runs; it is tried if the order is consecutive. The second one moves all nonzeros of a lane,
  which breaks runs; it is used only if it leaves at most a half (a quarter if the order is consecutive) of the late nonzeros. The reason:
  in a stencil the nonzeros of a row are at equal distances; if the distance is 8, or 32 in the order interleaved, all of them are in the
  same step.
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

/* The nth step, counted from 0, that is tried for the nonzero of step 'mine': steps with a nonzero of its own column come first */
template <class Key>
static __device__ __forceinline__ int CSRCNthStep(const CSRCAssignment<Key> &s, int mine, int nth)
{
  const Key own  = CSRCPick(s.key, mine);
  unsigned  same = 0; /* bits of the steps whose nonzero has its column, then rotated so that bit 0 is step mine + 1 */

#pragma unroll
  for (int i = 0; i < CSRC_PER_LANE; i++) same |= (s.k[i] >= 0 && s.key[i] == own) << i;
  same            = (same | same << CSRC_PER_LANE) >> (mine + 1) & ((1 << (CSRC_PER_LANE - 1)) - 1);
  const int nsame = __popc(same);
  unsigned  from  = nth < nsame ? same : ~same;
  for (int t = nth < nsame ? nth : nth - nsame; t; t--) from &= from - 1;
  return (mine + __ffs(from)) % CSRC_PER_LANE;
}

/*
  Exchanges late nonzeros with another one of their lane, or with an empty slot; each lane tries one exchange in a round. Of the exchanges
  that are tried in a round, at least one succeeds. Therefore no exchange is possible if no thread has tried for as many rounds as there are
  other steps.
*/
template <int THREADS, class Key>
static __device__ __forceinline__ void CSRCExchangeInLane(CSRCAssignment<Key> &s)
{
  int tried = 0; /* number of steps tried for the current late nonzero */
  int idle  = 0; /* number of rounds since a thread last tried */

#pragma unroll 1
  for (int round = 0; round < CSRC_ROUNDS_LANE && idle < CSRC_PER_LANE - 1 && __syncthreads_or(s.late != 0); round++, s.claim -= THREADS, tried++) {
    int  mine = 0, with = 0, am = -1, aw = -1;
    bool tries = false;

    if (s.late) { /* false for all lanes of most warps */
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
      if (s.isLate(with)) s.taken[aw] |= 1 << mine; /* its accumulator did not have this step */
      else s.move(aw, with, mine);
      s.late &= ~(1u << mine | 1u << with);
      s.exchange(mine, with);
      tried = -1;
    }
  }
}

/*
  Exchanges nonzeros that are still late with a nonzero of another lane of their warp. Each warp tries one exchange in a round; its late
  lanes take turns. The nonzero goes to the first lane where this is possible, counted from a different lane in each round. Both nonzeros
  have to be in the window of their new lane. The rounds end when no warp has tried during so many rounds that each of them has come to all
  of its late lanes.
*/
template <int THREADS, class Key>
static __device__ __forceinline__ void CSRCExchangeInWarp(CSRCAssignment<Key> &s)
{
  const int lane = threadIdx.x & 31;
  int       idle = 0; /* number of rounds since a warp last tried */

#pragma unroll 1
  for (int round = 0;; round++, s.claim -= THREADS) {
    const unsigned who  = __ballot_sync(0xffffffffu, s.late != 0);
    int            from = 0, to = 0, mine = 0, am = 0, km = 0; /* the late nonzero: lane, step, accumulator, number; to: the lane with which it is exchanged */
    int            aw = -1, kw = 0, with = -1;                 /* what this lane would exchange */
    Key            keym = 0, keyw = 0;                         /* the keys of both */
    bool           tries = false;

    if (!__syncthreads_or(round < CSRC_ROUNDS_WARP && idle < __popc(who))) break; /* all exchanges are done: CSRCLateByWindows() reads what they wrote */
    if (who) {
      unsigned lanes = who;

      for (int t = round % __popc(who); t; t--) lanes &= lanes - 1;
      from             = __ffs(lanes) - 1;
      mine             = __shfl_sync(0xffffffffu, __ffs(s.late) - 1, from);
      am               = __shfl_sync(0xffffffffu, CSRCPick(s.a, mine), from);
      km               = __shfl_sync(0xffffffffu, CSRCPick(s.k, mine), from);
      keym             = __shfl_sync(0xffffffffu, CSRCPick(s.key, mine), from);
      const Key lowest = __shfl_sync(0xffffffffu, s.lowest, from);
      if (lane != from && s.fits(keym, s.lowest)) {
#pragma unroll
        for (int i = 0; i < CSRC_PER_LANE; i++) {
          if (!s.mayExchange(i, mine, am) || (s.k[i] >= 0 && !s.fits(s.key[i], lowest))) continue;
          with = i;
          aw   = s.a[i];
          kw   = s.k[i];
          keyw = s.key[i];
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
        CSRCPut(s.key, with, keym);
      }
      const bool done = __ballot_sync(0xffffffffu, does) != 0;
      aw              = __shfl_sync(0xffffffffu, aw, to);
      kw              = __shfl_sync(0xffffffffu, kw, to);
      keyw            = __shfl_sync(0xffffffffu, keyw, to);
      if (done && lane == from) {
        CSRCPut(s.a, mine, aw);
        CSRCPut(s.k, mine, kw);
        CSRCPut(s.key, mine, keyw);
        s.late &= ~(1u << mine);
      }
    }
  }
}

/*
  Whether nothing but windows keeps a late nonzero of the warp, the first one of its lane, from an exchange with another lane. Called by all
  lanes after CSRCExchangeInWarp(), and before a step changes again.
*/
template <class Key>
static __device__ __forceinline__ bool CSRCLateByWindows(const CSRCAssignment<Key> &s)
{
  bool may = false;

  for (unsigned who = __ballot_sync(0xffffffffu, s.late != 0); who; who &= who - 1) {
    const int from = __ffs(who) - 1, mine = __shfl_sync(0xffffffffu, __ffs(s.late) - 1, from), number = __shfl_sync(0xffffffffu, CSRCPick(s.a, mine), from);

#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) may |= (threadIdx.x & 31) != from && s.mayExchange(i, mine, number);
  }
  return __any_sync(0xffffffffu, may);
}
