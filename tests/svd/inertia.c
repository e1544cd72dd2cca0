static const char help[] = "How many singular values lie above the last one found: counted by the inertia of a factorisation, which knows nothing of Krylov.\n\
  -nsv n,...   how many values\n\
  -scale s     size of the stand-ins for real matrices\n";

#include "check.h"
#include <support.h>

#define MAXLIST 16

/* Counts the eigenvalues of A^T A above shift by Sylvester's law: the positive pivots of L D L^T = A^T A - shift */
static PetscErrorCode CountAbove(Mat A, PetscReal shift, PetscInt *above)
{
  Mat           H, S, F;
  IS            rows, cols;
  MatFactorInfo info;

  PetscFunctionBegin;
  PetscCall(MatTransposeMatMult(A, A, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &H));
  PetscCall(MatShift(H, -shift));
  PetscCall(MatSetOption(H, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatConvert(H, MATSEQSBAIJ, MAT_INITIAL_MATRIX, &S));
  PetscCall(MatGetOrdering(S, MATORDERINGNATURAL, &rows, &cols));
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(MatGetFactor(S, MATSOLVERPETSC, MAT_FACTOR_CHOLESKY, &F));
  PetscCall(MatCholeskyFactorSymbolic(F, S, rows, &info));
  PetscCall(MatCholeskyFactorNumeric(F, S, &info));
  PetscCall(MatGetInertia(F, NULL, NULL, above));
  PetscCall(MatDestroy(&F));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&H));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const names[]       = {"ch5-5-b2", "ch5-6-b2", "ESOC", "rail4284", "GL7d16-integer", "connectus", "Rucci1"};
  PetscInt          nsvs[MAXLIST] = {5, 16, 40}, nnsv = 3, wrong = 0;
  PetscReal         scale = 0.002;

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(SlepcCSRCInitializePackage());
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-scale", &scale, NULL));
  PetscCall(SVDCheckGetList("-nsv", MAXLIST, nsvs, &nnsv));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(names); k++) {
    Mat A, B;
    int a, b, r;

    PetscCall(MatCreate(PETSC_COMM_SELF, &A));
    PetscCall(MatSetFromOptions(A));
    if (sscanf(names[k], "ch%d-%d-b%d", &a, &b, &r) == 3) PetscCall(MatFillChessboard(A, a, b, r));
    else PetscCall(MatFillStandin(A, names[k], scale));
    PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &B));
    for (PetscInt i = 0; i < nnsv; i++) {
      SVD       svd;
      PetscInt  nconv, above, found = 0, M, N;
      PetscReal last, sigma;

      PetscCall(MatGetSize(A, &M, &N));
      if (nsvs[i] > PetscMin(M, N)) continue;
      PetscCall(SVDCreate(PETSC_COMM_SELF, &svd));
      PetscCall(SVDSetOperators(svd, A, NULL));
      PetscCall(SVDSetDimensions(svd, nsvs[i], PETSC_DETERMINE, PETSC_DETERMINE));
      PetscCall(SVDSetFromOptions(svd));
      PetscCall(SVDSolve(svd));
      PetscCall(SVDGetConverged(svd, &nconv));
      nconv = PetscMin(nconv, nsvs[i]);
      PetscCall(SVDGetSingularTriplet(svd, nconv - 1, &last, NULL, NULL));
      last *= 1 + 1e-7;
      for (PetscInt j = 0; j < nconv; j++) {
        PetscCall(SVDGetSingularTriplet(svd, j, &sigma, NULL, NULL));
        if (sigma > last) found++;
      }
      PetscCall(CountAbove(B, PetscSqr(last), &above));
      if (nconv < nsvs[i] || above != found) {
        wrong++;
        PetscCall(PetscPrintf(PETSC_COMM_SELF, "WRONG %s, %" PetscInt_FMT " values: %" PetscInt_FMT " converged, %" PetscInt_FMT " of them above %g, where there are %" PetscInt_FMT "\n", names[k], nsvs[i], nconv, found, (double)last, above));
      }
      PetscCall(SVDDestroy(&svd));
    }
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s\n", wrong ? "values are missing" : "as many values as there are"));
  PetscCall(SlepcFinalize());
  return 0;
}

/*TEST

  build:
    depends: check.c
    requires: double !complex

  test:
    suffix: 1
    args: -svd_type blocklanczos -mat_type {{aij csrccuda bccoo}} -svd_blocklanczos_form {{auto twosided}}
    output_file: output/inertia_1.out

TEST*/
