/* The balanced layout of CSRC on a CUDA device: lists the stored nonzeros, in pieces, so that little device memory is needed */
#include "balancedimpl.cuh"
#include "cuda/device.h"
#include "kernels/list.cuh"

#define PIECE   4096 /* number of chunks of a piece: a million nonzeros */
#define THREADS 256

/* A list of nonzeros */
typedef struct {
  int         *row, *column;
  PetscScalar *value;
} List;

/* Visits n entries of a list; entries with row -1 are empty */
static PetscErrorCode Visit(const List *list, int n, PetscBool bycolumns, AIJVisitor visit, void *visitctx)
{
  PetscInt    index[2][CSRC_CHUNK]; /* rows and columns of the stored matrix, which is the transpose if blocks consist of columns */
  PetscScalar value[CSRC_CHUNK];

  PetscFunctionBegin;
  for (int k = 0, m = 0; k < n; k++) {
    if (list->row[k] >= 0) {
      index[0][m] = list->row[k];
      index[1][m] = list->column[k];
      memcpy(&value[m++], &list->value[k], sizeof(*value)); /* keeps every bit, also of a NaN */
    }
    if (m == CSRC_CHUNK || k == n - 1) {
      (*visit)(visitctx, m, index[bycolumns ? 1 : 0], index[bycolumns ? 0 : 1], value);
      m = 0;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VisitOnDevice(const List *device, int n, PetscBool bycolumns, AIJVisitor visit, void *visitctx)
{
  List           host = {NULL, NULL, NULL};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PetscCSRCHostCopy(device->row, n, sizeof(*host.row), &host.row);
  if (!ierr) ierr = PetscCSRCHostCopy(device->column, n, sizeof(*host.column), &host.column);
  if (!ierr) ierr = PetscCSRCHostCopy(device->value, n, sizeof(*host.value), &host.value);
  if (!ierr) ierr = Visit(&host, n, bycolumns, visit, visitctx);
  PetscCall(PetscFree(host.row));
  PetscCall(PetscFree(host.column));
  PetscCall(PetscFree(host.value));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes the rows of 'many' nonzeros of the overflow, from nonzero 'first' on. Thread: one nonzero. */
static __global__ void OverflowRowsKernel(const CSRCBalancedMatrix<PetscScalar> A, int first, int many, int *row)
{
  const int k  = blockIdx.x * blockDim.x + threadIdx.x;
  int       lo = 0, hi = A.nblocks;

  if (k >= many) return;
  while (hi - lo > 1) {
    const int mid = (lo + hi) / 2;

    if (A.overflowstart[mid] <= first + k) lo = mid;
    else hi = mid;
  }
  row[k] = A.block[lo].row + A.overflowrow[first + k];
}

static PetscErrorCode VisitPieces(const CSRCBalancedCUDA *b, const List *list, AIJVisitor visit, void *visitctx)
{
  const CSRCBalancedMatrix<PetscScalar> &A = b->A;
  cudaStream_t                           stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  for (int first = 0; first < A.nchunks; first += PIECE) {
    const int many = PetscMin(PIECE, A.nchunks - first);

    PetscCallCUDA(CSRCListChunks(A, first, many, list->row, list->column, list->value, stream));
    PetscCall(VisitOnDevice(list, many * CSRC_CHUNK, b->bycolumns, visit, visitctx));
  }
  for (int first = 0; first < A.noverflow; first += PIECE * CSRC_CHUNK) {
    const int  many     = PetscMin(PIECE * CSRC_CHUNK, A.noverflow - first);
    const List overflow = {list->row, A.overflowcolumn + first, A.overflowvalue + first};

    OverflowRowsKernel<<<(many + THREADS - 1) / THREADS, THREADS, 0, stream>>>(A, first, many, list->row);
    PetscCallCUDA(cudaGetLastError());
    PetscCall(VisitOnDevice(&overflow, many, b->bycolumns, visit, visitctx));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CSRCBalancedCUDAVisit(const void *data, AIJVisitor visit, void *visitctx)
{
  const CSRCBalancedCUDA *b    = (const CSRCBalancedCUDA *)data;
  const size_t            n    = (size_t)CSRC_CHUNK * PetscMin(PIECE, PetscMax(b->A.nchunks, (b->A.noverflow + CSRC_CHUNK - 1) / CSRC_CHUNK));
  List                    list = {NULL, NULL, NULL};
  PetscErrorCode          ierr;

  PetscFunctionBegin;
  ierr = PetscCSRCDeviceMalloc("rows of listed nonzeros", n * sizeof(*list.row), &list.row);
  if (!ierr) ierr = PetscCSRCDeviceMalloc("columns of listed nonzeros", n * sizeof(*list.column), &list.column);
  if (!ierr) ierr = PetscCSRCDeviceMalloc("values of listed nonzeros", n * sizeof(*list.value), &list.value);
  if (!ierr) ierr = VisitPieces(b, &list, visit, visitctx);
  PetscCall(PetscCSRCDeviceFree(&list.row));
  PetscCall(PetscCSRCDeviceFree(&list.column));
  PetscCall(PetscCSRCDeviceFree(&list.value));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
