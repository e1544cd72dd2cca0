/*
  Solves with factors of solver type cusparse                                                           PETSc 3.26.1, a GPU

  1. With vectors on the host MatSolve() gives what x held before: MatSolve_SeqAIJCUSPARSE_LU() and its like take VecCUDAGetArrayWrite() of x,
     which checks the type with debugging only. A program with -mat_type aijcusparse and without -vec_type cuda solves nothing, with its default
     preconditioner, and is told that it converged.
  2. After new values MatSolveTranspose() solves with the first ones: where cusparseSpSV_updateMatrix() takes the place of a new analysis,
     updatedTransposeSpSVAnalysis stays PETSC_TRUE.

    ./factorsolves                         two faults
    ./factorsolves -mat_type aij           none

  1. should be an error, or copy; 2. wants cusparseSpSV_updateMatrix() for the transposed descriptors too, or the flag reset.
*/
#include <petscmat.h>

/* |x|_1 of solutions for b = 1: on the host, and of the transposed system after the matrix was tripled */
static PetscErrorCode Norms(MatType type, PetscReal norms[2])
{
  Mat            A, F;
  Vec            x, b;
  IS             rows, cols;
  MatFactorInfo  info;
  const PetscInt n = 80;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 4, NULL, &A));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt k = 0; k < 4; k++) PetscCall(MatSetValue(A, i, (i + 9 * k) % n, k ? 1.0 + 0.01 * i : 9.0, ADD_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatConvert(A, type, MAT_INPLACE_MATRIX, &A));
  PetscCall(MatFactorInfoInitialize(&info));
  info.fill = 4;
  PetscCall(MatGetOrdering(A, MATORDERINGNATURAL, &rows, &cols));
  PetscCall(MatGetFactor(A, NULL, MAT_FACTOR_LU, &F));
  PetscCall(MatLUFactorSymbolic(F, A, rows, cols, &info));
  PetscCall(MatLUFactorNumeric(F, A, &info));

  PetscCall(VecCreateSeq(PETSC_COMM_SELF, n, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecSet(b, 1.0));
  PetscCall(MatSolve(F, b, x));
  PetscCall(VecNorm(x, NORM_1, &norms[0]));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));

  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(MatSolveTranspose(F, b, x));
  PetscCall(MatScale(A, 3.0));
  PetscCall(MatLUFactorNumeric(F, A, &info));
  PetscCall(MatSolveTranspose(F, b, x));
  PetscCall(VecNorm(x, NORM_1, &norms[1]));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&cols));
  PetscCall(MatDestroy(&F));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const what[] = {"vectors on the host", "transposed, after new values"};
  PetscReal         norms[2], expected[2];
  char              type[64] = "aijcusparse";
  int               bad      = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", type, sizeof(type), NULL));
  PetscCall(Norms(MATAIJ, expected));
  PetscCall(Norms(type, norms));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: |x|_1 is %g with %s and %g with aij\n", what[k], (double)norms[k], type, (double)expected[k]));
    if (!(PetscAbsReal(norms[k] - expected[k]) <= PETSC_SQRT_MACHINE_EPSILON * expected[k])) bad++;
  }
  PetscCall(PetscFinalize());
  return bad;
}
