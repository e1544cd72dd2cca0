/*
  How many singular values are above which bound. There are two answers.

  The guard's is proved (guard.c, recurrence.c). It bounds the largest eigenvalue of A^H A on the complement of the vectors found, and from
  the measured residuals of these vectors it follows how many singular values A has above a bound, see Raise().

  The process's own is an estimate. It costs no product and says whether a guard is needed. Let H be A^H A, V the basis with H V = V T + X C, and
  Omega = V W the random columns, of normal numbers with variance 1/n, that the process was started from. Suppose H has an eigenvalue lambda
  other than those whose Ritz vectors were found; z is its unit eigenvector. The relation, times z^H from the left, gives z's components along the
  Ritz vectors V Y from those along X, x = X^H z:

    (z^H V Y)_i = x^H F_i / (lambda - theta_i),  F = C Y,     so that     z^H Omega = x^H sum_i F_i W_i / (lambda - theta_i),

  with W now in the coordinates of the Ritz vectors. z has length one, so x^H M x <= 1 with M = I + sum_i F_i F_i^H / (lambda - theta_i)^2, and

    |z^H Omega| <= N(lambda) / sqrt(n):    N is the norm of M^{-1/2} sum_i F_i W_i / (lambda - theta_i), times sqrt(n).

  For single vectors N^2 is Christoffel's function. N falls exponentially in the number of steps, and faster if fewer eigenvalues are close to lambda.

  At a restart the discarded Ritz vectors leave the sum. Their contribution is a multiple, which depends on lambda, of the components of z
  along X, and X joins the basis as its next block. So W gets rows for that block that depend on lambda; the history keeps what is needed to
  compute them for any lambda.

  A fixed vector z has normal components in a random block, which are rarely as small as N. But the first block was drawn before anything was
  found, and its own process found the values. Consider a cluster of r values found that their residuals do not separate from lambda. If one is
  missed, there are at least r + 1 eigenvalues. The components of their eigenvectors are r + 1 rows of q normal numbers, which lie within N of the
  row space of W's r rows for the cluster. If only `rank` of the singular values of these rows are above N, the others are within N of zero, so that
  the smallest singular value of rank + 1 of the normal rows is at most N (sqrt(rank + 1) + 1). Z. Chen and J. J. Dongarra (SIAM J. Matrix
  Anal. Appl. 27, 2005) bound the probability of this. For a cluster of r = q values or more nothing follows.

  If what is not random has been added to Omega, as combinations of the user's vectors are, then z^H Omega, or the rows above, have another mean than zero. That they
  are as small as N becomes no more likely for one row (Anderson), and for several by a small constant factor.

  This is an estimate, since N is evaluated at some values of lambda only, and since after restarts the rows of W differ from one lambda to another.
*/
#include "blocklanczos.h"

/* The largest chance that what a solve says is false */
#define CHANCE 1e-10
/* Nothing is said of values below this times rounding; values are sigma or sigma^2, what the form computes */
#define UNRESOLVED 1e5
/* Largest size of the history in bytes; a larger one is dropped, and a guard is needed */
#define HISTORY_BYTES ((size_t)1 << 27)
/* The gap unless the user sets one */
#define DEFAULT_GAP ((PetscReal)1e-3)
/* The number of values of lambda, from the level to far above all values, for which bounds are computed */
#define NPOINTS 8
/* The largest share that is tried, see ChanceOfMiss(): a larger share makes clusters smaller, and the bound N of the others larger */
#define MAX_SHARE 1e7

/* The solved projected problem of a cycle, as far as the history needs it */
struct _n_BlockCycle {
  PetscInt     k, l, p, w; /* columns, of which l are locked and p stay; the block's width */
  PetscInt     turned;     /* number of leading columns of Y that are Ritz vectors; Q has still to be applied to the others */
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
   SVDBlockLanczosHistoryBegin - Starts the history, after random columns have been drawn for the next block

   Input Parameters:
+  first, last - columns [first, last) of the block B that became X are random
-  R           - the coefficients B = X R + a part in the basis, with leading dimension ldr
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

/* Stores the present projected problem; the restart keeps p columns */
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
  c->rounding = SVDBlockLanczosRounding(svd, 4) * ctx->krylov.anorm;
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

/* Called before a restart that keeps p columns, whose Ritz vectors have been made */
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
  Transforms W^H, n rows (q for each lambda), from the basis of a cycle to its Ritz vectors. Only the first ncols columns may be nonzero.
  Locked columns are Ritz vectors already.
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
  For one lambda, adds the sum over columns i >= p of W_i^H F_i^H / (lambda - theta_i) to H, which is q x w. Raises noise to at least the
  error of the entries of H by rounding in the relation. All leading dimensions are ld.
*/
static void AddDiscarded(const BlockCycle c, PetscInt q, const PetscScalar Z[], PetscInt ld, PetscReal lambda, PetscScalar H[], PetscReal *noise)
{
  /* in the two-sided form products with A and A^H are rounded: the error of an eigenvalue is 2 sigma times that of sigma */
  const PetscReal rounding = c->rounding * (c->twosided ? 2 * PetscSqrtReal(lambda) : 1);

  for (PetscInt m = c->p; m < c->k; m++) {
    const PetscScalar *F = c->F + (m - c->l) * c->w, *z = Z + m * ld;
    const PetscReal    d = lambda - c->theta[m - c->l];

    if (d <= 0.0) *noise = PETSC_MAX_REAL; /* no bound: the discarded value may be that of z */
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
  Passes W^H from one cycle to the next: on return Z has the columns for the Ritz vectors, of which the first p are kept, and H those for the
  next block. If this block was in W already, since it has not joined the basis in this cycle, its columns are added.
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
  From the history and the last cycle: the bounds N for n values of lambda, relative to the standard deviation of a normal component, and
  W^H, q rows for each lambda, of the columns that the last cycle keeps.
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

/*
  The number of singular values of a q x n matrix that are above N; all of them if the matrix is not finite, as may happen after many restarts
  where N is large. They are the roots of eigenvalues of a q x q product. Rounding makes all of these roots some 10^-8 of the largest one or
  more, but no more than n are counted.
*/
static PetscErrorCode CountAbove(PetscInt q, PetscInt n, const PetscScalar Z[], PetscInt ldz, PetscReal N, PetscInt *rank)
{
  PetscScalar *G, *tau, *Y, *work;
  PetscReal   *lambda, trace = 0.0;

  PetscFunctionBegin;
  *rank = q;
  for (PetscInt j = 0; j < n; j++) trace = SmallAddSquares(trace, q, Z + j * ldz);
  if (PetscIsInfOrNanReal(trace)) PetscFunctionReturn(PETSC_SUCCESS);
  if (n == 1) { /* the usual case, a cluster of one value: no eigenvalues are needed */
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

/* Bounds for some values of lambda, with W^H for these */
typedef struct {
  PetscInt     n, q;
  PetscReal   *lambda, *N; /* n each */
  PetscScalar *Z;          /* n q rows */
} BoundsAt;

/* The norm of row m of W for lambda[i] */
static PetscReal Weight(const BoundsAt *at, PetscInt i, PetscInt m)
{
  return PetscSqrtReal(SmallAddSquares(0.0, at->q, at->Z + i * at->q + m * at->n * at->q));
}

/*
  The logarithm of the chance that an eigenvalue in a cluster was missed. The cluster is columns [first, last), its eigenvalues are in
  [low, high]. Components along other vectors found are bounded by their residuals and distances.
*/
static PetscErrorCode ChanceInCluster(const BlockCycle c, const BoundsAt *at, PetscInt first, PetscInt last, PetscReal low, PetscReal high, PetscReal *chance)
{
  PetscInt  i = 0, rank = 0;
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
  if (rank < at->q) *chance = SmallLogChance(rank + 1, at->q, N * (PetscSqrtReal((PetscReal)(rank + 1)) + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The logarithm of the chance that an eigenvalue of lambda[0] or more was missed. The vectors found are the first p columns of the cycle;
  noise is the rounding of values. The reach of each vector found is chosen such that all vectors whose values are farther than their reach
  from the missed eigenvalue contribute less than (share - 1) N together; the others belong to its cluster.
*/
static PetscErrorCode ChanceOfMiss(const BlockCycle c, const BoundsAt *at, PetscReal noise, PetscReal share, PetscReal *chance)
{
  PetscReal worst = SmallLogChance(1, at->q, share * at->N[0]);

  PetscFunctionBegin;
  *chance = worst;
  for (PetscInt first = c->l, next; first < c->p; first = next) {
    PetscReal low = PETSC_MAX_REAL, high = 0.0, this = 0.0;

    for (next = first; next < c->p; next++) {
      const PetscReal theta = c->theta[next - c->l], reach = c->p * Weight(at, 0, next) * c->residual[next - c->l] / ((share - 1) * at->N[0]) + noise;

      if (next > first && theta + reach < low) break;
      low  = PetscMin(low, theta - reach);
      high = PetscMax(high, theta + reach);
    }
    if (high < at->lambda[0]) continue;
    PetscCall(ChanceInCluster(c, at, first, next, low, high, &this));
    worst = PetscMax(worst, this);
  }
  /* the union bound: the position of the missed vector, or of the first one of its cluster, and the size of the cluster are not known */
  *chance = worst + PetscLogReal((PetscReal)(at->q + 1) * (c->p + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The smallest bound that can be certified: below it values cannot be distinguished from zero, because of rounding or of the tolerance, which is a
  number with SVD_CONV_ABS, unknown with SVD_CONV_USER, and otherwise taken relative to the largest value
*/
PetscReal SVDBlockLanczosFloor(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscReal   unit   = SVDBlockLanczosRounding(svd, UNRESOLVED);
  const PetscReal   sigma1 = SVDBlockLanczosSigma(svd, ctx->krylov.anorm), rounding = (ctx->krylov.twosided ? unit : PetscSqrtReal(unit)) * sigma1;

  /* a matrix of zeros: anything above underflow */
  if (ctx->krylov.anorm == 0.0) return PetscPowReal(PETSC_MAX_REAL, (PetscReal)-0.4);
  if (svd->conv == SVD_CONV_USER) return rounding;
  return PetscMax(rounding, svd->conv == SVD_CONV_ABS ? svd->tol : svd->tol * sigma1);
}

/* The eigenvalue of the scaled A^H A that belongs to a bound for singular values */
PetscReal SVDBlockLanczosCertifyLambda(SVD svd, PetscReal bound)
{
  return PetscSqr(((SVD_BLOCKLANCZOS *)svd->data)->krylov.scale * PetscMax(bound, SVDBlockLanczosFloor(svd)));
}

static void SetCertificate(SVD svd, PetscInt n, PetscReal bound, PetscReal chance, PetscBool proved)
{
  ((SVD_BLOCKLANCZOS *)svd->data)->certificate = (BlockLanczosCertificate){n, bound, chance, proved};
}

/* Nothing is known */
void SVDBlockLanczosCertificateForget(SVD svd)
{
  SetCertificate(svd, PETSC_DECIDE, PETSC_INFINITY, 1.0, PETSC_FALSE);
}

/* The gap to reach, relative to the smallest value returned */
PetscReal SVDBlockLanczosGap(SVD svd)
{
  const PetscReal certify = ((SVD_BLOCKLANCZOS *)svd->data)->settings.certify;

  return certify > 0.0 ? certify : DEFAULT_GAP;
}

/* Guard r of a solve may be wrong with a chance of CHANCE / (r (r + 1)): the sum over all r, however many there are, is CHANCE */
static PetscReal LogGuards(SVD svd)
{
  const PetscReal r = (PetscReal)((SVD_BLOCKLANCZOS *)svd->data)->counts.guards;

  return PetscLogReal(r * (r + 1));
}

/* The norm that the components of a fixed vector in q random columns exceed but for the chance that the present guard is allowed */
PetscReal SVDBlockLanczosCertifyNorm(SVD svd, PetscInt q)
{
  const PetscReal one = SmallLogChance(1, q, 1);

  return PetscExpReal((PetscLogReal((PetscReal)CHANCE) - LogGuards(svd) - one) / (SmallLogChance(1, q, PetscExpReal(1)) - one));
}

/*
   SVDBlockLanczosCertifyByGuard - Checks whether the guard's process proves that A^H A has no eigenvalue above that of level (1 + gap) on the
   complement of the vectors found

   Input Parameters:
+  nw    - the number of columns that count as found, which are locked
.  level - the smallest value found
-  gap   - the gap, relative to the level

   Output Parameter:
.  certain - it does, but for a chance

   Note:
   The projected problem must be solved. The certificate is stored in the state.
*/
PetscErrorCode SVDBlockLanczosCertifyByGuard(SVD svd, PetscInt nw, PetscReal level, PetscReal gap, PetscBool *certain)
{
  SVD_BLOCKLANCZOS *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    q      = ctx->recurrence.q;
  const PetscReal   lambda = SVDBlockLanczosCertifyLambda(svd, level * (1 + gap)), most = SVDBlockLanczosCertifyNorm(svd, q);
  PetscReal         norm;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosRecurrenceBound(svd, lambda, most, &norm));
  *certain = (PetscBool)(norm <= most);
  if (*certain) SetCertificate(svd, nw, PetscSqrtReal(lambda) / ctx->krylov.scale, PetscExpReal(SmallLogChance(1, q, norm) + LogGuards(svd)), PETSC_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether there is a cluster, of values that rounding cannot separate, that is as large as the number of random columns or larger */
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
  Places n values of lambda from `least` to far above the largest Ritz value. Their distances to the largest Ritz value that does not count
  as found grow geometrically, as the polynomials of the process do.
*/
static void PlacePoints(const BlockCycle c, PetscReal least, PetscInt n, PetscReal lambda[])
{
  const PetscReal theta = c->p < c->k ? c->theta[c->p - c->l] : 0.0, first = PetscMax(least - theta, PETSC_SQRT_MACHINE_EPSILON * least), ratio = PetscPowReal((4 * PetscMax(c->theta[0], least) - theta) / first, (PetscReal)1 / n);

  for (PetscInt i = 0; i < n; i++) lambda[i] = theta + first * PetscPowReal(ratio, (PetscReal)(i + 1));
}

/* The basis spans the space: the values that are not returned are known, up to rounding. `rest` is the largest of them, a value of the projected problem. */
void SVDBlockLanczosCertifyComplete(SVD svd, PetscInt nw, PetscReal rest)
{
  SetCertificate(svd, nw, PetscMax(SVDBlockLanczosSigma(svd, PetscMax(rest, 0) + SVDBlockLanczosNoise(svd)), SVDBlockLanczosFloor(svd)), 0.0, PETSC_TRUE);
}

/* The estimate of the process that found the leading nw values: whether a value above level (1 + gap) is missing */
PetscErrorCode SVDBlockLanczosEstimate(SVD svd, PetscInt nw, PetscReal level)
{
  SVD_BLOCKLANCZOS *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscReal   noise = SVDBlockLanczosNoise(svd) * (ctx->krylov.twosided ? 2 * ctx->krylov.anorm : 1), gap = SVDBlockLanczosGap(svd);
  PetscReal         best = 0.0, chance;
  BlockCycle        c;
  BoundsAt          at;

  PetscFunctionBegin;
  if (HasLargeCluster(svd, nw)) PetscCall(SVDBlockLanczosHistoryForget(svd)); /* more steps would not help */
  if (!ctx->history.q) {
    PetscCall(PetscInfo(svd, "the process itself estimates nothing\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(CycleCreate(svd, nw, &c));
  at.n = 1 + NPOINTS;
  at.q = ctx->history.q;
  PetscCall(PetscMalloc3(at.n, &at.lambda, at.n, &at.N, at.n * at.q * (ctx->krylov.ld + ctx->krylov.bs), &at.Z));
  at.lambda[0] = SVDBlockLanczosCertifyLambda(svd, level * (1 + gap));
  PlacePoints(c, at.lambda[0], NPOINTS, at.lambda + 1);
  PetscCall(Bounds(svd, c, at.n, at.lambda, at.N, at.Z));
  /* bounds usually fall as lambda grows, but need not */
  for (PetscInt i = at.n - 1; i > 0; i--) at.N[i - 1] = PetscMax(at.N[i - 1], at.N[i]);
  for (PetscReal share = 2; share < MAX_SHARE && share * at.N[0] < 1.0; share *= 4) {
    PetscCall(ChanceOfMiss(c, &at, noise, share, &chance));
    best = PetscMin(best, chance);
  }
  ctx->history.chance = PetscExpReal(best);
  if (best <= PetscLogReal((PetscReal)CHANCE)) SetCertificate(svd, nw, PetscSqrtReal(at.lambda[0]) / ctx->krylov.scale, PetscExpReal(best), PETSC_FALSE);
  PetscCall(PetscFree3(at.lambda, at.N, at.Z));
  PetscCall(CycleDestroy(&c));
  PetscCall(PetscInfo(svd, "the process itself estimates that %s value above %g (1 + %g) is missing, with a chance of %g\n", ctx->certificate.n >= 0 ? "no" : "perhaps a", (double)level, (double)gap, (double)PetscExpReal(best)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether value S, in units of b (squared but in the two-sided form), is above b */
static inline PetscBool IsAbove(PetscBool twosided, PetscReal S, PetscReal b)
{
  return (PetscBool)((twosided ? S : PetscSqr(S)) > b);
}

/*
  From c, a bound for the operator on the complement of the n vectors found, to a bound x for the values of A that are not among those found above x.

  Let Q be the n vectors, D the diagonal matrix of their values, E their residuals, which are orthogonal to Q up to rounding, and R what the operator is
  on the complement, R <= c. In these coordinates the operator is [D E^H; E R]. By the theorem of Courant and Fischer it has no more than p eigenvalues
  above x if it has none on the complement of p of the vectors. For this the Schur complement of the others has to be positive there:

    x > D_i for these,   x - c >= sum_i |E_i|^2 / (x - D_i)

  In the A^H A form the operator is A^H A, D_i = sigma_i^2, and |E_i| = sigma_i |A^H u_i - sigma_i v_i|. In the two-sided form it is [0 A; A^H 0] with
  the vectors (u_i, v_i) and (u_i, -v_i), each divided by the root of 2, the values sigma_i and -sigma_i, and the squared residual
  (|A v_i - sigma_i u_i|^2 + |A^H u_i - sigma_i v_i|^2) / 2 of each. The p vectors are those with values above x. Others, as a rule, are a gap away from
  c, so that residuals raise the bound by their squares only.
*/
static PetscReal Raise(PetscBool twosided, PetscInt n, const PetscReal S[], const PetscReal res[], PetscReal c)
{
  PetscReal b = c, x, all = 0.0;

  for (PetscInt i = 0; i < n; i++) all += PetscSqr(res[i] * (twosided ? 1 : PetscMax(S[i], res[i])));
  while (PETSC_TRUE) {
    PetscReal low = 0.0, high = PetscSqrtReal(all), next = b; /* of x - b: the condition holds with high */

    for (PetscInt turn = 0; turn < 60; turn++) {
      const PetscReal middle = (low + high) / 2;
      PetscReal       sum    = 0.0;

      x = b + middle;
      for (PetscInt i = 0; i < n; i++) {
        const PetscReal h = PetscSqr(res[i] * (twosided ? 1 : PetscMax(S[i], res[i])));

        if (IsAbove(twosided, S[i], b)) sum += twosided ? h / (2 * (x + S[i])) : 0;
        else sum += twosided ? h / 2 * (1 / (x - S[i]) + 1 / (x + S[i])) : h / (x - PetscSqr(S[i]));
      }
      if (x - c >= sum) high = middle;
      else low = middle;
    }
    x = b + high;
    /* values above b that are not above x belong to the others */
    for (PetscInt i = 0; i < n; i++) {
      if (IsAbove(twosided, S[i], b) && !IsAbove(twosided, S[i], x)) next = PetscMax(next, twosided ? S[i] : PetscSqr(S[i]));
    }
    if (next == b) return x;
    b = next;
  }
}

/*
   SVDBlockLanczosCertificateEnd - At the end of a solve: what is known of the nw triplets of SVDBlockLanczosFinish(), of which the leading
   npass are returned
*/
PetscErrorCode SVDBlockLanczosCertificateEnd(SVD svd, PetscInt nw, PetscInt npass)
{
  SVD_BLOCKLANCZOS        *ctx         = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosCertificate *certificate = &ctx->certificate;
  const PetscReal         *S           = ctx->projected.S;
  PetscReal                s           = certificate->bound * ctx->krylov.scale;

  PetscFunctionBegin;
  if (certificate->n < 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (certificate->proved) {
    const PetscReal x = Raise(ctx->krylov.twosided, nw, S, ctx->projected.res, (ctx->krylov.twosided ? s : PetscSqr(s)) + SVDBlockLanczosNoise(svd));

    PetscCall(PetscInfo(svd, "residuals and rounding raise the bound from %g by a factor of 1 + %g\n", (double)certificate->bound, (double)((ctx->krylov.twosided ? x : PetscSqrtReal(x)) / s - 1)));
    s = ctx->krylov.twosided ? x : PetscSqrtReal(x);
  }
  certificate->bound = s / ctx->krylov.scale;
  certificate->n     = 0;
  for (PetscInt i = 0; i < nw; i++) certificate->n += S[i] > s;
  if (certificate->n > npass) SVDBlockLanczosCertificateForget(svd); /* it counts values that are not returned */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints a warning on the first process if the gap was not reached */
PetscErrorCode SVDBlockLanczosWarn(SVD svd, PetscInt nw, PetscReal level)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  char              what[64];

  PetscFunctionBegin;
  if (ctx->certificate.n >= 0) PetscCall(PetscSNPrintf(what, sizeof(what), "a gap of %.2g", (double)(ctx->certificate.bound / level - 1)));
  else PetscCall(PetscSNPrintf(what, sizeof(what), "nothing"));
  PetscCall(PetscFPrintf(PetscObjectComm((PetscObject)svd), PETSC_STDERR,
                         "Warning: blocklanczos could not certify that it missed no singular value above the smallest of the %" PetscInt_FMT
                         " found, %g: certified is %s, wanted a relative gap of %g. Lower -svd_tol, or raise -svd_blocklanczos_certify (0: nothing is looked for)\n",
                         nw, (double)level, what, (double)SVDBlockLanczosGap(svd)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
