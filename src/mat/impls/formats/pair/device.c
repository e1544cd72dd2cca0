/* A pair on a CUDA device: the CSR that both forms are stored from, and the choice of a form for each product, by timing */
#include "pair.h"

#if defined(PETSCCSRC_HAVE_CUDA)
  #include "cuda/device.h"
  #include <petscdevice_cuda.h>

  #define TIMED_COLUMNS 16   /* products are timed with at most this many columns of dense operands, ... */
  #define TIMED_MS      0.2  /* ... in groups of this many milliseconds */
  #define GAIN          0.98 /* a form takes the place of another one if its products take less than this fraction of the time: smaller gains might be noise (V31) */

static PetscErrorCode Upload(const char what[], const void *host, size_t bytes, void *device)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCDeviceMalloc(what, bytes, device));
  PetscCall(PetscCSRCDeviceUpload(*(void **)device, host, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJPairUpload(const AIJCSR *csr, PetscBool pattern, AIJMadeCSR *made)
{
  const size_t nnz = (size_t)csr->nnz;

  PetscFunctionBegin;
  *made = (AIJMadeCSR){.csr = *csr};
  if (pattern && !csr->device.i) PetscCall(Upload("row pointers", csr->i, ((size_t)csr->m + 1) * sizeof(*csr->i), &made->i));
  if (pattern && !csr->device.j) PetscCall(Upload("columns", csr->j, nnz * sizeof(*csr->j), &made->j));
  if (!csr->device.a) PetscCall(Upload("values", csr->a, nnz * sizeof(*csr->a), &made->a));
  if (made->i) made->csr.device.i = made->i;
  if (made->j) made->csr.device.j = made->j;
  if (made->a) made->csr.device.a = made->a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJPairUploadFree(AIJMadeCSR *made)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCDeviceFree(&made->i));
  PetscCall(PetscCSRCDeviceFree(&made->j));
  PetscCall(PetscCSRCDeviceFree(&made->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operands with K columns, and events, to time products with; all zero at first */
typedef struct {
  PetscInt     m, n, K;
  PetscScalar *x, *y;
  cudaEvent_t  begin, end;
} Timer;

/* *fits: whether device memory suffices for the operands */
static PetscErrorCode TimerCreate(const AIJCSR *csr, PetscInt columns, Timer *timer, PetscBool *fits)
{
  const size_t bytes = (size_t)PetscMax(csr->m, csr->n) * (size_t)columns * sizeof(PetscScalar);
  cudaStream_t stream;
  cudaError_t  cerr;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  timer->m = csr->m;
  timer->n = csr->n;
  timer->K = columns;
  cerr     = cudaMalloc((void **)&timer->x, bytes);
  if (cerr == cudaSuccess) cerr = cudaMalloc((void **)&timer->y, bytes);
  *fits = cerr == cudaErrorMemoryAllocation ? PETSC_FALSE : PETSC_TRUE;
  if (!*fits) {
    (void)cudaGetLastError();
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallCUDA(cerr);
  PetscCallCUDA(cudaMemsetAsync(timer->x, 0, bytes, stream));
  PetscCallCUDA(cudaEventCreate(&timer->begin));
  PetscCallCUDA(cudaEventCreate(&timer->end));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TimerDestroy(Timer *timer)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCDeviceFree(&timer->x));
  PetscCall(PetscCSRCDeviceFree(&timer->y));
  if (timer->begin) PetscCallCUDA(cudaEventDestroy(timer->begin));
  if (timer->end) PetscCallCUDA(cudaEventDestroy(timer->end));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TimerProduct(const Timer *timer, const AIJStored *form, AIJOp op)
{
  const PetscInt ldx = op == AIJ_N ? timer->n : timer->m, ldy = op == AIJ_N ? timer->m : timer->n;

  PetscFunctionBegin;
  if (timer->K == 1) PetscCall((*form->format->apply)(form->data, op, timer->x, NULL, timer->y));
  else PetscCall((*form->format->applydense)(form->data, op, timer->K, timer->x, ldx, timer->y, ldy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Microseconds of a product: the median of five groups, each of which lasts TIMED_MS milliseconds, or five products if these take longer */
static PetscErrorCode TimerRun(const Timer *timer, const AIJStored *form, AIJOp op, PetscLogDouble *us)
{
  PetscReal    ms[7];
  int          times = 5;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  for (int g = 0; g < 7; g++) { /* the first two groups warm up and determine the length of a group */
    float all;

    PetscCallCUDA(cudaEventRecord(timer->begin, stream));
    for (int t = 0; t < times; t++) PetscCall(TimerProduct(timer, form, op));
    PetscCallCUDA(cudaEventRecord(timer->end, stream));
    PetscCallCUDA(cudaEventSynchronize(timer->end));
    PetscCallCUDA(cudaEventElapsedTime(&all, timer->begin, timer->end));
    ms[g] = (PetscReal)all / times;
    if (g == 1) times = PetscMax(5, (int)PetscMin(TIMED_MS / ms[1], 100));
  }
  PetscCall(PetscSortReal(5, ms + 2));
  *us = 1000.0 * ms[4];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJPairChoose(const AIJStored form[2], const AIJCSR *csr, PetscInt columns, int uses[2])
{
  Timer          timer    = {0};
  PetscLogDouble us[2][2] = {{0}}, both = 0; /* us[p][k]: time of product p with form k */
  PetscErrorCode ierr;
  PetscBool      fits = PETSC_TRUE;

  PetscFunctionBegin;
  ierr = TimerCreate(csr, columns < AIJ_DENSE_COLUMNS ? 1 : PetscMin(columns, TIMED_COLUMNS), &timer, &fits);
  for (int p = 0; p < 2 && fits && !ierr; p++) {
    for (int k = 0; k < 2 && !ierr; k++) ierr = TimerRun(&timer, &form[k], p ? AIJ_T : AIJ_N, &us[p][k]);
    if (!ierr) ierr = PetscInfo(NULL, "%s takes %g us with the copy for A x, %g us with the copy for A^T x\n", p ? "A^T x" : "A x", us[p][0], us[p][1]);
    if (us[p][!p] < GAIN * us[p][p]) uses[p] = !p;
    both += us[p][uses[p]];
  }
  PetscCall(TimerDestroy(&timer));
  PetscCall(ierr);
  if (fits) {
    const int best = us[0][1] + us[1][1] < us[0][0] + us[1][0] ? 1 : 0;

    if (both >= GAIN * (us[0][best] + us[1][best])) uses[0] = uses[1] = best;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
