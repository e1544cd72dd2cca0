#pragma once

#include <petscsys.h>

/*
  What this library was built for. Each may be overridden by -D when compiling versionguard.c: that is how the tests make a
  library that expects another PETSc.
*/
#ifndef PETSCCSRC_BUILT_MAJOR
  #define PETSCCSRC_BUILT_MAJOR PETSC_VERSION_MAJOR
#endif
#ifndef PETSCCSRC_BUILT_MINOR
  #define PETSCCSRC_BUILT_MINOR PETSC_VERSION_MINOR
#endif
#ifndef PETSCCSRC_BUILT_SCALAR_TYPE
  #define PETSCCSRC_BUILT_SCALAR_TYPE PETSC_SCALAR
#endif
#ifndef PETSCCSRC_BUILT_INT_SIZE
  #define PETSCCSRC_BUILT_INT_SIZE ((int)sizeof(PetscInt))
#endif

PETSC_INTERN PetscErrorCode PetscCSRCCheckPETSc(void);
