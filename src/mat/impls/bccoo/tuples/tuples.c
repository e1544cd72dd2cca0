/*
  Two formats: balanced chunks of uncompressed coordinates (BCOO), and of tuples (BCCOO). tuplesimpl.h describes what they store; they share
  all code but the coding.
*/
#include "tuplesimpl.h"

static PetscErrorCode COOBuild(const AIJCSR *, const AIJPurpose *, void **);
static PetscErrorCode TuplesBuild(const AIJCSR *, const AIJPurpose *, void **);
static PetscErrorCode TuplesSetValues(void *, const AIJCSR *);
static PetscErrorCode TuplesDestroy(void **);
static PetscErrorCode TuplesApply(void *, AIJOp, const PetscScalar *, const PetscScalar *, PetscScalar *);
static PetscErrorCode TuplesApplyDense(void *, AIJOp, PetscInt, const PetscScalar *, PetscInt, PetscScalar *, PetscInt);
static PetscErrorCode TuplesGetMemory(const void *, PetscLogDouble *);
static PetscErrorCode TuplesView(const void *, PetscViewer, PetscBool);

#define TUPLES_FORMAT(name_, build_) \
  { \
    .name = name_, .ondevice = PETSC_FALSE, .build = build_, .setvalues = TuplesSetValues, .destroy = TuplesDestroy, .apply = TuplesApply, .applydense = TuplesApplyDense, .getmemory = TuplesGetMemory, .view = TuplesView, .visit = BCCOOTuplesVisit, \
    .getcsr = BCCOOTuplesGetCSR \
  }
const AIJFormat AIJFormatCOO    = TUPLES_FORMAT("none", COOBuild);
const AIJFormat AIJFormatTuples = TUPLES_FORMAT("tuples", TuplesBuild);

static PetscErrorCode Fill(BCCOOTuples *f, const AIJCSR *csr)
{
  PetscFunctionBegin;
  if (f->coding != CODING_NONE) PetscCall(BCCOOOrderBuild(csr, f->nparts, &f->order));
  PetscCall(BCCOOTuplesBuildPattern(f, csr));
  PetscCall(BCCOOTuplesEncode(f, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Build(const AIJCSR *csr, BCCOOCoding coding, void **data)
{
  BCCOOTuples   *f;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscNew(&f));
  f->coding  = coding;
  f->m       = csr->m;
  f->n       = csr->n;
  f->nnz     = csr->nnz;
  f->nchunks = csr->nnz / BCCOO_CHUNK + (csr->nnz % BCCOO_CHUNK ? 1 : 0);
  f->nparts  = BCCOONumParts(csr);
  *data      = f;
  ierr       = Fill(f, csr);
  if (ierr) PetscCall(TuplesDestroy(data));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode COOBuild(const AIJCSR *csr, const AIJPurpose *purpose, void **data)
{
  PetscFunctionBegin;
  (void)purpose;
  PetscCall(Build(csr, CODING_NONE, data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TuplesBuild(const AIJCSR *csr, const AIJPurpose *purpose, void **data)
{
  PetscFunctionBegin;
  (void)purpose;
  PetscCall(Build(csr, CODING_TUPLES, data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TuplesSetValues(void *data, const AIJCSR *csr)
{
  PetscFunctionBegin;
  PetscCall(BCCOOTuplesEncode((BCCOOTuples *)data, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TuplesDestroy(void **data)
{
  BCCOOTuples *f = (BCCOOTuples *)*data;

  PetscFunctionBegin;
  if (!f) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree(f->crow));
  PetscCall(PetscFree3(f->row, f->col, f->val));
  PetscCall(PetscFree(f->offset));
  PetscCall(PetscFree(f->data));
  PetscCall(BCCOOOrderDestroy(&f->order));
  PetscCall(PetscFree3(f->first, f->own, f->carry));
  PetscCall(PetscFree3(f->transposed.first, f->transposed.lo, f->transposed.off));
  PetscCall(PetscFree(f->work.array));
  PetscCall(PetscFree(*data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TuplesApply(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  PetscFunctionBegin;
  if (op == AIJ_N) PetscCall(BCCOOTuplesMult((BCCOOTuples *)data, x, z, y));
  else PetscCall(BCCOOTuplesMultTranspose((BCCOOTuples *)data, BCCOOIsHermitian(op), x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TuplesApplyDense(void *data, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  PetscFunctionBegin;
  if (op == AIJ_N) PetscCall(BCCOOTuplesMatMult((BCCOOTuples *)data, K, X, ldx, Y, ldy));
  else PetscCall(BCCOOTuplesTransposeMatMult((BCCOOTuples *)data, BCCOOIsHermitian(op), K, X, ldx, Y, ldy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of all memory that is kept between products, by purpose; keys count as columns */
static void GetBytes(const BCCOOTuples *f, BCCOOBytes *bytes)
{
  const size_t nnz = f->nnz, nchunks = f->nchunks, nparts = f->nparts;

  if (f->coding == CODING_NONE) {
    bytes->rows    = nnz * sizeof(PetscInt);
    bytes->columns = nnz * sizeof(PetscInt);
    bytes->values  = nnz * sizeof(PetscScalar);
    bytes->tables  = 0;
  } else {
    bytes->rows    = f->nrowend;
    bytes->values  = f->ntabled + (nnz - f->ntabled) * sizeof(PetscScalar);
    bytes->columns = f->offset[nchunks] - bytes->rows - bytes->values;
    bytes->tables  = (nchunks + 1) * sizeof(size_t);
  }
  bytes->rows += nchunks * sizeof(PetscInt);
  bytes->tables += BCCOOOrderGetBytes(&f->order);
  bytes->tables += sizeof(*f) + (nparts + 1) * (4 * sizeof(PetscInt) + sizeof(PetscCount));
  bytes->buffers = (nparts * BCCOO_PANEL + f->work.n) * sizeof(PetscScalar);
}

static PetscErrorCode TuplesGetMemory(const void *data, PetscLogDouble *bytes)
{
  BCCOOBytes b;

  PetscFunctionBegin;
  GetBytes((const BCCOOTuples *)data, &b);
  *bytes = BCCOOBytesTotal(&b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TuplesView(const void *data, PetscViewer viewer, PetscBool detail)
{
  const BCCOOTuples *f = (const BCCOOTuples *)data;
  BCCOOBytes         b;

  PetscFunctionBegin;
  GetBytes(f, &b);
  PetscCall(BCCOOBytesView(&b, f->nnz, viewer));
  if (f->coding == CODING_TUPLES) PetscCall(PetscViewerASCIIPrintf(viewer, "value table: %" PetscInt_FMT " values code %.1f%% of the nonzeros\n", f->ntable, 100.0 * f->ntabled / f->nnz));
  if (!detail) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "parts: %" PetscInt_FMT " for A x, %" PetscInt_FMT " for A^T x\n", f->nparts, f->transposed.n));
  PetscCall(PetscViewerASCIIPrintf(viewer, "rows not sorted by column in the CSR: %" PetscInt_FMT "\n", f->order.nunsorted));
  PetscFunctionReturn(PETSC_SUCCESS);
}
