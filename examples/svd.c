/*
  Singular values of a sparse matrix, from a file or from a generator with known answers.

  The program does not depend on particular matrix types: -mat_type chooses one, and -dll_append loads a library with further
  types. For example, with SLEPc's thick-restart Lanczos solver:

    svd -file rail507.mtx.gz -svd_nsv 20 -dll_append $PETSCCSRC_LIB -mat_type csrccuda -csv rail507.csv
*/
static char help[] = "Computes the largest singular values of a matrix.\n"
                     "  -file <file>        : a Matrix Market file (.mtx or .mtx.gz), or a PETSc binary file\n"
                     "  -chessboard <a,b,k> : or boundary matrix k of the chessboard complex of an a x b board; for some of these\n"
                     "                        the exact singular values are known, and those found are checked against them\n"
                     "  -csv <file>         : writes a table of the values found\n"
                     "  -all_copies         : a wrong multiplicity is an error too, where the exact values are known\n"
                     "Of PETSc's and SLEPc's own options -mat_type, -svd_type, -svd_nsv, -svd_tol and -dll_append are the most useful.\n\n";

#include <slepcsvd.h>
#include <petsctime.h>
#include "support.h"

/* The computed values, largest first */
typedef struct {
  PetscInt   n, wanted;
  PetscReal *sigma, *error; /* singular value; residual of the triplet, relative to the value */
} Values;

/* The matrix that the options name; for a chessboard also its exact spectrum, if known */
static PetscErrorCode CreateMatrix(Mat *A, char title[], size_t length, PetscInt *nlevels, const SpectrumLevel *levels[])
{
  char      file[PETSC_MAX_PATH_LEN];
  PetscInt  board[3], n = 3;
  PetscBool isfile, isboard;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-file", file, sizeof(file), &isfile));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-chessboard", board, &n, &isboard));
  PetscCheck(isfile != isboard, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "Give either -file <file> or -chessboard <a,b,k>");
  PetscCheck(!isboard || n == 3, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-chessboard takes three numbers a,b,k, not %" PetscInt_FMT, n);

  *nlevels = 0;
  *levels  = NULL;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetFromOptions(*A));
  if (isfile) {
    char     *name;
    PetscReal sums, squares;

    PetscCall(MatLoadFile(*A, file));
    PetscCall(MatNorm(*A, NORM_1, &sums));
    PetscCall(MatNorm(*A, NORM_FROBENIUS, &squares)); /* NORM_1 loses NaN; LAPACK, which some solvers call, may not return for them */
    PetscCheck(!PetscIsInfReal(sums) && !PetscIsNanReal(squares), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "%s has entries that are %s", file, PetscIsNanReal(squares) ? "NaN" : "infinite");
    PetscCall(PetscStrrchr(file, '/', &name));
    PetscCall(PetscStrncpy(title, name, length));
  } else {
    PetscCall(MatFillChessboard(*A, board[0], board[1], board[2]));
    PetscCall(ChessboardGetSpectrum(board[0], board[1], board[2], nlevels, levels));
    PetscCall(PetscSNPrintf(title, length, "ch%" PetscInt_FMT "-%" PetscInt_FMT "-b%" PetscInt_FMT, board[0], board[1], board[2]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Prints the bytes per nonzero of the form for products, if the type of the matrix has one. A composed function returns the size, so
  that this program need not be linked to the library of such a type.
*/
static PetscErrorCode PrintMemory(Mat A, PetscLogDouble nonzeros)
{
  PetscErrorCode (*getmemory)(Mat, PetscLogDouble *, PetscMemType *);
  PetscLogDouble bytes;
  PetscMemType   where;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatFormGetMemory_C", &getmemory));
  if (!getmemory || nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*getmemory)(A, &bytes, &where));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Bytes per nonzero: %.2f in the form for products, in %s memory\n", bytes / nonzeros, PetscMemTypeDevice(where) ? "device" : "host"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The residuals of values that are zero up to rounding are relative to the largest value, or to the Frobenius norm where the smallest are computed */
static PetscErrorCode GetValues(SVD svd, Values *values)
{
  Mat       A;
  PetscInt  M, N, nconv;
  PetscReal largest = 0;
  SVDWhich  which;
  SVDStop   stop;

  PetscFunctionBegin;
  PetscCall(SVDGetOperators(svd, &A, NULL));
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(SVDGetWhichSingularTriplets(svd, &which));
  if (which == SVD_SMALLEST) PetscCall(MatNorm(A, NORM_FROBENIUS, &largest));
  PetscCall(SVDGetConverged(svd, &nconv));
  PetscCall(SVDGetDimensions(svd, &values->wanted, NULL, NULL));
  PetscCall(SVDGetStoppingTest(svd, &stop));
  if (stop != SVD_STOP_BASIC) values->wanted = nconv; /* a threshold, for example, decides how many */
  values->n = PetscMin(nconv, values->wanted);
  PetscCall(PetscMalloc2(values->n, &values->sigma, values->n, &values->error));
  for (PetscInt i = 0; i < values->n; i++) {
    PetscCall(SVDGetSingularTriplet(svd, i, &values->sigma[i], NULL, NULL));
    PetscCall(SVDComputeError(svd, i, SVD_ERROR_ABSOLUTE, &values->error[i]));
    if (which == SVD_LARGEST) largest = values->sigma[0];
    if (values->sigma[i] > PetscMax(M, N) * PETSC_MACHINE_EPSILON * largest) values->error[i] /= values->sigma[i];
    else if (largest > 0) values->error[i] /= largest;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintValues(SVD svd, const Values *values)
{
  SVDConvergedReason reason;
  PetscReal          tolerance, worst = 0;

  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n  index       sigma             sigma^2       relative residual\n"));
  for (PetscInt i = 0; i < values->n; i++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %5" PetscInt_FMT "  %18.12e  %18.12e  %9.2e\n", i + 1, (double)values->sigma[i], (double)(values->sigma[i] * values->sigma[i]), (double)values->error[i]));

  /* Not every solver notices when it fails, for example on a matrix of small rank */
  PetscCall(SVDGetTolerances(svd, &tolerance, NULL));
  PetscCall(SVDGetConvergedReason(svd, &reason));
  for (PetscInt i = 0; i < values->n; i++) worst = LargerOrNaN(worst, values->error[i]);
  if (values->n < values->wanted) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Warning: not all values were found (%s)\n", SVDConvergedReasons[reason]));
  if (!(worst <= 10 * tolerance)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Warning: residuals of up to %.1e are not small (tolerance %.0e); another -svd_type may do better\n", (double)worst, (double)tolerance));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* exact_squared is the square of the singular value that belongs at this place of the list; it is empty if unknown */
static PetscErrorCode WriteCSV(const Values *values, PetscInt nlevels, const SpectrumLevel levels[], const char file[])
{
  FILE    *fp;
  PetscInt level = 0, copy = 0;

  PetscFunctionBegin;
  PetscCall(PetscFOpen(PETSC_COMM_WORLD, file, "w", &fp));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "index,sigma,sigma_squared,relative_residual,exact_squared\n"));
  for (PetscInt i = 0; i < values->n; i++) {
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%" PetscInt_FMT ",%.16e,%.16e,%.3e,", i + 1, (double)values->sigma[i], (double)(values->sigma[i] * values->sigma[i]), (double)values->error[i]));
    if (level < nlevels) PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%" PetscInt_FMT, levels[level].square));
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "\n"));
    if (level < nlevels && ++copy == levels[level].multiplicity) level++, copy = 0;
  }
  PetscCall(PetscFClose(PETSC_COMM_WORLD, fp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Compares the computed values with the exact spectrum, level by level. A value that lies at no level is wrong. A wrong count at a
  level is reported, but it is no error of the values: a Krylov space made from one vector holds one direction of each eigenspace, so
  that a single-vector solver finds further copies by rounding alone, and residuals do not show missing ones.
*/
static PetscErrorCode CompareWithExact(const Values *values, PetscInt nlevels, const SpectrumLevel levels[], PetscBool *right, PetscBool *copies)
{
  const PetscReal sigma1 = PetscSqrtReal((PetscReal)levels[0].square), tolerance = PetscDefined(USE_REAL_DOUBLE) ? 1e-8 : 1e-4;
  PetscReal       distance = 0;
  PetscInt       *found, left = values->wanted;
  PetscBool       counts = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(nlevels, &found));
  for (PetscInt i = 0; i < values->n; i++) {
    PetscReal best    = PETSC_MAX_REAL;
    PetscInt  nearest = 0;

    for (PetscInt l = 0; l < nlevels; l++) {
      const PetscReal d = PetscAbsReal(values->sigma[i] - PetscSqrtReal((PetscReal)levels[l].square)) / sigma1;

      if (d < best) {
        best    = d;
        nearest = l;
      }
    }
    found[nearest]++;
    distance = PetscMax(distance, best);
  }

  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n  sigma^2   multiplicity   among the %" PetscInt_FMT " largest: exact   found\n", values->wanted));
  for (PetscInt l = 0; l < nlevels; l++) {
    const PetscInt exact = PetscMin(left, levels[l].multiplicity);

    if (exact == 0 && found[l] == 0) continue;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %7" PetscInt_FMT "   %12" PetscInt_FMT "   %27" PetscInt_FMT "   %5" PetscInt_FMT "\n", levels[l].square, levels[l].multiplicity, exact, found[l]));
    counts = (PetscBool)(counts && exact == found[l]);
    left -= exact;
  }
  PetscCall(PetscFree(found));

  *right = (PetscBool)(values->n == values->wanted && distance <= tolerance);
  if (values->n < values->wanted) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "WRONG: only %" PetscInt_FMT " of %" PetscInt_FMT " values were found.\n", values->n, values->wanted));
  if (values->n > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: the values found lie within %.1e sigma_1 of exact singular values (allowed %.0e).\n", distance <= tolerance ? "Right" : "WRONG", (double)distance, (double)tolerance));
  *copies = counts;
  if (counts) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Right: each comes as often as it should.\n"));
  else if (*right) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Multiplicities are NOT right: copies of a value are missing, and smaller values stand in their place.\n"));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Solvers that build their space from a single vector miss copies, however small the residuals are.\n"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat                  A;
  SVD                  svd;
  SVDType              solver;
  SVDWhich             which;
  MatType              type;
  MatInfo              info;
  Values               values;
  PetscInt             M, N, its, nlevels;
  const SpectrumLevel *levels;
  PetscLogDouble       start, loaded, setup, solved;
  PetscBool            right = PETSC_TRUE, copies = PETSC_TRUE, allcopies = PETSC_FALSE, write;
  char                 title[PETSC_MAX_PATH_LEN], file[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));

  PetscCall(PetscTime(&start));
  PetscCall(CreateMatrix(&A, title, sizeof(title), &nlevels, &levels));
  PetscCall(PetscTime(&loaded));
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Matrix %s: %" PetscInt_FMT " x %" PetscInt_FMT ", %.0f nonzeros, type %s\n", title, M, N, info.nz_used, type));
  PetscCheck(M > 0 && N > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "A %" PetscInt_FMT " x %" PetscInt_FMT " matrix has no singular values", M, N);

  PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
  PetscCall(SVDSetOperators(svd, A, NULL));
  PetscCall(SVDSetType(svd, PetscMin(M, N) <= 100 ? SVDLAPACK : SVDTRLANCZOS)); /* very small matrices are solved as dense ones */
  PetscCall(SVDSetDimensions(svd, PetscMin(10, PetscMin(M, N)), PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(SVDSetFromOptions(svd));
  PetscCall(SVDGetWhichSingularTriplets(svd, &which));
  PetscCheck(which == SVD_LARGEST || !nlevels, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-chessboard compares the largest singular values: leave -svd_smallest out");
  PetscCall(SVDSetUp(svd));
  PetscCall(PetscTime(&setup));
  PetscCall(SVDSolve(svd));
  PetscCall(PetscTime(&solved));

  PetscCall(SVDGetType(svd, &solver));
  PetscCall(SVDGetIterationNumber(svd, &its));
  PetscCall(GetValues(svd, &values));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Solver %s: %" PetscInt_FMT " of %" PetscInt_FMT " values after %" PetscInt_FMT " iterations\n", solver, values.n, values.wanted, its));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Seconds: matrix %.3f, set-up %.3f, solve %.3f\n", loaded - start, setup - loaded, solved - setup));
  PetscCall(PrintMemory(A, info.nz_used));
  PetscCall(PrintValues(svd, &values));
  if (nlevels) PetscCall(CompareWithExact(&values, nlevels, levels, &right, &copies));
  else right = (PetscBool)(values.n == values.wanted);

  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", file, sizeof(file), &write));
  if (write) PetscCall(WriteCSV(&values, nlevels, levels, file));

  PetscCall(PetscOptionsGetBool(NULL, NULL, "-all_copies", &allcopies, NULL));
  if (allcopies) right = (PetscBool)(right && copies);

  PetscCall(PetscFree2(values.sigma, values.error));
  PetscCall(SVDDestroy(&svd));
  PetscCall(MatDestroy(&A));
  PetscCall(SlepcFinalize());
  return right ? 0 : 1;
}
