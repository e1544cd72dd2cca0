/*
  The gradient of one number with respect to every parameter of a system, from two solves: where does a filter help most?

  Smoke spreads in a room, A(s) u = f, where s_i is how much a filter at cell i absorbs. The smoke at a desk is c^T u. By the
  adjoint method the derivative with respect to s_i is -y_i u_i, where A^T y = c. This takes one solve with A and one with A^T, by
  the same KSP and from the one stored matrix. For example

    adjoint -n 200 -ksp_type qmr -dll_append $PETSCCSRC_LIB -mat_type csrccuda
*/
static char help[] = "Computes a gradient by one solve with A and one with A^T.\n"
                     "  -n <n>       : the room has n x n cells (64)\n"
                     "Of PETSc's own options -mat_type, -ksp_type, -pc_type and -dll_append are the most useful.\n\n";

#include <petscksp.h>

/* The five-point stencil of diffusion and a rising wind from the left; smoke that leaves the room does not return */
static PetscErrorCode CreateMatrix(PetscInt n, Mat *A)
{
  const PetscInt  di[] = {0, -1, 1, 0, 0}, dj[] = {0, 0, 0, -1, 1};
  const PetscReal h = 1 / (PetscReal)n, right = 20 * h, up = 10 * h;
  const PetscReal v[] = {4 + right + up + h * h, -1 - right, -1, -1 - up, -1};
  PetscInt        first, last;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    for (PetscInt k = 0; k < 5; k++) {
      const PetscInt i = row % n + di[k], j = row / n + dj[k];

      if (i >= 0 && i < n && j >= 0 && j < n) PetscCall(MatSetValue(*A, row, j * n + i, v[k], INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 1 in a square of cells around (x, y), 0 elsewhere */
static PetscErrorCode FillSquare(PetscInt n, PetscReal x, PetscReal y, Vec v)
{
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(VecSet(v, 0.0));
  PetscCall(VecGetOwnershipRange(v, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    const PetscReal dx = (row % n + (PetscReal)0.5) / n - x, dy = (row / n + (PetscReal)0.5) / n - y;

    if (PetscAbsReal(dx) <= 0.05 && PetscAbsReal(dy) <= 0.05) PetscCall(VecSetValue(v, row, 1.0, INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(v));
  PetscCall(VecAssemblyEnd(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* c^T A(s)^-1 f where s is strength at one cell and 0 elsewhere */
static PetscErrorCode SmokeAtDesk(KSP ksp, Mat A, Vec f, Vec c, PetscInt cell, PetscReal strength, Vec u, PetscReal *smoke)
{
  PetscScalar value;
  Vec         d;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(u, &d));
  PetscCall(VecSet(d, 0.0));
  PetscCall(VecSetValue(d, cell, strength, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(d));
  PetscCall(VecAssemblyEnd(d));
  PetscCall(MatDiagonalSet(A, d, ADD_VALUES));
  PetscCall(KSPSolve(ksp, f, u));
  PetscCall(VecTDot(c, u, &value));
  PetscCall(VecScale(d, -1.0));
  PetscCall(MatDiagonalSet(A, d, ADD_VALUES));
  PetscCall(VecDestroy(&d));
  *smoke = PetscRealPart(value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscReal    strength = PetscDefined(USE_REAL_DOUBLE) ? 1e-4 : 1e-2;
  Mat                A;
  Vec                u, f, y, c, g;
  KSP                ksp;
  PC                 pc;
  KSPType            solver;
  MatType            type;
  KSPConvergedReason forward, adjoint;
  PetscInt           n = 64, its[2], best;
  PetscReal          smoke, least;
  PetscScalar        value;
  PetscBool          right;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  {
    PetscInt cells;

    PetscCall(PetscIntMultError(n, n, &cells));
  }
  PetscCheck(n >= 20, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-n %" PetscInt_FMT " must be at least 20, for the desk to have cells", n);
  PetscCall(CreateMatrix(n, &A));
  PetscCall(MatCreateVecs(A, &u, &f));
  PetscCall(VecDuplicate(u, &c));
  PetscCall(VecDuplicate(f, &y));
  PetscCall(VecDuplicate(u, &g));
  PetscCall(FillSquare(n, 0.2, 0.2, f)); /* the smoker */
  PetscCall(FillSquare(n, 0.8, 0.6, c)); /* the desk */
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " cells, matrix of type %s\n", n * n, type));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPBCGS));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_DOUBLE) ? 1e-12 : 1e-5, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSetFromOptions(ksp));

  PetscCall(KSPSolve(ksp, f, u));
  PetscCall(KSPGetIterationNumber(ksp, &its[0]));
  PetscCall(KSPGetConvergedReason(ksp, &forward));
  PetscCall(KSPSolveTranspose(ksp, c, y));
  PetscCall(KSPGetIterationNumber(ksp, &its[1]));
  PetscCall(KSPGetConvergedReason(ksp, &adjoint));
  right = (PetscBool)(forward > 0 && adjoint > 0);
  PetscCall(VecPointwiseMult(g, y, u));
  PetscCall(VecScale(g, -1.0));
  PetscCall(VecRealPart(g));

  PetscCall(VecTDot(c, u, &value));
  smoke = PetscRealPart(value);
  PetscCall(VecTDot(f, y, &value));
  PetscCall(KSPGetType(ksp, &solver));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Solver %s: %" PetscInt_FMT " iterations with A, %s; %" PetscInt_FMT " with A^T, %s\n", solver, its[0], KSPConvergedReasons[forward], its[1], KSPConvergedReasons[adjoint]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Smoke at the desk: c^T u = %.10e, by the adjoint f^T y = %.10e\n", (double)smoke, (double)PetscRealPart(value)));
  PetscCall(VecMin(g, &best, &least));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "A filter helps most at x = %.3f, y = %.3f\n", (best % n + 0.5) / n, (best / n + 0.5) / n));

  /* The derivative at three cells by central differences, each of which takes two more solves */
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n     cell      by the adjoint   by differences\n"));
  for (PetscInt k = 0; k < 3; k++) {
    const PetscInt cell     = k == 0 ? best : k == 1 ? n * n / 2 + n / 2 : n * n / 4 + n / 3;
    PetscScalar    gradient = 0;
    PetscReal      with, without, difference;
    PetscInt       first, last;

    PetscCall(VecGetOwnershipRange(g, &first, &last));
    if (first <= cell && cell < last) PetscCall(VecGetValues(g, 1, &cell, &gradient));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &gradient, 1, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
    PetscCall(SmokeAtDesk(ksp, A, f, c, cell, strength, u, &with));
    PetscCall(SmokeAtDesk(ksp, A, f, c, cell, -strength, u, &without));
    difference = (with - without) / (2 * strength);
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %7" PetscInt_FMT "  %18.8e  %15.8e\n", cell, (double)PetscRealPart(gradient), (double)difference));
    right = (PetscBool)(right && PetscAbsReal(difference - PetscRealPart(gradient)) <= (PetscDefined(USE_REAL_DOUBLE) ? 1e-5 : 1e-1) * PetscAbsReal(least));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, right ? "Right: they agree.\n" : "WRONG: they differ, or a solve failed.\n"));

  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&c));
  PetscCall(VecDestroy(&g));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return right ? 0 : 1;
}
