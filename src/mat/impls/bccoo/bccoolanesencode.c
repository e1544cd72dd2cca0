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
#define COST_RUN   9 /* a slot whose columns follow each other */
#define COST_WAIT  8 /* a lane that has the column of the one before: its sum waits for that one's */
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
  BCCOODict         dict;  /* of the table */
  const uint16_t   *range; /* that has the columns k << L->shift and so on */
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

/* Lanes of the run of columns that begins at place pos, by column, of a row that begins at first; len nonzeros are left of it */
static inline unsigned RunLanes(const Encoder *e, const PetscInt perm[], PetscInt first, PetscInt pos, PetscInt len)
{
  const PetscInt *j     = e->csr->j;
  unsigned        lanes = 1;

  if (perm) {
    while (lanes < BCCOO_LANES && (PetscInt)lanes < len && j[first + perm[pos + lanes - first]] == j[first + perm[pos - first]] + (PetscInt)lanes) lanes++;
  } else {
    while (lanes < BCCOO_LANES && (PetscInt)lanes < len && j[pos + lanes] == j[pos] + (PetscInt)lanes) lanes++;
  }
  return lanes;
}

/* Slots of a row that has its own: one for each run */
static PetscInt CountRuns(const Encoder *e, const Pieces *p, PetscInt piece)
{
  const PetscInt *perm  = BCCOOOrderGetRow(e->order, p->row[piece]);
  PetscInt        nruns = 0;

  for (PetscInt k = 0; k < p->len[piece]; nruns++) k += RunLanes(e, perm, e->csr->i[p->row[piece]], p->pos[piece] + k, p->len[piece] - k);
  return nruns;
}

/* A group of one row, from nonzero n on, in slots of eight nonzeros or of runs; its cost */
static PetscInt DraftSingle(const Encoder *e, const Pieces *p, Draft *d, PetscInt piece, PetscBool runs, PetscInt n, PetscInt *nfollow)
{
  BCCOOLanesChunk *head = &d->head;
  const PetscInt   row = p->row[piece], len = p->len[piece], before = head->nslots;
  const PetscInt  *perm = BCCOOOrderGetRow(e->order, row);

  for (PetscInt k = 0; k < len; k++) d->pos[n + k] = perm ? e->csr->i[row] + perm[p->pos[piece] + k - e->csr->i[row]] : p->pos[piece] + k;
  for (PetscInt k = 0; k < len;) {
    const unsigned  lanes  = runs ? RunLanes(e, perm, e->csr->i[row], p->pos[piece] + k, len - k) : (unsigned)PetscMin(BCCOO_LANES, len - k);
    const PetscBool follow = (PetscBool)(DraftSlot(e, d, lanes, n + k) || runs);

    d->slots[head->nslots++] = (uint8_t)(follow ? lanes | BCCOO_SLOT_CONSECUTIVE : lanes);
    *nfollow += follow;
    k += lanes;
  }
  d->rows[head->nrows++]     = (uint16_t)(row - head->row);
  d->groups[head->ngroups++] = (uint16_t)(BCCOO_GROUP_SINGLE << 14 | (head->nslots - before));
  return (head->nslots - before) * (runs ? COST_RUN : COST_SLOT) + COST_GROUP;
}

/* A group of some rows, from nonzero n on; its cost */
static PetscInt DraftRows(const Encoder *e, const Pieces *p, Draft *d, const uint16_t piece[], PetscInt used, PetscInt n, PetscInt *nfollow)
{
  BCCOOLanesChunk *head        = &d->head;
  const PetscInt   nslots      = p->len[piece[0]];
  unsigned         lanes       = (unsigned)used;
  PetscBool        consecutive = PETSC_TRUE;
  PetscInt         cost        = COST_GROUP;
  const PetscInt  *perm[BCCOO_LANES];

  for (PetscInt l = 0; l < used; l++) {
    perm[l] = BCCOOOrderGetRow(e->order, p->row[piece[l]]);
    if (p->row[piece[l]] != p->row[piece[0]] + l) consecutive = PETSC_FALSE;
  }
  for (PetscInt k = 0; k < nslots; k++) {
    PetscBool follow;

    while (p->len[piece[lanes - 1]] <= k) lanes--;
    for (unsigned l = 0; l < lanes; l++) {
      const PetscInt pos = p->pos[piece[l]] + k, first = e->csr->i[p->row[piece[l]]];

      d->pos[n + l] = perm[l] ? first + perm[l][pos - first] : pos;
    }
    follow                   = DraftSlot(e, d, lanes, n);
    d->slots[head->nslots++] = (uint8_t)(follow ? lanes | BCCOO_SLOT_CONSECUTIVE : lanes);
    *nfollow += follow;
    cost += follow ? COST_RUN : COST_SLOT;
    n += lanes;
  }
  for (PetscInt l = 0; l < (consecutive ? 1 : used); l++) d->rows[head->nrows++] = (uint16_t)(p->row[piece[l]] - head->row);
  d->groups[head->ngroups++] = (uint16_t)((consecutive ? BCCOO_GROUP_CONSECUTIVE : BCCOO_GROUP_LISTED) << 14 | nslots);
  return cost;
}

/* What lanes wait for each other in A^T u, in the slots from firstslot on, whose nonzeros begin at n */
static PetscInt WaitCost(const Draft *d, PetscInt firstslot, PetscInt n)
{
  PetscInt cost = 0;

  for (PetscInt s = firstslot; s < d->head.nslots; s++) {
    const PetscInt lanes = d->slots[s] & BCCOO_SLOT_LANES;

    for (PetscInt l = 1; l < lanes; l++) cost += d->col[n + l] == d->col[n + l - 1] ? COST_WAIT : 0;
    n += lanes;
  }
  return cost;
}

/*
  Groups of rows, as they fit; what they cost. A row is a group of its own if that takes less for each nonzero than the group
  of the rows that come next by length; in slots of runs, where its columns have them. Whether the columns of these rows
  follow each other from row to row, or are the same, is known once their group is there, which then may be taken back.
*/
static PetscInt DraftGroups(const Encoder *e, const Pieces *p, Draft *d)
{
  BCCOOLanesChunk *head = &d->head;
  PetscInt         n = 0, cost = 0, nfollow = 0;

  head->ngroups = head->nrows = head->nslots = 0;
  for (PetscInt q = 0; q < p->npieces;) {
    const uint16_t *piece = d->order + q;
    const PetscInt  longest = p->len[piece[0]], used = PetscMin(BCCOO_LANES, p->npieces - q), full = (longest + BCCOO_LANES - 1) / BCCOO_LANES;
    const PetscInt  nruns = CountRuns(e, p, piece[0]);
    const PetscBool runs  = (PetscBool)(5 * nruns * COST_RUN < 4 * full * COST_SLOT); /* runs of various lengths are hard to foresee */
    const PetscInt  single = (runs ? nruns * COST_RUN : full * COST_SLOT) + COST_GROUP, best = longest * (runs ? COST_RUN : COST_SLOT) + COST_GROUP;
    PetscInt        sum = 0;

    for (PetscInt l = 0; l < used; l++) sum += p->len[piece[l]];
    if (single * sum < best * longest) {
      cost += DraftSingle(e, p, d, piece[0], runs, n, &nfollow);
      n += longest;
      q++;
    } else {
      const BCCOOLanesChunk before = *head;
      const PetscInt        follow = nfollow, rows = DraftRows(e, p, d, piece, used, n, &nfollow);

      if (runs && single * sum < (rows + WaitCost(d, before.nslots, n)) * longest) {
        PetscInt k = n;

        *head   = before;
        nfollow = follow;
        for (PetscInt l = 0; l < used; k += p->len[piece[l++]]) cost += DraftSingle(e, p, d, piece[l], PETSC_TRUE, k, &nfollow);
      } else cost += rows;
      n += sum;
      q += used;
    }
  }
  /* where few slots have columns that follow each other, looking for them costs more than it saves */
  if (nfollow * 4 < head->nslots) {
    for (PetscInt s = 0; s < head->nslots; s++) d->slots[s] &= BCCOO_SLOT_LANES;
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

/*
  Cycles of a chunk in A^T u, about: what is added by lanes costs by the lane, and waits where the one before has the same
  column; columns that follow each other cost by the slot.
*/
static uint16_t TransposedCost(const Draft *d)
{
  const BCCOOLanesChunk *head = &d->head;
  PetscInt               cost = 100, n = 0;

  if (head->pairs) {
    cost += 2 * head->n;
    for (PetscInt k = 1; k < head->n; k++) cost += d->col[k] == d->col[k - 1] ? COST_WAIT : 0;
  }
  for (PetscInt s = 0; s < head->nslots; s++) {
    const PetscInt lanes = d->slots[s] & BCCOO_SLOT_LANES;

    cost += d->slots[s] & BCCOO_SLOT_CONSECUTIVE ? 6 : 4 + 3 * lanes / 2;
    for (PetscInt l = 1; l < lanes; l++) cost += d->col[n + l] == d->col[n + l - 1] ? COST_WAIT : 0;
    n += lanes;
  }
  return (uint16_t)(cost + 12 * head->ngroups);
}

/* Columns are written for slots, not for nonzeros, where they follow each other: col[] becomes these, their number is returned */
static PetscInt DraftColumns(Draft *d, PetscInt n)
{
  PetscInt ncolumns = 0;

  if (d->head.pairs) return n;
  for (PetscInt k = 0, slot = 0; k < n; slot++) {
    const PetscInt lanes = d->slots[slot] & BCCOO_SLOT_LANES;

    if (d->slots[slot] & BCCOO_SLOT_CONSECUTIVE) d->col[ncolumns++] = d->col[k];
    else {
      for (PetscInt l = 0; l < lanes; l++) d->col[ncolumns + l] = d->col[k + l];
      ncolumns += lanes;
    }
    k += lanes;
  }
  return ncolumns;
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
  head->cost   = TransposedCost(d);
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
  if (head->wide) {
    uint32_t *to = (uint32_t *)end;

    end = (unsigned char *)(to + DraftColumns(d, p->n));
    for (const PetscInt *c = d->col; to < (uint32_t *)end; c++) *to++ = (uint32_t)(*c - head->col);
  } else {
    uint16_t *to = (uint16_t *)end;

    end = (unsigned char *)(to + DraftColumns(d, p->n));
    for (const PetscInt *c = d->col; to < (uint16_t *)end; c++) *to++ = (uint16_t)(*c - head->col);
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

/* Rows of a band, cut where ranges meet: piece q is the nonzeros start[q] .. end[q] - 1, by column, of row[q], and those of range r are first[r] .. first[r+1]-1 */
typedef struct {
  PetscInt *row, *start, *end, *first;
} Cuts;

/* Finds the pieces in the order of the ranges: counts them first, then puts each in its place. Carries are left out. */
static void CutRows(const Encoder *e, PetscInt b, const Cuts *cuts)
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

/* Writes the chunks of band b */
static void EncodeBand(const Encoder *e, PetscInt b, const Cuts *cuts, unsigned char *data, size_t tile[])
{
  const BCCOOLanes *L     = e->L;
  const PetscInt    carry = L->own[b + 1];
  const PetscBool   hascarry = (PetscBool)(carry < L->m && L->start[b + 1] > PetscMax(e->csr->i[carry], L->start[b]));
  PetscInt          next     = hascarry ? PetscMax(e->csr->i[carry], L->start[b]) : 0; /* of the carry */
  size_t            bytes    = 0;
  Pieces            p;
  Draft             d;

  if (L->nranges > 1) CutRows(e, b, cuts);
  p.n = p.npieces = 0;
  for (PetscInt r = 0; r < L->nranges; r++) {
    tile[r] = bytes;
    if (L->nranges > 1) {
      for (PetscInt q = cuts->first[r]; q < cuts->first[r + 1]; q++) bytes += AddRow(e, cuts->row[q], cuts->start[q], cuts->end[q], &p, &d, data + bytes);
    } else {
      for (PetscInt i = L->own[b]; i < carry; i++) bytes += AddRow(e, i, PetscMax(e->csr->i[i], L->start[b]), e->csr->i[i + 1], &p, &d, data + bytes);
    }
    if (p.n) bytes += WriteChunk(e, &p, PETSC_FALSE, &d, data + bytes);
    if (hascarry) {
      const PetscInt end = PieceEnd(e, carry, next, L->start[b + 1], r);

      while (next < end) {
        (void)AddRow(e, carry, next, next + PetscMin(BCCOO_LANES_FULL, end - next), &p, &d, data + bytes); /* fills no chunk */
        next += p.n;
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
  PetscInt    *piece, *first;
  uint16_t    *range;
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

/* ---------------------------------------------------------------------------------------------- new values */

/*
  For nonzero k of a chunk: row[k], and which[k], its place by column in that row as the CSR counts (from csr->i[0]). next[] is
  where each row of the band goes on, indexed from row own; it goes on behind the chunk. row may be NULL. Both arrays have
  room for BCCOO_LANES more nonzeros, since all lanes of a slot are written.
*/
static void Walk(const BCCOOLanesChunk *chunk, PetscInt own, PetscInt next[], PetscInt row[], PetscInt which[])
{
  const BCCOOLanesStreams s     = BCCOOLanesGetStreams(chunk);
  const uint16_t         *rows  = s.rows;
  const uint8_t          *slots = s.slots;

  if (chunk->pairs) {
    for (PetscInt k = 0; k < chunk->n; k++) {
      which[k] = next[chunk->row + rows[k] - own]++;
      if (row) row[k] = chunk->row + rows[k];
    }
  }
  for (PetscInt g = 0; g < chunk->ngroups; g++) {
    const unsigned kind = s.groups[g] >> 14, nslots = s.groups[g] & BCCOO_GROUP_SLOTS, used = *slots & BCCOO_SLOT_LANES;

    if (kind == BCCOO_GROUP_SINGLE) {
      PetscInt *nextrow = &next[chunk->row + *rows - own], from = *nextrow;

      for (const uint8_t *end = slots + nslots; slots < end; slots++) {
        const PetscInt lanes = *slots & BCCOO_SLOT_LANES;

        for (PetscInt l = 0; l < BCCOO_LANES; l++) which[l] = from + l;
        if (row) {
          for (PetscInt l = 0; l < BCCOO_LANES; l++) row[l] = chunk->row + *rows;
          row += lanes;
        }
        which += lanes;
        from += lanes;
      }
      *nextrow = from;
      rows++;
    } else {
      PetscInt r[BCCOO_LANES] = {0}, from[BCCOO_LANES] = {0};
      unsigned lanes = used;

      for (unsigned l = 0; l < used; l++) {
        r[l]    = chunk->row + (kind == BCCOO_GROUP_LISTED ? rows[l] : rows[0] + (PetscInt)l);
        from[l] = next[r[l] - own];
      }
      for (unsigned k = 0; k < nslots; k++, slots++) {
        while (lanes > (*slots & BCCOO_SLOT_LANES)) { /* a row that ends */
          lanes--;
          next[r[lanes] - own] = from[lanes];
        }
        for (PetscInt l = 0; l < BCCOO_LANES; l++) which[l] = from[l]++;
        if (row) {
          for (PetscInt l = 0; l < BCCOO_LANES; l++) row[l] = r[l];
          row += lanes;
        }
        which += lanes;
      }
      while (lanes > 0) {
        lanes--;
        next[r[lanes] - own] = from[lanes];
      }
      rows += kind == BCCOO_GROUP_LISTED ? used : 1;
    }
  }
}

/* Are the values of a chunk those that it has already? */
static PetscBool SameValues(const Encoder *e, const BCCOOLanesChunk *chunk, const PetscInt pos[])
{
  const BCCOOLanesStreams s     = BCCOOLanesGetStreams(chunk);
  const PetscScalar      *table = chunk->values == BCCOO_VALUES_OWN ? s.table : e->L->table, *a = e->csr->a;
  int                     differ = 0;

  switch (chunk->values) {
  case BCCOO_VALUES_EQUAL:
    for (PetscInt k = 0; k < chunk->n; k++) differ |= memcmp(s.values, &a[pos[k]], sizeof(*a)) != 0;
    break;
  case BCCOO_VALUES_SMALL:
  case BCCOO_VALUES_TABLE:
  case BCCOO_VALUES_OWN:
    for (PetscInt k = 0; k < chunk->n; k++) differ |= memcmp(&table[((const uint8_t *)s.values)[k]], &a[pos[k]], sizeof(*a)) != 0;
    break;
  case BCCOO_VALUES_LARGE:
    for (PetscInt k = 0; k < chunk->n; k++) differ |= memcmp(&table[((const uint16_t *)s.values)[k]], &a[pos[k]], sizeof(*a)) != 0;
    break;
  default:
    return PETSC_FALSE;
  }
  return (PetscBool)!differ;
}

/* Writes new values into the chunks of a band, as they are coded; false if they no longer can be */
static PetscBool RefillBand(const Encoder *e, PetscInt b, PetscInt next[])
{
  const BCCOOLanes *L   = e->L;
  const PetscInt    own = L->own[b];
  unsigned char    *p = L->data[b], *end = p + L->tile[b * (L->nranges + 1) + L->nranges];
  PetscInt          row[BCCOO_LANES_MAX + BCCOO_LANES], pos[BCCOO_LANES_MAX + BCCOO_LANES];
  uint16_t          code[BCCOO_LANES_MAX];
  PetscScalar       table[BCCOO_LANES_OWN];
  PetscInt          ntable;

  for (PetscInt i = own; i <= PetscMin(L->own[b + 1], L->m - 1); i++) next[i - own] = PetscMax(e->csr->i[i], L->start[b]);
  while (p < end) {
    const BCCOOLanesChunk  *chunk = (const BCCOOLanesChunk *)p;
    const BCCOOLanesStreams s     = BCCOOLanesGetStreams(chunk);

    p += chunk->bytes;
    Walk(chunk, own, next, e->order->nunsorted ? row : NULL, pos);
    if (e->order->nunsorted) {
      for (PetscInt k = 0; k < chunk->n; k++) pos[k] = BCCOOOrderGetPlace(e->order, e->csr, row[k], pos[k]);
    }
    if (SameValues(e, chunk, pos)) continue;
    if (chunk->values != BCCOO_VALUES_FULL) {
      if (ChooseValues(e, chunk->n, pos, code, table, &ntable) != chunk->values || ntable != chunk->ntable) return PETSC_FALSE;
      memcpy((void *)s.table, table, ntable * sizeof(PetscScalar));
    }
    WriteValues(chunk->values, chunk->n, pos, code, e->csr->a, (void *)s.values);
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
