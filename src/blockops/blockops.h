#pragma once

/*
  BlockOps: dense operations on blocks of long vectors, where the blocks live.

    blockops.h       the interface: a table of functions over raw arrays
    host.c           the table for the host's memory, by BLAS and LAPACK
    cuda/            the table for a CUDA device: blockops.cu, how kernels are launched (blocklaunch.cuh), the kernels (blockkernels.cuh)
    blockrandom.h    random numbers by position, the same on either
    blockbv.[hc]     the operations for columns of BVs, by all processes, and random columns
    smalldense.[hc]  LAPACK on the host for the small matrices that come of them

  Shapes. Arrays are stored by columns. A long array is this process' rows of some columns of a BV: rows x cols, its columns a leading
  dimension apart, which is named. A small array has as many rows and columns as blocks or bases have columns; it is compact, its leading
  dimension being its number of rows, unless one is named.

  Where. All arrays of a call are in the table's memory, but for those that are said to be on the host. upload() and download() move small
  arrays from and to the host.

  Who owns what. The caller owns every array, scratch included: calls allocate nothing and keep no pointer once they are done.
  What allocate(), allocatemirror() and mark() made is freed by the function beside them.

  When. On a device a call queues its work on the stream of PETSc's current device context and returns. What is queued runs in the order of
  the calls, so the next call may use or overwrite what this one reads and writes; only wait() makes the host wait. On the host a call is
  done when it returns.

  Who else. Nothing here communicates: what sums over rows, sums over those of this process. Calls are not collective.
*/
#include <petscsys.h>

/* What factor() finds, as scalars since they travel with the matrices */
enum {
  BLOCK_PIVOT,    /* smallest entry of the diagonal of the factor of the scaled matrix; 0: it is not positive definite */
  BLOCK_SHORTEST, /* the smallest and largest root of the diagonal: lengths of columns */
  BLOCK_LONGEST,
  BLOCK_DEVIATION, /* largest entry of the matrix minus the identity; NaN if the matrix holds NaN */
  BLOCK_FINDINGS
};

/*
  A pass over the rows of a block: everything that can be done with them while they are read and written once.

    out = in M - Q H - P K                 out and in are rows x w, Q is rows x k, P is rows x w, M and K are w x w, H is k x w
    copy = P                               the same rows, to another place
    out^H out = R^H R                      of this process' rows, with R and its inverse as from factor()
    mirror = results                       small results of earlier calls go to the host with this launch

  Each of the four is left out where its operands are: M = NULL is the identity, k = 0 leaves out Q H, P = NULL leaves out P K and the
  copy, parts = NULL leaves out the factor, nresults = 0 the results. out and in may be the same array if M is NULL; otherwise no
  operand may be an output.
*/
typedef struct {
  PetscInt           rows, w;
  const PetscScalar *in, *M;
  PetscInt           ldin;
  const PetscScalar *Q, *H;
  const PetscScalar *hostH; /* in place of H, on the host: at most 'inlined' scalars, which may change once pass() returns */
  PetscInt           k, ldq;
  const PetscScalar *P, *K;
  PetscScalar       *copy;
  PetscInt           ldp, ldcopy;
  PetscScalar       *out;
  PetscInt           ldout;
  PetscScalar       *parts;               /* scratch: w x w, as many as passparts() says */
  PetscScalar       *R, *Rinv, *findings; /* w x w, w x w, BLOCK_FINDINGS */
  PetscScalar       *tickets;             /* scratch: one scalar, zero before and after */
  const PetscScalar *results;             /* nresults scalars */
  PetscScalar       *mirror;              /* on the host, from allocatemirror(); complete after wait() */
  PetscInt           nresults;
} BlockPass;

typedef struct {
  const char *name;
  PetscInt    maxwidth;   /* the largest w of factor(), and of a pass that makes a factor */
  PetscInt    chunk;      /* how many rows at a time go well through scratch where a product cannot be made in place */
  PetscInt    inlined;    /* the most scalars of hostH that a pass takes */
  PetscBool   concurrent; /* the host is free while the operations run */

  /* n scalars, zeros; n may be 0 */
  PetscErrorCode (*allocate)(size_t n, PetscScalar **);
  PetscErrorCode (*free)(PetscScalar **);
  /* n scalars on the host, for download() and for a pass' mirror */
  PetscErrorCode (*allocatemirror)(size_t n, PetscScalar **);
  PetscErrorCode (*freemirror)(PetscScalar **);

  /* C = alpha A B + beta C: A is long, rows x k, C is long, rows x n, B is small, k x n. C may be neither A nor B. */
  PetscErrorCode (*multiply)(PetscInt rows, PetscInt n, PetscInt k, PetscScalar alpha, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscInt ldb, PetscScalar beta, PetscScalar C[], PetscInt ldc);

  /* C = A^H B over this process' rows: A is long, rows x m, B is long, rows x n, C is small, m x n; A and B may be the same array */
  PetscErrorCode (*gram)(PetscInt rows, PetscInt m, PetscInt n, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscInt ldb, PetscScalar C[], PetscScalar scratch[], PetscScalar tickets[]);
  /* the sizes in scalars of its scratch and of its tickets, which are zeros before and after */
  PetscErrorCode (*gramscratch)(PetscInt rows, PetscInt m, PetscInt n, size_t *scratch, size_t *tickets);

  /* see BlockPass, which belongs to the caller and may be dropped once pass() returns */
  PetscErrorCode (*pass)(const BlockPass *);
  /* how many parts a pass over so many rows needs to make a factor; 0: for blocks so wide it makes none, use gram() and factor() */
  PetscInt (*passparts)(PetscInt rows, PetscInt w);

  /* G = R^H R with R upper triangular, and its inverse: all small, w x w. If G is not positive definite, both are the identity. */
  PetscErrorCode (*factor)(PetscInt w, const PetscScalar G[], PetscScalar R[], PetscScalar Rinv[], PetscScalar findings[]);

  /* B = A: both long, rows x cols */
  PetscErrorCode (*copy)(PetscInt rows, PetscInt cols, const PetscScalar A[], PetscInt lda, PetscScalar B[], PetscInt ldb);

  /* n scalars from the host; the source may be changed on return */
  PetscErrorCode (*upload)(PetscScalar to[], const PetscScalar from[], size_t n);
  /* n scalars to the host, where they are after wait() */
  PetscErrorCode (*download)(PetscScalar to[], const PetscScalar from[], size_t n);

  /* marks the end of all calls so far; the mark is made if it is NULL, and moved if not */
  PetscErrorCode (*mark)(void **);
  /* until all calls before the mark are done; NULL: until all are */
  PetscErrorCode (*wait)(void *);
  PetscErrorCode (*freemark)(void **);

  /* a long column of random numbers: factor times what BlockRandomNormal() gives for a key and rows first, first + 1, ... */
  PetscErrorCode (*random)(PetscInt rows, PetscInt first, PetscInt64 key, PetscReal factor, PetscScalar a[]);
} BlockOps;

PETSC_INTERN const BlockOps BlockOpsHost;
#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN const BlockOps BlockOpsCUDA;
#endif
