static char help[] = "A solve with a matrix that was made anew gives the same bits: every residual of the history and the solution.\n\n";

#include "systems.h"

static PetscErrorCode Solve(const SystemSolver *solver, KSP *ksp, SystemHistory **history, Vec *x)
{
  Mat A;
  Vec b;

  PetscFunctionBegin;
  if (solver->tall) PetscCall(SystemTall(9000, 4000, PETSC_FALSE, &A));
  else PetscCall(SystemConvection(60, PETSC_FALSE, &A));
  if (solver->host) PetscCall(MatSetVecType(A, VECSTANDARD));
  PetscCall(MatCreateVecs(A, x, &b));
  PetscCall(SystemVec(1, b));
  PetscCall(SystemCreateSolver(solver, A, ksp, history));
  PetscCall(KSPSolve(*ksp, b, *x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt bad = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (PetscInt s = 0; s < SystemNumSolvers; s++) {
    const SystemSolver *solver = &SystemSolvers[s];
    KSP                 ksp[2];
    Vec                 x[2];
    SystemHistory      *history[2];
    PetscBool           same, equal;

    for (int i = 0; i < 2; i++) PetscCall(Solve(solver, &ksp[i], &history[i], &x[i]));
    same = (PetscBool)(history[0]->n == history[1]->n && history[0]->n > 5);
    if (same) PetscCall(PetscArraycmp(history[0]->norm, history[1]->norm, history[0]->n, &same));
    PetscCall(VecEqual(x[0], x[1], &equal));
    if (!same || !equal) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: residuals %s (%" PetscInt_FMT " and %" PetscInt_FMT "), solutions %s\n", solver->ksp, same ? "equal" : "DIFFER", history[0]->n, history[1]->n, equal ? "equal" : "DIFFER"));
      bad++;
    }
    for (int i = 0; i < 2; i++) {
      PetscCall(KSPDestroy(&ksp[i]));
      PetscCall(VecDestroy(&x[i]));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " faults\n", bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: systems.c
    requires: !complex

  testset:
    output_file: output/repeat_1.out
    test:
      suffix: 1
      nsize: {{1 2 4}}
      args: -mat_type {{csrccuda bccoo}} -mat_csrc_reproducible -options_left 0
    test:
      suffix: gpu
      args: -mat_type csrccuda -mat_csrc_reproducible -mat_csrc_layout {{auto balanced}}

TEST*/
