#pragma once

/* Shared by the SVD tests: matrices, solvers, independent checks of the results of a solver */
#include <slepcsvd.h>
#include <slepccsrc.h>

/* Errors of a solution; each is relative to the largest singular value or to one, unless said otherwise */
typedef struct {
  PetscInt  n;          /* number of triplets compared */
  PetscReal value;      /* worst difference from the values expected */
  PetscReal orthogonal; /* worst entry of U^H U - I and V^H V - I */
  PetscReal residual;   /* worst residual norm of a triplet, by its definition, relative to its value (or to rounding) */
  PetscReal estimate;   /* worst factor by which an error estimate is smaller than its residual */
} SVDCheck;

/* Gets an option's list of integers, if it is given: at most `most` of them */
extern PetscErrorCode SVDCheckGetList(const char option[], PetscInt most, PetscInt list[], PetscInt *n);
/* diag(s), of order n, of the type set by the options */
extern PetscErrorCode SVDCheckCreateDiagonal(PetscInt n, const PetscReal s[], Mat *A);
/* A solver of type blocklanczos for nsv values, with options set */
extern PetscErrorCode SVDCheckCreateSolver(Mat A, PetscInt nsv, SVD *svd);
extern PetscErrorCode SVDCheckSolution(SVD svd, PetscInt n, const PetscReal expected[], SVDCheck *check);
extern PetscErrorCode SVDSetSeed(SVD svd, PetscInt64 seed);
