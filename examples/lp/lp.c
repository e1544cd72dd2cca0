/* Linear programs by restarted Halpern PDHG: lp.h lists the parts */
static char help[] = "Solves a linear program from an MPS file.\n"
                     "  -file <file>      : MPS, fixed or free, plain or .gz or .bz2\n"
                     "  -tol <t>          : relative residuals of the result (1e-6; 1e-3 in single precision)\n"
                     "  -ray_tol <t>      : largest relative violation of a certificate that there is no solution (1e-8; 1e-4)\n"
                     "  -max_it <n>       : iterations at most (10000000)\n"
                     "  -max_time <s>     : seconds at most (3600)\n"
                     "  -check <n>        : iterations between checks (200)\n"
                     "  -start <file>     : begin at a solution that -solution wrote\n"
                     "  -solution <file>  : write the solution, dual values and reduced costs as text\n"
                     "  -binary <file>    : write x and y as PETSc vectors\n"
                     "  -changes <files>  : then solve again with new costs and bounds, from files of lines\n"
                     "                      cost COLUMN VALUE, row ROW LOWER UPPER, column COLUMN LOWER UPPER\n"
                     "  -progress <bool>  : print residuals now and then (true)\n"
                     "  -graph <bool>     : on a device, launch iterations as CUDA graphs (true)\n"
                     "Of PETSc's own options -mat_type and -dll_append are the most useful. The program ends with 0 if the status is proved, 1 if not, 2 if the file is wrong.\n\n";

#include "lp.h"

static PetscErrorCode Report(const LP *lp, const LPOptions *o, const LPResult *r)
{
  const LPErrors *e    = &r->errors;
  const PetscReal sign = lp->maximize ? -1 : 1;

  PetscFunctionBegin;
  switch (r->status) {
  case LP_OPTIMAL:
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "Status: optimal\n"));
    break;
  case LP_UNSOLVED:
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "Status: not solved to %g\n", (double)o->tol));
    break;
  case LP_INFEASIBLE:
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "Status: infeasible; the certificate excludes every x with |x|_1 < %.1e\n", (double)r->radius));
    break;
  default:
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "Status: %s; the certificate excludes every feasible y with |y|_1 < %.1e\n", r->status == LP_UNBOUNDED ? "unbounded" : "dual infeasible, that is unbounded or infeasible", (double)r->radius));
  }
  if (r->status <= LP_OPTIMAL) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "Objective: %.12g, dual objective %.12g\n", (double)(sign * (e->value + lp->offset)), (double)(sign * (e->bound + lp->offset))));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "Relative residuals from the data of the file: primal %.2e, dual %.2e, gap %.2e\n", (double)e->primal, (double)e->dual, (double)e->gap));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " iterations, %" PetscInt_FMT " restarts, %.3f seconds, %.2f microseconds an iteration\n", r->its, r->restarts, r->seconds, 1e6 * r->seconds / (double)PetscMax(r->its, 1)));
  if (r->easyits >= 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "All three were below 1e-4 after %" PetscInt_FMT " iterations, %.3f seconds\n", r->easyits, r->easyseconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  LP             lp;
  LPSolver       solver;
  LPResult       r = {LP_UNSOLVED};
  Mat            A;
  MatType        type;
  LPOptions      o = {PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-6, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, 3600, 10000000, 200, PETSC_TRUE, PETSC_TRUE};
  PetscLogDouble begin, read, stored;
  PetscBool      set, proved = PETSC_TRUE;
  PetscMPIInt    size;
  char           file[PETSC_MAX_PATH_LEN], solution[PETSC_MAX_PATH_LEN], binary[PETSC_MAX_PATH_LEN], start[PETSC_MAX_PATH_LEN], error[2 * PETSC_MAX_PATH_LEN];
  char          *changes[64];
  PetscInt       nchanges = PETSC_STATIC_ARRAY_LENGTH(changes);
  PetscBool      hassolution, hasbinary, hasstart;

  PetscFunctionBeginUser;
  /* a default, which the command line may change: the CSR is freed when its nonzeros have been stored for products */
  PetscCall(PetscOptionsSetValue(NULL, "-mat_form_release", "1"));
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(size == 1, PETSC_COMM_WORLD, PETSC_ERR_WRONG_MPI_SIZE, "This program runs on one process, not on %d", (int)size);
  PetscCall(PetscOptionsGetString(NULL, NULL, "-file", file, sizeof(file), &set));
  PetscCheck(set, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "-file must name an MPS file");
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tol", &o.tol, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-ray_tol", &o.raytol, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-max_time", &o.maxtime, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-max_it", &o.maxits, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-check", &o.period, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-progress", &o.progress, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-graph", &o.graph, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-mat_form_release", &set)); /* with a type that does not know it, it would be reported as unused */
  PetscCall(PetscOptionsGetString(NULL, NULL, "-solution", solution, sizeof(solution), &hassolution));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-binary", binary, sizeof(binary), &hasbinary));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-start", start, sizeof(start), &hasstart));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-changes", changes, &nchanges, NULL));
  PetscCheck(o.tol > 0 && o.raytol > 0 && o.maxtime > 0 && o.maxits > 0 && o.period > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "-tol %g, -ray_tol %g, -max_time %g, -max_it %" PetscInt_FMT " and -check %" PetscInt_FMT " must be positive",
             (double)o.tol, (double)o.raytol, (double)o.maxtime, o.maxits, o.period);

  PetscCall(PetscTime(&begin));
  PetscCall(LPReadMPS(file, &lp, error, sizeof(error)));
  if (error[0]) {
    PetscCall(PetscFPrintf(PETSC_COMM_SELF, stderr, "lp: %s\n", error));
    PetscCall(PetscOptionsSetValue(NULL, "-options_left", "0")); /* those of the solve have not been used */
    PetscCall(PetscFinalize());
    return 2;
  }
  PetscCall(PetscTime(&read));
  PetscCall(
    PetscPrintf(PETSC_COMM_SELF, "%s: %" PetscInt_FMT " rows, %" PetscInt_FMT " columns, %" PetscInt_FMT " nonzeros, %s, read in %.2f seconds; no presolve\n", file, lp.m, lp.n, lp.i[lp.m], lp.maximize ? "maximized" : "minimized", read - begin));
  if (lp.integers) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " columns are marked as integer: these marks are relaxed\n", lp.integers));
  PetscCall(PetscCalloc2(lp.n, &r.x, lp.m, &r.y));
  if (hasstart) PetscCall(LPReadSolution(&lp, start, r.x, r.y));
  PetscCall(LPSolverCreate(&lp, &solver));
  PetscCall(PetscTime(&stored));
  PetscCall(LPSolverGetMatrix(solver, &A));
  for (PetscInt solve = 0; solve <= nchanges; solve++) {
    if (solve) {
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "Changed by %s\n", changes[solve - 1]));
      PetscCall(LPReadChanges(&lp, changes[solve - 1]));
      PetscCall(LPSolverSetVectors(solver));
    }
    if (r.status > LP_OPTIMAL) {
      PetscCall(PetscArrayzero(r.x, lp.n));
      PetscCall(PetscArrayzero(r.y, lp.m));
    }
    PetscCall(LPSolverSolve(solver, &o, &r));
    PetscCall(MatGetType(A, &type));
    if (!solve) PetscCall(PetscPrintf(PETSC_COMM_SELF, "Matrix of type %s, scaled and stored in %.2f seconds\n", type, stored - read));
    PetscCall(Report(&lp, &o, &r));
    if (r.status == LP_UNSOLVED) proved = PETSC_FALSE;
    if (hassolution) PetscCall(LPWriteSolution(&lp, solution, &r));
    if (hasbinary) PetscCall(LPWriteBinary(&lp, binary, &r));
  }
  for (PetscInt c = 0; c < nchanges; c++) PetscCall(PetscFree(changes[c]));
  PetscCall(LPSolverDestroy(&solver));
  PetscCall(PetscFree2(r.x, r.y));
  PetscCall(LPDestroy(&lp));
  PetscCall(PetscFinalize());
  return proved ? 0 : 1;
}
