/* Makes a kind known to PETSc: its types, and what PETSc finds under their names */
#include "derivedimpl.h"

static PetscErrorCode MatConvert_SeqAIJ_SeqAIJDerived_Registered(Mat A, MatType type, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatConvertFrom_AIJDerived(A, type, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJKindRegister(const AIJKind *kind, PetscErrorCode (*createseq)(Mat), PetscErrorCode (*creatempi)(Mat))
{
  PetscFunctionBegin;
  PetscCall(AIJKindAdd(kind));
  PetscCall(MatRegister(kind->seqname, createseq));
  PetscCall(MatRegister(kind->mpiname, creatempi));
  PetscCall(MatRegisterRootName(kind->name, kind->seqname, kind->mpiname));
  if (kind->aijname) PetscCall(MatRegisterRootName(kind->aijname, kind->seqname, kind->mpiname));
  /* -mat_seqaij_type reaches programs that create AIJ matrices without MatSetFromOptions() */
  PetscCall(MatSeqAIJRegister(kind->seqname, MatConvert_SeqAIJ_SeqAIJDerived_Registered));
  PetscCall(MatSeqAIJRegister(kind->name, MatConvert_SeqAIJ_SeqAIJDerived_Registered));
  if (kind->releaseoption) {
    const MatFactorType factors[] = {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ILU, MAT_FACTOR_ICC, MAT_FACTOR_QR};
    const char *const   types[]   = {kind->releasedseqname, kind->releasedmpiname};

    /* matrices of these types can be neither created by name nor factored: errors say why */
    for (int t = 0; t < 2; t++) {
      PetscCall(MatRegister(types[t], MatCreate_AIJCSRFree));
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(factors); k++) PetscCall(MatSolverTypeRegister(kind->name, types[t], factors[k], MatGetFactor_AIJCSRFree));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
