/* MATCSRCCUDA: options, setters and getters. A new setting takes effect at the next product. */
#include "settings.h"
#include "cuda/device.h"
#include <stddef.h>

const char *const MatCSRCBlockings[]    = {"auto", "vector", "dense", "MatCSRCBlocking", "MAT_CSRC_BLOCKING_", NULL};
const char *const MatCSRCLayouts[]      = {"auto", "csrc", "balanced", "MatCSRCLayout", "MAT_CSRC_LAYOUT_", NULL};
const char *const MatCSRCOrientations[] = {"auto", "rows", "columns", "MatCSRCOrientation", "MAT_CSRC_ORIENTATION_", NULL};

const CSRCSettings CSRCDefaults = {MAT_CSRC_LAYOUT_AUTO, MAT_CSRC_BLOCKING_AUTO, MAT_CSRC_ORIENTATION_AUTO, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};

static PetscErrorCode MatCSRCSetLayout_CSRC(Mat A, MatCSRCLayout layout)
{
  PetscFunctionBegin;
  PetscCall(AIJCheckEnum(A, MatCSRCLayouts, (int)layout));
  PetscCall(MatDerivedChangeSetting(A, offsetof(CSRCSettings, layout), &layout, sizeof(layout)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCSRCGetLayout_CSRC(Mat A, MatCSRCLayout *layout)
{
  CSRCSettings *csrc;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetSettings(A, &csrc));
  *layout = csrc->layout;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCSRCSetBlocking_CSRC(Mat A, MatCSRCBlocking blocking)
{
  PetscFunctionBegin;
  PetscCall(AIJCheckEnum(A, MatCSRCBlockings, (int)blocking));
  PetscCall(MatDerivedChangeSetting(A, offsetof(CSRCSettings, blocking), &blocking, sizeof(blocking)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCSRCGetBlocking_CSRC(Mat A, MatCSRCBlocking *blocking)
{
  CSRCSettings *csrc;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetSettings(A, &csrc));
  *blocking = csrc->blocking;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCSRCSetOrientation_CSRC(Mat A, MatCSRCOrientation orientation)
{
  PetscFunctionBegin;
  PetscCall(AIJCheckEnum(A, MatCSRCOrientations, (int)orientation));
  PetscCall(MatDerivedChangeSetting(A, offsetof(CSRCSettings, orientation), &orientation, sizeof(orientation)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCSRCGetOrientation_CSRC(Mat A, MatCSRCOrientation *orientation)
{
  CSRCSettings *csrc;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetSettings(A, &csrc));
  *orientation = csrc->orientation;
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

static PetscErrorCode MatCSRCSetAutotune_CSRC(Mat A, PetscBool flg)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedChangeSetting(A, offsetof(CSRCSettings, autotune), &flg, sizeof(flg)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCSRCGetAutotune_CSRC(Mat A, PetscBool *flg)
{
  CSRCSettings *csrc;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetSettings(A, &csrc));
  *flg = csrc->autotune;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCSRCSetReproducible_CSRC(Mat A, PetscBool flg)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedChangeSetting(A, offsetof(CSRCSettings, reproducible), &flg, sizeof(flg)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCSRCGetReproducible_CSRC(Mat A, PetscBool *flg)
{
  CSRCSettings *csrc;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetSettings(A, &csrc));
  *flg = csrc->reproducible;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CSRCSetFromOptions(Mat A, const void *settings, PetscOptionItems PetscOptionsObject)
{
  const CSRCSettings *csrc = (const CSRCSettings *)settings;
  PetscEnum           value;
  PetscBool           require, flg, set;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "CSRCCUDA options");
  PetscCall(AIJOptionsEnum(PetscOptionsObject, "-mat_csrc_layout", "layout", "How the nonzeros are stored", "MatCSRCSetLayout", MatCSRCLayouts, (PetscEnum)csrc->layout, &value, &set));
  if (set) PetscCall(MatCSRCSetLayout_CSRC(A, (MatCSRCLayout)value));
  PetscCall(AIJOptionsEnum(PetscOptionsObject, "-mat_csrc_blocking", "blocking", "What blocks are cut for", "MatCSRCSetBlocking", MatCSRCBlockings, (PetscEnum)csrc->blocking, &value, &set));
  if (set) PetscCall(MatCSRCSetBlocking_CSRC(A, (MatCSRCBlocking)value));
  PetscCall(AIJOptionsEnum(PetscOptionsObject, "-mat_csrc_orientation", "orientation", "What blocks are made of", "MatCSRCSetOrientation", MatCSRCOrientations, (PetscEnum)csrc->orientation, &value, &set));
  if (set) PetscCall(MatCSRCSetOrientation_CSRC(A, (MatCSRCOrientation)value));
  require = csrc->requiredevice;
  PetscCall(PetscOptionsBool("-mat_csrc_require_device", "It is an error if no device can be used", "MatCSRCSetRequireDevice", require, &require, &set));
  if (set) PetscCall(MatCSRCSetRequireDevice_CSRC(A, require));
  PetscCall(PetscOptionsBool("-mat_csrc_autotune", "Choose how the nonzeros are stored by timing products", "MatCSRCSetAutotune", csrc->autotune, &flg, &set));
  if (set) PetscCall(MatCSRCSetAutotune_CSRC(A, flg));
  PetscCall(PetscOptionsBool("-mat_csrc_reproducible", "A x and A^T x have the same bits every time", "MatCSRCSetReproducible", csrc->reproducible, &flg, &set));
  if (set) PetscCall(MatCSRCSetReproducible_CSRC(A, flg));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJComposed CSRCSetters[] = {
  {"MatCSRCSetLayout_C",        (PetscErrorCodeFn *)MatCSRCSetLayout_CSRC       },
  {"MatCSRCGetLayout_C",        (PetscErrorCodeFn *)MatCSRCGetLayout_CSRC       },
  {"MatCSRCSetBlocking_C",      (PetscErrorCodeFn *)MatCSRCSetBlocking_CSRC     },
  {"MatCSRCGetBlocking_C",      (PetscErrorCodeFn *)MatCSRCGetBlocking_CSRC     },
  {"MatCSRCSetOrientation_C",   (PetscErrorCodeFn *)MatCSRCSetOrientation_CSRC  },
  {"MatCSRCGetOrientation_C",   (PetscErrorCodeFn *)MatCSRCGetOrientation_CSRC  },
  {"MatCSRCSetRequireDevice_C", (PetscErrorCodeFn *)MatCSRCSetRequireDevice_CSRC},
  {"MatCSRCGetRequireDevice_C", (PetscErrorCodeFn *)MatCSRCGetRequireDevice_CSRC},
  {"MatCSRCSetAutotune_C",      (PetscErrorCodeFn *)MatCSRCSetAutotune_CSRC     },
  {"MatCSRCGetAutotune_C",      (PetscErrorCodeFn *)MatCSRCGetAutotune_CSRC     },
  {"MatCSRCSetReproducible_C",  (PetscErrorCodeFn *)MatCSRCSetReproducible_CSRC },
  {"MatCSRCGetReproducible_C",  (PetscErrorCodeFn *)MatCSRCGetReproducible_CSRC },
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

  Note:
  It takes effect at the next product. A matrix of another type is left as it is.

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
  MatCSRCSetBlocking - Sets which products a `MATCSRCCUDA` matrix sizes its blocks for

  Logically Collective

  Input Parameters:
+ A        - the matrix
- blocking - see `MatCSRCBlocking`

  Options Database Key:
. -mat_csrc_blocking (auto|vector|dense) - sets the blocking; the default is `auto`

  Level: advanced

  Notes:
  It takes effect at the next product, and in the balanced layout only. All products work with any blocking. A matrix of another type
  is left as it is.

  With `MAT_CSRC_BLOCKING_AUTO` the form of a matrix that has been multiplied with vectors is rebuilt once products with dense matrices
  of 3 or more columns have had more columns in total than there were vectors, of which at most 256 count; likewise for 5 or more, and
  for 16 or more columns, unless the blocks are small enough already.

.seealso: `MATCSRCCUDA`, `MatCSRCBlocking`, `MatCSRCGetBlocking()`, `MatCSRCSetLayout()`
@*/
PetscErrorCode MatCSRCSetBlocking(Mat A, MatCSRCBlocking blocking)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(A, blocking, 2);
  PetscTryMethod(A, "MatCSRCSetBlocking_C", (Mat, MatCSRCBlocking), (A, blocking));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCSRCGetBlocking - Gets which products a `MATCSRCCUDA` matrix sizes its blocks for

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameter:
. blocking - see `MatCSRCBlocking`

  Level: advanced

.seealso: `MATCSRCCUDA`, `MatCSRCBlocking`, `MatCSRCSetBlocking()`
@*/
PetscErrorCode MatCSRCGetBlocking(Mat A, MatCSRCBlocking *blocking)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(blocking, 2);
  PetscUseMethod(A, "MatCSRCGetBlocking_C", (Mat, MatCSRCBlocking *), (A, blocking));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCSRCSetOrientation - Sets what a `MATCSRCCUDA` matrix makes its blocks of

  Logically Collective

  Input Parameters:
+ A           - the matrix
- orientation - see `MatCSRCOrientation`

  Options Database Key:
. -mat_csrc_orientation (auto|rows|columns) - sets the orientation; the default is `auto`

  Level: advanced

  Notes:
  It takes effect at the next product, and in the balanced layout only: the paper's has blocks of rows, and `MAT_CSRC_ORIENTATION_COLUMNS`
  with `MAT_CSRC_LAYOUT_CSRC` makes the next product on a device an error. A matrix of another type is left as it is.

  With `MAT_CSRC_ORIENTATION_AUTO` the diagonal and the off-diagonal block of a parallel matrix choose separately.

.seealso: `MATCSRCCUDA`, `MatCSRCOrientation`, `MatCSRCGetOrientation()`, `MatCSRCSetLayout()`
@*/
PetscErrorCode MatCSRCSetOrientation(Mat A, MatCSRCOrientation orientation)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(A, orientation, 2);
  PetscTryMethod(A, "MatCSRCSetOrientation_C", (Mat, MatCSRCOrientation), (A, orientation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCSRCGetOrientation - Gets what a `MATCSRCCUDA` matrix makes its blocks of

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameter:
. orientation - see `MatCSRCOrientation`

  Level: advanced

.seealso: `MATCSRCCUDA`, `MatCSRCOrientation`, `MatCSRCSetOrientation()`
@*/
PetscErrorCode MatCSRCGetOrientation(Mat A, MatCSRCOrientation *orientation)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(orientation, 2);
  PetscUseMethod(A, "MatCSRCGetOrientation_C", (Mat, MatCSRCOrientation *), (A, orientation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCSRCSetRequireDevice - Sets whether it is an error if no device can be used for a `MATCSRCCUDA` matrix

  Logically Collective

  Input Parameters:
+ A       - the matrix
- require - `PETSC_TRUE` if a device must be usable

  Options Database Key:
. -mat_csrc_require_device (true|false) - an error, with the reason, instead of the host path; the default is false

  Level: intermediate

  Notes:
  With `PETSC_TRUE` this call raises the error itself, with the reason, if no device can be used. A matrix of another type is left as it is.

  `MatBindToCPU()` still moves the products to the host, since the user has asked for it.

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
  MatCSRCSetAutotune - Sets whether a `MATCSRCCUDA` matrix chooses by timing how it stores its nonzeros on a device

  Logically Collective

  Input Parameters:
+ A   - the matrix
- flg - `PETSC_TRUE` to choose by timing

  Options Database Key:
. -mat_csrc_autotune (true|false) - sets the flag; the default is false

  Level: intermediate

  Notes:
  It takes effect at the next product. A matrix of another type is left as it is.

  At that product the matrix is stored in several ways, one after the other, and products with A and A^T are timed. The fastest way is
  kept until the nonzero pattern changes, also with new values. The way that is taken without timing, by rule, is kept unless another
  one is 2 percent faster. A way that does not fit the device's memory is left out.

  The rule always chooses the same for the same matrix. Timing may not, so the last bits of A x may differ between two runs of a program
  that tunes. If the form is rebuilt for products with dense matrices of 3 or more columns (`MatCSRCBlocking`), the rule decides.

  `MatView()` with `PETSC_VIEWER_ASCII_INFO_DETAIL` shows what was chosen, `-info` what was tried.

.seealso: `MATCSRCCUDA`, `MatCSRCGetAutotune()`, `MatCSRCSetLayout()`
@*/
PetscErrorCode MatCSRCSetAutotune(Mat A, PetscBool flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveBool(A, flg, 2);
  PetscTryMethod(A, "MatCSRCSetAutotune_C", (Mat, PetscBool), (A, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCSRCGetAutotune - Gets whether a `MATCSRCCUDA` matrix chooses by timing how it stores its nonzeros on a device

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameter:
. flg - the flag

  Level: intermediate

.seealso: `MATCSRCCUDA`, `MatCSRCSetAutotune()`
@*/
PetscErrorCode MatCSRCGetAutotune(Mat A, PetscBool *flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(flg, 2);
  PetscUseMethod(A, "MatCSRCGetAutotune_C", (Mat, PetscBool *), (A, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCSRCSetReproducible - Sets whether both A x and A^T x of a `MATCSRCCUDA` matrix have the same bits every time on a device

  Logically Collective

  Input Parameters:
+ A   - the matrix
- flg - `PETSC_TRUE` for the same bits every time

  Options Database Key:
. -mat_csrc_reproducible (true|false) - sets the flag; the default is false

  Level: intermediate

  Notes:
  It takes effect at the next product, and needs the balanced layout: on a device, `MAT_CSRC_LAYOUT_CSRC`, or a matrix that the balanced
  layout cannot hold, is then an error. A matrix of another type is left as it is.

  In the balanced layout with blocks of rows, A x has the same bits anyway. With this flag A^T x stores its partial sums and adds those of
  a column in a fixed order, instead of adding by atomics. This takes longer, and more memory: up to a scalar and 4 bytes a nonzero where
  few nonzeros of a block share a column. Products of A^T with a dense matrix are made column by column. With blocks of columns
  (`MatCSRCOrientation`) A x and A^T x change places.

  The stored form stays as it is for products with vectors, whatever products come: rebuilt for dense matrices, it would add in another
  order. `MatCSRCSetBlocking()` with `MAT_CSRC_BLOCKING_DENSE` chooses the form for dense matrices of many columns, for all products.

  With more than two processes, the values that these send each other in products with A^T are copied to the host, added there and copied
  back, since PETSc uses atomics on a device.

  On the host the products have the same bits every time for the same number of threads, whatever is set here.

.seealso: `MATCSRCCUDA`, `MatCSRCGetReproducible()`, `MatCSRCSetOrientation()`, `MatCSRCSetLayout()`
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
  MatCSRCGetReproducible - Gets whether both A x and A^T x of a `MATCSRCCUDA` matrix have the same bits every time on a device

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
