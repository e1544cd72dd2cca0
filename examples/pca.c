/*
  Principal components of a sparse table: the singular vectors of the largest values of B = A - e mu^T, where mu holds the means of the
  columns of A and e is all ones. B is full and never formed: PETSc's matrix of type MATLRC holds A, e and mu. blocklanczos multiplies blocks of
  vectors by A at once, and adds the other part; other solvers multiply vector by vector. For example

    pca -samples 100000 -features 5000 -dll_append $SLEPCCSRC_LIB -mat_type csrccuda
*/
static char help[] = "Finds the principal components of a sparse matrix, one row for each sample.\n"
                     "  -samples <m>, -features <n>, -kinds <g> : counts in samples of several kinds, to be generated (5000, 1000, 5)\n"
                     "  -file <file>      : or a matrix from a file (.mtx, .mtx.gz or PETSc binary)\n"
                     "  -components <k>   : how many components (6)\n"
                     "  -dense            : compares with LAPACK on the dense matrix; by default if it has at most 1000 rows and columns\n"
                     "Of PETSc's own options -mat_type, -svd_type, -svd_tol and -dll_append are the most useful.\n\n";

#include <slepcsvd.h>
#include <petsctime.h>
#include "support.h"

/*
  Counts of features, such as words in documents or genes in cells: 40 to 80 are drawn for each sample, half of them from the
  features of its kind and the others from all features, some of which are frequent. Entries are log(1 + count).
*/
static PetscErrorCode FillCounts(Mat A, PetscInt m, PetscInt n, PetscInt kinds)
{
  PetscInt     first, last, room, *i, *j, drawn[80];
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(MatFillSizes(A, m, n));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(PetscIntMultError(80, last - first, &room));
  PetscCall(PetscMalloc3(last - first + 1, &i, room, &j, room, &v));
  i[0] = 0;
  for (PetscInt row = first; row < last; row++) {
    const PetscInt draws = 40 + (PetscInt)(40 * RandomDraw(row, 0)), kind = row % kinds, own = PetscMax(n / (4 * kinds), 1);
    PetscInt       end = i[row - first];

    for (PetscInt t = 0; t < draws; t++) {
      const PetscReal u = RandomDraw(row, 2 * t + 1);

      drawn[t] = RandomDraw(row, 2 * t + 2) < 0.5 ? (kind * own + (PetscInt)(own * u)) % n : (PetscInt)(n * PetscSqr(u));
    }
    PetscCall(PetscSortInt(draws, drawn));
    for (PetscInt t = 0, count; t < draws; t += count) {
      for (count = 1; t + count < draws && drawn[t + count] == drawn[t];) count++;
      j[end]   = drawn[t];
      v[end++] = PetscLogReal((PetscReal)(1 + count));
    }
    i[row - first + 1] = end;
  }
  PetscCall(MatFillRows(A, i, j, v));
  PetscCall(PetscFree3(i, j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X = x, a dense matrix of one column, with vectors of the type of A */
static PetscErrorCode MatOfVec(Mat A, Vec x, Mat *X)
{
  VecType  type;
  PetscInt n, N;
  Vec      column;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetSize(x, &N));
  PetscCall(MatCreateDenseFromVecType(PetscObjectComm((PetscObject)x), type, n, PETSC_DECIDE, N, 1, PETSC_DECIDE, NULL, X));
  PetscCall(MatSetVecType(*X, type));
  PetscCall(MatDenseGetColumnVecWrite(*X, 0, &column));
  PetscCall(VecCopy(x, column));
  PetscCall(MatDenseRestoreColumnVecWrite(*X, 0, &column));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The means of the columns of A, and B = A + (-e) V^H, where V is conj(mean) */
static PetscErrorCode MatCreateCentered(Mat A, Vec *mean, Mat *B)
{
  Vec      e;
  Mat      E, V;
  PetscInt M;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &M, NULL));
  PetscCall(MatCreateVecs(A, mean, &e));
  PetscCall(VecSet(e, 1.0));
  PetscCall(MatMultTranspose(A, e, *mean));
  PetscCall(VecScale(*mean, 1 / (PetscReal)M));
  PetscCall(VecScale(e, -1.0));
  PetscCall(MatOfVec(A, e, &E));
  PetscCall(VecConjugate(*mean));
  PetscCall(MatOfVec(A, *mean, &V));
  PetscCall(VecConjugate(*mean));
  PetscCall(MatCreateLRC(A, E, NULL, V, B));
  PetscCall(MatDestroy(&E));
  PetscCall(MatDestroy(&V));
  PetscCall(VecDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sum of squares of the entries of A, column by column. That of B is less by |mean|^2 for every row: the total variance. */
static PetscErrorCode SumOfSquares(Mat A, PetscReal *sum)
{
  PetscInt   N;
  PetscReal *norms;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, NULL, &N));
  PetscCall(PetscMalloc1(N, &norms));
  PetscCall(MatGetColumnNorms(A, NORM_2, norms));
  *sum = 0;
  for (PetscInt j = 0; j < N; j++) *sum += PetscSqr(norms[j]);
  PetscCall(PetscFree(norms));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Makes B by its definition: all entries, on every process, with means that are computed here. LAPACK computes all of its singular values.
  Returns the distance of the computed values from these, and the sum of squares of the latter.
*/
static PetscErrorCode CompareWithLAPACK(Mat A, PetscInt k, const PetscReal sigma[], PetscReal *distance, PetscReal *sum)
{
  Mat          R, D;
  SVD          svd;
  PetscInt     M, N;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(MatCreateRedundantMatrix(A, 0, PETSC_COMM_SELF, MAT_INITIAL_MATRIX, &R));
  PetscCall(MatConvert(R, MATSEQDENSE, MAT_INITIAL_MATRIX, &D));
  PetscCall(MatDestroy(&R));
  PetscCall(MatGetSize(D, &M, &N));
  PetscCall(MatDenseGetArray(D, &a));
  for (PetscInt j = 0; j < N; j++) {
    PetscScalar mean = 0;

    for (PetscInt i = 0; i < M; i++) mean += a[i + j * M];
    mean /= (PetscReal)M;
    for (PetscInt i = 0; i < M; i++) a[i + j * M] -= mean;
  }
  PetscCall(MatDenseRestoreArray(D, &a));
  PetscCall(SVDCreate(PETSC_COMM_SELF, &svd));
  PetscCall(SVDSetOperators(svd, D, NULL));
  PetscCall(SVDSetType(svd, SVDLAPACK));
  PetscCall(SVDSetDimensions(svd, PetscMin(M, N), PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(SVDSolve(svd));
  *distance = *sum = 0;
  for (PetscInt i = 0; i < PetscMin(M, N); i++) {
    PetscReal exact;

    PetscCall(SVDGetSingularTriplet(svd, i, &exact, NULL, NULL));
    *sum += exact * exact;
    if (i < k) *distance = PetscMax(*distance, PetscAbsReal(exact - sigma[i]));
  }
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat            A, B;
  SVD            svd;
  SVDType        solver;
  MatType        type;
  MatInfo        info;
  Vec            u, v, x, scores, mean;
  PetscInt       m = 5000, n = 1000, kinds = 5, k = 6, found, its;
  PetscReal     *sigma, tolerance, total = 0, part = 0, squares = 0, residual = 0, deviation = 0, distance = 0, cancelled;
  PetscLogDouble start, end;
  PetscBool      fromfile, dense, right;
  char           file[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-samples", &m, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-features", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-kinds", &kinds, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-components", &k, NULL));
  PetscCheck(m > 0 && n > 0 && kinds > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-samples %" PetscInt_FMT ", -features %" PetscInt_FMT " and -kinds %" PetscInt_FMT " must be positive", m, n, kinds);

  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetFromOptions(A));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-file", file, sizeof(file), &fromfile));
  if (fromfile) PetscCall(MatLoadFile(A, file));
  else PetscCall(FillCounts(A, m, n, kinds));
  PetscCall(MatGetSize(A, &m, &n));
  PetscCheck(k > 0 && k <= PetscMin(m - 1, n), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-components %" PetscInt_FMT " must be between 1 and %" PetscInt_FMT ": %" PetscInt_FMT " centered samples of %" PetscInt_FMT " features have no more", k,
             PetscMin(m - 1, n), m, n);
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " samples, %" PetscInt_FMT " features, %.0f nonzeros, matrix of type %s\n", m, n, info.nz_used, type));

  PetscCall(SumOfSquares(A, &total)); /* before the first product, in which some types free their entries */
  PetscCheck(!PetscIsInfOrNanReal(total), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "The sum of squares of the entries of the matrix is %g: entries are NaN, infinite, or too large to be squared", (double)total);
  PetscCall(MatCreateCentered(A, &mean, &B));
  PetscCall(VecNorm(mean, NORM_2, &part));
  part = total > 0 ? (PetscReal)m * part * part / total : 1;
  PetscCheck(1 - part > 100 * PETSC_MACHINE_EPSILON, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "All samples are equal, up to rounding: the mean is all of the sum of squares %g, and there are no components", (double)total);
  total *= 1 - part;
  cancelled = 10 * PETSC_MACHINE_EPSILON / (1 - part); /* where the mean is large, the total variance is a difference of large numbers */
  PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
  PetscCall(SVDSetOperators(svd, B, NULL));
  PetscCall(SVDSetType(svd, "blocklanczos"));
  PetscCall(SVDSetDimensions(svd, k, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(SVDSetFromOptions(svd));
  PetscCall(PetscTime(&start));
  PetscCall(SVDSolve(svd));
  PetscCall(PetscTime(&end));
  PetscCall(SVDGetConverged(svd, &found));
  PetscCall(SVDGetIterationNumber(svd, &its));
  PetscCall(SVDGetType(svd, &solver));
  PetscCall(SVDGetTolerances(svd, &tolerance, NULL));
  PetscCheck(found >= k, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "%s found %" PetscInt_FMT " of %" PetscInt_FMT " components: more iterations (-svd_max_it) or a larger -svd_tol than %g", solver, found, k, (double)tolerance);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " iterations, %.3f seconds\n", solver, its, end - start));

  /* The checks use A, the mean and the definitions, not B: scores are A v - mean^T v, and their variance is sigma^2 / (m - 1) */
  PetscCall(MatCreateVecs(A, &v, &u));
  PetscCall(VecDuplicate(u, &scores));
  PetscCall(VecDuplicate(v, &x));
  PetscCall(PetscMalloc1(k, &sigma));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "The mean is %.1f %% of the sum of squares, which uncentered components would describe first\n", (double)(100 * part)));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n  component   variance of the scores   explained   all so far\n"));
  for (PetscInt c = 0; c < k; c++) {
    PetscScalar shift, average;
    PetscReal   norm, variance;

    PetscCall(SVDGetSingularTriplet(svd, c, &sigma[c], u, v));
    PetscCall(MatMult(A, v, scores));
    PetscCall(VecTDot(v, mean, &shift));
    PetscCall(VecShift(scores, -shift));
    PetscCall(VecMean(scores, &average));
    PetscCall(VecNorm(scores, NORM_2, &norm));
    variance = (norm * norm - (PetscReal)m * PetscSqr(PetscAbsScalar(average))) / (PetscReal)(m - 1);
    squares += sigma[c] * sigma[c];
    deviation = LargerOrNaN(deviation, PetscAbsReal(variance * (PetscReal)(m - 1) - sigma[c] * sigma[c]));

    PetscCall(VecAXPY(scores, -sigma[c], u)); /* B v - sigma u */
    PetscCall(VecNorm(scores, NORM_2, &norm));
    residual = LargerOrNaN(residual, norm);
    PetscCall(VecSum(u, &shift)); /* B^H u - sigma v; PETSc's transposed product is A^T */
    PetscCall(VecConjugate(u));
    PetscCall(MatMultTranspose(A, u, x));
    PetscCall(VecAXPY(x, -PetscConj(shift), mean));
    PetscCall(VecConjugate(x));
    PetscCall(VecAXPY(x, -sigma[c], v));
    PetscCall(VecNorm(x, NORM_2, &norm));
    residual = LargerOrNaN(residual, norm);
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %9" PetscInt_FMT "   %22.10e   %7.3f %%   %8.3f %%\n", c + 1, (double)variance, (double)(100 * sigma[c] * sigma[c] / total), (double)(100 * squares / total)));
  }
  residual /= sigma[0];
  deviation /= sigma[0] * sigma[0];
  right = (PetscBool)(residual <= 10 * tolerance && deviation <= 10 * tolerance && squares <= total * (1 + 10 * tolerance + cancelled));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Residuals %.1e sigma_1; variances of scores %.1e sigma_1^2 from what they should be\n", (double)residual, (double)deviation));

  dense = (PetscBool)(PetscMax(m, n) <= 1000);
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-dense", &dense, NULL));
  if (dense) {
    PetscCall(CompareWithLAPACK(A, k, sigma, &distance, &squares));
    distance /= sigma[0];
    deviation = PetscAbsReal(squares / total - 1);
    right     = (PetscBool)(right && distance <= 10 * tolerance && deviation <= 10 * tolerance + cancelled);
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "LAPACK's values of the dense matrix differ by %.1e sigma_1, the sum of their squares from the total variance by %.1e\n", (double)distance, (double)deviation));
  }

  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: these are %sprincipal components, to %.0e.\n", right ? "Right" : "WRONG", right ? "" : "not ", (double)(10 * tolerance)));

  PetscCall(PetscFree(sigma));
  PetscCall(VecDestroy(&scores));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&mean));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  PetscCall(SlepcFinalize());
  return right ? 0 : 1;
}
