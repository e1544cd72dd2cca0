/* Coding simd: one chunk. How its nonzeros are put into slots and these into groups, and how all of it is written. */
#include "encoder.h"

/*
  What products take, in cycles, for A x and A^T u together: a slot, a group, a nonzero of a chunk of pairs. These decide how
  nonzeros are grouped, and how A^T u is cut into parts, and nothing else.
*/
#define COST_SLOT   19
#define COST_RUN    9  /* a slot whose columns are consecutive or the same */
#define COST_CHANGE 12 /* a slot whose number of lanes is mispredicted */
#define COST_WAIT   8  /* a lane with the column of the lane before, for whose sum it waits ... */
#define COST_HIDDEN 4  /* ... and what is left of that wait in the cost of a whole chunk, where slots overlap */
#define COST_FAR    2  /* a lane whose column is far from that of the lane before, in a chunk of many columns */
#define COST_GROUP  24
#define COST_NEXT   10 /* a group of consecutive rows: vectors of y and u are loaded and stored */
#define COST_PAIR   5

#define FIRST_CACHE 32768 /* bytes */

/* Sorts the pieces by falling length, equal ones in their order */
static void OrderPieces(const BCCOOLanesPieces *p, BCCOOLanesDraft *d)
{
  PetscInt longest = 0, shortest = p->piece[0].len;

  for (PetscInt q = 0; q < p->npieces; q++) {
    longest  = PetscMax(longest, p->piece[q].len);
    shortest = PetscMin(shortest, p->piece[q].len);
  }
  if (longest == shortest) {
    for (PetscInt q = 0; q < p->npieces; q++) d->order[q] = (uint16_t)q;
    return;
  }
  memset(d->count, 0, (longest + 2) * sizeof(*d->count));
  for (PetscInt q = 0; q < p->npieces; q++) d->count[longest - p->piece[q].len + 1]++;
  for (PetscInt l = 0; l < longest; l++) d->count[l + 1] += d->count[l];
  for (PetscInt q = 0; q < p->npieces; q++) d->order[d->count[longest - p->piece[q].len]++] = (uint16_t)q;
}

/* Takes the columns of a slot from the CSR; returns whether they are consecutive or the same, as the slot's flag */
static inline unsigned DraftSlot(const BCCOOLanesEncoder *e, BCCOOLanesDraft *d, unsigned lanes, PetscInt n)
{
  const PetscInt *pos  = d->pos + n;
  PetscInt       *col  = d->col + n;
  PetscInt        step = 0, other = 0;

  col[0] = e->csr->j[pos[0]];
  for (unsigned l = 1; l < lanes; l++) {
    col[l] = e->csr->j[pos[l]];
    step |= (col[l] - (PetscInt)l) ^ col[0];
    other |= col[l] ^ col[0];
  }
  return lanes == 1 ? 0 : step == 0 ? BCCOO_SLOT_CONSECUTIVE : other == 0 ? BCCOO_SLOT_SAME : 0;
}

/* Lanes of the run of columns that begins at place pos, by column, of a row that begins at first; len nonzeros are left of it */
static inline unsigned RunLanes(const BCCOOLanesEncoder *e, const PetscInt perm[], PetscInt first, PetscInt pos, PetscInt len)
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

/* What a row costs in slots of runs, at most limit. A slot with another number of lanes than the last but one is taken to be mispredicted. */
static PetscInt RunsCost(const BCCOOLanesEncoder *e, const BCCOOLanesPieces *p, PetscInt piece, PetscInt limit)
{
  const PetscInt  row       = p->first + p->piece[piece].row;
  const PetscInt *perm      = BCCOOOrderGetRow(e->order, row);
  unsigned        before[2] = {0, 0};
  PetscInt        cost      = 0;

  for (PetscInt k = 0; k < p->piece[piece].len && cost < limit;) {
    const unsigned lanes = RunLanes(e, perm, e->csr->i[row], p->piece[piece].pos + k, p->piece[piece].len - k);

    cost += lanes == before[0] ? COST_RUN : COST_RUN + COST_CHANGE;
    before[0] = before[1];
    before[1] = lanes;
    k += lanes;
  }
  return PetscMin(cost, limit);
}

/* Makes a group of one row, from nonzero n on, in slots of eight nonzeros or of runs; returns its cost */
static PetscInt DraftSingle(const BCCOOLanesEncoder *e, const BCCOOLanesPieces *p, BCCOOLanesDraft *d, PetscInt piece, PetscBool runs, PetscInt n)
{
  BCCOOLanesChunk *head = &d->head;
  const PetscInt   row = p->first + p->piece[piece].row, len = p->piece[piece].len, before = head->nslots;
  const PetscInt  *perm = BCCOOOrderGetRow(e->order, row);

  for (PetscInt k = 0; k < len; k++) d->pos[n + k] = perm ? e->csr->i[row] + perm[p->piece[piece].pos + k - e->csr->i[row]] : p->piece[piece].pos + k;
  for (PetscInt k = 0; k < len;) {
    const unsigned lanes = runs ? RunLanes(e, perm, e->csr->i[row], p->piece[piece].pos + k, len - k) : (unsigned)PetscMin(BCCOO_LANES, len - k);
    const unsigned kind  = DraftSlot(e, d, lanes, n + k);

    /* never BCCOO_SLOT_SAME: that a row has one column several times is too rare */
    d->slots[head->nslots++] = (uint8_t)(lanes | (runs ? BCCOO_SLOT_CONSECUTIVE : kind & BCCOO_SLOT_CONSECUTIVE));
    k += lanes;
  }
  d->rows[head->nrows++]     = (uint16_t)(row - head->row);
  d->groups[head->ngroups++] = (uint16_t)(BCCOO_GROUP_SINGLE << 14 | (head->nslots - before));
  return (head->nslots - before) * (runs ? COST_RUN : COST_SLOT) + COST_GROUP;
}

/* Makes a group of several rows, from nonzero n on; returns its cost */
static PetscInt DraftRows(const BCCOOLanesEncoder *e, const BCCOOLanesPieces *p, BCCOOLanesDraft *d, const uint16_t piece[], PetscInt used, PetscInt n)
{
  BCCOOLanesChunk *head        = &d->head;
  const PetscInt   nslots      = p->piece[piece[0]].len;
  unsigned         lanes       = (unsigned)used;
  PetscBool        consecutive = PETSC_TRUE;
  PetscInt         cost, pos[BCCOO_LANES] = {0}, first[BCCOO_LANES];
  const PetscInt  *perm[BCCOO_LANES];
  const PetscBool  hasperm = (PetscBool)(e->order->nunsorted > 0);

  for (PetscInt l = 0; l < used; l++) {
    pos[l] = p->piece[piece[l]].pos;
    if (hasperm) {
      perm[l]  = BCCOOOrderGetRow(e->order, p->first + p->piece[piece[l]].row);
      first[l] = e->csr->i[p->first + p->piece[piece[l]].row];
    }
    if (p->piece[piece[l]].row != p->piece[piece[0]].row + l) consecutive = PETSC_FALSE;
  }
  cost = consecutive ? COST_NEXT : COST_GROUP;
  for (PetscInt k = 0; k < nslots; k++) {
    unsigned kind;

    while (p->piece[piece[lanes - 1]].len <= k) lanes--;
    for (unsigned l = 0; l < BCCOO_LANES; l++) d->pos[n + l] = pos[l] + k;
    for (unsigned l = 0; hasperm && l < lanes; l++) {
      if (perm[l]) d->pos[n + l] = first[l] + perm[l][d->pos[n + l] - first[l]];
    }
    kind                     = lanes == BCCOO_LANES ? DraftSlot(e, d, BCCOO_LANES, n) : DraftSlot(e, d, lanes, n);
    d->slots[head->nslots++] = (uint8_t)(lanes | kind);
    cost += kind ? COST_RUN : COST_SLOT;
    n += lanes;
  }
  for (PetscInt l = 0; l < (consecutive ? 1 : used); l++) d->rows[head->nrows++] = p->piece[piece[l]].row;
  d->groups[head->ngroups++] = (uint16_t)((consecutive ? BCCOO_GROUP_CONSECUTIVE : BCCOO_GROUP_LISTED) << 14 | nslots);
  return cost;
}

/* What it costs that lanes wait for each other in A^T u, in the slots from firstslot on, whose nonzeros begin at n */
static PetscInt WaitCost(const BCCOOLanesDraft *d, PetscInt firstslot, PetscInt n)
{
  PetscInt cost = 0;

  for (PetscInt s = firstslot; s < d->head.nslots; s++) {
    const PetscInt lanes = d->slots[s] & BCCOO_SLOT_LANES;

    for (PetscInt l = 1; l < lanes && !(d->slots[s] & BCCOO_SLOT_SAME); l++) cost += d->col[n + l] == d->col[n + l - 1] ? COST_WAIT : 0;
    n += lanes;
  }
  return cost;
}

/* Marks groups of full slots of one kind: products need not look at each of their slots */
static void MarkGroups(BCCOOLanesDraft *d)
{
  const uint8_t *slots = d->slots;

  for (PetscInt g = 0; g < d->head.ngroups; g++) {
    const unsigned kind = d->groups[g] >> 14, first = *slots;
    PetscBool      equal = PETSC_TRUE;

    for (const uint8_t *end = slots + (d->groups[g] & BCCOO_GROUP_SLOTS); slots < end; slots++) equal = (PetscBool)(equal && *slots == first);
    if (kind == BCCOO_GROUP_SINGLE || !equal) continue;
    if (first == BCCOO_LANES) d->groups[g] |= BCCOO_GROUP_GATHER;
    if (first == (BCCOO_LANES | BCCOO_SLOT_CONSECUTIVE)) d->groups[g] |= BCCOO_GROUP_LOAD;
  }
}

/*
  Keeps the flags of slots whose columns are consecutive or the same only if there are many: looking for a few costs more than it
  saves. False if there are slots of runs, but these are not nearly all.
*/
static PetscBool MarkSlots(BCCOOLanesDraft *d, PetscBool hasruns)
{
  const PetscInt nslots  = d->head.nslots;
  PetscInt       nfollow = 0, nsame = 0;
  unsigned       keep = BCCOO_SLOT_LANES;

  for (PetscInt s = 0; s < nslots; s++) {
    nfollow += d->slots[s] & BCCOO_SLOT_CONSECUTIVE ? 1 : 0;
    nsame += d->slots[s] & BCCOO_SLOT_SAME ? 1 : 0;
  }
  if (nfollow * 4 >= nslots) keep |= BCCOO_SLOT_CONSECUTIVE;
  if (nsame * 8 >= nslots) keep |= BCCOO_SLOT_SAME;
  for (PetscInt s = 0; s < nslots; s++) d->slots[s] &= keep;
  MarkGroups(d);
  return (PetscBool)(!hasruns || nfollow * 16 >= nslots * 15);
}

/*
  Makes the groups of a chunk; returns their cost. A row becomes a group of its own if that costs less for each nonzero than the
  group of the rows that come next by length; in slots of runs, if its columns have runs. Whether the columns of the next rows are
  consecutive from row to row, or the same, is known only once their group is made; it may then be undone.
*/
static PetscInt DraftGroups(const BCCOOLanesEncoder *e, const BCCOOLanesPieces *p, BCCOOLanesDraft *d, PetscBool mayruns, PetscBool *mixed)
{
  BCCOOLanesChunk *head = &d->head;
  PetscInt         n = 0, cost = 0;
  PetscBool        hasruns = PETSC_FALSE;

  head->ngroups = head->nrows = head->nslots = 0;
  for (PetscInt q = 0; q < p->npieces;) {
    const uint16_t *piece   = d->order + q;
    const PetscInt  longest = p->piece[piece[0]].len, used = PetscMin(BCCOO_LANES, p->npieces - q), full = (longest + BCCOO_LANES - 1) / BCCOO_LANES;
    const PetscInt  ofruns = mayruns ? RunsCost(e, p, piece[0], full * COST_SLOT) : 0;
    const PetscBool runs   = (PetscBool)(mayruns && ofruns < full * COST_SLOT);
    const PetscInt  single = (runs ? ofruns : full * COST_SLOT) + COST_GROUP, best = longest * (runs ? COST_RUN : COST_SLOT) + COST_GROUP;
    PetscInt        sum = 0;

    for (PetscInt l = 0; l < used; l++) sum += p->piece[piece[l]].len;
    if (single * sum < best * longest) {
      cost += DraftSingle(e, p, d, piece[0], runs, n);
      hasruns = (PetscBool)(hasruns || runs);
      n += longest;
      q++;
    } else {
      const BCCOOLanesChunk before = *head;
      const PetscInt        rows   = DraftRows(e, p, d, piece, used, n);

      if (runs && single * sum < (rows + WaitCost(d, before.nslots, n)) * longest) {
        PetscInt k = n;

        *head   = before;
        hasruns = PETSC_TRUE;
        for (PetscInt l = 0; l < used; k += p->piece[piece[l++]].len) cost += DraftSingle(e, p, d, piece[l], PETSC_TRUE, k);
      } else cost += rows;
      n += sum;
      q += used;
    }
  }
  *mixed = (PetscBool)!MarkSlots(d, hasruns);
  return cost;
}

static void DraftPairs(const BCCOOLanesEncoder *e, const BCCOOLanesPieces *p, BCCOOLanesDraft *d)
{
  BCCOOLanesChunk *head = &d->head;

  head->ngroups = head->nslots = head->nrows = 0;
  for (PetscInt q = 0; q < p->npieces; q++) {
    for (PetscInt k = 0; k < p->piece[q].len; k++) {
      const PetscInt n = head->nrows++;

      d->rows[n] = p->piece[q].row;
      d->pos[n]  = BCCOOOrderGetPlace(e->order, e->csr, p->first + p->piece[q].row, p->piece[q].pos + k);
      d->col[n]  = e->csr->j[d->pos[n]];
    }
  }
}

static inline PetscInt IsFar(PetscInt step)
{
  return (step > BCCOO_LANES) | (step < -BCCOO_LANES);
}

/*
  Estimated cycles of a chunk in A^T u. Sums that are added lane by lane cost per lane: more where the lane before has the same
  column, and more where its column is far away and the chunk has more columns than the first-level cache holds. Slots of
  consecutive columns cost per slot.
*/
static uint16_t TransposedCost(const BCCOOLanesPieces *p, const BCCOOLanesDraft *d)
{
  const BCCOOLanesChunk *head = &d->head;
  const PetscInt         n = p->n, *col = d->col;
  PetscInt               cost = 100 + 12 * head->ngroups, nsame = 0, nfar = 0;

  /* one loop over all nonzeros; then what was counted between slots, and in slots of one column, is subtracted */
  for (PetscInt k = 1; k < n; k++) {
    nsame += col[k] == col[k - 1];
    nfar += IsFar(col[k] - col[k - 1]);
  }
  if (head->pairs) cost += 2 * n;
  for (PetscInt s = 0, k = 0; s < head->nslots; k += d->slots[s++] & BCCOO_SLOT_LANES) {
    const PetscInt lanes = d->slots[s] & BCCOO_SLOT_LANES;

    if (k > 0) {
      nsame -= col[k] == col[k - 1];
      nfar -= IsFar(col[k] - col[k - 1]);
    }
    if (d->slots[s] & BCCOO_SLOT_SAME) nsame -= lanes - 1;
    cost += BCCOOSlotColumns(d->slots[s]) == 1 ? 6 : 4 + 3 * lanes / 2;
  }
  cost += nsame * COST_HIDDEN;
  if ((p->colhi - p->collo) * sizeof(PetscScalar) > FIRST_CACHE) cost += nfar * COST_FAR;
  return (uint16_t)PetscMin(cost, UINT16_MAX);
}

/* Reduces col[] to the columns that are stored: one for a slot whose columns are consecutive or the same; returns how many there are */
static PetscInt DraftColumns(BCCOOLanesDraft *d, PetscInt n)
{
  PetscInt ncolumns = 0;

  if (d->head.pairs) return n;
  for (PetscInt k = 0, slot = 0; k < n; slot++) {
    const PetscInt lanes = d->slots[slot] & BCCOO_SLOT_LANES;

    for (PetscInt l = 0; l < (PetscInt)BCCOOSlotColumns(d->slots[slot]); l++) d->col[ncolumns++] = d->col[k + l];
    k += lanes;
  }
  return ncolumns;
}

static PetscBool HasWholeRows(const BCCOOLanesEncoder *e, const BCCOOLanesPieces *p)
{
  const PetscInt *i      = e->csr->i + p->first;
  PetscInt        differ = 0;

  for (PetscInt q = 0; q < p->npieces; q++) differ |= (p->piece[q].pos ^ i[p->piece[q].row]) | (p->piece[q].len ^ (i[p->piece[q].row + 1] - p->piece[q].pos));
  return (PetscBool)!differ;
}

/* Makes a chunk of the pieces and writes it to data; returns its bytes */
size_t BCCOOLanesWriteChunk(const BCCOOLanesEncoder *e, BCCOOLanesPieces *p, PetscBool carry, BCCOOLanesDraft *d, unsigned char *data)
{
  BCCOOLanesChunk  *head = &d->head;
  BCCOOLanesStreams s;
  unsigned char    *end;
  PetscInt          cost;
  PetscBool         mixed;

  memset(head, 0, sizeof(*head));
  head->row   = p->first;
  head->col   = p->collo;
  head->span  = (uint32_t)p->piece[p->npieces - 1].row + 1;
  head->n     = (uint16_t)p->n;
  head->wide  = p->colhi - p->collo > UINT16_MAX;
  head->carry = carry;
  OrderPieces(p, d);
  cost = DraftGroups(e, p, d, PETSC_TRUE, &mixed);
  if (mixed) cost = DraftGroups(e, p, d, PETSC_FALSE, &mixed); /* branches would be hard to predict with some slots of runs among others */
  if (cost > p->n * COST_PAIR) {
    head->pairs = 1;
    DraftPairs(e, p, d);
  } else head->whole = HasWholeRows(e, p);
  head->cost = TransposedCost(p, d);
  BCCOOLanesTakeValues(e->csr->a, p->n, d->pos, d->value);
  head->values = (uint8_t)BCCOOLanesChooseValues(e, p->n, d->value, d->code, d->own, &d->nown);
  head->ntable = (uint16_t)d->nown;
  memset(data, 0, BCCOO_LANES_HEAD);
  memcpy(data, head, sizeof(*head));
  s = BCCOOLanesGetStreams((const BCCOOLanesChunk *)data);
  memcpy((void *)s.table, d->own, d->nown * sizeof(PetscScalar));
  BCCOOLanesWriteValues(head->values, p->n, d->value, d->code, (void *)s.values);
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
