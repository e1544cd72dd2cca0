/*
  MatPtAP(G, P) of sequential aijcusparse is wrong if G is a product itself                             PETSc 3.26.1, a GPU

  G = P P has its values on the device only (PETSC_OFFLOAD_GPU). So the symbolic step of G P, the first half of P^T (G P), computes no values
  and leaves its result as PETSC_OFFLOAD_UNALLOCATED. The symbolic step of the second half copies this result's array, which nobody has
  set, to the device, by which it becomes PETSC_OFFLOAD_BOTH; then both operands are, the values are computed at once, and the numeric step
  takes them as they are (reusesym). If the array happens to hold a number whose bits are all set, cuSPARSE 12.6.3 does not return from
  cusparseSpGEMM_compute(): it takes this for an empty place. (Not with matrices as small as these.)

    ./ptap                         |D x|_1 differs from aij's
    ./ptap -mat_type aij           right

  MatProductSymbolic_SeqAIJCUSPARSE_SeqAIJCUSPARSE() should read the operands' offload masks before it calls MatSeqAIJCUSPARSECopyToGPU(), or
  ask whether they are assembled.
*/
#include <petscmat.h>

static PetscErrorCode Norm(MatType type, PetscReal *norm)
{
  Mat            P, G, D;
  Vec            x, y;
  const PetscInt n = 300;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 5, NULL, &P));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt k = 0; k < 5; k++) PetscCall(MatSetValue(P, i, (7 * i + 11 * k) % n, 1.0 + 0.01 * i - k, ADD_VALUES));
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatConvert(P, type, MAT_INPLACE_MATRIX, &P));
  PetscCall(MatCreateVecs(P, &x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(P, x, y));
  PetscCall(MatMatMult(P, P, MAT_INITIAL_MATRIX, PETSC_CURRENT, &G));
  PetscCall(MatPtAP(G, P, MAT_INITIAL_MATRIX, PETSC_CURRENT, &D));
  PetscCall(MatMult(D, x, y));
  PetscCall(VecNorm(y, NORM_1, norm));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&G));
  PetscCall(MatDestroy(&D));
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
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "|D x|_1 is %g with %s and %g with aij\n", (double)norm, type, (double)expected));
  PetscCall(PetscFinalize());
  return PetscAbsReal(norm - expected) <= PETSC_SQRT_MACHINE_EPSILON * expected ? 0 : 1;
}
