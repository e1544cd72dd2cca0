/*
  Coding simd: how a matrix is cut: rows into row blocks and these into row tasks, columns into column blocks, and the transposed
  product into column tasks.

  A x is fastest with few column blocks, which leave rows in long pieces. A^T u is fastest if its threads add to different columns: where
  several threads share a column block, all but one of them have private sums, which other cores read at the end, and data that moves
  from core to core is slow. Several numbers of column blocks are therefore tried, from one in all to BCCOO_PLAN_FINE per thread. A sample
  of rows tells for each number into how many pieces rows would be cut, and how often lines of y would be touched; the number with the
  lowest estimated cost is taken. Column blocks are cut by a sample of the nonzeros into about equal numbers of nonzeros. A column that
  alone has more nonzeros than that becomes a column block, which several threads share.

  If no number of column blocks is cheap and each row block has nonzeros in few columns, all columns are one column block, and they are
  numbered within each row block (columnmap.c).
*/
#include "simdimpl.h"

/* Cost of the rows before row i. Rows cost time too, also empty ones: three rows about as much as two nonzeros. */
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

static PetscErrorCode CutRowBlocks(BCCOOSIMD *L, PetscInt nthreads, const AIJCSR *csr)
{
  const PetscCount total = RowCost(csr, csr->m);
  PetscInt         b;

  PetscFunctionBegin;
  L->nrowblocks = csr->nnz < BCCOO_PLAN_THREADS ? 1 : nthreads;
  PetscCall(PetscMalloc2(L->nrowblocks + 1, &L->own, L->nrowblocks + 1, &L->start));
  L->own[0]   = 0;
  L->start[0] = 0;
  for (b = 1; b < L->nrowblocks && L->own[b - 1] < csr->m; b++) {
    const PetscCount target = (PetscCount)((double)total * b / L->nrowblocks);
    PetscInt         row    = RowAtCost(csr, L->own[b - 1], csr->m - 1, target);

    if (csr->i[row + 1] - csr->i[row] > csr->nnz / (8 * L->nrowblocks) && csr->i[row + 1] - csr->i[row] > BCCOO_SIMD_FULL) { /* a row long enough to be cut */
      L->own[b]   = row;
      L->start[b] = PetscMax(L->start[b - 1], csr->i[row] + (PetscInt)PetscMin((target - RowCost(csr, row)) / 3, csr->i[row + 1] - csr->i[row] - 1));
    } else {
      if (2 * target > RowCost(csr, row) + RowCost(csr, row + 1)) row++;
      L->own[b]   = PetscMax(row, L->own[b - 1]);
      L->start[b] = PetscMax(csr->i[L->own[b]], L->start[b - 1]);
    }
  }
  for (; b <= L->nrowblocks; b++) { /* a last row that is long but not cut may leave nothing for several row blocks */
    L->own[b]   = csr->m;
    L->start[b] = csr->nnz;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number of row tasks per row block if the columns are cut into ncolblocks column blocks */
static PetscInt CountRowTasks(const BCCOOSIMD *L, PetscInt ncolblocks)
{
  return L->nrowblocks == 1 ? 1 : (PetscInt)PetscMax(1, PetscMin(BCCOO_PLAN_TASKS, L->nnz / L->nrowblocks / ncolblocks / BCCOO_PLAN_TASK));
}

/* Cuts row blocks into row tasks of about equal cost; a row task has whole rows */
static PetscErrorCode CutRowTasks(BCCOOSIMD *L, const AIJCSR *csr)
{
  PetscFunctionBegin;
  L->nrowtasks = CountRowTasks(L, L->ncolblocks);
  PetscCall(PetscMalloc4(L->nrowblocks * BCCOO_SIMD_CLAIM, &L->claimed, L->nrowblocks * L->nrowtasks + 1, &L->taskrow, L->nrowblocks + 1, &L->taskshare, (size_t)L->nrowblocks * L->ncolblocks * L->nrowtasks, &L->rowtask));
  for (PetscInt b = 0; b < L->nrowblocks; b++) {
    const PetscCount from = RowCost(csr, L->own[b]), total = RowCost(csr, L->own[b + 1]) - from;

    L->claimed[b * BCCOO_SIMD_CLAIM] = L->nrowtasks;
    L->taskrow[b * L->nrowtasks]     = L->own[b];
    for (PetscInt s = 1; s < L->nrowtasks; s++) L->taskrow[b * L->nrowtasks + s] = RowAtCost(csr, L->taskrow[b * L->nrowtasks + s - 1], L->own[b + 1], from + (PetscCount)((double)total * s / L->nrowtasks));
  }
  L->taskrow[L->nrowblocks * L->nrowtasks] = csr->m;
  for (PetscInt b = 0; b <= L->nrowblocks; b++) L->taskshare[b] = b * L->nrowtasks;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds the lowest and the highest column of each row block: the first and the last nonzero, by column, of its part of each row */
static PetscErrorCode FindColumns(BCCOOSIMD *L, const AIJCSR *csr)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc2(L->nrowblocks, &L->lo, L->nrowblocks, &L->hi));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nrowblocks))
  for (PetscInt b = 0; b < L->nrowblocks; b++) {
    PetscInt lo = csr->n, hi = -1;

    for (PetscInt i = L->own[b]; i <= PetscMin(L->own[b + 1], csr->m - 1); i++) {
      const PetscInt first = PetscMax(csr->i[i], L->start[b]), end = PetscMin(csr->i[i + 1], L->start[b + 1]);

      if (first >= end) continue;
      lo = PetscMin(lo, csr->j[first]);
      hi = PetscMax(hi, csr->j[end - 1]);
    }
    L->lo[b] = lo;
    L->hi[b] = hi;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number of cache lines of x that a window of nonzeros touches; the lines are entered into a hash table of twice the window's size */
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

/* Whether consecutive nonzeros are scattered over more entries of x than a core's cache holds; *near: whether many of them share cache lines of x */
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

/* A sample of the nonzeros: before[b] of them lie in columns before bucket b; a bucket is 1 << shift consecutive columns */
typedef struct {
  PetscInt  nbuckets, shift, nsample;
  PetscInt *bucket, *before;
} Sample;

static PetscErrorCode TakeSample(const AIJCSR *csr, PetscInt nthreads, Sample *s)
{
  const PetscInt jump = (csr->nnz - 1) / BCCOO_PLAN_SAMPLE + 1;

  PetscFunctionBegin;
  while ((csr->n - 1) >> s->shift >= BCCOO_PLAN_BUCKETS) s->shift++;
  s->nbuckets = ((csr->n - 1) >> s->shift) + 1;
  s->nsample  = csr->nnz / jump;
  PetscCall(PetscMalloc1(s->nsample, &s->bucket));
  PetscCall(PetscCalloc1(s->nbuckets + 1, &s->before));
  /* all threads read, since reading the nonzeros takes most of the time; one thread counts */
  PetscPragmaOMP(parallel for schedule(static) num_threads((int)nthreads) if (nthreads > 1))
  for (PetscInt k = 0; k < s->nsample; k++) s->bucket[k] = csr->j[BCCOOSamplePlace(k, jump)] >> s->shift;
  for (PetscInt k = 0; k < s->nsample; k++) s->before[s->bucket[k] + 1]++;
  for (PetscInt b = 0; b < s->nbuckets; b++) s->before[b + 1] += s->before[b];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Counts from a sample of rows, per nonzero, into how many pieces rows are cut and how many cache lines of y they touch: pieces[0] and
  lines[0] for nfine column blocks, pieces[1] and lines[1] for half as many, and so on.
*/
static PetscErrorCode CountPieces(const AIJCSR *csr, PetscInt nthreads, const Sample *s, PetscInt nfine, PetscInt nlevels, double pieces[], double lines[])
{
  const PetscInt nwindows = PetscMin(BCCOO_PLAN_SAMPLE / BCCOO_PLAN_PIECES, csr->nnz / BCCOO_PLAN_PIECES + 1), nshares = PetscMin(nthreads, nwindows);
  PetscInt       n = 0, npieces[BCCOO_PLAN_LEVELS] = {0}, nlines[BCCOO_PLAN_LEVELS] = {0};
  PetscInt      *touched; /* for each share of the windows, level and column block: the line of y touched last, counted from 1 */

  PetscFunctionBegin;
  PetscCall(PetscCalloc1((size_t)nshares * nlevels * nfine, &touched));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)nthreads) reduction(+ : n, npieces, nlines) if (nthreads > 1))
  for (PetscInt p = 0; p < nshares; p++) {
    for (PetscInt w = p; w < nwindows; w += nshares) {
      PetscInt row = BCCOOLowerBound(csr->m, csr->i + 1, (PetscInt)((double)csr->nnz * w / nwindows) + 1);

      for (PetscInt left = BCCOO_PLAN_PIECES; left > 0 && row < csr->m; left -= csr->i[row + 1] - csr->i[row], row++) {
        const PetscInt line   = row / BCCOO_LINE + 1;
        PetscInt       before = -1;

        for (PetscInt k = csr->i[row]; k < PetscMin(csr->i[row + 1], csr->i[row] + left); k++, n++) {
          const PetscInt colblock = PetscMin((PetscInt)((PetscCount)s->before[csr->j[k] >> s->shift] * nfine / s->nsample), nfine - 1);

          for (PetscInt l = 0; l < nlevels; l++) {
            PetscInt *last = &touched[((PetscCount)p * nlevels + l) * nfine + (colblock >> l)];

            npieces[l] += before < 0 || colblock >> l != before >> l;
            nlines[l] += *last != line;
            *last = line;
          }
          before = colblock;
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

/* Cuts the columns at the quantiles of a sample; share[r] is the fraction of the sample in column block r, in units of 1 / nshares, rounded */
static void CutColumnBlocks(BCCOOSIMD *L, PetscInt want, const Sample *s, PetscInt nshares, PetscInt share[])
{
  PetscInt r = 0;

  L->bound[0] = 0;
  for (PetscInt k = 1; k < want; k++) {
    const PetscInt b      = PetscMin(BCCOOLowerBound(s->nbuckets, s->before + 1, (PetscInt)((PetscCount)s->nsample * k / want) + 1), s->nbuckets - 1);
    const PetscInt column = b << s->shift;

    if (column > L->bound[r]) L->bound[++r] = column;
    /* a bucket that holds a whole column block becomes a column block of its own */
    if (s->before[b + 1] > (PetscCount)s->nsample * (k + 1) / want && column == L->bound[r] && L->n - column > (1 << s->shift)) L->bound[++r] = column + (1 << s->shift);
  }
  if (L->bound[r] < L->n) r++;
  L->bound[r]   = L->n;
  L->ncolblocks = r;
  for (PetscInt q = 0; q < r; q++) {
    const PetscInt n = s->before[((L->bound[q + 1] - 1) >> s->shift) + 1] - s->before[L->bound[q] >> s->shift];

    share[q] = (PetscInt)(((double)n * nshares) / s->nsample + 0.5);
  }
}

/* The range of columns of column block r in which row blocks first .. last have nonzeros */
static void TouchedColumns(const BCCOOSIMD *L, PetscInt r, PetscInt first, PetscInt last, PetscInt *lo, PetscInt *width)
{
  PetscInt from = L->bound[r + 1], to = L->bound[r] - 1;

  for (PetscInt b = first; b <= last; b++) {
    from = PetscMin(from, PetscMax(L->lo[b], L->bound[r]));
    to   = PetscMax(to, PetscMin(L->hi[b], L->bound[r + 1] - 1));
  }
  *lo    = from;
  *width = PetscMax(0, to - from + 1);
}

/*
  Number of private sums if column block r has share[r] column tasks and the row blocks with columns in its range are divided among these;
  the first column task needs none
*/
static PetscCount CountSums(const BCCOOSIMD *L, const PetscInt share[])
{
  PetscCount nsums = 0;

  for (PetscInt r = 0; r < L->ncolblocks; r++) {
    PetscInt first = 0, last = L->nrowblocks - 1;

    while (first < last && (L->hi[first] < L->bound[r] || L->lo[first] >= L->bound[r + 1])) first++;
    while (first < last && (L->hi[last] < L->bound[r] || L->lo[last] >= L->bound[r + 1])) last--;
    for (PetscInt p = 1; p < share[r]; p++) {
      const PetscInt n = last - first + 1;
      PetscInt       lo, width;

      TouchedColumns(L, r, first + p * n / share[r], first + ((p + 1) * n - 1) / share[r], &lo, &width);
      nsums += (PetscCount)width;
    }
  }
  return nsums;
}

/*
  Gets the number of column blocks, from least to most, that costs the least time. Gets in mostmapped a limit for the columns in which row
  blocks have nonzeros, the largest number of any row block times the number of row blocks: below it maps save more than they cost. They
  save lines of y and private sums. Fewer pieces of rows are not counted as a saving: matrices that saved nothing else were not faster.
*/
static PetscErrorCode ChooseColumnBlocks(BCCOOSIMD *L, const AIJCSR *csr, PetscInt least, PetscInt most, const Sample *s, PetscInt share[], PetscInt *best, double *mostmapped)
{
  const PetscInt nfine  = L->nrowblocks * BCCOO_PLAN_FINE;
  const double   others = PetscMin(1.0, (L->nrowblocks - 1) / (COST_THREADS - 1.0));
  double         lowest = PETSC_MAX_REAL, saved = 0.0, pieces[BCCOO_PLAN_LEVELS], lines[BCCOO_PLAN_LEVELS];
  PetscInt       nlevels = 1;

  PetscFunctionBegin;
  while (nfine >> (nlevels - 1) > 1) nlevels++;
  PetscCall(CountPieces(csr, L->nrowblocks, s, nfine, nlevels, pieces, lines));
  *best = least;
  for (PetscInt l = nlevels - 1; l >= 0; l--) {
    const PetscInt want = nfine >> l;
    const double   rows = COST_PIECE * pieces[l] + COST_LINE * lines[l];
    double         sums, cost;

    /* with more column blocks than threads, row blocks must still have at least two row tasks for A x */
    if (want < least || want > most || (want > L->nrowblocks && CountRowTasks(L, want) < 2) || rows > lowest) continue;
    CutColumnBlocks(L, want, s, L->nrowblocks, share);
    sums = others * COST_SUM * (double)CountSums(L, share) / L->nnz;
    cost = rows + sums + others * COST_UNEVEN * (1.0 / CountRowTasks(L, want) + (double)L->nrowblocks / PetscMax(want, L->nrowblocks));
    if (cost >= lowest) continue;
    lowest = cost;
    saved  = COST_LINE * (lines[l] - lines[nlevels - 1]) + sums;
    *best  = want;
  }
  *mostmapped = *best == 1 ? 0.0 : L->nnz * saved / (COST_COPY + others * COST_MAPPED);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void MakeOneColumnBlock(BCCOOSIMD *L, PetscInt share[])
{
  L->ncolblocks = 1;
  L->bound[0]   = 0;
  L->bound[1]   = L->n;
  share[0]      = L->nrowblocks;
}

static PetscErrorCode Plan(BCCOOSIMD *L, const AIJCSR *csr, Sample *sample, PetscInt **share)
{
  const PetscCount limit = BCCOOMostSums(csr->nnz, csr->n);
  PetscInt         most, least = 1, want;
  double           mostmapped = 0.0;

  PetscFunctionBegin;
  PetscCall(CutRowBlocks(L, csr->nthreads, csr));
  PetscCall(FindColumns(L, csr));
  L->sparse = (PetscBool)(csr->nnz <= csr->n / BCCOO_LINE);
  if (IsScattered(csr, L->nrowblocks, &L->near) && !L->sparse) least = (PetscInt)(((size_t)csr->n * sizeof(PetscScalar) - 1) / BCCOO_PLAN_CACHE + 1);
  most  = PetscMax(L->nrowblocks > 1 ? L->nrowblocks * BCCOO_PLAN_FINE : 1, least);
  most  = PetscMax(1, PetscMin(most, (PetscInt)PetscMin(csr->nnz / L->nrowblocks / BCCOO_PLAN_TILE, csr->n)));
  most  = PetscMin(most, UINT16_MAX / 2); /* a chunk keeps its column block in 16 bits, and there may be twice as many as wanted */
  least = PetscMin(least, most);
  want  = least;
  PetscCall(PetscMalloc1(2 * most + 2, &L->bound));
  PetscCall(PetscMalloc1(2 * most + 1, share));
  if (most > 1) PetscCall(TakeSample(csr, L->nrowblocks, sample));
  L->shift = sample->shift;
  if (L->nrowblocks > 1 && most > 1) PetscCall(ChooseColumnBlocks(L, csr, least, most, sample, *share, &want, &mostmapped));
  if (want > 1) CutColumnBlocks(L, want, sample, L->nrowblocks, *share);
  else MakeOneColumnBlock(L, *share);
  if (CountSums(L, *share) + csr->n > limit) mostmapped = (double)limit; /* without maps not all threads would have column tasks */
  if (mostmapped >= L->n / 2 && L->n <= INT32_MAX - BCCOO_LINE /* lines are counted with 32 bits */) PetscCall(BCCOOSIMDMapColumns(L, csr, PetscMin(mostmapped, (double)limit)));
  if (L->map) MakeOneColumnBlock(L, *share);
  PetscCall(CutRowTasks(L, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cuts the matrix into row blocks, column blocks and row tasks; BCCOOSIMDEncode() makes the chunks */
PetscErrorCode BCCOOSIMDPlan(BCCOOSIMD *L, const AIJCSR *csr)
{
  Sample         sample = {.bucket = NULL, .before = NULL};
  PetscInt      *share  = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = Plan(L, csr, &sample, &share);
  PetscCall(PetscFree(sample.bucket));
  PetscCall(PetscFree(sample.before));
  PetscCall(PetscFree(share));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscInt              thread, r, b; /* the next chunk is in tile (b, r) */
  const BCCOOSIMDChunk *next;
  BCCOOColumnTask      *coltask; /* the column task that is being made */
  double                sum;     /* cost of all chunks before the next one */
} Cutter;

/* Ends the column task before the next chunk */
static void CloseColumnTask(BCCOOSIMD *L, Cutter *c)
{
  BCCOOColumnTask *coltask = c->coltask;

  coltask->last = c->b;
  coltask->end  = (size_t)((const unsigned char *)c->next - L->data[c->b]);
  coltask->cost = c->sum - coltask->cost;
  L->ncoltasks++;
}

static void OpenColumnTask(BCCOOSIMD *L, Cutter *c)
{
  c->coltask           = L->coltask + L->ncoltasks;
  c->coltask->colblock = c->r;
  c->coltask->first    = c->b;
  c->coltask->cost     = c->sum;
  c->coltask->start    = (size_t)((const unsigned char *)c->next - L->data[c->b]);
}

/* The column tasks that follow belong to the next thread */
static void NextThread(BCCOOSIMD *L, Cutter *c)
{
  L->share[++c->thread] = L->ncoltasks;
}

/*
  Deals the tiles, column block by column block, to the first nthreads threads in shares of about equal cost. A column block whose end is near
  the end of a share is not cut. If no column block costs much more than a share, none is cut between threads, and no barrier is needed. A thread's
  only column block is then still cut into two column tasks, unless it has too many columns for its cost, so that another thread may take
  the smaller one.
*/
static void DealChunks(BCCOOSIMD *L, PetscInt nthreads, const double cost[])
{
  double    total = 0.0, most = 0.0, near;
  PetscBool whole;
  Cutter    c = {.thread = 0};

  for (PetscInt r = 0; r < L->ncolblocks; r++) {
    double sum = 0.0;

    for (PetscInt b = 0; b < L->nrowblocks; b++) sum += cost[r * L->nrowblocks + b];
    total += sum;
    most = PetscMax(most, sum);
  }
  whole        = (PetscBool)(most <= 1.2 * total / nthreads + BCCOO_PLAN_BARRIER);
  near         = total / nthreads / 16 + BCCOO_PLAN_SHARE;
  L->ncoltasks = 0;
  L->share[0]  = 0;
  for (c.r = 0; c.r < L->ncolblocks; c.r++) {
    double rest = 0.0, tail; /* tail: sum of costs at which the column task for other threads begins */

    for (PetscInt b = 0; b < L->nrowblocks; b++) rest += cost[c.r * L->nrowblocks + b];
    tail = PETSC_MAX_REAL;
    if (whole && nthreads > 1 && L->ncolblocks <= nthreads && BCCOO_PLAN_TAIL * rest >= BCCOO_PLAN_TAILSUM * (double)(L->bound[c.r + 1] - L->bound[c.r])) tail = c.sum + (1.0 - BCCOO_PLAN_TAIL) * rest;
    if (whole) {
      const PetscInt thread = L->ncolblocks <= nthreads ? c.r : PetscMin((PetscInt)((c.sum + 0.5 * rest) * nthreads / total), nthreads - 1);

      while (c.thread < thread) NextThread(L, &c);
    } else {
      while (c.thread < nthreads - 1 && c.sum + near > total * (c.thread + 1) / nthreads) NextThread(L, &c);
    }
    c.b    = 0;
    c.next = BCCOOSIMDTile(L, 0, c.r);
    OpenColumnTask(L, &c);
    for (c.b = 0; c.b < L->nrowblocks; c.b++) {
      const BCCOOSIMDChunk *end  = BCCOOSIMDTile(L, c.b, c.r + 1);
      const double          tile = cost[c.r * L->nrowblocks + c.b];

      c.next = BCCOOSIMDTile(L, c.b, c.r);
      if (c.sum + tile <= tail && (whole || c.thread == nthreads - 1 || c.sum + PetscMax(tile, rest - near) <= total * (c.thread + 1) / nthreads)) { /* no cut here */
        c.sum += tile;
        rest -= tile;
        continue;
      }
      for (; c.next != end; c.next = BCCOOSIMDNext(c.next)) {
        const double middle = c.sum + 0.5 * c.next->cost, target = total * (c.thread + 1) / nthreads;

        if (middle > tail || (!whole && c.thread < nthreads - 1 && middle > target && c.sum + rest - near > target)) {
          CloseColumnTask(L, &c);
          if (!whole) NextThread(L, &c);
          OpenColumnTask(L, &c);
          tail = PETSC_MAX_REAL;
        }
        c.sum += c.next->cost;
        rest -= c.next->cost;
      }
    }
    c.b    = L->nrowblocks - 1;
    c.next = BCCOOSIMDTile(L, c.b, c.r + 1);
    CloseColumnTask(L, &c);
  }
  while (c.thread < L->nrowblocks) NextThread(L, &c);
  for (PetscInt p = 0; p < L->ncoltasks; p++) L->coltask[p].local = whole;
}

/*
  Finds the columns that each column task adds to, and the places of private sums. These are at most 2 nnz + n: there are at most nnz separate sums of
  lanes, and either no column block is shared, and second column tasks have at most one sum for each column, or CutTiles() limits the sums.
*/
static void PlaceSums(BCCOOSIMD *L)
{
  double total = 0.0;

  for (PetscInt p = 0; p < L->ncoltasks; p++) total += L->coltask[p].cost;
  L->nwork      = 0;
  L->ndensework = 0;
  L->shared[0]  = 0;
  for (PetscInt p = 0; p < L->ncoltasks; p++) {
    BCCOOColumnTask *coltask = L->coltask + p;
    const PetscInt   r = coltask->colblock, columns = L->bound[r + 1] - L->bound[r];
    const PetscBool  begins = BCCOOColumnTaskBegins(L, coltask), ends = BCCOOColumnTaskEnds(L, coltask);

    coltask->local = (PetscBool)(coltask->local || (begins && ends));
    if (begins && coltask->local) {
      coltask->lo    = L->bound[r];
      coltask->width = columns;
    } else TouchedColumns(L, r, coltask->first, coltask->last, &coltask->lo, &coltask->width);
    /* where many rows share few columns, the lanes of a step have separate sums so that none waits for another */
    coltask->stride = coltask->width <= BCCOO_PLAN_APART && coltask->cost > BCCOO_PLAN_SHARED * coltask->width && coltask->cost * L->nnz >= total * BCCOO_SIMD_LANES * coltask->width ? BCCOO_SIMD_LANES : 1;
    coltask->own    = (PetscBool)(!begins || coltask->stride > 1);
    coltask->off    = L->nwork;
    if (coltask->own) L->nwork += (PetscCount)coltask->width * coltask->stride;
    coltask->denseoff = L->ndensework;
    if (!coltask->local) L->ndensework += (PetscCount)coltask->width;
    if (begins) BCCOOSIMDCountLeft(L, coltask);
    if (ends) L->shared[r + 1] = L->shared[r] + (coltask->local ? 0 : columns);
  }
}

/* With maps, a column task is a whole row block, with private sums for the columns of its map */
static void DealRowBlocks(BCCOOSIMD *L)
{
  for (PetscInt b = 0; b < L->nrowblocks; b++) {
    const PetscCount off = BCCOOSIMDMapped(L, b);

    L->coltask[b] = (BCCOOColumnTask){.colblock = 0, .first = b, .last = b, .start = 0, .end = L->tile[2 * b + 1], .lo = 0, .width = L->nmap[b] * BCCOO_LINE, .stride = 1, .off = off, .denseoff = off, .own = PETSC_TRUE};
    L->share[b]   = b;
  }
  L->share[L->nrowblocks] = L->ncoltasks = L->nrowblocks;
  L->shared[0]                           = 0;
  L->shared[1]                           = L->n;
  L->nwork = L->ndensework = BCCOOSIMDMapped(L, L->nrowblocks);
}

/* Cuts column tasks of about equal cost, for so many threads that their sums are not too many */
static PetscErrorCode CutTiles(BCCOOSIMD *L)
{
  double *cost;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((size_t)L->nrowblocks * L->ncolblocks, &cost));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nrowblocks))
  for (PetscInt b = 0; b < L->nrowblocks; b++) {
    for (PetscInt r = 0; r < L->ncolblocks; r++) {
      double sum = 0.0;

      for (const BCCOOSIMDChunk *c = BCCOOSIMDTile(L, b, r), *end = BCCOOSIMDTile(L, b, r + 1); c != end; c = BCCOOSIMDNext(c)) sum += c->cost;
      cost[r * L->nrowblocks + b] = sum;
    }
  }
  for (PetscInt nthreads = L->nrowblocks;; nthreads--) {
    DealChunks(L, nthreads, cost);
    PlaceSums(L);
    if (nthreads == 1 || L->ndensework <= BCCOOMostSums(L->nnz, L->n)) break;
  }
  PetscCall(PetscFree(cost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cuts the transposed product into column tasks; the chunks must have been made */
PetscErrorCode BCCOOSIMDCutColumnTasks(BCCOOSIMD *L)
{
  const PetscInt rows = L->nrowblocks, cols = L->ncolblocks;

  PetscFunctionBegin;
  if (!L->coltask) PetscCall(PetscMalloc5(cols * BCCOO_SIMD_CLAIM, &L->left, rows * BCCOO_SIMD_CLAIM, &L->coltaskclaimed, cols + PetscMax(cols, rows), &L->coltask, rows + 1, &L->share, cols + 1, &L->shared));
  if (L->map) DealRowBlocks(L);
  else PetscCall(CutTiles(L));
  for (PetscInt t = 0; t < L->nrowblocks; t++) L->coltaskclaimed[t * BCCOO_SIMD_CLAIM] = L->share[t + 1] - L->share[t];
  PetscFunctionReturn(PETSC_SUCCESS);
}
