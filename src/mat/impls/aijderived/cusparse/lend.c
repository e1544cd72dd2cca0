/*
  The names of aijcusparse that matrices lend. PETSc's functions for aijcusparse, and a few set-ups, compare the type of a matrix with aijcusparse's by its
  exact name. A matrix that bears our name has theirs for such a call: seqaijcusparse, or mpiaijcusparse if it is parallel. All of these do so in 3.26.1,
  and no release takes types derived from aijcusparse instead: the first that does ends a line.

    lent to                          who asks in PETSc 3.26.1                                             where
    access to the CSR                MatSeqAIJCUSPARSEGetIJ(), ...GetArray(), Read, Write, Restore        mat/impls/aij/seq/cupm/aijcupm.hpp
    scale, diagonalscale, axpy,      MatSeqAIJCUSPARSEInvalidateTranspose(); MatAXPY_MPIAIJ() makes a     mat/impls/aij/seq/seqcusparse/aijcusparse.cu,
      coordinates                    matrix by the name                                                   mat/impls/aij/mpi/mpiaij.c
    duplicate                        MatDuplicate_SeqAIJ(), MatDuplicate_MPIAIJ() make a matrix by A's    mat/impls/aij/seq/aij.c, mpi/mpiaij.c
                                     name: with aijcusparse's it has a CSR on the device
    products left to it (later.c)    MatSeqAIJCUSPARSECopyToGPU(), which drops a transpose                mat/impls/aij/seq/seqcusparse/aijcusparse.cu
    products of sparse matrices      MatProductSetFromOptions, Symbolic, Numeric_SeqAIJCUSPARSE();        the same;
                                     MatProductSymbolic_MPIAIJBACKEND()                                   mat/impls/aij/mpi/mpiaij.c
    factors: symbolic, numeric       the access above; MatSolveTranspose_SeqAIJCUSPARSE_LU()              mat/impls/aij/seq/seqcusparse/aijcusparse.cu
    set-up of pbjacobi, vpbjacobi    PCSetUp_PBJacobi(), PCSetUp_VPBJacobi()                              ksp/pc/impls/pbjacobi, vpbjacobi
    set-up of SVDCYCLIC              SVDSetUp_Cyclic() (src/svd/impls/cyclic)                             SLEPc: svd/impls/cyclic/cyclic.c

  MatCreateMAIJ() asks too (mat/impls/maij/maij.c), for interpolations of a DMDA with several fields: these are converted afterwards. Three of these parts
  leave no place for another type: so the functions that create them are registered anew here, and put in functions of ours that know our types as well.
  Objects that were created before the library was loaded stay PETSc's.
*/
#include "cusparse.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include <petsc/private/dmimpl.h>
  #include <petsc/private/pcimpl.h>
  #include <petscdmda.h>
#endif

static PetscErrorCode Lend(Mat A, AIJLent *lent)
{
  const Mat_Derived *f = A ? MatDerivedOf(A) : NULL;
  PetscBool          isseq;
  char              *name;

  PetscFunctionBegin;
  lent->mat  = A;
  lent->name = NULL;
  if (!f || !f->cusparse) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  PetscCall(PetscStrallocpy(isseq ? MATSEQAIJCUSPARSE : MATMPIAIJCUSPARSE, &name));
  lent->name                  = ((PetscObject)A)->type_name;
  ((PetscObject)A)->type_name = name;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedLend(PetscInt n, const Mat mats[], AIJLent lent[])
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscInt       k    = 0;

  PetscFunctionBegin;
  while (k < n && !ierr) {
    ierr = Lend(mats[k], &lent[k]);
    k++;
  }
  if (ierr) PetscCall(MatDerivedTakeBack(k, lent));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In the reverse order of lending, since one matrix may be in the list twice */
PetscErrorCode MatDerivedTakeBack(PetscInt n, AIJLent lent[])
{
  PetscFunctionBegin;
  while (n-- > 0) {
    if (!lent[n].name) continue;
    PetscCall(PetscFree(((PetscObject)lent[n].mat)->type_name));
    ((PetscObject)lent[n].mat)->type_name = lent[n].name;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCCallLent(PetscInt n, const Mat mats[], PetscErrorCode (*call)(void *), void *ctx)
{
  AIJLent        lent[4];
  Mat            ours[4];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCheck(n <= (PetscInt)PETSC_STATIC_ARRAY_LENGTH(ours), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " matrices", n);
  for (PetscInt k = 0; k < n; k++) ours[k] = mats[k] && MatDerivedOf(mats[k]) && MatDerivedOnDevice(mats[k]) ? mats[k] : NULL;
  PetscCall(MatDerivedLend(n, ours, lent));
  ierr = (*call)(ctx);
  PetscCall(MatDerivedTakeBack(n, lent));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
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
  if (!ierr) ierr = MatDerivedCopyEntries(w[1], y);
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
