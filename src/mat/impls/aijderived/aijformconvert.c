/*
  MatConvert() from and to our types. PETSc asks an empty matrix of the new type for its convertfrom operation and the old
  matrix for its convert operation, before it falls to the basic converter, which copies entry by entry: with both set,
  users' and internal names, in place or not, from and to any type, all come through here.
*/
#include "aijformimpl.h"

/* From any matrix to a kind of ours, or to another one */
PetscErrorCode MatConvertFrom_AIJForm(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  const AIJFormClass *cls, *old;
  Mat                 B = A;
  PetscBool           isseq, ismpi;

  PetscFunctionBegin;
  PetscCall(AIJFormFindClass(type, &cls));
  PetscCheck(cls, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_UNKNOWN_TYPE, "Matrix type %s is not one of petsccsrc's", type);
  PetscCall(MatAIJFormGetClass(A, &old));
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatCopy(A, *newmat, DIFFERENT_NONZERO_PATTERN));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (old == cls) { /* the internal name was known already, the users' name means the same */
    if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, newmat));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* through plain AIJ; on a plain AIJ matrix our part is put over it as it stands */
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATMPIAIJ, &ismpi));
  if (reuse == MAT_INITIAL_MATRIX) {
    if (isseq || ismpi) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
    else PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  } else if (!isseq && !ismpi) PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &B));
  PetscCall(PetscObjectTypeCompare((PetscObject)B, MATSEQAIJ, &isseq));
  if (isseq) PetscCall(MatAIJFormInstall(B, cls));
  else PetscCall(MatAIJFormInstallMPI(B, cls));
  *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of ours becomes plain AIJ: our part is taken off, the CSR stays where it is */
static PetscErrorCode MatAIJFormToAIJ(Mat A)
{
  PetscBool isseq;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  if (isseq) {
    PetscCall(MatAIJFormRemove(A));
    PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATSEQAIJ));
  } else {
    Mat blocks[2];

    if (A->assembled) {
      PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
      for (int k = 0; k < 2; k++) {
        const AIJFormClass *cls;

        PetscCall(MatAIJFormGetClass(blocks[k], &cls));
        if (cls) PetscCall(MatAIJFormToAIJ(blocks[k]));
      }
    }
    PetscCall(MatAIJFormRemoveMPI(A));
    PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATMPIAIJ));
  }
  A->boundtocpu = PETSC_TRUE; /* as PETSc creates AIJ matrices */
  PetscCall(PetscFree(A->defaultvectype));
  PetscCall(PetscStrallocpy(VECSTANDARD, &A->defaultvectype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From a kind of ours to any type: to plain AIJ at once, to others through it */
PetscErrorCode MatConvert_AIJForm(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat                 B = A;
  PetscBool           toaij;
  const AIJFormClass *cls;

  PetscFunctionBegin;
  PetscCall(AIJFormFindClass(type, &cls));
  if (cls) {
    PetscCall(MatConvertFrom_AIJForm(A, type, reuse, newmat));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscStrcmpAny(type, &toaij, MATAIJ, MATSEQAIJ, MATMPIAIJ, ""));
  if (reuse == MAT_REUSE_MATRIX) {
    if (toaij) PetscCall(MatCopy(A, *newmat, DIFFERENT_NONZERO_PATTERN));
    else {
      PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
      PetscCall(MatConvert(B, type, MAT_REUSE_MATRIX, newmat));
      PetscCall(MatDestroy(&B));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatAIJFormToAIJ(B));
  if (!toaij) PetscCall(MatConvert(B, type, MAT_INPLACE_MATRIX, &B));
  *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}
