/*
  The rows of the off-diagonal block that have nonzeros. If processes own parts of a mesh, these rows are few: those at the border. Adding the
  product with all rows of the block would take a pass over all of y. These few rows therefore form a matrix, off, whose product is added to
  their entries of y. It shares the columns and values of the block's CSR and has only row pointers of its own.

  off is the block itself if more than a quarter of the rows have nonzeros, for kinds that never use a device, and for matrices whose CSR has
  been freed.
*/
#include "parallel.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include "exchange/kernels.h"
#endif

/* At most one in so many rows may have nonzeros for off to be a matrix of these rows */
#define FEW 4

PetscErrorCode AIJParallelResetOff(AIJParallel *p)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&p->off));
  PetscCall(VecDestroy(&p->fewvec));
  PetscCall(MatDestroy(&p->fewrows));
  PetscCall(PetscFree(p->few));
  PetscCall(PetscFree(p->offi));
#if defined(PETSCCSRC_HAVE_CUDA)
  PetscCall(PetscCSRCDeviceFree(&p->devicefew));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates a sequential matrix of A's kind, with A's settings, over a CSR, which must outlive it */
static PetscErrorCode CreateLocal(Mat A, PetscInt m, PetscInt n, PetscInt i[], PetscInt j[], PetscScalar a[], Mat *local)
{
  const Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, m, n, i, j, a, local));
  if (MatDerivedKindOf(*local) != f->kind) { /* -mat_seqaij_type may have made it another type, also one of this kind */
    PetscCall(MatConvert(*local, MATSEQAIJ, MAT_INPLACE_MATRIX, local));
    PetscCall((*f->install)(*local, f->kind));
  }
  PetscCall(MatDerivedCopySettings(A, *local));
  if (f->kind->usesdevice) PetscCall(MatBindToCPU(*local, MatDerivedBoundToCPU(A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateOff(Mat A, Mat Ao, const PetscInt i[])
{
  AIJParallel   *p = &MatDerivedOf(A)->parallel;
  const PetscInt m = Ao->rmap->n;

  PetscFunctionBegin;
  p->nfew = 0;
  for (PetscInt r = 0; r < m; r++) p->nfew += i[r + 1] > i[r] ? 1 : 0;
  if (p->nfew > m / FEW || !MatDerivedOf(A)->kind->usesdevice) {
    PetscCall(PetscObjectReference((PetscObject)Ao));
    p->off  = Ao;
    p->nfew = m;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1(p->nfew + 1, &p->few)); /* never NULL */
  PetscCall(PetscMalloc1(p->nfew + 1, &p->offi));
  p->offi[0] = 0;
  for (PetscInt r = 0, k = 0; r < m; r++) {
    if (i[r + 1] == i[r]) continue;
    p->few[k]    = r;
    p->offi[++k] = i[r + 1];
  }
  PetscCall(CreateLocal(A, p->nfew, Ao->cmap->n, p->offi, (PetscInt *)p->offj, p->offa, &p->off));
#if defined(PETSCCSRC_HAVE_CUDA)
  if (MatDerivedOnDevice(A)) {
    PetscCall(PetscCSRCDeviceMalloc("the rows that need ghosts", (size_t)p->nfew * sizeof(PetscInt), &p->devicefew));
    PetscCall(PetscCSRCDeviceUpload(p->devicefew, p->few, (size_t)p->nfew * sizeof(PetscInt)));
  }
#endif
  PetscCall(PetscInfo(A, "%" PetscInt_FMT " of %" PetscInt_FMT " rows need ghosts: they are a matrix by themselves\n", p->nfew, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedUpdateOff(Mat A, Mat Ao)
{
  AIJParallel *p = &MatDerivedOf(A)->parallel;
  MatState     now;
  AIJCSR       csr;

  PetscFunctionBegin;
  if (MatDerivedOf(A)->released) {
    if (!p->off) PetscCall(PetscObjectReference((PetscObject)Ao));
    p->off  = Ao;
    p->nfew = Ao->rmap->n;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatGetState(Ao, &now));
  if (p->off && now.id == p->blockstate[1].id && now.nonzerostate == p->blockstate[1].nonzerostate && now.state == p->blockstate[1].state) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDerivedGetCSR(Ao, PETSC_FALSE, &csr));
  if (p->off && now.id == p->blockstate[1].id && now.nonzerostate == p->blockstate[1].nonzerostate && csr.j == p->offj && csr.a == p->offa && (!p->few || p->offi[p->nfew] == csr.nnz)) {
    if (p->few) PetscCall(PetscObjectStateIncrease((PetscObject)p->off));
  } else {
    PetscCall(AIJParallelResetOff(p));
    p->blockstate[1].id = 0; /* the id of no matrix, so that after a failure nothing is taken to be up to date */
    p->offj             = csr.j;
    p->offa             = (PetscScalar *)csr.a;
    PetscCall(CreateOff(A, Ao, csr.i));
  }
  p->blockstate[1] = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Adds the rows of off, K columns, to those rows of a whole matrix that belong to them, or takes them from there; both arrays are on the host, or both on
  the device. Without p->few these are all rows.
*/
static PetscErrorCode MoveRows(const AIJParallel *p, PetscBool add, PetscInt K, const PetscScalar from[], PetscInt ldfrom, PetscScalar to[], PetscInt ldto, PetscBool device)
{
  PetscFunctionBegin;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (device) {
    const PackedRows packed = {add ? (PetscScalar *)from : to, 1, add ? ldfrom : ldto};

    if (add) PetscCall(PetscCSRCUnpack(p->nfew, K, p->devicefew, packed, ADD_VALUES, to, ldto));
    else PetscCall(PetscCSRCPack(p->nfew, p->nfew, K, p->devicefew, from, ldfrom, packed));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  for (PetscInt k = 0; k < K; k++, from += ldfrom, to += ldto) {
    for (PetscInt r = 0; r < p->nfew; r++) {
      const PetscInt row = p->few ? p->few[r] : r;

      if (add) to[row] += from[r];
      else to[r] = from[row];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for p->fewvec and a whole vector: where both are, or on the host */
static PetscErrorCode MoveEntries(AIJParallel *p, PetscBool add, Vec all)
{
  const Vec          from = add ? p->fewvec : all, to = add ? all : p->fewvec;
  const PetscScalar *f;
  PetscScalar       *t;
  PetscMemType       fm, tm;
  PetscBool          device;

  PetscFunctionBegin;
  PetscCall(VecGetArrayReadAndMemType(from, &f, &fm));
  PetscCall(VecGetArrayAndMemType(to, &t, &tm));
  device = p->devicefew && PetscMemTypeDevice(fm) && PetscMemTypeDevice(tm) ? PETSC_TRUE : PETSC_FALSE;
  if (device) PetscCall(MoveRows(p, add, 1, f, 0, t, 0, PETSC_TRUE));
  PetscCall(VecRestoreArrayAndMemType(to, &t));
  PetscCall(VecRestoreArrayReadAndMemType(from, &f));
  if (device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetArrayRead(from, &f));
  PetscCall(VecGetArray(to, &t));
  PetscCall(MoveRows(p, add, 1, f, 0, t, 0, PETSC_FALSE));
  PetscCall(VecRestoreArray(to, &t));
  PetscCall(VecRestoreArrayRead(from, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for p->fewrows and a whole dense matrix */
static PetscErrorCode MoveDense(AIJParallel *p, PetscBool add, Mat all)
{
  const Mat          from = add ? p->fewrows : all, to = add ? all : p->fewrows;
  const PetscInt     K = to->cmap->n;
  const PetscScalar *f;
  PetscScalar       *t;
  PetscInt           ldfrom, ldto;
  PetscMemType       fm, tm;
  PetscBool          device;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(from, &ldfrom));
  PetscCall(MatDenseGetLDA(to, &ldto));
  PetscCall(MatDenseGetArrayReadAndMemType(from, &f, &fm));
  PetscCall(MatDenseGetArrayAndMemType(to, &t, &tm));
  device = (p->devicefew || !p->few) && PetscMemTypeDevice(fm) && PetscMemTypeDevice(tm) ? PETSC_TRUE : PETSC_FALSE;
  if (device) PetscCall(MoveRows(p, add, K, f, ldfrom, t, ldto, PETSC_TRUE));
  PetscCall(MatDenseRestoreArrayAndMemType(to, &t));
  PetscCall(MatDenseRestoreArrayReadAndMemType(from, &f));
  if (device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDenseGetArrayRead(from, &f));
  PetscCall(MatDenseGetArray(to, &t));
  PetscCall(MoveRows(p, add, K, f, ldfrom, t, ldto, PETSC_FALSE));
  PetscCall(MatDenseRestoreArray(to, &t));
  PetscCall(MatDenseRestoreArrayRead(from, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedCreateDense(Mat A, PetscInt m, PetscInt n, Mat *D)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, D));
  PetscCall(MatSetSizes(*D, m, n, m, n));
  ierr = MatSetType(*D, MatDerivedOnDevice(A) ? MATSEQDENSECUDA : MATSEQDENSE);
  if (!ierr) ierr = MatSetUp(*D);
  if (ierr) PetscCall(MatDestroy(D)); /* without its array it must not be taken for one that can be used */
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedPrepareOff(Mat A)
{
  AIJParallel *p = &MatDerivedOf(A)->parallel;

  PetscFunctionBegin;
  if (!p->off || !p->nfew) PetscFunctionReturn(PETSC_SUCCESS);
  if (p->few && !p->fewvec) {
    PetscCall(MatDerivedVecMade(MatCreateVecs(p->off, NULL, &p->fewvec), &p->fewvec));
    PetscCall(MatDerivedVecAllocate(&p->fewvec));
  }
  if (p->rows && (p->few || p->off->cmap->n) && (!p->fewrows || p->fewrows->cmap->n != p->rows->cmap->n)) {
    PetscCall(MatDestroy(&p->fewrows));
    PetscCall(MatDerivedCreateDense(A, p->off->rmap->n, p->rows->cmap->n, &p->fewrows));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedOffMultAdd(Mat A, Vec g, Vec y)
{
  AIJParallel *p = &MatDerivedOf(A)->parallel;

  PetscFunctionBegin;
  if (!p->few) {
    PetscUseTypeMethod(p->off, multadd, g, y, y);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!p->nfew) PetscFunctionReturn(PETSC_SUCCESS);
  PetscUseTypeMethod(p->off, mult, g, p->fewvec);
  PetscCall(MoveEntries(p, PETSC_TRUE, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedOffMultTranspose(Mat A, Vec x, Vec g)
{
  AIJParallel *p = &MatDerivedOf(A)->parallel;

  PetscFunctionBegin;
  if (!p->few || !p->nfew) {
    if (p->few) PetscCall(VecZeroEntries(g));
    else PetscUseTypeMethod(p->off, multtranspose, x, g);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MoveEntries(p, PETSC_FALSE, x));
  PetscUseTypeMethod(p->off, multtranspose, p->fewvec, g);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedOffMatMultAdd(Mat A, Mat G, Mat Y)
{
  AIJParallel *p = &MatDerivedOf(A)->parallel;

  PetscFunctionBegin;
  if (!p->off->cmap->n || !p->nfew) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDerivedApplyDense(p->off, AIJ_N, G, p->fewrows));
  PetscCall(MoveDense(p, PETSC_TRUE, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedOffTransposeMatMult(Mat A, Mat X, Mat G)
{
  AIJParallel *p = &MatDerivedOf(A)->parallel;

  PetscFunctionBegin;
  if (!p->few || !p->nfew) {
    if (p->few) PetscCall(MatZeroEntries(G));
    else PetscCall(MatDerivedApplyDense(p->off, AIJ_T, X, G));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MoveDense(p, PETSC_FALSE, X));
  PetscCall(MatDerivedApplyDense(p->off, AIJ_T, p->fewrows, G));
  PetscFunctionReturn(PETSC_SUCCESS);
}
