#pragma once

/*
  Entries of arrays on a device, gathered and scattered, on the stream of the current PetscDeviceContext. A row of an array is the entry
  of each of its K columns, which are a leading dimension apart; in a buffer, rows are a row stride apart and columns a column stride:
  (K, 1) packs the entries of a row side by side, (1, lda) is an array.
*/
#include <petscsys.h>

typedef struct {
  PetscScalar *a;
  PetscInt     row, column; /* strides */
} PackedRows;

/* Row p of the buffer = row idx[p] of the array, for p < n; idx NULL: row p. Rows n to total - 1 of the buffer become zero. */
PETSC_INTERN PetscErrorCode PetscCSRCPack(PetscInt n, PetscInt total, PetscInt K, const PetscInt idx[], const PetscScalar a[], PetscInt lda, PackedRows buffer);
/* Row idx[p] of the array = row p of the buffer, or that row is added to it; no row may be named twice */
PETSC_INTERN PetscErrorCode PetscCSRCUnpack(PetscInt n, PetscInt K, const PetscInt idx[], PackedRows buffer, InsertMode mode, PetscScalar a[], PetscInt lda);
/* Row idx[p] of the array += rows place[first[p] .. first[p + 1] - 1] of the buffer, in this order */
PETSC_INTERN PetscErrorCode PetscCSRCUnpackSums(PetscInt n, PetscInt K, const PetscInt idx[], const PetscInt first[], const PetscInt place[], PackedRows buffer, PetscScalar a[], PetscInt lda);
