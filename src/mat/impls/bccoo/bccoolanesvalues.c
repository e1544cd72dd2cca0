/*
  Compression lanes: how the values of a chunk are coded, and new values for chunks.

  The nonzeros of a chunk have an order of their own, that of its streams. Walk() finds it again from the chunk: it runs
  through a band with one counter for each row, so that nothing needs to be stored to bring in new values.
*/
#include "bccoolanesencode.h"
#include <stdlib.h>

#define BCCOO_LANES_SAMPLE 32768   /* values looked at for the table */
#define BCCOO_LANES_NEAR   1048576 /* bytes that a core keeps near */
#define BCCOO_LANES_QUICK  16      /* values of a table that lie in registers */

/*
  Where what a thread reads in a product stays in its cache, bytes cost little and decoding all: a table that does not lie in
  registers takes as long as the gather from x.
*/
static inline PetscBool IsNear(const BCCOOLanes *L)
{
  return (PetscBool)((size_t)L->nnz / L->nbands * (sizeof(PetscScalar) + sizeof(uint32_t)) <= BCCOO_LANES_NEAR);
}

#if defined(BCCOO_SINGLE_PRECISION)
/* Does single precision hold all bits? Denormal numbers of single precision are left out: processors may be told to flush them */
static inline PetscBool IsSingle(PetscScalar v)
{
  const float  f = (float)v;
  const double d = f;
  uint32_t     b;

  if (memcmp(&d, &v, sizeof(d))) return PETSC_FALSE;
  memcpy(&b, &f, sizeof(b));
  return (PetscBool)((b & 0x7F800000u) != 0 || (b & 0x007FFFFFu) == 0);
}
#endif

/* Codes the values of a chunk by a table of their own; how many it has, or 0 if that would take as much as the values do */
static PetscInt BuildOwnTable(const PetscScalar a[], PetscInt n, const PetscInt pos[], uint16_t code[], PetscScalar own[])
{
  int       slot[4 * BCCOO_LANES_OWN];
  BCCOODict dict = {.n = 0, .max = PetscMin(BCCOO_LANES_OWN, n / 2), .mask = PETSC_STATIC_ARRAY_LENGTH(slot) - 1, .key = own, .slot = slot};

  memset(slot, 0xFF, sizeof(slot)); /* -1 */
  for (PetscInt k = 0; k < n; k++) {
    size_t where;
    int    entry = BCCOODictFind(&dict, &a[pos[k]], &where);

    if (entry < 0) {
      if (dict.n == dict.max || (k >= 128 && dict.n > k / 2)) return 0;
      entry = slot[where] = (int)dict.n;
      memcpy(&own[dict.n++], &a[pos[k]], sizeof(*a));
    }
    code[k] = (uint16_t)entry;
  }
  return dict.n;
}

/*
  The narrowest coding that holds the values of a chunk; code[] become the places in the table if it is used. If a NaN went
  through single precision, its bits might change on the way back: memcmp() in IsSingle() has gone that way.
*/
int BCCOOLanesChooseValues(const BCCOOLanesEncoder *e, PetscInt n, const PetscInt pos[], uint16_t code[], PetscScalar own[], PetscInt *nown)
{
  const PetscScalar *a       = e->csr->a;
  PetscInt           k       = 1;
  unsigned           largest = 0;

  *nown = 0;
  while (k < n && !memcmp(&a[pos[k]], &a[pos[0]], sizeof(*a))) k++;
  if (k == n) return BCCOO_VALUES_EQUAL;
  for (k = 0; k < n && e->dict.n; k++) {
    size_t where;
    int    entry;

    if (k && !memcmp(&a[pos[k]], &a[pos[k - 1]], sizeof(*a))) entry = code[k - 1];
    else entry = BCCOODictFind(&e->dict, &a[pos[k]], &where);
    if (entry < 0) break;
    code[k] = (uint16_t)entry;
    largest = PetscMax(largest, (unsigned)entry);
  }
  if (k == n && largest < 256) return largest < BCCOO_LANES_QUICK ? BCCOO_VALUES_SMALL : BCCOO_VALUES_TABLE;
  if (k == n) return BCCOO_VALUES_LARGE;
  if (!IsNear(e->L)) *nown = BuildOwnTable(a, n, pos, code, own);
  if (*nown) return BCCOO_VALUES_OWN;
#if defined(BCCOO_SINGLE_PRECISION)
  for (k = 0; k < n && IsSingle(a[pos[k]]); k++) { }
  if (k == n) return BCCOO_VALUES_SINGLE;
#endif
  return BCCOO_VALUES_FULL;
}

void BCCOOLanesWriteValues(int values, PetscInt n, const PetscInt pos[], const uint16_t code[], const PetscScalar a[], void *to)
{
  switch (values) {
  case BCCOO_VALUES_EQUAL:
    memcpy(to, &a[pos[0]], sizeof(*a));
    break;
  case BCCOO_VALUES_SMALL:
  case BCCOO_VALUES_TABLE:
  case BCCOO_VALUES_OWN:
    for (PetscInt k = 0; k < n; k++) ((uint8_t *)to)[k] = (uint8_t)code[k];
    break;
  case BCCOO_VALUES_LARGE:
    memcpy(to, code, n * sizeof(*code));
    break;
#if defined(BCCOO_SINGLE_PRECISION)
  case BCCOO_VALUES_SINGLE:
    for (PetscInt k = 0; k < n; k++) ((float *)to)[k] = (float)a[pos[k]];
    break;
#endif
  default: /* as bytes: nothing may touch a NaN */
    for (PetscInt k = 0; k < n; k++) memcpy((PetscScalar *)to + k, &a[pos[k]], sizeof(*a));
  }
}

/* More frequent first; equally frequent ones by their bits, so that the order is the same in every run */
static int CompareCandidates(const void *a, const void *b)
{
  const BCCOOLanesCandidate *x = (const BCCOOLanesCandidate *)a, *y = (const BCCOOLanesCandidate *)b;

  if (x->count != y->count) return x->count > y->count ? -1 : 1;
  return memcmp(&x->key, &y->key, sizeof(x->key));
}

/*
  The table: what a sample of the values shows to be few enough. A value that the sample has not met costs its chunk the
  table, and no more. It has none but its first values where the form stays in cache.
*/
PetscErrorCode BCCOOLanesBuildTable(BCCOOLanesEncoder *e, BCCOOLanesCandidate *candidate, BCCOODict *met, PetscScalar table[], PetscInt *ntable)
{
  const PetscInt step = (e->csr->nnz - 1) / BCCOO_LANES_SAMPLE + 1, n = e->csr->nnz / step;
  int            entry = -1;

  PetscFunctionBegin;
  *ntable = 0;
  for (size_t s = 0; s <= met->mask; s++) met->slot[s] = -1;
  for (PetscInt k = 0; k < n; k++) {
    const PetscScalar *v = &e->csr->a[BCCOOSamplePlace(k, step)];
    size_t             where;

    if (entry < 0 || memcmp(&met->key[entry], v, sizeof(*v))) entry = BCCOODictFind(met, v, &where);
    if (entry < 0) {
      if (met->n == met->max || (k >= 1024 && met->n > k / 4 * 3)) PetscFunctionReturn(PETSC_SUCCESS); /* hardly a value comes twice */
      entry = met->slot[where] = (int)met->n++;
      memcpy(&met->key[entry], v, sizeof(*v));
      memcpy(&candidate[entry].key, v, sizeof(*v));
      candidate[entry].count = 0;
    }
    candidate[entry].count++;
  }
  if (met->n > 1) qsort(candidate, met->n, sizeof(*candidate), CompareCandidates);
  for (PetscInt k = 0; k < met->n; k++) memcpy(&table[k], &candidate[k].key, sizeof(*table));
  *ntable = IsNear(e->L) ? PetscMin(met->n, BCCOO_LANES_QUICK) : met->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The dictionary of the table that L has */
PetscErrorCode BCCOOLanesMakeDict(const BCCOOLanes *L, BCCOOLanesEncoder *e, int **slot)
{
  size_t nslots = 16;

  PetscFunctionBegin;
  while (nslots < 4 * (size_t)L->ntable) nslots *= 2;
  PetscCall(PetscMalloc1(nslots, slot));
  for (size_t s = 0; s < nslots; s++) (*slot)[s] = -1;
  e->dict.n = e->dict.max = L->ntable;
  e->dict.mask            = nslots - 1;
  e->dict.key             = L->table;
  e->dict.slot            = *slot;
  for (PetscInt k = 0; k < L->ntable; k++) BCCOODictEnter(&e->dict, (int)k);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---------------------------------------------------------------------------------------------- new values */

/*
  For nonzero k of a chunk: row[k], and which[k], its place by column in that row as the CSR counts (from csr->i[0]). next[] is
  where each row of the band goes on, indexed from row own; it goes on behind the chunk. row may be NULL. Both arrays have
  room for BCCOO_LANES more nonzeros, since all lanes of a slot are written.
*/
static void Walk(const BCCOOLanesChunk *chunk, PetscInt own, PetscInt next[], PetscInt row[], PetscInt which[])
{
  const BCCOOLanesStreams s     = BCCOOLanesGetStreams(chunk);
  const uint16_t         *rows  = s.rows;
  const uint8_t          *slots = s.slots;

  if (chunk->pairs) {
    for (PetscInt k = 0; k < chunk->n; k++) {
      which[k] = next[chunk->row + rows[k] - own]++;
      if (row) row[k] = chunk->row + rows[k];
    }
  }
  for (PetscInt g = 0; g < chunk->ngroups; g++) {
    const unsigned kind = s.groups[g] >> 14, nslots = s.groups[g] & BCCOO_GROUP_SLOTS, used = *slots & BCCOO_SLOT_LANES;

    if (kind == BCCOO_GROUP_SINGLE) {
      PetscInt *nextrow = &next[chunk->row + *rows - own], from = *nextrow;

      for (const uint8_t *end = slots + nslots; slots < end; slots++) {
        const PetscInt lanes = *slots & BCCOO_SLOT_LANES;

        for (PetscInt l = 0; l < BCCOO_LANES; l++) which[l] = from + l;
        if (row) {
          for (PetscInt l = 0; l < BCCOO_LANES; l++) row[l] = chunk->row + *rows;
          row += lanes;
        }
        which += lanes;
        from += lanes;
      }
      *nextrow = from;
      rows++;
    } else {
      PetscInt r[BCCOO_LANES] = {0}, from[BCCOO_LANES] = {0};
      unsigned lanes = used;

      for (unsigned l = 0; l < used; l++) {
        r[l]    = chunk->row + (kind == BCCOO_GROUP_LISTED ? rows[l] : rows[0] + (PetscInt)l);
        from[l] = next[r[l] - own];
      }
      for (unsigned k = 0; k < nslots; k++, slots++) {
        while (lanes > (*slots & BCCOO_SLOT_LANES)) { /* a row that ends */
          lanes--;
          next[r[lanes] - own] = from[lanes];
        }
        for (PetscInt l = 0; l < BCCOO_LANES; l++) which[l] = from[l]++;
        if (row) {
          for (PetscInt l = 0; l < BCCOO_LANES; l++) row[l] = r[l];
          row += lanes;
        }
        which += lanes;
      }
      while (lanes > 0) {
        lanes--;
        next[r[lanes] - own] = from[lanes];
      }
      rows += kind == BCCOO_GROUP_LISTED ? used : 1;
    }
  }
}

/* Are the values of a chunk those that it has already? */
static PetscBool SameValues(const BCCOOLanesEncoder *e, const BCCOOLanesChunk *chunk, const PetscInt pos[])
{
  const BCCOOLanesStreams s     = BCCOOLanesGetStreams(chunk);
  const PetscScalar      *table = chunk->values == BCCOO_VALUES_OWN ? s.table : e->L->table, *a = e->csr->a;
  int                     differ = 0;

  switch (chunk->values) {
  case BCCOO_VALUES_EQUAL:
    for (PetscInt k = 0; k < chunk->n; k++) differ |= memcmp(s.values, &a[pos[k]], sizeof(*a)) != 0;
    break;
  case BCCOO_VALUES_SMALL:
  case BCCOO_VALUES_TABLE:
  case BCCOO_VALUES_OWN:
    for (PetscInt k = 0; k < chunk->n; k++) differ |= memcmp(&table[((const uint8_t *)s.values)[k]], &a[pos[k]], sizeof(*a)) != 0;
    break;
  case BCCOO_VALUES_LARGE:
    for (PetscInt k = 0; k < chunk->n; k++) differ |= memcmp(&table[((const uint16_t *)s.values)[k]], &a[pos[k]], sizeof(*a)) != 0;
    break;
  default:
    return PETSC_FALSE;
  }
  return (PetscBool)!differ;
}

/* Writes new values into the chunks of a band, as they are coded; false if they no longer can be */
static PetscBool RefillBand(const BCCOOLanesEncoder *e, PetscInt b, PetscInt next[])
{
  const BCCOOLanes *L   = e->L;
  const PetscInt    own = L->own[b];
  unsigned char    *p = L->data[b], *end = p + L->tile[b * (L->nranges + 1) + L->nranges];
  PetscInt          row[BCCOO_LANES_MAX + BCCOO_LANES], pos[BCCOO_LANES_MAX + BCCOO_LANES];
  uint16_t          code[BCCOO_LANES_MAX];
  PetscScalar       table[BCCOO_LANES_OWN];
  PetscInt          ntable;

  for (PetscInt i = own; i <= PetscMin(L->own[b + 1], L->m - 1); i++) next[i - own] = PetscMax(e->csr->i[i], L->start[b]);
  while (p < end) {
    const BCCOOLanesChunk  *chunk = (const BCCOOLanesChunk *)p;
    const BCCOOLanesStreams s     = BCCOOLanesGetStreams(chunk);

    p += chunk->bytes;
    Walk(chunk, own, next, e->order->nunsorted ? row : NULL, pos);
    if (e->order->nunsorted) {
      for (PetscInt k = 0; k < chunk->n; k++) pos[k] = BCCOOOrderGetPlace(e->order, e->csr, row[k], pos[k]);
    }
    if (SameValues(e, chunk, pos)) continue;
    if (chunk->values != BCCOO_VALUES_FULL) {
      if (BCCOOLanesChooseValues(e, chunk->n, pos, code, table, &ntable) != chunk->values || ntable != chunk->ntable) return PETSC_FALSE;
      memcpy((void *)s.table, table, ntable * sizeof(PetscScalar));
    }
    BCCOOLanesWriteValues(chunk->values, chunk->n, pos, code, e->csr->a, (void *)s.values);
  }
  return PETSC_TRUE;
}

/*
  New values of the same pattern. *done is false if some chunk cannot hold them as it is coded: the form must be encoded
  anew. Chunks that could now be coded in less keep their coding.
*/
PetscErrorCode BCCOOLanesSetValues(BCCOOLanes *L, const AIJFormCSR *csr, const BCCOOOrder *order, PetscBool *done)
{
  BCCOOLanesEncoder e = {.L = L, .csr = csr, .order = order};
  PetscInt         *next;
  int              *slot;
  PetscInt          ndone = 0;

  PetscFunctionBegin;
  PetscCall(BCCOOLanesMakeDict(L, &e, &slot));
  PetscCall(PetscMalloc1((size_t)L->m + L->nbands, &next));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nbands) reduction(+ : ndone))
  for (PetscInt b = 0; b < L->nbands; b++) ndone += RefillBand(&e, b, next + L->own[b] + b);
  PetscCall(PetscFree(next));
  PetscCall(PetscFree(slot));
  *done = (PetscBool)(ndone == L->nbands);
  PetscFunctionReturn(PETSC_SUCCESS);
}
