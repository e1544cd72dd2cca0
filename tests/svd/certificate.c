static const char help[] = "What is said of missed values: copies close above dense spectra, wrong settings, matrices that are not finite.\n";

#include "check.h"

static PetscInt faults = 0;

static PetscErrorCode Expect(PetscBool right, const char format[], ...)
{
  char    what[256];
  va_list args;

  PetscFunctionBeginUser;
  if (right) PetscFunctionReturn(PETSC_SUCCESS);
  va_start(args, format);
  PetscCall(PetscVSNPrintf(what, sizeof(what), format, NULL, args));
  va_end(args);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "FAULT %s\n", what));
  faults++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many of the values s, in decreasing order, are above the bound by more than rounding */
static PetscInt Above(PetscInt n, const PetscReal s[], PetscReal bound)
{
  PetscInt above = 0;

  while (above < n && s[above] * (1 - 1e-13) > bound) above++;
  return above;
}

/* Copies of 1 above equidistant values in [low, 1 - distance]: all copies are found, or the bound of the certificate is at least 1 */
static PetscErrorCode DenseSpectrum(PetscInt n, PetscInt copies, PetscReal low, PetscReal distance, PetscReal gap)
{
  Mat       A;
  SVD       svd;
  PetscReal bound, *s;
  PetscInt  found = 0, ncertain;
  PetscBool proved;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n, &s));
  for (PetscInt i = 0; i < n; i++) s[i] = i < copies ? 1 : 1 - distance - (1 - distance - low) * (i - copies) / (n - copies);
  PetscCall(SVDCheckCreateDiagonal(n, s, &A));
  PetscCall(SVDCheckCreateSolver(A, copies, &svd));
  PetscCall(SVDBlockLanczosSetCertify(svd, gap));
  PetscCall(SVDSolve(svd));
  for (PetscInt i = 0; i < copies; i++) {
    PetscReal sigma;

    PetscCall(SVDGetSingularTriplet(svd, i, &sigma, NULL, NULL));
    if (PetscAbsReal(sigma - 1) < 1e-10) found++;
  }
  PetscCall(SVDBlockLanczosGetCertificate(svd, &ncertain, &bound, NULL, &proved));
  PetscCall(Expect((PetscBool)(proved && ncertain == Above(n, s, bound)), "%" PetscInt_FMT " copies %g above [%g, ..]: certified for %" PetscInt_FMT " above %g, %" PetscInt_FMT " found", copies, (double)distance, (double)low, ncertain, (double)bound,
                   found));
  PetscCall(Expect((PetscBool)(found == copies || distance < gap), "%" PetscInt_FMT " copies %g above [%g, ..]: %" PetscInt_FMT " found", copies, (double)distance, (double)low, found));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve that must fail with the given error */
static PetscErrorCode Fails(const char what[], PetscReal entry, PetscErrorCode error)
{
  const PetscReal s[] = {entry, 3, 2, 1};
  PetscErrorCode  ierr;
  Mat             A;
  SVD             svd;

  PetscFunctionBeginUser;
  PetscCall(SVDCheckCreateDiagonal(4, s, &A));
  PetscCall(SVDCheckCreateSolver(A, 2, &svd));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = SVDSolve(svd);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Expect((PetscBool)(ierr == error), "%s: error %d", what, (int)ierr));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values at all scales that a number can have; most are so small that a product with a random block does not show the largest */
static PetscErrorCode Scales(void)
{
  const PetscReal scales[] = {1e-318, 1e-310, 1e-300, 1e-160, 1e-100, 1e100, 1e160, 1e300, 1e307, 1.7e308};

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(scales); k++) {
    PetscReal s[800], sigma;
    Mat       A;
    SVD       svd;

    for (PetscInt i = 0; i < 800; i++) s[i] = (i < 40 ? 1 - i / 50.0 : 0.01) * scales[k];
    PetscCall(SVDCheckCreateDiagonal(800, s, &A));
    PetscCall(SVDCheckCreateSolver(A, 3, &svd));
    PetscCall(SVDSolve(svd));
    for (PetscInt i = 0; i < 3; i++) {
      PetscCall(SVDGetSingularTriplet(svd, i, &sigma, NULL, NULL));
      PetscCall(Expect((PetscBool)(PetscAbsReal(sigma - s[i]) <= 1e-5 * s[0]), "scale %g: value %" PetscInt_FMT " is %g, not %g", (double)scales[k], i, (double)sigma, (double)s[i]));
    }
    PetscCall(SVDDestroy(&svd));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* (I - 2 p p^T) diag(s) (I - 2 q q^T), m x n: no entry is zero, and products are rounded */
static PetscErrorCode Mixed(PetscInt m, PetscInt n, const PetscReal s[], Mat *A)
{
  PetscReal p[64], q[64], pp = 0.0, qq = 0.0, psq = 0.0;
  PetscInt  first, last;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < m; i++) {
    p[i] = PetscSinReal((PetscReal)1.3 * i + 1);
    pp += PetscSqr(p[i]);
  }
  for (PetscInt j = 0; j < n; j++) {
    q[j] = PetscCosReal((PetscReal)0.7 * j + 2);
    qq += PetscSqr(q[j]);
  }
  for (PetscInt i = 0; i < m; i++) p[i] /= PetscSqrtReal(pp);
  for (PetscInt j = 0; j < n; j++) q[j] /= PetscSqrtReal(qq);
  for (PetscInt k = 0; k < n; k++) psq += p[k] * s[k] * q[k];
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, m, n, NULL, A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt j = 0; j < n; j++) {
      const PetscReal a = (i == j ? s[j] : 0) - 2 * p[i] * p[j] * s[j] - 2 * (i < n ? s[i] * q[i] : 0) * q[j] + 4 * p[i] * psq * q[j];

      PetscCall(MatSetValue(*A, i, j, a, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A matrix whose space the basis spans, of nlarge values from 1 to a half and then `small`, of which nsv are wanted: the values that are returned are right up to
  rounding, and no more values are above the bound than the certificate says, which counts no values that are not returned
*/
static PetscErrorCode WholeSpace(PetscInt m, PetscInt n, PetscInt nlarge, PetscReal small, PetscInt nsv, SVDBlockLanczosForm form, PetscBool left)
{
  PetscReal s[64], sigma, bound;
  PetscInt  nconv, ncertain, above = 0;
  Mat       A;
  SVD       svd;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) s[i] = i < nlarge ? 1 - (PetscReal)i / (2 * nlarge) : small;
  PetscCall(Mixed(m, n, s, &A));
  PetscCall(SVDCheckCreateSolver(A, nsv, &svd));
  PetscCall(SVDSetTolerances(svd, 1e-10, PETSC_DETERMINE));
  PetscCall(SVDBlockLanczosSetForm(svd, form));
  PetscCall(SVDBlockLanczosSetLeftVectors(svd, left));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDGetConverged(svd, &nconv));
  for (PetscInt i = 0; i < PetscMin(nconv, nsv); i++) {
    PetscCall(SVDGetSingularTriplet(svd, i, &sigma, NULL, NULL));
    PetscCall(Expect((PetscBool)(PetscAbsReal(sigma - s[i]) < 1e-9), "%" PetscInt_FMT " x %" PetscInt_FMT ", %g, form %d, left %d: value %" PetscInt_FMT " is %g", m, n, (double)small, (int)form, (int)left, i, (double)sigma));
  }
  PetscCall(SVDBlockLanczosGetCertificate(svd, &ncertain, &bound, NULL, NULL));
  while (above < n && s[above] * (1 - 1e-12) > bound) above++;
  PetscCall(Expect((PetscBool)(ncertain < 0 || (above <= ncertain && ncertain <= nconv)), "%" PetscInt_FMT " x %" PetscInt_FMT ", %g, form %d, left %d: %" PetscInt_FMT " values certified above %g, %" PetscInt_FMT " found, %" PetscInt_FMT " there", m,
                   n, (double)small, (int)form, (int)left, ncertain, (double)bound, nconv, above));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Spaces that are exhausted: by the guard, whose values within the tolerance of the smallest one do not count as found, or (bs > 0) by blocks that are
  wider than the room left. `first`, `close` values from 1 down to 1 - width, and others up to a half
*/
static PetscErrorCode Exhausted(PetscInt n, PetscReal first, PetscInt close, PetscReal width, PetscInt nsv, PetscInt bs, PetscReal tol, PetscReal gap)
{
  PetscReal s[64], bound;
  PetscInt  ncertain;
  Mat       A;
  SVD       svd;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) s[i] = i == 0 ? first : i < close ? 1 - width * i / close : 0.5 * (n - i) / n;
  PetscCall(SVDCheckCreateDiagonal(n, s, &A));
  PetscCall(SVDCheckCreateSolver(A, nsv, &svd));
  PetscCall(SVDSetTolerances(svd, tol, PETSC_DETERMINE));
  if (bs) PetscCall(SVDBlockLanczosSetBlockSize(svd, bs));
  PetscCall(SVDBlockLanczosSetCertify(svd, gap));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDBlockLanczosGetCertificate(svd, &ncertain, &bound, NULL, NULL));
  PetscCall(
    Expect((PetscBool)(ncertain == Above(n, s, bound)), "exhausted, n %" PetscInt_FMT ", blocks of %" PetscInt_FMT ": %" PetscInt_FMT " values certified above %.15g, %" PetscInt_FMT " there", n, bs, ncertain, (double)bound, Above(n, s, bound)));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With an absolute tolerance, values far below the largest one count as well */
static PetscErrorCode Absolute(void)
{
  const PetscInt n = 1000, copies = 20, nsv = 30;
  PetscReal      s[1000], sigma, bound;
  PetscInt       ncertain, found = 0;
  Mat            A;
  SVD            svd;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) s[i] = i == 0 ? 1e3 : i <= copies ? 1 : 0.5 * (n - i) / n;
  PetscCall(SVDCheckCreateDiagonal(n, s, &A));
  PetscCall(SVDCheckCreateSolver(A, nsv, &svd));
  PetscCall(SVDSetConvergenceTest(svd, SVD_CONV_ABS));
  PetscCall(SVDSetTolerances(svd, 1e-2, PETSC_DETERMINE));
  PetscCall(SVDSolve(svd));
  for (PetscInt i = 0; i < nsv; i++) {
    PetscCall(SVDGetSingularTriplet(svd, i, &sigma, NULL, NULL));
    if (PetscAbsReal(sigma - 1) < 1e-2) found++;
  }
  PetscCall(SVDBlockLanczosGetCertificate(svd, &ncertain, &bound, NULL, NULL));
  PetscCall(
    Expect((PetscBool)(found == copies && ncertain == Above(n, s, bound) && bound < 1), "absolute tolerance: %" PetscInt_FMT " of %" PetscInt_FMT " copies, %" PetscInt_FMT " values certified above %g", found, copies, ncertain, (double)bound));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BVVECS, and no row of the short side on a process */
static PetscErrorCode SingleVectors(void)
{
  PetscMPIInt rank;
  PetscReal   sigma;
  Mat         A;
  SVD         svd;
  BV          V;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, rank ? 0 : 6, 20, 6, NULL, &A));
  PetscCall(MatShift(A, 3));
  PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
  PetscCall(SVDSetOperators(svd, A, NULL));
  PetscCall(SVDSetType(svd, SVDBLOCKLANCZOS));
  PetscCall(SVDGetBV(svd, &V, NULL));
  PetscCall(BVSetType(V, BVVECS));
  /* some functions of SLEPc's BV return at once on a process without rows, and while events are logged the others wait for it */
  PetscCall(PetscLogEventDeactivateClass(VEC_CLASSID));
  PetscCall(PetscLogEventDeactivateClass(BV_CLASSID));
  PetscCall(SVDSolve(svd));
  PetscCall(PetscLogEventActivateClass(VEC_CLASSID));
  PetscCall(PetscLogEventActivateClass(BV_CLASSID));
  PetscCall(SVDGetSingularTriplet(svd, 0, &sigma, NULL, NULL));
  PetscCall(Expect((PetscBool)(PetscAbsReal(sigma - 3) < 1e-10), "vecs: the largest value is %g", (double)sigma));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Relative to the norm of the matrix, which is zero */
static PetscErrorCode Zeros(PetscInt m, PetscInt n)
{
  SVDConvergedReason reason;
  Mat                A;
  SVD                svd;

  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, m, n, 0, NULL, 0, NULL, &A));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(SVDCheckCreateSolver(A, 2, &svd));
  PetscCall(SVDSetConvergenceTest(svd, SVD_CONV_NORM));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDGetConvergedReason(svd, &reason));
  PetscCall(Expect((PetscBool)(reason == SVD_CONVERGED_TOL), "%" PetscInt_FMT " x %" PetscInt_FMT " zeros: reason %d", m, n, (int)reason));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A tolerance that is looser than the gap: values are far from their true ones, and the bound must allow for residuals. And a basis that the user makes too small
  for the guard.
*/
static PetscErrorCode Loose(PetscReal tol, PetscReal gap, PetscInt ncv, SVDBlockLanczosForm form)
{
  const PetscInt n = 300, nsv = 10;
  PetscReal      s[300], bound;
  PetscInt       ncertain, nconv;
  PetscBool      proved;
  Mat            A;
  SVD            svd;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) s[i] = i < 40 ? 1 - 3e-4 * i : 0.9 * (n - i) / n;
  PetscCall(SVDCheckCreateDiagonal(n, s, &A));
  PetscCall(SVDCheckCreateSolver(A, nsv, &svd));
  PetscCall(SVDSetTolerances(svd, tol, PETSC_DETERMINE));
  PetscCall(SVDSetDimensions(svd, nsv, ncv, PETSC_DETERMINE));
  PetscCall(SVDBlockLanczosSetForm(svd, form));
  PetscCall(SVDBlockLanczosSetCertify(svd, gap));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDGetConverged(svd, &nconv));
  PetscCall(SVDBlockLanczosGetCertificate(svd, &ncertain, &bound, NULL, &proved));
  PetscCall(Expect((PetscBool)(proved && ncertain == Above(n, s, bound) && ncertain <= nconv), "tolerance %g, gap %g, ncv %" PetscInt_FMT ", form %d: %" PetscInt_FMT " certified above %g, %" PetscInt_FMT " there", (double)tol, (double)gap, ncv,
                   (int)form, ncertain, (double)bound, Above(n, s, bound)));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Setter, getters, and a gap so small that rounding matters */
static PetscErrorCode Settings(void)
{
  PetscReal s[800], gap, bound, chance;
  PetscInt  ncertain;
  PetscBool proved;
  Mat       A;
  SVD       svd;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 800; i++) s[i] = i < 6 ? 1 : 1 - 1e-4 - i * 1e-6;
  PetscCall(SVDCheckCreateDiagonal(800, s, &A));
  PetscCall(SVDCheckCreateSolver(A, 6, &svd));
  PetscCall(SVDBlockLanczosGetCertify(svd, &gap));
  PetscCall(Expect((PetscBool)(gap == PETSC_DETERMINE), "default %g", (double)gap));
  PetscCall(SVDBlockLanczosGetCertificate(svd, &ncertain, &bound, &chance, &proved));
  PetscCall(Expect((PetscBool)(ncertain < 0 && bound == PETSC_INFINITY && chance == 1 && !proved), "a certificate before a solve"));
  PetscCall(SVDBlockLanczosSetCertify(svd, 1e-9));
  PetscCall(SVDBlockLanczosGetCertify(svd, &gap));
  PetscCall(Expect((PetscBool)(gap == (PetscReal)1e-9), "gap %g", (double)gap));
  PetscCall(SVDBlockLanczosSetBlockSize(svd, 2));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDBlockLanczosGetCertificate(svd, &ncertain, &bound, &chance, NULL));
  PetscCall(Expect((PetscBool)(ncertain < 0 || (ncertain == Above(800, s, bound) && chance <= 1e-10)), "%" PetscInt_FMT " values certified above %.12g, chance %g", ncertain, (double)bound, (double)chance));
  PetscCall(SVDBlockLanczosSetCertify(svd, 0));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDBlockLanczosGetCertificate(svd, &ncertain, &bound, &chance, NULL));
  PetscCall(Expect((PetscBool)(ncertain < 0), "a certificate although none was wanted"));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(SlepcCSRCInitializePackage());
  PetscCall(DenseSpectrum(2000, 8, 0.5, 1e-3, 1e-3));
  PetscCall(DenseSpectrum(2000, 8, 0.985, 5e-4, 1e-3));
  PetscCall(DenseSpectrum(2000, 8, 0.985, 5e-4, 2.5e-4));
  PetscCall(DenseSpectrum(2000, 8, 0.9, 1e-4, 5e-5));
  PetscCall(DenseSpectrum(3000, 12, 0.99, 1e-5, 1e-3));
  PetscCall(DenseSpectrum(3000, 12, 0.99, 1e-5, 5e-6));
  PetscCall(DenseSpectrum(400, 8, 0.995, 1e-5, 5e-6));
  PetscCall(DenseSpectrum(2000, 8, 0.5, 5e-3, 1e-3));
  PetscCall(DenseSpectrum(2000, 8, 0, 1e-3, 1e-3));
  PetscCall(Fails("NaN", NAN, PETSC_ERR_FP));
  PetscCall(Fails("Inf", INFINITY, PETSC_ERR_FP));
  PetscCall(Scales());
  for (int left = 0; left < 2; left++) {
    for (int form = 0; form < 3; form++) {
      const PetscReal small[] = {2e-3, 1e-5, 2e-8, 1.2e-8, 2e-9, 0};

      if (!left && form == SVD_BLOCKLANCZOS_FORM_TWOSIDED) continue; /* it stores left vectors */
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(small); k++) {
        PetscCall(WholeSpace(12, 8, 1, small[k], 7, (SVDBlockLanczosForm)form, (PetscBool)left));
        PetscCall(WholeSpace(20, 8, 7, small[k], 8, (SVDBlockLanczosForm)form, (PetscBool)left));
        PetscCall(WholeSpace(40, 20, 6, small[k], 20, (SVDBlockLanczosForm)form, (PetscBool)left));
      }
    }
  }
  PetscCall(Exhausted(40, 1, 25, 1e-3, 8, 0, 1e-2, 1e-3));
  PetscCall(Exhausted(40, 1, 25, 1e-9, 8, 0, 1e-6, 1e-12));
  PetscCall(Exhausted(37, 10, 18, 0, 16, 33, 1e-8, 1e-3));
  PetscCall(Exhausted(38, 100, 18, 0, 16, 33, 1e-8, 1e-3));
  PetscCall(Exhausted(20, 10, 12, 0, 10, 16, 1e-8, 1e-3));
  PetscCall(Exhausted(12, 10, 6, 0, 4, 8, 1e-8, 1e-3));
  PetscCall(Absolute());
  for (int form = 0; form < 3; form++) {
    PetscCall(Loose(1e-1, 1e-3, PETSC_DETERMINE, (SVDBlockLanczosForm)form));
    PetscCall(Loose(1e-2, 1e-4, PETSC_DETERMINE, (SVDBlockLanczosForm)form));
    PetscCall(Loose(1e-3, 1e-6, PETSC_DETERMINE, (SVDBlockLanczosForm)form));
    PetscCall(Loose(1e-8, 1e-3, 12, (SVDBlockLanczosForm)form));
  }
  PetscCall(SingleVectors());
  PetscCall(Zeros(300, 200));
  PetscCall(Zeros(12, 6));
  PetscCall(Settings());
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " faults\n", faults));
  PetscCall(SlepcFinalize());
  return 0;
}

/*TEST

  build:
    depends: check.c
    requires: double

  test:
    suffix: 1
    nsize: {{1 2}}
    filter: grep -E "FAULT|faults"

TEST*/
