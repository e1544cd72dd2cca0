static char help[] = "Large matrices: arrays that reach the device in pieces, millions of columns. Products, and products after values changed.\n\n";

#include <petscmat.h>

/* Whether products with B and B^T agree with those of A */
static PetscErrorCode Compare(Mat A, Mat B, const char when[])
{
  Vec       x, y, z, d;
  PetscReal norm, error[2];

  PetscFunctionBegin;
  for (int t = 0; t < 2; t++) {
    PetscCall(t ? MatCreateVecs(A, &y, &x) : MatCreateVecs(A, &x, &y));
    PetscCall(t ? MatCreateVecs(B, &z, NULL) : MatCreateVecs(B, NULL, &z));
    PetscCall(VecDuplicate(y, &d));
    PetscCall(VecSetRandom(x, NULL));
    PetscCall(t ? MatMultTranspose(A, x, y) : MatMult(A, x, y));
    PetscCall(t ? MatMultTranspose(B, x, z) : MatMult(B, x, z));
    PetscCall(VecCopy(z, d));
    PetscCall(VecAXPY(d, -1.0, y));
    PetscCall(VecNorm(d, NORM_INFINITY, &error[t]));
    PetscCall(VecNorm(y, NORM_INFINITY, &norm));
    error[t] /= norm;
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&z));
    PetscCall(VecDestroy(&d));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: A x %s, A^T x %s\n", when, error[0] < 100 * PETSC_MACHINE_EPSILON ? "right" : "WRONG", error[1] < 100 * PETSC_MACHINE_EPSILON ? "right" : "WRONG"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* m rows with `each` nonzeros, scattered over all columns */
static PetscErrorCode Check(PetscInt m, PetscInt n, PetscInt each)
{
  PetscInt    *i, *j;
  PetscScalar *a;
  Mat          A, B;

  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscInt_FMT " nonzeros in a row\n", m, n, each));
  PetscCall(PetscMalloc3(m + 1, &i, m * each, &j, m * each, &a));
  for (PetscInt r = 0; r <= m; r++) i[r] = each * r;
  for (PetscInt r = 0; r < m; r++) {
    for (PetscInt k = 0; k < each; k++) {
      j[each * r + k] = (n / each) * k + (PetscInt)((PetscInt64)r * (7919 + 2 * k) % (n / each));
      a[each * r + k] = 1.0 / (1.0 + r % 1009 + k);
    }
  }
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, m, n, i, j, a, &A));
  PetscCall(MatConvert(A, "csrccuda", MAT_INITIAL_MATRIX, &B));
  PetscCall(MatSetFromOptions(B));
  PetscCall(Compare(A, B, "built"));
  for (int t = 0; t < 2; t++) { /* after the first change the form is built again, after the second it is refilled */
    PetscCall(MatScale(A, 1.0 / 3.0));
    PetscCall(MatScale(B, 1.0 / 3.0));
    PetscCall(Compare(A, B, t ? "refilled" : "made anew"));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFree3(i, j, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(Check(300000, 100000, 5)); /* 12 MB of doubles, 6 MB of columns */
  PetscCall(Check(600, 4194304, 20));  /* more columns than two digits of the sort on the host distinguish */
  PetscCall(Check(600, 5000000, 20));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/largearrays_1.out
    test:
      suffix: 1
    test:
      suffix: gpu
      args: -mat_csrc_layout {{csrc balanced}}

TEST*/
