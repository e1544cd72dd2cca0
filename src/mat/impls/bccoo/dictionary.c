/* Sorts the most frequent values of a dictionary */
#include "dictionary.h"
#include <stdlib.h>

static int CompareFrequent(const void *a, const void *b)
{
  const BCCOOFrequent *x = (const BCCOOFrequent *)a, *y = (const BCCOOFrequent *)b;

  if (x->count != y->count) return x->count > y->count ? -1 : 1;
  return memcmp(&x->key, &y->key, sizeof(x->key));
}

/* Moves the first k of n values, in the order of CompareFrequent(), before the others: Hoare's selection */
static void Select(PetscInt n, BCCOOFrequent a[], PetscInt k)
{
  PetscInt lo = 0, hi = n - 1;

  while (lo < hi) {
    PetscInt      i = lo, j = hi;
    BCCOOFrequent pivot, t;

    memcpy(&pivot, &a[lo + (hi - lo) / 2], sizeof(pivot));
    while (i <= j) {
      while (CompareFrequent(&a[i], &pivot) < 0) i++;
      while (CompareFrequent(&a[j], &pivot) > 0) j--;
      if (i <= j) {
        memcpy(&t, &a[i], sizeof(t));
        memcpy(&a[i++], &a[j], sizeof(t));
        memcpy(&a[j--], &t, sizeof(t));
      }
    }
    if (k <= j) hi = j;
    else if (k >= i) lo = i;
    else break;
  }
}

void BCCOOSortFrequent(PetscInt n, BCCOOFrequent a[], PetscInt k)
{
  if (n > k) Select(n, a, k);
  if (n > 1) qsort(a, PetscMin(n, k), sizeof(*a), CompareFrequent);
}
