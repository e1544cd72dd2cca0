/* Operations that the sequential and the parallel type have in common: AIJ's or aijcusparse's, with what these types need before and after them */
#include "seq.h"
#include "cusparse/cusparse.h"

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
    } else PetscCall((*f->install)(*B, f->kind));
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
  const Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  if (f->base.setfromoptions) PetscCall((*f->base.setfromoptions)(A, PetscOptionsObject));
  PetscCall(MatDerivedSetFromOptions(A, PetscOptionsObject));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Assembly from coordinates in host or device memory. If AIJ is underneath or the matrix is bound to the host, it fills the CSR on the host. */
PetscErrorCode MatSetPreallocationCOO_AIJDerived(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
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

PetscErrorCode MatSetValuesCOO_AIJDerived(Mat A, const PetscScalar v[], InsertMode mode)
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
    for (int k = 1; k < 3 && !isseq && !ierr; k++) ierr = MatDerivedBringToDevice(part[k]);
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

#if defined(PETSCCSRC_HAVE_CUDA)
/* Where the matrix multiplies, which is where it wants its vectors */
PetscErrorCode MatGetCurrentMemType_AIJDerived(Mat A, PetscMemType *mtype)
{
  PetscFunctionBegin;
  *mtype = MatDerivedBoundToCPU(A) ? PETSC_MEMTYPE_HOST : PETSC_MEMTYPE_CUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

const AIJOperation MatDerivedInheritedOperations[] = {
  AIJ_OPERATION(duplicate, MatDuplicate_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(shift, MatShift_AIJDerived, OVERRIDE_IF_AIJ_HAS_IT),
  AIJ_OPERATION(transpose, MatTranspose_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(createsubmatrix, MatCreateSubMatrix_AIJDerived, OVERRIDE_IF_AIJ_HAS_IT),
  AIJ_OPERATION(createsubmatrices, MatCreateSubMatrices_AIJDerived, OVERRIDE_IF_AIJ_HAS_IT),
  AIJ_OPERATION(hasoperation, MatHasOperation_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(setfromoptions, MatSetFromOptions_AIJDerived, OVERRIDE_ALWAYS),
#if defined(PETSCCSRC_HAVE_CUDA)
  AIJ_OPERATION(getcurrentmemtype, MatGetCurrentMemType_AIJDerived, OVERRIDE_ON_DEVICES),
#endif
  {0, NULL, OVERRIDE_ALWAYS},
};
