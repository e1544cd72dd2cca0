/*
  The products with one chunk (../simdimpl.h), written for V8, a vector of eight scalars. The file that includes this one defines V8 for its
  instructions:

    V8Zero(), V8Set(a), V8Load(p, lanes), V8Gather16(p, i, lanes), V8Gather32(p, i, lanes)    unused lanes become 0
    V8Store(p, v, lanes)                         writes only lanes in use
    V8StoreWhole(p, v)                           stores a vector that is read again as a whole, not by lanes
    V8Split(v, a)                                copies all lanes to a[], which compilers keep in registers
    V8Add(a, b)                                  a + b
    V8Mul(a, b, lanes), V8Fma(a, b, c, lanes)    a b, in unused lanes 0; a b + c, in unused lanes c. Whatever a and b are there, they raise no exception:
                                                 0 times infinity would be an invalid operation, which stops programs with -fp_trap
    V8Conj(v), V8Sum(v, lanes)                   V8Sum() adds the lanes in use, in a fixed order
    V8Table, V8TableLoad(table, values, s)       data that V8Values() keeps in registers
    V8Values(t, values, s, k, lanes)             values k, k + 1, ... of the chunk
    V8_MASKED                                    1 if steps with fewer than 8 lanes cost nothing extra

  The kind of a chunk (pairs or slices, width of columns, coding of values) is a constant in every function below: they are inlined into
  one function for each kind.
*/
#if defined(__GNUC__)
  #define V8_PREFETCH(p) __builtin_prefetch(p, 0, 2)
  #define V8_UNROLL()    _Pragma("GCC unroll 8")
  #define V8_INLINE      static inline __attribute__((always_inline))
#else
  #define V8_PREFETCH(p)
  #define V8_UNROLL()
  #define V8_INLINE static inline
#endif

/*
  A chunk has so many streams that the hardware prefetcher has to start anew with each chunk. The next chunk is therefore prefetched while
  one is processed: as many of its bytes as have been processed of the present one.
*/
typedef struct {
  const unsigned char *next, *end;
  size_t               jump; /* bytes per step */
} Ahead;

V8_INLINE Ahead AheadStart(const BCCOOSIMDChunk *chunk, size_t nsteps)
{
  const unsigned char *p = (const unsigned char *)BCCOOSIMDNext(chunk);
  const Ahead          a = {p, p, chunk->bytes / nsteps + 1};

  return a;
}

V8_INLINE void AheadPrefetch(Ahead *a, size_t nsteps)
{
  for (a->end += nsteps * a->jump; a->next < a->end; a->next += 64) V8_PREFETCH(a->next);
}

/* The l-th column from c on; the functions below skip l columns, and gather entries of x at columns */
V8_INLINE size_t ColumnAt(PetscBool wide, const void *c, size_t l)
{
  return wide ? (size_t)((const uint32_t *)c)[l] : (size_t)((const uint16_t *)c)[l];
}

V8_INLINE const void *ColumnSkip(PetscBool wide, const void *c, size_t l)
{
  return wide ? (const void *)((const uint32_t *)c + l) : (const void *)((const uint16_t *)c + l);
}

V8_INLINE V8 GatherColumns(PetscBool wide, const PetscScalar *x, const void *c, unsigned lanes)
{
  return wide ? V8Gather32(x, (const uint32_t *)c, lanes) : V8Gather16(x, (const uint16_t *)c, lanes);
}

/* Lanes of a slice: those of its first step. A slice of one row, whose steps may be runs of any length, has all lanes; the sums of unused lanes are 0. */
V8_INLINE unsigned SliceLanes(unsigned kind, unsigned step)
{
  return kind == BCCOO_SLICE_SINGLE ? BCCOO_SIMD_LANES : step & BCCOO_STEP_LANES;
}

/* Number of rows that are stored for a slice */
V8_INLINE unsigned SliceRows(unsigned kind, unsigned used)
{
  return kind == BCCOO_SLICE_LISTED ? used : 1;
}

/* Adds the first lanes of v to the places in a list, 4 bytes each if wide, otherwise 2; several lanes may have the same place */
V8_INLINE void AddListed(PetscBool wide, const void *place, int stride, V8 v, unsigned lanes, PetscScalar *PETSC_RESTRICT w)
{
  PetscScalar a[BCCOO_SIMD_LANES];

  if (lanes == BCCOO_SIMD_LANES) {
    V8Split(v, a);
    V8_UNROLL()
    for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++) w[ColumnAt(wide, place, l) * stride + (stride > 1 ? l : 0)] += a[l];
  } else {
    V8Store(a, v, BCCOO_SIMD_LANES);
    for (unsigned l = 0; l < lanes; l++) w[ColumnAt(wide, place, l) * stride + (stride > 1 ? l : 0)] += a[l];
  }
}

/* Adds the products of one step of A x to acc; returns the columns of the next step */
V8_INLINE const void *MultStep(PetscBool wide, int values, const V8Table *t, const BCCOOSIMDStreams *s, size_t k, unsigned step, unsigned lanes, const void *c, const PetscScalar *x, V8 *acc)
{
  const V8 v = V8Values(t, values, s, k, lanes);

  if (step & BCCOO_STEP_CONSECUTIVE) {
    *acc = V8Fma(v, V8Load(x + ColumnAt(wide, c, 0), lanes), *acc, lanes);
    return ColumnSkip(wide, c, 1);
  }
  if (step & BCCOO_STEP_SAME) {
    *acc = V8Fma(v, V8Set(x[ColumnAt(wide, c, 0)]), *acc, lanes);
    return ColumnSkip(wide, c, 1);
  }
  *acc = V8Fma(v, GatherColumns(wide, x, c, lanes), *acc, lanes);
  return ColumnSkip(wide, c, lanes);
}

/* Adds the sums of a slice to its rows */
V8_INLINE void AddSums(unsigned kind, const uint16_t *rows, unsigned used, V8 acc, PetscScalar *y)
{
  if (kind == BCCOO_SLICE_SINGLE) y[rows[0]] += V8Sum(acc, BCCOO_SIMD_LANES);
  else if (kind == BCCOO_SLICE_CONSECUTIVE) V8Store(y + rows[0], V8Add(V8Load(y + rows[0], used), acc), used);
  else AddListed(PETSC_FALSE, rows, 1, acc, used, y);
}

/* The position of a kernel in the streams of a chunk */
typedef struct {
  size_t          k; /* number of nonzeros processed */
  const uint16_t *rows;
  const uint8_t  *steps;
  const void     *c;
} Place;

V8_INLINE Place PlaceStart(const BCCOOSIMDStreams *s)
{
  const Place p = {0, s->rows, s->steps, s->columns};

  return p;
}

/*
  A x for consecutive slices with the same number of full steps, which all load or all gather: the stream of steps is not read, and all
  branches are predictable.
*/
V8_INLINE void MultEqualSlices(PetscBool wide, int values, const V8Table *t, const BCCOOSIMDStreams *s, PetscBool listed, PetscBool load, unsigned nsteps, unsigned nslices, Ahead *ahead, const PetscScalar *x, PetscScalar *y, Place *p)
{
  size_t          k    = p->k;
  const uint16_t *rows = p->rows;
  const void     *c    = p->c;

  for (unsigned g = 0; g < nslices; g++) {
    V8 acc = V8Zero();

    AheadPrefetch(ahead, nsteps);
    for (unsigned i = 0; i < nsteps; i++) {
      acc = V8Fma(V8Values(t, values, s, k, BCCOO_SIMD_LANES), load ? V8Load(x + ColumnAt(wide, c, 0), BCCOO_SIMD_LANES) : GatherColumns(wide, x, c, BCCOO_SIMD_LANES), acc, BCCOO_SIMD_LANES);
      c   = ColumnSkip(wide, c, load ? 1 : BCCOO_SIMD_LANES);
      k += BCCOO_SIMD_LANES;
    }
    if (listed) {
      AddListed(PETSC_FALSE, rows, 1, acc, BCCOO_SIMD_LANES, y);
      rows += BCCOO_SIMD_LANES;
    } else {
      PetscScalar *yr = y + *rows++;

      V8Store(yr, V8Add(V8Load(yr, BCCOO_SIMD_LANES), acc), BCCOO_SIMD_LANES);
    }
  }
  p->k    = k;
  p->rows = rows;
  p->c    = c;
}

/* As MultEqualSlices(), with separate code for rows of one, two or three nonzeros */
V8_INLINE void MultFullSlices(PetscBool wide, int values, const V8Table *t, const BCCOOSIMDStreams *s, unsigned slice, unsigned nslices, Ahead *ahead, const PetscScalar *x, PetscScalar *y, Place *p)
{
  const unsigned  nsteps = slice & BCCOO_SLICE_STEPS;
  const PetscBool listed = (PetscBool)(slice >> 14 == BCCOO_SLICE_LISTED);

  if (slice & BCCOO_SLICE_LOAD) {
    if (listed) MultEqualSlices(wide, values, t, s, PETSC_TRUE, PETSC_TRUE, nsteps, nslices, ahead, x, y, p);
    else MultEqualSlices(wide, values, t, s, PETSC_FALSE, PETSC_TRUE, nsteps, nslices, ahead, x, y, p);
  } else if (!listed) MultEqualSlices(wide, values, t, s, PETSC_FALSE, PETSC_FALSE, nsteps, nslices, ahead, x, y, p);
  else if (nsteps == 1) MultEqualSlices(wide, values, t, s, PETSC_TRUE, PETSC_FALSE, 1, nslices, ahead, x, y, p);
  else if (nsteps == 2) MultEqualSlices(wide, values, t, s, PETSC_TRUE, PETSC_FALSE, 2, nslices, ahead, x, y, p);
  else if (nsteps == 3) MultEqualSlices(wide, values, t, s, PETSC_TRUE, PETSC_FALSE, 3, nslices, ahead, x, y, p);
  else MultEqualSlices(wide, values, t, s, PETSC_TRUE, PETSC_FALSE, nsteps, nslices, ahead, x, y, p);
}

/* How many consecutive slices, this one included and at most `most`, have the same item in the stream of slices */
V8_INLINE unsigned EqualSlices(const uint16_t *slice, unsigned most)
{
  unsigned n = 1;

  while (n < most && slice[n] == slice[0]) n++;
  return n;
}

V8_INLINE void MultSlices(const BCCOOSIMDChunk *chunk, PetscBool wide, int values, const PetscScalar *table, const PetscScalar *PETSC_RESTRICT x, PetscScalar *PETSC_RESTRICT y)
{
  const BCCOOSIMDStreams s     = BCCOOSIMDGetStreams(chunk);
  const V8Table          t     = V8TableLoad(table, values, &s);
  Place                  p     = PlaceStart(&s);
  Ahead                  ahead = AheadStart(chunk, chunk->nsteps);

  for (unsigned g = 0; g < chunk->nslices;) {
    const unsigned slice = s.slices[g], kind = slice >> 14, nsteps = slice & BCCOO_SLICE_STEPS, used = SliceLanes(kind, *p.steps);
    const uint8_t *end = p.steps + nsteps;
    V8             acc = V8Zero();

    if (slice & (BCCOO_SLICE_GATHER | BCCOO_SLICE_LOAD)) {
      const unsigned n = EqualSlices(s.slices + g, chunk->nslices - g);

      MultFullSlices(wide, values, &t, &s, slice, n, &ahead, x, y, &p);
      p.steps += n * nsteps;
      g += n;
      continue;
    }
    AheadPrefetch(&ahead, nsteps);
    for (; p.steps < end; p.steps++) {
      const unsigned lanes = *p.steps & BCCOO_STEP_LANES;

      if (!V8_MASKED && lanes == BCCOO_SIMD_LANES) p.c = MultStep(wide, values, &t, &s, p.k, *p.steps, BCCOO_SIMD_LANES, p.c, x, &acc);
      else p.c = MultStep(wide, values, &t, &s, p.k, *p.steps, lanes, p.c, x, &acc);
      p.k += lanes;
    }
    AddSums(kind, p.rows, used, acc, y);
    p.rows += SliceRows(kind, used);
    g++;
  }
}

/* The products of up to eight pairs are computed at once, but added one after the other, since rows may be equal */
V8_INLINE void MultPairs(const BCCOOSIMDChunk *chunk, PetscBool wide, int values, const PetscScalar *table, const PetscScalar *PETSC_RESTRICT x, PetscScalar *PETSC_RESTRICT y)
{
  const BCCOOSIMDStreams s     = BCCOOSIMDGetStreams(chunk);
  const V8Table          t     = V8TableLoad(table, values, &s);
  const void            *c     = s.columns;
  size_t                 k     = 0;
  Ahead                  ahead = AheadStart(chunk, (chunk->n + BCCOO_SIMD_LANES - 1) / BCCOO_SIMD_LANES);

  for (; k + BCCOO_SIMD_LANES <= chunk->n; k += BCCOO_SIMD_LANES) {
    AheadPrefetch(&ahead, 1);
    AddListed(PETSC_FALSE, s.rows + k, 1, V8Mul(V8Values(&t, values, &s, k, BCCOO_SIMD_LANES), GatherColumns(wide, x, c, BCCOO_SIMD_LANES), BCCOO_SIMD_LANES), BCCOO_SIMD_LANES, y);
    c = ColumnSkip(wide, c, BCCOO_SIMD_LANES);
  }
  if (k < chunk->n) {
    const unsigned lanes = (unsigned)(chunk->n - k);

    AddListed(PETSC_FALSE, s.rows + k, 1, V8Mul(V8Values(&t, values, &s, k, lanes), GatherColumns(wide, x, c, lanes), lanes), lanes, y);
  }
}

V8_INLINE const void *MultTransposeStep(PetscBool wide, int values, const V8Table *t, PetscBool hermitian, const BCCOOSIMDStreams *s, size_t k, unsigned step, unsigned lanes, const void *c, V8 u, int stride, PetscScalar *w)
{
  const V8 v = V8Values(t, values, s, k, lanes), p = V8Mul(hermitian ? V8Conj(v) : v, u, lanes);

  if (step & BCCOO_STEP_CONSECUTIVE) {
    PetscScalar *wj = w + ColumnAt(wide, c, 0) * stride, product[BCCOO_SIMD_LANES];

    if (stride == 1) {
      V8Store(wj, V8Add(V8Load(wj, lanes), p), lanes);
    } else {
      V8Store(product, p, BCCOO_SIMD_LANES);
      for (unsigned l = 0; l < lanes; l++) wj[l * stride + l] += product[l];
    }
    return ColumnSkip(wide, c, 1);
  }
  if (step & BCCOO_STEP_SAME) {
    PetscScalar *wj = w + ColumnAt(wide, c, 0) * stride;

    if (stride == 1) *wj += V8Sum(p, lanes);
    else V8Store(wj, V8Add(V8Load(wj, lanes), p), lanes);
    return ColumnSkip(wide, c, 1);
  }
  AddListed(wide, c, stride, p, lanes, w);
  return ColumnSkip(wide, c, lanes);
}

/* The entries of u for the lanes of a slice in a transposed product */
V8_INLINE V8 SliceOperand(unsigned kind, const uint16_t *rows, unsigned used, const PetscScalar *u)
{
  if (kind == BCCOO_SLICE_SINGLE) return V8Set(u[*rows]);
  if (kind == BCCOO_SLICE_CONSECUTIVE) return V8Load(u + *rows, used);
  return V8Gather16(u, rows, used);
}

#define V8_TOGETHER 16 /* slices */

/*
  A^T u for slices of full steps with consecutive columns. The steps of one slice, as in a stencil, add to overlapping vectors of w, and a
  load that overlaps the store just before it has to wait. The first steps of several slices are therefore processed first, then their
  second steps, and so on, so that successive steps add to different places.
*/
V8_INLINE void MultTransposeLoadSlices(PetscBool wide, int values, const V8Table *t, PetscBool hermitian, const BCCOOSIMDStreams *s, PetscBool listed, unsigned nsteps, unsigned nslices, Ahead *ahead, const PetscScalar *u, PetscScalar *w, Place *p)
{
  const unsigned nrows = listed ? BCCOO_SIMD_LANES : 1; /* rows stored for a slice */

  for (unsigned first = 0; first < nslices; first += V8_TOGETHER) {
    const unsigned n = nslices - first < V8_TOGETHER ? nslices - first : V8_TOGETHER;

    AheadPrefetch(ahead, n * nsteps);
    for (unsigned i = 0; i < nsteps; i++) {
      for (unsigned g = 0; g < n; g++) {
        const size_t step = (size_t)g * nsteps + i;
        const V8     v = V8Values(t, values, s, p->k + step * BCCOO_SIMD_LANES, BCCOO_SIMD_LANES), ug = listed ? V8Gather16(u, p->rows + g * BCCOO_SIMD_LANES, BCCOO_SIMD_LANES) : V8Load(u + p->rows[g], BCCOO_SIMD_LANES);
        PetscScalar *wj = w + ColumnAt(wide, p->c, step);

        V8Store(wj, V8Fma(hermitian ? V8Conj(v) : v, ug, V8Load(wj, BCCOO_SIMD_LANES), BCCOO_SIMD_LANES), BCCOO_SIMD_LANES);
      }
    }
    p->k += (size_t)n * nsteps * BCCOO_SIMD_LANES;
    p->rows += n * nrows;
    p->c = ColumnSkip(wide, p->c, n * nsteps);
  }
}

/* A^T u for slices of full steps with arbitrary columns */
V8_INLINE void MultTransposeGatherSlices(PetscBool wide, int values, const V8Table *t, PetscBool hermitian, const BCCOOSIMDStreams *s, PetscBool listed, unsigned nsteps, unsigned nslices, Ahead *ahead, const PetscScalar *u, PetscScalar *w, Place *p)
{
  size_t          k    = p->k;
  const uint16_t *rows = p->rows;
  const void     *c    = p->c;

  for (unsigned g = 0; g < nslices; g++) {
    const V8 ug = listed ? V8Gather16(u, rows, BCCOO_SIMD_LANES) : V8Load(u + *rows, BCCOO_SIMD_LANES);

    AheadPrefetch(ahead, nsteps);
    for (unsigned i = 0; i < nsteps; i++) {
      c = MultTransposeStep(wide, values, t, hermitian, s, k, BCCOO_SIMD_LANES, BCCOO_SIMD_LANES, c, ug, 1, w);
      k += BCCOO_SIMD_LANES;
    }
    rows += listed ? BCCOO_SIMD_LANES : 1;
  }
  p->k    = k;
  p->rows = rows;
  p->c    = c;
}

/*
  A^T u for chunks that are marked as deferred, in which consecutive rows have the same columns: an addition would wait for the one before it
  at the same place. The products of some slices are therefore written to a list, one for each stored column. The list is then added in
  blocks, in the order 0, 8, 16 ..., 1, 9, 17 ... within a block: products that are added one after the other are eight apart in the list.
  These additions need no branches for steps or lanes.
*/
#define V8_LISTED 512                                   /* number of products after which a list is added ... */
#define V8_BLOCK  (BCCOO_SIMD_LANES * BCCOO_SIMD_LANES) /* ... in blocks of so many */

/* Adds a list of n products in blocks */
V8_INLINE void AddProducts(PetscBool wide, const void *c, size_t n, const PetscScalar *p, PetscScalar *PETSC_RESTRICT w)
{
  for (size_t b = 0; b < n / V8_BLOCK; b++) {
    for (size_t k = 0; k < BCCOO_SIMD_LANES; k++) {
      V8_UNROLL()
      for (size_t l = 0; l < BCCOO_SIMD_LANES; l++) w[ColumnAt(wide, c, l * BCCOO_SIMD_LANES + k)] += p[l * BCCOO_SIMD_LANES + k];
    }
    c = ColumnSkip(wide, c, V8_BLOCK);
    p += V8_BLOCK;
  }
  for (size_t k = 0; k < n % V8_BLOCK; k++) w[ColumnAt(wide, c, k)] += p[k];
}

V8_INLINE void MultTransposeDeferred(const BCCOOSIMDChunk *chunk, PetscBool wide, int values, const PetscScalar *table, PetscBool hermitian, const PetscScalar *PETSC_RESTRICT u, PetscScalar *PETSC_RESTRICT w)
{
  const BCCOOSIMDStreams s     = BCCOOSIMDGetStreams(chunk);
  const V8Table          t     = V8TableLoad(table, values, &s);
  Place                  p     = PlaceStart(&s);
  Ahead                  ahead = AheadStart(chunk, chunk->nsteps);
  PetscScalar            product[V8_LISTED + BCCOO_SIMD_MAX + BCCOO_SIMD_LANES];
  size_t                 n = 0;

  for (unsigned g = 0; g < chunk->nslices; g++) {
    const unsigned slice = s.slices[g], kind = slice >> 14, nsteps = slice & BCCOO_SLICE_STEPS, used = SliceLanes(kind, *p.steps);
    const uint8_t *end = p.steps + nsteps;
    const V8       ug  = SliceOperand(kind, p.rows, used, u);

    AheadPrefetch(&ahead, nsteps);
    for (; p.steps < end; p.steps++) {
      const unsigned lanes = *p.steps & BCCOO_STEP_LANES;
      const V8       v = V8Values(&t, values, &s, p.k, lanes), products = V8Mul(hermitian ? V8Conj(v) : v, ug, lanes);

      if (*p.steps & BCCOO_STEP_SAME) product[n++] = V8Sum(products, lanes);
      else {
        V8StoreWhole(product + n, products);
        n += lanes;
      }
      p.k += lanes;
    }
    p.rows += SliceRows(kind, used);
    if (n >= V8_LISTED) { /* products that do not fill a block stay in the list */
      const size_t rest = n % V8_BLOCK;

      AddProducts(wide, p.c, n - rest, product, w);
      p.c = ColumnSkip(wide, p.c, n - rest);
      for (size_t k = 0; k < rest; k++) product[k] = product[n - rest + k];
      n = rest;
    }
  }
  AddProducts(wide, p.c, n, product, w);
}

V8_INLINE void MultTransposeSlices(const BCCOOSIMDChunk *chunk, PetscBool wide, int values, const PetscScalar *table, PetscBool hermitian, const PetscScalar *PETSC_RESTRICT u, int stride, PetscScalar *PETSC_RESTRICT w)
{
  const BCCOOSIMDStreams s     = BCCOOSIMDGetStreams(chunk);
  const V8Table          t     = V8TableLoad(table, values, &s);
  Place                  p     = PlaceStart(&s);
  Ahead                  ahead = AheadStart(chunk, chunk->nsteps);

  if (stride == 1 && chunk->deferred) {
    MultTransposeDeferred(chunk, wide, values, table, hermitian, u, w);
    return;
  }
  for (unsigned g = 0; g < chunk->nslices;) {
    const unsigned slice = s.slices[g], kind = slice >> 14, nsteps = slice & BCCOO_SLICE_STEPS, used = SliceLanes(kind, *p.steps);
    const uint8_t *end = p.steps + nsteps;
    V8             ug;

    if (stride == 1 && slice & (BCCOO_SLICE_LOAD | BCCOO_SLICE_GATHER)) {
      const unsigned n = EqualSlices(s.slices + g, chunk->nslices - g);

      if (slice & BCCOO_SLICE_GATHER) {
        if (kind == BCCOO_SLICE_LISTED) MultTransposeGatherSlices(wide, values, &t, hermitian, &s, PETSC_TRUE, nsteps, n, &ahead, u, w, &p);
        else MultTransposeGatherSlices(wide, values, &t, hermitian, &s, PETSC_FALSE, nsteps, n, &ahead, u, w, &p);
      } else if (kind == BCCOO_SLICE_LISTED) MultTransposeLoadSlices(wide, values, &t, hermitian, &s, PETSC_TRUE, nsteps, n, &ahead, u, w, &p);
      else MultTransposeLoadSlices(wide, values, &t, hermitian, &s, PETSC_FALSE, nsteps, n, &ahead, u, w, &p);
      p.steps += n * nsteps;
      g += n;
      continue;
    }
    ug = SliceOperand(kind, p.rows, used, u);
    AheadPrefetch(&ahead, nsteps);
    for (; p.steps < end; p.steps++) {
      const unsigned lanes = *p.steps & BCCOO_STEP_LANES;

      if (lanes == BCCOO_SIMD_LANES) p.c = MultTransposeStep(wide, values, &t, hermitian, &s, p.k, *p.steps, BCCOO_SIMD_LANES, p.c, ug, stride, w);
      else p.c = MultTransposeStep(wide, values, &t, hermitian, &s, p.k, *p.steps, lanes, p.c, ug, stride, w);
      p.k += lanes;
    }
    p.rows += SliceRows(kind, used);
    g++;
  }
}

V8_INLINE void MultTransposePairs(const BCCOOSIMDChunk *chunk, PetscBool wide, int values, const PetscScalar *table, PetscBool hermitian, const PetscScalar *PETSC_RESTRICT u, int stride, PetscScalar *PETSC_RESTRICT w)
{
  const BCCOOSIMDStreams s     = BCCOOSIMDGetStreams(chunk);
  const V8Table          t     = V8TableLoad(table, values, &s);
  const void            *c     = s.columns;
  Ahead                  ahead = AheadStart(chunk, (chunk->n + BCCOO_SIMD_LANES - 1) / BCCOO_SIMD_LANES);

  for (size_t k = 0; k < chunk->n; k += BCCOO_SIMD_LANES) {
    AheadPrefetch(&ahead, 1);
    const unsigned lanes = chunk->n - k < BCCOO_SIMD_LANES ? (unsigned)(chunk->n - k) : BCCOO_SIMD_LANES;
    const V8       v     = V8Values(&t, values, &s, k, lanes);

    AddListed(wide, c, stride, V8Mul(hermitian ? V8Conj(v) : v, V8Gather16(u, s.rows + k, lanes), lanes), lanes, w);
    c = ColumnSkip(wide, c, lanes);
  }
}

/* Calls F with the coding of values as a constant; KINDS() below also makes the other properties of a chunk constants */
#define VALUES_CASES(F, wide, ...) \
  switch (chunk->values) { \
  case BCCOO_VALUES_EQUAL: \
    F(chunk, wide, BCCOO_VALUES_EQUAL, table, __VA_ARGS__); \
    break; \
  case BCCOO_VALUES_SMALL: \
    F(chunk, wide, BCCOO_VALUES_SMALL, table, __VA_ARGS__); \
    break; \
  case BCCOO_VALUES_TABLE: \
    F(chunk, wide, BCCOO_VALUES_TABLE, table, __VA_ARGS__); \
    break; \
  case BCCOO_VALUES_LARGE: \
    F(chunk, wide, BCCOO_VALUES_LARGE, table, __VA_ARGS__); \
    break; \
  case BCCOO_VALUES_OWN: \
    F(chunk, wide, BCCOO_VALUES_OWN, BCCOOSIMDGetStreams(chunk).table, __VA_ARGS__); \
    break; \
  case BCCOO_VALUES_SINGLE: \
    F(chunk, wide, BCCOO_VALUES_SINGLE, table, __VA_ARGS__); \
    break; \
  default: \
    F(chunk, wide, BCCOO_VALUES_FULL, table, __VA_ARGS__); \
  }

#define KINDS(Slices, Pairs, ...) \
  if (chunk->pairs) { \
    if (chunk->wide) { \
      VALUES_CASES(Pairs, PETSC_TRUE, __VA_ARGS__) \
    } else { \
      VALUES_CASES(Pairs, PETSC_FALSE, __VA_ARGS__) \
    } \
  } else { \
    if (chunk->wide) { \
      VALUES_CASES(Slices, PETSC_TRUE, __VA_ARGS__) \
    } else { \
      VALUES_CASES(Slices, PETSC_FALSE, __VA_ARGS__) \
    } \
  }

static void Mult(const BCCOOSIMDChunk *chunk, const PetscScalar *table, const PetscScalar *x, PetscScalar *y)
{
  KINDS(MultSlices, MultPairs, x, y)
}

static void MultTranspose(const BCCOOSIMDChunk *chunk, const PetscScalar *table, PetscBool hermitian, const PetscScalar *u, int stride, PetscScalar *w)
{
  if (stride == 1) {
    KINDS(MultTransposeSlices, MultTransposePairs, hermitian, u, 1, w)
  } else {
    KINDS(MultTransposeSlices, MultTransposePairs, hermitian, u, BCCOO_SIMD_LANES, w)
  }
}
