static char help[] = "Matrix options that cannot be honoured are errors that say what is allowed.\n\n";

#include <petscmat.h>

int main(int argc, char **argv)
{
  Mat A;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, 10, 10));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "no error\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  # the message of the error, without its stack
  testset:
    filter: Error: grep -v source: | grep -E "ERROR: (-mat|Missing|Argument|No support)|no error" | sed -E "/no device/s/csrccuda: .+/csrccuda: the reason/"
    test:
      suffix: layout
      args: -mat_type csrccuda -mat_csrc_layout bogus -petsc_ci_portable_error_output
    test:
      suffix: copies
      args: -mat_type csrccuda -mat_form_copies 3 -petsc_ci_portable_error_output
    test:
      suffix: compression
      args: -mat_type bccoo -mat_bccoo_compression bogus -petsc_ci_portable_error_output
    test:
      suffix: device
      args: -mat_type csrccuda -mat_csrc_require_device -device_enable none -petsc_ci_portable_error_output
    test:
      suffix: twotypes
      args: -mat_type csrccuda -mat_seqaij_type seqaijbccoo -petsc_ci_portable_error_output

TEST*/
