#pragma once

/* The operator B, for the files of this folder that make it and that multiply with it. Arrays have this process's rows. */
#include "../blocklanczos.h"

/* transform.c: y = B x or B^H x, w columns, also without what is removed, then x is overwritten; X = X - V (V^H X), k columns of V */
PETSC_INTERN PetscErrorCode SVDBlockLanczosSolveB(SVD, PetscBool adjoint, PetscInt w, const PetscScalar x[], PetscScalar y[]);
PETSC_INTERN PetscErrorCode SVDBlockLanczosApplyB(SVD, PetscBool adjoint, PetscInt w, PetscScalar x[], PetscScalar y[]);
PETSC_INTERN PetscErrorCode SVDBlockLanczosProject(MPI_Comm, PetscInt n, PetscInt k, const PetscScalar V[], PetscInt w, PetscScalar X[]);
/* filter.c: X = T(A^H A) X, w columns */
PETSC_INTERN PetscErrorCode SVDBlockLanczosFilter(SVD, PetscInt w, PetscScalar X[]);
