/* Chooses the layout of a matrix on a CUDA device by timing products. */
#include "mat/impls/csrc/balanced/balancedimpl.cuh"
#include "cuda/memory.cuh"
#include <algorithm>

/* One of the layouts that are tried */
typedef struct {
  const char          *name;
  const CSRCLayoutOps *ops;
  CSRCBalancedParams   params; /* of the balanced one */
  PetscBool            other;  /* blocks of columns where the rule takes rows, or the other way round */
} CSRCCandidate;

static const CSRCCandidate Candidates[] = {
  {"balanced, by rule",                    &CSRCLayoutBalancedCUDA, {1, -1, true, NULL, 1},                 PETSC_FALSE},
  {"balanced, consecutive",                &CSRCLayoutBalancedCUDA, {1, CSRC_CONSECUTIVE, true, NULL, 1},   PETSC_FALSE},
  {"balanced, interleaved",                &CSRCLayoutBalancedCUDA, {1, CSRC_INTERLEAVED, true, NULL, 1},   PETSC_FALSE},
  {"balanced, teams, consecutive",         &CSRCLayoutBalancedCUDA, {0.5, CSRC_CONSECUTIVE, true, NULL, 1}, PETSC_FALSE},
  {"balanced, teams, interleaved",         &CSRCLayoutBalancedCUDA, {0.5, CSRC_INTERLEAVED, true, NULL, 1}, PETSC_FALSE},
  {"balanced, blocks the other way round", &CSRCLayoutBalancedCUDA, {1, -1, true, NULL, 1},                 PETSC_TRUE },
  {"paper",                                &CSRCLayoutPaperCUDA,    {},                                     PETSC_FALSE}
};

/* A layout replaces the rule's choice only if it takes less than this times as long: smaller gains might be noise */
#define CSRC_TUNE_GAIN 0.98

/* What products are timed with */
typedef struct {
  PetscScalar *x, *y;
  cudaEvent_t  begin, end;
} CSRCTimer;

static PetscErrorCode CSRCTimerCreate(const AIJCSR *csr, CSRCTimer *timer, PetscBool *fits)
{
  const size_t bytes = (size_t)PetscMax(csr->m, csr->n) * sizeof(PetscScalar);
  cudaStream_t stream;
  cudaError_t  cerr;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  cerr = cudaMalloc((void **)&timer->x, bytes);
  if (cerr == cudaSuccess) cerr = cudaMalloc((void **)&timer->y, bytes);
  PetscCall(CSRCCheckMemory(cerr, "vectors to time products with", 2 * bytes, fits));
  if (!*fits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemsetAsync(timer->x, 0, bytes, stream));
  PetscCallCUDA(cudaEventCreate(&timer->begin));
  PetscCallCUDA(cudaEventCreate(&timer->end));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCTimerDestroy(CSRCTimer *timer)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCDeviceFree(&timer->x));
  PetscCall(PetscCSRCDeviceFree(&timer->y));
  if (timer->begin) PetscCallCUDA(cudaEventDestroy(timer->begin));
  if (timer->end) PetscCallCUDA(cudaEventDestroy(timer->end));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Microseconds of A x and A^T x together: the median of five groups of a millisecond each, or of five pairs if these take longer */
static PetscErrorCode CSRCTimerRun(const CSRCTimer *timer, const CSRCLayoutOps *ops, void *data, PetscLogDouble *us)
{
  float        ms[7];
  int          pairs = 5;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  for (int group = 0; group < 7; group++) { /* the first two warm up and tell how long a pair takes */
    PetscCallCUDA(cudaEventRecord(timer->begin, stream));
    for (int t = 0; t < pairs; t++) {
      PetscCall((*ops->apply)(data, AIJ_N, timer->x, NULL, timer->y));
      PetscCall((*ops->apply)(data, AIJ_T, timer->x, NULL, timer->y));
    }
    PetscCallCUDA(cudaEventRecord(timer->end, stream));
    PetscCallCUDA(cudaEventSynchronize(timer->end));
    PetscCallCUDA(cudaEventElapsedTime(&ms[group], timer->begin, timer->end));
    ms[group] /= (float)pairs;
    if (group == 1) pairs = PetscMax(5, (int)PetscMin(1 / ms[1], 100));
  }
  std::sort(ms + 2, ms + 7);
  *us = 1000.0 * ms[4];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* fits NULL: a candidate that does not fit the device's memory is an error */
static PetscErrorCode CSRCCandidateBuild(const CSRCCandidate *c, const AIJCSR *csr, PetscBool bycolumns, PetscBool reproducible, PetscBool *fits, void **data)
{
  PetscFunctionBegin;
  if (c->ops == &CSRCLayoutPaperCUDA) {
    PetscCall((*c->ops->build)(csr, 1, MAT_CSRC_ORIENTATION_ROWS, fits, data));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(CSRCBalancedCUDABuildWith(csr, c->params, c->other ? PetscNot(bycolumns) : bycolumns, fits, data));
  if (*data) PetscCall(CSRCLayoutBalancedSetReproducible(*data, reproducible));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Builds one candidate, times it and destroys it; *fits is PETSC_FALSE if it does not fit the device's memory */
static PetscErrorCode CSRCCandidateTime(const CSRCCandidate *c, const AIJCSR *csr, PetscBool bycolumns, PetscBool reproducible, const CSRCTimer *timer, PetscBool *fits, int *order, PetscLogDouble *us)
{
  void          *data = NULL;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(CSRCCandidateBuild(c, csr, bycolumns, reproducible, fits, &data));
  if (!*fits) PetscFunctionReturn(PETSC_SUCCESS);
  if (c->ops == &CSRCLayoutBalancedCUDA) {
    *order = ((CSRCBalancedCUDA *)data)->form.order;
    ierr   = CSRCBalancedCUDAPrepareRepeat((CSRCBalancedCUDA *)data, fits);
  }
  if (!ierr && *fits) ierr = CSRCTimerRun(timer, c->ops, data, us);
  PetscCall((*c->ops->destroy)(&data));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The fastest of the candidates; NULL if none could be timed */
static PetscErrorCode CSRCChooseCandidate(const AIJCSR *csr, PetscBool bycolumns, PetscBool mayturn, PetscBool paper, PetscBool reproducible, const CSRCTimer *timer, const CSRCCandidate **best, PetscLogDouble *bestus)
{
  int ruleorder = -1;

  PetscFunctionBegin;
  *best = NULL;
  for (const CSRCCandidate &c : Candidates) {
    PetscLogDouble us    = 0;
    PetscBool      fits  = PETSC_TRUE;
    int            order = -1;

    if ((c.other && !mayturn) || (c.ops == &CSRCLayoutPaperCUDA && !paper)) continue;
    if (ruleorder >= 0 && !c.other && c.params.persm == 1 && c.params.order == ruleorder) continue; /* the same as the rule's choice */
    PetscCall(CSRCCandidateTime(&c, csr, bycolumns, reproducible, timer, &fits, &order, &us));
    if (&c == Candidates) ruleorder = order;
    if (fits) PetscCall(PetscInfo(NULL, "Layout %s: A x and A^T x take %g us\n", c.name, us));
    else PetscCall(PetscInfo(NULL, "Layout %s does not fit the device's memory: left out\n", c.name));
    if (fits && (!*best || us < CSRC_TUNE_GAIN * *bestus)) {
      *best   = &c;
      *bestus = us;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  One candidate after the other is built, timed and destroyed, and the fastest is built again: so the device never has to hold two, and
  one that it cannot hold is left out.
*/
PetscErrorCode CSRCLayoutTune(const AIJCSR *csr, MatCSRCOrientation orientation, PetscBool paper, PetscBool reproducible, const CSRCLayoutOps **ops, void **data, PetscLogDouble *us)
{
  const CSRCCandidate *best  = NULL;
  CSRCTimer            timer = {};
  PetscBool            bycolumns, fits;
  PetscErrorCode       ierr;

  PetscFunctionBegin;
  *ops  = NULL;
  *data = NULL;
  PetscCall(CSRCBalancedCUDAByColumns(csr, orientation, &bycolumns));
  ierr = CSRCTimerCreate(csr, &timer, &fits);
  if (!ierr && fits) ierr = CSRCChooseCandidate(csr, bycolumns, orientation == MAT_CSRC_ORIENTATION_AUTO ? PETSC_TRUE : PETSC_FALSE, paper, reproducible, &timer, &best, us);
  PetscCall(CSRCTimerDestroy(&timer));
  PetscCall(ierr);
  if (!best) {
    PetscCall(PetscInfo(NULL, "The device's memory leaves no room to time layouts: the rule decides\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscInfo(NULL, "Layout %s is taken\n", best->name));
  PetscCall(CSRCCandidateBuild(best, csr, bycolumns, reproducible, NULL, data));
  *ops = best->ops;
  PetscFunctionReturn(PETSC_SUCCESS);
}
