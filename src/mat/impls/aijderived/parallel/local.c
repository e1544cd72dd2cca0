/*
  Data for the products of a parallel matrix: the exchange of ghost entries, and the sequential matrices that are multiplied.

  With the pattern lists these are the two blocks of MPIAIJ, or, in place of the off-diagonal block, a matrix of those of its rows that have
  nonzeros (rows.c). With the pattern gather, where nearly every process needs nearly every column, all rows of a process are one matrix
  (whole.c).

  After a change of the matrix, storing the nonzeros can fail on one process only, for lack of memory on its device. The state of the
  matrix, which is the same on all processes, tells them that it has changed; all processes then agree on whether storing has succeeded.
*/
#include "parallel.h"

/* Nonzeros of a diagonal block from which the exchange should overlap its product: a device then takes some 20 microseconds */
#define OVERLAP_NONZEROS 4e6

static PetscErrorCode CreateExchange(Mat A, Mat Ad, Mat Ao, const PetscInt garray[])
{
  Mat_Derived             *f = MatDerivedOf(A);
  AIJParallel             *p = &f->parallel;
  PetscCSRCExchangeRequest request;
  MatInfo                  info;
  PetscLogDouble           nnz;
  char                     text[256];

  PetscFunctionBegin;
  PetscCall(MatGetInfo(Ao, MAT_LOCAL, &info));
  nnz = info.nz_used;
  PetscCall(MatGetInfo(Ad, MAT_LOCAL, &info));
  nnz += info.nz_used;
  request.layout   = A->cmap;
  request.nghosts  = Ao->cmap->n;
  request.ghosts   = garray;
  request.ondevice = MatDerivedOnDevice(A);
  request.lists    = f->released || nnz > (PetscLogDouble)PETSC_INT_MAX ? PETSC_TRUE : PETSC_FALSE; /* the matrix of all rows is made from the CSR, and counts its nonzeros */
  request.overlap  = info.nz_used >= OVERLAP_NONZEROS ? PETSC_TRUE : PETSC_FALSE;
  request.type     = f->exchange;
  request.pernode  = 0;
  PetscCall(MatDerivedPatternForTests(&request.pattern));
  PetscCall(PetscCSRCExchangeCreate(PetscObjectComm((PetscObject)A), &request, &p->exchange));
  PetscCall(PetscCSRCExchangeDescribe(p->exchange, text, sizeof(text)));
  PetscCall(PetscInfo(A, "Exchange of vectors %s\n", text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The part of the update without communication. Ghost entries get their memory here, where all processes can agree on a failure. */
static PetscErrorCode UpdateLocal(Mat A, Mat Ao)
{
  AIJParallel *p = &MatDerivedOf(A)->parallel;
  PetscInt     stride;

  PetscFunctionBegin;
  PetscCall(PetscCSRCExchangeGetGhosts(p->exchange, NULL, &stride));
  if (stride) PetscCall(MatDerivedUpdateWhole(A));
  else PetscCall(MatDerivedUpdateOff(A, Ao));
  if (p->ghost) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDerivedVecMade(MatCreateVecs(stride ? p->whole : Ao, &p->ghost, NULL), &p->ghost));
  PetscCall(MatDerivedVecMade(VecBindToCPU(p->ghost, MatDerivedOnDevice(A) ? PETSC_FALSE : PETSC_TRUE), &p->ghost));
  PetscCall(MatDerivedVecAllocate(&p->ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedGetLocal(Mat A, Mat local[2], int *n)
{
  const AIJParallel *p = &MatDerivedOf(A)->parallel;

  PetscFunctionBegin;
  *n = p->whole ? 1 : 2;
  if (p->whole) local[0] = p->whole;
  else PetscCall(MatDerivedGetBlocks(A, &local[0], &local[1], NULL));
  if (p->off) local[1] = p->off;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Stores the nonzeros before the product, which would otherwise store them itself: here all processes can agree on a failure. On the host each process
  decides for itself when it stores its blocks, if they may be left to AIJ; with aijcusparse underneath they are stored at once (later.c).
*/
static PetscErrorCode StoreLocal(Mat A, PetscInt K)
{
  Mat local[2];
  int n;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetLocal(A, local, &n));
  for (int k = 0; k < n; k++) {
    if (K == 1 && !MatDerivedOnDevice(A) && !MatDerivedOf(local[k])->cusparse && MatDerivedMayLeave(local[k])) continue;
    if (K > 1) PetscCall(MatDerivedExpectColumns(local[k], K));
    PetscCall(MatDerivedUpdate(local[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode UpdateAndStore(Mat A, Mat Ao, PetscInt K)
{
  PetscFunctionBegin;
  PetscCall(UpdateLocal(A, Ao));
  PetscCall(MatDerivedPrepareOff(A));
  PetscCall(StoreLocal(A, K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedUpdateMPI(Mat A, PetscInt K)
{
  AIJParallel    *p = &MatDerivedOf(A)->parallel;
  Mat             Ad, Ao;
  const PetscInt *garray;
  PetscSF         sf = NULL;
  MatState        now;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetBlocks(A, &Ad, &Ao, &garray));
  if (!MatDerivedOf(A)->released) PetscCall(MatGetMultPetscSF(A, &sf)); /* otherwise the ghosts stay the same */
  PetscCall(MatGetState(A, &now));
  if (p->exchange && p->sf != sf) PetscCall(MatDerivedResetMPI(A));
  if (p->exchange && p->mat == A && p->state.state == now.state && p->state.nonzerostate == now.nonzerostate && p->state.id == now.id) {
    PetscCall(UpdateLocal(A, Ao));
    PetscCall(MatDerivedPrepareOff(A)); /* a block's pattern may have changed without A's state */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!p->exchange) {
    PetscCall(CreateExchange(A, Ad, Ao, garray));
    PetscCall(PetscObjectReference((PetscObject)sf));
    p->sf = sf;
  }
  PetscCall(PetscCSRCAgree(PetscObjectComm((PetscObject)A), UpdateAndStore(A, Ao, K), "Storing the nonzeros"));
  p->mat   = A;
  p->state = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedResetMPI(Mat A)
{
  PetscFunctionBegin;
  PetscCall(AIJParallelReset(&MatDerivedOf(A)->parallel));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJParallelReset(AIJParallel *p)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&p->whole));
  PetscCall(AIJParallelResetOff(p));
  PetscCall(VecDestroy(&p->ghost));
  PetscCall(MatDestroy(&p->rows));
  PetscCall(PetscCSRCExchangeDestroy(&p->exchange));
  PetscCall(PetscSFDestroy(&p->sf));
  p->mat = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
