/*
  PageRank: the probability that a reader who follows random links, and sometimes jumps to a random page, is at a page.

  With A(i,j) = 1 for a link from page i to page j, the method needs only products with A^T. The matrix is stored by rows, unchanged.
  The weights 1/(number of links of a page) go into the vector, not into the matrix, so that all values of the matrix stay 1, which some
  types compress. For example

    pagerank -file wiki-Vote.mtx.gz -dll_append $PETSCCSRC_LIB -mat_type csrccuda
*/
static char help[] = "Ranks the pages of a network by PageRank.\n"
                     "  -file <file>    : its links, a square matrix (.mtx, .mtx.gz or PETSc binary): a nonzero (i,j) is a link from i to j,\n"
                     "                    a value other than 1 that many links\n"
                     "  -damping <d>    : share of readers who follow a link, not jump (0.85)\n"
                     "  -tol <t>        : ends when no more than this changes, in the sum over all pages (1e-12; 1e-6 in single precision)\n"
                     "  -max_it <n>     : iterations at most (1000)\n"
                     "  -top <n>        : how many pages are printed (10)\n"
                     "  -csv <file>     : writes rank, page and probability of all pages\n"
                     "Of PETSc's own options -mat_type and -dll_append are the most useful.\n\n";

#include <petscmat.h>
#include <petsctime.h>
#include "support.h"

/* weight = 1 / (number of links), 0 for a page without links; dangling = 1 for those, else 0 */
static PetscErrorCode CountLinks(Mat A, Vec weight, Vec dangling)
{
  Vec       ones, all;
  PetscInt  page;
  PetscReal least, sum;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(weight, &ones));
  PetscCall(VecSet(ones, 1.0));
  PetscCall(VecDuplicate(weight, &all));
  PetscCall(MatGetRowSumAbs(A, all)); /* before the first product, in which some types free their entries */
  PetscCall(MatMult(A, ones, weight));
  PetscCall(VecNorm(weight, NORM_1, &sum));
  PetscCheck(!PetscIsInfOrNanReal(sum), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "The numbers of links add up to %g", (double)sum);
  /* a page without negative numbers has the same sum of absolute values, but for rounding */
  PetscCall(VecWAXPY(dangling, -1.0 / (1 + PETSC_SQRT_MACHINE_EPSILON), all, weight));
  PetscCall(VecRealPart(dangling));
  PetscCall(VecMin(dangling, &page, &least));
  PetscCheck(least >= 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "Page %" PetscInt_FMT " has negative numbers of links", page + 1);
  PetscCall(VecDestroy(&all));
  PetscCall(VecReciprocal(weight)); /* does not change zeros */
  PetscCall(MatMult(A, ones, dangling));
  PetscCall(VecPointwiseMult(dangling, dangling, weight)); /* 1 where there are links */
  PetscCall(VecAYPX(dangling, -1.0, ones));
  PetscCall(VecDestroy(&ones));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x <- d A^T (weight x) + (d (sum over dangling pages) + 1 - d) / n, until x converges */
static PetscErrorCode PageRank(Mat A, PetscReal damping, PetscReal tol, PetscInt maxits, Vec x, PetscInt *its, PetscReal *change)
{
  Vec       weight, dangling, y, w;
  PetscInt  n, it = 0;
  PetscReal moved = 1;

  PetscFunctionBegin;
  PetscCall(VecGetSize(x, &n));
  PetscCall(VecDuplicate(x, &weight));
  PetscCall(VecDuplicate(x, &dangling));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &w));
  PetscCall(CountLinks(A, weight, dangling));
  PetscCall(VecSet(x, 1 / (PetscReal)n));
  while (it < maxits && moved > tol) {
    PetscScalar lost;

    PetscCall(VecDot(x, dangling, &lost)); /* readers at a page without links jump to a random page */
    PetscCall(VecPointwiseMult(w, weight, x));
    PetscCall(MatMultTranspose(A, w, y));
    PetscCall(VecScale(y, damping));
    PetscCall(VecShift(y, (damping * lost + (1 - damping)) / (PetscReal)n));
    PetscCall(VecAXPY(x, -1.0, y));
    PetscCall(VecNorm(x, NORM_1, &moved));
    PetscCall(VecCopy(y, x));
    it++;
  }
  *its    = it;
  *change = moved;
  PetscCall(VecDestroy(&weight));
  PetscCall(VecDestroy(&dangling));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first process prints; pages of equal probability are sorted by number */
static PetscErrorCode PrintPages(Vec x, PetscInt top, const char csv[])
{
  VecScatter         scatter;
  Vec                all;
  PetscInt           n;
  const PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(VecScatterCreateToZero(x, &scatter, &all));
  PetscCall(VecScatterBegin(scatter, x, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, x, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetLocalSize(all, &n)); /* 0 on other processes */
  PetscCall(VecGetArrayRead(all, &a));
  if (n) {
    PetscReal *key;
    PetscInt  *page;
    FILE      *fp = NULL;

    PetscCall(PetscMalloc2(n, &key, n, &page));
    for (PetscInt i = 0; i < n; i++) {
      key[i]  = -PetscRealPart(a[i]);
      page[i] = i;
    }
    PetscCall(PetscSortRealWithArrayInt(n, key, page));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n  rank      page   probability\n"));
    for (PetscInt k = 0; k < PetscMin(top, n); k++) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %4" PetscInt_FMT "  %8" PetscInt_FMT "  %12.6e\n", k + 1, page[k] + 1, (double)-key[k]));
    if (csv[0]) {
      PetscCall(PetscFOpen(PETSC_COMM_SELF, csv, "w", &fp));
      PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "rank,page,probability\n"));
      for (PetscInt k = 0; k < n; k++) PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%" PetscInt_FMT ",%" PetscInt_FMT ",%.15e\n", k + 1, page[k] + 1, (double)-key[k]));
      PetscCall(PetscFClose(PETSC_COMM_SELF, fp));
    }
    PetscCall(PetscFree2(key, page));
  }
  PetscCall(VecRestoreArrayRead(all, &a));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecDestroy(&all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat            A;
  Vec            x;
  MatType        type;
  MatInfo        info;
  PetscInt       M, N, its = 0, top = 10, maxits = 1000;
  PetscReal      damping = 0.85, tol = PetscDefined(USE_REAL_DOUBLE) ? 1e-12 : 1e-6, change = 0;
  PetscScalar    sum;
  PetscLogDouble start, end;
  PetscBool      set;
  char           file[PETSC_MAX_PATH_LEN], csv[PETSC_MAX_PATH_LEN] = "";

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-file", file, sizeof(file), &set));
  PetscCheck(set, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "Give a network with -file <file>");
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-damping", &damping, NULL));
  PetscCheck(damping >= 0 && damping < 1, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-damping %g must be at least 0 and below 1", (double)damping);
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tol", &tol, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-max_it", &maxits, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-top", &top, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", csv, sizeof(csv), NULL));

  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatLoadFile(A, file));
  PetscCall(MatGetSize(A, &M, &N));
  PetscCheck(M == N && N > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "The network in %s is %" PetscInt_FMT " x %" PetscInt_FMT ", it must be square and have a page", file, M, N);
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Network: %" PetscInt_FMT " pages, %.0f links, type %s\n", N, info.nz_used, type));

  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(PetscTime(&start));
  PetscCall(PageRank(A, damping, tol, maxits, x, &its, &change));
  PetscCall(VecSum(x, &sum));
  PetscCall(PetscTime(&end));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " iterations, last change %.1e, sum of probabilities 1 %+.1e, %.3f seconds\n", its, (double)change, (double)(PetscRealPart(sum) - 1), end - start));
  if (!(change <= tol)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "NOT converged in -max_it %" PetscInt_FMT ": the last change is above -tol %g\n", maxits, (double)tol));
  PetscCall(PrintPages(x, top, csv));

  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return change <= tol ? 0 : 1;
}
