static char help[] = "Solvers do the same with our types as with AIJ: iterations, residuals of the first 20 steps, solution; also with A^T,\n\
of which no copy is made.\n\n";

#include "systems.h"

static PetscInt bad = 0;

/* Gets how often an event of the log has occurred */
static PetscErrorCode Count(const char event[], int *count)
{
  PetscLogEvent      id;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  PetscCall(PetscLogEventGetId(event, &id));
  PetscCall(PetscLogEventGetPerfInfo(0, id, &info));
  *count = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations may differ by 2 % or by one, residuals of the first 20 steps by 1e-6, plus rounding errors of earlier steps */
static PetscErrorCode Compare(const SystemSolver *solver, const char what[], KSP ksp, const SystemHistory *history, KSP aij, const SystemHistory *aijhistory, Vec x, Vec y)
{
  const PetscReal   *h = history->norm, *a = aijhistory->norm;
  const PetscInt     n = PetscMin(history->n, aijhistory->n);
  PetscInt           its, aijits;
  PetscReal          worst = 0, difference, size;
  KSPConvergedReason reason, aijreason;

  PetscFunctionBegin;
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetIterationNumber(aij, &aijits));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetConvergedReason(aij, &aijreason));
  for (PetscInt k = 0; k < PetscMin(21, n); k++) worst = PetscMax(worst, PetscAbsReal(h[k] - a[k]) / (a[k] + (PetscReal)1e-7 * a[0]));
  PetscCall(VecNorm(y, NORM_2, &size));
  PetscCall(VecAXPY(y, -1.0, x));
  PetscCall(VecNorm(y, NORM_2, &difference));
  if (reason != aijreason || reason <= 0 || n < 5 || PetscAbsReal((PetscReal)(its - aijits)) > PetscMax(1.0, 0.02 * aijits) || worst > 1e-6 || difference > 1e-6 * size) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %s: %s, %" PetscInt_FMT " iterations (AIJ %s, %" PetscInt_FMT "), first residuals differ by %.1e, solutions by %.1e\n", solver->ksp, what, KSPConvergedReasons[reason], its,
                          KSPConvergedReasons[aijreason], aijits, (double)worst, (double)(difference / size)));
    bad++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const SystemSolver *solver, Mat A, Mat B, PetscBool transposed)
{
  KSP            ksp, aij;
  SystemHistory *history, *aijhistory;
  Vec            x, y, b, c;
  VecType        type;
  char           saved[64];

  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(PetscStrncpy(saved, type, sizeof(saved)));
  if (solver->host) PetscCall(MatSetVecType(A, VECSTANDARD));
  PetscCall(SystemCreateSolver(solver, A, &ksp, &history));
  PetscCall(SystemCreateSolver(solver, B, &aij, &aijhistory));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(SystemVec(1, b));
  PetscCall(VecDuplicate(b, &c));
  PetscCall(VecCopy(b, c));
  if (transposed) {
    PetscCall(KSPSolveTranspose(ksp, b, x));
    PetscCall(KSPSolveTranspose(aij, c, y));
  } else {
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPSolve(aij, c, y));
  }
  PetscCall(Compare(solver, transposed ? "transposed" : "", ksp, history, aij, aijhistory, x, y));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPDestroy(&aij));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&c));
  PetscCall(MatSetVecType(A, saved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The adjoint of a functional: c^T A^-1 b by a solve with A, and by one with A^T by the same solver object */
static PetscErrorCode Adjoint(const SystemSolver *solver, Mat A)
{
  KSP            ksp;
  SystemHistory *history;
  Vec            x, y, b, c;
  PetscScalar    forward, adjoint;

  PetscFunctionBegin;
  PetscCall(SystemCreateSolver(solver, A, &ksp, &history));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(VecDuplicate(x, &c));
  PetscCall(SystemVec(1, b));
  PetscCall(SystemVec(2, c));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPSolveTranspose(ksp, c, y));
  PetscCall(VecTDot(c, x, &forward));
  PetscCall(VecTDot(b, y, &adjoint));
  if (!(PetscAbsScalar(forward - adjoint) <= (PetscDefined(USE_REAL_DOUBLE) ? 1e-7 : 1e-2) * PetscAbsScalar(forward))) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: c^T x = %g, b^T y = %g\n", solver->ksp, (double)PetscRealPart(forward), (double)PetscRealPart(adjoint)));
    bad++;
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat A, B;
  int products, transposed, transposes;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(SystemConvection(30, PETSC_FALSE, &A));
  PetscCall(SystemConvection(30, PETSC_TRUE, &B));
  PetscCall(MatScale(A, 2)); /* on a device, if there is one: only there products are left to aijcusparse */
  PetscCall(MatScale(B, 2));
  for (PetscInt k = 0; k < SystemNumSolvers; k++) {
    const SystemSolver *solver = &SystemSolvers[k];

    if (solver->tall) continue; /* solvers of normal equations take too long here */
    PetscCall(Solve(solver, A, B, PETSC_FALSE));
    PetscCall(Solve(solver, A, B, PETSC_TRUE));
    if (!solver->host) PetscCall(Adjoint(solver, A));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(SystemTall(900, 400, PETSC_FALSE, &A));
  PetscCall(SystemTall(900, 400, PETSC_TRUE, &B));
  PetscCall(MatScale(A, 2));
  PetscCall(MatScale(B, 2));
  for (PetscInt k = 0; k < SystemNumSolvers; k++) {
    if (SystemSolvers[k].tall) PetscCall(Solve(&SystemSolvers[k], A, B, PETSC_FALSE));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));

  PetscCall(Count("MatMult", &products));
  PetscCall(Count("MatMultTranspose", &transposed));
  PetscCall(Count("MatTranspose", &transposes));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " faults, products %s, transposed products %s, transposes formed: %d\n", bad, products > 100 ? "counted" : "NOT counted", transposed > 100 ? "counted" : "NOT counted", transposes));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  # of the solvers, PETSc's ibcgs is for real numbers only
  build:
    depends: systems.c
    requires: !complex

  test:
    suffix: 1
    requires: double
    nsize: {{1 4}}
    args: -mat_type {{csrccuda bccoo}}
    output_file: output/solvers_1.out

  # the default path: nonzeros are stored during a solve
  test:
    suffix: default
    requires: double
    nsize: {{1 2}}
    args: -mat_type {{csrccuda bccoo}} -mat_form_store_at_once false
    output_file: output/solvers_1.out

  test:
    suffix: gpu_default
    requires: double
    nsize: {{1 2}}
    args: -mat_type csrccuda -mat_form_store_at_once false
    output_file: output/solvers_1.out

  test:
    suffix: released
    requires: double
    nsize: {{1 3}}
    args: -mat_type bccoo -mat_form_release
    output_file: output/solvers_1.out

TEST*/
