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

  recode.c gives the CSR back; release.c has the option; arrays.c makes matrices from arrays of users.
*/
#include "csrfree.h"

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

/* Converts to any type by way of AIJ. For the types of kinds MatConvert() calls convertfrom of the new type first, see ../types.c. */
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
  MatDerivedOf(*B)->release = A->data ? MatDerivedReleaseMPI : MatDerivedReleaseSeq;
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
    here[0] += (PetscLogDouble)MatDerivedOf(part[k])->cache.nnz;
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

static PetscErrorCode MatGetDiagonal_AIJCSRFree(Mat A, Vec v)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(Decode(A, &B));
  PetscCall(MatGetDiagonal(B, v));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatNorm_AIJCSRFree(Mat A, NormType type, PetscReal *norm)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(Decode(A, &B));
  PetscCall(MatNorm(B, type, norm));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc has set boundtocpu already. The nonzeros are moved from one memory to the other by way of the CSR; if this fails, they stay where they are. */
static PetscErrorCode MatBindToCPU_SeqCSRFree(Mat A, PetscBool flg)
{
  const PetscBool ondevice = MatDerivedOf(A)->cache.ondevice;
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
  if (r) {
    PetscCall(MatDerivedResetMPI(A));
    PetscCall(DestroyData(&r));
  }
  A->data = NULL;
  PetscCall(MatDerivedRemove(A));
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

/* Memory of the stored nonzeros, and the names under which MatProduct looks for products with dense matrices on the right */
#define COMPOSED(prefix, getmemory, ourdense) \
  { \
    {"MatFormGetMemory_C", (PetscErrorCodeFn *)getmemory}, {"MatProductSetFromOptions_%s_" prefix "dense_C", (PetscErrorCodeFn *)ourdense}, {"MatProductSetFromOptions_%s_" prefix "densecuda_C", (PetscErrorCodeFn *)ourdense}, \
    { \
      NULL, NULL \
    } \
  }
static const AIJComposed SeqComposed[] = COMPOSED("seq", MatFormGetMemory_SeqAIJDerived, MatProductSetFromOptions_SeqAIJDerived_SeqDense);
static const AIJComposed MPIComposed[] = COMPOSED("mpi", MatFormGetMemory_MPIAIJDerived, MatProductSetFromOptions_MPIAIJDerived_MPIDense);

/* A gets the type without CSR, and keeps the functions of release.c */
PetscErrorCode MatDerivedFreeCSR(Mat A, Mat_MPICSRFree *r)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  PetscCall(MatDerivedComposeAll(A, f, PETSC_FALSE));
  MatDerivedCallLent(A, (*f->base.destroy)(A));
  PetscCall(PetscMemzero(A->ops, sizeof(*A->ops)));
  A->data        = r;
  f->type        = r ? f->kind->releasedmpiname : f->kind->releasedseqname;
  f->tables[0]   = Operations;
  f->tables[1]   = r ? MPIOperations : SeqOperations;
  f->tables[2]   = NULL;
  f->tables[3]   = NULL;
  f->composed[0] = NULL;
  f->composed[1] = r ? MPIComposed : SeqComposed;
  f->composed[2] = NULL;
  f->composed[4] = NULL;
  f->cusparse    = PETSC_FALSE;
  f->released    = PETSC_TRUE;
  PetscCall(MatDerivedOverrideOperations(A));
  PetscCall(MatDerivedComposeAll(A, f, PETSC_TRUE));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, f->type));
  PetscCall(PetscInfo(A, "No CSR any more: what is stored by %s is the matrix\n", f->kind->name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings the stored nonzeros, which will replace the CSR, up to date, and checks that the CSR can be restored from them */
static PetscErrorCode PrepareSeq(Mat A)
{
  PetscFunctionBegin;
  PetscCheck(!MatDerivedDestroyReplaced(A), PETSC_COMM_SELF, PETSC_ERR_SUP, MAT_FORM_RELEASE ": a submatrix that MatCreateSubMatrices() made of a parallel matrix cannot give up its CSR: leave the option out for it");
  PetscCall(MatDerivedUpdate(A));
  PetscCall(MatDerivedCheckRestorable(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedReleaseSeq(Mat A)
{
  PetscFunctionBegin;
  PetscCall(PrepareSeq(A));
  PetscCall(MatDerivedFreeCSR(A, NULL));
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

PetscErrorCode MatDerivedReleaseMPI(Mat A)
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
    PetscCall(MatDerivedFreeCSR(blocks[k], NULL));
  }
  PetscCall(MatDerivedFreeCSR(A, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}
