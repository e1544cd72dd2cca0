#pragma once

/*
  The baselines: what cuSPARSE makes of the matrix as CSR, of op = T on it, and of a stored transpose, a second copy; and of both as
  sliced ELLPACK (SELL). Every algorithm gets its preprocessing before its time is taken, every output is filled with NaN before it is checked.
*/
#include <cusparse.h>
#include <dlfcn.h>
#include "bench.cuh"
#include "hostcheck.h"

typedef struct {
  cusparseHandle_t handle;
  int              m, n, nnz;
  int             *i, *j, *ti, *tj; /* the matrix and its transpose */
  double          *a, *ta;
  double          *X, *U, *Y, *V; /* operands by columns: A X = Y, A^T U = V */
  double          *in, *out;      /* the same by rows, NULL without products with several columns */
  double          *host;          /* a result, to be checked */
  double           csrbytes, tbytes;
} CuSparse;

/* Device, versions; the clock, if there is a device */
static PetscErrorCode BenchDescribe(Bench *b)
{
  char line[256], version[160];

  PetscFunctionBegin;
  PetscCall(PetscGetVersion(version, sizeof(version)));
  PetscCall(BenchComment(b, version));
  if (!b->gpu) {
    PetscCall(BenchComment(b, "No GPU: nothing is timed"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscGetCurrentCUDAStream(&b->stream));
  PetscCallCUDA(cudaEventCreate(&b->start));
  PetscCallCUDA(cudaEventCreate(&b->stop));
  PetscCall(BenchDescribeDevice(b));
  {
    int major, minor, patch;

    PetscCallCUSPARSE(cusparseGetProperty(MAJOR_VERSION, &major));
    PetscCallCUSPARSE(cusparseGetProperty(MINOR_VERSION, &minor));
    PetscCallCUSPARSE(cusparseGetProperty(PATCH_LEVEL, &patch));
    PetscCall(PetscSNPrintf(line, sizeof(line), "cuSPARSE %d.%d.%d", major, minor, patch));
    PetscCall(BenchComment(b, line));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class T>
static PetscErrorCode ToDevice(size_t count, const T *host, T **device)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc(device, std::max(count, (size_t)1) * sizeof(T)));
  if (host) PetscCallCUDA(cudaMemcpy(*device, host, count * sizeof(T), cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X, or if transposed U, of K columns */
static PetscErrorCode OperandToDevice(const Reference *ref, PetscBool transposed, PetscInt K, double **device)
{
  const size_t length = (size_t)(transposed ? ref->m : ref->n);

  PetscFunctionBegin;
  PetscCall(ToDevice<double>(length * K, NULL, device));
  for (PetscInt k = 0; k < K; k++) PetscCallCUDA(cudaMemcpy(*device + length * k, ReferenceOperand(ref, transposed, k), length * sizeof(double), cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CuSparseTranspose(Bench *b, CuSparse *c)
{
  const cusparseCsr2CscAlg_t alg = CUSPARSE_CSR2CSC_ALG1;
  std::vector<double>        bare, whole;
  size_t                     bytes;
  void                      *buffer;

  PetscFunctionBegin;
  PetscCall(ToDevice<int>((size_t)c->n + 1, NULL, &c->ti));
  PetscCall(ToDevice<int>(c->nnz, NULL, &c->tj));
  PetscCall(ToDevice<double>(c->nnz, NULL, &c->ta));
  PetscCallCUSPARSE(cusparseCsr2cscEx2_bufferSize(c->handle, c->m, c->n, c->nnz, c->a, c->i, c->j, c->ta, c->ti, c->tj, CUDA_R_64F, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO, alg, &bytes));
  for (PetscInt turn = 0; turn <= b->setuprepeats; turn++) {
    PetscLogDouble begin, end;
    float          ms;

    PetscCallCUDA(cudaFree(c->ti));
    PetscCallCUDA(cudaFree(c->tj));
    PetscCallCUDA(cudaFree(c->ta));
    PetscCallCUDA(cudaDeviceSynchronize());
    PetscCall(PetscTime(&begin));
    PetscCall(ToDevice<int>((size_t)c->n + 1, NULL, &c->ti));
    PetscCall(ToDevice<int>(c->nnz, NULL, &c->tj));
    PetscCall(ToDevice<double>(c->nnz, NULL, &c->ta));
    PetscCallCUDA(cudaMalloc(&buffer, std::max(bytes, (size_t)1)));
    PetscCallCUDA(cudaEventRecord(b->start, b->stream));
    PetscCallCUSPARSE(cusparseCsr2cscEx2(c->handle, c->m, c->n, c->nnz, c->a, c->i, c->j, c->ta, c->ti, c->tj, CUDA_R_64F, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO, alg, buffer));
    PetscCallCUDA(cudaEventRecord(b->stop, b->stream));
    PetscCallCUDA(cudaEventSynchronize(b->stop));
    PetscCallCUDA(cudaFree(buffer));
    PetscCall(PetscTime(&end));
    PetscCallCUDA(cudaEventElapsedTime(&ms, b->start, b->stop));
    if (!turn) continue; /* kernels are loaded at their first use */
    bare.push_back(1e3 * ms);
    whole.push_back(1e6 * (end - begin));
  }
  PetscCall(BenchRecord(b, "setup_csr2csc", 0, Median(bare), c->tbytes, -1));
  PetscCall(BenchRecord(b, "setup_csr2csc_alloc", 0, Median(whole), c->tbytes, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* K: the most columns of an operand */
static PetscErrorCode CuSparseCreate(Bench *b, const Reference *ref, PetscInt K, CuSparse *c)
{
  const size_t     nnz = (size_t)ref->i[ref->m], most = (size_t)std::max(ref->m, ref->n) * K;
  std::vector<int> i(ref->i, ref->i + ref->m + 1), j(ref->j, ref->j + nnz);

  PetscFunctionBegin;
  memset(c, 0, sizeof(*c));
  PetscCheck(nnz < (size_t)INT_MAX && ref->m < INT_MAX && ref->n < INT_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "%zu nonzeros: cusparseCsr2cscEx2() counts in 32 bits", nnz);
  PetscCallCUSPARSE(cusparseCreate(&c->handle));
  PetscCallCUSPARSE(cusparseSetStream(c->handle, b->stream));
  c->m        = (int)ref->m;
  c->n        = (int)ref->n;
  c->nnz      = (int)nnz;
  c->csrbytes = 12.0 * (double)nnz + 4.0 * ((double)c->m + 1);
  c->tbytes   = c->csrbytes + 12.0 * (double)nnz + 4.0 * ((double)c->n + 1);
  PetscCall(ToDevice(i.size(), i.data(), &c->i));
  PetscCall(ToDevice(j.size(), j.data(), &c->j));
  PetscCall(ToDevice(nnz, ref->a, &c->a));
  PetscCall(OperandToDevice(ref, PETSC_FALSE, K, &c->X));
  PetscCall(OperandToDevice(ref, PETSC_TRUE, K, &c->U));
  PetscCall(ToDevice<double>((size_t)c->m * K, NULL, &c->Y));
  PetscCall(ToDevice<double>((size_t)c->n * K, NULL, &c->V));
  if (K > 1) {
    PetscCall(ToDevice<double>(most, NULL, &c->in));
    PetscCall(ToDevice<double>(most, NULL, &c->out));
  }
  PetscCallCUDA(cudaMallocHost((void **)&c->host, most * sizeof(double)));
  PetscCall(CuSparseTranspose(b, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CuSparseDestroy(CuSparse *c)
{
  void *const arrays[] = {c->i, c->j, c->a, c->ti, c->tj, c->ta, c->X, c->U, c->Y, c->V, c->in, c->out};

  PetscFunctionBegin;
  for (void *array : arrays) PetscCallCUDA(cudaFree(array));
  PetscCallCUDA(cudaFreeHost(c->host));
  PetscCallCUSPARSE(cusparseDestroy(c->handle));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which of the two stored matrices is applied, and how: A, op = T on A, or the stored transpose */
typedef enum {
  CSR_N,
  CSR_T,
  STORED_T
} Side;
static const char *const Sides[] = {"csr_N", "csr_T", "stored_T"};

static PetscErrorCode CuSparseDescribe(const CuSparse *c, Side side, cusparseSpMatDescr_t *A)
{
  PetscFunctionBegin;
  if (side == STORED_T) PetscCallCUSPARSE(cusparseCreateCsr(A, c->n, c->m, c->nnz, c->ti, c->tj, c->ta, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  else PetscCallCUSPARSE(cusparseCreateCsr(A, c->m, c->n, c->nnz, c->i, c->j, c->a, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Times a product, lets it fill an output of NaN, and checks that */
template <class Product>
static PetscErrorCode CuSparseMeasure(Bench *b, CuSparse *c, const Reference *ref, const char what[], Side side, PetscInt K, double matrixbytes, const Product &product)
{
  const PetscBool transposed = side == CSR_N ? PETSC_FALSE : PETSC_TRUE;
  const size_t    bytes      = (size_t)(transposed ? c->n : c->m) * K * sizeof(double);
  double         *result     = transposed ? c->V : c->Y, us, error;

  PetscFunctionBegin;
  PetscCall(BenchTime(b, product, &us));
  PetscCallCUDA(cudaMemsetAsync(result, 0xff, bytes, b->stream));
  if (c->out) PetscCallCUDA(cudaMemsetAsync(c->out, 0xff, bytes, b->stream));
  PetscCall(product());
  PetscCallCUDA(cudaMemcpyAsync(c->host, result, bytes, cudaMemcpyDeviceToHost, b->stream));
  PetscCallCUDA(cudaStreamSynchronize(b->stream));
  PetscCall(ReferenceCheck(ref, transposed, K, c->host, transposed ? c->n : c->m, &error));
  PetscCall(BenchRecord(b, what, K, us, matrixbytes, error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product with one vector of a matrix that is described to cuSPARSE; bytes: of the matrix, or of both copies */
static PetscErrorCode CuSparseSpMV(Bench *b, CuSparse *c, const Reference *ref, Side side, const char what[], cusparseSpMatDescr_t A, cusparseSpMVAlg_t alg, double matrixbytes)
{
  const cusparseOperation_t op  = side == CSR_T ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
  const double              one = 1, zero = 0;
  cusparseDnVecDescr_t      x, y;
  size_t                    bytes;
  void                     *buffer;

  PetscFunctionBegin;
  PetscCallCUSPARSE(cusparseCreateDnVec(&x, side == CSR_N ? c->n : c->m, side == CSR_N ? c->X : c->U, CUDA_R_64F));
  PetscCallCUSPARSE(cusparseCreateDnVec(&y, side == CSR_N ? c->m : c->n, side == CSR_N ? c->Y : c->V, CUDA_R_64F));
  PetscCallCUSPARSE(cusparseSpMV_bufferSize(c->handle, op, &one, A, x, &zero, y, CUDA_R_64F, alg, &bytes));
  PetscCallCUDA(cudaMalloc(&buffer, std::max(bytes, (size_t)1)));
#if CUSPARSE_VERSION >= 12300
  PetscCallCUSPARSE(cusparseSpMV_preprocess(c->handle, op, &one, A, x, &zero, y, CUDA_R_64F, alg, buffer));
#endif
  PetscCall(CuSparseMeasure(b, c, ref, what, side, 1, matrixbytes, [&]() -> PetscErrorCode {
    PetscFunctionBegin;
    PetscCallCUSPARSE(cusparseSpMV(c->handle, op, &one, A, x, &zero, y, CUDA_R_64F, alg, buffer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscCallCUDA(cudaFree(buffer));
  PetscCallCUSPARSE(cusparseDestroyDnVec(x));
  PetscCallCUSPARSE(cusparseDestroyDnVec(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CuSparseCSR(Bench *b, CuSparse *c, const Reference *ref, Side side, int number)
{
  cusparseSpMatDescr_t A;
  char                 what[64];

  PetscFunctionBegin;
  PetscCall(CuSparseDescribe(c, side, &A));
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s_alg%d", Sides[side], number));
  PetscCall(CuSparseSpMV(b, c, ref, side, what, A, number == 1 ? CUSPARSE_SPMV_CSR_ALG1 : CUSPARSE_SPMV_CSR_ALG2, side == STORED_T ? c->tbytes : c->csrbytes));
  PetscCallCUSPARSE(cusparseDestroySpMat(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The product that cuSPARSE 12.8 began to have, SpMVOp, where the library that the program was started with has it. Headers of older toolkits do
  not declare it. It has a plan for each matrix and algorithm, and no op = T.
*/
typedef struct {
  cusparseStatus_t (*size)(cusparseHandle_t, cusparseOperation_t, cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, cusparseDnVecDescr_t, cusparseDnVecDescr_t, cudaDataType, int, size_t *);
  cusparseStatus_t (*createdescr)(cusparseHandle_t, void **, cusparseOperation_t, cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, cusparseDnVecDescr_t, cusparseDnVecDescr_t, cudaDataType, int, void *);
  cusparseStatus_t (*createplan)(cusparseHandle_t, void *, void **, const void *, size_t);
  cusparseStatus_t (*apply)(cusparseHandle_t, void *, const void *, const void *, cusparseConstDnVecDescr_t, cusparseConstDnVecDescr_t, cusparseDnVecDescr_t);
  cusparseStatus_t (*destroydescr)(void *);
  cusparseStatus_t (*destroyplan)(void *);
} SpMVOp;

/* has: whether the library has SpMVOp with this interface */
static PetscErrorCode SpMVOpLoad(SpMVOp *op, bool *has)
{
  int major, minor;

  PetscFunctionBegin;
  PetscCallCUSPARSE(cusparseGetProperty(MAJOR_VERSION, &major));
  PetscCallCUSPARSE(cusparseGetProperty(MINOR_VERSION, &minor));
  const auto find = [&](const char *name, auto &function) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(RTLD_DEFAULT, name));
    *has     = *has && function;
  };
  *has = major == 12 && minor >= 8;
  find("cusparseSpMVOp_bufferSize", op->size);
  find("cusparseSpMVOp_createDescr", op->createdescr);
  find("cusparseSpMVOp_createPlan", op->createplan);
  find("cusparseSpMVOp", op->apply);
  find("cusparseSpMVOp_destroyDescr", op->destroydescr);
  find("cusparseSpMVOp_destroyPlan", op->destroyplan);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CuSparseSpMVOp(Bench *b, CuSparse *c, const Reference *ref, Side side, int number)
{
  const cusparseOperation_t N   = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const double              one = 1, zero = 0;
  cusparseSpMatDescr_t      A;
  cusparseDnVecDescr_t      x, y, z;
  SpMVOp                    op;
  bool                      has;
  size_t                    bytes;
  void                     *buffer, *descr = NULL, *plan = NULL;
  cusparseStatus_t          status;
  char                      what[64];

  PetscFunctionBegin;
  PetscCall(SpMVOpLoad(&op, &has));
  if (!has) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s_op%d", Sides[side], number));
  PetscCall(CuSparseDescribe(c, side, &A));
  PetscCallCUSPARSE(cusparseCreateDnVec(&x, side == CSR_N ? c->n : c->m, side == CSR_N ? c->X : c->U, CUDA_R_64F));
  PetscCallCUSPARSE(cusparseCreateDnVec(&y, side == CSR_N ? c->m : c->n, side == CSR_N ? c->Y : c->V, CUDA_R_64F));
  PetscCallCUSPARSE(cusparseCreateDnVec(&z, side == CSR_N ? c->m : c->n, side == CSR_N ? c->Y : c->V, CUDA_R_64F));
  PetscCallCUSPARSE(op.size(c->handle, N, A, x, y, z, CUDA_R_64F, number, &bytes));
  PetscCallCUDA(cudaMalloc(&buffer, std::max(bytes, (size_t)1)));
  status = op.createdescr(c->handle, &descr, N, A, x, y, z, CUDA_R_64F, number, buffer);
  if (status == CUSPARSE_STATUS_SUCCESS) status = op.createplan(c->handle, descr, &plan, NULL, 0);
  if (status != CUSPARSE_STATUS_SUCCESS) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-28s   1 left out, cuSPARSE says: %s\n", what, cusparseGetErrorString(status)));
  else {
    PetscCall(CuSparseMeasure(b, c, ref, what, side, 1, side == STORED_T ? c->tbytes : c->csrbytes, [&]() -> PetscErrorCode {
      PetscFunctionBegin;
      PetscCallCUSPARSE(op.apply(c->handle, plan, &one, &zero, x, y, z));
      PetscFunctionReturn(PETSC_SUCCESS);
    }));
  }
  if (plan) PetscCallCUSPARSE(op.destroyplan(plan));
  if (descr) PetscCallCUSPARSE(op.destroydescr(descr));
  PetscCallCUDA(cudaFree(buffer));
  PetscCallCUSPARSE(cusparseDestroyDnVec(x));
  PetscCallCUSPARSE(cusparseDestroyDnVec(y));
  PetscCallCUSPARSE(cusparseDestroyDnVec(z));
  PetscCallCUSPARSE(cusparseDestroySpMat(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define SELL_ROWS 32 /* of a slice */
#define SELL_MOST 8  /* entries for each nonzero: a matrix that takes more has no such product */

/* Rows of a slice have as many entries as the longest of them, stored by columns of the slice; what is no nonzero has column -1 */
static PetscErrorCode CuSparseSell(Bench *b, CuSparse *c, const Reference *ref, Side side, double *matrixbytes)
{
  const bool           transposed = side == STORED_T;
  const char *const    what       = transposed ? "sell_stored_T" : "sell_N";
  const int            rows = transposed ? c->n : c->m, cols = transposed ? c->m : c->n, nslices = (rows + SELL_ROWS - 1) / SELL_ROWS;
  std::vector<int>     i((size_t)rows + 1), j(c->nnz), offset((size_t)nslices + 1, 0);
  std::vector<double>  a(c->nnz);
  cusparseSpMatDescr_t A;
  int                 *doffset, *dcolumn;
  double              *dvalue;
  size_t               size = 0;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpy(i.data(), transposed ? c->ti : c->i, i.size() * sizeof(int), cudaMemcpyDeviceToHost));
  PetscCallCUDA(cudaMemcpy(j.data(), transposed ? c->tj : c->j, j.size() * sizeof(int), cudaMemcpyDeviceToHost));
  PetscCallCUDA(cudaMemcpy(a.data(), transposed ? c->ta : c->a, a.size() * sizeof(double), cudaMemcpyDeviceToHost));
  for (int s = 0; s < nslices; s++) {
    int width = 0;

    for (int r = s * SELL_ROWS; r < std::min(rows, (s + 1) * SELL_ROWS); r++) width = std::max(width, i[r + 1] - i[r]);
    size += (size_t)SELL_ROWS * width;
    offset[s + 1] = (int)std::min(size, (size_t)INT_MAX);
  }
  if (size > SELL_MOST * (size_t)c->nnz || size >= INT_MAX) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-28s   1 left out: %.1f entries for each nonzero\n", what, (double)size / c->nnz));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  std::vector<int>    column(size, -1);
  std::vector<double> value(size, 0.0);
  for (int r = 0; r < rows; r++) {
    for (int k = i[r]; k < i[r + 1]; k++) {
      const size_t to = (size_t)offset[r / SELL_ROWS] + (size_t)(k - i[r]) * SELL_ROWS + r % SELL_ROWS;

      column[to] = j[k];
      value[to]  = a[k];
    }
  }
  PetscCall(ToDevice(offset.size(), offset.data(), &doffset));
  PetscCall(ToDevice(size, column.data(), &dcolumn));
  PetscCall(ToDevice(size, value.data(), &dvalue));
  *matrixbytes += 12.0 * (double)size + 4.0 * (double)offset.size();
  PetscCallCUSPARSE(cusparseCreateSlicedEll(&A, rows, cols, c->nnz, (int64_t)size, SELL_ROWS, doffset, dcolumn, dvalue, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  PetscCall(CuSparseSpMV(b, c, ref, side, what, A, CUSPARSE_SPMV_SELL_ALG1, *matrixbytes));
  PetscCallCUSPARSE(cusparseDestroySpMat(A));
  PetscCallCUDA(cudaFree(doffset));
  PetscCallCUDA(cudaFree(dcolumn));
  PetscCallCUDA(cudaFree(dvalue));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define TILE_ROWS 64
#define TILE_COLS 32

/* Between storage by columns (of length rows) and storage by rows (of length K), through a tile, both ways in order of memory */
template <bool torows>
static __global__ void TransposeKernel(int rows, int K, const double *__restrict__ in, double *__restrict__ out)
{
  __shared__ double tile[TILE_COLS][TILE_ROWS + 1];
  const int         row = blockIdx.x * TILE_ROWS, col = blockIdx.y * TILE_COLS;
  const int         nrows = min(TILE_ROWS, rows - row), ncols = min(TILE_COLS, K - col), count = nrows * ncols;

  if (torows) {
    for (int t = threadIdx.x; t < count; t += blockDim.x) tile[t / nrows][t % nrows] = in[(size_t)(col + t / nrows) * rows + row + t % nrows];
    __syncthreads();
    for (int t = threadIdx.x; t < count; t += blockDim.x) out[(size_t)(row + t / ncols) * K + col + t % ncols] = tile[t % ncols][t / ncols];
  } else {
    for (int t = threadIdx.x; t < count; t += blockDim.x) tile[t % ncols][t / ncols] = in[(size_t)(row + t / ncols) * K + col + t % ncols];
    __syncthreads();
    for (int t = threadIdx.x; t < count; t += blockDim.x) out[(size_t)(col + t / nrows) * rows + row + t % nrows] = tile[t / nrows][t % nrows];
  }
}

template <bool torows>
static PetscErrorCode TransposeOperand(Bench *b, int rows, PetscInt K, const double *in, double *out)
{
  const dim3 grid((rows + TILE_ROWS - 1) / TILE_ROWS, (unsigned)((K + TILE_COLS - 1) / TILE_COLS));

  PetscFunctionBegin;
  TransposeKernel<torows><<<grid, 256, 0, b->stream>>>(rows, (int)K, in, out);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  With operands by rows, as cuSPARSE's algorithms 2 and 3 like them, the operands' way there and back is part of the
  product: PETSc's dense matrices are stored by columns. What cuSPARSE refuses is named and left out.
*/
static PetscErrorCode CuSparseSpMM(Bench *b, CuSparse *c, const Reference *ref, Side side, PetscInt K, bool byrows, int number)
{
  const cusparseSpMMAlg_t   alg = number == 1 ? CUSPARSE_SPMM_CSR_ALG1 : number == 2 ? CUSPARSE_SPMM_CSR_ALG2 : CUSPARSE_SPMM_CSR_ALG3;
  const cusparseOperation_t op = side == CSR_T ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE, opX = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const cusparseOrder_t     order = byrows ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
  const double              one = 1, zero = 0;
  const int                 nin = side == CSR_N ? c->n : c->m, nout = side == CSR_N ? c->m : c->n;
  double                   *from = side == CSR_N ? c->X : c->U, *to = side == CSR_N ? c->Y : c->V;
  cusparseSpMatDescr_t      A;
  cusparseDnMatDescr_t      X, Y;
  cusparseStatus_t          status;
  size_t                    bytes;
  void                     *buffer = NULL;
  char                      what[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s_%s_alg%d", Sides[side], byrows ? "row" : "col", number));
  PetscCall(CuSparseDescribe(c, side, &A));
  PetscCallCUSPARSE(cusparseCreateDnMat(&X, nin, K, byrows ? K : nin, byrows ? c->in : from, CUDA_R_64F, order));
  PetscCallCUSPARSE(cusparseCreateDnMat(&Y, nout, K, byrows ? K : nout, byrows ? c->out : to, CUDA_R_64F, order));
  status = cusparseSpMM_bufferSize(c->handle, op, opX, &one, A, X, &zero, Y, CUDA_R_64F, alg, &bytes);
  if (status == CUSPARSE_STATUS_SUCCESS) {
    PetscCallCUDA(cudaMalloc(&buffer, std::max(bytes, (size_t)1)));
    status = cusparseSpMM_preprocess(c->handle, op, opX, &one, A, X, &zero, Y, CUDA_R_64F, alg, buffer);
    if (status == CUSPARSE_STATUS_NOT_SUPPORTED) status = CUSPARSE_STATUS_SUCCESS; /* an algorithm without preprocessing */
  }
  if (status == CUSPARSE_STATUS_SUCCESS) status = cusparseSpMM(c->handle, op, opX, &one, A, X, &zero, Y, CUDA_R_64F, alg, buffer);
  if (status != CUSPARSE_STATUS_SUCCESS) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-28s%4" PetscInt_FMT " left out, cuSPARSE says: %s\n", what, K, cusparseGetErrorString(status)));
  } else {
    PetscCall(CuSparseMeasure(b, c, ref, what, side, K, side == STORED_T ? c->tbytes : c->csrbytes, [&]() -> PetscErrorCode {
      PetscFunctionBegin;
      if (byrows) PetscCall(TransposeOperand<true>(b, nin, K, from, c->in));
      PetscCallCUSPARSE(cusparseSpMM(c->handle, op, opX, &one, A, X, &zero, Y, CUDA_R_64F, alg, buffer));
      if (byrows) PetscCall(TransposeOperand<false>(b, nout, K, c->out, to));
      PetscFunctionReturn(PETSC_SUCCESS);
    }));
  }
  PetscCallCUDA(cudaFree(buffer));
  PetscCallCUSPARSE(cusparseDestroyDnMat(X));
  PetscCallCUSPARSE(cusparseDestroyDnMat(Y));
  PetscCallCUSPARSE(cusparseDestroySpMat(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CuSparseBaselines(Bench *b, const Reference *ref)
{
  CuSparse c;
  double   sellbytes = 0;

  PetscFunctionBegin;
  PetscCall(CuSparseCreate(b, ref, BenchMostColumns(b), &c));
  for (int side = CSR_N; side <= STORED_T; side++) {
    for (int number = 1; number <= 2; number++) PetscCall(CuSparseCSR(b, &c, ref, (Side)side, number));
  }
  for (Side side : {CSR_N, STORED_T}) {
    for (int number = 1; number <= 2; number++) PetscCall(CuSparseSpMVOp(b, &c, ref, side, number));
  }
  for (Side side : {CSR_N, STORED_T}) PetscCall(CuSparseSell(b, &c, ref, side, &sellbytes));
  for (PetscInt k = 0; k < b->nK; k++) {
    for (int side = CSR_N; side <= STORED_T; side++) {
      for (int number = 1; number <= 2; number++) PetscCall(CuSparseSpMM(b, &c, ref, (Side)side, b->K[k], false, number));
      /* algorithm 3 has no op = T */
      for (int number = 2; number <= (side == CSR_T ? 2 : 3); number++) PetscCall(CuSparseSpMM(b, &c, ref, (Side)side, b->K[k], true, number));
    }
  }
  PetscCall(CuSparseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}
