/* Singular vectors by products with A and B: corrections of right and left vectors, and left vectors of zeros */
#include "transform.h"

/* Left null vectors that are made at a time */
#define MOST_COLUMNS 32

/* Columns [0, w) of V, of length one: r = A^H A V - V S^2 with the values that belong to them, norms of A V; this process's rows of n x w */
static PetscErrorCode Residuals(SVD svd, BV V, PetscInt w, PetscScalar r[])
{
  SVD_BLOCKLANCZOS   *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov = &ctx->krylov;
  const PetscInt      n      = ctx->smallest.n;
  PetscScalar        *G;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((size_t)krylov->bs * krylov->bs, &G));
  for (PetscInt first = 0, some; first < w; first += some) {
    some = PetscMin(w - first, krylov->bs);
    PetscCall(BlockCopy(&ctx->blocks, V, first, first + some, krylov->X, 0));
    PetscCall(SVDBlockLanczosForward(svd, krylov->X, krylov->W, some));
    PetscCall(SVDBlockLanczosAdjoint(svd, krylov->W, krylov->Z, some));
    PetscCall(BlockDot(&ctx->blocks, krylov->W, 0, some, krylov->W, 0, some, G, some));
    for (PetscInt j = 0; j < some; j++)
      for (PetscInt i = 0; i < some; i++) G[i + j * some] = i == j ? G[i + j * some] : 0.0;
    PetscCall(BlockMult(&ctx->blocks, krylov->Z, 0, some, 1.0, -1.0, krylov->X, 0, some, G, some));
    PetscCall(SVDBlockLanczosCopyColumns(krylov->Z, 0, some, n, PETSC_FALSE, r + (PetscCount)first * n));
  }
  PetscCall(PetscFree(G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The first w columns of V, in order of decreasing values of B, become B^H B V but for factors: what is not of the smallest values of A fades. The inverse
  does this as V - N^-1 (A^H A V - V S^2), N = A^H A + shift^2: rounding of its factor then acts on the residuals only, not on V.
*/
PetscErrorCode SVDBlockLanczosPurify(SVD svd, BV V, PetscInt w)
{
  BlockLanczosSmallest *s = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;
  const PetscInt        n = s->n;
  PetscScalar          *a, *b;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2((size_t)n * w, &a, (size_t)PetscMax(s->rows, n) * w, &b));
  if (s->inverts) PetscCall(Residuals(svd, V, w, a));
  else PetscCall(SVDBlockLanczosCopyColumns(V, 0, w, n, PETSC_FALSE, a));
  PetscCall(SVDBlockLanczosApplyB(svd, PETSC_FALSE, w, a, b));
  PetscCall(SVDBlockLanczosApplyB(svd, PETSC_TRUE, w, b, a));
  if (s->inverts) {
    PetscCall(SVDBlockLanczosCopyColumns(V, 0, w, n, PETSC_FALSE, b));
    for (PetscCount i = 0; i < (PetscCount)n * w; i++) a[i] = b[i] - a[i];
  }
  for (PetscInt c = 0; c < w; c++) {
    PetscReal most = 0.0;

    for (PetscInt i = 0; i < n; i++) most = PetscMax(most, PetscAbsScalar(a[i + (PetscCount)c * n]));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &most, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)svd)));
    for (PetscInt i = 0; i < n && most > 0.0; i++) a[i + (PetscCount)c * n] /= most;
  }
  PetscCall(SVDBlockLanczosCopyColumns(V, 0, w, n, PETSC_TRUE, a));
  PetscCall(PetscFree2(a, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Columns [c0, c1) of U, which are random, become orthogonal to the range of A, but for residuals norm(A^H u) up to `enough`, if rounding allows that: the
  conjugate residual method for A N A^H, whose residual is u. N is the inverse of A^H A + shift^2 or, with a filter, one.
*/
static PetscErrorCode LeftNullVectors(SVD svd, PetscInt c0, PetscInt c1, PetscReal enough)
{
  SVD_BLOCKLANCZOS     *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s      = &ctx->smallest;
  BlockWorkspace       *blocks = &ctx->blocks;
  const PetscInt        w = c1 - c0, patience = s->inverts ? 5 : 100; /* so many steps may pass before the residual is a half */
  PetscReal             half = PETSC_MAX_REAL;
  PetscScalar          *G, *H, *r, *b;
  PetscReal            *square, *length;
  PetscBool            *done;
  BV                    u, z, q, last;

  PetscFunctionBegin;
  PetscCall(PetscMalloc7((size_t)w * w, &G, (size_t)w * w, &H, (size_t)s->n * w, &r, (size_t)s->rows * w, &b, w, &square, w, &length, w, &done));
  PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_FALSE, w, &z));
  PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_TRUE, w, &u));
  PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_TRUE, w, &q));
  PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_TRUE, w, &last));
  PetscCall(BlockCopy(blocks, ctx->krylov.U, c0, c1, u, 0));
  for (PetscInt step = 0, since = 0;; step++) {
    PetscReal worst = 0.0;
    BV        swap;

    PetscCall(SVDBlockLanczosAdjoint(svd, u, z, w));
    PetscCall(BlockDot(blocks, z, 0, w, z, 0, w, G, w));
    for (PetscInt j = 0; j < w; j++) {
      const PetscReal norm = PetscSqrtReal(PetscRealPart(G[j + j * w]));

      worst   = PetscMax(worst, norm);
      done[j] = (PetscBool)(norm <= enough);
    }
    if (worst <= half) {
      half  = worst / 2;
      since = step;
    }
    if (worst <= enough || step - since == patience) break;
    if (s->inverts) {
      PetscCall(SVDBlockLanczosCopyColumns(z, 0, w, s->n, PETSC_FALSE, r));
      PetscCall(SVDBlockLanczosSolveB(svd, PETSC_FALSE, w, r, b));
      PetscCall(SVDBlockLanczosSolveB(svd, PETSC_TRUE, w, b, r));
      PetscCall(SVDBlockLanczosCopyColumns(z, 0, w, s->n, PETSC_TRUE, r));
    }
    PetscCall(SVDBlockLanczosForward(svd, z, q, w));
    PetscCall(BlockDot(blocks, z, 0, w, z, 0, w, G, w));
    for (PetscInt j = 0; j < w; j++) length[j] = PetscSqrtReal(PetscRealPart(G[j + j * w]));
    if (step) {
      PetscCall(BlockDot(blocks, last, 0, w, q, 0, w, G, w));
      PetscCall(PetscArrayzero(H, (size_t)w * w));
      for (PetscInt j = 0; j < w; j++) H[j + j * w] = square[j] > 0.0 ? G[j + j * w] / square[j] : 0.0;
      PetscCall(BlockMult(blocks, q, 0, w, 1.0, -1.0, last, 0, w, H, w));
    }
    PetscCall(BlockDot(blocks, q, 0, w, q, 0, w, G, w));
    for (PetscInt j = 0; j < w; j++) {
      square[j] = PetscRealPart(G[j + j * w]);
      if (done[j] || PetscSqrtReal(square[j]) <= BLOCKLANCZOS_NOISE * s->sigma1 * length[j]) square[j] = 0.0; /* q is rounding, not in the range of A */
    }
    PetscCall(BlockDot(blocks, q, 0, w, u, 0, w, G, w));
    PetscCall(PetscArrayzero(H, (size_t)w * w));
    for (PetscInt j = 0; j < w; j++) H[j + j * w] = square[j] > 0.0 ? G[j + j * w] / square[j] : 0.0;
    PetscCall(BlockMult(blocks, u, 0, w, 1.0, -1.0, q, 0, w, H, w));
    swap = q;
    q    = last;
    last = swap;
  }
  PetscCall(BlockCopy(blocks, u, 0, w, ctx->krylov.U, c0));
  PetscCall(PetscFree7(G, H, r, b, square, length, done));
  PetscCall(BVDestroy(&u));
  PetscCall(BVDestroy(&z));
  PetscCall(BVDestroy(&q));
  PetscCall(BVDestroy(&last));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SVDBlockLanczosCorrectLeft - For p triplets with A V = U S but for rounding, corrects U so that A^H U = V S

   Note:
   The rounding of A v / sigma has components along all left vectors, of size eps norm(A) / sigma. With r = A^H u - sigma v, u - A (A^H A + shift^2)^-1 r
   has that error squared (the corrected seminormal equations), as far as shift is small beside the value of the component. r is made orthogonal to V, since
   components along V are changed by A V = U S. For values that are rounding u is any vector with A^H u = 0.
*/
PetscErrorCode SVDBlockLanczosCorrectLeft(SVD svd, PetscInt p)
{
  SVD_BLOCKLANCZOS     *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s      = &ctx->smallest;
  MPI_Comm              comm   = PetscObjectComm((PetscObject)svd);
  const PetscReal       enough = 10 * PETSC_MACHINE_EPSILON * s->sigma1;
  PetscReal            *S = ctx->projected.S, before = PETSC_MAX_REAL, norm;
  PetscScalar          *G, *R, *r, *v, *b;
  PetscInt              M, w, z = p;
  BV                    block, change;

  PetscFunctionBegin;
  while (z && S[z - 1] <= BLOCKLANCZOS_NOISE * s->norm) z--;
  if (!s->inverts && z == p) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc5((size_t)p * p, &G, (size_t)p * p, &R, (size_t)s->n * z, &r, (size_t)s->n * p, &v, (size_t)s->rows * z, &b));
  PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_FALSE, p, &block));
  PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_TRUE, PetscMax(z, 1), &change));
  PetscCall(BVGetSizes(ctx->krylov.U, NULL, &M, NULL));
  PetscCall(SVDBlockLanczosCopyColumns(svd->V, 0, p, s->n, PETSC_FALSE, v));
  PetscCall(BlockFillRandom(&ctx->blocks, ctx->krylov.U, z, p));
  for (PetscInt turn = 0; turn < 8; turn++) {
    PetscReal worst = 0.0;

    PetscCall(SVDBlockLanczosAdjoint(svd, ctx->krylov.U, block, p));
    PetscCall(PetscArrayzero(G, (size_t)p * p));
    for (PetscInt j = 0; j < p; j++) G[j + j * p] = S[j];
    PetscCall(BlockMult(&ctx->blocks, block, 0, p, 1.0, -1.0, svd->V, 0, p, G, p));
    PetscCall(BlockDot(&ctx->blocks, block, 0, p, block, 0, p, G, p));
    for (PetscInt j = s->inverts ? 0 : z; j < p; j++) worst = PetscMax(worst, PetscSqrtReal(PetscRealPart(G[j + j * p])) / PetscMax(S[j] * PetscMin(svd->tol, (PetscReal)1e-3) / 10, enough));
    if (worst <= 1.0 || worst > before / 2) break;
    before = worst;
    if (s->inverts && z) {
      PetscCall(SVDBlockLanczosCopyColumns(block, 0, z, s->n, PETSC_FALSE, r));
      PetscCall(SVDBlockLanczosProject(comm, s->n, p, v, z, r));
      PetscCall(SVDBlockLanczosSolveB(svd, PETSC_FALSE, z, r, b));
      PetscCall(SVDBlockLanczosSolveB(svd, PETSC_TRUE, z, b, r));
      PetscCall(SVDBlockLanczosProject(comm, s->n, p, v, z, r));
      PetscCall(SVDBlockLanczosCopyColumns(block, 0, z, s->n, PETSC_TRUE, r));
      PetscCall(SVDBlockLanczosForward(svd, block, change, z));
      PetscCall(PetscArrayzero(G, (size_t)z * z));
      for (PetscInt j = 0; j < z; j++) G[j + j * z] = 1.0;
      PetscCall(BlockMult(&ctx->blocks, ctx->krylov.U, 0, z, 1.0, -1.0, change, 0, z, G, z));
    }
    for (PetscInt j = z; j < p; j += MOST_COLUMNS) PetscCall(LeftNullVectors(svd, j, PetscMin(j + MOST_COLUMNS, p), enough));
    norm = 0.0;
    PetscCall(SVDBlockLanczosOrthonormalize(svd, NULL, 0, ctx->krylov.U, p, M, &norm, R, p, NULL, 0, &w));
  }
  PetscCall(PetscFree5(G, R, r, v, b));
  PetscCall(BVDestroy(&block));
  PetscCall(BVDestroy(&change));
  PetscFunctionReturn(PETSC_SUCCESS);
}
