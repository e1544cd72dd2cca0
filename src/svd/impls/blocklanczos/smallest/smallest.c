/*
  The smallest singular values. For small matrices they come from LAPACK. Otherwise they are the largest ones of an operator B (transform.c), which another
  SVD object of this type computes: restarts, locking, the guard and its certificate are the same. The right vectors found are multiplied by B^H B once
  more, and then A V = U S and the residuals come from products with A, as they do for the largest values.

  B is known to rounding of its norm, which the smallest value determines. If others are far above it, they do not meet the tolerance. Those triplets that
  do are removed from B, and another round computes the rest. So the accuracy of each value is that of A.

  Values up to tau count as zero. With -svd_blocklanczos_nonzero they are computed too, since the others must be distinguished from them, but not returned.
*/
#include <petscblaslapack.h>
#include "../blocklanczos.h"

#define MOST_ROUNDS 60
/* Filters that are tried */
#define MOST_FILTERS 8
/* With -svd_blocklanczos_nonzero: the largest number of values up to tau */
#define MOST_ZEROS 1000
/* Values below this, relative to the norm, are left to the inverse if there may be one */
#define SMALL ((PetscReal)1e-2)
/* Restarts that a filter may take at least, if the user does not say */
#define LEAST_RESTARTS 10
/* Another filter is chosen if the values are so many times smaller than those of the present one */
#define NARROWER 2
/* The first filter is for values up to this, relative to the norm */
#define FIRST_VALUE ((PetscReal)0.25)
/* Columns of the basis that estimates the norm roughly */
#define NORM_NCV 24
/* A bound of the norm so many times the norm is good enough for a filter */
#define CLOSE ((PetscReal)1.1)

/* ------------------------------------------------------------------------------------------------ what the inner solver calls */
static PetscErrorCode Converged(SVD inner, PetscReal sigma, PetscReal res, PetscReal *errest, void *ctx)
{
  SVD             svd   = (SVD)ctx;
  const PetscReal scale = ((SVD_BLOCKLANCZOS *)svd->data)->krylov.scale;

  PetscFunctionBegin;
  PetscCall((*svd->converged)(svd, SVDBlockLanczosFromTransformed(svd, sigma, PETSC_TRUE) / scale, SVDBlockLanczosFromResidual(svd, sigma, res) / scale, errest, svd->convergedctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Monitor(SVD inner, PetscInt its, PetscInt nconv, PetscReal *sigma, PetscReal *errest, PetscInt nest, void *ctx)
{
  SVD        svd = (SVD)ctx;
  PetscReal *values;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(nest, &values));
  for (PetscInt i = 0; i < nest; i++) values[i] = SVDBlockLanczosFromTransformed(svd, sigma[i], PETSC_TRUE) / ((SVD_BLOCKLANCZOS *)svd->data)->krylov.scale;
  PetscCall(SVDMonitor(svd, svd->its + its, ((SVD_BLOCKLANCZOS *)svd->data)->smallest.k + nconv, values, errest, nest));
  PetscCall(PetscFree(values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Stopping(SVD inner, PetscInt its, PetscInt max_it, PetscInt nconv, PetscInt nsv, SVDConvergedReason *reason, void *ctx)
{
  SVD            svd = (SVD)ctx;
  const PetscInt k   = ((SVD_BLOCKLANCZOS *)svd->data)->smallest.k;

  PetscFunctionBegin;
  PetscCall((*svd->stopping)(svd, svd->its + its, svd->its + max_it, k + nconv, k + nsv, reason, svd->stoppingctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  With a filter: at a restart, the values so far, which are larger than those wanted, may ask for another one, for values up to s->other. If there may be a factor,
  a value close to zero asks for that, and s->other is negative.
*/
static PetscErrorCode StoppingFilter(SVD inner, PetscInt its, PetscInt max_it, PetscInt nconv, PetscInt nsv, SVDConvergedReason *reason, void *ctx)
{
  SVD                   svd   = (SVD)ctx;
  BlockLanczosSmallest *s     = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;
  const PetscReal       first = inner->sigma[0], last = inner->sigma[nsv - 1], value = PetscSqrtReal(s->low / 2), least = PetscSqrtReal(BLOCKLANCZOS_LEAST_LOW * s->high / 2);

  PetscFunctionBegin;
  PetscCall(svd->stop == SVD_STOP_USER ? Stopping(inner, its, max_it, nconv, nsv, reason, ctx) : SVDStoppingBasic(inner, its, max_it, nconv, nsv, reason, NULL));
  if (*reason != SVD_CONVERGED_ITERATING || s->degree == 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (last <= 1.0) s->other = 2 * value;
  else {
    const PetscReal smaller = PetscMax(SVDBlockLanczosFromTransformed(svd, last, PETSC_TRUE), least);

    /* zeros, which any filter shows, are closer to each other than it tells: a narrower one only takes more products */
    if (smaller < value / NARROWER && SVDBlockLanczosFromTransformed(svd, last, PETSC_FALSE) > 0.0) s->other = smaller;
  }
  if (s->later && first > 1.0 && SVDBlockLanczosFromTransformed(svd, first, PETSC_TRUE) <= SMALL * s->norm) {
    s->other = -1.0;
    *reason  = SVD_DIVERGED_BREAKDOWN;
  } else if (s->other > 0.0) *reason = SVD_DIVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void AddCounts(BlockLanczosCounts *sum, const BlockLanczosCounts *c)
{
  sum->steps += c->steps;
  sum->shortsteps += c->shortsteps;
  sum->vectors += c->vectors;
  sum->restarts += c->restarts;
  sum->deflated += c->deflated;
  sum->switches += c->switches;
  sum->guards += c->guards;
  sum->guardvectors += c->guardvectors;
  sum->copies += c->copies;
}

/* Composed with the inner solver: passes progress on */
static PetscErrorCode AfterStep(SVD inner)
{
  SVD                svd    = (SVD)inner->convergedctx;
  SVD_BLOCKLANCZOS  *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosCounts counts = ctx->counts;

  PetscFunctionBegin;
  svd->nconv = ctx->smallest.k + inner->nconv;
  for (PetscInt i = 0; i < PetscMin(inner->nsv, svd->ncv - ctx->smallest.k); i++) svd->errest[ctx->smallest.k + i] = inner->errest[i];
  AddCounts(&ctx->counts, &((SVD_BLOCKLANCZOS *)inner->data)->counts);
  PetscTryMethod(svd, "SVDBlockLanczosAfterStep_C", (SVD), (svd));
  ctx->counts = counts;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------ rounds */
/* The solver of the n largest values of B; round makes its random blocks others than those of earlier rounds, on which B depends */
static PetscErrorCode CreateInner(SVD svd, PetscInt n, PetscInt round, SVD *inner)
{
  SVD_BLOCKLANCZOS     *ctx    = (SVD_BLOCKLANCZOS *)svd->data, *in;
  BlockLanczosSmallest *s      = &ctx->smallest;
  PetscInt              max_it = PETSC_DETERMINE;
  BV                    V;
  PetscRandom           random;

  PetscFunctionBegin;
  PetscCall(SVDCreate(PetscObjectComm((PetscObject)svd), inner));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)*inner, (PetscObject)svd, 1));
  PetscCall(SVDSetOptionsPrefix(*inner, ((PetscObject)svd)->prefix));
  PetscCall(SVDAppendOptionsPrefix(*inner, "inner_")); /* not the options of this solver, as those that view */
  PetscCall(SVDSetOperators(*inner, s->B, NULL));
  PetscCall(SVDSetType(*inner, SVDBLOCKLANCZOS));
  PetscCall(SVDSetProblemType(*inner, SVD_STANDARD));
  PetscCall(SVDSetDimensions(*inner, n, ctx->settings.auto_ncv ? PETSC_DETERMINE : PetscMax(svd->ncv, n), ctx->settings.auto_mpd ? PETSC_DETERMINE : svd->mpd));
  /* a product with a filter takes as many with A as its degree, but zeros are copies of a value, which take restarts */
  if (!ctx->settings.auto_max_it) max_it = PetscMax(svd->max_it - svd->its, 1);
  else if (!s->inverts) max_it = PetscMin(svd->max_it, PetscMax(4 * svd->max_it / s->degree, LEAST_RESTARTS));
  PetscCall(SVDSetTolerances(*inner, svd->tol, max_it));
  (*inner)->conv         = svd->conv == SVD_CONV_ABS || svd->conv == SVD_CONV_NORM ? SVD_CONV_REL : svd->conv; /* for the test below is in units of A */
  (*inner)->converged    = Converged;
  (*inner)->convergedctx = svd;
  if (svd->stop == SVD_STOP_USER) {
    (*inner)->stop        = SVD_STOP_USER;
    (*inner)->stopping    = Stopping;
    (*inner)->stoppingctx = svd;
  }
  if (!s->inverts && !s->k && svd->stop != SVD_STOP_THRESHOLD && round < MOST_FILTERS * MOST_ROUNDS) {
    (*inner)->stopping    = StoppingFilter;
    (*inner)->stoppingctx = svd;
  }
  PetscCall(SVDMonitorSet(*inner, Monitor, svd, NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)*inner, "SVDBlockLanczosAfterStep_C", AfterStep));
  PetscCall(SVDGetBV(*inner, &V, NULL));
  PetscCall(BVGetRandomContext(V, &random));
  PetscCall(PetscRandomSetSeed(random, (unsigned long)(ctx->blocks.seed + round)));
  in                      = (SVD_BLOCKLANCZOS *)(*inner)->data;
  in->settings            = ctx->settings;
  in->settings.form       = ctx->settings.form == SVD_BLOCKLANCZOS_FORM_ATA || ctx->settings.form == SVD_BLOCKLANCZOS_FORM_TWOSIDED ? ctx->settings.form : SVD_BLOCKLANCZOS_FORM_AUTO;
  in->settings.left       = PETSC_TRUE;
  in->settings.shortsteps = PETSC_FALSE;
  in->settings.impltrans  = PETSC_FALSE;
  in->settings.auto_ncv = in->settings.auto_mpd = in->settings.auto_max_it = 0;
  if (s->shift > 0.0 && s->inverts) in->krylov.ceiling = 1 / (s->shift * PetscSqrtReal(1 + 2 * SVDBlockLanczosGap(svd))); /* beyond it the bound would be below the shift, see Bound() */
  /* solves with R are rounded by that of norm(R), a few times; each of the products of a filter is rounded */
  in->krylov.condition = s->inverts ? 10 * s->norm : s->degree / SVDBlockLanczosToTransformed(svd, 0.0);
  in->settings.quiet   = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Counts what the inner solver did, and destroys it */
static PetscErrorCode DestroyInner(SVD svd, SVD *inner)
{
  PetscFunctionBegin;
  svd->its += (*inner)->its;
  AddCounts(&((SVD_BLOCKLANCZOS *)svd->data)->counts, &((SVD_BLOCKLANCZOS *)(*inner)->data)->counts);
  PetscCall(PetscObjectComposeFunction((PetscObject)*inner, "SVDBlockLanczosAfterStep_C", NULL));
  PetscCall(SVDDestroy(inner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives the user's initial vectors, the first columns of svd->V, to the inner solver */
static PetscErrorCode PassInitialVectors(SVD svd, SVD inner)
{
  Vec *v;

  PetscFunctionBegin;
  if (svd->nini <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(svd->nini, &v));
  for (PetscInt i = 0; i < svd->nini; i++) {
    Vec x;

    PetscCall(BVGetColumn(svd->V, i, &x));
    PetscCall(VecDuplicate(x, &v[i]));
    PetscCall(VecCopy(x, v[i]));
    PetscCall(BVRestoreColumn(svd->V, i, &x));
  }
  PetscCall(SVDSetInitialSpaces(inner, svd->nini, v, 0, NULL));
  PetscCall(VecDestroyVecs(svd->nini, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What the inner solver knows: of the values of A on the complement of the k triplets that were removed, exactly n are below a bound, in units of A times the
  scale. B is that of a matrix which differs from A by rounding, and the residuals couple the triplets to the complement; both lower the bound (Weyl).
*/
static void Bound(SVD svd, SVD inner, PetscInt k, PetscInt *n, PetscReal *bound)
{
  SVD_BLOCKLANCZOS              *ctx         = (SVD_BLOCKLANCZOS *)svd->data;
  const BlockLanczosSmallest    *s           = &ctx->smallest;
  const BlockLanczosCertificate *certificate = &((SVD_BLOCKLANCZOS *)inner->data)->certificate;
  PetscReal                      value, coupling = 0.0;

  *n     = PETSC_DECIDE;
  *bound = 0.0;
  if (certificate->n < 0 || inner->reason <= 0 || s->loose || (!s->inverts && certificate->bound <= 1.0)) return; /* below one B does not tell small values of A from others */
  value = SVDBlockLanczosFromTransformed(svd, certificate->bound, PETSC_FALSE);
  if (s->normal && !s->E) value = PetscSqrtReal(PetscMax(PetscSqr(value) - BLOCKLANCZOS_NOISE * PetscSqr(s->norm), 0)); /* R is a factor of A^H A but for rounding */
  for (PetscInt i = 0; i < k; i++) coupling += PetscSqr(ctx->projected.res[i]);
  *bound = value - BLOCKLANCZOS_NOISE * s->norm - 2 * PetscSqrtReal(coupling);
  if (*bound > 0.0) *n = certificate->n;
}

/* Sorts the p triplets of SVDBlockLanczosFinish() by an order: in V, U, and the arrays */
static PetscErrorCode Permute(SVD svd, PetscInt p, const PetscInt order[])
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscReal        *arrays[4], *copy;
  PetscScalar      *Q;

  PetscFunctionBegin;
  arrays[0] = svd->sigma;
  arrays[1] = svd->errest;
  arrays[2] = ctx->projected.S;
  arrays[3] = ctx->projected.res;
  PetscCall(PetscMalloc2(p, &copy, (size_t)p * p, &Q));
  for (PetscInt side = 0; side < 2; side++) {
    PetscCall(PetscArrayzero(Q, (size_t)p * p));
    for (PetscInt j = 0; j < p; j++) Q[order[j] + j * p] = 1.0;
    PetscCall(BlockMultInPlace(&ctx->blocks, side ? ctx->krylov.U : svd->V, 0, p, p, Q, p));
  }
  for (PetscInt a = 0; a < 4; a++) {
    for (PetscInt j = 0; j < p; j++) copy[j] = arrays[a][order[j]];
    PetscCall(PetscArraycpy(arrays[a], copy, p));
  }
  PetscCall(PetscFree2(copy, Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Those that meet the tolerance first, from the smallest on; returns their number */
static PetscErrorCode AcceptedFirst(SVD svd, PetscInt p, PetscInt *accepted)
{
  PetscReal *key;
  PetscInt  *order;

  PetscFunctionBegin;
  *accepted = 0;
  PetscCall(PetscMalloc2(p, &key, p, &order));
  for (PetscInt j = 0; j < p; j++) {
    order[j] = j;
    key[j]   = svd->errest[j] < svd->tol ? svd->sigma[j] : PETSC_MAX_REAL;
    if (svd->errest[j] < svd->tol) (*accepted)++;
  }
  PetscCall(PetscSortRealWithPermutation(p, key, order));
  PetscCall(Permute(svd, p, order));
  PetscCall(PetscFree2(key, order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Appends the vectors that the inner solver has found to the first k columns of svd->V, and makes triplets of A of all of them */
static PetscErrorCode Append(SVD svd, SVD inner, PetscInt k, PetscInt p)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BV                block;
  PetscScalar      *R;
  PetscReal         norm = 0.0;
  PetscInt          w, npass;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_FALSE, p, &block));
  PetscCall(BlockCopy(&ctx->blocks, inner->V, 0, p, block, 0));
  PetscCall(SVDBlockLanczosPurify(svd, block, p));
  PetscCall(PetscMalloc1((size_t)p * p, &R));
  PetscCall(SVDBlockLanczosOrthonormalize(svd, svd->V, k, block, p, p, &norm, R, p, NULL, 0, &w));
  PetscCall(BlockCopy(&ctx->blocks, block, 0, p, svd->V, k));
  PetscCall(PetscFree(R));
  PetscCall(BVDestroy(&block));
  PetscCall(SVDBlockLanczosFinish(svd, k + p, &npass));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The number of the values found that are below the bound */
static PetscInt CountBelow(SVD svd, PetscInt k)
{
  const SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  PetscInt                below = 0;

  for (PetscInt i = 0; i < k; i++) below += ctx->projected.S[i] < ctx->smallest.bound;
  return below;
}

static PetscInt CountZeros(SVD svd, PetscInt k)
{
  PetscInt zeros = 0;

  for (PetscInt i = 0; i < k; i++) zeros += svd->sigma[i] <= ((SVD_BLOCKLANCZOS *)svd->data)->smallest.tau;
  return zeros;
}

/* The number of values to compute: those wanted, and with -svd_blocklanczos_nonzero those that count as zero */
static PetscInt Wanted(SVD svd, PetscInt k)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    zeros = ctx->settings.nonzero >= 0.0 ? CountZeros(svd, k) : 0;
  PetscInt64        want  = svd->nsv + (PetscInt64)zeros;

  if (zeros && zeros == k) want += PetscMin(zeros, 200); /* perhaps there are many more */
  return (PetscInt)PetscMin(want, ctx->smallest.N);
}

/* The spectral norm of A, roughly, and if it is asked for a bound of it which holds but for the chance of an estimate */
static PetscErrorCode EstimateNorm(SVD svd, PetscReal *norm, PetscReal *bound, PetscBool *proved)
{
  SVD               largest;
  SVD_BLOCKLANCZOS *ctx;
  PetscInt          n;
  PetscReal         error = 0.0;

  PetscFunctionBegin;
  *norm = 0.0;
  PetscCall(SVDCreate(PetscObjectComm((PetscObject)svd), &largest));
  PetscCall(SVDSetOptionsPrefix(largest, ((PetscObject)svd)->prefix));
  PetscCall(SVDAppendOptionsPrefix(largest, "norm_"));
  PetscCall(SVDSetOperators(largest, svd->OP, NULL));
  PetscCall(SVDSetType(largest, SVDBLOCKLANCZOS));
  PetscCall(SVDSetTolerances(largest, bound ? (PetscReal)1e-2 : (PetscReal)0.1, PETSC_DETERMINE));
  if (!bound) PetscCall(SVDSetDimensions(largest, 1, NORM_NCV, PETSC_DETERMINE));
  ctx                   = (SVD_BLOCKLANCZOS *)largest->data;
  ctx->settings.certify = bound ? (PetscReal)1e-2 : 0;
  ctx->settings.left    = PETSC_FALSE;
  PetscCall(SVDSolve(largest));
  PetscCall(SVDGetConverged(largest, &n));
  if (n) PetscCall(SVDGetSingularTriplet(largest, 0, norm, NULL, NULL));
  if (n) error = largest->errest[0];
  if (bound) {
    *proved = (PetscBool)(ctx->certificate.n == 0 && ctx->certificate.proved);
    *bound  = ctx->certificate.n == 0 ? ctx->certificate.bound : *norm * (PetscReal)1.2;
    *bound  = PetscMax(*bound, *norm) * (1 + error);
  }
  PetscCall(SVDDestroy(&largest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for p triplets */
static PetscErrorCode EnsureRoom(SVD svd, PetscInt p)
{
  PetscFunctionBegin;
  if (p > svd->ncv) PetscCall(SVDBlockLanczosEnlarge(svd, PetscMin(((SVD_BLOCKLANCZOS *)svd->data)->smallest.N, 2 * p), ((SVD_BLOCKLANCZOS *)svd->data)->krylov.bs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  One round: the n largest values of B without the k triplets accepted so far; of the p found, `accepted` of all k + p meet the tolerance and are first. If
  none belongs to a value of A below `least`, p is zero and nothing is changed.
*/
static PetscErrorCode Round(SVD svd, PetscInt k, PetscInt n, PetscReal least, PetscInt round, PetscInt *p, PetscInt *accepted)
{
  SVD_BLOCKLANCZOS     *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s     = &ctx->smallest;
  SVD                   inner = NULL;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosRemove(svd, k));
  for (PetscInt turn = 0; !inner || s->other > 0.0; turn++) {
    if (inner) {
      PetscCall(DestroyInner(svd, &inner));
      SVDBlockLanczosChooseFilter(svd, s->other, s->norm);
    }
    s->other = 0.0;
    PetscCall(CreateInner(svd, PetscMax(n, 1), round + turn * MOST_ROUNDS, &inner));
    if (!n) { /* all values up to a threshold */
      PetscCall(SVDSetThreshold(inner, SVDBlockLanczosToTransformed(svd, svd->thres * s->scale), PETSC_FALSE));
      inner->nsv = 0;
    }
    if (!s->inverts) PetscCall(PetscInfo(svd, "filter of degree %" PetscInt_FMT " for values up to %g of %g\n", s->degree, (double)PetscSqrtReal(s->low), (double)s->norm));
    if (round == 1) PetscCall(PassInitialVectors(svd, inner));
    /* there will be another round */
    if (ctx->settings.nonzero >= 0.0 && k && CountZeros(svd, k) == k) ((SVD_BLOCKLANCZOS *)inner->data)->settings.certify = 0.0;
    PetscCall(SVDSolve(inner));
  }
  svd->reason = inner->reason;
  s->bs       = ((SVD_BLOCKLANCZOS *)inner->data)->krylov.bs;
  *p          = s->other < 0.0 ? 0 : PetscMin(n ? PetscMin(inner->nconv, n) : inner->nconv, s->N - k);
  for (; !s->inverts && *p && inner->sigma[inner->perm[*p - 1]] <= 1.0; (*p)--)
    ; /* B does not tell these from others */
  /* a value of B that did not converge also shows that there is a smaller one of A */
  if ((!s->inverts && inner->sigma[inner->perm[0]] <= 1.0) || SVDBlockLanczosFromTransformed(svd, inner->sigma[inner->perm[0]], PETSC_FALSE) >= least * s->scale) {
    *p = 0;
    if (least < PETSC_MAX_REAL) svd->reason = SVD_CONVERGED_TOL;
  }
  *accepted = k;
  Bound(svd, inner, k, &s->known, &s->bound);
  s->chance = ((SVD_BLOCKLANCZOS *)inner->data)->certificate.chance;
  s->proved = ((SVD_BLOCKLANCZOS *)inner->data)->certificate.proved;
  /* of those removed, the ones below the bound */
  if (s->known >= 0) s->known += CountBelow(svd, k);
  if (*p) {
    PetscCall(EnsureRoom(svd, k + *p));
    PetscCall(Append(svd, inner, k, *p));
    PetscCall(AcceptedFirst(svd, k + *p, accepted));
    if (svd->conv == SVD_CONV_MAXIT) *accepted = k + *p;
  }
  if (s->normal && !s->E && s->known != CountBelow(svd, k + *p)) s->known = PETSC_DECIDE; /* solves that are refined will tell */
  PetscCall(DestroyInner(svd, &inner));
  PetscCall(PetscInfo(svd, "round %" PetscInt_FMT ": %" PetscInt_FMT " values found, %" PetscInt_FMT " of %" PetscInt_FMT " meet the tolerance\n", round, *p, *accepted, k + *p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes B sharper for the triplets that do not meet the tolerance, [k, p), or for one that was not found, if that is possible */
static PetscErrorCode Retry(SVD svd, PetscInt k, PetscInt p, PetscBool *again)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  PetscReal         least = PETSC_MAX_REAL;

  PetscFunctionBegin;
  for (PetscInt i = k; i < p; i++) least = PetscMin(least, ctx->projected.S[i]);
  if (p == k) least = 0.0;
  PetscCall(SVDBlockLanczosSharpen(svd, least, again));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rounds until all wanted triplets are accepted, and until it is known, if that is asked for, that no smaller value was missed; returns their number */
static PetscErrorCode Rounds(SVD svd, PetscInt *nvalues)
{
  SVD_BLOCKLANCZOS     *ctx       = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s         = &ctx->smallest;
  const PetscBool       threshold = (PetscBool)(svd->stop == SVD_STOP_THRESHOLD);
  PetscInt              k = 0, p, accepted, found, want = 0;

  PetscFunctionBegin;
  for (PetscInt round = 1; round <= MOST_ROUNDS; round++) {
    PetscBool again = PETSC_FALSE;

    if (!threshold) want = Wanted(svd, k);
    if (!threshold && k >= want) { /* is there a smaller one? */
      const PetscReal last = (k ? svd->sigma[k - 1] : 0.0) - PetscMax(svd->tol * (k ? svd->sigma[k - 1] : 0.0), BLOCKLANCZOS_NOISE * s->sigma1 / s->scale);

      if (ctx->settings.certify == 0.0 || s->known >= 0 || k == s->N || svd->reason != SVD_CONVERGED_TOL) break;
      if (s->normal && !s->E) PetscCall(SVDBlockLanczosSharpen(svd, last, &again)); /* a bound that is closer to the values */
      again = PETSC_FALSE;
      PetscCall(Round(svd, k, 1, last, round, &p, &accepted));
      if (!p && svd->reason < 0) PetscCall(Retry(svd, k, k, &again));
      if (p || again) svd->reason = SVD_CONVERGED_TOL;
      if (again) continue;
      /* if it was accepted, it has taken its place among the others; otherwise it is behind them */
      if (!p || (accepted >= k && svd->sigma[accepted > k ? k - 1 : k] >= last)) break;
      k        = PetscMin(k, accepted);
      s->known = PETSC_DECIDE;
      if (k < want) continue;                                     /* others do not meet the tolerance any more */
      if (accepted == k) PetscCall(Retry(svd, k, k + 1, &again)); /* there is, but it does not meet the tolerance */
      if (accepted == k && !again) {
        svd->reason = SVD_DIVERGED_BREAKDOWN;
        for (k = 0; k < accepted && svd->sigma[k] < svd->sigma[accepted];) k++;
        break;
      }
      continue;
    }
    PetscCall(Round(svd, k, threshold ? 0 : want - k, PETSC_MAX_REAL, round, &p, &accepted));
    if (accepted <= k && (p || (s->normal && svd->reason == SVD_DIVERGED_ITS && ctx->settings.auto_max_it))) PetscCall(Retry(svd, k, k + p, &again));
    if (!s->inverts && !threshold && p < want - k && svd->reason > 0 && s->degree > 1) { /* the filter is too narrow */
      SVDBlockLanczosChooseFilter(svd, 2 * PetscSqrtReal(s->low), s->norm);
      again = PETSC_TRUE;
    }
    if (threshold && svd->reason > 0 && !p) break; /* there are no more */
    if (ctx->settings.nonzero >= 0.0 && CountZeros(svd, accepted) > MOST_ZEROS) {
      svd->reason = SVD_DIVERGED_BREAKDOWN;
      k           = accepted;
      break;
    }
    if (!again && (accepted <= k || (svd->reason < 0 && svd->reason != SVD_DIVERGED_BREAKDOWN) || svd->conv == SVD_CONV_MAXIT)) {
      if (svd->reason > 0 && accepted < (threshold ? k + p : want)) svd->reason = SVD_DIVERGED_BREAKDOWN;
      k = accepted;
      break;
    }
    found = k + p;
    k     = accepted;
    if (threshold && svd->nsv && k >= svd->nsv) { /* those above one that does not meet the tolerance are not the next ones */
      PetscInt n = k;

      for (PetscInt i = k; i < found; i++) {
        while (n && ctx->projected.S[n - 1] > ctx->projected.S[i]) n--;
      }
      if (n >= svd->nsv) {
        k = n;
        break;
      }
    }
    if (threshold && k == s->N) break;
    if (threshold || k < Wanted(svd, k)) s->known = PETSC_DECIDE;
    if (svd->reason == SVD_DIVERGED_BREAKDOWN && k >= want) svd->reason = SVD_CONVERGED_TOL;
  }
  *nvalues = k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------ small matrices */
/* This process's part of the columns of an array of all rows */
static PetscErrorCode ToBV(BV V, PetscInt k, PetscInt ld, const PetscScalar a[])
{
  PetscFunctionBegin;
  for (PetscInt c = 0; c < k; c++) {
    PetscScalar *x;
    PetscInt     first, last;
    Vec          v;

    PetscCall(BVGetColumn(V, c, &v));
    PetscCall(VecGetOwnershipRange(v, &first, &last));
    PetscCall(VecGetArrayWrite(v, &x));
    PetscCall(PetscArraycpy(x, a + first + (PetscCount)c * ld, last - first));
    PetscCall(VecRestoreArrayWrite(v, &x));
    PetscCall(BVRestoreColumn(V, c, &v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The number of values to skip, from the smallest on, and to return after these, from all values in decreasing order and scaled */
static void Select(SVD svd, PetscInt n, const PetscReal S[], PetscInt *skip, PetscInt *k)
{
  SVD_BLOCKLANCZOS     *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s   = &ctx->smallest;

  for (s->zeros = 0; s->zeros < n && S[n - 1 - s->zeros] <= s->tau * s->scale;) s->zeros++;
  *skip = ctx->settings.nonzero >= 0.0 ? s->zeros : 0;
  *k    = svd->nsv;
  if (svd->stop == SVD_STOP_THRESHOLD) {
    for (*k = 0; *skip + *k < n && S[n - 1 - *skip - *k] < svd->thres * s->scale;) (*k)++;
    if (svd->nsv) *k = PetscMin(*k, svd->nsv);
  }
  *k = PetscMin(*k, n - *skip);
}

/* All singular values of a dense copy of A, by LAPACK, and the triplets that are wanted */
static PetscErrorCode Direct(SVD svd, PetscInt *nvalues)
{
  SVD_BLOCKLANCZOS     *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s   = &ctx->smallest;
  PetscInt              m, n, nrows, skip, k, npass;
  const PetscInt       *ai, *aj;
  const PetscScalar    *aa;
  PetscScalar          *Q, *R, *P, *H, *tau, *U, *work;
  PetscReal            *S;
  PetscBLASInt          bm, bn, bk, lwork, info = 0;
  PetscBool             done;

  PetscFunctionBegin;
  PetscCall(MatGetSize(s->T, &m, &n));
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast((PetscCount)64 * n, &lwork));
  PetscCall(PetscCalloc1((size_t)m * n, &Q));
  PetscCall(PetscMalloc6((size_t)n * n, &R, (size_t)n * n, &P, (size_t)n * n, &H, n, &tau, n, &S, lwork, &work));
  PetscCall(MatGetRowIJ(s->T, 0, PETSC_FALSE, PETSC_FALSE, &nrows, &ai, &aj, &done));
  PetscCall(MatSeqAIJGetArrayRead(s->T, &aa));
  for (PetscInt i = 0; i < m; i++)
    for (PetscInt l = ai[i]; l < ai[i + 1]; l++) Q[i + (PetscCount)aj[l] * m] += s->scale * aa[l];
  PetscCall(MatSeqAIJRestoreArrayRead(s->T, &aa));
  PetscCall(MatRestoreRowIJ(s->T, 0, PETSC_FALSE, PETSC_FALSE, &nrows, &ai, &aj, &done));
  PetscCallBLAS("LAPACKgeqrf", LAPACKgeqrf_(&bm, &bn, Q, &bm, tau, work, &lwork, &info));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK geqrf failed with info = %" PetscBLASInt_FMT, info);
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt i = 0; i < n; i++) R[i + (PetscCount)j * n] = i <= j ? Q[i + (PetscCount)j * m] : 0.0;
  PetscCall(SmallSVD(n, n, R, n, S, P, n, H, n));
  s->sigma1 = S[0];
  s->tau    = ctx->settings.nonzero > 0.0 ? ctx->settings.nonzero : PetscMax(m, 10) * PETSC_MACHINE_EPSILON * S[0] / s->scale;
  Select(svd, n, S, &skip, &k);
  s->exact = PETSC_TRUE;
  /* the triplets, from the smallest on */
  PetscCall(EnsureRoom(svd, k));
  PetscCall(SVDBlockLanczosAllocateLeft(svd, PetscMax(k, 1)));
  PetscCall(PetscBLASIntCast(k, &bk));
  PetscCall(PetscCalloc1((size_t)m * k, &U));
  for (PetscInt c = 0; c < k; c++) {
    const PetscInt j = n - 1 - skip - c;

    ctx->projected.S[c] = S[j];
    PetscCall(PetscArraycpy(U + (PetscCount)c * m, P + (PetscCount)j * n, n));
    for (PetscInt i = 0; i < n; i++) R[i + (PetscCount)c * n] = PetscConj(H[j + (PetscCount)i * n]);
  }
  if (k) PetscCallBLAS("LAPACKormqr", LAPACKormqr_("L", "N", &bm, &bk, &bn, Q, &bm, tau, U, &bm, work, &lwork, &info));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK ormqr failed with info = %" PetscBLASInt_FMT, info);
  PetscCall(ToBV(svd->V, k, n, R));
  PetscCall(ToBV(ctx->krylov.U, k, m, U));
  PetscCall(SVDBlockLanczosFinish(svd, k, &npass));
  /* what is left is known: the next value, and that it is no zero that was skipped */
  s->bound  = skip + k < n ? S[n - 1 - skip - k] - BLOCKLANCZOS_NOISE * S[0] : 2 * s->norm;
  s->known  = s->bound > 0.0 ? skip : PETSC_DECIDE;
  s->chance = 0.0;
  s->proved = PETSC_TRUE;
  if (s->known >= 0) s->known += CountBelow(svd, k);
  PetscCall(PetscFree6(R, P, H, tau, S, work));
  PetscCall(PetscFree(Q));
  PetscCall(PetscFree(U));
  *nvalues = k;
  svd->its++;
  svd->reason = svd->conv == SVD_CONV_MAXIT ? SVD_CONVERGED_MAXIT : SVD_CONVERGED_TOL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------ the solve */
/* Counts the values that are zero and, if they are not wanted, moves them behind the others */
static PetscErrorCode SortZeros(SVD svd, PetscInt *k)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscInt         *order;

  PetscFunctionBegin;
  ctx->smallest.zeros = CountZeros(svd, *k);
  if (ctx->settings.nonzero < 0.0 || !ctx->smallest.zeros) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(*k, &order));
  for (PetscInt i = 0; i < *k; i++) order[i] = (i + ctx->smallest.zeros) % *k; /* they are in increasing order */
  PetscCall(Permute(svd, *k, order));
  PetscCall(PetscFree(order));
  *k -= ctx->smallest.zeros;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solve with B */
static PetscErrorCode Transformed(SVD svd, PetscInt *nvalues)
{
  SVD_BLOCKLANCZOS     *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s      = &ctx->smallest;
  PetscReal             norm   = 0.0, bound;
  PetscBool             proved = PETSC_TRUE;
  PetscInt              M, N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(svd->OP, &M, &N));
  if (s->inverts || s->most < PETSC_MAX_REAL) PetscCall(EstimateNorm(svd, &norm, NULL, NULL)); /* otherwise with a bound, below */
  if (!s->inverts) {
    bound = s->most;
    if (!(bound <= CLOSE * norm)) PetscCall(EstimateNorm(svd, &norm, &bound, &proved));
    if (norm > 0.0) s->scale = ctx->krylov.scale = SVDBlockLanczosPowerOfTwo(norm);
    s->norm   = norm > 0.0 ? bound * s->scale : 1.0;
    s->strict = 1.0;
    SVDBlockLanczosChooseFilter(svd, svd->stop == SVD_STOP_THRESHOLD ? svd->thres * s->scale : s->norm * FIRST_VALUE, s->norm);
  }
  s->sigma1 = norm * s->scale;
  s->zero   = PetscMax(PetscMax(M, N), 10) * PETSC_MACHINE_EPSILON * norm;
  s->tau    = ctx->settings.nonzero > 0.0 ? ctx->settings.nonzero : s->zero;
  if (svd->stop == SVD_STOP_THRESHOLD) {
    PetscBool lowered = PETSC_TRUE;

    while (s->inverts && lowered && s->shift > svd->thres * s->scale) PetscCall(SVDBlockLanczosSharpen(svd, 0.0, &lowered));
  }
  PetscCall(Rounds(svd, nvalues));
  if (s->later && (svd->reason != SVD_DIVERGED_ITS || ctx->settings.auto_max_it) && (svd->reason <= 0 || (s->known < 0 && ctx->settings.certify != 0.0))) {
    PetscCall(SVDBlockLanczosFactorLater(svd));
    if (s->inverts || s->other < 0.0) {
      s->sigma1 = norm * s->scale;
      s->known  = PETSC_DECIDE;
      PetscCall(Rounds(svd, nvalues));
    }
  }
  if (s->inverts) proved = PETSC_TRUE; /* the bound of the norm was not used */
  if (*nvalues == s->N) {
    s->bound  = 2 * s->norm;
    s->known  = *nvalues;
    s->chance = 0.0;
    s->proved = PETSC_TRUE;
  }
  if (s->known != CountBelow(svd, *nvalues)) s->known = PETSC_DECIDE; /* the bound cuts through values that are equal but for rounding */
  s->exact = (PetscBool)(s->known >= CountZeros(svd, *nvalues) && s->tau * s->scale < s->bound && svd->reason > 0);
  for (PetscInt i = 0; i < *nvalues; i++) { /* rounding may have decided */
    if (PetscAbsReal(ctx->projected.S[i] - s->tau * s->scale) <= ctx->projected.res[i]) s->exact = PETSC_FALSE;
  }
  PetscCall(SortZeros(svd, nvalues));
  s->proved = (PetscBool)(s->proved && proved);
  PetscCall(SVDBlockLanczosRemove(svd, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says why values are missing, and what helps */
static PetscErrorCode Advise(SVD svd)
{
  const BlockLanczosSmallest *s        = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;
  char                        why[256] = "";

  PetscFunctionBegin;
  if (s->zeros > MOST_ZEROS) PetscCall(PetscSNPrintf(why, sizeof(why), "at least %" PetscInt_FMT " are at most %g and count as zero; -svd_blocklanczos_nonzero skips up to %d", s->zeros, (double)s->tau, MOST_ZEROS));
  else if (!s->inverts)
    PetscCall(PetscSNPrintf(why, sizeof(why), "the filter separates values above some %g; more iterations (-svd_max_it), or a factorization (-svd_blocklanczos_pc_type cholesky -svd_blocklanczos_pc_factor_mat_solver_type mumps), may find them",
                            (double)(PetscSqrtReal(s->low) / s->scale)));
  if (why[0]) PetscCall(PetscFPrintf(PetscObjectComm((PetscObject)svd), PETSC_STDERR, "Warning: blocklanczos did not find all of the smallest values: %s\n", why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SVDBlockLanczosSolveSmallest(SVD svd)
{
  SVD_BLOCKLANCZOS     *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s   = &ctx->smallest;
  PetscInt              k   = 0;

  PetscFunctionBegin;
  ctx->krylov.scale  = s->scale;
  ctx->krylov.wready = ctx->krylov.zready = PETSC_FALSE;
  s->zeros                                = 0;
  s->known                                = PETSC_DECIDE;
  s->exact = s->loose = PETSC_FALSE;
  SVDBlockLanczosCertificateForget(svd);
  if (!s->direct) PetscCall(Transformed(svd, &k));
  /* for small matrices LAPACK knows what B does not resolve: null spaces, and values that decay to rounding */
  if (s->small && !s->direct && (svd->reason != SVD_DIVERGED_ITS || ctx->settings.auto_max_it) && (svd->reason <= 0 || (s->known < 0 && ctx->settings.certify != 0.0))) s->direct = PETSC_TRUE;
  if (s->direct) PetscCall(Direct(svd, &k));
  if (s->known >= 0 && ctx->settings.certify != 0.0 && svd->reason > 0) ctx->certificate = (BlockLanczosCertificate){s->known, s->bound / s->scale, s->chance, s->proved};
  PetscCall(SVDBlockLanczosResetProducts(svd));
  svd->nconv = k;
  PetscCall(PetscInfo(svd, "%s %" PetscInt_FMT " values are at most %g and count as zero\n", s->exact ? "exactly" : "at least", s->zeros, (double)s->tau));
  if (svd->reason == SVD_CONVERGED_TOL && ctx->settings.certify != 0.0 && ctx->certificate.n < 0 && s->zeros < k)
    PetscCall(PetscFPrintf(PetscObjectComm((PetscObject)svd), PETSC_STDERR,
                           "Warning: blocklanczos could not certify that it missed no singular value below the largest of the %" PetscInt_FMT " found, %g, because of rounding or of values close to it\n", k, (double)svd->sigma[k - 1]));
  if (svd->reason < 0 && !s->direct) PetscCall(Advise(svd));
  if (!ctx->settings.left) PetscCall(SVDBlockLanczosComputeLeftLater(svd, s->sigma1 / s->scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}
