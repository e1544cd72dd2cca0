/*
  Spectral bisection: divides the vertices of a graph into two parts with few edges between them, by singular vectors of its incidence
  matrix.

  The incidence matrix B has a row for each edge, with a 1 at either end. With D, the degrees of the vertices, B^T B = D + W for the adjacency
  matrix W, so that the singular values of A = B D^-1/2 are the square roots of 2 - lambda, where lambda are the eigenvalues of the
  normalized Laplacian I - D^-1/2 W D^-1/2. Its smallest eigenvalue, 0, corresponds to the largest singular value of A; the second one gives
  the parts. Products with A and A^T suffice; neither the Laplacian nor a linear solver is needed. For example

    bisection -file PGPgiantcompo.mtx -svd_type blocklanczos -dll_append $SLEPCCSRC_LIB -mat_type csrccuda
*/
static char help[] = "Cuts a graph in two.\n"
                     "  -file <file>    : a symmetric matrix, of which each nonzero off the diagonal is an edge (.mtx, .mtx.gz or PETSc binary)\n"
                     "  -vertices <n>, -inside <d>, -between <e> : or a graph to be generated, of two equal parts: an average vertex has d edges\n"
                     "                    inside its part, and e to the other (2000, 14, 2)\n"
                     "  -thresholds <k> : how many cuts are tried, an odd number (63)\n"
                     "  -csv <file>     : writes the value of each vertex, in order, and its side\n"
                     "Of PETSc's and SLEPc's options -mat_type, -svd_type, -svd_tol and -dll_append are the most useful.\n\n";

#include <slepcsvd.h>
#include <petsctime.h>
#include "support.h"

/* A graph of two parts: vertex i has edges to random vertices with larger numbers */
static PetscErrorCode FillGraph(Mat W, PetscInt n, PetscReal inside, PetscReal between)
{
  PetscInt     first, last, *i, *j, count;
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(MatFillSizes(W, n, n));
  PetscCall(MatGetOwnershipRange(W, &first, &last));
  PetscCall(PetscMalloc1(last - first + 1, &i));
  count = 0;
  for (int pass = 0; pass < 2; pass++) { /* the first pass counts, the second writes */
    if (pass) PetscCall(PetscMalloc2(count, &j, count, &v));
    count = i[0] = 0;
    for (PetscInt row = first; row < last; row++) {
      uint64_t state = RandomStart(0, row);

      for (PetscInt column = row + 1; column < n; column++) {
        const PetscReal degree = (row < n / 2) == (column < n / 2) ? inside : between;

        if (RandomUniform(&state) * n >= 2 * degree) continue;
        if (pass) {
          j[count] = column;
          v[count] = 1;
        }
        count++;
      }
      i[row - first + 1] = count;
    }
  }
  PetscCall(MatFillRows(W, i, j, v));
  PetscCall(PetscFree(i));
  PetscCall(PetscFree2(j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every edge must be in W twice, in the rows of both its ends: only the entries above the diagonal are used below */
static PetscErrorCode CheckGraph(Mat W, const char file[])
{
  Mat       T;
  PetscInt  m, n;
  PetscReal difference;

  PetscFunctionBegin;
  PetscCall(MatGetSize(W, &m, &n));
  PetscCheck(m == n, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "The graph in %s is %" PetscInt_FMT " x %" PetscInt_FMT ", it must be square", file, m, n);
  PetscCall(MatTranspose(W, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatAXPY(T, -1, W, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(T, NORM_INFINITY, &difference));
  PetscCall(MatDestroy(&T));
  PetscCheck(difference == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_INCOMP, "The graph in %s is not symmetric, by %g in a row: edges have no direction here", file, (double)difference);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The incidence matrix of the edges above the diagonal of W, and the degrees of the vertices */
static PetscErrorCode CreateIncidence(Mat W, Mat *B, Vec *degrees)
{
  PetscInt     n, first, last, *i, *j, edges = 0, total;
  PetscScalar *v;
  Vec          ones;

  PetscFunctionBegin;
  PetscCall(MatGetSize(W, &n, NULL));
  PetscCall(MatGetOwnershipRange(W, &first, &last));
  for (int pass = 0; pass < 2; pass++) {
    if (pass) PetscCall(PetscMalloc3(edges + 1, &i, 2 * edges, &j, 2 * edges, &v));
    edges = 0;
    for (PetscInt row = first; row < last; row++) {
      const PetscInt    *columns;
      const PetscScalar *values;
      PetscInt           count;

      PetscCall(MatGetRow(W, row, &count, &columns, &values));
      for (PetscInt k = 0; k < count; k++) {
        if (columns[k] <= row || values[k] == (PetscScalar)0.0) continue;
        if (pass) {
          i[edges]         = 2 * edges;
          j[2 * edges]     = row;
          j[2 * edges + 1] = columns[k];
          v[2 * edges] = v[2 * edges + 1] = 1;
        }
        edges++;
      }
      PetscCall(MatRestoreRow(W, row, &count, &columns, &values));
    }
  }
  i[edges] = 2 * edges;
  PetscCallMPI(MPIU_Allreduce(&edges, &total, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCheck(total > 1, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "The graph of %" PetscInt_FMT " vertices has %" PetscInt_FMT " edges, and at least two are needed", n, total);
  PetscCall(MatCreate(PETSC_COMM_WORLD, B));
  PetscCall(MatSetFromOptions(*B));
  PetscCall(MatSetSizes(*B, edges, last - first, total, n));
  PetscCall(MatFillSizes(*B, total, n));
  PetscCall(MatFillRows(*B, i, j, v));
  PetscCall(PetscFree3(i, j, v));

  PetscCall(MatCreateVecs(*B, degrees, &ones));
  PetscCall(VecSet(ones, 1));
  PetscCall(MatMultTranspose(*B, ones, *degrees));
  PetscCall(VecDestroy(&ones));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Each column of S, with entries 1 and -1, is a cut. Computes the number of edges of each cut, by one product of B with all columns (an edge
  inside a part has 2 or -2 in it), and the sum of the degrees on the side of 1. The values of B are the ones of an incidence matrix.
*/
static PetscErrorCode CountCuts(Mat B, Vec degrees, Mat S, PetscReal cut[], PetscReal volume[])
{
  Mat       Y;
  PetscInt  edges, k;
  PetscReal all, *norms;

  PetscFunctionBegin;
  PetscCall(MatGetSize(B, &edges, NULL));
  PetscCall(MatGetSize(S, NULL, &k));
  PetscCall(VecNorm(degrees, NORM_1, &all));
  PetscCall(MatMatMult(B, S, MAT_INITIAL_MATRIX, PETSC_CURRENT, &Y));
  PetscCall(PetscMalloc1(k, &norms));
  PetscCall(MatGetColumnNorms(Y, NORM_2, norms));
  for (PetscInt c = 0; c < k; c++) {
    Vec         s;
    PetscScalar sum;

    PetscCall(MatDenseGetColumnVecRead(S, c, &s));
    PetscCall(VecTDot(degrees, s, &sum));
    PetscCall(MatDenseRestoreColumnVecRead(S, c, &s));
    cut[c]    = PetscFloorReal((PetscReal)edges - PetscSqr(norms[c]) / 4 + (PetscReal)0.5);
    volume[c] = (all + PetscRealPart(sum)) / 2;
  }
  PetscCall(PetscFree(norms));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Column c of S: 1 where f is at least threshold c, otherwise -1; the last column is the planted cut, if there is one */
static PetscErrorCode FillCuts(Vec f, PetscInt k, const PetscReal thresholds[], PetscBool planted, Mat S)
{
  PetscInt           n, first, last;
  const PetscScalar *a;
  PetscScalar       *s;

  PetscFunctionBegin;
  PetscCall(VecGetSize(f, &n));
  PetscCall(VecGetOwnershipRange(f, &first, &last));
  PetscCall(VecGetArrayRead(f, &a));
  for (PetscInt c = 0; c < k + planted; c++) {
    PetscCall(MatDenseGetColumn(S, c, &s));
    for (PetscInt i = first; i < last; i++) s[i - first] = (c < k ? PetscRealPart(a[i - first]) >= thresholds[c] : i < n / 2) ? 1 : -1;
    PetscCall(MatDenseRestoreColumn(S, &s));
  }
  PetscCall(VecRestoreArrayRead(f, &a));
  PetscCall(MatAssemblyBegin(S, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(S, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat            W, B, A, S;
  SVD            svd;
  SVDType        solver;
  MatType        type;
  VecType        vectype;
  Vec            degrees, root, f, all;
  VecScatter     scatter;
  PetscInt       n = 2000, edges, k = 63, nlocal, nall, found, best = 0, middle;
  PetscReal      inside = 14, between = 2, first, second, residual, lambda, bound, volume, *sorted, *thresholds, *cut, *side;
  PetscScalar   *a;
  PetscLogDouble start, end;
  PetscBool      fromfile, write, right;
  char           file[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-vertices", &n, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-inside", &inside, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-between", &between, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-thresholds", &k, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-file", file, sizeof(file), &fromfile));
  PetscCheck(n > 1 && k > 0 && k % 2, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-vertices %" PetscInt_FMT " must be at least 2, -thresholds %" PetscInt_FMT " positive and odd, so that one is in the middle", n, k);
  PetscCall(MatCreate(PETSC_COMM_WORLD, &W));
  PetscCall(MatSetType(W, MATAIJ));
  if (fromfile) {
    PetscCall(MatLoadFile(W, file));
    PetscCall(CheckGraph(W, file));
  } else PetscCall(FillGraph(W, n, inside, between));
  PetscCall(CreateIncidence(W, &B, &degrees));
  PetscCall(MatDestroy(&W));
  PetscCall(MatGetSize(B, &edges, &n));
  PetscCall(MatGetType(B, &type));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Graph: %" PetscInt_FMT " vertices, %" PetscInt_FMT " edges, incidence matrix of type %s\n", n, edges, type));

  /* A = B D^-1/2; a vertex without edges counts for neither side */
  PetscCall(VecDuplicate(degrees, &root));
  PetscCall(VecDuplicate(degrees, &f));
  PetscCall(VecCopy(degrees, root));
  PetscCall(VecSqrtAbs(root));
  PetscCall(VecReciprocal(root));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &A));
  PetscCall(MatDiagonalScale(A, NULL, root));
  PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
  PetscCall(SVDSetOperators(svd, A, NULL));
  PetscCall(SVDSetDimensions(svd, 2, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(SVDSetTolerances(svd, PETSC_CURRENT, 10000));
  PetscCall(SVDSetFromOptions(svd));
  PetscCall(PetscTime(&start));
  PetscCall(SVDSolve(svd));
  PetscCall(PetscTime(&end));
  PetscCall(SVDGetConverged(svd, &found));
  PetscCall(SVDGetType(svd, &solver));
  PetscCheck(found >= 2, PETSC_COMM_WORLD, PETSC_ERR_CONV_FAILED, "%s found %" PetscInt_FMT " of two singular values: more iterations (-svd_max_it) or a larger -svd_tol", solver, found);
  PetscCall(SVDGetSingularTriplet(svd, 0, &first, NULL, NULL));
  PetscCall(SVDGetSingularTriplet(svd, 1, &second, NULL, f));
  PetscCall(SVDComputeError(svd, 1, SVD_ERROR_RELATIVE, &residual));
  lambda = 2 - PetscSqr(second);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Solver %s: %.3f seconds; the largest singular value is sqrt(2) %+.1e, the second gives lambda = %.6g\n", solver, end - start, (double)(first - PetscSqrtReal(2)), (double)lambda));

  /* Values of vertices, D^-1/2 v, sorted; thresholds are spread evenly over them */
  PetscCall(VecPointwiseMult(f, f, root));
  PetscCall(VecScatterCreateToAll(f, &scatter, &all));
  PetscCall(VecScatterBegin(scatter, f, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, f, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecGetLocalSize(all, &nall));
  PetscCall(PetscMalloc4(nall, &sorted, k, &thresholds, k + 1, &cut, k + 1, &side));
  PetscCall(VecGetArray(all, &a));
  for (PetscInt i = 0; i < nall; i++) sorted[i] = PetscRealPart(a[i]);
  PetscCall(VecRestoreArray(all, &a));
  PetscCall(PetscSortReal(nall, sorted));
  for (PetscInt c = 0; c < k; c++) thresholds[c] = sorted[(PetscInt)((PetscInt64)nall * (c + 1) / (k + 1))];
  middle = k / 2;

  /* One product counts all cuts */
  PetscCall(VecGetLocalSize(f, &nlocal));
  PetscCall(VecGetType(f, &vectype));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, vectype, nlocal, PETSC_DECIDE, n, k + !fromfile, PETSC_DECIDE, NULL, &S));
  PetscCall(FillCuts(f, k, thresholds, (PetscBool)!fromfile, S));
  PetscCall(CountCuts(B, degrees, S, cut, side));
  PetscCall(VecNorm(degrees, NORM_1, &volume));
  right = (PetscBool)(PetscAbsReal(first - PetscSqrtReal(2)) < 100 * PETSC_SQRT_MACHINE_EPSILON && residual < 100 * PETSC_SQRT_MACHINE_EPSILON);
  bound = lambda / 2;
  for (PetscInt c = 0; c < k + !fromfile; c++) {
    const PetscReal smaller = PetscMin(side[c], volume - side[c]);

    side[c] = smaller > 0 ? cut[c] / smaller : INFINITY; /* the conductance */
    if (side[c] < bound - 100 * PETSC_SQRT_MACHINE_EPSILON) right = PETSC_FALSE;
    if (c < k && side[c] < side[best]) best = c;
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Cut in the middle: %.0f edges, conductance %.6f\n", (double)cut[middle], (double)side[middle]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Best of %" PetscInt_FMT " cuts: %.0f edges, conductance %.6f, where none is below lambda / 2 = %.6f\n", k, (double)cut[best], (double)side[best], (double)bound));
  if (!fromfile) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "The graph was made of two parts with %.0f edges between them, conductance %.6f\n", (double)cut[k], (double)side[k]));
    right = (PetscBool)(right && cut[middle] <= 1.1 * cut[k]);
  }

  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", file, sizeof(file), &write));
  if (write) {
    FILE *fp;

    PetscCall(PetscFOpen(PETSC_COMM_WORLD, file, "w", &fp));
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "place,value,side\n"));
    for (PetscInt i = 0; i < nall; i++) PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%" PetscInt_FMT ",%.6e,%d\n", i, (double)sorted[i], sorted[i] >= thresholds[middle]));
    PetscCall(PetscFClose(PETSC_COMM_WORLD, fp));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, right ? "Right: no cut is better than the second singular value allows%s.\n" : "WRONG: a singular value, or a cut%s.\n", fromfile ? "" : ", and that in the middle is as good as the one it was made with"));

  PetscCall(PetscFree4(sorted, thresholds, cut, side));
  PetscCall(SVDDestroy(&svd));
  PetscCall(VecDestroy(&degrees));
  PetscCall(VecDestroy(&root));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&all));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(SlepcFinalize());
  return right ? 0 : 1;
}
