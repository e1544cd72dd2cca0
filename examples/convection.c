/*
  Convection and diffusion of smoke in a box of air, by finite volumes with seven points and implicit time steps.

  The wind turns around the middle of the box and rises; a chimney emits smoke. Upwind differences make an M-matrix that is far
  from symmetric, and each step is a solve with it, for which BiCGStab is suited. Matrix and vectors come from a DMDA, so that
  -dm_mat_type and -dm_vec_type choose the types. For example, on a GPU

    convection -da_grid_x 108 -da_grid_y 108 -da_grid_z 108 -dll_append $PETSCCSRC_LIB -dm_mat_type csrccuda -dm_vec_type cuda
*/
static char help[] = "Follows smoke in the wind: a seven-point convection-diffusion problem, solved by BiCGStab.\n"
                     "  -steps <n>, -dt <t> : time steps (20) of which length (20, 0.05); the wind is as fast as the box is long\n"
                     "  -diffusion <d>   : diffusion over wind times box (0.01)\n"
                     "  -residuals <file>: writes the residual of every iteration of the last step\n"
                     "  -slice <file>    : writes the smoke at half the height\n"
                     "Of PETSc's own options -da_grid_x, -da_grid_y, -da_grid_z (32 each), -dm_mat_type, -dm_vec_type, -ksp_type, -pc_type\n"
                     "and -dll_append are the most useful.\n\n";

#include <petscksp.h>
#include <petscdmda.h>
#include <petsctime.h>

/* The wind through the face at (x, y) in [0,1]^2, in the given direction */
static PetscReal Wind(PetscInt direction, PetscReal x, PetscReal y)
{
  return direction == 0 ? 1 - 2 * y : direction == 1 ? 2 * x - 1 : (PetscReal)0.2;
}

/*
  The row of a cell: 1 and, for each of its six faces, dt times the flow through it by wind (out of the upwind cell) and by
  diffusion. The air outside of the box is clean.
*/
static PetscErrorCode FillMatrix(DM da, PetscReal diffusion, PetscReal dt, Mat A)
{
  DMDALocalInfo info;
  PetscInt      n[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  n[0] = info.mx;
  n[1] = info.my;
  n[2] = info.mz;
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const MatStencil row = {.i = i, .j = j, .k = k};
        MatStencil       cols[7];
        PetscScalar      values[7], diagonal = 1;
        PetscInt         count = 0;

        for (PetscInt direction = 0; direction < 3; direction++) {
          for (PetscInt side = -1; side <= 1; side += 2) {
            const PetscReal h   = 1 / (PetscReal)n[direction];
            const PetscReal x   = (i + (PetscReal)0.5) / n[0] + (direction == 0 ? side * h / 2 : 0);
            const PetscReal y   = (j + (PetscReal)0.5) / n[1] + (direction == 1 ? side * h / 2 : 0);
            const PetscReal out = side * Wind(direction, x, y) / h, spread = diffusion / h / h;
            const PetscInt  next = (direction == 0 ? i : direction == 1 ? j : k) + side;

            diagonal += dt * (PetscMax(out, 0) + spread);
            if (next < 0 || next >= n[direction]) continue;
            cols[count] = row;
            if (direction == 0) cols[count].i = next;
            else if (direction == 1) cols[count].j = next;
            else cols[count].k = next;
            values[count++] = dt * (PetscMin(out, 0) - spread);
          }
        }
        cols[count]     = row;
        values[count++] = diagonal;
        PetscCall(MatSetValuesStencil(A, 1, &row, count, cols, values, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The smoke that the chimney emits in a unit of time: a column of cells up to a quarter of the height */
static PetscErrorCode FillSource(DM da, Vec b)
{
  DMDALocalInfo   info;
  PetscScalar  ***a;
  const PetscReal x0 = 0.25, y0 = 0.5;
  PetscReal       radius;

  PetscFunctionBegin;
  PetscCall(VecSet(b, 0.0));
  PetscCall(DMDAGetLocalInfo(da, &info));
  radius = PetscMax((PetscReal)0.06, 1 / (PetscReal)PetscMin(info.mx, info.my)); /* at least one cell */
  PetscCall(DMDAVecGetArray(da, b, &a));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscReal x = (i + (PetscReal)0.5) / info.mx - x0, y = (j + (PetscReal)0.5) / info.my - y0;

        if (4 * k < info.mz && x * x + y * y <= radius * radius) a[k][j][i] = 1;
      }
    }
  }
  PetscCall(DMDAVecRestoreArray(da, b, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteHistory(KSP ksp, const char file[])
{
  const PetscReal *history;
  PetscInt         n;
  FILE            *fp;

  PetscFunctionBegin;
  PetscCall(KSPGetResidualHistory(ksp, &history, &n));
  PetscCall(PetscFOpen(PETSC_COMM_WORLD, file, "w", &fp));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "iteration,residual\n"));
  for (PetscInt k = 0; k < n; k++) PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%" PetscInt_FMT ",%.6e\n", k, (double)history[k]));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, fp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes the layer at half the height; the first process does so */
static PetscErrorCode WriteSlice(DM da, Vec x, const char file[])
{
  Vec                natural, all;
  VecScatter         scatter;
  PetscInt           mx, my, mz, n;
  const PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, NULL, &mx, &my, &mz, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDACreateNaturalVector(da, &natural));
  PetscCall(DMDAGlobalToNaturalBegin(da, x, INSERT_VALUES, natural));
  PetscCall(DMDAGlobalToNaturalEnd(da, x, INSERT_VALUES, natural));
  PetscCall(VecScatterCreateToZero(natural, &scatter, &all));
  PetscCall(VecScatterBegin(scatter, natural, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, natural, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetLocalSize(all, &n));
  PetscCall(VecGetArrayRead(all, &a));
  if (n) {
    const PetscScalar *layer = a + mz / 2 * my * mx;
    FILE              *fp;

    PetscCall(PetscFOpen(PETSC_COMM_SELF, file, "w", &fp));
    PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "x,y,value\n"));
    for (PetscInt p = 0; p < mx * my; p++) PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%.5f,%.5f,%.6e\n", (p % mx + 0.5) / mx, (p / mx + 0.5) / my, (double)PetscRealPart(layer[p])));
    PetscCall(PetscFClose(PETSC_COMM_SELF, fp));
  }
  PetscCall(VecRestoreArrayRead(all, &a));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecDestroy(&all));
  PetscCall(VecDestroy(&natural));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  DM                 da;
  Mat                A;
  Vec                x, b, r, source;
  KSP                ksp;
  PC                 pc;
  KSPType            solver;
  MatType            type;
  KSPConvergedReason reason;
  PetscInt           N, its, steps = 20, done = 0;
  PetscReal          diffusion = 0.01, dt = 0.05, bnorm, rnorm, least, most;
  PetscLogDouble     start, end;
  PetscBool          set;
  char               file[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-diffusion", &diffusion, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-dt", &dt, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCheck(diffusion > 0 && dt > 0 && steps > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-diffusion %g, -dt %g and -steps %" PetscInt_FMT " must be positive", (double)diffusion, (double)dt, steps);

  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 32, 32, 32, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(FillMatrix(da, diffusion, dt, A));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecDuplicate(x, &r));
  PetscCall(VecDuplicate(x, &source));
  PetscCall(FillSource(da, source));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " cells, matrix of type %s\n", N, type));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPBCGS));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSetResidualHistory(ksp, NULL, PETSC_DECIDE, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE)); /* the smoke of the last step */
  PetscCall(VecSet(x, 0.0));
  PetscCall(MatMult(A, x, r)); /* stores the nonzeros, and brings all data to the device, before the clock starts */
  PetscCall(VecScale(source, dt));
  PetscCall(PetscTime(&start));
  do {
    PetscCall(VecWAXPY(b, 1.0, source, x));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    done++;
  } while (done < steps && reason > 0);
  PetscCall(VecNorm(x, NORM_2, &rnorm)); /* waits for the device */
  PetscCall(PetscTime(&end));

  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &rnorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(VecRealPart(x));
  PetscCall(VecMin(x, NULL, &least));
  PetscCall(VecMax(x, NULL, &most));
  PetscCall(KSPGetType(ksp, &solver));
  PetscCall(KSPGetTotalIterations(ksp, &its));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Solver %s: %" PetscInt_FMT " of %" PetscInt_FMT " steps, %" PetscInt_FMT " iterations, %s, %.3f seconds, %.1f microseconds an iteration\n", solver, done, steps, its, KSPConvergedReasons[reason], end - start,
                        1e6 * (end - start) / (double)PetscMax(its, 1)));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "|b - A x| / |b| = %.1e, smoke between %.1e and %.3e\n", (double)(rnorm / bnorm), (double)least, (double)most));

  PetscCall(PetscOptionsGetString(NULL, NULL, "-residuals", file, sizeof(file), &set));
  if (set) PetscCall(WriteHistory(ksp, file));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-slice", file, sizeof(file), &set));
  if (set) PetscCall(WriteSlice(da, x, file));

  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&source));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  /* concentrations are not negative: the inverse of an M-matrix has no negative entry */
  return reason > 0 && least >= -1e-5 * most ? 0 : 1;
}
