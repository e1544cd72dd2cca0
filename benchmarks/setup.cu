/*
  Measures on one GPU how long it takes to make the balanced layout of CSRC and to set new values, after how many products the set-up has
  paid back, and what PETSc adds to the time of a product. README.md in this folder explains its use.

  The program calls the set-up itself, below PETSc's matrix types. Like cusparseCsr2cscEx2(), its baseline, the set-up takes a CSR
  on the device. The program products measures what it costs if a CSR is assembled on the host.
*/
static char help[] = "Measures the set-up of csrccuda's balanced layout from a CSR on the device, against cuSPARSE's csr2csc, and what PETSc adds to its products.\n"
                     "  -matrices all|small|<names> : generated matrices: all 17, the small ones, or some by name; default: small\n"
                     "  -dir <folder>               : all Matrix Market and *.petsc (binary) files of a folder\n"
                     "  -scale <1>                  : makes generated matrices smaller, for a trial\n"
                     "  -setup_repeats <5>          : set-ups, of which the median is taken\n"
                     "  -csv <file>                 : writes what was measured there\n"
                     "Without a GPU nothing is measured.\n\n";

#include <petscmat.h>

#if defined(PETSC_USE_COMPLEX) || !defined(PETSC_USE_REAL_DOUBLE) || defined(PETSC_USE_64BIT_INDICES)
int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "This benchmark compares real matrices in double precision with 32-bit indices; this PETSc has others. Nothing was measured.\n"));
  PetscCall(PetscFinalize());
  return 0;
}
#else

  #include "csrccudaproducts.cuh"
  #include "cusparseproducts.cuh"
  #include "matrixlist.h"
  #include "cuda/csrtranspose.cuh"
  #include "mat/impls/csrc/balanced/setup/build.cuh"

/* A pool for scratch of set-ups. It keeps freed memory, so that the next set-up gets it without the driver. */
struct Workspace {
  cudaMemPool_t pool = nullptr;

  ~Workspace()
  {
    if (pool) (void)cudaMemPoolDestroy(pool);
  }
  cudaError_t create(int device)
  {
    cudaMemPoolProps props = {};
    uint64_t         all   = UINT64_MAX;

    props.allocType     = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id   = device;
    CSRCTry(cudaMemPoolCreate(&pool, &props));
    return cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
  }
};

/*
  Wall-clock microseconds of a task, with the device idle at its end: the median; a first run, which loads kernels and fills pools, is not
  counted
*/
template <class Task>
static PetscErrorCode Wall(const Bench *b, const Task &task, double *us)
{
  std::vector<double> times;

  PetscFunctionBegin;
  for (PetscInt turn = 0; turn <= b->setuprepeats; turn++) {
    PetscLogDouble begin, end;

    PetscCallCUDA(cudaDeviceSynchronize());
    PetscCall(PetscTime(&begin));
    PetscCall(task());
    PetscCallCUDA(cudaDeviceSynchronize());
    PetscCall(PetscTime(&end));
    if (turn) times.push_back(1e6 * (end - begin));
  }
  *us = Median(times);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes the error of A x with a layout */
static PetscErrorCode Check(const Bench *b, const Reference *ref, const CuSparse *c, const CSRCBalancedMatrix<double> &form, double *error)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(c->Y, 0xff, (size_t)c->m * sizeof(double), b->stream));
  PetscCallCUDA(CSRCBalancedMult<false>(form, c->X, (const double *)NULL, c->Y, b->stream));
  PetscCallCUDA(cudaMemcpyAsync(c->host, c->Y, (size_t)c->m * sizeof(double), cudaMemcpyDeviceToHost, b->stream));
  PetscCallCUDA(cudaStreamSynchronize(b->stream));
  PetscCall(ReferenceCheck(ref, PETSC_FALSE, 1, c->host, ref->m, error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of A in reverse, on the device, and whether this makes a difference; the caller frees */
static PetscErrorCode ReversedValues(Mat A, size_t nnz, double **reversed, bool *differ)
{
  const PetscScalar  *a;
  std::vector<double> values(nnz);

  PetscFunctionBegin;
  PetscCall(MatSeqAIJGetArrayRead(A, &a));
  for (size_t k = 0; k < nnz; k++) values[k] = (double)PetscRealPart(a[nnz - 1 - k]);
  *differ = !std::equal(values.begin(), values.end(), a);
  PetscCall(MatSeqAIJRestoreArrayRead(A, &a));
  PetscCallCUDA(cudaMalloc(reversed, nnz * sizeof(double)));
  PetscCallCUDA(cudaMemcpy(*reversed, values.data(), nnz * sizeof(double), cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The baselines of a product with one vector, the bare kernels, and the same products through PETSc */
static PetscErrorCode MeasureProducts(Bench *b, Mat A, const Reference *ref, CuSparse *c, const CSRCBalancedMatrix<double> &form)
{
  Mat    B;
  double us;

  PetscFunctionBegin;
  for (int side = CSR_N; side <= STORED_T; side++) {
    for (int number = 1; number <= 2; number++) PetscCall(CuSparseCSR(b, c, ref, (Side)side, number));
  }
  PetscCall(BenchTime(
    b,
    [&]() -> PetscErrorCode {
      PetscFunctionBegin;
      PetscCallCUDA(CSRCBalancedMult<false>(form, c->X, (const double *)NULL, c->Y, b->stream));
      PetscFunctionReturn(PETSC_SUCCESS);
    },
    &us));
  PetscCall(BenchRecord(b, "kernel_N", 1, us, -1, -1));
  PetscCall(BenchTime(
    b,
    [&]() -> PetscErrorCode {
      PetscFunctionBegin;
      PetscCallCUDA(CSRCBalancedMultTranspose<false>(form, c->U, (const double *)NULL, c->V, b->stream));
      PetscFunctionReturn(PETSC_SUCCESS);
    },
    &us));
  PetscCall(BenchRecord(b, "kernel_T", 1, us, -1, -1));
  PetscCall(CreateCSRC(A, "balanced", &B));
  for (int transposed = 0; transposed <= 1; transposed++) PetscCall(MeasureVector(b, B, ref, "balanced", transposed ? PETSC_TRUE : PETSC_FALSE));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Measures the CSR of A^T as it is made for MatTranspose() and for blocks of columns; that of cuSPARSE is in c, with the same order within
  columns
*/
static PetscErrorCode MeasureTranspose(Bench *b, const CuSparse *c, cudaMemPool_t pool)
{
  const size_t        nnz = (size_t)c->nnz;
  std::vector<int>    j[2], i(c->n + 1);
  std::vector<double> a[2];
  double              us   = 0;
  bool                same = false;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    j[k].resize(nnz);
    a[k].resize(nnz);
  }
  PetscCall(Wall(
    b,
    [&]() -> PetscErrorCode {
      CSRCScratch                 kept(b->stream, pool);
      CSRCTransposed<double, int> t;

      PetscFunctionBegin;
      PetscCallCUDA(CSRCTransposeCSR(c->m, c->n, c->nnz, c->i, c->j, c->a, kept, &t));
      if (!same) {
        PetscCallCUDA(cudaMemcpy(j[0].data(), t.column, nnz * sizeof(int), cudaMemcpyDeviceToHost));
        PetscCallCUDA(cudaMemcpy(a[0].data(), t.value, nnz * sizeof(double), cudaMemcpyDeviceToHost));
        PetscCallCUDA(cudaMemcpy(j[1].data(), c->tj, nnz * sizeof(int), cudaMemcpyDeviceToHost));
        PetscCallCUDA(cudaMemcpy(a[1].data(), c->ta, nnz * sizeof(double), cudaMemcpyDeviceToHost));
        PetscCallCUDA(cudaMemcpy(i.data(), c->ti, i.size() * sizeof(int), cudaMemcpyDeviceToHost));
        same = j[0] == j[1] && a[0] == a[1] && i == t.hoststart;
        PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The CSR of A^T is not csr2csc's");
      }
      PetscFunctionReturn(PETSC_SUCCESS);
    },
    &us));
  PetscCall(BenchRecord(b, "transpose_csrccuda", 0, us, c->tbytes, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureMatrix(Bench *b, const MatrixSource *source)
{
  Mat                        A;
  Reference                  ref;
  CuSparse                   c;
  CSRCBalancedMatrix<double> form   = {};
  CSRCBalancedRefill<double> refill = {};
  Workspace                  workspace;
  CSRCBalancedParams         params = {0, -1, true, NULL, 1, 0, 0, CSRC_SPLIT_FROM, CSRC_PAIR_FROM};
  cudaMemPool_t              pool;
  uint64_t                   pooled, kept;
  double                     us       = 0, error, bytes;
  double                    *reversed = NULL;
  bool                       fits, differ = true;
  int                        device;
  const auto                 build = [&](bool keepfrom) -> PetscErrorCode {
    PetscFunctionBegin;
    PetscCallCUDA(CSRCBalancedFree(&form, &refill));
    PetscCallCUDA(CSRCBalancedBuild(CSRCSource<double, int>{c.m, c.n, c.nnz, ref.i, c.i, c.j, c.a}, params, keepfrom, b->stream, &form, &refill));
    PetscFunctionReturn(PETSC_SUCCESS);
  };

  PetscFunctionBegin;
  PetscCall(MatrixSourceLoad(PETSC_COMM_SELF, source, b->scale, &A));
  PetscCall(ReferenceCreate(A, 1, &ref));
  b->matrix = source->name;
  b->m      = ref.m;
  b->n      = ref.n;
  b->nnz    = (double)ref.i[ref.m];
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n%s: %" PetscInt_FMT " x %" PetscInt_FMT ", %.0f nonzeros\n", b->matrix, b->m, b->n, b->nnz));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-28s%4s %12s %10s %8s %10s\n", "what", "", "us", "", "B/nnz", "error"));
  PetscCall(CuSparseCreate(b, &ref, 1, &c)); /* also records the time of csr2csc */
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetDefaultMemPool(&pool, device));

  /* as in programs: the workspace is allocated and freed by each set-up */
  PetscCall(Wall(
    b, [&] { return build(false); }, &us));
  PetscCall(Check(b, &ref, &c, form, &error));
  bytes = CSRCBalancedBytes(form);
  PetscCall(BenchRecord(b, "setup_csrccuda_alloc", 0, us, bytes, error));

  /* with a workspace that is kept, and a pool that keeps the memory of the result */
  pooled = UINT64_MAX;
  PetscCallCUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &pooled));
  PetscCallCUDA(workspace.create(device));
  params.workspace = workspace.pool;
  PetscCall(Wall(
    b, [&] { return build(false); }, &us));
  PetscCall(Check(b, &ref, &c, form, &error));
  PetscCall(BenchRecord(b, "setup_csrccuda", 0, us, bytes, error));
  PetscCallCUDA(cudaMemPoolGetAttribute(workspace.pool, cudaMemPoolAttrUsedMemHigh, &kept));
  PetscCall(BenchRecord(b, "setup_csrccuda_workspace", 0, -1, (double)kept, -1));
  PetscCall(MeasureTranspose(b, &c, workspace.pool));
  PetscCallCUDA(CSRCBalancedFree(&form, &refill));
  pooled = 0;
  PetscCallCUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &pooled));
  PetscCallCUDA(cudaMemPoolTrimTo(pool, 0));

  /* new values; first others, to see that they arrive */
  PetscCall(build(true));
  PetscCall(ReversedValues(A, (size_t)c.nnz, &reversed, &differ));
  PetscCallCUDA(CSRCBalancedSetValues(&form, &refill, reversed, b->stream, &fits));
  PetscCheck(fits, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The same values in another order do not fit");
  PetscCall(Check(b, &ref, &c, form, &error));
  PetscCheck(error > 1 || !differ, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Products have the old values");
  PetscCallCUDA(cudaFree(reversed));
  PetscCall(Wall(
    b,
    [&]() -> PetscErrorCode {
      PetscFunctionBegin;
      PetscCallCUDA(CSRCBalancedSetValues(&form, &refill, c.a, b->stream, &fits));
      PetscCheck(fits, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The same values do not fit");
      PetscFunctionReturn(PETSC_SUCCESS);
    },
    &us));
  PetscCall(Check(b, &ref, &c, form, &error));
  PetscCall(BenchRecord(b, "newvalues_csrccuda", 0, us, bytes, error));

  PetscCall(MeasureProducts(b, A, &ref, &c, form)); /* must precede the copy, which overwrites the values of the stored transpose */
  PetscCall(Wall(
    b,
    [&]() -> PetscErrorCode {
      PetscFunctionBegin;
      PetscCallCUDA(cudaMemcpyAsync(c.ta, c.a, (size_t)c.nnz * sizeof(double), cudaMemcpyDeviceToDevice, b->stream));
      PetscFunctionReturn(PETSC_SUCCESS);
    },
    &us));
  PetscCall(BenchRecord(b, "newvalues_copy", 0, us, -1, -1));
  PetscCallCUDA(CSRCBalancedFree(&form, &refill));
  PetscCall(CuSparseDestroy(&c));
  PetscCall(ReferenceDestroy(A, &ref));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The ratio of two times: geometric mean over all matrices, and the largest one */
static PetscErrorCode Ratio(const Bench *b, const MatrixList *list, const char ours[], const char baseline[])
{
  double      logs = 0, most = 0;
  const char *where = "";

  PetscFunctionBegin;
  for (PetscInt s = 0; s < list->n; s++) {
    const double ratio = BenchBest(b, list->sources[s].name, ours, 0) / BenchBest(b, list->sources[s].name, baseline, 0);

    logs += std::log(ratio);
    if (ratio > most) {
      most  = ratio;
      where = list->sources[s].name;
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-24s over %-24s %6.2f, most %.2f (%s)\n", ours, baseline, std::exp(logs / (double)list->n), most, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Microseconds of a product with A and one with A^T together */
static double Pair(const Bench *b, const char matrix[], const char first[], const char second[])
{
  return BenchBest(b, matrix, first, 1) + BenchBest(b, matrix, second, 1);
}

/*
  The number of pairs of products after which faster products have paid back the set-up: compared with the CSR of cuSPARSE, which needs no
  set-up, or with a stored transpose, which needs csr2csc. It is infinite for a matrix whose products are not faster.
*/
static PetscErrorCode PaidBack(const Bench *b, const MatrixList *list, bool stored)
{
  double      most  = 0;
  const char *where = "";

  PetscFunctionBegin;
  for (PetscInt s = 0; s < list->n; s++) {
    const char  *matrix = list->sources[s].name;
    const double gain   = Pair(b, matrix, "csr_N_", stored ? "stored_T_" : "csr_T_") - Pair(b, matrix, "csrccuda_balanced_N", "csrccuda_balanced_T");
    const double paid   = BenchBest(b, matrix, "setup_csrccuda", 0) - (stored ? BenchBest(b, matrix, "setup_csr2csc", 0) : 0);
    const double pairs  = gain > 0 ? std::max(paid, 0.0) / gain : INFINITY;

    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-24s %8.1f\n", matrix, pairs));
    if (pairs > most) {
      most  = pairs;
      where = matrix;
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  most %.1f (%s)\n", most, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Microseconds that PETSc adds to the time of the bare kernel: mean and maximum */
static PetscErrorCode Overhead(const Bench *b, const MatrixList *list, const char petsc[], const char kernel[])
{
  double sum = 0, most = -INFINITY;

  PetscFunctionBegin;
  for (PetscInt s = 0; s < list->n; s++) {
    const double more = BenchBest(b, list->sources[s].name, petsc, 1) - BenchBest(b, list->sources[s].name, kernel, 1);

    sum += more;
    most = std::max(most, more);
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-24s %6.2f, most %.2f\n", kernel, sum / (double)list->n, most));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench      b    = {};
  MatrixList list = {};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BenchBegin(&b, 5));
  PetscCall(MatrixListSetFromOptions(&list, "small"));

  PetscCall(BenchDescribe(&b));
  if (b.gpu) {
    for (PetscInt s = 0; s < list.n; s++) PetscCall(MeasureMatrix(&b, &list.sources[s]));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "\nGeometric means of times\n"));
    PetscCall(Ratio(&b, &list, "setup_csrccuda", "setup_csr2csc"));
    PetscCall(Ratio(&b, &list, "setup_csrccuda_alloc", "setup_csr2csc_alloc"));
    PetscCall(Ratio(&b, &list, "newvalues_csrccuda", "newvalues_copy"));
    PetscCall(Ratio(&b, &list, "transpose_csrccuda", "setup_csr2csc"));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "\nPairs of products after which set-up from a CSR on the device is paid back, against cuSPARSE with CSR\n"));
    PetscCall(PaidBack(&b, &list, false));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "\nThe same against a stored transpose and its csr2csc\n"));
    PetscCall(PaidBack(&b, &list, true));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "\nWhat MatMult() and MatMultTranspose() add to the bare kernels, us\n"));
    PetscCall(Overhead(&b, &list, "csrccuda_balanced_N", "kernel_N"));
    PetscCall(Overhead(&b, &list, "csrccuda_balanced_T", "kernel_T"));
  }
  PetscCall(BenchEnd(&b, "All layouts are right."));
  PetscCall(PetscFinalize());
  return b.nwrong ? 1 : 0;
}
#endif
