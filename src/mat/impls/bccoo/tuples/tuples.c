/*
  Compression `tuples`: the BCCOO form (Aliaga, Anzt, Gruetzmacher, Quintana-Orti, Tomas, Concurrency Computat. Pract. Exper. 2021, section 2), for
  comparison.

  The nonzeros, in the order of the CSR, are cut into chunks of 1024 (the last one may be shorter). A chunk is a sequence of bytes, and the chunks are
  stored one after the other in data:

      row[c]                 row of the first nonzero of chunk c
      data + offset[c] ..    its tuples, up to data + offset[c + 1]

  A tuple is a nonzero or an end of row:

      key (1 byte)                       column (0, 2 or sizeof(PetscInt) bytes)   value (1 or sizeof(PetscScalar) bytes)
      +-+-------+                        +- - - - - - - - - - - - - - - - - - -+   +-------------------------------------+
      |t| code  |                        |                                     |   |                                     |
      +-+-------+                        +- - - - - - - - - - - - - - - - - - -+   +-------------------------------------+

      code 0x00 .. 0x7C      column = previous column + code
      code 0x7D              column = previous column + the 2 bytes that follow
      code 0x7E              column = the sizeof(PetscInt) bytes that follow
      key  0x7F              end of row: row + 1, previous column 0, nothing follows
      t = 1                  value = table[the byte that follows]
      t = 0                  value = the sizeof(PetscScalar) bytes that follow

  The previous column is 0 at the start of a chunk and of a row, so that every chunk can be decoded alone. A row without nonzeros is an end of row if it is
  inside a chunk; between chunks it takes no tuple. Numbers are unaligned, in the machine's byte order.

  A part is a range of chunks that one thread processes. Products decode a chunk once for all columns of a panel. The order of every sum depends on the
  parts, not on the number of threads that the system grants.
*/
#include "mat/impls/bccoo/common.h"
#include "mat/impls/bccoo/dictionary.h"

#define TABLE  256   /* entries of the value table: an index is a byte */
#define SAMPLE 65536 /* values, at most, of the sample that the table is made from */

#define KEY_TABLED  0x80
#define CODE_DELTA  0x7D /* the lowest code that is not itself a difference of columns */
#define CODE_COLUMN 0x7E
#define KEY_ROWEND  0x7F

typedef struct {
  PetscInt       m, n, nnz;
  PetscInt       nchunks;
  PetscInt      *row;
  size_t        *offset;
  unsigned char *data;
  PetscScalar    table[TABLE];
  PetscInt       ntable;  /* entries of the table in use */
  PetscInt       ntabled; /* nonzeros coded through the table */
  PetscInt       nrowend; /* ends of rows */

  PetscInt     nparts; /* of A x, see PartChunk() */
  PetscScalar *carry;  /* its sums for rows of the next part, BCCOO_PANEL for each part */

  /*
    A^T u: part p has the chunks first[p] .. first[p+1]-1, all columns of which are in lo[p] .. lo[p] + (off[p+1] - off[p]) - 1; its private sums begin at
    off[p]. There are as many parts as for A x, or fewer if so many would have too many private sums.
  */
  PetscInt    ntransposed, *first, *lo;
  PetscCount *off;

  BCCOOWork work; /* private sums of A^T u */
} Tuples;

/* The nonzeros of a chunk */
typedef struct {
  PetscInt    n, row[BCCOO_CHUNK], col[BCCOO_CHUNK];
  PetscScalar val[BCCOO_CHUNK];
} Chunk;

/* A x: the first chunk of part p; the first row that it writes, which is the row of its first nonzero: only its last row may be written by another part */
static inline PetscInt PartChunk(const Tuples *f, PetscInt p)
{
  return BCCOOPartStart(f->nchunks, f->nparts, p);
}

static inline PetscInt PartRow(const Tuples *f, PetscInt p)
{
  return p == 0 ? 0 : p < f->nparts ? f->row[PartChunk(f, p)] : f->m;
}

static inline PetscInt ChunkStart(const Tuples *f, PetscInt c)
{
  return c < f->nchunks ? c * BCCOO_CHUNK : f->nnz;
}

/* A nonzero of a chunk, and where the next one begins */
typedef struct {
  PetscInt             row, col;
  PetscScalar          val;
  const unsigned char *next;
} Cursor;

/* Before the first nonzero of chunk c */
static inline Cursor CursorAt(const Tuples *f, PetscInt c)
{
  return (Cursor){.row = f->row[c], .next = f->data + f->offset[c]};
}

static inline void Read(const Tuples *f, Cursor *q)
{
  const unsigned char *p = q->next;
  unsigned int         key, code;

  for (key = *p++; key == KEY_ROWEND; key = *p++) {
    q->row++;
    q->col = 0;
  }
  code = key & KEY_ROWEND;
  if (code < CODE_DELTA) q->col += code;
  else if (code == CODE_DELTA) {
    uint16_t delta;

    memcpy(&delta, p, sizeof(delta));
    q->col += delta;
    p += sizeof(delta);
  } else {
    memcpy(&q->col, p, sizeof(q->col));
    p += sizeof(q->col);
  }
  if (key & KEY_TABLED) memcpy(&q->val, &f->table[*p++], sizeof(q->val));
  else {
    memcpy(&q->val, p, sizeof(q->val));
    p += sizeof(q->val);
  }
  q->next = p;
}

static void Decode(const Tuples *f, PetscInt c, Chunk *chunk)
{
  Cursor q = CursorAt(f, c);

  chunk->n = ChunkStart(f, c + 1) - ChunkStart(f, c);
  for (PetscInt k = 0; k < chunk->n; k++) {
    Read(f, &q);
    chunk->row[k] = q.row;
    chunk->col[k] = q.col;
    memcpy(&chunk->val[k], &q.val, sizeof(q.val));
  }
}

/* Counts the bytes of chunk c, and its nonzeros coded through the table; if `to` is not NULL, also writes the bytes there */
static size_t Encode(const Tuples *f, const BCCOODict *dict, const AIJCSR *csr, PetscInt c, unsigned char *to, PetscInt *ntabled)
{
  PetscInt row = f->row[c], previous = 0;
  size_t   n = 0, where;

  for (PetscInt k = ChunkStart(f, c); k < ChunkStart(f, c + 1); k++) {
    const int entry = BCCOODictFind(dict, &csr->a[k], &where);
    PetscInt  delta;
    int       code;
    size_t    bytes;

    for (; k >= csr->i[row + 1]; row++, n++) {
      if (to) to[n] = KEY_ROWEND;
      previous = 0;
    }
    delta = csr->j[k] - previous;
    code  = delta < 0 || delta > UINT16_MAX ? CODE_COLUMN : (int)PetscMin(delta, CODE_DELTA);
    bytes = code < CODE_DELTA ? 0 : code == CODE_DELTA ? sizeof(uint16_t) : sizeof(PetscInt);
    if (to) {
      const uint16_t delta16 = (uint16_t)delta;

      to[n] = (unsigned char)(entry < 0 ? code : code | KEY_TABLED);
      memcpy(to + n + 1, code == CODE_DELTA ? (const void *)&delta16 : &csr->j[k], bytes);
      if (entry >= 0) to[n + 1 + bytes] = (unsigned char)entry;
      else memcpy(to + n + 1 + bytes, &csr->a[k], sizeof(*csr->a));
    }
    n += 1 + bytes + (entry < 0 ? sizeof(*csr->a) : 1);
    *ntabled += entry >= 0;
    previous = csr->j[k];
  }
  return n;
}

/* Makes the table: the values that are the most frequent in a sample, and occur there more than once */
static PetscErrorCode BuildTable(Tuples *f, const AIJCSR *csr)
{
  const PetscInt step = (csr->nnz - 1) / SAMPLE + 1, n = csr->nnz / step;
  const size_t   nbuckets = BCCOODictBuckets(n, 16);
  PetscInt       nmore    = 0;
  BCCOOFrequent *value;
  PetscScalar   *key;
  PetscInt      *count;
  int           *bucket;
  BCCOODict      dict;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(n, &value, n, &key, n, &count, nbuckets, &bucket));
  dict = BCCOODictStart(n, key, nbuckets, bucket);
  for (PetscInt k = 0; k < n; k++) {
    size_t where;
    int    entry = BCCOODictFind(&dict, &csr->a[k * step], &where);

    if (entry < 0) {
      entry = dict.bucket[where] = (int)dict.n++;
      memcpy(&key[entry], &csr->a[k * step], sizeof(*key));
      count[entry] = 0;
    }
    count[entry]++;
  }
  for (PetscInt e = 0; e < dict.n; e++) {
    if (count[e] == 1) continue;
    value[nmore].count = count[e];
    memcpy(&value[nmore++].key, &key[e], sizeof(*key));
  }
  BCCOOSortFrequent(nmore, value, TABLE);
  f->ntable = PetscMin(nmore, TABLE);
  for (PetscInt e = 0; e < f->ntable; e++) memcpy(&f->table[e], &value[e].key, sizeof(*key));
  PetscCall(PetscFree4(value, key, count, bucket));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EncodeAll(Tuples *f, const AIJCSR *csr)
{
  int       bucket[4 * TABLE];
  BCCOODict dict;
  PetscInt  ntabled = 0, nrowend = 0, written = 0;

  PetscFunctionBegin;
  PetscCall(BuildTable(f, csr));
  dict = BCCOODictStart(TABLE, f->table, PETSC_STATIC_ARRAY_LENGTH(bucket), bucket);
  for (dict.n = 0; dict.n < f->ntable; dict.n++) BCCOODictEnter(&dict, (int)dict.n);
  PetscCall(PetscMalloc1(f->nchunks, &f->row));
  PetscCall(PetscMalloc1(f->nchunks + 1, &f->offset));
  PetscPragmaOMP(parallel for schedule(static) num_threads((int)f->nparts) reduction(+ : ntabled, nrowend))
  for (PetscInt c = 0; c < f->nchunks; c++) {
    f->row[c]        = BCCOOLowerBound(csr->m, csr->i + 1, ChunkStart(f, c) + 1); /* the first row that ends after the first nonzero */
    f->offset[c + 1] = Encode(f, &dict, csr, c, NULL, &ntabled);
    nrowend += BCCOOLowerBound(csr->m, csr->i + 1, ChunkStart(f, c + 1)) - f->row[c];
  }
  f->ntabled   = ntabled;
  f->nrowend   = nrowend;
  f->offset[0] = 0;
  for (PetscInt c = 0; c < f->nchunks; c++) f->offset[c + 1] += f->offset[c];
  PetscCall(PetscMalloc1(f->offset[f->nchunks], &f->data));
  PetscPragmaOMP(parallel for schedule(static) num_threads((int)f->nparts) reduction(+ : written))
  for (PetscInt c = 0; c < f->nchunks; c++) (void)Encode(f, &dict, csr, c, f->data + f->offset[c], &written);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Divides the chunks into as many parts of A^T u as possible whose private sums are not too many */
static PetscErrorCode DivideTransposed(Tuples *f, const AIJCSR *csr)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc3(f->nparts + 1, &f->first, f->nparts, &f->lo, f->nparts + 1, &f->off));
  for (f->ntransposed = f->nparts;; f->ntransposed /= 2) {
    f->first[0] = 0;
    f->off[0]   = 0;
    for (PetscInt p = 0; p < f->ntransposed; p++) {
      PetscInt lo = csr->n, hi = -1;

      f->first[p + 1] = BCCOOPartStart(f->nchunks, f->ntransposed, p + 1);
      for (PetscInt k = ChunkStart(f, f->first[p]); k < ChunkStart(f, f->first[p + 1]); k++) {
        lo = PetscMin(lo, csr->j[k]);
        hi = PetscMax(hi, csr->j[k]);
      }
      f->lo[p]      = lo;
      f->off[p + 1] = f->off[p] + hi - lo + 1;
    }
    if (f->ntransposed == 1 || f->off[f->ntransposed] <= BCCOOMostSums(csr->nnz, csr->n)) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Free(Tuples *f)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(f->row));
  PetscCall(PetscFree(f->offset));
  PetscCall(PetscFree(f->data));
  PetscCall(PetscFree3(f->first, f->lo, f->off));
  PetscCall(PetscFree(f->carry));
  PetscCall(PetscFree(f->work.array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TuplesDestroy(void **data)
{
  PetscFunctionBegin;
  if (!*data) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Free((Tuples *)*data));
  PetscCall(PetscFree(*data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TuplesBuild(const AIJCSR *csr, const AIJPurpose *purpose, void **data)
{
  Tuples        *f;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  (void)purpose; /* the same chunks serve all products */
  PetscCall(PetscNew(&f));
  f->m       = csr->m;
  f->n       = csr->n;
  f->nnz     = csr->nnz;
  f->nchunks = (csr->nnz - 1) / BCCOO_CHUNK + 1;
  f->nparts  = BCCOONumParts(csr);
  *data      = f;
  ierr       = PetscMalloc1(f->nparts * BCCOO_PANEL, &f->carry);
  if (!ierr) ierr = EncodeAll(f, csr);
  if (!ierr) ierr = DivideTransposed(f, csr);
  if (ierr) PetscCall(TuplesDestroy(data));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything is made anew, since the length of a tuple depends on its value */
static PetscErrorCode TuplesSetValues(void *data, const AIJCSR *csr)
{
  void *made;

  PetscFunctionBegin;
  PetscCall(TuplesBuild(csr, NULL, &made));
  PetscCall(Free((Tuples *)data));
  *(Tuples *)data = *(Tuples *)made;
  PetscCall(PetscFree(made));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operands of a product Y = op(A) X + Z with K columns; Z is NULL or has Y's leading dimension */
typedef struct {
  PetscInt           K;
  const PetscScalar *X, *Z;
  PetscScalar       *Y;
  PetscCount         ldx, ldy;
} Operands;

static void FillResult(const Operands *o, PetscInt k, PetscInt start, PetscInt end)
{
  BCCOOFill(start, end, o->Z ? o->Z + k * o->ldy : NULL, o->Y + k * o->ldy);
}

/* Y = A X + Z in the rows of part p; carry: its sums for the first row of the next part. A single column is multiplied while it is decoded. */
static void MultPart(const Tuples *f, PetscInt p, const Operands *o, PetscScalar carry[])
{
  const PetscInt end = PartRow(f, p + 1);
  PetscInt       row = f->row[PartChunk(f, p)];
  PetscScalar    sum = 0.0;
  Chunk          chunk;

  for (PetscInt k = 0; k < o->K; k++) {
    FillResult(o, k, PartRow(f, p), end);
    carry[k] = 0.0;
  }
  for (PetscInt c = PartChunk(f, p); o->K == 1 && c < PartChunk(f, p + 1); c++) {
    const PetscInt n = ChunkStart(f, c + 1) - ChunkStart(f, c);
    Cursor         q = CursorAt(f, c);

    for (PetscInt l = 0; l < n; l++) {
      Read(f, &q);
      if (q.row != row) {
        o->Y[row] += sum;
        row = q.row;
        sum = 0.0;
      }
      sum += q.val * o->X[q.col];
    }
  }
  if (o->K == 1) *(row < end ? &o->Y[row] : carry) += sum;
  for (PetscInt c = PartChunk(f, p); o->K > 1 && c < PartChunk(f, p + 1); c++) {
    Decode(f, c, &chunk);
    for (PetscInt k = 0; k < o->K; k++) {
      const PetscScalar *x = o->X + k * o->ldx;
      PetscScalar       *y = o->Y + k * o->ldy;

      for (PetscInt l = 0; l < chunk.n;) {
        row = chunk.row[l];
        sum = 0.0;
        for (; l < chunk.n && chunk.row[l] == row; l++) sum += chunk.val[l] * x[chunk.col[l]];
        *(row < end ? &y[row] : &carry[k]) += sum;
      }
    }
  }
}

static void Mult(const Tuples *f, const Operands *o)
{
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)f->nparts))
  for (PetscInt p = 0; p < f->nparts; p++) MultPart(f, p, o, f->carry + p * BCCOO_PANEL);
  for (PetscInt p = 0; p + 1 < f->nparts; p++) {
    for (PetscInt k = 0; k < o->K; k++) o->Y[PartRow(f, p + 1) + k * o->ldy] += f->carry[p * BCCOO_PANEL + k];
  }
}

/* W += A^T X or A^H X for the chunks of part p; row 0 of W, which has K columns, is column lo of A. A single column is multiplied while it is decoded. */
static void MultTransposePart(const Tuples *f, PetscBool hermitian, PetscInt p, const Operands *o, PetscInt lo, PetscScalar W[], PetscCount ldw)
{
  Chunk chunk;

  for (PetscInt c = f->first[p]; o->K == 1 && c < f->first[p + 1]; c++) {
    const PetscInt n = ChunkStart(f, c + 1) - ChunkStart(f, c);
    Cursor         q = CursorAt(f, c);

    for (PetscInt l = 0; l < n; l++) {
      Read(f, &q);
      W[q.col - lo] += (hermitian ? PetscConj(q.val) : q.val) * o->X[q.row];
    }
  }
  for (PetscInt c = f->first[p]; o->K > 1 && c < f->first[p + 1]; c++) {
    Decode(f, c, &chunk);
    for (PetscInt k = 0; k < o->K; k++) {
      const PetscScalar *x = o->X + k * o->ldx;
      PetscScalar       *w = W + k * ldw;

      for (PetscInt l = 0; l < chunk.n; l++) w[chunk.col[l] - lo] += (hermitian ? PetscConj(chunk.val[l]) : chunk.val[l]) * x[chunk.row[l]];
    }
  }
}

/* A single part adds to Y itself. Each of several has private sums for the columns from its lowest to its highest; then all threads add these, in the order of the parts */
static PetscErrorCode MultTranspose(Tuples *f, PetscBool hermitian, const Operands *o)
{
  PetscScalar *work;

  PetscFunctionBegin;
  if (f->ntransposed == 1) {
    for (PetscInt k = 0; k < o->K; k++) FillResult(o, k, 0, f->n);
    MultTransposePart(f, hermitian, 0, o, 0, o->Y, o->ldy);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCCOOWorkGet(&f->work, f->off[f->ntransposed] * o->K, &work));
  PetscPragmaOMP(parallel num_threads((int)f->ntransposed))
  {
    PetscPragmaOMP(for schedule(static, 1))
    for (PetscInt p = 0; p < f->ntransposed; p++) {
      const PetscCount width = f->off[p + 1] - f->off[p];

      memset(work + f->off[p] * o->K, 0, o->K * width * sizeof(PetscScalar));
      MultTransposePart(f, hermitian, p, o, f->lo[p], work + f->off[p] * o->K, width);
    }
    PetscPragmaOMP(for schedule(static))
    for (PetscInt b = 0; b <= f->n / BCCOO_MERGE; b++) {
      const PetscInt start = b * BCCOO_MERGE, end = BCCOOPieceEnd(start, BCCOO_MERGE, f->n);

      for (PetscInt k = 0; k < o->K; k++) {
        PetscScalar *y = o->Y + k * o->ldy;

        FillResult(o, k, start, end);
        for (PetscInt p = 0; p < f->ntransposed; p++) {
          const PetscCount   width = f->off[p + 1] - f->off[p];
          const PetscScalar *w     = work + f->off[p] * o->K + k * width;

          for (PetscInt j = PetscMax(start, f->lo[p]); j < PetscMin(end, f->lo[p] + width); j++) y[j] += w[j - f->lo[p]];
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Product(void *data, AIJOp op, const Operands *o)
{
  PetscFunctionBegin;
  if (op == AIJ_N) Mult((const Tuples *)data, o);
  else PetscCall(MultTranspose((Tuples *)data, BCCOOIsHermitian(op), o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TuplesApply(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  PetscFunctionBegin;
  PetscCall(Product(data, op, &(Operands){.K = 1, .X = x, .Z = z, .Y = y}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TuplesApplyDense(void *data, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < K; k += BCCOO_PANEL) PetscCall(Product(data, op, &(Operands){.K = PetscMin(K - k, BCCOO_PANEL), .X = X + (PetscCount)k * ldx, .Y = Y + (PetscCount)k * ldy, .ldx = ldx, .ldy = ldy}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of all memory that is kept between products, by purpose; keys count as columns */
static BCCOOBytes GetBytes(const Tuples *f)
{
  BCCOOBytes b;

  b.rows    = f->nrowend + f->nchunks * sizeof(*f->row);
  b.values  = f->ntabled + (size_t)(f->nnz - f->ntabled) * sizeof(PetscScalar);
  b.columns = f->offset[f->nchunks] - f->nrowend - b.values;
  b.tables  = sizeof(*f) + (f->nchunks + 1) * sizeof(*f->offset) + (f->nparts + 1) * (2 * sizeof(PetscInt) + sizeof(PetscCount));
  b.buffers = ((size_t)f->nparts * BCCOO_PANEL + f->work.n) * sizeof(PetscScalar);
  return b;
}

static PetscErrorCode TuplesGetMemory(const void *data, PetscLogDouble *bytes)
{
  const BCCOOBytes b = GetBytes((const Tuples *)data);

  PetscFunctionBegin;
  *bytes = BCCOOBytesTotal(&b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TuplesView(const void *data, PetscViewer viewer, PetscBool detail)
{
  const Tuples    *f = (const Tuples *)data;
  const BCCOOBytes b = GetBytes(f);

  PetscFunctionBegin;
  PetscCall(BCCOOBytesView(&b, f->nnz, viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "value table: %" PetscInt_FMT " values code %.1f%% of the nonzeros\n", f->ntable, 100.0 * f->ntabled / f->nnz));
  if (detail) PetscCall(PetscViewerASCIIPrintf(viewer, "parts: %" PetscInt_FMT " for A x, %" PetscInt_FMT " for A^T x\n", f->nparts, f->ntransposed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TuplesVisit(const void *data, AIJVisitor visit, void *visitctx)
{
  const Tuples *f = (const Tuples *)data;
  Chunk         q;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < f->nchunks; c++) {
    Decode(f, c, &q);
    (*visit)(visitctx, q.n, q.row, q.col, q.val);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TuplesGetCSR(const void *data, const PetscInt i[], PetscInt j[], PetscScalar a[])
{
  const Tuples *f = (const Tuples *)data;
  Chunk         q;

  PetscFunctionBegin;
  (void)i; /* the chunks have the order of the CSR */
  for (PetscInt c = 0; c < f->nchunks; c++) {
    Decode(f, c, &q);
    PetscCall(PetscArraycpy(j + ChunkStart(f, c), q.col, q.n));
    PetscCall(PetscArraycpy(a + ChunkStart(f, c), q.val, q.n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJFormat AIJFormatTuples = {
  .name       = "tuples",
  .ondevice   = PETSC_FALSE,
  .build      = TuplesBuild,
  .setvalues  = TuplesSetValues,
  .destroy    = TuplesDestroy,
  .apply      = TuplesApply,
  .applydense = TuplesApplyDense,
  .getmemory  = TuplesGetMemory,
  .view       = TuplesView,
  .visit      = TuplesVisit,
  .getcsr     = TuplesGetCSR,
};
