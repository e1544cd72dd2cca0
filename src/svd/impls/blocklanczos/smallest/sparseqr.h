#pragma once

/*
  The triangular factor of a sparse matrix: [A; shift I] P = Q R, on the host, by one process. Q is not formed. The matrix has as many rows as columns
  or more; its rows are passed by CSR arrays.

  R is made by Householder reflections, so it is exact for a matrix that differs from A by rounding of norm(A): values far below sqrt(eps) norm(A), which
  a Cholesky factor of A^H A loses, remain. There are no pivots to fail; with shift > 0, R is not singular. The Cholesky factor has the same structure, and
  often takes far fewer operations.
*/
#include <petscsys.h>

typedef struct _n_SparseQR *SparseQR;

/*
  Chooses P and computes the sizes of R. qr is NULL if R would need more bytes, or its factorisation more operations by either way, than are allowed, or if it is soon
  seen that a Cholesky factorisation will take more operations than `few`; this is estimated, up to three times too high.
*/
PETSC_INTERN PetscErrorCode SparseQRAnalyse(PetscInt m, PetscInt n, const PetscInt ai[], const PetscInt aj[], double bytes, double flops, double few, SparseQR *qr);
PETSC_INTERN PetscErrorCode SparseQRFactor(SparseQR, const PetscInt ai[], const PetscInt aj[], const PetscScalar aa[], PetscReal factor, PetscReal shift);
PETSC_INTERN PetscErrorCode SparseQRFactorNormal(SparseQR, const PetscInt ai[], const PetscInt aj[], const PetscScalar aa[], PetscReal factor, PetscReal shift, PetscBool *failed);
/* X = (R P^H)^-H X, or with adjoint X = (R P^H)^-1 X; w columns of the caller's numbering, which are overwritten */
PETSC_INTERN PetscErrorCode SparseQRSolve(SparseQR, PetscBool adjoint, PetscInt w, PetscScalar X[], PetscInt ldx);
PETSC_INTERN PetscErrorCode SparseQRGetInfo(SparseQR, double *entries, double *flops, double *normalflops);
PETSC_INTERN PetscErrorCode SparseQRDestroy(SparseQR *);
