/*
  A reduction makes the next block from a product, in the regular way: all of it in the memory where the blocks live, with the small
  results coming back at the end. So the host waits for a device once in a step, and can start the next product meanwhile.

    a = own^H B                   the share of the block that the product was made of, unless it is known
    B -= Q(:, c0:k) coef + own a  and the components along earlier columns, which are known
    Q(:, k:k+w) = own             own joins the basis, in the same pass over the rows
    B = T R1                      Cholesky QR
    h = Q^H T
    T -= Q h                      one pass against the whole basis
    T = out R2                    Cholesky QR

  If full is not set the next block is T: orthogonality.c decides when that suffices. With BV's functions instead, one call and one wait
  after the other, and without short steps, a solve takes six times as long on ch7-9-b4 and nearly four times on ESOC (one H200); on the host, where this
  path is the same, up to 1.6 times as long if the short side is long.

  On one process a pass also makes the Gram matrix of its result, and the Cholesky factor: a full reduction is six launches on a device,
  which read the basis twice and the blocks some fourteen times; without the full pass it is three launches, and blocks are read nine
  times. The last launch sends the results to the host.

  Two rounds of Cholesky QR suffice if the first factor is well conditioned, if the second Gram matrix is nearly the identity, and if
  nothing in R2 R1 is close to rounding. The findings of the two factorisations tell. If they do not suffice, B as it was before the
  first factorisation is still there, and orthonormalize.c takes over.
*/
#include "blocklanczos.h"

/* Offsets of the small arrays of a reduction in one allocation: first those that come back to the host */
typedef struct {
  size_t a, h, R1, R2, found1, found2, results; /* so many come back */
  size_t G, inverse1, inverse2, coef, owncoef, all;
} Layout;

static void LayoutFor(const BlockReduction *r, Layout *l)
{
  const size_t w = r->w, ww = w * w, kk = r->k + (r->own ? w : 0);

  l->a        = 0;
  l->h        = l->a + ww;
  l->R1       = l->h + kk * w;
  l->R2       = l->R1 + ww;
  l->found1   = l->R2 + ww;
  l->found2   = l->found1 + BLOCK_FINDINGS;
  l->results  = l->found2 + BLOCK_FINDINGS;
  l->G        = l->results;
  l->inverse1 = l->G + ww;
  l->inverse2 = l->inverse1 + ww;
  l->coef     = l->inverse2 + ww;
  l->owncoef  = l->coef + (r->k - r->c0) * w;
  l->all      = l->owncoef + ww;
}

/* A pass, and the Cholesky factor of the Gram matrix of its result; G is scratch */
static PetscErrorCode PassAndFactor(SVD svd, BlockPass *p, PetscScalar G[], PetscScalar R[], PetscScalar Rinv[], PetscScalar findings[])
{
  SVD_BLOCKLANCZOS *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  const BlockOps   *ops    = ctx->memory;
  const PetscInt    w      = p->w;
  PetscInt          nparts = 0;
  PetscMPIInt       size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)svd), &size));
  if (size == 1) nparts = (*ops->passparts)(p->rows, w);
  if (nparts) {
    PetscCall(BlockGetScratch(svd, BLOCK_SCRATCH_GRAM, (size_t)nparts * w * w, &p->parts));
    PetscCall(BlockGetScratch(svd, BLOCK_SCRATCH_TICKETS, 1, &p->tickets));
    p->R        = R;
    p->Rinv     = Rinv;
    p->findings = findings;
    PetscCall((*ops->pass)(p));
  } else {
    PetscCall((*ops->pass)(p));
    PetscCall(BlockGram(svd, p->rows, w, w, p->out, p->ldout, p->out, p->ldout, G));
    PetscCall((*ops->factor)(w, G, R, Rinv, findings));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReduceFused(SVD svd, BlockReduction *r)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const BlockOps   *ops = ctx->memory;
  const PetscInt    w = r->w, k = r->k, kk = k + (r->own ? w : 0), nc = k - r->c0;
  PetscScalar      *s, *mirror, *q, *b, *own = NULL, *out, *t;
  PetscInt          rows, ldq, ldb, ldown = 0, ldout;
  BlockPass         known = {0}, scaled = {0}, last = {0}, *final;
  Mat               MQ, MB, Mown = NULL, Mout = NULL;
  Layout            l;

  PetscFunctionBegin;
  PetscCall(BVGetSizes(r->B, &rows, NULL, NULL));
  {
    /* as much as a full basis will need, so that nothing is allocated again later */
    BlockReduction full = {0};

    full.k   = ctx->ld;
    full.w   = ctx->bs;
    full.own = ctx->X;
    LayoutFor(&full, &l);
    PetscCall(BlockGetScratch(svd, BLOCK_SCRATCH_REDUCTION, PetscMax(l.all, (size_t)ctx->ld * ctx->ld), &s)); /* orthogonality.c's V^H V, too */
    PetscCall(BlockGetScratch(svd, BLOCK_SCRATCH_RESULTS, PetscMax(l.results, (size_t)ctx->ld * ctx->ld), &mirror));
  }
  LayoutFor(r, &l);
  /* also as much as a restart will need */
  PetscCall(BlockGetScratch(svd, BLOCK_SCRATCH_LONG, PetscMax((size_t)rows * w, (size_t)PetscMin(rows, ops->chunk) * ctx->ld), &t));
  PetscCall(PetscLogEventBegin(BV_Orthogonalize, r->B, 0, 0, 0));
  PetscCall(BlockGetArray(svd, r->Q, &q, &ldq, &MQ));
  PetscCall(BlockGetArray(svd, r->B, &b, &ldb, &MB));
  if (r->own) PetscCall(BlockGetArray(svd, r->own, &own, &ldown, &Mown));
  if (r->out == r->Q) {
    out   = q + (size_t)r->outcol * ldq;
    ldout = ldq;
  } else if (r->out == r->own) {
    out   = own;
    ldout = ldown;
  } else PetscCall(BlockGetArray(svd, r->out, &out, &ldout, &Mout));

  known.rows = scaled.rows = last.rows = rows;
  known.w = scaled.w = last.w = w;

  known.in = known.out = b;
  known.ldin = known.ldout = ldb;
  if (nc) {
    known.k   = nc;
    known.Q   = q + (size_t)r->c0 * ldq;
    known.ldq = ldq;
    if (nc * w <= ops->inlined) known.hostH = r->coef;
    else {
      PetscCall((*ops->upload)(s + l.coef, r->coef, nc * w));
      known.H = s + l.coef;
    }
  }
  if (r->own) {
    if (r->owncoef) PetscCall((*ops->upload)(s + l.owncoef, r->owncoef, w * w));
    else PetscCall(BlockGram(svd, rows, w, w, own, ldown, b, ldb, s + l.a));
    known.P      = own;
    known.ldp    = ldown;
    known.K      = s + (r->owncoef ? l.owncoef : l.a);
    known.copy   = q + (size_t)k * ldq;
    known.ldcopy = ldq;
  }
  PetscCall(PassAndFactor(svd, &known, s + l.G, s + l.R1, s + l.inverse1, s + l.found1));

  scaled.in    = b;
  scaled.ldin  = ldb;
  scaled.M     = s + l.inverse1;
  scaled.out   = r->full ? t : out;
  scaled.ldout = r->full ? rows : ldout;
  if (!r->full) final = &scaled;
  else if (kk) {
    BlockPass full = {0};

    PetscCall((*ops->pass)(&scaled));
    PetscCall(BlockGram(svd, rows, kk, w, q, ldq, t, rows, s + l.h));
    full.rows = rows;
    full.w    = w;
    full.in = full.out = t;
    full.ldin = full.ldout = rows;
    full.k                 = kk;
    full.Q                 = q;
    full.ldq               = ldq;
    full.H                 = s + l.h;
    PetscCall(PassAndFactor(svd, &full, s + l.G, s + l.R2, s + l.inverse2, s + l.found2));
  } else PetscCall(PassAndFactor(svd, &scaled, s + l.G, s + l.R2, s + l.inverse2, s + l.found2));

  if (r->full) {
    last.in    = t;
    last.ldin  = rows;
    last.M     = s + l.inverse2;
    last.out   = out;
    last.ldout = ldout;
    final      = &last;
  }
  final->results  = s;
  final->mirror   = mirror;
  final->nresults = l.results;
  PetscCall((*ops->pass)(final));
  PetscCall((*ops->mark)(&ctx->mark));

  if (Mout || (r->out != r->Q && r->out != r->own)) PetscCall(BlockRestoreArray(svd, r->out, &out, &Mout));
  if (r->own) PetscCall(BlockRestoreArray(svd, r->own, &own, &Mown));
  PetscCall(BlockRestoreArray(svd, r->B, &b, &MB));
  PetscCall(BlockRestoreArray(svd, r->Q, &q, &MQ));
  PetscCall(PetscLogEventEnd(BV_Orthogonalize, r->B, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collects the results of the regular way, and tells by r->regular whether they can be used */
static PetscErrorCode CollectResults(SVD svd, BlockReduction *r)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    w = r->w, kk = r->k + (r->own ? w : 0);
  PetscScalar      *s = ctx->scratch[BLOCK_SCRATCH_RESULTS];
  PetscReal         norm, lower;
  Layout            l;

  PetscFunctionBegin;
  LayoutFor(r, &l);
  PetscCall((*ctx->memory->wait)(ctx->mark));
  if (r->own && !r->owncoef) {
    PetscCall(PetscArraycpy(r->a, s + l.a, w * w));
    for (PetscInt j = 0; j < w; j++) {
      PetscReal sum = 0.0;

      for (PetscInt i = 0; i < w; i++) sum += PetscRealPart(r->a[i + j * w] * PetscConj(r->a[i + j * w]));
      *r->norm = PetscMax(*r->norm, PetscSqrtReal(sum));
    }
  }
  norm     = PetscMax(*r->norm, PetscRealPart(s[l.found1 + BLOCK_LONGEST]));
  r->pivot = PetscRealPart(s[l.found1 + BLOCK_PIVOT]);
  lower    = r->pivot * PetscRealPart(s[l.found1 + BLOCK_SHORTEST]);
  if (r->full) {
    lower *= PetscRealPart(s[l.found2 + BLOCK_PIVOT] * s[l.found2 + BLOCK_SHORTEST]);
    r->regular = (PetscBool)(r->pivot > BLOCKLANCZOS_PIVOT && PetscRealPart(s[l.found2 + BLOCK_PIVOT]) > BLOCKLANCZOS_PIVOT && PetscRealPart(s[l.found2 + BLOCK_DEVIATION]) <= 0.01);
  } else r->regular = PETSC_TRUE;
  r->regular = (PetscBool)(r->regular && lower > 100 * SVDBlockLanczosDrop(w, norm));
  if (!r->regular) PetscFunctionReturn(PETSC_SUCCESS);
  *r->norm = norm;
  r->wout  = w;
  if (r->full) {
    r->loss = 0.0;
    for (PetscInt i = 0; i < kk * w; i++) r->loss = PetscMax(r->loss, PetscAbsScalar(s[l.h + i]));
    PetscCall(SmallMultiply("N", "N", w, w, w, 1.0, s + l.R2, w, s + l.R1, w, 0.0, r->R, w));
    PetscCall(SmallMultiply("N", "N", kk, w, w, 1.0, s + l.h, PetscMax(kk, 1), s + l.R1, w, 0.0, r->c, PetscMax(kk, 1)));
  } else {
    PetscCall(PetscArraycpy(r->R, s + l.R1, w * w));
    PetscCall(PetscArrayzero(r->c, kk * w));
    PetscCall(SVDBlockLanczosFollowLoss(svd, r, &r->regular));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Subtracts the known components by BV's functions, one call after the other, without the Cholesky QR */
static PetscErrorCode SubtractKnown(SVD svd, BlockReduction *r)
{
  const PetscInt w = r->w;

  PetscFunctionBegin;
  PetscCall(BlockMult(svd, r->B, 0, w, 1.0, -1.0, r->Q, r->c0, r->k, r->coef, r->k - r->c0));
  if (r->own) {
    if (!r->owncoef) PetscCall(BlockDot(svd, r->own, 0, w, r->B, 0, w, r->a, w));
    PetscCall(BlockMult(svd, r->B, 0, w, 1.0, -1.0, r->own, 0, w, r->owncoef ? r->owncoef : r->a, w));
    PetscCall(BlockCopy(svd, r->own, 0, w, r->Q, r->k));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Starts a reduction. Until SVDBlockLanczosReduceEnd() its blocks, results and known coefficients must not be touched. */
PetscErrorCode SVDBlockLanczosReduceBegin(SVD svd, BlockReduction *r)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  r->fused   = (PetscBool)(ctx->memory && r->w <= ctx->memory->maxwidth && r->maxw >= r->w);
  r->regular = PETSC_FALSE;
  if (r->fused) PetscCall(ReduceFused(svd, r));
  else PetscCall(SubtractKnown(svd, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ends a reduction. *again says that out has been made anew since it began, so that products made with it meanwhile are invalid. */
PetscErrorCode SVDBlockLanczosReduceEnd(SVD svd, BlockReduction *r, PetscBool *again)
{
  const PetscInt kk = r->k + (r->own ? r->w : 0);

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  if (r->fused) {
    PetscCall(CollectResults(svd, r));
    if (r->regular) PetscFunctionReturn(PETSC_SUCCESS);
    *again = PETSC_TRUE;
  }
  r->full = PETSC_TRUE;
  PetscCall(SVDBlockLanczosOrthonormalize(svd, r->Q, kk, r->B, r->w, r->maxw, r->norm, r->R, r->w, r->c, PetscMax(kk, 1), &r->wout));
  PetscCall(BlockCopy(svd, r->B, 0, r->wout, r->out, r->outcol));
  PetscFunctionReturn(PETSC_SUCCESS);
}
