/*
  Coding simd: the table of the matrix, made from a sample of its values.

  The sample is cut into parts, one for each row block. Each part is counted by a thread in a separate dictionary, and the dictionaries are
  then merged. The table is therefore the same however many threads the system grants.
*/
#include "encoder.h"

#define BCCOO_SIMD_BYTE 256 /* entries whose place takes one byte; they must be the most frequent values, the order of all others does not matter */

/* The values met so far, and how often each was met */
typedef struct {
  BCCOODict dict;
  PetscInt *count;
} Counter;

typedef struct {
  Counter       *part, all;
  PetscScalar   *key;
  PetscInt      *count;
  int           *bucket;
  BCCOOFrequent *candidate;
} TableScratch;

static size_t BucketsFor(PetscInt n)
{
  return BCCOODictBuckets(n, 16);
}

static Counter StartCounter(PetscInt max, PetscScalar key[], PetscInt count[], int bucket[])
{
  return (Counter){BCCOODictStart(max, key, BucketsFor(max), bucket), count};
}

/* The place of a value among those met so far; -1 if it is new and the dictionary is full */
static inline int Meet(Counter *c, const PetscScalar *v)
{
  size_t where;
  int    entry = BCCOODictFind(&c->dict, v, &where);

  if (entry < 0 && c->dict.n < c->dict.max) {
    entry = c->dict.bucket[where] = (int)c->dict.n++;
    memcpy(&c->dict.key[entry], v, sizeof(*v));
    c->count[entry] = 0;
  }
  return entry;
}

/* Counts a part of the sample. Unless few, the part is dropped if nearly all of its values are different. */
static void CountPart(const AIJCSR *csr, PetscInt step, PetscInt first, PetscInt end, PetscBool few, Counter *c)
{
  int entry = -1;

  for (PetscInt k = first; k < end; k++) {
    const PetscScalar *v = &csr->a[BCCOOSamplePlace(k, step)];

    if (entry < 0 || memcmp(&c->dict.key[entry], v, sizeof(*v))) entry = Meet(c, v);
    if (entry >= 0) c->count[entry]++;
    if (!few && (k - first == 1024 || k == end - 1) && c->dict.n > (k - first) / 4 * 3) {
      c->dict.n = 0;
      return;
    }
  }
}

static PetscErrorCode BuildTable(BCCOOSIMD *L, const AIJCSR *csr, TableScratch *s)
{
  const PetscBool few  = L->incache;
  const PetscInt  step = (csr->nnz - 1) / BCCOO_SIMD_SAMPLE + 1, n = csr->nnz / step, nparts = L->nrowblocks;
  const PetscInt  max = few ? PetscMin(BCCOO_SIMD_FEW, n) : n / nparts + 1, maxall = few ? max * nparts : BCCOO_SIMD_TABLE, first = few ? BCCOO_SIMD_QUICK : BCCOO_SIMD_BYTE;
  PetscBool       full = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(nparts, &s->part, (size_t)nparts * max + maxall, &s->key, (size_t)nparts * max + maxall, &s->count, nparts * BucketsFor(max) + BucketsFor(maxall), &s->bucket));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)nparts) if (nparts > 1))
  for (PetscInt p = 0; p < nparts; p++) {
    s->part[p] = StartCounter(max, s->key + (PetscCount)p * max, s->count + (PetscCount)p * max, s->bucket + p * BucketsFor(max));
    CountPart(csr, step, BCCOOPartStart(n, nparts, p), BCCOOPartStart(n, nparts, p + 1), few, &s->part[p]);
  }
  s->all = StartCounter(maxall, s->key + (PetscCount)nparts * max, s->count + (PetscCount)nparts * max, s->bucket + nparts * BucketsFor(max));
  for (PetscInt p = 0; p < nparts && !full; p++) {
    for (PetscInt e = 0; e < s->part[p].dict.n && !full; e++) {
      const PetscBool seldom = (PetscBool)(few && s->part[p].dict.n == max && s->part[p].count[e] == 1); /* the value is not among the most frequent */
      const int       entry  = seldom ? -1 : Meet(&s->all, &s->part[p].dict.key[e]);

      if (seldom) continue;
      if (entry < 0) full = PETSC_TRUE; /* too many values for a table to pay */
      else s->all.count[entry] += s->part[p].count[e];
    }
  }
  L->ntable = full ? 0 : s->all.dict.n;
  PetscCall(PetscMalloc1(L->ntable, &s->candidate));
  for (PetscInt e = 0; e < L->ntable; e++) {
    memcpy(&s->candidate[e].key, &s->all.dict.key[e], sizeof(PetscScalar));
    s->candidate[e].count = s->all.count[e];
  }
  BCCOOSortFrequent(L->ntable, s->candidate, first);
  if (few) L->ntable = PetscMin(L->ntable, BCCOO_SIMD_QUICK);
  PetscCall(PetscFree(L->table));
  PetscCall(PetscCalloc1(PetscMax(BCCOO_SIMD_QUICK, L->ntable), &L->table)); /* kernels for AVX-512 load so many into registers */
  for (PetscInt k = 0; k < L->ntable; k++) memcpy(&L->table[k], &s->candidate[k].key, sizeof(PetscScalar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Makes the table of the matrix, if a sample has few enough different values. A chunk with a value that the sample missed cannot use the
  table; other chunks can. If the stored nonzeros stay in cache, the table has only as many values as fit into registers.
*/
PetscErrorCode BCCOOSIMDBuildTable(BCCOOSIMD *L, const AIJCSR *csr)
{
  TableScratch   s = {0};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = BuildTable(L, csr, &s);
  PetscCall(PetscFree4(s.part, s.key, s.count, s.bucket));
  PetscCall(PetscFree(s.candidate));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
