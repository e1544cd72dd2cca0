/*
  One step: the next block X joins the basis, A and A^H are applied to it, and a reduction makes the new X from the result.

  In the A^H A form the coefficients along X itself have to be computed; in the two-sided form they are the triangular factor of the long
  side.

  On a device, which works while the host goes on, a step ends with the products of the next one under way; meanwhile the host reads the
  results of the reduction.
*/
#include "blocklanczos.h"

/* Rows [c0, k) of C^H, the columns of the basis that X is coupled to: into T, and as the known coefficients of a reduction */
static void KnownCoupling(SVD svd, PetscScalar coef[])
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    k = ctx->k, c0 = ctx->c0;

  for (PetscInt j = 0; j < ctx->w; j++) {
    for (PetscInt i = 0; i < c0; i++) ctx->T[i + (k + j) * ctx->ld] = 0.0;
    for (PetscInt i = c0; i < k; i++) ctx->T[i + (k + j) * ctx->ld] = coef[i - c0 + j * (k - c0)] = PetscConj(ctx->C[j + i * ctx->bs]);
  }
}

/* After a block of w columns has joined the basis: C = [0 R] with R of wnew x w */
static PetscErrorCode SetCoupling(SVD svd, PetscInt w, PetscInt wnew, const PetscScalar R[])
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < w; j++) ctx->dropped[ctx->k + j] = 0.0;
  ctx->k += w;
  PetscCall(PetscArrayzero(ctx->C, ctx->bs * ctx->k));
  for (PetscInt j = 0; j < w; j++) PetscCall(PetscArraycpy(ctx->C + (ctx->k - w + j) * ctx->bs, R + j * w, wnew));
  ctx->c0 = ctx->k - w;
  ctx->w  = wnew;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest 2-norm of the columns of a small matrix */
static PetscReal MaxColumnNorm(PetscInt m, PetscInt n, const PetscScalar A[], PetscInt lda)
{
  PetscReal norm = 0.0;

  for (PetscInt j = 0; j < n; j++) {
    PetscReal s = 0.0;

    for (PetscInt i = 0; i < m; i++) s += PetscRealPart(A[i + j * lda] * PetscConj(A[i + j * lda]));
    norm = PetscMax(norm, s);
  }
  return PetscSqrtReal(norm);
}

/* Starts the products of the next step, before it is known whether X is final. The Z of this step may still be needed. */
static PetscErrorCode StartNextProducts(SVD svd, PetscInt w)
{
  SVD_BLOCKLANCZOS  *ctx     = (SVD_BLOCKLANCZOS *)svd->data;
  const BV           Z       = ctx->Z;
  const BlockProduct adjoint = ctx->adjoint;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosForward(svd, ctx->X, ctx->W, w));
  ctx->wready = PETSC_TRUE;
  if (!ctx->twosided) {
    ctx->Z            = ctx->spare;
    ctx->adjoint      = ctx->adjointspare;
    ctx->spare        = Z;
    ctx->adjointspare = adjoint;
    PetscCall(SVDBlockLanczosAdjoint(svd, ctx->W, ctx->Z, w));
    ctx->zready = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The reduction on the short side, and with it the next products with X, if these take the host no time */
static PetscErrorCode ReduceToNextBlock(SVD svd, BlockReduction *r)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscBool         again;

  PetscFunctionBegin;
  r->Q      = svd->V;
  r->B      = ctx->Z;
  r->own    = ctx->X;
  r->out    = ctx->X;
  r->outcol = 0;
  r->maxw   = ctx->n - ctx->k - ctx->w;
  r->norm   = &ctx->anorm;
  PetscCall(SVDBlockLanczosReduceBegin(svd, r));
  ctx->wready = ctx->zready = PETSC_FALSE;
  if (r->fused && ctx->blocks.ops->concurrent) PetscCall(StartNextProducts(svd, r->w));
  PetscCall(SVDBlockLanczosReduceEnd(svd, r, &again));
  if (again) ctx->wready = ctx->zready = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Step_AHA(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    k = ctx->k, w = ctx->w, ld = ctx->ld;
  BlockReduction    r = {0};
  PetscScalar      *coef, *T = ctx->T + k * ld, *own = T + k;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(w * w, &r.a, w * w, &r.R, (k + w) * w, &r.c, (k - ctx->c0) * w, &coef));
  PetscCall(SVDBlockLanczosStartProducts(svd));
  KnownCoupling(svd, coef);
  r.k    = k;
  r.c0   = ctx->c0;
  r.w    = w;
  r.coef = coef;
  PetscCall(SVDBlockLanczosOmegaPredict(svd, coef, &r.full));
  PetscCall(ReduceToNextBlock(svd, &r));
  PetscCall(SVDBlockLanczosOmegaUpdate(svd, &r));

  /* what the passes have subtracted is rounding, or a part of residuals that X no longer holds; after short steps it is not added to T */
  for (PetscInt j = 0; j < w; j++) {
    PetscCall(PetscArraycpy(own + j * ld, r.a + j * w, w));
    if (ctx->omega.nshort) continue;
    for (PetscInt i = 0; i < k + w; i++) T[i + j * ld] += r.c[i + j * (k + w)];
  }
  for (PetscInt j = 0; j < w; j++) {
    for (PetscInt i = 0; i <= j; i++) {
      const PetscScalar t = (own[i + j * ld] + PetscConj(own[j + i * ld])) / 2.0;

      own[i + j * ld] = t;
      own[j + i * ld] = PetscConj(t);
    }
    for (PetscInt i = 0; i < k; i++) ctx->T[k + j + i * ld] = PetscConj(T[i + j * ld]);
  }
  ctx->anorm = PetscMax(ctx->anorm, MaxColumnNorm(k + w, w, T, ld));
  PetscCall(SetCoupling(svd, w, r.wout, r.R));
  PetscCall(PetscFree4(r.a, r.R, r.c, coef));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Step_TwoSided(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    k = ctx->k, w = ctx->w, ld = ctx->ld;
  BlockReduction    left = {0}, right = {0};
  PetscScalar      *coef, *RH, *T = ctx->T + k * ld, *own = T + k;
  PetscInt          M;
  PetscBool         again;

  PetscFunctionBegin;
  PetscCall(PetscMalloc6(w * w, &left.R, w * w, &right.R, (k + w) * w, &left.c, (k + w) * w, &right.c, (k - ctx->c0) * w, &coef, w * w, &RH));
  PetscCall(BVGetSizes(ctx->U, NULL, &M, NULL));
  if (!ctx->wready) PetscCall(SVDBlockLanczosForward(svd, ctx->X, ctx->W, w));
  KnownCoupling(svd, coef);
  ctx->anorm  = PetscMax(ctx->anorm, MaxColumnNorm(k, w, T, ld));
  left.Q      = ctx->U;
  left.B      = ctx->W;
  left.k      = k;
  left.c0     = ctx->c0;
  left.coef   = coef;
  left.w      = w;
  left.maxw   = M - k; /* no less than the short side has room for: the width stays */
  left.out    = ctx->U;
  left.outcol = k;
  left.norm   = &ctx->anorm;
  left.full   = PETSC_TRUE;
  PetscCall(SVDBlockLanczosReduceBegin(svd, &left));
  PetscCall(SVDBlockLanczosReduceEnd(svd, &left, &again));
  for (PetscInt j = 0; j < w; j++) {
    for (PetscInt i = 0; i < k; i++) T[i + j * ld] += left.c[i + j * k];
    PetscCall(PetscArraycpy(own + j * ld, left.R + j * w, w));
    for (PetscInt i = 0; i < w; i++) RH[j + i * w] = PetscConj(left.R[i + j * w]);
  }
  for (PetscInt j = 0; j < k; j++) PetscCall(PetscArrayzero(ctx->T + k + j * ld, w));

  PetscCall(BlockCopy(&ctx->blocks, ctx->U, k, k + w, ctx->W, 0));
  PetscCall(SVDBlockLanczosAdjoint(svd, ctx->W, ctx->Z, w));
  right.k       = k;
  right.c0      = k;
  right.w       = w;
  right.full    = PETSC_TRUE;
  right.owncoef = RH;
  PetscCall(ReduceToNextBlock(svd, &right));
  PetscCall(SetCoupling(svd, w, right.wout, right.R));
  PetscCall(PetscFree6(left.R, right.R, left.c, right.c, coef, RH));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Starts the products that the next step begins with, unless they are done. A device can do them while the host solves a projected
  problem, since a restart changes neither X nor them.
*/
PetscErrorCode SVDBlockLanczosStartProducts(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  if (!ctx->w) PetscFunctionReturn(PETSC_SUCCESS);
  if (!ctx->wready) PetscCall(SVDBlockLanczosForward(svd, ctx->X, ctx->W, ctx->w));
  ctx->wready = PETSC_TRUE;
  if (!ctx->zready && !ctx->twosided) {
    PetscCall(SVDBlockLanczosAdjoint(svd, ctx->W, ctx->Z, ctx->w));
    ctx->zready = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SVDBlockLanczosStep(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  ctx->projected = PETSC_FALSE;
  if (ctx->twosided) PetscCall(Step_TwoSided(svd));
  else PetscCall(Step_AHA(svd));
  ctx->steps++;
  PetscCall(PetscInfo(svd, "step %" PetscInt_FMT " (%s): basis of %" PetscInt_FMT " columns, next block of %" PetscInt_FMT "\n", ctx->steps, ctx->twosided ? "two-sided" : "A^H A", ctx->k, ctx->w));
  PetscFunctionReturn(PETSC_SUCCESS);
}
