/* The balanced layout of CSRC on a CUDA device: products with one vector. */
#include "balancedimpl.cuh"
#include "mat/impls/csrc/balanced/kernels/prepare.cuh"

PetscErrorCode CSRCBalancedCUDAPrepare(CSRCBalancedCUDA *b)
{
  PetscFunctionBegin;
  PetscCallCUDA(CSRCBalancedPrepare(&b->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CSRCBalancedCUDAApply(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  const CSRCBalancedCUDA                *b         = (const CSRCBalancedCUDA *)data;
  const CSRCBalancedMatrix<PetscScalar> &A         = b->A;
  constexpr bool                         COMPLEX   = CSRCParts<PetscScalar> == 2;
  const bool                             conjugate = op == AIJ_H;
  cudaStream_t                           stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  if (!CSRCBalancedCUDATransposed(b, op)) {
    if (conjugate) PetscCallCUDA(CSRCBalancedMult<COMPLEX>(A, x, z, y, stream));
    else PetscCallCUDA(CSRCBalancedMult<false>(A, x, z, y, stream));
  } else if (conjugate) PetscCallCUDA(CSRCBalancedMultTranspose<COMPLEX>(A, x, z, y, stream));
  else PetscCallCUDA(CSRCBalancedMultTranspose<false>(A, x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
