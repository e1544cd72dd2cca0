/*
  The certificate: down to which level, and with which probability, no singular value was missed.

  Let H be A^H A, V the basis with H V = V T + X C, and Omega = V W random columns of normal numbers with variance 1/n that the process was
  started from. Suppose H has an eigenvalue lambda beside those whose Ritz vectors were found; z is its eigenvector. The relation, times
  z^H from the left, gives z's components along the Ritz vectors V Y from those along X, x = X^H z:

    (z^H V Y)_i = x^H F_i / (lambda - theta_i),  F = C Y,     so that     z^H Omega = x^H sum_i F_i W_i / (lambda - theta_i),

  with W now in the coordinates of the Ritz vectors. z has length one, so x^H M x <= 1 with M = I + sum_i F_i F_i^H / (lambda - theta_i)^2, and

    |z^H Omega| <= N(lambda) / sqrt(n):    N is the norm of M^{-1/2} sum_i F_i W_i / (lambda - theta_i), times sqrt(n).

  For single vectors, N^2 / n is the largest mass that the moments of the process allow at lambda (Christoffel's function, the inverse of the
  sum of squares of the orthonormal polynomials): N falls as the polynomials grow, exponentially in the number of steps and faster
  the fewer eigenvalues lie close by. Nothing but the process itself enters, so that an easy spectrum needs few steps, where the bound of
  Kuczynski and Wozniakowski (SIAM J. Matrix Anal. Appl. 13, 1992), which holds for the worst one, asks for hundreds.

  At a restart the discarded Ritz vectors leave the sum: what they contribute is a multiple of the components of z along X, which joins the
  basis as its next block. So W gets rows for that block, which depend on lambda: the history keeps what is needed to compute them
  for any lambda.

  A fixed vector z has normal components in a random block, which are rarely as small as N. The guard draws a block after the values were found:
  z is then the leading eigenvector of H on the complement of what was found, which does not depend on the block, and the chance of a miss is
  that of q numbers, normal and independent, with a norm up to the bound that recurrence.c makes. Then H has no more eigenvalues above lambda than
  were found, by Cauchy's interlacing: whether these have converged does not matter.

  The first block was drawn before anything was found, and its own process found the values. There, clusters of r values found, closer
  together than their residuals allow to tell apart from lambda, stand for at least r + 1 eigenvalues if one is missed: the components of
  their eigenvectors are r + 1 rows of q normal numbers, which then lie within N of a space of r dimensions. So their smallest singular
  value is at most N sqrt(r + 1), for which Z. Chen and J. J. Dongarra (SIAM J. Matrix Anal. Appl. 27, 2005) bound the
  probability. A cluster of r = q values or more tells nothing: the guard has to.
*/
#include "blocklanczos.h"

/* The chance of a miss that a certificate may leave */
#define CHANCE 1e-10
/* Below this times rounding, in the quantity that a form computes, certificates end */
#define UNRESOLVED 1e5
/* Memory that the history may take; a longer one is forgotten, and the guard makes one of its own */
#define HISTORY_BYTES ((size_t)1 << 27)
/* For how many values of lambda between the level and what is far above all values bounds are computed */
#define NPOINTS 8
/* How many times a bound is left to found vectors at most, in search of the best chance: a larger part makes clusters smaller */
#define MAX_SHARE 1e7

/* The solved projected problem of a cycle: all that the history needs of it */
struct _n_BlockCycle {
  PetscInt     k, l, p, w; /* columns, of which l are locked and p stay; the block's width */
  PetscInt     turned;     /* leading columns of Y that are Ritz vectors; Q has still to be applied to the others */
  PetscBool    twosided;
  PetscReal    rounding;         /* of a product */
  PetscReal   *theta, *residual; /* of columns l .. k-1, as eigenvalues of A^H A */
  PetscScalar *Q, *tau, *Y, *F;
  size_t       bytes;
};

static PetscErrorCode CycleDestroy(BlockCycle *c)
{
  PetscFunctionBegin;
  if (!*c) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree6((*c)->theta, (*c)->residual, (*c)->Q, (*c)->tau, (*c)->Y, (*c)->F));
  PetscCall(PetscFree(*c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SVDBlockLanczosHistoryForget(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockHistory     *h   = &ctx->history;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < h->ncycles; i++) PetscCall(CycleDestroy(&h->cycle[i]));
  PetscCall(PetscFree(h->cycle));
  PetscCall(PetscFree(h->R));
  PetscCall(PetscArrayzero(h, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SVDBlockLanczosHistoryBegin - Random columns have been drawn for the next block

   Input Parameters:
+  first, last - these of the columns B that were made orthonormal to the basis and among each other are random
-  R           - the coefficients B = X R + ... that came of it, with leading dimension ldr
*/
PetscErrorCode SVDBlockLanczosHistoryBegin(SVD svd, PetscInt first, PetscInt last, const PetscScalar R[], PetscInt ldr)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockHistory     *h   = &ctx->history;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosHistoryForget(svd));
  h->q = last - first;
  h->k = ctx->krylov.k;
  h->w = ctx->krylov.w;
  PetscCall(PetscMalloc1(h->w * h->q, &h->R));
  for (PetscInt j = 0; j < h->q; j++) PetscCall(PetscArraycpy(h->R + j * h->w, R + (first + j) * ldr, h->w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The projected problem as it is now, of which p columns are to stay */
static PetscErrorCode CycleCreate(SVD svd, PetscInt p, BlockCycle *cycle)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    l = ctx->krylov.nlock, ka = ctx->krylov.k - l, w = ctx->krylov.w, nq = ctx->projected.nritz < ka ? ka * ka : 0;
  BlockCycle        c;

  PetscFunctionBegin;
  PetscCall(PetscNew(cycle));
  c           = *cycle;
  c->k        = ctx->krylov.k;
  c->l        = l;
  c->p        = p;
  c->w        = w;
  c->turned   = ctx->projected.nritz;
  c->twosided = ctx->krylov.twosided;
  c->rounding = 4 * PETSC_MACHINE_EPSILON * ctx->krylov.anorm;
  c->bytes    = ((size_t)nq + (size_t)ka * (ka + w + 3)) * sizeof(PetscScalar);
  PetscCall(PetscMalloc6(ka, &c->theta, ka, &c->residual, nq, &c->Q, ka, &c->tau, ka * ka, &c->Y, ka * w, &c->F));
  for (PetscInt j = 0; j < ka; j++) {
    const PetscReal s = ctx->projected.S[l + j], factor = ctx->krylov.twosided ? s : 1;

    c->theta[j]    = factor * s;
    c->residual[j] = factor * ctx->projected.res[l + j];
    for (PetscInt i = 0; i < w; i++) c->F[i + j * w] = factor * ctx->projected.F[i + j * ctx->krylov.bs];
    PetscCall(PetscArraycpy(c->Y + j * ka, ctx->projected.Y + j * ctx->krylov.ld, ka));
    if (nq) PetscCall(PetscArraycpy(c->Q + j * ka, ctx->projected.P + j * ctx->krylov.ld, ka));
  }
  if (nq) PetscCall(PetscArraycpy(c->tau, ctx->projected.tau, ka));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Before a restart that keeps p columns, whose Ritz vectors have been made */
PetscErrorCode SVDBlockLanczosHistoryAppend(SVD svd, PetscInt p)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockHistory     *h   = &ctx->history;

  PetscFunctionBegin;
  if (!h->q) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->ncycles == h->maxcycles) {
    h->maxcycles = PetscMax(16, 2 * h->maxcycles);
    PetscCall(PetscRealloc(h->maxcycles * sizeof(*h->cycle), &h->cycle));
  }
  PetscCall(CycleCreate(svd, p, &h->cycle[h->ncycles]));
  h->bytes += h->cycle[h->ncycles++]->bytes;
  if (h->bytes > HISTORY_BYTES) {
    PetscCall(PetscInfo(svd, "the history of %" PetscInt_FMT " restarts is forgotten: it takes %g MB\n", h->ncycles, h->bytes / 1e6));
    PetscCall(SVDBlockLanczosHistoryForget(svd));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  W^H of n rows, q for each lambda, from coordinates in the basis of a cycle to those in its Ritz vectors. The first ncols columns may
  differ from zero. Locked columns are Ritz vectors already.
*/
static PetscErrorCode TurnToRitz(const BlockCycle c, PetscInt n, PetscInt ncols, const PetscScalar W[], PetscScalar Z[])
{
  const PetscInt     l = c->l, ka = c->k - l;
  const PetscScalar *V = W + l * n;
  PetscScalar       *VQ;

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(Z, W, l * n));
  PetscCall(SmallMultiply("N", "N", n, c->turned, ncols - l, 1.0, V, n, c->Y, ka, 0.0, Z + l * n, n));
  if (c->turned == ka) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n * ka, &VQ));
  PetscCall(PetscArraycpy(VQ, V, n * (ncols - l)));
  PetscCall(PetscArrayzero(VQ + n * (ncols - l), n * (c->k - ncols)));
  PetscCall(SmallApplyReflectors("R", ka, n, c->Q, ka, c->tau, VQ, n));
  PetscCall(SmallMultiply("N", "N", n, ka - c->turned, ka, 1.0, VQ, n, c->Y + c->turned * ka, ka, 0.0, Z + (l + c->turned) * n, n));
  PetscCall(PetscFree(VQ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  For one lambda adds to H, which is q x w, the sum over the columns from p on of W_i^H F_i^H / (lambda - theta_i). noise
  becomes no less than what rounding in the relation makes of its entries. All leading dimensions are ld.
*/
static void AddDiscarded(const BlockCycle c, PetscInt q, const PetscScalar Z[], PetscInt ld, PetscReal lambda, PetscScalar H[], PetscReal *noise)
{
  /* in the two-sided form A and A^H are rounded, not their product: the error of an eigenvalue is 2 sigma times that of sigma */
  const PetscReal rounding = c->rounding * (c->twosided ? 2 * PetscSqrtReal(lambda) : 1);

  for (PetscInt m = c->p; m < c->k; m++) {
    const PetscScalar *F = c->F + (m - c->l) * c->w, *z = Z + m * ld;
    const PetscReal    d = lambda - c->theta[m - c->l];

    if (d <= 0.0) *noise = PETSC_MAX_REAL; /* nothing is known where a discarded value may be that of z */
    for (PetscInt b = 0; b < c->w && d > 0.0; b++)
      for (PetscInt j = 0; j < q; j++) H[j + b * ld] += z[j] * PetscConj(F[b]) / d;
    for (PetscInt j = 0; j < q; j++) *noise = PetscMax(*noise, d > 0.0 ? PetscAbsScalar(z[j]) * rounding / d : 0.0);
  }
}

/* The bound N of the last cycle, for one lambda; H is q x w, the sum of AddDiscarded() */
static PetscErrorCode BoundNorm(const BlockCycle c, PetscInt q, const PetscScalar H[], PetscInt ldh, PetscReal lambda, PetscReal noise, PetscReal *N)
{
  const PetscInt w = c->w;
  PetscScalar   *M, *G;
  PetscReal      pivot;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(w * w, &M, q * w, &G));
  PetscCall(PetscArrayzero(M, w * w));
  for (PetscInt b = 0; b < w; b++) M[b + b * w] = 1.0;
  for (PetscInt m = c->p; m < c->k; m++) {
    const PetscScalar *F = c->F + (m - c->l) * w;
    const PetscReal    d = lambda - c->theta[m - c->l];

    for (PetscInt b = 0; b < w; b++)
      for (PetscInt a = 0; a <= b; a++) M[a + b * w] += (F[a] / d) * (PetscConj(F[b]) / d);
  }
  PetscCall(SmallCholesky(w, M, w, &pivot));
  if (pivot > 0.0) {
    /* the norm of U^-H H^H, with M = U^H U, is that of H U^-1 */
    PetscCall(SmallInvertUpper(w, M, w));
    PetscCall(SmallMultiply("N", "N", q, w, w, 1.0, H, ldh, M, w, 0.0, G, q));
    *N = PetscSqrtReal(SmallAddSquares(0.0, q * w, G)) + PetscMax(noise, PETSC_MACHINE_EPSILON) * PetscSqrtReal((PetscReal)q);
  } else *N = PETSC_MAX_REAL;
  PetscCall(PetscFree2(M, G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  W^H from one cycle to the next: on return Z has its columns in Ritz vectors, of which those up to p stay, and H the columns of the block that
  follows. A block that has not joined the basis of this cycle, since it ended before a step, still adds its own columns.
*/
static PetscErrorCode PassCycle(const BlockCycle c, PetscInt q, PetscInt n, const PetscReal lambda[], PetscInt ncols, const PetscScalar W[], PetscScalar Z[], PetscScalar H[], PetscReal noise[])
{
  const PetscInt rows = n * q;

  PetscFunctionBegin;
  PetscCall(TurnToRitz(c, rows, PetscMin(ncols, c->k), W, Z));
  PetscCall(PetscArrayzero(H, rows * c->w));
  if (ncols > c->k) PetscCall(PetscArraycpy(H, W + c->k * rows, rows * PetscMin(c->w, ncols - c->k)));
  for (PetscInt j = 0; j < n; j++) AddDiscarded(c, q, Z + j * q, rows, lambda[j], H + j * q, &noise[j]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The bounds N, relative to the standard deviation of a normal component, for n values of lambda, after the history and the last cycle;
  and W^H, q rows for each lambda, of the columns that stay in that cycle.
*/
static PetscErrorCode Bounds(SVD svd, const BlockCycle last, PetscInt n, const PetscReal lambda[], PetscReal N[], PetscScalar Z[])
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockHistory     *h   = &ctx->history;
  const PetscInt    q = h->q, rows = n * q;
  PetscInt          ncols = h->k + h->w, len;
  PetscScalar      *W, *H;
  PetscReal         scale;

  PetscFunctionBegin;
  PetscCall(BVGetSizes(svd->V, NULL, &len, NULL));
  scale = PetscSqrtReal((PetscReal)len);
  PetscCall(PetscMalloc2(rows * (ctx->krylov.ld + ctx->krylov.bs), &W, rows * ctx->krylov.bs, &H));
  PetscCall(PetscArrayzero(W, rows * h->k));
  for (PetscInt b = 0; b < h->w; b++)
    for (PetscInt i = 0; i < rows; i++) W[i + (h->k + b) * rows] = scale * PetscConj(h->R[b + (i % q) * h->w]);
  PetscCall(PetscArrayzero(N, n));
  for (PetscInt i = 0; i < h->ncycles; i++) {
    const BlockCycle c = h->cycle[i];

    PetscCall(PassCycle(c, q, n, lambda, ncols, W, Z, H, N));
    PetscCall(PetscArraycpy(W, Z, rows * c->p));
    PetscCall(PetscArraycpy(W + rows * c->p, H, rows * c->w));
    ncols = c->p + c->w;
  }
  PetscCall(PassCycle(last, q, n, lambda, ncols, W, Z, H, N));
  for (PetscInt j = 0; j < n; j++) {
    if (N[j] < PETSC_MAX_REAL) PetscCall(BoundNorm(last, q, H + j * q, rows, lambda[j], N[j], &N[j]));
    if (PetscIsInfOrNanReal(N[j])) N[j] = PETSC_MAX_REAL;
  }
  PetscCall(PetscFree2(W, H));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The logarithm of a bound of the probability that p x q independent normal numbers, p <= q, have a singular value of s or less */
static PetscReal LogChance(PetscInt p, PetscInt q, PetscReal s)
{
  const double e = (double)(q - p + 1);
  double       c;

  if (PetscDefined(USE_COMPLEX)) c = lgamma(q + 1.0) - lgamma(p) - lgamma(e) - lgamma(e + 1) - log(e) + 2 * e * log((double)s);
  else c = (q - p - 1) / 2.0 * log(2.0) + lgamma((q + 1) / 2.0) - lgamma(p / 2.0) - lgamma(e) + log(2 / e) + e * log((double)s);
  return (PetscReal)c;
}

/*
  How many singular values of q x n numbers are above N: all, if they are not finite, as after many restarts they may be where N is large. There are
  no more than n, whatever rounding makes of the eigenvalues of q x q products, whose roots it keeps above 10^-8 of the largest one.
*/
static PetscErrorCode CountAbove(PetscInt q, PetscInt n, const PetscScalar Z[], PetscInt ldz, PetscReal N, PetscInt *rank)
{
  PetscScalar *G, *tau, *Y, *work;
  PetscReal   *lambda, trace = 0.0;

  PetscFunctionBegin;
  *rank = q;
  for (PetscInt j = 0; j < n; j++) trace = SmallAddSquares(trace, q, Z + j * ldz);
  if (PetscIsInfOrNanReal(trace)) PetscFunctionReturn(PETSC_SUCCESS);
  if (n == 1) { /* most values are clusters of their own: no eigenvalues are needed */
    *rank = trace > PetscSqr(N) ? 1 : 0;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc5(q * q, &G, q, &tau, q * q, &Y, SMALL_EIGEN_WORK(q), &work, q, &lambda));
  PetscCall(SmallMultiply("N", "C", q, q, n, 1.0, Z, ldz, Z, ldz, 0.0, G, q));
  PetscCall(SmallHermitianEigen(q, G, q, lambda, tau, Y, q, work));
  for (*rank = 0; *rank < PetscMin(q, n) && lambda[*rank] > PetscSqr(N);) (*rank)++;
  PetscCall(PetscFree5(G, tau, Y, work, lambda));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bounds for some values of lambda, and W^H there */
typedef struct {
  PetscInt     n, q;
  PetscReal   *lambda, *N; /* n each */
  PetscScalar *Z;          /* n q rows */
} BoundsAt;

/* The norm of row m of W, for lambda number i */
static PetscReal Weight(const BoundsAt *at, PetscInt i, PetscInt m)
{
  return PetscSqrtReal(SmallAddSquares(0.0, at->q, at->Z + i * at->q + m * at->n * at->q));
}

/*
  The logarithm of the chance that an eigenvalue in a cluster, columns [first, last) and all of [low, high], was missed. Components along other
  found vectors are bounded by their residuals and distances.
*/
static PetscErrorCode ChanceInCluster(const BlockCycle c, const BoundsAt *at, PetscInt least, PetscInt first, PetscInt last, PetscReal low, PetscReal high, PetscReal *chance)
{
  PetscInt  i = least, rank = 0;
  PetscReal N;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < at->n; j++) {
    if (at->lambda[j] <= low && at->lambda[j] > at->lambda[i]) i = j;
  }
  N = at->N[i];
  for (PetscInt m = c->l; m < c->p; m++) {
    if (m < first || m >= last) N += Weight(at, i, m) * c->residual[m - c->l] / PetscMax(c->theta[m - c->l] - high, low - c->theta[m - c->l]);
  }
  *chance = 0.0;
  if (!(N < PETSC_MAX_REAL)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CountAbove(at->q, last - first, at->Z + i * at->q + first * at->n * at->q, at->n * at->q, N, &rank));
  if (rank < at->q) *chance = LogChance(rank + 1, at->q, N * PetscSqrtReal((PetscReal)(rank + 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The logarithm of the chance that an eigenvalue of lambda number i or more was missed. Found columns are the first p of the cycle; noise is
  the rounding of values. Farther from its value than its reach, a found vector contributes less than its share of (share - 1) N.
*/
static PetscErrorCode ChanceOfMiss(const BlockCycle c, const BoundsAt *at, PetscInt i, PetscReal noise, PetscReal share, PetscReal *chance)
{
  PetscReal worst = LogChance(1, at->q, share * at->N[i]);

  PetscFunctionBegin;
  *chance = worst;
  for (PetscInt first = c->l, next; first < c->p; first = next) {
    PetscReal low = PETSC_MAX_REAL, high = 0.0, this = 0.0;

    for (next = first; next < c->p; next++) {
      const PetscReal theta = c->theta[next - c->l], reach = c->p * Weight(at, i, next) * c->residual[next - c->l] / ((share - 1) * at->N[i]) + noise;

      if (next > first && theta + reach < low) break;
      low  = PetscMin(low, theta - reach);
      high = PetscMax(high, theta + reach);
    }
    if (high < at->lambda[i]) continue;
    PetscCall(ChanceInCluster(c, at, i, first, next, low, high, &this));
    worst = PetscMax(worst, this);
  }
  /* the vector, or the first one of a cluster of so many, may be any of those wanted and the next */
  *chance = worst + PetscLogReal((PetscReal)(at->q + 1) * (c->p + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Above which value a bound can be certified: below it values cannot be told from zero, by the tolerance or by rounding */
PetscReal SVDBlockLanczosFloor(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx  = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscReal   unit = UNRESOLVED * PETSC_MACHINE_EPSILON;

  /* of a matrix of zeros, whatever is above underflow */
  if (ctx->krylov.anorm == 0.0) return PetscPowReal(PETSC_MAX_REAL, (PetscReal)-0.4);
  return PetscMax(svd->tol, ctx->krylov.twosided ? unit : PetscSqrtReal(unit)) * SVDBlockLanczosSigma(svd, ctx->krylov.anorm);
}

/* A bound above which values are to be excluded, as an eigenvalue of what is iterated with */
PetscReal SVDBlockLanczosCertifyLambda(SVD svd, PetscReal bound)
{
  return PetscSqr(((SVD_BLOCKLANCZOS *)svd->data)->krylov.scale * PetscMax(bound, SVDBlockLanczosFloor(svd)));
}

static void SetCertificate(SVD svd, PetscInt n, PetscReal bound, PetscReal chance)
{
  BlockLanczosCertificate *certificate = &((SVD_BLOCKLANCZOS *)svd->data)->certificate;

  certificate->n      = n;
  certificate->bound  = bound;
  certificate->chance = chance;
}

/* Nothing is certain, or no longer */
void SVDBlockLanczosCertificateForget(SVD svd)
{
  SetCertificate(svd, PETSC_DECIDE, PETSC_INFINITY, 1.0);
}

/* How large the components of a fixed vector in q random columns are but for the chance that a certificate may leave */
PetscReal SVDBlockLanczosCertifyNorm(PetscInt q)
{
  const PetscReal one = LogChance(1, q, 1);

  return PetscExpReal((PetscLogReal((PetscReal)CHANCE) - one) / (LogChance(1, q, PetscExpReal(1)) - one));
}

/*
   SVDBlockLanczosCertifyByGuard - Whether the guard's process excludes that values above a level were missed

   Input Parameters:
+  nw    - the columns that count as found, which are locked
.  level - the smallest value found
-  gap   - relative to the level: is there none above level (1 + gap)?

   Output Parameter:
.  certain - there is none, but for a chance

   Note:
   The projected problem must be solved. What is certain is kept in the state.
*/
PetscErrorCode SVDBlockLanczosCertifyByGuard(SVD svd, PetscInt nw, PetscReal level, PetscReal gap, PetscBool *certain)
{
  SVD_BLOCKLANCZOS *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    q      = ctx->recurrence.q;
  const PetscReal   lambda = SVDBlockLanczosCertifyLambda(svd, level * (1 + gap)), most = SVDBlockLanczosCertifyNorm(q);
  PetscReal         norm;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosRecurrenceBound(svd, lambda, most, &norm));
  *certain = (PetscBool)(norm <= most);
  if (*certain) SetCertificate(svd, nw, PetscSqrtReal(lambda) / ctx->krylov.scale, PetscExpReal(LogChance(1, q, norm)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values that rounding cannot tell apart are one cluster; with as many as random columns, which tell nothing then */
static PetscBool HasLargeCluster(SVD svd, PetscInt nw)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscReal   noise = SVDBlockLanczosNoise(svd);

  for (PetscInt i = 1, run = 1; i < nw; i++) {
    run = ctx->projected.S[i - 1] - ctx->projected.S[i] <= noise ? run + 1 : 1;
    if (run >= ctx->history.q) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/*
  Values of lambda from the least one on, to far above the largest Ritz value: distances to the largest of those that are not found grow
  geometrically, as the process' polynomials do.
*/
static void PlacePoints(const BlockCycle c, PetscReal least, PetscInt n, PetscReal lambda[])
{
  const PetscReal theta = c->p < c->k ? c->theta[c->p - c->l] : 0.0, first = PetscMax(least - theta, PETSC_SQRT_MACHINE_EPSILON * least), ratio = PetscPowReal((4 * PetscMax(c->theta[0], least) - theta) / first, (PetscReal)1 / n);

  for (PetscInt i = 0; i < n; i++) lambda[i] = theta + first * PetscPowReal(ratio, (PetscReal)(i + 1));
}

/* Each bound becomes one for all that is above: the process' usually fall as lambda grows, but need not */
static void MakeMonotone(BoundsAt *at)
{
  for (PetscInt i = 0; i < at->n; i++)
    for (PetscInt j = 0; j < at->n; j++)
      if (at->lambda[j] > at->lambda[i]) at->N[i] = PetscMax(at->N[i], at->N[j]);
}

/* What the process that found the leading nw values says of others above them; complete says that the basis spans the space */
PetscErrorCode SVDBlockLanczosCertify(SVD svd, PetscInt nw, PetscReal level, PetscBool complete)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscReal   noise = SVDBlockLanczosNoise(svd) * (ctx->krylov.twosided ? 2 * ctx->krylov.anorm : 1), gap[] = {4 * ctx->settings.certify, ctx->settings.certify};
  const PetscInt    ngaps = PETSC_STATIC_ARRAY_LENGTH(gap);
  BlockCycle        c;
  BoundsAt          at;
  PetscInt          n = 0;

  PetscFunctionBegin;
  if (complete) {
    SetCertificate(svd, nw, level, 0.0);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!ctx->history.q || ctx->krylov.nlock || HasLargeCluster(svd, nw)) {
    PetscCall(PetscInfo(svd, "the process itself certifies nothing\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(CycleCreate(svd, nw, &c));
  at.n = ngaps + NPOINTS;
  at.q = ctx->history.q;
  PetscCall(PetscMalloc3(at.n, &at.lambda, at.n, &at.N, at.n * at.q * (ctx->krylov.ld + ctx->krylov.bs), &at.Z));
  for (PetscInt i = 0; i < ngaps; i++) at.lambda[i] = SVDBlockLanczosCertifyLambda(svd, level * (1 + gap[i]));
  PlacePoints(c, at.lambda[ngaps - 1], NPOINTS, at.lambda + ngaps);
  PetscCall(Bounds(svd, c, at.n, at.lambda, at.N, at.Z));
  MakeMonotone(&at);
  for (; n < ngaps; n++) {
    PetscReal best = 0.0, chance;

    for (PetscReal share = 2; share < MAX_SHARE && share * at.N[n] < 1.0; share *= 4) {
      PetscCall(ChanceOfMiss(c, &at, n, noise, share, &chance));
      best = PetscMin(best, chance);
    }
    if (best > PetscLogReal((PetscReal)CHANCE)) break;
    SetCertificate(svd, nw, PetscSqrtReal(at.lambda[n]) / ctx->krylov.scale, PetscExpReal(best));
  }
  PetscCall(PetscFree3(at.lambda, at.N, at.Z));
  PetscCall(CycleDestroy(&c));
  if (n) PetscCall(PetscInfo(svd, "the process itself certifies that no more than %" PetscInt_FMT " values are above %g (1 + %g), probability 1 - %g\n", nw, (double)level, (double)gap[n - 1], (double)ctx->certificate.chance));
  else PetscCall(PetscInfo(svd, "the process itself certifies nothing\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says on the first process what is not certain */
PetscErrorCode SVDBlockLanczosWarn(SVD svd, PetscInt nw, PetscReal level)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  char              what[64];

  PetscFunctionBegin;
  if (ctx->certificate.n >= 0 && ctx->certificate.n <= nw) PetscCall(PetscSNPrintf(what, sizeof(what), "down to a relative gap of %.2g only", (double)(ctx->certificate.bound / level - 1)));
  else PetscCall(PetscSNPrintf(what, sizeof(what), "not at all"));
  PetscCall(PetscFPrintf(PetscObjectComm((PetscObject)svd), PETSC_STDERR, "SVD blocklanczos: that no value above the smallest of the %" PetscInt_FMT " found, %g, was missed is certified %s, not %g: see -svd_blocklanczos_effort\n", nw, (double)level,
                         what, (double)ctx->settings.certify));
  PetscFunctionReturn(PETSC_SUCCESS);
}
