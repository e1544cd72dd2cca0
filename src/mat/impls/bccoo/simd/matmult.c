/* Coding simd: A X; matmult.h describes the methods */
#include "matmult.h"

/* Packs the rows of X in the map of row block b, consecutive lines together */
static void PackMapped(const BCCOOSIMD *L, PetscInt b, PetscInt panel, PetscInt K, const PetscScalar *X, PetscCount ldx, PetscScalar *xb)
{
  const PetscInt *map = L->map + L->mapstart[b];

  for (PetscInt k = 0, n; k < L->nmap[b]; k += n) {
    const PetscInt first = map[k] * BCCOO_LINE;

    for (n = 1; k + n < L->nmap[b] && map[k + n] == map[k] + n;) n++;
    L->kernels->pack(PetscMin(n * BCCOO_LINE, L->n - first), K, X + first, ldx, panel, xb + (PetscCount)k * BCCOO_LINE * panel);
  }
}

/*
  Returns the packed rows of X, from *first on, that row block b needs in column block r: those in x, which is all of X packed, or, if x is
  NULL, those packed into xb by this function
*/
static const PetscScalar *PackWindow(const BCCOOSIMD *L, PetscInt b, PetscInt r, PetscInt panel, PetscInt K, const PetscScalar *X, PetscCount ldx, const PetscScalar *x, PetscScalar *xb, PetscInt *first)
{
  PetscInt width;

  GetWindow(L, b, r, first, &width);
  if (x) return x + (PetscCount)*first * panel;
  if (L->map) PackMapped(L, b, panel, K, X, ldx, xb);
  else L->kernels->pack(width, K, X + *first, ldx, panel, xb);
  return xb;
}

/* Computes the rows of row block b of a panel of K columns, with one column block; yb has space for the rows that a chunk spans, and one more */
static void MultPackedOneBlock(const BCCOOSIMD *L, PetscInt b, PetscInt panel, PetscInt K, const PetscScalar *X, PetscCount ldx, const PetscScalar *x, PetscScalar *xb, PetscScalar *Y, PetscCount ldy, PetscScalar *yb, PetscScalar *carry)
{
  PetscInt              first;
  const PetscScalar    *xr   = PackWindow(L, b, 0, panel, K, X, ldx, x, xb, &first);
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
    else Zero(next, c->row, K, Y, ldy);
    L->kernels->multdense(c, L->table, panel, xc, yb);
    L->kernels->unpack((PetscInt)c->span, K, yb, panel, Y + c->row, ldy);
    memcpy(last, yb + (c->span - 1) * panel, panel * sizeof(PetscScalar));
    next = c->row + (PetscInt)c->span;
  }
  Zero(next, L->own[b + 1], K, Y, ldy);
}

/* The same with several column blocks; yb has space for all rows of the row block */
static void MultPackedBlocks(const BCCOOSIMD *L, PetscInt b, PetscInt panel, PetscInt K, const PetscScalar *X, PetscCount ldx, const PetscScalar *x, PetscScalar *xb, PetscScalar *Y, PetscCount ldy, PetscScalar *yb, PetscScalar *carry)
{
  const PetscInt own = L->own[b], rows = L->own[b + 1] - own;

  memset(yb, 0, (size_t)rows * panel * sizeof(PetscScalar));
  for (PetscInt r = 0; r < L->ncolblocks; r++) {
    const BCCOOSIMDChunk *c = BCCOOSIMDTile(L, b, r), *end = BCCOOSIMDTile(L, b, r + 1);
    const PetscScalar    *xr;
    PetscInt              first;

    if (c == end) continue;
    xr = PackWindow(L, b, r, panel, K, X, ldx, x, xb, &first);
    for (; c != end; c = BCCOOSIMDNext(c)) L->kernels->multdense(c, L->table, panel, xr + (PetscCount)(c->col - first) * panel, c->carry ? carry : yb + (PetscCount)(c->row - own) * panel);
  }
  L->kernels->unpack(rows, K, yb, panel, Y + own, ldy);
}

/* Computes the rows of row block b of BCCOO_PANEL columns that are not packed; rows of Y are set to zero just before sums are added to them */
static void MultColumnwise(const BCCOOSIMD *L, PetscInt b, const PetscScalar *X, PetscCount ldx, PetscScalar *Y, PetscCount ldy, PetscScalar *carry)
{
  PetscInt filled = L->own[b];

  for (const BCCOOSIMDChunk *c = BCCOOSIMDTile(L, b, 0), *end = BCCOOSIMDTile(L, b, L->ncolblocks); c != end; c = BCCOOSIMDNext(c)) {
    if (c->carry) L->kernels->multcolumns(c, L->table, X + c->col, ldx, carry, 1);
    else {
      const PetscInt upto = PetscMax(filled, c->row + (PetscInt)c->span);

      Zero(filled, upto, BCCOO_PANEL, Y, ldy);
      L->kernels->multcolumns(c, L->table, X + c->col, ldx, Y + c->row, ldy);
      filled = upto;
    }
  }
  Zero(filled, L->own[b + 1], BCCOO_PANEL, Y, ldy);
}

/*
  A X with private sums: thread t multiplies the chunks of the column tasks, those of the transposed product, that are dealt to it. x is its
  scratch for the packed rows of X that a column task needs; y has its sums for all rows.
*/
static void MultColumnTasks(const BCCOOSIMD *L, PetscInt t, PetscInt panel, PetscInt K, const PetscScalar *X, PetscCount ldx, PetscScalar *x, PetscScalar *y)
{
  memset(y, 0, (size_t)L->m * panel * sizeof(PetscScalar));
  for (const BCCOOColumnTask *coltask = L->coltask + L->share[t], *first = coltask; coltask < L->coltask + L->share[t + 1]; coltask++) {
    if (coltask == BCCOOColumnTaskNext(L, first)) first = coltask;
    if (coltask == first) L->kernels->pack(coltask->width, K, X + coltask->lo, ldx, panel, x);
    for (PetscInt b = coltask->first; b <= coltask->last; b++) {
      for (const BCCOOSIMDChunk *c = BCCOOColumnTaskStart(L, coltask, b), *end = BCCOOColumnTaskEnd(L, coltask, b); c != end; c = BCCOOSIMDNext(c))
        L->kernels->multdense(c, L->table, panel, x + (PetscCount)(c->col - first->lo) * panel, y + (PetscCount)c->row * panel);
    }
  }
}

/* Adds up the private sums of all threads, m rows each, for rows start .. end - 1 of a panel of K columns of Y */
static void MergeColumnTasks(const BCCOOSIMD *L, PetscInt start, PetscInt end, PetscInt panel, PetscInt K, const PetscScalar *sums, PetscScalar *Y, PetscCount ldy)
{
  PetscScalar y[BCCOO_MERGE_PANEL * (2 * BCCOO_PANEL)];

  for (PetscInt n; start < end; start += n) {
    n = PetscMin(BCCOO_MERGE_PANEL, end - start);

    memset(y, 0, n * panel * sizeof(PetscScalar));
    for (PetscInt t = 0; t < L->nrowblocks; t++) {
      const PetscScalar *from = sums + ((PetscCount)t * L->m + start) * panel;

      for (PetscInt k = 0; k < n * panel; k++) y[k] += from[k];
    }
    L->kernels->unpack(n, K, y, panel, Y + start, ldy);
  }
}

/* Computes all K columns with private sums; called by all threads */
static void MultByColumnTasks(const BCCOOSIMD *L, PetscInt panel, PetscInt K, const PetscScalar *X, PetscCount ldx, PetscScalar *Y, PetscCount ldy, PetscScalar *work)
{
  const PetscInt   npanels = CountPanels(K, panel), nthreads = L->nrowblocks, nblocks = (L->m - 1) / BCCOO_MERGE_PANEL + 1;
  const PetscCount nsums = (PetscCount)npanels * nthreads * L->m * panel;

  PetscPragmaOMP(for schedule(static, 1))
  for (PetscInt t = 0; t < nthreads; t++) {
    for (PetscInt p = 0; p < npanels; p++) MultColumnTasks(L, t, panel, PanelColumns(K, panel, p), X + (PetscCount)p * panel * ldx, ldx, work + nsums + t * L->coltaskwidth * panel, work + ((PetscCount)p * nthreads + t) * L->m * panel);
  }
  PetscPragmaOMP(for schedule(static))
  for (PetscInt q = 0; q < nblocks * npanels; q++) {
    const PetscInt p = q / nblocks, start = q % nblocks * BCCOO_MERGE_PANEL;

    MergeColumnTasks(L, start, PetscMin(start + BCCOO_MERGE_PANEL, L->m), panel, PanelColumns(K, panel, p), work + (PetscCount)p * nthreads * L->m * panel, Y + (PetscCount)p * panel * ldy, ldy);
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

/* Y = A X, K columns, by panels of this width */
PetscErrorCode BCCOOSIMDMultDense(BCCOOSIMD *L, PetscInt panel, PetscInt K, const PetscScalar *X, PetscCount ldx, PetscScalar *Y, PetscCount ldy)
{
  PetscInt     npanels;
  PetscCount   nx, nrows, ncarry;
  PetscScalar *work, *rows, *carry;

  PetscFunctionBegin;
  GetMultWork(L, panel, K, &npanels, &nx, &nrows, &ncarry);
  PetscCall(BCCOOWorkGet(&L->work, nx + nrows + ncarry, &work));
  rows  = work + nx;
  carry = rows + nrows;
  PetscPragmaOMP(parallel num_threads((int)L->nrowblocks) if (L->nrowblocks > 1))
  for (PetscInt k = 0; k < K; k += npanels * panel) {
    const PetscInt     nk = PetscMin(K - k, npanels * panel);
    const PetscScalar *Xk = X + k * ldx;
    PetscScalar       *Yk = Y + k * ldy;

    if (L->bycoltasks && !L->multcolumnwise) {
      MultByColumnTasks(L, panel, nk, Xk, ldx, Yk, ldy, work);
      continue;
    }
    if (!L->multcolumnwise && !L->windows) PackAll(L, panel, L->n, nk, Xk, ldx, work);
    PetscPragmaOMP(for schedule(static, 1))
    for (PetscInt b = 0; b < L->nrowblocks; b++) {
      PetscScalar *cb = carry + (PetscCount)b * npanels * panel;

      memset(cb, 0, npanels * panel * sizeof(PetscScalar));
      if (L->multcolumnwise) {
        MultColumnwise(L, b, Xk, ldx, Yk, ldy, cb);
        continue;
      }
      for (PetscInt p = 0; p < CountPanels(nk, panel); p++) {
        const PetscInt     columns = PanelColumns(nk, panel, p), first = p * panel;
        const PetscScalar *x  = L->windows ? NULL : work + (PetscCount)first * L->n;
        PetscScalar       *xb = work + b * L->window * panel;

        if (L->ncolblocks > 1) MultPackedBlocks(L, b, panel, columns, Xk + first * ldx, ldx, x, xb, Yk + first * ldy, ldy, rows + (PetscCount)L->own[b] * panel, cb + first);
        else MultPackedOneBlock(L, b, panel, columns, Xk + first * ldx, ldx, x, xb, Yk + first * ldy, ldy, rows + b * (L->span + 1) * panel, cb + first);
      }
    }
    PetscPragmaOMP(single)
    for (PetscInt b = 0; b + 1 < L->nrowblocks; b++) {
      if (L->start[b + 1] == L->nnz || L->own[b + 1] == L->m) continue;
      for (PetscInt l = 0; l < nk; l++) Yk[L->own[b + 1] + l * ldy] += carry[(PetscCount)b * npanels * panel + l];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
