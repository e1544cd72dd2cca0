#pragma once

/*
  V = A^T U, or A^H U, from the balanced layout of CSRC, for panels whose packed rows take 32 bytes at most, as of four columns in
  double precision. Wider ones: csrcbalancedmatmult.cuh.
*/
#include "csrcbalancedvector.cuh" /* launches */

constexpr int CSRC_NARROW_BYTES = 32; /* of a packed row, at most */
constexpr int CSRC_NARROW_LIST  = 96; /* sums of a warp that are put down before they are added to V */

template <class Scalar, int KT>
inline constexpr bool CSRCNarrow = KT * sizeof(Scalar) <= CSRC_NARROW_BYTES;

/*
  V += A^T U, or A^H U, V packed, panels of KT columns

  Thread block: one block of the layout and one panel; its part of U packed in shared memory, copies of rows included. Each block
  begins at another of its chunks, so that not all of them add to the same part of V at the same time. Warp: every (THREADS/32)th
  chunk. Lane: all columns of its 8 nonzeros, so that nothing is handed over. Sums of a run of equal columns stay in
  registers, and go on along the warp at the end of the chunk. Sums are put next to each other in shared memory, three times a chunk, and
  added to V by global atomics, neighbouring lanes taking neighbouring scalars.
  Bytes a nonzero: value, 2 for the accumulator, 1 to 4 for the column, 8/256 for the head, once for all panels of a launch; U is read
  once a block; KT scalars from shared memory. Dynamic shared memory: U, the table of values if there is one, and 96 sums and columns a warp.
*/
template <class Scalar, CSRCValues VALUES, bool CONJUGATE, int THREADS, int KT>
__global__ void __launch_bounds__(THREADS, 512 / THREADS) CSRCBalancedNarrowTransposeKernel(const CSRCBalancedForm<Scalar> f, int npanels, int K, const Scalar *u, size_t ldu, Scalar *v)
{
  using Row               = CSRCRow<Scalar, KT, 1>;
  using Unit              = typename Row::Unit;
  using Part              = typename Row::Part;
  constexpr int     WARPS = THREADS / 32, PER = CSRC_PER_LANE, UNITS = Row::units, AHEAD = PER / 2, LIST = CSRC_NARROW_LIST;
  extern __shared__ __align__(16) unsigned char shared[];
  Unit *const                                   su  = reinterpret_cast<Unit *>(shared);
  const int                                     tid = threadIdx.x, warp = CSRCWarp(), lane = tid & 31, g = blockIdx.x / npanels, panel = blockIdx.x % npanels, k0 = panel * KT;
  const CSRCBlock                               b = f.block[g], next = f.block[g + 1];
  const int                                     ncopies = next.copy - b.copy, naccs = b.nrows + ncopies;
  Unit *const lists = su + (size_t)(f.accumulators - f.threads + 1) * UNITS, *const list = lists + warp * LIST * UNITS;
  Scalar *const table = reinterpret_cast<Scalar *>(lists + WARPS * LIST * UNITS);
  int *const    cols  = reinterpret_cast<int *>(table + (VALUES == CSRC_VALUES_TABLE ? 256 : 0)) + warp * LIST;
  Scalar *const vp    = v + (size_t)panel * f.n * KT;
  const int     many = next.chunk - b.chunk, offset = (int)((long long)many * g / f.nblocks);
  const auto    chunkof = [&](int k) { return b.chunk + (k + offset >= many ? k + offset - many : k + offset); };
  /* where unit q of entry p of the list stands: neighbouring entries in different banks */
  const auto inlist = [](int p, int q) { return p * UNITS + (q ^ (p >> 2 & (UNITS - 1))); };

  CSRCLaneChunk<Scalar, VALUES> a;
  int2                          head1 = make_int2(0, 0);

  if (warp < many) {
    CSRCLoadChunk(a, f, chunkof(warp), lane, f.head[chunkof(warp)]);
    head1 = f.head[chunkof(min(warp + WARPS, many - 1))];
  }
  if (VALUES == CSRC_VALUES_TABLE) {
    for (int t = tid; t < 256; t += THREADS) table[t] = f.table[t];
  }
  CSRCLetNextBegin();
  CSRCWaitPrevious();
  CSRCStageRows<THREADS, Row>(f, b, ncopies, u, ldu, k0, K, su);
  __syncthreads();

  for (int k = warp; k < many; k += WARPS) {
    const bool  more      = k + WARPS < many;
    const int   nextchunk = chunkof(min(k + WARPS, many - 1));
    const uint4 acc       = a.acc;
    int         column[PER];

    CSRCColumns(a, column);
    if (more) CSRCLoadPlaces(a, f, nextchunk, lane, head1);
    head1 = f.head[chunkof(min(k + 2 * WARPS, many - 1))]; /* always: under a condition the compiler waits for it */

    /* bit i: a run ends before nonzero i. The first end is that of a run which may have begun in a lane before: it is put down last. */
    unsigned ends = 0;
#pragma unroll
    for (int i = 1; i < PER; i++) ends |= column[i] != column[i - 1] ? 1u << i : 0;
    const bool     several = ends != 0;
    const unsigned inner   = ends & (ends - 1);
    const int      before  = __shfl_up_sync(0xffffffffu, column[PER - 1], 1);
    const bool     goeson  = lane > 0 && before == column[0]; /* the lane's first run came from the lane before */
    const unsigned goon    = __ballot_sync(0xffffffffu, goeson);
    const bool     closes  = lane == 31 || !(goon >> (lane + 1) & 1); /* the lane's last run ends in this lane */
    /* how many sums the lane puts down up to the middle, then, and at last, a byte each; and where: the sums of these over the lanes before */
    const int mine  = __popc(inner & ((2 << AHEAD) - 1)) | __popc(inner >> (AHEAD + 1)) << 8 | ((int)several + (int)closes) << 16;
    int       place = mine;
#pragma unroll
    for (int o = 1; o < 32; o *= 2) {
      const int t = __shfl_up_sync(0xffffffffu, place, o);

      if (lane >= o) place += t;
    }
    const int all = __shfl_sync(0xffffffffu, place, 31);
    place -= mine;
    int        at  = place & 0xff;
    const auto put = [&](const Part &s, int j, bool ordered) {
#pragma unroll
      for (int q = 0; q < UNITS; q++) {
        Unit t;

#pragma unroll
        for (int e = 0; e < Row::width; e++) t.s[e] = s.s[q * Row::width + e];
        list[inlist(at, ordered ? q : Row::piece(lane, q))] = t;
      }
      cols[at++] = j;
    };
    const auto flush = [&](int count) {
      __syncwarp();
      for (int l = lane; l < count * KT; l += 32) {
        const int p = l / KT, c = l % KT;

        CSRCAtomicAdd(vp + (size_t)KT * cols[p] + c, list[inlist(p, c / Row::width)].s[c % Row::width]);
      }
      __syncwarp();
    };
    Part s = CSRCPackZero<Scalar, KT>(), first = s; /* pieces in the lane's order */

#pragma unroll
    for (int i0 = 0; i0 < PER; i0 += AHEAD) {
      Part us[AHEAD];

#pragma unroll
      for (int i = 0; i < AHEAD; i++) us[i] = Row::get(su + Row::base(min(CSRCAccumulator(acc, i0 + i), naccs), 0), lane);
#pragma unroll
      for (int i = i0; i < i0 + AHEAD; i++) {
        const Scalar value = CSRCValue<Scalar, VALUES>(a, i, table);

        /* a plane of the next chunk when one of this is done with */
        if ((i + 1) * a.planes % PER == 0 && more) CSRCLoadPlane(a, f, nextchunk, lane, (i + 1) * a.planes / PER - 1);
        if (i > 0 && (ends >> i & 1)) {
          if (ends & ((1u << i) - 1)) put(s, column[i > 0 ? i - 1 : 0], false);
          else first = s;
          s = CSRCPackZero<Scalar, KT>();
        }
        s += CSRCPackProduct<CONJUGATE>(value, us[i - i0]);
        if (i == AHEAD) {
          flush(all & 0xff);
          at = place >> 8 & 0xff;
        }
      }
    }
    flush(all >> 8 & 0xff);
    at = place >> 16;
    Row::order(s, lane);
    Row::order(first, lane);
    CSRCAddAlong(s, goeson, several, lane);
    const Part carried = CSRCShuffleUp(s, 1);
    if (several) {
      if (goeson) first += carried;
      put(first, column[0], true);
    }
    if (closes) put(s, column[PER - 1], true);
    flush(all >> 16);
  }

  if (f.nleft) {
    for (int l = f.leftstart[g] + tid; l < f.leftstart[g + 1]; l += THREADS) {
      const Part p = CSRCPackProduct<CONJUGATE>(f.leftvalue[l], Row::get(su + Row::base(f.leftrow[l], 0), 0));

#pragma unroll
      for (int c = 0; c < KT; c++) CSRCAtomicAdd(vp + (size_t)KT * f.leftcolumn[l] + c, p.s[c]);
    }
  }
}
