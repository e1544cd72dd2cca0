#pragma once

/*
  The tuned constants of the balanced layout. All were measured on an H200 (132 multiprocessors, 228 kB of shared memory each, of 256 kB that
  this shares with the first-level cache; 60 MB of second-level cache), in double precision; letters and numbers name the experiments in
  measurements/experiments.md, where the times are. What follows from the hardware or from the data structure is not here.
*/

/* Row blocks */
constexpr double CSRC_HEAVY_ROW     = 0.5;  /* nonzeros of a row of more than half a row block cost so much more: no two share a column (V24) */
constexpr int    CSRC_CUT_ROW       = 8;    /* rows of more than one in so many of a row block's nonzeros may be cut */
constexpr int    CSRC_REPLICA_ROOM  = 16;   /* one in so many accumulators is left to replicas */
constexpr double CSRC_DENSE_FILL    = 0.97; /* of the rows that fit, used where row blocks are for dense matrices: cuts are not even */
constexpr int    CSRC_PANEL_FEW     = 4;    /* row blocks are sized for panels of so many columns (D17), ... */
constexpr int    CSRC_PANEL_COLUMNS = 8;    /* ... of so many (D2), or of rows of 128 bytes, which cover all banks (D6) */

/* Order and conflict-free steps */
constexpr double CSRC_LONG_RUN       = 2.6;                     /* nonzeros of a row block in one column, on average, from which the order is consecutive (V3) */
constexpr float  CSRC_SHARES[]       = {8, 4, 2, 1, 0.5, 0.25}; /* nonzeros of a tile that may share an accumulator, tried in turn (V5, V16) */
constexpr float  CSRC_SHARE_DENSE    = 4;                       /* the first of them for dense matrices, where overflow costs more (D13) */
constexpr float  CSRC_SHARE_MORE     = 1.3f;                    /* more by this factor where not all replicas fit */
constexpr int    CSRC_OVERFLOW_DENSE = 300;                     /* of so many nonzeros one may be overflow, for dense matrices, ... */
constexpr int    CSRC_OVERFLOW       = 1000;                    /* ... for vectors, ... */
constexpr int    CSRC_OVERFLOW_NONE  = 1048576;                 /* ... and with fewer nonzeros than this none, if replicas can help: it takes a tenth of a product (V16) */
constexpr int    CSRC_LATE           = 16;                      /* of so many nonzeros of a tile one may be late at first, or other orders are tried (S17) */
constexpr int    CSRC_ROUNDS_LANE    = 28;                      /* of exchanges within lanes ... */
constexpr int    CSRC_ROUNDS_WARP    = 40;                      /* ... within warps (V16) ... */
constexpr int    CSRC_ROUNDS_BANKS   = 8;                       /* ... and against bank conflicts (D19) */

/* Products with one vector */
constexpr int CSRC_GROUPS_SHARED  = 196; /* of 227 parts of the shared memory that three warp groups may take: the rest is cache for x (V5, V6) */
constexpr int CSRC_SLICE          = 512; /* entries of v that a thread block sets to zero at a time, at least (V9) */
constexpr int CSRC_PARTIALS_AHEAD = 8;   /* reproducible A^T u: partial sums of a column that a lane has under way (V18); */
constexpr int CSRC_PARTIALS_HEAVY = 32;  /* a column has a warp of its own if its lanes had more than so many each (V28); */
constexpr int CSRC_PARTIALS_32    = 100; /* partial sums of a column, on average, from which all columns have 32 lanes, ... */
constexpr int CSRC_PARTIALS_4     = 7;   /* ... 4, ... */
constexpr int CSRC_PARTIALS_2     = 4;   /* ... or 2 (V28) */

/* Products with dense matrices */
constexpr int    CSRC_DENSE_THREADS  = 512; /* of A^T U (D18) */
constexpr double CSRC_SHORT_RUN      = 3;   /* nonzeros of a row block in one column, on average, below which A^T U adds 64 bytes at once (D34) */
constexpr int    CSRC_PACKED_COLUMNS = 32;  /* that are packed, and processed by one launch, at a time */
constexpr int    CSRC_NARROW_BYTES   = 32;  /* of a packed row, up to which a lane keeps its nonzeros in A^T U (D16) */
constexpr int    CSRC_NARROW_LIST    = 64;  /* sums of a warp that it collects then before they are added to V (D28) */

/* Lanes that share a nonzero in A X, whose packed row has so many bytes: wider rows by fewer lanes would have more bank conflicts (D6, D7, D23) */
template <int BYTES>
inline constexpr int CSRCLanesOfRow = BYTES <= 32 ? 1
                                    : BYTES <= 64 ? 4
                                                  : 2;

/* Steps between the request for an entry of X and its use, with so many lanes (D15) */
template <int LANES>
inline constexpr int CSRCStepsAhead = LANES == 1 ? 2 : 1;

/* Rows of U that a thread loads at a time into shared memory, of KT columns (D35) */
template <int KT>
inline constexpr int CSRCStagedRows = KT < 8  ? 8 / KT
                                    : KT == 8 ? 4
                                              : 1;
