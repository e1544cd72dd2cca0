/* Common to the sequential and the parallel type: tables of operations turn an AIJ matrix into one of these types, and back */
#include "derivedimpl.h"

PetscErrorCode MatDuplicate_AIJDerived(Mat A, MatDuplicateOption op, Mat *B)
{
  const Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  /* AIJ creates the duplicate by the type name, so it has this type, with default settings; aijcusparse creates an aijcusparse matrix */
  MatDerivedCallLent(A, (*f->base.duplicate)(A, op, B));
  if (f->cusparse) {
    if (MatDerivedOf(*B)) { /* it has this type, under the name aijcusparse */
      PetscCall(MatDerivedReinstall(*B));
      PetscCall(PetscObjectChangeTypeName((PetscObject)*B, ((PetscObject)A)->type_name));
    } else PetscCall(MatDerivedInstallAny(*B, f->kind));
  }
  MatDerivedOf(*B)->ncoo = f->ncoo;
  PetscCall(PetscMemcpy(MatDerivedOf(*B)->coo, f->coo, sizeof(f->coo))); /* AIJ copies to the duplicate the functions composed with A, which are those of this file */
  MatDerivedOf(*B)->release = f->release;
  PetscCall(MatDerivedCopySettings(A, *B));
  PetscCall(MatDerivedSettingsChanged(*B));
  if (f->kind->usesdevice) PetscCall(MatBindToCPU(*B, MatDerivedBoundToCPU(A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc adds two matrices on the device only if they have the same function for axpy: for the call both get the function of the type underneath */
PetscErrorCode MatDerivedAXPY(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  const Mat        both[2] = {Y, X};
  struct _MatOps  *ops[2]  = {Y->ops, X->ops};
  AIJSavedSettings saved;
  AIJLent          lent[2];
  PetscErrorCode   ierr;
  PetscErrorCode (*ours[2])(Mat, PetscScalar, Mat, MatStructure);

  PetscFunctionBegin;
  PetscCall(MatDerivedSaveSettings(Y, &saved));
  PetscCall(MatDerivedLend(2, both, lent));
  for (int k = 0; k < 2; k++) {
    ours[k] = ops[k]->axpy;
    if (MatDerivedOf(both[k])) ops[k]->axpy = MatDerivedOf(both[k])->base.axpy;
  }
  ierr = (*Y->ops->axpy)(Y, a, X, str);
  for (int k = 1; k >= 0; k--) {
    if (both[k]->ops == ops[k]) ops[k]->axpy = ours[k]; /* unless Y has taken over the insides of another matrix */
  }
  PetscCall(MatDerivedTakeBack(2, lent));
  PetscCall(ierr);
  if (lent[0].name) PetscCall(MatDerivedConvertBlocks(Y)); /* Y may have taken over the insides of an aijcusparse matrix */
  PetscCall(MatDerivedRestoreSettings(Y, &saved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatShift_AIJDerived(Mat Y, PetscScalar a)
{
  PetscErrorCode (*shift)(Mat, PetscScalar) = MatDerivedOf(Y)->base.shift;
  AIJSavedSettings saved;

  PetscFunctionBegin;
  PetscCall(MatDerivedSaveSettings(Y, &saved));
  PetscCall((*shift)(Y, a));
  PetscCall(MatDerivedRestoreSettings(Y, &saved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatTranspose_AIJDerived(Mat A, MatReuse reuse, Mat *B)
{
  PetscErrorCode (*transpose)(Mat, MatReuse, Mat *) = MatDerivedOf(A)->base.transpose;
  AIJSavedSettings saved;

  PetscFunctionBegin;
  if (reuse == MAT_REUSE_MATRIX && MatDerivedOf(*B) && MatDerivedOf(*B)->released) PetscUseTypeMethod(*B, transpose, reuse, B); /* raises an error: PETSc would write to the CSR, which is freed */
  PetscCall(MatDerivedSaveSettings(A, &saved));
  PetscCall((*transpose)(A, reuse, B));
  if (reuse == MAT_INITIAL_MATRIX) { /* a new matrix inherits the settings */
    if (MatDerivedKindOf(*B) == saved.kind) PetscCall(MatDerivedUseSettings(*B, &saved));
  }
  PetscCall(MatDerivedRestoreSettings(A, &saved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As above: an error if PETSc would write to a CSR that is freed */
static PetscErrorCode MatCreateSubMatrix_AIJDerived(Mat A, IS rows, IS cols, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  if (reuse == MAT_REUSE_MATRIX && MatDerivedOf(*B) && MatDerivedOf(*B)->released) PetscUseTypeMethod(*B, createsubmatrix, rows, cols, reuse, B);
  PetscCall((*MatDerivedOf(A)->base.createsubmatrix)(A, rows, cols, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateSubMatrices_AIJDerived(Mat A, PetscInt n, const IS rows[], const IS cols[], MatReuse reuse, Mat *B[])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; reuse == MAT_REUSE_MATRIX && k < n; k++) {
    if (MatDerivedOf((*B)[k]) && MatDerivedOf((*B)[k])->released) PetscUseTypeMethod((*B)[k], createsubmatrices, n, rows, cols, reuse, B);
  }
  PetscCall((*MatDerivedOf(A)->base.createsubmatrices)(A, n, rows, cols, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  SLEPc forms the transpose of a matrix that has MATOP_TRANSPOSE, unless told not to; with our types it should use the transposed
  product. So this operation is denied, although MatTranspose() works, unless -mat_form_explicit_transpose was given.
*/
static PetscErrorCode MatHasOperation_AIJDerived(Mat A, MatOperation op, PetscBool *has)
{
  PetscFunctionBegin;
  *has = ((void **)A->ops)[op] ? PETSC_TRUE : PETSC_FALSE;
  if ((op == MATOP_TRANSPOSE || op == MATOP_HERMITIAN_TRANSPOSE) && !A->form_explicit_transpose) *has = PETSC_FALSE;
  if (op == MATOP_CREATE_SUBMATRIX && !*has) {
    PetscMPIInt size;

    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
    if (size == 1) PetscCall(MatHasOperation(A, MATOP_CREATE_SUBMATRICES, has));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetFromOptions_AIJDerived(Mat A, PetscOptionItemsArg PetscOptionsObject)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  if (f->base.setfromoptions) PetscCall((*f->base.setfromoptions)(A, PetscOptionsObject));
  PetscCall((*f->kind->setfromoptions)(A, f->settings, PetscOptionsObject));
  PetscCall(MatDerivedExchangeSetFromOptions(A, PetscOptionsObject));
  PetscCall(MatDerivedReleaseSetFromOptions(A, PetscOptionsObject));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Assembly from coordinates in host or device memory. If AIJ is underneath or the matrix is bound to the host, it fills the CSR on the host. */
static PetscErrorCode MatSetPreallocationCOO_AIJDerived(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  Mat_Derived *f  = MatDerivedOf(A);
  PetscInt    *hi = NULL, *hj = NULL;

  PetscFunctionBegin;
  if (f->cusparse && !MatDerivedBoundToCPU(A)) {
    MatDerivedCallLent(A, (*f->coo[1].setpreallocation)(A, n, i, j));
  } else {
    PetscErrorCode ierr;

    PetscCheck(f->coo[0].setpreallocation, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "A matrix that was aijcusparse before it became %s takes no coordinates while it is bound to the CPU", f->kind->name);
    ierr = PetscCSRCHostCopy(i, (size_t)n, sizeof(*i), &hi);
    if (!ierr) ierr = PetscCSRCHostCopy(j, (size_t)n, sizeof(*j), &hj);
    if (!ierr) ierr = (*f->coo[0].setpreallocation)(A, n, hi ? hi : i, hj ? hj : j);
    PetscCall(PetscFree(hi));
    PetscCall(PetscFree(hj));
    PetscCall(ierr);
  }
  f->ncoo = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetValuesCOO_AIJDerived(Mat A, const PetscScalar v[], InsertMode mode)
{
  Mat_Derived   *f       = MatDerivedOf(A);
  Mat            part[3] = {A, NULL, NULL};
  AIJLent        lent[3];
  PetscScalar   *hv;
  PetscBool      isseq;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (f->cusparse && !MatDerivedBoundToCPU(A)) {
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
    if (!isseq) PetscCall(MatMPIAIJGetSeqAIJ(A, &part[1], &part[2], NULL));
    PetscCall(MatDerivedLend(3, part, lent));
#if defined(PETSCCSRC_HAVE_CUDA)
    for (int k = 1; k < 3 && !isseq && !ierr; k++) { /* PETSc assumes that the CSRs of the blocks are on the device; those of a duplicate are not */
      const PetscScalar *a;

      ierr = MatSeqAIJCUSPARSEGetArrayRead(part[k], &a);
      if (!ierr) ierr = MatSeqAIJCUSPARSERestoreArrayRead(part[k], &a);
    }
#endif
    if (!ierr) ierr = (*f->coo[1].setvalues)(A, v, mode);
    PetscCall(MatDerivedTakeBack(3, lent));
    PetscCall(ierr);
  } else {
    PetscCall(PetscCSRCHostCopy(v, (size_t)f->ncoo, sizeof(*v), &hv));
    ierr = (*f->coo[0].setvalues)(A, hv ? hv : v, mode);
    PetscCall(PetscFree(hv));
    PetscCall(ierr);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedComposeCOO(Mat A)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetPreallocationCOO_C", MatSetPreallocationCOO_AIJDerived));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetValuesCOO_C", MatSetValuesCOO_AIJDerived));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
/* Where the matrix multiplies, which is where it wants its vectors */
PetscErrorCode MatGetCurrentMemType_AIJDerived(Mat A, PetscMemType *mtype)
{
  PetscFunctionBegin;
  *mtype = MatDerivedBoundToCPU(A) ? PETSC_MEMTYPE_HOST : PETSC_MEMTYPE_CUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static const AIJOperation Operations[] = {
  AIJ_OPERATION(duplicate, MatDuplicate_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(shift, MatShift_AIJDerived, OVERRIDE_IF_AIJ_HAS_IT),
  AIJ_OPERATION(transpose, MatTranspose_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(createsubmatrix, MatCreateSubMatrix_AIJDerived, OVERRIDE_IF_AIJ_HAS_IT),
  AIJ_OPERATION(createsubmatrices, MatCreateSubMatrices_AIJDerived, OVERRIDE_IF_AIJ_HAS_IT),
  AIJ_OPERATION(hasoperation, MatHasOperation_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(setfromoptions, MatSetFromOptions_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(convert, MatConvert_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(convertfrom, MatConvertFrom_AIJDerived, OVERRIDE_ALWAYS),
#if defined(PETSCCSRC_HAVE_CUDA)
  AIJ_OPERATION(getcurrentmemtype, MatGetCurrentMemType_AIJDerived, OVERRIDE_ON_DEVICES),
#endif
  {0, NULL, OVERRIDE_ALWAYS},
};

PetscErrorCode MatDerivedOverrideOperations(Mat A)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  f->base = A->ops[0];
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(f->tables); t++) {
    for (const AIJOperation *op = f->tables[t]; op && op->ours; op++) {
      if (op->when == OVERRIDE_IF_AIJ_HAS_IT && !*MatDerivedGetOperation(&f->base, op)) continue;
      if (op->when == OVERRIDE_ON_DEVICES && !f->kind->usesdevice) continue;
      *MatDerivedGetOperation(A->ops, op) = op->ours;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An operation that was replaced since is kept: the destroy function of a submatrix is PETSc's, which frees the data kept for its reuse and calls the one here */
PetscErrorCode MatDerivedRestoreOperations(Mat A)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(f->tables); t++) {
    for (const AIJOperation *op = f->tables[t]; op && op->ours; op++) {
      if (*MatDerivedGetOperation(A->ops, op) == op->ours) *MatDerivedGetOperation(A->ops, op) = *MatDerivedGetOperation(&f->base, op);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedReinstall(Mat A)
{
  PetscBool isseq;

  PetscFunctionBegin;
  PetscCall(MatDerivedRestoreOperations(A));
  PetscCall(MatDerivedOverrideOperations(A));
  PetscCall(MatDerivedComposeCOO(A));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  if (isseq) PetscCall(MatDerivedComposeProducts(A, MatDerivedOf(A)->kind->seqname, "seq", MatProductSetFromOptions_SeqAIJDerived_SeqDense, MatProductSetFromOptions_SeqDense_SeqAIJDerived));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Called when Mat_Derived is removed from a matrix, or when PETSc drops it because the matrix takes over the insides of another one */
static PetscErrorCode PartDestroy(PetscCtxRt ctx)
{
  Mat_Derived *f = (Mat_Derived *)PetscCtxOf(ctx);

  PetscFunctionBegin;
  PetscCall(AIJStoredDestroy(&f->cache.stored));
  PetscCall(AIJParallelReset(&f->parallel));
#if defined(PETSCCSRC_HAVE_CUDA)
  for (int k = 0; k < 2; k++) PetscCall(PetscCSRCDeviceFree(&f->cache.stage[k]));
  PetscCall(PetscCSRCDeviceFree(&f->transpose.place));
#endif
  PetscCall(PetscFree(f->settings));
  PetscCall(PetscFree(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedComposeSetters(Mat A, const AIJKind *kind, PetscBool on)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedCompose(A, kind->setters, on));
  PetscCall(MatDerivedCompose(A, MatDerivedReleaseSetters, on));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedComposePart(Mat A, const AIJKind *kind)
{
  Mat_Derived *f;

  PetscFunctionBegin;
  PetscCall(PetscNew(&f));
  f->kind = kind;
  PetscCall(PetscObjectContainerCompose((PetscObject)A, AIJ_PART, f, PartDestroy)); /* from now on it is freed with A */
  PetscCall(PetscMalloc(kind->size, &f->settings));
  PetscCall(PetscMemcpy(f->settings, kind->defaults, kind->size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetSettersCOO(Mat A, AIJSettersCOO *coo)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatSetPreallocationCOO_C", &coo->setpreallocation));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatSetValuesCOO_C", &coo->setvalues));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedInstallAny(Mat A, const AIJKind *kind)
{
  PetscBool isseq;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  if (isseq) PetscCall(MatDerivedInstall(A, kind));
  else PetscCall(MatDerivedInstallMPI(A, kind));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedInstallCommon(Mat A, const AIJKind *kind, const char typename[], const AIJOperation *operations)
{
  Mat_Derived *f;
  PetscBool    usable = PETSC_FALSE, isseq, plain;
  const char  *reason;

  PetscFunctionBegin;
  PetscCall(MatDerivedComposePart(A, kind));
  f = MatDerivedOf(A);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &plain, MATSEQAIJ, MATMPIAIJ, ""));
  if (plain) PetscCall(GetSettersCOO(A, &f->coo[0]));
  PetscCall(MatDerivedPutBase(A, kind, &f->cusparse));
  if (f->cusparse) PetscCall(GetSettersCOO(A, &f->coo[1]));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  /* not when the library is loaded: a program without such a matrix shall not look for a device */
  if (isseq && A->factortype == MAT_FACTOR_NONE && !A->structure_only) PetscCall(MatDerivedRegisterFactors(kind, f->cusparse)); /* others are never aijcusparse underneath */
  f->tables[0] = Operations;
  f->tables[1] = operations;
  f->tables[2] = !f->cusparse ? NULL : isseq ? MatDerivedSeqCUSPARSEOperations : MatDerivedMPICUSPARSEOperations;
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, typename));
  PetscCall(MatDerivedOverrideOperations(A));
  PetscCall(MatDerivedComposeSetters(A, kind, PETSC_TRUE));
  PetscCall(MatDerivedComposeCOO(A));
  if (f->cusparse) PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_anytype_C", MatProductSetFromOptions_AIJDerived_AnyType));

  if (kind->usesdevice) {
    PetscCall(PetscCSRCDeviceUsable(&usable, &reason));
    if (!usable) PetscCall(PetscInfo(A, "%s stores its nonzeros on the host: %s\n", kind->name, reason));
  }
  if (usable) {
    MatDerivedSetBoundToCPU(A, PETSC_FALSE);
    PetscCall(MatSetVecType(A, VECCUDA));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Removes the functions composed with a matrix of type typename, all but those for coordinates, which AIJ has too */
PetscErrorCode MatDerivedDecompose(Mat A, const AIJKind *kind, const char typename[], const char prefix[])
{
  PetscFunctionBegin;
  PetscCall(MatDerivedComposeSetters(A, kind, PETSC_FALSE));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatFormGetMemory_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_anytype_C", NULL));
  PetscCall(MatDerivedComposeProducts(A, typename, prefix, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedRemoveCommon(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedRestoreOperations(A));
  /* a matrix that becomes AIJ again gets AIJ's functions back; a matrix that is being destroyed must not get any */
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetPreallocationCOO_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetValuesCOO_C", NULL));
  PetscCall(PetscObjectCompose((PetscObject)A, AIJ_PART, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
