/*
  Products of long blocks, in two ways: by the arithmetic of the memory they live in, through scratch that stays, or, where that
  memory is not known here, by BV's own functions, which work for every type of vector.
*/
#include "blocklanczos.h"

/* The array of a BV in its memory; columns ld apart */
PetscErrorCode BlockGetArray(SVD svd, BV bv, PetscScalar **a, PetscInt *ld, Mat *M)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  *M = NULL;
  PetscCall(BVGetLeadingDimension(bv, ld));
  if (ctx->memory == &BlockOpsHost) PetscCall(BVGetArray(bv, a));
  else {
    PetscCall(BVSetActiveColumns(bv, 0, bv->m));
    PetscCall(BVGetMat(bv, M));
    PetscCall(MatDenseGetArrayAndMemType(*M, a, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BlockRestoreArray(SVD svd, BV bv, PetscScalar **a, Mat *M)
{
  PetscFunctionBegin;
  if (*M) {
    PetscCall(MatDenseRestoreArrayAndMemType(*M, a));
    PetscCall(BVRestoreMat(bv, M));
    PetscCall(PetscObjectStateIncrease((PetscObject)bv));
  } else PetscCall(BVRestoreArray(bv, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Scratch of at least n scalars in the blocks' memory, and small operands of as many on the host */
PetscErrorCode BlockGetScratch(SVD svd, BlockScratch which, size_t n, PetscScalar **a)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  if (ctx->nscratch[which] < n) {
    /* as much as a restart will need; and twice what there was, so that scratch that grows from step to step is not allocated at each */
    n = PetscMax(n, 2 * ctx->nscratch[which]);
    if (which == BLOCK_SCRATCH_SMALL) n = PetscMax(n, (size_t)ctx->ld * (ctx->ld + ctx->bs));
    if (which == BLOCK_SCRATCH_GRAM) {
      size_t   full, tickets;
      PetscInt rows;

      PetscCall(BVGetSizes(svd->V, &rows, NULL, NULL));
      PetscCall((*ctx->memory->gramscratch)(rows, ctx->ld, ctx->ld, &full, &tickets));
      n = PetscMax(n, full);
    }
    if (which == BLOCK_SCRATCH_MIRROR) {
      /* its copy is waited for at once: plain memory suffices, and is allocated fast */
      PetscCall(PetscFree(ctx->scratch[which]));
      PetscCall(PetscMalloc1(n, &ctx->scratch[which]));
    } else if (which == BLOCK_SCRATCH_RESULTS) {
      PetscCall((*ctx->memory->freemirror)(&ctx->scratch[which]));
      PetscCall((*ctx->memory->allocatemirror)(n, &ctx->scratch[which]));
    } else {
      PetscCall((*ctx->memory->free)(&ctx->scratch[which]));
      PetscCall((*ctx->memory->allocate)(n, &ctx->scratch[which]));
    }
    ctx->nscratch[which] = n;
  }
  *a = ctx->scratch[which];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = A^H B of all processes' rows, in the blocks' memory */
PetscErrorCode BlockGram(SVD svd, PetscInt rows, PetscInt m, PetscInt n, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscInt ldb, PetscScalar C[])
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscScalar      *scratch, *tickets, *h = C;
  PetscMPIInt       size, count;
  size_t            nscratch, ntickets;

  PetscFunctionBegin;
  PetscCall((*ctx->memory->gramscratch)(rows, m, n, &nscratch, &ntickets));
  PetscCall(BlockGetScratch(svd, BLOCK_SCRATCH_GRAM, nscratch, &scratch));
  PetscCall(BlockGetScratch(svd, BLOCK_SCRATCH_TICKETS, ntickets, &tickets));
  PetscCall((*ctx->memory->gram)(rows, m, n, A, lda, B, ldb, C, scratch, tickets));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)svd), &size));
  if (size > 1) {
    PetscCall(PetscMPIIntCast(m * n, &count));
    if (ctx->memory->concurrent) {
      PetscCall(BlockGetScratch(svd, BLOCK_SCRATCH_MIRROR, m * n, &h));
      PetscCall((*ctx->memory->download)(h, C, m * n));
      PetscCall((*ctx->memory->wait)(NULL));
    }
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, h, count, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)svd)));
    if (ctx->memory->concurrent) PetscCall((*ctx->memory->upload)(C, h, m * n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A small operand in the blocks' memory, compact */
static PetscErrorCode UploadSmall(SVD svd, PetscInt m, PetscInt n, const PetscScalar M[], PetscInt ld, PetscScalar **d)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscScalar      *packed;

  PetscFunctionBegin;
  PetscCall(BlockGetScratch(svd, BLOCK_SCRATCH_SMALL, m * n, d));
  if (ld == m) PetscCall((*ctx->memory->upload)(*d, M, m * n));
  else {
    PetscCall(PetscMalloc1(m * n, &packed));
    for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(packed + j * m, M + j * ld, m));
    PetscCall((*ctx->memory->upload)(*d, packed, m * n));
    PetscCall(PetscFree(packed));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A host matrix over an array, for BV's products; its entry (r0, c0) is the first of the array */
static PetscErrorCode SmallMatCreate(PetscInt r0, PetscInt rows, PetscInt c0, PetscInt cols, const PetscScalar a[], PetscInt ld, Mat *M)
{
  PetscFunctionBegin;
  if (r0 || c0) {
    PetscScalar *b;

    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, r0 + rows, c0 + cols, NULL, M));
    PetscCall(MatDenseGetArrayWrite(*M, &b));
    if (a) {
      for (PetscInt j = 0; j < cols; j++) PetscCall(PetscArraycpy(b + r0 + (c0 + j) * (r0 + rows), a + j * ld, rows));
    }
    PetscCall(MatDenseRestoreArrayWrite(*M, &b));
  } else {
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, rows, cols, (PetscScalar *)a, M));
    PetscCall(MatDenseSetLDA(*M, ld));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* M = Y^H X for columns [y0, y1) of Y and [x0, x1) of X, on the host */
PetscErrorCode BlockDot(SVD svd, BV Y, PetscInt y0, PetscInt y1, BV X, PetscInt x0, PetscInt x1, PetscScalar M[], PetscInt ld)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    m = y1 - y0, n = x1 - x0;
  Mat               S;

  PetscFunctionBegin;
  if (!m || !n) PetscFunctionReturn(PETSC_SUCCESS);
  if (ctx->memory) {
    PetscScalar *x, *y, *d, *h;
    PetscInt     rows, ldx, ldy;
    Mat          MX, MY = NULL;

    PetscCall(PetscLogEventBegin(BV_Dot, X, Y, 0, 0));
    PetscCall(BVGetSizes(X, &rows, NULL, NULL));
    PetscCall(BlockGetArray(svd, X, &x, &ldx, &MX));
    y   = x;
    ldy = ldx;
    if (X != Y) PetscCall(BlockGetArray(svd, Y, &y, &ldy, &MY));
    PetscCall(BlockGetScratch(svd, BLOCK_SCRATCH_SMALL, m * n, &d));
    PetscCall(BlockGram(svd, rows, m, n, y + (size_t)y0 * ldy, ldy, x + (size_t)x0 * ldx, ldx, d));
    PetscCall(BlockGetScratch(svd, BLOCK_SCRATCH_MIRROR, m * n, &h));
    PetscCall((*ctx->memory->download)(h, d, m * n));
    PetscCall((*ctx->memory->wait)(NULL));
    for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(M + j * ld, h + j * m, m));
    if (X != Y) PetscCall(BlockRestoreArray(svd, Y, &y, &MY));
    PetscCall(BlockRestoreArray(svd, X, &x, &MX));
    PetscCall(PetscLogEventEnd(BV_Dot, X, Y, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BVSetActiveColumns(Y, y0, y1));
  if (X != Y) PetscCall(BVSetActiveColumns(X, x0, x1));
  PetscCall(SmallMatCreate(y0, m, x0, n, y0 || x0 ? NULL : M, ld, &S));
  PetscCall(BVDot(X, Y, S));
  if (y0 || x0) {
    const PetscScalar *s;

    PetscCall(MatDenseGetArrayRead(S, &s));
    for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(M + j * ld, s + y0 + (x0 + j) * y1, m));
    PetscCall(MatDenseRestoreArrayRead(S, &s));
  }
  PetscCall(MatDestroy(&S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = beta Y + alpha X M for columns [y0, y1) of Y and [x0, x1) of X */
PetscErrorCode BlockMult(SVD svd, BV Y, PetscInt y0, PetscInt y1, PetscScalar beta, PetscScalar alpha, BV X, PetscInt x0, PetscInt x1, const PetscScalar M[], PetscInt ld)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  const PetscInt    k = x1 - x0, n = y1 - y0;
  Mat               S;

  PetscFunctionBegin;
  if (!k || !n) PetscFunctionReturn(PETSC_SUCCESS);
  if (ctx->memory) {
    PetscScalar *x, *y, *d;
    PetscInt     rows, ldx, ldy;
    Mat          MX, MY;

    PetscCall(PetscLogEventBegin(BV_Mult, X, Y, 0, 0));
    PetscCall(BVGetSizes(X, &rows, NULL, NULL));
    PetscCall(BlockGetArray(svd, X, &x, &ldx, &MX));
    PetscCall(BlockGetArray(svd, Y, &y, &ldy, &MY));
    PetscCall(UploadSmall(svd, k, n, M, ld, &d));
    PetscCall((*ctx->memory->multiply)(rows, n, k, alpha, x + (size_t)x0 * ldx, ldx, d, k, beta, y + (size_t)y0 * ldy, ldy));
    PetscCall(BlockRestoreArray(svd, Y, &y, &MY));
    PetscCall(BlockRestoreArray(svd, X, &x, &MX));
    PetscCall(PetscLogEventEnd(BV_Mult, X, Y, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BVSetActiveColumns(Y, y0, y1));
  PetscCall(BVSetActiveColumns(X, x0, x1));
  PetscCall(SmallMatCreate(x0, k, y0, n, M, ld, &S));
  PetscCall(BVMult(Y, alpha, beta, X, S));
  PetscCall(MatDestroy(&S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* V(:, s:e) = V(:, s:r) M, M has r - s rows and e - s columns */
PetscErrorCode BlockMultInPlace(SVD svd, BV V, PetscInt s, PetscInt e, PetscInt r, const PetscScalar M[], PetscInt ld)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  Mat               S;

  PetscFunctionBegin;
  if (s >= e) PetscFunctionReturn(PETSC_SUCCESS);
  if (ctx->memory) {
    const PetscInt chunk = ctx->memory->chunk;
    PetscScalar   *v, *d, *t;
    PetscInt       rows, ldv;
    Mat            MV;

    PetscCall(PetscLogEventBegin(BV_MultInPlace, V, 0, 0, 0));
    PetscCall(BVGetSizes(V, &rows, NULL, NULL));
    PetscCall(BlockGetArray(svd, V, &v, &ldv, &MV));
    PetscCall(UploadSmall(svd, r - s, e - s, M, ld, &d));
    PetscCall(BlockGetScratch(svd, BLOCK_SCRATCH_LONG, (size_t)PetscMin(chunk, rows) * (e - s), &t));
    for (PetscInt i = 0; i < rows; i += chunk) {
      const PetscInt n = PetscMin(chunk, rows - i);

      PetscCall((*ctx->memory->multiply)(n, e - s, r - s, 1.0, v + (size_t)s * ldv + i, ldv, d, r - s, 0.0, t, n));
      PetscCall((*ctx->memory->copy)(n, e - s, t, n, v + (size_t)s * ldv + i, ldv));
    }
    PetscCall(BlockRestoreArray(svd, V, &v, &MV));
    PetscCall(PetscLogEventEnd(BV_MultInPlace, V, 0, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BVSetActiveColumns(V, s, r));
  PetscCall(SmallMatCreate(s, r - s, s, e - s, M, ld, &S));
  PetscCall(BVMultInPlace(V, S, s, e));
  PetscCall(MatDestroy(&S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y(:, y0:y0+x1-x0) = X(:, x0:x1) */
PetscErrorCode BlockCopy(SVD svd, BV X, PetscInt x0, PetscInt x1, BV Y, PetscInt y0)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  if (x0 == x1) PetscFunctionReturn(PETSC_SUCCESS);
  if (ctx->memory) {
    PetscScalar *x, *y;
    PetscInt     rows, ldx, ldy;
    Mat          MX, MY;

    PetscCall(PetscLogEventBegin(BV_Copy, X, Y, 0, 0));
    PetscCall(BVGetSizes(X, &rows, NULL, NULL));
    PetscCall(BlockGetArray(svd, X, &x, &ldx, &MX));
    PetscCall(BlockGetArray(svd, Y, &y, &ldy, &MY));
    PetscCall((*ctx->memory->copy)(rows, x1 - x0, x + (size_t)x0 * ldx, ldx, y + (size_t)y0 * ldy, ldy));
    PetscCall(BlockRestoreArray(svd, Y, &y, &MY));
    PetscCall(BlockRestoreArray(svd, X, &x, &MX));
    PetscCall(PetscLogEventEnd(BV_Copy, X, Y, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BVSetActiveColumns(X, x0, x1));
  PetscCall(BVSetActiveColumns(Y, y0, y0 + x1 - x0));
  PetscCall(BVCopy(X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
