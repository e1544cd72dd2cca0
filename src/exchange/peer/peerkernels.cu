/*
  Thread blocks of PEER_THREADS threads, at most two for each multiprocessor, so that all of them run at once: they wait for each other across
  devices. Neighbouring threads have neighbouring rows of a column. A thread block takes every gridDim.x-th part of all messages.

  Flags: some thread blocks send, others receive. The threads of a block store a part; a barrier orders these stores before the flag, which one
  thread stores with release semantics for the system. The receiver loads the flag with acquire semantics; a barrier again orders what its
  block loads after that. Flags are numbers of exchanges, and only grow.

  Stamps: a real number and its stamp are stored, and loaded, as one relaxed access of 16 bytes (8 in single precision), so that none is seen
  without the other. Each block first sends and then receives. A message without entries has the first flag.

  There are two buffers, used in turns. Nobody has to say that a buffer is free: a process stores exchange t into the buffer of t - 2 after it
  has received exchange t - 1 from the neighbour, which the neighbour sent after it had read exchange t - 2. So all neighbours send to each
  other in every exchange, be it a flag only.

  Bytes: a message is read once on the device that sends it, crosses the link once, with stamps in twice the bytes, and is read and written
  once on the device that receives it.
*/
#include "peerkernels.h"
#include "cuda/launch.cuh"
#include <cuda/atomic>
#include <petscdevice_cuda.h>

#define PEER_THREADS 512
#define PEER_ENTRIES 512  /* least entries of a part, about */
#define PEER_BLOCKS  128  /* more parts than these have more entries, ... */
#define PEER_LARGE   4096 /* ... about so many */

typedef cuda::atomic_ref<PeerFlag, cuda::thread_scope_system> SystemFlag;

/*
  Stores a real number with a stamp. Before CUDA 12.3 there is no access of 16 bytes that PTX guarantees to be one; there vectors are used, which
  devices access at once.
*/
[[maybe_unused]] static __device__ __forceinline__ void StoreStamped(char *at, double x, PeerFlag stamp)
{
#if CUDART_VERSION >= 12030
  asm volatile("{ .reg .b128 pair; mov.b128 pair, {%1, %2}; st.relaxed.sys.global.b128 [%0], pair; }" ::"l"(at), "l"(__double_as_longlong(x)), "l"(stamp) : "memory");
#else
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(__double_as_longlong(x)), "l"(stamp) : "memory");
#endif
}

[[maybe_unused]] static __device__ __forceinline__ void StoreStamped(char *at, float x, PeerFlag stamp)
{
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(at), "l"(stamp << 32 | __float_as_uint(x)) : "memory");
}

/* Waits for the stamp, and returns the number */
[[maybe_unused]] static __device__ __forceinline__ void WaitStamped(const char *at, PeerFlag stamp, double *x)
{
  PeerFlag bits, found;

  do {
#if CUDART_VERSION >= 12030
    asm volatile("{ .reg .b128 pair; ld.relaxed.sys.global.b128 pair, [%2]; mov.b128 {%0, %1}, pair; }" : "=l"(bits), "=l"(found) : "l"(at) : "memory");
#else
    asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(bits), "=l"(found) : "l"(at) : "memory");
#endif
  } while (found != stamp);
  *x = __longlong_as_double((long long)bits);
}

[[maybe_unused]] static __device__ __forceinline__ void WaitStamped(const char *at, PeerFlag stamp, float *x)
{
  PeerFlag pair;

  do asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(pair) : "l"(at) : "memory");
  while ((unsigned)(pair >> 32) != (unsigned)stamp);
  *x = __uint_as_float((unsigned)pair);
}

/* Real numbers of a scalar */
#define PARTS ((int)(sizeof(PetscScalar) / sizeof(PetscReal)))

/* Entry k of a buffer is set to x */
template <bool stamped>
static __device__ __forceinline__ void StoreEntry(PetscScalar *to, char *stampedto, size_t k, PetscScalar x, PeerFlag number)
{
  if constexpr (stamped) {
    for (int p = 0; p < PARTS; p++) StoreStamped(stampedto + (k * PARTS + p) * 2 * sizeof(PetscReal), ((const PetscReal *)&x)[p], number);
  } else to[k] = x;
}

/* Entry k of the buffer of this process; with stamps it is waited for */
template <bool stamped>
static __device__ __forceinline__ PetscScalar LoadEntry(const PeerExchange &e, size_t k)
{
  if constexpr (stamped) {
    PetscScalar x;

    for (int p = 0; p < PARTS; p++) WaitStamped(e.received + (k * PARTS + p) * 2 * sizeof(PetscReal), e.number, &((PetscReal *)&x)[p]);
    return x;
  } else return ((const PetscScalar *)e.received)[k];
}

/* The rows [begin, end) of a part of a message with so many rows */
static __device__ void PartRows(const PeerExchange &e, PetscInt rows, int part, PetscInt *begin, PetscInt *end)
{
  const long long n = min(rows, e.most);

  *begin = (PetscInt)(n * part / e.parts);
  *end   = (PetscInt)(n * (part + 1) / e.parts);
}

/*
  Calls store(row, column, load(row, column)) for a thread's share of the rows [begin, end) and K columns; several loads are under way at once.
*/
#define PEER_AHEAD 4

template <typename Load, typename Store>
static __device__ void ForRows(PetscInt begin, PetscInt end, PetscInt K, Load load, Store store)
{
  const PetscInt rows = end - begin, step = PEER_THREADS;

  if (rows <= 0) return;
  if (K == 1) {
    for (PetscInt i = begin + (PetscInt)threadIdx.x; i < end; i += PEER_AHEAD * step) {
      PetscScalar x[PEER_AHEAD];

#pragma unroll
      for (int u = 0; u < PEER_AHEAD; u++) {
        if (i + u * step < end) x[u] = load(i + u * step, (PetscInt)0);
      }
#pragma unroll
      for (int u = 0; u < PEER_AHEAD; u++) {
        if (i + u * step < end) store(i + u * step, (PetscInt)0, x[u]);
      }
    }
  } else {
    PetscInt i = (PetscInt)threadIdx.x % rows, k = (PetscInt)threadIdx.x / rows;

    while (k < K) {
      PetscScalar x[PEER_AHEAD];
      PetscInt    row[PEER_AHEAD], column[PEER_AHEAD];

#pragma unroll
      for (int u = 0; u < PEER_AHEAD; u++) {
        row[u]    = begin + i;
        column[u] = k;
        if (k < K) x[u] = load(row[u], k);
        i += step % rows;
        k += step / rows;
        if (i >= rows) {
          i -= rows;
          k++;
        }
      }
#pragma unroll
      for (int u = 0; u < PEER_AHEAD; u++) {
        if (column[u] < K) store(row[u], column[u], x[u]);
      }
    }
  }
}

template <bool stamped>
static __device__ void SendPart(const PeerExchange &e, const PeerArray &a, const PeerSelf &self, int part)
{
  PetscInt begin, end;

  for (int m = 0; m < e.n; m++) {
    const PeerNeighbour nb        = e.nb[e.first + m < e.n ? e.first + m : e.first + m - e.n];
    PetscScalar *const  to        = nb.to[e.number & 1];
    char *const         stampedto = nb.stampedto[e.number & 1];
    const PetscInt      first     = nb.sendfirst;

    PartRows(e, nb.nsend, part, &begin, &end);
    ForRows(
      begin, end, e.K, [&](PetscInt i, PetscInt c) { return a.a[c * a.ld + (a.idx ? a.idx[first + i] : first + i)]; }, [&](PetscInt i, PetscInt c, PetscScalar x) { StoreEntry<stamped>(to, stampedto, c * nb.ldto + i, x, e.number); });
  }
  if constexpr (!stamped) __syncthreads();
  for (int k = threadIdx.x; k < e.n; k += PEER_THREADS) {
    if (!stamped || (!part && !e.nb[k].nsend)) SystemFlag(e.nb[k].tell[part]).store(e.number, cuda::memory_order_release);
  }
  PartRows(e, self.n, part, &begin, &end);
  ForRows(
    begin, end, e.K, [&](PetscInt i, PetscInt c) { return self.from[c * self.ldfrom + i]; }, [&](PetscInt i, PetscInt c, PetscScalar x) { self.to[c * self.ldto + i] = x; });
}

/* Waits until parts [begin, end) of all messages are here; with stamps, for the flags of messages without entries */
template <bool stamped>
static __device__ void WaitForParts(const PeerExchange &e, int begin, int end)
{
  if constexpr (stamped) {
    for (int k = threadIdx.x; !begin && k < e.n; k += PEER_THREADS) {
      while (!e.nb[k].nreceive && SystemFlag(e.nb[k].told[0]).load(cuda::memory_order_acquire) < e.number) { }
    }
  } else {
    for (int t = threadIdx.x; t < e.n * (end - begin); t += PEER_THREADS) {
      SystemFlag told(e.nb[t / (end - begin)].told[begin + t % (end - begin)]);

      while (told.load(cuda::memory_order_acquire) < e.number) { }
    }
    __syncthreads();
  }
}

template <bool stamped>
static __device__ void ReceivePart(const PeerExchange &e, const PeerArray &b, int part)
{
  PetscInt begin, end;

  WaitForParts<stamped>(e, part, part + 1);
  for (int k = 0; k < e.n; k++) {
    const PeerNeighbour nb    = e.nb[k];
    const PetscInt      first = nb.recvfirst;

    PartRows(e, nb.nreceive, part, &begin, &end);
    ForRows(
      begin, end, e.K, [&](PetscInt i, PetscInt c) { return LoadEntry<stamped>(e, c * e.ldreceived + nb.place + i); }, [&](PetscInt i, PetscInt c, PetscScalar x) { b.a[c * b.ld + (b.idx ? b.idx[first + i] : first + i)] = x; });
  }
}

/* Runs send(part) and receive(part) for the parts of a thread block. Without stamps, the first `senders` blocks send, and the others receive */
template <bool stamped, typename Send, typename Receive>
static __device__ void ForParts(const PeerExchange &e, int senders, Send send, Receive receive)
{
  const int b = blockIdx.x, blocks = gridDim.x;

  CSRCLetNextBegin();
  CSRCWaitPrevious();
  if (stamped) {
    for (int part = b; part < e.parts; part += blocks) send(part);
    for (int part = b; part < e.parts; part += blocks) receive(part);
  } else if (b < senders) {
    for (int part = b; part < e.parts; part += senders) send(part);
  } else {
    for (int part = b - senders; part < e.parts; part += blocks - senders) receive(part);
  }
}

template <bool stamped, bool sends, bool receives>
static __global__ void __launch_bounds__(PEER_THREADS) PeerKernel(const PeerExchange e, int senders, const PeerArray a, const PeerSelf self, const PeerArray b)
{
  ForParts<stamped>(
    e, senders,
    [&](int part) {
      if (sends) SendPart<stamped>(e, a, self, part);
    },
    [&](int part) {
      if (receives) ReceivePart<stamped>(e, b, part);
    });
}

template <bool stamped>
static __global__ void __launch_bounds__(PEER_THREADS) PeerSumsKernel(const PeerExchange e, int, PetscInt n, const PetscInt *dest, const PetscInt *first, const PetscInt *place, const PeerArray a)
{
  const long long begin = (long long)n * blockIdx.x / gridDim.x, end = (long long)n * (blockIdx.x + 1) / gridDim.x;

  CSRCLetNextBegin();
  CSRCWaitPrevious();
  WaitForParts<stamped>(e, 0, e.parts);
  ForRows((PetscInt)begin, (PetscInt)end, e.K,
          [&](PetscInt p, PetscInt c) {
            PetscScalar sum = a.a[c * a.ld + dest[p]];

            for (PetscInt q = first[p]; q < first[p + 1]; q++) sum += LoadEntry<stamped>(e, c * e.ldreceived + place[q]);
            return sum;
          },
          [&](PetscInt p, PetscInt c, PetscScalar sum) { a.a[c * a.ld + dest[p]] = sum; });
}

template <bool stamped>
static __global__ void __launch_bounds__(PEER_THREADS) PeerSumAllKernel(const PeerExchange e, int senders, const PeerArray a, PetscInt own, int before, PetscInt n, bool add, const PeerArray b)
{
  const PeerSelf none = {NULL, NULL, 0, 0, 0};

  ForParts<stamped>(
    e, senders, [&](int part) { SendPart<stamped>(e, a, none, part); },
    [&](int part) {
      PetscInt begin, end;

      WaitForParts<stamped>(e, part, part + 1);
      PartRows(e, n, part, &begin, &end);
      ForRows(
        begin, end, e.K,
        [&](PetscInt i, PetscInt c) {
          PetscScalar sum = add ? b.a[c * b.ld + i] : PetscScalar(0.0);

          for (int k = 0; k <= e.n; k++) {
            if (k == before) sum += a.a[c * a.ld + own + i];
            if (k < e.n) sum += LoadEntry<stamped>(e, c * e.ldreceived + e.nb[k].place + i);
          }
          return sum;
        },
        [&](PetscInt i, PetscInt c, PetscScalar sum) { b.a[c * b.ld + i] = sum; });
    });
}

static __global__ void PeerMarkKernel(PeerFlag *at, PeerFlag number)
{
  SystemFlag(*at).store(number, cuda::memory_order_release);
}

/* Launches a kernel whose blocks send, receive or both; arguments are those after `senders` */
template <class Kernel, class... Arguments>
static PetscErrorCode Launch(Kernel kernel, const PeerExchange *e, bool sends, bool receives, Arguments... arguments)
{
  static int         multiprocessors = 0;
  static bool        early;
  int                device, blocks, senders;
  cudaFuncAttributes attributes;
  cudaStream_t       stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  if (!multiprocessors) {
    PetscCallCUDA(cudaGetDevice(&device));
    PetscCallCUDA(cudaFuncGetAttributes(&attributes, kernel));
    PetscCallCUDA(CSRCMayBeginEarly(attributes, &early));
    PetscCallCUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  }
  blocks  = PetscMin(e->parts, multiprocessors);
  senders = sends ? blocks : 0;
  if (sends && receives && !e->stamped) blocks *= 2;
  PetscCallCUDA(CSRCLaunch(kernel, blocks, PEER_THREADS, 0, 1, early, stream, *e, senders, arguments...));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int PetscCSRCPeerParts(PetscInt rows, PetscInt K)
{
  const double entries = (double)rows * (double)K;

  if (entries <= PEER_BLOCKS * PEER_ENTRIES) return (int)PetscMax(entries / PEER_ENTRIES, 1.0);
  return PEER_BLOCKS * (int)PetscClipInterval(entries / ((double)PEER_BLOCKS * PEER_LARGE), 1.0, (double)PEER_PARTS / PEER_BLOCKS);
}

PetscErrorCode PetscCSRCPeerSend(const PeerExchange *e, PeerArray a, PeerSelf self)
{
  const PeerArray none = {NULL, 0, NULL};

  PetscFunctionBegin;
  if (e->stamped) PetscCall(Launch(PeerKernel<true, true, false>, e, true, false, a, self, none));
  else PetscCall(Launch(PeerKernel<false, true, false>, e, true, false, a, self, none));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerReceive(const PeerExchange *e, PeerArray a)
{
  const PeerArray none   = {NULL, 0, NULL};
  const PeerSelf  noself = {NULL, NULL, 0, 0, 0};

  PetscFunctionBegin;
  if (e->stamped) PetscCall(Launch(PeerKernel<true, false, true>, e, false, true, none, noself, a));
  else PetscCall(Launch(PeerKernel<false, false, true>, e, false, true, none, noself, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerSendReceive(const PeerExchange *e, PeerArray a, PeerSelf self, PeerArray b)
{
  PetscFunctionBegin;
  if (e->stamped) PetscCall(Launch(PeerKernel<true, true, true>, e, true, true, a, self, b));
  else PetscCall(Launch(PeerKernel<false, true, true>, e, true, true, a, self, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerReceiveSums(const PeerExchange *e, PetscInt n, const PetscInt dest[], const PetscInt first[], const PetscInt place[], PeerArray a)
{
  PetscFunctionBegin;
  if (e->stamped) PetscCall(Launch(PeerSumsKernel<true>, e, false, true, n, dest, first, place, a));
  else PetscCall(Launch(PeerSumsKernel<false>, e, false, true, n, dest, first, place, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerSumAll(const PeerExchange *e, PeerArray a, PetscInt own, int before, PetscInt n, InsertMode mode, PeerArray b)
{
  PetscFunctionBegin;
  if (e->stamped) PetscCall(Launch(PeerSumAllKernel<true>, e, true, true, a, own, before, n, mode == ADD_VALUES, b));
  else PetscCall(Launch(PeerSumAllKernel<false>, e, true, true, a, own, before, n, mode == ADD_VALUES, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerMark(unsigned long long *at, unsigned long long number)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PeerMarkKernel<<<1, 1, 0, stream>>>(at, number);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
