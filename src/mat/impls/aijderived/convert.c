/*
  MatConvert() from and to our types. PETSc asks an empty matrix of the new type for its convertfrom operation and the old
  matrix for its convert operation, before it falls back to the basic converter, which copies entry by entry. Since both are
  set, all conversions come through here: by users' and internal names, in place or not, from and to any type.
*/
#include "derivedimpl.h"

/*
  Whether the name says sequential and A is parallel, or the reverse. On one process both exist, and users' names mean either. Matrices without a
  CSR, which are neither by their names, are converted through AIJ anyway.
*/
static PetscErrorCode MatContradictsSize(Mat A, const char type[], const char seqname[], const char mpiname[], PetscBool *other)
{
  PetscBool wantseq, wantmpi, isseq, ismpi;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, seqname, &wantseq));
  PetscCall(PetscStrcmp(type, mpiname, &wantmpi));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &ismpi));
  *other = (PetscBool)((wantseq && ismpi) || (wantmpi && isseq));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From any matrix to a kind of ours, or to another one */
PetscErrorCode MatConvertFrom_AIJDerived(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  const AIJKind *kind, *old;
  Mat            B = A;
  PetscBool      isaij, isseq, cusparse, other, released;

  PetscFunctionBegin;
  PetscCall(AIJKindFind(type, &kind));
  if (!kind && A->ops->convert) { /* to AIJ: with -mat_seqaij_type MatConvert() asks for this too */
    PetscUseTypeMethod(A, convert, type, reuse, newmat);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(kind, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_UNKNOWN_TYPE, "With -mat_seqaij_type matrices of type %s cannot be converted to %s", ((PetscObject)A)->type_name, type);
  old = MatDerivedKindOf(A);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &released, kind->releasedseqname, kind->releasedmpiname, ""));
  if (reuse == MAT_REUSE_MATRIX) {
    /* the copy operations of other types, such as MATNEST, may take the target for a matrix of their own */
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &isaij, MATSEQAIJ, MATMPIAIJ, ""));
    if (!isaij) PetscCall(MatCopyAsAIJ(A, &B));
    PetscCall(MatCopy(B, *newmat, DIFFERENT_NONZERO_PATTERN));
    if (B != A) PetscCall(MatDestroy(&B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatContradictsSize(A, type, kind->seqname, kind->mpiname, &other));
  if (old == kind && !other) { /* A is of this kind already: the users' name means the same type as the internal one */
    if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, newmat));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* through plain AIJ: our part is then put over the matrix in place; a matrix of another kind of ours is AIJ underneath, and aijcusparse may stay there */
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &isaij, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(PetscCSRCDeviceUsable(&cusparse, NULL));
  if (cusparse && kind->usesdevice) PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &cusparse, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  else cusparse = PETSC_FALSE;
  if ((isaij || cusparse || old) && !other) {
    if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
    if (old) PetscCall(MatConvert(B, MATAIJ, MAT_INPLACE_MATRIX, &B));
  } else {
    PetscCall(MatCopyAsAIJ(A, &B));
    PetscCall(MatContradictsSize(B, type, kind->seqname, kind->mpiname, &other)); /* the type of A may not have told which */
    PetscCall(PetscObjectTypeCompare((PetscObject)B, MATSEQAIJ, &isseq));
    if (other) PetscCall(MatConvert(B, isseq ? MATMPIAIJ : MATSEQAIJ, MAT_INPLACE_MATRIX, &B));
  }
  PetscCall(MatDerivedInstallAny(B, kind));
  if (released) { /* the same kind, and its CSR is back */
    PetscCall(MatDerivedCopySettings(A, B));
    PetscCall(MatDerivedSettingsChanged(B));
    if (kind->usesdevice) PetscCall(MatBindToCPU(B, MatDerivedBoundToCPU(A)));
  }
  if (reuse == MAT_INPLACE_MATRIX && B != A) PetscCall(MatReplaceInsides(A, &B));
  else *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of ours becomes plain AIJ: our part is taken off, the CSR stays where it is; from aijcusparse underneath it is copied, PETSc has no other way */
static PetscErrorCode MatDerivedToAIJ(Mat A)
{
  const AIJSettersCOO coo = MatDerivedOf(A)->coo[0];
  PetscBool           isseq;
  Mat                 B;

  PetscFunctionBegin;
  if (MatDerivedOf(A)->cusparse) {
    PetscCall(MatCopyAsAIJ(A, &B));
    PetscCall(MatReplaceInsides(A, &B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  if (isseq) {
    PetscCall(MatDerivedRemove(A));
    PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATSEQAIJ));
  } else {
    Mat blocks[2];

    if (A->assembled) {
      PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
      for (int k = 0; k < 2; k++) {
        if (MatDerivedKindOf(blocks[k])) PetscCall(MatDerivedToAIJ(blocks[k]));
      }
    }
    PetscCall(MatDerivedRemoveMPI(A));
    PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATMPIAIJ));
  }
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetPreallocationCOO_C", coo.setpreallocation));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetValuesCOO_C", coo.setvalues));
  MatDerivedSetBoundToCPU(A, PETSC_TRUE); /* as PETSc creates AIJ matrices */
  PetscCall(MatSetVecType(A, VECSTANDARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PETSc's converter to MATHYPRE, which it composes with AIJ; NULL for other types. It only reads A, on the device if A is there: hypre then works
  on the device. A copy that has become AIJ would be on the host, and hypre with it.
*/
static PetscErrorCode MatFindHypreConverter(Mat A, MatType type, PetscErrorCode (**convert)(Mat, MatType, MatReuse, Mat *))
{
  PetscBool hypre, isseq;

  PetscFunctionBegin;
  *convert = NULL;
  PetscCall(PetscStrcmp(type, MATHYPRE, &hypre));
  if (!hypre) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, isseq ? "MatConvert_seqaij_hypre_C" : "MatConvert_mpiaij_hypre_C", convert));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From a kind of ours to any type: to plain AIJ at once, to others through it */
PetscErrorCode MatConvert_AIJDerived(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  PetscErrorCode (*tohypre)(Mat, MatType, MatReuse, Mat *);
  Mat            B = A;
  PetscBool      toaij, other;
  const AIJKind *kind;

  PetscFunctionBegin;
  PetscCall(AIJKindFind(type, &kind));
  if (kind) {
    PetscCall(MatConvertFrom_AIJDerived(A, type, reuse, newmat));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatFindHypreConverter(A, type, &tohypre));
  if (tohypre) {
    PetscCall((*tohypre)(A, type, reuse, newmat));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscStrcmpAny(type, &toaij, MATAIJ, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(MatContradictsSize(A, type, MATSEQAIJ, MATMPIAIJ, &other));
  if (other) toaij = PETSC_FALSE;
  if (reuse == MAT_REUSE_MATRIX) {
    if (toaij) PetscCall(MatCopy(A, *newmat, DIFFERENT_NONZERO_PATTERN));
    else {
      /* copied between two matrices of that type */
      PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
      PetscCall(MatConvertAIJInPlace(B, type));
      PetscCall(MatCopy(B, *newmat, SAME_NONZERO_PATTERN));
      PetscCall(MatDestroy(&B));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (reuse == MAT_INITIAL_MATRIX) {
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
    B->ops->view = MatView_AIJDerived; /* MatDuplicate() takes over the one that a DMDA gives its matrix, which MatConvert() of AIJ does not */
  }
  PetscCall(MatDerivedToAIJ(B));
  if (!toaij) PetscCall(MatConvertAIJInPlace(B, type));
  *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}
