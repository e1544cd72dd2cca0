#pragma once

/*
  A dictionary of values. Keys are compared and hashed as bytes, so that it works for any PetscScalar: 0.0 and -0.0 differ, NaNs with
  the same bits are equal.
*/
#include <petscsys.h>

/* A hash table with open addressing: bucket[0 .. mask] have places in key[], or -1 */
typedef struct {
  PetscInt     n, max; /* number of keys, and the largest number for which there is memory */
  size_t       mask;
  PetscScalar *key;
  int         *bucket;
} BCCOODict;

/* Number of buckets for max keys, at least least: so many that keys seldom collide */
static inline size_t BCCOODictBuckets(PetscInt max, size_t least)
{
  size_t nbuckets = least;

  while (nbuckets < 4 * (size_t)max) nbuckets *= 2;
  return nbuckets;
}

/* An empty dictionary; the number of buckets is a power of two */
static inline BCCOODict BCCOODictStart(PetscInt max, PetscScalar key[], size_t nbuckets, int bucket[])
{
  memset(bucket, 0xFF, nbuckets * sizeof(*bucket)); /* -1 */
  return (BCCOODict){.max = max, .mask = nbuckets - 1, .key = key, .bucket = bucket};
}

static inline size_t BCCOOHash(const PetscScalar *v)
{
  uint64_t h = 0;

  for (size_t o = 0; o < sizeof(*v); o += sizeof(uint64_t)) {
    uint64_t w = 0;

    memcpy(&w, (const char *)v + o, PetscMin(sizeof(w), sizeof(*v) - o));
    h ^= w;
    h = (h ^ h >> 32) * UINT64_C(0x9E3779B97F4A7C15); /* small integers have their bits at the top, where a product alone would leave them */
    h ^= h >> 32;
  }
  return (size_t)h;
}

/* Place of *v among the keys, or -1; *where is the bucket that holds it or would hold it */
static inline int BCCOODictFind(const BCCOODict *d, const PetscScalar *v, size_t *where)
{
  size_t s = BCCOOHash(v) & d->mask;

  while (d->bucket[s] >= 0 && memcmp(&d->key[d->bucket[s]], v, sizeof(*v))) s = (s + 1) & d->mask;
  *where = s;
  return d->bucket[s];
}

/* Enters key[e], which must not be in the dictionary yet */
static inline void BCCOODictEnter(BCCOODict *d, int e)
{
  size_t s;

  (void)BCCOODictFind(d, &d->key[e], &s);
  d->bucket[s] = e;
}

/* A value, and how often it occurs */
typedef struct {
  PetscInt    count;
  PetscScalar key;
} BCCOOFrequent;

/* Puts the k most frequent of n values first, the most frequent at the front; ties are broken by the bits, so that the result is the same in every run */
PETSC_INTERN void BCCOOSortFrequent(PetscInt n, BCCOOFrequent a[], PetscInt k);
