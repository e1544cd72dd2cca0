#pragma once

/*
  y = A x + z and v = A^T u + z (or A^H u + z) from the balanced layout of CSRC, for one vector. csrcbalanced.cuh says what the
  layout stores.
*/
#include "csrcbalancedmult.cuh"

/*
  Programmatic dependent launch. A kernel may begin while the one before it in the stream still runs; what it does before
  CSRCWaitPrevious() must touch nothing but the matrix, which no kernel changes without a synchronisation behind it. Operands are read by
  plain loads: those that take the read-only path could be made before the wait.
*/
__device__ __forceinline__ void CSRCLetNextBegin()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ __forceinline__ void CSRCWaitPrevious()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* A barrier of the warps of one domain, or of the warp */
template <int WARPS>
__device__ __forceinline__ void CSRCDomainBarrier(int domain)
{
  if (WARPS == 1) __syncwarp();
  else asm volatile("bar.sync %0, %1;" ::"r"(domain + 1), "n"(32 * WARPS) : "memory");
}

/* Reads the accumulator at the same place in another thread block of the cluster */
template <class Scalar>
__device__ __forceinline__ Scalar CSRCClusterRead(const Scalar *mine, unsigned rank)
{
  const void *theirs;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(mine), "r"(rank));
#else
  theirs = mine + 0 * rank;
#endif
  return *(const Scalar *)theirs;
}
__device__ __forceinline__ void CSRCClusterBarrier()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#endif
}

/*
  The order in which thread blocks work on the tiles of a block: each begins at another place, so that not all of them
  gather from, or add to, the same part of a vector at the same time.
*/
struct CSRCTiles {
  int first, end, ntiles, turn; /* chunks; tiles; the tile that is first */
};
template <int WARPS>
__device__ __forceinline__ CSRCTiles CSRCTilesOf(const CSRCBlock &b, const CSRCBlock &next, int g, int nblocks, int rotate)
{
  CSRCTiles t;

  t.first  = b.chunk;
  t.end    = next.chunk;
  t.ntiles = (next.chunk - b.chunk + WARPS - 1) / WARPS;
  t.turn   = rotate ? (int)((long long)t.ntiles * g / nblocks) : 0;
  return t;
}
/* The chunk of a warp in the tile that is number k in order; -1 if there is none */
template <int WARPS>
__device__ __forceinline__ int CSRCChunkAt(const CSRCTiles &t, int k, int warp)
{
  int tile = k + t.turn;

  if (k >= t.ntiles) return -1;
  if (tile >= t.ntiles) tile -= t.ntiles;
  const int chunk = t.first + tile * WARPS + warp;
  return chunk < t.end ? chunk : -1;
}

enum {
  CSRC_GATHER_AHEAD,
  CSRC_GATHER_NOW
};

template <class Scalar, CSRCValues VALUES, int WARPS, int DOMAINS, int STEPS, int GATHER, bool RACY>
__global__ void __launch_bounds__(32 * WARPS *DOMAINS) CSRCBalancedMultVectorKernel(const CSRCBalancedForm<Scalar> f, int cluster, int rotate, const Scalar *x, const Scalar *z, Scalar *y)
{
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int   THREADS = 32 * WARPS * DOMAINS;
  const int       tid = threadIdx.x, lane = tid & 31, domain = (tid >> 5) / WARPS, warp = (tid >> 5) % WARPS, g = blockIdx.x / cluster, rank = blockIdx.x % cluster;
  Scalar *const   sums  = reinterpret_cast<Scalar *>(shared), *const sum = sums + domain * f.accumulators;
  Scalar *const   table = sums + DOMAINS * f.accumulators;
  const CSRCBlock b = f.block[g], next = f.block[g + 1];
  const int       ncopies = next.copy - b.copy, step = cluster * DOMAINS;
  const CSRCTiles tiles   = CSRCTilesOf<WARPS>(b, next, g, f.nblocks, rotate);
  int             turn = rank * DOMAINS + domain, chunk = CSRCChunkAt<WARPS>(tiles, turn, warp), chunk1 = CSRCChunkAt<WARPS>(tiles, turn + step, warp);

  CSRCLaneChunk<Scalar, VALUES> a;
  int2                          head1 = make_int2(0, 0);
  Scalar                        xs[CSRC_PER_LANE];
  uint4                         acc = make_uint4(0, 0, 0, 0);
  const auto                    gather = [&]() {
    int column[CSRC_PER_LANE];

    CSRCColumns(a, column);
#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) xs[i] = x[column[i]];
  };

  if (chunk >= 0) CSRCLoadChunk(a, f, chunk, lane, f.head[chunk]);
  if (chunk1 >= 0) head1 = f.head[chunk1];
  /* leftovers: the thread that finds the first of a row adds all of them; most threads find none, few more than one */
  int    lstart = 0, lend = 0, leftrow = -1;
  Scalar left = Scalar(0);
  if (f.nleft && rank == 0) {
    lstart = f.leftstart[g];
    lend   = f.leftstart[g + 1];
    if (lstart + tid < lend) leftrow = f.leftrow[lstart + tid];
  }
  if (VALUES == CSRC_VALUES_TABLE) {
    for (int t = tid; t < 256; t += THREADS) table[t] = f.table[t];
  }
  for (int t = tid; t < DOMAINS * f.accumulators; t += THREADS) sums[t] = Scalar(0);
  CSRCLetNextBegin();
  CSRCWaitPrevious();
  if (chunk >= 0 && GATHER != CSRC_GATHER_NOW) {
    gather();
  }
  const auto leftsum = [&](int k, int row) {
    Scalar s = Scalar(0);

    for (int l = k; l < lend && f.leftrow[l] == row; l++) s += CSRCProduct<false>(f.leftvalue[l], x[f.leftcolumn[l]]);
    return s;
  };
  if (leftrow >= 0) {
    if (tid && f.leftrow[lstart + tid - 1] == leftrow) leftrow = -1;
    else left = leftsum(lstart + tid, leftrow);
  }
  __syncthreads();

  for (; turn < tiles.ntiles; turn += step) {
    const int  chunk2 = CSRCChunkAt<WARPS>(tiles, turn + 2 * step, warp);
    const bool mine   = chunk >= 0;
    Scalar     product[CSRC_PER_LANE];

    if (GATHER == CSRC_GATHER_NOW) {
      if (mine) {
        acc = a.acc;
        gather();
#pragma unroll
        for (int i = 0; i < CSRC_PER_LANE; i++) product[i] = CSRCProduct<false>(CSRCValue<Scalar, VALUES>(a, i, table), xs[i]);
      }
      if (chunk1 >= 0) CSRCLoadChunk(a, f, chunk1, lane, head1);
      if (chunk2 >= 0) head1 = f.head[chunk2];
    } else {
      Scalar value[CSRC_PER_LANE];

      if (mine) {
        acc = a.acc;
#pragma unroll
        for (int i = 0; i < CSRC_PER_LANE; i++) value[i] = CSRCValue<Scalar, VALUES>(a, i, table);
      }
      if (chunk1 >= 0) CSRCLoadChunk(a, f, chunk1, lane, head1);
      if (chunk2 >= 0) head1 = f.head[chunk2];
      if (mine) {
#pragma unroll
        for (int i = 0; i < CSRC_PER_LANE; i++) product[i] = CSRCProduct<false>(value[i], xs[i]);
      }
      if (chunk1 >= 0) gather();
    }
#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i += STEPS) { /* a group */
      if (mine) {
        Scalar s[STEPS];

#pragma unroll
        for (int l = 0; l < STEPS; l++) s[l] = RACY ? *(volatile Scalar *)&sum[CSRCAccumulator(acc, i + l)] : sum[CSRCAccumulator(acc, i + l)];
#pragma unroll
        for (int l = 0; l < STEPS; l++) {
          s[l] += product[i + l];
          if (RACY) *(volatile Scalar *)&sum[CSRCAccumulator(acc, i + l)] = s[l];
          else sum[CSRCAccumulator(acc, i + l)] = s[l];
        }
      }
      if (!RACY) CSRCDomainBarrier<WARPS>(domain);
    }
    chunk  = chunk1;
    chunk1 = chunk2;
  }
  __syncthreads();

  if (f.nleft && rank == 0) {
    if (leftrow >= 0) sums[leftrow] += left;
    for (int k = lstart + THREADS + tid; k < lend; k += THREADS) {
      const int row = f.leftrow[k];

      if (f.leftrow[k - 1] != row) sums[row] += leftsum(k, row);
    }
    __syncthreads();
  }

  /* the sums of the domains and of copies, and out; always in the same order */
  const auto total = [&](int a) {
    Scalar s = sums[a];
#pragma unroll
    for (int d = 1; d < DOMAINS; d++) s += sums[d * f.accumulators + a];
    return s;
  };
  const auto out = [&](int i, Scalar s) {
    const int  row   = b.row + i;
    const bool first = i == 0 && (b.split & 1), last = i == b.nrows - 1 && (b.split & 2);

    if (first || last) sums[i] = s; /* a part of a row, see below */
    else y[row] = z ? s + z[row] : s;
  };
  for (int i0 = tid & ~31; i0 < b.nrows; i0 += THREADS) {
    const int i = i0 + lane;
    Scalar    s = i < b.nrows ? total(i) : Scalar(0);

    if (ncopies) {
      const int c = i < b.nrows ? f.rowcopy[b.row + g + i] : 0, n = i < b.nrows ? (i + 1 < b.nrows ? f.rowcopy[b.row + g + i + 1] : ncopies) - c : 0;

      if (n <= 8) {
        for (int q = 0; q < n; q++) s += total(b.nrows + c + q);
      }
      unsigned heavy = __ballot_sync(0xffffffffu, n > 8);
      while (heavy) { /* by the warp */
        const int l = __ffs(heavy) - 1, first = __shfl_sync(0xffffffffu, c, l), many = __shfl_sync(0xffffffffu, n, l);
        Scalar    h = Scalar(0);

        heavy &= heavy - 1;
        for (int q = lane; q < many; q += 32) h += total(b.nrows + first + q);
#pragma unroll
        for (int o = 16; o; o >>= 1) h += CSRCShuffleDown(h, o);
        h = CSRCShuffle(h, 0);
        if (lane == l) s += h;
      }
    }
    if (i < b.nrows) {
      if (cluster > 1) sums[i] = s;
      else out(i, s);
    }
  }
  if (cluster > 1) {
    CSRCClusterBarrier();
    for (int i = (int)((long long)b.nrows * rank / cluster) + tid; i < (int)((long long)b.nrows * (rank + 1) / cluster); i += THREADS) {
      Scalar s = CSRCClusterRead(sums + i, 0);

      for (int r = 1; r < cluster; r++) s += CSRCClusterRead(sums + i, r);
      out(i, s);
    }
    CSRCClusterBarrier(); /* others may still read what stands here */
  }
  if (!b.split) return;
  /*
    Rows that are split among blocks: each leaves its part in carry, in the place of its block, and the last to come adds the
    parts in the order of the blocks. Warp 0: the first row; warp 1: the last row, if it is another one.
  */
  __syncthreads();
  const bool one = b.nrows == 1;
  if (warp + domain * WARPS < 2 && ((tid < 32 && (b.split & 1)) || (tid >= 32 && (b.split & 2) && !(one && (b.split & 1))))) {
    const bool firstrow = tid < 32;
    const int  owner = firstrow ? b.owner : g, sharers = f.block[owner].sharers, i = firstrow ? 0 : b.nrows - 1, holder = (int)((long long)(i + 1) * cluster - 1) / max(b.nrows, 1);
    int        lastone = 0;

    if (cluster == 1 || rank == min(holder, cluster - 1)) {
      if (lane == 0) {
        f.carry[2 * g + !firstrow] = sums[i];
        __threadfence();
        lastone = atomicInc(f.arrived + owner, (unsigned)sharers - 1) == (unsigned)sharers - 1;
        __threadfence();
      }
      if (__shfl_sync(0xffffffffu, lastone, 0)) {
        volatile const CSRCReal<Scalar> *parts = reinterpret_cast<volatile CSRCReal<Scalar> *>(f.carry);
        Scalar                           s     = Scalar(0);

        for (int q = lane; q < sharers; q += 32) {
          CSRCReal<Scalar> part[CSRCParts<Scalar>];
          const size_t     k = q ? 2 * (owner + q) : 2 * owner + 1;

#pragma unroll
          for (int p = 0; p < CSRCParts<Scalar>; p++) part[p] = parts[k * CSRCParts<Scalar> + p];
          s += CSRCFromParts<Scalar>(part, 1);
        }
#pragma unroll
        for (int o = 16; o; o >>= 1) s += CSRCShuffleDown(s, o);
        const int row = b.row + i;
        if (lane == 0) y[row] = z ? s + z[row] : s;
      }
    }
  }
}

/*
  The setting to zero of v (or to z) as a part of the product, without a launch of its own: v is cut into slices, which
  thread blocks take as they begin. Nobody waits for a thread block that has not begun: whoever waits has seen that
  no slice is left to be taken. zero[0] counts what was taken and zero[1] what is done, over all products; a product takes
  slices + thread blocks, since each thread block finds out once that nothing is left.
*/
template <class Scalar, CSRCValues VALUES, CSRCOrder ORDER, bool CONJUGATE, int THREADS, bool DIRECT, int DEEP>
__global__ void __launch_bounds__(THREADS) CSRCBalancedMultTransposeVectorKernel(const CSRCBalancedForm<Scalar> f, int parts, int rotate, const Scalar *u, const Scalar *z, Scalar *v, unsigned long long *zero, int nslices)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ unsigned long long target;
  constexpr bool  LISTS = !DIRECT || ORDER == CSRC_INTERLEAVED;
  constexpr int   WARPS = THREADS / 32, LIST = CSRC_CHUNK + 32;
  const int       tid = threadIdx.x, warp = tid >> 5, lane = tid & 31, g = blockIdx.x / parts, part = blockIdx.x % parts;
  Scalar *const   su    = reinterpret_cast<Scalar *>(shared);
  Scalar *const   lists = su + f.accumulators;
  Scalar *const   sums  = lists + warp * LIST;
  Scalar *const   table = lists + (LISTS ? WARPS * LIST : 0);
  int *const      cols  = reinterpret_cast<int *>(table + (VALUES == CSRC_VALUES_TABLE ? 256 : 0)) + warp * LIST;
  const CSRCBlock b = f.block[g], next = f.block[g + 1];
  const int       ncopies = next.copy - b.copy, step = parts;
  const CSRCTiles tiles   = CSRCTilesOf<WARPS>(b, next, g, f.nblocks, rotate);
  int             turn    = part, chunk = CSRCChunkAt<WARPS>(tiles, turn, warp), chunk1 = CSRCChunkAt<WARPS>(tiles, turn + step, warp);
  bool            waiting = zero != nullptr;

  CSRCLaneChunk<Scalar, VALUES> a;
  int2                          head1 = make_int2(0, 0);

  if (DEEP >= 0) {
    if (chunk >= 0) CSRCLoadChunk(a, f, chunk, lane, f.head[chunk]);
    if (chunk1 >= 0) head1 = f.head[chunk1];
  }
  int    leftcolumn = -1, leftrow = 0;
  Scalar left = Scalar(0);
  int    lstart = 0, lend = 0;
  if (f.nleft && part == 0) {
    lstart = f.leftstart[g] + tid;
    lend   = f.leftstart[g + 1];
    if (lstart < lend) {
      leftcolumn = f.leftcolumn[lstart];
      left       = f.leftvalue[lstart];
      leftrow    = f.leftrow[lstart];
    }
  }
  if (VALUES == CSRC_VALUES_TABLE) {
    for (int t = tid; t < 256; t += THREADS) table[t] = f.table[t];
  }
  for (int t = tid; t < f.threads; t += THREADS) su[b.nrows + ncopies + t] = Scalar(0);
  CSRCLetNextBegin();
  CSRCWaitPrevious();

  const unsigned long long pturn = (unsigned long long)nslices + gridDim.x;
  const auto               slice = [&](unsigned long long mine) {
    const int from = (int)((long long)f.n * (long long)mine / nslices), to = (int)((long long)f.n * ((long long)mine + 1) / nslices);

    for (int i = from + lane; i < to; i += 32) v[i] = z ? z[i] : Scalar(0);
  };
  unsigned long long taken = 0;
  if (zero && warp == WARPS - 1) {
    if (lane == 0) {
      taken  = atomicAdd(zero, 1ull);
      target = (taken / pturn + 1) * nslices;
      taken %= pturn;
    }
    taken = __shfl_sync(0xffffffffu, taken, 0);
    if (taken < nslices) slice(taken);
  }
  for (int i = tid; i < b.nrows; i += THREADS) su[i] = u[b.row + i];
  for (int c = tid; c < ncopies; c += THREADS) su[b.nrows + c] = u[b.row + f.copyof[b.copy + c]];
  __syncthreads();
  if (zero && warp == WARPS - 1) {
    while (taken < nslices) {
      __threadfence();
      __syncwarp();
      if (lane == 0) {
        atomicAdd(zero + 1, 1ull);
        taken = atomicAdd(zero, 1ull) % pturn;
      }
      taken = __shfl_sync(0xffffffffu, taken, 0);
      if (taken < nslices) slice(taken);
    }
  }
  const auto waitzero = [&]() {
    if (waiting) {
      const unsigned long long want = target;
      unsigned long long       done;

      do {
        asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(done) : "l"(zero + 1) : "memory");
      } while (done < want);
      waiting = false;
    }
  };

  if (leftcolumn >= 0) {
    waitzero();
    CSRCAtomicAdd(v + leftcolumn, CSRCProduct<CONJUGATE>(left, su[leftrow]));
    for (int k = lstart + THREADS; k < lend; k += THREADS) CSRCAtomicAdd(v + f.leftcolumn[k], CSRCProduct<CONJUGATE>(f.leftvalue[k], su[f.leftrow[k]]));
  }
  for (; turn < tiles.ntiles; turn += step, chunk = chunk1, chunk1 = CSRCChunkAt<WARPS>(tiles, turn + step, warp)) {
    if (chunk < 0) { /* the last tile, which need not be full, may stand in the middle */
      if (DEEP >= 0 && chunk1 >= 0) CSRCLoadChunk(a, f, chunk1, lane, f.head[chunk1]);
      const int chunk2 = CSRCChunkAt<WARPS>(tiles, turn + 2 * step, warp);
      if (DEEP >= 0 && chunk2 >= 0) head1 = f.head[chunk2];
      continue;
    }
    Scalar product[CSRC_PER_LANE];
    int    column[CSRC_PER_LANE];

    if (DEEP < 0) CSRCLoadChunk(a, f, chunk, lane, f.head[chunk]);
    CSRCColumns(a, column);
#pragma unroll
    for (int i = 0; i < CSRC_PER_LANE; i++) product[i] = CSRCProduct<CONJUGATE>(CSRCValue<Scalar, VALUES>(a, i, table), su[CSRCAccumulator(a.acc, i)]);
    if (DEEP >= 0) {
      const int chunk2 = CSRCChunkAt<WARPS>(tiles, turn + 2 * step, warp);

      if (chunk1 >= 0) CSRCLoadChunk(a, f, chunk1, lane, head1);
      if (chunk2 >= 0) head1 = f.head[chunk2];
    }
    if (ORDER == CSRC_INTERLEAVED) { /* through shared memory, 9 places a lane so that no two lanes meet in a bank */
#pragma unroll
      for (int i = 0; i < CSRC_PER_LANE; i++) {
        const int q = 32 * i + lane, place = q + (q >> 3);

        sums[place] = product[i];
        cols[place] = column[i];
      }
      __syncwarp();
#pragma unroll
      for (int i = 0; i < CSRC_PER_LANE; i++) {
        product[i] = sums[9 * lane + i];
        column[i]  = cols[9 * lane + i];
      }
      __syncwarp();
    }

    /* A run: consecutive nonzeros of one column. The lane's last run goes on in the next lane if that begins with its column. */
    const int      before   = __shfl_up_sync(0xffffffffu, column[7], 1);
    const bool     goeson   = lane > 0 && before == column[0]; /* the lane's first run came from the lane before */
    const unsigned goeson32 = __ballot_sync(0xffffffffu, goeson);
    const bool     closes   = lane == 31 || !((goeson32 >> (lane + 1)) & 1); /* the lane's last run ends in this lane */
    int            ends     = 0;
#pragma unroll
    for (int i = 1; i < CSRC_PER_LANE; i++) ends += column[i] != column[i - 1];
    const bool several = ends > 0;

    if (DIRECT) {
      Scalar s = product[0], first = Scalar(0);
      bool   infirst = true;

      waitzero();
#pragma unroll
      for (int i = 1; i < CSRC_PER_LANE; i++) {
        if (column[i] != column[i - 1]) {
          if (infirst) first = s;
          else CSRCAtomicAdd(v + column[i - 1], s);
          infirst = false;
          s       = product[i];
        } else s += product[i];
      }
      unsigned       through = __ballot_sync(0xffffffffu, goeson && !several);
      const unsigned up      = ~(through << (31 - lane));
      const int      reach   = up ? __clz(up) : 32;
      for (int o = 1; through; o *= 2) {
        const Scalar t = CSRCShuffleUp(s, o);

        if (reach >= o) s += t;
        through &= through >> o;
      }
      const Scalar carried = CSRCShuffleUp(s, 1);
      if (several) CSRCAtomicAdd(v + column[0], goeson ? first + carried : first);
      if (closes) CSRCAtomicAdd(v + column[7], s);
    } else {
      ends += closes;
      int place = ends; /* where the lane's sums go in the list: the sum of ends over the lanes before */
#pragma unroll
      for (int o = 1; o < 32; o *= 2) {
        const int t = __shfl_up_sync(0xffffffffu, place, o);

        if (lane >= o) place += t;
      }
      const int total = __shfl_sync(0xffffffffu, place, 31);

      place -= ends;
      const int firstplace = place;
      Scalar    s = product[0], first = Scalar(0);
      bool      infirst = true;
#pragma unroll
      for (int i = 1; i < CSRC_PER_LANE; i++) {
        if (column[i] != column[i - 1]) {
          if (infirst) first = s;
          else sums[place] = s;
          infirst       = false;
          cols[place++] = column[i - 1];
          s             = product[i];
        } else s += product[i];
      }
      /* s is the lane's last run: add what comes from lanes before that hold nothing but this run, and the end of one more */
      unsigned       through = __ballot_sync(0xffffffffu, goeson && !several);
      const unsigned up      = ~(through << (31 - lane));
      const int      reach   = up ? __clz(up) : 32; /* lanes before that s may come from, without a break */
      for (int o = 1; through; o *= 2) {
        const Scalar t = CSRCShuffleUp(s, o);

        if (reach >= o) s += t;
        through &= through >> o;
      }
      const Scalar carried = CSRCShuffleUp(s, 1);
      if (several) {
        if (goeson) first += carried;
        sums[firstplace] = first;
      }
      if (closes) {
        sums[place] = s;
        cols[place] = column[7];
      }
      waitzero();
      __syncwarp();
      for (int k = lane; k < total; k += 32) CSRCAtomicAdd(v + cols[k], sums[k]);
      __syncwarp();
    }
  }
}

template <class Kernel, class... Arguments>
static cudaError_t CSRCLaunch(Kernel kernel, int grid, int threads, size_t shared, int cluster, bool early, cudaStream_t stream, Arguments... arguments)
{
  cudaLaunchConfig_t    config = {};
  cudaLaunchAttribute attributes[2];

  config.gridDim          = dim3(grid);
  config.blockDim         = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream           = stream;
  config.attrs            = attributes;
  if (early) {
    attributes[config.numAttrs].id                                         = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster > 1) {
    attributes[config.numAttrs].id               = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs].val.clusterDim.x = cluster;
    attributes[config.numAttrs].val.clusterDim.y = 1;
    attributes[config.numAttrs++].val.clusterDim.z = 1;
  }
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}
