/*
  MatNorm() with NORM_1 and NORM_INFINITY loses NaN                                                                        PETSc 3.26.1

  MatNorm_SeqAIJ() keeps the larger of two sums by `if (sum > *nrm) *nrm = sum`, which is false for NaN: the norm is that of the other columns, or
  rows. In parallel MPI_MAX adds an order of its own: the 1-norm may be NaN, or that of a few columns. NORM_FROBENIUS and VecNorm() return NaN.

    ./normnan
    1-norm 2., infinity norm 2., Frobenius norm nan.

  With this in MatNorm_SeqAIJ() for both norms, as in VecNorm_Seq(), all three are NaN:

  -      if (tmp[j] > *nrm) *nrm = tmp[j];
  +      if (tmp[j] > *nrm || PetscIsNanReal(tmp[j])) *nrm = tmp[j];
  +      if (PetscIsNanReal(*nrm)) break;
*/
#include <petscmat.h>

int main(int argc, char **argv)
{
  Mat             A;
  const PetscInt  n       = 3;
  const NormType  types[] = {NORM_1, NORM_INFINITY, NORM_FROBENIUS};
  const PetscReal entry[] = {1, NAN, 2};
  PetscReal       norm[3];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 1, NULL, &A));
  for (PetscInt i = 0; i < n; i++) PetscCall(MatSetValue(A, i, i, entry[i], INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  for (int t = 0; t < 3; t++) PetscCall(MatNorm(A, types[t], &norm[t]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "1-norm %g, infinity norm %g, Frobenius norm %g\n", (double)norm[0], (double)norm[1], (double)norm[2]));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return PetscIsNanReal(norm[0]) && PetscIsNanReal(norm[1]) ? 0 : 1;
}
