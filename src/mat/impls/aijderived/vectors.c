/* Vectors: entry by entry, in the memory of this process; on the device */
#include "derivedimpl.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include <petscdevice_cuda.h>
#endif

/*
  VecSet() and VecCopy() must not be used: they are collective on the vectors that a parallel matrix hands to its blocks, while the blocks of
  other processes may do something else.
*/
PetscErrorCode MatDerivedCopyEntries(Vec z, Vec y)
{
  const PetscScalar *za = NULL;
  PetscScalar       *ya;
  PetscInt           n;

  PetscFunctionBegin;
  if (z == y) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetLocalSize(y, &n));
  if (z) PetscCall(VecGetArrayRead(z, &za));
  PetscCall(VecGetArrayWrite(y, &ya));
  if (z) PetscCall(PetscArraycpy(ya, za, n));
  else PetscCall(PetscArrayzero(ya, n));
  PetscCall(VecRestoreArrayWrite(y, &ya));
  if (z) PetscCall(VecRestoreArrayRead(z, &za));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedVecMade(PetscErrorCode ierr, Vec *v)
{
  PetscFunctionBegin;
  if (ierr) PetscCall(VecDestroy(v));
#if defined(PETSCCSRC_HAVE_CUDA)
  if (ierr) (void)cudaGetLastError(); /* PETSc leaves it to whoever asks next, after a launch that is right */
#endif
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedVecAllocate(Vec *v)
{
  PetscScalar *array;
  PetscMemType mem;

  PetscFunctionBegin;
  PetscCall(MatDerivedVecMade(VecGetArrayWriteAndMemType(*v, &array, &mem), v));
  PetscCall(VecRestoreArrayWriteAndMemType(*v, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
PetscBool MatDerivedVecOnDevice(Vec v)
{
  PetscBool iscuda = PETSC_TRUE, bound = PETSC_FALSE;

  if (v) {
    PetscCallAbort(PETSC_COMM_SELF, PetscObjectTypeCompareAny((PetscObject)v, &iscuda, VECSEQCUDA, VECMPICUDA, ""));
    PetscCallAbort(PETSC_COMM_SELF, VecBoundToCPU(v, &bound));
  }
  return iscuda && !bound ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode MatDerivedVecToDevice(Vec v, PetscBool copy, Vec *own, Vec *w)
{
  PetscInt n;

  PetscFunctionBegin;
  *w = v;
  if (MatDerivedVecOnDevice(v)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetLocalSize(v, &n));
  if (!*own) PetscCall(MatDerivedVecMade(VecCreateSeqCUDA(PETSC_COMM_SELF, n, own), own));
  if (copy) PetscCall(MatDerivedCopyEntries(v, *own));
  *w = *own;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
