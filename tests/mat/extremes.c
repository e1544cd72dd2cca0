static char help[] = "What is rare in matrices on the host: more threads than rows that are long but not cut; numbers that must not be converted.\n\
  -trap: for runs with -fp_trap, which ends a program that computes with what is no number, or converts a number to one that is too small for it\n\n";

#include "reference.h"
#if defined(_OPENMP)
  #include <omp.h>
#endif

/* Rows of `length` nonzeros, the last of `last` */
static PetscErrorCode LongRows(PetscInt rows, PetscInt length, PetscInt last, PetscBool transpose, Reference *ref)
{
  const PetscInt nnz = (rows - 1) * length + last, n = 2 * length + 1;
  PetscInt      *i, *j, k = 0;
  PetscScalar   *a;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(nnz, &i, nnz, &j, nnz, &a));
  for (PetscInt r = 0; r < rows; r++) {
    for (PetscInt c = 0; c < (r == rows - 1 ? last : length); c++, k++) {
      i[k] = r;
      j[k] = 2 * c + r % 2;
      a[k] = ReferenceValue(1, k);
    }
  }
  if (transpose) PetscCall(ReferenceCreate("few long columns", n, rows, nnz, j, i, a, ref));
  else PetscCall(ReferenceCreate("few long rows", rows, n, nnz, i, j, a, ref));
  PetscCall(PetscFree3(i, j, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ManyThreads(PetscInt *bad)
{
  const int sizes[][3] = {
    {9,  2048, 2000},
    {10, 2000, 2000},
    {17, 1024, 1024}
  };

  PetscFunctionBeginUser;
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++) {
    for (int threads = 40; threads <= 120; threads += 40) {
      for (int transpose = 0; transpose < 2; transpose++) {
        Reference ref;
        Mat       A, X, Y;

#if defined(_OPENMP)
        omp_set_num_threads(threads);
#endif
        PetscCall(LongRows(sizes[s][0], sizes[s][1], sizes[s][2], (PetscBool)transpose, &ref));
        PetscCall(ReferenceToMat(&ref, PETSC_COMM_SELF, &A));
        PetscCall(ReferenceCheckProducts(&ref, A, bad));
        PetscCall(ReferenceDenseCreate(PETSC_COMM_SELF, ref.n, ref.n, 9, PETSC_FALSE, &X));
        PetscCall(ReferenceDenseFill(X, 1));
        PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &Y));
        PetscCall(ReferenceCheckDense(&ref, REFERENCE_N, 1, Y, "MatMatMult", bad));
        PetscCall(MatDestroy(&X));
        PetscCall(MatDestroy(&Y));
        PetscCall(MatDestroy(&A));
        PetscCall(ReferenceDestroy(&ref));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A x and A^T x for vectors of ones, beside those of AIJ */
static PetscErrorCode Compare(Mat B, PetscInt *bad)
{
  Mat       A;
  Vec       x[2], y[2];
  PetscReal error;

  PetscFunctionBeginUser;
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &A));
  PetscCall(MatSetFromOptions(A));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateVecs(B, &x[k], &y[k]));
    PetscCall(VecSet(x[k], 1));
    PetscCall(MatMult(k ? A : B, x[k], y[k]));
    PetscCall(MatMultTranspose(k ? A : B, y[k], x[k]));
  }
  PetscCall(VecAXPY(y[0], -1, y[1]));
  PetscCall(VecNorm(y[0], NORM_INFINITY, &error));
  if (error > 0) (*bad)++; /* a row has one nonzero */
  PetscCall(VecAXPY(x[0], -1, x[1]));
  PetscCall(VecNorm(x[0], NORM_INFINITY, &error));
  if (error > 0) (*bad)++;
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&y[k]));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Trapped(PetscInt *bad)
{
  Mat A;

  PetscFunctionBeginUser;
  /* numbers far beyond single precision, and beneath it */
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 3000, 3000, 1, NULL, &A));
  for (PetscInt i = 0; i < 3000; i++) PetscCall(MatSetValue(A, i, i, i % 100 == 99 ? 1e100 : i % 100 == 50 ? 1e-100 : i + 1, INSERT_VALUES));
  PetscCall(Compare(A, bad));
  PetscCall(MatDestroy(&A));
  /* rows whose numbers within a chunk, which follow its values, would be no number if they were a value */
  for (PetscInt n = 9; n < 16; n++) {
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 40000, 40000, 1, NULL, &A));
    for (PetscInt k = 0; k < n; k++) PetscCall(MatSetValue(A, k ? 32747 + 2 * k : 0, (k * 977) % 40000, 1 / (PetscReal)(k + 3), INSERT_VALUES));
    PetscCall(Compare(A, bad));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  bad  = 0;
  PetscBool trap = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-trap", &trap, NULL));
  if (trap) PetscCall(Trapped(&bad));
  else PetscCall(ManyThreads(&bad));
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c shapes.c

  testset:
    args: -mat_type bccoo -options_left 0
    output_file: output/allocfail_1.out
    test:
      suffix: threads
      requires: openmp
      args: -mat_form_copies {{1 2}}
    test:
      suffix: trap
      requires: double
      args: -trap -fp_trap

TEST*/
