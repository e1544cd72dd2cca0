static char help[] = "KSPQMR takes the steps of SciPy's qmr: residuals of the first 20, iterations, final residual.\n\
  -matrices <folder>   real matrices from this folder instead of generated ones\n\n";

#include <petscksp.h>
#include <support.h>

#define STEPS 21

/* One solve by SciPy to a relative tolerance of 1e-10, in the given norm */
typedef struct {
  const char *matrix, *pc;
  PCSide      side;
  KSPNormType norm;
  PetscBool   guess, iscomplex;
  PetscInt    its;
  PetscReal   last, first[STEPS]; /* residual norms */
} SciPyRun;

#include "scipyqmr.h"

static PetscErrorCode Convection(Mat A, PetscBool shift)
{
  const PetscInt  n = 24, di[] = {0, -1, 1, 0, 0}, dj[] = {0, 0, 0, -1, 1};
  const PetscReal c = 0.6, v[] = {4, -1 - c, -1 + c, -1 - c / 2, -1 + c / 2};
  PetscInt        first, last;

  PetscFunctionBegin;
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    for (PetscInt k = 0; k < 5; k++) {
      const PetscInt i = row / n + di[k], j = row % n + dj[k];
      PetscScalar    value = v[k];

#if PetscDefined(USE_COMPLEX)
      if (k == 0 && shift) value += PETSC_i * (PetscReal)(1 + row % 3) / (PetscReal)2;
#endif
      if (i >= 0 && i < n && j >= 0 && j < n) PetscCall(MatSetValue(A, row, i * n + j, value, INSERT_VALUES));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Strewn(Mat A)
{
  const PetscInt n = 700;
  PetscInt       first, last;

  PetscFunctionBegin;
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt k = 0; k < 10; k++) PetscCall(MatSetValue(A, i, (i + k * k * k) % n, k ? (PetscReal)((7 * i + 3 * k) % 11 - 5) / 4 : (PetscReal)(4 + i % 5), INSERT_VALUES));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMatrix(const char name[], const char folder[], Mat *A)
{
  PetscBool convection, strewn, shifted;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(name, "convection", &convection));
  PetscCall(PetscStrcmp(name, "strewn", &strewn));
  PetscCall(PetscStrcmp(name, "shifted", &shifted));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetFromOptions(*A));
  if (convection || shifted) PetscCall(Convection(*A, shifted));
  else if (strewn) PetscCall(Strewn(*A));
  else {
    char file[PETSC_MAX_PATH_LEN];

    PetscCall(PetscSNPrintf(file, sizeof(file), "%s/small/%s", folder, name));
    PetscCall(MatLoadFile(*A, file));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetRightHandSide(Vec b)
{
  PetscInt     first, last;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(b, &first, &last));
  PetscCall(VecGetArrayWrite(b, &a));
  for (PetscInt i = first; i < last; i++) {
    a[i - first] = 1 + (PetscReal)(i % 7) / 7;
#if PetscDefined(USE_COMPLEX)
    a[i - first] += PETSC_i * (PetscReal)(i % 5) / (PetscReal)5;
#endif
  }
  PetscCall(VecRestoreArrayWrite(b, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norm of b - A x, or of M^-1 (b - A x) */
static PetscErrorCode TrueResidual(KSP ksp, Vec b, Vec x, KSPNormType norm, PetscReal *rnorm)
{
  Mat A;
  Vec r, z;
  PC  pc;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecDuplicate(b, &z));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  if (norm == KSP_NORM_PRECONDITIONED) {
    PetscCall(PCApply(pc, r, z));
    PetscCall(VecNorm(z, NORM_2, rnorm));
  } else PetscCall(VecNorm(r, NORM_2, rnorm));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations may differ by 3 % or by one (the order of sums alone changes 2 %), the first residuals by 1e-6 of their size */
static PetscErrorCode Compare(const SciPyRun *run, const char folder[], PetscInt *bad)
{
  Mat                A;
  Vec                x, b;
  KSP                ksp;
  PC                 pc;
  KSPConvergedReason reason;
  const PetscReal   *history;
  PetscInt           its, n;
  PetscReal          last, worst = 0;
  PetscBool          right;

  PetscFunctionBegin;
  PetscCall(CreateMatrix(run->matrix, folder, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SetRightHandSide(b));
  PetscCall(VecSet(x, run->guess ? 0.5 : 0.0));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, "qmr"));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, run->pc));
  PetscCall(KSPSetPCSide(ksp, run->side));
  PetscCall(KSPSetNormType(ksp, run->norm));
  PetscCall(KSPSetInitialGuessNonzero(ksp, run->guess));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_CURRENT, PETSC_CURRENT, 4000));
  PetscCall(KSPSetResidualHistory(ksp, NULL, PETSC_DECIDE, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetResidualHistory(ksp, &history, &n));
  PetscCall(TrueResidual(ksp, b, x, run->norm, &last));

  /* later residuals contain the rounding errors of earlier steps */
  for (PetscInt k = 0; k < PetscMin(n, PetscMin(STEPS, run->its)); k++) worst = PetscMax(worst, PetscAbsReal(history[k] - run->first[k]) / (run->first[k] + (PetscReal)1e-7 * run->first[0]));
  right = (PetscBool)(reason > 0 && n == its + 1 && PetscAbsReal((PetscReal)(its - run->its)) <= PetscMax(1.0, 0.03 * run->its) && worst <= 1e-6);
  /* the true residual is the one reported, or as good as SciPy's where rounding limits both */
  right = (PetscBool)(right && (last <= 1.01 * history[its] || last <= 1.5 * run->last));
  if (!right) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %s side %d norm %d: %s, %" PetscInt_FMT " iterations (SciPy %" PetscInt_FMT "), first residuals differ by %.1e, last %.3e, by recurrence %.3e (SciPy %.3e)\n", run->matrix, run->pc, (int)run->side,
                          (int)run->norm, KSPConvergedReasons[reason], its, run->its, (double)worst, (double)last, (double)history[its], (double)run->last));
    (*bad)++;
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    bad = 0, count = 0;
  PetscMPIInt size;
  PetscBool   files;
  char        folder[PETSC_MAX_PATH_LEN] = "";

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-matrices", folder, sizeof(folder), &files));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(runs); k++) {
    const SciPyRun *run = &runs[k];
    PetscBool       isfile, ilu;

    PetscCall(PetscStrendswith(run->matrix, ".mtx", &isfile));
    PetscCall(PetscStrcmp(run->pc, PCILU, &ilu));
    if (run->iscomplex != PetscDefined(USE_COMPLEX) || isfile != files || (ilu && size > 1)) continue;
    PetscCall(Compare(run, folder, &bad));
    count++;
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s compared, %" PetscInt_FMT " different\n", count ? "runs" : "nothing", bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/qmrscipy_1.out
    requires: double
    nsize: {{1 3}}
    # the factor that PETSc's ILU(0) makes of a matrix takes over the names of the functions composed with it
    filter: grep -v "function name: Mat"
    test:
      suffix: 1
      args: -mat_type {{aij csrccuda bccoo}}
    test:
      suffix: default
      args: -mat_type {{csrccuda bccoo}} -mat_form_store_at_once false
      nsize: {{1 2}}
    test:
      suffix: matrices
      args: -mat_type {{aij csrccuda bccoo}} -matrices ${MATRICES}
    test:
      suffix: matrices_default
      args: -mat_type {{csrccuda bccoo}} -matrices ${MATRICES} -mat_form_store_at_once false
      nsize: {{1 2}}

TEST*/
