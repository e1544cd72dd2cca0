/*
  A matrix without its CSR. With -mat_form_release the first product stores the nonzeros and frees the CSR, on the host and on the device,
  and all other data of AIJ. It changes the type of the matrix in place to one without CSR; from then on the stored nonzeros are the only
  copy of the matrix.

      SeqAIJ  data: i, j, a, ...           (no data)
              part: Mat_Derived    ---->   part: the same Mat_Derived, released

  The Mat_Derived is kept, so that products, also those that MatProduct prepared before, continue to work. Nothing of AIJ remains: its
  destroy function has run, no function of AIJ is in the table of operations, and the name of the type does not begin with seqaij or mpiaij,
  by which PETSc recognizes AIJ. Operations that need a CSR raise an error (refused.c). Operations that change values, and views other than
  ASCII info, make a temporary AIJ copy on the host.

  This file has the sequential type and the functions common to both types; recode.c decodes the CSR and stores nonzeros again. mpi.c has the parallel
  type, release.c the option and its setter.
*/
#include "../derivedimpl.h"

PetscErrorCode MatDerivedReleasedSettingsChanged(Mat A)
{
  Mat_Derived *f = MatDerivedOf(A);
  PetscBool    isseq;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, f->kind->releasedseqname, &isseq));
  if (isseq) f->cache.built = PETSC_FALSE; /* the next product stores the nonzeros again, from those that are stored */
  else {
    Mat blocks[2];

    PetscCall(MatDerivedResetMPI(A));
    PetscCall(MatDerivedGetBlocks(A, &blocks[0], &blocks[1], NULL));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatDerivedCopySettings(A, blocks[k]));
      PetscCall(MatDerivedReleasedSettingsChanged(blocks[k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Converts to any type by way of AIJ. For the types of kinds MatConvert() calls convertfrom of the new type first, see ../types.c. */
static PetscErrorCode MatConvert_AIJCSRFree(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat       B;
  PetscBool toaij;

  PetscFunctionBegin;
  PetscCall((*MatDerivedOf(A)->decode)(A, &B));
  PetscCall(MatPropagateSymmetryOptions(A, B)); /* MATSBAIJ takes only matrices that are known to be symmetric */
  PetscCall(PetscStrcmpAny(type, &toaij, MATAIJ, MATSEQAIJ, MATMPIAIJ, ""));
  if (!toaij) PetscCall(MatConvertAIJInPlace(B, type));
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatCopy(B, *newmat, toaij ? DIFFERENT_NONZERO_PATTERN : SAME_NONZERO_PATTERN));
    PetscCall(MatDestroy(&B));
  } else if (reuse == MAT_INPLACE_MATRIX) {
    PetscCall(MatReplaceInsides(A, &B));
    *newmat = A;
  } else *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCopy_AIJCSRFree(Mat A, Mat B, MatStructure str)
{
  Mat C;

  PetscFunctionBegin;
  PetscCall((*MatDerivedOf(A)->decode)(A, &C));
  PetscCall(MatCopy(C, B, str));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A duplicate with values has the same type. One without values is to be filled: it has a CSR, which its first product frees. */
static PetscErrorCode MatDuplicate_AIJCSRFree(Mat A, MatDuplicateOption op, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(A, MatDerivedOf(A)->kind->name, MAT_INITIAL_MATRIX, B));
  MatDerivedOf(*B)->release = MatDerivedOf(A)->release;
  if (op == MAT_COPY_VALUES) PetscCall(MatDerivedReleaseIfAsked(*B));
  else PetscCall(MatZeroEntries(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHasOperation_AIJCSRFree(Mat A, MatOperation op, PetscBool *has)
{
  PetscFunctionBegin;
  *has = ((void **)&MatDerivedOf(A)->base)[op] ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operations common to the sequential and the parallel type; each also has a table of its own */
static const AIJOperation Operations[] = {
  AIJ_OPERATION(view, MatView_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(duplicate, MatDuplicate_AIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(copy, MatCopy_AIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(convert, MatConvert_AIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(hasoperation, MatHasOperation_AIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(setfromoptions, MatDerivedSetFromOptions, OVERRIDE_ALWAYS),
#if defined(PETSCCSRC_HAVE_CUDA)
  AIJ_OPERATION(getcurrentmemtype, MatGetCurrentMemType_AIJDerived, OVERRIDE_ON_DEVICES),
#endif
  {0, NULL, OVERRIDE_ALWAYS},
};

/* A has no AIJ data any more. It gets the operations and functions of its type, those common to both types, and for others functions that raise an error. */
PetscErrorCode MatDerivedInstallReleased(Mat A, const char typename[], const AIJOperation *op, const AIJComposed *composed, PetscErrorCode (*decode)(Mat, Mat *))
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  PetscCall(PetscMemzero(A->ops, sizeof(*A->ops)));
  PetscCall(PetscArrayzero(f->tables, PETSC_STATIC_ARRAY_LENGTH(f->tables)));
  f->tables[0] = op;
  f->tables[1] = Operations;
  PetscCall(MatDerivedOverrideOperations(A));
  f->base        = A->ops[0]; /* the operations that this type supports */
  f->released    = PETSC_TRUE;
  f->cusparse    = PETSC_FALSE;
  f->type        = typename;
  f->composed[1] = composed;
  f->composed[2] = f->composed[4] = NULL;
  f->settingschanged              = MatDerivedReleasedSettingsChanged;
  f->storeagain                   = MatDerivedStoreAgain;
  f->decode                       = decode;
  PetscCall(MatDerivedRefuse(A, PETSC_TRUE));
  PetscCall(MatDerivedComposeAll(A, f, PETSC_TRUE));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, typename));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedRemoveReleased(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedRefuse(A, PETSC_FALSE));
  PetscCall(MatDerivedComposeAll(A, MatDerivedOf(A), PETSC_FALSE));
  PetscCall(PetscObjectCompose((PetscObject)A, AIJ_PART, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetInfo_SeqAIJCSRFree(Mat A, MatInfoType type, MatInfo *info)
{
  const Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  (void)type; /* one process */
  PetscCall(PetscMemzero(info, sizeof(*info)));
  info->block_size   = 1.0;
  info->nz_allocated = info->nz_used = f->cache.nnz;
  info->assemblies                   = A->num_ass;
  PetscCall(MatDerivedGetBytes(A, &info->memory)); /* as they are stored, also if settings have changed since */
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscScalar *diagonal;
  PetscBT      met;
} Diagonal;

/* Of several entries at the same place AIJ uses the first */
static void VisitDiagonal(void *ctx, PetscInt n, const PetscInt row[], const PetscInt col[], const PetscScalar val[])
{
  const Diagonal *d = (const Diagonal *)ctx;

  for (PetscInt k = 0; k < n; k++) {
    if (row[k] == col[k] && !PetscBTLookupSet(d->met, row[k])) memcpy(&d->diagonal[row[k]], &val[k], sizeof(*val));
  }
}

static PetscErrorCode MatGetDiagonal_SeqAIJCSRFree(Mat A, Vec v)
{
  const Mat_Derived *f = MatDerivedOf(A);
  PetscInt           n;
  Diagonal           d;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCheck(n == f->cache.m, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "The vector has %" PetscInt_FMT " entries, the matrix %" PetscInt_FMT " rows", n, f->cache.m);
  PetscCall(PetscBTCreate(n, &d.met));
  PetscCall(VecGetArrayWrite(v, &d.diagonal));
  PetscCall(PetscArrayzero(d.diagonal, n));
  if (f->cache.nnz) PetscCall((*f->cache.stored.format->visit)(f->cache.stored.data, VisitDiagonal, &d));
  PetscCall(VecRestoreArrayWrite(v, &d.diagonal));
  PetscCall(PetscBTDestroy(&d.met));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void AddSquares(void *ctx, PetscInt n, const PetscInt row[], const PetscInt col[], const PetscScalar val[])
{
  PetscReal sum = 0.0;

  (void)row;
  (void)col;
  for (PetscInt k = 0; k < n; k++) sum += PetscRealPart(PetscConj(val[k]) * val[k]);
  *(PetscReal *)ctx += sum;
}

static PetscErrorCode MatNorm_SeqAIJCSRFree(Mat A, NormType type, PetscReal *norm)
{
  const Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  PetscCheck(type == NORM_FROBENIUS || type == NORM_1 || type == NORM_INFINITY, PETSC_COMM_SELF, PETSC_ERR_SUP, "No norm %s of a sparse matrix", NormTypes[type]);
  *norm = 0.0;
  if (type == NORM_FROBENIUS) {
    if (f->cache.nnz) PetscCall((*f->cache.stored.format->visit)(f->cache.stored.data, AddSquares, norm));
    *norm = PetscSqrtReal(*norm);
  } else {
    const PetscInt n = type == NORM_1 ? f->cache.n : f->cache.m;
    PetscReal     *sums;

    PetscCall(PetscCalloc1(n, &sums));
    PetscCall(MatDerivedAddSums(A, type == NORM_INFINITY ? PETSC_TRUE : PETSC_FALSE, sums));
    for (PetscInt k = 0; k < n; k++) *norm = PetscMax(*norm, sums[k]);
    PetscCall(PetscFree(sums));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatScale_SeqAIJCSRFree(Mat A, PetscScalar a)
{
  AIJEncoded e;

  PetscFunctionBegin;
  PetscCall(MatDerivedEncodeScaled(A, a, NULL, NULL, &e));
  PetscCall(MatDerivedReplaceEncoded(A, &e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDiagonalScale_SeqAIJCSRFree(Mat A, Vec left, Vec right)
{
  AIJEncoded e;

  PetscFunctionBegin;
  PetscCall(MatDerivedEncodeScaled(A, 1, left, right, &e));
  PetscCall(MatDerivedReplaceEncoded(A, &e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc has set boundtocpu already. The nonzeros are moved from one memory to the other by way of the CSR; if this fails, they stay where they are. */
static PetscErrorCode MatBindToCPU_SeqAIJCSRFree(Mat A, PetscBool flg)
{
  Mat_Derived    *f        = MatDerivedOf(A);
  const PetscBool ondevice = f->cache.ondevice;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatDerivedStayBound(A, flg));
  if (ondevice == MatDerivedOnDevice(A)) PetscFunctionReturn(PETSC_SUCCESS);
  f->cache.ondevice = MatDerivedOnDevice(A);
  ierr              = MatDerivedStoreAgain(A);
  if (ierr) {
    f->cache.ondevice = ondevice;
    MatDerivedSetBoundToCPU(A, ondevice ? PETSC_FALSE : PETSC_TRUE);
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_SeqAIJCSRFree(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedRemoveReleased(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const AIJOperation SeqOperations[] = {
  AIJ_OPERATION(destroy, MatDestroy_SeqAIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_PRODUCTS,
  AIJ_OPERATION(getinfo, MatGetInfo_SeqAIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(getdiagonal, MatGetDiagonal_SeqAIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(norm, MatNorm_SeqAIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(scale, MatScale_SeqAIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(diagonalscale, MatDiagonalScale_SeqAIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(bindtocpu, MatBindToCPU_SeqAIJCSRFree, OVERRIDE_ON_DEVICES),
  {0, NULL, OVERRIDE_ALWAYS},
};

static const AIJComposed SeqComposed[] = {
  {"MatFormGetMemory_C",                         (PetscErrorCodeFn *)MatFormGetMemory_SeqAIJDerived                 },
  {"MatProductSetFromOptions_%s_seqdense_C",     (PetscErrorCodeFn *)MatProductSetFromOptions_SeqAIJDerived_SeqDense},
  {"MatProductSetFromOptions_%s_seqdensecuda_C", (PetscErrorCodeFn *)MatProductSetFromOptions_SeqAIJDerived_SeqDense},
  {NULL,                                         NULL                                                               },
};

/* Brings the stored nonzeros, which will replace the CSR, up to date, and checks that the CSR can be restored from them */
PetscErrorCode MatDerivedPrepareRelease(Mat A)
{
  const Mat_Derived *f = MatDerivedOf(A);
  PetscInt           m;
  const PetscInt    *i, *j;
  PetscBool          done;

  PetscFunctionBegin;
  PetscCheck(!MatDerivedDestroyReplaced(A), PETSC_COMM_SELF, PETSC_ERR_SUP, MAT_FORM_RELEASE ": a submatrix that MatCreateSubMatrices() made of a parallel matrix cannot give up its CSR: leave the option out for it");
  PetscCall(MatDerivedUpdate(A));
  if (!f->cache.nnz) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &m, &i, &j, &done));
  PetscCall(MatDerivedCheckRestorable(&f->cache.stored, m, f->cache.n, i, j));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &m, &i, &j, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedReleaseSeq(Mat A)
{
  Mat_Derived   *f    = MatDerivedOf(A);
  const AIJKind *kind = f->kind;

  PetscFunctionBegin;
  PetscCall(MatDerivedPrepareRelease(A));
  PetscCall(MatDerivedComposeAll(A, f, PETSC_FALSE));
  MatDerivedCallLent(A, (*f->base.destroy)(A));
  PetscCall(MatDerivedInstallReleased(A, kind->releasedseqname, SeqOperations, SeqComposed, MatDerivedDecodeSeq));
  PetscCall(PetscInfo(A, "The CSR is freed: what is stored by %s is the matrix\n", kind->name));
  PetscFunctionReturn(PETSC_SUCCESS);
}
