/* Settings of a matrix: get, change, save and restore them; the setting that all kinds have: how many copies of the nonzeros are stored */
#include "derivedimpl.h"

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
  PetscBool isseq;

  PetscFunctionBegin;
  PetscCall(MatDerivedResetMPI(A));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  if (isseq) PetscCall(MatDerivedReset(A));
  else if (A->assembled) {
    Mat blocks[2];

    PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
    for (int k = 0; k < 2; k++) {
      if (!MatDerivedKindOf(blocks[k])) continue;
      PetscCall(MatDerivedCopySettings(A, blocks[k]));
      PetscCall(MatDerivedReset(blocks[k]));
    }
  }
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
  saved->exchange = f->parallel.type;
  PetscCall(PetscMalloc(f->kind->size, &saved->settings));
  PetscCall(PetscMemcpy(saved->settings, f->settings, f->kind->size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives saved settings to a matrix of the same kind, and to its blocks */
PetscErrorCode MatDerivedUseSettings(Mat A, const AIJSavedSettings *saved)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  f->release       = saved->release;
  f->parallel.type = saved->exchange;
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

const char *const MatFormCopiesTypes[] = {"1", "2", "auto", "MatFormCopies", "MAT_FORM_COPIES_", NULL};

PetscBool AIJTakesTwoCopies(MatFormCopies copies, PetscInt columns, const AIJCSR *csr, PetscReal bytes)
{
  const PetscReal copy = bytes * (PetscReal)csr->nnz, operands = (PetscReal)sizeof(PetscScalar) * ((PetscReal)csr->m + (PetscReal)csr->n) * (PetscReal)columns;

  return copies == MAT_FORM_COPIES_TWO || (copies == MAT_FORM_COPIES_AUTO && 4 * copy < operands) ? PETSC_TRUE : PETSC_FALSE;
}

/*@
  MatFormSetCopies - Sets how many copies of a `MATCSRCCUDA` or `MATBCCOO` matrix are stored for products

  Logically Collective

  Input Parameters:
+ A      - the matrix
- copies - how many copies are stored, see `MatFormCopies`

  Options Database Key:
. -mat_form_copies (1|2|auto) - sets the number; the default is 1

  Level: advanced

  Notes:
  The setting takes effect at the next product. Two copies take twice the memory of one; storing them, or giving them new values, takes at least
  twice the time.

  On the host the second copy is one of A^T, so that A^T x gathers like A x and is as fast. Both copies together take 0.6 of the memory of a CSR
  in the mean. New values are transposed first, which takes much longer than refilling one copy. Products with dense matrices, and with A^H in
  complex arithmetic, use the copy of A.

  On a device one copy has blocks of rows and the other blocks of columns. A^T x becomes faster if few nonzeros of a block share a column; if many
  do, one copy is best for both products, and the other is freed. Both copies are in the balanced layout. The following are therefore an error:
  `MAT_CSRC_LAYOUT_CSRC`; a matrix that the balanced layout cannot hold; a `MatCSRCTune` other than `MAT_CSRC_TUNE_RULE`, which chooses for one
  copy.

  `MAT_FORM_COPIES_AUTO` compares the memory of a copy with that of the operands of a product: on the host these are vectors, on a device they have
  as many columns as the widest products that the nonzeros are stored for (`MatCSRCTune`). If another setting excludes two copies, one is stored.

  The function does nothing for matrices of other types.

.seealso: `MATCSRCCUDA`, `MATBCCOO`, `MatFormCopies`, `MatFormGetCopies()`, `MatCSRCSetReproducible()`
@*/
PetscErrorCode MatFormSetCopies(Mat A, MatFormCopies copies)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(A, copies, 2);
  PetscTryMethod(A, "MatFormSetCopies_C", (Mat, MatFormCopies), (A, copies));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatFormGetCopies - Gets how many copies of a `MATCSRCCUDA` or `MATBCCOO` matrix are stored for products

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameter:
. copies - how many copies are stored, see `MatFormCopies`

  Level: advanced

.seealso: `MATCSRCCUDA`, `MATBCCOO`, `MatFormCopies`, `MatFormSetCopies()`
@*/
PetscErrorCode MatFormGetCopies(Mat A, MatFormCopies *copies)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(copies, 2);
  PetscUseMethod(A, "MatFormGetCopies_C", (Mat, MatFormCopies *), (A, copies));
  PetscFunctionReturn(PETSC_SUCCESS);
}
