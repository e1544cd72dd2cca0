/* The kinds that there are, by name */
#include "derivedimpl.h"

PetscLogEvent MAT_FormBuild, MAT_FormSetValues, MAT_FormMult, MAT_FormMatMult;

#define AIJ_MAX_KINDS 8
static const AIJKind *Kinds[AIJ_MAX_KINDS];
static int            NumKinds = 0;

PetscErrorCode AIJKindsInitialize(void)
{
  PetscFunctionBegin;
  PetscCall(MatInitializePackage());
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

PetscErrorCode AIJKindAdd(const AIJKind *kind)
{
  PetscFunctionBegin;
  PetscCheck(NumKinds < AIJ_MAX_KINDS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Too many kinds of matrix");
  Kinds[NumKinds++] = kind;
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

      PetscCall(PetscStrcmp(name, names[l], &same)); /* a kind need not have all */
      if (same) *kind = Kinds[k];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedGetKind(Mat A, const AIJKind **kind)
{
  const Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  *kind = f && !f->released ? f->kind : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
