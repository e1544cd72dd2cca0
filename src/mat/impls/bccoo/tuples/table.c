/*
  The value table: the most frequent values of a matrix, in memory that does not grow with it.

  Values are counted in dictionaries of a fixed size. When one is full, the median count is subtracted from all counts, and values
  whose count falls to zero are dropped (the mergeable form of the frequent items algorithm of Misra and Gries). Every round subtracts
  the median from at least half of the counts, so that all rounds together subtract at most 2 nnz / BCCOO_COUNTED from any value. A
  value that occurs more often is still there at the end, and a second pass counts it exactly. The table thus has the 256 most frequent
  of the values that occur more often than 2 nnz / BCCOO_COUNTED times; other values would save almost nothing. It is the same for
  every number of parts.
*/
#include "mat/impls/bccoo/dictionary.h"
#include "tuplesimpl.h"

typedef struct {
  BCCOODict dict;
  PetscInt *count, *tmp;
  PetscBool dropped; /* counts are lower bounds */
} BCCOOCounter;

/* The counters, their arrays of max values for each, and the candidates for the table */
typedef struct {
  BCCOOCounter  *counter;
  PetscScalar   *key;
  PetscInt      *count, *tmp;
  int           *bucket;
  BCCOOFrequent *candidate;
} BCCOOTableScratch;

/* Returns the k-th smallest of a[0 .. n-1], and reorders these */
static PetscInt Select(PetscInt n, PetscInt a[], PetscInt k)
{
  PetscInt lo = 0, hi = n - 1;

  while (lo < hi) {
    PetscInt i = lo, j = hi, pivot = a[lo + (hi - lo) / 2];

    while (i <= j) {
      while (a[i] < pivot) i++;
      while (a[j] > pivot) j--;
      if (i <= j) {
        PetscInt t = a[i];

        a[i++] = a[j];
        a[j--] = t;
      }
    }
    if (k <= j) hi = j;
    else if (k >= i) lo = i;
    else break;
  }
  return a[k];
}

/* Subtracts the median count from all counts; at least half of the values are dropped */
static void Reduce(BCCOOCounter *c)
{
  PetscInt n = c->dict.n, median;

  memcpy(c->tmp, c->count, n * sizeof(PetscInt));
  median  = Select(n, c->tmp, n / 2);
  c->dict = BCCOODictStart(c->dict.max, c->dict.key, c->dict.mask + 1, c->dict.bucket);
  for (PetscInt e = 0; e < n; e++) {
    if (c->count[e] > median) {
      memmove(&c->dict.key[c->dict.n], &c->dict.key[e], sizeof(PetscScalar));
      c->count[c->dict.n] = c->count[e] - median;
      BCCOODictEnter(&c->dict, (int)c->dict.n++);
    }
  }
  c->dropped = PETSC_TRUE;
}

static inline void Count(BCCOOCounter *c, const PetscScalar *v, PetscInt times)
{
  size_t where;
  int    e = BCCOODictFind(&c->dict, v, &where);

  if (e < 0) {
    if (c->dict.n == c->dict.max) {
      Reduce(c);
      (void)BCCOODictFind(&c->dict, v, &where);
    }
    e = c->dict.bucket[where] = (int)c->dict.n++;
    memcpy(&c->dict.key[e], v, sizeof(*v));
    c->count[e] = 0;
  }
  c->count[e] += times;
}

/* Starts counter p, for max values */
static BCCOOCounter *StartCounter(const BCCOOTableScratch *s, PetscInt p, PetscInt max, size_t nbuckets)
{
  s->counter[p] = (BCCOOCounter){.dict = BCCOODictStart(max, s->key + (PetscCount)p * max, nbuckets, s->bucket + p * nbuckets), .count = s->count + (PetscCount)p * max, .tmp = s->tmp + (PetscCount)p * max};
  return &s->counter[p];
}

static PetscErrorCode TableBuild(PetscInt nparts, PetscInt nnz, const PetscScalar a[], BCCOOTableScratch *s, PetscScalar table[], PetscInt *ntable, PetscInt *ntabled)
{
  const PetscInt often = nnz / (BCCOO_COUNTED / 2);
  const PetscInt max   = PetscMin(nnz, BCCOO_COUNTED);
  BCCOOCounter  *all; /* the counter into which those of the parts are merged */
  PetscBool      dropped     = PETSC_FALSE;
  size_t         nbuckets    = 1;
  PetscInt       ncandidates = 0;

  PetscFunctionBegin;
  while (nbuckets < 2 * (size_t)max) nbuckets *= 2;
  PetscCall(PetscMalloc6(nparts + 1, &s->counter, (size_t)(nparts + 1) * max, &s->key, (size_t)(nparts + 1) * max, &s->count, (size_t)(nparts + 1) * max, &s->tmp, (nparts + 1) * nbuckets, &s->bucket, max, &s->candidate));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)nparts))
  for (PetscInt p = 0; p < nparts; p++) {
    BCCOOCounter *c = StartCounter(s, p, max, nbuckets);

    for (PetscInt k = BCCOOPartStart(nnz, nparts, p); k < BCCOOPartStart(nnz, nparts, p + 1); k++) Count(c, &a[k], 1);
  }

  all = StartCounter(s, nparts, max, nbuckets);
  for (PetscInt p = 0; p < nparts; p++) {
    for (PetscInt e = 0; e < s->counter[p].dict.n; e++) Count(all, &s->counter[p].dict.key[e], s->counter[p].count[e]);
    if (s->counter[p].dropped) dropped = PETSC_TRUE;
  }
  if (all->dropped) dropped = PETSC_TRUE;

  if (dropped) {
    PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)nparts))
    for (PetscInt p = 0; p < nparts; p++) {
      PetscInt *count = s->counter[p].tmp;

      memset(count, 0, all->dict.n * sizeof(PetscInt));
      for (PetscInt k = BCCOOPartStart(nnz, nparts, p); k < BCCOOPartStart(nnz, nparts, p + 1); k++) {
        size_t where;
        int    e = BCCOODictFind(&all->dict, &a[k], &where);

        if (e >= 0) count[e]++;
      }
    }
    for (PetscInt e = 0; e < all->dict.n; e++) {
      all->count[e] = 0;
      for (PetscInt p = 0; p < nparts; p++) all->count[e] += s->counter[p].tmp[e];
    }
  }

  /* An entry costs a scalar; a nonzero that is coded through it costs a byte in place of a scalar */
  for (PetscInt e = 0; e < all->dict.n; e++) {
    if (all->count[e] > often && (size_t)all->count[e] > sizeof(PetscScalar) / (sizeof(PetscScalar) - 1)) {
      memcpy(&s->candidate[ncandidates].key, &all->dict.key[e], sizeof(PetscScalar));
      s->candidate[ncandidates++].count = all->count[e];
    }
  }
  BCCOOSortFrequent(ncandidates, s->candidate, BCCOO_TABLE);
  *ntable  = PetscMin(ncandidates, BCCOO_TABLE);
  *ntabled = 0;
  for (PetscInt e = 0; e < *ntable; e++) {
    memcpy(&table[e], &s->candidate[e].key, sizeof(PetscScalar));
    *ntabled += s->candidate[e].count;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BCCOOTableBuild - Finds the values that are to be coded as a byte

  Input Parameters:
+ nparts - number of parts into which the work is divided
. nnz    - number of values
- a      - the values

  Output Parameters:
+ table   - the values found, the most frequent first, at most BCCOO_TABLE
. ntable  - their number
- ntabled - number of the nnz values that are in the table
*/
PetscErrorCode BCCOOTableBuild(PetscInt nparts, PetscInt nnz, const PetscScalar a[], PetscScalar table[], PetscInt *ntable, PetscInt *ntabled)
{
  BCCOOTableScratch s = {0};
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  ierr = TableBuild(nparts, nnz, a, &s, table, ntable, ntabled);
  PetscCall(PetscFree6(s.counter, s.key, s.count, s.tmp, s.bucket, s.candidate));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
