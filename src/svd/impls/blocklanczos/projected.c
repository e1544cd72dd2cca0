/*
  The projected problem: its solution, the residuals that follow from it, the convergence test, and the restart.

  Columns [0, nlock) of the basis are locked: the problem is solved for the columns after them. Locked columns are Ritz vectors, with their
  values on the diagonal of T, in the order in which they were locked; svd->sigma and svd->errest are sorted nevertheless.
*/
#include "blocklanczos.h"

/* The number of Ritz vectors that are computed at once when one is needed */
#define RITZ_BATCH 16

/* Transforms the first p columns of Y to Ritz vectors, as far as they are not yet */
static PetscErrorCode RitzVectors(SVD svd, PetscInt p)
{
  SVD_BLOCKLANCZOS *ctx  = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    done = ctx->projected.nritz, ka = ctx->krylov.k - ctx->krylov.nlock, ld = ctx->krylov.ld;

  PetscFunctionBegin;
  if (p <= done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SmallApplyReflectors("L", ka, p - done, ctx->projected.P, ld, ctx->projected.tau, ctx->projected.Y + done * ld, ld));
  ctx->projected.nritz = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sorts svd->sigma and svd->errest in decreasing order of values */
static PetscErrorCode SortEstimates(SVD svd)
{
  const PetscInt k = ((SVD_BLOCKLANCZOS *)svd->data)->krylov.k;
  PetscReal     *s, *e;
  PetscInt      *order;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(k, &s, k, &e, k, &order));
  for (PetscInt i = 0; i < k; i++) {
    s[i]     = svd->sigma[i];
    e[i]     = svd->errest[i];
    order[i] = i;
  }
  PetscCall(PetscSortRealWithPermutation(k, s, order));
  for (PetscInt i = 0; i < k; i++) {
    svd->sigma[i]  = s[order[k - 1 - i]];
    svd->errest[i] = e[order[k - 1 - i]];
  }
  PetscCall(PetscFree3(s, e, order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Value and error estimate of triplet j, from the residual of the projected problem */
static PetscErrorCode Estimate(SVD svd, PetscInt j, PetscReal residual, PetscReal sigma1)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscReal   sigma = SVDBlockLanczosSigma(svd, ctx->projected.S[j]);
  PetscReal         res; /* norm(A^H u - sigma v) */

  PetscFunctionBegin;
  if (ctx->krylov.twosided) res = residual / ctx->krylov.scale;
  else res = sigma > 0.0 ? residual / (sigma * ctx->krylov.scale * ctx->krylov.scale) : PETSC_MAX_REAL;
  ctx->projected.res[j] = residual;
  svd->sigma[j]         = sigma;
  PetscCall(SVDBlockLanczosTestConvergence(svd, sigma, res, (PetscBool)(residual <= SVDBlockLanczosNoise(svd)), sigma1, &svd->errest[j]));
  ctx->projected.converged[j] = (PetscBool)(svd->errest[j] < svd->tol);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The two-sided form: the singular values of T, its singular vectors Y (short side) and P (long side), and F = C P */
static PetscErrorCode SolveTwoSided(SVD_BLOCKLANCZOS *ctx)
{
  const BlockLanczosKrylov *krylov    = &ctx->krylov;
  BlockLanczosProjected    *projected = &ctx->projected;
  const PetscInt            l = krylov->nlock, ka = krylov->k - l, ld = krylov->ld;
  PetscScalar              *A;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(ka * ka, &A));
  for (PetscInt j = 0; j < ka; j++) PetscCall(PetscArraycpy(A + j * ka, krylov->T + l + (l + j) * ld, ka));
  /* returns Y^H, which is transposed in place below */
  PetscCall(SmallSVD(ka, ka, A, ka, projected->S + l, projected->P, ld, projected->Y, ld));
  for (PetscInt j = 0; j < ka; j++) {
    projected->Y[j + j * ld] = PetscConj(projected->Y[j + j * ld]);
    for (PetscInt i = 0; i < j; i++) {
      const PetscScalar t = projected->Y[i + j * ld];

      projected->Y[i + j * ld] = PetscConj(projected->Y[j + i * ld]);
      projected->Y[j + i * ld] = PetscConj(t);
    }
  }
  PetscCall(PetscFree(A));
  PetscCall(SmallMultiply("N", "N", krylov->w, ka, ka, 1.0, krylov->C + l * krylov->bs, krylov->bs, projected->P, ld, 0.0, projected->F, krylov->bs));
  projected->nritz = ka;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The A^H A form: the eigenvalues of T, and F = C Q Y. Y holds the eigenvectors of the tridiagonal matrix Q^H T Q that LAPACK makes of T. To
  save time, while a device may be waiting, these are not transformed: for most Ritz vectors only residuals are needed. RitzVectors()
  transforms those that a restart keeps.
*/
static PetscErrorCode SolveAHA(SVD_BLOCKLANCZOS *ctx)
{
  const BlockLanczosKrylov *krylov    = &ctx->krylov;
  BlockLanczosProjected    *projected = &ctx->projected;
  const PetscInt            l = krylov->nlock, ka = krylov->k - l, ld = krylov->ld;
  PetscScalar              *CQ;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < ka; j++) PetscCall(PetscArraycpy(projected->P + j * ld, krylov->T + l + (l + j) * ld, ka));
  PetscCall(SmallHermitianEigen(ka, projected->P, ld, projected->S + l, projected->tau, projected->Y, ld, projected->work));
  projected->nritz = 0;
  PetscCall(PetscMalloc1(krylov->bs * ka, &CQ));
  PetscCall(PetscArraycpy(CQ, krylov->C + l * krylov->bs, krylov->bs * ka));
  PetscCall(SmallApplyReflectors("R", ka, krylov->w, projected->P, ld, projected->tau, CQ, krylov->bs));
  PetscCall(SmallMultiply("N", "N", krylov->w, ka, ka, 1.0, CQ, krylov->bs, projected->Y, ld, 0.0, projected->F, krylov->bs));
  PetscCall(PetscFree(CQ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Solves the problem of columns [nlock, k): S, Y (and P), F, res, and svd->sigma and svd->errest of all k columns. The columns of
  Y, P and F count from nlock, their rows (Y, P) too.
*/
PetscErrorCode SVDBlockLanczosSolveProjected(SVD svd)
{
  SVD_BLOCKLANCZOS      *ctx       = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov    *krylov    = &ctx->krylov;
  BlockLanczosProjected *projected = &ctx->projected;
  const PetscInt         l = krylov->nlock, ka = krylov->k - l, ld = krylov->ld;
  const PetscScalar     *Z = krylov->twosided ? projected->P : projected->Y;
  PetscReal              sigma1;
  PetscBool              dropped = PETSC_FALSE;

  PetscFunctionBegin;
  if (projected->solved) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt j = 0; j < l; j++) projected->S[j] = PetscRealPart(krylov->T[j + j * ld]);
  if (krylov->twosided) PetscCall(SolveTwoSided(ctx));
  else PetscCall(SolveAHA(ctx));
  if (ka) krylov->anorm = PetscMax(krylov->anorm, projected->S[l]);
  sigma1 = SVDBlockLanczosSigma(svd, krylov->anorm);
  for (PetscInt i = l; i < krylov->k; i++) dropped = krylov->dropped[i] > 0.0 ? PETSC_TRUE : dropped;

  for (PetscInt j = 0; j < krylov->k; j++) {
    const PetscScalar *c   = j < l ? krylov->C + j * krylov->bs : projected->F + (j - l) * krylov->bs;
    PetscReal          sum = SmallAddSquares(j < l ? PetscSqr(krylov->dropped[j]) : 0.0, krylov->w, c);

    PetscCall(Estimate(svd, j, PetscSqrtReal(sum), sigma1));
    if (dropped && j >= l && svd->errest[j] < svd->tol) {
      if (j - l >= projected->nritz) PetscCall(RitzVectors(svd, PetscMin(ka, j - l + RITZ_BATCH)));
      for (PetscInt i = 0; i < ka; i++) sum += PetscSqr(krylov->dropped[l + i] * PetscAbsScalar(Z[i + (j - l) * ld]));
      PetscCall(Estimate(svd, j, PetscSqrtReal(sum), sigma1));
    }
    /* the part of a residual that X no longer holds is small: it matters only for leading triplets that seem to have converged */
    if (svd->errest[j] >= svd->tol) dropped = PETSC_FALSE;
  }
  if (l) PetscCall(SortEstimates(svd));
  projected->solved = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The convergence test. A residual that is rounding cannot become smaller. If such a residual does not meet the user's test, because the
  value is very small, the error estimate is relative to sigma_1, the only meaningful measure for values of that size. For a matrix of zeros the
  user's test can give NaN.
*/
PetscErrorCode SVDBlockLanczosTestConvergence(SVD svd, PetscReal sigma, PetscReal res, PetscBool rounding, PetscReal sigma1, PetscReal *errest)
{
  PetscFunctionBegin;
  PetscCall((*svd->converged)(svd, sigma, res, errest, svd->convergedctx));
  if (rounding && !(*errest < svd->tol) && svd->conv != SVD_CONV_MAXIT && svd->conv != SVD_CONV_USER) *errest = sigma1 > 0.0 ? PetscMin(res / sigma1, svd->tol / 2) : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The number of leading values that meet the tolerance, up to the first one that does not */
PetscInt SVDBlockLanczosCountConverged(SVD svd)
{
  const PetscInt k     = ((SVD_BLOCKLANCZOS *)svd->data)->krylov.k;
  PetscInt       nconv = 0;

  while (nconv < k && svd->errest[nconv] < svd->tol) nconv++;
  return nconv;
}

/*
  Subtracts from X its components h along the basis: V^H A^H A V is T + h C, where T had been taken for it. Products with X that have been started are
  made again.
*/
static PetscErrorCode RemoveComponents(SVD svd)
{
  SVD_BLOCKLANCZOS   *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov = &ctx->krylov;
  const PetscInt      k = krylov->k, w = krylov->w;
  PetscScalar        *h, *hC;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(k * w, &h, k * k, &hC));
  PetscCall(BlockDot(&ctx->blocks, svd->V, 0, k, krylov->X, 0, w, h, k));
  PetscCall(BlockMult(&ctx->blocks, krylov->X, 0, w, 1.0, -1.0, svd->V, 0, k, h, k));
  PetscCall(SmallMultiply("N", "N", k, k, w, 1.0, h, k, krylov->C, krylov->bs, 0.0, hC, k));
  for (PetscInt j = 0; j < k; j++) {
    for (PetscInt i = 0; i < k; i++) krylov->T[i + j * krylov->ld] += (hC[i + j * k] + PetscConj(hC[j + i * k])) / 2;
  }
  PetscCall(PetscFree2(h, hC));
  krylov->wready = krylov->zready = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SVDBlockLanczosConvergedFirst - Moves columns of the projected problem that have converged to the front, behind those that are locked

   Input Parameter:
.  most - only those among the `most` largest values are moved

   Output Parameter:
.  n - their number, with that of the locked ones: a restart that keeps at least n columns throws away no triplet that is wanted and has converged

   Note:
   What a restart throws away of a multiple value does not come again, since the next blocks are orthogonal to it.
*/
PetscErrorCode SVDBlockLanczosConvergedFirst(SVD svd, PetscInt most, PetscInt *n)
{
  SVD_BLOCKLANCZOS      *ctx       = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosProjected *projected = &ctx->projected;
  const PetscInt         l = ctx->krylov.nlock, k = ctx->krylov.k, ld = ctx->krylov.ld, bs = ctx->krylov.bs;
  PetscScalar           *column;

  PetscFunctionBegin;
  *n = l;
  PetscCall(PetscMalloc1(ld, &column));
  for (PetscInt j = l; j < k; j++) {
    const PetscReal s = projected->S[j], r = projected->res[j];
    const PetscInt  behind = j - *n, to = *n - l, from = j - l;
    PetscInt        larger = j - l;

    for (PetscInt i = 0; i < l; i++) larger += projected->S[i] > s;
    if (!projected->converged[j] || larger >= most) continue;
    PetscCall(RitzVectors(svd, from + 1));
    for (PetscInt i = 0; i < 3; i++) {
      PetscScalar   *a   = i == 0 ? projected->Y : i == 1 ? projected->P : projected->F;
      const PetscInt lda = i < 2 ? ld : bs;

      if (i == 1 && !ctx->krylov.twosided) continue; /* P holds reflectors */
      PetscCall(PetscArraycpy(column, a + from * lda, lda));
      PetscCall(PetscArraymove(a + (to + 1) * lda, a + to * lda, behind * lda));
      PetscCall(PetscArraycpy(a + to * lda, column, lda));
    }
    PetscCall(PetscArraymove(projected->S + *n + 1, projected->S + *n, behind));
    PetscCall(PetscArraymove(projected->res + *n + 1, projected->res + *n, behind));
    projected->S[*n]       = s;
    projected->res[(*n)++] = r;
  }
  PetscCall(PetscFree(column));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The restart: replaces the basis by the locked columns and the first Ritz vectors, p in all */
PetscErrorCode SVDBlockLanczosTruncate(SVD svd, PetscInt p)
{
  SVD_BLOCKLANCZOS      *ctx       = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov    *krylov    = &ctx->krylov;
  BlockLanczosProjected *projected = &ctx->projected;
  const PetscInt         l = krylov->nlock, ka = krylov->k - l, ld = krylov->ld;
  PetscScalar           *Z = krylov->twosided ? projected->P : projected->Y;
  PetscScalar           *coupling;
  PetscReal             *dropped;
  PetscBool              lost;

  PetscFunctionBegin;
  PetscCall(RitzVectors(svd, p - l));
  PetscCall(SVDBlockLanczosHistoryAppend(svd, p));
  PetscCall(SVDBlockLanczosRestoreOrthogonality(svd, p, &lost));
  PetscCall(BlockMultInPlace(&ctx->blocks, svd->V, l, p, krylov->k, projected->Y, ld));
  if (krylov->twosided) PetscCall(BlockMultInPlace(&ctx->blocks, krylov->U, l, p, krylov->k, projected->P, ld));
  PetscCall(PetscMalloc2(ka, &dropped, l * (p - l), &coupling));
  PetscCall(PetscArraycpy(dropped, krylov->dropped + l, ka));
  /* the coupling of the locked columns to the others is small, but it is kept */
  PetscCall(SmallMultiply("N", "N", l, p - l, ka, 1.0, krylov->T + l * ld, ld, projected->Y, ld, 0.0, coupling, PetscMax(l, 1)));
  for (PetscInt j = l; j < p; j++) {
    PetscReal sum = 0.0;

    for (PetscInt i = 0; i < ka; i++) {
      if (dropped[i] > 0.0) sum += PetscSqr(dropped[i] * PetscAbsScalar(Z[i + (j - l) * ld]));
    }
    krylov->dropped[j] = PetscSqrtReal(sum);
    PetscCall(PetscArrayzero(krylov->T + j * ld, p));
    for (PetscInt i = 0; i < l; i++) {
      krylov->T[i + j * ld] = coupling[i + (j - l) * l];
      krylov->T[j + i * ld] = krylov->twosided ? 0.0 : PetscConj(coupling[i + (j - l) * l]);
    }
    krylov->T[j + j * ld] = projected->S[j];
    PetscCall(PetscArraycpy(krylov->C + j * krylov->bs, projected->F + (j - l) * krylov->bs, krylov->w));
  }
  PetscCall(PetscFree2(dropped, coupling));
  krylov->k         = p;
  krylov->c0        = 0;
  projected->solved = PETSC_FALSE;
  if (lost) PetscCall(RemoveComponents(svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}
