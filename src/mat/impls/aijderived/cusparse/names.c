/*
  Parts of PETSc that do on the device what they find to be aijcusparse by its exact name, and do the rest on the host. They leave no place for
  another type; so the functions that create them are registered anew here, and put in functions of ours that know our types as well. Objects that
  were created before the library was loaded stay PETSc's.
*/
#include "../derivedimpl.h"

#if defined(PETSCCSRC_HAVE_CUDA)
  #include <petsc/private/dmimpl.h>
  #include <petsc/private/pcimpl.h>
  #include <petscdmda.h>

/* Exported by PETSc, but declared in none of its installed headers */
PETSC_EXTERN PetscErrorCode DMCreate_DA(DM);
PETSC_EXTERN PetscErrorCode PCCreate_PBJacobi(PC);
PETSC_EXTERN PetscErrorCode PCCreate_VPBJacobi(PC);

/*
  Interpolations of a DMDA with several fields: a MATMAIJ of the interpolation of one field, which multiplies on the host, but from aijcusparse
  MatCreateMAIJ() makes an aijcusparse matrix of all fields
*/
static PetscErrorCode (*CreateInterpolationDA)(DM, DM, Mat *, Vec *);

static PetscErrorCode DMCreateInterpolation_DA_AIJDerived(DM coarse, DM fine, Mat *P, Vec *scale)
{
  const AIJKind *kind;
  Mat            field;

  PetscFunctionBegin;
  PetscCall((*CreateInterpolationDA)(coarse, fine, P, scale));
  PetscCall(MatMAIJGetAIJ(*P, &field)); /* returns the matrix itself if it is not a MATMAIJ */
  kind = MatDerivedKindOf(field);
  if (field != *P && kind && MatDerivedOnDevice(field)) PetscCall(MatConvert(*P, kind->name, MAT_INPLACE_MATRIX, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMCreate_DA_AIJDerived(DM da)
{
  PetscFunctionBegin;
  PetscCall(DMCreate_DA(da));
  CreateInterpolationDA        = da->ops->createinterpolation;
  da->ops->createinterpolation = DMCreateInterpolation_DA_AIJDerived;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCPBJACOBI and PCVPBJACOBI choose their functions in their set-up, for which the matrix lends its name. Those for a device do not take vectors on the
  host, which our matrices do.
*/
typedef PetscErrorCode PCFunction(PC, Vec, Vec);

typedef struct {
  PetscErrorCode (*setup)(PC);
  PCFunction *host[2], *device[2], *ours[2]; /* apply and applytranspose */
} PointBlocks;

static PCFunction PCApply_PBJacobi_AIJDerived, PCApplyTranspose_PBJacobi_AIJDerived, PCApply_VPBJacobi_AIJDerived, PCApplyTranspose_VPBJacobi_AIJDerived;

static PointBlocks Fixed = {
  .ours = {PCApply_PBJacobi_AIJDerived, PCApplyTranspose_PBJacobi_AIJDerived}
};
static PointBlocks Variable = {
  .ours = {PCApply_VPBJacobi_AIJDerived, PCApplyTranspose_VPBJacobi_AIJDerived}
};

static PetscErrorCode PointBlocksApply(const PointBlocks *p, int transpose, PC pc, Vec x, Vec y)
{
  Vec            own[2] = {NULL, NULL}, w[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = MatDerivedVecToDevice(x, PETSC_TRUE, &own[0], &w[0]);
  if (!ierr) ierr = MatDerivedVecToDevice(y, PETSC_FALSE, &own[1], &w[1]);
  if (!ierr) ierr = (*p->device[transpose])(pc, w[0], w[1]);
  if (!ierr) ierr = MatDerivedVecFromDevice(y, w[1]);
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&own[k]));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_PBJacobi_AIJDerived(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PointBlocksApply(&Fixed, 0, pc, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_PBJacobi_AIJDerived(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PointBlocksApply(&Fixed, 1, pc, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_VPBJacobi_AIJDerived(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PointBlocksApply(&Variable, 0, pc, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_VPBJacobi_AIJDerived(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PointBlocksApply(&Variable, 1, pc, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointBlocksSetUp(PointBlocks *p, PC pc)
{
  PetscFunctionBegin;
  if (pc->ops->apply == p->ours[0]) { /* the matrix may not be on the device any more */
    pc->ops->apply          = p->host[0];
    pc->ops->applytranspose = p->host[1];
  }
  if (!MatDerivedKindOf(pc->pmat) || !MatDerivedOf(pc->pmat)->cusparse || !MatDerivedOnDevice(pc->pmat)) {
    PetscCall((*p->setup)(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  MatDerivedCallLent(pc->pmat, (*p->setup)(pc));
  p->device[0]            = pc->ops->apply;
  p->device[1]            = pc->ops->applytranspose;
  pc->ops->apply          = p->ours[0];
  pc->ops->applytranspose = p->ours[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_PBJacobi_AIJDerived(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PointBlocksSetUp(&Fixed, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_VPBJacobi_AIJDerived(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PointBlocksSetUp(&Variable, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointBlocksCreate(PointBlocks *p, PetscErrorCode (*setup)(PC), PC pc)
{
  PetscFunctionBegin;
  p->setup       = pc->ops->setup;
  p->host[0]     = pc->ops->apply;
  p->host[1]     = pc->ops->applytranspose;
  pc->ops->setup = setup;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCCreate_PBJacobi_AIJDerived(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate_PBJacobi(pc));
  PetscCall(PointBlocksCreate(&Fixed, PCSetUp_PBJacobi_AIJDerived, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCCreate_VPBJacobi_AIJDerived(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate_VPBJacobi(pc));
  PetscCall(PointBlocksCreate(&Variable, PCSetUp_VPBJacobi_AIJDerived, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode MatDerivedRegisterNames(void)
{
  PetscFunctionBegin;
#if defined(PETSCCSRC_HAVE_CUDA)
  PetscCall(DMRegister(DMDA, DMCreate_DA_AIJDerived));
  PetscCall(PCRegister(PCPBJACOBI, PCCreate_PBJacobi_AIJDerived));
  PetscCall(PCRegister(PCVPBJACOBI, PCCreate_VPBJacobi_AIJDerived));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
