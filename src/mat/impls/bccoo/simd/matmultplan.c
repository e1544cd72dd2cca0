/* Coding simd: chooses the methods, described in matmult.h, for products with dense matrices */
#include "matmult.h"

typedef struct {
  PetscCount span, sum;                         /* rows from a chunk's first to its last: the maximum over all chunks, and the sum */
  PetscCount rows;                              /* sum of the rows that have nonzeros in a chunk; in chunks of pairs, of the nonzeros */
  PetscCount follow;                            /* nonzeros in steps whose rows and columns are consecutive */
  PetscCount pairs, steps, runs, listed, bytes; /* nonzeros in pairs; steps with a column for each lane, and with one; slices whose rows are listed; of all chunks */
} Survey;

static void SurveyChunk(const BCCOOSIMDChunk *c, Survey *survey)
{
  const BCCOOSIMDStreams s     = BCCOOSIMDGetStreams(c);
  const uint8_t         *steps = s.steps;

  survey->span = PetscMax(survey->span, c->span);
  survey->sum += c->span;
  survey->rows += c->pairs ? c->n : 0;
  survey->pairs += c->pairs ? c->n : 0;
  survey->bytes += c->bytes;
  for (unsigned g = 0; g < c->nslices; g++) {
    const uint8_t *end = steps + (s.slices[g] & BCCOO_SLICE_STEPS);

    survey->rows += s.slices[g] >> 14 == BCCOO_SLICE_SINGLE ? 1 : *steps & BCCOO_STEP_LANES;
    survey->listed += s.slices[g] >> 14 == BCCOO_SLICE_LISTED;
    for (; steps < end; steps++) {
      if (*steps & (BCCOO_STEP_CONSECUTIVE | BCCOO_STEP_SAME)) survey->runs++;
      else survey->steps++;
      if (s.slices[g] >> 14 == BCCOO_SLICE_CONSECUTIVE && *steps & BCCOO_STEP_CONSECUTIVE) survey->follow += *steps & BCCOO_STEP_LANES;
    }
  }
}

/* Chooses the methods for products with dense matrices by statistics of the chunks, and places the sums of column tasks that share a column block */
PetscErrorCode BCCOOSIMDPlanDense(BCCOOSIMD *L)
{
  Survey    *survey, all = {0};
  PetscCount windows = 0;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(L->nrowblocks, &survey));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nrowblocks) if (L->nrowblocks > 1))
  for (PetscInt b = 0; b < L->nrowblocks; b++) {
    for (const BCCOOSIMDChunk *c = BCCOOSIMDTile(L, b, 0), *end = BCCOOSIMDTile(L, b, L->ncolblocks); c != end; c = BCCOOSIMDNext(c)) SurveyChunk(c, &survey[b]);
  }
  for (PetscInt b = 0; b < L->nrowblocks; b++) {
    all.span = PetscMax(all.span, survey[b].span);
    all.sum += survey[b].sum;
    all.rows += survey[b].rows;
    all.follow += survey[b].follow;
    all.pairs += survey[b].pairs;
    all.steps += survey[b].steps;
    all.runs += survey[b].runs;
    all.listed += survey[b].listed;
    all.bytes += survey[b].bytes;
  }
  PetscCall(PetscFree(survey));
  for (int t = 0; t < 2; t++) {
    const double step = t ? COST_SCATTERED : COST_GATHERED, run = t ? COST_STORED : COST_LOADED;

    L->vectortime[t] = step * ((double)all.steps + (double)all.pairs / BCCOO_SIMD_LANES) + run * (double)all.runs + COST_ROWS * (double)all.listed;
  }
  L->readtime   = COST_BYTE * (double)all.bytes;
  L->span       = all.span;
  L->rowwise    = (PetscBool)(all.sum <= BCCOO_GAPS * all.rows && L->nrowblocks * L->span <= (PetscCount)L->nnz);
  L->columnwise = (PetscBool)(!L->map && (double)all.follow >= BCCOO_FOLLOW * (double)L->nnz);
  L->window     = 0;
  for (PetscInt b = 0; b < L->nrowblocks; b++) {
    for (PetscInt r = 0; r < L->ncolblocks; r++) {
      PetscInt lo, width;

      GetWindow(L, b, r, &lo, &width);
      windows += (PetscCount)width;
      L->window = PetscMax(L->window, (PetscCount)width);
    }
  }
  L->nlocal       = 0;
  L->coltaskwidth = 0;
  for (PetscInt t = 0; t < L->nrowblocks; t++) {
    PetscInt width = 0;

    for (BCCOOColumnTask *coltask = L->coltask + L->share[t]; coltask < L->coltask + L->share[t + 1]; coltask++) {
      L->coltaskwidth = PetscMax(L->coltaskwidth, (PetscCount)coltask->width);
      if (!coltask->local) continue;
      coltask->denseoff = L->nlocal;
      width             = PetscMax(width, coltask->width);
    }
    L->nlocal += (PetscCount)width;
  }
  L->windows        = (PetscBool)(L->map || PetscMax(windows, L->nrowblocks * L->window) <= (PetscCount)L->nnz / BCCOO_SHARE);
  L->bycoltasks     = (PetscBool)(!L->windows && L->nrowblocks > 1 && L->nrowblocks * (PetscCount)L->m <= (PetscCount)L->nnz / BCCOO_SHARE && L->nrowblocks * L->coltaskwidth <= (PetscCount)L->nnz && L->m < L->n);
  L->multcolumnwise = (PetscBool)(L->columnwise || (L->near && L->nrowblocks >= BCCOO_MANY && !L->windows && !L->bycoltasks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The width of the panel that the first of K columns are multiplied in, and how many these are. The width is 1 if products with vectors take less
  time: where most columns follow each other, so that eight nonzeros take one load, or where most of the time would be spent packing. Plain C has no
  registers for 16 columns.
*/
PetscInt BCCOOSIMDPanel(const BCCOOSIMD *L, PetscBool transpose, PetscInt K, PetscInt *columns)
{
  const size_t   row    = (size_t)L->n * BCCOO_PANEL * sizeof(PetscScalar); /* bytes of X, or of V, in a panel of eight columns */
  const PetscInt widest = (2 * row <= BCCOO_DENSE_NEAR || row > BCCOO_SIMD_NODE) && L->kernels != &BCCOOSIMDKernelsPortable ? 2 * BCCOO_PANEL : BCCOO_PANEL;
  const double   region = L->nrowblocks > 1 ? COST_REGION * (double)L->nrowblocks : 0.0, vector = L->vectortime[transpose] + L->readtime + region;
  PetscInt       panel = 2;
  double         time;

  *columns = 1;
  if (K == 1 || (transpose && (L->sparse || (!L->columnwise && !L->rowwise && L->m > L->nnz)))) return 1;
  if (transpose ? L->columnwise : L->multcolumnwise) {
    if (K < BCCOO_PANEL || (L->incache && L->nrowblocks == 1)) return 1;
    *columns = BCCOO_PANEL;
    return BCCOO_PANEL;
  }
  while (panel < K && panel < widest) panel *= 2;
  time = (COST_DENSE + COST_DENSECOLUMN * (double)panel) * (double)L->nnz + COST_PACKED * (double)panel * ((double)L->m + (double)L->n) + L->readtime + region;
  if (time >= (double)PetscMin(K, panel) * vector) return 1;
  *columns = K < panel ? K : K / panel * panel;
  return panel;
}
