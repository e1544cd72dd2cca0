/*
  Refuses any PETSc other than the one this library was built for.

  The table of matrix operations changes between minor versions. A plugin that is loaded into another version writes into wrong
  slots and crashes far from the cause. The check calls functions of the PETSc that is loaded; its headers would only tell
  what the library was built with.
*/
#include "versionguard.h"

/* The size of PetscInt in the loaded PETSc: a function that returns a PetscInt overwrites 4 or 8 bytes of a pattern */
static PetscErrorCode LoadedIntSize(int *size)
{
  const unsigned char untouched[4] = {0xff, 0xff, 0xff, 0xff};
  PetscInt64          out          = -1; /* large enough, and aligned, for either size */
  PetscBool           same;

  PetscFunctionBegin;
  PetscCall(PetscOptionsAllUsed(NULL, (PetscInt *)&out));
  PetscCall(PetscMemcmp((const unsigned char *)&out + 4, untouched, 4, &same));
  *size = same ? 4 : 8;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCCheckPETSc(void)
{
  PetscInt      major, minor;
  PetscDataType scalar = PETSC_DATATYPE_UNKNOWN, real = PETSC_DATATYPE_UNKNOWN;
  PetscBool     found;
  int           intsize = 0;

  PetscFunctionBegin;
  /* the size of PetscInt first: the other checks pass integers */
  PetscCall(LoadedIntSize(&intsize));
  PetscCheck(intsize == (int)sizeof(PetscInt), PETSC_COMM_SELF, PETSC_ERR_SUP, "petsccsrc was built for PETSc with %d-bit PetscInt, but the PETSc loading it has %d-bit PetscInt; build it against this PETSc", 8 * (int)sizeof(PetscInt), 8 * intsize);
  PetscCall(PetscGetVersionNumber(&major, &minor, NULL, NULL));
  PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF, PETSC_ERR_SUP, "petsccsrc was built for PETSc %d.%d, but the PETSc loading it is %" PetscInt_FMT ".%" PetscInt_FMT "; build it against this PETSc",
             PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, major, minor);
  PetscCall(PetscDataTypeFromString("scalar", &scalar, &found));
  PetscCheck(found && scalar == PETSC_SCALAR, PETSC_COMM_SELF, PETSC_ERR_SUP, "petsccsrc was built for PETSc with %s scalars, but the PETSc loading it has %s scalars; build it against this PETSc", PetscDataTypes[PETSC_SCALAR],
             found ? PetscDataTypes[scalar] : "unknown");
  PetscCall(PetscDataTypeFromString("real", &real, &found)); /* complex scalars have the same type in every precision */
  PetscCheck(found && real == PETSC_REAL, PETSC_COMM_SELF, PETSC_ERR_SUP, "petsccsrc was built for PETSc with %s real numbers, but the PETSc loading it has %s real numbers; build it against this PETSc", PetscDataTypes[PETSC_REAL],
             found ? PetscDataTypes[real] : "unknown");
  PetscFunctionReturn(PETSC_SUCCESS);
}
