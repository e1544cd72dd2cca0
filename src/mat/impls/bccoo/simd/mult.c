/*
  Products with vectors. This file divides the work among threads and adds the sums of several threads; kernels/mult.h has the work
  of one thread on one chunk.

  y = A x. A thread computes a row block, row task by row task, and then takes row tasks of row blocks whose threads have not finished:
  cores are not equally fast at all times, least of all in virtual machines, and all threads would wait for the slowest. The sum of a
  row block for the row that the next row block owns is its carry. Carries are added after all row blocks, in their order.

  v = A^T u. The chunks, column block by column block, are dealt to the threads by cost. The chunks of one column block that a thread is
  dealt are one or two column tasks; a thread that has finished its column tasks takes those of others. The first column task of a column
  block adds to v itself, the others to private sums, which are added to v in the order of the column tasks. If all column tasks of a
  column block are dealt to one thread, the thread that finishes the last of them does this; otherwise all threads do, after a barrier.

  Atomic operations only count row tasks and column tasks. The order of every sum depends on the row blocks and column tasks, not on
  the number of threads that the system grants.
*/
#include "simdimpl.h"
#include "sys/threads.h"

/*
  Whether the threads share a product with a vector, or one thread does all of it. Where other programs compute on the same cores, a thread that loses
  its core keeps the others waiting for some milliseconds, and a product may take longer than one thread would need for all of it (C49, C54).

  Products are therefore timed, in turns of a few. After a shared turn that is slower than can be expected of one thread, one thread does a product; as long as
  that is faster it does more turns, and then a turn is shared again. If it is slower, the next trial comes some turns later. How many turns these are
  doubles each time. From the first trial on that was faster, threads also sleep between products. Many threads that wait for one are still faster than
  one, but slower than if they slept: so they do after a long product that is much slower than can be expected of so many (C62).

  The result does not depend on any of this: the parts of a product and the order of its sums remain those of all threads.
*/
#define TURN     4    /* products */
#define LONGEST  256  /* turns until the other kind is tried again */
#define EXPECTED 1e-9 /* seconds of one thread for a nonzero in most matrices; many need less than half */
#define SLOW     4    /* times its part of that */
#define LONG     1e-3 /* seconds: waking threads takes some hundredths of this */

static PetscErrorCode SharingBegin(const BCCOOSIMD *L, BCCOOSIMDSharing *s, PetscBool *shared)
{
  PetscFunctionBegin;
  *shared = (PetscBool)(L->nrowblocks > 1 && !s->alone);
  if (L->nrowblocks > 1) PetscCall(PetscTime(&s->begin));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SharingEnd(const BCCOOSIMD *L, BCCOOSIMDSharing *s)
{
  const PetscBool trial = (PetscBool)(s->alone && s->left == s->stay);
  PetscLogDouble  now, mean;

  PetscFunctionBegin;
  if (L->nrowblocks == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscTime(&now));
  s->time += now - s->begin;
  if (++s->products < TURN && !trial) PetscFunctionReturn(PETSC_SUCCESS);

  mean = s->time / s->products;
  if (!s->alone) {
    s->last = mean;
    if (mean > LONG && mean * (PetscReal)L->nrowblocks > SLOW * EXPECTED * L->nnz) PetscCall(PetscCSRCThreadsYield((int)L->nrowblocks, PETSC_TRUE));
    if (mean < EXPECTED * L->nnz) s->left = s->stay = 0;
    else if (s->left) s->left--;
    else {
      s->alone = PETSC_TRUE;
      s->left = s->stay = PetscMax(1, s->stay);
    }
  } else if (mean < s->last && s->left) {
    s->left--;
    PetscCall(PetscCSRCThreadsYield((int)L->nrowblocks, PETSC_TRUE));
  } else {
    s->alone = PETSC_FALSE;
    s->left  = mean < s->last ? 0 : s->stay;
    s->stay  = PetscMin(2 * s->stay, LONGEST);
  }
  s->products = 0;
  s->time     = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x + z for row task s of row block b; the last row task also computes the row block's carry */
static void MultRowTask(const BCCOOSIMD *L, PetscInt b, PetscInt s, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  const PetscInt k      = b * L->nrowtasks + s;
  PetscInt       filled = L->taskrow[k];

  if (s == L->nrowtasks - 1) L->carry[b * BCCOO_PANEL] = 0.0;
  for (PetscInt r = 0; r < L->ncolblocks; r++) {
    for (const BCCOOSIMDChunk *c = BCCOORowTaskStart(L, b, r, s), *end = BCCOORowTaskEnd(L, b, r, s); c != end; c = BCCOOSIMDNext(c)) {
      if (c->carry) {
        L->kernels->mult(c, L->table, x + c->col, &L->carry[b * BCCOO_PANEL]);
      } else {
        if (filled < c->row + (PetscInt)c->span) { /* y is filled just before sums are added to it, so that it is still in the first-level cache */
          BCCOOFill(filled, c->row + (PetscInt)c->span, z, y);
          filled = c->row + (PetscInt)c->span;
        }
        L->kernels->mult(c, L->table, x + c->col, y + c->row);
      }
    }
  }
  BCCOOFill(filled, L->taskrow[k + 1], z, y);
}

/* y = A x + z */
PetscErrorCode BCCOOSIMDMult(BCCOOSIMD *L, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  PetscScalar *work;
  PetscBool    shared;

  PetscFunctionBegin;
  PetscCall(BCCOOWorkGet(&L->work, L->map ? BCCOOSIMDMapped(L, L->nrowblocks) : 0, &work));
  PetscCall(SharingBegin(L, &L->sharing[0], &shared));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nrowblocks) if (shared))
  for (PetscInt t = 0; t < L->nrowblocks; t++) {
    PetscInt tried = 0;

    if (L->map) BCCOOSIMDCopyMapped(L, t, x, work + BCCOOSIMDMapped(L, t));
    BCCOOSIMDStart(L->claimed, t);
    for (PetscInt k; (k = BCCOOSIMDTake(L, L->claimed, L->taskshare, t, &tried)) >= 0;) {
      const PetscInt b = k / L->nrowtasks;

      MultRowTask(L, b, k % L->nrowtasks, L->map ? work + BCCOOSIMDMapped(L, b) : x, z, y);
    }
  }
  for (PetscInt b = 0; b + 1 < L->nrowblocks; b++) {
    if (L->start[b + 1] < L->nnz && L->own[b + 1] < L->m) y[L->own[b + 1]] += L->carry[b * BCCOO_PANEL];
  }
  PetscCall(SharingEnd(L, &L->sharing[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds up the separate sums of the lanes for n columns */
static void AddLanes(PetscInt n, PetscScalar *w)
{
  for (PetscInt j = 0; j < n; j++) {
    PetscScalar sum = 0.0;

    for (PetscInt l = 0; l < BCCOO_SIMD_LANES; l++) sum += w[(PetscCount)j * BCCOO_SIMD_LANES + l];
    w[j] = sum;
  }
}

/* v = z + the sums of all column tasks in columns start .. end - 1 of the column block whose first column task is given */
static void MergeColumns(const BCCOOSIMD *L, const BCCOOColumnTask *coltask, const PetscScalar *work, PetscInt start, PetscInt end, const PetscScalar *z, PetscScalar *v)
{
  const PetscInt r = coltask->colblock;

  if (coltask->own) BCCOOFill(start, end, z, v);
  else {
    /* the first column task has filled its own columns of v, and added to them */
    BCCOOFill(start, PetscMin(end, coltask->lo), z, v);
    BCCOOFill(PetscMax(start, coltask->lo + coltask->width), end, z, v);
    coltask++;
  }
  for (; coltask < L->coltask + L->ncoltasks && coltask->colblock == r; coltask++) {
    const PetscScalar *w = work + coltask->off;

    for (PetscInt j = PetscMax(start, coltask->lo); j < PetscMin(end, coltask->lo + coltask->width); j++) v[j] += w[j - coltask->lo];
  }
}

/* Computes a column task. If its column block is dealt to one thread and it is the last to finish there, merges the sums of all column tasks of the block. */
static void MultTransposeColumnTask(const BCCOOSIMD *L, const BCCOOColumnTask *coltask, PetscBool hermitian, const PetscScalar *u, const PetscScalar *z, PetscScalar *v, PetscScalar *work)
{
  PetscScalar *w    = coltask->own ? work + coltask->off : v + coltask->lo;
  PetscInt    *left = &L->left[coltask->colblock * BCCOO_SIMD_CLAIM], others;

  if (coltask->own) memset(w, 0, (size_t)coltask->width * coltask->stride * sizeof(PetscScalar));
  else BCCOOFill(coltask->lo, coltask->lo + coltask->width, z, v);
  for (PetscInt b = coltask->first; b <= coltask->last; b++) {
    for (const BCCOOSIMDChunk *c = BCCOOColumnTaskStart(L, coltask, b), *end = BCCOOColumnTaskEnd(L, coltask, b); c != end; c = BCCOOSIMDNext(c))
      L->kernels->multtranspose(c, L->table, hermitian, u + c->row, coltask->stride, w + (c->col - coltask->lo) * coltask->stride);
  }
  if (coltask->stride > 1) AddLanes(coltask->width, w);
  if (!coltask->local || (!coltask->own && BCCOOColumnTaskEnds(L, coltask))) return;
  PetscPragmaOMP(atomic capture seq_cst)
  others = --*left;
  if (others) return;
  while (!BCCOOColumnTaskBegins(L, coltask)) coltask--;
  BCCOOSIMDCountLeft(L, coltask); /* for the next product */
  MergeColumns(L, coltask, work, L->bound[coltask->colblock], L->bound[coltask->colblock + 1], z, v);
}

/* With maps, where column task b is row block b: v = z + the sums of all row blocks in stretch t of the columns */
static void MergeStretch(const BCCOOSIMD *L, PetscInt t, const PetscScalar *work, const PetscScalar *z, PetscScalar *v)
{
  BCCOOFill(L->stretch[t], L->stretch[t + 1], z, v);
  for (PetscInt b = 0; b < L->nrowblocks; b++) BCCOOSIMDAddMapped(L, b, t, work + L->coltask[b].off, v);
}

/* Thread t of nthreads merges its stretch of the columns, or its share of the columns of shared column blocks */
static void Merge(const BCCOOSIMD *L, PetscInt t, PetscInt nthreads, const PetscScalar *work, const PetscScalar *z, PetscScalar *v)
{
  const PetscInt total = L->shared[L->ncolblocks], first = BCCOOPartStart(total / BCCOO_SIMD_LANES, nthreads, t) * BCCOO_SIMD_LANES;
  const PetscInt last = t == nthreads - 1 ? total : BCCOOPartStart(total / BCCOO_SIMD_LANES, nthreads, t + 1) * BCCOO_SIMD_LANES;

  if (L->map) {
    MergeStretch(L, t, work, z, v);
    return;
  }
  for (const BCCOOColumnTask *coltask = L->coltask; coltask < L->coltask + L->ncoltasks; coltask++) {
    const PetscInt r = coltask->colblock, from = PetscMax(first, L->shared[r]), to = PetscMin(last, L->shared[r + 1]), shift = L->bound[r] - L->shared[r];

    if (!BCCOOColumnTaskBegins(L, coltask)) continue;
    for (PetscInt start = from, end; start < to; start = end) {
      end = BCCOOPieceEnd(start, BCCOO_MERGE, to);
      MergeColumns(L, coltask, work, start + shift, end + shift, z, v);
    }
  }
}

/* v = A^T u + z, or A^H u + z when hermitian */
PetscErrorCode BCCOOSIMDMultTranspose(BCCOOSIMD *L, PetscBool hermitian, const PetscScalar *u, const PetscScalar *z, PetscScalar *v)
{
  const PetscInt nthreads = L->nrowblocks;
  PetscInt       nparts;
  PetscScalar   *work;
  PetscBool      shared;

  PetscFunctionBegin;
  PetscCall(BCCOOWorkGet(&L->work, L->nwork, &work));
  PetscCall(SharingBegin(L, &L->sharing[1], &shared));
  shared = (PetscBool)(shared && (L->sparse || L->ncoltasks > 1));
  nparts = shared ? nthreads : 1;
  PetscPragmaOMP(parallel num_threads((int)nthreads) firstprivate(z) if (shared))
  {
    if (L->sparse) {
      PetscPragmaOMP(for schedule(static, 1))
      for (PetscInt p = 0; p < nparts; p++) BCCOOFill(BCCOOPartStart(L->n, nparts, p), BCCOOPartStart(L->n, nparts, p + 1), z, v);
      z = v;
    }
    PetscPragmaOMP(for schedule(static, 1) nowait)
    for (PetscInt t = 0; t < nthreads; t++) {
      PetscInt tried = 0;

      BCCOOSIMDStart(L->coltaskclaimed, t);
      for (PetscInt p; (p = BCCOOSIMDTake(L, L->coltaskclaimed, L->share, t, &tried)) >= 0;) MultTransposeColumnTask(L, L->coltask + p, hermitian, u, z, v, work);
    }
    if (L->shared[L->ncolblocks]) {
      PetscPragmaOMP(barrier)
      PetscPragmaOMP(for schedule(static, 1) nowait)
      for (PetscInt t = 0; t < nthreads; t++) Merge(L, t, nthreads, work, z, v);
    }
  }
  PetscCall(SharingEnd(L, &L->sharing[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
