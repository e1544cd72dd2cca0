/* The list of kinds, found by name; log events; options whose values are enumerations, and settings that all kinds have: the exchange, copies, release */
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

/* The names in list in one string; *n is how many there are */
static PetscErrorCode EnumNames(const char *const list[], char names[], size_t len, int *n)
{
  PetscFunctionBegin;
  names[0] = 0;
  /* the enumeration's own name, its prefix and NULL come last */
  for (*n = 0; list[*n + 2]; (*n)++) {
    if (*n) PetscCall(PetscStrlcat(names, ", ", len));
    PetscCall(PetscStrlcat(names, list[*n], len));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJOptionsEnum(PetscOptionItemsArg PetscOptionsObject, const char opt[], const char what[], const char text[], const char man[], const char *const list[], PetscEnum *value, PetscBool *set)
{
  char      name[256], names[256], help[512];
  int       n;
  PetscBool known = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(EnumNames(list, names, sizeof(names), &n));
  PetscCall(PetscSNPrintf(help, sizeof(help), "%s (%s)", text, names));
  PetscCall(PetscOptionsString(opt, help, man, list[*value], name, sizeof(name), set));
  if (!*set) PetscFunctionReturn(PETSC_SUCCESS);
  /* PetscEnumFind() takes an empty name for the first one */
  if (name[0]) PetscCall(PetscEnumFind(list, name, value, &known));
  PetscCheck(known, PetscOptionsObject->comm, PETSC_ERR_USER_INPUT, "%s %s: unknown %s; allowed: %s", opt, name, what, names);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJCheckEnum(Mat A, const char *const list[], int value)
{
  char names[256];
  int  n;

  PetscFunctionBegin;
  PetscCall(EnumNames(list, names, sizeof(names), &n));
  PetscCheck(value >= 0 && value < n, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "%d is not a %s; allowed: 0 to %d (%s)", value, list[n], n - 1, names);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedSetFromOptions(Mat A, PetscOptionItemsArg PetscOptionsObject)
{
  Mat_Derived *f       = MatDerivedOf(A);
  PetscEnum    value   = (PetscEnum)f->exchange;
  PetscBool    release = f->release ? PETSC_TRUE : PETSC_FALSE, set;

  PetscFunctionBegin;
  PetscCall((*f->kind->setfromoptions)(A, f->settings, PetscOptionsObject));
  PetscOptionsHeadBegin(PetscOptionsObject, "Options for stored nonzeros");
  PetscCall(AIJOptionsEnum(PetscOptionsObject, "-mat_form_exchange", "exchange", "How processes exchange entries of vectors", "None", PetscCSRCExchangeTypes, &value, &set));
  if (set && f->exchange != (PetscCSRCExchangeType)value) {
    f->exchange = (PetscCSRCExchangeType)value;
    PetscCall(MatDerivedSettingsChanged(A));
  }
  PetscCall(PetscOptionsBool(MAT_FORM_RELEASE, "Free the CSR at the first product", "MatFormSetRelease", release, &release, &set));
  PetscOptionsHeadEnd();
  if (set) PetscTryMethod(A, "MatFormSetRelease_C", (Mat, PetscBool), (A, release)); /* may restore the CSR of A, and with it a new Mat_Derived */
  PetscFunctionReturn(PETSC_SUCCESS);
}

const char *const MatFormCopiesTypes[] = {"1", "2", "auto", "MatFormCopies", "MAT_FORM_COPIES_", NULL};

PetscBool AIJTakesTwoCopies(MatFormCopies copies, PetscInt columns, const AIJCSR *csr, PetscReal bytes)
{
  const PetscReal copy = bytes * (PetscReal)csr->nnz, operands = (PetscReal)sizeof(PetscScalar) * ((PetscReal)csr->m + (PetscReal)csr->n) * (PetscReal)columns;

  return copies == MAT_FORM_COPIES_TWO || (copies == MAT_FORM_COPIES_AUTO && 4 * copy < operands) ? PETSC_TRUE : PETSC_FALSE;
}

/*@
  MatFormSetCopies - Sets how many copies of a `MATCSRCCUDA` or `MATBCCOO` matrix are stored for products

  Logically Collective

  Input Parameters:
+ A      - the matrix
- copies - how many copies are stored, see `MatFormCopies`

  Options Database Key:
. -mat_form_copies (1|2|auto) - sets the number; the default is 1

  Level: advanced

  Notes:
  The setting takes effect at the next product. Two copies take twice the memory of one; storing them, or giving them new values, takes at least
  twice the time.

  On the host the second copy is one of A^T, so that A^T x gathers like A x and is as fast. Both copies together take 0.6 of the memory of a CSR
  in the mean. New values are transposed first, which takes much longer than refilling one copy. Products with dense matrices, and with A^H in
  complex arithmetic, use the copy of A.

  On a device one copy has blocks of rows and the other blocks of columns. A^T x becomes faster if few nonzeros of a block share a column; if many
  do, one copy is best for both products, and the other is freed. Both copies are in the balanced layout. `MAT_CSRC_LAYOUT_CSRC`, or a matrix that
  the balanced layout cannot hold, is therefore an error.

  `MAT_FORM_COPIES_AUTO` compares the memory of a copy with that of the operands of a product: on the host these are vectors, on a device they have
  as many columns as the widest products that the nonzeros are stored for. If another setting excludes two copies, one is stored.

  The function does nothing for matrices of other types.

.seealso: `MATCSRCCUDA`, `MATBCCOO`, `MatFormCopies`, `MatFormGetCopies()`, `MatCSRCSetReproducible()`
@*/
PetscErrorCode MatFormSetCopies(Mat A, MatFormCopies copies)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(A, copies, 2);
  PetscTryMethod(A, "MatFormSetCopies_C", (Mat, MatFormCopies), (A, copies));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatFormGetCopies - Gets how many copies of a `MATCSRCCUDA` or `MATBCCOO` matrix are stored for products

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameter:
. copies - how many copies are stored, see `MatFormCopies`

  Level: advanced

.seealso: `MATCSRCCUDA`, `MATBCCOO`, `MatFormCopies`, `MatFormSetCopies()`
@*/
PetscErrorCode MatFormGetCopies(Mat A, MatFormCopies *copies)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(copies, 2);
  PetscUseMethod(A, "MatFormGetCopies_C", (Mat, MatFormCopies *), (A, copies));
  PetscFunctionReturn(PETSC_SUCCESS);
}
