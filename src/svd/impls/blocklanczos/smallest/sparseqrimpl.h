#pragma once

/* sparseqr.h, for its two files: sparseqrorder.c, which orders the columns and finds the structure of R, and sparseqr.c, which factors and solves */
#include "sparseqr.h"

/* A front is factored as soon as so many times as many rows as it has columns have come together */
#define CHUNK 3

typedef struct {
  PetscInt     npiv, n, parent; /* columns that are eliminated here; all columns; the front to which the rest goes, or -1 */
  PetscInt     next, child;     /* the next front with the same parent; the first of those that have this as their parent */
  PetscCount   columns;         /* where they begin in qr->column, in the order of elimination */
  PetscInt     rows, first;     /* the number of rows that come here; the first one of A, a list by qr->nextrow */
  PetscInt     nrest;           /* what is left by reflections: rows */
  PetscScalar *rest, *R;        /* what is left, until it is passed on, nrest x (n - npiv), or by Cholesky the columns of an upper triangle; npiv x n */
} Front;

struct _n_SparseQR {
  PetscInt     m, n, nfronts, widest;
  Front       *front;
  PetscInt    *column, *pos; /* columns of fronts, as positions in the order of elimination; the position of each column */
  PetscInt    *nextrow;
  double       entries, flops, normalflops;
  PetscScalar *top; /* of the stack, during a factorisation */
};
