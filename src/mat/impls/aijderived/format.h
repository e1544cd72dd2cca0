#pragma once

/*
  A format is one way to store the nonzeros of a matrix for products with A and with A^T, in one memory, host or device. Each is a folder
  that begins with its table; docs/addformat.md tells how to write one.

  The functions see a CSR and arrays in the format's memory, neither Mat nor Vec nor MPI. Those of a format on a device launch on the
  stream of the current PetscDeviceContext and do not synchronise, except build() and setvalues(), which read host arrays that may
  change after they return.
*/
#include <petsccsrc.h>

/*
  The CSR of a sequential matrix, borrowed; rows may be unsorted. The pattern is on the host. The values are there too, unless they are on
  the device only: then a is NULL, which happens to formats on a device only.
*/
typedef struct {
  PetscInt           m, n;
  PetscInt           nnz;
  const PetscInt    *i, *j;
  const PetscScalar *a;
  int                nthreads; /* OpenMP threads that a format may have on the host, at most: set for build() */
  struct {
    const PetscInt    *i, *j;
    const PetscScalar *a;
  } device; /* the same CSR on the device if it is there, otherwise NULL */
} AIJCSR;

/* y = A x, y = A^T x or y = A^H x */
typedef enum {
  AIJ_N,
  AIJ_T,
  AIJ_H
} AIJOp;

/* Is called with n nonzeros at a time; those of one place come in the order of the CSR */
typedef void (*AIJVisitor)(void *visitctx, PetscInt n, const PetscInt row[], const PetscInt col[], const PetscScalar val[]);

/* One that counts the nonzeros of row i in len[i], an array of PetscInt that is its context */
static inline void AIJCountRows(void *visitctx, PetscInt n, const PetscInt row[], const PetscInt col[], const PetscScalar val[])
{
  PetscInt *len = (PetscInt *)visitctx;

  (void)col;
  (void)val;
  for (PetscInt k = 0; k < n; k++) len[row[k]]++;
}

/* What stored nonzeros are for. A format takes no notice of what makes no difference to it. */
typedef struct {
  PetscInt    columns;      /* of the products to come; with fewer than AIJ_DENSE_COLUMNS they count as products with vectors */
  PetscBool   reproducible; /* are products with A and with A^T to have the same bits every time? */
  PetscBool   rents;        /* may what is underneath multiply until storing would have paid back? */
  const void *tuning;       /* a choice of the format's own, or NULL: it chooses by its rules */
  PetscBool  *fits;         /* NULL, or where build() says, instead of raising an error, that the device's memory does not suffice */
} AIJPurpose;

#define AIJ_DENSE_COLUMNS 3

typedef struct {
  const char *name;     /* as the view shows it */
  PetscBool   ondevice; /* the memory of the nonzeros and of the operands */

  /* Stores a CSR that has nonzeros, and keeps no pointer into it. If it fails, or does not fit, it leaves nothing behind. */
  PetscErrorCode (*build)(const AIJCSR *csr, const AIJPurpose *purpose, void **data);
  PetscErrorCode (*setvalues)(void *data, const AIJCSR *csr); /* new values, the pattern of build() */
  PetscErrorCode (*destroy)(void **data);                     /* *data may be NULL */

  /* y = op(A) x + z; z may be NULL (none) or y itself; y is never x, and uninitialized unless it is z */
  PetscErrorCode (*apply)(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y);
  /* Y = op(A) X, K columns, column-major, leading dimensions ldx and ldy; Y is uninitialized */
  PetscErrorCode (*applydense)(void *data, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy);

  PetscErrorCode (*getmemory)(const void *data, PetscLogDouble *bytes);           /* all that lives between products, host and device */
  PetscErrorCode (*view)(const void *data, PetscViewer viewer, PetscBool detail); /* a few lines of ASCII, without the name */

  PetscErrorCode (*visit)(const void *data, AIJVisitor visit, void *visitctx); /* every nonzero once */

  /* optional: would build() store the same for this purpose? Without it: always */
  PetscErrorCode (*madefor)(const void *data, const AIJPurpose *purpose, PetscBool *yes);

  /* optional: the row pointers of the CSR. Without it they are counted by visit(). */
  PetscErrorCode (*getrows)(const void *data, PetscInt i[]);
  /*
    optional: the columns and values of the last build() or setvalues(), bit for bit, with the row pointers given. Without it they are put
    in place by visit(), which tells nothing of rows whose columns do not ascend: the CSR of a matrix with such rows is not freed.
  */
  PetscErrorCode (*getcsr)(const void *data, const PetscInt i[], PetscInt j[], PetscScalar a[]);
} AIJFormat;

/* The nonzeros of a matrix in a format: format and data are NULL if there are none */
typedef struct {
  const AIJFormat *format;
  void            *data;
  PetscLogDouble   timed; /* microseconds of A x and A^T x together if timing chose the format, otherwise 0 */
} AIJStored;

static inline PetscErrorCode AIJStoredBuild(AIJStored *stored, const AIJFormat *format, const AIJCSR *csr, const AIJPurpose *purpose)
{
  PetscFunctionBegin;
  PetscCall((*format->build)(csr, purpose, &stored->data));
  stored->format = stored->data ? format : NULL;
  stored->timed  = 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode AIJStoredDestroy(AIJStored *stored)
{
  PetscFunctionBegin;
  if (stored->format) PetscCall((*stored->format->destroy)(&stored->data));
  stored->format = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
