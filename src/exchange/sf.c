/*
  Exchange by PetscSF: for all memories, with a GPU-aware MPI or without. K columns travel together, by a PetscSF made for K columns.

  Arrays on the host, or with a GPU-aware MPI on a device, are operands of PetscSF themselves. The PetscSF for K columns is made for the
  leading dimensions of the first call; arrays with other leading dimensions pass through scratch.

  Otherwise the exchange is staged: own entries that some process needs are packed on the device and copied to page-locked memory. The host
  waits for this copy in Begin; it does not wait in End. The contributions of other processes to an entry are summed on the host, in the
  order of processes. PetscSF on a device would sum them by atomics, and last bits would vary. An exchange that has to be reproducible is
  therefore staged too, if an entry can get contributions from more than one other process.

  Whether an exchange is staged is the same on all processes, so that all use the same PetscSF, wherever their arrays are.
*/
#include "exchangeimpl.h"
#include <petsc/private/petscimpl.h>
#if defined(PETSCCSRC_HAVE_CUDA)
  #include "kernels.h"
  #include <petscdevice_cuda.h>
#endif

#define STRIDED_KEPT 4

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
  PetscScalar *scratch[2]; /* on the host: own and ghost entries whose arrays cannot be PetscSF's operands */
  size_t       nscratch[2];
  PetscBool    queued; /* copies from the scratch to a device, for which the host has not waited */

  /* staged only: own entries that some process needs; PetscSF's roots are copies of these */
  PetscBool    staged;
  PetscBool    pagelocked; /* the scratch is page-locked */
  PetscInt     npacked, *idx, *deviceidx;
  PetscScalar *devicepacked;
  size_t       ndevicepacked;
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
      PetscCall(PetscCSRCDeviceWait()); /* a copy from it may still be queued */
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
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PetscCSRCAgree(e->comm, PetscNew(&d), "An exchange by PetscSF");
  if (ierr) PetscCall(PetscFree(d));
  PetscCall(ierr);
  e->data = d;
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
  PetscCall(PetscCSRCDeviceFree(&d->devicepacked));
#endif
  PetscCall(PetscSFDestroy(&d->sf));
  PetscCall(PetscFree(e->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
/* Device memory for packed entries */
static PetscErrorCode GetDevicePacked(SFData *d, PetscInt K, PackedRows *packed)
{
  const size_t n = (size_t)d->npacked * K;

  PetscFunctionBegin;
  if (!d->deviceidx && d->npacked) {
    PetscCall(PetscCSRCDeviceMalloc("the list of an exchange", (size_t)d->npacked * sizeof(PetscInt), &d->deviceidx));
    PetscCall(PetscCSRCDeviceUpload(d->deviceidx, d->idx, (size_t)d->npacked * sizeof(PetscInt)));
  }
  if (d->ndevicepacked < n) {
    PetscCall(PetscCSRCDeviceFree(&d->devicepacked));
    d->ndevicepacked = 0;
    PetscCall(PetscCSRCDeviceMalloc("a buffer of an exchange", n * sizeof(PetscScalar), &d->devicepacked));
    d->ndevicepacked = n;
  }
  packed->a      = d->devicepacked;
  packed->row    = 1;
  packed->column = d->npacked;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static PetscErrorCode Prepare_SF(PetscCSRCExchange e, const ExchangeArrays *a)
{
  SFData       *d = (SFData *)e->data;
  ExchangeArray unused;

  PetscFunctionBegin;
  if (!d->staged) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetScratch(d, OWN, d->npacked, a->K, &unused));
  PetscCall(GetScratch(d, GHOST, e->nghost, a->K, &unused));
#if defined(PETSCCSRC_HAVE_CUDA)
  if (d->pagelocked) { /* also if these entries are on the host this time */
    PackedRows packed;

    PetscCall(GetDevicePacked(d, a->K, &packed));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors on a device although the matrix is bound to the host: they are copied, since PetscSF would sum on the device, in any order */
static PetscBool Unforeseen(PetscCSRCExchange e, PetscMemType mem)
{
  return !e->anydevice && !PetscMemTypeHost(mem) ? PETSC_TRUE : PETSC_FALSE;
}

/* Begin and End, which have the same arrays, get the same result. Collective for a new K. */
static PetscErrorCode GetCall(PetscCSRCExchange e, const ExchangeArrays *a, SFCall *call)
{
  SFData  *d       = (SFData *)e->data;
  PetscInt nown    = d->staged ? d->npacked : e->n;
  PetscInt ldown   = d->staged ? nown : PetscMax(a->own.ld, nown);
  PetscInt ldghost = d->staged ? e->nghost : PetscMax(a->ghost.ld, e->nghost);

  PetscFunctionBegin;
  call->sf = d->sf;
  call->a  = *a;
  if (a->K > 1) {
    int slot = 0;

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

/* Copies to the device that the last call has queued may still read the scratch */
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
  Copies into scratch. A copy from the device is queued behind those that may still read the scratch, and waited for with them: each wait is dear
  if processes share a device, since it then works for another one
*/
static PetscErrorCode ToScratch(SFData *d, PetscInt m, PetscInt K, ExchangeArray from, ExchangeArray scratch)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(from.mem)) PetscCall(WaitForScratch(d));
  PetscCall(ExchangeCopy(m, K, from, scratch));
  if (m && !PetscMemTypeHost(from.mem)) d->queued = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies own entries, or if staged those that some process needs, into scratch */
static PetscErrorCode TakeOwn(PetscCSRCExchange e, const ExchangeArrays *a, const SFCall *call)
{
  SFData *d = (SFData *)e->data;

  PetscFunctionBegin;
  if (!d->staged) PetscCall(ToScratch(d, e->n, a->K, a->own, call->a.own));
  else if (PetscMemTypeHost(a->own.mem)) {
    PetscCall(WaitForScratch(d));
    for (PetscInt k = 0; k < a->K; k++)
      for (PetscInt p = 0; p < d->npacked; p++) call->a.own.a[p + (size_t)call->a.own.ld * k] = a->own.a[d->idx[p] + (size_t)a->own.ld * k];
  }
#if defined(PETSCCSRC_HAVE_CUDA)
  else {
    PackedRows packed;

    PetscCall(GetDevicePacked(d, a->K, &packed));
    PetscCall(PetscCSRCPack(d->npacked, d->npacked, a->K, d->deviceidx, a->own.a, a->own.ld, packed));
    PetscCall(ToScratch(d, d->npacked, a->K, (ExchangeArray){packed.a, packed.column, a->own.mem}, call->a.own));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Staged: adds the sums in scratch to own entries, or with INSERT_VALUES replaces these. Otherwise copies own entries from scratch */
static PetscErrorCode GiveOwn(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *a, const SFCall *call)
{
  SFData *d = (SFData *)e->data;

  PetscFunctionBegin;
  if (!d->staged) PetscCall(ExchangeCopy(e->n, a->K, call->a.own, a->own));
  else if (PetscMemTypeHost(a->own.mem)) {
    for (PetscInt k = 0; k < a->K; k++) {
      for (PetscInt p = 0; p < d->npacked; p++) {
        PetscScalar *own = &a->own.a[d->idx[p] + (size_t)a->own.ld * k];

        *own = call->a.own.a[p + (size_t)call->a.own.ld * k] + (mode == ADD_VALUES ? *own : 0.0);
      }
    }
  }
#if defined(PETSCCSRC_HAVE_CUDA)
  else {
    PackedRows packed;

    PetscCall(GetDevicePacked(d, a->K, &packed));
    d->queued = PETSC_TRUE;
    PetscCall(PetscCSRCDeviceCopy2D(packed.a, packed.column, a->own.mem, call->a.own.a, call->a.own.ld, call->a.own.mem, d->npacked, a->K));
    PetscCall(PetscCSRCUnpack(d->npacked, a->K, d->deviceidx, packed, mode, a->own.a, a->own.ld));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ForwardBegin_SF(PetscCSRCExchange e, const ExchangeArrays *a)
{
  SFCall call;

  PetscFunctionBegin;
  PetscCall(GetCall(e, a, &call));
  if (call.ownscratch) PetscCall(TakeOwn(e, a, &call));
  PetscCall(WaitForScratch((SFData *)e->data));
  PetscCall(PetscSFBcastWithMemTypeBegin(call.sf, MPIU_SCALAR, call.a.own.mem, call.a.own.a, call.a.ghost.mem, call.a.ghost.a, MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ForwardEnd_SF(PetscCSRCExchange e, const ExchangeArrays *a)
{
  SFCall call;

  PetscFunctionBegin;
  PetscCall(GetCall(e, a, &call));
  PetscCall(PetscSFBcastEnd(call.sf, MPIU_SCALAR, call.a.own.a, call.a.ghost.a, MPI_REPLACE));
  if (!call.ghostscratch) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(PETSCCSRC_HAVE_CUDA)
  if (!PetscMemTypeHost(a->ghost.mem)) {
    ((SFData *)e->data)->queued = PETSC_TRUE;
    PetscCall(PetscCSRCDeviceCopy2D(a->ghost.a, a->ghost.ld, a->ghost.mem, call.a.ghost.a, call.a.ghost.ld, call.a.ghost.mem, e->nghost, a->K));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(ExchangeCopy(e->nghost, a->K, call.a.ghost, a->ghost));
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
  if (call->ghostscratch) PetscCall(ToScratch(d, e->nghost, a->K, a->ghost, call->a.ghost));
  PetscCall(WaitForScratch(d));
  if (d->staged || mode == INSERT_VALUES) PetscCall(SetZero(d->staged ? d->npacked : e->n, a->K, call->a.own));
  else if (call->ownscratch) PetscCall(TakeOwn(e, a, call));
  PetscCall(PetscSFReduceWithMemTypeBegin(call->sf, MPIU_SCALAR, call->a.ghost.mem, call->a.ghost.a, call->a.own.mem, call->a.own.a, MPIU_SUM));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReverseBegin_SF(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *a)
{
  SFCall call;

  PetscFunctionBegin;
  PetscCall(GetCall(e, a, &call));
  if (!BeginsLate(e, mode, &call)) PetscCall(ReverseStart(e, mode, a, &call));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReverseEnd_SF(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *a)
{
  SFCall call;

  PetscFunctionBegin;
  PetscCall(GetCall(e, a, &call));
  if (BeginsLate(e, mode, &call)) PetscCall(ReverseStart(e, mode, a, &call));
  PetscCall(PetscSFReduceEnd(call.sf, MPIU_SCALAR, call.a.ghost.a, call.a.own.a, MPIU_SUM));
  if (call.ownscratch) PetscCall(GiveOwn(e, mode, a, &call));
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
