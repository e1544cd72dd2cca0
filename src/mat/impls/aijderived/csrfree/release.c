/* Functions and option for users: whether a matrix frees its CSR at the first product; a matrix from the arrays of a CSR */
#include "../derivedimpl.h"

PetscErrorCode MatDerivedReleaseSetFromOptions(Mat A, PetscOptionItemsArg PetscOptionsObject)
{
  PetscBool release, set;

  PetscFunctionBegin;
  release = MatDerivedOf(A)->release ? PETSC_TRUE : PETSC_FALSE;
  PetscOptionsHeadBegin(PetscOptionsObject, "Options for stored nonzeros");
  PetscCall(PetscOptionsBool(MAT_FORM_RELEASE, "Free the CSR at the first product", "MatFormSetRelease", release, &release, &set));
  PetscOptionsHeadEnd();
  if (set) PetscCall(MatFormSetRelease_AIJDerived(A, release));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  `MatView()`, `MatBindToCPU()`, and `MatConvert()` to every type; conversion to `MATAIJ` restores every bit of the old matrix (with
  `-mat_csrc_values single`, of the rounded matrix). Duplication, conversion and views other than ASCII info temporarily need host memory
  for an AIJ copy. It has no other operations: PETSc then says that the type has no such method. Its settings are those with which its
  nonzeros were stored; setters do nothing. A `MATMAIJ` reads the CSR of its matrix without asking whether there is one: the matrix must
  keep it.

  The formats on a device, and the layout `csrc`, do not store the order of the nonzeros of a row. If the columns of a row do not ascend,
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

/*@
  MatFormSetCSR - Stores the nonzeros of a sequential `MATCSRCCUDA` or `MATBCCOO` matrix from the arrays of a CSR, in host or device memory

  Not Collective

  Input Parameters:
+ A    - the matrix, with sizes and type
. size - the bytes of an integer in `i` and `j`: `sizeof(PetscInt)` or `sizeof(int)`
. i    - the row offsets, from 0 on, one more than the matrix has rows
. j    - the columns
- a    - the values

  Level: intermediate

  Notes:
  All three arrays are in host memory, or all are in device memory. They are read during the call and not kept; what is computed in them on a device
  must be ordered before the stream of the current `PetscDeviceContext`. The nonzeros are stored for products at once, with the present settings of
  the matrix. Where arrays and matrix are on the device only the row offsets are copied to the host, and a matrix of type `MATAIJ` is never made.

  The matrix has no CSR then, see `MatFormSetRelease()`: `MatConvert()` to `MATAIJ` makes one. In a row the columns may have any order; formats that
  do not store the order give them back in ascending order. Another call replaces the nonzeros.

  It is an error if the matrix is of another type, or on several processes.

.seealso: `MATCSRCCUDA`, `MATBCCOO`, `MatFormSetRelease()`, `MatCreateSeqAIJWithArrays()`
@*/
PetscErrorCode MatFormSetCSR(Mat A, size_t size, const void *i, const void *j, const PetscScalar *a)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscCheck(i, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "There are no row offsets");
  PetscUseMethod(A, "MatFormSetCSR_C", (Mat, size_t, const void *, const void *, const PetscScalar *), (A, size, i, j, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}
