/*
  Products of sparse matrices with aijcusparse underneath: PETSc's, on the device, and results of our type. PETSc prepares such a product in
  three steps, of which each sets the function of the next: MatProductSetFromOptions(), symbolic, numeric. PETSc's functions of the last
  two are the same for all products of two matrices on the device; they are kept when they are first seen, and called from ours.
*/
#include "cusparse.h"

/* PETSc's functions for a product of two matrices on the device: of sequential and of parallel matrices */
static struct {
  PetscErrorCode (*symbolic)(Mat), (*numeric)(Mat);
} Base[2];

/* Lends the name of aijcusparse to the operands of the product C, and to C if it exists */
static PetscErrorCode LendOperands(Mat C, AIJLent lent[4])
{
  const Mat mats[4] = {C, C->product->A, C->product->B, C->product->C};

  PetscFunctionBegin;
  PetscCall(MatDerivedLend(4, mats, lent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the result a matrix of these types, with the settings of the first operand that is one */
static PetscErrorCode InstallResult(Mat C)
{
  Mat                from = MatDerivedOf(C->product->A) ? C->product->A : C->product->B;
  const Mat_Derived *f    = MatDerivedOf(from);

  PetscFunctionBegin;
  if (MatDerivedOf(C) || !f) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*f->install)(C, f->kind));
  PetscCall(MatDerivedCopySettings(from, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_AIJDerived(Mat C)
{
  PetscErrorCode ierr;
  PetscBool      isseq;
  AIJLent        lent[4];

  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)C, MATSEQAIJ, &isseq));
  PetscCall(LendOperands(C, lent));
  ierr = (*Base[isseq].numeric)(C);
#if defined(PETSCCSRC_HAVE_CUDA)
  if (isseq && !ierr) ierr = MatDerivedDropTranspose(C);
#endif
  PetscCall(MatDerivedTakeBack(4, lent));
  PetscCall(ierr);
  PetscCall(PetscObjectStateIncrease((PetscObject)C)); /* products of three matrices call this for one of their steps, and PETSc does not increase the state there */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PETSc's symbolic step on the device computes the values too, with those of the operands. If a numeric step is sure to follow (MatMatMult() and the
  like), and the values of both operands are on the host as well, these results are kept, and the numeric step computes nothing. Values that are on
  the device alone are as good, so such operands pass for being on both sides during the step.
  An operand that has a pattern and no values yet gets zeros (faults.c).
*/
static PetscErrorCode SymbolicSeq(Mat C)
{
#if defined(PETSCCSRC_HAVE_CUDA)
  const Mat        operands[2] = {C->product->A, C->product->B};
  PetscOffloadMask masks[2];
  PetscBool        zeros[2];
  PetscErrorCode   ierr = PETSC_SUCCESS;
  int              n    = 0;

  PetscFunctionBegin;
  for (; n < 2 && !ierr; n++) {
    masks[n] = operands[n]->offloadmask;
    zeros[n] = masks[n] == PETSC_OFFLOAD_UNALLOCATED && !operands[n]->assembled ? PETSC_TRUE : PETSC_FALSE;
    if (zeros[n]) ierr = MatDerivedZeroOnDevice(operands[n]);
    else if (masks[n] == PETSC_OFFLOAD_GPU) operands[n]->offloadmask = PETSC_OFFLOAD_BOTH;
  }
  if (!ierr) ierr = (*Base[PETSC_TRUE].symbolic)(C);
  while (n-- > 0) {
    if (masks[n] == PETSC_OFFLOAD_GPU || zeros[n]) operands[n]->offloadmask = masks[n];
  }
  PetscCall(ierr);
#else
  PetscFunctionBegin;
  PetscCall((*Base[PETSC_TRUE].symbolic)(C));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_AIJDerived(Mat C)
{
  PetscErrorCode ierr;
  PetscBool      isseq;
  AIJLent        lent[4];

  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)C->product->A, MATSEQAIJ, &isseq));
  PetscCall(LendOperands(C, lent));
  ierr = isseq ? SymbolicSeq(C) : (*Base[isseq].symbolic)(C);
  PetscCall(MatDerivedTakeBack(4, lent));
  PetscCall(ierr);
  Base[isseq].numeric = C->ops->productnumeric;
  PetscCall(InstallResult(C));
  C->ops->productnumeric = MatProductNumeric_AIJDerived;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PETSc chooses between device and host. Which of its functions stands for the device is asked once, for two operands that are both there
  and without the options by which users ask for the host.
*/
static PetscErrorCode GetSymbolicOnDevice(Mat C, PetscErrorCode (*prepare)(Mat), PetscBool isseq)
{
  PetscOptions   none;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (Base[isseq].symbolic || MatDerivedBoundToCPU(C->product->A) || MatDerivedBoundToCPU(C->product->B)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscOptionsCreate(&none));
  PetscCall(PetscOptionsPush(none));
  ierr = (*prepare)(C);
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(&none));
  PetscCall(ierr);
  Base[isseq].symbolic = C->ops->productsymbolic;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  On the host, PETSc's functions for a product read the arrays of its operands, and write that of its result, as they stand: newest values
  of operands are fetched before, and those of the result are said to be on the host after.
*/
typedef struct {
  PetscErrorCode (*symbolic)(Mat), (*numeric)(Mat);
} HostProduct;

static PetscErrorCode HostProductSet(Mat C, HostProduct h)
{
  HostProduct *kept;

  PetscFunctionBegin;
  PetscCall(PetscNew(&kept));
  *kept = h;
  PetscCall(PetscObjectContainerCompose((PetscObject)C, AIJ_PART "_product", kept, PetscCtxDestroyDefault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HostProductGet(Mat C, const HostProduct **h)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)C, AIJ_PART "_product", (void *)h));
  PetscCheck(*h, PetscObjectComm((PetscObject)C), PETSC_ERR_PLIB, "A product was not prepared");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FetchOperands(Mat C)
{
  const Mat mats[3] = {C->product->A, C->product->B, C->product->C};

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    const PetscScalar *a;
    PetscBool          isaij;
    Mat                A;

    if (!mats[k]) continue;
    PetscCall(MatMAIJGetAIJ(mats[k], &A)); /* returns the matrix itself if it is not a MATMAIJ */
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &isaij, MATSEQAIJ, MATMPIAIJ, ""));
    if (isaij) PetscCall(MatDerivedFetch(A));
    else {
      PetscCall(MatDenseGetArrayRead(A, &a));
      PetscCall(MatDenseRestoreArrayRead(A, &a));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_OnHost(Mat C)
{
  const HostProduct *h;
  PetscBool          isaij;
  PetscScalar       *c;

  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  PetscCall(HostProductGet(C, &h));
  PetscCall(FetchOperands(C));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)C, &isaij, MATSEQAIJ, MATMPIAIJ, ""));
  if (!isaij) { /* the array on the host must exist and be the newest before it is written */
    PetscCall(MatDenseGetArrayWrite(C, &c));
    PetscCall(MatDenseRestoreArrayWrite(C, &c));
  }
  PetscCall((*h->numeric)(C));
  if (isaij) PetscCall(MatDerivedWritten(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_OnHost(Mat C)
{
  const HostProduct *kept;
  HostProduct        h;

  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  PetscCall(HostProductGet(C, &kept));
  h = *kept; /* C may take over the insides of another matrix */
  PetscCall(FetchOperands(C));
  PetscCall((*h.symbolic)(C));
  h.numeric = C->ops->productnumeric;
  PetscCall(HostProductSet(C, h));
  C->ops->productnumeric = MatProductNumeric_OnHost;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedProductOnHost(Mat C)
{
  PetscFunctionBegin;
  PetscCall(HostProductSet(C, (HostProduct){C->ops->productsymbolic, NULL}));
  C->ops->productsymbolic = MatProductSymbolic_OnHost;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prepares C, a product of AIJ matrices of any type, at least one of which has aijcusparse underneath */
static PetscErrorCode Prepare(Mat C)
{
  const Mat_Product *product = C->product;
  const Mat          mats[3] = {product->A, product->B, product->type == MATPRODUCT_ABC ? product->C : product->A};
  const Mat_Derived *f       = NULL;
  const PetscBool    bound   = MatDerivedBoundToCPU(product->A);
  PetscBool          two = PETSC_FALSE, ondevice = PETSC_TRUE, isseq;
  PetscErrorCode     ierr = PETSC_SUCCESS;
  AIJLent            lent[4];

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)product->A, MATSEQAIJ, &isseq));
  for (int k = 0; k < 3; k++) {
    const Mat_Derived *g = MatDerivedOf(mats[k]);

    if (g && g->cusparse) f = g;
  }
  PetscCheck(f, PetscObjectComm((PetscObject)C), PETSC_ERR_PLIB, "No operand of this product has aijcusparse underneath");
  if (product->type == MATPRODUCT_AB || product->type == MATPRODUCT_AtB || product->type == (isseq ? MATPRODUCT_ABt : MATPRODUCT_PtAP)) two = PETSC_TRUE;
  PetscCall(LendOperands(C, lent));
  if (C->force_diagonals) MatDerivedSetBoundToCPU(product->A, PETSC_TRUE); /* MAT_FORCE_DIAGONAL_ENTRIES, which PETSc's products on the device do not heed */
  for (int k = 0; k < 3 && ondevice && !ierr; k++) {
    ierr = PetscObjectTypeCompare((PetscObject)mats[k], isseq ? MATSEQAIJCUSPARSE : MATMPIAIJCUSPARSE, &ondevice);
    if (MatDerivedBoundToCPU(mats[k])) ondevice = PETSC_FALSE;
  }
  if (two && ondevice && !ierr) ierr = GetSymbolicOnDevice(C, f->base.productsetfromoptions, isseq);
  C->ops->productsymbolic = NULL;
  if (!ierr) ierr = (*f->base.productsetfromoptions)(C);
  MatDerivedSetBoundToCPU(product->A, bound);
  PetscCall(MatDerivedTakeBack(4, lent));
  PetscCall(ierr);
  if (!C->ops->productsymbolic) PetscFunctionReturn(PETSC_SUCCESS);
  if (two && C->ops->productsymbolic == Base[isseq].symbolic) C->ops->productsymbolic = MatProductSymbolic_AIJDerived;
  else if (two || !ondevice || !isseq) PetscCall(MatDerivedProductOnHost(C)); /* otherwise it is a product of three sequential matrices on the device, computed by products of two */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two functions, since PETSc takes matrices with the same one for matrices of one type */
PetscErrorCode MatProductSetFromOptions_SeqAIJDerived(Mat C)
{
  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  PetscCall(Prepare(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatProductSetFromOptions_MPIAIJDerived(Mat C)
{
  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  PetscCall(Prepare(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operands of different types: AIJ of several kinds, or one of a type, such as a virtual transpose, that knows what to do with any other */
PetscErrorCode MatProductSetFromOptions_AIJDerived_AnyType(Mat C)
{
  const Mat_Product *product;
  int                seq = 0, mpi = 0;
  Mat                mats[3];

  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  product = C->product;
  mats[0] = product->A;
  mats[1] = product->B;
  mats[2] = product->type == MATPRODUCT_ABC ? product->C : product->A;
  for (int k = 0; k < 3; k++) {
    PetscBool isseq, ismpi;

    PetscCall(PetscObjectBaseTypeCompare((PetscObject)mats[k], MATSEQAIJ, &isseq));
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)mats[k], MATMPIAIJ, &ismpi));
    seq += isseq;
    mpi += ismpi;
  }
  if (seq == 3 || mpi == 3) {
    PetscCall(Prepare(C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int k = 0; k < 3; k++) {
    PetscErrorCode (*prepare)(Mat);

    PetscCall(PetscObjectQueryFunction((PetscObject)mats[k], "MatProductSetFromOptions_anytype_C", &prepare));
    if (!prepare || prepare == MatProductSetFromOptions_AIJDerived_AnyType) continue;
    PetscCall((*prepare)(C));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
