/*
  Coding simd: the coding of a chunk's values, and new values for chunks.

  The nonzeros of a chunk are in the order of its streams, not in that of the CSR. Walk() recovers their places in the CSR from the chunk
  and one counter for each row of a row task, so that no permutation needs to be stored for new values.
*/
#include "encoder.h"

#if defined(BCCOO_REAL_DOUBLE)
/*
  Whether the value is exact in single precision: zero, or an exponent of single precision and no bits below its last one. Denormal numbers of
  single precision are excluded: processors may be set to flush them. The value is not converted, which may be an exception of floating-point
  arithmetic that the program traps.
*/
static inline PetscBool IsSingle(PetscScalar v)
{
  uint64_t b;

  memcpy(&b, &v, sizeof(b));
  if (!(b << 1)) return PETSC_TRUE;
  return (PetscBool)((b >> 52 & 0x7FF) - (1023 - 126) < 254 && !(b & 0x1FFFFFFFu));
}
#endif

/* Nonzero if two values have different bits */
static inline uint64_t Differ(const void *a, const void *b)
{
  uint64_t differ = 0;

  for (size_t o = 0; o < sizeof(PetscScalar); o += sizeof(uint64_t)) {
    const size_t bytes = PetscMin(sizeof(uint64_t), sizeof(PetscScalar) - o);
    uint64_t     x = 0, y = 0;

    memcpy(&x, (const char *)a + o, bytes);
    memcpy(&y, (const char *)b + o, bytes);
    differ |= x ^ y;
  }
  return differ;
}

/* Codes the values of a chunk by a table of this chunk; returns the number of entries, or 0 if there would be too many */
static PetscInt BuildOwnTable(PetscInt n, const PetscScalar value[], uint16_t code[], PetscScalar own[])
{
  int       bucket[4 * BCCOO_SIMD_OWN];
  BCCOODict dict = BCCOODictStart(PetscMin(BCCOO_SIMD_OWN, n / 2), own, PETSC_STATIC_ARRAY_LENGTH(bucket), bucket);

  for (PetscInt k = 0; k < n; k++) {
    size_t where;
    int    entry = BCCOODictFind(&dict, &value[k], &where);

    if (entry < 0) {
      if (dict.n == dict.max || (k >= 128 && dict.n > k / 2)) return 0;
      entry = bucket[where] = (int)dict.n;
      memcpy(&own[dict.n++], &value[k], sizeof(*value));
    }
    code[k] = (uint16_t)entry;
  }
  return dict.n;
}

/* Returns the narrowest coding for the values of a chunk; code[] gets the places in the table if a table is used */
int BCCOOSIMDChooseValues(const BCCOOSIMDEncoder *e, PetscInt n, const PetscScalar value[], uint16_t code[], PetscScalar own[], PetscInt *nown)
{
  PetscInt k       = 1;
  unsigned largest = 0;

  *nown = 0;
  if (e->L->recoded > 1) return BCCOO_VALUES_FULL;
  while (k < n && !Differ(&value[k], &value[0])) k++;
  if (k == n) return BCCOO_VALUES_EQUAL;
  for (k = 0; k < n && e->dict.n; k++) {
    size_t    where;
    const int entry = BCCOODictFind(&e->dict, &value[k], &where);

    if (entry < 0) break;
    code[k] = (uint16_t)entry;
    largest = PetscMax(largest, (unsigned)entry);
  }
  if (k == n && largest < 256) return largest < BCCOO_SIMD_QUICK ? BCCOO_VALUES_SMALL : BCCOO_VALUES_TABLE;
  if (k == n) return BCCOO_VALUES_LARGE;
  if (!e->L->incache) *nown = BuildOwnTable(n, value, code, own);
  if (*nown) return BCCOO_VALUES_OWN;
#if defined(BCCOO_REAL_DOUBLE)
  for (k = 0; k < n && IsSingle(value[k]); k++) { }
  if (k == n) return BCCOO_VALUES_SINGLE;
#endif
  return BCCOO_VALUES_FULL;
}

void BCCOOSIMDWriteValues(int values, PetscInt n, const PetscScalar value[], const uint16_t code[], void *to)
{
  switch (values) {
  case BCCOO_VALUES_EQUAL:
    memcpy(to, value, sizeof(*value));
    break;
  case BCCOO_VALUES_SMALL:
  case BCCOO_VALUES_TABLE:
  case BCCOO_VALUES_OWN:
    for (PetscInt k = 0; k < n; k++) ((uint8_t *)to)[k] = (uint8_t)code[k];
    break;
  case BCCOO_VALUES_LARGE:
    memcpy(to, code, n * sizeof(*code));
    break;
#if defined(BCCOO_REAL_DOUBLE)
  case BCCOO_VALUES_SINGLE:
    for (PetscInt k = 0; k < n; k++) ((float *)to)[k] = (float)value[k];
    break;
#endif
  default:
    memcpy(to, value, n * sizeof(*value));
  }
}

/* Makes the dictionary of the matrix's table */
PetscErrorCode BCCOOSIMDMakeDict(const BCCOOSIMD *L, BCCOOSIMDEncoder *e, int **bucket)
{
  const size_t nbuckets = BCCOODictBuckets(L->ntable, 1024);

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(nbuckets, bucket));
  e->dict   = BCCOODictStart(L->ntable, L->table, nbuckets, *bucket);
  e->dict.n = L->ntable;
  for (PetscInt k = 0; k < L->ntable; k++) BCCOODictEnter(&e->dict, (int)k);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Gets for nonzero k of a chunk of row block b its place in the CSR, which[k]. done[i] is the number of nonzeros of row own + i in the chunks before; chunks of
  whole rows, which most are, do not use it. which[] must have space for BCCOO_SIMD_LANES more nonzeros, since all lanes of a step are written.
*/
static void Walk(const BCCOOSIMDEncoder *e, PetscInt b, const BCCOOSIMDChunk *chunk, PetscInt own, PetscInt done[], PetscInt which[])
{
  const BCCOOSIMDStreams s     = BCCOOSIMDGetStreams(chunk);
  const PetscInt         start = e->L->start[b], *i = e->csr->i;
  const uint16_t        *rows  = s.rows;
  const uint8_t         *steps = s.steps;

  done += chunk->row - own; /* from here on rows are counted from the chunk's first row */
  i += chunk->row;
  if (chunk->pairs) {
    for (PetscInt k = 0; k < chunk->n; k++) which[k] = PetscMax(i[rows[k]], start) + done[rows[k]]++;
  }
  for (PetscInt g = 0; g < chunk->nslices; g++) {
    const unsigned kind = s.slices[g] >> 14, nsteps = s.slices[g] & BCCOO_SLICE_STEPS, used = *steps & BCCOO_STEP_LANES;

    if (kind == BCCOO_SLICE_SINGLE) {
      PetscInt from = chunk->whole ? i[*rows] : PetscMax(i[*rows], start) + done[*rows], n = 0;

      for (const uint8_t *end = steps + nsteps; steps < end; steps++) {
        const PetscInt lanes = *steps & BCCOO_STEP_LANES;

        for (PetscInt l = 0; l < BCCOO_SIMD_LANES; l++) which[l] = from + l;
        which += lanes;
        from += lanes;
        n += lanes;
      }
      if (!chunk->whole) done[*rows] += n;
      rows++;
    } else {
      PetscInt r[BCCOO_SIMD_LANES] = {0}, from[BCCOO_SIMD_LANES] = {0};
      unsigned lanes = used;

      for (unsigned l = 0; l < used; l++) {
        r[l]    = kind == BCCOO_SLICE_LISTED ? rows[l] : rows[0] + (PetscInt)l;
        from[l] = chunk->whole ? i[r[l]] : PetscMax(i[r[l]], start) + done[r[l]];
        BCCOOSIMDPrefetch(&e->csr->a[from[l]]);
      }
      for (unsigned k = 0; k < nsteps; k++, steps++) {
        while (lanes > (*steps & BCCOO_STEP_LANES)) { /* the row of the last lane ends */
          lanes--;
          if (!chunk->whole) done[r[lanes]] += k;
        }
        for (PetscInt l = 0; l < BCCOO_SIMD_LANES; l++) which[l] = from[l]++;
        which += lanes;
      }
      while (!chunk->whole && lanes > 0) done[r[--lanes]] += nsteps;
      rows += kind == BCCOO_SLICE_LISTED ? used : 1;
    }
  }
}

/* Whether the new values of a chunk are those that it has; always false for values that are stored in full or in single precision */
static PetscBool SameValues(const BCCOOSIMDEncoder *e, const BCCOOSIMDChunk *chunk, const PetscInt pos[])
{
  const BCCOOSIMDStreams s     = BCCOOSIMDGetStreams(chunk);
  const PetscScalar     *table = chunk->values == BCCOO_VALUES_OWN ? s.table : e->L->table, *a = e->csr->a;
  uint64_t               differ = 0;

  switch (chunk->values) {
  case BCCOO_VALUES_EQUAL:
    for (PetscInt k = 0; k < chunk->n; k++) differ |= Differ(s.values, &a[pos[k]]);
    break;
  case BCCOO_VALUES_SMALL:
  case BCCOO_VALUES_TABLE:
  case BCCOO_VALUES_OWN:
    for (PetscInt k = 0; k < chunk->n; k++) differ |= Differ(&table[((const uint8_t *)s.values)[k]], &a[pos[k]]);
    break;
  case BCCOO_VALUES_LARGE:
    for (PetscInt k = 0; k < chunk->n; k++) differ |= Differ(&table[((const uint16_t *)s.values)[k]], &a[pos[k]]);
    break;
  default:
    return PETSC_FALSE;
  }
  return (PetscBool)!differ;
}

/* Writes new values into a chunk that stores values in full, or in the coding that would be chosen for them; otherwise returns false */
static PetscBool RefillChunk(const BCCOOSIMDEncoder *e, const BCCOOSIMDChunk *chunk, const PetscInt pos[])
{
  const BCCOOSIMDStreams s = BCCOOSIMDGetStreams(chunk);
  uint16_t               code[BCCOO_SIMD_MAX];
  PetscScalar            value[BCCOO_SIMD_MAX], table[BCCOO_SIMD_OWN];
  PetscInt               ntable;

  if (chunk->values == BCCOO_VALUES_FULL) { /* not compared first: values that are stored in full are likely to have changed */
    BCCOOSIMDTakeValues(e->csr->a, chunk->n, pos, (PetscScalar *)s.values);
    return PETSC_TRUE;
  }
  if (SameValues(e, chunk, pos)) return PETSC_TRUE;
  BCCOOSIMDTakeValues(e->csr->a, chunk->n, pos, value);
  if (BCCOOSIMDChooseValues(e, chunk->n, value, code, table, &ntable) != chunk->values || ntable != chunk->ntable) return PETSC_FALSE;
  memcpy((void *)s.table, table, ntable * sizeof(PetscScalar));
  BCCOOSIMDWriteValues(chunk->values, chunk->n, value, code, (void *)s.values);
  return PETSC_TRUE;
}

/* Writes new values into the chunks of row task s of row block b; done[] has space for its rows and the row after them */
static PetscBool RefillRowTask(const BCCOOSIMDEncoder *e, PetscInt b, PetscInt s, PetscInt done[])
{
  const BCCOOSIMD *L       = e->L;
  const PetscInt  *bounds  = L->taskrow + b * L->nrowtasks + s;
  PetscBool        cleared = PETSC_FALSE;
  PetscInt         pos[BCCOO_SIMD_MAX + BCCOO_SIMD_LANES];

  for (PetscInt r = 0; r < L->ncolblocks; r++) {
    for (const BCCOOSIMDChunk *chunk = BCCOORowTaskStart(L, b, r, s), *end = BCCOORowTaskEnd(L, b, r, s); chunk != end; chunk = BCCOOSIMDNext(chunk)) {
      if (!chunk->whole && !cleared) {
        memset(done, 0, (bounds[1] - bounds[0] + 1) * sizeof(*done));
        cleared = PETSC_TRUE;
      }
      Walk(e, b, chunk, bounds[0], done, pos);
      if (!RefillChunk(e, chunk, pos)) return PETSC_FALSE;
    }
  }
  return PETSC_TRUE;
}

/*
  Writes new values for the same pattern. *same is false if some chunk would need another coding for them: the matrix must then be encoded
  again. A chunk whose values are stored in full takes any values, even if a narrower coding would hold them.
*/
PetscErrorCode BCCOOSIMDSetValues(BCCOOSIMD *L, const AIJCSR *csr, PetscBool *same)
{
  BCCOOSIMDEncoder e = {.L = L, .csr = csr};
  PetscErrorCode   ierr;
  PetscInt        *done;
  int             *bucket;
  PetscInt         ndone = 0;
  PetscCount       nrows = 0; /* of any row task, with the row after it; rounded so that threads share no cache line */

  PetscFunctionBegin;
  for (PetscInt k = 0; k < L->nrowblocks * L->nrowtasks; k++) nrows = PetscMax(nrows, (PetscCount)(L->taskrow[k + 1] - L->taskrow[k]) + 1);
  nrows = BCCOORound(nrows, BCCOO_SIMD_CLAIM);
  PetscCall(PetscMalloc1(L->nrowblocks * nrows, &done));
  ierr = BCCOOSIMDMakeDict(L, &e, &bucket);
  if (ierr) PetscCall(PetscFree(done));
  PetscCall(ierr);
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nrowblocks) reduction(+ : ndone) if (L->nrowblocks > 1))
  for (PetscInt t = 0; t < L->nrowblocks; t++) {
    PetscInt tried = 0;

    BCCOOSIMDStart(L->claimed, t);
    for (PetscInt k; (k = BCCOOSIMDTake(L, L->claimed, L->taskshare, t, &tried)) >= 0;) ndone += RefillRowTask(&e, k / L->nrowtasks, k % L->nrowtasks, done + t * nrows);
  }
  PetscCall(PetscFree(done));
  PetscCall(PetscFree(bucket));
  *same = (PetscBool)(ndone == L->nrowblocks * L->nrowtasks);
  PetscFunctionReturn(PETSC_SUCCESS);
}
