#pragma once

/*
  Makes the balanced layout of CSRC from a CSR on the device. csrcbalanced.cuh says what it is. Sorting and scans are CUB's.

  1. What the values allow. The host cuts the nonzeros into blocks (it has the row starts).
  2. A sort by block and column of the places of the nonzeros in the CSR; sizes of the columns of each chunk, and a scan: their
     places.
  3. Accumulators for the rows of each block. The host waits, for all that decides how much memory the form takes.
  4. Groups of the nonzeros of each tile, and the chunks that come of it. The host waits again: where too many leftovers remain,
     3. and 4. come once more with more accumulators.
  5. Leftovers, if any, are sorted by row.

  The result depends on nothing but the matrix and the parameters: where threads race, the smallest number wins.
*/
#include "csrcbalancedgroups.cuh"
#include "csrcbalancedleft.cuh"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

/* How many blocks of how many rows, and what they are made for */
struct CSRCBalancedShape {
  int threads; /* of a tile */
  int maxacc;  /* accumulators of a block, those for padding not counted */
  int maxrows;
  int nblocks; /* wanted */
  int maxcut;  /* more than there will be: a block has two fifths of an equal part of the nonzeros, or as many rows as may be */
};

template <class Scalar>
static CSRCBalancedShape CSRCChooseShape(const CSRCBalancedParams &params, int m, int nnz, int sms, int maxshared)
{
  CSRCBalancedShape s;

  /*
    Accumulators that fit: once, beside the lists of the transposed product with 512 threads and a table; twice, for two domains of
    A x; kt times. For a vector, two domains with tiles of 256 are faster than one with tiles of 512, and even than larger blocks. A
    few rows' room is left for copies.
  */
  const size_t room  = (size_t)maxshared - 1536 - 256 * sizeof(Scalar);
  const int    once  = std::min<int>((int)((room - 16 * (CSRC_CHUNK + 32) * (sizeof(Scalar) + sizeof(int))) / sizeof(Scalar)), 65535) / 16 * 16;
  const int    twice = std::min<int>((int)(room / 2 / sizeof(Scalar)), once) / 16 * 16;
  const double persm = params.kt > 1 ? 1 : params.persm;
  const int    rows  = (int)(m / (sms * persm)) + 1;
  const bool   large = params.kt > 1 || (persm < 1 && rows + rows / 16 + 512 <= once && rows + rows / 16 + 256 > twice);

  s.threads = params.tile ? params.tile : large ? 512 : 256;
  s.maxacc  = params.kt > 1 ? std::min<int>(once - s.threads, ((int)((maxshared - 256 * sizeof(Scalar)) / (params.kt * sizeof(Scalar))) - 1) / 16 * 16) : (s.threads == 512 ? once : twice) - s.threads;
  s.maxrows = std::max(1, s.maxacc - s.maxacc / 16);
  /* as many for each multiprocessor as it takes */
  const int wanted = params.kt > 1 ? sms * ((int)(m / (0.97 * s.maxrows * sms)) + 1) : std::max((int)(sms * persm), rows > s.maxrows ? (int)((m + (long long)s.maxrows * sms - 1) / ((long long)s.maxrows * sms)) * sms : 0);
  s.nblocks        = std::min(wanted, std::max(1, nnz / CSRC_CHUNK));
  s.maxcut         = 3 * s.nblocks + m / s.maxrows + 2;
  return s;
}

/* The memory of a form whose sizes are known, and its counts, which begin at zero */
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

/* CSRCBalancedMake() with keys that hold all of block n + column */
template <class Scalar, class Key, class Index>
static cudaError_t CSRCBalancedMakeKeyed(int m, int n, int nnz, const Index *hoststart, const Index *start, const Index *column, const Scalar *value, const CSRCBalancedParams &params, const CSRCBalancedShape &shape, int sms, bool keepfrom, cudaStream_t stream, CSRCBalancedForm<Scalar> *form, CSRCBalancedRefill<Scalar> *refill)
{
  CSRCBalancedForm<Scalar>   f = {};
  CSRCBalancedRefill<Scalar> r = {};
  CSRCScratch                scratch(stream, params.workspace), kept(stream);
  const int                  warps = shape.threads / 32, per = shape.threads * CSRC_PER_LANE;
  const size_t               chunks   = (size_t)nnz / CSRC_CHUNK + shape.maxcut; /* as many at most */
  const bool                 compress = params.compress && CSRCCompressible<Scalar>;
  int                        bits     = 1;

  while (bits < 8 * (int)sizeof(Key) && (unsigned long long)shape.maxcut * n > 1ull << bits) bits++;
  /* all scratch at once; ncopies stands behind found, both are copied to the host together */
  CSRCArrays             arrays;
  Key                   *key, *key2;
  int                   *place, *place2, *unit = nullptr, *ncopies;
  uint16_t              *firstcopy;
  float                 *shares;
  CSRCBlock             *block;
  CSRCFound             *found;
  char                  *temp, *memory;
  size_t                 sortbytes = 0, scanbytes = 0;
  cub::DoubleBuffer<Key> keys;
  cub::DoubleBuffer<int> places;

  CSRCTry(cub::DeviceRadixSort::SortPairs(nullptr, sortbytes, keys, places, nnz, 0, bits, stream));
  CSRCTry(cub::DeviceScan::ExclusiveSum(nullptr, scanbytes, unit, unit, (int)chunks, stream));
  const size_t tempbytes = std::max(sortbytes, scanbytes);
  arrays.add((char **)&found, sizeof(CSRCFound) + shape.maxcut * sizeof(int));
  arrays.add(&key, nnz);
  arrays.add(&key2, nnz);
  arrays.add(&place, nnz);
  arrays.add(&place2, nnz);
  arrays.add(&firstcopy, (size_t)m + shape.maxcut);
  arrays.add(&unit, chunks);
  arrays.add(&shares, shape.maxcut);
  arrays.add(&block, shape.maxcut);
  arrays.add(&temp, tempbytes);
  CSRCTry(arrays.get(scratch, &memory));
  ncopies = (int *)(found + 1);

  /* 1. */
  CSRCTry(cudaMemsetAsync(found, 0, sizeof(CSRCFound), stream));
  if (compress) CSRCTry(CSRCClassify(nnz, value, sms, stream, &found->values));
  std::vector<CSRCBlock> blocks = CSRCCutBlocks(hoststart, m, shape.nblocks, shape.maxrows);
  int                    ntiles = 0; /* of the block that has most */
  f.m                           = m;
  f.n                           = n;
  f.nnz                         = nnz;
  f.threads                     = shape.threads;
  f.nblocks                     = (int)blocks.size() - 1;
  f.team                        = 2 * f.nblocks <= sms && params.kt == 1 && params.persm < 1 ? (int)(1 / params.persm) : 1;
  f.nchunks                     = blocks.back().chunk;
  for (const CSRCBlock &b : blocks) f.nsplit += (b.split & 2) != 0;
  for (int g = 0; g < f.nblocks; g++) ntiles = std::max(ntiles, (blocks[g + 1].chunk - blocks[g].chunk + warps - 1) / warps);
  CSRCTry(cudaMemcpyAsync(block, blocks.data(), blocks.size() * sizeof(CSRCBlock), cudaMemcpyHostToDevice, stream));

  /* 2. */
  for (bits = 1; (unsigned long long)f.nblocks * n > 1ull << bits;) bits++;
  CSRCKeysKernel<<<(nnz + 1023) / 1024, 256, 0, stream>>>(block, f.nblocks, n, nnz, column, key, place);
  CSRCTry(cudaGetLastError());
  keys   = cub::DoubleBuffer<Key>(key, key2);
  places = cub::DoubleBuffer<int>(place, place2);
  CSRCTry(cub::DeviceRadixSort::SortPairs(temp, sortbytes, keys, places, nnz, 0, bits, stream));
  const Key *sorted      = keys.Current();
  const int *sortedplace = places.Current();
  /* what the sort has no more use for */
  int      *list = places.Alternate(); /* of leftovers */
  uint16_t *acc  = (uint16_t *)keys.Alternate();
  CSRCSortedKernel<<<std::min(f.nchunks / 8 + 1, 8 * sms), 256, 0, stream>>>(block, f.nblocks, f.nchunks, sorted, unit, found);
  CSRCTry(cudaGetLastError());
  CSRCTry(cub::DeviceScan::ExclusiveSum(temp, scanbytes, unit, unit, f.nchunks + 1, stream));

  /* 3. and 4. */
  const float                     tries[] = {8.0f, 4.0f, 2.0f, 1.0f, 0.5f, 0.25f}; /* the first would do without copies but for the heaviest rows */
  std::vector<char>               host(sizeof(CSRCFound) + f.nblocks * sizeof(int));
  const CSRCFound                *now        = (const CSRCFound *)host.data();
  const int                      *hostcopies = (const int *)(now + 1);
  std::vector<unsigned long long> table;

  for (float share : tries) {
    int most = 0; /* accumulators of a block */

    if (params.kt > 1 && share > 4) continue;       /* leftovers cost more there */
    if (f.memory && now->weight <= share) continue; /* there were no copies the last time, and would be none */
    f.share = share;
    CSRCCopiesKernel<<<f.nblocks, 512, 0, stream>>>(block, start, per, share, shape.maxacc, firstcopy, ncopies, shares, found);
    CSRCTry(cudaGetLastError());
    CSRCTry(cudaMemcpyAsync(host.data(), found, host.size(), cudaMemcpyDeviceToHost, stream));
    CSRCTry(cudaStreamSynchronize(stream));
    for (int g = 0; g < f.nblocks; g++) {
      blocks[g + 1].copy = blocks[g].copy + hostcopies[g];
      most               = std::max(most, blocks[g].nrows + hostcopies[g]);
    }
    f.ncopies      = blocks[f.nblocks].copy;
    f.accumulators = (most + f.threads + 15) / 16 * 16;
    f.meanrun      = (double)nnz / now->runs;
    f.order        = params.order >= 0 ? (CSRCOrder)params.order : f.meanrun > 2.6 || params.kt > 1 ? CSRC_CONSECUTIVE : CSRC_INTERLEAVED;
    f.values       = compress ? CSRCChooseValues<Scalar>(now->values, &table) : CSRC_VALUES_FULL;
    f.columnbytes  = (size_t)now->units * CSRC_CHUNK;

    kept.release(&f.memory, false);
    CSRCTry(CSRCBalancedAllocate(keepfrom, kept, &f, &r));
    CSRCTry(cudaMemcpyAsync(f.block, blocks.data(), blocks.size() * sizeof(CSRCBlock), cudaMemcpyHostToDevice, stream));
    if (f.values == CSRC_VALUES_TABLE) {
      r.ntable = (int)table.size();
      table.resize(CSRC_TABLE, 0);
      CSRCTry(cudaMemcpyAsync(f.table, table.data(), CSRC_TABLE * sizeof(table[0]), cudaMemcpyHostToDevice, stream));
    }
    CSRCAccumulatorsKernel<<<(nnz + 2047) / 2048, 256, 0, stream>>>(f.block, f.nblocks, m, nnz, start, per, shares, firstcopy, acc, f.copyof);
    CSRCTry(cudaGetLastError());
    CSRCTry(CSRCGroups(params.banks, ntiles, most, f, r, sorted, sortedplace, acc, unit, value, list, found, stream));
    CSRCTry(cudaMemcpyAsync(&f.nleft, &found->nleft, sizeof(int), cudaMemcpyDeviceToHost, stream));
    CSRCTry(cudaStreamSynchronize(stream)); /* kernels that begin early read what stands here */
    /* a few may stay; but in a small matrix the first one costs a product with a vector a tenth of its time */
    if (!f.nleft || (f.nleft <= nnz / (params.kt > 1 ? 300 : 1000) && (params.kt > 1 || nnz >= 1048576 || share <= 1))) break;
    CSRCTry(cudaMemsetAsync(&found->nleft, 0, sizeof(int), stream));
  }

  /* 5. */
  if (f.nleft) {
    CSRCTry(CSRCLeft(list, (int *)keys.Alternate(), temp, tempbytes, start, column, value, keepfrom, kept, &f, &r));
    CSRCTry(cudaStreamSynchronize(stream));
  }
  kept.all.clear(); /* now the caller's */
  *form   = f;
  *refill = r;
  return cudaSuccess;
}

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
- refill - what new values need, if asked for

  Leaves nothing allocated if it fails.
*/
template <class Scalar, class Index>
static cudaError_t CSRCBalancedMake(int m, int n, int nnz, const Index *hoststart, const Index *start, const Index *column, const Scalar *value, const CSRCBalancedParams &params, bool keepfrom, cudaStream_t stream, CSRCBalancedForm<Scalar> *form, CSRCBalancedRefill<Scalar> *refill)
{
  int device, sms, maxshared;

  *form   = CSRCBalancedForm<Scalar>();
  *refill = CSRCBalancedRefill<Scalar>();
  CSRCTry(cudaGetDevice(&device));
  CSRCTry(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  CSRCTry(cudaDeviceGetAttribute(&maxshared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  const CSRCBalancedShape shape = CSRCChooseShape<Scalar>(params, m, nnz, sms, maxshared);
  const bool              small = (unsigned long long)shape.maxcut * n <= 1ull << 32;

  return (small ? CSRCBalancedMakeKeyed<Scalar, uint32_t, Index> : CSRCBalancedMakeKeyed<Scalar, unsigned long long, Index>)(m, n, nnz, hoststart, start, column, value, params, shape, sms, keepfrom, stream, form, refill);
}
