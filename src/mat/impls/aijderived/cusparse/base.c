/*
  What is underneath a matrix of ours where a device can be used: PETSc's aijcusparse. Its CSR is on the host, on the device, or on both,
  and is copied when one side asks for what the other has; a matrix that only multiplies never has one on the device. So what aijcusparse
  does on the device (values from coordinates, scaling, sums, sparse products, factors, diagonals) is done there, some of what it does on
  the host too (transposes, shifts, duplicates), and products come from our stored nonzeros, which are filled from the CSR wherever it is
  current.

  This file has what the others here, and the matrix's state, need of it; operations.c has the operations, lend.c the names that matrices lend, faults.c
  what is wrong in PETSc and mended here.
*/
#include "cusparse.h"

#if defined(PETSCCSRC_HAVE_CUDA)
static PetscErrorCode ConvertByFunction(Mat A, const char name[], MatType type)
{
  PetscErrorCode (*convert)(Mat, MatType, MatReuse, Mat *);

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, name, &convert));
  PetscCheck(convert, PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB, "%s is missing: no %s", name, type);
  PetscCall((*convert)(A, type, MAT_INPLACE_MATRIX, &A)); /* MatConvert() does not accept a matrix that is not assembled */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc sets the type of the blocks, which empties those that are ours already, by -mat_seqaij_type */
static PetscErrorCode MakeBlocksPlain(Mat A)
{
  Mat blocks[2];

  PetscFunctionBegin;
  if (!A->assembled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int k = 0; k < 2; k++) {
    if (MatDerivedKindOf(blocks[k])) PetscCall(MatConvert(blocks[k], MATSEQAIJ, MAT_INPLACE_MATRIX, &blocks[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode MatDerivedPutBase(Mat A, const AIJKind *kind, PetscBool *cusparse)
{
  PetscBool usable, isseq, ismpi;

  PetscFunctionBegin;
  *cusparse = PETSC_FALSE;
  PetscCall(PetscCSRCDeviceUsable(&usable, NULL));
  if (!kind->usesdevice || !usable || A->factortype != MAT_FACTOR_NONE || A->structure_only) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(PETSCCSRC_HAVE_CUDA)
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATMPIAIJ, &ismpi));
  if (isseq) PetscCall(ConvertByFunction(A, "MatConvert_seqaij_seqaijcusparse_C", MATSEQAIJCUSPARSE));
  if (ismpi) PetscCall(MakeBlocksPlain(A));
  if (ismpi) PetscCall(ConvertByFunction(A, "MatConvert_mpiaij_mpiaijcusparse_C", MATMPIAIJCUSPARSE));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, cusparse, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
#else
  (void)isseq;
  (void)ismpi;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedFetch(Mat A)
{
  Mat                blocks[2] = {A, NULL};
  const PetscScalar *a;
  PetscBool          ismpi;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &ismpi));
  if (ismpi) PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int k = 0; k < 2 && blocks[k]; k++) {
    PetscCall(MatSeqAIJGetArrayRead(blocks[k], &a));
    PetscCall(MatSeqAIJRestoreArrayRead(blocks[k], &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedWritten(Mat A)
{
  Mat          blocks[2] = {A, NULL};
  PetscScalar *a;
  PetscBool    ismpi;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &ismpi));
  if (ismpi) PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int k = 0; k < 2 && blocks[k]; k++) {
    PetscCall(MatSeqAIJGetArrayWrite(blocks[k], &a));
    PetscCall(MatSeqAIJRestoreArrayWrite(blocks[k], &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
PetscBool MatDerivedCSROnDevice(Mat A)
{
  return !A->boundtocpu && (A->offloadmask == PETSC_OFFLOAD_GPU || A->offloadmask == PETSC_OFFLOAD_BOTH) ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode MatDerivedGetDeviceCSR(Mat A, AIJCSR *csr)
{
  PetscFunctionBegin;
  if (!MatDerivedCSROnDevice(A) || !csr->nnz) PetscFunctionReturn(PETSC_SUCCESS);
  MatDerivedCallLent(A, MatSeqAIJCUSPARSEGetIJ(A, PETSC_FALSE, &csr->device.i, &csr->device.j));
  MatDerivedCallLent(A, MatSeqAIJCUSPARSEGetArrayRead(A, &csr->device.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
