/*
  The end of a solve, and what follows if it is not the end: left vectors and values of the triplets found, their true residuals,
  and a two-sided process that goes on from them.

  In the A^H A form the left vectors come from one more product, A V = U R with R small: its singular value decomposition gives the
  values, which so lose nothing to the squares, and turns V and U. By construction A V = U S, so that E = A^H U - V S is the
  residual.

  The process continues from E: its leading directions are the next block X, and C = X^H E. So A V = U S and A^H U = V S + X C hold
  again, but for the part of E outside X, which is remembered as lost. Whatever the first form could not resolve is in E.
*/
#include "blocklanczos.h"

/* Columns [c, c + w) of a BV minus another's times the values in S, which begins at c */
static PetscErrorCode SubtractScaled(BV Z, BV V, PetscInt c, PetscInt w, const PetscReal S[])
{
  PetscScalar *D;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(w * w, &D));
  for (PetscInt j = 0; j < w; j++) D[j + j * w] = S[c + j];
  PetscCall(BlockMult(Z, 0, w, 1.0, -1.0, V, c, c + w, D, w));
  PetscCall(PetscFree(D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the squares of the norms of the first w columns to norms */
static PetscErrorCode AddSquaredNorms(BV Z, PetscInt w, PetscReal norms[])
{
  PetscScalar *G;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(w * w, &G));
  PetscCall(BlockDot(Z, 0, w, Z, 0, w, G, w));
  for (PetscInt j = 0; j < w; j++) norms[j] += PetscRealPart(G[j + j * w]);
  PetscCall(PetscFree(G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* U, S and V anew from the first p columns of V */
static PetscErrorCode LeftVectors(SVD svd, PetscInt p)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscScalar      *R, *P, *H;
  PetscReal         norm = 0.0;
  PetscInt          M, w;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosAllocateLeft(svd, p));
  PetscCall(BVGetSizes(ctx->U, NULL, &M, NULL));
  for (PetscInt c = 0; c < p; c += ctx->bs) {
    w = PetscMin(ctx->bs, p - c);
    PetscCall(BlockCopy(svd->V, c, c + w, ctx->X, 0));
    PetscCall(SVDBlockLanczosForward(svd, ctx->X, ctx->W, w));
    PetscCall(BlockCopy(ctx->W, 0, w, ctx->U, c));
  }
  PetscCall(PetscMalloc3(p * p, &R, p * p, &P, p * p, &H));
  PetscCall(SVDBlockLanczosOrthonormalize(svd, NULL, 0, ctx->U, p, M, &norm, R, p, NULL, 0, &w));
  PetscCall(SmallSVD(p, p, R, p, ctx->S, P, p, H, p));
  for (PetscInt j = 0; j < p; j++)
    for (PetscInt i = 0; i < p; i++) R[i + j * p] = PetscConj(H[j + i * p]);
  PetscCall(BlockMultInPlace(ctx->U, 0, p, p, P, p));
  PetscCall(BlockMultInPlace(svd->V, 0, p, p, R, p));
  PetscCall(PetscFree3(R, P, H));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SVDBlockLanczosFinish - Values, left vectors and true residuals of the leading p Ritz vectors, which the basis has been cut to

   Input Parameters:
+  p     - the number of triplets
-  keepE - keep all residual vectors in ctx->E

   Output Parameter:
.  npass - how many leading triplets meet the tolerance by their true residuals

   Note:
   The blocks X, Z and W are used up.
*/
PetscErrorCode SVDBlockLanczosFinish(SVD svd, PetscInt p, PetscBool keepE, PetscInt *npass)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscReal        *norms;

  PetscFunctionBegin;
  *npass = 0;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BVDestroy(&ctx->E));
  if (keepE) PetscCall(BVDuplicateResize(svd->V, p, &ctx->E));
  PetscCall(PetscCalloc1(p, &norms));
  if (ctx->twosided) {
    for (PetscInt j = 0; j < p; j++) ctx->S[j] = PetscRealPart(ctx->T[j + j * ctx->ld]);
  } else PetscCall(LeftVectors(svd, p));
  for (PetscInt c = 0; c < p; c += ctx->bs) {
    const PetscInt w = PetscMin(ctx->bs, p - c);

    if (ctx->twosided) {
      PetscCall(BlockCopy(svd->V, c, c + w, ctx->X, 0));
      PetscCall(SVDBlockLanczosForward(svd, ctx->X, ctx->W, w));
      PetscCall(SubtractScaled(ctx->W, ctx->U, c, w, ctx->S));
      PetscCall(AddSquaredNorms(ctx->W, w, norms + c));
    }
    PetscCall(BlockCopy(ctx->U, c, c + w, ctx->W, 0));
    PetscCall(SVDBlockLanczosAdjoint(svd, ctx->W, ctx->Z, w));
    PetscCall(SubtractScaled(ctx->Z, svd->V, c, w, ctx->S));
    PetscCall(AddSquaredNorms(ctx->Z, w, norms + c));
    if (keepE) PetscCall(BlockCopy(ctx->Z, 0, w, ctx->E, c));
  }
  for (PetscInt j = 0; j < p; j++) {
    const PetscReal res = PetscSqrtReal(norms[j]) / ctx->scale, sigma1 = ctx->S[0] / ctx->scale;

    svd->sigma[j] = ctx->S[j] / ctx->scale;
    PetscCall(SVDBlockLanczosTest(svd, svd->sigma[j], res, (PetscBool)(res <= BLOCKLANCZOS_NOISE * sigma1), sigma1, &svd->errest[j]));
    if (*npass == j && svd->errest[j] < svd->tol) (*npass)++;
  }
  PetscCall(PetscFree(norms));
  ctx->wready    = PETSC_FALSE;
  ctx->projected = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After SVDBlockLanczosFinish() with residual vectors kept: the two-sided state of the p triplets and the next block */
PetscErrorCode SVDBlockLanczosContinue(SVD svd, PetscInt p)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    w = PetscMin(ctx->bs, ctx->n - p), ld = ctx->ld;
  PetscScalar      *G, *R;
  PetscReal        *lambda, *square;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosAllocateLeft(svd, ld));
  PetscCall(PetscMalloc4(p * p, &G, w * w, &R, p, &lambda, p, &square));
  PetscCall(BlockDot(ctx->E, 0, p, ctx->E, 0, p, G, p));
  for (PetscInt j = 0; j < p; j++) square[j] = PetscRealPart(G[j + j * p]);
  PetscCall(SmallHermitianEigen(p, G, p, lambda));
  ctx->twosided = PETSC_TRUE;
  ctx->k        = p;
  ctx->w        = 0;
  ctx->c0       = 0;
  ctx->nlock    = 0;
  ctx->anorm    = ctx->S[0];
  for (PetscInt j = 0; j < p; j++) {
    PetscCall(PetscArrayzero(ctx->T + j * ld, p));
    ctx->T[j + j * ld] = ctx->S[j];
  }
  PetscCall(PetscArrayzero(ctx->C, ctx->bs * p));
  if (w) {
    const PetscInt from = PetscMin(w, p);

    PetscCall(BlockMult(ctx->X, 0, from, 0.0, 1.0, ctx->E, 0, p, G, p));
    PetscCall(SVDBlockLanczosFillRandom(svd, ctx->X, from, w));
    PetscCall(SVDBlockLanczosOrthonormalize(svd, svd->V, p, ctx->X, w, ctx->n - p, &ctx->anorm, R, w, NULL, 0, &ctx->w));
    PetscCall(BlockDot(ctx->X, 0, ctx->w, ctx->E, 0, p, ctx->C, ctx->bs));
  }
  for (PetscInt j = 0; j < p; j++) {
    for (PetscInt i = 0; i < ctx->w; i++) square[j] -= PetscRealPart(ctx->C[i + j * ctx->bs] * PetscConj(ctx->C[i + j * ctx->bs]));
    ctx->lost[j] = PetscSqrtReal(PetscMax(square[j], 0));
    /* the difference of two squares that agree to rounding */
    if (ctx->lost[j] <= PetscSqrtReal(PETSC_MACHINE_EPSILON) * PetscSqrtReal(lambda[0])) ctx->lost[j] = 0.0;
  }
  PetscCall(PetscFree4(G, R, lambda, square));
  PetscCall(BVDestroy(&ctx->E));
  ctx->wready    = PETSC_FALSE;
  ctx->projected = PETSC_FALSE;
  ctx->switches++;
  PetscCall(PetscInfo(svd, "two-sided process continues from %" PetscInt_FMT " triplets and their residuals\n", p));
  PetscFunctionReturn(PETSC_SUCCESS);
}
