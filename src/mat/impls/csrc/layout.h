#pragma once

/*
  A layout is one way to store the nonzeros of a csrccuda matrix for products with A and A^T, in one memory (host or
  device). csrccuda.c chooses among the tables below; each is one file:

    csrc/host.c            the paper's layout on the host, OpenMP
    csrc/device.cu         the paper's layout on a CUDA device
    balanced/balanced.cu   the balanced layout on a CUDA device

  The functions see arrays in the layout's memory only. Device functions launch on the stream of the current
  PetscDeviceContext and do not synchronise, except build() and setvalues(), which read host arrays that may change
  after they return.
*/
#include "mat/impls/aijderived/derived.h"

/* Products with fewer columns count as products with vectors: forms made for vectors are as good for them */
#define CSRC_DENSE_COLUMNS 3

typedef struct {
  const char *name; /* as shown by the view, for example "paper, on the device" */

  /* Makes the form from the host's CSR, for products with so many columns. If the device's memory does not suffice, *fits is PETSC_FALSE and
     *data is NULL; with fits NULL that is an error. */
  PetscErrorCode (*build)(const AIJCSR *csr, PetscInt columns, MatCSRCOrientation orientation, PetscBool *fits, void **data);
  PetscErrorCode (*setvalues)(void *data, const AIJCSR *csr); /* same pattern, new values */
  PetscErrorCode (*destroy)(void **data);                     /* *data may be NULL */
  PetscErrorCode (*apply)(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y);
  PetscErrorCode (*applydense)(void *data, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy);
  PetscErrorCode (*getmemory)(void *data, PetscLogDouble *bytes);
  PetscErrorCode (*view)(void *data, PetscViewer viewer, PetscBool detail);

  /* would build() make the same form for so many columns? NULL: always */
  PetscErrorCode (*madefor)(const void *data, PetscInt columns, PetscBool *yes);
} CSRCLayoutOps;

PETSC_INTERN const CSRCLayoutOps CSRCLayoutPaperHost;
#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN const CSRCLayoutOps CSRCLayoutPaperCUDA;
PETSC_INTERN const CSRCLayoutOps CSRCLayoutBalancedCUDA;
/* Whether a balanced layout, once built, can be expected to be faster than the paper's */
PETSC_INTERN PetscErrorCode CSRCLayoutBalancedSuits(const void *data, PetscBool *suits);
/* Whether the product (A x or A^T x) that adds by atomics in a balanced layout is to have the same bits every time */
PETSC_INTERN PetscErrorCode CSRCLayoutBalancedSetReproducible(void *data, PetscBool reproducible);
/*
  Builds the layout that timing shows to be the fastest. paper: the paper's layout is a candidate too; *us: microseconds that A x and
  A^T x take together. *ops is NULL if the device's memory leaves no room to time any layout.
*/
PETSC_INTERN PetscErrorCode CSRCLayoutTune(const AIJCSR *csr, MatCSRCOrientation orientation, PetscBool paper, PetscBool reproducible, const CSRCLayoutOps **ops, void **data, PetscLogDouble *us);
#endif

/* Whether the balanced layout can hold a matrix: its counts, including padding to whole chunks and thread blocks, have 31 bits */
static inline PetscBool CSRCLayoutBalancedFits(const AIJCSR *csr)
{
  const PetscInt64 limit = 2147483647 - (1 << 26);

  return (PetscInt64)csr->m < limit && (PetscInt64)csr->n < limit && (PetscInt64)csr->nnz < limit ? PETSC_TRUE : PETSC_FALSE;
}
