static const char help[] = "Values closer to each other than to the rest, more of them than a block has columns: none may be missed.\n\
  -nsv n               how many values\n\
  -n n                 the size\n\
  -blocksizes b,...    block sizes\n\
  -spacings d,...      distances within a group, as parts of the distance between groups\n\
  -distances g,...     distances between groups, relative to the largest value\n\
  -seeds n             starts of each solve\n\
  -missing             from the singular vectors of all values wanted but the last of each group\n";

#include "check.h"

#define MAXLIST 32

/* The unit vectors that are the singular vectors of a diagonal matrix, but for the last of each group */
static PetscErrorCode StartWithMissing(SVD svd, Mat A, PetscInt nsv, PetscInt group)
{
  Vec     *v;
  PetscInt first, last, count = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(nsv, &v));
  for (PetscInt i = 0; i < nsv; i++) {
    if (!((i + 1) % group)) continue;
    PetscCall(MatCreateVecs(A, &v[count], NULL));
    PetscCall(VecGetOwnershipRange(v[count], &first, &last));
    if (i >= first && i < last) PetscCall(VecSetValue(v[count], i, 1, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(v[count]));
    PetscCall(VecAssemblyEnd(v[count++]));
  }
  PetscCall(SVDSetInitialSpaces(svd, count, v, 0, NULL));
  for (PetscInt i = 0; i < count; i++) PetscCall(VecDestroy(&v[i]));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  n = 1200, nsv = 16, sizes[MAXLIST] = {2, 4, 8}, nsizes = 3, seeds = 2, wrong = 0, solves = 0, guards, guarded = 0, count, steps, sum = 0;
  PetscReal tol, spacings[MAXLIST] = {0, 1e-7, 1e-5, 1e-3, 0.03, 0.2, 1}, distances[MAXLIST] = {1e-3, 1e-2, 0.06};
  PetscInt  nspacings = 7, ndistances = 3;
  PetscBool flg, verbose = PETSC_FALSE, missing = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(SlepcCSRCInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-nsv", &nsv, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seeds", &seeds, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-missing", &missing, NULL));
  PetscCall(SVDCheckGetList("-blocksizes", MAXLIST, sizes, &nsizes));
  count = MAXLIST;
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-spacings", spacings, &count, &flg));
  if (flg) nspacings = count;
  count = MAXLIST;
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-distances", distances, &count, &flg));
  if (flg) ndistances = count;

  for (PetscInt b = 0; b < nsizes; b++) {
    /* groups of one value more than the block has columns, and of twice as many */
    for (PetscInt more = 1; more <= sizes[b]; more += PetscMax(sizes[b] - 1, 1)) {
      for (PetscInt g = 0; g < ndistances; g++) {
        for (PetscInt d = 0; d < nspacings; d++) {
          const PetscInt group = sizes[b] + more;
          PetscReal     *s, value = 1.0;
          Mat            A;

          PetscCall(PetscMalloc1(n, &s));
          for (PetscInt i = 0; i < n; i++) {
            if (i < nsv) {
              s[i] = value;
              value -= (i + 1) % group && i + 1 < nsv ? distances[g] * spacings[d] : distances[g];
            } else s[i] = PetscMax(value, 0.0) * (1 - (PetscReal)(i - nsv) / n);
          }
          PetscCall(SVDCheckCreateDiagonal(n, s, &A));
          for (PetscInt seed = 0; seed < seeds; seed++) {
            SVD       svd;
            SVDCheck  check;
            PetscBool bad;

            PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
            PetscCall(SVDSetOperators(svd, A, NULL));
            PetscCall(SVDSetType(svd, SVDBLOCKLANCZOS));
            PetscCall(SVDSetDimensions(svd, nsv, PETSC_DETERMINE, PETSC_DETERMINE));
            PetscCall(SVDBlockLanczosSetBlockSize(svd, sizes[b]));
            PetscCall(SVDSetSeed(svd, seed));
            PetscCall(SVDSetFromOptions(svd));
            if (missing) PetscCall(StartWithMissing(svd, A, nsv, group));
            PetscCall(SVDSolve(svd));
            PetscCall(SVDCheckSolution(svd, nsv, s, &check));
            PetscCall(SVDBlockLanczosGetCounts(svd, &steps, NULL, &guards, NULL));
            sum += steps;
            PetscCall(SVDGetTolerances(svd, &tol, NULL));
            /* the error of values is the square of residuals; if one is missed, the next one takes its place, with a larger error */
            bad = (PetscBool)(check.n < nsv || check.value > PetscMax(1e-10, 10 * PetscSqr(tol)));
            solves++;
            if (bad) wrong++;
            if (guards) guarded++;
            if (bad || verbose)
              PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                                    "%s block %" PetscInt_FMT ", groups of %" PetscInt_FMT ", distance %g, spacing %g of it, seed %" PetscInt_FMT ": %" PetscInt_FMT " values, difference %.1e, %" PetscInt_FMT " guards, %" PetscInt_FMT " steps\n",
                                    bad ? "WRONG" : "right", sizes[b], group, (double)distances[g], (double)spacings[d], seed, check.n, (double)check.value, guards, steps));
            PetscCall(SVDDestroy(&svd));
          }
          PetscCall(MatDestroy(&A));
          PetscCall(PetscFree(s));
        }
      }
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", wrong ? "some values are missing" : "no value is missing"));
  if (verbose || wrong) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " of %" PetscInt_FMT " solves wrong, %" PetscInt_FMT " guarded, %" PetscInt_FMT " steps\n", wrong, solves, guarded, sum));
  PetscCall(SlepcFinalize());
  return 0;
}

/*TEST

  build:
    depends: check.c
    requires: double

  test:
    suffix: 1

  # guards that restart in the two-sided form
  test:
    suffix: twosided
    args: -svd_blocklanczos_form twosided
    output_file: output/hidden_1.out

  # the user's vectors say nothing of those that are missing: the random part of the block, and the guard, do
  test:
    suffix: missing
    args: -missing -seeds 1
    output_file: output/hidden_1.out

  # without the guard some are
  test:
    suffix: noguard
    args: -svd_blocklanczos_certify 0 -seeds 1 -spacings 0,1e-7
    filter: grep -E "missing"

TEST*/
