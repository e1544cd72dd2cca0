/*
  MATBCCOO: settings, and the table by which the common code reaches the form. The path of a product is
  MatMult_SeqAIJDerived() -> BCCOOApply() below -> BCCOOFormMult() in tuples/mult.c.
*/
#include "bccoo.h"
#include "mat/impls/bccoo/tuples/tuples.h"
#include <stddef.h>

const char *const MatBCCOOCompressions[] = {"none", "paper", "lanes", "MatBCCOOCompression", "MAT_BCCOO_COMPRESSION_", NULL};

typedef struct {
  MatBCCOOCompression compression;
  MatBCCOOSIMD        simd;
  BCCOOForm          *form;
} BCCOO;

static PetscErrorCode BCCOOCreate(void **ctx)
{
  BCCOO *bccoo;

  PetscFunctionBegin;
  PetscCall(PetscNew(&bccoo));
  bccoo->compression = MAT_BCCOO_COMPRESSION_LANES;
  *ctx               = bccoo;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCCOOReset(void *ctx)
{
  PetscFunctionBegin;
  PetscCall(BCCOOFormDestroy(&((BCCOO *)ctx)->form));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCCOODestroy(void **ctx)
{
  PetscFunctionBegin;
  PetscCall(BCCOOReset(*ctx));
  PetscCall(PetscFree(*ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCCOOCopySettings(const void *from, void *to)
{
  PetscFunctionBegin;
  ((BCCOO *)to)->compression = ((const BCCOO *)from)->compression;
  ((BCCOO *)to)->simd        = ((const BCCOO *)from)->simd;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCCOOBuild(void *ctx, PetscBool ondevice, const AIJCSR *csr)
{
  BCCOO *bccoo = (BCCOO *)ctx;

  PetscFunctionBegin;
  PetscCheck(!ondevice, PETSC_COMM_SELF, PETSC_ERR_SUP, "%s has no form on a device", MATBCCOO);
  PetscCall(BCCOOFormBuild(csr, bccoo->compression, bccoo->simd, &bccoo->form));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCCOOSetValues(void *ctx, const AIJCSR *csr)
{
  PetscFunctionBegin;
  PetscCall(BCCOOFormSetValues(((BCCOO *)ctx)->form, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCCOOApply(void *ctx, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  BCCOOForm *form = ((BCCOO *)ctx)->form;

  PetscFunctionBegin;
  if (op == AIJ_N) PetscCall(BCCOOFormMult(form, x, z, y));
  else PetscCall(BCCOOFormMultTranspose(form, op == AIJ_H ? PETSC_TRUE : PETSC_FALSE, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCCOOApplyDense(void *ctx, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  BCCOOForm *form = ((BCCOO *)ctx)->form;

  PetscFunctionBegin;
  if (op == AIJ_N) PetscCall(BCCOOFormMultDense(form, K, X, ldx, Y, ldy));
  else PetscCall(BCCOOFormMultTransposeDense(form, op == AIJ_H ? PETSC_TRUE : PETSC_FALSE, K, X, ldx, Y, ldy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static size_t TotalBytes(const BCCOOBytes *b)
{
  return b->rows + b->columns + b->values + b->tables + b->buffers;
}

static PetscErrorCode BCCOOGetMemory(void *ctx, PetscLogDouble *bytes)
{
  BCCOOBytes b;

  PetscFunctionBegin;
  PetscCall(BCCOOFormGetBytes(((BCCOO *)ctx)->form, &b));
  *bytes = (PetscLogDouble)TotalBytes(&b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCCOOView(void *ctx, PetscViewer viewer, PetscBool detail)
{
  const BCCOOForm *form = ((BCCOO *)ctx)->form;
  const double     nnz  = (double)PetscMax(form->nnz, 1);
  BCCOOBytes       b;

  PetscFunctionBegin;
  PetscCall(BCCOOFormGetBytes(form, &b));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s form: compression %s, %" PetscInt_FMT " nonzeros, %.2f bytes per nonzero\n", MATBCCOO, MatBCCOOCompressions[form->compression], form->nnz, (double)TotalBytes(&b) / nnz));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "bytes per nonzero: rows %.2f, columns %.2f, values %.2f, tables %.2f, buffers %.2f\n", b.rows / nnz, b.columns / nnz, b.values / nnz, b.tables / nnz, b.buffers / nnz));
  if (form->lanes) PetscCall(BCCOOLanesView(form->lanes, viewer, detail));
  if (form->compression == MAT_BCCOO_COMPRESSION_PAPER) PetscCall(PetscViewerASCIIPrintf(viewer, "value table: %" PetscInt_FMT " values code %.1f%% of the nonzeros\n", form->ntable, 100.0 * form->ntabled / nnz));
  if (detail) {
    if (!form->lanes) PetscCall(PetscViewerASCIIPrintf(viewer, "parts: %" PetscInt_FMT " for A x, %" PetscInt_FMT " for A^T x, %" PetscInt_FMT " for A^T X\n", form->nparts, form->transposed.n, form->transposeddense.n));
    PetscCall(PetscViewerASCIIPrintf(viewer, "rows not sorted by column in the CSR: %" PetscInt_FMT "\n", form->order.nunsorted));
  }
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCCOOVisit(void *ctx, AIJVisitor visit, void *visitctx)
{
  PetscFunctionBegin;
  PetscCall(BCCOOFormVisit(((BCCOO *)ctx)->form, visit, visitctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCCOOGetRows(void *ctx, PetscInt i[])
{
  PetscFunctionBegin;
  PetscCall(BCCOOFormGetRows(((BCCOO *)ctx)->form, i));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCCOOGetCSR(void *ctx, const PetscInt i[], PetscInt j[], PetscScalar a[])
{
  PetscFunctionBegin;
  PetscCall(BCCOOFormGetCSR(((BCCOO *)ctx)->form, i, j, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBCCOOSetCompression_BCCOO(Mat A, MatBCCOOCompression compression)
{
  PetscFunctionBegin;
  PetscCall(AIJCheckEnum(A, MatBCCOOCompressions, (int)compression));
  PetscCall(MatDerivedChangeSetting(A, offsetof(BCCOO, compression), &compression, sizeof(compression)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBCCOOGetCompression_BCCOO(Mat A, MatBCCOOCompression *compression)
{
  BCCOO *bccoo;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetContext(A, &bccoo));
  *compression = bccoo->compression;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBCCOOSetSIMD_BCCOO(Mat A, MatBCCOOSIMD simd)
{
  PetscFunctionBegin;
  PetscCall(AIJCheckEnum(A, MatBCCOOSIMDs, (int)simd));
  PetscCall(MatDerivedChangeSetting(A, offsetof(BCCOO, simd), &simd, sizeof(simd)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBCCOOGetSIMD_BCCOO(Mat A, MatBCCOOSIMD *simd)
{
  BCCOO *bccoo;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetContext(A, &bccoo));
  *simd = bccoo->simd;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCCOOSetFromOptions(Mat A, void *ctx, PetscOptionItems PetscOptionsObject)
{
  BCCOO    *bccoo = (BCCOO *)ctx;
  PetscEnum value;
  PetscBool set, release;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "BCCOO options");
  PetscCall(AIJOptionsEnum(PetscOptionsObject, "-mat_bccoo_compression", "compression", "How the nonzeros are coded", "MatBCCOOSetCompression", MatBCCOOCompressions, (PetscEnum)bccoo->compression, &value, &set));
  if (set) PetscCall(MatBCCOOSetCompression_BCCOO(A, (MatBCCOOCompression)value));
  PetscCall(AIJOptionsEnum(PetscOptionsObject, "-mat_bccoo_simd", "instructions", "Instructions of the products", "MatBCCOOSetSIMD", MatBCCOOSIMDs, (PetscEnum)bccoo->simd, &value, &set));
  if (set) PetscCall(MatBCCOOSetSIMD_BCCOO(A, (MatBCCOOSIMD)value));
  PetscCall(MatDerivedGetRelease(A, &release));
  PetscCall(PetscOptionsBool("-mat_bccoo_release_aij", "Free the CSR at the first product", "MatBCCOOSetReleaseAIJ", release, &release, &set));
  if (set) PetscCall(MatDerivedSetRelease(A, release));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCCOOCompose(Mat A, PetscBool on)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatBCCOOSetCompression_C", on ? MatBCCOOSetCompression_BCCOO : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatBCCOOGetCompression_C", on ? MatBCCOOGetCompression_BCCOO : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatBCCOOSetSIMD_C", on ? MatBCCOOSetSIMD_BCCOO : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatBCCOOGetSIMD_C", on ? MatBCCOOGetSIMD_BCCOO : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatBCCOOSetReleaseAIJ_C", on ? MatDerivedSetRelease : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatBCCOOGetReleaseAIJ_C", on ? MatDerivedGetRelease : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJKind AIJKindBCCOO = {
  .name           = MATBCCOO,
  .seqname        = MATSEQBCCOO,
  .mpiname        = MATMPIBCCOO,
  .usesdevice     = PETSC_FALSE,
  .create         = BCCOOCreate,
  .destroy        = BCCOODestroy,
  .reset          = BCCOOReset,
  .copysettings   = BCCOOCopySettings,
  .setfromoptions = BCCOOSetFromOptions,
  .compose        = BCCOOCompose,
  .build          = BCCOOBuild,
  .setvalues      = BCCOOSetValues,
  .apply          = BCCOOApply,
  .applydense     = BCCOOApplyDense,
  .getmemory      = BCCOOGetMemory,
  .view           = BCCOOView,

  .releasedseqname = MATSEQBCCOORELEASED,
  .releasedmpiname = MATMPIBCCOORELEASED,
  .releaseoption   = "-mat_bccoo_release_aij",
  .visit           = BCCOOVisit,
  .getrows         = BCCOOGetRows,
  .getcsr          = BCCOOGetCSR,
};

PetscErrorCode MatCreate_SeqBCCOO(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_SeqAIJDerived(A, &AIJKindBCCOO));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPIBCCOO(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_MPIAIJDerived(A, &AIJKindBCCOO));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MATBCCOO - "bccoo" - A matrix type for fast products with A and with A^T on CPUs, from one compressed copy of the matrix

   This matrix type is identical to `MATSEQBCCOO` when constructed with a single process communicator, and to
   `MATMPIBCCOO` otherwise.

   Options Database Keys:
+ -mat_type bccoo                                         - sets the matrix type to `MATBCCOO` during a call to `MatSetFromOptions()`
. -mat_bccoo_compression (none|paper|lanes)               - how the nonzeros are coded, see `MatBCCOOCompression`
. -mat_bccoo_release_aij (true|false)                     - the first product frees the CSR, see `MatBCCOOSetReleaseAIJ()`
- -mat_bccoo_simd (best|portable|avx2|avx512|avx512loads) - instructions that products with compression `lanes` use, see `MatBCCOOSIMD`

  Level: beginner

   Notes:
   The matrix is a `MATAIJ` matrix in everything but its products, which use a second stored form of its nonzeros: compressed
   chunks with balanced numbers of nonzeros (Aliaga, Anzt, Gruetzmacher, Quintana-Orti, Tomas, Concurrency Computat. Pract. Exper.
   2021, section 2). The paper's own coding is compression `paper`; the default, `lanes`, is one that vector instructions read.
   The form is built at the first product, refilled when values have changed, and rebuilt when the nonzero pattern has. Its memory
   comes on top of that of the `MATAIJ` matrix, whose CSR takes 12 bytes per nonzero in real double precision with 32-bit indices;
   `MatFormGetMemory()`, and `MatView()` in the format `PETSC_VIEWER_ASCII_INFO_DETAIL` after a product, tell how much it is. With
   `-mat_bccoo_release_aij` the CSR is freed.

   The coding is lossless: every value keeps its bits, including -0.0, denormals, infinities, and NaNs with their payload.

   Products use OpenMP threads, as many as `omp_get_max_threads()` returns when the form is built (`OMP_NUM_THREADS` or
   `-omp_num_threads`), and one for small matrices. No values are added by atomic operations: with the same number of threads,
   even if the system grants fewer, the results have the same bits in every run.

   `MatHasOperation()` denies `MATOP_TRANSPOSE` for a matrix of this type, so that SLEPc uses the transposed product instead of
   forming a transpose. `MatTranspose()` works all the same, and with `-mat_form_explicit_transpose` the answer is yes.

.seealso: `MATCSRCCUDA`, `MATAIJ`, `MatCreateBCCOO()`, `MatBCCOOSetCompression()`, `MatBCCOOSetReleaseAIJ()`, `MatBCCOOSetSIMD()`, `MatFormGetMemory()`
M*/

/*@
  MatCreateSeqBCCOO - Creates a sequential sparse matrix of type `MATSEQBCCOO`

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

.seealso: `MATBCCOO`, `MatCreateBCCOO()`, `MatCreateSeqAIJ()`, `MatSetValues()`
@*/
PetscErrorCode MatCreateSeqBCCOO(MPI_Comm comm, PetscInt m, PetscInt n, PetscInt nz, const PetscInt nnz[], Mat *A)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCheck(size == 1, comm, PETSC_ERR_ARG_WRONG, "A sequential matrix needs a communicator of one process, this one has %d", size);
  PetscCall(MatCreateDerived_Private(comm, &AIJKindBCCOO, m, n, m, n, nz, nnz, 0, NULL, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCreateBCCOO - Creates a sparse matrix of type `MATBCCOO`

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

.seealso: `MATBCCOO`, `MatCreateSeqBCCOO()`, `MatCreateAIJ()`, `MatSetValues()`
@*/
PetscErrorCode MatCreateBCCOO(MPI_Comm comm, PetscInt m, PetscInt n, PetscInt M, PetscInt N, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreateDerived_Private(comm, &AIJKindBCCOO, m, n, M, N, d_nz, d_nnz, o_nz, o_nnz, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatBCCOOSetCompression - Sets how a `MATBCCOO` matrix encodes its nonzeros

  Logically Collective

  Input Parameters:
+ A           - the matrix
- compression - see `MatBCCOOCompression`

  Options Database Key:
. -mat_bccoo_compression (none|paper|lanes) - sets the compression; the default is `lanes`

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
  MatBCCOOSetSIMD - Sets which instructions the products of a `MATBCCOO` matrix with compression `lanes` use

  Logically Collective

  Input Parameters:
+ A    - the matrix
- simd - see `MatBCCOOSIMD`

  Options Database Key:
. -mat_bccoo_simd (best|portable|avx2|avx512|avx512loads) - sets the instructions; the default is `best`

  Level: advanced

  Note:
  It takes effect at the next product, which rebuilds the form; this product raises an error if the processor, or this build,
  lacks these instructions. A matrix of another type is left as it is.

.seealso: `MATBCCOO`, `MatBCCOOSIMD`, `MatBCCOOGetSIMD()`, `MatBCCOOSetCompression()`
@*/
PetscErrorCode MatBCCOOSetSIMD(Mat A, MatBCCOOSIMD simd)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(A, simd, 2);
  PetscTryMethod(A, "MatBCCOOSetSIMD_C", (Mat, MatBCCOOSIMD), (A, simd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatBCCOOGetSIMD - Gets which instructions the products of a `MATBCCOO` matrix with compression `lanes` are to use

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameter:
. simd - see `MatBCCOOSIMD`

  Level: advanced

.seealso: `MATBCCOO`, `MatBCCOOSIMD`, `MatBCCOOSetSIMD()`
@*/
PetscErrorCode MatBCCOOGetSIMD(Mat A, MatBCCOOSIMD *simd)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(simd, 2);
  PetscUseMethod(A, "MatBCCOOGetSIMD_C", (Mat, MatBCCOOSIMD *), (A, simd));
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
