/*
  Two stored copies of a matrix on the host, of A and of A^T, both in one of the other formats. Every product with a vector then gathers
  entries of the vector, and none scatters sums, so that A^T x is as fast as A x; with one copy A^T x adds the product of each nonzero to a
  scattered place. Products with dense matrices use the copy of A, which is as fast for A^T X as a copy of A^T (experiment C53).
*/
#include "transpose.h"

typedef struct {
  const AIJFormat *format;  /* of both copies */
  void            *copy[2]; /* the copies of A and of A^T */
} TwoCopies;

static PetscErrorCode TwoCopiesDestroy(void **data)
{
  TwoCopies *t = (TwoCopies *)*data;

  PetscFunctionBegin;
  if (!t) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 2; k++) PetscCall((*t->format->destroy)(&t->copy[k]));
  PetscCall(PetscFree(*data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stores both copies, or refills them with new values. The copy of A^T is made from a temporary CSR of A^T. */
static PetscErrorCode Fill(TwoCopies *t, const AIJCSR *csr, const AIJPurpose *purpose, PetscBool values)
{
  BCCOOTransposed transposed;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  if (values) PetscCall((*t->format->setvalues)(t->copy[0], csr));
  else PetscCall((*t->format->build)(csr, purpose, &t->copy[0]));
  PetscCall(BCCOOTransposeCSR(csr, &transposed));
  ierr = values ? (*t->format->setvalues)(t->copy[1], &transposed.csr) : (*t->format->build)(&transposed.csr, purpose, &t->copy[1]);
  PetscCall(BCCOOTransposedDestroy(&transposed));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesBuild(const AIJCSR *csr, const AIJPurpose *purpose, void **data)
{
  TwoCopies     *t;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscNew(&t));
  t->format = (const AIJFormat *)purpose->tuning;
  *data     = t;
  ierr      = Fill(t, csr, purpose, PETSC_FALSE);
  if (ierr) PetscCall(TwoCopiesDestroy(data));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesSetValues(void *data, const AIJCSR *csr)
{
  PetscFunctionBegin;
  PetscCall(Fill((TwoCopies *)data, csr, NULL, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Formats conjugate values only in products with A^H: in complex arithmetic A^H x therefore uses the copy of A */
static PetscErrorCode TwoCopiesApply(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  const TwoCopies *t         = (const TwoCopies *)data;
  const PetscBool  transpose = op == AIJ_T || (op == AIJ_H && !PetscDefined(USE_COMPLEX)) ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall((*t->format->apply)(t->copy[transpose], transpose ? AIJ_N : op, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesApplyDense(void *data, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  const TwoCopies *t = (const TwoCopies *)data;

  PetscFunctionBegin;
  PetscCall((*t->format->applydense)(t->copy[0], op, K, X, ldx, Y, ldy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesGetMemory(const void *data, PetscLogDouble *bytes)
{
  const TwoCopies *t = (const TwoCopies *)data;
  PetscLogDouble   one;

  PetscFunctionBegin;
  *bytes = 0.0;
  for (int k = 0; k < 2; k++) {
    PetscCall((*t->format->getmemory)(t->copy[k], &one));
    *bytes += one;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesView(const void *data, PetscViewer viewer, PetscBool detail)
{
  const TwoCopies *t = (const TwoCopies *)data;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "of %s, in format %s:\n", k ? "A^T" : "A", t->format->name));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscCall((*t->format->view)(t->copy[k], viewer, detail));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The nonzeros and the CSR are got from the copy of A; all formats that are stored as two copies have getcsr() */
static PetscErrorCode TwoCopiesVisit(const void *data, AIJVisitor visit, void *visitctx)
{
  const TwoCopies *t = (const TwoCopies *)data;

  PetscFunctionBegin;
  PetscCall((*t->format->visit)(t->copy[0], visit, visitctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoCopiesGetCSR(const void *data, const PetscInt i[], PetscInt j[], PetscScalar a[])
{
  const TwoCopies *t = (const TwoCopies *)data;

  PetscFunctionBegin;
  PetscCall((*t->format->getcsr)(t->copy[0], i, j, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJFormat AIJFormatHostTwoCopies = {
  .name       = "two copies, on the host",
  .ondevice   = PETSC_FALSE,
  .build      = TwoCopiesBuild,
  .setvalues  = TwoCopiesSetValues,
  .destroy    = TwoCopiesDestroy,
  .apply      = TwoCopiesApply,
  .applydense = TwoCopiesApplyDense,
  .getmemory  = TwoCopiesGetMemory,
  .view       = TwoCopiesView,
  .visit      = TwoCopiesVisit,
  .getcsr     = TwoCopiesGetCSR,
};
