/*
  The products of one chunk with dense matrices, written for the vector V8 of mult.h, which must be included before, and

    V8StoreWhole(p, v)     stores a vector that is read again as a whole, not by lanes
    V8Keep(v, lanes)       sets unused lanes to 0
    V8Transpose(r)         transposes eight vectors

  There are two sets of kernels.

  Packed operands: the 8 or 16 entries of a row are stored side by side as nv = 1 or 2 vectors; in double precision a vector is a cache
  line.

                work of a thread for a nonzero                                          bytes
    A X         sum of its row += value (broadcast) times row of X                      64 nv read
    A^T U       row of V += value (broadcast) times row of U, which is in a register    64 nv read and written

  The sums of a slice's eight rows, or their rows of U, are in registers; sums are added to y, packed as well, once per slice. Eight values
  are decoded at a time for 64 or 128 multiplications, so that their coding need not be a constant. All loops over nv are unrolled;
  otherwise compilers would keep the sums in memory.

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

/* Vector q of a packed row of nv vectors */
V8_INLINE V8 LoadRow(const PetscScalar *x, unsigned nv, size_t row, unsigned q)
{
  return V8Load(x + (row * nv + q) * BCCOO_PANEL, BCCOO_SIMD_LANES);
}

/* row += v, row += a v */
V8_INLINE void AddToRow(PetscScalar *y, unsigned nv, size_t row, unsigned q, V8 v)
{
  V8StoreWhole(y + (row * nv + q) * BCCOO_PANEL, V8Add(LoadRow(y, nv, row, q), v));
}

V8_INLINE void FmaToRow(PetscScalar *y, unsigned nv, size_t row, unsigned q, V8 a, V8 v)
{
  V8StoreWhole(y + (row * nv + q) * BCCOO_PANEL, V8Fma(a, v, LoadRow(y, nv, row, q), BCCOO_SIMD_LANES));
}

/*
  The number of lanes of a step is hard to predict, and a mispredicted branch takes as long as several nonzeros. Steps with fewer than eight
  lanes are therefore processed as if they had eight: unused lanes have value 0 and multiply a row of zeros. In slices of one row the
  lengths of runs are often periodic and predicted well: unused lanes are then left out.
*/
static const PetscScalar NoRow[2 * BCCOO_PANEL];

V8_INLINE void MultDenseStep(unsigned lanes, PetscBool follow, PetscBool leaveout, PetscBool wide, unsigned nv, const PetscScalar v[], const void *c, const PetscScalar *x, V8 acc[][BCCOO_SIMD_LANES])
{
  const PetscScalar *x0 = follow ? x + ColumnAt(wide, c, 0) * nv * BCCOO_PANEL : x;

  V8_UNROLL()
  for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++) {
    const PetscScalar *at  = x0 + (follow ? l : ColumnAt(wide, c, l)) * nv * BCCOO_PANEL;
    const PetscScalar *row = l < lanes || leaveout ? at : NoRow;

    V8_UNROLL()
    for (unsigned q = 0; q < nv; q++) {
      if (l < lanes || !leaveout) acc[q][l] = V8Fma(V8Set(v[l]), V8Load(row + q * BCCOO_PANEL, BCCOO_SIMD_LANES), acc[q][l], BCCOO_SIMD_LANES);
    }
  }
}

/* Adds the sums of a slice to its rows */
V8_INLINE void AddSlice(unsigned nv, unsigned kind, const uint16_t *rows, unsigned used, V8 acc[][BCCOO_SIMD_LANES], PetscScalar *y)
{
  V8_UNROLL()
  for (unsigned q = 0; q < nv; q++) {
    const V8 *a = acc[q];

    if (kind == BCCOO_SLICE_SINGLE) {
      AddToRow(y, nv, rows[0], q, V8Add(V8Add(V8Add(a[0], a[4]), V8Add(a[2], a[6])), V8Add(V8Add(a[1], a[5]), V8Add(a[3], a[7]))));
    } else {
      V8_UNROLL()
      for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++)
        if (l < used) AddToRow(y, nv, SliceRow(kind, rows, l), q, a[l]);
    }
  }
}

V8_INLINE void MultDenseSlices(const BCCOOSIMDChunk *chunk, PetscBool wide, int values, const PetscScalar *table, unsigned nv, const PetscScalar *PETSC_RESTRICT x, PetscScalar *PETSC_RESTRICT y)
{
  const BCCOOSIMDStreams s     = BCCOOSIMDGetStreams(chunk);
  const V8Table          t     = V8TableLoad(table, values, &s);
  Place                  p     = PlaceStart(&s);
  Ahead                  ahead = AheadStart(chunk, chunk->nsteps);

  for (unsigned g = 0; g < chunk->nslices; g++) {
    const unsigned kind = s.slices[g] >> 14, nsteps = s.slices[g] & BCCOO_SLICE_STEPS, used = SliceLanes(kind, *p.steps);
    V8             acc[2][BCCOO_SIMD_LANES];

    V8_UNROLL()
    for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++) acc[0][l] = acc[1][l] = V8Zero();
    AheadPrefetch(&ahead, nsteps);
    for (const uint8_t *end = p.steps + nsteps; p.steps < end;) {
      SameColumns same;
      const Step  step = NextStep(wide, values, &t, &s, &p, &same);
      PetscScalar v[BCCOO_SIMD_LANES];

      V8Store(v, V8Keep(step.v, step.lanes), BCCOO_SIMD_LANES);
      if (step.lanes == BCCOO_SIMD_LANES && !step.follow) MultDenseStep(BCCOO_SIMD_LANES, PETSC_FALSE, PETSC_FALSE, wide, nv, v, step.c, x, acc);
      else if (kind == BCCOO_SLICE_SINGLE && step.follow) MultDenseStep(step.lanes, PETSC_TRUE, PETSC_TRUE, wide, nv, v, step.c, x, acc);
      else if (kind == BCCOO_SLICE_SINGLE) MultDenseStep(step.lanes, PETSC_FALSE, PETSC_TRUE, wide, nv, v, step.c, x, acc);
      else if (step.follow) MultDenseStep(step.lanes, PETSC_TRUE, PETSC_FALSE, wide, nv, v, step.c, x, acc);
      else MultDenseStep(step.lanes, PETSC_FALSE, PETSC_FALSE, wide, nv, v, step.c, x, acc);
    }
    AddSlice(nv, kind, p.rows, used, acc, y);
    p.rows += SliceRows(kind, used);
  }
}

V8_INLINE void MultDensePairs(const BCCOOSIMDChunk *chunk, PetscBool wide, int values, const PetscScalar *table, unsigned nv, const PetscScalar *PETSC_RESTRICT x, PetscScalar *PETSC_RESTRICT y)
{
  const BCCOOSIMDStreams s = BCCOOSIMDGetStreams(chunk);
  const V8Table          t = V8TableLoad(table, values, &s);
  PetscScalar            v[BCCOO_SIMD_LANES];

  for (size_t k = 0; k < chunk->n; k += BCCOO_SIMD_LANES) {
    const unsigned lanes = chunk->n - k < BCCOO_SIMD_LANES ? (unsigned)(chunk->n - k) : BCCOO_SIMD_LANES;

    V8Store(v, V8Values(&t, values, &s, k, lanes), BCCOO_SIMD_LANES);
    for (unsigned l = 0; l < lanes; l++) {
      V8_UNROLL()
      for (unsigned q = 0; q < nv; q++) FmaToRow(y, nv, s.rows[k + l], q, V8Set(v[l]), LoadRow(x, nv, ColumnAt(wide, s.columns, k + l), q));
    }
  }
}

V8_INLINE void MultTransposeDenseStep(unsigned lanes, PetscBool follow, PetscBool wide, unsigned nv, const PetscScalar v[], const void *c, const V8 u[][BCCOO_SIMD_LANES], PetscScalar *w)
{
  PetscScalar *w0 = follow ? w + ColumnAt(wide, c, 0) * nv * BCCOO_PANEL : w;

  V8_UNROLL()
  for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++)
    if (l < lanes) {
      const V8     a = V8Set(v[l]);
      const size_t j = follow ? l : ColumnAt(wide, c, l);

      V8_UNROLL()
      for (unsigned q = 0; q < nv; q++) FmaToRow(w0, nv, j, q, a, u[q][l]);
    }
}

V8_INLINE void MultTransposeDenseSlices(const BCCOOSIMDChunk *chunk, PetscBool wide, int values, const PetscScalar *table, unsigned nv, PetscBool hermitian, const PetscScalar *PETSC_RESTRICT u, PetscScalar *PETSC_RESTRICT w)
{
  const BCCOOSIMDStreams s     = BCCOOSIMDGetStreams(chunk);
  const V8Table          t     = V8TableLoad(table, values, &s);
  Place                  p     = PlaceStart(&s);
  Ahead                  ahead = AheadStart(chunk, chunk->nsteps);

  for (unsigned g = 0; g < chunk->nslices; g++) {
    const unsigned kind = s.slices[g] >> 14, nsteps = s.slices[g] & BCCOO_SLICE_STEPS, used = SliceLanes(kind, *p.steps);
    V8             ug[2][BCCOO_SIMD_LANES];

    V8_UNROLL()
    for (unsigned q = 0; q < nv; q++) {
      V8_UNROLL()
      for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++) ug[q][l] = l < used ? LoadRow(u, nv, SliceRow(kind, p.rows, l), q) : V8Zero();
    }
    AheadPrefetch(&ahead, nsteps);
    for (const uint8_t *end = p.steps + nsteps; p.steps < end;) {
      SameColumns same;
      const Step  step = NextStep(wide, values, &t, &s, &p, &same);
      PetscScalar v[BCCOO_SIMD_LANES];

      V8Store(v, hermitian ? V8Conj(step.v) : step.v, BCCOO_SIMD_LANES);
      if (step.lanes == BCCOO_SIMD_LANES && !step.follow) MultTransposeDenseStep(BCCOO_SIMD_LANES, PETSC_FALSE, wide, nv, v, step.c, ug, w);
      else if (step.follow) MultTransposeDenseStep(step.lanes, PETSC_TRUE, wide, nv, v, step.c, ug, w);
      else MultTransposeDenseStep(step.lanes, PETSC_FALSE, wide, nv, v, step.c, ug, w);
    }
    p.rows += SliceRows(kind, used);
  }
}

V8_INLINE void MultTransposeDensePairs(const BCCOOSIMDChunk *chunk, PetscBool wide, int values, const PetscScalar *table, unsigned nv, PetscBool hermitian, const PetscScalar *PETSC_RESTRICT u, PetscScalar *PETSC_RESTRICT w)
{
  const BCCOOSIMDStreams s = BCCOOSIMDGetStreams(chunk);
  const V8Table          t = V8TableLoad(table, values, &s);
  PetscScalar            v[BCCOO_SIMD_LANES];

  for (size_t k = 0; k < chunk->n; k += BCCOO_SIMD_LANES) {
    const unsigned lanes = chunk->n - k < BCCOO_SIMD_LANES ? (unsigned)(chunk->n - k) : BCCOO_SIMD_LANES;
    const V8       a     = V8Values(&t, values, &s, k, lanes);

    V8Store(v, hermitian ? V8Conj(a) : a, BCCOO_SIMD_LANES);
    for (unsigned l = 0; l < lanes; l++) {
      V8_UNROLL()
      for (unsigned q = 0; q < nv; q++) FmaToRow(w, nv, ColumnAt(wide, s.columns, k + l), q, V8Set(v[l]), LoadRow(u, nv, s.rows[k + l], q));
    }
  }
}

/*
  Packs n rows of up to K columns of X as the q-th vectors of packed rows. Entries of a vector without a column become those of the last column: they
  are multiplied too, and raise no exception that it does not raise.
*/
static void PackVectors(PetscInt n, PetscInt K, const PetscScalar *X, PetscCount ldx, unsigned nv, unsigned q, PetscScalar *x)
{
  unsigned lanes;

  for (PetscInt j = 0; j < n; j += (PetscInt)lanes) {
    V8 r[BCCOO_PANEL];

    lanes = n - j < BCCOO_SIMD_LANES ? (unsigned)(n - j) : BCCOO_SIMD_LANES;
    V8_UNROLL()
    for (PetscInt k = 0; k < BCCOO_PANEL; k++) {
      if (k && k >= K) r[k] = r[k - 1];
      else if (lanes == BCCOO_SIMD_LANES) r[k] = V8Load(X + j + k * ldx, BCCOO_SIMD_LANES);
      else r[k] = V8Load(X + j + k * ldx, lanes);
    }
    V8Transpose(r);
    V8_UNROLL()
    for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++)
      if (l < lanes) V8StoreWhole(x + ((PetscCount)(j + l) * nv + q) * BCCOO_PANEL, r[l]);
  }
}

/* The inverse of PackVectors() */
static void UnpackVectors(PetscInt n, PetscInt K, const PetscScalar *x, unsigned nv, unsigned q, PetscScalar *X, PetscCount ldx)
{
  unsigned lanes;

  for (PetscInt j = 0; j < n; j += (PetscInt)lanes) {
    V8 r[BCCOO_PANEL];

    lanes = n - j < BCCOO_SIMD_LANES ? (unsigned)(n - j) : BCCOO_SIMD_LANES;
    V8_UNROLL()
    for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++) r[l] = l < lanes ? LoadRow(x, nv, j + l, q) : V8Zero();
    V8Transpose(r);
    V8_UNROLL()
    for (PetscInt k = 0; k < BCCOO_PANEL; k++) {
      if (k >= K) break;
      if (lanes == BCCOO_SIMD_LANES) V8StoreWhole(X + j + k * ldx, r[k]);
      else V8Store(X + j + k * ldx, r[k], lanes);
    }
  }
}

static void Pack(PetscInt n, PetscInt K, const PetscScalar *X, PetscCount ldx, unsigned nv, PetscScalar *x)
{
  V8_UNROLL()
  for (unsigned q = 0; q < nv; q++) PackVectors(n, K - (PetscInt)q * BCCOO_PANEL, X + q * BCCOO_PANEL * ldx, ldx, nv, q, x);
}

static void Unpack(PetscInt n, PetscInt K, const PetscScalar *x, unsigned nv, PetscScalar *X, PetscCount ldx)
{
  V8_UNROLL()
  for (unsigned q = 0; q < nv; q++) UnpackVectors(n, K - (PetscInt)q * BCCOO_PANEL, x, nv, q, X + q * BCCOO_PANEL * ldx, ldx);
}

/* Adds the products of one step to the sums acc, for K <= BCCOO_PANEL columns */
V8_INLINE void MultColumnsStep(unsigned lanes, PetscBool follow, PetscBool wide, V8 v, const void *c, PetscInt K, const PetscScalar *X, PetscCount ldx, V8 acc[])
{
  V8_UNROLL()
  for (PetscInt k = 0; k < BCCOO_PANEL; k++) {
    if (k < K) acc[k] = V8Fma(v, follow ? V8Load(X + ColumnAt(wide, c, 0) + k * ldx, lanes) : GatherColumns(wide, X + k * ldx, c, lanes), acc[k], lanes);
  }
}

V8_INLINE void MultColumnsSlices(const BCCOOSIMDChunk *chunk, PetscBool wide, int values, const PetscScalar *table, PetscInt K, const PetscScalar *PETSC_RESTRICT X, PetscCount ldx, PetscScalar *PETSC_RESTRICT Y, PetscCount ldy)
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

      if (step.lanes == BCCOO_SIMD_LANES && step.follow) MultColumnsStep(BCCOO_SIMD_LANES, PETSC_TRUE, wide, step.v, step.c, K, X, ldx, acc);
      else if (step.follow) MultColumnsStep(step.lanes, PETSC_TRUE, wide, step.v, step.c, K, X, ldx, acc);
      else MultColumnsStep(step.lanes, PETSC_FALSE, wide, step.v, step.c, K, X, ldx, acc);
    }
    V8_UNROLL()
    for (PetscInt k = 0; k < BCCOO_PANEL; k++) {
      if (k < K) AddSums(kind, p.rows, used, acc[k], Y + k * ldy);
    }
    p.rows += SliceRows(kind, used);
  }
}

V8_INLINE void MultTransposeColumnsStep(unsigned lanes, PetscBool follow, PetscBool wide, V8 v, const void *c, PetscInt K, const V8 u[], PetscScalar *W, PetscCount ldw)
{
  V8_UNROLL()
  for (PetscInt k = 0; k < BCCOO_PANEL; k++) {
    if (k >= K) break;
    if (follow) {
      PetscScalar *w = W + ColumnAt(wide, c, 0) + k * ldw;

      V8Store(w, V8Fma(v, u[k], V8Load(w, lanes), lanes), lanes);
    } else {
      AddListed(wide, c, 1, V8Mul(v, u[k], lanes), lanes, W + k * ldw);
    }
  }
}

V8_INLINE void MultTransposeColumnsSlices(const BCCOOSIMDChunk *chunk, PetscBool wide, int values, const PetscScalar *table, PetscBool hermitian, PetscInt K, const PetscScalar *PETSC_RESTRICT U, PetscCount ldu, PetscScalar *PETSC_RESTRICT W,
                                          PetscCount ldw)
{
  const BCCOOSIMDStreams s = BCCOOSIMDGetStreams(chunk);
  const V8Table          t = V8TableLoad(table, values, &s);
  Place                  p = PlaceStart(&s);

  for (unsigned g = 0; g < chunk->nslices; g++) {
    const unsigned kind = s.slices[g] >> 14, used = SliceLanes(kind, *p.steps);
    V8             ug[BCCOO_PANEL];

    V8_UNROLL()
    for (PetscInt k = 0; k < BCCOO_PANEL; k++) ug[k] = k < K ? SliceOperand(kind, p.rows, used, U + k * ldu) : V8Zero();
    for (const uint8_t *end = p.steps + (s.slices[g] & BCCOO_SLICE_STEPS); p.steps < end;) {
      SameColumns same;
      const Step  step = NextStep(wide, values, &t, &s, &p, &same);
      const V8    v    = hermitian ? V8Conj(step.v) : step.v;

      if (step.lanes == BCCOO_SIMD_LANES && step.follow) MultTransposeColumnsStep(BCCOO_SIMD_LANES, PETSC_TRUE, wide, v, step.c, K, ug, W, ldw);
      else if (step.follow) MultTransposeColumnsStep(step.lanes, PETSC_TRUE, wide, v, step.c, K, ug, W, ldw);
      else MultTransposeColumnsStep(step.lanes, PETSC_FALSE, wide, v, step.c, K, ug, W, ldw);
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

static void MultDense(const BCCOOSIMDChunk *chunk, const PetscScalar *table, unsigned nv, const PetscScalar *x, PetscScalar *y)
{
  if (chunk->pairs) DENSE_KINDS(MultDensePairs, nv, x, y)
  else if (nv == 1) DENSE_KINDS(MultDenseSlices, 1, x, y)
  else DENSE_KINDS(MultDenseSlices, 2, x, y)
}

static void MultTransposeDense(const BCCOOSIMDChunk *chunk, const PetscScalar *table, PetscBool hermitian, unsigned nv, const PetscScalar *u, PetscScalar *w)
{
  if (chunk->pairs) DENSE_KINDS(MultTransposeDensePairs, nv, hermitian, u, w)
  else if (nv == 1) DENSE_KINDS(MultTransposeDenseSlices, 1, hermitian, u, w)
  else DENSE_KINDS(MultTransposeDenseSlices, 2, hermitian, u, w)
}

static void MultColumns(const BCCOOSIMDChunk *chunk, const PetscScalar *table, PetscInt K, const PetscScalar *X, PetscCount ldx, PetscScalar *Y, PetscCount ldy)
{
  if (chunk->pairs) {
    for (PetscInt k = 0; k < K; k++) Mult(chunk, table, X + k * ldx, Y + k * ldy);
  } else if (K == BCCOO_PANEL) DENSE_KINDS(MultColumnsSlices, BCCOO_PANEL, X, ldx, Y, ldy)
  else DENSE_KINDS(MultColumnsSlices, K, X, ldx, Y, ldy)
}

static void MultTransposeColumns(const BCCOOSIMDChunk *chunk, const PetscScalar *table, PetscBool hermitian, PetscInt K, const PetscScalar *U, PetscCount ldu, PetscScalar *W, PetscCount ldw)
{
  if (chunk->pairs) {
    for (PetscInt k = 0; k < K; k++) MultTranspose(chunk, table, hermitian, U + k * ldu, 1, W + k * ldw);
  } else if (K == BCCOO_PANEL) DENSE_KINDS(MultTransposeColumnsSlices, hermitian, BCCOO_PANEL, U, ldu, W, ldw)
  else DENSE_KINDS(MultTransposeColumnsSlices, hermitian, K, U, ldu, W, ldw)
}

#define BCCOO_DENSE_KERNELS MultDense, MultTransposeDense, MultColumns, MultTransposeColumns, Pack, Unpack
