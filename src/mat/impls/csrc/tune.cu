/* Chooses the format of a matrix on a CUDA device by timing products. */
#include "tune.h"
#include "balanced/balanced.cuh"
#include "cuda/memory.cuh"
#include <algorithm>

/* A candidate: a format and, for the balanced layout, an order and the number of thread blocks that share a block, as in CSRCBalancedTuning */
typedef struct {
  const char      *name;
  const AIJFormat *format;
  int              order;
  int              cluster;
  PetscBool        other; /* blocks of columns where the rule chooses rows, or vice versa */
} CSRCCandidate;

static const CSRCCandidate Candidates[] = {
  {"balanced, by rule",                    &AIJFormatBalanced,   -1,               0, PETSC_FALSE},
  {"balanced, consecutive",                &AIJFormatBalanced,   CSRC_CONSECUTIVE, 1, PETSC_FALSE},
  {"balanced, interleaved",                &AIJFormatBalanced,   CSRC_INTERLEAVED, 1, PETSC_FALSE},
  {"balanced, clusters",                   &AIJFormatBalanced,   CSRC_INTERLEAVED, 2, PETSC_FALSE},
  {"balanced, blocks the other way round", &AIJFormatBalanced,   -1,               0, PETSC_TRUE },
  {"csrc",                                 &AIJFormatCSRCDevice, 0,                0, PETSC_FALSE}
};

PetscErrorCode CSRCTimerCreate(const AIJCSR *csr, PetscInt columns, CSRCTimer *timer, PetscBool *fits)
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
  PetscCall(CSRCCheckMemory(cerr, "operands to time products with", 2 * bytes, fits));
  if (!*fits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemsetAsync(timer->x, 0, bytes, stream));
  PetscCallCUDA(cudaEventCreate(&timer->begin));
  PetscCallCUDA(cudaEventCreate(&timer->end));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CSRCTimerDestroy(CSRCTimer *timer)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCDeviceFree(&timer->x));
  PetscCall(PetscCSRCDeviceFree(&timer->y));
  if (timer->begin) PetscCallCUDA(cudaEventDestroy(timer->begin));
  if (timer->end) PetscCallCUDA(cudaEventDestroy(timer->end));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCTimerProduct(const CSRCTimer *timer, const AIJStored *stored, AIJOp op)
{
  const PetscInt ldx = op == AIJ_N ? timer->n : timer->m, ldy = op == AIJ_N ? timer->m : timer->n;

  PetscFunctionBegin;
  if (timer->K == 1) PetscCall((*stored->format->apply)(stored->data, op, timer->x, NULL, timer->y));
  else PetscCall((*stored->format->applydense)(stored->data, op, timer->K, timer->x, ldx, timer->y, ldy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CSRCTimerRun(const CSRCTimer *timer, const AIJStored *stored, int nops, const AIJOp ops[], double group, PetscLogDouble *us)
{
  float        ms[7];
  int          times = 5;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  for (int g = 0; g < 7; g++) { /* the first two groups warm up and determine the length of a group */
    PetscCallCUDA(cudaEventRecord(timer->begin, stream));
    for (int t = 0; t < times; t++) {
      for (int k = 0; k < nops; k++) PetscCall(CSRCTimerProduct(timer, stored, ops[k]));
    }
    PetscCallCUDA(cudaEventRecord(timer->end, stream));
    PetscCallCUDA(cudaEventSynchronize(timer->end));
    PetscCallCUDA(cudaEventElapsedTime(&ms[g], timer->begin, timer->end));
    ms[g] /= (float)times;
    if (g == 1) times = PetscMax(5, (int)PetscMin(group / ms[1], 100));
  }
  std::sort(ms + 2, ms + 7);
  *us = 1000.0 * ms[4];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCCandidateBuild(const CSRCCandidate *c, const AIJCSR *csr, AIJPurpose purpose, PetscBool bycolumns, AIJStored *stored)
{
  const CSRCBalancedTuning *given  = (const CSRCBalancedTuning *)purpose.tuning;
  CSRCBalancedTuning        tuning = {PetscNot(bycolumns) == c->other ? CSRC_COLUMNS : CSRC_ROWS, c->order, c->cluster, given->single};

  PetscFunctionBegin;
  if (c->format == &AIJFormatBalanced) purpose.tuning = &tuning;
  PetscCall(AIJStoredBuild(stored, c->format, csr, &purpose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Builds a candidate, times it and destroys it. chosen gets what rules have chosen in it. *purpose.fits is PETSC_FALSE if device memory does not suffice. */
static PetscErrorCode CSRCCandidateTime(const CSRCCandidate *c, const AIJCSR *csr, AIJPurpose purpose, PetscBool bycolumns, const CSRCTimer *timer, CSRCCandidate *chosen, PetscLogDouble *us)
{
  const AIJOp    pair[] = {AIJ_N, AIJ_T};
  AIJStored      stored = {};
  PetscErrorCode ierr   = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(CSRCCandidateBuild(c, csr, purpose, bycolumns, &stored));
  if (!stored.format) PetscFunctionReturn(PETSC_SUCCESS);
  if (c->format == &AIJFormatBalanced) {
    ierr = CSRCBalancedGetChoice(stored.data, &chosen->order, &chosen->cluster);
    if (!ierr) ierr = CSRCBalancedPrepareReproducible(stored.data, purpose.fits);
  }
  if (!ierr && *purpose.fits) ierr = CSRCTimerRun(timer, &stored, 2, pair, 1, us);
  PetscCall(AIJStoredDestroy(&stored));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Chooses the fastest candidate; *best is NULL if none could be timed */
static PetscErrorCode CSRCChooseCandidate(const AIJCSR *csr, AIJPurpose purpose, PetscBool bycolumns, PetscBool csrc, const CSRCTimer *timer, const CSRCCandidate **best, PetscLogDouble *bestus)
{
  CSRCCandidate rule = {}; /* what it has chosen */

  PetscFunctionBegin;
  *best = NULL;
  for (const CSRCCandidate &c : Candidates) {
    CSRCCandidate  chosen = c;
    PetscLogDouble us     = 0;
    PetscBool      fits   = PETSC_TRUE;

    if (c.format == &AIJFormatCSRCDevice && !csrc) continue;
    if (!c.other && c.format == rule.format && c.order == rule.order && c.cluster == rule.cluster) continue; /* this candidate equals the choice of the rule */
    purpose.fits = &fits;
    PetscCall(CSRCCandidateTime(&c, csr, purpose, bycolumns, timer, &chosen, &us));
    if (&c == Candidates) rule = chosen;
    if (fits) PetscCall(PetscInfo(NULL, "Format %s: A x and A^T x take %g us\n", c.name, us));
    else PetscCall(PetscInfo(NULL, "Format %s does not fit the device's memory: left out\n", c.name));
    if (fits && (!*best || us < CSRC_TUNE_GAIN * *bestus)) {
      *best   = &c;
      *bestus = us;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Builds, times and destroys one candidate after the other, and builds the fastest again. Thus the device never has to hold two candidates,
  and a candidate that does not fit is left out.
*/
PetscErrorCode CSRCTune(const AIJCSR *csr, const AIJPurpose *purpose, PetscBool csrc, AIJStored *stored)
{
  const CSRCCandidate *best  = NULL;
  CSRCTimer            timer = {};
  PetscLogDouble       us    = 0;
  PetscBool            bycolumns, fits;
  PetscErrorCode       ierr;

  PetscFunctionBegin;
  PetscCall(CSRCBalancedByColumns(csr, CSRC_EITHER, &bycolumns));
  ierr = CSRCTimerCreate(csr, 1, &timer, &fits);
  if (!ierr && fits) ierr = CSRCChooseCandidate(csr, *purpose, bycolumns, csrc, &timer, &best, &us);
  PetscCall(CSRCTimerDestroy(&timer));
  PetscCall(ierr);
  if (!best) {
    PetscCall(PetscInfo(NULL, "The device's memory leaves no room to time formats: the rule decides\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscInfo(NULL, "Format %s is taken\n", best->name));
  PetscCall(CSRCCandidateBuild(best, csr, *purpose, bycolumns, stored));
  stored->timed = us;
  PetscFunctionReturn(PETSC_SUCCESS);
}
