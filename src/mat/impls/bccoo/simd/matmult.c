/* Coding simd: A X; matmult.h describes the methods */
#include "matmult.h"

/* Packs the rows of X in the map of row block b, consecutive lines together */
static void PackMapped(const BCCOOSIMD *L, PetscInt b, const BCCOOOperands *o, PetscScalar *xb)
{
  const PetscInt *map = L->map + L->mapstart[b];

  for (PetscInt k = 0, n; k < L->nmap[b]; k += n) {
    const PetscInt first = map[k] * BCCOO_LINE;

    for (n = 1; k + n < L->nmap[b] && map[k + n] == map[k] + n;) n++;
    L->kernels->pack(PetscMin(n * BCCOO_LINE, L->n - first), o->K, o->X + first, o->ldx, o->panel, xb + (PetscCount)k * BCCOO_LINE * o->panel);
  }
}

/*
  Returns the packed rows of X, from *first on, that row block b needs in column block r: those in x, which is all of X packed, or, if x is
  NULL, those packed into xb by this function
*/
static const PetscScalar *PackWindow(const BCCOOSIMD *L, PetscInt b, PetscInt r, const BCCOOOperands *o, const PetscScalar *x, PetscScalar *xb, PetscInt *first)
{
  PetscInt width;

  GetWindow(L, b, r, first, &width);
  if (x) return x + (PetscCount)*first * o->panel;
  if (L->map) PackMapped(L, b, o, xb);
  else L->kernels->pack(width, o->K, o->X + *first, o->ldx, o->panel, xb);
  return xb;
}

/* Computes the rows of row block b of a panel, with one column block; yb has space for the rows that a chunk spans, and one more */
static void MultPackedOneBlock(const BCCOOSIMD *L, PetscInt b, const BCCOOOperands *o, const PetscScalar *x, PetscScalar *xb, PetscScalar *yb, PetscScalar *carry)
{
  const PetscInt        panel = o->panel;
  PetscInt              first;
  const PetscScalar    *xr   = PackWindow(L, b, 0, o, x, xb, &first);
  const BCCOOSIMDChunk *end  = BCCOOSIMDTile(L, b, 1);
  PetscScalar          *last = yb + L->span * panel;
  PetscInt              next = L->own[b]; /* rows before this one are written; the next chunk may continue the last of them, whose sum so far is in last */

  for (const BCCOOSIMDChunk *c = BCCOOSIMDTile(L, b, 0); c != end; c = BCCOOSIMDNext(c)) {
    const PetscScalar *xc = xr + (PetscCount)(c->col - first) * panel;

    if (c->carry) {
      L->kernels->multdense(c, L->table, panel, xc, carry);
      continue;
    }
    memset(yb, 0, c->span * panel * sizeof(PetscScalar));
    if (c->row < next) memcpy(yb, last, panel * sizeof(PetscScalar));
    else Zero(next, c->row, o->K, o->Y, o->ldy);
    L->kernels->multdense(c, L->table, panel, xc, yb);
    L->kernels->unpack((PetscInt)c->span, o->K, yb, panel, o->Y + c->row, o->ldy);
    memcpy(last, yb + (c->span - 1) * panel, panel * sizeof(PetscScalar));
    next = c->row + (PetscInt)c->span;
  }
  Zero(next, L->own[b + 1], o->K, o->Y, o->ldy);
}

/* The same with several column blocks; yb has space for all rows of the row block */
static void MultPackedBlocks(const BCCOOSIMD *L, PetscInt b, const BCCOOOperands *o, const PetscScalar *x, PetscScalar *xb, PetscScalar *yb, PetscScalar *carry)
{
  const PetscInt own = L->own[b], rows = L->own[b + 1] - own, panel = o->panel;

  memset(yb, 0, (size_t)rows * panel * sizeof(PetscScalar));
  for (PetscInt r = 0; r < L->ncolblocks; r++) {
    const BCCOOSIMDChunk *c = BCCOOSIMDTile(L, b, r), *end = BCCOOSIMDTile(L, b, r + 1);
    const PetscScalar    *xr;
    PetscInt              first;

    if (c == end) continue;
    xr = PackWindow(L, b, r, o, x, xb, &first);
    for (; c != end; c = BCCOOSIMDNext(c)) L->kernels->multdense(c, L->table, panel, xr + (PetscCount)(c->col - first) * panel, c->carry ? carry : yb + (PetscCount)(c->row - own) * panel);
  }
  L->kernels->unpack(rows, o->K, yb, panel, o->Y + own, o->ldy);
}

/* Computes the rows of row block b of BCCOO_PANEL columns that are not packed; rows of Y are set to zero just before sums are added to them */
static void MultColumnwise(const BCCOOSIMD *L, PetscInt b, const BCCOOOperands *o, PetscScalar *carry)
{
  PetscInt filled = L->own[b];

  for (const BCCOOSIMDChunk *c = BCCOOSIMDTile(L, b, 0), *end = BCCOOSIMDTile(L, b, L->ncolblocks); c != end; c = BCCOOSIMDNext(c)) {
    if (c->carry) L->kernels->multcolumns(c, L->table, o->X + c->col, o->ldx, carry, 1);
    else {
      const PetscInt upto = PetscMax(filled, c->row + (PetscInt)c->span);

      Zero(filled, upto, BCCOO_PANEL, o->Y, o->ldy);
      L->kernels->multcolumns(c, L->table, o->X + c->col, o->ldx, o->Y + c->row, o->ldy);
      filled = upto;
    }
  }
  Zero(filled, L->own[b + 1], BCCOO_PANEL, o->Y, o->ldy);
}

/*
  A X with private sums: thread t multiplies the chunks of the column tasks, those of the transposed product, that are dealt to it. x is its
  scratch for the packed rows of X that a column task needs; y has its sums for all rows.
*/
static void MultColumnTasks(const BCCOOSIMD *L, PetscInt t, const BCCOOOperands *o, PetscScalar *x, PetscScalar *y)
{
  const PetscInt panel = o->panel;

  memset(y, 0, (size_t)L->m * panel * sizeof(PetscScalar));
  for (const BCCOOColumnTask *coltask = L->coltask + L->share[t], *first = coltask; coltask < L->coltask + L->share[t + 1]; coltask++) {
    if (coltask == BCCOOColumnTaskNext(L, first)) first = coltask;
    if (coltask == first) L->kernels->pack(coltask->width, o->K, o->X + coltask->lo, o->ldx, panel, x);
    for (PetscInt b = coltask->first; b <= coltask->last; b++) {
      for (const BCCOOSIMDChunk *c = BCCOOColumnTaskStart(L, coltask, b), *end = BCCOOColumnTaskEnd(L, coltask, b); c != end; c = BCCOOSIMDNext(c))
        L->kernels->multdense(c, L->table, panel, x + (PetscCount)(c->col - first->lo) * panel, y + (PetscCount)c->row * panel);
    }
  }
}

/* Adds up the private sums of all threads, m rows each, for rows start .. end - 1 of a panel of Y */
static void MergeColumnTasks(const BCCOOSIMD *L, PetscInt start, PetscInt end, const BCCOOOperands *o, const PetscScalar *sums)
{
  const PetscInt panel = o->panel;
  PetscScalar    y[BCCOO_MERGE_PANEL * (2 * BCCOO_PANEL)];

  for (PetscInt n; start < end; start += n) {
    n = PetscMin(BCCOO_MERGE_PANEL, end - start);

    memset(y, 0, n * panel * sizeof(PetscScalar));
    for (PetscInt t = 0; t < L->nrowblocks; t++) {
      const PetscScalar *from = sums + ((PetscCount)t * L->m + start) * panel;

      for (PetscInt k = 0; k < n * panel; k++) y[k] += from[k];
    }
    L->kernels->unpack(n, o->K, y, panel, o->Y + start, o->ldy);
  }
}

/* Computes all columns with private sums; called by all threads */
static void MultByColumnTasks(const BCCOOSIMD *L, const BCCOOOperands *o, PetscScalar *work)
{
  const PetscInt   panel = o->panel, npanels = CountPanels(o->K, panel), nthreads = L->nrowblocks, nblocks = (L->m - 1) / BCCOO_MERGE_PANEL + 1;
  const PetscCount nsums = (PetscCount)npanels * nthreads * L->m * panel;

  PetscPragmaOMP(for schedule(static, 1))
  for (PetscInt t = 0; t < nthreads; t++) {
    for (PetscInt p = 0; p < npanels; p++) {
      const BCCOOOperands c = PanelOf(o, p);

      MultColumnTasks(L, t, &c, work + nsums + t * L->coltaskwidth * panel, work + ((PetscCount)p * nthreads + t) * L->m * panel);
    }
  }
  PetscPragmaOMP(for schedule(static))
  for (PetscInt q = 0; q < nblocks * npanels; q++) {
    const PetscInt      p = q / nblocks, start = q % nblocks * BCCOO_MERGE_PANEL;
    const BCCOOOperands c = PanelOf(o, p);

    MergeColumnTasks(L, start, PetscMin(start + BCCOO_MERGE_PANEL, L->m), &c, work + (PetscCount)p * nthreads * L->m * panel);
  }
}

/*
  Scalars of scratch for all threads: nx for packed rows of X, nrows for packed sums, ncarry for the carries of a round; if bycoltasks, nx for the
  private sums, nrows for packed rows of X
*/
static void GetMultWork(const BCCOOSIMD *L, PetscInt panel, PetscInt K, PetscInt *npanels, PetscCount *nx, PetscCount *nrows, PetscCount *ncarry)
{
  *npanels = L->multcolumnwise || L->windows ? CountPanels(K, panel) : RoundPanels(K, panel, L->bycoltasks ? (PetscCount)L->nrowblocks * L->m : (PetscCount)L->n);
  *nx      = L->multcolumnwise ? 0 : (L->windows ? L->nrowblocks * L->window : (PetscCount)*npanels * L->n) * panel;
  *nrows   = L->multcolumnwise ? 0 : (L->ncolblocks > 1 ? (PetscCount)L->m : L->nrowblocks * (L->span + 1)) * panel;
  *ncarry  = (PetscCount)L->nrowblocks * *npanels * panel;
  if (L->bycoltasks && !L->multcolumnwise) {
    *nx    = (PetscCount)*npanels * L->nrowblocks * L->m * panel;
    *nrows = L->nrowblocks * L->coltaskwidth * panel;
  }
}

/* Y = A X */
PetscErrorCode BCCOOSIMDMultDense(BCCOOSIMD *L, const BCCOOOperands *o)
{
  const PetscInt panel = o->panel;
  PetscInt       npanels;
  PetscCount     nx, nrows, ncarry;
  PetscScalar   *work, *rows, *carry;

  PetscFunctionBegin;
  GetMultWork(L, panel, o->K, &npanels, &nx, &nrows, &ncarry);
  PetscCall(BCCOOWorkGet(&L->work, nx + nrows + ncarry, &work));
  rows  = work + nx;
  carry = rows + nrows;
  PetscPragmaOMP(parallel num_threads((int)L->nrowblocks) if (L->nrowblocks > 1))
  for (PetscInt k = 0; k < o->K; k += npanels * panel) {
    const BCCOOOperands round = ColumnsOf(o, k, PetscMin(o->K - k, npanels * panel));

    if (L->bycoltasks && !L->multcolumnwise) {
      MultByColumnTasks(L, &round, work);
      continue;
    }
    if (!L->multcolumnwise && !L->windows) PackAll(L, L->n, &round, work);
    PetscPragmaOMP(for schedule(static, 1))
    for (PetscInt b = 0; b < L->nrowblocks; b++) {
      PetscScalar *cb = carry + (PetscCount)b * npanels * panel;

      memset(cb, 0, npanels * panel * sizeof(PetscScalar));
      if (L->multcolumnwise) {
        MultColumnwise(L, b, &round, cb);
        continue;
      }
      for (PetscInt p = 0; p < CountPanels(round.K, panel); p++) {
        const BCCOOOperands c  = PanelOf(&round, p);
        const PetscScalar  *x  = L->windows ? NULL : work + (PetscCount)p * panel * L->n;
        PetscScalar        *xb = work + b * L->window * panel;

        if (L->ncolblocks > 1) MultPackedBlocks(L, b, &c, x, xb, rows + (PetscCount)L->own[b] * panel, cb + p * panel);
        else MultPackedOneBlock(L, b, &c, x, xb, rows + b * (L->span + 1) * panel, cb + p * panel);
      }
    }
    PetscPragmaOMP(single)
    for (PetscInt b = 0; b + 1 < L->nrowblocks; b++) {
      if (L->start[b + 1] == L->nnz || L->own[b + 1] == L->m) continue;
      for (PetscInt l = 0; l < round.K; l++) round.Y[L->own[b + 1] + l * round.ldy] += carry[(PetscCount)b * npanels * panel + l];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
