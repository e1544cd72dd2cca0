/*
  Block size and basis size.

  A wider block makes a column of a product cheaper, since the matrix is read once for all of them, but needs more columns in all:
  about b^0.55 times as many, the guard included, on matrices of every kind that was tried. So the model is

    b^0.55 (products(b) + dense(b) + calls) / b

  in bytes moved, for a step of a block of b columns: the matrix and its gathered operands twice; the block against the basis twice,
  and the block by itself. A gather costs no less than a sector of 32 bytes, and more where the short side's block does not stay in
  the cache. calls is what launches and reductions take, as the bytes that could be moved meanwhile.
*/
#include "blocklanczos.h"

/* Bytes of a matrix entry with its share of indices; gathered bytes as they count when they come from the cache, and when not */
#define ENTRY_BYTES   (sizeof(PetscScalar) + 4.0)
#define GATHER_CACHED 0.7
#define GATHER_MEMORY 1.6

typedef struct {
  PetscReal bandwidth; /* bytes in a second */
  PetscReal cache;     /* bytes */
  PetscReal calls;     /* seconds in a step */
} Machine;

static const Machine device = {3.5e12, 4e7, 4e-5};
static const Machine host   = {2e10, 1e7, 5e-6};

/* Half of the basis stays at a restart: the wanted triplets and room for a few steps, the more the narrower the blocks are */
PetscInt SVDBlockLanczosBasisSize(PetscInt nsv, PetscInt bs)
{
  return (nsv + 8 * bs + 48 + bs - 1) / bs * bs;
}

static PetscReal Cost(const Machine *machine, PetscMPIInt ranks, PetscReal m, PetscReal n, PetscReal nnz, PetscInt nsv, PetscInt bs)
{
  const PetscReal scalar = sizeof(PetscScalar), basis = 0.75 * SVDBlockLanczosBasisSize(nsv, bs);
  const PetscReal gather   = n * bs * scalar > machine->cache * ranks ? GATHER_MEMORY : GATHER_CACHED;
  const PetscReal products = 2 * nnz * (ENTRY_BYTES + gather * PetscMax(bs * scalar, 32)) + 2 * (m + n) * bs * scalar;
  const PetscReal dense    = n * scalar * (2 * (basis + bs) + 17 * bs);
  /* four reductions in a step, over a tree of processes */
  const PetscReal calls = (machine->calls + 4 * 2e-6 * PetscLog2Real((PetscReal)ranks)) * machine->bandwidth;

  return PetscPowReal((PetscReal)bs, 0.55) / bs * ((products + dense) / ranks + calls);
}

static PetscErrorCode BlockSize(SVD svd, PetscInt nsv, PetscInt *bs)
{
  PetscInt    M, N;
  PetscReal   nnz, best = PETSC_MAX_REAL;
  PetscBool   hasinfo, cpu;
  VecType     type;
  PetscMPIInt ranks;

  PetscFunctionBegin;
  PetscCall(MatGetSize(svd->OP, &M, &N));
  PetscCall(MatHasOperation(svd->OP, MATOP_GETINFO, &hasinfo));
  if (hasinfo) {
    MatInfo info;

    PetscCall(MatGetInfo(svd->OP, MAT_GLOBAL_SUM, &info));
    nnz = (PetscReal)info.nz_used;
  } else nnz = (PetscReal)10 * M;
  PetscCall(MatGetVecType(svd->OP, &type));
  PetscCall(PetscStrcmpAny(type, &cpu, VECSTANDARD, VECSEQ, VECMPI, ""));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)svd), &ranks));
  for (PetscInt b = 4; b <= 16; b *= 2) {
    const PetscReal cost = Cost(cpu ? &host : &device, ranks, (PetscReal)PetscMax(M, N), (PetscReal)PetscMin(M, N), nnz, nsv, b);

    if (cost < best) {
      best = cost;
      *bs  = b;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets svd->ncv and svd->mpd, and tells the block size */
PetscErrorCode SVDBlockLanczosChooseSizes(SVD svd, PetscInt *blocksize)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscInt          nsv = PetscMax(svd->nsv, 1), bs = ctx->bs_user, ncv = svd->ncv;

  PetscFunctionBegin;
  if (bs == PETSC_DETERMINE) {
    PetscCall(BlockSize(svd, nsv, &bs));
    if (svd->mpd != PETSC_DETERMINE) bs = PetscMax(PetscMin(bs, svd->mpd / 6), 1);
    if (ncv != PETSC_DETERMINE && ncv < ctx->n) bs = PetscMax(PetscMin(bs, (ncv - nsv) / 4), 1);
  }
  bs = PetscMin(bs, ctx->n);
  if (ncv == PETSC_DETERMINE) ncv = svd->mpd == PETSC_DETERMINE ? SVDBlockLanczosBasisSize(nsv, bs) : nsv + svd->mpd;
  ncv = PetscMin(ncv, ctx->n);
  /* a restart and the guard both need room for some blocks beyond the wanted triplets */
  if (ncv < PetscMin(ctx->n, nsv + 4 * bs)) {
    PetscCall(PetscInfo(svd, "ncv raised from %" PetscInt_FMT " to %" PetscInt_FMT ": room for four blocks of %" PetscInt_FMT " beyond the %" PetscInt_FMT " values wanted\n", ncv, PetscMin(ctx->n, nsv + 4 * bs), bs, nsv));
    ncv = PetscMin(ctx->n, nsv + 4 * bs);
  }
  svd->mpd   = svd->mpd == PETSC_DETERMINE ? ncv : PetscMin(ncv, PetscMax(svd->mpd, 4 * bs));
  svd->ncv   = ncv;
  *blocksize = bs;
  PetscFunctionReturn(PETSC_SUCCESS);
}
