/* The list of kinds, found by name; log events */
#include "derivedimpl.h"
#include "sys/testvalue.h"

PetscLogEvent MAT_FormBuild, MAT_FormSetValues, MAT_FormMult, MAT_FormMatMult;

static const AIJKind *Kinds[AIJ_MAX_KINDS];
static int            NumKinds = 0;

PetscErrorCode AIJKindsRegisterEvents(void)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventRegister("MatFormBuild", MAT_CLASSID, &MAT_FormBuild));
  PetscCall(PetscLogEventRegister("MatFormSetVals", MAT_CLASSID, &MAT_FormSetValues));
  PetscCall(PetscLogEventRegister("MatFormMult", MAT_CLASSID, &MAT_FormMult));
  PetscCall(PetscLogEventRegister("MatFormMatMult", MAT_CLASSID, &MAT_FormMatMult));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJKindAdd(const AIJKind *kind)
{
  PetscFunctionBegin;
  PetscCheck(NumKinds < AIJ_MAX_KINDS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Too many kinds of matrix");
  Kinds[NumKinds++] = kind;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJKindsForget(void)
{
  PetscFunctionBegin;
  NumKinds = 0;
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

PetscErrorCode MatDerivedPatternForTests(PetscCSRCExchangePattern *pattern)
{
  char      name[16];
  PetscBool found, known = PETSC_FALSE;
  PetscEnum value = (PetscEnum)PETSCCSRC_PATTERN_AUTO;

  PetscFunctionBegin;
  PetscCall(PetscCSRCTestValue("exchange_pattern", name, sizeof(name), &found));
  if (found) PetscCall(PetscEnumFind(PetscCSRCExchangePatterns, name, &value, &known));
  PetscCheck(known == found, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "PETSCCSRC_TEST=exchange_pattern=%s is not lists or gather", name);
  *pattern = (PetscCSRCExchangePattern)value;
  PetscFunctionReturn(PETSC_SUCCESS);
}
