/*
  Compression lanes: chunks from a CSR, and new values for them.

  The nonzeros of a chunk have an order of their own, that of its streams. Walk() finds it again from the chunk: it runs
  through a band with one counter for each row, so that nothing needs to be stored to bring in new values.
*/
#include "bccoolanes.h"
#include "bccootable.h"
#include <stdlib.h>

#define BCCOO_LANES_CUT    512   /* rows longer than this are cut where a chunk is full */
#define BCCOO_LANES_SAMPLE 32768 /* values looked at for the table */
#define BCCOO_LANES_TABLE  8192  /* values it may hold */
#define BCCOO_LANES_OWN    256   /* values that a chunk's own table may hold */

/*
  What a product takes, in cycles, for A x and A^T u together: a slot, a group, a nonzero of a chunk of pairs. They decide
  how nonzeros are grouped, and nothing else.
*/
#define COST_SLOT  19
#define COST_GROUP 24
#define COST_PAIR  4

/* The rows of a chunk that is being made, or what one tile has of them: nonzeros pos .. pos + len - 1, by column, of row */
typedef struct {
  PetscInt n, npieces;
  PetscInt collo, colhi;
  PetscInt row[BCCOO_LANES_MAX], pos[BCCOO_LANES_MAX];
  uint16_t len[BCCOO_LANES_MAX];
} Pieces;

/* The streams of a chunk that is being made */
typedef struct {
  BCCOOLanesChunk head;
  uint16_t        groups[BCCOO_LANES_MAX], rows[BCCOO_LANES_MAX];
  uint8_t         slots[BCCOO_LANES_MAX];
  PetscInt        pos[BCCOO_LANES_MAX]; /* places in the CSR */
  PetscInt        col[BCCOO_LANES_MAX];
  uint16_t        order[BCCOO_LANES_MAX], count[BCCOO_LANES_MAX + 2];
  uint16_t        code[BCCOO_LANES_MAX];
  PetscScalar     own[BCCOO_LANES_OWN]; /* the chunk's own table */
  PetscInt        nown;
} Draft;

typedef struct {
  const BCCOOLanes *L;
  const AIJFormCSR *csr;
  const BCCOOOrder *order;
  BCCOODict         dict; /* of the table */
} Encoder;

/* ------------------------------------------------------------------------------------------------------------- values */

#if defined(BCCOO_SINGLE_PRECISION)
/* Does single precision hold all bits? Denormal numbers of single precision are left out: processors may be told to flush them */
static inline PetscBool IsSingle(PetscScalar v)
{
  const float  f = (float)v;
  const double d = f;
  uint32_t     b;

  if (memcmp(&d, &v, sizeof(d))) return PETSC_FALSE;
  memcpy(&b, &f, sizeof(b));
  return (PetscBool)((b & 0x7F800000u) != 0 || (b & 0x007FFFFFu) == 0);
}
#endif

/* Codes the values of a chunk by a table of their own; how many it has, or 0 if that would take as much as the values do */
static PetscInt BuildOwnTable(const PetscScalar a[], PetscInt n, const PetscInt pos[], uint16_t code[], PetscScalar own[])
{
  int       slot[4 * BCCOO_LANES_OWN];
  BCCOODict dict = {.n = 0, .max = PetscMin(BCCOO_LANES_OWN, n / 2), .mask = PETSC_STATIC_ARRAY_LENGTH(slot) - 1, .key = own, .slot = slot};

  memset(slot, 0xFF, sizeof(slot)); /* -1 */
  for (PetscInt k = 0; k < n; k++) {
    size_t where;
    int    entry = BCCOODictFind(&dict, &a[pos[k]], &where);

    if (entry < 0) {
      if (dict.n == dict.max || (k >= 128 && dict.n > k / 2)) return 0;
      entry = slot[where] = (int)dict.n;
      memcpy(&own[dict.n++], &a[pos[k]], sizeof(*a));
    }
    code[k] = (uint16_t)entry;
  }
  return dict.n;
}

/*
  The narrowest coding that holds the values of a chunk; code[] become the places in the table if it is used. If a NaN went
  through single precision, its bits might change on the way back: memcmp() in IsSingle() has gone that way.
*/
static int ChooseValues(const Encoder *e, PetscInt n, const PetscInt pos[], uint16_t code[], PetscScalar own[], PetscInt *nown)
{
  const PetscScalar *a       = e->csr->a;
  PetscInt           k       = 1;
  unsigned           largest = 0;

  *nown = 0;
  while (k < n && !memcmp(&a[pos[k]], &a[pos[0]], sizeof(*a))) k++;
  if (k == n) return BCCOO_VALUES_EQUAL;
  for (k = 0; k < n && e->dict.n; k++) {
    size_t where;
    int    entry;

    if (k && !memcmp(&a[pos[k]], &a[pos[k - 1]], sizeof(*a))) entry = code[k - 1];
    else entry = BCCOODictFind(&e->dict, &a[pos[k]], &where);
    if (entry < 0) break;
    code[k] = (uint16_t)entry;
    largest = PetscMax(largest, (unsigned)entry);
  }
  if (k == n && largest < 256) return largest < 16 ? BCCOO_VALUES_SMALL : BCCOO_VALUES_TABLE;
  if (k == n) return BCCOO_VALUES_LARGE;
  *nown = BuildOwnTable(a, n, pos, code, own);
  if (*nown) return BCCOO_VALUES_OWN;
#if defined(BCCOO_SINGLE_PRECISION)
  for (k = 0; k < n && IsSingle(a[pos[k]]); k++) { }
  if (k == n) return BCCOO_VALUES_SINGLE;
#endif
  return BCCOO_VALUES_FULL;
}

static void WriteValues(int values, PetscInt n, const PetscInt pos[], const uint16_t code[], const PetscScalar a[], void *to)
{
  switch (values) {
  case BCCOO_VALUES_EQUAL:
    memcpy(to, &a[pos[0]], sizeof(*a));
    break;
  case BCCOO_VALUES_SMALL:
  case BCCOO_VALUES_TABLE:
  case BCCOO_VALUES_OWN:
    for (PetscInt k = 0; k < n; k++) ((uint8_t *)to)[k] = (uint8_t)code[k];
    break;
  case BCCOO_VALUES_LARGE:
    memcpy(to, code, n * sizeof(*code));
    break;
#if defined(BCCOO_SINGLE_PRECISION)
  case BCCOO_VALUES_SINGLE:
    for (PetscInt k = 0; k < n; k++) ((float *)to)[k] = (float)a[pos[k]];
    break;
#endif
  default: /* as bytes: nothing may touch a NaN */
    for (PetscInt k = 0; k < n; k++) memcpy((PetscScalar *)to + k, &a[pos[k]], sizeof(*a));
  }
}

typedef struct {
  PetscInt    count;
  PetscScalar key;
} Candidate;

/* More frequent first; equally frequent ones by their bits, so that the order is the same in every run */
static int CompareCandidates(const void *a, const void *b)
{
  const Candidate *x = (const Candidate *)a, *y = (const Candidate *)b;

  if (x->count != y->count) return x->count > y->count ? -1 : 1;
  return memcmp(&x->key, &y->key, sizeof(x->key));
}

/*
  The table: what a sample of the values shows to be few enough. A value that the sample has not met costs its chunk the
  table, and no more.
*/
static PetscErrorCode BuildTable(Encoder *e, Candidate *candidate, BCCOODict *met, PetscScalar table[], PetscInt *ntable)
{
  const PetscInt n = PetscMin(e->csr->nnz, BCCOO_LANES_SAMPLE);

  PetscFunctionBegin;
  *ntable = 0;
  for (size_t s = 0; s <= met->mask; s++) met->slot[s] = -1;
  for (PetscInt k = 0; k < n; k++) {
    const PetscScalar *v = &e->csr->a[(PetscInt)((double)e->csr->nnz * k / n)];
    size_t             where;
    int                entry = BCCOODictFind(met, v, &where);

    if (entry < 0) {
      if (met->n == met->max || (k >= 1024 && met->n > k / 4 * 3)) PetscFunctionReturn(PETSC_SUCCESS); /* hardly a value comes twice */
      entry = met->slot[where] = (int)met->n++;
      memcpy(&met->key[entry], v, sizeof(*v));
      memcpy(&candidate[entry].key, v, sizeof(*v));
      candidate[entry].count = 0;
    }
    candidate[entry].count++;
  }
  if (met->n > 1) qsort(candidate, met->n, sizeof(*candidate), CompareCandidates);
  for (PetscInt k = 0; k < met->n; k++) memcpy(&table[k], &candidate[k].key, sizeof(*table));
  *ntable = met->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---------------------------------------------------------------------------------------------------------- structure */

/* Takes the pieces by falling length, equal ones in their order */
static void OrderPieces(const Pieces *p, Draft *d)
{
  PetscInt longest = 0;

  for (PetscInt q = 0; q < p->npieces; q++) longest = PetscMax(longest, p->len[q]);
  memset(d->count, 0, (longest + 2) * sizeof(*d->count));
  for (PetscInt q = 0; q < p->npieces; q++) d->count[longest - p->len[q] + 1]++;
  for (PetscInt l = 0; l < longest; l++) d->count[l + 1] += d->count[l];
  for (PetscInt q = 0; q < p->npieces; q++) d->order[d->count[longest - p->len[q]]++] = (uint16_t)q;
}

/* A slot takes its nonzeros from the CSR; true if their columns follow each other */
static inline PetscBool DraftSlot(const Encoder *e, Draft *d, unsigned lanes, PetscInt n)
{
  PetscBool follow = (PetscBool)(lanes > 1);

  for (unsigned l = 0; l < lanes; l++) {
    d->col[n + l] = e->csr->j[d->pos[n + l]];
    if (l && d->col[n + l] - 1 != d->col[n + l - 1]) follow = PETSC_FALSE;
  }
  return follow;
}

/* Groups of rows, as they fit; what they cost */
static PetscInt DraftGroups(const Encoder *e, const Pieces *p, Draft *d)
{
  BCCOOLanesChunk *head = &d->head;
  PetscInt         n = 0, cost = 0, nfollow = 0;

  head->ngroups = head->nrows = head->nslots = 0;
  for (PetscInt q = 0; q < p->npieces;) {
    const PetscInt longest = p->len[d->order[q]], used = PetscMin(BCCOO_LANES, p->npieces - q);
    const PetscInt single = (longest + BCCOO_LANES - 1) / BCCOO_LANES;
    PetscInt       sum    = 0, nslots;
    unsigned       kind;

    for (PetscInt l = 0; l < used; l++) sum += p->len[d->order[q + l]];
    if ((single * COST_SLOT + COST_GROUP) * sum < (longest * COST_SLOT + COST_GROUP) * longest) {
      const PetscInt piece = d->order[q++], row = p->row[piece];

      kind   = BCCOO_GROUP_SINGLE;
      nslots = single;
      for (PetscInt k = 0; k < longest; k++) d->pos[n + k] = BCCOOOrderGetPlace(e->order, e->csr, row, p->pos[piece] + k);
      for (PetscInt k = 0; k < longest; k += BCCOO_LANES) {
        const unsigned  lanes  = (unsigned)PetscMin(BCCOO_LANES, longest - k);
        const PetscBool follow = DraftSlot(e, d, lanes, n);

        d->slots[head->nslots++] = (uint8_t)(follow ? lanes | BCCOO_SLOT_CONSECUTIVE : lanes);
        nfollow += follow;
        n += lanes;
      }
      d->rows[head->nrows++] = (uint16_t)(row - head->row);
    } else {
      const uint16_t *piece = d->order + q;
      const PetscInt *perm[BCCOO_LANES];
      unsigned        lanes       = (unsigned)used;
      PetscBool       consecutive = PETSC_TRUE;

      nslots = longest;
      for (PetscInt l = 0; l < used; l++) {
        perm[l] = BCCOOOrderGetRow(e->order, p->row[piece[l]]);
        if (p->row[piece[l]] != p->row[piece[0]] + l) consecutive = PETSC_FALSE;
      }
      kind = consecutive ? BCCOO_GROUP_CONSECUTIVE : BCCOO_GROUP_LISTED;
      for (PetscInt k = 0; k < longest; k++) {
        PetscBool follow;

        while (p->len[piece[lanes - 1]] <= k) lanes--;
        for (unsigned l = 0; l < lanes; l++) {
          const PetscInt pos = p->pos[piece[l]] + k, first = e->csr->i[p->row[piece[l]]];

          d->pos[n + l] = perm[l] ? first + perm[l][pos - first] : pos;
        }
        follow                   = DraftSlot(e, d, lanes, n);
        d->slots[head->nslots++] = (uint8_t)(follow ? lanes | BCCOO_SLOT_CONSECUTIVE : lanes);
        nfollow += follow;
        n += lanes;
      }
      for (PetscInt l = 0; l < (consecutive ? 1 : used); l++) d->rows[head->nrows++] = (uint16_t)(p->row[piece[l]] - head->row);
      q += used;
    }
    d->groups[head->ngroups++] = (uint16_t)(kind << 14 | nslots);
    cost += nslots * COST_SLOT + COST_GROUP;
  }
  /* where few slots have columns that follow each other, looking for them costs more than it saves */
  if (nfollow * 4 < head->nslots) {
    for (PetscInt s = 0; s < head->nslots; s++) d->slots[s] &= BCCOO_SLOT_LANES;
  } else {
    cost -= nfollow * COST_SLOT / 2;
  }
  return cost;
}

static void DraftPairs(const Encoder *e, const Pieces *p, Draft *d)
{
  BCCOOLanesChunk *head = &d->head;

  head->ngroups = head->nslots = head->nrows = 0;
  for (PetscInt q = 0; q < p->npieces; q++) {
    for (PetscInt k = 0; k < p->len[q]; k++) {
      const PetscInt n = head->nrows++;

      d->rows[n] = (uint16_t)(p->row[q] - head->row);
      d->pos[n]  = BCCOOOrderGetPlace(e->order, e->csr, p->row[q], p->pos[q] + k);
      d->col[n]  = e->csr->j[d->pos[n]];
    }
  }
}

/* Makes a chunk of the pieces, at data; returns its bytes */
static size_t WriteChunk(const Encoder *e, Pieces *p, PetscBool carry, Draft *d, unsigned char *data)
{
  BCCOOLanesChunk  *head = &d->head;
  BCCOOLanesStreams s;
  unsigned char    *end;

  memset(head, 0, sizeof(*head));
  head->row   = p->row[0];
  head->col   = p->collo;
  head->span  = (uint32_t)(p->row[p->npieces - 1] - p->row[0] + 1);
  head->n     = (uint16_t)p->n;
  head->wide  = p->colhi - p->collo > UINT16_MAX;
  head->carry = carry;
  OrderPieces(p, d);
  if (DraftGroups(e, p, d) > p->n * COST_PAIR) {
    head->pairs = 1;
    DraftPairs(e, p, d);
  }
  head->values = (uint8_t)ChooseValues(e, p->n, d->pos, d->code, d->own, &d->nown);
  head->ntable = (uint16_t)d->nown;
  memset(data, 0, BCCOO_LANES_HEAD);
  memcpy(data, head, sizeof(*head));
  s = BCCOOLanesGetStreams((const BCCOOLanesChunk *)data);
  memcpy((void *)s.table, d->own, d->nown * sizeof(PetscScalar));
  WriteValues(head->values, p->n, d->pos, d->code, e->csr->a, (void *)s.values);
  memcpy((void *)s.groups, d->groups, head->ngroups * sizeof(*d->groups));
  memcpy((void *)s.rows, d->rows, head->nrows * sizeof(*d->rows));
  memcpy((void *)s.slots, d->slots, head->nslots * sizeof(*d->slots));
  end = (unsigned char *)s.columns;
  for (PetscInt k = 0, slot = 0; k < p->n; slot++) {
    const unsigned lanes = head->pairs ? 1 : d->slots[slot] & BCCOO_SLOT_LANES;
    const unsigned write = head->pairs || !(d->slots[slot] & BCCOO_SLOT_CONSECUTIVE) ? lanes : 1;

    for (unsigned l = 0; l < write; l++) {
      if (head->wide) {
        const uint32_t c = (uint32_t)(d->col[k + l] - head->col);

        memcpy(end, &c, sizeof(c));
        end += sizeof(c);
      } else {
        const uint16_t c = (uint16_t)(d->col[k + l] - head->col);

        memcpy(end, &c, sizeof(c));
        end += sizeof(c);
      }
    }
    k += lanes;
  }
  head->bytes = (uint32_t)BCCOORound(end - data, sizeof(PetscScalar));
  memcpy(data, head, sizeof(*head));
  p->n = p->npieces = 0;
  return head->bytes;
}

/* Adds the nonzeros of a row in this tile, next .. end - 1 by column, and writes the chunks that become full */
static size_t AddRow(const Encoder *e, PetscInt row, PetscInt next, PetscInt end, Pieces *p, Draft *d, unsigned char *data)
{
  size_t bytes = 0;

  while (next < end) {
    const PetscInt *perm  = BCCOOOrderGetRow(e->order, row);
    const PetscInt  first = e->csr->i[row];
    PetscInt        lo, hi, take = end - next;
    PetscBool       far = PETSC_FALSE;

    if (p->n && (p->n >= BCCOO_LANES_FULL || row - p->row[0] > UINT16_MAX || (take <= BCCOO_LANES_CUT && p->n + take > BCCOO_LANES_MAX))) bytes += WriteChunk(e, p, PETSC_FALSE, d, data + bytes);
    if (take > BCCOO_LANES_CUT) take = PetscMin(take, BCCOO_LANES_FULL - p->n);
    lo = e->csr->j[perm ? first + perm[next - first] : next];
    hi = e->csr->j[perm ? first + perm[next + take - 1 - first] : next + take - 1];
    if (p->n) {
      const PetscInt collo = PetscMin(p->collo, lo), colhi = PetscMax(p->colhi, hi);

      /* half a chunk is better than wide columns */
      if ((colhi - collo > UINT16_MAX && p->colhi - p->collo <= UINT16_MAX && p->n >= BCCOO_LANES_FULL / 2) || colhi - collo > INT32_MAX / 2) bytes += WriteChunk(e, p, PETSC_FALSE, d, data + bytes);
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
    if (far) bytes += WriteChunk(e, p, PETSC_FALSE, d, data + bytes); /* a row is in a chunk once: Walk() relies on it */
  }
  return bytes;
}

/* Bytes that the chunks of a band can take at most */
static size_t BandBytes(const BCCOOLanes *L, PetscInt b)
{
  const size_t nnz = L->start[b + 1] - L->start[b], rows = L->own[b + 1] - L->own[b];
  const size_t nchunks = nnz / (BCCOO_LANES_FULL / 2) + L->nranges * (rows / UINT16_MAX + 3) + 8;

  return PetscMin(nchunks, nnz) * (BCCOO_LANES_HEAD + 3 * sizeof(PetscScalar)) + nnz * (sizeof(PetscScalar) + sizeof(uint32_t) + 2 * sizeof(uint16_t) + 1) + BCCOO_LANES_SLOP;
}

/* The rows that have nonzeros in a range are among from[r] .. to[r] - 1 */
static void FindRows(const Encoder *e, PetscInt b, PetscInt from[], PetscInt to[])
{
  const BCCOOLanes *L   = e->L;
  const AIJFormCSR *csr = e->csr;

  for (PetscInt r = 0; r < L->nranges; r++) {
    from[r] = L->own[b + 1];
    to[r]   = L->own[b];
  }
  for (PetscInt i = L->own[b]; i < L->own[b + 1]; i++) {
    PetscInt first, last;

    if (csr->i[i] == csr->i[i + 1]) continue;
    first = BCCOOLowerBound(L->nranges, L->bound + 1, csr->j[BCCOOOrderGetPlace(e->order, csr, i, csr->i[i])] + 1);
    last  = BCCOOLowerBound(L->nranges, L->bound + 1, csr->j[BCCOOOrderGetPlace(e->order, csr, i, csr->i[i + 1] - 1)] + 1);
    for (PetscInt r = first; r <= last; r++) {
      from[r] = PetscMin(from[r], i);
      to[r]   = i + 1;
    }
  }
}

/* Where the piece of row i in range r ends, from next on */
static inline PetscInt PieceEnd(const Encoder *e, PetscInt i, PetscInt next, PetscInt end, PetscInt r)
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

/* Writes the chunks of band b. next[] has a place for every row that the band owns, and one more */
static void EncodeBand(const Encoder *e, PetscInt b, PetscInt next[], PetscInt from[], PetscInt to[], unsigned char *data, size_t tile[])
{
  const BCCOOLanes *L   = e->L;
  const PetscInt    own = L->own[b], carry = L->own[b + 1];
  const PetscBool   hascarry = (PetscBool)(carry < L->m && L->start[b + 1] > PetscMax(e->csr->i[carry], L->start[b]));
  size_t            bytes    = 0;
  Pieces            p;
  Draft             d;

  for (PetscInt i = own; i < carry; i++) next[i - own] = PetscMax(e->csr->i[i], L->start[b]);
  if (hascarry) next[carry - own] = PetscMax(e->csr->i[carry], L->start[b]);
  if (L->nranges > 1) FindRows(e, b, from, to);
  else {
    from[0] = own;
    to[0]   = carry;
  }
  p.n = p.npieces = 0;
  for (PetscInt r = 0; r < L->nranges; r++) {
    tile[r] = bytes;
    for (PetscInt i = from[r]; i < to[r]; i++) {
      const PetscInt end = PieceEnd(e, i, next[i - own], e->csr->i[i + 1], r);

      bytes += AddRow(e, i, next[i - own], end, &p, &d, data + bytes);
      next[i - own] = end;
    }
    if (p.n) bytes += WriteChunk(e, &p, PETSC_FALSE, &d, data + bytes);
    if (hascarry) {
      const PetscInt end = PieceEnd(e, carry, next[carry - own], L->start[b + 1], r);

      while (next[carry - own] < end) {
        const PetscInt take = PetscMin(BCCOO_LANES_FULL, end - next[carry - own]);

        (void)AddRow(e, carry, next[carry - own], next[carry - own] + take, &p, &d, data + bytes); /* fills no chunk */
        next[carry - own] += p.n;
        bytes += WriteChunk(e, &p, PETSC_TRUE, &d, data + bytes);
      }
    }
  }
  tile[L->nranges] = bytes;
  memset(data + bytes, 0, BCCOO_LANES_SLOP);
}

typedef struct {
  Candidate   *candidate;
  BCCOODict    met;
  PetscScalar *table;
  PetscInt    *next, *from, *to;
  int         *slot;
} EncodeScratch;

/* The dictionary of the table that L has */
static PetscErrorCode MakeDict(const BCCOOLanes *L, Encoder *e, int **slot)
{
  size_t nslots = 16;

  PetscFunctionBegin;
  while (nslots < 4 * (size_t)L->ntable) nslots *= 2;
  PetscCall(PetscMalloc1(nslots, slot));
  for (size_t s = 0; s < nslots; s++) (*slot)[s] = -1;
  e->dict.n = e->dict.max = L->ntable;
  e->dict.mask            = nslots - 1;
  e->dict.key             = L->table;
  e->dict.slot            = *slot;
  for (PetscInt k = 0; k < L->ntable; k++) BCCOODictEnter(&e->dict, (int)k);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Encode(BCCOOLanes *L, const AIJFormCSR *csr, const BCCOOOrder *order, EncodeScratch *s)
{
  Encoder e = {.L = L, .csr = csr, .order = order};

  PetscFunctionBegin;
  s->met.max  = BCCOO_LANES_TABLE;
  s->met.mask = 4 * BCCOO_LANES_TABLE - 1;
  PetscCall(PetscMalloc1(s->met.max, &s->candidate));
  PetscCall(PetscMalloc1(s->met.max, &s->met.key));
  PetscCall(PetscMalloc1(s->met.mask + 1, &s->met.slot));
  PetscCall(PetscMalloc1(s->met.max, &s->table));
  PetscCall(BuildTable(&e, s->candidate, &s->met, s->table, &L->ntable));
  PetscCall(PetscFree(L->table));
  PetscCall(PetscCalloc1(PetscMax(16, L->ntable), &L->table)); /* 16: as many as AVX-512 keeps in registers */
  memcpy(L->table, s->table, L->ntable * sizeof(*L->table));
  PetscCall(MakeDict(L, &e, &s->slot));

  PetscCall(PetscMalloc1((size_t)L->m + L->nbands, &s->next));
  PetscCall(PetscMalloc1((size_t)L->nbands * L->nranges, &s->from));
  PetscCall(PetscMalloc1((size_t)L->nbands * L->nranges, &s->to));
  if (!L->tile) PetscCall(PetscMalloc1((size_t)L->nbands * (L->nranges + 1), &L->tile));
  if (!L->data) PetscCall(PetscCalloc1(L->nbands, &L->data));
  for (PetscInt b = 0; b < L->nbands; b++) {
    PetscCall(PetscFree(L->data[b]));
    PetscCall(PetscMalloc1(BandBytes(L, b), &L->data[b]));
    BCCOOAdviseHugePages(L->data[b], BandBytes(L, b));
  }
  /* each thread writes, and so places in memory, what it will read */
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nbands))
  for (PetscInt b = 0; b < L->nbands; b++) EncodeBand(&e, b, s->next + L->own[b] + b, s->from + b * L->nranges, s->to + b * L->nranges, L->data[b], L->tile + b * (L->nranges + 1));
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
  PetscCall(PetscFree(s.next));
  PetscCall(PetscFree(s.from));
  PetscCall(PetscFree(s.to));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---------------------------------------------------------------------------------------------- new values */

/*
  For nonzero k of a chunk: row[k], and which[k], its place by column in that row as the CSR counts (from csr->i[0]). next[] is
  where each row of the band goes on, indexed from row own; it goes on behind the chunk.
*/
static void Walk(const BCCOOLanesChunk *chunk, PetscInt own, PetscInt next[], PetscInt row[], PetscInt which[])
{
  const BCCOOLanesStreams s     = BCCOOLanesGetStreams(chunk);
  const uint16_t         *rows  = s.rows;
  const uint8_t          *slots = s.slots;
  PetscInt                k     = 0;

  if (chunk->pairs) {
    for (; k < chunk->n; k++) {
      row[k]   = chunk->row + rows[k];
      which[k] = next[row[k] - own]++;
    }
  }
  for (PetscInt g = 0; g < chunk->ngroups; g++) {
    const unsigned kind = s.groups[g] >> 14, used = *slots & BCCOO_SLOT_LANES;

    for (const uint8_t *end = slots + (s.groups[g] & BCCOO_GROUP_SLOTS); slots < end; slots++) {
      for (unsigned l = 0; l < (*slots & BCCOO_SLOT_LANES); l++, k++) {
        row[k]   = chunk->row + (kind == BCCOO_GROUP_LISTED ? rows[l] : kind == BCCOO_GROUP_CONSECUTIVE ? rows[0] + (PetscInt)l : rows[0]);
        which[k] = next[row[k] - own]++;
      }
    }
    rows += kind == BCCOO_GROUP_LISTED ? used : 1;
  }
}

/* Writes new values into the chunks of a band, as they are coded; false if they no longer can be */
static PetscBool RefillBand(const Encoder *e, PetscInt b, PetscInt next[])
{
  const BCCOOLanes *L   = e->L;
  const PetscInt    own = L->own[b];
  unsigned char    *p = L->data[b], *end = p + L->tile[b * (L->nranges + 1) + L->nranges];
  PetscInt          row[BCCOO_LANES_MAX], pos[BCCOO_LANES_MAX];
  uint16_t          code[BCCOO_LANES_MAX];
  PetscScalar       table[BCCOO_LANES_OWN];
  PetscInt          ntable;

  for (PetscInt i = own; i <= PetscMin(L->own[b + 1], L->m - 1); i++) next[i - own] = PetscMax(e->csr->i[i], L->start[b]);
  while (p < end) {
    const BCCOOLanesChunk  *chunk = (const BCCOOLanesChunk *)p;
    const BCCOOLanesStreams s     = BCCOOLanesGetStreams(chunk);

    Walk(chunk, own, next, row, pos);
    if (e->order->nunsorted) {
      for (PetscInt k = 0; k < chunk->n; k++) pos[k] = BCCOOOrderGetPlace(e->order, e->csr, row[k], pos[k]);
    }
    if (chunk->values != BCCOO_VALUES_FULL) {
      if (ChooseValues(e, chunk->n, pos, code, table, &ntable) != chunk->values || ntable != chunk->ntable) return PETSC_FALSE;
      memcpy((void *)s.table, table, ntable * sizeof(PetscScalar));
    }
    WriteValues(chunk->values, chunk->n, pos, code, e->csr->a, (void *)s.values);
    p += chunk->bytes;
  }
  return PETSC_TRUE;
}

/*
  New values of the same pattern. *done is false if some chunk cannot hold them as it is coded: the form must be encoded
  anew. Chunks that could now be coded in less keep their coding.
*/
PetscErrorCode BCCOOLanesSetValues(BCCOOLanes *L, const AIJFormCSR *csr, const BCCOOOrder *order, PetscBool *done)
{
  Encoder   e = {.L = L, .csr = csr, .order = order};
  PetscInt *next;
  int      *slot;
  PetscInt  ndone = 0;

  PetscFunctionBegin;
  PetscCall(MakeDict(L, &e, &slot));
  PetscCall(PetscMalloc1((size_t)L->m + L->nbands, &next));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nbands) reduction(+ : ndone))
  for (PetscInt b = 0; b < L->nbands; b++) ndone += RefillBand(&e, b, next + L->own[b] + b);
  PetscCall(PetscFree(next));
  PetscCall(PetscFree(slot));
  *done = (PetscBool)(ndone == L->nbands);
  PetscFunctionReturn(PETSC_SUCCESS);
}
