/*
  MatNorm(A, NORM_1) of MPIAIJ matrices whose vectors are on a GPU adds to memory that was not set           PETSc 3.26.1, two processes, a GPU

  MatNorm_MPIAIJ() sums the columns' norms into an array from VecGetArrayWrite() without zeroing it. For standard vectors that array is the
  one that VecCreate zeroed; for CUDA vectors it is fresh host memory.

    mpiexec -n 2 ./norm1                   a norm that varies from call to call, or is right by chance

  It should set the array to zero, or take VecGetArray() after VecZeroEntries().
*/
#include <petscmat.h>

int main(int argc, char **argv)
{
  Mat            A, B;
  const PetscInt m = 200, n = 50;
  PetscInt       first, last, wrong = 0;
  char           type[64] = "aijcusparse";

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", type, sizeof(type), NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, m, n));
  PetscCall(MatSetType(A, MATAIJ));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i++)
    for (PetscInt k = 0; k < 5; k++) PetscCall(MatSetValue(A, i, (7 * i + 11 * k) % n, 1.0 + 0.01 * i - k, ADD_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatConvert(A, type, MAT_INITIAL_MATRIX, &B));
  for (int call = 0; call < 10; call++) {
    PetscReal norm, expected;

    PetscCall(MatNorm(A, NORM_1, &expected));
    PetscCall(MatNorm(B, NORM_1, &norm));
    if (!(PetscAbsReal(norm - expected) <= PETSC_SQRT_MACHINE_EPSILON * expected)) wrong++;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "NORM_1 is %g with %s and %g with aij\n", (double)norm, type, (double)expected));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFinalize());
  return wrong ? 1 : 0;
}
