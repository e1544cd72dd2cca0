/*
  Exchange by PetscSF: for all memories, with a GPU-aware MPI or without. Up to WIDTH columns travel together, by a PetscSF made for so many, whose lists
  are so many times as long; further columns in further rounds. Begin begins the first round, End ends it and makes the others.

  Arrays on the host, or with a GPU-aware MPI on a device, are operands of PetscSF themselves. The PetscSF for K columns is made for the
  leading dimensions of the first call; arrays with other leading dimensions pass through scratch.

  Otherwise the exchange is staged: in Begin a kernel packs own entries that some process needs into page-locked memory, and the host waits for
  it; in End another kernel reads what came, and the host does not wait. The contributions of other processes to an entry are summed on the
  host, in the order of processes. PetscSF on a device would sum them by atomics, and last bits would vary. An exchange that has to be
  reproducible is therefore staged too, if an entry can get contributions from more than one other process.

  Whether an exchange is staged is the same on all processes, so that all use the same PetscSF, wherever their arrays are.
*/
#include "exchangeimpl.h"
#include <petsc/private/petscimpl.h>
#if defined(PETSCCSRC_HAVE_CUDA)
  #include "kernels.h"
  #include <petscdevice_cuda.h>
#endif

#define STRIDED_KEPT 4
#define WIDTH        8

enum {
  OWN,
  GHOST
};

typedef struct {
  PetscSF sf; /* for one column */
  struct {
    PetscSF  sf;
    PetscInt K, ldown, ldghost;
  } strided[STRIDED_KEPT];
  int          next;       /* which of them the next new one replaces */
  PetscInt     width;      /* columns of a round: with them PetscSF can number all entries of a process */
  PetscScalar *scratch[2]; /* on the host: own and ghost entries whose arrays cannot be PetscSF's operands */
  size_t       nscratch[2];
  PetscBool    queued; /* kernels that read the scratch, for which the host has not waited */

  /* staged only: own entries that some process needs; PetscSF's roots are copies of these */
  PetscBool staged;
  PetscBool pagelocked; /* the scratch is page-locked */
  PetscInt  npacked, *idx, *deviceidx;
} SFData;

/* The PetscSF of a call, and the arrays that it gets */
typedef struct {
  PetscSF        sf;
  ExchangeArrays a;
  PetscBool      ownscratch, ghostscratch;
} SFCall;

static PetscErrorCode FreeScratch(SFData *d, int which)
{
  PetscFunctionBegin;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (d->pagelocked) {
    if (d->scratch[which]) {
      PetscCall(PetscCSRCDeviceWait()); /* a kernel that reads it may still be queued */
      PetscCallCUDA(cudaFreeHost(d->scratch[which]));
    }
    d->scratch[which] = NULL;
  }
#endif
  PetscCall(PetscFree(d->scratch[which]));
  d->nscratch[which] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetScratch(SFData *d, int which, PetscInt ld, PetscInt K, ExchangeArray *x)
{
  const size_t n = (size_t)ld * K;

  PetscFunctionBegin;
  if (d->nscratch[which] < n) {
    PetscCall(FreeScratch(d, which));
#if defined(PETSCCSRC_HAVE_CUDA)
    if (d->pagelocked) PetscCallCUDA(cudaMallocHost((void **)&d->scratch[which], n * sizeof(PetscScalar)));
    else
#endif
    {
      PetscCall(PetscMalloc1(n, &d->scratch[which]));
    }
    d->nscratch[which] = n;
  }
  *x = (ExchangeArray){d->scratch[which], ld, PETSC_MEMTYPE_HOST};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for CreatePacked() */
typedef struct {
  PetscInt    *number, *leafnumber; /* the packed places of own entries and of ghosts */
  PetscSFNode *remote;
} PackedWork;

static PetscErrorCode PackedAllocate(PetscCSRCExchange e, PetscInt nleaves, PackedWork *w)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(e->n, &((SFData *)e->data)->idx));
  PetscCall(PetscMalloc2(e->n, &w->number, e->nghost, &w->leafnumber));
  PetscCall(PetscMalloc1(nleaves, &w->remote));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The own entries that some process needs, this one included, and a PetscSF whose roots are only these */
static PetscErrorCode CreatePacked(PetscCSRCExchange e, PetscSF sf)
{
  SFData            *d = (SFData *)e->data;
  const PetscInt    *needed, *ilocal;
  const PetscSFNode *iremote;
  PetscInt           nleaves;
  PackedWork         w = {NULL, NULL, NULL};
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(PetscSFGetGraph(sf, NULL, &nleaves, &ilocal, &iremote));
  ierr = PetscCSRCAgree(e->comm, PackedAllocate(e, nleaves, &w), "Room for the entries of an exchange");
  if (ierr) {
    PetscCall(PetscFree2(w.number, w.leafnumber));
    PetscCall(PetscFree(w.remote));
  }
  PetscCall(ierr);
  PetscCall(PetscSFComputeDegreeBegin(sf, &needed));
  PetscCall(PetscSFComputeDegreeEnd(sf, &needed));
  for (PetscInt i = 0; i < e->n; i++) {
    w.number[i] = d->npacked;
    if (needed[i]) d->idx[d->npacked++] = i;
  }
  PetscCall(PetscSFBcastBegin(sf, MPIU_INT, w.number, w.leafnumber, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(sf, MPIU_INT, w.number, w.leafnumber, MPI_REPLACE));
  for (PetscInt k = 0; k < nleaves; k++) {
    w.remote[k].rank  = iremote[k].rank;
    w.remote[k].index = w.leafnumber[ilocal ? ilocal[k] : k];
  }
  PetscCall(PetscSFCreate(e->comm, &d->sf));
  PetscCall(PetscSFSetGraph(d->sf, d->npacked, nleaves, (PetscInt *)ilocal, PETSC_COPY_VALUES, w.remote, PETSC_OWN_POINTER));
  PetscCall(PetscFree2(w.number, w.leafnumber));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create_SF(PetscCSRCExchange e, PetscSF sf)
{
  SFData        *d     = NULL;
  PetscBool      aware = PETSC_FALSE;
  PetscInt       most  = PetscMax(1, PetscMax(e->n, e->nghost));
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PetscCSRCAgree(e->comm, PetscNew(&d), "An exchange by PetscSF");
  if (ierr) PetscCall(PetscFree(d));
  PetscCall(ierr);
  e->data = d;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &most, 1, MPIU_INT, MPI_MAX, e->comm));
  d->width = PetscMax(1, PetscMin(WIDTH, PETSC_INT_MAX / most));
#if PetscDefined(HAVE_DEVICE)
  aware = use_gpu_aware_mpi;
#endif
  d->staged = e->anydevice && (!aware || (e->reproducible && e->size > 2)) ? PETSC_TRUE : PETSC_FALSE;
  if (d->staged) {
    PetscCall(PetscCSRCDeviceUsable(&d->pagelocked, NULL));
    PetscCall(CreatePacked(e, sf));
  } else {
    PetscCall(PetscObjectReference((PetscObject)sf));
    d->sf = sf;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy_SF(PetscCSRCExchange e)
{
  SFData *d = (SFData *)e->data;

  PetscFunctionBegin;
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < STRIDED_KEPT; k++) PetscCall(PetscSFDestroy(&d->strided[k].sf));
  for (int k = 0; k < 2; k++) PetscCall(FreeScratch(d, k));
  PetscCall(PetscFree(d->idx));
#if defined(PETSCCSRC_HAVE_CUDA)
  PetscCall(PetscCSRCDeviceFree(&d->deviceidx));
#endif
  PetscCall(PetscSFDestroy(&d->sf));
  PetscCall(PetscFree(e->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many own entries travel */
static PetscInt Travelling(PetscCSRCExchange e)
{
  const SFData *d = (const SFData *)e->data;

  return d->staged ? d->npacked : e->n;
}

/* The list of own entries that travel, in the memory where these entries are; NULL: all */
static PetscErrorCode GetList(SFData *d, PetscMemType mem, const PetscInt **idx)
{
  PetscFunctionBegin;
  *idx = d->idx;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (PetscMemTypeHost(mem) || !d->npacked) PetscFunctionReturn(PETSC_SUCCESS);
  if (!d->deviceidx) {
    PetscCall(PetscCSRCDeviceMalloc("the list of an exchange", (size_t)d->npacked * sizeof(PetscInt), &d->deviceidx));
    PetscCall(PetscCSRCDeviceUpload(d->deviceidx, d->idx, (size_t)d->npacked * sizeof(PetscInt)));
  }
  *idx = d->deviceidx;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Prepare_SF(PetscCSRCExchange e, const ExchangeArrays *a)
{
  SFData         *d = (SFData *)e->data;
  ExchangeArray   unused;
  const PetscInt *idx;

  PetscFunctionBegin;
  if (!d->staged) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetScratch(d, OWN, d->npacked, PetscMin(a->K, d->width), &unused));
  PetscCall(GetScratch(d, GHOST, e->nghost, PetscMin(a->K, d->width), &unused));
  if (d->pagelocked) PetscCall(GetList(d, PETSC_MEMTYPE_DEVICE, &idx)); /* also if these entries are on the host this time */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors on a device although the matrix is bound to the host: they are copied, since PetscSF would sum on the device, in any order */
static PetscBool Unforeseen(PetscCSRCExchange e, PetscMemType mem)
{
  return !e->anydevice && !PetscMemTypeHost(mem) ? PETSC_TRUE : PETSC_FALSE;
}

/* The columns of a round, which begins with column k */
static ExchangeArrays Columns(const SFData *d, const ExchangeArrays *a, PetscInt k)
{
  ExchangeArrays b = *a;

  b.K = PetscMin(d->width, a->K - k);
  b.own.a += (size_t)a->own.ld * k;
  b.ghost.a += (size_t)a->ghost.ld * k;
  return b;
}

/* A leading dimension with which PetscSF can number the entries of all columns, if that of an array of n rows is too large for that */
static PetscInt Stride(PetscInt ld, PetscInt n, PetscInt K)
{
  return ld < n || ld > PETSC_INT_MAX / K ? n : ld;
}

/* Begin and End, which have the same arrays, get the same result. Collective for a new K. */
static PetscErrorCode GetCall(PetscCSRCExchange e, const ExchangeArrays *a, SFCall *call)
{
  SFData  *d       = (SFData *)e->data;
  PetscInt nown    = Travelling(e);
  PetscInt ldown   = nown;
  PetscInt ldghost = e->nghost;

  PetscFunctionBegin;
  call->sf = d->sf;
  call->a  = *a;
  if (a->K > 1) {
    int slot = 0;

    if (!d->staged) {
      ldown   = Stride(a->own.ld, nown, a->K);
      ldghost = Stride(a->ghost.ld, e->nghost, a->K);
    }
    while (slot < STRIDED_KEPT && d->strided[slot].K != a->K) slot++;
    if (slot == STRIDED_KEPT) {
      slot    = d->next;
      d->next = (slot + 1) % STRIDED_KEPT;
      PetscCall(PetscSFDestroy(&d->strided[slot].sf));
      PetscCall(PetscSFCreateStridedSF(d->sf, a->K, ldown, ldghost, &d->strided[slot].sf));
      d->strided[slot].K       = a->K;
      d->strided[slot].ldown   = ldown;
      d->strided[slot].ldghost = ldghost;
    }
    call->sf = d->strided[slot].sf;
    ldown    = d->strided[slot].ldown;
    ldghost  = d->strided[slot].ldghost;
  }
  call->ownscratch   = d->staged || Unforeseen(e, a->own.mem) || (a->K > 1 && ldown != a->own.ld && e->n) ? PETSC_TRUE : PETSC_FALSE;
  call->ghostscratch = d->staged || Unforeseen(e, a->ghost.mem) || (a->K > 1 && ldghost != a->ghost.ld && e->nghost) ? PETSC_TRUE : PETSC_FALSE;
  if (call->ownscratch) PetscCall(GetScratch(d, OWN, ldown, a->K, &call->a.own));
  if (call->ghostscratch) PetscCall(GetScratch(d, GHOST, ldghost, a->K, &call->a.ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Kernels that the last call has queued may still read the scratch */
static PetscErrorCode WaitForScratch(SFData *d)
{
  PetscFunctionBegin;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (d->queued) PetscCall(PetscCSRCDeviceWait());
#endif
  d->queued = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Copies into scratch: row p of it = row idx[p] of the array, or row p where idx is NULL. To and from page-locked scratch kernels copy: a copy engine would
  be waited for between kernels, and if processes share a device, it works for another one meanwhile. For the same reason there is one wait, here, for
  this kernel and for those queued before, which may still read the scratch.
*/
static PetscErrorCode ToScratch(SFData *d, PetscInt m, PetscInt K, const PetscInt idx[], ExchangeArray from, ExchangeArray scratch)
{
  PetscFunctionBegin;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (d->pagelocked && !PetscMemTypeHost(from.mem)) {
    if (!m) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscCSRCPack(m, m, K, idx, from.a, from.ld, (PackedRows){scratch.a, 1, scratch.ld}));
    PetscCall(PetscLogGpuToCpu((PetscLogDouble)m * K * sizeof(PetscScalar)));
    PetscCall(PetscCSRCDeviceWait());
    d->queued = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(WaitForScratch(d));
  if (!idx) PetscCall(ExchangeCopy(m, K, from, scratch));
  else {
    for (PetscInt k = 0; k < K; k++)
      for (PetscInt p = 0; p < m; p++) scratch.a[p + (size_t)scratch.ld * k] = from.a[idx[p] + (size_t)from.ld * k];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The way back; with ADD_VALUES the rows are added */
static PetscErrorCode FromScratch(SFData *d, PetscInt m, PetscInt K, const PetscInt idx[], InsertMode mode, ExchangeArray scratch, ExchangeArray to)
{
  PetscFunctionBegin;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (d->pagelocked && !PetscMemTypeHost(to.mem)) {
    if (!m) PetscFunctionReturn(PETSC_SUCCESS);
    d->queued = PETSC_TRUE;
    PetscCall(PetscCSRCUnpack(m, K, idx, (PackedRows){scratch.a, 1, scratch.ld}, mode, to.a, to.ld));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)m * K * sizeof(PetscScalar)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  if (!idx) PetscCall(ExchangeCopy(m, K, scratch, to));
  else {
    for (PetscInt k = 0; k < K; k++) {
      for (PetscInt p = 0; p < m; p++) {
        PetscScalar *x = &to.a[idx[p] + (size_t)to.ld * k];

        *x = scratch.a[p + (size_t)scratch.ld * k] + (mode == ADD_VALUES ? *x : 0.0);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies own entries, or if staged those that some process needs, into scratch */
static PetscErrorCode TakeOwn(PetscCSRCExchange e, const ExchangeArrays *a, const SFCall *call)
{
  SFData         *d = (SFData *)e->data;
  const PetscInt *idx;

  PetscFunctionBegin;
  PetscCall(GetList(d, a->own.mem, &idx));
  PetscCall(ToScratch(d, Travelling(e), a->K, idx, a->own, call->a.own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Staged: adds the sums in scratch to own entries, or with INSERT_VALUES replaces these. Otherwise copies own entries from scratch */
static PetscErrorCode GiveOwn(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *a, const SFCall *call)
{
  SFData         *d = (SFData *)e->data;
  const PetscInt *idx;

  PetscFunctionBegin;
  PetscCall(GetList(d, a->own.mem, &idx));
  PetscCall(FromScratch(d, Travelling(e), a->K, idx, mode, call->a.own, a->own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ForwardStart(PetscCSRCExchange e, const ExchangeArrays *a)
{
  SFCall call;

  PetscFunctionBegin;
  PetscCall(GetCall(e, a, &call));
  if (call.ownscratch) PetscCall(TakeOwn(e, a, &call));
  PetscCall(WaitForScratch((SFData *)e->data));
  PetscCall(PetscSFBcastWithMemTypeBegin(call.sf, MPIU_SCALAR, call.a.own.mem, call.a.own.a, call.a.ghost.mem, call.a.ghost.a, MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ForwardBegin_SF(PetscCSRCExchange e, const ExchangeArrays *a)
{
  const ExchangeArrays first = Columns((SFData *)e->data, a, 0);

  PetscFunctionBegin;
  if (a->K) PetscCall(ForwardStart(e, &first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ForwardEnd_SF(PetscCSRCExchange e, const ExchangeArrays *a)
{
  SFData *d = (SFData *)e->data;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < a->K; k += d->width) {
    const ExchangeArrays round = Columns(d, a, k);
    SFCall               call;

    if (k) PetscCall(ForwardStart(e, &round));
    PetscCall(GetCall(e, &round, &call));
    PetscCall(PetscSFBcastEnd(call.sf, MPIU_SCALAR, call.a.own.a, call.a.ghost.a, MPI_REPLACE));
    if (call.ghostscratch) PetscCall(FromScratch(d, e->nghost, round.K, NULL, INSERT_VALUES, call.a.ghost, round.ghost));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetZero(PetscInt m, PetscInt n, ExchangeArray x)
{
  PetscFunctionBegin;
  if (!m || !n) PetscFunctionReturn(PETSC_SUCCESS);
  if (PetscMemTypeHost(x.mem)) {
    for (PetscInt k = 0; k < n; k++) PetscCall(PetscArrayzero(x.a + (size_t)x.ld * k, m));
  }
#if defined(PETSCCSRC_HAVE_CUDA)
  else {
    cudaStream_t stream;

    PetscCall(PetscGetCurrentCUDAStream(&stream));
    /* the distance of columns in an operation of two dimensions is limited */
    if (x.ld <= (PetscInt)(INT_MAX / sizeof(PetscScalar))) PetscCallCUDA(cudaMemset2DAsync(x.a, (size_t)x.ld * sizeof(PetscScalar), 0, (size_t)m * sizeof(PetscScalar), (size_t)n, stream));
    else {
      for (PetscInt k = 0; k < n; k++) PetscCallCUDA(cudaMemsetAsync(x.a + (size_t)x.ld * k, 0, (size_t)m * sizeof(PetscScalar), stream));
    }
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Own entries may be written until End. A reverse exchange that would change them at its beginning, or copy them to scratch, therefore
  begins in End
*/
static PetscBool BeginsLate(PetscCSRCExchange e, InsertMode mode, const SFCall *call)
{
  if (((SFData *)e->data)->staged) return PETSC_FALSE; /* scratch holds sums alone */
  return call->ownscratch || (e->gather && mode == ADD_VALUES) ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode ReverseStart(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *a, const SFCall *call)
{
  SFData *d = (SFData *)e->data;

  PetscFunctionBegin;
  if (call->ghostscratch) PetscCall(ToScratch(d, e->nghost, a->K, NULL, a->ghost, call->a.ghost));
  PetscCall(WaitForScratch(d));
  if (d->staged || mode == INSERT_VALUES) PetscCall(SetZero(Travelling(e), a->K, call->a.own));
  else if (call->ownscratch) PetscCall(TakeOwn(e, a, call));
  PetscCall(PetscSFReduceWithMemTypeBegin(call->sf, MPIU_SCALAR, call->a.ghost.mem, call->a.ghost.a, call->a.own.mem, call->a.own.a, MPIU_SUM));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReverseBegin_SF(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *a)
{
  const ExchangeArrays first = Columns((SFData *)e->data, a, 0);
  SFCall               call;

  PetscFunctionBegin;
  if (!a->K) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetCall(e, &first, &call));
  if (!BeginsLate(e, mode, &call)) PetscCall(ReverseStart(e, mode, &first, &call));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReverseEnd_SF(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *a)
{
  SFData *d = (SFData *)e->data;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < a->K; k += d->width) {
    const ExchangeArrays round = Columns(d, a, k);
    SFCall               call;

    PetscCall(GetCall(e, &round, &call));
    if (k || BeginsLate(e, mode, &call)) PetscCall(ReverseStart(e, mode, &round, &call));
    PetscCall(PetscSFReduceEnd(call.sf, MPIU_SCALAR, call.a.ghost.a, call.a.own.a, MPIU_SUM));
    if (call.ownscratch) PetscCall(GiveOwn(e, mode, &round, &call));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Describe_SF(PetscCSRCExchange e, char text[], size_t len)
{
  PetscFunctionBegin;
  PetscCall(PetscStrncpy(text, ((SFData *)e->data)->staged ? " through the host's memory" : "", len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const ExchangeOps ExchangeSF = {
  .name         = "PetscSF",
  .message      = 1e-6,
  .byte         = 1 / 2.5e9, /* through the host's memory; a GPU-aware MPI is faster, but then the patterns differ by microseconds only */
  .create       = Create_SF,
  .destroy      = Destroy_SF,
  .prepare      = Prepare_SF,
  .forwardbegin = ForwardBegin_SF,
  .forwardend   = ForwardEnd_SF,
  .reversebegin = ReverseBegin_SF,
  .reverseend   = ReverseEnd_SF,
  .describe     = Describe_SF,
};
