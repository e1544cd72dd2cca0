/* Coding simd: makes one chunk: groups its nonzeros into steps and these into slices, and writes its streams */
#include "encoder.h"

/* Sorts the pieces by falling length; the sort is stable */
static void OrderPieces(const BCCOOSIMDPieces *p, BCCOOSIMDDraft *d)
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

/* Reads the columns of a step from the CSR; returns the step's flag: whether they are consecutive or the same */
static inline unsigned DraftStep(const BCCOOSIMDEncoder *e, BCCOOSIMDDraft *d, unsigned lanes, PetscInt n)
{
  const PetscInt *pos  = d->pos + n;
  PetscInt       *col  = d->col + n;
  PetscInt        jump = 0, other = 0;

  col[0] = e->csr->j[pos[0]];
  for (unsigned l = 1; l < lanes; l++) {
    col[l] = e->csr->j[pos[l]];
    jump |= (col[l] - (PetscInt)l) ^ col[0];
    other |= col[l] ^ col[0];
  }
  return lanes == 1 ? 0 : jump == 0 ? BCCOO_STEP_CONSECUTIVE : other == 0 ? BCCOO_STEP_SAME : 0;
}

/* Length, up to eight, of the run of consecutive columns at place pos of a row; at most len nonzeros are left */
static inline unsigned RunLanes(const BCCOOSIMDEncoder *e, PetscInt pos, PetscInt len)
{
  const PetscInt *j     = e->csr->j;
  unsigned        lanes = 1;

  while (lanes < BCCOO_SIMD_LANES && (PetscInt)lanes < len && j[pos + lanes] == j[pos] + (PetscInt)lanes) lanes++;
  return lanes;
}

/* Cost of a row in steps of runs, at most limit. A step is assumed to be mispredicted unless it has as many lanes as the step two before it. */
static PetscInt RunsCost(const BCCOOSIMDEncoder *e, const BCCOOSIMDPieces *p, PetscInt piece, PetscInt limit)
{
  unsigned before[2] = {0, 0};
  PetscInt cost      = 0;

  for (PetscInt k = 0; k < p->piece[piece].len && cost < limit;) {
    const unsigned lanes = RunLanes(e, p->piece[piece].pos + k, p->piece[piece].len - k);

    cost += lanes == before[0] ? COST_RUN : COST_RUN + COST_CHANGE;
    before[0] = before[1];
    before[1] = lanes;
    k += lanes;
  }
  return PetscMin(cost, limit);
}

/* Makes a slice of one row, from nonzero n of the chunk on, in steps of eight nonzeros or of runs; returns its cost */
static PetscInt DraftSingle(const BCCOOSIMDEncoder *e, const BCCOOSIMDPieces *p, BCCOOSIMDDraft *d, PetscInt piece, PetscBool runs, PetscInt n)
{
  BCCOOSIMDChunk *head = &d->head;
  const PetscInt  row = p->first + p->piece[piece].row, len = p->piece[piece].len, before = head->nsteps;

  for (PetscInt k = 0; k < len; k++) d->pos[n + k] = p->piece[piece].pos + k;
  for (PetscInt k = 0; k < len;) {
    const unsigned lanes = runs ? RunLanes(e, p->piece[piece].pos + k, len - k) : (unsigned)PetscMin(BCCOO_SIMD_LANES, len - k);
    const unsigned kind  = DraftStep(e, d, lanes, n + k);

    /* never BCCOO_STEP_SAME: rows that have the same column several times are too rare */
    d->steps[head->nsteps++] = (uint8_t)(lanes | (runs ? BCCOO_STEP_CONSECUTIVE : kind & BCCOO_STEP_CONSECUTIVE));
    k += lanes;
  }
  d->rows[head->nrows++]     = (uint16_t)(row - head->row);
  d->slices[head->nslices++] = (uint16_t)(BCCOO_SLICE_SINGLE << 14 | (head->nsteps - before));
  return (head->nsteps - before) * (runs ? COST_RUN : COST_STEP) + COST_SLICE;
}

/* Makes a slice of several rows, from nonzero n of the chunk on; returns its cost */
static PetscInt DraftRows(const BCCOOSIMDEncoder *e, const BCCOOSIMDPieces *p, BCCOOSIMDDraft *d, const uint16_t piece[], PetscInt used, PetscInt n)
{
  BCCOOSIMDChunk *head        = &d->head;
  const PetscInt  nsteps      = p->piece[piece[0]].len;
  unsigned        lanes       = (unsigned)used;
  PetscBool       consecutive = PETSC_TRUE;
  PetscInt        cost, pos[BCCOO_SIMD_LANES] = {0};

  for (PetscInt l = 0; l < used; l++) {
    pos[l] = p->piece[piece[l]].pos;
    if (p->piece[piece[l]].row != p->piece[piece[0]].row + l) consecutive = PETSC_FALSE;
  }
  cost = consecutive ? COST_NEXT : COST_SLICE;
  for (PetscInt k = 0; k < nsteps; k++) {
    unsigned kind;

    while (p->piece[piece[lanes - 1]].len <= k) lanes--;
    for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++) d->pos[n + l] = pos[l] + k;
    kind                     = lanes == BCCOO_SIMD_LANES ? DraftStep(e, d, BCCOO_SIMD_LANES, n) : DraftStep(e, d, lanes, n);
    d->steps[head->nsteps++] = (uint8_t)(lanes | kind);
    cost += kind ? COST_RUN : COST_STEP;
    n += lanes;
  }
  for (PetscInt l = 0; l < (consecutive ? 1 : used); l++) d->rows[head->nrows++] = p->piece[piece[l]].row;
  d->slices[head->nslices++] = (uint16_t)((consecutive ? BCCOO_SLICE_CONSECUTIVE : BCCOO_SLICE_LISTED) << 14 | nsteps);
  return cost;
}

/* Cost of lanes that wait for each other in A^T u, in the steps from firststep on, whose nonzeros begin at n */
static PetscInt WaitCost(const BCCOOSIMDDraft *d, PetscInt firststep, PetscInt n)
{
  PetscInt cost = 0;

  for (PetscInt s = firststep; s < d->head.nsteps; s++) {
    const PetscInt lanes = d->steps[s] & BCCOO_STEP_LANES;

    for (PetscInt l = 1; l < lanes && !(d->steps[s] & BCCOO_STEP_SAME); l++) cost += d->col[n + l] == d->col[n + l - 1] ? COST_WAIT : 0;
    n += lanes;
  }
  return cost;
}

/* Marks slices in which all steps are full and of one kind, so that products need not read their steps */
static void MarkSlices(BCCOOSIMDDraft *d)
{
  const uint8_t *steps = d->steps;

  for (PetscInt g = 0; g < d->head.nslices; g++) {
    const unsigned kind = d->slices[g] >> 14, first = *steps;
    PetscBool      equal = PETSC_TRUE;

    for (const uint8_t *end = steps + (d->slices[g] & BCCOO_SLICE_STEPS); steps < end; steps++) equal = (PetscBool)(equal && *steps == first);
    if (kind == BCCOO_SLICE_SINGLE || !equal) continue;
    if (first == BCCOO_SIMD_LANES) d->slices[g] |= BCCOO_SLICE_GATHER;
    if (first == (BCCOO_SIMD_LANES | BCCOO_STEP_CONSECUTIVE)) d->slices[g] |= BCCOO_SLICE_LOAD;
  }
}

/*
  Keeps the flags of steps whose columns are consecutive or the same only if many steps have them: testing for a few costs more than it
  saves. Returns false if there are steps of runs, but fewer than 15/16 of all steps have consecutive columns.
*/
static PetscBool MarkSteps(BCCOOSIMDDraft *d, PetscBool hasruns)
{
  const PetscInt nsteps  = d->head.nsteps;
  PetscInt       nfollow = 0, nsame = 0;
  unsigned       keep = BCCOO_STEP_LANES;

  for (PetscInt s = 0; s < nsteps; s++) {
    nfollow += d->steps[s] & BCCOO_STEP_CONSECUTIVE ? 1 : 0;
    nsame += d->steps[s] & BCCOO_STEP_SAME ? 1 : 0;
  }
  if (nfollow * 4 >= nsteps) keep |= BCCOO_STEP_CONSECUTIVE;
  if (nsame * 8 >= nsteps) keep |= BCCOO_STEP_SAME;
  for (PetscInt s = 0; s < nsteps; s++) d->steps[s] &= keep;
  MarkSlices(d);
  return (PetscBool)(!hasruns || nfollow * 16 >= nsteps * 15);
}

/*
  Makes the slices of a chunk; returns their cost. A row becomes a slice of its own if that costs less per nonzero than a slice of this row
  and the next ones by length. Its steps are runs of consecutive columns if this costs less. Whether the lanes of a slice of several rows
  have consecutive columns, or the same, is known only after this slice has been made; it is undone if single rows cost less.
*/
static PetscInt DraftSlices(const BCCOOSIMDEncoder *e, const BCCOOSIMDPieces *p, BCCOOSIMDDraft *d, PetscBool mayruns, PetscBool *mixed)
{
  BCCOOSIMDChunk *head = &d->head;
  PetscInt        n = 0, cost = 0;
  PetscBool       hasruns = PETSC_FALSE;

  head->nslices = head->nrows = head->nsteps = 0;
  for (PetscInt q = 0; q < p->npieces;) {
    const uint16_t *piece   = d->order + q;
    const PetscInt  longest = p->piece[piece[0]].len, used = PetscMin(BCCOO_SIMD_LANES, p->npieces - q), full = (longest + BCCOO_SIMD_LANES - 1) / BCCOO_SIMD_LANES;
    const PetscInt  ofruns = mayruns ? RunsCost(e, p, piece[0], full * COST_STEP) : 0;
    const PetscBool runs   = (PetscBool)(mayruns && ofruns < full * COST_STEP);
    const PetscInt  single = (runs ? ofruns : full * COST_STEP) + COST_SLICE, best = longest * (runs ? COST_RUN : COST_STEP) + COST_SLICE;
    PetscInt        sum = 0;

    for (PetscInt l = 0; l < used; l++) sum += p->piece[piece[l]].len;
    if (single * sum < best * longest) {
      cost += DraftSingle(e, p, d, piece[0], runs, n);
      hasruns = (PetscBool)(hasruns || runs);
      n += longest;
      q++;
    } else {
      const BCCOOSIMDChunk before = *head;
      const PetscInt       rows   = DraftRows(e, p, d, piece, used, n);

      if (runs && single * sum < (rows + WaitCost(d, before.nsteps, n)) * longest) {
        PetscInt k = n;

        *head   = before;
        hasruns = PETSC_TRUE;
        for (PetscInt l = 0; l < used; k += p->piece[piece[l++]].len) cost += DraftSingle(e, p, d, piece[l], PETSC_TRUE, k);
      } else cost += rows;
      n += sum;
      q += used;
    }
  }
  *mixed = (PetscBool)!MarkSteps(d, hasruns);
  return cost;
}

static void DraftPairs(const BCCOOSIMDEncoder *e, const BCCOOSIMDPieces *p, BCCOOSIMDDraft *d)
{
  BCCOOSIMDChunk *head = &d->head;

  head->nslices = head->nsteps = head->nrows = 0;
  for (PetscInt q = 0; q < p->npieces; q++) {
    for (PetscInt k = 0; k < p->piece[q].len; k++) {
      const PetscInt n = head->nrows++;

      d->rows[n] = p->piece[q].row;
      d->pos[n]  = p->piece[q].pos + k;
      d->col[n]  = e->csr->j[d->pos[n]];
    }
  }
}

static inline PetscInt IsFar(PetscInt jump)
{
  return (jump > BCCOO_SIMD_LANES) | (jump < -BCCOO_SIMD_LANES);
}

/*
  Estimated cycles of a chunk in A^T u. Steps whose columns are consecutive or the same have a cost per step. In other steps sums are added
  lane by lane, at a cost per lane; it is higher if the lane before has the same column, and if its column is far away and the chunk has
  more columns than the first-level cache holds.
*/
static uint16_t TransposedCost(const BCCOOSIMDPieces *p, const BCCOOSIMDDraft *d)
{
  const BCCOOSIMDChunk *head = &d->head;
  const PetscInt        n = p->n, *col = d->col;
  PetscInt              cost = 100 + 12 * head->nslices, nsame = 0, nfar = 0;

  /* one loop counts over all nonzeros; the pairs between steps, and those in steps of one column, are then subtracted */
  for (PetscInt k = 1; k < n; k++) {
    nsame += col[k] == col[k - 1];
    nfar += IsFar(col[k] - col[k - 1]);
  }
  if (head->pairs) cost += 2 * n;
  for (PetscInt s = 0, k = 0; s < head->nsteps; k += d->steps[s++] & BCCOO_STEP_LANES) {
    const PetscInt lanes = d->steps[s] & BCCOO_STEP_LANES;

    if (k > 0) {
      nsame -= col[k] == col[k - 1];
      nfar -= IsFar(col[k] - col[k - 1]);
    }
    if (d->steps[s] & BCCOO_STEP_SAME) nsame -= lanes - 1;
    cost += BCCOOStepColumns(d->steps[s]) == 1 ? 6 : 4 + 3 * lanes / 2;
  }
  cost += nsame * COST_HIDDEN;
  if ((p->colhi - p->collo) * sizeof(PetscScalar) > FIRST_CACHE) cost += nfar * COST_FAR;
  return (uint16_t)PetscMin(cost, UINT16_MAX);
}

/* Reduces col[] to the columns that are stored, one for a step whose columns are consecutive or the same; returns their number */
static PetscInt DraftColumns(BCCOOSIMDDraft *d, PetscInt n)
{
  PetscInt ncolumns = 0;

  if (d->head.pairs) return n;
  for (PetscInt k = 0, step = 0; k < n; step++) {
    const PetscInt lanes = d->steps[step] & BCCOO_STEP_LANES;

    for (PetscInt l = 0; l < (PetscInt)BCCOOStepColumns(d->steps[step]); l++) d->col[ncolumns++] = d->col[k + l];
    k += lanes;
  }
  return ncolumns;
}

static PetscBool HasWholeRows(const BCCOOSIMDEncoder *e, const BCCOOSIMDPieces *p)
{
  const PetscInt *i      = e->csr->i + p->first;
  PetscInt        differ = 0;

  for (PetscInt q = 0; q < p->npieces; q++) differ |= (p->piece[q].pos ^ i[p->piece[q].row]) | (p->piece[q].len ^ (i[p->piece[q].row + 1] - p->piece[q].pos));
  return (PetscBool)!differ;
}

/*
  Whether A^T u lists all products of the chunk before it adds them. It does if many lanes have the same column as the lane before, so that
  sums would wait for each other; and if there are steps of one column, so that the additions need no branch for the kind of step.
*/
static PetscBool IsDeferred(const BCCOOSIMDDraft *d)
{
  PetscInt n = 0, nwait = 0;
  unsigned any = 0;

  for (PetscInt s = 0; s < d->head.nsteps; s++) {
    const PetscInt lanes = d->steps[s] & BCCOO_STEP_LANES;

    any |= d->steps[s];
    for (PetscInt l = 1; l < lanes; l++) nwait += d->col[n + l] == d->col[n + l - 1];
    n += lanes;
  }
  return (PetscBool)(!(any & BCCOO_STEP_CONSECUTIVE) && (any & BCCOO_STEP_SAME || nwait * 8 >= n * 3));
}

/* Makes a chunk from the pieces and writes it to data; returns its size in bytes */
size_t BCCOOSIMDWriteChunk(const BCCOOSIMDEncoder *e, BCCOOSIMDPieces *p, PetscBool carry, BCCOOSIMDDraft *d, unsigned char *data)
{
  BCCOOSIMDChunk  *head = &d->head;
  BCCOOSIMDStreams s;
  unsigned char   *end;
  PetscInt         cost;
  PetscBool        mixed;

  memset(head, 0, sizeof(*head));
  head->row   = p->first;
  head->col   = p->collo;
  head->span  = (uint32_t)p->piece[p->npieces - 1].row + 1;
  head->n     = (uint16_t)p->n;
  head->wide  = p->colhi - p->collo > UINT16_MAX;
  head->carry = carry;
  OrderPieces(p, d);
  cost = DraftSlices(e, p, d, PETSC_TRUE, &mixed);
  if (mixed) cost = DraftSlices(e, p, d, PETSC_FALSE, &mixed); /* branches would be hard to predict with a mixture of runs and other steps */
  if (cost > p->n * COST_PAIR) {
    head->pairs = 1;
    DraftPairs(e, p, d);
  } else {
    head->whole    = HasWholeRows(e, p);
    head->deferred = IsDeferred(d);
  }
  head->cost = TransposedCost(p, d);
  BCCOOSIMDTakeValues(e->csr->a, p->n, d->pos, d->value);
  head->values = (uint8_t)BCCOOSIMDChooseValues(e, p->n, d->value, d->code, d->own, &d->nown);
  head->ntable = (uint16_t)d->nown;
  memset(data, 0, BCCOO_SIMD_HEAD);
  memcpy(data, head, sizeof(*head));
  s = BCCOOSIMDGetStreams((const BCCOOSIMDChunk *)data);
  memcpy((void *)s.table, d->own, d->nown * sizeof(PetscScalar));
  BCCOOSIMDWriteValues(head->values, p->n, d->value, d->code, (void *)s.values);
  memcpy((void *)s.slices, d->slices, head->nslices * sizeof(*d->slices));
  memcpy((void *)s.rows, d->rows, head->nrows * sizeof(*d->rows));
  memcpy((void *)s.steps, d->steps, head->nsteps * sizeof(*d->steps));
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
  head->bytes = (uint32_t)BCCOORound(end - data, BCCOO_SIMD_ALIGN);
  memcpy(data, head, sizeof(*head));
  p->n = p->npieces = 0;
  return head->bytes;
}
