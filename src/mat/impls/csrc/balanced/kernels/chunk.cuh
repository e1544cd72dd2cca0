#pragma once

/*
  Device functions of the kernels of the balanced layout. All products use the row block of a thread block, the loads of a chunk, and the
  values and columns of a lane's nonzeros. A^T u and A^T U also use the choice of the chunks that a warp reads, and the sums along runs.
  packedrow.cuh has what only products with dense matrices need.
*/
#include "mat/impls/csrc/balanced/balanced.cuh"

/* Row block g, with members that follow from the begin of the next row block */
struct CSRCThisRowBlock : CSRCRowBlock {
  int g, endchunk, nreplicas;
  int naccs; /* number of accumulators, without those for padding */

  template <class Scalar>
  __device__ __forceinline__ CSRCThisRowBlock(const CSRCBalancedMatrix<Scalar> &A, int number) : CSRCRowBlock(A.block[number])
  {
    g         = number;
    endchunk  = A.block[g + 1].chunk;
    nreplicas = A.block[g + 1].replica - replica;
    naccs     = nrows + nreplicas;
  }
};

/*
  The number of the warp in its one-dimensional thread block. The shuffle tells the compiler that all lanes have the same number. Otherwise
  the compiler assumes that lanes may leave a loop over the warp's chunks at different times, and synchronizes them before each shuffle.
*/
__device__ __forceinline__ int CSRCWarp()
{
  return __shfl_sync(0xffffffffu, (int)(threadIdx.x >> 5), 0);
}

/*
  Loads of matrix data, executed if 'does' is set. With KEEP the data is kept in the L1 cache. Most bytes are read once and should not evict
  x from it.

  'does' is a predicate because a branch may cost much time. A warp has six counters for pending loads, and the compiler assigns one of them
  to all loads whose results are used after a branch. Where the branch skips a load, the compiler may use a register that an earlier load
  still has to write; it then waits for all of these loads, once a tile. Only the machine code shows whether this happens.
*/
template <bool KEEP = false>
__device__ __forceinline__ void CSRCLoad16(uint4 &a, const void *p, bool does)
{
  if (KEEP) asm volatile("{\n.reg .pred does;\nsetp.ne.u32 does, %5, 0;\n@does ld.global.nc.v4.u32 {%0,%1,%2,%3}, [%4];\n}" : "+r"(a.x), "+r"(a.y), "+r"(a.z), "+r"(a.w) : "l"(p), "r"((unsigned)does));
  else asm volatile("{\n.reg .pred does;\nsetp.ne.u32 does, %5, 0;\n@does ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];\n}" : "+r"(a.x), "+r"(a.y), "+r"(a.z), "+r"(a.w) : "l"(p), "r"((unsigned)does));
}
template <bool KEEP = false>
__device__ __forceinline__ void CSRCLoad8(uint4 &a, const void *p, bool does) /* into a.x and a.y */
{
  if (KEEP) asm volatile("{\n.reg .pred does;\nsetp.ne.u32 does, %3, 0;\n@does ld.global.nc.v2.u32 {%0,%1}, [%2];\n}" : "+r"(a.x), "+r"(a.y) : "l"(p), "r"((unsigned)does));
  else asm volatile("{\n.reg .pred does;\nsetp.ne.u32 does, %3, 0;\n@does ld.global.nc.L1::no_allocate.v2.u32 {%0,%1}, [%2];\n}" : "+r"(a.x), "+r"(a.y) : "l"(p), "r"((unsigned)does));
}

/* Word k of a vector; k is a constant after unrolling */
__device__ __forceinline__ unsigned CSRCWord(const uint4 &a, int k)
{
  return k == 0 ? a.x : k == 1 ? a.y : k == 2 ? a.z : a.w;
}

/* A lane's part of a chunk, as loaded. CODING: that of the matrices that a kernel is for; all kernels can read whole offsets */
template <class Scalar, CSRCValues VALUES, CSRCCoding CODING = CSRC_ANY_CODING>
struct CSRCLaneChunk {
  static constexpr bool bases = CODING == CSRC_BY_LANE || CODING == CSRC_ANY_CODING, split = CODING == CSRC_SPLIT || CODING == CSRC_ANY_CODING; /* what chunks can have */
  static constexpr int  planes = VALUES == CSRC_VALUES_FULL ? (int)sizeof(Scalar) / 2 : VALUES == CSRC_VALUES_SINGLE ? 2 * CSRCParts<Scalar> : 1;
  uint4                 v[planes];
  uint4                 acc;
  uint4                 column[2];
  int                   base, mode;
  int                   indexbits, shift; /* indices into a table: the bits of each, and where in v[0] those of the lane begin, if they are fewer than 8 */
};

/* Split offsets have more than 8 bits in some chunks. Those are stored after the bytes of all lanes, those of a lane together: how many for each offset */
__host__ __device__ __forceinline__ int CSRCMoreBits(int mode)
{
  return mode > CSRC_SPLIT_8 ? mode - CSRC_SPLIT_8 : 0;
}

/*
  Loads a lane's part of the columns of the chunk with this head, or the aligned 8 bytes that hold its base, or its further bits; if 'does' is
  not set, sets only base and mode
*/
template <class Scalar, CSRCValues VALUES, CSRCCoding CODING>
__device__ __forceinline__ void CSRCLoadColumns(CSRCLaneChunk<Scalar, VALUES, CODING> &a, const CSRCBalancedMatrix<Scalar> &A, int lane, int2 head, bool does = true)
{
  a.base                 = head.x;
  a.mode                 = head.y & 7;
  const unsigned char *j = A.column + (size_t)((unsigned)head.y >> 3) * CSRC_UNIT;
  if (a.mode >= CSRC_OFFSETS_8) {
    CSRCLoad8(a.column[0], j + (a.mode == CSRC_BASES ? lane & ~7 : lane * 8), does);
    if (a.split) CSRCLoad8(a.column[1], j + CSRC_CHUNK + (lane * CSRCMoreBits(a.mode) & ~7), does && a.mode > CSRC_SPLIT_8);
  } else {
    CSRCLoad16(a.column[0], j + lane * 16, does);
    CSRCLoad16(a.column[1], j + 512 + lane * 16, does && a.mode == CSRC_OFFSETS_32);
  }
}

/* Loads a lane's part of accumulators and columns */
template <class Scalar, CSRCValues VALUES, CSRCCoding CODING>
__device__ __forceinline__ void CSRCLoadIndices(CSRCLaneChunk<Scalar, VALUES, CODING> &a, const CSRCBalancedMatrix<Scalar> &A, int chunk, int lane, int2 head, bool does = true)
{
  CSRCLoad16(a.acc, A.acc + (size_t)chunk * CSRC_CHUNK + lane * 8, does);
  CSRCLoadColumns(a, A, lane, head, does);
}

/*
  Loads one plane of a lane's values: 16 bytes, or all 8 indices into the table. These take 1, 2, 4 or 8 bytes; the lane loads the aligned
  8 bytes that hold them.
*/
template <bool KEEP = false, class Scalar, CSRCValues VALUES, CSRCCoding CODING>
__device__ __forceinline__ void CSRCLoadPlane(CSRCLaneChunk<Scalar, VALUES, CODING> &a, const CSRCBalancedMatrix<Scalar> &A, int chunk, int lane, int plane, bool does = true)
{
  if (VALUES == CSRC_VALUES_TABLE) {
    const int at = lane * A.valuebits;

    a.indexbits = A.valuebits;
    a.shift     = (at & 7) * 8;
    CSRCLoad8<KEEP>(a.v[0], A.v + (size_t)chunk * CSRCChunkValueBytes(A) + (at & ~7), does);
  } else CSRCLoad16<KEEP>(a.v[plane], A.v + (size_t)chunk * (512 * a.planes) + plane * 512 + lane * 16, does);
}

/* Loads a lane's part of a chunk */
template <class Scalar, CSRCValues VALUES, CSRCCoding CODING>
__device__ __forceinline__ void CSRCLoadChunk(CSRCLaneChunk<Scalar, VALUES, CODING> &a, const CSRCBalancedMatrix<Scalar> &A, int chunk, int lane, int2 head, bool does = true)
{
#pragma unroll
  for (int q = 0; q < a.planes; q++) CSRCLoadPlane(a, A, chunk, lane, q, does);
  CSRCLoadIndices(a, A, chunk, lane, head, does);
}

/* Copies the table of values, if there is one, to shared memory; called by all threads of a thread block of THREADS threads */
template <CSRCValues VALUES, int THREADS, class Scalar>
__device__ __forceinline__ void CSRCLoadTable(const CSRCBalancedMatrix<Scalar> &A, Scalar *table)
{
  if (VALUES == CSRC_VALUES_TABLE) {
    for (int t = threadIdx.x; t < 256; t += THREADS) table[t] = A.table[t];
  }
}

/*
  The chunks of a row block that a warp reads in A^T u: it begins with chunk number k and continues with every step-th. Numbering begins at
  a different chunk in each row block, so that not all of them add to the same part of v at the same time (V10, D10). While one chunk is
  used, the next chunk and the head of the one after it are loaded.
*/
struct CSRCChunkReader {
  int  k, step, first, many, offset;
  int2 head; /* of the next chunk */

  __device__ __forceinline__ CSRCChunkReader(const CSRCThisRowBlock &b, int g, int nblocks, int k_, int step_) : k(k_), step(step_), first(b.chunk), many(b.endchunk - b.chunk), offset((int)((long long)many * g / nblocks)), head(make_int2(0, 0)) { }

  __device__ __forceinline__ int  number(int l) const { return first + (l + offset >= many ? l + offset - many : l + offset); }
  __device__ __forceinline__ bool done() const { return k >= many; }
  __device__ __forceinline__ bool more() const { return k + step < many; }
  __device__ __forceinline__ int  chunk() const { return number(k); }
  __device__ __forceinline__ int  next() const { return number(min(k + step, many - 1)); }

  /* Loads a head even if there is no such chunk: if the load were conditional, the compiler would wait for it (V7) */
  template <class Scalar>
  __device__ __forceinline__ void loadHead(const CSRCBalancedMatrix<Scalar> &A, int ahead)
  {
    head = A.head[number(min(k + ahead * step, many - 1))];
  }

  /* Load the warp's first chunk; and, while a chunk is used, the next one */
  template <class Scalar, CSRCValues VALUES, CSRCCoding CODING>
  __device__ __forceinline__ void loadFirst(const CSRCBalancedMatrix<Scalar> &A, CSRCLaneChunk<Scalar, VALUES, CODING> &a, int lane)
  {
    if (done()) return;
    CSRCLoadChunk(a, A, chunk(), lane, A.head[chunk()]);
    loadHead(A, 1);
  }
  template <class Scalar, CSRCValues VALUES, CSRCCoding CODING>
  __device__ __forceinline__ void loadNext(const CSRCBalancedMatrix<Scalar> &A, CSRCLaneChunk<Scalar, VALUES, CODING> &a, int lane)
  {
    if (more()) CSRCLoadChunk(a, A, number(k + step), lane, head);
    loadHead(A, 2);
  }
};

/* The columns of the nonzeros of the calling thread's lane, whose indices a has. Removes them from a.acc, which must not be used before. */
template <class Scalar, CSRCValues VALUES, CSRCCoding CODING>
__device__ __forceinline__ void CSRCColumns(const CSRCBalancedMatrix<Scalar> &A, CSRCLaneChunk<Scalar, VALUES, CODING> &a, int column[CSRC_PER_LANE])
{
  const int  shift  = 16 - A.columnbits;
  const auto high   = [&](int i) { return (int)(((CSRCWord(a.acc, i >> 1) >> ((i & 1) * 16)) & 0xffff) >> shift); };
  const auto low    = [&](int i) { return (int)((CSRCWord(a.column[0], i >> 2) >> ((i & 3) * 8)) & 0xff); };
  const auto remove = [&] {
    const unsigned mask = ((1u << shift) - 1) * 0x10001u;

    a.acc = make_uint4(a.acc.x & mask, a.acc.y & mask, a.acc.z & mask, a.acc.w & mask);
  };

  if (a.bases && a.mode == CSRC_BASES) {
    const int base = a.base + (int)((threadIdx.x & 4 ? a.column[0].y : a.column[0].x) >> ((threadIdx.x & 3) * 8) & 0xff);

#pragma unroll
    for (int i = 0; i < 8; i++) column[i] = base + high(i);
    remove();
  } else if (a.split && a.mode == CSRC_SPLIT_8) {
#pragma unroll
    for (int i = 0; i < 8; i++) column[i] = a.base + (high(i) << 8 | low(i));
    remove();
  } else if (a.split && a.mode > CSRC_SPLIT_8) {
    const int more = CSRCMoreBits(a.mode), at = (int)(threadIdx.x & 31) * more, bits = (int)((at & 4 ? a.column[1].y : a.column[1].x) >> ((at & 3) * 8));

#pragma unroll
    for (int i = 0; i < 8; i++) column[i] = a.base + ((high(i) << more | (bits >> i * more & ((1 << more) - 1))) << 8 | low(i));
    remove();
  } else if (a.mode == CSRC_OFFSETS_8) {
#pragma unroll
    for (int i = 0; i < 8; i++) column[i] = a.base + low(i);
  } else if (a.mode == CSRC_OFFSETS_16) {
#pragma unroll
    for (int i = 0; i < 8; i++) column[i] = a.base + ((CSRCWord(a.column[0], i >> 1) >> ((i & 1) * 16)) & 0xffff);
  } else {
#pragma unroll
    for (int i = 0; i < 8; i++) column[i] = a.base + (int)CSRCWord(a.column[i >> 2], i & 3);
  }
}

/* The accumulator of a lane's nonzero i, once CSRCColumns() has removed columns: its swizzled index, and its number */
__device__ __forceinline__ int CSRCSwizzledAccumulator(const uint4 &acc, int i)
{
  return (CSRCWord(acc, i >> 1) >> ((i & 1) * 16)) & 0xffff;
}
__device__ __forceinline__ int CSRCAccumulator(const uint4 &acc, int i)
{
  return CSRCSwizzle(CSRCSwizzledAccumulator(acc, i));
}

/* The value of a lane's nonzero i */
template <class Scalar, CSRCValues VALUES, CSRCCoding CODING>
__device__ __forceinline__ Scalar CSRCValue(const CSRCLaneChunk<Scalar, VALUES, CODING> &a, int i, const Scalar *table)
{
  using Real = CSRCReal<Scalar>;
  if constexpr (VALUES == CSRC_VALUES_TABLE) {
    const unsigned word = a.indexbits == 8 ? CSRCWord(a.v[0], i >> 2) : (a.shift & 32 ? a.v[0].y : a.v[0].x) >> (a.shift & 31);

    return table[(word >> (i * a.indexbits & 31)) & ((1u << a.indexbits) - 1)];
  } else {
    constexpr int parts = CSRCParts<Scalar>;
    Real          part[parts];

#pragma unroll
    for (int p = 0; p < parts; p++) {
      const int k = i * parts + p; /* number of this real among those of the lane */

      if constexpr (VALUES == CSRC_VALUES_SINGLE || sizeof(Real) == 4) part[p] = (Real)__uint_as_float(CSRCWord(a.v[k >> 2], k & 3));
      else part[p] = (Real)((k & 1) ? __hiloint2double(a.v[k >> 1].w, a.v[k >> 1].z) : __hiloint2double(a.v[k >> 1].y, a.v[k >> 1].x));
    }
    return CSRCFromParts<Scalar>(part, 1);
  }
}

/* The entries of one row in KT columns */
template <class Scalar, int KT>
struct alignas(sizeof(Scalar) * KT < 16 ? sizeof(Scalar) * KT : 16) CSRCPack {
  Scalar s[KT];
};

/* of(c) for each column c */
template <class Scalar, int KT, class Of>
__device__ __forceinline__ CSRCPack<Scalar, KT> CSRCPackOf(const Of &of)
{
  CSRCPack<Scalar, KT> p;

#pragma unroll
  for (int c = 0; c < KT; c++) p.s[c] = of(c);
  return p;
}

template <class Scalar, int KT>
__device__ __forceinline__ CSRCPack<Scalar, KT> CSRCPackZero()
{
  return CSRCPackOf<Scalar, KT>([](int) { return Scalar(0); });
}

template <class Scalar, int KT>
__device__ __forceinline__ void operator+=(CSRCPack<Scalar, KT> &a, const CSRCPack<Scalar, KT> &b)
{
#pragma unroll
  for (int c = 0; c < KT; c++) a.s[c] += b.s[c];
}

template <bool CONJUGATE, class Scalar, int KT>
__device__ __forceinline__ CSRCPack<Scalar, KT> CSRCPackProduct(const Scalar &v, const CSRCPack<Scalar, KT> &x)
{
  return CSRCPackOf<Scalar, KT>([&](int c) { return CSRCProduct<CONJUGATE>(v, x.s[c]); });
}

template <class Scalar, int KT>
__device__ __forceinline__ CSRCPack<Scalar, KT> CSRCShuffleUp(const CSRCPack<Scalar, KT> &a, int distance)
{
  return CSRCPackOf<Scalar, KT>([&](int c) { return CSRCShuffleUp(a.s[c], distance); });
}

template <class Scalar, int KT>
__device__ __forceinline__ CSRCPack<Scalar, KT> CSRCShuffleDown(const CSRCPack<Scalar, KT> &a, int distance)
{
  return CSRCPackOf<Scalar, KT>([&](int c) { return CSRCShuffleDown(a.s[c], distance); });
}

/* The sum of count over this lane and the lanes before it */
__device__ __forceinline__ int CSRCScanLanes(int count, int lane)
{
#pragma unroll
  for (int o = 1; o < 32; o *= 2) {
    const int t = __shfl_up_sync(0xffffffffu, count, o);

    if (lane >= o) count += t;
  }
  return count;
}

/* The bitwise OR of bits over all lanes of the warp */
__device__ __forceinline__ unsigned CSRCOrAlong(unsigned bits)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_or_sync(0xffffffffu, bits);
#else
  #pragma unroll
  for (int o = 16; o; o >>= 1) bits |= __shfl_xor_sync(0xffffffffu, bits, o);
  return bits;
#endif
}

/* The sum of count over all lanes of the warp */
__device__ __forceinline__ int CSRCSumAlong(int count)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_add_sync(0xffffffffu, count);
#else
  #pragma unroll
  for (int o = 16; o; o >>= 1) count += __shfl_xor_sync(0xffffffffu, count, o);
  return count;
#endif
}

/*
  Completes s, the sum of the lane's last run, by what earlier lanes have of that run: the lanes that hold nonzeros of this run only, and
  the lane in which it begins. goeson: the lane's first run began in an earlier lane; several: the lane has more than one run. Called by all
  lanes of a warp.
*/
template <class Sum>
__device__ __forceinline__ void CSRCAddAlong(Sum &s, bool goeson, bool several, int lane)
{
  unsigned       through = __ballot_sync(0xffffffffu, goeson && !several);
  const unsigned up      = ~(through << (31 - lane));
  const int      reach   = up ? __clz(up) : 32; /* number of lanes before this one that may contribute to s */

  for (int o = 1; through; o *= 2) {
    const Sum t = CSRCShuffleUp(s, o);

    if (reach >= o) s += t;
    through &= through >> o;
  }
}

/*
  Sorts a lane's nonzeros by column by a network of 19 exchanges, which is skipped if the nonzeros of all lanes are in order. This sorts the
  whole chunk, since nonzeros that were moved to another step at set-up stayed within their lane. Unsorted nonzeros would break runs and be
  added to other sectors of v than their neighbours: in a stencil there would be 220 sums a chunk instead of 112.
*/
template <class Sum>
__device__ __forceinline__ void CSRCSortLane(Sum product[CSRC_PER_LANE], int column[CSRC_PER_LANE])
{
  constexpr int low[]  = {0, 1, 4, 5, 0, 1, 2, 3, 0, 2, 4, 6, 2, 3, 1, 3, 1, 3, 5};
  constexpr int high[] = {2, 3, 6, 7, 4, 5, 6, 7, 1, 3, 5, 7, 4, 5, 4, 6, 2, 4, 6};
  bool          sorted = true;

#pragma unroll
  for (int i = 1; i < CSRC_PER_LANE; i++) sorted = sorted && column[i - 1] <= column[i];
  if (__all_sync(0xffffffffu, sorted)) return;
#pragma unroll
  for (int e = 0; e < 19; e++) {
    const int  l = low[e], h = high[e], cl = column[l], ch = column[h];
    const Sum  s    = product[l];
    const bool swap = ch < cl;

    column[l]  = swap ? ch : cl;
    column[h]  = swap ? cl : ch;
    product[l] = swap ? product[h] : s;
    product[h] = swap ? s : product[h];
  }
}

/* The padded index of sum l in the list of a chunk: with it, lanes that write every eighth sum have no bank conflicts */
__device__ __forceinline__ int CSRCPadded(int l)
{
  return l + (l >> 3);
}

/*
  Sums along the runs of a chunk; a run is consecutive nonzeros of one column. Called by all lanes of a warp with the products and columns
  of each lane's nonzeros; a product is a scalar, or a packed row. Returns the number of runs. Their sums and columns are then in sums and
  cols, at index CSRCPadded(), in shared memory of the warp; other lanes can read them after a __syncwarp(). Both arrays have room for 288
  entries.
*/
template <CSRCOrder ORDER, class Sum>
__device__ __forceinline__ int CSRCSumRuns(Sum product[CSRC_PER_LANE], int column[CSRC_PER_LANE], Sum *sums, int *cols, int lane)
{
  if (ORDER == CSRC_INTERLEAVED) { /* makes the order consecutive through shared memory, padded to 9 entries a lane to avoid bank conflicts */
    CSRCSortLane(product, column);
#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) {
      const int at = CSRCPadded(32 * i + lane);

      sums[at] = product[i];
      cols[at] = column[i];
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) {
      product[i] = sums[9 * lane + i];
      column[i]  = cols[9 * lane + i];
    }
    __syncwarp();
  }

  /* the lane's last run continues in the next lane if the nonzeros of that lane begin with its column */
  int ends = 0;
#pragma unroll
  for (int i = 1; i < CSRC_PER_LANE; i++) ends += column[i] != column[i - 1];
  const bool     several  = ends > 0;
  const int      before   = __shfl_up_sync(0xffffffffu, column[7], 1);
  const bool     goeson   = lane > 0 && before == column[0]; /* the lane's first run began in an earlier lane */
  const unsigned goeson32 = __ballot_sync(0xffffffffu, goeson);
  const bool     closes   = lane == 31 || !((goeson32 >> (lane + 1)) & 1); /* the lane's last run ends in this lane */

  ends += closes;
  int       place = CSRCScanLanes(ends, lane);
  const int count = __shfl_sync(0xffffffffu, place, 31);

  place -= ends; /* where the lane's sums go in the list */
  const int firstplace = place;
  Sum       s = product[0], first = Sum{};
  bool      infirst = true;
#pragma unroll
  for (int i = 1; i < CSRC_PER_LANE; i++) {
    if (column[i] != column[i - 1]) {
      if (infirst) first = s;
      else sums[CSRCPadded(place)] = s;
      infirst                   = false;
      cols[CSRCPadded(place++)] = column[i - 1];
      s                         = product[i];
    } else s += product[i];
  }
  CSRCAddAlong(s, goeson, several, lane);
  const Sum carried = CSRCShuffleUp(s, 1);
  if (several) {
    if (goeson) first += carried;
    sums[CSRCPadded(firstplace)] = first;
  }
  if (closes) {
    sums[CSRCPadded(place)] = s;
    cols[CSRCPadded(place)] = column[7];
  }
  return count;
}
