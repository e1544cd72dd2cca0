/*
  SLEPc's cyclic solver keeps its vectors on the device if the matrix is aijcusparse by its exact name, for which it asks in its set-up. So it is
  registered anew, with a set-up for which our matrices lend their names.
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

static PetscErrorCode SVDSetUp_Cyclic_AIJDerived(SVD svd)
{
  const Mat mats[] = {svd->A, svd->AT, svd->B, svd->BT};

  PetscFunctionBegin;
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
