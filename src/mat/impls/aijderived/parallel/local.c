/*
  Data for the products of a parallel matrix: the exchange of ghost entries, and the sequential matrices that are multiplied.

  With the pattern lists these are the two blocks of MPIAIJ, or, in place of the off-diagonal block, a matrix of those of its rows that have
  nonzeros (parallel/rows.c). With the pattern gather, where nearly every process needs nearly every column, two blocks would be two
  products, one after the other, of half the work each. Instead all rows of a process are one matrix, whose columns are the entries of the
  gathered array. It is made from the blocks and updated when these change.

  After a change of the matrix, storing the nonzeros can fail on one process only, for lack of memory on its device. The state of the
  matrix, which is the same on all processes, tells them that it has changed; all processes then agree on whether storing has succeeded.
*/
#include "../derivedimpl.h"
#include "sys/threads.h"

/*
  Merges the rows of both blocks into one matrix. In a row the ghost columns below the own columns come first, then the own columns, then the
  other ghost columns, so that sorted rows stay sorted. place[k] is the column of ghost k in the gathered array, first the column of the
  first own column. If j is NULL, only values are set.
*/
static PetscErrorCode MergeRows(Mat A, const AIJCSR *d, const AIJCSR *o, const PetscInt garray[], const PetscInt place[], PetscInt first, const PetscInt i[], PetscInt j[], PetscScalar a[])
{
  const PetscInt cstart = A->cmap->rstart;

  PetscFunctionBegin;
  PetscPragmaOMP(parallel for schedule(static) num_threads(PetscCSRCGetNumThreads(NULL)))
  for (PetscInt r = 0; r < d->m; r++) {
    PetscInt k = i[r], ghost = o->i[r];

    for (int after = 0; after < 2; after++) {
      for (; ghost < o->i[r + 1] && (after || garray[o->j[ghost]] < cstart); ghost++, k++) {
        a[k] = o->a[ghost];
        if (j) j[k] = place[o->j[ghost]];
      }
      for (PetscInt own = d->i[r]; !after && own < d->i[r + 1]; own++, k++) {
        a[k] = d->a[own];
        if (j) j[k] = first + d->j[own];
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyWhole(AIJParallel *p)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&p->whole));
  PetscCall(PetscFree(p->i));
  PetscCall(PetscFree(p->j));
  PetscCall(PetscFree(p->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedCreateLocal(Mat A, PetscInt m, PetscInt n, PetscInt i[], PetscInt j[], PetscScalar a[], Mat *local)
{
  const AIJKind *kind = MatDerivedOf(A)->kind, *already;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, m, n, i, j, a, local));
  PetscCall(MatDerivedGetKind(*local, &already)); /* -mat_seqaij_type may have made it another type, also one of this kind */
  if (already != kind) {
    PetscCall(MatConvert(*local, MATSEQAIJ, MAT_INPLACE_MATRIX, local));
    PetscCall(MatDerivedInstall(*local, kind));
  }
  PetscCall(MatDerivedCopySettings(A, *local));
  if (kind->usesdevice) PetscCall(MatBindToCPU(*local, MatDerivedBoundToCPU(A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates the matrix of all rows of this process */
static PetscErrorCode CreateWhole(Mat A, const AIJCSR *d, const AIJCSR *o, const PetscInt garray[])
{
  AIJParallel    *p = &MatDerivedOf(A)->parallel;
  const PetscInt  m = d->m;
  const PetscInt *range;
  PetscInt       *place, stride, n;
  PetscMPIInt     rank, owner;

  PetscFunctionBegin;
  PetscCheck((PetscInt64)d->i[m] + o->i[m] <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "%" PetscInt64_FMT " nonzeros on a process are too many for one matrix: use -mat_form_exchange_pattern lists, or a PETSc with 64-bit integers",
             (PetscInt64)d->i[m] + o->i[m]);
  PetscCall(PetscCSRCExchangeGetGhosts(p->exchange, &n, &stride));
  PetscCall(PetscLayoutGetRanges(A->cmap, &range));
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &rank));
  PetscCall(PetscMalloc1(o->n, &place));
  for (PetscInt k = 0; k < o->n; k++) {
    PetscCall(PetscLayoutFindOwner(A->cmap, garray[k], &owner));
    place[k] = owner * stride + garray[k] - range[owner];
  }
  PetscCall(PetscMalloc1(m + 1, &p->i));
  PetscCall(PetscMalloc1(d->i[m] + o->i[m], &p->j));
  PetscCall(PetscMalloc1(d->i[m] + o->i[m], &p->a));
  for (PetscInt r = 0; r <= m; r++) p->i[r] = d->i[r] + o->i[r];
  PetscCall(MergeRows(A, d, o, garray, place, rank * stride, p->i, p->j, p->a));
  PetscCall(PetscFree(place));
  PetscCall(MatDerivedCreateLocal(A, m, n, p->i, p->j, p->a, &p->whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings the matrix of all rows up to date with the blocks */
static PetscErrorCode UpdateWhole(Mat A, Mat Ad, Mat Ao, const PetscInt garray[])
{
  AIJParallel *p = &MatDerivedOf(A)->parallel;
  MatState     now[2];
  AIJCSR       d, o;
  PetscBool    pattern = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatGetState(Ad, &now[0]));
  PetscCall(MatGetState(Ao, &now[1]));
  for (int k = 0; k < 2; k++) {
    if (now[k].id != p->blockstate[k].id || now[k].nonzerostate != p->blockstate[k].nonzerostate) pattern = PETSC_TRUE;
  }
  if (p->whole && !pattern && now[0].state == p->blockstate[0].state && now[1].state == p->blockstate[1].state) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDerivedGetCSR(Ad, PETSC_FALSE, &d));
  PetscCall(MatDerivedGetCSR(Ao, PETSC_FALSE, &o));
  if (p->whole && !pattern && p->i[d.m] == d.i[d.m] + o.i[d.m]) {
    PetscCall(MergeRows(A, &d, &o, garray, NULL, 0, p->i, NULL, p->a));
    PetscCall(PetscObjectStateIncrease((PetscObject)p->whole));
  } else {
    PetscCall(DestroyWhole(p));
    PetscCall(CreateWhole(A, &d, &o, garray));
  }
  p->blockstate[0] = now[0];
  p->blockstate[1] = now[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nonzeros of a diagonal block from which the exchange should overlap its product: a device then takes some 20 microseconds */
#define OVERLAP_NONZEROS 4e6

static PetscErrorCode CreateExchange(Mat A, Mat Ad, Mat Ao, const PetscInt garray[])
{
  Mat_Derived             *f = MatDerivedOf(A);
  AIJParallel             *p = &f->parallel;
  PetscCSRCExchangeRequest request;
  AIJPurpose               purpose;
  MatInfo                  info;
  char                     text[256];

  PetscFunctionBegin;
  PetscCall(MatGetInfo(Ad, MAT_LOCAL, &info));
  (*f->kind->getpurpose)(f->settings, 1, &purpose);
  request.layout       = A->cmap;
  request.nghosts      = Ao->cmap->n;
  request.ghosts       = garray;
  request.ondevice     = MatDerivedOnDevice(A);
  request.overlap      = info.nz_used >= OVERLAP_NONZEROS ? PETSC_TRUE : PETSC_FALSE;
  request.reproducible = f->kind->usesdevice && purpose.reproducible ? PETSC_TRUE : PETSC_FALSE;
  request.type         = p->type;
  request.pattern      = f->released ? PETSCCSRC_PATTERN_LISTS : p->pattern; /* the matrix of all rows would be made from the CSR */
  request.pernode      = 0;
  PetscCall(PetscCSRCExchangeCreate(PetscObjectComm((PetscObject)A), &request, &p->exchange));
  PetscCall(PetscCSRCExchangeDescribe(p->exchange, text, sizeof(text)));
  PetscCall(PetscInfo(A, "Exchange of vectors %s\n", text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The part of the update without communication */
static PetscErrorCode UpdateLocal(Mat A, Mat Ad, Mat Ao, const PetscInt garray[], PetscInt K)
{
  AIJParallel    *p = &MatDerivedOf(A)->parallel;
  PetscInt        n, stride;
  const PetscBool bound = MatDerivedOnDevice(A) ? PETSC_FALSE : PETSC_TRUE;
  PetscBool       vbound;

  PetscFunctionBegin;
  PetscCall(PetscCSRCExchangeGetGhosts(p->exchange, &n, &stride));
  if (stride) PetscCall(UpdateWhole(A, Ad, Ao, garray));
  else PetscCall(MatDerivedUpdateOff(A, Ao));
  if (K > 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (!p->ghost) PetscCall(MatCreateVecs(stride ? p->whole : Ao, &p->ghost, NULL));
  PetscCall(VecBoundToCPU(p->ghost, &vbound));
  if (vbound != bound) PetscCall(VecBindToCPU(p->ghost, bound));
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

/* Stores the nonzeros before the product, which would otherwise store them itself: here all processes can agree on a failure */
static PetscErrorCode StoreLocal(Mat A, PetscInt K)
{
  Mat local[2];
  int n;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetLocal(A, local, &n));
  for (int k = 0; k < n; k++) {
    if (K > 1) PetscCall(MatDerivedExpectColumns(local[k], K));
    PetscCall(MatDerivedUpdate(local[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode UpdateAndStore(Mat A, Mat Ad, Mat Ao, const PetscInt garray[], PetscInt K)
{
  PetscFunctionBegin;
  PetscCall(UpdateLocal(A, Ad, Ao, garray, K));
  if (MatDerivedOnDevice(A)) PetscCall(StoreLocal(A, K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedUpdateMPI(Mat A, PetscInt K)
{
  AIJParallel    *p = &MatDerivedOf(A)->parallel;
  Mat             Ad, Ao;
  const PetscInt *garray;
  PetscSF         sf;
  MatState        now;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetBlocks(A, &Ad, &Ao, &garray));
  PetscCall(MatGetMultPetscSF(A, &sf));
  PetscCall(MatGetState(A, &now));
  if (p->exchange && p->sf != sf) PetscCall(MatDerivedResetMPI(A));
  if (p->exchange && p->mat == A && p->state.state == now.state && p->state.nonzerostate == now.nonzerostate && p->state.id == now.id) {
    PetscCall(UpdateLocal(A, Ad, Ao, garray, K));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!p->exchange) {
    PetscCall(CreateExchange(A, Ad, Ao, garray));
    PetscCall(PetscObjectReference((PetscObject)sf));
    p->sf = sf;
  }
  PetscCall(PetscCSRCAgree(PetscObjectComm((PetscObject)A), UpdateAndStore(A, Ad, Ao, garray, K), "Storing the nonzeros"));
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
  PetscCall(DestroyWhole(p));
  PetscCall(AIJParallelResetOff(p));
  PetscCall(VecDestroy(&p->ghost));
  PetscCall(MatDestroy(&p->rows));
  PetscCall(PetscCSRCExchangeDestroy(&p->exchange));
  PetscCall(PetscSFDestroy(&p->sf));
  p->mat = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Also called for matrices on one process, for which these options have no effect */
PetscErrorCode MatDerivedExchangeSetFromOptions(Mat A, PetscOptionItemsArg PetscOptionsObject)
{
  AIJParallel *p = &MatDerivedOf(A)->parallel;
  PetscEnum    value;
  PetscBool    set;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Options for products in parallel");
  PetscCall(AIJOptionsEnum(PetscOptionsObject, "-mat_form_exchange", "exchange", "How processes exchange entries of vectors", "None", PetscCSRCExchangeTypes, (PetscEnum)p->type, &value, &set));
  if (set && p->type != (PetscCSRCExchangeType)value) {
    p->type = (PetscCSRCExchangeType)value;
    PetscCall(MatDerivedResetMPI(A));
  }
  PetscCall(AIJOptionsEnum(PetscOptionsObject, "-mat_form_exchange_pattern", "pattern", "Which entries of vectors processes exchange", "None", PetscCSRCExchangePatterns, (PetscEnum)p->pattern, &value, &set));
  if (set && p->pattern != (PetscCSRCExchangePattern)value) {
    p->pattern = (PetscCSRCExchangePattern)value;
    PetscCall(MatDerivedResetMPI(A));
  }
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedGetGhosts(Mat A, Vec x, Vec *ghost)
{
  AIJParallel       *p = &MatDerivedOf(A)->parallel;
  const PetscScalar *own;
  PetscScalar       *ghosts;
  PetscMemType       om, gm;
  PetscInt           n, ldown, ldghost;

  PetscFunctionBegin;
  PetscCall(MatDerivedUpdateMPI(A, 1));
  PetscCall(VecGetLocalSize(x, &ldown));
  PetscCall(VecGetLocalSize(p->ghost, &ldghost));
  n = A->cmap->n;
  PetscCheck(ldown == n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "The vector has %" PetscInt_FMT " entries on this process, the matrix %" PetscInt_FMT " columns", ldown, n);
  PetscCall(VecGetArrayReadAndMemType(x, &own, &om));
  PetscCall(VecGetArrayWriteAndMemType(p->ghost, &ghosts, &gm));
  PetscCall(PetscCSRCExchangeForwardBegin(p->exchange, 1, own, ldown, om, ghosts, ldghost, gm));
  PetscCall(PetscCSRCExchangeForwardEnd(p->exchange, 1, own, ldown, om, ghosts, ldghost, gm));
  PetscCall(VecRestoreArrayWriteAndMemType(p->ghost, &ghosts));
  PetscCall(VecRestoreArrayReadAndMemType(x, &own));
  *ghost = p->ghost;
  PetscFunctionReturn(PETSC_SUCCESS);
}
