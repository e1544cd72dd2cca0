#pragma once

/*
  Two stored forms of a matrix as one format: one for products with A, the other for products with A^T. Both kinds use it, and it knows
  neither of them, nor their formats: what it stores is said by an AIJPairing, to which AIJPurpose.tuning points.
*/
#include "mat/impls/aijderived/format.h"

/* A CSR whose arrays, or some of them, were made for it: these are the other members, to be freed also if making them failed */
typedef struct {
  AIJCSR       csr;
  PetscInt    *i, *j;
  PetscScalar *a;
} AIJMadeCSR;

typedef struct {
  const AIJFormat *format;    /* of both forms */
  const void      *tuning[2]; /* AIJPurpose.tuning for the form for A x, and for that for A^T u */
  /*
    For a format on the host: makes the CSR of A^T, by PetscMalloc(); the form for A^T u is then stored from it, and computes A^T u as the
    product with what it stores. NULL, for a format on a device: both are forms of A, and either could compute both products.
  */
  PetscErrorCode (*transpose)(const AIJCSR *, AIJMadeCSR *);
} AIJPairing;

PETSC_INTERN const AIJFormat AIJFormatPairHost;
#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN const AIJFormat AIJFormatPairDevice;

/* device.c: the CSR with copies on the device of those arrays that are only on the host; of all arrays, or of values only */
PETSC_INTERN PetscErrorCode AIJPairUpload(const AIJCSR *, PetscBool pattern, AIJMadeCSR *);
PETSC_INTERN PetscErrorCode AIJPairUploadFree(AIJMadeCSR *);
/* device.c: sets uses[0] and uses[1], the forms that A x and A^T u use, to the faster ones, or both to one form if a second one gains too little */
PETSC_INTERN PetscErrorCode AIJPairChoose(const AIJStored form[2], const AIJCSR *, PetscInt columns, int uses[2]);
#endif
