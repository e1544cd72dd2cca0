#pragma once

/*
  The tuned constants of the coding simd. They were measured on 16 cores of a Xeon with AVX-512 and on one core of an EPYC (Zen 4), in double
  precision; letters and numbers name the experiments in measurements/experiments.md. Times in cycles or ns are of these machines. What
  follows from the bytes of a chunk is in simdimpl.h.
*/

/* Chunks */
#define BCCOO_SIMD_FULL  2048    /* nonzeros after which a chunk is closed */
#define BCCOO_SIMD_MAX   2560    /* nonzeros that a chunk may have, so that not every row must be cut */
#define BCCOO_SIMD_CUT   512     /* rows longer than this are cut where a chunk is full */
#define BCCOO_SIMD_OPEN  32      /* column blocks that gather at a time: with more, row tasks are read several times (C29) */
#define BCCOO_SIMD_SPARE 2       /* row tasks of other row blocks that a thread has room for (C38) */
#define BCCOO_SIMD_NEAR  1048576 /* bytes that stay in a core's cache: values are then stored in full (C17) */

/*
  What products take, in cycles, for A x and A^T u together: a step, a slice, a nonzero of a chunk of pairs (C8, C9). These decide how
  nonzeros are grouped, and how A^T u is cut into column tasks, and nothing else.
*/
#define COST_STEP   19
#define COST_RUN    9  /* a step whose columns are consecutive or the same */
#define COST_CHANGE 12 /* a step whose number of lanes is mispredicted */
#define COST_WAIT   8  /* a lane with the column of the lane before, for whose sum it waits ... */
#define COST_HIDDEN 4  /* ... and what is left of that wait in the cost of a whole chunk, where steps overlap (C21) */
#define COST_FAR    2  /* a lane whose column is far from that of the lane before, in a chunk of many columns */
#define COST_SLICE  24
#define COST_NEXT   10 /* a slice of consecutive rows: vectors of y and u are loaded and stored */
#define COST_PAIR   5

#define FIRST_CACHE 32768 /* bytes */

/* The table of values */
#define BCCOO_SIMD_SAMPLE 32768 /* values looked at (C28) */
#define BCCOO_SIMD_TABLE  8192  /* values that it may hold */
#define BCCOO_SIMD_FEW    256   /* values that a part counts where the table has no more than those in registers (C28) */

/* Row blocks, row tasks, column blocks */
#define BCCOO_PLAN_THREADS 16384  /* nonzeros that are worth starting threads, and then all of them: teams that change their size cost more (C7) */
#define BCCOO_PLAN_TILE    768    /* nonzeros that are worth a tile */
#define BCCOO_PLAN_STRIPS  4      /* row tasks of a row block, at most (C14) ... */
#define BCCOO_PLAN_STRIP   512    /* ... with at least so many nonzeros in each of its tiles */
#define BCCOO_PLAN_SAMPLE  16384  /* nonzeros in the sample (C10, C28) */
#define BCCOO_PLAN_BUCKETS 16384  /* buckets into which their columns are sorted */
#define BCCOO_PLAN_WINDOW  1024   /* consecutive nonzeros whose lines of x should stay in cache */
#define BCCOO_PLAN_PIECES  256    /* consecutive nonzeros in each piece of the sample of rows */
#define BCCOO_PLAN_FINE    8      /* column blocks for each thread that are tried, at most (C44) */
#define BCCOO_PLAN_LEVELS  32     /* numbers of column blocks that are tried, at most */
#define BCCOO_PLAN_CACHE   524288 /* bytes of x that stay in a core's cache; columns then take 2 bytes, too (C5) */
#define BCCOO_PLAN_SHARE   2000   /* cycles of imbalance that are accepted to keep a column block from being shared ... */
#define BCCOO_PLAN_BARRIER 6000   /* ... and to keep all of them from it, which saves the barrier (C35) */
#define BCCOO_PLAN_TAIL    0.3    /* share of a column block that another thread may take, if the column block is all that a thread has ... */
#define BCCOO_PLAN_TAILSUM 4      /* ... and if that share costs at least so many cycles for each column (C36) */
#define BCCOO_PLAN_APART   1024   /* columns up to which sums are kept apart for each lane ... */
#define BCCOO_PLAN_SHARED  60.0   /* ... if each column takes more cycles than this (C37) */
#define BCCOO_MAP_GAPS     2      /* maps pay if row blocks meet less than one in so many of the lines between their first and their last (C45) */

/* What column blocks cost, ns a nonzero for A x and A^T u together (C35, C44) */
#define COST_PIECE  2.0 /* per nonzero, times the pieces of rows per nonzero */
#define COST_LINE   3.5 /* per nonzero, times the cache lines of y, or of u, that column blocks touch per nonzero */
#define COST_SUM    4.0 /* per nonzero, times the private sums per nonzero, which other cores read */
#define COST_UNEVEN 0.2 /* the slowest thread decides: in A x with one row task in a row block, and again in A^T u with one column block for a thread */
#define COST_COPY   0.5 /* per nonzero, times the columns per nonzero that row blocks meet, if they are numbered: x is copied ... */
#define COST_MAPPED 3.0 /* ... and sums are added up, line by line */

/* COST_SUM, COST_UNEVEN and COST_MAPPED hold for so many threads; with fewer they are less, next to nothing with two (C40) */
#define COST_THREADS 16

/* Products with dense matrices */
#define BCCOO_PACK        512    /* rows that a thread packs at a time */
#define BCCOO_MERGE_PANEL 64     /* columns that a thread merges at a time */
#define BCCOO_ROUND       524288 /* scalars of scratch up to which several panels form a round */
#define BCCOO_CHUNKS      16     /* chunks that are done for all columns before the next, columnwise */
#define BCCOO_SHARE       4      /* private copies of rows of X, or of rows of sums, pay if there are so many nonzeros for each (C23) */
#define BCCOO_GAPS        4      /* U is packed chunk by chunk unless chunks have fewer than one in so many of the rows that they span */
#define BCCOO_MANY        8      /* threads from which X, packed by one core and read by others, costs more than gathers from its columns (C39) */
#define BCCOO_VECTORS     2      /* columns that are not worth a packed panel */
#define BCCOO_FOLLOW      0.8    /* share of the nonzeros in steps whose rows and columns are consecutive, from which columnwise pays (C25) */
