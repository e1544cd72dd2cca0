/*
  One step: the next block X joins the basis, A and A^H are applied to it, and a reduction makes the new X from the result.

  In the A^H A form the coefficients along X itself have to be computed. In the two-sided form they are the triangular factor of the long
  side.

  On a device, a step queues the products of the next step before it ends; while they run, the host reads the results of the reduction.
*/
#include "blocklanczos.h"

/* Copies rows [c0, k) of C^H, for the columns of the basis that X is coupled to, into T and into the known coefficients of a reduction */
static void KnownCoupling(SVD svd, PetscScalar coef[])
{
  SVD_BLOCKLANCZOS   *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov = &ctx->krylov;
  const PetscInt      k = krylov->k, c0 = krylov->c0;

  for (PetscInt j = 0; j < krylov->w; j++) {
    for (PetscInt i = 0; i < c0; i++) krylov->T[i + (k + j) * krylov->ld] = 0.0;
    for (PetscInt i = c0; i < k; i++) krylov->T[i + (k + j) * krylov->ld] = coef[i - c0 + j * (k - c0)] = PetscConj(krylov->C[j + i * krylov->bs]);
  }
}

/* After a block of w columns has joined the basis: sets C = [0 R], where R is wnew x w */
static PetscErrorCode SetCoupling(SVD svd, PetscInt w, PetscInt wnew, const PetscScalar R[])
{
  SVD_BLOCKLANCZOS   *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov = &ctx->krylov;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < w; j++) krylov->dropped[krylov->k + j] = 0.0;
  krylov->k += w;
  PetscCall(PetscArrayzero(krylov->C, krylov->bs * krylov->k));
  for (PetscInt j = 0; j < w; j++) PetscCall(PetscArraycpy(krylov->C + (krylov->k - w + j) * krylov->bs, R + j * w, wnew));
  krylov->c0 = krylov->k - w;
  krylov->w  = wnew;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest 2-norm of the columns of a small matrix */
static PetscReal MaxColumnNorm(PetscInt m, PetscInt n, const PetscScalar A[], PetscInt lda)
{
  PetscReal norm = 0.0;

  for (PetscInt j = 0; j < n; j++) norm = PetscMax(norm, SmallAddSquares(0.0, m, A + j * lda));
  return PetscSqrtReal(norm);
}

/* Starts the products of the next step, before it is known whether X is final. Does not overwrite Z, which may still be needed. */
static PetscErrorCode StartNextProducts(SVD svd, PetscInt w)
{
  SVD_BLOCKLANCZOS   *ctx     = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov  = &ctx->krylov;
  const BV            Z       = krylov->Z;
  const BlockProduct  adjoint = ctx->products.adjoint;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosForward(svd, krylov->X, krylov->W, w));
  krylov->wready = PETSC_TRUE;
  if (!krylov->twosided) {
    krylov->Z                  = krylov->spare;
    ctx->products.adjoint      = ctx->products.adjointspare;
    krylov->spare              = Z;
    ctx->products.adjointspare = adjoint;
    PetscCall(SVDBlockLanczosAdjoint(svd, krylov->W, krylov->Z, w));
    krylov->zready = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The reduction on the short side; starts the next products with X too, if they do not occupy the host */
static PetscErrorCode ReduceToNextBlock(SVD svd, BlockReduction *r)
{
  SVD_BLOCKLANCZOS   *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov = &ctx->krylov;
  PetscBool           again;

  PetscFunctionBegin;
  r->Q    = svd->V;
  r->B    = krylov->Z;
  r->own  = krylov->X;
  r->maxw = krylov->n - krylov->k - krylov->w;
  r->norm = &krylov->anorm;
  PetscCall(SVDBlockLanczosReduceBegin(svd, r));
  krylov->wready = krylov->zready = PETSC_FALSE;
  if (r->fused && ctx->blocks.ops->concurrent) PetscCall(StartNextProducts(svd, r->w));
  PetscCall(SVDBlockLanczosReduceEnd(svd, r, &again));
  if (again) krylov->wready = krylov->zready = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Step_AHA(SVD svd)
{
  SVD_BLOCKLANCZOS   *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov = &ctx->krylov;
  const PetscInt      k = krylov->k, w = krylov->w, ld = krylov->ld;
  BlockReduction      r = {0};
  PetscScalar        *coef, *T = krylov->T + k * ld, *own = T + k;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(w * w, &r.a, w * w, &r.R, (k + w) * w, &r.c, (k - krylov->c0) * w, &coef));
  PetscCall(SVDBlockLanczosStartProducts(svd));
  KnownCoupling(svd, coef);
  r.k    = k;
  r.c0   = krylov->c0;
  r.w    = w;
  r.coef = coef;
  PetscCall(SVDBlockLanczosOmegaPredict(svd, coef, &r.full));
  PetscCall(ReduceToNextBlock(svd, &r));
  PetscCall(SVDBlockLanczosOmegaUpdate(svd, &r));

  /* the components that the passes subtracted are rounding, or parts of residuals that X no longer holds; not added to T after short steps */
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
    for (PetscInt i = 0; i < k; i++) krylov->T[k + j + i * ld] = PetscConj(T[i + j * ld]);
  }
  krylov->anorm = PetscMax(krylov->anorm, MaxColumnNorm(k + w, w, T, ld));
  PetscCall(SetCoupling(svd, w, r.wout, r.R));
  PetscCall(PetscFree4(r.a, r.R, r.c, coef));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Step_TwoSided(SVD svd)
{
  SVD_BLOCKLANCZOS   *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov = &ctx->krylov;
  const PetscInt      k = krylov->k, w = krylov->w, ld = krylov->ld;
  BlockReduction      left = {0}, right = {0};
  PetscScalar        *coef, *RH, *T = krylov->T + k * ld, *own = T + k;
  PetscInt            M;
  PetscBool           again;

  PetscFunctionBegin;
  PetscCall(PetscMalloc6(w * w, &left.R, w * w, &right.R, (k + w) * w, &left.c, (k + w) * w, &right.c, (k - krylov->c0) * w, &coef, w * w, &RH));
  PetscCall(BVGetSizes(krylov->U, NULL, &M, NULL));
  if (!krylov->wready) PetscCall(SVDBlockLanczosForward(svd, krylov->X, krylov->W, w));
  KnownCoupling(svd, coef);
  krylov->anorm = PetscMax(krylov->anorm, MaxColumnNorm(k, w, T, ld));
  left.Q        = krylov->U;
  left.B        = krylov->W;
  left.k        = k;
  left.c0       = krylov->c0;
  left.coef     = coef;
  left.w        = w;
  left.maxw     = M - k; /* at least the room on the short side: the width does not change */
  left.norm     = &krylov->anorm;
  left.full     = PETSC_TRUE;
  PetscCall(SVDBlockLanczosReduceBegin(svd, &left));
  PetscCall(SVDBlockLanczosReduceEnd(svd, &left, &again));
  for (PetscInt j = 0; j < w; j++) {
    for (PetscInt i = 0; i < k; i++) T[i + j * ld] += left.c[i + j * k];
    PetscCall(PetscArraycpy(own + j * ld, left.R + j * w, w));
    for (PetscInt i = 0; i < w; i++) RH[j + i * w] = PetscConj(left.R[i + j * w]);
  }
  for (PetscInt j = 0; j < k; j++) PetscCall(PetscArrayzero(krylov->T + k + j * ld, w));

  PetscCall(BlockCopy(&ctx->blocks, krylov->U, k, k + w, krylov->W, 0));
  PetscCall(SVDBlockLanczosAdjoint(svd, krylov->W, krylov->Z, w));
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
  Starts the products at the beginning of the next step, unless they are done. A device can compute them while the host solves a projected
  problem, since a restart does not change X.
*/
PetscErrorCode SVDBlockLanczosStartProducts(SVD svd)
{
  SVD_BLOCKLANCZOS   *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov = &ctx->krylov;

  PetscFunctionBegin;
  if (!krylov->w) PetscFunctionReturn(PETSC_SUCCESS);
  if (!krylov->wready) PetscCall(SVDBlockLanczosForward(svd, krylov->X, krylov->W, krylov->w));
  krylov->wready = PETSC_TRUE;
  if (!krylov->zready && !krylov->twosided) {
    PetscCall(SVDBlockLanczosAdjoint(svd, krylov->W, krylov->Z, krylov->w));
    krylov->zready = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SVDBlockLanczosStep(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  ctx->projected.solved = PETSC_FALSE;
  if (ctx->krylov.twosided) PetscCall(Step_TwoSided(svd));
  else PetscCall(Step_AHA(svd));
  ctx->counts.steps++;
  PetscCall(PetscInfo(svd, "step %" PetscInt_FMT " (%s): basis of %" PetscInt_FMT " columns, next block of %" PetscInt_FMT "\n", ctx->counts.steps, ctx->krylov.twosided ? "two-sided" : "A^H A", ctx->krylov.k, ctx->krylov.w));
  /* a caller that shows progress composes this, and may end the solve here by an error: nothing is in the middle of an update */
  PetscTryMethod(svd, "SVDBlockLanczosAfterStep_C", (SVD), (svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}
