/*
  The operator B whose largest singular values belong to the smallest of A, with the same right vectors.

    inverse   B = (R P^H)^-H, where R^H R = P^H (A^H A + shift^2) P: its singular values are 1 / sqrt(sigma^2 + shift^2). R is made by Householder
              reflections (sparseqr.c). Every process has all of R. If that takes too many operations R is a Cholesky factor, which needs a larger shift. Where its
              rounding is too large, and with a KSP of the user's, B is not square, but has the same values and right vectors (ksp.c).

  A is multiplied by krylov.scale, a power of two that makes its Frobenius norm about one. shift is a little above the values that are lost in the
  products with R^-1, whose rounding is eps / sigma of their norm. It is lowered, by reflections, if values below it have to be separated (smallest.c).

    filter    B = T(A^H A): a Chebyshev polynomial, of at most one in modulus for eigenvalues from `low` to `high`, a bound of all, and growing towards zero. It
              needs products only, so it works for any matrix, in parallel and on devices.

  What has been accepted can be removed: (I - U U^H) B (I - V V^H), where V are right vectors of A and U is an orthonormal basis of the range of B V. If C
  is a basis of the complement of V, the squares of the values of this operator are the eigenvalues of the inverse of C^H (A^H A + shift^2) C: a
  Schur complement of an inverse is the inverse of a block.
*/
#include <petscblaslapack.h>
#include "../blocklanczos.h"
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
/* Left null vectors that are made at a time */
#define MOST_COLUMNS 32
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

/* Columns [c0, c1) of a BV to or from an array of this process's rows */
static PetscErrorCode CopyColumns(BV V, PetscInt c0, PetscInt c1, PetscInt n, PetscBool into, PetscScalar a[])
{
  PetscFunctionBegin;
  for (PetscInt c = c0; c < c1; c++) {
    PetscScalar *x;
    Vec          v;

    PetscCall(BVGetColumn(V, c, &v));
    PetscCall(VecGetArray(v, &x));
    if (into) PetscCall(PetscArraycpy(x, a + (PetscCount)(c - c0) * n, n));
    else PetscCall(PetscArraycpy(a + (PetscCount)(c - c0) * n, x, n));
    PetscCall(VecRestoreArray(v, &x));
    PetscCall(BVRestoreColumn(V, c, &v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------ the filter */
/*
  The degree and interval for values of A up to `value`, for which B becomes some 5 to 30. For values close to the norm it is a linear polynomial, which
  falls from 3 to 1. bound is that of the norm.
*/
void SVDBlockLanczosChooseFilter(SVD svd, PetscReal value, PetscReal bound)
{
  BlockLanczosSmallest *s = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;

  s->high = PetscSqr(bound);
  s->low  = PetscMax(2 * PetscSqr(value), s->high * BLOCKLANCZOS_LEAST_LOW);
  if (s->low < s->high / 2) s->degree = 2 * (PetscInt)PetscCeilReal(PetscSqrtReal(s->high / s->low));
  else {
    s->low    = s->high;
    s->high   = 2 * s->high;
    s->degree = 1;
  }
}

/* X = T(A^H A) X: this process's rows of n x w */
static PetscErrorCode Filter(SVD svd, PetscInt w, PetscScalar X[])
{
  SVD_BLOCKLANCZOS     *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s   = &ctx->smallest;
  const PetscReal       d   = s->high - s->low;

  PetscFunctionBegin;
  /* polynomials of degrees 2 and 3, modulo 4, have the other sign: so each is the last but one plus a multiple of the last */
  for (PetscInt first = 0, some; first < w; first += some) {
    BV           now = ctx->krylov.X, before = ctx->krylov.spare;
    PetscScalar *G;

    some = PetscMin(w - first, ctx->krylov.bs);
    PetscCall(PetscCalloc1((size_t)some * some, &G));
    PetscCall(CopyColumns(now, 0, some, s->n, PETSC_TRUE, X + (PetscCount)first * s->n));
    for (PetscInt j = 0; j < s->degree; j++) {
      const PetscReal factor = j % 2 ? -2 : j ? 2 : 1;
      BV              swap;

      /* before = before + factor t(A^H A) now, or without the first term at first; t = (low + high - 2 A^H A) / (high - low) */
      PetscCall(SVDBlockLanczosForward(svd, now, ctx->krylov.W, some));
      PetscCall(SVDBlockLanczosAdjoint(svd, ctx->krylov.W, ctx->krylov.Z, some));
      for (PetscInt c = 0; c < some; c++) G[c + c * some] = factor * (s->low + s->high) / d;
      PetscCall(BlockMult(&ctx->blocks, before, 0, some, j ? 1.0 : 0.0, 1.0, now, 0, some, G, some));
      for (PetscInt c = 0; c < some; c++) G[c + c * some] = 1.0;
      PetscCall(BlockMult(&ctx->blocks, before, 0, some, 1.0, -2 * factor / d, ctx->krylov.Z, 0, some, G, some));
      swap   = now;
      now    = before;
      before = swap;
    }
    PetscCall(CopyColumns(now, 0, some, s->n, PETSC_FALSE, X + (PetscCount)first * s->n));
    PetscCall(PetscFree(G));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
static PetscErrorCode Project(MPI_Comm comm, PetscInt n, PetscInt k, const PetscScalar V[], PetscInt w, PetscScalar X[])
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
static PetscErrorCode Solve(SVD svd, PetscBool adjoint, PetscInt w, const PetscScalar x[], PetscScalar y[])
{
  BlockLanczosSmallest *s = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;

  PetscFunctionBegin;
  if (s->E) PetscCall(SVDBlockLanczosSolveKSP(svd, adjoint, w, x, y));
  else {
    PetscCall(PetscArraycpy(y, x, (size_t)s->n * w));
    PetscCall(s->inverts ? SVDBlockLanczosSolveTriangular(svd, adjoint, w, y) : Filter(svd, w, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = B x or B^H x; x is overwritten */
static PetscErrorCode Apply(SVD svd, PetscBool adjoint, PetscInt w, PetscScalar x[], PetscScalar y[])
{
  BlockLanczosSmallest *s    = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;
  MPI_Comm              comm = PetscObjectComm((PetscObject)svd);

  PetscFunctionBegin;
  PetscCall(Project(comm, adjoint ? s->rows : s->n, s->k, adjoint ? s->U : s->V, w, x));
  PetscCall(Solve(svd, adjoint, w, x, y));
  PetscCall(Project(comm, adjoint ? s->n : s->rows, s->k, adjoint ? s->V : s->U, w, y));
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
  PetscCall(Apply(svd, transpose, w, x, y));
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

/* ------------------------------------------------------------------------------------------------ vectors */
/* Columns [0, w) of V, of length one: r = A^H A V - V S^2 with the values that belong to them, norms of A V; this process's rows of n x w */
static PetscErrorCode Residuals(SVD svd, BV V, PetscInt w, PetscScalar r[])
{
  SVD_BLOCKLANCZOS   *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosKrylov *krylov = &ctx->krylov;
  const PetscInt      n      = ctx->smallest.n;
  PetscScalar        *G;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((size_t)krylov->bs * krylov->bs, &G));
  for (PetscInt first = 0, some; first < w; first += some) {
    some = PetscMin(w - first, krylov->bs);
    PetscCall(BlockCopy(&ctx->blocks, V, first, first + some, krylov->X, 0));
    PetscCall(SVDBlockLanczosForward(svd, krylov->X, krylov->W, some));
    PetscCall(SVDBlockLanczosAdjoint(svd, krylov->W, krylov->Z, some));
    PetscCall(BlockDot(&ctx->blocks, krylov->W, 0, some, krylov->W, 0, some, G, some));
    for (PetscInt j = 0; j < some; j++)
      for (PetscInt i = 0; i < some; i++) G[i + j * some] = i == j ? G[i + j * some] : 0.0;
    PetscCall(BlockMult(&ctx->blocks, krylov->Z, 0, some, 1.0, -1.0, krylov->X, 0, some, G, some));
    PetscCall(CopyColumns(krylov->Z, 0, some, n, PETSC_FALSE, r + (PetscCount)first * n));
  }
  PetscCall(PetscFree(G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The first w columns of V, in order of decreasing values of B, become B^H B V but for factors: what is not of the smallest values of A fades. The inverse
  does this as V - N^-1 (A^H A V - V S^2), N = A^H A + shift^2: rounding of its factor then acts on the residuals only, not on V.
*/
PetscErrorCode SVDBlockLanczosPurify(SVD svd, BV V, PetscInt w)
{
  BlockLanczosSmallest *s = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;
  const PetscInt        n = s->n;
  PetscScalar          *a, *b;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2((size_t)n * w, &a, (size_t)PetscMax(s->rows, n) * w, &b));
  if (s->inverts) PetscCall(Residuals(svd, V, w, a));
  else PetscCall(CopyColumns(V, 0, w, n, PETSC_FALSE, a));
  PetscCall(Apply(svd, PETSC_FALSE, w, a, b));
  PetscCall(Apply(svd, PETSC_TRUE, w, b, a));
  if (s->inverts) {
    PetscCall(CopyColumns(V, 0, w, n, PETSC_FALSE, b));
    for (PetscCount i = 0; i < (PetscCount)n * w; i++) a[i] = b[i] - a[i];
  }
  for (PetscInt c = 0; c < w; c++) {
    PetscReal most = 0.0;

    for (PetscInt i = 0; i < n; i++) most = PetscMax(most, PetscAbsScalar(a[i + (PetscCount)c * n]));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &most, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)svd)));
    for (PetscInt i = 0; i < n && most > 0.0; i++) a[i + (PetscCount)c * n] /= most;
  }
  PetscCall(CopyColumns(V, 0, w, n, PETSC_TRUE, a));
  PetscCall(PetscFree2(a, b));
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
  PetscCall(CopyColumns(svd->V, 0, k, s->n, PETSC_FALSE, s->V));
  PetscCall(Solve(svd, PETSC_FALSE, k, s->V, s->U));
  PetscCall(MatCreateVecsEmpty(s->B, NULL, &v));
  PetscCall(BVCreate(PetscObjectComm((PetscObject)svd), &U));
  PetscCall(BVSetType(U, ((PetscObject)svd->V)->type_name));
  PetscCall(BVSetSizesFromVec(U, v, k));
  PetscCall(VecDestroy(&v));
  PetscCall(CopyColumns(U, 0, k, s->rows, PETSC_TRUE, s->U));
  PetscCall(PetscMalloc1((size_t)k * k, &R));
  PetscCall(SVDBlockLanczosOrthonormalize(svd, NULL, 0, U, k, s->N, &norm, R, k, NULL, 0, &w));
  PetscCall(CopyColumns(U, 0, k, s->rows, PETSC_FALSE, s->U));
  PetscCall(PetscFree(R));
  PetscCall(BVDestroy(&U));
  s->k = k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Columns [c0, c1) of U, which are random, become orthogonal to the range of A, but for residuals norm(A^H u) up to `enough`, if rounding allows that: the
  conjugate residual method for A N A^H, whose residual is u. N is the inverse of A^H A + shift^2 or, with a filter, one.
*/
static PetscErrorCode LeftNullVectors(SVD svd, PetscInt c0, PetscInt c1, PetscReal enough)
{
  SVD_BLOCKLANCZOS     *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s      = &ctx->smallest;
  BlockWorkspace       *blocks = &ctx->blocks;
  const PetscInt        w = c1 - c0, patience = s->inverts ? 5 : 100; /* so many steps may pass before the residual is a half */
  PetscReal             half = PETSC_MAX_REAL;
  PetscScalar          *G, *H, *r, *b;
  PetscReal            *square, *length;
  PetscBool            *done;
  BV                    u, z, q, last;

  PetscFunctionBegin;
  PetscCall(PetscMalloc7((size_t)w * w, &G, (size_t)w * w, &H, (size_t)s->n * w, &r, (size_t)s->rows * w, &b, w, &square, w, &length, w, &done));
  PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_FALSE, w, &z));
  PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_TRUE, w, &u));
  PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_TRUE, w, &q));
  PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_TRUE, w, &last));
  PetscCall(BlockCopy(blocks, ctx->krylov.U, c0, c1, u, 0));
  for (PetscInt step = 0, since = 0;; step++) {
    PetscReal worst = 0.0;
    BV        swap;

    PetscCall(SVDBlockLanczosAdjoint(svd, u, z, w));
    PetscCall(BlockDot(blocks, z, 0, w, z, 0, w, G, w));
    for (PetscInt j = 0; j < w; j++) {
      const PetscReal norm = PetscSqrtReal(PetscRealPart(G[j + j * w]));

      worst   = PetscMax(worst, norm);
      done[j] = (PetscBool)(norm <= enough);
    }
    if (worst <= half) {
      half  = worst / 2;
      since = step;
    }
    if (worst <= enough || step - since == patience) break;
    if (s->inverts) {
      PetscCall(CopyColumns(z, 0, w, s->n, PETSC_FALSE, r));
      PetscCall(Solve(svd, PETSC_FALSE, w, r, b));
      PetscCall(Solve(svd, PETSC_TRUE, w, b, r));
      PetscCall(CopyColumns(z, 0, w, s->n, PETSC_TRUE, r));
    }
    PetscCall(SVDBlockLanczosForward(svd, z, q, w));
    PetscCall(BlockDot(blocks, z, 0, w, z, 0, w, G, w));
    for (PetscInt j = 0; j < w; j++) length[j] = PetscSqrtReal(PetscRealPart(G[j + j * w]));
    if (step) {
      PetscCall(BlockDot(blocks, last, 0, w, q, 0, w, G, w));
      PetscCall(PetscArrayzero(H, (size_t)w * w));
      for (PetscInt j = 0; j < w; j++) H[j + j * w] = square[j] > 0.0 ? G[j + j * w] / square[j] : 0.0;
      PetscCall(BlockMult(blocks, q, 0, w, 1.0, -1.0, last, 0, w, H, w));
    }
    PetscCall(BlockDot(blocks, q, 0, w, q, 0, w, G, w));
    for (PetscInt j = 0; j < w; j++) {
      square[j] = PetscRealPart(G[j + j * w]);
      if (done[j] || PetscSqrtReal(square[j]) <= BLOCKLANCZOS_NOISE * s->sigma1 * length[j]) square[j] = 0.0; /* q is rounding, not in the range of A */
    }
    PetscCall(BlockDot(blocks, q, 0, w, u, 0, w, G, w));
    PetscCall(PetscArrayzero(H, (size_t)w * w));
    for (PetscInt j = 0; j < w; j++) H[j + j * w] = square[j] > 0.0 ? G[j + j * w] / square[j] : 0.0;
    PetscCall(BlockMult(blocks, u, 0, w, 1.0, -1.0, q, 0, w, H, w));
    swap = q;
    q    = last;
    last = swap;
  }
  PetscCall(BlockCopy(blocks, u, 0, w, ctx->krylov.U, c0));
  PetscCall(PetscFree7(G, H, r, b, square, length, done));
  PetscCall(BVDestroy(&u));
  PetscCall(BVDestroy(&z));
  PetscCall(BVDestroy(&q));
  PetscCall(BVDestroy(&last));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SVDBlockLanczosCorrectLeft - For p triplets with A V = U S but for rounding, corrects U so that A^H U = V S

   Note:
   The rounding of A v / sigma has components along all left vectors, of size eps norm(A) / sigma. With r = A^H u - sigma v, u - A (A^H A + shift^2)^-1 r
   has that error squared (the corrected seminormal equations), as far as shift is small beside the value of the component. r is made orthogonal to V, since
   components along V are changed by A V = U S. For values that are rounding u is any vector with A^H u = 0.
*/
PetscErrorCode SVDBlockLanczosCorrectLeft(SVD svd, PetscInt p)
{
  SVD_BLOCKLANCZOS     *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s      = &ctx->smallest;
  MPI_Comm              comm   = PetscObjectComm((PetscObject)svd);
  const PetscReal       enough = 10 * PETSC_MACHINE_EPSILON * s->sigma1;
  PetscReal            *S = ctx->projected.S, before = PETSC_MAX_REAL, norm;
  PetscScalar          *G, *R, *r, *v, *b;
  PetscInt              M, w, z = p;
  BV                    block, change;

  PetscFunctionBegin;
  while (z && S[z - 1] <= BLOCKLANCZOS_NOISE * s->norm) z--;
  if (!s->inverts && z == p) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc5((size_t)p * p, &G, (size_t)p * p, &R, (size_t)s->n * z, &r, (size_t)s->n * p, &v, (size_t)s->rows * z, &b));
  PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_FALSE, p, &block));
  PetscCall(SVDBlockLanczosCreateBV(svd, PETSC_TRUE, PetscMax(z, 1), &change));
  PetscCall(BVGetSizes(ctx->krylov.U, NULL, &M, NULL));
  PetscCall(CopyColumns(svd->V, 0, p, s->n, PETSC_FALSE, v));
  PetscCall(BlockFillRandom(&ctx->blocks, ctx->krylov.U, z, p));
  for (PetscInt turn = 0; turn < 8; turn++) {
    PetscReal worst = 0.0;

    PetscCall(SVDBlockLanczosAdjoint(svd, ctx->krylov.U, block, p));
    PetscCall(PetscArrayzero(G, (size_t)p * p));
    for (PetscInt j = 0; j < p; j++) G[j + j * p] = S[j];
    PetscCall(BlockMult(&ctx->blocks, block, 0, p, 1.0, -1.0, svd->V, 0, p, G, p));
    PetscCall(BlockDot(&ctx->blocks, block, 0, p, block, 0, p, G, p));
    for (PetscInt j = s->inverts ? 0 : z; j < p; j++) worst = PetscMax(worst, PetscSqrtReal(PetscRealPart(G[j + j * p])) / PetscMax(S[j] * PetscMin(svd->tol, (PetscReal)1e-3) / 10, enough));
    if (worst <= 1.0 || worst > before / 2) break;
    before = worst;
    if (s->inverts && z) {
      PetscCall(CopyColumns(block, 0, z, s->n, PETSC_FALSE, r));
      PetscCall(Project(comm, s->n, p, v, z, r));
      PetscCall(Solve(svd, PETSC_FALSE, z, r, b));
      PetscCall(Solve(svd, PETSC_TRUE, z, b, r));
      PetscCall(Project(comm, s->n, p, v, z, r));
      PetscCall(CopyColumns(block, 0, z, s->n, PETSC_TRUE, r));
      PetscCall(SVDBlockLanczosForward(svd, block, change, z));
      PetscCall(PetscArrayzero(G, (size_t)z * z));
      for (PetscInt j = 0; j < z; j++) G[j + j * z] = 1.0;
      PetscCall(BlockMult(&ctx->blocks, ctx->krylov.U, 0, z, 1.0, -1.0, change, 0, z, G, z));
    }
    for (PetscInt j = z; j < p; j += MOST_COLUMNS) PetscCall(LeftNullVectors(svd, j, PetscMin(j + MOST_COLUMNS, p), enough));
    norm = 0.0;
    PetscCall(SVDBlockLanczosOrthonormalize(svd, NULL, 0, ctx->krylov.U, p, M, &norm, R, p, NULL, 0, &w));
  }
  PetscCall(PetscFree5(G, R, r, v, b));
  PetscCall(BVDestroy(&block));
  PetscCall(BVDestroy(&change));
  PetscFunctionReturn(PETSC_SUCCESS);
}
