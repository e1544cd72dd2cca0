/* Coding simd: which of the ways in matmult.h products with dense matrices take */
#include "matmult.h"

#define BCCOO_SHARE   4   /* private copies of rows of X, or of rows of sums, pay if there are so many nonzeros for each */
#define BCCOO_GAPS    4   /* U is packed chunk by chunk unless chunks have fewer than one in so many of the rows that they span */
#define BCCOO_MANY    8   /* threads from which X, packed by one core and read by others, costs more than gathers from its columns */
#define BCCOO_VECTORS 2   /* columns that are not worth a packed panel */
#define BCCOO_FOLLOW  0.8 /* share of the nonzeros in slots whose rows and columns are consecutive, from which columnwise pays */

typedef struct {
  size_t span, sum; /* rows from a chunk's first to its last: the most of any chunk, and the sum over all chunks */
  size_t rows;      /* those of them that have nonzeros in the chunk */
  size_t follow;    /* nonzeros in slots whose rows and columns are consecutive */
} Survey;

static void SurveyChunk(const BCCOOLanesChunk *c, Survey *survey)
{
  const BCCOOLanesStreams s     = BCCOOLanesGetStreams(c);
  const uint8_t          *slots = s.slots;

  survey->span = PetscMax(survey->span, c->span);
  survey->sum += c->span;
  survey->rows += c->pairs ? c->n : 0;
  for (unsigned g = 0; g < c->ngroups; g++) {
    const uint8_t *end = slots + (s.groups[g] & BCCOO_GROUP_SLOTS);

    survey->rows += s.groups[g] >> 14 == BCCOO_GROUP_SINGLE ? 1 : *slots & BCCOO_SLOT_LANES;
    for (; slots < end; slots++) {
      if (s.groups[g] >> 14 == BCCOO_GROUP_CONSECUTIVE && *slots & BCCOO_SLOT_CONSECUTIVE) survey->follow += *slots & BCCOO_SLOT_LANES;
    }
  }
}

/* Chooses the way of products with dense matrices by what the chunks are like, and places the sums of parts that share a range */
PetscErrorCode BCCOOLanesPlanDense(BCCOOLanes *L)
{
  Survey *survey, all = {0, 0, 0, 0};
  size_t  windows = 0;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(L->nbands, &survey));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nbands) if (L->nbands > 1))
  for (PetscInt b = 0; b < L->nbands; b++) {
    for (const BCCOOLanesChunk *c = BCCOOLanesTile(L, b, 0), *end = BCCOOLanesTile(L, b, L->nranges); c != end; c = BCCOOLanesNext(c)) SurveyChunk(c, &survey[b]);
  }
  for (PetscInt b = 0; b < L->nbands; b++) {
    all.span = PetscMax(all.span, survey[b].span);
    all.sum += survey[b].sum;
    all.rows += survey[b].rows;
    all.follow += survey[b].follow;
  }
  PetscCall(PetscFree(survey));
  L->span       = all.span;
  L->rowwise    = (PetscBool)(all.sum <= BCCOO_GAPS * all.rows);
  L->columnwise = (PetscBool)(!L->map && (double)all.follow >= BCCOO_FOLLOW * (double)L->nnz);
  L->window     = 0;
  for (PetscInt b = 0; b < L->nbands; b++) {
    for (PetscInt r = 0; r < L->nranges; r++) {
      PetscInt lo, width;

      GetWindow(L, b, r, &lo, &width);
      windows += (size_t)width;
      L->window = PetscMax(L->window, (size_t)width);
    }
  }
  L->width      = 0;
  L->partwidth  = 0;
  L->ndensework = 0;
  for (PetscInt p = 0; p < L->nparts; p++) {
    BCCOOLanesPart *part = L->part + p;

    part->denseoff = L->ndensework;
    L->partwidth   = PetscMax(L->partwidth, (size_t)part->width);
    if (part->local) L->width = PetscMax(L->width, (size_t)part->width);
    else L->ndensework += (size_t)part->width;
  }
  L->windows        = (PetscBool)(L->map || PetscMax(windows, L->nbands * L->window) <= (size_t)L->nnz / BCCOO_SHARE);
  L->byparts        = (PetscBool)(!L->windows && L->nbands > 1 && L->nbands * (size_t)L->m <= (size_t)L->nnz / BCCOO_SHARE && L->nbands * L->partwidth <= (size_t)L->nnz && L->m < L->n);
  L->multcolumnwise = (PetscBool)(L->columnwise || (L->near && L->nbands >= BCCOO_MANY && !L->windows && !L->byparts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many of K columns, the last ones, take less time as products with one vector */
PetscInt BCCOOLanesDenseVectors(const BCCOOLanes *L, PetscInt K)
{
  const PetscInt rest = K % PANEL(1);

  return K == 1 || (!L->columnwise && rest <= BCCOO_VECTORS) ? rest : 0;
}
