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

/* Divide and conquer. n, A (n x n, compact), w and the work space are there; it becomes eigenvectors, w eigenvalues. Nothing of PETSc. */
void SmallEigenRun(SmallEigen *e)
{
#if PetscDefined(USE_COMPLEX)
  LAPACKsyevd_("V", "U", &e->n, e->A, &e->n, e->w, e->work, &e->lwork, e->rwork, &e->lrwork, e->iwork, &e->liwork, &e->info);
#else
  LAPACKsyevd_("V", "U", &e->n, e->A, &e->n, e->w, e->work, &e->lwork, e->iwork, &e->liwork, &e->info);
#endif
}

/* A Hermitian problem and all that SmallEigenRun() needs, which another thread may call until SmallEigenDestroy() */
PetscErrorCode SmallEigenCreate(PetscInt n, const PetscScalar A[], PetscInt lda, SmallEigen *e)
{
  PetscInt lwork, liwork, lrwork;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(n, &e->n));
  e->info = 0;
  /* what LAPACK's manual asks for, and blocks of 64 for the reduction */
  lwork  = PetscDefined(USE_COMPLEX) ? 2 * n + n * n + 64 * n : 1 + 6 * n + 2 * n * n + 64 * n;
  liwork = 3 + 5 * n;
  lrwork = PetscDefined(USE_COMPLEX) ? 1 + 5 * n + 2 * n * n : 0;
  PetscCall(PetscBLASIntCast(lwork, &e->lwork));
  PetscCall(PetscBLASIntCast(liwork, &e->liwork));
  PetscCall(PetscBLASIntCast(lrwork, &e->lrwork));
  PetscCall(PetscMalloc5(n * n, &e->A, n, &e->w, lwork, &e->work, lrwork, &e->rwork, liwork, &e->iwork));
  for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(e->A + j * n, A + j * lda, n));
  /* LAPACK makes numbers that are none, and knows it */
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  e->threads = UseOneThread(n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The eigenvectors and values in decreasing order, if it converged: divide and conquer fails now and then */
PetscErrorCode SmallEigenGet(const SmallEigen *e, PetscScalar Y[], PetscInt ldy, PetscReal w[], PetscBool *solved)
{
  const PetscInt n = e->n;

  PetscFunctionBegin;
  PetscCheck(e->info >= 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK syevd: argument %" PetscBLASInt_FMT " is wrong", -e->info);
  *solved = (PetscBool)!e->info;
  PetscCall(PetscLogFlops(9.0 * n * n * n));
  for (PetscInt j = 0; j < n && *solved; j++) {
    w[j] = e->w[n - 1 - j];
    PetscCall(PetscArraycpy(Y + j * ldy, e->A + (n - 1 - j) * n, n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SmallEigenDestroy(SmallEigen *e)
{
  PetscFunctionBegin;
  SetThreads(e->threads);
  PetscCall(PetscFPTrapPop());
  PetscCall(PetscFree5(e->A, e->w, e->work, e->rwork, e->iwork));
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

/* A becomes its eigenvectors, w its eigenvalues in decreasing order */
PetscErrorCode SmallHermitianEigen(PetscInt n, PetscScalar A[], PetscInt lda, PetscReal w[])
{
  SmallEigen e;
  PetscBool  solved;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SmallEigenCreate(n, A, lda, &e));
  SmallEigenRun(&e);
  if (e.info > 0) {
    for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(e.A + j * n, A + j * lda, n));
    PetscCall(EigenByIteration(e.n, e.A, e.n, e.w));
    e.info = 0;
  }
  PetscCall(SmallEigenGet(&e, A, lda, w, &solved));
  PetscCall(SmallEigenDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A = Q R for m >= n: A becomes Q, R is upper triangular with zeros below */
PetscErrorCode SmallQR(PetscInt m, PetscInt n, PetscScalar A[], PetscInt lda, PetscScalar R[], PetscInt ldr)
{
  PetscBLASInt bm, bn, blda, lwork;
  PetscScalar *tau, *work;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(lda, &blda));
  PetscCall(PetscBLASIntCast(64 * n, &lwork));
  PetscCall(PetscMalloc2(n, &tau, 64 * n, &work));
  PetscCallLAPACKInfo("LAPACKgeqrf", LAPACKgeqrf_(&bm, &bn, A, &blda, tau, work, &lwork, &info));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < n; i++) R[i + j * ldr] = i <= j ? A[i + j * lda] : 0.0;
  }
  PetscCallLAPACKInfo("LAPACKorgqr", LAPACKorgqr_(&bm, &bn, &bn, A, &blda, tau, work, &lwork, &info));
  PetscCall(PetscFree2(tau, work));
  PetscCall(PetscLogFlops(4.0 * m * n * n));
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
