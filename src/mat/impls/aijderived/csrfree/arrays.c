/* A matrix without CSR from the arrays of a CSR in host or device memory; no AIJ matrix is made of them */
#include "csrfree.h"
#include "indices.h"

/* What is copied of the caller's arrays: those in the other memory, and integers of the other size */
typedef struct {
  void        *i, *j; /* on the host, of the caller's size */
  PetscInt    *widei, *widej;
  PetscScalar *a;
  PetscInt    *device[2]; /* row offsets and columns as PetscInt, on the device */
} Copies;

static PetscErrorCode FreeCopies(Copies *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(c->i));
  PetscCall(PetscFree(c->j));
  PetscCall(PetscFree(c->widei));
  PetscCall(PetscFree(c->widej));
  PetscCall(PetscFree(c->a));
#if defined(PETSCCSRC_HAVE_CUDA)
  for (int k = 0; k < 2; k++) PetscCall(PetscCSRCDeviceFree(&c->device[k]));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n integers on the host as PetscInt: the array itself, or a copy */
static PetscErrorCode AsPetscInt(const void *from, size_t size, PetscInt n, PetscInt **copy, const PetscInt **as)
{
  PetscFunctionBegin;
  *as = (const PetscInt *)from;
  if (size == sizeof(PetscInt)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n, copy));
  for (PetscInt k = 0; k < n; k++) (*copy)[k] = ((const int *)from)[k];
  *as = *copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckOffsets(const AIJCSR *csr)
{
  PetscFunctionBegin;
  PetscCheck(!csr->i[0], PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "The first row offset is %" PetscInt_FMT ", it must be 0", csr->i[0]);
  for (PetscInt r = 0; r < csr->m; r++)
    PetscCheck(csr->i[r] <= csr->i[r + 1], PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Row offsets must ascend: offset %" PetscInt_FMT " is %" PetscInt_FMT ", the next one %" PetscInt_FMT, r, csr->i[r], csr->i[r + 1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetOnHost(size_t size, const void *j, const PetscScalar *a, AIJCSR *csr, Copies *c)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCHostCopy(j, (size_t)csr->nnz, size, &c->j));
  PetscCall(PetscCSRCHostCopy(a, (size_t)csr->nnz, sizeof(*a), &c->a));
  PetscCall(AsPetscInt(c->j ? c->j : j, size, csr->nnz, &c->widej, &csr->j));
  csr->a = c->a ? c->a : a;
  for (PetscInt k = 0; k < csr->nnz; k++) PetscCheck(csr->j[k] >= 0 && csr->j[k] < csr->n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, AIJ_COLUMN_RANGE, k, csr->j[k], csr->n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
static PetscErrorCode GetOnDevice(size_t size, const void *i, const void *j, const PetscScalar *a, AIJCSR *csr, Copies *c)
{
  PetscFunctionBegin;
  csr->device.i = (const PetscInt *)i;
  csr->device.j = (const PetscInt *)j;
  csr->device.a = a;
  if (size != sizeof(PetscInt)) {
    PetscCall(AIJWidenOnDevice((const int *)i, csr->m + 1, &c->device[0]));
    PetscCall(AIJWidenOnDevice((const int *)j, csr->nnz, &c->device[1]));
    csr->device.i = c->device[0];
    csr->device.j = c->device[1];
  }
  PetscCall(AIJCheckColumnsOnDevice(csr->device.j, csr->nnz, csr->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Row offsets are needed on the host in any case; columns and values where A multiplies, if they are there */
static PetscErrorCode GetCSR(Mat A, size_t size, const void *i, const void *j, const PetscScalar *a, AIJCSR *csr, Copies *c)
{
  PetscBool ondevice = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(csr, sizeof(*csr)));
  csr->m = A->rmap->n;
  csr->n = A->cmap->n;
  PetscCall(PetscCSRCHostCopy(i, (size_t)csr->m + 1, size, &c->i));
  PetscCall(AsPetscInt(c->i ? c->i : i, size, csr->m + 1, &c->widei, &csr->i));
  PetscCall(CheckOffsets(csr));
  csr->nnz = csr->i[csr->m];
  if (!csr->nnz) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(PETSCCSRC_HAVE_CUDA)
  ondevice = c->i && MatDerivedOnDevice(A) ? PETSC_TRUE : PETSC_FALSE;
  if (ondevice) PetscCall(GetOnDevice(size, i, j, a, csr, c));
#endif
  if (!ondevice) PetscCall(GetOnHost(size, j, a, csr, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatFormSetCSR_AIJDerived(Mat A, PetscInt columns, size_t size, const void *i, const void *j, const PetscScalar *a)
{
  const PetscBool before = A->assembled;
  AIJCSR          csr;
  Copies          c = {
             NULL, NULL, NULL, NULL, NULL, {NULL, NULL}
  };
  PetscBool      isseq;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &isseq, MATSEQAIJ, MatDerivedOf(A)->kind->releasedseqname, "")); /* its name may be aijcusparse's */
  PetscCheck(isseq, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "A matrix of type %s takes no CSR: only one on a communicator of one process does", ((PetscObject)A)->type_name);
  PetscCheck(size == sizeof(PetscInt) || size == sizeof(int), PETSC_COMM_SELF, PETSC_ERR_SUP, "Integers of %zu bytes: row offsets and columns must be of %zu or %zu bytes", size, sizeof(int), sizeof(PetscInt));
  PetscCheck(MatDerivedOf(A)->released || !MatDerivedDestroyReplaced(A), PETSC_COMM_SELF, PETSC_ERR_SUP, "A submatrix that MatCreateSubMatrices() made of a parallel matrix takes no CSR");
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  ierr                           = GetCSR(A, size, i, j, a, &csr, &c);
  A->assembled                   = PETSC_TRUE;
  MatDerivedOf(A)->cache.columns = columns;
  if (!ierr) ierr = MatDerivedStoreCSR(A, &csr);
  if (ierr) A->assembled = before;
  PetscCall(FreeCopies(&c));
  PetscCall(ierr);
  if (!MatDerivedOf(A)->released) PetscCall(MatDerivedFreeCSR(A, NULL));
  A->preallocated = PETSC_TRUE;
  A->nonzerostate++;
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatFormSetCSR - Stores the nonzeros of a sequential `MATCSRCCUDA` or `MATBCCOO` matrix from the arrays of a CSR, in host or device memory

  Not Collective

  Input Parameters:
+ A       - the matrix, with sizes and type
. columns - the number of columns of most dense matrices that it will multiply, 1 for vectors
. size    - the bytes of an integer in `i` and `j`: `sizeof(PetscInt)` or `sizeof(int)`
. i       - the row offsets, from 0 on, one more than the matrix has rows
. j       - the columns
- a       - the values

  Level: intermediate

  Notes:
  All three arrays are in host memory, or all are in device memory. They are read during the call and not kept; what is computed in them on a device
  must be ordered before the stream of the current `PetscDeviceContext`. The nonzeros are stored for products at once, with the present settings of
  the matrix. Where arrays and matrix are on the device only the row offsets are copied to the host, and a matrix of type `MATAIJ` is never made.

  The matrix has no CSR then, see `MatFormSetRelease()`: `MatConvert()` to `MATAIJ` makes one. In a row the columns may have any order; formats that
  do not store the order give them back in ascending order. Another call replaces the nonzeros. Without a CSR they are not stored again when products
  turn out to be wider than `columns`.

  It is an error if the matrix is of another type, or on several processes.

.seealso: `MATCSRCCUDA`, `MATBCCOO`, `MatFormSetRelease()`, `MatCreateSeqAIJWithArrays()`
@*/
PetscErrorCode MatFormSetCSR(Mat A, PetscInt columns, size_t size, const void *i, const void *j, const PetscScalar *a)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscCheck(i, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "There are no row offsets");
  PetscUseMethod(A, "MatFormSetCSR_C", (Mat, PetscInt, size_t, const void *, const void *, const PetscScalar *), (A, columns, size, i, j, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}
