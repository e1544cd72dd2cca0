/* LAPACK and BLAS for matrices of the projected problem's size, on the host, the same on every process */
#include "blocklanczos.h"

/*
  Several threads wait for each other longer than they work on problems of up to this order. PETSc's PetscBLASGetNumThreads() knows what
  PETSc set, not what OpenBLAS uses, so that OpenBLAS is asked itself if that is the BLAS.
*/
#define ONE_THREAD_ORDER 192

PETSC_EXTERN int  openblas_get_num_threads(void) __attribute__((weak));
PETSC_EXTERN void openblas_set_num_threads(int) __attribute__((weak));

/* One thread for a problem of order n. Returns what SetThreads() shall put back: 0, nothing. */
static int UseOneThread(PetscInt n)
{
  int threads;

  if (n > ONE_THREAD_ORDER || !openblas_get_num_threads || !openblas_set_num_threads) return 0;
  threads = openblas_get_num_threads();
  if (threads <= 1) return 0;
  openblas_set_num_threads(1);
  return threads;
}

static void SetThreads(int threads)
{
  if (threads) openblas_set_num_threads(threads);
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

/* Divide and conquer; info > 0: it did not converge */
static PetscErrorCode EigenByDivision(PetscBLASInt n, PetscScalar A[], PetscBLASInt lda, PetscReal w[], PetscBLASInt *inform)
{
  PetscBLASInt lwork = -1, liwork = -1, iquery, *iwork, info;
  PetscScalar  query, *work;
#if PetscDefined(USE_COMPLEX)
  PetscBLASInt lrwork = -1;
  PetscReal    rquery, *rwork;
#endif

  PetscFunctionBegin;
#if PetscDefined(USE_COMPLEX)
  PetscCallBLAS("LAPACKsyevd", LAPACKsyevd_("V", "U", &n, A, &lda, w, &query, &lwork, &rquery, &lrwork, &iquery, &liwork, &info));
  lwork  = (PetscBLASInt)PetscRealPart(query);
  lrwork = (PetscBLASInt)rquery;
  liwork = iquery;
  PetscCall(PetscMalloc3(lwork, &work, lrwork, &rwork, liwork, &iwork));
  PetscCallBLAS("LAPACKsyevd", LAPACKsyevd_("V", "U", &n, A, &lda, w, work, &lwork, rwork, &lrwork, iwork, &liwork, &info));
  PetscCall(PetscFree3(work, rwork, iwork));
#else
  PetscCallBLAS("LAPACKsyevd", LAPACKsyevd_("V", "U", &n, A, &lda, w, &query, &lwork, &iquery, &liwork, &info));
  lwork  = (PetscBLASInt)query;
  liwork = iquery;
  PetscCall(PetscMalloc2(lwork, &work, liwork, &iwork));
  PetscCallBLAS("LAPACKsyevd", LAPACKsyevd_("V", "U", &n, A, &lda, w, work, &lwork, iwork, &liwork, &info));
  PetscCall(PetscFree2(work, iwork));
#endif
  *inform = info;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* QR iteration */
static PetscErrorCode EigenByIteration(PetscBLASInt n, PetscScalar A[], PetscBLASInt lda, PetscReal w[])
{
  PetscBLASInt lwork = 64 * n;
  PetscScalar *work;
#if PetscDefined(USE_COMPLEX)
  PetscReal *rwork;
#endif

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(lwork, &work));
#if PetscDefined(USE_COMPLEX)
  PetscCall(PetscMalloc1(3 * n, &rwork));
  PetscCallLAPACKInfo("LAPACKsyev", LAPACKsyev_("V", "U", &n, A, &lda, w, work, &lwork, rwork, &info));
  PetscCall(PetscFree(rwork));
#else
  PetscCallLAPACKInfo("LAPACKsyev", LAPACKsyev_("V", "U", &n, A, &lda, w, work, &lwork, &info));
#endif
  PetscCall(PetscFree(work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A becomes its eigenvectors, w its eigenvalues in decreasing order. Divide and conquer is fast, and fails now and then. */
PetscErrorCode SmallHermitianEigen(PetscInt n, PetscScalar A[], PetscInt lda, PetscReal w[])
{
  PetscBLASInt bn, blda, info = 0;
  PetscScalar *copy;
  int          threads;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(lda, &blda));
  PetscCall(PetscMalloc1(n * n, &copy));
  for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(copy + j * n, A + j * lda, n));
  threads = UseOneThread(n);
  PetscCall(EigenByDivision(bn, A, blda, w, &info));
  PetscCheck(info >= 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK syevd: argument %" PetscBLASInt_FMT " is wrong", -info);
  if (info > 0) {
    for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(A + j * lda, copy + j * n, n));
    PetscCall(EigenByIteration(bn, A, blda, w));
  }
  SetThreads(threads);
  PetscCall(PetscFree(copy));
  PetscCall(PetscLogFlops(9.0 * n * n * n));
  for (PetscInt j = 0; j < n / 2; j++) {
    PetscReal t = w[j];

    w[j]         = w[n - 1 - j];
    w[n - 1 - j] = t;
    for (PetscInt i = 0; i < n; i++) {
      PetscScalar s = A[i + j * lda];

      A[i + j * lda]           = A[i + (n - 1 - j) * lda];
      A[i + (n - 1 - j) * lda] = s;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A = U diag(s) VH with min(m, n) columns in U and rows in VH; A is destroyed. As above for divide and conquer. */
PetscErrorCode SmallSVD(PetscInt m, PetscInt n, PetscScalar A[], PetscInt lda, PetscReal s[], PetscScalar U[], PetscInt ldu, PetscScalar VH[], PetscInt ldvh)
{
  const PetscInt mn = PetscMin(m, n);
  PetscBLASInt   bm, bn, blda, bldu, bldv, lwork = -1, info, *iwork;
  PetscScalar    query, *work, *copy;
  int            threads;
#if PetscDefined(USE_COMPLEX)
  const PetscInt mx = PetscMax(m, n);
  PetscReal     *rwork;
#endif

  PetscFunctionBegin;
  if (!mn) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(lda, &blda));
  PetscCall(PetscBLASIntCast(ldu, &bldu));
  PetscCall(PetscBLASIntCast(ldvh, &bldv));
  PetscCall(PetscMalloc2(8 * mn, &iwork, m * n, &copy));
  for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(copy + j * m, A + j * lda, m));
#if PetscDefined(USE_COMPLEX)
  PetscCall(PetscMalloc1(PetscMax(5 * mn * mn + 5 * mn, 2 * mx * mn + 2 * mn * mn + mn), &rwork));
  PetscCallBLAS("LAPACKgesdd", LAPACKgesdd_("S", &bm, &bn, A, &blda, s, U, &bldu, VH, &bldv, &query, &lwork, rwork, iwork, &info));
#else
  PetscCallBLAS("LAPACKgesdd", LAPACKgesdd_("S", &bm, &bn, A, &blda, s, U, &bldu, VH, &bldv, &query, &lwork, iwork, &info));
#endif
  /* no less than gesvd needs */
  PetscCall(PetscBLASIntCast(PetscMax((PetscInt)PetscRealPart(query), 64 * (m + n)), &lwork));
  PetscCall(PetscMalloc1(lwork, &work));
  threads = UseOneThread(PetscMax(m, n));
#if PetscDefined(USE_COMPLEX)
  PetscCallBLAS("LAPACKgesdd", LAPACKgesdd_("S", &bm, &bn, A, &blda, s, U, &bldu, VH, &bldv, work, &lwork, rwork, iwork, &info));
#else
  PetscCallBLAS("LAPACKgesdd", LAPACKgesdd_("S", &bm, &bn, A, &blda, s, U, &bldu, VH, &bldv, work, &lwork, iwork, &info));
#endif
  PetscCheck(info >= 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK gesdd: argument %" PetscBLASInt_FMT " is wrong", -info);
  if (info > 0) {
    for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(A + j * lda, copy + j * m, m));
#if PetscDefined(USE_COMPLEX)
    PetscCallLAPACKInfo("LAPACKgesvd", LAPACKgesvd_("S", "S", &bm, &bn, A, &blda, s, U, &bldu, VH, &bldv, work, &lwork, rwork, &info));
#else
    PetscCallLAPACKInfo("LAPACKgesvd", LAPACKgesvd_("S", "S", &bm, &bn, A, &blda, s, U, &bldu, VH, &bldv, work, &lwork, &info));
#endif
  }
  SetThreads(threads);
#if PetscDefined(USE_COMPLEX)
  PetscCall(PetscFree(rwork));
#endif
  PetscCall(PetscFree(work));
  PetscCall(PetscFree2(iwork, copy));
  PetscCall(PetscLogFlops(20.0 * m * n * mn));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The upper Cholesky factor of A, with zeros below, in the place of A. pivot is the smallest entry of its diagonal, and zero if
  A is not positive definite; then A is destroyed.
*/
PetscErrorCode SmallCholesky(PetscInt n, PetscScalar A[], PetscInt lda, PetscReal *pivot)
{
  PetscBLASInt bn, blda, info;

  PetscFunctionBegin;
  *pivot = 0.0;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(lda, &blda));
  PetscCallBLAS("LAPACKpotrf", LAPACKpotrf_("U", &bn, A, &blda, &info));
  PetscCheck(info >= 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK potrf: argument %" PetscBLASInt_FMT " is wrong", -info);
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
  PetscBLASInt bn, blda;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(lda, &blda));
  PetscCallLAPACKInfo("LAPACKtrtri", LAPACKtrtri_("U", "N", &bn, A, &blda, &info));
  PetscCall(PetscLogFlops((1.0 * n * n * n) / 3.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
