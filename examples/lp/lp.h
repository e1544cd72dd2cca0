#pragma once

/*
  Linear programs: minimize c^T x + offset with rowlower <= A x <= rowupper and lower <= x <= upper.

    mps.cxx      reads MPS files
    problem.c    names, new costs and bounds, scaling
    solve.c      the iteration: restarted Halpern PDHG with reflection
    kernels.h    its work for one entry of a vector, the same code for host and device
    host.c, device.cu   the loops over the entries
    status.c     residuals and certificates from the user's data in their own scale; files of solutions
    lp.c         options, output
*/
#include <petscmat.h>
#include <petsctime.h>
#include <math.h>

/* Bounds of at least this size are none, as in other solvers; PETSC_INFINITY is a finite number */
#define LP_INFINITE 1e20
#define LP_INF      ((PetscReal)INFINITY)

typedef struct {
  PetscInt   m, n;
  PetscInt  *i, *j; /* A by rows, in the user's scale */
  PetscReal *v;
  PetscReal *cost, *lower, *upper, *rowlower, *rowupper, offset; /* infinite bounds are +-LP_INF */
  PetscBool  maximize;                                           /* cost and offset are negated */
  PetscInt   integers;                                           /* columns marked so, and relaxed */
  char     **rows, **columns;                                    /* names */
} LP;

typedef enum {
  LP_UNSOLVED,
  LP_OPTIMAL,
  LP_INFEASIBLE,
  LP_UNBOUNDED,
  LP_DUAL_INFEASIBLE
} LPStatus;

/* Relative residuals and values of a point, or the radius of a certificate */
typedef struct {
  PetscReal primal, dual, gap, value, bound;
} LPErrors;

/* Sets dual, gap and bound from two choices of reduced costs that count at their bounds: the one with the smaller larger residual */
static inline void LPChooseErrors(LPErrors *e, const PetscReal dual[2], const PetscReal bound[2])
{
  for (int choice = 0; choice < 2; choice++) {
    const PetscReal gap = PetscAbsReal(e->value - bound[choice]) / (1 + PetscAbsReal(e->value) + PetscAbsReal(bound[choice]));

    if (choice && !(PetscMax(dual[1], gap) < PetscMax(e->dual, e->gap))) continue;
    e->dual  = dual[choice];
    e->gap   = gap;
    e->bound = bound[choice];
  }
}

typedef struct {
  PetscReal tol, raytol, maxtime;
  PetscInt  maxits, period;
  PetscBool progress, graph;
} LPOptions;

typedef struct {
  LPStatus       status;
  LPErrors       errors;
  PetscReal     *x, *y, radius; /* of a certificate: no point has a smaller norm */
  PetscInt       its, restarts, easyits;
  PetscLogDouble seconds, easyseconds; /* when the residuals were first below 1e-4 */
} LPResult;

typedef struct _n_LPSolver *LPSolver;

PETSC_EXTERN PetscErrorCode LPReadMPS(const char[], LP *, char[], size_t);
PETSC_EXTERN PetscErrorCode LPDestroy(LP *);
PETSC_EXTERN PetscErrorCode LPReadChanges(LP *, const char[]);
PETSC_EXTERN PetscErrorCode LPScale(const LP *, PetscReal[], PetscReal[]);
PETSC_EXTERN PetscErrorCode LPReadSolution(const LP *, const char[], PetscReal[], PetscReal[]);
PETSC_EXTERN PetscErrorCode LPWriteSolution(const LP *, const char[], const LPResult *);
PETSC_EXTERN PetscErrorCode LPWriteBinary(const LP *, const char[], const LPResult *);

PETSC_EXTERN PetscErrorCode LPComputeErrors(const LP *, const PetscReal[], const PetscReal[], LPErrors *);
PETSC_EXTERN PetscErrorCode LPCertifyInfeasible(const LP *, PetscReal[], PetscReal *);
PETSC_EXTERN PetscErrorCode LPCertifyUnbounded(const LP *, PetscReal[], PetscReal *);

PETSC_EXTERN PetscErrorCode LPSolverCreate(const LP *, LPSolver *);
PETSC_EXTERN PetscErrorCode LPSolverSetVectors(LPSolver);
PETSC_EXTERN PetscErrorCode LPSolverSolve(LPSolver, const LPOptions *, LPResult *);
PETSC_EXTERN PetscErrorCode LPSolverGetMatrix(LPSolver, Mat *);
PETSC_EXTERN PetscErrorCode LPSolverDestroy(LPSolver *);
