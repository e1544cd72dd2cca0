/* Products of the sequential type with vectors: y = op(A) x + z from the stored nonzeros, for vectors in host or device memory */
#include "seq.h"

static PetscErrorCode MatApplyHost_SeqAIJDerived(Mat A, AIJOp op, Vec x, Vec z, Vec y)
{
  Mat_Derived       *f = MatDerivedOf(A);
  const PetscScalar *xa, *za = NULL;
  PetscScalar       *ya;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &xa));
  if (z == y) {
    PetscCall(VecGetArray(y, &ya));
    PetscCall((*f->cache.stored.format->apply)(f->cache.stored.data, op, xa, ya, ya));
    PetscCall(VecRestoreArray(y, &ya));
  } else {
    if (z) PetscCall(VecGetArrayRead(z, &za));
    PetscCall(VecGetArrayWrite(y, &ya));
    PetscCall((*f->cache.stored.format->apply)(f->cache.stored.data, op, xa, za, ya));
    PetscCall(VecRestoreArrayWrite(y, &ya));
    if (z) PetscCall(VecRestoreArrayRead(z, &za));
  }
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
static PetscErrorCode MatApplyDevice_SeqAIJDerived(Mat A, AIJOp op, Vec x, Vec z, Vec y)
{
  Mat_Derived       *f  = MatDerivedOf(A);
  const PetscInt     nx = op == AIJ_N ? f->cache.n : f->cache.m, ny = op == AIJ_N ? f->cache.m : f->cache.n;
  const PetscScalar *xa, *za = NULL, *dx, *dz = NULL;
  PetscScalar       *ya, *dy;
  PetscMemType       xm, ym, zm = PETSC_MEMTYPE_CUDA;

  PetscFunctionBegin;
  PetscCall(VecGetArrayReadAndMemType(x, &xa, &xm));
  if (z && z != y) PetscCall(VecGetArrayReadAndMemType(z, &za, &zm));
  if (z == y) PetscCall(VecGetArrayAndMemType(y, &ya, &ym));
  else PetscCall(VecGetArrayWriteAndMemType(y, &ya, &ym));

  dx = xa;
  if (PetscMemTypeHost(xm)) {
    PetscScalar *stage;

    PetscCall(MatDerivedGetStage(A, 0, (size_t)nx, &stage));
    PetscCall(PetscCSRCDeviceCopy(stage, PETSC_MEMTYPE_CUDA, xa, xm, nx));
    dx = stage;
  }
  dy = ya;
  if (PetscMemTypeHost(ym)) PetscCall(MatDerivedGetStage(A, 1, (size_t)ny, &dy));
  if (z == y) {
    if (PetscMemTypeHost(ym)) PetscCall(PetscCSRCDeviceCopy(dy, PETSC_MEMTYPE_CUDA, ya, ym, ny));
    dz = dy;
  } else if (z) {
    dz = za;
    if (PetscMemTypeHost(zm)) { /* z is copied into the scratch for y and added from there */
      PetscCall(PetscCSRCDeviceCopy(dy, PETSC_MEMTYPE_CUDA, za, zm, ny));
      dz = dy;
    }
  }
  PetscCall(PetscLogGpuTimeBegin());
  PetscCall((*f->cache.stored.format->apply)(f->cache.stored.data, op, dx, dz, dy));
  PetscCall(PetscLogGpuTimeEnd());
  if (PetscMemTypeHost(ym)) PetscCall(PetscCSRCDeviceCopy(ya, ym, dy, PETSC_MEMTYPE_CUDA, ny));
  /* the copy from a host array must be finished before its owner may change it */
  if (PetscMemTypeHost(xm) || PetscMemTypeHost(ym) || PetscMemTypeHost(zm)) PetscCall(PetscCSRCDeviceWait());

  if (z == y) PetscCall(VecRestoreArrayAndMemType(y, &ya));
  else PetscCall(VecRestoreArrayWriteAndMemType(y, &ya));
  if (z && z != y) PetscCall(VecRestoreArrayReadAndMemType(z, &za));
  PetscCall(VecRestoreArrayReadAndMemType(x, &xa));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* y = op(A) x + z; z may be NULL (nothing is added) or y */
static PetscErrorCode MatApply_SeqAIJDerived(Mat A, AIJOp op, Vec x, Vec z, Vec y)
{
  Mat_Derived   *f = MatDerivedOf(A);
  PetscLogDouble flops;
  PetscBool      done = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatDerivedReleaseIfAsked(A));
  PetscCall(MatDerivedLeave(A, op, x, z, y, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDerivedUpdate(A));
  PetscCall(MatDerivedCountVector(A));
  if (!f->cache.nnz) {
    PetscCall(MatDerivedCopyEntries(z, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  flops = 2.0 * f->cache.nnz;
  PetscCall(PetscLogEventBegin(MAT_FormMult, A, 0, 0, 0));
#if defined(PETSCCSRC_HAVE_CUDA)
  if (f->cache.ondevice) {
    PetscCall(MatApplyDevice_SeqAIJDerived(A, op, x, z, y));
    PetscCall(PetscLogGpuFlops(flops));
    flops = 0.0;
  } else
#endif
  {
    PetscCall(MatApplyHost_SeqAIJDerived(A, op, x, z, y));
  }
  PetscCall(PetscLogFlops(flops));
  PetscCall(PetscLogEventEnd(MAT_FormMult, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMult_SeqAIJDerived(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatApply_SeqAIJDerived(A, AIJ_N, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultAdd_SeqAIJDerived(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatApply_SeqAIJDerived(A, AIJ_N, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultTranspose_SeqAIJDerived(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatApply_SeqAIJDerived(A, AIJ_T, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultTransposeAdd_SeqAIJDerived(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatApply_SeqAIJDerived(A, AIJ_T, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultHermitianTranspose_SeqAIJDerived(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatApply_SeqAIJDerived(A, AIJ_H, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultHermitianTransposeAdd_SeqAIJDerived(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatApply_SeqAIJDerived(A, AIJ_H, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
