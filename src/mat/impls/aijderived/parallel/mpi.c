/*
  The parallel type: an MPIAIJ matrix whose diagonal and off-diagonal blocks are of the sequential type. Its products are in parallel/mult.c
  and parallel/matmult.c, what they are made with in parallel/local.c.

  PETSc makes the blocks in many places: preallocation, the hash table of MatSetValues() without preallocation, COO,
  disassembly, submatrices. They all end in MatAssemblyEnd(), and that is where blocks become ours.
*/
#include "../derivedimpl.h"
#include "sys/threads.h"

/* The destroy functions of AIJ and of aijcusparse: for a matrix from which PETSc has taken all that is composed, with our part and its copy of the operations */
static PetscErrorCode (*Destroy[2])(Mat) = {NULL, NULL};

/* Converts the blocks that are not of our type yet; a block that collects values in a hash table must be left alone */
PetscErrorCode MatDerivedConvertBlocks(Mat A)
{
  Mat_Derived *f = MatDerivedOf(A);
  Mat          blocks[2];
  PetscBool    ismpi;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &ismpi));
  if (!ismpi) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int k = 0; k < 2; k++) {
    const AIJKind *kind;
    PetscBool      same;

    if (!blocks[k] || blocks[k]->hash_active) continue;
    PetscCall(MatDerivedGetKind(blocks[k], &kind));
    if (kind != f->kind) {
      PetscBool isaij;

      PetscCall(PetscObjectTypeCompareAny((PetscObject)blocks[k], &isaij, MATSEQAIJ, f->cusparse ? MATSEQAIJCUSPARSE : "", ""));
      if (!isaij) PetscCall(MatConvert(blocks[k], MATSEQAIJ, MAT_INPLACE_MATRIX, &blocks[k]));
      PetscCall(MatDerivedInstall(blocks[k], f->kind));
    }
    PetscCall(PetscMemcmp(MatDerivedOf(blocks[k])->settings, f->settings, f->kind->size, &same));
    if (!same) {
      PetscCall(MatDerivedCopySettings(A, blocks[k]));
      PetscCall(MatDerivedReset(blocks[k]));
    }
    if (f->kind->usesdevice) PetscCall(MatBindToCPU(blocks[k], MatDerivedBoundToCPU(A)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAssemblyEnd_MPIAIJDerived(Mat A, MatAssemblyType type)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  /* before AIJ's function, which makes the ghost vector by the off-diagonal block's type; and after it, for blocks that it has made */
  PetscCall(MatDerivedConvertBlocks(A));
  PetscCall((*f->base.assemblyend)(A, type));
  PetscCall(MatDerivedConvertBlocks(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBindToCPU_MPIAIJDerived(Mat A, PetscBool flg)
{
  Mat whole = MatDerivedOf(A)->parallel.whole;

  PetscFunctionBegin;
  PetscCall(MatDerivedStayBound(A, flg));
  if (A->assembled) {
    Mat Ad, Ao;

    PetscCall(MatDerivedGetBlocks(A, &Ad, &Ao, NULL));
    PetscCall(MatBindToCPU(Ad, MatDerivedBoundToCPU(A)));
    PetscCall(MatBindToCPU(Ao, MatDerivedBoundToCPU(A)));
    if (whole) PetscCall(MatBindToCPU(whole, MatDerivedBoundToCPU(A)));
    PetscCall(AIJParallelResetOff(&MatDerivedOf(A)->parallel));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MPIAIJ passes MAT_FORM_EXPLICIT_TRANSPOSE to its blocks only, but callers ask the whole matrix whether it has MATOP_TRANSPOSE */
static PetscErrorCode MatSetOption_MPIAIJDerived(Mat A, MatOption op, PetscBool flg)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  if (op == MAT_FORM_EXPLICIT_TRANSPOSE) A->form_explicit_transpose = flg;
  else PetscCall((*f->base.setoption)(A, op, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MPIAIJ's 1-norm adds into the array of a new vector, which is zero only for host vectors; so we compute it ourselves */
static PetscErrorCode MatNorm_MPIAIJDerived(Mat A, NormType type, PetscReal *norm)
{
  PetscFunctionBegin;
  if (type == NORM_1) PetscCall(MatDerivedNorm1_MPI(A, norm));
  else PetscCall((*MatDerivedOf(A)->base.norm)(A, type, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_MPIAIJDerived(Mat A)
{
  const Mat_Derived *f           = MatDerivedOf(A);
  PetscErrorCode (*destroy)(Mat) = f ? f->base.destroy : Destroy[A->ops->productsetfromoptions == MatProductSetFromOptions_MPIAIJDerived];

  PetscFunctionBegin;
  if (f) PetscCall(MatDerivedRemoveMPI(A));
  PetscCall((*destroy)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAXPY_MPIAIJDerived(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedAXPY(Y, a, X, str));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const AIJOperation Operations[] = {
  AIJ_OPERATION(destroy, MatDestroy_MPIAIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(assemblyend, MatAssemblyEnd_MPIAIJDerived, OVERRIDE_ALWAYS),
  AIJ_PARALLEL_PRODUCTS,
  AIJ_OPERATION(axpy, MatAXPY_MPIAIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(norm, MatNorm_MPIAIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(setoption, MatSetOption_MPIAIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(view, MatView_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(bindtocpu, MatBindToCPU_MPIAIJDerived, OVERRIDE_ON_DEVICES),
  {0, NULL, OVERRIDE_ALWAYS},
};

PetscErrorCode MatDerivedInstallMPI(Mat A, const AIJKind *kind)
{
  const Mat_Derived *f;

  PetscFunctionBegin;
  PetscCall(PetscCSRCThreadsMeet(PetscObjectComm((PetscObject)A)));
  PetscCall(MatDerivedInstallCommon(A, kind, kind->mpiname, Operations));
  f                    = MatDerivedOf(A);
  Destroy[f->cusparse] = f->base.destroy;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatFormGetMemory_C", MatFormGetMemory_MPIAIJDerived));
  PetscCall(MatDerivedComposeProducts(A, kind->mpiname, "mpi", MatProductSetFromOptions_MPIAIJDerived_MPIDense, MatProductSetFromOptions_MPIDense_MPIAIJDerived));
  if (A->assembled) PetscCall(MatDerivedConvertBlocks(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes our part off, also off the blocks: A is left a MATMPIAIJ in all but the name, which the caller sets */
PetscErrorCode MatDerivedRemoveMPI(Mat A)
{
  const AIJKind *kind = MatDerivedOf(A)->kind;

  PetscFunctionBegin;
  PetscCall(MatDerivedDecompose(A, kind, kind->mpiname, "mpi"));
  PetscCall(MatDerivedResetMPI(A));
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
