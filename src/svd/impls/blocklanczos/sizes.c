/*
  Block size and basis size.

  A wider block makes each column of a product cheaper, since the matrix is read once for all columns. But a solve needs more columns in
  all: about b^0.55 times as many, on all kinds of matrices that were tried. The cost of a solve is therefore proportional to

    b^0.55 / b (products(b) + dense(b) + calls + waiting(b))

  where the sum is the time in seconds of a step with a block of b columns. products is a measured time for each nonzero, longer if the
  block of the short side does not fit the cache, and the time to move the blocks; dense is the time to move the data of short steps, and
  of one full step and a restart in each cycle; calls is the time of launches and reductions; waiting is the time for which a device has
  no work, from the end of the next two products until the host has solved the projected problem.

  The cheapest of 4, 8 and 16 columns is taken. Two columns are not considered: with two, the guard is needed for a certificate
  (docs/svd.md).
*/
#include "blocklanczos.h"

/* Block sizes considered: 4, 8, 16 */
#define NSIZES 3

typedef struct {
  PetscReal entry[NSIZES]; /* seconds for a nonzero in a product with A and one with A^H */
  PetscReal gather;        /* additional seconds for each nonzero and column if the short block does not fit the cache */
  PetscReal cache;         /* bytes of that cache */
  PetscReal bandwidth;     /* bytes per second */
  PetscReal calls;         /* seconds for launches in a step */
  PetscReal projected;     /* seconds for a projected problem of order 100 */
  PetscBool concurrent;
} Machine;

/* One H200 with csrccuda, and a processor with some cores. Only ratios matter. */
static const Machine device = {
  {2.2e-11, 3.1e-11, 5.8e-11},
  2.7e-12, 2e6, 3.2e12, 7e-5, 7e-4, PETSC_TRUE
};
static const Machine host = {
  {2.3e-9, 3.8e-9, 7.2e-9},
  7e-10, 1e7, 2e10, 5e-6, 6e-4, PETSC_FALSE
};

/* A restart keeps two fifths of the basis. These should hold the wanted triplets, and the rest should leave room for several steps */
PetscInt64 SVDBlockLanczosBasisSize(PetscInt64 nsv, PetscInt64 bs)
{
  return (nsv + 72 + PetscMax(4 * bs, 16) + bs - 1) / bs * bs;
}

static PetscReal Cost(const Machine *machine, PetscMPIInt ranks, PetscReal m, PetscReal n, PetscReal nnz, PetscInt nsv, PetscInt size)
{
  const PetscReal b = 4 << size, scalar = sizeof(PetscScalar), basis = PetscMin((PetscReal)SVDBlockLanczosBasisSize(nsv, 4 << size), n);
  const PetscReal gather   = n * b * scalar > machine->cache * ranks ? machine->gather * b : 0;
  const PetscReal products = (nnz * (machine->entry[size] + gather) + 3 * (m + n) * b * scalar / machine->bandwidth) / ranks;
  /* a step reads or writes nine blocks, a cycle of basis / (2 b) steps the basis some six times */
  const PetscReal dense = n * scalar * (9 + 12) * b / machine->bandwidth / ranks;
  /* four reductions in a step, over a tree of processes */
  const PetscReal calls     = machine->calls + 4 * 2e-6 * PetscLog2Real((PetscReal)ranks);
  const PetscReal projected = machine->projected * PetscPowReal(basis / 100, (PetscReal)2.2) - (machine->concurrent ? products : 0);
  const PetscReal waiting   = PetscMax(projected, 0) / (basis / 2 / b);

  return PetscPowReal(b, 0.55) / b * (products + dense + calls + waiting);
}

static PetscErrorCode BlockSize(SVD svd, PetscInt nsv, PetscInt *bs)
{
  PetscInt    M, N;
  PetscReal   nnz, best = PETSC_MAX_REAL;
  PetscBool   hasinfo, cpu, lowrank;
  Mat         A;
  VecType     type;
  PetscMPIInt ranks;

  PetscFunctionBegin;
  PetscCall(MatGetSize(svd->OP, &M, &N));
  PetscCall(SVDBlockLanczosGetRest(svd, &A, &lowrank));
  PetscCall(MatHasOperation(A, MATOP_GETINFO, &hasinfo));
  if (hasinfo) {
    MatInfo info;

    PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
    nnz = (PetscReal)info.nz_used;
  } else nnz = (PetscReal)10 * M;
  PetscCall(MatGetVecType(svd->OP, &type));
  PetscCall(PetscStrcmpAny(type, &cpu, VECSTANDARD, VECSEQ, VECMPI, ""));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)svd), &ranks));
  for (PetscInt size = 0; size < NSIZES; size++) {
    const PetscReal cost = Cost(cpu ? &host : &device, ranks, (PetscReal)PetscMax(M, N), (PetscReal)PetscMin(M, N), nnz, nsv, size);

    if (cost < best) {
      best = cost;
      *bs  = 4 << size;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Checks that a PetscInt can count the entries of every small array of a solve with a basis of ncv vectors: those of storage.c, of the
  estimate (nine values of lambda at a time) and of the recurrence. Called before any of them is allocated or enlarged.
*/
PetscErrorCode SVDBlockLanczosCheckSizes(SVD svd, PetscInt ncv, PetscInt bs)
{
  const double n = (double)ncv, b = (double)bs, room = PetscMax(PetscMax(SMALL_EIGEN_WORK(n), n * (n + 4 * b) + 3 * b * b), PetscMax(10 * b * (n + b), 3 * BLOCKLANCZOS_LANES * b * b));

  PetscFunctionBegin;
  PetscCheck(room <= (double)PETSC_INT_MAX, PetscObjectComm((PetscObject)svd), PETSC_ERR_ARG_OUTOFRANGE,
             "A basis of %" PetscInt_FMT " vectors (ncv), in blocks of %" PetscInt_FMT ", needs an array of %.0f entries on the host, more than %" PetscInt_FMT
             ": ask for fewer values, lower -svd_ncv or -svd_blocklanczos_blocksize, or use a PETSc with 64-bit integers",
             ncv, bs, room, PETSC_INT_MAX);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets svd->ncv and svd->mpd, and returns the block size */
PetscErrorCode SVDBlockLanczosChooseSizes(SVD svd, PetscInt *blocksize)
{
  SVD_BLOCKLANCZOS   *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov = &ctx->krylov;
  PetscInt            nsv = PetscMax(svd->nsv, 1), bs = ctx->settings.bs, ncv = svd->ncv, least;

  PetscFunctionBegin;
  if (bs == PETSC_DETERMINE) {
    PetscCall(BlockSize(svd, nsv, &bs));
    if (svd->mpd != PETSC_DETERMINE) bs = PetscMax(PetscMin(bs, svd->mpd / 6), 1);
    if (ncv != PETSC_DETERMINE && ncv < krylov->n) bs = PetscMax(PetscMin(bs, (ncv - nsv) / 4), 1);
  }
  bs = PetscMin(bs, krylov->n);
  if (ncv == PETSC_DETERMINE) ncv = (PetscInt)PetscMin(krylov->n, svd->mpd == PETSC_DETERMINE ? SVDBlockLanczosBasisSize(nsv, bs) : (PetscInt64)nsv + svd->mpd);
  ncv = PetscMin(ncv, krylov->n);
  /* restarts and the guard need room for some blocks beyond the wanted triplets */
  least = (PetscInt)PetscMin(krylov->n, nsv + 4 * (PetscInt64)(ctx->settings.certify != 0.0 ? PetscMax(bs, BLOCKLANCZOS_GUARD_WIDTH) : bs));
  if (ncv < least) {
    PetscCall(PetscInfo(svd, "ncv raised from %" PetscInt_FMT " to %" PetscInt_FMT ": room for four blocks of %" PetscInt_FMT ", and of the guard, beyond the %" PetscInt_FMT " values wanted\n", ncv, least, bs, nsv));
    ncv = least;
  }
  PetscCall(SVDBlockLanczosCheckSizes(svd, ncv, bs));
  svd->mpd   = svd->mpd == PETSC_DETERMINE ? ncv : PetscMin(ncv, PetscMax(svd->mpd, 4 * PetscMax(bs, BLOCKLANCZOS_GUARD_WIDTH)));
  svd->ncv   = ncv;
  *blocksize = bs;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Enlarges the basis and keeps its contents */
PetscErrorCode SVDBlockLanczosEnlarge(SVD svd, PetscInt ncv, PetscInt bs)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    old = svd->ncv;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosCheckSizes(svd, PetscMax(ncv, old), bs));
  if (ncv > old) {
    if (svd->mpd == old) svd->mpd = ncv;
    if (ctx->settings.auto_ncv == old) ctx->settings.auto_ncv = ncv;
    if (ctx->settings.auto_mpd == old) ctx->settings.auto_mpd = ncv;
    svd->ncv = ncv;
    PetscCall(SVDReallocateSolution(svd, ncv + 1));
    for (PetscInt i = old; i < ncv; i++) svd->perm[i] = i;
  }
  PetscCall(SVDBlockLanczosAllocate(svd, svd->ncv, bs));
  if (ctx->krylov.twosided) PetscCall(SVDBlockLanczosAllocateLeft(svd, svd->ncv));
  PetscFunctionReturn(PETSC_SUCCESS);
}
