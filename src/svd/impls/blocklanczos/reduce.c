/*
  A reduction makes the next block from a product. In the usual case all operations are queued in the memory of the blocks, and the small
  results are copied to the host at the end. The host then waits for a device once in a step, and can start the next product meanwhile.

    a = own^H B                   components along the block from which the product was made, unless they are known
    B -= Q(:, c0:k) coef + own a  subtracts these, and the known components along earlier columns
    Q(:, k:k+w) = own             own joins the basis, in the same pass over the rows
    B = T R1                      Cholesky QR
    h = Q^H T
    T -= Q h                      one pass against the whole basis
    T = out R2                    Cholesky QR; out replaces own, or joins the basis if there is no own

  If full is not set, the next block is T; orthogonality.c decides when this suffices. With BV's functions instead, where each call is waited
  for, and without short steps, a solve takes six times as long on ch7-9-b4 and nearly four times on ESOC (one H200). The host uses the same
  code, so that it can be tested without a device; there BV's functions take up to 1.6 times as long if the short side is long.

  On one process a pass also makes the Gram matrix of its result and the Cholesky factor. A full reduction is six launches on a device,
  which read the basis twice and the blocks some fourteen times; without the full pass it is three launches, and blocks are read nine
  times. The last launch copies the results to the host.

  Two rounds of Cholesky QR suffice if the first factor is well conditioned, the second Gram matrix is nearly the identity, and nothing in
  R2 R1 is close to rounding. The findings of the two factorizations show whether this is so. If not, orthonormalize.c starts again from B
  as it was before the first factorization, which is kept.
*/
#include "blocklanczos.h"

/* Offsets of the small arrays of a reduction in one allocation, first those that are copied to the host. Arrays [2]: one for each factor */
typedef struct {
  size_t a, h, R[2], found[2], results; /* results: the number of scalars that are copied to the host */
  size_t G, inverse[2], coef, owncoef, all;
} Layout;

static void LayoutFor(const BlockReduction *r, Layout *l)
{
  const size_t w = r->w, ww = w * w, kk = r->k + (r->own ? w : 0);

  l->a          = 0;
  l->h          = l->a + ww;
  l->R[0]       = l->h + kk * w;
  l->R[1]       = l->R[0] + ww;
  l->found[0]   = l->R[1] + ww;
  l->found[1]   = l->found[0] + BLOCK_FINDINGS;
  l->results    = l->found[1] + BLOCK_FINDINGS;
  l->G          = l->results;
  l->inverse[0] = l->G + ww;
  l->inverse[1] = l->inverse[0] + ww;
  l->coef       = l->inverse[1] + ww;
  l->owncoef    = l->coef + (r->k - r->c0) * w;
  l->all        = l->owncoef + ww;
}

/* The arrays of a reduction, for the steps below */
typedef struct {
  const BlockReduction *r;
  Layout                l;
  PetscInt              rows, kk;       /* kk: columns of the basis, own included */
  PetscScalar          *small, *mirror; /* the small arrays; their results on the host */
  BlockArray            Q, B, own;
  BlockArray            T, out; /* scratch; where the result is stored */
} ReductionArrays;

/* Gets scratch: as much as a full basis and a restart will need, so that it is allocated once */
static PetscErrorCode GetScratch(SVD svd, ReductionArrays *f)
{
  SVD_BLOCKLANCZOS   *ctx     = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov  = &ctx->krylov;
  const size_t        restart = (size_t)PetscMin(f->rows, ctx->blocks.ops->chunk) * krylov->ld, square = (size_t)krylov->ld * krylov->ld; /* orthogonality.c's V^H V */
  BlockReduction      largest = {0};
  Layout              l;

  PetscFunctionBegin;
  largest.k   = krylov->ld;
  largest.w   = krylov->bs;
  largest.own = krylov->X;
  LayoutFor(&largest, &l);
  PetscCall(BlockGetScratch(&ctx->blocks, BLOCK_SCRATCH_REDUCTION, PetscMax(l.all, square), &f->small));
  PetscCall(BlockGetScratch(&ctx->blocks, BLOCK_SCRATCH_RESULTS, PetscMax(l.results, square), &f->mirror));
  PetscCall(BlockGetScratch(&ctx->blocks, BLOCK_SCRATCH_LONG, PetscMax((size_t)f->rows * f->r->w, restart), &f->T.a));
  f->T.ld = f->rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetArrays(SVD svd, ReductionArrays *f)
{
  SVD_BLOCKLANCZOS     *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const BlockReduction *r   = f->r;

  PetscFunctionBegin;
  PetscCall(BlockGetArray(&ctx->blocks, r->Q, &f->Q));
  PetscCall(BlockGetArray(&ctx->blocks, r->B, &f->B));
  if (r->own) PetscCall(BlockGetArray(&ctx->blocks, r->own, &f->own));
  f->out = r->own ? f->own : f->Q;
  if (!r->own) f->out.a += (size_t)r->k * f->Q.ld;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestoreArrays(SVD svd, ReductionArrays *f)
{
  SVD_BLOCKLANCZOS     *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const BlockReduction *r   = f->r;

  PetscFunctionBegin;
  if (r->own) PetscCall(BlockRestoreArray(&ctx->blocks, r->own, &f->own));
  PetscCall(BlockRestoreArray(&ctx->blocks, r->B, &f->B));
  PetscCall(BlockRestoreArray(&ctx->blocks, r->Q, &f->Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A pass, and the Cholesky factor of the Gram matrix of its result, stored as factor number `which` */
static PetscErrorCode PassAndFactor(SVD svd, const ReductionArrays *f, int which, BlockPass *p)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const BlockOps   *ops = ctx->blocks.ops;
  const PetscInt    w   = p->w;
  PetscScalar      *R = f->small + f->l.R[which], *Rinv = f->small + f->l.inverse[which], *findings = f->small + f->l.found[which];
  PetscInt          nparts = 0;
  PetscMPIInt       size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)svd), &size));
  if (size == 1) nparts = (*ops->passparts)(p->rows, w);
  if (nparts) {
    PetscCall(BlockGetScratch(&ctx->blocks, BLOCK_SCRATCH_GRAM, (size_t)nparts * w * w, &p->parts));
    PetscCall(BlockGetScratch(&ctx->blocks, BLOCK_SCRATCH_TICKETS, 1, &p->tickets));
    p->R        = R;
    p->Rinv     = Rinv;
    p->findings = findings;
    PetscCall((*ops->pass)(p));
  } else {
    PetscScalar *G = f->small + f->l.G;

    PetscCall((*ops->pass)(p));
    PetscCall(BlockGram(&ctx->blocks, p->rows, w, w, p->out, p->ldout, p->out, p->ldout, G));
    PetscCall((*ops->factor)(w, G, R, Rinv, findings));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pass out = in R^-1, with the first or the second factor */
static BlockPass PassByInverse(const ReductionArrays *f, int which, BlockArray in, BlockArray out)
{
  return (BlockPass){.rows = f->rows, .w = f->r->w, .in = in.a, .ldin = in.ld, .M = f->small + f->l.inverse[which], .out = out.a, .ldout = out.ld};
}

/* Subtracts the known components from B, then B = T R1; own joins the basis */
static PetscErrorCode SubtractKnownAndFactor(SVD svd, const ReductionArrays *f)
{
  SVD_BLOCKLANCZOS     *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const BlockOps       *ops = ctx->blocks.ops;
  const BlockReduction *r   = f->r;
  const PetscInt        w = r->w, nc = r->k - r->c0;
  BlockPass             p = {.rows = f->rows, .w = w, .in = f->B.a, .ldin = f->B.ld, .out = f->B.a, .ldout = f->B.ld};

  PetscFunctionBegin;
  if (nc) {
    p.k   = nc;
    p.Q   = f->Q.a + (size_t)r->c0 * f->Q.ld;
    p.ldq = f->Q.ld;
    if (nc * w <= ops->inlined) p.hostH = r->coef;
    else {
      PetscCall((*ops->upload)(f->small + f->l.coef, r->coef, nc * w));
      p.H = f->small + f->l.coef;
    }
  }
  if (r->own) {
    if (r->owncoef) PetscCall((*ops->upload)(f->small + f->l.owncoef, r->owncoef, w * w));
    else PetscCall(BlockGram(&ctx->blocks, f->rows, w, w, f->own.a, f->own.ld, f->B.a, f->B.ld, f->small + f->l.a));
    p.P      = f->own.a;
    p.ldp    = f->own.ld;
    p.K      = f->small + (r->owncoef ? f->l.owncoef : f->l.a);
    p.copy   = f->Q.a + (size_t)r->k * f->Q.ld;
    p.ldcopy = f->Q.ld;
  }
  PetscCall(PassAndFactor(svd, f, 0, &p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The full pass: subtracts from T its components h along the whole basis, and computes the factor R2 */
static PetscErrorCode Reorthogonalize(SVD svd, const ReductionArrays *f)
{
  SVD_BLOCKLANCZOS *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    w      = f->r->w;
  BlockPass         scaled = PassByInverse(f, 0, f->B, f->T);
  BlockPass         p      = {.rows = f->rows, .w = w, .in = f->T.a, .ldin = f->T.ld, .out = f->T.a, .ldout = f->T.ld, .k = f->kk, .Q = f->Q.a, .ldq = f->Q.ld, .H = f->small + f->l.h};

  PetscFunctionBegin;
  if (!f->kk) {
    PetscCall(PassAndFactor(svd, f, 1, &scaled));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall((*ctx->blocks.ops->pass)(&scaled));
  PetscCall(BlockGram(&ctx->blocks, f->rows, f->kk, w, f->Q.a, f->Q.ld, f->T.a, f->T.ld, f->small + f->l.h));
  PetscCall(PassAndFactor(svd, f, 1, &p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* out = T R2^-1, or without the full pass out = T; the same launch copies the results to the host */
static PetscErrorCode StoreResult(SVD svd, const ReductionArrays *f)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockPass         p   = f->r->full ? PassByInverse(f, 1, f->T, f->out) : PassByInverse(f, 0, f->B, f->out);

  PetscFunctionBegin;
  p.results  = f->small;
  p.mirror   = f->mirror;
  p.nresults = f->l.results;
  PetscCall((*ctx->blocks.ops->pass)(&p));
  PetscCall((*ctx->blocks.ops->mark)(&ctx->blocks.mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Queues a reduction for the usual case */
static PetscErrorCode ReduceFused(SVD svd, const BlockReduction *r)
{
  ReductionArrays f = {0};

  PetscFunctionBegin;
  f.r  = r;
  f.kk = r->k + (r->own ? r->w : 0);
  LayoutFor(r, &f.l);
  PetscCall(BVGetSizes(r->B, &f.rows, NULL, NULL));
  PetscCall(GetScratch(svd, &f));
  PetscCall(PetscLogEventBegin(BV_Orthogonalize, r->B, 0, 0, 0));
  PetscCall(GetArrays(svd, &f));
  PetscCall(SubtractKnownAndFactor(svd, &f));
  if (r->full) PetscCall(Reorthogonalize(svd, &f));
  PetscCall(StoreResult(svd, &f));
  PetscCall(RestoreArrays(svd, &f));
  PetscCall(PetscLogEventEnd(BV_Orthogonalize, r->B, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collects the results of ReduceFused(); r->regular says whether they can be used */
static PetscErrorCode CollectResults(SVD svd, BlockReduction *r)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    w = r->w, kk = r->k + (r->own ? w : 0);
  PetscScalar      *s = ctx->blocks.scratch[BLOCK_SCRATCH_RESULTS];
  PetscReal         norm, lower;
  Layout            l;

  PetscFunctionBegin;
  LayoutFor(r, &l);
  PetscCall((*ctx->blocks.ops->wait)(ctx->blocks.mark));
  if (r->own && !r->owncoef) {
    PetscCall(PetscArraycpy(r->a, s + l.a, w * w));
    for (PetscInt j = 0; j < w; j++) *r->norm = PetscMax(*r->norm, PetscSqrtReal(SmallAddSquares(0.0, w, r->a + j * w)));
  }
  norm     = PetscMax(*r->norm, PetscRealPart(s[l.found[0] + BLOCK_LONGEST]));
  r->pivot = PetscRealPart(s[l.found[0] + BLOCK_PIVOT]);
  lower    = r->pivot * PetscRealPart(s[l.found[0] + BLOCK_SHORTEST]);
  if (r->full) {
    lower *= PetscRealPart(s[l.found[1] + BLOCK_PIVOT] * s[l.found[1] + BLOCK_SHORTEST]);
    r->regular = (PetscBool)(r->pivot > BLOCKLANCZOS_PIVOT && PetscRealPart(s[l.found[1] + BLOCK_PIVOT]) > BLOCKLANCZOS_PIVOT && PetscRealPart(s[l.found[1] + BLOCK_DEVIATION]) <= 0.01);
  } else r->regular = PETSC_TRUE;
  r->regular = (PetscBool)(r->regular && lower > 100 * SVDBlockLanczosDeflationTolerance(w, norm));
  if (!r->regular) PetscFunctionReturn(PETSC_SUCCESS);
  *r->norm = norm;
  r->wout  = w;
  if (r->full) {
    r->subtracted = 0.0;
    for (PetscInt i = 0; i < kk * w; i++) r->subtracted = PetscMax(r->subtracted, PetscAbsScalar(s[l.h + i]));
    PetscCall(SmallMultiply("N", "N", w, w, w, 1.0, s + l.R[1], w, s + l.R[0], w, 0.0, r->R, w));
    PetscCall(SmallMultiply("N", "N", kk, w, w, 1.0, s + l.h, PetscMax(kk, 1), s + l.R[0], w, 0.0, r->c, PetscMax(kk, 1)));
  } else {
    PetscCall(PetscArraycpy(r->R, s + l.R[0], w * w));
    PetscCall(PetscArrayzero(r->c, kk * w));
    PetscCall(SVDBlockLanczosOmegaEvaluate(svd, r, &r->regular));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Subtracts the known components by BV's functions, one call after the other, without the Cholesky QR */
static PetscErrorCode SubtractKnown(SVD svd, BlockReduction *r)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    w   = r->w;

  PetscFunctionBegin;
  PetscCall(BlockMult(&ctx->blocks, r->B, 0, w, 1.0, -1.0, r->Q, r->c0, r->k, r->coef, r->k - r->c0));
  if (r->own) {
    if (!r->owncoef) PetscCall(BlockDot(&ctx->blocks, r->own, 0, w, r->B, 0, w, r->a, w));
    PetscCall(BlockMult(&ctx->blocks, r->B, 0, w, 1.0, -1.0, r->own, 0, w, r->owncoef ? r->owncoef : r->a, w));
    PetscCall(BlockCopy(&ctx->blocks, r->own, 0, w, r->Q, r->k));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Starts a reduction. Its blocks, results and known coefficients must not be accessed before SVDBlockLanczosReduceEnd(). */
PetscErrorCode SVDBlockLanczosReduceBegin(SVD svd, BlockReduction *r)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  r->fused   = (PetscBool)(ctx->blocks.ops && r->w <= ctx->blocks.ops->maxwidth && r->maxw >= r->w);
  r->regular = PETSC_FALSE;
  if (r->fused) PetscCall(ReduceFused(svd, r));
  else PetscCall(SubtractKnown(svd, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ends a reduction. *again: out was computed again, so products that were started with it since ReduceBegin are invalid. */
PetscErrorCode SVDBlockLanczosReduceEnd(SVD svd, BlockReduction *r, PetscBool *again)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    kk  = r->k + (r->own ? r->w : 0);

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  if (r->fused) {
    PetscCall(CollectResults(svd, r));
    if (r->regular) PetscFunctionReturn(PETSC_SUCCESS);
    *again = PETSC_TRUE;
  }
  r->full = PETSC_TRUE;
  PetscCall(SVDBlockLanczosOrthonormalize(svd, r->Q, kk, r->B, r->w, r->maxw, r->norm, r->R, r->w, r->c, PetscMax(kk, 1), &r->wout));
  PetscCall(BlockCopy(&ctx->blocks, r->B, 0, r->wout, r->own ? r->own : r->Q, r->own ? 0 : r->k));
  PetscFunctionReturn(PETSC_SUCCESS);
}
