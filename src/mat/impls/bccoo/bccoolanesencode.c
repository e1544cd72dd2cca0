/* Compression lanes: chunks from a CSR. Rows are cut where ranges meet, and gathered until a chunk is full. */
#include "bccoolanesencode.h"

#define BCCOO_LANES_CUT   512  /* rows longer than this are cut where a chunk is full */
#define BCCOO_LANES_TABLE 8192 /* values that the table may hold */

/* Adds the nonzeros of a row in this tile, next .. end - 1 by column, and writes the chunks that become full */
static size_t AddRow(const BCCOOLanesEncoder *e, PetscInt row, PetscInt next, PetscInt end, BCCOOLanesPieces *p, BCCOOLanesDraft *d, unsigned char *data)
{
  size_t bytes = 0;

  while (next < end) {
    const PetscInt *perm  = BCCOOOrderGetRow(e->order, row);
    const PetscInt  first = e->csr->i[row];
    PetscInt        lo, hi, take = end - next;
    PetscBool       far = PETSC_FALSE;

    if (p->n && (p->n >= BCCOO_LANES_FULL || row - p->row[0] > UINT16_MAX || (take <= BCCOO_LANES_CUT && p->n + take > BCCOO_LANES_MAX))) bytes += BCCOOLanesWriteChunk(e, p, PETSC_FALSE, d, data + bytes);
    if (take > BCCOO_LANES_CUT) take = PetscMin(take, BCCOO_LANES_FULL - p->n);
    lo = e->csr->j[perm ? first + perm[next - first] : next];
    hi = e->csr->j[perm ? first + perm[next + take - 1 - first] : next + take - 1];
    if (p->n) {
      const PetscInt collo = PetscMin(p->collo, lo), colhi = PetscMax(p->colhi, hi);

      /* half a chunk is better than wide columns */
      if ((colhi - collo > UINT16_MAX && p->colhi - p->collo <= UINT16_MAX && p->n >= BCCOO_LANES_FULL / 2) || colhi - collo > INT32_MAX / 2) bytes += BCCOOLanesWriteChunk(e, p, PETSC_FALSE, d, data + bytes);
    }
    /* the piece was cut for what was left of the chunk that is written now: more of the row would come into the next one twice */
    if (!p->n && take < PetscMin(end - next, BCCOO_LANES_FULL)) continue;
    while (hi - lo > INT32_MAX / 2) { /* only with 64-bit indices */
      far  = PETSC_TRUE;
      take = (take + 1) / 2;
      hi   = e->csr->j[perm ? first + perm[next + take - 1 - first] : next + take - 1];
    }
    p->collo             = p->n ? PetscMin(p->collo, lo) : lo;
    p->colhi             = p->n ? PetscMax(p->colhi, hi) : hi;
    p->row[p->npieces]   = row;
    p->pos[p->npieces]   = next;
    p->len[p->npieces++] = (uint16_t)take;
    p->n += take;
    next += take;
    if (far) bytes += BCCOOLanesWriteChunk(e, p, PETSC_FALSE, d, data + bytes); /* a row is in a chunk once: Walk() relies on it */
  }
  return bytes;
}

/* Bytes that the chunks of a band can take at most */
static size_t BandBytes(const BCCOOLanes *L, PetscInt b)
{
  const size_t nnz = L->start[b + 1] - L->start[b], rows = L->own[b + 1] - L->own[b];
  const size_t nchunks = nnz / (BCCOO_LANES_FULL / 2) + L->nranges * (rows / UINT16_MAX + L->nstrips + 2) + 8;

  return PetscMin(nchunks, nnz) * (BCCOO_LANES_HEAD + 3 * sizeof(PetscScalar)) + nnz * (sizeof(PetscScalar) + sizeof(uint32_t) + 2 * sizeof(uint16_t) + 1) + BCCOO_LANES_SLOP;
}

/* Rows of a band, cut where ranges meet: piece q is the nonzeros start[q] .. end[q] - 1, by column, of row[q], and those of range r are first[r] .. first[r+1]-1 */
typedef struct {
  PetscInt *row, *start, *end, *first;
} Cuts;

/* Finds the pieces in the order of the ranges: counts them first, then puts each in its place. Carries are left out. */
static void CutRows(const BCCOOLanesEncoder *e, PetscInt b, const Cuts *cuts)
{
  const BCCOOLanes *L   = e->L;
  const AIJFormCSR *csr = e->csr;

  for (PetscInt r = 0; r <= L->nranges; r++) cuts->first[r] = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (PetscInt i = L->own[b]; i < L->own[b + 1]; i++) {
      const PetscInt *perm = BCCOOOrderGetRow(e->order, i), *j = perm ? csr->j + csr->i[i] : csr->j;
      PetscInt        range = -1, q = 0;

      for (PetscInt k = PetscMax(csr->i[i], L->start[b]); k < csr->i[i + 1]; k++) {
        const PetscInt r = e->range[j[perm ? perm[k - csr->i[i]] : k] >> L->shift];

        if (r != range) {
          range = r;
          if (pass) {
            q              = cuts->first[r]++;
            cuts->row[q]   = i;
            cuts->start[q] = k;
          } else cuts->first[r + 1]++;
        }
        if (pass) cuts->end[q] = k + 1;
      }
    }
    if (!pass) {
      for (PetscInt r = 0; r < L->nranges; r++) cuts->first[r + 1] += cuts->first[r];
    }
  }
  /* where a range begins is where the one before has ended */
  for (PetscInt r = L->nranges; r > 0; r--) cuts->first[r] = cuts->first[r - 1];
  cuts->first[0] = 0;
}

/* Where the piece of row i in range r ends, from next on */
static inline PetscInt PieceEnd(const BCCOOLanesEncoder *e, PetscInt i, PetscInt next, PetscInt end, PetscInt r)
{
  const PetscInt  bound = e->L->bound[r + 1], first = e->csr->i[i];
  const PetscInt *perm;

  if (r == e->L->nranges - 1) return end;
  perm = BCCOOOrderGetRow(e->order, i);
  if (perm) {
    while (next < end && e->csr->j[first + perm[next - first]] < bound) next++;
  } else {
    while (next < end && e->csr->j[next] < bound) next++;
  }
  return next;
}

/* A row is the next, or the end of a tile: closes what strips before that of this row have of the tile; strip[] is where each begins */
static size_t ReachRow(const BCCOOLanesEncoder *e, PetscInt b, PetscInt row, PetscInt *s, size_t strip[], BCCOOLanesPieces *p, BCCOOLanesDraft *d, unsigned char *data, size_t at)
{
  size_t bytes = 0;

  while (*s + 1 < e->L->nstrips && row >= e->L->striprow[b * e->L->nstrips + *s + 1]) {
    if (p->n) bytes += BCCOOLanesWriteChunk(e, p, PETSC_FALSE, d, data + bytes);
    strip[++*s] = at + bytes;
  }
  return bytes;
}

/* Writes the chunks of band b */
static void EncodeBand(const BCCOOLanesEncoder *e, PetscInt b, const Cuts *cuts, unsigned char *data, size_t tile[])
{
  const BCCOOLanes *L        = e->L;
  const PetscInt    carry    = L->own[b + 1];
  const PetscBool   hascarry = (PetscBool)(carry < L->m && L->start[b + 1] > PetscMax(e->csr->i[carry], L->start[b]));
  PetscInt          next     = hascarry ? PetscMax(e->csr->i[carry], L->start[b]) : 0; /* of the carry */
  size_t            bytes    = 0;
  BCCOOLanesPieces  p;
  BCCOOLanesDraft   d;

  if (L->nranges > 1) CutRows(e, b, cuts);
  p.n = p.npieces = 0;
  for (PetscInt r = 0; r < L->nranges; r++) {
    size_t  *strip = L->strip + ((size_t)b * L->nranges + r) * L->nstrips;
    PetscInt s     = 0;

    tile[r] = strip[0] = bytes;
    if (L->nranges > 1) {
      for (PetscInt q = cuts->first[r]; q < cuts->first[r + 1]; q++) {
        bytes += ReachRow(e, b, cuts->row[q], &s, strip, &p, &d, data + bytes, bytes);
        bytes += AddRow(e, cuts->row[q], cuts->start[q], cuts->end[q], &p, &d, data + bytes);
      }
    } else {
      for (PetscInt i = L->own[b]; i < carry; i++) {
        bytes += ReachRow(e, b, i, &s, strip, &p, &d, data + bytes, bytes);
        bytes += AddRow(e, i, PetscMax(e->csr->i[i], L->start[b]), e->csr->i[i + 1], &p, &d, data + bytes);
      }
    }
    bytes += ReachRow(e, b, carry, &s, strip, &p, &d, data + bytes, bytes);
    if (p.n) bytes += BCCOOLanesWriteChunk(e, &p, PETSC_FALSE, &d, data + bytes);
    if (hascarry) {
      const PetscInt end = PieceEnd(e, carry, next, L->start[b + 1], r);

      while (next < end) {
        (void)AddRow(e, carry, next, next + PetscMin(BCCOO_LANES_FULL, end - next), &p, &d, data + bytes); /* fills no chunk */
        next += p.n;
        bytes += BCCOOLanesWriteChunk(e, &p, PETSC_TRUE, &d, data + bytes);
      }
    }
  }
  tile[L->nranges] = bytes;
  memset(data + bytes, 0, BCCOO_LANES_SLOP);
}

typedef struct {
  BCCOOLanesCandidate *candidate;
  BCCOODict            met;
  PetscScalar         *table;
  PetscInt            *piece, *first;
  uint16_t            *range;
  int                 *slot;
} EncodeScratch;

static PetscErrorCode Encode(BCCOOLanes *L, const AIJFormCSR *csr, const BCCOOOrder *order, EncodeScratch *s)
{
  BCCOOLanesEncoder e = {.L = L, .csr = csr, .order = order};

  PetscFunctionBegin;
  s->met.max  = BCCOO_LANES_TABLE;
  s->met.mask = 4 * BCCOO_LANES_TABLE - 1;
  PetscCall(PetscMalloc1(s->met.max, &s->candidate));
  PetscCall(PetscMalloc1(s->met.max, &s->met.key));
  PetscCall(PetscMalloc1(s->met.mask + 1, &s->met.slot));
  PetscCall(PetscMalloc1(s->met.max, &s->table));
  PetscCall(BCCOOLanesBuildTable(&e, s->candidate, &s->met, s->table, &L->ntable));
  PetscCall(PetscFree(L->table));
  PetscCall(PetscCalloc1(PetscMax(16, L->ntable), &L->table)); /* 16: as many as AVX-512 keeps in registers */
  memcpy(L->table, s->table, L->ntable * sizeof(*L->table));
  PetscCall(BCCOOLanesMakeDict(L, &e, &s->slot));

  if (L->nranges > 1) {
    PetscCall(PetscMalloc1(3 * (size_t)L->nnz, &s->piece));
    PetscCall(PetscMalloc1((size_t)L->nbands * (L->nranges + 1), &s->first));
    PetscCall(PetscMalloc1(((L->n - 1) >> L->shift) + 1, &s->range));
    for (PetscInt r = 0; r < L->nranges; r++) {
      for (PetscInt k = L->bound[r] >> L->shift; k <= (L->bound[r + 1] - 1) >> L->shift; k++) s->range[k] = (uint16_t)r;
    }
    e.range = s->range;
  }
  if (!L->tile) PetscCall(PetscMalloc1((size_t)L->nbands * (L->nranges + 1), &L->tile));
  if (!L->data) PetscCall(PetscCalloc1(L->nbands, &L->data));
  for (PetscInt b = 0; b < L->nbands; b++) {
    PetscCall(PetscFree(L->data[b]));
    PetscCall(PetscMalloc1(BandBytes(L, b), &L->data[b]));
    BCCOOAdviseHugePages(L->data[b], BandBytes(L, b));
  }
  /* each thread writes, and so places in memory, what it will read */
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nbands))
  for (PetscInt b = 0; b < L->nbands; b++) {
    const size_t nnz  = L->start[b + 1] - L->start[b];
    PetscInt    *row  = L->nranges > 1 ? s->piece + 3 * (size_t)L->start[b] : NULL;
    const Cuts   cuts = {.row = row, .start = row ? row + nnz : NULL, .end = row ? row + 2 * nnz : NULL, .first = row ? s->first + b * (L->nranges + 1) : NULL};

    EncodeBand(&e, b, &cuts, L->data[b], L->tile + b * (L->nranges + 1));
  }
  /* what was not written has taken no memory yet, and is given back */
  for (PetscInt b = 0; b < L->nbands; b++) PetscCall(PetscRealloc(L->tile[b * (L->nranges + 1) + L->nranges] + BCCOO_LANES_SLOP, &L->data[b]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCCOOLanesEncode(BCCOOLanes *L, const AIJFormCSR *csr, const BCCOOOrder *order)
{
  EncodeScratch  s;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&s, sizeof(s)));
  ierr = Encode(L, csr, order, &s);
  PetscCall(PetscFree(s.candidate));
  PetscCall(PetscFree(s.met.key));
  PetscCall(PetscFree(s.met.slot));
  PetscCall(PetscFree(s.table));
  PetscCall(PetscFree(s.slot));
  PetscCall(PetscFree(s.piece));
  PetscCall(PetscFree(s.first));
  PetscCall(PetscFree(s.range));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
