/*
  Restarted Halpern PDHG with reflection, for min c^T x with rowlower <= A x <= rowupper and lower <= x <= upper. kernels.h has one
  iteration. Every so many iterations the fixed-point error |T(z) - z| and the residuals of T(z) are computed. The method restarts from
  T(z) if the error is 0.2 of what it was after the last restart, if it is 0.5 of that and grows again, or if 0.36 of all iterations have
  passed. Then the weight of x against y is controlled by how far both have moved (a PID controller on its logarithm, without D).

  Lu, Yang: Restarted Halpern PDHG for linear programming, 2024. Lu, Peng, Yang: cuPDLPx, 2025
*/
#include "lp.h"
#include "kernels.h"
#include "support.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include <petscdevice.h>
#endif

#define TOGETHER 198 /* iterations at most between two looks at the clock */

enum {
  X,
  XSTART,
  XOTHER,
  XPRODUCT,
  COST,
  LOWER,
  UPPER,
  XSCALE,
  NCOLUMNVECTORS
};
enum {
  Y,
  YSTART,
  YOTHER,
  YPRODUCT,
  ROWLOWER,
  ROWUPPER,
  YSCALE,
  NROWVECTORS
};

struct _n_LPSolver {
  const LP      *lp;
  Mat            A;
  Vec            x[NCOLUMNVECTORS], y[NROWVECTORS];
  LPSide         columns, rows;
  const LPLoops *loops;
  void          *data;
  LPStep        *step;
  PetscReal      norm, weight, cnorm, bnorm, errorsum;
  PetscInt       captured; /* iterations in the graph, or 0 */
};

static PetscErrorCode ToHost(Vec v, PetscReal to[])
{
  const PetscScalar *a;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArrayRead(v, &a));
  for (PetscInt i = 0; i < n; i++) to[i] = PetscRealPart(a[i]);
  PetscCall(VecRestoreArrayRead(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FromHost(Vec v, const PetscReal from[])
{
  PetscScalar *a;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArrayWrite(v, &a));
  for (PetscInt i = 0; i < n; i++) a[i] = from[i];
  PetscCall(VecRestoreArrayWrite(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Takes the arrays of the vectors where they are. The loops write them behind PETSc's back, which must know that the newest values are
  there: called again after values were read or set on the host. Arrays stay where they are, as captured graphs need.
*/
static PetscErrorCode Bind(LPSolver s)
{
  PetscScalar *x[NCOLUMNVECTORS], *y[NROWVECTORS];
  PetscMemType memtype;

  PetscFunctionBegin;
  for (int v = 0; v < NCOLUMNVECTORS; v++) PetscCall(VecGetArrayAndMemType(s->x[v], &x[v], &memtype));
  for (int v = 0; v < NROWVECTORS; v++) PetscCall(VecGetArrayAndMemType(s->y[v], &y[v], &memtype));
  if (!s->loops) {
    s->loops = &LPLoopsHost;
#if defined(PETSCCSRC_HAVE_CUDA)
    if (PetscMemTypeDevice(memtype)) s->loops = &LPLoopsDevice;
#endif
    PetscCheck(PetscMemTypeHost(memtype) || s->loops != &LPLoopsHost, PETSC_COMM_SELF, PETSC_ERR_SUP, "The vectors of a matrix of this type are on a device, for which this program was not compiled");
    PetscCall(s->loops->create(&s->data, &s->step));
  }
  s->columns = (LPSide){s->lp->n, x[LOWER], x[UPPER], x[COST], x[XPRODUCT], x[XSCALE], x[X], x[XSTART], x[XOTHER], s->step};
  s->rows    = (LPSide){s->lp->m, y[ROWLOWER], y[ROWUPPER], NULL, y[YPRODUCT], y[YSCALE], y[Y], y[YSTART], y[YOTHER], s->step};
  for (int v = 0; v < NCOLUMNVECTORS; v++) PetscCall(VecRestoreArrayAndMemType(s->x[v], &x[v]));
  for (int v = 0; v < NROWVECTORS; v++) PetscCall(VecRestoreArrayAndMemType(s->y[v], &y[v]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Larger(PetscReal lower, PetscReal upper)
{
  return PetscMax(PetscAbsReal(lower) < LP_INF ? PetscAbsReal(lower) : 0, PetscAbsReal(upper) < LP_INF ? PetscAbsReal(upper) : 0);
}

/* LPSolverSetVectors - Takes costs and bounds from the program again; A stays stored as it is */
PetscErrorCode LPSolverSetVectors(LPSolver s)
{
  const LP          *lp = s->lp;
  PetscReal          c = 0, b = 0;
  const PetscScalar *scale;

  PetscFunctionBegin;
  PetscCall(FromHost(s->x[COST], lp->cost));
  PetscCall(FromHost(s->x[LOWER], lp->lower));
  PetscCall(FromHost(s->x[UPPER], lp->upper));
  PetscCall(FromHost(s->y[ROWLOWER], lp->rowlower));
  PetscCall(FromHost(s->y[ROWUPPER], lp->rowupper));
  s->cnorm = s->bnorm = 0;
  PetscCall(VecGetArrayRead(s->x[XSCALE], &scale));
  for (PetscInt j = 0; j < lp->n; j++) {
    s->cnorm += PetscSqr(lp->cost[j]);
    c += PetscSqr(lp->cost[j]) * PetscRealPart(scale[j]);
  }
  PetscCall(VecRestoreArrayRead(s->x[XSCALE], &scale));
  PetscCall(VecGetArrayRead(s->y[YSCALE], &scale));
  for (PetscInt i = 0; i < lp->m; i++) {
    const PetscReal square = PetscSqr(Larger(lp->rowlower[i], lp->rowupper[i]));

    s->bnorm += square;
    b += square * PetscRealPart(scale[i]);
  }
  PetscCall(VecRestoreArrayRead(s->y[YSCALE], &scale));
  s->cnorm    = PetscSqrtReal(s->cnorm);
  s->bnorm    = PetscSqrtReal(s->bnorm);
  s->weight   = (1 + PetscSqrtReal(c)) / (1 + PetscSqrtReal(b));
  s->errorsum = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* LPSolverCreate - Stores A, in the matrix type of the options, and scales the steps */
PetscErrorCode LPSolverCreate(const LP *lp, LPSolver *solver)
{
  LPSolver     s;
  PetscScalar *values;
  PetscReal   *rows, *columns;

  PetscFunctionBegin;
  PetscCall(PetscNew(&s));
  s->lp = lp;
  PetscCall(PetscMalloc3(lp->i[lp->m], &values, lp->m, &rows, lp->n, &columns));
  for (PetscInt k = 0; k < lp->i[lp->m]; k++) values[k] = lp->v[k];
  PetscCall(MatCreate(PETSC_COMM_WORLD, &s->A));
  PetscCall(MatSetSizes(s->A, lp->m, lp->n, lp->m, lp->n));
  PetscCall(MatSetFromOptions(s->A));
  PetscCall(MatFillSizes(s->A, lp->m, lp->n));
  PetscCall(MatFillRows(s->A, lp->i, lp->j, values));
  PetscCall(MatCreateVecs(s->A, &s->x[0], &s->y[0]));
  for (int v = 1; v < NCOLUMNVECTORS; v++) PetscCall(VecDuplicate(s->x[0], &s->x[v]));
  for (int v = 1; v < NROWVECTORS; v++) PetscCall(VecDuplicate(s->y[0], &s->y[v]));
  PetscCall(LPScale(lp, rows, columns));
  PetscCall(FromHost(s->y[YSCALE], rows));
  PetscCall(FromHost(s->x[XSCALE], columns));
  PetscCall(PetscFree3(values, rows, columns));
  PetscCall(LPSolverSetVectors(s));
  *solver = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LPSolverGetMatrix(LPSolver s, Mat *A)
{
  PetscFunctionBegin;
  *A = s->A;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LPSolverDestroy(LPSolver *solver)
{
  LPSolver s = *solver;

  PetscFunctionBegin;
  if (s->loops) PetscCall(s->loops->destroy(&s->data));
  for (int v = 0; v < NCOLUMNVECTORS; v++) PetscCall(VecDestroy(&s->x[v]));
  for (int v = 0; v < NROWVECTORS; v++) PetscCall(VecDestroy(&s->y[v]));
  PetscCall(MatDestroy(&s->A));
  PetscCall(PetscFree(*solver));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The 2-norm of the scaled matrix R A C by the power method, of whose square the residual is looked at now and then. The residual is
  added, and the scaling bounds the norm by 1: until both sides are 0.2 per cent apart, for which the step allows, or for 300 steps. x is
  C times the iterate.
*/
static PetscErrorCode EstimateNorm(LPSolver s)
{
  Vec          x = s->x[XOTHER], y = s->y[YOTHER], product = s->x[XPRODUCT];
  PetscScalar *a, square = 0, length = 0;

  PetscFunctionBegin;
  PetscCall(VecGetArrayWrite(product, &a));
  for (PetscInt j = 0; j < s->lp->n; j++) a[j] = (PetscReal)0.5 + RandomDraw(j, 1);
  PetscCall(VecRestoreArrayWrite(product, &a));
  s->norm = 1;
  for (int k = 0;; k++) {
    PetscCall(VecPointwiseMult(x, product, s->x[XSCALE]));
    if (k % 10 < 2) PetscCall(VecDot(x, product, &length));
    PetscCheck(!PetscIsInfOrNanScalar(length), PETSC_COMM_SELF, PETSC_ERR_FP, "The norm of the matrix must be finite");
    if (PetscRealPart(length) == 0) break;
    if (k % 10 == 0) PetscCall(VecScale(x, 1 / PetscSqrtReal(PetscRealPart(length))));
    if (k % 10 == 1) {
      const PetscReal least = PetscRealPart(square), residual = PetscSqrtReal(PetscMax(PetscRealPart(length) - least * least, 0));

      s->norm = PetscMin(PetscSqrtReal(least + residual), 1);
      if (s->norm <= (PetscReal)1.002 * PetscSqrtReal(least) || k > 300) break;
    }
    PetscCall(MatMult(s->A, x, s->y[YPRODUCT]));
    PetscCall(VecPointwiseMult(y, s->y[YPRODUCT], s->y[YSCALE]));
    if (k % 10 == 0) PetscCall(VecDot(y, s->y[YPRODUCT], &square));
    PetscCall(MatMultTranspose(s->A, y, product));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One iteration that only moves on; it is the k-th after the count in s->step */
static PetscErrorCode Iterate(LPSolver s, PetscInt k)
{
  PetscFunctionBegin;
  PetscCall(s->loops->loop(s->data, LP_COLUMN_STEP, &s->columns, k, NULL));
  PetscCall(MatMult(s->A, s->x[XOTHER], s->y[YPRODUCT]));
  PetscCall(s->loops->loop(s->data, LP_ROW_STEP, &s->rows, k, NULL));
  PetscCall(MatMultTranspose(s->A, s->y[Y], s->x[XPRODUCT]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several iterations, as copies of one graph and single ones */
static PetscErrorCode IterateMany(LPSolver s, LPStep step, PetscInt count, PetscInt graphlength)
{
  PetscFunctionBegin;
  if (graphlength && !s->captured && s->loops->capture && count >= graphlength) {
    PetscCall(s->loops->capture(s->data, PETSC_TRUE));
    for (PetscInt k = 0; k < graphlength; k++) PetscCall(Iterate(s, k));
    PetscCall(s->loops->capture(s->data, PETSC_FALSE));
    s->captured = graphlength;
  }
  while (count > 0) {
    const PetscInt now = s->captured && count >= s->captured ? s->captured : 1;

    PetscCall(s->loops->setstep(s->data, &step));
    if (now > 1) PetscCall(s->loops->launch(s->data));
    else PetscCall(Iterate(s, 0));
    step.k += now;
    count -= now;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* T(z), which is not yet used, and the fixed-point error |T(z) - z|. from[]: how far T(x), T(y) are from the last restart */
static PetscErrorCode Look(LPSolver s, PetscReal eta, PetscReal *error, PetscReal from[2], PetscReal rowsums[])
{
  PetscReal point[LP_SUMS], rowpoint[LP_SUMS];

  PetscFunctionBegin;
  PetscCall(s->loops->loop(s->data, LP_COLUMN_REFLECT, &s->columns, 0, NULL));
  PetscCall(MatMult(s->A, s->x[XOTHER], s->y[YPRODUCT]));
  PetscCall(s->loops->loop(s->data, LP_ROW_POINT, &s->rows, 0, rowpoint));
  PetscCall(s->loops->loop(s->data, LP_COLUMN_POINT, &s->columns, 0, point));
  PetscCall(MatMult(s->A, s->x[XOTHER], s->y[YPRODUCT]));
  PetscCall(s->loops->loop(s->data, LP_ROW_RESIDUAL, &s->rows, 0, rowsums));
  *error  = PetscSqrtReal(PetscMax(s->weight * point[0] + rowpoint[0] / s->weight + 2 * eta * (rowpoint[2] - rowsums[2]), 0));
  from[0] = PetscSqrtReal(point[1]);
  from[1] = PetscSqrtReal(rowpoint[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both directions in which an infeasible program drives z: T(z) - z, and T(z) - start */
static PetscErrorCode Certify(LPSolver s, const LPOptions *o, PetscBool feasible, LPResult *r)
{
  const LP  *lp = s->lp;
  PetscReal *x, *y, *dx, *dy, xsize = 1, ysize = 1, radius;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(lp->n, &x, lp->m, &y, lp->n, &dx, lp->m, &dy));
  PetscCall(ToHost(s->x[XOTHER], x));
  PetscCall(ToHost(s->y[YOTHER], y));
  for (PetscInt j = 0; j < lp->n; j++) xsize = PetscMax(xsize, PetscAbsReal(x[j]));
  for (PetscInt i = 0; i < lp->m; i++) ysize = PetscMax(ysize, PetscAbsReal(y[i]));
  for (int start = 0; start < 2 && r->status == LP_UNSOLVED; start++) {
    PetscCall(ToHost(s->x[start ? XSTART : X], dx));
    PetscCall(ToHost(s->y[start ? YSTART : Y], dy));
    for (PetscInt j = 0; j < lp->n; j++) dx[j] = x[j] - dx[j];
    for (PetscInt i = 0; i < lp->m; i++) dy[i] = y[i] - dy[i];
    PetscCall(LPCertifyInfeasible(lp, dy, &radius));
    if (radius * o->raytol >= xsize) {
      r->status = LP_INFEASIBLE;
      r->radius = radius;
      PetscCall(PetscArrayzero(r->x, lp->n));
      PetscCall(PetscArraycpy(r->y, dy, lp->m));
      break;
    }
    PetscCall(LPCertifyUnbounded(lp, dx, &radius));
    if (radius * o->raytol >= ysize) {
      r->status = feasible ? LP_UNBOUNDED : LP_DUAL_INFEASIBLE;
      r->radius = radius;
      PetscCall(PetscArrayzero(r->y, lp->m));
      PetscCall(PetscArraycpy(r->x, dx, lp->n));
    }
  }
  PetscCall(Bind(s));
  PetscCall(PetscFree4(x, y, dx, dy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x, y <- T(z) in the user's scale, with its errors from the user's data */
static PetscErrorCode TakeResult(LPSolver s, LPResult *r)
{
  PetscFunctionBegin;
  PetscCall(ToHost(s->x[XOTHER], r->x));
  PetscCall(ToHost(s->y[YOTHER], r->y));
  PetscCall(Bind(s));
  PetscCall(LPComputeErrors(s->lp, r->x, r->y, &r->errors));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Below(const LPErrors *e, PetscReal tol)
{
  return (PetscBool)(e->primal <= tol && e->dual <= tol && e->gap <= tol);
}

/* LPSolverSolve - Solves, beginning at r->x, r->y */
PetscErrorCode LPSolverSolve(LPSolver s, const LPOptions *o, LPResult *r)
{
  const LP      *lp          = s->lp;
  const PetscInt graphlength = o->graph ? PetscMin(o->period - 2, TOGETHER) / 3 : 0;
  PetscInt       k = 0, nextline = 1, its = 0;
  PetscInt64     nextray = (PetscInt64)5 * o->period; /* PetscInt would overflow */
  PetscReal      eta, error = 0, first = 0, last = LP_INF, from[2] = {0, 0}, rowsums[LP_SUMS], sums[LP_SUMS];
  PetscLogDouble begin, now;
  PetscBool      late = PETSC_FALSE, feasible = PETSC_FALSE; /* some point was */

  PetscFunctionBegin;
  PetscCall(PetscTime(&begin));
  r->status   = LP_UNSOLVED;
  r->restarts = 0;
  r->easyits  = -1;
  PetscCall(FromHost(s->x[X], r->x));
  PetscCall(FromHost(s->y[Y], r->y));
  if (!s->norm) PetscCall(EstimateNorm(s));
  eta = (PetscReal)0.998 / s->norm;
  PetscCall(VecCopy(s->x[X], s->x[XSTART]));
  PetscCall(VecCopy(s->y[Y], s->y[YSTART]));
  PetscCall(MatMultTranspose(s->A, s->y[Y], s->x[XPRODUCT]));
  PetscCall(Bind(s));
  if (o->progress) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%10s %10s %10s %10s %22s %9s\n", "iteration", "primal", "dual", "gap", "objective", "seconds"));
  while (PETSC_TRUE) {
    LPStep    step  = {eta / s->weight, eta * s->weight, (PetscReal)k};
    PetscBool check = (PetscBool)((its + 1) % o->period == 0 || its + 1 >= o->maxits || late), restart = PETSC_FALSE;

    if (k && !check) {
      const PetscInt count = PetscMin(PetscMin(o->period - 1 - its % o->period, o->maxits - 1 - its), TOGETHER);

      PetscCall(IterateMany(s, step, count, graphlength));
      its += count;
      k += count;
      if (o->period > TOGETHER + 2) { /* the next check may be far; sums wait for a device */
        PetscCall(s->loops->loop(s->data, LP_ROW_RESIDUAL, &s->rows, 0, rowsums));
        PetscCall(PetscTime(&now));
        late = (PetscBool)(now - begin > o->maxtime);
      }
      continue;
    }
    PetscCall(s->loops->setstep(s->data, &step));
    PetscCall(Look(s, eta, &error, from, rowsums));
    if (!k) first = error;
    if (check) {
      LPErrors *e = &r->errors;

      PetscCall(MatMultTranspose(s->A, s->y[YOTHER], s->x[XPRODUCT]));
      PetscCall(s->loops->loop(s->data, LP_COLUMN_RESIDUAL, &s->columns, 0, sums));
      e->primal = PetscSqrtReal(rowsums[0]) / (1 + s->bnorm);
      e->value  = sums[0];
      LPChooseErrors(e, (const PetscReal[]){PetscSqrtReal(sums[1]) / (1 + s->cnorm), PetscSqrtReal(sums[3]) / (1 + s->cnorm)}, (const PetscReal[]){rowsums[1] + sums[2], rowsums[1] + sums[4]});
      PetscCheck(!PetscIsInfOrNanReal(error), PETSC_COMM_SELF, PETSC_ERR_FP, "The iteration has overflowed after %" PetscInt_FMT " iterations", its);
      if (e->primal <= o->tol) feasible = PETSC_TRUE;
      PetscCall(PetscTime(&now));
      if (r->easyits < 0 && Below(e, (PetscReal)1e-4)) {
        r->easyits     = its + 1;
        r->easyseconds = now - begin;
      }
      if (o->progress && (its + 1 >= nextline || Below(e, o->tol))) {
        PetscCall(PetscPrintf(PETSC_COMM_SELF, "%10" PetscInt_FMT " %10.3e %10.3e %10.3e %22.14e %9.2f\n", its + 1, (double)e->primal, (double)e->dual, (double)e->gap, (double)((lp->maximize ? -1 : 1) * (e->value + lp->offset)), now - begin));
        nextline = (PetscInt)(1.3 * (double)(its + 1));
      }
      if (Below(e, o->tol)) {
        PetscCall(TakeResult(s, r));
        if (Below(e, o->tol)) r->status = LP_OPTIMAL;
      } else if (its + 1 >= nextray) {
        PetscCall(Certify(s, o, feasible, r));
        nextray = PetscMax((PetscInt64)its + 1 + o->period, (PetscInt64)(1.2 * (double)its));
      }
      if (r->status != LP_UNSOLVED || its + 1 >= o->maxits || now - begin > o->maxtime) {
        if (r->status == LP_UNSOLVED) PetscCall(TakeResult(s, r));
        its++;
        break;
      }
      restart = (PetscBool)(error <= (PetscReal)0.2 * first || (error <= (PetscReal)0.5 * first && error > last) || (double)(k + 1) >= 0.36 * (double)(its + 1));
      last    = error;
    }
    its++;
    if (restart) {
      PetscCall(s->loops->loop(s->data, LP_RESTART, &s->columns, 0, NULL));
      PetscCall(s->loops->loop(s->data, LP_RESTART, &s->rows, 0, NULL));
      if (from[0] > PETSC_SMALL * PETSC_SMALL && from[1] > PETSC_SMALL * PETSC_SMALL) {
        const PetscReal away = PetscLogReal(from[1] / from[0] / s->weight);

        s->errorsum = (PetscReal)0.3 * s->errorsum + away;
        s->weight *= PetscExpReal((PetscReal)0.99 * away + (PetscReal)0.01 * s->errorsum);
      }
      k    = 0;
      last = LP_INF;
      r->restarts++;
    } else {
      PetscCall(s->loops->loop(s->data, LP_MOVE, &s->columns, 0, NULL));
      PetscCall(s->loops->loop(s->data, LP_MOVE, &s->rows, 0, NULL));
      PetscCall(MatMultTranspose(s->A, s->y[Y], s->x[XPRODUCT]));
      k++;
    }
  }
  PetscCall(PetscTime(&now));
  r->seconds = now - begin;
  r->its     = its;
  PetscFunctionReturn(PETSC_SUCCESS);
}
