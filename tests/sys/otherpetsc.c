static char help[] = "The library refuses a PETSc that it was not built for: this program answers the library's questions in PETSc's place.\n\
  -other minor|scalar|real|int   what is different in that PETSc\n\n";

#include <petscsys.h>

static PetscBool Other(const char what[])
{
  char      given[16] = "";
  PetscBool set;

  PetscCallAbort(PETSC_COMM_SELF, PetscOptionsGetString(NULL, NULL, "-other", given, sizeof(given), &set));
  return !strcmp(given, what) ? PETSC_TRUE : PETSC_FALSE;
}

/* The loader finds these functions in the program before those of libpetsc */
PetscErrorCode PetscGetVersionNumber(PetscInt *major, PetscInt *minor, PetscInt *subminor, PetscInt *release)
{
  (void)subminor;
  (void)release;
  *major = PETSC_VERSION_MAJOR;
  *minor = Other("minor") ? 99 : PETSC_VERSION_MINOR;
  return PETSC_SUCCESS;
}

PetscErrorCode PetscDataTypeFromString(const char name[], PetscDataType *type, PetscBool *found)
{
  *found = PETSC_TRUE;
  if (!strcmp(name, "scalar")) *type = Other("scalar") ? (PetscDefined(USE_COMPLEX) ? PETSC_REAL : PETSC_COMPLEX) : PETSC_SCALAR;
  else *type = Other("real") ? (PETSC_REAL == PETSC_FLOAT ? PETSC_DOUBLE : PETSC_FLOAT) : PETSC_REAL;
  return PETSC_SUCCESS;
}

/* Writes an integer of the other size: 4 bytes or 8 */
PetscErrorCode PetscOptionsAllUsed(PetscOptions options, PetscInt *n)
{
  (void)options;
  memset(n, 0, Other("int") ? 12 - sizeof(PetscInt) : sizeof(PetscInt));
  return PETSC_SUCCESS;
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "loaded\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    filter: Error: grep -oE "petsccsrc was built.*|^loaded" | sed -E "s/ 3\.[0-9]{2},/ 3.N,/; s/(32|64)-bit/N-bit/g; s/DOUBLE|FLOAT|COMPLEX/TYPE/g"
    test:
      suffix: none
    test:
      suffix: minor
      args: -other minor
    test:
      suffix: scalar
      args: -other scalar
    test:
      suffix: real
      args: -other real
    test:
      suffix: int
      args: -other int

TEST*/
