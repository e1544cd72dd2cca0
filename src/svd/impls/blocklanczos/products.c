/*
  Products of the matrix with dense blocks: Y = A X and X = A^H Y for the tall orientation of A, as a MatProduct of all columns at
  once. The product objects stay as long as the blocks do, so that a type's symbolic phase runs once a solve.

  PETSc's transposed product is A^T. In complex arithmetic A^H Y = conj(A^T conj(Y)).
*/
#include "blocklanczos.h"

/* The product with the first w columns of bx, into those of by */
static PetscErrorCode BlockProductApply(SVD svd, BlockProduct *p, BV bx, BV by, PetscInt w)
{
  SVD_BLOCKLANCZOS   *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov = &ctx->krylov;
  Mat                 X, Y;

  PetscFunctionBegin;
  PetscCall(BVSetActiveColumns(bx, 0, w));
  PetscCall(BVSetActiveColumns(by, 0, w));
  /* the scale is a power of two: large ones are exact in x, small ones in y */
  if (krylov->scale > 1.0) PetscCall(BVScale(bx, krylov->scale));
  PetscCall(BVGetMat(bx, &X));
  PetscCall(BVGetMat(by, &Y));
  if (PetscDefined(USE_COMPLEX) && p->transpose) PetscCall(MatConjugate(X));
  if (p->X != X || p->Y != Y) {
    if (p->Y && p->Y != Y) PetscCall(MatProductClear(p->Y));
    PetscCall(PetscObjectReference((PetscObject)X));
    PetscCall(PetscObjectReference((PetscObject)Y));
    PetscCall(MatDestroy(&p->X));
    PetscCall(MatDestroy(&p->Y));
    p->X = X;
    p->Y = Y;
    PetscCall(MatProductCreateWithMat(p->A, X, NULL, Y));
    PetscCall(MatProductSetType(Y, p->transpose ? MATPRODUCT_AtB : MATPRODUCT_AB));
    PetscCall(MatProductSetFromOptions(Y));
    PetscCall(MatProductSymbolic(Y));
  }
  PetscCall(MatProductNumeric(Y));
  if (PetscDefined(USE_COMPLEX) && p->transpose) {
    PetscCall(MatConjugate(X));
    PetscCall(MatConjugate(Y));
  }
  PetscCall(BVRestoreMat(bx, &X));
  PetscCall(BVRestoreMat(by, &Y));
  if (krylov->scale > 1.0) PetscCall(BVScale(bx, 1 / krylov->scale));
  if (krylov->scale < 1.0) PetscCall(BVScale(by, krylov->scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first w columns: by = scale A bx, with the long side's by */
PetscErrorCode SVDBlockLanczosForward(SVD svd, BV bx, BV by, PetscInt w)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  PetscCall(BlockProductApply(svd, &ctx->products.forward, bx, by, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first w columns: bx = scale A^H by, with the long side's by */
PetscErrorCode SVDBlockLanczosAdjoint(SVD svd, BV by, BV bx, PetscInt w)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  PetscCall(BlockProductApply(svd, &ctx->products.adjoint, by, bx, w));
  ctx->counts.vectors += w;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BlockProductReset(BlockProduct *p, Mat A, PetscBool transpose)
{
  PetscFunctionBegin;
  if (p->Y) PetscCall(MatProductClear(p->Y));
  PetscCall(MatDestroy(&p->X));
  PetscCall(MatDestroy(&p->Y));
  p->A         = A;
  p->transpose = transpose;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Drops the product objects, which belong to the matrix as it was, and sets again how A and A^H are applied: by the one stored matrix,
  or by SLEPc's two if the user wants an explicit transpose.
*/
PetscErrorCode SVDBlockLanczosResetProducts(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscInt          M = 0, N = 0;

  PetscFunctionBegin;
  if (svd->OP) PetscCall(MatGetSize(svd->OP, &M, &N));
  if (svd->expltrans) {
    PetscCall(BlockProductReset(&ctx->products.forward, svd->A, PETSC_FALSE));
    PetscCall(BlockProductReset(&ctx->products.adjoint, svd->AT, PETSC_FALSE));
    PetscCall(BlockProductReset(&ctx->products.adjointspare, svd->AT, PETSC_FALSE));
  } else {
    PetscCall(BlockProductReset(&ctx->products.forward, svd->OP, (PetscBool)(M < N)));
    PetscCall(BlockProductReset(&ctx->products.adjoint, svd->OP, (PetscBool)(M >= N)));
    PetscCall(BlockProductReset(&ctx->products.adjointspare, svd->OP, (PetscBool)(M >= N)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
