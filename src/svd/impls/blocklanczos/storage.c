/* Creates, enlarges (with their contents) and frees the arrays and BVs of the state */
#include "blocklanczos.h"

/* Creates a BV of cols columns of the type of svd->V, with vectors of the short side (left = false) or of the long side */
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

static PetscErrorCode FreeSmall(SVD_BLOCKLANCZOS *ctx)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(ctx->krylov.T, ctx->krylov.C, ctx->krylov.dropped));
  PetscCall(PetscFree7(ctx->projected.Y, ctx->projected.P, ctx->projected.F, ctx->projected.tau, ctx->projected.work, ctx->projected.S, ctx->projected.res));
  PetscCall(PetscFree(ctx->omega.base));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes room for a basis of ncv columns and blocks of bs; keeps the contents of the state */
PetscErrorCode SVDBlockLanczosAllocate(SVD svd, PetscInt ncv, PetscInt bs)
{
  SVD_BLOCKLANCZOS      *ctx       = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov    *krylov    = &ctx->krylov;
  BlockLanczosProjected *projected = &ctx->projected;
  const PetscInt         ld = krylov->ld, b = krylov->bs, k = krylov->k;

  PetscFunctionBegin;
  if (krylov->X && bs != b) {
    PetscCall(SVDBlockLanczosResetProducts(svd));
    PetscCall(BVResize(krylov->X, bs, PETSC_TRUE));
    PetscCall(BVResize(krylov->Z, bs, PETSC_FALSE));
    PetscCall(BVResize(krylov->spare, bs, PETSC_FALSE));
    PetscCall(BVResize(krylov->W, bs, PETSC_FALSE));
    krylov->wready = krylov->zready = PETSC_FALSE;
  }
  if (!krylov->X) {
    PetscCall(CreateBV(svd, PETSC_FALSE, bs, &krylov->X));
    PetscCall(CreateBV(svd, PETSC_FALSE, bs, &krylov->Z));
    PetscCall(CreateBV(svd, PETSC_FALSE, bs, &krylov->spare));
    PetscCall(CreateBV(svd, PETSC_TRUE, bs, &krylov->W));
  }
  if (ld != ncv || b != bs) {
    PetscScalar   *T, *C;
    PetscReal     *dropped;
    OmegaEstimate *omega = &ctx->omega;

    PetscCall(PetscCalloc3(ncv * ncv, &T, bs * ncv, &C, ncv, &dropped));
    for (PetscInt j = 0; j < k; j++) {
      PetscCall(PetscArraycpy(T + j * ncv, krylov->T + j * ld, k));
      PetscCall(PetscArraycpy(C + j * bs, krylov->C + j * b, PetscMin(krylov->w, bs)));
      dropped[j] = krylov->dropped[j];
    }
    PetscCall(FreeSmall(ctx));
    krylov->T       = T;
    krylov->C       = C;
    krylov->dropped = dropped;
    PetscCall(PetscMalloc7(ncv * ncv, &projected->Y, ncv * ncv, &projected->P, bs * ncv, &projected->F, ncv, &projected->tau, SMALL_EIGEN_WORK(ncv), &projected->work, ncv, &projected->S, ncv, &projected->res));
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
    krylov->ld = ctx->blocks.maxk = ncv;
    krylov->bs = ctx->blocks.maxw = bs;
    projected->solved             = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SVDReset_BlockLanczos(SVD svd)
{
  SVD_BLOCKLANCZOS   *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov = &ctx->krylov;

  PetscFunctionBegin;
  PetscCall(BlockWorkspaceReset(&ctx->blocks));
  PetscCall(SVDBlockLanczosResetProducts(svd));
  PetscCall(BVDestroy(&krylov->X));
  PetscCall(BVDestroy(&krylov->Z));
  PetscCall(BVDestroy(&krylov->spare));
  PetscCall(BVDestroy(&krylov->W));
  krylov->U = NULL;
  PetscCall(FreeSmall(ctx));
  PetscCall(SVDBlockLanczosHistoryForget(svd));
  SVDBlockLanczosCertificateForget(svd);
  PetscCall(SVDBlockLanczosRecurrenceForget(svd));
  krylov->k = krylov->w = krylov->ld = krylov->bs = ctx->blocks.maxk = ctx->blocks.maxw = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
