/*
  The parallel type: an MPIAIJ matrix whose diagonal and off-diagonal blocks are of the sequential type. MPIAIJ's own
  products call the blocks' products, and the vector of ghost values takes its type from the off-diagonal block.

  PETSc makes the blocks in many places: preallocation, the hash table of MatSetValues() without preallocation, COO,
  disassembly, submatrices. They all end in MatAssemblyEnd(), and that is where blocks become ours.
*/
#include "derivedimpl.h"

static PetscErrorCode (*DestroyMPIAIJ)(Mat) = NULL;

/* Converts the blocks that are not of our type yet; a block that collects values in a hash table must be left alone */
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
  /* before AIJ's function, which makes the ghost vector by the off-diagonal block's type; and after it, for blocks that it has made */
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

/* MPIAIJ passes MAT_FORM_EXPLICIT_TRANSPOSE to its blocks only, but callers ask the whole matrix whether it has MATOP_TRANSPOSE */
static PetscErrorCode MatSetOption_MPIAIJForm(Mat A, MatOption op, PetscBool flg)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;

  PetscFunctionBegin;
  if (op == MAT_FORM_EXPLICIT_TRANSPOSE) A->form_explicit_transpose = flg;
  else PetscCall((*f->base.setoption)(A, op, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest sum of |a| over a column, for blocks with CSR or without */
PetscErrorCode MatAIJFormNorm1_MPI(Mat A, PetscReal *norm)
{
  Mat             blocks[2];
  const PetscInt *garray;
  Vec             sums, ghostsums;
  VecScatter      scatter;
  IS              from;

  PetscFunctionBegin;
  PetscCall(MatAIJFormGetBlocks(A, &blocks[0], &blocks[1], &garray));
  PetscCall(VecCreateMPI(PetscObjectComm((PetscObject)A), A->cmap->n, A->cmap->N, &sums));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, blocks[1]->cmap->n, &ghostsums));
  for (int k = 0; k < 2; k++) {
    Vec          column = k ? ghostsums : sums;
    PetscReal   *part;
    PetscScalar *sum;

    PetscCall(PetscCalloc1(blocks[k]->cmap->n, &part));
    PetscCall(MatAIJFormAddSums(blocks[k], PETSC_FALSE, part));
    PetscCall(VecGetArrayWrite(column, &sum));
    for (PetscInt l = 0; l < blocks[k]->cmap->n; l++) sum[l] = part[l];
    PetscCall(VecRestoreArrayWrite(column, &sum));
    PetscCall(PetscFree(part));
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

/* MPIAIJ's 1-norm adds into the array of a new vector, which is zero only for host vectors; so we compute it ourselves */
static PetscErrorCode MatNorm_MPIAIJForm(Mat A, NormType type, PetscReal *norm)
{
  PetscFunctionBegin;
  if (type == NORM_1) PetscCall(MatAIJFormNorm1_MPI(A, norm));
  else PetscCall((*((Mat_AIJForm *)A->spptr)->base.norm)(A, type, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with vectors are MPIAIJ's; if the CSR is to be freed that is done first, and A then has other operations */
static PetscErrorCode MatMult_MPIAIJForm(Mat A, Vec x, Vec y)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;

  PetscFunctionBegin;
  PetscCall(MatAIJFormReleaseIfAsked(A));
  PetscCall((*(f->released ? A->ops : &f->base)->mult)(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultAdd_MPIAIJForm(Mat A, Vec x, Vec z, Vec y)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;

  PetscFunctionBegin;
  PetscCall(MatAIJFormReleaseIfAsked(A));
  PetscCall((*(f->released ? A->ops : &f->base)->multadd)(A, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Values that several processes send for one entry of A^T x are added by PETSc in the order of processes on the host, but by atomics on
  a device, where the last bits then vary. With two processes an entry gets a value from at most one other process.
*/
PetscErrorCode MatAIJFormAddsOnHost(Mat A, PetscBool *onhost)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;
  PetscMPIInt  size;

  PetscFunctionBegin;
  *onhost = PETSC_FALSE;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  if (f->cls->getrepeatable && size > 2) PetscCall((*f->cls->getrepeatable)(f->ctx, onhost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A^T x + z; z may be NULL, and y */
static PetscErrorCode MatMultTransposeSum_MPIAIJForm(Mat A, Vec x, Vec z, Vec y)
{
  Mat_AIJForm          *f = (Mat_AIJForm *)A->spptr;
  const struct _MatOps *ops;
  PetscBool             onhost, bound;

  PetscFunctionBegin;
  PetscCall(MatAIJFormReleaseIfAsked(A));
  ops = f->released ? A->ops : &f->base;
  PetscCall(MatAIJFormAddsOnHost(A, &onhost));
  PetscCall(VecBoundToCPU(y, &bound));
  if (onhost && !bound) PetscCall(VecBindToCPU(y, PETSC_TRUE));
  if (z) PetscCall((*ops->multtransposeadd)(A, x, z, y));
  else PetscCall((*ops->multtranspose)(A, x, y));
  if (onhost && !bound) PetscCall(VecBindToCPU(y, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_MPIAIJForm(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatMultTransposeSum_MPIAIJForm(A, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTransposeAdd_MPIAIJForm(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatMultTransposeSum_MPIAIJForm(A, x, z, y));
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
  if (cls->visit) {
    A->ops->mult    = MatMult_MPIAIJForm;
    A->ops->multadd = MatMultAdd_MPIAIJForm;
  }
  if (cls->visit || cls->getrepeatable) {
    A->ops->multtranspose    = MatMultTranspose_MPIAIJForm;
    A->ops->multtransposeadd = MatMultTransposeAdd_MPIAIJForm;
  }
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
  A->ops->mult              = f->base.mult;
  A->ops->multadd           = f->base.multadd;
  A->ops->multtranspose     = f->base.multtranspose;
  A->ops->multtransposeadd  = f->base.multtransposeadd;
  A->ops->norm              = f->base.norm;
  A->ops->setoption         = f->base.setoption;
  A->ops->view              = f->base.view;
  A->ops->bindtocpu         = f->base.bindtocpu;
  A->ops->getcurrentmemtype = f->base.getcurrentmemtype;
  PetscCall(MatAIJFormDecompose(A, f->cls, f->cls->mpiname, "mpi"));
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
