#pragma once

/*
  The operations on blocks for columns of BVs, by all processes. Where the vectors live in a memory that BlockOps knows, they are made by
  its functions, through scratch that stays from call to call; elsewhere by BV's own, which work for every type of vector.

  The BVs of a workspace have the same row layout, or two of them (those of either side of a matrix), and the same type. A block is the
  columns [c0, c1) of a BV. Small matrices are on the host, stored by columns with a leading dimension, and the same on every process.
  Calls are collective unless said otherwise. Those whose results are on the host wait for them; the others return when their work is
  queued. Small operands may be changed on return.
*/
#include <slepcbv.h>
#include "blockops.h"

/* Pieces of scratch; they grow on demand */
typedef enum {
  BLOCK_SCRATCH_LONG, /* where the vectors live: long */
  BLOCK_SCRATCH_GRAM,
  BLOCK_SCRATCH_TICKETS,   /* zeros between operations */
  BLOCK_SCRATCH_SMALL,     /* small operands */
  BLOCK_SCRATCH_REDUCTION, /* small arrays of the caller's, and on the host what comes of them: no operation here uses these two */
  BLOCK_SCRATCH_RESULTS,
  BLOCK_SCRATCH_MIRROR, /* on the host: small results */
  BLOCK_SCRATCHES
} BlockScratch;

/* Belongs to a solver; zeros are one without operations and scratch */
typedef struct {
  const BlockOps *ops; /* NULL: BV's functions */
  MPI_Comm        comm;
  PetscBool       devicesum;  /* sums over processes can be made on devices, without the host */
  PetscInt        rows;       /* of the BV it was made for, on this process */
  PetscInt        maxk, maxw; /* columns of the largest basis and block to come: scratch is made for these at once; 0: not known */
  PetscScalar    *scratch[BLOCK_SCRATCHES];
  size_t          nscratch[BLOCK_SCRATCHES];
  void           *mark;        /* for the caller: the end of what is to be waited for */
  PetscInt64      seed, drawn; /* of random columns, and how many there have been */
} BlockWorkspace;

typedef struct {
  PetscScalar *a;
  PetscInt     ld; /* columns are so far apart */
  Mat          M;  /* for the restoration */
} BlockArray;

/* Chooses the operations for the memory where a BV's vectors live; scratch in another memory is freed */
PETSC_INTERN PetscErrorCode BlockWorkspaceSetBV(BlockWorkspace *, BV);
/* Frees scratch and mark */
PETSC_INTERN PetscErrorCode BlockWorkspaceReset(BlockWorkspace *);

/* For those who call ws->ops themselves: the array of a BV in its memory, on the host where there are no operations for its vectors. Not collective. */
PETSC_INTERN PetscErrorCode BlockGetArray(BlockWorkspace *, BV, BlockArray *);
PETSC_INTERN PetscErrorCode BlockRestoreArray(BlockWorkspace *, BV, BlockArray *);
/* Scratch of at least n scalars, which stays the workspace's: valid until more of the same is asked for. Not collective. */
PETSC_INTERN PetscErrorCode BlockGetScratch(BlockWorkspace *, BlockScratch, size_t n, PetscScalar **a);
/* C = A^H B as by ws->ops->gram(), over all processes; C is compact and where the vectors live */
PETSC_INTERN PetscErrorCode BlockGram(BlockWorkspace *, PetscInt rows, PetscInt m, PetscInt n, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscInt ldb, PetscScalar C[]);

/* M = Y(:, y0:y1)^H X(:, x0:x1) */
PETSC_INTERN PetscErrorCode BlockDot(BlockWorkspace *, BV Y, PetscInt y0, PetscInt y1, BV X, PetscInt x0, PetscInt x1, PetscScalar M[], PetscInt ld);
/* Y(:, y0:y1) = beta Y(:, y0:y1) + alpha X(:, x0:x1) M; the two blocks must not overlap */
PETSC_INTERN PetscErrorCode BlockMult(BlockWorkspace *, BV Y, PetscInt y0, PetscInt y1, PetscScalar beta, PetscScalar alpha, BV X, PetscInt x0, PetscInt x1, const PetscScalar M[], PetscInt ld);
/* V(:, s:e) = V(:, s:r) M, where M is (r - s) x (e - s) and e <= r */
PETSC_INTERN PetscErrorCode BlockMultInPlace(BlockWorkspace *, BV V, PetscInt s, PetscInt e, PetscInt r, const PetscScalar M[], PetscInt ld);
/* Y(:, y0:y0+x1-x0) = X(:, x0:x1) */
PETSC_INTERN PetscErrorCode BlockCopy(BlockWorkspace *, BV X, PetscInt x0, PetscInt x1, BV Y, PetscInt y0);

/* Random columns by position: entry (i, j) is a function of the seed, of how many columns were drawn before, and of the global i, on any number of processes */
PETSC_INTERN void BlockSetSeed(BlockWorkspace *, PetscInt64);
/* V(:, c0:c1) become independent random columns of norm about 1 */
PETSC_INTERN PetscErrorCode BlockFillRandom(BlockWorkspace *, BV V, PetscInt c0, PetscInt c1);
/* A small random array, the same on every process. Not collective. */
PETSC_INTERN void BlockRandomSmall(BlockWorkspace *, PetscInt n, PetscScalar a[]);
