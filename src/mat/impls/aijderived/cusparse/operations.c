/* Operations that differ where aijcusparse is underneath: tables of operations, and composed functions */
#include "../seq.h"
#include "cusparse.h"
#include "kernels.h"

#if defined(PETSCCSRC_HAVE_CUDA)
/* PETSc replaces operations and composed functions when an aijcusparse matrix is bound to the host, or no longer so; those of these types are installed again */
static PetscErrorCode MatBindToCPU_SeqCUSPARSEDerived(Mat A, PetscBool flg)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  PetscCall(MatDerivedRestoreOperations(A));
  PetscUseTypeMethod(A, bindtocpu, flg);
  if (flg && A->offloadmask == PETSC_OFFLOAD_BOTH) A->offloadmask = PETSC_OFFLOAD_CPU; /* PETSc does not mark changes on the host from now on */
  PetscCall(MatDerivedReinstall(A));
  if (f->cache.built && f->cache.ondevice == MatDerivedBoundToCPU(A)) PetscCall(MatDerivedReset(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatScale_SeqCUSPARSEDerived(Mat A, PetscScalar a)
{
  PetscFunctionBegin;
  MatDerivedCallLent(A, (*MatDerivedOf(A)->base.scale)(A, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDiagonalScale_SeqCUSPARSEDerived(Mat A, Vec l, Vec r)
{
  const Vec      given[2] = {l, r};
  Vec            own[2]   = {NULL, NULL}, v[2];
  PetscErrorCode ierr;
  AIJLent        lent;

  PetscFunctionBegin;
  if (A->boundtocpu) {
    PetscCall((*MatDerivedOf(A)->base.diagonalscale)(A, l, r));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int k = 0; k < 2; k++) PetscCall(MatDerivedVecToDevice(given[k], PETSC_TRUE, &own[k], &v[k]));
  PetscCall(MatDerivedLend(1, &A, &lent));
  ierr = (*MatDerivedOf(A)->base.diagonalscale)(A, v[0], v[1]);
  PetscCall(MatDerivedTakeBack(1, &lent));
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&own[k]));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies values between matrices with the same pattern whose CSRs are on the device; AIJ's function copies on the host */
static PetscErrorCode MatCopy_SeqCUSPARSEDerived(Mat A, Mat B, MatStructure str)
{
  const Mat_Derived *f = MatDerivedOf(A), *g = MatDerivedOf(B);
  MatInfo            info[2];
  const PetscScalar *a;
  PetscScalar       *b;

  PetscFunctionBegin;
  if (str == SAME_NONZERO_PATTERN && g && g->cusparse && MatDerivedCSROnDevice(A) && MatDerivedCSROnDevice(B)) {
    PetscCall(MatGetInfo(A, MAT_LOCAL, &info[0]));
    PetscCall(MatGetInfo(B, MAT_LOCAL, &info[1]));
    PetscCheck(info[0].nz_used == info[1].nz_used, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "SAME_NONZERO_PATTERN, but %g and %g nonzeros", info[0].nz_used, info[1].nz_used);
    MatDerivedCallLent(A, MatSeqAIJCUSPARSEGetArrayRead(A, &a));
    MatDerivedCallLent(B, MatSeqAIJCUSPARSEGetArrayWrite(B, &b));
    PetscCall(PetscCSRCDeviceCopy(b, PETSC_MEMTYPE_CUDA, a, PETSC_MEMTYPE_CUDA, (PetscInt)info[0].nz_used));
    MatDerivedCallLent(B, MatSeqAIJCUSPARSERestoreArrayWrite(B, &b));
    MatDerivedCallLent(A, MatSeqAIJCUSPARSERestoreArrayRead(A, &a));
  } else PetscCall((*f->base.copy)(A, B, str));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's function copies values on the host. That suits where the host has the newest ones: they go to the device together with the pattern. */
static PetscErrorCode MatDuplicate_SeqCUSPARSEDerived(Mat A, MatDuplicateOption op, Mat *B)
{
  const PetscBool ondevice = op == MAT_COPY_VALUES && !A->boundtocpu && A->offloadmask == PETSC_OFFLOAD_GPU ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt *i, *j;

  PetscFunctionBegin;
  PetscCall(MatDuplicate_AIJDerived(A, ondevice ? MAT_DO_NOT_COPY_VALUES : op, B));
  if (ondevice) {
    MatDerivedCallLent(*B, MatSeqAIJCUSPARSEGetIJ(*B, PETSC_TRUE, &i, &j)); /* copies the pattern to the device */
    PetscCall(MatCopy_SeqCUSPARSEDerived(A, *B, SAME_NONZERO_PATTERN));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds *a, or the entries of d if a is NULL, to the diagonal, or inserts them, if the CSR is on the device and has all entries of the diagonal */
static PetscErrorCode ChangeDiagonal(Mat A, const PetscScalar *a, Vec d, InsertMode mode, PetscBool *done)
{
  const PetscScalar *entries = NULL;
  const PetscInt    *i, *j;
  PetscScalar       *values;
  PetscErrorCode     ierr;
  AIJLent            lent;
  Vec                own = NULL, v;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (!A->assembled || !A->rmap->n || !MatDerivedCSROnDevice(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetDiagonalMarkers_SeqAIJ(A, NULL, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDerivedVecToDevice(d, PETSC_TRUE, &own, &v));
  if (v) PetscCall(VecCUDAGetArrayRead(v, &entries));
  PetscCall(MatDerivedLend(1, &A, &lent));
  ierr = MatSeqAIJCUSPARSEGetIJ(A, PETSC_FALSE, &i, &j);
  if (!ierr) ierr = MatSeqAIJCUSPARSEGetArray(A, &values);
  if (!ierr) ierr = AIJChangeDiagonal(A->rmap->n, i, j, a, entries, mode, values);
  if (!ierr) ierr = MatSeqAIJCUSPARSERestoreArray(A, &values);
  PetscCall(MatDerivedTakeBack(1, &lent));
  if (v) PetscCall(VecCUDARestoreArrayRead(v, &entries));
  PetscCall(VecDestroy(&own));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShift_SeqCUSPARSEDerived(Mat A, PetscScalar a)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(ChangeDiagonal(A, &a, NULL, ADD_VALUES, &done));
  if (!done) PetscCall(MatShift_AIJDerived(A, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDiagonalSet_SeqCUSPARSEDerived(Mat A, Vec d, InsertMode mode)
{
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  if (mode == ADD_VALUES || mode == INSERT_VALUES) PetscCall(ChangeDiagonal(A, NULL, d, mode, &done));
  if (!done) PetscCall((*MatDerivedOf(A)->base.diagonalset)(A, d, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MPIAIJ's function sets values on the host. If on all processes the diagonal is that of the diagonal block and has all entries, the blocks are shifted. */
static PetscErrorCode MatShift_MPICUSPARSEDerived(Mat A, PetscScalar a)
{
  PetscBool inblock = A->rmap->rstart == A->cmap->rstart && A->rmap->n == A->cmap->n ? PETSC_TRUE : PETSC_FALSE;
  Mat       Ad;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, &Ad, NULL, NULL));
  if (inblock) PetscCall(MatGetDiagonalMarkers_SeqAIJ(Ad, NULL, &inblock));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &inblock, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  if (!inblock) PetscCall(MatShift_AIJDerived(A, a));
  else if (Ad->rmap->n) PetscCall(MatShift(Ad, a)); /* AIJ's function preallocates a matrix without entries */
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJOperation MatDerivedSeqCUSPARSEOperations[] = {
  AIJ_OPERATION(bindtocpu, MatBindToCPU_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(scale, MatScale_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(diagonalscale, MatDiagonalScale_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(copy, MatCopy_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(duplicate, MatDuplicate_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(transpose, MatTranspose_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(shift, MatShift_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(diagonalset, MatDiagonalSet_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(zeroentries, MatZeroEntries_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(getdiagonal, MatGetDiagonal_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(getcolumnreductions, MatGetColumnReductions_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(eliminatezeros, MatEliminateZeros_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(productsetfromoptions, MatProductSetFromOptions_SeqAIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(fdcoloringsetup, MatFDColoringSetUp_CUSPARSEDerived, OVERRIDE_ALWAYS),
  {0, NULL, OVERRIDE_ALWAYS},
};

const AIJOperation MatDerivedMPICUSPARSEOperations[] = {
  AIJ_OPERATION(getvecs, MatCreateVecs_MPICUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(shift, MatShift_MPICUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(productsetfromoptions, MatProductSetFromOptions_MPIAIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(fdcoloringsetup, MatFDColoringSetUp_CUSPARSEDerived, OVERRIDE_ALWAYS),
  {0, NULL, OVERRIDE_ALWAYS},
};
#else
const AIJOperation MatDerivedSeqCUSPARSEOperations[] = {
  {0, NULL, OVERRIDE_ALWAYS}
};
const AIJOperation MatDerivedMPICUSPARSEOperations[] = {
  {0, NULL, OVERRIDE_ALWAYS}
};
#endif
