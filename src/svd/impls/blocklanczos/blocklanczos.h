#pragma once

/*
  The block Lanczos SVD solver, one idea a file:

    blocklanczos.c     the type: settings, set-up, options, view
    solve.c            the order of events: iterate, guard, change of form, final check
    step.c             one step of the process, in either form
    orthonormalize.c   a block made orthonormal to a basis, with deflation and refilling
    projected.c        the projected problem, convergence, restart
    guard.c            the search for copies that the block cannot hold
    finish.c           left vectors, true residuals, and how to go on from them
    products.c         products of the matrix with dense blocks
    storage.c          the arrays and BVs of the state
    model.c            block size and basis size
    random.c           random blocks that do not depend on the number of processes
    smalldense.c       LAPACK for matrices of the projected problem's size

  What is as long as the matrix lives in BVs of the matrix's own vector type, so on its device; what is small lives on the
  host, column by column, every process holding the same.

  The state, with A tall (SLEPc swaps the sides of a wide matrix), V and X orthonormal together:

    A^H A form:   A^H A V = V T + X C                            T Hermitian, S_i = theta_i = sigma_i^2
    two-sided:    A V = U T,   A^H U = V T^H + X C               T upper triangular, S_i = sigma_i

  V has k columns, the next block X has w, the coupling C is w x k and is zero left of column c0. A step appends X to V; a
  restart replaces V by leading Ritz vectors and C by its image. Both are exact relations, also after deflation.
*/
#include <slepc/private/svdimpl.h>
#include <slepc/private/bvimpl.h>
#include <slepcblaslapack.h>
#include <slepccsrc.h>

typedef struct {
  PetscBool transpose; /* the product is with A^H, from the stored A */
  Mat       A, X, Y;   /* the product object lives on Y and stays while X and Y do */
} BlockProduct;

typedef struct {
  /* settings */
  PetscInt                bs_user;   /* block size, PETSC_DETERMINE: by the model */
  PetscReal               keep;      /* part of the basis kept at a restart, PETSC_DETERMINE: 1/2 */
  PetscBool               guard;
  SVDBlockLanczosForm     form;
  PetscBool               impltrans; /* SLEPc's flag before this type set it */
  PetscInt                auto_ncv, auto_mpd, auto_max_it; /* what set-up chose: chosen again for another matrix */

  /* the state */
  PetscBool    twosided;
  PetscInt     n;          /* length of the short side: the largest basis */
  PetscInt     bs, w;      /* width of the blocks X, W, Z allocated and of X now */
  PetscInt     k, c0;      /* columns of V; first column where C is not zero */
  PetscInt     nlock;      /* leading columns that the projected problem leaves out */
  PetscInt     ld;         /* leading dimension of T, Y, P and columns of C: the basis size allocated */
  BV           X, Z, W;    /* the next block; the two products of a step: short, short, long */
  BV           U;          /* left vectors: svd->U */
  PetscBool    wready;     /* W is the product with X */
  PetscBool    projected;  /* the projected problem of the columns as they are is solved */
  PetscScalar *T, *C;      /* ld x ld; bs x ld with leading dimension bs */
  PetscScalar *Y, *P, *F;  /* Ritz vectors of the short side, of the long side (two-sided), and C P or C Y */
  PetscReal   *S;          /* values of the projected problem in decreasing order */
  PetscReal   *res, *lost; /* residual norms of the Ritz pairs; residuals of columns of V that X no longer holds */
  PetscReal    scale;      /* the matrix is multiplied by this in every product */
  PetscReal    anorm;      /* norm of the operator so far: sigma_1^2 or sigma_1, from below */
  BlockProduct forward, adjoint;
  PetscInt     nrandom;    /* this many copies of any value are held, since the start was random in so many columns */
  PetscBool    guarded;    /* no more copies need be looked for */

  /* random blocks */
  PetscInt64 seed;
  PetscInt64 stream;

  /* counts of a solve */
  PetscInt steps, vectors, restarts, guards, copies, deflated, switches;
} SVD_BLOCKLANCZOS;

/* Rounding: below this times the norm a residual says nothing */
#define BLOCKLANCZOS_NOISE (100 * PETSC_MACHINE_EPSILON)

PETSC_INTERN PetscErrorCode SVDCreate_BlockLanczos(SVD);
PETSC_INTERN PetscErrorCode SVDSolve_BlockLanczos(SVD);

/* model.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosChooseSizes(SVD, PetscInt *);
PETSC_INTERN PetscInt       SVDBlockLanczosBasisSize(PetscInt, PetscInt);

/* products.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosForward(SVD, BV, BV, PetscInt);
PETSC_INTERN PetscErrorCode SVDBlockLanczosAdjoint(SVD, BV, BV, PetscInt);
PETSC_INTERN PetscErrorCode SVDBlockLanczosResetProducts(SVD);

/* random.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosSeed(SVD);
PETSC_INTERN PetscErrorCode SVDBlockLanczosFillRandom(SVD, BV, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode SVDBlockLanczosRandomSmall(SVD, PetscInt, PetscScalar[]);

/* orthonormalize.c */
PETSC_INTERN PetscErrorCode BlockDot(BV, PetscInt, PetscInt, BV, PetscInt, PetscInt, PetscScalar[], PetscInt);
PETSC_INTERN PetscErrorCode BlockMult(BV, PetscInt, PetscInt, PetscScalar, PetscScalar, BV, PetscInt, PetscInt, const PetscScalar[], PetscInt);
PETSC_INTERN PetscErrorCode BlockMultInPlace(BV, PetscInt, PetscInt, PetscInt, const PetscScalar[], PetscInt);
PETSC_INTERN PetscErrorCode BlockCopy(BV, PetscInt, PetscInt, BV, PetscInt);
PETSC_INTERN PetscErrorCode SVDBlockLanczosOrthonormalize(SVD, BV, PetscInt, BV, PetscInt, PetscInt, PetscReal *, PetscScalar[], PetscInt, PetscScalar[], PetscInt, PetscInt *);

/* step.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosStep(SVD);

/* projected.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosProject(SVD);
PETSC_INTERN PetscErrorCode SVDBlockLanczosTest(SVD, PetscReal, PetscReal, PetscBool, PetscReal, PetscReal *);
PETSC_INTERN PetscErrorCode SVDBlockLanczosCountConverged(SVD, PetscInt *);
PETSC_INTERN PetscErrorCode SVDBlockLanczosTruncate(SVD, PetscInt);
PETSC_INTERN PetscReal      SVDBlockLanczosNoise(SVD);
PETSC_INTERN PetscReal      SVDBlockLanczosSigma(SVD, PetscReal);

/* guard.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosGuard(SVD, PetscInt, PetscReal, PetscBool *);

/* finish.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosFinish(SVD, PetscInt, PetscInt *);
PETSC_INTERN PetscErrorCode SVDBlockLanczosContinue(SVD, PetscInt);

/* storage.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosAllocate(SVD, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode SVDBlockLanczosAllocateLeft(SVD, PetscInt);
PETSC_INTERN PetscErrorCode SVDBlockLanczosFree(SVD);

/* smalldense.c */
PETSC_INTERN PetscErrorCode SmallHermitianEigen(PetscInt, PetscScalar[], PetscInt, PetscReal[]);
PETSC_INTERN PetscErrorCode SmallSVD(PetscInt, PetscInt, PetscScalar[], PetscInt, PetscReal[], PetscScalar[], PetscInt, PetscScalar[], PetscInt);
PETSC_INTERN PetscErrorCode SmallMultiply(const char[], const char[], PetscInt, PetscInt, PetscInt, PetscScalar, const PetscScalar[], PetscInt, const PetscScalar[], PetscInt, PetscScalar, PetscScalar[], PetscInt);
PETSC_INTERN PetscErrorCode SmallCholesky(PetscInt, PetscScalar[], PetscInt, PetscReal *);
PETSC_INTERN PetscErrorCode SmallInvertUpper(PetscInt, PetscScalar[], PetscInt);
