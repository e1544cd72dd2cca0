static const char help[] = "The first solve of a fresh process against a warm one: what is loaded and made once, and when.\n\n\
  -matrix M      chessboard:a:b:k, standin:NAME (see -scale), or a file that MatLoadFile() reads; default chessboard:7:9:4\n\
  -scale s       size of a stand-in\n\
  -type T        matrix type; default csrccuda\n\
  -nsv n         how many values; default 16\n\
  -before WHAT   what the process has done before the first solve, so that differences between processes tell what loads:\n\
                 nothing   the matrix alone, on the host\n\
                 device    a vector's norm: the device's context, the handles and kernels of PETSc's vectors\n\
                 vector    that, and products with a vector: the stored nonzeros and the kernels\n\
                 solver    that, and a solve with a small matrix: the solver's kernels, LAPACK, page-locked memory\n\n\
Prints milliseconds: the preparation, then five solves, each with a new SVD object.\n";

#include <slepcsvd.h>
#include "bench.h"

static PetscErrorCode Solve(Mat A, PetscInt nsv)
{
  SVD svd;

  PetscFunctionBegin;
  PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
  PetscCall(SVDSetOperators(svd, A, NULL));
  PetscCall(SVDSetType(svd, "blocklanczos"));
  PetscCall(SVDSetDimensions(svd, nsv, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(SVDSetFromOptions(svd));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDDestroy(&svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does the first 'level' steps of the list device, vector, solver; level 0: nothing */
static PetscErrorCode Prepare(Mat A, const char type[], PetscInt level)
{
  PetscFunctionBegin;
  if (level >= 1) {
    Vec       x;
    PetscReal norm;

    PetscCall(MatCreateVecs(A, &x, NULL));
    PetscCall(VecSet(x, 1.0));
    PetscCall(VecNorm(x, NORM_2, &norm));
    PetscCall(VecDestroy(&x));
  }
  if (level >= 2) {
    Vec x, y;

    PetscCall(MatCreateVecs(A, &x, &y));
    PetscCall(VecSet(x, 1.0));
    PetscCall(MatMult(A, x, y));
    PetscCall(MatMultTranspose(A, y, x));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
  }
  if (level >= 3) {
    Mat B;

    PetscCall(MatCreate(PETSC_COMM_WORLD, &B));
    PetscCall(MatSetType(B, type));
    PetscCall(MatFillChessboard(B, 5, 6, 2));
    PetscCall(Solve(B, 16));
    PetscCall(MatDestroy(&B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const levels[]                 = {"nothing", "device", "vector", "solver"};
  char              name[PETSC_MAX_PATH_LEN] = "chessboard:7:9:4", type[64] = "csrccuda";
  PetscInt          nsv = 16, level = 0;
  PetscReal         scale = 1.0;
  PetscBool         flg;
  PetscLogDouble    start, end;
  NamedMatrix       named;
  Mat               A;

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-matrix", name, sizeof(name), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, sizeof(type), NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-scale", &scale, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-nsv", &nsv, NULL));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-before", levels, PETSC_STATIC_ARRAY_LENGTH(levels), &level, &flg));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetType(A, type));
  PetscCall(MatFillNamed(A, name, scale, &named));

  PetscCall(Now(&start));
  PetscCall(Prepare(A, type, level));
  PetscCall(Now(&end));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s, before: %s %.1f ms, solves", name, type, levels[level], (end - start) * 1e3));
  for (PetscInt i = 0; i < 5; i++) {
    PetscCall(Now(&start));
    PetscCall(Solve(A, nsv));
    PetscCall(Now(&end));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %.1f", (end - start) * 1e3));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, " ms\n"));
  PetscCall(MatDestroy(&A));
  PetscCall(SlepcFinalize());
  return 0;
}
