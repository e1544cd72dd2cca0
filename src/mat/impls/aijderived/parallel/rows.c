/*
  The rows of the off-diagonal block that have nonzeros. If processes own parts of a mesh, these rows are few: those at the border. Adding the
  product with all rows of the block would take a pass over all of y. These few rows therefore form a matrix, off, whose product is added to
  their entries of y. It shares the columns and values of the block's CSR and has only row pointers of its own.

  off is the block itself if more than a quarter of the rows have nonzeros, for kinds that never use a device, and for matrices whose CSR has
  been freed.
*/
#include "../derivedimpl.h"
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

/* A sequential matrix of A's kind, with A's settings, over a CSR, which must outlive it */
static PetscErrorCode CreateLocal(Mat A, PetscInt m, PetscInt n, PetscInt i[], PetscInt j[], PetscScalar a[], Mat *local)
{
  const AIJKind *kind = MatDerivedOf(A)->kind;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, m, n, i, j, a, local));
  if (MatDerivedKindOf(*local) != kind) { /* -mat_seqaij_type may have made it another type, also one of this kind */
    PetscCall(MatConvert(*local, MATSEQAIJ, MAT_INPLACE_MATRIX, local));
    PetscCall(MatDerivedInstall(*local, kind));
  }
  PetscCall(MatDerivedCopySettings(A, *local));
  if (kind->usesdevice) PetscCall(MatBindToCPU(*local, MatDerivedBoundToCPU(A)));
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

/* few = those rows of all that belong to off, K columns; both arrays are on the host or both on the device */
static PetscErrorCode TakeRows(const AIJParallel *p, PetscInt K, const PetscScalar all[], PetscInt ldall, PetscScalar few[], PetscInt ldfew, PetscBool device)
{
  PetscFunctionBegin;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (device) {
    const PackedRows packed = {few, 1, ldfew};

    PetscCall(PetscCSRCPack(p->nfew, p->nfew, K, p->devicefew, all, ldall, packed));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  (void)device;
  for (PetscInt k = 0; k < K; k++)
    for (PetscInt r = 0; r < p->nfew; r++) few[r + (size_t)ldfew * k] = all[p->few[r] + (size_t)ldall * k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds few to those rows of all that belong to off */
static PetscErrorCode AddRows(const AIJParallel *p, PetscInt K, PetscScalar few[], PetscInt ldfew, PetscScalar all[], PetscInt ldall, PetscBool device)
{
  PetscFunctionBegin;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (device) {
    const PackedRows packed = {few, 1, ldfew};

    PetscCall(PetscCSRCUnpack(p->nfew, K, p->devicefew, packed, ADD_VALUES, all, ldall));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  (void)device;
  for (PetscInt k = 0; k < K; k++)
    for (PetscInt r = 0; r < p->nfew; r++) all[(p->few ? p->few[r] : r) + (size_t)ldall * k] += few[r + (size_t)ldfew * k];
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
  PetscScalar *all, *few;
  PetscMemType am, fm;

  PetscFunctionBegin;
  if (!p->few) {
    PetscUseTypeMethod(p->off, multadd, g, y, y);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!p->nfew) PetscFunctionReturn(PETSC_SUCCESS);
  PetscUseTypeMethod(p->off, mult, g, p->fewvec);
  PetscCall(VecGetArrayAndMemType(p->fewvec, &few, &fm));
  PetscCall(VecGetArrayAndMemType(y, &all, &am));
  if (p->devicefew && PetscMemTypeDevice(fm) && PetscMemTypeDevice(am)) {
    PetscCall(AddRows(p, 1, few, 0, all, 0, PETSC_TRUE));
    PetscCall(VecRestoreArrayAndMemType(y, &all));
    PetscCall(VecRestoreArrayAndMemType(p->fewvec, &few));
  } else {
    PetscCall(VecRestoreArrayAndMemType(y, &all));
    PetscCall(VecRestoreArrayAndMemType(p->fewvec, &few));
    PetscCall(VecGetArray(p->fewvec, &few));
    PetscCall(VecGetArray(y, &all));
    PetscCall(AddRows(p, 1, few, 0, all, 0, PETSC_FALSE));
    PetscCall(VecRestoreArray(y, &all));
    PetscCall(VecRestoreArray(p->fewvec, &few));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedOffMultTranspose(Mat A, Vec x, Vec g)
{
  AIJParallel       *p = &MatDerivedOf(A)->parallel;
  const PetscScalar *all;
  PetscScalar       *few;
  PetscMemType       am, fm;

  PetscFunctionBegin;
  if (!p->few || !p->nfew) {
    if (p->few) PetscCall(VecZeroEntries(g));
    else PetscUseTypeMethod(p->off, multtranspose, x, g);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecGetArrayWriteAndMemType(p->fewvec, &few, &fm));
  PetscCall(VecGetArrayReadAndMemType(x, &all, &am));
  if (p->devicefew && PetscMemTypeDevice(fm) && PetscMemTypeDevice(am)) {
    PetscCall(TakeRows(p, 1, all, 0, few, 0, PETSC_TRUE));
    PetscCall(VecRestoreArrayReadAndMemType(x, &all));
    PetscCall(VecRestoreArrayWriteAndMemType(p->fewvec, &few));
  } else {
    PetscCall(VecRestoreArrayReadAndMemType(x, &all));
    PetscCall(VecRestoreArrayWriteAndMemType(p->fewvec, &few));
    PetscCall(VecGetArrayWrite(p->fewvec, &few));
    PetscCall(VecGetArrayRead(x, &all));
    PetscCall(TakeRows(p, 1, all, 0, few, 0, PETSC_FALSE));
    PetscCall(VecRestoreArrayRead(x, &all));
    PetscCall(VecRestoreArrayWrite(p->fewvec, &few));
  }
  PetscUseTypeMethod(p->off, multtranspose, p->fewvec, g);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedOffMatMultAdd(Mat A, Mat G, Mat Y)
{
  AIJParallel   *p = &MatDerivedOf(A)->parallel;
  const PetscInt K = Y->cmap->n;
  PetscScalar   *all, *few;
  PetscMemType   am, fm;
  PetscInt       ldall, ldfew;

  PetscFunctionBegin;
  if (!p->off->cmap->n || !p->nfew) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDerivedApplyDense(p->off, AIJ_N, G, p->fewrows));
  PetscCall(MatDenseGetLDA(Y, &ldall));
  PetscCall(MatDenseGetLDA(p->fewrows, &ldfew));
  PetscCall(MatDenseGetArrayAndMemType(p->fewrows, &few, &fm));
  PetscCall(MatDenseGetArrayAndMemType(Y, &all, &am));
  if ((p->devicefew || !p->few) && PetscMemTypeDevice(fm) && PetscMemTypeDevice(am)) {
    PetscCall(AddRows(p, K, few, ldfew, all, ldall, PETSC_TRUE));
    PetscCall(MatDenseRestoreArrayAndMemType(Y, &all));
    PetscCall(MatDenseRestoreArrayAndMemType(p->fewrows, &few));
  } else {
    PetscCall(MatDenseRestoreArrayAndMemType(Y, &all));
    PetscCall(MatDenseRestoreArrayAndMemType(p->fewrows, &few));
    PetscCall(MatDenseGetArray(p->fewrows, &few));
    PetscCall(MatDenseGetArray(Y, &all));
    PetscCall(AddRows(p, K, few, ldfew, all, ldall, PETSC_FALSE));
    PetscCall(MatDenseRestoreArray(Y, &all));
    PetscCall(MatDenseRestoreArray(p->fewrows, &few));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedOffTransposeMatMult(Mat A, Mat X, Mat G)
{
  AIJParallel       *p = &MatDerivedOf(A)->parallel;
  const PetscInt     K = X->cmap->n;
  const PetscScalar *all;
  PetscScalar       *few;
  PetscMemType       am, fm;
  PetscInt           ldall, ldfew;

  PetscFunctionBegin;
  if (!p->few || !p->nfew) {
    if (p->few) PetscCall(MatZeroEntries(G));
    else PetscCall(MatDerivedApplyDense(p->off, AIJ_T, X, G));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDenseGetLDA(X, &ldall));
  PetscCall(MatDenseGetLDA(p->fewrows, &ldfew));
  PetscCall(MatDenseGetArrayWriteAndMemType(p->fewrows, &few, &fm));
  PetscCall(MatDenseGetArrayReadAndMemType(X, &all, &am));
  if (p->devicefew && PetscMemTypeDevice(fm) && PetscMemTypeDevice(am)) {
    PetscCall(TakeRows(p, K, all, ldall, few, ldfew, PETSC_TRUE));
    PetscCall(MatDenseRestoreArrayReadAndMemType(X, &all));
    PetscCall(MatDenseRestoreArrayWriteAndMemType(p->fewrows, &few));
  } else {
    PetscCall(MatDenseRestoreArrayReadAndMemType(X, &all));
    PetscCall(MatDenseRestoreArrayWriteAndMemType(p->fewrows, &few));
    PetscCall(MatDenseGetArrayWrite(p->fewrows, &few));
    PetscCall(MatDenseGetArrayRead(X, &all));
    PetscCall(TakeRows(p, K, all, ldall, few, ldfew, PETSC_FALSE));
    PetscCall(MatDenseRestoreArrayRead(X, &all));
    PetscCall(MatDenseRestoreArrayWrite(p->fewrows, &few));
  }
  PetscCall(MatDerivedApplyDense(p->off, AIJ_T, p->fewrows, G));
  PetscFunctionReturn(PETSC_SUCCESS);
}
