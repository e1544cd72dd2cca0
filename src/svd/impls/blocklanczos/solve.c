/* The order of events in a solve */
#include "blocklanczos.h"

/* How often at most a solve is continued because true residuals do not meet the tolerance although the estimated ones do */
#define MAX_SWITCHES 6
/* Wider blocks than this cost more than they save */
#define MAX_WIDTH 32
/* The least width of the guard's block */
#define GUARD_WIDTH 2

/* Norms of the first product's columns outside this range make the squares of squares overflow or vanish */
static inline PetscReal LargeNorm(void)
{
  return PetscPowReal(PETSC_MAX_REAL, (PetscReal)0.2);
}

/* The power of two that brings a norm close to one, as far as it and its inverse are numbers */
static PetscReal ScaleFor(PetscReal norm)
{
  const PetscReal most = PetscPowReal(2, PetscFloorReal(PetscLog2Real(PETSC_MAX_REAL)) - 24);

  return norm > 1 / most ? PetscPowReal(2, -PetscFloorReal(PetscLog2Real(PetscMin(norm, PETSC_MAX_REAL)))) : most;
}

/* The largest norm of the columns of the product with X, into W; infinite or NaN if a square is */
static PetscErrorCode FirstProduct(SVD svd, PetscReal *norm)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    w   = ctx->krylov.w;
  PetscScalar      *G;

  PetscFunctionBegin;
  *norm = 0.0;
  PetscCall(SVDBlockLanczosForward(svd, ctx->krylov.X, ctx->krylov.W, w));
  PetscCall(PetscMalloc1(w * w, &G));
  PetscCall(BlockDot(&ctx->blocks, ctx->krylov.W, 0, w, ctx->krylov.W, 0, w, G, w));
  for (PetscInt j = 0; j < w * w; j++) {
    if (PetscIsInfOrNanScalar(G[j])) *norm = (PetscReal)INFINITY; /* PETSC_INFINITY is a number */
  }
  for (PetscInt j = 0; j < w; j++) *norm = PetscMax(*norm, PetscSqrtReal(PetscRealPart(G[j + j * w])));
  PetscCall(PetscFree(G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The squares of all entries in the iteration must neither overflow nor vanish. So matrices of an extreme norm are multiplied by a factor
  in every product. The first product, which tells the norm, is also used in the first step; where its squares cannot be told, the
  product with an extreme factor can.
*/
static PetscErrorCode ChooseScale(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscReal         norm;

  PetscFunctionBegin;
  ctx->krylov.scale = 1.0;
  PetscCall(FirstProduct(svd, &norm));
  if (!(norm <= LargeNorm()) || norm < 1 / LargeNorm()) {
    if (norm == 0.0 || PetscIsInfReal(norm)) {
      ctx->krylov.scale = norm == 0.0 ? ScaleFor(0.0) : 1 / ScaleFor(0.0);
      PetscCall(FirstProduct(svd, &norm));
      PetscCheck(!PetscIsInfOrNanReal(norm), PetscObjectComm((PetscObject)svd), PETSC_ERR_FP, "The matrix is not finite: a product with it has entries that are Inf or NaN");
    }
    ctx->krylov.scale = norm > 0.0 ? ScaleFor(norm / ctx->krylov.scale) : 1.0;
    PetscCall(PetscInfo(svd, "the matrix is multiplied by %g in every product\n", (double)ctx->krylov.scale));
    PetscCall(SVDBlockLanczosForward(svd, ctx->krylov.X, ctx->krylov.W, ctx->krylov.w));
  }
  ctx->krylov.wready = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The seed is that of the random context of svd->V or svd->U if the user has set one, otherwise always the same */
static PetscErrorCode Seed(SVD svd)
{
  PetscRandom rand = svd->V->rand ? svd->V->rand : (svd->U ? svd->U->rand : NULL);
  PetscInt64  seed = 0;

  PetscFunctionBegin;
  if (rand) {
    PetscCall(PetscRandomGetSeed(rand, &seed));
    /* PETSc's default seed differs from process to process */
    PetscCallMPI(MPI_Bcast(&seed, 1, MPIU_INT64, 0, PetscObjectComm((PetscObject)svd)));
  }
  BlockSetSeed(&((SVD_BLOCKLANCZOS *)svd->data)->blocks, seed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first block: the user's vectors, or random combinations of them if there are more than fit, filled up with random vectors */
static PetscErrorCode Start(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    w = ctx->krylov.bs, nini = PetscMax(svd->nini, 0), given = PetscMin(nini, w);
  PetscScalar      *R;
  PetscReal         norm = 0.0;

  PetscFunctionBegin;
  ctx->krylov.k = ctx->krylov.c0 = ctx->krylov.nlock = 0;
  ctx->krylov.anorm                                  = 0.0;
  ctx->krylov.wready = ctx->krylov.zready = ctx->projected.solved = PETSC_FALSE;
  PetscCall(PetscMalloc1(PetscMax(nini, w) * w, &R));
  if (nini) { /* which may be vectors that the matrix makes small */
    ctx->krylov.w = w;
    PetscCall(BlockFillRandom(&ctx->blocks, ctx->krylov.X, 0, w));
    PetscCall(ChooseScale(svd));
    ctx->krylov.wready = PETSC_FALSE;
  }
  if (nini > w) {
    BlockRandomSmall(&ctx->blocks, nini * w, R);
    PetscCall(BlockMult(&ctx->blocks, ctx->krylov.X, 0, w, 0.0, 1.0, svd->V, 0, nini, R, nini));
  } else PetscCall(BlockCopy(&ctx->blocks, svd->V, 0, nini, ctx->krylov.X, 0));
  SVDBlockLanczosCertificateForget(svd);
  PetscCall(BlockFillRandom(&ctx->blocks, ctx->krylov.X, given, w));
  PetscCall(SVDBlockLanczosOrthonormalize(svd, NULL, 0, ctx->krylov.X, w, ctx->krylov.n, &norm, R, w, NULL, 0, &ctx->krylov.w));
  PetscCall(SVDBlockLanczosHistoryBegin(svd, given, w, R, w));
  PetscCall(PetscFree(R));
  PetscCall(SVDBlockLanczosOmegaBegin(svd, (PetscBool)(ctx->settings.shortsteps && !ctx->krylov.twosided)));
  if (!nini) PetscCall(ChooseScale(svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  How many columns are kept at a restart: about the part asked for, at least a block more than are wanted or have converged, and so many that
  the rest holds whole blocks: four at least, or as many as half of a small basis holds.
*/
static PetscInt RestartSize(SVD svd, PetscInt nconv, PetscInt kmax)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    w = ctx->krylov.w, l = ctx->krylov.nlock, active = kmax - l;
  PetscInt          p = l + (PetscInt)(ctx->settings.keep * active);

  p = PetscMax(p, PetscMax(nconv, svd->stop == SVD_STOP_THRESHOLD ? 0 : svd->nsv) + w);
  p = PetscMin(p, kmax - PetscMin(4 * w, active / 2));
  p = PetscMax(p, PetscMax(nconv, l) + 1);
  p = kmax - PetscMax((kmax - p + w / 2) / w, 1) * w;
  p = PetscMax(p, l + 1);
  return PetscMin(p, ctx->krylov.k);
}

/* Values below this times sigma_1 are not resolved by A^H A, whose rounding is eps sigma_1^2 / sigma, compared with tol sigma */
static PetscReal SmallestRatio(SVD svd)
{
  return PetscMax((PetscReal)1e-3, PetscSqrtReal(100 * PETSC_MACHINE_EPSILON / svd->tol));
}

static inline PetscBool MaySwitch(const SVD_BLOCKLANCZOS *ctx)
{
  return (PetscBool)(ctx->settings.form == SVD_BLOCKLANCZOS_FORM_AUTO && ctx->settings.left && !ctx->krylov.twosided);
}

/* The two-sided process takes over from the leading p Ritz vectors */
static PetscErrorCode SwitchForm(SVD svd, PetscInt p)
{
  PetscInt npass;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosSolveProjected(svd));
  PetscCall(SVDBlockLanczosTruncate(svd, p));
  PetscCall(SVDBlockLanczosFinish(svd, p, &npass));
  PetscCall(SVDBlockLanczosContinueTwoSided(svd, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A larger basis; what it holds stays */
static PetscErrorCode Enlarge(SVD svd, PetscInt ncv, PetscInt bs)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    old = svd->ncv;

  PetscFunctionBegin;
  if (ncv > old) {
    if (svd->mpd == old) svd->mpd = ncv;
    if (ctx->settings.auto_ncv == old) ctx->settings.auto_ncv = ncv;
    if (ctx->settings.auto_mpd == old) ctx->settings.auto_mpd = ncv;
    svd->ncv = ncv;
    PetscCall(SVDReallocateSolution(svd, ncv + 1));
    for (PetscInt i = old; i < ncv; i++) svd->perm[i] = i;
  }
  PetscCall(SVDBlockLanczosAllocate(svd, svd->ncv, bs));
  if (ctx->krylov.twosided) PetscCall(SVDBlockLanczosAllocateLeft(svd, svd->ncv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With a threshold the number of values is not known beforehand: makes more room in good time. The projected problem stays solved. */
static PetscErrorCode EnsureRoom(SVD svd, PetscInt nconv)
{
  SVD_BLOCKLANCZOS *ctx  = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    need = PetscMin(ctx->krylov.n, nconv + 8 * ctx->krylov.bs);

  PetscFunctionBegin;
  if (svd->stop != SVD_STOP_THRESHOLD || need <= svd->ncv) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Enlarge(svd, PetscMin(ctx->krylov.n, 2 * need), ctx->krylov.bs));
  PetscCall(SVDBlockLanczosSolveProjected(svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  If there are as many equal values among the wanted as a block has columns, there may be more: the guard's block, and all blocks after
  it, become twice as wide, up to MAX_WIDTH columns or a quarter of the values wanted. A block size that the user gave stays, but for single
  vectors: the chance that a normal number is small asks for bounds below rounding.
*/
static PetscErrorCode WidenForCopies(SVD svd, PetscInt nw)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  PetscInt          equal = 1, bs, ncv;

  PetscFunctionBegin;
  if (ctx->settings.bs != PETSC_DETERMINE) {
    if (ctx->krylov.bs < GUARD_WIDTH && GUARD_WIDTH <= PetscMin(PetscMin(svd->ncv - nw, svd->mpd) / 4, ctx->krylov.n - nw)) {
      PetscCall(Enlarge(svd, svd->ncv, GUARD_WIDTH));
      PetscCall(SVDBlockLanczosSolveProjected(svd));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt i = 1, run = 1; i < nw; i++) {
    run   = svd->sigma[i - 1] - svd->sigma[i] <= 1e-6 * svd->sigma[i] ? run + 1 : 1;
    equal = PetscMax(equal, run);
  }
  if (equal < PetscMax(ctx->krylov.bs, 2)) PetscFunctionReturn(PETSC_SUCCESS);
  bs = PetscMin(PetscMin(2 * ctx->krylov.bs, PetscMin(nw / 4, MAX_WIDTH)), ctx->krylov.n - nw);
  if (!bs) PetscFunctionReturn(PETSC_SUCCESS);
  ncv = PetscMin(ctx->krylov.n, SVDBlockLanczosBasisSize(svd->nsv, bs));
  if (ctx->settings.auto_ncv != svd->ncv) { /* the user's */
    ncv = svd->ncv;
    bs  = PetscMin(bs, (ncv - nw) / 4);
  }
  if (svd->mpd < svd->ncv) bs = PetscMin(bs, svd->mpd / 4);
  if (bs <= ctx->krylov.bs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(svd, "%" PetscInt_FMT " equal values with blocks of %" PetscInt_FMT ": blocks of %" PetscInt_FMT " from here on\n", equal, ctx->krylov.bs, bs));
  PetscCall(Enlarge(svd, ncv, bs));
  PetscCall(SVDBlockLanczosSolveProjected(svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  When to check convergence within a cycle. Two checks give the factor by which the worst error of the wanted triplets falls in a step.
  Since it falls faster and faster, this gives a step before which the next check is not due. A check costs the solution of a projected
  problem; without any, half a cycle of steps would be wasted on average.
*/
typedef struct {
  PetscInt  wanted; /* number of values wanted; 0: check at the ends of cycles only */
  PetscInt  step;   /* step of the last check, and its error */
  PetscReal error;
  PetscInt  next;
} ConvergenceCheck;

static PetscErrorCode ScheduleCheck(SVD svd, ConvergenceCheck *check)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  PetscReal         error = 0.0;

  PetscFunctionBegin;
  if (!check->wanted || ctx->krylov.k < check->wanted) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < check->wanted; i++) error = PetscMax(error, svd->errest[i]);
  check->next = PETSC_INT_MAX;
  if (error >= svd->tol && check->error > error && ctx->counts.steps > check->step) {
    const PetscReal left = PetscLogReal(error / svd->tol) * (ctx->counts.steps - check->step) / PetscLogReal(check->error / error);

    if (left < 1000) check->next = ctx->counts.steps + PetscMax(1, (PetscInt)PetscCeilReal((PetscReal)0.6 * left));
  } else if (check->error == 0.0) check->next = ctx->counts.steps + PetscMax(2, ctx->counts.steps / 3);
  PetscCall(PetscInfo(svd, "convergence check after step %" PetscInt_FMT " at %" PetscInt_FMT " columns: error %.1e of %" PetscInt_FMT " triplets\n", ctx->counts.steps, ctx->krylov.k, (double)error, check->wanted));
  check->error = error;
  check->step  = ctx->counts.steps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves the projected problem and counts converged triplets, while a device makes what a restart or the next step will need */
static PetscErrorCode CountConverged(SVD svd, PetscInt *nconv)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  if (ctx->blocks.ops && ctx->blocks.ops->concurrent) {
    PetscCall(SVDBlockLanczosStartProducts(svd));
    PetscCall(SVDBlockLanczosGramBegin(svd));
  }
  PetscCall(SVDBlockLanczosSolveProjected(svd));
  *nconv = SVDBlockLanczosCountConverged(svd);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Locked triplets are those that converged first, which need not be the largest. When they leave no room for four blocks, the whole
  problem is solved, so that a restart keeps the largest.
*/
static PetscErrorCode UnlockIfFull(SVD svd, PetscInt *nconv, PetscInt *nlocked)
{
  SVD_BLOCKLANCZOS *ctx  = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    room = svd->ncv - 4 * ctx->krylov.w, most = svd->stop == SVD_STOP_THRESHOLD ? room : PetscMin(room, svd->nsv);

  PetscFunctionBegin;
  *nlocked = ctx->krylov.nlock;
  if (!ctx->krylov.nlock || ctx->krylov.nlock <= most) PetscFunctionReturn(PETSC_SUCCESS);
  ctx->krylov.nlock     = 0;
  ctx->projected.solved = PETSC_FALSE;
  PetscCall(SVDBlockLanczosSolveProjected(svd));
  *nconv   = SVDBlockLanczosCountConverged(svd);
  *nlocked = ctx->projected.nlockable;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cycles of steps and restarts until SLEPc's stopping test says stop */
static PetscErrorCode Iterate(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  ConvergenceCheck  check = {0};
  PetscInt          nconv, nlocked; /* how many are locked, also after the restart that is to come */

  PetscFunctionBegin;
  if (svd->stop != SVD_STOP_THRESHOLD && svd->conv != SVD_CONV_MAXIT) {
    check.wanted = PetscMin(svd->nsv, ctx->krylov.n);
    /* the first check is early if the user's vectors may be the solution, otherwise when the basis is half full */
    if (ctx->counts.steps) check.next = PETSC_INT_MAX;
    else if (svd->nini) check.next = 2;
    else check.next = (PetscMax(check.wanted + ctx->krylov.w, PetscMin(svd->mpd, svd->ncv) / 2) + ctx->krylov.w - 1) / ctx->krylov.w;
  }
  while (svd->reason == SVD_CONVERGED_ITERATING) {
    const PetscInt kmax = PetscMin(ctx->krylov.nlock + svd->mpd, svd->ncv);

    svd->its++;
    while (ctx->krylov.w && ctx->krylov.k + ctx->krylov.w <= kmax) {
      PetscCall(SVDBlockLanczosStep(svd));
      if (check.wanted && ctx->counts.steps >= check.next && ctx->krylov.k >= check.wanted) {
        PetscCall(CountConverged(svd, &nconv));
        if (nconv >= check.wanted) break;
        PetscCall(ScheduleCheck(svd, &check));
      }
    }
    PetscCall(CountConverged(svd, &nconv));
    if (!ctx->krylov.w) nconv = ctx->krylov.k; /* the basis spans the space: nothing can be added */
    if (svd->conv == SVD_CONV_MAXIT && svd->its >= svd->max_it) nconv = PetscMin(svd->nsv, ctx->krylov.k);
    SVDSetCtxThreshold(svd, svd->sigma, svd->errest, nconv, ctx->krylov.k);
    PetscCall((*svd->stopping)(svd, svd->its, svd->max_it, nconv, svd->nsv, &svd->reason, svd->stoppingctx));
    svd->nconv = nconv;
    PetscCall(SVDMonitor(svd, svd->its, svd->nconv, svd->sigma, svd->errest, ctx->krylov.k));
    if (svd->reason != SVD_CONVERGED_ITERATING) break;
    if (!ctx->krylov.w) {
      /* a threshold's test would wait for another iteration, a fixed number of iterations is not reached: nothing would change */
      if (svd->conv == SVD_CONV_MAXIT) continue;
      svd->reason = SVD_CONVERGED_TOL;
      break;
    }
    PetscCall(ScheduleCheck(svd, &check));
    PetscCall(EnsureRoom(svd, PetscMax(nconv, ctx->krylov.nlock)));
    PetscCall(UnlockIfFull(svd, &nconv, &nlocked));
    if (MaySwitch(ctx) && svd->its >= 2 && check.wanted && ctx->krylov.k >= check.wanted && svd->sigma[check.wanted - 1] < SmallestRatio(svd) * svd->sigma[0]) {
      PetscCall(SwitchForm(svd, PetscMax(RestartSize(svd, nconv, PetscMin(svd->ncv, svd->mpd)), check.wanted)));
      check.error = 0.0;
      check.next  = PETSC_INT_MAX;
    } else {
      PetscCall(SVDBlockLanczosTruncate(svd, RestartSize(svd, nconv, PetscMin(nlocked + svd->mpd, svd->ncv))));
      if (svd->mpd < svd->ncv) ctx->krylov.nlock = PetscMin(ctx->projected.nlockable, ctx->krylov.k - 1);
    }
    ctx->counts.restarts++;
  }
  /* from here on the largest values come first, whichever were locked */
  if (ctx->krylov.nlock) {
    ctx->krylov.nlock     = 0;
    ctx->projected.solved = PETSC_FALSE;
    PetscCall(SVDBlockLanczosSolveProjected(svd));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many triplets are to be returned, and the value above which no singular value may be missing */
static PetscErrorCode Wanted(SVD svd, PetscInt *nw, PetscReal *level)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  *nw    = svd->nconv;
  *level = 0.0;
  if (svd->reason == SVD_CONVERGED_TOL) {
    if (svd->nsv) *nw = PetscMin(*nw, svd->nsv);
    if (*nw) *level = svd->sigma[*nw - 1];
    if (svd->stop == SVD_STOP_THRESHOLD) {
      PetscReal threshold;
      PetscBool relative;
      PetscInt  above = 0;

      PetscCall(SVDGetThreshold(svd, &threshold, &relative));
      if (relative) threshold *= svd->sigma[0];
      while (above < *nw && svd->sigma[above] >= threshold) above++;
      if (above < *nw || !svd->nsv) *level = threshold;
      *nw = above;
    }
  } else if (svd->reason == SVD_CONVERGED_MAXIT) *nw = PetscMin(svd->nsv, ctx->krylov.k);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether it is certain, down to the gap that the user asks for, that there are no more values above the smallest of the leading nw */
static PetscBool Certain(SVD svd, PetscInt nw, PetscReal level)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  return (PetscBool)(ctx->certificate.n >= 0 && ctx->certificate.n <= nw && ctx->certificate.bound <= PetscMax(level * (1 + ctx->settings.certify), SVDBlockLanczosFloor(svd)) * (1 + svd->tol));
}

PetscErrorCode SVDSolve_BlockLanczos(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscInt          nw, npass = 0;
  PetscReal         level;
  PetscBool         found, complete, more;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&ctx->counts, 1));

  ctx->krylov.twosided = (PetscBool)(ctx->settings.form == SVD_BLOCKLANCZOS_FORM_TWOSIDED);
  PetscCall(SVDBlockLanczosResetProducts(svd));
  PetscCall(Seed(svd));
  if (ctx->krylov.twosided) PetscCall(SVDBlockLanczosAllocateLeft(svd, svd->ncv));
  PetscCall(Start(svd));

  while (PETSC_TRUE) {
    PetscBool guard = PETSC_FALSE;

    PetscCall(Iterate(svd));
    PetscCall(Wanted(svd, &nw, &level));
    complete = (PetscBool)!ctx->krylov.w;
    PetscCall(SVDBlockLanczosSolveProjected(svd));
    if (nw && MaySwitch(ctx) && svd->reason > 0 && svd->reason != SVD_CONVERGED_MAXIT && svd->sigma[nw - 1] < SmallestRatio(svd) * svd->sigma[0]) {
      const PetscInt p = complete ? ctx->krylov.k : PetscMin(ctx->krylov.k, PetscMax(nw, RestartSize(svd, nw, PetscMin(svd->ncv, svd->mpd))));

      PetscCall(SVDBlockLanczosTruncate(svd, p));
      PetscCall(SVDBlockLanczosFinish(svd, p, &npass));
      /* which values are above a threshold, A^H A may not have told */
      if (complete) svd->nconv = p;
      PetscCall(Wanted(svd, &nw, &level));
      PetscCall(SVDBlockLanczosContinueTwoSided(svd, npass < nw ? p : nw));
      if (npass < nw) {
        svd->reason = SVD_CONVERGED_ITERATING;
        continue;
      }
    }
    if (svd->reason == SVD_CONVERGED_TOL && !Certain(svd, nw, level)) {
      PetscCall(SVDBlockLanczosCertify(svd, nw, level, complete));
      guard = (PetscBool)(nw && ctx->settings.guard && !Certain(svd, nw, level));
    }
    if (!nw) break;
    if (guard) {
      PetscCall(EnsureRoom(svd, nw));
      PetscCall(WidenForCopies(svd, nw));
      PetscCall(SVDBlockLanczosGuard(svd, nw, level, &found));
      if (found) {
        svd->reason = SVD_CONVERGED_ITERATING;
        continue;
      }
    } else {
      PetscCall(SVDBlockLanczosSolveProjected(svd));
      PetscCall(SVDBlockLanczosTruncate(svd, nw));
    }
    PetscCall(SVDBlockLanczosFinish(svd, nw, &npass));
    more = (PetscBool)(ctx->settings.form != SVD_BLOCKLANCZOS_FORM_ATA && ctx->settings.left && svd->reason > 0 && svd->reason != SVD_CONVERGED_MAXIT && ctx->counts.switches < MAX_SWITCHES && svd->its < svd->max_it);
    if (npass >= nw || !more) break;
    PetscCall(PetscInfo(svd, "%" PetscInt_FMT " of %" PetscInt_FMT " triplets meet the tolerance by their true residuals\n", npass, nw));
    PetscCall(SVDBlockLanczosContinueTwoSided(svd, nw));
    svd->reason = SVD_CONVERGED_ITERATING;
  }
  PetscCall(SVDBlockLanczosResetProducts(svd));
  PetscCall(SVDBlockLanczosHistoryForget(svd));
  svd->nconv = nw;
  if (nw && svd->conv != SVD_CONV_MAXIT && npass < nw) {
    PetscCall(PetscInfo(svd, "only %" PetscInt_FMT " of %" PetscInt_FMT " triplets meet the tolerance by their true residuals%s\n", npass, nw,
                        ctx->settings.form == SVD_BLOCKLANCZOS_FORM_ATA || !ctx->settings.left ? "; the two-sided form, which stores left vectors, reaches further" : ""));
    svd->nconv = npass;
    if (svd->reason > 0) svd->reason = SVD_DIVERGED_BREAKDOWN;
  }
  if (!ctx->settings.left) PetscCall(SVDBlockLanczosComputeLeftLater(svd));
  if (svd->reason == SVD_CONVERGED_TOL && ctx->settings.guard && !Certain(svd, nw, level)) PetscCall(SVDBlockLanczosWarn(svd, nw, level));
  PetscFunctionReturn(PETSC_SUCCESS);
}
