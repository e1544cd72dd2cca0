/* MATCSRCCUDA: options, setters and getters. A new setting takes effect at the next product. */
#include "settings.h"
#include "cuda/device.h"
#include <stddef.h>

const char *const MatCSRCLayouts[] = {"auto", "csrc", "balanced", "MatCSRCLayout", "MAT_CSRC_LAYOUT_", NULL};

const CSRCSettings CSRCDefaults = {MAT_CSRC_LAYOUT_AUTO, PETSC_FALSE, PETSC_FALSE, MAT_FORM_COPIES_ONE};

AIJ_SETTING(MatCSRCSetLayout_CSRC, MatCSRCGetLayout_CSRC, MatCSRCLayout, CSRCSettings, layout, MatCSRCLayouts)
AIJ_SETTING(MatFormSetCopies_CSRC, MatFormGetCopies_CSRC, MatFormCopies, CSRCSettings, copies, MatFormCopiesTypes)
AIJ_SETTING(MatCSRCSetReproducible_CSRC, MatCSRCGetReproducible_CSRC, PetscBool, CSRCSettings, reproducible, NULL)

static PetscErrorCode MatCSRCSetRequireDevice_CSRC(Mat A, PetscBool require)
{
  CSRCSettings *csrc;
  PetscBool     usable;
  const char   *reason;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetSettings(A, &csrc));
  if (require) {
    PetscCall(PetscCSRCDeviceUsable(&usable, &reason));
    PetscCheck(usable, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "-mat_csrc_require_device: no device can be used for a matrix of type %s: %s", MATCSRCCUDA, reason);
  }
  csrc->requiredevice = require;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCSRCGetRequireDevice_CSRC(Mat A, PetscBool *require)
{
  CSRCSettings *csrc;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetSettings(A, &csrc));
  *require = csrc->requiredevice;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CSRCSetFromOptions(Mat A, const void *settings, PetscOptionItemsArg PetscOptionsObject)
{
  const CSRCSettings *csrc = (const CSRCSettings *)settings;
  PetscEnum           value;
  PetscBool           require, flg, set;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "CSRCCUDA options");
  value = (PetscEnum)csrc->layout;
  PetscCall(AIJOptionsEnum(PetscOptionsObject, "-mat_csrc_layout", "layout", "How the nonzeros are stored", "MatCSRCSetLayout", MatCSRCLayouts, &value, &set));
  if (set) PetscCall(MatCSRCSetLayout_CSRC(A, (MatCSRCLayout)value));
  require = csrc->requiredevice;
  PetscCall(PetscOptionsBool("-mat_csrc_require_device", "It is an error if no device can be used", "MatCSRCSetRequireDevice", require, &require, &set));
  if (set) PetscCall(MatCSRCSetRequireDevice_CSRC(A, require));
  PetscCall(PetscOptionsBool("-mat_csrc_reproducible", "A x and A^T x have the same bits every time", "MatCSRCSetReproducible", csrc->reproducible, &flg, &set));
  if (set) PetscCall(MatCSRCSetReproducible_CSRC(A, flg));
  value = (PetscEnum)csrc->copies;
  PetscCall(AIJOptionsEnum(PetscOptionsObject, "-mat_form_copies", "number of copies", "How many copies of the nonzeros are stored", "MatFormSetCopies", MatFormCopiesTypes, &value, &set));
  if (set) PetscCall(MatFormSetCopies_CSRC(A, (MatFormCopies)value));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJComposed CSRCSetters[] = {
  {"MatCSRCSetLayout_C",        (PetscErrorCodeFn *)MatCSRCSetLayout_CSRC       },
  {"MatCSRCGetLayout_C",        (PetscErrorCodeFn *)MatCSRCGetLayout_CSRC       },
  {"MatCSRCSetRequireDevice_C", (PetscErrorCodeFn *)MatCSRCSetRequireDevice_CSRC},
  {"MatCSRCGetRequireDevice_C", (PetscErrorCodeFn *)MatCSRCGetRequireDevice_CSRC},
  {"MatCSRCSetReproducible_C",  (PetscErrorCodeFn *)MatCSRCSetReproducible_CSRC },
  {"MatCSRCGetReproducible_C",  (PetscErrorCodeFn *)MatCSRCGetReproducible_CSRC },
  {"MatFormSetCopies_C",        (PetscErrorCodeFn *)MatFormSetCopies_CSRC       },
  {"MatFormGetCopies_C",        (PetscErrorCodeFn *)MatFormGetCopies_CSRC       },
  {NULL,                        NULL                                            },
};

/*@
  MatCSRCSetLayout - Sets how a `MATCSRCCUDA` matrix stores its nonzeros

  Logically Collective

  Input Parameters:
+ A      - the matrix
- layout - see `MatCSRCLayout`

  Options Database Key:
. -mat_csrc_layout (auto|csrc|balanced) - sets the layout; the default is `auto`

  Level: intermediate

  Notes:
  The layout takes effect at the next product. A matrix of another type is left unchanged.

  The balanced layout holds some 2 10^9 nonzeros. A matrix with more, where PETSc has 64-bit integers, is stored in several pieces of consecutive
  rows; unless it has as many rows or columns, or nonzeros in one row: then `MAT_CSRC_LAYOUT_AUTO` takes the layout `csrc`, and
  `MAT_CSRC_LAYOUT_BALANCED` is an error.

.seealso: `MATCSRCCUDA`, `MatCSRCLayout`, `MatCSRCGetLayout()`
@*/
PetscErrorCode MatCSRCSetLayout(Mat A, MatCSRCLayout layout)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(A, layout, 2);
  PetscTryMethod(A, "MatCSRCSetLayout_C", (Mat, MatCSRCLayout), (A, layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCSRCGetLayout - Gets how a `MATCSRCCUDA` matrix stores its nonzeros

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameter:
. layout - see `MatCSRCLayout`

  Level: intermediate

.seealso: `MATCSRCCUDA`, `MatCSRCLayout`, `MatCSRCSetLayout()`
@*/
PetscErrorCode MatCSRCGetLayout(Mat A, MatCSRCLayout *layout)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(layout, 2);
  PetscUseMethod(A, "MatCSRCGetLayout_C", (Mat, MatCSRCLayout *), (A, layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCSRCSetRequireDevice - Sets whether it is an error if no device can be used for a `MATCSRCCUDA` matrix

  Logically Collective

  Input Parameters:
+ A       - the matrix
- require - `PETSC_TRUE` if a device must be usable

  Options Database Key:
. -mat_csrc_require_device (true|false) - raise an error, with the reason, instead of using the host; the default is false

  Level: intermediate

  Notes:
  With `PETSC_TRUE` this function raises the error, with the reason, if no device can be used. A matrix of another type is left unchanged.

  `MatBindToCPU()` still moves the products to the host, since the user requests this explicitly.

.seealso: `MATCSRCCUDA`, `MatCSRCGetRequireDevice()`, `MatBindToCPU()`
@*/
PetscErrorCode MatCSRCSetRequireDevice(Mat A, PetscBool require)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveBool(A, require, 2);
  PetscTryMethod(A, "MatCSRCSetRequireDevice_C", (Mat, PetscBool), (A, require));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCSRCGetRequireDevice - Gets whether it is an error if no device can be used for a `MATCSRCCUDA` matrix

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameter:
. require - `PETSC_TRUE` if a device must be usable

  Level: intermediate

.seealso: `MATCSRCCUDA`, `MatCSRCSetRequireDevice()`
@*/
PetscErrorCode MatCSRCGetRequireDevice(Mat A, PetscBool *require)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(require, 2);
  PetscUseMethod(A, "MatCSRCGetRequireDevice_C", (Mat, PetscBool *), (A, require));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCSRCSetReproducible - Sets whether both A x and A^T x of a `MATCSRCCUDA` matrix have the same bits in every run on a device

  Logically Collective

  Input Parameters:
+ A   - the matrix
- flg - `PETSC_TRUE` for the same bits in every run

  Options Database Key:
. -mat_csrc_reproducible (true|false) - sets the flag; the default is false

  Level: intermediate

  Notes:
  The flag takes effect at the next product. On a device the matrix is then stored twice, in the balanced layout, in blocks of rows for A x and in
  blocks of columns for A^T x, so that neither adds by atomics. This takes twice the memory of one copy, whatever `MatFormSetCopies()` says, and
  from 0.6 to 1.5 times the time for A^T x. `MAT_CSRC_LAYOUT_CSRC`, or a matrix that the balanced layout cannot hold, is an error. A matrix of
  another type is left unchanged.

  With this flag the nonzeros remain stored for products with vectors, whatever products follow: stored again for dense matrices, they would
  be added in another order.

  On the host the products have the same bits in every run with the same number of threads, whether the flag is set or not.

.seealso: `MATCSRCCUDA`, `MatCSRCGetReproducible()`, `MatFormSetCopies()`, `MatCSRCSetLayout()`
@*/
PetscErrorCode MatCSRCSetReproducible(Mat A, PetscBool flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveBool(A, flg, 2);
  PetscTryMethod(A, "MatCSRCSetReproducible_C", (Mat, PetscBool), (A, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCSRCGetReproducible - Gets whether both A x and A^T x of a `MATCSRCCUDA` matrix have the same bits in every run on a device

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameter:
. flg - the flag

  Level: intermediate

.seealso: `MATCSRCCUDA`, `MatCSRCSetReproducible()`
@*/
PetscErrorCode MatCSRCGetReproducible(Mat A, PetscBool *flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(flg, 2);
  PetscUseMethod(A, "MatCSRCGetReproducible_C", (Mat, PetscBool *), (A, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}
