/* Coding simd: A^T U and A^H U; matmult.h describes the methods */
#include "matmult.h"

/*
  w = A^T X for a panel and the nonzeros of a thread's column tasks of one column block, of which the first is given; w is packed. u is X packed, or NULL:
  then the rows of X that a chunk spans are packed into ub.
*/
static void MultTransposePacked(const BCCOOSIMD *L, const BCCOOColumnTask *coltask, PetscBool hermitian, const BCCOOOperands *o, const PetscScalar *u, PetscScalar *ub, PetscScalar *w)
{
  const PetscInt lo = coltask->lo, panel = o->panel;

  memset(w, 0, (size_t)coltask->width * panel * sizeof(PetscScalar));
  for (const BCCOOColumnTask *next = BCCOOColumnTaskNext(L, coltask); coltask < next; coltask++) {
    for (PetscInt b = coltask->first; b <= coltask->last; b++) {
      for (const BCCOOSIMDChunk *c = BCCOOColumnTaskStart(L, coltask, b), *end = BCCOOColumnTaskEnd(L, coltask, b); c != end; c = BCCOOSIMDNext(c)) {
        if (!u) L->kernels->pack((PetscInt)c->span, o->K, o->X + c->row, o->ldx, panel, ub);
        L->kernels->multtransposedense(c, L->table, hermitian, panel, u ? u + (PetscCount)c->row * panel : ub, w + (PetscCount)(c->col - lo) * panel);
      }
    }
  }
}

/* The column after the last one of a chunk */
static PetscInt ColumnsEnd(const BCCOOSIMDChunk *c)
{
  const BCCOOSIMDStreams s   = BCCOOSIMDGetStreams(c);
  PetscInt               end = 0, k = 0;

  for (unsigned q = 0; q < (c->pairs ? c->n : c->nsteps); q++) {
    const unsigned step = c->pairs ? 1 : s.steps[q];

    for (unsigned l = 0; l < BCCOOStepColumns(step); l++, k++) end = PetscMax(end, (c->wide ? (PetscInt)((const uint32_t *)s.columns)[k] : ((const uint16_t *)s.columns)[k]) + (PetscInt)(step & BCCOO_STEP_CONSECUTIVE ? step & BCCOO_STEP_LANES : 1));
  }
  return c->col + end;
}

/*
  W = A^T U, not packed, for BCCOO_PANEL columns and the nonzeros of a thread's column tasks of one column block, of which the first is given; row 0
  of W is the first column of this column task
*/
static void MultTransposeColumnwise(const BCCOOSIMD *L, const BCCOOColumnTask *coltask, PetscBool hermitian, const PetscScalar *U, PetscCount ldu, PetscScalar *W, PetscCount ldw)
{
  const PetscInt lo = coltask->lo, width = coltask->width;
  PetscInt       filled = 0; /* as in MultColumnwise() */

  for (const BCCOOColumnTask *behind = BCCOOColumnTaskNext(L, coltask); coltask < behind; coltask++) {
    for (PetscInt b = coltask->first; b <= coltask->last; b++) {
      for (const BCCOOSIMDChunk *c = BCCOOColumnTaskStart(L, coltask, b), *end = BCCOOColumnTaskEnd(L, coltask, b); c != end; c = BCCOOSIMDNext(c)) {
        const PetscInt upto = PetscMax(filled, ColumnsEnd(c) - lo);

        Zero(filled, upto, BCCOO_PANEL, W, ldw);
        L->kernels->multtransposecolumns(c, L->table, hermitian, U + c->row, ldu, W + (c->col - lo), ldw);
        filled = upto;
      }
    }
  }
  Zero(filled, width, BCCOO_PANEL, W, ldw);
}

/* For a panel, adds up the sums in columns start .. end - 1 of a column block that several column tasks share; the first of these is given */
static void MergePacked(const BCCOOSIMD *L, const BCCOOColumnTask *first, PetscInt start, PetscInt end, const BCCOOOperands *o, const PetscScalar *sums)
{
  const PetscInt panel = o->panel;
  PetscScalar    v[BCCOO_MERGE_PANEL * (2 * BCCOO_PANEL)];

  for (PetscInt upto; start < end; start = upto) {
    upto = BCCOOPieceEnd(start, BCCOO_MERGE_PANEL, end);
    memset(v, 0, (upto - start) * panel * sizeof(PetscScalar));
    for (const BCCOOColumnTask *coltask = first;; coltask++) {
      const PetscInt     lo = PetscMax(start, coltask->lo), hi = PetscMin(upto, coltask->lo + coltask->width);
      const PetscScalar *w = sums + coltask->denseoff * panel;

      for (PetscInt j = lo; j < hi; j++) {
        for (PetscInt k = 0; k < panel; k++) v[(j - start) * panel + k] += w[(PetscCount)(j - coltask->lo) * panel + k];
      }
      if (BCCOOColumnTaskEnds(L, coltask)) break;
    }
    L->kernels->unpack(upto - start, o->K, v, panel, o->Y + start, o->ldy);
  }
}

/* The same for all columns of Y, columnwise: the first column task has added to Y itself, within its range of columns */
static void MergeColumnwise(const BCCOOSIMD *L, const BCCOOColumnTask *first, PetscInt start, PetscInt end, const BCCOOOperands *o, const PetscScalar *sums)
{
  Zero(start, PetscMin(end, first->lo), o->K, o->Y, o->ldy);
  Zero(PetscMax(start, first->lo + first->width), end, o->K, o->Y, o->ldy);
  for (const BCCOOColumnTask *coltask = first; !BCCOOColumnTaskEnds(L, coltask);) {
    coltask++;
    for (PetscInt k = 0; k < o->K; k++) {
      const PetscScalar *w = sums + coltask->denseoff * o->K + (PetscCount)k * coltask->width;

      for (PetscInt j = PetscMax(start, coltask->lo); j < PetscMin(end, coltask->lo + coltask->width); j++) o->Y[j + k * o->ldy] += w[j - coltask->lo];
    }
  }
}

/* With maps, where column task b is row block b: adds up the sums for the columns of stretch t, for a panel */
static void MergeStretch(const BCCOOSIMD *L, PetscInt t, const BCCOOOperands *o, const PetscScalar *sums)
{
  const PetscInt panel = o->panel;
  PetscInt      *place = L->place + t * L->nplaces;
  PetscScalar    v[BCCOO_MERGE_PANEL * (2 * BCCOO_PANEL)];

  for (PetscInt b = 0; b < L->nrowblocks; b++) place[b] = L->segment[b * (L->nrowblocks + 1) + t];
  for (PetscInt start = L->stretch[t], upto; start < L->stretch[t + 1]; start = upto) {
    upto = BCCOOPieceEnd(start, BCCOO_MERGE_PANEL, L->stretch[t + 1]);
    memset(v, 0, (upto - start) * panel * sizeof(PetscScalar));
    for (PetscInt b = 0; b < L->nrowblocks; b++) {
      const PetscInt *map = L->map + L->mapstart[b];
      PetscInt        k   = place[b];

      for (; k < L->nmap[b] && map[k] * BCCOO_LINE < upto; k++) {
        const PetscInt     first = map[k] * BCCOO_LINE, n = PetscMin(BCCOO_LINE, L->n - first) * panel;
        const PetscScalar *w  = sums + (L->coltask[b].denseoff + (PetscCount)k * BCCOO_LINE) * panel;
        PetscScalar       *vk = v + (first - start) * panel;

        for (PetscInt l = 0; l < n; l++) vk[l] += w[l];
      }
      place[b] = k;
    }
    L->kernels->unpack(upto - start, o->K, v, panel, o->Y + start, o->ldy);
  }
}

/* Thread t of nthreads adds up its stretch of the columns, or its share of the columns of each column block that several threads share */
static void Merge(const BCCOOSIMD *L, PetscInt t, PetscInt nthreads, const BCCOOOperands *o, const PetscScalar *sums)
{
  for (PetscInt p = 0; L->map && p < CountPanels(o->K, o->panel); p++) {
    const BCCOOOperands c = PanelOf(o, p);

    MergeStretch(L, t, &c, sums + (PetscCount)p * L->ndensework * o->panel);
  }
  if (L->map) return;
  for (const BCCOOColumnTask *coltask = L->coltask; coltask < L->coltask + L->ncoltasks; coltask++) {
    const PetscInt from = L->bound[coltask->colblock], columns = L->bound[coltask->colblock + 1] - from, nlines = (columns - 1) / BCCOO_PANEL + 1;
    const PetscInt start = from + BCCOOPartStart(nlines, nthreads, t) * BCCOO_PANEL, end = PetscMin(from + columns, from + BCCOOPartStart(nlines, nthreads, t + 1) * BCCOO_PANEL);

    if (!BCCOOColumnTaskBegins(L, coltask) || coltask->local) continue;
    if (L->columnwise) MergeColumnwise(L, coltask, start, end, o, sums);
    for (PetscInt p = 0; !L->columnwise && p < CountPanels(o->K, o->panel); p++) {
      const BCCOOOperands c = PanelOf(o, p);

      MergePacked(L, coltask, start, end, &c, sums + (PetscCount)p * L->ndensework * o->panel);
    }
  }
}

/*
  Scalars of scratch: nu for U packed, in a round; for each thread nub for the rows of U that a chunk spans; nw for the sums of column blocks that are
  dealt to one thread; nsums for all other sums of a round. For each column of a panel these are at most 2 nnz + n.
*/
static void GetTransposeWork(const BCCOOSIMD *L, PetscInt panel, PetscInt K, PetscInt *npanels, PetscCount *nu, PetscCount *nub, PetscCount *nw, PetscCount *nsums)
{
  const PetscCount mu = L->columnwise || L->rowwise ? 0 : (PetscCount)L->m;

  *npanels = RoundPanels(K, panel, mu + L->ndensework);
  *nu      = mu * *npanels * panel;
  *nub     = L->columnwise || !L->rowwise ? 0 : L->span * panel;
  *nw      = L->columnwise ? 0 : L->nlocal * panel;
  *nsums   = L->ndensework * *npanels * panel;
}

/* Y = A^T X, or A^H X when hermitian */
PetscErrorCode BCCOOSIMDMultTransposeDense(BCCOOSIMD *L, PetscBool hermitian, const BCCOOOperands *o)
{
  const PetscInt nthreads = L->nrowblocks, panel = o->panel;
  PetscInt       npanels;
  PetscCount     nu, nub, nw, nsums;
  PetscScalar   *work, *local, *sums;

  PetscFunctionBegin;
  GetTransposeWork(L, panel, o->K, &npanels, &nu, &nub, &nw, &nsums);
  PetscCall(BCCOOWorkGet(&L->work, nu + nthreads * nub + nw + nsums, &work));
  local = work + nu + nthreads * nub;
  sums  = local + nw;
  PetscPragmaOMP(parallel num_threads((int)nthreads) if (nthreads > 1))
  for (PetscInt k = 0; k < o->K; k += npanels * panel) {
    const BCCOOOperands round = ColumnsOf(o, k, PetscMin(o->K - k, npanels * panel));

    if (nu) PackAll(L, L->m, &round, work);
    PetscPragmaOMP(for schedule(static, 1))
    for (PetscInt t = 0; t < nthreads; t++) {
      PetscScalar *ub = work + nu + t * nub;

      for (const BCCOOColumnTask *coltask = L->coltask + L->share[t]; coltask < L->coltask + L->share[t + 1]; coltask = BCCOOColumnTaskNext(L, coltask)) {
        if (L->columnwise) {
          if (BCCOOColumnTaskBegins(L, coltask)) MultTransposeColumnwise(L, coltask, hermitian, round.X, round.ldx, round.Y + coltask->lo, round.ldy);
          else MultTransposeColumnwise(L, coltask, hermitian, round.X, round.ldx, sums + coltask->denseoff * round.K, coltask->width);
          continue;
        }
        for (PetscInt p = 0; p < CountPanels(round.K, panel); p++) {
          const BCCOOOperands c = PanelOf(&round, p);
          const PetscScalar  *u = nu ? work + (PetscCount)p * panel * L->m : NULL;
          PetscScalar        *w = (coltask->local ? local : sums + (PetscCount)p * panel * L->ndensework) + coltask->denseoff * panel;

          MultTransposePacked(L, coltask, hermitian, &c, u, ub, w);
          if (coltask->local) L->kernels->unpack(coltask->width, c.K, w, panel, c.Y + coltask->lo, c.ldy);
        }
      }
    }
    if (nsums) {
      PetscPragmaOMP(for schedule(static, 1))
      for (PetscInt t = 0; t < nthreads; t++) Merge(L, t, nthreads, &round, sums);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
