#pragma once

#include <petscsys.h>

/*
  testvalue.c: what the environment variable PETSCCSRC_TEST gives for a name, as in PETSCCSRC_TEST=cache=0,simd=avx2. It is for tests and measurements, and
  read whenever it is asked for. found: whether there is a value.
*/
PETSC_EXTERN PetscErrorCode PetscCSRCTestValue(const char name[], char value[], size_t len, PetscBool *found);
