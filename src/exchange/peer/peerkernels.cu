/*
  Thread blocks of PEER_THREADS threads, at most two for each multiprocessor, so that all of them run at once: they wait for each other across
  devices. Neighbouring threads have neighbouring rows of a column. A task is one part of the message to or from one neighbour, or of those of
  all; thread blocks take tasks in turns, so that several neighbours take hardly longer than one.

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

/* Loads a real number, and says whether it has the stamp */
[[maybe_unused]] static __device__ __forceinline__ bool LoadStamped(const char *at, PeerFlag stamp, double *x)
{
  PeerFlag bits, found;

#if CUDART_VERSION >= 12030
  asm volatile("{ .reg .b128 pair; ld.relaxed.sys.global.b128 pair, [%2]; mov.b128 {%0, %1}, pair; }" : "=l"(bits), "=l"(found) : "l"(at) : "memory");
#else
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(bits), "=l"(found) : "l"(at) : "memory");
#endif
  *x = __longlong_as_double((long long)bits);
  return found == stamp;
}

[[maybe_unused]] static __device__ __forceinline__ bool LoadStamped(const char *at, PeerFlag stamp, float *x)
{
  PeerFlag pair;

  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(pair) : "l"(at) : "memory");
  *x = __uint_as_float((unsigned)pair);
  return (unsigned)(pair >> 32) == (unsigned)stamp;
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

/* Entry k of the buffer of this process, with stamps as it is now; the result is whether it has arrived */
template <bool stamped>
static __device__ __forceinline__ bool TryEntry(const PeerExchange &e, size_t k, PetscScalar *x)
{
  if constexpr (stamped) {
    bool arrived = true;

    for (int p = 0; p < PARTS; p++) arrived &= LoadStamped(e.received + (k * PARTS + p) * 2 * sizeof(PetscReal), e.number, &((PetscReal *)x)[p]);
    return arrived;
  } else {
    *x = ((const PetscScalar *)e.received)[k];
    return true;
  }
}

/* The same; with stamps it is waited for */
template <bool stamped>
static __device__ __forceinline__ PetscScalar LoadEntry(const PeerExchange &e, size_t k)
{
  PetscScalar x;

  while (!TryEntry<stamped>(e, k, &x)) { }
  return x;
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

/* The neighbours of a kernel, copied to shared memory as far as they fit, before it waits for the kernel before it */
#define PEER_SHARED 16

struct Neighbours {
  PeerNeighbour copy[PEER_SHARED];

  __device__ void load(const PeerExchange &e)
  {
    static_assert(sizeof(PeerNeighbour) % sizeof(PeerFlag) == 0, "neighbours are copied by words");
    const int words = min(e.n, PEER_SHARED) * (int)(sizeof(PeerNeighbour) / sizeof(PeerFlag));

    for (int w = threadIdx.x; w < words; w += PEER_THREADS) ((PeerFlag *)copy)[w] = ((const PeerFlag *)e.nb)[w];
    __syncthreads();
  }

  __device__ const PeerNeighbour &operator()(const PeerExchange &e, int k) const { return k < PEER_SHARED ? copy[k] : e.nb[k]; }
};

/* The m-th neighbour to send to */
static __device__ int Turn(const PeerExchange &e, int m)
{
  return e.before + m < e.n ? e.before + m : e.before + m - e.n;
}

/* Sends a part of the messages to neighbours [first, last), counted from the first one to send to */
template <bool stamped>
static __device__ void SendPart(const PeerExchange &e, const Neighbours &nbs, const PeerArray &a, int part, int first, int last)
{
  PetscInt begin, end;

  for (int m = first; m < last; m++) {
    const PeerNeighbour &nb        = nbs(e, Turn(e, m));
    PetscScalar *const   to        = nb.to[e.number & 1];
    char *const          stampedto = nb.stampedto[e.number & 1];
    const PetscInt       row       = nb.sendfirst;
    const size_t         ldto      = nb.ldto;

    PartRows(e, nb.nsend, part, &begin, &end);
    ForRows(
      begin, end, e.K, [&](PetscInt i, PetscInt c) { return a.a[c * a.ld + (a.idx ? a.idx[row + i] : row + i)]; }, [&](PetscInt i, PetscInt c, PetscScalar x) { StoreEntry<stamped>(to, stampedto, c * ldto + i, x, e.number); });
  }
  if constexpr (!stamped) __syncthreads();
  for (int m = first + threadIdx.x; m < last; m += PEER_THREADS) {
    const PeerNeighbour &nb = nbs(e, Turn(e, m));

    if (!stamped || (!part && !nb.nsend)) SystemFlag(nb.tell[part]).store(e.number, cuda::memory_order_release);
  }
}

static __device__ void CopyPart(const PeerExchange &e, const PeerSelf &self, int part)
{
  PetscInt begin, end;

  PartRows(e, self.n, part, &begin, &end);
  ForRows(
    begin, end, e.K, [&](PetscInt i, PetscInt c) { return self.from[c * self.ldfrom + i]; }, [&](PetscInt i, PetscInt c, PetscScalar x) { self.to[c * self.ldto + i] = x; });
}

/* Waits until parts [begin, end) of the messages of neighbours [first, last) are here; with stamps, for the flags of messages without entries */
template <bool stamped>
static __device__ void WaitForParts(const PeerExchange &e, const Neighbours &nbs, int first, int last, int begin, int end)
{
  if constexpr (stamped) {
    for (int k = first + threadIdx.x; !begin && k < last; k += PEER_THREADS) {
      while (!nbs(e, k).nreceive && SystemFlag(nbs(e, k).told[0]).load(cuda::memory_order_acquire) < e.number) { }
    }
  } else {
    for (int t = threadIdx.x; t < (last - first) * (end - begin); t += PEER_THREADS) {
      SystemFlag told(nbs(e, first + t / (end - begin)).told[begin + t % (end - begin)]);

      while (told.load(cuda::memory_order_acquire) < e.number) { }
    }
    __syncthreads();
  }
}

/* Receives a part of the messages of neighbours [first, last) */
template <bool stamped>
static __device__ void ReceivePart(const PeerExchange &e, const Neighbours &nbs, const PeerArray &b, int part, int first, int last)
{
  PetscInt begin, end;

  WaitForParts<stamped>(e, nbs, first, last, part, part + 1);
  for (int k = first; k < last; k++) {
    const PeerNeighbour &nb  = nbs(e, k);
    const PetscInt       row = nb.recvfirst, place = nb.place;

    PartRows(e, nb.nreceive, part, &begin, &end);
    ForRows(
      begin, end, e.K, [&](PetscInt i, PetscInt c) { return LoadEntry<stamped>(e, c * e.ldreceived + place + i); }, [&](PetscInt i, PetscInt c, PetscScalar x) { b.a[c * b.ld + (b.idx ? b.idx[row + i] : row + i)] = x; });
  }
}

/*
  Runs send(t), t < nsend, and receive(t), t < nreceive, for a thread block's share. Without stamps, the first `senders` blocks send, and the
  others receive
*/
template <bool stamped, typename Send, typename Receive>
static __device__ void ForTasks(int senders, int nsend, int nreceive, Send send, Receive receive)
{
  const int b = blockIdx.x, blocks = gridDim.x;

  CSRCLetNextBegin();
  CSRCWaitPrevious();
  if (stamped) {
    for (int t = b; t < nsend; t += blocks) send(t);
    for (int t = b; t < nreceive; t += blocks) receive(t);
  } else if (b < senders) {
    for (int t = b; t < nsend; t += senders) send(t);
  } else {
    for (int t = b - senders; t < nreceive; t += blocks - senders) receive(t);
  }
}

template <bool stamped, bool sends, bool receives>
static __global__ void __launch_bounds__(PEER_THREADS, 2) PeerKernel(const PeerExchange e, int senders, int messages, const PeerArray a, const PeerSelf self, const PeerArray b)
{
  __shared__ Neighbours nbs;
  const int             tasks = e.parts * messages, each = messages ? e.n / messages : 0;

  nbs.load(e);
  ForTasks<stamped>(
    senders, sends ? tasks + (self.n ? e.parts : 0) : 0, receives ? tasks : 0,
    [&](int t) {
      if (!sends) return;
      if (t < tasks) SendPart<stamped>(e, nbs, a, t / messages, t % messages * each, (t % messages + 1) * each);
      else CopyPart(e, self, t - tasks);
    },
    [&](int t) {
      if (receives) ReceivePart<stamped>(e, nbs, b, t / messages, t % messages * each, (t % messages + 1) * each);
    });
}

template <bool stamped>
static __global__ void __launch_bounds__(PEER_THREADS, 2) PeerSumsKernel(const PeerExchange e, int, int, const ExchangeSums sums, const PeerArray a)
{
  __shared__ Neighbours nbs;
  const long long       begin = (long long)sums.n * blockIdx.x / gridDim.x, end = (long long)sums.n * (blockIdx.x + 1) / gridDim.x;

  nbs.load(e);
  CSRCLetNextBegin();
  CSRCWaitPrevious();
  WaitForParts<stamped>(e, nbs, 0, e.n, 0, e.parts);
  ForRows((PetscInt)begin, (PetscInt)end, e.K,
          [&](PetscInt p, PetscInt c) {
            PetscScalar sum = a.a[c * a.ld + sums.dest[p]];

            for (PetscInt q = sums.first[p]; q < sums.first[p + 1]; q++) sum += LoadEntry<stamped>(e, c * e.ldreceived + sums.place[q]);
            return sum;
          },
          [&](PetscInt p, PetscInt c, PetscScalar sum) { a.a[c * a.ld + sums.dest[p]] = sum; });
}

/* sum += row i, column c of what all neighbours have sent, and of `own` in its place; loads of several neighbours are under way at once */
template <bool stamped>
static __device__ PetscScalar AddAll(const PeerExchange &e, const Neighbours &nbs, PetscInt i, PetscInt c, PetscScalar sum, PetscScalar own)
{
  for (int k = 0; k < e.n; k += PEER_AHEAD) {
    PetscScalar x[PEER_AHEAD];
    bool        arrived[PEER_AHEAD];

#pragma unroll
    for (int u = 0; u < PEER_AHEAD; u++) arrived[u] = k + u >= e.n || TryEntry<stamped>(e, c * e.ldreceived + nbs(e, k + u).place + i, &x[u]);
#pragma unroll
    for (int u = 0; u < PEER_AHEAD; u++) {
      if (k + u >= e.n) break;
      if (!arrived[u]) x[u] = LoadEntry<stamped>(e, c * e.ldreceived + nbs(e, k + u).place + i);
      if (k + u == e.before) sum += own;
      sum += x[u];
    }
  }
  return e.before >= e.n ? sum + own : sum;
}

template <bool stamped>
static __global__ void __launch_bounds__(PEER_THREADS, 2) PeerSumAllKernel(const PeerExchange e, int senders, int messages, const PeerArray a, PetscInt own, PetscInt n, bool add, const PeerArray b)
{
  __shared__ Neighbours nbs;
  const int             each = messages ? e.n / messages : 0;

  nbs.load(e);
  ForTasks<stamped>(
    senders, e.parts * messages, e.parts, [&](int t) { SendPart<stamped>(e, nbs, a, t / messages, t % messages * each, (t % messages + 1) * each); },
    [&](int part) {
      PetscInt begin, end;

      WaitForParts<stamped>(e, nbs, 0, e.n, part, part + 1);
      PartRows(e, n, part, &begin, &end);
      ForRows(
        begin, end, e.K, [&](PetscInt i, PetscInt c) { return AddAll<stamped>(e, nbs, i, c, add ? b.a[c * b.ld + i] : PetscScalar(0.0), a.a[c * a.ld + own + i]); }, [&](PetscInt i, PetscInt c, PetscScalar sum) { b.a[c * b.ld + i] = sum; });
    });
}

static __global__ void PeerMarkKernel(PeerFlag *at, PeerFlag number)
{
  SystemFlag(*at).store(number, cuda::memory_order_release);
}

/*
  Tasks that a part of the messages is: one for each neighbour, or one for all. With few parts and flags, a flag for each neighbour after its
  stores takes longer than it gains; and in place, a thread block must have sent a part to all before it writes the sums.
*/
static int TasksOfPart(const PeerExchange *e, bool inplace)
{
  if (!e->n) return 0;
  return inplace || (!e->stamped && e->parts <= PEER_BLOCKS) ? 1 : e->n;
}

PetscErrorCode PetscCSRCPeerStream(cudaStream_t *stream)
{
  cudaStreamCaptureStatus capturing;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(stream));
  PetscCallCUDA(cudaStreamIsCapturing(*stream, &capturing));
  PetscCheck(capturing == cudaStreamCaptureStatusNone, PETSC_COMM_SELF, PETSC_ERR_SUP, "Products of parallel matrices cannot be captured in a CUDA graph: each exchange has a number of its own");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Launches a kernel for so many tasks to send and to receive, `messages` for each part; arguments are those after `messages` */
template <class Kernel, class... Arguments>
static PetscErrorCode Launch(Kernel kernel, const PeerExchange *e, int messages, int nsend, int nreceive, Arguments... arguments)
{
  static int         multiprocessors = 0;
  static bool        early;
  int                device, blocks, senders;
  cudaFuncAttributes attributes;
  cudaStream_t       stream;

  PetscFunctionBegin;
  PetscCall(PetscCSRCPeerStream(&stream));
  if (!multiprocessors) {
    PetscCallCUDA(cudaGetDevice(&device));
    PetscCallCUDA(cudaFuncGetAttributes(&attributes, kernel));
    PetscCallCUDA(CSRCMayBeginEarly(attributes, &early));
    PetscCallCUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  }
  senders = PetscMin(nsend, multiprocessors);
  blocks  = PetscMin(nreceive, multiprocessors);
  blocks  = PetscMax(e->stamped ? PetscMax(senders, blocks) : senders + blocks, 1); /* one even without neighbours */
  PetscCallCUDA(CSRCLaunch(kernel, blocks, PEER_THREADS, 0, 1, early, stream, *e, senders, messages, arguments...));
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
  const int       messages = TasksOfPart(e, false), nsend = e->parts * (messages + (self.n ? 1 : 0));
  const PeerArray none = {NULL, 0, NULL};

  PetscFunctionBegin;
  if (e->stamped) PetscCall(Launch(PeerKernel<true, true, false>, e, messages, nsend, 0, a, self, none));
  else PetscCall(Launch(PeerKernel<false, true, false>, e, messages, nsend, 0, a, self, none));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerReceive(const PeerExchange *e, PeerArray a)
{
  const int       messages = TasksOfPart(e, false);
  const PeerArray none     = {NULL, 0, NULL};
  const PeerSelf  noself   = {NULL, NULL, 0, 0, 0};

  PetscFunctionBegin;
  if (e->stamped) PetscCall(Launch(PeerKernel<true, false, true>, e, messages, 0, e->parts * messages, none, noself, a));
  else PetscCall(Launch(PeerKernel<false, false, true>, e, messages, 0, e->parts * messages, none, noself, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerSendReceive(const PeerExchange *e, PeerArray a, PeerSelf self, PeerArray b)
{
  const int messages = TasksOfPart(e, false), nsend = e->parts * (messages + (self.n ? 1 : 0));

  PetscFunctionBegin;
  if (e->stamped) PetscCall(Launch(PeerKernel<true, true, true>, e, messages, nsend, e->parts * messages, a, self, b));
  else PetscCall(Launch(PeerKernel<false, true, true>, e, messages, nsend, e->parts * messages, a, self, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerReceiveSums(const PeerExchange *e, const ExchangeSums *sums, PeerArray a)
{
  PetscFunctionBegin;
  if (e->stamped) PetscCall(Launch(PeerSumsKernel<true>, e, 1, 0, e->parts, *sums, a));
  else PetscCall(Launch(PeerSumsKernel<false>, e, 1, 0, e->parts, *sums, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerSumAll(const PeerExchange *e, PeerArray a, PetscInt own, PetscInt n, InsertMode mode, PeerArray b)
{
  const int messages = e->number ? TasksOfPart(e, a.a == b.a) : 0;

  PetscFunctionBegin;
  if (e->stamped) PetscCall(Launch(PeerSumAllKernel<true>, e, messages, e->parts * messages, e->parts, a, own, n, mode == ADD_VALUES, b));
  else PetscCall(Launch(PeerSumAllKernel<false>, e, messages, e->parts * messages, e->parts, a, own, n, mode == ADD_VALUES, b));
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
