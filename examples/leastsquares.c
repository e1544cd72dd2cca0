/*
  Solves a least-squares problem with a sparse matrix from a file: minimizes the 2-norm of b - A x.

  KSPLSQR and KSPCGLS use A only by products with A and with A^T, in each iteration. The program does not depend on particular
  matrix types: -mat_type chooses one, and -dll_append loads a library with further types. For example

    leastsquares -file illc1850.mtx -ksp_type cgls -dll_append $PETSCCSRC_LIB -mat_type bccoo
*/
static char help[] = "Solves a least squares problem.\n"
                     "  -file <file>  : the matrix, a Matrix Market file (.mtx or .mtx.gz) or a PETSc binary file\n"
                     "  -rhs <file>   : the right-hand side, such a file with one column; by default a random vector\n"
                     "  -scale        : columns of length 1, which helps where they differ much\n"
                     "Of PETSc's own options -mat_type, -ksp_type (lsqr or cgls), -ksp_rtol, -ksp_max_it and -dll_append are the most useful.\n\n";

#include <petscksp.h>
#include <petsctime.h>
#include "support.h"

static PetscErrorCode CreateMatrix(Mat *A)
{
  char      file[PETSC_MAX_PATH_LEN];
  PetscBool set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-file", file, sizeof(file), &set));
  PetscCheck(set, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "Give a matrix with -file <file>");
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatLoadFile(*A, file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A D for A, with D such that all columns have length 1; columns of zeros do not change */
static PetscErrorCode ScaleColumns(Mat A)
{
  Vec          d;
  PetscInt     N, first, last;
  PetscReal   *norms;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, NULL, &N));
  PetscCall(MatCreateVecs(A, &d, NULL));
  PetscCall(VecGetOwnershipRange(d, &first, &last));
  PetscCall(PetscMalloc1(N, &norms));
  PetscCall(MatGetColumnNorms(A, NORM_2, norms));
  PetscCall(VecGetArrayWrite(d, &a));
  for (PetscInt j = first; j < last; j++) a[j - first] = norms[j] > 0 ? 1 / norms[j] : 1;
  PetscCall(VecRestoreArrayWrite(d, &a));
  PetscCall(MatDiagonalScale(A, NULL, d));
  PetscCall(PetscFree(norms));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A random vector, the same on any number of processes */
static PetscErrorCode VecFillRandom(Vec x)
{
  PetscInt     first, last;
  PetscScalar *values;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  PetscCall(VecGetArrayWrite(x, &values));
  for (PetscInt i = first; i < last; i++) values[i - first] = 2 * RandomDraw(i, 0) - 1;
  PetscCall(VecRestoreArrayWrite(x, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetRightHandSide(Vec b)
{
  char      file[PETSC_MAX_PATH_LEN];
  PetscBool fromfile;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-rhs", file, sizeof(file), &fromfile));
  if (fromfile) {
    Mat      B;
    PetscInt M, m, rows, cols;

    PetscCall(VecGetSize(b, &M));
    PetscCall(VecGetLocalSize(b, &m));
    PetscCall(MatCreate(PETSC_COMM_WORLD, &B));
    PetscCall(MatLoadFile(B, file));
    PetscCall(MatGetSize(B, &rows, &cols));
    PetscCheck(rows == M && cols == 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "The right-hand side in %s is %" PetscInt_FMT " x %" PetscInt_FMT ", it must be %" PetscInt_FMT " x 1", file, rows, cols, M);
    PetscCall(MatGetColumnVector(B, b, 0));
    PetscCall(MatDestroy(&B));
  } else PetscCall(VecFillRandom(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* r = b - A x, g = A^H r */
static PetscErrorCode Residuals(Mat A, Vec b, Vec x, Vec r, Vec g, PetscReal *rnorm, PetscReal *gnorm)
{
  PetscFunctionBegin;
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(MatMultHermitianTranspose(A, r, g));
  PetscCall(VecNorm(r, NORM_2, rnorm));
  PetscCall(VecNorm(g, NORM_2, gnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat                A;
  Vec                x, b, r, g; /* r = b - A x, g = A^H r: zero at the solution */
  KSP                ksp;
  PC                 pc;
  KSPType            solver;
  MatType            type;
  MatInfo            info;
  KSPConvergedReason reason;
  PetscInt           M, N, its;
  PetscReal          bnorm, rnorm, gnorm, Anorm;
  PetscLogDouble     start, end;
  PetscBool          scale = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));

  PetscCall(CreateMatrix(&A));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-scale", &scale, NULL));
  if (scale) PetscCall(ScaleColumns(A));
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Matrix: %" PetscInt_FMT " x %" PetscInt_FMT ", %.0f nonzeros, type %s\n", M, N, info.nz_used, type));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecDuplicate(x, &g));
  PetscCall(SetRightHandSide(b));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(MatNorm(A, NORM_FROBENIUS, &Anorm));
  PetscCheck(!PetscIsInfOrNanReal(bnorm) && !PetscIsInfOrNanReal(Anorm), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "The norm of the matrix is %g, that of the right-hand side is %g: entries are NaN, infinite, or too large to be squared", (double)Anorm,
             (double)bnorm);

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPLSQR));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNONE)); /* the default one needs a square matrix */
  PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_DOUBLE) ? 1e-10 : 1e-4, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecSet(x, 0.0));
  PetscCall(PetscTime(&start));
  PetscCall(Residuals(A, b, x, r, g, &rnorm, &gnorm));
  PetscCall(VecNorm(g, NORM_INFINITY, &gnorm));
  if (gnorm == 0) { /* PETSc's lsqr would divide by it. In the 2-norm squares may underflow */
    reason = KSP_CONVERGED_ATOL;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "A^T b = 0: x = 0 is the solution, and no solver runs\n"));
  } else {
    PetscCall(KSPSetUp(ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(PetscTime(&end));
    PetscCall(KSPGetType(ksp, &solver));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Solver %s: %" PetscInt_FMT " iterations, %s, %.3f seconds\n", solver, its, KSPConvergedReasons[reason], end - start));
  }
  PetscCall(Residuals(A, b, x, r, g, &rnorm, &gnorm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "|b| = %.6e, |b - A x| = %.6e, |A^T (b - A x)| = %.6e\n", (double)bnorm, (double)rnorm, (double)gnorm));
  if (rnorm > 0 && Anorm > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "|A^T (b - A x)| / (|A|_F |b - A x|) = %.1e\n", (double)(gnorm / Anorm / rnorm)));

  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&g));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return reason > 0 ? 0 : 1;
}
