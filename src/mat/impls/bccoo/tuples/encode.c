/*
  Makes chunks from a CSR. Data that depend on the pattern only are made once; all others are made again for new values, so that the
  tuples with new values are byte for byte those of a new matrix.
*/
#include "mat/impls/bccoo/dictionary.h"
#include "tuplesimpl.h"

/* The nonzeros of a chunk in the order in which they are stored: row, column, place in the CSR */
typedef struct {
  PetscInt n;
  PetscInt row[BCCOO_CHUNK], col[BCCOO_CHUNK], pos[BCCOO_CHUNK];
} BCCOOChunk;

/* Arrays that only the encoder needs */
typedef struct {
  PetscInt *lo, *hi; /* lowest and highest column of each chunk */
  size_t   *offset;
} BCCOOEncodeScratch;

static void ChunkLoad(const BCCOOTuples *f, const AIJCSR *csr, PetscInt c, BCCOOChunk *chunk)
{
  const PetscInt start = BCCOOChunkStart(f, c), end = BCCOOChunkStart(f, c + 1);
  PetscInt       i = f->crow[c], u = BCCOOLowerBound(f->order.nunsorted, f->order.urow, i);

  chunk->n = end - start;
  for (PetscInt k = start; k < end; i++) {
    const PetscInt  first = csr->i[i], stop = PetscMin(end, csr->i[i + 1]);
    const PetscInt *perm = u < f->order.nunsorted && f->order.urow[u] == i ? f->order.perm + f->order.uptr[u++] : NULL;

    for (; k < stop; k++) {
      const PetscInt pos = perm ? first + perm[k - first] : k;

      chunk->row[k - start] = i;
      chunk->col[k - start] = csr->j[pos];
      chunk->pos[k - start] = pos;
    }
  }
}

/* The code for the column of a nonzero (columns ascend from 0); the next function returns the number of bytes that follow the key */
static inline unsigned char ColumnCode(PetscInt previous, PetscInt col)
{
  if (col - previous > UINT16_MAX) return BCCOO_CODE_COLUMN;
  return (unsigned char)PetscMin(col - previous, BCCOO_CODE_DELTA);
}

static inline size_t ColumnBytes(unsigned char code)
{
  return code < BCCOO_CODE_DELTA ? 0 : code == BCCOO_CODE_DELTA ? sizeof(uint16_t) : sizeof(PetscInt);
}

static size_t ChunkBytes(const BCCOODict *dict, const AIJCSR *csr, const BCCOOChunk *chunk)
{
  size_t   bytes = chunk->row[chunk->n - 1] - chunk->row[0], where;
  PetscInt row = chunk->row[0], previous = 0;

  for (PetscInt k = 0; k < chunk->n; k++) {
    if (chunk->row[k] != row) previous = 0;
    row = chunk->row[k];
    bytes += 1 + ColumnBytes(ColumnCode(previous, chunk->col[k]));
    bytes += BCCOODictFind(dict, &csr->a[chunk->pos[k]], &where) >= 0 ? 1 : sizeof(PetscScalar);
    previous = chunk->col[k];
  }
  return bytes;
}

static void ChunkEncode(const BCCOODict *dict, const AIJCSR *csr, const BCCOOChunk *chunk, unsigned char *p)
{
  PetscInt row = chunk->row[0], previous = 0;
  size_t   where;

  for (PetscInt k = 0; k < chunk->n; k++) {
    const PetscInt     col   = chunk->col[k];
    const PetscScalar *value = &csr->a[chunk->pos[k]];
    const int          entry = BCCOODictFind(dict, value, &where);
    unsigned char      code;

    for (; row < chunk->row[k]; row++) {
      *p++     = BCCOO_KEY_ROWEND;
      previous = 0;
    }
    code = ColumnCode(previous, col);
    *p++ = entry >= 0 ? code | BCCOO_KEY_TABLED : code;
    if (code == BCCOO_CODE_DELTA) {
      const uint16_t delta = (uint16_t)(col - previous);

      memcpy(p, &delta, sizeof(delta));
    } else if (code == BCCOO_CODE_COLUMN) memcpy(p, &col, sizeof(col));
    p += ColumnBytes(code);
    if (entry >= 0) *p++ = (unsigned char)entry;
    else {
      memcpy(p, value, sizeof(*value));
      p += sizeof(*value);
    }
    previous = col;
  }
}

/* Makes what depends on the values, for coding tuples. Stored data change only after all memory has been allocated. */
static PetscErrorCode EncodeTuples(BCCOOTuples *f, const AIJCSR *csr, BCCOOEncodeScratch *s)
{
  PetscScalar    table[BCCOO_TABLE];
  int            bucket[4 * BCCOO_TABLE];
  BCCOODict      dict = BCCOODictStart(BCCOO_TABLE, table, PETSC_STATIC_ARRAY_LENGTH(bucket), bucket);
  PetscInt       ntabled;
  PetscBool      same;
  unsigned char *data = f->data;

  PetscFunctionBegin;
  PetscCall(BCCOOTableBuild(f->nparts, f->nnz, csr->a, table, &dict.n, &ntabled));
  for (PetscInt e = 0; e < dict.n; e++) BCCOODictEnter(&dict, (int)e);

  /* the sizes of the chunks are the same if all values were, and are again, in the table, or none was and is */
  same = (PetscBool)(f->data && ntabled == f->ntabled && (ntabled == 0 || ntabled == f->nnz));
  if (!same) {
    PetscCall(PetscMalloc1(f->nchunks + 1, &s->offset));
    PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)f->nparts))
    for (PetscInt p = 0; p < f->nparts; p++) {
      BCCOOChunk chunk;

      for (PetscInt c = f->first[p]; c < f->first[p + 1]; c++) {
        ChunkLoad(f, csr, c, &chunk);
        s->offset[c + 1] = ChunkBytes(&dict, csr, &chunk);
      }
    }
    s->offset[0] = 0;
    for (PetscInt c = 0; c < f->nchunks; c++) s->offset[c + 1] += s->offset[c];
    if (!f->data || f->offset[f->nchunks] != s->offset[f->nchunks]) {
      PetscCall(PetscMalloc1(s->offset[f->nchunks], &data));
      PetscCall(PetscFree(f->data));
      f->data = data;
    }
    PetscCall(PetscFree(f->offset));
    f->offset = s->offset;
    s->offset = NULL;
  }

  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)f->nparts))
  for (PetscInt p = 0; p < f->nparts; p++) {
    BCCOOChunk chunk;

    for (PetscInt c = f->first[p]; c < f->first[p + 1]; c++) {
      ChunkLoad(f, csr, c, &chunk);
      ChunkEncode(&dict, csr, &chunk, data + f->offset[c]);
    }
  }
  memcpy(f->table, table, dict.n * sizeof(PetscScalar));
  f->ntable  = dict.n;
  f->ntabled = ntabled;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies the values, for coding none */
static PetscErrorCode EncodeNone(BCCOOTuples *f, const AIJCSR *csr)
{
  PetscFunctionBegin;
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)f->nparts))
  for (PetscInt p = 0; p < f->nparts; p++) {
    const PetscInt start = BCCOOChunkStart(f, f->first[p]), end = BCCOOChunkStart(f, f->first[p + 1]);

    if (start < end) memcpy(f->val + start, csr->a + start, (end - start) * sizeof(PetscScalar));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCCOOTuplesEncode(BCCOOTuples *f, const AIJCSR *csr)
{
  BCCOOEncodeScratch s = {0};
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  ierr = f->coding == CODING_NONE ? EncodeNone(f, csr) : EncodeTuples(f, csr, &s);
  PetscCall(PetscFree(s.offset));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the first row of every chunk and the range of its columns, and for coding none the arrays of rows and columns */
static PetscErrorCode BuildChunks(BCCOOTuples *f, const AIJCSR *csr, BCCOOEncodeScratch *s)
{
  PetscInt nrowend = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(f->nchunks, &s->lo, f->nchunks, &s->hi));
  PetscCall(PetscMalloc1(f->nchunks, &f->crow));
  if (f->coding == CODING_NONE) PetscCall(PetscMalloc3(f->nnz, &f->row, f->nnz, &f->col, f->nnz, &f->val));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)f->nparts) reduction(+ : nrowend))
  for (PetscInt p = 0; p < f->nparts; p++) {
    BCCOOChunk chunk;

    for (PetscInt c = f->first[p]; c < f->first[p + 1]; c++) {
      const PetscInt start = BCCOOChunkStart(f, c);

      /* the first row that ends after nonzero start */
      f->crow[c] = BCCOOLowerBound(csr->m, csr->i + 1, start + 1);
      ChunkLoad(f, csr, c, &chunk);
      s->lo[c] = s->hi[c] = chunk.col[0];
      for (PetscInt k = 1; k < chunk.n; k++) {
        s->lo[c] = PetscMin(s->lo[c], chunk.col[k]);
        s->hi[c] = PetscMax(s->hi[c], chunk.col[k]);
      }
      if (f->coding == CODING_NONE) {
        memcpy(f->row + start, chunk.row, chunk.n * sizeof(PetscInt));
        memcpy(f->col + start, chunk.col, chunk.n * sizeof(PetscInt));
      } else nrowend += chunk.row[chunk.n - 1] - chunk.row[0];
    }
  }
  f->nrowend = nrowend;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Divides the chunks into as many parts as possible, at most nparts, whose private sums are not too many */
static PetscErrorCode BuildSplit(const BCCOOTuples *f, const BCCOOEncodeScratch *s, BCCOOSplit *split)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc3(f->nparts + 1, &split->first, f->nparts + 1, &split->lo, f->nparts + 1, &split->off));
  for (split->n = f->nparts;; split->n--) {
    split->first[0] = 0;
    split->off[0]   = 0;
    for (PetscInt p = 0; p < split->n; p++) {
      PetscInt lo = f->n, hi = -1;

      split->first[p + 1] = BCCOOPartStart(f->nchunks, split->n, p + 1);
      for (PetscInt c = split->first[p]; c < split->first[p + 1]; c++) {
        lo = PetscMin(lo, s->lo[c]);
        hi = PetscMax(hi, s->hi[c]);
      }
      split->lo[p]      = lo;
      split->off[p + 1] = split->off[p] + (hi < lo ? 0 : hi - lo + 1);
    }
    if (split->n == 1 || split->off[split->n] <= BCCOOMostSums(f->nnz, f->n)) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BuildPattern(BCCOOTuples *f, const AIJCSR *csr, BCCOOEncodeScratch *s)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc3(f->nparts + 1, &f->first, f->nparts + 1, &f->own, f->nparts * BCCOO_PANEL, &f->carry));
  for (PetscInt p = 0; p <= f->nparts; p++) f->first[p] = BCCOOPartStart(f->nchunks, f->nparts, p);
  PetscCall(BuildChunks(f, csr, s));
  f->own[0] = 0;
  for (PetscInt p = 1; p < f->nparts; p++) f->own[p] = f->crow[f->first[p]];
  f->own[f->nparts] = f->m;
  PetscCall(BuildSplit(f, s, &f->transposed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCCOOTuplesBuildPattern(BCCOOTuples *f, const AIJCSR *csr)
{
  BCCOOEncodeScratch s = {0};
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  ierr = BuildPattern(f, csr, &s);
  PetscCall(PetscFree2(s.lo, s.hi));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
