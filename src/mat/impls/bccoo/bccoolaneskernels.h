/*
  The products of a chunk (bccoolanes.h), written once over a vector of eight scalars, V8, which the file that includes this
  one defines for its instructions:

    V8Zero(), V8Set(a), V8Load(p, lanes), V8Gather16(p, i, lanes), V8Gather32(p, i, lanes)    lanes not in use become 0
    V8Store(p, v, lanes)                         writes lanes in use only
    V8Mul(a, b), V8Fma(a, b, c, lanes)           a b, a b + c; c where a lane is not in use
    V8Conj(v), V8Sum(v, lanes)                   V8Sum() adds lanes in use, in a fixed order
    V8Table, V8TableLoad(table, values, s)       what V8Values() keeps in registers
    V8Values(t, values, s, k, lanes)             values k, k + 1, ... of the chunk
    V8_MASKED                                    1 if lanes < 8 cost nothing extra

  The kind of a chunk (pairs or groups, width of columns, coding of values) is a constant in every function below: they are
  inlined into one function for each kind.
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
  The streams of a chunk begin at so many places that the processor's own prefetching starts anew with each chunk. So the next
  chunk, which follows in memory, is asked for while this one is worked on: as many of its bytes as have been used of this.
*/
typedef struct {
  const unsigned char *next, *end;
  size_t               step; /* bytes a slot takes */
} Ahead;

V8_INLINE Ahead AheadStart(const BCCOOLanesChunk *chunk, size_t nslots)
{
  const unsigned char *p = (const unsigned char *)chunk + chunk->bytes;
  const Ahead          a = {p, p, chunk->bytes / nslots + 1};

  return a;
}

V8_INLINE void AheadPrefetch(Ahead *a, size_t nslots)
{
  for (a->end += nslots * a->step; a->next < a->end; a->next += 64) V8_PREFETCH(a->next);
}

/* Place of the l-th column from c on, and the gather from there */
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

/* Lanes that a group has: those of its first slot. Slots of one row are runs, perhaps; the sums of lanes that none has are 0. */
V8_INLINE unsigned GroupLanes(unsigned kind, unsigned slot)
{
  return kind == BCCOO_GROUP_SINGLE ? BCCOO_LANES : slot & BCCOO_SLOT_LANES;
}

/* The sums of A x for one slot */
V8_INLINE const void *MultSlot(PetscBool wide, int values, const V8Table *t, const BCCOOLanesStreams *s, size_t k, unsigned slot, unsigned lanes, const void *c, const PetscScalar *x, V8 *acc)
{
  const V8 v = V8Values(t, values, s, k, lanes);

  if (slot & BCCOO_SLOT_CONSECUTIVE) {
    *acc = V8Fma(v, V8Load(x + ColumnAt(wide, c, 0), lanes), *acc, lanes);
    return ColumnSkip(wide, c, 1);
  }
  *acc = V8Fma(v, GatherColumns(wide, x, c, lanes), *acc, lanes);
  return ColumnSkip(wide, c, lanes);
}

V8_INLINE void MultGroups(const BCCOOLanesChunk *chunk, PetscBool wide, int values, const PetscScalar *table, const PetscScalar *PETSC_RESTRICT x, PetscScalar *PETSC_RESTRICT y)
{
  const BCCOOLanesStreams s     = BCCOOLanesGetStreams(chunk);
  const V8Table           t     = V8TableLoad(table, values, &s);
  const uint16_t         *rows  = s.rows;
  const uint8_t          *slots = s.slots;
  const void             *c     = s.columns;
  size_t                  k     = 0;
  Ahead                   ahead = AheadStart(chunk, chunk->nslots);

  for (unsigned g = 0; g < chunk->ngroups; g++) {
    const unsigned group = s.groups[g], kind = group >> 14, used = GroupLanes(kind, *slots);
    const uint8_t *end = slots + (group & BCCOO_GROUP_SLOTS);
    V8             acc = V8Zero();
    PetscScalar    sum[BCCOO_LANES];

    AheadPrefetch(&ahead, end - slots);
    for (; slots < end; slots++) {
      const unsigned lanes = *slots & BCCOO_SLOT_LANES;

      if (!V8_MASKED && lanes == BCCOO_LANES) c = MultSlot(wide, values, &t, &s, k, *slots, BCCOO_LANES, c, x, &acc);
      else c = MultSlot(wide, values, &t, &s, k, *slots, lanes, c, x, &acc);
      k += lanes;
    }
    if (kind == BCCOO_GROUP_SINGLE) {
      y[*rows++] += V8Sum(acc, BCCOO_LANES);
    } else if (kind == BCCOO_GROUP_CONSECUTIVE) {
      PetscScalar *yr = y + *rows++;

      V8Store(yr, V8Add(V8Load(yr, used), acc), used);
    } else {
      V8Store(sum, acc, BCCOO_LANES);
      if (used == BCCOO_LANES) {
        V8_UNROLL()
        for (unsigned l = 0; l < BCCOO_LANES; l++) y[rows[l]] += sum[l];
      } else {
        for (unsigned l = 0; l < used; l++) y[rows[l]] += sum[l];
      }
      rows += used;
    }
  }
}

/* The products of up to eight pairs are formed by lanes and added one after the other: rows may be equal */
V8_INLINE void MultPairs(const BCCOOLanesChunk *chunk, PetscBool wide, int values, const PetscScalar *table, const PetscScalar *PETSC_RESTRICT x, PetscScalar *PETSC_RESTRICT y)
{
  const BCCOOLanesStreams s = BCCOOLanesGetStreams(chunk);
  const V8Table           t = V8TableLoad(table, values, &s);
  const void             *c = s.columns;
  PetscScalar             product[BCCOO_LANES];
  size_t                  k     = 0;
  Ahead                   ahead = AheadStart(chunk, (chunk->n + BCCOO_LANES - 1) / BCCOO_LANES);

  for (; k + BCCOO_LANES <= chunk->n; k += BCCOO_LANES) {
    AheadPrefetch(&ahead, 1);
    V8Store(product, V8Mul(V8Values(&t, values, &s, k, BCCOO_LANES), GatherColumns(wide, x, c, BCCOO_LANES)), BCCOO_LANES);
    V8_UNROLL()
    for (unsigned l = 0; l < BCCOO_LANES; l++) y[s.rows[k + l]] += product[l];
    c = ColumnSkip(wide, c, BCCOO_LANES);
  }
  if (k < chunk->n) {
    const unsigned lanes = (unsigned)(chunk->n - k);

    V8Store(product, V8Mul(V8Values(&t, values, &s, k, lanes), GatherColumns(wide, x, c, lanes)), lanes);
    for (unsigned l = 0; l < lanes; l++) y[s.rows[k + l]] += product[l];
  }
}

/* Adds eight products, or the first lanes of them, to the places of their columns; lanes may share a column */
V8_INLINE void AddColumns(PetscBool wide, const void *c, int stride, const PetscScalar *product, unsigned lanes, PetscScalar *PETSC_RESTRICT w)
{
  if (lanes == BCCOO_LANES) {
    V8_UNROLL()
    for (unsigned l = 0; l < BCCOO_LANES; l++) w[ColumnAt(wide, c, l) * stride + (stride > 1 ? l : 0)] += product[l];
  } else {
    for (unsigned l = 0; l < lanes; l++) w[ColumnAt(wide, c, l) * stride + (stride > 1 ? l : 0)] += product[l];
  }
}

V8_INLINE const void *MultTransposeSlot(PetscBool wide, int values, const V8Table *t, PetscBool hermitian, const BCCOOLanesStreams *s, size_t k, unsigned slot, unsigned lanes, const void *c, V8 u, int stride, PetscScalar *w)
{
  const V8    v = V8Values(t, values, s, k, lanes), p = V8Mul(hermitian ? V8Conj(v) : v, u);
  PetscScalar product[BCCOO_LANES];

  if (slot & BCCOO_SLOT_CONSECUTIVE) {
    PetscScalar *wj = w + ColumnAt(wide, c, 0) * stride;

    if (stride == 1) {
      V8Store(wj, V8Add(V8Load(wj, lanes), p), lanes);
    } else {
      V8Store(product, p, BCCOO_LANES);
      for (unsigned l = 0; l < lanes; l++) wj[l * stride + l] += product[l];
    }
    return ColumnSkip(wide, c, 1);
  }
  V8Store(product, p, BCCOO_LANES);
  AddColumns(wide, c, stride, product, lanes, w);
  return ColumnSkip(wide, c, lanes);
}

/* What a group's lanes multiply in a transposed product */
V8_INLINE V8 GroupOperand(unsigned kind, const uint16_t *rows, unsigned used, const PetscScalar *u)
{
  if (kind == BCCOO_GROUP_SINGLE) return V8Set(u[*rows]);
  if (kind == BCCOO_GROUP_CONSECUTIVE) return V8Load(u + *rows, used);
  return V8Gather16(u, rows, used);
}

V8_INLINE void MultTransposeGroups(const BCCOOLanesChunk *chunk, PetscBool wide, int values, const PetscScalar *table, PetscBool hermitian, const PetscScalar *PETSC_RESTRICT u, int stride, PetscScalar *PETSC_RESTRICT w)
{
  const BCCOOLanesStreams s     = BCCOOLanesGetStreams(chunk);
  const V8Table           t     = V8TableLoad(table, values, &s);
  const uint16_t         *rows  = s.rows;
  const uint8_t          *slots = s.slots;
  const void             *c     = s.columns;
  size_t                  k     = 0;
  Ahead                   ahead = AheadStart(chunk, chunk->nslots);

  for (unsigned g = 0; g < chunk->ngroups; g++) {
    const unsigned group = s.groups[g], kind = group >> 14, used = GroupLanes(kind, *slots);
    const uint8_t *end = slots + (group & BCCOO_GROUP_SLOTS);
    const V8       ug  = GroupOperand(kind, rows, used, u);

    AheadPrefetch(&ahead, end - slots);
    for (; slots < end; slots++) {
      const unsigned lanes = *slots & BCCOO_SLOT_LANES;

      if (lanes == BCCOO_LANES) c = MultTransposeSlot(wide, values, &t, hermitian, &s, k, *slots, BCCOO_LANES, c, ug, stride, w);
      else c = MultTransposeSlot(wide, values, &t, hermitian, &s, k, *slots, lanes, c, ug, stride, w);
      k += lanes;
    }
    rows += kind == BCCOO_GROUP_LISTED ? used : 1;
  }
}

V8_INLINE void MultTransposePairs(const BCCOOLanesChunk *chunk, PetscBool wide, int values, const PetscScalar *table, PetscBool hermitian, const PetscScalar *PETSC_RESTRICT u, int stride, PetscScalar *PETSC_RESTRICT w)
{
  const BCCOOLanesStreams s = BCCOOLanesGetStreams(chunk);
  const V8Table           t = V8TableLoad(table, values, &s);
  const void             *c = s.columns;
  PetscScalar             product[BCCOO_LANES];
  Ahead                   ahead = AheadStart(chunk, (chunk->n + BCCOO_LANES - 1) / BCCOO_LANES);

  for (size_t k = 0; k < chunk->n; k += BCCOO_LANES) {
    AheadPrefetch(&ahead, 1);
    const unsigned lanes = chunk->n - k < BCCOO_LANES ? (unsigned)(chunk->n - k) : BCCOO_LANES;
    const V8       v     = V8Values(&t, values, &s, k, lanes);

    V8Store(product, V8Mul(hermitian ? V8Conj(v) : v, V8Gather16(u, s.rows + k, lanes)), BCCOO_LANES);
    AddColumns(wide, c, stride, product, lanes, w);
    c = ColumnSkip(wide, c, lanes);
  }
}

/* One function for each kind of chunk; ARGS begin with the constants wide and values */
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
    F(chunk, wide, BCCOO_VALUES_OWN, BCCOOLanesGetStreams(chunk).table, __VA_ARGS__); \
    break; \
  case BCCOO_VALUES_SINGLE: \
    F(chunk, wide, BCCOO_VALUES_SINGLE, table, __VA_ARGS__); \
    break; \
  default: \
    F(chunk, wide, BCCOO_VALUES_FULL, table, __VA_ARGS__); \
  }

#define KINDS(Groups, Pairs, ...) \
  if (chunk->pairs) { \
    if (chunk->wide) { \
      VALUES_CASES(Pairs, PETSC_TRUE, __VA_ARGS__) \
    } else { \
      VALUES_CASES(Pairs, PETSC_FALSE, __VA_ARGS__) \
    } \
  } else { \
    if (chunk->wide) { \
      VALUES_CASES(Groups, PETSC_TRUE, __VA_ARGS__) \
    } else { \
      VALUES_CASES(Groups, PETSC_FALSE, __VA_ARGS__) \
    } \
  }

static void Mult(const BCCOOLanesChunk *chunk, const PetscScalar *table, const PetscScalar *x, PetscScalar *y)
{
  KINDS(MultGroups, MultPairs, x, y)
}

static void MultTranspose(const BCCOOLanesChunk *chunk, const PetscScalar *table, PetscBool hermitian, const PetscScalar *u, int stride, PetscScalar *w)
{
  if (stride == 1) {
    KINDS(MultTransposeGroups, MultTransposePairs, hermitian, u, 1, w)
  } else {
    KINDS(MultTransposeGroups, MultTransposePairs, hermitian, u, BCCOO_LANES, w)
  }
}
