#pragma once

/*
  A format is one way to store the nonzeros of a matrix for products with A and A^T, in host or in device memory. Each format has a folder of
  its own; docs/addformat.md explains how to write one.

  The functions of a format take a CSR, and arrays in the format's memory; they know nothing of Mat, Vec or MPI. On a device they launch
  kernels on the stream of the current PetscDeviceContext and do not synchronize. Only build() and setvalues() do, since they read host arrays
  that may change after they return.
*/
#include <petsccsrc.h>

/*
  The CSR of a sequential matrix, borrowed; columns within a row may be unsorted. The row pointers are always on the host. So are columns and
  values, unless they are current on the device only: then j or a is NULL. Only formats on a device are given such a CSR.
*/
typedef struct {
  PetscInt           m, n;
  PetscInt           nnz;
  const PetscInt    *i, *j;
  const PetscScalar *a;
  int                nthreads;   /* most OpenMP threads that a format may use on the host; set for build(), as is ... */
  int                nprocesses; /* ... the number of processes of the node, which share its caches */
  struct {
    const PetscInt    *i, *j;
    const PetscScalar *a;
  } device; /* the same CSR on the device; NULL where it is not current there */
} AIJCSR;

/* y = A x, y = A^T x or y = A^H x */
typedef enum {
  AIJ_N,
  AIJ_T,
  AIJ_H
} AIJOp;

/* Called with n nonzeros at a time; nonzeros with the same row and column come in the order of the CSR */
typedef void (*AIJVisitor)(void *visitctx, PetscInt n, const PetscInt row[], const PetscInt col[], const PetscScalar val[]);

/* A visitor that counts the nonzeros of row i in len[i]; its context is len, an array of PetscInt */
static inline void AIJCountRows(void *visitctx, PetscInt n, const PetscInt row[], const PetscInt col[], const PetscScalar val[])
{
  PetscInt *len = (PetscInt *)visitctx;

  (void)col;
  (void)val;
  for (PetscInt k = 0; k < n; k++) len[row[k]]++;
}

/* What nonzeros are stored for. A format ignores members that make no difference to it. */
typedef struct {
  PetscInt    columns;      /* of the products to come; products with fewer than AIJ_DENSE_COLUMNS columns count as products with vectors */
  PetscBool   reproducible; /* whether products with A and A^T must be bitwise the same in every run */
  PetscBool   rents;        /* whether AIJ or aijcusparse may multiply until storing the nonzeros pays back */
  const void *tuning;       /* parameters of the format; NULL: the format chooses them by its rules */
} AIJPurpose;

#define AIJ_DENSE_COLUMNS 3

typedef struct {
  const char *name;     /* shown by MatView() */
  PetscBool   ondevice; /* whether nonzeros and operands are in device memory */

  /* Stores a CSR with at least one nonzero and keeps no pointer into it. If it fails, nothing stays allocated. */
  PetscErrorCode (*build)(const AIJCSR *csr, const AIJPurpose *purpose, void **data);
  PetscErrorCode (*setvalues)(void *data, const AIJCSR *csr); /* new values for the pattern given to build() */
  PetscErrorCode (*destroy)(void **data);                     /* *data may be NULL */

  /* y = op(A) x + z; z may be NULL (nothing is added) or y itself; y is not x; y is uninitialized unless it is z */
  PetscErrorCode (*apply)(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y);
  /* Y = op(A) X, K columns, column-major, leading dimensions ldx and ldy; Y is uninitialized */
  PetscErrorCode (*applydense)(void *data, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy);

  PetscErrorCode (*getmemory)(const void *data, PetscLogDouble *bytes);           /* all memory kept between products, on host and device */
  PetscErrorCode (*view)(const void *data, PetscViewer viewer, PetscBool detail); /* prints a few lines of ASCII, without the name */

  PetscErrorCode (*visit)(const void *data, AIJVisitor visit, void *visitctx); /* calls visit() with every nonzero once */

  /* optional: whether build() would store the same for this purpose; if NULL, it always would */
  PetscErrorCode (*madefor)(const void *data, const AIJPurpose *purpose, PetscBool *yes);

  /*
    optional, on a device: bytes of the nonzeros, as products with one vector read them; their runs of equal columns, for each of which A x loads an entry of x and
    A^T x adds to memory; bycolumns: the other way round, with equal rows
  */
  PetscErrorCode (*getwork)(const void *data, PetscLogDouble *bytes, PetscLogDouble *runs, PetscBool *bycolumns);

  /* optional: the row pointers of the CSR; if NULL, they are counted by visit() */
  PetscErrorCode (*getrows)(const void *data, PetscInt i[]);
  /*
    optional: the columns and values of the last build() or setvalues(), bit for bit; the caller provides the row pointers. If NULL, they are
    collected by visit(), which loses the order of columns within a row: then the CSR of a matrix with a row whose columns do not ascend is not freed.
  */
  PetscErrorCode (*getcsr)(const void *data, const PetscInt i[], PetscInt j[], PetscScalar a[]);
} AIJFormat;

/* The stored nonzeros of a matrix; format and data are NULL if nothing is stored */
typedef struct {
  const AIJFormat *format;
  void            *data;
} AIJStored;

static inline PetscErrorCode AIJStoredBuild(AIJStored *stored, const AIJFormat *format, const AIJCSR *csr, const AIJPurpose *purpose)
{
  PetscFunctionBegin;
  PetscCall((*format->build)(csr, purpose, &stored->data));
  stored->format = format;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode AIJStoredDestroy(AIJStored *stored)
{
  PetscFunctionBegin;
  if (stored->format) PetscCall((*stored->format->destroy)(&stored->data));
  stored->format = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
