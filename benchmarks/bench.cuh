#pragma once

/* What a benchmark has in hand: options, clock, and the table of all that was measured, also as CSV */
#include <petscmat.h>
#include <petscdevice_cuda.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#define BENCH_MAXK 16

typedef struct {
  char      matrix[64], what[64];
  PetscInt  K;
  double    us; /* negative where nothing was timed */
  PetscBool wrong;
} BenchRow;

typedef struct {
  PetscBool    gpu, spmm, transposed;
  PetscInt     groups, setuprepeats;
  PetscInt     nK, K[BENCH_MAXK]; /* columns of the dense operands */
  PetscReal    scale;
  FILE        *csv;
  cudaStream_t stream; /* PETSc's, for cuSPARSE too */
  cudaEvent_t  start, stop;

  /* the matrix at hand */
  const char *matrix;
  PetscInt    m, n;
  double      nnz;

  std::vector<BenchRow> rows;
  PetscInt              nwrong;
} Bench;

/* The start of every benchmark, with Bench all zero: what is the same for all of them, and their common options */
static PetscErrorCode BenchBegin(Bench *b, PetscInt setuprepeats)
{
  char        csv[PETSC_MAX_PATH_LEN];
  PetscMPIInt size;
  PetscBool   set;
  int         devices = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(size == 1, PETSC_COMM_WORLD, PETSC_ERR_WRONG_MPI_SIZE, "This benchmark measures one GPU with one process");
  b->groups       = 5;
  b->setuprepeats = setuprepeats;
  b->scale        = 1;
  b->gpu          = cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscOptionsBegin(PETSC_COMM_WORLD, "", "Benchmark", "");
  PetscCall(PetscOptionsReal("-scale", "Size of generated matrices, 1 for the original's", NULL, b->scale, &b->scale, NULL));
  PetscCall(PetscOptionsBoundedInt("-setup_repeats", "Set-ups, of which the median is taken", NULL, b->setuprepeats, &b->setuprepeats, NULL, 1));
  PetscCall(PetscOptionsString("-csv", "File for what was measured", NULL, "", csv, sizeof(csv), &set));
  PetscOptionsEnd();
  if (set) PetscCheck((b->csv = fopen(csv, "w")), PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "-csv %s: cannot be written", csv);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The end: the verdict, if anything was measured; right says what is, if nothing was wrong */
static PetscErrorCode BenchEnd(Bench *b, const char right[])
{
  PetscFunctionBegin;
  if (b->nwrong) PetscCall(PetscPrintf(PETSC_COMM_SELF, "\nWRONG: %" PetscInt_FMT " of %zu lines, see above\n", b->nwrong, b->rows.size()));
  else if (b->rows.size()) PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n%s\n", right));
  if (b->csv) fclose(b->csv);
  if (b->gpu) {
    PetscCallCUDA(cudaEventDestroy(b->start));
    PetscCallCUDA(cudaEventDestroy(b->stop));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Microseconds of one product: the median over groups of at most 50 products, launched back to back between two events.
  The count is such that a group takes some twenty milliseconds.
*/
template <class Product>
static PetscErrorCode BenchTime(Bench *b, const Product &product, double *us)
{
  std::vector<double> times;
  float               ms;
  int                 count;

  PetscFunctionBegin;
  *us = -1;
  if (!b->gpu) PetscFunctionReturn(PETSC_SUCCESS);
  for (int warm = 0; warm < 2; warm++) PetscCall(product());
  PetscCallCUDA(cudaEventRecord(b->start, b->stream));
  PetscCall(product());
  PetscCallCUDA(cudaEventRecord(b->stop, b->stream));
  PetscCallCUDA(cudaEventSynchronize(b->stop));
  PetscCallCUDA(cudaEventElapsedTime(&ms, b->start, b->stop));
  count = (int)std::min(50.0, std::max(1.0, 20.0 / std::max((double)ms, 1e-3)));
  for (PetscInt group = 0; group < b->groups; group++) {
    PetscCallCUDA(cudaEventRecord(b->start, b->stream));
    for (int t = 0; t < count; t++) PetscCall(product());
    PetscCallCUDA(cudaEventRecord(b->stop, b->stream));
    PetscCallCUDA(cudaEventSynchronize(b->stop));
    PetscCallCUDA(cudaEventElapsedTime(&ms, b->start, b->stop));
    times.push_back(1e3 * ms / count);
  }
  std::sort(times.begin(), times.end());
  *us = times[times.size() / 2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The most columns of an operand */
static inline PetscInt BenchMostColumns(const Bench *b)
{
  return b->nK ? *std::max_element(b->K, b->K + b->nK) : 1;
}

static inline double Median(std::vector<double> values)
{
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/*
  One line of the table and of the CSV. K is 1 for a vector and 0 for what is no product; bytes is what the device holds for
  this product between calls, us and error are negative where there are none.
*/
static PetscErrorCode BenchRecord(Bench *b, const char what[], PetscInt K, double us, double bytes, double error)
{
  const double gflops = K > 0 && us > 0 ? 2e-3 * b->nnz * K / us : -1, pernonzero = bytes >= 0 ? bytes / std::max(b->nnz, 1.0) : -1;
  const double values[] = {us, gflops, pernonzero, error};
  const char  *text[] = {"%12.2f", "%10.1f", "%8.2f", "%10.1e"}, *csv[] = {"%.3f", "%.2f", "%.3f", "%.3e"};
  const int    width[] = {12, 10, 8, 10};
  BenchRow     row;
  char         number[32];

  PetscFunctionBegin;
  if (b->csv && b->rows.empty()) fprintf(b->csv, "matrix,rows,columns,nonzeros,what,K,microseconds,GFLOP/s,bytes per nonzero,error\n");
  PetscCall(PetscStrncpy(row.matrix, b->matrix, sizeof(row.matrix)));
  PetscCall(PetscStrncpy(row.what, what, sizeof(row.what)));
  row.K     = K;
  row.us    = us;
  row.wrong = error > 1 ? PETSC_TRUE : PETSC_FALSE;
  b->rows.push_back(row);
  if (row.wrong) b->nwrong++;

  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-28s", what));
  if (K) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%4" PetscInt_FMT, K));
  else PetscCall(PetscPrintf(PETSC_COMM_SELF, "    "));
  if (b->csv) fprintf(b->csv, "%s,%lld,%lld,%.0f,%s,%lld", b->matrix, (long long)b->m, (long long)b->n, b->nnz, what, (long long)K);
  for (int v = 0; v < 4; v++) {
    number[0] = 0;
    if (values[v] >= 0) snprintf(number, sizeof(number), text[v], values[v]);
    PetscCall(PetscPrintf(PETSC_COMM_SELF, " %*s", width[v], number));
    number[0] = 0;
    if (values[v] >= 0) snprintf(number, sizeof(number), csv[v], values[v]);
    if (b->csv) fprintf(b->csv, ",%s", number);
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s\n", row.wrong ? "  WRONG" : ""));
  if (b->csv) {
    fprintf(b->csv, "\n");
    fflush(b->csv); /* a run that is cut off keeps what it measured */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The least time at K among what begins with a prefix, or at K = 0 has this name, and was right; infinity if there is none */
static double BenchBest(const Bench *b, const char matrix[], const char prefix[], PetscInt K)
{
  double best = INFINITY;

  for (const BenchRow &row : b->rows) {
    if (!strcmp(row.matrix, matrix) && !(K ? strncmp(row.what, prefix, strlen(prefix)) : strcmp(row.what, prefix)) && row.K == K && row.us > 0 && !row.wrong) best = std::min(best, row.us);
  }
  return best;
}

/* A line about the machine or the run, on stdout and as a comment in the CSV */
static PetscErrorCode BenchComment(Bench *b, const char text[])
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "# %s\n", text));
  if (b->csv) fprintf(b->csv, "# %s\n", text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How fast multiprocessors tick while they work: their clock against the time, for some milliseconds on all of them */
static __global__ void ClockKernel(long long *cycles, unsigned long long *ns)
{
  unsigned long long begin, now;
  const long long    first = clock64();

  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < 5000000);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *cycles = clock64() - first;
    *ns     = now - begin;
  }
}

static PetscErrorCode BenchDescribeDevice(Bench *b)
{
  cudaDeviceProp      prop;
  int                 device, driver, runtime, smclock, memoryclock;
  long long          *cycles;
  unsigned long long *ns;
  char                line[256], *from, *to;
  size_t              bytes;
  double              us;

  PetscFunctionBegin;
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaGetDeviceProperties(&prop, device));
  PetscCallCUDA(cudaDriverGetVersion(&driver));
  PetscCallCUDA(cudaRuntimeGetVersion(&runtime));
  PetscCallCUDA(cudaDeviceGetAttribute(&smclock, cudaDevAttrClockRate, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&memoryclock, cudaDevAttrMemoryClockRate, device));
  PetscCall(PetscSNPrintf(line, sizeof(line), "GPU %s, %d multiprocessors, L2 %d MB, memory %.0f GB", prop.name, prop.multiProcessorCount, prop.l2CacheSize >> 20, (double)prop.totalGlobalMem / 1e9));
  PetscCall(BenchComment(b, line));

  PetscCallCUDA(cudaMallocManaged(&cycles, sizeof(*cycles)));
  PetscCallCUDA(cudaMallocManaged(&ns, sizeof(*ns)));
  for (int turn = 0; turn < 10; turn++) ClockKernel<<<prop.multiProcessorCount, 128, 0, b->stream>>>(cycles, ns);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall(PetscSNPrintf(line, sizeof(line), "clocks: multiprocessors at most %.0f MHz, measured %.0f MHz; memory at most %.0f MHz", smclock / 1e3, 1e3 * (double)*cycles / (double)*ns, memoryclock / 1e3));
  PetscCall(BenchComment(b, line));
  PetscCallCUDA(cudaFree(cycles));
  PetscCallCUDA(cudaFree(ns));

  bytes = std::min((size_t)1 << 30, prop.totalGlobalMem / 8);
  PetscCallCUDA(cudaMalloc(&from, bytes));
  PetscCallCUDA(cudaMalloc(&to, bytes));
  PetscCall(BenchTime(
    b,
    [&]() -> PetscErrorCode {
      PetscFunctionBegin;
      PetscCallCUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, b->stream));
      PetscFunctionReturn(PETSC_SUCCESS);
    },
    &us));
  PetscCallCUDA(cudaFree(from));
  PetscCallCUDA(cudaFree(to));
  PetscCall(PetscSNPrintf(line, sizeof(line), "copy bandwidth %.0f GB/s, reads and writes counted", 2e-3 * (double)bytes / us));
  PetscCall(BenchComment(b, line));
  PetscCall(PetscSNPrintf(line, sizeof(line), "CUDA driver %d.%d, runtime %d.%d, compiled with %d.%d", driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10));
  PetscCall(BenchComment(b, line));
  PetscFunctionReturn(PETSC_SUCCESS);
}
