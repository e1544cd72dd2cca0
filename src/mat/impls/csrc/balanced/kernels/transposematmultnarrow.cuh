#pragma once

/*
  V = A^T U, or A^H U, with the balanced layout of CSRC, for panels whose packed rows have at most 32 bytes, such as four columns in
  double precision. transposematmult.cuh has the kernel for wider panels.
*/
#include "packedrow.cuh"
#include "shared.cuh"

template <class Scalar, int KT>
inline constexpr bool CSRCNarrow = KT * sizeof(Scalar) <= CSRC_NARROW_BYTES;

/*
  V += A^T U, or A^H U, V packed, panels of KT columns

  Thread block: one row block and one panel; its part of U packed in shared memory, including replicas. Warp: every (THREADS/32)th chunk,
  CSRCChunkReader. Lane: all columns of its 8 nonzeros, so that lanes do not share nonzeros. The sum of a run of equal columns stays in
  registers; at the end of the chunk it is passed along the warp to the lane where the run begins. Sums are compacted in shared memory and
  added to V by global atomics; neighbouring lanes add to neighbouring scalars. All sums of a chunk are added at once or, if there are many,
  those of two nonzeros of each lane at a time. Bytes per nonzero: value, 2 for the accumulator, 1/8 to 4 for the column, 8/256 for the head,
  read once for all panels of a launch; KT scalars from shared memory. U is read once by each row block. Dynamic shared memory:
  CSRCNarrowShared. The kernel gains 1.1 to 1.6 over transposematmult.cuh with four columns
  (D16, D29), and nothing overall with eight (D22).
*/
template <class Scalar, CSRCValues VALUES, CSRCCoding CODING, bool CONJUGATE, int THREADS, int KT>
__global__ void __launch_bounds__(THREADS, 512 / THREADS) CSRCBalancedTransposeMatMultNarrowKernel(const CSRCBalancedMatrix<Scalar> A, int npanels, int K, const Scalar *u, size_t ldu, Scalar *v)
{
  using Row               = CSRCRow<Scalar, KT, 1>;
  using Unit              = typename Row::Unit;
  using Part              = typename Row::Part;
  using Shared            = CSRCNarrowShared<Scalar, Row>;
  constexpr int     WARPS = THREADS / 32, PER = CSRC_PER_LANE, UNITS = Row::units, AHEAD = PER / 2, LIST = Shared::LIST;
  extern __shared__ __align__(16) unsigned char shared[];
  const int                                     tid = threadIdx.x, warp = CSRCWarp(), lane = tid & 31, g = blockIdx.x / npanels, panel = blockIdx.x % npanels, k0 = panel * KT;
  const CSRCThisRowBlock                        b(A, g);
  const Shared                                  memory(shared, A, VALUES, WARPS, warp);
  Unit *const su = memory.rows, *const list = memory.sums;
  Scalar *const                         table = memory.table;
  int *const                            cols  = memory.columns;
  Scalar *const                         vp    = v + (size_t)panel * A.n * KT;
  CSRCChunkReader                       reader(b, g, A.nblocks, warp, WARPS);
  CSRCLaneChunk<Scalar, VALUES, CODING> a;

  reader.loadFirst(A, a, lane);
  CSRCLoadTable<VALUES, THREADS>(A, table);
  CSRCLetNextBegin();
  CSRCWaitPrevious();
  CSRCStageRows<THREADS, Row>(A, b, u, ldu, k0, K, su);
  __syncthreads();

  for (; !reader.done(); reader.k += reader.step) {
    const bool more      = reader.more();
    const int  nextchunk = reader.next();
    int        column[PER];

    CSRCColumns(A, a, column);
    const uint4 acc = a.acc;
    if (more) CSRCLoadIndices(a, A, nextchunk, lane, reader.head);
    reader.loadHead(A, 2);

    /*
      Bit i of ends: a run ends before nonzero i. The lane where a run begins stores the sum of the run. The next lane stores its own part
      of that run, which is its first run, at an index reserved for this lane.
    */
    unsigned ends = 0;
#pragma unroll
    for (int i = 1; i < PER; i++) ends |= column[i] != column[i - 1] ? 1u << i : 0;
    const bool     several = ends != 0;
    const int      before  = __shfl_up_sync(0xffffffffu, column[PER - 1], 1);
    const bool     goeson  = lane > 0 && before == column[0]; /* the lane's first run continues a run of the previous lane */
    const unsigned goon    = __ballot_sync(0xffffffffu, goeson);
    const bool     further = lane < 31 && (goon >> (lane + 1) & 1); /* the lane's last run continues in the next lane */
    const bool     last    = several || !goeson;                    /* the lane's last run begins in it */
    const unsigned own     = goeson ? ends & (ends - 1) : ends;
    /*
      mine: the number of sums that the lane stores, one byte for each quarter of its nonzeros; the last run counts in the last quarter.
      place: the same, summed over the previous lanes.
    */
    const int  mine  = __popc(own & 0x06) | __popc(own & 0x18) << 8 | __popc(own & 0x60) << 16 | ((int)(own >> 7) + (int)last) << 24;
    int        place = CSRCScanLanes(mine, lane);
    const int  all = __shfl_sync(0xffffffffu, place, 31), total = __dp4a(all, 0x01010101, 0);
    const bool together = total <= LIST; /* whether all sums of the chunk fit the list */
    place -= mine;
    int        next = together ? __dp4a(place, 0x01010101, 0) : place & 0xff, at = goeson && several ? LIST + lane : next++; /* at: index of the next sum to be stored; next: of the one after it */
    const auto put = [&](const Part &s, int j, bool ordered) {
#pragma unroll
      for (int q = 0; q < UNITS; q++) {
        Unit t;

#pragma unroll
        for (int e = 0; e < Row::width; e++) t.s[e] = s.s[q * Row::width + e];
        list[at * UNITS + (ordered ? q : Row::piece(lane, q))] = t;
      }
      cols[at] = j;
      at       = next++;
    };
    const auto flush = [&](int count) {
      __syncwarp();
#pragma unroll 2
      for (int l = lane; l < count * KT; l += 32) CSRCAtomicAdd(vp + (size_t)KT * cols[l / KT] + l % KT, reinterpret_cast<const Scalar *>(list)[l]);
      __syncwarp();
    };
    Part s = CSRCPackZero<Scalar, KT>(); /* pieces in the lane's order */

#pragma unroll
    for (int i0 = 0; i0 < PER; i0 += AHEAD) {
      Part us[AHEAD];

#pragma unroll
      for (int i = 0; i < AHEAD; i++) us[i] = Row::get(Row::at(su, Row::start(min(CSRCAccumulator(acc, i0 + i), b.naccs)), 0), lane);
#pragma unroll
      for (int i = i0; i < i0 + AHEAD; i++) {
        if (i > 1 && i % 2 && !together) {
          flush(all >> (8 * (i / 2 - 1)) & 0xff);
          next = place >> (8 * (i / 2)) & 0xff;
          if (at != LIST + lane) at = next++;
        }
        if (i > 0) {
          const bool end = (ends & 1u << i) != 0;

          if (end) put(s, column[i > 0 ? i - 1 : 0], false);
#pragma unroll
          for (int e = 0; e < KT; e++) s.s[e] = end ? Scalar(0) : s.s[e];
        }
        s += CSRCPackProduct<CONJUGATE>(CSRCValue<Scalar, VALUES>(a, i, table), us[i - i0]);
        /* loads a plane of the next chunk after the last use of this one */
        if ((i + 1) * a.planes % PER == 0 && more) CSRCLoadPlane(a, A, nextchunk, lane, (i + 1) * a.planes / PER - 1);
      }
    }
    Row::order(s, lane);
    Part first = s; /* the sum that the previous lane needs */
    if (several && goeson) {
#pragma unroll
      for (int q = 0; q < UNITS; q++) {
        const Unit t = list[(LIST + lane) * UNITS + q];

#pragma unroll
        for (int e = 0; e < Row::width; e++) first.s[q * Row::width + e] = t.s[e];
      }
    }
    unsigned  through = __ballot_sync(0xffffffffu, further && !several);
    const int reach   = __ffs(~(through >> lane)) - 1; /* number of lanes after this one that contribute to first */
    for (int o = 1; through; o *= 2) {
      const Part t = CSRCShuffleDown(first, o);

      if (reach >= o) first += t;
      through &= through >> o;
    }
    const Part behind = CSRCShuffleDown(first, 1);
    if (further) s += behind;
    if (last) put(s, column[PER - 1], true);
    flush(together ? total : all >> 24);
  }

  if (A.noverflow) {
    for (int l = A.overflowstart[g] + tid; l < A.overflowstart[g + 1]; l += THREADS) {
      const Part p = CSRCPackProduct<CONJUGATE>(A.overflowvalue[l], Row::get(su + Row::base(A.overflowrow[l], 0), 0));

#pragma unroll
      for (int c = 0; c < KT; c++) CSRCAtomicAdd(vp + (size_t)KT * A.overflowcolumn[l] + c, p.s[c]);
    }
  }
}
