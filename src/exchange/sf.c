/*
  Exchange by PetscSF: for all memories, with a GPU-aware MPI or without. K columns travel together, by a PetscSF made for them and for
  the leading dimensions that came first; arrays with others pass through scratch on the host.

  PetscSF adds up what several processes send for one entry in the order of processes on the host, but by atomics on a device, where the
  last bits then vary. An exchange that is to be reproducible does that on the host. With two processes an entry gets a value from
  at most one other process.
*/
#include "exchangeimpl.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include <petscdevice_cuda.h>
#endif

#define STRIDED_KEPT 4

typedef struct {
  PetscSF sf; /* for one column */
  struct {
    PetscSF  sf;
    PetscInt K, ldown, ldghost;
  } strided[STRIDED_KEPT];
  int          next; /* which of them is replaced by the next one */
  PetscScalar *scratch[2];
  size_t       nscratch[2];
} SFData;

/* How a call goes: the PetscSF, and the arrays that it gets */
typedef struct {
  PetscSF        sf;
  ExchangeArrays a;
  PetscBool      ownstaged, ghoststaged;
} SFCall;

static PetscErrorCode Create_SF(PetscCSRCExchange e, PetscSF sf)
{
  SFData *d;

  PetscFunctionBegin;
  PetscCall(PetscNew(&d));
  PetscCall(PetscObjectReference((PetscObject)sf));
  d->sf   = sf;
  e->data = d;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy_SF(PetscCSRCExchange e)
{
  SFData *d = (SFData *)e->data;

  PetscFunctionBegin;
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < STRIDED_KEPT; k++) PetscCall(PetscSFDestroy(&d->strided[k].sf));
  for (int k = 0; k < 2; k++) PetscCall(PetscFree(d->scratch[k]));
  PetscCall(PetscSFDestroy(&d->sf));
  PetscCall(PetscFree(e->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Prepare_SF(PetscCSRCExchange e, const ExchangeArrays *a)
{
  PetscFunctionBegin;
  (void)e;
  (void)a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetScratch(SFData *d, int which, size_t n, PetscScalar **a)
{
  PetscFunctionBegin;
  if (d->nscratch[which] < n) {
    PetscCall(PetscFree(d->scratch[which]));
    PetscCall(PetscMalloc1(n, &d->scratch[which]));
    d->nscratch[which] = n;
  }
  *a = d->scratch[which];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same at Begin and End, which find the same arrays. onhost: both arrays are to be there. Collective for a new K. */
static PetscErrorCode GetCall(PetscCSRCExchange e, const ExchangeArrays *a, PetscBool onhost, SFCall *call)
{
  SFData  *d       = (SFData *)e->data;
  PetscInt ldown   = PetscMax(a->ldown, e->n);
  PetscInt ldghost = PetscMax(a->ldghost, e->nghost);

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
  call->ownstaged   = (onhost && !PetscMemTypeHost(a->ownmem)) || (a->K > 1 && ldown != a->ldown && e->n) ? PETSC_TRUE : PETSC_FALSE;
  call->ghoststaged = (onhost && !PetscMemTypeHost(a->ghostmem)) || (a->K > 1 && ldghost != a->ldghost && e->nghost) ? PETSC_TRUE : PETSC_FALSE;
  if (call->ownstaged) {
    PetscCall(GetScratch(d, 0, (size_t)ldown * a->K, &call->a.own));
    call->a.ownmem = PETSC_MEMTYPE_HOST;
    call->a.ldown  = ldown;
  }
  if (call->ghoststaged) {
    PetscCall(GetScratch(d, 1, (size_t)ldghost * a->K, &call->a.ghost));
    call->a.ghostmem = PETSC_MEMTYPE_HOST;
    call->a.ldghost  = ldghost;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ForwardBegin_SF(PetscCSRCExchange e, const ExchangeArrays *a)
{
  SFCall call;

  PetscFunctionBegin;
  PetscCall(GetCall(e, a, PETSC_FALSE, &call));
  if (call.ownstaged) PetscCall(ExchangeCopy(e->n, a->K, a->own, a->ldown, a->ownmem, call.a.own, call.a.ldown, call.a.ownmem));
  PetscCall(PetscSFBcastWithMemTypeBegin(call.sf, MPIU_SCALAR, call.a.ownmem, call.a.own, call.a.ghostmem, call.a.ghost, MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ForwardEnd_SF(PetscCSRCExchange e, const ExchangeArrays *a)
{
  SFCall call;

  PetscFunctionBegin;
  PetscCall(GetCall(e, a, PETSC_FALSE, &call));
  PetscCall(PetscSFBcastEnd(call.sf, MPIU_SCALAR, call.a.own, call.a.ghost, MPI_REPLACE));
  if (call.ghoststaged) PetscCall(ExchangeCopy(e->nghost, a->K, call.a.ghost, call.a.ldghost, call.a.ghostmem, a->ghost, a->ldghost, a->ghostmem));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetZero(PetscInt m, PetscInt n, PetscScalar A[], PetscInt lda, PetscMemType mem)
{
  PetscFunctionBegin;
  if (!m || !n) PetscFunctionReturn(PETSC_SUCCESS);
  if (PetscMemTypeHost(mem)) {
    for (PetscInt k = 0; k < n; k++) PetscCall(PetscArrayzero(A + (size_t)lda * k, m));
  }
#if defined(PETSCCSRC_HAVE_CUDA)
  else {
    cudaStream_t stream;

    PetscCall(PetscGetCurrentCUDAStream(&stream));
    PetscCallCUDA(cudaMemset2DAsync(A, (size_t)lda * sizeof(PetscScalar), 0, (size_t)m * sizeof(PetscScalar), (size_t)n, stream));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Own entries may be written until End: so no exchange begins before that changes them at its beginning, or takes them through scratch */
static PetscErrorCode ReverseCall(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *a, SFCall *call, PetscBool *late)
{
  PetscFunctionBegin;
  PetscCall(GetCall(e, a, e->reproducible && e->size > 2 ? PETSC_TRUE : PETSC_FALSE, call));
  *late = call->ownstaged || (e->gather && mode == ADD_VALUES) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReverseStart(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *a, const SFCall *call)
{
  PetscFunctionBegin;
  if (call->ghoststaged) PetscCall(ExchangeCopy(e->nghost, a->K, a->ghost, a->ldghost, a->ghostmem, call->a.ghost, call->a.ldghost, call->a.ghostmem));
  if (mode == INSERT_VALUES) PetscCall(SetZero(e->n, a->K, call->a.own, call->a.ldown, call->a.ownmem));
  else if (call->ownstaged) PetscCall(ExchangeCopy(e->n, a->K, a->own, a->ldown, a->ownmem, call->a.own, call->a.ldown, call->a.ownmem));
  PetscCall(PetscSFReduceWithMemTypeBegin(call->sf, MPIU_SCALAR, call->a.ghostmem, call->a.ghost, call->a.ownmem, call->a.own, MPIU_SUM));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReverseBegin_SF(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *a)
{
  SFCall    call;
  PetscBool late = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(ReverseCall(e, mode, a, &call, &late));
  if (!late) PetscCall(ReverseStart(e, mode, a, &call));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReverseEnd_SF(PetscCSRCExchange e, InsertMode mode, const ExchangeArrays *a)
{
  SFCall    call;
  PetscBool late = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(ReverseCall(e, mode, a, &call, &late));
  if (late) PetscCall(ReverseStart(e, mode, a, &call));
  PetscCall(PetscSFReduceEnd(call.sf, MPIU_SCALAR, call.a.ghost, call.a.own, MPIU_SUM));
  if (call.ownstaged) PetscCall(ExchangeCopy(e->n, a->K, call.a.own, call.a.ldown, call.a.ownmem, a->own, a->ldown, a->ownmem));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Describe_SF(PetscCSRCExchange e, char text[], size_t len)
{
  PetscFunctionBegin;
  (void)e;
  text[0] = 0;
  (void)len;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const ExchangeOps ExchangeSF = {"PetscSF", Create_SF, Destroy_SF, Prepare_SF, ForwardBegin_SF, ForwardEnd_SF, ReverseBegin_SF, ReverseEnd_SF, Describe_SF};
