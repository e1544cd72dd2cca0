/*
  Compression lanes: building, and the products. kernels/mult.h has what one thread does with a chunk; here is which thread
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
#include "simd.h"

const char *const MatBCCOOSIMDs[] = {"best", "portable", "avx2", "avx512", "avx512loads", "MatBCCOOSIMD", "MAT_BCCOO_SIMD_", NULL};

/* The best that processor and build have, or what is asked for */
static PetscErrorCode GetKernels(MatBCCOOSIMD want, const BCCOOLanesKernels **kernels)
{
  PetscFunctionBegin;
  *kernels = &BCCOOLanesKernelsPortable;
  if (want == MAT_BCCOO_SIMD_PORTABLE) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(BCCOO_X86)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
    *kernels = &BCCOOLanesKernelsAVX2;
    if (want == MAT_BCCOO_SIMD_AVX2) PetscFunctionReturn(PETSC_SUCCESS);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
      const PetscBool loads = (PetscBool)(want == MAT_BCCOO_SIMD_AVX512_LOADS || (want == MAT_BCCOO_SIMD_BEST && __builtin_cpu_is("amd")));

      *kernels = loads ? &BCCOOLanesKernelsAVX512Loads : &BCCOOLanesKernelsAVX512;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
#endif
  PetscCheck(want == MAT_BCCOO_SIMD_BEST, PETSC_COMM_SELF, PETSC_ERR_SUP, "-mat_bccoo_simd %s: this processor, or this build, has %s only", MatBCCOOSIMDs[want], (*kernels)->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCCOOLanesDestroy(BCCOOLanes **lanes)
{
  BCCOOLanes *L = *lanes;

  PetscFunctionBegin;
  if (!L) PetscFunctionReturn(PETSC_SUCCESS);
  if (L->data) {
    for (PetscInt b = 0; b < L->nbands; b++) PetscCall(PetscFree(L->data[b]));
  }
  PetscCall(PetscFree(L->data));
  PetscCall(PetscFree(L->tile));
  PetscCall(PetscFree(L->striprow));
  PetscCall(PetscFree(L->stripshare));
  PetscCall(PetscFree(L->strip));
  PetscCall(PetscFree(L->claimed));
  PetscCall(PetscFree(L->partclaimed));
  PetscCall(PetscFree(L->left));
  PetscCall(PetscFree(L->own));
  PetscCall(PetscFree(L->start));
  PetscCall(PetscFree(L->bound));
  PetscCall(PetscFree(L->lo));
  PetscCall(PetscFree(L->hi));
  PetscCall(PetscFree(L->part));
  PetscCall(PetscFree(L->share));
  PetscCall(PetscFree(L->shared));
  PetscCall(PetscFree(L->carry));
  PetscCall(PetscFree(L->map));
  PetscCall(PetscFree(L->mapstart));
  PetscCall(PetscFree(L->nmap));
  PetscCall(PetscFree(L->slice));
  PetscCall(PetscFree(L->segment));
  PetscCall(PetscFree(L->place));
  PetscCall(PetscFree(L->table));
  PetscCall(PetscFree(*lanes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Build(BCCOOLanes *L, const AIJCSR *csr, const BCCOOOrder *order, PetscInt nthreads)
{
  PetscFunctionBegin;
  PetscCall(BCCOOLanesPlan(L, nthreads, csr, order));
  PetscCall(PetscMalloc1(L->nbands * BCCOO_PANEL, &L->carry));
  PetscCall(BCCOOLanesEncode(L, csr, order));
  PetscCall(BCCOOLanesCutParts(L));
  PetscCall(BCCOOLanesPlanDense(L));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCCOOLanesBuild(const AIJCSR *csr, const BCCOOOrder *order, MatBCCOOSIMD simd, PetscInt nthreads, BCCOOLanes **lanes)
{
  BCCOOLanes    *L;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscNew(&L));
  L->m   = csr->m;
  L->n   = csr->n;
  L->nnz = csr->nnz;
  ierr   = GetKernels(simd, &L->kernels);
  if (!ierr) ierr = Build(L, csr, order, nthreads);
  if (ierr) PetscCall(BCCOOLanesDestroy(&L));
  PetscCall(ierr);
  *lanes = L;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCCOOLanesRefill(BCCOOLanes *L, const AIJCSR *csr, const BCCOOOrder *order)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(BCCOOLanesSetValues(L, csr, order, &done));
  if (!done) {
    PetscCall(BCCOOLanesEncode(L, csr, order));
    PetscCall(BCCOOLanesCutParts(L));
    PetscCall(BCCOOLanesPlanDense(L));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------------------- vectors */

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

/* ------------------------------------------------------------------------------------------------------- what it takes */

/* All that lives between products, by what it is for; heads count as tables, scratch is the caller's */
PetscErrorCode BCCOOLanesGetBytes(const BCCOOLanes *L, BCCOOBytes *bytes)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(bytes, sizeof(*bytes)));
  for (PetscInt b = 0; b < L->nbands; b++) {
    for (const BCCOOLanesChunk *c = BCCOOLanesTile(L, b, 0), *end = BCCOOLanesTile(L, b, L->nranges); c != end; c = BCCOOLanesNext(c)) {
      const BCCOOLanesStreams s      = BCCOOLanesGetStreams(c);
      const size_t            values = c->values == BCCOO_VALUES_EQUAL ? sizeof(PetscScalar) : c->n * BCCOOValueBytes(c->values) + c->ntable * sizeof(PetscScalar), columns = (size_t)c->bytes - (size_t)((const unsigned char *)s.columns - (const unsigned char *)c);
      const size_t            rows = c->ngroups * sizeof(*s.groups) + c->nrows * sizeof(*s.rows) + c->nslots * sizeof(*s.slots);

      bytes->values += values;
      bytes->columns += columns;
      bytes->rows += rows;
      bytes->tables += c->bytes - values - columns - rows;
    }
    bytes->tables += BCCOO_LANES_SLOP;
  }
  bytes->tables += sizeof(*L) + L->nbands * (sizeof(*L->data) + (L->nranges + 1) * sizeof(*L->tile) + (5 + L->nstrips + 2 * BCCOO_LANES_CLAIM) * sizeof(PetscInt) + L->nranges * L->nstrips * sizeof(*L->strip)) + (2 + BCCOO_LANES_CLAIM) * L->nranges * sizeof(PetscInt) + L->nparts * sizeof(*L->part) + (L->nbands + L->nranges + 2) * sizeof(PetscInt) + PetscMax(16, L->ntable) * sizeof(PetscScalar);
  if (L->map) {
    bytes->columns += L->mapstart[L->nbands] * sizeof(*L->map);
    bytes->tables += (L->nbands + 1) * (sizeof(*L->mapstart) + sizeof(*L->nmap) + sizeof(*L->slice) + L->nbands * sizeof(*L->segment)) + L->nbands * L->nplaces * sizeof(*L->place);
  }
  bytes->buffers = L->nbands * BCCOO_PANEL * sizeof(PetscScalar);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCCOOLanesView(const BCCOOLanes *L, PetscViewer viewer, PetscBool detail)
{
  static const char *const names[BCCOO_NVALUES] = {"equal", "small table", "table", "large table", "own tables", "single precision", "full"};
  double                   coded[BCCOO_NVALUES] = {0.0}, pairs = 0, wide = 0, follow = 0, same = 0;
  PetscInt                 nchunks = 0, nshared = 0, nmapped = 0;

  PetscFunctionBegin;
  for (PetscInt b = 0; b < L->nbands; b++) {
    for (const BCCOOLanesChunk *c = BCCOOLanesTile(L, b, 0), *end = BCCOOLanesTile(L, b, L->nranges); c != end; c = BCCOOLanesNext(c), nchunks++) {
      const BCCOOLanesStreams s = BCCOOLanesGetStreams(c);

      coded[c->values] += c->n;
      pairs += c->pairs ? c->n : 0;
      wide += c->wide ? c->n : 0;
      for (PetscInt k = 0; k < c->nslots; k++) {
        follow += s.slots[k] & BCCOO_SLOT_CONSECUTIVE ? s.slots[k] & BCCOO_SLOT_LANES : 0;
        same += s.slots[k] & BCCOO_SLOT_SAME ? s.slots[k] & BCCOO_SLOT_LANES : 0;
      }
    }
  }
  for (PetscInt p = 0; p < L->nparts; p++) nshared += L->part[p].own;
  PetscCall(PetscViewerASCIIPrintf(viewer, "values:"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  for (int v = 0; v < BCCOO_NVALUES; v++) {
    if (coded[v] > 0) PetscCall(PetscViewerASCIIPrintf(viewer, " %s %.1f%%", names[v], 100.0 * coded[v] / L->nnz));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "; table of %" PetscInt_FMT "\n", L->ntable));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  if (!detail) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "nonzeros in pairs %.1f%%, in slots of consecutive columns %.1f%%, of one column %.1f%%, with wide columns %.1f%%\n", 100.0 * pairs / L->nnz, 100.0 * follow / L->nnz, 100.0 * same / L->nnz, 100.0 * wide / L->nnz));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " chunks; %" PetscInt_FMT " bands of rows, %" PetscInt_FMT " ranges of columns; A^T x in %" PetscInt_FMT " parts, %" PetscInt_FMT " with sums of their own\n", nchunks, L->nbands, L->nranges, L->nparts, nshared));
  for (PetscInt b = 0; L->map && b < L->nbands; b++) nmapped += L->nmap[b];
  if (L->map) PetscCall(PetscViewerASCIIPrintf(viewer, "columns are numbered within each band: %" PetscInt_FMT " lines of %" PetscInt_FMT " columns in the maps of all bands\n", nmapped, BCCOO_LINE));
  PetscCall(PetscViewerASCIIPrintf(viewer, "instructions: %s\n", L->kernels->name));
  PetscFunctionReturn(PETSC_SUCCESS);
}
