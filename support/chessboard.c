/*
  Boundary matrices of chessboard complexes. They have the sparsity of real homology problems and can be made exactly at any
  size. The squares of their singular values are integers, mostly of high multiplicity, so they are a hard test for a
  singular value solver.

  Matrix k of an a x b board has a row for each way to place k + 1 rooks on the board so that none attacks another, and a
  column for each way to place k. Leaving out rook t of a row (rooks are counted from 0 in the order of their board rows)
  gives a column, whose entry is (-1)^t. SuiteSparse calls it ch<a>-<b>-b<k>; rows and columns may be in another order there.
*/
#include "support.h"

#define MAX_ROOKS 20 /* 21! placements do not fit 64 bits */
#define MAX_BOARD 64

/* Rooks, sorted by their board rows */
typedef struct {
  PetscInt row[MAX_ROOKS], col[MAX_ROOKS];
} Placement;

typedef struct {
  PetscInt   a, b;
  PetscInt64 binomial[MAX_BOARD + 1][MAX_ROOKS + 1];
} Board;

static void BoardInit(Board *board, PetscInt a, PetscInt b)
{
  board->a = a;
  board->b = b;
  for (PetscInt n = 0; n <= MAX_BOARD; n++) {
    board->binomial[n][0] = 1;
    for (PetscInt k = 1; k <= MAX_ROOKS; k++) board->binomial[n][k] = n ? board->binomial[n - 1][k - 1] + board->binomial[n - 1][k] : 0;
  }
}

/* Counts the placements of n rooks: choices of their board rows, times choices of a board column for each */
static PetscErrorCode CountPlacements(const Board *board, PetscInt n, PetscInt *count)
{
  PetscFunctionBegin;
  PetscCheck(board->binomial[board->a][n] <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " rooks on a %" PetscInt_FMT " x %" PetscInt_FMT " board have more placements than a PetscInt can count", n, board->a, board->b);
  *count = (PetscInt)board->binomial[board->a][n];
  for (PetscInt t = 0; t < n; t++) PetscCall(PetscIntMultError(*count, board->b - t, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Placements are numbered in lexicographic order, by board rows first */
static PetscInt PlacementNumber(const Board *board, PetscInt n, const Placement *p)
{
  PetscInt64 rows = 0, cols = 0, ways = 1;

  for (PetscInt t = 0, x = 0; t < n; t++, x++) {
    for (; x < p->row[t]; x++) rows += board->binomial[board->a - 1 - x][n - 1 - t];
  }
  for (PetscInt t = 0; t < n; t++) {
    PetscInt digit = p->col[t]; /* position among the board columns that are still free */

    for (PetscInt s = 0; s < t; s++) digit -= p->col[s] < p->col[t];
    cols = cols * (board->b - t) + digit;
    ways *= board->b - t;
  }
  return (PetscInt)(rows * ways + cols);
}

static void PlacementFromNumber(const Board *board, PetscInt n, PetscInt number, Placement *p)
{
  PetscInt64 rows, ways = 1;

  for (PetscInt t = 0; t < n; t++) ways *= board->b - t;
  rows = number / ways;
  number %= ways;
  for (PetscInt t = 0, x = 0; t < n; t++, x++) {
    for (; rows >= board->binomial[board->a - 1 - x][n - 1 - t]; x++) rows -= board->binomial[board->a - 1 - x][n - 1 - t];
    p->row[t] = x;
  }
  for (PetscInt t = 0; t < n; t++) {
    PetscBool taken = PETSC_TRUE;
    PetscInt  digit;

    ways /= board->b - t;
    digit = (PetscInt)(number / ways);
    number %= ways;
    /* finds free board column number `digit` */
    for (PetscInt c = 0; taken; c++) {
      taken = PETSC_FALSE;
      for (PetscInt s = 0; s < t; s++) taken = (PetscBool)(taken || p->col[s] == c);
      if (!taken && digit-- > 0) taken = PETSC_TRUE;
      p->col[t] = c;
    }
  }
}

/*
  MatFillChessboard - Makes a boundary matrix of a chessboard complex

  Collective

  Input Parameters:
+ A - the matrix, as for MatLoad()
. a - rows of the board
. b - columns of the board
- k - rooks in a column of the matrix; a row has one more

  Note:
  Every process generates its own rows; the matrix does not depend on the number of processes.
*/
PetscErrorCode MatFillChessboard(Mat A, PetscInt a, PetscInt b, PetscInt k)
{
  MPI_Comm     comm;
  Board        board;
  PetscInt     M, N, rstart, rend, entries;
  PetscInt    *i, *j;
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetComm((PetscObject)A, &comm));
  PetscCheck(0 < a && a <= MAX_BOARD && 0 < b && b <= MAX_BOARD, comm, PETSC_ERR_ARG_OUTOFRANGE, "Board %" PetscInt_FMT " x %" PetscInt_FMT ": both must be from 1 to %d", a, b, MAX_BOARD);
  PetscCheck(0 <= k && k < MAX_ROOKS && k < PetscMin(a, b), comm, PETSC_ERR_ARG_OUTOFRANGE, "k is %" PetscInt_FMT ": it must be from 0 to %" PetscInt_FMT ", so that k + 1 rooks have room on a %" PetscInt_FMT " x %" PetscInt_FMT " board", k,
             PetscMin(PetscMin(a, b), MAX_ROOKS) - 1, a, b);
  BoardInit(&board, a, b);
  PetscCall(CountPlacements(&board, k + 1, &M));
  PetscCall(CountPlacements(&board, k, &N));
  PetscCall(MatFillSizes(A, M, N));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  PetscCall(PetscIntMultError(rend - rstart, k + 1, &entries));
  PetscCall(PetscMalloc3(rend - rstart + 1, &i, entries, &j, entries, &v));
  i[0] = 0;
  for (PetscInt r = 0; r < rend - rstart; r++) {
    Placement rooks, fewer;

    PlacementFromNumber(&board, k + 1, rstart + r, &rooks);
    for (PetscInt t = 0; t <= k; t++) {
      for (PetscInt s = 0; s < k; s++) {
        fewer.row[s] = rooks.row[s < t ? s : s + 1];
        fewer.col[s] = rooks.col[s < t ? s : s + 1];
      }
      j[i[r] + t] = PlacementNumber(&board, k, &fewer);
      v[i[r] + t] = t % 2 ? -1.0 : 1.0;
    }
    i[r + 1] = i[r] + k + 1;
  }
  PetscCall(MatFillRows(A, i, j, v));
  PetscCall(PetscFree3(i, j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The known spectra: squares and multiplicities */
/* clang-format off */
static const SpectrumLevel ch4_4_b1[] = {{12, 6}, {8, 9}, {0, 1}};
static const SpectrumLevel ch4_4_b2[] = {{8, 15}, {6, 12}, {4, 18}, {2, 12}, {0, 15}};
static const SpectrumLevel ch5_5_b1[] = {{20, 8}, {15, 16}, {0, 1}};
static const SpectrumLevel ch5_5_b2[] = {{15, 28}, {12, 40}, {10, 48}, {7, 60}, {0, 24}};
static const SpectrumLevel ch5_6_b2[] = {{20, 6}, {19, 20}, {18, 10}, {16, 25}, {15, 36}, {14, 30}, {13, 40}, {10, 104}, {0, 29}};
static const SpectrumLevel ch6_6_b3[] = {{18, 120}, {16, 81}, {15, 160}, {14, 180}, {12, 300}, {11, 288}, {9, 320}, {8, 180}, {6, 356}, {0, 415}};
static const SpectrumLevel ch7_9_b4[] = {
  {35, 15}, {33, 160}, {31, 420}, {30, 280}, {29, 1281}, {27, 2520}, {26, 660}, {25, 2730}, {24, 5628}, {23, 945}, {22, 840}, {21, 14184},
  {20, 420}, {19, 5256}, {18, 6580}, {17, 10710}, {16, 3822}, {15, 8855}, {14, 3960}, {13, 6615}, {12, 980}, {11, 12789}, {0, 16190}
};
static const SpectrumLevel ch8_8_b4[] = {
  {32, 1001}, {29, 2560}, {28, 1260}, {27, 2688}, {26, 1400}, {25, 3584}, {24, 7140}, {22, 13752}, {20, 4760}, {19, 13440}, {18, 6440}, {17, 7168},
  {16, 4900}, {15, 11520}, {14, 1960}, {12, 16716}, {0, 17311}
};
/* clang-format on */
#define LEVELS(spectrum) PETSC_STATIC_ARRAY_LENGTH(spectrum), spectrum

/*
  ChessboardGetSpectrum - Gives the exact singular values of a boundary matrix, where they are known

  Not Collective

  Input Parameters:
+ a - rows of the board
. b - columns of the board
- k - rooks in a column of the matrix

  Output Parameters:
+ nlevels - number of distinct singular values, or 0 where they are not known
- levels  - their squares, largest first, and their multiplicities, which add up to the number of columns

  Note:
  The symmetries of the board map any column of the matrix to any other, up to its sign. All diagonal entries of a function
  of A^T A are therefore equal, and the multiplicities are the spectral weights of one Lanczos run that starts from a unit
  vector, times the number of columns. The spectra were computed in this way, with full reorthogonalization.
*/
PetscErrorCode ChessboardGetSpectrum(PetscInt a, PetscInt b, PetscInt k, PetscInt *nlevels, const SpectrumLevel *levels[])
{
  static const struct {
    PetscInt             a, b, k, nlevels;
    const SpectrumLevel *levels;
  } known[] = {
    {4, 4, 1, LEVELS(ch4_4_b1)},
    {4, 4, 2, LEVELS(ch4_4_b2)},
    {5, 5, 1, LEVELS(ch5_5_b1)},
    {5, 5, 2, LEVELS(ch5_5_b2)},
    {5, 6, 2, LEVELS(ch5_6_b2)},
    {6, 6, 3, LEVELS(ch6_6_b3)},
    {7, 9, 4, LEVELS(ch7_9_b4)},
    {8, 8, 4, LEVELS(ch8_8_b4)}
  };

  PetscFunctionBegin;
  *nlevels = 0;
  *levels  = NULL;
  for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(known); m++) {
    /* turning the board only changes signs and the order of rows and columns */
    if (known[m].k == k && known[m].a == PetscMin(a, b) && known[m].b == PetscMax(a, b)) {
      *nlevels = known[m].nlevels;
      *levels  = known[m].levels;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
