/*
  The filter, B = T(A^H A): a Chebyshev polynomial, of at most one in modulus for eigenvalues from `low` to `high`, a bound of all, and growing towards zero. It
  needs products only, so it works for any matrix, in parallel and on devices.
*/
#include "transform.h"

/*
  The degree and interval for values of A up to `value`, for which B becomes some 5 to 30. For values close to the norm it is a linear polynomial, which
  falls from 3 to 1. bound is that of the norm.
*/
void SVDBlockLanczosChooseFilter(SVD svd, PetscReal value, PetscReal bound)
{
  BlockLanczosSmallest *s = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;

  s->high = PetscSqr(bound);
  s->low  = PetscMax(2 * PetscSqr(value), s->high * BLOCKLANCZOS_LEAST_LOW);
  if (s->low < s->high / 2) s->degree = 2 * (PetscInt)PetscCeilReal(PetscSqrtReal(s->high / s->low));
  else {
    s->low    = s->high;
    s->high   = 2 * s->high;
    s->degree = 1;
  }
}

/* X = T(A^H A) X: this process's rows of n x w */
PetscErrorCode SVDBlockLanczosFilter(SVD svd, PetscInt w, PetscScalar X[])
{
  SVD_BLOCKLANCZOS     *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s   = &ctx->smallest;
  const PetscReal       d   = s->high - s->low;

  PetscFunctionBegin;
  /* polynomials of degrees 2 and 3, modulo 4, have the other sign: so each is the last but one plus a multiple of the last */
  for (PetscInt first = 0, some; first < w; first += some) {
    BV           now = ctx->krylov.X, before = ctx->krylov.spare;
    PetscScalar *G;

    some = PetscMin(w - first, ctx->krylov.bs);
    PetscCall(PetscCalloc1((size_t)some * some, &G));
    PetscCall(SVDBlockLanczosCopyColumns(now, 0, some, s->n, PETSC_TRUE, X + (PetscCount)first * s->n));
    for (PetscInt j = 0; j < s->degree; j++) {
      const PetscReal factor = j % 2 ? -2 : j ? 2 : 1;
      BV              swap;

      /* before = before + factor t(A^H A) now, or without the first term at first; t = (low + high - 2 A^H A) / (high - low) */
      PetscCall(SVDBlockLanczosForward(svd, now, ctx->krylov.W, some));
      PetscCall(SVDBlockLanczosAdjoint(svd, ctx->krylov.W, ctx->krylov.Z, some));
      for (PetscInt c = 0; c < some; c++) G[c + c * some] = factor * (s->low + s->high) / d;
      PetscCall(BlockMult(&ctx->blocks, before, 0, some, j ? 1.0 : 0.0, 1.0, now, 0, some, G, some));
      for (PetscInt c = 0; c < some; c++) G[c + c * some] = 1.0;
      PetscCall(BlockMult(&ctx->blocks, before, 0, some, 1.0, -2 * factor / d, ctx->krylov.Z, 0, some, G, some));
      swap   = now;
      now    = before;
      before = swap;
    }
    PetscCall(SVDBlockLanczosCopyColumns(now, 0, some, s->n, PETSC_FALSE, X + (PetscCount)first * s->n));
    PetscCall(PetscFree(G));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
