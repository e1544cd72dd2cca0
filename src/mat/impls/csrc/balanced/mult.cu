/* The balanced layout of CSRC on a CUDA device: products with one vector. */
#include "balancedimpl.cuh"
#include "mat/impls/csrc/balanced/kernels/multtransposerepeatable.cuh"
#include "cuda/memory.cuh"

PetscErrorCode CSRCBalancedCUDAPrepare(CSRCBalancedCUDA *b)
{
  PetscFunctionBegin;
  PetscCallCUDA(CSRCBalancedPrepare(&b->form));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes what A^T u needs to have the same bits every time, if that is asked for and not done yet */
PetscErrorCode CSRCBalancedPrepareReproducible(void *data, PetscBool *fits)
{
  CSRCBalancedCUDA                    *b = (CSRCBalancedCUDA *)data;
  const CSRCBalancedForm<PetscScalar> &f = b->form;
  cudaStream_t                         stream;

  PetscFunctionBegin;
  if (!b->reproducible || b->repeat.sum) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  /* at most: for each nonzero a sum, its column, its number, both once more sorted, and room to sort them */
  PetscCall(CSRCCheckMemory(CSRCBalancedRepeatBuild(f, stream, &b->repeat), "the set-up of repeatable products with the transpose", (size_t)f.nnz * (sizeof(PetscScalar) + 6 * sizeof(int)), fits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CSRCBalancedCUDAApply(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  CSRCBalancedCUDA                    *b          = (CSRCBalancedCUDA *)data;
  const CSRCBalancedForm<PetscScalar> &f          = b->form;
  const CSRCPlaces<PetscScalar>        places     = {NULL, NULL};
  constexpr bool                       COMPLEX    = CSRCParts<PetscScalar> == 2;
  const bool                           transposed = CSRCBalancedCUDATransposed(b, op), conjugate = op == AIJ_H;
  cudaStream_t                         stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  if (!transposed) {
    if (conjugate) PetscCallCUDA(CSRCBalancedVector<COMPLEX>(f, x, z, y, stream));
    else PetscCallCUDA(CSRCBalancedVector<false>(f, x, z, y, stream));
  } else if (b->reproducible) {
    PetscCall(CSRCBalancedPrepareReproducible(b, NULL));
    if (conjugate) PetscCallCUDA(CSRCBalancedTransposeVectorRepeat<COMPLEX>(f, b->repeat, x, z, y, stream));
    else PetscCallCUDA(CSRCBalancedTransposeVectorRepeat<false>(f, b->repeat, x, z, y, stream));
  } else if (conjugate) PetscCallCUDA(CSRCBalancedTransposeVector<COMPLEX>(f, x, z, y, places, stream));
  else PetscCallCUDA(CSRCBalancedTransposeVector<false>(f, x, z, y, places, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
