/*
  The guard's certificate, from the coefficients of its recurrence.

  The guard is a block Lanczos process for H, which is A^H A on the complement of the triplets found, from q normal random columns
  Omega = X_1 R + a part along these triplets (in the two-sided form H is B^H B, where B is A on the complements of both sides). Let z be a unit eigenvector of H, x_j = X_j^H z its components along the block of step j. The relation H X_j =
  X_(j-1) beta_(j-1)^H + X_j alpha_j + X_(j+1) beta_j, multiplied by z^H, allows to eliminate one block after the other:

    D_j x_j = beta_j^H x_(j+1),   D_j = lambda - alpha_j - S_j,   S_(j+1) = beta_j D_j^-1 beta_j^H,   S_1 = 0
    Omega^H z = G_j^H x_(j+1),    G_j = beta_j D_j^-1 G_(j-1),   G_0 = R

  All D_j are positive definite if and only if all Ritz values are below lambda (Sylvester), so the recurrence also tells when one is above.
  At a restart the Ritz vectors kept, with values theta_i and coupling f_i, replace the earlier blocks: S becomes the sum of
  f_i f_i^H / (lambda - theta_i). G does not change, since it connects components of z along blocks, whether these are kept or not.

  As x has length at most one, |Omega^H z| is at most the norm of G(lambda). The eigenvalue that was missed is not known, so a certificate
  has to bound this norm for all lambda above a level a. For q = 1, G is a product of numbers beta_j / D_j, which fall. For blocks it need
  not fall (docs/svd.md has an example). But its entries are rational functions of lambda, bounded at infinity, with K poles, all real and
  below a: the Ritz values theta_i, those discarded and the present ones. For a function f of that kind with |f| <= F on [a, infinity), the
  inequality of Bernstein and Szego for rational functions (P. Borwein and T. Erdelyi, Polynomials and Polynomial Inequalities, 1995, 7.1)
  says |df/dt| <= sqrt(F^2 - f^2) in the variable

    t(lambda) = sum_i 2 arctan sqrt((lambda - a) / (a - theta_i)),     from 0 to K pi.

  If f takes the value F at some lambda, it is therefore at least F cos(d) at a distance d in t. This is applied to f = u^H G y, where the
  vectors u, y give the norm at its maximum: values of the norm on a mesh of width h bound it everywhere, within the factor
  1 / cos(h / 2). The mesh ends far above a, where D_j >= lambda - a bounds each factor of G.
*/
#include "blocklanczos.h"

/* Values of lambda that are evaluated at a time, in the lanes of vectors */
#define LANES BLOCKLANCZOS_LANES
/* Width of the mesh in t, and the smallest ratio of the largest value on the mesh to the maximum */
#define MESH  ((PetscReal)1.0)
#define SLACK PetscCosReal(MESH / 2)

PetscErrorCode SVDBlockLanczosRecurrenceForget(SVD svd)
{
  BlockRecurrence *r = &((SVD_BLOCKLANCZOS *)svd->data)->recurrence;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < r->nsteps; i++) PetscCall(PetscFree4(r->step[i].alpha, r->step[i].betaH, r->step[i].theta, r->step[i].f));
  PetscCall(PetscFree(r->step));
  PetscCall(PetscFree(r->pole));
  PetscCall(PetscFree(r->R));
  PetscCall(PetscFree3(r->watch.S, r->watch.G, r->watch.work));
  PetscCall(PetscArrayzero(r, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateValues(const BlockRecurrence *r, BlockRecurrenceValues *v)
{
  const PetscInt w = r->w; /* blocks become no wider */

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(w * w * LANES, &v->S, w * r->q * LANES, &v->G, w * (2 * w + r->q) * LANES, &v->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets G to G_0 and S to S_1 */
static void StartValues(const BlockRecurrence *r, const PetscReal lambda[], BlockRecurrenceValues *v)
{
  for (PetscInt i = 0; i < r->w * r->q; i++) {
    for (PetscInt l = 0; l < LANES; l++) v->G[i * LANES + l] = r->R[i];
  }
  for (PetscInt i = 0; i < r->w * r->w * LANES; i++) v->S[i] = 0.0;
  for (PetscInt l = 0; l < LANES; l++) {
    v->lambda[l] = lambda[l];
    v->noise[l]  = 0.0;
    v->reach[l]  = 1.0;
    v->above[l]  = PETSC_FALSE;
  }
}

/* Overwrites D = lambda - alpha - S by its upper Cholesky factor U. A lane where D is not positive definite is marked, and its numbers are
   replaced by harmless ones */
static void Factor(const BlockRecurrenceStep *s, BlockRecurrenceValues *v, PetscScalar D[])
{
  const PetscInt w = s->w;

  for (PetscInt j = 0; j < w; j++) {
    for (PetscInt i = 0; i <= j; i++) {
      PetscScalar       *d = D + (i + j * w) * LANES;
      const PetscScalar *u = D + (i + i * w) * LANES;

      for (PetscInt l = 0; l < LANES; l++) d[l] = (i == j ? v->lambda[l] : 0) - s->alpha[i + j * w] - v->S[(i + j * w) * LANES + l];
      for (PetscInt m = 0; m < i; m++) {
        for (PetscInt l = 0; l < LANES; l++) d[l] -= PetscConj(D[(m + i * w) * LANES + l]) * D[(m + j * w) * LANES + l];
      }
      for (PetscInt l = 0; l < LANES && i < j; l++) d[l] /= u[l];
    }
    for (PetscInt l = 0; l < LANES; l++) {
      PetscScalar *d = D + (j + j * w) * LANES + l;

      if (!(PetscRealPart(*d) > 0.0)) {
        v->above[l] = PETSC_TRUE;
        *d          = 1.0;
      }
      *d = PetscSqrtReal(PetscRealPart(*d));
    }
  }
}

/* X = U^-H X, of n columns */
static void SolveLower(PetscInt w, PetscInt n, const PetscScalar U[], PetscScalar X[])
{
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < w; i++) {
      PetscScalar *x = X + (i + j * w) * LANES;

      for (PetscInt m = 0; m < i; m++) {
        for (PetscInt l = 0; l < LANES; l++) x[l] -= PetscConj(U[(m + i * w) * LANES + l]) * X[(m + j * w) * LANES + l];
      }
      for (PetscInt l = 0; l < LANES; l++) x[l] /= U[(i + i * w) * LANES + l];
    }
  }
}

/* X = U^-1 X, of n columns */
static void SolveUpper(PetscInt w, PetscInt n, const PetscScalar U[], PetscScalar X[])
{
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = w - 1; i >= 0; i--) {
      PetscScalar *x = X + (i + j * w) * LANES;

      for (PetscInt m = i + 1; m < w; m++) {
        for (PetscInt l = 0; l < LANES; l++) x[l] -= U[(i + m * w) * LANES + l] * X[(m + j * w) * LANES + l];
      }
      for (PetscInt l = 0; l < LANES; l++) x[l] /= U[(i + i * w) * LANES + l];
    }
  }
}

/* C = A^H B, m x n with an inner dimension of w */
static void MultiplyLanes(PetscInt w, PetscInt m, PetscInt n, const PetscScalar A[], const PetscScalar B[], PetscScalar C[])
{
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < m; i++) {
      PetscScalar sum[LANES] = {0};

      for (PetscInt h = 0; h < w; h++) {
        for (PetscInt l = 0; l < LANES; l++) sum[l] += PetscConj(A[(h + i * w) * LANES + l]) * B[(h + j * w) * LANES + l];
      }
      for (PetscInt l = 0; l < LANES; l++) C[(i + j * m) * LANES + l] = sum[l];
    }
  }
}

/* A restart: makes S from the Ritz vectors kept; these enlarge the effect of rounding in the next step */
static void Restart(const BlockRecurrenceStep *s, BlockRecurrenceValues *v)
{
  const PetscInt w = s->w;

  for (PetscInt i = 0; i < w * w * LANES; i++) v->S[i] = 0.0;
  for (PetscInt m = 0; m < s->nkept; m++) {
    const PetscScalar *f    = s->f + m * w;
    const PetscReal    norm = SmallAddSquares(0.0, w, f);
    PetscReal          d[LANES];

    for (PetscInt l = 0; l < LANES; l++) {
      d[l] = v->lambda[l] - s->theta[m];
      if (!(d[l] > 0.0)) {
        v->above[l] = PETSC_TRUE;
        d[l]        = 1.0;
      }
      v->reach[l] += PetscSqr(PetscSqrtReal(norm) / d[l]); /* the square of d may vanish */
    }
    for (PetscInt j = 0; j < w; j++) {
      for (PetscInt i = 0; i < w; i++) {
        const PetscScalar ff = f[i] * PetscConj(f[j]);

        for (PetscInt l = 0; l < LANES; l++) v->S[(i + j * w) * LANES + l] += ff / d[l];
      }
    }
  }
}

/* One step of the recurrence, in all lanes. In the two-sided form the error of an eigenvalue is 2 sigma times that of sigma. */
static void Advance(const BlockRecurrence *r, const BlockRecurrenceStep *s, BlockRecurrenceValues *v)
{
  const PetscInt w = s->w, wn = s->wnext, q = r->q;
  PetscScalar   *D = v->work, *Y = D + w * w * LANES, *B = Y + w * q * LANES;
  PetscReal      largest[LANES] = {0};

  if (s->restart) {
    Restart(s, v);
    return;
  }
  Factor(s, v, D);
  for (PetscInt i = 0; i < w * q * LANES; i++) Y[i] = v->G[i];
  for (PetscInt i = 0; i < w * wn; i++) {
    for (PetscInt l = 0; l < LANES; l++) B[i * LANES + l] = s->betaH[i];
  }
  SolveLower(w, q + wn, D, Y); /* and B, which is stored behind Y */
  MultiplyLanes(w, wn, q, B, Y, v->G);
  MultiplyLanes(w, wn, wn, B, B, v->S);
  /* rounding e in the relation of this step adds e^H D^-1 G */
  SolveUpper(w, q, D, Y);
  for (PetscInt i = 0; i < w * q; i++) {
    for (PetscInt l = 0; l < LANES; l++) largest[l] = PetscMax(largest[l], PetscAbsScalar(Y[i * LANES + l]));
  }
  for (PetscInt l = 0; l < LANES; l++) {
    v->noise[l] += s->rounding * (s->twosided ? 2 * PetscSqrtReal(v->lambda[l]) : 1) * PetscSqrtReal(v->reach[l] * w * q) * largest[l];
    v->reach[l] = 1.0;
  }
}

/*
   SVDBlockLanczosRecurrenceBegin - Starts the recurrence, after the next block was made from the guard's random columns

   Input Parameters:
+  q      - number of random columns
.  R, ldr - the coefficients: the random columns are the block times R, and a part in the basis
-  lambda - the values for which the recurrence is updated in each step
*/
PetscErrorCode SVDBlockLanczosRecurrenceBegin(SVD svd, PetscInt q, const PetscScalar R[], PetscInt ldr, const PetscReal lambda[])
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockRecurrence  *r   = &ctx->recurrence;
  PetscInt          len;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosRecurrenceForget(svd));
  PetscCall(BVGetSizes(svd->V, NULL, &len, NULL));
  r->q        = q;
  r->w        = ctx->krylov.w;
  r->deflated = ctx->counts.deflated;
  PetscCall(PetscMalloc1(r->w * q, &r->R));
  for (PetscInt j = 0; j < q; j++) {
    for (PetscInt i = 0; i < r->w; i++) r->R[i + j * r->w] = PetscSqrtReal((PetscReal)len) * R[i + j * ldr];
  }
  PetscCall(CreateValues(r, &r->watch));
  StartValues(r, lambda, &r->watch);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AddStep(BlockRecurrence *r, PetscInt w, PetscInt wnext, PetscInt nkept, BlockRecurrenceStep **s)
{
  PetscFunctionBegin;
  if (r->nsteps == r->maxsteps) {
    r->maxsteps = PetscMax(32, 2 * r->maxsteps);
    PetscCall(PetscRealloc(r->maxsteps * sizeof(*r->step), &r->step));
  }
  *s = &r->step[r->nsteps++];
  PetscCall(PetscArrayzero(*s, 1));
  (*s)->w     = w;
  (*s)->wnext = wnext;
  (*s)->nkept = nkept;
  PetscCall(PetscMalloc4(w * w, &(*s)->alpha, w * wnext, &(*s)->betaH, nkept, &(*s)->theta, w * nkept, &(*s)->f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Called when a block of w columns has joined the basis */
PetscErrorCode SVDBlockLanczosRecurrenceStep(SVD svd, PetscInt w)
{
  SVD_BLOCKLANCZOS         *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  const BlockLanczosKrylov *krylov = &ctx->krylov;
  const PetscInt            lock = krylov->nlock, k = krylov->k - lock, wn = krylov->w, ld = krylov->ld;
  const PetscScalar        *T = krylov->T + lock + (krylov->k - w) * ld, *C = krylov->C + (krylov->k - w) * krylov->bs; /* rows of T on the complement of the triplets found */
  BlockRecurrenceStep      *s;

  PetscFunctionBegin;
  PetscCall(AddStep(&ctx->recurrence, w, wn, 0, &s));
  s->twosided = krylov->twosided;
  s->rounding = SVDBlockLanczosRounding(svd, 4) * krylov->anorm;
  if (ctx->counts.deflated > ctx->recurrence.deflated) s->rounding += SVDBlockLanczosDeflationTolerance(w, krylov->anorm);
  ctx->recurrence.deflated = ctx->counts.deflated;
  if (krylov->twosided) { /* A^H A V = V T^H T + X C T */
    PetscCall(SmallMultiply("C", "N", w, w, k, 1.0, T, ld, T, ld, 0.0, s->alpha, w));
    PetscCall(SmallMultiply("C", "C", w, wn, w, 1.0, T + k - w, ld, C, krylov->bs, 0.0, s->betaH, w));
  } else {
    for (PetscInt j = 0; j < w; j++) {
      PetscCall(PetscArraycpy(s->alpha + j * w, T + k - w + j * ld, w));
      for (PetscInt i = 0; i < wn; i++) s->betaH[j + i * w] = PetscConj(C[i + j * krylov->bs]);
    }
  }
  Advance(&ctx->recurrence, s, &ctx->recurrence.watch);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Called before a restart that keeps p columns; the projected problem is solved */
PetscErrorCode SVDBlockLanczosRecurrenceRestart(SVD svd, PetscInt p)
{
  SVD_BLOCKLANCZOS    *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockRecurrence     *r   = &ctx->recurrence;
  const PetscInt       k = ctx->krylov.k, lock = ctx->krylov.nlock, w = ctx->krylov.w;
  BlockRecurrenceStep *s;

  PetscFunctionBegin;
  PetscCall(PetscRealloc((r->npoles + k - p) * sizeof(PetscReal), &r->pole));
  for (PetscInt i = p; i < k; i++) r->pole[r->npoles++] = ctx->krylov.twosided ? PetscSqr(ctx->projected.S[i]) : ctx->projected.S[i];
  PetscCall(AddStep(r, w, w, p - lock, &s));
  s->restart = PETSC_TRUE;
  for (PetscInt i = lock; i < p; i++) {
    const PetscReal theta = ctx->projected.S[i], factor = ctx->krylov.twosided ? theta : 1;

    s->theta[i - lock] = factor * theta;
    for (PetscInt j = 0; j < w; j++) s->f[j + (i - lock) * w] = factor * ctx->projected.F[j + (i - lock) * ctx->krylov.bs];
  }
  Advance(r, s, &r->watch);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norm of G in a lane, plus the effect of rounding: the Frobenius norm if that is below enough, otherwise the spectral norm */
static PetscErrorCode Norm(const BlockRecurrence *r, PetscInt w, const BlockRecurrenceValues *v, PetscInt lane, PetscReal enough, PetscReal *norm)
{
  const PetscInt q   = r->q;
  PetscReal      sum = 0.0;
  PetscScalar   *G, *A, *tau, *Y, *work;
  PetscReal     *lambda;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < w * q; i++) sum += PetscRealPart(v->G[i * LANES + lane] * PetscConj(v->G[i * LANES + lane]));
  *norm = PetscSqrtReal(sum) + v->noise[lane];
  if (v->above[lane] || PetscIsInfOrNanReal(*norm)) *norm = PETSC_MAX_REAL;
  if (*norm <= enough || *norm == PETSC_MAX_REAL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc6(w * q, &G, q * q, &A, q, &tau, q * q, &Y, SMALL_EIGEN_WORK(q), &work, q, &lambda));
  for (PetscInt i = 0; i < w * q; i++) G[i] = v->G[i * LANES + lane];
  PetscCall(SmallMultiply("C", "N", q, q, w, 1.0, G, w, G, w, 0.0, A, q));
  PetscCall(SmallHermitianEigen(q, A, q, lambda, tau, Y, q, work));
  *norm = PetscSqrtReal(PetscMax(lambda[0], 0)) + v->noise[lane];
  PetscCall(PetscFree6(G, A, tau, Y, work, lambda));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bound at the watched lambda of this lane, the first point of its mesh */
PetscErrorCode SVDBlockLanczosRecurrenceNorm(SVD svd, PetscInt lane, PetscReal *norm)
{
  const SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  PetscCall(Norm(&ctx->recurrence, ctx->krylov.w, &ctx->recurrence.watch, lane, 0.0, norm));
  if (*norm < PETSC_MAX_REAL) *norm /= SLACK;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A bound for the norm at this distance or more above all Ritz values, where each factor of G is at most norm(beta) / distance */
static PetscReal FarNorm(const BlockRecurrence *r, PetscReal distance)
{
  PetscReal logarithm = PetscLogReal(SmallAddSquares(0.0, r->w * r->q, r->R)) / 2;

  for (PetscInt i = 0; i < r->nsteps; i++) {
    const BlockRecurrenceStep *s   = &r->step[i];
    const PetscReal            sum = SmallAddSquares(0.0, s->restart ? 0 : s->w * s->wnext, s->betaH);

    if (s->restart) continue;
    logarithm += sum > 0.0 ? PetscLogReal(sum) / 2 - PetscLogReal(distance) : -PETSC_MAX_REAL;
  }
  return PetscExpReal(logarithm);
}

/* The next points of the mesh, as distances from a. dt / dx falls as x = sqrt(lambda - a) grows, so steps of MESH / (dt / dx) suffice */
static void NextPoints(PetscInt npoles, const PetscReal pole[], PetscReal a, PetscReal *x, PetscReal lambda[])
{
  for (PetscInt l = 0; l < LANES; l++) {
    PetscReal slope = 0.0;

    lambda[l] = a + PetscSqr(*x);
    for (PetscInt i = 0; i < npoles; i++) {
      const PetscReal d = a - pole[i];

      slope += 2 * PetscSqrtReal(d) / (d + PetscSqr(*x));
    }
    *x += MESH / slope;
  }
}

/*
   SVDBlockLanczosRecurrenceBound - Computes a bound for the norm of G for all lambda >= a

   Input Parameters:
+  a    - above all Ritz values of the process
-  most - larger bounds are not needed

   Output Parameter:
.  bound - the bound, or PETSC_MAX_REAL if it is above most

   Note:
   The projected problem must be solved.
*/
PetscErrorCode SVDBlockLanczosRecurrenceBound(SVD svd, PetscReal a, PetscReal most, PetscReal *bound)
{
  SVD_BLOCKLANCZOS     *ctx  = (SVD_BLOCKLANCZOS *)svd->data;
  BlockRecurrence      *r    = &ctx->recurrence;
  const PetscInt        lock = ctx->krylov.nlock, n = ctx->krylov.k - lock;
  BlockRecurrenceValues v = {0};
  PetscReal             x = 0.0, tail, lambda[LANES];

  PetscFunctionBegin;
  *bound = PETSC_MAX_REAL;
  PetscCall(PetscRealloc((r->npoles + n) * sizeof(PetscReal), &r->pole));
  for (PetscInt i = 0; i < n; i++) r->pole[r->npoles + i] = ctx->krylov.twosided ? PetscSqr(ctx->projected.S[lock + i]) : ctx->projected.S[lock + i];
  for (PetscInt i = 0; i < r->npoles + n; i++) {
    if (r->pole[i] >= a) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(CreateValues(r, &v));
  *bound = 0.0;
  do {
    NextPoints(r->npoles + n, r->pole, a, &x, lambda);
    tail = FarNorm(r, lambda[LANES - 1] - a);
    StartValues(r, lambda, &v);
    for (PetscInt i = 0; i < r->nsteps; i++) Advance(r, &r->step[i], &v);
    for (PetscInt l = 0; l < LANES && *bound <= most; l++) {
      PetscReal norm;

      PetscCall(Norm(r, ctx->krylov.w, &v, l, *bound * SLACK, &norm));
      *bound = norm <= SLACK * most ? PetscMax(*bound, norm / SLACK) : PETSC_MAX_REAL;
    }
  } while (*bound <= most && tail > most);
  *bound = PetscMax(*bound, PetscMin(tail, most));
  PetscCall(PetscFree3(v.S, v.G, v.work));
  PetscFunctionReturn(PETSC_SUCCESS);
}
