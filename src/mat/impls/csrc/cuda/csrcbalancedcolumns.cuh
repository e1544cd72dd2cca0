#pragma once

/*
  V = A^T U (or A^H U) from the balanced layout of CSRC where columns have about one nonzero in a block of rows. An addition in
  global memory for each nonzero costs more there than all else. So V is cut into stripes of consecutive columns, one for each
  warp of the device, which keeps its stripe in shared memory, walks over all blocks of rows, and takes from each the few
  nonzeros of its columns. Nothing is added in global memory; V is written once, and is the same in every run.

  Nonzeros of a block are sorted by column but for those that a lane holds (an octet). So the nonzeros of a stripe in a block are
  those of a few consecutive octets; an index says which. It is made at the first product that needs it.
*/
#include "csrcbalancedmatmult.cuh"
#include <cub/cub.cuh>

constexpr int CSRC_STRIPE_THREADS = 512;

/* first[(size_t)w nblocks + g]: twice the first octet of block g with a column of stripe w or a later one; one more if that octet has earlier ones, too */
struct CSRCStripes {
  int             width;    /* columns of a stripe */
  int             nstripes; /* 0: there is no index */
  unsigned short *first;    /* nstripes + 1 times nblocks */
};

/* Columns of an octet; column of its nonzero i if that is padding: -1 */
template <class Scalar>
__device__ __forceinline__ int CSRCColumnOf(const CSRCBalancedForm<Scalar> &f, int2 head, int lane, int i)
{
  const unsigned char *j = f.column + (size_t)((unsigned)head.y >> 2) * 16;
  const int            mode = head.y & 3;

  if (mode == 2) return head.x + j[lane * 8 + i];
  if (mode == 1) return head.x + reinterpret_cast<const uint16_t *>(j)[lane * 8 + i];
  return head.x + reinterpret_cast<const int *>(j)[(i / 4) * 128 + lane * 4 + i % 4];
}

/* Makes the index; most[0] = the greatest number if octets of a block cannot be numbered in 15 bits. Thread block: one block of the layout, 256 octets at a time. Thread: one octet. */
template <class Scalar>
__global__ void __launch_bounds__(256) CSRCStripesKernel(const CSRCBalancedForm<Scalar> f, CSRCStripes stripes, int *most)
{
  using Scan = cub::BlockScan<int, 256>;
  __shared__ typename Scan::TempStorage temp;
  __shared__ int                        carry;
  const int                             g = blockIdx.x;
  const CSRCBlock                       b = f.block[g], next = f.block[g + 1];
  const int                             naccs = b.nrows + next.copy - b.copy, octets = (next.chunk - b.chunk) * 32;

  if (threadIdx.x == 0) carry = -1;
  if (threadIdx.x == 0 && octets > 32767) atomicMax(most, 0x7fffffff);
  __syncthreads();
  for (int o0 = 0; o0 < octets; o0 += 256) {
    const int o   = o0 + threadIdx.x;
    int       max = -1, min = 0x7fffffff, all;

    if (o < octets) {
      const int  chunk = b.chunk + o / 32;
      const int2 head  = f.head[chunk];

      for (int i = 0; i < CSRC_PER_LANE; i++) {
        if (f.acc[(size_t)chunk * CSRC_CHUNK + o % 32 * 8 + i] >= naccs) continue;
        const int j = CSRCColumnOf(f, head, o % 32, i);

        max = j > max ? j : max;
        min = j < min ? j : min;
      }
    }
    const int mine = max;
    int       before;
    Scan(temp).ExclusiveScan(max, before, -1, [](int x, int y) { return x > y ? x : y; }, all);
    const int start = carry;
    __syncthreads();
    before = before > start ? before : start;
    /* the octet is the first of the stripes whose first columns lie behind all before it and not behind its own last one */
    for (int w = before < 0 ? 0 : before / stripes.width + 1; w <= (mine > before ? mine / stripes.width : -1); w++) stripes.first[(size_t)w * f.nblocks + g] = (unsigned short)(2 * o + (min < w * stripes.width));
    if (threadIdx.x == 0) carry = all > carry ? all : carry;
    __syncthreads();
  }
  for (int w = (carry < 0 ? 0 : carry / stripes.width + 1) + threadIdx.x; w <= stripes.nstripes; w += 256) stripes.first[(size_t)w * f.nblocks + g] = (unsigned short)(2 * octets);
}

/* A nonzero on its way into a warp */
template <class Scalar>
struct CSRCTraveller {
  Scalar value;
  int2   head;
  int    acc, column, slot, piece; /* slot: lane and number in the chunk; piece < 0: none */
};

/*
  V = A^T U, or A^H U, U packed, KT columns

  Thread block: THREADS/32 stripes of V in shared memory. Warp: one stripe; of 32 blocks of the layout at a time it takes the
  octets of its stripe, 4 at a time, and of those the nonzeros of its columns, which LANES lanes share as in A X. Nonzeros of
  one column that meet: those wait that do not find their number in the column's tag.
  Bytes a nonzero: value, 2 for the accumulator, 1 to 4 for the column, each for a nonzero and a half or so since octets are shared by
  stripes; KT scalars of U, packed, from the second-level cache; 2 KT scalars to and from shared memory. Nothing is atomic.
*/
template <class Scalar, CSRCValues VALUES, bool CONJUGATE, int THREADS, int KT>
__global__ void __launch_bounds__(THREADS, 1024 / THREADS) CSRCStripesMatMultTransposeKernel(const CSRCBalancedForm<Scalar> f, const CSRCStripes stripes, int K, const Scalar *__restrict__ u, Scalar *v, size_t ldv)
{
  constexpr int WARPS = THREADS / 32, LANES = CSRCLanes<Scalar, KT>, AT = 32 / LANES;
  using Row  = CSRCRow<Scalar, KT, LANES>;
  using Unit = typename Row::Unit;
  extern __shared__ __align__(16) unsigned char shared[];
  const int       tid = threadIdx.x, warp = tid >> 5, lane = tid & 31, part = lane % LANES, stripe = blockIdx.x * WARPS + warp;
  Unit *const     sum  = reinterpret_cast<Unit *>(shared) + (size_t)warp * stripes.width * LANES;
  volatile unsigned char *const slots = shared + (size_t)WARPS * stripes.width * LANES * sizeof(Unit) + warp * 32, *const tags = slots + (WARPS - warp) * 32 + warp * stripes.width;
  volatile unsigned char *const slotw = slots, *const tagw = tags;
  const Unit     *up = reinterpret_cast<const Unit *>(u) + part;
  const int       c0 = stripe * stripes.width, width = min(stripes.width, f.n - c0);

  if (c0 >= f.n) return;
  for (int t = lane; t < width * LANES; t += 32) sum[t] = CSRCPackZero<Scalar, Row::per>();
  __syncwarp();

  for (int g0 = 0; g0 < f.nblocks; g0 += 32) {
    /* the lane's block of the layout, and what of it is the stripe's */
    const int g = g0 + lane;
    int       begin = 0, count = 0, chunk0 = 0, row0 = 0, nrows = 0, naccs = 0, copy0 = 0;

    if (g < f.nblocks) {
      const CSRCBlock b = f.block[g];
      const int       first = stripes.first[(size_t)stripe * f.nblocks + g], last = stripes.first[(size_t)(stripe + 1) * f.nblocks + g];

      begin  = first >> 1;
      count  = (last >> 1) + (last & 1) - begin;
      chunk0 = b.chunk;
      row0   = b.row;
      nrows  = b.nrows;
      copy0  = b.copy;
      naccs  = nrows + f.block[g + 1].copy - b.copy;
    }
    int upto = count; /* octets of this lane's block and those before */
#pragma unroll
    for (int o = 1; o < 32; o *= 2) {
      const int t = __shfl_up_sync(0xffffffffu, upto, o);

      if (lane >= o) upto += t;
    }
    const int total = __shfl_sync(0xffffffffu, upto, 31), shift = begin - (upto - count); /* octet t of all is octet t + shift of its block */

    const auto fetch = [&](int t0, CSRCTraveller<Scalar> &n) {
      const int t = t0 + lane / 8, i = lane % 8;
      int       p = 0;

#pragma unroll
      for (int o = 16; o; o /= 2) {
        if (__shfl_sync(0xffffffffu, upto, p + o - 1) <= t) p += o;
      }
      const int octet = t + __shfl_sync(0xffffffffu, shift, p), chunk = __shfl_sync(0xffffffffu, chunk0, p) + octet / 32, l = octet % 32;

      n.piece = t < total ? p : -1;
      n.slot  = l * 8 + i;
      n.acc   = 0;
      if (t >= total) return;
      n.head = f.head[chunk];
      n.acc  = f.acc[(size_t)chunk * CSRC_CHUNK + n.slot];
      if constexpr (VALUES == CSRC_VALUES_TABLE) n.value = f.table[f.v[(size_t)chunk * CSRC_CHUNK + n.slot]];
      else {
        using Stored = std::conditional_t<VALUES == CSRC_VALUES_SINGLE, float, CSRCReal<Scalar>>;
        constexpr int    P = CSRCParts<Scalar>, PLANE = 16 / (int)sizeof(Stored); /* of so many reals of a lane */
        CSRCReal<Scalar> parts[P];

#pragma unroll
        for (int q = 0; q < P; q++) {
          const int k = i * P + q;

          parts[q] = reinterpret_cast<const Stored *>(f.v + (size_t)chunk * (CSRC_CHUNK * P * sizeof(Stored)))[(k / PLANE) * 32 * PLANE + l * PLANE + k % PLANE];
        }
        n.value = CSRCFromParts<Scalar>(parts, 1);
      }
    };
    const auto findcolumn = [&](CSRCTraveller<Scalar> &n) {
      n.column = n.piece >= 0 ? CSRCColumnOf(f, n.head, n.slot / 8, n.slot % 8) - c0 : -1;
    };

    CSRCTraveller<Scalar> now, soon, later;
    fetch(0, now);
    findcolumn(now);
    fetch(4, soon);
    for (int t0 = 0; t0 < total; t0 += 4) {
      findcolumn(soon);
      fetch(t0 + 8, later);
      const int p = now.piece & 31, mynrows = __shfl_sync(0xffffffffu, nrows, p), mynaccs = __shfl_sync(0xffffffffu, naccs, p), myrow0 = __shfl_sync(0xffffffffu, row0, p), mycopy0 = __shfl_sync(0xffffffffu, copy0, p);
      const bool     mine = now.piece >= 0 && now.column >= 0 && now.column < width && now.acc < mynaccs;
      const unsigned who  = __ballot_sync(0xffffffffu, mine);
      const int      n    = __popc(who);
      int            row  = 0;

      if (mine) {
        row = myrow0 + (now.acc < mynrows ? now.acc : f.copyof[mycopy0 + now.acc - mynrows]);
        slotw[__popc(who & ((1u << lane) - 1))] = (unsigned char)lane;
      }
      __syncwarp();
      for (int k = 0; k < n; k += AT) {
        const int    k1 = k + lane / LANES, from = k1 < n ? slots[k1] : 0;
        const int    r = __shfl_sync(0xffffffffu, row, from), c = __shfl_sync(0xffffffffu, now.column, from);
        const Scalar value = CSRCShuffle(now.value, from);
        bool         waits = k1 < n;
        Unit         x = CSRCPackZero<Scalar, Row::per>();

        if (waits) x = up[(size_t)r * LANES];
        do {
          if (waits && part == 0) tagw[c] = (unsigned char)(lane / LANES);
          __syncwarp();
          if (waits && tags[c] == lane / LANES) {
            const int at = Row::place(c, part);
            Unit      s  = sum[at];

            CSRCPackAdd(s, CSRCPackProduct<CONJUGATE>(value, x));
            sum[at] = s;
            waits   = false;
          }
          __syncwarp();
        } while (__any_sync(0xffffffffu, waits));
      }
      __syncwarp();
      now  = soon;
      soon = later;
    }
  }
  __syncwarp();
  /* a warp takes the same unit of 32 columns of A */
  for (int t = lane; t < ((width + 31) & ~31) * LANES; t += 32) {
    const int c = t / (32 * LANES) * 32 + lane, q = t / 32 % LANES;

    if (c >= width) continue;
    const Unit s = sum[Row::place(c, q)];
#pragma unroll
    for (int e = 0; e < Row::per; e++) {
      const int k = q * Row::per + e;

      if (k < K) v[ldv * k + c0 + c] = s.s[e];
    }
  }
}

/* Adds the leftovers to V. Thread: one leftover and a column. */
template <bool CONJUGATE, class Scalar>
__global__ void CSRCStripesLeftKernel(const CSRCBalancedForm<Scalar> f, const Scalar *u, size_t ldu, Scalar *v, size_t ldv)
{
  for (int k = f.leftstart[blockIdx.x] + threadIdx.x; k < f.leftstart[blockIdx.x + 1]; k += blockDim.x) CSRCAtomicAdd(v + ldv * blockIdx.y + f.leftcolumn[k], CSRCProduct<CONJUGATE>(f.leftvalue[k], u[ldu * blockIdx.y + f.block[blockIdx.x].row + f.leftrow[k]]));
}

/* Dynamic shared memory of a thread block with stripes of a width */
template <class Scalar>
static size_t CSRCStripesShared(int width, int kt)
{
  return (size_t)(CSRC_STRIPE_THREADS / 32) * ((size_t)width * (kt * sizeof(Scalar) + 1) + 32);
}

/* most[0] = largest number of octets of a stripe. Thread block: one stripe. */
static __global__ void CSRCStripesMostKernel(int nblocks, CSRCStripes stripes, int *most)
{
  int count = 0;

  for (int g = threadIdx.x; g < nblocks; g += 32) count += (stripes.first[(size_t)(blockIdx.x + 1) * nblocks + g] >> 1) - (stripes.first[(size_t)blockIdx.x * nblocks + g] >> 1);
#pragma unroll
  for (int o = 16; o; o /= 2) count += __shfl_down_sync(0xffffffffu, count, o);
  if (threadIdx.x == 0) atomicMax(most, count);
}

/*
  Makes the index for panels of kt columns; stripes->nstripes is 0 where stripes are of no use: columns have more than one nonzero in
  a block often enough, some stripe has much more to do than others, or the form is not in consecutive order. The index is
  freed with cudaFree(stripes->first).
*/
template <class Scalar>
static cudaError_t CSRCStripesCreate(const CSRCBalancedForm<Scalar> &f, int kt, double maxrun, double maxuneven, cudaStream_t stream, CSRCStripes *stripes)
{
  const int resident = 1024 / CSRC_STRIPE_THREADS, warps = CSRC_STRIPE_THREADS / 32;
  int       device, sms, smshared, waves = 1;

  *stripes = CSRCStripes();
  if (f.order != CSRC_CONSECUTIVE || f.meanrun > maxrun) return cudaSuccess;
  cudaError_t err = cudaGetDevice(&device);
  if (err == cudaSuccess) err = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  if (err == cudaSuccess) err = cudaDeviceGetAttribute(&smshared, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
  if (err != cudaSuccess) return err;
  do {
    stripes->width = (f.n + sms * resident * warps * waves - 1) / (sms * resident * warps * waves);
    waves++;
  } while (CSRCStripesShared<Scalar>(stripes->width, kt) + 1024 > (size_t)smshared / resident);
  stripes->nstripes = (f.n + stripes->width - 1) / stripes->width;
  err               = cudaMallocAsync((void **)&stripes->first, sizeof(unsigned short) * ((size_t)stripes->nstripes + 1) * f.nblocks, stream);
  if (err != cudaSuccess) return err;
  int *most = nullptr, hostmost = 0;
  err = cudaMallocAsync((void **)&most, sizeof(int), stream);
  if (err == cudaSuccess) err = cudaMemsetAsync(most, 0, sizeof(int), stream);
  if (err == cudaSuccess) {
    CSRCStripesKernel<<<f.nblocks, 256, 0, stream>>>(f, *stripes, most);
    err = cudaGetLastError();
  }
  if (err == cudaSuccess) {
    CSRCStripesMostKernel<<<stripes->nstripes, 32, 0, stream>>>(f.nblocks, *stripes, most);
    err = cudaGetLastError();
  }
  if (err == cudaSuccess) err = cudaMemcpyAsync(&hostmost, most, sizeof(int), cudaMemcpyDeviceToHost, stream);
  if (err == cudaSuccess) err = cudaStreamSynchronize(stream);
  if (most) (void)cudaFreeAsync(most, stream);
  if (err != cudaSuccess || hostmost > maxuneven * 32 * f.nchunks / stripes->nstripes + 64) {
    (void)cudaFree(stripes->first);
    *stripes = CSRCStripes();
  }
  return err;
}

template <class Scalar, CSRCValues VALUES, bool CONJUGATE, int KT>
static cudaError_t CSRCStripesMatMultTransposeLaunch(const CSRCBalancedForm<Scalar> &f, const CSRCStripes &stripes, int K, const Scalar *u, size_t ldu, Scalar *v, size_t ldv, Scalar *packed, cudaStream_t stream)
{
  const auto   kernel = CSRCStripesMatMultTransposeKernel<Scalar, VALUES, CONJUGATE, CSRC_STRIPE_THREADS, KT>;
  const size_t shared = CSRCStripesShared<Scalar>(stripes.width, KT);
  const int    warps  = CSRC_STRIPE_THREADS / 32;
  cudaError_t  err    = CSRCAllowShared(kernel, shared);

  if (err != cudaSuccess) return err;
  for (int k = 0; k < K; k += KT) {
    CSRCPackKernel<Scalar, KT><<<(unsigned)(((size_t)f.m * CSRCLanes<Scalar, KT> + 255) / 256), 256, 0, stream>>>(f.m, K - k, u + ldu * k, ldu, packed);
    kernel<<<(stripes.nstripes + warps - 1) / warps, CSRC_STRIPE_THREADS, shared, stream>>>(f, stripes, K - k, packed, v + ldv * k, ldv);
  }
  if (f.nleft) CSRCStripesLeftKernel<CONJUGATE><<<dim3(f.nblocks, K), 64, 0, stream>>>(f, u, ldu, v, ldv);
  return cudaGetLastError();
}

/* V = A^T U, or A^H U, K columns in panels of KT, by stripes; packed is scratch of m times KT scalars */
template <int KT, bool CONJUGATE, class Scalar>
static cudaError_t CSRCStripesMatMultTranspose(const CSRCBalancedForm<Scalar> &f, const CSRCStripes &stripes, int K, const Scalar *u, size_t ldu, Scalar *v, size_t ldv, Scalar *packed, cudaStream_t stream)
{
  switch (f.values) {
  case CSRC_VALUES_SINGLE: return CSRCStripesMatMultTransposeLaunch<Scalar, CSRC_VALUES_SINGLE, CONJUGATE, KT>(f, stripes, K, u, ldu, v, ldv, packed, stream);
  case CSRC_VALUES_TABLE: return CSRCStripesMatMultTransposeLaunch<Scalar, CSRC_VALUES_TABLE, CONJUGATE, KT>(f, stripes, K, u, ldu, v, ldv, packed, stream);
  default: return CSRCStripesMatMultTransposeLaunch<Scalar, CSRC_VALUES_FULL, CONJUGATE, KT>(f, stripes, K, u, ldu, v, ldv, packed, stream);
  }
}
