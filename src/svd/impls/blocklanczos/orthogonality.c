/*
  The orthogonality estimate: decides which steps need the pass against the whole basis, and restores the orthogonality that other steps lose.

  A block loses its orthogonality to the basis by rounding, and the loss grows from step to step by the recurrence of the blocks. The
  coefficients of the recurrence are on the host, so the loss can be estimated without reading a long vector: by the omega-recurrence of
  H. D. Simon (Linear Algebra Appl. 61, 1984, for single vectors), here for blocks and with restarts. With

    G = V^H V - I,   g = V^H X,   E = X^H X - I      and      A^H A V = V T + X C,   A^H A X = X a + V C^H + X' R

  the next block X' has

    V^H X' R = T g + C^H E - g a - G C^H,   X^H X' R = -E a - g^H C^H,

  plus the rounding of the step. The loss of a step is predicted with a and R of the step before. While it stays below the square root of
  rounding, T is, up to rounding, A^H A in an orthonormal basis N of the same space, V = N S with S upper triangular (Simon, as above).
  A step with a low prediction therefore leaves out the full pass, which would read the basis twice. At a restart one product V^H V gives S,
  and the Ritz vectors are N Y = V (S^-1 Y): they and the relation are as they would be with all full passes.

  The residual block of a cycle must be orthogonal to the whole basis, so the last step of a cycle makes the full pass. So do steps with
  blocks that are hard to make orthonormal, since these need a second round anyway, and all steps where the relation has other errors: in
  the guard, after it, and with locked triplets. So do all steps if the basis may become the whole space.
*/
#include "blocklanczos.h"

/* The loss of orthogonality after a full pass against an orthonormal basis */
#define OMEGA_LEAST (2 * PETSC_MACHINE_EPSILON)
/* A larger loss in the block with which a cycle begins is removed */
#define OMEGA_LOST (50 * PETSC_MACHINE_EPSILON)
/* The largest loss that is accepted. A short step is made if the prediction is at most a tenth of this */
#define OMEGA_MOST PETSC_SQRT_MACHINE_EPSILON
/* A short step is made if the pivot of the step before is at least EASY_PIVOT, and accepted if its own pivot is at least GOOD_PIVOT */
#define EASY_PIVOT 0.2
#define GOOD_PIVOT 0.1

/* x with its modulus enlarged by a rounding error */
static inline PetscScalar Enlarged(PetscScalar x, PetscReal by)
{
  const PetscReal r = PetscAbsScalar(x);

  return r > 0.0 ? x * (1 + by / r) : (PetscScalar)by;
}

/* The rounding error of a step in column j of V^H X' */
static PetscReal RoundingOfColumn(SVD svd, PetscInt w, PetscInt j)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscReal         sum = 0.0;

  for (PetscInt i = 0; i <= j; i++) sum += PetscAbsScalar(ctx->omega.Rinv[i + j * w]);
  return OMEGA_LEAST * ctx->krylov.anorm * sum;
}

/* Starts from orthonormal V and X; valid: the recurrence describes the next steps */
PetscErrorCode SVDBlockLanczosOmegaBegin(SVD svd, PetscBool valid)
{
  SVD_BLOCKLANCZOS   *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov = &ctx->krylov;
  OmegaEstimate      *omega  = &ctx->omega;

  PetscFunctionBegin;
  omega->valid = valid;
  omega->nfull = omega->w = omega->nshort = omega->northonormal = 0;
  omega->ngram                                                  = 0; /* may be left from a cycle without a restart */
  if (!valid) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscArrayzero(omega->G, krylov->ld * krylov->ld));
  PetscCall(PetscArrayzero(omega->g, krylov->ld * krylov->bs));
  PetscCall(PetscArrayzero(omega->E, krylov->bs * krylov->bs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SVDBlockLanczosOmegaPredict - Predicts before a step whether it needs the full pass

   Input Parameter:
.  coef - rows [c0, k) of C^H
*/
PetscErrorCode SVDBlockLanczosOmegaPredict(SVD svd, const PetscScalar coef[], PetscBool *full)
{
  SVD_BLOCKLANCZOS   *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov = &ctx->krylov;
  OmegaEstimate      *omega  = &ctx->omega;
  const PetscInt      k = krylov->k, w = krylov->w, c0 = krylov->c0, ld = krylov->ld, bs = krylov->bs, kmax = PetscMin(svd->mpd, svd->ncv);
  PetscReal           most;

  PetscFunctionBegin;
  *full = PETSC_TRUE;
  if (!omega->valid || krylov->nlock || omega->w != w || omega->pivot < EASY_PIVOT || k + 2 * w > kmax) PetscFunctionReturn(PETSC_SUCCESS);
  if (krylov->n < kmax + w) PetscFunctionReturn(PETSC_SUCCESS); /* the space may have no room for a block: what is left of it then belongs into T (step.c) */
  PetscCall(SmallMultiply("N", "N", k, w, k, 1.0, krylov->T, ld, omega->g, ld, 0.0, omega->N, ld));
  PetscCall(SmallMultiply("N", "N", k - c0, w, w, 1.0, coef, k - c0, omega->E, bs, 1.0, omega->N + c0, ld));
  PetscCall(SmallMultiply("N", "N", k, w, k - c0, -1.0, omega->G + c0 * ld, ld, coef, k - c0, 1.0, omega->N, ld));
  PetscCall(PetscArraycpy(omega->work, omega->N, ld * w));
  PetscCall(SmallMultiply("N", "N", k, w, w, -1.0, omega->g, ld, omega->a, w, 1.0, omega->work, ld));
  PetscCall(SmallMultiply("N", "N", k, w, w, 1.0, omega->work, ld, omega->Rinv, w, 0.0, omega->work + ld * w, ld));
  most = omega->noise;
  for (PetscInt j = 0; j < w; j++)
    for (PetscInt i = 0; i < k; i++) most = PetscMax(most, PetscAbsScalar(omega->work[i + (j + w) * ld]));
  omega->predicted = most;
  /* two consecutive full passes, since the recurrence has three terms: it depends on two blocks */
  if (omega->nfull) omega->nfull--;
  else if (most > OMEGA_MOST / 10) omega->nfull = 1;
  else *full = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SVDBlockLanczosOmegaEvaluate - Estimates the orthogonality of the block after the reduction of a short step

   Input Parameter:
.  r - the reduction

   Output Parameter:
.  enough - the block is orthogonal enough
*/
PetscErrorCode SVDBlockLanczosOmegaEvaluate(SVD svd, const BlockReduction *r, PetscBool *enough)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  OmegaEstimate    *omega = &ctx->omega;
  const PetscInt    k = ctx->krylov.k, w = r->w, c0 = ctx->krylov.c0, ld = ctx->krylov.ld, bs = ctx->krylov.bs;
  PetscReal         most = 0.0;

  PetscFunctionBegin;
  *enough = PETSC_FALSE;
  if (r->pivot < GOOD_PIVOT) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscArraycpy(omega->Rinv, r->R, w * w));
  PetscCall(SmallInvertUpper(w, omega->Rinv, w));
  PetscCall(SmallMultiply("N", "N", k, w, w, -1.0, omega->g, ld, r->a, w, 1.0, omega->N, ld));
  PetscCall(SmallMultiply("N", "N", w, w, w, -1.0, omega->E, bs, r->a, w, 0.0, omega->N + k, ld));
  PetscCall(SmallMultiply("C", "N", w, w, k - c0, -1.0, omega->g + c0, ld, r->coef, k - c0, 1.0, omega->N + k, ld));
  PetscCall(SmallMultiply("N", "N", k + w, w, w, 1.0, omega->N, ld, omega->Rinv, w, 0.0, omega->work, ld));
  for (PetscInt j = 0; j < w; j++) {
    const PetscReal noise = RoundingOfColumn(svd, w, j);

    for (PetscInt i = 0; i < k + w; i++) {
      omega->work[i + j * ld] = Enlarged(omega->work[i + j * ld], noise);
      most                    = PetscMax(most, PetscAbsScalar(omega->work[i + j * ld]));
    }
  }
  *enough = (PetscBool)(most <= OMEGA_MOST);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  After a full pass, which has subtracted V c from the block, V^H X' = -G c R^-1: since the basis is not quite orthonormal (G), a part remains.
  It is small, but a small R in later steps may enlarge it. If there was more than one pass, what each subtracted is not known; the last one
  subtracts at most the square root of the deviation of the Gram matrix from the identity that is allowed then.
*/
static PetscErrorCode AfterFullPass(SVD svd, const BlockReduction *r)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  OmegaEstimate    *omega = &ctx->omega;
  const PetscInt    w = r->w, n = ctx->krylov.k + w, ld = ctx->krylov.ld;
  PetscReal         most = 0.0;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(omega->work, ld * w));
  if (omega->nshort && r->regular) {
    PetscCall(SmallMultiply("N", "N", n, w, w, 1.0, r->c, n, omega->Rinv, w, 0.0, omega->N, ld));
    PetscCall(SmallMultiply("N", "N", n, w, n, -1.0, omega->G, ld, omega->N, ld, 0.0, omega->work, ld));
  } else if (omega->nshort) {
    for (PetscInt j = 0; j < n; j++) {
      for (PetscInt i = 0; i < n; i++) most = PetscMax(most, PetscAbsScalar(omega->G[i + j * ld]));
    }
  }
  for (PetscInt j = 0; j < w; j++) {
    for (PetscInt i = 0; i < n; i++) omega->work[i + j * ld] = Enlarged(omega->work[i + j * ld], OMEGA_LEAST + (PetscReal)0.1 * most);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Updates the estimate, before the block of a step joins the basis and is replaced by the next one */
PetscErrorCode SVDBlockLanczosOmegaUpdate(SVD svd, const BlockReduction *r)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  OmegaEstimate    *omega = &ctx->omega;
  const PetscInt    k = ctx->krylov.k, w = r->w, ld = ctx->krylov.ld, bs = ctx->krylov.bs;

  PetscFunctionBegin;
  if (!omega->valid) PetscFunctionReturn(PETSC_SUCCESS);
  if (!r->full) {
    omega->nshort++;
    ctx->counts.shortsteps++;
  } else if (omega->nshort && r->regular) PetscCall(PetscInfo(svd, "after %" PetscInt_FMT " short steps %.1e of orthogonality was lost, %.1e predicted\n", omega->nshort, (double)r->subtracted, (double)omega->predicted));
  for (PetscInt j = 0; j < w; j++) {
    for (PetscInt i = 0; i < k; i++) {
      omega->G[i + (k + j) * ld] = omega->g[i + j * ld];
      omega->G[k + j + i * ld]   = PetscConj(omega->g[i + j * ld]);
    }
    for (PetscInt i = 0; i < w; i++) omega->G[k + i + (k + j) * ld] = omega->E[i + j * bs];
  }
  omega->w = 0;
  if (r->regular) {
    omega->w     = w;
    omega->pivot = r->pivot;
    omega->noise = 0.0;
    PetscCall(PetscArraycpy(omega->a, r->a, w * w));
    PetscCall(PetscArraycpy(omega->Rinv, r->R, w * w));
    PetscCall(SmallInvertUpper(w, omega->Rinv, w));
    for (PetscInt j = 0; j < w; j++) omega->noise = PetscMax(omega->noise, RoundingOfColumn(svd, w, j));
  }
  if (r->full) PetscCall(AfterFullPass(svd, r));
  for (PetscInt j = 0; j < r->wout; j++) {
    PetscCall(PetscArraycpy(omega->g + j * ld, omega->work + j * ld, k + w));
    for (PetscInt i = 0; i < r->wout; i++) omega->E[i + j * bs] = r->full ? OMEGA_LEAST : OMEGA_LEAST / PetscSqr(r->pivot);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  At the end of a cycle: starts the product V^H V. A device computes it after the products queued before, while the host solves the
  projected problem.
*/
PetscErrorCode SVDBlockLanczosGramBegin(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  OmegaEstimate    *omega = &ctx->omega;
  const PetscInt    k = ctx->krylov.k, ld = ctx->krylov.ld, c = omega->northonormal;
  PetscScalar      *d, *h;
  PetscInt          rows;
  BlockArray        V;

  PetscFunctionBegin;
  if (!omega->nshort || omega->ngram == k) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BVGetSizes(svd->V, &rows, NULL, NULL));
  PetscCall(BlockGetScratch(&ctx->blocks, BLOCK_SCRATCH_REDUCTION, (size_t)ld * ld, &d));
  PetscCall(BlockGetScratch(&ctx->blocks, BLOCK_SCRATCH_RESULTS, (size_t)ld * ld, &h));
  PetscCall(BlockGetArray(&ctx->blocks, svd->V, &V));
  PetscCall(BlockGram(&ctx->blocks, rows, k, k - c, V.a, V.ld, V.a + (size_t)c * V.ld, V.ld, d));
  PetscCall(BlockRestoreArray(&ctx->blocks, svd->V, &V));
  PetscCall((*ctx->blocks.ops->download)(h, d, k * (k - c)));
  PetscCall((*ctx->blocks.ops->mark)(&ctx->blocks.mark));
  omega->ngram = k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Replaces the columns of G from c on, the first one that is not orthonormal, by those of the Cholesky factor S of V^H V */
static PetscErrorCode GramEnd(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  OmegaEstimate    *omega = &ctx->omega;
  const PetscInt    k = ctx->krylov.k, ld = ctx->krylov.ld, c = omega->northonormal, n = k - c;
  PetscScalar      *G1 = omega->G + c * ld, *G2 = G1 + c;
  PetscReal         pivot;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosGramBegin(svd));
  PetscCall((*ctx->blocks.ops->wait)(ctx->blocks.mark));
  for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(G1 + j * ld, ctx->blocks.scratch[BLOCK_SCRATCH_RESULTS] + j * k, k));
  PetscCall(SmallMultiply("C", "N", n, n, c, -1.0, G1, ld, G1, ld, 1.0, G2, ld));
  PetscCall(SmallCholesky(n, G2, ld, &pivot));
  PetscCheck(pivot > 0.5, PetscObjectComm((PetscObject)svd), PETSC_ERR_CONV_FAILED, "The basis is not orthonormal: the smallest pivot of its Gram matrix is %g", (double)pivot);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  At a restart that keeps p Ritz vectors: transforms their coefficients Y from an orthonormal basis to V, and F accordingly. *lost: X has components
  along the basis that are larger than rounding, since the pass of the last step was against a basis that was not quite orthonormal
*/
PetscErrorCode SVDBlockLanczosRestoreOrthogonality(SVD svd, PetscInt p, PetscBool *lost)
{
  SVD_BLOCKLANCZOS   *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov = &ctx->krylov;
  OmegaEstimate      *omega  = &ctx->omega;
  const PetscInt      k = krylov->k, ld = krylov->ld, c = omega->northonormal;

  PetscFunctionBegin;
  *lost = omega->nshort && !omega->valid ? PETSC_TRUE : PETSC_FALSE; /* the estimate is gone if the arrays were enlarged */
  for (PetscInt j = 0; j < krylov->w && omega->nshort && omega->valid; j++) {
    for (PetscInt i = 0; i < k; i++) *lost = *lost || PetscAbsScalar(omega->g[i + j * ld]) > OMEGA_LOST ? PETSC_TRUE : PETSC_FALSE;
  }
  if (omega->nshort) {
    PetscCall(GramEnd(svd));
    PetscCall(SmallSolveUpper(k - c, p, omega->G + c + c * ld, ld, ctx->projected.Y + c, ld));
    PetscCall(SmallMultiply("N", "N", c, p, k - c, -1.0, omega->G + c * ld, ld, ctx->projected.Y + c, ld, 1.0, ctx->projected.Y, ld));
    PetscCall(SmallMultiply("N", "N", krylov->w, p, k, 1.0, krylov->C, krylov->bs, ctx->projected.Y, ld, 0.0, ctx->projected.F, krylov->bs));
  }
  omega->nshort = omega->ngram = omega->nfull = 0;
  omega->northonormal                         = p;
  if (!omega->valid) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt j = 0; j < p; j++)
    for (PetscInt i = 0; i < p; i++) omega->G[i + j * ld] = OMEGA_LEAST;
  for (PetscInt j = 0; j < krylov->w; j++)
    for (PetscInt i = 0; i < p; i++) omega->g[i + j * ld] = OMEGA_LEAST;
  PetscFunctionReturn(PETSC_SUCCESS);
}
