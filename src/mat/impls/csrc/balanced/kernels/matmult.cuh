#pragma once

/*
  Y = A X and V = A^T U, or with the conjugate of A, from the balanced layout of CSRC, for panels of KT columns. ../balanced.cuh says what
  the layout stores. X, V and the accumulators in shared memory are packed: the KT entries of a row are stored together, since nonzeros
  scatter over rows. Several neighbouring lanes may work on one nonzero, each on a few of the KT columns, so that a gather, an addition
  in shared memory and an atomic addition move whole sectors of 32 bytes.

  One launch works on several panels. Thread blocks of one row block and different panels are neighbours in the
  grid: they run at the same time, so that the row block's nonzeros come from memory once.
*/
#include "transposematmult2.cuh"
#include "transposematmult4.cuh"

/* Units of 16 bytes of a packed row of KT columns: threads that pack and unpack it */
template <class Scalar, int KT>
inline constexpr int CSRCUnits = std::max(1, KT *(int)sizeof(Scalar) / 16);

/*
  Lanes that share a nonzero, in A X, and in A^T U: one for each 16 bytes of a row, and enough to add BYTES at once, a sector, or two of them
  where runs are so short (CSRC_SHORT_RUN) that A^T U waits for its additions.
*/
template <class Scalar, int KT>
inline constexpr int CSRCLanes = CSRCLanesOfRow<KT *(int)sizeof(Scalar)>;
template <class Scalar, int KT, int BYTES>
inline constexpr int CSRCTransposeLanes = std::max(CSRCUnits<Scalar, KT>, std::min(KT, BYTES / (int)sizeof(Scalar)));

/* Prefetches a chunk's values into the second-level cache. Lane: one cache line. */
template <class Scalar, CSRCValues VALUES>
__device__ __forceinline__ void CSRCPrefetchValues(const CSRCBalancedMatrix<Scalar> &A, int chunk, int lane)
{
  const int            bytes = CSRC_CHUNK * CSRCValueBytes<Scalar>(VALUES);
  const unsigned char *v     = A.v + (size_t)chunk * bytes;

#pragma unroll
  for (int l = 0; l < bytes; l += 32 * 128) {
    if (l + lane * 128 < bytes) asm volatile("prefetch.global.L2 [%0];" ::"l"(v + l + lane * 128));
  }
}

/*
  Y = A X, or with the conjugate of A, X packed, panels of KT columns

  Thread block: one row block and one panel; its part of Y as accumulators in shared memory. Warp: every
  (THREADS/32)th chunk of the row block. LANES lanes: one nonzero at a time, of those that one of them holds; lane 'part' of them takes
  some units of the row. The lane that holds the nonzero passes on where the accumulator begins, and the column; the value comes from
  memory. Bytes a nonzero: value, 2 for the accumulator, 1 to 4 for the column, 8/256 for the head, once for all panels of a launch; KT
  scalars of X, which mostly come from the caches, for each run of equal columns that a lane holds; 2 KT scalars to and from
  shared memory. Nothing is atomic: nonzeros between two barriers, a step, have different accumulators. Dynamic shared memory:
  accumulators, and the table of values if there is one.
*/
template <class Scalar, CSRCValues VALUES, bool CONJUGATE, int THREADS, int KT>
__global__ void __launch_bounds__(THREADS, 512 / THREADS) CSRCBalancedMatMultKernel(const CSRCBalancedMatrix<Scalar> A, int npanels, int K, const Scalar *x, Scalar *y, size_t ldy, Scalar *carry)
{
  constexpr int LANES = CSRCLanes<Scalar, KT>, DEPTH = CSRCStepsAhead<LANES>;
  using Row           = CSRCRow<Scalar, KT, LANES>;
  using Unit          = typename Row::Unit;
  using Part          = typename Row::Part;
  constexpr int WARPS = THREADS / 32, TURNS = LANES, AT = 32 / LANES, BATCH = TURNS > 1 && sizeof(Part) <= 32 ? 2 : 1, PER = CSRC_PER_LANE, UNITS = Row::units;
  /* the lanes that use a value load it; but a value from a table is looked up by the lane that holds the nonzero, and passed on */
  constexpr bool    HANDED = VALUES == CSRC_VALUES_TABLE && LANES > 1;
  constexpr int     HELD   = HANDED ? 1 : TURNS;
  extern __shared__ __align__(16) unsigned char shared[];
  Unit *const                                   sum = reinterpret_cast<Unit *>(shared);
  const int                                     tid = threadIdx.x, warp = CSRCWarp(), lane = tid & 31, part = lane % LANES, g = blockIdx.x / npanels, panel = blockIdx.x % npanels, k0 = panel * KT;
  const CSRCRowBlock                            b = A.block[g], next = A.block[g + 1];
  const int                                     nreplicas = next.replica - b.replica, naccs = b.nrows + nreplicas, end = next.chunk, ntiles = (end - b.chunk + WARPS - 1) / WARPS;
  Scalar *const                                 table = reinterpret_cast<Scalar *>(sum + (size_t)(A.accumulators - A.tilethreads + 1) * UNITS);
  const Unit                                   *xp    = CSRCOpaque(reinterpret_cast<const Unit *>(x + (size_t)panel * A.n * KT) + part);
  int                                           chunk = b.chunk + warp;

  CSRCLaneChunk<Scalar, VALUES> a;            /* indices of the next chunk */
  CSRCLaneChunk<Scalar, VALUES> values[HELD]; /* for the nonzero of each turn: a plane, which holds values of the next steps, too */
  int                           column[PER];  /* columns of this chunk, replaced by those of the next once used; -1: same as the nonzero before */
  uint4                         acc = make_uint4(0, 0, 0, 0);
  Part                          xs[DEPTH][TURNS]; /* entries of X that were requested, by step and turn */
  Part                          last[TURNS];      /* the entries that the step before used, if DEPTH > 1, where xs no longer holds them */
  unsigned                      asked = 0;        /* a bit for each of xs that was requested; the others are the same as last */
  int2                          head1 = make_int2(0, 0);
  /* nonzero s AT + lane / LANES of a step is the one of turn s */
  const auto from   = [&](int s) { return s * AT + lane / LANES; };
  const auto holder = [&](int s) { return HANDED ? lane : from(s); };
  const auto gather = [&](int step, int s, int mycolumn) {
    const int      j = LANES > 1 ? __shfl_sync(0xffffffffu, mycolumn, from(s)) : mycolumn, slot = step % DEPTH;
    const unsigned bit = 1u << (slot * TURNS + s);

    if (j >= 0) xs[slot][s] = Row::get(CSRCRowAt<KT *(int)sizeof(Scalar)>(xp, j), lane);
    if (DEPTH > 1) asked = j >= 0 ? asked | bit : asked & ~bit;
  };
  const auto decode = [&]() {
    CSRCColumns(a, column);
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
  if (VALUES == CSRC_VALUES_TABLE) {
    for (int t = tid; t < 256; t += THREADS) table[t] = A.table[t];
  }
  for (int t = tid; t < naccs * UNITS; t += THREADS) sum[t] = CSRCPackZero<Scalar, Row::width>();
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
      CSRCLoadIndices(a, A, chunk + WARPS, lane, head1); /* of the next chunk: used from this one's last steps on */
    }
    head1 = A.head[min(chunk + 2 * WARPS, end - 1)]; /* always: under a condition the compiler waits for it */
#pragma unroll
    for (int i = 0; i < PER; i++) { /* a step: nonzero i of each lane */
      if (mine) {
        const int    number = CSRCAccumulator(acc, i), mystart = number < naccs ? Row::start(number) : -1; /* -1: padding, which is not added */
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
            /* loads the next plane once this one is used up */
            if (s + l < HELD && (i + 1) * a.planes % PER == 0 && (i < PER - 1 || more)) CSRCLoadPlane(values[s + l < HELD ? s + l : 0], A, i < PER - 1 ? chunk : chunk + WARPS, holder(s + l), (i + 1) * a.planes / PER % a.planes);
            if (i < PER - DEPTH || more) gather(i + DEPTH, s + l, column[(i + DEPTH) % PER]);
          }
        }
      }
      __syncthreads();
    }
  }

  CSRCFinishRows<CONJUGATE, THREADS, Row>(A, g, b, nreplicas, sum, xp, k0, K, y, ldy, carry);
}

/*
  V += A^T U, or A^H U, V packed, panels of KT columns

  Thread block: one row block and one panel; its part of U packed in shared memory, replicas included. Warp:
  every (THREADS/32)th chunk. LANES lanes: the nonzeros that these lanes hold, one after the other; lane 'part' of them takes the
  columns part, part + LANES, ... of the panel. The lane that holds a nonzero passes on where its row begins and whether a run ends; all
  of them load the value, by way of the first-level cache, since a sector has the values of two lanes. Each row block begins at a different
  one of its chunks, so that not all row blocks add to the same part of V at the same time. Sums of a run of equal columns stay in
  registers; at its end they are added to V by global atomics, LANES neighbouring scalars at a time.
  Bytes a nonzero: as for A X; U is read once a row block; KT scalars from shared memory. Dynamic shared memory: U, and the table of
  values if there is one.
*/
template <class Scalar, CSRCValues VALUES, bool CONJUGATE, int THREADS, int KT, int LANES>
__global__ void __launch_bounds__(THREADS, 512 / THREADS) CSRCBalancedTransposeMatMultKernel(const CSRCBalancedMatrix<Scalar> A, int npanels, int K, const Scalar *u, size_t ldu, Scalar *v)
{
  using Row               = CSRCRow<Scalar, KT, LANES>;
  using Unit              = typename Row::Unit;
  using Part              = typename Row::Part;
  constexpr int     WARPS = THREADS / 32, PER = CSRC_PER_LANE, AHEAD = PER / Row::pieces, UNITS = Row::units;
  extern __shared__ __align__(16) unsigned char shared[];
  Unit *const                                   su  = reinterpret_cast<Unit *>(shared);
  const int                                     tid = threadIdx.x, warp = CSRCWarp(), lane = tid & 31, part = lane % LANES, g = blockIdx.x / npanels, panel = blockIdx.x % npanels, k0 = panel * KT;
  const CSRCRowBlock                            b = A.block[g], next = A.block[g + 1];
  const int                                     nreplicas = next.replica - b.replica, naccs = b.nrows + nreplicas;
  Scalar *const                                 table = reinterpret_cast<Scalar *>(su + (size_t)(A.accumulators - A.tilethreads + 1) * UNITS);
  Scalar *const                                 vp    = CSRCOpaque(v + (size_t)panel * A.n * KT + part);
  const int                                     many = next.chunk - b.chunk, offset = (int)((long long)many * g / A.nblocks);
  const auto                                    chunkof = [&](int k) { return b.chunk + (k + offset >= many ? k + offset - many : k + offset); };
  /* adds p to row j of V: columns part, part + LANES, ... of the panel */
  const auto add = [&](int j, const Part &p) {
    Scalar *const to = CSRCRowAt<KT *(int)sizeof(Scalar)>(vp, j);

#pragma unroll
    for (int t = 0; t < Row::pieces; t++) {
#pragma unroll
      for (int e = 0; e < Row::width; e++) CSRCAtomicAdd(to + LANES * (e + Row::width * Row::piece(lane, t)), p.s[t * Row::width + e]);
    }
  };

  if (VALUES == CSRC_VALUES_TABLE) {
    for (int t = tid; t < 256; t += THREADS) table[t] = A.table[t];
  }
  CSRCLaneChunk<Scalar, VALUES> a; /* values of the nonzeros that the lane works on; indices of the nonzeros of the next chunk that it holds */
  int2                          head1 = make_int2(0, 0);

  if (warp < many) {
    CSRCLoadIndices(a, A, chunkof(warp), lane, A.head[chunkof(warp)]);
#pragma unroll
    for (int q = 0; q < a.planes; q++) CSRCLoadPlane<true>(a, A, chunkof(warp), lane - part, q);
    head1 = A.head[chunkof(min(warp + WARPS, many - 1))];
  }
  CSRCLetNextBegin();
  CSRCWaitPrevious();
  CSRCStageRows<THREADS, Row>(A, b, nreplicas, u, ldu, k0, K, su);
  __syncthreads();

  int  run = -1; /* the column whose sum is s */
  Part s   = CSRCPackZero<Scalar, Row::per>();

  for (int k = warp; k < many; k += WARPS) {
    const int chunk = chunkof(k), nextchunk = chunkof(min(k + WARPS, many - 1));
    int       column[PER], start[PER]; /* start: where the row begins */
    unsigned  mybegins = 0;            /* bit i: a run begins with nonzero i */

    CSRCColumns(a, column);
    /* padding, with the value 0, is part of the run before it */
#pragma unroll
    for (int i = 0; i < PER; i++) {
      const int number = CSRCAccumulator(a.acc, i);

      start[i] = Row::start(min(number, naccs));
      if (i > 0 && number >= naccs) column[i] = column[i > 0 ? i - 1 : 0];
    }
    CSRCLoadIndices(a, A, nextchunk, lane, head1);
    CSRCPrefetchValues<Scalar, VALUES>(A, nextchunk, lane);
    head1            = A.head[chunkof(min(k + 2 * WARPS, many - 1))]; /* always: under a condition the compiler waits for it */
    const int before = __shfl_up_sync(0xffffffffu, column[PER - 1], 1);
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
          /* loads a plane for the next nonzeros once a plane is used up */
          if ((i + 1) * a.planes % PER == 0) CSRCLoadPlane<true>(a, A, l < LANES - 1 ? chunk : nextchunk, l < LANES - 1 ? from + 1 : lane - part, (i + 1) * a.planes / PER - 1);
        }
      }
      run = __shfl_sync(0xffffffffu, column[PER - 1], from);
    }
  }
  if (run >= 0) add(run, s);

  if (A.noverflow) {
    for (int l = A.overflowstart[g] + tid / LANES; l < A.overflowstart[g + 1]; l += THREADS / LANES) add(A.overflowcolumn[l], CSRCPackProduct<CONJUGATE>(A.overflowvalue[l], Row::get(su + Row::base(A.overflowrow[l], lane), lane)));
  }
}

/*
  Two kernels: one packs columns of X by panels of KT, the last one filled up with zeros; the other unpacks them, and leaves zeros. Thread:
  one unit of 16 bytes of a packed row (or a whole row, if that is shorter); neighbours have the units of one row. Thread blocks of one
  panel are npanels apart.

  Unpacked entries go by way of shared memory, so that neighbours write neighbouring rows of a column. The zero of a unit is written only
  after the unit has been loaded: a store to a line that a load still waits for makes the kernel take four times as long.
*/
constexpr int CSRC_PACK_THREADS = 256;

template <class Scalar, int KT>
using CSRCPackUnit = CSRCPack<Scalar, KT / CSRCUnits<Scalar, KT>>;

template <class Scalar, int KT>
__global__ void __launch_bounds__(CSRC_PACK_THREADS) CSRCPackKernel(int n, int npanels, int K, const Scalar *x, size_t ldx, Scalar *packed)
{
  using Unit          = CSRCPackUnit<Scalar, KT>;
  constexpr int UNITS = CSRCUnits<Scalar, KT>, WIDTH = KT / UNITS;
  const size_t  t = (size_t)(blockIdx.x / npanels) * CSRC_PACK_THREADS + threadIdx.x, panel = blockIdx.x % npanels;
  const int     i = (int)(t / UNITS), k0 = (int)panel * KT + (int)(t % UNITS) * WIDTH;
  Unit          p;

  CSRCLetNextBegin();
  CSRCWaitPrevious();
  if (i >= n) return;
#pragma unroll
  for (int e = 0; e < WIDTH; e++) p.s[e] = k0 + e < K ? x[ldx * (k0 + e) + i] : Scalar(0);
  reinterpret_cast<Unit *>(packed + panel * n * KT)[t] = p;
}
template <class Scalar, int KT>
__global__ void __launch_bounds__(CSRC_PACK_THREADS) CSRCUnpackKernel(int n, int npanels, int K, Scalar *packed, Scalar *x, size_t ldx)
{
  using Unit          = CSRCPackUnit<Scalar, KT>;
  constexpr int UNITS = CSRCUnits<Scalar, KT>, WIDTH = KT / UNITS, ROWS = CSRC_PACK_THREADS / UNITS;
  __shared__ __align__(16) unsigned char memory[ROWS * (KT + 1) * sizeof(Scalar)];
  Scalar *const                          tile  = reinterpret_cast<Scalar *>(memory);
  const size_t                           panel = blockIdx.x % npanels;
  const int                              tid = threadIdx.x, row = blockIdx.x / npanels * ROWS, many = min(ROWS, n - row), i = tid % ROWS, k0 = (int)panel * KT;
  Unit *const                            unit = reinterpret_cast<Unit *>(packed + (panel * n + row) * KT) + tid;

  CSRCLetNextBegin();
  CSRCWaitPrevious();
  if (tid < many * UNITS) {
    const Unit p = *unit;

#pragma unroll
    for (int e = 0; e < WIDTH; e++) tile[tid / UNITS * (KT + 1) + tid % UNITS * WIDTH + e] = p.s[e];
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < WIDTH; e++) {
    const int c = e * UNITS + tid / ROWS;

    if (i < many && k0 + c < K) x[ldx * (k0 + c) + row + i] = tile[i * (KT + 1) + c];
  }
  if (tid < many * UNITS) *unit = CSRCPackZero<Scalar, WIDTH>();
}

/* Dynamic shared memory of A X and of A^T U for KT columns: accumulators, without those for padding, and a table; and lists */
template <class Scalar>
static size_t CSRCMatMultShared(const CSRCBalancedMatrix<Scalar> &A, int kt)
{
  return sizeof(Scalar) * ((size_t)kt * (A.accumulators - A.tilethreads + 1) + (A.values == CSRC_VALUES_TABLE ? 256 : 0));
}

template <class Scalar>
static size_t CSRCTransposeMatMultShared(const CSRCBalancedMatrix<Scalar> &A, int kt)
{
  const size_t entry = kt * sizeof(Scalar) <= CSRC_NARROW_BYTES ? kt * sizeof(Scalar) + sizeof(int) : 0; /* of the lists of sums */

  return CSRCMatMultShared(A, kt) + (size_t)(CSRC_DENSE_THREADS / 32) * CSRC_NARROW_ROOM * entry;
}

/*
  Columns that are packed, and processed by one launch, at a time: CSRC_PACKED_COLUMNS at most, and no more than half of the second-level cache
  holds, since kernels gather from the packed columns and add to them
*/
template <class Scalar>
static int CSRCPackedColumns(const CSRCBalancedMatrix<Scalar> &A, int kt, int cachebytes)
{
  int columns = CSRC_PACKED_COLUMNS;

  while (columns > kt && (size_t)A.n * columns * sizeof(Scalar) > (size_t)cachebytes / 2) columns /= 2;
  return columns;
}

/* Launches one of the kernels that pack or unpack */
template <int KT, class Scalar, class... Parameters, class... Arguments>
static cudaError_t CSRCLaunchPack(const CSRCBalancedMatrix<Scalar> &A, void (*kernel)(int, int, Parameters...), int npanels, cudaStream_t stream, Arguments... arguments)
{
  const size_t units = (size_t)A.n * CSRCUnits<Scalar, KT>;

  return CSRCLaunch(kernel, (int)((units + CSRC_PACK_THREADS - 1) / CSRC_PACK_THREADS) * npanels, CSRC_PACK_THREADS, 0, 1, A.early, stream, A.n, npanels, arguments...);
}

template <class Scalar, CSRCValues VALUES, bool CONJUGATE, int THREADS, int KT>
static cudaError_t CSRCBalancedMatMultLaunch(const CSRCBalancedMatrix<Scalar> &A, int K, const Scalar *x, size_t ldx, Scalar *y, size_t ldy, Scalar *packed, Scalar *carry, cudaStream_t stream)
{
  const auto   kernel  = CSRCBalancedMatMultKernel<Scalar, VALUES, CONJUGATE, THREADS, KT>;
  const size_t shared  = CSRCMatMultShared(A, KT);
  const int    npanels = (K + KT - 1) / KT;
  cudaError_t  err     = CSRCAllowShared(kernel, shared);

  if (err == cudaSuccess) err = CSRCLaunchPack<KT>(A, CSRCPackKernel<Scalar, KT>, npanels, stream, K, x, ldx, packed);
  if (err == cudaSuccess) err = CSRCLaunch(kernel, A.nblocks * npanels, THREADS, shared, 1, A.early, stream, A, npanels, K, packed, y, ldy, carry);
  if (err != cudaSuccess) return err;
  if (A.nsplit) CSRCBalancedCarryKernel<<<dim3((A.nblocks + 127) / 128, K), 128, 0, stream>>>(A, carry, y, ldy);
  return cudaGetLastError();
}

/* Launches the product alone, with V packed, without unpacking */
template <class Scalar, CSRCValues VALUES, bool CONJUGATE, int KT>
static cudaError_t CSRCBalancedTransposeMatMultPacked(const CSRCBalancedMatrix<Scalar> &A, int npanels, int K, const Scalar *u, size_t ldu, Scalar *packed, cudaStream_t stream)
{
  constexpr int THREADS = CSRC_DENSE_THREADS;
  const size_t  shared  = CSRCTransposeMatMultShared(A, KT);
  const auto    launch  = [&](auto kernel) {
    const cudaError_t err = CSRCAllowShared(kernel, shared);

    return err == cudaSuccess ? CSRCLaunch(kernel, A.nblocks * npanels, THREADS, shared, 1, A.early, stream, A, npanels, K, u, ldu, packed) : err;
  };

  if constexpr (KT == 2) {
    if (A.order == CSRC_INTERLEAVED && K == KT) return CSRCBalancedTransposeMatMult2<KT, VALUES, CONJUGATE>(A, u, ldu, packed, stream);
  }
  if constexpr (CSRCNarrow<Scalar, KT>) return launch(CSRCBalancedTransposeMatMultNarrowKernel<Scalar, VALUES, CONJUGATE, THREADS, KT>);
  else if (A.meanrun < CSRC_SHORT_RUN) return launch(CSRCBalancedTransposeMatMultKernel<Scalar, VALUES, CONJUGATE, THREADS, KT, CSRCTransposeLanes<Scalar, KT, 64>>);
  else return launch(CSRCBalancedTransposeMatMultKernel<Scalar, VALUES, CONJUGATE, THREADS, KT, CSRCTransposeLanes<Scalar, KT, 32>>);
}

template <class Scalar, CSRCValues VALUES, bool CONJUGATE, int KT>
static cudaError_t CSRCBalancedTransposeMatMultLaunch(const CSRCBalancedMatrix<Scalar> &A, int K, const Scalar *u, size_t ldu, Scalar *v, size_t ldv, Scalar *packed, cudaStream_t stream)
{
  const int         npanels = (K + KT - 1) / KT;
  const cudaError_t err     = CSRCBalancedTransposeMatMultPacked<Scalar, VALUES, CONJUGATE, KT>(A, npanels, K, u, ldu, packed, stream);

  return err == cudaSuccess ? CSRCLaunchPack<KT>(A, CSRCUnpackKernel<Scalar, KT>, npanels, stream, K, packed, v, ldv) : err;
}

template <int THREADS, int KT, bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedMatMultThreads(const CSRCBalancedMatrix<Scalar> &A, int K, const Scalar *x, size_t ldx, Scalar *y, size_t ldy, Scalar *packed, Scalar *carry, cudaStream_t stream)
{
  switch (A.values) {
  case CSRC_VALUES_SINGLE:
    return CSRCBalancedMatMultLaunch<Scalar, CSRC_VALUES_SINGLE, CONJUGATE, THREADS, KT>(A, K, x, ldx, y, ldy, packed, carry, stream);
  case CSRC_VALUES_TABLE:
    return CSRCBalancedMatMultLaunch<Scalar, CSRC_VALUES_TABLE, CONJUGATE, THREADS, KT>(A, K, x, ldx, y, ldy, packed, carry, stream);
  default:
    return CSRCBalancedMatMultLaunch<Scalar, CSRC_VALUES_FULL, CONJUGATE, THREADS, KT>(A, K, x, ldx, y, ldy, packed, carry, stream);
  }
}

/*
  Y = A X, or with the conjugate of A, K columns in panels of KT; packed is scratch of n times K scalars, K rounded up to panels; carry of 2
  nblocks K, if rows are split. The thread block has one warp for each chunk of a tile: the matrix decides how many.
*/
template <int KT, bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedMatMult(const CSRCBalancedMatrix<Scalar> &A, int K, const Scalar *x, size_t ldx, Scalar *y, size_t ldy, Scalar *packed, Scalar *carry, cudaStream_t stream)
{
  return A.tilethreads == 256 ? CSRCBalancedMatMultThreads<256, KT, CONJUGATE>(A, K, x, ldx, y, ldy, packed, carry, stream) : CSRCBalancedMatMultThreads<512, KT, CONJUGATE>(A, K, x, ldx, y, ldy, packed, carry, stream);
}

/* V = A^T U, or A^H U, likewise; but packed, which holds V, must be zero, and is zero again afterwards */
template <int KT, bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedTransposeMatMult(const CSRCBalancedMatrix<Scalar> &A, int K, const Scalar *u, size_t ldu, Scalar *v, size_t ldv, Scalar *packed, cudaStream_t stream)
{
  switch (A.values) {
  case CSRC_VALUES_SINGLE:
    return CSRCBalancedTransposeMatMultLaunch<Scalar, CSRC_VALUES_SINGLE, CONJUGATE, KT>(A, K, u, ldu, v, ldv, packed, stream);
  case CSRC_VALUES_TABLE:
    return CSRCBalancedTransposeMatMultLaunch<Scalar, CSRC_VALUES_TABLE, CONJUGATE, KT>(A, K, u, ldu, v, ldv, packed, stream);
  default:
    return CSRCBalancedTransposeMatMultLaunch<Scalar, CSRC_VALUES_FULL, CONJUGATE, KT>(A, K, u, ldu, v, ldv, packed, stream);
  }
}
