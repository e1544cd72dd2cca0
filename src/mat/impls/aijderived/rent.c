/*
  Products that are left to the type underneath. Storing the nonzeros, or new values, takes as long as some products gain. So AIJ, on a device
  aijcusparse, multiplies until it has lost twice the time that storing takes; then the nonzeros are stored (ski rental: Karlin, Manasse, Rudolph,
  Sleator, Algorithmica 3, 1988). A program that multiplies a matrix a few times, or changes its values between few products, takes no longer than
  with that type. Any other program loses at most a small part of its time. If the values before had more products than that, new values are stored
  at once, since programs do the same again.

  Times are estimated from the numbers of nonzeros, columns and threads, not measured, so that every run does the same. A product with a dense
  matrix stores at once. A matrix with settings that choose how it is stored, or that ask for the same bits every time, is stored at the first
  product, since before that results have the last bits of the type underneath. On a device this requires that the vectors are there, and the
  CSR: one that has to be copied there is stored at once.

  On a device the products of a parallel matrix are left to mpiaijcusparse as a whole, exchange included. All processes decide alike: by the most
  nonzeros of a process, the mean number of columns, whether kernels are still to be loaded on any, and whether the devices are connected already;
  and if all blocks are on devices, or if connecting the devices costs more than all else. On the host each process decides for its blocks, since
  their products are exchanged in the same way by both types.
*/
#include "derivedimpl.h"
#include "exchange/peer/peermemory.h"
#include "sys/threads.h"

/*
  In microseconds: how much longer it takes to store all nonzeros than only to give new values to a stored pattern; how long that takes; how much longer
  a product takes if nothing is stored
*/
typedef struct {
  PetscReal store, refill, product;
} Costs;

/* Nonzeros are stored at the first product of every matrix */
static PetscBool AtOnce = PETSC_FALSE;

/* True while mpiaijcusparse computes a product: the blocks then leave theirs to seqaijcusparse, whatever was counted */
static PetscBool LeftToMPI = PETSC_FALSE;

/* Whether a matrix of this process has been stored on the device, so that kernels are loaded */
static PetscBool Loaded = PETSC_FALSE;

#define PARALLEL_PRODUCT 36  /* on two H200s, without a GPU-aware MPI: what mpiaijcusparse's exchange takes longer (G8) ... */
#define PARALLEL_STORE   500 /* ... and the set-up of ours */
/* On a communicator's first exchange each process opens the memory of all others, one after the other (G11); with NCCL it takes a second */
#define PARALLEL_OPEN  2000
#define PARALLEL_FIRST 1e6

/*
  On an H200 (S17, S18). The first stored matrix also waits until kernels are loaded (3300). cuSPARSE adds to A^T u atomically; where columns have
  many nonzeros, these additions wait for each other. A^T u counts four times, and so stores new values at once: Krylov methods and SVD solvers,
  which multiply often, are to wait for a few pairs of products only, and a multigrid solve takes ten or twenty with an interpolation, which remain
  below the limit. n: the number of columns.
*/
static Costs CostsOnDevice(PetscInt nnz, PetscInt n, AIJOp op, PetscBool loaded, PetscBool parallel)
{
  const PetscReal million = (PetscReal)1e-6 * nnz, start = 4 + (parallel ? PARALLEL_PRODUCT : 0);

  return (Costs){
    .store   = 2 * (500 + (parallel ? PARALLEL_STORE : 0) + (loaded ? 0 : 3300) + 120 * million),
    .refill  = 3 * (4 + 2 * million),
    .product = op == AIJ_N ? start + 2 * million : 4 * (start + (nnz / PetscMax(n, 1) < 100 ? 4 : 20) * million),
  };
}

/*
  In programs on an EPYC with AVX-512 (C56). AIJ has one thread and takes 0.9 ns a nonzero; less than half of that for A x if three rows and more have
  the same columns (inodes), unless the matrix exceeds the cache. A thread of ours takes 0.4 and 0.5. A product of ours takes longer to begin, so
  that the smallest matrices are best left to AIJ. New values take half as long where they fit the coding that was chosen for others.
*/
#define HOST_THREADS 16384   /* nonzeros below which there is one thread */
#define HOST_CACHE   1000000 /* nonzeros that a cache holds */

static Costs CostsOnHost(PetscInt nnz, PetscBool inodes, AIJOp op)
{
  const PetscReal thousand = (PetscReal)1e-3 * nnz, threads = nnz < HOST_THREADS ? 1 : PetscCSRCGetNumThreads(NULL);
  const PetscReal aij = op == AIJ_N && inodes && nnz < HOST_CACHE ? (PetscReal)0.4 : (PetscReal)0.9, ours = op == AIJ_N ? (PetscReal)0.4 : (PetscReal)0.5;

  return (Costs){
    .store   = 20 + (4 + 2 / threads) * thousand,
    .refill  = 6 / threads * thousand,
    .product = PetscMax(0, (aij - ours / threads) * thousand - (PetscReal)0.7),
  };
}

/* Restarts the counts if values or pattern of A have changed since the last product */
static PetscErrorCode Restart(Mat A, PetscBool *pattern, PetscBool *values)
{
  Mat_Derived *f = MatDerivedOf(A);
  MatState     now;

  PetscFunctionBegin;
  PetscCall(MatGetState(A, &now));
  *pattern = now.id != f->rent.state.id || now.nonzerostate != f->rent.state.nonzerostate ? PETSC_TRUE : PETSC_FALSE;
  *values  = now.state != f->rent.state.state || *pattern ? PETSC_TRUE : PETSC_FALSE;
  if (*pattern) {
    f->rent.lost   = 0;
    f->rent.told   = PETSC_FALSE;
    f->rent.before = f->rent.values = 0;
    PetscCall(PetscArrayzero(f->rent.begun, AIJ_H + 1));
  } else if (*values) {
    f->rent.before = f->rent.values;
    f->rent.values = 0;
  }
  f->rent.state = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Notice(Mat A)
{
  Mat_Derived *f = MatDerivedOf(A);
  MatInfo      info;
  PetscInt     ninodes;
  PetscBool    pattern = PETSC_FALSE, values;

  PetscFunctionBegin;
  PetscCall(Restart(A, &pattern, &values));
  if (!pattern) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  PetscCall(MatInodeGetInodeSizes(A, &ninodes, NULL, NULL));
  f->rent.nnz    = (PetscInt)info.nz_used;
  f->rent.inodes = ninodes && ninodes <= A->rmap->n / 3 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool MatDerivedMayRent(Mat A)
{
  const Mat_Derived *f = MatDerivedOf(A);
  AIJPurpose         purpose;

  (*f->kind->getpurpose)(f->settings, f->columns, &purpose);
  return !AtOnce && purpose.rents && A->assembled && !A->structure_only && !f->release && !f->released ? PETSC_TRUE : PETSC_FALSE;
}

/* Whether the type underneath can compute op(A) x + z where A multiplies. AIJ has no A^H u for complex numbers. */
static PetscBool CanRent(Mat A, AIJOp op, Vec x, Vec z, Vec y)
{
  if (!MatDerivedMayRent(A)) return PETSC_FALSE;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (MatDerivedOf(A)->cusparse) return (LeftToMPI || MatDerivedCSROnDevice(A)) && MatDerivedVecOnDevice(x) && MatDerivedVecOnDevice(y) && MatDerivedVecOnDevice(z) ? PETSC_TRUE : PETSC_FALSE;
#else
  (void)x;
  (void)z;
  (void)y;
#endif
  return !MatDerivedOnDevice(A) && !(PetscDefined(USE_COMPLEX) && op == AIJ_H) ? PETSC_TRUE : PETSC_FALSE;
}

/*
  y = op(A) x + z by the type underneath. aijcusparse's A^T u + z is wrong if z is another vector than y; for real numbers it has no A^H u. AIJ's
  A^T u calls VecSet() or VecCopy() unless z is y.
*/
static PetscErrorCode ApplyOnce(Mat A, AIJOp op, Vec x, Vec z, Vec y)
{
  const Mat_Derived    *f         = MatDerivedOf(A);
  const struct _MatOps *ops       = &f->base;
  const PetscBool       hermitian = PetscDefined(USE_COMPLEX) && op == AIJ_H ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  if (op == AIJ_N && z) {
    PetscCall((*ops->multadd)(A, x, z, y));
  } else if (op == AIJ_N) {
    PetscCall((*ops->mult)(A, x, y));
  } else if (!f->cusparse) {
    PetscCall(MatDerivedCopyEntries(z, y));
    PetscCall((*ops->multtransposeadd)(A, x, y, y));
  } else {
    if (z && z != y) PetscCall(VecCopy(z, y));
    if (z) PetscCall((*(hermitian ? ops->multhermitiantransposeadd : ops->multtransposeadd))(A, x, y, y));
    else PetscCall((*(hermitian ? ops->multhermitiantranspose : ops->multtranspose))(A, x, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
/* ApplyOnce() without a result. Its memory is not that of PETSc's vectors, with which the device's memory pool begins to be used: this takes 12 ms (S20). */
static PetscErrorCode ApplyForNothing(Mat A, AIJOp op, Vec x)
{
  const PetscInt n = op == AIJ_N ? A->rmap->n : A->cmap->n;
  PetscErrorCode ierr;
  PetscScalar   *a = NULL;
  Vec            w;

  PetscFunctionBegin;
  PetscCall(PetscCSRCDeviceMalloc("the result of a product", (size_t)n * sizeof(*a), &a));
  ierr = VecCreateSeqCUDAWithArray(PETSC_COMM_SELF, 1, n, a, &w);
  if (!ierr) {
    ierr = ApplyOnce(A, op, x, NULL, w);
    PetscCall(VecDestroy(&w));
  }
  PetscCall(PetscCSRCDeviceFree(&a));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* ApplyOnce(). The first product of cuSPARSE with a matrix can be wrong, and the same product is right when it is repeated (S19): so it is repeated. */
static PetscErrorCode Apply(Mat A, AIJOp op, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
#if defined(PETSCCSRC_HAVE_CUDA)
  Mat_Derived *f = MatDerivedOf(A);

  if (f->cusparse && !f->rent.begun[op]) {
    if (z == y) PetscCall(ApplyForNothing(A, op, x));
    else PetscCall(ApplyOnce(A, op, x, NULL, y));
    f->rent.begun[op] = PETSC_TRUE;
  }
#endif
  PetscCall(ApplyOnce(A, op, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether op(A) x + z, with stored nonzeros of the same pattern or without, should be computed from stored nonzeros from now on */
static PetscBool Pays(const Mat_Derived *f, PetscBool samepattern, const Costs *costs)
{
  if (samepattern) return f->rent.values > costs->refill || f->rent.before >= costs->refill ? PETSC_TRUE : PETSC_FALSE;
  return f->rent.lost >= costs->store ? PETSC_TRUE : PETSC_FALSE;
}

/* Counts a product that is left to the type underneath. Without stored nonzeros products lose the time by which they exceed what new values would take to store. */
static PetscErrorCode Count(Mat A, PetscBool samepattern, const Costs *costs, const char type[])
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  if (!f->rent.told) PetscCall(PetscInfo(A, "Products are left to %s until storing the nonzeros, or their values, would have paid back\n", type));
  f->rent.told = PETSC_TRUE;
  if (!samepattern) f->rent.lost += PetscMax(0, PetscMin(costs->product, f->rent.values - costs->refill));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedRentInitialize(void)
{
  PetscFunctionBegin;
  AtOnce = PETSC_FALSE;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-mat_form_store_at_once", &AtOnce, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedStoreAtOnce(Mat A)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  if (f->released) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Notice(A));
  f->rent.values = f->rent.lost = PETSC_MAX_REAL;
  if (f->cusparse) Loaded = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedRent(Mat A, AIJOp op, Vec x, Vec z, Vec y, PetscBool *done)
{
  Mat_Derived *f = MatDerivedOf(A);
  Costs        costs;
  PetscBool    samepattern, pays;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (f->release || f->released) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Notice(A));
  costs = f->cusparse ? CostsOnDevice(f->rent.nnz, A->cmap->n, op, Loaded, PETSC_FALSE) : CostsOnHost(f->rent.nnz, f->rent.inodes, op);
  f->rent.values += costs.product;
  samepattern = f->built && f->mat == A && f->ondevice == MatDerivedOnDevice(A) && f->state.id == f->rent.state.id && f->state.nonzerostate == f->rent.state.nonzerostate ? PETSC_TRUE : PETSC_FALSE;
  if (samepattern && f->state.state == f->rent.state.state) PetscFunctionReturn(PETSC_SUCCESS); /* they are stored */
  pays = LeftToMPI && f->cusparse ? PETSC_FALSE : Pays(f, samepattern, &costs);
  if (pays && f->cusparse) Loaded = PETSC_TRUE;
  if (pays || !CanRent(A, op, x, z, y)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Count(A, samepattern, &costs, f->cusparse ? MATSEQAIJCUSPARSE : MATSEQAIJ));
  MatDerivedCallLent(A, Apply(A, op, x, z, y));
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
/*
  Notice() for a parallel matrix, whose state is the same on all processes: the largest number of nonzeros of a process; whether all multiply on
  devices, have the CSR of their blocks there, and have loaded kernels. Also called by processes that can use no device while others can.
*/
static PetscErrorCode NoticeMPI(Mat A)
{
  Mat_Derived *f = MatDerivedOf(A);
  Mat          blocks[2];
  PetscBool    pattern, values = PETSC_FALSE;
  PetscInt     most[4] = {0, f->cusparse && MatDerivedOnDevice(A) ? 0 : 1, Loaded ? 0 : 1, 0};
  double       nnz     = 0; /* of both blocks, perhaps more than an integer can count */

  PetscFunctionBegin;
  PetscCall(Restart(A, &pattern, &values));
  if (!values) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDerivedGetBlocks(A, &blocks[0], &blocks[1], NULL));
  for (int k = 0; k < 2; k++) {
    MatInfo info;

    PetscCall(MatGetInfo(blocks[k], MAT_LOCAL, &info));
    nnz += info.nz_used;
    if (info.nz_used > 0 && !MatDerivedCSROnDevice(blocks[k])) most[3] = 1;
  }
  most[0] = (PetscInt)PetscMin(nnz, (double)PETSC_INT_MAX);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, most, 4, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  f->rent.nnz      = most[0];
  f->rent.usable   = most[1] ? PETSC_FALSE : PETSC_TRUE;
  f->rent.loaded   = most[2] ? PETSC_FALSE : PETSC_TRUE;
  f->rent.ondevice = most[3] ? PETSC_FALSE : PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PETSc's functions for mpiaijcusparse multiply with both blocks, which are of our sequential type: they leave their products to seqaijcusparse for this
  time. z is copied here, by all processes: a block without nonzeros would not do it.
*/
static PetscErrorCode ApplyMPI(Mat A, AIJOp op, Vec x, Vec z, Vec y)
{
  const struct _MatOps *ops = &MatDerivedOf(A)->base;

  PetscFunctionBegin;
  if (op == AIJ_N && z) PetscCall((*ops->multadd)(A, x, z, y));
  else if (op == AIJ_N) PetscCall((*ops->mult)(A, x, y));
  else if (!z) PetscCall((*ops->multtranspose)(A, x, y));
  else {
    if (z != y) PetscCall(VecCopy(z, y));
    PetscCall((*ops->multtransposeadd)(A, x, y, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode MatDerivedRentMPI(Mat A, AIJOp op, Vec x, Vec z, Vec y, PetscBool *done)
{
  PetscFunctionBegin;
  *done = PETSC_FALSE;
#if defined(PETSCCSRC_HAVE_CUDA)
  Mat_Derived             *f = MatDerivedOf(A);
  const AIJParallel       *p = &f->parallel;
  PetscCSRCExchangePattern pattern;
  PetscBool                samepattern, asked;
  PetscMPIInt              size;
  PetscReal                open = 0;
  Costs                    costs;
  PetscErrorCode           ierr;

  PetscCall(MatDerivedPatternForTests(&pattern));
  if (!f->kind->usesdevice || !MatDerivedMayRent(A) || p->type != PETSCCSRC_EXCHANGE_AUTO || pattern != PETSCCSRC_PATTERN_AUTO) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(NoticeMPI(A));
  if (!f->cusparse) PetscFunctionReturn(PETSC_SUCCESS); /* and the others know by now that one cannot use a device */
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  costs = CostsOnDevice(f->rent.nnz, A->cmap->N / size, op, f->rent.loaded, PETSC_TRUE);
  f->rent.values += costs.product;
  samepattern = p->exchange && p->mat == A && p->state.id == f->rent.state.id && p->state.nonzerostate == f->rent.state.nonzerostate ? PETSC_TRUE : PETSC_FALSE;
  if (samepattern && p->state.state == f->rent.state.state) PetscFunctionReturn(PETSC_SUCCESS); /* they are stored */
  PetscCall(PetscCSRCPeersAsked(PetscObjectComm((PetscObject)A), &asked));
  if (!asked) open = (PetscReal)PetscMin(PARALLEL_OPEN * (double)size * (size - 1), PARALLEL_FIRST);
  if (!f->rent.usable || (!f->rent.ondevice && open < costs.store)) PetscFunctionReturn(PETSC_SUCCESS);
  costs.store += open;
  if (Pays(f, samepattern, &costs)) {
    Loaded = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!MatDerivedOnDevice(A) || !MatDerivedVecOnDevice(x) || !MatDerivedVecOnDevice(y) || !MatDerivedVecOnDevice(z)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Count(A, samepattern, &costs, MATMPIAIJCUSPARSE));
  LeftToMPI = PETSC_TRUE;
  ierr      = ApplyMPI(A, op, x, z, y);
  LeftToMPI = PETSC_FALSE;
  PetscCall(ierr);
  *done = PETSC_TRUE;
#else
  (void)A;
  (void)op;
  (void)x;
  (void)z;
  (void)y;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
