/*
  QMR, the quasi-minimal residual method of Freund and Nachtigal, with coupled two-term recurrences and without look-ahead.

  The preconditioner is M = M1 M2, where PETSc's PC is M1 (left) or M2 (right) and the other is the identity. One step, in exact
  arithmetic, with v_1 = b - A x_0 and z_1 = M2^-H v_1:

    y = M1^-1 v,  rho = |y|,  xi = |z|,  delta = z^H y / (rho xi)
    p <- M2^-1 y / rho - (xi delta / epsilon) p
    q <- M1^-H z / xi - (rho conj(delta / epsilon)) q
    epsilon = q^H A p,  beta = epsilon / delta
    v <- A p - beta v / rho,  z <- M2^-H A^H q - conj(beta) z / xi

  v and z are not scaled by their norms. The norms go into the coefficients instead, which saves passes over vectors. rho, xi
  and delta of the next step come from one reduction.

  The residual is updated without a further product: the iterate of QMR is the smoothed one of BiCG, and
  r <- (theta gamma)^2 r - eta v, with the v of the next step. With y in place of v this is the preconditioned residual.

  Squares of norms must neither overflow nor underflow, whatever the scale of A and b. v_1 and z_1 are therefore scaled such that
  the largest entries of y and z are near one, and each step uses A / a in place of A, where a is |beta| rounded down to a power of
  two: rho / |beta| is theta gamma_old, and where that is large the process has broken down. All scales are powers of two, so scaling
  makes no rounding errors.
*/
#include <petsc/private/kspimpl.h>
#include <petsccsrc.h>
#include "qmr.h"

/* The number of work vectors; the last one is needed only for the norm of the residual */
static inline PetscInt KSPQMRNumWorkVecs(KSP ksp)
{
  return ksp->normtype == KSP_NORM_NONE ? 7 : 8;
}

static PetscErrorCode KSPSetUp_QMR(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPSetWorkVecs(ksp, KSPQMRNumWorkVecs(ksp)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A^H x. With real scalars this avoids the copies that KSP_MatMultHermitianTranspose() makes in a transposed solve to conjugate */
static PetscErrorCode KSPQMRMultHermitianTranspose(KSP ksp, Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  if (PetscDefined(USE_COMPLEX)) PetscCall(KSP_MatMultHermitianTranspose(ksp, A, x, y));
  else PetscCall(KSP_MatMultTranspose(ksp, A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norms of y and z and their inner product, in one reduction; except for VECNEST, whose local norms and products are global ones (contrib/petsc/vecnest.c) */
static PetscErrorCode KSPQMRNorms(Vec y, Vec z, PetscReal *rho, PetscReal *xi, PetscScalar *zy)
{
  PetscBool nest;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)y, VECNEST, &nest));
  if (nest) {
    PetscCall(VecNorm(y, NORM_2, rho));
    PetscCall(VecNorm(z, NORM_2, xi));
    PetscCall(VecDot(y, z, zy));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecNormBegin(y, NORM_2, rho));
  PetscCall(VecNormBegin(z, NORM_2, xi));
  PetscCall(VecDotBegin(y, z, zy));
  PetscCall(VecNormEnd(y, NORM_2, rho));
  PetscCall(VecNormEnd(z, NORM_2, xi));
  PetscCall(VecDotEnd(y, z, zy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest power of two not above x, but none so small that its reciprocal overflows */
static inline PetscReal KSPQMRPowerOfTwo(PetscReal x)
{
  return PetscPowReal(2, PetscFloorReal(PetscLog2Real(PetscMax(x, 2 / PETSC_MAX_REAL))));
}

/* Divides x and y by the largest entry of x, rounded to a power of two, and multiplies scale by it; nothing if x is zero or not finite */
static PetscErrorCode KSPQMRNormalize(Vec x, Vec y, PetscReal *scale)
{
  PetscReal largest;

  PetscFunctionBegin;
  PetscCall(VecNorm(x, NORM_INFINITY, &largest));
  if (largest == 0 || PetscIsInfOrNanReal(largest)) PetscFunctionReturn(PETSC_SUCCESS);
  largest = KSPQMRPowerOfTwo(largest);
  PetscCall(VecScale(x, 1 / largest));
  if (y != x) PetscCall(VecScale(y, 1 / largest));
  *scale *= largest;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPQMRBreakdown(KSP ksp, const char what[], PetscReal size)
{
  PetscFunctionBegin;
  PetscCall(PetscInfo(ksp, "Breakdown after %" PetscInt_FMT " iterations: %s is %g\n", ksp->its, what, (double)size));
  ksp->reason = KSP_DIVERGED_BREAKDOWN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Records, monitors and tests the residual norm of an iteration */
static PetscErrorCode KSPQMRReport(KSP ksp, PetscInt its, PetscReal rnorm)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectSAWsTakeAccess((PetscObject)ksp));
  ksp->its   = its;
  ksp->rnorm = rnorm;
  PetscCall(PetscObjectSAWsGrantAccess((PetscObject)ksp));
  PetscCall(KSPLogResidualHistory(ksp, rnorm));
  PetscCall(KSPMonitor(ksp, its, rnorm));
  PetscCall((*ksp->converged)(ksp, its, rnorm, &ksp->reason, ksp->cnvP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSolve_QMR(KSP ksp)
{
  const PetscBool left = (PetscBool)(ksp->pc_side == PC_LEFT), norms = (PetscBool)(ksp->normtype != KSP_NORM_NONE);
  Vec             X = ksp->vec_sol, B = ksp->vec_rhs, V, Z, P, Q, D, T, U, Y, R, residual;
  PetscReal       rho, xi, theta = 0, gamma = 1, scale = 1, zscale = 1, rscale = 1, rnorm = 0; /* scale: r_0 = scale v_1 */
  PetscScalar     zy, delta, epsilon = 1, beta, eta = -1;
  Mat             A;

  PetscFunctionBegin;
  if (ksp->nwork < KSPQMRNumWorkVecs(ksp)) PetscCall(KSPSetUp_QMR(ksp)); /* the norm type has changed since set-up */
  V        = ksp->work[0];
  Z        = ksp->work[1];
  P        = ksp->work[2];
  Q        = ksp->work[3];
  D        = ksp->work[4];
  T        = ksp->work[5];
  Y        = left ? ksp->work[6] : V; /* one of M1, M2 is the identity */
  U        = left ? T : ksp->work[6];
  R        = norms ? ksp->work[7] : NULL;
  residual = ksp->normtype == KSP_NORM_PRECONDITIONED ? Y : V;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));

  if (ksp->guess_zero) PetscCall(VecCopy(B, V));
  else {
    PetscCall(KSP_MatMult(ksp, A, X, V));
    PetscCall(VecAYPX(V, -1.0, B));
  }
  PetscCall(KSPQMRNormalize(V, V, &scale));
  if (left) {
    PetscCall(VecCopy(V, Z));
    PetscCall(KSP_PCApply(ksp, V, Y));
    PetscCall(KSPQMRNormalize(Y, V, &scale));
  } else {
    PetscCall(KSP_PCApplyHermitianTranspose(ksp, V, Z));
    PetscCall(KSPQMRNormalize(Z, Z, &zscale));
  }
  PetscCall(KSPQMRNorms(Y, Z, &rho, &xi, &zy));
  KSPCheckNorm(ksp, rho);
  KSPCheckNorm(ksp, xi);
  KSPCheckNorm(ksp, scale);
  if (norms) {
    PetscCall(VecCopy(residual, R));
    PetscCall(KSPQMRNormalize(R, R, &rscale));
    PetscCall(VecNorm(R, NORM_2, &rnorm));
  }
  PetscCall(KSPQMRReport(ksp, 0, scale * rscale * rnorm));
  if (ksp->reason > 0 && PetscIsInfReal(ksp->ttol)) ksp->reason = KSP_DIVERGED_NANORINF; /* with an initial guess: |b|^2 overflows in the test */
  if (!ksp->reason && rho == 0) ksp->reason = KSP_CONVERGED_HAPPY_BREAKDOWN;
  if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  if (PetscAbsScalar(zy) <= PETSC_MACHINE_EPSILON * rho * xi) { /* z_1 may be chosen; with z_1 = y the cosine is one */
    PetscCall(VecCopy(Y, Z));
    zy = PetscSqr(rho);
    xi = rho;
  }
  PetscCall(VecSet(D, 0.0));

  for (PetscInt it = 0; it < ksp->max_it; it++) {
    const PetscReal   rhoold = rho, thetaold = theta, gammaold = gamma;
    const PetscScalar epsilonold = epsilon;
    PetscReal         a;

    /* delta is a cosine: one below the rounding error of the inner product means nothing */
    if (xi == 0) PetscCall(KSPQMRBreakdown(ksp, "|z|", xi));
    else if (PetscAbsScalar(zy) <= PETSC_MACHINE_EPSILON * rho * xi) PetscCall(KSPQMRBreakdown(ksp, "the cosine of y and z", PetscAbsScalar(zy) / rho / xi));
    if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
    delta = zy / rho / xi;

    if (left) PetscCall(KSP_PCApplyHermitianTranspose(ksp, Z, T));
    else PetscCall(KSP_PCApply(ksp, Y, T));
    if (it == 0) {
      PetscCall(VecCopy(left ? Y : T, P));
      PetscCall(VecScale(P, 1 / rho));
      PetscCall(VecCopy(left ? T : Z, Q));
      PetscCall(VecScale(Q, 1 / xi));
    } else {
      PetscCall(VecAXPBY(P, 1 / rho, -xi * delta / epsilonold, left ? Y : T));
      PetscCall(VecAXPBY(Q, 1 / xi, -rho * PetscConj(delta / epsilonold), left ? T : Z));
    }

    PetscCall(KSP_MatMult(ksp, A, P, T));
    PetscCall(VecDot(T, Q, &epsilon));
    KSPCheckDot(ksp, epsilon);
    if (epsilon == (PetscScalar)0.0) {
      PetscCall(KSPQMRBreakdown(ksp, "q^H A p", 0));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    beta = epsilon / delta;
    a    = KSPQMRPowerOfTwo(PetscAbsScalar(beta));
    beta /= a;
    epsilon /= a;
    PetscCall(VecAXPBY(V, 1 / a, -beta / rho, T));
    PetscCall(KSPQMRMultHermitianTranspose(ksp, A, Q, T));
    if (left) PetscCall(KSP_PCApply(ksp, V, Y));
    else PetscCall(KSP_PCApplyHermitianTranspose(ksp, T, U));
    PetscCall(VecAXPBY(Z, 1 / a, -PetscConj(beta) / xi, U));
    PetscCall(KSPQMRNorms(Y, Z, &rho, &xi, &zy));
    KSPCheckNorm(ksp, rho);
    KSPCheckNorm(ksp, xi);

    theta = rho / (gammaold * PetscAbsScalar(beta));
    gamma = 1 / PetscSqrtReal(1 + theta * theta);
    if (!(gamma > PETSC_MACHINE_EPSILON)) { /* a pivot near zero: the iterate would not change, and the next step would divide by it */
      PetscCall(KSPQMRBreakdown(ksp, "gamma", gamma));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    eta *= -(rhoold / beta) * PetscSqr(gamma / gammaold);
    PetscCall(VecAXPBY(D, eta / a, PetscSqr(thetaold * gamma), P));
    PetscCall(VecAXPY(X, scale, D));
    if (norms) {
      PetscCall(VecAXPBY(R, -eta / rscale, PetscSqr(theta * gamma), residual));
      PetscCall(VecNorm(R, NORM_2, &rnorm));
      KSPCheckNorm(ksp, rnorm);
    }
    PetscCall(KSPQMRReport(ksp, it + 1, scale * rscale * rnorm));
    if (!ksp->reason && rho == 0) ksp->reason = KSP_CONVERGED_HAPPY_BREAKDOWN; /* x is the solution */
    if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  }
  ksp->reason = KSP_DIVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   KSPQMR - "qmr" - The quasi-minimal residual method of Freund and Nachtigal for general square matrices, with products with
   A and A^H in every iteration

   Options Database Keys:
+ -ksp_type qmr                                         - use this solver
. -ksp_pc_side (left|right)                             - side of the preconditioner
- -ksp_norm_type (preconditioned|unpreconditioned|none) - norm of the convergence test, see below

   Level: intermediate

   Notes:
   The method is that of R. W. Freund and N. M. Nachtigal, An implementation of the QMR method based on coupled two-term
   recurrences, SIAM J. Sci. Comput. 15 (1994), without look-ahead. It builds the same Krylov spaces as `KSPBICG`, at the same cost
   per iteration: one product with A, one with A^H, and the preconditioner and its transpose once each. Where the residual of
   BiCG jumps, that of QMR decreases almost steadily.

   Preconditioning is from the left (default) or from the right, with any `PC` that has `PCApplyTranspose()`. `PC_SYMMETRIC` is not
   supported: QMR needs the transposes of both halves, and a `PC` does not offer them.

   Norms of the convergence test: with a left preconditioner `KSP_NORM_PRECONDITIONED` (default) or `KSP_NORM_UNPRECONDITIONED`, with
   a right one `KSP_NORM_UNPRECONDITIONED`. Both are norms of the residual itself, updated by a recurrence, not the bound that the
   quasi-residual gives. `KSP_NORM_NONE` saves one vector, and one reduction in each iteration.

   With complex scalars the second product is with the conjugate transpose, by `MatMultHermitianTranspose()`, as in
   `KSPBICG`. `KSPSolveTranspose()` solves $A^T x = b$.

   Matrices and right-hand sides of any scale are solved alike, as long as the solution can be represented. With an initial guess
   that is not zero and a right-hand side whose norm squared overflows, `KSPConvergedDefault()` takes that norm for infinite, and
   the reason is `KSP_DIVERGED_NANORINF`; `KSPConvergedDefaultSetUIRNorm()` helps.

   The left Lanczos vectors start from the residual, as is usual, or, if the first inner product of left and right vectors
   vanishes, from the right ones. After a breakdown of the Lanczos process the reason is `KSP_DIVERGED_BREAKDOWN`, and `-info`
   tells which number vanished. The solution vector then holds the last iterate; another initial guess or another solver may help.

.seealso: `KSPBICG`, `KSPTFQMR`, `KSPTCQMR`, `KSPQMRCGS`, `KSPSetPCSide()`, `KSPSetNormType()`, `MATCSRCCUDA`, `MATBCCOO`
M*/
PetscErrorCode KSPCreate_QMR(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_PRECONDITIONED, PC_LEFT, 3));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 2));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_RIGHT, 2));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_LEFT, 1));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_RIGHT, 1));
  ksp->ops->setup         = KSPSetUp_QMR;
  ksp->ops->solve         = KSPSolve_QMR;
  ksp->ops->destroy       = KSPDestroyDefault;
  ksp->ops->buildsolution = KSPBuildSolutionDefault;
  ksp->ops->buildresidual = KSPBuildResidualDefault;
  PetscFunctionReturn(PETSC_SUCCESS);
}
