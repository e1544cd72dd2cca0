/*
  Ridge regression for many parameters from one solve: x(t) minimizes |b - A x|^2 + t |x|^2. With the singular triplets of A,

    x(t) = sum_i s_i / (s_i^2 + t) (u_i^T b) v_i

  After one truncated SVD, each t costs a combination of k vectors. With r = b - U U^T b, the error of x_k(t) from the k largest
  triplets has two bounds:

    |x(t) - x_k(t)| <= |r| max s / (s^2 + t) over 0 <= s <= s_k     if no value above s_k is missing
    |x(t) - x_k(t)| <= |A^T r| / t                                  in any case, since A^T A + t has no eigenvalue below t

  The program prints both norms that make an L-curve, chooses t by generalized cross-validation, and compares with
  conjugate gradients on (A^T A + t) x = A^T b, for this t, the first and the last. For example

    ridge -size 100 -rank 400 -dll_append $SLEPCCSRC_LIB -mat_type csrccuda -csv ridge.csv
*/
static char help[] = "Ridge regression for many parameters t from one truncated SVD.\n"
                     "  -size <n>, -blur <w> : pictures of n x n points, blurred over w of them, to be sharpened (40, 10)\n"
                     "  -file <file>    : or a matrix from a file (.mtx, .mtx.gz or PETSc binary)\n"
                     "  -rhs <file>     : with a right-hand side, a file with one column; by default A x with noise, for a known x\n"
                     "  -noise <e>      : this noise, relative to A x (0.05)\n"
                     "  -rank <k>       : how many singular triplets (150)\n"
                     "  -t <t1,t2,...>  : the parameters; by default -points <p> (13) of them from s_1^2 to s_k^2\n"
                     "  -csv <file>     : writes the table\n"
                     "Of PETSc's own options -mat_type, -svd_type, -ksp_max_it and -dll_append are the most useful.\n\n";

#include <slepcsvd.h>
#include <petscksp.h>
#include <petsctime.h>
#include "support.h"

#define MAX_POINTS 1000

/*
  A matrix that blurs a picture: each point becomes a spot, the same in both directions, so that singular values come in pairs. The
  weights of a spot fall smoothly to zero at the distance w; parts beyond the edge of the picture are lost.
*/
static PetscErrorCode FillBlur(Mat A, PetscInt n, PetscInt w)
{
  const PetscInt side = 2 * PetscMin(w, n) - 1; /* at most so much of a spot lies within the picture */
  PetscInt       first, last, room, *i, *j, end = 0;
  PetscReal      sum = 0;
  PetscScalar   *v;

  PetscFunctionBegin;
  PetscCall(MatFillSizes(A, n * n, n * n));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(PetscIntMultError(side, side, &room));
  PetscCall(PetscIntMultError(room, last - first, &room));
  PetscCall(PetscMalloc3(last - first + 1, &i, room, &j, room, &v));
  for (PetscInt d = 1 - w; d < w; d++) sum += PetscPowRealInt(1 - PetscSqr((PetscReal)d / (PetscReal)w), 4);
  i[0] = 0;
  for (PetscInt row = first; row < last; row++) {
    for (PetscInt dy = -(side / 2); dy <= side / 2; dy++) {
      for (PetscInt dx = -(side / 2); dx <= side / 2; dx++) {
        const PetscInt x = row % n + dx, y = row / n + dy;

        if (x < 0 || y < 0 || x >= n || y >= n) continue;
        j[end]   = y * n + x;
        v[end++] = PetscPowRealInt((1 - PetscSqr((PetscReal)dx / (PetscReal)w)) * (1 - PetscSqr((PetscReal)dy / (PetscReal)w)), 4) / (sum * sum);
      }
    }
    i[row - first + 1] = end;
  }
  PetscCall(MatFillRows(A, i, j, v));
  PetscCall(PetscFree3(i, j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The true x, for which ridge regression is suited: a picture of two soft lamps and a dark bar if n > 0, otherwise a smooth function */
static PetscErrorCode FillTruth(Vec truth, PetscInt n)
{
  PetscInt     N, first, last;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(VecGetSize(truth, &N));
  PetscCall(VecGetOwnershipRange(truth, &first, &last));
  PetscCall(VecGetArrayWrite(truth, &a));
  for (PetscInt i = first; i < last; i++) {
    if (n) {
      const PetscReal x = (PetscReal)(i % n) / (PetscReal)n, y = (PetscReal)(i / n) / (PetscReal)n;

      a[i - first] = PetscExpReal(-40 * (PetscSqr(x - 0.3) + PetscSqr(y - 0.6))) + PetscExpReal(-80 * (PetscSqr(x - 0.7) + PetscSqr(y - 0.4))) - 0.3 * (x > 0.45 && x < 0.6 && y > 0.2);
    } else a[i - first] = PetscSinReal(5 * (PetscReal)i / (PetscReal)N) + 1;
  }
  PetscCall(VecRestoreArrayWrite(truth, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b is A times the true x, with noise, or comes from a file, without a true x */
static PetscErrorCode SetRightHandSide(Mat A, PetscInt n, PetscReal noise, Vec *truth, Vec b)
{
  char         file[PETSC_MAX_PATH_LEN];
  PetscBool    fromfile;
  PetscInt     M, first, last;
  PetscReal    norm;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-rhs", file, sizeof(file), &fromfile));
  PetscCall(VecGetSize(b, &M));
  if (fromfile) {
    Mat      B;
    PetscInt rows, cols;

    PetscCall(MatCreate(PETSC_COMM_WORLD, &B));
    PetscCall(MatLoadFile(B, file));
    PetscCall(MatGetSize(B, &rows, &cols));
    PetscCheck(rows == M && cols == 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "The right-hand side in %s is %" PetscInt_FMT " x %" PetscInt_FMT ", it must be %" PetscInt_FMT " x 1", file, rows, cols, M);
    PetscCall(MatGetColumnVector(B, b, 0));
    PetscCall(MatDestroy(&B));
    *truth = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatCreateVecs(A, truth, NULL));
  PetscCall(FillTruth(*truth, n));
  PetscCall(MatMult(A, *truth, b));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(VecGetOwnershipRange(b, &first, &last));
  PetscCall(VecGetArray(b, &a));
  for (PetscInt i = first; i < last; i++) a[i - first] += noise * norm * PetscSqrtReal(3 / (PetscReal)M) * (2 * RandomDraw(i, 0) - 1);
  PetscCall(VecRestoreArray(b, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* g = A^H (b - A x) - t x, zero at x(t), and |b - A x| */
static PetscErrorCode Residuals(Mat A, Vec b, Vec x, PetscReal t, Vec r, Vec g, PetscReal *rnorm)
{
  PetscFunctionBegin;
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, rnorm));
  PetscCall(MatMultHermitianTranspose(A, r, g));
  PetscCall(VecAXPY(g, -t, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |V^H x|, by single products: VecMDot() of PETSc 3.26.1 can be wrong on a GPU with more than 32 vectors (contrib/petsc/mdotrace.c) */
static PetscErrorCode NormAlong(Vec x, PetscInt k, const Vec V[], PetscReal *norm)
{
  PetscReal squares = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < k; i++) {
    PetscScalar product;

    PetscCall(VecDot(x, V[i], &product));
    squares += PetscSqr(PetscAbsScalar(product));
  }
  *norm = PetscSqrtReal(squares);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest s / (s^2 + t) for 0 <= s <= smallest: the function grows up to s^2 = t */
static PetscReal LargestFilter(PetscReal smallest, PetscReal t)
{
  const PetscReal s = PetscMin(smallest, PetscSqrtReal(t));

  return s / (s * s + t);
}

/* x(t) by conjugate gradients, which use no singular values. A^H A is not formed. */
static PetscErrorCode SolveIteratively(Mat A, Vec Ab, PetscReal t, Vec x, PetscInt *its)
{
  Mat                normal;
  KSP                ksp;
  PC                 pc;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MatCreateNormalHermitian(A, &normal));
  PetscCall(MatShift(normal, t));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, normal, normal));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_DOUBLE) ? 1e-11 : 1e-5, PETSC_CURRENT, PETSC_CURRENT, 100000));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, Ab, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "Conjugate gradients for t = %g: %s after %" PetscInt_FMT " iterations (-ksp_max_it)", (double)t, KSPConvergedReasons[reason], *its);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&normal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat            A;
  SVD            svd;
  SVDType        solver;
  MatType        type;
  MatInfo        info;
  Vec            truth, b, u, r, x, y, g, Ar, Ab, *V;
  PetscInt       size = 40, blur = 10, M, N, k = 150, points = 13, found, its, best = 0, count = MAX_POINTS;
  PetscReal     *s, t[MAX_POINTS], (*table)[5], noise = 0.05, bnorm, rho, Arho, tolerance, tnorm = 0, least = PETSC_MAX_REAL, defect = 0, residual = 0, mixed = 0;
  PetscScalar   *beta, *c;
  PetscLogDouble start, end;
  PetscBool      fromfile, write, given, right = PETSC_TRUE;
  char           file[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-size", &size, NULL));
  {
    PetscInt pixels;

    PetscCall(PetscIntMultError(size, size, &pixels));
  }
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-blur", &blur, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rank", &k, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-points", &points, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-noise", &noise, NULL));
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-t", t, &count, &given));
  if (given) points = count;
  PetscCheck(size > 0 && blur > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-size %" PetscInt_FMT " and -blur %" PetscInt_FMT " must be positive", size, blur);
  PetscCheck(points > 0 && points <= MAX_POINTS, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "%" PetscInt_FMT " parameters, from -t or -points: it must be 1 to %d", points, MAX_POINTS);
  PetscCheck(noise >= 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-noise %g must not be negative", (double)noise);
  for (PetscInt p = 0; p < points && given; p++) PetscCheck(t[p] > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-t %g must be positive", (double)t[p]);

  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetFromOptions(A));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-file", file, sizeof(file), &fromfile));
  if (fromfile) PetscCall(MatLoadFile(A, file));
  else PetscCall(FillBlur(A, size, blur));
  PetscCall(MatGetSize(A, &M, &N));
  PetscCheck(k > 0 && k <= PetscMin(M, N), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-rank %" PetscInt_FMT " must be between 1 and %" PetscInt_FMT ", the least dimension", k, PetscMin(M, N));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Matrix: %" PetscInt_FMT " x %" PetscInt_FMT ", %.0f nonzeros, type %s\n", M, N, info.nz_used, type));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SetRightHandSide(A, fromfile ? 0 : size, noise, &truth, b));
  if (truth) PetscCall(VecNorm(truth, NORM_2, &tnorm));

  PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
  PetscCall(SVDSetOperators(svd, A, NULL));
  PetscCall(SVDSetType(svd, "blocklanczos"));
  PetscCall(SVDSetDimensions(svd, k, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(SVDSetFromOptions(svd));
  PetscCall(PetscTime(&start));
  PetscCall(SVDSolve(svd));
  PetscCall(PetscTime(&end));
  PetscCall(SVDGetConverged(svd, &found));
  PetscCall(SVDGetIterationNumber(svd, &its));
  PetscCall(SVDGetType(svd, &solver));
  PetscCall(SVDGetTolerances(svd, &tolerance, NULL));
  PetscCheck(found >= k, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "%s found %" PetscInt_FMT " of %" PetscInt_FMT " triplets: more iterations (-svd_max_it) or a larger -svd_tol than %g", solver, found, k, (double)tolerance);

  /* The right vectors are kept; of the left ones only u^H b is needed, and the remainder r of b */
  PetscCall(VecDuplicate(b, &u));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &g));
  PetscCall(VecDuplicate(x, &Ar));
  PetscCall(VecDuplicate(x, &Ab));
  PetscCall(VecDuplicateVecs(x, k, &V));
  PetscCall(PetscMalloc4(k, &s, k, &beta, k, &c, points, &table));
  PetscCall(VecCopy(b, r));
  for (PetscInt i = 0; i < k; i++) {
    PetscCall(SVDGetSingularTriplet(svd, i, &s[i], u, V[i]));
    PetscCall(VecDot(b, u, &beta[i]));
    PetscCall(VecAXPY(r, -beta[i], u));
  }
  for (PetscInt i = 0; i < k; i++) { /* |A^H A V - V S^2|, for the checks */
    PetscReal norm;

    PetscCall(MatMult(A, V[i], u));
    PetscCall(MatMultHermitianTranspose(A, u, g));
    PetscCall(VecAXPY(g, -s[i] * s[i], V[i]));
    PetscCall(VecNorm(g, NORM_2, &norm));
    residual += norm * norm;
  }
  residual = PetscSqrtReal(residual);
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(VecNorm(r, NORM_2, &rho));
  PetscCall(MatMultHermitianTranspose(A, r, Ar));
  PetscCall(MatMultHermitianTranspose(A, b, Ab));
  PetscCall(VecNorm(Ar, NORM_2, &Arho));
  PetscCall(NormAlong(Ar, k, V, &mixed)); /* zero with exact triplets */
  PetscCheck(bnorm > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "The right-hand side is zero, and so is the solution");
  PetscCheck(s[k - 1] > PetscMax(M, N) * PETSC_MACHINE_EPSILON * s[0], PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "Singular value %" PetscInt_FMT " is %g, zero but for rounding: take a smaller -rank", k, (double)s[k - 1]);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " triplets, %" PetscInt_FMT " iterations, %.3f seconds; s_1 = %.4e, s_k = %.4e\n", solver, k, its, end - start, (double)s[0], (double)s[k - 1]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "The part of b that is left: |r| = %.3e |b|, |A^T r| = %.3e s_1 |b|\n", (double)(rho / bnorm), (double)(Arho / s[0] / bnorm)));
  for (PetscInt p = 0; p < points && !given; p++) t[p] = PetscSqr(s[0]) * PetscPowReal(s[k - 1] / s[0], 2 * (PetscReal)p / (PetscReal)PetscMax(points - 1, 1));

  /*
    The truncated x is linear in b with sum f_i as its degrees of freedom, f_i = s_i^2 / (s_i^2 + t), and
    |b - A x|^2 = |r|^2 + sum |(1 - f_i) u_i^H b|^2: no product with A is needed for generalized cross-validation. The products
    here only check this. They also give the distance of inexact triplets from the formulas: g should be A^H r.
  */
  for (PetscInt p = 0; p < points; p++) {
    PetscReal degrees = 0, squares = rho * rho, xnorm, rnorm, away, error = 0;

    for (PetscInt i = 0; i < k; i++) {
      const PetscReal f = s[i] * s[i] / (s[i] * s[i] + t[p]);

      c[i] = f / s[i] * beta[i];
      degrees += f;
      squares += PetscSqr((1 - f) * PetscAbsScalar(beta[i]));
    }
    PetscCall(VecSet(x, 0.0));
    PetscCall(VecMAXPY(x, k, c, V));
    PetscCall(VecNorm(x, NORM_2, &xnorm));
    PetscCall(Residuals(A, b, x, t[p], u, g, &rnorm));
    PetscCall(VecAXPY(g, -1.0, Ar));
    PetscCall(VecNorm(g, NORM_2, &away));
    if (!PetscIsNanReal(defect)) { /* a NaN stays */
      const PetscReal now = PetscMax(away / s[0], PetscAbsReal(rnorm - PetscSqrtReal(squares))) / bnorm;

      if (!(now <= defect)) defect = now;
    }
    if (truth) {
      PetscCall(VecWAXPY(y, -1.0, truth, x));
      PetscCall(VecNorm(y, NORM_2, &error));
    }
    table[p][0] = xnorm;
    table[p][1] = PetscSqrtReal(squares);
    table[p][2] = (PetscReal)M * squares / PetscSqr((PetscReal)M - degrees);
    table[p][3] = PetscMin(rho * LargestFilter(s[k - 1], t[p]), Arho / t[p]);
    table[p][4] = truth ? error / tnorm : NAN;
    if (table[p][2] < least) {
      least = table[p][2];
      best  = p;
    }
  }
  right = (PetscBool)(defect <= 10 * tolerance * PetscSqrtReal((PetscReal)k) && residual / s[0] / s[0] <= 10 * tolerance * PetscSqrtReal((PetscReal)k));

  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", file, sizeof(file), &write));
  if (write) {
    FILE *fp;

    PetscCall(PetscFOpen(PETSC_COMM_WORLD, file, "w", &fp));
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "t,norm of x,residual,gcv,bound,error\n"));
    for (PetscInt p = 0; p < points; p++) PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%.10e,%.10e,%.10e,%.10e,%.10e,%.10e\n", (double)t[p], (double)table[p][0], (double)table[p][1], (double)table[p][2], (double)table[p][3], (double)table[p][4]));
    PetscCall(PetscFClose(PETSC_COMM_WORLD, fp));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n           t          |x|      |b - A x|          GCV   left out: at most%s\n", truth ? "   |x - truth| / |truth|" : ""));
  for (PetscInt p = 0; p < points; p++) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %10.4e   %10.4e   %12.6e   %10.4e   %9.2e |x|", (double)t[p], (double)table[p][0], (double)table[p][1], (double)table[p][2], (double)(table[p][3] / table[p][0])));
    if (truth) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "       %17.6f", (double)table[p][4]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", p == best ? "  <- GCV" : ""));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\nResidual of the triplets %.1e s_1^2, distance from these formulas %.1e |b|\n", (double)(residual / s[0] / s[0]), (double)defect));

  /*
    Comparison: both x are inexact. |g| / t bounds the error of conjugate gradients. With exact triplets the truncated x has no error in the
    directions of V; with E = A^H A V - V S^2 it is V^H (A^H A + t)^-1 A^H r = (S^2 + t)^-1 (V^H - E^H (A^H A + t)^-1) A^H r.
    There they must agree to this, and elsewhere within the bound.
  */
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n  Conjugate gradients     all directions: difference, allowed   along V: difference, allowed\n           t   iterations\n"));
  for (PetscInt q = 0; q < 3; q++) {
    const PetscInt which[] = {0, best, points - 1}, p = which[q];
    PetscReal      gnorm, rnorm, difference, inside = 0, solve, inexact = 0;
    PetscBool      within;

    if (q > 0 && p == which[q - 1]) continue;
    for (PetscInt i = 0; i < k; i++) {
      c[i] = s[i] / (s[i] * s[i] + t[p]) * beta[i];
      inexact += PetscSqr(PetscAbsScalar(c[i]) + PetscAbsScalar(beta[i]) / s[i]);
    }
    inexact = residual * PetscSqrtReal(inexact); /* how far g of x may be from A^H r */
    PetscCall(VecSet(x, 0.0));
    PetscCall(VecMAXPY(x, k, c, V));
    PetscCall(SolveIteratively(A, Ab, t[p], y, &its));
    PetscCall(Residuals(A, b, y, t[p], u, g, &rnorm));
    PetscCall(VecNorm(g, NORM_2, &gnorm));
    PetscCall(VecAXPY(y, -1.0, x));
    PetscCall(VecNorm(y, NORM_2, &difference));
    PetscCall(NormAlong(y, k, V, &inside));
    solve  = (gnorm + inexact + mixed + residual * Arho / t[p]) / t[p] + 100 * PETSC_MACHINE_EPSILON * (1 + s[0] * s[0] / t[p]) * table[p][0];
    within = (PetscBool)(difference <= table[p][3] + solve && inside <= solve);
    right  = (PetscBool)(right && within);
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %10.4e   %10" PetscInt_FMT "   %8.2e |x|   %8.2e |x|   %8.2e |x|   %8.2e |x|%s\n", (double)t[p], its, (double)(difference / table[p][0]), (double)((table[p][3] + solve) / table[p][0]),
                          (double)(inside / table[p][0]), (double)(solve / table[p][0]), within ? "" : "  NOT allowed"));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", right ? "Right: what truncation leaves out is within its bound." : "WRONG: the solutions are not within their bounds."));

  PetscCall(PetscFree4(s, beta, c, table));
  PetscCall(VecDestroyVecs(k, &V));
  PetscCall(VecDestroy(&truth));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&g));
  PetscCall(VecDestroy(&Ar));
  PetscCall(VecDestroy(&Ab));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscCall(SlepcFinalize());
  return right ? 0 : 1;
}
