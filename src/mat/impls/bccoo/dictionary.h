#pragma once

/*
  A dictionary of values by their bits: 0.0 and -0.0 differ, a NaN equals itself if its payload does. Keys are compared and
  hashed as bytes, so that any PetscScalar will do.
*/
#include <petscsys.h>

/* Open addressing over bucket[0 .. mask], which hold places in key, or -1 */
typedef struct {
  PetscInt     n, max; /* keys present, room for keys */
  size_t       mask;
  PetscScalar *key;
  int         *bucket;
} BCCOODict;

/* Buckets for max keys, no fewer than least: so many that two keys seldom want the same one */
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
    h = (h ^ h >> 32) * UINT64_C(0x9E3779B97F4A7C15); /* small integers have their bits at the top: a product alone would leave them there */
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

/* Enters the key that lies at place e; it must not be there */
static inline void BCCOODictEnter(BCCOODict *d, int e)
{
  size_t s;

  (void)BCCOODictFind(d, &d->key[e], &s);
  d->bucket[s] = e;
}

/* A value, and how often it was met */
typedef struct {
  PetscInt    count;
  PetscScalar key;
} BCCOOFrequent;

/* Puts the k most frequent of n values first, in that order; equally frequent ones by their bits, so that it is the same in every run */
PETSC_INTERN void BCCOOSortFrequent(PetscInt n, BCCOOFrequent a[], PetscInt k);
