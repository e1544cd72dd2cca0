#pragma once

/* Systems that the tests of solvers share; their type is set by the options, or AIJ where asked for */
#include <petscksp.h>
#include "sys/petscolder.h"

/*
  Convection and diffusion on an n x n grid: five diagonals, not symmetric. Diagonally dominant, so that solvers need some 50
  steps: with many more, rounding decides how many those of the Lanczos family take, with any matrix type.
*/
PETSC_INTERN PetscErrorCode SystemConvection(PetscInt n, PetscBool aij, Mat *A);
/* m x n, ten entries in a row, spread over all columns; of full rank */
PETSC_INTERN PetscErrorCode SystemTall(PetscInt m, PetscInt n, PetscBool aij, Mat *A);
/* The same vector on any number of processes, its entries between 1 and 2 */
PETSC_INTERN PetscErrorCode SystemVec(PetscInt s, Vec x);

/* The solvers that are run on the types, each with a preconditioner that it can use */
typedef struct {
  KSPType   ksp;
  PCType    pc;
  PetscBool tall; /* for least squares with SystemTall() */
  PetscBool host; /* takes the vectors' arrays on the host once and for all: wrong with vectors on a device, of any matrix type */
} SystemSolver;
PETSC_INTERN const SystemSolver SystemSolvers[];
PETSC_INTERN const PetscInt     SystemNumSolvers;

/* The residual norms of the last solve, from the first on; it lives as long as the solver */
typedef struct {
  PetscInt              n;
  PetscReal             norm[1000];
  KSPConvergenceTestFn *test;
  PetscCtx              ctx;
  PetscCtxDestroyFn    *destroy;
} SystemHistory;
PETSC_INTERN PetscErrorCode SystemCreateSolver(const SystemSolver *solver, Mat A, KSP *ksp, SystemHistory **history);
