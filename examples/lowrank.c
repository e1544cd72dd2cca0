/*
  Approximations of low rank of a term-document matrix: error against rank.

  The best approximation of rank k comes from the k largest singular triplets. Two solvers compute them: blocklanczos, to full
  accuracy, and SLEPc's randomized, stopped after a few iterations as is usual for it. The error of each is computed, not
  estimated: |A - U S V^T|_F^2 = |A|_F^2 - 2 sum s_i u_i^T A v_i + sum s_i^2 for orthonormal U and V. For example

    lowrank -rank 64 -dll_append $SLEPCCSRC_LIB -mat_type csrccuda -csv lowrank.csv
*/
static char help[] = "Approximates a term-document matrix by matrices of low rank.\n"
                     "  -documents <m>, -terms <n>, -topics <t> : a collection to be generated (20000, 4000, 20)\n"
                     "  -file <file>    : or a matrix from a file (.mtx, .mtx.gz or PETSc binary)\n"
                     "  -rank <k>       : the largest rank (40); the randomized solver needs a matrix of twice this rank, or one of a lower rank\n"
                     "  -randomized_its <i> : iterations of the randomized solver (2)\n"
                     "  -csv <file>     : writes the errors at all ranks\n"
                     "Options of the two solvers begin with -exact_ and -randomized_, for example -exact_svd_type trlanczos.\n\n";

#include <slepcsvd.h>
#include <petsctime.h>
#include "support.h"

/*
  Documents of 20 to 100 words. A document has one topic or two; three words in four come from its topics, the others from the
  whole language. The frequency of words falls as in Zipf's law, in a different order for each topic. Entries are 1 + log(count);
  rows are scaled to length 1.
*/
static PetscErrorCode FillDocuments(Mat A, PetscInt m, PetscInt n, PetscInt topics)
{
  PetscInt     first, last, room, *i, *j, words[100];
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(MatFillSizes(A, m, n));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(PetscIntMultError(100, last - first, &room));
  PetscCall(PetscMalloc3(last - first + 1, &i, room, &j, room, &v));
  i[0] = 0;
  for (PetscInt row = first; row < last; row++) {
    const PetscInt length = 20 + (PetscInt)(80 * RandomDraw(row, 0)), topic[] = {(PetscInt)(topics * PetscSqr(RandomDraw(row, 1))), (PetscInt)(topics * RandomDraw(row, 2))};
    PetscInt       end  = i[row - first];
    PetscReal      norm = 0;

    for (PetscInt t = 0; t < length; t++) {
      const PetscReal u = RandomDraw(row, 3 * t + 3), choice = RandomDraw(row, 3 * t + 4);
      const PetscInt  rank = (PetscInt)(n * PetscSqr(PetscSqr(u))); /* a few words are frequent */
      const PetscInt  of   = choice < 0.25 ? topics : topic[choice > 0.75];

      words[t] = (PetscInt)(((PetscInt64)rank * 31 + (PetscInt64)of * 1009 + (PetscInt64)7 * of * of) % n);
    }
    PetscCall(PetscSortInt(length, words));
    for (PetscInt t = 0; t < length;) {
      PetscInt count = 1;

      while (t + count < length && words[t + count] == words[t]) count++;
      j[end] = words[t];
      v[end] = 1 + PetscLogReal((PetscReal)count);
      norm += PetscSqr(PetscRealPart(v[end]));
      end++;
      t += count;
    }
    for (PetscInt k = i[row - first]; k < end; k++) v[k] /= PetscSqrtReal(norm);
    i[row - first + 1] = end;
  }
  PetscCall(MatFillRows(A, i, j, v));
  PetscCall(PetscFree3(i, j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  square[k] = |A - its approximation of rank k|_F^2 / |A|_F^2 for k = 0 ... rank; NaN beyond the triplets found. The basis has at most ncv
  columns.
*/
static PetscErrorCode Approximate(Mat A, SVDType type, const char prefix[], PetscInt rank, PetscInt ncv, PetscInt maxits, PetscReal square[])
{
  SVD            svd;
  SVDType        solver;
  Vec            u, v, w;
  PetscInt       found, its;
  PetscReal      norm;
  PetscLogDouble start, end;

  PetscFunctionBegin;
  PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
  PetscCall(SVDSetOptionsPrefix(svd, prefix));
  PetscCall(SVDSetOperators(svd, A, NULL));
  PetscCall(SVDSetType(svd, type));
  PetscCall(SVDSetDimensions(svd, rank, ncv, PETSC_DETERMINE));
  if (maxits) {
    PetscCall(SVDSetTolerances(svd, PETSC_CURRENT, maxits));
    PetscCall(SVDSetConvergenceTest(svd, SVD_CONV_MAXIT)); /* stops after that many iterations */
  }
  PetscCall(SVDSetFromOptions(svd));
  PetscCall(PetscTime(&start));
  PetscCall(SVDSolve(svd));
  PetscCall(PetscTime(&end));
  PetscCall(SVDGetConverged(svd, &found));
  PetscCall(SVDGetIterationNumber(svd, &its));
  PetscCall(SVDGetType(svd, &solver));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-13s %" PetscInt_FMT " triplets, %" PetscInt_FMT " iterations, %.3f seconds\n", solver, PetscMin(found, rank), its, end - start));

  PetscCall(MatCreateVecs(A, &v, &u));
  PetscCall(VecDuplicate(u, &w));
  PetscCall(MatNorm(A, NORM_FROBENIUS, &norm));
  square[0] = 1;
  for (PetscInt k = 0; k < rank; k++) {
    PetscReal   sigma;
    PetscScalar product;

    square[k + 1] = NAN;
    if (k >= found) continue;
    PetscCall(SVDGetSingularTriplet(svd, k, &sigma, u, v));
    PetscCall(MatMult(A, v, w));
    PetscCall(VecDot(w, u, &product));
    square[k + 1] = square[k] + sigma / norm * ((sigma - 2 * PetscRealPart(product)) / norm);
  }
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&w));
  PetscCall(SVDDestroy(&svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscReal rounding = 100 * PETSC_MACHINE_EPSILON, slack = PetscDefined(USE_REAL_DOUBLE) ? 2e-6 : 2e-3; /* of squares */
  Mat             A;
  MatType         type;
  MatInfo         info;
  PetscInt        m = 20000, n = 4000, topics = 20, rank = 40, its = 2, found = 0;
  PetscReal       norm, *exact, *randomized;
  PetscBool       fromfile, write, right = PETSC_TRUE;
  char            file[PETSC_MAX_PATH_LEN];
  FILE           *fp = NULL;

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-documents", &m, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-terms", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-topics", &topics, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rank", &rank, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-randomized_its", &its, NULL));
  PetscCheck(m > 0 && n > 0 && topics > 0 && its > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-documents %" PetscInt_FMT ", -terms %" PetscInt_FMT ", -topics %" PetscInt_FMT " and -randomized_its %" PetscInt_FMT " must be positive", m, n, topics,
             its);

  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetFromOptions(A));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-file", file, sizeof(file), &fromfile));
  if (fromfile) PetscCall(MatLoadFile(A, file));
  else PetscCall(FillDocuments(A, m, n, topics));
  PetscCall(MatGetSize(A, &m, &n));
  PetscCheck(rank > 0 && rank <= PetscMin(m, n), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-rank %" PetscInt_FMT " must be between 1 and %" PetscInt_FMT ", the least dimension", rank, PetscMin(m, n));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " documents, %" PetscInt_FMT " terms, %.0f nonzeros, matrix of type %s\n", m, n, info.nz_used, type));

  PetscCall(MatNorm(A, NORM_FROBENIUS, &norm));
  PetscCheck(norm > 0 && !PetscIsInfOrNanReal(norm), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "The norm of the matrix is %g: there is nothing to approximate", (double)norm);

  PetscCall(PetscMalloc2(rank + 1, &exact, rank + 1, &randomized));
  PetscCall(Approximate(A, "blocklanczos", "exact_", rank, PETSC_DETERMINE, 0, exact));
  /* the basis of the randomized solver cannot have more columns than the rank of the matrix: they would be dependent */
  while (found < rank && !(exact[found] <= rounding)) found++; /* not for NaN */
  if (found < rank) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "From rank %" PetscInt_FMT " on the error is zero, but for rounding\n", found));
  PetscCall(Approximate(A, SVDRANDOMIZED, "randomized_", found, found < rank ? found : PETSC_DETERMINE, its, randomized));
  for (PetscInt k = found; k < rank; k++) randomized[k + 1] = randomized[k];

  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", file, sizeof(file), &write));
  if (write) {
    PetscCall(PetscFOpen(PETSC_COMM_WORLD, file, "w", &fp));
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "rank,blocklanczos,randomized\n"));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n  rank   relative error   by randomized   its excess\n"));
  for (PetscInt k = 0; k <= rank; k++) {
    const PetscReal best = PetscSqrtReal(PetscMax(exact[k], 0)), other = PetscSqrtReal(PetscMax(randomized[k], 0));

    if ((k & (k - 1)) == 0 || k == rank) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %4" PetscInt_FMT "   %14.6f   %13.6f   ", k, (double)best, (double)other));
      if (k <= found && exact[k] > rounding) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%9.2f %%\n", (double)(100 * (other / best - 1))));
      else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "        -\n")); /* a ratio of rounding errors */
    }
    if (write) PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%" PetscInt_FMT ",%.10e,%.10e\n", k, (double)best, (double)other));
    /* no approximation is better than that by singular triplets, and a larger rank is never worse; a comparison with NaN is false */
    right = (PetscBool)(right && randomized[k] >= exact[k] * (1 - slack) - rounding && (k == 0 || exact[k] <= exact[k - 1] + rounding));
  }
  if (write) PetscCall(PetscFClose(PETSC_COMM_WORLD, fp));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, right ? "Right: no approximation is better than that by singular triplets.\n" : "WRONG: an approximation is missing, or better than that by singular triplets.\n"));
  PetscCall(PetscFree2(exact, randomized));
  PetscCall(MatDestroy(&A));
  PetscCall(SlepcFinalize());
  return right ? 0 : 1;
}
