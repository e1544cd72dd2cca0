/*
  MatMultTransposeAdd(A, x, y, z) of aijcusparse adds what z held before                                PETSc 3.26.1, a GPU

  With z different from y, MatMultAddKernel_SeqAIJCUSPARSE() calls cuSPARSE with beta = 1 on z as it is, and adds y afterwards: the result
  is y + A^T x + z. It is right only where z happens to hold zeros.

    ./transposeadd                         |z|_1 differs from aij's
    ./transposeadd -mat_type aij           right

  beta should be 0 on this way, or y be copied to z before.
*/
#include <petscmat.h>

static PetscErrorCode Norm(MatType type, PetscReal *norm)
{
  Mat            A;
  Vec            x, y, z;
  const PetscInt m = 200, n = 50;
  PetscInt       first, last;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, m, n));
  PetscCall(MatSetType(A, type));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i++)
    for (PetscInt k = 0; k < 5; k++) PetscCall(MatSetValue(A, i, (7 * i + 11 * k) % n, 1.0 + 0.01 * i - k, ADD_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &y, &x));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecSet(x, 1.0));
  PetscCall(VecSet(y, 2.0));
  PetscCall(VecSet(z, 1000.0));
  PetscCall(MatMultTransposeAdd(A, x, y, z));
  PetscCall(VecNorm(z, NORM_1, norm));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscReal norm, expected;
  char      type[64] = "aijcusparse";

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", type, sizeof(type), NULL));
  PetscCall(Norm(MATAIJ, &expected));
  PetscCall(Norm(type, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "|z|_1 is %g with %s and %g with aij\n", (double)norm, type, (double)expected));
  PetscCall(PetscFinalize());
  return PetscAbsReal(norm - expected) <= PETSC_SQRT_MACHINE_EPSILON * expected ? 0 : 1;
}
