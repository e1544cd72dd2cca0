static char help[] = "Products of sparse matrices with MAT_FORCE_DIAGONAL_ENTRIES have all diagonal entries, stored zeros where the product has none.\n\n";

#include <petscmat.h>

/* C = A B or A^T B; then all diagonal entries are set, where a new one would be an error */
static PetscErrorCode Check(MatProductType type, Mat A, Mat B)
{
  Mat       C;
  Vec       ones, d;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(MatProductCreate(A, B, NULL, &C));
  PetscCall(MatProductSetType(C, type));
  PetscCall(MatSetOption(C, MAT_FORCE_DIAGONAL_ENTRIES, PETSC_TRUE));
  PetscCall(MatProductSetFromOptions(C));
  PetscCall(MatProductSymbolic(C));
  PetscCall(MatProductNumeric(C));
  PetscCall(MatSetOption(C, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
  PetscCall(MatCreateVecs(C, &ones, &d));
  PetscCall(VecSet(ones, 1.0));
  PetscCall(MatDiagonalSet(C, ones, INSERT_VALUES));
  PetscCall(MatGetDiagonal(C, d));
  PetscCall(VecAXPY(d, -1.0, ones));
  PetscCall(VecNorm(d, NORM_INFINITY, &norm));
  PetscCheck(norm == 0.0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: diagonal entries differ by %g from those that were set", MatProductTypes[type], (double)norm);
  /* in the product each row has one entry, 1; together with the diagonal's, the sums of rows are 2 */
  PetscCall(MatMult(C, ones, d));
  PetscCall(VecShift(d, -2.0));
  PetscCall(VecNorm(d, NORM_INFINITY, &norm));
  PetscCheck(norm == 0.0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: sums of rows differ by %g from 2", MatProductTypes[type], (double)norm);
  PetscCall(VecDestroy(&ones));
  PetscCall(VecDestroy(&d));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat            A, B;
  PetscInt       begin, end;
  const PetscInt n = 12;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  /* row r has an entry in column r + 1 modulo n, so that neither A^2 nor A^T A^2 has diagonal entries */
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt r = begin; r < end; r++) PetscCall(MatSetValue(A, r, (r + 1) % n, 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatMatMult(A, A, MAT_INITIAL_MATRIX, PETSC_CURRENT, &B));
  PetscCall(Check(MATPRODUCT_AB, A, A));
  PetscCall(Check(MATPRODUCT_AtB, A, B));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "no errors\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    args: -mat_type {{aij csrccuda bccoo}}
    nsize: {{1 3}}

TEST*/
