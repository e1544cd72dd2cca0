/*
  The parallel type: an MPIAIJ matrix whose diagonal and off-diagonal blocks are of the sequential type. MPIAIJ's own
  products call the blocks' products, and the vector of ghost values takes its type from the off-diagonal block.

  PETSc makes the blocks in many places: preallocation, the hash table of MatSetValues() without preallocation, COO,
  disassembly, submatrices. They all end in MatAssemblyEnd(), and that is where blocks become ours.
*/
#include "derivedimpl.h"

static PetscErrorCode (*DestroyMPIAIJ)(Mat) = NULL;

/* Converts the blocks that are not of our type yet; a block that collects values in a hash table must be left alone */
static PetscErrorCode MatDerivedConvertBlocks(Mat A)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;
  Mat          blocks[2];

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int k = 0; k < 2; k++) {
    const AIJKind *kind;

    if (!blocks[k] || blocks[k]->hash_active) continue;
    PetscCall(MatDerivedGetKind(blocks[k], &kind));
    if (kind != f->kind) {
      PetscBool isaij;

      PetscCall(PetscObjectTypeCompare((PetscObject)blocks[k], MATSEQAIJ, &isaij));
      if (!isaij) PetscCall(MatConvert(blocks[k], MATSEQAIJ, MAT_INPLACE_MATRIX, &blocks[k]));
      PetscCall(MatDerivedInstall(blocks[k], f->kind));
      PetscCall(MatDerivedCopySettings(A, blocks[k]));
    }
    if (f->kind->usesdevice) PetscCall(MatBindToCPU(blocks[k], MatDerivedBoundToCPU(A)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAssemblyEnd_MPIAIJDerived(Mat A, MatAssemblyType type)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

  PetscFunctionBegin;
  /* before AIJ's function, which makes the ghost vector by the off-diagonal block's type; and after it, for blocks that it has made */
  PetscCall(MatDerivedConvertBlocks(A));
  PetscCall((*f->base.assemblyend)(A, type));
  PetscCall(MatDerivedConvertBlocks(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBindToCPU_MPIAIJDerived(Mat A, PetscBool flg)
{
  PetscBool usable;

  PetscFunctionBegin;
  PetscCall(PetscCSRCDeviceUsable(&usable, NULL));
  if (!flg && !usable) MatDerivedSetBoundToCPU(A, PETSC_TRUE);
  if (A->assembled) {
    Mat Ad, Ao;

    PetscCall(MatMPIAIJGetSeqAIJ(A, &Ad, &Ao, NULL));
    PetscCall(MatBindToCPU(Ad, MatDerivedBoundToCPU(A)));
    PetscCall(MatBindToCPU(Ao, MatDerivedBoundToCPU(A)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetCurrentMemType_MPIAIJDerived(Mat A, PetscMemType *mtype)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

  PetscFunctionBegin;
  *mtype = f->kind->usesdevice && !MatDerivedBoundToCPU(A) ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MPIAIJ passes MAT_FORM_EXPLICIT_TRANSPOSE to its blocks only, but callers ask the whole matrix whether it has MATOP_TRANSPOSE */
static PetscErrorCode MatSetOption_MPIAIJDerived(Mat A, MatOption op, PetscBool flg)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

  PetscFunctionBegin;
  if (op == MAT_FORM_EXPLICIT_TRANSPOSE) A->form_explicit_transpose = flg;
  else PetscCall((*f->base.setoption)(A, op, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest sum of |a| over a column, for blocks with CSR or without */
PetscErrorCode MatDerivedNorm1_MPI(Mat A, PetscReal *norm)
{
  Mat             blocks[2];
  const PetscInt *garray;
  Vec             sums, ghostsums;
  VecScatter      scatter;
  IS              from;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetBlocks(A, &blocks[0], &blocks[1], &garray));
  PetscCall(VecCreateMPI(PetscObjectComm((PetscObject)A), A->cmap->n, A->cmap->N, &sums));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, blocks[1]->cmap->n, &ghostsums));
  for (int k = 0; k < 2; k++) {
    Vec          column = k ? ghostsums : sums;
    PetscReal   *part;
    PetscScalar *sum;

    PetscCall(PetscCalloc1(blocks[k]->cmap->n, &part));
    PetscCall(MatDerivedAddSums(blocks[k], PETSC_FALSE, part));
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
static PetscErrorCode MatNorm_MPIAIJDerived(Mat A, NormType type, PetscReal *norm)
{
  PetscFunctionBegin;
  if (type == NORM_1) PetscCall(MatDerivedNorm1_MPI(A, norm));
  else PetscCall((*((Mat_Derived *)A->spptr)->base.norm)(A, type, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with vectors are MPIAIJ's; if the CSR is to be freed that is done first, and A then has other operations */
static PetscErrorCode MatMult_MPIAIJDerived(Mat A, Vec x, Vec y)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

  PetscFunctionBegin;
  PetscCall(MatDerivedReleaseIfAsked(A));
  PetscCall((*(f->released ? A->ops : &f->base)->mult)(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultAdd_MPIAIJDerived(Mat A, Vec x, Vec z, Vec y)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

  PetscFunctionBegin;
  PetscCall(MatDerivedReleaseIfAsked(A));
  PetscCall((*(f->released ? A->ops : &f->base)->multadd)(A, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Values that several processes send for one entry of A^T x are added by PETSc in the order of processes on the host, but by atomics on
  a device, where the last bits then vary. With two processes an entry gets a value from at most one other process.
*/
PetscErrorCode MatDerivedAddsOnHost(Mat A, PetscBool *onhost)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;
  PetscMPIInt  size;

  PetscFunctionBegin;
  *onhost = PETSC_FALSE;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  if (f->kind->getrepeatable && size > 2) PetscCall((*f->kind->getrepeatable)(f->ctx, onhost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A^T x + z; z may be NULL, and y */
static PetscErrorCode MatMultTransposeSum_MPIAIJDerived(Mat A, Vec x, Vec z, Vec y)
{
  Mat_Derived          *f = (Mat_Derived *)A->spptr;
  const struct _MatOps *ops;
  PetscBool             onhost, bound;

  PetscFunctionBegin;
  PetscCall(MatDerivedReleaseIfAsked(A));
  ops = f->released ? A->ops : &f->base;
  PetscCall(MatDerivedAddsOnHost(A, &onhost));
  PetscCall(VecBoundToCPU(y, &bound));
  if (onhost && !bound) PetscCall(VecBindToCPU(y, PETSC_TRUE));
  if (z) PetscCall((*ops->multtransposeadd)(A, x, z, y));
  else PetscCall((*ops->multtranspose)(A, x, y));
  if (onhost && !bound) PetscCall(VecBindToCPU(y, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_MPIAIJDerived(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatMultTransposeSum_MPIAIJDerived(A, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTransposeAdd_MPIAIJDerived(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatMultTransposeSum_MPIAIJDerived(A, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_MPIAIJDerived(Mat A)
{
  PetscErrorCode (*destroy)(Mat) = A->spptr ? ((Mat_Derived *)A->spptr)->base.destroy : DestroyMPIAIJ;

  PetscFunctionBegin;
  if (A->spptr) PetscCall(MatDerivedRemoveMPI(A));
  PetscCall((*destroy)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedInstallMPI(Mat A, const AIJKind *kind)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedInstallCommon(A, kind, kind->mpiname));
  if (!DestroyMPIAIJ) DestroyMPIAIJ = ((Mat_Derived *)A->spptr)->base.destroy;
  A->ops->destroy     = MatDestroy_MPIAIJDerived;
  A->ops->assemblyend = MatAssemblyEnd_MPIAIJDerived;
  A->ops->norm        = MatNorm_MPIAIJDerived;
  A->ops->setoption   = MatSetOption_MPIAIJDerived;
  A->ops->view        = MatView_MPIAIJDerived;
  if (kind->visit) {
    A->ops->mult    = MatMult_MPIAIJDerived;
    A->ops->multadd = MatMultAdd_MPIAIJDerived;
  }
  if (kind->visit || kind->getrepeatable) {
    A->ops->multtranspose    = MatMultTranspose_MPIAIJDerived;
    A->ops->multtransposeadd = MatMultTransposeAdd_MPIAIJDerived;
  }
  if (kind->usesdevice) {
    A->ops->bindtocpu         = MatBindToCPU_MPIAIJDerived;
    A->ops->getcurrentmemtype = MatGetCurrentMemType_MPIAIJDerived;
  }
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatFormGetMemory_C", MatFormGetMemory_MPIAIJDerived));
  PetscCall(MatDerivedComposeProducts(A, kind->mpiname, "mpi", MatProductSetFromOptions_MPIAIJDerived_MPIDense, MatProductSetFromOptions_MPIDense_MPIAIJDerived));
  if (A->assembled) PetscCall(MatDerivedConvertBlocks(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes our part off, also off the blocks: A is left a MATMPIAIJ in all but the name, which the caller sets */
PetscErrorCode MatDerivedRemoveMPI(Mat A)
{
  Mat_Derived *f = (Mat_Derived *)A->spptr;

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
  PetscCall(MatDerivedDecompose(A, f->kind, f->kind->mpiname, "mpi"));
  PetscCall(MatDerivedResetGhost(A));
  PetscCall(MatDerivedRemoveCommon(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPIAIJDerived(Mat A, const AIJKind *kind)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_MPIAIJ(A));
  PetscCall(MatDerivedInstallMPI(A, kind));
  PetscFunctionReturn(PETSC_SUCCESS);
}
