/*
  Products of the matrix with dense blocks: Y = A X and X = A^H Y for the tall orientation of A, as one MatProduct for all columns. The
  product objects are kept as long as the blocks, so that the symbolic phase runs once in a solve.

  A matrix with a low-rank part, A + U C V^H (MATLRC), is multiplied as such: MatProduct sees A, and the other part is added where the blocks are, without
  waiting for a device. PETSc itself would multiply column by column, and with complex scalars it takes U C V^H for U C V^T in the transposed product.

  PETSc's transposed product is A^T. In complex arithmetic A^H Y = conj(A^T conj(Y)).
*/
#include "blocklanczos.h"

/* by = A bx, or A^H bx, for the active columns */
static PetscErrorCode ApplyToBlock(BlockProduct *p, BV bx, BV by)
{
  Mat X, Y;

  PetscFunctionBegin;
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
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ApplyToColumns(const BlockProduct *p, BV bx, BV by, PetscInt w)
{
  PetscFunctionBegin;
  for (PetscInt j = 0; j < w; j++) {
    Vec x, y;

    PetscCall(BVGetColumn(bx, j, &x));
    PetscCall(BVGetColumn(by, j, &y));
    PetscCall(MatMult(p->A, x, y));
    PetscCall(BVRestoreColumn(bx, j, &x));
    PetscCall(BVRestoreColumn(by, j, &y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator without its low-rank part; lowrank: it has one */
PetscErrorCode SVDBlockLanczosGetRest(SVD svd, Mat *A, PetscBool *lowrank)
{
  PetscFunctionBegin;
  *A = svd->OP;
  PetscCall(PetscObjectTypeCompare((PetscObject)svd->OP, MATLRC, lowrank));
  if (*lowrank) PetscCall(MatLRCGetMats(svd->OP, A, NULL, NULL, NULL));
  if (!*A) { /* it has no other part */
    *A       = svd->OP;
    *lowrank = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies the columns of F, multiplied by the entries of c, to a BV like another one */
static PetscErrorCode CopyFactor(Mat F, Vec c, BV like, BV *bv)
{
  const PetscScalar *scale = NULL;
  PetscInt           r;

  PetscFunctionBegin;
  PetscCall(MatGetSize(F, NULL, &r));
  PetscCall(BVDuplicateResize(like, r, bv));
  if (c) PetscCall(VecGetArrayRead(c, &scale));
  for (PetscInt j = 0; j < r; j++) {
    Vec x;

    PetscCall(MatDenseGetColumnVecRead(F, j, &x));
    PetscCall(BVInsertVec(*bv, j, x));
    PetscCall(MatDenseRestoreColumnVecRead(F, j, &x));
    if (c) PetscCall(BVScaleColumn(*bv, j, scale[j]));
  }
  if (c) PetscCall(VecRestoreArrayRead(c, &scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* by += U C V^H bx, or V (U C)^H bx */
static PetscErrorCode AddLowRankPart(SVD svd, PetscBool transpose, BV bx, BV by, PetscInt w)
{
  SVD_BLOCKLANCZOS     *ctx      = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosProducts *products = &ctx->products;
  Mat                   U, V;
  Vec                   c;

  PetscFunctionBegin;
  if (!products->UC) {
    PetscCall(MatLRCGetMats(svd->OP, NULL, &U, &c, &V));
    PetscCall(CopyFactor(U, c, transpose ? bx : by, &products->UC));
    PetscCall(CopyFactor(V, NULL, transpose ? by : bx, &products->V));
  }
  PetscCall(BlockAddLowRank(&ctx->blocks, by, transpose ? products->V : products->UC, transpose ? products->UC : products->V, bx, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Applies the product to the first w columns of bx; the result is in those of by */
static PetscErrorCode BlockProductApply(SVD svd, BlockProduct *p, BV bx, BV by, PetscInt w)
{
  /*
    Powers of two, which do not round. A scale above one is applied to x; one below in two parts, to x, since A x may overflow without it,
    and to y, since x would vanish with all of it.
  */
  const PetscReal scale  = ((SVD_BLOCKLANCZOS *)svd->data)->krylov.scale;
  const PetscReal before = scale >= 1.0 ? scale : PetscPowReal(2, PetscFloorReal(PetscLog2Real(scale) / 2)), after = scale / before;

  PetscFunctionBegin;
  PetscCall(BVSetActiveColumns(bx, 0, w));
  PetscCall(BVSetActiveColumns(by, 0, w));
  if (before != 1.0) PetscCall(BVScale(bx, before));
  if (p->columns) PetscCall(ApplyToColumns(p, bx, by, w));
  else {
    PetscCall(ApplyToBlock(p, bx, by));
    if (p->lowrank) PetscCall(AddLowRankPart(svd, p->transpose, bx, by, w));
  }
  if (before != 1.0) PetscCall(BVScale(bx, 1 / before));
  if (after != 1.0) PetscCall(BVScale(by, after));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* by = scale A bx for the first w columns; by is on the long side */
PetscErrorCode SVDBlockLanczosForward(SVD svd, BV bx, BV by, PetscInt w)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  PetscCall(BlockProductApply(svd, &ctx->products.forward, bx, by, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bx = scale A^H by for the first w columns; by is on the long side */
PetscErrorCode SVDBlockLanczosAdjoint(SVD svd, BV by, BV bx, PetscInt w)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  PetscCall(BlockProductApply(svd, &ctx->products.adjoint, by, bx, w));
  ctx->counts.vectors += w;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BlockProductReset(BlockProduct *p, Mat A, PetscBool transpose, PetscBool columns, PetscBool lowrank)
{
  PetscFunctionBegin;
  if (p->Y) PetscCall(MatProductClear(p->Y));
  PetscCall(MatDestroy(&p->X));
  PetscCall(MatDestroy(&p->Y));
  p->A         = A;
  p->transpose = transpose;
  p->columns   = columns;
  p->lowrank   = lowrank;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Destroys the product objects, which may belong to another matrix, and sets how A and A^H are applied: both with the stored matrix, or
  with SLEPc's two matrices if the user wants an explicit transpose, or if a complex matrix has products with A^H, but none with A^T,
  which MatProduct would need.
*/
PetscErrorCode SVDBlockLanczosResetProducts(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscInt          M = 0, N = 0;
  PetscBool         stored = PETSC_TRUE, lowrank = PETSC_FALSE;
  Mat               A = NULL;

  PetscFunctionBegin;
  PetscCall(BVDestroy(&ctx->products.UC));
  PetscCall(BVDestroy(&ctx->products.V));
  if (svd->OP) {
    PetscCall(MatGetSize(svd->OP, &M, &N));
    PetscCall(SVDBlockLanczosGetRest(svd, &A, &lowrank));
  }
  if (PetscDefined(USE_COMPLEX) && svd->OP && svd->A && svd->AT) PetscCall(MatHasOperation(svd->OP, MATOP_MULT_TRANSPOSE, &stored));
  if (svd->expltrans || !stored) {
    PetscCall(BlockProductReset(&ctx->products.forward, svd->A, PETSC_FALSE, (PetscBool)!stored, PETSC_FALSE));
    PetscCall(BlockProductReset(&ctx->products.adjoint, svd->AT, PETSC_FALSE, (PetscBool)!stored, PETSC_FALSE));
    PetscCall(BlockProductReset(&ctx->products.adjointspare, svd->AT, PETSC_FALSE, (PetscBool)!stored, PETSC_FALSE));
  } else {
    PetscCall(BlockProductReset(&ctx->products.forward, A, (PetscBool)(M < N), PETSC_FALSE, lowrank));
    PetscCall(BlockProductReset(&ctx->products.adjoint, A, (PetscBool)(M >= N), PETSC_FALSE, lowrank));
    PetscCall(BlockProductReset(&ctx->products.adjointspare, A, (PetscBool)(M >= N), PETSC_FALSE, lowrank));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
