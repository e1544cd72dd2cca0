/* LAPACK and BLAS for matrices of the size of the projected problem, on the host, the same on every process */
#include <slepcblaslapack.h>
#include "smalldense.h"
#include "sys/openblas.h"
#include "sys/petscolder.h"

/*
  Up to this order, several threads would wait for each other longer than they work. PetscBLASGetNumThreads() returns the number that PETSc
  has set, not the one that OpenBLAS uses; so OpenBLAS's own function is called, if OpenBLAS is the BLAS.
*/
#define ONE_THREAD_ORDER 192

/* Sets one thread if a problem of order n is small. Returns the number for SetThreads() to restore, or 0 if nothing was changed. */
static int UseOneThread(PetscInt n)
{
  int threads;

  if (n > ONE_THREAD_ORDER || !openblas_get_num_threads || !openblas_set_num_threads) return 0;
  threads = openblas_get_num_threads();
  if (threads <= 1) return 0;
  openblas_set_num_threads(1);
  return threads;
}

/* OpenBLAS has one thread; of another library nobody knows */
PetscBool SmallOneThread(void)
{
  return (PetscBool)(openblas_get_num_threads && openblas_get_num_threads() == 1);
}

static void SetThreads(int threads)
{
  if (threads) openblas_set_num_threads(threads);
}

/* Raises an error of LAPACK. Callers first restore the number of threads and free their work space. */
static PetscErrorCode CheckInfo(const char routine[], PetscBLASInt info)
{
  PetscFunctionBegin;
  PetscCheck(info >= 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK %s: argument %" PetscBLASInt_FMT " is wrong", routine, -info);
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK %s failed with info = %" PetscBLASInt_FMT, routine, info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* op(A) op(B): C = alpha op(A) op(B) + beta C, C is m x n, the inner dimension is k */
PetscErrorCode SmallMultiply(const char opa[], const char opb[], PetscInt m, PetscInt n, PetscInt k, PetscScalar alpha, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscInt ldb, PetscScalar beta, PetscScalar C[], PetscInt ldc)
{
  PetscBLASInt bm, bn, bk, blda, bldb, bldc;
  int          threads;

  PetscFunctionBegin;
  if (!m || !n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(k, &bk));
  PetscCall(PetscBLASIntCast(lda, &blda));
  PetscCall(PetscBLASIntCast(ldb, &bldb));
  PetscCall(PetscBLASIntCast(ldc, &bldc));
  threads = UseOneThread(PetscMax(PetscMax(m, n), k));
  PetscCallBLAS("BLASgemm", BLASgemm_(opa, opb, &bm, &bn, &bk, &alpha, A, &blda, B, &bldb, &beta, C, &bldc));
  SetThreads(threads);
  PetscCall(PetscLogFlops(2.0 * m * n * k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = A^H A for the n columns of A, which have k entries; both halves of C are set */
PetscErrorCode SmallGram(PetscInt n, PetscInt k, const PetscScalar A[], PetscInt lda, PetscScalar C[])
{
#if defined(PETSC_USE_COMPLEX)
  PetscFunctionBegin;
  PetscCall(SmallMultiply("C", "N", n, n, k, 1.0, A, lda, A, lda, 0.0, C, n)); /* PETSc declares no herk */
#else
  const PetscScalar one = 1.0, zero = 0.0;
  PetscBLASInt      bn, bk, blda;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(k, &bk));
  PetscCall(PetscBLASIntCast(lda, &blda));
  PetscCallBLAS("BLASsyrk", BLASsyrk_("U", "T", &bn, &bk, &one, A, &blda, &zero, C, &bn));
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt i = 0; i < j; i++) C[j + i * n] = C[i + j * n];
  PetscCall(PetscLogFlops(1.0 * n * (n + 1) * k));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Work space of LAPACK for the triangular factor of a block reflector */
#define REFLECTOR_FACTOR (65 * 64)

/*
   SmallHermitianEigen - Eigenvalues of A, and its eigenvectors in factored form

   Output Parameters:
+  A    - with tau, a unitary matrix Q as LAPACK's sytrd leaves it: the eigenvectors are Q Z, see SmallApplyReflectors()
.  w    - the eigenvalues in decreasing order
.  tau  - n numbers
.  Z    - n x n, the eigenvectors of the tridiagonal Q^H A Q
-  work - SMALL_EIGEN_WORK(n) numbers

   Note:
   Only the lower triangle of A is read.
*/
PetscErrorCode SmallHermitianEigen(PetscInt n, PetscScalar A[], PetscInt lda, PetscReal w[], PetscScalar tau[], PetscScalar Z[], PetscInt ldz, PetscScalar work[])
{
  PetscReal   *e    = (PetscReal *)(work + SMALL_EIGEN_BLOCK * n);
  PetscScalar *rest = work + (SMALL_EIGEN_BLOCK + 1) * n;
  PetscBLASInt bn, blda, bldz, lwork, lrest, liwork, info, *iwork;
  const char  *routine = "sytrd";
#if PetscDefined(USE_COMPLEX)
  PetscBLASInt one = 1;
  PetscScalar  unused;
#endif
  int threads;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(lda, &blda));
  PetscCall(PetscBLASIntCast(ldz, &bldz));
  PetscCall(PetscBLASIntCast(SMALL_EIGEN_BLOCK * (PetscCount)n, &lwork));
  PetscCall(PetscBLASIntCast(5 * (PetscCount)n + 3, &liwork));
  PetscCall(PetscBLASIntCast((PetscDefined(USE_COMPLEX) ? 2 : 1) * (PetscCount)n * n + 4 * (PetscCount)n + 1, &lrest));
  PetscCall(PetscMalloc1(liwork, &iwork));
  threads = UseOneThread(n);
  PetscCallBLAS("LAPACKsytrd", LAPACKsytrd_("L", &bn, A, &blda, w, e, tau, work, &lwork, &info));
  if (!info) {
    routine = "stedc";
    /* LAPACK sorts ascending; the eigenvalues of the negative matrix then are in the order wanted */
    for (PetscInt i = 0; i < n; i++) w[i] = -w[i];
    for (PetscInt i = 0; i < n - 1; i++) e[i] = -e[i];
#if PetscDefined(USE_COMPLEX)
    PetscCallBLAS("LAPACKstedc", LAPACKstedc_("I", &bn, w, e, Z, &bldz, &unused, &one, (PetscReal *)rest, &lrest, iwork, &liwork, &info));
#else
    PetscCallBLAS("LAPACKstedc", LAPACKstedc_("I", &bn, w, e, Z, &bldz, rest, &lrest, iwork, &liwork, &info));
#endif
    for (PetscInt i = 0; i < n; i++) w[i] = -w[i];
  }
  SetThreads(threads);
  PetscCall(PetscFree(iwork));
  PetscCall(CheckInfo(routine, info));
  PetscCall(PetscLogFlops(4.0 * n * n * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = Q C (side L, C is n x m) or C = C Q (side R, C is m x n) with what SmallHermitianEigen() left in A and tau */
PetscErrorCode SmallApplyReflectors(const char side[], PetscInt n, PetscInt m, const PetscScalar A[], PetscInt lda, const PetscScalar tau[], PetscScalar C[], PetscInt ldc)
{
  const PetscBool left = (PetscBool)(side[0] == 'L');
  PetscBLASInt    rows, cols, nq, blda, bldc, lwork, info;
  PetscScalar    *work;
  int             threads;

  PetscFunctionBegin;
  /* the first row of Q is that of the identity */
  if (n < 2 || !m) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(n - 1, &nq));
  PetscCall(PetscBLASIntCast(left ? n - 1 : m, &rows));
  PetscCall(PetscBLASIntCast(left ? m : n - 1, &cols));
  PetscCall(PetscBLASIntCast(lda, &blda));
  PetscCall(PetscBLASIntCast(ldc, &bldc));
  /* for few rows reflectors are applied one by one: LAPACK does so with the smallest work space */
  PetscCall(PetscBLASIntCast(left || m > SMALL_EIGEN_BLOCK ? SMALL_EIGEN_BLOCK * (PetscCount)m + REFLECTOR_FACTOR : m, &lwork));
  PetscCall(PetscMalloc1(lwork, &work));
  threads = UseOneThread(PetscMax(n, m));
  PetscCallBLAS("LAPACKormqr", LAPACKormqr_(side, "N", &rows, &cols, &nq, A + 1, &blda, tau, C + (left ? 1 : ldc), &bldc, work, &lwork, &info));
  SetThreads(threads);
  PetscCall(PetscFree(work));
  PetscCall(CheckInfo("ormqr", info));
  PetscCall(PetscLogFlops(2.0 * n * n * m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool HasNaN(PetscInt m, PetscInt n, const PetscScalar A[], PetscInt lda)
{
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < m; i++) {
      if (PetscIsInfOrNanScalar(A[i + (size_t)j * lda])) return PETSC_TRUE;
    }
  }
  return PETSC_FALSE;
}

/*
  A = U diag(s) VH with min(m, n) columns in U and rows in VH; A is destroyed. By divide and conquer (gesdd); if that fails, by gesvd. LAPACK's
  bdsdc may have NaN as an intermediate result where values are equal, which it need not report.
*/
PetscErrorCode SmallSVD(PetscInt m, PetscInt n, PetscScalar A[], PetscInt lda, PetscReal s[], PetscScalar U[], PetscInt ldu, PetscScalar VH[], PetscInt ldvh)
{
  const PetscCount mn = PetscMin(m, n), mx = PetscMax(m, n);
  const char      *routine = "gesdd";
  PetscBLASInt     bm, bn, blda, bldu, bldv, lwork, info, *iwork;
  PetscScalar      query = 0.0, *work, *copy; /* not set by a query that fails */
  int              threads;
#if PetscDefined(USE_COMPLEX)
  PetscReal *rwork;
  #define RWORK , rwork
#else
  #define RWORK
#endif

  PetscFunctionBegin;
  if (!mn) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(lda, &blda));
  PetscCall(PetscBLASIntCast(ldu, &bldu));
  PetscCall(PetscBLASIntCast(ldvh, &bldv));
  /* gesdd counts entries of its work space by integers of BLAS, and does not notice if they overflow: this is the number it needs */
  PetscCall(PetscBLASIntCast((PetscDefined(USE_COMPLEX) ? 5 : 4) * mn * mn + 7 * mn, &lwork));
  PetscCall(PetscMalloc2(8 * mn, &iwork, mx * mn, &copy));
  for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(copy + (size_t)j * m, A + (size_t)j * lda, m));
#if PetscDefined(USE_COMPLEX)
  PetscCall(PetscMalloc1(PetscMax(5 * mn * mn + 5 * mn, 2 * mx * mn + 2 * mn * mn + mn), &rwork));
#endif
  lwork = -1;
  PetscCallBLAS("LAPACKgesdd", LAPACKgesdd_("S", &bm, &bn, A, &blda, s, U, &bldu, VH, &bldv, &query, &lwork RWORK, iwork, &info));
  /* at least as much as gesvd needs */
  PetscCall(PetscBLASIntCast(PetscMax((PetscCount)PetscRealPart(query), 64 * (mn + mx)), &lwork));
  PetscCall(PetscMalloc1(lwork, &work));
  threads = UseOneThread(PetscMax(m, n));
  PetscCallBLAS("LAPACKgesdd", LAPACKgesdd_("S", &bm, &bn, A, &blda, s, U, &bldu, VH, &bldv, work, &lwork RWORK, iwork, &info));
  if (!info) {
    for (PetscInt i = 0; i < mn && !info; i++) info = PetscIsInfOrNanReal(s[i]) ? 1 : 0;
    if (!info && (HasNaN(m, (PetscInt)mn, U, ldu) || HasNaN((PetscInt)mn, n, VH, ldvh))) info = 1;
  }
  if (info > 0) {
    routine = "gesvd";
    for (PetscInt j = 0; j < n; j++) {
      for (PetscInt i = 0; i < m; i++) A[i + (size_t)j * lda] = copy[i + (size_t)j * m];
    }
    PetscCallBLAS("LAPACKgesvd", LAPACKgesvd_("S", "S", &bm, &bn, A, &blda, s, U, &bldu, VH, &bldv, work, &lwork RWORK, &info));
  }
  SetThreads(threads);
#if PetscDefined(USE_COMPLEX)
  PetscCall(PetscFree(rwork));
#endif
  PetscCall(PetscFree(work));
  PetscCall(PetscFree2(iwork, copy));
  PetscCall(CheckInfo(routine, info));
  PetscCall(PetscLogFlops(20.0 * m * n * mn));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Overwrites A by its upper Cholesky factor, with zeros below. pivot is the smallest entry of its diagonal; it is zero if A is not
  positive definite, and A is then destroyed.
*/
PetscErrorCode SmallCholesky(PetscInt n, PetscScalar A[], PetscInt lda, PetscReal *pivot)
{
  PetscBLASInt bn, blda, info;
  int          threads;

  PetscFunctionBegin;
  *pivot = 0.0;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(lda, &blda));
  threads = UseOneThread(n);
  PetscCallBLAS("LAPACKpotrf", LAPACKpotrf_("U", &bn, A, &blda, &info));
  SetThreads(threads);
  PetscCall(CheckInfo("potrf", PetscMin(info, 0)));
  PetscCall(PetscLogFlops((1.0 * n * n * n) / 3.0));
  if (info) PetscFunctionReturn(PETSC_SUCCESS);
  *pivot = PETSC_MAX_REAL;
  for (PetscInt j = 0; j < n; j++) {
    *pivot = PetscMin(*pivot, PetscRealPart(A[j + j * lda]));
    for (PetscInt i = j + 1; i < n; i++) A[i + j * lda] = 0.0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SmallInvertUpper(PetscInt n, PetscScalar A[], PetscInt lda)
{
  PetscBLASInt bn, blda, info;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(lda, &blda));
  PetscCallBLAS("LAPACKtrtri", LAPACKtrtri_("U", "N", &bn, A, &blda, &info));
  PetscCall(CheckInfo("trtri", info));
  PetscCall(PetscLogFlops((1.0 * n * n * n) / 3.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B = A^-1 B for an upper triangular A of order n, B is n x m */
PetscErrorCode SmallSolveUpper(PetscInt n, PetscInt m, const PetscScalar A[], PetscInt lda, PetscScalar B[], PetscInt ldb)
{
  const PetscScalar one = 1.0;
  PetscBLASInt      bn, bm, blda, bldb;
  int               threads;

  PetscFunctionBegin;
  if (!n || !m) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(lda, &blda));
  PetscCall(PetscBLASIntCast(ldb, &bldb));
  threads = UseOneThread(PetscMax(n, m));
  PetscCallBLAS("BLAStrsm", BLAStrsm_("L", "U", "N", "N", &bn, &bm, &one, A, &blda, B, &bldb));
  SetThreads(threads);
  PetscCall(PetscLogFlops(1.0 * n * n * m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The logarithm of a bound for the probability that a p x q matrix of independent normal numbers, p <= q, has a singular value <= s */
PetscReal SmallLogChance(PetscInt p, PetscInt q, PetscReal s)
{
  const double e = (double)(q - p + 1);
  double       c;

  if (PetscDefined(USE_COMPLEX)) c = lgamma(q + 1.0) - lgamma(p) - lgamma(e) - lgamma(e + 1) - log(e) + 2 * e * log((double)s);
  else c = (q - p - 1) / 2.0 * log(2.0) + lgamma((q + 1) / 2.0) - lgamma(p / 2.0) - lgamma(e) + log(2 / e) + e * log((double)s);
  return (PetscReal)c;
}
