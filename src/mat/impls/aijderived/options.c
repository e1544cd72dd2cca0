/* Settings that are enumerations: options, and checks of what setters are given */
#include "derivedimpl.h"

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

PetscErrorCode AIJOptionsEnum(PetscOptionItemsArg PetscOptionsObject, const char opt[], const char what[], const char text[], const char man[], const char *const list[], PetscEnum current, PetscEnum *value, PetscBool *set)
{
  char      name[256], names[256], help[512];
  int       n;
  PetscBool known = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(EnumNames(list, names, sizeof(names), &n));
  PetscCall(PetscSNPrintf(help, sizeof(help), "%s (%s)", text, names));
  PetscCall(PetscOptionsString(opt, help, man, list[current], name, sizeof(name), set));
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
