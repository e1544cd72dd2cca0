#pragma once

/*
  Dense arithmetic where the blocks live. Arrays are column by column; what is long is this process' rows of a BV, what is small is
  compact unless a leading dimension is named, and everything that a product reads or writes lies in the same memory. A device does
  all of it in the order of the calls, without waiting for it, but for wait().
*/
#include <petscsys.h>

/* What factor() finds, as scalars since they travel with the matrices */
enum {
  BLOCK_PIVOT,    /* smallest entry of the diagonal of the factor of the scaled matrix; 0: it is not positive definite */
  BLOCK_SHORTEST, /* the smallest and largest root of the diagonal: lengths of columns */
  BLOCK_LONGEST,
  BLOCK_DEVIATION, /* largest entry of the matrix minus the identity; no number if the matrix holds none */
  BLOCK_FINDINGS
};

/*
  A pass over the rows of a block: out = in M - Q H - own ownH, and of this process' rows out^H out. Either of in and out may be the
  other, if M is not there.
*/
typedef struct {
  PetscInt           rows, w;
  const PetscScalar *in, *M; /* rows x w; w x w, or NULL: the identity */
  PetscInt           ldin;
  const PetscScalar *Q, *H; /* rows x k, k x w */
  PetscInt           k, ldq;
  const PetscScalar *own, *ownH; /* rows x w, w x w; own is copied to copy on the way, and may be NULL */
  PetscScalar       *copy;
  PetscInt           ldown, ldcopy;
  PetscScalar       *out;
  PetscInt           ldout;
  PetscScalar       *parts; /* out^H out is the sum of these, w x w each, as many as passparts() says; NULL: not asked for */
} BlockPass;

typedef struct {
  const char *name;
  PetscInt    maxwidth;   /* of factor() */
  PetscInt    chunk;      /* rows at a time where a product goes through scratch */
  PetscBool   concurrent; /* the host is free while it works */
  PetscErrorCode (*allocate)(size_t, PetscScalar **);
  PetscErrorCode (*free)(PetscScalar **);
  PetscErrorCode (*allocatemirror)(size_t, PetscScalar **); /* host memory for download() */
  PetscErrorCode (*freemirror)(PetscScalar **);
  /* C = alpha A B + beta C, A is rows x k, B is k x n and small */
  PetscErrorCode (*multiply)(PetscInt rows, PetscInt n, PetscInt k, PetscScalar alpha, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscInt ldb, PetscScalar beta, PetscScalar C[], PetscInt ldc);
  /* C = A^H B, m x n and small, of this process' rows; scratch holds what gramscratch() says */
  PetscErrorCode (*gram)(PetscInt rows, PetscInt m, PetscInt n, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscInt ldb, PetscScalar C[], PetscScalar scratch[]);
  size_t (*gramscratch)(PetscInt rows, PetscInt m, PetscInt n);
  PetscErrorCode (*pass)(const BlockPass *);
  PetscInt (*passparts)(PetscInt rows, PetscInt w); /* 0: a pass over blocks so wide gives no out^H out */
  /* G = R^H R with R upper triangular, and its inverse, for the sum G of parts; identities if there is none */
  PetscErrorCode (*factor)(PetscInt w, PetscInt nparts, const PetscScalar parts[], PetscScalar R[], PetscScalar Rinv[], PetscScalar findings[]);
  PetscErrorCode (*copy)(PetscInt rows, PetscInt cols, const PetscScalar A[], PetscInt lda, PetscScalar B[], PetscInt ldb);
  /* to and from the host; upload() is done with its source on return, download() with nothing before wait() */
  PetscErrorCode (*upload)(PetscScalar to[], const PetscScalar from[], size_t n);
  PetscErrorCode (*download)(PetscScalar to[], const PetscScalar from[], size_t n);
  PetscErrorCode (*mark)(void **); /* all that was called so far */
  PetscErrorCode (*wait)(void *);  /* until what was marked is done; NULL: until all is */
  PetscErrorCode (*freemark)(void **);
  /* a column of random numbers, factor times what BlockRandomNormal() gives for rows first, first + 1, ... */
  PetscErrorCode (*random)(PetscInt rows, PetscInt first, PetscInt64 key, PetscReal factor, PetscScalar a[]);
} BlockMemoryOps;

PETSC_INTERN const BlockMemoryOps BlockMemoryHost;
#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN const BlockMemoryOps BlockMemoryCUDA;
#endif
