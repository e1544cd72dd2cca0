/* The arrays and BVs that hold the state: made, enlarged with what they hold, and freed */
#include "blocklanczos.h"

/* A BV of cols columns like the short (left = false) or the long side's vectors, of the type of svd->V */
static PetscErrorCode CreateBV(SVD svd, PetscBool left, PetscInt cols, BV *bv)
{
  Vec right, leftv;

  PetscFunctionBegin;
  PetscCall(MatCreateVecsEmpty(svd->A, &right, &leftv));
  PetscCall(BVCreate(PetscObjectComm((PetscObject)svd), bv));
  PetscCall(BVSetType(*bv, ((PetscObject)svd->V)->type_name));
  PetscCall(BVSetSizesFromVec(*bv, left ? leftv : right, cols));
  PetscCall(VecDestroy(&right));
  PetscCall(VecDestroy(&leftv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for a basis of ncv columns and blocks of bs; what the state holds is kept */
PetscErrorCode SVDBlockLanczosAllocate(SVD svd, PetscInt ncv, PetscInt bs)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    ld = ctx->ld, b = ctx->bs, k = ctx->k;

  PetscFunctionBegin;
  if (ctx->X && bs != b) {
    PetscCall(SVDBlockLanczosResetProducts(svd));
    PetscCall(BVResize(ctx->X, bs, PETSC_TRUE));
    PetscCall(BVResize(ctx->Z, bs, PETSC_FALSE));
    PetscCall(BVResize(ctx->spare, bs, PETSC_FALSE));
    PetscCall(BVResize(ctx->W, bs, PETSC_FALSE));
    ctx->wready = ctx->zready = PETSC_FALSE;
  }
  if (!ctx->X) {
    PetscCall(CreateBV(svd, PETSC_FALSE, bs, &ctx->X));
    PetscCall(CreateBV(svd, PETSC_FALSE, bs, &ctx->Z));
    PetscCall(CreateBV(svd, PETSC_FALSE, bs, &ctx->spare));
    PetscCall(CreateBV(svd, PETSC_TRUE, bs, &ctx->W));
  }
  if (ld != ncv || b != bs) {
    PetscScalar   *T, *C;
    PetscReal     *dropped;
    OmegaEstimate *omega = &ctx->omega;

    PetscCall(PetscCalloc2(ncv * ncv, &T, bs * ncv, &C));
    PetscCall(PetscCalloc1(ncv, &dropped));
    for (PetscInt j = 0; j < k; j++) {
      PetscCall(PetscArraycpy(T + j * ncv, ctx->T + j * ld, k));
      PetscCall(PetscArraycpy(C + j * bs, ctx->C + j * b, PetscMin(ctx->w, bs)));
      dropped[j] = ctx->dropped[j];
    }
    PetscCall(PetscFree2(ctx->T, ctx->C));
    PetscCall(PetscFree(ctx->dropped));
    PetscCall(PetscFree5(ctx->Y, ctx->P, ctx->F, ctx->tau, ctx->work));
    PetscCall(PetscFree2(ctx->S, ctx->res));
    ctx->T       = T;
    ctx->C       = C;
    ctx->dropped = dropped;
    PetscCall(PetscMalloc5(ncv * ncv, &ctx->Y, ncv * ncv, &ctx->P, bs * ncv, &ctx->F, ncv, &ctx->tau, SMALL_EIGEN_WORK(ncv), &ctx->work));
    PetscCall(PetscMalloc2(ncv, &ctx->S, ncv, &ctx->res));
    PetscCall(PetscFree(omega->base));
    PetscCall(PetscMalloc1(ncv * (ncv + 4 * bs) + 3 * bs * bs, &omega->base));
    omega->G     = omega->base;
    omega->g     = omega->G + ncv * ncv;
    omega->N     = omega->g + ncv * bs;
    omega->work  = omega->N + ncv * bs;
    omega->E     = omega->work + 2 * ncv * bs;
    omega->a     = omega->E + bs * bs;
    omega->Rinv  = omega->a + bs * bs;
    omega->valid = PETSC_FALSE;
    omega->ngram = 0;
    ctx->ld = ctx->blocks.maxk = ncv;
    ctx->bs = ctx->blocks.maxw = bs;
    ctx->projected             = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for cols left vectors in svd->U */
PetscErrorCode SVDBlockLanczosAllocateLeft(SVD svd, PetscInt cols)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscInt          have;

  PetscFunctionBegin;
  if (!svd->U) PetscCall(SVDGetBV(svd, NULL, &svd->U));
  PetscCall(BVGetSizes(svd->U, NULL, NULL, &have));
  if (!have) {
    Vec left;

    PetscCall(BVSetType(svd->U, ((PetscObject)svd->V)->type_name));
    PetscCall(MatCreateVecsEmpty(svd->A, NULL, &left));
    PetscCall(BVSetSizesFromVec(svd->U, left, cols));
    PetscCall(VecDestroy(&left));
  } else if (have < cols) PetscCall(BVResize(svd->U, cols, PETSC_TRUE));
  ctx->U = svd->U;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SVDBlockLanczosFree(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  PetscCall(BlockWorkspaceReset(&ctx->blocks));
  PetscCall(SVDBlockLanczosResetProducts(svd));
  PetscCall(BVDestroy(&ctx->X));
  PetscCall(BVDestroy(&ctx->Z));
  PetscCall(BVDestroy(&ctx->spare));
  PetscCall(BVDestroy(&ctx->W));
  ctx->U = NULL;
  PetscCall(PetscFree2(ctx->T, ctx->C));
  PetscCall(PetscFree(ctx->dropped));
  PetscCall(PetscFree5(ctx->Y, ctx->P, ctx->F, ctx->tau, ctx->work));
  PetscCall(PetscFree2(ctx->S, ctx->res));
  PetscCall(PetscFree(ctx->omega.base));
  PetscCall(SVDBlockLanczosHistoryForget(svd));
  ctx->k = ctx->w = ctx->ld = ctx->bs = ctx->blocks.maxk = ctx->blocks.maxw = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
