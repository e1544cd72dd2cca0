/*
  All rows of a process as one matrix, for the pattern gather: where nearly every process needs nearly every column, the diagonal and the
  off-diagonal block would be two products, one after the other, of half the work each. Its columns are the entries of the gathered array.

  The matrix has no nonzeros of AIJ's. When its nonzeros are stored, the rows of the two blocks are merged, on the device if the
  products are there (merge.cu), and the merged CSR is freed as soon as they are stored.
*/
#include "parallel.h"
#include "sys/threads.h"
#include "merge.h"

static PetscErrorCode BlocksGet(Mat A, PetscBool ondevice, AIJBlocks *b)
{
  Mat             Ad, Ao;
  const PetscInt *range, *garray;
  PetscInt64      nnz;
  PetscInt        stride;
  PetscMPIInt     rank, owner;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetBlocks(A, &Ad, &Ao, &garray));
  PetscCall(MatDerivedGetCSR(Ad, ondevice, &b->d));
  PetscCall(MatDerivedGetCSR(Ao, ondevice, &b->o));
  nnz = (PetscInt64)b->d.nnz + b->o.nnz;
  PetscCheck(nnz <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt64_FMT " nonzeros on a process are too many for one matrix", nnz); /* the pattern is lists then */
  PetscCall(PetscCSRCExchangeGetGhosts(MatDerivedOf(A)->parallel.exchange, NULL, &stride));
  PetscCall(PetscLayoutGetRanges(A->cmap, &range));
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &rank));
  PetscCall(PetscMalloc1(b->o.n, &b->place));
  b->first   = rank * stride;
  b->nbefore = 0;
  for (PetscInt k = 0; k < b->o.n; k++) {
    PetscCall(PetscLayoutFindOwner(A->cmap, garray[k], &owner));
    b->place[k] = owner * stride + garray[k] - range[owner];
    if (garray[k] < range[rank]) b->nbefore = k + 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Merges the rows on the host. In a row the ghost columns below the own columns come first, then the own columns, then the other ghost columns,
  so that sorted rows stay sorted.
*/
static PetscErrorCode MergeRows(const AIJBlocks *b, const PetscInt i[], PetscInt j[], PetscScalar a[])
{
  const AIJCSR *d = &b->d, *o = &b->o;

  PetscFunctionBegin;
  PetscPragmaOMP(parallel for schedule(static) num_threads(PetscCSRCGetNumThreads(NULL)))
  for (PetscInt r = 0; r < d->m; r++) {
    PetscInt k = i[r], ghost = o->i[r];

    for (int after = 0; after < 2; after++) {
      for (; ghost < o->i[r + 1] && (after || o->j[ghost] < b->nbefore); ghost++, k++) {
        a[k] = o->a[ghost];
        j[k] = b->place[o->j[ghost]];
      }
      for (PetscInt own = d->i[r]; !after && own < d->i[r + 1]; own++, k++) {
        a[k] = d->a[own];
        j[k] = b->first + d->j[own];
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Merge(const AIJBlocks *b, PetscBool ondevice, AIJCSR *csr)
{
  PetscInt    *i, *j;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(csr->m + 1, &i));
  csr->i = i;
  PetscPragmaOMP(parallel for schedule(static) num_threads(PetscCSRCGetNumThreads(NULL)))
  for (PetscInt r = 0; r <= csr->m; r++) i[r] = b->d.i[r] + b->o.i[r];
  if (!csr->nnz) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(PETSCCSRC_HAVE_CUDA)
  if (ondevice) {
    PetscCall(AIJMergeRowsOnDevice(b, csr));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#else
  (void)ondevice;
#endif
  PetscCall(PetscMalloc1(csr->nnz, &j));
  csr->j = j;
  PetscCall(PetscMalloc1(csr->nnz, &a));
  csr->a = a;
  PetscCall(MergeRows(b, i, j, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WholeRestoreCSR(void *ctx, AIJCSR *csr)
{
  PetscFunctionBegin;
  (void)ctx;
  PetscCall(PetscFree(csr->i));
  PetscCall(PetscFree(csr->j));
  PetscCall(PetscFree(csr->a));
#if defined(PETSCCSRC_HAVE_CUDA)
  PetscCall(PetscCSRCDeviceFree(&csr->device.a)); /* the arrays on the device are one piece of memory, which begins with the values */
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WholeGetCSR(void *ctx, PetscBool ondevice, AIJCSR *csr)
{
  Mat            A = (Mat)ctx;
  AIJBlocks      b;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(csr, sizeof(*csr)));
  PetscCall(BlocksGet(A, ondevice, &b));
  csr->m   = b.d.m;
  csr->nnz = b.d.nnz + b.o.nnz;
  PetscCall(PetscCSRCExchangeGetGhosts(MatDerivedOf(A)->parallel.exchange, &csr->n, NULL));
  ierr = Merge(&b, ondevice, csr);
  if (ierr) (void)WholeRestoreCSR(NULL, csr); /* the first error is the one to report */
  PetscCall(PetscFree(b.place));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An AIJ matrix without nonzeros, of A's kind and with A's settings, in the memory where A multiplies; *local is to be destroyed after an error */
static PetscErrorCode Create(Mat A, PetscInt m, PetscInt n, Mat *local)
{
  const Mat_Derived *f = MatDerivedOf(A);
  Mat                Ad, Ao;
  VecType            vectype;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, local));
  PetscCall(MatSetSizes(*local, m, n, m, n));
  PetscCall(MatSetTypePlainSeqAIJ(*local));
  PetscCall(MatSeqAIJSetPreallocation(*local, 0, NULL));
  PetscCall(MatAssemblyBegin(*local, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*local, MAT_FINAL_ASSEMBLY));
  (*local)->structure_only = PETSC_TRUE; /* without aijcusparse underneath, which would have nothing to do */
  PetscCall((*f->install)(*local, f->kind));
  (*local)->structure_only = PETSC_FALSE;
  PetscCall(MatDerivedCopySettings(A, *local));
  PetscCall(MatDerivedGetBlocks(A, &Ad, &Ao, NULL));
  PetscCall(MatGetVecType(Ad, &vectype));
  PetscCall(MatSetVecType(*local, vectype));
  if (f->kind->usesdevice) PetscCall(MatBindToCPU(*local, MatDerivedBoundToCPU(A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedUpdateWhole(Mat A)
{
  AIJParallel    *p      = &MatDerivedOf(A)->parallel;
  const AIJSource source = {WholeGetCSR, WholeRestoreCSR, A};
  MatState        now[2];
  PetscBool       pattern = PETSC_FALSE, values = PETSC_FALSE;
  Mat             blocks[2];
  PetscInt        n;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetBlocks(A, &blocks[0], &blocks[1], NULL));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatGetState(blocks[k], &now[k]));
    if (now[k].id != p->blockstate[k].id || now[k].nonzerostate != p->blockstate[k].nonzerostate) pattern = PETSC_TRUE;
    if (now[k].state != p->blockstate[k].state) values = PETSC_TRUE;
  }
  if (pattern) PetscCall(MatDestroy(&p->whole));
  if (!p->whole) {
    PetscErrorCode ierr;

    PetscCall(PetscCSRCExchangeGetGhosts(p->exchange, &n, NULL));
    ierr = Create(A, A->rmap->n, n, &p->whole);
    if (ierr) PetscCall(MatDestroy(&p->whole));
    PetscCall(ierr);
  } else if (values) PetscCall(PetscObjectStateIncrease((PetscObject)p->whole));
  MatDerivedOf(p->whole)->cache.source = source; /* the data may have moved to another matrix */
  p->blockstate[0]                     = now[0];
  p->blockstate[1]                     = now[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}
