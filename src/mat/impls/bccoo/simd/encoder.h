#pragma once

/*
  Shared only by the files that make chunks:

    encode.c   rows cut by ranges and gathered for chunks, band by band
    chunk.c    one chunk: which nonzeros are a slot, which slots a group; its bytes
    table.c    the table of the matrix
    values.c   how values are coded; new values
*/
#include "simdimpl.h"
#include "mat/impls/bccoo/dictionary.h"

#define BCCOO_LANES_OWN   256     /* values that a chunk's own table may hold */
#define BCCOO_LANES_QUICK 16      /* values of a table that lie in registers */
#define BCCOO_LANES_NEAR  1048576 /* bytes that stay in a core's cache */

/* The pieces of rows of a chunk that is being made: nonzeros pos .. pos + len - 1, by column, of row first + row */
typedef struct {
  PetscInt n, npieces;
  PetscInt collo, colhi;
  PetscInt first;
  struct {
    PetscInt pos;
    uint16_t row, len;
  } piece[BCCOO_LANES_MAX];
} BCCOOLanesPieces;

/* The streams of a chunk that is being made */
typedef struct {
  BCCOOLanesChunk head;
  uint16_t        groups[BCCOO_LANES_MAX], rows[BCCOO_LANES_MAX];
  uint8_t         slots[BCCOO_LANES_MAX];
  PetscInt        pos[BCCOO_LANES_MAX + BCCOO_LANES]; /* places in the CSR; all lanes of a slot are written */
  PetscInt        col[BCCOO_LANES_MAX + BCCOO_LANES];
  PetscScalar     value[BCCOO_LANES_MAX];
  uint16_t        order[BCCOO_LANES_MAX], count[BCCOO_LANES_MAX + 2];
  uint16_t        code[BCCOO_LANES_MAX];
  PetscScalar     own[BCCOO_LANES_OWN]; /* the chunk's own table */
  PetscInt        nown;
} BCCOOLanesDraft;

typedef struct {
  const BCCOOLanes *L;
  const AIJCSR     *csr;
  const BCCOOOrder *order;
  BCCOODict         dict;  /* of the table */
  const uint16_t   *range; /* range[k] has the columns k << L->shift .. ((k + 1) << L->shift) - 1 */
} BCCOOLanesEncoder;

PETSC_INTERN size_t         BCCOOLanesWriteChunk(const BCCOOLanesEncoder *, BCCOOLanesPieces *, PetscBool carry, BCCOOLanesDraft *, unsigned char *);
PETSC_INTERN int            BCCOOLanesChooseValues(const BCCOOLanesEncoder *, PetscInt, const PetscScalar[], uint16_t[], PetscScalar[], PetscInt *);
PETSC_INTERN void           BCCOOLanesWriteValues(int, PetscInt, const PetscScalar[], const uint16_t[], void *);
PETSC_INTERN PetscErrorCode BCCOOLanesBuildTable(BCCOOLanes *, const AIJCSR *);
PETSC_INTERN PetscErrorCode BCCOOLanesMakeDict(const BCCOOLanes *, BCCOOLanesEncoder *, int **);

/*
  Does all that a thread reads in a product stay in its cache? Then bytes cost little and decoding costs much: a table that is not
  in registers takes as long as the gather from x.
*/
static inline PetscBool BCCOOLanesIsNear(const BCCOOLanes *L)
{
  return (PetscBool)((size_t)L->nnz / L->nbands * (sizeof(PetscScalar) + sizeof(uint32_t)) <= BCCOO_LANES_NEAR);
}

/* The values of a piece are read later, when its chunk is written, and then all at once */
static inline void BCCOOLanesPrefetch(const PetscScalar *a)
{
#if defined(__GNUC__)
  __builtin_prefetch(a, 0, 2);
#else
  (void)a;
#endif
}

/* Values at some places of a, copied as bytes so that no NaN is changed */
static inline void BCCOOLanesTakeValues(const PetscScalar a[], PetscInt n, const PetscInt pos[], PetscScalar value[])
{
  for (PetscInt k = 0; k < n; k++) memcpy(&value[k], &a[pos[k]], sizeof(*a));
}
