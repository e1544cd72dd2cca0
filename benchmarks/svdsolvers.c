static const char help[] = "Time to the largest singular values: matrices, matrix types, solvers and transpose modes side by side.\n\n\
  -matrix M,...    chessboard:a:b:k, standin:NAME (see -scale), or a file that MatLoadFile() reads; default chessboard:7:9:4\n\
  -scale s         size of stand-ins\n\
  -type T,...      matrix types; default aij\n\
  -solver S,...    SVD types; default blocklanczos,trlanczos,cross. S+O adds the options of -S+O_..., for example\n\
                   -solver blocklanczos,blocklanczos+b4 -blocklanczos+b4_svd_blocklanczos_blocksize 4\n\
  -mode M,...      default (SLEPc's), implicit, twocopies (implicit, with PETSc's explicit transpose of the type); default implicit\n\
  -case C,...      type:mode:solver, in place of all combinations of these lists. Each case begins with a matrix that was converted anew,\n\
                   so that its first solve holds what a program's first solve does\n\
  -nsv n,...       how many values, at most as many as there are; default 16\n\
  -repeat n        solves, each with a new SVD object; the first one holds what is done once; default 3\n\
  -seeds n         starts of each solve, one after the other in place of repetitions\n\
  -csv FILE        a line for each solve\n\n\
A solve is set-up and solve together. 'wrong' counts the multiplicities of a chessboard that are not the exact ones.\n";

#include <slepcsvd.h>
#include "bench.h"

/* The number of those of the n values found that differ from the exact spectrum, in which values are repeated by their multiplicity */
static PetscErrorCode CountWrong(const NamedMatrix *p, SVD svd, PetscInt n, PetscInt *wrong)
{
  const SpectrumLevel *levels;
  PetscInt             nlevels, i = 0;
  PetscReal            sigma, sigma1;

  PetscFunctionBegin;
  *wrong = -1;
  if (!p->abk[0] || !n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ChessboardGetSpectrum(p->abk[0], p->abk[1], p->abk[2], &nlevels, &levels));
  if (!nlevels) PetscFunctionReturn(PETSC_SUCCESS); /* not known */
  *wrong = 0;
  sigma1 = PetscSqrtReal((PetscReal)levels[0].square);
  for (PetscInt l = 0; l < nlevels; l++) {
    for (PetscInt c = 0; c < levels[l].multiplicity && i < n; c++, i++) {
      PetscCall(SVDGetSingularTriplet(svd, i, &sigma, NULL, NULL));
      if (PetscAbsReal(sigma - PetscSqrtReal((PetscReal)levels[l].square)) > 1e-8 * sigma1) (*wrong)++;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Mat A, const NamedMatrix *p, const char type[], const char solver[], const char mode[], PetscInt nsv, PetscInt repeat, PetscInt64 seed, FILE *csv)
{
  SVD            svd;
  PetscLogDouble start, setup, end;
  PetscInt       its, nconv, wrong, steps = 0, vectors = 0, bs = 0, ncv;
  PetscReal      first = 0.0, last = 0.0, error = 0.0, e;
  PetscBool      implicit, isdefault;
  char           prefix[128], *plus, base[64];
  BV             V;
  PetscRandom    random;
  PetscErrorCode (*counts)(SVD, PetscInt *, PetscInt *, PetscInt *, PetscInt *), (*blocksize)(SVD, PetscInt *);

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(base, solver, sizeof(base)));
  PetscCall(PetscStrchr(base, '+', &plus));
  if (plus) *plus = 0;
  PetscCall(PetscStrcmp(mode, "default", &isdefault));
  PetscCall(Now(&start));
  PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
  PetscCall(SVDSetOperators(svd, A, NULL));
  PetscCall(SVDSetType(svd, base));
  PetscCall(SVDSetDimensions(svd, nsv, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(SVDSetTolerances(svd, 1e-8, PETSC_CURRENT)); /* without it cross has a tenth of this */
  if (!isdefault) PetscCall(SVDSetImplicitTranspose(svd, PETSC_TRUE));
  if (plus) {
    PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%s_", solver));
    PetscCall(SVDSetOptionsPrefix(svd, prefix));
  }
  PetscCall(SVDSetFromOptions(svd));
  if (seed) {
    PetscCall(SVDGetBV(svd, &V, NULL));
    PetscCall(BVGetRandomContext(V, &random));
    PetscCall(PetscRandomSetSeed(random, seed));
    PetscCall(PetscRandomSeed(random));
  }
  PetscCall(SVDSetUp(svd));
  PetscCall(Now(&setup));
  PetscCall(SVDSolve(svd));
  PetscCall(Now(&end));

  PetscCall(SVDGetIterationNumber(svd, &its));
  PetscCall(SVDGetConverged(svd, &nconv));
  PetscCall(SVDGetImplicitTranspose(svd, &implicit));
  PetscCall(SVDGetDimensions(svd, NULL, &ncv, NULL));
  /* the library is loaded by -dll_append: its functions are found by name */
  PetscCall(PetscObjectQueryFunction((PetscObject)svd, "SVDBlockLanczosGetCounts_C", &counts));
  PetscCall(PetscObjectQueryFunction((PetscObject)svd, "SVDBlockLanczosGetBlockSize_C", &blocksize));
  if (counts && blocksize) {
    PetscCall((*counts)(svd, &steps, &vectors, NULL, NULL));
    PetscCall((*blocksize)(svd, &bs));
  }
  nconv = PetscMin(nconv, nsv);
  for (PetscInt i = 0; i < nconv; i++) {
    PetscCall(SVDGetSingularTriplet(svd, i, &last, NULL, NULL));
    if (!i) first = last;
    /* relative to the value, unless this is zero up to rounding */
    PetscCall(SVDComputeError(svd, i, SVD_ERROR_ABSOLUTE, &e));
    error = PetscMax(error, e / (last > 1e-12 * first ? last : PetscMax(first, PETSC_MACHINE_EPSILON)));
  }
  PetscCall(CountWrong(p, svd, nconv, &wrong));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-12s %-12s %-18s %-10s nsv %3" PetscInt_FMT " run %" PetscInt_FMT ": set-up %9.3f solve %9.3f ms, %" PetscInt_FMT " iterations, ncv %" PetscInt_FMT, p->name, type, solver, mode, nsv, repeat,
                        (setup - start) * 1e3, (end - setup) * 1e3, its, ncv));
  if (counts) PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", block %" PetscInt_FMT ", %" PetscInt_FMT " steps, %" PetscInt_FMT " vectors", bs, steps, vectors));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", %" PetscInt_FMT " converged, %.10g .. %.10g, error %.1e", nconv, (double)first, (double)last, (double)error));
  if (wrong >= 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", %" PetscInt_FMT " wrong", wrong));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  if (csv)
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, csv,
                           "%s,%s,%s,%s,%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt64_FMT ",%.6f,%.6f,%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",%.15g,%.15g,%.3e,%" PetscInt_FMT
                           "\n",
                           p->name, type, solver, mode, nsv, repeat, seed, (setup - start) * 1e3, (end - setup) * 1e3, its, ncv, bs, steps, vectors, nconv, (double)first, (double)last, (double)error, wrong));
  PetscCall(SVDDestroy(&svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  char *type, *mode, *solver;
} Case;

/* The cases of -case, or all combinations of the lists of -type, -mode and -solver */
static PetscErrorCode GetCases(Case cases[], PetscInt *n, PetscBool *fresh)
{
  char    *types[MAXLIST], *solvers[MAXLIST], *modes[MAXLIST], *given[MAXLIST];
  PetscInt ntypes, nsolvers, nmodes, ngiven = MAXLIST;

  PetscFunctionBegin;
  *n = 0;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-case", given, &ngiven, fresh));
  if (*fresh) {
    for (PetscInt i = 0; i < ngiven; i++) {
      char **parts;
      int    count;

      PetscCall(PetscStrToArray(given[i], ':', &count, &parts));
      PetscCheck(count == 3, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-case %s: type:mode:solver is what is understood", given[i]);
      PetscCall(PetscStrallocpy(parts[0], &cases[i].type));
      PetscCall(PetscStrallocpy(parts[1], &cases[i].mode));
      PetscCall(PetscStrallocpy(parts[2], &cases[i].solver));
      PetscCall(PetscStrToArrayDestroy(count, parts));
      PetscCall(PetscFree(given[i]));
    }
    *n = ngiven;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(GetList("-type", MATAIJ, types, &ntypes));
  PetscCall(GetList("-solver", "blocklanczos,trlanczos,cross", solvers, &nsolvers));
  PetscCall(GetList("-mode", "implicit", modes, &nmodes));
  PetscCheck(ntypes * nsolvers * nmodes <= MAXLIST, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "%" PetscInt_FMT " combinations are more than %d", ntypes * nsolvers * nmodes, MAXLIST);
  for (PetscInt t = 0; t < ntypes; t++) {
    for (PetscInt m = 0; m < nmodes; m++) {
      for (PetscInt k = 0; k < nsolvers; k++, (*n)++) {
        PetscCall(PetscStrallocpy(types[t], &cases[*n].type));
        PetscCall(PetscStrallocpy(modes[m], &cases[*n].mode));
        PetscCall(PetscStrallocpy(solvers[k], &cases[*n].solver));
      }
    }
  }
  PetscCall(FreeList(types, ntypes));
  PetscCall(FreeList(solvers, nsolvers));
  PetscCall(FreeList(modes, nmodes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs all solves with a matrix */
static PetscErrorCode RunCases(Mat A, const NamedMatrix *problem, PetscInt n, const Case cases[], PetscBool fresh, PetscInt nnsv, const PetscInt nsvs[], PetscInt repeat, PetscInt seeds, FILE *csv)
{
  Mat       B = NULL;
  PetscInt  M, N;
  PetscBool two, same;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &M, &N));
  for (PetscInt c = 0; c < n; c++) {
    same = PETSC_FALSE;
    if (c && !fresh) {
      PetscCall(PetscStrcmp(cases[c].type, cases[c - 1].type, &same));
      if (same) PetscCall(PetscStrcmp(cases[c].mode, cases[c - 1].mode, &same));
    }
    if (!same) {
      PetscCall(MatDestroy(&B));
      PetscCall(MatConvert(A, cases[c].type, MAT_INITIAL_MATRIX, &B));
      PetscCall(PetscStrcmp(cases[c].mode, "twocopies", &two));
      if (two) PetscCall(MatSetOption(B, MAT_FORM_EXPLICIT_TRANSPOSE, PETSC_TRUE));
    }
    for (PetscInt i = 0; i < nnsv; i++) {
      if (i && nsvs[i - 1] >= PetscMin(M, N)) continue; /* the previous number already included all values */
      for (PetscInt r = 0; r < repeat; r++) PetscCall(Solve(B, problem, cases[c].type, cases[c].solver, cases[c].mode, PetscMin(nsvs[i], PetscMin(M, N)), r, seeds ? r : 0, csv));
    }
  }
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     *matrices[MAXLIST], file[PETSC_MAX_PATH_LEN] = "";
  PetscInt  nmatrices, ncases, nsvs[MAXLIST] = {16}, nnsv = MAXLIST, repeat = 3, seeds = 0;
  PetscReal scale = 1.0;
  PetscBool flg, fresh;
  Case      cases[MAXLIST];
  FILE     *csv = NULL;

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(GetList("-matrix", "chessboard:7:9:4", matrices, &nmatrices));
  PetscCall(GetCases(cases, &ncases, &fresh));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-nsv", nsvs, &nnsv, &flg));
  if (!flg) nnsv = 1;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seeds", &seeds, NULL));
  if (seeds) repeat = seeds;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-scale", &scale, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", file, sizeof(file), &flg));
  if (flg) {
    PetscCall(PetscFOpen(PETSC_COMM_WORLD, file, "w", &csv));
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, csv, "matrix,type,solver,mode,nsv,run,seed,setup_ms,solve_ms,iterations,ncv,block,steps,vectors,converged,first,last,error,wrong\n"));
  }
  {
    /* a process does some work only once, such as loading kernels: this shall not count in the first solve that is timed */
    Mat         A;
    NamedMatrix small;

    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetType(A, MATAIJ));
    PetscCall(MatFillNamed(A, "chessboard:5:6:2", 1.0, &small));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Trial:\n"));
    PetscCall(RunCases(A, &small, ncases, cases, fresh, 1, nsvs, 1, 0, NULL));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Timed:\n"));
    PetscCall(MatDestroy(&A));
  }
  for (PetscInt m = 0; m < nmatrices; m++) {
    Mat         A;
    NamedMatrix problem;

    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetType(A, MATAIJ));
    PetscCall(MatFillNamed(A, matrices[m], scale, &problem));
    PetscCall(RunCases(A, &problem, ncases, cases, fresh, nnsv, nsvs, repeat, seeds, csv));
    PetscCall(MatDestroy(&A));
  }
  if (csv) PetscCall(PetscFClose(PETSC_COMM_WORLD, csv));
  PetscCall(FreeList(matrices, nmatrices));
  for (PetscInt i = 0; i < ncases; i++) {
    PetscCall(PetscFree(cases[i].type));
    PetscCall(PetscFree(cases[i].mode));
    PetscCall(PetscFree(cases[i].solver));
  }
  PetscCall(SlepcFinalize());
  return 0;
}
