/*
  Coding simd: makes the chunks from a CSR with sorted rows. A row task is read row by row, once if there are at most BCCOO_SIMD_OPEN column blocks. Rows are
  cut at the bounds of column blocks, and for each column block pieces are collected until a chunk is full. Chunks are written in the order
  in which they become full, and afterwards linked in the order of the column blocks. A thread encodes its row block, row task by row task,
  and then takes row tasks from the ends of other row blocks; they are appended to these at the end. A row block is therefore the same
  whichever threads encode it.
*/
#include "encoder.h"

static inline void AppendPiece(const BCCOOSIMDEncoder *e, PetscInt row, PetscInt pos, PetscInt len, PetscInt lo, PetscInt hi, BCCOOSIMDPieces *p)
{
  if (!p->n) p->first = row;
  p->collo                   = p->n ? PetscMin(p->collo, lo) : lo;
  p->colhi                   = p->n ? PetscMax(p->colhi, hi) : hi;
  p->piece[p->npieces].pos   = pos;
  p->piece[p->npieces].row   = (uint16_t)(row - p->first);
  p->piece[p->npieces++].len = (uint16_t)len;
  p->n += len;
  BCCOOSIMDPrefetch(&e->csr->a[pos]);
}

/* Adds the nonzeros next .. end - 1 of a row in this tile, and writes the chunks that become full; returns their bytes */
static size_t AddRow(const BCCOOSIMDEncoder *e, PetscInt row, PetscInt next, PetscInt end, BCCOOSIMDPieces *p, BCCOOSIMDDraft *d, unsigned char *data)
{
  size_t bytes = 0;

  while (next < end) {
    const PetscInt *j = e->csr->j;
    PetscInt        lo, hi, take = end - next;
    PetscBool       far = PETSC_FALSE;

    if (p->n && (p->n >= BCCOO_SIMD_FULL || row - p->first > UINT16_MAX || (take <= BCCOO_SIMD_CUT && p->n + take > BCCOO_SIMD_MAX))) bytes += BCCOOSIMDWriteChunk(e, p, PETSC_FALSE, d, data + bytes);
    if (take > BCCOO_SIMD_CUT) take = PetscMin(take, BCCOO_SIMD_FULL - p->n);
    lo = j[next];
    hi = j[next + take - 1];
    if (p->n) {
      const PetscInt collo = PetscMin(p->collo, lo), colhi = PetscMax(p->colhi, hi);

      /* a chunk that is only half full is better than one whose columns take 4 bytes */
      if ((colhi - collo > UINT16_MAX && p->colhi - p->collo <= UINT16_MAX && p->n >= BCCOO_SIMD_FULL / 2) || colhi - collo > INT32_MAX / 2) bytes += BCCOOSIMDWriteChunk(e, p, PETSC_FALSE, d, data + bytes);
    }
    /* take was limited by the space left in a chunk that has just been written; it is computed anew, since a chunk must not get two pieces of one row */
    if (!p->n && take < PetscMin(end - next, BCCOO_SIMD_FULL)) continue;
    while (hi - lo > INT32_MAX / 2) { /* only in matrices with more than 2^30 columns */
      far  = PETSC_TRUE;
      take = (take + 1) / 2;
      hi   = j[next + take - 1];
    }
    AppendPiece(e, row, next, take, lo, hi, p);
    next += take;
    if (far) bytes += BCCOOSIMDWriteChunk(e, p, PETSC_FALSE, d, data + bytes); /* Walk() needs this: a chunk has at most one piece of a row */
  }
  return bytes;
}

/* Upper bound of the bytes of the chunks of so many row tasks */
static size_t ChunkBytes(const BCCOOSIMD *L, PetscCount nnz, PetscCount rows, PetscCount nrowtasks)
{
  /* columns that are more than 2^30 apart are not in one chunk */
  const PetscCount nchunks = L->n > INT32_MAX / 2 ? nnz : nnz / (BCCOO_SIMD_FULL / 2) + L->ncolblocks * (rows / UINT16_MAX + nrowtasks + 2) + 8;

  return PetscMin(nchunks, nnz) * (BCCOO_SIMD_HEAD + 3 * BCCOO_SIMD_ALIGN) + nnz * (sizeof(PetscScalar) + sizeof(uint32_t) + 2 * sizeof(uint16_t) + 1) + BCCOO_SIMD_SLOP;
}

static size_t RowBlockBytes(const BCCOOSIMD *L, PetscInt b)
{
  return ChunkBytes(L, L->start[b + 1] - L->start[b], L->own[b + 1] - L->own[b], L->nrowtasks);
}

/* Upper bound of the bytes of any row task, with a carry */
static size_t RowTaskBytes(const BCCOOSIMD *L, const AIJCSR *csr)
{
  size_t most = 0;

  for (PetscInt b = 0; b < L->nrowblocks; b++) {
    for (PetscInt k = b * L->nrowtasks; k < (b + 1) * L->nrowtasks; k++) {
      const PetscInt first = PetscMax(L->start[b], csr->i[L->taskrow[k]]), end = k == (b + 1) * L->nrowtasks - 1 ? L->start[b + 1] : PetscMax(first, csr->i[L->taskrow[k + 1]]);

      most = PetscMax(most, ChunkBytes(L, end - first, L->taskrow[k + 1] - L->taskrow[k], 1));
    }
  }
  return BCCOORound(most, 2 * BCCOO_SIMD_ALIGN);
}

/* AddRow() for the common case, in which nothing is cut or written; returns false in all other cases and adds nothing */
static inline PetscBool AddShortRow(const BCCOOSIMDEncoder *e, PetscInt row, PetscInt next, PetscInt end, PetscInt lo, PetscInt hi, BCCOOSIMDPieces *p)
{
  const PetscInt take = end - next;

  if (!p->n || p->n >= BCCOO_SIMD_FULL || take > BCCOO_SIMD_CUT || p->n + take > BCCOO_SIMD_MAX || row - p->first > UINT16_MAX || PetscMax(p->colhi, hi) - PetscMin(p->collo, lo) > UINT16_MAX) return PETSC_FALSE;
  AppendPiece(e, row, next, take, lo, hi, p);
  return PETSC_TRUE;
}

/* The column block of nonzero k */
static inline PetscInt ColumnBlockOf(const BCCOOSIMDEncoder *e, PetscInt k)
{
  return e->colblock ? e->colblock[e->csr->j[k] >> e->L->shift] : 0;
}

/* The end of the nonzeros in column block r of a row that has been read up to next */
static inline PetscInt PieceEnd(const BCCOOSIMDEncoder *e, PetscInt next, PetscInt end, PetscInt r)
{
  const PetscInt  bound = e->L->bound[r + 1];
  const PetscInt *j     = e->csr->j;

  if (r == e->L->ncolblocks - 1 || j[end - 1] < bound) return end;
  while (j[next] < bound) next++;
  return next;
}

/* Encodes the rows of a row task in BCCOO_SIMD_OPEN column blocks, from r0 on; if these are not all column blocks, next[i] is the end of what has been read of row i */
static size_t EncodeColumnBlocks(const BCCOOSIMDEncoder *e, PetscInt b, PetscInt rowtask, PetscInt r0, BCCOOSIMDPieces open[], PetscInt next[], BCCOOSIMDDraft *d, unsigned char *data)
{
  const BCCOOSIMD *L     = e->L;
  const PetscInt   r1    = PetscMin(r0 + BCCOO_SIMD_OPEN, L->ncolblocks);
  size_t           bytes = 0;

  for (PetscInt i = L->taskrow[b * L->nrowtasks + rowtask]; i < L->taskrow[b * L->nrowtasks + rowtask + 1]; i++) {
    const PetscInt end = e->csr->i[i + 1];
    PetscInt       k   = r0 > 0 ? next[i] : PetscMax(e->csr->i[i], L->start[b]);

    while (k < end) {
      const PetscInt r = ColumnBlockOf(e, k);
      PetscInt       to;

      if (r >= r1) break;
      to = PieceEnd(e, k, end, r);
      if (!AddShortRow(e, i, k, to, e->csr->j[k], e->csr->j[to - 1], &open[r - r0])) bytes += AddRow(e, i, k, to, &open[r - r0], d, data + bytes);
      k = to;
    }
    if (next) next[i] = k;
  }
  for (PetscInt r = r0; r < r1; r++) {
    if (open[r - r0].n) bytes += BCCOOSIMDWriteChunk(e, &open[r - r0], PETSC_FALSE, d, data + bytes);
  }
  return bytes;
}

/* Encodes the nonzeros of row block b in the row that the next row block owns */
static size_t EncodeCarry(const BCCOOSIMDEncoder *e, PetscInt b, BCCOOSIMDPieces *open, BCCOOSIMDDraft *d, unsigned char *data)
{
  const PetscInt  row = e->L->own[b + 1], end = e->L->start[b + 1];
  const PetscInt *j     = e->csr->j;
  size_t          bytes = 0;

  if (row == e->L->m) return 0;
  for (PetscInt next = PetscMax(e->csr->i[row], e->L->start[b]); next < end;) {
    const PetscInt to   = PieceEnd(e, next, end, ColumnBlockOf(e, next));
    PetscInt       take = PetscMin(BCCOO_SIMD_FULL, to - next);

    while (j[next + take - 1] - j[next] > INT32_MAX / 2) take = (take + 1) / 2;
    (void)AddRow(e, row, next, next + take, open, d, data + bytes); /* of so many columns at most, it writes no chunk */
    next += open->n;
    bytes += BCCOOSIMDWriteChunk(e, open, PETSC_TRUE, d, data + bytes);
  }
  return bytes;
}

/* Writes the chunks of a row task of row block b, and the carry if it is the last row task; returns their bytes */
static size_t EncodeRowTask(const BCCOOSIMDEncoder *e, PetscInt b, PetscInt rowtask, BCCOOSIMDPieces open[], PetscInt next[], BCCOOSIMDDraft *d, unsigned char *data)
{
  const PetscInt ncolblocks = e->L->ncolblocks;
  size_t         bytes      = 0;

  for (PetscInt r = 0; r < PetscMin(ncolblocks, BCCOO_SIMD_OPEN); r++) open[r].n = open[r].npieces = 0;
  for (PetscInt r = 0; r < ncolblocks; r += BCCOO_SIMD_OPEN) bytes += EncodeColumnBlocks(e, b, rowtask, r, open, next, d, data + bytes);
  return rowtask < e->L->nrowtasks - 1 ? bytes : bytes + EncodeCarry(e, b, open, d, data + bytes);
}

/* Index in L->rowtask, within row block b, of the row task and column block that a chunk belongs to; a carry belongs to the last row task */
static inline PetscCount RowTaskOf(const BCCOOSIMDEncoder *e, PetscInt b, const BCCOOSIMDChunk *chunk)
{
  const PetscInt *row = e->L->taskrow + b * e->L->nrowtasks;
  PetscInt        s   = 0;

  while (s + 1 < e->L->nrowtasks && chunk->row >= row[s + 1]) s++;
  return (PetscCount)(e->colblock ? e->colblock[chunk->col >> e->L->shift] : 0) * e->L->nrowtasks + s;
}

/*
  Links the chunks of row block b tile by tile, and within a tile row task by row task, and finds where tiles and row tasks begin. bytes is
  the size of all chunks; last[] is scratch, one for each row task and column block.
*/
static void LinkChunks(const BCCOOSIMDEncoder *e, PetscInt b, unsigned char *data, size_t bytes, BCCOOSIMDChunk *last[])
{
  const BCCOOSIMD *L       = e->L;
  const PetscCount nlists  = (PetscCount)L->ncolblocks * L->nrowtasks;
  size_t          *rowtask = L->rowtask + b * nlists, *tile = L->tile + b * (L->ncolblocks + 1), follow = bytes;

  for (PetscCount q = 0; q < nlists; q++) last[q] = NULL;
  for (unsigned char *p = data; p < data + bytes;) {
    BCCOOSIMDChunk  *chunk = (BCCOOSIMDChunk *)p;
    const PetscCount q     = RowTaskOf(e, b, chunk);

    if (last[q]) last[q]->next = (unsigned char *)chunk - (unsigned char *)last[q];
    else rowtask[q] = (PetscCount)(p - data);
    last[q] = chunk;
    p += chunk->bytes;
  }
  for (PetscCount q = nlists; q-- > 0;) {
    if (last[q]) last[q]->next = data + follow - (unsigned char *)last[q];
    else rowtask[q] = follow;
    follow = rowtask[q];
  }
  for (PetscInt r = 0; r < L->ncolblocks; r++) tile[r] = rowtask[r * L->nrowtasks];
  tile[L->ncolblocks] = bytes;
}

/* A row task that another thread has encoded: where, and how many bytes */
typedef struct {
  const unsigned char *at;
  size_t               bytes;
} Taken;

typedef struct {
  BCCOOSIMDPieces *open; /* for each thread, the pieces collected for the next chunk of each column block */
  BCCOOSIMDChunk **last;
  PetscInt        *next;
  uint16_t        *colblock;
  PetscInt        *j; /* with maps: the places of columns in the maps of row blocks */
  int             *bucket;
  unsigned char   *spare;  /* memory for row tasks of other row blocks: BCCOO_SIMD_SPARE times sparebytes for each thread */
  Taken           *taken;  /* for each row block the row tasks that other threads have encoded, beginning with its last row task */
  PetscInt        *ntaken; /* ntaken[b * BCCOO_SIMD_CLAIM]: their number in row block b */
  size_t           sparebytes;
} EncodeScratch;

/* Thread t encodes row tasks of its row block, then of others; returns the number of bytes that it has written to its row block */
static size_t EncodeRowTasks(const BCCOOSIMDEncoder *e, PetscInt t, EncodeScratch *s)
{
  const BCCOOSIMD *L     = e->L;
  BCCOOSIMDPieces *open  = s->open + (PetscCount)t * PetscMin(L->ncolblocks, BCCOO_SIMD_OPEN);
  unsigned char   *spare = s->spare + t * BCCOO_SIMD_SPARE * s->sparebytes;
  size_t           bytes = 0;
  PetscInt         room  = L->nrowtasks > 1 ? BCCOO_SIMD_SPARE : 0; /* with one row task per row block nothing can be taken */
  BCCOOSIMDDraft   d;

  BCCOOSIMDStart(L->claimed, t);
  for (PetscInt rowtask = 0; BCCOOSIMDClaim(L->claimed, t, L->nrowtasks) < L->nrowtasks; rowtask++) bytes += EncodeRowTask(e, t, rowtask, open, s->next, &d, L->data[t] + bytes);
  for (PetscInt k = t + 1; k < t + L->nrowblocks; k++) {
    const PetscInt b = k < L->nrowblocks ? k : k - L->nrowblocks;

    while (room > 0 && BCCOOSIMDClaim(L->claimed, b, L->nrowtasks) < L->nrowtasks) {
      PetscInt n;

      PetscPragmaOMP(atomic capture)
      n                                    = s->ntaken[b * BCCOO_SIMD_CLAIM]++;
      s->taken[b * L->nrowtasks + n].bytes = EncodeRowTask(e, b, L->nrowtasks - 1 - n, open, s->next, &d, spare);
      s->taken[b * L->nrowtasks + n].at    = spare;
      spare += s->sparebytes;
      room--;
    }
  }
  return bytes;
}

/* Appends to the first bytes of row block b the row tasks that other threads have encoded; returns the total number of bytes */
static size_t AppendRowTasks(const BCCOOSIMD *L, PetscInt b, size_t bytes, const EncodeScratch *s)
{
  for (PetscInt n = s->ntaken[b * BCCOO_SIMD_CLAIM] - 1; n >= 0; n--) {
    const Taken *taken = &s->taken[b * L->nrowtasks + n];

    memcpy(L->data[b] + bytes, taken->at, taken->bytes);
    bytes += taken->bytes;
  }
  return bytes;
}

static PetscErrorCode Encode(BCCOOSIMD *L, const AIJCSR *csr, EncodeScratch *s)
{
  const PetscInt   nopen  = PetscMin(L->ncolblocks, BCCOO_SIMD_OPEN);
  const PetscCount nlists = (PetscCount)L->ncolblocks * L->nrowtasks;
  AIJCSR           mapped = *csr;
  BCCOOSIMDEncoder e      = {.L = L, .csr = L->map ? &mapped : csr};

  PetscFunctionBegin;
  if (L->map) {
    PetscCall(PetscMalloc1(L->nnz, &s->j));
    PetscCall(BCCOOSIMDNumberColumns(L, csr, s->j));
    mapped.j = s->j;
  }
  PetscCall(BCCOOSIMDBuildTable(L, csr));
  PetscCall(BCCOOSIMDMakeDict(L, &e, &s->bucket));
  if (L->ncolblocks > nopen) PetscCall(PetscMalloc1(L->m, &s->next));
  if (L->ncolblocks > 1) {
    PetscCall(PetscMalloc1(((L->n - 1) >> L->shift) + 1, &s->colblock));
    for (PetscInt r = 0; r < L->ncolblocks; r++) {
      for (PetscInt k = L->bound[r] >> L->shift; k <= (L->bound[r + 1] - 1) >> L->shift; k++) s->colblock[k] = (uint16_t)r;
    }
    e.colblock = s->colblock;
  }
  s->sparebytes = L->nrowtasks > 1 ? RowTaskBytes(L, csr) : 0;
  PetscCall(PetscMalloc5(L->nrowblocks * BCCOO_SIMD_CLAIM, &s->ntaken, (size_t)L->nrowblocks * nopen, &s->open, L->nrowblocks * nlists, &s->last, L->nrowblocks * BCCOO_SIMD_SPARE * s->sparebytes, &s->spare, L->nrowblocks * L->nrowtasks, &s->taken));
  PetscCall(PetscArrayzero(s->ntaken, L->nrowblocks * BCCOO_SIMD_CLAIM));
  if (!L->tile) PetscCall(PetscMalloc1((size_t)L->nrowblocks * (L->ncolblocks + 1), &L->tile));
  if (!L->data) PetscCall(PetscCalloc1(L->nrowblocks, &L->data));
  for (PetscInt b = 0; b < L->nrowblocks; b++) {
    PetscCall(PetscFree(L->data[b]));
    PetscCall(PetscMalloc1(RowBlockBytes(L, b), &L->data[b]));
    BCCOOAdviseHugePages(L->data[b], RowBlockBytes(L, b));
  }
  PetscPragmaOMP(parallel num_threads((int)L->nrowblocks) if (L->nrowblocks > 1))
  {
    PetscPragmaOMP(for schedule(static, 1))
    for (PetscInt t = 0; t < L->nrowblocks; t++) L->tile[t * (L->ncolblocks + 1) + L->ncolblocks] = EncodeRowTasks(&e, t, s);
    /* a thread writes the memory of the row block that it will read, so that the system places it near that thread */
    PetscPragmaOMP(for schedule(static, 1))
    for (PetscInt b = 0; b < L->nrowblocks; b++) {
      const size_t bytes = AppendRowTasks(L, b, L->tile[b * (L->ncolblocks + 1) + L->ncolblocks], s);

      LinkChunks(&e, b, L->data[b], bytes, s->last + b * nlists);
      memset(L->data[b] + bytes, 0, BCCOO_SIMD_SLOP);
    }
  }
  /* gives back what was not written; it has not taken physical memory yet */
  for (PetscInt b = 0; b < L->nrowblocks; b++) PetscCall(PetscRealloc(L->tile[b * (L->ncolblocks + 1) + L->ncolblocks] + BCCOO_SIMD_SLOP, &L->data[b]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCCOOSIMDEncode(BCCOOSIMD *L, const AIJCSR *csr)
{
  EncodeScratch  s = {0};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = Encode(L, csr, &s);
  PetscCall(PetscFree5(s.ntaken, s.open, s.last, s.spare, s.taken));
  PetscCall(PetscFree(s.next));
  PetscCall(PetscFree(s.colblock));
  PetscCall(PetscFree(s.j));
  PetscCall(PetscFree(s.bucket));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
