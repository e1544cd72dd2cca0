/*
  A multifrontal QR factorisation without Q (T. A. Davis, ACM Trans. Math. Softw. 38, 2011).

  Each elimination (sparseqrorder.c) is a front: a dense matrix of the rows of A that begin here, and of what is left of earlier fronts. LAPACK factors it; its
  first rows are rows of R, the rest goes to a later front. Where many more rows than columns come together, this takes up to a thousand times as many operations
  as the Cholesky factorisation of A^H A with the same fronts, which adds what is left of earlier ones.
*/
#include <petscblaslapack.h>
#include "sparseqrimpl.h"

/* Columns that LAPACK eliminates at a time, and what its work space has beside these */
#define BLOCK 32
#define WORK  (65 * 64)
/* Columns that a multiplication updates at a time */
#define COLUMNS 128
/* A solve is of so many columns at a time, or half as many; so many columns of R at a time; by BLAS, which has threads, for fronts with so many entries */
#define WIDEST 8
#define GROUP  4
#define LARGE  20000

/* ------------------------------------------------------------------------------------------------ factorisation */
/* The rows of a matrix, of which factor times the values count, and the shift */
typedef struct {
  const PetscInt    *i, *j;
  const PetscScalar *a;
  PetscReal          factor, shift;
} Rows;

/* The dense matrix of a front, room x n, of which nrows rows are in use */
typedef struct {
  PetscInt     n, room, nrows;
  PetscScalar *a, *tau, *work;
} Dense;

/* Replaces the rows by those of their triangular factor */
static PetscErrorCode Reduce(Dense *d)
{
  PetscBLASInt m, n, lda, lwork, info = 0;

  PetscFunctionBegin;
  if (!d->nrows || !d->n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(d->nrows, &m));
  PetscCall(PetscBLASIntCast(d->n, &n));
  PetscCall(PetscBLASIntCast(d->room, &lda));
  PetscCall(PetscBLASIntCast((PetscCount)d->n * BLOCK + WORK, &lwork));
  PetscCallBLAS("LAPACKgeqrf", LAPACKgeqrf_(&m, &n, d->a, &lda, d->tau, d->work, &lwork, &info));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK geqrf failed with info = %" PetscBLASInt_FMT, info);
  for (PetscInt j = 0; j < d->n; j++)
    for (PetscInt i = j + 1; i < d->nrows; i++) d->a[i + (PetscCount)j * d->room] = 0.0;
  d->nrows = PetscMin(d->nrows, d->n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Eliminates the first npiv columns only. If there are no more rows than columns, to eliminate others would leave as many rows, and fronts with few of many columns to
  eliminate are the usual ones.
*/
static PetscErrorCode ReducePivots(Dense *d, PetscInt npiv)
{
  PetscBLASInt m, n, k, lda, lwork, info = 0;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(d->nrows, &m));
  PetscCall(PetscBLASIntCast(d->n - npiv, &n));
  PetscCall(PetscBLASIntCast(npiv, &k));
  PetscCall(PetscBLASIntCast(d->room, &lda));
  PetscCall(PetscBLASIntCast((PetscCount)d->n * BLOCK + WORK, &lwork));
  PetscCallBLAS("LAPACKgeqrf", LAPACKgeqrf_(&m, &k, d->a, &lda, d->tau, d->work, &lwork, &info));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK geqrf failed with info = %" PetscBLASInt_FMT, info);
  if (n) PetscCallBLAS("LAPACKormqr", LAPACKormqr_("L", PetscDefined(USE_COMPLEX) ? "C" : "T", &m, &n, &k, d->a, &lda, d->tau, d->a + (PetscCount)npiv * d->room, &lda, d->work, &lwork, &info));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK ormqr failed with info = %" PetscBLASInt_FMT, info);
  for (PetscInt j = 0; j < npiv; j++)
    for (PetscInt i = j + 1; i < d->nrows; i++) d->a[i + (PetscCount)j * d->room] = 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row of zeros; factors what is there if there is no room for it. Only columns of a new row may be set that are not zero by the factor's shape. */
static PetscErrorCode NewRow(Dense *d, PetscScalar **row)
{
  PetscFunctionBegin;
  if (d->nrows == d->room) PetscCall(Reduce(d));
  *row = d->a + d->nrows++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What fronts leave lies on a stack. Those of a subtree follow each other, so what the children of a front left is on top when it is its turn. (Memory for each of
  them would be made of new pages each time.)
*/
static PetscErrorCode CreateStack(SparseQR qr, PetscBool normal, PetscScalar **stack)
{
  PetscCount top = 0, most = 0, *size;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(qr->nfronts, &size));
  for (PetscInt i = 0; i < qr->nfronts; i++) {
    const Front     *f = &qr->front[i];
    const PetscCount n = f->n - f->npiv;

    size[i] = normal ? n * (n + 1) / 2 : f->nrest * n;
    for (PetscInt c = f->child; c >= 0; c = qr->front[c].next) top -= size[c];
    top += size[i];
    most = PetscMax(most, top);
  }
  PetscCall(PetscFree(size));
  PetscCall(PetscMalloc1(most, stack));
  qr->top = *stack;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All rows of a front; place has the index of each position among its columns. What its children left is taken from the stack, from the last one on. */
static PetscErrorCode Assemble(SparseQR qr, Front *f, const Rows *A, const PetscInt place[], Dense *d)
{
  PetscScalar *row = NULL;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < f->npiv; k++) {
    PetscCall(NewRow(d, &row));
    row[(PetscCount)k * d->room] = A->shift;
  }
  for (PetscInt r = f->first; r >= 0; r = qr->nextrow[r]) {
    PetscCall(NewRow(d, &row));
    for (PetscInt k = A->i[r]; k < A->i[r + 1]; k++) row[(PetscCount)place[qr->pos[A->j[k]]] * d->room] += A->factor * A->a[k];
  }
  for (PetscInt c = f->child; c >= 0; c = qr->front[c].next) {
    Front          *child  = &qr->front[c];
    const PetscInt *column = qr->column + child->columns + child->npiv;

    for (PetscInt i = 0; i < child->nrest; i++) {
      PetscCall(NewRow(d, &row));
      for (PetscInt j = 0; j < child->n - child->npiv; j++) row[(PetscCount)place[column[j]] * d->room] = child->rest[i + (PetscCount)j * child->nrest];
    }
    qr->top = child->rest;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keeps the rows of R of a front that was reduced, and on the stack nrest rows for a later one, or their upper triangle */
static PetscErrorCode Keep(SparseQR qr, Front *f, const PetscScalar a[], PetscCount ld, PetscInt nrest, PetscBool upper)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(f->R));
  PetscCall(PetscMalloc1((size_t)f->npiv * f->n, &f->R));
  for (PetscInt j = 0; j < f->n; j++) PetscCall(PetscArraycpy(f->R + (PetscCount)j * f->npiv, a + j * ld, f->npiv));
  f->rest = qr->top;
  for (PetscInt j = 0, rows; j < f->n - f->npiv; j++, qr->top += rows) {
    rows = upper ? j + 1 : nrest;
    PetscCall(PetscArraycpy(qr->top, a + f->npiv + (f->npiv + j) * ld, rows));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The upper triangle of a front for A^H A + shift^2, n x n; at and value have room for a row */
static PetscErrorCode AssembleNormal(SparseQR qr, Front *f, const Rows *A, const PetscInt place[], PetscInt at[], PetscScalar value[], PetscScalar N[])
{
  const PetscCount n = f->n;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < f->npiv; k++) N[k + k * n] = A->shift * A->shift;
  for (PetscInt r = f->first; r >= 0; r = qr->nextrow[r]) {
    const PetscInt nz = A->i[r + 1] - A->i[r];

    for (PetscInt k = 0; k < nz; k++) {
      at[k]    = place[qr->pos[A->j[A->i[r] + k]]];
      value[k] = A->factor * A->a[A->i[r] + k];
    }
    for (PetscInt k = 0; k < nz; k++) {
      for (PetscInt l = 0; l <= k; l++) {
        const PetscScalar a = PetscConj(value[l]) * value[k];

        N[PetscMin(at[k], at[l]) + PetscMax(at[k], at[l]) * n] += at[l] <= at[k] ? a : PetscConj(a);
        if (at[l] == at[k] && l < k) N[at[k] + at[k] * n] += PetscConj(a);
      }
    }
  }
  for (PetscInt c = f->child; c >= 0; c = qr->front[c].next) {
    Front          *child  = &qr->front[c];
    const PetscInt *column = qr->column + child->columns + child->npiv;
    PetscScalar    *rest   = child->rest;

    for (PetscInt j = 0; j < child->n - child->npiv; j++) {
      PetscScalar *to = N + place[column[j]] * n;

      for (PetscInt i = 0; i <= j; i++) to[place[column[i]]] += *rest++;
    }
    qr->top = child->rest;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Cholesky factorisation of the pivots' part of a front, and what it leaves of the rest */
static PetscErrorCode ReduceNormal(const Front *f, PetscScalar N[], PetscBool *failed)
{
  const PetscScalar one = 1.0, minus = -1.0;
  PetscBLASInt      n, npiv, nrest, info = 0;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(f->n, &n));
  PetscCall(PetscBLASIntCast(f->npiv, &npiv));
  nrest = n - npiv;
  PetscCallBLAS("LAPACKpotrf", LAPACKpotrf_("U", &npiv, N, &n, &info));
  *failed = (PetscBool)(info != 0);
  if (info || !nrest) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallBLAS("BLAStrsm", BLAStrsm_("L", "U", "C", "N", &npiv, &nrest, &one, N, &n, N + (PetscCount)npiv * n, &n));
  for (PetscBLASInt j = 0, w; j < nrest; j += w) { /* the upper triangle by blocks of columns: PETSc declares no herk */
    PetscBLASInt rows;

    w    = PetscMin(nrest - j, COLUMNS);
    rows = j + w;
    PetscCallBLAS("BLASgemm", BLASgemm_("C", "N", &rows, &w, &npiv, &minus, N + (PetscCount)npiv * n, &n, N + (PetscCount)(npiv + j) * n, &n, &one, N + npiv + (PetscCount)(npiv + j) * n, &n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SparseQRFactorNormal - Computes R as the Cholesky factor of factor^2 A^H A + shift^2

   Note:
   Its rounding is that of A^H A. failed: there is no such factor because of it, and shift has to be larger.
*/
PetscErrorCode SparseQRFactorNormal(SparseQR qr, const PetscInt ai[], const PetscInt aj[], const PetscScalar aa[], PetscReal factor, PetscReal shift, PetscBool *failed)
{
  const Rows   A = {ai, aj, aa, factor, shift};
  PetscInt    *place, *at, longest = 0;
  PetscScalar *N, *value, *stack;

  PetscFunctionBegin;
  *failed = PETSC_FALSE;
  for (PetscInt r = 0; r < qr->m; r++) longest = PetscMax(longest, ai[r + 1] - ai[r]);
  PetscCall(PetscMalloc4(qr->n, &place, (size_t)qr->widest * qr->widest, &N, longest, &at, longest, &value));
  PetscCall(CreateStack(qr, PETSC_TRUE, &stack));
  for (PetscInt i = 0; i < qr->nfronts && !*failed; i++) {
    Front         *f     = &qr->front[i];
    const PetscInt nrest = f->n - f->npiv;

    for (PetscInt k = 0; k < f->n; k++) place[qr->column[f->columns + k]] = k;
    PetscCall(PetscArrayzero(N, (size_t)f->n * f->n));
    PetscCall(AssembleNormal(qr, f, &A, place, at, value, N));
    PetscCall(ReduceNormal(f, N, failed));
    if (!*failed) PetscCall(Keep(qr, f, N, f->n, nrest, PETSC_TRUE));
  }
  PetscCall(PetscFree(stack));
  PetscCall(PetscFree4(place, N, at, value));
  PetscCall(PetscLogFlops(qr->normalflops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SparseQRFactor - Computes R for factor times the matrix, of the structure that was analysed

   Note:
   Entries of the same place are added.
*/
PetscErrorCode SparseQRFactor(SparseQR qr, const PetscInt ai[], const PetscInt aj[], const PetscScalar aa[], PetscReal factor, PetscReal shift)
{
  const Rows   A = {ai, aj, aa, factor, shift};
  PetscInt    *place;
  PetscScalar *stack;
  Dense        d;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(qr->n, &place, qr->widest, &d.tau, (size_t)qr->widest * BLOCK + WORK, &d.work));
  PetscCall(CreateStack(qr, PETSC_FALSE, &stack));
  for (PetscInt i = 0; i < qr->nfronts; i++) {
    Front         *f    = &qr->front[i];
    const PetscInt most = (PetscInt)PetscMin(PetscMax((PetscInt64)CHUNK * f->n, f->n + BLOCK), f->rows);

    for (PetscInt k = 0; k < f->n; k++) place[qr->column[f->columns + k]] = k;
    d.n     = f->n;
    d.room  = most;
    d.nrows = 0;
    PetscCall(PetscCalloc1((size_t)d.room * d.n, &d.a));
    PetscCall(Assemble(qr, f, &A, place, &d));
    if (d.nrows <= d.n) PetscCall(ReducePivots(&d, f->npiv));
    else PetscCall(Reduce(&d));
    PetscCall(Keep(qr, f, d.a, d.room, f->nrest, PETSC_FALSE));
    PetscCall(PetscFree(d.a));
  }
  PetscCall(PetscFree(stack));
  PetscCall(PetscFree3(place, d.tau, d.work));
  PetscCall(PetscLogFlops(qr->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------ solves */
/* X is R^-1 X or R^-H X for one front: Y has its columns of X, of which the first npiv are those solved for */
static PetscErrorCode SolveLargeFront(const Front *f, PetscBool adjoint, PetscBLASInt w, PetscScalar Y[])
{
  const PetscScalar one = 1.0, minus = -1.0;
  PetscBLASInt      npiv, n, nrest;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(f->npiv, &npiv));
  PetscCall(PetscBLASIntCast(f->n, &n));
  nrest = n - npiv;
  if (!adjoint) {
    PetscCallBLAS("BLAStrsm", BLAStrsm_("L", "U", "C", "N", &npiv, &w, &one, f->R, &npiv, Y, &n));
    if (nrest) PetscCallBLAS("BLASgemm", BLASgemm_("C", "N", &nrest, &w, &npiv, &minus, f->R + (PetscCount)f->npiv * f->npiv, &npiv, Y, &n, &one, Y + f->npiv, &n));
  } else {
    if (nrest) PetscCallBLAS("BLASgemm", BLASgemm_("N", "N", &npiv, &w, &nrest, &minus, f->R + (PetscCount)f->npiv * f->npiv, &npiv, Y + f->npiv, &n, &one, Y, &n));
    PetscCallBLAS("BLAStrsm", BLAStrsm_("L", "U", "N", "N", &npiv, &w, &one, f->R, &npiv, Y, &n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline void Subtract(const PetscInt w, PetscScalar a, const PetscScalar x[], PetscScalar y[])
{
  PetscPragmaSIMD
  for (PetscInt c = 0; c < w; c++) y[c] -= a * x[c];
}

/* The same for w entries of each position, one after the other in Z. w is a constant where this is called, and the loops over it are vectors */
static inline void SolveFront(const Front *f, const PetscInt column[], PetscBool adjoint, const PetscInt w, PetscScalar Z[])
{
  PetscScalar *own = Z + (PetscCount)column[0] * w;

  for (PetscInt at = 0; at < f->n; at += GROUP) { /* so many columns of R at a time, whose sums do not wait for each other */
    const PetscInt first = adjoint ? PetscMax(f->n - at - GROUP, 0) : at, last = adjoint ? f->n - at : PetscMin(at + GROUP, f->n), some = last - first, rows = PetscMin(first, f->npiv);
    PetscScalar    sum[GROUP][WIDEST];

    for (PetscInt j = 0; j < GROUP; j++)
      for (PetscInt c = 0; c < w; c++) sum[j][c] = Z[(PetscCount)column[PetscMin(first + j, last - 1)] * w + c];
    if (!adjoint) {
      const PetscScalar *R[GROUP];

      for (PetscInt j = 0; j < GROUP; j++) R[j] = f->R + (PetscCount)PetscMin(first + j, last - 1) * f->npiv;
      for (PetscInt i = 0; i < rows; i++)
        for (PetscInt j = 0; j < GROUP; j++) Subtract(w, PetscConj(R[j][i]), own + i * w, sum[j]);
      for (PetscInt j = 0; j < some; j++) {
        for (PetscInt i = rows; i < PetscMin(first + j, f->npiv); i++) Subtract(w, PetscConj(R[j][i]), sum[i - first], sum[j]);
        for (PetscInt c = 0; c < w && first + j < f->npiv; c++) sum[j][c] /= PetscConj(R[j][first + j]);
      }
    } else {
      for (PetscInt j = some - 1; j >= 0; j--) {
        const PetscScalar *R = f->R + (PetscCount)(first + j) * f->npiv;

        for (PetscInt c = 0; c < w && first + j < f->npiv; c++) sum[j][c] /= R[first + j];
        for (PetscInt i = rows; i < PetscMin(first + j, f->npiv); i++) Subtract(w, R[i], sum[j], sum[i - first]);
        for (PetscInt i = 0; i < rows; i++) Subtract(w, R[i], sum[j], own + i * w);
      }
    }
    for (PetscInt j = 0; j < some; j++)
      for (PetscInt c = 0; c < w; c++) Z[(PetscCount)column[first + j] * w + c] = sum[j][c];
  }
}

static PetscErrorCode SolveFronts(SparseQR qr, PetscBool adjoint, PetscInt w, PetscScalar Z[], PetscScalar Y[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < qr->nfronts; i++) {
    const Front    *f      = &qr->front[adjoint ? qr->nfronts - 1 - i : i];
    const PetscInt *column = qr->column + f->columns;

    if ((PetscCount)f->npiv * f->n < LARGE) {
      if (w == WIDEST) SolveFront(f, column, adjoint, WIDEST, Z);
      else SolveFront(f, column, adjoint, WIDEST / 2, Z);
      continue;
    }
    for (PetscInt k = 0; k < f->n; k++)
      for (PetscInt c = 0; c < w; c++) Y[k + (PetscCount)c * f->n] = Z[(PetscCount)column[k] * w + c];
    PetscCall(SolveLargeFront(f, adjoint, (PetscBLASInt)w, Y));
    for (PetscInt k = 0; k < (adjoint ? f->npiv : f->n); k++)
      for (PetscInt c = 0; c < w; c++) Z[(PetscCount)column[k] * w + c] = Y[k + (PetscCount)c * f->n];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  With R in the order of elimination and P^H the permutation to it: forward, X = R^-H P^H X, in the order of elimination; adjoint, X = P R^-1 X. The
  numbering of the vectors in between is that of the rows of R.
*/
PetscErrorCode SparseQRSolve(SparseQR qr, PetscBool adjoint, PetscInt w, PetscScalar X[], PetscInt ldx)
{
  PetscScalar *Z, *Y;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2((size_t)qr->n * WIDEST, &Z, (size_t)qr->widest * WIDEST, &Y));
  for (PetscInt first = 0, width; first < w; first += width) {
    const PetscInt some = PetscMin(w - first, WIDEST);
    PetscScalar   *x    = X + (PetscCount)first * ldx;

    width = some > WIDEST / 2 ? WIDEST : WIDEST / 2;
    for (PetscInt i = 0; i < qr->n; i++)
      for (PetscInt c = 0; c < width; c++) Z[(PetscCount)(adjoint ? i : qr->pos[i]) * width + c] = c < some ? x[i + (PetscCount)c * ldx] : 0.0;
    PetscCall(SolveFronts(qr, adjoint, width, Z, Y));
    for (PetscInt i = 0; i < qr->n; i++)
      for (PetscInt c = 0; c < some; c++) x[i + (PetscCount)c * ldx] = Z[(PetscCount)(adjoint ? qr->pos[i] : i) * width + c];
  }
  PetscCall(PetscFree2(Z, Y));
  PetscCall(PetscLogFlops(2.0 * qr->entries * w));
  PetscFunctionReturn(PETSC_SUCCESS);
}
