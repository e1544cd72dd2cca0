/*
  The exchange between devices (src/exchange/peer: peer.c, peermemory.c) without devices: its own sources, with files that processes map for memory
  that devices map, and with loops for kernels. So this shows which rows go where, in how many rounds, and who waits for whom; the kernels are tested by
  sys/exchange on GPUs. The checks, and the options, are those of sys/exchange.
*/
#include <petscconf.h>
#if defined(PETSC_HAVE_CUDA) && defined(PETSC_HAVE_MPI_PROCESS_SHARED_MEMORY)
  #if !defined(PETSCCSRC_HAVE_CUDA)
    #define PETSCCSRC_HAVE_CUDA
  #endif
  #define POOL_BLOCK ((size_t)1 << 12) /* some memory is a piece of the pool, some is mapped by itself */
  #include "mappedmemory.h"
  #include <dlfcn.h>
  #include <sched.h>

  /* ---------------------------------------------------------------- kernels: loops */
  #define PARTS ((int)(sizeof(PetscScalar) / sizeof(PetscReal)))

typedef struct {
  PetscReal x;
  #if defined(PETSC_USE_REAL_SINGLE)
  uint32_t stamp;
  #else
  PeerFlag stamp;
  #endif
} Stamped;

int PetscCSRCPeerParts(PetscInt rows, PetscInt K)
{
  return (int)PetscClipInterval(rows * K / 64, 1, PEER_PARTS);
}

static void WaitFor(const PeerFlag *flag, PeerFlag least)
{
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) < least) (void)sched_yield();
}

static PetscScalar Load(const PeerExchange *e, size_t k)
{
  PetscScalar x;

  if (!e->stamped) return ((const PetscScalar *)e->received)[k];
  for (int p = 0; p < PARTS; p++) {
    const Stamped *s = (const Stamped *)e->received + k * PARTS + p;

    while (__atomic_load_n(&s->stamp, __ATOMIC_ACQUIRE) != e->number) (void)sched_yield();
    ((PetscReal *)&x)[p] = s->x;
  }
  return x;
}

static void WaitForAll(const PeerExchange *e)
{
  for (int k = 0; k < e->n; k++) {
    if (e->stamped && !e->nb[k].nreceive) WaitFor(e->nb[k].told, e->number);
    for (int part = 0; part < e->parts && !e->stamped; part++) WaitFor(e->nb[k].told + part, e->number);
  }
}

PetscErrorCode PetscCSRCPeerSend(const PeerExchange *e, PeerArray a, PeerSelf self)
{
  PetscFunctionBegin;
  for (int m = 0; m < e->n; m++) {
    const PeerNeighbour *nb = &e->nb[(e->before + m) % e->n];

    for (PetscInt c = 0; c < e->K; c++) {
      for (PetscInt i = 0; i < PetscMin(nb->nsend, e->most); i++) {
        const PetscScalar x = a.a[c * a.ld + (a.idx ? a.idx[nb->sendfirst + i] : nb->sendfirst + i)];

        if (!e->stamped) nb->to[e->number & 1][c * nb->ldto + i] = x;
        for (int p = 0; p < PARTS && e->stamped; p++) {
          Stamped *s = (Stamped *)nb->stampedto[e->number & 1] + (c * nb->ldto + i) * PARTS + p;

          s->x = ((const PetscReal *)&x)[p];
          __atomic_store_n(&s->stamp, e->number, __ATOMIC_RELEASE);
        }
      }
    }
    if (e->stamped && !nb->nsend) __atomic_store_n(nb->tell, e->number, __ATOMIC_RELEASE);
    for (int part = 0; part < e->parts && !e->stamped; part++) __atomic_store_n(nb->tell + part, e->number, __ATOMIC_RELEASE);
  }
  for (PetscInt c = 0; c < e->K && self.n; c++) PetscCall(PetscArraycpy(self.to + c * self.ldto, self.from + c * self.ldfrom, self.n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerReceive(const PeerExchange *e, PeerArray a)
{
  PetscFunctionBegin;
  WaitForAll(e);
  for (int k = 0; k < e->n; k++) {
    const PeerNeighbour *nb = &e->nb[k];

    for (PetscInt c = 0; c < e->K; c++)
      for (PetscInt i = 0; i < nb->nreceive; i++) a.a[c * a.ld + (a.idx ? a.idx[nb->recvfirst + i] : nb->recvfirst + i)] = Load(e, c * e->ldreceived + nb->place + i);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerSendReceive(const PeerExchange *e, PeerArray a, PeerSelf self, PeerArray b)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCPeerSend(e, a, self));
  PetscCall(PetscCSRCPeerReceive(e, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerReceiveSums(const PeerExchange *e, const ExchangeSums *sums, PeerArray a)
{
  PetscFunctionBegin;
  WaitForAll(e);
  for (PetscInt c = 0; c < e->K; c++)
    for (PetscInt p = 0; p < sums->n; p++)
      for (PetscInt q = sums->first[p]; q < sums->first[p + 1]; q++) a.a[c * a.ld + sums->dest[p]] += Load(e, c * e->ldreceived + sums->place[q]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPeerSumAll(const PeerExchange *e, PeerArray a, PetscInt own, PetscInt n, InsertMode mode, PeerArray b)
{
  const PeerSelf none = {NULL, NULL, 0, 0, 0};

  PetscFunctionBegin;
  if (e->number) PetscCall(PetscCSRCPeerSend(e, a, none));
  WaitForAll(e);
  for (PetscInt c = 0; c < e->K; c++) {
    for (PetscInt i = 0; i < n; i++) {
      PetscScalar sum = mode == ADD_VALUES ? b.a[c * b.ld + i] : 0.0;

      for (int k = 0; k <= e->n; k++) {
        if (k == e->before) sum += a.a[c * a.ld + own + i];
        if (k < e->n) sum += Load(e, c * e->ldreceived + e->nb[k].place + i);
      }
      b.a[c * b.ld + i] = sum;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---------------------------------------------------------------- streams, which do at once what they are given */
PetscErrorCode PetscCSRCPeerStream(cudaStream_t *stream)
{
  PetscFunctionBegin;
  *stream = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCDeviceCopy2DOn(void *stream, PetscScalar *to, PetscInt ldto, const PetscScalar *from, PetscInt ldfrom, PetscInt m, PetscInt n)
{
  PetscFunctionBegin;
  (void)stream;
  PetscCall(PetscCSRCDeviceCopy2D(to, ldto, PETSC_MEMTYPE_CUDA, from, ldfrom, PETSC_MEMTYPE_CUDA, m, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCPack(PetscInt n, PetscInt total, PetscInt K, const PetscInt idx[], const PetscScalar a[], PetscInt lda, PackedRows b)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < K; k++)
    for (PetscInt p = 0; p < total; p++) b.a[p * b.row + k * b.column] = p < n ? a[(idx ? idx[p] : p) + k * lda] : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int Write32(cudaStream_t stream, unsigned long long at, unsigned number, unsigned flags)
{
  (void)stream;
  __atomic_store_n((unsigned *)(uintptr_t)at, number, __ATOMIC_RELEASE);
  return (int)flags;
}

static int Wait32(cudaStream_t stream, unsigned long long at, unsigned number, unsigned flags)
{
  (void)stream;
  while ((int)(__atomic_load_n((unsigned *)(uintptr_t)at, __ATOMIC_ACQUIRE) - number) < 0) (void)sched_yield();
  return (int)flags;
}

  #define dlopen(name, flags)                 ((void *)(name))
  #define dlsym(library, name)                (strstr(name, "Write") ? (void *)Write32 : (void *)Wait32)
  #define cudaStreamCreateWithFlags(s, flags) (*(s) = NULL, cudaSuccess)
  #define cudaEventCreateWithFlags(e, flags)  (*(e) = NULL, cudaSuccess)
  #define cudaEventRecord(e, s)               ((void)(e), (void)(s), cudaSuccess)
  #define cudaStreamWaitEvent(s, e, flags)    ((void)(e), (void)(s), cudaSuccess)

/* ---------------------------------------------------------------- the exchange, without its other implementations */
static PetscErrorCode Destroy_None(PetscCSRCExchange e)
{
  (void)e;
  return PETSC_SUCCESS;
}

const ExchangeOps ExchangeMPI = {.name = "none", .destroy = Destroy_None}, ExchangeShared = {.name = "none", .destroy = Destroy_None}, ExchangeNCCL = {.name = "none", .destroy = Destroy_None};

  #define BUFFER_BYTES 2000.0 /* several rounds */
  #include "../../src/exchange/peer/peer.c"
  #include "../../src/exchange/peer/panels.c"
  #include "../../src/exchange/exchange.c"

  #define Attribute SumAttribute
  #define Destroy   SumDestroy
NCCLFunctions PetscCSRCNCCLFunctions;
  #include "../../src/exchange/devicesum.c"
  #undef Attribute
  #undef Destroy
  /* ---------------------------------------------------------------- the checks: main() too */
  #define SUMS_ON_HOST
  #include "exchange.c"
#else
int main(void)
{
  return 0;
}
#endif

/*TEST

  test:
    suffix: 1
    requires: cuda defined(PETSC_HAVE_MPI_PROCESS_SHARED_MEMORY)
    output_file: output/exchange_1.out
    nsize: {{1 2 3 4}}
    args: -type peer -staged -large

TEST*/
