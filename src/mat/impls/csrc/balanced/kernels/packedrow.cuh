#pragma once

/*
  What the kernels for products of the balanced layout of CSRC with dense matrices share: packed rows, that is, the entries of several
  columns stored together, in registers, in shared memory and in global memory.
*/
#include "chunk.cuh"

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
  The address of a row of SIZE bytes of an array in global memory: one instruction, if the compiler does not know how base was computed.
  Otherwise it would take base apart and multiply by less than SIZE.
*/
template <class T>
__device__ __forceinline__ T *CSRCOpaque(T *base)
{
  asm("" : "+l"(base));
  __builtin_assume(__isGlobal(base));
  return base;
}
template <int SIZE, class T>
__device__ __forceinline__ T *CSRCRowAt(T *base, int row)
{
  using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;

  return reinterpret_cast<T *>(reinterpret_cast<Byte *>(base) + (ptrdiff_t)row * SIZE);
}

/* A packed row of the KT columns of a matrix stored by columns */
template <int KT, class Scalar>
__device__ __forceinline__ CSRCPack<Scalar, KT> CSRCPackRow(const Scalar *u, size_t ldu, int row)
{
  CSRCPack<Scalar, KT> p;

#pragma unroll
  for (int c = 0; c < KT; c++) p.s[c] = u[ldu * c + row];
  return p;
}

/*
  A packed row of KT scalars: units of 'width' scalars, 16 bytes at most. LANES lanes share it; lane 'part' of them takes
  'pieces' units, those whose number is part modulo LANES. In shared memory, unit q of row r stands at index(r, q).

  Banks. A row of 128 bytes covers all of them. Where lanes take several pieces, neighbouring lanes take theirs in a different order, so
  that the eight lanes that are served at once, which belong to different rows, read different parts of their rows, and never conflict.
  Narrower rows conflict by chance; those of 32 and 64 bytes seldom, if the matrix was stored for them (CSRCAvoidBankConflicts()). The index
  of a unit in its row depends on the row, so that lanes that take the same unit of consecutive rows seldom conflict.
*/
template <class Scalar, int KT, int LANES>
struct CSRCRow {
  static constexpr int lanes = LANES, per = KT / LANES, width = per * (int)sizeof(Scalar) > 16 ? 16 / (int)sizeof(Scalar) : per, pieces = per / width, units = LANES * pieces;
  using Unit = CSRCPack<Scalar, width>;
  using Part = CSRCPack<Scalar, per>; /* what a lane has of a row, piece after piece */

  /* The number, among those of part 'part', of the unit that lane 'lane' of the warp takes as piece t */
  static __device__ __forceinline__ int piece(int lane, int t) { return (t + lane * pieces / 8) & (pieces - 1); }

  static __device__ __forceinline__ int index(int row, int unit)
  {
    constexpr int line = 128 / (int)sizeof(Unit), rows = line > units ? line / units : 1, mask = (LANES < line ? LANES : line) - 1;

    return row * units + (unit ^ ((row / rows) & mask));
  }

  /* Where a lane's units of a row in shared memory begin, in two steps: start() gives bytes and is the same for all lanes that share the row */
  static __device__ __forceinline__ int   start(int row) { return index(row, 0) * (int)sizeof(Unit); }
  static __device__ __forceinline__ Unit *at(Unit *rows, int start, int lane) { return reinterpret_cast<Unit *>(reinterpret_cast<char *>(rows) + (start ^ lane % LANES * (int)sizeof(Unit))); }
  static __device__ __forceinline__ int   base(int row, int lane) { return index(row, lane % LANES); }

  /* A lane's part of a row in shared memory, or of a row of X; first points to the lane's first unit */
  static __device__ __forceinline__ Part get(const Unit *first, int lane)
  {
    Part p;

#pragma unroll
    for (int t = 0; t < pieces; t++) {
      const Unit q = first[piece(lane, t) * LANES];

#pragma unroll
      for (int e = 0; e < width; e++) p.s[t * width + e] = q.s[e];
    }
    return p;
  }
  static __device__ __forceinline__ void set(Unit *first, int lane, const Part &p)
  {
#pragma unroll
    for (int t = 0; t < pieces; t++) {
      Unit q;

#pragma unroll
      for (int e = 0; e < width; e++) q.s[e] = p.s[t * width + e];
      first[piece(lane, t) * LANES] = q;
    }
  }

  /* The pieces of lane 'lane', which has two of them at most, in the order in which they stand in a row */
  static __device__ __forceinline__ void order(Part &p, int lane)
  {
    static_assert(pieces <= 2, "more pieces than two");
    if constexpr (pieces == 2) {
      const bool changed = piece(lane, 0) != 0;

#pragma unroll
      for (int e = 0; e < width; e++) {
        const auto t = p.s[e];

        p.s[e]         = changed ? p.s[width + e] : t;
        p.s[width + e] = changed ? t : p.s[width + e];
      }
    }
  }
};

/*
  Packs the part of U that belongs to a row block into shared memory, rows and their replicas; and after them a row of zeros, for
  padding. The panel has columns k0 and on, of K. Called by a thread block of THREADS. Lane 'part' of those that share a row has columns
  part, part + LANES, ... Columns of the panel beyond K, which are not used, repeat the last one.
*/
template <int THREADS, class Row, class Scalar>
__device__ __forceinline__ void CSRCStageRows(const CSRCBalancedMatrix<Scalar> &A, const CSRCThisRowBlock &b, const Scalar *u, size_t ldu, int k0, int K, typename Row::Unit *su)
{
  constexpr int LANES = Row::lanes, KT = LANES * Row::per, ROWS = CSRCStagedRows<KT>;
  const int     tid = threadIdx.x;
  const Scalar *columns[KT];

#pragma unroll
  for (int c = 0; c < KT; c++) columns[c] = u + ldu * min(k0 + c, K - 1);
  const auto stage = [&](int i, int row) {
#pragma unroll
    for (int q = 0; q < Row::units; q++) {
      typename Row::Unit s;

#pragma unroll
      for (int e = 0; e < Row::width; e++) {
        s.s[e] = columns[q % LANES + LANES * (e + Row::width * (q / LANES))][row];
      }
      su[Row::index(i, q)] = s;
    }
  };

#pragma unroll ROWS
  for (int i = tid; i < b.nrows; i += THREADS) stage(i, b.row + i);
  for (int c = tid; c < b.nreplicas; c += THREADS) stage(b.nrows + c, b.row + A.replicarow[b.replica + c]);
  if (tid < Row::units) su[Row::index(b.naccs, tid)] = CSRCPackZero<Scalar, Row::width>();
}
