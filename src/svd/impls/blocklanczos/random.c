/*
  Random blocks: entry (i, j) of a block is a function of a seed, the number of the block, and the global i and j. So a solve
  starts from the same block on any number of processes and in any memory.
*/
#include "blocklanczos.h"

/* The finaliser of splitmix64: every bit of the result depends on every bit of x */
static inline PetscInt64 Mix(PetscInt64 x)
{
  uint64_t z = (uint64_t)x + UINT64_C(0x9e3779b97f4a7c15);

  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (PetscInt64)(z ^ (z >> 31));
}

/* A normal number (complex: in both parts) from a hash, by the method of Box and Muller */
static inline PetscScalar Normal(PetscInt64 h)
{
  const uint64_t  u = (uint64_t)h;
  const PetscReal a = ((PetscReal)(u >> 32) + (PetscReal)0.5) / (PetscReal)4294967296.0;
  const PetscReal b = (PetscReal)(u & UINT64_C(0xffffffff)) / (PetscReal)4294967296.0;
  const PetscReal r = PetscSqrtReal(-2 * PetscLogReal(a)), t = 2 * PETSC_PI * b;

#if PetscDefined(USE_COMPLEX)
  return PetscCMPLX(r * PetscCosReal(t), r * PetscSinReal(t));
#else
  return r * PetscCosReal(t);
#endif
}

/* The seed is that of the random context of either BV if the user asked for one, else always the same */
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
  ctx->seed   = Mix(seed);
  ctx->stream = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns [c0, c1) become independent random vectors of norm about 1 */
PetscErrorCode SVDBlockLanczosFillRandom(SVD svd, BV bv, PetscInt c0, PetscInt c1)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscScalar      *a;
  PetscInt          start, n, N, ld;
  PetscReal         factor;

  PetscFunctionBegin;
  if (c0 >= c1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(BV_SetRandom, bv, 0, 0, 0));
  PetscCall(BVGetSizes(bv, &n, &N, NULL));
  PetscCall(BVGetLeadingDimension(bv, &ld));
  PetscCall(PetscLayoutGetRange(bv->map, &start, NULL));
  factor = 1 / PetscSqrtReal((PetscReal)(PetscDefined(USE_COMPLEX) ? 2 * N : N));
  PetscCall(BVGetArray(bv, &a));
  for (PetscInt j = c0; j < c1; j++) {
    const PetscInt64 key = Mix(ctx->seed ^ Mix(ctx->stream++));

    for (PetscInt i = 0; i < n; i++) a[i + (size_t)j * ld] = factor * Normal(Mix(key ^ (PetscInt64)(start + i)));
  }
  PetscCall(BVRestoreArray(bv, &a));
  PetscCall(PetscLogEventEnd(BV_SetRandom, bv, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A small random array, the same on every process */
PetscErrorCode SVDBlockLanczosRandomSmall(SVD svd, PetscInt n, PetscScalar a[])
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt64  key = Mix(ctx->seed ^ Mix(ctx->stream++));

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) a[i] = Normal(Mix(key ^ (PetscInt64)i));
  PetscFunctionReturn(PETSC_SUCCESS);
}
