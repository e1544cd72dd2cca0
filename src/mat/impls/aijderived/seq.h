#pragma once

/* The sequential type: the cache of its nonzeros, its products, and operations that it shares with the parallel one */
#include "derivedimpl.h"

/* state.c: what has changed in a sequential matrix, whose state is now this, since its nonzeros were stored */
typedef enum {
  AIJ_CHANGED_NOTHING,
  AIJ_CHANGED_VALUES,
  AIJ_CHANGED_PATTERN /* or nothing is stored where it multiplies */
} AIJChanged;
PETSC_INTERN AIJChanged MatDerivedChangedSince(Mat, MatState now);
/* Brings the stored nonzeros of a sequential matrix up to date; products call it first */
PETSC_INTERN PetscErrorCode MatDerivedUpdate(Mat);
/* Frees the stored nonzeros; a later product stores them again */
PETSC_INTERN PetscErrorCode MatDerivedReset(Mat);
PETSC_INTERN PetscErrorCode AIJCacheReset(AIJCache *);
/* later.c: whether products of a matrix with these settings may be left to the type underneath */
PETSC_INTERN PetscBool MatDerivedMayLeave(Mat);
/* y = op(A) x + z by the type underneath, if storing the nonzeros does not pay back yet; a product that stores them at once calls MatDerivedStoreAtOnce() */
PETSC_INTERN PetscErrorCode MatDerivedLeave(Mat, AIJOp op, Vec x, Vec z, Vec y, PetscBool *done);
PETSC_INTERN PetscErrorCode MatDerivedLeaveMPI(Mat, AIJOp op, Vec x, Vec z, Vec y, PetscBool *done); /* the same for a parallel matrix on devices; collective */
PETSC_INTERN PetscErrorCode MatDerivedStoreAtOnce(Mat);
PETSC_INTERN PetscErrorCode MatDerivedLeaveInitialize(void); /* reads the option -mat_form_store_at_once */
/* state.c: before a product with K columns: frees the stored nonzeros if they must be stored again for such products. MatDerivedCountVector() counts products with vectors. */
PETSC_INTERN PetscErrorCode MatDerivedExpectColumns(Mat, PetscInt K);
PETSC_INTERN PetscErrorCode MatDerivedCountVector(Mat);
/* Device scratch of at least n scalars in a slot of the matrix; its contents are undefined */
PETSC_INTERN PetscErrorCode MatDerivedGetStage(Mat, int slot, size_t n, PetscScalar **);
/* Each product calls this first; after it, A may have the type without CSR */
static inline PetscErrorCode MatDerivedReleaseIfAsked(Mat A)
{
  const Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  if (f->release && !f->released) PetscCall((*f->release)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* inherited.c, seq.c: operations of both types, and of the sequential one */
PETSC_INTERN const AIJOperation MatDerivedInheritedOperations[], MatDerivedSeqOperations[];
PETSC_INTERN PetscErrorCode     MatDerivedAXPY(Mat, PetscScalar, Mat, MatStructure);
PETSC_INTERN PetscErrorCode     MatDuplicate_AIJDerived(Mat, MatDuplicateOption, Mat *);
PETSC_INTERN PetscErrorCode     MatShift_AIJDerived(Mat, PetscScalar);
PETSC_INTERN PetscErrorCode     MatTranspose_AIJDerived(Mat, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode     MatSetPreallocationCOO_AIJDerived(Mat, PetscCount, PetscInt[], PetscInt[]);
PETSC_INTERN PetscErrorCode     MatSetValuesCOO_AIJDerived(Mat, const PetscScalar[], InsertMode);
/* Keeps the function that destroys the type underneath, for matrices that have lost their Mat_Derived */
PETSC_INTERN PetscErrorCode MatDerivedKeepDestroy(Mat);
/* Whether A is destroyed by another function than ours: PETSc replaces it where submatrices of parallel matrices have more data */
PETSC_INTERN PetscBool MatDerivedDestroyReplaced(Mat);
#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN PetscErrorCode MatGetCurrentMemType_AIJDerived(Mat, PetscMemType *);
#endif

/* view.c */
PETSC_INTERN PetscErrorCode MatView_AIJDerived(Mat, PetscViewer);
PETSC_INTERN PetscErrorCode MatDerivedGetBytes(Mat, PetscLogDouble *); /* of the nonzeros of a sequential matrix that are stored; 0 if none are */
PETSC_INTERN PetscErrorCode MatFormGetMemory_SeqAIJDerived(Mat, PetscLogDouble *, PetscMemType *);
PETSC_INTERN PetscErrorCode MatFormGetMemory_MPIAIJDerived(Mat, PetscLogDouble *, PetscMemType *);

/* seqmult.c: products of the sequential type with vectors */
PETSC_INTERN PetscErrorCode MatMult_SeqAIJDerived(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultAdd_SeqAIJDerived(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTranspose_SeqAIJDerived(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTransposeAdd_SeqAIJDerived(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultHermitianTranspose_SeqAIJDerived(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultHermitianTransposeAdd_SeqAIJDerived(Mat, Vec, Vec, Vec);
/* Their rows in a table of operations */
#define AIJ_PRODUCTS \
  AIJ_OPERATION(mult, MatMult_SeqAIJDerived, OVERRIDE_ALWAYS), AIJ_OPERATION(multadd, MatMultAdd_SeqAIJDerived, OVERRIDE_ALWAYS), AIJ_OPERATION(multtranspose, MatMultTranspose_SeqAIJDerived, OVERRIDE_ALWAYS), \
    AIJ_OPERATION(multtransposeadd, MatMultTransposeAdd_SeqAIJDerived, OVERRIDE_ALWAYS), AIJ_OPERATION(multhermitiantranspose, MatMultHermitianTranspose_SeqAIJDerived, OVERRIDE_ALWAYS), \
    AIJ_OPERATION(multhermitiantransposeadd, MatMultHermitianTransposeAdd_SeqAIJDerived, OVERRIDE_ALWAYS)

/* seqmatmult.c: Y = op(A) X for a sequential matrix and dense X, Y, which may live in host or device memory */
PETSC_INTERN PetscErrorCode MatDerivedApplyDense(Mat, AIJOp, Mat, Mat);
/*
  C = op(A) B for a matrix A of another type. PETSc makes products of three matrices of two, ABC of A and BC, and calls for the second one an operation
  of C, with operands that C's product does not know. A need not be one of ours: it may have been converted since C was prepared, and C keeps the
  operation when it gets a product of other matrices.
*/
PETSC_INTERN PetscErrorCode MatDerivedProductOfOthers(Mat A, AIJOp, Mat B, Mat C);
/* If the matrix A of a product C has been converted since C was prepared, computes C by A's new type; *done tells whether it did */
PETSC_INTERN PetscErrorCode MatDerivedProductElsewhere(Mat, PetscBool *);
/* For MatProduct: the functions composed under the names of the types involved */
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_SeqAIJDerived_SeqDense(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_SeqDense_SeqAIJDerived(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_AIJDerived_MAIJ(Mat);
