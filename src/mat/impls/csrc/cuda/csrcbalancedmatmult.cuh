#pragma once

/*
  Y = A X and V = A^T U, or with the conjugate of A, from the balanced layout of CSRC, for panels of KT columns. csrcbalanced.cuh says what
  the layout stores. Of X and V, and of the accumulators in shared memory, the KT entries of a row stand together
  ('packed'), since rows are what nonzeros scatter over; several neighbouring lanes may work on one nonzero, each on a few of the
  KT columns, so that a gather, an addition in shared memory and an atomic addition move whole sectors of 32 bytes.

  One launch works on several panels. Thread blocks of one block of the layout and different panels are neighbours in the
  grid: they run at the same time, so that the block's nonzeros come from memory once.
*/
#include "csrcbalancedmult.cuh"
#include <algorithm>

/* Units of 16 bytes of a packed row of KT columns: threads that pack and unpack it */
template <class Scalar, int KT>
inline constexpr int CSRCUnits = std::max(1, KT *(int)sizeof(Scalar) / 16);

/*
  Lanes that share a nonzero. In A X, as measured: one for rows of up to 32 bytes, which needs nothing handed over; four for rows of
  64, since fewer would meet in banks more often; two for rows of 128. In A^T U one for each 16 bytes of a row, and enough to
  add a whole sector.
*/
template <class Scalar, int KT>
inline constexpr int CSRCLanes = KT * sizeof(Scalar) <= 32 ? 1
                               : KT * sizeof(Scalar) <= 64 ? 4
                                                           : 2;
template <class Scalar, int KT>
inline constexpr int CSRCTransposeLanes = std::max(CSRCUnits<Scalar, KT>, std::min(KT, 32 / (int)sizeof(Scalar)));

/* Asks for a chunk that will be wanted soon to be brought into the second-level cache. Lane: a few lines of it. */
template <class Scalar, CSRCValues VALUES>
__device__ __forceinline__ void CSRCPrefetchChunk(const CSRCBalancedForm<Scalar> &f, int chunk, int lane, int2 head)
{
  const int            bytes = CSRC_CHUNK * CSRCValueBytes<Scalar>(VALUES);
  const unsigned char *v = f.v + (size_t)chunk * bytes, *a = reinterpret_cast<const unsigned char *>(f.acc + (size_t)chunk * CSRC_CHUNK);
  const unsigned char *c = f.column + (size_t)((unsigned)head.y >> 2) * 16;

  for (int l = lane * 128; l < bytes; l += 32 * 128) asm volatile("prefetch.global.L2 [%0];" ::"l"(v + l));
  if (lane < 4) asm volatile("prefetch.global.L2 [%0];" ::"l"(a + lane * 128));
  else if (lane < 8) asm volatile("prefetch.global.L2 [%0];" ::"l"(c + (lane - 4) * 128));
}

/*
  Y = A X, X packed, panels of KT columns

  Thread block: one block of the layout and one panel; its part of Y as accumulators in shared memory. Warp: every
  (THREADS/32)th chunk of the block. LANES lanes: one nonzero at a time, of the chunk's nonzeros that one lane holds; lane
  'part' of them some units of the row.
  Bytes a nonzero: value, 2 for the accumulator, 1 to 4 for the column, 8/256 for the head, once for all panels of a launch; KT
  scalars of X, which mostly come from the caches, for each run of equal columns that a lane holds; 2 KT scalars to and from
  shared memory. Nothing is atomic: nonzeros between two barriers have different accumulators. Dynamic shared memory:
  accumulators, and the table of values if there is one.
*/
template <class Scalar, CSRCValues VALUES, bool CONJUGATE, int THREADS, int KT>
__global__ void __launch_bounds__(THREADS, 512 / THREADS) CSRCBalancedMatMultKernel(const CSRCBalancedForm<Scalar> f, int npanels, int K, const Scalar *__restrict__ x, Scalar *y, size_t ldy, Scalar *carry)
{
  constexpr int LANES     = CSRCLanes<Scalar, KT>;
  using Row               = CSRCRow<Scalar, KT, LANES>;
  using Unit              = typename Row::Unit;
  using Part              = typename Row::Part;
  constexpr int     WARPS = THREADS / 32, TURNS = LANES, AT = 32 / LANES, BATCH = TURNS > 1 && sizeof(Part) <= 32 ? 2 : 1, PER = CSRC_PER_LANE, UNITS = Row::units;
  extern __shared__ __align__(16) unsigned char shared[];
  Unit *const                                   sum = reinterpret_cast<Unit *>(shared);
  const int                                     tid = threadIdx.x, warp = tid >> 5, lane = tid & 31, part = lane % LANES, g = blockIdx.x / npanels, panel = blockIdx.x % npanels, k0 = panel * KT;
  const CSRCBlock                               b = f.block[g], next = f.block[g + 1];
  const int                                     ncopies = next.copy - b.copy, naccs = b.nrows + ncopies, end = next.chunk, ntiles = (end - b.chunk + WARPS - 1) / WARPS;
  Scalar *const                                 table = reinterpret_cast<Scalar *>(sum + (size_t)(f.accumulators - f.threads + 1) * UNITS);
  const Unit                                   *xp    = reinterpret_cast<const Unit *>(x + (size_t)panel * f.n * KT) + part;
  int                                           chunk = b.chunk + warp;

  CSRCLaneChunk<Scalar, VALUES> a;           /* values of the chunk, or of this plane and the next; places of the next chunk */
  int                           column[PER]; /* of this chunk */
  uint4                         acc = make_uint4(0, 0, 0, 0);
  Part                          xs[TURNS]; /* the entries of X for each turn, asked for a group ahead */
  int2                          head1 = make_int2(0, 0);
  /* nonzero s AT + lane / LANES of a group is the one of turn s */
  const auto from   = [&](int s) { return s * AT + lane / LANES; };
  const auto gather = [&](int s, int mycolumn, bool fresh) {
    const int j = LANES > 1 ? __shfl_sync(0xffffffffu, mycolumn, from(s)) : mycolumn;

    if (fresh || j >= 0) xs[s] = Row::get(xp + (size_t)j * UNITS, lane);
  };

  if (chunk < end) {
    CSRCLoadPlaces(a, f, chunk, lane, f.head[chunk]);
#pragma unroll
    for (int q = 0; q < (a.planes < 2 ? a.planes : 2); q++) CSRCLoadPlane(a, f, chunk, lane, q);
    head1 = f.head[min(chunk + WARPS, end - 1)];
  }
  if (VALUES == CSRC_VALUES_TABLE) {
    for (int t = tid; t < 256; t += THREADS) table[t] = f.table[t];
  }
  for (int t = tid; t < naccs * UNITS; t += THREADS) sum[t] = CSRCPackZero<Scalar, Row::width>();
  if (chunk < end) {
    CSRCColumns(a, column);
    acc = a.acc;
#pragma unroll
    for (int s = 0; s < TURNS; s++) gather(s, column[0], true);
  }
  __syncthreads();

  for (int t = 0; t < ntiles; t++, chunk += WARPS) {
    const bool mine = chunk < end, more = chunk + WARPS < end;

    if (mine) {
#pragma unroll
      for (int i = PER - 1; i > 0; i--) {
        if (column[i] == column[i - 1]) column[i] = -1; /* x is there already */
      }
    }
    if (more) CSRCLoadPlaces(a, f, chunk + WARPS, lane, head1); /* of the next chunk: used from this one's last group on */
    head1 = f.head[min(chunk + 2 * WARPS, end - 1)];            /* always: under a condition the compiler waits for it */
#pragma unroll
    for (int i = 0; i < PER; i++) { /* a group: nonzero i of each lane */
      if (mine) {
        const Scalar value = CSRCValue<Scalar, VALUES>(a, i, table);
        const int    myacc = CSRCAccumulator(acc, i);

        if (i == PER - 1 && more) {
          CSRCColumns(a, column);
          acc = a.acc;
        }
        /* values come a plane ahead: the first two planes of the next chunk when the last of this one are done with */
        if ((i + 1) * a.planes % PER == 0) {
          const int done = (i + 1) * a.planes / PER - 1, wanted = done + 2;

          if (wanted < a.planes) CSRCLoadPlane(a, f, chunk, lane, wanted);
          else if (more && a.planes > 1) CSRCLoadPlane(a, f, chunk + WARPS, lane, wanted - a.planes);
          else if (more) CSRCLoadPlane(a, f, chunk + WARPS, lane, 0);
        }
#pragma unroll
        for (int s = 0; s < TURNS; s += BATCH) {
          Part sums[BATCH];
          int  at[BATCH];

#pragma unroll
          for (int l = 0; l < BATCH; l++) {
            const int r = LANES > 1 ? __shfl_sync(0xffffffffu, myacc, from(s + l)) : myacc;

            at[l] = r < naccs ? Row::base(r, lane) : -1; /* what padding adds is not added */
            if (at[l] >= 0) sums[l] = Row::get(sum + at[l], lane);
          }
#pragma unroll
          for (int l = 0; l < BATCH; l++) {
            const Scalar v = LANES > 1 ? CSRCShuffle(value, from(s + l)) : value;

            if (at[l] >= 0) {
              sums[l] += CSRCPackProduct<CONJUGATE>(v, xs[s + l]);
              Row::set(sum + at[l], lane, sums[l]);
            }
            if (i < PER - 1) gather(s + l, column[i < PER - 1 ? i + 1 : 0], false);
            else if (more) gather(s + l, column[0], true);
          }
        }
      }
      __syncthreads();
    }
  }

  CSRCFinishRows<CONJUGATE, THREADS, Row>(f, g, b, ncopies, sum, xp, k0, K, y, ldy, carry);
}

/*
  V += A^T U, or A^H U, V packed, panels of KT columns

  Thread block: one block of the layout and one panel; its part of U packed in shared memory, copies of rows included. Warp:
  every (THREADS/32)th chunk. LANES lanes: the nonzeros that as many lanes hold, one after the other; lane 'part' the columns
  part, part + LANES, ... of the panel. Each block begins at another of its chunks, so that not all of them add to the same part
  of V at the same time. Sums of a run of equal columns stay in registers; at its end they are added to V by global
  atomics, LANES neighbouring scalars at a time.
  Bytes a nonzero: as for A X; U is read once a block; KT scalars from shared memory. Dynamic shared memory: U, and the table of
  values if there is one.
*/
template <class Scalar, CSRCValues VALUES, bool CONJUGATE, int THREADS, int KT>
__global__ void __launch_bounds__(THREADS, 512 / THREADS) CSRCBalancedMatMultTransposeKernel(const CSRCBalancedForm<Scalar> f, int npanels, int K, const Scalar *__restrict__ u, size_t ldu, Scalar *v)
{
  constexpr int LANES     = CSRCTransposeLanes<Scalar, KT>;
  using Row               = CSRCRow<Scalar, KT, LANES>;
  using Unit              = typename Row::Unit;
  using Part              = typename Row::Part;
  constexpr int     WARPS = THREADS / 32, PER = CSRC_PER_LANE, AHEAD = PER / Row::pieces, UNITS = Row::units;
  extern __shared__ __align__(16) unsigned char shared[];
  Unit *const                                   su  = reinterpret_cast<Unit *>(shared);
  const int                                     tid = threadIdx.x, warp = tid >> 5, lane = tid & 31, part = lane % LANES, g = blockIdx.x / npanels, panel = blockIdx.x % npanels, k0 = panel * KT;
  const CSRCBlock                               b = f.block[g], next = f.block[g + 1];
  const int                                     ncopies = next.copy - b.copy, naccs = b.nrows + ncopies, end = next.chunk;
  Scalar *const                                 table = reinterpret_cast<Scalar *>(su + (size_t)(f.accumulators - f.threads + 1) * UNITS);
  Scalar *const                                 vp    = v + (size_t)panel * f.n * KT + part;
  const int                                     many = end - b.chunk, offset = (int)((long long)many * g / f.nblocks);
  const auto                                    chunkof = [&](int k) { return b.chunk + (k + offset >= many ? k + offset - many : k + offset); };
  /* column of the panel, from part on, that element e of the lane's piece t stands for */
  const auto columnof = [&](int t, int e) { return LANES * (e + Row::width * Row::piece(lane, t)); };
  const auto add      = [&](int j, const Part &p) {
#pragma unroll
    for (int t = 0; t < Row::pieces; t++) {
#pragma unroll
      for (int e = 0; e < Row::width; e++) CSRCAtomicAdd(vp + (size_t)KT * j + columnof(t, e), p.s[t * Row::width + e]);
    }
  };

  if (VALUES == CSRC_VALUES_TABLE) {
    for (int t = tid; t < 256; t += THREADS) table[t] = f.table[t];
  }
  for (int t = tid; t < naccs * UNITS; t += THREADS) { /* a warp takes the same unit of 32 rows */
    const int i = t % naccs, q = t / naccs, row = b.row + (i < b.nrows ? i : f.copyof[b.copy + i - b.nrows]);
    Unit      s;

#pragma unroll
    for (int e = 0; e < Row::width; e++) {
      const int k = k0 + q % LANES + LANES * (e + Row::width * (q / LANES));

      s.s[e] = k < K ? u[ldu * k + row] : Scalar(0);
    }
    su[Row::place(i, q)] = s;
  }
  if (tid < UNITS) su[Row::place(naccs, tid)] = CSRCPackZero<Scalar, Row::width>(); /* what padding is multiplied with */
  __syncthreads();

  int  run  = -1; /* the column whose sum is s */
  Part s    = CSRCPackZero<Scalar, Row::per>();
  int2 head = make_int2(0, 0), head1 = head; /* of this chunk and of the next */

  if (warp < many) {
    head  = f.head[chunkof(warp)];
    head1 = f.head[chunkof(min(warp + WARPS, many - 1))];
  }
  for (int k = warp; k < many; k += WARPS) {
    CSRCLaneChunk<Scalar, VALUES> a;
    int                           column[PER], word[PER]; /* word: accumulator; bit 16: a run begins */

    CSRCLoadChunk(a, f, chunkof(k), lane, head);
    if (k + WARPS < many) CSRCPrefetchChunk<Scalar, VALUES>(f, chunkof(k + WARPS), lane, head1);
    head  = head1;
    head1 = f.head[chunkof(min(k + 2 * WARPS, many - 1))];
    CSRCColumns(a, column);
    /* padding, with the value 0, goes on with the run before it */
#pragma unroll
    for (int i = 0; i < PER; i++) {
      word[i] = CSRCAccumulator(a.acc, i);
      if (word[i] >= naccs) {
        word[i] = naccs;
        if (i > 0) column[i] = column[i > 0 ? i - 1 : 0];
      }
    }
    const int before = __shfl_up_sync(0xffffffffu, column[PER - 1], 1);
#pragma unroll
    for (int i = 0; i < PER; i++) {
      if (i == 0 ? part == 0 || column[0] != before : column[i] != column[i > 0 ? i - 1 : 0]) word[i] |= 1 << 16;
    }
#pragma unroll 1
    for (int l = 0; l < LANES; l++) {
      const int from = lane - part + l;

#pragma unroll
      for (int first = 0; first < PER; first += AHEAD) {
        Part us[AHEAD];
        int  w[AHEAD];

#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
          w[i]  = LANES > 1 ? __shfl_sync(0xffffffffu, word[first + i], from) : word[first + i];
          us[i] = Row::get(su + Row::base(w[i] & 0xffff, lane), lane);
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
          const Scalar own = CSRCValue<Scalar, VALUES>(a, first + i, table), value = LANES > 1 ? CSRCShuffle(own, from) : own;
          const bool   begins = w[i] >> 16;

          if (__any_sync(0xffffffffu, begins)) {
            const int j = LANES > 1 ? __shfl_sync(0xffffffffu, column[first + i], from) : column[first + i];

            if (begins) {
              if (run >= 0) add(run, s);
              run = j;
              s   = CSRCPackZero<Scalar, Row::per>();
            }
          }
          s += CSRCPackProduct<CONJUGATE>(value, us[i]);
        }
      }
    }
  }
  if (run >= 0) add(run, s);

  if (f.nleft) {
    for (int l = f.leftstart[g] + tid / LANES; l < f.leftstart[g + 1]; l += THREADS / LANES) add(f.leftcolumn[l], CSRCPackProduct<CONJUGATE>(f.leftvalue[l], Row::get(su + Row::base(f.leftrow[l], lane), lane)));
  }
}

/*
  Packs columns of X by panels of KT, the last one filled up with zeros; unpacks them. Thread: one unit of 16 bytes of a packed
  row (or the row); neighbours have the units of one row. Panels: blockIdx.y.
*/
template <class Scalar, int KT>
__global__ void CSRCPackKernel(int n, int K, const Scalar *__restrict__ x, size_t ldx, Scalar *packed)
{
  constexpr int UNITS = CSRCUnits<Scalar, KT>;
  using Unit          = CSRCPack<Scalar, KT / UNITS>;
  const size_t t      = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  const int    i = (int)(t / UNITS), k0 = blockIdx.y * KT + (int)(t % UNITS) * (KT / UNITS);
  Unit         p;

  if (i >= n) return;
#pragma unroll
  for (int e = 0; e < KT / UNITS; e++) p.s[e] = k0 + e < K ? x[ldx * (k0 + e) + i] : Scalar(0);
  reinterpret_cast<Unit *>(packed + (size_t)blockIdx.y * n * KT)[t] = p;
}
template <class Scalar, int KT>
__global__ void CSRCUnpackKernel(int n, int K, const Scalar *__restrict__ packed, Scalar *x, size_t ldx)
{
  constexpr int UNITS = CSRCUnits<Scalar, KT>;
  using Unit          = CSRCPack<Scalar, KT / UNITS>;
  const size_t t      = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  const int    i = (int)(t / UNITS), k0 = blockIdx.y * KT + (int)(t % UNITS) * (KT / UNITS);

  if (i >= n) return;
  const Unit p = reinterpret_cast<const Unit *>(packed + (size_t)blockIdx.y * n * KT)[t];
#pragma unroll
  for (int e = 0; e < KT / UNITS; e++) {
    if (k0 + e < K) x[ldx * (k0 + e) + i] = p.s[e];
  }
}

/* ------------------------------------------------------------------ launches */

constexpr int CSRC_DENSE_THREADS = 512; /* of A^T U */

/* Dynamic shared memory of either product for KT columns: accumulators, without those for padding, and a table */
template <class Scalar>
static size_t CSRCBalancedMatMultShared(const CSRCBalancedForm<Scalar> &f, int kt)
{
  return sizeof(Scalar) * ((size_t)kt * (f.accumulators - f.threads + 1) + (f.values == CSRC_VALUES_TABLE ? 256 : 0));
}

/*
  Columns that are packed, and worked on by one launch, at a time: 32 at most, and no more than half of the second-level cache
  holds, from which nonzeros gather and to which they add
*/
template <class Scalar>
static int CSRCPackedColumns(const CSRCBalancedForm<Scalar> &f, int kt, int cachebytes)
{
  int columns = 32;

  while (columns > kt && (size_t)f.n * columns * sizeof(Scalar) > (size_t)cachebytes / 2) columns /= 2;
  return columns;
}

template <class Scalar, CSRCValues VALUES, bool CONJUGATE, int THREADS, int KT>
static cudaError_t CSRCBalancedMatMultLaunch(const CSRCBalancedForm<Scalar> &f, int K, const Scalar *x, size_t ldx, Scalar *y, size_t ldy, Scalar *packed, Scalar *carry, cudaStream_t stream)
{
  const auto        kernel  = CSRCBalancedMatMultKernel<Scalar, VALUES, CONJUGATE, THREADS, KT>;
  const size_t      shared  = CSRCBalancedMatMultShared(f, KT);
  const int         npanels = (K + KT - 1) / KT;
  const cudaError_t err     = CSRCAllowShared(kernel, shared);

  if (err != cudaSuccess) return err;
  CSRCPackKernel<Scalar, KT><<<dim3((unsigned)(((size_t)f.n * CSRCUnits<Scalar, KT> + 255) / 256), npanels), 256, 0, stream>>>(f.n, K, x, ldx, packed);
  kernel<<<f.nblocks * npanels, THREADS, shared, stream>>>(f, npanels, K, packed, y, ldy, carry);
  if (f.nsplit) CSRCBalancedCarryKernel<<<dim3((f.nblocks + 127) / 128, K), 128, 0, stream>>>(f, carry, y, ldy);
  return cudaGetLastError();
}

template <class Scalar, CSRCValues VALUES, bool CONJUGATE, int KT>
static cudaError_t CSRCBalancedMatMultTransposeLaunch(const CSRCBalancedForm<Scalar> &f, int K, const Scalar *u, size_t ldu, Scalar *v, size_t ldv, Scalar *packed, cudaStream_t stream)
{
  const auto   kernel  = CSRCBalancedMatMultTransposeKernel<Scalar, VALUES, CONJUGATE, CSRC_DENSE_THREADS, KT>;
  const size_t shared  = CSRCBalancedMatMultShared(f, KT);
  const int    npanels = (K + KT - 1) / KT;
  cudaError_t  err     = CSRCAllowShared(kernel, shared);

  if (err != cudaSuccess) return err;
  err = cudaMemsetAsync(packed, 0, (size_t)f.n * npanels * KT * sizeof(Scalar), stream);
  if (err != cudaSuccess) return err;
  kernel<<<f.nblocks * npanels, CSRC_DENSE_THREADS, shared, stream>>>(f, npanels, K, u, ldu, packed);
  CSRCUnpackKernel<Scalar, KT><<<dim3((unsigned)(((size_t)f.n * CSRCUnits<Scalar, KT> + 255) / 256), npanels), 256, 0, stream>>>(f.n, K, packed, v, ldv);
  return cudaGetLastError();
}

template <int THREADS, int KT, bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedMatMultThreads(const CSRCBalancedForm<Scalar> &f, int K, const Scalar *x, size_t ldx, Scalar *y, size_t ldy, Scalar *packed, Scalar *carry, cudaStream_t stream)
{
  switch (f.values) {
  case CSRC_VALUES_SINGLE:
    return CSRCBalancedMatMultLaunch<Scalar, CSRC_VALUES_SINGLE, CONJUGATE, THREADS, KT>(f, K, x, ldx, y, ldy, packed, carry, stream);
  case CSRC_VALUES_TABLE:
    return CSRCBalancedMatMultLaunch<Scalar, CSRC_VALUES_TABLE, CONJUGATE, THREADS, KT>(f, K, x, ldx, y, ldy, packed, carry, stream);
  default:
    return CSRCBalancedMatMultLaunch<Scalar, CSRC_VALUES_FULL, CONJUGATE, THREADS, KT>(f, K, x, ldx, y, ldy, packed, carry, stream);
  }
}

/*
  Y = A X, or with the conjugate of A, K columns in panels of KT; packed is scratch of n times K scalars, K rounded up to panels; carry of 2 nblocks K, if
  rows are split. The thread block has one warp for each chunk of a tile: the form decides how many.
*/
template <int KT, bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedMatMult(const CSRCBalancedForm<Scalar> &f, int K, const Scalar *x, size_t ldx, Scalar *y, size_t ldy, Scalar *packed, Scalar *carry, cudaStream_t stream)
{
  return f.threads == 256 ? CSRCBalancedMatMultThreads<256, KT, CONJUGATE>(f, K, x, ldx, y, ldy, packed, carry, stream) : CSRCBalancedMatMultThreads<512, KT, CONJUGATE>(f, K, x, ldx, y, ldy, packed, carry, stream);
}

/* V = A^T U, or A^H U, likewise */
template <int KT, bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedMatMultTranspose(const CSRCBalancedForm<Scalar> &f, int K, const Scalar *u, size_t ldu, Scalar *v, size_t ldv, Scalar *packed, cudaStream_t stream)
{
  switch (f.values) {
  case CSRC_VALUES_SINGLE:
    return CSRCBalancedMatMultTransposeLaunch<Scalar, CSRC_VALUES_SINGLE, CONJUGATE, KT>(f, K, u, ldu, v, ldv, packed, stream);
  case CSRC_VALUES_TABLE:
    return CSRCBalancedMatMultTransposeLaunch<Scalar, CSRC_VALUES_TABLE, CONJUGATE, KT>(f, K, u, ldu, v, ldv, packed, stream);
  default:
    return CSRCBalancedMatMultTransposeLaunch<Scalar, CSRC_VALUES_FULL, CONJUGATE, KT>(f, K, u, ldu, v, ldv, packed, stream);
  }
}

/* Y = A X, or with the conjugate of A, of two columns, for which a lane does well to keep its nonzeros to itself: csrcbalancedmult.cuh */
template <bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedMatMultTwo(const CSRCBalancedForm<Scalar> &f, const Scalar *x, size_t ldx, Scalar *y, size_t ldy, Scalar *packed, Scalar *carry, cudaStream_t stream)
{
  CSRCPackKernel<Scalar, 2><<<(unsigned)(((size_t)f.n * CSRCUnits<Scalar, 2> + 255) / 256), 256, 0, stream>>>(f.n, 2, x, ldx, packed);
  const cudaError_t err = cudaGetLastError();
  return err == cudaSuccess ? CSRCBalancedMult<2, CONJUGATE>(f, packed, y, ldy, carry, stream) : err;
}

/* V = A^T U, or A^H U, of two columns */
template <bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedMatMultTransposeTwo(const CSRCBalancedForm<Scalar> &f, const Scalar *u, size_t ldu, Scalar *v, size_t ldv, Scalar *packed, cudaStream_t stream)
{
  cudaError_t err = cudaMemsetAsync(packed, 0, (size_t)f.n * 2 * sizeof(Scalar), stream);

  if (err == cudaSuccess) err = CSRCBalancedMultTranspose<2, CONJUGATE>(f, u, ldu, packed, stream);
  if (err != cudaSuccess) return err;
  CSRCUnpackKernel<Scalar, 2><<<(unsigned)(((size_t)f.n * CSRCUnits<Scalar, 2> + 255) / 256), 256, 0, stream>>>(f.n, 2, packed, v, ldv);
  return cudaGetLastError();
}
