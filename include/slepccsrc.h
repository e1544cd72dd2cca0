#pragma once

/*
  Public interface of libslepccsrc.so, the part of petsccsrc that needs SLEPc. Loading this library also registers the matrix
  types of petsccsrc.h. A program that links it calls SlepcCSRCInitializePackage() once after SlepcInitialize().
*/
#include <petsccsrc.h>
#include <slepcsvd.h>

#define SVDBLOCKLANCZOS "blocklanczos"

/*E
  SVDBlockLanczosForm - The iteration that `SVDBLOCKLANCZOS` uses

  Values:
+ `SVD_BLOCKLANCZOS_FORM_AUTO` (`auto`)         - $A^*A$ first, two-sided where accuracy requires it; the default
. `SVD_BLOCKLANCZOS_FORM_ATA` (`ata`)           - $A^*A$ alone: only a basis of the short side is stored
. `SVD_BLOCKLANCZOS_FORM_TWOSIDED` (`twosided`) - Golub-Kahan bidiagonalisation: bases of both sides are stored
. `SVD_BLOCKLANCZOS_FORM_INVERSE` (`inverse`)   - for the smallest values: the inverse of a triangular factor, also where the matrix is small enough for LAPACK
- `SVD_BLOCKLANCZOS_FORM_FILTER` (`filter`)     - for the smallest values: a polynomial of $A^*A$, which needs products only

  Level: intermediate

.seealso: `SVDBLOCKLANCZOS`, `SVDBlockLanczosSetForm()`
E*/
typedef enum {
  SVD_BLOCKLANCZOS_FORM_AUTO,
  SVD_BLOCKLANCZOS_FORM_ATA,
  SVD_BLOCKLANCZOS_FORM_TWOSIDED,
  SVD_BLOCKLANCZOS_FORM_INVERSE,
  SVD_BLOCKLANCZOS_FORM_FILTER
} SVDBlockLanczosForm;
PETSC_EXTERN const char *const SVDBlockLanczosForms[];

PETSC_EXTERN PetscErrorCode SlepcCSRCInitializePackage(void);

PETSC_EXTERN PetscErrorCode SVDBlockLanczosSetBlockSize(SVD, PetscInt);
PETSC_EXTERN PetscErrorCode SVDBlockLanczosGetBlockSize(SVD, PetscInt *);
PETSC_EXTERN PetscErrorCode SVDBlockLanczosSetCertify(SVD, PetscReal);
PETSC_EXTERN PetscErrorCode SVDBlockLanczosGetCertify(SVD, PetscReal *);
PETSC_EXTERN PetscErrorCode SVDBlockLanczosGetCertificate(SVD, PetscInt *, PetscReal *, PetscReal *, PetscBool *);
PETSC_EXTERN PetscErrorCode SVDBlockLanczosSetForm(SVD, SVDBlockLanczosForm);
PETSC_EXTERN PetscErrorCode SVDBlockLanczosGetForm(SVD, SVDBlockLanczosForm *);
PETSC_EXTERN PetscErrorCode SVDBlockLanczosSetNonzero(SVD, PetscReal);
PETSC_EXTERN PetscErrorCode SVDBlockLanczosGetNonzero(SVD, PetscReal *);
PETSC_EXTERN PetscErrorCode SVDBlockLanczosGetKSP(SVD, KSP *);
PETSC_EXTERN PetscErrorCode SVDBlockLanczosGetZeros(SVD, PetscInt *, PetscReal *, PetscBool *);
PETSC_EXTERN PetscErrorCode SVDBlockLanczosSetLeftVectors(SVD, PetscBool);
PETSC_EXTERN PetscErrorCode SVDBlockLanczosGetLeftVectors(SVD, PetscBool *);
PETSC_EXTERN PetscErrorCode SVDBlockLanczosGetCounts(SVD, PetscInt *, PetscInt *, PetscInt *, PetscInt *);
