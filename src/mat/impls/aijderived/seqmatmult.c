/* Products of the sequential type with dense matrices: A X, A^T X and A X^T; the format multiplies all columns in one call */
#include "seq.h"
#include "cusparse/cusparse.h"

/*
  Columns that pass through scratch at a time when an operand and the form live in different memories. It bounds the
  scratch, which stays with the matrix, to this many times (rows + columns) scalars.
*/
#define STAGE_COLUMNS 32

static PetscErrorCode MatApplyDenseHost_SeqAIJDerived(Mat A, AIJOp op, Mat X, Mat Y)
{
  Mat_Derived       *f = MatDerivedOf(A);
  const PetscScalar *xa;
  PetscScalar       *ya;
  PetscInt           ldx, ldy;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Y, &ldy));
  PetscCall(MatDenseGetArrayRead(X, &xa));
  PetscCall(MatDenseGetArrayWrite(Y, &ya));
  PetscCall((*f->cache.stored.format->applydense)(f->cache.stored.data, op, Y->cmap->n, xa, ldx, ya, ldy));
  PetscCall(MatDenseRestoreArrayWrite(Y, &ya));
  PetscCall(MatDenseRestoreArrayRead(X, &xa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
static PetscErrorCode MatApplyDenseDevice_SeqAIJDerived(Mat A, AIJOp op, Mat X, Mat Y)
{
  Mat_Derived       *f  = MatDerivedOf(A);
  const PetscInt     nx = op == AIJ_N ? f->cache.n : f->cache.m, ny = op == AIJ_N ? f->cache.m : f->cache.n, K = Y->cmap->n;
  const PetscScalar *xa;
  PetscScalar       *ya;
  PetscInt           ldx, ldy, panel;
  PetscMemType       xm, ym;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Y, &ldy));
  PetscCall(MatDenseGetArrayReadAndMemType(X, &xa, &xm));
  PetscCall(MatDenseGetArrayWriteAndMemType(Y, &ya, &ym));
  panel = PetscMemTypeDevice(xm) && PetscMemTypeDevice(ym) ? K : PetscMin(K, STAGE_COLUMNS);
  for (PetscInt k = 0; k < K; k += panel) {
    const PetscInt     cols = PetscMin(panel, K - k);
    const PetscScalar *dx   = xa + (size_t)ldx * k;
    PetscScalar       *dy   = ya + (size_t)ldy * k;
    PetscInt           lddx = ldx, lddy = ldy;

    if (PetscMemTypeHost(xm)) {
      PetscScalar *stage;

      PetscCall(MatDerivedGetStage(A, 0, (size_t)nx * panel, &stage));
      PetscCall(PetscCSRCDeviceCopy2D(stage, nx, PETSC_MEMTYPE_CUDA, dx, ldx, xm, nx, cols));
      dx   = stage;
      lddx = nx;
    }
    if (PetscMemTypeHost(ym)) {
      PetscCall(MatDerivedGetStage(A, 1, (size_t)ny * panel, &dy));
      lddy = ny;
    }
    PetscCall(PetscLogGpuTimeBegin());
    PetscCall((*f->cache.stored.format->applydense)(f->cache.stored.data, op, cols, dx, lddx, dy, lddy));
    PetscCall(PetscLogGpuTimeEnd());
    if (PetscMemTypeHost(ym)) PetscCall(PetscCSRCDeviceCopy2D(ya + (size_t)ldy * k, ldy, ym, dy, ny, PETSC_MEMTYPE_CUDA, ny, cols));
  }
  if (PetscMemTypeHost(xm) || PetscMemTypeHost(ym)) PetscCall(PetscCSRCDeviceWait());
  PetscCall(MatDenseRestoreArrayWriteAndMemType(Y, &ya));
  PetscCall(MatDenseRestoreArrayReadAndMemType(X, &xa));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode MatDerivedApplyDense(Mat A, AIJOp op, Mat X, Mat Y)
{
  Mat_Derived   *f  = MatDerivedOf(A);
  const PetscInt nx = op == AIJ_N ? A->cmap->n : A->rmap->n, ny = op == AIJ_N ? A->rmap->n : A->cmap->n;
  PetscLogDouble flops;

  PetscFunctionBegin;
  /* with MAT_REUSE_MATRIX PETSc accepts any matrix from the caller */
  PetscCheck(X->rmap->n == nx && Y->rmap->n == ny && X->cmap->n == Y->cmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "Operands do not fit: %s%" PetscInt_FMT " x %" PetscInt_FMT " times %" PetscInt_FMT " x %" PetscInt_FMT " into %" PetscInt_FMT " x %" PetscInt_FMT, op == AIJ_N ? "" : "the transpose of ", A->rmap->n, A->cmap->n, X->rmap->n, X->cmap->n,
             Y->rmap->n, Y->cmap->n);
  PetscCall(MatDerivedReleaseIfAsked(A));
  PetscCall(MatDerivedExpectColumns(A, Y->cmap->n));
  PetscCall(MatDerivedStoreAtOnce(A));
  PetscCall(MatDerivedUpdate(A));
  if (!f->cache.nnz || !Y->cmap->n) {
    PetscCall(MatZeroEntries(Y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  flops = 2.0 * f->cache.nnz * Y->cmap->n;
  PetscCall(PetscLogEventBegin(MAT_FormMatMult, A, X, Y, 0));
#if defined(PETSCCSRC_HAVE_CUDA)
  if (f->cache.ondevice) {
    PetscCall(MatApplyDenseDevice_SeqAIJDerived(A, op, X, Y));
    PetscCall(PetscLogGpuFlops(flops));
    flops = 0.0;
  } else
#endif
  {
    PetscCall(MatApplyDenseHost_SeqAIJDerived(A, op, X, Y));
  }
  PetscCall(PetscLogFlops(flops));
  PetscCall(PetscLogEventEnd(MAT_FormMatMult, A, X, Y, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* If A was converted in place after C was prepared, C is prepared again for the new type, and computed */
PetscErrorCode MatDerivedProductElsewhere(Mat C, PetscBool *done)
{
  PetscFunctionBegin;
  *done = MatDerivedOf(C->product->A) ? PETSC_FALSE : PETSC_TRUE;
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatProductSetFromOptions(C));
  PetscCall(MatProductSymbolic(C));
  PetscUseTypeMethod(C, productnumeric);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedProductOfOthers(Mat A, AIJOp op, Mat B, Mat C)
{
  Mat D;

  PetscFunctionBegin;
  if (op == AIJ_N) PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_CURRENT, &D));
  else PetscCall(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_CURRENT, &D));
  PetscCall(MatCopy(D, C, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Product(Mat A, AIJOp op, Mat B, Mat C)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedApplyDense(A, op, B, C));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMatMultNumeric_SeqAIJDerived(Mat A, Mat B, Mat C)
{
  PetscFunctionBegin;
  PetscCall((MatDerivedOf(A) ? Product : MatDerivedProductOfOthers)(A, AIJ_N, B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatTransposeMatMultNumeric_SeqAIJDerived(Mat A, Mat B, Mat C)
{
  PetscFunctionBegin;
  PetscCall((MatDerivedOf(A) ? Product : MatDerivedProductOfOthers)(A, AIJ_T, B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_SeqAIJDerived_SeqDense(Mat C)
{
  Mat       A, B, Bt;
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  PetscCall(MatDerivedProductElsewhere(C, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  A = C->product->A;
  B = C->product->B;
  switch (C->product->type) {
  case MATPRODUCT_AB:
    PetscCall(Product(A, AIJ_N, B, C));
    break;
  case MATPRODUCT_AtB:
    PetscCall(Product(A, AIJ_T, B, C));
    break;
  case MATPRODUCT_ABt:
    PetscCall(MatTranspose(B, MAT_INITIAL_MATRIX, &Bt));
    PetscCall(Product(A, AIJ_N, Bt, C));
    PetscCall(MatDestroy(&Bt));
    break;
  default:
    SETERRQ(PetscObjectComm((PetscObject)C), PETSC_ERR_PLIB, "Product type %s", MatProductTypes[C->product->type]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This must be cheap: SLEPc's BV and PETSc's parallel products call it before every product */
static PetscErrorCode MatProductSymbolic_SeqAIJDerived_SeqDense(Mat C)
{
  Mat         A, B;
  PetscLayout rows, cols;
  PetscBool   isdense;

  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  A    = C->product->A;
  B    = C->product->B;
  rows = C->product->type == MATPRODUCT_AtB ? A->cmap : A->rmap;
  cols = C->product->type == MATPRODUCT_ABt ? B->rmap : B->cmap;
  PetscCall(MatSetSizes(C, rows->n, cols->n, rows->N, cols->N));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)C, &isdense, MATSEQDENSE, MATSEQDENSECUDA, ""));
  if (!isdense) PetscCall(MatSetType(C, ((PetscObject)B)->type_name));
  PetscCall(MatSetUp(C));
  C->ops->productnumeric = MatProductNumeric_SeqAIJDerived_SeqDense;
  if (C->product->type == MATPRODUCT_AB) C->ops->matmultnumeric = MatMatMultNumeric_SeqAIJDerived;
  else if (C->product->type == MATPRODUCT_AtB) C->ops->transposematmultnumeric = MatTransposeMatMultNumeric_SeqAIJDerived;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatProductSetFromOptions_SeqAIJDerived_SeqDense(Mat C)
{
  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  switch (C->product->type) {
  case MATPRODUCT_AB:
  case MATPRODUCT_AtB:
  case MATPRODUCT_ABt:
    C->ops->productsymbolic = MatProductSymbolic_SeqAIJDerived_SeqDense;
    break;
  default: /* PETSc computes the other products from these */
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A dense matrix times A: AIJ's product with the CSR, which reads the arrays on the host as they stand */
PetscErrorCode MatProductSetFromOptions_SeqDense_SeqAIJDerived(Mat C)
{
  PetscErrorCode (*f)(Mat) = NULL;

  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  PetscCall(PetscObjectQueryFunction((PetscObject)C->product->B, "MatProductSetFromOptions_seqdense_seqaij_C", &f));
  if (!f) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*f)(C));
  if (C->ops->productsymbolic) PetscCall(MatDerivedProductOnHost(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P^T A P with a MATMAIJ P, the interpolation of a DMDA with several fields: PETSc's function for AIJ, which reads the CSR of A on the host as it stands */
PetscErrorCode MatProductSetFromOptions_AIJDerived_MAIJ(Mat C)
{
  PetscErrorCode (*f)(Mat) = NULL;
  PetscBool isseq, ismaij;

  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  PetscCall(PetscObjectTypeCompare((PetscObject)C->product->B, MATSEQMAIJ, &isseq));
  PetscCall(PetscObjectQueryFunction((PetscObject)C->product->B, isseq ? "MatProductSetFromOptions_seqaij_seqmaij_C" : "MatProductSetFromOptions_mpiaij_mpimaij_C", &f));
  if (!f) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*f)(C));
  /* it may have converted a parallel P to AIJ in place and prepared the product again */
  PetscCall(PetscObjectTypeCompareAny((PetscObject)C->product->B, &ismaij, MATSEQMAIJ, MATMPIMAIJ, ""));
  if (ismaij && C->ops->productsymbolic) PetscCall(MatDerivedProductOnHost(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
