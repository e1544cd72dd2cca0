/*
  SLEPc's cyclic solver keeps its vectors on the device if the matrix is aijcusparse by its exact name, for which it asks in its set-up. So it is
  registered anew, with a set-up for which our matrices lend their names. And it makes its explicit matrix of A and a transpose that SLEPc has formed,
  which SLEPc does not do for our matrices (MatHasOperation() denies it): so the transpose is formed here.
*/
#include "mat/impls/aijderived/derived.h"
#include "cyclic.h"
#include <slepc/private/svdimpl.h>

/* Exported by SLEPc, but declared in none of its installed headers */
SLEPC_EXTERN PetscErrorCode SVDCreate_Cyclic(SVD);

static PetscErrorCode (*SetUpCyclic)(SVD);

static PetscErrorCode CallSetUp(void *svd)
{
  PetscFunctionBegin;
  PetscCall((*SetUpCyclic)((SVD)svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FormTransposes(SVD svd)
{
  PetscBool explicitmatrix, isaij;
  Mat      *T = svd->A == svd->OP ? &svd->AT : &svd->A;

  PetscFunctionBegin;
  PetscCall(SVDCyclicGetExplicitMatrix(svd, &explicitmatrix));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)svd->OP, &isaij, MATSEQAIJ, MATMPIAIJ, ""));
  if (!explicitmatrix || svd->expltrans || svd->impltrans || !isaij) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDestroy(T));
  PetscCall(MatHermitianTranspose(svd->OP, MAT_INITIAL_MATRIX, T));
  if (svd->isgeneralized) {
    PetscCall(MatDestroy(&svd->BT));
    PetscCall(MatHermitianTranspose(svd->OPb, MAT_INITIAL_MATRIX, &svd->BT));
  }
  svd->expltrans = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SVDSetUp_Cyclic_AIJDerived(SVD svd)
{
  Mat mats[4];

  PetscFunctionBegin;
  PetscCall(FormTransposes(svd));
  mats[0] = svd->A;
  mats[1] = svd->AT;
  mats[2] = svd->B;
  mats[3] = svd->BT;
  PetscCall(PetscCSRCCallLent(PETSC_STATIC_ARRAY_LENGTH(mats), mats, CallSetUp, svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SVDCreate_Cyclic_AIJDerived(SVD svd)
{
  PetscFunctionBegin;
  PetscCall(SVDCreate_Cyclic(svd));
  SetUpCyclic     = svd->ops->setup;
  svd->ops->setup = SVDSetUp_Cyclic_AIJDerived;
  PetscFunctionReturn(PETSC_SUCCESS);
}
