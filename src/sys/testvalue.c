/* The environment variable PETSCCSRC_TEST: values for tests, each with a name */
#include "testvalue.h"

PetscErrorCode PetscCSRCTestValue(const char name[], char value[], size_t len, PetscBool *found)
{
  const char  *all = getenv("PETSCCSRC_TEST");
  const size_t n   = strlen(name);

  PetscFunctionBegin;
  *found = PETSC_FALSE;
  for (const char *item = all; item && *item && !*found; item += *item ? 1 : 0) {
    const size_t length = strcspn(item, ",");

    if (length > n + 1 && !strncmp(item, name, n) && item[n] == '=') {
      PetscCall(PetscStrncpy(value, item + n + 1, PetscMin(len, length - n)));
      *found = PETSC_TRUE;
    }
    item += length;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
