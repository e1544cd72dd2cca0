static const char help[] = "Left vectors that are computed when they are asked for: values, residuals and vectors as with stored ones, tall and wide.\n\n";

#include "check.h"
#include <support.h>

static PetscInt faults;

static PetscErrorCode Expect(PetscBool right, const char what[])
{
  PetscFunctionBeginUser;
  if (!right) {
    faults++;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "FAULT %s\n", what));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest deviation of the left vectors from orthonormality, and the largest relative residual */
static PetscErrorCode Measure(SVD svd, PetscInt n, PetscReal *orthogonality, PetscReal *residual)
{
  Mat A;
  Vec u, v, x;

  PetscFunctionBeginUser;
  PetscCall(SVDGetOperators(svd, &A, NULL));
  PetscCall(MatCreateVecs(A, &v, &u));
  PetscCall(VecDuplicate(u, &x));
  *orthogonality = *residual = 0.0;
  for (PetscInt i = 0; i < n; i++) {
    PetscReal   error;
    PetscScalar dot;

    PetscCall(SVDComputeError(svd, i, SVD_ERROR_RELATIVE, &error));
    *residual = PetscMax(*residual, error);
    PetscCall(SVDGetSingularTriplet(svd, i, NULL, u, v));
    for (PetscInt j = 0; j <= i; j++) {
      PetscCall(SVDGetSingularTriplet(svd, j, NULL, x, NULL));
      PetscCall(VecDot(u, x, &dot));
      *orthogonality = PetscMax(*orthogonality, PetscAbsScalar(dot - (PetscScalar)(i == j)));
    }
  }
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two computed vectors at a time, given back in any order */
static PetscErrorCode TwoColumns(SVD svd)
{
  BV          U;
  Vec         u[2];
  PetscScalar dot;
  PetscReal   norm[2];

  PetscFunctionBeginUser;
  PetscCall(SVDGetBV(svd, NULL, &U));
  for (PetscInt first = 0; first < 2; first++) {
    PetscCall(BVGetColumn(U, 0, &u[0]));
    PetscCall(BVGetColumn(U, 1, &u[1]));
    PetscCall(BVRestoreColumn(U, first, &u[first]));
    PetscCall(VecNorm(u[1 - first], NORM_2, &norm[1 - first])); /* it is still there */
    PetscCall(Expect((PetscBool)(PetscAbsReal(norm[1 - first] - 1) <= 1e-12), "one of two left vectors"));
    PetscCall(BVRestoreColumn(U, 1 - first, &u[1 - first]));
  }
  PetscCall(BVGetColumn(U, 0, &u[0]));
  PetscCall(BVGetColumn(U, 1, &u[1]));
  PetscCall(VecDot(u[0], u[1], &dot));
  PetscCall(Expect((PetscBool)(PetscAbsScalar(dot) <= 1e-11), "two left vectors"));
  PetscCall(BVRestoreColumn(U, 1, &u[1]));
  PetscCall(BVRestoreColumn(U, 0, &u[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Left vectors stored, not stored, and stored again, by the same object */
static PetscErrorCode Compare(Mat A, PetscInt nsv)
{
  SVD       svd;
  PetscReal stored[64], sigma, orthogonality = 0.0, residual = 0.0;
  PetscInt  nconv;
  PetscBool left;

  PetscFunctionBeginUser;
  PetscCall(SVDCheckCreateSolver(A, nsv, &svd));
  for (PetscInt turn = 0; turn < 3; turn++) {
    PetscCall(SVDBlockLanczosSetLeftVectors(svd, (PetscBool)(turn != 1)));
    PetscCall(SVDSolve(svd));
    PetscCall(SVDBlockLanczosGetLeftVectors(svd, &left));
    PetscCall(Expect((PetscBool)(left == (turn != 1)), "the setting"));
    PetscCall(SVDGetConverged(svd, &nconv));
    PetscCall(Expect((PetscBool)(nconv >= nsv), "fewer values than wanted"));
    for (PetscInt i = 0; i < PetscMin(nsv, nconv); i++) {
      PetscCall(SVDGetSingularTriplet(svd, i, &sigma, NULL, NULL));
      if (!turn) stored[i] = sigma;
      PetscCall(Expect((PetscBool)(PetscAbsReal(sigma - stored[i]) <= 1e-12 * stored[0]), "a value differs"));
    }
    if (turn == 1 && nconv > 1) PetscCall(TwoColumns(svd));
    PetscCall(Measure(svd, PetscMin(nsv, nconv), &orthogonality, &residual));
    PetscCall(Expect((PetscBool)(residual <= 1e-8), "a residual is above the tolerance"));
    PetscCall(Expect((PetscBool)(orthogonality <= (turn == 1 ? 1e-11 : 1e-13)), "left vectors are not orthonormal"));
  }
  PetscCall(SVDDestroy(&svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other types of solvers after one without stored left vectors, and back, with the same object: each stores them, or computes them, itself */
static PetscErrorCode OtherTypes(Mat A, PetscInt nsv)
{
  const SVDType types[] = {SVDBLOCKLANCZOS, SVDTRLANCZOS, SVDBLOCKLANCZOS, SVDCROSS, SVDBLOCKLANCZOS};
  SVD           svd;
  PetscReal     first = 0.0, sigma, orthogonality = 0.0, residual = 0.0;
  PetscInt      nconv;

  PetscFunctionBeginUser;
  PetscCall(SVDCheckCreateSolver(A, nsv, &svd));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    PetscCall(SVDSetType(svd, types[t]));
    if (t % 2 == 0) PetscCall(SVDBlockLanczosSetLeftVectors(svd, PETSC_FALSE));
    PetscCall(SVDSolve(svd));
    PetscCall(SVDGetConverged(svd, &nconv));
    PetscCall(Expect((PetscBool)(nconv >= nsv), types[t]));
    PetscCall(SVDGetSingularTriplet(svd, 0, &sigma, NULL, NULL));
    if (!t) first = sigma;
    PetscCall(Measure(svd, 1, &orthogonality, &residual));
    PetscCall(Expect((PetscBool)(PetscAbsReal(sigma - first) <= 1e-8 * first && residual <= 1e-7 && orthogonality <= 1e-11), types[t]));
  }
  PetscCall(SVDDestroy(&svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A diagonal matrix of rank r */
static PetscErrorCode CreateLowRank(PetscInt r, Mat *A)
{
  PetscInt first, last;

  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 30, 20, 1, NULL, 1, NULL, A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = first; i < PetscMin(last, r); i++) PetscCall(MatSetValue(*A, i, i, 1.0 + i, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Not available without stored vectors: values that A^T A does not resolve, the left vector of a zero value, the two-sided form */
static PetscErrorCode Refused(void)
{
  PetscErrorCode     ierr;
  SVDConvergedReason reason;
  PetscInt           nconv;
  Mat                A;
  Vec                u;
  SVD                svd;

  PetscFunctionBeginUser;
  PetscCall(CreateLowRank(3, &A));
  PetscCall(SVDCheckCreateSolver(A, 5, &svd));
  PetscCall(SVDBlockLanczosSetLeftVectors(svd, PETSC_FALSE));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDGetConverged(svd, &nconv));
  PetscCall(SVDGetConvergedReason(svd, &reason));
  PetscCall(Expect((PetscBool)(nconv == 3 && reason < 0), "values that are not resolved are returned"));
  PetscCall(SVDDestroy(&svd));
  PetscCall(SVDCheckCreateSolver(A, 2, &svd));
  PetscCall(SVDBlockLanczosSetForm(svd, SVD_BLOCKLANCZOS_FORM_TWOSIDED));
  PetscCall(SVDBlockLanczosSetLeftVectors(svd, PETSC_FALSE));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = SVDSolve(svd);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Expect((PetscBool)(ierr == PETSC_ERR_ARG_INCOMP), "the two-sided form is no error"));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));

  PetscCall(CreateLowRank(0, &A));
  PetscCall(SVDCheckCreateSolver(A, 2, &svd));
  PetscCall(SVDBlockLanczosSetLeftVectors(svd, PETSC_FALSE));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDGetConverged(svd, &nconv));
  PetscCall(Expect((PetscBool)(nconv >= 2), "a matrix of zeros"));
  PetscCall(MatCreateVecs(A, NULL, &u));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = SVDGetSingularTriplet(svd, 0, NULL, u, NULL);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Expect((PetscBool)(ierr == PETSC_ERR_ARG_WRONGSTATE), "the left vector of zero is no error"));
  PetscCall(VecDestroy(&u));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values far below the tolerance, which A^T A does not resolve: a triplet counts only if its left vector, too, meets the tolerance */
static PetscErrorCode AbsoluteTolerance(SVDConv conv)
{
  const PetscReal s[8] = {1, 0.119, 4e-12}, tol = 1e-8;
  PetscInt        nconv;
  PetscReal       error;
  Mat             A;
  SVD             svd;

  PetscFunctionBeginUser;
  PetscCall(SVDCheckCreateDiagonal(8, s, &A));
  PetscCall(SVDCheckCreateSolver(A, 6, &svd));
  PetscCall(SVDBlockLanczosSetLeftVectors(svd, PETSC_FALSE));
  PetscCall(SVDSetConvergenceTest(svd, conv));
  PetscCall(SVDSetTolerances(svd, tol, PETSC_DETERMINE));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDGetConverged(svd, &nconv));
  PetscCall(Expect((PetscBool)(nconv >= 2), "two values are far above the tolerance"));
  for (PetscInt i = 0; i < nconv; i++) {
    PetscCall(SVDComputeError(svd, i, SVD_ERROR_ABSOLUTE, &error));
    PetscCall(Expect((PetscBool)(error <= tol), "a triplet does not meet the absolute tolerance"));
  }
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat A, At;

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(SlepcCSRCInitializePackage());
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatFillChessboard(A, 5, 6, 2));
  PetscCall(Compare(A, 20));
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &At));
  PetscCall(Compare(At, 7));
  PetscCall(OtherTypes(A, 3));
  PetscCall(OtherTypes(At, 3));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&At));
  PetscCall(Refused());
  PetscCall(AbsoluteTolerance(SVD_CONV_ABS));
  PetscCall(AbsoluteTolerance(SVD_CONV_NORM));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " faults\n", faults));
  PetscCall(SlepcFinalize());
  return faults ? 1 : 0;
}

/*TEST

  build:
    depends: check.c
    requires: double

  testset:
    args: -mat_type {{aij csrccuda bccoo}}
    filter: grep -oE "FAULT.*|[0-9]+ faults"
    output_file: output/left_1.out
    test:
      suffix: 1
      args: -device_enable none
      nsize: {{1 2}}
    test:
      suffix: gpu

TEST*/
