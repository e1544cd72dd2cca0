#pragma once

/*
  Coding simd: products with dense matrices, a panel of 2, 4, 8 or 16 columns at a time. This comment describes how the work is divided among
  threads and how sums of several threads are added. The file has what matmult.c (A X) and transposematmult.c (A^T U) share;
  kernels/matmult.h has the work of one thread on one chunk. Row blocks and column tasks are those of the products with one vector
  (mult.c). matmultplan.c decides which of the methods below a matrix uses.

  Packed operands, the usual method: the entries of a row of a panel are stored side by side.

      A X      X is packed by all threads, by each row block for itself, or by column tasks (see docs/bccoo.md). The sums of a row block
               are packed: with one column block, those of one chunk, which are then written to Y; otherwise those of all rows of the
               row block, until its last chunk is done.
      A^T U    U is packed chunk by chunk or, if many chunks have nonzeros in the same row, beforehand by all threads. Column tasks of
               column blocks that are dealt to one thread use packed sums in memory of this thread, the same memory for all its column
               blocks; column tasks that share a column block have separate packed sums, which all threads add up in the order of the
               column tasks.

  Columnwise, for stencils, and in A X where all threads would pack X although consecutive nonzeros share its cache lines: operands are
  not packed, and no copy goes through memory and from core to core. A few chunks are multiplied with all columns before the next few, so
  that the matrix is read once.

  If packed panels are small, several form a round, since threads wait for each other once or twice in each round.
*/
#include "simdimpl.h"

/* Columns of column block r from the lowest to the highest of row block b; with maps, all places of columns in its map */
static inline void GetWindow(const BCCOOSIMD *L, PetscInt b, PetscInt r, PetscInt *lo, PetscInt *width)
{
  if (L->map) {
    *lo    = 0;
    *width = L->nmap[b] * BCCOO_LINE;
    return;
  }
  *lo    = PetscMax(L->lo[b], L->bound[r]);
  *width = PetscMax(0, PetscMin(L->hi[b] + 1, L->bound[r + 1]) - *lo);
}

/* The columns first .. first + K - 1 of the operands of a product */
static inline BCCOOOperands ColumnsOf(const BCCOOOperands *o, PetscInt first, PetscInt K)
{
  return (BCCOOOperands){o->panel, K, o->X + (PetscCount)first * o->ldx, o->ldx, o->Y + (PetscCount)first * o->ldy, o->ldy};
}

static inline PetscInt CountPanels(PetscInt K, PetscInt panel)
{
  return (K - 1) / panel + 1;
}

static inline BCCOOOperands PanelOf(const BCCOOOperands *o, PetscInt p)
{
  return ColumnsOf(o, p * o->panel, PetscMin(o->K - p * o->panel, o->panel));
}

/* How many of the panels of K columns form a round, if a panel takes so many scalars of scratch per column */
static inline PetscInt RoundPanels(PetscInt K, PetscInt panel, PetscCount scalars)
{
  const PetscInt npanels = CountPanels(K, panel);

  scalars *= panel;

  return scalars * npanels <= BCCOO_ROUND ? npanels : (PetscInt)PetscMax(1, BCCOO_ROUND / scalars);
}

/* Sets rows start .. end - 1 of K columns of Y to zero */
static inline void Zero(PetscInt start, PetscInt end, PetscInt K, PetscScalar *Y, PetscCount ldy)
{
  if (start >= end) return;
  for (PetscInt k = 0; k < K; k++) memset(Y + start + k * ldy, 0, (end - start) * sizeof(PetscScalar));
}

/* Packs all n rows of X, panel by panel; called by all threads, with a barrier at the end */
static inline void PackAll(const BCCOOSIMD *L, PetscInt n, const BCCOOOperands *o, PetscScalar *x)
{
  const PetscInt nblocks = (n - 1) / BCCOO_PACK + 1;

  PetscPragmaOMP(for schedule(static))
  for (PetscInt q = 0; q < nblocks * CountPanels(o->K, o->panel); q++) {
    const PetscInt      p = q / nblocks, start = q % nblocks * BCCOO_PACK;
    const BCCOOOperands c = PanelOf(o, p);

    L->kernels->pack(PetscMin(BCCOO_PACK, n - start), c.K, c.X + start, c.ldx, c.panel, x + ((PetscCount)p * n + start) * c.panel);
  }
}
