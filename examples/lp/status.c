/*
  What a result is worth: everything here is computed from the user's data in their own scale, by plain loops that share nothing with
  the iteration. And files of results.
*/
#include "lp.h"
#include <petscviewer.h>

/* A certificate has no length of its own: its largest component becomes 1 */
static void Normalize(PetscInt n, PetscReal d[])
{
  PetscReal largest = 0;

  for (PetscInt i = 0; i < n; i++) largest = PetscMax(largest, PetscAbsReal(d[i]));
  for (PetscInt i = 0; largest > 0 && i < n; i++) d[i] /= largest;
}

static PetscReal Violation(PetscReal a, PetscReal lower, PetscReal upper)
{
  return a < lower ? lower - a : (a > upper ? a - upper : 0);
}

static PetscReal Finite(PetscReal bound)
{
  return PetscAbsReal(bound) < LP_INF ? PetscAbsReal(bound) : 0;
}

/* r = cost - A^T y; cost may be NULL */
static void Reduced(const LP *lp, const PetscReal cost[], const PetscReal y[], PetscReal r[])
{
  for (PetscInt j = 0; j < lp->n; j++) r[j] = cost ? cost[j] : 0;
  for (PetscInt i = 0; i < lp->m; i++) {
    if (y[i] == 0) continue;
    for (PetscInt k = lp->i[i]; k < lp->i[i + 1]; k++) r[lp->j[k]] -= lp->v[k] * y[i];
  }
}

static PetscReal RowProduct(const LP *lp, PetscInt i, const PetscReal x[])
{
  PetscReal sum = 0;

  for (PetscInt k = lp->i[i]; k < lp->i[i + 1]; k++) sum += lp->v[k] * x[lp->j[k]];
  return sum;
}

/*
  The least value of r^T x with x between the bounds. Where that is minus infinity r is a violation. size: the sum of absolute values.
*/
static PetscReal LeastValue(PetscInt n, const PetscReal r[], const PetscReal lower[], const PetscReal upper[], PetscReal *squares, PetscReal *largest, PetscReal *size)
{
  PetscReal value = 0;

  *squares = *largest = *size = 0;
  for (PetscInt j = 0; j < n; j++) {
    const PetscReal bound = r[j] > 0 ? lower[j] : upper[j];

    if (r[j] == 0) continue;
    if (PetscAbsReal(bound) < LP_INF) {
      value += r[j] * bound;
      *size += PetscAbsReal(r[j] * bound);
    } else {
      *squares += r[j] * r[j];
      *largest = PetscMax(*largest, PetscAbsReal(r[j]));
    }
  }
  return value;
}

/*
  LPComputeErrors - Relative residuals of a point x, y, of which the largest should be small:
  primal: |violation of the bounds of rows and columns| / (1 + |bounds of rows, the larger one of each|)
  dual: |violation of the signs of y and of the reduced costs c - A^T y| / (1 + |c|)
  gap: |c^T x - bound| / (1 + |c^T x| + |bound|), where bound is the least value of the Lagrangian without the violations

  A reduced cost that points to an infinite bound is a violation. One that points to a finite bound counts in the bound, as in PDLP;
  or, as in cuPDLPx, only where x is at this bound, and elsewhere it is a violation. The better one of both is taken.
*/
PetscErrorCode LPComputeErrors(const LP *lp, const PetscReal x[], const PetscReal y[], LPErrors *e)
{
  PetscReal *r, primal = 0, b = 0, c = 0, rows, columns, ignored, away = 0, rowbound, dual[2], bound[2];

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(lp->n, &r));
  e->value = 0;
  for (PetscInt i = 0; i < lp->m; i++) {
    primal += PetscSqr(Violation(RowProduct(lp, i, x), lp->rowlower[i], lp->rowupper[i]));
    b += PetscSqr(PetscMax(Finite(lp->rowlower[i]), Finite(lp->rowupper[i])));
  }
  for (PetscInt j = 0; j < lp->n; j++) {
    primal += PetscSqr(Violation(x[j], lp->lower[j], lp->upper[j]));
    c += PetscSqr(lp->cost[j]);
    e->value += lp->cost[j] * x[j];
  }
  e->primal = PetscSqrtReal(primal) / (1 + PetscSqrtReal(b));
  Reduced(lp, lp->cost, y, r);
  rowbound = LeastValue(lp->m, y, lp->rowlower, lp->rowupper, &rows, &ignored, &ignored);
  for (int choice = 0; choice < 2; choice++) {
    bound[choice] = rowbound + LeastValue(lp->n, r, lp->lower, lp->upper, &columns, &ignored, &ignored);
    dual[choice]  = PetscSqrtReal(rows + columns + away) / (1 + PetscSqrtReal(c));
    for (PetscInt j = 0; j < lp->n; j++) {
      if (x[j] == (r[j] > 0 ? lp->lower[j] : lp->upper[j])) continue;
      away += PetscSqr(r[j]);
      r[j] = 0;
    }
  }
  LPChooseErrors(e, dual, bound);
  PetscCall(PetscFree(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  LPCertifyInfeasible - For every feasible x, y^T A x is at least the least value of y^T z between the bounds of the rows, and at most the
  largest value of y^T A x between those of the columns. If the first, after y is freed of signs that no row allows, exceeds the second by
  d > 0, no x is feasible, except that columns without bounds may add up to largest violation times |x|_1. Radius is d over that
  violation: no x with a smaller |x|_1 is feasible. It is 0 if y proves nothing, and infinite if nothing is violated.
*/
PetscErrorCode LPCertifyInfeasible(const LP *lp, PetscReal y[], PetscReal *radius)
{
  PetscReal *r, squares, ignored, largest, size, size2, value;

  PetscFunctionBegin;
  *radius = 0;
  PetscCall(PetscMalloc1(lp->n, &r));
  for (PetscInt i = 0; i < lp->m; i++) {
    if (PetscAbsReal(y[i] > 0 ? lp->rowlower[i] : lp->rowupper[i]) == LP_INF) y[i] = 0;
  }
  Normalize(lp->m, y);
  Reduced(lp, NULL, y, r);
  value = LeastValue(lp->m, y, lp->rowlower, lp->rowupper, &squares, &ignored, &size);
  value += LeastValue(lp->n, r, lp->lower, lp->upper, &squares, &largest, &size2);
  /* more than rounding */
  if (value > 1000 * PETSC_MACHINE_EPSILON * (size + size2)) *radius = largest > 0 ? value / largest : LP_INF;
  PetscCall(PetscFree(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  LPCertifyUnbounded - A direction x, after it is freed of components that leave the bounds of columns, along which the cost falls by
  d > 0. If rows allow it too, then costs have no lower bound; and as far as they do not, each y with feasible reduced costs
  has |y|_1 of at least the radius, d over the largest violation.
*/
PetscErrorCode LPCertifyUnbounded(const LP *lp, PetscReal x[], PetscReal *radius)
{
  PetscReal value = 0, size = 0, largest = 0;

  PetscFunctionBegin;
  *radius = 0;
  for (PetscInt j = 0; j < lp->n; j++) {
    if (PetscAbsReal(x[j] < 0 ? lp->lower[j] : lp->upper[j]) < LP_INF) x[j] = 0;
  }
  Normalize(lp->n, x);
  for (PetscInt j = 0; j < lp->n; j++) {
    value -= lp->cost[j] * x[j];
    size += PetscAbsReal(lp->cost[j] * x[j]);
  }
  if (!(value > 1000 * PETSC_MACHINE_EPSILON * size)) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < lp->m; i++) {
    const PetscReal a = RowProduct(lp, i, x);

    if (PetscAbsReal(a < 0 ? lp->rowlower[i] : lp->rowupper[i]) < LP_INF) largest = PetscMax(largest, PetscAbsReal(a));
  }
  *radius = largest > 0 ? value / largest : LP_INF;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* LPWriteSolution - A line for each column, with value and reduced cost, and for each row, with dual value and A x; LPReadSolution() reads it */
PetscErrorCode LPWriteSolution(const LP *lp, const char file[], const LPResult *result)
{
  static const char *const names[] = {"not solved", "optimal", "infeasible: the rows' numbers are the certificate", "unbounded: the columns' numbers are the direction", "dual infeasible: the columns' numbers are the direction"};
  const PetscBool          ray     = (PetscBool)(result->status > LP_OPTIMAL);
  const PetscReal          sign    = lp->maximize ? -1 : 1;
  PetscReal               *r;
  FILE                    *fp;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(lp->n, &r));
  Reduced(lp, ray ? NULL : lp->cost, result->y, r);
  PetscCall(PetscFOpen(PETSC_COMM_SELF, file, "w", &fp));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "# %s\n# column, value, reduced cost; row, dual value, value\n", names[result->status]));
  for (PetscInt j = 0; j < lp->n; j++) PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "column %s %.17g %.17g\n", lp->columns[j], (double)result->x[j], (double)(sign * r[j])));
  for (PetscInt i = 0; i < lp->m; i++) PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "row %s %.17g %.17g\n", lp->rows[i], (double)(sign * result->y[i]), (double)RowProduct(lp, i, result->x)));
  PetscCall(PetscFClose(PETSC_COMM_SELF, fp));
  PetscCall(PetscFree(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* LPWriteBinary - The vectors x and y in PETSc's binary format */
PetscErrorCode LPWriteBinary(const LP *lp, const char file[], const LPResult *result)
{
  PetscViewer      viewer;
  const PetscReal *from[] = {result->x, result->y};
  const PetscInt   n[]    = {lp->n, lp->m};

  PetscFunctionBegin;
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, file, FILE_MODE_WRITE, &viewer));
  for (int k = 0; k < 2; k++) {
    Vec          v;
    PetscScalar *a;

    PetscCall(VecCreateSeq(PETSC_COMM_SELF, n[k], &v));
    PetscCall(VecGetArrayWrite(v, &a));
    for (PetscInt i = 0; i < n[k]; i++) a[i] = k && lp->maximize ? -from[k][i] : from[k][i];
    PetscCall(VecRestoreArrayWrite(v, &a));
    PetscCall(VecView(v, viewer));
    PetscCall(VecDestroy(&v));
  }
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
