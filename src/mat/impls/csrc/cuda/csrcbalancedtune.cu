/* The balanced layout of CSRC on a CUDA device, or the paper's: the one that timing shows to be the fastest. */
#include "csrcbalancedcuda.cuh"
#include <algorithm>

/* Microseconds of A x and A^T x together: the median of five groups of five */
static PetscErrorCode CSRCLayoutTime(const CSRCLayoutOps *ops, void *data, const AIJFormCSR *csr, PetscLogDouble *us)
{
  const size_t length = (size_t)PetscMax(csr->m, csr->n) * sizeof(PetscScalar);
  float        ms[5];
  PetscScalar *x, *y;
  cudaEvent_t  begin, end;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(AIJFormDeviceMalloc("vectors to time products with", length, &x));
  PetscCall(AIJFormDeviceMalloc("vectors to time products with", length, &y));
  PetscCallCUDA(cudaMemsetAsync(x, 0, length, stream));
  PetscCallCUDA(cudaEventCreate(&begin));
  PetscCallCUDA(cudaEventCreate(&end));
  for (int group = -1; group < 5; group++) { /* the first is to warm up */
    PetscCallCUDA(cudaEventRecord(begin, stream));
    for (int t = 0; t < 5; t++) {
      PetscCall((*ops->apply)(data, AIJFORM_N, x, NULL, y));
      PetscCall((*ops->apply)(data, AIJFORM_T, x, NULL, y));
    }
    PetscCallCUDA(cudaEventRecord(end, stream));
    PetscCallCUDA(cudaEventSynchronize(end));
    if (group >= 0) PetscCallCUDA(cudaEventElapsedTime(&ms[group], begin, end));
  }
  std::sort(ms, ms + 5);
  *us = 1000.0 * ms[2] / 5;
  PetscCallCUDA(cudaEventDestroy(begin));
  PetscCallCUDA(cudaEventDestroy(end));
  PetscCall(AIJFormDeviceFree(&x));
  PetscCall(AIJFormDeviceFree(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Builds one layout after the other and keeps the fastest: the balanced one with large and with larger blocks, in both orders; with
  the blocks that the rule would not take, of columns or of rows, if that is left open; and, if asked for, the paper's
*/
PetscErrorCode CSRCLayoutTune(const AIJFormCSR *csr, MatCSRCOrientation orientation, PetscBool paper, PetscBool reproducible, const CSRCLayoutOps **ops, void **data)
{
  const struct {
    CSRCBalancedParams params;
    bool               other; /* blocks of rows in place of columns, or the other way round */
  } candidates[] = {
    {{1, CSRC_CONSECUTIVE, true, NULL, 1, 0},   false},
    {{1, CSRC_INTERLEAVED, true, NULL, 1, 0},   false},
    {{0.5, CSRC_CONSECUTIVE, true, NULL, 1, 0}, false},
    {{0.5, CSRC_INTERLEAVED, true, NULL, 1, 0}, false},
    {{1, -1, true, NULL, 1, 0},                 true }
  };
  const int      ncandidates = (int)PETSC_STATIC_ARRAY_LENGTH(candidates);
  PetscLogDouble best        = PETSC_MAX_REAL;
  PetscBool      bycolumns;

  PetscFunctionBegin;
  *data = NULL;
  PetscCall(CSRCBalancedCUDAByColumns(csr, orientation, &bycolumns));
  for (int c = 0; c < ncandidates + (paper ? 1 : 0); c++) {
    const CSRCLayoutOps *try_  = c < ncandidates ? &CSRCLayoutBalancedCUDA : &CSRCLayoutPaperCUDA;
    void                *trial = NULL;
    PetscLogDouble       us    = 0;

    if (c < ncandidates) {
      if (candidates[c].other && orientation != MAT_CSRC_ORIENTATION_AUTO) continue;
      PetscCall(CSRCBalancedCUDABuildWith(csr, candidates[c].params, candidates[c].other ? PetscNot(bycolumns) : bycolumns, &trial));
      ((CSRCBalancedCUDA *)trial)->reproducible = reproducible;
    } else PetscCall((*try_->build)(csr, 1, orientation, &trial));
    PetscCall(CSRCLayoutTime(try_, trial, csr, &us));
    PetscCall(PetscInfo(NULL, "Layout %s, candidate %d: %g us\n", try_->name, c, us));
    if (us < best) {
      if (*data) PetscCall((*(*ops)->destroy)(data));
      best  = us;
      *ops  = try_;
      *data = trial;
      if (c < ncandidates) ((CSRCBalancedCUDA *)trial)->tuned = us;
    } else PetscCall((*try_->destroy)(&trial));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
