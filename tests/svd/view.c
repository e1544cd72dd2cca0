static const char help[] = "What SVDView(), monitors and the viewers of errors and values say of a solve, as options ask for.\n";

#include <slepccsrc.h>

int main(int argc, char **argv)
{
  const PetscInt m = 600, n = 400;
  Mat            A;
  SVD            svd;
  PetscInt       first, last;

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(SlepcCSRCInitializePackage());
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, m, n, 1, NULL, 1, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  /* 400 six times, then 394, 393 .. */
  for (PetscInt i = first; i < PetscMin(last, n); i++) PetscCall(MatSetValue(A, i, i, i < 6 ? n : n - i, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
  PetscCall(SVDSetOperators(svd, A, NULL));
  PetscCall(SVDSetDimensions(svd, 8, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(SVDSetFromOptions(svd));
  PetscCall(SVDView(svd, NULL)); /* before set-up has chosen anything */
  PetscCall(SVDSolve(svd));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscCall(SlepcFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  testset:
    args: -svd_type blocklanczos -svd_view
    filter: sed -e "/BV Object/,/solving the problem with/d" -e "/problem type/d" -e "s/  *[0-9.]*e-[0-9][0-9]/ small/g" -e "/last solve/s/[0-9]\{1,\}/N/g" -e "s/.*SVD nconv=.*first unconverged value (error) [0-9.]* (.*)$/a cycle/" -e "s/iterations [0-9]$/iterations N/" | awk "!/a cycle/ || !n++"
    test:
      suffix: 1
      args: -svd_monitor -svd_converged_reason -svd_error_relative ::ascii_info_detail
    test:
      suffix: settings
      args: -svd_blocklanczos_blocksize 3 -svd_ncv 40 -svd_blocklanczos_certify 0 -svd_blocklanczos_form twosided

TEST*/
