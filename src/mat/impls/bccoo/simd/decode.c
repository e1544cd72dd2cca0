/*
  Reads nonzeros back: one by one, by one thread, for norms and the diagonal; and the CSR they come from, bit by bit, of which each
  band gives the part that it was made from.
*/
#include "simdimpl.h"

/* The nonzeros of one chunk, which are passed to the visitor together */
typedef struct {
  PetscInt    row[BCCOO_LANES_MAX], col[BCCOO_LANES_MAX];
  PetscScalar val[BCCOO_LANES_MAX];
} Batch;

/* Place c of the stream of columns */
static inline PetscInt ColumnAt(const BCCOOLanesChunk *chunk, const BCCOOLanesStreams *s, PetscInt c)
{
  return chunk->col + (PetscInt)(chunk->wide ? ((const uint32_t *)s->columns)[c] : ((const uint16_t *)s->columns)[c]);
}

/* Rows and columns of a chunk, in the order of its streams */
static void ReadPlaces(const BCCOOLanesChunk *chunk, const BCCOOLanesStreams *s, PetscInt row[], PetscInt col[])
{
  const uint16_t *rows  = s->rows;
  const uint8_t  *slots = s->slots;
  PetscInt        k = 0, c = 0;

  if (chunk->pairs) {
    for (; k < chunk->n; k++) {
      row[k] = chunk->row + rows[k];
      col[k] = ColumnAt(chunk, s, k);
    }
  }
  for (PetscInt g = 0; g < chunk->ngroups; g++) {
    const unsigned kind = s->groups[g] >> 14, members = *slots & BCCOO_SLOT_LANES;

    for (const uint8_t *end = slots + (s->groups[g] & BCCOO_GROUP_SLOTS); slots < end; slots++) {
      const PetscInt lanes = *slots & BCCOO_SLOT_LANES, next = *slots & BCCOO_SLOT_CONSECUTIVE ? 1 : 0, step = BCCOOSlotColumns(*slots) > 1;

      for (PetscInt l = 0; l < lanes; l++, k++) {
        row[k] = chunk->row + (kind == BCCOO_GROUP_LISTED ? rows[l] : kind == BCCOO_GROUP_CONSECUTIVE ? rows[0] + l : rows[0]);
        col[k] = ColumnAt(chunk, s, c + step * l) + next * l;
      }
      c += BCCOOSlotColumns(*slots);
    }
    rows += kind == BCCOO_GROUP_LISTED ? members : 1;
  }
}

/* Copies values as bytes, like the encoder, so that no NaN is changed. Values in single precision come back with all their bits. */
static void ReadValues(const BCCOOLanesChunk *chunk, const BCCOOLanesStreams *s, const PetscScalar table[], PetscScalar val[])
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
#if defined(BCCOO_SINGLE_PRECISION)
  case BCCOO_VALUES_SINGLE:
    for (PetscInt k = 0; k < chunk->n; k++) val[k] = ((const float *)s->values)[k];
    break;
#endif
  default:
    memcpy(val, s->values, chunk->n * sizeof(*val));
  }
}

/* Band by band, tile by tile, chunk by chunk: so the nonzeros of a row come by column */
static void VisitBand(const BCCOOLanes *L, PetscInt b, Batch *batch, AIJVisitor visit, void *ctx)
{
  for (const BCCOOLanesChunk *c = BCCOOLanesTile(L, b, 0), *end = BCCOOLanesTile(L, b, L->nranges); c != end; c = BCCOOLanesNext(c)) {
    const BCCOOLanesStreams s = BCCOOLanesGetStreams(c);

    ReadPlaces(c, &s, batch->row, batch->col);
    for (PetscInt k = 0; L->map && k < c->n; k++) batch->col[k] = BCCOOLanesMappedColumn(L, b, batch->col[k]);
    ReadValues(c, &s, L->table, batch->val);
    (*visit)(ctx, c->n, batch->row, batch->col, batch->val);
  }
}

PetscErrorCode BCCOOLanesVisit(const void *data, AIJVisitor visit, void *ctx)
{
  const BCCOOLanes *L = (const BCCOOLanes *)data;
  Batch            *batch;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(1, &batch));
  for (PetscInt b = 0; b < L->nbands; b++) VisitBand(L, b, batch, visit, ctx);
  PetscCall(PetscFree(batch));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The lengths of the rows that a band owns; returns how many nonzeros it has of the row after these */
static PetscInt CountBand(const BCCOOLanes *L, PetscInt b, PetscInt len[])
{
  PetscInt carried = 0;
  Batch    batch;

  for (const BCCOOLanesChunk *c = BCCOOLanesTile(L, b, 0), *end = BCCOOLanesTile(L, b, L->nranges); c != end; c = BCCOOLanesNext(c)) {
    const BCCOOLanesStreams s = BCCOOLanesGetStreams(c);

    if (c->carry) carried += c->n;
    else {
      ReadPlaces(c, &s, batch.row, batch.col);
      BCCOOCountRows(len, c->n, batch.row, batch.col, NULL);
    }
  }
  return carried;
}

/* Row pointers of the CSR */
PetscErrorCode BCCOOLanesGetRows(const void *data, PetscInt i[])
{
  const BCCOOLanes *L   = (const BCCOOLanes *)data;
  PetscInt         *len = i + 1, *carried;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(i, L->m + 1));
  PetscCall(PetscMalloc1(L->nbands, &carried));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nbands))
  for (PetscInt b = 0; b < L->nbands; b++) carried[b] = CountBand(L, b, len);
  for (PetscInt b = 0; b < L->nbands; b++) {
    if (carried[b]) len[L->own[b + 1]] += carried[b];
  }
  PetscCall(PetscFree(carried));
  for (PetscInt r = 0; r < L->m; r++) i[r + 1] += i[r];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The nonzeros of a band; of a row that bands share each places its own piece */
static void PlaceBand(const BCCOOLanes *L, PetscInt b, BCCOOTarget t)
{
  Batch batch;

  t.own = L->own[b];
  t.next += L->own[b] + b;
  for (PetscInt r = L->own[b]; r <= PetscMin(L->own[b + 1], L->m - 1); r++) t.next[r - t.own] = PetscMax(t.csr.i[r], L->start[b]);
  VisitBand(L, b, &batch, BCCOOPlaceNonzeros, &t);
}

/* Columns and values of the CSR whose row pointers are given, each in its old place */
PetscErrorCode BCCOOLanesGetCSR(const void *data, const PetscInt i[], PetscInt j[], PetscScalar a[])
{
  const BCCOOLanes *L = (const BCCOOLanes *)data;
  BCCOOTarget       t = {.csr = {.i = i}, .order = &L->order, .j = j, .a = a};

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((size_t)L->m + L->nbands, &t.next));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nbands))
  for (PetscInt b = 0; b < L->nbands; b++) PlaceBand(L, b, t);
  PetscCall(PetscFree(t.next));
  PetscFunctionReturn(PETSC_SUCCESS);
}
