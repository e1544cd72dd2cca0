/*
  Products with B by the user's KSP, or by a Cholesky factor (sparseqr.c). With E = [A; shift I] and N = E^H E, it is B = E N^-1: its values and right vectors
  are those of R^-H.

    PC qr         factors E, which it is given as PETSc's MATNORMALHERMITIAN
    PC lu         if A is square: E is A, N is not formed, and B = A^-H
    all others    are given N, whose rounding is that of the squares of the values

  B x is the solution of E^H y = x with the least norm, B^H y that of a least-squares problem with E. Both are refined by residuals from products with E (the
  corrected seminormal equations), until they are as accurate as if a QR factorisation of E had been used. So a Cholesky factor of N is enough for the shift sqrt(eps).
*/
#include "../blocklanczos.h"

/* The largest number of solves for a product */
#define MOST_SOLVES 30

/* Makes E of the rows of A, times the scale, and if shift > 0 for each column one with the shift alone, and E^H */
PetscErrorCode SVDBlockLanczosAppendShift(SVD svd, Mat A)
{
  BlockLanczosSmallest *s     = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;
  const PetscReal       shift = s->shift;
  Mat                  *E     = &s->E;
  PetscInt              m, n, first, last, column, row;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&s->E));
  PetscCall(MatDestroy(&s->EH));
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatGetOwnershipRangeColumn(A, &column, NULL));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), E));
  PetscCall(MatSetSizes(*E, shift > 0.0 ? m + n : m, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*E, MATAIJ));
  PetscCall(MatSetUp(*E));
  PetscCall(MatGetOwnershipRange(*E, &row, NULL));
  for (PetscInt i = first; i < last; i++, row++) {
    const PetscInt    *columns;
    const PetscScalar *values;
    PetscInt           nz;

    PetscCall(MatGetRow(A, i, &nz, &columns, &values));
    PetscCall(MatSetValues(*E, 1, &row, nz, columns, values, ADD_VALUES));
    PetscCall(MatRestoreRow(A, i, &nz, &columns, &values));
  }
  /* without a shift the diagonal, which PETSc's LU needs to be there */
  for (PetscInt j = 0; j < n; j++) PetscCall(MatSetValue(*E, (shift > 0.0 ? row : column) + j, column + j, shift / s->scale, ADD_VALUES));
  PetscCall(MatAssemblyBegin(*E, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*E, MAT_FINAL_ASSEMBLY));
  PetscCall(MatScale(*E, s->scale));
  PetscCall(MatHermitianTranspose(*E, MAT_INITIAL_MATRIX, &s->EH));
  PetscCall(MatGetLocalSize(*E, &s->rows, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* E and the operator of the KSP for the present shift, and the set-up of the KSP, usually a factorisation; failed: its preconditioner could not be made */
static PetscErrorCode SetUp(SVD svd, PetscBool qr, PetscBool *failed)
{
  SVD_BLOCKLANCZOS     *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s   = &ctx->smallest;
  KSPConvergedReason    reason;
  PetscReal             norm;
  Vec                   x, y;
  Mat                   N;

  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosAppendShift(svd, s->T));
  if (s->ofA) {
    N = s->E;
    PetscCall(PetscObjectReference((PetscObject)N));
  } else if (qr) PetscCall(MatCreateNormalHermitian(s->E, &N));
  else {
    PetscCall(MatMatMult(s->EH, s->E, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &N));
    PetscCall(MatSetOption(N, MAT_HERMITIAN, PETSC_TRUE));
    PetscCall(MatSetOption(N, MAT_SPD, PETSC_TRUE));
  }
  PetscCall(KSPReset(ctx->ksp));
  PetscCall(KSPSetOperators(ctx->ksp, N, N));
  PetscCall(MatDestroy(&N));
  /* a solve shows what the set-up of a preconditioner inside of another one does not say */
  PetscCall(MatCreateVecs(s->E, &x, NULL));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(KSPSolve(ctx->ksp, x, y));
  PetscCall(KSPGetConvergedReason(ctx->ksp, &reason));
  PetscCall(VecNorm(y, NORM_2, &norm));
  *failed = (PetscBool)(reason == KSP_DIVERGED_PC_FAILED || PetscIsInfOrNanReal(norm));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the KSP ready; where A is singular and N is factored, with a larger shift if necessary */
PetscErrorCode SVDBlockLanczosSetUpKSP(SVD svd)
{
  SVD_BLOCKLANCZOS     *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosSmallest *s   = &ctx->smallest;
  PC                    pc;
  PetscInt              m, n;
  PetscBool             qr, lu, failed;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ctx->ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCQR, &qr));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCLU, &lu));
  PetscCall(MatGetSize(s->T, &m, &n));
  s->ofA = (PetscBool)(lu && m == n);
  if (s->ofA) s->shift = 0.0;
  else if (!qr) s->shift *= 16; /* N is rounded by some eps, and PETSc takes pivots below 100 eps for zeros */
  s->inverts = PETSC_TRUE;
  s->sharper = qr;
  PetscCall(SetUp(svd, qr, &failed));
  for (int turn = 0; failed && !s->ofA && turn < 2; turn++) {
    s->shift *= 4;
    PetscCall(SetUp(svd, qr, &failed));
  }
  PetscCheck(!failed, PetscObjectComm((PetscObject)svd), PETSC_ERR_CONV_FAILED, "The preconditioner of SVDBlockLanczosGetKSP() could not be made: %s", s->ofA ? "A may be singular, for which there is PC cholesky" : "not with a larger shift, too");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of w columns for an array, of as many rows as A has rows, or columns */
static PetscErrorCode Wrap(Mat A, PetscBool left, PetscInt w, PetscScalar a[], Mat *X)
{
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatCreateDense(PetscObjectComm((PetscObject)A), left ? m : n, PETSC_DECIDE, PETSC_DETERMINE, w, a, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = A X, or with ksp what it solves for X */
static PetscErrorCode Product(Mat A, KSP ksp, PetscBool transpose, PetscInt w, PetscScalar x[], PetscScalar y[])
{
  Mat X, Y;

  PetscFunctionBegin;
  PetscCall(Wrap(A, PETSC_FALSE, w, x, &X));
  PetscCall(Wrap(A, PETSC_TRUE, w, y, &Y));
  if (!ksp) PetscCall(MatMatMult(A, X, MAT_REUSE_MATRIX, PETSC_DETERMINE, &Y));
  else if (transpose) PetscCall(KSPMatSolveTranspose(ksp, X, Y));
  else PetscCall(KSPMatSolve(ksp, X, Y));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Conjugate(PetscCount n, PetscScalar a[])
{
  for (PetscCount i = 0; PetscDefined(USE_COMPLEX) && i < n; i++) a[i] = PetscConj(a[i]);
}

/* X = (R P^H)^-H X or (R P^H)^-1 X: this process's rows of n x w */
PetscErrorCode SVDBlockLanczosSolveTriangular(SVD svd, PetscBool adjoint, PetscInt w, PetscScalar X[])
{
  BlockLanczosSmallest *s    = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;
  MPI_Comm              comm = PetscObjectComm((PetscObject)svd);
  PetscMPIInt           size, rank, *counts, *begins, local;
  PetscScalar          *all;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size == 1) {
    PetscCall(SparseQRSolve(s->qr, adjoint, w, X, s->n));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscMalloc3(size, &counts, size, &begins, (size_t)s->N * w, &all));
  PetscCall(PetscMPIIntCast(s->n, &local));
  PetscCallMPI(MPI_Allgather(&local, 1, MPI_INT, counts, 1, MPI_INT, comm));
  begins[0] = 0;
  for (PetscMPIInt r = 1; r < size; r++) begins[r] = begins[r - 1] + counts[r - 1];
  for (PetscInt c = 0; c < w; c++) PetscCallMPI(MPI_Allgatherv(X + (PetscCount)c * s->n, local, MPIU_SCALAR, all + (PetscCount)c * s->N, counts, begins, MPIU_SCALAR, comm));
  PetscCall(SparseQRSolve(s->qr, adjoint, w, all, s->N));
  for (PetscInt c = 0; c < w; c++) PetscCall(PetscArraycpy(X + (PetscCount)c * s->n, all + begins[rank] + (PetscCount)c * s->N, s->n));
  PetscCall(PetscFree3(counts, begins, all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = B x or B^H x, roughly; x may be changed */
static PetscErrorCode Rough(SVD svd, PetscBool adjoint, PetscInt w, PetscScalar x[], PetscScalar y[], PetscScalar work[])
{
  SVD_BLOCKLANCZOS           *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const BlockLanczosSmallest *s   = &ctx->smallest;

  PetscFunctionBegin;
  if (s->ofA && !adjoint) {
    Conjugate((PetscCount)s->n * w, x);
    PetscCall(Product(s->E, ctx->ksp, PETSC_TRUE, w, x, y));
    Conjugate((PetscCount)s->n * w, x);
    Conjugate((PetscCount)s->n * w, y);
  } else if (s->ofA) PetscCall(Product(s->E, ctx->ksp, PETSC_FALSE, w, x, y));
  else {
    PetscScalar *from = adjoint ? work : x, *to = adjoint ? y : work;
    Mat          N;

    if (adjoint) PetscCall(Product(s->EH, NULL, PETSC_FALSE, w, x, work));
    if (ctx->ksp) {
      PetscCall(KSPGetOperators(ctx->ksp, &N, NULL));
      PetscCall(Product(N, ctx->ksp, PETSC_FALSE, w, from, to));
    } else {
      PetscCall(PetscArraycpy(to, from, (size_t)s->n * w));
      PetscCall(SVDBlockLanczosSolveTriangular(svd, PETSC_FALSE, w, to));
      PetscCall(SVDBlockLanczosSolveTriangular(svd, PETSC_TRUE, w, to));
    }
    if (!adjoint) PetscCall(Product(s->E, NULL, PETSC_FALSE, w, work, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest norm of a column of x, relative to that of the same column of y */
static PetscErrorCode Largest(MPI_Comm comm, PetscInt w, PetscInt nx, const PetscScalar x[], PetscInt ny, const PetscScalar y[], PetscReal *ratio)
{
  PetscReal  *norms;
  PetscMPIInt count;

  PetscFunctionBegin;
  *ratio = 0.0;
  PetscCall(PetscCalloc1(2 * w, &norms));
  for (PetscInt c = 0; c < w; c++) {
    for (PetscInt i = 0; i < nx; i++) norms[2 * c] += PetscSqr(PetscAbsScalar(x[i + (PetscCount)c * nx]));
    for (PetscInt i = 0; i < ny; i++) norms[2 * c + 1] += PetscSqr(PetscAbsScalar(y[i + (PetscCount)c * ny]));
  }
  PetscCall(PetscMPIIntCast(2 * w, &count));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, norms, count, MPIU_REAL, MPIU_SUM, comm));
  for (PetscInt c = 0; c < w; c++) {
    PetscCheck(!PetscIsInfOrNanReal(norms[2 * c]), comm, PETSC_ERR_FP, "A solve with A^H A is not finite");
    if (norms[2 * c + 1] > 0.0) *ratio = PetscMax(*ratio, PetscSqrtReal(norms[2 * c] / norms[2 * c + 1]));
  }
  PetscCall(PetscFree(norms));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SVDBlockLanczosSolveKSP - y = B x, or with adjoint B^H x: this process's rows of w columns

   Note:
   Corrections that do not become as small as rounding allows void the certificate: svd->data->smallest.loose.
*/
PetscErrorCode SVDBlockLanczosSolveKSP(SVD svd, PetscBool adjoint, PetscInt w, const PetscScalar x[], PetscScalar y[])
{
  BlockLanczosSmallest *s    = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;
  MPI_Comm              comm = PetscObjectComm((PetscObject)svd);
  const PetscInt        nx = adjoint ? s->rows : s->n, ny = adjoint ? s->n : s->rows, most = PetscMax(s->rows, s->n);
  PetscReal             norm, change, before                                               = 1.0, allowed;
  PetscScalar          *r, *d, *work;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3((size_t)most * w, &r, (size_t)most * w, &d, (size_t)most * w, &work));
  PetscCall(PetscArraycpy(r, x, (size_t)nx * w));
  PetscCall(Rough(svd, adjoint, w, r, y, work));
  PetscCall(Largest(comm, w, ny, y, nx, x, &norm));
  s->inverse = PetscMax(s->inverse, norm);
  allowed    = 10 * PETSC_MACHINE_EPSILON * s->norm * s->inverse; /* what is assumed of R */
  for (PetscInt solves = 2;; solves++) {
    PetscCall(Product(adjoint ? s->E : s->EH, NULL, PETSC_FALSE, w, y, r));
    for (PetscCount i = 0; i < (PetscCount)nx * w; i++) r[i] = x[i] - r[i];
    PetscCall(Rough(svd, adjoint, w, r, d, work));
    for (PetscCount i = 0; i < (PetscCount)ny * w; i++) y[i] += d[i];
    PetscCall(Largest(comm, w, ny, d, nx, x, &change));
    change /= s->inverse;
    /* the next one would be as much smaller than this one as this one is than the last one; a residual has the rounding of several products */
    if (change * change <= before * allowed / 10) break;
    if (change > before / 2 || solves == MOST_SOLVES) {
      if (change > allowed) s->loose = PETSC_TRUE;
      break;
    }
    before = change;
  }
  PetscCall(PetscFree3(r, d, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}
