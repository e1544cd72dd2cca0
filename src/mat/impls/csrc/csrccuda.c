/*
  MATCSRCCUDA: the form, and the choice of a layout and of the memory it lives in. The path of a product is
  MatMult_SeqAIJDerived() -> CSRCApply() below -> the layout's apply(). settings.c has what users set.
*/
#include "csrccuda.h"
#include "settings.h"

static PetscErrorCode CSRCCreate(void **ctx)
{
  CSRC *csrc;

  PetscFunctionBegin;
  PetscCall(PetscNew(&csrc));
  csrc->layout      = MAT_CSRC_LAYOUT_AUTO;
  csrc->blocking    = MAT_CSRC_BLOCKING_AUTO;
  csrc->orientation = MAT_CSRC_ORIENTATION_AUTO;
  *ctx              = csrc;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCReset(void *ctx)
{
  CSRC *csrc = (CSRC *)ctx;

  PetscFunctionBegin;
  if (csrc->ops) PetscCall((*csrc->ops->destroy)(&csrc->data));
  csrc->ops   = NULL;
  csrc->tuned = 0;
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
  t->orientation   = f->orientation;
  t->requiredevice = f->requiredevice;
  t->autotune      = f->autotune;
  t->reproducible  = f->reproducible;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCGetRepeatable(const void *ctx, PetscBool *repeatable)
{
  PetscFunctionBegin;
  *repeatable = ((const CSRC *)ctx)->reproducible;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Number of columns of the products that a form is made for. Where products are to have the same bits every time, it is never rebuilt for
  others: these bits must not depend on which products came before.
*/
static PetscInt CSRCColumns(const CSRC *csrc)
{
  switch (csrc->blocking) {
  case MAT_CSRC_BLOCKING_VECTOR:
    return 1;
  case MAT_CSRC_BLOCKING_DENSE:
    return csrc->reproducible ? PETSC_INT_MAX : PetscMax(csrc->columns, CSRC_DENSE_COLUMNS);
  default:
    return csrc->reproducible ? 1 : PetscMax(csrc->columns, 1);
  }
}

#if defined(PETSCCSRC_HAVE_CUDA)
/* Builds the layout that is asked for; with auto the balanced one, unless it turns out not to suit the matrix */
static PetscErrorCode CSRCBuildOnDevice(CSRC *csrc, const AIJCSR *csr)
{
  const PetscInt  columns     = CSRCColumns(csrc);
  const PetscBool columnsonly = csrc->orientation == MAT_CSRC_ORIENTATION_COLUMNS ? PETSC_TRUE : PETSC_FALSE;
  PetscBool       balanced    = csrc->layout == MAT_CSRC_LAYOUT_PAPER ? PETSC_FALSE : PETSC_TRUE, paper;

  PetscFunctionBegin;
  if (csrc->layout == MAT_CSRC_LAYOUT_AUTO) balanced = CSRCLayoutBalancedFits(csr);
  if (!balanced) {
    const char *why = csrc->layout == MAT_CSRC_LAYOUT_PAPER ? "-mat_csrc_layout paper excludes" : "does not hold a matrix of this size";

    PetscCheck(!csrc->reproducible, PETSC_COMM_SELF, PETSC_ERR_SUP, "-mat_csrc_reproducible: on a device only the balanced layout has A^T x with the same bits every time, which %s", why);
    PetscCheck(!columnsonly, PETSC_COMM_SELF, PETSC_ERR_SUP, "-mat_csrc_orientation columns: only the balanced layout has blocks of columns, which %s", why);
  }
  /* may the paper's layout take the place of the balanced one? */
  paper = csrc->layout == MAT_CSRC_LAYOUT_AUTO && !csrc->reproducible && !columnsonly ? PETSC_TRUE : PETSC_FALSE;
  if (balanced && csrc->autotune && columns < CSRC_DENSE_COLUMNS) {
    PetscCall(CSRCLayoutTune(csr, csrc->orientation, paper, csrc->reproducible, &csrc->ops, &csrc->data, &csrc->tuned));
    if (csrc->ops) PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (balanced) {
    PetscCall((*CSRCLayoutBalancedCUDA.build)(csr, columns, csrc->orientation, NULL, &csrc->data));
    csrc->ops = &CSRCLayoutBalancedCUDA;
    PetscCall(CSRCLayoutBalancedSetReproducible(csrc->data, csrc->reproducible));
    if (paper) PetscCall(CSRCLayoutBalancedSuits(csrc->data, &balanced));
    if (balanced) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(CSRCReset(csrc));
  }
  PetscCall((*CSRCLayoutPaperCUDA.build)(csr, columns, csrc->orientation, NULL, &csrc->data));
  csrc->ops = &CSRCLayoutPaperCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static PetscErrorCode CSRCBuild(void *ctx, PetscBool ondevice, const AIJCSR *csr)
{
  CSRC *csrc = (CSRC *)ctx;

  PetscFunctionBegin;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (ondevice) {
    PetscCall(CSRCBuildOnDevice(csrc, csr));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#else
  (void)ondevice;
#endif
  PetscCall((*CSRCLayoutPaperHost.build)(csr, CSRCColumns(csrc), csrc->orientation, NULL, &csrc->data));
  csrc->ops = &CSRCLayoutPaperHost;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCSetValues(void *ctx, const AIJCSR *csr)
{
  CSRC *csrc = (CSRC *)ctx;

  PetscFunctionBegin;
  PetscCall((*csrc->ops->setvalues)(csrc->data, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A form is rebuilt for wider products as soon as these have had more columns than the products that it was made for, of which at most
  so many columns count. Not at once: solvers that multiply vectors, or narrow blocks, may end with one or two wide products, and the
  next solve would be slower on a form made for these.
*/
#define CSRC_COLUMNS_COUNTED 256

static PetscErrorCode CSRCExpectDense(void *ctx, PetscInt K, PetscBool *again)
{
  CSRC          *csrc   = (CSRC *)ctx;
  const PetscInt before = csrc->columns;
  PetscBool      suits  = PETSC_TRUE;

  PetscFunctionBegin;
  csrc->columns = PetscMax(before, K);
  if (csrc->ops && csrc->ops->madefor) PetscCall((*csrc->ops->madefor)(csrc->data, CSRCColumns(csrc), &suits));
  csrc->suited = suits ? PetscMin(csrc->suited + K, CSRC_COLUMNS_COUNTED) : csrc->suited - K;
  *again       = csrc->suited < 0 ? PETSC_TRUE : PETSC_FALSE;
  if (*again) csrc->suited = 0;
  else if (!suits) csrc->columns = before;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCApply(void *ctx, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  CSRC *csrc = (CSRC *)ctx;

  PetscFunctionBegin;
  csrc->suited = PetscMin(csrc->suited + 1, CSRC_COLUMNS_COUNTED);
  PetscCall((*csrc->ops->apply)(csrc->data, op, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCApplyDense(void *ctx, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
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
  if (detail && csrc->tuned > 0) PetscCall(PetscViewerASCIIPrintf(viewer, "chosen by timing: A x and A^T x took %.1f us\n", csrc->tuned));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJKind AIJKindCSRCCUDA = {
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
  .getrepeatable  = CSRCGetRepeatable,
  .apply          = CSRCApply,
  .applydense     = CSRCApplyDense,
  .getmemory      = CSRCGetMemory,
  .view           = CSRCView,
};

PetscErrorCode MatCreate_SeqCSRCCUDA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_SeqAIJDerived(A, &AIJKindCSRCCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPICSRCCUDA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_MPIAIJDerived(A, &AIJKindCSRCCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MATCSRCCUDA - "csrccuda" - A matrix type for fast products with A and with A^T from one stored copy, on NVIDIA GPUs and on CPUs

   This matrix type is identical to `MATSEQCSRCCUDA` when constructed with a single process communicator, and to
   `MATMPICSRCCUDA` otherwise.

   Options Database Keys:
+ -mat_type csrccuda                        - sets the matrix type to `MATCSRCCUDA` during a call to `MatSetFromOptions()`
. -mat_csrc_layout (auto|paper|balanced)    - how the nonzeros are stored, see `MatCSRCLayout`
. -mat_csrc_blocking (auto|vector|dense)    - which products the blocks are cut for, see `MatCSRCBlocking`
. -mat_csrc_orientation (auto|rows|columns) - what blocks are made of, see `MatCSRCOrientation`
. -mat_csrc_require_device (true|false)     - it is an error if no device can be used
. -mat_csrc_autotune (true|false)           - choose how the nonzeros are stored by timing products, see `MatCSRCSetAutotune()`
- -mat_csrc_reproducible (true|false)       - A x and A^T x have the same bits every time, see `MatCSRCSetReproducible()`

  Level: beginner

   Notes:
   The matrix is a `MATAIJ` matrix in everything but its products, which use a second stored form of its nonzeros, CSRC: rows
   in blocks (or columns, where that is better: `MatCSRCOrientation`), the nonzeros of a block sorted by column (Aliaga, Anzt,
   Quintana-Orti, Tomas, Concurrency Computat. Pract. Exper. 2023, e7871, section 2). The form is built at the first product,
   refilled when values have changed, and rebuilt when the nonzero pattern has.

   If a CUDA device can be used, the form lives on it and vectors made by `MatCreateVecs()` are `VECCUDA`. Otherwise, or
   after `MatBindToCPU()`, the form lives on the host, in the paper's layout, and its products use OpenMP threads.

   `MatHasOperation()` denies `MATOP_TRANSPOSE` for a matrix of this type, so that SLEPc uses the transposed product instead of
   forming a transpose. `MatTranspose()` works all the same, and with `-mat_form_explicit_transpose` the answer is yes.

   On a device A^T x is added by floating-point atomics (A x if blocks are made of columns, both in the paper's layout): its last
   bits may differ from run to run, unless `MatCSRCSetReproducible()` was called.

.seealso: `MATBCCOO`, `MATAIJ`, `MATAIJCUSPARSE`, `MatCreateCSRCCUDA()`, `MatCSRCSetLayout()`, `MatCSRCSetBlocking()`, `MatCSRCSetOrientation()`,
          `MatCSRCSetRequireDevice()`, `MatCSRCSetAutotune()`, `MatCSRCSetReproducible()`, `MatFormGetMemory()`
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
  PetscCall(MatCreateDerived_Private(comm, &AIJKindCSRCCUDA, m, n, m, n, nz, nnz, 0, NULL, A));
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
  PetscCall(MatCreateDerived_Private(comm, &AIJKindCSRCCUDA, m, n, M, N, d_nz, d_nnz, o_nz, o_nnz, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
