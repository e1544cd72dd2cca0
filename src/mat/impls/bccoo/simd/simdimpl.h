#pragma once

/*
  Coding `simd`. It keeps the ideas of BCCOO: chunks with balanced numbers of nonzeros, columns stored as short differences, values
  stored as places in a table. These data are arranged in streams so that one step decodes eight nonzeros, one in each SIMD lane.

  The rows are cut into row blocks of equal cost, one for each thread. The columns are cut into column blocks, as few as an efficient
  A^T u allows (partition.c). The intersection of a row block and a column block is a tile. The nonzeros of a tile, row by row, are cut
  into chunks of about 2048. The chunks of a row block are stored one after the other in the order in which they became full; each
  has the distance to the chunk that follows it tile by tile.

      row block 0   [ tile 0 0 ][ tile 0 1 ][ tile 0 2 ]     y = A x:    a thread computes a row block, row task by row task
      row block 1   [ tile 1 0 ][ tile 1 1 ][ tile 1 2 ]     v = A^T u:  a thread computes column tasks; each consists of
      row block 2   [ tile 2 0 ][ tile 2 1 ][ tile 2 2 ]                 some chunks of one column block

  A row block is cut into a few row tasks; no chunk has rows of two row tasks. A thread that has finished its row block takes row tasks
  of threads that have not.

  If each row block has nonzeros in few columns, there may be no column blocks. Each row block then has a map of its columns, and its
  chunks store the places of columns in this map (columnmap.c).

  A chunk is a head and streams, each aligned to its items:

      head     rows and columns are counted from head.row and head.col
      table    the values of the chunk's own table, if it has one
      values   if all values are equal: one scalar; otherwise for each nonzero 1 or 2 bytes (the place in the matrix's table, or
               in the chunk's own table), 4 bytes (real double values that are exact in single precision), or a scalar
      slices   2 bytes per slice: its kind, its number of steps, and whether all steps are full and of one kind
      rows     2 bytes each
      steps    1 byte per step: its number of lanes, and whether their columns are consecutive or the same
      columns  2 or 4 bytes each; one for a step whose columns are consecutive or the same, otherwise one for each lane

  A step is up to eight nonzeros, which are processed together. A slice is a sequence of steps that add to the same sums:

      BCCOO_SLICE_LISTED       lane l is row rows[l]            up to 8 rows, sorted by falling length, so that the lanes in use
      BCCOO_SLICE_CONSECUTIVE  lane l is row rows[0] + l        are the first lanes of each step: nothing is padded
      BCCOO_SLICE_SINGLE       all lanes are row rows[0]        a long row; a step is eight nonzeros or a run of columns

  for example rows of 4, 3 and 3 nonzeros        step    0      1      2      3
                                          lanes 0 1 2  | a b c | a b c | a b c | a         steps: 3 3 3 1

  If steps would cost more, for instance because rows have one nonzero in a tile and are not consecutive, the chunk is a list of
  pairs: it has no slices and steps, but a row and a column for each nonzero.

  Lanes that are not in use take part in no sum, so that a product 0 x Inf can only come from a stored zero of the matrix.
*/
#include "mat/impls/bccoo/common.h"
#include "tuning.h"

#define BCCOO_SIMD_LANES 8  /* nonzeros of a step */
#define BCCOO_SIMD_SLOP  64 /* bytes beyond the last stream that may be read */

#define BCCOO_SIMD_CLAIM (128 / (PetscInt)sizeof(PetscInt)) /* two cache lines: the counters of two threads never share a line */

#define BCCOO_SLICE_LISTED      0
#define BCCOO_SLICE_CONSECUTIVE 1
#define BCCOO_SLICE_SINGLE      2
#define BCCOO_SLICE_STEPS       0x0FFF /* the kind is in the highest two bits */
#define BCCOO_SLICE_GATHER      0x1000 /* several rows; all steps have eight lanes and a column for each lane */
#define BCCOO_SLICE_LOAD        0x2000 /* several rows; all steps have eight lanes and consecutive columns */
#define BCCOO_STEP_LANES        0x0F
#define BCCOO_STEP_SAME         0x40 /* all lanes have the same column; not in slices of one row */
#define BCCOO_STEP_CONSECUTIVE  0x80 /* the column of lane l is that of lane 0 plus l */

#define BCCOO_SIMD_QUICK 16 /* values of a table that fit into registers */

/* How the values of a chunk are coded */
#define BCCOO_VALUES_EQUAL  0
#define BCCOO_VALUES_SMALL  1 /* 1 byte, place below BCCOO_SIMD_QUICK in the matrix's table */
#define BCCOO_VALUES_TABLE  2 /* 1 byte, place in the matrix's table */
#define BCCOO_VALUES_LARGE  3 /* 2 bytes, place in the matrix's table */
#define BCCOO_VALUES_OWN    4 /* 1 byte, place in the chunk's own table */
#define BCCOO_VALUES_SINGLE 5
#define BCCOO_VALUES_FULL   6
#define BCCOO_NVALUES       7

#if defined(PETSC_USE_REAL_DOUBLE) && !defined(PETSC_USE_COMPLEX)
  #define BCCOO_REAL_DOUBLE 1 /* values may be stored in single precision, and kernels with vector instructions exist */
#endif

typedef struct {
  PetscInt row, col;
  int64_t  next;                   /* distance in bytes to the head of the chunk that follows tile by tile */
  uint32_t bytes;                  /* size of this chunk */
  uint32_t span;                   /* rows row .. row + span - 1 */
  uint16_t n;                      /* nonzeros */
  uint16_t nslices, nrows, nsteps; /* number of items in these streams; a chunk of pairs has n rows and neither slices nor steps */
  uint8_t  pairs;
  uint8_t  wide; /* columns take 4 bytes */
  uint8_t  values;
  uint8_t  carry : 1;    /* its nonzeros are of a row that another row block owns */
  uint8_t  whole : 1;    /* it has slices, and all nonzeros of each of its rows */
  uint8_t  deferred : 1; /* A^T u lists all its products before it adds them; it has slices, and no steps of consecutive columns */
  uint16_t ntable;       /* number of values in the chunk's own table */
  uint16_t cost;         /* estimated cycles of the transposed product, by which column tasks are cut */
} BCCOOSIMDChunk;

typedef struct {
  const PetscScalar *table; /* the chunk's own table */
  const void        *values;
  const uint16_t    *slices, *rows;
  const uint8_t     *steps;
  const void        *columns;
} BCCOOSIMDStreams;

/* Number of columns that are stored for a step */
static inline unsigned BCCOOStepColumns(unsigned step)
{
  return step & (BCCOO_STEP_CONSECUTIVE | BCCOO_STEP_SAME) ? 1 : step & BCCOO_STEP_LANES;
}

static inline size_t BCCOOValueBytes(int values)
{
  return values == BCCOO_VALUES_EQUAL ? 0 : values <= BCCOO_VALUES_TABLE || values == BCCOO_VALUES_OWN ? 1 : values == BCCOO_VALUES_LARGE ? 2 : values == BCCOO_VALUES_SINGLE ? sizeof(float) : sizeof(PetscScalar);
}

static inline size_t BCCOORound(size_t n, size_t to)
{
  return (n + to - 1) / to * to;
}

/* Of chunks, which follow each other: their heads hold int64_t, and values come next */
#define BCCOO_SIMD_ALIGN PetscMax(sizeof(PetscScalar), sizeof(int64_t))
#define BCCOO_SIMD_HEAD  BCCOORound(sizeof(BCCOOSIMDChunk), BCCOO_SIMD_ALIGN)

static inline BCCOOSIMDStreams BCCOOSIMDGetStreams(const BCCOOSIMDChunk *c)
{
  const unsigned char *p     = (const unsigned char *)c + BCCOO_SIMD_HEAD;
  const size_t         bytes = c->values == BCCOO_VALUES_EQUAL ? sizeof(PetscScalar) : BCCOORound(c->n * BCCOOValueBytes(c->values), 2);
  BCCOOSIMDStreams     s;

  s.table = (const PetscScalar *)p;
  p += c->ntable * sizeof(PetscScalar);
  s.values  = p;
  s.slices  = (const uint16_t *)(p + bytes);
  s.rows    = s.slices + c->nslices;
  s.steps   = (const uint8_t *)(s.rows + c->nrows);
  s.columns = (const unsigned char *)c + BCCOORound((const unsigned char *)(s.steps + c->nsteps) - (const unsigned char *)c, c->wide ? sizeof(uint32_t) : sizeof(uint16_t));
  return s;
}

/*
  Products with one chunk, for one set of vector instructions. Index 0 of an operand is the chunk's first row or column. Results are
  added to the output. The kernels multdense and multtransposedense take packed operands: a panel of 2, 4, 8 or 16 columns, with the entries of
  a row side by side. Those named columns take BCCOO_PANEL columns of operands that are not packed.

  stride is 1 or BCCOO_SIMD_LANES. With the latter a transposed product has separate sums for each lane, w[j stride + lane], so that
  lanes do not wait for each other at columns that many rows share.
*/
typedef struct {
  const char *name;
  PetscBool   loads; /* a gather of eight lanes is eight loads */
  void (*mult)(const BCCOOSIMDChunk *, const PetscScalar *table, const PetscScalar *x, PetscScalar *y);
  void (*multtranspose)(const BCCOOSIMDChunk *, const PetscScalar *table, PetscBool hermitian, const PetscScalar *u, int stride, PetscScalar *w);
  void (*multdense)(const BCCOOSIMDChunk *, const PetscScalar *table, PetscInt panel, const PetscScalar *x, PetscScalar *y);
  void (*multtransposedense)(const BCCOOSIMDChunk *, const PetscScalar *table, PetscBool hermitian, PetscInt panel, const PetscScalar *u, PetscScalar *w);
  void (*multcolumns)(const BCCOOSIMDChunk *, const PetscScalar *table, const PetscScalar *X, PetscCount ldx, PetscScalar *Y, PetscCount ldy);
  void (*multtransposecolumns)(const BCCOOSIMDChunk *, const PetscScalar *table, PetscBool hermitian, const PetscScalar *U, PetscCount ldu, PetscScalar *W, PetscCount ldw);
  void (*pack)(PetscInt n, PetscInt K, const PetscScalar *X, PetscCount ldx, PetscInt panel, PetscScalar *x);
  void (*unpack)(PetscInt n, PetscInt K, const PetscScalar *x, PetscInt panel, PetscScalar *X, PetscCount ldx);
} BCCOOSIMDKernels;

PETSC_INTERN const BCCOOSIMDKernels BCCOOSIMDKernelsPortable;
#if defined(BCCOO_REAL_DOUBLE) && defined(__x86_64__) && defined(__GNUC__)
  #define BCCOO_X86 1
PETSC_INTERN const BCCOOSIMDKernels BCCOOSIMDKernelsAVX2, BCCOOSIMDKernelsAVX512, BCCOOSIMDKernelsAVX512Loads;

  /* Functions between these two macros are compiled for the instructions named */
  #define BCCOO_PRAGMA(text) _Pragma(#text)
  #if defined(__clang__)
    #define BCCOO_BEGIN_INSTRUCTIONS(names) BCCOO_PRAGMA(clang attribute push(__attribute__((target(names))), apply_to = function))
    #define BCCOO_END_INSTRUCTIONS          BCCOO_PRAGMA(clang attribute pop)
  #else
    #define BCCOO_BEGIN_INSTRUCTIONS(names) BCCOO_PRAGMA(GCC push_options) BCCOO_PRAGMA(GCC target(names))
    #define BCCOO_END_INSTRUCTIONS          BCCOO_PRAGMA(GCC pop_options)
  #endif
#elif defined(BCCOO_REAL_DOUBLE) && defined(__aarch64__) && defined(__ARM_NEON)
  #define BCCOO_NEON 1
PETSC_INTERN const BCCOOSIMDKernels BCCOOSIMDKernelsNEON;
#endif

/*
  A column task: the chunks of one column block that one thread processes in A^T u. They are those of row blocks first .. last, from
  data[first] + start up to data[last] + end, and add to the columns lo .. lo + width - 1 only. The first column task of a column block,
  which may be its only one, adds to v itself; the others, and all with stride BCCOO_SIMD_LANES, add to private sums, which begin
  at work[off]. With this stride there are separate sums for each lane, which are added up at the end of the column task.
*/
typedef struct {
  PetscInt   colblock, first, last;
  size_t     start, end;
  double     cost; /* estimated cycles of its chunks */
  PetscInt   lo, width;
  int        stride;
  PetscCount off, denseoff; /* in scalars; denseoff: the same for dense operands, per column of a panel; if local, the same place for all of a thread */
  PetscBool  own;           /* has private sums */
  PetscBool  local;         /* all column tasks of its column block are dealt to one thread: the thread that finishes the last of them adds their sums to v */
} BCCOOColumnTask;

/* mult.c: whether the threads share a product, A x or A^T u, or one does it alone */
typedef struct {
  PetscBool      alone;
  PetscInt       products;    /* of this turn so far, */
  PetscLogDouble time, begin; /* the seconds that they took, and when the last of them began */
  PetscLogDouble last;        /* the mean of the last shared turn */
  PetscInt       left, stay;  /* turns before the other kind is tried; the next number of these */
} BCCOOSIMDSharing;

typedef struct {
  PetscInt         m, n, nnz;
  PetscInt         nrowblocks, ncolblocks, ncoltasks;
  PetscInt        *own;                 /* row block b owns the rows own[b] .. own[b+1]-1 ... */
  PetscInt        *start;               /* ... and has the nonzeros start[b] .. start[b+1]-1; the last of them may be in row own[b+1] */
  PetscInt        *bound;               /* column block r has the columns bound[r] .. bound[r+1]-1 */
  PetscInt         shift;               /* bound[0 .. ncolblocks-1] are multiples of 1 << shift */
  PetscInt        *lo, *hi;             /* lowest and highest column of a row block */
  unsigned char  **data;                /* the chunks of a row block */
  size_t          *tile;                /* tile (b, r) begins at data[b] + tile[b * (ncolblocks + 1) + r] */
  PetscInt         nrowtasks;           /* per row block; row task s of row block b has number k = b nrowtasks + s and the rows taskrow[k] .. taskrow[k+1]-1 */
  PetscInt        *taskrow, *taskshare; /* taskshare[b] = b nrowtasks */
  size_t          *rowtask;             /* the chunks of row task s of row block b in column block r begin at data[b] + rowtask[(b ncolblocks + r) nrowtasks + s] */
  PetscInt        *claimed;             /* claimed[b * BCCOO_SIMD_CLAIM]: number of row tasks of row block b that threads have taken in A x ... */
  PetscInt        *coltaskclaimed;      /* ... and of the column tasks dealt to thread b that threads have taken in A^T u */
  BCCOOColumnTask *coltask;
  PetscInt        *share;      /* column tasks share[t] .. share[t+1]-1 are dealt to thread t, for nrowblocks threads */
  PetscInt        *shared;     /* total number of columns, before column block r, of the column blocks whose sums all threads add up together */
  PetscInt        *left;       /* left[r * BCCOO_SIMD_CLAIM]: number of unfinished column tasks of column block r, if all are dealt to one thread */
  PetscScalar     *carry;      /* BCCOO_PANEL per row block */
  BCCOOSIMDSharing sharing[2]; /* A x, A^T u */
  PetscInt        *map;        /* NULL, or from map[mapstart[b]] on the lines of columns where row block b has nonzeros (columnmap.c); the next six are set with it */
  PetscCount      *mapstart;   /* times BCCOO_LINE also where, in scratch, the sums of row block b, or its entries of x, begin */
  PetscInt        *nmap;       /* number of lines in the map of row block b */
  PetscInt        *stretch;    /* thread t adds up the sums of the columns stretch[t] .. stretch[t+1]-1, ... */
  PetscInt        *segment;    /* ... which for row block b begin at place segment[b (nrowblocks + 1) + t] of its map */
  PetscInt        *place;      /* dense operands: place[t nplaces + b] is the place that thread t has reached in the map of row block b */
  PetscCount       nplaces;
  PetscScalar     *table;
  PetscInt         ntable;
  PetscInt         recoded;           /* how often new values did not fit the coding of a chunk; from the second time on all values are stored in full */
  PetscCount       nwork, ndensework; /* scalars of scratch that the column tasks need; ndensework: per column of a panel */
  PetscCount       span;              /* most rows, from its first to its last, of any chunk */
  PetscCount       nlocal;            /* per column of a panel, scalars of scratch for the sums of local column tasks: of all threads, the most columns of any of them */
  PetscCount       coltaskwidth;      /* most columns of any column task */
  PetscCount       window;            /* most columns, from the lowest to the highest with nonzeros, of any row block in a column block; with maps: of any map */
  PetscBool        sparse;            /* most cache lines of x and v have no nonzero: none is used again, and v is filled before A^T u, many lines at a time, which are then not read */
  PetscBool        near;              /* many consecutive nonzeros share cache lines of x */
  PetscBool        incache;           /* all nonzeros, with values in full, stay in cache between products */
  /* dense operands: multcolumnwise, columnwise: those of A X, and of A^T U, are not packed; windows: each row block packs the rows of X that it needs;
     bycoltasks: A X is computed by column tasks, with private sums of each thread; rowwise: U is packed chunk by chunk */
  PetscBool               multcolumnwise, columnwise, windows, bycoltasks, rowwise;
  double                  vectortime[2], readtime; /* estimates in ns of one core: arithmetic of A x, and of A^T u; reading the chunks */
  const BCCOOSIMDKernels *kernels;
  BCCOOOrder              order;
  BCCOOWork               work; /* private sums of transposed products, packed dense operands */
} BCCOOSIMD;

PETSC_INTERN PetscErrorCode BCCOOSIMDPlan(BCCOOSIMD *, const AIJCSR *);
PETSC_INTERN PetscErrorCode BCCOOSIMDCutColumnTasks(BCCOOSIMD *);
PETSC_INTERN PetscErrorCode BCCOOSIMDMapColumns(BCCOOSIMD *, const AIJCSR *, double most);
PETSC_INTERN PetscErrorCode BCCOOSIMDNumberColumns(const BCCOOSIMD *, const AIJCSR *, PetscInt[]);
PETSC_INTERN void           BCCOOSIMDCopyMapped(const BCCOOSIMD *, PetscInt b, const PetscScalar *, PetscScalar *);
PETSC_INTERN void           BCCOOSIMDAddMapped(const BCCOOSIMD *, PetscInt b, PetscInt t, const PetscScalar *, PetscScalar *);
PETSC_INTERN PetscErrorCode BCCOOSIMDPlanDense(BCCOOSIMD *);
PETSC_INTERN PetscErrorCode BCCOOSIMDEncode(BCCOOSIMD *, const AIJCSR *);
PETSC_INTERN PetscErrorCode BCCOOSIMDSetValues(BCCOOSIMD *, const AIJCSR *, PetscBool *same);

/* mult.c, matmult.c, matmultplan.c, transposematmult.c */
PETSC_INTERN PetscErrorCode BCCOOSIMDMult(BCCOOSIMD *, const PetscScalar *, const PetscScalar *, PetscScalar *);
PETSC_INTERN PetscErrorCode BCCOOSIMDMultTranspose(BCCOOSIMD *, PetscBool, const PetscScalar *, const PetscScalar *, PetscScalar *);
PETSC_INTERN PetscInt       BCCOOSIMDPanel(const BCCOOSIMD *, PetscBool transpose, PetscInt K, PetscInt *columns);
/* The operands of a product Y = op(A) X with K columns, which are multiplied in panels of this width */
typedef struct {
  PetscInt           panel, K;
  const PetscScalar *X;
  PetscCount         ldx;
  PetscScalar       *Y;
  PetscCount         ldy;
} BCCOOOperands;
PETSC_INTERN PetscErrorCode BCCOOSIMDMultDense(BCCOOSIMD *, const BCCOOOperands *);
PETSC_INTERN PetscErrorCode BCCOOSIMDMultTransposeDense(BCCOOSIMD *, PetscBool, const BCCOOOperands *);

/* decode.c */
PETSC_INTERN PetscErrorCode BCCOOSIMDVisit(const void *, AIJVisitor, void *);
PETSC_INTERN PetscErrorCode BCCOOSIMDGetRows(const void *, PetscInt[]);
PETSC_INTERN PetscErrorCode BCCOOSIMDGetCSR(const void *, const PetscInt[], PetscInt[], PetscScalar[]);

/* Place of the k-th nonzero of a sample of one in `jump` nonzeros; their distances vary because nonzero patterns are often periodic */
static inline PetscInt BCCOOSamplePlace(PetscInt k, PetscInt jump)
{
  return k * jump + (PetscInt)((uint64_t)((uint32_t)k * UINT32_C(0x9E3779B9)) * (uint32_t)PetscMin(jump, INT32_MAX) >> 32);
}

/* Where in scratch the sums of row block b, or its entries of x, begin; for b = nrowblocks: where the last ones end */
static inline PetscCount BCCOOSIMDMapped(const BCCOOSIMD *L, PetscInt b)
{
  return L->mapstart[b] * BCCOO_LINE;
}

/* The column of A at this place among the columns of row block b's map */
static inline PetscInt BCCOOSIMDMappedColumn(const BCCOOSIMD *L, PetscInt b, PetscInt place)
{
  return L->map[L->mapstart[b] + (PetscCount)(place / BCCOO_LINE)] * BCCOO_LINE + place % BCCOO_LINE;
}

/* The chunks of tile (b, r) are those from BCCOOSIMDTile(L, b, r) up to BCCOOSIMDTile(L, b, r + 1) */
static inline const BCCOOSIMDChunk *BCCOOSIMDTile(const BCCOOSIMD *L, PetscInt b, PetscInt r)
{
  return (const BCCOOSIMDChunk *)(L->data[b] + L->tile[b * (L->ncolblocks + 1) + r]);
}

static inline const BCCOOSIMDChunk *BCCOOSIMDNext(const BCCOOSIMDChunk *c)
{
  return (const BCCOOSIMDChunk *)((const unsigned char *)c + c->next);
}

/* The chunks of row task s of row block b in column block r are those from BCCOORowTaskStart() up to BCCOORowTaskEnd() */
static inline const BCCOOSIMDChunk *BCCOORowTaskStart(const BCCOOSIMD *L, PetscInt b, PetscInt r, PetscInt s)
{
  return (const BCCOOSIMDChunk *)(L->data[b] + L->rowtask[((PetscCount)b * L->ncolblocks + r) * L->nrowtasks + s]);
}

static inline const BCCOOSIMDChunk *BCCOORowTaskEnd(const BCCOOSIMD *L, PetscInt b, PetscInt r, PetscInt s)
{
  return s == L->nrowtasks - 1 ? BCCOOSIMDTile(L, b, r + 1) : BCCOORowTaskStart(L, b, r, s + 1);
}

/* The next of thread t's n tasks that no thread has taken; n or more if all are taken */
static inline PetscInt BCCOOSIMDClaim(PetscInt claimed[], PetscInt t, PetscInt n)
{
  PetscInt k;

  PetscPragmaOMP(atomic read seq_cst)
  k = claimed[t * BCCOO_SIMD_CLAIM];
  if (k >= n) return k;
  PetscPragmaOMP(atomic capture seq_cst)
  k = claimed[t * BCCOO_SIMD_CLAIM]++;
  return k;
}

/*
  Thread t lets its tasks be taken. Until then its counter is as the last product left it, at the end, so that other threads find no task
  of it. A thread that takes one sees all that thread t has written before this call.
*/
static inline void BCCOOSIMDStart(PetscInt claimed[], PetscInt t)
{
  PetscPragmaOMP(atomic write seq_cst)
  claimed[t * BCCOO_SIMD_CLAIM] = 0;
}

/*
  The next task for thread t, or -1 if none is left. It first takes its own tasks, share[t] .. share[t+1]-1, then those of other threads.
  *tried counts the threads whose tasks are all taken; it is 0 at first.
*/
static inline PetscInt BCCOOSIMDTake(const BCCOOSIMD *L, PetscInt claimed[], const PetscInt share[], PetscInt t, PetscInt *tried)
{
  for (; *tried < L->nrowblocks; (*tried)++) {
    const PetscInt whose = (t + *tried) % L->nrowblocks, k = share[whose] + BCCOOSIMDClaim(claimed, whose, share[whose + 1] - share[whose]);

    if (k < share[whose + 1]) return k;
  }
  return -1;
}

/* The chunks of a column task in row block b are those from BCCOOColumnTaskStart() up to BCCOOColumnTaskEnd() */
static inline const BCCOOSIMDChunk *BCCOOColumnTaskStart(const BCCOOSIMD *L, const BCCOOColumnTask *coltask, PetscInt b)
{
  return b == coltask->first ? (const BCCOOSIMDChunk *)(L->data[b] + coltask->start) : BCCOOSIMDTile(L, b, coltask->colblock);
}

static inline const BCCOOSIMDChunk *BCCOOColumnTaskEnd(const BCCOOSIMD *L, const BCCOOColumnTask *coltask, PetscInt b)
{
  return b == coltask->last ? (const BCCOOSIMDChunk *)(L->data[b] + coltask->end) : BCCOOSIMDTile(L, b, coltask->colblock + 1);
}

/* The first column task after this one that belongs to another column block or is dealt to another thread */
static inline const BCCOOColumnTask *BCCOOColumnTaskNext(const BCCOOSIMD *L, const BCCOOColumnTask *coltask)
{
  const BCCOOColumnTask *next = coltask + 1;

  while (coltask->local && next < L->coltask + L->ncoltasks && next->colblock == coltask->colblock) next++;
  return next;
}

/* Before a product: all column tasks of the column block whose first column task is given are unfinished */
static inline void BCCOOSIMDCountLeft(const BCCOOSIMD *L, const BCCOOColumnTask *coltask)
{
  L->left[coltask->colblock * BCCOO_SIMD_CLAIM] = (PetscInt)(BCCOOColumnTaskNext(L, coltask) - coltask);
}

/* Whether a column task is the first, or the last, of its column block */
static inline PetscBool BCCOOColumnTaskBegins(const BCCOOSIMD *L, const BCCOOColumnTask *coltask)
{
  return (PetscBool)(coltask == L->coltask || coltask[-1].colblock != coltask->colblock);
}

static inline PetscBool BCCOOColumnTaskEnds(const BCCOOSIMD *L, const BCCOOColumnTask *coltask)
{
  return (PetscBool)(coltask + 1 == L->coltask + L->ncoltasks || coltask[1].colblock != coltask->colblock);
}
