#pragma once

/*
  Gather and scatter of rows of arrays on a device, on the stream of the current PetscDeviceContext. An array has K columns, a leading
  dimension apart. A buffer has a row stride and a column stride: strides (K, 1) pack the entries of a row side by side, strides (1, lda)
  make it an array.
*/
#include <petscdevicetypes.h>
#include <petscsys.h>

typedef struct {
  PetscScalar *a;
  size_t       row, column; /* strides */
} PackedRows;

/* Row dest[k] of an array is to get the sum of rows place[first[k] .. first[k + 1] - 1] of a buffer, for k < n */
typedef struct {
  PetscMemType mem; /* of the lists: that of the array */
  PetscInt     n;
  PetscInt    *dest, *first, *place;
} ExchangeSums;

/* Row p of the buffer = row idx[p] of the array, for p < n; with idx = NULL: row p. Rows n to total - 1 of the buffer become zero. */
PETSC_INTERN PetscErrorCode PetscCSRCPack(PetscInt n, PetscInt total, PetscInt K, const PetscInt idx[], const PetscScalar a[], PetscInt lda, PackedRows buffer);
/* Row idx[p] of the array = row p of the buffer, or += with ADD_VALUES; no row may occur twice in idx */
PETSC_INTERN PetscErrorCode PetscCSRCUnpack(PetscInt n, PetscInt K, const PetscInt idx[], PackedRows buffer, InsertMode mode, PetscScalar a[], PetscInt lda);
/* Adds the sums, in this order, to rows of the array, or to 0 with INSERT_VALUES */
PETSC_INTERN PetscErrorCode PetscCSRCUnpackSums(const ExchangeSums *, PetscInt K, PackedRows buffer, InsertMode mode, PetscScalar a[], PetscInt lda);
