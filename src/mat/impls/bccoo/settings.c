/* MATBCCOO: options, setters and getters. A new setting takes effect at the next product. */
#include "settings.h"
#include <stddef.h>

const char *const MatBCCOOCompressions[] = {"none", "tuples", "simd", "csr", "MatBCCOOCompression", "MAT_BCCOO_COMPRESSION_", NULL};

const BCCOOSettings BCCOODefaults = {MAT_BCCOO_COMPRESSION_SIMD};

AIJ_SETTING(MatBCCOOSetCompression_BCCOO, MatBCCOOGetCompression_BCCOO, MatBCCOOCompression, BCCOOSettings, compression, MatBCCOOCompressions)

PetscErrorCode BCCOOSetFromOptions(Mat A, const void *settings, PetscOptionItemsArg PetscOptionsObject)
{
  const BCCOOSettings *bccoo = (const BCCOOSettings *)settings;
  PetscEnum            value;
  PetscBool            set, release;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "BCCOO options");
  PetscCall(AIJOptionsEnum(PetscOptionsObject, "-mat_bccoo_compression", "compression", "How the nonzeros are coded", "MatBCCOOSetCompression", MatBCCOOCompressions, (PetscEnum)bccoo->compression, &value, &set));
  if (set) PetscCall(MatBCCOOSetCompression_BCCOO(A, (MatBCCOOCompression)value));
  PetscCall(MatDerivedGetRelease(A, &release));
  PetscCall(PetscOptionsBool("-mat_bccoo_release_aij", "Free the CSR at the first product", "MatBCCOOSetReleaseAIJ", release, &release, &set));
  if (set) PetscCall(MatDerivedSetRelease(A, release));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJComposed BCCOOSetters[] = {
  {"MatBCCOOSetCompression_C", (PetscErrorCodeFn *)MatBCCOOSetCompression_BCCOO},
  {"MatBCCOOGetCompression_C", (PetscErrorCodeFn *)MatBCCOOGetCompression_BCCOO},
  {"MatBCCOOSetReleaseAIJ_C",  (PetscErrorCodeFn *)MatDerivedSetRelease        },
  {"MatBCCOOGetReleaseAIJ_C",  (PetscErrorCodeFn *)MatDerivedGetRelease        },
  {NULL,                       NULL                                            },
};

/*@
  MatBCCOOSetCompression - Sets how a `MATBCCOO` matrix encodes its nonzeros

  Logically Collective

  Input Parameters:
+ A           - the matrix
- compression - see `MatBCCOOCompression`

  Options Database Key:
. -mat_bccoo_compression (none|tuples|simd|csr) - sets the compression; the default is `simd`

  Level: intermediate

  Note:
  It takes effect at the next product. A matrix of another type is left as it is.

.seealso: `MATBCCOO`, `MatBCCOOCompression`, `MatBCCOOGetCompression()`
@*/
PetscErrorCode MatBCCOOSetCompression(Mat A, MatBCCOOCompression compression)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(A, compression, 2);
  PetscTryMethod(A, "MatBCCOOSetCompression_C", (Mat, MatBCCOOCompression), (A, compression));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatBCCOOGetCompression - Gets how a `MATBCCOO` matrix encodes its nonzeros

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameter:
. compression - see `MatBCCOOCompression`

  Level: intermediate

.seealso: `MATBCCOO`, `MatBCCOOCompression`, `MatBCCOOSetCompression()`
@*/
PetscErrorCode MatBCCOOGetCompression(Mat A, MatBCCOOCompression *compression)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(compression, 2);
  PetscUseMethod(A, "MatBCCOOGetCompression_C", (Mat, MatBCCOOCompression *), (A, compression));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatBCCOOSetReleaseAIJ - Sets whether a `MATBCCOO` matrix frees its CSR at the first product

  Logically Collective; Collective if a CSR that was freed is brought back

  Input Parameters:
+ A   - the matrix
- flg - `PETSC_TRUE` to free the CSR at the first product that follows

  Options Database Key:
. -mat_bccoo_release_aij (true|false) - frees the CSR; the default is false

  Level: intermediate

  Notes:
  The matrix is an AIJ matrix up to its first product with a vector or a dense matrix. That product makes the form and frees the
  CSR and all else that `MATAIJ` keeps: of some 16 bytes per nonzero 2 to 11 are left. The matrix is then of type
  `MATSEQBCCOORELEASED` or `MATMPIBCCOORELEASED`, which are not AIJ types, and single entries can no longer be set.

  Such a matrix supports products with vectors and dense matrices, `MatGetDiagonal()`, `MatNorm()`, `MatScale()`,
  `MatDiagonalScale()`, `MatDuplicate()`, `MatGetInfo()`, `MatView()`, `MatCopy()` from it, and `MatConvert()` to every type;
  conversion to `MATAIJ` gives back each bit of the old matrix. Scaling, duplication, conversion and views other than ASCII info
  temporarily need memory for an AIJ copy. Everything else raises an error that names the option: `MatSetValues()`,
  `MatGetRow()`, `MatTranspose()`, factorizations, preconditioners that read entries.

  `PETSC_FALSE` brings back a CSR that has been freed: the matrix is of type `MATBCCOO` again.

  A matrix of another type is left as it is.

.seealso: `MATBCCOO`, `MatBCCOOGetReleaseAIJ()`, `MatFormGetMemory()`, `MatConvert()`
@*/
PetscErrorCode MatBCCOOSetReleaseAIJ(Mat A, PetscBool flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveBool(A, flg, 2);
  PetscTryMethod(A, "MatBCCOOSetReleaseAIJ_C", (Mat, PetscBool), (A, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatBCCOOGetReleaseAIJ - Gets whether a `MATBCCOO` matrix frees its CSR at the first product

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameter:
. flg - `PETSC_TRUE` if the CSR will be, or has been, freed

  Level: intermediate

.seealso: `MATBCCOO`, `MatBCCOOSetReleaseAIJ()`
@*/
PetscErrorCode MatBCCOOGetReleaseAIJ(Mat A, PetscBool *flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(flg, 2);
  PetscUseMethod(A, "MatBCCOOGetReleaseAIJ_C", (Mat, PetscBool *), (A, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}
