/* Matrices without CSR, of the sequential type: the CSR is decoded from the stored nonzeros, bit for bit; nonzeros are stored from another CSR */
#include "csrfree.h"

typedef struct {
  PetscInt    *next; /* place of the next nonzero of each row */
  PetscInt    *j;
  PetscScalar *a;
} Places;

static void PutInRows(void *ctx, PetscInt n, const PetscInt row[], const PetscInt col[], const PetscScalar val[])
{
  const Places *p = (const Places *)ctx;

  for (PetscInt k = 0; k < n; k++) {
    const PetscInt place = p->next[row[k]]++;

    p->j[place] = col[k];
    memcpy(&p->a[place], &val[k], sizeof(*val)); /* copies all bits, also of NaN */
  }
}

/* Gets the row pointers; the next function gets the columns and values */
static PetscErrorCode StoredGetRows(const AIJStored *stored, PetscInt m, PetscInt i[])
{
  PetscFunctionBegin;
  if (stored->format->getrows) PetscCall((*stored->format->getrows)(stored->data, i));
  else {
    PetscCall(PetscArrayzero(i, m + 1));
    PetscCall((*stored->format->visit)(stored->data, AIJCountRows, i + 1));
    for (PetscInt r = 0; r < m; r++) i[r + 1] += i[r];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StoredGetCSR(const AIJStored *stored, PetscInt m, const PetscInt i[], PetscInt j[], PetscScalar a[])
{
  PetscFunctionBegin;
  if (stored->format->getcsr) PetscCall((*stored->format->getcsr)(stored->data, i, j, a));
  else {
    Places         p = {NULL, j, a};
    PetscErrorCode ierr;

    PetscCall(PetscMalloc1(m, &p.next));
    PetscCall(PetscArraycpy(p.next, i, m));
    ierr = (*stored->format->visit)(stored->data, PutInRows, &p);
    PetscCall(PetscFree(p.next));
    PetscCall(ierr);
    for (PetscInt r = 0; r < m; r++) PetscCall(PetscSortIntWithScalarArray(i[r + 1] - i[r], j + i[r], a + i[r]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of the CSR that is decoded: their pointers and lengths, and the columns */
typedef struct {
  PetscInt *i, *len, *j;
} Rows;

static PetscErrorCode DecodeInto(Mat A, Rows *rows, Mat B)
{
  const Mat_Derived *f = MatDerivedOf(A);
  const PetscInt     m = f->cache.m;
  PetscScalar       *a;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(m, &rows->len));
  PetscCall(PetscCalloc1(m + 1, &rows->i));
  PetscCall(PetscMalloc1(f->cache.nnz + 1, &rows->j));
  if (f->cache.nnz) PetscCall(StoredGetRows(&f->cache.stored, m, rows->i));
  for (PetscInt r = 0; r < m; r++) rows->len[r] = rows->i[r + 1] - rows->i[r];

  PetscCall(MatSetSizes(B, m, f->cache.n, m, f->cache.n));
  if (!(m % A->rmap->bs) && !(f->cache.n % A->cmap->bs)) PetscCall(MatSetBlockSizesFromMats(B, A, A));
  PetscCall(MatSetTypePlainSeqAIJ(B));
  PetscCall(MatSeqAIJSetPreallocation(B, 0, rows->len));
  PetscCall(MatSeqAIJGetArrayWrite(B, &a));
  if (f->cache.nnz) PetscCall(StoredGetCSR(&f->cache.stored, m, rows->i, rows->j, a));
  PetscCall(MatSeqAIJRestoreArrayWrite(B, &a));
  PetscCall(MatSeqAIJSetColumnIndices(B, rows->j));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Restores the CSR that the nonzeros were stored from, bit for bit, including the order of the columns within a row */
PetscErrorCode MatDerivedDecode(Mat A, Mat *B)
{
  Rows           rows = {NULL, NULL, NULL};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  ierr = DecodeInto(A, &rows, *B);
  PetscCall(PetscFree(rows.i));
  PetscCall(PetscFree(rows.len));
  PetscCall(PetscFree(rows.j));
  if (ierr) PetscCall(MatDestroy(B));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the CSR of A could be restored from what was stored from it */
PetscErrorCode MatDerivedCheckRestorable(Mat A)
{
  const Mat_Derived *f = MatDerivedOf(A);
  PetscInt           m;
  const PetscInt    *i, *j;
  PetscBool          done;

  PetscFunctionBegin;
  if (!f->cache.nnz) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &m, &i, &j, &done));
  for (PetscInt r = 0; r < m; r++) {
    PetscCheck(i[r + 1] - i[r] <= f->cache.n, PETSC_COMM_SELF, PETSC_ERR_SUP, MAT_FORM_RELEASE ": local row %" PetscInt_FMT " has %" PetscInt_FMT " entries in %" PetscInt_FMT " columns, which PETSc could not allocate again", r, i[r + 1] - i[r],
               f->cache.n);
    for (PetscInt k = i[r] + 1; k < i[r + 1] && !f->cache.stored.format->getcsr; k++) {
      PetscCheck(j[k - 1] < j[k], PETSC_COMM_SELF, PETSC_ERR_SUP, MAT_FORM_RELEASE ": local row %" PetscInt_FMT " has column %" PetscInt_FMT " behind column %" PetscInt_FMT ", an order in which format %s cannot give them back", r, j[k], j[k - 1],
                 f->cache.stored.format->name);
    }
  }
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &m, &i, &j, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetGivenCSR(void *ctx, PetscBool ondevice, AIJCSR *csr)
{
  PetscFunctionBegin;
  (void)ondevice;
  *csr = *(AIJCSR *)ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stores the nonzeros of a CSR in place of those of A, in the memory where A multiplies. If this fails, A is what it was. */
PetscErrorCode MatDerivedStoreCSR(Mat A, AIJCSR *csr)
{
  Mat_Derived    *f     = MatDerivedOf(A);
  AIJStored       old   = f->cache.stored;
  const PetscBool built = f->cache.built;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  f->cache.stored = (AIJStored){NULL, NULL};
  f->cache.built  = PETSC_FALSE;
  f->cache.source = (AIJSource){GetGivenCSR, NULL, csr};
  ierr            = MatDerivedUpdate(A);
  f->cache.source = (AIJSource){NULL, NULL, NULL};
  if (ierr) {
    f->cache.stored = old;
    f->cache.built  = built;
  } else PetscCall(AIJStoredDestroy(&old));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
