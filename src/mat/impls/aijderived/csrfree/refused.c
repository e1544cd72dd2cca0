/*
  What a matrix without its CSR (seq.c) cannot do raises one error, which names the operation and the option. Without
  these functions PETSc would report that the type lacks an operation, try a slow way that fails elsewhere, or do nothing silently.
*/
#include "mat/impls/aijderived/derivedimpl.h"

static PetscErrorCode MatDerivedNeedsCSR(Mat A, const char operation[])
{
  PetscFunctionBegin;
  /* MatSetValues() has marked A as changed before it calls this */
  A->assembled  = PETSC_TRUE;
  A->insertmode = NOT_SET_VALUES;
  SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "%s() needs the CSR of a matrix of type %s, which was freed because of %s: leave the option out, or bring the CSR back with MatConvert() to type %s", operation, ((PetscObject)A)->type_name, ((Mat_Derived *)A->spptr)->kind->releaseoption, MATAIJ);
}

#define NEEDS_CSR(operation, parameters) \
  static PetscErrorCode operation##_AIJCSRFree parameters \
  { \
    PetscFunctionBegin; \
    PetscCall(MatDerivedNeedsCSR(A, #operation)); \
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
static PetscErrorCode MatAXPYGetPreallocation_AIJCSRFree(Mat A, Mat X, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedNeedsCSR(A, "MatAXPY"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Called for products for which PETSc finds nothing else: those with sparse matrices, and dense x sparse. Triple products consist of
  two products, which come here themselves.
*/
static PetscErrorCode MatProductSetFromOptions_AIJCSRFree(Mat C)
{
  const MatProductType type = C->product->type;
  char                 product[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(product, sizeof(product), "MatProduct %s", MatProductTypes[type]));
  if (type == MATPRODUCT_AB || type == MATPRODUCT_AtB || type == MATPRODUCT_ABt) PetscCall(MatDerivedNeedsCSR(C->product->A->ops->setvalues == MatSetValues_AIJCSRFree ? C->product->A : C->product->B, product));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Registered for all kinds of factors under the name of our type: PETSc finds it if no other package is asked for */
PetscErrorCode MatGetFactor_AIJCSRFree(Mat A, MatFactorType type, Mat *F)
{
  PetscFunctionBegin;
  (void)type;
  (void)F;
  PetscCall(MatDerivedNeedsCSR(A, "MatGetFactor"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Registered as the function that creates an empty matrix of the type */
PetscErrorCode MatCreate_AIJCSRFree(Mat A)
{
  PetscFunctionBegin;
  SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "No matrix can be created without its CSR: create one of type %s with -mat_bccoo_release_aij, and its first product frees the CSR", MATBCCOO);
}

PetscErrorCode MatDerivedRefuse(Mat A, PetscBool on)
{
  struct _MatOps *ops = A->ops;

  PetscFunctionBegin;
  ops->setvalues               = on ? MatSetValues_AIJCSRFree : NULL;
  ops->setvaluesblocked        = on ? MatSetValuesBlocked_AIJCSRFree : NULL;
  ops->setvaluesrow            = on ? MatSetValuesRow_AIJCSRFree : NULL;
  ops->getvalues               = on ? MatGetValues_AIJCSRFree : NULL;
  ops->getrow                  = on ? MatGetRow_AIJCSRFree : NULL;
  ops->getrowij                = on ? MatGetRowIJ_AIJCSRFree : NULL;
  ops->getcolumnij             = on ? MatGetColumnIJ_AIJCSRFree : NULL;
  ops->sor                     = on ? MatSOR_AIJCSRFree : NULL;
  ops->transpose               = on ? MatTranspose_AIJCSRFree : NULL;
  ops->transposesymbolic       = on ? MatTransposeSymbolic_AIJCSRFree : NULL;
  ops->zeroentries             = on ? MatZeroEntries_AIJCSRFree : NULL;
  ops->zerorows                = on ? MatZeroRows_AIJCSRFree : NULL;
  ops->zerorowscolumns         = on ? MatZeroRowsColumns_AIJCSRFree : NULL;
  ops->axpy                    = on ? MatAXPY_AIJCSRFree : NULL;
  ops->shift                   = on ? MatShift_AIJCSRFree : NULL;
  ops->diagonalset             = on ? MatDiagonalSet_AIJCSRFree : NULL;
  ops->equal                   = on ? MatEqual_AIJCSRFree : NULL;
  ops->issymmetric             = on ? MatIsSymmetric_AIJCSRFree : NULL;
  ops->ishermitian             = on ? MatIsHermitian_AIJCSRFree : NULL;
  ops->isstructurallysymmetric = on ? MatIsStructurallySymmetric_AIJCSRFree : NULL;
  ops->conjugate               = on ? MatConjugate_AIJCSRFree : NULL;
  ops->realpart                = on ? MatRealPart_AIJCSRFree : NULL;
  ops->imaginarypart           = on ? MatImaginaryPart_AIJCSRFree : NULL;
  ops->setrandom               = on ? MatSetRandom_AIJCSRFree : NULL;
  ops->permute                 = on ? MatPermute_AIJCSRFree : NULL;
  ops->createsubmatrix         = on ? MatCreateSubMatrix_AIJCSRFree : NULL;
  ops->createsubmatrices       = on ? MatCreateSubMatrices_AIJCSRFree : NULL;
  ops->increaseoverlap         = on ? MatIncreaseOverlap_AIJCSRFree : NULL;
  ops->getdiagonalblock        = on ? MatGetDiagonalBlock_AIJCSRFree : NULL;
  ops->invertblockdiagonal     = on ? MatInvertBlockDiagonal_AIJCSRFree : NULL;
  ops->getcolumnreductions     = on ? MatGetColumnReductions_AIJCSRFree : NULL;
  ops->getcolumnvector         = on ? MatGetColumnVector_AIJCSRFree : NULL;
  ops->getrowsumabs            = on ? MatGetRowSumAbs_AIJCSRFree : NULL;
  ops->getrowmax               = on ? MatGetRowMax_AIJCSRFree : NULL;
  ops->getrowmaxabs            = on ? MatGetRowMaxAbs_AIJCSRFree : NULL;
  ops->getrowmin               = on ? MatGetRowMin_AIJCSRFree : NULL;
  ops->getrowminabs            = on ? MatGetRowMinAbs_AIJCSRFree : NULL;
  ops->findnonzerorows         = on ? MatFindNonzeroRows_AIJCSRFree : NULL;
  ops->findzerodiagonals       = on ? MatFindZeroDiagonals_AIJCSRFree : NULL;
  ops->eliminatezeros          = on ? MatEliminateZeros_AIJCSRFree : NULL;
  ops->creategraph             = on ? MatCreateGraph_AIJCSRFree : NULL;
  ops->load                    = on ? MatLoad_AIJCSRFree : NULL;
  ops->lufactor                = on ? MatLUFactor_AIJCSRFree : NULL;
  ops->ilufactor               = on ? MatILUFactor_AIJCSRFree : NULL;
  ops->choleskyfactor          = on ? MatCholeskyFactor_AIJCSRFree : NULL;
  ops->iccfactor               = on ? MatICCFactor_AIJCSRFree : NULL;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSeqAIJSetPreallocation_C", on ? MatSeqAIJSetPreallocation_AIJCSRFree : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocation_C", on ? MatMPIAIJSetPreallocation_AIJCSRFree : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSeqAIJSetPreallocationCSR_C", on ? MatAIJSetPreallocationCSR_AIJCSRFree : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocationCSR_C", on ? MatAIJSetPreallocationCSR_AIJCSRFree : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetPreallocationCOO_C", on ? MatSetPreallocationCOO_AIJCSRFree : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetValuesCOO_C", on ? MatSetValuesCOO_AIJCSRFree : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatResetPreallocation_C", on ? MatResetPreallocation_AIJCSRFree : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatStoreValues_C", on ? MatStoreValues_AIJCSRFree : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatRetrieveValues_C", on ? MatRetrieveValues_AIJCSRFree : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatIsTranspose_C", on ? MatIsTranspose_AIJCSRFree : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSeqAIJSetColumnIndices_C", on ? MatSeqAIJSetColumnIndices_AIJCSRFree : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatAXPYGetPreallocation_C", on ? MatAXPYGetPreallocation_AIJCSRFree : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_anytype_C", on ? MatProductSetFromOptions_AIJCSRFree : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
