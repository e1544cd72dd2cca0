/* The balanced layout of CSRC on a CUDA device: products with dense matrices. */
#include "csrcbalancedcuda.cuh"
#include "csrcbalancedmatmult.cuh"

/* How many columns are multiplied at a time */
PetscErrorCode CSRCBalancedCUDAPrepareDense(CSRCBalancedCUDA *b)
{
  int device, shared;

  PetscFunctionBegin;
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&b->cache, cudaDevAttrL2CacheSize, device));
  b->kt = CSRC_PANEL_MOST;
  while (b->kt > 2 && CSRCBalancedMatMultShared(b->form, b->kt) > (size_t)shared) b->kt /= 2;
  if (b->kt == 2 && CSRCBalancedMultTransposeShared(b->form, 2) > (size_t)shared) b->kt = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for n scalars of scratch, which stays with the matrix */
static PetscErrorCode CSRCBalancedCUDAGetScratch(CSRCBalancedCUDA *b, size_t n)
{
  PetscFunctionBegin;
  if (n <= b->npacked) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJFormDeviceFree(&b->packed));
  b->npacked = 0;
  PetscCall(AIJFormDeviceMalloc("scratch for products with dense matrices", n * sizeof(PetscScalar), &b->packed));
  b->npacked = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* K columns in panels of KT, by what the form was made from or its transpose */
template <int KT, bool CONJUGATE>
static PetscErrorCode CSRCBalancedCUDAPanels(CSRCBalancedCUDA *b, bool transposed, int K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy, cudaStream_t stream)
{
  const CSRCBalancedForm<PetscScalar> &f      = b->form;
  const size_t                         packed = (size_t)f.n * ((K + KT - 1) / KT * KT);

  PetscFunctionBegin;
  PetscCall(CSRCBalancedCUDAGetScratch(b, packed + (f.nsplit ? (size_t)2 * f.nblocks * K : 0)));
  if constexpr (KT == 2) {
    if (transposed) PetscCallCUDA(CSRCBalancedMatMultTransposeTwo<CONJUGATE>(f, X, (size_t)ldx, Y, (size_t)ldy, b->packed, stream));
    else PetscCallCUDA(CSRCBalancedMatMultTwo<CONJUGATE>(f, X, (size_t)ldx, Y, (size_t)ldy, b->packed, b->packed + packed, stream));
  } else {
    if (transposed) PetscCallCUDA((CSRCBalancedMatMultTranspose<KT, CONJUGATE>(f, K, X, (size_t)ldx, Y, (size_t)ldy, b->packed, stream)));
    else PetscCallCUDA((CSRCBalancedMatMult<KT, CONJUGATE>(f, K, X, (size_t)ldx, Y, (size_t)ldy, b->packed, b->packed + packed, stream)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int KT>
static PetscErrorCode CSRCBalancedCUDAPanels(CSRCBalancedCUDA *b, AIJFormOp op, int K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy, cudaStream_t stream)
{
  const bool transposed = CSRCBalancedCUDATransposed(b, op);

  PetscFunctionBegin;
  if (op == AIJFORM_H) PetscCall((CSRCBalancedCUDAPanels<KT, CSRCParts<PetscScalar> == 2>(b, transposed, K, X, ldx, Y, ldy, stream)));
  else PetscCall((CSRCBalancedCUDAPanels<KT, false>(b, transposed, K, X, ldx, Y, ldy, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CSRCBalancedCUDAApplyDense(void *data, AIJFormOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  CSRCBalancedCUDA *b          = (CSRCBalancedCUDA *)data;
  const bool        transposed = CSRCBalancedCUDATransposed(b, op);
  cudaStream_t      stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  while (K > 0) {
    /* panels no wider than needed; a column that would have a panel for itself is multiplied as a vector */
    const int kt = PetscMin(K == 1 || (b->reproducible && transposed) || (K == 2 && b->params.kt == 1 && !transposed) ? 1 : K == 2 ? 2 : K <= 4 ? 4 : K <= CSRC_PANEL_COLUMNS ? CSRC_PANEL_COLUMNS : CSRC_PANEL_MOST, b->kt);
    int       k  = (int)PetscMin(K, kt <= 2 ? kt : CSRCPackedColumns(b->form, kt, b->cache));

    if (k > kt && (kt > CSRC_PANEL_COLUMNS || k % kt == 1)) k -= k % kt;
    switch (kt) {
    case 1:
      PetscCall(CSRCBalancedCUDAApply(data, op, X, NULL, Y));
      break;
    case 2:
      PetscCall(CSRCBalancedCUDAPanels<2>(b, op, k, X, ldx, Y, ldy, stream));
      break;
    case 4:
      PetscCall(CSRCBalancedCUDAPanels<4>(b, op, k, X, ldx, Y, ldy, stream));
      break;
    case CSRC_PANEL_COLUMNS:
      PetscCall(CSRCBalancedCUDAPanels<CSRC_PANEL_COLUMNS>(b, op, k, X, ldx, Y, ldy, stream));
      break;
    default:
      PetscCall(CSRCBalancedCUDAPanels<CSRC_PANEL_MOST>(b, op, k, X, ldx, Y, ldy, stream));
    }
    K -= k;
    X += (size_t)ldx * k;
    Y += (size_t)ldy * k;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
