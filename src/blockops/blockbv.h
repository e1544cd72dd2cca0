#pragma once

/*
  Operations on blocks of columns of BVs, by all processes. If BlockOps has a table for the memory of the vectors, its functions are used,
  with scratch that is kept from call to call; otherwise BV's functions, which work for every type of vector.

  The BVs of a workspace have the same type, and one or two row layouts (those of the two sides of a matrix). A block is the columns
  [c0, c1) of a BV. Small matrices are on the host, stored by columns with a leading dimension, and the same on every process. Calls are
  collective unless said otherwise. Calls with results on the host wait for these; the others return when their work is queued. Small
  operands may be changed on return.
*/
#include <slepcbv.h>
#include "blockops.h"

/* Scratch arrays, which grow on demand; in the memory of the vectors unless said otherwise */
typedef enum {
  BLOCK_SCRATCH_LONG, /* a long array */
  BLOCK_SCRATCH_GRAM,
  BLOCK_SCRATCH_TICKETS,   /* zeros between operations */
  BLOCK_SCRATCH_SMALL,     /* small operands */
  BLOCK_SCRATCH_REDUCTION, /* for the caller only: small arrays, and below their results on the host */
  BLOCK_SCRATCH_RESULTS,
  BLOCK_SCRATCH_MIRROR, /* on the host: small results */
  BLOCK_SCRATCHES
} BlockScratch;

/* Belongs to a solver; one of zeros is valid, without operations and scratch */
typedef struct {
  const BlockOps *ops; /* NULL: BV's functions */
  MPI_Comm        comm;
  PetscBool       devicesum;  /* sums over processes can be made on devices, without the host */
  PetscInt        rows;       /* of the BV it was made for, on this process */
  PetscInt        maxk, maxw; /* columns of the largest basis and block to come, for which scratch is allocated at once; 0: unknown */
  PetscScalar    *scratch[BLOCK_SCRATCHES];
  size_t          nscratch[BLOCK_SCRATCHES];
  void           *mark;        /* for the caller: the end of the work to wait for */
  PetscInt64      seed, drawn; /* of random columns; the number drawn so far */
} BlockWorkspace;

typedef struct {
  PetscScalar *a;
  PetscInt     ld; /* leading dimension */
  Mat          M;  /* for BlockRestoreArray() */
} BlockArray;

/* Chooses the operations for the memory of a BV's vectors; frees scratch in another memory */
PETSC_INTERN PetscErrorCode BlockWorkspaceSetBV(BlockWorkspace *, BV);
/* Frees scratch and mark */
PETSC_INTERN PetscErrorCode BlockWorkspaceReset(BlockWorkspace *);

/* For callers of ws->ops: the array of a BV in its memory, or on the host if there are no operations for this memory. Not collective. */
PETSC_INTERN PetscErrorCode BlockGetArray(BlockWorkspace *, BV, BlockArray *);
PETSC_INTERN PetscErrorCode BlockRestoreArray(BlockWorkspace *, BV, BlockArray *);
/* Scratch of at least n scalars, owned by the workspace, valid until more of the same is asked for. Not collective. */
PETSC_INTERN PetscErrorCode BlockGetScratch(BlockWorkspace *, BlockScratch, size_t n, PetscScalar **a);
/* C = A^H B as by ws->ops->gram(), summed over all processes; C is compact, in the memory of the vectors */
PETSC_INTERN PetscErrorCode BlockGram(BlockWorkspace *, PetscInt rows, PetscInt m, PetscInt n, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscInt ldb, PetscScalar C[]);

/* M = Y(:, y0:y1)^H X(:, x0:x1) */
PETSC_INTERN PetscErrorCode BlockDot(BlockWorkspace *, BV Y, PetscInt y0, PetscInt y1, BV X, PetscInt x0, PetscInt x1, PetscScalar M[], PetscInt ld);
/* Y(:, y0:y1) = beta Y(:, y0:y1) + alpha X(:, x0:x1) M, where beta is 0 or 1; the two blocks must not overlap */
PETSC_INTERN PetscErrorCode BlockMult(BlockWorkspace *, BV Y, PetscInt y0, PetscInt y1, PetscScalar beta, PetscScalar alpha, BV X, PetscInt x0, PetscInt x1, const PetscScalar M[], PetscInt ld);
/* Y(:, 0:w) += P Q^H X(:, 0:w), with all columns of P and Q */
PETSC_INTERN PetscErrorCode BlockAddLowRank(BlockWorkspace *, BV Y, BV P, BV Q, BV X, PetscInt w);
/* V(:, s:e) = V(:, s:r) M, where M is (r - s) x (e - s) and e <= r */
PETSC_INTERN PetscErrorCode BlockMultInPlace(BlockWorkspace *, BV V, PetscInt s, PetscInt e, PetscInt r, const PetscScalar M[], PetscInt ld);
/* Y(:, y0:y0+x1-x0) = X(:, x0:x1) */
PETSC_INTERN PetscErrorCode BlockCopy(BlockWorkspace *, BV X, PetscInt x0, PetscInt x1, BV Y, PetscInt y0);

/*
  Random columns: entry i depends only on the seed, the number of columns drawn since it was set, and the global i, not on the number of processes
*/
PETSC_INTERN void BlockSetSeed(BlockWorkspace *, PetscInt64);
/* Sets V(:, c0:c1) to independent random columns of norm about 1 */
PETSC_INTERN PetscErrorCode BlockFillRandom(BlockWorkspace *, BV V, PetscInt c0, PetscInt c1);
/* A small random array, the same on every process. Not collective. */
PETSC_INTERN void BlockRandomSmall(BlockWorkspace *, PetscInt n, PetscScalar a[]);
