/* The layout csrc, made on the host for a device: build, new values, visit, destroy. csrc.h describes the layout. */
#include "csrc.h"

#define RADIX_BITS 11
#define RADIX_SIZE (1 << RADIX_BITS)
#define RADIX_MASK (RADIX_SIZE - 1)

/* Sorts perm[0..len-1], positions in the CSR, by column; equal columns keep their order. other is scratch for len entries. */
static void SortByColumn(const PetscInt *j, PetscInt len, PetscInt maxcol, PetscInt *perm, PetscInt *other)
{
  const int bits = 8 * (int)sizeof(maxcol);
  PetscInt *from = perm, *to = other;

  /* shift is bounded, since a shift by as many bits as a number has, or more, is undefined */
  for (int shift = 0; shift == 0 || (shift < bits && maxcol >> shift); shift += RADIX_BITS) {
    PetscInt count[RADIX_SIZE] = {0}, start = 0, *tmp;

    for (PetscInt k = 0; k < len; k++) count[(j[from[k]] >> shift) & RADIX_MASK]++;
    for (int d = 0; d < RADIX_SIZE; d++) {
      const PetscInt c = count[d];

      count[d] = start;
      start += c;
    }
    for (PetscInt k = 0; k < len; k++) to[count[(j[from[k]] >> shift) & RADIX_MASK]++] = from[k];
    tmp  = from;
    from = to;
    to   = tmp;
  }
  if (from != perm) {
    for (PetscInt k = 0; k < len; k++) perm[k] = from[k];
  }
}

/* Allocates and fills the arrays of a form whose sizes are set */
static PetscErrorCode Fill(CSRC256 *form, const AIJCSR *csr)
{
  PetscInt *other;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(form->nblocks + 1, &form->p));
  PetscCall(PetscMalloc1(csr->nnz, &form->r));
  PetscCall(PetscMalloc1(csr->nnz, &form->j));
  PetscCall(PetscMalloc1(csr->nnz, &form->v));
  PetscCall(PetscMalloc1(csr->nnz, &form->perm));
  PetscCall(PetscMalloc1(csr->nnz, &other));
  for (PetscInt g = 0; g < form->nblocks; g++) form->p[g] = csr->i[g * CSRC256_ROWS];
  form->p[form->nblocks] = csr->nnz;

  /* no PETSc call inside: threads write to disjoint pieces of the arrays, one for each row block */
  PetscPragmaOMP(parallel for schedule(dynamic, 4) num_threads(form->nthreads))
  for (PetscInt g = 0; g < form->nblocks; g++) {
    const PetscInt start = form->p[g], end = form->p[g + 1], first = g * CSRC256_ROWS, last = first + PetscMin(CSRC256_ROWS, csr->m - first);

    for (PetscInt k = start; k < end; k++) form->perm[k] = k;
    SortByColumn(csr->j, end - start, PetscMax(0, csr->n - 1), form->perm + start, other + start);
    /* other is now used for the row of each nonzero, in the order of the CSR */
    for (PetscInt i = first; i < last; i++) {
      for (PetscInt k = csr->i[i]; k < csr->i[i + 1]; k++) other[k] = i - first;
    }
    for (PetscInt k = start; k < end; k++) {
      form->r[k] = (unsigned char)other[form->perm[k]];
      form->j[k] = csr->j[form->perm[k]];
      form->v[k] = csr->a[form->perm[k]];
    }
  }
  PetscCall(PetscFree(other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Makes the layout csrc on the host from a CSR

  Input Parameter:
. csr - the matrix; the columns of a row may come in any order, and more than once

  Output Parameter:
. newform - the form, to be freed with CSRC256Destroy()

  The nonzeros of a row block are in the order of the CSR, that is by row, and are sorted by column with a stable sort. The result is
  ordered by column and, within a column, by row. Row blocks are sorted independently.
*/
PetscErrorCode CSRC256Build(const AIJCSR *csr, CSRC256 **newform)
{
  CSRC256       *form;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *newform = NULL;
  PetscCall(PetscNew(&form));
  form->m        = csr->m;
  form->n        = csr->n;
  form->nnz      = csr->nnz;
  form->nblocks  = csr->m / CSRC256_ROWS + (csr->m % CSRC256_ROWS ? 1 : 0);
  form->nthreads = csr->nnz >= CSRC256_PARALLEL ? csr->nthreads : 1;
  ierr           = Fill(form, csr);
  if (ierr) PetscCall(CSRC256Destroy(&form));
  PetscCall(ierr);
  *newform = form;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CSRC256SetValues(CSRC256 *form, const AIJCSR *csr)
{
  PetscFunctionBegin;
  PetscPragmaOMP(parallel for schedule(static) num_threads(form->nthreads))
  for (PetscInt k = 0; k < form->nnz; k++) form->v[k] = csr->a[form->perm[k]];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CSRC256Visit(const CSRC256 *form, AIJVisitor visit, void *visitctx)
{
  PetscInt row[CSRC256_ROWS];

  PetscFunctionBegin;
  for (PetscInt g = 0; g < form->nblocks; g++) {
    for (PetscInt k = form->p[g], n; k < form->p[g + 1]; k += n) {
      n = PetscMin(CSRC256_ROWS, form->p[g + 1] - k);
      for (PetscInt l = 0; l < n; l++) row[l] = g * CSRC256_ROWS + form->r[k + l];
      (*visit)(visitctx, n, row, form->j + k, form->v + k);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CSRC256Destroy(CSRC256 **form)
{
  PetscFunctionBegin;
  if (!*form) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree((*form)->p));
  PetscCall(PetscFree((*form)->r));
  PetscCall(PetscFree((*form)->j));
  PetscCall(PetscFree((*form)->v));
  PetscCall(PetscFree((*form)->perm));
  PetscCall(PetscFree(*form));
  PetscFunctionReturn(PETSC_SUCCESS);
}
