/* Operations on blocks of columns of BVs: see blockbv.h */
#include <slepc/private/bvimpl.h>
#include "blockbv.h"
#include "blockrandom.h"
#include "exchange/exchange.h"
#include "sys/petscolder.h"

PetscErrorCode BlockWorkspaceSetBV(BlockWorkspace *ws, BV bv)
{
  const BlockOps *ops = NULL;
  PetscBool       mat, array;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)bv, BVMAT, &mat));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)bv, &array, BVMAT, BVSVEC, BVCONTIGUOUS, ""));
  if (array && !bv->cuda && !bv->hip && !BVUsesKokkos(bv)) ops = &BlockOpsHost;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (mat && bv->cuda && !BVUsesKokkos(bv)) ops = &BlockOpsCUDA;
#endif
  if (ops != ws->ops) PetscCall(BlockWorkspaceReset(ws));
  ws->ops  = ops;
  ws->comm = PetscObjectComm((PetscObject)bv);
  if (ops && ops->concurrent) PetscCall(PetscCSRCDeviceSumUsable(ws->comm, &ws->devicesum));
  else ws->devicesum = PETSC_FALSE;
  PetscCall(BVGetSizes(bv, &ws->rows, NULL, NULL));
  PetscCheck(!ops || !ops->concurrent || ws->rows < INT32_MAX - (1 << 20), PETSC_COMM_SELF, PETSC_ERR_SUP, "%" PetscInt_FMT " rows of a block on this process: on a device they are counted in 32 bits", ws->rows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BlockWorkspaceReset(BlockWorkspace *ws)
{
  PetscFunctionBegin;
  for (int i = 0; i < BLOCK_SCRATCHES; i++) {
    if (ws->scratch[i]) {
      if (i == BLOCK_SCRATCH_MIRROR) PetscCall(PetscFree(ws->scratch[i]));
      else if (i == BLOCK_SCRATCH_RESULTS) PetscCall((*ws->ops->freemirror)(&ws->scratch[i]));
      else PetscCall((*ws->ops->free)(&ws->scratch[i]));
    }
    ws->nscratch[i] = 0;
  }
  if (ws->mark) PetscCall((*ws->ops->freemark)(&ws->mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BlockGetArray(BlockWorkspace *ws, BV bv, BlockArray *x)
{
  PetscFunctionBegin;
  x->M = NULL;
  PetscCall(BVGetLeadingDimension(bv, &x->ld));
  if (!ws->ops || ws->ops == &BlockOpsHost) PetscCall(BVGetArray(bv, &x->a));
  else {
    PetscCall(BVSetActiveColumns(bv, 0, bv->m));
    PetscCall(BVGetMat(bv, &x->M));
    PetscCall(MatDenseGetArrayAndMemType(x->M, &x->a, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BlockRestoreArray(BlockWorkspace *ws, BV bv, BlockArray *x)
{
  PetscFunctionBegin;
  if (x->M) {
    PetscCall(MatDenseRestoreArrayAndMemType(x->M, &x->a));
    PetscCall(BVRestoreMat(bv, &x->M));
    PetscCall(PetscObjectStateIncrease((PetscObject)bv));
  } else PetscCall(BVRestoreArray(bv, &x->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BlockGetScratch(BlockWorkspace *ws, BlockScratch which, size_t n, PetscScalar **a)
{
  PetscFunctionBegin;
  if (ws->nscratch[which] < n) {
    /* as much as a restart will need, and at least twice the old size: scratch that grows in each step is then not allocated in each */
    n = PetscMax(n, 2 * ws->nscratch[which]);
    if (which == BLOCK_SCRATCH_SMALL) n = PetscMax(n, (size_t)ws->maxk * (ws->maxk + ws->maxw));
    if (which == BLOCK_SCRATCH_GRAM && ws->maxk) {
      size_t full, tickets;

      PetscCall((*ws->ops->gramscratch)(ws->rows, ws->maxk, ws->maxk, &full, &tickets));
      n = PetscMax(n, full);
    }
    ws->nscratch[which] = 0; /* until it is allocated again */
    if (which == BLOCK_SCRATCH_MIRROR) {
      /* copies to it are waited for at once: pageable memory suffices, and is fast to allocate */
      PetscCall(PetscFree(ws->scratch[which]));
      PetscCall(PetscMalloc1(n, &ws->scratch[which]));
    } else if (which == BLOCK_SCRATCH_RESULTS) {
      PetscCall((*ws->ops->freemirror)(&ws->scratch[which]));
      PetscCall((*ws->ops->allocatemirror)(n, &ws->scratch[which]));
    } else {
      PetscCall((*ws->ops->free)(&ws->scratch[which]));
      PetscCall((*ws->ops->allocate)(n, &ws->scratch[which]));
    }
    ws->nscratch[which] = n;
  }
  *a = ws->scratch[which];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BlockGram(BlockWorkspace *ws, PetscInt rows, PetscInt m, PetscInt n, const PetscScalar A[], PetscInt lda, const PetscScalar B[], PetscInt ldb, PetscScalar C[])
{
  PetscScalar *scratch, *tickets, *h = C;
  PetscMPIInt  size, count;
  size_t       nscratch, ntickets;

  PetscFunctionBegin;
  PetscCall((*ws->ops->gramscratch)(rows, m, n, &nscratch, &ntickets));
  PetscCall(BlockGetScratch(ws, BLOCK_SCRATCH_GRAM, nscratch, &scratch));
  PetscCall(BlockGetScratch(ws, BLOCK_SCRATCH_TICKETS, ntickets, &tickets));
  PetscCall((*ws->ops->gram)(rows, m, n, A, lda, B, ldb, C, scratch, tickets));
  PetscCallMPI(MPI_Comm_size(ws->comm, &size));
  if (ws->devicesum) PetscCall(PetscCSRCDeviceSum(ws->comm, C, m * n));
  else if (size > 1) {
    PetscCall(PetscMPIIntCast(m * n, &count));
    if (ws->ops->concurrent) {
      PetscCall(BlockGetScratch(ws, BLOCK_SCRATCH_MIRROR, m * n, &h));
      PetscCall((*ws->ops->download)(h, C, m * n));
      PetscCall((*ws->ops->wait)(NULL));
    }
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, h, count, MPIU_SCALAR, MPIU_SUM, ws->comm));
    if (ws->ops->concurrent) PetscCall((*ws->ops->upload)(C, h, m * n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies a small operand to the memory of the vectors, compact */
static PetscErrorCode UploadSmall(BlockWorkspace *ws, PetscInt m, PetscInt n, const PetscScalar M[], PetscInt ld, PetscScalar **d)
{
  PetscScalar *packed;

  PetscFunctionBegin;
  PetscCall(BlockGetScratch(ws, BLOCK_SCRATCH_SMALL, m * n, d));
  if (ld == m) PetscCall((*ws->ops->upload)(*d, M, m * n));
  else {
    PetscCall(PetscMalloc1(m * n, &packed));
    for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(packed + j * m, M + j * ld, m));
    PetscCall((*ws->ops->upload)(*d, packed, m * n));
    PetscCall(PetscFree(packed));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A host matrix for BV's products, with the entries of an array from its entry (r0, c0) on */
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

PetscErrorCode BlockDot(BlockWorkspace *ws, BV Y, PetscInt y0, PetscInt y1, BV X, PetscInt x0, PetscInt x1, PetscScalar M[], PetscInt ld)
{
  const PetscInt m = y1 - y0, n = x1 - x0;
  Mat            S;

  PetscFunctionBegin;
  if (!m || !n) PetscFunctionReturn(PETSC_SUCCESS);
  if (ws->ops) {
    BlockArray   x, y;
    PetscScalar *d, *h;
    PetscInt     rows;

    PetscCall(PetscLogEventBegin(BV_Dot, X, Y, 0, 0));
    PetscCall(BVGetSizes(X, &rows, NULL, NULL));
    PetscCall(BlockGetArray(ws, X, &x));
    y = x;
    if (X != Y) PetscCall(BlockGetArray(ws, Y, &y));
    PetscCall(BlockGetScratch(ws, BLOCK_SCRATCH_SMALL, m * n, &d));
    PetscCall(BlockGram(ws, rows, m, n, y.a + (size_t)y0 * y.ld, y.ld, x.a + (size_t)x0 * x.ld, x.ld, d));
    PetscCall(BlockGetScratch(ws, BLOCK_SCRATCH_MIRROR, m * n, &h));
    PetscCall((*ws->ops->download)(h, d, m * n));
    PetscCall((*ws->ops->wait)(NULL));
    for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(M + j * ld, h + j * m, m));
    if (X != Y) PetscCall(BlockRestoreArray(ws, Y, &y));
    PetscCall(BlockRestoreArray(ws, X, &x));
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

PetscErrorCode BlockMult(BlockWorkspace *ws, BV Y, PetscInt y0, PetscInt y1, PetscScalar beta, PetscScalar alpha, BV X, PetscInt x0, PetscInt x1, const PetscScalar M[], PetscInt ld)
{
  const PetscInt k = x1 - x0, n = y1 - y0;
  Mat            S;

  PetscFunctionBegin;
  PetscCheck(beta == (PetscScalar)0.0 || beta == (PetscScalar)1.0, PetscObjectComm((PetscObject)Y), PETSC_ERR_PLIB, "The factor of Y is %g: it must be 0 or 1", (double)PetscRealPart(beta));
  if (!k || !n) PetscFunctionReturn(PETSC_SUCCESS);
  if (ws->ops) {
    BlockArray   x, y;
    PetscScalar *d;
    PetscInt     rows;

    PetscCall(PetscLogEventBegin(BV_Mult, X, Y, 0, 0));
    PetscCall(BVGetSizes(X, &rows, NULL, NULL));
    PetscCall(BlockGetArray(ws, X, &x));
    PetscCall(BlockGetArray(ws, Y, &y));
    PetscCall(UploadSmall(ws, k, n, M, ld, &d));
    PetscCall((*ws->ops->multiply)(rows, n, k, alpha, x.a + (size_t)x0 * x.ld, x.ld, d, beta != (PetscScalar)0.0 ? PETSC_TRUE : PETSC_FALSE, y.a + (size_t)y0 * y.ld, y.ld));
    PetscCall(BlockRestoreArray(ws, Y, &y));
    PetscCall(BlockRestoreArray(ws, X, &x));
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

PetscErrorCode BlockAddLowRank(BlockWorkspace *ws, BV Y, BV P, BV Q, BV X, PetscInt w)
{
  BlockArray   y, p, q, x;
  PetscScalar *d;
  PetscInt     r, rows[2];

  PetscFunctionBegin;
  PetscCall(BVGetSizes(Y, &rows[0], NULL, NULL));
  PetscCall(BVGetSizes(X, &rows[1], NULL, NULL));
  PetscCall(BVGetSizes(P, NULL, NULL, &r));
  if (!ws->ops) {
    PetscCall(PetscMalloc1(r * w, &d));
    PetscCall(BlockDot(ws, Q, 0, r, X, 0, w, d, r));
    PetscCall(BlockMult(ws, Y, 0, w, 1.0, 1.0, P, 0, r, d, r));
    PetscCall(PetscFree(d));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BlockGetArray(ws, Y, &y));
  PetscCall(BlockGetArray(ws, P, &p));
  PetscCall(BlockGetArray(ws, Q, &q));
  PetscCall(BlockGetArray(ws, X, &x));
  PetscCall(BlockGetScratch(ws, BLOCK_SCRATCH_SMALL, (size_t)r * w, &d));
  PetscCall(BlockGram(ws, rows[1], r, w, q.a, q.ld, x.a, x.ld, d));
  PetscCall((*ws->ops->multiply)(rows[0], w, r, 1.0, p.a, p.ld, d, PETSC_TRUE, y.a, y.ld));
  PetscCall(BlockRestoreArray(ws, X, &x));
  PetscCall(BlockRestoreArray(ws, Q, &q));
  PetscCall(BlockRestoreArray(ws, P, &p));
  PetscCall(BlockRestoreArray(ws, Y, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BlockMultInPlace(BlockWorkspace *ws, BV V, PetscInt s, PetscInt e, PetscInt r, const PetscScalar M[], PetscInt ld)
{
  Mat S;

  PetscFunctionBegin;
  if (s >= e) PetscFunctionReturn(PETSC_SUCCESS);
  if (ws->ops) {
    const PetscInt chunk = ws->ops->chunk;
    BlockArray     v;
    PetscScalar   *d, *t;
    PetscInt       rows;

    PetscCall(PetscLogEventBegin(BV_MultInPlace, V, 0, 0, 0));
    PetscCall(BVGetSizes(V, &rows, NULL, NULL));
    PetscCall(BlockGetArray(ws, V, &v));
    PetscCall(UploadSmall(ws, r - s, e - s, M, ld, &d));
    PetscCall(BlockGetScratch(ws, BLOCK_SCRATCH_LONG, (size_t)PetscMin(chunk, rows) * (e - s), &t));
    for (PetscInt i = 0; i < rows; i += chunk) {
      const PetscInt n = PetscMin(chunk, rows - i);

      PetscCall((*ws->ops->multiply)(n, e - s, r - s, 1.0, v.a + (size_t)s * v.ld + i, v.ld, d, PETSC_FALSE, t, n));
      PetscCall((*ws->ops->copy)(n, e - s, t, n, v.a + (size_t)s * v.ld + i, v.ld));
    }
    PetscCall(BlockRestoreArray(ws, V, &v));
    PetscCall(PetscLogEventEnd(BV_MultInPlace, V, 0, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BVSetActiveColumns(V, s, r));
  PetscCall(SmallMatCreate(s, r - s, s, e - s, M, ld, &S));
  PetscCall(BVMultInPlace(V, S, s, e));
  PetscCall(MatDestroy(&S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BlockCopy(BlockWorkspace *ws, BV X, PetscInt x0, PetscInt x1, BV Y, PetscInt y0)
{
  PetscFunctionBegin;
  if (x0 == x1) PetscFunctionReturn(PETSC_SUCCESS);
  if (ws->ops) {
    BlockArray x, y;
    PetscInt   rows;

    PetscCall(PetscLogEventBegin(BV_Copy, X, Y, 0, 0));
    PetscCall(BVGetSizes(X, &rows, NULL, NULL));
    PetscCall(BlockGetArray(ws, X, &x));
    PetscCall(BlockGetArray(ws, Y, &y));
    PetscCall((*ws->ops->copy)(rows, x1 - x0, x.a + (size_t)x0 * x.ld, x.ld, y.a + (size_t)y0 * y.ld, y.ld));
    PetscCall(BlockRestoreArray(ws, Y, &y));
    PetscCall(BlockRestoreArray(ws, X, &x));
    PetscCall(PetscLogEventEnd(BV_Copy, X, Y, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BVSetActiveColumns(X, x0, x1));
  PetscCall(BVSetActiveColumns(Y, y0, y0 + x1 - x0));
  PetscCall(BVCopy(X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The key of the next random column */
static PetscInt64 NextKey(BlockWorkspace *ws)
{
  return BlockRandomMix(ws->seed ^ BlockRandomMix(ws->drawn++));
}

void BlockSetSeed(BlockWorkspace *ws, PetscInt64 seed)
{
  ws->seed  = BlockRandomMix(seed);
  ws->drawn = 0;
}

PetscErrorCode BlockFillRandom(BlockWorkspace *ws, BV V, PetscInt c0, PetscInt c1)
{
  const BlockOps *ops = ws->ops ? ws->ops : &BlockOpsHost;
  BlockArray      v;
  PetscInt        first, n, N;
  PetscReal       factor;

  PetscFunctionBegin;
  if (c0 >= c1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(BV_SetRandom, V, 0, 0, 0));
  PetscCall(BVGetSizes(V, &n, &N, NULL));
  PetscCall(PetscLayoutGetRange(V->map, &first, NULL));
  factor = 1 / PetscSqrtReal((PetscReal)(PetscDefined(USE_COMPLEX) ? 2 * N : N));
  PetscCall(BlockGetArray(ws, V, &v));
  for (PetscInt j = c0; j < c1; j++) PetscCall((*ops->random)(n, first, NextKey(ws), factor, v.a + (size_t)j * v.ld));
  PetscCall(BlockRestoreArray(ws, V, &v));
  PetscCall(PetscLogEventEnd(BV_SetRandom, V, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void BlockRandomSmall(BlockWorkspace *ws, PetscInt n, PetscScalar a[])
{
  const PetscInt64 key = NextKey(ws);

  for (PetscInt i = 0; i < n; i++) a[i] = BlockRandomNormal(key, i);
}
