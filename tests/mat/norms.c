static char help[] = "What AIJ computes from the host entries is right for our types too: norms (twice), diagonals, sums, comparisons.\n\n";

#include "reference.h"

static PetscInt bad = 0;

static PetscErrorCode Expect(const char name[], const char what[], PetscReal found, PetscReal expected, PetscReal allowed)
{
  PetscFunctionBegin;
  if (!(PetscAbsReal(found - expected) <= allowed)) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s is %.17g, should be %.17g\n", name, what, (double)found, (double)expected));
    bad++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Norms(const Reference *ref, Mat A)
{
  PetscReal one = 0, infinity = 0, frobenius = 0, *cols, norm, eps = ref->nnz * 4 * PETSC_MACHINE_EPSILON;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(ref->n, &cols));
  for (PetscInt r = 0; r < ref->m; r++) {
    PetscReal sum = 0;

    for (PetscInt k = ref->i[r]; k < ref->i[r + 1]; k++) {
      const PetscReal a = PetscAbsScalar(ref->a[k]);

      sum += a;
      cols[ref->j[k]] += a;
      frobenius += a * a;
    }
    infinity = PetscMax(infinity, sum);
  }
  for (PetscInt c = 0; c < ref->n; c++) one = PetscMax(one, cols[c]);
  frobenius = PetscSqrtReal(frobenius);
  PetscCall(PetscFree(cols));
  /* repeated: a norm that adds to the result of the last call is right only once */
  for (int k = 0; k < 3; k++) {
    PetscCall(MatNorm(A, NORM_1, &norm));
    PetscCall(Expect(ref->name, "the 1-norm", norm, one, eps * one));
    PetscCall(MatNorm(A, NORM_FROBENIUS, &norm));
    PetscCall(Expect(ref->name, "the Frobenius norm", norm, frobenius, eps * frobenius));
    PetscCall(MatNorm(A, NORM_INFINITY, &norm));
    PetscCall(Expect(ref->name, "the infinity norm", norm, infinity, eps * infinity));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckVec(const char name[], const char what[], Vec found, Vec expected)
{
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(VecEqual(found, expected, &same));
  if (!same) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s differs\n", name, what));
    bad++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compared with plain AIJ exactly: these operations make no sums, or in the same order */
static PetscErrorCode Vectors(const Reference *ref, Mat A, Mat B)
{
  Vec       found, expected;
  PetscBool same;
  MatInfo   info;
  PetscInt  first, last;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(B, NULL, &expected));
  PetscCall(VecDuplicate(expected, &found));
  if (ref->m == ref->n) {
    PetscCall(VecSet(found, 7));
    PetscCall(MatGetDiagonal(A, found));
    PetscCall(MatGetDiagonal(B, expected));
    PetscCall(CheckVec(ref->name, "the diagonal", found, expected));
  }
  PetscCall(VecSet(found, 7));
  PetscCall(MatGetRowMaxAbs(A, found, NULL));
  PetscCall(MatGetRowMaxAbs(B, expected, NULL));
  PetscCall(CheckVec(ref->name, "the largest entry of each row", found, expected));
  PetscCall(VecSet(found, 7));
  PetscCall(MatGetRowSumAbs(A, found));
  PetscCall(MatGetRowSumAbs(B, expected));
  PetscCall(CheckVec(ref->name, "the sum of each row's sizes", found, expected));
  PetscCall(VecDestroy(&found));
  PetscCall(VecDestroy(&expected));

  PetscCall(MatEqual(A, A, &same));
  if (!same) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: not equal to itself\n", ref->name));
    bad++;
  }
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(Expect(ref->name, "the number of nonzeros", (PetscReal)info.nz_used, (PetscReal)ref->nnz, 0));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt r = first; r < last; r += 7) {
    for (PetscInt c = r % 3; c < ref->n; c += 1 + ref->n / 5) {
      PetscScalar a, b;

      PetscCall(MatGetValues(A, 1, &r, 1, &c, &a));
      PetscCall(MatGetValues(B, 1, &r, 1, &c, &b));
      if (a != b) bad++;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt count;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(ShapesCount(&count));
  for (PetscInt k = 0; k < count; k += 3) {
    Reference ref;
    Mat       A, B;
    PetscInt  before = 0;

    PetscCall(ShapesGet(k, &ref));
    if (ref.m && ref.n) {
      PetscCall(ReferenceToMat(&ref, PETSC_COMM_WORLD, &A));
      PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
      PetscCall(Norms(&ref, A));
      PetscCall(Vectors(&ref, A, B));
      PetscCall(ReferenceCheckProducts(&ref, A, &before));
      PetscCall(Norms(&ref, A));
      bad += before;
      PetscCall(MatDestroy(&A));
      PetscCall(MatDestroy(&B));
    }
    PetscCall(ReferenceDestroy(&ref));
  }
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c shapes.c

  test:
    args: -mat_type {{aij csrccuda bccoo}}
    nsize: {{1 4}}

TEST*/
