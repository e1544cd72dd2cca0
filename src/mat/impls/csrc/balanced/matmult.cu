/* The balanced layout of CSRC on a CUDA device: products with dense matrices. */
#include "balancedimpl.cuh"
#include "cuda/device.h"
#include "mat/impls/csrc/balanced/kernels/transposematmult.cuh"

/* Gets scratch of at least n scalars, which stays with the matrix. zero: it is zero at first, and each user leaves it zero. */
static PetscErrorCode CSRCBalancedCUDAGetScratch(size_t n, bool zero, cudaStream_t stream, PetscScalar **scratch, size_t *size)
{
  PetscFunctionBegin;
  if (n <= *size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCSRCDeviceFree(scratch));
  *size = 0;
  PetscCall(PetscCSRCDeviceMalloc("scratch for products with dense matrices", n * sizeof(PetscScalar), scratch));
  *size = n;
  if (zero) PetscCallCUDA(cudaMemsetAsync(*scratch, 0, n * sizeof(PetscScalar), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Multiplies K columns, in panels of KT, with the stored matrix or its transpose */
template <int KT, bool CONJUGATE>
static PetscErrorCode CSRCBalancedCUDAPanels(CSRCBalancedCUDA *b, bool transposed, int K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy, cudaStream_t stream)
{
  const CSRCBalancedMatrix<PetscScalar> &A      = b->A;
  const size_t                           packed = CSRCPackedScalars<KT>(A, K);

  PetscFunctionBegin;
  if (transposed) {
    PetscCall(CSRCBalancedCUDAGetScratch(packed, true, stream, &b->sums, &b->nsums));
    PetscCallCUDA((CSRCBalancedTransposeMatMult<KT, CONJUGATE>(A, K, X, (size_t)ldx, Y, (size_t)ldy, b->sums, stream)));
  } else {
    PetscCall(CSRCBalancedCUDAGetScratch(packed + (A.nsplit ? (size_t)2 * A.nblocks * K : 0), false, stream, &b->packed, &b->npacked));
    PetscCallCUDA((CSRCBalancedMatMult<KT, CONJUGATE>(A, K, X, (size_t)ldx, Y, (size_t)ldy, b->packed, stream)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The widths of panels that products are compiled for */
using CSRCOneOfPanels = CSRCOneOf<2, CSRC_PANEL_FEW, CSRC_PANEL_COLUMNS, (int)CSRC_PANEL_MOST>;

/* Whether panels of kt columns fit the shared memory in A^T U. Some may not although wider ones do, which need no lists. */
static bool CSRCBalancedCUDAPanelFits(const CSRCBalancedCUDA *b, int kt)
{
  return CSRCSelect([&](auto width) { return CSRCTransposeMatMultBytes<decltype(width)::value>(b->A); }, CSRCOneOfPanels{kt}) <= b->shared;
}

/* Determines the widest panel that fits the shared memory */
PetscErrorCode CSRCBalancedCUDAPrepareDense(CSRCBalancedCUDA *b)
{
  int device, shared;

  PetscFunctionBegin;
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  b->shared = (size_t)shared;
  PetscCallCUDA(cudaDeviceGetAttribute(&b->cache, cudaDevAttrL2CacheSize, device));
  b->kt = CSRC_PANEL_MOST;
  while (b->kt > 1 && !CSRCBalancedCUDAPanelFits(b, b->kt)) b->kt /= 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The width of a panel for K columns, no wider than needed, but such that it fits; 1: the columns are multiplied one by one, as vectors */
static int CSRCBalancedCUDAPanelColumns(const CSRCBalancedCUDA *b, bool transposed, PetscInt K)
{
  int kt = CSRC_PANEL_MOST;

  if (K == 1) kt = 1;
  else if (K == 2) kt = 2;
  else if (K <= CSRC_PANEL_FEW) kt = CSRC_PANEL_FEW;
  else if (K <= CSRC_PANEL_COLUMNS) kt = CSRC_PANEL_COLUMNS;
  kt = PetscMin(kt, b->kt);
  if (kt == 2 && b->params.kt == 1 && !transposed) kt = 1; /* A X with row blocks made for vectors (D12) */
  while (transposed && kt > 1 && kt < b->kt && !CSRCBalancedCUDAPanelFits(b, kt)) kt *= 2;
  return kt;
}

PetscErrorCode CSRCBalancedCUDAApplyDense(void *data, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  CSRCBalancedCUDA *b          = (CSRCBalancedCUDA *)data;
  const bool        transposed = CSRCBalancedCUDATransposed(b, op);
  cudaStream_t      stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  while (K > 0) {
    const int kt = CSRCBalancedCUDAPanelColumns(b, transposed, K);
    int       k  = (int)PetscMin(K, kt <= 2 ? kt : CSRCPackedColumns(b->A, kt, b->cache)); /* number of columns multiplied in this turn */

    if (k > kt && (kt > CSRC_PANEL_COLUMNS || k % kt == 1)) k -= k % kt; /* the next turn multiplies the remaining ones, with a narrower panel or as a vector */
    if (kt == 1) PetscCall(CSRCBalancedCUDAApply(data, op, X, NULL, Y));
    else
      PetscCall(CSRCSelect([&](auto width, auto conjugate) { return CSRCBalancedCUDAPanels<decltype(width)::value, decltype(conjugate)::value>(b, transposed, k, X, ldx, Y, ldy, stream); }, CSRCOneOfPanels{kt},
                           CSRCOneOf<CSRCParts<PetscScalar> == 2, false>{op == AIJ_H}));
    K -= k;
    X += (size_t)ldx * k;
    Y += (size_t)ldy * k;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
