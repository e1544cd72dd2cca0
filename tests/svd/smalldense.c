static char help[] = "Small dense operations: an error of LAPACK restores the number of threads of the BLAS, and frees the work space.\n\n";

/* These functions are internal to the library, and so is their source part of this program. The BLAS is told of its threads here. */
#include <slepcblaslapack.h>

/* LAPACK's gesdd, which leaves a NaN if asked to, as it may where values are equal; a query of the work space does not */
static PetscBool spoil = PETSC_FALSE;
#undef LAPACKgesdd_
#define LAPACKgesdd_(job, m, n, A, lda, s, U, ldu, VH, ldvh, work, ...) /* lwork is the caller's variable */ \
  do { \
    PETSCBLAS(gesdd, GESDD)(job, m, n, A, lda, s, U, ldu, VH, ldvh, work, __VA_ARGS__); \
    if (spoil && lwork > 0) (VH)[1] = NAN; \
  } while (0)
#include "blockops/smalldense.c"
#include "blockops/blockrandom.h"
#include <slepcsys.h>

#define THREADS 4
#define N       6

static int threads = THREADS, failed;

int openblas_get_num_threads(void)
{
  return threads;
}

void openblas_set_num_threads(int n)
{
  threads = n;
}

/* What LAPACK calls for a wrong argument, before it returns an error: the reference implementation ends the program */
PETSC_EXTERN void xerbla_(const char name[], const PetscBLASInt *info, size_t len)
{
  (void)name;
  (void)info;
  (void)len;
}

static PetscErrorCode Expect(const char what[], PetscBool right)
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %s\n", right ? "ok" : "FAILED", what));
  if (!right) failed++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After each call that must fail: is there an error, are the threads restored, is all memory freed? */
static PetscErrorCode Failed(const char what[], PetscErrorCode ierr, PetscLogDouble before)
{
  PetscLogDouble after;
  char           text[64];

  PetscFunctionBegin;
  PetscCall(PetscMallocGetCurrentUsage(&after));
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s: an error", what));
  PetscCall(Expect(text, (PetscBool)(ierr == PETSC_ERR_LIB)));
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s: threads", what));
  PetscCall(Expect(text, (PetscBool)(threads == THREADS)));
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s: memory", what));
  PetscCall(Expect(text, (PetscBool)(after == before)));
  threads = THREADS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define FAIL(what, call) \
  do { \
    PetscErrorCode ierr; \
    PetscLogDouble before; \
\
    PetscCall(PetscMallocGetCurrentUsage(&before)); \
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL)); \
    ierr = call; \
    PetscCall(PetscPopErrorHandler()); \
    PetscCall(Failed(what, ierr, before)); \
  } while (0)

/*
  The bound for the chance that a p x q matrix of normal numbers has a singular value up to s, where the bound is `chance`, against how often that happens:
  hardly less often if s is small
*/
static PetscErrorCode Chance(PetscInt p, PetscInt q, PetscReal chance)
{
  const PetscInt    n   = 20000;
  const PetscReal   one = SmallLogChance(p, q, 1), s = PetscExpReal((PetscLogReal(chance) - one) / (SmallLogChance(p, q, PetscExpReal(1)) - one));
  const PetscScalar factor = PetscDefined(USE_COMPLEX) ? PetscSqrtReal((PetscReal)0.5) : 1;
  PetscScalar       A[N * N], Z[N * N], V[N * N];
  PetscReal         w[N], share, error = 4 * PetscSqrtReal(chance / n);
  PetscInt          count = 0;
  char              text[64];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < p * q; j++) A[j] = factor * BlockRandomNormal(BlockRandomMix(i + n * (p + N * q)), j);
    PetscCall(SmallSVD(p, q, A, p, w, Z, p, V, p));
    count += w[p - 1] <= s;
  }
  share = (PetscReal)count / n;
  PetscCall(PetscSNPrintf(text, sizeof(text), "%" PetscInt_FMT " x %" PetscInt_FMT " normal numbers, chance %g", p, q, (double)chance));
  PetscCall(Expect(text, (PetscBool)(share <= chance + error && share >= chance * (1 - s * s) - error)));
  if (share > chance + error || share < chance * (1 - s * s) - error) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  singular values up to %g: %g\n", (double)s, (double)share));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscScalar A[N * N] = {0}, Z[N * N], V[N * N], tau[N], work[SMALL_EIGEN_WORK(N)];
  PetscReal   w[N], pivot;

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  threads = THREADS;
  for (PetscInt p = 1; p < 4; p++) {
    for (PetscInt q = p; q < 5; q++) {
      PetscCall(Chance(p, q, (PetscReal)0.2));
      PetscCall(Chance(p, q, (PetscReal)0.01));
    }
  }
  for (PetscInt i = 0; i < N; i++) A[i + i * N] = i + 1;
  PetscCall(SmallHermitianEigen(N, A, N, w, tau, Z, N, work));
  PetscCall(Expect("eigenvalues", (PetscBool)(PetscAbsReal(w[0] - N) < 1e-5 && PetscAbsReal(w[N - 1] - 1) < 1e-5 && threads == THREADS)));
  PetscCall(PetscArrayzero(A, N * N));
  for (PetscInt i = 0; i < N; i++) A[i + i * N] = i + 1;
  spoil = PETSC_TRUE;
  PetscCall(SmallSVD(N, N, A, N, w, Z, N, V, N));
  spoil = PETSC_FALSE;
  PetscCall(Expect("singular values and vectors where gesdd leaves a NaN", (PetscBool)(PetscAbsReal(w[0] - N) < 1e-5 && PetscAbsReal(w[N - 1] - 1) < 1e-5 && !HasNaN(N, N, Z, N) && !HasNaN(N, N, V, N) && threads == THREADS)));
  /* a leading dimension that is too small is an error in each routine of LAPACK */
  FAIL("eigenvalues, first step", SmallHermitianEigen(N, A, 1, w, tau, Z, N, work));
  FAIL("eigenvalues, second step", SmallHermitianEigen(N, A, N, w, tau, Z, 1, work));
  FAIL("reflectors", SmallApplyReflectors("L", N, N, A, N, tau, Z, 1));
  FAIL("singular values", SmallSVD(N, N, A, N, w, Z, 1, V, N));
  FAIL("Cholesky factor", SmallCholesky(N, A, 1, &pivot));
  FAIL("inverse", SmallInvertUpper(N, A, 1));
  PetscCall(SlepcFinalize());
  return failed ? 1 : 0;
}

/*TEST

  # LAPACK may print its own messages, and an error leaves the stack of functions behind if PETSc has debugging
  test:
    requires: !defined(PETSC_USE_DEBUG)
    filter: grep -E "^(ok|FAILED)"

TEST*/
