#pragma once

/* Packing of columns of a dense matrix by panels, where the entries of a row are stored together, and unpacking */
#include "launch.cuh"
#include "packedrow.cuh"
#include <algorithm>

/* Number of units of 16 bytes of a packed row of KT columns, and of threads that pack or unpack the row */
template <class Scalar, int KT>
inline constexpr int CSRCUnits = std::max(1, KT *(int)sizeof(Scalar) / 16);

/*
  Two kernels. One packs columns of X by panels of KT and fills the last panel with zeros; the other unpacks them and leaves zeros. Thread:
  one unit of 16 bytes of a packed row (or the whole row, if that is shorter); neighbouring threads have the units of one row. Thread blocks
  of one panel are npanels apart. Bytes per entry: one scalar read, one written; to unpack, two written.

  Unpacked entries pass through shared memory, so that neighbouring threads write neighbouring rows of a column. The zero of a unit is
  written only after the unit has been loaded: a store to a line that a load still waits for makes the kernel take four times as long.
*/
constexpr int CSRC_PACK_THREADS = 256;

template <class Scalar, int KT>
using CSRCPackUnit = CSRCPack<Scalar, KT / CSRCUnits<Scalar, KT>>;

template <class Scalar, int KT>
__global__ void __launch_bounds__(CSRC_PACK_THREADS) CSRCPackKernel(int n, int npanels, int K, const Scalar *x, size_t ldx, Scalar *packed)
{
  using Unit          = CSRCPackUnit<Scalar, KT>;
  constexpr int UNITS = CSRCUnits<Scalar, KT>, WIDTH = KT / UNITS;
  const size_t  t = (size_t)(blockIdx.x / npanels) * CSRC_PACK_THREADS + threadIdx.x, panel = blockIdx.x % npanels;
  const int     i = (int)(t / UNITS), k0 = (int)panel * KT + (int)(t % UNITS) * WIDTH;
  Unit          p;

  CSRCLetNextBegin();
  CSRCWaitPrevious();
  if (i >= n) return;
#pragma unroll
  for (int e = 0; e < WIDTH; e++) p.s[e] = k0 + e < K ? x[ldx * (k0 + e) + i] : Scalar(0);
  reinterpret_cast<Unit *>(packed + panel * n * KT)[t] = p;
}
template <class Scalar, int KT>
__global__ void __launch_bounds__(CSRC_PACK_THREADS) CSRCUnpackKernel(int n, int npanels, int K, Scalar *packed, Scalar *x, size_t ldx)
{
  using Unit          = CSRCPackUnit<Scalar, KT>;
  constexpr int UNITS = CSRCUnits<Scalar, KT>, WIDTH = KT / UNITS, ROWS = CSRC_PACK_THREADS / UNITS;
  __shared__ __align__(16) unsigned char memory[ROWS * (KT + 1) * sizeof(Scalar)];
  Scalar *const                          tile  = reinterpret_cast<Scalar *>(memory);
  const size_t                           panel = blockIdx.x % npanels;
  const int                              tid = threadIdx.x, row = blockIdx.x / npanels * ROWS, many = min(ROWS, n - row), i = tid % ROWS, k0 = (int)panel * KT;
  Unit *const                            unit = reinterpret_cast<Unit *>(packed + (panel * n + row) * KT) + tid;

  CSRCLetNextBegin();
  CSRCWaitPrevious();
  if (tid < many * UNITS) {
    const Unit p = *unit;

#pragma unroll
    for (int e = 0; e < WIDTH; e++) tile[tid / UNITS * (KT + 1) + tid % UNITS * WIDTH + e] = p.s[e];
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < WIDTH; e++) {
    const int c = e * UNITS + tid / ROWS;

    if (i < many && k0 + c < K) x[ldx * (k0 + c) + row + i] = tile[i * (KT + 1) + c];
  }
  if (tid < many * UNITS) *unit = CSRCPackZero<Scalar, WIDTH>();
}

/*
  Number of columns that are packed at a time and processed by one launch: at most CSRC_PACKED_COLUMNS, and no more than half of the
  L2 cache holds, since kernels gather from the packed columns and add to them
*/
template <class Scalar>
static int CSRCPackedColumns(const CSRCBalancedMatrix<Scalar> &A, int kt, int cachebytes)
{
  int columns = CSRC_PACKED_COLUMNS;

  while (columns > kt && (size_t)A.n * columns * sizeof(Scalar) > (size_t)cachebytes / 2) columns /= 2;
  return columns;
}

/* Number of scalars of K packed columns, with K rounded up to whole panels */
template <int KT, class Scalar>
static size_t CSRCPackedScalars(const CSRCBalancedMatrix<Scalar> &A, int K)
{
  return (size_t)A.n * ((K + KT - 1) / KT * KT);
}

/* Launches one of the kernels that pack or unpack */
template <int KT, class Scalar, class... Parameters, class... Arguments>
static cudaError_t CSRCLaunchPack(const CSRCBalancedMatrix<Scalar> &A, void (*kernel)(int, int, Parameters...), int npanels, cudaStream_t stream, Arguments... arguments)
{
  const size_t units = (size_t)A.n * CSRCUnits<Scalar, KT>;

  return CSRCLaunch(kernel, (int)((units + CSRC_PACK_THREADS - 1) / CSRC_PACK_THREADS) * npanels, CSRC_PACK_THREADS, 0, 1, A.early, stream, A.n, npanels, arguments...);
}
