#pragma once

/* How the balanced layout of CSRC stores values: what they allow, where they go, and new ones in the places of the old. */
#include "csrcbalanced.cuh"
#include "csrcscratch.cuh"

/*
  What the values allow. flags[0] = 1 if one is not what single precision makes of it (NaN counts as such: its payload may be
  lost); flags[1] = how many distinct bit patterns values of 8 bytes have, more than 256 if they are too many; set[4096] holds
  them, empty places being ~0 (a NaN that counts as too many).

  Thread block: values a grid apart; it collects patterns in shared memory, and adds them to those of all blocks at the end.
  It stops when neither form is possible, which with most matrices is soon.
*/
template <class Scalar>
__global__ void __launch_bounds__(256) CSRCClassifyKernel(int nnz, const Scalar *value, unsigned long long *set, int *flags)
{
  constexpr bool           TABLE = sizeof(Scalar) == 8;
  constexpr int            MANY = 256, SLOTS = 4 * MANY; /* as many again as there are threads may come too late to be told to stop */
  const unsigned long long empty = ~0ull;
  __shared__ unsigned long long     own[SLOTS];
  __shared__ volatile int           stop;
  __shared__ int                    count, inexact;

  for (int h = threadIdx.x; h < SLOTS; h += 256) own[h] = empty;
  if (threadIdx.x == 0) {
    count   = TABLE ? 0 : MANY + 1;
    inexact = stop = 0;
  }
  __syncthreads();
  bool exact = true;
  for (int k = blockIdx.x * 256 + threadIdx.x; k < nnz && !stop; k += gridDim.x * 256) {
    if (exact) {
#pragma unroll
      for (int p = 0; p < CSRCParts<Scalar>; p++) {
        const CSRCReal<Scalar> r = CSRCGetPart(value[k], p);

        if (!((CSRCReal<Scalar>)(float)r == r)) exact = false;
      }
      if (!exact) inexact = 1;
    }
    const int sofar = *(volatile int *)&count;
    if (sofar > MANY) {
      if (*(volatile int *)&inexact) stop = 1;
      continue;
    }
    if constexpr (TABLE) {
      const unsigned long long bits = reinterpret_cast<const unsigned long long *>(value)[k];

      if (bits == empty) atomicAdd(&count, MANY + 1);
      else {
        for (unsigned h = (unsigned)((bits * 0x9e3779b97f4a7c15ull) >> 40) % SLOTS;; h = (h + 1) % SLOTS) {
          unsigned long long old = ((volatile unsigned long long *)own)[h];

          if (old == empty) {
            old = atomicCAS(own + h, empty, bits);
            if (old == empty) atomicAdd(&count, 1);
          }
          if (old == empty || old == bits) break;
        }
      }
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    if (inexact) flags[0] = 1;
    if (count > MANY) atomicAdd(flags + 1, MANY + 1);
  }
  if (count > MANY) return;
  for (int s = threadIdx.x; s < SLOTS; s += 256) {
    const unsigned long long bits = own[s];

    if (bits == empty) continue;
    bool found = false;
    for (unsigned h = (unsigned)((bits * 0x9e3779b97f4a7c15ull) >> 40) & 4095, tries = 0; tries < 64 && !found; h = (h + 1) & 4095, tries++) {
      const unsigned long long old = atomicCAS(set + h, empty, bits);

      if (old == empty) atomicAdd(flags + 1, 1);
      found = old == empty || old == bits;
    }
    if (!found) atomicAdd(flags + 1, MANY + 1); /* so full it is only of too many */
  }
}

/*
  How values may be stored, into f->values; a table is made, if that is the way, into f->table and r->tablebits, which are
  the caller's to free (with cudaFreeAsync() or CSRCBalancedFree()).
*/
template <class Scalar>
static cudaError_t CSRCBalancedClassify(int nnz, const Scalar *value, bool compress, int sms, cudaMemPool_t pool, cudaStream_t stream, CSRCBalancedForm<Scalar> *f, CSRCBalancedRefill<Scalar> *r)
{
  CSRCScratch         scratch(stream, pool), kept(stream);
  unsigned long long *set;
  int                *counts, hostcounts[2]; /* inexact, distinct */

  f->values = CSRC_VALUES_FULL;
  if (!compress || sizeof(CSRCReal<Scalar>) != 8) return cudaSuccess;
  CSRCTry(scratch.get(&counts, 2));
  CSRCTry(cudaMemsetAsync(counts, 0, 2 * sizeof(int), stream));
  CSRCTry(scratch.get(&set, 4096));
  CSRCTry(cudaMemsetAsync(set, 0xff, 4096 * sizeof(*set), stream));
  CSRCClassifyKernel<<<std::min((nnz + 255) / 256, 4 * sms), 256, 0, stream>>>(nnz, value, set, counts);
  CSRCTry(cudaGetLastError());
  CSRCTry(cudaMemcpyAsync(hostcounts, counts, 2 * sizeof(int), cudaMemcpyDeviceToHost, stream));
  CSRCTry(cudaStreamSynchronize(stream));
  if (sizeof(Scalar) == 8 && hostcounts[1] <= 255) { /* and a zero, as which padding is stored */
    std::vector<unsigned long long> bits(4096);

    CSRCTry(cudaMemcpyAsync(bits.data(), set, 4096 * sizeof(*set), cudaMemcpyDeviceToHost, stream));
    CSRCTry(cudaStreamSynchronize(stream));
    bits.erase(std::remove(bits.begin(), bits.end(), ~0ull), bits.end());
    bits.push_back(0);
    std::sort(bits.begin(), bits.end());
    bits.erase(std::unique(bits.begin(), bits.end()), bits.end());
    r->ntable = (int)bits.size();
    bits.resize(256, 0);
    CSRCTry(kept.get(&f->table, 256));
    CSRCTry(kept.get(&r->tablebits, 256));
    CSRCTry(cudaMemcpyAsync(f->table, bits.data(), 256 * sizeof(*set), cudaMemcpyHostToDevice, stream));
    CSRCTry(cudaMemcpyAsync(r->tablebits, bits.data(), 256 * sizeof(*set), cudaMemcpyHostToDevice, stream));
    CSRCTry(cudaStreamSynchronize(stream));
    kept.all.clear();
    f->values = CSRC_VALUES_TABLE;
  } else if (!hostcounts[0]) f->values = CSRC_VALUES_SINGLE;
  return cudaSuccess;
}

/* value of the CSR as the layout stores it, at its place */
template <class Scalar>
__device__ __forceinline__ void CSRCStoreValue(const CSRCBalancedForm<Scalar> &f, int chunk, int slot, Scalar value, const unsigned long long *bits, int ntable)
{
  using Real      = CSRCReal<Scalar>;
  const int lane  = slot / CSRC_PER_LANE, i = slot % CSRC_PER_LANE;
  constexpr int P = CSRCParts<Scalar>;

  if (f.values == CSRC_VALUES_TABLE) {
    int lo = 0;

    if constexpr (sizeof(Scalar) == 8 && P == 1) {
      const unsigned long long want = (unsigned long long)__double_as_longlong((double)value);
      int                      hi   = ntable;

      while (hi - lo > 1) {
        const int mid = (lo + hi) / 2;

        if (bits[mid] <= want) lo = mid;
        else hi = mid;
      }
    }
    f.v[(size_t)chunk * CSRC_CHUNK + lane * CSRC_PER_LANE + i] = (unsigned char)lo;
    return;
  }
#pragma unroll
  for (int p = 0; p < P; p++) {
    const int k = i * P + p; /* number of the real among the lane's */

    if (f.values == CSRC_VALUES_SINGLE || sizeof(Real) == 4) {
      float *v = reinterpret_cast<float *>(f.v + (size_t)chunk * (CSRC_CHUNK * 4 * P));

      v[(k / 4) * 128 + lane * 4 + k % 4] = (float)CSRCGetPart(value, p);
    } else {
      double *v = reinterpret_cast<double *>(f.v + (size_t)chunk * (CSRC_CHUNK * 8 * P));

      v[(k / 2) * 64 + lane * 2 + k % 2] = (double)CSRCGetPart(value, p);
    }
  }
}

/* New values at the places of the old ones. Thread: one slot. */
template <class Scalar>
__global__ void CSRCRefillKernel(CSRCBalancedForm<Scalar> f, const int *from, const Scalar *value, const unsigned long long *tablebits, int ntable)
{
  const size_t s = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

  if (s >= (size_t)f.nchunks * CSRC_CHUNK) return;
  const int src = from[s];
  CSRCStoreValue(f, (int)(s / CSRC_CHUNK), (int)(s % CSRC_CHUNK), src >= 0 ? value[src] : Scalar(0), tablebits, ntable);
}

template <class Scalar>
__global__ void CSRCLeftRefillKernel(int nleft, const int *list, const Scalar *value, Scalar *leftvalue)
{
  const int k = blockIdx.x * blockDim.x + threadIdx.x;

  if (k < nleft) leftvalue[k] = value[list[k]];
}

/*
  New values, on the device, in the order of the CSR. fits = false, and nothing has changed, if they cannot be stored as the
  old ones are: then the layout is to be built anew.
*/
template <class Scalar>
static cudaError_t CSRCBalancedSetValues(CSRCBalancedForm<Scalar> *f, CSRCBalancedRefill<Scalar> *r, const Scalar *value, bool compress, cudaStream_t stream, bool *fits)
{
  const size_t               slots = (size_t)f->nchunks * CSRC_CHUNK;
  CSRCBalancedForm<Scalar>   newform   = *f;
  CSRCBalancedRefill<Scalar> newrefill = *r;

  *fits = true;
  if (f->values != CSRC_VALUES_FULL) {
    newform.table       = nullptr;
    newrefill.tablebits = nullptr;
    CSRCTry(CSRCBalancedClassify(f->nnz, value, compress, 64, nullptr, stream, &newform, &newrefill));
    /* a table's values are single precision often enough, but are not stored so */
    *fits = newform.values == f->values;
    Scalar             *droptable = *fits ? f->table : newform.table;
    unsigned long long *dropbits  = *fits ? r->tablebits : newrefill.tablebits;
    if (*fits) {
      *f = newform;
      *r = newrefill;
    }
    if (droptable) CSRCTry(cudaFreeAsync(droptable, stream));
    if (dropbits) CSRCTry(cudaFreeAsync(dropbits, stream));
    if (!*fits) return cudaSuccess;
  }
  CSRCRefillKernel<<<(unsigned)((slots + 255) / 256), 256, 0, stream>>>(*f, r->from, value, r->tablebits, r->ntable);
  CSRCTry(cudaGetLastError());
  if (f->nleft) {
    CSRCLeftRefillKernel<<<(f->nleft + 255) / 256, 256, 0, stream>>>(f->nleft, r->leftfrom, value, f->leftvalue);
    CSRCTry(cudaGetLastError());
  }
  return cudaSuccess;
}
