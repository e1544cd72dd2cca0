/*
  What a matrix without its CSR (seq.c) cannot do raises one error, which names the operation and the option. Without
  these functions PETSc would report that the type lacks an operation, try a slow way that fails elsewhere, or do nothing silently.
*/
#include "mat/impls/aijderived/derivedimpl.h"

static PetscErrorCode MatAIJFormNeedsCSR(Mat A, const char operation[])
{
  PetscFunctionBegin;
  /* MatSetValues() has marked A as changed before it calls this */
  A->assembled  = PETSC_TRUE;
  A->insertmode = NOT_SET_VALUES;
  SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "%s() needs the CSR of a matrix of type %s, which was freed because of %s: leave the option out, or bring the CSR back with MatConvert() to type %s", operation, ((PetscObject)A)->type_name, ((Mat_AIJForm *)A->spptr)->cls->releaseoption, MATAIJ);
}

#define NEEDS_CSR(operation, parameters) \
  static PetscErrorCode operation##_AIJFormReleased parameters \
  { \
    PetscFunctionBegin; \
    PetscCall(MatAIJFormNeedsCSR(A, #operation)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }

/* operations of the table */
NEEDS_CSR(MatSetValues, (Mat A, PetscInt m, const PetscInt i[], PetscInt n, const PetscInt j[], const PetscScalar v[], InsertMode mode))
NEEDS_CSR(MatSetValuesBlocked, (Mat A, PetscInt m, const PetscInt i[], PetscInt n, const PetscInt j[], const PetscScalar v[], InsertMode mode))
NEEDS_CSR(MatSetValuesRow, (Mat A, PetscInt row, const PetscScalar v[]))
NEEDS_CSR(MatGetValues, (Mat A, PetscInt m, const PetscInt i[], PetscInt n, const PetscInt j[], PetscScalar v[]))
NEEDS_CSR(MatGetRow, (Mat A, PetscInt row, PetscInt *n, PetscInt **j, PetscScalar **v))
NEEDS_CSR(MatGetRowIJ, (Mat A, PetscInt shift, PetscBool symmetric, PetscBool compressed, PetscInt *n, const PetscInt **i, const PetscInt **j, PetscBool *done))
NEEDS_CSR(MatGetColumnIJ, (Mat A, PetscInt shift, PetscBool symmetric, PetscBool compressed, PetscInt *n, const PetscInt **i, const PetscInt **j, PetscBool *done))
NEEDS_CSR(MatSOR, (Mat A, Vec b, PetscReal omega, MatSORType type, PetscReal shift, PetscInt its, PetscInt lits, Vec x))
NEEDS_CSR(MatTranspose, (Mat A, MatReuse reuse, Mat *B))
NEEDS_CSR(MatTransposeSymbolic, (Mat A, Mat *B))
NEEDS_CSR(MatZeroEntries, (Mat A))
NEEDS_CSR(MatZeroRows, (Mat A, PetscInt n, const PetscInt rows[], PetscScalar d, Vec x, Vec b))
NEEDS_CSR(MatZeroRowsColumns, (Mat A, PetscInt n, const PetscInt rows[], PetscScalar d, Vec x, Vec b))
NEEDS_CSR(MatAXPY, (Mat A, PetscScalar a, Mat X, MatStructure str))
NEEDS_CSR(MatShift, (Mat A, PetscScalar a))
NEEDS_CSR(MatDiagonalSet, (Mat A, Vec d, InsertMode mode))
NEEDS_CSR(MatEqual, (Mat A, Mat B, PetscBool *flg))
NEEDS_CSR(MatIsSymmetric, (Mat A, PetscReal tol, PetscBool *flg))
NEEDS_CSR(MatIsHermitian, (Mat A, PetscReal tol, PetscBool *flg))
NEEDS_CSR(MatIsStructurallySymmetric, (Mat A, PetscBool *flg))
NEEDS_CSR(MatConjugate, (Mat A))
NEEDS_CSR(MatRealPart, (Mat A))
NEEDS_CSR(MatImaginaryPart, (Mat A))
NEEDS_CSR(MatSetRandom, (Mat A, PetscRandom random))
NEEDS_CSR(MatPermute, (Mat A, IS row, IS col, Mat *B))
NEEDS_CSR(MatCreateSubMatrix, (Mat A, IS row, IS col, MatReuse reuse, Mat *B))
NEEDS_CSR(MatCreateSubMatrices, (Mat A, PetscInt n, const IS rows[], const IS cols[], MatReuse reuse, Mat **B))
NEEDS_CSR(MatIncreaseOverlap, (Mat A, PetscInt n, IS is[], PetscInt overlap))
NEEDS_CSR(MatGetDiagonalBlock, (Mat A, Mat *B))
NEEDS_CSR(MatInvertBlockDiagonal, (Mat A, const PetscScalar **values))
NEEDS_CSR(MatGetColumnReductions, (Mat A, PetscInt type, PetscReal *values))
NEEDS_CSR(MatGetColumnVector, (Mat A, Vec v, PetscInt col))
NEEDS_CSR(MatGetRowSumAbs, (Mat A, Vec v))
NEEDS_CSR(MatGetRowMax, (Mat A, Vec v, PetscInt i[]))
NEEDS_CSR(MatGetRowMaxAbs, (Mat A, Vec v, PetscInt i[]))
NEEDS_CSR(MatGetRowMin, (Mat A, Vec v, PetscInt i[]))
NEEDS_CSR(MatGetRowMinAbs, (Mat A, Vec v, PetscInt i[]))
NEEDS_CSR(MatFindNonzeroRows, (Mat A, IS *is))
NEEDS_CSR(MatFindZeroDiagonals, (Mat A, IS *is))
NEEDS_CSR(MatEliminateZeros, (Mat A, PetscBool keep))
NEEDS_CSR(MatCreateGraph, (Mat A, PetscBool symmetrize, PetscBool scale, PetscReal filter, PetscInt n, PetscInt index[], Mat *G))
NEEDS_CSR(MatLoad, (Mat A, PetscViewer viewer))
NEEDS_CSR(MatLUFactor, (Mat A, IS row, IS col, const MatFactorInfo *info))
NEEDS_CSR(MatILUFactor, (Mat A, IS row, IS col, const MatFactorInfo *info))
NEEDS_CSR(MatCholeskyFactor, (Mat A, IS perm, const MatFactorInfo *info))
NEEDS_CSR(MatICCFactor, (Mat A, IS perm, const MatFactorInfo *info))

/* functions that PETSc looks for by name */
NEEDS_CSR(MatSeqAIJSetPreallocation, (Mat A, PetscInt nz, const PetscInt nnz[]))
NEEDS_CSR(MatMPIAIJSetPreallocation, (Mat A, PetscInt dnz, const PetscInt dnnz[], PetscInt onz, const PetscInt onnz[]))
NEEDS_CSR(MatAIJSetPreallocationCSR, (Mat A, const PetscInt i[], const PetscInt j[], const PetscScalar a[]))
NEEDS_CSR(MatSetPreallocationCOO, (Mat A, PetscCount n, PetscInt i[], PetscInt j[]))
NEEDS_CSR(MatSetValuesCOO, (Mat A, const PetscScalar v[], InsertMode mode))
NEEDS_CSR(MatResetPreallocation, (Mat A))
NEEDS_CSR(MatStoreValues, (Mat A))
NEEDS_CSR(MatRetrieveValues, (Mat A))
NEEDS_CSR(MatIsTranspose, (Mat A, Mat B, PetscReal tol, PetscBool *flg))
NEEDS_CSR(MatSeqAIJSetColumnIndices, (Mat A, PetscInt *j))

/* MatAXPY() calls this if the matrices differ in pattern or type */
static PetscErrorCode MatAXPYGetPreallocation_AIJFormReleased(Mat A, Mat X, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatAIJFormNeedsCSR(A, "MatAXPY"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Called for products for which PETSc finds nothing else: those with sparse matrices, and dense x sparse. Triple products consist of
  two products, which come here themselves.
*/
static PetscErrorCode MatProductSetFromOptions_AIJFormReleased(Mat C)
{
  const MatProductType type = C->product->type;
  char                 product[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(product, sizeof(product), "MatProduct %s", MatProductTypes[type]));
  if (type == MATPRODUCT_AB || type == MATPRODUCT_AtB || type == MATPRODUCT_ABt) PetscCall(MatAIJFormNeedsCSR(C->product->A->ops->setvalues == MatSetValues_AIJFormReleased ? C->product->A : C->product->B, product));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Registered for all kinds of factors under the name of our type: PETSc finds it if no other package is asked for */
PetscErrorCode MatGetFactor_AIJFormReleased(Mat A, MatFactorType type, Mat *F)
{
  PetscFunctionBegin;
  (void)type;
  (void)F;
  PetscCall(MatAIJFormNeedsCSR(A, "MatGetFactor"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Registered as the function that creates an empty matrix of the type */
PetscErrorCode MatCreate_AIJFormReleased(Mat A)
{
  PetscFunctionBegin;
  SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "No matrix can be created without its CSR: create one of type %s with -mat_bccoo_release_aij, and its first product frees the CSR", MATBCCOO);
}

PetscErrorCode MatAIJFormRefuse(Mat A, PetscBool on)
{
  struct _MatOps *ops = A->ops;

  PetscFunctionBegin;
  ops->setvalues               = on ? MatSetValues_AIJFormReleased : NULL;
  ops->setvaluesblocked        = on ? MatSetValuesBlocked_AIJFormReleased : NULL;
  ops->setvaluesrow            = on ? MatSetValuesRow_AIJFormReleased : NULL;
  ops->getvalues               = on ? MatGetValues_AIJFormReleased : NULL;
  ops->getrow                  = on ? MatGetRow_AIJFormReleased : NULL;
  ops->getrowij                = on ? MatGetRowIJ_AIJFormReleased : NULL;
  ops->getcolumnij             = on ? MatGetColumnIJ_AIJFormReleased : NULL;
  ops->sor                     = on ? MatSOR_AIJFormReleased : NULL;
  ops->transpose               = on ? MatTranspose_AIJFormReleased : NULL;
  ops->transposesymbolic       = on ? MatTransposeSymbolic_AIJFormReleased : NULL;
  ops->zeroentries             = on ? MatZeroEntries_AIJFormReleased : NULL;
  ops->zerorows                = on ? MatZeroRows_AIJFormReleased : NULL;
  ops->zerorowscolumns         = on ? MatZeroRowsColumns_AIJFormReleased : NULL;
  ops->axpy                    = on ? MatAXPY_AIJFormReleased : NULL;
  ops->shift                   = on ? MatShift_AIJFormReleased : NULL;
  ops->diagonalset             = on ? MatDiagonalSet_AIJFormReleased : NULL;
  ops->equal                   = on ? MatEqual_AIJFormReleased : NULL;
  ops->issymmetric             = on ? MatIsSymmetric_AIJFormReleased : NULL;
  ops->ishermitian             = on ? MatIsHermitian_AIJFormReleased : NULL;
  ops->isstructurallysymmetric = on ? MatIsStructurallySymmetric_AIJFormReleased : NULL;
  ops->conjugate               = on ? MatConjugate_AIJFormReleased : NULL;
  ops->realpart                = on ? MatRealPart_AIJFormReleased : NULL;
  ops->imaginarypart           = on ? MatImaginaryPart_AIJFormReleased : NULL;
  ops->setrandom               = on ? MatSetRandom_AIJFormReleased : NULL;
  ops->permute                 = on ? MatPermute_AIJFormReleased : NULL;
  ops->createsubmatrix         = on ? MatCreateSubMatrix_AIJFormReleased : NULL;
  ops->createsubmatrices       = on ? MatCreateSubMatrices_AIJFormReleased : NULL;
  ops->increaseoverlap         = on ? MatIncreaseOverlap_AIJFormReleased : NULL;
  ops->getdiagonalblock        = on ? MatGetDiagonalBlock_AIJFormReleased : NULL;
  ops->invertblockdiagonal     = on ? MatInvertBlockDiagonal_AIJFormReleased : NULL;
  ops->getcolumnreductions     = on ? MatGetColumnReductions_AIJFormReleased : NULL;
  ops->getcolumnvector         = on ? MatGetColumnVector_AIJFormReleased : NULL;
  ops->getrowsumabs            = on ? MatGetRowSumAbs_AIJFormReleased : NULL;
  ops->getrowmax               = on ? MatGetRowMax_AIJFormReleased : NULL;
  ops->getrowmaxabs            = on ? MatGetRowMaxAbs_AIJFormReleased : NULL;
  ops->getrowmin               = on ? MatGetRowMin_AIJFormReleased : NULL;
  ops->getrowminabs            = on ? MatGetRowMinAbs_AIJFormReleased : NULL;
  ops->findnonzerorows         = on ? MatFindNonzeroRows_AIJFormReleased : NULL;
  ops->findzerodiagonals       = on ? MatFindZeroDiagonals_AIJFormReleased : NULL;
  ops->eliminatezeros          = on ? MatEliminateZeros_AIJFormReleased : NULL;
  ops->creategraph             = on ? MatCreateGraph_AIJFormReleased : NULL;
  ops->load                    = on ? MatLoad_AIJFormReleased : NULL;
  ops->lufactor                = on ? MatLUFactor_AIJFormReleased : NULL;
  ops->ilufactor               = on ? MatILUFactor_AIJFormReleased : NULL;
  ops->choleskyfactor          = on ? MatCholeskyFactor_AIJFormReleased : NULL;
  ops->iccfactor               = on ? MatICCFactor_AIJFormReleased : NULL;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSeqAIJSetPreallocation_C", on ? MatSeqAIJSetPreallocation_AIJFormReleased : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocation_C", on ? MatMPIAIJSetPreallocation_AIJFormReleased : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSeqAIJSetPreallocationCSR_C", on ? MatAIJSetPreallocationCSR_AIJFormReleased : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocationCSR_C", on ? MatAIJSetPreallocationCSR_AIJFormReleased : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetPreallocationCOO_C", on ? MatSetPreallocationCOO_AIJFormReleased : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetValuesCOO_C", on ? MatSetValuesCOO_AIJFormReleased : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatResetPreallocation_C", on ? MatResetPreallocation_AIJFormReleased : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatStoreValues_C", on ? MatStoreValues_AIJFormReleased : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatRetrieveValues_C", on ? MatRetrieveValues_AIJFormReleased : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatIsTranspose_C", on ? MatIsTranspose_AIJFormReleased : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSeqAIJSetColumnIndices_C", on ? MatSeqAIJSetColumnIndices_AIJFormReleased : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatAXPYGetPreallocation_C", on ? MatAXPYGetPreallocation_AIJFormReleased : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_anytype_C", on ? MatProductSetFromOptions_AIJFormReleased : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
