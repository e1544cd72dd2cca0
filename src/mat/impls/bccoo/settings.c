/* MATBCCOO: options, setters and getters. A new setting takes effect at the next product. */
#include "settings.h"
#include <stddef.h>

const char *const MatBCCOOCompressions[] = {"tuples", "simd", "csr", "MatBCCOOCompression", "MAT_BCCOO_COMPRESSION_", NULL};

const BCCOOSettings BCCOODefaults = {MAT_BCCOO_COMPRESSION_SIMD, MAT_FORM_COPIES_ONE};

AIJ_SETTING(MatBCCOOSetCompression_BCCOO, MatBCCOOGetCompression_BCCOO, MatBCCOOCompression, BCCOOSettings, compression, MatBCCOOCompressions)
AIJ_SETTING(MatFormSetCopies_BCCOO, MatFormGetCopies_BCCOO, MatFormCopies, BCCOOSettings, copies, MatFormCopiesTypes)

PetscErrorCode BCCOOSetFromOptions(Mat A, const void *settings, PetscOptionItemsArg PetscOptionsObject)
{
  const BCCOOSettings *bccoo = (const BCCOOSettings *)settings;
  PetscEnum            value;
  PetscBool            set;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "BCCOO options");
  value = (PetscEnum)bccoo->compression;
  PetscCall(AIJOptionsEnum(PetscOptionsObject, "-mat_bccoo_compression", "compression", "How the nonzeros are coded", "MatBCCOOSetCompression", MatBCCOOCompressions, &value, &set));
  if (set) PetscCall(MatBCCOOSetCompression_BCCOO(A, (MatBCCOOCompression)value));
  value = (PetscEnum)bccoo->copies;
  PetscCall(AIJOptionsEnum(PetscOptionsObject, "-mat_form_copies", "number of copies", "How many copies of the nonzeros are stored", "MatFormSetCopies", MatFormCopiesTypes, &value, &set));
  if (set) PetscCall(MatFormSetCopies_BCCOO(A, (MatFormCopies)value));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJComposed BCCOOSetters[] = {
  {"MatBCCOOSetCompression_C", (PetscErrorCodeFn *)MatBCCOOSetCompression_BCCOO},
  {"MatBCCOOGetCompression_C", (PetscErrorCodeFn *)MatBCCOOGetCompression_BCCOO},
  {"MatFormSetCopies_C",       (PetscErrorCodeFn *)MatFormSetCopies_BCCOO      },
  {"MatFormGetCopies_C",       (PetscErrorCodeFn *)MatFormGetCopies_BCCOO      },
  {NULL,                       NULL                                            },
};

/*@
  MatBCCOOSetCompression - Sets how a `MATBCCOO` matrix encodes its nonzeros

  Logically Collective

  Input Parameters:
+ A           - the matrix
- compression - how the nonzeros are coded, see `MatBCCOOCompression`

  Options Database Key:
. -mat_bccoo_compression (tuples|simd|csr) - sets the compression; the default is `simd`

  Level: intermediate

  Note:
  The setting takes effect at the next product. The function does nothing for matrices of other types.

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
. compression - how the nonzeros are coded, see `MatBCCOOCompression`

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
