/* Decodes chunks in one thread: visits the nonzeros, for norms and the diagonal, and restores the CSR bit for bit */
#include "cursor.h"

/* The nonzeros of one chunk, which are passed to the visitor together */
typedef struct {
  PetscInt    row[BCCOO_CHUNK], col[BCCOO_CHUNK];
  PetscScalar val[BCCOO_CHUNK];
} Batch;

static inline void VisitChunks(const BCCOOTuples *f, BCCOOCoding coding, Batch *batch, AIJVisitor visit, void *ctx)
{
  for (PetscInt c = 0; c < f->nchunks; c++) {
    PetscInt    n = 0;
    BCCOOCursor q;

    BCCOOCursorStart(&q, f, coding, c, c + 1);
    while (BCCOOCursorNext(&q, f, coding)) {
      batch->row[n] = q.row;
      batch->col[n] = q.col;
      memcpy(&batch->val[n++], &q.val, sizeof(q.val));
    }
    (*visit)(ctx, n, batch->row, batch->col, batch->val);
  }
}

PetscErrorCode BCCOOTuplesVisit(const void *data, AIJVisitor visit, void *ctx)
{
  const BCCOOTuples *f = (const BCCOOTuples *)data;
  Batch              batch;

  PetscFunctionBegin;
  if (f->coding == CODING_NONE) VisitChunks(f, CODING_NONE, &batch, visit, ctx);
  else VisitChunks(f, CODING_TUPLES, &batch, visit, ctx);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCCOOTuplesGetCSR(const void *data, const PetscInt i[], PetscInt j[], PetscScalar a[])
{
  const BCCOOTuples *f = (const BCCOOTuples *)data;
  BCCOOTarget        t = {.csr = {.i = i}, .order = &f->order, .j = j, .a = a};

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(f->m, &t.next));
  PetscCall(PetscArraycpy(t.next, i, f->m));
  PetscCall(BCCOOTuplesVisit(data, BCCOOPlaceNonzeros, &t));
  PetscCall(PetscFree(t.next));
  PetscFunctionReturn(PETSC_SUCCESS);
}
