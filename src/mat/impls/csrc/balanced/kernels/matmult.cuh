#pragma once

/*
  Y = A X, or with the conjugate of A, for panels of KT columns, with the balanced layout of CSRC; transposematmult.cuh has V = A^T U.
  X, V and the accumulators in shared memory are packed: the KT entries of a row are stored together, since nonzeros
  scatter over rows. Several neighbouring lanes may share a nonzero, each for a few of the KT columns, so that a gather, an addition
  in shared memory and an atomic addition move whole sectors of 32 bytes.

  One launch computes several panels. Thread blocks of the same row block and different panels are neighbours in the grid. They run at the
  same time, so that the nonzeros of the row block are read from device memory only once.
*/
#include "pack.cuh"
#include "shared.cuh"

/* Number of lanes that share a nonzero */
template <class Scalar, int KT>
inline constexpr int CSRCLanes = CSRCLanesOfRow<KT *(int)sizeof(Scalar)>;

/*
  Adds items begin .. end - 1 to the sums of their rows: item(k, q) is unit q of item k, rowof(k) its row; items of one row stand together.
  Each warp takes an equal part of the items, as many at a time as it has lanes for units of them. A row that began in an earlier part belongs
  to another warp: the sum of this warp for it is added at the end, in the order of the warps. The order of sums is fixed. All threads of the
  thread block call it, and all sums are complete on return.
*/
template <int THREADS, class Row, class RowOf, class Item>
__device__ __forceinline__ void CSRCAddRowsByRow(int begin, int end, const RowOf &rowof, const Item &item, typename Row::Unit *sum)
{
  using Unit          = typename Row::Unit;
  constexpr int UNITS = Row::units, WARPS = THREADS / 32, AT = 32 / UNITS;
  const int     warp = CSRCWarp(), lane = threadIdx.x & 31, q = lane % UNITS, at = lane / UNITS, each = (end - begin + WARPS * AT - 1) / (WARPS * AT) * AT;
  const auto    from   = [&](int w) { return min(begin + w * each, end); };
  const auto    goeson = [&](int w) { return w > 0 && from(w) < from(w + 1) && rowof(from(w)) == rowof(from(w) - 1); }; /* whether a part begins with a row of the previous one */
  const int     first = from(warp), last = from(warp + 1), open = goeson(warp) ? rowof(first) : -1;
  Unit          carry = {};

  for (int k0 = first; k0 < last; k0 += AT) {
    const int k = k0 + at, row = k < last ? rowof(k) : -1, before = __shfl_up_sync(0xffffffffu, row, UNITS);
    Unit      s = {};

    if (k < last) s = item(k, q);
    if (__any_sync(0xffffffffu, at > 0 && row >= 0 && row == before)) {
#pragma unroll
      for (int o = 1; o < AT; o *= 2) { /* the sum over this item and those after it that have the same row */
        const Unit t     = CSRCShuffleDown(s, o * UNITS);
        const int  other = __shfl_down_sync(0xffffffffu, row, o * UNITS);

        if (at + o < AT && other == row) s += t;
      }
    }
    if (row >= 0 && (at == 0 || row != before)) {
      if (row == open) carry += s;
      else sum[Row::index(row, q)] += s;
    }
    __syncwarp(); /* the next items may belong to the same row */
  }
  /* several warps may have sums of one row: they take turns */
  const int      key  = lane < WARPS && goeson(lane) ? rowof(from(lane)) : -1;
  const unsigned same = __shfl_sync(0xffffffffu, __match_any_sync(0xffffffffu, key), warp);
  const int      mine = open >= 0 ? __popc(same & ((1u << warp) - 1)) : -1;
  for (int turn = 0; __syncthreads_or(turn <= mine); turn++) {
    if (turn == mine && at == 0) sum[Row::index(open, q)] += carry;
  }
}

/*
  Finishes Y = A X (or with the conjugate of A) for a row block whose chunks are done, with the sums in shared memory: adds the overflow and
  the replicas, and writes columns k0 to k0 + KT - 1 of Y, which has K columns. The order of sums is fixed. Called by a thread block of
  THREADS threads; x is the packed panel of X.
*/
template <bool CONJUGATE, int THREADS, class Row, class Scalar>
__device__ __forceinline__ void CSRCFinishRows(const CSRCBalancedMatrix<Scalar> &A, const CSRCThisRowBlock &b, typename Row::Unit *sum, const typename Row::Unit *x, int k0, int K, Scalar *y, size_t ldy)
{
  using Unit          = typename Row::Unit;
  constexpr int UNITS = Row::units;
  const int     tid   = threadIdx.x;

  if (A.noverflow)
    CSRCAddRowsByRow<THREADS, Row>(
      A.overflowstart[b.g], A.overflowstart[b.g + 1], [&](int k) { return (int)A.overflowrow[k]; }, [&](int k, int q) { return CSRCPackProduct<CONJUGATE>(A.overflowvalue[k], x[(size_t)A.overflowcolumn[k] * UNITS + q]); }, sum);
  if (b.nreplicas)
    CSRCAddRowsByRow<THREADS, Row>(
      0, b.nreplicas, [&](int k) { return (int)A.replicarow[b.replica + k]; }, [&](int k, int q) { return sum[Row::index(b.nrows + k, q)]; }, sum);
  for (int i = tid; i < b.nrows; i += THREADS) {
    const bool first = i == 0 && (b.split & 1), last = i == b.nrows - 1 && (b.split & 2);

#pragma unroll
    for (int q = 0; q < UNITS; q++) {
      const Unit s = sum[Row::index(i, q)];

#pragma unroll
      for (int e = 0; e < Row::width; e++) {
        const int k = k0 + q * Row::width + e;

        if (k >= K) continue;
        if (first || last) { /* the partial sum of a split row; CSRCBalancedCarryKernel() adds the partial sums */
          Scalar *mycarry = A.carry + (size_t)2 * A.nblocks * k + 2 * b.g;

          mycarry[first ? 0 : 1] = s.s[e];
          if (first && last) mycarry[1] = Scalar(0);
        } else y[ldy * k + b.row + i] = s.s[e];
      }
    }
  }
}

/*
  Adds the partial sums of rows that are split among row blocks, in the order of the row blocks. The grid has one row for each column of Y.

  Thread: one row block in which a split row begins, and one column; it walks over the row blocks that share the row.
*/
template <class Scalar>
__global__ void CSRCBalancedCarryKernel(const CSRCBalancedMatrix<Scalar> A, Scalar *y, size_t ldy)
{
  const int     g     = blockIdx.x * blockDim.x + threadIdx.x;
  const Scalar *carry = A.carry + (size_t)2 * A.nblocks * blockIdx.y;

  if (g >= A.nblocks) return;
  const CSRCRowBlock b = A.block[g];
  /* a split row begins in this row block if the last row continues, unless that is also the first row and began in an earlier row block */
  if (!(b.split & 2) || ((b.split & 1) && b.nrows == 1)) return;
  const size_t row = ldy * blockIdx.y + b.row + b.nrows - 1;
  Scalar       s   = carry[2 * g + 1];
  for (int h = g + 1; h < A.nblocks; h++) {
    const CSRCRowBlock c = A.block[h];

    s += carry[2 * h];
    if (!((c.split & 2) && c.nrows == 1)) break;
  }
  y[row] = s;
}

/*
  Y = A X, or with the conjugate of A, X packed, panels of KT columns

  Thread block: one row block and one panel; its part of Y as accumulators in shared memory. Warp: every (THREADS/32)th chunk of the row
  block. LANES neighbouring lanes share one nonzero at a time; a step takes LANES turns. Lane 'part' of them takes some units of the packed
  row. The lane that holds the nonzero passes the position of the accumulator, and the column, to these lanes; they load the value from
  memory. Bytes per nonzero: value, 2 for the accumulator, 1/8 to 4 for the column, 8/256 for the head, read once for all panels of a launch;
  KT scalars of X, which mostly come from the caches, for each run of equal columns that a lane holds; 2 KT scalars to and from shared
  memory. Nothing is atomic: the nonzeros of a step, between two barriers, have different accumulators. Dynamic shared memory:
  CSRCDenseShared. Gains over earlier versions: panels of 16 columns, 1.2 to 1.4 over two of 8 (D6); loops that keep
  warps together, 1.1 (D24); values loaded where they are used, 1.05 to 1.1 (D25); rows in different banks, 1.05 to 1.15 (D19, D26).
*/
template <class Scalar, CSRCValues VALUES, bool CONJUGATE, int THREADS, int KT>
__global__ void __launch_bounds__(THREADS, 512 / THREADS) CSRCBalancedMatMultKernel(const CSRCBalancedMatrix<Scalar> A, int npanels, int K, const Scalar *x, Scalar *y, size_t ldy)
{
  constexpr int LANES = CSRCLanes<Scalar, KT>, DEPTH = CSRCStepsAhead<LANES>;
  using Row           = CSRCRow<Scalar, KT, LANES>;
  using Unit          = typename Row::Unit;
  using Part          = typename Row::Part;
  constexpr int WARPS = THREADS / 32, TURNS = LANES, AT = 32 / LANES, BATCH = TURNS > 1 && sizeof(Part) <= 32 ? 2 : 1, PER = CSRC_PER_LANE, UNITS = Row::units;
  /* the lanes that use a value load it; but a value from a table is looked up by the lane that holds the nonzero, and passed to them */
  constexpr bool    HANDED = VALUES == CSRC_VALUES_TABLE && LANES > 1;
  constexpr int     HELD   = HANDED ? 1 : TURNS;
  extern __shared__ __align__(16) unsigned char shared[];
  const CSRCDenseShared<Scalar, Row>            memory(shared, A, VALUES);
  Unit *const                                   sum = memory.rows;
  const int                                     tid = threadIdx.x, warp = CSRCWarp(), lane = tid & 31, part = lane % LANES, g = blockIdx.x / npanels, panel = blockIdx.x % npanels, k0 = panel * KT;
  const CSRCThisRowBlock                        b(A, g);
  const int                                     end = b.endchunk, ntiles = (end - b.chunk + WARPS - 1) / WARPS;
  Scalar *const                                 table = memory.table;
  const Unit *const units = reinterpret_cast<const Unit *>(x + (size_t)panel * A.n * KT), *const xp = CSRCOpaque(units + part);
  int chunk = b.chunk + warp;

  CSRCLaneChunk<Scalar, VALUES> a;            /* indices of the next chunk */
  CSRCLaneChunk<Scalar, VALUES> values[HELD]; /* for the nonzero of each turn: a plane, which also holds values of the next steps */
  int                           column[PER];  /* columns of this chunk, replaced by those of the next chunk once used; -1: same as that of the previous nonzero */
  uint4                         acc = make_uint4(0, 0, 0, 0);
  Part                          xs[DEPTH][TURNS]; /* requested entries of X, by step and turn */
  Part                          last[TURNS];      /* the entries that the previous step used; needed if DEPTH > 1, as xs no longer holds them then */
  unsigned                      asked = 0;        /* bits of those elements of xs that were requested; for the others, last is used */
  int2                          head1 = make_int2(0, 0);
  /* in turn s, these lanes share the nonzero of lane s AT + lane / LANES */
  const auto from   = [&](int s) { return s * AT + lane / LANES; };
  const auto holder = [&](int s) { return HANDED ? lane : from(s); };
  const auto gather = [&](int step, int s, int mycolumn) {
    const int      j = LANES > 1 ? __shfl_sync(0xffffffffu, mycolumn, from(s)) : mycolumn, slot = step % DEPTH;
    const unsigned bit = 1u << (slot * TURNS + s);

    if (j >= 0) xs[slot][s] = Row::get(CSRCRowAt<KT *(int)sizeof(Scalar)>(xp, j), lane);
    if (DEPTH > 1) asked = j >= 0 ? asked | bit : asked & ~bit;
  };
  const auto decode = [&]() {
    CSRCColumns(A, a, column);
#pragma unroll
    for (int i = PER - 1; i > 0; i--) {
      if (column[i] == column[i - 1]) column[i] = -1;
    }
  };

  if (chunk < end) {
    CSRCLoadIndices(a, A, chunk, lane, A.head[chunk]);
#pragma unroll
    for (int s = 0; s < HELD; s++) CSRCLoadPlane(values[s], A, chunk, holder(s), 0);
    head1 = A.head[min(chunk + WARPS, end - 1)];
  }
  CSRCLoadTable<VALUES, THREADS>(A, table);
  for (int t = tid; t < b.naccs * UNITS; t += THREADS) sum[t] = CSRCPackZero<Scalar, Row::width>();
  CSRCLetNextBegin();
  CSRCWaitPrevious();
  if (chunk < end) {
    decode();
    acc = a.acc;
#pragma unroll
    for (int i = 0; i < DEPTH; i++) {
#pragma unroll
      for (int s = 0; s < TURNS; s++) gather(i, s, column[i]);
    }
  }
  __syncthreads();

  for (int t = 0; t < ntiles; t++, chunk += WARPS) {
    const bool mine = chunk < end, more = chunk + WARPS < end;

    if (more) {
      if (LANES > 1 && !HANDED) CSRCPrefetchValues<Scalar, VALUES>(A, chunk + WARPS, lane);
      CSRCLoadIndices(a, A, chunk + WARPS, lane, head1); /* indices of the next chunk: used from the last steps of this chunk on */
    }
    head1 = A.head[min(chunk + 2 * WARPS, end - 1)]; /* unconditional: otherwise the compiler would wait for this load */
#pragma unroll
    for (int i = 0; i < PER; i++) { /* a step: nonzero i of each lane */
      if (mine) {
        const int    number = CSRCAccumulator(acc, i), mystart = number < b.naccs ? Row::start(number) : -1; /* -1: padding, which is not added */
        const Scalar own = HANDED ? CSRCValue<Scalar, VALUES>(values[0], i, table) : Scalar(0);

        if (i == PER - DEPTH && more) decode();
        if (i == PER - 1 && more) acc = a.acc;
#pragma unroll
        for (int s = 0; s < TURNS; s += BATCH) {
          Part   sums[BATCH];
          int    start[BATCH];
          Unit  *to[BATCH];
          Scalar v[BATCH];

#pragma unroll
          for (int l = 0; l < BATCH; l++) {
            v[l]     = HANDED ? CSRCShuffle(own, from(s + l)) : CSRCValue<Scalar, VALUES>(values[s + l < HELD ? s + l : 0], i, table);
            start[l] = LANES > 1 ? __shfl_sync(0xffffffffu, mystart, from(s + l)) : mystart;
            to[l]    = Row::at(sum, start[l], lane);
            if (start[l] >= 0) sums[l] = Row::get(to[l], lane);
          }
#pragma unroll
          for (int l = 0; l < BATCH; l++) {
            if (DEPTH > 1 && (asked >> (i % DEPTH * TURNS + s + l) & 1)) last[s + l] = xs[i % DEPTH][s + l];
            if (start[l] >= 0) {
              sums[l] += CSRCPackProduct<CONJUGATE>(v[l], DEPTH > 1 ? last[s + l] : xs[0][s + l]);
              Row::set(to[l], lane, sums[l]);
            }
            /* loads the next plane after the last use of this one */
            if (s + l < HELD && (i + 1) * a.planes % PER == 0 && (i < PER - 1 || more)) CSRCLoadPlane(values[s + l < HELD ? s + l : 0], A, i < PER - 1 ? chunk : chunk + WARPS, holder(s + l), (i + 1) * a.planes / PER % a.planes);
            if (i < PER - DEPTH || more) gather(i + DEPTH, s + l, column[(i + DEPTH) % PER]);
          }
        }
      }
      __syncthreads();
    }
  }

  CSRCFinishRows<CONJUGATE, THREADS, Row>(A, b, sum, units, k0, K, y, ldy);
}

/*
  Y = A X, or with the conjugate of A, for K columns in panels of KT. scratch: CSRCPackedScalars() for X, and 2 nblocks K for partial
  sums if rows are split. A thread block has one warp for each chunk of a tile; the matrix determines how many.
*/
template <int KT, bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedMatMult(CSRCBalancedMatrix<Scalar> A, int K, const Scalar *x, size_t ldx, Scalar *y, size_t ldy, Scalar *scratch, cudaStream_t stream)
{
  const int  npanels = (K + KT - 1) / KT;
  const auto kernel  = CSRCSelect([](auto values, auto threads) { return CSRCBalancedMatMultKernel<Scalar, decltype(values)::value, CONJUGATE, decltype(threads)::value, KT>; }, CSRCOneOfValues{A.values}, CSRCOneOf<256, 512>{A.tilethreads});

  A.carry = scratch + CSRCPackedScalars<KT>(A, K);
  CSRCTry(CSRCLaunchPack<KT>(A, CSRCPackKernel<Scalar, KT>, npanels, stream, K, x, ldx, scratch));
  CSRCTry(CSRCLaunchDense(kernel, A, A.nblocks * npanels, A.tilethreads, CSRCSharedBytes<CSRCDenseShared<Scalar, CSRCRow<Scalar, KT, CSRCLanes<Scalar, KT>>>>(A, A.values), stream, npanels, K, scratch, y, ldy));
  if (A.nsplit) CSRCBalancedCarryKernel<<<dim3((A.nblocks + 127) / 128, K), 128, 0, stream>>>(A, y, ldy);
  return cudaGetLastError();
}
