/* Finds the rows whose columns do not ascend in the CSR, and their order by column, which is kept for new values; sorts them */
#include "common.h"

static inline PetscBool RowIsUnsorted(const AIJCSR *csr, PetscInt i)
{
  for (PetscInt k = csr->i[i] + 1; k < csr->i[i + 1]; k++) {
    if (csr->j[k] < csr->j[k - 1]) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/*
  Counts in the rows first .. end - 1 the nonzeros whose column is less than that of the nonzero before them in the row. One loop without
  branches counts over all rows, and those at the beginning of a row are then subtracted: most matrices have no others.
*/
static PetscInt CountDescents(const AIJCSR *csr, PetscInt first, PetscInt end)
{
  const PetscInt *j = csr->j;
  PetscInt        n = 0;

  for (PetscInt k = csr->i[first] + 1; k < csr->i[end]; k++) n += j[k] < j[k - 1];
  for (PetscInt i = first; i < end; i++) {
    const PetscInt k = csr->i[i];

    if (k > csr->i[first] && k < csr->i[i + 1]) n -= j[k] < j[k - 1];
  }
  return n;
}

/* Merge sort, bottom-up and stable: perm becomes the permutation that sorts j[0 .. n-1] */
static void SortRow(PetscInt n, const PetscInt j[], PetscInt perm[], PetscInt tmp[])
{
  for (PetscInt k = 0; k < n; k++) perm[k] = (PetscInt)k;
  for (PetscCount width = 1; width < n; width *= 2) {
    for (PetscCount lo = 0; lo < n; lo += 2 * width) {
      const PetscCount mid = PetscMin(lo + width, n), hi = PetscMin(lo + 2 * width, n);
      PetscCount       a = lo, b = mid;

      for (PetscInt k = lo; k < hi; k++) tmp[k] = b == hi || (a < mid && j[perm[a]] <= j[perm[b]]) ? perm[a++] : perm[b++];
    }
    memcpy(perm, tmp, n * sizeof(PetscInt));
  }
}

PetscErrorCode BCCOOOrderBuild(const AIJCSR *csr, PetscInt nthreads, BCCOOOrder *order)
{
  PetscInt  nrows = 0, nentries = 0, ndescents = 0, u = 0;
  PetscInt *tmp;

  PetscFunctionBegin;
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)nthreads) reduction(+ : ndescents))
  for (PetscInt t = 0; t < nthreads; t++) ndescents += CountDescents(csr, BCCOOPartStart(csr->m, nthreads, t), BCCOOPartStart(csr->m, nthreads, t + 1));
  if (!ndescents) PetscFunctionReturn(PETSC_SUCCESS);
  PetscPragmaOMP(parallel for schedule(static) num_threads((int)nthreads) reduction(+ : nrows, nentries))
  for (PetscInt i = 0; i < csr->m; i++) {
    if (RowIsUnsorted(csr, i)) {
      nrows++;
      nentries += csr->i[i + 1] - csr->i[i];
    }
  }

  PetscCall(PetscMalloc3(nrows, &order->urow, nrows + 1, &order->uptr, nentries, &order->perm));
  PetscCall(PetscMalloc1(nentries, &tmp));
  order->uptr[0] = 0;
  for (PetscInt i = 0; i < csr->m; i++) {
    if (RowIsUnsorted(csr, i)) {
      order->urow[u]     = i;
      order->uptr[u + 1] = order->uptr[u] + csr->i[i + 1] - csr->i[i];
      u++;
    }
  }
  order->nunsorted = nrows;
  PetscPragmaOMP(parallel for schedule(dynamic, 64) num_threads((int)nthreads))
  for (PetscInt r = 0; r < nrows; r++) SortRow(order->uptr[r + 1] - order->uptr[r], csr->j + csr->i[order->urow[r]], order->perm + order->uptr[r], tmp + order->uptr[r]);
  PetscCall(PetscFree(tmp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCCOOOrderApply(const BCCOOOrder *order, const AIJCSR *csr, PetscInt nthreads, BCCOOSorted *sorted)
{
  PetscFunctionBegin;
  *sorted = (BCCOOSorted){.csr = *csr};
  if (!order->nunsorted) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(csr->nnz, &sorted->j));
  PetscCall(PetscMalloc1(csr->nnz, &sorted->a));
  PetscCall(PetscArraycpy(sorted->j, csr->j, csr->nnz));
  PetscCall(PetscArraycpy(sorted->a, csr->a, csr->nnz));
  PetscPragmaOMP(parallel for schedule(dynamic, 64) num_threads((int)nthreads))
  for (PetscInt u = 0; u < order->nunsorted; u++) {
    const PetscInt first = csr->i[order->urow[u]], *perm = order->perm + order->uptr[u];

    for (PetscInt k = 0; k < order->uptr[u + 1] - order->uptr[u]; k++) {
      sorted->j[first + k] = csr->j[first + perm[k]];
      memcpy(&sorted->a[first + k], &csr->a[first + perm[k]], sizeof(*csr->a)); /* keeps the bits of NaN */
    }
  }
  sorted->csr.j = sorted->j;
  sorted->csr.a = sorted->a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCCOOOrderDestroy(BCCOOOrder *order)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(order->urow, order->uptr, order->perm));
  order->nunsorted = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

size_t BCCOOOrderGetBytes(const BCCOOOrder *order)
{
  return order->nunsorted ? (2 * (size_t)order->nunsorted + 1 + order->uptr[order->nunsorted]) * sizeof(PetscInt) : 0;
}
