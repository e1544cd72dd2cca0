/*
  One step: the next block X joins the basis, the product pair is applied to it, and what is left of the product becomes the new X.

  What exact arithmetic knows is subtracted first: the columns of the basis that C couples to X, and the own block. In the A^H A
  form the own block's coefficients have to be computed, in the two-sided form they are the factor of the long side.
*/
#include "blocklanczos.h"

/* Rows [c0, k) of C^H, the columns of the basis that X is coupled to: Z -= Q(:, c0:k) C^H and T(c0:k, new) = C^H */
static PetscErrorCode SubtractCoupled(SVD svd, BV Q, BV Z)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    k = ctx->k, w = ctx->w, ld = ctx->ld;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < w; j++) {
    PetscCall(PetscArrayzero(ctx->T + (k + j) * ld, k));
    for (PetscInt i = ctx->c0; i < k; i++) ctx->T[i + (k + j) * ld] = PetscConj(ctx->C[j + i * ctx->bs]);
  }
  PetscCall(BlockMult(Z, 0, w, 1.0, -1.0, Q, ctx->c0, k, ctx->T + ctx->c0 + k * ld, ld));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = [0 R], R is wnew x w */
static PetscErrorCode SetCoupling(SVD svd, PetscInt w, PetscInt wnew, const PetscScalar R[], PetscInt ldr)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(ctx->C, ctx->bs * ctx->k));
  for (PetscInt j = 0; j < w; j++) PetscCall(PetscArraycpy(ctx->C + (ctx->k - w + j) * ctx->bs, R + j * ldr, wnew));
  ctx->c0 = ctx->k - w;
  ctx->w  = wnew;
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

static PetscErrorCode Step_AHA(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    k = ctx->k, w = ctx->w, ld = ctx->ld;
  PetscInt          wnew;
  PetscScalar      *R, *c, *own = ctx->T + k + k * ld;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(w * w, &R, (k + w) * w, &c));
  if (!ctx->wready) PetscCall(SVDBlockLanczosForward(svd, ctx->X, ctx->W, w));
  PetscCall(SVDBlockLanczosAdjoint(svd, ctx->W, ctx->Z, w));
  PetscCall(SubtractCoupled(svd, svd->V, ctx->Z));
  PetscCall(BlockDot(ctx->X, 0, w, ctx->Z, 0, w, own, ld));
  PetscCall(BlockMult(ctx->Z, 0, w, 1.0, -1.0, ctx->X, 0, w, own, ld));
  ctx->anorm = PetscMax(ctx->anorm, MaxColumnNorm(k + w - ctx->c0, w, ctx->T + ctx->c0 + k * ld, ld));
  PetscCall(BlockCopy(ctx->X, 0, w, svd->V, k));
  PetscCall(SVDBlockLanczosOrthonormalize(svd, svd->V, k + w, ctx->Z, w, ctx->n - k - w, &ctx->anorm, R, w, c, k + w, &wnew));
  /* what the passes took is rounding, or a share of residuals that X no longer holds */
  for (PetscInt j = 0; j < w; j++) {
    for (PetscInt i = 0; i < k + w; i++) ctx->T[i + (k + j) * ld] += c[i + j * (k + w)];
  }
  for (PetscInt j = 0; j < w; j++) {
    for (PetscInt i = 0; i <= j; i++) {
      const PetscScalar t = (own[i + j * ld] + PetscConj(own[j + i * ld])) / 2.0;

      own[i + j * ld] = t;
      own[j + i * ld] = PetscConj(t);
    }
    for (PetscInt i = 0; i < k; i++) ctx->T[k + j + i * ld] = PetscConj(ctx->T[i + (k + j) * ld]);
  }
  for (PetscInt j = 0; j < w; j++) ctx->lost[k + j] = 0.0;
  ctx->k += w;
  PetscCall(SetCoupling(svd, w, wnew, R, w));
  PetscCall(BlockCopy(ctx->Z, 0, wnew, ctx->X, 0));
  PetscCall(PetscFree2(R, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Step_TwoSided(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    k = ctx->k, w = ctx->w, ld = ctx->ld;
  PetscInt          M, wleft, wnew;
  PetscScalar      *R, *c, *RH, *own = ctx->T + k + k * ld;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(w * w, &R, (k + w) * w, &c, w * w, &RH));
  PetscCall(BVGetSizes(ctx->U, NULL, &M, NULL));
  if (!ctx->wready) PetscCall(SVDBlockLanczosForward(svd, ctx->X, ctx->W, w));
  PetscCall(SubtractCoupled(svd, ctx->U, ctx->W));
  ctx->anorm = PetscMax(ctx->anorm, MaxColumnNorm(k - ctx->c0, w, ctx->T + ctx->c0 + k * ld, ld));
  /* the long side has room whenever the short side has: the width stays */
  PetscCall(SVDBlockLanczosOrthonormalize(svd, ctx->U, k, ctx->W, w, M - k, &ctx->anorm, R, w, c, k, &wleft));
  for (PetscInt j = 0; j < w; j++) {
    for (PetscInt i = 0; i < k; i++) ctx->T[i + (k + j) * ld] += c[i + j * k];
    PetscCall(PetscArraycpy(own + j * ld, R + j * w, w));
    for (PetscInt i = 0; i < w; i++) RH[j + i * w] = PetscConj(R[i + j * w]);
  }
  for (PetscInt j = 0; j < k; j++) PetscCall(PetscArrayzero(ctx->T + k + j * ld, w));
  PetscCall(BlockCopy(ctx->W, 0, w, ctx->U, k));

  PetscCall(SVDBlockLanczosAdjoint(svd, ctx->W, ctx->Z, w));
  PetscCall(BlockMult(ctx->Z, 0, w, 1.0, -1.0, ctx->X, 0, w, RH, w));
  PetscCall(BlockCopy(ctx->X, 0, w, svd->V, k));
  PetscCall(SVDBlockLanczosOrthonormalize(svd, svd->V, k + w, ctx->Z, w, ctx->n - k - w, &ctx->anorm, R, w, NULL, 0, &wnew));
  for (PetscInt j = 0; j < w; j++) ctx->lost[k + j] = 0.0;
  ctx->k += w;
  PetscCall(SetCoupling(svd, w, wnew, R, w));
  PetscCall(BlockCopy(ctx->Z, 0, wnew, ctx->X, 0));
  PetscCall(PetscFree3(R, c, RH));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SVDBlockLanczosStep(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  if (ctx->twosided) PetscCall(Step_TwoSided(svd));
  else PetscCall(Step_AHA(svd));
  ctx->wready    = PETSC_FALSE;
  ctx->projected = PETSC_FALSE;
  ctx->steps++;
  PetscCall(PetscInfo(svd, "step %" PetscInt_FMT " (%s): basis of %" PetscInt_FMT " columns, next block of %" PetscInt_FMT "\n", ctx->steps, ctx->twosided ? "two-sided" : "A^H A", ctx->k, ctx->w));
  PetscFunctionReturn(PETSC_SUCCESS);
}
