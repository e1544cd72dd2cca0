/*
  The guard. A block of width b finds b copies of a multiple singular value; neither its Krylov space nor residuals show further copies.
  When enough triplets have converged and the process itself cannot certify that none is missing (certificate.c), the guard iterates with
  a fresh random block orthogonal to them. If its largest Ritz value lies above the smallest value that would be returned, there are
  more copies. The new vectors are in the basis already, and the process goes on with the whole basis.

  Ritz values are lower bounds for the largest remaining value, so the answer "more copies" is certain, in whatever step it comes. The
  answer "no more" is given when the certificate reaches the gap. If the effort is spent before, the certificate has the gap that was reached.
*/
#include "blocklanczos.h"

/* The lanes that are updated in each step: is there a Ritz value above the level, and does the certificate reach the gap asked for? */
#define WATCH_FOUND 0
#define WATCH_GAP   1
/* The most products of all guards of a solve that found nothing, relative to those that found the values */
#define EFFORT ((PetscReal)4)
/* After a bound for all lambda that is too large, this part more steps are made before it is computed again: its cost is quadratic in steps */
#define BOUND_AGAIN 8

/* The triplets become the basis. A random block replaces the residual block, whose part in each residual is stored */
static PetscErrorCode StartGuard(SVD svd, PetscInt nw, PetscInt kmax, const PetscReal watch[])
{
  SVD_BLOCKLANCZOS *ctx  = (SVD_BLOCKLANCZOS *)svd->data;
  PetscReal         norm = 0.0;
  PetscInt          w    = PetscMin(ctx->krylov.bs, ctx->krylov.n - nw);
  PetscScalar      *R;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosSolveProjected(svd));
  PetscCall(SVDBlockLanczosTruncate(svd, nw));
  for (PetscInt j = 0; j < nw; j++) ctx->krylov.dropped[j] = PetscSqrtReal(SmallAddSquares(PetscSqr(ctx->krylov.dropped[j]), ctx->krylov.w, ctx->krylov.C + j * ctx->krylov.bs));
  PetscCall(PetscArrayzero(ctx->krylov.C, ctx->krylov.bs * nw));
  ctx->krylov.c0    = nw;
  ctx->krylov.nlock = nw;
  PetscCall(SVDBlockLanczosOmegaBegin(svd, PETSC_FALSE));
  ctx->krylov.wready = ctx->krylov.zready = PETSC_FALSE;
  if (kmax < ctx->krylov.n) w = PetscMin(w, PetscMax((kmax - nw) / 2, 1));
  PetscCall(PetscMalloc1(w * w, &R));
  PetscCall(BlockFillRandom(&ctx->blocks, ctx->krylov.X, 0, w));
  PetscCall(SVDBlockLanczosOrthonormalize(svd, svd->V, nw, ctx->krylov.X, w, ctx->krylov.n - nw, &norm, R, w, NULL, 0, &ctx->krylov.w));
  PetscCall(SVDBlockLanczosHistoryForget(svd));
  PetscCall(SVDBlockLanczosRecurrenceBegin(svd, w, R, w, watch));
  PetscCall(PetscFree(R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After a guard that found nothing and did not reach the gap: finds the gap that its certificate reaches */
static PetscErrorCode Conclude(SVD svd, PetscInt nw, PetscReal level)
{
  SVD_BLOCKLANCZOS *ctx     = (SVD_BLOCKLANCZOS *)svd->data;
  PetscBool         certain = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosSolveProjected(svd));
  if (!ctx->krylov.w) SVDBlockLanczosCertifyComplete(svd, nw, ctx->krylov.k > nw ? ctx->projected.S[nw] : 0.0);
  for (PetscInt i = 1; i <= 12 && ctx->krylov.w && !certain; i++) PetscCall(SVDBlockLanczosCertifyByGuard(svd, nw, level, SVDBlockLanczosGap(svd) * PetscPowReal(2, (PetscReal)i), &certain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes a step. found: there is a Ritz value above `highest`, the largest that counts as found; enough: the certificate reaches the gap */
static PetscErrorCode StepOfGuard(SVD svd, PetscInt nw, PetscReal level, PetscReal highest, PetscBool *found, PetscBool *enough)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockRecurrence  *r   = &ctx->recurrence;
  const PetscInt    w   = ctx->krylov.w;
  PetscReal         norm;
  PetscBool         above;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosStep(svd));
  PetscCall(SVDBlockLanczosRecurrenceStep(svd, w));
  above = r->watch.above[WATCH_FOUND];
  PetscCall(SVDBlockLanczosRecurrenceNorm(svd, WATCH_GAP, &norm));
  if (!above && ctx->krylov.w && (norm > SVDBlockLanczosCertifyNorm(svd, r->q) || r->nsteps < r->nextbound)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SVDBlockLanczosSolveProjected(svd));
  *found = (PetscBool)(ctx->projected.S[nw] > highest);
  if (!*found && ctx->krylov.w) PetscCall(SVDBlockLanczosCertifyByGuard(svd, nw, level, SVDBlockLanczosGap(svd), enough));
  r->nextbound = r->nsteps + r->nsteps / BOUND_AGAIN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SVDBlockLanczosGuard - Looks for singular values above a level that are not among the leading nw triplets

   Input Parameters:
+  nw    - the number of leading triplets, which have converged and become the basis
-  level - the smallest value that would be returned

   Output Parameter:
.  found - there are such values, and the basis holds vectors for them; otherwise the basis is the nw triplets only
*/
PetscErrorCode SVDBlockLanczosGuard(SVD svd, PetscInt nw, PetscReal level, PetscBool *found)
{
  SVD_BLOCKLANCZOS *ctx  = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    kmax = PetscMin(nw + svd->mpd, svd->ncv), start = ctx->counts.steps, before = ctx->counts.vectors;
  const PetscReal   ls = level * ctx->krylov.scale;
  /* a Ritz value above this shows that a value was missed; if it is farther above the level than the gap, the gap cannot be reached without it */
  const PetscReal hs      = ls + PetscMin(svd->tol * (svd->conv == SVD_CONV_ABS ? ctx->krylov.scale : ls), SVDBlockLanczosGap(svd) * ls);
  const PetscReal highest = (ctx->krylov.twosided ? hs : hs * hs) + SVDBlockLanczosNoise(svd);
  /* at least ncv: a solve that starts from the solution may have needed hardly any products */
  const PetscReal most = EFFORT * PetscMax(before - ctx->counts.guardvectors, svd->ncv) - ctx->counts.guardvectors;
  PetscReal       watch[BLOCKLANCZOS_LANES];
  PetscBool       enough = PETSC_FALSE;

  PetscFunctionBegin;
  *found = PETSC_FALSE;
  ctx->counts.guards++;
  for (PetscInt l = 0; l < BLOCKLANCZOS_LANES; l++) watch[l] = SVDBlockLanczosCertifyLambda(svd, level * (1 + SVDBlockLanczosGap(svd)));
  watch[WATCH_FOUND] = ctx->krylov.twosided ? PetscSqr(highest) : highest;
  PetscCall(StartGuard(svd, nw, kmax, watch));
  while (ctx->krylov.w && !*found && !enough && ctx->counts.vectors - before < most) {
    if (ctx->krylov.k + ctx->krylov.w > kmax) {
      const PetscInt p = nw + ((kmax - nw) / ctx->krylov.w / 2) * ctx->krylov.w;

      PetscCall(SVDBlockLanczosSolveProjected(svd));
      PetscCall(SVDBlockLanczosRecurrenceRestart(svd, p));
      PetscCall(SVDBlockLanczosTruncate(svd, p));
    }
    PetscCall(StepOfGuard(svd, nw, level, highest, found, &enough));
  }
  if (!*found && !enough) PetscCall(Conclude(svd, nw, level));
  PetscCall(SVDBlockLanczosRecurrenceForget(svd));
  PetscCall(PetscInfo(svd, "guard %" PetscInt_FMT ": %s above %g after %" PetscInt_FMT " steps; the largest value left is %g\n", ctx->counts.guards, *found ? "more values" : "nothing", (double)level, ctx->counts.steps - start,
                      ctx->krylov.k > nw ? (double)SVDBlockLanczosSigma(svd, ctx->projected.S[nw]) : 0.0));
  if (*found) {
    ctx->counts.copies++;
    ctx->krylov.nlock     = 0;
    ctx->projected.solved = PETSC_FALSE;
    if (svd->mpd < svd->ncv) {
      PetscInt nlock;

      PetscCall(SVDBlockLanczosSolveProjected(svd));
      PetscCall(SVDBlockLanczosConvergedFirst(svd, nw, &nlock));
      PetscCall(SVDBlockLanczosTruncate(svd, ctx->krylov.k));
      ctx->krylov.nlock = PetscMin(nlock, ctx->krylov.k - 1);
    }
  } else {
    if (ctx->certificate.n >= 0) PetscCall(PetscInfo(svd, "the guard proves that no value beside those found is above %g, but for a chance of %g and residuals\n", (double)ctx->certificate.bound, (double)ctx->certificate.chance));
    ctx->counts.guardvectors += ctx->counts.vectors - before;
    ctx->krylov.k = nw;
    ctx->krylov.w = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
