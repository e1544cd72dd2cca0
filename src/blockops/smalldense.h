#pragma once

/* LAPACK and BLAS for matrices of the size of the projected problem, on the host, the same on every process; stored by columns */
#include <petscsys.h>

/*
  Work space of SmallHermitianEigen(). LAPACK applies as many reflectors at once as fit into the work space. Its default of 32 is a third
  slower for matrices of these orders.
*/
#define SMALL_EIGEN_BLOCK   8
#define SMALL_EIGEN_WORK(n) ((n) * (n) + (SMALL_EIGEN_BLOCK + 5) * (n) + 1)

/* sum + the squared moduli of n numbers, added one after the other */
static inline PetscReal SmallAddSquares(PetscReal sum, PetscInt n, const PetscScalar a[])
{
  for (PetscInt i = 0; i < n; i++) sum += PetscRealPart(a[i] * PetscConj(a[i]));
  return sum;
}

PETSC_INTERN PetscBool      SmallOneThread(void);
PETSC_INTERN PetscErrorCode SmallHermitianEigen(PetscInt, PetscScalar[], PetscInt, PetscReal[], PetscScalar[], PetscScalar[], PetscInt, PetscScalar[]);
PETSC_INTERN PetscErrorCode SmallApplyReflectors(const char[], PetscInt, PetscInt, const PetscScalar[], PetscInt, const PetscScalar[], PetscScalar[], PetscInt);
PETSC_INTERN PetscErrorCode SmallSVD(PetscInt, PetscInt, PetscScalar[], PetscInt, PetscReal[], PetscScalar[], PetscInt, PetscScalar[], PetscInt);
PETSC_INTERN PetscErrorCode SmallMultiply(const char[], const char[], PetscInt, PetscInt, PetscInt, PetscScalar, const PetscScalar[], PetscInt, const PetscScalar[], PetscInt, PetscScalar, PetscScalar[], PetscInt);
PETSC_INTERN PetscErrorCode SmallGram(PetscInt, PetscInt, const PetscScalar[], PetscInt, PetscScalar[]);
PETSC_INTERN PetscErrorCode SmallCholesky(PetscInt, PetscScalar[], PetscInt, PetscReal *);
PETSC_INTERN PetscErrorCode SmallInvertUpper(PetscInt, PetscScalar[], PetscInt);
PETSC_INTERN PetscReal      SmallLogChance(PetscInt, PetscInt, PetscReal);
PETSC_INTERN PetscErrorCode SmallSolveUpper(PetscInt, PetscInt, const PetscScalar[], PetscInt, PetscScalar[], PetscInt);
