#include "systems.h"

const SystemSolver SystemSolvers[] = {
  {KSPBICG,  PCJACOBI, PETSC_FALSE, PETSC_FALSE},
  {KSPLSQR,  PCNONE,   PETSC_TRUE,  PETSC_FALSE},
  {KSPCGLS,  PCNONE,   PETSC_TRUE,  PETSC_FALSE},
  {KSPCGNE,  PCJACOBI, PETSC_FALSE, PETSC_FALSE},
  {KSPIBCGS, PCJACOBI, PETSC_FALSE, PETSC_TRUE },
  {KSPTFQMR, PCJACOBI, PETSC_FALSE, PETSC_FALSE},
  {KSPTCQMR, PCJACOBI, PETSC_FALSE, PETSC_FALSE},
  {KSPBCGS,  PCJACOBI, PETSC_FALSE, PETSC_FALSE},
  {KSPGMRES, PCJACOBI, PETSC_FALSE, PETSC_FALSE},
  {"qmr",    PCJACOBI, PETSC_FALSE, PETSC_FALSE}
};
const PetscInt SystemNumSolvers = PETSC_STATIC_ARRAY_LENGTH(SystemSolvers);

static PetscErrorCode Begin(PetscInt m, PetscInt n, PetscBool aij, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, m, n));
  if (aij) PetscCall(MatSetType(*A, MATAIJ));
  else PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SystemConvection(PetscInt n, PetscBool aij, Mat *A)
{
  const PetscInt  di[] = {0, -1, 1, 0, 0}, dj[] = {0, 0, 0, -1, 1};
  const PetscReal v[] = {4.5, -1.4, -0.6, -1.2, -0.8};
  PetscInt        first, last;

  PetscFunctionBegin;
  PetscCall(Begin(n * n, n * n, aij, A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    for (PetscInt k = 0; k < 5; k++) {
      const PetscInt i = row / n + di[k], j = row % n + dj[k];
      PetscScalar    value = k ? v[k] : v[k] + (PetscReal)(row % 7) / 10;

#if PetscDefined(USE_COMPLEX)
      value += PETSC_i * (PetscReal)(k % 2) / (PetscReal)4;
#endif
      if (i >= 0 && i < n && j >= 0 && j < n) PetscCall(MatSetValue(*A, row, i * n + j, value, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SystemTall(PetscInt m, PetscInt n, PetscBool aij, Mat *A)
{
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(Begin(m, n, aij, A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt k = 0; k < 10; k++) PetscCall(MatSetValue(*A, i, (i + 11 * k * k) % n, k ? (PetscReal)((7 * i + 3 * k) % 11 - 5) / 4 : (PetscReal)(4 + i % 5), ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SystemVec(PetscInt s, Vec x)
{
  PetscInt     first, last;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  PetscCall(VecGetArrayWrite(x, &a));
  for (PetscInt i = first; i < last; i++) {
    a[i - first] = 1 + (PetscReal)((i * (s + 3) + s) % 17) / 17;
#if PetscDefined(USE_COMPLEX)
    a[i - first] += PETSC_i * (PetscReal)(i % 5) / (PetscReal)5;
#endif
  }
  PetscCall(VecRestoreArrayWrite(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SystemCompare(const char what[], Vec x, Vec y, PetscInt *bad)
{
  PetscReal size, difference;

  PetscFunctionBegin;
  PetscCall(VecNorm(y, NORM_2, &size));
  PetscCall(VecAXPY(x, -1.0, y));
  PetscCall(VecNorm(x, NORM_2, &difference));
  if (!(size > 0) || !(difference <= 1e6 * PETSC_MACHINE_EPSILON * size)) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: differs from AIJ's by %.1e\n", what, (double)(difference / size)));
    (*bad)++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Records the norm that is passed to the convergence test, since not every solver writes PETSc's history */
static PetscErrorCode Record(KSP ksp, PetscInt it, PetscReal norm, KSPConvergedReason *reason, PetscCtx ctx)
{
  SystemHistory *history = (SystemHistory *)ctx;

  PetscFunctionBegin;
  if (!it) history->n = 0;
  if (history->n < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(history->norm)) history->norm[history->n++] = norm;
  PetscCall((*history->test)(ksp, it, norm, reason, history->ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HistoryDestroy(PetscCtxRt ctx)
{
  SystemHistory *history = (SystemHistory *)PetscCtxOf(ctx);

  PetscFunctionBegin;
  if (history->destroy) PetscCall((*history->destroy)(PetscCtxTo(history->ctx)));
  PetscCall(PetscFree(history));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SystemCreateSolver(const SystemSolver *solver, Mat A, KSP *ksp, SystemHistory **history)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, solver->ksp));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, solver->pc));
  PetscCall(KSPSetTolerances(*ksp, PetscDefined(USE_REAL_DOUBLE) ? 1e-8 : 1e-4, PETSC_CURRENT, PETSC_CURRENT, 5000));
  PetscCall(PetscNew(history));
  PetscCall(KSPGetAndClearConvergenceTest(*ksp, &(*history)->test, &(*history)->ctx, &(*history)->destroy));
  PetscCall(KSPSetConvergenceTest(*ksp, Record, *history, HistoryDestroy));
  PetscFunctionReturn(PETSC_SUCCESS);
}
