/* The balanced layout of CSRC on a CUDA device: products with one vector. */
#include "balancedimpl.cuh"
#include "mat/impls/csrc/balanced/kernels/multtransposereproducible.cuh"
#include "mat/impls/csrc/balanced/kernels/prepare.cuh"
#include "cuda/memory.cuh"

PetscErrorCode CSRCBalancedCUDAPrepare(CSRCBalancedCUDA *b)
{
  PetscFunctionBegin;
  PetscCallCUDA(CSRCBalancedPrepare(&b->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the lists of partial sums that a reproducible A^T u needs, if reproducible products are requested and the lists do not exist yet */
PetscErrorCode CSRCBalancedPrepareReproducible(void *data, PetscBool *fits)
{
  CSRCBalancedCUDA                      *b = (CSRCBalancedCUDA *)data;
  const CSRCBalancedMatrix<PetscScalar> &A = b->A;
  cudaStream_t                           stream;

  PetscFunctionBegin;
  if (!b->reproducible || b->partials.sum) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  /* an upper bound: for each nonzero a sum, its column and number, both of them sorted and unsorted, and room to sort them */
  PetscCall(CSRCCheckMemory(CSRCBalancedPartialsBuild(A, stream, &b->partials), "the set-up of reproducible products with the transpose", (size_t)A.nnz * (sizeof(PetscScalar) + 6 * sizeof(int)), fits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CSRCBalancedCUDAApply(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  CSRCBalancedCUDA                      *b          = (CSRCBalancedCUDA *)data;
  const CSRCBalancedMatrix<PetscScalar> &A          = b->A;
  const CSRCPartials<PetscScalar>        partials   = {NULL, NULL};
  constexpr bool                         COMPLEX    = CSRCParts<PetscScalar> == 2;
  const bool                             transposed = CSRCBalancedCUDATransposed(b, op), conjugate = op == AIJ_H;
  cudaStream_t                           stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  if (!transposed) {
    if (conjugate) PetscCallCUDA(CSRCBalancedMult<COMPLEX>(A, x, z, y, stream));
    else PetscCallCUDA(CSRCBalancedMult<false>(A, x, z, y, stream));
  } else if (b->reproducible) {
    PetscCall(CSRCBalancedPrepareReproducible(b, NULL));
    if (conjugate) PetscCallCUDA(CSRCBalancedMultTransposeReproducible<COMPLEX>(A, b->partials, x, z, y, stream));
    else PetscCallCUDA(CSRCBalancedMultTransposeReproducible<false>(A, b->partials, x, z, y, stream));
  } else if (conjugate) PetscCallCUDA(CSRCBalancedMultTranspose<COMPLEX>(A, x, z, y, partials, stream));
  else PetscCallCUDA(CSRCBalancedMultTranspose<false>(A, x, z, y, partials, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
