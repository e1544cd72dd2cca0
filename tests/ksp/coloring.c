static char help[] = "The Jacobian by differences of colors of a function whose result is where the matrix's vectors are.\n\n";

#include "systems.h"

#define GRID 20

/* y = B x + 1; the last operation runs on the device if y's do */
static PetscErrorCode Function(void *unused, Vec x, Vec y, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(MatMult((Mat)ctx, x, y));
  PetscCall(VecShift(y, 1.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Neither a point of the grid and its neighbors nor two neighbors of a point have the same color */
static PetscErrorCode Colors(Mat A, ISColoring *colors)
{
  PetscInt         first, last;
  ISColoringValue *color;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(PetscMalloc1(last - first, &color));
  for (PetscInt r = first; r < last; r++) color[r - first] = (ISColoringValue)((r / GRID + 2 * (r % GRID)) % 5);
  PetscCall(ISColoringCreate(PETSC_COMM_WORLD, 5, last - first, color, PETSC_OWN_POINTER, colors));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat           A, B, J;
  Vec           x, y;
  ISColoring    colors;
  MatFDColoring fd;
  PetscReal     size, difference;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(SystemConvection(GRID, PETSC_FALSE, &A));
  PetscCall(SystemConvection(GRID, PETSC_TRUE, &B));
  PetscCall(MatNorm(B, NORM_FROBENIUS, &size));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(SystemVec(1, x));
  PetscCall(Colors(A, &colors));
  PetscCall(MatFDColoringCreate(A, colors, &fd));
#if PETSC_VERSION_GE(3, 24, 0)
  PetscCall(MatFDColoringSetFunction(fd, Function, B));
#else
  PetscCall(MatFDColoringSetFunction(fd, (PetscErrorCode(*)(void))Function, B));
#endif
  PetscCall(MatFDColoringSetFromOptions(fd));
  PetscCall(MatFDColoringSetUp(A, colors, fd));
  for (int given = 1; given >= 0; given--) { /* whether F(x) is given, as SNES and TS do, or computed */
    PetscCall(MatZeroEntries(A));
    PetscCall(Function(NULL, x, y, B));
    PetscCall(MatFDColoringSetF(fd, given ? y : NULL));
    PetscCall(MatFDColoringApply(A, fd, x, NULL));
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &J));
    PetscCall(MatAXPY(J, -1.0, B, SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(J, NORM_FROBENIUS, &difference));
    PetscCheck(difference <= 1000 * PETSC_SQRT_MACHINE_EPSILON * size, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "F(x) %s: the Jacobian differs by %g of %g", given ? "given" : "computed", (double)difference, (double)size);
    PetscCall(MatDestroy(&J));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "no errors\n"));
  PetscCall(MatFDColoringDestroy(&fd));
  PetscCall(ISColoringDestroy(&colors));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: systems.c

  test:
    args: -mat_type {{csrccuda bccoo}} -mat_fd_type {{wp ds}}
    nsize: {{1 3}}

TEST*/
