/*
  Products with vectors. No two threads write to the same entry at the same time, and the order of every sum depends on the parts only.
*/
#include "cursor.h"

/* y = A x + z in the rows that part p owns; the carry is its sum for the row after these */
static inline void MultPart(const BCCOOTuples *f, BCCOOCoding coding, PetscInt p, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  PetscInt    row = f->own[p];
  PetscScalar sum = 0.0;
  BCCOOCursor q;

  BCCOOCursorStart(&q, f, coding, f->first[p], f->first[p + 1]);
  while (BCCOOCursorNext(&q, f, coding)) {
    if (q.row != row) {
      y[row] = z ? z[row] + sum : sum;
      BCCOOFill(row + 1, q.row, z, y);
      row = q.row;
      sum = 0.0;
    }
    sum += q.val * x[q.col];
  }
  if (row < f->own[p + 1]) {
    y[row] = z ? z[row] + sum : sum;
    BCCOOFill(row + 1, f->own[p + 1], z, y);
    sum = 0.0;
  }
  f->carry[p * BCCOO_PANEL] = sum;
}

/* y = A x + z */
PetscErrorCode BCCOOTuplesMult(BCCOOTuples *f, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  PetscFunctionBegin;
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)f->nparts))
  for (PetscInt p = 0; p < f->nparts; p++) {
    if (f->coding == CODING_NONE) MultPart(f, CODING_NONE, p, x, z, y);
    else MultPart(f, CODING_TUPLES, p, x, z, y);
  }
  for (PetscInt p = 0; p + 1 < f->nparts; p++) y[f->own[p + 1]] += f->carry[p * BCCOO_PANEL];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* w += A^T u or A^H u for the nonzeros of part p, with w[0] the sum of column lo */
static inline void AddTransposedPart(const BCCOOTuples *f, BCCOOCoding coding, PetscBool hermitian, PetscInt p, PetscInt lo, const PetscScalar *PETSC_RESTRICT u, PetscScalar *PETSC_RESTRICT w)
{
  BCCOOCursor q;

  BCCOOCursorStart(&q, f, coding, f->transposed.first[p], f->transposed.first[p + 1]);
  while (BCCOOCursorNext(&q, f, coding)) w[q.col - lo] += (hermitian ? PetscConj(q.val) : q.val) * u[q.row];
}

static void AddTransposed(const BCCOOTuples *f, PetscBool hermitian, PetscInt p, PetscInt lo, const PetscScalar *u, PetscScalar *w)
{
  if (f->coding == CODING_NONE) AddTransposedPart(f, CODING_NONE, hermitian, p, lo, u, w);
  else AddTransposedPart(f, CODING_TUPLES, hermitian, p, lo, u, w);
}

/*
  v = A^T u + z, or A^H u + z when hermitian

  A single part adds to v itself. Several parts have private sums each, for the columns from their lowest to their highest; then all
  threads add these to v, in the order of the parts.
*/
PetscErrorCode BCCOOTuplesMultTranspose(BCCOOTuples *f, PetscBool hermitian, const PetscScalar *u, const PetscScalar *z, PetscScalar *v)
{
  const BCCOOSplit *split = &f->transposed;
  PetscScalar      *work;

  PetscFunctionBegin;
  if (split->n == 1) {
    BCCOOFill(0, f->n, z, v);
    AddTransposed(f, hermitian, 0, 0, u, v);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCCOOWorkGet(&f->work, split->off[split->n], &work));
  PetscPragmaOMP(parallel num_threads((int)split->n))
  {
    PetscPragmaOMP(for schedule(static, 1))
    for (PetscInt p = 0; p < split->n; p++) {
      PetscScalar *w = work + split->off[p];

      memset(w, 0, (split->off[p + 1] - split->off[p]) * sizeof(PetscScalar));
      AddTransposed(f, hermitian, p, split->lo[p], u, w);
    }
    PetscPragmaOMP(for schedule(static))
    for (PetscInt b = 0; b <= f->n / BCCOO_MERGE; b++) {
      const PetscInt start = b * BCCOO_MERGE, end = BCCOOPieceEnd(start, BCCOO_MERGE, f->n);

      BCCOOFill(start, end, z, v);
      for (PetscInt p = 0; p < split->n; p++) {
        const PetscScalar *w  = work + split->off[p];
        const PetscInt     lo = split->lo[p], hi = lo + (PetscInt)(split->off[p + 1] - split->off[p]);

        for (PetscInt j = PetscMax(start, lo); j < PetscMin(end, hi); j++) v[j] += w[j - lo];
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
