/* The sequential type: an AIJ matrix with a form beside its CSR. Also what sequential and parallel matrices share. */
#include "derivedimpl.h"

PetscLogEvent MAT_FormBuild, MAT_FormSetValues, MAT_FormMult, MAT_FormMatMult;

#define AIJ_MAX_KINDS 8
static const AIJKind *Kinds[AIJ_MAX_KINDS];
static int            NumKinds = 0;

/* AIJ's destroy function, the same for all matrices: for those whose spptr, with our copy of AIJ's operations, is gone */
static PetscErrorCode (*DestroySeqAIJ)(Mat) = NULL;

PetscErrorCode AIJKindsInitialize(void)
{
  PetscFunctionBegin;
  PetscCall(MatInitializePackage());
  PetscCall(PetscLogEventRegister("MatFormBuild", MAT_CLASSID, &MAT_FormBuild));
  PetscCall(PetscLogEventRegister("MatFormSetVals", MAT_CLASSID, &MAT_FormSetValues));
  PetscCall(PetscLogEventRegister("MatFormMult", MAT_CLASSID, &MAT_FormMult));
  PetscCall(PetscLogEventRegister("MatFormMatMult", MAT_CLASSID, &MAT_FormMatMult));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJKindsFinalize(void)
{
  PetscFunctionBegin;
  NumKinds = 0;
#if defined(PETSCCSRC_HAVE_CUDA)
  PetscCall(PetscCSRCDeviceUploadFinalize());
#endif
  PetscCall(PetscCSRCDeviceForget());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvert_SeqAIJ_SeqAIJDerived_Registered(Mat A, MatType type, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatConvertFrom_AIJDerived(A, type, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJKindRegister(const AIJKind *kind, PetscErrorCode (*createseq)(Mat), PetscErrorCode (*creatempi)(Mat))
{
  PetscFunctionBegin;
  PetscCheck(NumKinds < AIJ_MAX_KINDS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Too many kinds of form");
  Kinds[NumKinds++] = kind;
  PetscCall(MatRegister(kind->seqname, createseq));
  PetscCall(MatRegister(kind->mpiname, creatempi));
  PetscCall(MatRegisterRootName(kind->name, kind->seqname, kind->mpiname));
  /* -mat_seqaij_type reaches programs that create AIJ matrices without MatSetFromOptions() */
  PetscCall(MatSeqAIJRegister(kind->seqname, MatConvert_SeqAIJ_SeqAIJDerived_Registered));
  PetscCall(MatSeqAIJRegister(kind->name, MatConvert_SeqAIJ_SeqAIJDerived_Registered));
  if (kind->visit) {
    const MatFactorType factors[] = {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ILU, MAT_FACTOR_ICC, MAT_FACTOR_QR};
    const char *const   types[]   = {kind->releasedseqname, kind->releasedmpiname};

    /* matrices of these types can be neither created by name nor factored: errors say why */
    for (int t = 0; t < 2; t++) {
      PetscCall(MatRegister(types[t], MatCreate_AIJCSRFree));
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(factors); k++) PetscCall(MatSolverTypeRegister(kind->name, types[t], factors[k], MatGetFactor_AIJCSRFree));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJKindFind(const char name[], const AIJKind **kind)
{
  PetscFunctionBegin;
  *kind = NULL;
  for (int k = 0; k < NumKinds && !*kind; k++) {
    const char *names[] = {Kinds[k]->name, Kinds[k]->seqname, Kinds[k]->mpiname};

    for (int l = 0; l < 3 && !*kind; l++) {
      PetscBool same;

      PetscCall(PetscStrcmp(name, names[l], &same));
      if (same) *kind = Kinds[k];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The kind of form of A, sequential or parallel; NULL if A is not of our types */
PetscErrorCode MatDerivedGetKind(Mat A, const AIJKind **kind)
{
  PetscFunctionBegin;
  *kind = NULL;
  if (((PetscObject)A)->type_name) PetscCall(AIJKindFind(((PetscObject)A)->type_name, kind));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedGetContext(Mat A, void *ctx)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

  PetscFunctionBegin;
  PetscCheck(f, PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB, "Matrix has no form");
  *(void **)ctx = f->ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedCopySettings(Mat from, Mat to)
{
  Mat_Derived *f = (Mat_Derived *)from->spptr, *t = (Mat_Derived *)to->spptr;

  PetscFunctionBegin;
  PetscCheck(f->kind == t->kind, PetscObjectComm((PetscObject)to), PETSC_ERR_PLIB, "Settings of %s do not fit %s", f->kind->name, t->kind->name);
  PetscCall((*t->kind->copysettings)(f->ctx, t->ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New settings take effect at the next product; blocks of a parallel matrix get theirs here and when they are made */
PetscErrorCode MatDerivedChangeSetting(Mat A, size_t place, const void *value, size_t size)
{
  char     *ctx;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetContext(A, &ctx));
  PetscCall(PetscMemcmp(ctx + place, value, size, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMemcpy(ctx + place, value, size));
  PetscCall(MatDerivedSettingsChanged(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedSettingsChanged(Mat A)
{
  PetscBool isseq;

  PetscFunctionBegin;
  if (((Mat_Derived *)A->spptr)->released) {
    PetscCall(MatDerivedReleasedSettingsChanged(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  if (isseq) PetscCall(MatDerivedReset(A));
  else if (A->assembled) {
    Mat            blocks[2];
    const AIJKind *kind;

    PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatDerivedGetKind(blocks[k], &kind));
      if (!kind) continue;
      PetscCall(MatDerivedCopySettings(A, blocks[k]));
      PetscCall(MatDerivedReset(blocks[k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedReset(Mat A)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

  PetscFunctionBegin;
  PetscCall((*f->kind->reset)(f->ctx));
#if defined(PETSCCSRC_HAVE_CUDA)
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscCSRCDeviceFree(&f->stage[k]));
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
PetscErrorCode MatDerivedUpdate(Mat A)
{
  Mat_Derived *f        = (Mat_Derived *)A->spptr;
  PetscBool    ondevice = f->kind->usesdevice && !MatDerivedBoundToCPU(A) ? PETSC_TRUE : PETSC_FALSE;
  MatState     now;
  AIJCSR       csr;
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
    if (csr.nnz) PetscCall((*f->kind->setvalues)(f->ctx, &csr));
    PetscCall(PetscLogEventEnd(MAT_FormSetValues, A, 0, 0, 0));
  } else {
    PetscCall(PetscLogEventBegin(MAT_FormBuild, A, 0, 0, 0));
    PetscCall(MatDerivedReset(A));
    if (csr.nnz) PetscCall((*f->kind->build)(f->ctx, ondevice, &csr));
    PetscCall(PetscLogEventEnd(MAT_FormBuild, A, 0, 0, 0));
    PetscCall(PetscInfo(A, "Built the %s form of %" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscInt_FMT " nonzeros, on the %s\n", f->kind->name, csr.m, csr.n, csr.nnz, ondevice ? "device" : "host"));
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

/*
  AIJ's MatAXPY(), MatShift() and MatTranspose() may give A the insides of another matrix (MatHeaderMerge(), MatHeaderReplace()), which
  has default settings: so A's settings are saved before and restored afterwards.
*/
typedef struct {
  const AIJKind *kind;
  void          *spptr, *ctx;
  PetscBool      release;
} AIJSettings;

static PetscErrorCode SettingsSave(Mat A, AIJSettings *saved)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

  PetscFunctionBegin;
  saved->kind    = f->kind;
  saved->spptr   = f;
  saved->release = f->release;
  PetscCall((*f->kind->create)(&saved->ctx));
  PetscCall((*f->kind->copysettings)(f->ctx, saved->ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SettingsRestore(Mat A, AIJSettings *saved)
{
  const AIJKind *now;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetKind(A, &now));
  if (A->spptr != saved->spptr && now == saved->kind) {
    Mat_Derived *f = (Mat_Derived *)A->spptr;

    f->release = saved->release;
    PetscCall((*f->kind->copysettings)(saved->ctx, f->ctx));
    PetscCall(MatDerivedSettingsChanged(A));
  }
  PetscCall((*saved->kind->destroy)(&saved->ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAXPY_AIJDerived(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  PetscErrorCode (*axpy)(Mat, PetscScalar, Mat, MatStructure) = ((Mat_Derived *)Y->spptr)->base.axpy;
  AIJSettings saved;

  PetscFunctionBegin;
  PetscCall(SettingsSave(Y, &saved));
  PetscCall((*axpy)(Y, a, X, str));
  PetscCall(SettingsRestore(Y, &saved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShift_AIJDerived(Mat Y, PetscScalar a)
{
  PetscErrorCode (*shift)(Mat, PetscScalar) = ((Mat_Derived *)Y->spptr)->base.shift;
  AIJSettings saved;

  PetscFunctionBegin;
  PetscCall(SettingsSave(Y, &saved));
  PetscCall((*shift)(Y, a));
  PetscCall(SettingsRestore(Y, &saved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatTranspose_AIJDerived(Mat A, MatReuse reuse, Mat *B)
{
  PetscErrorCode (*transpose)(Mat, MatReuse, Mat *) = ((Mat_Derived *)A->spptr)->base.transpose;
  const AIJKind *bkind;
  AIJSettings    saved;

  PetscFunctionBegin;
  PetscCall(SettingsSave(A, &saved));
  PetscCall((*transpose)(A, reuse, B));
  if (reuse == MAT_INITIAL_MATRIX) { /* a new matrix inherits the settings */
    PetscCall(MatDerivedGetKind(*B, &bkind));
    if (bkind == saved.kind && (*B)->spptr) {
      ((Mat_Derived *)(*B)->spptr)->release = saved.release;
      PetscCall((*bkind->copysettings)(saved.ctx, ((Mat_Derived *)(*B)->spptr)->ctx));
    }
  }
  PetscCall(SettingsRestore(A, &saved));
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
  PetscCall((*f->kind->setfromoptions)(A, f->ctx, PetscOptionsObject));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc has set boundtocpu already; the form follows at the next product, and device memory is given back at once */
static PetscErrorCode MatBindToCPU_SeqAIJDerived(Mat A, PetscBool flg)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;
  PetscBool    usable;

  PetscFunctionBegin;
  PetscCall(PetscCSRCDeviceUsable(&usable, NULL));
  if (!flg && !usable) MatDerivedSetBoundToCPU(A, PETSC_TRUE);
  if (f->built && f->ondevice == MatDerivedBoundToCPU(A)) PetscCall(MatDerivedReset(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetCurrentMemType_SeqAIJDerived(Mat A, PetscMemType *mtype)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

  PetscFunctionBegin;
  *mtype = f->kind->usesdevice && !MatDerivedBoundToCPU(A) ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST;
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

/*
  In-place factors. An LU factor takes the place of A by MatHeaderMerge(), which leaves nothing of our part; so that is taken off
  before and put on again. ILU works in the arrays of the CSR and may change the order of columns, which no state tells.
*/
static PetscErrorCode MatLUFactor_SeqAIJDerived(Mat A, IS row, IS col, const MatFactorInfo *info)
{
  const PetscBool bound = MatDerivedBoundToCPU(A);
  AIJSettings     saved;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(SettingsSave(A, &saved));
  saved.spptr = NULL; /* it is freed now, and the new part may get its address */
  PetscCall(MatConvert(A, MATSEQAIJ, MAT_INPLACE_MATRIX, &A));
  ierr = (*A->ops->lufactor)(A, row, col, info);
  PetscCall(MatDerivedInstall(A, saved.kind));
  MatDerivedSetBoundToCPU(A, bound);
  PetscCall(SettingsRestore(A, &saved));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatILUFactor_SeqAIJDerived(Mat A, IS row, IS col, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedReset(A));
  PetscCall((*((Mat_Derived *)A->spptr)->base.ilufactor)(A, row, col, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ's is a plain AIJ matrix that is composed with what A is: not with what needs our part */
static PetscErrorCode MatGetMultiProcBlock_SeqAIJDerived(Mat A, MPI_Comm comm, MatReuse reuse, Mat *B)
{
  const Mat_Derived *f = (const Mat_Derived *)A->spptr;
  const AIJKind     *bkind;

  PetscFunctionBegin;
  PetscCall((*f->base.getmultiprocblock)(A, comm, reuse, B));
  PetscCall(MatDerivedGetKind(*B, &bkind)); /* one of ours only by -mat_seqaij_type */
  if (reuse == MAT_INITIAL_MATRIX && !bkind) {
    PetscCall(MatDerivedDecompose(*B, f->kind, f->kind->seqname, "seq"));
    PetscCall(PetscObjectComposeFunction((PetscObject)*B, "MatSetPreallocationCOO_C", f->setpreallocationcoo));
    PetscCall(PetscObjectComposeFunction((PetscObject)*B, "MatSetValuesCOO_C", f->setvaluescoo));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedInstallCommon(Mat A, const AIJKind *kind, const char typename[])
{
  Mat_Derived *f;
  PetscBool    usable = PETSC_FALSE;
  const char  *reason;

  PetscFunctionBegin;
  PetscCall(PetscNew(&f));
  f->kind = kind;
  f->base = A->ops[0];
  PetscCall((*kind->create)(&f->ctx));
  A->spptr = f;
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, typename));

  A->ops->duplicate      = MatDuplicate_AIJDerived;
  A->ops->axpy           = MatAXPY_AIJDerived;
  A->ops->transpose      = MatTranspose_AIJDerived;
  A->ops->hasoperation   = MatHasOperation_AIJDerived;
  A->ops->setfromoptions = MatSetFromOptions_AIJDerived;
  A->ops->convert        = MatConvert_AIJDerived;
  A->ops->convertfrom    = MatConvertFrom_AIJDerived;
  if (f->base.shift) A->ops->shift = MatShift_AIJDerived;
  PetscCall((*kind->compose)(A, PETSC_TRUE));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatSetPreallocationCOO_C", &f->setpreallocationcoo));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatSetValuesCOO_C", &f->setvaluescoo));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetPreallocationCOO_C", MatSetPreallocationCOO_AIJDerived));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetValuesCOO_C", MatSetValuesCOO_AIJDerived));

  if (kind->usesdevice) {
    PetscCall(PetscCSRCDeviceUsable(&usable, &reason));
    if (!usable) PetscCall(PetscInfo(A, "%s uses its host path: %s\n", kind->name, reason));
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
  PetscCall((*kind->compose)(A, PETSC_FALSE));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatFormGetMemory_C", NULL));
  PetscCall(MatDerivedComposeProducts(A, typename, prefix, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedRemoveCommon(Mat A)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

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
  PetscCall((*f->kind->destroy)(&f->ctx));
  PetscCall(PetscFree(A->spptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_SeqAIJDerived(Mat A)
{
  PetscErrorCode (*destroy)(Mat) = A->spptr ? ((Mat_Derived *)A->spptr)->base.destroy : DestroySeqAIJ;

  PetscFunctionBegin;
  /* a submatrix that was of our type when it was made, and has been converted since, has no part of ours left */
  if (A->spptr) PetscCall(MatDerivedRemove(A));
  PetscCall((*destroy)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ destroys a submatrix with the destroy function that it was made with: our part of one that became ours since then would leak */
static PetscErrorCode MatDestroySubMatrices_SeqAIJDerived(PetscInt n, Mat *mat[])
{
  PetscErrorCode (*destroy)(PetscInt, Mat *[]) = ((Mat_Derived *)(*mat)[0]->spptr)->base.destroysubmatrices;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    if (((PetscObject)(*mat)[k])->refct == 1 && (*mat)[k]->ops->destroy == MatDestroy_SeqAIJDerived) PetscCall(MatDerivedRemove((*mat)[k]));
  }
  PetscCall((*destroy)(n, mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedInstall(Mat A, const AIJKind *kind)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedInstallCommon(A, kind, kind->seqname));
  if (!DestroySeqAIJ) DestroySeqAIJ = ((Mat_Derived *)A->spptr)->base.destroy;
  A->ops->destroy                   = MatDestroy_SeqAIJDerived;
  A->ops->destroysubmatrices        = MatDestroySubMatrices_SeqAIJDerived;
  A->ops->mult                      = MatMult_SeqAIJDerived;
  A->ops->multadd                   = MatMultAdd_SeqAIJDerived;
  A->ops->multtranspose             = MatMultTranspose_SeqAIJDerived;
  A->ops->multtransposeadd          = MatMultTransposeAdd_SeqAIJDerived;
  A->ops->multhermitiantranspose    = MatMultHermitianTranspose_SeqAIJDerived;
  A->ops->multhermitiantransposeadd = MatMultHermitianTransposeAdd_SeqAIJDerived;
  A->ops->view                      = MatView_SeqAIJDerived;
  A->ops->lufactor                  = MatLUFactor_SeqAIJDerived;
  A->ops->ilufactor                 = MatILUFactor_SeqAIJDerived;
  A->ops->getmultiprocblock         = MatGetMultiProcBlock_SeqAIJDerived;
  if (kind->usesdevice) {
    A->ops->bindtocpu         = MatBindToCPU_SeqAIJDerived;
    A->ops->getcurrentmemtype = MatGetCurrentMemType_SeqAIJDerived;
  }
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatFormGetMemory_C", MatFormGetMemory_SeqAIJDerived));
  PetscCall(MatDerivedComposeProducts(A, kind->seqname, "seq", MatProductSetFromOptions_SeqAIJDerived_SeqDense, MatProductSetFromOptions_SeqDense_SeqAIJDerived));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes our part off: A is left a MATSEQAIJ in all but the name, which the caller sets */
PetscErrorCode MatDerivedRemove(Mat A)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

  PetscFunctionBegin;
  PetscCall(MatDerivedReset(A));
  /* a submatrix has a function of PETSc's there, which frees what is kept for its reuse and calls ours */
  if (A->ops->destroy == MatDestroy_SeqAIJDerived) A->ops->destroy = f->base.destroy;
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
  PetscCall(MatDerivedDecompose(A, f->kind, f->kind->seqname, "seq"));
  PetscCall(MatDerivedRemoveCommon(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_SeqAIJDerived(Mat A, const AIJKind *kind)
{
  const AIJKind *already;
  PetscBool      isaij;

  PetscFunctionBegin;
  PetscCall(MatCreate_SeqAIJ(A));
  /* -mat_seqaij_type may have turned it into another type, ours among them */
  PetscCall(MatDerivedGetKind(A, &already));
  if (already == kind) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJ, &isaij));
  PetscCheck(isaij, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_INCOMP, "-mat_seqaij_type %s contradicts the matrix type %s: give one of the two", ((PetscObject)A)->type_name, kind->name);
  PetscCall(MatDerivedInstall(A, kind));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreateDerived_Private(MPI_Comm comm, const AIJKind *kind, PetscInt m, PetscInt n, PetscInt M, PetscInt N, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCInitializePackage());
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, m, n, M, N));
  PetscCall(MatSetType(*A, kind->name));
  /* the one of these two that does not fit the communicator does nothing */
  PetscCall(MatSeqAIJSetPreallocation(*A, d_nz, d_nnz));
  PetscCall(MatMPIAIJSetPreallocation(*A, d_nz, d_nnz, o_nz, o_nnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}
