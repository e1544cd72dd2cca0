/*
  Operations that a matrix without its CSR (seq.c) does not support raise an error that names the operation and the option. Without these
  functions PETSc would report that the type lacks an operation, try a slow method that fails elsewhere, or silently do nothing.
*/
#include "../derivedimpl.h"

static PetscErrorCode MatDerivedNeedsCSR(Mat A, const char operation[])
{
  PetscFunctionBegin;
  /* MatSetValues() has marked A as changed before it calls this */
  A->assembled  = PETSC_TRUE;
  A->insertmode = NOT_SET_VALUES;
  SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "%s() needs the CSR of a matrix of type %s, which was freed because of %s: leave the option out, or bring the CSR back with MatConvert() to type %s", operation, ((PetscObject)A)->type_name,
          MAT_FORM_RELEASE, MATAIJ);
}

/* Operations of the table: place, name, parameters */
#define REFUSED_OPERATIONS(X) \
  X(setvalues, MatSetValues, (Mat A, PetscInt m, const PetscInt i[], PetscInt n, const PetscInt j[], const PetscScalar v[], InsertMode mode)) \
  X(setvaluesblocked, MatSetValuesBlocked, (Mat A, PetscInt m, const PetscInt i[], PetscInt n, const PetscInt j[], const PetscScalar v[], InsertMode mode)) \
  X(setvaluesrow, MatSetValuesRow, (Mat A, PetscInt row, const PetscScalar v[])) \
  X(getvalues, MatGetValues, (Mat A, PetscInt m, const PetscInt i[], PetscInt n, const PetscInt j[], PetscScalar v[])) \
  X(getrow, MatGetRow, (Mat A, PetscInt row, PetscInt * n, PetscInt * *j, PetscScalar * *v)) \
  X(getrowij, MatGetRowIJ, (Mat A, PetscInt shift, PetscBool symmetric, PetscBool compressed, PetscInt * n, const PetscInt **i, const PetscInt **j, PetscBool *done)) \
  X(getcolumnij, MatGetColumnIJ, (Mat A, PetscInt shift, PetscBool symmetric, PetscBool compressed, PetscInt * n, const PetscInt **i, const PetscInt **j, PetscBool *done)) \
  X(sor, MatSOR, (Mat A, Vec b, PetscReal omega, MatSORType type, PetscReal shift, PetscInt its, PetscInt lits, Vec x)) \
  X(transpose, MatTranspose, (Mat A, MatReuse reuse, Mat * B)) \
  X(transposesymbolic, MatTransposeSymbolic, (Mat A, Mat * B)) \
  X(zeroentries, MatZeroEntries, (Mat A)) \
  X(zerorows, MatZeroRows, (Mat A, PetscInt n, const PetscInt rows[], PetscScalar d, Vec x, Vec b)) \
  X(zerorowscolumns, MatZeroRowsColumns, (Mat A, PetscInt n, const PetscInt rows[], PetscScalar d, Vec x, Vec b)) \
  X(axpy, MatAXPY, (Mat A, PetscScalar a, Mat X, MatStructure str)) \
  X(shift, MatShift, (Mat A, PetscScalar a)) \
  X(diagonalset, MatDiagonalSet, (Mat A, Vec d, InsertMode mode)) \
  X(equal, MatEqual, (Mat A, Mat B, PetscBool * flg)) \
  X(issymmetric, MatIsSymmetric, (Mat A, PetscReal tol, PetscBool * flg)) \
  X(ishermitian, MatIsHermitian, (Mat A, PetscReal tol, PetscBool * flg)) \
  X(isstructurallysymmetric, MatIsStructurallySymmetric, (Mat A, PetscBool * flg)) \
  X(conjugate, MatConjugate, (Mat A)) \
  X(realpart, MatRealPart, (Mat A)) \
  X(imaginarypart, MatImaginaryPart, (Mat A)) \
  X(setrandom, MatSetRandom, (Mat A, PetscRandom random)) \
  X(permute, MatPermute, (Mat A, IS row, IS col, Mat * B)) \
  X(createsubmatrix, MatCreateSubMatrix, (Mat A, IS row, IS col, MatReuse reuse, Mat * B)) \
  X(createsubmatrices, MatCreateSubMatrices, (Mat A, PetscInt n, const IS rows[], const IS cols[], MatReuse reuse, Mat **B)) \
  X(createsubmatricesmpi, MatCreateSubMatricesMPI, (Mat A, PetscInt n, const IS rows[], const IS cols[], MatReuse reuse, Mat **B)) \
  X(getmultiprocblock, MatGetMultiProcBlock, (Mat A, MPI_Comm comm, MatReuse reuse, Mat * B)) \
  X(getseqnonzerostructure, MatGetSeqNonzeroStructure, (Mat A, Mat * B)) \
  X(increaseoverlap, MatIncreaseOverlap, (Mat A, PetscInt n, IS is[], PetscInt overlap)) \
  X(getdiagonalblock, MatGetDiagonalBlock, (Mat A, Mat * B)) \
  X(invertblockdiagonal, MatInvertBlockDiagonal, (Mat A, const PetscScalar **values)) \
  X(invertvariableblockdiagonal, MatInvertVariableBlockDiagonal, (Mat A, PetscInt n, const PetscInt sizes[], PetscScalar values[])) \
  X(multdiagonalblock, MatMultDiagonalBlock, (Mat A, Vec x, Vec y)) \
  X(getcolumnreductions, MatGetColumnReductions, (Mat A, PetscInt type, PetscReal * values)) \
  X(getcolumnvector, MatGetColumnVector, (Mat A, Vec v, PetscInt col)) \
  X(getrowsumabs, MatGetRowSumAbs, (Mat A, Vec v)) \
  X(getrowmax, MatGetRowMax, (Mat A, Vec v, PetscInt i[])) \
  X(getrowmaxabs, MatGetRowMaxAbs, (Mat A, Vec v, PetscInt i[])) \
  X(getrowmin, MatGetRowMin, (Mat A, Vec v, PetscInt i[])) \
  X(getrowminabs, MatGetRowMinAbs, (Mat A, Vec v, PetscInt i[])) \
  X(findnonzerorows, MatFindNonzeroRows, (Mat A, IS * is)) \
  X(findzerodiagonals, MatFindZeroDiagonals, (Mat A, IS * is)) \
  X(findoffblockdiagonalentries, MatFindOffBlockDiagonalEntries, (Mat A, IS * is)) \
  X(eliminatezeros, MatEliminateZeros, (Mat A, PetscBool keep)) \
  X(creategraph, MatCreateGraph, (Mat A, PetscBool symmetrize, PetscBool scale, PetscReal filter, PetscInt n, PetscInt index[], Mat * G)) \
  X(fdcoloringcreate, MatFDColoringCreate, (Mat A, ISColoring colors, MatFDColoring c)) \
  X(transposecoloringcreate, MatTransposeColoringCreate, (Mat A, ISColoring colors, MatTransposeColoring c)) \
  X(productnumeric, MatProductNumeric, (Mat A)) \
  X(load, MatLoad, (Mat A, PetscViewer viewer)) \
  X(lufactor, MatLUFactor, (Mat A, IS row, IS col, const MatFactorInfo *info)) \
  X(ilufactor, MatILUFactor, (Mat A, IS row, IS col, const MatFactorInfo *info)) \
  X(choleskyfactor, MatCholeskyFactor, (Mat A, IS perm, const MatFactorInfo *info)) \
  X(iccfactor, MatICCFactor, (Mat A, IS perm, const MatFactorInfo *info))

/* Functions that PETSc looks for by name */
#define REFUSED_FUNCTIONS(X) \
  X(MatSeqAIJSetPreallocation, (Mat A, PetscInt nz, const PetscInt nnz[])) \
  X(MatMPIAIJSetPreallocation, (Mat A, PetscInt dnz, const PetscInt dnnz[], PetscInt onz, const PetscInt onnz[])) \
  X(MatAIJSetPreallocationCSR, (Mat A, const PetscInt i[], const PetscInt j[], const PetscScalar a[])) \
  X(MatSetPreallocationCOO, (Mat A, PetscCount n, PetscInt i[], PetscInt j[])) \
  X(MatSetValuesCOO, (Mat A, const PetscScalar v[], InsertMode mode)) \
  X(MatResetPreallocation, (Mat A)) \
  X(MatResetHash, (Mat A)) \
  X(MatDiagonalScaleLocal, (Mat A, Vec d)) \
  X(MatReorderForNonzeroDiagonal, (Mat A, PetscReal tol, IS row, IS col)) \
  X(MatStoreValues, (Mat A)) \
  X(MatRetrieveValues, (Mat A)) \
  X(MatIsTranspose, (Mat A, Mat B, PetscReal tol, PetscBool * flg)) \
  X(MatIsHermitianTranspose, (Mat A, Mat B, PetscReal tol, PetscBool * flg)) \
  X(MatSeqAIJSetColumnIndices, (Mat A, PetscInt * j)) \
  X(MatSeqAIJKron, (Mat A, Mat B, MatReuse reuse, Mat * C))

#define REFUSE(name, parameters) \
  static PetscErrorCode name##_AIJCSRFree parameters \
  { \
    PetscFunctionBegin; \
    PetscCall(MatDerivedNeedsCSR(A, #name)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
#define REFUSE_OPERATION(place, name, parameters) REFUSE(name, parameters)
REFUSED_OPERATIONS(REFUSE_OPERATION)
REFUSED_FUNCTIONS(REFUSE)

/* MatAXPY() calls this if the matrices differ in pattern or type */
static PetscErrorCode MatAXPYGetPreallocation_AIJCSRFree(Mat A, Mat X, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedNeedsCSR(A, "MatAXPY"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Called for products for which PETSc finds no other function: with sparse matrices, dense x sparse, and a parallel type on one process x sequential
  dense. PETSc makes triple products of two products and calls this for each.
*/
static PetscErrorCode MatProductSetFromOptions_AIJCSRFree(Mat C)
{
  const MatProductType type = C->product->type;
  char                 product[64];
  PetscBool            isdense;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)C->product->B, &isdense, MATSEQDENSE, MATMPIDENSE, ""));
  if (isdense && (type == MATPRODUCT_AB || type == MATPRODUCT_AtB)) PetscFunctionReturn(PETSC_SUCCESS); /* PETSc multiplies column by column */
  PetscCall(PetscSNPrintf(product, sizeof(product), "MatProduct %s", MatProductTypes[type]));
  if (type == MATPRODUCT_AB || type == MATPRODUCT_AtB || type == MATPRODUCT_ABt) PetscCall(MatDerivedNeedsCSR(C->product->A->ops->setvalues == MatSetValues_AIJCSRFree ? C->product->A : C->product->B, product));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Registered for all types of factors under the name of the type without CSR: PETSc calls it unless another solver type is requested */
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
  SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "Types without a CSR (...released) cannot be set: set " MATCSRCCUDA " or " MATBCCOO " with -mat_form_release, and the first product frees the CSR");
}

#define OPERATION(place, name, parameters) AIJ_OPERATION(place, name##_AIJCSRFree, OVERRIDE_ALWAYS),
static const AIJOperation Operations[] = {
  REFUSED_OPERATIONS(OPERATION){0, NULL, OVERRIDE_ALWAYS}
};

static const AIJComposed Functions[] = {
  {"MatSeqAIJSetPreallocation_C",        (PetscErrorCodeFn *)MatSeqAIJSetPreallocation_AIJCSRFree   },
  {"MatMPIAIJSetPreallocation_C",        (PetscErrorCodeFn *)MatMPIAIJSetPreallocation_AIJCSRFree   },
  {"MatSeqAIJSetPreallocationCSR_C",     (PetscErrorCodeFn *)MatAIJSetPreallocationCSR_AIJCSRFree   },
  {"MatMPIAIJSetPreallocationCSR_C",     (PetscErrorCodeFn *)MatAIJSetPreallocationCSR_AIJCSRFree   },
  {"MatSetPreallocationCOO_C",           (PetscErrorCodeFn *)MatSetPreallocationCOO_AIJCSRFree      },
  {"MatSetValuesCOO_C",                  (PetscErrorCodeFn *)MatSetValuesCOO_AIJCSRFree             },
  {"MatResetPreallocation_C",            (PetscErrorCodeFn *)MatResetPreallocation_AIJCSRFree       },
  {"MatResetHash_C",                     (PetscErrorCodeFn *)MatResetHash_AIJCSRFree                },
  {"MatDiagonalScaleLocal_C",            (PetscErrorCodeFn *)MatDiagonalScaleLocal_AIJCSRFree       },
  {"MatReorderForNonzeroDiagonal_C",     (PetscErrorCodeFn *)MatReorderForNonzeroDiagonal_AIJCSRFree},
  {"MatStoreValues_C",                   (PetscErrorCodeFn *)MatStoreValues_AIJCSRFree              },
  {"MatRetrieveValues_C",                (PetscErrorCodeFn *)MatRetrieveValues_AIJCSRFree           },
  {"MatIsTranspose_C",                   (PetscErrorCodeFn *)MatIsTranspose_AIJCSRFree              },
  {"MatIsHermitianTranspose_C",          (PetscErrorCodeFn *)MatIsHermitianTranspose_AIJCSRFree     },
  {"MatSeqAIJSetColumnIndices_C",        (PetscErrorCodeFn *)MatSeqAIJSetColumnIndices_AIJCSRFree   },
  {"MatSeqAIJKron_C",                    (PetscErrorCodeFn *)MatSeqAIJKron_AIJCSRFree               },
  {"MatAXPYGetPreallocation_C",          (PetscErrorCodeFn *)MatAXPYGetPreallocation_AIJCSRFree     },
  {"MatProductSetFromOptions_anytype_C", (PetscErrorCodeFn *)MatProductSetFromOptions_AIJCSRFree    },
  {NULL,                                 NULL                                                       },
};

PetscErrorCode MatDerivedRefuse(Mat A, PetscBool on)
{
  PetscFunctionBegin;
  for (const AIJOperation *op = Operations; op->ours; op++) *MatDerivedGetOperation(A->ops, op) = on ? op->ours : NULL;
  PetscCall(MatDerivedCompose(A, Functions, NULL, on));
  PetscFunctionReturn(PETSC_SUCCESS);
}
