/*
  The projected problem: its solution, the residuals it implies, what counts as converged, and the restart.

  Columns [0, nlock) of the basis stay as they are: the problem is solved for the columns after them. They are Ritz vectors, their
  values in the leading diagonal of T, in the order in which they were locked; svd->sigma and svd->errest are sorted all the same.
*/
#include "blocklanczos.h"

/* How many Ritz vectors are made at once when one is needed */
#define RITZ_BATCH 16

/* A singular value of the matrix from a value of the projected problem */
PetscReal SVDBlockLanczosSigma(SVD svd, PetscReal s)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  return (ctx->twosided ? s : PetscSqrtReal(PetscMax(s, 0))) / ctx->scale;
}

/* The level below which a residual is rounding, in the projected problem's units */
PetscReal SVDBlockLanczosNoise(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  return BLOCKLANCZOS_NOISE * ctx->anorm;
}

/* Makes the first p columns of Y Ritz vectors, if they are not yet */
static PetscErrorCode RitzVectors(SVD svd, PetscInt p)
{
  SVD_BLOCKLANCZOS *ctx  = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    done = ctx->turned, ka = ctx->k - ctx->nlock, ld = ctx->ld;

  PetscFunctionBegin;
  if (p <= done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SmallApplyReflectors("L", ka, p - done, ctx->P, ld, ctx->tau, ctx->Y + done * ld, ld));
  ctx->turned = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* svd->sigma and svd->errest in decreasing order of values */
static PetscErrorCode SortEstimates(SVD svd)
{
  const PetscInt k = ((SVD_BLOCKLANCZOS *)svd->data)->k;
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
  const PetscReal   sigma = SVDBlockLanczosSigma(svd, ctx->S[j]);
  PetscReal         res; /* norm(A^H u - sigma v) */

  PetscFunctionBegin;
  if (ctx->twosided) res = residual / ctx->scale;
  else res = sigma > 0.0 ? residual / (sigma * ctx->scale * ctx->scale) : PETSC_MAX_REAL;
  ctx->res[j]   = residual;
  svd->sigma[j] = sigma;
  PetscCall(SVDBlockLanczosTestConvergence(svd, sigma, res, (PetscBool)(residual <= SVDBlockLanczosNoise(svd)), sigma1, &svd->errest[j]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Solves the problem of columns [nlock, k): S, Y (and P), F, res, and svd->sigma and svd->errest of all k columns. The columns of
  Y, P and F count from nlock, their rows (Y, P) too.

  In the A^H A form Y holds the eigenvectors of the tridiagonal matrix that LAPACK makes of T: a device is waiting, and of most Ritz
  vectors only the residuals are needed. RitzVectors() transforms those that are kept at a restart.
*/
PetscErrorCode SVDBlockLanczosSolveProjected(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    l = ctx->nlock, ka = ctx->k - l, ld = ctx->ld;
  PetscScalar      *Z;
  PetscReal         sigma1;
  PetscBool         dropped = PETSC_FALSE;

  PetscFunctionBegin;
  if (ctx->projected) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt j = 0; j < l; j++) ctx->S[j] = PetscRealPart(ctx->T[j + j * ld]);
  if (ctx->twosided) {
    PetscScalar *A;

    PetscCall(PetscMalloc1(ka * ka, &A));
    for (PetscInt j = 0; j < ka; j++) PetscCall(PetscArraycpy(A + j * ka, ctx->T + l + (l + j) * ld, ka));
    /* Y^H comes out: turned in place below */
    PetscCall(SmallSVD(ka, ka, A, ka, ctx->S + l, ctx->P, ld, ctx->Y, ld));
    for (PetscInt j = 0; j < ka; j++) {
      ctx->Y[j + j * ld] = PetscConj(ctx->Y[j + j * ld]);
      for (PetscInt i = 0; i < j; i++) {
        const PetscScalar t = ctx->Y[i + j * ld];

        ctx->Y[i + j * ld] = PetscConj(ctx->Y[j + i * ld]);
        ctx->Y[j + i * ld] = PetscConj(t);
      }
    }
    PetscCall(PetscFree(A));
    Z = ctx->P;
    PetscCall(SmallMultiply("N", "N", ctx->w, ka, ka, 1.0, ctx->C + l * ctx->bs, ctx->bs, Z, ld, 0.0, ctx->F, ctx->bs));
    ctx->turned = ka;
  } else {
    PetscScalar *CQ;

    for (PetscInt j = 0; j < ka; j++) PetscCall(PetscArraycpy(ctx->P + j * ld, ctx->T + l + (l + j) * ld, ka));
    PetscCall(SmallHermitianEigen(ka, ctx->P, ld, ctx->S + l, ctx->tau, ctx->Y, ld, ctx->work));
    ctx->turned = 0;
    Z           = ctx->Y;
    PetscCall(PetscMalloc1(ctx->bs * ka, &CQ));
    PetscCall(PetscArraycpy(CQ, ctx->C + l * ctx->bs, ctx->bs * ka));
    PetscCall(SmallApplyReflectors("R", ka, ctx->w, ctx->P, ld, ctx->tau, CQ, ctx->bs));
    PetscCall(SmallMultiply("N", "N", ctx->w, ka, ka, 1.0, CQ, ctx->bs, ctx->Y, ld, 0.0, ctx->F, ctx->bs));
    PetscCall(PetscFree(CQ));
  }
  if (ka) ctx->anorm = PetscMax(ctx->anorm, ctx->S[l]);
  sigma1 = SVDBlockLanczosSigma(svd, ctx->anorm);
  for (PetscInt i = l; i < ctx->k; i++) dropped = ctx->dropped[i] > 0.0 ? PETSC_TRUE : dropped;

  for (PetscInt j = 0; j < ctx->k; j++) {
    const PetscScalar *c   = j < l ? ctx->C + j * ctx->bs : ctx->F + (j - l) * ctx->bs;
    PetscReal          sum = j < l ? PetscSqr(ctx->dropped[j]) : 0.0;

    for (PetscInt i = 0; i < ctx->w; i++) sum += PetscRealPart(c[i] * PetscConj(c[i]));
    PetscCall(Estimate(svd, j, PetscSqrtReal(sum), sigma1));
    if (dropped && j >= l && svd->errest[j] < svd->tol) {
      if (j - l >= ctx->turned) PetscCall(RitzVectors(svd, PetscMin(ka, j - l + RITZ_BATCH)));
      for (PetscInt i = 0; i < ka; i++) sum += PetscSqr(ctx->dropped[l + i] * PetscAbsScalar(Z[i + (j - l) * ld]));
      PetscCall(Estimate(svd, j, PetscSqrtReal(sum), sigma1));
    }
    /* the part of a residual that X no longer holds is small; it matters only if a leading triplet seems to have converged */
    if (svd->errest[j] >= svd->tol) dropped = PETSC_FALSE;
  }
  for (ctx->nlockable = l; ctx->nlockable < ctx->k && svd->errest[ctx->nlockable] < svd->tol;) ctx->nlockable++;
  if (l) PetscCall(SortEstimates(svd));
  ctx->projected = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The convergence test. A residual that is rounding cannot become smaller. If the value is so small that the residual still does not meet
  the user's test, the error estimate is taken relative to sigma_1, the only meaningful measure for values of that size.
*/
PetscErrorCode SVDBlockLanczosTestConvergence(SVD svd, PetscReal sigma, PetscReal res, PetscBool rounding, PetscReal sigma1, PetscReal *errest)
{
  PetscFunctionBegin;
  PetscCall((*svd->converged)(svd, sigma, res, errest, svd->convergedctx));
  if (rounding && *errest >= svd->tol && svd->conv != SVD_CONV_MAXIT && svd->conv != SVD_CONV_USER) *errest = sigma1 > 0.0 ? PetscMin(res / sigma1, svd->tol / 2) : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many of the largest values, counted up to the first that does not, meet the tolerance */
PetscErrorCode SVDBlockLanczosCountConverged(SVD svd, PetscInt *nconv)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  *nconv = 0;
  while (*nconv < ctx->k && svd->errest[*nconv] < svd->tol) (*nconv)++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The restart: the basis becomes the locked columns and the first Ritz vectors, p in all */
PetscErrorCode SVDBlockLanczosTruncate(SVD svd, PetscInt p)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    l = ctx->nlock, ka = ctx->k - l, ld = ctx->ld;
  PetscScalar      *Z = ctx->twosided ? ctx->P : ctx->Y;
  PetscScalar      *coupling;
  PetscReal        *dropped;

  PetscFunctionBegin;
  PetscCall(RitzVectors(svd, p - l));
  PetscCall(SVDBlockLanczosHistoryAppend(svd, p));
  PetscCall(SVDBlockLanczosRestoreOrthogonality(svd, p));
  PetscCall(BlockMultInPlace(&ctx->blocks, svd->V, l, p, ctx->k, ctx->Y, ld));
  if (ctx->twosided) PetscCall(BlockMultInPlace(&ctx->blocks, ctx->U, l, p, ctx->k, ctx->P, ld));
  PetscCall(PetscMalloc2(ka, &dropped, l * (p - l), &coupling));
  PetscCall(PetscArraycpy(dropped, ctx->dropped + l, ka));
  /* the coupling of the locked columns to the others is small, but kept */
  PetscCall(SmallMultiply("N", "N", l, p - l, ka, 1.0, ctx->T + l * ld, ld, ctx->Y, ld, 0.0, coupling, PetscMax(l, 1)));
  for (PetscInt j = l; j < p; j++) {
    PetscReal sum = 0.0;

    for (PetscInt i = 0; i < ka; i++) {
      if (dropped[i] > 0.0) sum += PetscSqr(dropped[i] * PetscAbsScalar(Z[i + (j - l) * ld]));
    }
    ctx->dropped[j] = PetscSqrtReal(sum);
    PetscCall(PetscArrayzero(ctx->T + j * ld, p));
    for (PetscInt i = 0; i < l; i++) {
      ctx->T[i + j * ld] = coupling[i + (j - l) * l];
      ctx->T[j + i * ld] = ctx->twosided ? 0.0 : PetscConj(coupling[i + (j - l) * l]);
    }
    ctx->T[j + j * ld] = ctx->S[j];
    PetscCall(PetscArraycpy(ctx->C + j * ctx->bs, ctx->F + (j - l) * ctx->bs, ctx->w));
  }
  PetscCall(PetscFree2(dropped, coupling));
  ctx->k         = p;
  ctx->c0        = 0;
  ctx->projected = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
