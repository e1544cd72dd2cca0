#pragma once

/*
  Device functions of the kernels for products with dense matrices: packed rows, that is, the entries of several
  columns stored together, in registers, in shared memory and in global memory.
*/
#include "chunk.cuh"

/* Prefetches the values of a chunk into the L2 cache. Lane: one cache line of every 32. */
template <class Scalar, CSRCValues VALUES>
__device__ __forceinline__ void CSRCPrefetchValues(const CSRCBalancedMatrix<Scalar> &A, int chunk, int lane)
{
  const int            bytes = VALUES == CSRC_VALUES_TABLE ? CSRCChunkValueBytes(A) : 512 * CSRCLaneChunk<Scalar, VALUES>::planes;
  const unsigned char *v     = A.v + (size_t)chunk * bytes;

#pragma unroll
  for (int l = 0; l < bytes; l += 32 * 128) {
    if (l + lane * 128 < bytes) asm volatile("prefetch.global.L2 [%0];" ::"l"(v + l + lane * 128));
  }
}

/*
  CSRCRowAt() is the address of a row of SIZE bytes of an array in global memory. It takes one instruction if base comes from CSRCOpaque(),
  so that the compiler does not know how base was computed. Otherwise the compiler decomposes base, and multiplies by less than SIZE.
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

/* Row 'row' of KT columns, as a packed row; u is stored by columns */
template <int KT, class Scalar>
__device__ __forceinline__ CSRCPack<Scalar, KT> CSRCPackRow(const Scalar *u, size_t ldu, int row)
{
  CSRCPack<Scalar, KT> p;

#pragma unroll
  for (int c = 0; c < KT; c++) p.s[c] = u[ldu * c + row];
  return p;
}

/*
  A packed row of KT scalars. It consists of units of 'width' scalars, at most 16 bytes each. LANES lanes share it: lane 'part' of them
  takes 'pieces' units, those with a number equal to part modulo LANES. In shared memory, unit q of row r is stored at index(r, q).

  Banks. A row of 128 bytes covers all banks. Where lanes take several pieces, neighbouring lanes take theirs in a different order. Then the
  eight lanes that are served at once, which access different rows, access different parts of their rows and never conflict. Narrower rows
  may conflict; rows of 32 and 64 bytes seldom do, if the set-up has ordered the nonzeros for them (CSRCAvoidBankConflicts()). The index of
  a unit in its row depends on the row, so that lanes that take the same unit of consecutive rows seldom conflict.
*/
template <class Scalar, int KT, int LANES>
struct CSRCRow {
  static constexpr int lanes = LANES, per = KT / LANES, width = per * (int)sizeof(Scalar) > 16 ? 16 / (int)sizeof(Scalar) : per, pieces = per / width, units = LANES * pieces;
  using Unit = CSRCPack<Scalar, width>;
  using Part = CSRCPack<Scalar, per>; /* a lane's part of a row, piece after piece */

  /* The unit that lane 'lane' of the warp takes as piece t, as its number among the units of that lane */
  static __device__ __forceinline__ int piece(int lane, int t) { return (t + lane * pieces / 8) & (pieces - 1); }

  static __device__ __forceinline__ int index(int row, int unit)
  {
    constexpr int line = 128 / (int)sizeof(Unit), rows = line > units ? line / units : 1, mask = (LANES < line ? LANES : line) - 1;

    return row * units + (unit ^ ((row / rows) & mask));
  }

  /*
    The position of a lane's units of a row in shared memory, in two steps: start() is in bytes, and is the same for all lanes that share
    the row; at() adds what depends on the lane. base() is the same as an index.
  */
  static __device__ __forceinline__ int   start(int row) { return index(row, 0) * (int)sizeof(Unit); }
  static __device__ __forceinline__ Unit *at(Unit *rows, int start, int lane) { return reinterpret_cast<Unit *>(reinterpret_cast<char *>(rows) + (start ^ lane % LANES * (int)sizeof(Unit))); }
  static __device__ __forceinline__ int   base(int row, int lane) { return index(row, lane % LANES); }

  /* Load and store a lane's part of a row; first points to the lane's first unit, in shared memory or in a row of X */
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

  /* Puts the pieces of lane 'lane', of which there are at most two, in the order of the row */
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
  Packs the part of U that belongs to a row block into shared memory: its rows, their replicas, and then a row of zeros for
  padding. The panel begins with column k0 of K. Called by a thread block of THREADS threads. Lane 'part' of those that share a row has the
  columns part, part + LANES, ... Columns of the panel beyond K repeat the last column; they are not used.
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
