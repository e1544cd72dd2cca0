/*
  Matrices without a CSR: the stored nonzeros are the matrix. With -mat_form_release the first product stores the nonzeros and frees the CSR, on the
  host and on the device, and all other data of AIJ. It changes the type of the matrix in place to one without CSR:

      SeqAIJ  data: i, j, a, ...           (no data)
              part: Mat_Derived    ---->   part: the same Mat_Derived, released
      MPIAIJ  data: A, B, garray, ...      Mat_MPICSRFree: the same blocks, without CSR, and garray
              part: Mat_Derived    ---->   part: the same Mat_Derived, released

  The Mat_Derived is kept, so that products, also those that MatProduct prepared before, continue to work. Nothing of AIJ remains: its destroy function
  has run, and the table of operations has those below and no others, so that PETSc refuses what needs a CSR. The name of the type does not begin with
  seqaij or mpiaij, by which PETSc recognizes AIJ.

  All rows of a process of a parallel matrix (parallel/whole.c) are a matrix of the sequential type too. It is not the only copy: its nonzeros are stored
  from a CSR that is made when it is needed, and again when values change.

  recode.c gives the CSR back; arrays.c reads a CSR that users give; release.c has the functions and the option for users.
*/
#include "../derivedimpl.h"

/* The sequential matrices of which A consists: itself, or its two blocks */
static int GetParts(Mat A, Mat part[2])
{
  const Mat_MPICSRFree *r = (const Mat_MPICSRFree *)A->data;

  part[0] = r ? r->blocks[0] : A;
  part[1] = r ? r->blocks[1] : NULL;
  return r ? 2 : 1;
}

/* A plain AIJ copy, on the host */
static PetscErrorCode Decode(Mat A, Mat *B)
{
  Mat            part[2], decoded[2] = {NULL, NULL};
  const int      n    = GetParts(A, part);
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  for (int k = 0; k < n && !ierr; k++) ierr = MatDerivedDecode(part[k], &decoded[k]);
  if (n == 2) PetscCall(MatJoinBlocks(A, ierr, decoded, ((Mat_MPICSRFree *)A->data)->garray, B));
  else {
    PetscCall(ierr);
    *B = decoded[0];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Converts to any type by way of AIJ. For the types of kinds MatConvert() calls convertfrom of the new type first, see ../convert.c. */
static PetscErrorCode MatConvert_AIJCSRFree(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat       B;
  PetscBool toaij;

  PetscFunctionBegin;
  PetscCall(Decode(A, &B));
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

/* A duplicate with values has the same type. One without values is to be filled: it has a CSR, which its first product frees. */
static PetscErrorCode MatDuplicate_AIJCSRFree(Mat A, MatDuplicateOption op, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(A, MatDerivedOf(A)->kind->name, MAT_INITIAL_MATRIX, B));
  PetscCall(MatFormSetRelease_AIJDerived(*B, PETSC_TRUE));
  if (op == MAT_COPY_VALUES) PetscCall(MatDerivedReleaseIfAsked(*B));
  else PetscCall(MatZeroEntries(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc calls this one without asking whether there is one */
static PetscErrorCode MatCreateMPIMatConcatenateSeqMat_AIJCSRFree(MPI_Comm comm, Mat A, PetscInt n, MatReuse reuse, Mat *B)
{
  Mat C;

  PetscFunctionBegin;
  PetscCall(Decode(A, &C));
  PetscCall(MatCreateMPIMatConcatenateSeqMat(comm, C, n, reuse, B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetInfo_AIJCSRFree(Mat A, MatInfoType type, MatInfo *info)
{
  PetscLogDouble here[2] = {0, 0};
  Mat            part[2];

  PetscFunctionBegin;
  for (int k = 0, n = GetParts(A, part); k < n; k++) {
    PetscLogDouble bytes;

    PetscCall(MatDerivedGetBytes(part[k], &bytes));
    here[0] += (PetscLogDouble)MatDerivedOf(part[k])->nnz;
    here[1] += bytes;
  }
  if (type != MAT_LOCAL) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, here, 2, MPI_DOUBLE, type == MAT_GLOBAL_MAX ? MPI_MAX : MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCall(PetscMemzero(info, sizeof(*info)));
  info->block_size   = 1.0;
  info->nz_allocated = info->nz_used = here[0];
  info->memory                       = here[1];
  info->assemblies                   = A->num_ass;
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

static PetscErrorCode MatGetDiagonal_AIJCSRFree(Mat A, Vec v)
{
  const Mat_Derived *f;
  Mat                part[2];
  PetscInt           n;
  Diagonal           d;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCheck(n == A->rmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "The vector has %" PetscInt_FMT " entries on this process, the matrix %" PetscInt_FMT " rows", n, A->rmap->n);
  PetscCheck(GetParts(A, part) == 1 || (A->rmap->rstart == A->cmap->rstart && A->rmap->rend == A->cmap->rend), PETSC_COMM_SELF, PETSC_ERR_SUP, "Rows and columns are divided differently: the diagonal is in more than the diagonal blocks");
  f = MatDerivedOf(part[0]);
  PetscCall(PetscBTCreate(n, &d.met));
  PetscCall(VecGetArrayWrite(v, &d.diagonal));
  PetscCall(PetscArrayzero(d.diagonal, n));
  if (f->nnz) PetscCall((*f->stored.format->visit)(f->stored.data, VisitDiagonal, &d));
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

/* The largest sum of absolute values of a row, or of a column, of this process */
static PetscErrorCode LargestSum(Mat A, PetscBool byrow, PetscReal *largest)
{
  const PetscInt m = byrow ? A->rmap->n : A->cmap->n;
  Mat            part[2];
  PetscReal     *sums;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(m, &sums));
  for (int k = 0, n = GetParts(A, part); k < n; k++) PetscCall(MatDerivedAddSums(part[k], byrow, sums));
  for (PetscInt k = 0; k < m; k++) *largest = PetscMax(*largest, sums[k]);
  PetscCall(PetscFree(sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatNorm_AIJCSRFree(Mat A, NormType type, PetscReal *norm)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  PetscReal      here = 0.0;
  Mat            part[2];
  const int      n = GetParts(A, part);

  PetscFunctionBegin;
  PetscCheck(type == NORM_FROBENIUS || type == NORM_1 || type == NORM_INFINITY, comm, PETSC_ERR_SUP, "No norm %s of a sparse matrix", NormTypes[type]);
  if (type == NORM_1 && n == 2) {
    PetscCall(MatDerivedNorm1_MPI(A, norm));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (type == NORM_FROBENIUS) {
    for (int k = 0; k < n; k++) {
      const Mat_Derived *f = MatDerivedOf(part[k]);

      if (f->nnz) PetscCall((*f->stored.format->visit)(f->stored.data, AddSquares, &here));
    }
  } else PetscCall(PetscCSRCAgree(comm, LargestSum(A, type == NORM_INFINITY ? PETSC_TRUE : PETSC_FALSE, &here), "Sums of absolute values"));
  PetscCallMPI(MPIU_Allreduce(&here, norm, 1, MPIU_REAL, type == NORM_FROBENIUS ? MPIU_SUM : MPIU_MAX, comm));
  if (type == NORM_FROBENIUS) *norm = PetscSqrtReal(*norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc has set boundtocpu already. The nonzeros are moved from one memory to the other by way of the CSR; if this fails, they stay where they are. */
static PetscErrorCode MatBindToCPU_SeqCSRFree(Mat A, PetscBool flg)
{
  const PetscBool ondevice = MatDerivedOf(A)->ondevice;
  PetscErrorCode  ierr;
  AIJCSR          csr;
  Mat             B;

  PetscFunctionBegin;
  PetscCall(MatDerivedStayBound(A, flg));
  if (ondevice == MatDerivedOnDevice(A)) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = MatDerivedDecode(A, &B);
  if (!ierr) {
    ierr = MatDerivedGetCSR(B, PETSC_FALSE, &csr);
    if (!ierr) ierr = MatDerivedStoreCSR(A, &csr);
    PetscCall(MatDestroy(&B));
  }
  if (ierr) MatDerivedSetBoundToCPU(A, ondevice ? PETSC_FALSE : PETSC_TRUE);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyData(Mat_MPICSRFree **r)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&(*r)->blocks[k]));
  PetscCall(PetscFree((*r)->garray));
  PetscCall(PetscFree(*r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_AIJCSRFree(Mat A)
{
  Mat_MPICSRFree *r = (Mat_MPICSRFree *)A->data;

  PetscFunctionBegin;
  PetscCall(MatDerivedComposeProducts(A, ((PetscObject)A)->type_name, r ? "mpi" : "seq", NULL, NULL));
  PetscCall(MatDerivedCompose(A, MatDerivedReleaseSetters, PETSC_FALSE));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatFormGetMemory_C", NULL));
  PetscCall(MatDerivedResetMPI(A));
  if (r) PetscCall(DestroyData(&r));
  A->data = NULL;
  PetscCall(PetscObjectCompose((PetscObject)A, AIJ_PART, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that such a matrix can do besides products */
static const AIJOperation Operations[] = {
  AIJ_OPERATION(destroy, MatDestroy_AIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(view, MatView_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(getinfo, MatGetInfo_AIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(getdiagonal, MatGetDiagonal_AIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(norm, MatNorm_AIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(duplicate, MatDuplicate_AIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(convert, MatConvert_AIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(creatempimatconcatenateseqmat, MatCreateMPIMatConcatenateSeqMat_AIJCSRFree, OVERRIDE_ALWAYS),
#if defined(PETSCCSRC_HAVE_CUDA)
  AIJ_OPERATION(getcurrentmemtype, MatGetCurrentMemType_AIJDerived, OVERRIDE_ON_DEVICES),
#endif
  {0, NULL, OVERRIDE_ALWAYS},
};

static const AIJOperation SeqOperations[] = {
  AIJ_PRODUCTS,
  AIJ_OPERATION(bindtocpu, MatBindToCPU_SeqCSRFree, OVERRIDE_ON_DEVICES),
  {0, NULL, OVERRIDE_ALWAYS},
};

static const AIJOperation MPIOperations[] = {
  AIJ_PARALLEL_PRODUCTS,
  AIJ_OPERATION(bindtocpu, MatBindToCPU_MPIAIJDerived, OVERRIDE_ON_DEVICES),
  {0, NULL, OVERRIDE_ALWAYS},
};

/* A has no AIJ data, and gets the type without CSR; r: the data of the parallel type, NULL for the sequential one */
static PetscErrorCode Install(Mat A, Mat_MPICSRFree *r)
{
  Mat_Derived *f    = MatDerivedOf(A);
  const char  *type = r ? f->kind->releasedmpiname : f->kind->releasedseqname;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(A->ops, sizeof(*A->ops)));
  f->tables[0] = Operations;
  f->tables[1] = r ? MPIOperations : SeqOperations;
  f->tables[2] = NULL;
  f->cusparse  = PETSC_FALSE;
  f->released  = PETSC_TRUE;
  A->data      = r;
  PetscCall(MatDerivedOverrideOperations(A));
  PetscCall(MatDerivedCompose(A, MatDerivedReleaseSetters, PETSC_TRUE));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatFormGetMemory_C", r ? MatFormGetMemory_MPIAIJDerived : MatFormGetMemory_SeqAIJDerived));
  PetscCall(MatDerivedComposeProducts(A, type, r ? "mpi" : "seq", r ? MatProductSetFromOptions_MPIAIJDerived_MPIDense : MatProductSetFromOptions_SeqAIJDerived_SeqDense, NULL));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees the CSR, and all else that AIJ has; what is stored is the matrix from now on */
static PetscErrorCode FreeCSR(Mat A, Mat_MPICSRFree *r)
{
  Mat_Derived   *f    = MatDerivedOf(A);
  const AIJKind *kind = f->kind;

  PetscFunctionBegin;
  PetscCall(MatDerivedDecompose(A, kind, r ? kind->mpiname : kind->seqname, r ? "mpi" : "seq"));
  MatDerivedCallLent(A, (*f->base.destroy)(A));
  PetscCall(Install(A, r));
  PetscCall(PetscInfo(A, "No CSR any more: what is stored by %s is the matrix\n", kind->name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FreeSeqCSR(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedComposeFetching(A, MatDerivedOf(A)->cusparse, PETSC_FALSE));
  PetscCall(FreeCSR(A, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckMayFree(Mat A)
{
  PetscFunctionBegin;
  PetscCheck(MatDerivedOf(A)->released || !MatDerivedDestroyReplaced(A), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "A submatrix that MatCreateSubMatrices() made of a parallel matrix cannot give up its CSR: no " MAT_FORM_RELEASE " for it, and no MatFormSetCSR()");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings the stored nonzeros, which will replace the CSR, up to date, and checks that the CSR can be restored from them */
static PetscErrorCode PrepareSeq(Mat A)
{
  PetscFunctionBegin;
  PetscCall(CheckMayFree(A));
  PetscCall(MatDerivedUpdate(A));
  PetscCall(MatDerivedCheckRestorable(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReleaseSeq(Mat A)
{
  PetscFunctionBegin;
  PetscCall(PrepareSeq(A));
  PetscCall(FreeSeqCSR(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that may fail on one process only */
static PetscErrorCode PrepareMPI(const Mat blocks[2], const PetscInt garray[], Mat_MPICSRFree **r)
{
  const PetscInt n = blocks[1]->cmap->n;

  PetscFunctionBegin;
  PetscCall(PetscNew(r));
  PetscCall(PetscMalloc1(n, &(*r)->garray));
  PetscCall(PetscArraycpy((*r)->garray, garray, n));
  for (int k = 0; k < 2; k++) PetscCall(PrepareSeq(blocks[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReleaseMPI(Mat A)
{
  const PetscInt *garray;
  Mat_MPICSRFree *r = NULL;
  Mat             blocks[2];
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], &garray));
  ierr = PetscCSRCAgree(PetscObjectComm((PetscObject)A), PrepareMPI(blocks, garray, &r), "Storing the nonzeros");
  if (ierr && r) PetscCall(DestroyData(&r));
  PetscCall(ierr);
  PetscCall(MatDerivedResetMPI(A));
  for (int k = 0; k < 2; k++) {
    r->blocks[k] = blocks[k];
    PetscCall(PetscObjectReference((PetscObject)blocks[k]));
    PetscCall(FreeSeqCSR(blocks[k]));
  }
  PetscCall(FreeCSR(A, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatFormSetRelease_AIJDerived(Mat A, PetscBool flg)
{
  Mat_Derived *f = MatDerivedOf(A);
  PetscBool    isseq;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &isseq, MATSEQAIJ, f->kind->releasedseqname, "")); /* its name may be aijcusparse's */
  if (f->released && !flg) PetscCall(MatConvert(A, f->kind->name, MAT_INPLACE_MATRIX, &A));
  else f->release = !flg ? NULL : isseq ? ReleaseSeq : ReleaseMPI;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatFormGetRelease_AIJDerived(Mat A, PetscBool *flg)
{
  PetscFunctionBegin;
  *flg = MatDerivedOf(A)->release ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatFormSetCSR_AIJDerived(Mat A, size_t size, const void *i, const void *j, const PetscScalar *a)
{
  const PetscBool before = A->assembled;
  AIJCSR          csr;
  AIJCopies       c = {
          NULL, NULL, NULL, NULL, NULL, {NULL, NULL}
  };
  PetscBool      isseq;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &isseq, MATSEQAIJ, MatDerivedOf(A)->kind->releasedseqname, "")); /* its name may be aijcusparse's */
  PetscCheck(isseq, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "A matrix of type %s takes no CSR: only one on a communicator of one process does", ((PetscObject)A)->type_name);
  PetscCheck(size == sizeof(PetscInt) || size == sizeof(int), PETSC_COMM_SELF, PETSC_ERR_SUP, "Integers of %zu bytes: row offsets and columns must be of %zu or %zu bytes", size, sizeof(int), sizeof(PetscInt));
  PetscCall(CheckMayFree(A));
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  ierr         = MatDerivedReadArrays(A, size, i, j, a, &csr, &c);
  A->assembled = PETSC_TRUE;
  if (!ierr) ierr = MatDerivedStoreCSR(A, &csr);
  if (ierr) A->assembled = before;
  PetscCall(MatDerivedFreeCopies(&c));
  PetscCall(ierr);
  if (!MatDerivedOf(A)->released) PetscCall(FreeSeqCSR(A));
  A->preallocated = PETSC_TRUE;
  A->nonzerostate++;
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJComposed MatDerivedReleaseSetters[] = {
  {"MatFormSetRelease_C", (PetscErrorCodeFn *)MatFormSetRelease_AIJDerived},
  {"MatFormGetRelease_C", (PetscErrorCodeFn *)MatFormGetRelease_AIJDerived},
  {"MatFormSetCSR_C",     (PetscErrorCodeFn *)MatFormSetCSR_AIJDerived    },
  {NULL,                  NULL                                            },
};

/* Makes B, without a type, a matrix whose nonzeros are stored from a source */
static PetscErrorCode InstallSource(Mat A, const AIJSource *source, Mat B)
{
  Mat     Ad, Ao;
  VecType vectype;

  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(B->rmap));
  PetscCall(PetscLayoutSetUp(B->cmap));
  PetscCall(MatDerivedComposePart(B, MatDerivedOf(A)->kind));
  PetscCall(Install(B, NULL));
  PetscCall(MatDerivedCopySettings(A, B));
  PetscCall(MatDerivedGetBlocks(A, &Ad, &Ao, NULL));
  PetscCall(MatGetVecType(Ad, &vectype));
  PetscCall(MatSetVecType(B, vectype));
  MatDerivedSetBoundToCPU(B, MatDerivedBoundToCPU(A));
  MatDerivedOf(B)->source = *source;
  B->preallocated = B->assembled = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedCreateFromSource(Mat A, PetscInt m, PetscInt n, const AIJSource *source, Mat *local)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, local));
  PetscCall(MatSetSizes(*local, m, n, m, n));
  ierr = InstallSource(A, source, *local);
  if (ierr) PetscCall(MatDestroy(local));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
