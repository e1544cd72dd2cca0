/* Coding simd: chooses the methods, described in matmult.h, for products with dense matrices */
#include "matmult.h"

typedef struct {
  PetscCount span, sum; /* rows from a chunk's first to its last: the maximum over all chunks, and the sum */
  PetscCount rows;      /* sum of the rows that have nonzeros in a chunk; in chunks of pairs, of the nonzeros */
  PetscCount follow;    /* nonzeros in steps whose rows and columns are consecutive */
} Survey;

static void SurveyChunk(const BCCOOSIMDChunk *c, Survey *survey)
{
  const BCCOOSIMDStreams s     = BCCOOSIMDGetStreams(c);
  const uint8_t         *steps = s.steps;

  survey->span = PetscMax(survey->span, c->span);
  survey->sum += c->span;
  survey->rows += c->pairs ? c->n : 0;
  for (unsigned g = 0; g < c->nslices; g++) {
    const uint8_t *end = steps + (s.slices[g] & BCCOO_SLICE_STEPS);

    survey->rows += s.slices[g] >> 14 == BCCOO_SLICE_SINGLE ? 1 : *steps & BCCOO_STEP_LANES;
    for (; steps < end; steps++) {
      if (s.slices[g] >> 14 == BCCOO_SLICE_CONSECUTIVE && *steps & BCCOO_STEP_CONSECUTIVE) survey->follow += *steps & BCCOO_STEP_LANES;
    }
  }
}

/* Chooses the methods for products with dense matrices by statistics of the chunks, and places the sums of column tasks that share a column block */
PetscErrorCode BCCOOSIMDPlanDense(BCCOOSIMD *L)
{
  Survey    *survey, all = {0, 0, 0, 0};
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
  }
  PetscCall(PetscFree(survey));
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

/* How many of the last of K columns take less time as products with one vector: all, if more rows than there are nonzeros would be packed, or most results are 0 */
PetscInt BCCOOSIMDDenseVectors(const BCCOOSIMD *L, PetscBool transpose, PetscInt K)
{
  const PetscInt rest = K % PANEL(1);

  if (transpose && (L->sparse || (!L->columnwise && !L->rowwise && L->m > L->nnz))) return K;
  return K == 1 || (!L->columnwise && rest <= BCCOO_VECTORS) ? rest : 0;
}
