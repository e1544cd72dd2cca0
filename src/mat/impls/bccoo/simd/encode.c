/*
  Coding simd: chunks from a CSR. A strip of a band is read once, row by row. Rows are cut where ranges meet, and each range
  gathers its pieces until a chunk is full; so the chunks of several ranges are written in the order in which they become full,
  and then linked in the order of the ranges. A thread encodes its band, strip by strip, and then takes strips from the ends of
  other bands; these are appended to their bands at the end. So a band is the same whichever thread encodes it.
*/
#include "encoder.h"

#define BCCOO_LANES_CUT  512 /* rows longer than this are cut where a chunk is full */
#define BCCOO_LANES_OPEN 32  /* ranges that gather at a time: with more, strips are read several times */

static inline void AppendPiece(const BCCOOLanesEncoder *e, PetscInt row, PetscInt pos, PetscInt len, PetscInt lo, PetscInt hi, BCCOOLanesPieces *p)
{
  if (!p->n) p->first = row;
  p->collo                   = p->n ? PetscMin(p->collo, lo) : lo;
  p->colhi                   = p->n ? PetscMax(p->colhi, hi) : hi;
  p->piece[p->npieces].pos   = pos;
  p->piece[p->npieces].row   = (uint16_t)(row - p->first);
  p->piece[p->npieces++].len = (uint16_t)len;
  p->n += len;
  BCCOOLanesPrefetch(&e->csr->a[pos]);
}

/* Adds the nonzeros of a row in this tile, next .. end - 1 by column, and writes the chunks that become full */
static size_t AddRow(const BCCOOLanesEncoder *e, PetscInt row, PetscInt next, PetscInt end, BCCOOLanesPieces *p, BCCOOLanesDraft *d, unsigned char *data)
{
  size_t bytes = 0;

  while (next < end) {
    const PetscInt *perm  = BCCOOOrderGetRow(e->order, row);
    const PetscInt  first = e->csr->i[row];
    PetscInt        lo, hi, take = end - next;
    PetscBool       far = PETSC_FALSE;

    if (p->n && (p->n >= BCCOO_LANES_FULL || row - p->first > UINT16_MAX || (take <= BCCOO_LANES_CUT && p->n + take > BCCOO_LANES_MAX))) bytes += BCCOOLanesWriteChunk(e, p, PETSC_FALSE, d, data + bytes);
    if (take > BCCOO_LANES_CUT) take = PetscMin(take, BCCOO_LANES_FULL - p->n);
    lo = e->csr->j[perm ? first + perm[next - first] : next];
    hi = e->csr->j[perm ? first + perm[next + take - 1 - first] : next + take - 1];
    if (p->n) {
      const PetscInt collo = PetscMin(p->collo, lo), colhi = PetscMax(p->colhi, hi);

      /* rather a chunk that is half full than one with wide columns */
      if ((colhi - collo > UINT16_MAX && p->colhi - p->collo <= UINT16_MAX && p->n >= BCCOO_LANES_FULL / 2) || colhi - collo > INT32_MAX / 2) bytes += BCCOOLanesWriteChunk(e, p, PETSC_FALSE, d, data + bytes);
    }
    /* take was limited by the room in a chunk that has just been written: a chunk must not get two pieces of one row */
    if (!p->n && take < PetscMin(end - next, BCCOO_LANES_FULL)) continue;
    while (hi - lo > INT32_MAX / 2) { /* only with 64-bit indices */
      far  = PETSC_TRUE;
      take = (take + 1) / 2;
      hi   = e->csr->j[perm ? first + perm[next + take - 1 - first] : next + take - 1];
    }
    AppendPiece(e, row, next, take, lo, hi, p);
    next += take;
    if (far) bytes += BCCOOLanesWriteChunk(e, p, PETSC_FALSE, d, data + bytes); /* a row is in a chunk once: Walk() relies on it */
  }
  return bytes;
}

#define BCCOO_LANES_SPARE 2 /* strips of other bands that a thread has room for */

/* Bytes that the chunks of so many strips can take at most */
static size_t ChunkBytes(const BCCOOLanes *L, size_t nnz, size_t rows, size_t nstrips)
{
  const size_t nchunks = nnz / (BCCOO_LANES_FULL / 2) + L->nranges * (rows / UINT16_MAX + nstrips + 2) + 8;

  return PetscMin(nchunks, nnz) * (BCCOO_LANES_HEAD + 3 * sizeof(PetscScalar)) + nnz * (sizeof(PetscScalar) + sizeof(uint32_t) + 2 * sizeof(uint16_t) + 1) + BCCOO_LANES_SLOP;
}

static size_t BandBytes(const BCCOOLanes *L, PetscInt b)
{
  return ChunkBytes(L, L->start[b + 1] - L->start[b], L->own[b + 1] - L->own[b], L->nstrips);
}

/* The most bytes that a strip can take, with a carry */
static size_t StripBytes(const BCCOOLanes *L, const AIJCSR *csr)
{
  size_t most = 0;

  for (PetscInt b = 0; b < L->nbands; b++) {
    for (PetscInt k = b * L->nstrips; k < (b + 1) * L->nstrips; k++) {
      const PetscInt first = PetscMax(L->start[b], csr->i[L->striprow[k]]), end = k == (b + 1) * L->nstrips - 1 ? L->start[b + 1] : PetscMax(first, csr->i[L->striprow[k + 1]]);

      most = PetscMax(most, ChunkBytes(L, end - first, L->striprow[k + 1] - L->striprow[k], 1));
    }
  }
  return BCCOORound(most, 2 * sizeof(PetscScalar));
}

/* AddRow() for the common case, in which nothing is cut or written; false if something might have to be */
static inline PetscBool AddShortRow(const BCCOOLanesEncoder *e, PetscInt row, PetscInt next, PetscInt end, PetscInt lo, PetscInt hi, BCCOOLanesPieces *p)
{
  const PetscInt take = end - next;

  if (!p->n || p->n >= BCCOO_LANES_FULL || take > BCCOO_LANES_CUT || p->n + take > BCCOO_LANES_MAX || row - p->first > UINT16_MAX || PetscMax(p->colhi, hi) - PetscMin(p->collo, lo) > UINT16_MAX) return PETSC_FALSE;
  AppendPiece(e, row, next, take, lo, hi, p);
  return PETSC_TRUE;
}

/* The range of the nonzero at place k, by column, of a row that begins at first */
static inline PetscInt RangeOf(const BCCOOLanesEncoder *e, const PetscInt perm[], PetscInt first, PetscInt k)
{
  return e->range ? e->range[e->csr->j[perm ? first + perm[k - first] : k] >> e->L->shift] : 0;
}

/* Where the nonzeros of range r end, of a row that begins at first and has been read up to next */
static inline PetscInt PieceEnd(const BCCOOLanesEncoder *e, const PetscInt perm[], PetscInt first, PetscInt next, PetscInt end, PetscInt r)
{
  const PetscInt  bound = e->L->bound[r + 1];
  const PetscInt *j     = e->csr->j;

  if (r == e->L->nranges - 1 || j[perm ? first + perm[end - 1 - first] : end - 1] < bound) return end;
  if (perm) {
    while (j[first + perm[next - first]] < bound) next++;
  } else {
    while (j[next] < bound) next++;
  }
  return next;
}

/* Encodes the rows of a strip in the ranges r0 .. r1 - 1; if these are not all ranges, next[] says up to where each row has been read */
static size_t EncodeRanges(const BCCOOLanesEncoder *e, PetscInt b, PetscInt strip, PetscInt r0, PetscInt r1, BCCOOLanesPieces open[], PetscInt next[], BCCOOLanesDraft *d, unsigned char *data)
{
  const BCCOOLanes *L     = e->L;
  size_t            bytes = 0;

  for (PetscInt i = L->striprow[b * L->nstrips + strip]; i < L->striprow[b * L->nstrips + strip + 1]; i++) {
    const PetscInt  first = e->csr->i[i], end = e->csr->i[i + 1];
    const PetscInt *perm = BCCOOOrderGetRow(e->order, i);
    PetscInt        k    = r0 > 0 ? next[i] : PetscMax(first, L->start[b]);

    while (k < end) {
      const PetscInt r = RangeOf(e, perm, first, k);
      PetscInt       to;

      if (r >= r1) break;
      to = PieceEnd(e, perm, first, k, end, r);
      if (perm || !AddShortRow(e, i, k, to, e->csr->j[k], e->csr->j[to - 1], &open[r - r0])) bytes += AddRow(e, i, k, to, &open[r - r0], d, data + bytes);
      k = to;
    }
    if (next) next[i] = k;
  }
  for (PetscInt r = r0; r < r1; r++) {
    if (open[r - r0].n) bytes += BCCOOLanesWriteChunk(e, &open[r - r0], PETSC_FALSE, d, data + bytes);
  }
  return bytes;
}

/* Encodes the piece that band b has of the row that the next band owns */
static size_t EncodeCarry(const BCCOOLanesEncoder *e, PetscInt b, BCCOOLanesPieces *open, BCCOOLanesDraft *d, unsigned char *data)
{
  const PetscInt  row = e->L->own[b + 1], end = e->L->start[b + 1];
  const PetscInt *perm;
  PetscInt        first, next;
  size_t          bytes = 0;

  if (row == e->L->m) return 0;
  perm  = BCCOOOrderGetRow(e->order, row);
  first = e->csr->i[row];
  next  = PetscMax(first, e->L->start[b]);
  while (next < end) {
    const PetscInt to = PieceEnd(e, perm, first, next, end, RangeOf(e, perm, first, next));

    (void)AddRow(e, row, next, next + PetscMin(BCCOO_LANES_FULL, to - next), open, d, data + bytes); /* fills no chunk */
    next += open->n;
    bytes += BCCOOLanesWriteChunk(e, open, PETSC_TRUE, d, data + bytes);
  }
  return bytes;
}

/* Writes the chunks of a strip of band b, with the carry if it is the last strip; returns their bytes */
static size_t EncodeStrip(const BCCOOLanesEncoder *e, PetscInt b, PetscInt strip, BCCOOLanesPieces open[], PetscInt next[], BCCOOLanesDraft *d, unsigned char *data)
{
  const PetscInt nranges = e->L->nranges;
  size_t         bytes   = 0;

  for (PetscInt r = 0; r < PetscMin(nranges, BCCOO_LANES_OPEN); r++) open[r].n = open[r].npieces = 0;
  for (PetscInt r = 0; r < nranges; r += BCCOO_LANES_OPEN) bytes += EncodeRanges(e, b, strip, r, PetscMin(r + BCCOO_LANES_OPEN, nranges), open, next, d, data + bytes);
  return strip < e->L->nstrips - 1 ? bytes : bytes + EncodeCarry(e, b, open, d, data + bytes);
}

/* Place in L->strip, within its band, of the strip that a chunk belongs to; a carry belongs to the last strip of its range */
static inline size_t StripOf(const BCCOOLanesEncoder *e, PetscInt b, const BCCOOLanesChunk *chunk)
{
  const PetscInt *row = e->L->striprow + b * e->L->nstrips;
  PetscInt        s   = 0;

  while (s + 1 < e->L->nstrips && chunk->row >= row[s + 1]) s++;
  return (size_t)(e->range ? e->range[chunk->col >> e->L->shift] : 0) * e->L->nstrips + s;
}

/*
  Links the chunks of band b, which take so many bytes, tile by tile and strip by strip, and finds where tiles and strips begin.
  last is scratch, one for each strip.
*/
static void LinkChunks(const BCCOOLanesEncoder *e, PetscInt b, unsigned char *data, size_t bytes, BCCOOLanesChunk *last[])
{
  const BCCOOLanes *L      = e->L;
  const size_t      nstrip = (size_t)L->nranges * L->nstrips;
  size_t           *strip = L->strip + b * nstrip, *tile = L->tile + b * (L->nranges + 1), follow = bytes;

  for (size_t q = 0; q < nstrip; q++) last[q] = NULL;
  for (unsigned char *p = data; p < data + bytes;) {
    BCCOOLanesChunk *chunk = (BCCOOLanesChunk *)p;
    const size_t     q     = StripOf(e, b, chunk);

    if (last[q]) last[q]->next = (unsigned char *)chunk - (unsigned char *)last[q];
    else strip[q] = (size_t)(p - data);
    last[q] = chunk;
    p += chunk->bytes;
  }
  for (size_t q = nstrip; q-- > 0;) {
    if (last[q]) last[q]->next = data + follow - (unsigned char *)last[q];
    else strip[q] = follow;
    follow = strip[q];
  }
  for (PetscInt r = 0; r < L->nranges; r++) tile[r] = strip[r * L->nstrips];
  tile[L->nranges] = bytes;
}

/* A strip that another thread has encoded: so many bytes at at, which is NULL for other strips */
typedef struct {
  const unsigned char *at;
  size_t               bytes;
} Taken;

typedef struct {
  BCCOOLanesPieces *open; /* the chunks that ranges gather pieces for, of each thread */
  BCCOOLanesChunk **last;
  PetscInt         *next;
  uint16_t         *range;
  PetscInt         *j; /* places of columns in the maps of bands */
  int              *slot;
  unsigned char    *spare;  /* room for strips of other bands, sparebytes for each thread */
  Taken            *taken;  /* of each band, from its last strip on */
  PetscInt         *ntaken; /* ntaken[b * BCCOO_LANES_CLAIM] strips of band b */
  size_t            sparebytes;
} EncodeScratch;

/* Thread t encodes strips of its band, then of others; returns the bytes that it has written to its band */
static size_t EncodeStrips(const BCCOOLanesEncoder *e, PetscInt t, EncodeScratch *s)
{
  const BCCOOLanes *L     = e->L;
  BCCOOLanesPieces *open  = s->open + (size_t)t * PetscMin(L->nranges, BCCOO_LANES_OPEN);
  unsigned char    *spare = s->spare + t * BCCOO_LANES_SPARE * s->sparebytes;
  size_t            bytes = 0;
  PetscInt          room  = L->nstrips > 1 ? BCCOO_LANES_SPARE : 0; /* a band of one strip is its thread's */
  BCCOOLanesDraft   d;

  BCCOOLanesStart(L->claimed, t);
  for (PetscInt strip = 0; BCCOOLanesClaim(L->claimed, t, L->nstrips) < L->nstrips; strip++) bytes += EncodeStrip(e, t, strip, open, s->next, &d, L->data[t] + bytes);
  for (PetscInt k = t + 1; k < t + L->nbands; k++) {
    const PetscInt b = k < L->nbands ? k : k - L->nbands;

    while (room > 0 && BCCOOLanesClaim(L->claimed, b, L->nstrips) < L->nstrips) {
      PetscInt n;

      PetscPragmaOMP(atomic capture)
      n                                  = s->ntaken[b * BCCOO_LANES_CLAIM]++;
      s->taken[b * L->nstrips + n].bytes = EncodeStrip(e, b, L->nstrips - 1 - n, open, s->next, &d, spare);
      s->taken[b * L->nstrips + n].at    = spare;
      spare += s->sparebytes;
      room--;
    }
  }
  return bytes;
}

/* Appends the strips of band b that other threads have encoded to its so many bytes; returns all bytes of the band */
static size_t AppendStrips(const BCCOOLanes *L, PetscInt b, size_t bytes, const EncodeScratch *s)
{
  for (PetscInt n = s->ntaken[b * BCCOO_LANES_CLAIM] - 1; n >= 0; n--) {
    const Taken *taken = &s->taken[b * L->nstrips + n];

    memcpy(L->data[b] + bytes, taken->at, taken->bytes);
    bytes += taken->bytes;
  }
  return bytes;
}

static PetscErrorCode Encode(BCCOOLanes *L, const AIJCSR *csr, const BCCOOOrder *order, EncodeScratch *s)
{
  const PetscInt    nopen  = PetscMin(L->nranges, BCCOO_LANES_OPEN);
  const size_t      nstrip = (size_t)L->nranges * L->nstrips;
  AIJCSR            mapped = *csr;
  BCCOOLanesEncoder e      = {.L = L, .csr = L->map ? &mapped : csr, .order = order};

  PetscFunctionBegin;
  if (L->map) {
    PetscCall(PetscMalloc1(L->nnz, &s->j));
    PetscCall(BCCOOLanesNumberColumns(L, csr, order, s->j));
    mapped.j = s->j;
  }
  PetscCall(BCCOOLanesBuildTable(L, csr));
  PetscCall(BCCOOLanesMakeDict(L, &e, &s->slot));
  PetscCall(PetscMalloc1((size_t)L->nbands * nopen, &s->open));
  PetscCall(PetscMalloc1(L->nbands * nstrip, &s->last));
  if (L->nranges > nopen) PetscCall(PetscMalloc1(L->m, &s->next));
  if (L->nranges > 1) {
    PetscCall(PetscMalloc1(((L->n - 1) >> L->shift) + 1, &s->range));
    for (PetscInt r = 0; r < L->nranges; r++) {
      for (PetscInt k = L->bound[r] >> L->shift; k <= (L->bound[r + 1] - 1) >> L->shift; k++) s->range[k] = (uint16_t)r;
    }
    e.range = s->range;
  }
  s->sparebytes = L->nstrips > 1 ? StripBytes(L, csr) : 0;
  PetscCall(PetscMalloc1(L->nbands * BCCOO_LANES_SPARE * s->sparebytes, &s->spare));
  PetscCall(PetscMalloc1(L->nbands * L->nstrips, &s->taken));
  PetscCall(PetscCalloc1(L->nbands * BCCOO_LANES_CLAIM, &s->ntaken));
  if (!L->tile) PetscCall(PetscMalloc1((size_t)L->nbands * (L->nranges + 1), &L->tile));
  if (!L->data) PetscCall(PetscCalloc1(L->nbands, &L->data));
  for (PetscInt b = 0; b < L->nbands; b++) {
    PetscCall(PetscFree(L->data[b]));
    PetscCall(PetscMalloc1(BandBytes(L, b), &L->data[b]));
    BCCOOAdviseHugePages(L->data[b], BandBytes(L, b));
  }
  PetscPragmaOMP(parallel num_threads((int)L->nbands) if (L->nbands > 1))
  {
    PetscPragmaOMP(for schedule(static, 1))
    for (PetscInt t = 0; t < L->nbands; t++) L->tile[t * (L->nranges + 1) + L->nranges] = EncodeStrips(&e, t, s);
    /* each thread writes, and so places in memory, what it will read */
    PetscPragmaOMP(for schedule(static, 1))
    for (PetscInt b = 0; b < L->nbands; b++) {
      const size_t bytes = AppendStrips(L, b, L->tile[b * (L->nranges + 1) + L->nranges], s);

      LinkChunks(&e, b, L->data[b], bytes, s->last + b * nstrip);
      memset(L->data[b] + bytes, 0, BCCOO_LANES_SLOP);
    }
  }
  /* gives back what was not written, which has taken no memory yet */
  for (PetscInt b = 0; b < L->nbands; b++) PetscCall(PetscRealloc(L->tile[b * (L->nranges + 1) + L->nranges] + BCCOO_LANES_SLOP, &L->data[b]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCCOOLanesEncode(BCCOOLanes *L, const AIJCSR *csr, const BCCOOOrder *order)
{
  EncodeScratch  s;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&s, sizeof(s)));
  ierr = Encode(L, csr, order, &s);
  PetscCall(PetscFree(s.open));
  PetscCall(PetscFree(s.last));
  PetscCall(PetscFree(s.next));
  PetscCall(PetscFree(s.range));
  PetscCall(PetscFree(s.j));
  PetscCall(PetscFree(s.slot));
  PetscCall(PetscFree(s.spare));
  PetscCall(PetscFree(s.taken));
  PetscCall(PetscFree(s.ntaken));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
