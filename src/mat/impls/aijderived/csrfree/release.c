/* The setting whether a matrix frees its CSR at the first product: setter and getter, common to all kinds */
#include "csrfree.h"

static PetscErrorCode MatFormSetRelease_AIJDerived(Mat A, PetscBool flg)
{
  Mat_Derived *f = MatDerivedOf(A);
  PetscBool    isseq;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &isseq, MATSEQAIJ, f->kind->releasedseqname, "")); /* its name may be aijcusparse's */
  if (f->released && !flg) PetscCall(MatConvert(A, f->kind->name, MAT_INPLACE_MATRIX, &A));
  else f->release = !flg ? NULL : isseq ? MatDerivedReleaseSeq : MatDerivedReleaseMPI;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatFormGetRelease_AIJDerived(Mat A, PetscBool *flg)
{
  PetscFunctionBegin;
  *flg = MatDerivedOf(A)->release || MatDerivedOf(A)->released ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJComposed MatDerivedReleaseSetters[] = {
  {"MatFormSetRelease_C", (PetscErrorCodeFn *)MatFormSetRelease_AIJDerived},
  {"MatFormGetRelease_C", (PetscErrorCodeFn *)MatFormGetRelease_AIJDerived},
  {"MatFormSetCSR_C",     (PetscErrorCodeFn *)MatFormSetCSR_AIJDerived    },
  {NULL,                  NULL                                            },
};

/*@
  MatFormSetRelease - Sets whether a `MATCSRCCUDA` or `MATBCCOO` matrix frees its CSR at the first product

  Logically Collective; Collective if a freed CSR is restored

  Input Parameters:
+ A   - the matrix
- flg - `PETSC_TRUE` to free the CSR at the next product

  Options Database Key:
. -mat_form_release (true|false) - frees the CSR; the default is false

  Level: intermediate

  Notes:
  The matrix is an AIJ matrix until its first product with a vector or a dense matrix. This product stores the nonzeros and frees the
  CSR, on the host and on the device, and all other data of `MATAIJ`, some 16 bytes per nonzero; 1 to 12 remain. The type of the
  matrix is then `MATSEQCSRCCUDARELEASED`, `MATMPICSRCCUDARELEASED`, `MATSEQBCCOORELEASED` or `MATMPIBCCOORELEASED`, which are not AIJ
  types, and single entries can no longer be set.

  Such a matrix supports products with vectors and dense matrices, `MatGetDiagonal()`, `MatNorm()`, `MatDuplicate()`, `MatGetInfo()`,
  `MatView()`, `MatBindToCPU()`, and `MatConvert()` to every type; conversion to `MATAIJ` restores every bit of the old matrix. Duplication,
  conversion, diagonals, norms, and views other than ASCII info temporarily need host memory for an AIJ copy. It has no other operations: PETSc then says that the
  type has no such method. Its settings are those with which its nonzeros were stored; setters do nothing. A `MATMAIJ` reads the CSR of its matrix
  without asking whether there is one: the matrix must keep it.

  The formats on a device do not store the order of the nonzeros of a row. If the columns of a row do not ascend,
  or a row has a column twice, the product raises an error, and the CSR is kept.

  `PETSC_FALSE` restores a freed CSR: the matrix is of its old type again.

  The function does nothing for matrices of other types.

.seealso: `MATCSRCCUDA`, `MATBCCOO`, `MatFormGetRelease()`, `MatFormSetCSR()`, `MatFormGetMemory()`, `MatConvert()`
@*/
PetscErrorCode MatFormSetRelease(Mat A, PetscBool flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveBool(A, flg, 2);
  PetscTryMethod(A, "MatFormSetRelease_C", (Mat, PetscBool), (A, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatFormGetRelease - Gets whether a `MATCSRCCUDA` or `MATBCCOO` matrix frees its CSR at the first product

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameter:
. flg - `PETSC_TRUE` if the CSR will be, or has been, freed

  Level: intermediate

.seealso: `MATCSRCCUDA`, `MATBCCOO`, `MatFormSetRelease()`
@*/
PetscErrorCode MatFormGetRelease(Mat A, PetscBool *flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(flg, 2);
  PetscUseMethod(A, "MatFormGetRelease_C", (Mat, PetscBool *), (A, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}
