/*
  Solves a linear program by primal-dual hybrid gradients, the method of PDLP: minimize c^T x with A x = b in some rows, A x >= b in the
  others, and 0 <= x <= u. There is no factorization: each iteration takes one product with A and one with A^T.

  The file contains only A. Costs, right-hand sides and bounds are made around a point x and multipliers y, chosen at random, for which
  the conditions of optimality hold. The optimal value is thus known, and the result is compared with it. For example

    linearprogram -file pds-50.mtx.gz -dll_append $PETSCCSRC_LIB -mat_type csrccuda -errors errors.csv

  Applegate et al., Practical large-scale linear programming using primal-dual hybrid gradient, NeurIPS 2021
*/
static char help[] = "Solves a linear program with a known optimal value.\n"
                     "  -file <file>     : the matrix (.mtx, .mtx.gz or PETSc binary); by default one is generated\n"
                     "  -scale <s>       : size of the generated matrix (0.005 of 514577 x 156243)\n"
                     "  -seed <s>        : of the point that is made optimal (1)\n"
                     "  -tol <t>         : relative error of both kinds of constraints and of the gap (1e-6; 1e-3 in single precision)\n"
                     "  -max_it <n>      : iterations at most (100000)\n"
                     "  -errors <file>   : writes the errors as they fall\n"
                     "  -problem <file>  : writes A, b, c and u, for other solvers\n"
                     "Of PETSc's own options -mat_type and -dll_append are the most useful.\n\n";

#include <petscmat.h>
#include <petsctime.h>
#include "support.h"

/* The value that stands for no bound, as usual for linear programs: larger than any number that occurs, and small enough to be scaled */
#define UNBOUNDED ((PetscReal)1e20)

/* All data are scaled: x = C xhat and y = R yhat with diagonal R and C, for which the rows and columns of R A C have about equal length */
typedef struct {
  Mat       A;             /* R A C */
  Vec       c, u, bounded; /* u is UNBOUNDED where bounded is 0, not 1 */
  Vec       b, ylow;       /* y >= ylow, which is 0 for an inequality and -UNBOUNDED for an equation */
  Vec       R, C;
  PetscReal optimum, bnorm, cnorm; /* of the problem before scaling */
} Program;

/* A point, its products with A and A^T, and its errors */
typedef struct {
  Vec       x, y, Ax, ATy;
  PetscReal primal, dual, gap, value;
} Point;

/*
  Makes b, c and u such that a chosen point is optimal: a column with positive reduced cost is at 0, one with negative reduced cost at u,
  and one between the bounds has reduced cost zero; a row whose multiplier is not zero is an equation. As at a vertex, there are as many
  columns between their bounds as rows that hold as equations: a third of the smaller dimension.
*/
static PetscErrorCode MakeProgram(Mat A, PetscInt seed, Program *p)
{
  PetscInt     m, n, first, last;
  Vec          x, y, cost;
  PetscScalar *xa, *za, *ua, *ba, *ya, *la;
  PetscScalar  value;

  PetscFunctionBegin;
  p->A = A;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatCreateVecs(A, &p->c, &p->b));
  PetscCall(VecDuplicate(p->c, &p->u));
  PetscCall(VecDuplicate(p->c, &p->bounded));
  PetscCall(VecDuplicate(p->c, &p->C));
  PetscCall(VecDuplicate(p->c, &x));
  PetscCall(VecDuplicate(p->c, &cost));
  PetscCall(VecDuplicate(p->b, &p->ylow));
  PetscCall(VecDuplicate(p->b, &p->R));
  PetscCall(VecDuplicate(p->b, &y));

  PetscCall(VecGetOwnershipRange(x, &first, &last));
  PetscCall(VecGetArrayWrite(x, &xa));
  PetscCall(VecGetArrayWrite(cost, &za));
  PetscCall(VecGetArrayWrite(p->u, &ua));
  PetscCall(VecGetArrayWrite(p->bounded, &ba));
  for (PetscInt j = first; j < last; j++) {
    uint64_t        state = RandomStart(2 * (uint64_t)seed, j);
    const PetscReal where = RandomUniform(&state), between = PetscMin(m, n) / (PetscReal)3 / n, z = (PetscReal)0.1 + RandomUniform(&state), u = 1 + RandomUniform(&state);
    const PetscBool bounded = (PetscBool)(RandomUniform(&state) < 0.3);

    ba[j - first] = bounded ? 1 : 0;
    ua[j - first] = bounded ? u : UNBOUNDED;
    if (where < between) {
      xa[j - first] = RandomUniform(&state); /* below 1, and 1 is below u */
      za[j - first] = 0;
    } else if (bounded && where > (1 + between) / 2) {
      xa[j - first] = u;
      za[j - first] = -z;
    } else {
      xa[j - first] = 0;
      za[j - first] = z;
    }
  }
  PetscCall(VecRestoreArrayWrite(x, &xa));
  PetscCall(VecRestoreArrayWrite(cost, &za));
  PetscCall(VecRestoreArrayWrite(p->u, &ua));
  PetscCall(VecRestoreArrayWrite(p->bounded, &ba));

  PetscCall(MatMult(A, x, p->b));
  PetscCall(VecGetOwnershipRange(y, &first, &last));
  PetscCall(VecGetArrayWrite(y, &ya));
  PetscCall(VecGetArrayWrite(p->ylow, &la));
  PetscCall(VecGetArray(p->b, &ba));
  for (PetscInt i = first; i < last; i++) {
    uint64_t        state = RandomStart(2 * (uint64_t)seed + 1, i);
    const PetscReal where = RandomUniform(&state), active = PetscMin(m, n) / (PetscReal)3 / m, size = (PetscReal)0.1 + RandomUniform(&state);

    la[i - first] = where < active / 2 ? -UNBOUNDED : 0;
    if (where < active / 2) ya[i - first] = RandomUniform(&state) < 0.5 ? size : -size;
    else if (where < active) ya[i - first] = size;
    else {
      ya[i - first] = 0;
      ba[i - first] -= size;
    }
  }
  PetscCall(VecRestoreArrayWrite(y, &ya));
  PetscCall(VecRestoreArrayWrite(p->ylow, &la));
  PetscCall(VecRestoreArray(p->b, &ba));

  PetscCall(MatMultTransposeAdd(A, y, cost, p->c));
  PetscCall(VecTDot(p->c, x, &value));
  p->optimum = PetscRealPart(value);
  PetscCall(VecNorm(p->b, NORM_2, &p->bnorm));
  PetscCall(VecNorm(p->c, NORM_2, &p->cnorm));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&cost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* d <- 1/sqrt(length), rounded to a power of two: scaling then changes no digit and keeps the distinct values few; 1 where the length is 0 */
static PetscErrorCode ScalesFromLengths(Vec d)
{
  PetscScalar *a;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(d, &n));
  PetscCall(VecGetArray(d, &a));
  for (PetscInt i = 0; i < n; i++) {
    const PetscReal length = PetscRealPart(a[i]);

    a[i] = length > 0 ? PetscPowReal(2, PetscFloorReal((PetscReal)0.5 - (PetscReal)0.5 * PetscLog2Real(length))) : 1;
  }
  PetscCall(VecRestoreArray(d, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Scales ten times by the largest entries of rows and columns, which approach 1 (Ruiz), then by the sums of absolute values (Pock and Chambolle) */
static PetscErrorCode ScaleProgram(Program *p)
{
  Vec          r, c;
  PetscInt     N, first, last;
  PetscReal   *columns;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(p->R, &r));
  PetscCall(VecDuplicate(p->C, &c));
  PetscCall(VecSet(p->R, 1));
  PetscCall(VecSet(p->C, 1));
  PetscCall(MatGetSize(p->A, NULL, &N));
  PetscCall(PetscMalloc1(N, &columns));
  PetscCall(VecGetOwnershipRange(c, &first, &last));
  for (int pass = 0; pass <= 10; pass++) {
    if (pass < 10) PetscCall(MatGetRowMaxAbs(p->A, r, NULL));
    else PetscCall(MatGetRowSumAbs(p->A, r));
    PetscCall(MatGetColumnNorms(p->A, pass < 10 ? NORM_INFINITY : NORM_1, columns));
    PetscCall(VecGetArrayWrite(c, &a));
    for (PetscInt j = first; j < last; j++) a[j - first] = columns[j];
    PetscCall(VecRestoreArrayWrite(c, &a));
    PetscCall(ScalesFromLengths(r));
    PetscCall(ScalesFromLengths(c));
    PetscCall(MatDiagonalScale(p->A, r, c));
    PetscCall(VecPointwiseMult(p->R, p->R, r));
    PetscCall(VecPointwiseMult(p->C, p->C, c));
  }
  PetscCall(PetscFree(columns));
  PetscCall(VecPointwiseMult(p->b, p->b, p->R));
  PetscCall(VecPointwiseMult(p->c, p->c, p->C));
  PetscCall(VecPointwiseDivide(p->u, p->u, p->C));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The 2-norm of A by 40 steps of the power method with A^T A: a lower bound */
static PetscErrorCode EstimateNorm(Mat A, PetscReal *norm)
{
  Vec         x, y;
  PetscRandom random;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(PetscRandomCreate(PetscObjectComm((PetscObject)A), &random));
  PetscCall(PetscRandomSetInterval(random, 0.5, 1.5));
  PetscCall(VecSetRandom(x, random));
  PetscCall(PetscRandomDestroy(&random));
  for (int k = 0; k < 40; k++) {
    PetscCall(VecNormalize(x, NULL));
    PetscCall(MatMult(A, x, y));
    PetscCall(VecNorm(y, NORM_2, norm));
    PetscCall(MatMultTranspose(A, y, x));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointCreate(const Program *p, Point *z)
{
  PetscFunctionBegin;
  PetscCall(VecDuplicate(p->c, &z->x));
  PetscCall(VecDuplicate(p->c, &z->ATy));
  PetscCall(VecDuplicate(p->b, &z->y));
  PetscCall(VecDuplicate(p->b, &z->Ax));
  PetscCall(VecSet(z->x, 0));
  PetscCall(VecSet(z->y, 0));
  PetscCall(VecSet(z->Ax, 0));
  PetscCall(VecSet(z->ATy, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointCopy(const Point *from, Point *to)
{
  PetscFunctionBegin;
  PetscCall(VecCopy(from->x, to->x));
  PetscCall(VecCopy(from->y, to->y));
  PetscCall(VecCopy(from->Ax, to->Ax));
  PetscCall(VecCopy(from->ATy, to->ATy));
  to->primal = from->primal;
  to->dual   = from->dual;
  to->gap    = from->gap;
  to->value  = from->value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointDestroy(Point *z)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&z->x));
  PetscCall(VecDestroy(&z->y));
  PetscCall(VecDestroy(&z->Ax));
  PetscCall(VecDestroy(&z->ATy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Errors of a point whose products are known, for the problem before scaling: the violation of rows; the negative reduced costs of
  columns without an upper bound; and the gap between c^T x and its lower bound b^T y + u^T min(c - A^T y, 0)
*/
static PetscErrorCode PointErrors(const Program *p, Point *z, Vec rowwork, Vec work, Vec work2)
{
  PetscScalar cx, by, uz;
  PetscReal   below;

  PetscFunctionBegin;
  PetscCall(VecWAXPY(rowwork, -1, z->Ax, p->b));
  PetscCall(VecPointwiseMax(rowwork, rowwork, p->ylow));
  PetscCall(VecPointwiseDivide(rowwork, rowwork, p->R));
  PetscCall(VecNorm(rowwork, NORM_2, &z->primal));

  PetscCall(VecWAXPY(work, -1, z->ATy, p->c));
  PetscCall(VecSet(work2, 0));
  PetscCall(VecPointwiseMin(work, work, work2));
  PetscCall(VecPointwiseMult(work2, work, p->bounded));
  PetscCall(VecTDot(work2, p->u, &uz));
  PetscCall(VecAXPY(work, -1, work2));
  PetscCall(VecPointwiseDivide(work, work, p->C));
  PetscCall(VecNorm(work, NORM_2, &z->dual));

  PetscCall(VecTDot(p->c, z->x, &cx));
  PetscCall(VecTDot(p->b, z->y, &by));
  z->value = PetscRealPart(cx);
  below    = PetscRealPart(by + uz);
  z->gap   = PetscAbsReal(z->value - below) / (1 + PetscAbsReal(z->value) + PetscAbsReal(below));
  z->primal /= 1 + p->bnorm;
  z->dual /= 1 + p->cnorm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal PointError(const Point *z)
{
  const PetscReal sum = z->primal + z->dual + z->gap;

  return PetscIsNanReal(sum) ? sum : PetscMax(PetscMax(z->primal, z->dual), z->gap); /* PetscMax() may lose a NaN */
}

/*
  Iterates until z is optimal to tol. Every 40 iterations the errors of the last point and of the mean of all points since the last
  restart are computed. If the better one has improved enough, has stopped improving, or many iterations have passed, the method restarts
  from it. The weight of the steps of x against those of y follows from their first steps, later from their changes between restarts.
*/
static PetscErrorCode Solve(const Program *p, PetscReal tol, PetscInt maxits, const char errors[], Point *z, PetscInt *its, PetscInt *restarts)
{
  const PetscInt interval = 40;
  Point          mean, start;
  Vec            sumx, sumy, newx, newy, bar, zero;
  PetscReal      norm, weight, atstart = PETSC_INFINITY, before = PETSC_INFINITY;
  PetscInt       it = 0, since = 0;
  FILE          *fp = NULL;

  PetscFunctionBegin;
  PetscCall(PointCreate(p, z));
  PetscCall(PointCreate(p, &mean));
  PetscCall(PointCreate(p, &start));
  PetscCall(VecDuplicate(z->x, &sumx));
  PetscCall(VecDuplicate(z->x, &newx));
  PetscCall(VecDuplicate(z->x, &bar));
  PetscCall(VecDuplicate(z->x, &zero));
  PetscCall(VecDuplicate(z->y, &sumy));
  PetscCall(VecDuplicate(z->y, &newy));
  PetscCall(VecSet(zero, 0));
  PetscCall(VecSet(sumx, 0));
  PetscCall(VecSet(sumy, 0));
  PetscCall(EstimateNorm(p->A, &norm));
  PetscCheck(norm > 0 && !PetscIsInfOrNanReal(norm), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "The norm of the matrix is %g: it must be positive and finite", (double)norm);
  {
    PetscReal c, b;

    PetscCall(VecNorm(p->c, NORM_2, &c));
    PetscCall(VecNorm(p->b, NORM_2, &b));
    weight = c > 0 && b > 0 ? c / b : 1;
  }
  if (errors[0]) {
    PetscCall(PetscFOpen(PETSC_COMM_WORLD, errors, "w", &fp));
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "iteration,violated rows,violated reduced costs,gap,distance from the optimal value\n"));
  }

  *restarts = 0;
  while (it < maxits) {
    const PetscReal step = (PetscReal)0.95 / norm, tau = step / weight, sigma = step * weight;

    /* x <- x - tau (c - A^T y), between its bounds */
    PetscCall(VecWAXPY(bar, -1, z->ATy, p->c));
    PetscCall(VecWAXPY(newx, -tau, bar, z->x));
    PetscCall(VecPointwiseMax(newx, newx, zero));
    PetscCall(VecPointwiseMin(newx, newx, p->u));
    /* y <- y + sigma (b - A (2 x - previous x)), above its bound */
    PetscCall(VecCopy(newx, bar));
    PetscCall(VecAXPBY(bar, -1, 2, z->x));
    PetscCall(MatMult(p->A, bar, newy));
    PetscCall(VecAYPX(newy, -1, p->b));
    PetscCall(VecAYPX(newy, sigma, z->y));
    PetscCall(VecPointwiseMax(newy, newy, p->ylow));
    PetscCall(MatMultTranspose(p->A, newy, z->ATy));
    PetscCall(VecSwap(newx, z->x));
    PetscCall(VecSwap(newy, z->y));
    PetscCall(VecAXPY(sumx, 1, z->x));
    PetscCall(VecAXPY(sumy, 1, z->y));
    it++;
    since++;
    if (it % interval && it < maxits) continue;

    /* Errors of this point and of the mean */
    PetscCall(MatMult(p->A, z->x, z->Ax));
    PetscCall(PointErrors(p, z, newy, newx, bar));
    PetscCall(VecAXPBY(mean.x, 1 / (PetscReal)since, 0, sumx));
    PetscCall(VecAXPBY(mean.y, 1 / (PetscReal)since, 0, sumy));
    PetscCall(MatMult(p->A, mean.x, mean.Ax));
    PetscCall(MatMultTranspose(p->A, mean.y, mean.ATy));
    PetscCall(PointErrors(p, &mean, newy, newx, bar));
    {
      const Point    *better = PointError(&mean) < PointError(z) ? &mean : z;
      const PetscReal error  = PointError(better);
      const PetscBool done = (PetscBool)(error <= tol), again = (PetscBool)(error <= 0.2 * atstart || (error <= 0.8 * atstart && error > before) || since >= 0.36 * it);

      if (fp)
        PetscCall(
          PetscFPrintf(PETSC_COMM_WORLD, fp, "%" PetscInt_FMT ",%.6e,%.6e,%.6e,%.6e\n", it, (double)better->primal, (double)better->dual, (double)better->gap, (double)(PetscAbsReal(better->value - p->optimum) / (1 + PetscAbsReal(p->optimum)))));
      before = error;
      if (done || again) {
        if (better != z) PetscCall(PointCopy(better, z));
        if (done) break;
        PetscReal dx, dy;

        PetscCall(VecAXPY(start.x, -1, z->x));
        PetscCall(VecAXPY(start.y, -1, z->y));
        PetscCall(VecNorm(start.x, NORM_2, &dx));
        PetscCall(VecNorm(start.y, NORM_2, &dy));
        if (dx > PETSC_SMALL && dy > PETSC_SMALL) weight = PetscSqrtReal(weight * dy / dx);
        PetscCall(PointCopy(z, &start));
        PetscCall(VecSet(sumx, 0));
        PetscCall(VecSet(sumy, 0));
        atstart = error;
        before  = PETSC_INFINITY;
        since   = 0;
        (*restarts)++;
      }
    }
  }
  *its = it;
  if (fp) PetscCall(PetscFClose(PETSC_COMM_WORLD, fp));
  PetscCall(PointDestroy(&mean));
  PetscCall(PointDestroy(&start));
  PetscCall(VecDestroy(&sumx));
  PetscCall(VecDestroy(&sumy));
  PetscCall(VecDestroy(&newx));
  PetscCall(VecDestroy(&newy));
  PetscCall(VecDestroy(&bar));
  PetscCall(VecDestroy(&zero));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes one line for each row, each column and each entry */
static PetscErrorCode WriteProgram(const Program *p, const char file[])
{
  const Vec vectors[2][2] = {
    {p->b, p->ylow},
    {p->c, p->u   }
  };
  const char *const kinds[] = {"row", "column"};
  PetscInt          first, last;
  FILE             *fp;

  PetscFunctionBegin;
  PetscCall(PetscFOpen(PETSC_COMM_WORLD, file, "w", &fp));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "# row,b,1 if an equation; column,c,u; entry,i,j,value\n"));
  for (int k = 0; k < 2; k++) {
    Vec                all[2];
    VecScatter         scatter;
    const PetscScalar *a[2];
    PetscInt           n;

    for (int v = 0; v < 2; v++) {
      PetscCall(VecScatterCreateToZero(vectors[k][v], &scatter, &all[v]));
      PetscCall(VecScatterBegin(scatter, vectors[k][v], all[v], INSERT_VALUES, SCATTER_FORWARD));
      PetscCall(VecScatterEnd(scatter, vectors[k][v], all[v], INSERT_VALUES, SCATTER_FORWARD));
      PetscCall(VecScatterDestroy(&scatter));
      PetscCall(VecGetArrayRead(all[v], &a[v]));
    }
    PetscCall(VecGetLocalSize(all[0], &n)); /* the first process has all of it */
    for (PetscInt i = 0; i < n; i++) {
      const PetscReal second = PetscRealPart(a[1][i]);

      if (k == 0) PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%s,%.17g,%d\n", kinds[k], (double)PetscRealPart(a[0][i]), second < 0));
      else PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%s,%.17g,%.17g\n", kinds[k], (double)PetscRealPart(a[0][i]), second < UNBOUNDED ? (double)second : INFINITY));
    }
    for (int v = 0; v < 2; v++) {
      PetscCall(VecRestoreArrayRead(all[v], &a[v]));
      PetscCall(VecDestroy(&all[v]));
    }
  }
  PetscCall(MatGetOwnershipRange(p->A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    PetscInt           count;
    const PetscInt    *columns;
    const PetscScalar *values;

    PetscCall(MatGetRow(p->A, i, &count, &columns, &values));
    for (PetscInt k = 0; k < count; k++) PetscCall(PetscSynchronizedFPrintf(PETSC_COMM_WORLD, fp, "entry,%" PetscInt_FMT ",%" PetscInt_FMT ",%.17g\n", i, columns[k], (double)PetscRealPart(values[k])));
    PetscCall(MatRestoreRow(p->A, i, &count, &columns, &values));
  }
  PetscCall(PetscSynchronizedFlush(PETSC_COMM_WORLD, fp));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, fp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat            A;
  Program        p;
  Point          z;
  MatType        type;
  MatInfo        info;
  PetscInt       m, n, seed = 1, maxits = 100000, its, restarts;
  PetscReal      scale = 0.005, tol = PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-6, error, outside;
  PetscLogDouble start, end;
  PetscBool      set, kept, small, right;
  char           file[PETSC_MAX_PATH_LEN], errors[PETSC_MAX_PATH_LEN] = "";

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-scale", &scale, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tol", &tol, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-max_it", &maxits, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-errors", errors, sizeof(errors), NULL));
  PetscCheck(maxits > 0 && tol > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-max_it %" PetscInt_FMT " and -tol %g must be positive", maxits, (double)tol);
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetFromOptions(A));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-file", file, sizeof(file), &set));
  if (set) PetscCall(MatLoadFile(A, file));
  else PetscCall(MatFillStandin(A, "pds-100", scale));
  if (PetscDefined(USE_COMPLEX)) {
    Mat       imaginary;
    PetscReal norm;

    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &imaginary));
    PetscCall(MatImaginaryPart(imaginary));
    PetscCall(MatNorm(imaginary, NORM_FROBENIUS, &norm));
    PetscCheck(norm == 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "A linear program is real: the imaginary parts of the matrix have norm %g", (double)norm);
    PetscCall(MatDestroy(&imaginary));
  }
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(MatGetType(A, &type));
  PetscCall(MakeProgram(A, seed, &p));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Linear program: %" PetscInt_FMT " rows, %" PetscInt_FMT " columns, %.0f nonzeros, matrix of type %s\n", m, n, info.nz_used, type));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-problem", file, sizeof(file), &set));
  if (set) PetscCall(WriteProgram(&p, file));

  PetscCall(ScaleProgram(&p));
  PetscCall(PetscTime(&start));
  PetscCall(Solve(&p, tol, maxits, errors, &z, &its, &restarts));
  PetscCall(PetscTime(&end));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " iterations, %" PetscInt_FMT " restarts, %.3f seconds, %.1f microseconds an iteration\n", its, restarts, end - start, 1e6 * (end - start) / (double)its));

  /* The errors of the result, with A before scaling: scales are powers of two, so that dividing by them restores each digit */
  PetscCall(VecPointwiseMult(z.x, z.x, p.C));
  PetscCall(VecPointwiseMult(z.y, z.y, p.R));
  PetscCall(VecPointwiseMult(p.u, p.u, p.C));
  PetscCall(VecPointwiseDivide(p.b, p.b, p.R));
  PetscCall(VecPointwiseDivide(p.c, p.c, p.C));
  PetscCall(VecReciprocal(p.R));
  PetscCall(VecReciprocal(p.C));
  PetscCall(MatDiagonalScale(A, p.R, p.C));
  PetscCall(VecSet(p.R, 1));
  PetscCall(VecSet(p.C, 1));
  PetscCall(MatMult(A, z.x, z.Ax));
  PetscCall(MatMultTranspose(A, z.y, z.ATy));
  {
    Vec row, column, other;

    PetscCall(VecDuplicate(z.y, &row));
    PetscCall(VecDuplicate(z.x, &column));
    PetscCall(VecDuplicate(z.x, &other));
    PetscCall(PointErrors(&p, &z, row, column, other));
    /* the distance of x from the nearest point within the bounds, which should be rounding */
    PetscCall(VecSet(other, 0));
    PetscCall(VecPointwiseMax(column, z.x, other));
    PetscCall(VecPointwiseMin(column, column, p.u));
    PetscCall(VecAXPY(column, -1, z.x));
    PetscCall(VecNorm(column, NORM_INFINITY, &outside));
    PetscCall(VecDestroy(&row));
    PetscCall(VecDestroy(&column));
    PetscCall(VecDestroy(&other));
  }
  error = PetscAbsReal(z.value - p.optimum) / (1 + PetscAbsReal(p.optimum));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Relative errors: rows %.1e, reduced costs %.1e, gap %.1e\n", (double)z.primal, (double)z.dual, (double)z.gap));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Value %.10g, optimal value %.10g\n", (double)z.value, (double)p.optimum));
  /* the gap bounds the distance from the optimal value, except for the violation times the size of the solution */
  kept  = (PetscBool)(z.primal <= (PetscReal)1.01 * tol && z.dual <= (PetscReal)1.01 * tol && outside <= tol);
  small = (PetscBool)(z.gap <= (PetscReal)1.01 * tol);
  right = (PetscBool)(kept && small && error <= 100 * tol);
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD, "%s: the value differs from the optimal one by %.1e, relative to 1 + its size%s%s.\n", right ? "Right" : "WRONG", (double)error, kept ? "" : ", and constraints are violated", small ? "" : ", and the gap is large"));

  PetscCall(PointDestroy(&z));
  PetscCall(VecDestroy(&p.c));
  PetscCall(VecDestroy(&p.u));
  PetscCall(VecDestroy(&p.bounded));
  PetscCall(VecDestroy(&p.C));
  PetscCall(VecDestroy(&p.b));
  PetscCall(VecDestroy(&p.ylow));
  PetscCall(VecDestroy(&p.R));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return right ? 0 : 1;
}
