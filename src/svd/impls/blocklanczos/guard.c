/*
  The guard. A block of width b finds b copies of a multiple singular value; further copies are invisible to its Krylov space and to
  residuals. So, when enough triplets have converged, a fresh random block orthogonal to them is iterated until its largest Ritz
  value is known well enough. If that lies above the smallest value that would be returned, there are more copies: the new vectors
  are in the basis already, and the process goes on with all of it.

  If fewer than b copies of a value were found, none can be hidden, and the guard does not run: with probability one a random block of
  b columns holds them all. Values count as copies if they are closer together, by a factor tol^(1/4), than the last one wanted is to
  the next Ritz value: these the process may not have separated by the time it separated those two. After a guard's block the copies
  that the basis held before it add to b.

  Ritz values are lower bounds of the largest value that is left, so the answer "more copies" is certain, at whatever step it comes.
  The answer "no more" is given when either
  - the largest Ritz pair has a residual of 1e-2 of its value, or
  - the chance that a value above the level stayed hidden is below 1e-10, by the bound of Kuczynski and Wozniakowski (SIAM J. Matrix
    Anal. Appl. 13, 1992, theorem 4.2) for the Lanczos process from a random vector: after j steps the largest Ritz value theta lies
    below (1 - e) lambda with a probability of at most 1.648 sqrt(n) exp(-sqrt(e) (2 j - 1)), here for each column of the block.
    It ends the guard early where the spectrum falls off quickly.
*/
#include "blocklanczos.h"

#define GUARD_RESIDUAL 0.01
#define GUARD_CHANCE   1e-10

/* Values this close, in squares and relative to sigma_1^2, are copies whatever the distance to the next one is */
#define GUARD_EQUAL 1e-6

/*
   SVDBlockLanczosMayHide - Whether there may be copies of the leading nw values that the basis cannot hold

   Note:
   The projected problem must be solved. Distances are those of the squares of the values, which decide how fast the process separates them.
*/
PetscErrorCode SVDBlockLanczosMayHide(SVD svd, PetscInt nw, PetscBool *mayhide)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscReal         apart;

  PetscFunctionBegin;
  *mayhide = PETSC_FALSE;
  if (ctx->nrandom >= nw) PetscFunctionReturn(PETSC_SUCCESS);
  if (ctx->k <= nw) {
    *mayhide = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  apart = PetscMax(PetscPowReal(svd->tol, (PetscReal)0.25) * (PetscSqr(svd->sigma[nw - 1]) - PetscSqr(svd->sigma[nw])), GUARD_EQUAL * PetscSqr(svd->sigma[0]));
  for (PetscInt first = 0, last = 0; first < nw && !*mayhide; first++) {
    const PetscReal high   = PetscSqr(svd->sigma[first]);
    PetscInt        copies = 0;

    while (last + 1 < nw && high - PetscSqr(svd->sigma[last + 1]) <= apart) last++;
    for (PetscInt i = 0; i < ctx->nheld; i++) {
      const PetscReal held = PetscSqr(ctx->held[i]), margin = GUARD_EQUAL * high;

      if (held <= high + margin && held >= PetscSqr(svd->sigma[last]) - margin) copies++;
    }
    *mayhide = (PetscBool)(last - first + 1 >= copies + ctx->nrandom);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The logarithm of the bound, for a block of w independent columns */
static PetscReal LogChanceHidden(PetscInt n, PetscInt w, PetscInt steps, PetscReal ratio)
{
  const PetscReal one = PetscLogReal((PetscReal)1.648) + PetscLogReal((PetscReal)n) / 2 - PetscSqrtReal(PetscMax(1 - ratio, 0)) * (2 * steps - 1);

  return one < 0 ? w * one : 0;
}

/*
  The step of the next check: each check solves the projected problem. Residuals fall by about the same factor in each step, so two checks
  tell when the bound will be reached.
*/
static PetscInt NextLook(PetscInt step, PetscReal residual, PetscInt laststep, PetscReal lastresidual)
{
  PetscReal left = 2;

  if (residual <= GUARD_RESIDUAL) return step + 1;
  if (laststep && residual < lastresidual) left = PetscLogReal(residual / (PetscReal)GUARD_RESIDUAL) * (step - laststep) / PetscLogReal(lastresidual / residual);
  return step + PetscMax(1, (PetscInt)PetscMin(left, 4));
}

/*
   SVDBlockLanczosGuard - Looks for singular values above a level that are not among the leading nw triplets

   Input Parameters:
+  nw    - the basis becomes the leading nw triplets, which have converged
-  level - the smallest value that would be returned

   Output Parameter:
.  found - there are such values, and the basis holds vectors for them; else the basis is the nw triplets alone

   Note:
   If the iterations run out, svd->reason says so.
*/
PetscErrorCode SVDBlockLanczosGuard(SVD svd, PetscInt nw, PetscReal level, PetscBool *found)
{
  SVD_BLOCKLANCZOS *ctx  = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    kmax = PetscMin(nw + svd->mpd, svd->ncv);
  const PetscReal   ls = level * ctx->scale, lev = ctx->twosided ? ls : ls * ls;
  PetscReal         norm = 0.0;
  PetscScalar      *R;
  PetscReal         residual = 0.0;
  PetscInt          w, start = ctx->steps, unrestarted = 0, look = 2, last = 0;
  PetscBool         accepted = PETSC_FALSE;

  PetscFunctionBegin;
  *found = PETSC_FALSE;
  ctx->guards++;
  PetscCall(SVDBlockLanczosProject(svd));
  PetscCall(PetscFree(ctx->held));
  PetscCall(PetscMalloc1(nw, &ctx->held));
  PetscCall(PetscArraycpy(ctx->held, svd->sigma, nw));
  ctx->nheld = nw;
  PetscCall(SVDBlockLanczosTruncate(svd, nw));
  /* the random block replaces the residual block, whose part in the residual of each triplet is remembered */
  for (PetscInt j = 0; j < nw; j++) {
    PetscReal sum = PetscSqr(ctx->lost[j]);

    for (PetscInt i = 0; i < ctx->w; i++) sum += PetscRealPart(ctx->C[i + j * ctx->bs] * PetscConj(ctx->C[i + j * ctx->bs]));
    ctx->lost[j] = PetscSqrtReal(sum);
  }
  PetscCall(PetscArrayzero(ctx->C, ctx->bs * nw));
  ctx->c0    = nw;
  ctx->nlock = nw;
  PetscCall(SVDBlockLanczosWatch(svd, PETSC_FALSE));
  ctx->wready = ctx->zready = PETSC_FALSE;
  w                         = PetscMin(ctx->bs, ctx->n - nw);
  if (kmax < ctx->n) w = PetscMin(w, PetscMax((kmax - nw) / 2, 1));
  PetscCall(PetscMalloc1(w * w, &R));
  PetscCall(SVDBlockLanczosFillRandom(svd, ctx->X, 0, w));
  PetscCall(SVDBlockLanczosOrthonormalize(svd, svd->V, nw, ctx->X, w, ctx->n - nw, &norm, R, w, NULL, 0, &ctx->w));
  PetscCall(PetscFree(R));

  while (ctx->w && !*found && !accepted) {
    if (ctx->k + ctx->w > kmax) {
      if (svd->its >= svd->max_it) {
        svd->reason = SVD_DIVERGED_ITS;
        break;
      }
      PetscCall(SVDBlockLanczosTruncate(svd, nw + ((kmax - nw) / ctx->w / 2) * ctx->w));
      svd->its++;
      unrestarted = -1;
    }
    PetscCall(SVDBlockLanczosStep(svd));
    if (unrestarted >= 0) unrestarted++;
    if (ctx->steps - start < look && ctx->w && ctx->k + ctx->w <= kmax) continue;
    PetscCall(SVDBlockLanczosProject(svd));
    {
      const PetscReal top = ctx->S[nw], res = ctx->res[nw], noise = SVDBlockLanczosNoise(svd);
      const PetscReal r = lev > 0.0 ? top / lev : 1.0, ratio = ctx->twosided ? r * r : r;

      *found   = (PetscBool)(top > lev * (1 + (ctx->twosided ? 1 : 2) * svd->tol) + noise);
      accepted = (PetscBool)(res <= GUARD_RESIDUAL * top || top + res <= noise);
      look     = NextLook(ctx->steps - start, top > 0.0 ? res / top : 0.0, last, residual);
      last     = ctx->steps - start;
      residual = top > 0.0 ? res / top : 0.0;
      if (unrestarted > 0 && LogChanceHidden(ctx->n - nw, w, unrestarted, ratio) < PetscLogReal((PetscReal)GUARD_CHANCE)) accepted = PETSC_TRUE;
    }
  }
  PetscCall(PetscInfo(svd, "guard %" PetscInt_FMT ": %s above %g after %" PetscInt_FMT " steps; the largest value left is %g, residual %g\n", ctx->guards,
                      *found                            ? "more copies"
                      : svd->reason == SVD_DIVERGED_ITS ? "nothing known"
                                                        : "nothing",
                      (double)level, ctx->steps - start, ctx->k > nw ? (double)svd->sigma[nw] : 0.0, ctx->k > nw ? (double)(ctx->res[nw] / PetscMax(ctx->S[nw], PETSC_SMALL * ctx->anorm)) : 0.0));
  if (*found) {
    ctx->copies++;
    ctx->nrandom   = w;
    ctx->nlock     = 0;
    ctx->projected = PETSC_FALSE;
  } else {
    ctx->k = nw;
    ctx->w = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
