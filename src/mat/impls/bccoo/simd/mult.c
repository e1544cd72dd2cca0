/*
  Products with vectors. kernels/mult.h has what one thread does with a chunk; here is which thread
  does what, and how the sums of several threads are added.

  y = A x. A thread does a band, strip of rows by strip, and then takes strips of bands whose threads are not done: cores are
  not equally fast at all times, least of all those of virtual machines, and the slowest would decide. What a band has of the
  row that the next band owns is its carry; carries are added after all bands are done, in the order of the bands.

  v = A^T u. Chunks, range of columns by range, are dealt out to the threads by cost. The chunks that a thread has of a range are
  one part or two, and threads that are done take parts of others. The first part of a range adds to v itself, the others to
  private sums. These are added to v in the order of the parts: if all parts of a range are dealt to one thread, by the thread
  that does the last of them, otherwise by all threads after a barrier.

  Atomic operations only count strips and parts. The order of every sum follows from bands and parts, not from the threads that
  the run time gives.
*/
#include "simdimpl.h"

/* y = A x + z for strip s of band b; the last strip also makes the band's carry */
static void MultStrip(const BCCOOLanes *L, PetscInt b, PetscInt s, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  const PetscInt k      = b * L->nstrips + s;
  PetscInt       filled = L->striprow[k];

  if (s == L->nstrips - 1) L->carry[b * BCCOO_PANEL] = 0.0;
  for (PetscInt r = 0; r < L->nranges; r++) {
    for (const BCCOOLanesChunk *c = BCCOOLanesStripStart(L, b, r, s), *end = BCCOOLanesStripEnd(L, b, r, s); c != end; c = BCCOOLanesNext(c)) {
      if (c->carry) {
        L->kernels->mult(c, L->table, x + c->col, &L->carry[b * BCCOO_PANEL]);
      } else {
        if (filled < c->row + (PetscInt)c->span) { /* just before they are added to, so that they are still in the first-level cache */
          BCCOOFill(filled, c->row + (PetscInt)c->span, z, y);
          filled = c->row + (PetscInt)c->span;
        }
        L->kernels->mult(c, L->table, x + c->col, y + c->row);
      }
    }
  }
  BCCOOFill(filled, L->striprow[k + 1], z, y);
}

size_t BCCOOLanesMultWork(const BCCOOLanes *L)
{
  return L->map ? BCCOOLanesMapped(L, L->nbands) : 0;
}

/* y = A x + z */
void BCCOOLanesMult(const BCCOOLanes *L, const PetscScalar *x, const PetscScalar *z, PetscScalar *y, PetscScalar *work)
{
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nbands) if (L->nbands > 1))
  for (PetscInt t = 0; t < L->nbands; t++) {
    PetscInt tried = 0;

    if (L->map) BCCOOLanesCopyMapped(L, t, x, work + BCCOOLanesMapped(L, t));
    BCCOOLanesStart(L->claimed, t);
    for (PetscInt k; (k = BCCOOLanesTake(L, L->claimed, L->stripshare, t, &tried)) >= 0;) {
      const PetscInt b = k / L->nstrips;

      MultStrip(L, b, k % L->nstrips, L->map ? work + BCCOOLanesMapped(L, b) : x, z, y);
    }
  }
  for (PetscInt b = 0; b + 1 < L->nbands; b++) {
    if (L->start[b + 1] < L->nnz && L->own[b + 1] < L->m) y[L->own[b + 1]] += L->carry[b * BCCOO_PANEL];
  }
}

size_t BCCOOLanesMultTransposeWork(const BCCOOLanes *L)
{
  return L->nwork;
}

/* Adds up the sums of n columns that were kept apart for each lane */
static void AddLanes(PetscInt n, PetscScalar *w)
{
  for (PetscInt j = 0; j < n; j++) {
    PetscScalar sum = 0.0;

    for (PetscInt l = 0; l < BCCOO_LANES; l++) sum += w[(size_t)j * BCCOO_LANES + l];
    w[j] = sum;
  }
}

/* v = z + the sums of all parts, for columns start .. end - 1 of the range whose first part is given */
static void MergeColumns(const BCCOOLanes *L, const BCCOOLanesPart *part, const PetscScalar *work, PetscInt start, PetscInt end, const PetscScalar *z, PetscScalar *v)
{
  const PetscInt r = part->range;

  if (part->own) BCCOOFill(start, end, z, v);
  else { /* the first part has filled its own columns of v, and added to them */ BCCOOFill(start, PetscMin(end, part->lo), z, v);
    BCCOOFill(PetscMax(start, part->lo + part->width), end, z, v);
    part++;
  }
  for (; part < L->part + L->nparts && part->range == r; part++) {
    const PetscScalar *w = work + part->off;

    for (PetscInt j = PetscMax(start, part->lo); j < PetscMin(end, part->lo + part->width); j++) v[j] += w[j - part->lo];
  }
}

/* One part; if it is the last of its range to be done, and the range is dealt to one thread, the sums of all its parts are merged */
static void MultTransposePart(const BCCOOLanes *L, const BCCOOLanesPart *part, PetscBool hermitian, const PetscScalar *u, const PetscScalar *z, PetscScalar *v, PetscScalar *work)
{
  PetscScalar *w    = part->own ? work + part->off : v + part->lo;
  PetscInt    *left = &L->left[part->range * BCCOO_LANES_CLAIM], others;

  if (part->own) memset(w, 0, (size_t)part->width * part->stride * sizeof(PetscScalar));
  else BCCOOFill(part->lo, part->lo + part->width, z, v);
  for (PetscInt b = part->first; b <= part->last; b++) {
    for (const BCCOOLanesChunk *c = BCCOOLanesPartStart(L, part, b), *end = BCCOOLanesPartEnd(L, part, b); c != end; c = BCCOOLanesNext(c)) L->kernels->multtranspose(c, L->table, hermitian, u + c->row, part->stride, w + (c->col - part->lo) * part->stride);
  }
  if (part->stride > 1) AddLanes(part->width, w);
  if (!part->local || (!part->own && BCCOOLanesPartEnds(L, part))) return;
  PetscPragmaOMP(atomic capture seq_cst)
  others = --*left;
  if (others) return;
  while (!BCCOOLanesPartBegins(L, part)) part--;
  BCCOOLanesCountLeft(L, part); /* for the next product */
  MergeColumns(L, part, work, L->bound[part->range], L->bound[part->range + 1], z, v);
}

/* v = z + the sums of all bands, in slice t of the columns, where bands have maps and part b is band b */
static void MergeSlice(const BCCOOLanes *L, PetscInt t, const PetscScalar *work, const PetscScalar *z, PetscScalar *v)
{
  BCCOOFill(L->slice[t], L->slice[t + 1], z, v);
  for (PetscInt b = 0; b < L->nbands; b++) BCCOOLanesAddMapped(L, b, t, work + L->part[b].off, v);
}

/* Thread t of nthreads merges its slice of the columns, or its share of those that need it */
static void Merge(const BCCOOLanes *L, PetscInt t, PetscInt nthreads, const PetscScalar *work, const PetscScalar *z, PetscScalar *v)
{
  const PetscInt total = L->shared[L->nranges], first = BCCOOPartStart(total / BCCOO_LANES, nthreads, t) * BCCOO_LANES;
  const PetscInt last = t == nthreads - 1 ? total : BCCOOPartStart(total / BCCOO_LANES, nthreads, t + 1) * BCCOO_LANES;

  if (L->map) {
    MergeSlice(L, t, work, z, v);
    return;
  }
  for (const BCCOOLanesPart *part = L->part; part < L->part + L->nparts; part++) {
    const PetscInt r = part->range, from = PetscMax(first, L->shared[r]), to = PetscMin(last, L->shared[r + 1]), shift = L->bound[r] - L->shared[r];

    if (!BCCOOLanesPartBegins(L, part)) continue;
    for (PetscInt start = from; start < to; start += BCCOO_MERGE) MergeColumns(L, part, work, start + shift, PetscMin(start + BCCOO_MERGE, to) + shift, z, v);
  }
}

/* v = A^T u + z, or A^H u + z when hermitian */
void BCCOOLanesMultTranspose(const BCCOOLanes *L, PetscBool hermitian, const PetscScalar *u, const PetscScalar *z, PetscScalar *v, PetscScalar *work)
{
  const PetscInt nthreads = L->nbands;

  PetscPragmaOMP(parallel num_threads((int)nthreads) if (nthreads > 1))
  {
    PetscPragmaOMP(for schedule(static, 1) nowait)
    for (PetscInt t = 0; t < nthreads; t++) {
      PetscInt tried = 0;

      BCCOOLanesStart(L->partclaimed, t);
      for (PetscInt p; (p = BCCOOLanesTake(L, L->partclaimed, L->share, t, &tried)) >= 0;) MultTransposePart(L, L->part + p, hermitian, u, z, v, work);
    }
    if (L->shared[L->nranges]) {
      PetscPragmaOMP(barrier)
      PetscPragmaOMP(for schedule(static, 1) nowait)
      for (PetscInt t = 0; t < nthreads; t++) Merge(L, t, nthreads, work, z, v);
    }
  }
}
