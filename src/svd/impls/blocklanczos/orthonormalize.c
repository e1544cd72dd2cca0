/*
  Makes the columns of any block orthonormal, to a basis and among each other.

  Rounds of classical Gram-Schmidt against the basis and Cholesky QR are repeated until a Gram matrix is nearly the identity. The first
  round needs no Gram-Schmidt, since the caller has subtracted the known components. If the scaled Gram matrix is too ill conditioned,
  its eigenvectors and raised eigenvalues replace the Cholesky factor (a shifted round).

  Directions of the given block that are below rounding are deflated: their row of R becomes zero, and a random direction, made orthogonal
  like the rest, replaces them, as long as the space has room. Zin = Q c + Zout R remains exact, the block keeps its width, and new
  directions enter where a Krylov space is exhausted.

  If the block is wider than the space has room for, directions above rounding are left out too. What they hold lies in the space, which is then
  complete: c and R are computed anew from the given block, so that the relation holds here as well.
*/
#include "blocklanczos.h"

/* The largest number of rounds; two are usual, some five are needed when all directions but one are deflated */
#define MAX_ROUNDS 16

/* In a block of w columns computed with an operator of this norm, directions up to this length are rounding errors */
PetscReal SVDBlockLanczosDeflationTolerance(PetscInt w, PetscReal norm)
{
  return 20 * PETSC_MACHINE_EPSILON * PetscSqrtReal((PetscReal)w) * norm;
}

/*
  Computes from the Gram matrix G of w columns a factor L and its inverse, such that the columns times the inverse are orthonormal or
  closer to it. regular: L is the Cholesky factor. pivot is a rough lower bound for the smallest singular value of L.
*/
static PetscErrorCode GramFactor(PetscInt w, PetscScalar G[], PetscReal d[], PetscScalar L[], PetscScalar Linv[], PetscReal *pivot, PetscBool *regular)
{
  PetscReal dmin = PETSC_MAX_REAL;
  PetscBool zero = PETSC_FALSE;

  PetscFunctionBegin;
  /* scales the columns to length one, so that very different lengths cause no breakdown */
  for (PetscInt j = 0; j < w; j++) {
    d[j] = PetscSqrtReal(PetscMax(PetscRealPart(G[j + j * w]), 0));
    if (d[j] > 0.0) dmin = PetscMin(dmin, d[j]);
    else {
      d[j] = 1.0;
      zero = PETSC_TRUE;
    }
  }
  for (PetscInt j = 0; j < w; j++)
    for (PetscInt i = 0; i < w; i++) G[i + j * w] /= d[i] * d[j];
  PetscCall(PetscArraycpy(L, G, w * w));
  *regular = PETSC_FALSE;
  if (!zero) {
    PetscCall(SmallCholesky(w, L, w, pivot));
    *regular = (PetscBool)(*pivot > BLOCKLANCZOS_PIVOT);
  }
  if (*regular) {
    for (PetscInt j = 0; j < w; j++)
      for (PetscInt i = 0; i <= j; i++) L[i + j * w] *= d[j];
    PetscCall(PetscArraycpy(Linv, L, w * w));
    PetscCall(SmallInvertUpper(w, Linv, w));
    *pivot *= dmin;
  } else {
    PetscReal   *lambda;
    PetscScalar *Q, *tau, *work;

    PetscCall(PetscMalloc4(w, &lambda, w * w, &Q, w, &tau, SMALL_EIGEN_WORK(w), &work));
    PetscCall(PetscArraycpy(Q, G, w * w));
    PetscCall(SmallHermitianEigen(w, Q, w, lambda, tau, G, w, work));
    PetscCall(SmallApplyReflectors("L", w, w, Q, w, tau, G, w));
    for (PetscInt j = 0; j < w; j++) {
      const PetscReal r = PetscSqrtReal(PetscMax(lambda[j], 10 * w * PETSC_MACHINE_EPSILON * lambda[0]));

      for (PetscInt i = 0; i < w; i++) {
        L[j + i * w]    = r * PetscConj(G[i + j * w]) * d[i];
        Linv[i + j * w] = G[i + j * w] / (d[i] * (r > 0.0 ? r : 1.0)); /* r = 0: all columns are zero */
      }
    }
    PetscCall(PetscFree4(lambda, Q, tau, work));
    *pivot = 0.0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Removes directions of R with singular values up to drop, and those beyond maxw: with R = P S H, the columns of Z are multiplied by P, and
  the rows of removed directions become zero. Their columns of Z, up to maxw in all, become random. lower is the smallest value kept.
*/
static PetscErrorCode Deflate(SVD svd, BV Z, PetscInt win, PetscInt maxw, PetscReal drop, PetscScalar R[], PetscInt ldr, PetscInt *w, PetscInt *kept, PetscReal *lower)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscScalar      *A, *P, *H;
  PetscReal        *s;
  PetscInt          r = 0, mn = PetscMin(*w, win), wout = PetscMin(*w, maxw);

  PetscFunctionBegin;
  PetscCall(PetscMalloc4((*w) * win, &A, (*w) * mn, &P, mn * win, &H, mn, &s));
  for (PetscInt j = 0; j < win; j++) PetscCall(PetscArraycpy(A + j * (*w), R + j * ldr, *w));
  PetscCall(SmallSVD(*w, win, A, *w, s, P, *w, H, mn));
  while (r < PetscMin(mn, maxw) && s[r] > drop) r++;
  if (r != *kept || wout != *w) {
    PetscCall(BlockMultInPlace(&ctx->blocks, Z, 0, r, *w, P, *w));
    for (PetscInt j = 0; j < win; j++)
      for (PetscInt i = 0; i < *w; i++) R[i + j * ldr] = i < r ? s[i] * H[i + j * mn] : 0.0;
    PetscCall(BlockFillRandom(&ctx->blocks, Z, r, wout));
    PetscCall(PetscInfo(svd, "deflated %" PetscInt_FMT " of %" PetscInt_FMT " directions, filled up with %" PetscInt_FMT " random ones\n", *w - r, *w, wout - r));
    *kept = r;
    *w    = wout;
  }
  *lower = r ? s[r - 1] : PETSC_MAX_REAL;
  PetscCall(PetscFree4(A, P, H, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SVDBlockLanczosOrthonormalize - Makes a block Zin orthonormal: Zin = Q c + Zout R

   Input Parameters:
+  Q, k    - a basis and the number of its columns (Q may be NULL)
.  Z, win  - the block and its width
.  maxw    - room in the space: the largest width of Zout
-  norm    - the norm relative to which directions are rounding (raised to at least the norms of the block's columns)

   Output Parameters:
+  R, ldr  - wout x win
.  c, ldc  - k x win, the components along Q that the passes subtracted (c may be NULL)
-  wout    - the width of Zout: win, or maxw if that is less
*/
PetscErrorCode SVDBlockLanczosOrthonormalize(SVD svd, BV Q, PetscInt k, BV Z, PetscInt win, PetscInt maxw, PetscReal *norm, PetscScalar R[], PetscInt ldr, PetscScalar c[], PetscInt ldc, PetscInt *wout)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscScalar      *h, *G, *L, *Linv, *T;
  PetscReal        *d, pivot, lower = 1.0, deviation = 0.0;
  PetscInt          w = win, kept = win;
  PetscBool         regular = PETSC_FALSE, done = PETSC_FALSE;
  BV                given = NULL; /* the block as it was given, if the space has no room for it */

  PetscFunctionBegin;
  if (c) {
    for (PetscInt j = 0; j < win; j++) PetscCall(PetscArrayzero(c + j * ldc, k));
  }
  *wout = PetscMin(win, maxw);
  if (!*wout) {
    if (c && k) PetscCall(BlockDot(&ctx->blocks, Q, 0, k, Z, 0, win, c, ldc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (win > maxw) {
    PetscCall(BVDuplicateResize(Z, win, &given));
    PetscCall(BlockCopy(&ctx->blocks, Z, 0, win, given, 0));
  }
  PetscCall(PetscMalloc6(k * win, &h, win * win, &G, win * win, &L, win * win, &Linv, win * win, &T, win, &d));
  for (PetscInt j = 0; j < win; j++) {
    PetscCall(PetscArrayzero(R + j * ldr, win));
    R[j + j * ldr] = 1.0;
  }

  for (PetscInt round = 0; !done; round++) {
    PetscCheck(round < MAX_ROUNDS, PetscObjectComm((PetscObject)svd), PETSC_ERR_CONV_FAILED, "A block of %" PetscInt_FMT " columns did not become orthonormal in %d rounds: the last Gram matrix is %g from the identity", w, MAX_ROUNDS,
               (double)deviation);
    if (round && k) {
      PetscCall(BlockDot(&ctx->blocks, Q, 0, k, Z, 0, w, h, k));
      PetscCall(BlockMult(&ctx->blocks, Z, 0, w, 1.0, -1.0, Q, 0, k, h, k));
      if (c) PetscCall(SmallMultiply("N", "N", k, win, w, 1.0, h, k, R, ldr, 1.0, c, ldc));
    }
    PetscCall(BlockDot(&ctx->blocks, Z, 0, w, Z, 0, w, G, w));
    deviation = 0.0;
    for (PetscInt j = 0; j < w; j++) {
      for (PetscInt i = 0; i < w; i++) {
        const PetscReal dev = PetscAbsScalar(G[i + j * w] - (PetscScalar)(i == j ? 1.0 : 0.0));

        PetscCheck(!PetscIsInfOrNanReal(dev), PetscObjectComm((PetscObject)svd), PETSC_ERR_FP, "A product with the matrix, or an initial vector, is not finite: does the matrix hold NaN or Inf?");
        deviation = PetscMax(deviation, dev);
      }
      if (!round) *norm = PetscMax(*norm, PetscSqrtReal(PetscAbsScalar(G[j + j * w])));
    }
    PetscCall(GramFactor(w, G, d, L, Linv, &pivot, &regular));
    PetscCall(BlockMultInPlace(&ctx->blocks, Z, 0, w, w, Linv, w));
    PetscCall(SmallMultiply("N", "N", w, win, w, 1.0, L, w, R, ldr, 0.0, T, w));
    for (PetscInt j = 0; j < win; j++) PetscCall(PetscArraycpy(R + j * ldr, T + j * w, w));
    done = (PetscBool)(round && regular && deviation <= 0.01);
    /* singular values are computed only if the product of the smallest ones of the factors is close to rounding */
    lower *= pivot;
    if (w > maxw || lower <= 100 * SVDBlockLanczosDeflationTolerance(win, *norm)) {
      const PetscInt kept0 = kept, w0 = w;

      PetscCall(Deflate(svd, Z, win, maxw, SVDBlockLanczosDeflationTolerance(win, *norm), R, ldr, &w, &kept, &lower));
      if (kept != kept0 || w != w0) done = PETSC_FALSE;
    }
  }
  if (given) {
    if (c && k) PetscCall(BlockDot(&ctx->blocks, Q, 0, k, given, 0, win, c, ldc));
    PetscCall(BlockDot(&ctx->blocks, Z, 0, w, given, 0, win, R, ldr));
    PetscCall(BVDestroy(&given));
  }
  ctx->counts.deflated += PetscMin(win, maxw) - PetscMin(kept, PetscMin(win, maxw));
  *wout = w;
  PetscCall(PetscFree6(h, G, L, Linv, T, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}
