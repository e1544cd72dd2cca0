#pragma once

/*
  Makes the balanced layout of CSRC, which ../balanced.cuh describes, from a CSR on the device. Each step is a function of
  CSRCBalancedMaker:

  1. pair()       Decides whether two thread blocks share a row block, for which the host may wait for a count.
  2. cut()        Launches the kernel that finds how values can be stored. The host, which has the row pointers, cuts the nonzeros into row
                  blocks.
  3. sort()       Sorts the places of the nonzeros in the CSR by row block and column, and finds the span of the columns of each chunk.
  4. replicas()   Assigns accumulators to the rows of each row block, after which it is known how many bits they leave to columns. The host
                  waits for everything that determines the size of the matrix.
     excess()     For vectors, in matrices that are not large, counts the nonzeros of each row in each tile, which shows numbers of accumulators that cannot
                  be enough. The host waits for that, too.
  5. chunks()     Allocates the matrix, assigns the nonzeros of each tile to conflict-free steps, and writes the chunks. The host waits for
                  the size of the overflow. If it is too large, steps 4 and 5 are repeated with more accumulators; before that, with offsets in
                  place of columns with accumulators for a few crowded chunks. What excess() excludes is not tried.
  6. overflow()   Lists the overflow by row.

  The result depends only on the matrix and the parameters: where threads race, the one with the smallest number wins.
*/
#include "accumulators.cuh"
#include "chunks.cuh"
#include "overflow.cuh"
#include "pairs.cuh"
#include "mat/impls/csrc/balanced/kernels/transposematmultinterleaved.cuh"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <numeric>

/* Number and size of the row blocks */
struct CSRCBalancedShape {
  int tilethreads; /* threads that process a tile: 32 for each of its chunks */
  int maxacc;      /* maximum number of accumulators of a row block, without those for padding */
  int maxrows;
  int cluster; /* number of thread blocks that share a row block in products with one vector */
  int nblocks; /* number of row blocks to aim for */
  int maxcut;  /* bound on the number of row blocks: each has at least two fifths of an equal part of the nonzeros, or the maximum number of rows */
};

/*
  For a vector, two warp groups of A x with tiles of 256 threads are faster than one group with tiles of 512, even if the latter allows
  larger row blocks. Therefore a row block has at most as many rows as fit the shared memory with two sums each; only row blocks for a
  cluster may have as many as fit with one sum each.
*/
template <class Scalar>
static CSRCBalancedShape CSRCChooseShape(const CSRCBalancedParams &params, int cluster, int m, int nnz, int sms, int maxshared)
{
  CSRCBalancedShape s;
  const bool        dense = params.kt > 1;
  /*
    numbers of accumulators that fit the shared memory: once, beside the lists of A^T u with 512 threads and a table; twice; and kt times
  */
  const CSRCBalancedMatrix<Scalar> none     = {}; /* without accumulators: what remains is for these */
  const size_t                     room     = (size_t)maxshared - CSRC_SHARED_FIXED;
  const int                        once     = std::min<int>((int)((room - CSRCSharedBytes<CSRCTransposeShared<Scalar>>(none, CSRC_VALUES_TABLE, 512 / 32)) / sizeof(Scalar)), 65535) / 16 * 16;
  const int                        twice    = std::min<int>((int)((room - CSRCSharedBytes<CSRCMultShared<Scalar>>(none, CSRC_VALUES_TABLE, 2)) / 2 / sizeof(Scalar)), once) / 16 * 16;
  const int                        panel    = ((int)((maxshared - 256 * sizeof(Scalar)) / (params.kt * sizeof(Scalar))) - 1) / 16 * 16;
  const int                        clusters = std::max(1, sms / cluster), rows = m / clusters + 1; /* number of clusters that run at once, and of rows of a row block if each has one */
  const bool                       large = dense || (cluster > 1 && rows + rows / 16 + 512 <= once && rows + rows / 16 + 256 > twice);

  s.cluster     = cluster;
  s.tilethreads = params.tile ? params.tile : large ? 512 : 256;
  if (dense) s.maxacc = std::min(once - s.tilethreads, panel);
  else s.maxacc = (s.tilethreads == 512 ? once : twice) - s.tilethreads;
  s.maxacc  = std::min(s.maxacc, (int)((size_t)maxshared / CSRCSharedBytes<CSRCClaimsShared>(1)));
  s.maxrows = std::max(1, s.maxacc - s.maxacc / CSRC_REPLICA_ROOM); /* the other accumulators are for replicas */

  /* so many row blocks for each multiprocessor that no row block has too many rows */
  int wanted = clusters;
  if (dense) wanted = sms * ((int)(m / (CSRC_DENSE_FILL * s.maxrows * sms)) + 1);
  else if (rows > s.maxrows) wanted = std::max(wanted, (int)((m + (long long)s.maxrows * sms - 1) / ((long long)s.maxrows * sms)) * sms);
  s.nblocks = std::min(wanted, std::max(1, nnz / CSRC_CHUNK));
  s.maxcut  = 3 * s.nblocks + m / s.maxrows + 2;
  return s;
}

/*
  Whether it is worth a look if two thread blocks should share a row block: the matrix is large enough, and the accumulators fit the shared
  memory as often as any product with vectors needs them, which is twice, beside the lists of A^T U of two columns.
*/
template <class Scalar>
static bool CSRCMayPair(int m, int nnz, int pairfrom, int sms, int maxshared)
{
  const int                  rows = m / std::max(1, sms / 2) + 1;
  CSRCBalancedMatrix<Scalar> A    = {};

  A.values       = CSRC_VALUES_TABLE;
  A.tilethreads  = 256;
  A.accumulators = rows + rows / CSRC_REPLICA_ROOM + A.tilethreads;
  return sms > 1 && nnz >= pairfrom && nnz / CSRC_PAIR_ROW >= m && CSRCTransposeMatMultInterleavedThreads<2>(A, (size_t)(maxshared - CSRC_SHARED_FIXED)) > 0;
}

/* Allocates a matrix whose sizes are known, and its counters, which are zero at first */
template <class Scalar>
static cudaError_t CSRCBalancedAllocate(bool keepfrom, CSRCScratch &kept, CSRCBalancedMatrix<Scalar> *A, CSRCBalancedRefill<Scalar> *r)
{
  const size_t slots = (size_t)A->nchunks * CSRC_CHUNK, ncounts = 3 + (A->nsplit ? A->nblocks : 0);
  CSRCArrays   arrays;
  unsigned    *counts;

  arrays.add(&counts, ncounts);
  arrays.add(&A->block, (size_t)A->nblocks + 1);
  arrays.add(&A->head, A->nchunks);
  arrays.add(&A->column, A->columnbytes);
  arrays.add(&A->acc, slots);
  arrays.add(&A->v, (size_t)A->nchunks * CSRCChunkValueBytes(*A));
  if (A->values == CSRC_VALUES_TABLE) arrays.add(&A->table, CSRC_TABLE);
  if (A->nreplicas) arrays.add(&A->replicarow, A->nreplicas);
  if (A->nsplit) arrays.add(&A->carry, 2 * (size_t)A->nblocks);
  if (keepfrom) arrays.add(&r->from, slots);
  CSRCTry(arrays.get(kept, &A->memory));
  A->zero = counts;
  if (keepfrom) r->misfit = (int *)(counts + 2);
  if (A->nsplit) A->arrived = counts + 3;
  return cudaMemsetAsync(counts, 0, ncounts * sizeof(*counts), kept.stream);
}

/* Makes one matrix. Key can hold every value of block n + column. The destructor frees scratch and, unless make() succeeds, the matrix. */
template <class Scalar, class Key, class Index>
class CSRCBalancedMaker {
public:
  CSRCBalancedMaker(const CSRCSource<Scalar, Index> &source, const CSRCBalancedParams &params_, const CSRCBalancedShape &alone_, const CSRCBalancedShape &paired_, int sms_, bool keepfrom_, cudaStream_t stream_)
    : csr(source),
      params(params_),
      alone(alone_),
      paired(paired_),
      sms(sms_),
      keepfrom(keepfrom_),
      compress(params_.compress && CSRCCompressible<Scalar>),
      stream(stream_),
      scratch(stream_, params_.workspace),
      kept(stream_)
  {
  }

  cudaError_t make(CSRCBalancedMatrix<Scalar> *matrix, CSRCBalancedRefill<Scalar> *refill)
  {
    CSRCTry(allocate());
    CSRCTry(pair());
    CSRCTry(cut());
    CSRCTry(sort());
    for (int t = 0; t < CSRC_NSHARES; t++) { /* with the first share, only the heaviest rows have replicas */
      const float share = CSRCShare(t);

      if (params.kt > 1 && share > CSRC_SHARE_DENSE) continue; /* with dense matrices overflow costs more */
      if (hopeless(t)) continue;
      if (A.memory && now->weight <= share) continue;                 /* no row would have replicas, as in the last attempt */
      const bool first = !A.memory, without = !first && !A.nreplicas; /* without: the last attempt had no replicas */
      CSRCTry(replicas(share));
      if (t == 0 && params.kt == 1 && csr.nnz < CSRC_EXCESS_BELOW && now->weight > CSRCShare(1)) CSRCTry(excess()); /* the next attempt would have other replicas */
      if (hopeless(t)) continue;
      if (!without || A.nreplicas) CSRCTry(chunks()); /* if both attempts have none, the chunks are the same */
      if (first && fewcrowded()) {                    /* the same once more, except that crowded chunks use offsets */
        widen = true;
        CSRCTry(chunks());
      }
      if (littleoverflow(A.noverflow, share)) break;
    }
    if (A.noverflow) CSRCTry(overflow());
    kept.all.clear(); /* the caller owns the memory from now on */
    *matrix = A;
    *refill = r;
    return cudaSuccess;
  }

private:
  /* Allocates all scratch, whose size is bounded by that for the shape 'alone' */
  cudaError_t allocate()
  {
    const size_t           most = (size_t)csr.nnz / CSRC_CHUNK + shape.maxcut; /* maximum number of chunks */
    CSRCArrays             arrays;
    cub::DoubleBuffer<Key> keys;
    cub::DoubleBuffer<int> places;
    char                  *memory;

    CSRCTry(cub::DeviceRadixSort::SortPairs(nullptr, sortbytes, keys, places, csr.nnz, 0, CSRCBits((unsigned long long)shape.maxcut * csr.n), stream));
    CSRCTry(cub::DeviceScan::ExclusiveSum(nullptr, scanbytes, unit, unit, (int)most + 1, stream));
    tempbytes = std::max(sortbytes, scanbytes);
    arrays.add((char **)&found, sizeof(CSRCFound) + shape.maxcut * sizeof(int));
    arrays.add(&key, csr.nnz);
    arrays.add(&key2, csr.nnz);
    arrays.add(&place, csr.nnz);
    arrays.add(&place2, csr.nnz);
    arrays.add(&replica.first, (size_t)csr.m + shape.maxcut);
    arrays.add(&unit, most + 1);
    arrays.add(&span, most);
    arrays.add(&replica.share, shape.maxcut);
    arrays.add(&block, shape.maxcut);
    arrays.add(&temp, tempbytes);
    CSRCTry(arrays.get(scratch, &memory));
    replica.count = (int *)(found + 1);
    return cudaMemsetAsync(found, 0, sizeof(CSRCFound), stream);
  }

  /* Chooses the shape 'paired' if it is asked for, or if it saves enough additions to v. The marks use the memory of the keys. */
  cudaError_t pair()
  {
    const int            nsectors = csr.n / CSRCSectorColumns<Scalar> + 1, npairs = sms / 2, each = csr.nnz / sms;
    const size_t         bytes   = 2 * CSRC_PAIRS_SAMPLED * (size_t)nsectors;
    unsigned char *const touched = (unsigned char *)key;
    int                  twice;

    if (!paired.nblocks) return cudaSuccess;
    if (params.cluster == 0) {
      if (bytes > csr.nnz * sizeof(Key)) return cudaSuccess; /* so many columns that hardly two row blocks share one */
      CSRCTry(cudaMemsetAsync(touched, 0, bytes, stream));
      CSRCTouchedKernel<Scalar><<<2 * CSRC_PAIRS_SAMPLED * CSRC_PAIR_GRID, 256, 0, stream>>>(npairs, each, nsectors, csr.column, touched);
      CSRCTry(cudaGetLastError());
      CSRCTouchedTwiceKernel<<<std::min(nsectors / 256 + 1, 8 * sms), 256, 0, stream>>>(nsectors, touched, &found->twice);
      CSRCTry(cudaGetLastError());
      CSRCTry(cudaMemcpyAsync(&twice, &found->twice, sizeof(twice), cudaMemcpyDeviceToHost, stream));
      CSRCTry(cudaStreamSynchronize(stream));
      if (CSRC_PAIR_GAIN * (double)twice <= 2.0 * CSRC_PAIRS_SAMPLED * each) return cudaSuccess;
    }
    shape = paired;
    return cudaSuccess;
  }

  cudaError_t cut()
  {
    if (compress) CSRCTry(CSRCClassify(csr.nnz, csr.value, sms, stream, &found->values));
    blocks = CSRCCutRowBlocks(csr.hoststart, csr.m, shape.nblocks, shape.maxrows);
    if (shape.cluster > 1 && shape.cluster * ((int)blocks.size() - 1) > sms) { /* rows are so unequal that not all clusters would run at once */
      shape  = alone;
      blocks = CSRCCutRowBlocks(csr.hoststart, csr.m, shape.nblocks, shape.maxrows);
    }
    const int warps = shape.tilethreads / 32;

    A.m           = csr.m;
    A.n           = csr.n;
    A.nnz         = csr.nnz;
    A.tilethreads = shape.tilethreads;
    A.nblocks     = (int)blocks.size() - 1;
    A.cluster     = shape.cluster;
    A.nchunks     = blocks.back().chunk;
    for (int g = 0; g < A.nblocks; g++) {
      A.nsplit += (blocks[g].split & 2) != 0;
      mosttiles = std::max(mosttiles, (blocks[g + 1].chunk - blocks[g].chunk + warps - 1) / warps);
    }
    host.resize(sizeof(CSRCFound) + A.nblocks * sizeof(int));
    now = (CSRCFound *)host.data();
    return cudaMemcpyAsync(block, blocks.data(), blocks.size() * sizeof(CSRCRowBlock), cudaMemcpyHostToDevice, stream);
  }

  cudaError_t sort()
  {
    cub::DoubleBuffer<Key> keys(key, key2);
    cub::DoubleBuffer<int> places(place, place2);

    CSRCKeysKernel<<<(csr.nnz + 1023) / 1024, 256, 0, stream>>>(block, A.nblocks, csr.n, csr.nnz, csr.column, key, place);
    CSRCTry(cudaGetLastError());
    CSRCTry(cub::DeviceRadixSort::SortPairs(temp, sortbytes, keys, places, csr.nnz, 0, CSRCBits((unsigned long long)A.nblocks * csr.n), stream));
    sorted      = keys.Current();
    sortedplace = places.Current();
    spare       = keys.Alternate();
    list        = places.Alternate();
    CSRCSortedKernel<<<std::min(A.nchunks / 8 + 1, 8 * sms), 256, 0, stream>>>(block, A.nblocks, A.nchunks, sorted, span, found);
    return cudaGetLastError();
  }

  /* Finds which shares cannot be enough. Rows are numbered as accumulators are without replicas, which a large share gives. */
  cudaError_t excess()
  {
    CSRCBalancedMatrix<Scalar> rows   = A;
    CSRCReplicas               none   = replica;
    const size_t               shared = sizeof(int) * (size_t)mostaccs; /* room for all rows of a row block */

    rows.block = block;
    none.share = (float *)unit; /* free until chunks() */
    CSRCTry(cudaMemsetAsync(none.share, 0x7f, A.nblocks * sizeof(*none.share), stream));
    CSRCAccumulatorsKernel<<<(csr.nnz + 2047) / 2048, 256, 0, stream>>>(rows, csr.start, shape.tilethreads * CSRC_PER_LANE, none, (uint16_t *)spare);
    CSRCTry(cudaGetLastError());
    CSRCTry(cudaFuncSetAttribute(CSRCExcessKernel<Index>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
    CSRCExcessKernel<<<mosttiles * A.nblocks, shape.tilethreads, shared, stream>>>(block, csr.start, sortedplace, (const uint16_t *)spare, mosttiles, found);
    CSRCTry(cudaGetLastError());
    CSRCTry(cudaMemcpyAsync(now->excess, found->excess, sizeof(now->excess), cudaMemcpyDeviceToHost, stream));
    return cudaStreamSynchronize(stream);
  }

  /* share: number of nonzeros of a tile that may share an accumulator on average */
  cudaError_t replicas(float share)
  {
    const int *hostreplicas = (const int *)(now + 1);

    A.share = share;
    CSRCReplicasKernel<<<A.nblocks, 512, 0, stream>>>(block, csr.start, shape.tilethreads * CSRC_PER_LANE, share, shape.maxacc, replica, found);
    CSRCTry(cudaGetLastError());
    CSRCTry(cudaMemcpyAsync(host.data(), found, host.size(), cudaMemcpyDeviceToHost, stream));
    CSRCTry(cudaStreamSynchronize(stream));
    mostaccs = 0;
    for (int g = 0; g < A.nblocks; g++) {
      blocks[g + 1].replica = blocks[g].replica + hostreplicas[g];
      mostaccs              = std::max(mostaccs, blocks[g].nrows + hostreplicas[g]);
    }
    A.nreplicas    = blocks[A.nblocks].replica;
    A.accumulators = (mostaccs + A.tilethreads + 15) / 16 * 16;
    A.meanrun      = (double)csr.nnz / now->runs;
    A.order        = params.order >= 0 ? (CSRCOrder)params.order : (A.meanrun > CSRC_LONG_RUN && A.cluster == 1) || params.kt > 1 ? CSRC_CONSECUTIVE : CSRC_INTERLEAVED;
    A.values       = compress ? CSRCChooseValues<Scalar>(now->values, &table) : CSRC_VALUES_FULL;
    A.valuebits    = A.values == CSRC_VALUES_FULL ? 8 * (int)sizeof(Scalar) : A.values == CSRC_VALUES_SINGLE ? 32 * CSRCParts<Scalar> : CSRCIndexBits(table);
    A.columnbits   = 16 - CSRCBits(A.accumulators);
    return cudaSuccess;
  }

  size_t columnbytes(const CSRCColumnRule &rule) const
  {
    size_t sum = 0;

    for (int s = 0; s < CSRC_SPANS; s++) sum += (size_t)now->chunks[s] * CSRC_UNIT * CSRCColumnUnits(rule((unsigned char)s));
    return sum;
  }

  cudaError_t chunks()
  {
    uint16_t *const acc  = (uint16_t *)spare; /* accumulators of the nonzeros, in the order of the CSR */
    CSRCColumnRule  rule = {A.columnbits, A.order == CSRC_CONSECUTIVE ? CSRC_BY_LANE : CSRC_WHOLE, widen};

    A.columnbytes = columnbytes(rule);
    if (rule.coding == CSRC_WHOLE && CSRCBalancedBytes(A) >= params.splitfrom) {
      const CSRCColumnRule split = {A.columnbits, CSRC_SPLIT, widen};

      if (CSRC_SPLIT_GAIN * (double)(A.columnbytes - columnbytes(split)) >= CSRCBalancedBytes(A)) rule = split;
    }
    A.columnbytes = columnbytes(rule);
    A.coding      = rule.coding;
    kept.release(&A.memory);
    CSRCTry(CSRCBalancedAllocate(keepfrom, kept, &A, &r));
    CSRCTry(cudaMemcpyAsync(A.block, blocks.data(), blocks.size() * sizeof(CSRCRowBlock), cudaMemcpyHostToDevice, stream));
    if (A.values == CSRC_VALUES_TABLE) {
      r.ntable = (int)table.size();
      CSRCTry(cudaMemsetAsync(A.table, 0, CSRC_TABLE * sizeof(table[0]), stream));
      CSRCTry(cudaMemcpyAsync(A.table, table.data(), table.size() * sizeof(table[0]), cudaMemcpyHostToDevice, stream));
    }
    CSRCAccumulatorsKernel<<<(csr.nnz + 2047) / 2048, 256, 0, stream>>>(A, csr.start, shape.tilethreads * CSRC_PER_LANE, replica, acc);
    CSRCTry(cudaGetLastError());
    CSRCUnitsKernel<<<A.nchunks / 256 + 1, 256, 0, stream>>>(A.nchunks, span, rule, unit);
    CSRCTry(cudaGetLastError());
    CSRCTry(cub::DeviceScan::ExclusiveSum(temp, scanbytes, unit, unit, A.nchunks + 1, stream));
    CSRCTry(CSRCChunks(params.bankrows, mosttiles, mostaccs, A, r, CSRCSorted<Scalar, Key>{sorted, sortedplace, acc, csr.value, rule, span, unit, list}, found, stream));
    CSRCTry(cudaMemcpyAsync(&now->noverflow, &found->noverflow, sizeof(now->noverflow) + sizeof(now->chunks), cudaMemcpyDeviceToHost, stream));
    CSRCTry(cudaMemsetAsync(&found->noverflow, 0, sizeof(int), stream)); /* for another attempt */
    CSRCTry(cudaStreamSynchronize(stream));                              /* also since a kernel that begins early may read the matrix before earlier kernels in the stream are done */
    A.noverflow = now->noverflow;
    return cudaSuccess;
  }

  /* Whether some chunks are crowded, but so few, and with so much of the overflow, that accumulators are not too few */
  bool fewcrowded() const
  {
    const int ncrowded = std::accumulate(now->chunks + CSRC_CROWDED, now->chunks + CSRC_SPANS, 0);

    return ncrowded && ncrowded <= A.nchunks / CSRC_CROWDED_SHARE && A.noverflow <= CSRC_CROWDED_EACH * ncrowded;
  }

  /*
    Whether there is no overflow, or so little that it is accepted. In a small matrix even one such nonzero costs a tenth of a product with
    a vector.
  */
  bool littleoverflow(int noverflow, float share) const
  {
    if (!noverflow) return true;
    if (params.kt > 1) return noverflow <= csr.nnz / CSRC_OVERFLOW_DENSE;
    return noverflow <= csr.nnz / CSRC_OVERFLOW && (csr.nnz >= CSRC_OVERFLOW_NONE || share <= 1);
  }

  /* Whether the overflow is certain to be too large with share t, and there is another one to try */
  bool hopeless(int t) const { return t < CSRC_NSHARES - 1 && !littleoverflow(now->excess[t], CSRCShare(t)); }

  cudaError_t overflow()
  {
    CSRCTry(CSRCStoreOverflow(csr, list, keepfrom ? nullptr : (int *)spare, temp, tempbytes, kept, &A, &r));
    return cudaStreamSynchronize(stream);
  }

  const CSRCSource<Scalar, Index> csr;
  const CSRCBalancedParams        params;
  const CSRCBalancedShape         alone, paired; /* a row block for each thread block, and for two; nblocks is 0 if that is not possible */
  const int                       sms;
  const bool                      keepfrom, compress;
  const cudaStream_t              stream;
  CSRCScratch                     scratch, kept;

  /* the result */
  CSRCBalancedMatrix<Scalar> A = {};
  CSRCBalancedRefill<Scalar> r = {};

  /* on the host */
  CSRCBalancedShape               shape = alone; /* the one that is taken */
  std::vector<CSRCRowBlock>       blocks;
  std::vector<unsigned long long> table;               /* see CSRCChooseValues() */
  std::vector<char>               host;                /* the last copy of found and the counts of replicas */
  CSRCFound                      *now       = nullptr; /* points into host */
  bool                            widen     = false;   /* see CSRCColumnRule */
  int                             mosttiles = 0;       /* largest number of tiles of a row block */
  int                             mostaccs  = 0;       /* largest number of accumulators of a row block, without those for padding */

  /* scratch on the device */
  CSRCFound     *found;
  CSRCReplicas   replica; /* its counts are stored after found, since both are copied to the host at once */
  Key           *key, *key2;
  int           *place, *place2;
  int           *unit = nullptr; /* position of the columns of each chunk, in units of CSRC_UNIT bytes */
  unsigned char *span;           /* as in CSRCFound */
  CSRCRowBlock  *block;
  char          *temp;
  size_t         sortbytes = 0, scanbytes = 0, tempbytes;

  /* of the arrays of keys and places: those with the sorted result, and those that are free after the sort */
  const Key *sorted;
  const int *sortedplace;
  Key       *spare;
  int       *list; /* places of the overflow in the CSR */
};

/* Clusters need compute capability 9 of the device, and of the code, which may be compiled from the PTX of an older one */
template <class Scalar>
static cudaError_t CSRCHasClusters(int device, bool *has)
{
  cudaFuncAttributes attributes;
  int                major;

  CSRCTry(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  CSRCTry(cudaFuncGetAttributes(&attributes, CSRCRefillOverflowKernel<Scalar>));
  *has = major >= 9 && attributes.ptxVersion >= 90;
  return cudaSuccess;
}

/*
  Makes the balanced layout from a CSR on the device

  Input Parameters:
+ csr      - the matrix
. params   - see CSRCBalancedParams
. keepfrom - whether to make what setting new values needs
- stream   - the stream for all device work; the function waits for it

  Output Parameters:
+ matrix - the stored matrix; CSRCBalancedPrepare() must be called before the first product with a vector
- refill - what setting new values needs, if keepfrom is true

  If the function fails, nothing stays allocated.
*/
template <class Scalar, class Index>
static cudaError_t CSRCBalancedMake(const CSRCSource<Scalar, Index> &csr, const CSRCBalancedParams &params, bool keepfrom, cudaStream_t stream, CSRCBalancedMatrix<Scalar> *matrix, CSRCBalancedRefill<Scalar> *refill)
{
  CSRCBalancedShape paired = {};
  bool              may    = params.kt == 1 && params.cluster != 1;
  int               device, sms, maxshared;

  *matrix = CSRCBalancedMatrix<Scalar>();
  *refill = CSRCBalancedRefill<Scalar>();
  CSRCTry(cudaGetDevice(&device));
  CSRCTry(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  CSRCTry(cudaDeviceGetAttribute(&maxshared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  if (params.cluster == 0) may = may && CSRCMayPair<Scalar>(csr.m, csr.nnz, params.pairfrom, sms, maxshared);
  if (may) CSRCTry(CSRCHasClusters<Scalar>(device, &may));
  if (may) paired = CSRCChooseShape<Scalar>(params, 2, csr.m, csr.nnz, sms, maxshared);
  const CSRCBalancedShape alone = CSRCChooseShape<Scalar>(params, 1, csr.m, csr.nnz, sms, maxshared);
  const bool              small = (unsigned long long)alone.maxcut * csr.n <= 1ull << 32; /* keys of 32 bits suffice */

  if (small) return CSRCBalancedMaker<Scalar, uint32_t, Index>(csr, params, alone, paired, sms, keepfrom, stream).make(matrix, refill);
  return CSRCBalancedMaker<Scalar, unsigned long long, Index>(csr, params, alone, paired, sms, keepfrom, stream).make(matrix, refill);
}
