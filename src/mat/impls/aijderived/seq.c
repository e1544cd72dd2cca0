/* The sequential type: an AIJ matrix with stored nonzeros beside its CSR */
#include "seq.h"
#include "cusparse/cusparse.h"

/*
  The destroy functions of AIJ and of aijcusparse: what is called for a matrix whose Mat_Derived, with its copy of the operations, is gone. AIJ's is
  that of an empty matrix, since a submatrix may have PETSc's function that calls ours.
*/
static PetscErrorCode (*Destroy[2])(Mat) = {NULL, NULL};

static PetscErrorCode CreateEmpty(Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, 0, 0, 0, 0));
  PetscCall(MatSetTypePlainSeqAIJ(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc has set boundtocpu before. Device memory is freed at once; the next product stores the nonzeros in the other memory. */
static PetscErrorCode MatBindToCPU_SeqAIJDerived(Mat A, PetscBool flg)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  PetscCall(MatDerivedStayBound(A, flg));
  if (f->cache.built && f->cache.ondevice == MatDerivedBoundToCPU(A)) PetscCall(MatDerivedReset(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An in-place LU factor takes the place of A by MatHeaderMerge(), which leaves nothing of our part: so that part is taken off before and put on again */
static PetscErrorCode MatLUFactor_SeqAIJDerived(Mat A, IS row, IS col, const MatFactorInfo *info)
{
  PetscErrorCode (*install)(Mat, const AIJKind *) = MatDerivedOf(A)->install;
  const PetscBool  bound                          = MatDerivedBoundToCPU(A);
  AIJSavedSettings saved;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(MatDerivedSaveSettings(A, &saved));
  saved.part = NULL; /* MatConvert() frees it, and the new Mat_Derived may get the same address */
  PetscCall(MatConvert(A, MATSEQAIJ, MAT_INPLACE_MATRIX, &A));
  ierr = (*A->ops->lufactor)(A, row, col, info);
  PetscCall((*install)(A, saved.kind));
  MatDerivedSetBoundToCPU(A, bound);
  PetscCall(MatDerivedRestoreSettings(A, &saved));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  An in-place ILU factor is computed in the arrays on the host. It may change the order of columns in a row, which no state tells. A stays what it is,
  since a submatrix must keep what it needs to be filled again.
*/
static PetscErrorCode MatILUFactor_SeqAIJDerived(Mat A, IS row, IS col, const MatFactorInfo *info)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatDerivedFetch(A));
  PetscCall(MatDerivedReset(A));
  ierr = (*MatDerivedOf(A)->base.ilufactor)(A, row, col, info);
  A->nonzerostate++;
  PetscCall(MatDerivedWritten(A));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ's is a plain AIJ matrix that is composed with what A is: not with what needs our part */
static PetscErrorCode MatGetMultiProcBlock_SeqAIJDerived(Mat A, MPI_Comm comm, MatReuse reuse, Mat *B)
{
  const Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  PetscCall((*f->base.getmultiprocblock)(A, comm, reuse, B));
  if (reuse == MAT_INITIAL_MATRIX && !MatDerivedKindOf(*B)) { /* it has a kind only through -mat_seqaij_type */
    PetscCall(MatDerivedComposeAll(*B, f, PETSC_FALSE));
    PetscCall(PetscObjectComposeFunction((PetscObject)*B, "MatSetPreallocationCOO_C", f->coo[0].setpreallocation));
    PetscCall(PetscObjectComposeFunction((PetscObject)*B, "MatSetValuesCOO_C", f->coo[0].setvalues));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_SeqAIJDerived(Mat A)
{
  const Mat_Derived *f           = MatDerivedOf(A);
  PetscErrorCode (*destroy)(Mat) = f ? f->base.destroy : Destroy[A->spptr != NULL];

  PetscFunctionBegin;
  /* a submatrix may have been converted to another type since it was made: then it has no Mat_Derived */
  if (f) PetscCall(MatDerivedRemove(A));
  A->factortype = MAT_FACTOR_NONE; /* aijcusparse would take the data of a matrix that was factored in place for those of a factor */
  PetscCall((*destroy)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether A is destroyed by another function than ours: PETSc replaces it where submatrices of parallel matrices have more data */
PetscBool MatDerivedDestroyReplaced(Mat A)
{
  return A->ops->destroy != MatDestroy_SeqAIJDerived ? PETSC_TRUE : PETSC_FALSE;
}

/*
  AIJ destroys a submatrix with the destroy function that it was made with. Our part of a submatrix that became ours later would leak, and so would
  aijcusparse's part. aijcusparse's is given to another matrix, which is destroyed in its place. AIJ also looks into the data of each submatrix, which one
  without CSR does not have: there an empty matrix takes its place.
*/
static PetscErrorCode MatDestroySubMatrices_SeqAIJDerived(PetscInt n, Mat *mat[])
{
  PetscErrorCode (*destroy)(PetscInt, Mat *[]) = MatDerivedOf((*mat)[0])->base.destroysubmatrices;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    Mat                A = (*mat)[k], with;
    const Mat_Derived *f = MatDerivedOf(A);

    if (f && f->released) {
      PetscCall(MatDestroy(&(*mat)[k]));
      PetscCall(CreateEmpty(&(*mat)[k]));
      continue;
    }
    if (!f || ((PetscObject)A)->refct != 1 || MatDerivedDestroyReplaced(A)) continue;
    PetscCall(MatDerivedRemove(A));
    if (!A->spptr) continue;
    PetscCall(CreateEmpty(&with));
    with->spptr        = A->spptr;
    with->ops->destroy = Destroy[1];
    A->spptr           = NULL;
    PetscCall(MatDestroy(&with));
  }
  PetscCall((*destroy)(n, mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAXPY() assumes that two matrices with the same function are of the same type; so the parallel type has a function of its own */
static PetscErrorCode MatAXPY_SeqAIJDerived(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedAXPY(Y, a, X, str));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJOperation MatDerivedSeqOperations[] = {
  AIJ_OPERATION(destroy, MatDestroy_SeqAIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(destroysubmatrices, MatDestroySubMatrices_SeqAIJDerived, OVERRIDE_ALWAYS),
  AIJ_PRODUCTS,
  AIJ_OPERATION(axpy, MatAXPY_SeqAIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(view, MatView_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(lufactor, MatLUFactor_SeqAIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(ilufactor, MatILUFactor_SeqAIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(getmultiprocblock, MatGetMultiProcBlock_SeqAIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(bindtocpu, MatBindToCPU_SeqAIJDerived, OVERRIDE_ON_DEVICES),
  {0, NULL, OVERRIDE_ALWAYS},
};

PetscErrorCode MatDerivedKeepDestroy(Mat A)
{
  const Mat_Derived *f = MatDerivedOf(A);
  Mat                empty;

  PetscFunctionBegin;
  if (f->cusparse) Destroy[1] = f->base.destroy;
  else if (!Destroy[0]) {
    PetscCall(CreateEmpty(&empty));
    Destroy[0] = empty->ops->destroy;
    PetscCall(MatDestroy(&empty));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
