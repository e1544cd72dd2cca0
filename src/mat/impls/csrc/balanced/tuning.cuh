#pragma once

/*
  The tuned constants of the balanced layout. All were measured on an H200 (132 multiprocessors, each with 228 kB of shared memory out of
  256 kB that it has in common with the L1 cache; 60 MB of L2 cache), in double precision. Letters and numbers name the experiments in
  measurements/experiments.md, which has the times. Constants that follow from the hardware or from the data structure are not here.
*/

/* Row blocks */
constexpr double CSRC_HEAVY_ROW     = 0.5;     /* additional cost of a nonzero, otherwise 1, in a row of more than half a row block, where hardly two share a column (V24) */
constexpr int    CSRC_CUT_ROW       = 8;       /* a row may be cut if it has more than 1 / CSRC_CUT_ROW of the nonzeros of a row block */
constexpr int    CSRC_REPLICA_ROOM  = 16;      /* 1 / CSRC_REPLICA_ROOM of the accumulators is left to replicas */
constexpr double CSRC_DENSE_FILL    = 0.97;    /* fraction of the rows that fit, which row blocks for dense matrices have on average, since cuts are not even */
constexpr int    CSRC_PANEL_FEW     = 4;       /* row blocks are sized for panels of this many columns (D17), ... */
constexpr int    CSRC_PANEL_COLUMNS = 8;       /* ... of this many (D2), or with rows of 128 bytes, which cover all banks (D6) */
constexpr int    CSRC_PAIR_FROM     = 1500000; /* two thread blocks share a row block only in matrices of so many nonzeros, and ... */
constexpr int    CSRC_PAIR_ROW      = 6;       /* ... of so many in a row on average, since each of the two clears and adds sums of all rows, and ... */
constexpr int    CSRC_PAIR_GAIN     = 8;       /* ... if that saves one addition to v for this many nonzeros, or more (V37) */

/* Order and conflict-free steps */
constexpr double CSRC_LONG_RUN       = 2.6;     /* mean number of nonzeros of a row block in one column from which the order is consecutive (V3) */
constexpr float  CSRC_SHARE_FIRST    = 8;       /* number of nonzeros of a tile that may share an accumulator, halved ... */
constexpr int    CSRC_NSHARES        = 6;       /* ... so often, less one, until there is little overflow (V5, V16) */
constexpr float  CSRC_SHARE_DENSE    = 4;       /* the first one that is tried for dense matrices, where overflow costs more (D13) */
constexpr int    CSRC_EXCESS_BELOW   = 4000000; /* in matrices with fewer nonzeros, for vectors, a count finds shares that cannot be enough; others mostly need one attempt (S28) */
constexpr float  CSRC_SHARE_MORE     = 1.3f;    /* where not all replicas fit, the number grows by this factor until they do */
constexpr int    CSRC_OVERFLOW_DENSE = 300;     /* one of this many nonzeros may be overflow: for dense matrices, ... */
constexpr int    CSRC_OVERFLOW       = 1000;    /* ... for vectors, ... */
constexpr int    CSRC_OVERFLOW_NONE  = 1048576; /* ... and none in a matrix with fewer nonzeros than this, if replicas can avoid it: it would take a tenth of a product (V16) */
constexpr int    CSRC_CROWDED_SHARE  = 8;       /* crowded chunks get offsets in place of columns with accumulators if they are at most 1 / CSRC_CROWDED_SHARE of all, and ... */
constexpr int    CSRC_CROWDED_EACH   = 8;       /* ... all overflow is at most so many nonzeros for each of them; otherwise accumulators are too few (V32) */
constexpr double CSRC_SPLIT_FROM     = 25e6;    /* offsets are split in matrices of so many bytes, since in cache it takes longer to decode them, and ... */
constexpr double CSRC_SPLIT_GAIN     = 25;      /* ... only if that saves at least 1 / CSRC_SPLIT_GAIN of these (V34) */
constexpr int    CSRC_LATE           = 16;      /* other orders are tried if more than 1 / CSRC_LATE of the nonzeros of a tile have no step at first (S17) */
constexpr int    CSRC_ROUNDS_LANE    = 28;      /* maximum number of rounds of exchanges within lanes, ... */
constexpr int    CSRC_ROUNDS_WARP    = 40;      /* ... within warps (V16), ... */
constexpr int    CSRC_ROUNDS_BANKS   = 8;       /* ... and against bank conflicts (D19) */
constexpr int    CSRC_CLASSIFY_EACH  = 8192;    /* values that a thread block looks at, at least, before it adds its distinct ones to those of all (S28) */

/* Products with one vector */
constexpr int CSRC_GROUPS_SHARED = 196; /* three warp groups may take up to 196/227 of the shared memory; the rest is L1 cache for x (V5, V6) */
constexpr int CSRC_SLICE         = 512; /* minimum number of entries of v that a thread block sets to zero at a time (V9) */

/* Products with dense matrices */
constexpr int    CSRC_DENSE_THREADS  = 512; /* threads of a thread block in A^T U (D18) */
constexpr double CSRC_SHORT_RUN      = 3;   /* mean number of nonzeros of a row block in one column below which A^T U adds 64 bytes at once (D34) */
constexpr int    CSRC_PACKED_COLUMNS = 32;  /* maximum number of columns that are packed at a time and processed by one launch */
constexpr int    CSRC_NARROW_BYTES   = 32;  /* size of a packed row up to which lanes do not share nonzeros in A^T U (D16) */
constexpr int    CSRC_NARROW_LIST    = 64;  /* number of sums that a warp then collects before it adds them to V (D28) */

/*
  Number of lanes that share a nonzero in A X with packed rows of BYTES bytes. Fewer lanes for wider rows avoid bank conflicts (D6, D7,
  D23).
*/
template <int BYTES>
inline constexpr int CSRCLanesOfRow = BYTES <= 32 ? 1
                                    : BYTES <= 64 ? 4
                                                  : 2;

/* Number of steps between the request for an entry of X and its use if LANES lanes share a nonzero (D15) */
template <int LANES>
inline constexpr int CSRCStepsAhead = LANES == 1 ? 2 : 1;

/* Number of rows of U, of KT columns, that a thread loads at a time into shared memory (D35) */
template <int KT>
inline constexpr int CSRCStagedRows = KT < 8  ? 8 / KT
                                    : KT == 8 ? 4
                                              : 1;
