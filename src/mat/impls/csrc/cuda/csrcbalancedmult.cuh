#pragma once

/*
  Y = A X and V += A^T U, or with the conjugate of A, from the balanced layout of CSRC for two columns at a time, KT. Of X and V, the KT entries of
  a row stand together ('packed'), since they are what nonzeros scatter over: a sector of 32 bytes is moved whole either way.
  For one vector csrcbalancedvector.cuh has faster kernels, for panels of more columns csrcbalancedmatmult.cuh.
*/
#include "csrcbalancedparts.cuh"

/*
  Y = A X, KT columns, X packed

  Thread block: one block of the layout; its part of Y as accumulators in shared memory. Warp: every (THREADS/32)th chunk of
  the block. Lane: 8 nonzeros of a chunk; the columns and values of its next chunk are under way while
  products are added.
  Bytes a nonzero: value, 2 for the accumulator, 1 to 4 for the column, 8/256 for the head; KT scalars of X, which mostly come
  from the caches. Nothing is atomic: a group's nonzeros have different accumulators, and a barrier stands behind each
  group. Dynamic shared memory: accumulators, and the table of values if there is one.
*/
template <class Scalar, CSRCValues VALUES, bool CONJUGATE, int THREADS, int KT>
__global__ void __launch_bounds__(THREADS, 512 / THREADS) CSRCBalancedMultKernel(const CSRCBalancedForm<Scalar> f, const CSRCPack<Scalar, KT> *__restrict__ x, Scalar *y, size_t ldy, Scalar *carry)
{
  using Pack = CSRCPack<Scalar, KT>;
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int                                 WARPS = THREADS / 32;
  Pack *const                                   sum   = reinterpret_cast<Pack *>(shared);
  Scalar *const                                 table = reinterpret_cast<Scalar *>(sum + f.accumulators - f.threads + 1);
  const int                                     tid = threadIdx.x, warp = tid >> 5, lane = tid & 31;
  const CSRCBlock                               b = f.block[blockIdx.x], next = f.block[blockIdx.x + 1];
  const int                                     ncopies = next.copy - b.copy, naccs = b.nrows + ncopies, end = next.chunk, ntiles = (end - b.chunk + WARPS - 1) / WARPS;
  int                                           chunk = b.chunk + warp;

  CSRCLaneChunk<Scalar, VALUES> a;
  int2                          head1 = make_int2(0, 0);
  Pack                          xs[CSRC_PER_LANE];
  uint4                         acc = make_uint4(0, 0, 0, 0);

  if (chunk < end) {
    CSRCLoadChunk(a, f, chunk, lane, f.head[chunk]);
    head1 = f.head[min(chunk + WARPS, end - 1)];
  }
  if (VALUES == CSRC_VALUES_TABLE) {
    for (int t = tid; t < 256; t += THREADS) table[t] = f.table[t];
  }
  for (int t = tid; t < naccs; t += THREADS) sum[t] = CSRCPackZero<Scalar, KT>();
  __syncthreads();

  for (int t = 0; t < ntiles; t++, chunk += WARPS) {
    const bool mine = chunk < end, more = chunk + WARPS < end;

    Pack product[CSRC_PER_LANE];
    if (mine) {
      Scalar value[CSRC_PER_LANE];
      int    column[CSRC_PER_LANE];

      CSRCColumns(a, column);
#pragma unroll
      for (int i = 0; i < CSRC_PER_LANE; i++) xs[i] = x[column[i]];
      acc = a.acc;
#pragma unroll
      for (int i = 0; i < CSRC_PER_LANE; i++) value[i] = CSRCValue<Scalar, VALUES>(a, i, table);
      if (more) CSRCLoadChunk(a, f, chunk + WARPS, lane, head1);
      head1 = f.head[min(chunk + 2 * WARPS, end - 1)]; /* always: under a condition the compiler waits for it */
#pragma unroll
      for (int i = 0; i < CSRC_PER_LANE; i++) product[i] = CSRCPackProduct<CONJUGATE>(value[i], xs[i]);
    }
#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) { /* a group */
      if (mine && CSRCAccumulator(acc, i) < naccs) sum[CSRCAccumulator(acc, i)] += product[i];
      __syncthreads();
    }
  }

  using Row = CSRCRow<Scalar, KT, 1>; /* without an exchange of places: rows stand one after the other */
  CSRCFinishRows<CONJUGATE, THREADS, Row>(f, (int)blockIdx.x, b, ncopies, reinterpret_cast<typename Row::Unit *>(sum), reinterpret_cast<const typename Row::Unit *>(x), 0, KT, y, ldy, carry);
}

/*
  V += A^T U, or A^H U, KT columns, V packed

  Thread block: one block of the layout; its part of U in shared memory, copies of rows included. Warp: every
  (THREADS/32)th chunk. Lane: 8 nonzeros that are consecutive by column. Products of a column are summed within the lane,
  then along the warp; the sums of a chunk, one row of V a column of A, are put next to each other in shared memory and added
  to V by global atomics, neighbouring lanes taking neighbouring scalars of V.
  Bytes a nonzero: as for A X; U is read once a block. Dynamic shared memory: U, the table of values if there is one, and 288
  sums and columns a warp.
*/
template <class Scalar, CSRCValues VALUES, CSRCOrder ORDER, bool CONJUGATE, int THREADS, int KT>
__global__ void __launch_bounds__(THREADS, 512 / THREADS) CSRCBalancedMultTransposeKernel(const CSRCBalancedForm<Scalar> f, const Scalar *__restrict__ u, size_t ldu, Scalar *v)
{
  using Pack = CSRCPack<Scalar, KT>;
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int                                 WARPS = THREADS / 32, LIST = CSRC_CHUNK + 32;
  const int                                     tid = threadIdx.x, warp = tid >> 5, lane = tid & 31;
  Pack *const                                   su    = reinterpret_cast<Pack *>(shared);
  Pack *const                                   lists = su + f.accumulators;
  Pack *const                                   sums  = lists + warp * LIST;
  Scalar *const                                 table = reinterpret_cast<Scalar *>(lists + WARPS * LIST);
  int *const                                    cols  = reinterpret_cast<int *>(table + (VALUES == CSRC_VALUES_TABLE ? 256 : 0)) + warp * LIST;
  const CSRCBlock                               b = f.block[blockIdx.x], next = f.block[blockIdx.x + 1];
  const int                                     ncopies = next.copy - b.copy, many = next.chunk - b.chunk, offset = (int)((long long)many * blockIdx.x / f.nblocks);
  const auto                                    chunkof = [&](int k) { return b.chunk + (k + offset >= many ? k + offset - many : k + offset); };

  CSRCLaneChunk<Scalar, VALUES> a;
  int2                          head1 = make_int2(0, 0);

  if (warp < many) {
    CSRCLoadChunk(a, f, chunkof(warp), lane, f.head[chunkof(warp)]);
    head1 = f.head[chunkof(min(warp + WARPS, many - 1))];
  }
  if (VALUES == CSRC_VALUES_TABLE) {
    for (int t = tid; t < 256; t += THREADS) table[t] = f.table[t];
  }
  for (int i = tid; i < b.nrows; i += THREADS) su[i] = CSRCPackRow<KT>(u, ldu, b.row + i);
  for (int c = tid; c < ncopies; c += THREADS) su[b.nrows + c] = CSRCPackRow<KT>(u, ldu, b.row + f.copyof[b.copy + c]);
  su[b.nrows + ncopies + tid] = CSRCPackZero<Scalar, KT>();
  __syncthreads();

  for (int k = warp; k < many; k += WARPS) {
    Pack product[CSRC_PER_LANE];
    int  column[CSRC_PER_LANE];

    CSRCColumns(a, column);
#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) product[i] = CSRCPackProduct<CONJUGATE>(CSRCValue<Scalar, VALUES>(a, i, table), su[CSRCAccumulator(a.acc, i)]);
    if (k + WARPS < many) CSRCLoadChunk(a, f, chunkof(k + WARPS), lane, head1);
    head1           = f.head[chunkof(min(k + 2 * WARPS, many - 1))]; /* always: under a condition the compiler waits for it */
    const int total = CSRCSumRuns<ORDER>(product, column, sums, cols, lane);

    __syncwarp();
    for (int l = lane; l < total * KT; l += 32) CSRCAtomicAdd(v + (size_t)KT * cols[CSRCListPlace(l / KT)] + l % KT, sums[CSRCListPlace(l / KT)].s[l % KT]);
    __syncwarp();
  }

  if (f.nleft) {
    for (int k = f.leftstart[blockIdx.x] + tid; k < f.leftstart[blockIdx.x + 1]; k += THREADS) {
      const Pack p = CSRCPackProduct<CONJUGATE>(f.leftvalue[k], su[f.leftrow[k]]);

#pragma unroll
      for (int c = 0; c < KT; c++) CSRCAtomicAdd(v + (size_t)KT * f.leftcolumn[k] + c, p.s[c]);
    }
  }
}

/* ------------------------------------------------------------------ launches */

/* Dynamic shared memory of the two products for KT columns */
template <class Scalar>
static size_t CSRCBalancedMultShared(const CSRCBalancedForm<Scalar> &f, int kt)
{
  return sizeof(Scalar) * ((size_t)kt * f.accumulators + (f.values == CSRC_VALUES_TABLE ? 256 : 0));
}
template <class Scalar>
static size_t CSRCBalancedMultTransposeShared(const CSRCBalancedForm<Scalar> &f, int kt)
{
  return CSRCBalancedMultShared(f, kt) + (size_t)(f.threads / 32) * (CSRC_CHUNK + 32) * (kt * sizeof(Scalar) + sizeof(int));
}

template <class Kernel>
static cudaError_t CSRCAllowShared(Kernel kernel, size_t bytes)
{
  return bytes > 48 * 1024 ? cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes) : cudaSuccess;
}

template <class Scalar, CSRCValues VALUES, bool CONJUGATE, int THREADS, int KT>
static cudaError_t CSRCBalancedMultLaunch(const CSRCBalancedForm<Scalar> &f, const Scalar *x, Scalar *y, size_t ldy, Scalar *carry, cudaStream_t stream)
{
  const auto        kernel = CSRCBalancedMultKernel<Scalar, VALUES, CONJUGATE, THREADS, KT>;
  const size_t      shared = CSRCBalancedMultShared(f, KT);
  const cudaError_t err    = CSRCAllowShared(kernel, shared);

  if (err != cudaSuccess) return err;
  kernel<<<f.nblocks, THREADS, shared, stream>>>(f, reinterpret_cast<const CSRCPack<Scalar, KT> *>(x), y, ldy, carry);
  if (f.nsplit) CSRCBalancedCarryKernel<<<dim3((f.nblocks + 127) / 128, KT), 128, 0, stream>>>(f, carry, y, ldy);
  return cudaGetLastError();
}

template <class Scalar, CSRCValues VALUES, bool CONJUGATE, int THREADS, int KT>
static cudaError_t CSRCBalancedMultTransposeLaunch(const CSRCBalancedForm<Scalar> &f, const Scalar *u, size_t ldu, Scalar *v, cudaStream_t stream)
{
  const auto        kernel = f.order == CSRC_CONSECUTIVE ? CSRCBalancedMultTransposeKernel<Scalar, VALUES, CSRC_CONSECUTIVE, CONJUGATE, THREADS, KT> : CSRCBalancedMultTransposeKernel<Scalar, VALUES, CSRC_INTERLEAVED, CONJUGATE, THREADS, KT>;
  const size_t      shared = CSRCBalancedMultTransposeShared(f, KT);
  const cudaError_t err    = CSRCAllowShared(kernel, shared);

  if (err != cudaSuccess) return err;
  kernel<<<f.nblocks, THREADS, shared, stream>>>(f, u, ldu, v);
  return cudaGetLastError();
}

/* Y = A X, or with the conjugate of A, KT columns, X packed; carry of 2 nblocks KT, if rows are split */
template <int KT, bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedMult(const CSRCBalancedForm<Scalar> &f, const Scalar *x, Scalar *y, size_t ldy, Scalar *carry, cudaStream_t stream)
{
  switch (f.values) {
  case CSRC_VALUES_SINGLE:
    return f.threads == 256 ? CSRCBalancedMultLaunch<Scalar, CSRC_VALUES_SINGLE, CONJUGATE, 256, KT>(f, x, y, ldy, carry, stream) : CSRCBalancedMultLaunch<Scalar, CSRC_VALUES_SINGLE, CONJUGATE, 512, KT>(f, x, y, ldy, carry, stream);
  case CSRC_VALUES_TABLE:
    return f.threads == 256 ? CSRCBalancedMultLaunch<Scalar, CSRC_VALUES_TABLE, CONJUGATE, 256, KT>(f, x, y, ldy, carry, stream) : CSRCBalancedMultLaunch<Scalar, CSRC_VALUES_TABLE, CONJUGATE, 512, KT>(f, x, y, ldy, carry, stream);
  default:
    return f.threads == 256 ? CSRCBalancedMultLaunch<Scalar, CSRC_VALUES_FULL, CONJUGATE, 256, KT>(f, x, y, ldy, carry, stream) : CSRCBalancedMultLaunch<Scalar, CSRC_VALUES_FULL, CONJUGATE, 512, KT>(f, x, y, ldy, carry, stream);
  }
}

/* V += A^T U, or A^H U, KT columns, V packed */
template <int KT, bool CONJUGATE, class Scalar>
static cudaError_t CSRCBalancedMultTranspose(const CSRCBalancedForm<Scalar> &f, const Scalar *u, size_t ldu, Scalar *v, cudaStream_t stream)
{
  switch (f.values) {
  case CSRC_VALUES_SINGLE:
    return f.threads == 256 ? CSRCBalancedMultTransposeLaunch<Scalar, CSRC_VALUES_SINGLE, CONJUGATE, 256, KT>(f, u, ldu, v, stream) : CSRCBalancedMultTransposeLaunch<Scalar, CSRC_VALUES_SINGLE, CONJUGATE, 512, KT>(f, u, ldu, v, stream);
  case CSRC_VALUES_TABLE:
    return f.threads == 256 ? CSRCBalancedMultTransposeLaunch<Scalar, CSRC_VALUES_TABLE, CONJUGATE, 256, KT>(f, u, ldu, v, stream) : CSRCBalancedMultTransposeLaunch<Scalar, CSRC_VALUES_TABLE, CONJUGATE, 512, KT>(f, u, ldu, v, stream);
  default:
    return f.threads == 256 ? CSRCBalancedMultTransposeLaunch<Scalar, CSRC_VALUES_FULL, CONJUGATE, 256, KT>(f, u, ldu, v, stream) : CSRCBalancedMultTransposeLaunch<Scalar, CSRC_VALUES_FULL, CONJUGATE, 512, KT>(f, u, ldu, v, stream);
  }
}
