/*
  Makes the CSR of A^T. The columns of A are divided among the threads. Each thread reads all nonzeros in order and copies those in its
  columns, whose places are scattered but not shared with other threads. The rows of A^T are therefore sorted, and the same for any number
  of threads.
*/
#include "transpose.h"
#include "common.h"

/* Sets count[c] to the number of nonzeros in column c, first <= c < end */
static void Count(const AIJCSR *csr, PetscInt first, PetscInt end, PetscInt count[])
{
  const size_t width = (size_t)(end - first);

  for (PetscInt c = first; c < end; c++) count[c] = 0;
  for (PetscInt k = 0; k < csr->nnz; k++) {
    if ((size_t)(csr->j[k] - first) < width) count[csr->j[k]]++;
  }
}

/* Puts the nonzeros of the columns first .. end - 1 in their places; next[c] is the place of the next one in column c */
static void Place(const AIJCSR *csr, PetscInt first, PetscInt end, PetscInt next[], PetscInt j[], PetscScalar a[])
{
  const size_t width = (size_t)(end - first);

  for (PetscInt r = 0; r < csr->m; r++) {
    for (PetscInt k = csr->i[r]; k < csr->i[r + 1]; k++) {
      if ((size_t)(csr->j[k] - first) < width) {
        const PetscInt place = next[csr->j[k]]++;

        j[place] = r;
        memcpy(&a[place], &csr->a[k], sizeof(*a)); /* keeps the bits of NaN */
      }
    }
  }
}

PetscErrorCode BCCOOTransposeCSR(const AIJCSR *csr, AIJMadeCSR *t)
{
  const PetscInt n = csr->n, nparts = BCCOONumParts(csr);
  PetscInt      *next;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  /* one by one: PetscMalloc3() keeps what it got before it failed, unless it allocates one piece */
  PetscCall(PetscMemzero(t, sizeof(*t)));
  PetscCall(PetscMalloc1(n, &next));
  ierr = PetscMalloc1(n + 1, &t->i);
  if (!ierr) ierr = PetscMalloc1(csr->nnz, &t->j);
  if (!ierr) ierr = PetscMalloc1(csr->nnz, &t->a);
  if (ierr) (void)PetscFree(next);
  PetscCall(ierr);
  BCCOOAdviseHugePages(t->j, csr->nnz * sizeof(*t->j));
  BCCOOAdviseHugePages(t->a, csr->nnz * sizeof(*t->a));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)nparts))
  for (PetscInt p = 0; p < nparts; p++) Count(csr, BCCOOPartStart(n, nparts, p), BCCOOPartStart(n, nparts, p + 1), next);
  t->i[0] = 0;
  for (PetscInt c = 0; c < n; c++) {
    t->i[c + 1] = t->i[c] + next[c];
    next[c]     = t->i[c];
  }
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)nparts))
  for (PetscInt p = 0; p < nparts; p++) { /* each part has about the same number of nonzeros */
    const PetscInt first = BCCOOLowerBound(n, t->i, BCCOOPartStart(csr->nnz, nparts, p)), end = p + 1 < nparts ? BCCOOLowerBound(n, t->i, BCCOOPartStart(csr->nnz, nparts, p + 1)) : n;

    Place(csr, first, end, next, t->j, t->a);
  }
  PetscCall(PetscFree(next));
  t->csr = (AIJCSR){.m = csr->n, .n = csr->m, .nnz = csr->nnz, .i = t->i, .j = t->j, .a = t->a, .nthreads = csr->nthreads, .nprocesses = csr->nprocesses};
  PetscFunctionReturn(PETSC_SUCCESS);
}
