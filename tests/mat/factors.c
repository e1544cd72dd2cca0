static char help[] = "A matrix factored in place keeps its type, can be viewed, and multiplies as what it is afterwards.\n\
Factors solve as AIJ's do, also after new values, whether vectors are on the host or on a device.\n\
A block for fewer processes is a plain AIJ matrix in every respect.\n\n";

#include "reference.h"

static PetscInt bad = 0;

static PetscErrorCode CheckType(const char what[], Mat A, MatType type)
{
  MatType   found;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &found));
  PetscCall(PetscStrcmp(found, type, &same));
  if (!same) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: the type is %s, should be %s\n", what, found, type));
    bad++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The order of rows from last to first; for the identity ILU uses other code */
static PetscErrorCode Backwards(PetscInt n, IS *is)
{
  PetscFunctionBegin;
  PetscCall(ISCreateStride(PETSC_COMM_SELF, n, n - 1, -1, is));
  PetscCall(ISSetPermutation(*is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LU(const Reference *ref, const char type[])
{
  Mat           A;
  Vec           x, b;
  IS            rows;
  MatFactorInfo info;
  PetscReal     size, difference;
  PetscViewer   viewer;

  PetscFunctionBegin;
  PetscCall(ReferenceToMat(ref, PETSC_COMM_SELF, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(ReferenceFillVec(x, 5));
  PetscCall(MatMult(A, x, b));
  PetscCall(Backwards(ref->m, &rows));
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(MatLUFactor(A, rows, rows, &info));
  PetscCall(CheckType("LU", A, type));
  PetscCall(VecNorm(x, NORM_2, &size));
  PetscCall(VecScale(x, -1));
  PetscCall(MatSolveAdd(A, b, x, x));
  PetscCall(VecNorm(x, NORM_2, &difference));
  if (!(difference <= 1000 * PETSC_MACHINE_EPSILON * size)) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "LU: the solution differs by %g of %g\n", (double)difference, (double)size));
    bad++;
  }
  /* as -ksp_view does */
  PetscCall(PetscViewerASCIIOpen(PETSC_COMM_SELF, "/dev/null", &viewer));
  PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO_DETAIL));
  PetscCall(MatView(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(ISDestroy(&rows));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In-place ILU stores its factors in the CSR, with columns in another order. Marked as unfactored, the matrix multiplies with these */
static PetscErrorCode ILU(const Reference *ref, const char type[])
{
  Mat           A;
  IS            rows;
  MatFactorInfo info;
  Reference     now;

  PetscFunctionBegin;
  PetscCall(ReferenceToMat(ref, PETSC_COMM_SELF, &A));
  PetscCall(ReferenceCheckProducts(ref, A, &bad));
  PetscCall(Backwards(ref->m, &rows));
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(MatILUFactor(A, rows, rows, &info));
  PetscCall(MatSetUnfactored(A));
  PetscCall(CheckType("ILU", A, type));
  PetscCall(ReferenceCreateFromMat("after ILU in place", A, &now));
  PetscCall(ReferenceCheckProducts(&now, A, &bad));
  PetscCall(ReferenceDestroy(&now));
  PetscCall(ISDestroy(&rows));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The block of a matrix from coordinates, by itself and converted: it must have no reference to the matrix it came from */
static PetscErrorCode Block(const Reference *ref, const char type[])
{
  const char *const types[] = {MATSEQAIJ, type};
  Mat               A, B;
  PetscInt         *i, *j;

  PetscFunctionBegin;
  PetscCall(ReferenceToMat(ref, PETSC_COMM_SELF, &A));
  PetscCall(MatGetMultiProcBlock(A, PETSC_COMM_SELF, MAT_INITIAL_MATRIX, &B));
  PetscCall(CheckType("a block", B, MATSEQAIJ));
  PetscCall(ReferenceCheckProducts(ref, B, &bad));
  PetscCall(PetscMalloc2(ref->nnz, &i, ref->nnz, &j));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatConvert(B, types[k], MAT_INPLACE_MATRIX, &B));
    for (PetscInt r = 0; r < ref->m; r++) {
      for (PetscInt l = ref->i[r]; l < ref->i[r + 1]; l++) {
        i[l] = r;
        j[l] = ref->j[l];
      }
    }
    PetscCall(MatSetPreallocationCOO(B, ref->nnz, i, j));
    PetscCall(MatSetValuesCOO(B, ref->a, INSERT_VALUES));
    PetscCall(ReferenceCheckProducts(ref, B, &bad));
    PetscCall(CheckType("a block", B, types[k]));
  }
  PetscCall(PetscFree2(i, j));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A factor must not be composed with functions of the matrix's type, which PETSc's symbolic step may copy. solver: NULL for the default */
static PetscErrorCode Factor(Mat A, MatSolverType solver, MatFactorType type, Mat *F)
{
  IS                rows, cols;
  MatFactorInfo     info;
  PetscErrorCodeFn *function;

  PetscFunctionBegin;
  PetscCall(MatFactorInfoInitialize(&info));
  info.fill = 4;
  PetscCall(MatGetOrdering(A, MATORDERINGNATURAL, &rows, &cols));
  if (!*F) {
    PetscCall(MatGetFactor(A, solver, type, F));
    switch (type) {
    case MAT_FACTOR_LU:
      PetscCall(MatLUFactorSymbolic(*F, A, rows, cols, &info));
      break;
    case MAT_FACTOR_ILU:
      PetscCall(MatILUFactorSymbolic(*F, A, rows, cols, &info));
      break;
    case MAT_FACTOR_CHOLESKY:
      PetscCall(MatCholeskyFactorSymbolic(*F, A, rows, &info));
      break;
    default:
      PetscCall(MatICCFactorSymbolic(*F, A, rows, &info));
      break;
    }
    PetscCall(PetscObjectQueryFunction((PetscObject)*F, "MatFormGetMemory_C", &function));
    if (function) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, solver type %s: composed with MatFormGetMemory_C\n", MatFactorTypes[type], solver ? solver : "by default"));
      bad++;
    }
  }
  if (type == MAT_FACTOR_LU || type == MAT_FACTOR_ILU) PetscCall(MatLUFactorNumeric(*F, A, &info));
  else PetscCall(MatCholeskyFactorNumeric(*F, A, &info));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solution by F for b = test vector 7, in vectors of A's type or on the host; transpose: of the transposed system */
static PetscErrorCode Solution(Mat A, Mat F, PetscBool onhost, PetscBool transpose, Vec *x)
{
  PetscInt n;
  Vec      b;

  PetscFunctionBegin;
  if (onhost) {
    PetscCall(MatGetSize(A, &n, NULL));
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, n, &b));
    PetscCall(VecDuplicate(b, x));
  } else PetscCall(MatCreateVecs(A, x, &b));
  PetscCall(ReferenceFillVec(b, 7));
  PetscCall(ReferenceFillVec(*x, -1));
  if (transpose) PetscCall(MatSolveTranspose(F, b, *x));
  else PetscCall(MatSolve(F, b, *x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solves(const Reference *ref, MatSolverType solver)
{
  const MatFactorType types[] = {MAT_FACTOR_LU, MAT_FACTOR_ILU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ICC};
  Mat                 A, B;

  PetscFunctionBegin;
  PetscCall(ReferenceToMat(ref, PETSC_COMM_SELF, &A));
  PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatSetOption(B, MAT_SPD, PETSC_TRUE));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    Mat F = NULL, G = NULL;

    for (int values = 0; values < 2; values++) {
      PetscCall(Factor(A, solver, types[t], &F));
      PetscCall(Factor(B, NULL, types[t], &G));
      for (int k = 0; k < 4; k++) {
        Vec                x, y;
        const PetscScalar *a, *b;
        PetscReal          size = 0, difference = 0;

        PetscCall(Solution(A, F, k & 1 ? PETSC_TRUE : PETSC_FALSE, k & 2 ? PETSC_TRUE : PETSC_FALSE, &x));
        PetscCall(Solution(B, G, PETSC_TRUE, k & 2 ? PETSC_TRUE : PETSC_FALSE, &y));
        PetscCall(VecGetArrayRead(x, &a));
        PetscCall(VecGetArrayRead(y, &b));
        for (PetscInt i = 0; i < ref->m; i++) {
          size += PetscAbsScalar(b[i]);
          difference += PetscAbsScalar(b[i] - a[i]);
        }
        PetscCall(VecRestoreArrayRead(x, &a));
        PetscCall(VecRestoreArrayRead(y, &b));
        if (!(difference <= 1000 * PETSC_MACHINE_EPSILON * size)) {
          PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, solver type %s, %s values, %s vectors%s: the solution differs by %g of %g\n", MatFactorTypes[types[t]], solver ? solver : "by default", values ? "new" : "first",
                                k & 1 ? "the host's" : "the matrix's", k & 2 ? ", transposed" : "", (double)difference, (double)size));
          bad++;
        }
        PetscCall(VecDestroy(&x));
        PetscCall(VecDestroy(&y));
      }
      PetscCall(MatScale(A, 3));
      PetscCall(MatScale(B, 3));
    }
    PetscCall(MatDestroy(&F));
    PetscCall(MatDestroy(&G));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt n = 80;
  PetscInt       rows[320], cols[320];
  PetscScalar    vals[320];
  Reference      ref;
  Mat            A;
  MatType        found;
  char           type[64];
  PetscBool      cusparse;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (PetscInt r = 0; r < n; r++) {
    for (PetscInt k = 0; k < 4; k++) {
      rows[4 * r + k] = r;
      cols[4 * r + k] = (r + 9 * k) % n;
      vals[4 * r + k] = k ? ReferenceValue(k, r) : (PetscScalar)9;
    }
  }
  PetscCall(ReferenceCreate("a dominant diagonal", n, n, 4 * n, rows, cols, vals, &ref));
  PetscCall(ReferenceToMat(&ref, PETSC_COMM_SELF, &A));
  PetscCall(MatGetType(A, &found));
  PetscCall(PetscStrncpy(type, found, sizeof(type)));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscStrcmp(type, MATSEQAIJCUSPARSE, &cusparse));
  if (!cusparse) { /* with that name the results are PETSc's own */
    PetscCall(LU(&ref, type));
    PetscCall(ILU(&ref, type));
    PetscCall(Block(&ref, type));
  }
  PetscCall(ReferenceDestroy(&ref));
  for (PetscInt r = 0; r < n; r++) { /* symmetric, and real also with complex numbers */
    for (PetscInt k = 0; k < 4; k++) cols[4 * r + k] = (r + (k < 3 ? 9 * (k - 1) : 0) + n) % n;
    for (PetscInt k = 0; k < 4; k++) vals[4 * r + k] = k == 0 || k == 2 ? -1 : 2;
  }
  PetscCall(ReferenceCreate("symmetric", n, n, 4 * n, rows, cols, vals, &ref));
  PetscCall(Solves(&ref, NULL));
  PetscCall(Solves(&ref, MATSOLVERPETSC));
  PetscCall(ReferenceDestroy(&ref));
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c

  test:
    args: -mat_type {{aij csrccuda bccoo}}

  test:
    suffix: gpu_replace
    output_file: output/factors_1.out
    requires: cuda
    args: -mat_type aijcusparse -mat_csrc_replace_aijcusparse

TEST*/
