/* Operations on blocks in host memory, by BLAS and LAPACK: code that calls BlockOps can be tested without a device */
#include "blockops.h"
#include "smalldense.h"
#include "blockrandom.h"

static PetscErrorCode Allocate_Host(size_t n, PetscScalar **a)
{
  PetscFunctionBegin;
  PetscCall(PetscCalloc1(n, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Free_Host(PetscScalar **a)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Multiply_Host(PetscInt rows, PetscInt n, PetscInt k, PetscScalar alpha, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscBool add, PetscScalar C[], PetscInt ldc)
{
  PetscFunctionBegin;
  PetscCall(SmallMultiply("N", "N", rows, n, k, alpha, A, lda, B, k, add ? 1.0 : 0.0, C, ldc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Gram_Host(PetscInt rows, PetscInt m, PetscInt n, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscInt ldb, PetscScalar C[], PetscScalar scratch[], PetscScalar tickets[])
{
  PetscFunctionBegin;
  if (A == B && lda == ldb && m == n) PetscCall(SmallGram(n, rows, A, lda, C));
  else PetscCall(SmallMultiply("C", "N", m, n, rows, 1.0, A, lda, B, ldb, 0.0, C, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GramScratch_Host(PetscInt rows, PetscInt m, PetscInt n, size_t *scratch, size_t *tickets)
{
  PetscFunctionBegin;
  *scratch = *tickets = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Copy_Host(PetscInt rows, PetscInt cols, const PetscScalar A[], PetscInt lda, PetscScalar B[], PetscInt ldb)
{
  PetscFunctionBegin;
  for (PetscInt j = 0; j < cols; j++) PetscCall(PetscArraycpy(B + (size_t)j * ldb, A + (size_t)j * lda, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Factor_Host(PetscInt w, const PetscScalar G[], PetscScalar R[], PetscScalar Rinv[], PetscScalar findings[])
{
  PetscReal deviation = 0.0, shortest = PETSC_MAX_REAL, longest = 0.0, pivot = 0.0, *d;
  PetscBool positive = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(w, &d));
  for (PetscInt j = 0; j < w; j++) {
    const PetscReal g = PetscRealPart(G[j + j * w]);

    for (PetscInt i = 0; i < w; i++) {
      const PetscReal dev = PetscAbsScalar(G[i + j * w] - (PetscScalar)(i == j ? 1.0 : 0.0));

      if (PetscIsInfOrNanReal(dev)) positive = PETSC_FALSE;
      if (!(dev <= deviation) && deviation == deviation) deviation = dev; /* once it is NaN it stays NaN */
    }
    if (!(g > 0.0)) positive = PETSC_FALSE;
    d[j]     = g > 0.0 ? PetscSqrtReal(g) : 0.0;
    shortest = PetscMin(shortest, d[j]);
    longest  = PetscMax(longest, d[j]);
  }
  if (positive) {
    for (PetscInt j = 0; j < w; j++)
      for (PetscInt i = 0; i < w; i++) R[i + j * w] = G[i + j * w] / d[i] / d[j];
    PetscCall(SmallCholesky(w, R, w, &pivot));
  }
  if (pivot > 0.0) {
    for (PetscInt j = 0; j < w; j++)
      for (PetscInt i = 0; i <= j; i++) R[i + j * w] *= d[j];
    PetscCall(PetscArraycpy(Rinv, R, w * w));
    PetscCall(SmallInvertUpper(w, Rinv, w));
  } else {
    for (PetscInt j = 0; j < w; j++)
      for (PetscInt i = 0; i < w; i++) R[i + j * w] = Rinv[i + j * w] = i == j ? 1.0 : 0.0;
  }
  findings[BLOCK_PIVOT]     = pivot;
  findings[BLOCK_SHORTEST]  = shortest;
  findings[BLOCK_LONGEST]   = longest;
  findings[BLOCK_DEVIATION] = deviation;
  PetscCall(PetscFree(d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Pass_Host(const BlockPass *p)
{
  const PetscInt rows = p->rows, w = p->w;

  PetscFunctionBegin;
  if (p->M) PetscCall(SmallMultiply("N", "N", rows, w, w, 1.0, p->in, p->ldin, p->M, w, 0.0, p->out, p->ldout));
  else if (p->in != p->out) PetscCall(Copy_Host(rows, w, p->in, p->ldin, p->out, p->ldout));
  if (p->k) PetscCall(SmallMultiply("N", "N", rows, w, p->k, -1.0, p->Q, p->ldq, p->hostH ? p->hostH : p->H, p->k, 1.0, p->out, p->ldout));
  if (p->P) {
    PetscCall(SmallMultiply("N", "N", rows, w, w, -1.0, p->P, p->ldp, p->K, w, 1.0, p->out, p->ldout));
    PetscCall(Copy_Host(rows, w, p->P, p->ldp, p->copy, p->ldcopy));
  }
  if (p->parts) {
    PetscCall(SmallGram(w, rows, p->out, p->ldout, p->parts));
    PetscCall(Factor_Host(w, p->parts, p->R, p->Rinv, p->findings));
  }
  PetscCall(PetscArraycpy(p->mirror, p->results, p->nresults));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt PassParts_Host(PetscInt rows, PetscInt w)
{
  return 1;
}

static PetscErrorCode Move_Host(PetscScalar to[], const PetscScalar from[], size_t n)
{
  PetscFunctionBegin;
  PetscCall(PetscArraycpy(to, from, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Mark_Host(void **mark)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Wait_Host(void *mark)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Random_Host(PetscInt rows, PetscInt first, PetscInt64 key, PetscReal factor, PetscScalar a[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < rows; i++) a[i] = factor * BlockRandomNormal(key, first + i);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const BlockOps BlockOpsHost = {
  .name           = "host",
  .maxwidth       = PETSC_INT_MAX,
  .chunk          = 512,
  .inlined        = PETSC_INT_MAX,
  .concurrent     = PETSC_FALSE,
  .allocate       = Allocate_Host,
  .free           = Free_Host,
  .allocatemirror = Allocate_Host,
  .freemirror     = Free_Host,
  .multiply       = Multiply_Host,
  .gram           = Gram_Host,
  .gramscratch    = GramScratch_Host,
  .pass           = Pass_Host,
  .passparts      = PassParts_Host,
  .factor         = Factor_Host,
  .copy           = Copy_Host,
  .upload         = Move_Host,
  .download       = Move_Host,
  .mark           = Mark_Host,
  .wait           = Wait_Host,
  .freemark       = Mark_Host,
  .random         = Random_Host,
};
