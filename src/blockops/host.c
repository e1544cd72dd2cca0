/* Operations on blocks in host memory, by BLAS and LAPACK: code that calls BlockOps can be tested without a device */
#include "blockops.h"
#include "smalldense.h"
#include "blockrandom.h"

/*
  One thread processes so many rows at a time. All steps of a pass then find them in cache, and OpenBLAS has kernels that do not copy their operands, for products
  up to a million multiplications: twice to three times as fast for blocks of 4 columns. Threads of BLAS share all rows.
*/
#define CHUNK 512
/* Up to so many columns, half of a Gram matrix (syrk) takes longer than all of it: 24 and 5 us for 8297 rows of 4 columns */
#define NARROW 24

static PetscInt Chunk(PetscInt rows)
{
  return SmallOneThread() ? PetscMin(rows, CHUNK) : rows;
}

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
  const PetscInt chunk = Chunk(rows);

  PetscFunctionBegin;
  for (PetscInt i = 0; i < rows; i += chunk) PetscCall(SmallMultiply("N", "N", PetscMin(chunk, rows - i), n, k, alpha, A + i, lda, B, k, add ? 1.0 : 0.0, C + i, ldc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Gram_Host(PetscInt rows, PetscInt m, PetscInt n, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscInt ldb, PetscScalar C[], PetscScalar scratch[], PetscScalar tickets[])
{
  const PetscInt chunk = Chunk(rows);

  PetscFunctionBegin;
  if (!rows) PetscCall(PetscArrayzero(C, m * n)); /* BLAS refuses leading dimensions of 0 */
  else if (A == B && lda == ldb && m == n && n > NARROW) PetscCall(SmallGram(n, rows, A, lda, C));
  else {
    for (PetscInt i = 0; i < rows; i += chunk) PetscCall(SmallMultiply("C", "N", m, n, PetscMin(chunk, rows - i), 1.0, A + i, lda, B + i, ldb, i ? 1.0 : 0.0, C, m));
  }
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
  const PetscInt w = p->w, chunk = Chunk(p->rows);

  PetscFunctionBegin;
  if (p->parts) PetscCall(PetscArrayzero(p->parts, w * w));
  for (PetscInt i = 0; i < p->rows; i += chunk) {
    const PetscInt     rows = PetscMin(chunk, p->rows - i);
    const PetscScalar *in   = p->in + i;
    PetscScalar       *out  = p->out + i;

    if (p->M) PetscCall(SmallMultiply("N", "N", rows, w, w, 1.0, in, p->ldin, p->M, w, 0.0, out, p->ldout));
    else if (in != out) PetscCall(Copy_Host(rows, w, in, p->ldin, out, p->ldout));
    if (p->k) PetscCall(SmallMultiply("N", "N", rows, w, p->k, -1.0, p->Q + i, p->ldq, p->hostH ? p->hostH : p->H, p->k, 1.0, out, p->ldout));
    if (p->P) {
      PetscCall(SmallMultiply("N", "N", rows, w, w, -1.0, p->P + i, p->ldp, p->K, w, 1.0, out, p->ldout));
      PetscCall(Copy_Host(rows, w, p->P + i, p->ldp, p->copy + i, p->ldcopy));
    }
    if (p->parts) PetscCall(SmallMultiply("C", "N", w, w, rows, 1.0, out, p->ldout, out, p->ldout, 1.0, p->parts, w));
  }
  if (p->parts) PetscCall(Factor_Host(w, p->parts, p->R, p->Rinv, p->findings));
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
  .chunk          = CHUNK,
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
