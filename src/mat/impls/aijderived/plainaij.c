/* Plain AIJ matrices: copies of other types, their blocks, and what becomes of them */
#include "derivedimpl.h"
#include <petscdm.h>

PetscErrorCode MatSetTypePlainSeqAIJ(Mat B)
{
  PetscFunctionBegin;
  PetscCall(MatSetOptionsPrefix(B, "petsccsrc_plain_")); /* PETSc reads -mat_seqaij_type with the prefix of the matrix */
  PetscCall(MatSetType(B, MATSEQAIJ));
  PetscCall(MatSetOptionsPrefix(B, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A plain AIJ copy of a sequential matrix of any type derived from AIJ, also if its newest values are on a device; *B may be half made after an error */
static PetscErrorCode MatCopyAsSeqAIJ(Mat A, Mat *B)
{
  const PetscInt    *i, *j;
  const PetscScalar *a;
  PetscInt           m;
  PetscBool          done;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &m, &i, &j, &done));
  PetscCheck(done, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "MatGetRowIJ() does not work for the matrix type %s", ((PetscObject)A)->type_name);
  PetscCall(MatSeqAIJGetArrayRead(A, &a));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(MatSetSizes(*B, A->rmap->n, A->cmap->n, A->rmap->n, A->cmap->n));
  if (!(A->rmap->n % A->rmap->bs) && !(A->cmap->n % A->cmap->bs)) PetscCall(MatSetBlockSizesFromMats(*B, A, A));
  PetscCall(MatSetTypePlainSeqAIJ(*B));
  PetscCall(MatSeqAIJSetPreallocationCSR(*B, i, j, a));
  PetscCall(MatSeqAIJRestoreArrayRead(A, &a));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &m, &i, &j, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatJoinBlocks(Mat A, PetscErrorCode ierr, Mat blocks[2], const PetscInt garray[], Mat *B)
{
  PetscInt *ghosts = NULL;

  PetscFunctionBegin;
  if (!ierr) ierr = PetscMalloc1(blocks[1]->cmap->n + 1, &ghosts); /* never NULL, which would mean that columns are to be compacted */
  ierr = PetscCSRCAgree(PetscObjectComm((PetscObject)A), ierr, "A copy as AIJ");
  if (ierr) {
    for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&blocks[k]));
    PetscCall(PetscFree(ghosts));
  }
  PetscCall(ierr);
  PetscCall(PetscArraycpy(ghosts, garray, blocks[1]->cmap->n));
  PetscCall(MatCreateMPIAIJWithSeqAIJ(PetscObjectComm((PetscObject)A), A->rmap->N, A->cmap->N, blocks[0], blocks[1], ghosts, B));
  PetscCall(MatSetBlockSizes(*B, PetscAbs(A->rmap->bs), PetscAbs(A->cmap->bs))); /* PETSc 3.22 leaves them unset, and converts it to a wrong MATSBAIJ */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A plain AIJ copy of a matrix. PETSc has converters to AIJ from other formats, but for types derived from AIJ, such as
  aijcusparse, only the one that copies entry by entry: so their CSR is copied as a whole.
*/
PetscErrorCode MatCopyAsAIJ(Mat A, Mat *B)
{
  Mat       D;
  PetscBool isseq, ismpi, isdense;

  PetscFunctionBegin;
  *B = NULL;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &ismpi));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &isdense, MATSEQDENSECUDA, MATMPIDENSECUDA, ""));
  if (isdense) { /* PETSc converts dense matrices on the host */
    PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &D));
    PetscCall(MatConvert(D, MATAIJ, MAT_INITIAL_MATRIX, B));
    PetscCall(MatDestroy(&D));
  } else if (A->structure_only || (!isseq && !ismpi)) PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, B));
  else if (isseq) {
    const PetscErrorCode ierr = MatCopyAsSeqAIJ(A, B);

    if (ierr) PetscCall(MatDestroy(B));
    PetscCall(ierr);
  } else {
    Mat             from[2], blocks[2] = {NULL, NULL};
    const PetscInt *garray;
    PetscErrorCode  ierr;

    PetscCall(MatMPIAIJGetSeqAIJ(A, &from[0], &from[1], &garray));
    ierr = MatCopyAsSeqAIJ(from[0], &blocks[0]);
    if (!ierr) ierr = MatCopyAsSeqAIJ(from[1], &blocks[1]);
    PetscCall(MatJoinBlocks(A, ierr, blocks, garray, B));
  }
  if (MatDerivedOf(*B)) PetscCall(MatConvert(*B, MATAIJ, MAT_INPLACE_MATRIX, B)); /* by -mat_seqaij_type */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Replaces the insides of A by those of *B, which is destroyed; A keeps what users have attached to it and set for it */
PetscErrorCode MatReplaceInsides(Mat A, Mat *B)
{
  MatNullSpace           nullspace, transposed, near;
  ISLocalToGlobalMapping rows, cols;
  DM                     dm;

  PetscFunctionBegin;
  if (((PetscObject)A)->name) PetscCall(PetscObjectSetName((PetscObject)*B, ((PetscObject)A)->name));
  PetscCall(MatSetOptionsPrefix(*B, ((PetscObject)A)->prefix));
  PetscCall(MatGetNullSpace(A, &nullspace));
  PetscCall(MatGetTransposeNullSpace(A, &transposed));
  PetscCall(MatGetNearNullSpace(A, &near));
  PetscCall(MatSetNullSpace(*B, nullspace));
  PetscCall(MatSetTransposeNullSpace(*B, transposed));
  PetscCall(MatSetNearNullSpace(*B, near));
  PetscCall(MatGetLocalToGlobalMapping(A, &rows, &cols));
  if (rows && cols) PetscCall(MatSetLocalToGlobalMapping(*B, rows, cols));
  PetscCall(MatGetDM(A, &dm));
  if (dm) PetscCall(MatSetDM(*B, dm));
  PetscCall(MatPropagateSymmetryOptions(A, *B));
  PetscCall(MatHeaderReplace(A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From plain AIJ to any other type; to dense matrices on a device by way of those on the host, the only way that PETSc has */
PetscErrorCode MatConvertAIJInPlace(Mat A, MatType type)
{
  PetscBool isdense;

  PetscFunctionBegin;
  PetscCall(PetscStrcmpAny(type, &isdense, MATDENSECUDA, MATSEQDENSECUDA, MATMPIDENSECUDA, ""));
  if (isdense) PetscCall(MatConvert(A, MATDENSE, MAT_INPLACE_MATRIX, &A));
  PetscCall(MatConvert(A, type, MAT_INPLACE_MATRIX, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
