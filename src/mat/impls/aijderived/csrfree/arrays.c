/* The CSR that users give as arrays in host or device memory */
#include "../derivedimpl.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include "widen.h"
#endif

PetscErrorCode MatDerivedFreeCopies(AIJCopies *c)
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

static PetscErrorCode GetOnHost(size_t size, const void *j, const PetscScalar *a, AIJCSR *csr, AIJCopies *c)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCHostCopy(j, (size_t)csr->nnz, size, &c->j));
  PetscCall(PetscCSRCHostCopy(a, (size_t)csr->nnz, sizeof(*a), &c->a));
  PetscCall(AsPetscInt(c->j ? c->j : j, size, csr->nnz, &c->widej, &csr->j));
  csr->a = c->a ? c->a : a;
  if (!PetscDefined(USE_DEBUG)) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < csr->nnz; k++)
    PetscCheck(csr->j[k] >= 0 && csr->j[k] < csr->n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Nonzero %" PetscInt_FMT " has column %" PetscInt_FMT ", there are %" PetscInt_FMT " columns", k, csr->j[k], csr->n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
static PetscErrorCode GetOnDevice(size_t size, const void *i, const void *j, const PetscScalar *a, AIJCSR *csr, AIJCopies *c)
{
  PetscFunctionBegin;
  csr->device.i = (const PetscInt *)i;
  csr->device.j = (const PetscInt *)j;
  csr->device.a = a;
  if (size == sizeof(PetscInt)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJWidenOnDevice((const int *)i, csr->m + 1, &c->device[0]));
  PetscCall(AIJWidenOnDevice((const int *)j, csr->nnz, &c->device[1]));
  csr->device.i = c->device[0];
  csr->device.j = c->device[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Row offsets are needed on the host in any case; columns and values where A multiplies, if they are there */
PetscErrorCode MatDerivedReadArrays(Mat A, size_t size, const void *i, const void *j, const PetscScalar *a, AIJCSR *csr, AIJCopies *c)
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
