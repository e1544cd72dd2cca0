#pragma once

/*
  Compression `lanes`: the BCCOO idea - chunks of balanced nonzero counts, columns as short differences, values through a
  table - in a form of which one step decodes eight nonzeros, one for each lane of a vector.

  Rows are cut into bands of equal cost, one for each thread; columns into ranges, as few as A^T u allows (partition.c).
  The intersection of a band and a range is a tile. The nonzeros of a tile, row by row, are cut into chunks of about 2048.
  The chunks of a band are a string of bytes, in the order in which they became full; each points to the one that comes
  next, tile by tile.

      band 0   [ tile 0 0 ][ tile 0 1 ][ tile 0 2 ]        y = A x:    a thread does a band, strip of rows by strip
      band 1   [ tile 1 0 ][ tile 1 1 ][ tile 1 2 ]        v = A^T u:  a thread does a share of the chunks, range by range
      band 2   [ tile 2 0 ][ tile 2 1 ][ tile 2 2 ]

  Rows of a band are cut into a few strips, and no chunk has rows of two: a thread that is done with its band takes strips
  of others that are not.

  Where bands meet few columns, there may be no ranges but maps of these columns, and chunks count columns by their places there
  (columnmap.c).

  A chunk is a head and six streams, each aligned to its items:

      head     rows and columns are counted from head.row and head.col
      values   one for each nonzero: nothing (all equal: one scalar), 1 or 2 bytes (place in the table of the matrix, or in
               one of the chunk's own, which comes first), 4 bytes (real double values that are exact in single precision),
               or a scalar
      groups   2 bytes a group: its kind, how many slots it has, and whether these are all full and of one kind
      rows     2 bytes each
      slots    1 byte a slot: how many lanes it has, and whether their columns follow each other or are the same
      columns  2 or 4 bytes each; one for a slot whose columns follow each other or are the same, one for each lane otherwise

  A slot is up to eight nonzeros that one step takes. A group is a sequence of slots that add to the same sums:

      BCCOO_GROUP_LISTED       lane l is row rows[l]            8 rows, sorted by falling length, so that a slot's lanes in
      BCCOO_GROUP_CONSECUTIVE  lane l is row rows[0] + l        use are its first ones: no place is padded
      BCCOO_GROUP_SINGLE       all lanes are row rows[0]        a long row, eight nonzeros at a time, or a run of columns

  for example rows of 4, 3 and 3 nonzeros        slot    0      1      2      3
                                          lanes 0 1 2  | a b c | a b c | a b c | a         slots: 3 3 3 1

  Where rows have one nonzero in a tile and do not follow each other, a chunk is a list of pairs instead: no groups and slots,
  rows and columns for each nonzero.

  Lanes not in use take part in no sum, so that a 0 x Inf can come from the matrix only.
*/
#include "mat/impls/bccoo/common.h"

#define BCCOO_LANES      8    /* nonzeros of a slot */
#define BCCOO_LANES_FULL 2048 /* nonzeros after which a chunk is closed */
#define BCCOO_LANES_MAX  2560 /* nonzeros that a chunk may have, so that not every row must be cut */
#define BCCOO_LANES_SLOP 64   /* bytes that may be read beyond the last stream */

#define BCCOO_LANES_CLAIM (128 / (PetscInt)sizeof(PetscInt)) /* two cache lines: counters of two threads never share one */

#define BCCOO_GROUP_LISTED      0
#define BCCOO_GROUP_CONSECUTIVE 1
#define BCCOO_GROUP_SINGLE      2
#define BCCOO_GROUP_SLOTS       0x0FFF /* the kind is in the highest two bits */
#define BCCOO_GROUP_GATHER      0x1000 /* of more than one row; all slots have eight lanes and a column for each */
#define BCCOO_GROUP_LOAD        0x2000 /* the same, but the columns of each slot follow each other */
#define BCCOO_SLOT_LANES        0x0F
#define BCCOO_SLOT_SAME         0x40 /* all lanes have one column; not in groups of one row */
#define BCCOO_SLOT_CONSECUTIVE  0x80 /* the column of lane l is that of lane 0 plus l */

/* How the values of a chunk are coded */
#define BCCOO_VALUES_EQUAL  0
#define BCCOO_VALUES_SMALL  1 /* 1 byte, below 16: such tables fit into registers */
#define BCCOO_VALUES_TABLE  2 /* 1 byte */
#define BCCOO_VALUES_LARGE  3 /* 2 bytes */
#define BCCOO_VALUES_OWN    4 /* 1 byte, place in a table of the chunk's own */
#define BCCOO_VALUES_SINGLE 5
#define BCCOO_VALUES_FULL   6
#define BCCOO_NVALUES       7

#if defined(PETSC_USE_REAL_DOUBLE) && !defined(PETSC_USE_COMPLEX)
  #define BCCOO_SINGLE_PRECISION 1 /* a value may be stored in single precision, and vector instructions apply */
#endif

typedef struct {
  PetscInt row, col;
  int64_t  next;                   /* bytes to the head of the chunk that comes next, tile by tile */
  uint32_t bytes;                  /* of this chunk */
  uint32_t span;                   /* rows row .. row + span - 1 */
  uint16_t n;                      /* nonzeros */
  uint16_t ngroups, nrows, nslots; /* items of these streams; pairs have n rows and neither groups nor slots */
  uint8_t  pairs;
  uint8_t  wide; /* columns take 4 bytes */
  uint8_t  values;
  uint8_t  carry : 1; /* the chunk belongs to a row that another band owns */
  uint8_t  whole : 1; /* it has groups, and all nonzeros of each of its rows */
  uint16_t ntable;    /* values of the chunk's own table */
  uint16_t cost;      /* estimated cycles of the transposed product: parts are cut by it */
} BCCOOLanesChunk;

typedef struct {
  const PetscScalar *table; /* the chunk's own */
  const void        *values;
  const uint16_t    *groups, *rows;
  const uint8_t     *slots;
  const void        *columns;
} BCCOOLanesStreams;

/* How many columns are stored for a slot */
static inline unsigned BCCOOSlotColumns(unsigned slot)
{
  return slot & (BCCOO_SLOT_CONSECUTIVE | BCCOO_SLOT_SAME) ? 1 : slot & BCCOO_SLOT_LANES;
}

static inline size_t BCCOOValueBytes(int values)
{
  return values == BCCOO_VALUES_EQUAL ? 0 : values <= BCCOO_VALUES_TABLE || values == BCCOO_VALUES_OWN ? 1 : values == BCCOO_VALUES_LARGE ? 2 : values == BCCOO_VALUES_SINGLE ? sizeof(float) : sizeof(PetscScalar);
}

static inline size_t BCCOORound(size_t n, size_t to)
{
  return (n + to - 1) / to * to;
}

#define BCCOO_LANES_HEAD BCCOORound(sizeof(BCCOOLanesChunk), sizeof(PetscScalar))

static inline BCCOOLanesStreams BCCOOLanesGetStreams(const BCCOOLanesChunk *c)
{
  const unsigned char *p     = (const unsigned char *)c + BCCOO_LANES_HEAD;
  const size_t         bytes = c->values == BCCOO_VALUES_EQUAL ? sizeof(PetscScalar) : BCCOORound(c->n * BCCOOValueBytes(c->values), 2);
  BCCOOLanesStreams    s;

  s.table = (const PetscScalar *)p;
  p += c->ntable * sizeof(PetscScalar);
  s.values  = p;
  s.groups  = (const uint16_t *)(p + bytes);
  s.rows    = s.groups + c->ngroups;
  s.slots   = (const uint8_t *)(s.rows + c->nrows);
  s.columns = (const unsigned char *)c + BCCOORound((const unsigned char *)(s.slots + c->nslots) - (const unsigned char *)c, c->wide ? sizeof(uint32_t) : sizeof(uint16_t));
  return s;
}

/*
  The products of a chunk, for one kind of vector instructions. Operands are given so that index 0 is the chunk's first row or
  column; results are added to what is there. stride is 1, or BCCOO_LANES: then the sums w of a transposed product are kept apart
  for each lane, w[j stride + lane], so that lanes do not wait for each other at columns that many rows share. Dense operands have
  nv * BCCOO_PANEL columns, packed, the entries of a row side by side, where nv is 1 or 2; or K <= BCCOO_PANEL columns, not packed.
*/
typedef struct {
  const char *name;
  void (*mult)(const BCCOOLanesChunk *, const PetscScalar *table, const PetscScalar *x, PetscScalar *y);
  void (*multtranspose)(const BCCOOLanesChunk *, const PetscScalar *table, PetscBool hermitian, const PetscScalar *u, int stride, PetscScalar *w);
  void (*multdense)(const BCCOOLanesChunk *, const PetscScalar *table, unsigned nv, const PetscScalar *x, PetscScalar *y);
  void (*multtransposedense)(const BCCOOLanesChunk *, const PetscScalar *table, PetscBool hermitian, unsigned nv, const PetscScalar *u, PetscScalar *w);
  void (*multcolumns)(const BCCOOLanesChunk *, const PetscScalar *table, PetscInt K, const PetscScalar *X, size_t ldx, PetscScalar *Y, size_t ldy);
  void (*multtransposecolumns)(const BCCOOLanesChunk *, const PetscScalar *table, PetscBool hermitian, PetscInt K, const PetscScalar *U, size_t ldu, PetscScalar *W, size_t ldw);
  void (*pack)(PetscInt n, PetscInt K, const PetscScalar *X, size_t ldx, unsigned nv, PetscScalar *x);
  void (*unpack)(PetscInt n, PetscInt K, const PetscScalar *x, unsigned nv, PetscScalar *X, size_t ldx);
} BCCOOLanesKernels;

PETSC_INTERN const BCCOOLanesKernels BCCOOLanesKernelsPortable;
#if defined(BCCOO_SINGLE_PRECISION) && defined(__x86_64__) && defined(__GNUC__)
  #define BCCOO_X86 1
PETSC_INTERN const BCCOOLanesKernels BCCOOLanesKernelsAVX2, BCCOOLanesKernelsAVX512, BCCOOLanesKernelsAVX512Loads;
#endif

/*
  Chunks of one range of columns that one thread takes in A^T u: those of bands first .. last, from data[first] + start up to
  data[last] + end. They add to the columns lo .. lo + width - 1 only. A part that has its range for itself, and the first
  of those that share one, add to v itself; the others to private sums, which begin at work[off]. With stride BCCOO_LANES
  these are kept apart for each lane, and added up when the part is done.
*/
typedef struct {
  PetscInt  range, first, last;
  size_t    start, end;
  double    cost; /* estimated cycles of its chunks */
  PetscInt  lo, width;
  int       stride;
  size_t    off, denseoff; /* in scalars; denseoff, for each column of a panel, if the part shares its range */
  PetscBool own;           /* has private sums */
  PetscBool local;         /* all parts of its range are dealt to one thread: the thread that does the last of them adds their sums to v */
} BCCOOLanesPart;

typedef struct {
  PetscInt        m, n, nnz;
  PetscInt        nbands, nranges, nparts;
  PetscInt       *own;                   /* band b owns the rows own[b] .. own[b+1]-1 ... */
  PetscInt       *start;                 /* ... and has the nonzeros start[b] .. start[b+1]-1, which may end in row own[b+1] */
  PetscInt       *bound;                 /* range r is the columns bound[r] .. bound[r+1]-1 */
  PetscInt        shift;                 /* bound[0 .. nranges-1] are multiples of 1 << shift */
  PetscInt       *lo, *hi;               /* least and largest column of a band */
  unsigned char **data;                  /* the chunks of a band */
  size_t         *tile;                  /* tile (b, r) begins at data[b] + tile[b * (nranges + 1) + r] */
  PetscInt        nstrips;               /* of a band; strip s of band b is k = b nstrips + s, the rows striprow[k] .. striprow[k+1]-1 */
  PetscInt       *striprow, *stripshare; /* stripshare[b] = b nstrips */
  size_t         *strip;                 /* the chunks of strip s of band b in range r begin at data[b] + strip[(b nranges + r) nstrips + s] */
  PetscInt       *claimed;               /* strips of band b that threads have taken in A x: claimed[b * BCCOO_LANES_CLAIM] ... */
  PetscInt       *partclaimed;           /* ... and in A^T u parts that are dealt to thread b */
  BCCOOLanesPart *part;
  PetscInt       *share;    /* parts share[t] .. share[t+1]-1 are dealt to thread t, for nbands threads */
  PetscInt       *shared;   /* ranges before r whose sums all threads bring together have shared[r] columns */
  PetscInt       *left;     /* left[r * BCCOO_LANES_CLAIM]: parts of range r that are not done, if all are dealt to one thread */
  PetscScalar    *carry;    /* BCCOO_PANEL a band */
  PetscInt       *map;      /* NULL, or the lines of columns that band b meets: map[mapstart[b]] ... (columnmap.c); the next six are set with it */
  size_t         *mapstart; /* in scratch, times BCCOO_LINE, where sums of band b, or its entries of x, begin */
  PetscInt       *nmap;     /* lines in the map of band b */
  PetscInt       *slice;    /* thread t adds up the sums of the columns slice[t] .. slice[t+1]-1, ... */
  PetscInt       *segment;  /* ... of band b those from place segment[b (nbands + 1) + t] of its map on */
  PetscInt       *place;    /* dense operands: in the map of band b thread t has come to place[t nplaces + b] */
  size_t          nplaces;
  PetscScalar    *table;
  PetscInt        ntable;
  size_t          nwork, ndensework; /* scalars of scratch that the parts need */
  size_t          span;              /* the most rows that a chunk meets */
  size_t          width;             /* the most columns of a range that no two parts share ... */
  size_t          partwidth;         /* ... and of any part */
  size_t          window;            /* the most columns of a range from the least to the largest that a band meets */
  PetscBool       near;              /* consecutive nonzeros share cache lines of x */
  /* how dense operands are taken: as they are, not packed, in A X and in A^T U; X packed by each band; A X by parts, with sums of its own
     for each thread; U packed chunk by chunk */
  PetscBool                multcolumnwise, columnwise, windows, byparts, rowwise;
  const BCCOOLanesKernels *kernels;
  BCCOOOrder               order;
  BCCOOWork                work; /* private sums of transposed products, packed operands of dense ones */
} BCCOOLanes;

PETSC_INTERN PetscErrorCode BCCOOLanesPlan(BCCOOLanes *, PetscInt nthreads, const AIJCSR *, const BCCOOOrder *);
PETSC_INTERN PetscErrorCode BCCOOLanesCutParts(BCCOOLanes *);
PETSC_INTERN PetscErrorCode BCCOOLanesMapColumns(BCCOOLanes *, const AIJCSR *, const BCCOOOrder *, double most);
PETSC_INTERN PetscErrorCode BCCOOLanesNumberColumns(const BCCOOLanes *, const AIJCSR *, const BCCOOOrder *, PetscInt[]);
PETSC_INTERN void           BCCOOLanesCopyMapped(const BCCOOLanes *, PetscInt b, const PetscScalar *, PetscScalar *);
PETSC_INTERN void           BCCOOLanesAddMapped(const BCCOOLanes *, PetscInt b, PetscInt t, const PetscScalar *, PetscScalar *);
PETSC_INTERN PetscErrorCode BCCOOLanesPlanDense(BCCOOLanes *);
PETSC_INTERN PetscErrorCode BCCOOLanesEncode(BCCOOLanes *, const AIJCSR *, const BCCOOOrder *);
PETSC_INTERN PetscErrorCode BCCOOLanesSetValues(BCCOOLanes *, const AIJCSR *, const BCCOOOrder *, PetscBool *same);

/* mult.c, matmult.c, transposematmult.c; work is scratch of at least as many scalars as the function ...Work() tells */
PETSC_INTERN size_t   BCCOOLanesMultWork(const BCCOOLanes *);
PETSC_INTERN void     BCCOOLanesMult(const BCCOOLanes *, const PetscScalar *, const PetscScalar *, PetscScalar *, PetscScalar *work);
PETSC_INTERN size_t   BCCOOLanesMultTransposeWork(const BCCOOLanes *);
PETSC_INTERN void     BCCOOLanesMultTranspose(const BCCOOLanes *, PetscBool, const PetscScalar *, const PetscScalar *, PetscScalar *, PetscScalar *work);
PETSC_INTERN PetscInt BCCOOLanesDenseVectors(const BCCOOLanes *, PetscInt K);
PETSC_INTERN size_t   BCCOOLanesMultDenseWork(const BCCOOLanes *, PetscInt K);
PETSC_INTERN void     BCCOOLanesMultDense(const BCCOOLanes *, PetscInt, const PetscScalar *, size_t, PetscScalar *, size_t, PetscScalar *work);
PETSC_INTERN size_t   BCCOOLanesMultTransposeDenseWork(const BCCOOLanes *, PetscInt K);
PETSC_INTERN void     BCCOOLanesMultTransposeDense(const BCCOOLanes *, PetscBool, PetscInt, const PetscScalar *, size_t, PetscScalar *, size_t, PetscScalar *work);

/* decode.c */
PETSC_INTERN PetscErrorCode BCCOOLanesVisit(const void *, AIJVisitor, void *);
PETSC_INTERN PetscErrorCode BCCOOLanesGetRows(const void *, PetscInt[]);
PETSC_INTERN PetscErrorCode BCCOOLanesGetCSR(const void *, const PetscInt[], PetscInt[], PetscScalar[]);

/* The k-th of a sample of one in step nonzeros, at varying distances, since patterns repeat themselves */
static inline PetscInt BCCOOSamplePlace(PetscInt k, PetscInt step)
{
  return k * step + (PetscInt)((uint64_t)((uint32_t)k * UINT32_C(0x9E3779B9)) * (uint32_t)PetscMin(step, INT32_MAX) >> 32);
}

/* Where the sums of band b, or its entries of x, begin in scratch; b = nbands: where they end */
static inline size_t BCCOOLanesMapped(const BCCOOLanes *L, PetscInt b)
{
  return L->mapstart[b] * BCCOO_LINE;
}

/* The column of A that has this place among the columns of band b's map */
static inline PetscInt BCCOOLanesMappedColumn(const BCCOOLanes *L, PetscInt b, PetscInt place)
{
  return L->map[L->mapstart[b] + (size_t)(place / BCCOO_LINE)] * BCCOO_LINE + place % BCCOO_LINE;
}

/* The chunks of tile (b, r) are those from BCCOOLanesTile(L, b, r) up to BCCOOLanesTile(L, b, r + 1) */
static inline const BCCOOLanesChunk *BCCOOLanesTile(const BCCOOLanes *L, PetscInt b, PetscInt r)
{
  return (const BCCOOLanesChunk *)(L->data[b] + L->tile[b * (L->nranges + 1) + r]);
}

static inline const BCCOOLanesChunk *BCCOOLanesNext(const BCCOOLanesChunk *c)
{
  return (const BCCOOLanesChunk *)((const unsigned char *)c + c->next);
}

/* The chunks that strip s of band b has in range r are those from here up to BCCOOLanesStripEnd() */
static inline const BCCOOLanesChunk *BCCOOLanesStripStart(const BCCOOLanes *L, PetscInt b, PetscInt r, PetscInt s)
{
  return (const BCCOOLanesChunk *)(L->data[b] + L->strip[((size_t)b * L->nranges + r) * L->nstrips + s]);
}

static inline const BCCOOLanesChunk *BCCOOLanesStripEnd(const BCCOOLanes *L, PetscInt b, PetscInt r, PetscInt s)
{
  return s == L->nstrips - 1 ? BCCOOLanesTile(L, b, r + 1) : BCCOOLanesStripStart(L, b, r, s + 1);
}

/* The next of the n pieces of thread t's work that no thread has taken; n or more if there is none */
static inline PetscInt BCCOOLanesClaim(PetscInt claimed[], PetscInt t, PetscInt n)
{
  PetscInt k;

  PetscPragmaOMP(atomic read seq_cst)
  k = claimed[t * BCCOO_LANES_CLAIM];
  if (k >= n) return k;
  PetscPragmaOMP(atomic capture seq_cst)
  k = claimed[t * BCCOO_LANES_CLAIM]++;
  return k;
}

/*
  Thread t begins. Until then its counter stands as the last product left it, and others find none of its work to take. Whoever takes
  some sees all that thread t has written before.
*/
static inline void BCCOOLanesStart(PetscInt claimed[], PetscInt t)
{
  PetscPragmaOMP(atomic write seq_cst)
  claimed[t * BCCOO_LANES_CLAIM] = 0;
}

/*
  The next piece for thread t, or -1 if none is left. Pieces share[t] .. share[t+1]-1 are its own; then it takes those of other
  threads. *tried counts the threads whose work is all taken; it is 0 at first.
*/
static inline PetscInt BCCOOLanesTake(const BCCOOLanes *L, PetscInt claimed[], const PetscInt share[], PetscInt t, PetscInt *tried)
{
  for (; *tried < L->nbands; (*tried)++) {
    const PetscInt whose = (t + *tried) % L->nbands, k = share[whose] + BCCOOLanesClaim(claimed, whose, share[whose + 1] - share[whose]);

    if (k < share[whose + 1]) return k;
  }
  return -1;
}

/* The chunks of a part in band b are those from here up to BCCOOLanesPartEnd() */
static inline const BCCOOLanesChunk *BCCOOLanesPartStart(const BCCOOLanes *L, const BCCOOLanesPart *part, PetscInt b)
{
  return b == part->first ? (const BCCOOLanesChunk *)(L->data[b] + part->start) : BCCOOLanesTile(L, b, part->range);
}

static inline const BCCOOLanesChunk *BCCOOLanesPartEnd(const BCCOOLanes *L, const BCCOOLanesPart *part, PetscInt b)
{
  return b == part->last ? (const BCCOOLanesChunk *)(L->data[b] + part->end) : BCCOOLanesTile(L, b, part->range + 1);
}

/* The first part after this one that is of another range or dealt to another thread */
static inline const BCCOOLanesPart *BCCOOLanesPartNext(const BCCOOLanes *L, const BCCOOLanesPart *part)
{
  const BCCOOLanesPart *next = part + 1;

  while (part->local && next < L->part + L->nparts && next->range == part->range) next++;
  return next;
}

/* Before a product: no part is done yet of the range whose first part is given */
static inline void BCCOOLanesCountLeft(const BCCOOLanes *L, const BCCOOLanesPart *part)
{
  L->left[part->range * BCCOO_LANES_CLAIM] = (PetscInt)(BCCOOLanesPartNext(L, part) - part);
}

/* Is a part the first, or the last, of its range? */
static inline PetscBool BCCOOLanesPartBegins(const BCCOOLanes *L, const BCCOOLanesPart *part)
{
  return (PetscBool)(part == L->part || part[-1].range != part->range);
}

static inline PetscBool BCCOOLanesPartEnds(const BCCOOLanes *L, const BCCOOLanesPart *part)
{
  return (PetscBool)(part + 1 == L->part + L->nparts || part[1].range != part->range);
}
