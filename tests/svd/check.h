#pragma once

/* What the SVD tests share: independent checks of what a solver returned */
#include <slepcsvd.h>

/* How far a solution is from what it should be; every figure is relative to the largest singular value or to one */
typedef struct {
  PetscInt  n;          /* triplets compared */
  PetscReal value;      /* worst difference from the values expected */
  PetscReal orthogonal; /* worst entry of U^H U - I and V^H V - I */
  PetscReal residual;   /* worst residual norm of a triplet, by the definition, relative to its own value (or rounding) */
  PetscReal estimate;   /* worst error estimate that is smaller than the residual it stands for, as a factor */
} SVDCheck;

extern PetscErrorCode SVDCheckSolution(SVD svd, PetscInt n, const PetscReal expected[], SVDCheck *check);
extern PetscErrorCode SVDSetSeed(SVD svd, PetscInt64 seed);
