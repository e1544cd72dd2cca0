/*
  Pieces: ranges of rows, each stored as a matrix by itself, as its kind stores one of its size. A kind asks for them where a matrix has more nonzeros than its
  best format counts.

  A x and A X write the rows of each piece. For A^T u the first piece begins with z, and the others add to what there is. No format has an A^T U that
  adds: on a device the sums of a piece go to scratch, some columns at a time, and are added from there.
*/
#include "pieces.h"
#include "cuda/device.h"
#include "exchange/kernels.h"
#include "sys/testvalue.h"

typedef struct {
  PetscInt  row, entry; /* first row, first nonzero */
  AIJStored stored;
} Piece;

typedef struct {
  PetscInt     npieces;
  Piece       *piece;   /* npieces + 1: the last one begins where all rows end */
  PetscInt     n;       /* columns of the matrix */
  PetscScalar *scratch; /* for A^T U on a device: nscratch scalars */
  size_t       nscratch;
} Pieces;

#define SCRATCH_COLUMNS 32 /* at most that pass through scratch at a time, which is then no larger than Y */
#define VISITED         1024

#define Offset(array, by) ((array) ? (array) + (by) : NULL)

static PetscErrorCode PiecesDestroy(void **data)
{
  Pieces *p = (Pieces *)*data;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < p->npieces; k++) PetscCall(AIJStoredDestroy(&p->piece[k].stored));
#if defined(PETSCCSRC_HAVE_CUDA)
  PetscCall(PetscCSRCDeviceFree(&p->scratch));
#endif
  PetscCall(PetscFree(p->piece));
  PetscCall(PetscFree(*data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stores a piece of a CSR as the kind does; kind NULL: gives the stored piece new values. i: room for its row pointers */
static PetscErrorCode FillPiece(Piece *piece, const AIJKind *kind, const void *settings, PetscBool ondevice, const AIJPurpose *purpose, const AIJCSR *csr, PetscInt i[])
{
  AIJCSR part = *csr;

  PetscFunctionBegin;
  part.m        = piece[1].row - piece->row;
  part.nnz      = piece[1].entry - piece->entry;
  part.i        = i;
  part.j        = Offset(csr->j, piece->entry);
  part.a        = Offset(csr->a, piece->entry);
  part.device.i = NULL; /* those on the device count from the first row of all */
  part.device.j = Offset(csr->device.j, piece->entry);
  part.device.a = Offset(csr->device.a, piece->entry);
  for (PetscInt r = 0; r <= part.m; r++) i[r] = csr->i[piece->row + r] - piece->entry;
  if (kind) PetscCall((*kind->build)(settings, ondevice, purpose, &part, &piece->stored));
  else PetscCall((*piece->stored.format->setvalues)(piece->stored.data, &part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Fill(Pieces *p, const AIJKind *kind, const void *settings, PetscBool ondevice, const AIJPurpose *purpose, const AIJCSR *csr)
{
  PetscInt      *i;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(csr->m + 1, &i));
  for (PetscInt k = 0; k < p->npieces && !ierr; k++) ierr = FillPiece(&p->piece[k], kind, settings, ondevice, purpose, csr, i);
  PetscCall(PetscFree(i));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PiecesSetValues(void *data, const AIJCSR *csr)
{
  PetscFunctionBegin;
  PetscCall(Fill((Pieces *)data, NULL, NULL, PETSC_FALSE, NULL, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PiecesApply(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  const Pieces *p = (const Pieces *)data;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < p->npieces; k++) {
    const PetscInt   row = p->piece[k].row;
    const AIJStored *s   = &p->piece[k].stored;

    if (op == AIJ_N) PetscCall((*s->format->apply)(s->data, op, x, Offset(z, row), y + row));
    else PetscCall((*s->format->apply)(s->data, op, x + row, k ? y : z, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y += op(A) X for the rows of a piece; op is not AIJ_N */
static PetscErrorCode AddDense(Pieces *p, const AIJStored *s, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  PetscFunctionBegin;
  while (K > 0) {
    PetscInt k = 1;

#if defined(PETSCCSRC_HAVE_CUDA)
    if (s->format->ondevice && K >= AIJ_DENSE_COLUMNS) {
      const size_t n = (size_t)p->n * (size_t)(k = PetscMin(K, SCRATCH_COLUMNS));

      if (p->nscratch < n) {
        PetscCall(PetscCSRCDeviceFree(&p->scratch));
        p->nscratch = 0;
        PetscCall(PetscCSRCDeviceMalloc("scratch for products with dense matrices", n * sizeof(PetscScalar), &p->scratch));
        p->nscratch = n;
      }
      PetscCall((*s->format->applydense)(s->data, op, k, X, ldx, p->scratch, p->n));
      PetscCall(PetscCSRCUnpack(p->n, k, NULL, (PackedRows){p->scratch, 1, (size_t)p->n}, ADD_VALUES, Y, ldy));
    } else
#endif
      PetscCall((*s->format->apply)(s->data, op, X, Y, Y));
    K -= k;
    X += (size_t)ldx * k;
    Y += (size_t)ldy * k;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PiecesApplyDense(void *data, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  Pieces *p = (Pieces *)data;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < p->npieces; k++) {
    const PetscInt   row = p->piece[k].row;
    const AIJStored *s   = &p->piece[k].stored;

    if (op != AIJ_N && k) PetscCall(AddDense(p, s, op, K, X + row, ldx, Y, ldy));
    else PetscCall((*s->format->applydense)(s->data, op, K, X, ldx, Y + row, ldy)); /* the row of the first piece is 0 */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PiecesGetMemory(const void *data, PetscLogDouble *bytes)
{
  const Pieces *p = (const Pieces *)data;

  PetscFunctionBegin;
  *bytes = (PetscLogDouble)sizeof(PetscScalar) * p->nscratch;
  for (PetscInt k = 0; k < p->npieces; k++) {
    PetscLogDouble one;

    PetscCall((*p->piece[k].stored.format->getmemory)(p->piece[k].stored.data, &one));
    *bytes += one + sizeof(Piece);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PiecesView(const void *data, PetscViewer viewer, PetscBool detail)
{
  const Pieces *p = (const Pieces *)data;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " pieces of rows\n", p->npieces));
  for (PetscInt k = 0; k < p->npieces; k++) {
    const Piece *piece = &p->piece[k];

    PetscCall(PetscViewerASCIIPrintf(viewer, "rows %" PetscInt_FMT " to %" PetscInt_FMT ", %" PetscInt_FMT " nonzeros, in format %s:\n", piece->row, piece[1].row - 1, piece[1].entry - piece->entry, piece->stored.format->name));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscCall((*piece->stored.format->view)(piece->stored.data, viewer, detail));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  AIJVisitor visit;
  void      *ctx;
  PetscInt   row; /* first row of the piece */
} Visitor;

static void VisitPiece(void *visitctx, PetscInt n, const PetscInt row[], const PetscInt col[], const PetscScalar val[])
{
  const Visitor *v = (const Visitor *)visitctx;
  PetscInt       rows[VISITED], m;

  for (; n > 0; n -= m, row += m, col += m, val += m) {
    m = PetscMin(VISITED, n);
    for (PetscInt k = 0; k < m; k++) rows[k] = v->row + row[k];
    (*v->visit)(v->ctx, m, rows, col, val);
  }
}

static PetscErrorCode PiecesVisit(const void *data, AIJVisitor visit, void *visitctx)
{
  const Pieces *p = (const Pieces *)data;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < p->npieces; k++) {
    Visitor v = {visit, visitctx, p->piece[k].row};

    PetscCall((*p->piece[k].stored.format->visit)(p->piece[k].stored.data, VisitPiece, &v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PiecesMadeFor(const void *data, const AIJPurpose *purpose, PetscBool *yes)
{
  const Pieces *p = (const Pieces *)data;

  PetscFunctionBegin;
  *yes = PETSC_TRUE;
  for (PetscInt k = 0; k < p->npieces && *yes; k++) {
    const AIJStored *s = &p->piece[k].stored;

    if (s->format->madefor) PetscCall((*s->format->madefor)(s->data, purpose, yes));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* They have no build(), for which AIJPiecesBuild() stands */
#define PIECES_FORMAT(where, device) \
  { \
    .name = "pieces, on the " where, .ondevice = device, .setvalues = PiecesSetValues, .destroy = PiecesDestroy, .apply = PiecesApply, .applydense = PiecesApplyDense, .getmemory = PiecesGetMemory, .view = PiecesView, .visit = PiecesVisit, \
    .madefor = PiecesMadeFor \
  }
static const AIJFormat FormatHost = PIECES_FORMAT("host", PETSC_FALSE), FormatDevice = PIECES_FORMAT("device", PETSC_TRUE);

/*
  Cuts rows into pieces of at most `most` nonzeros, as few as hold them, of similar numbers: a piece has as many rows as there is room for in the mean number
  plus the longest row, so that none is left over. Every piece has nonzeros. There are no pieces if a row has more than `most`.
*/
static PetscErrorCode Cut(const AIJCSR *csr, PetscInt most, Pieces *p)
{
  const PetscInt wanted = (csr->nnz - 1) / most + 1, mean = csr->nnz / wanted;
  PetscInt       longest = 0, room;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < csr->m; r++) longest = PetscMax(longest, csr->i[r + 1] - csr->i[r]);
  if (longest > most) PetscFunctionReturn(PETSC_SUCCESS);
  room = PetscMin(longest, most - mean) + mean;
  PetscCall(PetscCalloc1(2 * wanted + 2, &p->piece)); /* two pieces next to each other have more nonzeros than `room` */
  for (PetscInt r = 0; r < csr->m; r++) {
    if (csr->i[r + 1] - p->piece[p->npieces].entry > room) p->piece[++p->npieces] = (Piece){.row = r, .entry = csr->i[r]};
  }
  p->piece[++p->npieces] = (Piece){.row = csr->m, .entry = csr->nnz};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* `pieces` in PETSCCSRC_TEST: cuts matrices of any size into so many pieces, or somewhat more; not if one row has more nonzeros than such a piece */
static PetscErrorCode MostNonzeros(const AIJKind *kind, const void *settings, PetscBool ondevice, const AIJCSR *csr, PetscInt *most)
{
  char      value[16];
  PetscInt  pieces = 1;
  PetscBool found;

  PetscFunctionBegin;
  *most = kind->getpiece ? (*kind->getpiece)(settings, ondevice, csr) : PETSC_INT_MAX;
  PetscCall(PetscCSRCTestValue("pieces", value, sizeof(value), &found));
  if (found) PetscCall(PetscOptionsStringToInt(value, &pieces));
  PetscCheck(pieces > 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "PETSCCSRC_TEST=pieces=%s is no number of pieces", value);
  *most = PetscMin(*most, (csr->nnz - 1) / pieces + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJPiecesBuild(const AIJKind *kind, const void *settings, PetscBool ondevice, const AIJPurpose *purpose, const AIJCSR *csr, AIJStored *stored)
{
  Pieces        *p;
  PetscInt       most;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MostNonzeros(kind, settings, ondevice, csr, &most));
  if (csr->nnz > most) {
    PetscCall(PetscNew(&p));
    p->n           = csr->n;
    stored->format = ondevice ? &FormatDevice : &FormatHost;
    stored->data   = p;
    ierr           = Cut(csr, most, p);
    if (!ierr) ierr = Fill(p, kind, settings, ondevice, purpose, csr);
    if (!ierr && p->npieces) PetscFunctionReturn(PETSC_SUCCESS);
    (void)AIJStoredDestroy(stored); /* the first error is the one to report */
    PetscCall(ierr);
  }
  PetscCall((*kind->build)(settings, ondevice, purpose, csr, stored));
  PetscFunctionReturn(PETSC_SUCCESS);
}
