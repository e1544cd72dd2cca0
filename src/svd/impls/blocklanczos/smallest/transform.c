/*
  The operator B whose largest singular values belong to the smallest of A, with the same right vectors.

    inverse   B = (R P^H)^-H, where R^H R = P^H (A^H A + shift^2) P: its singular values are 1 / sqrt(sigma^2 + shift^2). R is made by Householder
              reflections (sparseqr.c). Every process has all of R. If that takes too many operations R is a Cholesky factor, which needs a larger shift. Where its
              rounding is too large, and with a KSP of the user's, B is not square, but has the same values and right vectors (ksp.c).

  A is multiplied by krylov.scale, a power of two that makes its Frobenius norm about one. shift is a little above the values that are lost in the
  products with R^-1, whose rounding is eps / sigma of their norm. It is lowered, by reflections, if values below it have to be separated (smallest.c).

    filter    B = T(A^H A), a polynomial (filter.c).

  What has been accepted can be removed: (I - U U^H) B (I - V V^H), where V are right vectors of A and U is an orthonormal basis of the range of B V. If C
  is a basis of the complement of V, the squares of the values of this operator are the eigenvalues of the inverse of C^H (A^H A + shift^2) C: a
  Schur complement of an inverse is the inverse of a block.
*/
#include <petscblaslapack.h>
#include "transform.h"
#include "sys/testvalue.h"

/* The largest factor R in bytes, and the largest number of operations to make it */
#define MOST_BYTES ((double)4e9)
#define MOST_FLOPS ((double)2e12)
/* Householder reflections that take more operations are replaced by a Cholesky factorisation, and those of a hundredth of it where that takes a fiftieth */
#define MOST_QR_FLOPS ((double)1e10)
/* Operations for each nonzero from which a factor is made only if the first filter does not do: a few steps with that take less than a tenth of the time */
#define FILTER_FIRST_FLOPS ((PetscReal)3e5)
/* Matrices up to this short side and this number of entries, zeros included, are left to LAPACK, at once or if the inverse leaves something open */
#define DIRECT_AT_ONCE 128
#define DIRECT_N       1200
#define DIRECT_ENTRIES ((double)4e7)
#define DIRECT_FEW     ((double)1e6)
/* Products with A^H A that improve a bound of the norm */
#define BOUND_TURNS 8
/* The smallest shift relative to the norm; the first one is sqrt(eps) */
#define LEAST_SHIFT (10 * PETSC_MACHINE_EPSILON)

/* ------------------------------------------------------------------------------------------------ the rows of A */
/* The tall orientation of A as an AIJ matrix, or all of its rows on each process; NULL if A does not give its rows and is not small */
static PetscErrorCode GetRows(SVD svd, PetscBool everywhere, Mat *T)
{
  Mat         A = svd->OP, B = NULL;
  PetscInt    M, N;
  PetscBool   rows;
  PetscMPIInt size;

  PetscFunctionBegin;
  *T = NULL;
  PetscCall(MatGetSize(A, &M, &N));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)svd), &size));
  PetscCall(MatHasOperation(A, MATOP_GET_ROW, &rows));
  if (!rows) PetscCall(PetscObjectHasFunction((PetscObject)A, "MatFormGetMemory_C", &rows)); /* a matrix of this library that has given up its CSR */
  if (rows) PetscCall(MatConvert(A, size > 1 ? MATMPIAIJ : MATSEQAIJ, MAT_INITIAL_MATRIX, &B));
  else if ((double)M * N <= 1e6) {
    Mat D;

    PetscCall(MatComputeOperator(A, MATDENSE, &D));
    PetscCall(MatConvert(D, size > 1 ? MATMPIAIJ : MATSEQAIJ, MAT_INITIAL_MATRIX, &B));
    PetscCall(MatDestroy(&D));
  } else PetscFunctionReturn(PETSC_SUCCESS);
  if (size > 1 && everywhere) {
    IS   isrow, iscol;
    Mat *all;

    PetscCall(ISCreateStride(PETSC_COMM_SELF, M, 0, 1, &isrow));
    PetscCall(ISCreateStride(PETSC_COMM_SELF, N, 0, 1, &iscol));
    PetscCall(MatCreateSubMatrices(B, 1, &isrow, &iscol, MAT_INITIAL_MATRIX, &all));
    PetscCall(PetscObjectReference((PetscObject)all[0]));
    PetscCall(MatDestroy(&B));
    B = all[0];
    PetscCall(MatDestroySubMatrices(1, &all));
    PetscCall(ISDestroy(&isrow));
    PetscCall(ISDestroy(&iscol));
  }
  if (M < N) {
    PetscCall(MatHermitianTranspose(B, MAT_INITIAL_MATRIX, T));
    PetscCall(MatDestroy(&B));
  } else *T = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Frobenius norm of an AIJ matrix, whose squares may overflow or vanish */
static PetscErrorCode Norm(Mat T, PetscReal *norm)
{
  PetscReal most = 0.0, sum = 0.0;
  Mat       part[2] = {T, NULL};
  PetscBool parallel;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)T, MATMPIAIJ, &parallel));
  if (parallel) PetscCall(MatMPIAIJGetSeqAIJ(T, &part[0], &part[1], NULL));
  for (int turn = 0; turn < 2; turn++) {
    for (int p = 0; p < 2 && part[p]; p++) {
      PetscScalar        finite = 0.0; /* remains zero if all entries are finite */
      const PetscScalar *a;
      MatInfo            info;

      PetscCall(MatGetInfo(part[p], MAT_LOCAL, &info));
      PetscCall(MatSeqAIJGetArrayRead(part[p], &a));
      for (PetscCount k = 0; k < (PetscCount)info.nz_used; k++) {
        if (turn) sum += PetscSqr(PetscAbsScalar(a[k]) / most);
        else {
          most = PetscMax(most, PetscAbsScalar(a[k]));
          finite += 0 * a[k];
        }
      }
      PetscCall(MatSeqAIJRestoreArrayRead(part[p], &a));
      if (finite != (PetscScalar)0.0) most = (PetscReal)INFINITY; /* it is NaN */
    }
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, turn ? &sum : &most, 1, MPIU_REAL, turn ? MPIU_SUM : MPIU_MAX, PetscObjectComm((PetscObject)T)));
    if (most == 0.0) break;
  }
  *norm = most > 0.0 ? most * PetscSqrtReal(sum) : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A bound of the norm of a SEQAIJ matrix, which is about one with the scale: that of the matrix of absolute values C: for any positive x, norm(C)^2 <= max (C^T C x)_i / x_i (Collatz and Wielandt).
  The power method makes this nearly an equation, and entries are often of one sign.
*/
static PetscErrorCode NormBound(Mat T, PetscReal scale, PetscReal *bound)
{
  PetscInt           m, n, nrows;
  const PetscInt    *ai, *aj;
  const PetscScalar *aa;
  PetscReal         *x, *z, most;
  PetscBool          done;

  PetscFunctionBegin;
  PetscCall(MatGetSize(T, &m, &n));
  PetscCall(PetscMalloc2(n, &x, n, &z));
  PetscCall(MatGetRowIJ(T, 0, PETSC_FALSE, PETSC_FALSE, &nrows, &ai, &aj, &done));
  PetscCall(MatSeqAIJGetArrayRead(T, &aa));
  for (PetscInt j = 0; j < n; j++) x[j] = 1.0;
  for (PetscInt turn = 0; turn < BOUND_TURNS; turn++) {
    PetscReal ratio = 0.0;

    PetscCall(PetscArrayzero(z, n));
    for (PetscInt r = 0; r < m; r++) {
      PetscReal y = 0.0;

      for (PetscInt k = ai[r]; k < ai[r + 1]; k++) y += scale * PetscAbsScalar(aa[k]) * x[aj[k]];
      for (PetscInt k = ai[r]; k < ai[r + 1]; k++) z[aj[k]] += scale * PetscAbsScalar(aa[k]) * y;
    }
    most = 0.0;
    for (PetscInt j = 0; j < n; j++) {
      ratio = PetscMax(ratio, z[j] / x[j]);
      most  = PetscMax(most, z[j]);
    }
    for (PetscInt j = 0; j < n && most > 0.0; j++) x[j] = PetscMax(z[j] / most, PETSC_SMALL);
    *bound = PetscSqrtReal(ratio) / scale * (1 + PETSC_SQRT_MACHINE_EPSILON);
  }
  PetscCall(MatSeqAIJRestoreArrayRead(T, &aa));
  PetscCall(MatRestoreRowIJ(T, 0, PETSC_FALSE, PETSC_FALSE, &nrows, &ai, &aj, &done));
  PetscCall(PetscFree2(x, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* R as a Cholesky factor: its shift, relative to the norms of the columns, is the least for which it exists in spite of rounding, usually */
static PetscErrorCode FactorNormal(SVD svd, PetscInt n, const PetscInt ai[], const PetscInt aj[], const PetscScalar aa[], PetscInt nz, PetscBool *failed)
{
  BlockLanczosSmallest *s = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;
  PetscReal            *squares, most = 0.0;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(n, &squares));
  for (PetscInt k = 0; k < nz; k++) squares[aj[k]] += PetscSqr(s->scale * PetscAbsScalar(aa[k]));
  for (PetscInt j = 0; j < n; j++) most = PetscMax(most, squares[j]);
  PetscCall(PetscFree(squares));
  s->shift = 16 * PETSC_SQRT_MACHINE_EPSILON * PetscSqrtReal(most);
  *failed  = PETSC_TRUE;
  for (int turn = 0; *failed && turn < 3; turn++) {
    if (turn) s->shift *= 4;
    PetscCall(SparseQRFactorNormal(s->qr, ai, aj, aa, s->scale, s->shift, failed));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* R for the present shift; analyses the structure if that has not been done. qr stays NULL if it is not affordable, or unless `now` if it takes so long that a filter is tried first. */
static PetscErrorCode Factor(SVD svd, PetscBool now)
{
  SVD_BLOCKLANCZOS     *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s   = &ctx->smallest;
  PetscInt              m, n, nrows;
  const PetscInt       *ai, *aj;
  const PetscScalar    *aa;
  PetscBool             done, given, failed = PETSC_FALSE;
  char                  value[32];
  PetscLogDouble        start, end;
  PetscReal             qrflops = MOST_QR_FLOPS, filterflops = FILTER_FIRST_FLOPS;
  double                flops, normalflops;

  PetscFunctionBegin;
  if (ctx->ksp) {
    PetscCall(SVDBlockLanczosSetUpKSP(svd));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscTime(&start));
  PetscCall(MatGetSize(s->T, &m, &n));
  PetscCall(MatGetRowIJ(s->T, 0, PETSC_FALSE, PETSC_FALSE, &nrows, &ai, &aj, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The rows of a SEQAIJ matrix are not available");
  if (!s->qr) {
    PetscCall(PetscCSRCTestValue("filter_flops", value, sizeof(value), &given));
    if (given) PetscCall(PetscOptionsStringToReal(value, &filterflops));
    s->later = (PetscBool)(!now && s->form == SVD_BLOCKLANCZOS_FORM_AUTO && (given || !s->small) && svd->stop != SVD_STOP_THRESHOLD);
    PetscCall(SparseQRAnalyse(m, n, ai, aj, MOST_BYTES, MOST_FLOPS, s->later ? (double)filterflops * ai[m] : PETSC_MAX_REAL, &s->qr));
    if (s->qr) {
      s->later = PETSC_FALSE;
      PetscCall(PetscCSRCTestValue("qr_flops", value, sizeof(value), &given));
      if (given) PetscCall(PetscOptionsStringToReal(value, &qrflops));
      PetscCall(SparseQRGetInfo(s->qr, &s->entries, &flops, &normalflops));
      s->normal  = (PetscBool)(flops > (50 * normalflops < flops ? qrflops / 100 : qrflops) && normalflops < flops);
      s->sharper = (PetscBool)(flops <= MOST_FLOPS && qrflops >= 0);
      PetscCall(PetscTime(&end));
      PetscCall(PetscInfo(svd, "a triangular factor of %g entries takes %g operations, or %g by a Cholesky factorisation; its analysis took %g s\n", s->entries, flops, normalflops, end - start));
    }
  }
  if (s->qr) {
    PetscCall(MatSeqAIJGetArrayRead(s->T, &aa));
    if (s->normal) PetscCall(FactorNormal(svd, n, ai, aj, aa, ai[m], &failed));
    if (failed) {
      s->normal = PETSC_FALSE;
      s->shift  = PETSC_SQRT_MACHINE_EPSILON;
      if (!s->sharper) PetscCall(SparseQRDestroy(&s->qr));
    }
    if (s->qr && !s->normal) PetscCall(SparseQRFactor(s->qr, ai, aj, aa, s->scale, s->shift));
    PetscCall(MatSeqAIJRestoreArrayRead(s->T, &aa));
    PetscCall(PetscTime(&end));
  }
  s->inverts = (PetscBool) !!s->qr;
  if (s->inverts) PetscCall(PetscInfo(svd, "factored with shift %g in %g s\n", (double)s->shift, end - start));
  else if (s->later) PetscCall(PetscInfo(svd, "a filter is tried first: a triangular factor takes more than %g operations for each nonzero\n", (double)filterflops));
  else PetscCall(PetscInfo(svd, "a triangular factor is not affordable: more than %g bytes or %g operations\n", MOST_BYTES, MOST_FLOPS));
  PetscCall(MatRestoreRowIJ(s->T, 0, PETSC_FALSE, PETSC_FALSE, &nrows, &ai, &aj, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateOperator(SVD);

/*
  If triplets do not meet the tolerance, the least of which has this value: smaller residuals of B; for a Cholesky factor, solves that are refined by products
  with A; a smaller shift, so that values below the present one are told apart
*/
PetscErrorCode SVDBlockLanczosSharpen(SVD svd, PetscReal least, PetscBool *again)
{
  BlockLanczosSmallest *s = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;

  PetscFunctionBegin;
  if (!s->inverts) {
    *again = (PetscBool)(s->strict > (PetscReal)1e-5);
    s->strict /= 10;
  } else if (s->normal && !s->E) {
    PetscMPIInt size;
    Mat         A = s->T;

    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)svd), &size));
    if (size > 1) PetscCall(GetRows(svd, PETSC_FALSE, &A));
    PetscCall(SVDBlockLanczosAppendShift(svd, A));
    if (size > 1) PetscCall(MatDestroy(&A));
    PetscCall(CreateOperator(svd));
    *again = PETSC_TRUE;
  } else {
    *again = (PetscBool)(s->sharper && least < 100 * s->shift && s->shift > LEAST_SHIFT);
    if (!*again) PetscFunctionReturn(PETSC_SUCCESS);
    s->shift = PetscMax(s->shift * (PetscReal)1e-3, LEAST_SHIFT);
    if (s->normal) {
      s->normal = PETSC_FALSE;
      s->rows   = s->n;
      PetscCall(MatDestroy(&s->E));
      PetscCall(MatDestroy(&s->EH));
      PetscCall(CreateOperator(svd));
    }
    PetscCall(Factor(svd, PETSC_TRUE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------ values */
/* The value of A times the scale that belongs to one of B. shifted: with the shift, as B has it; otherwise without it, and at most the true one, whatever rounding does. */
PetscReal SVDBlockLanczosFromTransformed(SVD svd, PetscReal value, PetscBool shifted)
{
  const BlockLanczosSmallest *s = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;
  PetscReal                   square;

  if (s->inverts) square = value > 0.0 ? 1 / PetscSqr(value) - (shifted ? 0 : PetscSqr(s->shift)) : PETSC_MAX_REAL;
  else square = (s->low + s->high - (value > 1.0 ? PetscCoshReal(PetscAcoshReal(value) / s->degree) : 1) * (s->high - s->low)) / 2 - (shifted ? 0 : BLOCKLANCZOS_NOISE * s->high);
  return square > 0.0 ? PetscSqrtReal(square) : 0.0;
}

PetscReal SVDBlockLanczosToTransformed(SVD svd, PetscReal value)
{
  const BlockLanczosSmallest *s = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;

  if (s->inverts) return 1 / PetscSqrtReal(PetscSqr(value) + PetscSqr(s->shift));
  return PetscSqr(value) < s->low ? PetscCoshReal(s->degree * PetscAcoshReal((s->low + s->high - 2 * PetscSqr(value)) / (s->high - s->low))) : 1;
}

/*
  What the residual of a triplet of B becomes for A, once the vector has been multiplied by B^H B. For the inverse B^H B v = theta v + r makes |r| / theta, relative
  to the square of the value. For the filter components along close values are divided by its slope, and those along far ones by the value to the third.
*/
PetscReal SVDBlockLanczosFromResidual(SVD svd, PetscReal value, PetscReal res)
{
  const BlockLanczosSmallest *s     = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;
  const PetscReal             sigma = SVDBlockLanczosFromTransformed(svd, value, PETSC_TRUE);

  if (s->inverts) return value > 0.0 ? res / value * sigma : PETSC_MAX_REAL;
  if (value <= 1.0 || sigma == 0.0) return PETSC_MAX_REAL;
  else {
    const PetscReal angle = PetscAcoshReal(value), slope = 2 * s->degree * PetscSinhReal(angle) / PetscSinhReal(angle / s->degree) / (s->high - s->low);

    return PetscMax(res / (2 * slope), res * s->high / (value * value * value)) / sigma / s->strict;
  }
}

/* ------------------------------------------------------------------------------------------------ products with B */
/* X = X - V (V^H X), this process's rows of n x w and n x k; sums over all processes */
PetscErrorCode SVDBlockLanczosProject(MPI_Comm comm, PetscInt n, PetscInt k, const PetscScalar V[], PetscInt w, PetscScalar X[])
{
  const PetscScalar one = 1.0, zero = 0.0, minus = -1.0;
  const PetscInt    ld = PetscMax(n, 1);
  PetscScalar      *h;
  PetscBLASInt      bn, bk, bw, bld;
  PetscMPIInt       count;

  PetscFunctionBegin;
  if (!k || !w) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(k, &bk));
  PetscCall(PetscBLASIntCast(w, &bw));
  PetscCall(PetscBLASIntCast(ld, &bld));
  PetscCall(PetscMPIIntCast((PetscCount)k * w, &count));
  PetscCall(PetscCalloc1((size_t)k * w, &h));
  for (PetscInt twice = 0; twice < 2; twice++) {
    if (n) PetscCallBLAS("BLASgemm", BLASgemm_("C", "N", &bk, &bw, &bn, &one, V, &bld, X, &bld, &zero, h, &bk));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, h, count, MPIU_SCALAR, MPIU_SUM, comm));
    if (n) PetscCallBLAS("BLASgemm", BLASgemm_("N", "N", &bn, &bw, &bk, &minus, V, &bld, h, &bk, &one, X, &bld));
  }
  PetscCall(PetscFree(h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = B x or B^H x, without what is removed: this process's rows of w columns */
PetscErrorCode SVDBlockLanczosSolveB(SVD svd, PetscBool adjoint, PetscInt w, const PetscScalar x[], PetscScalar y[])
{
  BlockLanczosSmallest *s = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;

  PetscFunctionBegin;
  if (s->E) PetscCall(SVDBlockLanczosSolveKSP(svd, adjoint, w, x, y));
  else {
    PetscCall(PetscArraycpy(y, x, (size_t)s->n * w));
    PetscCall(s->inverts ? SVDBlockLanczosSolveTriangular(svd, adjoint, w, y) : SVDBlockLanczosFilter(svd, w, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = B x or B^H x; x is overwritten */
PetscErrorCode SVDBlockLanczosApplyB(SVD svd, PetscBool adjoint, PetscInt w, PetscScalar x[], PetscScalar y[])
{
  BlockLanczosSmallest *s    = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;
  MPI_Comm              comm = PetscObjectComm((PetscObject)svd);

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosProject(comm, adjoint ? s->rows : s->n, s->k, adjoint ? s->U : s->V, w, x));
  PetscCall(SVDBlockLanczosSolveB(svd, adjoint, w, x, y));
  PetscCall(SVDBlockLanczosProject(comm, adjoint ? s->n : s->rows, s->k, adjoint ? s->V : s->U, w, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = B X or B^T X, which is conj(B^H conj(X)): arrays of w columns with leading dimensions */
static PetscErrorCode ApplyToArrays(Mat B, PetscBool transpose, PetscInt w, const PetscScalar X[], PetscInt ldx, PetscScalar Y[], PetscInt ldy)
{
  SVD          svd;
  PetscInt     rows, n, nx, ny;
  PetscScalar *x, *y;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(B, &svd));
  PetscCall(MatGetLocalSize(B, &rows, &n));
  nx = transpose ? rows : n;
  ny = transpose ? n : rows;
  PetscCall(PetscMalloc2((size_t)nx * w, &x, (size_t)ny * w, &y));
  for (PetscInt c = 0; c < w; c++)
    for (PetscInt i = 0; i < nx; i++) x[i + (PetscCount)c * nx] = transpose ? PetscConj(X[i + (PetscCount)c * ldx]) : X[i + (PetscCount)c * ldx];
  PetscCall(SVDBlockLanczosApplyB(svd, transpose, w, x, y));
  for (PetscInt c = 0; c < w; c++)
    for (PetscInt i = 0; i < ny; i++) Y[i + (PetscCount)c * ldy] = transpose ? PetscConj(y[i + (PetscCount)c * ny]) : y[i + (PetscCount)c * ny];
  PetscCall(PetscFree2(x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ApplyToVec(Mat B, PetscBool transpose, Vec x, Vec y)
{
  const PetscScalar *X;
  PetscScalar       *Y;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &X));
  PetscCall(VecGetArrayWrite(y, &Y));
  PetscCall(ApplyToArrays(B, transpose, 1, X, 0, Y, 0));
  PetscCall(VecRestoreArrayWrite(y, &Y));
  PetscCall(VecRestoreArrayRead(x, &X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_Transformed(Mat B, Vec x, Vec y)
{
  return ApplyToVec(B, PETSC_FALSE, x, y);
}

static PetscErrorCode MatMultTranspose_Transformed(Mat B, Vec x, Vec y)
{
  return ApplyToVec(B, PETSC_TRUE, x, y);
}

static PetscErrorCode ApplyToBlock(Mat B, PetscBool transpose, Mat X, Mat Y)
{
  const PetscScalar *x;
  PetscScalar       *y;
  PetscInt           w, ldx, ldy;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, NULL, &w));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Y, &ldy));
  PetscCall(MatDenseGetArrayRead(X, &x));
  PetscCall(MatDenseGetArrayWrite(Y, &y));
  PetscCall(ApplyToArrays(B, transpose, w, x, ldx, y, ldy));
  PetscCall(MatDenseRestoreArrayWrite(Y, &y));
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMatMult_Transformed(Mat B, Mat X, Mat Y, void *ctx)
{
  return ApplyToBlock(B, PETSC_FALSE, X, Y);
}

static PetscErrorCode MatTransposeMatMult_Transformed(Mat B, Mat X, Mat Y, void *ctx)
{
  return ApplyToBlock(B, PETSC_TRUE, X, Y);
}

static PetscErrorCode CreateOperator(SVD svd)
{
  static const char *const dense[] = {MATDENSE, MATDENSECUDA};
  BlockLanczosSmallest    *s       = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;
  VecType                  type;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&s->B));
  PetscCall(MatCreateShell(PetscObjectComm((PetscObject)svd), s->rows, s->n, PETSC_DETERMINE, s->N, svd, &s->B));
  PetscCall(MatGetVecType(svd->OP, &type));
  PetscCall(MatShellSetVecType(s->B, type));
  PetscCall(MatShellSetOperation(s->B, MATOP_MULT, (PetscErrorCodeFn *)MatMult_Transformed));
  PetscCall(MatShellSetOperation(s->B, MATOP_MULT_TRANSPOSE, (PetscErrorCodeFn *)MatMultTranspose_Transformed));
  for (int i = 0; i < (PetscDefined(HAVE_CUDA) ? 2 : 1); i++) {
    PetscCall(MatShellSetMatProductOperation(s->B, MATPRODUCT_AB, NULL, MatMatMult_Transformed, NULL, dense[i], dense[i]));
    PetscCall(MatShellSetMatProductOperation(s->B, MATPRODUCT_AtB, NULL, MatTransposeMatMult_Transformed, NULL, dense[i], dense[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The leading k columns of svd->V are removed from B */
PetscErrorCode SVDBlockLanczosRemove(SVD svd, PetscInt k)
{
  SVD_BLOCKLANCZOS     *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s   = &ctx->smallest;
  BV                    U;
  PetscScalar          *R;
  PetscReal             norm = 0.0;
  PetscInt              w;
  Vec                   v;

  PetscFunctionBegin;
  PetscCall(PetscFree2(s->V, s->U));
  s->k = 0;
  if (!k) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc2((size_t)s->n * k, &s->V, (size_t)s->rows * k, &s->U));
  PetscCall(SVDBlockLanczosCopyColumns(svd->V, 0, k, s->n, PETSC_FALSE, s->V));
  PetscCall(SVDBlockLanczosSolveB(svd, PETSC_FALSE, k, s->V, s->U));
  PetscCall(MatCreateVecsEmpty(s->B, NULL, &v));
  PetscCall(BVCreate(PetscObjectComm((PetscObject)svd), &U));
  PetscCall(BVSetType(U, ((PetscObject)svd->V)->type_name));
  PetscCall(BVSetSizesFromVec(U, v, k));
  PetscCall(VecDestroy(&v));
  PetscCall(SVDBlockLanczosCopyColumns(U, 0, k, s->rows, PETSC_TRUE, s->U));
  PetscCall(PetscMalloc1((size_t)k * k, &R));
  PetscCall(SVDBlockLanczosOrthonormalize(svd, NULL, 0, U, k, s->N, &norm, R, k, NULL, 0, &w));
  PetscCall(SVDBlockLanczosCopyColumns(U, 0, k, s->rows, PETSC_FALSE, s->U));
  PetscCall(PetscFree(R));
  PetscCall(BVDestroy(&U));
  s->k = k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------ set-up */
PetscErrorCode SVDBlockLanczosResetSmallest(SVD svd)
{
  BlockLanczosSmallest *s = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&s->T));
  PetscCall(MatDestroy(&s->B));
  PetscCall(MatDestroy(&s->E));
  PetscCall(MatDestroy(&s->EH));
  if (((SVD_BLOCKLANCZOS *)svd->data)->ksp) PetscCall(KSPReset(((SVD_BLOCKLANCZOS *)svd->data)->ksp));
  PetscCall(SparseQRDestroy(&s->qr));
  PetscCall(PetscFree2(s->V, s->U));
  PetscCall(PetscArrayzero(s, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void SetScale(SVD svd, PetscReal norm)
{
  SVD_BLOCKLANCZOS     *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s   = &ctx->smallest;

  s->scale          = norm > 0.0 ? SVDBlockLanczosPowerOfTwo(norm) : 1.0;
  s->norm           = norm > 0.0 ? norm * s->scale : 1.0;
  ctx->krylov.scale = s->scale;
}

/* Makes the factor that was left for later, if it can be made: then B is an inverse */
PetscErrorCode SVDBlockLanczosFactorLater(SVD svd)
{
  SVD_BLOCKLANCZOS     *ctx   = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s     = &ctx->smallest;
  const PetscReal       scale = s->scale, bound = s->norm;
  PetscReal             norm;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosRemove(svd, 0));
  PetscCall(Norm(s->T, &norm));
  SetScale(svd, norm);
  PetscCall(Factor(svd, PETSC_TRUE));
  if (s->inverts) {
    PetscCall(CreateOperator(svd));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  s->scale = ctx->krylov.scale = scale;
  s->norm                      = bound;
  if (!s->small) PetscCall(MatDestroy(&s->T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Chooses how the smallest values are computed, and makes the factor, unless that was done for the same matrix */
PetscErrorCode SVDBlockLanczosSetUpSmallest(SVD svd)
{
  SVD_BLOCKLANCZOS     *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s   = &ctx->smallest;
  PetscObjectId         id;
  PetscObjectState      state;
  PetscReal             norm = 0.0;
  PetscInt              m, n, M, N;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)svd->OP, &id));
  PetscCall(PetscObjectStateGet((PetscObject)svd->OP, &state));
  if (s->B && s->id == id && s->state == state && s->form == ctx->settings.form && (!ctx->ksp || s->E)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SVDBlockLanczosResetSmallest(svd));
  s->id    = id;
  s->state = state;
  s->form  = ctx->settings.form;
  PetscCall(MatGetSize(svd->OP, &M, &N));
  PetscCall(MatGetLocalSize(svd->OP, &m, &n));
  s->n     = M < N ? m : n;
  s->N     = PetscMin(M, N);
  s->rows  = s->n;
  s->scale = s->strict = 1.0;
  s->norm              = 1.0;
  s->most              = PETSC_MAX_REAL;
  s->shift             = PETSC_SQRT_MACHINE_EPSILON;
  if (s->form != SVD_BLOCKLANCZOS_FORM_FILTER) PetscCall(GetRows(svd, (PetscBool)!ctx->ksp, &s->T));
  if (s->T) {
    PetscCall(Norm(s->T, &norm));
    PetscCheck(!PetscIsInfOrNanReal(norm), PetscObjectComm((PetscObject)svd), PETSC_ERR_FP, "The norm of the matrix is not finite: does it hold NaN or Inf?");
    SetScale(svd, norm);
    s->small  = (PetscBool)(!ctx->ksp && s->form == SVD_BLOCKLANCZOS_FORM_AUTO && s->N <= DIRECT_N && (double)M * N <= DIRECT_ENTRIES);
    s->direct = (PetscBool)(s->small && s->N <= DIRECT_AT_ONCE && (double)M * N <= DIRECT_FEW);
    if (!s->direct) PetscCall(Factor(svd, PETSC_FALSE));
    if (!s->direct && !s->inverts) PetscCall(NormBound(s->T, s->scale, &s->most));
    if (!s->inverts && !s->later) {
      if (s->small) s->direct = PETSC_TRUE;
      else PetscCall(MatDestroy(&s->T));
    }
  }
  PetscCheck(s->inverts || s->direct || s->form != SVD_BLOCKLANCZOS_FORM_INVERSE, PetscObjectComm((PetscObject)svd), PETSC_ERR_SUP,
             "The inverse needs the rows of the matrix, which type %s may not give, and an affordable triangular factor: use -svd_blocklanczos_form filter", ((PetscObject)svd->OP)->type_name);
  if (!s->inverts && !s->direct) s->scale = s->norm = 1.0;
  PetscCall(CreateOperator(svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}
