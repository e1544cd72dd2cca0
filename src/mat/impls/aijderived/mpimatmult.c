/*
  Products of the parallel type with parallel dense matrices, from the forms of the two blocks: for A X, ghost rows of X come
  from their owners while the diagonal block's product is made; for A^T X, the off-diagonal block gives ghost rows of the
  result, which are added to their owners' rows. What PETSc does for MPIAIJ would read the CSR of the off-diagonal block.
*/
#include "derivedimpl.h"
#include <petsc/private/sfimpl.h>

PetscErrorCode MatDerivedResetGhost(Mat A)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&f->ghost[k].rows));
    PetscCall(MatDestroy(&f->ghost[k].product));
    PetscCall(PetscSFDestroy(&f->ghost[k].sf));
    PetscCall(PetscSFDestroy(&f->ghost[k].base));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateLocalDense(PetscInt m, PetscInt n, MatType type, Mat *D)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, D));
  PetscCall(MatSetSizes(*D, m, n, m, n));
  PetscCall(MatSetType(*D, type));
  PetscCall(MatSetUp(*D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Makes room for the ghost rows of a product with the dense matrix whose local part is Bl, and the PetscSF between them and a local
  matrix of leading dimension lda. Both are kept, since SLEPc repeats products of one shape. transposed is 1 for A^T X.
*/
static PetscErrorCode MatDerivedGetGhost(Mat A, int transposed, Mat Ao, Mat Bl, PetscInt lda)
{
  Mat_Derived *f = MatDerivedOf(A);
  MatType      type;
  PetscSF      sf;
  PetscBool    fits = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatGetType(Bl, &type));
  PetscCall(MatGetMultPetscSF(A, &sf));
  if (f->ghost[transposed].rows) {
    Mat rows = f->ghost[transposed].rows;

    PetscCall(PetscObjectTypeCompare((PetscObject)rows, type, &fits));
    if (f->ghost[transposed].base != sf || f->ghost[transposed].lda != lda || rows->rmap->n != Ao->cmap->n || rows->cmap->n != Bl->cmap->n) fits = PETSC_FALSE;
  }
  /* the PetscSF is made collectively */
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  if (fits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDestroy(&f->ghost[transposed].rows));
  PetscCall(MatDestroy(&f->ghost[transposed].product));
  PetscCall(PetscSFDestroy(&f->ghost[transposed].sf));
  PetscCall(PetscSFDestroy(&f->ghost[transposed].base));
  PetscCall(CreateLocalDense(Ao->cmap->n, Bl->cmap->n, type, &f->ghost[transposed].rows));
  if (!transposed) PetscCall(CreateLocalDense(Ao->rmap->n, Bl->cmap->n, type, &f->ghost[transposed].product));
  PetscCall(PetscSFCreateStridedSF(sf, Bl->cmap->n, lda, PETSC_DECIDE, &f->ghost[transposed].sf));
  PetscCall(PetscObjectReference((PetscObject)sf));
  f->ghost[transposed].base = sf;
  f->ghost[transposed].lda  = lda;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FinishProduct(Mat C)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(C, MAT_NO_OFF_PROC_ENTRIES, PETSC_TRUE));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedProductMPI_AB(Mat A, Mat B, Mat C)
{
  Mat_Derived       *f = MatDerivedOf(A);
  Mat                Ad, Ao, Bl, Cl;
  PetscSF            sf;
  PetscInt           lda;
  const PetscScalar *own;
  PetscScalar       *ghost;
  PetscMemType       om, gm;

  PetscFunctionBegin;
  PetscCall(MatDerivedReleaseIfAsked(A));
  PetscCall(MatDerivedGetBlocks(A, &Ad, &Ao, NULL));
  PetscCall(MatDenseGetLocalMatrix(B, &Bl));
  PetscCall(MatDenseGetLocalMatrix(C, &Cl));
  PetscCall(MatDenseGetLDA(Bl, &lda));
  if (C->cmap->N) {
    PetscCall(MatDerivedGetGhost(A, 0, Ao, Bl, lda));
    sf = f->ghost[0].sf;
    PetscCall(MatDenseGetArrayReadAndMemType(Bl, &own, &om));
    PetscCall(MatDenseGetArrayWriteAndMemType(f->ghost[0].rows, &ghost, &gm));
    PetscCall(PetscSFBcastWithMemTypeBegin(sf, sf->vscat.unit, om, own, gm, ghost, MPI_REPLACE));
    PetscCall(MatDerivedApplyDense(Ad, AIJ_N, Bl, Cl));
    PetscCall(PetscSFBcastEnd(sf, sf->vscat.unit, own, ghost, MPI_REPLACE));
    PetscCall(MatDenseRestoreArrayWriteAndMemType(f->ghost[0].rows, &ghost));
    PetscCall(MatDenseRestoreArrayReadAndMemType(Bl, &own));
    if (Ao->cmap->n) {
      PetscCall(MatDerivedApplyDense(Ao, AIJ_N, f->ghost[0].rows, f->ghost[0].product));
      PetscCall(MatAXPY(Cl, 1.0, f->ghost[0].product, SAME_NONZERO_PATTERN));
    }
  }
  PetscCall(FinishProduct(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedProductMPI_AtB(Mat A, Mat B, Mat C)
{
  Mat_Derived       *f = MatDerivedOf(A);
  Mat                Ad, Ao, Bl, Cl;
  PetscSF            sf;
  PetscInt           lda;
  const PetscScalar *ghost;
  PetscScalar       *own;
  PetscMemType       gm, om = PETSC_MEMTYPE_HOST;
  PetscBool          onhost;

  PetscFunctionBegin;
  PetscCall(MatDerivedReleaseIfAsked(A));
  PetscCall(MatDerivedGetBlocks(A, &Ad, &Ao, NULL));
  PetscCall(MatDenseGetLocalMatrix(B, &Bl));
  PetscCall(MatDenseGetLocalMatrix(C, &Cl));
  PetscCall(MatDenseGetLDA(Cl, &lda));
  PetscCall(MatDerivedApplyDense(Ad, AIJ_T, Bl, Cl));
  if (C->cmap->N) {
    PetscCall(MatDerivedGetGhost(A, 1, Ao, Bl, lda));
    sf = f->ghost[1].sf;
    PetscCall(MatDerivedApplyDense(Ao, AIJ_T, Bl, f->ghost[1].rows));
    PetscCall(MatDenseGetArrayReadAndMemType(f->ghost[1].rows, &ghost, &gm));
    PetscCall(MatDerivedAddsOnHost(A, &onhost));
    if (onhost) PetscCall(MatDenseGetArray(Cl, &own));
    else PetscCall(MatDenseGetArrayAndMemType(Cl, &own, &om));
    PetscCall(PetscSFReduceWithMemTypeBegin(sf, sf->vscat.unit, gm, ghost, om, own, MPIU_SUM));
    PetscCall(PetscSFReduceEnd(sf, sf->vscat.unit, ghost, own, MPIU_SUM));
    if (onhost) PetscCall(MatDenseRestoreArray(Cl, &own));
    else PetscCall(MatDenseRestoreArrayAndMemType(Cl, &own));
    PetscCall(MatDenseRestoreArrayReadAndMemType(f->ghost[1].rows, &ghost));
  }
  PetscCall(FinishProduct(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_MPIAIJDerived_MPIDense(Mat C)
{
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  PetscCall(MatDerivedProductElsewhere(C, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  if (C->product->type == MATPRODUCT_AB) PetscCall(MatDerivedProductMPI_AB(C->product->A, C->product->B, C));
  else PetscCall(MatDerivedProductMPI_AtB(C->product->A, C->product->B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_MPIAIJDerived_MPIDense(Mat C)
{
  Mat             A, B;
  const PetscBool transposed = C->product->type == MATPRODUCT_AtB ? PETSC_TRUE : PETSC_FALSE;
  PetscLayout     rows, inner;
  PetscBool       isdense;

  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  A     = C->product->A;
  B     = C->product->B;
  rows  = transposed ? A->cmap : A->rmap;
  inner = transposed ? A->rmap : A->cmap;
  PetscCheck(inner->n == B->rmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "%s: A has %" PetscInt_FMT " %s on this process, B has %" PetscInt_FMT " rows", MatProductTypes[C->product->type], inner->n, transposed ? "rows" : "columns", B->rmap->n);
  PetscCall(MatSetSizes(C, rows->n, B->cmap->n, rows->N, B->cmap->N));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)C, &isdense, MATMPIDENSE, MATMPIDENSECUDA, ""));
  if (!isdense) PetscCall(MatSetType(C, ((PetscObject)B)->type_name));
  PetscCall(MatSetUp(C));
  PetscCall(MatDerivedSetNumeric(C, MatProductNumeric_MPIAIJDerived_MPIDense));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets up C as PETSc does for MPIAIJ and this dense type, by the function that MatProduct finds on the dense matrix */
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

PetscErrorCode MatProductSetFromOptions_MPIAIJDerived_MPIDense(Mat C)
{
  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  switch (C->product->type) {
  case MATPRODUCT_AB:
  case MATPRODUCT_AtB:
    C->ops->productsymbolic = MatProductSymbolic_MPIAIJDerived_MPIDense;
    break;
  default: /* without a CSR, nothing that MPIAIJ does works */
    if (!MatDerivedOf(C->product->A)->released) PetscCall(MatProductSetFromOptions_AsMPIAIJ(C, C->product->B, "MatProductSetFromOptions_mpiaij_%s_C"));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatProductSetFromOptions_MPIDense_MPIAIJDerived(Mat C)
{
  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  PetscCall(MatProductSetFromOptions_AsMPIAIJ(C, C->product->A, "MatProductSetFromOptions_%s_mpiaij_C"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
