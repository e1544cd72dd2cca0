/* Settings of a kind: where they are kept, when they take effect */
#include "derivedimpl.h"

PetscErrorCode MatDerivedGetSettings(Mat A, void *settings)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  PetscCheck(f, PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB, "Matrix of type %s has no settings", ((PetscObject)A)->type_name);
  *(void **)settings = f->settings;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New settings take effect at the next product; blocks of a parallel matrix get theirs here and when they are made */
PetscErrorCode MatDerivedSettingsChanged(Mat A)
{
  PetscBool isseq;

  PetscFunctionBegin;
  PetscCall(MatDerivedResetMPI(A));
  if (MatDerivedOf(A)->released) {
    PetscCall(MatDerivedReleasedSettingsChanged(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  if (isseq) PetscCall(MatDerivedReset(A));
  else if (A->assembled) {
    Mat            blocks[2];
    const AIJKind *kind;

    PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatDerivedGetKind(blocks[k], &kind));
      if (!kind) continue;
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
  AIJ's MatAXPY(), MatShift() and MatTranspose() may give A the insides of another matrix (MatHeaderMerge(), MatHeaderReplace()), which
  has default settings: so A's settings are saved before and restored afterwards.
*/
PetscErrorCode MatDerivedSaveSettings(Mat A, AIJSavedSettings *saved)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  saved->kind     = f->kind;
  saved->part     = f;
  saved->release  = f->release;
  saved->exchange = f->parallel.type;
  saved->pattern  = f->parallel.pattern;
  PetscCall(PetscMalloc(f->kind->size, &saved->settings));
  PetscCall(PetscMemcpy(saved->settings, f->settings, f->kind->size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedRestoreSettings(Mat A, AIJSavedSettings *saved)
{
  const AIJKind *now;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetKind(A, &now));
  if (MatDerivedOf(A) != saved->part && now == saved->kind) {
    Mat_Derived *f = MatDerivedOf(A);

    f->release          = saved->release;
    f->parallel.type    = saved->exchange;
    f->parallel.pattern = saved->pattern;
    PetscCall(PetscMemcpy(f->settings, saved->settings, now->size));
    PetscCall(MatDerivedSettingsChanged(A));
  }
  PetscCall(PetscFree(saved->settings));
  PetscFunctionReturn(PETSC_SUCCESS);
}
