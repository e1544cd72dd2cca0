#pragma once

#include <petscsys.h>

/*
  The PETSc that this library was built for. Each macro may be overridden by -D when versionguard.c is compiled: in this way the
  tests make a library that expects another PETSc.
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
#ifndef PETSCCSRC_BUILT_REAL_TYPE
  #define PETSCCSRC_BUILT_REAL_TYPE PETSC_REAL
#endif
#ifndef PETSCCSRC_BUILT_INT_SIZE
  #define PETSCCSRC_BUILT_INT_SIZE ((int)sizeof(PetscInt))
#endif

PETSC_INTERN PetscErrorCode PetscCSRCCheckPETSc(void);
