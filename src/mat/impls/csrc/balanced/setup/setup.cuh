#pragma once

/*
  Makes the balanced layout of CSRC from a CSR on the device; ../balanced.cuh says what it is. Each step is a function of CSRCBalancedMaker:

  1. cut()        Finds out how values can be stored; the host, which has the row starts, cuts the nonzeros into blocks.
  2. sort()       Sorts the places of the nonzeros in the CSR by block and column, and counts the bytes for the columns of each chunk.
  3. copies()     Assigns accumulators to the rows of each block. The host waits for all that decides how much memory the form takes.
  4. chunks()     Allocates the form's memory, groups the nonzeros of each tile, and writes the chunks. The host waits for the count of
                  leftovers: if too many remain, 3. and 4. are repeated with more accumulators.
  5. leftovers()  Lists the remaining leftovers by row.

  The result depends on nothing but the matrix and the parameters: where threads race, the smallest number wins.
*/
#include "accumulators.cuh"
#include "chunks.cuh"
#include "overflow.cuh"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

/* How many blocks of how many rows, and what they are made for */
struct CSRCBalancedShape {
  int threads; /* of a tile */
  int maxacc;  /* accumulators of a block, those for padding not counted */
  int maxrows;
  int nblocks; /* wanted */
  int maxcut;  /* bound on the number of blocks: each has two fifths of an equal part of the nonzeros at least, or as many rows as allowed */
};

/*
  For a vector, two domains of A x with tiles of 256 are faster than one with tiles of 512, even if the latter allows larger blocks. So a
  block has as many rows as fit the shared memory with two sums each; only blocks for a team may have as many as fit with one.
*/
template <class Scalar>
static CSRCBalancedShape CSRCChooseShape(const CSRCBalancedParams &params, int m, int nnz, int sms, int maxshared)
{
  CSRCBalancedShape s;
  const bool        dense = params.kt > 1;
  const double      persm = dense ? 1 : params.persm;
  /* accumulators that fit once, beside the lists of the transposed product with 512 threads and a table; twice; and kt times */
  const size_t room  = (size_t)maxshared - 1536 - 256 * sizeof(Scalar);
  const int    once  = std::min<int>((int)((room - 16 * (CSRC_CHUNK + 32) * (sizeof(Scalar) + sizeof(int))) / sizeof(Scalar)), 65535) / 16 * 16;
  const int    twice = std::min<int>((int)(room / 2 / sizeof(Scalar)), once) / 16 * 16;
  const int    panel = ((int)((maxshared - 256 * sizeof(Scalar)) / (params.kt * sizeof(Scalar))) - 1) / 16 * 16;
  const int    rows  = (int)(m / (sms * persm)) + 1; /* of a block, if there are as many as asked for */
  const bool   large = dense || (persm < 1 && rows + rows / 16 + 512 <= once && rows + rows / 16 + 256 > twice);

  s.threads = params.tile ? params.tile : large ? 512 : 256;
  if (dense) s.maxacc = std::min(once - s.threads, panel);
  else s.maxacc = (s.threads == 512 ? once : twice) - s.threads;
  s.maxrows = std::max(1, s.maxacc - s.maxacc / 16); /* the others are for copies */

  /* as many blocks for each multiprocessor as it takes */
  int wanted = (int)(sms * persm);
  if (dense) wanted = sms * ((int)(m / (0.97 * s.maxrows * sms)) + 1);
  else if (rows > s.maxrows) wanted = std::max(wanted, (int)((m + (long long)s.maxrows * sms - 1) / ((long long)s.maxrows * sms)) * sms);
  s.nblocks = std::min(wanted, std::max(1, nnz / CSRC_CHUNK));
  s.maxcut  = 3 * s.nblocks + m / s.maxrows + 2;
  return s;
}

/* Allocates a form whose sizes are known, and its counters, which begin at zero */
template <class Scalar>
static cudaError_t CSRCBalancedAllocate(bool keepfrom, CSRCScratch &kept, CSRCBalancedForm<Scalar> *f, CSRCBalancedRefill<Scalar> *r)
{
  const size_t slots = (size_t)f->nchunks * CSRC_CHUNK, ncounts = 3 + (f->nsplit ? f->nblocks : 0);
  CSRCArrays   arrays;
  unsigned    *counts;

  arrays.add(&counts, ncounts);
  arrays.add(&f->block, (size_t)f->nblocks + 1);
  arrays.add(&f->head, f->nchunks);
  arrays.add(&f->column, f->columnbytes);
  arrays.add(&f->acc, slots);
  arrays.add(&f->v, slots * CSRCValueBytes<Scalar>(f->values));
  if (f->values == CSRC_VALUES_TABLE) arrays.add(&f->table, CSRC_TABLE);
  if (f->ncopies) arrays.add(&f->copyof, f->ncopies);
  if (f->nsplit) arrays.add(&f->carry, 2 * (size_t)f->nblocks);
  if (keepfrom) arrays.add(&r->from, slots);
  CSRCTry(arrays.get(kept, &f->memory));
  f->zero = counts;
  if (keepfrom) r->misfit = (int *)(counts + 2);
  if (f->nsplit) f->arrived = counts + 3;
  return cudaMemsetAsync(counts, 0, ncounts * sizeof(*counts), kept.stream);
}

/* The CSR that a form is made from */
template <class Scalar, class Index>
struct CSRCSource {
  int           m, n, nnz;
  const Index  *hoststart;      /* row starts, on the host */
  const Index  *start, *column; /* on the device */
  const Scalar *value;
};

/* Makes one form. Key holds all of block n + column. What is not kept is freed with the object. */
template <class Scalar, class Key, class Index>
class CSRCBalancedMaker {
public:
  CSRCBalancedMaker(const CSRCSource<Scalar, Index> &source, const CSRCBalancedParams &params_, const CSRCBalancedShape &shape_, int sms_, bool keepfrom_, cudaStream_t stream_)
    : A(source),
      params(params_),
      shape(shape_),
      sms(sms_),
      keepfrom(keepfrom_),
      compress(params_.compress && CSRCCompressible<Scalar>),
      stream(stream_),
      scratch(stream_, params_.workspace),
      kept(stream_)
  {
  }

  cudaError_t make(CSRCBalancedForm<Scalar> *form, CSRCBalancedRefill<Scalar> *refill)
  {
    CSRCTry(allocate());
    CSRCTry(cut());
    CSRCTry(sort());
    for (float share : {8.0f, 4.0f, 2.0f, 1.0f, 0.5f, 0.25f}) { /* with the first, only the heaviest rows have copies */
      if (params.kt > 1 && share > 4) continue;                 /* with dense matrices leftovers cost more */
      if (f.memory && now->weight <= share) continue;           /* no row would have copies, as in the last attempt */
      CSRCTry(copies(share));
      CSRCTry(chunks());
      if (fewleft()) break;
      CSRCTry(cudaMemsetAsync(&found->nleft, 0, sizeof(int), stream));
    }
    if (f.nleft) CSRCTry(leftovers());
    kept.all.clear(); /* the caller owns it now */
    *form   = f;
    *refill = r;
    return cudaSuccess;
  }

private:
  /* All scratch at once */
  cudaError_t allocate()
  {
    const size_t           most = (size_t)A.nnz / CSRC_CHUNK + shape.maxcut; /* chunks, at most */
    CSRCArrays             arrays;
    cub::DoubleBuffer<Key> keys;
    cub::DoubleBuffer<int> places;
    char                  *memory;

    CSRCTry(cub::DeviceRadixSort::SortPairs(nullptr, sortbytes, keys, places, A.nnz, 0, CSRCBits((unsigned long long)shape.maxcut * A.n), stream));
    CSRCTry(cub::DeviceScan::ExclusiveSum(nullptr, scanbytes, unit, unit, (int)most, stream));
    tempbytes = std::max(sortbytes, scanbytes);
    arrays.add((char **)&found, sizeof(CSRCFound) + shape.maxcut * sizeof(int));
    arrays.add(&key, A.nnz);
    arrays.add(&key2, A.nnz);
    arrays.add(&place, A.nnz);
    arrays.add(&place2, A.nnz);
    arrays.add(&firstcopy, (size_t)A.m + shape.maxcut);
    arrays.add(&unit, most);
    arrays.add(&shares, shape.maxcut);
    arrays.add(&block, shape.maxcut);
    arrays.add(&temp, tempbytes);
    CSRCTry(arrays.get(scratch, &memory));
    ncopies = (int *)(found + 1);
    return cudaMemsetAsync(found, 0, sizeof(CSRCFound), stream);
  }

  cudaError_t cut()
  {
    const int warps = shape.threads / 32;

    if (compress) CSRCTry(CSRCClassify(A.nnz, A.value, sms, stream, &found->values));
    blocks    = CSRCCutBlocks(A.hoststart, A.m, shape.nblocks, shape.maxrows);
    f.m       = A.m;
    f.n       = A.n;
    f.nnz     = A.nnz;
    f.threads = shape.threads;
    f.nblocks = (int)blocks.size() - 1;
    f.team    = 2 * f.nblocks <= sms && params.kt == 1 && params.persm < 1 ? (int)(1 / params.persm) : 1;
    f.nchunks = blocks.back().chunk;
    for (int g = 0; g < f.nblocks; g++) {
      f.nsplit += (blocks[g].split & 2) != 0;
      mosttiles = std::max(mosttiles, (blocks[g + 1].chunk - blocks[g].chunk + warps - 1) / warps);
    }
    host.resize(sizeof(CSRCFound) + f.nblocks * sizeof(int));
    now = (const CSRCFound *)host.data();
    return cudaMemcpyAsync(block, blocks.data(), blocks.size() * sizeof(CSRCBlock), cudaMemcpyHostToDevice, stream);
  }

  cudaError_t sort()
  {
    cub::DoubleBuffer<Key> keys(key, key2);
    cub::DoubleBuffer<int> places(place, place2);

    CSRCKeysKernel<<<(A.nnz + 1023) / 1024, 256, 0, stream>>>(block, f.nblocks, A.n, A.nnz, A.column, key, place);
    CSRCTry(cudaGetLastError());
    CSRCTry(cub::DeviceRadixSort::SortPairs(temp, sortbytes, keys, places, A.nnz, 0, CSRCBits((unsigned long long)f.nblocks * A.n), stream));
    sorted      = keys.Current();
    sortedplace = places.Current();
    spare       = keys.Alternate();
    list        = places.Alternate();
    CSRCSortedKernel<<<std::min(f.nchunks / 8 + 1, 8 * sms), 256, 0, stream>>>(block, f.nblocks, f.nchunks, sorted, unit, found);
    CSRCTry(cudaGetLastError());
    return cub::DeviceScan::ExclusiveSum(temp, scanbytes, unit, unit, f.nchunks + 1, stream);
  }

  /* share: nonzeros of a tile that may use an accumulator */
  cudaError_t copies(float share)
  {
    const int *hostcopies = (const int *)(now + 1);

    f.share = share;
    CSRCCopiesKernel<<<f.nblocks, 512, 0, stream>>>(block, A.start, shape.threads * CSRC_PER_LANE, share, shape.maxacc, firstcopy, ncopies, shares, found);
    CSRCTry(cudaGetLastError());
    CSRCTry(cudaMemcpyAsync(host.data(), found, host.size(), cudaMemcpyDeviceToHost, stream));
    CSRCTry(cudaStreamSynchronize(stream));
    mostaccs = 0;
    for (int g = 0; g < f.nblocks; g++) {
      blocks[g + 1].copy = blocks[g].copy + hostcopies[g];
      mostaccs           = std::max(mostaccs, blocks[g].nrows + hostcopies[g]);
    }
    f.ncopies      = blocks[f.nblocks].copy;
    f.accumulators = (mostaccs + f.threads + 15) / 16 * 16;
    f.meanrun      = (double)A.nnz / now->runs;
    f.order        = params.order >= 0 ? (CSRCOrder)params.order : f.meanrun > 2.6 || params.kt > 1 ? CSRC_CONSECUTIVE : CSRC_INTERLEAVED;
    f.values       = compress ? CSRCChooseValues<Scalar>(now->values, &table) : CSRC_VALUES_FULL;
    f.columnbytes  = (size_t)now->units * CSRC_CHUNK;
    return cudaSuccess;
  }

  cudaError_t chunks()
  {
    uint16_t *const acc = (uint16_t *)spare; /* of each nonzero, in the order of the CSR */

    kept.release(&f.memory);
    CSRCTry(CSRCBalancedAllocate(keepfrom, kept, &f, &r));
    CSRCTry(cudaMemcpyAsync(f.block, blocks.data(), blocks.size() * sizeof(CSRCBlock), cudaMemcpyHostToDevice, stream));
    if (f.values == CSRC_VALUES_TABLE) {
      r.ntable = (int)table.size();
      table.resize(CSRC_TABLE, 0);
      CSRCTry(cudaMemcpyAsync(f.table, table.data(), CSRC_TABLE * sizeof(table[0]), cudaMemcpyHostToDevice, stream));
    }
    CSRCAccumulatorsKernel<<<(A.nnz + 2047) / 2048, 256, 0, stream>>>(f.block, f.nblocks, A.m, A.nnz, A.start, shape.threads * CSRC_PER_LANE, shares, firstcopy, acc, f.copyof);
    CSRCTry(cudaGetLastError());
    CSRCTry(CSRCChunks(params.banks, mosttiles, mostaccs, f, r, sorted, sortedplace, acc, unit, A.value, list, found, stream));
    CSRCTry(cudaMemcpyAsync(&f.nleft, &found->nleft, sizeof(int), cudaMemcpyDeviceToHost, stream));
    return cudaStreamSynchronize(stream); /* kernels that begin early read what stands here */
  }

  /* A few leftovers are accepted; but in a small matrix even one costs a product with a vector a tenth of its time */
  bool fewleft() const
  {
    if (!f.nleft) return true;
    if (params.kt > 1) return f.nleft <= A.nnz / 300;
    return f.nleft <= A.nnz / 1000 && (A.nnz >= 1048576 || f.share <= 1);
  }

  cudaError_t leftovers()
  {
    CSRCTry(CSRCLeft(list, (int *)spare, temp, tempbytes, A.start, A.column, A.value, keepfrom, kept, &f, &r));
    return cudaStreamSynchronize(stream);
  }

  const CSRCSource<Scalar, Index> A;
  const CSRCBalancedParams        params;
  const CSRCBalancedShape         shape;
  const int                       sms;
  const bool                      keepfrom, compress;
  const cudaStream_t              stream;
  CSRCScratch                     scratch, kept;

  /* the result */
  CSRCBalancedForm<Scalar>   f = {};
  CSRCBalancedRefill<Scalar> r = {};

  /* on the host */
  std::vector<CSRCBlock>          blocks;
  std::vector<unsigned long long> table;               /* see CSRCChooseValues() */
  std::vector<char>               host;                /* found and ncopies, as they were last */
  const CSRCFound                *now       = nullptr; /* points into host */
  int                             mosttiles = 0;       /* of any block */
  int                             mostaccs  = 0;       /* likewise, those for padding not counted */

  /* scratch on the device */
  CSRCFound *found;
  int       *ncopies; /* of each block; stands behind found, both are copied to the host together */
  Key       *key, *key2;
  int       *place, *place2;
  uint16_t  *firstcopy;
  int       *unit = nullptr; /* where the columns of each chunk begin, in units of 256 bytes */
  float     *shares;
  CSRCBlock *block;
  char      *temp;
  size_t     sortbytes = 0, scanbytes = 0, tempbytes;

  /* the arrays of keys and places that the sort has filled, and those that it no longer needs */
  const Key *sorted;
  const int *sortedplace;
  Key       *spare;
  int       *list; /* of leftovers */
};

/*
  Input Parameters:
+ m, n, nnz      - sizes; nnz > 0 and all below 2^31
. hoststart      - row starts on the host, m + 1
. start, column  - CSR on the device
. value          - its values, on the device
. params         - see CSRCBalancedParams
. keepfrom       - whether what new values need is kept
- stream         - where the work is done; the function waits for it

  Output Parameters:
+ form   - the layout; which kernels multiply with it is for CSRCBalancedPrepare() to choose
- refill - what new values need, if keepfrom is true

  Leaves nothing allocated if it fails.
*/
template <class Scalar, class Index>
static cudaError_t CSRCBalancedMake(int m, int n, int nnz, const Index *hoststart, const Index *start, const Index *column, const Scalar *value, const CSRCBalancedParams &params, bool keepfrom, cudaStream_t stream, CSRCBalancedForm<Scalar> *form,
                                    CSRCBalancedRefill<Scalar> *refill)
{
  int device, sms, maxshared;

  *form   = CSRCBalancedForm<Scalar>();
  *refill = CSRCBalancedRefill<Scalar>();
  CSRCTry(cudaGetDevice(&device));
  CSRCTry(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  CSRCTry(cudaDeviceGetAttribute(&maxshared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  const CSRCSource<Scalar, Index> source = {m, n, nnz, hoststart, start, column, value};
  const CSRCBalancedShape         shape  = CSRCChooseShape<Scalar>(params, m, nnz, sms, maxshared);
  const bool                      small  = (unsigned long long)shape.maxcut * n <= 1ull << 32; /* keys of 32 bits do */

  if (small) return CSRCBalancedMaker<Scalar, uint32_t, Index>(source, params, shape, sms, keepfrom, stream).make(form, refill);
  return CSRCBalancedMaker<Scalar, unsigned long long, Index>(source, params, shape, sms, keepfrom, stream).make(form, refill);
}
