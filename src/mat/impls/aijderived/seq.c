/* The sequential type: an AIJ matrix with a form beside its CSR. Also what sequential and parallel matrices share. */
#include "derivedimpl.h"

PetscLogEvent MAT_FormBuild, MAT_FormSetValues, MAT_FormMult, MAT_FormMatMult;

#define AIJFORM_MAX_CLASSES 8
static const AIJFormClass *Classes[AIJFORM_MAX_CLASSES];
static int                 NumClasses = 0;

/* AIJ's destroy function, the same for all matrices: for those whose spptr, with our copy of AIJ's operations, is gone */
static PetscErrorCode (*DestroySeqAIJ)(Mat) = NULL;

PetscErrorCode AIJFormInitialize(void)
{
  PetscFunctionBegin;
  PetscCall(MatInitializePackage());
  PetscCall(PetscLogEventRegister("MatFormBuild", MAT_CLASSID, &MAT_FormBuild));
  PetscCall(PetscLogEventRegister("MatFormSetVals", MAT_CLASSID, &MAT_FormSetValues));
  PetscCall(PetscLogEventRegister("MatFormMult", MAT_CLASSID, &MAT_FormMult));
  PetscCall(PetscLogEventRegister("MatFormMatMult", MAT_CLASSID, &MAT_FormMatMult));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJFormFinalize(void)
{
  PetscFunctionBegin;
  NumClasses = 0;
#if defined(PETSCCSRC_HAVE_CUDA)
  PetscCall(AIJFormDeviceUploadFinalize());
#endif
  PetscCall(AIJFormDeviceForget());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvert_SeqAIJ_SeqAIJForm_Registered(Mat A, MatType type, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatConvertFrom_AIJForm(A, type, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJFormRegister(const AIJFormClass *cls, PetscErrorCode (*createseq)(Mat), PetscErrorCode (*creatempi)(Mat))
{
  PetscFunctionBegin;
  PetscCheck(NumClasses < AIJFORM_MAX_CLASSES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Too many kinds of form");
  Classes[NumClasses++] = cls;
  PetscCall(MatRegister(cls->seqname, createseq));
  PetscCall(MatRegister(cls->mpiname, creatempi));
  PetscCall(MatRegisterRootName(cls->name, cls->seqname, cls->mpiname));
  /* -mat_seqaij_type reaches programs that create AIJ matrices without MatSetFromOptions() */
  PetscCall(MatSeqAIJRegister(cls->seqname, MatConvert_SeqAIJ_SeqAIJForm_Registered));
  PetscCall(MatSeqAIJRegister(cls->name, MatConvert_SeqAIJ_SeqAIJForm_Registered));
  if (cls->visit) {
    const MatFactorType factors[] = {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ILU, MAT_FACTOR_ICC, MAT_FACTOR_QR};
    const char *const   types[]   = {cls->releasedseqname, cls->releasedmpiname};

    /* matrices of these types can be neither created by name nor factored: errors say why */
    for (int t = 0; t < 2; t++) {
      PetscCall(MatRegister(types[t], MatCreate_AIJFormReleased));
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(factors); k++) PetscCall(MatSolverTypeRegister(cls->name, types[t], factors[k], MatGetFactor_AIJFormReleased));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJFormFindClass(const char name[], const AIJFormClass **cls)
{
  PetscFunctionBegin;
  *cls = NULL;
  for (int k = 0; k < NumClasses && !*cls; k++) {
    const char *names[] = {Classes[k]->name, Classes[k]->seqname, Classes[k]->mpiname};

    for (int l = 0; l < 3 && !*cls; l++) {
      PetscBool same;

      PetscCall(PetscStrcmp(name, names[l], &same));
      if (same) *cls = Classes[k];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The kind of form of A, sequential or parallel; NULL if A is not of our types */
PetscErrorCode MatAIJFormGetClass(Mat A, const AIJFormClass **cls)
{
  PetscFunctionBegin;
  *cls = NULL;
  if (((PetscObject)A)->type_name) PetscCall(AIJFormFindClass(((PetscObject)A)->type_name, cls));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJFormGetContext(Mat A, void *ctx)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;

  PetscFunctionBegin;
  PetscCheck(f, PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB, "Matrix has no form");
  *(void **)ctx = f->ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJFormCopySettings(Mat from, Mat to)
{
  Mat_AIJForm *f = (Mat_AIJForm *)from->spptr, *t = (Mat_AIJForm *)to->spptr;

  PetscFunctionBegin;
  PetscCheck(f->cls == t->cls, PetscObjectComm((PetscObject)to), PETSC_ERR_PLIB, "Settings of %s do not fit %s", f->cls->name, t->cls->name);
  PetscCall((*t->cls->copysettings)(f->ctx, t->ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New settings take effect at the next product; blocks of a parallel matrix get theirs here and when they are made */
PetscErrorCode MatAIJFormChangeSetting(Mat A, size_t place, const void *value, size_t size)
{
  char     *ctx;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(MatAIJFormGetContext(A, &ctx));
  PetscCall(PetscMemcmp(ctx + place, value, size, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMemcpy(ctx + place, value, size));
  PetscCall(MatAIJFormSettingsChanged(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJFormSettingsChanged(Mat A)
{
  PetscBool isseq;

  PetscFunctionBegin;
  if (((Mat_AIJForm *)A->spptr)->released) {
    PetscCall(MatAIJFormReleasedSettingsChanged(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  if (isseq) PetscCall(MatAIJFormReset(A));
  else if (A->assembled) {
    Mat                 blocks[2];
    const AIJFormClass *cls;

    PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatAIJFormGetClass(blocks[k], &cls));
      if (!cls) continue;
      PetscCall(MatAIJFormCopySettings(A, blocks[k]));
      PetscCall(MatAIJFormReset(blocks[k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJFormReset(Mat A)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;

  PetscFunctionBegin;
  PetscCall((*f->cls->reset)(f->ctx));
#if defined(PETSCCSRC_HAVE_CUDA)
  for (int k = 0; k < 2; k++) {
    PetscCall(AIJFormDeviceFree(&f->stage[k]));
    f->stagesize[k] = 0;
  }
#endif
  f->built = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Brings the form of a sequential matrix up to date. The CSR may change in any way between two products. The state says whether it did;
  the nonzero state, the sizes, the count of nonzeros and the address of the column indices say whether its pattern did.
*/
PetscErrorCode MatAIJFormUpdate(Mat A)
{
  Mat_AIJForm *f        = (Mat_AIJForm *)A->spptr;
  PetscBool    ondevice = f->cls->usesdevice && !AIJFormBoundToCPU(A) ? PETSC_TRUE : PETSC_FALSE;
  MatState     now;
  AIJFormCSR   csr;
  PetscScalar *values;
  PetscMemType mtype;

  PetscFunctionBegin;
  if (f->released) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetState(A, &now));
  if (f->built && f->mat == A && f->ondevice == ondevice && now.state == f->key.state && now.nonzerostate == f->key.nonzerostate && now.id == f->key.id && A->rmap->n == f->m && A->cmap->n == f->n) PetscFunctionReturn(PETSC_SUCCESS);

  PetscCheck(A->assembled, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "Matrix of type %s must be assembled before a product", ((PetscObject)A)->type_name);
  PetscCheck(!A->structure_only, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "Matrix of type %s holds a structure and no values (MAT_STRUCTURE_ONLY): it has no products", ((PetscObject)A)->type_name);
  PetscCall(MatSeqAIJGetCSRAndMemType(A, &csr.i, &csr.j, &values, &mtype));
  PetscCheck(PetscMemTypeHost(mtype), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The CSR of a matrix of type %s is not on the host", ((PetscObject)A)->type_name);
  csr.a   = values;
  csr.m   = A->rmap->n;
  csr.n   = A->cmap->n;
  csr.nnz = csr.m ? csr.i[csr.m] : 0;

  if (f->built && f->ondevice == ondevice && now.nonzerostate == f->key.nonzerostate && now.id == f->key.id && csr.m == f->m && csr.n == f->n && csr.nnz == f->nnz && csr.j == f->j) {
    PetscCall(PetscLogEventBegin(MAT_FormSetValues, A, 0, 0, 0));
    f->built = PETSC_FALSE; /* so that a failure leaves no half-changed form behind */
    if (csr.nnz) PetscCall((*f->cls->setvalues)(f->ctx, &csr));
    PetscCall(PetscLogEventEnd(MAT_FormSetValues, A, 0, 0, 0));
  } else {
    PetscCall(PetscLogEventBegin(MAT_FormBuild, A, 0, 0, 0));
    PetscCall(MatAIJFormReset(A));
    if (csr.nnz) PetscCall((*f->cls->build)(f->ctx, ondevice, &csr));
    PetscCall(PetscLogEventEnd(MAT_FormBuild, A, 0, 0, 0));
    PetscCall(PetscInfo(A, "Built the %s form of %" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscInt_FMT " nonzeros, on the %s\n", f->cls->name, csr.m, csr.n, csr.nnz, ondevice ? "device" : "host"));
  }
  f->built    = PETSC_TRUE;
  f->ondevice = ondevice;
  f->key      = now;
  f->mat      = A;
  f->m        = csr.m;
  f->n        = csr.n;
  f->nnz      = csr.nnz;
  f->j        = csr.j;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDuplicate_AIJForm(Mat A, MatDuplicateOption op, Mat *B)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;

  PetscFunctionBegin;
  /* AIJ creates the duplicate by our type's name, so it is one of ours, with default settings */
  PetscCall((*f->base.duplicate)(A, op, B));
  ((Mat_AIJForm *)(*B)->spptr)->ncoo    = f->ncoo;
  ((Mat_AIJForm *)(*B)->spptr)->release = f->release;
  PetscCall(MatAIJFormCopySettings(A, *B));
  PetscCall(MatAIJFormSettingsChanged(*B));
  if (f->cls->usesdevice) PetscCall(MatBindToCPU(*B, AIJFormBoundToCPU(A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  AIJ's MatAXPY(), MatShift() and MatTranspose() may give A the insides of another matrix (MatHeaderMerge(), MatHeaderReplace()), which
  has default settings: so A's settings are saved before and restored afterwards.
*/
typedef struct {
  const AIJFormClass *cls;
  void               *spptr, *ctx;
  PetscBool           release;
} AIJFormSettings;

static PetscErrorCode SettingsSave(Mat A, AIJFormSettings *saved)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;

  PetscFunctionBegin;
  saved->cls     = f->cls;
  saved->spptr   = f;
  saved->release = f->release;
  PetscCall((*f->cls->create)(&saved->ctx));
  PetscCall((*f->cls->copysettings)(f->ctx, saved->ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SettingsRestore(Mat A, AIJFormSettings *saved)
{
  const AIJFormClass *now;

  PetscFunctionBegin;
  PetscCall(MatAIJFormGetClass(A, &now));
  if (A->spptr != saved->spptr && now == saved->cls) {
    Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;

    f->release = saved->release;
    PetscCall((*f->cls->copysettings)(saved->ctx, f->ctx));
    PetscCall(MatAIJFormSettingsChanged(A));
  }
  PetscCall((*saved->cls->destroy)(&saved->ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAXPY_AIJForm(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  PetscErrorCode (*axpy)(Mat, PetscScalar, Mat, MatStructure) = ((Mat_AIJForm *)Y->spptr)->base.axpy;
  AIJFormSettings saved;

  PetscFunctionBegin;
  PetscCall(SettingsSave(Y, &saved));
  PetscCall((*axpy)(Y, a, X, str));
  PetscCall(SettingsRestore(Y, &saved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShift_AIJForm(Mat Y, PetscScalar a)
{
  PetscErrorCode (*shift)(Mat, PetscScalar) = ((Mat_AIJForm *)Y->spptr)->base.shift;
  AIJFormSettings saved;

  PetscFunctionBegin;
  PetscCall(SettingsSave(Y, &saved));
  PetscCall((*shift)(Y, a));
  PetscCall(SettingsRestore(Y, &saved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatTranspose_AIJForm(Mat A, MatReuse reuse, Mat *B)
{
  PetscErrorCode (*transpose)(Mat, MatReuse, Mat *) = ((Mat_AIJForm *)A->spptr)->base.transpose;
  const AIJFormClass *bcls;
  AIJFormSettings     saved;

  PetscFunctionBegin;
  PetscCall(SettingsSave(A, &saved));
  PetscCall((*transpose)(A, reuse, B));
  if (reuse == MAT_INITIAL_MATRIX) { /* a new matrix inherits the settings */
    PetscCall(MatAIJFormGetClass(*B, &bcls));
    if (bcls == saved.cls && (*B)->spptr) {
      ((Mat_AIJForm *)(*B)->spptr)->release = saved.release;
      PetscCall((*bcls->copysettings)(saved.ctx, ((Mat_AIJForm *)(*B)->spptr)->ctx));
    }
  }
  PetscCall(SettingsRestore(A, &saved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  SLEPc forms the transpose of a matrix that has MATOP_TRANSPOSE, unless told not to; with our types it should use the transposed
  product. So this operation is denied, although MatTranspose() works, unless -mat_form_explicit_transpose was given.
*/
static PetscErrorCode MatHasOperation_AIJForm(Mat A, MatOperation op, PetscBool *has)
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

static PetscErrorCode MatSetFromOptions_AIJForm(Mat A, PetscOptionItems PetscOptionsObject)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;

  PetscFunctionBegin;
  if (f->base.setfromoptions) PetscCall((*f->base.setfromoptions)(A, PetscOptionsObject));
  PetscCall((*f->cls->setfromoptions)(A, f->ctx, PetscOptionsObject));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc has set boundtocpu already; the form follows at the next product, and device memory is given back at once */
static PetscErrorCode MatBindToCPU_SeqAIJForm(Mat A, PetscBool flg)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;
  PetscBool    usable;

  PetscFunctionBegin;
  PetscCall(AIJFormDeviceUsable(&usable, NULL));
  if (!flg && !usable) AIJFormSetBoundToCPU(A, PETSC_TRUE);
  if (f->built && f->ondevice == AIJFormBoundToCPU(A)) PetscCall(MatAIJFormReset(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetCurrentMemType_SeqAIJForm(Mat A, PetscMemType *mtype)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;

  PetscFunctionBegin;
  *mtype = f->cls->usesdevice && !AIJFormBoundToCPU(A) ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Assembly from coordinates in host or device memory; the CSR that they fill is on the host */
static PetscErrorCode MatSetPreallocationCOO_AIJForm(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  PetscErrorCode (*set)(Mat, PetscCount, PetscInt[], PetscInt[]) = ((Mat_AIJForm *)A->spptr)->setpreallocationcoo;
  PetscInt *hi, *hj;

  PetscFunctionBegin;
  PetscCall(AIJFormHostCopy(i, (size_t)n, sizeof(*i), &hi));
  PetscCall(AIJFormHostCopy(j, (size_t)n, sizeof(*j), &hj));
  PetscCall((*set)(A, n, hi ? hi : i, hj ? hj : j));
  PetscCall(PetscFree(hi));
  PetscCall(PetscFree(hj));
  ((Mat_AIJForm *)A->spptr)->ncoo = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetValuesCOO_AIJForm(Mat A, const PetscScalar v[], InsertMode mode)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;
  PetscScalar *hv;

  PetscFunctionBegin;
  PetscCall(AIJFormHostCopy(v, (size_t)f->ncoo, sizeof(*v), &hv));
  PetscCall((*f->setvaluescoo)(A, hv ? hv : v, mode));
  PetscCall(PetscFree(hv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  In-place factors. An LU factor takes the place of A by MatHeaderMerge(), which leaves nothing of our part; so that is taken off
  before and put on again. ILU works in the arrays of the CSR and may change the order of columns, which no state tells.
*/
static PetscErrorCode MatLUFactor_SeqAIJForm(Mat A, IS row, IS col, const MatFactorInfo *info)
{
  const PetscBool bound = AIJFormBoundToCPU(A);
  AIJFormSettings saved;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(SettingsSave(A, &saved));
  saved.spptr = NULL; /* it is freed now, and the new part may get its address */
  PetscCall(MatConvert(A, MATSEQAIJ, MAT_INPLACE_MATRIX, &A));
  ierr = (*A->ops->lufactor)(A, row, col, info);
  PetscCall(MatAIJFormInstall(A, saved.cls));
  AIJFormSetBoundToCPU(A, bound);
  PetscCall(SettingsRestore(A, &saved));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatILUFactor_SeqAIJForm(Mat A, IS row, IS col, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(MatAIJFormReset(A));
  PetscCall((*((Mat_AIJForm *)A->spptr)->base.ilufactor)(A, row, col, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ's is a plain AIJ matrix that is composed with what A is: not with what needs our part */
static PetscErrorCode MatGetMultiProcBlock_SeqAIJForm(Mat A, MPI_Comm comm, MatReuse reuse, Mat *B)
{
  const Mat_AIJForm  *f = (const Mat_AIJForm *)A->spptr;
  const AIJFormClass *bcls;

  PetscFunctionBegin;
  PetscCall((*f->base.getmultiprocblock)(A, comm, reuse, B));
  PetscCall(MatAIJFormGetClass(*B, &bcls)); /* one of ours only by -mat_seqaij_type */
  if (reuse == MAT_INITIAL_MATRIX && !bcls) {
    PetscCall(MatAIJFormDecompose(*B, f->cls, f->cls->seqname, "seq"));
    PetscCall(PetscObjectComposeFunction((PetscObject)*B, "MatSetPreallocationCOO_C", f->setpreallocationcoo));
    PetscCall(PetscObjectComposeFunction((PetscObject)*B, "MatSetValuesCOO_C", f->setvaluescoo));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJFormInstallCommon(Mat A, const AIJFormClass *cls, const char typename[])
{
  Mat_AIJForm *f;
  PetscBool    usable = PETSC_FALSE;
  const char  *reason;

  PetscFunctionBegin;
  PetscCall(PetscNew(&f));
  f->cls  = cls;
  f->base = A->ops[0];
  PetscCall((*cls->create)(&f->ctx));
  A->spptr = f;
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, typename));

  A->ops->duplicate      = MatDuplicate_AIJForm;
  A->ops->axpy           = MatAXPY_AIJForm;
  A->ops->transpose      = MatTranspose_AIJForm;
  A->ops->hasoperation   = MatHasOperation_AIJForm;
  A->ops->setfromoptions = MatSetFromOptions_AIJForm;
  A->ops->convert        = MatConvert_AIJForm;
  A->ops->convertfrom    = MatConvertFrom_AIJForm;
  if (f->base.shift) A->ops->shift = MatShift_AIJForm;
  PetscCall((*cls->compose)(A, PETSC_TRUE));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatSetPreallocationCOO_C", &f->setpreallocationcoo));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatSetValuesCOO_C", &f->setvaluescoo));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetPreallocationCOO_C", MatSetPreallocationCOO_AIJForm));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetValuesCOO_C", MatSetValuesCOO_AIJForm));

  if (cls->usesdevice) {
    PetscCall(AIJFormDeviceUsable(&usable, &reason));
    if (!usable) PetscCall(PetscInfo(A, "%s uses its host path: %s\n", cls->name, reason));
  }
  if (usable) {
    AIJFormSetBoundToCPU(A, PETSC_FALSE);
    PetscCall(PetscFree(A->defaultvectype));
    PetscCall(PetscStrallocpy(VECCUDA, &A->defaultvectype));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Removes the functions composed with a matrix of type typename, all but those for coordinates, which AIJ has too */
PetscErrorCode MatAIJFormDecompose(Mat A, const AIJFormClass *cls, const char typename[], const char prefix[])
{
  PetscFunctionBegin;
  PetscCall((*cls->compose)(A, PETSC_FALSE));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatFormGetMemory_C", NULL));
  PetscCall(MatAIJFormComposeProducts(A, typename, prefix, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJFormRemoveCommon(Mat A)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;

  PetscFunctionBegin;
  A->ops->duplicate      = f->base.duplicate;
  A->ops->axpy           = f->base.axpy;
  A->ops->transpose      = f->base.transpose;
  A->ops->hasoperation   = f->base.hasoperation;
  A->ops->setfromoptions = f->base.setfromoptions;
  A->ops->convert        = f->base.convert;
  A->ops->convertfrom    = f->base.convertfrom;
  A->ops->shift          = f->base.shift;
  /* a matrix that becomes AIJ again gets AIJ's functions back; nothing may be composed with one that is being destroyed */
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetPreallocationCOO_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetValuesCOO_C", NULL));
  PetscCall((*f->cls->destroy)(&f->ctx));
  PetscCall(PetscFree(A->spptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_SeqAIJForm(Mat A)
{
  PetscErrorCode (*destroy)(Mat) = A->spptr ? ((Mat_AIJForm *)A->spptr)->base.destroy : DestroySeqAIJ;

  PetscFunctionBegin;
  /* a submatrix that was of our type when it was made, and has been converted since, has no part of ours left */
  if (A->spptr) PetscCall(MatAIJFormRemove(A));
  PetscCall((*destroy)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ destroys a submatrix with the destroy function that it was made with: our part of one that became ours since then would leak */
static PetscErrorCode MatDestroySubMatrices_SeqAIJForm(PetscInt n, Mat *mat[])
{
  PetscErrorCode (*destroy)(PetscInt, Mat *[]) = ((Mat_AIJForm *)(*mat)[0]->spptr)->base.destroysubmatrices;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    if (((PetscObject)(*mat)[k])->refct == 1 && (*mat)[k]->ops->destroy == MatDestroy_SeqAIJForm) PetscCall(MatAIJFormRemove((*mat)[k]));
  }
  PetscCall((*destroy)(n, mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJFormInstall(Mat A, const AIJFormClass *cls)
{
  PetscFunctionBegin;
  PetscCall(MatAIJFormInstallCommon(A, cls, cls->seqname));
  if (!DestroySeqAIJ) DestroySeqAIJ = ((Mat_AIJForm *)A->spptr)->base.destroy;
  A->ops->destroy                   = MatDestroy_SeqAIJForm;
  A->ops->destroysubmatrices        = MatDestroySubMatrices_SeqAIJForm;
  A->ops->mult                      = MatMult_SeqAIJForm;
  A->ops->multadd                   = MatMultAdd_SeqAIJForm;
  A->ops->multtranspose             = MatMultTranspose_SeqAIJForm;
  A->ops->multtransposeadd          = MatMultTransposeAdd_SeqAIJForm;
  A->ops->multhermitiantranspose    = MatMultHermitianTranspose_SeqAIJForm;
  A->ops->multhermitiantransposeadd = MatMultHermitianTransposeAdd_SeqAIJForm;
  A->ops->view                      = MatView_SeqAIJForm;
  A->ops->lufactor                  = MatLUFactor_SeqAIJForm;
  A->ops->ilufactor                 = MatILUFactor_SeqAIJForm;
  A->ops->getmultiprocblock         = MatGetMultiProcBlock_SeqAIJForm;
  if (cls->usesdevice) {
    A->ops->bindtocpu         = MatBindToCPU_SeqAIJForm;
    A->ops->getcurrentmemtype = MatGetCurrentMemType_SeqAIJForm;
  }
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatFormGetMemory_C", MatFormGetMemory_SeqAIJForm));
  PetscCall(MatAIJFormComposeProducts(A, cls->seqname, "seq", MatProductSetFromOptions_SeqAIJForm_SeqDense, MatProductSetFromOptions_SeqDense_SeqAIJForm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes our part off: A is left a MATSEQAIJ in all but the name, which the caller sets */
PetscErrorCode MatAIJFormRemove(Mat A)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;

  PetscFunctionBegin;
  PetscCall(MatAIJFormReset(A));
  /* a submatrix has a function of PETSc's there, which frees what is kept for its reuse and calls ours */
  if (A->ops->destroy == MatDestroy_SeqAIJForm) A->ops->destroy = f->base.destroy;
  A->ops->destroysubmatrices        = f->base.destroysubmatrices;
  A->ops->mult                      = f->base.mult;
  A->ops->multadd                   = f->base.multadd;
  A->ops->multtranspose             = f->base.multtranspose;
  A->ops->multtransposeadd          = f->base.multtransposeadd;
  A->ops->multhermitiantranspose    = f->base.multhermitiantranspose;
  A->ops->multhermitiantransposeadd = f->base.multhermitiantransposeadd;
  A->ops->view                      = f->base.view;
  A->ops->lufactor                  = f->base.lufactor;
  A->ops->ilufactor                 = f->base.ilufactor;
  A->ops->getmultiprocblock         = f->base.getmultiprocblock;
  A->ops->bindtocpu                 = f->base.bindtocpu;
  A->ops->getcurrentmemtype         = f->base.getcurrentmemtype;
  PetscCall(MatAIJFormDecompose(A, f->cls, f->cls->seqname, "seq"));
  PetscCall(MatAIJFormRemoveCommon(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_SeqAIJForm(Mat A, const AIJFormClass *cls)
{
  const AIJFormClass *already;
  PetscBool           isaij;

  PetscFunctionBegin;
  PetscCall(MatCreate_SeqAIJ(A));
  /* -mat_seqaij_type may have turned it into another type, ours among them */
  PetscCall(MatAIJFormGetClass(A, &already));
  if (already == cls) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJ, &isaij));
  PetscCheck(isaij, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_INCOMP, "-mat_seqaij_type %s contradicts the matrix type %s: give one of the two", ((PetscObject)A)->type_name, cls->name);
  PetscCall(MatAIJFormInstall(A, cls));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreateAIJForm_Private(MPI_Comm comm, const AIJFormClass *cls, PetscInt m, PetscInt n, PetscInt M, PetscInt N, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCInitializePackage());
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, m, n, M, N));
  PetscCall(MatSetType(*A, cls->name));
  /* the one of these two that does not fit the communicator does nothing */
  PetscCall(MatSeqAIJSetPreallocation(*A, d_nz, d_nnz));
  PetscCall(MatMPIAIJSetPreallocation(*A, d_nz, d_nnz, o_nz, o_nnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}
