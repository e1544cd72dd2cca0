#pragma once

/*
  BlockOps: dense operations on blocks of long vectors, in the memory of the vectors.

    blockops.h       the interface: a table of functions over raw arrays
    host.c           the table for host memory, by BLAS and LAPACK
    cuda/            the table for a CUDA device: blockops.cu, launch parameters (blocklaunch.cuh), kernels (blockkernels.cuh)
    blockrandom.h    random numbers by position, the same on host and device
    blockbv.[hc]     operations on columns of BVs, by all processes, and random columns
    smalldense.[hc]  LAPACK on the host for the resulting small matrices

  Shapes. Arrays are stored by columns. A long array is this process's rows of some columns of a BV: rows x cols, with a leading dimension
  that is an argument. A small array has as many rows and columns as blocks or bases have columns; it is compact (its leading dimension is
  its number of rows), unless a leading dimension is an argument.

  Memory. All arrays of a call are in the table's memory, except those that are said to be on the host. upload() and download() copy small
  arrays from and to the host.

  Ownership. The caller owns every array, scratch included: calls allocate nothing and keep no pointer once they are done.
  What allocate(), allocatemirror() and mark() make is freed by the function next to them.

  Order. On a device, a call queues its work on the stream of PETSc's current device context and returns. Work runs in the order of the
  calls, so the next call may use or overwrite what this one reads and writes; only wait() makes the host wait. On the host, a call is
  done when it returns.

  Communication. There is none: sums over rows are over those of this process. Calls are not collective.
*/
#include <petscsys.h>

/* What factor() finds out; stored as scalars, next to the matrices */
enum {
  BLOCK_PIVOT,    /* smallest entry of the diagonal of the factor of the scaled matrix; 0: it is not positive definite */
  BLOCK_SHORTEST, /* the smallest and the largest square root of a diagonal entry: norms of columns */
  BLOCK_LONGEST,
  BLOCK_DEVIATION, /* largest entry of the matrix minus the identity; NaN if the matrix holds NaN */
  BLOCK_FINDINGS
};

/*
  A pass over the rows of a block: all operations that can be done while the rows are read and written once.

    out = in M - Q H - P K                 out and in are rows x w, Q is rows x k, P is rows x w, M and K are w x w, H is k x w
    copy = P
    out^H out = R^H R                      over this process's rows, with R and its inverse as from factor()
    mirror = results                       copies small results of earlier calls to the host, in the same launch

  Operands may be left out: M = NULL is the identity, k = 0 leaves out Q H, P = NULL leaves out P K and the copy, parts = NULL leaves out
  the factor, nresults = 0 the results. out and in may be the same array if M is NULL; otherwise no operand may be an output.
*/
typedef struct {
  PetscInt           rows, w;
  const PetscScalar *in, *M;
  PetscInt           ldin;
  const PetscScalar *Q, *H;
  const PetscScalar *hostH; /* in place of H, on the host: at most 'inlined' scalars, which may be changed once pass() returns */
  PetscInt           k, ldq;
  const PetscScalar *P, *K;
  PetscScalar       *copy;
  PetscInt           ldp, ldcopy;
  PetscScalar       *out;
  PetscInt           ldout;
  PetscScalar       *parts;               /* scratch: passparts() matrices of w x w */
  PetscScalar       *R, *Rinv, *findings; /* w x w, w x w, BLOCK_FINDINGS */
  PetscScalar       *tickets;             /* scratch: one scalar, zero before and after */
  const PetscScalar *results;             /* nresults scalars */
  PetscScalar       *mirror;              /* on the host, from allocatemirror(); complete after wait() */
  PetscInt           nresults;
} BlockPass;

typedef struct {
  const char *name;
  PetscInt    maxwidth;   /* the largest w of factor(), and of a pass that makes a factor */
  PetscInt    chunk;      /* the number of rows that are processed at a time where a product needs scratch, not being possible in place */
  PetscInt    inlined;    /* the largest number of scalars in hostH */
  PetscBool   concurrent; /* operations run asynchronously: the host is free meanwhile */

  /* n scalars, set to zero; n may be 0 */
  PetscErrorCode (*allocate)(size_t n, PetscScalar **);
  PetscErrorCode (*free)(PetscScalar **);
  /* n scalars on the host, for download() and for a pass' mirror */
  PetscErrorCode (*allocatemirror)(size_t n, PetscScalar **);
  PetscErrorCode (*freemirror)(PetscScalar **);

  /* C = alpha A B, or C += alpha A B if add: A is long, rows x k, C is long, rows x n, B is small, k x n. C may be neither A nor B. */
  PetscErrorCode (*multiply)(PetscInt rows, PetscInt n, PetscInt k, PetscScalar alpha, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscBool add, PetscScalar C[], PetscInt ldc);

  /* C = A^H B over this process's rows: A is long, rows x m, B is long, rows x n, C is small, m x n; A and B may be the same array */
  PetscErrorCode (*gram)(PetscInt rows, PetscInt m, PetscInt n, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscInt ldb, PetscScalar C[], PetscScalar scratch[], PetscScalar tickets[]);
  /* the sizes in scalars of the scratch and of the tickets of gram(); tickets are zero before and after */
  PetscErrorCode (*gramscratch)(PetscInt rows, PetscInt m, PetscInt n, size_t *scratch, size_t *tickets);

  /* see BlockPass, which belongs to the caller and may be dropped once pass() returns */
  PetscErrorCode (*pass)(const BlockPass *);
  /* the number of parts that a pass needs to make a factor; 0: the block is too wide for that, use gram() and factor() */
  PetscInt (*passparts)(PetscInt rows, PetscInt w);

  /* G = R^H R with R upper triangular, and its inverse: all small, w x w. If G is not positive definite, both are the identity. */
  PetscErrorCode (*factor)(PetscInt w, const PetscScalar G[], PetscScalar R[], PetscScalar Rinv[], PetscScalar findings[]);

  /* B = A: both long, rows x cols */
  PetscErrorCode (*copy)(PetscInt rows, PetscInt cols, const PetscScalar A[], PetscInt lda, PetscScalar B[], PetscInt ldb);

  /* copies n scalars from the host; the source may be changed on return */
  PetscErrorCode (*upload)(PetscScalar to[], const PetscScalar from[], size_t n);
  /* copies n scalars to the host; complete after wait() */
  PetscErrorCode (*download)(PetscScalar to[], const PetscScalar from[], size_t n);

  /* marks the end of all calls so far; creates the mark if it is NULL, otherwise moves it */
  PetscErrorCode (*mark)(void **);
  /* waits until all calls before the mark are done; NULL: until all calls are done */
  PetscErrorCode (*wait)(void *);
  PetscErrorCode (*freemark)(void **);

  /* a long column of random numbers: factor times BlockRandomNormal() of the key and rows first, first + 1, ... */
  PetscErrorCode (*random)(PetscInt rows, PetscInt first, PetscInt64 key, PetscReal factor, PetscScalar a[]);
} BlockOps;

PETSC_INTERN const BlockOps BlockOpsHost;
#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN const BlockOps BlockOpsCUDA;
#endif
