static char help[] = "The formats of the host: every allocation ends at a page that cannot be read, and the scratch of products is bounded by the nonzeros.\n\
  -limits           matrices on both sides of the numbers of nonzeros from which threads and column blocks are used, each with one product of each kind\n\
  -seed0 <1>        otherwise random sequences; each depends on its seed alone\n\
  -count <1>        how many\n\
  -progress <file>  holds the seed of the sequence that runs\n\n";

#if !defined(_GNU_SOURCE)
  #define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#endif
#include "wayback.h"
#include <petsccsrc.h>
#include <support.h>
#include <omp.h>
#include <sys/mman.h>
#include <unistd.h>

/* ----------------------------------------------------------------------------------------------------------- memory
  PETSc's allocations are placed one after the other in a range of addresses, each before a page that cannot be accessed, with as many bytes between as it
  takes to align it; these must not be written to. Addresses are not used again, so that neither can memory after it was freed. New memory has all bits set.
*/
#define RANGE ((size_t)1 << 40)
#define MOST  16384

typedef struct {
  char     *p;
  size_t    bytes;
  PetscBool scratch; /* allocated by a product */
} Piece;

static PetscErrorCode (*realfree)(void *, int, const char[], const char[]);
static PetscErrorCode (*realrealloc)(size_t, int, const char[], const char[], void **);
static struct {
  char     *start, *end;
  size_t    page;
  Piece     piece[MOST];
  PetscInt  n;
  PetscBool multiplying;
} memory;

static PetscErrorCode GuardedMalloc(size_t bytes, PetscBool clear, int line, const char function[], const char file[], void **ptr)
{
  const size_t aligned = (bytes + PETSC_MEMALIGN - 1) / PETSC_MEMALIGN * PETSC_MEMALIGN, room = (aligned + memory.page - 1) / memory.page * memory.page;
  char        *p = memory.end;

  *ptr = NULL;
  if (!bytes) return PETSC_SUCCESS;
  if (memory.n == MOST || room + memory.page > RANGE - (size_t)(p - memory.start) || mprotect(p, room, PROT_READ | PROT_WRITE)) return PetscError(PETSC_COMM_SELF, line, function, file, PETSC_ERR_MEM, PETSC_ERROR_INITIAL, "No memory");
  memory.end               = p + room + memory.page;
  memory.piece[memory.n++] = (Piece){p + room - aligned, bytes, memory.multiplying};
  *ptr                     = p + room - aligned;
  memset(*ptr, 0xff, aligned);
  if (clear) memset(*ptr, 0, bytes);
  return PETSC_SUCCESS;
}

static PetscErrorCode GuardedFree(void *ptr, int line, const char function[], const char file[])
{
  if ((char *)ptr < memory.start || (char *)ptr >= memory.end) return (*realfree)(ptr, line, function, file);
  for (PetscInt k = memory.n - 1; k >= 0; k--) {
    if (memory.piece[k].p == ptr) {
      char *first = memory.start + (size_t)((char *)ptr - memory.start) / memory.page * memory.page, *end = (char *)ptr + memory.piece[k].bytes;

      for (char *c = end; (size_t)(c - memory.start) % memory.page; c++) {
        if (*c != (char)0xff) return PetscError(PETSC_COMM_SELF, line, function, file, PETSC_ERR_MEMC, PETSC_ERROR_INITIAL, "Memory was written to beyond its end");
      }
      if (mmap(first, (size_t)(end - first), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) break;
      memory.piece[k] = memory.piece[--memory.n];
      return PETSC_SUCCESS;
    }
  }
  return PetscError(PETSC_COMM_SELF, line, function, file, PETSC_ERR_MEM, PETSC_ERROR_INITIAL, "Freed twice");
}

static PetscErrorCode GuardedRealloc(size_t bytes, int line, const char function[], const char file[], void **ptr)
{
  void *p;

  if (*ptr && ((char *)*ptr < memory.start || (char *)*ptr >= memory.end)) return (*realrealloc)(bytes, line, function, file, ptr);
  PetscCall(GuardedMalloc(bytes, PETSC_FALSE, line, function, file, &p));
  for (PetscInt k = 0; *ptr && p && k < memory.n; k++) {
    if (memory.piece[k].p == *ptr) memcpy(p, *ptr, PetscMin(bytes, memory.piece[k].bytes));
  }
  if (*ptr) PetscCall(GuardedFree(*ptr, line, function, file));
  *ptr = p;
  return PETSC_SUCCESS;
}

static PetscErrorCode GuardMemory(void)
{
  PetscFunctionBegin;
  memory.page  = (size_t)sysconf(_SC_PAGESIZE);
  memory.start = memory.end = (char *)mmap(NULL, RANGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  PetscCheck(memory.start != (char *)MAP_FAILED, PETSC_COMM_SELF, PETSC_ERR_SYS, "There is no range of %zu free addresses", RANGE);
  realfree       = PetscTrFree;
  realrealloc    = PetscTrRealloc;
  PetscTrMalloc  = GuardedMalloc;
  PetscTrFree    = GuardedFree;
  PetscTrRealloc = GuardedRealloc;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---------------------------------------------------------------------------------------------------------- matrices */
typedef enum {
  UNIFORM,
  FEWCOLUMNS, /* most nonzeros are in few columns, the others anywhere */
  FEWROWS,
  BAND,
  RUNS,    /* of columns along a row */
  SHARED,  /* groups of rows have the same columns */
  FULLROW, /* and others anywhere */
  ENDS,    /* the first and the last columns */
  STENCIL,
  NPATTERNS
} Pattern;

#define NVALUES 6 /* equal, 5, 200, 3000 different ones, what fits into single precision, and any */

/* Values and vectors are integers, so that each order of a sum gives the same */
typedef struct {
  PetscInt     m, n, nnz;
  PetscInt    *i, *j;
  PetscScalar *a;
  uint64_t     state;
  char         name[256];
  PetscInt     columns[2]; /* of the widest product with A, and with A^T, so far */
  PetscInt     bad;
} Case;

static PetscInt Choose(Case *c, PetscInt n)
{
  return (PetscInt)(RandomBits(&c->state) % (uint64_t)n);
}

/* A number from 1 to most whose logarithm is uniform */
static PetscInt ChooseSize(Case *c, PetscInt most)
{
  return PetscMin(most, (PetscInt)pow((double)most + 1, RandomUniform(&c->state)));
}

static PetscScalar Value(Case *c, int kind)
{
  static const PetscInt different[NVALUES] = {1, 5, 200, 3000, 1 << 20, 1 << 30};
  const PetscInt        re                 = 1 + Choose(c, PetscDefined(USE_REAL_SINGLE) ? PetscMin(5, different[kind]) : different[kind]);

#if PetscDefined(USE_COMPLEX)
  return PetscCMPLX(re, kind ? Choose(c, 5) - 2 : 1);
#else
  return (PetscScalar)re;
#endif
}

static PetscScalar Operand(PetscInt k)
{
#if PetscDefined(USE_COMPLEX)
  return PetscCMPLX(1 + k % 2, k % 3);
#else
  return 1 + k % 3;
#endif
}

static PetscErrorCode CreateCase(Case *c, PetscInt m, PetscInt n, PetscInt nnz, Pattern pattern, PetscBool sorted, int kind)
{
  PetscInt *row, *col, *next, count = 0;

  PetscFunctionBegin;
  c->m = m;
  c->n = n;
  PetscCall(PetscMalloc3(nnz, &row, nnz, &col, m + 1, &next));
  while (count < nnz) {
    const PetscInt i = pattern == FEWROWS ? (PetscInt)(m * pow(RandomUniform(&c->state), 6)) : Choose(c, m);
    PetscInt       j = Choose(c, n), length = 1;

    if (pattern == FEWCOLUMNS) j = (PetscInt)(n * pow(RandomUniform(&c->state), 6));
    else if (pattern == BAND) j = (PetscInt)((double)n * i / m);
    else if (pattern == SHARED) j = (PetscInt)(((PetscInt64)(i / 10) * 7919 + Choose(c, 5) * 401) % n);
    else if (pattern == ENDS) j = Choose(c, 2) ? n - 1 - j % PetscMin(n, 20) : j % PetscMin(n, 20);
    else if (pattern == STENCIL) j = (i + Choose(c, 5) * 40) % n;
    if (pattern == RUNS) length = 1 + Choose(c, 30);
    if (pattern == FULLROW && !count) {
      j      = 0;
      length = n;
    }
    for (PetscInt k = 0; k < length && j + k < n && count < nnz; k++, count++) {
      row[count] = i;
      col[count] = j + k;
    }
  }
  PetscCall(PetscMalloc1(m + 1, &c->i));
  PetscCall(PetscMalloc1(nnz, &c->j));
  PetscCall(PetscArrayzero(c->i, m + 1));
  for (PetscInt k = 0; k < nnz; k++) c->i[row[k] + 1]++;
  for (PetscInt i = 0; i < m; i++) next[i] = c->i[i + 1] += c->i[i];
  for (PetscInt k = nnz - 1; k >= 0; k--) c->j[--next[row[k]]] = col[k];
  for (PetscInt i = 0, first = 0, end; i < m; i++, first = end) {
    PetscInt length = c->i[i + 1] - first;

    end = c->i[i + 1];
    if (PetscDefined(USE_DEBUG)) PetscCall(PetscSortRemoveDupsInt(&length, c->j + first)); /* with debugging PETSc refuses others */
    else if (sorted) PetscCall(PetscSortInt(length, c->j + first));
    PetscCall(PetscArraymove(c->j + c->i[i], c->j + first, length));
    c->i[i + 1] = c->i[i] + length;
  }
  c->nnz = c->i[m];
  PetscCall(PetscMalloc1(c->nnz, &c->a));
  for (PetscInt k = 0; k < c->nnz; k++) c->a[k] = Value(c, kind);
  PetscCall(PetscFree3(row, col, next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyCase(Case *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(c->i));
  PetscCall(PetscFree(c->j));
  PetscCall(PetscFree(c->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of the type that is tested, with copies of the arrays and of the form that the options say */
static PetscErrorCode CreateMat(Case *c, const char format[], int nthreads, Mat *A)
{
  Mat            B;
  PetscMemType   mtype;
  PetscLogDouble bytes;

  PetscFunctionBegin;
  omp_set_num_threads(nthreads);
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, c->m, c->n, c->i, c->j, c->a, &B));
  PetscCall(MatConvert(B, MATBCCOO, MAT_INITIAL_MATRIX, A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscOptionsSetValue(NULL, "-mat_bccoo_compression", format));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(PetscOptionsClearValue(NULL, "-mat_bccoo_compression"));
  PetscCall(MatFormGetMemory(*A, &bytes, &mtype)); /* stores the nonzeros */
  c->columns[0] = c->columns[1] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---------------------------------------------------------------------------------------------------------- products */
static PetscErrorCode Fault(Case *c, const char what[], PetscInt K, double found, double most)
{
  PetscFunctionBegin;
  if (++c->bad <= 3) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s, %" PetscInt_FMT " columns: %g, not %g\n", c->name, what, K, found, most));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Scalars of scratch that products with K columns may have: they are packed in panels of 8 or 16 columns */
static double MostScratch(const Case *c, PetscBool transposed, PetscInt K)
{
  const double columns = K < 2 ? (double)K : K <= 8 ? 8.0 : 16.0 * ((K - 1) / 16 + 1);

  return columns * (2.0 * c->nnz + c->n + (transposed || K < 2 ? 0 : c->m));
}

/* After a product, which found all bits of its scratch set: how much of it there is, and how much was written */
static PetscErrorCode CheckScratch(Case *c, PetscBool transposed, PetscInt K)
{
  double held = 0, written = 0, most = 0;

  PetscFunctionBegin;
  for (int t = 0; t < 2; t++) {
    c->columns[t] = t == transposed ? PetscMax(c->columns[t], K) : c->columns[t];
    most          = PetscMax(most, MostScratch(c, (PetscBool)t, c->columns[t]));
  }
  for (PetscInt k = 0; k < memory.n; k++) {
    const Piece   piece = memory.piece[k];
    unsigned char set[sizeof(PetscScalar)];

    if (!piece.scratch) continue;
    memset(set, 0xff, sizeof(set));
    for (size_t l = 0; l + sizeof(set) <= piece.bytes; l += sizeof(set)) written += memcmp(piece.p + l, set, sizeof(set)) != 0;
    held += (double)(piece.bytes / sizeof(PetscScalar)) - 64.0 / sizeof(PetscScalar); /* what aligns it */
  }
  if (held > most) PetscCall(Fault(c, "scratch", K, held, most));
  if (written > MostScratch(c, transposed, K)) PetscCall(Fault(c, transposed ? "scratch written by A^T X" : "scratch written by A X", K, written, MostScratch(c, transposed, K)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = op(A) x + z by a plain loop; op is N, T or H */
static void Loop(const Case *c, char op, const PetscScalar x[], PetscBool add, PetscScalar y[])
{
  for (PetscInt k = 0; k < (op == 'N' ? c->m : c->n); k++) y[k] = add ? Operand(k) : 0.0;
  for (PetscInt i = 0; i < c->m; i++) {
    for (PetscInt k = c->i[i]; k < c->i[i + 1]; k++) {
      if (op == 'N') y[i] += c->a[k] * x[c->j[k]];
      else y[c->j[k]] += (op == 'H' ? PetscConj(c->a[k]) : c->a[k]) * x[i];
    }
  }
}

/* A product with K columns, or, with K = 0, with a vector; add: 0 no other vector is added, 1 one is added, 2 the product is added to a vector in place */
static PetscErrorCode Multiply(Case *c, Mat A, char op, int add, PetscInt K)
{
  const PetscInt  columns = PetscMax(1, K), in = op == 'N' ? c->n : c->m, out = op == 'N' ? c->m : c->n, ldx = in + (K ? Choose(c, 4) : 0), ldy = out + (K ? Choose(c, 4) : 0);
  const PetscBool transposed = op == 'N' ? PETSC_FALSE : PETSC_TRUE;
  PetscScalar    *x, *y, *e;
  PetscInt        wrong = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(ldx * (columns - 1) + in, &x));
  PetscCall(PetscMalloc1(ldy * (columns - 1) + out, &y));
  PetscCall(PetscMalloc1(out, &e));
  for (PetscInt k = 0; k < columns; k++)
    for (PetscInt l = 0; l < in; l++) x[k * ldx + l] = Operand(l + k);
  for (PetscInt k = 0; k < memory.n; k++) {
    if (memory.piece[k].scratch) memset(memory.piece[k].p, 0xff, memory.piece[k].bytes);
  }
  if (K) {
    Mat X, Y;

    PetscCall(MatCreateDenseFromVecType(PETSC_COMM_SELF, VECSEQ, in, K, in, K, ldx, x, &X));
    PetscCall(MatCreateDenseFromVecType(PETSC_COMM_SELF, VECSEQ, out, K, out, K, ldy, y, &Y));
    PetscCall(MatProductCreateWithMat(A, X, NULL, Y));
    PetscCall(MatProductSetType(Y, transposed ? MATPRODUCT_AtB : MATPRODUCT_AB));
    PetscCall(MatProductSetFromOptions(Y));
    PetscCall(MatProductSymbolic(Y));
    memory.multiplying = PETSC_TRUE;
    PetscCall(MatProductNumeric(Y));
    memory.multiplying = PETSC_FALSE;
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&Y));
  } else {
    Vec vx, vy, vz;

    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, in, x, &vx));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, out, y, &vy));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, out, add == 1 ? e : y, &vz));
    for (PetscInt l = 0; add && l < out; l++) (add == 1 ? e : y)[l] = Operand(l);
    memory.multiplying = PETSC_TRUE;
    if (add) PetscCall((op == 'N' ? MatMultAdd : op == 'T' ? MatMultTransposeAdd : MatMultHermitianTransposeAdd)(A, vx, add == 1 ? vz : vy, vy));
    else PetscCall((op == 'N' ? MatMult : op == 'T' ? MatMultTranspose : MatMultHermitianTranspose)(A, vx, vy));
    memory.multiplying = PETSC_FALSE;
    PetscCall(VecDestroy(&vx));
    PetscCall(VecDestroy(&vy));
    PetscCall(VecDestroy(&vz));
  }
  for (PetscInt k = 0; k < columns; k++) {
    Loop(c, op, x + k * ldx, (PetscBool)(add > 0), e);
    for (PetscInt l = 0; l < out; l++) wrong += !(y[k * ldy + l] == e[l]);
    for (PetscInt l = out; l < ldy && k + 1 < columns; l++) wrong += !PetscIsNanScalar(y[k * ldy + l]);
  }
  if (wrong) PetscCall(Fault(c, transposed ? "wrong entries of A^T X" : "wrong entries of A X", K, (double)wrong, 0));
  PetscCall(CheckScratch(c, transposed, columns));
  PetscCall(PetscFree(x));
  PetscCall(PetscFree(y));
  PetscCall(PetscFree(e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckWayBack(Case *c, Mat A)
{
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(WayBack(A, c->i, c->j, c->a, &same));
  if (!same) PetscCall(Fault(c, "another CSR comes back", 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewValues(Case *c, Mat A, int kind, PetscInt every)
{
  PetscScalar   *a;
  PetscLogDouble bytes;
  PetscMemType   mtype;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJGetArray(A, &a));
  for (PetscInt k = 0; k < c->nnz; k += every) a[k] = c->a[k] = Value(c, kind);
  PetscCall(MatSeqAIJRestoreArray(A, &a));
  PetscCall(MatFormGetMemory(A, &bytes, &mtype)); /* stores them */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *const formats[] = {"simd", "tuples", "csr", "simd", "simd", "simd", "simd"};

static PetscErrorCode Sequence(Case *c, PetscInt seed, PetscViewer sink)
{
  static const int         threads[] = {1, 1, 2, 2, 3, 7, 16, 64};
  static const char *const simd[]    = {"", "portable", "avx2", "avx512", "avx512loads", "neon"};
  const PetscInt           m = ChooseSize(c, 20000), n = Choose(c, 4) ? ChooseSize(c, 200000) : m, limit = Choose(c, 3) ? ChooseSize(c, 60000) : 16384 - 2 + Choose(c, 4);
  const int                nthreads = threads[Choose(c, PETSC_STATIC_ARRAY_LENGTH(threads))];
  const char              *format = formats[Choose(c, PETSC_STATIC_ARRAY_LENGTH(formats))], *instructions = simd[Choose(c, PETSC_STATIC_ARRAY_LENGTH(simd))];
  const Pattern            pattern = (Pattern)Choose(c, NPATTERNS);
  const int                kind    = (int)Choose(c, NVALUES);
  char                     test[32];
  Mat                      A;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(c->name, sizeof(c->name), "seed %" PetscInt_FMT ": %" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscInt_FMT " nonzeros, pattern %d, values %d, %s, %s, %d threads", seed, m, n, limit, (int)pattern, kind, format, instructions,
                          nthreads));
#if defined(__x86_64__) && defined(PETSC_USE_REAL_DOUBLE) && !defined(PETSC_USE_COMPLEX)
  if (!strcmp(instructions, "avx2") && !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))) instructions = "";
  if (!strncmp(instructions, "avx512", 6) && !(__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))) instructions = "";
  if (!strcmp(instructions, "neon")) instructions = "";
#elif defined(__aarch64__) && defined(PETSC_USE_REAL_DOUBLE) && !defined(PETSC_USE_COMPLEX)
  if (!strncmp(instructions, "avx", 3)) instructions = "";
#else
  instructions = "";
#endif
  PetscCall(PetscSNPrintf(test, sizeof(test), "cache=0,simd=%s", instructions));
  setenv("PETSCCSRC_TEST", test, 1);
  PetscCall(CreateCase(c, m, n, limit, pattern, (PetscBool)(Choose(c, 3) > 0), kind));
  PetscCall(CreateMat(c, format, nthreads, &A));
  for (PetscInt k = 3 + Choose(c, 6); k > 0; k--) {
    const char op = "NTTH"[Choose(c, 4)];

    switch (Choose(c, 8)) {
    case 0:
      PetscCall(NewValues(c, A, Choose(c, 2) ? kind : (int)Choose(c, NVALUES), Choose(c, 2) ? 1 : 1 + Choose(c, 100)));
      break;
    case 1:
      PetscCall(MatView(A, sink));
      break;
    case 2:
    case 3:
    case 4:
      PetscCall(Multiply(c, A, op == 'H' ? 'T' : op, 0, 1 + Choose(c, Choose(c, 3) ? 10 : 40)));
      break;
    default:
      PetscCall(Multiply(c, A, op, (int)Choose(c, 3), 0));
    }
  }
  if (Choose(c, 2)) PetscCall(CheckWayBack(c, A));
  PetscCall(MatDestroy(&A));
  PetscCall(DestroyCase(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One matrix of a table: products with a vector, 8 and 20 columns, and what the form says of its memory */
static PetscErrorCode CheckLimits(Case *c, PetscInt m, PetscInt n, PetscInt nnz, Pattern pattern, const char format[], int nthreads)
{
  PetscLogDouble before, after;
  PetscMemType   mtype;
  Mat            A;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(c->name, sizeof(c->name), "%" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscInt_FMT " nonzeros, pattern %d, %s, %d threads", m, n, nnz, (int)pattern, format, nthreads));
  PetscCall(CreateCase(c, m, n, nnz, pattern, PETSC_TRUE, 1));
  PetscCall(CreateMat(c, format, nthreads, &A));
  PetscCall(MatFormGetMemory(A, &before, &mtype));
  PetscCall(Multiply(c, A, 'T', 0, 0));
  PetscCall(Multiply(c, A, 'N', 0, 0));
  PetscCall(MatFormGetMemory(A, &after, &mtype));
  if (after - before > MostScratch(c, PETSC_TRUE, 1) * sizeof(PetscScalar)) PetscCall(Fault(c, "bytes that products with vectors have added", 1, after - before, MostScratch(c, PETSC_TRUE, 1) * sizeof(PetscScalar)));
  for (PetscInt K = 8; K <= 20 && (double)PetscMax(m, n) * K <= 2000000; K += 12) {
    PetscCall(Multiply(c, A, 'T', 0, K));
    PetscCall(MatFormGetMemory(A, &after, &mtype));
    if (after - before > MostScratch(c, PETSC_TRUE, K) * sizeof(PetscScalar)) PetscCall(Fault(c, "bytes that products with dense matrices have added", K, after - before, MostScratch(c, PETSC_TRUE, K) * sizeof(PetscScalar)));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DestroyCase(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    seed0 = 1, count = 1, bad = 0;
  PetscBool   limits                       = PETSC_FALSE;
  char        progress[PETSC_MAX_PATH_LEN] = "";
  PetscViewer sink;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-limits", &limits, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed0", &seed0, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-progress", progress, sizeof(progress), NULL));
  PetscCall(PetscViewerASCIIOpen(PETSC_COMM_SELF, "/dev/null", &sink));
  PetscCall(PetscViewerPushFormat(sink, PETSC_VIEWER_ASCII_INFO_DETAIL));
  PetscCall(GuardMemory());
  if (limits) {
    static const int     threads[]  = {1, 2, 7, 16, 64};
    static const Pattern patterns[] = {UNIFORM, FEWCOLUMNS, FEWROWS};
    Case                 c          = {.state = RandomStart(7, 1)};

    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(threads); t++) {
      const PetscInt nnz[] = {16383, 16384, 1536 * threads[t] - 1, 1536 * threads[t] + 1, 100000};

      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(nnz); k++) {
        PetscInt n = 1000;

        for (size_t l = 0; l < 5; l++, n *= 10) {
          const size_t s = t + k + l;

          if (l == 4 && k != t) continue; /* takes long */
          PetscCall(CheckLimits(&c, s % 4 == 0 ? nnz[k] : s % 4 == 1 ? nnz[k] / 20 : s % 4 == 2 ? 10 : 1000000, n, nnz[k], patterns[s % 3], "simd", threads[t]));
          if (s % 3 == 0) PetscCall(CheckLimits(&c, 1 + nnz[k] / 3, n, nnz[k], UNIFORM, formats[s / 3 % 4], threads[t]));
        }
      }
    }
    bad += c.bad;
  }
  for (PetscInt seed = seed0; !limits && seed < seed0 + count; seed++) {
    Case c = {.state = RandomStart(23, seed)};

    if (progress[0]) {
      FILE *fp;

      PetscCall(PetscFOpen(PETSC_COMM_SELF, progress, "w", &fp));
      PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%" PetscInt_FMT "\n", seed));
      PetscCall(PetscFClose(PETSC_COMM_SELF, fp));
    }
    PetscCall(Sequence(&c, seed, sink));
    bad += c.bad;
  }
  PetscCall(PetscViewerDestroy(&sink));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " faults\n", bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: openmp

  testset:
    output_file: output/hostformats_1.out
    args: -device_enable none -options_left 0 -malloc_coalesce 0
    test:
      suffix: limits
      args: -limits
    test:
      suffix: 1
      args: -count 40 -seed0 {{1 1001}}

TEST*/
