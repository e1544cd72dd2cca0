#pragma once

/*
  Coding `simd`: the BCCOO idea - chunks of balanced nonzero counts, columns as short differences, values through a table - in
  streams of which one step decodes eight nonzeros, one for each SIMD lane.

  Rows are cut into row blocks of equal cost, one for each thread; columns into column blocks, as few as A^T u allows (partition.c).
  The intersection of two such blocks is a tile. The nonzeros of a tile, row by row, are cut into chunks of about 2048.
  The chunks of a row block are a string of bytes, in the order in which they became full; each points to the one that comes
  next, tile by tile.

      row block 0   [ tile 0 0 ][ tile 0 1 ][ tile 0 2 ]     y = A x:    a thread does a row block, row task by row task
      row block 1   [ tile 1 0 ][ tile 1 1 ][ tile 1 2 ]     v = A^T u:  a thread does column tasks: some chunks of a
      row block 2   [ tile 2 0 ][ tile 2 1 ][ tile 2 2 ]                 column block each

  A row block is cut into a few row tasks, and no chunk has rows of two: a thread that is done with its row block takes tasks of
  others that are not.

  Where row blocks meet few columns, there may be no column blocks: each row block then has a map of its columns, and its chunks count
  columns by their places there (columnmap.c).

  A chunk is a head and six streams, each aligned to its items:

      head     rows and columns are counted from head.row and head.col
      values   one for each nonzero: nothing (all equal: one scalar), 1 or 2 bytes (place in the table of the matrix, or in
               one of the chunk's own, which comes first), 4 bytes (real double values that are exact in single precision),
               or a scalar
      slices   2 bytes a slice: its kind, how many steps it has, and whether these are all full and of one kind
      rows     2 bytes each
      steps    1 byte a step: how many lanes it has, and whether their columns follow each other or are the same
      columns  2 or 4 bytes each; one for a step whose columns follow each other or are the same, one for each lane otherwise

  A step is up to eight nonzeros, which are taken at a time. A slice is a sequence of steps that add to the same sums:

      BCCOO_SLICE_LISTED       lane l is row rows[l]            8 rows, sorted by falling length, so that a step's lanes in
      BCCOO_SLICE_CONSECUTIVE  lane l is row rows[0] + l        use are its first ones: no place is padded
      BCCOO_SLICE_SINGLE       all lanes are row rows[0]        a long row, eight nonzeros at a time, or a run of columns

  for example rows of 4, 3 and 3 nonzeros        step    0      1      2      3
                                          lanes 0 1 2  | a b c | a b c | a b c | a         steps: 3 3 3 1

  Where rows have one nonzero in a tile and do not follow each other, a chunk is a list of pairs instead: no slices and steps,
  rows and columns for each nonzero.

  Lanes not in use take part in no sum, so that a 0 x Inf can come from the matrix only.
*/
#include "mat/impls/bccoo/common.h"
#include "tuning.h"

#define BCCOO_SIMD_LANES 8  /* nonzeros of a step */
#define BCCOO_SIMD_SLOP  64 /* bytes that may be read beyond the last stream */

#define BCCOO_SIMD_CLAIM (128 / (PetscInt)sizeof(PetscInt)) /* two cache lines: counters of two threads never share one */

#define BCCOO_SLICE_LISTED      0
#define BCCOO_SLICE_CONSECUTIVE 1
#define BCCOO_SLICE_SINGLE      2
#define BCCOO_SLICE_STEPS       0x0FFF /* the kind is in the highest two bits */
#define BCCOO_SLICE_GATHER      0x1000 /* of more than one row; all steps have eight lanes and a column for each */
#define BCCOO_SLICE_LOAD        0x2000 /* the same, but the columns of each step follow each other */
#define BCCOO_STEP_LANES        0x0F
#define BCCOO_STEP_SAME         0x40 /* all lanes have one column; not in slices of one row */
#define BCCOO_STEP_CONSECUTIVE  0x80 /* the column of lane l is that of lane 0 plus l */

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
  uint16_t nslices, nrows, nsteps; /* items of these streams; pairs have n rows and neither slices nor steps */
  uint8_t  pairs;
  uint8_t  wide; /* columns take 4 bytes */
  uint8_t  values;
  uint8_t  carry : 1;  /* the chunk belongs to a row that another row block owns */
  uint8_t  whole : 1;  /* it has slices, and all nonzeros of each of its rows */
  uint8_t  listed : 1; /* A^T u lists its products before it adds them; it has slices, and no step of consecutive columns */
  uint16_t ntable;     /* values of the chunk's own table */
  uint16_t cost;       /* estimated cycles of the transposed product: column tasks are cut by it */
} BCCOOSIMDChunk;

typedef struct {
  const PetscScalar *table; /* the chunk's own */
  const void        *values;
  const uint16_t    *slices, *rows;
  const uint8_t     *steps;
  const void        *columns;
} BCCOOSIMDStreams;

/* How many columns are stored for a step */
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

#define BCCOO_SIMD_HEAD BCCOORound(sizeof(BCCOOSIMDChunk), sizeof(PetscScalar))

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
  The products of a chunk, for one kind of vector instructions. Operands are given so that index 0 is the chunk's first row or
  column; results are added to what is there. stride is 1, or BCCOO_SIMD_LANES: then the sums w of a transposed product are kept apart
  for each lane, w[j stride + lane], so that lanes do not wait for each other at columns that many rows share. Dense operands have
  nv * BCCOO_PANEL columns, packed, the entries of a row side by side, where nv is 1 or 2; or K <= BCCOO_PANEL columns, not packed.
*/
typedef struct {
  const char *name;
  void (*mult)(const BCCOOSIMDChunk *, const PetscScalar *table, const PetscScalar *x, PetscScalar *y);
  void (*multtranspose)(const BCCOOSIMDChunk *, const PetscScalar *table, PetscBool hermitian, const PetscScalar *u, int stride, PetscScalar *w);
  void (*multdense)(const BCCOOSIMDChunk *, const PetscScalar *table, unsigned nv, const PetscScalar *x, PetscScalar *y);
  void (*multtransposedense)(const BCCOOSIMDChunk *, const PetscScalar *table, PetscBool hermitian, unsigned nv, const PetscScalar *u, PetscScalar *w);
  void (*multcolumns)(const BCCOOSIMDChunk *, const PetscScalar *table, PetscInt K, const PetscScalar *X, PetscCount ldx, PetscScalar *Y, PetscCount ldy);
  void (*multtransposecolumns)(const BCCOOSIMDChunk *, const PetscScalar *table, PetscBool hermitian, PetscInt K, const PetscScalar *U, PetscCount ldu, PetscScalar *W, PetscCount ldw);
  void (*pack)(PetscInt n, PetscInt K, const PetscScalar *X, PetscCount ldx, unsigned nv, PetscScalar *x);
  void (*unpack)(PetscInt n, PetscInt K, const PetscScalar *x, unsigned nv, PetscScalar *X, PetscCount ldx);
} BCCOOSIMDKernels;

PETSC_INTERN const BCCOOSIMDKernels BCCOOSIMDKernelsPortable;
#if defined(BCCOO_SINGLE_PRECISION) && defined(__x86_64__) && defined(__GNUC__)
  #define BCCOO_X86 1
PETSC_INTERN const BCCOOSIMDKernels BCCOOSIMDKernelsAVX2, BCCOOSIMDKernelsAVX512, BCCOOSIMDKernelsAVX512Loads;

  /* Functions between the two are compiled for these instructions */
  #define BCCOO_PRAGMA(text) _Pragma(#text)
  #if defined(__clang__)
    #define BCCOO_BEGIN_INSTRUCTIONS(names) BCCOO_PRAGMA(clang attribute push(__attribute__((target(names))), apply_to = function))
    #define BCCOO_END_INSTRUCTIONS          BCCOO_PRAGMA(clang attribute pop)
  #else
    #define BCCOO_BEGIN_INSTRUCTIONS(names) BCCOO_PRAGMA(GCC push_options) BCCOO_PRAGMA(GCC target(names))
    #define BCCOO_END_INSTRUCTIONS          BCCOO_PRAGMA(GCC pop_options)
  #endif
#endif

/*
  Chunks of one column block that one thread takes in A^T u: those of row blocks first .. last, from data[first] + start up to
  data[last] + end. They add to the columns lo .. lo + width - 1 only. A column task that has its column block for itself, and the first
  of those that share one, add to v itself; the others to private sums, which begin at work[off]. With stride BCCOO_SIMD_LANES
  these are kept apart for each lane, and added up when the column task is done.
*/
typedef struct {
  PetscInt   colblock, first, last;
  size_t     start, end;
  double     cost; /* estimated cycles of its chunks */
  PetscInt   lo, width;
  int        stride;
  PetscCount off, denseoff; /* in scalars; denseoff, for each column of a panel, if the column task shares its column block */
  PetscBool  own;           /* has private sums */
  PetscBool  local;         /* all column tasks of its column block are dealt to one thread: the thread that does the last of them adds their sums to v */
} BCCOOColumnTask;

/* sharing.c: whether the threads share a product, A x or A^T u, or one does it alone */
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
  PetscInt        *start;               /* ... and has the nonzeros start[b] .. start[b+1]-1, which may end in row own[b+1] */
  PetscInt        *bound;               /* column block r is the columns bound[r] .. bound[r+1]-1 */
  PetscInt         shift;               /* bound[0 .. ncolblocks-1] are multiples of 1 << shift */
  PetscInt        *lo, *hi;             /* least and largest column of a row block */
  unsigned char  **data;                /* the chunks of a row block */
  size_t          *tile;                /* tile (b, r) begins at data[b] + tile[b * (ncolblocks + 1) + r] */
  PetscInt         nrowtasks;           /* of a row block; row task s of row block b is k = b nrowtasks + s, the rows taskrow[k] .. taskrow[k+1]-1 */
  PetscInt        *taskrow, *taskshare; /* taskshare[b] = b nrowtasks */
  size_t          *rowtask;             /* the chunks of row task s of row block b in column block r begin at data[b] + rowtask[(b ncolblocks + r) nrowtasks + s] */
  PetscInt        *claimed;             /* row tasks of row block b that threads have taken in A x: claimed[b * BCCOO_SIMD_CLAIM] ... */
  PetscInt        *coltaskclaimed;      /* ... and in A^T u column tasks that are dealt to thread b */
  BCCOOColumnTask *coltask;
  PetscInt        *share;      /* column tasks share[t] .. share[t+1]-1 are dealt to thread t, for nrowblocks threads */
  PetscInt        *shared;     /* column blocks before r whose sums all threads bring together have shared[r] columns */
  PetscInt        *left;       /* left[r * BCCOO_SIMD_CLAIM]: column tasks of column block r that are not done, if all are dealt to one thread */
  PetscScalar     *carry;      /* BCCOO_PANEL a row block */
  BCCOOSIMDSharing sharing[2]; /* A x, A^T u */
  PetscInt        *map;        /* NULL, or the lines of columns that row block b meets: map[mapstart[b]] ... (columnmap.c); the next six are set with it */
  PetscCount      *mapstart;   /* in scratch, times BCCOO_LINE, where sums of row block b, or its entries of x, begin */
  PetscInt        *nmap;       /* lines in the map of row block b */
  PetscInt        *stretch;    /* thread t adds up the sums of the columns stretch[t] .. stretch[t+1]-1, ... */
  PetscInt        *segment;    /* ... of row block b those from place segment[b (nrowblocks + 1) + t] of its map on */
  PetscInt        *place;      /* dense operands: in the map of row block b thread t has come to place[t nplaces + b] */
  PetscCount       nplaces;
  PetscScalar     *table;
  PetscInt         ntable;
  PetscCount       nwork, ndensework; /* scalars of scratch that the column tasks need */
  PetscCount       span;              /* the most rows that a chunk meets */
  PetscCount       width;             /* the most columns of a column block that no two column tasks share ... */
  PetscCount       coltaskwidth;      /* ... and of any column task */
  PetscCount       window;            /* the most columns of a column block from the least to the largest that a row block meets */
  PetscBool        near;              /* consecutive nonzeros share cache lines of x */
  /* how dense operands are taken: as they are, not packed, in A X and in A^T U; X packed by each row block; A X by column tasks, with sums of its own
     for each thread; U packed chunk by chunk */
  PetscBool               multcolumnwise, columnwise, windows, bycoltasks, rowwise;
  const BCCOOSIMDKernels *kernels;
  BCCOOOrder              order;
  BCCOOWork               work; /* private sums of transposed products, packed operands of dense ones */
} BCCOOSIMD;

PETSC_INTERN PetscErrorCode BCCOOSIMDPlan(BCCOOSIMD *, PetscInt nthreads, const AIJCSR *, const BCCOOOrder *);
PETSC_INTERN PetscErrorCode BCCOOSIMDCutColumnTasks(BCCOOSIMD *);
PETSC_INTERN PetscErrorCode BCCOOSIMDMapColumns(BCCOOSIMD *, const AIJCSR *, const BCCOOOrder *, double most);
PETSC_INTERN PetscErrorCode BCCOOSIMDNumberColumns(const BCCOOSIMD *, const AIJCSR *, const BCCOOOrder *, PetscInt[]);
PETSC_INTERN void           BCCOOSIMDCopyMapped(const BCCOOSIMD *, PetscInt b, const PetscScalar *, PetscScalar *);
PETSC_INTERN void           BCCOOSIMDAddMapped(const BCCOOSIMD *, PetscInt b, PetscInt t, const PetscScalar *, PetscScalar *);
PETSC_INTERN PetscErrorCode BCCOOSIMDPlanDense(BCCOOSIMD *);
PETSC_INTERN PetscErrorCode BCCOOSIMDEncode(BCCOOSIMD *, const AIJCSR *, const BCCOOOrder *);
PETSC_INTERN PetscErrorCode BCCOOSIMDSetValues(BCCOOSIMD *, const AIJCSR *, const BCCOOOrder *, PetscBool *same);

/* mult.c, matmult.c, transposematmult.c */
/* sharing.c: before and after a product; *shared: the threads share it */
PETSC_INTERN PetscErrorCode BCCOOSIMDSharingBegin(const BCCOOSIMD *, BCCOOSIMDSharing *, PetscBool *shared);
PETSC_INTERN PetscErrorCode BCCOOSIMDSharingEnd(const BCCOOSIMD *, BCCOOSIMDSharing *);
PETSC_INTERN PetscErrorCode BCCOOSIMDMult(BCCOOSIMD *, const PetscScalar *, const PetscScalar *, PetscScalar *);
PETSC_INTERN PetscErrorCode BCCOOSIMDMultTranspose(BCCOOSIMD *, PetscBool, const PetscScalar *, const PetscScalar *, PetscScalar *);
PETSC_INTERN PetscInt       BCCOOSIMDDenseVectors(const BCCOOSIMD *, PetscInt K);
PETSC_INTERN PetscErrorCode BCCOOSIMDMultDense(BCCOOSIMD *, PetscInt, const PetscScalar *, PetscCount, PetscScalar *, PetscCount);
PETSC_INTERN PetscErrorCode BCCOOSIMDMultTransposeDense(BCCOOSIMD *, PetscBool, PetscInt, const PetscScalar *, PetscCount, PetscScalar *, PetscCount);

/* decode.c */
PETSC_INTERN PetscErrorCode BCCOOSIMDVisit(const void *, AIJVisitor, void *);
PETSC_INTERN PetscErrorCode BCCOOSIMDGetRows(const void *, PetscInt[]);
PETSC_INTERN PetscErrorCode BCCOOSIMDGetCSR(const void *, const PetscInt[], PetscInt[], PetscScalar[]);

/* The k-th of a sample of one in step nonzeros, at varying distances, since patterns repeat themselves */
static inline PetscInt BCCOOSamplePlace(PetscInt k, PetscInt jump)
{
  return k * jump + (PetscInt)((uint64_t)((uint32_t)k * UINT32_C(0x9E3779B9)) * (uint32_t)PetscMin(jump, INT32_MAX) >> 32);
}

/* Where the sums of row block b, or its entries of x, begin in scratch; b = nrowblocks: where they end */
static inline PetscCount BCCOOSIMDMapped(const BCCOOSIMD *L, PetscInt b)
{
  return L->mapstart[b] * BCCOO_LINE;
}

/* The column of A that has this place among the columns of row block b's map */
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

/* The chunks that row task s of row block b has in column block r are those from here up to BCCOORowTaskEnd() */
static inline const BCCOOSIMDChunk *BCCOORowTaskStart(const BCCOOSIMD *L, PetscInt b, PetscInt r, PetscInt s)
{
  return (const BCCOOSIMDChunk *)(L->data[b] + L->rowtask[((PetscCount)b * L->ncolblocks + r) * L->nrowtasks + s]);
}

static inline const BCCOOSIMDChunk *BCCOORowTaskEnd(const BCCOOSIMD *L, PetscInt b, PetscInt r, PetscInt s)
{
  return s == L->nrowtasks - 1 ? BCCOOSIMDTile(L, b, r + 1) : BCCOORowTaskStart(L, b, r, s + 1);
}

/* The next of the n pieces of thread t's work that no thread has taken; n or more if there is none */
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
  Thread t begins. Until then its counter stands as the last product left it, and others find none of its work to take. Whoever takes
  some sees all that thread t has written before.
*/
static inline void BCCOOSIMDStart(PetscInt claimed[], PetscInt t)
{
  PetscPragmaOMP(atomic write seq_cst)
  claimed[t * BCCOO_SIMD_CLAIM] = 0;
}

/*
  The next piece for thread t, or -1 if none is left. Pieces share[t] .. share[t+1]-1 are its own; then it takes those of other
  threads. *tried counts the threads whose work is all taken; it is 0 at first.
*/
static inline PetscInt BCCOOSIMDTake(const BCCOOSIMD *L, PetscInt claimed[], const PetscInt share[], PetscInt t, PetscInt *tried)
{
  for (; *tried < L->nrowblocks; (*tried)++) {
    const PetscInt whose = (t + *tried) % L->nrowblocks, k = share[whose] + BCCOOSIMDClaim(claimed, whose, share[whose + 1] - share[whose]);

    if (k < share[whose + 1]) return k;
  }
  return -1;
}

/* The chunks of a part in row block b are those from here up to BCCOOColumnTaskEnd() */
static inline const BCCOOSIMDChunk *BCCOOColumnTaskStart(const BCCOOSIMD *L, const BCCOOColumnTask *coltask, PetscInt b)
{
  return b == coltask->first ? (const BCCOOSIMDChunk *)(L->data[b] + coltask->start) : BCCOOSIMDTile(L, b, coltask->colblock);
}

static inline const BCCOOSIMDChunk *BCCOOColumnTaskEnd(const BCCOOSIMD *L, const BCCOOColumnTask *coltask, PetscInt b)
{
  return b == coltask->last ? (const BCCOOSIMDChunk *)(L->data[b] + coltask->end) : BCCOOSIMDTile(L, b, coltask->colblock + 1);
}

/* The first column task after this one that is of another column block or dealt to another thread */
static inline const BCCOOColumnTask *BCCOOColumnTaskNext(const BCCOOSIMD *L, const BCCOOColumnTask *coltask)
{
  const BCCOOColumnTask *next = coltask + 1;

  while (coltask->local && next < L->coltask + L->ncoltasks && next->colblock == coltask->colblock) next++;
  return next;
}

/* Before a product: no column task is done yet of the column block whose first column task is given */
static inline void BCCOOSIMDCountLeft(const BCCOOSIMD *L, const BCCOOColumnTask *coltask)
{
  L->left[coltask->colblock * BCCOO_SIMD_CLAIM] = (PetscInt)(BCCOOColumnTaskNext(L, coltask) - coltask);
}

/* Is a column task the first, or the last, of its column block? */
static inline PetscBool BCCOOColumnTaskBegins(const BCCOOSIMD *L, const BCCOOColumnTask *coltask)
{
  return (PetscBool)(coltask == L->coltask || coltask[-1].colblock != coltask->colblock);
}

static inline PetscBool BCCOOColumnTaskEnds(const BCCOOSIMD *L, const BCCOOColumnTask *coltask)
{
  return (PetscBool)(coltask + 1 == L->coltask + L->ncoltasks || coltask[1].colblock != coltask->colblock);
}
