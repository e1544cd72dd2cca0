#pragma once

/*
  Dense arithmetic where the blocks live. Arrays are stored by columns. A long array is this process' rows of a BV; a small one is
  compact unless a leading dimension is named. Everything that an operation reads or writes is in the same memory. On a device the
  operations are queued in the order of the calls, and only wait() waits for them.
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
  A pass over the rows of a block: out = in M - Q H - own ownH, of this process' rows out^H out, and its Cholesky factor. Either of in
  and out may be the other, if M is not there.
*/
typedef struct {
  PetscInt           rows, w;
  const PetscScalar *in, *M; /* rows x w; w x w, or NULL: the identity */
  PetscInt           ldin;
  const PetscScalar *Q, *H; /* rows x k, k x w */
  const PetscScalar *hostH; /* in place of H, on the host; at most 'inlined' scalars */
  PetscInt           k, ldq;
  const PetscScalar *own, *ownH; /* rows x w, w x w; own is copied to copy on the way, and may be NULL */
  PetscScalar       *copy;
  PetscInt           ldown, ldcopy;
  PetscScalar       *out;
  PetscInt           ldout;
  PetscScalar       *parts;               /* scratch for out^H out, w x w each, as many as passparts() says; NULL: not asked for */
  PetscScalar       *R, *Rinv, *findings; /* then what factor() makes of it */
  PetscScalar       *tickets;
  const PetscScalar *results; /* nresults scalars, results of earlier calls, are copied to mirror on the host, where they are after wait() */
  PetscScalar       *mirror;
  PetscInt           nresults;
} BlockPass;

typedef struct {
  const char *name;
  PetscInt    maxwidth;                               /* of factor() */
  PetscInt    chunk;                                  /* rows at a time where a product goes through scratch */
  PetscInt    inlined;                                /* the most scalars of hostH that a pass takes */
  PetscBool   concurrent;                             /* the host is free while it works */
  PetscErrorCode (*allocate)(size_t, PetscScalar **); /* zeros */
  PetscErrorCode (*free)(PetscScalar **);
  PetscErrorCode (*allocatemirror)(size_t, PetscScalar **); /* host memory for download() */
  PetscErrorCode (*freemirror)(PetscScalar **);
  /* C = alpha A B + beta C, A is rows x k, B is k x n and small */
  PetscErrorCode (*multiply)(PetscInt rows, PetscInt n, PetscInt k, PetscScalar alpha, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscInt ldb, PetscScalar beta, PetscScalar C[], PetscInt ldc);
  /* C = A^H B, m x n and small, of this process' rows; gramscratch() gives the sizes of scratch and of tickets, which are zeros before and after */
  PetscErrorCode (*gram)(PetscInt rows, PetscInt m, PetscInt n, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscInt ldb, PetscScalar C[], PetscScalar scratch[], PetscScalar tickets[]);
  PetscErrorCode (*gramscratch)(PetscInt rows, PetscInt m, PetscInt n, size_t *scratch, size_t *tickets);
  PetscErrorCode (*pass)(const BlockPass *);
  PetscInt (*passparts)(PetscInt rows, PetscInt w); /* 0: a pass over such wide blocks gives no out^H out; otherwise it needs one ticket */
  /* G = R^H R with R upper triangular, and its inverse; identities if there is none */
  PetscErrorCode (*factor)(PetscInt w, const PetscScalar G[], PetscScalar R[], PetscScalar Rinv[], PetscScalar findings[]);
  PetscErrorCode (*copy)(PetscInt rows, PetscInt cols, const PetscScalar A[], PetscInt lda, PetscScalar B[], PetscInt ldb);
  /* to and from the host; the source of upload() may be changed on return, the result of download() is there after wait() */
  PetscErrorCode (*upload)(PetscScalar to[], const PetscScalar from[], size_t n);
  PetscErrorCode (*download)(PetscScalar to[], const PetscScalar from[], size_t n);
  PetscErrorCode (*mark)(void **); /* marks the end of all calls so far */
  PetscErrorCode (*wait)(void *);  /* until all calls before the mark are done; NULL: until all are */
  PetscErrorCode (*freemark)(void **);
  /* a column of random numbers, factor times what BlockRandomNormal() gives for rows first, first + 1, ... */
  PetscErrorCode (*random)(PetscInt rows, PetscInt first, PetscInt64 key, PetscReal factor, PetscScalar a[]);
} BlockMemoryOps;

PETSC_INTERN const BlockMemoryOps BlockMemoryHost;
#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN const BlockMemoryOps BlockMemoryCUDA;
#endif
