#pragma once

/*
  The block Lanczos SVD solver:

    blocklanczos.c     the type: settings, set-up, options, view
    solve.c            the phases of a solve: iteration, guard, change of form, final check
    step.c             one step of the process, in either form
    reduce.c           makes the next block from a product, in the usual case: by fused operations in the memory of the blocks
    orthogonality.c    the orthogonality estimate (omega-recurrence): which steps need the pass against the whole basis, and how the
                       orthogonality that other steps lose is restored
    orthonormalize.c   makes any block orthonormal to a basis, with deflation and random replacements
    projected.c        the projected problem, convergence, restart
    guard.c            the search for copies of multiple values that the block cannot hold
    recurrence.c       a bound for what the guard may have missed, from the coefficients of its recurrence
    certificate.c      how many values are above which bound: proved by the guard, or estimated by the process that found them
    left.c             left vectors: stored, or computed when they are asked for
    finish.c           left vectors, true residuals, and the state to continue from
    products.c         products of the matrix with dense blocks
    storage.c          the arrays and BVs of the state
    sizes.c            block size and basis size
    smallest/          the smallest values: smallest.c, of which another solver of this type computes the largest ones of an operator that
                       transform.c makes of a triangular factor (sparseqr.c), of the user's KSP (ksp.c) or of products with A (filter.c)

  Random blocks, and dense operations on blocks of long vectors and on small matrices, are in src/blockops.

  Arrays as long as a side of the matrix are in BVs of the matrix's vector type, so on its device. Small arrays are on the host, stored
  by columns, the same on every process.

  The state, with A tall (SLEPc swaps the sides of a wide matrix) and orthonormal columns of V and X together:

    A^H A form:   A^H A V = V T + X C                            T Hermitian, S_i = theta_i = sigma_i^2
    two-sided:    A V = U T,   A^H U = V T^H + X C               T upper triangular, S_i = sigma_i

  V has k columns, the next block X has w, the coupling C is w x k and is zero left of column c0. A step appends X to V. A restart
  replaces V by leading Ritz vectors and transforms C with them. The relations are exact up to rounding, also after deflation.
*/
#include <slepc/private/svdimpl.h>
#include <slepc/private/bvimpl.h>
#include <slepccsrc.h>
#include "blockops/blockbv.h"
#include "blockops/smalldense.h"
#include "smallest/sparseqr.h"
#include "sys/petscolder.h"

typedef struct {
  PetscBool transpose; /* the product is with A^H, from the stored A */
  PetscBool columns;   /* vector by vector */
  PetscBool lowrank;   /* the low-rank part of the operator has to be added */
  Mat       A, X, Y;   /* the MatProduct is on Y; it is kept as long as X and Y are */
} BlockProduct;

/* See reduce.c */
typedef struct {
  BV                 Q;       /* a basis */
  PetscInt           k, c0;   /* number of its columns; coef is for columns c0 .. k-1 */
  BV                 B;       /* the block, which is overwritten */
  PetscInt           w, maxw; /* its width; how many more columns the space has room for */
  const PetscScalar *coef;    /* (k - c0) x w */
  BV                 own;     /* the block from which B was made, which is to join the basis, or NULL */
  const PetscScalar *owncoef; /* coefficients of B along own, w x w, or NULL: to be computed */
  PetscBool          full;    /* with the pass against the whole basis */
  PetscReal         *norm;    /* norm of the operator */
  PetscScalar       *a;       /* w x w: own^H B, if it was computed */
  PetscScalar       *c;       /* (k + w) x w, or k x w without own: the components along the basis that the passes have subtracted */
  PetscScalar       *R;       /* B = Q c + out R, wout x w with leading dimension w */
  PetscInt           wout;
  PetscReal          pivot;      /* the smallest of the first factor */
  PetscReal          subtracted; /* the largest component along the basis that the full pass subtracted, for a block of unit columns */
  PetscBool          fused, regular;
} BlockReduction;

/* See orthogonality.c */
typedef struct {
  PetscBool    valid;        /* the estimate, and so the members below, are valid */
  PetscInt     nshort;       /* number of steps since the restart that left out the full pass */
  PetscInt     northonormal; /* number of leading columns of the basis that are orthonormal nevertheless */
  PetscInt     nfull;        /* number of next steps that must make the full pass */
  PetscInt     w;            /* the width of the last step, 0 if it was not regular */
  PetscReal    pivot, noise; /* the smallest pivot of its factor; the rounding of a step */
  PetscReal    predicted;    /* the largest component along the basis that was predicted for the last step */
  PetscScalar *G, *g, *E;    /* V^H V - I, V^H X, X^H X - I, with leading dimensions ld, ld and bs */
  PetscScalar *a, *Rinv;     /* of the last step */
  PetscScalar *N, *work;     /* work space of ld x bs, and twice that */
  PetscScalar *base;         /* the allocation that holds these arrays */
  PetscInt     ngram;        /* V^H V of this many columns has been started, or is done */
} OmegaEstimate;

/* See certificate.c */
typedef struct _n_BlockCycle *BlockCycle;

typedef struct {
  PetscInt     q, k, w; /* random columns that the process was started from, or 0; columns of the basis and of the block at that time */
  PetscScalar *R;       /* w x q: the random columns are the block times R, and a part in the basis */
  PetscReal    chance;  /* of the last estimate, which may be too large for a certificate */
  BlockCycle  *cycle;   /* the cycles that ended by a restart */
  PetscInt     ncycles, maxcycles;
  size_t       bytes;
} BlockHistory;

/* See recurrence.c */
#define BLOCKLANCZOS_LANES 8

typedef struct {
  PetscInt     w, wnext, nkept; /* width of the block and of the next one; number of Ritz vectors that a restart has kept */
  PetscBool    restart;         /* true: a restart, with theta and f; false: a step, with alpha and beta^H */
  PetscBool    twosided;
  PetscReal    rounding; /* of a product */
  PetscScalar *alpha, *betaH, *f;
  PetscReal   *theta;
} BlockRecurrenceStep;

/* The recurrence for some values of lambda, one a lane; in the arrays, the lane is the fastest index */
typedef struct {
  PetscReal    lambda[BLOCKLANCZOS_LANES], noise[BLOCKLANCZOS_LANES], reach[BLOCKLANCZOS_LANES];
  PetscBool    above[BLOCKLANCZOS_LANES]; /* the process has a Ritz value above lambda */
  PetscScalar *S, *G, *work;
} BlockRecurrenceValues;

typedef struct {
  PetscInt              q, w; /* number of random columns; width of the block made of them */
  PetscScalar          *R;    /* w x q */
  BlockRecurrenceStep  *step;
  PetscInt              nsteps, maxsteps, npoles;
  PetscInt              deflated;  /* number of directions that had been deflated before the last step */
  PetscInt              nextbound; /* the step before which the bound for all lambda is not computed again */
  PetscReal            *pole;      /* Ritz values that restarts have discarded, and room for the present ones */
  BlockRecurrenceValues watch;     /* updated in each step */
} BlockRecurrence;

typedef struct {
  PetscInt            bs;      /* block size; PETSC_DETERMINE: by the model in sizes.c */
  PetscReal           certify; /* the gap to prove, relative to the smallest value returned; 0: none; PETSC_DETERMINE: an estimate will do */
  SVDBlockLanczosForm form;
  PetscReal           nonzero;                         /* smallest values: up to this one they count as zero, and are not returned; 0: by rounding; PETSC_DETERMINE: they are returned */
  PetscBool           left;                            /* left vectors are stored */
  PetscBool           shortsteps;                      /* steps leave out the pass against the whole basis where they can */
  PetscBool           quiet;                           /* no warning: another solver uses this one */
  PetscBool           impltrans;                       /* SLEPc's flag before this type set it */
  PetscInt            auto_ncv, auto_mpd, auto_max_it; /* chosen by set-up, so that another set-up may choose again */
} BlockLanczosSettings;

/* How A and A^H are applied; see products.c */
typedef struct {
  BlockProduct forward, adjoint, adjointspare; /* results in krylov.W, Z and spare */
  BV           UC, V;                          /* of an operator A + U C V^H (MATLRC), from the first product on: the objects above multiply with A alone */
} BlockLanczosProducts;

/* The relation described above */
typedef struct {
  PetscBool    twosided;
  PetscInt     n;         /* length of the short side: the largest basis */
  PetscInt     bs, w;     /* allocated width of the blocks X, W, Z; present width of X */
  PetscInt     k, c0;     /* columns of V; first column where C is not zero */
  PetscInt     nlock;     /* leading columns that the projected problem leaves out */
  PetscInt     ld;        /* allocated columns of the basis: leading dimension of T and of the projected problem, columns of C */
  BV           X, Z, W;   /* the next block; the two products of a step: short, short, long */
  BV           spare;     /* alternates with Z: the next Z is computed while the last one may still be needed */
  BV           U;         /* left vectors: svd->U */
  PetscBool    wready;    /* W = A X, for the present X */
  PetscBool    zready;    /* Z = A^H W, for this W */
  PetscScalar *T, *C;     /* ld x ld; bs x ld with leading dimension bs */
  PetscReal   *dropped;   /* for each column of V, the part of its residual that X no longer holds */
  PetscReal    scale;     /* the matrix is multiplied by this in every product */
  PetscReal    anorm;     /* present lower bound of the norm of the operator: sigma_1^2 or sigma_1 */
  PetscReal    ceiling;   /* nothing is proved about singular values above this one, which are known to be equal up to a gap; 0: none */
  PetscReal    condition; /* products are rounded by eps times this times the norm of the matrix, relative to that norm, if this is more than usual */
} BlockLanczosKrylov;

/* See projected.c */
typedef struct {
  PetscBool    solved;    /* it is solved for the present columns of V */
  PetscScalar *Y, *P, *F; /* Ritz vectors of the short side, of the long side (two-sided), and C P or C Y */
  PetscScalar *tau;       /* A^H A form: P and tau hold the reflectors that transform Y to Ritz vectors */
  PetscInt     nritz;     /* the number of columns of Y that are Ritz vectors */
  PetscReal   *S, *res;   /* Ritz values, locked ones first, then in decreasing order; residual norms of the Ritz pairs */
  PetscBool   *converged; /* for each column */
  PetscScalar *work;
} BlockLanczosProjected;

/*
  Of the values returned n are above bound, and no other singular value is; this is false with a probability of at most chance. Until the end of a
  solve, bound is that of the operator on the complement of the leading n vectors, which SVDBlockLanczosCertificateEnd() corrects.
*/
typedef struct {
  PetscInt  n; /* PETSC_DECIDE: nothing is known */
  PetscReal bound, chance;
  PetscBool proved; /* otherwise it is an estimate */
} BlockLanczosCertificate;

/* Counts of one solve */
typedef struct {
  PetscInt steps, shortsteps, vectors, restarts, deflated, switches;
  PetscInt guards, guardvectors, copies;
} BlockLanczosCounts;

/* The least cut of a filter relative to the square of the norm: it has a degree of 1000 */
#define BLOCKLANCZOS_LEAST_LOW ((PetscReal)4e-6)

/* For the smallest values; see smallest/transform.c. The matrix is multiplied by scale. */
typedef struct {
  PetscObjectId       id; /* the matrix, its state, and the form that the following was made for */
  PetscObjectState    state;
  SVDBlockLanczosForm form;
  PetscBool           small, direct; /* LAPACK may be used; it is */
  PetscInt            n, N, rows;    /* rows of this process, and of all, of the short side; of this process, of B */
  Mat                 T, B;          /* the rows of A on each process; the operator */
  PetscBool           inverts;       /* B is an inverse; otherwise it is a filter */
  PetscBool           later;         /* whether a factor can be made is seen if the filter does not do */
  PetscBool           sharper;       /* a smaller shift is possible */
  SparseQR            qr;            /* the factor; NULL: a filter, or a KSP */
  PetscBool           normal;        /* qr is a Cholesky factor */
  Mat                 E, EH;         /* with a KSP or a Cholesky factor, see ksp.c */
  PetscBool           ofA, loose;    /* the KSP solves with A itself; it is not as accurate as it may be, so nothing is proved */
  PetscReal           inverse;       /* the largest norm of B x seen, for a unit vector x */
  double              entries;
  PetscInt            degree;                     /* of the filter; its interval, and the factor by which residuals of B have to be smaller than those of A by theory */
  PetscReal           low, high, strict, other;   /* other: if positive, the filter should be one for values up to this; negative: a factor should take its place */
  PetscReal           scale, norm, shift, sigma1; /* norm: of Frobenius; sigma1: the largest value, roughly */
  PetscReal           most;                       /* a bound of the norm without the scale; PETSC_MAX_REAL: unknown */
  PetscReal           zero, tau;                  /* values and residuals up to zero may be rounding; values up to tau count as zero */
  PetscInt            k;                          /* triplets that are removed from B: */
  PetscScalar        *V, *U;
  PetscInt            known; /* exactly so many values are below bound, with this chance to be wrong; PETSC_DECIDE: unknown */
  PetscReal           bound, chance;
  PetscBool           proved, exact; /* exact: there are no more zeros */
  PetscInt            zeros, bs;     /* number of values up to tau; block size of the last round */
} BlockLanczosSmallest;

typedef struct {
  BlockLanczosSettings    settings;
  BlockLanczosKrylov      krylov;
  BlockLanczosProjected   projected;
  BlockLanczosProducts    products;
  OmegaEstimate           omega;
  BlockHistory            history;
  BlockRecurrence         recurrence;
  BlockLanczosCertificate certificate;
  BlockLanczosCounts      counts;
  BlockLanczosSmallest    smallest;
  KSP                     ksp;    /* the user's, for the smallest values; NULL: none */
  BlockWorkspace          blocks; /* operations on blocks, and their scratch */
} SVD_BLOCKLANCZOS;

/* Rounding: residuals below this times the norm are meaningless */
#define BLOCKLANCZOS_NOISE (100 * PETSC_MACHINE_EPSILON)
/* A Cholesky factor is accurate enough if its smallest pivot is above this: the error eps / pivot^2 is then below sqrt(eps) */
#define BLOCKLANCZOS_PIVOT PetscSqrtReal(PetscSqrtReal(PETSC_MACHINE_EPSILON))

/* The power of two that scales a norm close to one, limited so that it and its inverse are finite */
static inline PetscReal SVDBlockLanczosPowerOfTwo(PetscReal norm)
{
  const PetscReal most = PetscPowReal(2, PetscFloorReal(PetscLog2Real(PETSC_MAX_REAL)) - 24);

  return norm > 1 / most ? PetscPowReal(2, -PetscFloorReal(PetscLog2Real(PetscMin(norm, PETSC_MAX_REAL)))) : most;
}

/* A singular value of the matrix from a value of the projected problem */
static inline PetscReal SVDBlockLanczosSigma(SVD svd, PetscReal s)
{
  const SVD_BLOCKLANCZOS *ctx = (const SVD_BLOCKLANCZOS *)svd->data;

  return (ctx->krylov.twosided ? s : PetscSqrtReal(PetscMax(s, 0))) / ctx->krylov.scale;
}

/* The rounding of a product relative to the norm of the operator: usual times eps, or what the operator itself is known to */
static inline PetscReal SVDBlockLanczosRounding(SVD svd, PetscReal usual)
{
  const BlockLanczosKrylov *krylov = &((const SVD_BLOCKLANCZOS *)svd->data)->krylov;

  return PETSC_MACHINE_EPSILON * PetscMax(usual, krylov->condition * (krylov->twosided ? krylov->anorm : PetscSqrtReal(krylov->anorm)) / krylov->scale);
}

/* The level below which a residual is rounding, in units of the projected problem */
static inline PetscReal SVDBlockLanczosNoise(SVD svd)
{
  const SVD_BLOCKLANCZOS *ctx = (const SVD_BLOCKLANCZOS *)svd->data;

  return SVDBlockLanczosRounding(svd, 100) * ctx->krylov.anorm;
}

/* The least width of the guard's block: the bound that a single vector would need is below rounding */
#define BLOCKLANCZOS_GUARD_WIDTH 2

PETSC_INTERN PetscErrorCode SVDCreate_BlockLanczos(SVD);
PETSC_INTERN PetscErrorCode SVDSolve_BlockLanczos(SVD);

/* sizes.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosChooseSizes(SVD, PetscInt *);
PETSC_INTERN PetscErrorCode SVDBlockLanczosCheckSizes(SVD, PetscInt, PetscInt);
PETSC_INTERN PetscInt64     SVDBlockLanczosBasisSize(PetscInt64, PetscInt64);
PETSC_INTERN PetscErrorCode SVDBlockLanczosEnlarge(SVD, PetscInt, PetscInt);

/* products.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosForward(SVD, BV, BV, PetscInt);
PETSC_INTERN PetscErrorCode SVDBlockLanczosAdjoint(SVD, BV, BV, PetscInt);
PETSC_INTERN PetscErrorCode SVDBlockLanczosResetProducts(SVD);
PETSC_INTERN PetscErrorCode SVDBlockLanczosGetRest(SVD, Mat *, PetscBool *);

/* reduce.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosReduceBegin(SVD, BlockReduction *);
PETSC_INTERN PetscErrorCode SVDBlockLanczosReduceEnd(SVD, BlockReduction *, PetscBool *);

/* orthogonality.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosOmegaBegin(SVD, PetscBool);
PETSC_INTERN PetscErrorCode SVDBlockLanczosOmegaPredict(SVD, const PetscScalar[], PetscBool *);
PETSC_INTERN PetscErrorCode SVDBlockLanczosOmegaEvaluate(SVD, const BlockReduction *, PetscBool *);
PETSC_INTERN PetscErrorCode SVDBlockLanczosOmegaUpdate(SVD, const BlockReduction *);
PETSC_INTERN PetscErrorCode SVDBlockLanczosGramBegin(SVD);
PETSC_INTERN PetscErrorCode SVDBlockLanczosRestoreOrthogonality(SVD, PetscInt, PetscBool *);

/* orthonormalize.c */
PETSC_INTERN PetscReal      SVDBlockLanczosDeflationTolerance(PetscInt, PetscReal);
PETSC_INTERN PetscErrorCode SVDBlockLanczosOrthonormalize(SVD, BV, PetscInt, BV, PetscInt, PetscInt, PetscReal *, PetscScalar[], PetscInt, PetscScalar[], PetscInt, PetscInt *);

/* step.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosStep(SVD);
PETSC_INTERN PetscErrorCode SVDBlockLanczosStartProducts(SVD);

/* projected.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosSolveProjected(SVD);
PETSC_INTERN PetscErrorCode SVDBlockLanczosTestConvergence(SVD, PetscReal, PetscReal, PetscBool, PetscReal, PetscReal *);
PETSC_INTERN PetscInt       SVDBlockLanczosCountConverged(SVD);
PETSC_INTERN PetscErrorCode SVDBlockLanczosConvergedFirst(SVD, PetscInt, PetscInt *);
PETSC_INTERN PetscErrorCode SVDBlockLanczosTruncate(SVD, PetscInt);

/* guard.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosGuard(SVD, PetscInt, PetscReal, PetscBool *);

/* recurrence.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosRecurrenceBegin(SVD, PetscInt, const PetscScalar[], PetscInt, const PetscReal[]);
PETSC_INTERN PetscErrorCode SVDBlockLanczosRecurrenceStep(SVD, PetscInt);
PETSC_INTERN PetscErrorCode SVDBlockLanczosRecurrenceRestart(SVD, PetscInt);
PETSC_INTERN PetscErrorCode SVDBlockLanczosRecurrenceNorm(SVD, PetscInt, PetscReal *);
PETSC_INTERN PetscErrorCode SVDBlockLanczosRecurrenceBound(SVD, PetscReal, PetscReal, PetscReal *);
PETSC_INTERN PetscErrorCode SVDBlockLanczosRecurrenceForget(SVD);

/* certificate.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosHistoryBegin(SVD, PetscInt, PetscInt, const PetscScalar[], PetscInt);
PETSC_INTERN PetscErrorCode SVDBlockLanczosHistoryAppend(SVD, PetscInt);
PETSC_INTERN PetscErrorCode SVDBlockLanczosHistoryForget(SVD);
PETSC_INTERN PetscErrorCode SVDBlockLanczosEstimate(SVD, PetscInt, PetscReal);
PETSC_INTERN PetscErrorCode SVDBlockLanczosCertifyByGuard(SVD, PetscInt, PetscReal, PetscReal, PetscBool *);
PETSC_INTERN void           SVDBlockLanczosCertifyComplete(SVD, PetscInt, PetscReal);
PETSC_INTERN PetscReal      SVDBlockLanczosCertifyNorm(SVD, PetscInt);
PETSC_INTERN PetscReal      SVDBlockLanczosCertifyLambda(SVD, PetscReal);
PETSC_INTERN void           SVDBlockLanczosCertificateForget(SVD);
PETSC_INTERN PetscErrorCode SVDBlockLanczosCertificateEnd(SVD, PetscInt, PetscInt);
PETSC_INTERN PetscReal      SVDBlockLanczosGap(SVD);
PETSC_INTERN PetscReal      SVDBlockLanczosFloor(SVD);
PETSC_INTERN PetscErrorCode SVDBlockLanczosWarn(SVD, PetscInt, PetscReal);

/* finish.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosFinish(SVD, PetscInt, PetscInt *);
PETSC_INTERN PetscErrorCode SVDBlockLanczosContinueTwoSided(SVD, PetscInt);

/* smallest/transform.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosSetUpSmallest(SVD);
PETSC_INTERN PetscErrorCode SVDBlockLanczosResetSmallest(SVD);
PETSC_INTERN PetscErrorCode SVDBlockLanczosRemove(SVD, PetscInt);
PETSC_INTERN PetscErrorCode SVDBlockLanczosSharpen(SVD, PetscReal, PetscBool *);
PETSC_INTERN PetscErrorCode SVDBlockLanczosFactorLater(SVD);
PETSC_INTERN PetscErrorCode SVDBlockLanczosSolveTriangular(SVD, PetscBool, PetscInt, PetscScalar[]);
PETSC_INTERN PetscReal      SVDBlockLanczosFromTransformed(SVD, PetscReal, PetscBool);
PETSC_INTERN PetscReal      SVDBlockLanczosFromResidual(SVD, PetscReal, PetscReal);
PETSC_INTERN PetscReal      SVDBlockLanczosToTransformed(SVD, PetscReal);

/* smallest/filter.c */
PETSC_INTERN void SVDBlockLanczosChooseFilter(SVD, PetscReal, PetscReal);

/* smallest/vectors.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosPurify(SVD, BV, PetscInt);
PETSC_INTERN PetscErrorCode SVDBlockLanczosCorrectLeft(SVD, PetscInt);

/* smallest/ksp.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosSetUpKSP(SVD);
PETSC_INTERN PetscErrorCode SVDBlockLanczosSolveKSP(SVD, PetscBool, PetscInt, const PetscScalar[], PetscScalar[]);
PETSC_INTERN PetscErrorCode SVDBlockLanczosAppendShift(SVD, Mat);

/* smallest/smallest.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosSolveSmallest(SVD);

/* left.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosRegisterLeft(void);
PETSC_INTERN PetscErrorCode SVDBlockLanczosAllocateLeft(SVD, PetscInt);
PETSC_INTERN PetscErrorCode SVDBlockLanczosComputeLeftLater(SVD, PetscReal);
PETSC_INTERN PetscErrorCode SVDBlockLanczosGiveBackLeft(SVD);

/* storage.c */
PETSC_INTERN PetscErrorCode SVDBlockLanczosSetSizes(SVD, PetscBool, PetscInt, BV);
PETSC_INTERN PetscErrorCode SVDBlockLanczosCreateBV(SVD, PetscBool, PetscInt, BV *);
PETSC_INTERN PetscErrorCode SVDBlockLanczosForgetOtherSizes(SVD);
PETSC_INTERN PetscErrorCode SVDBlockLanczosCopyColumns(BV, PetscInt, PetscInt, PetscInt, PetscBool, PetscScalar[]);
PETSC_INTERN PetscErrorCode SVDBlockLanczosAllocate(SVD, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode SVDReset_BlockLanczos(SVD);
