/*
  Steps while the projected problem is solved, and the restart from where they have come to.

  LAPACK takes longer for the projected problem of a full basis than a device for several steps. So a thread solves it some blocks before
  the basis is full, of the k0 columns there are, while the process goes on to k columns. A restart from the Ritz vectors Y of the k0
  columns and the blocks since would not do: what A^H A X has along the Ritz vectors that go would be lost. But what the process would have
  done from those that stay is known without another product. In an orthonormal basis N of the k columns

    A^H A N = N T + X C,     so     A^H A (N t + X s) = N T t + X C t + (A^H A X) s,

  and A^H A X is at hand. So the process is repeated from Y and the first block after the k0 columns, in coordinates of N and X, which are
  short: as many steps as were made ahead. Its last block has a part along X, which makes it the next block,

    V <- N Q,   X <- N g + X h,   A^H A X <- N T g + X C g + (A^H A X) h.

  Only LAPACK's routine runs in the thread. It does so where the relation above holds to rounding: in the A^H A form, and neither in the
  guard nor after it.
*/
#include <pthread.h>
#include "blocklanczos.h"

/* The thread: eigenvectors of a problem with its own work space */
static void *Solve(void *ptr)
{
  BlockAhead *ahead = (BlockAhead *)ptr;

  SmallEigenRun(&ahead->problem);
  return NULL;
}

/*
   SVDBlockLanczosAheadSteps - How many steps of this cycle, which fills kmax columns, are made while the projected problem is solved
*/
PetscErrorCode SVDBlockLanczosAheadSteps(SVD svd, PetscInt kmax, PetscInt *steps)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  *steps = ctx->memory && ctx->w ? ctx->ahead.most : 0;
  if (ctx->twosided || ctx->nlock || ctx->w != ctx->bs || svd->mpd < svd->ncv || svd->stop == SVD_STOP_THRESHOLD) *steps = 0;
  for (PetscInt j = 0; j < ctx->k; j++) {
    if (ctx->lost[j] > 0.0) *steps = 0;
  }
  /* there shall be room for as many steps before, from a basis of what is wanted */
  while (*steps && svd->nsv + (2 * *steps + 4) * ctx->w > kmax) (*steps)--;
  ctx->ahead.steps = *steps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Starts to solve the problem of the columns there are */
PetscErrorCode SVDBlockLanczosAheadBegin(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  BlockAhead       *ahead = &ctx->ahead;
  int               err;

  PetscFunctionBegin;
  ahead->k      = ctx->k;
  ahead->broken = PETSC_FALSE;
  PetscCall(SVDBlockLanczosMeasureLossBegin(svd));
  PetscCall(SmallEigenCreate(ctx->k, ctx->T, ctx->ld, &ahead->problem));
  err = pthread_create(&ahead->thread, NULL, Solve, ahead);
  PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_SYS, "No thread for the projected problem: pthread_create() returned %d", err);
  ahead->running = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Waits for the thread; frees the problem */
PetscErrorCode SVDBlockLanczosAheadFree(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  BlockAhead       *ahead = &ctx->ahead;

  PetscFunctionBegin;
  if (!ahead->running) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!pthread_join(ahead->thread, NULL), PETSC_COMM_SELF, PETSC_ERR_SYS, "The thread for the projected problem is lost");
  ahead->running = PETSC_FALSE;
  PetscCall(SmallEigenDestroy(&ahead->problem));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SVDBlockLanczosAheadEnd - Ends it: S, Y, F and the estimates are those of the columns that the problem was begun with

   Output Parameter:
.  k - so many columns, or 0: a step was not regular, or LAPACK failed. Then the problem has to be solved anew, for all columns.
*/
PetscErrorCode SVDBlockLanczosAheadEnd(SVD svd, PetscInt *k)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  BlockAhead       *ahead = &ctx->ahead;
  PetscBool         solved;

  PetscFunctionBegin;
  *k = 0;
  if (!ahead->running) PetscFunctionReturn(PETSC_SUCCESS);
  if (!ahead->broken) PetscCall(SVDBlockLanczosMeasureLossEnd(svd, ahead->k));
  PetscCheck(!pthread_join(ahead->thread, NULL), PETSC_COMM_SELF, PETSC_ERR_SYS, "The thread for the projected problem is lost");
  ahead->running = PETSC_FALSE;
  PetscCall(SmallEigenGet(&ahead->problem, ctx->Y, ctx->ld, ctx->S, &solved));
  PetscCall(SmallEigenDestroy(&ahead->problem));
  if (ahead->broken || !solved) PetscFunctionReturn(PETSC_SUCCESS);
  /* the rows of T of the block that was next */
  PetscCall(SVDBlockLanczosAssess(svd, ahead->k, ctx->T + ahead->k, ctx->ld));
  *k = ahead->k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* t(:, 0:w) becomes orthonormal to M's n columns and in itself, twice since one round may leave rounding of long vectors: t = M c + t' B */
static PetscErrorCode OrthonormalizeSmall(PetscInt K, PetscInt n, const PetscScalar M[], PetscInt w, PetscScalar t[], PetscScalar c[], PetscScalar B[], PetscScalar R[])
{
  PetscFunctionBegin;
  for (PetscInt round = 0; round < 2; round++) {
    for (PetscInt again = 0; again < 2; again++) {
      PetscCall(SmallMultiply("C", "N", n, w, K, 1.0, M, K, t, K, 0.0, c, n));
      PetscCall(SmallMultiply("N", "N", K, w, n, -1.0, M, K, c, n, 1.0, t, K));
    }
    PetscCall(SmallQR(K, w, t, K, round ? R : B, w));
  }
  PetscCall(PetscArraycpy(c, B, w * w));
  PetscCall(SmallMultiply("N", "N", w, w, w, 1.0, R, w, c, w, 0.0, B, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* V <- V M(0:k, 0:n), X <- V M(0:k, n:n+w) + X h, Z <- V M(0:k, n+w:) + X M(k:, n+w:) + Z h, and h = M(k:, n:n+w) */
static PetscErrorCode CombineLong(SVD svd, PetscInt k, PetscInt n, const PetscScalar M[])
{
  SVD_BLOCKLANCZOS     *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const BlockMemoryOps *ops = ctx->memory;
  const PetscInt        w = ctx->w, K = k + w, cols = n + 2 * w;
  PetscScalar          *v, *x, *z, *t, *d;
  PetscInt              rows, ldv, ldx, ldz;
  Mat                   MV, MX, MZ;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BV_MultInPlace, svd->V, 0, 0, 0));
  PetscCall(BVGetSizes(svd->V, &rows, NULL, NULL));
  PetscCall(BlockGetScratch(svd, BLOCK_SCRATCH_SMALL, K * cols, &d));
  PetscCall((*ops->upload)(d, M, K * cols));
  PetscCall(BlockGetScratch(svd, BLOCK_SCRATCH_LONG, (size_t)PetscMin(ops->chunk, rows) * cols, &t));
  PetscCall(BlockGetArray(svd, svd->V, &v, &ldv, &MV));
  PetscCall(BlockGetArray(svd, ctx->X, &x, &ldx, &MX));
  PetscCall(BlockGetArray(svd, ctx->Z, &z, &ldz, &MZ));
  for (PetscInt i = 0; i < rows; i += ops->chunk) {
    const PetscInt m = PetscMin(ops->chunk, rows - i);

    PetscCall((*ops->multiply)(m, cols, k, 1.0, v + i, ldv, d, K, 0.0, t, m));
    PetscCall((*ops->multiply)(m, 2 * w, w, 1.0, x + i, ldx, d + k + (size_t)n * K, K, 1.0, t + (size_t)n * m, m));
    PetscCall((*ops->multiply)(m, w, w, 1.0, z + i, ldz, d + k + (size_t)n * K, K, 1.0, t + (size_t)(n + w) * m, m));
    PetscCall((*ops->copy)(m, n, t, m, v + i, ldv));
    PetscCall((*ops->copy)(m, w, t + (size_t)n * m, m, x + i, ldx));
    PetscCall((*ops->copy)(m, w, t + (size_t)(n + w) * m, m, z + i, ldz));
  }
  PetscCall(BlockRestoreArray(svd, ctx->Z, &z, &MZ));
  PetscCall(BlockRestoreArray(svd, ctx->X, &x, &MX));
  PetscCall(BlockRestoreArray(svd, svd->V, &v, &MV));
  PetscCall(PetscLogEventEnd(BV_MultInPlace, svd->V, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SVDBlockLanczosAheadRestart - The restart after SVDBlockLanczosAheadEnd(): the basis becomes p Ritz vectors and a block for each step
   that was made ahead
*/
PetscErrorCode SVDBlockLanczosAheadRestart(SVD svd, PetscInt p)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    k0 = ctx->ahead.k, k = ctx->k, w = ctx->w, ld = ctx->ld, bs = ctx->bs, n = p + k - k0, K = k + w;
  PetscScalar      *M, *T, *c, *B, *R;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosPrefetch(svd));
  PetscCall(PetscCalloc5(K * (n + 2 * w), &M, n * n, &T, (n + w) * w, &c, w * w, &B, w * w, &R));
  for (PetscInt j = 0; j < p; j++) {
    PetscCall(PetscArraycpy(M + j * K, ctx->Y + j * ld, k0));
    T[j + j * n] = ctx->S[j];
    for (PetscInt i = 0; i < w; i++) {
      T[p + i + j * n]   = ctx->F[i + j * bs];
      T[j + (p + i) * n] = PetscConj(ctx->F[i + j * bs]);
    }
  }
  for (PetscInt j = 0; j < w; j++) M[k0 + j + (p + j) * K] = 1.0;
  for (PetscInt j = p; j < n; j += w) {
    PetscScalar *q = M + j * K, *next = q + w * K;

    PetscCall(SmallMultiply("N", "N", k, w, k, 1.0, ctx->T, ld, q, K, 0.0, next, K));
    PetscCall(SmallMultiply("N", "N", w, w, k, 1.0, ctx->C, bs, q, K, 0.0, next + k, K));
    PetscCall(SmallMultiply("C", "N", w, w, K, 1.0, q, K, next, K, 0.0, R, w));
    for (PetscInt b = 0; b < w; b++) {
      for (PetscInt a = 0; a < w; a++) T[j + a + (j + b) * n] = ctx->loss.a[a + b * w] = (R[a + b * w] + PetscConj(R[b + a * w])) / 2.0;
    }
    PetscCall(OrthonormalizeSmall(K, j + w, M, w, next, c, B, R));
    for (PetscInt b = 0; b < w && j + w < n; b++) {
      for (PetscInt a = 0; a <= b; a++) {
        T[j + w + a + (j + b) * n] = B[a + b * w];
        T[j + b + (j + w + a) * n] = PetscConj(B[a + b * w]);
      }
    }
  }
  PetscCall(SmallMultiply("N", "N", k, w, k, 1.0, ctx->T, ld, M + n * K, K, 0.0, M + (n + w) * K, K));
  PetscCall(SmallMultiply("N", "N", w, w, k, 1.0, ctx->C, bs, M + n * K, K, 0.0, M + (n + w) * K + k, K));
  PetscCall(SVDBlockLanczosInOwnBasis(svd, k0, n + 2 * w, M, K));
  PetscCall(CombineLong(svd, k, n, M));

  for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(ctx->T + j * ld, T + j * n, n));
  PetscCall(PetscArrayzero(ctx->C, bs * n));
  for (PetscInt j = 0; j < w; j++) PetscCall(PetscArraycpy(ctx->C + (n - w + j) * bs, B + j * w, w));
  PetscCall(PetscArrayzero(ctx->lost, n));
  ctx->k         = n;
  ctx->c0        = n - w;
  ctx->projected = PETSC_FALSE;
  PetscCall(SVDBlockLanczosOrthogonal(svd, n));
  PetscCall(SVDBlockLanczosExpectLoss(svd, w, B));
  ctx->aheadrestarts++;
  PetscCall(PetscFree5(M, T, c, B, R));
  PetscFunctionReturn(PETSC_SUCCESS);
}
