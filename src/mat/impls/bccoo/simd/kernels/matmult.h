/*
  The products of one chunk with dense matrices, written for the vector V8 of mult.h, which must be included before, and

    V8StoreWhole(p, v)     stores a vector that is read again as a whole, not by lanes
    V8Keep(v, lanes)       sets unused lanes to 0
    V8Transpose(r)         transposes eight vectors
    V4, V4Set(a), V4Load(p), V4Store(p, v), V4Add(a, b), V4Fma(a, b, c)    a vector of four scalars; likewise V2
    V4Low(v), V4Widen(v)   the first half of a V8; a V8 whose first half is v and whose other half may be anything finite

  There are two sets of kernels.

  Packed operands: the entries of a row of a panel, of 2, 4, 8 or 16 columns, are stored side by side; in double precision eight of them are a
  cache line.

                work of a thread for a nonzero                                          bytes, double precision
    A X         sum of its row += value (broadcast) times row of X                      8 panel read
    A^T U       row of V += value (broadcast) times row of U, which is in a register    8 panel read and written

  The sums of a slice's eight rows, or their rows of U, are in registers; sums are added to y, packed as well, once per slice. Eight values
  are decoded at a time for 16 to 128 multiplications, so that their coding need not be a constant. The width of the panel is a constant,
  and all loops are unrolled; otherwise compilers would keep the sums in memory.

  Columns: operands are not packed. A step takes a load of x and a multiplication for each column of X, as in the products with one vector.
  If the columns and the rows of steps are consecutive, as in stencils, this takes as many instructions as packed operands, and nothing is
  packed or unpacked. Other steps gather; there should be few of them.
*/

/* For steps with the same column in all lanes: this column, eight times */
typedef union {
  uint16_t two[BCCOO_SIMD_LANES];
  uint32_t four[BCCOO_SIMD_LANES];
} SameColumns;

typedef struct {
  unsigned    lanes;
  PetscBool   follow; /* its columns are consecutive: c is the first ... */
  const void *c;      /* ... otherwise one for each lane */
  V8          v;      /* its values */
} Step;

/* Returns the next step and advances p; same is memory for its columns */
V8_INLINE Step NextStep(PetscBool wide, int values, const V8Table *t, const BCCOOSIMDStreams *s, Place *p, SameColumns *same)
{
  const unsigned step = *p->steps++;
  const Step     next = {step & BCCOO_STEP_LANES, (PetscBool)((step & BCCOO_STEP_CONSECUTIVE) != 0), step & BCCOO_STEP_SAME ? same : p->c, V8Values(t, values, s, p->k, step & BCCOO_STEP_LANES)};

  if (step & BCCOO_STEP_SAME) {
    for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++) {
      if (wide) same->four[l] = *(const uint32_t *)p->c;
      else same->two[l] = *(const uint16_t *)p->c;
    }
  }
  p->c = ColumnSkip(wide, p->c, BCCOOStepColumns(step));
  p->k += next.lanes;
  return next;
}

/* Row of lane l of a slice */
V8_INLINE size_t SliceRow(unsigned kind, const uint16_t *rows, unsigned l)
{
  return kind == BCCOO_SLICE_SINGLE ? rows[0] : kind == BCCOO_SLICE_CONSECUTIVE ? (PetscCount)rows[0] + l : rows[l];
}

/* A row of a packed panel of 2, 4, 8 or 16 columns */
typedef struct {
  V2 two;
  V4 four;
  V8 eight[2];
} Row;

/* Rows change in place: plain C would copy all members, also those that a panel does not have */
V8_INLINE void RowZero(PetscInt panel, Row *r)
{
  if (panel == 2) r->two = V2Set(0.0);
  else if (panel == 4) r->four = V4Set(0.0);
  else {
    r->eight[0] = V8Zero();
    if (panel > BCCOO_PANEL) r->eight[1] = V8Zero();
  }
}

V8_INLINE void RowLoad(PetscInt panel, const PetscScalar *p, Row *r)
{
  if (panel == 2) r->two = V2Load(p);
  else if (panel == 4) r->four = V4Load(p);
  else {
    r->eight[0] = V8Load(p, BCCOO_SIMD_LANES);
    if (panel > BCCOO_PANEL) r->eight[1] = V8Load(p + BCCOO_PANEL, BCCOO_SIMD_LANES);
  }
}

/* a += b */
V8_INLINE void RowAdd(PetscInt panel, Row *a, const Row *b)
{
  if (panel == 2) a->two = V2Add(a->two, b->two);
  else if (panel == 4) a->four = V4Add(a->four, b->four);
  else {
    a->eight[0] = V8Add(a->eight[0], b->eight[0]);
    if (panel > BCCOO_PANEL) a->eight[1] = V8Add(a->eight[1], b->eight[1]);
  }
}

/* y += a times the row at x */
V8_INLINE void RowFma(PetscInt panel, PetscScalar a, const PetscScalar *x, Row *y)
{
  if (panel == 2) y->two = V2Fma(V2Set(a), V2Load(x), y->two);
  else if (panel == 4) y->four = V4Fma(V4Set(a), V4Load(x), y->four);
  else {
    y->eight[0] = V8Fma(V8Set(a), V8Load(x, BCCOO_SIMD_LANES), y->eight[0], BCCOO_SIMD_LANES);
    if (panel > BCCOO_PANEL) y->eight[1] = V8Fma(V8Set(a), V8Load(x + BCCOO_PANEL, BCCOO_SIMD_LANES), y->eight[1], BCCOO_SIMD_LANES);
  }
}

/* The row at p += a */
V8_INLINE void RowAddTo(PetscInt panel, PetscScalar *p, const Row *a)
{
  if (panel == 2) V2Store(p, V2Add(V2Load(p), a->two));
  else if (panel == 4) V4Store(p, V4Add(V4Load(p), a->four));
  else {
    V8StoreWhole(p, V8Add(V8Load(p, BCCOO_SIMD_LANES), a->eight[0]));
    if (panel > BCCOO_PANEL) V8StoreWhole(p + BCCOO_PANEL, V8Add(V8Load(p + BCCOO_PANEL, BCCOO_SIMD_LANES), a->eight[1]));
  }
}

/* The row at p += a x */
V8_INLINE void RowFmaTo(PetscInt panel, PetscScalar *p, PetscScalar a, const Row *x)
{
  if (panel == 2) V2Store(p, V2Fma(V2Set(a), x->two, V2Load(p)));
  else if (panel == 4) V4Store(p, V4Fma(V4Set(a), x->four, V4Load(p)));
  else {
    V8StoreWhole(p, V8Fma(V8Set(a), x->eight[0], V8Load(p, BCCOO_SIMD_LANES), BCCOO_SIMD_LANES));
    if (panel > BCCOO_PANEL) V8StoreWhole(p + BCCOO_PANEL, V8Fma(V8Set(a), x->eight[1], V8Load(p + BCCOO_PANEL, BCCOO_SIMD_LANES), BCCOO_SIMD_LANES));
  }
}

/*
  The number of lanes of a step is hard to predict, and a mispredicted branch takes as long as several nonzeros. Steps with fewer than eight
  lanes are therefore processed as if they had eight: unused lanes have value 0 and multiply a row of zeros. In slices of one row the
  lengths of runs are often periodic and predicted well: unused lanes are then left out.
*/
static const PetscScalar NoRow[2 * BCCOO_PANEL];

V8_INLINE void MultDenseStep(unsigned lanes, PetscBool follow, PetscBool leaveout, PetscBool wide, PetscInt panel, const PetscScalar v[], const void *c, const PetscScalar *x, Row acc[])
{
  const PetscScalar *x0 = follow ? x + ColumnAt(wide, c, 0) * panel : x;

  V8_UNROLL()
  for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++) {
    const PetscScalar *at  = x0 + (follow ? l : ColumnAt(wide, c, l)) * panel;
    const PetscScalar *row = l < lanes || leaveout ? at : NoRow;

    if (l < lanes || !leaveout) RowFma(panel, v[l], row, &acc[l]);
  }
}

/* Adds the sums of a slice to its rows */
V8_INLINE void AddSlice(PetscInt panel, unsigned kind, const uint16_t *rows, unsigned used, Row a[], PetscScalar *y)
{
  if (kind == BCCOO_SLICE_SINGLE) {
    V8_UNROLL()
    for (unsigned l = 0; l < 4; l++) RowAdd(panel, &a[l], &a[l + 4]);
    RowAdd(panel, &a[0], &a[2]);
    RowAdd(panel, &a[1], &a[3]);
    RowAdd(panel, &a[0], &a[1]);
    RowAddTo(panel, y + (size_t)rows[0] * panel, &a[0]);
  } else {
    V8_UNROLL()
    for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++)
      if (l < used) RowAddTo(panel, y + SliceRow(kind, rows, l) * panel, &a[l]);
  }
}

V8_INLINE void MultDenseSlices(const BCCOOSIMDChunk *chunk, PetscBool wide, int values, const PetscScalar *table, PetscInt panel, const PetscScalar *PETSC_RESTRICT x, PetscScalar *PETSC_RESTRICT y)
{
  const BCCOOSIMDStreams s     = BCCOOSIMDGetStreams(chunk);
  const V8Table          t     = V8TableLoad(table, values, &s);
  Place                  p     = PlaceStart(&s);
  Ahead                  ahead = AheadStart(chunk, chunk->nsteps);

  for (unsigned g = 0; g < chunk->nslices; g++) {
    const unsigned kind = s.slices[g] >> 14, nsteps = s.slices[g] & BCCOO_SLICE_STEPS, used = SliceLanes(kind, *p.steps);
    Row            acc[BCCOO_SIMD_LANES];

    V8_UNROLL()
    for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++) RowZero(panel, &acc[l]);
    AheadPrefetch(&ahead, nsteps);
    for (const uint8_t *end = p.steps + nsteps; p.steps < end;) {
      SameColumns same;
      const Step  step = NextStep(wide, values, &t, &s, &p, &same);
      PetscScalar v[BCCOO_SIMD_LANES];

      V8Store(v, V8Keep(step.v, step.lanes), BCCOO_SIMD_LANES);
      if (step.lanes == BCCOO_SIMD_LANES && !step.follow) MultDenseStep(BCCOO_SIMD_LANES, PETSC_FALSE, PETSC_FALSE, wide, panel, v, step.c, x, acc);
      else if (kind == BCCOO_SLICE_SINGLE && step.follow) MultDenseStep(step.lanes, PETSC_TRUE, PETSC_TRUE, wide, panel, v, step.c, x, acc);
      else if (step.follow) MultDenseStep(step.lanes, PETSC_TRUE, PETSC_FALSE, wide, panel, v, step.c, x, acc);
      else MultDenseStep(step.lanes, PETSC_FALSE, PETSC_FALSE, wide, panel, v, step.c, x, acc);
    }
    AddSlice(panel, kind, p.rows, used, acc, y);
    p.rows += SliceRows(kind, used);
  }
}

V8_INLINE void MultDensePairs(const BCCOOSIMDChunk *chunk, PetscBool wide, int values, const PetscScalar *table, PetscInt panel, const PetscScalar *PETSC_RESTRICT x, PetscScalar *PETSC_RESTRICT y)
{
  const BCCOOSIMDStreams s = BCCOOSIMDGetStreams(chunk);
  const V8Table          t = V8TableLoad(table, values, &s);
  PetscScalar            v[BCCOO_SIMD_LANES];

  for (size_t k = 0; k < chunk->n; k += BCCOO_SIMD_LANES) {
    const unsigned lanes = chunk->n - k < BCCOO_SIMD_LANES ? (unsigned)(chunk->n - k) : BCCOO_SIMD_LANES;

    V8Store(v, V8Values(&t, values, &s, k, lanes), BCCOO_SIMD_LANES);
    for (unsigned l = 0; l < lanes; l++) {
      Row r;

      RowLoad(panel, x + ColumnAt(wide, s.columns, k + l) * panel, &r);
      RowFmaTo(panel, y + (size_t)s.rows[k + l] * panel, v[l], &r);
    }
  }
}

V8_INLINE void MultTransposeDenseStep(unsigned lanes, PetscBool follow, PetscBool wide, PetscInt panel, const PetscScalar v[], const void *c, const Row u[], PetscScalar *w)
{
  PetscScalar *w0 = follow ? w + ColumnAt(wide, c, 0) * panel : w;

  V8_UNROLL()
  for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++)
    if (l < lanes) RowFmaTo(panel, w0 + (follow ? l : ColumnAt(wide, c, l)) * panel, v[l], &u[l]);
}

V8_INLINE void MultTransposeDenseSlices(const BCCOOSIMDChunk *chunk, PetscBool wide, int values, const PetscScalar *table, PetscInt panel, PetscBool hermitian, const PetscScalar *PETSC_RESTRICT u, PetscScalar *PETSC_RESTRICT w)
{
  const BCCOOSIMDStreams s     = BCCOOSIMDGetStreams(chunk);
  const V8Table          t     = V8TableLoad(table, values, &s);
  Place                  p     = PlaceStart(&s);
  Ahead                  ahead = AheadStart(chunk, chunk->nsteps);

  for (unsigned g = 0; g < chunk->nslices; g++) {
    const unsigned kind = s.slices[g] >> 14, nsteps = s.slices[g] & BCCOO_SLICE_STEPS, used = SliceLanes(kind, *p.steps);
    Row            ug[BCCOO_SIMD_LANES];

    V8_UNROLL()
    for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++) RowLoad(panel, l < used ? u + SliceRow(kind, p.rows, l) * panel : NoRow, &ug[l]);
    AheadPrefetch(&ahead, nsteps);
    for (const uint8_t *end = p.steps + nsteps; p.steps < end;) {
      SameColumns same;
      const Step  step = NextStep(wide, values, &t, &s, &p, &same);
      PetscScalar v[BCCOO_SIMD_LANES];

      V8Store(v, hermitian ? V8Conj(step.v) : step.v, BCCOO_SIMD_LANES);
      if (step.lanes == BCCOO_SIMD_LANES && !step.follow) MultTransposeDenseStep(BCCOO_SIMD_LANES, PETSC_FALSE, wide, panel, v, step.c, ug, w);
      else if (step.follow) MultTransposeDenseStep(step.lanes, PETSC_TRUE, wide, panel, v, step.c, ug, w);
      else MultTransposeDenseStep(step.lanes, PETSC_FALSE, wide, panel, v, step.c, ug, w);
    }
    p.rows += SliceRows(kind, used);
  }
}

V8_INLINE void MultTransposeDensePairs(const BCCOOSIMDChunk *chunk, PetscBool wide, int values, const PetscScalar *table, PetscInt panel, PetscBool hermitian, const PetscScalar *PETSC_RESTRICT u, PetscScalar *PETSC_RESTRICT w)
{
  const BCCOOSIMDStreams s = BCCOOSIMDGetStreams(chunk);
  const V8Table          t = V8TableLoad(table, values, &s);
  PetscScalar            v[BCCOO_SIMD_LANES];

  for (size_t k = 0; k < chunk->n; k += BCCOO_SIMD_LANES) {
    const unsigned lanes = chunk->n - k < BCCOO_SIMD_LANES ? (unsigned)(chunk->n - k) : BCCOO_SIMD_LANES;
    const V8       a     = V8Values(&t, values, &s, k, lanes);

    V8Store(v, hermitian ? V8Conj(a) : a, BCCOO_SIMD_LANES);
    for (unsigned l = 0; l < lanes; l++) {
      Row r;

      RowLoad(panel, u + (size_t)s.rows[k + l] * panel, &r);
      RowFmaTo(panel, w + ColumnAt(wide, s.columns, k + l) * panel, v[l], &r);
    }
  }
}

/*
  Packs n rows of up to K columns of X, for q = 0 the first eight columns of the panel, for q = 1 the others. Entries of a vector without a column
  become those of the last column: they are multiplied too, and raise no exception that it does not raise.
*/
V8_INLINE void PackVectors(PetscInt n, PetscInt K, const PetscScalar *X, PetscCount ldx, PetscInt panel, PetscInt q, PetscScalar *x)
{
  const PetscInt columns = panel == 4 ? 4 : BCCOO_PANEL;
  unsigned       lanes;

  for (PetscInt j = 0; j < n; j += (PetscInt)lanes) {
    V8 r[BCCOO_PANEL];

    lanes = n - j < BCCOO_SIMD_LANES ? (unsigned)(n - j) : BCCOO_SIMD_LANES;
    V8_UNROLL()
    for (PetscInt k = 0; k < BCCOO_PANEL; k++) {
      if (k && (k >= columns || k >= K)) r[k] = r[k - 1];
      else if (lanes == BCCOO_SIMD_LANES) r[k] = V8Load(X + j + k * ldx, BCCOO_SIMD_LANES);
      else r[k] = V8Load(X + j + k * ldx, lanes);
    }
    V8Transpose(r);
    V8_UNROLL()
    for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++)
      if (l < lanes) {
        if (panel == 4) V4Store(x + (PetscCount)(j + l) * 4, V4Low(r[l]));
        else V8StoreWhole(x + (PetscCount)(j + l) * panel + q * BCCOO_PANEL, r[l]);
      }
  }
}

/* The inverse of PackVectors() */
V8_INLINE void UnpackVectors(PetscInt n, PetscInt K, const PetscScalar *x, PetscInt panel, PetscInt q, PetscScalar *X, PetscCount ldx)
{
  unsigned lanes;

  for (PetscInt j = 0; j < n; j += (PetscInt)lanes) {
    V8 r[BCCOO_PANEL];

    lanes = n - j < BCCOO_SIMD_LANES ? (unsigned)(n - j) : BCCOO_SIMD_LANES;
    V8_UNROLL()
    for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++) {
      if (l >= lanes) r[l] = V8Zero();
      else if (panel == 4) r[l] = V4Widen(V4Load(x + (PetscCount)(j + l) * 4));
      else r[l] = V8Load(x + (PetscCount)(j + l) * panel + q * BCCOO_PANEL, BCCOO_SIMD_LANES);
    }
    V8Transpose(r);
    V8_UNROLL()
    for (PetscInt k = 0; k < BCCOO_PANEL; k++) {
      if (k >= K || (panel == 4 && k >= 4)) break;
      if (lanes == BCCOO_SIMD_LANES) V8StoreWhole(X + j + k * ldx, r[k]);
      else V8Store(X + j + k * ldx, r[k], lanes);
    }
  }
}

static void Pack(PetscInt n, PetscInt K, const PetscScalar *X, PetscCount ldx, PetscInt panel, PetscScalar *x)
{
  if (panel == 2) {
    for (PetscInt j = 0; j < n; j++) {
      x[2 * j]     = X[j];
      x[2 * j + 1] = X[j + ldx];
    }
  } else if (panel == 4) PackVectors(n, K, X, ldx, 4, 0, x);
  else {
    for (PetscInt q = 0; q < panel / BCCOO_PANEL; q++) PackVectors(n, K - q * BCCOO_PANEL, X + q * BCCOO_PANEL * ldx, ldx, panel, q, x);
  }
}

static void Unpack(PetscInt n, PetscInt K, const PetscScalar *x, PetscInt panel, PetscScalar *X, PetscCount ldx)
{
  if (panel == 2) {
    for (PetscInt j = 0; j < n; j++) {
      X[j]       = x[2 * j];
      X[j + ldx] = x[2 * j + 1];
    }
  } else if (panel == 4) UnpackVectors(n, K, x, 4, 0, X, ldx);
  else {
    for (PetscInt q = 0; q < panel / BCCOO_PANEL; q++) UnpackVectors(n, K - q * BCCOO_PANEL, x, panel, q, X + q * BCCOO_PANEL * ldx, ldx);
  }
}

/* Adds the products of one step to the sums acc */
V8_INLINE void MultColumnsStep(unsigned lanes, PetscBool follow, PetscBool wide, V8 v, const void *c, const PetscScalar *X, PetscCount ldx, V8 acc[])
{
  V8_UNROLL()
  for (PetscInt k = 0; k < BCCOO_PANEL; k++) acc[k] = V8Fma(v, follow ? V8Load(X + ColumnAt(wide, c, 0) + k * ldx, lanes) : GatherColumns(wide, X + k * ldx, c, lanes), acc[k], lanes);
}

V8_INLINE void MultColumnsSlices(const BCCOOSIMDChunk *chunk, PetscBool wide, int values, const PetscScalar *table, const PetscScalar *PETSC_RESTRICT X, PetscCount ldx, PetscScalar *PETSC_RESTRICT Y, PetscCount ldy)
{
  const BCCOOSIMDStreams s = BCCOOSIMDGetStreams(chunk);
  const V8Table          t = V8TableLoad(table, values, &s);
  Place                  p = PlaceStart(&s);

  for (unsigned g = 0; g < chunk->nslices; g++) {
    const unsigned kind = s.slices[g] >> 14, used = SliceLanes(kind, *p.steps);
    V8             acc[BCCOO_PANEL];

    V8_UNROLL()
    for (PetscInt k = 0; k < BCCOO_PANEL; k++) acc[k] = V8Zero();
    for (const uint8_t *end = p.steps + (s.slices[g] & BCCOO_SLICE_STEPS); p.steps < end;) {
      SameColumns same;
      const Step  step = NextStep(wide, values, &t, &s, &p, &same);

      if (step.lanes == BCCOO_SIMD_LANES && step.follow) MultColumnsStep(BCCOO_SIMD_LANES, PETSC_TRUE, wide, step.v, step.c, X, ldx, acc);
      else if (step.follow) MultColumnsStep(step.lanes, PETSC_TRUE, wide, step.v, step.c, X, ldx, acc);
      else MultColumnsStep(step.lanes, PETSC_FALSE, wide, step.v, step.c, X, ldx, acc);
    }
    V8_UNROLL()
    for (PetscInt k = 0; k < BCCOO_PANEL; k++) AddSums(kind, p.rows, used, acc[k], Y + k * ldy);
    p.rows += SliceRows(kind, used);
  }
}

V8_INLINE void MultTransposeColumnsStep(unsigned lanes, PetscBool follow, PetscBool wide, V8 v, const void *c, const V8 u[], PetscScalar *W, PetscCount ldw)
{
  V8_UNROLL()
  for (PetscInt k = 0; k < BCCOO_PANEL; k++) {
    if (follow) {
      PetscScalar *w = W + ColumnAt(wide, c, 0) + k * ldw;

      V8Store(w, V8Fma(v, u[k], V8Load(w, lanes), lanes), lanes);
    } else {
      AddListed(wide, c, 1, V8Mul(v, u[k], lanes), lanes, W + k * ldw);
    }
  }
}

V8_INLINE void MultTransposeColumnsSlices(const BCCOOSIMDChunk *chunk, PetscBool wide, int values, const PetscScalar *table, PetscBool hermitian, const PetscScalar *PETSC_RESTRICT U, PetscCount ldu, PetscScalar *PETSC_RESTRICT W, PetscCount ldw)
{
  const BCCOOSIMDStreams s = BCCOOSIMDGetStreams(chunk);
  const V8Table          t = V8TableLoad(table, values, &s);
  Place                  p = PlaceStart(&s);

  for (unsigned g = 0; g < chunk->nslices; g++) {
    const unsigned kind = s.slices[g] >> 14, used = SliceLanes(kind, *p.steps);
    V8             ug[BCCOO_PANEL];

    V8_UNROLL()
    for (PetscInt k = 0; k < BCCOO_PANEL; k++) ug[k] = SliceOperand(kind, p.rows, used, U + k * ldu);
    for (const uint8_t *end = p.steps + (s.slices[g] & BCCOO_SLICE_STEPS); p.steps < end;) {
      SameColumns same;
      const Step  step = NextStep(wide, values, &t, &s, &p, &same);
      const V8    v    = hermitian ? V8Conj(step.v) : step.v;

      if (step.lanes == BCCOO_SIMD_LANES && step.follow) MultTransposeColumnsStep(BCCOO_SIMD_LANES, PETSC_TRUE, wide, v, step.c, ug, W, ldw);
      else if (step.follow) MultTransposeColumnsStep(step.lanes, PETSC_TRUE, wide, v, step.c, ug, W, ldw);
      else MultTransposeColumnsStep(step.lanes, PETSC_FALSE, wide, v, step.c, ug, W, ldw);
    }
    p.rows += SliceRows(kind, used);
  }
}

#define DENSE_KINDS(F, ...) \
  { \
    const PetscScalar *values = chunk->values == BCCOO_VALUES_OWN ? BCCOOSIMDGetStreams(chunk).table : table; \
\
    if (chunk->wide) F(chunk, PETSC_TRUE, chunk->values, values, __VA_ARGS__); \
    else F(chunk, PETSC_FALSE, chunk->values, values, __VA_ARGS__); \
  }

/* Calls F for a panel of constant width */
#define PANELS(F, ...) \
  { \
    if (panel == 2) DENSE_KINDS(F, 2, __VA_ARGS__) \
    else if (panel == 4) DENSE_KINDS(F, 4, __VA_ARGS__) \
    else if (panel == BCCOO_PANEL) DENSE_KINDS(F, BCCOO_PANEL, __VA_ARGS__) \
    else DENSE_KINDS(F, 2 * BCCOO_PANEL, __VA_ARGS__) \
  }

static void MultDense(const BCCOOSIMDChunk *chunk, const PetscScalar *table, PetscInt panel, const PetscScalar *x, PetscScalar *y)
{
  if (chunk->pairs) PANELS(MultDensePairs, x, y)
  else PANELS(MultDenseSlices, x, y)
}

static void MultTransposeDense(const BCCOOSIMDChunk *chunk, const PetscScalar *table, PetscBool hermitian, PetscInt panel, const PetscScalar *u, PetscScalar *w)
{
  if (chunk->pairs) PANELS(MultTransposeDensePairs, hermitian, u, w)
  else PANELS(MultTransposeDenseSlices, hermitian, u, w)
}

static void MultColumns(const BCCOOSIMDChunk *chunk, const PetscScalar *table, const PetscScalar *X, PetscCount ldx, PetscScalar *Y, PetscCount ldy)
{
  if (chunk->pairs) {
    for (PetscInt k = 0; k < BCCOO_PANEL; k++) Mult(chunk, table, X + k * ldx, Y + k * ldy);
  } else DENSE_KINDS(MultColumnsSlices, X, ldx, Y, ldy)
}

static void MultTransposeColumns(const BCCOOSIMDChunk *chunk, const PetscScalar *table, PetscBool hermitian, const PetscScalar *U, PetscCount ldu, PetscScalar *W, PetscCount ldw)
{
  if (chunk->pairs) {
    for (PetscInt k = 0; k < BCCOO_PANEL; k++) MultTranspose(chunk, table, hermitian, U + k * ldu, 1, W + k * ldw);
  } else DENSE_KINDS(MultTransposeColumnsSlices, hermitian, U, ldu, W, ldw)
}

#define BCCOO_DENSE_KERNELS MultDense, MultTransposeDense, MultColumns, MultTransposeColumns, Pack, Unpack
