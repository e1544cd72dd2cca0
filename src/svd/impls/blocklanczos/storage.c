/* Creates, enlarges (with their contents) and frees the arrays and BVs of the state */
#include "blocklanczos.h"

/*
  Sets the type of svd->V, unless there is one, and sizes for cols vectors of the short side (left = false) or of the long side. Columns are stored without a gap: some of
  PETSc's products (A^T U of MATMPIDENSE, A U of MATNORMAL) write their result as if its leading dimension were the number of rows.
*/
PetscErrorCode SVDBlockLanczosSetSizes(SVD svd, PetscBool left, PetscInt cols, BV bv)
{
  Vec       v;
  PetscInt  n;
  PetscBool isvecs;

  PetscFunctionBegin;
  PetscCall(MatCreateVecsEmpty(svd->A, left ? NULL : &v, left ? &v : NULL));
  PetscCall(VecGetLocalSize(v, &n));
  if (!((PetscObject)bv)->type_name) PetscCall(BVSetType(bv, ((PetscObject)svd->V)->type_name));
  PetscCall(PetscObjectTypeCompare((PetscObject)bv, BVVECS, &isvecs)); /* its vectors have an array each */
  if (!isvecs) bv->ld = PetscMax(n, 1);                                /* BVSetLeadingDimension() wants the same number on all processes */
  PetscCall(BVSetSizesFromVec(bv, v, cols));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SVDBlockLanczosCreateBV(SVD svd, PetscBool left, PetscInt cols, BV *bv)
{
  PetscFunctionBegin;
  PetscCall(BVCreate(PetscObjectComm((PetscObject)svd), bv));
  PetscCall(SVDBlockLanczosSetSizes(svd, left, cols, *bv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a BV has vectors of another size on this process than v */
static PetscErrorCode HasOtherSize(BV bv, Vec v, int *differs)
{
  PetscInt n, have, cols = 0;

  PetscFunctionBegin;
  if (bv) PetscCall(BVGetSizes(bv, NULL, NULL, &cols)); /* the other sizes may be asked for only if they are set */
  if (!cols) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(BVGetSizes(bv, &have, NULL, NULL));
  if (have != n) *differs = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns [c0, c1) of a BV to or from an array of this process's rows */
PetscErrorCode SVDBlockLanczosCopyColumns(BV V, PetscInt c0, PetscInt c1, PetscInt n, PetscBool into, PetscScalar a[])
{
  PetscFunctionBegin;
  for (PetscInt c = c0; c < c1; c++) {
    PetscScalar *x;
    Vec          v;

    PetscCall(BVGetColumn(V, c, &v));
    PetscCall(VecGetArray(v, &x));
    if (into) PetscCall(PetscArraycpy(x, a + (PetscCount)(c - c0) * n, n));
    else PetscCall(PetscArraycpy(a + (PetscCount)(c - c0) * n, x, n));
    PetscCall(VecRestoreArray(v, &x));
    PetscCall(BVRestoreColumn(V, c, &v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees what is left of solves with an operator of other sizes. SLEPc does so itself, but not if a setting has changed, too, since the last solve. */
PetscErrorCode SVDBlockLanczosForgetOtherSizes(SVD svd)
{
  int differs = 0;
  Vec right, left;

  PetscFunctionBegin;
  PetscCall(MatCreateVecsEmpty(svd->A, &right, &left));
  PetscCall(HasOtherSize(svd->V, right, &differs));
  PetscCall(HasOtherSize(svd->U, left, &differs));
  PetscCall(HasOtherSize(((SVD_BLOCKLANCZOS *)svd->data)->krylov.W, left, &differs));
  PetscCall(VecDestroy(&right));
  PetscCall(VecDestroy(&left));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &differs, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)svd)));
  if (!differs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SVDReset_BlockLanczos(svd));
  PetscCall(BVDestroy(&svd->U));
  PetscCall(BVDestroy(&svd->V));
  PetscCall(VecDestroyVecs(svd->nworkl, &svd->workl));
  PetscCall(VecDestroyVecs(svd->nworkr, &svd->workr));
  svd->nworkl = svd->nworkr = 0;
  PetscCall(SVDGetBV(svd, &svd->V, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FreeSmall(SVD_BLOCKLANCZOS *ctx)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(ctx->krylov.T, ctx->krylov.C, ctx->krylov.dropped));
  PetscCall(PetscFree7(ctx->projected.Y, ctx->projected.P, ctx->projected.F, ctx->projected.tau, ctx->projected.work, ctx->projected.S, ctx->projected.res));
  PetscCall(PetscFree(ctx->projected.converged));
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
    PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_FALSE, bs, &krylov->X));
    PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_FALSE, bs, &krylov->Z));
    PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_FALSE, bs, &krylov->spare));
    PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_TRUE, bs, &krylov->W));
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
    PetscCall(PetscMalloc1(ncv, &projected->converged));
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
