static char help[] = "KSPQMR where nothing is usual: breakdowns, zero right-hand sides, extreme scales, transposed solves, norms, repeated solves.\n\n";

#include <petscksp.h>

static PetscInt bad = 0;

static PetscErrorCode Expect(const char what[], PetscBool good)
{
  PetscFunctionBegin;
  if (!good) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "WRONG: %s\n", what));
    bad++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix with three diagonals, not symmetric, complex in a complex PETSc */
static PetscErrorCode Tridiagonal(PetscInt n, Mat *A)
{
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    PetscScalar diagonal = 3 + (PetscReal)(i % 3);

#if PetscDefined(USE_COMPLEX)
    diagonal += PETSC_i * (PetscReal)(i % 2);
#endif
    PetscCall(MatSetValue(*A, i, i, diagonal, INSERT_VALUES));
    if (i > 0) PetscCall(MatSetValue(*A, i, i - 1, -1.75, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(*A, i, i + 1, -0.5, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* (a b; c d) */
static PetscErrorCode TwoByTwo(PetscScalar a, PetscScalar b, PetscScalar c, PetscScalar d, Mat *A)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, 2, 2));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  if (rank == 0) {
    PetscCall(MatSetValue(*A, 0, 0, a, INSERT_VALUES));
    PetscCall(MatSetValue(*A, 0, 1, b, INSERT_VALUES));
    PetscCall(MatSetValue(*A, 1, 0, c, INSERT_VALUES));
    PetscCall(MatSetValue(*A, 1, 1, d, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(Mat A, PCType type, PCSide side, KSPNormType norm, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, "qmr"));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(KSPSetPCSide(*ksp, side));
  PetscCall(KSPSetNormType(*ksp, norm));
  PetscCall(KSPSetTolerances(*ksp, 1000 * PETSC_MACHINE_EPSILON, PETSC_CURRENT, PETSC_CURRENT, 200));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |b - op(A) x| / |b|, op(A) = A or A^T */
static PetscErrorCode Residual(Mat A, PetscBool transposed, Vec b, Vec x, PetscReal *relative)
{
  Vec       r;
  PetscReal bnorm;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &r));
  if (transposed) PetscCall(MatMultTranspose(A, x, r));
  else PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, relative));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  *relative /= bnorm;
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CountCalls(KSP ksp, PetscInt it, PetscReal rnorm, void *ctx)
{
  (void)ksp;
  (void)it;
  (void)rnorm;
  ++*(PetscInt *)ctx;
  return PETSC_SUCCESS;
}

/* Solves with both sides, all norms, A and A^T, a second solve that starts from the solution, and one without norms */
static PetscErrorCode Solves(void)
{
  const struct {
    PCSide      side;
    KSPNormType norm;
  } ways[] = {
    {PC_LEFT,  KSP_NORM_PRECONDITIONED  },
    {PC_LEFT,  KSP_NORM_UNPRECONDITIONED},
    {PC_RIGHT, KSP_NORM_UNPRECONDITIONED}
  };
  const PetscReal small = 1e5 * PETSC_MACHINE_EPSILON;
  Mat             A;
  Vec             x, b;

  PetscFunctionBegin;
  PetscCall(Tridiagonal(60, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(VecSetValue(b, 3, -2.0, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(ways); w++) {
    KSP                ksp;
    KSPConvergedReason reason;
    PetscInt           its, again, calls = 0;
    PetscReal          residual;

    PetscCall(CreateSolver(A, PCJACOBI, ways[w].side, ways[w].norm, &ksp));
    PetscCall(KSPMonitorSet(ksp, CountCalls, &calls, NULL));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(Residual(A, PETSC_FALSE, b, x, &residual));
    PetscCall(Expect("a solve", (PetscBool)(reason > 0 && residual < small)));
    PetscCall(Expect("the monitor is called at every step and before the first", (PetscBool)(calls == its + 1)));

    PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &again));
    PetscCall(Expect("a solve that starts from the answer", (PetscBool)(again <= 2)));
    PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_FALSE));

    PetscCall(KSPSolveTranspose(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(Residual(A, PETSC_TRUE, b, x, &residual));
    PetscCall(Expect("a transposed solve", (PetscBool)(reason > 0 && residual < small)));

    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &again));
    PetscCall(Residual(A, PETSC_FALSE, b, x, &residual));
    PetscCall(Expect("the same solve again", (PetscBool)(again == its && residual < small)));

    PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
    PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
    PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, its));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(Residual(A, PETSC_FALSE, b, x, &residual));
    PetscCall(Expect("a given number of iterations without norms", (PetscBool)(reason == KSP_CONVERGED_ITS && residual < small)));
    PetscCall(KSPDestroy(&ksp));

    PetscCall(CreateSolver(A, PCNONE, ways[w].side, ways[w].norm, &ksp));
    PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 3));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(Expect("too few iterations", (PetscBool)(reason == KSP_DIVERGED_ITS)));
    PetscCall(VecSet(b, 0.0));
    PetscCall(VecSet(x, 7.0));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(VecNorm(x, NORM_2, &residual));
    PetscCall(Expect("a right-hand side of zeros", (PetscBool)(reason > 0 && its == 0 && residual == 0)));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
    PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(VecNorm(x, NORM_2, &residual));
    PetscCall(Expect("a right-hand side of zeros without norms", (PetscBool)(reason == KSP_CONVERGED_HAPPY_BREAKDOWN && residual == 0)));
    PetscCall(VecSet(b, 1.0));
    PetscCall(KSPDestroy(&ksp));

    /* set up for a solve without norms, then used with norms */
    PetscCall(CreateSolver(A, PCJACOBI, ways[w].side, KSP_NORM_NONE, &ksp));
    PetscCall(KSPSetUp(ksp));
    PetscCall(KSPSetNormType(ksp, ways[w].norm));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(Residual(A, PETSC_FALSE, b, x, &residual));
    PetscCall(Expect("a solve with another norm than at set-up", (PetscBool)(reason > 0 && residual < small)));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solve with a matrix of order two and b = (1, 0) */
static PetscErrorCode SolveSmall(Mat A, PCSide side, PetscScalar value, KSPConvergedReason *reason, PetscInt *its, PetscReal *residual)
{
  Vec x, b;
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetValue(b, 0, value, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(CreateSolver(A, PCNONE, side, KSP_NORM_UNPRECONDITIONED, &ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(Residual(A, PETSC_FALSE, b, x, residual));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Breakdowns(PCSide side)
{
  const PetscReal    scale = PetscDefined(USE_REAL_SINGLE) ? 1e15 : 1e30; /* its square is finite */
  Mat                A;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          residual;

  PetscFunctionBegin;
  PetscCall(TwoByTwo(0.0, 1.0, -1.0, 0.0, &A)); /* b^H A b = 0 */
  PetscCall(SolveSmall(A, side, 1.0, &reason, &its, &residual));
  PetscCall(Expect("a pivot of zero", (PetscBool)(reason == KSP_DIVERGED_BREAKDOWN && its == 0 && residual == 1)));
  PetscCall(MatDestroy(&A));

  PetscCall(TwoByTwo(PETSC_MACHINE_EPSILON / 16, 1.0, -1.0, 0.0, &A)); /* b^H A b = eps / 16: a step would not change the iterate */
  PetscCall(SolveSmall(A, side, 1.0, &reason, &its, &residual));
  PetscCall(Expect("a pivot near zero", (PetscBool)(reason == KSP_DIVERGED_BREAKDOWN && its == 0 && residual == 1)));
  PetscCall(MatDestroy(&A));

  PetscCall(TwoByTwo(1.0, 0.0, 1.0, 1.0, &A)); /* A^H b = b, but A b is not b: the left space is exhausted */
  PetscCall(SolveSmall(A, side, 1.0, &reason, &its, &residual));
  PetscCall(Expect("a left space that ends before the solution is found", (PetscBool)(reason == KSP_DIVERGED_BREAKDOWN && its == 1 && residual > 0.1)));
  PetscCall(MatDestroy(&A));

  PetscCall(TwoByTwo(1.0, 1.0, 0.0, 1.0, &A)); /* A b = b: the solution is found, though A^H b is not b */
  PetscCall(SolveSmall(A, side, 1.0, &reason, &its, &residual));
  PetscCall(Expect("a right space that ends with the solution", (PetscBool)(reason > 0 && its == 1 && residual == 0)));
  PetscCall(MatDestroy(&A));

  PetscCall(TwoByTwo(2.0, 1.0, -1.0, 1.0, &A)); /* nothing depends on the scale of b */
  PetscCall(SolveSmall(A, side, 1 / scale, &reason, &its, &residual));
  PetscCall(Expect("a tiny right-hand side", (PetscBool)(reason > 0 && its == 2 && residual < 100 * PETSC_MACHINE_EPSILON)));
  PetscCall(SolveSmall(A, side, scale, &reason, &its, &residual));
  PetscCall(Expect("a huge right-hand side", (PetscBool)(reason > 0 && its == 2 && residual < 100 * PETSC_MACHINE_EPSILON)));
  PetscCall(SolveSmall(A, side, PETSC_REAL_MIN / 64, &reason, &its, &residual)); /* its reciprocal overflows */
  PetscCall(Expect("a denormal right-hand side", (PetscBool)(reason > 0)));
  PetscCall(MatDestroy(&A));

  PetscCall(TwoByTwo(INFINITY, 1.0, -1.0, 1.0, &A));
  PetscCall(SolveSmall(A, side, 1.0, &reason, &its, &residual));
  PetscCall(Expect("infinity in the matrix", (PetscBool)(reason == KSP_DIVERGED_NANORINF)));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solve of s^k A x = s^l b with s a power of two whose square overflows, from s^(l - k) x_0; x is divided by s^(l - k) afterwards */
static PetscErrorCode SolveScaled(Mat A, PetscInt k, Vec b, PetscInt l, Vec x, PetscBool guess, PCType type, PCSide side, KSPNormType norm, PetscBool initial, KSPConvergedReason *reason, PetscInt *its)
{
  const PetscReal s = PetscPowReal(2, PetscDefined(USE_REAL_SINGLE) ? 70 : 600);
  KSP             ksp;
  Mat             sA;
  Vec             sb;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &sA));
  PetscCall(MatScale(sA, PetscPowReal(s, (PetscReal)k)));
  PetscCall(VecDuplicate(b, &sb));
  PetscCall(VecSet(sb, 0.0));
  PetscCall(VecAXPY(sb, PetscPowReal(s, (PetscReal)l), b)); /* not VecCopy() and VecScale(), which would pass on a cached norm */
  PetscCall(VecSet(x, PetscPowReal(s, (PetscReal)(l - k))));
  PetscCall(CreateSolver(sA, type, side, norm, &ksp));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, 0, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
  if (initial) PetscCall(KSPConvergedDefaultSetUIRNorm(ksp));
  PetscCall(KSPSolve(ksp, sb, x));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(VecScale(x, PetscPowReal(s, (PetscReal)(k - l))));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&sb));
  PetscCall(MatDestroy(&sA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At every scale of A, b and the initial guess the same steps are taken to the same solution */
static PetscErrorCode Scales(PCSide side, KSPNormType norm)
{
  const PetscInt scales[][2] = {
    {0,  1 },
    {0,  -1},
    {1,  0 },
    {-1, 0 },
    {1,  1 },
    {-1, -1}
  };
  const char *const  types[] = {PCNONE, PCJACOBI};
  Mat                A;
  Vec                x, b;
  KSPConvergedReason reason, expectedreason;
  PetscInt           its, expectedits;
  PetscReal          residual, largest;

  PetscFunctionBegin;
  PetscCall(Tridiagonal(60, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    for (int guess = 0; guess < 2; guess++) {
      PetscCall(VecSet(b, 1.0));
      PetscCall(SolveScaled(A, 0, b, 0, x, (PetscBool)guess, types[t], side, norm, PETSC_TRUE, &expectedreason, &expectedits));
      PetscCall(Residual(A, PETSC_FALSE, b, x, &residual));
      PetscCall(Expect("a solve to be scaled", (PetscBool)(expectedreason > 0 && residual < 1e5 * PETSC_MACHINE_EPSILON)));
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(scales); k++) {
        PetscCall(SolveScaled(A, scales[k][0], b, scales[k][1], x, (PetscBool)guess, types[t], side, norm, PETSC_TRUE, &reason, &its));
        PetscCall(Residual(A, PETSC_FALSE, b, x, &residual));
        PetscCall(Expect("the same steps at every scale", (PetscBool)(reason == expectedreason && its == expectedits && residual < 1e5 * PETSC_MACHINE_EPSILON)));
      }
    }
    /* PETSc's test compares with |b|, which VecNorm() may return as infinite here: the solver must not stop at once */
    PetscCall(SolveScaled(A, 0, b, 1, x, PETSC_TRUE, PCNONE, side, norm, PETSC_FALSE, &reason, &its));
    PetscCall(Residual(A, PETSC_FALSE, b, x, &residual));
    PetscCall(Expect("an initial guess and a right-hand side of infinite norm", (PetscBool)(reason == KSP_DIVERGED_NANORINF || (reason > 0 && residual < 1e5 * PETSC_MACHINE_EPSILON))));
    PetscCall(VecSet(b, 0.0));
    PetscCall(SolveScaled(A, 1, b, 1, x, PETSC_TRUE, types[t], side, norm, PETSC_FALSE, &reason, &its));
    PetscCall(VecNorm(x, NORM_INFINITY, &largest));
    PetscCall(Expect("an initial guess for a right-hand side of zeros", (PetscBool)(reason > 0 && largest < 1e5 * PETSC_MACHINE_EPSILON)));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A rotates by a right angle, and b is the unit vector e. The preconditioner multiplies by a matrix with two entries off the diagonal. The first step finds the solution. */
static PetscErrorCode OneStep(const char what[], PCSide side, PetscScalar upper, PetscScalar lower, PetscInt e)
{
  Mat                A, M;
  Vec                x, b;
  KSP                ksp;
  KSPConvergedReason reason;
  PetscInt           its;

  PetscFunctionBegin;
  PetscCall(TwoByTwo(0.0, 1.0, -1.0, 0.0, &A));
  PetscCall(TwoByTwo(0.0, upper, lower, 0.0, &M));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetValue(b, e, 1.0, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(CreateSolver(A, PCMAT, side, KSP_NORM_UNPRECONDITIONED, &ksp));
  PetscCall(KSPSetOperators(ksp, A, M));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(Expect(what, (PetscBool)(reason > 0 && its == 1)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nested vectors take the same steps as plain ones, on any number of processes */
static PetscErrorCode Nested(void)
{
  Mat                blocks[4], N;
  Vec                x, b;
  KSP                ksp;
  KSPConvergedReason reason[2];
  PetscInt           its[2];
  PetscReal          residual;

  PetscFunctionBegin;
  PetscCall(Tridiagonal(40, &blocks[0]));
  PetscCall(MatDuplicate(blocks[0], MAT_COPY_VALUES, &blocks[3]));
  PetscCall(MatScale(blocks[3], 3.0));
  blocks[1] = blocks[2] = NULL;
  PetscCall(MatCreateNest(PETSC_COMM_WORLD, 2, NULL, 2, NULL, blocks, &N));
  for (int nest = 0; nest < 2; nest++) {
    PetscCall(MatNestSetVecType(N, nest ? VECNEST : VECSTANDARD));
    PetscCall(MatCreateVecs(N, &x, &b));
    PetscCall(VecSet(b, 1.0));
    PetscCall(CreateSolver(N, PCNONE, PC_LEFT, KSP_NORM_PRECONDITIONED, &ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason[nest]));
    PetscCall(KSPGetIterationNumber(ksp, &its[nest]));
    PetscCall(Residual(N, PETSC_FALSE, b, x, &residual));
    PetscCall(Expect("nested vectors", (PetscBool)(reason[nest] > 0 && residual < 1e5 * PETSC_MACHINE_EPSILON)));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
  }
  PetscCall(Expect("nested vectors take as many steps as plain ones", (PetscBool)(5 * PetscAbs(its[0] - its[1]) <= its[0]))); /* rounding errors differ */
  PetscCall(MatDestroy(&N));
  PetscCall(MatDestroy(&blocks[0]));
  PetscCall(MatDestroy(&blocks[3]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Calls that cannot work give an error */
static PetscErrorCode Refusals(void)
{
  Mat            A;
  Vec            x, b;
  KSP            ksp;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(Tridiagonal(12, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(CreateSolver(A, PCJACOBI, PC_SYMMETRIC, KSP_NORM_PRECONDITIONED, &ksp));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = KSPSolve(ksp, b, x);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Expect("symmetric preconditioning is refused", (PetscBool)(ierr == PETSC_ERR_SUP)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(Solves());
  PetscCall(Breakdowns(PC_LEFT));
  PetscCall(Breakdowns(PC_RIGHT));
  PetscCall(Scales(PC_LEFT, KSP_NORM_PRECONDITIONED));
  PetscCall(Scales(PC_LEFT, KSP_NORM_UNPRECONDITIONED));
  PetscCall(Scales(PC_RIGHT, KSP_NORM_UNPRECONDITIONED));
  /* M = A: r_0 and M^-H r_0 are orthogonal */
  PetscCall(OneStep("left vectors that cannot start from the residual", PC_LEFT, -1.0, 1.0, 0));
  PetscCall(OneStep("left vectors that cannot start from the residual", PC_RIGHT, -1.0, 1.0, 0));
  PetscCall(OneStep("left vectors that vanish", PC_RIGHT, 1.0, 0.0, 1)); /* z_1 = M^-H r_0 is zero: with z_1 = y_1 */
  PetscCall(Nested());
  PetscCall(Refusals());
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " faults\n", bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 4}}
    output_file: output/qmr_1.out
    test:
      suffix: 1
      args: -mat_type {{aij csrccuda bccoo}}
    test:
      suffix: default
      nsize: {{1 2}}
      args: -mat_type {{csrccuda bccoo}} -mat_form_store_at_once false

TEST*/
