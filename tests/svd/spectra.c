static const char help[] = "Matrices of prescribed singular values: graded, clustered, multiple, few, none; tall, wide, one column, one row.\n\
  -m, -n        the size, swapped for the wide ones\n\
  -nsv n        how many values\n\
  -seeds n      starts of each solve\n\
  -only name    one spectrum\n\
  -tolerance t  allowed difference of a value from its true one, relative to the largest\n";

#include "check.h"
#include "sys/petscolder.h"

/* Entry i, from a hash, of the vector that normalized is w in a reflector I - 2 w w^H; two reflectors make singular vectors dense */
static PetscScalar Entry(PetscInt which, PetscInt i)
{
  uint64_t z = (uint64_t)(i + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)which * UINT64_C(0xbf58476d1ce4e5b9);

  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  z ^= z >> 31;
#if PetscDefined(USE_COMPLEX)
  return PetscCMPLX((PetscReal)(z >> 40) / 16777216.0 - 0.5, (PetscReal)((z >> 16) & 0xffffff) / 16777216.0 - 0.5);
#else
  return (PetscReal)(z >> 11) / 9007199254740992.0 - 0.5;
#endif
}

static PetscErrorCode Reflector(PetscInt which, PetscInt n, PetscScalar w[])
{
  PetscReal norm = 0.0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    w[i] = Entry(which, i);
    norm += PetscRealPart(w[i] * PetscConj(w[i]));
  }
  for (PetscInt i = 0; i < n; i++) w[i] /= PetscSqrtReal(norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A = H1 H2 diag(s) H3 H4, m x n; every process computes the whole matrix and sets its rows */
static PetscErrorCode CreateMatrix(PetscInt m, PetscInt n, const PetscReal s[], Mat *A)
{
  PetscScalar *a, *w, *t;
  PetscInt    *cols, first, last;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(m * n, &a, PetscMax(m, n), &w, PetscMax(m, n), &t, n, &cols));
  PetscCall(PetscArrayzero(a, m * n));
  for (PetscInt i = 0; i < PetscMin(m, n); i++) a[i * n + i] = s[i];
  for (PetscInt r = 0; r < 2; r++) {
    PetscCall(Reflector(r, n, w)); /* from the right: A (I - 2 w w^H) */
    for (PetscInt i = 0; i < m; i++) {
      PetscScalar dot = 0.0;

      for (PetscInt j = 0; j < n; j++) dot += a[i * n + j] * w[j];
      for (PetscInt j = 0; j < n; j++) a[i * n + j] -= 2.0 * dot * PetscConj(w[j]);
    }
    PetscCall(Reflector(2 + r, m, w)); /* from the left: (I - 2 w w^H) A */
    PetscCall(PetscArrayzero(t, n));
    for (PetscInt i = 0; i < m; i++)
      for (PetscInt j = 0; j < n; j++) t[j] += PetscConj(w[i]) * a[i * n + j];
    for (PetscInt i = 0; i < m; i++)
      for (PetscInt j = 0; j < n; j++) a[i * n + j] -= 2.0 * w[i] * t[j];
  }
  for (PetscInt j = 0; j < n; j++) cols[j] = j;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, m, n));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = first; i < last; i++) PetscCall(MatSetValues(*A, 1, &i, n, cols, a + i * n, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscFree4(a, w, t, cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Graded(PetscInt i, PetscInt n, PetscReal decades)
{
  return PetscPowReal(10.0, -decades * i / PetscMax(n - 1, 1));
}

/* The spectra, in decreasing order */
static const char *const names[] = {"graded14", "graded7", "spread14", "clusters", "mult20", "rank10", "flat", "pairs", "identity", "zero", "tiny", "huge"};

static PetscReal Value(const char name[], PetscInt i, PetscInt n)
{
  const PetscReal tail = 1.0 - (PetscReal)i / n;

  if (!strcmp(name, "graded14")) return i < 16 ? Graded(i, 16, 14) : 0.0;
  if (!strcmp(name, "graded7")) return i < 16 ? Graded(i, 16, 7) : 1e-9 * tail;
  if (!strcmp(name, "spread14")) return Graded(i, n, 14);
  if (!strcmp(name, "clusters")) return i < 16 ? (5 - i / 4) * (1 - 1e-10 * (i % 4)) : 1.5 * tail;
  if (!strcmp(name, "mult20")) return i < 20 ? 1.0 : 0.5 * tail;
  if (!strcmp(name, "rank10")) return i < 10 ? 10.0 - i : 0.0;
  if (!strcmp(name, "flat")) return 1.0 + 0.1 * tail;
  if (!strcmp(name, "pairs")) return 1.0 - (PetscReal)(i / 2) / n;
  if (!strcmp(name, "identity")) return 1.0;
  if (!strcmp(name, "tiny")) return 1e-140 * tail;
  if (!strcmp(name, "huge")) return 1e140 * tail;
  return 0.0;
}

int main(int argc, char **argv)
{
  PetscInt    m = 300, n = 100, nsv = 16, seeds = 1, wrong = 0, solves = 0;
  PetscReal   tolerance = 1e-10;
  char        only[32]  = "";
  PetscBool   verbose   = PETSC_FALSE;
  PetscMPIInt nprocs;

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(SlepcCSRCInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &nprocs));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-m", &m, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-nsv", &nsv, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seeds", &seeds, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tolerance", &tolerance, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", only, sizeof(only), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));

  for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(names); c++) {
    if (only[0] && strcmp(only, names[c])) continue;
    if (PetscDefined(USE_REAL_SINGLE) && (!strcmp(names[c], "tiny") || !strcmp(names[c], "huge"))) continue;
    for (PetscInt shape = 0; shape < 4; shape++) {
      const PetscInt M = shape == 0 ? m : shape == 1 ? n : shape == 2 ? m : 1, N = shape == 0 ? n : shape == 1 ? m : shape == 2 ? 1 : m, mn = PetscMin(M, N);
      const PetscInt expect = PetscMin(nsv, mn);
      PetscReal     *s;
      Mat            A;

      if (PETSCCSRC_AIJ_NEEDS_ROWS && mn < nprocs) continue;
      PetscCall(PetscMalloc1(mn, &s));
      for (PetscInt i = 0; i < mn; i++) s[i] = Value(names[c], i, mn);
      PetscCall(CreateMatrix(M, N, s, &A));
      for (PetscInt seed = 0; seed < seeds; seed++) {
        SVD                svd;
        SVDCheck           check;
        SVDConvergedReason reason;
        PetscBool          bad;

        PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
        PetscCall(SVDSetOperators(svd, A, NULL));
        PetscCall(SVDSetDimensions(svd, nsv, PETSC_DETERMINE, PETSC_DETERMINE));
        PetscCall(SVDSetSeed(svd, seed));
        PetscCall(SVDSetFromOptions(svd));
        PetscCall(SVDSolve(svd));
        PetscCall(SVDGetConvergedReason(svd, &reason));
        PetscCall(SVDCheckSolution(svd, expect, s, &check));
        bad = (PetscBool)(check.n < expect || reason < 0 || check.value > tolerance || check.orthogonal > 1e-13 || check.residual > 2e-8 || check.estimate > 1.1);
        solves++;
        if (bad) wrong++;
        if (bad || verbose)
          PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %s %" PetscInt_FMT " x %" PetscInt_FMT " seed %" PetscInt_FMT ": %" PetscInt_FMT " of %" PetscInt_FMT " triplets, %s, values %.1e, orthogonality %.1e, residuals %.1e, of their estimate %.2g\n",
                                bad ? "WRONG" : "right", names[c], M, N, seed, check.n, expect, SVDConvergedReasons[reason], (double)check.value, (double)check.orthogonal, (double)check.residual, (double)check.estimate));
        PetscCall(SVDDestroy(&svd));
      }
      PetscCall(MatDestroy(&A));
      PetscCall(PetscFree(s));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", wrong ? "some solutions are wrong" : "every solution is right"));
  if (verbose || wrong) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " of %" PetscInt_FMT " solves wrong\n", wrong, solves));
  PetscCall(SlepcFinalize());
  return 0;
}

/*TEST

  build:
    depends: check.c
    requires: double

  testset:
    args: -svd_type blocklanczos
    output_file: output/spectra_1.out
    test:
      suffix: 1
      args: -m 900 -n 300 -svd_blocklanczos_form {{auto twosided}}
    test:
      suffix: blocksizes
      args: -svd_blocklanczos_form {{auto twosided}} -svd_blocklanczos_blocksize {{1 8 20}}
    test:
      suffix: types
      args: -mat_type {{csrccuda bccoo}}
    test:
      suffix: released
      nsize: {{1 2}}
      args: -mat_type bccoo -mat_form_release
    test:
      suffix: parallel
      nsize: {{2 4}}
      args: -svd_blocklanczos_form {{auto twosided}}
    test:
      suffix: bv
      args: -bv_type {{svec contiguous vecs}}
    test:
      suffix: 1_gpu
      args: -m 900 -n 300 -mat_type {{csrccuda aijcusparse}} -svd_blocklanczos_form {{auto twosided}} -seeds 3

  # what the A^T A form cannot resolve it does not return, and says so
  test:
    suffix: ata
    args: -svd_type blocklanczos -m 900 -n 300 -only graded14 -svd_blocklanczos_form ata
    filter: sed -n "/^WRONG graded14.*DIVERGED_BREAKDOWN, values .*e-1[4-9], orthogonality .*e-1[4-6], residuals/s/:.*triplets.*$/: fewer triplets, and these are right/p"

TEST*/
