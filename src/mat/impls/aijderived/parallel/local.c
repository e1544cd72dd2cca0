/*
  Data for the products of a parallel matrix: the exchange of ghost entries, and the sequential matrices that are multiplied.

  With the pattern lists these are the two blocks of MPIAIJ, or, in place of the off-diagonal block, a matrix of those of its rows that have
  nonzeros (rows.c). With the pattern gather, where nearly every process needs nearly every column, all rows of a process are one matrix
  (whole.c).

  After a change of the matrix, storing the nonzeros can fail on one process only, for lack of memory on its device. The state of the
  matrix, which is the same on all processes, tells them that it has changed; all processes then agree on whether storing has succeeded.
*/
#include "parallel.h"

/* Products that are expected to take so many times as long as on one device are said to be slower: the estimates are not exact */
#define SLOWER 1.1

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
  PetscCall(PetscCSRCExchangeGetPanel(MatDerivedOf(A)->parallel.exchange, K, &K, NULL));
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

/* Compares the expected times of products with one vector, by what the stored nonzeros of all processes say, with those on one device */
static PetscErrorCode Expect(Mat A)
{
  AIJParallel             *p       = &MatDerivedOf(A)->parallel;
  const PetscCSRCProcesses single  = {.size = 1};
  PetscCSRCWork            work[2] = {{0}}, all = {.rows = A->rmap->N, .columns = A->cmap->N, .bycolumns = (PetscBool)(A->cmap->N / 2 >= A->rmap->N)};
  PetscLogDouble           sums[3] = {0}, several[2], one[2]; /* sums: bytes, runs, the number of processes that do not know */
  PetscMPIInt              size;
  Mat                      local[2];
  int                      n;

  PetscFunctionBegin;
  p->slower[0] = 0;
  if (!MatDerivedOf(A)->kind->usesdevice) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDerivedGetLocal(A, local, &n));
  for (int k = 0; k < n; k++) {
    const AIJStored *stored = &MatDerivedOf(local[k])->cache.stored;

    if (!stored->format) continue; /* no nonzeros */
    work[k].rows    = local[k]->rmap->n;
    work[k].columns = local[k]->cmap->n;
    if (stored->format->getwork) PetscCall((*stored->format->getwork)(stored->data, &work[k].bytes, &work[k].runs, &work[k].bycolumns));
    else sums[2] = 1;
    sums[0] += work[k].bytes;
    sums[1] += work[k].runs;
  }
  PetscCall(PetscCSRCExchangeExpect(p->exchange, n, work, several));
  if (several[0] == 0) sums[2] = 1;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, several, 2, MPI_DOUBLE, MPI_MAX, PetscObjectComm((PetscObject)A)));
  all.bytes = sums[0];
  all.runs  = sums[1];
  (void)PetscCSRCExpect(&single, PETSCCSRC_PATTERN_LISTS, 1, &all, one);
  if (sums[2] > 0 || (several[0] <= SLOWER * one[0] && several[1] <= SLOWER * one[1])) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(PetscSNPrintf(p->slower, sizeof(p->slower), "on %d H200s A x is expected to take %.0f us and A^T x %.0f us, on one %.0f us and %.0f us", (int)size, 1e6 * several[0], 1e6 * several[1], 1e6 * one[0], 1e6 * one[1]));
  PetscCall(PetscInfo(A, "%s\n", p->slower));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedUpdateMPI(Mat A, PetscInt K)
{
  AIJParallel    *p = &MatDerivedOf(A)->parallel;
  Mat             Ad, Ao;
  const PetscInt *garray;
  PetscSF         sf = NULL;
  MatState        now;
  PetscBool       pattern;

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
  pattern = (PetscBool)(!p->exchange || p->mat != A || p->state.nonzerostate != now.nonzerostate || p->state.id != now.id);
  if (!p->exchange) {
    PetscCall(CreateExchange(A, Ad, Ao, garray));
    PetscCall(PetscObjectReference((PetscObject)sf));
    p->sf = sf;
  }
  PetscCall(PetscCSRCAgree(PetscObjectComm((PetscObject)A), UpdateAndStore(A, Ao, K), "Storing the nonzeros"));
  p->mat   = A;
  p->state = now;
  if (pattern) PetscCall(Expect(A));
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
  p->slower[0] = 0;
  p->mat       = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
