/*
  The end of a solve: left vectors and values of the triplets found, and their true residuals. If these do not meet the tolerance, a
  two-sided process continues from the triplets.

  In the A^H A form the left vectors come from one more product, A V = U R with R small. The singular value decomposition of R gives the
  values, which therefore lose no accuracy to squaring, and rotates V and U. Then A V = U S by construction, and A^H U - V S is the residual.

  The process continues with the triplets that meet the tolerance as its basis, and the vectors of the others as its next block. Then
  A V = U S and A^H U = V S + E hold, where E is within the tolerance, and the two-sided form iterates again what the A^H A form could not
  resolve.
*/
#include "blocklanczos.h"

/*
  Adds the squared norms of the first p columns of Z - V diag(S) to norms; Z is overwritten. The host computes few columns at a time, since all but the diagonals of
  the small matrices is wasted; a device computes all at once, since it would wait for each of the others.
*/
static PetscErrorCode AddSquaredResiduals(SVD svd, BV Z, BV V, PetscInt p, const PetscReal S[], PetscReal norms[])
{
  BlockWorkspace *blocks = &((SVD_BLOCKLANCZOS *)svd->data)->blocks;
  const PetscInt  most   = blocks->ops == &BlockOpsHost ? 4 : p;
  PetscScalar    *G;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(most * most, &G));
  for (PetscInt c = 0, w; c < p; c += w) {
    w = PetscMin(most, p - c);
    PetscCall(PetscArrayzero(G, w * w));
    for (PetscInt j = 0; j < w; j++) G[j + j * w] = S[c + j];
    PetscCall(BlockMult(blocks, Z, c, c + w, 1.0, -1.0, V, c, c + w, G, w));
    PetscCall(BlockDot(blocks, Z, c, c + w, Z, c, c + w, G, w));
    for (PetscInt j = 0; j < w; j++) norms[c + j] += PetscRealPart(G[j + j * w]);
  }
  PetscCall(PetscFree(G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Overwrites the Gram matrix R of p columns by its Cholesky factor, and M by the inverse, if these make the columns orthonormal to rounding: *enough. That is
  so if they are nearly orthogonal, as products with Ritz vectors are, and none is rounding itself, since the error is rounding times the condition
  of the scaled Gram matrix, at most 3 by Gershgorin's theorem.
*/
static PetscErrorCode FactorNearlyOrthogonal(PetscInt p, PetscScalar R[], PetscScalar M[], PetscBool *enough)
{
  PetscReal pivot, most = 0.0, shortest = PETSC_MAX_REAL, longest = 0.0;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < p; j++) {
    const PetscReal d   = PetscSqrtReal(PetscRealPart(R[j + j * p]));
    PetscReal       sum = 0.0;

    for (PetscInt i = 0; i < p; i++) sum += i == j ? 0.0 : PetscAbsScalar(R[i + j * p]) / (d * PetscSqrtReal(PetscRealPart(R[i + i * p])));
    if (!(sum <= most) && most == most) most = sum; /* once it is NaN it stays NaN */
    shortest = PetscMin(shortest, d);
    longest  = PetscMax(longest, d);
  }
  *enough = (PetscBool)(most <= (PetscReal)0.5 && shortest > 100 * SVDBlockLanczosDeflationTolerance(p, longest));
  if (!*enough) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SmallCholesky(p, R, p, &pivot));
  PetscCall(PetscArraycpy(M, R, p * p));
  PetscCall(SmallInvertUpper(p, M, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes U, S and a rotated V from the first p columns of V */
static PetscErrorCode LeftVectors(SVD svd, PetscInt p)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscScalar      *R, *P, *H, *M;
  PetscReal         norm = ctx->smallest.B ? ctx->smallest.norm / 100 : 0.0; /* A v below some eps norm(A) is rounding, which may be anything */
  PetscInt          N, w;
  PetscBool         enough;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosAllocateLeft(svd, p));
  PetscCall(BVGetSizes(ctx->krylov.U, NULL, &N, NULL));
  PetscCall(SVDBlockLanczosForward(svd, svd->V, ctx->krylov.U, p));
  PetscCall(PetscMalloc4(p * p, &R, p * p, &P, p * p, &H, p * p, &M));
  PetscCall(BlockDot(&ctx->blocks, ctx->krylov.U, 0, p, ctx->krylov.U, 0, p, R, p));
  PetscCall(FactorNearlyOrthogonal(p, R, M, &enough));
  if (!enough) PetscCall(SVDBlockLanczosOrthonormalize(svd, NULL, 0, ctx->krylov.U, p, N, &norm, R, p, NULL, 0, &w));
  PetscCall(SmallSVD(p, p, R, p, ctx->projected.S, P, p, H, p));
  for (PetscInt j = 0; j < p; j++)
    for (PetscInt i = 0; i < p; i++) R[i + j * p] = PetscConj(H[j + i * p]);
  if (enough) PetscCall(SmallMultiply("N", "N", p, p, p, 1.0, M, p, P, p, 0.0, H, p));
  PetscCall(BlockMultInPlace(&ctx->blocks, ctx->krylov.U, 0, p, p, enough ? H : P, p));
  PetscCall(BlockMultInPlace(&ctx->blocks, svd->V, 0, p, p, R, p));
  PetscCall(PetscFree4(R, P, H, M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Without left vectors: S and the residuals of the left vectors that left.c computes when they are asked for, u = A v / norm(A v). With
  sigma = norm(A v), A v - sigma u is zero, and A^H u - sigma v is (A^H A v - sigma^2 v) / sigma. If sigma is rounding, there is no such u;
  with one orthogonal to the range of A the residual is at most norm(A v), whose square is at most norm(A^H A v).
*/
static PetscErrorCode RightVectorsOnly(SVD svd, PetscInt p)
{
  SVD_BLOCKLANCZOS   *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov = &ctx->krylov;
  PetscReal          *S = ctx->projected.S, *res = ctx->projected.res, *theta, sigma1 = 0.0;
  PetscScalar        *G;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(krylov->bs * krylov->bs, &G, krylov->bs, &theta));
  for (PetscInt j = 0, w; j < p; j += w) {
    w = PetscMin(krylov->bs, p - j);
    PetscCall(BlockCopy(&ctx->blocks, svd->V, j, j + w, krylov->X, 0));
    PetscCall(SVDBlockLanczosForward(svd, krylov->X, krylov->W, w));
    PetscCall(SVDBlockLanczosAdjoint(svd, krylov->W, krylov->Z, w));
    PetscCall(BlockDot(&ctx->blocks, krylov->W, 0, w, krylov->W, 0, w, G, w));
    for (PetscInt i = 0; i < w; i++) {
      theta[i] = PetscRealPart(G[i + i * w]);
      S[j + i] = PetscSqrtReal(theta[i]);
      sigma1   = PetscMax(sigma1, S[j + i]);
    }
    PetscCall(AddSquaredResiduals(svd, krylov->Z, krylov->X, w, theta, res + j));
  }
  /* res holds squared norms */
  for (PetscInt j = 0; j < p; j++) res[j] = S[j] > BLOCKLANCZOS_NOISE * sigma1 ? res[j] / PetscSqr(S[j]) : PetscSqrtReal(res[j]);
  PetscCall(PetscFree2(G, theta));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SVDBlockLanczosFinish - Computes values, left vectors and true residuals of the p Ritz vectors that are the basis

   Input Parameter:
.  p - the number of triplets

   Output Parameter:
.  npass - the number of leading triplets whose true residuals meet the tolerance

   Note:
   The products are of p columns at once, if left vectors are stored.
*/
PetscErrorCode SVDBlockLanczosFinish(SVD svd, PetscInt p, PetscInt *npass)
{
  SVD_BLOCKLANCZOS      *ctx       = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov    *krylov    = &ctx->krylov;
  BlockLanczosProjected *projected = &ctx->projected;
  const PetscBool        left      = (PetscBool)(ctx->settings.left || ctx->smallest.B);
  PetscReal              sigma1, noise;
  PetscBool              rounding;
  BV                     block;

  PetscFunctionBegin;
  *npass = 0;
  if (p <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscArrayzero(projected->res, p));
  if (krylov->twosided) {
    for (PetscInt j = 0; j < p; j++) projected->S[j] = PetscRealPart(krylov->T[j + j * krylov->ld]);
  } else if (!left) PetscCall(RightVectorsOnly(svd, p));
  else if (!ctx->smallest.direct) PetscCall(LeftVectors(svd, p));
  if (ctx->smallest.B && !ctx->smallest.direct) PetscCall(SVDBlockLanczosCorrectLeft(svd, p));
  if (krylov->twosided || ctx->smallest.B) {
    PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_TRUE, p, &block));
    PetscCall(SVDBlockLanczosForward(svd, svd->V, block, p));
    PetscCall(AddSquaredResiduals(svd, block, krylov->U, p, projected->S, projected->res));
    PetscCall(BVDestroy(&block));
  }
  if (left) {
    PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_FALSE, p, &block));
    PetscCall(SVDBlockLanczosAdjoint(svd, krylov->U, block, p));
    PetscCall(AddSquaredResiduals(svd, block, svd->V, p, projected->S, projected->res));
    PetscCall(BVDestroy(&block));
  }
  sigma1 = ctx->smallest.B ? ctx->smallest.sigma1 : projected->S[0];
  for (PetscInt j = 0; j < p; j++) sigma1 = PetscMax(sigma1, projected->S[j]);
  for (PetscInt j = 0; j < p; j++) {
    projected->res[j] = PetscSqrtReal(projected->res[j]);
    svd->sigma[j]     = projected->S[j] / krylov->scale;
    /* values above the ceiling need not be told apart, so they may have all of the rounding of the operator */
    noise    = krylov->ceiling > 0.0 && svd->sigma[j] > krylov->ceiling ? SVDBlockLanczosRounding(svd, 100) : BLOCKLANCZOS_NOISE;
    rounding = (PetscBool)(projected->res[j] <= noise * sigma1 || PetscMax(svd->sigma[j], projected->res[j] / krylov->scale) <= ctx->smallest.zero);
    PetscCall(SVDBlockLanczosTestConvergence(svd, svd->sigma[j], projected->res[j] / krylov->scale, rounding, sigma1 / krylov->scale, &svd->errest[j]));
    if (*npass == j && svd->errest[j] < svd->tol) (*npass)++;
  }
  krylov->wready = krylov->zready = PETSC_FALSE;
  projected->solved               = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SVDBlockLanczosContinueTwoSided - After SVDBlockLanczosFinish(): sets the state from which a two-sided process continues

   Input Parameter:
.  p - the number of triplets that were finished

   Note:
   If more vectors fail the tolerance than a block holds, the block is made of random combinations of them. A certificate is forgotten: it is about
   other vectors.
*/
PetscErrorCode SVDBlockLanczosContinueTwoSided(SVD svd, PetscInt p)
{
  SVD_BLOCKLANCZOS   *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov = &ctx->krylov;
  const PetscInt      ld     = krylov->ld;
  PetscInt            l      = 0, w, from;
  PetscScalar        *Q, *R;
  PetscReal          *S, norm = 0.0;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosAllocateLeft(svd, ld));
  for (PetscInt j = 0; j < p; j++) l += svd->errest[j] < svd->tol ? 1 : 0;
  w    = PetscMin(krylov->bs, krylov->n - l);
  from = PetscMin(w, p - l);
  PetscCall(PetscMalloc3(PetscMax(p, w) * PetscMax(p, w), &Q, w * w, &R, p, &S));

  /* moves the triplets that meet the tolerance to the front */
  PetscCall(PetscArrayzero(Q, p * p));
  for (PetscInt j = 0, front = 0, back = l; j < p; j++) {
    const PetscInt to = svd->errest[j] < svd->tol ? front++ : back++;

    Q[j + to * p]       = 1.0;
    S[to]               = ctx->projected.S[j];
    krylov->dropped[to] = ctx->projected.res[j];
  }
  PetscCall(BlockMultInPlace(&ctx->blocks, svd->V, 0, p, p, Q, p));
  PetscCall(BlockMultInPlace(&ctx->blocks, krylov->U, 0, l, p, Q, p));
  krylov->twosided = PETSC_TRUE;
  krylov->k = krylov->c0 = l;
  krylov->nlock          = svd->mpd < svd->ncv ? l : 0;
  krylov->anorm          = 0.0;
  for (PetscInt j = 0; j < l; j++) {
    PetscCall(PetscArrayzero(krylov->T + j * ld, l));
    krylov->T[j + j * ld] = S[j];
  }
  for (PetscInt j = 0; j < p; j++) krylov->anorm = PetscMax(krylov->anorm, S[j]);
  PetscCall(PetscArrayzero(krylov->C, krylov->bs * l));

  PetscCall(SVDBlockLanczosHistoryForget(svd));
  SVDBlockLanczosCertificateForget(svd);
  if (p - l > w) {
    BlockRandomSmall(&ctx->blocks, (p - l) * w, Q);
    PetscCall(BlockMult(&ctx->blocks, krylov->X, 0, w, 0.0, 1.0, svd->V, l, p, Q, p - l));
  } else PetscCall(BlockCopy(&ctx->blocks, svd->V, l, p, krylov->X, 0));
  PetscCall(BlockFillRandom(&ctx->blocks, krylov->X, from, w));
  PetscCall(SVDBlockLanczosOrthonormalize(svd, svd->V, l, krylov->X, w, krylov->n - l, &norm, R, w, NULL, 0, &krylov->w));
  PetscCall(PetscFree3(Q, R, S));
  krylov->wready = krylov->zready = PETSC_FALSE;
  ctx->projected.solved           = PETSC_FALSE;
  ctx->counts.switches++;
  PetscCall(PetscInfo(svd, "two-sided process continues with %" PetscInt_FMT " triplets, and the vectors of %" PetscInt_FMT " others as its next block\n", l, p - l));
  PetscFunctionReturn(PETSC_SUCCESS);
}
