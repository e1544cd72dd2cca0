/*
  MatPtAP() of aijcusparse is wrong with MAT_REUSE_MATRIX if P is a product that has been computed again                  PETSc 3.26.1, a GPU

  The product P^T (A P) forms P^T on the device (MatSeqAIJCUSPARSEFormExplicitTranspose()) and keeps it until P's values change, which A->transupdated
  says. MatProductNumeric_SeqAIJCUSPARSE_SeqAIJCUSPARSE() writes new values of its result without a call of MatSeqAIJCUSPARSEInvalidateTranspose(). So
  when P = B C is computed again, the next P^T (A P) takes the old P^T.

    ./staletranspose                       the second D is 2 times the first one
    ./staletranspose -mat_type aij         4 times, which is right: P is 2 times what it was
*/
#include <petscmat.h>

static PetscErrorCode Create(MatType type, PetscInt m, PetscInt n, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, m, n, 3, NULL, A));
  for (PetscInt i = 0; i < m; i++)
    for (PetscInt k = 0; k < 3; k++) PetscCall(MatSetValue(*A, i, (i + 7 * k) % n, 1.0 + 0.1 * i + k, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatConvert(*A, type, MAT_INPLACE_MATRIX, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat       A, B, C, P, D;
  PetscReal norm[2];
  char      type[64] = MATSEQAIJCUSPARSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", type, sizeof(type), NULL));
  PetscCall(Create(type, 60, 60, &A));
  PetscCall(Create(type, 60, 40, &B));
  PetscCall(Create(type, 40, 20, &C));
  PetscCall(MatMatMult(B, C, MAT_INITIAL_MATRIX, PETSC_CURRENT, &P));
  PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_CURRENT, &D));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &norm[0]));
  PetscCall(MatScale(B, 2.0));
  PetscCall(MatMatMult(B, C, MAT_REUSE_MATRIX, PETSC_CURRENT, &P));
  PetscCall(MatPtAP(A, P, MAT_REUSE_MATRIX, PETSC_CURRENT, &D));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &norm[1]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: the second D is %g times the first one\n", type, (double)(norm[1] / norm[0])));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&D));
  PetscCall(PetscFinalize());
  return 0;
}
