/* Random blocks: entry (i, j) is a function of a seed, the number of the column drawn, and the global i */
#include "blocklanczos.h"
#include "blockops/blockrandom.h"

/* The seed is that of the random context of svd->V or svd->U if the user has set one, otherwise always the same */
PetscErrorCode SVDBlockLanczosSeed(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx  = (SVD_BLOCKLANCZOS *)svd->data;
  PetscRandom       rand = svd->V->rand;
  PetscInt64        seed = 0;

  PetscFunctionBegin;
  if (!rand && svd->U) rand = svd->U->rand;
  if (rand) {
    PetscCall(PetscRandomGetSeed(rand, &seed));
    /* PETSc's default seed differs from process to process */
    PetscCallMPI(MPI_Bcast(&seed, 1, MPIU_INT64, 0, PetscObjectComm((PetscObject)svd)));
  }
  ctx->random.seed   = BlockRandomMix(seed);
  ctx->random.stream = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns [c0, c1) become independent random vectors of norm about 1 */
PetscErrorCode SVDBlockLanczosFillRandom(SVD svd, BV bv, PetscInt c0, PetscInt c1)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const BlockOps   *ops = ctx->blocks.ops;
  PetscScalar      *a;
  PetscInt          first, n, N, ld;
  PetscReal         factor;
  Mat               M = NULL;

  PetscFunctionBegin;
  if (c0 >= c1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(BV_SetRandom, bv, 0, 0, 0));
  PetscCall(BVGetSizes(bv, &n, &N, NULL));
  PetscCall(PetscLayoutGetRange(bv->map, &first, NULL));
  factor = 1 / PetscSqrtReal((PetscReal)(PetscDefined(USE_COMPLEX) ? 2 * N : N));
  if (ops) PetscCall(BlockGetArray(&ctx->blocks, bv, &a, &ld, &M));
  else {
    /* the host's array of whatever kind of vectors this is */
    PetscCall(BVGetLeadingDimension(bv, &ld));
    PetscCall(BVGetArray(bv, &a));
    ops = &BlockOpsHost;
  }
  for (PetscInt j = c0; j < c1; j++) PetscCall((*ops->random)(n, first, BlockRandomMix(ctx->random.seed ^ BlockRandomMix(ctx->random.stream++)), factor, a + (size_t)j * ld));
  if (ctx->blocks.ops) PetscCall(BlockRestoreArray(&ctx->blocks, bv, &a, &M));
  else PetscCall(BVRestoreArray(bv, &a));
  PetscCall(PetscLogEventEnd(BV_SetRandom, bv, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A small random array, the same on every process */
PetscErrorCode SVDBlockLanczosRandomSmall(SVD svd, PetscInt n, PetscScalar a[])
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt64  key = BlockRandomMix(ctx->random.seed ^ BlockRandomMix(ctx->random.stream++));

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) a[i] = BlockRandomNormal(key, i);
  PetscFunctionReturn(PETSC_SUCCESS);
}
