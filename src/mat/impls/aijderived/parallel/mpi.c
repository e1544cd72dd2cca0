/*
  The parallel type: an MPIAIJ matrix whose diagonal and off-diagonal blocks are of the sequential type. Its products are in parallel/mult.c
  and parallel/matmult.c, the data for them in parallel/local.c.

  PETSc creates the blocks in many places: preallocation, the hash table of MatSetValues() without preallocation, COO, disassembly,
  submatrices. All of these end with MatAssemblyEnd(), where the blocks are converted to the sequential type.
*/
#include "parallel.h"
#include "../cusparse/cusparse.h"

/* The destroy functions of AIJ and of aijcusparse: used if PETSc has removed all composed objects of a matrix, and with them its Mat_Derived */
static PetscErrorCode (*Destroy[2])(Mat) = {NULL, NULL};

/* Converts the blocks that are not of the sequential type yet, except blocks that collect values in a hash table */
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
    PetscBool same;

    if (!blocks[k] || blocks[k]->hash_active) continue;
    if (MatDerivedKindOf(blocks[k]) != f->kind) {
      PetscBool isaij;

      PetscCall(PetscObjectTypeCompareAny((PetscObject)blocks[k], &isaij, MATSEQAIJ, f->cusparse ? MATSEQAIJCUSPARSE : "", ""));
      if (!isaij) PetscCall(MatConvert(blocks[k], MATSEQAIJ, MAT_INPLACE_MATRIX, &blocks[k]));
      PetscCall((*f->install)(blocks[k], f->kind));
    } else if (MatDerivedDestroyReplaced(blocks[k])) { /* ours by -mat_seqaij_type, before PETSc made it an aijcusparse matrix */
      PetscCall(MatDerivedReinstall(blocks[k]));
      PetscCall(PetscObjectChangeTypeName((PetscObject)blocks[k], f->kind->seqname));
    }
    PetscCall(PetscMemcmp(MatDerivedOf(blocks[k])->settings, f->settings, f->kind->size, &same));
    if (!same) {
      PetscCall(MatDerivedCopySettings(A, blocks[k]));
      PetscCall(MatDerivedReset(blocks[k]));
    }
    if (f->kind->usesdevice) PetscCall(MatBindToCPU(blocks[k], MatDerivedBoundToCPU(A)));
    if (f->cusparse) PetscCall(MatDerivedCorrectBlockSizes(A, blocks[k], k ? 1 : A->cmap->bs));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAssemblyEnd_MPIAIJDerived(Mat A, MatAssemblyType type)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  /* before AIJ's function, which creates the ghost vector by the type of the off-diagonal block, and after it, for blocks that it has created */
  PetscCall(MatDerivedConvertBlocks(A));
  PetscCall((*f->base.assemblyend)(A, type));
  PetscCall(MatDerivedConvertBlocks(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What products need is made again by the next one, on all processes: among the rest another exchange */
PetscErrorCode MatBindToCPU_MPIAIJDerived(Mat A, PetscBool flg)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedStayBound(A, flg));
  PetscCall(MatDerivedResetMPI(A));
  if (A->assembled) {
    Mat Ad, Ao;

    PetscCall(MatDerivedGetBlocks(A, &Ad, &Ao, NULL));
    PetscCall(MatBindToCPU(Ad, MatDerivedBoundToCPU(A)));
    PetscCall(MatBindToCPU(Ao, MatDerivedBoundToCPU(A)));
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

/* The 1-norm is computed here because MPIAIJ's function adds to the array of a new vector, which is zero only for host vectors */
static PetscErrorCode MatNorm_MPIAIJDerived(Mat A, NormType type, PetscReal *norm)
{
  PetscFunctionBegin;
  if (type == NORM_1) PetscCall(MatDerivedNorm1_MPI(A, norm));
  else PetscCall((*MatDerivedOf(A)->base.norm)(A, type, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MPIAIJ's function changes the blocks only: with the state of A, all processes store together what changed */
static PetscErrorCode MatEliminateZeros_MPIAIJDerived(Mat A, PetscBool keep)
{
  PetscFunctionBegin;
  PetscCall((*MatDerivedOf(A)->base.eliminatezeros)(A, keep));
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_MPIAIJDerived(Mat A)
{
  const Mat_Derived *f           = MatDerivedOf(A);
  PetscErrorCode (*destroy)(Mat) = f ? f->base.destroy : Destroy[A->ops->productsetfromoptions == MatProductSetFromOptions_MPIAIJDerived];

  PetscFunctionBegin;
  if (f) PetscCall(MatDerivedRemove(A));
  PetscCall((*destroy)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAXPY_MPIAIJDerived(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedAXPY(Y, a, X, str));
  if (MatDerivedOf(Y)->cusparse) PetscCall(MatDerivedConvertBlocks(Y)); /* Y may have taken over the insides of an aijcusparse matrix */
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJOperation MatDerivedMPIOperations[] = {
  AIJ_OPERATION(destroy, MatDestroy_MPIAIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(assemblyend, MatAssemblyEnd_MPIAIJDerived, OVERRIDE_ALWAYS),
  AIJ_PARALLEL_PRODUCTS,
  AIJ_OPERATION(axpy, MatAXPY_MPIAIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(norm, MatNorm_MPIAIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(eliminatezeros, MatEliminateZeros_MPIAIJDerived, OVERRIDE_IF_AIJ_HAS_IT),
  AIJ_OPERATION(setoption, MatSetOption_MPIAIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(view, MatView_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(bindtocpu, MatBindToCPU_MPIAIJDerived, OVERRIDE_ON_DEVICES),
  {0, NULL, OVERRIDE_ALWAYS},
};

PetscErrorCode MatDerivedKeepDestroyMPI(Mat A)
{
  const Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  Destroy[f->cusparse] = f->base.destroy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedSettingsChangedMPI(Mat A)
{
  Mat blocks[2];

  PetscFunctionBegin;
  PetscCall(MatDerivedResetMPI(A));
  if (!A->assembled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int k = 0; k < 2; k++) {
    if (!MatDerivedKindOf(blocks[k])) continue;
    PetscCall(MatDerivedCopySettings(A, blocks[k]));
    PetscCall(MatDerivedReset(blocks[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
