#pragma once

/* Functions that OpenBLAS exports; NULL if another library is the BLAS. parallel: 0 if it has no threads, 1 if they are its own, 2 if they are OpenMP's */
#include <petscsys.h>

PETSC_EXTERN int  openblas_get_num_threads(void) __attribute__((weak));
PETSC_EXTERN void openblas_set_num_threads(int) __attribute__((weak));
PETSC_EXTERN int  openblas_get_parallel(void) __attribute__((weak));
