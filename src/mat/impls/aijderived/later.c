/*
  Products that are left to the type underneath. Storing the nonzeros, or new values, takes as long as some products gain. So AIJ, on a device
  aijcusparse, computes the first products of a matrix, and nonzeros are stored once there have been so many that a program is likely to make many
  more (ski rental: Karlin, Manasse, Rudolph, Sleator, Algorithmica 3, 1988). A program that multiplies a matrix a few times, or changes its values
  between few products, takes no longer than with that type. If the values before had more products than new values cost, new values are stored at
  once, since programs do the same again.

  Products are counted, and nothing is measured, so that every run does the same. A product with a dense matrix stores at once. A matrix with settings
  that choose how it is stored, or that ask for the same bits every time, is stored at the first product, since before that results have the last bits
  of the type underneath. On a device this requires that the vectors are there, and the CSR: one that has to be copied there is stored at once.

  On a device the products of a parallel matrix are left to mpiaijcusparse as a whole, exchange included. All processes decide alike, by the state of
  the matrix, which is the same on all; the devices must be all there, and hold the blocks unless connecting the devices costs more than all else. On
  the host each process decides for its blocks, since their products are exchanged in the same way by both types.
*/
#include "seq.h"
#include "cusparse/cusparse.h"
#include "exchange/peer/peermemory.h"
#include "sys/threads.h"

/* Nonzeros are stored at the first product of every matrix */
static PetscBool AtOnce = PETSC_FALSE;

/* How many products the type underneath computes before nonzeros are stored, before new values of a stored pattern are, and as how many a product counts */
typedef struct {
  PetscInt store, refill, weight;
} Limits;

#define MOST 1000000 /* that are counted */

/*
  On a device storing costs some 150 A x, and with kernels to be loaded up to 1000; it gains most for A^T u, to which cuSPARSE adds atomically. Krylov
  methods and SVD solvers wait for some 27 pairs of products; a multigrid solve takes some twenty with an interpolation, which is fewer (S16 to S18).
*/
static Limits LimitsOnDevice(AIJOp op)
{
  return (Limits){.store = 300, .refill = 3, .weight = op == AIJ_N ? 1 : 10};
}

/*
  On the host AIJ has one thread. One thread of ours takes half of AIJ's time (C56); it gains nothing for small matrices, nor for A x, in cache, if AIJ
  multiplies three rows and more with the same columns together (inodes): these products do not count.
*/
#define HOST_SMALL   2000    /* nonzeros of a small matrix */
#define HOST_THREADS 16384   /* nonzeros below which there is one thread */
#define HOST_CACHE   1000000 /* nonzeros that a cache holds */

static Limits LimitsOnHost(const AIJCounts *c, AIJOp op)
{
  const PetscInt  threads = c->nnz < HOST_THREADS ? 1 : PetscCSRCGetNumThreads(NULL);
  const PetscBool gains   = c->nnz >= HOST_SMALL && (threads > 1 || op != AIJ_N || c->nnz >= HOST_CACHE || !c->inodes) ? PETSC_TRUE : PETSC_FALSE;

  return (Limits){.store = 6 + 6 / threads, .refill = 12 / threads, .weight = gains ? 1 : 0};
}

/* Before a product with a matrix in this state: begins to count anew if its values, or, which is returned, its pattern have changed since the last one */
static PetscBool Restart(AIJCounts *c, MatState now)
{
  const PetscBool pattern = now.id != c->state.id || now.nonzerostate != c->state.nonzerostate ? PETSC_TRUE : PETSC_FALSE;

  if (pattern || now.state != c->state.state) {
    c->before = pattern ? 0 : c->values;
    c->values = 0;
  }
  if (pattern) {
    c->pattern = 0;
    c->told    = PETSC_FALSE;
  }
  c->state = now;
  return pattern;
}

static PetscErrorCode RestartSeq(Mat A, MatState now)
{
  Mat_Derived *f = MatDerivedOf(A);
  MatInfo      info;
  PetscInt     ninodes = 0;

  PetscFunctionBegin;
  if (!Restart(&f->cache.counts, now)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  f->cache.counts.nnz = (PetscInt)info.nz_used;
  if (f->cusparse) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatInodeGetInodeSizes(A, &ninodes, NULL, NULL));
  f->cache.counts.inodes = ninodes && ninodes <= A->rmap->n / 3 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a product, which has been counted, should be computed from stored nonzeros from now on; samepattern: such are stored, with old values */
static PetscBool Pays(const AIJCounts *c, PetscBool samepattern, const Limits *l)
{
  if (samepattern) return c->values > l->refill || c->before >= l->refill ? PETSC_TRUE : PETSC_FALSE;
  return c->pattern >= l->store ? PETSC_TRUE : PETSC_FALSE;
}

/* Of products without stored nonzeros those count that values have beyond what new ones would cost: values that change again sooner gain nothing */
static PetscErrorCode Left(Mat A, AIJCounts *c, PetscBool samepattern, const Limits *l, const char type[])
{
  PetscFunctionBegin;
  if (!c->told) PetscCall(PetscInfo(A, "Products are left to %s until there have been as many as pay for storing the nonzeros, or their values\n", type));
  c->told = PETSC_TRUE;
  if (!samepattern) c->pattern = PetscMin(c->pattern + PetscMax(0, PetscMin(l->weight, c->values - l->refill)), MOST);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedLeaveInitialize(void)
{
  PetscFunctionBegin;
  AtOnce = PETSC_FALSE;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-mat_form_store_at_once", &AtOnce, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedStoreAtOnce(Mat A)
{
  AIJCounts *c = &MatDerivedOf(A)->cache.counts;
  MatState   now;

  PetscFunctionBegin;
  if (MatDerivedOf(A)->released || MatDerivedOf(A)->cache.source.get) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetState(A, &now));
  PetscCall(RestartSeq(A, now));
  c->values = c->pattern = MOST;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool MatDerivedMayLeave(Mat A)
{
  const Mat_Derived *f = MatDerivedOf(A);
  AIJPurpose         purpose;

  (*f->kind->getpurpose)(f->settings, f->cache.columns, &purpose);
  return !AtOnce && purpose.rents && A->assembled && !A->structure_only && !f->release && !f->released && !f->cache.source.get ? PETSC_TRUE : PETSC_FALSE;
}

/* Whether the type underneath can compute op(A) x + z where A multiplies. AIJ has no A^H u for complex numbers. */
static PetscBool CanLeave(Mat A, AIJOp op, Vec x, Vec z, Vec y)
{
  if (!MatDerivedMayLeave(A)) return PETSC_FALSE;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (MatDerivedOf(A)->cusparse) {
    if (A->cmap->n == 1) return PETSC_FALSE;                                     /* cuSPARSE's first product with a matrix of one column can be wrong (S19) */
    if (MatDerivedOf(A)->cache.counts.nnz > PETSC_INT32_MAX) return PETSC_FALSE; /* cuSPARSE's products fail (V38) */
    return (MatDerivedOf(A)->cache.left || MatDerivedCSROnDevice(A)) && MatDerivedVecOnDevice(x) && MatDerivedVecOnDevice(y) && MatDerivedVecOnDevice(z) ? PETSC_TRUE : PETSC_FALSE;
  }
#endif
  return !MatDerivedOnDevice(A) && !(PetscDefined(USE_COMPLEX) && op == AIJ_H) ? PETSC_TRUE : PETSC_FALSE;
}

/* y = op(A) x + z by the type underneath. For real numbers aijcusparse has no A^H u. AIJ's A^T u calls VecSet() or VecCopy() unless z is y. */
static PetscErrorCode Apply(Mat A, AIJOp op, Vec x, Vec z, Vec y)
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
  } else if (z) PetscCall(MatDerivedTransposeAdd(A, hermitian ? ops->multhermitiantransposeadd : ops->multtransposeadd, x, z, y));
  else PetscCall((*(hermitian ? ops->multhermitiantranspose : ops->multtranspose))(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedLeave(Mat A, AIJOp op, Vec x, Vec z, Vec y, PetscBool *done)
{
  Mat_Derived *f = MatDerivedOf(A);
  AIJCounts   *c = &f->cache.counts;
  MatState     now;
  Limits       limits;
  AIJChanged   changed;
  PetscBool    samepattern;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (f->release || f->released || f->cache.source.get) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetState(A, &now));
  PetscCall(RestartSeq(A, now));
  limits    = f->cusparse ? LimitsOnDevice(op) : LimitsOnHost(c, op);
  c->values = PetscMin(c->values + limits.weight, MOST);
  changed   = MatDerivedChangedSince(A, now);
  if (changed == AIJ_CHANGED_NOTHING) PetscFunctionReturn(PETSC_SUCCESS);
  samepattern = changed == AIJ_CHANGED_VALUES ? PETSC_TRUE : PETSC_FALSE;
  if ((!f->cache.left && Pays(c, samepattern, &limits)) || !CanLeave(A, op, x, z, y)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Left(A, c, samepattern, &limits, f->cusparse ? MATSEQAIJCUSPARSE : MATSEQAIJ));
  MatDerivedCallLent(A, Apply(A, op, x, z, y));
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
/* mpiaijcusparse's exchange takes longer, so that fewer products pay (G8). The first exchange of a communicator connects each pair of devices (S20). */
static Limits LimitsOnDevices(AIJOp op, PetscBool connected, PetscMPIInt size)
{
  return (Limits){.store = connected ? 75 : 50 * PetscMin(size, 20) * PetscMin(size, 20), .refill = 3, .weight = op == AIJ_N ? 1 : 5};
}

/*
  Whether all processes multiply on devices, and have their blocks there; asked when the state of the matrix has changed, also by processes that can use
  no device while others can
*/
static PetscErrorCode AgreeOnDevices(Mat A, MatState now)
{
  Mat_Derived *f      = MatDerivedOf(A);
  AIJParallel *p      = &f->parallel;
  PetscBool    all[2] = {f->cusparse && MatDerivedOnDevice(A) ? PETSC_TRUE : PETSC_FALSE, PETSC_TRUE};
  Mat          blocks[2];

  PetscFunctionBegin;
  if (now.id == p->counts.state.id && now.nonzerostate == p->counts.state.nonzerostate && now.state == p->counts.state.state) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDerivedGetBlocks(A, &blocks[0], &blocks[1], NULL));
  for (int k = 0; k < 2; k++) {
    MatInfo info;

    PetscCall(MatGetInfo(blocks[k], MAT_LOCAL, &info));
    if ((info.nz_used > 0 && !MatDerivedCSROnDevice(blocks[k])) || info.nz_used > PETSC_INT32_MAX) all[1] = PETSC_FALSE;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, all, 2, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  p->alldevices = all[0];
  p->allthere   = all[1];
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
  else PetscCall(MatDerivedTransposeAdd(A, ops->multtransposeadd, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode MatDerivedLeaveMPI(Mat A, AIJOp op, Vec x, Vec z, Vec y, PetscBool *done)
{
  PetscFunctionBegin;
  *done = PETSC_FALSE;
#if defined(PETSCCSRC_HAVE_CUDA)
  Mat_Derived             *f = MatDerivedOf(A);
  AIJParallel             *p = &f->parallel;
  PetscCSRCExchangePattern pattern;
  Mat                      blocks[2];
  MatState                 now;
  PetscBool                samepattern, connected;
  PetscMPIInt              size;
  Limits                   limits;
  PetscErrorCode           ierr;

  if (!f->kind->usesdevice || !MatDerivedMayLeave(A) || f->exchange != PETSCCSRC_EXCHANGE_AUTO) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetState(A, &now));
  PetscCall(AgreeOnDevices(A, now));
  (void)Restart(&p->counts, now);
  if (!p->alldevices) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCSRCPeersAsked(PetscObjectComm((PetscObject)A), &connected));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  limits           = LimitsOnDevices(op, connected, size);
  p->counts.values = PetscMin(p->counts.values + limits.weight, MOST);
  samepattern      = p->exchange && p->mat == A && p->state.id == now.id && p->state.nonzerostate == now.nonzerostate ? PETSC_TRUE : PETSC_FALSE;
  if (samepattern && p->state.state == now.state) PetscFunctionReturn(PETSC_SUCCESS); /* they are stored */
  PetscCall(MatDerivedPatternForTests(&pattern));
  if (pattern != PETSCCSRC_PATTERN_AUTO) PetscFunctionReturn(PETSC_SUCCESS);
  if (!p->allthere && (connected || size < 3)) PetscFunctionReturn(PETSC_SUCCESS);
  if (Pays(&p->counts, samepattern, &limits)) PetscFunctionReturn(PETSC_SUCCESS);
  if (!MatDerivedVecOnDevice(x) || !MatDerivedVecOnDevice(y) || !MatDerivedVecOnDevice(z)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Left(A, &p->counts, samepattern, &limits, MATMPIAIJCUSPARSE));
  PetscCall(MatDerivedGetBlocks(A, &blocks[0], &blocks[1], NULL));
  for (int k = 0; k < 2; k++) MatDerivedOf(blocks[k])->cache.left = PETSC_TRUE;
  ierr = ApplyMPI(A, op, x, z, y);
  for (int k = 0; k < 2; k++) MatDerivedOf(blocks[k])->cache.left = PETSC_FALSE;
  PetscCall(ierr);
  *done = PETSC_TRUE;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
