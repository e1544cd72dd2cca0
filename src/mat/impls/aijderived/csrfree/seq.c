/*
  A matrix without its CSR. With -mat_bccoo_release_aij (kind->releaseoption) the first product makes the form, frees the CSR and
  all else that AIJ keeps, and gives the matrix, in place, a type of its own: the form is the matrix from then on.

      SeqAIJ  data: i, j, a, ...           (no data)
              spptr: Mat_Derived   ---->   spptr: the same Mat_Derived, released

  The Mat_Derived stays where it is, so that products, also those that MatProduct prepared before, go on as they did. Nothing of
  AIJ is left: its destroy function has run, the table of operations is ours alone, and the type's name does not begin with
  seqaij or mpiaij, by which PETSc recognizes AIJ. Operations that need a CSR are refused (refused.c). Operations that
  change values, and views, make a temporary AIJ copy.

  This file has the sequential type, and what the parallel one has in common with it.
*/
#include "mat/impls/aijderived/derivedimpl.h"

/* ------------------------------------------------------------------------------------------------------- to and from AIJ */

/* The CSR that the form was made from, bit by bit, including the order of the columns within a row */
PetscErrorCode MatDerivedDecodeSeq(Mat A, Mat *B)
{
  const Mat_Derived *f = (const Mat_Derived *)A->spptr;
  const PetscInt     m = f->m;
  PetscInt          *len, *i, *j;
  PetscScalar       *a;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(m, &len));
  PetscCall(PetscCalloc1(m + 1, &i));
  PetscCall(PetscMalloc1(f->nnz + 1, &j));
  if (f->nnz) PetscCall((*f->kind->getrows)(f->ctx, i));
  for (PetscInt r = 0; r < m; r++) len[r] = i[r + 1] - i[r];

  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(MatSetSizes(*B, m, f->n, m, f->n));
  if (!(m % A->rmap->bs) && !(f->n % A->cmap->bs)) PetscCall(MatSetBlockSizesFromMats(*B, A, A));
  PetscCall(MatSetType(*B, MATSEQAIJ));
  PetscCall(MatSeqAIJSetPreallocation(*B, 0, len));
  PetscCall(MatSeqAIJGetArrayWrite(*B, &a));
  if (f->nnz) PetscCall((*f->kind->getcsr)(f->ctx, i, j, a));
  PetscCall(MatSeqAIJRestoreArrayWrite(*B, &a));
  PetscCall(MatSeqAIJSetColumnIndices(*B, j));
  PetscCall(PetscFree(len));
  PetscCall(PetscFree(i));
  PetscCall(PetscFree(j));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatConvert(*B, MATSEQAIJ, MAT_INPLACE_MATRIX, B)); /* -mat_seqaij_type may have made it another type */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDerivedDecode(Mat A, Mat *B)
{
  PetscBool isseq;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, ((Mat_Derived *)A->spptr)->kind->releasedseqname, &isseq));
  if (isseq) PetscCall(MatDerivedDecodeSeq(A, B));
  else PetscCall(MatDerivedDecodeMPI(A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Encodes B, a plain AIJ matrix, as the form of A, of the sequential type, by A's present settings; if that fails A is as before */
static PetscErrorCode MatDerivedEncode(Mat A, Mat B)
{
  Mat_Derived   *f = (Mat_Derived *)A->spptr;
  AIJCSR         csr;
  PetscScalar   *a;
  void          *ctx;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (!f->nnz) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJGetCSRAndMemType(B, &csr.i, &csr.j, &a, NULL));
  csr.a   = a;
  csr.m   = f->m;
  csr.n   = f->n;
  csr.nnz = f->nnz;
  PetscCall((*f->kind->create)(&ctx));
  PetscCall((*f->kind->copysettings)(f->ctx, ctx));
  PetscCall(PetscLogEventBegin(MAT_FormBuild, A, 0, 0, 0));
  ierr = (*f->kind->build)(ctx, PETSC_FALSE, &csr);
  PetscCall(PetscLogEventEnd(MAT_FormBuild, A, 0, 0, 0));
  if (!ierr) {
    void *old = f->ctx;

    f->ctx = ctx;
    ctx    = old;
  }
  PetscCall((*f->kind->destroy)(&ctx));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------------------------------------------------------------------------------------------- operations of both types */

PetscErrorCode MatDerivedReleasedSettingsChanged(Mat A)
{
  const Mat_Derived *f = (const Mat_Derived *)A->spptr;
  Mat                B;
  PetscBool          isseq;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, f->kind->releasedseqname, &isseq));
  if (isseq) {
    PetscCall(MatDerivedDecodeSeq(A, &B));
    PetscCall(MatDerivedEncode(A, B));
    PetscCall(MatDestroy(&B));
  } else {
    Mat blocks[2];

    PetscCall(MatDerivedGetBlocks(A, &blocks[0], &blocks[1], NULL));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatDerivedCopySettings(A, blocks[k]));
      PetscCall(MatDerivedReleasedSettingsChanged(blocks[k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To any type, through AIJ. Not to our own types: MatConvert() asks an empty matrix of the new type first, see ../convert.c. */
static PetscErrorCode MatConvert_AIJCSRFree(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat       B;
  PetscBool toaij;

  PetscFunctionBegin;
  PetscCall(MatDerivedDecode(A, &B));
  PetscCall(PetscStrcmpAny(type, &toaij, MATAIJ, MATSEQAIJ, MATMPIAIJ, ""));
  if (!toaij) PetscCall(MatConvertAIJInPlace(B, type));
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatCopy(B, *newmat, toaij ? DIFFERENT_NONZERO_PATTERN : SAME_NONZERO_PATTERN));
    PetscCall(MatDestroy(&B));
  } else if (reuse == MAT_INPLACE_MATRIX) {
    PetscCall(MatDerivedReplace(A, &B));
    *newmat = A;
  } else *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCopy_AIJCSRFree(Mat A, Mat B, MatStructure str)
{
  Mat C;

  PetscFunctionBegin;
  PetscCall(MatDerivedDecode(A, &C));
  PetscCall(MatCopy(C, B, str));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With values: a matrix of the same type. Without: one that is to be filled, so it has a CSR, which its first product frees. */
static PetscErrorCode MatDuplicate_AIJCSRFree(Mat A, MatDuplicateOption op, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(A, ((Mat_Derived *)A->spptr)->kind->name, MAT_INITIAL_MATRIX, B));
  PetscCall(MatDerivedSetRelease(*B, PETSC_TRUE));
  if (op == MAT_COPY_VALUES) PetscCall(MatDerivedReleaseIfAsked(*B));
  else PetscCall(MatZeroEntries(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHasOperation_AIJCSRFree(Mat A, MatOperation op, PetscBool *has)
{
  PetscFunctionBegin;
  *has = ((void **)&((Mat_Derived *)A->spptr)->base)[op] ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A has no AIJ data any more, and its caller has set the operations of its sequential or parallel type. This call adds the operations
  of both types, and refusals for all that are still missing.
*/
PetscErrorCode MatDerivedInstallReleased(Mat A, const char typename[])
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

  PetscFunctionBegin;
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, typename));
  A->ops->view         = MatView_AIJCSRFree;
  A->ops->duplicate    = MatDuplicate_AIJCSRFree;
  A->ops->copy         = MatCopy_AIJCSRFree;
  A->ops->convert      = MatConvert_AIJCSRFree;
  A->ops->hasoperation = MatHasOperation_AIJCSRFree;
  f->base              = A->ops[0];
  f->released          = PETSC_TRUE;
  PetscCall(MatDerivedRefuse(A, PETSC_TRUE));
  PetscCall(PetscInfo(A, "The CSR is freed: the %s form is the matrix\n", f->kind->name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedRemoveReleased(Mat A)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

  PetscFunctionBegin;
  PetscCall(MatDerivedRefuse(A, PETSC_FALSE));
  PetscCall((*f->kind->compose)(A, PETSC_FALSE));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatFormGetMemory_C", NULL));
  PetscCall((*f->kind->destroy)(&f->ctx));
  PetscCall(PetscFree(A->spptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------------------------------------------------- operations of the sequential type */

static PetscErrorCode MatGetInfo_SeqAIJCSRFree(Mat A, MatInfoType type, MatInfo *info)
{
  const Mat_Derived *f = (const Mat_Derived *)A->spptr;
  PetscMemType       mtype;

  PetscFunctionBegin;
  (void)type; /* one process */
  PetscCall(PetscMemzero(info, sizeof(*info)));
  info->block_size   = 1.0;
  info->nz_allocated = info->nz_used = f->nnz;
  info->assemblies                   = A->num_ass;
  PetscCall(MatFormGetMemory(A, &info->memory, &mtype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscScalar *diagonal;
  PetscBT      met;
} Diagonal;

/* AIJ takes the first of several entries in one place */
static void VisitDiagonal(void *ctx, PetscInt n, const PetscInt row[], const PetscInt col[], const PetscScalar val[])
{
  const Diagonal *d = (const Diagonal *)ctx;

  for (PetscInt k = 0; k < n; k++) {
    if (row[k] == col[k] && !PetscBTLookupSet(d->met, row[k])) memcpy(&d->diagonal[row[k]], &val[k], sizeof(*val));
  }
}

static PetscErrorCode MatGetDiagonal_SeqAIJCSRFree(Mat A, Vec v)
{
  const Mat_Derived *f = (const Mat_Derived *)A->spptr;
  PetscInt           n;
  Diagonal           d;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCheck(n == f->m, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "The vector has %" PetscInt_FMT " entries, the matrix %" PetscInt_FMT " rows", n, f->m);
  PetscCall(PetscBTCreate(n, &d.met));
  PetscCall(VecGetArrayWrite(v, &d.diagonal));
  PetscCall(PetscArrayzero(d.diagonal, n));
  if (f->nnz) PetscCall((*f->kind->visit)(f->ctx, VisitDiagonal, &d));
  PetscCall(VecRestoreArrayWrite(v, &d.diagonal));
  PetscCall(PetscBTDestroy(&d.met));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void AddRowSums(void *ctx, PetscInt n, const PetscInt row[], const PetscInt col[], const PetscScalar val[])
{
  PetscReal *sums = (PetscReal *)ctx;

  (void)col;
  for (PetscInt k = 0; k < n; k++) sums[row[k]] += PetscAbsScalar(val[k]);
}

static void AddColumnSums(void *ctx, PetscInt n, const PetscInt row[], const PetscInt col[], const PetscScalar val[])
{
  PetscReal *sums = (PetscReal *)ctx;

  (void)row;
  for (PetscInt k = 0; k < n; k++) sums[col[k]] += PetscAbsScalar(val[k]);
}

static void AddSquares(void *ctx, PetscInt n, const PetscInt row[], const PetscInt col[], const PetscScalar val[])
{
  PetscReal sum = 0.0;

  (void)row;
  (void)col;
  for (PetscInt k = 0; k < n; k++) sum += PetscRealPart(PetscConj(val[k]) * val[k]);
  *(PetscReal *)ctx += sum;
}

PetscErrorCode MatDerivedAddSums(Mat A, PetscBool byrow, PetscReal sums[])
{
  const Mat_Derived *f = (const Mat_Derived *)A->spptr;

  PetscFunctionBegin;
  if (f->released) {
    if (f->nnz) PetscCall((*f->kind->visit)(f->ctx, byrow ? AddRowSums : AddColumnSums, sums));
  } else {
    const PetscInt *i, *j;
    PetscScalar    *a;

    PetscCall(MatSeqAIJGetCSRAndMemType(A, &i, &j, &a, NULL));
    for (PetscInt r = 0; r < A->rmap->n; r++) {
      for (PetscInt k = i[r]; k < i[r + 1]; k++) sums[byrow ? r : j[k]] += PetscAbsScalar(a[k]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatNorm_SeqAIJCSRFree(Mat A, NormType type, PetscReal *norm)
{
  const Mat_Derived *f = (const Mat_Derived *)A->spptr;

  PetscFunctionBegin;
  PetscCheck(type == NORM_FROBENIUS || type == NORM_1 || type == NORM_INFINITY, PETSC_COMM_SELF, PETSC_ERR_SUP, "No norm %s of a sparse matrix", NormTypes[type]);
  *norm = 0.0;
  if (type == NORM_FROBENIUS) {
    if (f->nnz) PetscCall((*f->kind->visit)(f->ctx, AddSquares, norm));
    *norm = PetscSqrtReal(*norm);
  } else {
    const PetscInt n = type == NORM_1 ? f->n : f->m;
    PetscReal     *sums;

    PetscCall(PetscCalloc1(n, &sums));
    PetscCall(MatDerivedAddSums(A, type == NORM_INFINITY ? PETSC_TRUE : PETSC_FALSE, sums));
    for (PetscInt k = 0; k < n; k++) *norm = PetscMax(*norm, sums[k]);
    PetscCall(PetscFree(sums));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Scaled values need not fit the coding of a chunk: the whole form is encoded again */
static PetscErrorCode MatScale_SeqAIJCSRFree(Mat A, PetscScalar a)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatDerivedDecodeSeq(A, &B));
  PetscCall(MatScale(B, a));
  PetscCall(MatDerivedEncode(A, B));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* l and r may be vectors of more processes than A: their local parts count, as in AIJ */
static PetscErrorCode MatDiagonalScale_SeqAIJCSRFree(Mat A, Vec l, Vec r)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatDerivedDecodeSeq(A, &B));
  PetscUseTypeMethod(B, diagonalscale, l, r);
  PetscCall(MatDerivedEncode(A, B));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_SeqAIJCSRFree(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedComposeProducts(A, ((Mat_Derived *)A->spptr)->kind->releasedseqname, "seq", NULL, NULL));
  PetscCall(MatDerivedRemoveReleased(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedReleaseSeq(Mat A)
{
  Mat_Derived   *f    = (Mat_Derived *)A->spptr;
  const AIJKind *kind = f->kind;

  PetscFunctionBegin;
  PetscCall(MatDerivedUpdate(A));
  PetscCall(MatDerivedComposeProducts(A, kind->seqname, "seq", NULL, NULL));
  PetscCall((*f->base.destroy)(A));
  PetscCall(PetscMemzero(A->ops, sizeof(*A->ops)));
  A->ops->destroy                   = MatDestroy_SeqAIJCSRFree;
  A->ops->mult                      = MatMult_SeqAIJDerived;
  A->ops->multadd                   = MatMultAdd_SeqAIJDerived;
  A->ops->multtranspose             = MatMultTranspose_SeqAIJDerived;
  A->ops->multtransposeadd          = MatMultTransposeAdd_SeqAIJDerived;
  A->ops->multhermitiantranspose    = MatMultHermitianTranspose_SeqAIJDerived;
  A->ops->multhermitiantransposeadd = MatMultHermitianTransposeAdd_SeqAIJDerived;
  A->ops->getinfo                   = MatGetInfo_SeqAIJCSRFree;
  A->ops->getdiagonal               = MatGetDiagonal_SeqAIJCSRFree;
  A->ops->norm                      = MatNorm_SeqAIJCSRFree;
  A->ops->scale                     = MatScale_SeqAIJCSRFree;
  A->ops->diagonalscale             = MatDiagonalScale_SeqAIJCSRFree;
  PetscCall(MatDerivedInstallReleased(A, kind->releasedseqname));
  PetscCall(MatDerivedComposeProducts(A, kind->releasedseqname, "seq", MatProductSetFromOptions_SeqAIJDerived_SeqDense, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --------------------------------------------------------------------------------------------------------------- settings */

PetscErrorCode MatDerivedSetRelease(Mat A, PetscBool flg)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

  PetscFunctionBegin;
  if (f->released && !flg) PetscCall(MatConvert(A, f->kind->name, MAT_INPLACE_MATRIX, &A));
  else f->release = flg;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedGetRelease(Mat A, PetscBool *flg)
{
  PetscFunctionBegin;
  *flg = ((Mat_Derived *)A->spptr)->release;
  PetscFunctionReturn(PETSC_SUCCESS);
}
