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

int main(int argc, char **argv)
{
  PetscScalar A[N * N] = {0}, Z[N * N], V[N * N], tau[N], work[SMALL_EIGEN_WORK(N)];
  PetscReal   w[N], pivot;

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  threads = THREADS;
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
