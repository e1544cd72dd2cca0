#pragma once

/*
  Shared by the files that make chunks:

    encode.c   cuts rows by column blocks and collects the pieces in chunks, row block by row block
    chunk.c    one chunk: groups nonzeros into steps and steps into slices, and writes the chunk
    table.c    the matrix's table of values
    values.c   the coding of values; new values
*/
#include "simdimpl.h"
#include "mat/impls/bccoo/dictionary.h"

#define BCCOO_SIMD_OWN 256 /* values that a chunk's own table may hold */

/* The pieces of rows of a chunk that is being made: a piece is the nonzeros pos .. pos + len - 1, sorted by column, of row first + row */
typedef struct {
  PetscInt n, npieces;
  PetscInt collo, colhi;
  PetscInt first;
  struct {
    PetscInt pos;
    uint16_t row, len;
  } piece[BCCOO_SIMD_MAX];
} BCCOOSIMDPieces;

/* The streams of a chunk that is being made */
typedef struct {
  BCCOOSIMDChunk head;
  uint16_t       slices[BCCOO_SIMD_MAX], rows[BCCOO_SIMD_MAX];
  uint8_t        steps[BCCOO_SIMD_MAX];
  PetscInt       pos[BCCOO_SIMD_MAX + BCCOO_SIMD_LANES]; /* places in the CSR; all lanes of a step are written */
  PetscInt       col[BCCOO_SIMD_MAX + BCCOO_SIMD_LANES];
  PetscScalar    value[BCCOO_SIMD_MAX];
  uint16_t       order[BCCOO_SIMD_MAX], count[BCCOO_SIMD_MAX + 2];
  uint16_t       code[BCCOO_SIMD_MAX];
  PetscScalar    own[BCCOO_SIMD_OWN]; /* the chunk's own table */
  PetscInt       nown;
} BCCOOSIMDDraft;

typedef struct {
  const BCCOOSIMD *L;
  const AIJCSR    *csr;      /* with sorted rows */
  BCCOODict        dict;     /* of the matrix's table */
  const uint16_t  *colblock; /* colblock[k] is the column block of the columns k << L->shift .. ((k + 1) << L->shift) - 1 */
} BCCOOSIMDEncoder;

PETSC_INTERN size_t         BCCOOSIMDWriteChunk(const BCCOOSIMDEncoder *, BCCOOSIMDPieces *, PetscBool carry, BCCOOSIMDDraft *, unsigned char *);
PETSC_INTERN int            BCCOOSIMDChooseValues(const BCCOOSIMDEncoder *, PetscInt, const PetscScalar[], uint16_t[], PetscScalar[], PetscInt *);
PETSC_INTERN void           BCCOOSIMDWriteValues(int, PetscInt, const PetscScalar[], const uint16_t[], void *);
PETSC_INTERN PetscErrorCode BCCOOSIMDBuildTable(BCCOOSIMD *, const AIJCSR *);
PETSC_INTERN PetscErrorCode BCCOOSIMDMakeDict(const BCCOOSIMD *, BCCOOSIMDEncoder *, int **);

/* The values of a piece are read when its chunk is written, with those of all its other pieces: they are prefetched before that */
static inline void BCCOOSIMDPrefetch(const PetscScalar *a)
{
#if defined(__GNUC__)
  __builtin_prefetch(a, 0, 2);
#else
  (void)a;
#endif
}

/* Gathers values from a; they are copied as bytes so that no NaN is changed */
static inline void BCCOOSIMDTakeValues(const PetscScalar a[], PetscInt n, const PetscInt pos[], PetscScalar value[])
{
  for (PetscInt k = 0; k < n; k++) memcpy(&value[k], &a[pos[k]], sizeof(*a));
}
