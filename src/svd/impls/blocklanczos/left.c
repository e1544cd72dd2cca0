/*
  Left vectors: stored in a BV, or computed when they are asked for, so that no nsv vectors of the long side are needed. In the second case a
  BV computes its column j as A v_j, divided by its norm. This is enough for SVDGetSingularTriplet() and SVDComputeError(), which take one
  column at a time; the BV has no other operation.
*/
#include "blocklanczos.h"

#define BVCOMPUTEDLEFT "computedleft"

typedef struct {
  Mat       A;
  BV        V;
  PetscReal rounding; /* a product with A whose norm is smaller than this is rounding */
} BV_COMPUTEDLEFT;

static PetscErrorCode BVGetColumn_ComputedLeft(BV bv, PetscInt j, Vec *v)
{
  const BV_COMPUTEDLEFT *ctx = (BV_COMPUTEDLEFT *)bv->data;
  const PetscInt         l   = BVAvailableVec;
  Vec                    right, left;
  PetscReal              most = 0.0, norm = 0.0;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(ctx->A, NULL, &left));
  PetscCall(BVGetColumn(ctx->V, j, &right));
  PetscCall(MatMult(ctx->A, right, left));
  PetscCall(BVRestoreColumn(ctx->V, j, &right));
  /* squares of its entries may overflow or vanish */
  PetscCall(VecNorm(left, NORM_INFINITY, &most));
  if (most > 0.0) {
    PetscCall(VecScale(left, 1 / most));
    PetscCall(VecNormalize(left, &norm));
  }
  if (most * norm <= ctx->rounding) PetscCall(VecDestroy(&left));
  PetscCheck(left, PetscObjectComm((PetscObject)bv), PETSC_ERR_ARG_WRONGSTATE,
             "The vector of the long side for a singular value that is zero but for rounding cannot be computed as A v / |A v|: solve with -svd_blocklanczos_left 1 or SVDBlockLanczosSetLeftVectors(svd, PETSC_TRUE)");
  bv->cv[l] = left;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BVRestoreColumn_ComputedLeft(BV bv, PetscInt j, Vec *v)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&bv->cv[j == bv->ci[0] ? 0 : 1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BVDestroy_ComputedLeft(BV bv)
{
  BV_COMPUTEDLEFT *ctx = (BV_COMPUTEDLEFT *)bv->data;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&ctx->A));
  PetscCall(BVDestroy(&ctx->V));
  PetscCall(PetscFree(bv->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BVCreate_ComputedLeft(BV bv)
{
  BV_COMPUTEDLEFT *ctx;

  PetscFunctionBegin;
  PetscCall(PetscNew(&ctx));
  bv->data               = ctx;
  bv->ops->getcolumn     = BVGetColumn_ComputedLeft;
  bv->ops->restorecolumn = BVRestoreColumn_ComputedLeft;
  bv->ops->destroy       = BVDestroy_ComputedLeft;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SVDBlockLanczosRegisterLeft(void)
{
  PetscFunctionBegin;
  PetscCall(BVRegister(BVCOMPUTEDLEFT, BVCreate_ComputedLeft));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Replaces svd->U by a new BV with the same random context */
static PetscErrorCode ReplaceLeft(SVD svd)
{
  BV U;

  PetscFunctionBegin;
  PetscCall(BVCreate(PetscObjectComm((PetscObject)svd), &U));
  if (svd->U && svd->U->rand) PetscCall(BVSetRandomContext(U, svd->U->rand));
  PetscCall(BVDestroy(&svd->U));
  svd->U = U;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes room for cols left vectors in svd->U */
PetscErrorCode SVDBlockLanczosAllocateLeft(SVD svd, PetscInt cols)
{
  PetscBool computed = PETSC_FALSE;
  PetscInt  have;

  PetscFunctionBegin;
  if (svd->U) PetscCall(PetscObjectTypeCompare((PetscObject)svd->U, BVCOMPUTEDLEFT, &computed));
  if (computed) PetscCall(ReplaceLeft(svd));
  if (!svd->U) PetscCall(SVDGetBV(svd, NULL, &svd->U));
  PetscCall(BVGetSizes(svd->U, NULL, NULL, &have));
  if (!have) PetscCall(SVDBlockLanczosSetSizes(svd, PETSC_TRUE, cols, svd->U));
  else if (have < cols) PetscCall(BVResize(svd->U, cols, PETSC_TRUE));
  ((SVD_BLOCKLANCZOS *)svd->data)->krylov.U = svd->U;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes svd->U store vectors, as many as svd->V, as other types of solvers expect */
PetscErrorCode SVDBlockLanczosGiveBackLeft(SVD svd)
{
  PetscInt columns, have = 0;

  PetscFunctionBegin;
  if (svd->U) PetscCall(BVGetSizes(svd->U, NULL, NULL, &have));
  if (!have) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BVGetSizes(svd->V, NULL, NULL, &columns));
  PetscCall(SVDBlockLanczosAllocateLeft(svd, columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After a solve that returns no stored left vectors: makes svd->U compute them; sigma1 is the norm of the matrix */
PetscErrorCode SVDBlockLanczosComputeLeftLater(SVD svd, PetscReal sigma1)
{
  BV_COMPUTEDLEFT *ctx;

  PetscFunctionBegin;
  PetscCall(ReplaceLeft(svd));
  PetscCall(BVSetType(svd->U, BVCOMPUTEDLEFT));
  PetscCall(SVDBlockLanczosSetSizes(svd, PETSC_TRUE, PetscMax(svd->nconv, 1), svd->U));
  ctx           = (BV_COMPUTEDLEFT *)svd->U->data;
  ctx->A        = svd->A;
  ctx->V        = svd->V;
  ctx->rounding = 100 * PETSC_MACHINE_EPSILON * sigma1;
  PetscCall(PetscObjectReference((PetscObject)svd->A));
  PetscCall(PetscObjectReference((PetscObject)svd->V));
  PetscFunctionReturn(PETSC_SUCCESS);
}
