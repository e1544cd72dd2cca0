/*
  Compression lanes: products with dense matrices, a panel of 8 or 16 columns at a time. Who does what, and how sums meet; what a
  thread does with a chunk stands in bccoolanesdensekernels.h. Bands and parts are those of the products with one vector
  (bccoolanes.c), and so is the order of every sum.

  Packed operands, the rule: the entries of a row, as many as the panel has columns, stand side by side.

      A X      X is packed by all threads. A band's rows are packed sums: of one chunk after the other, if the columns are one
               range, which are then written to Y; otherwise of all its rows, until its last chunk is done.
      A^T U    U is packed chunk by chunk, or, where many chunks meet a row, beforehand by all threads. A part that has its
               range for itself has packed sums in memory of its thread, for all its ranges the same; parts that share a range
               have sums each, which all threads bring together in the order of the parts.

  Columnwise, for stencils: operands are taken as they are, and no packed copy goes through memory. A few chunks are done for all
  columns before the next few, so that the matrix is read once.

  Where a packed panel is small, several go together, since threads wait for each other once or twice in each round.
*/
#include "bccoolanes.h"

#define BCCOO_PACK    512    /* rows that a thread packs at a time */
#define BCCOO_MERGE   64     /* columns that a thread merges at a time */
#define BCCOO_ROUND   524288 /* scalars of scratch up to which several panels go together */
#define BCCOO_CHUNKS  16     /* chunks that are done for all columns before the next, columnwise */
#define BCCOO_SHARE   4      /* a row of X, or of sums, that a thread has for itself pays if it has so many nonzeros for each */
#define BCCOO_GAPS    4      /* U is packed chunk by chunk unless a chunk has fewer than one in so many rows */
#define BCCOO_VECTORS 2      /* columns that are not worth a packed panel */
#define BCCOO_FOLLOW  0.8    /* share of the nonzeros in slots whose rows and columns follow each other, from which columnwise pays */

/* ---------------------------------------------------------------------------------------------------------- preparation */

typedef struct {
  size_t span, sum; /* rows from the first to the last that a chunk has: the most, and of all chunks together */
  size_t rows;      /* those that have nonzeros there */
  size_t follow;    /* nonzeros in slots whose rows and columns follow each other */
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

/* Columns of range r between the least and the largest of band b */
static void GetWindow(const BCCOOLanes *L, PetscInt b, PetscInt r, PetscInt *lo, PetscInt *width)
{
  *lo    = PetscMax(L->lo[b], L->bound[r]);
  *width = PetscMax(0, PetscMin(L->hi[b] + 1, L->bound[r + 1]) - *lo);
}

/* What products with dense matrices want to know of the chunks, and where parts that share a range have their sums */
PetscErrorCode BCCOOLanesPlanDense(BCCOOLanes *L)
{
  Survey *survey, all = {0, 0, 0, 0};
  size_t  windows = 0;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(L->nbands, &survey));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nbands) if (L->nbands > 1))
  for (PetscInt b = 0; b < L->nbands; b++) {
    for (const BCCOOLanesChunk *c = BCCOOLanesTile(L, b, 0), *end = BCCOOLanesTile(L, b, L->nranges); c < end; c = BCCOOLanesNext(c)) SurveyChunk(c, &survey[b]);
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
  L->columnwise = (PetscBool)((double)all.follow >= BCCOO_FOLLOW * (double)L->nnz);
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
    if (BCCOOLanesPartBegins(L, part) && BCCOOLanesPartEnds(L, part)) L->width = PetscMax(L->width, (size_t)part->width);
    else L->ndensework += (size_t)part->width;
  }
  L->windows = (PetscBool)(PetscMax(windows, L->nbands * L->window) <= (size_t)L->nnz / BCCOO_SHARE);
  L->byparts = (PetscBool)(!L->windows && L->nbands > 1 && L->nbands * (size_t)L->m <= (size_t)L->nnz / BCCOO_SHARE && L->nbands * L->partwidth <= (size_t)L->nnz && L->m < L->n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ----------------------------------------------------------------------------------------------------------------- tools */

/* Columns of a panel whose packed rows have nv vectors */
#define PANEL(nv) ((PetscInt)(nv)*BCCOO_PANEL)

/* How many of K columns are done in panels of two vectors, before the others; with all of the second, or most of it, in use */
static inline PetscInt WideColumns(const BCCOOLanes *L, PetscInt K)
{
  const PetscInt rest = K % PANEL(2);

  return L->columnwise ? 0 : rest > PANEL(1) ? K : K - rest;
}

/* How many of K columns, the last ones, take less time as products with one vector */
PetscInt BCCOOLanesDenseVectors(const BCCOOLanes *L, PetscInt K)
{
  const PetscInt rest = K % PANEL(1);

  return K == 1 || (!L->columnwise && rest <= BCCOO_VECTORS) ? rest : 0;
}

static inline PetscInt CountPanels(PetscInt K, unsigned nv)
{
  return (K - 1) / PANEL(nv) + 1;
}

/* Columns of panel p */
static inline PetscInt PanelColumns(PetscInt K, unsigned nv, PetscInt p)
{
  return PetscMin(K - p * PANEL(nv), PANEL(nv));
}

/* Panels of K columns that go together, if each takes so many scalars of scratch for a column */
static inline PetscInt RoundPanels(PetscInt K, unsigned nv, size_t scalars)
{
  const PetscInt npanels = CountPanels(K, nv);

  scalars *= PANEL(nv);

  return scalars * npanels <= BCCOO_ROUND ? npanels : (PetscInt)PetscMax(1, BCCOO_ROUND / scalars);
}

/* Rows start .. end - 1 of K columns of Y become 0 */
static void Zero(PetscInt start, PetscInt end, PetscInt K, PetscScalar *Y, size_t ldy)
{
  if (start >= end) return;
  for (PetscInt k = 0; k < K; k++) memset(Y + start + k * ldy, 0, (end - start) * sizeof(PetscScalar));
}

/* Packs all n rows of K columns, panel by panel; called by all threads, which wait for each other at the end */
static void PackAll(const BCCOOLanes *L, unsigned nv, PetscInt n, PetscInt K, const PetscScalar *X, size_t ldx, PetscScalar *x)
{
  const PetscInt nblocks = (n - 1) / BCCOO_PACK + 1;

  PetscPragmaOMP(for schedule(static))
  for (PetscInt q = 0; q < nblocks * CountPanels(K, nv); q++) {
    const PetscInt p = q / nblocks, start = q % nblocks * BCCOO_PACK;

    L->kernels->pack(PetscMin(BCCOO_PACK, n - start), PanelColumns(K, nv, p), X + start + (size_t)p * PANEL(nv) * ldx, ldx, nv, x + ((size_t)p * n + start) * PANEL(nv));
  }
}

/* ------------------------------------------------------------------------------------------------------------------ A X */

/*
  The rows of X, from *first on, that band b needs for the columns of range r, packed. They are part of x, if that is given; otherwise they
  are packed now, into xb.
*/
static const PetscScalar *PackWindow(const BCCOOLanes *L, PetscInt b, PetscInt r, unsigned nv, PetscInt K, const PetscScalar *X, size_t ldx, const PetscScalar *x, PetscScalar *xb, PetscInt *first)
{
  PetscInt width;

  GetWindow(L, b, r, first, &width);
  if (x) return x + (size_t)*first * PANEL(nv);
  L->kernels->pack(width, K, X + *first, ldx, nv, xb);
  return xb;
}

/* The rows of band b for K columns, a panel; the columns of A are one range. yb holds the rows that a chunk meets, and one more. */
static void MultPackedOneRange(const BCCOOLanes *L, PetscInt b, unsigned nv, PetscInt K, const PetscScalar *X, size_t ldx, const PetscScalar *x, PetscScalar *xb, PetscScalar *Y, size_t ldy, PetscScalar *yb, PetscScalar *carry)
{
  PetscInt               first;
  const PetscScalar     *xr   = PackWindow(L, b, 0, nv, K, X, ldx, x, xb, &first);
  const BCCOOLanesChunk *end  = BCCOOLanesTile(L, b, 1);
  PetscScalar           *last = yb + L->span * PANEL(nv);
  PetscInt               next = L->own[b]; /* rows before this one are written; the last of them may go on, last is its sum so far */

  for (const BCCOOLanesChunk *c = BCCOOLanesTile(L, b, 0); c < end; c = BCCOOLanesNext(c)) {
    const PetscScalar *xc = xr + (size_t)(c->col - first) * PANEL(nv);

    if (c->carry) {
      L->kernels->multdense(c, L->table, nv, xc, carry);
      continue;
    }
    memset(yb, 0, c->span * PANEL(nv) * sizeof(PetscScalar));
    if (c->row < next) memcpy(yb, last, PANEL(nv) * sizeof(PetscScalar));
    else Zero(next, c->row, K, Y, ldy);
    L->kernels->multdense(c, L->table, nv, xc, yb);
    L->kernels->unpack((PetscInt)c->span, K, yb, nv, Y + c->row, ldy);
    memcpy(last, yb + (c->span - 1) * PANEL(nv), PANEL(nv) * sizeof(PetscScalar));
    next = c->row + (PetscInt)c->span;
  }
  Zero(next, L->own[b + 1], K, Y, ldy);
}

/* The same for several ranges; yb holds all rows of the band */
static void MultPackedRanges(const BCCOOLanes *L, PetscInt b, unsigned nv, PetscInt K, const PetscScalar *X, size_t ldx, const PetscScalar *x, PetscScalar *xb, PetscScalar *Y, size_t ldy, PetscScalar *yb, PetscScalar *carry)
{
  const PetscInt own = L->own[b], rows = L->own[b + 1] - own;

  memset(yb, 0, (size_t)rows * PANEL(nv) * sizeof(PetscScalar));
  for (PetscInt r = 0; r < L->nranges; r++) {
    const BCCOOLanesChunk *c = BCCOOLanesTile(L, b, r), *end = BCCOOLanesTile(L, b, r + 1);
    const PetscScalar     *xr;
    PetscInt               first;

    if (c == end) continue;
    xr = PackWindow(L, b, r, nv, K, X, ldx, x, xb, &first);
    for (; c < end; c = BCCOOLanesNext(c)) L->kernels->multdense(c, L->table, nv, xr + (size_t)(c->col - first) * PANEL(nv), c->carry ? carry : yb + (size_t)(c->row - own) * PANEL(nv));
  }
  L->kernels->unpack(rows, K, yb, nv, Y + own, ldy);
}

/* The rows of band b for all K columns */
static void MultColumnwise(const BCCOOLanes *L, PetscInt b, PetscInt K, const PetscScalar *X, size_t ldx, PetscScalar *Y, size_t ldy, PetscScalar *carry)
{
  const BCCOOLanesChunk *end    = BCCOOLanesTile(L, b, L->nranges), *next;
  PetscInt               filled = L->own[b]; /* rows before this one have sums; the others are zeroed when they are about to be needed */

  for (const BCCOOLanesChunk *first = BCCOOLanesTile(L, b, 0); first < end; first = next) {
    PetscInt upto = filled;

    next = first;
    for (PetscInt q = 0; q < BCCOO_CHUNKS && next < end; q++, next = BCCOOLanesNext(next)) {
      if (!next->carry) upto = PetscMax(upto, next->row + (PetscInt)next->span);
    }
    for (PetscInt k = 0; k < K; k += BCCOO_PANEL) {
      const PetscInt nk = PetscMin(K - k, BCCOO_PANEL);

      Zero(filled, upto, nk, Y + k * ldy, ldy);
      for (const BCCOOLanesChunk *c = first; c < next; c = BCCOOLanesNext(c)) {
        if (c->carry) L->kernels->multcolumns(c, L->table, nk, X + c->col + k * ldx, ldx, carry + k, 1);
        else L->kernels->multcolumns(c, L->table, nk, X + c->col + k * ldx, ldx, Y + c->row + k * ldy, ldy);
      }
    }
    filled = upto;
  }
  Zero(filled, L->own[b + 1], K, Y, ldy);
}

/*
  A X with private sums: thread t does its parts of the transposed product. x is for the columns of a part, y for all rows; both are
  the thread's.
*/
static void MultParts(const BCCOOLanes *L, PetscInt t, unsigned nv, PetscInt K, const PetscScalar *X, size_t ldx, PetscScalar *x, PetscScalar *y)
{
  memset(y, 0, (size_t)L->m * PANEL(nv) * sizeof(PetscScalar));
  for (const BCCOOLanesPart *part = L->part + L->share[t]; part < L->part + L->share[t + 1]; part++) {
    L->kernels->pack(part->width, K, X + part->lo, ldx, nv, x);
    for (PetscInt b = part->first; b <= part->last; b++) {
      for (const BCCOOLanesChunk *c = BCCOOLanesPartStart(L, part, b), *end = BCCOOLanesPartEnd(L, part, b); c < end; c = BCCOOLanesNext(c)) L->kernels->multdense(c, L->table, nv, x + (size_t)(c->col - part->lo) * PANEL(nv), y + (size_t)c->row * PANEL(nv));
    }
  }
}

/* Rows start .. end - 1 of Y, K columns, a panel, from the private sums of all threads, which have m rows each */
static void MergeParts(const BCCOOLanes *L, PetscInt start, PetscInt end, unsigned nv, PetscInt K, const PetscScalar *sums, PetscScalar *Y, size_t ldy)
{
  PetscScalar y[BCCOO_MERGE * PANEL(2)];

  for (; start < end; start += BCCOO_MERGE) {
    const PetscInt n = PetscMin(BCCOO_MERGE, end - start);

    memset(y, 0, n * PANEL(nv) * sizeof(PetscScalar));
    for (PetscInt t = 0; t < L->nbands; t++) {
      const PetscScalar *from = sums + ((size_t)t * L->m + start) * PANEL(nv);

      for (PetscInt k = 0; k < n * PANEL(nv); k++) y[k] += from[k];
    }
    L->kernels->unpack(n, K, y, nv, Y + start, ldy);
  }
}

/* All K columns by private sums; called by all threads */
static void MultByParts(const BCCOOLanes *L, unsigned nv, PetscInt K, const PetscScalar *X, size_t ldx, PetscScalar *Y, size_t ldy, PetscScalar *work)
{
  const PetscInt npanels = CountPanels(K, nv), nthreads = L->nbands, nblocks = (L->m - 1) / BCCOO_MERGE + 1;
  const size_t   nsums = (size_t)npanels * nthreads * L->m * PANEL(nv);

  PetscPragmaOMP(for schedule(static, 1))
  for (PetscInt t = 0; t < nthreads; t++) {
    for (PetscInt p = 0; p < npanels; p++) MultParts(L, t, nv, PanelColumns(K, nv, p), X + (size_t)p * PANEL(nv) * ldx, ldx, work + nsums + t * L->partwidth * PANEL(nv), work + ((size_t)p * nthreads + t) * L->m * PANEL(nv));
  }
  PetscPragmaOMP(for schedule(static))
  for (PetscInt q = 0; q < nblocks * npanels; q++) {
    const PetscInt p = q / nblocks, start = q % nblocks * BCCOO_MERGE;

    MergeParts(L, start, PetscMin(start + BCCOO_MERGE, L->m), nv, PanelColumns(K, nv, p), work + (size_t)p * nthreads * L->m * PANEL(nv), Y + (size_t)p * PANEL(nv) * ldy, ldy);
  }
}

/* Scalars for: packed columns, of a round or of each band, the packed rows of a band, the carries of a round */
static void GetMultWork(const BCCOOLanes *L, unsigned nv, PetscInt K, PetscInt *npanels, size_t *nx, size_t *nrows, size_t *ncarry)
{
  *npanels = L->columnwise || L->windows ? CountPanels(K, nv) : RoundPanels(K, nv, L->byparts ? (size_t)L->nbands * L->m : (size_t)L->n);
  *nx      = L->columnwise ? 0 : (L->windows ? L->nbands * L->window : (size_t)*npanels * L->n) * PANEL(nv);
  *nrows   = L->columnwise ? 0 : (L->nranges > 1 ? (size_t)L->m : L->nbands * (L->span + 1)) * PANEL(nv);
  *ncarry  = (size_t)L->nbands * *npanels * PANEL(nv);
  if (L->byparts && !L->columnwise) {
    *nx    = (size_t)*npanels * L->nbands * L->m * PANEL(nv);
    *nrows = L->nbands * L->partwidth * PANEL(nv);
  }
}

static size_t CountMultWork(const BCCOOLanes *L, unsigned nv, PetscInt K)
{
  PetscInt npanels;
  size_t   nx, nrows, ncarry;

  if (!K) return 0;
  GetMultWork(L, nv, K, &npanels, &nx, &nrows, &ncarry);
  return nx + nrows + ncarry;
}

size_t BCCOOLanesMultDenseWork(const BCCOOLanes *L, PetscInt K)
{
  const PetscInt wide = WideColumns(L, K);

  return PetscMax(CountMultWork(L, 2, wide), CountMultWork(L, 1, K - wide));
}

static void MultPanels(const BCCOOLanes *L, unsigned nv, PetscInt K, const PetscScalar *X, size_t ldx, PetscScalar *Y, size_t ldy, PetscScalar *work)
{
  PetscInt     npanels;
  size_t       nx, nrows, ncarry;
  PetscScalar *rows, *carry;

  if (!K) return;
  GetMultWork(L, nv, K, &npanels, &nx, &nrows, &ncarry);
  rows  = work + nx;
  carry = rows + nrows;
  PetscPragmaOMP(parallel num_threads((int)L->nbands) if (L->nbands > 1))
  for (PetscInt k = 0; k < K; k += npanels * PANEL(nv)) {
    const PetscInt     nk = PetscMin(K - k, npanels * PANEL(nv));
    const PetscScalar *Xk = X + k * ldx;
    PetscScalar       *Yk = Y + k * ldy;

    if (L->byparts && !L->columnwise) {
      MultByParts(L, nv, nk, Xk, ldx, Yk, ldy, work);
      continue;
    }
    if (!L->columnwise && !L->windows) PackAll(L, nv, L->n, nk, Xk, ldx, work);
    PetscPragmaOMP(for schedule(static, 1))
    for (PetscInt b = 0; b < L->nbands; b++) {
      PetscScalar *cb = carry + (size_t)b * npanels * PANEL(nv);

      memset(cb, 0, npanels * PANEL(nv) * sizeof(PetscScalar));
      if (L->columnwise) {
        MultColumnwise(L, b, nk, Xk, ldx, Yk, ldy, cb);
        continue;
      }
      for (PetscInt p = 0; p < CountPanels(nk, nv); p++) {
        const PetscInt     columns = PanelColumns(nk, nv, p), first = p * PANEL(nv);
        const PetscScalar *x  = L->windows ? NULL : work + (size_t)first * L->n;
        PetscScalar       *xb = work + b * L->window * PANEL(nv);

        if (L->nranges > 1) MultPackedRanges(L, b, nv, columns, Xk + first * ldx, ldx, x, xb, Yk + first * ldy, ldy, rows + (size_t)L->own[b] * PANEL(nv), cb + first);
        else MultPackedOneRange(L, b, nv, columns, Xk + first * ldx, ldx, x, xb, Yk + first * ldy, ldy, rows + b * (L->span + 1) * PANEL(nv), cb + first);
      }
    }
    PetscPragmaOMP(single)
    for (PetscInt b = 0; b + 1 < L->nbands; b++) {
      if (L->start[b + 1] == L->nnz || L->own[b + 1] == L->m) continue;
      for (PetscInt l = 0; l < nk; l++) Yk[L->own[b + 1] + l * ldy] += carry[(size_t)b * npanels * PANEL(nv) + l];
    }
  }
}

/* Y = A X, K columns */
void BCCOOLanesMultDense(const BCCOOLanes *L, PetscInt K, const PetscScalar *X, size_t ldx, PetscScalar *Y, size_t ldy, PetscScalar *work)
{
  const PetscInt wide = WideColumns(L, K);

  MultPanels(L, 2, wide, X, ldx, Y, ldy, work);
  MultPanels(L, 1, K - wide, X + wide * ldx, ldx, Y + wide * ldy, ldy, work);
}

/* ---------------------------------------------------------------------------------------------------------------- A^T U */

/*
  w = A^T U for the nonzeros of a part and a panel of K columns; all is packed. u is U, packed, if that is given; otherwise ub is
  for the rows of U that a chunk meets.
*/
static void MultTransposePacked(const BCCOOLanes *L, const BCCOOLanesPart *part, PetscBool hermitian, unsigned nv, PetscInt K, const PetscScalar *U, size_t ldu, const PetscScalar *u, PetscScalar *ub, PetscScalar *w)
{
  memset(w, 0, (size_t)part->width * PANEL(nv) * sizeof(PetscScalar));
  for (PetscInt b = part->first; b <= part->last; b++) {
    for (const BCCOOLanesChunk *c = BCCOOLanesPartStart(L, part, b), *end = BCCOOLanesPartEnd(L, part, b); c < end; c = BCCOOLanesNext(c)) {
      if (!u) L->kernels->pack((PetscInt)c->span, K, U + c->row, ldu, nv, ub);
      L->kernels->multtransposedense(c, L->table, hermitian, nv, u ? u + (size_t)c->row * PANEL(nv) : ub, w + (size_t)(c->col - part->lo) * PANEL(nv));
    }
  }
}

/* The column after the last one of a chunk */
static PetscInt ColumnsEnd(const BCCOOLanesChunk *c)
{
  const BCCOOLanesStreams s   = BCCOOLanesGetStreams(c);
  PetscInt                end = 0, k = 0;

  for (unsigned q = 0; q < (c->pairs ? c->n : c->nslots); q++) {
    const unsigned lanes  = c->pairs ? 1 : s.slots[q] & BCCOO_SLOT_LANES;
    const unsigned follow = c->pairs ? 0 : s.slots[q] & BCCOO_SLOT_CONSECUTIVE;

    for (unsigned l = 0; l < (follow ? 1 : lanes); l++, k++) end = PetscMax(end, (c->wide ? (PetscInt)((const uint32_t *)s.columns)[k] : ((const uint16_t *)s.columns)[k]) + (PetscInt)(follow ? lanes : 1));
  }
  return c->col + end;
}

/* W = A^T U for the nonzeros of a part and K columns; W begins with the part's first column */
static void MultTransposeColumnwise(const BCCOOLanes *L, const BCCOOLanesPart *part, PetscBool hermitian, PetscInt K, const PetscScalar *U, size_t ldu, PetscScalar *W, size_t ldw)
{
  PetscInt filled = 0; /* as in MultColumnwise() */

  for (PetscInt b = part->first; b <= part->last; b++) {
    const BCCOOLanesChunk *end = BCCOOLanesPartEnd(L, part, b), *next;

    for (const BCCOOLanesChunk *first = BCCOOLanesPartStart(L, part, b); first < end; first = next) {
      PetscInt upto = filled;

      next = first;
      for (PetscInt q = 0; q < BCCOO_CHUNKS && next < end; q++, next = BCCOOLanesNext(next)) upto = PetscMax(upto, ColumnsEnd(next) - part->lo);
      for (PetscInt k = 0; k < K; k += BCCOO_PANEL) {
        const PetscInt nk = PetscMin(K - k, BCCOO_PANEL);

        Zero(filled, upto, nk, W + k * ldw, ldw);
        for (const BCCOOLanesChunk *c = first; c < next; c = BCCOOLanesNext(c)) L->kernels->multtransposecolumns(c, L->table, hermitian, nk, U + c->row + k * ldu, ldu, W + (c->col - part->lo) + k * ldw, ldw);
      }
      filled = upto;
    }
  }
  Zero(filled, part->width, K, W, ldw);
}

/* Columns start .. end - 1 of a range that several parts share, the first of which is given; K columns of V, a panel */
static void MergePacked(const BCCOOLanes *L, unsigned nv, const BCCOOLanesPart *first, PetscInt start, PetscInt end, PetscInt K, const PetscScalar *sums, PetscScalar *V, size_t ldv)
{
  PetscScalar v[BCCOO_MERGE * PANEL(2)];

  for (; start < end; start += BCCOO_MERGE) {
    const PetscInt upto = PetscMin(start + BCCOO_MERGE, end);

    memset(v, 0, (upto - start) * PANEL(nv) * sizeof(PetscScalar));
    for (const BCCOOLanesPart *part = first;; part++) {
      const PetscInt     lo = PetscMax(start, part->lo), hi = PetscMin(upto, part->lo + part->width);
      const PetscScalar *w = sums + part->denseoff * PANEL(nv);

      for (PetscInt j = lo; j < hi; j++) {
        for (PetscInt k = 0; k < PANEL(nv); k++) v[(j - start) * PANEL(nv) + k] += w[(size_t)(j - part->lo) * PANEL(nv) + k];
      }
      if (BCCOOLanesPartEnds(L, part)) break;
    }
    L->kernels->unpack(upto - start, K, v, nv, V + start, ldv);
  }
}

/* The same for all K columns: the first part has added to V itself, within its columns */
static void MergeColumnwise(const BCCOOLanes *L, const BCCOOLanesPart *first, PetscInt start, PetscInt end, PetscInt K, const PetscScalar *sums, PetscScalar *V, size_t ldv)
{
  Zero(start, PetscMin(end, first->lo), K, V, ldv);
  Zero(PetscMax(start, first->lo + first->width), end, K, V, ldv);
  for (const BCCOOLanesPart *part = first; !BCCOOLanesPartEnds(L, part);) {
    part++;
    for (PetscInt k = 0; k < K; k++) {
      const PetscScalar *w = sums + part->denseoff * K + (size_t)k * part->width;

      for (PetscInt j = PetscMax(start, part->lo); j < PetscMin(end, part->lo + part->width); j++) V[j + k * ldv] += w[j - part->lo];
    }
  }
}

/* Thread t of nthreads brings its share of each range that is shared together */
static void Merge(const BCCOOLanes *L, unsigned nv, PetscInt t, PetscInt nthreads, PetscInt K, const PetscScalar *sums, PetscScalar *V, size_t ldv)
{
  for (const BCCOOLanesPart *part = L->part; part < L->part + L->nparts; part++) {
    const PetscInt from = L->bound[part->range], columns = L->bound[part->range + 1] - from, nlines = (columns - 1) / BCCOO_PANEL + 1;
    const PetscInt start = from + BCCOOPartStart(nlines, nthreads, t) * BCCOO_PANEL, end = PetscMin(from + columns, from + BCCOOPartStart(nlines, nthreads, t + 1) * BCCOO_PANEL);

    if (!BCCOOLanesPartBegins(L, part) || BCCOOLanesPartEnds(L, part)) continue;
    if (L->columnwise) MergeColumnwise(L, part, start, end, K, sums, V, ldv);
    else {
      for (PetscInt p = 0; p < CountPanels(K, nv); p++) MergePacked(L, nv, part, start, end, PanelColumns(K, nv, p), sums + (size_t)p * L->ndensework * PANEL(nv), V + (size_t)p * PANEL(nv) * ldv, ldv);
    }
  }
}

/* Scalars for: U, packed, of a round; what each thread has: rows of U that a chunk meets, sums of a range; all other sums of a round */
static void GetTransposeWork(const BCCOOLanes *L, unsigned nv, PetscInt K, PetscInt *npanels, size_t *nu, size_t *nub, size_t *nw, size_t *nsums)
{
  const size_t mu = L->columnwise || L->rowwise ? 0 : (size_t)L->m;

  *npanels = RoundPanels(K, nv, mu + L->ndensework);
  *nu      = mu * *npanels * PANEL(nv);
  *nub     = L->columnwise || !L->rowwise ? 0 : L->span * PANEL(nv);
  *nw      = L->columnwise ? 0 : L->width * PANEL(nv);
  *nsums   = L->ndensework * *npanels * PANEL(nv);
}

static size_t CountTransposeWork(const BCCOOLanes *L, unsigned nv, PetscInt K)
{
  PetscInt npanels;
  size_t   nu, nub, nw, nsums;

  if (!K) return 0;
  GetTransposeWork(L, nv, K, &npanels, &nu, &nub, &nw, &nsums);
  return nu + L->nbands * (nub + nw) + nsums;
}

size_t BCCOOLanesMultTransposeDenseWork(const BCCOOLanes *L, PetscInt K)
{
  const PetscInt wide = WideColumns(L, K);

  return PetscMax(CountTransposeWork(L, 2, wide), CountTransposeWork(L, 1, K - wide));
}

static void MultTransposePanels(const BCCOOLanes *L, PetscBool hermitian, unsigned nv, PetscInt K, const PetscScalar *U, size_t ldu, PetscScalar *V, size_t ldv, PetscScalar *work)
{
  const PetscInt nthreads = L->nbands;
  PetscInt       npanels;
  size_t         nu, nub, nw, nsums;
  PetscScalar   *sums;

  if (!K) return;
  GetTransposeWork(L, nv, K, &npanels, &nu, &nub, &nw, &nsums);
  sums = work + nu + nthreads * (nub + nw);
  PetscPragmaOMP(parallel num_threads((int)nthreads) if (nthreads > 1))
  for (PetscInt k = 0; k < K; k += npanels * PANEL(nv)) {
    const PetscInt     nk = PetscMin(K - k, npanels * PANEL(nv));
    const PetscScalar *Uk = U + k * ldu;
    PetscScalar       *Vk = V + k * ldv;

    if (nu) PackAll(L, nv, L->m, nk, Uk, ldu, work);
    PetscPragmaOMP(for schedule(static, 1))
    for (PetscInt t = 0; t < nthreads; t++) {
      PetscScalar *ub = work + nu + t * (nub + nw), *w = ub + nub;

      for (const BCCOOLanesPart *part = L->part + L->share[t]; part < L->part + L->share[t + 1]; part++) {
        const PetscBool begins = BCCOOLanesPartBegins(L, part), alone = (PetscBool)(begins && BCCOOLanesPartEnds(L, part));

        if (L->columnwise) {
          if (begins) MultTransposeColumnwise(L, part, hermitian, nk, Uk, ldu, Vk + part->lo, ldv);
          else MultTransposeColumnwise(L, part, hermitian, nk, Uk, ldu, sums + part->denseoff * nk, part->width);
          continue;
        }
        for (PetscInt p = 0; p < CountPanels(nk, nv); p++) {
          const PetscInt     first = p * PANEL(nv), columns = PanelColumns(nk, nv, p);
          const PetscScalar *u = nu ? work + (size_t)first * L->m : NULL;

          MultTransposePacked(L, part, hermitian, nv, columns, Uk + first * ldu, ldu, u, ub, alone ? w : sums + (size_t)first * L->ndensework + part->denseoff * PANEL(nv));
          if (alone) L->kernels->unpack(part->width, columns, w, nv, Vk + part->lo + first * ldv, ldv);
        }
      }
    }
    if (nsums) {
      PetscPragmaOMP(for schedule(static, 1))
      for (PetscInt t = 0; t < nthreads; t++) Merge(L, nv, t, nthreads, nk, sums, Vk, ldv);
    }
  }
}

/* V = A^T U, or A^H U when hermitian, K columns */
void BCCOOLanesMultTransposeDense(const BCCOOLanes *L, PetscBool hermitian, PetscInt K, const PetscScalar *U, size_t ldu, PetscScalar *V, size_t ldv, PetscScalar *work)
{
  const PetscInt wide = WideColumns(L, K);

  MultTransposePanels(L, hermitian, 2, wide, U, ldu, V, ldv, work);
  MultTransposePanels(L, hermitian, 1, K - wide, U + wide * ldu, ldu, V + wide * ldv, ldv, work);
}
