/*
  Two stored forms of a matrix, one for products with A and one for products with A^T: no product scatters sums.

  On the host the forms are those of A and of A^T. A^T u gathers like A x; with one form it adds the product of each nonzero to a scattered place.
  Products with dense matrices use the form of A, which is as fast for A^T U as one of A^T (experiment C53).

  On a device one form has blocks of rows and the other blocks of columns. The first adds A x without atomics, the second A^T u. This is not always
  faster: where many nonzeros of a block share a column, the block adds their sum to memory at once. Therefore both products are timed with both
  forms, each uses the faster one, and a form that gains nothing is freed; unless products must be reproducible, for which each uses its own form.
*/
#include "pair.h"

typedef struct {
  AIJStored form[2];                                         /* for A x, and for A^T u; one of them may have been freed */
  int       uses[2];                                         /* the form that A x uses, and the one that A^T u uses */
  PetscErrorCode (*transpose)(const AIJCSR *, AIJMadeCSR *); /* as in AIJPairing: if not NULL, form[1] is one of A^T */
} Pair;

static PetscErrorCode PairDestroy(void **data)
{
  Pair *p = (Pair *)*data;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 2; k++) PetscCall(AIJStoredDestroy(&p->form[k]));
  PetscCall(PetscFree(*data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stores one form, or refills it with new values; purpose: NULL for new values */
static PetscErrorCode FillForm(Pair *p, int k, const AIJCSR *csr, const AIJPurpose *purpose)
{
  AIJStored *form = &p->form[k];

  PetscFunctionBegin;
  if (purpose) {
    const AIJPairing *pairing = (const AIJPairing *)purpose->tuning;
    AIJPurpose        one     = *purpose;

    one.tuning = pairing->tuning[k];
    PetscCall(AIJStoredBuild(form, pairing->format, csr, &one));
  } else if (form->format) PetscCall((*form->format->setvalues)(form->data, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Fill(Pair *p, const AIJCSR *csr, const AIJPurpose *purpose)
{
  AIJMadeCSR     made;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (p->transpose) {
    PetscCall(FillForm(p, 0, csr, purpose));
    ierr = (*p->transpose)(csr, &made);
    if (!ierr) ierr = FillForm(p, 1, &made.csr, purpose);
    PetscCall(PetscFree(made.i));
    PetscCall(PetscFree(made.j));
    PetscCall(PetscFree(made.a));
    PetscCall(ierr);
  }
#if defined(PETSCCSRC_HAVE_CUDA)
  else {
    ierr = AIJPairUpload(csr, purpose ? PETSC_TRUE : PETSC_FALSE, &made);
    for (int k = 0; k < 2 && !ierr; k++) ierr = FillForm(p, k, &made.csr, purpose);
    PetscCall(AIJPairUploadFree(&made));
    PetscCall(ierr);
    if (purpose && !purpose->reproducible) PetscCall(AIJPairChoose(p->form, csr, purpose->columns, p->uses));
    if (p->uses[0] == p->uses[1]) PetscCall(AIJStoredDestroy(&p->form[!p->uses[0]]));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PairBuild(const AIJCSR *csr, const AIJPurpose *purpose, void **data)
{
  Pair          *p;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  p->uses[1]   = 1;
  p->transpose = ((const AIJPairing *)purpose->tuning)->transpose;
  *data        = p;
  ierr         = Fill(p, csr, purpose);
  if (PetscUnlikely(ierr)) (void)PairDestroy(data); /* the first error is the one to report */
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PairSetValues(void *data, const AIJCSR *csr)
{
  PetscFunctionBegin;
  PetscCall(Fill((Pair *)data, csr, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Formats conjugate values only in products with A^H: in complex arithmetic A^H x therefore uses the form of A if the other one is of A^T */
static PetscErrorCode PairApply(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  const Pair      *p         = (const Pair *)data;
  const PetscBool  transpose = p->transpose && (op == AIJ_T || (op == AIJ_H && !PetscDefined(USE_COMPLEX))) ? PETSC_TRUE : PETSC_FALSE;
  const AIJStored *form      = &p->form[p->transpose ? transpose : p->uses[op != AIJ_N]];

  PetscFunctionBegin;
  PetscCall((*form->format->apply)(form->data, transpose ? AIJ_N : op, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PairApplyDense(void *data, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  const Pair      *p    = (const Pair *)data;
  const AIJStored *form = &p->form[p->transpose ? 0 : p->uses[op != AIJ_N]];

  PetscFunctionBegin;
  PetscCall((*form->format->applydense)(form->data, op, K, X, ldx, Y, ldy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PairGetMemory(const void *data, PetscLogDouble *bytes)
{
  const Pair *p = (const Pair *)data;

  PetscFunctionBegin;
  *bytes = 0.0;
  for (int k = 0; k < 2; k++) {
    PetscLogDouble one;

    if (!p->form[k].format) continue;
    PetscCall((*p->form[k].format->getmemory)(p->form[k].data, &one));
    *bytes += one;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PairView(const void *data, PetscViewer viewer, PetscBool detail)
{
  const Pair *p = (const Pair *)data;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    const AIJStored *form = &p->form[k];

    if (!form->format) continue;
    PetscCall(PetscViewerASCIIPrintf(viewer, "for %s%s, in format %s:\n", p->uses[0] == k ? "A x" : "A^T x", p->uses[0] == p->uses[1] ? " and A^T x, which a second copy does not make faster" : "", form->format->name));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscCall((*form->format->view)(form->data, viewer, detail));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The nonzeros and the CSR are got from the form for A x, which is one of A */
static PetscErrorCode PairVisit(const void *data, AIJVisitor visit, void *visitctx)
{
  const Pair      *p    = (const Pair *)data;
  const AIJStored *form = &p->form[p->uses[0]];

  PetscFunctionBegin;
  PetscCall((*form->format->visit)(form->data, visit, visitctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PairGetCSR(const void *data, const PetscInt i[], PetscInt j[], PetscScalar a[])
{
  const Pair *p = (const Pair *)data;

  PetscFunctionBegin;
  PetscCall((*p->form[0].format->getcsr)(p->form[0].data, i, j, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All formats of the host that are stored as a pair have getcsr(), and none has madefor() */
const AIJFormat AIJFormatPairHost = {
  .name       = "two copies, on the host",
  .ondevice   = PETSC_FALSE,
  .build      = PairBuild,
  .setvalues  = PairSetValues,
  .destroy    = PairDestroy,
  .apply      = PairApply,
  .applydense = PairApplyDense,
  .getmemory  = PairGetMemory,
  .view       = PairView,
  .visit      = PairVisit,
  .getcsr     = PairGetCSR,
};

#if defined(PETSCCSRC_HAVE_CUDA)
/* Both forms were made for the same purpose */
static PetscErrorCode PairMadeFor(const void *data, const AIJPurpose *purpose, PetscBool *yes)
{
  const Pair      *p    = (const Pair *)data;
  const AIJStored *form = &p->form[p->uses[0]];

  PetscFunctionBegin;
  PetscCall((*form->format->madefor)(form->data, purpose, yes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The only format on a device that is stored as a pair has madefor(), and no getcsr() */
const AIJFormat AIJFormatPairDevice = {
  .name       = "two copies, on the device",
  .ondevice   = PETSC_TRUE,
  .build      = PairBuild,
  .setvalues  = PairSetValues,
  .destroy    = PairDestroy,
  .apply      = PairApply,
  .applydense = PairApplyDense,
  .getmemory  = PairGetMemory,
  .view       = PairView,
  .visit      = PairVisit,
  .madefor    = PairMadeFor,
};
#endif
