#pragma once

/*
  V = A^T U, or A^H U, with the balanced layout of CSRC, for panels of KT columns: the kernel for wide panels, and the choice between it and
  the kernels of transposematmultnarrow.cuh and transposematmultinterleaved.cuh. All three read chunks in the same way (CSRCChunkReader).
  They differ in where the sums of runs are made: in lists for narrow panels and interleaved nonzeros, in registers for wide panels.
  matmult.cuh explains panels.
*/
#include "matmult.cuh"
#include "transposematmultinterleaved.cuh"
#include "transposematmultnarrow.cuh"

/*
  Number of lanes that share a nonzero: one for each 16 bytes of a packed row, and enough to add BYTES at once. BYTES is a sector, or two
  sectors where runs are so short (CSRC_SHORT_RUN) that A^T U waits for its additions.
*/
template <class Scalar, int KT, int BYTES>
inline constexpr int CSRCTransposeLanes = std::max(CSRCUnits<Scalar, KT>, std::min(KT, BYTES / (int)sizeof(Scalar)));

/*
  V += A^T U, or A^H U, V packed, panels of KT columns

  Thread block: one row block and one panel; its part of U packed in shared memory, including replicas. Warp: every (THREADS/32)th chunk,
  CSRCChunkReader. LANES neighbouring lanes: the nonzeros that these lanes hold, one after the other; lane 'part' of them takes the columns
  part, part + LANES, ... of the panel. The lane that holds a nonzero passes on where its row of U begins and whether a run ends. All of
  them load the value, through the L1 cache, since a sector has the values of two lanes or more. The sum of a run of equal columns stays in
  registers; at the end of the run it is added to V by global atomics, LANES neighbouring scalars at a time. Bytes per nonzero: as for A X,
  with KT scalars from shared memory; U is read once by each row block. Dynamic shared memory: CSRCDenseShared.
  With eight lanes instead of four, which add 64 bytes at once, the kernel gains 1.05 to 1.15 where runs are short, and loses as much where
  they are long (D34); values through the cache gain 1.1 (D25).
*/
template <class Scalar, CSRCValues VALUES, bool CONJUGATE, int THREADS, int KT, int LANES>
__global__ void __launch_bounds__(THREADS, 512 / THREADS) CSRCBalancedTransposeMatMultKernel(const CSRCBalancedMatrix<Scalar> A, int npanels, int K, const Scalar *u, size_t ldu, Scalar *v)
{
  using Row               = CSRCRow<Scalar, KT, LANES>;
  using Unit              = typename Row::Unit;
  using Part              = typename Row::Part;
  constexpr int     WARPS = THREADS / 32, PER = CSRC_PER_LANE, AHEAD = PER / Row::pieces;
  extern __shared__ __align__(16) unsigned char shared[];
  const CSRCDenseShared<Scalar, Row>            memory(shared, A, VALUES);
  Unit *const                                   su  = memory.rows;
  const int                                     tid = threadIdx.x, warp = CSRCWarp(), lane = tid & 31, part = lane % LANES, g = blockIdx.x / npanels, panel = blockIdx.x % npanels, k0 = panel * KT;
  const CSRCThisRowBlock                        b(A, g);
  Scalar *const                                 table = memory.table;
  Scalar *const                                 vp    = CSRCOpaque(v + (size_t)panel * A.n * KT + part);
  CSRCChunkReader                               reader(b, g, A.nblocks, warp, WARPS);
  /* adds p to row j of V: columns part, part + LANES, ... of the panel */
  const auto add = [&](int j, const Part &p) {
    Scalar *const to = CSRCRowAt<KT *(int)sizeof(Scalar)>(vp, j);

#pragma unroll
    for (int t = 0; t < Row::pieces; t++) {
#pragma unroll
      for (int e = 0; e < Row::width; e++) CSRCAtomicAdd(to + LANES * (e + Row::width * Row::piece(lane, t)), p.s[t * Row::width + e]);
    }
  };

  CSRCLoadTable<VALUES, THREADS>(A, table);
  CSRCLaneChunk<Scalar, VALUES> a; /* values of the nonzeros that the lane processes; indices of the nonzeros that it holds, of the next chunk */

  if (!reader.done()) {
    CSRCLoadIndices(a, A, reader.chunk(), lane, A.head[reader.chunk()]);
#pragma unroll
    for (int q = 0; q < a.planes; q++) CSRCLoadPlane<true>(a, A, reader.chunk(), lane - part, q);
    reader.loadHead(A, 1);
  }
  CSRCLetNextBegin();
  CSRCWaitPrevious();
  CSRCStageRows<THREADS, Row>(A, b, u, ldu, k0, K, su);
  __syncthreads();

  int  run = -1; /* the column that s is the sum of; -1: none */
  Part s   = CSRCPackZero<Scalar, Row::per>();

  for (; !reader.done(); reader.k += reader.step) {
    const int chunk = reader.chunk(), nextchunk = reader.next();
    int       column[PER], start[PER]; /* start: where the row of U begins */
    unsigned  mybegins = 0;            /* bit i: a run begins with nonzero i */

    CSRCColumns(A, a, column);
    /* padding, whose value is 0, joins the run before it */
#pragma unroll
    for (int i = 0; i < PER; i++) {
      const int number = CSRCAccumulator(a.acc, i);

      start[i] = Row::start(min(number, b.naccs));
      if (i > 0 && number >= b.naccs) column[i] = column[i > 0 ? i - 1 : 0];
    }
    CSRCLoadIndices(a, A, nextchunk, lane, reader.head);
    CSRCPrefetchValues<Scalar, VALUES>(A, nextchunk, lane);
    reader.loadHead(A, 2);
    const int before      = __shfl_up_sync(0xffffffffu, column[PER - 1], 1);
    const int firstcolumn = __shfl_sync(0xffffffffu, column[0], 0);
    bool      alike       = true; /* all nonzeros of the chunk are in one column: its sum is added once, not by many lanes to one place */

#pragma unroll
    for (int i = 0; i < PER; i++) alike = alike && column[i] == firstcolumn;
    alike = __all_sync(0xffffffffu, alike);
#pragma unroll
    for (int i = 0; i < PER; i++) mybegins |= (i == 0 ? part == 0 || column[0] != before : column[i] != column[i > 0 ? i - 1 : 0]) ? 1u << i : 0;
#pragma unroll 1
    for (int l = 0; l < LANES; l++) {
      const int      from   = lane - part + l;
      const unsigned begins = __shfl_sync(0xffffffffu, mybegins, from), any = CSRCOrAlong(begins);

#pragma unroll
      for (int first = 0; first < PER; first += AHEAD) {
        Part us[AHEAD];

#pragma unroll
        for (int i = 0; i < AHEAD; i++) us[i] = Row::get(Row::at(su, __shfl_sync(0xffffffffu, start[first + i], from), lane), lane);
#pragma unroll
        for (int i = first; i < first + AHEAD; i++) {
          if (any & 1u << i) {
            const bool ends = begins & 1u << i;

            if (i > 0) run = __shfl_sync(0xffffffffu, column[i > 0 ? i - 1 : 0], from);
            if (ends && (i > 0 || run >= 0)) add(run, s);
#pragma unroll
            for (int e = 0; e < Row::per; e++) s.s[e] = ends ? Scalar(0) : s.s[e];
          }
          s += CSRCPackProduct<CONJUGATE>(CSRCValue<Scalar, VALUES>(a, i, table), us[i - first]);
          /* loads the same plane for the next nonzeros after its last use */
          if ((i + 1) * a.planes % PER == 0) CSRCLoadPlane<true>(a, A, l < LANES - 1 ? chunk : nextchunk, l < LANES - 1 ? from + 1 : lane - part, (i + 1) * a.planes / PER - 1);
        }
      }
      run = __shfl_sync(0xffffffffu, column[PER - 1], from);
    }
    if (alike) {
      Row::order(s, lane);
#pragma unroll
      for (int o = 16; o >= LANES; o /= 2) {
        const Part t = CSRCShuffleDown(s, o);

        s += t;
      }
      Row::order(s, lane);
      if (lane >= LANES) run = -1;
    }
  }
  if (run >= 0) add(run, s);

  if (A.noverflow) {
    for (int l = A.overflowstart[g] + tid / LANES; l < A.overflowstart[g + 1]; l += THREADS / LANES) add(A.overflowcolumn[l], CSRCPackProduct<CONJUGATE>(A.overflowvalue[l], Row::get(su + Row::base(A.overflowrow[l], lane), lane)));
  }
}

/* Dynamic shared memory in bytes, except for the kernel for interleaved nonzeros */
template <int KT, class Scalar>
static size_t CSRCTransposeMatMultBytes(const CSRCBalancedMatrix<Scalar> &A)
{
  if constexpr (CSRCNarrow<Scalar, KT>) return CSRCSharedBytes<CSRCNarrowShared<Scalar, CSRCRow<Scalar, KT, 1>>>(A, A.values, CSRC_DENSE_THREADS / 32);
  else return CSRCSharedBytes<CSRCDenseShared<Scalar, CSRCRow<Scalar, KT, CSRCTransposeLanes<Scalar, KT, 32>>>>(A, A.values);
}

/* The kernel for the product with this matrix, except for that for interleaved nonzeros */
template <int KT, bool CONJUGATE, class Scalar>
static auto CSRCTransposeMatMultKernel(const CSRCBalancedMatrix<Scalar> &A)
{
  constexpr int THREADS = CSRC_DENSE_THREADS;

  if constexpr (CSRCNarrow<Scalar, KT>) {
    return CSRCSelect([](auto values, auto coding) { return CSRCBalancedTransposeMatMultNarrowKernel<Scalar, decltype(values)::value, decltype(coding)::value, CONJUGATE, THREADS, KT>; }, CSRCOneOfValues{A.values},
                      CSRCOneOf<CSRC_SPLIT, CSRC_BY_LANE>{A.coding});
  } else {
    return CSRCSelect([](auto values, auto bytes) { return CSRCBalancedTransposeMatMultKernel<Scalar, decltype(values)::value, CONJUGATE, THREADS, KT, CSRCTransposeLanes<Scalar, KT, decltype(bytes)::value>>; }, CSRCOneOfValues{A.values},
                      CSRCOneOf<64, 32>{A.meanrun < CSRC_SHORT_RUN ? 64 : 32});
  }
}

/* V = A^T U, or A^H U, for K columns in panels of KT; packed is scratch for V, which must be zero before, and is zero again afterwards */
template <int KT, bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedTransposeMatMult(const CSRCBalancedMatrix<Scalar> &A, int K, const Scalar *u, size_t ldu, Scalar *v, size_t ldv, Scalar *packed, cudaStream_t stream)
{
  const int npanels = (K + KT - 1) / KT;
  bool      done    = false;

  if constexpr (KT == 2) {
    if (A.order == CSRC_INTERLEAVED && K == KT) CSRCTry(CSRCBalancedTransposeMatMultInterleaved<KT, CONJUGATE>(A, u, ldu, packed, stream, &done));
  }
  if (!done) CSRCTry(CSRCLaunchDense(CSRCTransposeMatMultKernel<KT, CONJUGATE>(A), A, A.nblocks * npanels, CSRC_DENSE_THREADS, CSRCTransposeMatMultBytes<KT>(A), stream, npanels, K, u, ldu, packed));
  return CSRCLaunchPack<KT>(A, CSRCUnpackKernel<Scalar, KT>, npanels, stream, K, packed, v, ldv);
}
