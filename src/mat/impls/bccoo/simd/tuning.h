#pragma once

/*
  The tuned constants of the coding simd. They were measured in double precision on 16 cores of a Xeon with AVX-512 and on one core of an
  EPYC (Zen 4); times in cycles or ns are those of these machines. A letter with a number names an experiment in
  measurements/experiments.md. Constants that follow from the layout of a chunk are in simdimpl.h.
*/

/* Chunks */
#define BCCOO_SIMD_FULL  2048 /* nonzeros after which a chunk is closed */
#define BCCOO_SIMD_MAX   2560 /* nonzeros that a chunk may have; the excess lets most chunks end with a whole row */
#define BCCOO_SIMD_CUT   512  /* rows longer than this are cut where a chunk is full */
#define BCCOO_SIMD_OPEN  32   /* column blocks for which chunks are made at a time: with more, row tasks are read several times (C29) */
#define BCCOO_SIMD_SPARE 2    /* row tasks of other row blocks that a thread has memory for (C38) */

/* Values are stored in full, or by the table in registers, if so many bytes of nonzeros stay in cache between products */
#define BCCOO_SIMD_CORE 1048576  /* ... in that of a core (C17), ... */
#define BCCOO_SIMD_NODE 25165824 /* ... and in the last-level cache that all processes of a node share (C64) */

/*
  Cycles for A x and A^T u together, of a step, a slice, a nonzero in a chunk of pairs (C8, C9). They decide how nonzeros are grouped into
  slices, and how A^T u is cut into column tasks, and nothing else.
*/
#define COST_STEP   19
#define COST_RUN    9  /* a step whose columns are consecutive or the same */
#define COST_CHANGE 12 /* a step whose number of lanes is mispredicted */
#define COST_WAIT   8  /* a lane with the same column as the lane before it, for whose sum it waits ... */
#define COST_HIDDEN 4  /* ... and how much of this wait remains in a whole chunk, where steps overlap (C21) */
#define COST_FAR    2  /* a lane whose column is far from that of the lane before it, in a chunk of many columns */
#define COST_SLICE  24
#define COST_NEXT   10 /* a slice of consecutive rows, for which vectors of y and u are loaded and stored */
#define COST_PAIR   5

#define FIRST_CACHE 32768 /* bytes */

/* The table of values */
#define BCCOO_SIMD_SAMPLE 32768 /* values in the sample (C28) */
#define BCCOO_SIMD_TABLE  8192  /* values that the table may hold */
#define BCCOO_SIMD_FEW    256   /* different values that a part counts if the table is limited to those that fit into registers (C28) */

/* Row blocks, row tasks, column blocks */
#define BCCOO_PLAN_THREADS 16384  /* nonzeros from which threads are started, and then all of them: teams of changing size cost more (C7) */
#define BCCOO_PLAN_TILE    768    /* nonzeros that a tile should have in the mean, at least */
#define BCCOO_PLAN_TASKS   4      /* row tasks per row block, at most (C14) ... */
#define BCCOO_PLAN_TASK    512    /* ... with at least so many nonzeros of a row task in each tile */
#define BCCOO_PLAN_SAMPLE  16384  /* nonzeros in the sample (C10, C28) */
#define BCCOO_PLAN_BUCKETS 16384  /* buckets into which their columns are sorted */
#define BCCOO_PLAN_WINDOW  1024   /* consecutive nonzeros whose lines of x should stay in cache */
#define BCCOO_PLAN_PIECES  256    /* consecutive nonzeros in each window of the sample of rows */
#define BCCOO_PLAN_FINE    8      /* largest number of column blocks per thread that is tried (C44) */
#define BCCOO_PLAN_LEVELS  32     /* how many numbers of column blocks are tried, at most */
#define BCCOO_PLAN_CACHE   524288 /* bytes of x that stay in a core's cache; columns then take 2 bytes, too (C5) */
#define BCCOO_PLAN_SHARE   2000   /* cycles of imbalance that are accepted so that one column block is not shared ... */
#define BCCOO_PLAN_BARRIER 6000   /* ... and so that none is shared, which saves the barrier (C35) */
#define BCCOO_PLAN_TAIL    0.3    /* fraction of a thread's only column block that another thread may take ... */
#define BCCOO_PLAN_TAILSUM 4      /* ... if this fraction costs at least so many cycles per column (C36) */
#define BCCOO_PLAN_APART   1024   /* number of columns up to which each lane has separate sums ... */
#define BCCOO_PLAN_SHARED  60.0   /* ... if each column takes more cycles than this (C37) */
#define BCCOO_MAP_GAPS     2      /* maps pay if row blocks touch at most one in so many of the lines between their first and their last (C45) */

/* Costs of column blocks, in ns per nonzero for A x and A^T u together (C35, C44) */
#define COST_PIECE  2.0 /* times the pieces of rows per nonzero */
#define COST_LINE   3.5 /* times the cache lines of y, or of u, that column blocks touch per nonzero */
#define COST_SUM    4.0 /* times the private sums per nonzero, which other cores read */
#define COST_UNEVEN 0.2 /* imbalance of the threads: in A x with one row task per row block, and again in A^T u with one column block per thread */
#define COST_COPY   0.5 /* with maps, times the columns per nonzero in which row blocks have nonzeros: entries of x are copied ... */
#define COST_MAPPED 3.0 /* ... and sums are added up, line by line */

/* COST_SUM, COST_UNEVEN and COST_MAPPED hold for so many threads; with fewer they are lower, nearly zero with two (C40) */
#define COST_THREADS 16

/* Products with dense matrices */
#define BCCOO_PACK        512     /* rows that a thread packs at a time */
#define BCCOO_MERGE_PANEL 64      /* rows or columns of A whose sums a thread adds up at a time */
#define BCCOO_ROUND       524288  /* scalars of scratch up to which several panels form a round */
#define BCCOO_SHARE       4       /* private copies of rows of X, or of rows of sums, pay if there are so many nonzeros for each row (C23) */
#define BCCOO_GAPS        4       /* U is packed chunk by chunk unless chunks have nonzeros in fewer than one in so many of the rows that they span */
#define BCCOO_MANY        8       /* number of threads from which X, packed by one core and read by others, costs more than gathers from its columns (C39) */
#define BCCOO_DENSE_NEAR  8388608 /* bytes of packed rows up to which panels of 16 columns pay (C65) */
#define BCCOO_FOLLOW      0.8     /* fraction of nonzeros in steps with consecutive rows and columns from which columnwise pays (C25) */

/*
  Costs in ns of one core (C65). Of a product with a vector: a step with a column for each lane, and one with consecutive columns or one column, in
  A x and in A^T u; a slice whose rows are listed. Of one with a packed panel: a nonzero, a nonzero and column, a packed entry. Of each: a byte of
  the chunks; the parallel region, if several threads share it.
*/
#define COST_GATHERED    2.8
#define COST_LOADED      1.3
#define COST_SCATTERED   3.5
#define COST_STORED      1.6
#define COST_ROWS        5.0
#define COST_DENSE       0.47
#define COST_DENSECOLUMN 0.04
#define COST_PACKED      0.4
#define COST_BYTE        0.015
#define COST_REGION      4000.0
