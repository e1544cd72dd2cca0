#pragma once

/* Matrices without a CSR */
#include "../parallel/parallel.h"
#include "../cusparse/cusparse.h"

/* release.c: the setter and the getter */
PETSC_INTERN const AIJComposed MatDerivedReleaseSetters[];
/* csrfree.c: bring the stored nonzeros up to date and free the CSR. All that can fail is done before A changes. */
PETSC_INTERN PetscErrorCode MatDerivedReleaseSeq(Mat);
PETSC_INTERN PetscErrorCode MatDerivedReleaseMPI(Mat);
/* Frees the CSR, and all else that AIJ has: what is stored is the matrix from now on. The data are those of the parallel type, NULL for the sequential one. */
PETSC_INTERN PetscErrorCode MatDerivedFreeCSR(Mat, Mat_MPICSRFree *);
/* recode.c, sequential: a plain AIJ copy of a matrix without CSR; whether a CSR can be given back; nonzeros from another CSR */
PETSC_INTERN PetscErrorCode MatDerivedDecode(Mat, Mat *);
PETSC_INTERN PetscErrorCode MatDerivedCheckRestorable(Mat);
PETSC_INTERN PetscErrorCode MatDerivedStoreCSR(Mat, AIJCSR *);
/* arrays.c */
PETSC_INTERN PetscErrorCode MatFormSetCSR_AIJDerived(Mat, PetscInt, size_t, const void *, const void *, const PetscScalar *);
