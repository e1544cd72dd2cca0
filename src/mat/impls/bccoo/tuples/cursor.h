#pragma once

/*
  A cursor reads the nonzeros of a range of chunks one after the other. The products are loops over a cursor; they are written once for
  both codings and compiled for each, with the coding a constant.
*/
#include "tuplesimpl.h"

typedef struct {
  PetscInt    row, col; /* the nonzero that was read last */
  PetscScalar val;

  const unsigned char *p, *end;     /* tuples: next tuple, end of the chunk's tuples */
  PetscInt             chunk, last; /* tuples: the chunk that is being read, and the first one that is not read */
  PetscInt             k, kend;     /* none: the next nonzero, and the first one that is not read */
} BCCOOCursor;

static inline void BCCOOCursorStart(BCCOOCursor *q, const BCCOOTuples *f, BCCOOCoding coding, PetscInt first, PetscInt last)
{
  q->row = q->col = 0;
  if (coding == CODING_NONE) {
    q->k    = BCCOOChunkStart(f, first);
    q->kend = BCCOOChunkStart(f, last);
  } else {
    q->chunk = first - 1;
    q->last  = last;
    q->p = q->end = f->data + f->offset[first];
  }
}

/* Reads the next nonzero; returns false if there is none */
static inline PetscBool BCCOOCursorNext(BCCOOCursor *q, const BCCOOTuples *f, BCCOOCoding coding)
{
  if (coding == CODING_NONE) {
    if (q->k == q->kend) return PETSC_FALSE;
    q->row = f->row[q->k];
    q->col = f->col[q->k];
    q->val = f->val[q->k++];
  } else {
    unsigned int key;

    if (q->p == q->end) {
      if (++q->chunk == q->last) return PETSC_FALSE;
      q->row = f->crow[q->chunk];
      q->col = 0;
      q->end = f->data + f->offset[q->chunk + 1];
    }
    for (key = *q->p++; key == BCCOO_KEY_ROWEND; key = *q->p++) {
      q->row++;
      q->col = 0;
    }
    if ((key & BCCOO_KEY_ROWEND) < BCCOO_CODE_DELTA) {
      q->col += key & BCCOO_KEY_ROWEND;
    } else if ((key & BCCOO_KEY_ROWEND) == BCCOO_CODE_DELTA) {
      uint16_t delta;

      memcpy(&delta, q->p, sizeof(delta));
      q->col += delta;
      q->p += sizeof(delta);
    } else {
      memcpy(&q->col, q->p, sizeof(q->col));
      q->p += sizeof(q->col);
    }
    if (key & BCCOO_KEY_TABLED) {
      q->val = f->table[*q->p++];
    } else {
      memcpy(&q->val, q->p, sizeof(q->val));
      q->p += sizeof(q->val);
    }
  }
  return PETSC_TRUE;
}
