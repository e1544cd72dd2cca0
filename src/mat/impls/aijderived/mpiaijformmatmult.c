/*
  Products of the parallel type with parallel dense matrices.

  A X is PETSc's own: it exchanges rows of X and calls the blocks' products. A^T X has no counterpart there on our form:
  the off-diagonal block gives ghost rows of the result, which are added to their owners' rows.
*/
#include "aijformimpl.h"
#include <petsc/private/sfimpl.h>

PetscErrorCode MatAIJFormResetGhost(Mat A)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&f->ghost));
  PetscCall(PetscSFDestroy(&f->ghostsf));
  PetscCall(PetscSFDestroy(&f->ghostsfbase));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ghost rows for K columns of the type of Bl, and the PetscSF that adds them into a matrix of leading dimension lda */
static PetscErrorCode MatAIJFormGetGhost(Mat A, Mat Ao, Mat Bl, PetscInt lda)
{
  Mat_AIJForm *f = (Mat_AIJForm *)A->spptr;
  PetscSF      sf;
  PetscBool    fits = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatGetMultPetscSF(A, &sf));
  if (f->ghost) {
    PetscCall(PetscObjectTypeCompare((PetscObject)f->ghost, ((PetscObject)Bl)->type_name, &fits));
    if (f->ghostsfbase != sf || f->ghostlda != lda || f->ghost->rmap->n != Ao->cmap->n || f->ghost->cmap->n != Bl->cmap->n) fits = PETSC_FALSE;
  }
  /* the PetscSF is made collectively */
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  if (fits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJFormResetGhost(A));
  PetscCall(MatCreate(PETSC_COMM_SELF, &f->ghost));
  PetscCall(MatSetSizes(f->ghost, Ao->cmap->n, Bl->cmap->n, Ao->cmap->n, Bl->cmap->n));
  PetscCall(MatSetType(f->ghost, ((PetscObject)Bl)->type_name));
  PetscCall(MatSetUp(f->ghost));
  PetscCall(PetscSFCreateStridedSF(sf, Bl->cmap->n, lda, PETSC_DECIDE, &f->ghostsf));
  PetscCall(PetscObjectReference((PetscObject)sf));
  f->ghostsfbase = sf;
  f->ghostlda    = lda;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_MPIAIJForm_MPIDense_AtB(Mat C)
{
  Mat                A, B, Ad, Ao, Bl, Cl;
  Mat_AIJForm       *f;
  PetscInt           lda;
  const PetscScalar *ghost;
  PetscScalar       *own;
  PetscMemType       gm, om;

  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  A = C->product->A;
  B = C->product->B;
  f = (Mat_AIJForm *)A->spptr;
  PetscCall(MatMPIAIJGetSeqAIJ(A, &Ad, &Ao, NULL));
  PetscCall(MatDenseGetLocalMatrix(B, &Bl));
  PetscCall(MatDenseGetLocalMatrix(C, &Cl));
  PetscCall(MatDenseGetLDA(Cl, &lda));
  PetscCall(MatAIJFormApplyDense(Ad, AIJFORM_T, Bl, Cl));
  if (C->cmap->N) {
    PetscCall(MatAIJFormGetGhost(A, Ao, Bl, lda));
    PetscCall(MatAIJFormApplyDense(Ao, AIJFORM_T, Bl, f->ghost));
    PetscCall(MatDenseGetArrayReadAndMemType(f->ghost, &ghost, &gm));
    PetscCall(MatDenseGetArrayAndMemType(Cl, &own, &om));
    PetscCall(PetscSFReduceWithMemTypeBegin(f->ghostsf, f->ghostsf->vscat.unit, gm, ghost, om, own, MPIU_SUM));
    PetscCall(PetscSFReduceEnd(f->ghostsf, f->ghostsf->vscat.unit, ghost, own, MPIU_SUM));
    PetscCall(MatDenseRestoreArrayAndMemType(Cl, &own));
    PetscCall(MatDenseRestoreArrayReadAndMemType(f->ghost, &ghost));
  }
  PetscCall(MatSetOption(C, MAT_NO_OFF_PROC_ENTRIES, PETSC_TRUE));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_MPIAIJForm_MPIDense_AtB(Mat C)
{
  Mat       A, B;
  PetscBool isdense;

  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  A = C->product->A;
  B = C->product->B;
  PetscCall(MatSetSizes(C, A->cmap->n, B->cmap->n, A->cmap->N, B->cmap->N));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)C, &isdense, MATMPIDENSE, MATMPIDENSECUDA, ""));
  if (!isdense) PetscCall(MatSetType(C, ((PetscObject)B)->type_name));
  PetscCall(MatSetUp(C));
  C->ops->productnumeric = MatProductNumeric_MPIAIJForm_MPIDense_AtB;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PETSc does for MPIAIJ with this dense type: asked of the dense matrix by the name MatProduct would use */
static PetscErrorCode MatProductSetFromOptions_AsMPIAIJ(Mat C, Mat dense, const char format[])
{
  PetscErrorCode (*f)(Mat) = NULL;
  char name[256];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), format, ((PetscObject)dense)->type_name));
  PetscCall(PetscObjectQueryFunction((PetscObject)dense, name, &f));
  if (f) PetscCall((*f)(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatProductSetFromOptions_MPIAIJForm_MPIDense(Mat C)
{
  Mat A, B;

  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  A = C->product->A;
  B = C->product->B;
  if (C->product->type == MATPRODUCT_AtB) {
    PetscCheck(A->rmap->n == B->rmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "A^T B: A has %" PetscInt_FMT " rows on this process, B has %" PetscInt_FMT, A->rmap->n, B->rmap->n);
    C->ops->productsymbolic = MatProductSymbolic_MPIAIJForm_MPIDense_AtB;
  } else PetscCall(MatProductSetFromOptions_AsMPIAIJ(C, B, "MatProductSetFromOptions_mpiaij_%s_C"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatProductSetFromOptions_MPIDense_MPIAIJForm(Mat C)
{
  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  PetscCall(MatProductSetFromOptions_AsMPIAIJ(C, C->product->A, "MatProductSetFromOptions_%s_mpiaij_C"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
