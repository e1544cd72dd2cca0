/*
  How compression simd cuts a matrix: rows into bands and these into strips, columns into ranges, and the transposed
  product into parts.

  A x is fastest with few ranges, for long pieces of rows; A^T u if its threads add to different columns. Where several threads
  share a range, all but one of them have private sums, which others read at the end, and data that goes from core to core is
  slow. So several numbers of ranges are tried, from one range to BCCOO_PLAN_FINE for each thread, and a sample of rows tells how
  many pieces rows would have, and how often y is touched; the number that costs the least is taken. Ranges are cut by a sample of
  the nonzeros, so that they have about equal numbers of them; a single column that is heavier than that is a range, which threads
  share.

  If no number of ranges is cheap and each band meets few columns, there are no ranges, and columns are numbered within bands
  (columnmap.c).
*/
#include "simdimpl.h"

#define BCCOO_PLAN_THREADS 16384  /* nonzeros that are worth starting threads, and then all of them: teams that change their size cost more */
#define BCCOO_PLAN_TILE    768    /* nonzeros that are worth a tile */
#define BCCOO_PLAN_STRIPS  4      /* strips of a band, at most ... */
#define BCCOO_PLAN_STRIP   512    /* ... with at least so many nonzeros in each of its tiles */
#define BCCOO_PLAN_SAMPLE  16384  /* nonzeros in the sample */
#define BCCOO_PLAN_BUCKETS 16384  /* buckets into which their columns are sorted */
#define BCCOO_PLAN_WINDOW  1024   /* consecutive nonzeros whose lines of x should stay in cache */
#define BCCOO_PLAN_PIECES  256    /* consecutive nonzeros in each piece of the sample of rows */
#define BCCOO_PLAN_FINE    8      /* ranges for each thread that are tried, at most */
#define BCCOO_PLAN_LEVELS  32     /* numbers of ranges that are tried, at most */
#define BCCOO_PLAN_CACHE   524288 /* bytes of x that stay in a core's cache; columns then take 2 bytes, too */
#define BCCOO_PLAN_SHARE   2000   /* cycles of imbalance that are accepted to keep a range from being shared ... */
#define BCCOO_PLAN_BARRIER 6000   /* ... and to keep all of them from it, which saves the barrier */
#define BCCOO_PLAN_TAIL    0.3    /* share of a range that another thread may take, if the range is all that a thread has ... */
#define BCCOO_PLAN_TAILSUM 4      /* ... and if that share costs at least so many cycles for each column */
#define BCCOO_PLAN_APART   1024   /* columns up to which sums are kept apart for each lane ... */
#define BCCOO_PLAN_SHARED  60.0   /* ... if each column takes more cycles than this */

/* What ranges cost, ns a nonzero for A x and A^T u together */
#define COST_PIECE  2.0 /* per nonzero, times the pieces of rows per nonzero */
#define COST_LINE   3.5 /* per nonzero, times the cache lines of y, or of u, that ranges touch per nonzero */
#define COST_SUM    4.0 /* per nonzero, times the private sums per nonzero, which other cores read */
#define COST_UNEVEN 0.2 /* the slowest thread decides: in A x with one strip in a band, and again in A^T u with one range for a thread */
#define COST_COPY   0.5 /* per nonzero, times the columns per nonzero that bands meet, if they are numbered: x is copied ... */
#define COST_MAPPED 3.0 /* ... and sums are added up, line by line */

/* COST_SUM, COST_UNEVEN and COST_MAPPED hold for so many threads; with fewer they are less, next to nothing with two */
#define COST_THREADS 16

/* Rows cost time too, also empty ones: three rows about as much as two nonzeros */
static inline PetscCount RowCost(const AIJCSR *csr, PetscInt i)
{
  return 3 * (PetscCount)csr->i[i] + 2 * (PetscCount)i;
}

/* The last row from lo to hi that begins at or before the target */
static PetscInt RowAtCost(const AIJCSR *csr, PetscInt lo, PetscInt hi, PetscCount target)
{
  while (lo < hi) {
    const PetscInt mid = lo + (hi - lo) / 2 + 1;

    if (RowCost(csr, mid) <= target) lo = mid;
    else hi = mid - 1;
  }
  return lo;
}

static PetscErrorCode CutBands(BCCOOLanes *L, PetscInt nthreads, const AIJCSR *csr)
{
  const PetscCount total = RowCost(csr, csr->m);

  PetscFunctionBegin;
  L->nbands = csr->nnz < BCCOO_PLAN_THREADS ? 1 : nthreads;
  PetscCall(PetscMalloc1(L->nbands + 1, &L->own));
  PetscCall(PetscMalloc1(L->nbands + 1, &L->start));
  L->own[0]   = 0;
  L->start[0] = 0;
  for (PetscInt b = 1; b < L->nbands; b++) {
    const PetscCount target = (PetscCount)((double)total * b / L->nbands);
    PetscInt         row    = RowAtCost(csr, L->own[b - 1], csr->m - 1, target);

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

/* Strips of a band if the columns are cut into nranges ranges */
static PetscInt CountStrips(const BCCOOLanes *L, PetscInt nranges)
{
  return L->nbands == 1 ? 1 : (PetscInt)PetscMax(1, PetscMin(BCCOO_PLAN_STRIPS, L->nnz / L->nbands / nranges / BCCOO_PLAN_STRIP));
}

/* Strips of equal cost, of whole rows */
static PetscErrorCode CutStrips(BCCOOLanes *L, const AIJCSR *csr)
{
  PetscFunctionBegin;
  L->nstrips = CountStrips(L, L->nranges);
  PetscCall(PetscMalloc1(L->nbands * L->nstrips + 1, &L->striprow));
  PetscCall(PetscMalloc1(L->nbands + 1, &L->stripshare));
  PetscCall(PetscMalloc1((size_t)L->nbands * L->nranges * L->nstrips, &L->strip));
  PetscCall(PetscMalloc1(L->nbands * BCCOO_LANES_CLAIM, &L->claimed));
  for (PetscInt b = 0; b < L->nbands; b++) {
    const PetscCount from = RowCost(csr, L->own[b]), total = RowCost(csr, L->own[b + 1]) - from;

    L->claimed[b * BCCOO_LANES_CLAIM] = L->nstrips;
    L->striprow[b * L->nstrips]       = L->own[b];
    for (PetscInt s = 1; s < L->nstrips; s++) L->striprow[b * L->nstrips + s] = RowAtCost(csr, L->striprow[b * L->nstrips + s - 1], L->own[b + 1], from + (PetscCount)((double)total * s / L->nstrips));
  }
  L->striprow[L->nbands * L->nstrips] = csr->m;
  for (PetscInt b = 0; b <= L->nbands; b++) L->stripshare[b] = b * L->nstrips;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Least and largest column of each band, from both ends of its piece of each row, by column */
static PetscErrorCode FindColumns(BCCOOLanes *L, const AIJCSR *csr, const BCCOOOrder *order)
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

/* Cache lines of x that a window of nonzeros touches: lines are entered into a table of twice the size */
static PetscInt CountLines(const PetscInt j[])
{
  const PetscInt line = 64 / sizeof(PetscScalar);
  PetscInt       entered[2 * BCCOO_PLAN_WINDOW], nlines = 0;

  memset(entered, 0xFF, sizeof(entered)); /* -1 */
  for (PetscInt k = 0; k < BCCOO_PLAN_WINDOW; k++) {
    const PetscInt l = j[k] / line;
    size_t         s = (uint32_t)l * UINT32_C(0x9E3779B9) >> 16 & (2 * BCCOO_PLAN_WINDOW - 1);

    while (entered[s] >= 0 && entered[s] != l) s = (s + 1) & (2 * BCCOO_PLAN_WINDOW - 1);
    nlines += entered[s] < 0;
    entered[s] = l;
  }
  return nlines;
}

/* Do consecutive nonzeros scatter over more entries of x than stay in a core's cache? *near: many of them share cache lines of x */
static PetscBool IsScattered(const AIJCSR *csr, PetscInt nthreads, PetscBool *near)
{
  const PetscInt nwindows = PetscMin(16, csr->nnz / BCCOO_PLAN_WINDOW);
  PetscInt       nlines   = 0;
  double         span     = 0.0;

  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)nthreads) reduction(+ : span, nlines) if (nthreads > 1))
  for (PetscInt w = 0; w < nwindows; w++) {
    const PetscInt *j  = csr->j + (PetscInt)((double)(csr->nnz - BCCOO_PLAN_WINDOW) * w / nwindows);
    PetscInt        lo = j[0], hi = j[0];

    for (PetscInt k = 1; k < BCCOO_PLAN_WINDOW; k++) {
      lo = PetscMin(lo, j[k]);
      hi = PetscMax(hi, j[k]);
    }
    span += (double)hi - lo;
    nlines += CountLines(j);
  }
  *near = (PetscBool)(nlines < nwindows * (BCCOO_PLAN_WINDOW / 8));
  return (PetscBool)(span * sizeof(PetscScalar) > (double)nwindows * BCCOO_PLAN_CACHE && nlines > nwindows * (BCCOO_PLAN_WINDOW / 4));
}

/* A sample of the nonzeros: before[b] of them lie in columns before bucket b; a bucket has 1 << shift columns */
typedef struct {
  PetscInt  nbuckets, shift, nsample;
  PetscInt *bucket, *before;
} Sample;

static PetscErrorCode TakeSample(const AIJCSR *csr, PetscInt nthreads, Sample *s)
{
  const PetscInt step = (csr->nnz - 1) / BCCOO_PLAN_SAMPLE + 1;

  PetscFunctionBegin;
  while ((csr->n - 1) >> s->shift >= BCCOO_PLAN_BUCKETS) s->shift++;
  s->nbuckets = ((csr->n - 1) >> s->shift) + 1;
  s->nsample  = csr->nnz / step;
  PetscCall(PetscMalloc1(s->nsample, &s->bucket));
  PetscCall(PetscCalloc1(s->nbuckets + 1, &s->before));
  /* threads wait for the nonzeros, one counts */
  PetscPragmaOMP(parallel for schedule(static) num_threads((int)nthreads) if (nthreads > 1))
  for (PetscInt k = 0; k < s->nsample; k++) s->bucket[k] = csr->j[BCCOOSamplePlace(k, step)] >> s->shift;
  for (PetscInt k = 0; k < s->nsample; k++) s->before[s->bucket[k] + 1]++;
  for (PetscInt b = 0; b < s->nbuckets; b++) s->before[b + 1] += s->before[b];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  From a sample of rows, how many pieces rows have for each nonzero, and how many cache lines of y they touch: pieces[0] and
  lines[0] if the columns are cut into nfine ranges, pieces[1] and lines[1] if into half as many, and so on.
*/
static PetscErrorCode CountPieces(const AIJCSR *csr, PetscInt nthreads, const Sample *s, PetscInt nfine, PetscInt nlevels, double pieces[], double lines[])
{
  const PetscInt nwindows = PetscMin(BCCOO_PLAN_SAMPLE / BCCOO_PLAN_PIECES, csr->nnz / BCCOO_PLAN_PIECES + 1), nparts = PetscMin(nthreads, nwindows);
  PetscInt       n = 0, npieces[BCCOO_PLAN_LEVELS] = {0}, nlines[BCCOO_PLAN_LEVELS] = {0};
  PetscInt      *touched; /* in each part, level and range: the last line of y that was touched, counted from 1 */

  PetscFunctionBegin;
  PetscCall(PetscCalloc1((size_t)nparts * nlevels * nfine, &touched));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)nthreads) reduction(+ : n, npieces, nlines) if (nthreads > 1))
  for (PetscInt p = 0; p < nparts; p++) {
    for (PetscInt w = p; w < nwindows; w += nparts) {
      PetscInt row = BCCOOLowerBound(csr->m, csr->i + 1, (PetscInt)((double)csr->nnz * w / nwindows) + 1);

      for (PetscInt left = BCCOO_PLAN_PIECES; left > 0 && row < csr->m; left -= csr->i[row + 1] - csr->i[row], row++) {
        const PetscInt line   = row / BCCOO_LINE + 1;
        PetscInt       before = -1;

        for (PetscInt k = csr->i[row]; k < PetscMin(csr->i[row + 1], csr->i[row] + left); k++, n++) {
          const PetscInt range = (PetscInt)((PetscCount)s->before[csr->j[k] >> s->shift] * nfine / s->nsample);

          for (PetscInt l = 0; l < nlevels; l++) {
            PetscInt *last = &touched[((size_t)p * nlevels + l) * nfine + (range >> l)];

            npieces[l] += before < 0 || range >> l != before >> l;
            nlines[l] += *last != line;
            *last = line;
          }
          before = range;
        }
      }
    }
  }
  for (PetscInt l = 0; l < nlevels; l++) {
    pieces[l] = (double)npieces[l] / n;
    lines[l]  = (double)nlines[l] / n;
  }
  PetscCall(PetscFree(touched));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cuts the columns at the quantiles of a sample; share[r] is the share of the sample in range r, in units of 1 / nshares */
static void CutRanges(BCCOOLanes *L, PetscInt want, const Sample *s, PetscInt nshares, PetscInt share[])
{
  PetscInt r = 0;

  L->bound[0] = 0;
  for (PetscInt k = 1; k < want; k++) {
    const PetscInt b      = PetscMin(BCCOOLowerBound(s->nbuckets, s->before + 1, (PetscInt)((PetscCount)s->nsample * k / want) + 1), s->nbuckets - 1);
    const PetscInt column = b << s->shift;

    if (column > L->bound[r]) L->bound[++r] = column;
    /* a bucket that holds a whole range becomes a range of its own */
    if (s->before[b + 1] > (PetscCount)s->nsample * (k + 1) / want && column == L->bound[r] && column + (1 << s->shift) < L->n) L->bound[++r] = column + (1 << s->shift);
  }
  if (L->bound[r] < L->n) r++;
  L->bound[r] = L->n;
  L->nranges  = r;
  for (PetscInt q = 0; q < r; q++) {
    const PetscInt n = s->before[((L->bound[q + 1] - 1) >> s->shift) + 1] - s->before[L->bound[q] >> s->shift];

    share[q] = (PetscInt)(((double)n * nshares) / s->nsample + 0.5);
  }
}

/* Columns of range r that bands first .. last touch */
static void TouchedColumns(const BCCOOLanes *L, PetscInt r, PetscInt first, PetscInt last, PetscInt *lo, PetscInt *width)
{
  PetscInt from = L->bound[r + 1], to = L->bound[r] - 1;

  for (PetscInt b = first; b <= last; b++) {
    from = PetscMin(from, PetscMax(L->lo[b], L->bound[r]));
    to   = PetscMax(to, PetscMin(L->hi[b], L->bound[r + 1] - 1));
  }
  *lo    = from;
  *width = PetscMax(0, to - from + 1);
}

/* Private sums if range r has share[r] parts, among which the bands that touch it are dealt out; the first part needs none */
static size_t CountSums(const BCCOOLanes *L, const PetscInt share[])
{
  size_t nsums = 0;

  for (PetscInt r = 0; r < L->nranges; r++) {
    PetscInt first = 0, last = L->nbands - 1;

    while (first < last && (L->hi[first] < L->bound[r] || L->lo[first] >= L->bound[r + 1])) first++;
    while (first < last && (L->hi[last] < L->bound[r] || L->lo[last] >= L->bound[r + 1])) last--;
    for (PetscInt p = 1; p < share[r]; p++) {
      const PetscInt n = last - first + 1;
      PetscInt       lo, width;

      TouchedColumns(L, r, first + p * n / share[r], first + ((p + 1) * n - 1) / share[r], &lo, &width);
      nsums += (size_t)width;
    }
  }
  return nsums;
}

/*
  The number of ranges, from least to most, that costs the least time; and how many columns bands may meet, the most of any band
  times the number of bands, for maps of them to be worth more than they cost. They save lines of y and private sums. That rows
  have fewer pieces is not counted: matrices that gain nothing else were not faster.
*/
static PetscErrorCode ChooseRanges(BCCOOLanes *L, const AIJCSR *csr, PetscInt least, PetscInt most, const Sample *s, PetscInt share[], PetscInt *best, double *mostmapped)
{
  const PetscInt nfine  = L->nbands * BCCOO_PLAN_FINE;
  const double   others = PetscMin(1.0, (L->nbands - 1) / (COST_THREADS - 1.0));
  double         lowest = PETSC_MAX_REAL, saved = 0.0, pieces[BCCOO_PLAN_LEVELS], lines[BCCOO_PLAN_LEVELS];
  PetscInt       nlevels = 1;

  PetscFunctionBegin;
  while (nfine >> (nlevels - 1) > 1) nlevels++;
  PetscCall(CountPieces(csr, L->nbands, s, nfine, nlevels, pieces, lines));
  *best = least;
  for (PetscInt l = nlevels - 1; l >= 0; l--) {
    const PetscInt want = nfine >> l;
    const double   rows = COST_PIECE * pieces[l] + COST_LINE * lines[l];
    double         sums, cost;

    /* more ranges than threads must not take all strips from A x */
    if (want < least || want > most || (want > L->nbands && CountStrips(L, want) < 2) || rows > lowest) continue;
    CutRanges(L, want, s, L->nbands, share);
    sums = others * COST_SUM * (double)CountSums(L, share) / L->nnz;
    cost = rows + sums + others * COST_UNEVEN * (1.0 / CountStrips(L, want) + (double)L->nbands / PetscMax(want, L->nbands));
    if (cost >= lowest) continue;
    lowest = cost;
    saved  = COST_LINE * (lines[l] - lines[nlevels - 1]) + sums;
    *best  = want;
  }
  *mostmapped = *best == 1 ? 0.0 : L->nnz * saved / (COST_COPY + others * COST_MAPPED);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Plan(BCCOOLanes *L, PetscInt nthreads, const AIJCSR *csr, const BCCOOOrder *order, Sample *sample, PetscInt **share)
{
  PetscInt most, least = 1, want;
  double   mostmapped = 0.0;

  PetscFunctionBegin;
  PetscCall(CutBands(L, nthreads, csr));
  PetscCall(FindColumns(L, csr, order));
  if (IsScattered(csr, L->nbands, &L->near)) least = (PetscInt)(((size_t)csr->n * sizeof(PetscScalar) - 1) / BCCOO_PLAN_CACHE + 1);
  most  = PetscMax(L->nbands > 1 ? L->nbands * BCCOO_PLAN_FINE : 1, least);
  most  = PetscMax(1, PetscMin(most, (PetscInt)PetscMin(csr->nnz / L->nbands / BCCOO_PLAN_TILE, csr->n)));
  most  = PetscMin(most, UINT16_MAX / 2); /* a chunk keeps its range in 16 bits, and there may be twice as many as wanted */
  least = PetscMin(least, most);
  want  = least;
  PetscCall(PetscMalloc1(2 * most + 2, &L->bound));
  PetscCall(PetscMalloc1(2 * most + 1, share));
  if (most > 1) PetscCall(TakeSample(csr, L->nbands, sample));
  L->shift = sample->shift;
  if (L->nbands > 1 && most > 1) PetscCall(ChooseRanges(L, csr, least, most, sample, *share, &want, &mostmapped));
  if (mostmapped >= L->n / 2 && L->n <= INT32_MAX /* lines are counted in 32 bits */) PetscCall(BCCOOLanesMapColumns(L, csr, order, mostmapped));
  if (L->map) want = 1;
  if (want > 1) CutRanges(L, want, sample, L->nbands, *share);
  else {
    L->nranges  = 1;
    L->bound[0] = 0;
    L->bound[1] = L->n;
  }
  PetscCall(CutStrips(L, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills in bands, ranges and strips; the chunks are BCCOOLanesEncode()'s */
PetscErrorCode BCCOOLanesPlan(BCCOOLanes *L, PetscInt nthreads, const AIJCSR *csr, const BCCOOOrder *order)
{
  Sample         sample = {.bucket = NULL, .before = NULL};
  PetscInt      *share  = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = Plan(L, nthreads, csr, order, &sample, &share);
  PetscCall(PetscFree(sample.bucket));
  PetscCall(PetscFree(sample.before));
  PetscCall(PetscFree(share));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---------------------------------------------------------------------------------------------------------------- parts */

typedef struct {
  PetscInt               thread, r, b; /* the next chunk is in tile (b, r) */
  const BCCOOLanesChunk *next;
  BCCOOLanesPart        *part; /* the part that is being made */
  double                 sum;  /* cost of all chunks before */
} Cutter;

/* Ends the part before the next chunk */
static void ClosePart(BCCOOLanes *L, Cutter *c)
{
  BCCOOLanesPart *part = c->part;

  part->last = c->b;
  part->end  = (size_t)((const unsigned char *)c->next - L->data[c->b]);
  part->cost = c->sum - part->cost;
  L->nparts++;
}

static void OpenPart(BCCOOLanes *L, Cutter *c)
{
  c->part        = L->part + L->nparts;
  c->part->range = c->r;
  c->part->first = c->b;
  c->part->cost  = c->sum;
  c->part->start = (size_t)((const unsigned char *)c->next - L->data[c->b]);
}

/* Gives what follows to the next thread */
static void NextThread(BCCOOLanes *L, Cutter *c)
{
  L->share[++c->thread] = L->nparts;
}

/*
  Deals out tile after tile, range by range, in shares of equal cost, one for each thread. A range that ends near a cut is not cut.
  If no range costs much more than a thread's share, none is cut between threads, and there is no barrier. A range that is all that
  its thread has is still cut in two, if it has not too many columns, so that another thread may take the smaller part.
*/
static void DealChunks(BCCOOLanes *L, const double cost[])
{
  const PetscInt nthreads = L->nbands;
  double         total = 0.0, most = 0.0, near;
  PetscBool      whole;
  Cutter         c = {.thread = 0};

  for (PetscInt r = 0; r < L->nranges; r++) {
    double sum = 0.0;

    for (PetscInt b = 0; b < L->nbands; b++) sum += cost[r * L->nbands + b];
    total += sum;
    most = PetscMax(most, sum);
  }
  whole       = (PetscBool)(most <= 1.2 * total / nthreads + BCCOO_PLAN_BARRIER);
  near        = total / nthreads / 16 + BCCOO_PLAN_SHARE;
  L->nparts   = 0;
  L->share[0] = 0;
  for (c.r = 0; c.r < L->nranges; c.r++) {
    double rest = 0.0, tail; /* where the part that others may take begins */

    for (PetscInt b = 0; b < L->nbands; b++) rest += cost[c.r * L->nbands + b];
    tail = PETSC_MAX_REAL;
    if (whole && nthreads > 1 && L->nranges <= nthreads && BCCOO_PLAN_TAIL * rest >= BCCOO_PLAN_TAILSUM * (double)(L->bound[c.r + 1] - L->bound[c.r])) tail = c.sum + (1.0 - BCCOO_PLAN_TAIL) * rest;
    if (whole) {
      const PetscInt thread = L->nranges <= nthreads ? c.r : PetscMin((PetscInt)((c.sum + 0.5 * rest) * nthreads / total), nthreads - 1);

      while (c.thread < thread) NextThread(L, &c);
    } else {
      while (c.thread < nthreads - 1 && c.sum + near > total * (c.thread + 1) / nthreads) NextThread(L, &c);
    }
    c.b    = 0;
    c.next = BCCOOLanesTile(L, 0, c.r);
    OpenPart(L, &c);
    for (c.b = 0; c.b < L->nbands; c.b++) {
      const BCCOOLanesChunk *end  = BCCOOLanesTile(L, c.b, c.r + 1);
      const double           tile = cost[c.r * L->nbands + c.b];

      c.next = BCCOOLanesTile(L, c.b, c.r);
      if (c.sum + tile <= tail && (whole || c.thread == nthreads - 1 || c.sum + PetscMax(tile, rest - near) <= total * (c.thread + 1) / nthreads)) { /* no cut here */
        c.sum += tile;
        rest -= tile;
        continue;
      }
      for (; c.next != end; c.next = BCCOOLanesNext(c.next)) {
        const double middle = c.sum + 0.5 * c.next->cost, target = total * (c.thread + 1) / nthreads;

        if (middle > tail || (!whole && c.thread < nthreads - 1 && middle > target && c.sum + rest - near > target)) {
          ClosePart(L, &c);
          if (!whole) NextThread(L, &c);
          OpenPart(L, &c);
          tail = PETSC_MAX_REAL;
        }
        c.sum += c.next->cost;
        rest -= c.next->cost;
      }
    }
    c.b    = L->nbands - 1;
    c.next = BCCOOLanesTile(L, c.b, c.r + 1);
    ClosePart(L, &c);
  }
  while (c.thread < nthreads) NextThread(L, &c);
  for (PetscInt p = 0; p < L->nparts; p++) L->part[p].local = whole;
}

/* Finds the columns that each part touches, and places the private sums */
static void PlaceSums(BCCOOLanes *L)
{
  L->nwork     = 0;
  L->shared[0] = 0;
  for (PetscInt p = 0; p < L->nparts; p++) {
    BCCOOLanesPart *part = L->part + p;
    const PetscInt  r = part->range, columns = L->bound[r + 1] - L->bound[r];
    const PetscBool begins = BCCOOLanesPartBegins(L, part), ends = BCCOOLanesPartEnds(L, part);

    part->local = (PetscBool)(part->local || (begins && ends));
    if (begins && part->local) {
      part->lo    = L->bound[r];
      part->width = columns;
    } else TouchedColumns(L, r, part->first, part->last, &part->lo, &part->width);
    /* where many rows share few columns, the sums of a slot's lanes must not wait for each other */
    part->stride = part->width <= BCCOO_PLAN_APART && part->cost > BCCOO_PLAN_SHARED * part->width ? BCCOO_LANES : 1;
    part->own    = (PetscBool)(!begins || part->stride > 1);
    part->off    = L->nwork;
    if (part->own) L->nwork += (size_t)part->width * part->stride;
    if (begins) BCCOOLanesCountLeft(L, part);
    if (ends) L->shared[r + 1] = L->shared[r] + (part->local ? 0 : columns);
  }
}

/* Where bands have maps, a part is all of a band, and has sums for the columns of its map */
static void DealBands(BCCOOLanes *L)
{
  for (PetscInt b = 0; b < L->nbands; b++) {
    L->part[b]  = (BCCOOLanesPart){.range = 0, .first = b, .last = b, .start = 0, .end = L->tile[2 * b + 1], .lo = 0, .width = L->nmap[b] * BCCOO_LINE, .stride = 1, .off = BCCOOLanesMapped(L, b), .own = PETSC_TRUE};
    L->share[b] = b;
  }
  L->share[L->nbands] = L->nparts = L->nbands;
  L->shared[0]                    = 0;
  L->shared[1]                    = L->n;
  L->nwork                        = BCCOOLanesMapped(L, L->nbands);
}

/* Parts of equal cost, chunk by chunk */
static PetscErrorCode CutTiles(BCCOOLanes *L)
{
  double *cost;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((size_t)L->nbands * L->nranges, &cost));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nbands))
  for (PetscInt b = 0; b < L->nbands; b++) {
    for (PetscInt r = 0; r < L->nranges; r++) {
      double sum = 0.0;

      for (const BCCOOLanesChunk *c = BCCOOLanesTile(L, b, r), *end = BCCOOLanesTile(L, b, r + 1); c != end; c = BCCOOLanesNext(c)) sum += c->cost;
      cost[r * L->nbands + b] = sum;
    }
  }
  DealChunks(L, cost);
  PlaceSums(L);
  PetscCall(PetscFree(cost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cuts the transposed product into parts, once the chunks are there */
PetscErrorCode BCCOOLanesCutParts(BCCOOLanes *L)
{
  PetscFunctionBegin;
  if (!L->part) PetscCall(PetscMalloc1(L->nranges + PetscMax(L->nranges, L->nbands), &L->part));
  if (!L->share) PetscCall(PetscMalloc1(L->nbands + 1, &L->share));
  if (!L->shared) PetscCall(PetscMalloc1(L->nranges + 1, &L->shared));
  if (!L->left) PetscCall(PetscMalloc1(L->nranges * BCCOO_LANES_CLAIM, &L->left));
  if (!L->partclaimed) PetscCall(PetscMalloc1(L->nbands * BCCOO_LANES_CLAIM, &L->partclaimed));
  if (L->map) DealBands(L);
  else PetscCall(CutTiles(L));
  for (PetscInt t = 0; t < L->nbands; t++) L->partclaimed[t * BCCOO_LANES_CLAIM] = L->share[t + 1] - L->share[t];
  PetscFunctionReturn(PETSC_SUCCESS);
}
