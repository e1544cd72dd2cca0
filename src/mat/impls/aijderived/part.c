/* The data of a matrix: the operations and composed functions that tables replace, its settings, its CSR and its blocks */
#include "derivedimpl.h"
#include "cusparse/cusparse.h"

PetscErrorCode MatDerivedOverrideOperations(Mat A)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  f->base = A->ops[0];
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(f->tables); t++) {
    for (const AIJOperation *op = f->tables[t]; op && op->ours; op++) {
      if (op->when == OVERRIDE_IF_AIJ_HAS_IT && !*MatDerivedGetOperation(&f->base, op)) continue;
      if (op->when == OVERRIDE_ON_DEVICES && !f->kind->usesdevice) continue;
      *MatDerivedGetOperation(A->ops, op) = op->ours;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An operation that was replaced since is kept: the destroy function of a submatrix is PETSc's, which frees the data kept for its reuse and calls the one here */
PetscErrorCode MatDerivedRestoreOperations(Mat A)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(f->tables); t++) {
    for (const AIJOperation *op = f->tables[t]; op && op->ours; op++) {
      if (*MatDerivedGetOperation(A->ops, op) == op->ours) *MatDerivedGetOperation(A->ops, op) = *MatDerivedGetOperation(&f->base, op);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedCompose(Mat A, const AIJComposed *c, const char type[], PetscBool on)
{
  PetscFunctionBegin;
  for (; c && c->name; c++) {
    PetscErrorCodeFn *now;
    char              name[256];

    PetscCall(PetscSNPrintf(name, sizeof(name), c->name, type));
    if (c->aij && on) {
      PetscCall(PetscObjectQueryFunction((PetscObject)A, name, &now));
      if (now != c->function) *c->aij = now;
    }
    PetscCall(PetscObjectComposeFunction((PetscObject)A, name, on ? c->function : c->aij ? *c->aij : NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedComposeAll(Mat A, const Mat_Derived *f, PetscBool on)
{
  PetscFunctionBegin;
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(f->composed); t++) PetscCall(MatDerivedCompose(A, f->composed[t], f->type, on));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedReinstall(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedRestoreOperations(A));
  PetscCall(MatDerivedOverrideOperations(A));
  PetscCall(MatDerivedComposeAll(A, MatDerivedOf(A), PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedRemove(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedComposeAll(A, MatDerivedOf(A), PETSC_FALSE));
  PetscCall(MatDerivedRestoreOperations(A));
  PetscCall(PetscObjectCompose((PetscObject)A, AIJ_PART, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedGetCSR(Mat A, PetscBool ondevice, AIJCSR *csr)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(csr, sizeof(*csr)));
  csr->m = A->rmap->n;
  csr->n = A->cmap->n;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &csr->m, &csr->i, &csr->j, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatGetRowIJ() does not work for the matrix type %s", ((PetscObject)A)->type_name);
  csr->nnz = csr->m ? csr->i[csr->m] : 0;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (ondevice) PetscCall(MatDerivedGetDeviceCSR(A, csr));
  if (csr->device.a && A->offloadmask == PETSC_OFFLOAD_GPU) PetscFunctionReturn(PETSC_SUCCESS);
#endif
  /* what it gives is AIJ's array for as long as the matrix lives, so that there is nothing to restore; if the device has newer values they are fetched */
  PetscCall(MatSeqAIJGetArrayRead(A, &csr->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedGetBlocks(Mat A, Mat *Ad, Mat *Ao, const PetscInt **garray)
{
  PetscFunctionBegin;
  if (MatDerivedOf(A)->released) {
    const Mat_MPICSRFree *r = (const Mat_MPICSRFree *)A->data;

    *Ad = r->blocks[0];
    *Ao = r->blocks[1];
    if (garray) *garray = r->garray;
  } else PetscCall(MatMPIAIJGetSeqAIJ(A, Ad, Ao, garray));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedStayBound(Mat A, PetscBool flg)
{
  PetscBool usable;

  PetscFunctionBegin;
  PetscCall(PetscCSRCDeviceUsable(&usable, NULL));
  if (!flg && !usable) MatDerivedSetBoundToCPU(A, PETSC_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedGetSettings(Mat A, void *settings)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  PetscCheck(f, PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB, "Matrix of type %s has no settings", ((PetscObject)A)->type_name);
  *(void **)settings = f->settings;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New settings take effect at the next product; the blocks of a parallel matrix get them here, and when the blocks are converted */
PetscErrorCode MatDerivedSettingsChanged(Mat A)
{
  PetscFunctionBegin;
  PetscCall((*MatDerivedOf(A)->settingschanged)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedChangeSetting(Mat A, size_t place, const void *value, size_t size)
{
  char     *settings;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetSettings(A, &settings));
  PetscCall(PetscMemcmp(settings + place, value, size, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMemcpy(settings + place, value, size));
  PetscCall(MatDerivedSettingsChanged(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedCopySettings(Mat from, Mat to)
{
  Mat_Derived *f = MatDerivedOf(from), *t = MatDerivedOf(to);

  PetscFunctionBegin;
  PetscCheck(f->kind == t->kind, PetscObjectComm((PetscObject)to), PETSC_ERR_PLIB, "Settings of %s do not fit %s", f->kind->name, t->kind->name);
  PetscCall(PetscMemcpy(t->settings, f->settings, f->kind->size));
  t->exchange = f->exchange;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  AIJ's MatAXPY(), MatShift() and MatTranspose() may replace the insides of A by those of another matrix (MatHeaderMerge(),
  MatHeaderReplace()), which has default settings. A's settings are therefore saved before and restored afterwards.
*/
PetscErrorCode MatDerivedSaveSettings(Mat A, AIJSavedSettings *saved)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  saved->kind     = f->kind;
  saved->part     = f;
  saved->release  = f->release;
  saved->exchange = f->exchange;
  PetscCall(PetscMalloc(f->kind->size, &saved->settings));
  PetscCall(PetscMemcpy(saved->settings, f->settings, f->kind->size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedUseSettings(Mat A, const AIJSavedSettings *saved)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  f->release  = saved->release;
  f->exchange = saved->exchange;
  PetscCall(PetscMemcpy(f->settings, saved->settings, f->kind->size));
  PetscCall(MatDerivedSettingsChanged(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedRestoreSettings(Mat A, AIJSavedSettings *saved)
{
  PetscFunctionBegin;
  if (MatDerivedOf(A) != saved->part && MatDerivedKindOf(A) == saved->kind) PetscCall(MatDerivedUseSettings(A, saved));
  PetscCall(PetscFree(saved->settings));
  PetscFunctionReturn(PETSC_SUCCESS);
}
