/* The phases of a solve: iteration, guard, change of form, final check */
#include "blocklanczos.h"
#include "blockops/blockrandom.h"

/* The largest number of times that a solve is continued because true residuals do not meet the tolerance although the estimated ones do */
#define MAX_SWITCHES 6
/* The part of the basis that is kept at a restart */
#define KEPT ((PetscReal)0.4)
/* The largest width to which blocks are widened: wider ones cost more than they save */
#define MAX_WIDTH 32
/*
  As long as the process itself estimates nothing, residuals are reduced by steps of TIGHTER: down to LOOSE, and then down to TIGHTEST while the chance that it gives
  is below FALLING
*/
#define TIGHTER  ((PetscReal)0.1)
#define LOOSE    ((PetscReal)1e-8)
#define TIGHTEST ((PetscReal)1e-12)
#define FALLING  ((PetscReal)0.1)
/* Where a first block is made of many vectors of the user's: the random part, if an estimate is made, which is from that part alone, and otherwise */
#define PART_FOR_ESTIMATE ((PetscReal)0.1)
#define LEAST_PART        ((PetscReal)1e-3)
/* With a larger tolerance a solve from many vectors of the user's ends so early that a guard is cheaper than to go on for an estimate */
#define NO_ESTIMATE ((PetscReal)1e-5)

/* If the column norms of the first product are above LargeNorm() or below its inverse, squares of squares overflow or vanish */
static inline PetscReal LargeNorm(void)
{
  return PetscPowReal(PETSC_MAX_REAL, (PetscReal)0.2);
}

/* Computes W = A X and the largest norm of its columns, which is infinite or NaN if a square is */
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
    if (PetscIsInfOrNanScalar(G[j])) *norm = (PetscReal)INFINITY; /* PETSC_INFINITY is a finite number */
  }
  for (PetscInt j = 0; j < w; j++) *norm = PetscMax(*norm, PetscSqrtReal(PetscRealPart(G[j + j * w])));
  PetscCall(PetscFree(G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The squares of all entries in the iteration must neither overflow nor vanish. Matrices of extreme norm are therefore multiplied by a factor
  in every product. The factor comes from the norm of the first product, which the first step uses too. If the squares of this product
  overflow or vanish, it is made again with an extreme factor.
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
      ctx->krylov.scale = norm == 0.0 ? SVDBlockLanczosPowerOfTwo(0.0) : 1 / SVDBlockLanczosPowerOfTwo(0.0);
      PetscCall(FirstProduct(svd, &norm));
      PetscCheck(!PetscIsInfOrNanReal(norm), PetscObjectComm((PetscObject)svd), PETSC_ERR_FP, "The matrix is not finite: a product with it has entries that are Inf or NaN");
    }
    ctx->krylov.scale = norm > 0.0 ? SVDBlockLanczosPowerOfTwo(norm / ctx->krylov.scale) : 1.0;
    PetscCall(PetscInfo(svd, "the matrix is multiplied by %g in every product\n", (double)ctx->krylov.scale));
    PetscCall(SVDBlockLanczosForward(svd, ctx->krylov.X, ctx->krylov.W, ctx->krylov.w));
  }
  ctx->krylov.wready = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A hash of the bits of the user's vectors, which does not depend on the number of processes */
static PetscErrorCode HashInitialVectors(SVD svd, PetscInt64 *hash)
{
  unsigned long long sum = 0;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < svd->nini; j++) {
    const PetscScalar *a;
    PetscInt           first, last;
    Vec                v;

    PetscCall(BVGetColumn(svd->V, j, &v));
    PetscCall(VecGetOwnershipRange(v, &first, &last));
    PetscCall(VecGetArrayRead(v, &a));
    for (PetscInt i = 0; i < last - first; i++) {
      PetscInt64 bits[(sizeof(PetscScalar) + 7) / 8] = {0}, mixed = BlockRandomMix(first + i) ^ j;

      PetscCall(PetscMemcpy(bits, &a[i], sizeof(PetscScalar)));
      for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(bits); b++) mixed = BlockRandomMix(mixed ^ bits[b]);
      sum += (unsigned long long)mixed;
    }
    PetscCall(VecRestoreArrayRead(v, &a));
    PetscCall(BVRestoreColumn(svd->V, j, &v));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, PetscObjectComm((PetscObject)svd)));
  *hash = (PetscInt64)sum;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Sets the seed: that of the random context of svd->V or svd->U if the user has set one, otherwise always the same. The user's vectors, which may be
  the results of another solve, are hashed into it: otherwise they would not be independent of the blocks with which they were found.
*/
static PetscErrorCode Seed(SVD svd)
{
  PetscRandom rand = svd->V->rand ? svd->V->rand : (svd->U ? svd->U->rand : NULL);
  PetscInt64  seed = 0, hash = 0;

  PetscFunctionBegin;
  if (rand) {
    PetscCall(PetscRandomGetSeed(rand, &seed));
    /* PETSc's default seed differs from process to process */
    PetscCallMPI(MPI_Bcast(&seed, 1, MPIU_INT64, 0, PetscObjectComm((PetscObject)svd)));
  }
  if (svd->nini > 0) PetscCall(HashInitialVectors(svd, &hash));
  BlockSetSeed(&((SVD_BLOCKLANCZOS *)svd->data)->blocks, seed ^ hash);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The first block: the user's vectors, filled up with random ones. If there are as many vectors as columns, or more, each column is a random combination of all of
  them, plus a random vector. For the estimate the random vectors count alone, so the block is divided by their part: a normal number is small in most cases when
  its mean is zero (Anderson's inequality), whatever is added.
*/
static PetscErrorCode Start(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    w = ctx->krylov.bs, nini = PetscMax(svd->nini, 0), given = nini < w ? nini : 0;
  const PetscBool   estimate = (PetscBool)(ctx->settings.certify < 0.0 && (given == nini || svd->tol < NO_ESTIMATE));
  PetscScalar      *R;
  PetscReal         norm = 0.0;

  PetscFunctionBegin;
  ctx->krylov.k = ctx->krylov.c0 = ctx->krylov.nlock = 0;
  ctx->krylov.anorm                                  = 0.0;
  ctx->krylov.wready = ctx->krylov.zready = ctx->projected.solved = PETSC_FALSE;
  PetscCall(PetscMalloc1(PetscMax(nini, w) * w, &R));
  PetscCall(BlockCopy(&ctx->blocks, svd->V, 0, given, ctx->krylov.X, 0));
  PetscCall(BlockFillRandom(&ctx->blocks, ctx->krylov.X, given, w));
  if (given < nini) {
    BlockRandomSmall(&ctx->blocks, nini * w, R);
    PetscCall(BlockMult(&ctx->blocks, ctx->krylov.X, 0, w, 1.0, 1 / ((estimate ? PART_FOR_ESTIMATE : LEAST_PART) * PetscSqrtReal((PetscReal)nini)), svd->V, 0, nini, R, nini));
  }
  SVDBlockLanczosCertificateForget(svd);
  PetscCall(SVDBlockLanczosOrthonormalize(svd, NULL, 0, ctx->krylov.X, w, ctx->krylov.n, &norm, R, w, NULL, 0, &ctx->krylov.w));
  PetscCall(estimate ? SVDBlockLanczosHistoryBegin(svd, given, w, R, w) : SVDBlockLanczosHistoryForget(svd));
  PetscCall(PetscFree(R));
  PetscCall(SVDBlockLanczosOmegaBegin(svd, (PetscBool)(ctx->settings.shortsteps && !ctx->krylov.twosided)));
  PetscCall(ChooseScale(svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The number of columns that a restart keeps: about the part KEPT, at least one block more than are wanted or have converged.
  The rest, up to kmax columns, holds whole blocks, at least four of them, or for a small basis as many as half of it holds. The leading l columns
  will be locked.
*/
static PetscInt RestartSize(SVD svd, PetscInt l, PetscInt nconv, PetscInt kmax)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    w = ctx->krylov.w, active = kmax - l;
  PetscInt          p = l + (PetscInt)(KEPT * active);

  p = PetscMax(p, PetscMax(nconv, svd->stop == SVD_STOP_THRESHOLD ? 0 : svd->nsv) + w);
  p = PetscMin(p, kmax - PetscMin(4 * w, active / 2));
  p = PetscMax(p, PetscMax(nconv, l) + 1);
  p = kmax - PetscMax((kmax - p + w / 2) / w, 1) * w;
  p = PetscMax(p, PetscMax(nconv, l) + 1);
  return PetscMin(p, ctx->krylov.k);
}

/* A^H A does not resolve values below this times sigma_1: its rounding eps sigma_1^2 / sigma is compared with tol sigma */
static PetscReal SmallestRatio(SVD svd)
{
  return PetscMax((PetscReal)1e-3, PetscSqrtReal(100 * PETSC_MACHINE_EPSILON / svd->tol));
}

static inline PetscBool MaySwitch(const SVD_BLOCKLANCZOS *ctx)
{
  return (PetscBool)(ctx->settings.form == SVD_BLOCKLANCZOS_FORM_AUTO && ctx->settings.left && !ctx->krylov.twosided);
}

/* Unlocks all triplets: the leading Ritz values are then the largest */
static PetscErrorCode Unlock(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  if (ctx->krylov.nlock) ctx->projected.solved = PETSC_FALSE;
  ctx->krylov.nlock = 0;
  PetscCall(SVDBlockLanczosSolveProjected(svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Changes to the two-sided form, which continues from the leading p Ritz vectors */
static PetscErrorCode SwitchForm(SVD svd, PetscInt p)
{
  PetscInt npass;

  PetscFunctionBegin;
  PetscCall(Unlock(svd));
  PetscCall(SVDBlockLanczosTruncate(svd, p));
  PetscCall(SVDBlockLanczosFinish(svd, p, &npass));
  PetscCall(SVDBlockLanczosContinueTwoSided(svd, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With a threshold the number of values is not known in advance: makes room for more when needed. The projected problem stays solved. */
static PetscErrorCode EnsureRoom(SVD svd, PetscInt nconv)
{
  SVD_BLOCKLANCZOS *ctx  = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt64  need = PetscMin(ctx->krylov.n, nconv + 8 * (PetscInt64)ctx->krylov.bs);

  PetscFunctionBegin;
  if (svd->stop != SVD_STOP_THRESHOLD || need <= svd->ncv) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SVDBlockLanczosEnlarge(svd, (PetscInt)PetscMin(ctx->krylov.n, 2 * need), ctx->krylov.bs));
  PetscCall(SVDBlockLanczosSolveProjected(svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  If as many of the values wanted are equal as a block has columns, there may be more copies. The guard's block, and all blocks after it,
  then become twice as wide, up to MAX_WIDTH columns or a quarter of the values wanted. A block size that the user set is kept, except that
  single vectors become blocks of BLOCKLANCZOS_GUARD_WIDTH.
*/
static PetscErrorCode WidenForCopies(SVD svd, PetscInt nw)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  PetscInt          equal = 1, bs, ncv;

  PetscFunctionBegin;
  if (ctx->settings.bs != PETSC_DETERMINE) {
    if (ctx->krylov.bs < BLOCKLANCZOS_GUARD_WIDTH && BLOCKLANCZOS_GUARD_WIDTH <= PetscMin(PetscMin(svd->ncv - nw, svd->mpd) / 4, ctx->krylov.n - nw)) {
      PetscCall(SVDBlockLanczosEnlarge(svd, svd->ncv, BLOCKLANCZOS_GUARD_WIDTH));
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
  ncv = (PetscInt)PetscMin(ctx->krylov.n, SVDBlockLanczosBasisSize(svd->nsv, bs));
  if (ctx->settings.auto_ncv != svd->ncv) { /* the user has set ncv */
    ncv = svd->ncv;
    bs  = PetscMin(bs, (ncv - nw) / 4);
  }
  if (svd->mpd < svd->ncv) bs = PetscMin(bs, svd->mpd / 4);
  if (bs <= ctx->krylov.bs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(svd, "%" PetscInt_FMT " equal values with blocks of %" PetscInt_FMT ": blocks of %" PetscInt_FMT " from here on\n", equal, ctx->krylov.bs, bs));
  PetscCall(SVDBlockLanczosEnlarge(svd, ncv, bs));
  PetscCall(SVDBlockLanczosSolveProjected(svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  When to check convergence within a cycle. Two checks give the factor by which the worst error of the wanted triplets falls in a step,
  and from it the step of the next check; this is rarely too early, since errors fall faster and faster. A check costs the solution of a
  projected problem. Without checks, half a cycle of steps would be wasted on average.
*/
typedef struct {
  PetscInt  wanted; /* number of values wanted; 0: check at the ends of cycles only */
  PetscInt  step;   /* step of the last check, and its error */
  PetscReal error;
  PetscInt  next;
  PetscInt  every; /* at most so many steps to the next check */
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
  if (check->every) check->next = PetscMin(check->next, ctx->counts.steps + check->every);
  PetscCall(PetscInfo(svd, "convergence check after step %" PetscInt_FMT " at %" PetscInt_FMT " columns: error %.1e of %" PetscInt_FMT " triplets\n", ctx->counts.steps, ctx->krylov.k, (double)error, check->wanted));
  check->error = error;
  check->step  = ctx->counts.steps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves the projected problem and counts converged triplets; meanwhile a device computes what a restart or the next step needs */
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
  Moves the triplets that have converged to the front if they are locked. These are not always the largest. When they leave no room for four
  blocks, all are unlocked and the whole problem is solved, so that a restart keeps those that are wanted.
*/
static PetscErrorCode Lock(SVD svd, PetscInt *nconv, PetscInt *nlock)
{
  SVD_BLOCKLANCZOS *ctx  = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    room = svd->ncv - 4 * ctx->krylov.w, most = svd->stop == SVD_STOP_THRESHOLD ? room : PetscMin(room, svd->nsv);

  PetscFunctionBegin;
  *nlock = 0;
  if (svd->mpd == svd->ncv) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SVDBlockLanczosConvergedFirst(svd, most, nlock));
  if (*nlock <= most) PetscFunctionReturn(PETSC_SUCCESS);
  ctx->projected.solved = PETSC_FALSE; /* columns have been moved */
  PetscCall(Unlock(svd));
  *nconv = SVDBlockLanczosCountConverged(svd);
  PetscCall(SVDBlockLanczosConvergedFirst(svd, most, nlock));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cycles of steps and restarts, until SLEPc's stopping test ends the iteration; a tolerance `inner` below the user's is one that need not be reached */
static PetscErrorCode Iterate(SVD svd, PetscReal inner)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  ConvergenceCheck  check = {0};
  const PetscReal   tol   = svd->tol;
  PetscInt          nconv, nlock;

  PetscFunctionBegin;
  if (svd->stop != SVD_STOP_THRESHOLD && svd->conv != SVD_CONV_MAXIT) {
    check.wanted = PetscMin(svd->nsv, ctx->krylov.n);
    /* the first check is early if the user's vectors may be the solution, otherwise when the basis is half full */
    if (inner < tol && ctx->counts.steps) { /* the last check was at the end of the iteration so far */
      check.every = 4;
      check.step  = ctx->counts.steps;
      check.next  = ctx->counts.steps + 2;
      for (PetscInt i = 0; i < check.wanted; i++) check.error = PetscMax(check.error, svd->errest[i]);
    } else if (ctx->counts.steps) check.next = PETSC_INT_MAX;
    else if (svd->nini) check.next = 2;
    else check.next = (PetscMax(check.wanted + ctx->krylov.w, PetscMin(svd->mpd, svd->ncv) / 2) + ctx->krylov.w - 1) / ctx->krylov.w;
  }
  svd->tol = inner;
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
      /* a further iteration changes nothing, but the threshold test would wait for it; with a fixed number, iterations are only counted */
      if (svd->conv == SVD_CONV_MAXIT) continue;
      svd->reason = SVD_CONVERGED_TOL;
      break;
    }
    PetscCall(ScheduleCheck(svd, &check));
    PetscCall(EnsureRoom(svd, PetscMax(nconv, ctx->krylov.nlock)));
    if (MaySwitch(ctx) && svd->its >= 2 && check.wanted && ctx->krylov.k >= check.wanted && svd->sigma[check.wanted - 1] < SmallestRatio(svd) * svd->sigma[0]) {
      PetscCall(SwitchForm(svd, PetscMax(RestartSize(svd, 0, nconv, PetscMin(svd->ncv, svd->mpd)), check.wanted)));
      check.error = 0.0;
      check.next  = PETSC_INT_MAX;
    } else {
      PetscCall(Lock(svd, &nconv, &nlock));
      PetscCall(SVDBlockLanczosTruncate(svd, RestartSize(svd, nlock, nconv, PetscMin(nlock + svd->mpd, svd->ncv))));
      ctx->krylov.nlock = PetscMin(nlock, ctx->krylov.k - 1);
    }
    ctx->counts.restarts++;
  }
  svd->tol = tol;
  if (inner < tol && svd->reason == SVD_DIVERGED_ITS) {
    ctx->projected.solved = PETSC_FALSE;
    PetscCall(SVDBlockLanczosSolveProjected(svd));
    svd->nconv = SVDBlockLanczosCountConverged(svd);
    if (svd->nconv >= svd->nsv) svd->reason = SVD_CONVERGED_TOL;
  }
  /* from here on the largest values are first, whether they were locked or not */
  if (ctx->krylov.nlock) PetscCall(Unlock(svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The number of triplets to return, and the level: the value above which no singular value may be missing */
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

/* Whether what is known of missed values reaches the gap */
static PetscBool Certain(SVD svd, PetscReal level)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscReal   gap = SVDBlockLanczosGap(svd);

  return (PetscBool)(ctx->certificate.n >= 0 && ctx->certificate.bound <= PetscMax(level * (1 + gap), SVDBlockLanczosFloor(svd)) * (1 + PetscMin(svd->tol, gap / 100)));
}

/* Whether a guard, or more steps, could add to what is known */
static PetscBool MayProve(const SVD_BLOCKLANCZOS *ctx, PetscReal level)
{
  return (PetscBool)(ctx->settings.certify != 0.0 && (ctx->krylov.ceiling == 0.0 || level < ctx->krylov.ceiling));
}

/*
  With a loose tolerance, or from the user's vectors, the process makes few steps, too few for an estimate. To go on until it can make one is cheaper than a
  guard, which begins with a random block; so a looser tolerance does not cost more.
*/
static PetscBool MayGoOn(SVD svd, PetscReal inner)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  return (PetscBool)((inner > LOOSE || (inner > TIGHTEST && ctx->history.chance < FALLING)) && ctx->settings.certify < 0.0 && ctx->history.q && svd->mpd == svd->ncv && svd->stop == SVD_STOP_BASIC &&
                     (svd->conv == SVD_CONV_REL || svd->conv == SVD_CONV_NORM) && svd->its < svd->max_it);
}

PetscErrorCode SVDSolve_BlockLanczos(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscInt          nw, npass    = 0;
  PetscReal         level, inner = svd->tol;
  PetscBool         found, complete, certain, more;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&ctx->counts, 1));

  ctx->krylov.twosided = (PetscBool)(ctx->settings.form == SVD_BLOCKLANCZOS_FORM_TWOSIDED && svd->which == SVD_LARGEST);
  PetscCall(SVDBlockLanczosResetProducts(svd));
  PetscCall(Seed(svd));
  if (svd->which == SVD_SMALLEST) {
    PetscCall(SVDBlockLanczosSolveSmallest(svd));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (ctx->krylov.twosided) PetscCall(SVDBlockLanczosAllocateLeft(svd, svd->ncv));
  PetscCall(Start(svd));
  /* larger residuals would raise the bound that a guard proves by more than the gap */
  if (svd->nini >= ctx->krylov.bs && ctx->settings.certify < 0.0 && !ctx->history.q && svd->conv == SVD_CONV_REL) inner = PetscMin(inner, 2 * SVDBlockLanczosGap(svd));

  while (PETSC_TRUE) {
    PetscReal rest;

    PetscCall(Iterate(svd, inner));
    PetscCall(Wanted(svd, &nw, &level));
    complete = (PetscBool)!ctx->krylov.w;
    PetscCall(SVDBlockLanczosSolveProjected(svd));
    rest = ctx->krylov.k > nw ? ctx->projected.S[nw] : 0.0;
    if (nw && MaySwitch(ctx) && svd->reason > 0 && svd->reason != SVD_CONVERGED_MAXIT && svd->sigma[nw - 1] < SmallestRatio(svd) * svd->sigma[0]) {
      const PetscInt p = complete ? ctx->krylov.k : PetscMin(ctx->krylov.k, PetscMax(nw, RestartSize(svd, 0, nw, PetscMin(svd->ncv, svd->mpd))));

      PetscCall(SVDBlockLanczosTruncate(svd, p));
      PetscCall(SVDBlockLanczosFinish(svd, p, &npass));
      /* A^H A may not have resolved which values are above a threshold */
      if (complete) svd->nconv = p;
      PetscCall(Wanted(svd, &nw, &level));
      rest = p > nw ? ctx->projected.S[nw] : 0.0;
      PetscCall(SVDBlockLanczosContinueTwoSided(svd, npass < nw ? p : nw));
      if (npass < nw) {
        svd->reason = SVD_CONVERGED_ITERATING;
        continue;
      }
    }
    SVDBlockLanczosCertificateForget(svd);
    if (svd->reason == SVD_CONVERGED_TOL && ctx->settings.certify != 0.0) {
      if (complete) SVDBlockLanczosCertifyComplete(svd, nw, rest);
      else if (ctx->settings.certify < 0.0) PetscCall(SVDBlockLanczosEstimate(svd, nw, level));
    }
    if (!nw) break;
    if (svd->reason == SVD_CONVERGED_TOL && MayProve(ctx, level) && !complete && !Certain(svd, level)) {
      if (MayGoOn(svd, inner)) {
        inner *= TIGHTER;
        svd->reason = SVD_CONVERGED_ITERATING;
        PetscCall(PetscInfo(svd, "residuals are reduced to %g, for an estimate\n", (double)inner));
        continue;
      }
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
  PetscCheck(!nw || !PetscIsInfOrNanReal(svd->sigma[0]), PetscObjectComm((PetscObject)svd), PETSC_ERR_FP, "The largest singular value is too large for a number of this precision: scale the matrix");
  if (nw && svd->conv != SVD_CONV_MAXIT && npass < nw) {
    PetscCall(PetscInfo(svd, "only %" PetscInt_FMT " of %" PetscInt_FMT " triplets meet the tolerance by their true residuals%s\n", npass, nw,
                        ctx->settings.form == SVD_BLOCKLANCZOS_FORM_ATA || !ctx->settings.left ? "; the two-sided form, which stores left vectors, reaches further" : ""));
    svd->nconv = npass;
    if (svd->reason > 0) svd->reason = SVD_DIVERGED_BREAKDOWN;
  }
  certain = Certain(svd, level);
  PetscCall(SVDBlockLanczosCertificateEnd(svd, nw, svd->nconv));
  /* residuals may be larger than the gap */
  certain = (PetscBool)(certain && ctx->certificate.bound <= PetscMax(level, SVDBlockLanczosFloor(svd)) * (1 + 2 * SVDBlockLanczosGap(svd)));
  if (!ctx->settings.left) PetscCall(SVDBlockLanczosComputeLeftLater(svd, svd->nconv ? svd->sigma[0] : 0));
  if (svd->reason == SVD_CONVERGED_TOL && ctx->settings.certify != 0.0 && !certain && !ctx->settings.quiet) PetscCall(SVDBlockLanczosWarn(svd, nw, level));
  PetscFunctionReturn(PETSC_SUCCESS);
}
