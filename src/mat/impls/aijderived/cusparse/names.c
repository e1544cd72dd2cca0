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
typedef struct {
  PetscErrorCode (*setup)(PC);
  PetscErrorCode (*host[2])(PC, Vec, Vec), (*device[2])(PC, Vec, Vec); /* apply and applytranspose */
} PointBlocks;

static PointBlocks FixedSize, VariableSize;

/* PETSc's functions for the type of pc */
static PetscErrorCode PointBlocksOf(PC pc, PointBlocks **p)
{
  PetscBool fixed;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCPBJACOBI, &fixed));
  *p = fixed ? &FixedSize : &VariableSize;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ApplyOnDevice(PC pc, int transpose, Vec x, Vec y)
{
  Vec            own[2] = {NULL, NULL}, w[2];
  PointBlocks   *p      = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PointBlocksOf(pc, &p));
  ierr = MatDerivedVecToDevice(x, PETSC_TRUE, &own[0], &w[0]);
  if (!ierr) ierr = MatDerivedVecToDevice(y, PETSC_FALSE, &own[1], &w[1]);
  if (!ierr) ierr = (*p->device[transpose])(pc, w[0], w[1]);
  if (!ierr) ierr = MatDerivedVecFromDevice(y, w[1]);
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&own[k]));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_PointBlocks(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(ApplyOnDevice(pc, 0, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_PointBlocks(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(ApplyOnDevice(pc, 1, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_PointBlocks(PC pc)
{
  PointBlocks *p = NULL;

  PetscFunctionBegin;
  PetscCall(PointBlocksOf(pc, &p));
  if (pc->ops->apply == PCApply_PointBlocks) { /* the matrix may not be on the device any more */
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
  pc->ops->apply          = PCApply_PointBlocks;
  pc->ops->applytranspose = PCApplyTranspose_PointBlocks;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointBlocksCreate(PointBlocks *p, PetscErrorCode (*create)(PC), PC pc)
{
  PetscFunctionBegin;
  PetscCall((*create)(pc));
  p->setup       = pc->ops->setup;
  p->host[0]     = pc->ops->apply;
  p->host[1]     = pc->ops->applytranspose;
  pc->ops->setup = PCSetUp_PointBlocks;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCCreate_PBJacobi_AIJDerived(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PointBlocksCreate(&FixedSize, PCCreate_PBJacobi, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCCreate_VPBJacobi_AIJDerived(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PointBlocksCreate(&VariableSize, PCCreate_VPBJacobi, pc));
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
