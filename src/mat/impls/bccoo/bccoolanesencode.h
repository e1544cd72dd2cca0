#pragma once

/*
  What the files that make chunks share with each other only:

    bccoolanesencode.c   rows cut by ranges and gathered for chunks, band by band
    bccoolaneschunk.c    one chunk: which nonzeros are a slot, which slots a group; its bytes
    bccoolanesvalues.c   how values are coded; the table; new values
*/
#include "bccoolanes.h"
#include "bccootable.h"

#define BCCOO_LANES_OWN 256 /* values that a chunk's own table may hold */

/* The rows of a chunk that is being made, or what one tile has of them: nonzeros pos .. pos + len - 1, by column, of row */
typedef struct {
  PetscInt n, npieces;
  PetscInt collo, colhi;
  PetscInt row[BCCOO_LANES_MAX], pos[BCCOO_LANES_MAX];
  uint16_t len[BCCOO_LANES_MAX];
} BCCOOLanesPieces;

/* The streams of a chunk that is being made */
typedef struct {
  BCCOOLanesChunk head;
  uint16_t        groups[BCCOO_LANES_MAX], rows[BCCOO_LANES_MAX];
  uint8_t         slots[BCCOO_LANES_MAX];
  PetscInt        pos[BCCOO_LANES_MAX]; /* places in the CSR */
  PetscInt        col[BCCOO_LANES_MAX];
  uint16_t        order[BCCOO_LANES_MAX], count[BCCOO_LANES_MAX + 2];
  uint16_t        code[BCCOO_LANES_MAX];
  PetscScalar     own[BCCOO_LANES_OWN]; /* the chunk's own table */
  PetscInt        nown;
} BCCOOLanesDraft;

typedef struct {
  const BCCOOLanes *L;
  const AIJFormCSR *csr;
  const BCCOOOrder *order;
  BCCOODict         dict;  /* of the table */
  const uint16_t   *range; /* that has the columns k << L->shift and so on */
} BCCOOLanesEncoder;

typedef struct {
  PetscInt    count;
  PetscScalar key;
} BCCOOLanesCandidate;

PETSC_INTERN size_t         BCCOOLanesWriteChunk(const BCCOOLanesEncoder *, BCCOOLanesPieces *, PetscBool carry, BCCOOLanesDraft *, unsigned char *);
PETSC_INTERN int            BCCOOLanesChooseValues(const BCCOOLanesEncoder *, PetscInt, const PetscInt[], uint16_t[], PetscScalar[], PetscInt *);
PETSC_INTERN void           BCCOOLanesWriteValues(int, PetscInt, const PetscInt[], const uint16_t[], const PetscScalar[], void *);
PETSC_INTERN PetscErrorCode BCCOOLanesBuildTable(BCCOOLanesEncoder *, BCCOOLanesCandidate *, BCCOODict *, PetscScalar[], PetscInt *);
PETSC_INTERN PetscErrorCode BCCOOLanesMakeDict(const BCCOOLanes *, BCCOOLanesEncoder *, int **);
