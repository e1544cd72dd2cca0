/*
  MATCSRCCUDA: settings, and the choice of a layout and of the memory it lives in. The path of a product is
  MatMult_SeqAIJForm() -> apply() below -> the layout's apply().
*/
#include "csrccuda.h"

#define CSRC_LAYOUT_NAMES   "auto, paper, balanced"
#define CSRC_BLOCKING_NAMES "auto, vector, dense"
const char *const MatCSRCBlockings[] = {"auto", "vector", "dense", "MatCSRCBlocking", "MAT_CSRC_BLOCKING_", NULL};
const char *const MatCSRCLayouts[]   = {"auto", "paper", "balanced", "MatCSRCLayout", "MAT_CSRC_LAYOUT_", NULL};

typedef struct {
  /* settings */
  MatCSRCLayout   layout;
  MatCSRCBlocking blocking;
  PetscBool       requiredevice;
  /* the form, if built */
  const CSRCLayoutOps *ops;
  void                *data;
  PetscBool            dense; /* there was a product with a dense matrix: forms are made for such from then on */
} CSRC;

/* Columns from which a product counts as one with a dense matrix: for fewer, forms made for vectors are as good */
#define CSRC_DENSE_COLUMNS 3

static PetscErrorCode CSRCCreate(void **ctx)
{
  CSRC *csrc;

  PetscFunctionBegin;
  PetscCall(PetscNew(&csrc));
  csrc->layout   = MAT_CSRC_LAYOUT_AUTO;
  csrc->blocking = MAT_CSRC_BLOCKING_AUTO;
  *ctx           = csrc;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCReset(void *ctx)
{
  CSRC *csrc = (CSRC *)ctx;

  PetscFunctionBegin;
  if (csrc->ops) PetscCall((*csrc->ops->destroy)(&csrc->data));
  csrc->ops = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCDestroy(void **ctx)
{
  PetscFunctionBegin;
  PetscCall(CSRCReset(*ctx));
  PetscCall(PetscFree(*ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCCopySettings(const void *from, void *to)
{
  const CSRC *f = (const CSRC *)from;
  CSRC       *t = (CSRC *)to;

  PetscFunctionBegin;
  t->layout        = f->layout;
  t->blocking      = f->blocking;
  t->requiredevice = f->requiredevice;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The layout that is asked for; by itself, the balanced one, unless it turns out not to suit the matrix */
static PetscErrorCode CSRCBuild(void *ctx, PetscBool ondevice, const AIJFormCSR *csr)
{
  CSRC                *csrc  = (CSRC *)ctx;
  const CSRCLayoutOps *ops   = &CSRCLayoutPaperHost;
  const PetscBool      dense = csrc->blocking == MAT_CSRC_BLOCKING_DENSE || (csrc->blocking == MAT_CSRC_BLOCKING_AUTO && csrc->dense) ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  csrc->data = NULL;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (ondevice) {
    PetscBool suits = csrc->layout == MAT_CSRC_LAYOUT_BALANCED || (csrc->layout == MAT_CSRC_LAYOUT_AUTO && CSRCLayoutBalancedFits(csr)) ? PETSC_TRUE : PETSC_FALSE;

    if (suits) {
      PetscCall((*CSRCLayoutBalancedCUDA.build)(csr, dense, &csrc->data));
      csrc->ops = &CSRCLayoutBalancedCUDA;
      if (csrc->layout == MAT_CSRC_LAYOUT_AUTO) PetscCall(CSRCLayoutBalancedSuits(csrc->data, &suits));
      if (suits) PetscFunctionReturn(PETSC_SUCCESS);
      PetscCall(CSRCReset(ctx));
    }
    ops = &CSRCLayoutPaperCUDA;
  }
#else
  (void)ondevice;
#endif
  PetscCall((*ops->build)(csr, dense, &csrc->data));
  csrc->ops = ops;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCSetValues(void *ctx, const AIJFormCSR *csr)
{
  CSRC *csrc = (CSRC *)ctx;

  PetscFunctionBegin;
  PetscCall((*csrc->ops->setvalues)(csrc->data, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCExpectDense(void *ctx, PetscInt K, PetscBool *again)
{
  CSRC *csrc = (CSRC *)ctx;

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  if (csrc->dense || K < CSRC_DENSE_COLUMNS) PetscFunctionReturn(PETSC_SUCCESS);
  csrc->dense = PETSC_TRUE;
  if (csrc->blocking == MAT_CSRC_BLOCKING_AUTO && csrc->ops) *again = csrc->ops->minds;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCApply(void *ctx, AIJFormOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  CSRC *csrc = (CSRC *)ctx;

  PetscFunctionBegin;
  PetscCall((*csrc->ops->apply)(csrc->data, op, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCApplyDense(void *ctx, AIJFormOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  CSRC *csrc = (CSRC *)ctx;

  PetscFunctionBegin;
  PetscCall((*csrc->ops->applydense)(csrc->data, op, K, X, ldx, Y, ldy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCGetMemory(void *ctx, PetscLogDouble *bytes)
{
  CSRC *csrc = (CSRC *)ctx;

  PetscFunctionBegin;
  PetscCall((*csrc->ops->getmemory)(csrc->data, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCView(void *ctx, PetscViewer viewer, PetscBool detail)
{
  CSRC *csrc = (CSRC *)ctx;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "csrccuda form: layout %s\n", csrc->ops->name));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall((*csrc->ops->view)(csrc->data, viewer, detail));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCSRCSetLayout_CSRC(Mat A, MatCSRCLayout layout)
{
  CSRC *csrc;

  PetscFunctionBegin;
  PetscCheck((int)layout >= 0 && layout <= MAT_CSRC_LAYOUT_BALANCED, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "Layout %d is none of MatCSRCLayout; allowed: " CSRC_LAYOUT_NAMES, (int)layout);
  PetscCall(MatAIJFormGetContext(A, &csrc));
  if (csrc->layout == layout) PetscFunctionReturn(PETSC_SUCCESS);
  csrc->layout = layout;
  PetscCall(MatAIJFormSettingsChanged(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCSRCGetLayout_CSRC(Mat A, MatCSRCLayout *layout)
{
  CSRC *csrc;

  PetscFunctionBegin;
  PetscCall(MatAIJFormGetContext(A, &csrc));
  *layout = csrc->layout;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCSRCSetBlocking_CSRC(Mat A, MatCSRCBlocking blocking)
{
  CSRC *csrc;

  PetscFunctionBegin;
  PetscCheck((int)blocking >= 0 && blocking <= MAT_CSRC_BLOCKING_DENSE, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "Blocking %d is none of MatCSRCBlocking; allowed: " CSRC_BLOCKING_NAMES, (int)blocking);
  PetscCall(MatAIJFormGetContext(A, &csrc));
  if (csrc->blocking == blocking) PetscFunctionReturn(PETSC_SUCCESS);
  csrc->blocking = blocking;
  PetscCall(MatAIJFormSettingsChanged(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCSRCGetBlocking_CSRC(Mat A, MatCSRCBlocking *blocking)
{
  CSRC *csrc;

  PetscFunctionBegin;
  PetscCall(MatAIJFormGetContext(A, &csrc));
  *blocking = csrc->blocking;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCSRCSetRequireDevice_CSRC(Mat A, PetscBool require)
{
  CSRC       *csrc;
  PetscBool   usable;
  const char *reason;

  PetscFunctionBegin;
  PetscCall(MatAIJFormGetContext(A, &csrc));
  if (require) {
    PetscCall(AIJFormDeviceUsable(&usable, &reason));
    PetscCheck(usable, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "-mat_csrc_require_device: no device can be used for a matrix of type %s: %s", MATCSRCCUDA, reason);
  }
  csrc->requiredevice = require;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCSRCGetRequireDevice_CSRC(Mat A, PetscBool *require)
{
  CSRC *csrc;

  PetscFunctionBegin;
  PetscCall(MatAIJFormGetContext(A, &csrc));
  *require = csrc->requiredevice;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCSetFromOptions(Mat A, void *ctx, PetscOptionItems PetscOptionsObject)
{
  CSRC     *csrc = (CSRC *)ctx;
  char      name[64];
  PetscEnum layout, blocking;
  PetscBool require, set, known;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "CSRCCUDA options");
  /* read as a string, so that an unknown name gets an error that lists the known ones */
  PetscCall(PetscOptionsString("-mat_csrc_layout", "How the nonzeros are stored (" CSRC_LAYOUT_NAMES ")", "MatCSRCSetLayout", MatCSRCLayouts[csrc->layout], name, sizeof(name), &set));
  if (set) {
    PetscCall(PetscEnumFind(MatCSRCLayouts, name, &layout, &known));
    PetscCheck(known, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_UNKNOWN_TYPE, "-mat_csrc_layout %s: unknown layout; allowed: " CSRC_LAYOUT_NAMES, name);
    PetscCall(MatCSRCSetLayout_CSRC(A, (MatCSRCLayout)layout));
  }
  PetscCall(PetscOptionsString("-mat_csrc_blocking", "What blocks of rows are cut for (" CSRC_BLOCKING_NAMES ")", "MatCSRCSetBlocking", MatCSRCBlockings[csrc->blocking], name, sizeof(name), &set));
  if (set) {
    PetscCall(PetscEnumFind(MatCSRCBlockings, name, &blocking, &known));
    PetscCheck(known, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_UNKNOWN_TYPE, "-mat_csrc_blocking %s: unknown blocking; allowed: " CSRC_BLOCKING_NAMES, name);
    PetscCall(MatCSRCSetBlocking_CSRC(A, (MatCSRCBlocking)blocking));
  }
  require = csrc->requiredevice;
  PetscCall(PetscOptionsBool("-mat_csrc_require_device", "It is an error if no device can be used", "MatCSRCSetRequireDevice", require, &require, &set));
  if (set) PetscCall(MatCSRCSetRequireDevice_CSRC(A, require));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCCompose(Mat A, PetscBool on)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatCSRCSetLayout_C", on ? MatCSRCSetLayout_CSRC : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatCSRCGetLayout_C", on ? MatCSRCGetLayout_CSRC : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatCSRCSetBlocking_C", on ? MatCSRCSetBlocking_CSRC : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatCSRCGetBlocking_C", on ? MatCSRCGetBlocking_CSRC : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatCSRCSetRequireDevice_C", on ? MatCSRCSetRequireDevice_CSRC : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatCSRCGetRequireDevice_C", on ? MatCSRCGetRequireDevice_CSRC : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJFormClass AIJFormCSRCCUDA = {
  .name           = MATCSRCCUDA,
  .seqname        = MATSEQCSRCCUDA,
  .mpiname        = MATMPICSRCCUDA,
  .usesdevice     = PETSC_TRUE,
  .create         = CSRCCreate,
  .destroy        = CSRCDestroy,
  .reset          = CSRCReset,
  .copysettings   = CSRCCopySettings,
  .setfromoptions = CSRCSetFromOptions,
  .compose        = CSRCCompose,
  .build          = CSRCBuild,
  .setvalues      = CSRCSetValues,
  .expectdense    = CSRCExpectDense,
  .apply          = CSRCApply,
  .applydense     = CSRCApplyDense,
  .getmemory      = CSRCGetMemory,
  .view           = CSRCView,
};

PetscErrorCode MatCreate_SeqCSRCCUDA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_SeqAIJForm(A, &AIJFormCSRCCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPICSRCCUDA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_MPIAIJForm(A, &AIJFormCSRCCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MATCSRCCUDA - "csrccuda" - A matrix type for fast products with A and with A^T from one stored copy, on NVIDIA GPUs and on CPUs

   This matrix type is identical to `MATSEQCSRCCUDA` when constructed with a single process communicator, and to
   `MATMPICSRCCUDA` otherwise.

   Options Database Keys:
+ -mat_type csrccuda                     - sets the matrix type to `MATCSRCCUDA` during a call to `MatSetFromOptions()`
. -mat_csrc_layout auto|paper|balanced   - how the nonzeros are stored, see `MatCSRCLayout`
. -mat_csrc_blocking auto|vector|dense   - which products the blocks of rows are cut for, see `MatCSRCBlocking`
- -mat_csrc_require_device               - it is an error if no device can be used

  Level: beginner

   Notes:
   The matrix is a `MATAIJ` matrix in everything but its products, which come from a second form of its nonzeros, CSRC: rows
   in blocks, the nonzeros of a block sorted by column (Aliaga, Anzt, Quintana-Orti, Tomas, Concurrency Computat. Pract. Exper. 2023, e7871). It is built at the first product, refilled when
   values have changed, and built anew when the nonzero pattern has.

   If a CUDA device can be used, the form lives on it and vectors made by `MatCreateVecs()` are `VECCUDA`. Otherwise, or
   after `MatBindToCPU()`, the same form lives on the host and its products use OpenMP threads.

   A matrix of this type answers no when asked for `MATOP_TRANSPOSE` by `MatHasOperation()`, so that SLEPc uses the
   transposed product instead of forming a transpose. `MatTranspose()` works all the same, and with
   `-mat_form_explicit_transpose` the answer is yes.

   A^T x adds with floating-point atomics on a device: its last bits may differ from run to run.

.seealso: `MATBCCOO`, `MATAIJ`, `MATAIJCUSPARSE`, `MatCreateCSRCCUDA()`, `MatCSRCSetLayout()`, `MatFormGetMemory()`
M*/

/*@
  MatCreateSeqCSRCCUDA - Creates a sequential sparse matrix of type `MATSEQCSRCCUDA`

  Collective

  Input Parameters:
+ comm - MPI communicator, of one process
. m    - number of rows
. n    - number of columns
. nz   - number of nonzeros per row (same for all rows), ignored if `nnz` is provided
- nnz  - array with the number of nonzeros of each row, or `NULL`

  Output Parameter:
. A - the matrix

  Level: intermediate

.seealso: `MATCSRCCUDA`, `MatCreateCSRCCUDA()`, `MatCreateSeqAIJ()`, `MatSetValues()`
@*/
PetscErrorCode MatCreateSeqCSRCCUDA(MPI_Comm comm, PetscInt m, PetscInt n, PetscInt nz, const PetscInt nnz[], Mat *A)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCheck(size == 1, comm, PETSC_ERR_ARG_WRONG, "A sequential matrix needs a communicator of one process, this one has %d", size);
  PetscCall(MatCreateAIJForm_Private(comm, &AIJFormCSRCCUDA, m, n, m, n, nz, nnz, 0, NULL, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCreateCSRCCUDA - Creates a sparse matrix of type `MATCSRCCUDA`

  Collective

  Input Parameters:
+ comm  - MPI communicator
. m     - number of local rows (or `PETSC_DECIDE` to have calculated if `M` is given)
. n     - number of local columns (or `PETSC_DECIDE` to have calculated if `N` is given)
. M     - number of global rows (or `PETSC_DETERMINE` to have calculated if `m` is given)
. N     - number of global columns (or `PETSC_DETERMINE` to have calculated if `n` is given)
. d_nz  - number of nonzeros per row in the diagonal portion of the local submatrix
. d_nnz - array with the number of nonzeros of each row of the diagonal portion, or `NULL`
. o_nz  - number of nonzeros per row in the off-diagonal portion of the local submatrix
- o_nnz - array with the number of nonzeros of each row of the off-diagonal portion, or `NULL`

  Output Parameter:
. A - the matrix

  Level: intermediate

  Note:
  On one process `o_nz` and `o_nnz` are not used. See `MatCreateAIJ()` for the meaning of the two portions.

.seealso: `MATCSRCCUDA`, `MatCreateSeqCSRCCUDA()`, `MatCreateAIJ()`, `MatSetValues()`
@*/
PetscErrorCode MatCreateCSRCCUDA(MPI_Comm comm, PetscInt m, PetscInt n, PetscInt M, PetscInt N, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreateAIJForm_Private(comm, &AIJFormCSRCCUDA, m, n, M, N, d_nz, d_nnz, o_nz, o_nnz, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCSRCSetLayout - Sets how a `MATCSRCCUDA` matrix stores its nonzeros

  Logically Collective

  Input Parameters:
+ A      - the matrix
- layout - see `MatCSRCLayout`

  Options Database Key:
. -mat_csrc_layout auto|paper|balanced - sets the layout

  Level: intermediate

  Note:
  It counts from the next product on. A matrix of another type is left as it is.

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
  MatCSRCSetBlocking - Sets which products a `MATCSRCCUDA` matrix cuts its blocks of rows for

  Logically Collective

  Input Parameters:
+ A        - the matrix
- blocking - see `MatCSRCBlocking`

  Options Database Key:
. -mat_csrc_blocking auto|vector|dense - sets the blocking

  Level: advanced

  Notes:
  It counts from the next product on. All products can be made with either; a matrix of another type is left as it is.

  With `MAT_CSRC_BLOCKING_AUTO` a matrix that has been multiplied with vectors is stored anew, once, when a product with a dense
  matrix of three or more columns comes. A program that makes few of those, and many with vectors, may want `MAT_CSRC_BLOCKING_VECTOR`.

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
  MatCSRCGetBlocking - Gets which products a `MATCSRCCUDA` matrix cuts its blocks of rows for

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
  MatCSRCSetRequireDevice - Makes it an error if no device can be used for a `MATCSRCCUDA` matrix

  Logically Collective

  Input Parameters:
+ A       - the matrix
- require - `PETSC_TRUE` if a device must be there

  Options Database Key:
. -mat_csrc_require_device - an error, with the reason, instead of the host path

  Level: intermediate

  Note:
  `MatBindToCPU()` is a wish of the user's and works all the same.

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
  MatCSRCGetRequireDevice - Tells if it is an error that no device can be used for a `MATCSRCCUDA` matrix

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameter:
. require - `PETSC_TRUE` if a device must be there

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
