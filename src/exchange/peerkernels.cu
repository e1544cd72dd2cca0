/*
  Thread blocks of PEER_THREADS threads, at most one for each multiprocessor, so that all of them run at once: they wait for each other across
  devices. Block b takes parts b, b + gridDim.x, ... of all messages. It sends a part, then receives the part that it has sent before; so a
  part travels while the next one is sent. Neighbouring threads have neighbouring rows of a column.

  Memory: the threads of a block store; the barrier orders these stores before the flag, which one thread stores with release semantics for the
  system. The receiver loads the flag with acquire semantics; a barrier again orders what its block loads after that. Flags are numbers of
  exchanges, and only grow.

  There are two buffers, used in turns. Nobody has to say that a buffer is free: a process stores exchange t into the buffer of t - 2 after it
  has received the flags of t - 1, which its neighbour sets after it has read exchange t - 2. So all neighbours set flags for each other in every
  exchange, also without rows.

  Bytes: a message is read once on the device that sends it, crosses the link once, and is read and written once on the device that receives it.
*/
#include "peerkernels.h"
#include <cuda/atomic>
#include <petscdevice_cuda.h>

#define PEER_THREADS 512
#define PEER_ENTRIES 512 /* least entries of a part, about */

typedef cuda::atomic_ref<PeerFlag, cuda::thread_scope_system> SystemFlag;

/* The rows [begin, end) of a part of a message with so many rows */
static __device__ void PartRows(const PeerExchange &e, PetscInt rows, int part, PetscInt *begin, PetscInt *end)
{
  const long long n = min(rows, e.most);

  *begin = (PetscInt)(n * part / e.parts);
  *end   = (PetscInt)(n * (part + 1) / e.parts);
}

/* Calls f(row, column) for a thread's share of the rows [begin, end) and K columns */
template <typename F>
static __device__ void ForRows(PetscInt begin, PetscInt end, PetscInt K, F f)
{
  const PetscInt rows = end - begin;

  if (K == 1) {
    for (PetscInt i = begin + (PetscInt)threadIdx.x; i < end; i += PEER_THREADS) f(i, (PetscInt)0);
  } else if (rows > 0) {
    PetscInt i = (PetscInt)threadIdx.x % rows, k = (PetscInt)threadIdx.x / rows;

    while (k < K) {
      f(begin + i, k);
      i += PEER_THREADS % rows;
      k += PEER_THREADS / rows;
      if (i >= rows) {
        i -= rows;
        k++;
      }
    }
  }
}

static __device__ void SendPart(const PeerExchange &e, const PeerArray &a, const PeerSelf &self, int part)
{
  PetscInt begin, end;

  for (int m = 0; m < e.n; m++) {
    const int           k     = e.first + m < e.n ? e.first + m : e.first + m - e.n;
    const PeerNeighbour nb    = e.nb[k];
    PetscScalar *const  to    = nb.to[e.number & 1];
    const PetscInt      first = nb.sendfirst;

    PartRows(e, nb.nsend, part, &begin, &end);
    ForRows(begin, end, e.K, [&](PetscInt i, PetscInt c) { to[c * nb.ldto + i] = a.a[c * a.ld + (a.idx ? a.idx[first + i] : first + i)]; });
  }
  __syncthreads();
  for (int k = threadIdx.x; k < e.n; k += PEER_THREADS) SystemFlag(e.nb[k].tell[part]).store(e.number, cuda::memory_order_release);
  PartRows(e, self.n, part, &begin, &end);
  ForRows(begin, end, e.K, [&](PetscInt i, PetscInt c) { self.to[c * self.ldto + i] = self.from[c * self.ldfrom + i]; });
}

/* Waits until parts [begin, end) of all messages are here */
static __device__ void WaitForParts(const PeerExchange &e, int begin, int end)
{
  for (int t = threadIdx.x; t < e.n * (end - begin); t += PEER_THREADS) {
    SystemFlag told(e.nb[t / (end - begin)].told[begin + t % (end - begin)]);

    while (told.load(cuda::memory_order_acquire) < e.number) { }
  }
  __syncthreads();
}

static __device__ void ReceivePart(const PeerExchange &e, const PeerArray &b, int part)
{
  PetscInt begin, end;

  WaitForParts(e, part, part + 1);
  for (int k = 0; k < e.n; k++) {
    const PeerNeighbour      nb    = e.nb[k];
    const PetscScalar *const from  = e.received + nb.place;
    const PetscInt           first = nb.recvfirst;

    PartRows(e, nb.nreceive, part, &begin, &end);
    ForRows(begin, end, e.K, [&](PetscInt i, PetscInt c) { b.a[c * b.ld + (b.idx ? b.idx[first + i] : first + i)] = from[c * e.ldreceived + i]; });
  }
}

/* Runs send(part) and receive(part) for the parts of a block, each part received after the next one has been sent */
template <typename Send, typename Receive>
static __device__ void ForParts(const PeerExchange &e, Send send, Receive receive)
{
  int sent = -1;

  for (int part = blockIdx.x; part < e.parts; part += gridDim.x) {
    send(part);
    if (sent >= 0) receive(sent);
    sent = part;
  }
  if (sent >= 0) receive(sent);
}

template <bool sends, bool receives>
static __global__ void __launch_bounds__(PEER_THREADS) PeerKernel(const PeerExchange e, const PeerArray a, const PeerSelf self, const PeerArray b)
{
  ForParts(
    e,
    [&](int part) {
      if (sends) SendPart(e, a, self, part);
    },
    [&](int part) {
      if (receives) ReceivePart(e, b, part);
    });
}

static __global__ void __launch_bounds__(PEER_THREADS) PeerSumsKernel(const PeerExchange e, PetscInt n, const PetscInt *__restrict__ dest, const PetscInt *__restrict__ first, const PetscInt *__restrict__ place, const PeerArray a)
{
  const long long begin = (long long)n * blockIdx.x / gridDim.x, end = (long long)n * (blockIdx.x + 1) / gridDim.x;

  WaitForParts(e, 0, e.parts);
  ForRows((PetscInt)begin, (PetscInt)end, e.K, [&](PetscInt p, PetscInt c) {
    PetscScalar *const at  = a.a + c * a.ld + dest[p];
    PetscScalar        sum = *at;

    for (PetscInt q = first[p]; q < first[p + 1]; q++) sum += e.received[c * e.ldreceived + place[q]];
    *at = sum;
  });
}

static __global__ void __launch_bounds__(PEER_THREADS) PeerSumAllKernel(const PeerExchange e, const PeerArray a, PetscInt own, int before, PetscInt n, bool add, const PeerArray b)
{
  const PeerSelf none = {NULL, NULL, 0, 0, 0};

  ForParts(
    e, [&](int part) { SendPart(e, a, none, part); },
    [&](int part) {
      PetscInt begin, end;

      WaitForParts(e, part, part + 1);
      PartRows(e, n, part, &begin, &end);
      ForRows(begin, end, e.K, [&](PetscInt i, PetscInt c) {
        PetscScalar *const at  = b.a + c * b.ld + i;
        PetscScalar        sum = add ? *at : PetscScalar(0.0);

        for (int k = 0; k <= e.n; k++) {
          if (k == before) sum += a.a[c * a.ld + own + i];
          if (k < e.n) sum += e.received[c * e.ldreceived + e.nb[k].place + i];
        }
        *at = sum;
      });
    });
}

static __global__ void PeerMarkKernel(PeerFlag *at, PeerFlag number)
{
  SystemFlag(*at).store(number, cuda::memory_order_release);
}

/* The number of thread blocks, and the current stream */
static PetscErrorCode Grid(const PeerExchange *e, unsigned *blocks, cudaStream_t *stream)
{
  static int multiprocessors = 0;
  int        device;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(stream));
  if (!multiprocessors) {
    PetscCallCUDA(cudaGetDevice(&device));
    PetscCallCUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  }
  *blocks = (unsigned)PetscMin(e->parts, multiprocessors);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int PetscCSRCPeerParts(PetscInt rows, PetscInt K)
{
  const double entries = (double)rows * (double)K;

  return (int)PetscClipInterval(entries / PEER_ENTRIES, 1.0, (double)PEER_PARTS);
}

PetscErrorCode PetscCSRCPeerSend(const PeerExchange *e, PeerArray a, PeerSelf self)
{
  const PeerArray none = {NULL, 0, NULL};
  unsigned        blocks = 1;
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(Grid(e, &blocks, &stream));
  PeerKernel<true, false><<<blocks, PEER_THREADS, 0, stream>>>(*e, a, self, none);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerReceive(const PeerExchange *e, PeerArray a)
{
  const PeerArray none   = {NULL, 0, NULL};
  const PeerSelf  noself = {NULL, NULL, 0, 0, 0};
  unsigned        blocks = 1;
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(Grid(e, &blocks, &stream));
  PeerKernel<false, true><<<blocks, PEER_THREADS, 0, stream>>>(*e, none, noself, a);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerSendReceive(const PeerExchange *e, PeerArray a, PeerSelf self, PeerArray b)
{
  unsigned     blocks = 1;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Grid(e, &blocks, &stream));
  PeerKernel<true, true><<<blocks, PEER_THREADS, 0, stream>>>(*e, a, self, b);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerReceiveSums(const PeerExchange *e, PetscInt n, const PetscInt dest[], const PetscInt first[], const PetscInt place[], PeerArray a)
{
  unsigned     blocks = 1;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Grid(e, &blocks, &stream));
  PeerSumsKernel<<<blocks, PEER_THREADS, 0, stream>>>(*e, n, dest, first, place, a);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerSumAll(const PeerExchange *e, PeerArray a, PetscInt own, int before, PetscInt n, InsertMode mode, PeerArray b)
{
  unsigned     blocks = 1;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Grid(e, &blocks, &stream));
  PeerSumAllKernel<<<blocks, PEER_THREADS, 0, stream>>>(*e, a, own, before, n, mode == ADD_VALUES, b);
  PetscCallCUDA(cudaGetLastError());
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
