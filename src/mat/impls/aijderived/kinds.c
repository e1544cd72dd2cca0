/* The list of kinds: registers them with PETSc, and finds them by name */
#include "derivedimpl.h"

PetscLogEvent MAT_FormBuild, MAT_FormSetValues, MAT_FormMult, MAT_FormMatMult;

static const AIJKind *Kinds[AIJ_MAX_KINDS];
static int            NumKinds = 0;

PetscErrorCode AIJKindsInitialize(void)
{
  PetscFunctionBegin;
  PetscCall(MatInitializePackage());
  PetscCall(MatDerivedLeaveInitialize());
  PetscCall(MatDerivedRegisterNames());
  PetscCall(PetscLogEventRegister("MatFormBuild", MAT_CLASSID, &MAT_FormBuild));
  PetscCall(PetscLogEventRegister("MatFormSetVals", MAT_CLASSID, &MAT_FormSetValues));
  PetscCall(PetscLogEventRegister("MatFormMult", MAT_CLASSID, &MAT_FormMult));
  PetscCall(PetscLogEventRegister("MatFormMatMult", MAT_CLASSID, &MAT_FormMatMult));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJKindsFinalize(void)
{
  PetscFunctionBegin;
  NumKinds = 0;
#if defined(PETSCCSRC_HAVE_CUDA)
  PetscCall(PetscCSRCDeviceUploadFinalize());
#endif
  PetscCall(MatDerivedForgetFactors());
  PetscCall(PetscCSRCDeviceForget());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Registers a kind with PETSc: its types, conversions from AIJ, and functions for factors of the types without CSR */
PetscErrorCode AIJKindRegister(const AIJKind *kind, PetscErrorCode (*createseq)(Mat), PetscErrorCode (*creatempi)(Mat))
{
  const char *const   released[] = {kind->releasedseqname, kind->releasedmpiname};
  const MatFactorType factors[]  = {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ILU, MAT_FACTOR_ICC, MAT_FACTOR_QR};

  PetscFunctionBegin;
  PetscCheck(NumKinds < AIJ_MAX_KINDS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Too many kinds of matrix");
  Kinds[NumKinds++] = kind;
  PetscCall(MatRegister(kind->seqname, createseq));
  PetscCall(MatRegister(kind->mpiname, creatempi));
  PetscCall(MatRegisterRootName(kind->name, kind->seqname, kind->mpiname));
  if (kind->aijname) PetscCall(MatRegisterRootName(kind->aijname, kind->seqname, kind->mpiname));
  /* for -mat_seqaij_type, which also works in programs that create AIJ matrices without MatSetFromOptions() */
  PetscCall(MatSeqAIJRegister(kind->seqname, MatConvertFrom_AIJDerived));
  PetscCall(MatSeqAIJRegister(kind->name, MatConvertFrom_AIJDerived));
  /* matrices without CSR can neither be created by type name nor be factored: these functions raise errors that say why */
  for (int t = 0; t < 2; t++) {
    PetscCall(MatRegister(released[t], MatCreate_AIJCSRFree));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(factors); k++) PetscCall(MatSolverTypeRegister(kind->name, released[t], factors[k], MatGetFactor_AIJCSRFree));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJKindFind(const char name[], const AIJKind **kind)
{
  PetscFunctionBegin;
  *kind = NULL;
  for (int k = 0; k < NumKinds && !*kind; k++) {
    const char *names[] = {Kinds[k]->name, Kinds[k]->aijname, Kinds[k]->seqname, Kinds[k]->mpiname};

    for (int l = 0; l < 4 && !*kind; l++) {
      PetscBool same;

      PetscCall(PetscStrcmp(name, names[l], &same)); /* a name may be NULL */
      if (same) *kind = Kinds[k];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
