static char help[] = "Random sequences of operations on a matrix and on a twin of type aij; after each of them all products must be the twin's.\n\
  -type <csrccuda>  the matrix' type, or several with commas, of which each sequence takes one\n\
  -seed0 <1>        the first sequence; each depends on its seed alone\n\
  -count <1>        how many\n\
  -maxn <120>       rows and columns, but that one matrix in thirty has up to twenty times as many\n\
  -progress <file>  holds the seed of the sequence that runs\n\
  -only <name>      take this operation alone\n\
  -verbose          print each sequence, in the words of -only, and compare all entries after every operation\n\n";

#include "reference.h"
#include "caught.h"
#include <support.h>
#include "sys/petscolder.h"

/*
  What a sequence consists of; each operation is the function Op... of its name in the table `operations`

    values               scale, diagonalscale, array, zero, copy, norms, store
    places               axpy, setvalues, coo, diagonal, filter
    matrices from it     duplicate, convert, transpose, submatrix, permute, file, replace
    products and solves  dense, sparse, solve; between all operations CheckProducts and CheckEntries
    where and how        bind, settings, nothing

  Before them are random numbers (Choose), random matrices (EntriesCreate, Create) and the checks; after them Sequence and main().
*/

/* The objects of a sequence. The state of the random numbers is the same on all processes. */
typedef struct {
  Mat         A, B; /* the matrix tested and its twin */
  const char *type;
  uint64_t    state;
  PetscInt    seed, maxn;
  int         kind;   /* of values */
  PetscBool   stored; /* MatStoreValues() was called: in PETSc, another call after the pattern has grown overflows a buffer */
  PetscInt    bad;
} Case;

static PetscBool verbose = PETSC_FALSE;

/* ------------------------------------------------------------------------------------------------ random choices */
static PetscInt Choose(Case *c, PetscInt n)
{
  return n > 0 ? (PetscInt)(RandomBits(&c->state) % (uint64_t)n) : 0;
}

static PetscReal Uniform(Case *c)
{
  return (PetscReal)(2 * RandomUniform(&c->state) - 1);
}

static PetscReal RealValue(Case *c, PetscInt k)
{
  static const PetscReal special[] = {0.0, -0.0, 1.0, -1.0, (PetscReal)1e-30, (PetscReal)-1e-25, (PetscReal)0.1, 3.0, (PetscReal)1e12, (PetscReal)-1e12};

  switch (c->kind) {
  case 0:
    return 1;
  case 1:
    return (PetscReal)(Choose(c, 5) - 2);
  case 2:
    return (PetscReal)(float)Uniform(c);
  case 3:
    return special[Choose(c, PETSC_STATIC_ARRAY_LENGTH(special))];
  case 4:
    return (PetscReal)ldexp(Uniform(c), (int)Choose(c, PetscDefined(USE_REAL_SINGLE) ? 16 : 80) - 8);
  case 5: /* a few values are not finite */
    return Choose(c, 200) ? Uniform(c) : Choose(c, 3) ? (Choose(c, 2) ? INFINITY : -INFINITY) : NAN;
  case 6:
    return Choose(c, 50) ? 4 : Uniform(c);
  case 7: /* too many different values for an index of 8 bits, or of 16 */
    return (PetscReal)Choose(c, 300) * (PetscReal)0.37;
  case 8:
    return (PetscReal)Choose(c, 70000) * (PetscReal)0.1;
  case 9: /* each chunk has different values */
    return k < 3000 ? (PetscReal)2.5 : Uniform(c);
  default:
    return Uniform(c);
  }
}

static PetscScalar Value(Case *c, PetscInt k)
{
  const PetscReal re = RealValue(c, k);
#if PetscDefined(USE_COMPLEX)
  return Choose(c, 3) ? PetscCMPLX(re, Uniform(c)) : re;
#else
  return re;
#endif
}

/* Local sizes: PETSc's default or random ones, where some processes have nothing */
static PetscErrorCode LocalSize(Case *c, PetscInt N, PetscInt *n)
{
  const PetscBool even = (PetscBool)(Choose(c, 2) == 0);
  PetscMPIInt     rank, size;
  PetscInt        left = N;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  *n = PETSC_DECIDE;
  if (even) PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, n, &N));
  else {
    for (PetscMPIInt p = 0; p < size; p++) {
      const PetscInt mine = p == size - 1 ? left : Choose(c, 4) ? Choose(c, left + 1) : 0;

      if (p == rank) *n = mine;
      left -= mine;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------ random matrices */
/* Entries in any order, some of them twice; all processes have all entries */
typedef struct {
  PetscInt     m, n, count, room;
  PetscInt    *i, *j;
  PetscScalar *v;
} Entries;

static void Add(Entries *e, PetscInt i, PetscInt j)
{
  if (i < 0 || j < 0 || i >= e->m || j >= e->n || e->count == e->room) return;
  e->i[e->count]   = i;
  e->j[e->count++] = j;
}

static PetscErrorCode EntriesCreate(Case *c, PetscInt m, PetscInt n, PetscInt room, Entries *e)
{
  const PetscInt wanted = 1 + Choose(c, room), pattern = Choose(c, 13);

  PetscFunctionBegin;
  *e = (Entries){.m = m, .n = n, .room = room};
  PetscCall(PetscMalloc3(room, &e->i, room, &e->j, room, &e->v));
  if (m > 0 && n > 0) {
    switch (pattern) {
    case 0: /* anywhere */
      for (PetscInt k = 0; k < wanted; k++) Add(e, Choose(c, m), Choose(c, n));
      break;
    case 1: { /* a band */
      const PetscInt b = Choose(c, 8);

      for (PetscInt i = 0; i < m; i++)
        for (PetscInt j = i - b; j <= i + b; j++) Add(e, i, j);
      break;
    }
    case 2: { /* a full row or column, and others */
      const PetscInt i = Choose(c, m), j = Choose(c, n), both = Choose(c, 3);

      if (both != 0)
        for (PetscInt k = 0; k < n; k++) Add(e, i, k);
      if (both != 1)
        for (PetscInt k = 0; k < m; k++) Add(e, k, j);
      for (PetscInt k = 0; k < wanted / 4; k++) Add(e, Choose(c, m), Choose(c, n));
      break;
    }
    case 3: /* a corner: many twice */
      for (PetscInt k = 0; k < wanted; k++) Add(e, Choose(c, 1 + m / 10), Choose(c, 1 + n / 10));
      break;
    case 4: /* dense at the beginning */
      for (PetscInt k = 0; k < wanted; k++) Add(e, (PetscInt)(m * pow(RandomUniform(&c->state), 4)), (PetscInt)(n * pow(RandomUniform(&c->state), 4)));
      break;
    case 5: { /* dense blocks */
      const PetscInt b = 2 + Choose(c, 5);

      for (PetscInt k = 0; k < wanted / (b * b) + 1; k++) {
        const PetscInt i = Choose(c, (m + b - 1) / b) * b, j = Choose(c, (n + b - 1) / b) * b;

        for (PetscInt x = 0; x < b; x++)
          for (PetscInt y = 0; y < b; y++) Add(e, i + x, j + y);
      }
      break;
    }
    case 6: /* runs along rows or columns */
      for (PetscInt k = 0; k < wanted;) {
        const PetscInt i = Choose(c, m), j = Choose(c, n), length = 1 + Choose(c, 60), down = Choose(c, 2);

        for (PetscInt x = 0; x < length; x++) Add(e, i + down * x, j + (1 - down) * x);
        k += length;
      }
      break;
    case 7: { /* a grid's five-point stencil */
      PetscInt nx = 1;

      while ((nx + 1) * (nx + 1) <= PetscMin(m, n)) nx++;
      for (PetscInt a = 0; a < nx * nx; a++) {
        Add(e, a, a);
        if (a % nx) Add(e, a, a - 1);
        if (a % nx < nx - 1) Add(e, a, a + 1);
        Add(e, a, a - nx);
        if (a < nx * (nx - 1)) Add(e, a, a + nx);
      }
      break;
    }
    case 8: /* one entry in a row */
      for (PetscInt i = 0; i < m; i++) Add(e, i, i % n);
      break;
    case 9: /* full rows as far as there is room */
      for (PetscInt i = 0; i < m && i * n < room; i++)
        for (PetscInt j = 0; j < n; j++) Add(e, i, j);
      break;
    case 10: { /* cyclic diagonals */
      const PetscInt diagonals = 1 + Choose(c, 6);

      for (PetscInt d = 0; d < diagonals; d++) {
        const PetscInt first = Choose(c, n);

        for (PetscInt i = 0; i < m; i++) Add(e, i, (i + first) % n);
      }
      break;
    }
    case 11: /* rows of very different lengths */
      for (PetscInt i = 0; i < m; i++) {
        const PetscInt length = Choose(c, 4) ? Choose(c, 3) : Choose(c, 40);
        PetscInt       j      = Choose(c, n);

        for (PetscInt x = 0; x < length; x++) {
          Add(e, i, j);
          j += 1 + Choose(c, 5);
        }
      }
      break;
    default: /* nothing */
      break;
    }
  }
  for (PetscInt k = 0; k < e->count; k++) e->v[k] = Value(c, k);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EntriesDestroy(Entries *e)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(e->i, e->j, e->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets values: each process sets the rows that are its rank modulo the number of processes, whoever owns them */
static PetscErrorCode SetEntries(Mat A, const Entries *e, InsertMode mode)
{
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt k = 0; k < e->count; k++) {
    if (e->i[k] % size == rank) PetscCall(MatSetValue(A, e->i[k], e->j[k], e->v[k], mode));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetEntriesCOO(Mat A, const Entries *e, PetscBool twice)
{
  PetscMPIInt  rank, size;
  PetscInt     count = 0, *i, *j;
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscMalloc3(e->count, &i, e->count, &j, e->count, &v));
  for (PetscInt k = 0; k < e->count; k++) {
    if (e->i[k] % size != rank) continue;
    i[count]   = k % 11 == 5 ? -1 : e->i[k]; /* negative ones are ignored */
    j[count]   = e->j[k];
    v[count++] = e->v[k];
  }
  PetscCall(MatSetPreallocationCOO(A, count, i, j));
  PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  if (twice) PetscCall(MatSetValuesCOO(A, v, ADD_VALUES));
  PetscCall(PetscFree3(i, j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MatType type, PetscBool options, PetscInt ml, PetscInt nl, const Entries *e, int how, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, ml, nl, e->m, e->n));
  PetscCall(MatSetType(*A, how == 3 ? MATAIJ : type));
  if (options) PetscCall(MatSetFromOptions(*A));
  if (how == 0) PetscCall(SetEntriesCOO(*A, e, PETSC_FALSE));
  else {
    if (how == 1) PetscCall(MatSetUp(*A));
    else PetscCall(MatXAIJSetPreallocation(*A, 1, NULL, NULL, NULL, NULL));
    PetscCall(SetEntries(*A, e, ADD_VALUES));
  }
  if (how == 3) PetscCall(MatConvert(*A, type, MAT_INPLACE_MATRIX, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A second matrix with another pattern, and its twin, for operations with two matrices */
static PetscErrorCode CreateSecond(Case *c, PetscInt ml, PetscInt nl, PetscInt m, PetscInt n, PetscBool ours, Mat *P, Mat *Q)
{
  Entries e;

  PetscFunctionBegin;
  PetscCall(EntriesCreate(c, m, n, 600, &e));
  PetscCall(Create(MATAIJ, PETSC_FALSE, ml, nl, &e, 1, Q));
  PetscCall(MatConvert(*Q, ours ? c->type : MATAIJ, MAT_INITIAL_MATRIX, P));
  PetscCall(EntriesDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --------------------------------------------------------------------------------------------------------- checks */
static PetscErrorCode ReferenceOf(const Case *c, Mat B, const char what[], Reference *ref)
{
  char name[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "seed %" PetscInt_FMT ", %s, %s", c->seed, c->type, what));
  PetscCall(ReferenceCreateFromMat(name, B, ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All products of A with vectors agree with those of B */
static PetscErrorCode CheckProducts(Case *c, Mat A, Mat B, const char what[])
{
  Reference ref;

  PetscFunctionBegin;
  PetscCall(ReferenceOf(c, B, what, &ref));
  PetscCall(ReferenceCheckProducts(&ref, A, &c->bad));
  PetscCall(ReferenceDestroy(&ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckEntries(Case *c, Mat A, Mat B, PetscBool rounded, const char what[])
{
  Reference    ref;
  Mat          C = A;
  PetscBool    released;
  PetscMemType mtype;

  PetscFunctionBegin;
  PetscCall(ReferenceIsReleased(A, &released));
  PetscCall(MatGetCurrentMemType(A, &mtype)); /* a device rounds once in a product and sum (FMA), the host twice; the sum itself may be small */
  if (released) PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(ReferenceOf(c, B, what, &ref));
  PetscCall(ReferenceCheckEntries(&ref, C, rounded || PetscMemTypeDevice(mtype) ? PetscSqrtReal(PETSC_MACHINE_EPSILON) : 0.0, "entries", &c->bad));
  PetscCall(ReferenceDestroy(&ref));
  if (released) PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Fault(Case *c, const char what[])
{
  PetscFunctionBegin;
  c->bad++;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "seed %" PetscInt_FMT ", %s: %s\n", c->seed, c->type, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Same(PetscReal a, PetscReal b)
{
  return (PetscBool)(a == b || (PetscIsInfOrNanReal(a) && PetscIsInfOrNanReal(b)) || PetscAbsReal(a - b) <= 1000 * PETSC_MACHINE_EPSILON * PetscMax(PetscAbsReal(a), PetscAbsReal(b)));
}

/* ----------------------------------------------------------------------------------------------------- operations */
/* A matrix without its CSR gets it back, until its next product */
static PetscErrorCode BackToCSR(const Case *c, Mat A)
{
  PetscBool released;

  PetscFunctionBegin;
  PetscCall(ReferenceIsReleased(A, &released));
  if (!released) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatConvert(A, c->type, MAT_INPLACE_MATRIX, &A));
  PetscCall(PetscOptionsSetValue(NULL, "-mat_form_release", "1"));
  PetscCall(MatSetFromOptions(A));
  PetscCall(PetscOptionsClearValue(NULL, "-mat_form_release"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix without its CSR gets it back; it may release it again at the next product */
static PetscErrorCode NeedCSR(Case *c)
{
  const PetscInt way = Choose(c, 2), again = Choose(c, 2);
  PetscBool      released;
  Mat            C;

  PetscFunctionBegin;
  PetscCall(ReferenceIsReleased(c->A, &released));
  if (!released) PetscFunctionReturn(PETSC_SUCCESS);
  if (way == 0) PetscCall(MatConvert(c->A, c->type, MAT_INPLACE_MATRIX, &c->A));
  else {
    PetscCall(MatConvert(c->A, c->type, MAT_INITIAL_MATRIX, &C));
    PetscCall(MatDestroy(&c->A));
    c->A = C;
  }
  PetscCall(PetscOptionsSetValue(NULL, "-mat_form_release", again ? "1" : "0"));
  PetscCall(MatSetFromOptions(c->A));
  PetscCall(PetscOptionsClearValue(NULL, "-mat_form_release"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The MatStructure that may be passed for a matrix and its twin. In parallel one of them may keep columns of other processes without
  entries; PETSc then does not see that the blocks are equal.
*/
static PetscErrorCode SamePattern(MatStructure *structure)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  *structure = size == 1 ? SAME_NONZERO_PATTERN : DIFFERENT_NONZERO_PATTERN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Scale(Case *c, PetscScalar s)
{
  PetscFunctionBegin;
  PetscCall(BackToCSR(c, c->A));
  PetscCall(MatScale(c->A, s));
  PetscCall(MatScale(c->B, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sequence goes on with these two */
static PetscErrorCode GoOn(Case *c, Mat C, Mat D)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&c->A));
  PetscCall(MatDestroy(&c->B));
  c->A      = C;
  c->B      = D;
  c->stored = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpNothing(Case *c)
{
  (void)c;
  return PETSC_SUCCESS;
}

static PetscErrorCode OpScale(Case *c)
{
  PetscScalar  s = Choose(c, 10) ? Value(c, 0) : 0;
  PetscMemType mtype;

  PetscFunctionBegin;
  PetscCall(MatGetCurrentMemType(c->A, &mtype));
  if (c->kind == 5 && s == 0.0 && PetscMemTypeDevice(mtype)) s = 2; /* NaN times 0 is 0 with one BLAS and NaN with another, such as those of host and device */
  PetscCall(Scale(c, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpDiagonalScale(Case *c)
{
  const PetscInt which = Choose(c, 3);
  Vec            l, r;

  PetscFunctionBegin;
  for (int w = 0; w < 2; w++) {
    Mat X = w ? c->B : c->A;

    PetscCall(MatCreateVecs(X, &r, &l));
    PetscCall(ReferenceFillVec(l, 11));
    PetscCall(ReferenceFillVec(r, 12));
    PetscCall(BackToCSR(c, X));
    PetscCall(MatDiagonalScale(X, which == 0 ? NULL : l, which == 1 ? NULL : r));
    PetscCall(VecDestroy(&l));
    PetscCall(VecDestroy(&r));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpAXPY(Case *c)
{
  MatStructure structure;
  PetscInt     m, n, ml, nl;
  Mat          P, Q;

  PetscFunctionBegin;
  PetscCall(SamePattern(&structure));
  PetscCall(NeedCSR(c));
  PetscCall(MatGetSize(c->B, &m, &n));
  PetscCall(MatGetLocalSize(c->B, &ml, &nl));
  if (Choose(c, 2)) {
    PetscCall(CreateSecond(c, ml, nl, m, n, (PetscBool)Choose(c, 2), &P, &Q));
    PetscCall(MatAXPY(c->A, 0.5, P, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatAXPY(c->B, 0.5, Q, DIFFERENT_NONZERO_PATTERN));
  } else {
    PetscCall(MatDuplicate(c->B, MAT_COPY_VALUES, &Q));
    PetscCall(MatConvert(Q, Choose(c, 2) ? c->type : MATAIJ, MAT_INITIAL_MATRIX, &P));
    PetscCall(MatAXPY(c->A, 2, P, structure));
    PetscCall(MatAXPY(c->B, 2, Q, structure));
  }
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sequence goes on with the duplicate; if this has no values it is filled */
static PetscErrorCode OpDuplicate(Case *c)
{
  const PetscBool values = (PetscBool)Choose(c, 2), later = (PetscBool)Choose(c, 2);
  PetscInt        m, n;
  Entries         e;
  Mat             C, D;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(c->A, values ? MAT_COPY_VALUES : MAT_DO_NOT_COPY_VALUES, &C));
  PetscCall(MatDuplicate(c->B, values ? MAT_COPY_VALUES : MAT_DO_NOT_COPY_VALUES, &D));
  if (later) { /* a change of the original must not change the duplicate */
    PetscCall(Scale(c, 3));
    PetscCall(CheckProducts(c, c->A, c->B, "original after a duplicate"));
  }
  PetscCall(GoOn(c, C, D));
  if (!values) {
    PetscCall(MatGetSize(D, &m, &n));
    PetscCall(EntriesCreate(c, m, n, 1000, &e));
    PetscCall(SetEntries(C, &e, ADD_VALUES));
    PetscCall(SetEntries(D, &e, ADD_VALUES));
    PetscCall(EntriesDestroy(&e));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpConvert(Case *c)
{
  const PetscInt way = Choose(c, 4);
  Mat            C;

  PetscFunctionBegin;
  if (way == 0) { /* to another type and back, in place */
    PetscCall(MatConvert(c->A, MATAIJ, MAT_INPLACE_MATRIX, &c->A));
    PetscCall(CheckProducts(c, c->A, c->B, "converted to aij"));
    PetscCall(MatConvert(c->A, c->type, MAT_INPLACE_MATRIX, &c->A));
  } else if (way == 1) { /* a copy, which is checked */
    PetscCall(MatConvert(c->A, MATAIJ, MAT_INITIAL_MATRIX, &C));
    PetscCall(CheckEntries(c, C, c->B, PETSC_FALSE, "copied to aij"));
    PetscCall(MatConvert(C, c->type, MAT_INPLACE_MATRIX, &C));
    PetscCall(CheckProducts(c, C, c->B, "copied to aij and back"));
    PetscCall(MatDestroy(&C));
  } else if (way == 2) { /* a copy, with which the sequence goes on */
    PetscCall(MatConvert(c->A, c->type, MAT_INITIAL_MATRIX, &C));
    PetscCall(MatDestroy(&c->A));
    c->A = C;
  } else { /* into an existing matrix, with which the sequence goes on */
    PetscCall(MatConvert(c->A, c->type, MAT_INITIAL_MATRIX, &C));
    PetscCall(NeedCSR(c));
    PetscCall(Scale(c, 2));
    PetscCall(MatConvert(c->A, c->type, MAT_REUSE_MATRIX, &C));
    PetscCall(MatDestroy(&c->A));
    c->A = C;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A transpose in place, or a new one, which may get other values; the sequence goes on with the transpose */
static PetscErrorCode OpTranspose(Case *c)
{
  PetscErrorCode (*const transpose)(Mat, MatReuse, Mat *) = Choose(c, 4) ? MatTranspose : MatHermitianTranspose;
  PetscMPIInt size;
  PetscInt    m, n;
  Mat         C, D;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(NeedCSR(c));
  PetscCall(MatGetSize(c->B, &m, &n));
  if (Choose(c, 2) && (size == 1 || m == n)) {
    PetscCall((*transpose)(c->A, MAT_INPLACE_MATRIX, &c->A));
    PetscCall((*transpose)(c->B, MAT_INPLACE_MATRIX, &c->B));
  } else {
    PetscCall((*transpose)(c->A, MAT_INITIAL_MATRIX, &C));
    PetscCall((*transpose)(c->B, MAT_INITIAL_MATRIX, &D));
    for (PetscInt again = Choose(c, 3); again > 0; again--) {
      PetscBool released;

      PetscCall(Scale(c, 2));
      if (Choose(c, 2)) PetscCall(CheckProducts(c, C, D, "before it is transposed again"));
      PetscCall(ReferenceIsReleased(C, &released)); /* then nothing can be stored in it */
      if (released) break;
      PetscCall((*transpose)(c->A, MAT_REUSE_MATRIX, &C));
      PetscCall((*transpose)(c->B, MAT_REUSE_MATRIX, &D));
    }
    PetscCall(GoOn(c, C, D));
  }
  c->stored = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A submatrix, twice, the second time with MAT_REUSE_MATRIX; the sequence may go on with it */
static PetscErrorCode OpSubMatrix(Case *c)
{
  const PetscInt f = 2 + Choose(c, 4), g = 2 + Choose(c, 4), step = 1 + Choose(c, 2);
  PetscInt       first, last, cfirst, clast;
  IS             rows, cols;
  Mat            C, D;

  PetscFunctionBegin;
  PetscCall(NeedCSR(c));
  PetscCall(MatGetOwnershipRange(c->B, &first, &last));
  PetscCall(MatGetOwnershipRangeColumn(c->B, &cfirst, &clast));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, step == 2 ? (last - first) / 2 : (last - first) * (f - 1) / f, first, step, &rows));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, (clast - cfirst) * (g - 1) / g, cfirst, 1, &cols));
  PetscCall(MatCreateSubMatrix(c->A, rows, cols, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatCreateSubMatrix(c->B, rows, cols, MAT_INITIAL_MATRIX, &D));
  PetscCall(CheckProducts(c, C, D, "submatrix"));
  PetscCall(Scale(c, 2));
  PetscCall(MatCreateSubMatrix(c->A, rows, cols, MAT_REUSE_MATRIX, &C));
  PetscCall(MatCreateSubMatrix(c->B, rows, cols, MAT_REUSE_MATRIX, &D));
  PetscCall(CheckProducts(c, C, D, "submatrix again"));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&cols));
  if (Choose(c, 2)) {
    PetscCall(GoOn(c, C, D));
  } else {
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&D));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A X and A^T X for dense X, twice */
static PetscErrorCode OpDense(Case *c)
{
  const PetscBool transposed = (PetscBool)Choose(c, 2), padded = (PetscBool)(Choose(c, 3) == 0);
  const PetscInt  K = 1 + Choose(c, Choose(c, 3) ? 20 : 70);
  PetscInt        m, n, ml, nl;
  Reference       ref;
  Mat             X, Y;

  PetscFunctionBegin;
  PetscCall(MatGetSize(c->B, &m, &n));
  PetscCall(MatGetLocalSize(c->B, &ml, &nl));
  PetscCall(ReferenceOf(c, c->B, "dense operand", &ref));
  PetscCall(ReferenceDenseCreate(PETSC_COMM_WORLD, transposed ? ml : nl, transposed ? m : n, K, padded, &X));
  PetscCall(ReferenceDenseFill(X, 4));
  for (int again = 0; again < 2; again++) {
    if (again) PetscCall(ReferenceDenseFill(Y, -1));
    PetscCall((transposed ? MatTransposeMatMult : MatMatMult)(c->A, X, again ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, PETSC_DETERMINE, &Y));
    PetscCall(ReferenceCheckDense(&ref, transposed ? REFERENCE_T : REFERENCE_N, 4, Y, transposed ? "MatTransposeMatMult" : "MatMatMult", &c->bad));
  }
  PetscCall(ReferenceDestroy(&ref));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As many rows as columns on each process. A submatrix may have this only in total, and AIJ then has no diagonal */
static PetscErrorCode IsSquare(Mat A, PetscBool *square)
{
  PetscInt rows[2], columns[2];
  int      same;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &rows[0], &rows[1]));
  PetscCall(MatGetOwnershipRangeColumn(A, &columns[0], &columns[1]));
  same = rows[0] == columns[0] && rows[1] == columns[1];
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  *square = same ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with a sparse matrix, twice, with other values in between */
static PetscErrorCode OpSparse(Case *c)
{
  static const char *const names[] = {"A P", "A^T P", "A P^T", "P^T A P"};
  PetscInt                 which = Choose(c, 4), k = Choose(c, 50), m, n, ml, nl, kl;
  PetscMPIInt              size;
  PetscMemType             mtype;
  PetscBool                square;
  Mat                      P, Q, C, D;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatGetSize(c->B, &m, &n));
  PetscCall(MatGetLocalSize(c->B, &ml, &nl));
  PetscCall(LocalSize(c, k, &kl));
  PetscCall(IsSquare(c->B, &square));
  if (PetscMax(m, n) > 500 || (which == 2 && size > 1) || (which == 3 && !square)) which = 0;
  PetscCall(NeedCSR(c));
  if (which == 2) PetscCall(CreateSecond(c, kl, nl, k, n, (PetscBool)Choose(c, 2), &P, &Q));
  else PetscCall(CreateSecond(c, which == 1 ? ml : nl, kl, which == 1 ? m : n, k, (PetscBool)Choose(c, 2), &P, &Q));
  for (int again = 0; again < 2; again++) {
    const MatReuse reuse                                                     = again ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX;
    PetscErrorCode (*const multiply[])(Mat, Mat, MatReuse, PetscReal, Mat *) = {MatMatMult, MatTransposeMatMult, MatMatTransposeMult, MatPtAP};

    PetscCall(NeedCSR(c));
    PetscCall((*multiply[which])(c->A, P, reuse, PETSC_DETERMINE, &C));
    PetscCall((*multiply[which])(c->B, Q, reuse, PETSC_DETERMINE, &D));
    PetscCall(MatGetCurrentMemType(C, &mtype));
    /* entries are rounded differently on a device, and in parallel, where messages are added as they arrive: uses C's own entries */
    if (PetscMemTypeDevice(mtype) || (size > 1 && which)) {
      if (c->kind < 3 || c->kind > 5) PetscCall(CheckEntries(c, C, D, PETSC_TRUE, names[which])); /* not with values of very different sizes, where sums may be only rounding errors */
      PetscCall(CheckProducts(c, C, C, names[which]));
    } else PetscCall(CheckProducts(c, C, D, names[which]));
    PetscCall(Scale(c, 3));
  }
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpBind(Case *c)
{
  const PetscBool bind = (PetscBool)Choose(c, 2);

  PetscFunctionBegin;
  PetscCall(MatBindToCPU(c->A, bind));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Selects another format by options */
static PetscErrorCode OpSettings(Case *c)
{
  static const struct {
    const char *type, *option, *values[4]; /* type NULL: both */
    PetscInt    count;
    const char *with[2][2]; /* options that a device needs for some of the values */
  } settings[] = {
    {"bccoo",    "-mat_bccoo_compression", {"tuples", "simd", "csr"},    3, {{NULL, NULL}}                                              },
    {NULL,       "-mat_form_release",      {"0", "1"},                   2, {{NULL, NULL}}                                              },
    {"csrccuda", "-mat_csrc_layout",       {"auto", "csrc", "balanced"}, 3, {{"-mat_csrc_reproducible", "0"}, {"-mat_form_copies", "1"}}},
    {NULL,       "-mat_form_copies",       {"1", "2", "auto"},           3, {{"-mat_csrc_layout", "auto"}}                              },
    {"csrccuda", "-mat_csrc_reproducible", {"0", "1"},                   2, {{"-mat_csrc_layout", "auto"}}                              }
  };
  const PetscInt which = Choose(c, PETSC_STATIC_ARRAY_LENGTH(settings)), value = Choose(c, settings[which].count);
  PetscBool      same = PETSC_TRUE;

  PetscFunctionBegin;
  if (settings[which].type) PetscCall(PetscStrcmp(settings[which].type, c->type, &same));
  if (!same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscOptionsSetValue(NULL, settings[which].option, settings[which].values[value]));
  for (int k = 0; k < 2 && settings[which].with[k][0]; k++) PetscCall(PetscOptionsSetValue(NULL, settings[which].with[k][0], settings[which].with[k][1]));
  PetscCall(MatSetFromOptions(c->A));
  PetscCall(PetscOptionsClearValue(NULL, settings[which].option));
  for (int k = 0; k < 2 && settings[which].with[k][0]; k++) PetscCall(PetscOptionsClearValue(NULL, settings[which].with[k][0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets existing entries and new ones */
static PetscErrorCode OpSetValues(Case *c)
{
  const InsertMode mode = Choose(c, 2) ? INSERT_VALUES : ADD_VALUES;
  PetscInt         m, n;
  Entries          e;

  PetscFunctionBegin;
  PetscCall(NeedCSR(c));
  PetscCall(MatGetSize(c->B, &m, &n));
  PetscCall(EntriesCreate(c, m, n, 40, &e));
  PetscCall(SetEntries(c->A, &e, mode));
  PetscCall(SetEntries(c->B, &e, mode));
  PetscCall(EntriesDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets values by MatSeqAIJGetArray(), all or a few; each process draws its own */
static PetscErrorCode OpArray(Case *c)
{
  const PetscInt part = Choose(c, 3);
  const uint64_t keep = c->state;
  PetscMPIInt    rank, size;
  Mat            ours[2], twins[2];
  MatInfo        info[2];
  PetscMPIInt    same = 1;

  PetscFunctionBegin;
  PetscCall(NeedCSR(c));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  ours[0]  = c->A;
  twins[0] = c->B;
  if (size > 1) {
    PetscCall(MatMPIAIJGetSeqAIJ(c->A, &ours[0], &ours[1], NULL));
    PetscCall(MatMPIAIJGetSeqAIJ(c->B, &twins[0], &twins[1], NULL));
  }
  for (int block = 0; block < PetscMin(size, 2); block++) { /* see SamePattern() */
    PetscInt n, ntwin;
    MatInfo  ourinfo;

    PetscCall(MatGetSize(ours[block], NULL, &n));
    PetscCall(MatGetSize(twins[block], NULL, &ntwin));
    PetscCall(MatGetInfo(ours[block], MAT_LOCAL, &ourinfo));
    PetscCall(MatGetInfo(twins[block], MAT_LOCAL, &info[block]));
    if (n != ntwin || ourinfo.nz_used != info[block].nz_used) same = 0;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_LAND, PETSC_COMM_WORLD));
  if (!same) PetscFunctionReturn(PETSC_SUCCESS);
  c->state = RandomStart(keep, rank);
  for (int block = 0; block < PetscMin(size, 2); block++) {
    PetscScalar *a, *b;

    PetscCall(MatSeqAIJGetArray(ours[block], &a));
    PetscCall(MatSeqAIJGetArray(twins[block], &b));
    for (PetscInt k = 0; k < (PetscInt)info[block].nz_used; k++) {
      if (part == 0 || (part == 1 && k % 100 == 3) || (part == 2 && k == (PetscInt)info[block].nz_used - 1)) a[k] = b[k] = Value(c, k);
    }
    PetscCall(MatSeqAIJRestoreArray(ours[block], &a));
    PetscCall(MatSeqAIJRestoreArray(twins[block], &b));
  }
  c->state = RandomStart(keep, -1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpCOO(Case *c)
{
  const PetscBool twice = (PetscBool)Choose(c, 2);
  PetscInt        m, n;
  Entries         e;

  PetscFunctionBegin;
  PetscCall(NeedCSR(c));
  PetscCall(MatGetSize(c->B, &m, &n));
  PetscCall(EntriesCreate(c, m, n, 2000, &e));
  PetscCall(SetEntriesCOO(c->A, &e, twice));
  PetscCall(SetEntriesCOO(c->B, &e, twice));
  PetscCall(EntriesDestroy(&e));
  c->stored = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operations on the diagonal: shifts it, sets it, gets it, zeroes rows except for it */
static PetscErrorCode OpDiagonal(Case *c)
{
  PetscInt    way = Choose(c, 4), m, n, first, last;
  PetscMPIInt size;
  PetscBool   square;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  /* after MatGetRow(), a buffer of MPIAIJ is too short for the entries that MatDiagonalSet() adds */
  if (way == 1 && size > 1) way = 0;
  PetscCall(MatGetSize(c->B, &m, &n));
  if (way < 3) PetscCall(NeedCSR(c));
  PetscCall(IsSquare(c->B, &square));
  /* where a diagonal is new in an off-diagonal block, MatShift() writes into a freed matrix (contrib/petsc/shift.c) */
  if (m != n || ((way == 3 || way == 0) && !square)) PetscFunctionReturn(PETSC_SUCCESS);
  for (int w = 0; w < 2; w++) {
    Mat X = w ? c->B : c->A;
    Vec d;

    if (way < 3) {
      PetscCall(MatSetOption(X, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
      PetscCall(MatSetOption(X, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
      PetscCall(MatSetOption(X, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    }
    if (way == 0) PetscCall(MatShift(X, 1.5));
    else if (way == 1) {
      PetscCall(MatCreateVecs(X, NULL, &d));
      PetscCall(ReferenceFillVec(d, 13));
      PetscCall(MatDiagonalSet(X, d, INSERT_VALUES));
      PetscCall(VecDestroy(&d));
    } else if (way == 2) {
      PetscInt row;

      PetscCall(MatGetOwnershipRange(X, &first, &last));
      row = first;
      PetscCall(MatSetOption(X, MAT_NO_OFF_PROC_ZERO_ROWS, PETSC_FALSE));
      PetscCall(MatZeroRows(X, last > first ? 1 : 0, &row, 0.5, NULL, NULL));
    }
  }
  if (way == 3) {
    Vec          d, e;
    PetscReal    size, difference;
    PetscMemType mtype;

    PetscCall(MatCreateVecs(c->B, &d, &e));
    PetscCall(MatGetDiagonal(c->A, d));
    PetscCall(MatGetDiagonal(c->B, e));
    PetscCall(VecNorm(e, NORM_INFINITY, &size));
    PetscCall(VecAXPY(d, -1, e));
    PetscCall(VecNorm(d, NORM_INFINITY, &difference));
    PetscCall(MatGetCurrentMemType(c->A, &mtype)); /* as in CheckEntries() */
    if (!(difference <= (PetscMemTypeDevice(mtype) ? PetscSqrtReal(PETSC_MACHINE_EPSILON) * size : 0)) && c->kind != 5) PetscCall(Fault(c, "another diagonal"));
    PetscCall(VecDestroy(&d));
    PetscCall(VecDestroy(&e));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpZero(Case *c)
{
  PetscFunctionBegin;
  PetscCall(NeedCSR(c));
  PetscCall(MatZeroEntries(c->A));
  PetscCall(MatZeroEntries(c->B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpCopy(Case *c)
{
  MatStructure structure;
  Mat          D;

  PetscFunctionBegin;
  PetscCall(SamePattern(&structure));
  PetscCall(NeedCSR(c));
  PetscCall(MatDuplicate(c->B, MAT_COPY_VALUES, &D));
  PetscCall(MatScale(D, 0.25));
  PetscCall(MatCopy(D, c->A, structure));
  PetscCall(MatCopy(D, c->B, structure));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpNorms(Case *c)
{
  static const NormType types[] = {NORM_1, NORM_FROBENIUS, NORM_INFINITY};
  PetscInt              n;
  PetscReal             a, b, *x, *y;

  PetscFunctionBegin;
  for (int t = 0; t < 3; t++) {
    PetscCall(MatNorm(c->A, types[t], &a));
    PetscCall(MatNorm(c->B, types[t], &b));
    if (!Same(a, b)) PetscCall(Fault(c, NormTypes[types[t]]));
  }
  PetscCall(NeedCSR(c));
  PetscCall(MatGetSize(c->B, NULL, &n));
  PetscCall(PetscMalloc2(n, &x, n, &y));
  PetscCall(MatGetColumnNorms(c->A, NORM_INFINITY, x));
  PetscCall(MatGetColumnNorms(c->B, NORM_INFINITY, y));
  for (PetscInt k = 0; k < n; k++) {
    if (Same(x[k], y[k])) continue;
    PetscCall(Fault(c, "norms of columns"));
    break;
  }
  PetscCall(PetscFree2(x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes the matrix to a file and reads it; the sequence goes on with the matrix that was read */
static PetscErrorCode OpFile(Case *c)
{
  PetscInt    m, n, ml, nl;
  PetscViewer viewer;
  Mat         C;

  PetscFunctionBegin;
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "fuzz.bin", FILE_MODE_WRITE, &viewer));
  PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
  PetscCall(MatView(c->A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MatGetSize(c->B, &m, &n));
  PetscCall(MatGetLocalSize(c->B, &ml, &nl));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &C));
  PetscCall(MatSetSizes(C, ml, nl, m, n));
  PetscCall(MatSetType(C, c->type));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "fuzz.bin", FILE_MODE_READ, &viewer));
  PetscCall(MatLoad(C, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MatDestroy(&c->A));
  c->A = C;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpFilter(Case *c)
{
  PetscFunctionBegin;
  PetscCall(NeedCSR(c));
  PetscCall(MatFilter(c->A, (PetscReal)0.05, PETSC_TRUE, PETSC_FALSE));
  PetscCall(MatFilter(c->B, (PetscReal)0.05, PETSC_TRUE, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpStore(Case *c)
{
  PetscBool released;

  PetscFunctionBegin;
  PetscCall(NeedCSR(c));
  if (c->stored) PetscFunctionReturn(PETSC_SUCCESS);
  c->stored = PETSC_TRUE;
  for (int w = 0; w < 2; w++) {
    Mat X = w ? c->B : c->A;

    PetscCall(MatSetOption(X, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
    PetscCall(MatStoreValues(X));
    PetscCall(BackToCSR(c, X));
    PetscCall(MatScale(X, 7));
  }
  PetscCall(CheckProducts(c, c->A, c->B, "between MatStoreValues() and MatRetrieveValues()"));
  PetscCall(ReferenceIsReleased(c->A, &released)); /* the stored values were freed with the CSR */
  PetscCall(NeedCSR(c));
  for (int w = 0; w < 2; w++) {
    Mat X = w ? c->B : c->A;

    if (!released) PetscCall(MatRetrieveValues(X));
    PetscCall(MatSetOption(X, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpPermute(Case *c)
{
  PetscInt m, n, ml, nl, first, cfirst, *r, *s;
  IS       rows, cols;
  Mat      C, D;

  PetscFunctionBegin;
  PetscCall(NeedCSR(c));
  PetscCall(MatGetSize(c->B, &m, &n));
  PetscCall(MatGetLocalSize(c->B, &ml, &nl));
  PetscCall(MatGetOwnershipRange(c->B, &first, NULL));
  PetscCall(MatGetOwnershipRangeColumn(c->B, &cfirst, NULL));
  PetscCall(PetscMalloc2(ml, &r, nl, &s));
  for (PetscInt i = 0; i < ml; i++) r[i] = m - 1 - first - i;
  for (PetscInt j = 0; j < nl; j++) s[j] = n - 1 - cfirst - j;
  PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, ml, r, PETSC_COPY_VALUES, &rows));
  PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, nl, s, PETSC_COPY_VALUES, &cols));
  PetscCall(PetscFree2(r, s));
  PetscCall(ISSetPermutation(rows));
  PetscCall(ISSetPermutation(cols));
  PetscCall(MatPermute(c->A, rows, cols, &C));
  PetscCall(MatPermute(c->B, rows, cols, &D));
  PetscCall(CheckProducts(c, C, D, "permuted"));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&cols));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves diagonally dominant systems and their transposes, with vectors of the matrix's type and on the host, also with new values */
static PetscErrorCode OpSolve(Case *c)
{
  PetscInt      m, n;
  PetscReal     norm;
  PetscMPIInt   size;
  Mat           C, D, F;
  IS            rows, cols;
  MatFactorInfo info;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatGetSize(c->B, &m, &n));
  if (size > 1 || m != n || !n || n > 300 || (c->kind >= 3 && c->kind <= 5)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(NeedCSR(c));
  PetscCall(MatDuplicate(c->A, MAT_COPY_VALUES, &C));
  PetscCall(MatDuplicate(c->B, MAT_COPY_VALUES, &D));
  PetscCall(MatNorm(c->B, NORM_INFINITY, &norm));
  PetscCall(MatShift(C, 1 + 3 * norm));
  PetscCall(MatShift(D, 1 + 3 * norm));
  PetscCall(MatFactorInfoInitialize(&info));
  info.fill = 5;
  PetscCall(MatGetOrdering(C, Choose(c, 2) ? MATORDERINGNATURAL : MATORDERINGND, &rows, &cols));
  PetscCall(MatGetFactor(C, NULL, MAT_FACTOR_LU, &F));
  PetscCall(MatLUFactorSymbolic(F, C, rows, cols, &info));
  for (int again = 0; again < 3; again++) {
    PetscCall(MatLUFactorNumeric(F, C, &info));
    for (int k = 0; k < 4; k++) {
      const PetscBool    transposed = (PetscBool)(k & 1);
      const PetscScalar *values;
      Vec                b, x, r, y;
      PetscReal          error, size1;

      if (!Choose(c, 2)) continue;
      if (k & 2) {
        PetscCall(VecCreateSeq(PETSC_COMM_SELF, n, &b));
        PetscCall(VecDuplicate(b, &x));
      } else PetscCall(MatCreateVecs(C, &x, &b));
      PetscCall(VecCreateSeq(PETSC_COMM_SELF, n, &r));
      PetscCall(VecDuplicate(r, &y));
      PetscCall(ReferenceFillVec(b, 8));
      PetscCall((transposed ? MatSolveTranspose : MatSolve)(F, b, x));
      PetscCall(VecGetArrayRead(x, &values)); /* the twin's products need host vectors */
      PetscCall(VecPlaceArray(y, values));
      PetscCall((transposed ? MatMultTranspose : MatMult)(D, y, r));
      PetscCall(VecResetArray(y));
      PetscCall(VecRestoreArrayRead(x, &values));
      PetscCall(ReferenceFillVec(y, 8));
      PetscCall(VecAXPY(r, -1, y));
      PetscCall(VecNorm(r, NORM_1, &error));
      PetscCall(VecNorm(b, NORM_1, &size1));
      if (!(error <= 1e4 * PETSC_MACHINE_EPSILON * size1)) {
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "solve%s, %s, values %d: residual %g of %g\n", transposed ? " transposed" : "", k & 2 ? "on the host" : "as made", again, (double)error, (double)size1));
        c->bad++;
      }
      PetscCall(VecDestroy(&b));
      PetscCall(VecDestroy(&x));
      PetscCall(VecDestroy(&r));
      PetscCall(VecDestroy(&y));
    }
    PetscCall(BackToCSR(c, C));
    PetscCall(MatScale(C, 3));
    PetscCall(MatScale(D, 3));
  }
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&cols));
  PetscCall(MatDestroy(&F));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Replaces the contents of the matrix by those of another one */
static PetscErrorCode OpReplace(Case *c)
{
  Mat C;

  PetscFunctionBegin;
  PetscCall(NeedCSR(c));
  PetscCall(MatDuplicate(c->A, MAT_COPY_VALUES, &C));
  PetscCall(BackToCSR(c, C));
  PetscCall(MatScale(C, 5));
  PetscCall(MatScale(c->B, 5));
  if (Choose(c, 2)) PetscCall(CheckProducts(c, C, c->B, "before it replaces another"));
  PetscCall(MatHeaderReplace(c->A, &C));
  c->stored = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct {
  const char *name;
  PetscErrorCode (*run)(Case *);
} operations[] = {
  {"nothing",       OpNothing      },
  {"scale",         OpScale        },
  {"diagonalscale", OpDiagonalScale},
  {"axpy",          OpAXPY         },
  {"duplicate",     OpDuplicate    },
  {"convert",       OpConvert      },
  {"transpose",     OpTranspose    },
  {"submatrix",     OpSubMatrix    },
  {"dense",         OpDense        },
  {"dense again",   OpDense        },
  {"sparse",        OpSparse       },
  {"bind",          OpBind         },
  {"settings",      OpSettings     },
  {"more settings", OpSettings     },
  {"setvalues",     OpSetValues    },
  {"array",         OpArray        },
  {"coo",           OpCOO          },
  {"diagonal",      OpDiagonal     },
  {"zero",          OpZero         },
  {"copy",          OpCopy         },
  {"norms",         OpNorms        },
  {"file",          OpFile         },
  {"filter",        OpFilter       },
  {"store",         OpStore        },
  {"permute",       OpPermute      },
  {"solve",         OpSolve        },
  {"replace",       OpReplace      }
};

static PetscErrorCode Sequence(Case *c, PetscInt only)
{
  const PetscInt  maxn = Choose(c, 30) ? c->maxn : 20 * c->maxn, m = Choose(c, maxn + 1), n = Choose(c, 3) ? Choose(c, maxn + 1) : m, length = 1 + Choose(c, 8);
  const PetscBool release = (PetscBool)(Choose(c, 3) == 0);
  PetscInt        ml, nl;
  int             how;
  Entries         e;

  PetscFunctionBegin;
  c->kind = (int)Choose(c, 12);
  how     = (int)Choose(c, 4);
  PetscCall(LocalSize(c, m, &ml));
  PetscCall(LocalSize(c, n, &nl));
  if (m == n) nl = ml;
  PetscCall(EntriesCreate(c, m, n, 20 * maxn, &e));
  if (verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "seed %" PetscInt_FMT ": %s, %" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscInt_FMT " entries:", c->seed, c->type, m, n, e.count));
  if (release) PetscCall(PetscOptionsSetValue(NULL, "-mat_form_release", "1"));
  PetscCall(Create(c->type, PETSC_TRUE, ml, nl, &e, how, &c->A));
  if (release) PetscCall(PetscOptionsClearValue(NULL, "-mat_form_release"));
  PetscCall(Create(MATAIJ, PETSC_FALSE, ml, nl, &e, how, &c->B));
  PetscCall(EntriesDestroy(&e));
  if (Choose(c, 2)) PetscCall(CheckProducts(c, c->A, c->B, "new"));
  for (PetscInt k = 0; k < length; k++) {
    const PetscInt op = only < 0 ? Choose(c, PETSC_STATIC_ARRAY_LENGTH(operations)) : only;

    if (verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %s", operations[op].name));
    PetscCall((*operations[op].run)(c));
    if (Choose(c, 3)) PetscCall(CheckProducts(c, c->A, c->B, operations[op].name));
    if (Choose(c, 4) == 0 || verbose) PetscCall(CheckEntries(c, c->A, c->B, PETSC_FALSE, operations[op].name));
  }
  PetscCall(CheckProducts(c, c->A, c->B, "end"));
  PetscCall(CheckEntries(c, c->A, c->B, PETSC_FALSE, "end"));
  if (verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscCall(MatDestroy(&c->A));
  PetscCall(MatDestroy(&c->B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  seed0 = 1, count = 1, maxn = 120, only = -1, bad = 0, ntypes = 8;
  char     *types[8], name[64], progress[PETSC_MAX_PATH_LEN] = "";
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-type", types, &ntypes, &set));
  if (!set) PetscCall(PetscStrallocpy("csrccuda", &types[0]));
  if (!set) ntypes = 1;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed0", &seed0, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-maxn", &maxn, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-progress", progress, sizeof(progress), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", name, sizeof(name), &set));
  for (PetscInt k = 0; set && k < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(operations); k++) {
    PetscBool same;

    PetscCall(PetscStrcmp(name, operations[k].name, &same));
    if (same) only = k;
  }
  PetscCheck(!set || only >= 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-only %s: there is no such operation", name);
  for (PetscInt seed = seed0; seed < seed0 + count; seed++) {
    Case           c = {.seed = seed, .maxn = maxn, .state = RandomStart(22, seed), .type = types[seed % ntypes]};
    PetscErrorCode ierr;

    if (progress[0]) {
      FILE *fp;

      PetscCall(PetscFOpen(PETSC_COMM_WORLD, progress, "w", &fp));
      PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%" PetscInt_FMT "\n", seed));
      PetscCall(PetscFClose(PETSC_COMM_WORLD, fp));
    }
    Catch(ierr, Sequence(&c, only));
    bad += c.bad;
    if (ierr) { /* objects that an error leaves behind are not freed */
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "seed %" PetscInt_FMT ", %s: error %d: %s\n", seed, c.type, (int)ierr, caught.message));
      PetscCallMPI(MPI_Abort(PETSC_COMM_WORLD, 1));
    }
  }
  for (PetscInt k = 0; k < ntypes; k++) PetscCall(PetscFree(types[k]));
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c

  testset:
    output_file: output/fuzz_1.out
    temporaries: fuzz.bin
    args: -type csrccuda,bccoo
    test:
      suffix: 1
      args: -count 150 -seed0 {{1 1001}}
    # the default path, with matrices that are large enough for their nonzeros to be stored
    test:
      suffix: default
      args: -count 100 -maxn 500 -seed0 3001 -mat_form_store_at_once false
    test:
      suffix: default_parallel
      nsize: {{2 3}}
      args: -count 20 -maxn 1500 -seed0 4001 -mat_form_store_at_once false
    test:
      suffix: gpu
      args: -type csrccuda -count 60 -seed0 5001 -mat_form_store_at_once {{true false}}
    test:
      suffix: gpu_parallel
      nsize: 2
      args: -type csrccuda -count 10 -seed0 6001 -mat_form_store_at_once {{true false}}
    # the view of a released matrix, which a duplicate had inherited
    test:
      suffix: view
      args: -count 1 -seed0 20325
    test:
      suffix: parallel
      nsize: {{2 3}}
      args: -count 60 -seed0 2001

TEST*/
