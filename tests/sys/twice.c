static char help[] = "PETSc started and ended several times in one process, with the library loaded, linked, or both.\n\n";

#include <petsccsrc.h>

/* A^T A x for x = 1 and a bidiagonal matrix of entries 2 and 1: the middle entries are 2*2 + 1*1 + 2*1 + 1*2 */
static PetscErrorCode UseOnce(MatType type)
{
  Mat                A;
  Vec                x, y;
  PetscInt           first, last, n = 100;
  const PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(A, type));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    PetscCall(MatSetValue(A, i, i, 2, INSERT_VALUES));
    if (i) PetscCall(MatSetValue(A, i, i - 1, 1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMultTranspose(A, y, x));
  PetscCall(VecGetArrayRead(x, &a));
  for (PetscInt i = PetscMax(first, 1); i < PetscMin(last, n - 1); i++) PetscCheck(a[i - first] == (PetscScalar)9.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Entry %" PetscInt_FMT " is %g, should be 9", i, (double)PetscRealPart(a[i - first]));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  if (MPI_Init(&argc, &argv)) return 1;
  for (int round = 1; round < 4; round++) {
    PetscBool linked = PETSC_FALSE;

    PetscCall(PetscInitialize(&argc, &argv, NULL, help));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-linked", &linked, NULL));
    if (linked) {
      PetscCall(PetscCSRCInitializePackage());
      PetscCall(PetscCSRCInitializePackage());
    }
    PetscCall(UseOnce(MATCSRCCUDA));
    PetscCall(UseOnce(MATBCCOO));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "round %d\n", round));
    PetscCall(PetscFinalize());
  }
  return MPI_Finalize();
}

/*TEST

  testset:
    output_file: output/twice_1.out
    nsize: {{1 2}}
    test:
      suffix: loaded
    test:
      suffix: both
      args: -linked
    test:
      suffix: linked
      args: -linked -use_gpu_aware_mpi 0
      env: PETSC_OPTIONS=

TEST*/
