#pragma once

/* What the SVD tests share: matrices, solvers, independent checks of what a solver returned */
#include <slepcsvd.h>
#include <slepccsrc.h>

/* How far a solution is from what it should be; every figure is relative to the largest singular value or to one */
typedef struct {
  PetscInt  n;          /* triplets compared */
  PetscReal value;      /* worst difference from the values expected */
  PetscReal orthogonal; /* worst entry of U^H U - I and V^H V - I */
  PetscReal residual;   /* worst residual norm of a triplet, by the definition, relative to its own value (or rounding) */
  PetscReal estimate;   /* worst error estimate that is smaller than the residual it stands for, as a factor */
} SVDCheck;

/* An option's list of integers, if it is given: most of them at most */
extern PetscErrorCode SVDCheckGetList(const char option[], PetscInt most, PetscInt list[], PetscInt *n);
/* diag(s), of order n, of the type that options say */
extern PetscErrorCode SVDCheckCreateDiagonal(PetscInt n, const PetscReal s[], Mat *A);
/* A solver of type blocklanczos for nsv values, with options */
extern PetscErrorCode SVDCheckCreateSolver(Mat A, PetscInt nsv, SVD *svd);
extern PetscErrorCode SVDCheckSolution(SVD svd, PetscInt n, const PetscReal expected[], SVDCheck *check);
extern PetscErrorCode SVDSetSeed(SVD svd, PetscInt64 seed);
