/*
  The parallel type without CSR (seq.c): two blocks of the sequential type without CSR, the ghost columns, and the PetscSF for ghost values.
  All other data of PETSc's MPIAIJ are freed: a map of columns, the stash of entries for other processes, rows from MatGetRow().
*/
#include "../derivedimpl.h"

static PetscErrorCode MatDerivedDecodeMPI(Mat A, Mat *B)
{
  const Mat_MPICSRFree *r         = (const Mat_MPICSRFree *)A->data;
  Mat                   blocks[2] = {NULL, NULL};
  PetscErrorCode        ierr;

  PetscFunctionBegin;
  ierr = MatDerivedDecodeSeq(r->blocks[0], &blocks[0]);
  if (!ierr) ierr = MatDerivedDecodeSeq(r->blocks[1], &blocks[1]);
  PetscCall(MatJoinBlocks(A, ierr, blocks, r->garray, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetInfo_MPIAIJCSRFree(Mat A, MatInfoType type, MatInfo *info)
{
  const Mat_MPICSRFree *r       = (const Mat_MPICSRFree *)A->data;
  PetscLogDouble        here[2] = {0, 0};

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    MatInfo block;

    PetscCall(MatGetInfo(r->blocks[k], MAT_LOCAL, &block));
    here[0] += block.nz_used;
    here[1] += block.memory;
  }
  if (type != MAT_LOCAL) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, here, 2, MPI_DOUBLE, type == MAT_GLOBAL_MAX ? MPI_MAX : MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCall(PetscMemzero(info, sizeof(*info)));
  info->block_size   = 1.0;
  info->nz_allocated = info->nz_used = here[0];
  info->memory                       = here[1];
  info->assemblies                   = A->num_ass;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetDiagonal_MPIAIJCSRFree(Mat A, Vec v)
{
  PetscFunctionBegin;
  PetscCheck(A->rmap->N == A->cmap->N, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "A parallel matrix of %" PetscInt_FMT " x %" PetscInt_FMT " has its diagonal in more than its diagonal blocks", A->rmap->N, A->cmap->N);
  PetscCheck(A->rmap->rstart == A->cmap->rstart && A->rmap->rend == A->cmap->rend, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Rows and columns are divided differently");
  PetscCall(MatGetDiagonal(((Mat_MPICSRFree *)A->data)->blocks[0], v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatNorm_MPIAIJCSRFree(Mat A, NormType type, PetscReal *norm)
{
  const Mat_MPICSRFree *r    = (const Mat_MPICSRFree *)A->data;
  PetscReal             here = 0.0;

  PetscFunctionBegin;
  if (type == NORM_1) {
    PetscCall(MatDerivedNorm1_MPI(A, norm));
  } else if (type == NORM_INFINITY) {
    PetscReal *sums[2]; /* of both blocks, in one array */

    PetscCall(MatDerivedSumBlocks(A, PETSC_TRUE, sums));
    for (PetscInt i = 0; i < A->rmap->n; i++) here = PetscMax(here, sums[0][i]);
    PetscCall(PetscFree(sums[0]));
    PetscCallMPI(MPIU_Allreduce(&here, norm, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)A)));
  } else {
    for (int k = 0; k < 2; k++) {
      PetscReal block;

      PetscCall(MatNorm(r->blocks[k], type, &block));
      here += block * block;
    }
    PetscCallMPI(MPIU_Allreduce(&here, norm, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)A)));
    *norm = PetscSqrtReal(*norm);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Scales both blocks, or, if one cannot be stored again on some process, none on any */
static PetscErrorCode ScaleBlocks(Mat A, PetscScalar a, Vec left, const Vec right[2])
{
  const Mat_MPICSRFree *r    = (const Mat_MPICSRFree *)A->data;
  AIJEncoded            e[2] = {0};
  PetscErrorCode        ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  for (int k = 0; k < 2 && !ierr; k++) ierr = MatDerivedEncodeScaled(r->blocks[k], a, left, right[k], &e[k]);
  ierr = PetscCSRCAgree(PetscObjectComm((PetscObject)A), ierr, "Storing scaled nonzeros");
  for (int k = 0; k < 2; k++) {
    if (ierr) PetscCall(AIJStoredDestroy(&e[k].stored));
    else {
      PetscCall(MatDerivedReplaceEncoded(r->blocks[k], &e[k]));
      PetscCall(PetscObjectStateIncrease((PetscObject)r->blocks[k]));
    }
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatScale_MPIAIJCSRFree(Mat A, PetscScalar a)
{
  PetscFunctionBegin;
  PetscCall(ScaleBlocks(A, a, NULL, (const Vec[2]){NULL, NULL}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDiagonalScale_MPIAIJCSRFree(Mat A, Vec left, Vec right)
{
  Vec ghost = NULL;

  PetscFunctionBegin;
  if (right) PetscCall(MatDerivedGetGhosts(A, right, &ghost));
  PetscCall(ScaleBlocks(A, 1, left, (const Vec[2]){right, ghost}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetGhosts_MPIAIJCSRFree(Mat A, PetscInt *nghosts, const PetscInt *ghosts[])
{
  const Mat_MPICSRFree *r = (const Mat_MPICSRFree *)A->data;

  PetscFunctionBegin;
  if (nghosts) *nghosts = r->blocks[1]->cmap->n;
  if (ghosts) *ghosts = r->garray;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetMultPetscSF_MPIAIJCSRFree(Mat A, PetscSF *sf)
{
  PetscFunctionBegin;
  *sf = ((Mat_MPICSRFree *)A->data)->sf;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyReleased(Mat_MPICSRFree **r)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&(*r)->blocks[k]));
  PetscCall(PetscSFDestroy(&(*r)->sf));
  PetscCall(PetscFree((*r)->garray));
  PetscCall(PetscFree(*r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_MPIAIJCSRFree(Mat A)
{
  Mat_MPICSRFree *r = (Mat_MPICSRFree *)A->data;

  PetscFunctionBegin;
  PetscCall(MatDerivedResetMPI(A));
  PetscCall(DestroyReleased(&r));
  A->data = NULL;
  PetscCall(MatDerivedRemoveReleased(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const AIJOperation Operations[] = {
  AIJ_OPERATION(destroy, MatDestroy_MPIAIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_PARALLEL_PRODUCTS,
  AIJ_OPERATION(getinfo, MatGetInfo_MPIAIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(getdiagonal, MatGetDiagonal_MPIAIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(norm, MatNorm_MPIAIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(scale, MatScale_MPIAIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(diagonalscale, MatDiagonalScale_MPIAIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(getghosts, MatGetGhosts_MPIAIJCSRFree, OVERRIDE_ALWAYS),
  AIJ_OPERATION(bindtocpu, MatBindToCPU_MPIAIJDerived, OVERRIDE_ON_DEVICES),
  {0, NULL, OVERRIDE_ALWAYS},
};

static const AIJComposed Composed[] = {
  {"MatFormGetMemory_C",                         (PetscErrorCodeFn *)MatFormGetMemory_MPIAIJDerived                 },
  {"MatGetMultPetscSF_C",                        (PetscErrorCodeFn *)MatGetMultPetscSF_MPIAIJCSRFree                },
  {"MatProductSetFromOptions_%s_mpidense_C",     (PetscErrorCodeFn *)MatProductSetFromOptions_MPIAIJDerived_MPIDense},
  {"MatProductSetFromOptions_%s_mpidensecuda_C", (PetscErrorCodeFn *)MatProductSetFromOptions_MPIAIJDerived_MPIDense},
  {NULL,                                         NULL                                                               },
};

/* Stores the nonzeros of the blocks, and allocates what the parallel type without CSR needs: all that may fail on one process only */
static PetscErrorCode Prepare(const Mat blocks[2], const PetscInt garray[], Mat_MPICSRFree **r)
{
  const PetscInt n = blocks[1]->cmap->n;

  PetscFunctionBegin;
  PetscCall(PetscNew(r));
  PetscCall(PetscMalloc1(n, &(*r)->garray));
  PetscCall(PetscArraycpy((*r)->garray, garray, n));
  for (int k = 0; k < 2; k++) PetscCall(MatDerivedPrepareRelease(blocks[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedReleaseMPI(Mat A)
{
  Mat_Derived    *f    = MatDerivedOf(A);
  const AIJKind  *kind = f->kind;
  const PetscInt *garray;
  Mat_MPICSRFree *r = NULL;
  Mat             blocks[2];
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], &garray));
  ierr = PetscCSRCAgree(PetscObjectComm((PetscObject)A), Prepare(blocks, garray, &r), "Storing the nonzeros");
  if (ierr && r) PetscCall(DestroyReleased(&r));
  PetscCall(ierr);
  PetscCall(MatGetMultPetscSF(A, &r->sf));
  PetscCall(PetscObjectReference((PetscObject)r->sf));
  for (int k = 0; k < 2; k++) {
    r->blocks[k] = blocks[k];
    PetscCall(PetscObjectReference((PetscObject)blocks[k]));
    PetscCall(MatDerivedReleaseSeq(blocks[k]));
  }

  PetscCall(MatDerivedResetMPI(A));
  PetscCall(MatDerivedComposeAll(A, f, PETSC_FALSE));
  MatDerivedCallLent(A, (*f->base.destroy)(A));
  A->data = r;
  PetscCall(MatDerivedInstallReleased(A, kind->releasedmpiname, Operations, Composed, MatDerivedDecodeMPI));
  PetscCall(PetscInfo(A, "The CSR is freed: what is stored by %s is the matrix\n", kind->name));
  PetscFunctionReturn(PETSC_SUCCESS);
}
