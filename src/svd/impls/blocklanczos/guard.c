/*
  The guard. A block of width b finds b copies of a multiple singular value; further copies are invisible to its Krylov space and to
  residuals. So, when enough triplets have converged and the process itself cannot tell that none is missing (certificate.c), a fresh
  random block orthogonal to them is iterated. If its largest Ritz value lies above the smallest value that would be returned, there are
  more copies: the new vectors are in the basis already, and the process goes on with all of it.

  Ritz values are lower bounds of the largest value that is left, so the answer "more copies" is certain, at whatever step it comes. The
  answer "no more" is given when the certificate reaches the gap that the user asks for. If that takes more products than the effort
  allows, what has been reached is all that is known.
*/
#include "blocklanczos.h"

/*
  The step of the next check: each check solves the projected problem. The bound falls by about the same factor in each step, so two checks
  tell when it will be reached; copies may show before.
*/
static PetscInt NextCheck(PetscInt step, PetscReal missing, PetscInt laststep, PetscReal lastmissing)
{
  PetscReal left = 2;

  if (laststep && missing < lastmissing && lastmissing < PETSC_MAX_REAL) left = missing * (step - laststep) / (lastmissing - missing);
  return step + PetscMax(1, (PetscInt)PetscMin(left, PetscMax(4, step / 2)));
}

/* The triplets become the basis; a random block takes the place of the residual block, whose part in each residual is remembered */
static PetscErrorCode StartGuard(SVD svd, PetscInt nw, PetscInt kmax)
{
  SVD_BLOCKLANCZOS *ctx  = (SVD_BLOCKLANCZOS *)svd->data;
  PetscReal         norm = 0.0;
  PetscInt          w    = PetscMin(ctx->krylov.bs, ctx->krylov.n - nw);
  PetscScalar      *R;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosSolveProjected(svd));
  PetscCall(SVDBlockLanczosTruncate(svd, nw));
  for (PetscInt j = 0; j < nw; j++) {
    PetscReal sum = PetscSqr(ctx->krylov.dropped[j]);

    for (PetscInt i = 0; i < ctx->krylov.w; i++) sum += PetscRealPart(ctx->krylov.C[i + j * ctx->krylov.bs] * PetscConj(ctx->krylov.C[i + j * ctx->krylov.bs]));
    ctx->krylov.dropped[j] = PetscSqrtReal(sum);
  }
  PetscCall(PetscArrayzero(ctx->krylov.C, ctx->krylov.bs * nw));
  ctx->krylov.c0    = nw;
  ctx->krylov.nlock = nw;
  PetscCall(SVDBlockLanczosOmegaBegin(svd, PETSC_FALSE));
  ctx->krylov.wready = ctx->krylov.zready = PETSC_FALSE;
  if (kmax < ctx->krylov.n) w = PetscMin(w, PetscMax((kmax - nw) / 2, 1));
  PetscCall(PetscMalloc1(w * w, &R));
  PetscCall(SVDBlockLanczosFillRandom(svd, ctx->krylov.X, 0, w));
  PetscCall(SVDBlockLanczosOrthonormalize(svd, svd->V, nw, ctx->krylov.X, w, ctx->krylov.n - nw, &norm, R, w, NULL, 0, &ctx->krylov.w));
  PetscCall(SVDBlockLanczosHistoryBegin(svd, 0, w, R, w));
  PetscCall(PetscFree(R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At the end of a guard that has found nothing, but not reached the gap either: how far its certificate reaches */
static PetscErrorCode Conclude(SVD svd, PetscInt nw, PetscReal level)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscReal         gap[12], missing;
  PetscInt          n;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosSolveProjected(svd));
  for (PetscInt i = 0; i < 12; i++) gap[i] = ctx->settings.certify * PetscPowReal(2, (PetscReal)(12 - i));
  if (ctx->krylov.w) PetscCall(SVDBlockLanczosCertifyGaps(svd, nw, level, PETSC_STATIC_ARRAY_LENGTH(gap), gap, &n, &missing));
  else PetscCall(SVDBlockLanczosCertify(svd, nw, level, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SVDBlockLanczosGuard - Looks for singular values above a level that are not among the leading nw triplets

   Input Parameters:
+  nw    - the basis becomes the leading nw triplets, which have converged
-  level - the smallest value that would be returned

   Output Parameter:
.  found - there are such values, and the basis holds vectors for them; else the basis is the nw triplets alone
*/
PetscErrorCode SVDBlockLanczosGuard(SVD svd, PetscInt nw, PetscReal level, PetscBool *found)
{
  SVD_BLOCKLANCZOS *ctx  = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    kmax = PetscMin(nw + svd->mpd, svd->ncv), start = ctx->counts.steps, before = ctx->counts.vectors;
  const PetscReal   ls = level * ctx->krylov.scale, lev = ctx->krylov.twosided ? ls : ls * ls, gap[] = {4 * ctx->settings.certify, ctx->settings.certify};
  /* a solve that starts from the solution may have taken next to none */
  const PetscReal most    = ctx->settings.effort * PetscMax(before - ctx->counts.guardvectors, svd->ncv) - ctx->counts.guardvectors;
  PetscReal       missing = PETSC_MAX_REAL;
  PetscInt        check = 2, last = 0, n;
  PetscBool       enough = PETSC_FALSE;

  PetscFunctionBegin;
  *found = PETSC_FALSE;
  ctx->counts.guards++;
  PetscCall(StartGuard(svd, nw, kmax));
  while (ctx->krylov.w && !*found && !enough && ctx->counts.vectors - before < most) {
    if (ctx->krylov.k + ctx->krylov.w > kmax) {
      PetscCall(SVDBlockLanczosSolveProjected(svd));
      PetscCall(SVDBlockLanczosTruncate(svd, nw + ((kmax - nw) / ctx->krylov.w / 2) * ctx->krylov.w));
    }
    PetscCall(SVDBlockLanczosStep(svd));
    if (ctx->counts.steps - start < check && ctx->krylov.w && ctx->krylov.k + ctx->krylov.w <= kmax) continue;
    PetscCall(SVDBlockLanczosSolveProjected(svd));
    *found = (PetscBool)(ctx->projected.S[nw] > lev * (1 + (ctx->krylov.twosided ? 1 : 2) * svd->tol) + SVDBlockLanczosNoise(svd));
    if (!*found) {
      const PetscReal lastmissing = missing;

      PetscCall(SVDBlockLanczosCertifyGaps(svd, nw, level, PETSC_STATIC_ARRAY_LENGTH(gap), gap, &n, &missing));
      enough = (PetscBool)(n == PETSC_STATIC_ARRAY_LENGTH(gap));
      check  = NextCheck(ctx->counts.steps - start, missing, last, lastmissing);
      last   = ctx->counts.steps - start;
    }
  }
  if (!*found && !enough) PetscCall(Conclude(svd, nw, level));
  PetscCall(PetscInfo(svd, "guard %" PetscInt_FMT ": %s above %g after %" PetscInt_FMT " steps; the largest value left is %g\n", ctx->counts.guards, *found ? "more values" : "nothing", (double)level, ctx->counts.steps - start, ctx->krylov.k > nw ? (double)SVDBlockLanczosSigma(svd, ctx->projected.S[nw]) : 0.0));
  if (*found) {
    ctx->counts.copies++;
    ctx->krylov.nlock     = 0;
    ctx->projected.solved = PETSC_FALSE;
    if (svd->mpd < svd->ncv) {
      PetscCall(SVDBlockLanczosSolveProjected(svd));
      PetscCall(SVDBlockLanczosTruncate(svd, ctx->krylov.k));
      ctx->krylov.nlock = PetscMin(ctx->projected.nlockable, ctx->krylov.k - 1);
    }
  } else {
    PetscCall(PetscInfo(svd, "certified %s %g\n", ctx->certificate.n >= 0 ? "down to" : "nothing, beside", (double)ctx->certificate.bound));
    ctx->counts.guardvectors += ctx->counts.vectors - before;
    ctx->krylov.k = nw;
    ctx->krylov.w = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
