#pragma once

/* Systems shared by the tests of solvers; their type is set by the options, or AIJ on request */
#include <petscksp.h>
#include "sys/petscolder.h"

/*
  Convection and diffusion on an n x n grid: five diagonals, not symmetric. It is diagonally dominant, so that solvers need some 50
  steps. With many more steps, the number that solvers of the Lanczos family take would depend on rounding, with any matrix type.
*/
PETSC_INTERN PetscErrorCode SystemConvection(PetscInt n, PetscBool aij, Mat *A);
/* m x n, ten entries in a row, distributed over all columns; full rank */
PETSC_INTERN PetscErrorCode SystemTall(PetscInt m, PetscInt n, PetscBool aij, Mat *A);
/* The same vector on any number of processes, its entries between 1 and 2 */
PETSC_INTERN PetscErrorCode SystemVec(PetscInt s, Vec x);
/* Is x the solution y of AIJ but for rounding, and y not zero? x becomes x - y. */
PETSC_INTERN PetscErrorCode SystemCompare(const char what[], Vec x, Vec y, PetscInt *bad);

/* The solvers to be tested, each with a preconditioner that it can use */
typedef struct {
  KSPType   ksp;
  PCType    pc;
  PetscBool tall; /* for least squares with SystemTall() */
  PetscBool host; /* keeps pointers to host arrays of vectors, which is wrong with vectors on a device, for any matrix type */
} SystemSolver;
PETSC_INTERN const SystemSolver SystemSolvers[];
PETSC_INTERN const PetscInt     SystemNumSolvers;

/* All residual norms of the last solve; it must live as long as the solver */
typedef struct {
  PetscInt              n;
  PetscReal             norm[1000];
  KSPConvergenceTestFn *test;
  PetscCtx              ctx;
  PetscCtxDestroyFn    *destroy;
} SystemHistory;
PETSC_INTERN PetscErrorCode SystemCreateSolver(const SystemSolver *solver, Mat A, KSP *ksp, SystemHistory **history);
