/*
  How compression lanes cuts a matrix: rows into bands, columns into ranges, and the transposed product into parts.

  A x wants few ranges, for long pieces of rows. A^T u wants its threads to add to different columns. Where all bands touch
  few columns, each has sums of its own for these, and one range is enough; that is so for matrices with few columns, and
  for long rows near the diagonal. Where these sums would outweigh the matrix, columns are cut into ranges until a range and
  the threads that share it, if any, take no more scratch than BCCOO_PLAN_SCRATCH allows; with as many ranges as
  threads there is none at all. Ranges are cut by a sample of the nonzeros, so that they have about equal numbers of them; a
  range of one column that is heavier than that is shared.
*/
#include "bccoolanes.h"

#define BCCOO_PLAN_BAND    4096   /* nonzeros that are worth a thread */
#define BCCOO_PLAN_TILE    1024   /* nonzeros that are worth a tile */
#define BCCOO_PLAN_SCRATCH 6      /* one private sum for so many nonzeros */
#define BCCOO_PLAN_SAMPLE  32768  /* nonzeros that are looked at */
#define BCCOO_PLAN_WINDOW  1024   /* nonzeros that are taken to be near in time */
#define BCCOO_PLAN_CACHE   524288 /* bytes of x that a core keeps near; columns take 2 bytes, too */
#define BCCOO_PLAN_APART   512    /* columns up to which sums are kept apart for each lane */

/* Rows cost too, those without nonzeros included: about as much as two nonzeros for three rows */
static inline PetscCount RowCost(const AIJFormCSR *csr, PetscInt i)
{
  return 3 * (PetscCount)csr->i[i] + 2 * (PetscCount)i;
}

static PetscErrorCode CutBands(BCCOOLanes *L, PetscInt nthreads, const AIJFormCSR *csr)
{
  const PetscCount total = RowCost(csr, csr->m);

  PetscFunctionBegin;
  L->nbands = PetscMax(1, PetscMin(nthreads, csr->nnz / BCCOO_PLAN_BAND));
  PetscCall(PetscMalloc1(L->nbands + 1, &L->own));
  PetscCall(PetscMalloc1(L->nbands + 1, &L->start));
  L->own[0]   = 0;
  L->start[0] = 0;
  for (PetscInt b = 1; b < L->nbands; b++) {
    const PetscCount target = (PetscCount)((double)total * b / L->nbands);
    PetscInt         lo = L->own[b - 1], hi = csr->m - 1, row;

    /* the last row that begins at or before the target */
    while (lo < hi) {
      const PetscInt mid = lo + (hi - lo) / 2 + 1;

      if (RowCost(csr, mid) <= target) lo = mid;
      else hi = mid - 1;
    }
    row = lo;
    if (csr->i[row + 1] - csr->i[row] > csr->nnz / (8 * L->nbands) && csr->i[row + 1] - csr->i[row] > BCCOO_LANES_FULL) { /* worth cutting */
      L->own[b]   = row;
      L->start[b] = PetscMax(L->start[b - 1], csr->i[row] + (PetscInt)PetscMin((target - RowCost(csr, row)) / 3, csr->i[row + 1] - csr->i[row] - 1));
    } else {
      if (2 * target > RowCost(csr, row) + RowCost(csr, row + 1)) row++;
      L->own[b]   = PetscMax(row, L->own[b - 1]);
      L->start[b] = PetscMax(csr->i[L->own[b]], L->start[b - 1]);
    }
  }
  L->own[L->nbands]   = csr->m;
  L->start[L->nbands] = csr->nnz;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Least and largest column of each band: those at the ends of what it has of each row, by column */
static PetscErrorCode FindColumns(BCCOOLanes *L, const AIJFormCSR *csr, const BCCOOOrder *order)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(L->nbands, &L->lo));
  PetscCall(PetscMalloc1(L->nbands, &L->hi));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nbands))
  for (PetscInt b = 0; b < L->nbands; b++) {
    PetscInt lo = csr->n, hi = -1;

    for (PetscInt i = L->own[b]; i <= PetscMin(L->own[b + 1], csr->m - 1); i++) {
      const PetscInt first = PetscMax(csr->i[i], L->start[b]), end = PetscMin(csr->i[i + 1], L->start[b + 1]);

      if (first >= end) continue;
      lo = PetscMin(lo, csr->j[BCCOOOrderGetPlace(order, csr, i, first)]);
      hi = PetscMax(hi, csr->j[BCCOOOrderGetPlace(order, csr, i, end - 1)]);
    }
    L->lo[b] = lo;
    L->hi[b] = hi;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Do nonzeros that follow each other lie all over more columns than a core keeps near? */
static PetscErrorCode IsScattered(const AIJFormCSR *csr, PetscBool *scattered)
{
  const PetscInt nwindows = PetscMin(16, csr->nnz / BCCOO_PLAN_WINDOW), line = 64 / sizeof(PetscScalar);
  PetscInt       window[BCCOO_PLAN_WINDOW], nlines                           = 0;
  double         span = 0.0;

  PetscFunctionBegin;
  for (PetscInt w = 0; w < nwindows; w++) {
    const PetscInt start = (PetscInt)((double)(csr->nnz - BCCOO_PLAN_WINDOW) * w / nwindows);

    for (PetscInt k = 0; k < BCCOO_PLAN_WINDOW; k++) window[k] = csr->j[start + k] / line;
    PetscCall(PetscSortInt(BCCOO_PLAN_WINDOW, window));
    span += (double)(window[BCCOO_PLAN_WINDOW - 1] - window[0]) * line;
    for (PetscInt k = 0; k < BCCOO_PLAN_WINDOW; k++) nlines += k == 0 || window[k] != window[k - 1];
  }
  *scattered = (PetscBool)(nwindows && span / nwindows * sizeof(PetscScalar) > BCCOO_PLAN_CACHE && nlines > nwindows * (BCCOO_PLAN_WINDOW / 4));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cuts the columns at the quantiles of a sorted sample; share[r] is the share of the sample in range r, in parts of nshares */
static void CutRanges(BCCOOLanes *L, PetscInt want, PetscInt nsample, const PetscInt sample[], PetscInt nshares, PetscInt share[])
{
  PetscInt r = 0, s = 0;

  L->bound[0] = 0;
  for (PetscInt k = 1; k < want; k++) {
    const PetscInt column = sample[(PetscCount)nsample * k / want];

    if (column > L->bound[r]) L->bound[++r] = column;
    /* a column that holds all of a range has it for itself */
    if (sample[PetscMin(nsample - 1, (PetscCount)nsample * (k + 1) / want)] == column && column == L->bound[r] && column + 1 < L->n) L->bound[++r] = column + 1;
  }
  if (L->bound[r] < L->n) r++;
  L->bound[r] = L->n;
  L->nranges  = r;
  for (PetscInt q = 0; q < r; q++) {
    const PetscInt first = s;

    while (s < nsample && sample[s] < L->bound[q + 1]) s++;
    share[q] = (PetscInt)(((double)(s - first) * nshares) / nsample + 0.5);
  }
}

/* Range r is shared by as many parts as its share, its bands dealt out among them */
static void CutParts(BCCOOLanes *L, const PetscInt share[])
{
  L->nparts     = 0;
  L->nwork      = 0;
  L->ndensework = 0;
  for (PetscInt r = 0; r < L->nranges; r++) {
    const PetscInt n = PetscMax(1, PetscMin(share[r], L->nbands));

    for (PetscInt p = 0; p < n; p++) {
      BCCOOLanesPart *part = L->part + L->nparts++;
      PetscInt        lo = L->bound[r + 1], hi = L->bound[r] - 1;

      part->range  = r;
      part->first  = BCCOOPartStart(L->nbands, n, p);
      part->last   = BCCOOPartStart(L->nbands, n, p + 1);
      part->shared = (PetscBool)(n > 1);
      for (PetscInt b = part->first; b < part->last; b++) {
        lo = PetscMin(lo, PetscMax(L->lo[b], L->bound[r]));
        hi = PetscMax(hi, PetscMin(L->hi[b], L->bound[r + 1] - 1));
      }
      part->lo    = n > 1 ? lo : L->bound[r];
      part->width = n > 1 ? PetscMax(0, hi - lo + 1) : L->bound[r + 1] - L->bound[r];
      /* columns that many rows share: sums of a slot's lanes must not wait for each other */
      part->stride = 1;
      if (part->width <= BCCOO_PLAN_APART && (PetscCount)L->nnz > 64 * (PetscCount)L->n) {
        part->shared = PETSC_TRUE;
        part->stride = BCCOO_LANES;
      }
      part->off      = L->nwork;
      part->denseoff = L->ndensework;
      if (part->shared) L->nwork += (size_t)part->width * part->stride;
      L->ndensework += (size_t)part->width * BCCOO_PANEL;
    }
  }
}

static PetscErrorCode Plan(BCCOOLanes *L, PetscInt nthreads, const AIJFormCSR *csr, const BCCOOOrder *order, PetscInt **sample, PetscInt **share)
{
  const PetscInt nsample = PetscMin(csr->nnz, BCCOO_PLAN_SAMPLE);
  PetscInt       most, least = 1;
  PetscBool      scattered;

  PetscFunctionBegin;
  PetscCall(CutBands(L, nthreads, csr));
  PetscCall(FindColumns(L, csr, order));
  PetscCall(IsScattered(csr, &scattered));
  if (scattered) least = (PetscInt)(((size_t)csr->n * sizeof(PetscScalar) - 1) / BCCOO_PLAN_CACHE + 1);
  most  = PetscMax(L->nbands, least);
  most  = PetscMax(1, PetscMin(most, (PetscInt)PetscMin(csr->nnz / L->nbands / BCCOO_PLAN_TILE, csr->n)));
  least = PetscMin(least, most);
  PetscCall(PetscMalloc1(2 * most + 2, &L->bound));
  PetscCall(PetscMalloc1(2 * most + 1, share));
  PetscCall(PetscMalloc1(2 * most + 1 + 2 * L->nbands, &L->part));
  PetscCall(PetscMalloc1(nsample, sample));
  for (PetscInt k = 0; k < nsample; k++) (*sample)[k] = csr->j[(PetscInt)((double)csr->nnz * k / nsample)];
  for (PetscInt want = least;; want = PetscMin(2 * want, most)) {
    if (want == 1) {
      L->nranges  = 1;
      L->bound[0] = 0;
      L->bound[1] = L->n;
      (*share)[0] = L->nbands;
    } else {
      PetscBool sorted;

      PetscCall(PetscSortedInt(nsample, *sample, &sorted));
      if (!sorted) PetscCall(PetscSortInt(nsample, *sample));
      CutRanges(L, want, nsample, *sample, L->nbands, *share);
    }
    CutParts(L, *share);
    if (want == most) break;
    if (want == 1 && L->nparts > 1 && L->nwork * 2 <= (size_t)L->n * 3 && (PetscCount)L->n * BCCOO_PLAN_SCRATCH * 2 > L->nnz) { /* banded: cuts hardly cut any row */
      want = most;
      PetscCall(PetscSortInt(nsample, *sample));
      CutRanges(L, want, nsample, *sample, L->nbands, *share);
      CutParts(L, *share);
      break;
    }
    if (L->nwork <= (size_t)(L->nnz / BCCOO_PLAN_SCRATCH)) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills in bands, ranges and parts; the chunks are BCCOOLanesEncode()'s */
PetscErrorCode BCCOOLanesPlan(BCCOOLanes *L, PetscInt nthreads, const AIJFormCSR *csr, const BCCOOOrder *order)
{
  PetscInt      *sample = NULL, *share = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = Plan(L, nthreads, csr, order, &sample, &share);
  PetscCall(PetscFree(sample));
  PetscCall(PetscFree(share));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
