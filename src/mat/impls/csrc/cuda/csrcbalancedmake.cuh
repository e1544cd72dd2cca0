#pragma once

/*
  Makes the balanced layout of CSRC from a CSR on the device. csrcbalanced.cuh says what it is. Sorting and scans are CUB's.

  1. The host cuts the nonzeros into blocks (it has the row starts).
  2. A sort by block and column of the places of the nonzeros in the CSR.
  3. Accumulators for the rows of each block, then the groups of the nonzeros of each tile, with more accumulators and
     smaller groups until few enough leftovers remain.
  4. Sizes of the columns of each chunk, and a scan: their places. Then the chunks are written.
  5. Leftovers are sorted by row.

  The result depends on nothing but the matrix and the parameters: where threads race, the smallest number wins.
*/
#include "csrcbalancedgroups.cuh"
#include "csrcbalancedchunks.cuh"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

/*
  Input Parameters:
+ m, n, nnz      - sizes; nnz > 0 and all below 2^31
. hoststart      - row starts on the host, m + 1
. start, column  - CSR on the device
. value          - its values, on the device
. params         - see CSRCBalancedParams
. keepfrom       - whether what new values need is kept
- stream         - where the work is done; the function waits for it several times

  Output Parameters:
+ form   - the layout; which kernels multiply with it is for CSRCBalancedPrepare() to choose
- refill - what new values need, if asked for

  Leaves nothing allocated if it fails.
*/
template <class Scalar, class Key, class Index>
static cudaError_t CSRCBalancedMakeKeyed(int m, int n, int nnz, int bits, const Index *hoststart, const Index *start, const Index *column, const Scalar *value, CSRCBalancedParams params, bool keepfrom, cudaStream_t stream, CSRCBalancedForm<Scalar> *form, CSRCBalancedRefill<Scalar> *refill)
{
  CSRCBalancedForm<Scalar>   f = {};
  CSRCBalancedRefill<Scalar> r = {};
  int                        device, sms, maxshared;

  *form   = f;
  *refill = r;
  CSRCTry(cudaGetDevice(&device));
  CSRCWorkspace workspace;
  if (!params.workspace) CSRCTry(workspace.create(device));
  const cudaMemPool_t pool = params.workspace ? params.workspace : workspace.pool;
  CSRCScratch         scratch(stream, pool), kept(stream);
  CSRCTry(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  CSRCTry(cudaDeviceGetAttribute(&maxshared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));

  /*
    Accumulators that fit: once, beside the lists of the transposed product with 512 threads and a table; twice, for two domains of
    A x; kt times. For a vector, two domains with tiles of 256 are faster than one with tiles of 512, and even than larger blocks. A
    few rows' room is left for copies.
  */
  const size_t room    = (size_t)maxshared - 1536 - 256 * sizeof(Scalar);
  const int    once    = std::min<int>((int)((room - 16 * (CSRC_CHUNK + 32) * (sizeof(Scalar) + sizeof(int))) / sizeof(Scalar)), 65535);
  const int    twice   = std::min<int>((int)(room / 2 / sizeof(Scalar)), once);
  const double persm   = params.kt > 1 ? 1 : params.persm;
  const int    rows    = (int)(m / (sms * persm)) + 1;
  const bool   large   = params.kt > 1 || (persm < 1 && rows + rows / 16 + 512 <= once && rows + rows / 16 + 256 > twice);
  const int    threads = params.tile ? params.tile : large ? 512 : 256, warps = threads / 32;
  const int    maxacc  = params.kt > 1 ? std::min<int>(once - threads, (int)((maxshared - 256 * sizeof(Scalar)) / (params.kt * sizeof(Scalar))) - 1) : (threads == 512 ? once : twice) - threads;
  const int    maxrows = std::max(1, maxacc - maxacc / 16);
  /* as many for each multiprocessor as it takes */
  const int    wanted  = params.kt > 1 ? sms * ((int)(m / (0.97 * maxrows * sms)) + 1) : std::max((int)(sms * persm), rows > maxrows ? (int)((m + (long long)maxrows * sms - 1) / ((long long)maxrows * sms)) * sms : 0);

  f.m       = m;
  f.n       = n;
  f.nnz     = nnz;
  f.threads = threads;
  std::vector<CSRCBlock> blocks = CSRCCutBlocks(hoststart, m, std::min(wanted, std::max(1, nnz / CSRC_CHUNK)), maxrows);
  f.nblocks = (int)blocks.size() - 1;
  f.team    = 2 * f.nblocks <= sms && persm < 1 ? (int)(1 / persm) : 1;
  f.nchunks = blocks.back().chunk;
  for (const CSRCBlock &b : blocks) f.nsplit += (b.split & 2) != 0;
  CSRCTry(kept.get(&f.block, blocks.size()));
  CSRCTry(cudaMemcpyAsync(f.block, blocks.data(), blocks.size() * sizeof(CSRCBlock), cudaMemcpyHostToDevice, stream));

  /* 2. */
  Key                *key, *key2;
  int                *place, *place2;
  void               *temp;
  size_t              tempbytes = 0;
  int                 blockbits = 1;
  unsigned long long *runs, hostruns = 0;

  while ((1 << blockbits) < f.nblocks) blockbits++;
  CSRCTry(scratch.get(&key, nnz));
  CSRCTry(scratch.get(&key2, nnz));
  CSRCTry(scratch.get(&place, nnz));
  CSRCTry(scratch.get(&place2, nnz));
  CSRCTry(scratch.get(&runs, 1));
  CSRCKeysKernel<<<(nnz + 1023) / 1024, 256, 0, stream>>>(f.block, f.nblocks, nnz, bits, column, key, place);
  CSRCTry(cudaGetLastError());
  cub::DoubleBuffer<Key> keys(key, key2);
  cub::DoubleBuffer<int> places(place, place2);
  CSRCTry(cub::DeviceRadixSort::SortPairs(nullptr, tempbytes, keys, places, nnz, 0, bits + blockbits, stream));
  CSRCTry(scratch.get((char **)&temp, tempbytes));
  CSRCTry(cub::DeviceRadixSort::SortPairs(temp, tempbytes, keys, places, nnz, 0, bits + blockbits, stream));
  scratch.release(&temp, false);
  const Key *sortedkey   = keys.Current();
  const int *sortedplace = places.Current();
  {
    Key *otherkey   = keys.Alternate();
    int *otherplace = places.Alternate();

    scratch.release(&otherkey, false);
    scratch.release(&otherplace, false);
  }
  CSRCTry(cudaMemsetAsync(runs, 0, sizeof(*runs), stream));
  CSRCRunsKernel<<<(nnz + 255) / 256, 256, 0, stream>>>(nnz, sortedkey, runs);
  CSRCTry(cudaGetLastError());
  CSRCTry(cudaMemcpyAsync(&hostruns, runs, sizeof(hostruns), cudaMemcpyDeviceToHost, stream));
  CSRCTry(cudaStreamSynchronize(stream));
  f.meanrun = (double)nnz / (double)std::max<unsigned long long>(1, hostruns);
  f.order   = params.order >= 0 ? (CSRCOrder)params.order : f.meanrun > 2.6 || params.kt > 1 ? CSRC_CONSECUTIVE : CSRC_INTERLEAVED;

  /* 3. */
  uint16_t        *acc, *firstcopy;
  unsigned char   *left;
  int             *ncopies, *counts, *tile, *slot; /* counts[0]: leftovers */
  float           *shares;
  const size_t     slots   = (size_t)f.nchunks * CSRC_CHUNK;
  const float      tries[] = {8.0f, 4.0f, 2.0f, 1.0f, 0.5f, 0.25f}; /* the first would do without copies but for the heaviest rows */
  std::vector<int> hosttile(f.nblocks + 1, 0), hostcopies(f.nblocks); /* tiles are numbered through all blocks; hosttile: the first of each */

  for (int g = 0; g < f.nblocks; g++) hosttile[g + 1] = hosttile[g] + (blocks[g + 1].chunk - blocks[g].chunk + warps - 1) / warps;
  CSRCTry(scratch.get(&acc, nnz));
  CSRCTry(scratch.get(&left, nnz));
  CSRCTry(scratch.get(&slot, slots));
  CSRCTry(kept.get(&firstcopy, (size_t)m + f.nblocks + 1));
  CSRCTry(scratch.get(&ncopies, f.nblocks));
  CSRCTry(scratch.get(&shares, f.nblocks));
  CSRCTry(scratch.get(&counts, 1));
  CSRCTry(scratch.get(&tile, f.nblocks + 1));
  CSRCTry(cudaMemcpyAsync(tile, hosttile.data(), hosttile.size() * sizeof(int), cudaMemcpyHostToDevice, stream));
  for (float share : tries) {
    if (params.kt > 1 && share > 2) continue; /* leftovers cost more there */
    const int per = threads * CSRC_PER_LANE;

    f.share = share;
    CSRCCopiesKernel<<<f.nblocks, 512, 0, stream>>>(f.block, start, per, share, maxacc, firstcopy, ncopies, shares);
    CSRCTry(cudaGetLastError());
    CSRCTry(cudaMemsetAsync(counts, 0, sizeof(int), stream));
    CSRCTry(cudaMemsetAsync(slot, 0xff, slots * sizeof(int), stream));
    CSRCTry(cudaMemcpyAsync(hostcopies.data(), ncopies, f.nblocks * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CSRCTry(cudaStreamSynchronize(stream));
    int most = 0; /* accumulators of a block */
    for (int g = 0; g < f.nblocks; g++) {
      blocks[g + 1].copy = blocks[g].copy + hostcopies[g];
      most               = std::max(most, blocks[g].nrows + hostcopies[g]);
    }
    f.ncopies = blocks[f.nblocks].copy;
    CSRCTry(cudaMemcpyAsync(f.block, blocks.data(), blocks.size() * sizeof(CSRCBlock), cudaMemcpyHostToDevice, stream));
    kept.release(&f.copyof, false);
    CSRCTry(kept.get(&f.copyof, f.ncopies));
    CSRCAccumulatorsKernel<<<(int)(((long long)m * 8 + 255) / 256), 256, 0, stream>>>(f.block, f.nblocks, m, start, per, shares, firstcopy, acc, f.copyof);
    CSRCTry(cudaGetLastError());
    f.accumulators = most + threads;
    CSRCTry((threads == 512 ? CSRCGroups<512> : CSRCGroups<256>)(hosttile[f.nblocks], most, stream, f.block, tile, f.nblocks, f.order, sortedplace, acc, left, slot, counts));
    CSRCTry(cudaMemcpyAsync(&f.nleft, counts, sizeof(int), cudaMemcpyDeviceToHost, stream));
    CSRCTry(cudaStreamSynchronize(stream));
    if (f.nleft <= nnz / 300) break;
  }

  CSRCTry(CSRCBalancedClassify(nnz, value, params.compress, sms, pool, stream, &f, &r));
  if (f.table) {
    kept.all.push_back(f.table);
    kept.all.push_back(r.tablebits);
  }

  /* 4. */
  unsigned long long *size, *at, bytes;

  CSRCTry(scratch.get(&size, (size_t)f.nchunks + 1));
  CSRCTry(scratch.get(&at, (size_t)f.nchunks + 1));
  CSRCColumnSizesKernel<<<(f.nchunks + 256) / 256, 256, 0, stream>>>(f.block, f.nblocks, f.nchunks, bits, sortedkey, size);
  CSRCTry(cudaGetLastError());
  tempbytes = 0;
  CSRCTry(cub::DeviceScan::ExclusiveSum(nullptr, tempbytes, size, at, f.nchunks + 1, stream));
  CSRCTry(scratch.get((char **)&temp, tempbytes));
  CSRCTry(cub::DeviceScan::ExclusiveSum(temp, tempbytes, size, at, f.nchunks + 1, stream));
  CSRCTry(cudaMemcpyAsync(&bytes, at + f.nchunks, sizeof(bytes), cudaMemcpyDeviceToHost, stream));
  CSRCTry(cudaStreamSynchronize(stream));
  scratch.release(&temp, false);
  f.columnbytes = bytes;
  CSRCTry(kept.get(&f.head, f.nchunks));
  CSRCTry(kept.get(&f.column, f.columnbytes));
  CSRCTry(kept.get(&f.acc, (size_t)f.nchunks * CSRC_CHUNK));
  CSRCTry(kept.get(&f.v, (size_t)f.nchunks * CSRC_CHUNK * CSRCValueBytes<Scalar>(f.values)));
  if (keepfrom) CSRCTry(kept.get(&r.from, (size_t)f.nchunks * CSRC_CHUNK));
  if (f.nsplit) {
    CSRCTry(kept.get(&f.carry, 2 * (size_t)f.nblocks));
    CSRCTry(kept.get(&f.arrived, f.nblocks));
    CSRCTry(cudaMemsetAsync(f.arrived, 0, f.nblocks * sizeof(*f.arrived), stream));
  }
  CSRCTry(kept.get(&f.zero, 2));
  CSRCTry(cudaMemsetAsync(f.zero, 0, 2 * sizeof(*f.zero), stream));
  if (f.ncopies) f.rowcopy = firstcopy;
  else kept.release(&firstcopy, false);
  CSRCEncodeKernel<<<(int)(((long long)f.nchunks * 32 + 255) / 256), 256, 0, stream>>>(f, bits, sortedkey, sortedplace, acc, slot, at, value, r.tablebits, r.ntable, r.from);
  CSRCTry(cudaGetLastError());

  /* 5. */
  if (f.nleft) {
    int *list, *sorted;

    CSRCTry(scratch.get(&list, f.nleft));
    CSRCTry(scratch.get(&sorted, f.nleft));
    CSRCTry(cudaMemsetAsync(counts, 0, sizeof(int), stream));
    CSRCLeftKernel<<<(nnz + 255) / 256, 256, 0, stream>>>(nnz, left, sortedplace, counts, list);
    CSRCTry(cudaGetLastError());
    tempbytes = 0;
    CSRCTry(cub::DeviceRadixSort::SortKeys(nullptr, tempbytes, list, sorted, f.nleft, 0, 31, stream));
    CSRCTry(scratch.get((char **)&temp, tempbytes));
    CSRCTry(cub::DeviceRadixSort::SortKeys(temp, tempbytes, list, sorted, f.nleft, 0, 31, stream));
    CSRCTry(kept.get(&f.leftstart, f.nblocks + 1));
    CSRCTry(kept.get(&f.leftrow, f.nleft));
    CSRCTry(kept.get(&f.leftcolumn, f.nleft));
    CSRCTry(kept.get(&f.leftvalue, f.nleft));
    CSRCLeftStartKernel<<<(f.nblocks + 256) / 256, 256, 0, stream>>>(f.block, f.nblocks, f.nleft, sorted, f.leftstart);
    CSRCTry(cudaGetLastError());
    CSRCLeftEncodeKernel<<<(f.nleft + 255) / 256, 256, 0, stream>>>(f, sorted, start, column, value);
    CSRCTry(cudaGetLastError());
    if (keepfrom) {
      CSRCTry(kept.get(&r.leftfrom, f.nleft));
      CSRCTry(cudaMemcpyAsync(r.leftfrom, sorted, f.nleft * sizeof(int), cudaMemcpyDeviceToDevice, stream));
    }
  }
  CSRCTry(cudaStreamSynchronize(stream)); /* kernels that begin early read what stands here */
  kept.all.clear(); /* now the caller's */
  *form   = f;
  *refill = r;
  return cudaSuccess;
}

/* As CSRCBalancedMakeKeyed(), with keys of 32 bits where they suffice */
template <class Scalar, class Index>
static cudaError_t CSRCBalancedMake(int m, int n, int nnz, const Index *hoststart, const Index *start, const Index *column, const Scalar *value, CSRCBalancedParams params, bool keepfrom, cudaStream_t stream, CSRCBalancedForm<Scalar> *form, CSRCBalancedRefill<Scalar> *refill)
{
  int bits = 1, blockbits = 10;

  while (bits < 31 && (1 << bits) < n) bits++;
  /* blocks: a few for each multiprocessor, and one more for every few thousand rows */
  while ((1ll << blockbits) < 1024 + m / (params.kt > 1 ? 1024 : 2048)) blockbits++;
  if (bits + blockbits <= 32) return CSRCBalancedMakeKeyed<Scalar, uint32_t>(m, n, nnz, bits, hoststart, start, column, value, params, keepfrom, stream, form, refill);
  return CSRCBalancedMakeKeyed<Scalar, unsigned long long>(m, n, nnz, bits, hoststart, start, column, value, params, keepfrom, stream, form, refill);
}
