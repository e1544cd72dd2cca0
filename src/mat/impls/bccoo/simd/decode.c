/*
  Decodes nonzeros: chunk by chunk in one thread, for norms and the diagonal; and all threads together to restore the CSR bit for bit, where
  each row block restores the part that it was made from.
*/
#include "simdimpl.h"

/* The nonzeros of one chunk, which are passed to the visitor together */
typedef struct {
  PetscInt    row[BCCOO_SIMD_MAX], col[BCCOO_SIMD_MAX];
  PetscScalar val[BCCOO_SIMD_MAX];
} Batch;

/* Item c of the stream of columns */
static inline PetscInt ColumnAt(const BCCOOSIMDChunk *chunk, const BCCOOSIMDStreams *s, PetscInt c)
{
  return chunk->col + (PetscInt)(chunk->wide ? ((const uint32_t *)s->columns)[c] : ((const uint16_t *)s->columns)[c]);
}

/* Gets the rows and columns of a chunk, in the order of its streams */
static void ReadPlaces(const BCCOOSIMDChunk *chunk, const BCCOOSIMDStreams *s, PetscInt row[], PetscInt col[])
{
  const uint16_t *rows  = s->rows;
  const uint8_t  *steps = s->steps;
  PetscInt        k = 0, c = 0;

  if (chunk->pairs) {
    for (; k < chunk->n; k++) {
      row[k] = chunk->row + rows[k];
      col[k] = ColumnAt(chunk, s, k);
    }
  }
  for (PetscInt g = 0; g < chunk->nslices; g++) {
    const unsigned kind = s->slices[g] >> 14, members = *steps & BCCOO_STEP_LANES;

    for (const uint8_t *end = steps + (s->slices[g] & BCCOO_SLICE_STEPS); steps < end; steps++) {
      const PetscInt lanes = *steps & BCCOO_STEP_LANES, next = *steps & BCCOO_STEP_CONSECUTIVE ? 1 : 0, jump = BCCOOStepColumns(*steps) > 1;

      for (PetscInt l = 0; l < lanes; l++, k++) {
        row[k] = chunk->row + (kind == BCCOO_SLICE_LISTED ? rows[l] : kind == BCCOO_SLICE_CONSECUTIVE ? rows[0] + l : rows[0]);
        col[k] = ColumnAt(chunk, s, c + jump * l) + next * l;
      }
      c += BCCOOStepColumns(*steps);
    }
    rows += kind == BCCOO_SLICE_LISTED ? members : 1;
  }
}

/* Gets the values of a chunk. They are copied as bytes, as by the encoder, so that no NaN is changed; values in single precision are exact. */
static void ReadValues(const BCCOOSIMDChunk *chunk, const BCCOOSIMDStreams *s, const PetscScalar table[], PetscScalar val[])
{
  const uint8_t  *byte = (const uint8_t *)s->values;
  const uint16_t *two  = (const uint16_t *)s->values;

  switch (chunk->values) {
  case BCCOO_VALUES_EQUAL:
    for (PetscInt k = 0; k < chunk->n; k++) memcpy(&val[k], s->values, sizeof(*val));
    break;
  case BCCOO_VALUES_SMALL:
  case BCCOO_VALUES_TABLE:
    for (PetscInt k = 0; k < chunk->n; k++) memcpy(&val[k], &table[byte[k]], sizeof(*val));
    break;
  case BCCOO_VALUES_OWN:
    for (PetscInt k = 0; k < chunk->n; k++) memcpy(&val[k], &s->table[byte[k]], sizeof(*val));
    break;
  case BCCOO_VALUES_LARGE:
    for (PetscInt k = 0; k < chunk->n; k++) memcpy(&val[k], &table[two[k]], sizeof(*val));
    break;
#if defined(BCCOO_REAL_DOUBLE)
  case BCCOO_VALUES_SINGLE:
    for (PetscInt k = 0; k < chunk->n; k++) val[k] = ((const float *)s->values)[k];
    break;
#endif
  default:
    memcpy(val, s->values, chunk->n * sizeof(*val));
  }
}

/* Visits the nonzeros of a row block, tile by tile and chunk by chunk: the nonzeros of a row then come sorted by column */
static void VisitRowBlock(const BCCOOSIMD *L, PetscInt b, Batch *batch, AIJVisitor visit, void *ctx)
{
  for (const BCCOOSIMDChunk *c = BCCOOSIMDTile(L, b, 0), *end = BCCOOSIMDTile(L, b, L->ncolblocks); c != end; c = BCCOOSIMDNext(c)) {
    const BCCOOSIMDStreams s = BCCOOSIMDGetStreams(c);

    ReadPlaces(c, &s, batch->row, batch->col);
    for (PetscInt k = 0; L->map && k < c->n; k++) batch->col[k] = BCCOOSIMDMappedColumn(L, b, batch->col[k]);
    ReadValues(c, &s, L->table, batch->val);
    (*visit)(ctx, c->n, batch->row, batch->col, batch->val);
  }
}

PetscErrorCode BCCOOSIMDVisit(const void *data, AIJVisitor visit, void *ctx)
{
  const BCCOOSIMD *L = (const BCCOOSIMD *)data;
  Batch            batch;

  PetscFunctionBegin;
  for (PetscInt b = 0; b < L->nrowblocks; b++) VisitRowBlock(L, b, &batch, visit, ctx);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Counts the nonzeros of each row that a row block owns; returns the number of its nonzeros in the row after these */
static PetscInt CountRowBlock(const BCCOOSIMD *L, PetscInt b, PetscInt len[])
{
  PetscInt carried = 0;
  Batch    batch;

  for (const BCCOOSIMDChunk *c = BCCOOSIMDTile(L, b, 0), *end = BCCOOSIMDTile(L, b, L->ncolblocks); c != end; c = BCCOOSIMDNext(c)) {
    const BCCOOSIMDStreams s = BCCOOSIMDGetStreams(c);

    if (c->carry) carried += c->n;
    else {
      ReadPlaces(c, &s, batch.row, batch.col);
      AIJCountRows(len, c->n, batch.row, batch.col, NULL);
    }
  }
  return carried;
}

/* Gets the row pointers of the CSR */
PetscErrorCode BCCOOSIMDGetRows(const void *data, PetscInt i[])
{
  const BCCOOSIMD *L   = (const BCCOOSIMD *)data;
  PetscInt        *len = i + 1, *carried;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(i, L->m + 1));
  PetscCall(PetscMalloc1(L->nrowblocks, &carried));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nrowblocks))
  for (PetscInt b = 0; b < L->nrowblocks; b++) carried[b] = CountRowBlock(L, b, len);
  for (PetscInt b = 0; b < L->nrowblocks; b++) {
    if (carried[b]) len[L->own[b + 1]] += carried[b];
  }
  PetscCall(PetscFree(carried));
  for (PetscInt r = 0; r < L->m; r++) i[r + 1] += i[r];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The context of PlaceNonzeros(), which puts nonzeros in their places in the CSR; next[k]: place of the next one of row own + k if the row were sorted */
typedef struct {
  const BCCOOOrder *order;
  const PetscInt   *i;
  PetscInt          own, *next, *j;
  PetscScalar      *a;
} Target;

static void PlaceNonzeros(void *ctx, PetscInt n, const PetscInt row[], const PetscInt col[], const PetscScalar val[])
{
  const Target     *t = (const Target *)ctx;
  const BCCOOOrder *o = t->order;

  for (PetscInt k = 0; k < n; k++) {
    const PetscInt first = t->i[row[k]], u = BCCOOLowerBound(o->nunsorted, o->urow, row[k]);
    PetscInt       pos = t->next[row[k] - t->own]++;

    if (u < o->nunsorted && o->urow[u] == row[k]) pos = first + o->perm[o->uptr[u] + pos - first];
    t->j[pos] = col[k];
    memcpy(&t->a[pos], &val[k], sizeof(*val));
  }
}

/* Puts the nonzeros of a row block in their places in the CSR; of a row that several row blocks share, each places its own nonzeros */
static void PlaceRowBlock(const BCCOOSIMD *L, PetscInt b, Target t)
{
  Batch batch;

  t.own = L->own[b];
  t.next += L->own[b] + b;
  for (PetscInt r = L->own[b]; r <= PetscMin(L->own[b + 1], L->m - 1); r++) t.next[r - t.own] = PetscMax(t.i[r], L->start[b]);
  VisitRowBlock(L, b, &batch, PlaceNonzeros, &t);
}

/* Gets the columns and values of the CSR with the given row pointers, each in its old place */
PetscErrorCode BCCOOSIMDGetCSR(const void *data, const PetscInt i[], PetscInt j[], PetscScalar a[])
{
  const BCCOOSIMD *L = (const BCCOOSIMD *)data;
  Target           t = {.i = i, .order = &L->order, .j = j, .a = a};

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((size_t)L->m + L->nrowblocks, &t.next));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nrowblocks))
  for (PetscInt b = 0; b < L->nrowblocks; b++) PlaceRowBlock(L, b, t);
  PetscCall(PetscFree(t.next));
  PetscFunctionReturn(PETSC_SUCCESS);
}
