static const char help[] = "blocklanczos where nothing is usual: sizes, restarts, interrupted and repeated solves, user tests and spaces.\n\
  -bad          bad input instead: errors\n\
  -smallest     the smallest values instead\n\
  -smallestksp  the smallest values by the KSP that options describe\n";

#include "check.h"
#include <support.h>
#include "sys/petscolder.h"

static PetscInt failed = 0;

static PetscErrorCode Expect(const char what[], PetscBool good)
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %s\n", good ? "ok" : "FAILED", what));
  if (!good) failed++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* diag(d), m x n, where d is a function */
typedef PetscReal (*Spectrum)(PetscInt i, PetscInt n);

static PetscReal Linear(PetscInt i, PetscInt n)
{
  return (PetscReal)(n - i);
}

static PetscReal Pairs(PetscInt i, PetscInt n)
{
  return (PetscReal)(n - i / 2);
}

static PetscReal Half(PetscInt i, PetscInt n)
{
  return (PetscReal)(2 * (n - i));
}

static PetscReal Squares(PetscInt i, PetscInt n)
{
  return (PetscReal)((n - i) * (n - i));
}

static PetscErrorCode Diagonal(PetscInt m, PetscInt n, Spectrum d, Mat *A)
{
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, m, n));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = first; i < PetscMin(last, PetscMin(m, n)); i++) {
    /* rows are in another order than columns */
    const PetscInt j = PetscMin(m, n) - 1 - i;

    PetscCall(MatSetValue(*A, i, j, d(j, PetscMin(m, n)), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(Mat A, PetscInt nsv, PetscInt ncv, PetscInt mpd, SVD *svd)
{
  PetscFunctionBegin;
  PetscCall(SVDCreate(PETSC_COMM_WORLD, svd));
  PetscCall(SVDSetOperators(*svd, A, NULL));
  PetscCall(SVDSetType(*svd, SVDBLOCKLANCZOS));
  PetscCall(SVDSetDimensions(*svd, nsv, ncv, mpd));
  PetscCall(SVDSetFromOptions(*svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the first n triplets are those of the spectrum */
static PetscErrorCode Compare(SVD svd, PetscInt n, Spectrum d, PetscBool *right)
{
  PetscInt   M, N;
  Mat        A;
  PetscReal *s;
  SVDCheck   check;

  PetscFunctionBegin;
  PetscCall(SVDGetOperators(svd, &A, NULL));
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(PetscMalloc1(n, &s));
  for (PetscInt i = 0; i < n; i++) s[i] = d(i, PetscMin(M, N));
  PetscCall(SVDCheckSolution(svd, n, s, &check));
  *right = (PetscBool)(check.n == n && check.value < 1e-10 && check.orthogonal < 1e-13 && check.residual < 2e-8);
  if (!*right) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %" PetscInt_FMT " of %" PetscInt_FMT " triplets, values %.1e, orthogonality %.1e, residuals %.1e\n", check.n, n, (double)check.value, (double)check.orthogonal, (double)check.residual));
  PetscCall(PetscFree(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same, and whether the solver reports convergence */
static PetscErrorCode Right(SVD svd, PetscInt nsv, Spectrum d, PetscBool *right)
{
  SVDConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(Compare(svd, nsv, d, right));
  PetscCall(SVDGetConvergedReason(svd, &reason));
  if (reason <= 0) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s\n", SVDConvergedReasons[reason]));
    *right = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const char what[], Mat A, PetscInt nsv, PetscInt ncv, PetscInt mpd, PetscInt expected, Spectrum d)
{
  SVD       svd;
  PetscBool right = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(Create(A, nsv, ncv, mpd, &svd));
  PetscCall(SVDSolve(svd));
  PetscCall(Right(svd, expected, d, &right));
  PetscCall(Expect(what, right));
  PetscCall(SVDDestroy(&svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Dimensions of every kind, and more values than there are */
static PetscErrorCode Dimensions(void)
{
  Mat A, B;

  PetscFunctionBegin;
  PetscCall(Diagonal(120, 90, Linear, &A));
  PetscCall(Diagonal(9, 60, Pairs, &B));
  PetscCall(Solve("one value", A, 1, PETSC_DETERMINE, PETSC_DETERMINE, 1, Linear));
  PetscCall(Solve("ncv as small as nsv", A, 6, 6, PETSC_DETERMINE, 6, Linear));
  PetscCall(Solve("ncv given", A, 10, 40, PETSC_DETERMINE, 10, Linear));
  PetscCall(Solve("ncv = n", A, 10, 90, PETSC_DETERMINE, 10, Linear));
  PetscCall(Solve("ncv > n", A, 10, 1000, PETSC_DETERMINE, 10, Linear));
  PetscCall(Solve("mpd given", A, 30, PETSC_DETERMINE, 20, 30, Linear));
  PetscCall(Solve("mpd and ncv given", A, 30, 60, 25, 30, Linear));
  PetscCall(Solve("all values", A, 90, PETSC_DETERMINE, PETSC_DETERMINE, 90, Linear));
  PetscCall(Solve("more values than there are", B, 20, PETSC_DETERMINE, PETSC_DETERMINE, 9, Pairs));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A dense matrix of rank columns, with vectors of the type of A, whose leading four rows have entries */
static PetscErrorCode Factor(Mat A, PetscInt n, PetscInt N, PetscInt rank, PetscInt (*entry)(PetscInt, PetscInt), Mat *F)
{
  VecType  type;
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, type, n, PETSC_DECIDE, N, rank, PETSC_DECIDE, NULL, F));
  PetscCall(MatSetVecType(*F, type));
  PetscCall(MatGetOwnershipRange(*F, &first, &last));
  for (PetscInt i = first; i < PetscMin(last, 4); i++) {
    for (PetscInt j = 0; j < rank; j++) PetscCall(MatSetValue(*F, i, j, entry(i, j), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*F, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*F, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt EntryOfU(PetscInt i, PetscInt j)
{
  return 1 + (i * (j + 1)) % 5;
}

static PetscInt EntryOfV(PetscInt i, PetscInt j)
{
  return 2 - (i + j) % 3;
}

/* The diagonal matrix as a sum A + U C V^H. Only blocks are multiplied by A: it has no product with a vector until the solution is checked. */
static PetscErrorCode LowRankPart(PetscInt m, PetscInt n)
{
  Mat       A, U, V, B;
  Vec       c;
  SVD       svd;
  PetscBool right = PETSC_FALSE;
#if PetscDefined(USE_COMPLEX)
  const PetscScalar diag[] = {0.5, -2, 3 + 2.5 * PETSC_i};
#else
  const PetscScalar diag[] = {0.5, -2, 3};
#endif
  PetscInt          first, last, nlocal;
  PetscErrorCodeFn *mult;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, m, n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatGetLocalSize(A, NULL, &nlocal));
  for (PetscInt i = first; i < PetscMin(last, PetscMin(m, n)); i++) {
    const PetscInt j = PetscMin(m, n) - 1 - i;

    PetscCall(MatSetValue(A, i, j, Linear(j, PetscMin(m, n)), ADD_VALUES));
    for (PetscInt k = 0; k < 4 && i < 4; k++) {
      for (PetscInt l = 0; l < 3; l++) PetscCall(MatSetValue(A, i, k, -diag[l] * (PetscScalar)(EntryOfU(i, l) * EntryOfV(k, l)), ADD_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, 3, &c));
  for (PetscInt l = 0; l < 3; l++) PetscCall(VecSetValue(c, l, diag[l], INSERT_VALUES));
  PetscCall(VecAssemblyBegin(c));
  PetscCall(VecAssemblyEnd(c));
  PetscCall(Factor(A, last - first, m, 3, EntryOfU, &U));
  PetscCall(Factor(A, nlocal, n, 3, EntryOfV, &V));
  PetscCall(MatCreateLRC(A, U, c, V, &B));
  PetscCall(MatGetOperation(A, MATOP_MULT, &mult));
  PetscCall(MatSetOperation(A, MATOP_MULT, NULL));
  PetscCall(Create(B, 5, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
  PetscCall(SVDSolve(svd));
  PetscCall(MatSetOperation(A, MATOP_MULT, mult));
  PetscCall(Right(svd, 5, Linear, &right));
  PetscCall(Expect("a matrix and a low-rank part", right));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&U));
  PetscCall(MatDestroy(&V));
  PetscCall(VecDestroy(&c));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices of PETSc's whose products are functions of their own, with odd numbers of rows and columns */
static PetscErrorCode Operators(void)
{
  const PetscInt sizes[][2] = {
    {61,  37},
    {37,  61},
    {131, 49}
  };

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
    Mat A, D, N;

    PetscCall(Diagonal(sizes[k][0], sizes[k][1], Linear, &A));
    PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &D));
    PetscCall(MatCreateNormal(A, &N));
    PetscCall(Solve("a dense matrix", D, 5, PETSC_DETERMINE, PETSC_DETERMINE, 5, Linear));
    PetscCall(LowRankPart(sizes[k][0], sizes[k][1]));
    if (sizes[k][0] > sizes[k][1]) PetscCall(Solve("A^T A", N, 5, PETSC_DETERMINE, PETSC_DETERMINE, 5, Squares));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&D));
    PetscCall(MatDestroy(&N));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solver object, many solves */
static PetscErrorCode Sequences(void)
{
  Mat       A, B, C;
  SVD       svd;
  PetscBool right = PETSC_FALSE;
  PetscInt  ncv1, ncv2;
  PetscReal error;

  PetscFunctionBegin;
  PetscCall(Diagonal(120, 90, Linear, &A));
  PetscCall(Diagonal(60, 200, Pairs, &B));
  PetscCall(Diagonal(12, 10, Linear, &C));
  PetscCall(Create(A, 8, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDGetDimensions(svd, NULL, &ncv1, NULL));
  PetscCall(Right(svd, 8, Linear, &right));
  PetscCall(Expect("first solve", right));
  PetscCall(SVDSetOperators(svd, A, NULL));
  PetscCall(SVDSolve(svd));
  PetscCall(Right(svd, 8, Linear, &right));
  PetscCall(Expect("the same again", right));
  PetscCall(MatScale(A, 2.0));
  PetscCall(SVDSetOperators(svd, A, NULL));
  PetscCall(SVDSolve(svd));
  PetscCall(Right(svd, 8, Half, &right));
  PetscCall(Expect("values changed", right));
  PetscCall(SVDSetOperators(svd, C, NULL));
  PetscCall(SVDSolve(svd));
  PetscCall(Right(svd, 8, Linear, &right));
  PetscCall(Expect("a small matrix", right));
  PetscCall(SVDSetOperators(svd, B, NULL));
  PetscCall(SVDSolve(svd));
  PetscCall(Right(svd, 8, Pairs, &right));
  PetscCall(Expect("a wide matrix", right));
  PetscCall(SVDSetDimensions(svd, 20, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(SVDBlockLanczosSetBlockSize(svd, 3));
  PetscCall(SVDSolve(svd));
  PetscCall(Right(svd, 20, Pairs, &right));
  PetscCall(Expect("more values, another block size", right));
  PetscCall(SVDBlockLanczosSetForm(svd, SVD_BLOCKLANCZOS_FORM_TWOSIDED));
  PetscCall(SVDSolve(svd));
  PetscCall(Right(svd, 20, Pairs, &right));
  PetscCall(Expect("two-sided", right));
  PetscCall(SVDSetDimensions(svd, 1, 14, PETSC_DETERMINE));
  PetscCall(SVDSolve(svd));
  PetscCall(Right(svd, 1, Pairs, &right));
  PetscCall(Expect("fewer values, and a basis smaller than the number of values of the last solve", right));
  PetscCall(SVDComputeError(svd, 0, SVD_ERROR_RELATIVE, &error));
  PetscCall(SVDBlockLanczosSetCertify(svd, 1e-2));
  PetscCall(SVDSetOperators(svd, C, NULL));
  PetscCall(SVDSolve(svd));
  PetscCall(Right(svd, 1, Linear, &right));
  PetscCall(SVDComputeError(svd, 0, SVD_ERROR_RELATIVE, &error)); /* by SLEPc's work vectors */
  PetscCall(Expect("a setting and the sizes changed", (PetscBool)(right && error <= SLEPC_DEFAULT_TOL)));
  PetscCall(SVDSetType(svd, SVDCROSS));
  PetscCall(SVDSolve(svd));
  PetscCall(Right(svd, 1, Linear, &right));
  PetscCall(Expect("another type with the same matrix", right));
  PetscCall(SVDSetOperators(svd, B, NULL));
  PetscCall(SVDSetType(svd, SVDTRLANCZOS));
  PetscCall(SVDGetImplicitTranspose(svd, &right));
  PetscCall(Expect("another type finds SLEPc's transpose mode", PetscNot(right)));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDSetOperators(svd, A, NULL));
  PetscCall(SVDSetType(svd, SVDBLOCKLANCZOS));
  PetscCall(SVDSetDimensions(svd, 8, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDGetDimensions(svd, NULL, &ncv2, NULL));
  PetscCall(Right(svd, 8, Half, &right));
  PetscCall(Expect("back from another type and other sizes", (PetscBool)(right && ncv1 == ncv2)));
  PetscCall(SVDDestroy(&svd));
  PetscCall(Create(B, 3, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
  for (PetscInt k = 0; k < 3; k++) {
    PetscCall(MatDestroy(&B));
    PetscCall(Diagonal(k == 1 ? 8 : 900, k == 1 ? 8 : 800, Linear, &B));
    PetscCall(SVDSetOperators(svd, B, NULL));
    PetscCall(SVDSolve(svd));
    PetscCall(SVDGetDimensions(svd, NULL, k ? &ncv2 : &ncv1, NULL));
    PetscCall(Right(svd, 3, Linear, &right));
    PetscCall(Expect("sizes chosen anew after a smaller matrix", (PetscBool)(right && (k < 2 || ncv1 == ncv2))));
  }
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StopAtTen(SVD svd, PetscInt its, PetscInt max_it, PetscInt nconv, PetscInt nsv, SVDConvergedReason *reason, void *ctx)
{
  PetscFunctionBegin;
  *reason = nconv >= 10 ? SVD_CONVERGED_USER : SVD_CONVERGED_ITERATING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ConvergedLoosely(SVD svd, PetscReal sigma, PetscReal res, PetscReal *errest, void *ctx)
{
  PetscFunctionBegin;
  *errest = res / (10 * sigma);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CountMonitors(SVD svd, PetscInt its, PetscInt nconv, PetscReal *sigma, PetscReal *errest, PetscInt nest, void *ctx)
{
  PetscFunctionBegin;
  (*(PetscInt *)ctx)++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SLEPc's convergence tests and stopping tests */
static PetscErrorCode Tests(void)
{
  Mat                A;
  SVD                svd;
  PetscBool          right = PETSC_FALSE;
  PetscInt           n, its, max_it, monitors = 0;
  SVDConvergedReason reason;
  PetscReal          sigma;
  const SVDConv      conv[] = {SVD_CONV_ABS, SVD_CONV_REL, SVD_CONV_NORM};

  PetscFunctionBegin;
  PetscCall(Diagonal(200, 180, Linear, &A));
  for (int i = 0; i < 3; i++) {
    PetscCall(Create(A, 8, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
    PetscCall(SVDSetConvergenceTest(svd, conv[i]));
    PetscCall(SVDSolve(svd));
    PetscCall(Right(svd, 8, Linear, &right));
    PetscCall(Expect(i == 0 ? "absolute test" : i == 1 ? "relative test" : "test relative to the norm", right));
    PetscCall(SVDDestroy(&svd));
  }
  PetscCall(Create(A, 8, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
  PetscCall(SVDSetConvergenceTestFunction(svd, ConvergedLoosely, NULL, NULL));
  PetscCall(SVDMonitorSet(svd, CountMonitors, &monitors, NULL));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDGetConverged(svd, &n));
  PetscCall(SVDGetIterationNumber(svd, &its));
  PetscCall(Expect("a user's convergence test, monitors", (PetscBool)(n >= 8 && monitors > 0 && monitors <= its)));
  PetscCall(SVDDestroy(&svd));

  PetscCall(Create(A, 60, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
  PetscCall(SVDSetStoppingTestFunction(svd, StopAtTen, NULL, NULL));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDGetConverged(svd, &n));
  PetscCall(SVDGetConvergedReason(svd, &reason));
  PetscCall(Right(svd, 10, Linear, &right));
  PetscCall(Expect("a user's stopping test", (PetscBool)(right && reason == SVD_CONVERGED_USER)));
  PetscCall(SVDDestroy(&svd));

  /* the number of iterations until values are found */
  PetscCall(Create(A, 16, 40, PETSC_DETERMINE, &svd));
  n = 0;
  for (max_it = 1; !n && max_it < 100; max_it++) {
    PetscCall(SVDSetTolerances(svd, 1e-8, max_it));
    PetscCall(SVDSetOperators(svd, A, NULL));
    PetscCall(SVDSolve(svd));
    PetscCall(SVDGetConverged(svd, &n));
  }
  PetscCall(SVDGetConvergedReason(svd, &reason));
  PetscCall(SVDGetIterationNumber(svd, &its));
  PetscCall(Expect("iterations run out: said so", (PetscBool)(reason == SVD_DIVERGED_ITS && its == max_it - 1 && n > 0 && n < 16)));
  PetscCall(Compare(svd, n, Linear, &right));
  PetscCall(Expect("what has converged by then is right", right));
  PetscCall(SVDSetTolerances(svd, 1e-8, 500));
  PetscCall(SVDSetOperators(svd, A, NULL));
  PetscCall(SVDSolve(svd));
  PetscCall(Right(svd, 16, Linear, &right));
  PetscCall(Expect("with more of them: right", right));
  PetscCall(SVDDestroy(&svd));

  PetscCall(Create(A, 6, 40, PETSC_DETERMINE, &svd));
  PetscCall(SVDSetConvergenceTest(svd, SVD_CONV_MAXIT));
  PetscCall(SVDSetTolerances(svd, 1e-8, 4));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDGetConverged(svd, &n));
  PetscCall(SVDGetConvergedReason(svd, &reason));
  PetscCall(SVDGetIterationNumber(svd, &its));
  PetscCall(SVDGetSingularTriplet(svd, 0, &sigma, NULL, NULL));
  if (SLEPC_VERSION_LT(3, 26, 0) && reason == SVD_CONVERGED_TOL) reason = SVD_CONVERGED_MAXIT; /* older versions return this as soon as enough values have converged */
  PetscCall(Expect("a fixed number of iterations", (PetscBool)(reason == SVD_CONVERGED_MAXIT && its == 4 && n == 6 && PetscAbsReal(sigma - 180) < 1)));
  PetscCall(SVDDestroy(&svd));

  PetscCall(Create(A, 1, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
  PetscCall(SVDSetTolerances(svd, 1e-12, PETSC_CURRENT));
  PetscCall(SVDSetDimensions(svd, 8, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(SVDSolve(svd));
  PetscCall(Right(svd, 8, Linear, &right));
  PetscCall(Expect("a tolerance near rounding", right));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything above a threshold, of single and of multiple values */
static PetscErrorCode Threshold(void)
{
  PetscFunctionBegin;
  for (int multiple = 0; multiple < 2; multiple++) {
    for (int relative = 0; relative < 2; relative++) {
      Spectrum  d = multiple ? Pairs : Linear;
      Mat       A;
      SVD       svd;
      PetscBool right = PETSC_FALSE;
      PetscInt  n, expected = 0;
      PetscReal threshold = relative ? 0.703 : 100.5;

      PetscCall(Diagonal(200, 150, d, &A));
      while (d(expected, 150) >= (relative ? threshold * d(0, 150) : threshold)) expected++;
      PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
      PetscCall(SVDSetOperators(svd, A, NULL));
      PetscCall(SVDSetType(svd, SVDBLOCKLANCZOS));
      PetscCall(SVDSetFromOptions(svd));
      PetscCall(SVDSetThreshold(svd, threshold, (PetscBool)relative));
      PetscCall(SVDSolve(svd));
      PetscCall(SVDGetConverged(svd, &n));
      PetscCall(Right(svd, expected, d, &right));
      PetscCall(Expect(relative ? "values above a relative threshold" : "values above a threshold", (PetscBool)(right && n == expected)));
      if (n != expected) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %" PetscInt_FMT " values, %" PetscInt_FMT " expected\n", n, expected));
      PetscCall(SVDDestroy(&svd));
      PetscCall(MatDestroy(&A));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors to start from: good ones, too many, all the same, on the side that SLEPc swaps */
static PetscErrorCode InitialSpace(void)
{
  PetscFunctionBegin;
  for (int wide = 0; wide < 2; wide++) {
    Mat       A;
    SVD       svd;
    Vec       left, right, *vecs;
    PetscBool good = PETSC_FALSE;
    PetscInt  steps[2];

    PetscCall(Diagonal(wide ? 150 : 200, wide ? 200 : 150, Linear, &A));
    PetscCall(Create(A, 6, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
    PetscCall(SVDBlockLanczosSetBlockSize(svd, 8));
    PetscCall(SVDSolve(svd));
    PetscCall(SVDBlockLanczosGetCounts(svd, &steps[0], NULL, NULL, NULL));
    PetscCall(MatCreateVecs(A, &right, &left));
    PetscCall(VecDuplicateVecs(wide ? left : right, 12, &vecs));
    for (PetscInt i = 0; i < 6; i++) PetscCall(SVDGetSingularTriplet(svd, i, NULL, wide ? vecs[i] : NULL, wide ? NULL : vecs[i]));
    for (PetscInt i = 6; i < 12; i++) PetscCall(VecCopy(vecs[0], vecs[i]));
    PetscCall(SVDSetInitialSpaces(svd, wide ? 0 : 6, vecs, wide ? 6 : 0, vecs));
    PetscCall(SVDSolve(svd));
    PetscCall(SVDBlockLanczosGetCounts(svd, &steps[1], NULL, NULL, NULL));
    PetscCall(Right(svd, 6, Linear, &good));
    PetscCall(Expect("started from the solution", (PetscBool)(good && steps[1] < steps[0])));
    PetscCall(SVDBlockLanczosSetBlockSize(svd, 2));
    PetscCall(SVDSetInitialSpaces(svd, wide ? 0 : 6, vecs, wide ? 6 : 0, vecs));
    PetscCall(SVDSolve(svd));
    PetscCall(Right(svd, 6, Linear, &good));
    PetscCall(Expect("more vectors to start from than fit in a block", good));
    PetscCall(SVDSetInitialSpaces(svd, wide ? 0 : 6, vecs + 6, wide ? 6 : 0, vecs + 6));
    PetscCall(SVDSolve(svd));
    PetscCall(Right(svd, 6, Linear, &good));
    PetscCall(Expect("started from one vector six times", good));
    PetscCall(VecDestroyVecs(12, &vecs));
    PetscCall(VecDestroy(&right));
    PetscCall(VecDestroy(&left));
    PetscCall(SVDDestroy(&svd));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KeepError(SVD svd, PetscInt its, PetscInt nconv, PetscReal *sigma, PetscReal *errest, PetscInt nest, void *ctx)
{
  PetscFunctionBegin;
  *(PetscReal *)ctx = errest[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Sloping(PetscInt i, PetscInt n)
{
  return 1 / (1 + (PetscReal)0.02 * (PetscReal)i);
}

/* Makes the first vectors of a solve less accurate, by errors of this size in random directions */
static PetscErrorCode Disturb(PetscInt k, Vec v[], PetscReal size)
{
  PetscRandom random;
  Vec         x;

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(VecDuplicate(v[0], &x));
  for (PetscInt i = 0; i < k; i++) {
    PetscReal norm;

    PetscCall(VecSetRandom(x, random));
    PetscCall(VecNorm(x, NORM_2, &norm));
    PetscCall(VecAXPY(v[i], size / norm, x));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A solve from the vectors of another one, with errors of 10^-3, needs fewer products if its tolerance is loose, and hardly more otherwise. The certificate is true.
  Rounding changes the numbers by a tenth.
*/
static PetscErrorCode WarmStart(void)
{
  const PetscReal tols[]    = {1e-8, 1e-4, 1e-2};
  const PetscReal most[][2] = {
    {1,   1.1 },
    {0.7, 1.1 },
    {0.7, 0.95}
  };
  Mat A;
  Vec v[16];

  PetscFunctionBegin;
  PetscCall(Diagonal(2400, 2000, Sloping, &A));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(tols); t++) {
    for (PetscInt certify = 0; certify < 2; certify++) {
      PetscInt  products[2], n;
      PetscReal bound;

      for (int warm = 0; warm < 2; warm++) {
        SVD svd;

        PetscCall(Create(A, 16, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
        PetscCall(SVDSetTolerances(svd, tols[t], PETSC_CURRENT));
        PetscCall(SVDBlockLanczosSetBlockSize(svd, 4)); /* the numbers of products depend on it */
        PetscCall(SVDBlockLanczosSetCertify(svd, certify ? (PetscReal)PETSC_DETERMINE : 0));
        if (warm) PetscCall(SVDSetInitialSpaces(svd, 16, v, 0, NULL));
        PetscCall(SVDSolve(svd));
        PetscCall(SVDBlockLanczosGetCounts(svd, NULL, &products[warm], NULL, NULL));
        PetscCall(SVDBlockLanczosGetCertificate(svd, &n, &bound, NULL, NULL));
        for (PetscInt i = 0; i < 16; i++) {
          if (warm) PetscCall(VecDestroy(&v[i]));
          else {
            PetscCall(MatCreateVecs(A, &v[i], NULL));
            PetscCall(SVDGetSingularTriplet(svd, i, NULL, NULL, v[i]));
          }
        }
        if (!warm) PetscCall(Disturb(16, v, 1e-3));
        PetscCall(SVDDestroy(&svd));
      }
      PetscCall(Expect("products of a solve from earlier vectors", (PetscBool)(products[1] <= most[t][certify] * (PetscReal)products[0])));
      if (certify) PetscCall(Expect("certificate of a solve from earlier vectors", (PetscBool)(n >= 15 && bound < Sloping(n - 1, 0) && bound > Sloping(n, 0))));
      PetscCall(PetscInfo(A, "tolerance %g, certificate %" PetscInt_FMT ": %" PetscInt_FMT " columns of products, from earlier vectors %" PetscInt_FMT "\n", (double)tols[t], certify, products[0], products[1]));
    }
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The random columns beside a user's vector depend on it, since it may come from a solve with the same seed. A vector and its negative differ by these only. */
static PetscErrorCode RandomBesideInitial(void)
{
  PetscReal error[3];
  Mat       A;
  Vec       v;

  PetscFunctionBegin;
  PetscCall(Diagonal(200, 150, Linear, &A));
  PetscCall(MatCreateVecs(A, &v, NULL));
  for (PetscInt k = 0; k < 3; k++) {
    SVD svd;

    PetscCall(VecSet(v, k == 1 ? -1 : 1));
    PetscCall(Create(A, 3, 24, PETSC_DETERMINE, &svd));
    PetscCall(SVDSetTolerances(svd, PETSC_CURRENT, 1));
    PetscCall(SVDSetInitialSpaces(svd, 1, &v, 0, NULL));
    PetscCall(SVDMonitorSet(svd, KeepError, &error[k], NULL));
    PetscCall(SVDSolve(svd));
    PetscCall(SVDDestroy(&svd));
  }
  PetscCall(Expect("random columns depend on the initial vectors", (PetscBool)(error[0] == error[2] && PetscAbsReal(error[0] - error[1]) > 1e-6 * error[0])));
  PetscCall(VecDestroy(&v));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* These must give an error, not a result or an endless loop */
static PetscErrorCode BadInput(void)
{
  const PetscReal bad[] = {NAN, INFINITY};

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    Mat            A;
    SVD            svd;
    PetscInt       first;
    PetscErrorCode ierr;

    PetscCall(Diagonal(60, 40, Linear, &A));
    PetscCall(MatGetOwnershipRange(A, &first, NULL));
    if (!first) PetscCall(MatSetValue(A, 0, 39, bad[i], INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(Create(A, 4, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = SVDSolve(svd);
    PetscCall(PetscPopErrorHandler());
    PetscCall(Expect(i ? "an infinite entry is an error" : "an entry that is no number is an error", (PetscBool)(ierr == PETSC_ERR_FP)));
    /* objects that an error leaves behind are not freed; the next solve must work nevertheless */
    PetscCall(MatDestroy(&A));
    PetscCall(SVDDestroy(&svd));
  }
  {
    Mat            A;
    SVD            svd;
    PetscErrorCode ierr[4];

    PetscCall(Diagonal(60, 40, Linear, &A));
    PetscCall(Create(A, 4, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr[0] = SVDBlockLanczosSetBlockSize(svd, 0);
    ierr[1] = SVDBlockLanczosSetCertify(svd, 1.5);
    ierr[2] = SVDBlockLanczosSetForm(svd, (SVDBlockLanczosForm)7);
    PetscCall(SVDBlockLanczosSetForm(svd, SVD_BLOCKLANCZOS_FORM_FILTER)); /* for the smallest values */
    ierr[3] = SVDSetUp(svd);
    PetscCall(PetscPopErrorHandler());
    PetscCall(Expect("settings out of range are errors", (PetscBool)(ierr[0] == PETSC_ERR_ARG_OUTOFRANGE && ierr[1] == PETSC_ERR_ARG_OUTOFRANGE && ierr[2] == PETSC_ERR_ARG_OUTOFRANGE && ierr[3] == PETSC_ERR_ARG_INCOMP)));
    PetscCall(SVDDestroy(&svd));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both forms build the same space: the same number of steps, from the same start, and the same values */
static PetscErrorCode Forms(void)
{
  Mat       A;
  SVD       svd;
  PetscBool right = PETSC_FALSE;
  PetscInt  steps[2];

  PetscFunctionBegin;
  PetscCall(Diagonal(300, 250, Linear, &A));
  for (int form = 0; form < 2; form++) {
    PetscCall(Create(A, 10, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
    PetscCall(SVDBlockLanczosSetForm(svd, form ? SVD_BLOCKLANCZOS_FORM_TWOSIDED : SVD_BLOCKLANCZOS_FORM_ATA));
    PetscCall(SVDSolve(svd));
    PetscCall(Right(svd, 10, Linear, &right));
    PetscCall(Expect(form ? "two-sided form" : "A^T A form", right));
    PetscCall(SVDBlockLanczosGetCounts(svd, &steps[form], NULL, NULL, NULL));
    PetscCall(SVDDestroy(&svd));
  }
  PetscCall(Expect("as many steps in both forms", (PetscBool)(PetscAbsInt(steps[0] - steps[1]) <= 1)));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With 32-bit integers, arrays of 4 ncv^2 or 24 bs^2 entries on the host are too large */
static PetscErrorCode TooLarge(const char what[], PetscInt n, PetscInt bs)
{
  Mat            A;
  SVD            svd;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(Diagonal(60000, n, Linear, &A));
  PetscCall(Create(A, 1, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
  PetscCall(SVDBlockLanczosSetBlockSize(svd, bs));
  PetscCall(SVDSetDimensions(svd, 1, n, PETSC_DETERMINE));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = SVDSetUp(svd);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Expect(what, (PetscBool)(ierr == PETSC_ERR_ARG_OUTOFRANGE)));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Five zeros */
static PetscReal Deficient(PetscInt i, PetscInt n)
{
  return i < n - 5 ? (PetscReal)(n - i) : 0;
}

/* Whether n values from `first` on, one more each, are the first ones, with small residuals */
static PetscErrorCode Counting(SVD svd, PetscInt zeros, PetscReal first, PetscInt n, PetscBool *right)
{
  PetscInt nconv;

  PetscFunctionBegin;
  PetscCall(SVDGetConverged(svd, &nconv));
  *right = (PetscBool)(nconv >= n);
  for (PetscInt i = 0; i < n && *right; i++) {
    const PetscReal exact = i < zeros ? 0 : first + (i - zeros);
    PetscReal       s, error;

    PetscCall(SVDGetSingularTriplet(svd, i, &s, NULL, NULL));
    PetscCall(SVDComputeError(svd, i, SVD_ERROR_ABSOLUTE, &error));
    if (PetscAbsReal(s - exact) > 1e-9 || !(error < 1e-6)) *right = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Smallest values of a solve: `zeros` zeros, of which the certificate has to know, then values from `first` on */
static PetscErrorCode SolveSmallest(const char what[], SVD svd, PetscInt zeros, PetscInt skipped, PetscReal first, PetscInt n)
{
  PetscInt  found, below;
  PetscReal bound;
  PetscBool right, exact;

  PetscFunctionBegin;
  PetscCall(SVDSetWhichSingularTriplets(svd, SVD_SMALLEST));
  PetscCall(SVDSolve(svd));
  PetscCall(Counting(svd, zeros - skipped, first, n, &right));
  PetscCall(SVDBlockLanczosGetZeros(svd, &found, NULL, &exact));
  PetscCall(SVDBlockLanczosGetCertificate(svd, &below, &bound, NULL, NULL));
  /* values below the bound: zeros, and first, first + 1, ... */
  if (found != zeros || !exact || below != zeros + PetscMax(0, (PetscInt)PetscCeilReal(bound - first))) right = PETSC_FALSE;
  PetscCall(Expect(what, right));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Half of them zeros, the others one to three */
static PetscReal Boundary(PetscInt i, PetscInt n)
{
  return i < n / 2 ? (PetscReal)(1 + i % 3) : 0;
}

/* A filter finds as many zeros as are wanted */
static PetscErrorCode SmallestByFilter(void)
{
  SVD       svd;
  Mat       A;
  PetscInt  zeros;
  PetscBool right, exact;

  PetscFunctionBegin;
  PetscCall(Diagonal(1100, 900, Boundary, &A));
  PetscCall(Create(A, 8, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
  PetscCall(SVDSetWhichSingularTriplets(svd, SVD_SMALLEST));
  PetscCall(SVDBlockLanczosSetForm(svd, SVD_BLOCKLANCZOS_FORM_FILTER));
  PetscCall(SVDSolve(svd));
  PetscCall(Counting(svd, 8, 0, 8, &right));
  PetscCall(SVDBlockLanczosGetZeros(svd, &zeros, NULL, &exact));
  PetscCall(Expect("zeros of a large null space by the filter", (PetscBool)(right && zeros == 8 && !exact)));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds a value for tests to those that the library reads; before: what there was, for setenv() */
static PetscErrorCode AddTestValue(const char value[], char before[], size_t len)
{
  const char *settings = getenv("PETSCCSRC_TEST");
  char        with[512];

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(before, settings ? settings : "", len));
  PetscCall(PetscSNPrintf(with, sizeof(with), "%s,%s", value, before));
  PetscCheck(!setenv("PETSCCSRC_TEST", with, 1), PETSC_COMM_SELF, PETSC_ERR_SYS, "setenv() failed");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether SVDView() says so */
static PetscErrorCode Says(SVD svd, const char what[], PetscBool *says)
{
  char       *text;
  size_t      size;
  FILE       *f = open_memstream(&text, &size);
  PetscViewer viewer;
  PetscMPIInt rank, found;

  PetscFunctionBegin;
  PetscCheck(f, PETSC_COMM_SELF, PETSC_ERR_SYS, "open_memstream() failed");
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_WORLD, f, &viewer));
  PetscCall(SVDView(svd, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  fclose(f);
  found = rank || strstr(text, what); /* only the first process prints */
  free(text);
  PetscCallMPI(MPI_Bcast(&found, 1, MPI_INT, 0, PETSC_COMM_WORLD));
  *says = (PetscBool)found;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A filter that is tried first, as where a factor would take many operations; the factor is made if some values, here of `few` columns, are small */
static PetscErrorCode SmallestByFilterFirst(const char what[], PetscInt few, const char form[])
{
  const PetscInt n = 400;
  char           before[256];
  SVD            svd, inverse;
  Mat            A;
  PetscInt       first, last, found;
  PetscBool      right = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(AddTestValue("filter_flops=0", before, sizeof(before)));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt64 i = first; i < last; i++) {
    for (PetscInt64 k = 0; k < 4; k++) {
      const PetscInt j = (PetscInt)(k ? (i * i * (7 + 2 * k) + 1009 * k * i + 13 * k) % n : i);

      PetscCall(MatSetValue(A, (PetscInt)i, j, (k ? (PetscReal)0.1 : 1 + (PetscReal)i / n) * (j < few ? (PetscReal)1e-3 : 1), ADD_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(Create(A, 4, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
  PetscCall(SVDSetWhichSingularTriplets(svd, SVD_SMALLEST));
  PetscCall(SVDSolve(svd));
  PetscCall(Says(svd, form, &right));
  PetscCall(Create(A, 4, PETSC_DETERMINE, PETSC_DETERMINE, &inverse));
  PetscCall(SVDSetWhichSingularTriplets(inverse, SVD_SMALLEST));
  PetscCall(SVDBlockLanczosSetForm(inverse, SVD_BLOCKLANCZOS_FORM_INVERSE));
  PetscCall(SVDSolve(inverse));
  PetscCall(SVDGetConverged(inverse, &found));
  if (found < 4) right = PETSC_FALSE;
  PetscCall(SVDGetConverged(svd, &found));
  if (found < 4) right = PETSC_FALSE;
  for (PetscInt k = 0; k < 4 && right; k++) {
    PetscReal s, expected, error;

    PetscCall(SVDGetSingularTriplet(svd, k, &s, NULL, NULL));
    PetscCall(SVDGetSingularTriplet(inverse, k, &expected, NULL, NULL));
    PetscCall(SVDComputeError(svd, k, SVD_ERROR_RELATIVE, &error));
    if (PetscAbsReal(s - expected) > 1e-9 * expected || !(error < 1e-7)) right = PETSC_FALSE;
  }
  PetscCall(Expect(what, right));
  PetscCall(SVDDestroy(&svd));
  PetscCall(SVDDestroy(&inverse));
  PetscCall(MatDestroy(&A));
  PetscCheck(!setenv("PETSCCSRC_TEST", before, 1), PETSC_COMM_SELF, PETSC_ERR_SYS, "setenv() failed");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Rows of large entries make a Cholesky factor less accurate than the shift is, which is relative to columns; columns are repeated. Reflections, which would be
  the last resort, are not allowed, as for a large matrix.
*/
static PetscErrorCode SmallestOfDenseRows(void)
{
  const PetscInt n = 300, k = 280;
  char           before[256];
  SVD            svd, lapack;
  Mat            A, D;
  PetscInt       first, last, found, vectors;
  PetscBool      right;

  PetscFunctionBegin;
  PetscCall(AddTestValue("qr_flops=-1", before, sizeof(before)));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, 1 + 2 * k, n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt j = 0; j < n; j++) {
      const PetscInt c = j % k; /* the last columns are the first ones again */

      if (!i) PetscCall(MatSetValue(A, i, j, 1000, INSERT_VALUES));
      else if (i <= k && c == i - 1) PetscCall(MatSetValue(A, i, j, 3, INSERT_VALUES));
      else if (i > k && (c == i - k - 1 || c == i - k)) PetscCall(MatSetValue(A, i, j, c == i - k ? -9 : 9, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(Create(A, 8, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
  PetscCall(SVDSetWhichSingularTriplets(svd, SVD_SMALLEST));
  PetscCall(SVDBlockLanczosSetForm(svd, SVD_BLOCKLANCZOS_FORM_INVERSE));
  PetscCall(SVDSolve(svd));
  PetscCall(Counting(svd, 8, 0, 8, &right));
  PetscCall(SVDBlockLanczosGetCounts(svd, NULL, &vectors, NULL, NULL));
  PetscCall(Expect("zeros beside rows of large entries", (PetscBool)(right && vectors < 300))); /* that there are more of them does not keep the solve busy */
  PetscCall(SVDDestroy(&svd));
  PetscCall(Create(A, 8, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
  PetscCall(SVDSetWhichSingularTriplets(svd, SVD_SMALLEST));
  PetscCall(SVDBlockLanczosSetForm(svd, SVD_BLOCKLANCZOS_FORM_INVERSE));
  PetscCall(SVDBlockLanczosSetNonzero(svd, 0));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDGetConverged(svd, &found));
  PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &D));
  PetscCall(SVDCreate(PETSC_COMM_WORLD, &lapack));
  PetscCall(SVDSetOperators(lapack, D, NULL));
  PetscCall(SVDSetType(lapack, SVDLAPACK));
  PetscCall(SVDSolve(lapack));
  right = (PetscBool)(found >= 8);
  for (PetscInt i = 0; i < 8 && right; i++) {
    PetscReal s, exact;

    PetscCall(SVDGetSingularTriplet(svd, i, &s, NULL, NULL));
    PetscCall(SVDGetSingularTriplet(lapack, k - 1 - i, &exact, NULL, NULL));
    if (PetscAbsReal(s - exact) > 1e-9 * exact) right = PETSC_FALSE;
  }
  PetscCall(Expect("the values after these", right));
  PetscCall(SVDDestroy(&lapack));
  PetscCall(MatDestroy(&D));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscCheck(!setenv("PETSCCSRC_TEST", before, 1), PETSC_COMM_SELF, PETSC_ERR_SYS, "setenv() failed");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Smallest(void)
{
  const SVDBlockLanczosForm forms[] = {SVD_BLOCKLANCZOS_FORM_AUTO, SVD_BLOCKLANCZOS_FORM_INVERSE};
  SVD                       svd;
  Mat                       A;
  Vec                       v[4];
  PetscInt                  before, after;
  PetscBool                 right;

  PetscFunctionBegin;
  for (PetscInt wide = 0; wide < 2; wide++) {
    PetscCall(Diagonal(wide ? 90 : 120, wide ? 120 : 90, Deficient, &A));
    for (PetscInt f = 0; f < 2; f++) {
      PetscCall(Create(A, 9, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
      PetscCall(SVDBlockLanczosSetForm(svd, forms[f]));
      PetscCall(SolveSmallest("a null space, and the values after it", svd, 5, 0, 6, 9));
      PetscCall(SVDSetDimensions(svd, 4, PETSC_DETERMINE, PETSC_DETERMINE));
      PetscCall(SVDBlockLanczosSetNonzero(svd, 0));
      PetscCall(SolveSmallest("the smallest values that are not zero", svd, 5, 5, 6, 4));
      PetscCall(SVDDestroy(&svd));
    }
    PetscCall(MatDestroy(&A));
  }
  PetscCall(Diagonal(1000, 900, Linear, &A));
  PetscCall(Create(A, 4, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
  PetscCall(SVDBlockLanczosSetForm(svd, SVD_BLOCKLANCZOS_FORM_INVERSE));
  PetscCall(SolveSmallest("the inverse", svd, 0, 0, 1, 4));
  PetscCall(SVDBlockLanczosGetCounts(svd, NULL, &before, NULL, NULL));
  for (PetscInt i = 0; i < 4; i++) {
    PetscCall(MatCreateVecs(A, &v[i], NULL));
    PetscCall(SVDGetSingularTriplet(svd, i, NULL, NULL, v[i]));
  }
  PetscCall(SVDSetInitialSpaces(svd, 4, v, 0, NULL));
  PetscCall(SVDBlockLanczosSetCertify(svd, 0));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDBlockLanczosGetCounts(svd, NULL, &after, NULL, NULL));
  PetscCall(Counting(svd, 0, 1, 4, &right));
  PetscCall(Expect("started from the solution", (PetscBool)(right && after < 0.7 * before)));
  for (PetscInt i = 0; i < 4; i++) PetscCall(VecDestroy(&v[i]));
  PetscCall(SVDBlockLanczosSetCertify(svd, PETSC_DETERMINE));
  if (SVD_HAS_THRESHOLDS) {
    PetscInt nconv;

    PetscCall(SVDSetThreshold(svd, 6.5, PETSC_FALSE));
    PetscCall(SVDSolve(svd));
    PetscCall(SVDGetConverged(svd, &nconv));
    PetscCall(Counting(svd, 0, 1, 6, &right));
    PetscCall(Expect("values below a threshold", (PetscBool)(right && nconv == 6)));
    PetscCall(SVDSetStoppingTest(svd, SVD_STOP_BASIC));
  } else PetscCall(Expect("values below a threshold", PETSC_TRUE));
  PetscCall(SVDSetWhichSingularTriplets(svd, SVD_LARGEST));
  PetscCall(SVDBlockLanczosSetForm(svd, SVD_BLOCKLANCZOS_FORM_AUTO));
  PetscCall(SVDSetDimensions(svd, 3, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(SVDSolve(svd));
  PetscCall(Compare(svd, 3, Linear, &right));
  PetscCall(Expect("then the largest", right));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscCall(Diagonal(100, 90, Linear, &A));
  PetscCall(Create(A, 4, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
  PetscCall(SVDBlockLanczosSetForm(svd, SVD_BLOCKLANCZOS_FORM_FILTER));
  PetscCall(SolveSmallest("the filter", svd, 0, 0, 1, 4));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscCall(SmallestByFilter());
  PetscCall(SmallestOfDenseRows());
  PetscCall(SmallestByFilterFirst("a filter where a factor would take longer", 0, "by a filter"));
  PetscCall(SmallestByFilterFirst("a factor where a filter does not do", 2, "by the inverse"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By the KSP of the options, for matrices of all shapes, and again when the matrix has changed */
static PetscErrorCode SmallestKSP(void)
{
  SVD       svd;
  Mat       A;
  KSP       ksp;
  PetscReal value;

  PetscFunctionBegin;
  for (PetscInt wide = 0; wide < 2; wide++) {
    PetscCall(Diagonal(wide ? 90 : 120, wide ? 120 : 90, Deficient, &A));
    PetscCall(Create(A, 9, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
    PetscCall(SolveSmallest("a null space, and the values after it", svd, 5, 0, 6, 9));
    PetscCall(SVDSetDimensions(svd, 4, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(SVDBlockLanczosSetNonzero(svd, 0));
    PetscCall(SolveSmallest("the smallest values that are not zero", svd, 5, 5, 6, 4));
    PetscCall(SVDDestroy(&svd));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(Diagonal(90, 90, Linear, &A));
  PetscCall(Create(A, 4, PETSC_DETERMINE, PETSC_DETERMINE, &svd));
  PetscCall(SVDBlockLanczosGetKSP(svd, &ksp));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(SolveSmallest("a square matrix", svd, 0, 0, 1, 4));
  PetscCall(MatScale(A, 3));
  PetscCall(SVDSetOperators(svd, A, NULL));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDGetSingularTriplet(svd, 1, &value, NULL, NULL));
  PetscCall(Expect("the matrix has changed", (PetscBool)(PetscAbsReal(value - 6) < 1e-10)));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool bad = PETSC_FALSE, toolarge = PETSC_FALSE, smallest = PETSC_FALSE, smallestksp = PETSC_FALSE, cholesky = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(SlepcCSRCInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-bad", &bad, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-toolarge", &toolarge, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-smallest", &smallest, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-cholesky", &cholesky, NULL));
  PetscCheck(!cholesky || !setenv("PETSCCSRC_TEST", "cache=0,qr_flops=0", 1), PETSC_COMM_SELF, PETSC_ERR_SYS, "setenv() failed");
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-smallestksp", &smallestksp, NULL));
  if (bad || toolarge || smallest || smallestksp) {
    if (bad) PetscCall(BadInput());
    else if (smallest) PetscCall(Smallest());
    else if (smallestksp) PetscCall(SmallestKSP());
    else {
      PetscCall(TooLarge("a basis too large for the host's arrays is an error", 50000, PETSC_DETERMINE));
      PetscCall(TooLarge("blocks too large for the host's arrays are an error", 10000, 9500));
    }
    PetscCall(SlepcFinalize());
    return failed ? 1 : 0;
  }
  PetscCall(Dimensions());
  PetscCall(Operators());
  PetscCall(Sequences());
  PetscCall(Tests());
  if (SVD_HAS_THRESHOLDS) PetscCall(Threshold());
  PetscCall(InitialSpace());
  PetscCall(WarmStart());
  PetscCall(RandomBesideInitial());
  PetscCall(Forms());
  PetscCall(SlepcFinalize());
  return failed ? 1 : 0;
}

/*TEST

  build:
    depends: check.c
    requires: double

  testset:
    output_file: output/behaviour_1.out
    test:
      suffix: 1
      nsize: {{1 2 3}}
    test:
      suffix: types
      args: -mat_type {{csrccuda bccoo}}
    test:
      suffix: 1_gpu
      args: -mat_type {{csrccuda aijcusparse}}

  testset:
    args: -smallest
    output_file: output/behaviour_smallest.out
    test:
      suffix: smallest
      nsize: {{1 2 3}}
    test:
      suffix: smallest_cholesky
      nsize: {{1 3}}
      args: -cholesky
    test:
      suffix: smallest_types
      nsize: {{1 2}}
      args: -mat_type {{csrccuda bccoo}} -mat_form_release {{0 1}}

  testset:
    args: -smallestksp
    output_file: output/behaviour_smallestksp.out
    test:
      suffix: smallestksp
      args: -svd_blocklanczos_pc_type {{cholesky lu}} -svd_blocklanczos_pc_factor_nonzeros_along_diagonal
    test:
      suffix: smallestksp_parallel
      nsize: {{1 3}}
      args: -svd_blocklanczos_pc_type redundant -svd_blocklanczos_redundant_pc_type cholesky
    test:
      suffix: smallestksp_iterative
      nsize: {{1 2}}
      args: -svd_blocklanczos_ksp_type cg -svd_blocklanczos_pc_type jacobi -svd_blocklanczos_ksp_rtol 1e-3
    test:
      suffix: smallestksp_spqr
      requires: suitesparse
      args: -svd_blocklanczos_pc_type qr
    test:
      suffix: smallestksp_mumps
      requires: mumps
      nsize: {{1 3}}
      args: -svd_blocklanczos_pc_type {{cholesky lu}} -svd_blocklanczos_pc_factor_mat_solver_type mumps

  # an error leaves memory behind, which is reported after the lines that count
  test:
    suffix: bad
    nsize: {{1 2}}
    args: -bad
    filter: grep -E "^(ok|FAILED)"
  test:
    suffix: toolarge
    requires: !defined(PETSC_USE_64BIT_INDICES)
    args: -toolarge
    filter: grep -E "^(ok|FAILED)"

  # a step is a product pair of a whole block; more values than there are: said so
  test:
    suffix: steps
    args: -info :svd
    filter: grep -oE "step 3 \(A\^H A\)|20 singular values wanted of.*" | sort -u

TEST*/
