/* What the sequential and the parallel type have in common: a matrix of AIJ's becomes ours by tables of operations, and AIJ's again */
#include "derivedimpl.h"

static PetscErrorCode MatDuplicate_AIJDerived(Mat A, MatDuplicateOption op, Mat *B)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

  PetscFunctionBegin;
  /* AIJ creates the duplicate by our type's name, so it is one of ours, with default settings */
  PetscCall((*f->base.duplicate)(A, op, B));
  ((Mat_Derived *)(*B)->spptr)->ncoo    = f->ncoo;
  ((Mat_Derived *)(*B)->spptr)->release = f->release;
  PetscCall(MatDerivedCopySettings(A, *B));
  PetscCall(MatDerivedSettingsChanged(*B));
  if (f->kind->usesdevice) PetscCall(MatBindToCPU(*B, MatDerivedBoundToCPU(A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedAXPY(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  PetscErrorCode (*axpy)(Mat, PetscScalar, Mat, MatStructure) = ((Mat_Derived *)Y->spptr)->base.axpy;
  AIJSavedSettings saved;

  PetscFunctionBegin;
  PetscCall(MatDerivedSaveSettings(Y, &saved));
  PetscCall((*axpy)(Y, a, X, str));
  PetscCall(MatDerivedRestoreSettings(Y, &saved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShift_AIJDerived(Mat Y, PetscScalar a)
{
  PetscErrorCode (*shift)(Mat, PetscScalar) = ((Mat_Derived *)Y->spptr)->base.shift;
  AIJSavedSettings saved;

  PetscFunctionBegin;
  PetscCall(MatDerivedSaveSettings(Y, &saved));
  PetscCall((*shift)(Y, a));
  PetscCall(MatDerivedRestoreSettings(Y, &saved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatTranspose_AIJDerived(Mat A, MatReuse reuse, Mat *B)
{
  PetscErrorCode (*transpose)(Mat, MatReuse, Mat *) = ((Mat_Derived *)A->spptr)->base.transpose;
  const AIJKind   *bkind;
  AIJSavedSettings saved;

  PetscFunctionBegin;
  PetscCall(MatDerivedSaveSettings(A, &saved));
  PetscCall((*transpose)(A, reuse, B));
  if (reuse == MAT_INITIAL_MATRIX) { /* a new matrix inherits the settings */
    PetscCall(MatDerivedGetKind(*B, &bkind));
    if (bkind == saved.kind && (*B)->spptr) {
      ((Mat_Derived *)(*B)->spptr)->release = saved.release;
      PetscCall(PetscMemcpy(((Mat_Derived *)(*B)->spptr)->settings, saved.settings, bkind->size));
    }
  }
  PetscCall(MatDerivedRestoreSettings(A, &saved));
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

static PetscErrorCode MatSetFromOptions_AIJDerived(Mat A, PetscOptionItems PetscOptionsObject)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

  PetscFunctionBegin;
  if (f->base.setfromoptions) PetscCall((*f->base.setfromoptions)(A, PetscOptionsObject));
  PetscCall((*f->kind->setfromoptions)(A, f->settings, PetscOptionsObject));
  PetscCall(MatDerivedExchangeSetFromOptions(A, PetscOptionsObject));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Assembly from coordinates in host or device memory; the CSR that they fill is on the host */
static PetscErrorCode MatSetPreallocationCOO_AIJDerived(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  PetscErrorCode (*set)(Mat, PetscCount, PetscInt[], PetscInt[]) = ((Mat_Derived *)A->spptr)->setpreallocationcoo;
  PetscInt *hi, *hj;

  PetscFunctionBegin;
  PetscCall(PetscCSRCHostCopy(i, (size_t)n, sizeof(*i), &hi));
  PetscCall(PetscCSRCHostCopy(j, (size_t)n, sizeof(*j), &hj));
  PetscCall((*set)(A, n, hi ? hi : i, hj ? hj : j));
  PetscCall(PetscFree(hi));
  PetscCall(PetscFree(hj));
  ((Mat_Derived *)A->spptr)->ncoo = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetValuesCOO_AIJDerived(Mat A, const PetscScalar v[], InsertMode mode)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;
  PetscScalar *hv;

  PetscFunctionBegin;
  PetscCall(PetscCSRCHostCopy(v, (size_t)f->ncoo, sizeof(*v), &hv));
  PetscCall((*f->setvaluescoo)(A, hv ? hv : v, mode));
  PetscCall(PetscFree(hv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc has set boundtocpu already; stored nonzeros follow at the next product */
static PetscErrorCode MatGetCurrentMemType_AIJDerived(Mat A, PetscMemType *mtype)
{
  PetscFunctionBegin;
  *mtype = MatDerivedBoundToCPU(A) ? PETSC_MEMTYPE_HOST : PETSC_MEMTYPE_CUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const AIJOperation Operations[] = {
  AIJ_OPERATION(duplicate, MatDuplicate_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(shift, MatShift_AIJDerived, OVERRIDE_IF_AIJ_HAS_IT),
  AIJ_OPERATION(transpose, MatTranspose_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(hasoperation, MatHasOperation_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(setfromoptions, MatSetFromOptions_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(convert, MatConvert_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(convertfrom, MatConvertFrom_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(getcurrentmemtype, MatGetCurrentMemType_AIJDerived, OVERRIDE_ON_DEVICES),
  {0, NULL, OVERRIDE_ALWAYS},
};

static void Override(Mat A, const AIJOperation *op)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

  for (; op->ours; op++) {
    if (op->when == OVERRIDE_IF_AIJ_HAS_IT && !*MatDerivedGetOperation(&f->base, op)) continue;
    if (op->when == OVERRIDE_ON_DEVICES && !f->kind->usesdevice) continue;
    *MatDerivedGetOperation(A->ops, op) = op->ours;
  }
}

/* An operation that has been replaced since is left alone: a submatrix has a destroy function of PETSc's, which frees what is kept for its reuse and calls ours */
static void Restore(Mat A, const AIJOperation *op)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

  for (; op->ours; op++) {
    if (*MatDerivedGetOperation(A->ops, op) == op->ours) *MatDerivedGetOperation(A->ops, op) = *MatDerivedGetOperation(&f->base, op);
  }
}

PetscErrorCode MatDerivedInstallCommon(Mat A, const AIJKind *kind, const char typename[], const AIJOperation *operations)
{
  Mat_Derived *f;
  PetscBool    usable = PETSC_FALSE;
  const char  *reason;

  PetscFunctionBegin;
  PetscCall(PetscNew(&f));
  f->kind = kind;
  f->base = A->ops[0];
  PetscCall(PetscMalloc(kind->size, &f->settings));
  PetscCall(PetscMemcpy(f->settings, kind->defaults, kind->size));
  A->spptr = f;
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, typename));

  Override(A, Operations);
  Override(A, operations);
  PetscCall(MatDerivedCompose(A, kind->setters, PETSC_TRUE));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatSetPreallocationCOO_C", &f->setpreallocationcoo));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatSetValuesCOO_C", &f->setvaluescoo));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetPreallocationCOO_C", MatSetPreallocationCOO_AIJDerived));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetValuesCOO_C", MatSetValuesCOO_AIJDerived));

  if (kind->usesdevice) {
    PetscCall(PetscCSRCDeviceUsable(&usable, &reason));
    if (!usable) PetscCall(PetscInfo(A, "%s stores its nonzeros on the host: %s\n", kind->name, reason));
  }
  if (usable) {
    MatDerivedSetBoundToCPU(A, PETSC_FALSE);
    PetscCall(PetscFree(A->defaultvectype));
    PetscCall(PetscStrallocpy(VECCUDA, &A->defaultvectype));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Removes the functions composed with a matrix of type typename, all but those for coordinates, which AIJ has too */
PetscErrorCode MatDerivedDecompose(Mat A, const AIJKind *kind, const char typename[], const char prefix[])
{
  PetscFunctionBegin;
  PetscCall(MatDerivedCompose(A, kind->setters, PETSC_FALSE));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatFormGetMemory_C", NULL));
  PetscCall(MatDerivedComposeProducts(A, typename, prefix, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedRemoveCommon(Mat A, const AIJOperation *operations)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

  PetscFunctionBegin;
  Restore(A, operations);
  Restore(A, Operations);
  /* a matrix that becomes AIJ again gets AIJ's functions back; nothing may be composed with one that is being destroyed */
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetPreallocationCOO_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetValuesCOO_C", NULL));
  PetscCall(PetscFree(f->settings));
  PetscCall(PetscFree(A->spptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}
