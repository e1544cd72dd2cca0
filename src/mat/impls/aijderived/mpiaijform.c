/*
  The parallel type: an MPIAIJ matrix whose diagonal and off-diagonal blocks are of the sequential type. MPIAIJ's own
  products call the blocks' products, and the vector of ghost values takes its type from the off-diagonal block.

  PETSc makes the blocks in many places: preallocation, the hash table of MatSetValues() without preallocation, COO,
  disassembly, submatrices. They all end in MatAssemblyEnd(), and that is where blocks become ours.
*/
#include "aijformimpl.h"

static PetscErrorCode (*DestroyMPIAIJ)(Mat) = NULL;

/* Converts the blocks that are not ours yet; a block that collects values in a hash table must be left alone */
static PetscErrorCode MatAIJFormConvertBlocks(Mat A)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;
  Mat          blocks[2];

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int k = 0; k < 2; k++) {
    const AIJFormClass *cls;

    if (!blocks[k] || blocks[k]->hash_active) continue;
    PetscCall(MatAIJFormGetClass(blocks[k], &cls));
    if (cls != f->cls) {
      PetscBool isaij;

      PetscCall(PetscObjectTypeCompare((PetscObject)blocks[k], MATSEQAIJ, &isaij));
      if (!isaij) PetscCall(MatConvert(blocks[k], MATSEQAIJ, MAT_INPLACE_MATRIX, &blocks[k]));
      PetscCall(MatAIJFormInstall(blocks[k], f->cls));
      PetscCall(MatAIJFormCopySettings(A, blocks[k]));
    }
    if (f->cls->usesdevice) PetscCall(MatBindToCPU(blocks[k], AIJFormBoundToCPU(A)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAssemblyEnd_MPIAIJForm(Mat A, MatAssemblyType type)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;

  PetscFunctionBegin;
  /* before: the ghost vector is made here, of the off-diagonal block's type. After: blocks that were made here. */
  PetscCall(MatAIJFormConvertBlocks(A));
  PetscCall((*f->base.assemblyend)(A, type));
  PetscCall(MatAIJFormConvertBlocks(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBindToCPU_MPIAIJForm(Mat A, PetscBool flg)
{
  PetscBool usable;

  PetscFunctionBegin;
  PetscCall(AIJFormDeviceUsable(&usable, NULL));
  if (!flg && !usable) AIJFormSetBoundToCPU(A, PETSC_TRUE);
  if (A->assembled) {
    Mat Ad, Ao;

    PetscCall(MatMPIAIJGetSeqAIJ(A, &Ad, &Ao, NULL));
    PetscCall(MatBindToCPU(Ad, AIJFormBoundToCPU(A)));
    PetscCall(MatBindToCPU(Ao, AIJFormBoundToCPU(A)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetCurrentMemType_MPIAIJForm(Mat A, PetscMemType *mtype)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;

  PetscFunctionBegin;
  *mtype = f->cls->usesdevice && !AIJFormBoundToCPU(A) ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MPIAIJ hands this option to its blocks only, but it is the whole matrix that is asked for its operations */
static PetscErrorCode MatSetOption_MPIAIJForm(Mat A, MatOption op, PetscBool flg)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;

  PetscFunctionBegin;
  if (op == MAT_FORM_EXPLICIT_TRANSPOSE) A->form_explicit_transpose = flg;
  else PetscCall((*f->base.setoption)(A, op, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MPIAIJ's 1-norm adds into the array of a new vector, which only host vectors hand out as zeros; ours counts on its own zeros */
static PetscErrorCode MatNorm_MPIAIJForm(Mat A, NormType type, PetscReal *norm)
{
  Mat_AIJForm    *f = (Mat_AIJForm *)A->spptr;
  Mat             blocks[2];
  const PetscInt *garray;
  Vec             sums, ghostsums;
  VecScatter      scatter;
  IS              from;

  PetscFunctionBegin;
  if (type != NORM_1) {
    PetscCall((*f->base.norm)(A, type, norm));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], &garray));
  PetscCall(VecCreateMPI(PetscObjectComm((PetscObject)A), A->cmap->n, A->cmap->N, &sums));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, blocks[1]->cmap->n, &ghostsums));
  for (int k = 0; k < 2; k++) {
    Vec             column = k ? ghostsums : sums;
    const PetscInt *i, *j;
    PetscScalar    *a, *sum;
    PetscMemType    mtype;

    PetscCall(MatSeqAIJGetCSRAndMemType(blocks[k], &i, &j, &a, &mtype));
    PetscCall(VecSet(column, 0.0));
    PetscCall(VecGetArray(column, &sum));
    if (blocks[k]->rmap->n) {
      for (PetscInt l = 0; l < i[blocks[k]->rmap->n]; l++) sum[j[l]] += PetscAbsScalar(a[l]);
    }
    PetscCall(VecRestoreArray(column, &sum));
  }
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, blocks[1]->cmap->n, garray, PETSC_USE_POINTER, &from));
  PetscCall(VecScatterCreate(sums, from, ghostsums, NULL, &scatter));
  PetscCall(VecScatterBegin(scatter, ghostsums, sums, ADD_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterEnd(scatter, ghostsums, sums, ADD_VALUES, SCATTER_REVERSE));
  PetscCall(VecNorm(sums, NORM_INFINITY, norm));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(ISDestroy(&from));
  PetscCall(VecDestroy(&sums));
  PetscCall(VecDestroy(&ghostsums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatFormGetMemory_MPIAIJForm(Mat A, PetscLogDouble *bytes, PetscMemType *mtype)
{
  Mat            blocks[2];
  PetscLogDouble part, local = 0.0;

  PetscFunctionBegin;
  PetscCheck(A->assembled, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "Matrix of type %s must be assembled first", ((PetscObject)A)->type_name);
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatFormGetMemory(blocks[k], &part, mtype));
    local += part;
  }
  PetscCallMPI(MPIU_Allreduce(&local, bytes, 1, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_MPIAIJForm(Mat A, PetscViewer viewer)
{
  Mat_AIJForm      *f = (Mat_AIJForm *)A->spptr;
  PetscBool         isascii;
  PetscViewerFormat format;
  MatInfo           info;
  PetscLogDouble    bytes;
  PetscMemType      mtype;

  PetscFunctionBegin;
  PetscCall((*f->base.view)(A, viewer));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  if (!isascii || !A->assembled || A->structure_only) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (format != PETSC_VIEWER_ASCII_INFO && format != PETSC_VIEWER_ASCII_INFO_DETAIL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(MatFormGetMemory(A, &bytes, &mtype));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s form of both blocks on all processes: %.2f bytes per nonzero\n", f->cls->name, info.nz_used > 0 ? bytes / info.nz_used : 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_MPIAIJForm(Mat A)
{
  PetscErrorCode (*destroy)(Mat) = A->spptr ? ((Mat_AIJForm *)A->spptr)->base.destroy : DestroyMPIAIJ;

  PetscFunctionBegin;
  if (A->spptr) PetscCall(MatAIJFormRemoveMPI(A));
  PetscCall((*destroy)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJFormInstallMPI(Mat A, const AIJFormClass *cls)
{
  PetscFunctionBegin;
  PetscCall(MatAIJFormInstallCommon(A, cls, cls->mpiname));
  if (!DestroyMPIAIJ) DestroyMPIAIJ = ((Mat_AIJForm *)A->spptr)->base.destroy;
  A->ops->destroy     = MatDestroy_MPIAIJForm;
  A->ops->assemblyend = MatAssemblyEnd_MPIAIJForm;
  A->ops->norm        = MatNorm_MPIAIJForm;
  A->ops->setoption   = MatSetOption_MPIAIJForm;
  A->ops->view        = MatView_MPIAIJForm;
  if (cls->usesdevice) {
    A->ops->bindtocpu         = MatBindToCPU_MPIAIJForm;
    A->ops->getcurrentmemtype = MatGetCurrentMemType_MPIAIJForm;
  }
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatFormGetMemory_C", MatFormGetMemory_MPIAIJForm));
  PetscCall(MatAIJFormComposeProducts(A, cls->mpiname, "mpi", MatProductSetFromOptions_MPIAIJForm_MPIDense, MatProductSetFromOptions_MPIDense_MPIAIJForm));
  if (A->assembled) PetscCall(MatAIJFormConvertBlocks(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes our part off, also off the blocks: A is left a MATMPIAIJ in all but the name, which the caller sets */
PetscErrorCode MatAIJFormRemoveMPI(Mat A)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;

  PetscFunctionBegin;
  A->ops->destroy           = f->base.destroy;
  A->ops->assemblyend       = f->base.assemblyend;
  A->ops->norm              = f->base.norm;
  A->ops->setoption         = f->base.setoption;
  A->ops->view              = f->base.view;
  A->ops->bindtocpu         = f->base.bindtocpu;
  A->ops->getcurrentmemtype = f->base.getcurrentmemtype;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatFormGetMemory_C", NULL));
  PetscCall(MatAIJFormComposeProducts(A, f->cls->mpiname, "mpi", NULL, NULL));
  PetscCall(MatAIJFormResetGhost(A));
  PetscCall(MatAIJFormRemoveCommon(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPIAIJForm(Mat A, const AIJFormClass *cls)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_MPIAIJ(A));
  PetscCall(MatAIJFormInstallMPI(A, cls));
  PetscFunctionReturn(PETSC_SUCCESS);
}
