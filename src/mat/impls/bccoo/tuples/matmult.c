/*
  Products with dense matrices: nonzeros are decoded once for BCCOO_PANEL columns. The entries of a row of these columns are packed side by
  side in scratch, so that a nonzero accesses one place in memory, and not one for each column.
*/
#include "cursor.h"

/* As MultPart() of mult.c, for K columns; x is packed */
static inline void MultPartPanel(const BCCOOTuples *f, BCCOOCoding coding, PetscInt p, PetscInt K, const PetscScalar *PETSC_RESTRICT x, PetscScalar *PETSC_RESTRICT Y, PetscCount ldy)
{
  PetscInt    row              = f->own[p];
  PetscScalar sum[BCCOO_PANEL] = {0.0};
  BCCOOCursor q;

  BCCOOCursorStart(&q, f, coding, f->first[p], f->first[p + 1]);
  while (BCCOOCursorNext(&q, f, coding)) {
    const PetscScalar *xj = x + (PetscCount)q.col * K;

    if (q.row != row) {
      for (PetscInt k = 0; k < K; k++) {
        Y[row + k * ldy] = sum[k];
        sum[k]           = 0.0;
      }
      for (row++; row < q.row; row++) {
        for (PetscInt k = 0; k < K; k++) Y[row + k * ldy] = 0.0;
      }
    }
    for (PetscInt k = 0; k < K; k++) sum[k] += q.val * xj[k];
  }
  for (; row < f->own[p + 1]; row++) {
    for (PetscInt k = 0; k < K; k++) {
      Y[row + k * ldy] = sum[k];
      sum[k]           = 0.0;
    }
  }
  for (PetscInt k = 0; k < K; k++) f->carry[p * BCCOO_PANEL + k] = sum[k];
}

static PetscErrorCode MultPanel(BCCOOTuples *f, PetscInt K, const PetscScalar *X, PetscCount ldx, PetscScalar *Y, PetscCount ldy)
{
  PetscScalar *x;

  PetscFunctionBegin;
  PetscCall(BCCOOWorkGet(&f->work, (PetscCount)f->n * K, &x));
  PetscPragmaOMP(parallel num_threads((int)f->nparts))
  {
    PetscPragmaOMP(for schedule(static))
    for (PetscInt j = 0; j < f->n; j++) {
      for (PetscInt k = 0; k < K; k++) x[(PetscCount)j * K + k] = X[j + k * ldx];
    }
    PetscPragmaOMP(for schedule(static, 1))
    for (PetscInt p = 0; p < f->nparts; p++) {
      if (f->coding == CODING_NONE) {
        if (K == BCCOO_PANEL) MultPartPanel(f, CODING_NONE, p, BCCOO_PANEL, x, Y, ldy);
        else MultPartPanel(f, CODING_NONE, p, K, x, Y, ldy);
      } else {
        if (K == BCCOO_PANEL) MultPartPanel(f, CODING_TUPLES, p, BCCOO_PANEL, x, Y, ldy);
        else MultPartPanel(f, CODING_TUPLES, p, K, x, Y, ldy);
      }
    }
  }
  for (PetscInt p = 0; p + 1 < f->nparts; p++) {
    for (PetscInt k = 0; k < K; k++) Y[f->own[p + 1] + k * ldy] += f->carry[p * BCCOO_PANEL + k];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = A X, K columns */
PetscErrorCode BCCOOTuplesMatMult(BCCOOTuples *f, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < K; k += BCCOO_PANEL) {
    const PetscScalar *Xk = X + (PetscCount)k * ldx;
    PetscScalar       *Yk = Y + (PetscCount)k * ldy;

    if (K - k == 1) PetscCall(BCCOOTuplesMult(f, Xk, NULL, Yk));
    else PetscCall(MultPanel(f, PetscMin(K - k, BCCOO_PANEL), Xk, ldx, Yk, ldy));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* w += A^T U or A^H U for the nonzeros of part p; w is packed and begins with column lo[p] of A */
static inline void AddTransposedPartPanel(const BCCOOTuples *f, BCCOOCoding coding, PetscBool hermitian, PetscInt p, PetscInt K, const PetscScalar *PETSC_RESTRICT U, PetscCount ldu, PetscScalar *PETSC_RESTRICT w)
{
  const PetscInt lo             = f->transposed.lo[p];
  PetscInt       row            = -1;
  PetscScalar    u[BCCOO_PANEL] = {0.0};
  BCCOOCursor    q;

  BCCOOCursorStart(&q, f, coding, f->transposed.first[p], f->transposed.first[p + 1]);
  while (BCCOOCursorNext(&q, f, coding)) {
    const PetscScalar val = hermitian ? PetscConj(q.val) : q.val;
    PetscScalar      *wj  = w + (PetscCount)(q.col - lo) * K;

    if (q.row != row) {
      row = q.row;
      for (PetscInt k = 0; k < K; k++) u[k] = U[row + k * ldu];
    }
    for (PetscInt k = 0; k < K; k++) wj[k] += val * u[k];
  }
}

static void AddTransposedPanel(const BCCOOTuples *f, PetscBool hermitian, PetscInt p, PetscInt K, const PetscScalar *U, PetscCount ldu, PetscScalar *w)
{
  if (f->coding == CODING_NONE) {
    if (K == BCCOO_PANEL) AddTransposedPartPanel(f, CODING_NONE, hermitian, p, BCCOO_PANEL, U, ldu, w);
    else AddTransposedPartPanel(f, CODING_NONE, hermitian, p, K, U, ldu, w);
  } else {
    if (K == BCCOO_PANEL) AddTransposedPartPanel(f, CODING_TUPLES, hermitian, p, BCCOO_PANEL, U, ldu, w);
    else AddTransposedPartPanel(f, CODING_TUPLES, hermitian, p, K, U, ldu, w);
  }
}

/*
  As BCCOOTuplesMultTranspose(), for K columns. If there are fewer parts than threads, because private sums for all threads would be too
  large, the columns of the panel are also divided into groups, and a thread computes one group for one part.
*/
static PetscErrorCode MultTransposePanel(BCCOOTuples *f, PetscBool hermitian, PetscInt K, const PetscScalar *U, PetscCount ldu, PetscScalar *V, PetscCount ldv)
{
  const BCCOOSplit *split   = &f->transposed;
  const PetscInt    ngroups = PetscMin(K, f->nparts / split->n);
  PetscScalar      *work;

  PetscFunctionBegin;
  PetscCall(BCCOOWorkGet(&f->work, (PetscCount)split->off[split->n] * K, &work));
  PetscPragmaOMP(parallel num_threads((int)(split->n * ngroups)))
  {
    PetscPragmaOMP(for schedule(static, 1))
    for (PetscInt t = 0; t < split->n * ngroups; t++) {
      const PetscInt   p = t / ngroups, k = BCCOOPartStart(K, ngroups, t % ngroups), nk = BCCOOPartStart(K, ngroups, t % ngroups + 1) - k;
      const PetscCount width = split->off[p + 1] - split->off[p];
      PetscScalar     *w     = work + (PetscCount)split->off[p] * K + width * k;

      if (width) memset(w, 0, width * nk * sizeof(PetscScalar));
      AddTransposedPanel(f, hermitian, p, nk, U + k * ldu, ldu, w);
    }
    PetscPragmaOMP(for schedule(static))
    for (PetscInt b = 0; b <= f->n / BCCOO_MERGE_DENSE; b++) {
      const PetscInt start = b * BCCOO_MERGE_DENSE, end = BCCOOPieceEnd(start, BCCOO_MERGE_DENSE, f->n);

      if (start == end) continue;
      for (PetscInt k = 0; k < K; k++) memset(V + start + k * ldv, 0, (end - start) * sizeof(PetscScalar));
      for (PetscInt t = 0; t < split->n * ngroups; t++) {
        const PetscInt     p = t / ngroups, k = BCCOOPartStart(K, ngroups, t % ngroups), nk = BCCOOPartStart(K, ngroups, t % ngroups + 1) - k;
        const PetscCount   width = split->off[p + 1] - split->off[p];
        const PetscInt     lo = split->lo[p], hi = lo + (PetscInt)width;
        const PetscScalar *w = work + (PetscCount)split->off[p] * K + width * k;

        for (PetscInt j = PetscMax(start, lo); j < PetscMin(end, hi); j++) {
          for (PetscInt l = 0; l < nk; l++) V[j + (k + l) * ldv] += w[(PetscCount)(j - lo) * nk + l];
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* V = A^T U, or A^H U when hermitian, K columns */
PetscErrorCode BCCOOTuplesTransposeMatMult(BCCOOTuples *f, PetscBool hermitian, PetscInt K, const PetscScalar *U, PetscInt ldu, PetscScalar *V, PetscInt ldv)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < K; k += BCCOO_PANEL) {
    const PetscScalar *Uk = U + (PetscCount)k * ldu;
    PetscScalar       *Vk = V + (PetscCount)k * ldv;

    if (K - k == 1) PetscCall(BCCOOTuplesMultTranspose(f, hermitian, Uk, NULL, Vk));
    else PetscCall(MultTransposePanel(f, hermitian, PetscMin(K - k, BCCOO_PANEL), Uk, ldu, Vk, ldv));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
