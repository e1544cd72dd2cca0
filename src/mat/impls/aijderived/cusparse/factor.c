/*
  Factors of the solver type cusparse, PETSc's for aijcusparse, for matrices of ours that have aijcusparse underneath. Registered under our
  name they are also what a matrix gets by default, as aijcusparse does.
*/
#include "../derivedimpl.h"

static PetscBool Registered = PETSC_FALSE;

PetscErrorCode MatDerivedForgetFactors(void)
{
  PetscFunctionBegin;
  Registered = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
static PetscErrorCode MatGetFactor_SeqAIJDerived_cusparse(Mat A, MatFactorType type, Mat *F)
{
  PetscErrorCode (*create)(Mat, MatFactorType, Mat *);

  PetscFunctionBegin;
  PetscCheck(MatDerivedOf(A)->cusparse, PETSC_COMM_SELF, PETSC_ERR_SUP, "Solver type %s needs a device, which a matrix of type %s has only if it was made while one could be used", MATSOLVERCUSPARSE, ((PetscObject)A)->type_name);
  PetscCall(MatSolverTypeGet(MATSOLVERCUSPARSE, MATSEQAIJCUSPARSE, type, NULL, NULL, &create));
  PetscCall((*create)(A, type, F));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode MatDerivedRegisterFactors(const AIJKind *kind)
{
  PetscFunctionBegin;
#if defined(PETSCCSRC_HAVE_CUDA)
  const MatFactorType types[] = {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ILU, MAT_FACTOR_ICC};
  PetscBool           already;

  PetscCall(PetscStrcmp(kind->seqname, MATSEQAIJCUSPARSE, &already)); /* under its own name */
  if (already || Registered) PetscFunctionReturn(PETSC_SUCCESS);
  Registered = PETSC_TRUE;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    PetscErrorCode (*create)(Mat, MatFactorType, Mat *) = NULL;

    PetscCall(MatSolverTypeGet(MATSOLVERCUSPARSE, MATSEQAIJCUSPARSE, types[k], NULL, NULL, &create));
    if (create) PetscCall(MatSolverTypeRegister(MATSOLVERCUSPARSE, kind->seqname, types[k], MatGetFactor_SeqAIJDerived_cusparse));
  }
#else
  (void)kind;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
