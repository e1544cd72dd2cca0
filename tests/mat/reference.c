#include "reference.h"
#include <math.h>

#define LINES_PER_PRODUCT 3  /* wrong entries shown */
#define LINES             30 /* the same in total, on each process */

/* products after which a matrix may still not be stored, as it would not pay back: on the host, on a device, on devices of several processes */
#define MANY         50
#define MANY_DEVICE  400
#define MANY_DEVICES 100

PetscBool ReferenceWaits = PETSC_TRUE;

static int      lines  = 0;
static PetscInt waited = 0, stored = 0; /* matrices whose products were left to the type underneath, and those of them that were stored later */

static PetscErrorCode SumDuplicates(PetscInt len, PetscInt *j, PetscScalar *a, PetscInt *newlen)
{
  PetscInt k = 0;

  PetscFunctionBegin;
  PetscCall(PetscSortIntWithScalarArray(len, j, a));
  for (PetscInt l = 0; l < len; l++) {
    if (k && j[k - 1] == j[l]) a[k - 1] += a[l];
    else {
      j[k]   = j[l];
      a[k++] = a[l];
    }
  }
  *newlen = k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceCreate(const char name[], PetscInt m, PetscInt n, PetscInt count, const PetscInt rows[], const PetscInt cols[], const PetscScalar vals[], Reference *ref)
{
  PetscInt *next, nnz = 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(ref, sizeof(*ref)));
  PetscCall(PetscStrncpy(ref->name, name, sizeof(ref->name)));
  ref->m = m;
  ref->n = n;
  PetscCall(PetscCalloc1(m + 1, &ref->i));
  PetscCall(PetscMalloc2(count, &ref->j, count, &ref->a));
  PetscCall(PetscMalloc1(m + 1, &next));
  for (PetscInt k = 0; k < count; k++) ref->i[rows[k] + 1]++;
  for (PetscInt r = 0; r < m; r++) ref->i[r + 1] += ref->i[r];
  for (PetscInt r = 0; r <= m; r++) next[r] = ref->i[r];
  for (PetscInt k = 0; k < count; k++) {
    ref->j[next[rows[k]]]   = cols[k];
    ref->a[next[rows[k]]++] = vals[k];
  }
  for (PetscInt r = 0; r < m; r++) {
    PetscInt first = ref->i[r], len = 0;

    PetscCall(SumDuplicates(ref->i[r + 1] - first, ref->j + first, ref->a + first, &len));
    PetscCall(PetscArraymove(ref->j + nnz, ref->j + first, len));
    PetscCall(PetscArraymove(ref->a + nnz, ref->a + first, len));
    ref->i[r] = nnz;
    nnz += len;
  }
  ref->i[m] = ref->nnz = nnz;
  PetscCall(PetscFree(next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceCreateFromMat(const char name[], Mat A, Reference *ref)
{
  MPI_Comm     comm;
  PetscMPIInt  size, mine, *counts, *displs;
  PetscInt     m, n, rstart, rend, count = 0, all = 0, *rows, *cols, *allrows, *allcols;
  PetscScalar *vals, *allvals;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetComm((PetscObject)A, &comm));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  for (PetscInt r = rstart; r < rend; r++) {
    PetscInt len;

    PetscCall(MatGetRow(A, r, &len, NULL, NULL));
    count += len;
    PetscCall(MatRestoreRow(A, r, &len, NULL, NULL));
  }
  PetscCall(PetscMalloc3(count, &rows, count, &cols, count, &vals));
  count = 0;
  for (PetscInt r = rstart; r < rend; r++) {
    PetscInt           len;
    const PetscInt    *j;
    const PetscScalar *a;

    PetscCall(MatGetRow(A, r, &len, &j, &a));
    for (PetscInt k = 0; k < len; k++) {
      rows[count]   = r;
      cols[count]   = j[k];
      vals[count++] = a[k];
    }
    PetscCall(MatRestoreRow(A, r, &len, &j, &a));
  }
  PetscCall(PetscMPIIntCast(count, &mine));
  PetscCall(PetscMalloc2(size, &counts, size + 1, &displs));
  PetscCallMPI(MPI_Allgather(&mine, 1, MPI_INT, counts, 1, MPI_INT, comm));
  displs[0] = 0;
  for (PetscMPIInt p = 0; p < size; p++) displs[p + 1] = displs[p] + counts[p];
  all = displs[size];
  PetscCall(PetscMalloc3(all, &allrows, all, &allcols, all, &allvals));
  PetscCallMPI(MPI_Allgatherv(rows, mine, MPIU_INT, allrows, counts, displs, MPIU_INT, comm));
  PetscCallMPI(MPI_Allgatherv(cols, mine, MPIU_INT, allcols, counts, displs, MPIU_INT, comm));
  PetscCallMPI(MPI_Allgatherv(vals, mine, MPIU_SCALAR, allvals, counts, displs, MPIU_SCALAR, comm));
  PetscCall(ReferenceCreate(name, m, n, all, allrows, allcols, allvals, ref));
  PetscCall(PetscFree3(allrows, allcols, allvals));
  PetscCall(PetscFree2(counts, displs));
  PetscCall(PetscFree3(rows, cols, vals));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceDestroy(Reference *ref)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(ref->i));
  PetscCall(PetscFree2(ref->j, ref->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceSparse(PetscInt m, PetscInt n, PetscInt count, PetscInt step, PetscInt s, MatType type, Mat *A)
{
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, m, n));
  if (type) PetscCall(MatSetType(*A, type));
  else PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt r = first; r < last; r++) {
    for (PetscInt k = 0; k < count; k++) PetscCall(MatSetValue(*A, r, (r + step * k) % n, ReferenceValue(s, count * r + k), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceIsReleased(Mat A, PetscBool *released)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, released, "seqbccooreleased", "mpibccooreleased", "seqcsrccudareleased", "mpicsrccudareleased", ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options of the tests for the library, -exchange_pattern, -panel and -pieces: by the variable that it reads for tests */
PetscErrorCode ReferenceSetTestValues(void)
{
  static const char *const names[] = {"exchange_pattern", "panel", "pieces"};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(names); k++) {
    char        option[32], given[16], value[128];
    const char *others = getenv("PETSCCSRC_TEST");
    PetscBool   set;

    PetscCall(PetscSNPrintf(option, sizeof(option), "-%s", names[k]));
    PetscCall(PetscOptionsGetString(NULL, NULL, option, given, sizeof(given), &set));
    if (!set || (others && strstr(others, names[k]))) continue;
    PetscCall(PetscSNPrintf(value, sizeof(value), "%s,%s=%s", others ? others : "", names[k], given));
    setenv("PETSCCSRC_TEST", value, 1);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceToMat(const Reference *ref, MPI_Comm comm, Mat *A)
{
  PetscInt rstart, rend;

  PetscFunctionBegin;
  PetscCall(ReferenceSetTestValues());
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, ref->m, ref->n));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &rstart, &rend));
  for (PetscInt r = rstart; r < rend; r++) PetscCall(MatSetValues(*A, 1, &r, ref->i[r + 1] - ref->i[r], PetscSafePointerPlusOffset(ref->j, ref->i[r]), PetscSafePointerPlusOffset(ref->a, ref->i[r]), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(ReferenceMoveToDevice(ref, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A hash of the reference modulo 3, by which it is chosen how its matrix is treated by the default path; negative if this is not taken */
static PetscErrorCode Turn(const Reference *ref, int *turn)
{
  PetscBool atonce = PETSC_FALSE;
  uint32_t  hash   = (uint32_t)ref->nnz;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-mat_form_store_at_once", &atonce, NULL));
  for (const char *c = ref->name; *c; c++) hash = 31 * hash + (unsigned char)*c;
  *turn = atonce ? -1 : (int)(hash % 3);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceMoveToDevice(const Reference *ref, Mat A)
{
  VecType   type;
  PetscBool device;
  int       turn = -1;

  PetscFunctionBegin;
  PetscCall(Turn(ref, &turn));
  PetscCall(MatGetVecType(A, &type));
  PetscCall(PetscStrendswith(type, VECCUDA, &device));
  if (!device || turn < 0 || turn == 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatScale(A, 2));
  PetscCall(MatScale(A, 0.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers in (-1, 1) from two rounds of a 32-bit mixing function: the same on every machine */
static PetscReal Mixed(uint32_t s, uint32_t k)
{
  uint32_t h = k * 2654435769u + s * 40503u + 97u;

  h = (h ^ (h >> 16)) * 2246822519u;
  h = (h ^ (h >> 13)) * 3266489917u;
  h ^= h >> 16;
  return ((PetscReal)h + (PetscReal)0.5) / (PetscReal)2147483648.0 - 1;
}

PetscScalar ReferenceValue(PetscInt s, PetscInt k)
{
#if PetscDefined(USE_COMPLEX)
  return PetscCMPLX(Mixed((uint32_t)(2 * s), (uint32_t)k), Mixed((uint32_t)(2 * s + 1), (uint32_t)k));
#else
  return Mixed((uint32_t)(2 * s), (uint32_t)k);
#endif
}

PetscErrorCode ReferenceFillVec(Vec x, PetscInt s)
{
  PetscScalar *a;
  PetscInt     first, last;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  PetscCall(VecGetArrayWrite(x, &a));
  for (PetscInt k = first; k < last; k++) a[k - first] = ReferenceValue(s, k);
  PetscCall(VecRestoreArrayWrite(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceDenseCreate(MPI_Comm comm, PetscInt mlocal, PetscInt m, PetscInt K, PetscBool padded, Mat *X)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(comm, X));
  PetscCall(MatSetSizes(*X, mlocal, PETSC_DECIDE, m, K));
  PetscCall(MatSetType(*X, MATDENSE));
  PetscCall(MatSetOptionsPrefix(*X, "dense_"));
  PetscCall(MatSetFromOptions(*X));
  if (padded) PetscCall(MatDenseSetLDA(*X, mlocal + 5));
  PetscCall(MatSetUp(*X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceDenseFill(Mat X, PetscInt s)
{
  PetscInt     first, last, K, lda;
  PetscScalar *x;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, NULL, &K));
  PetscCall(MatGetOwnershipRange(X, &first, &last));
  PetscCall(MatDenseGetLDA(X, &lda));
  PetscCall(MatDenseGetArrayWrite(X, &x));
  for (PetscInt c = 0; c < K; c++)
    for (PetscInt k = first; k < last; k++) x[c * lda + k - first] = s < 0 ? NAN : ReferenceValue(s + c, k);
  PetscCall(MatDenseRestoreArrayWrite(X, &x));
  PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = op(A) x + z for test vectors, and for each entry the error allowed */
static PetscErrorCode Product(const Reference *ref, ReferenceOp op, PetscInt sx, PetscInt sz, PetscScalar *y, PetscReal *bound)
{
  const PetscInt len = op == REFERENCE_N ? ref->m : ref->n;
  PetscInt      *terms;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(len, &terms));
  for (PetscInt k = 0; k < len; k++) {
    y[k]     = 0;
    bound[k] = 0;
  }
  for (PetscInt r = 0; r < ref->m; r++) {
    for (PetscInt k = ref->i[r]; k < ref->i[r + 1]; k++) {
      const PetscInt    to = op == REFERENCE_N ? r : ref->j[k], from = op == REFERENCE_N ? ref->j[k] : r;
      const PetscScalar a = op == REFERENCE_H ? PetscConj(ref->a[k]) : ref->a[k], x = ReferenceValue(sx, from);

      y[to] += a * x;
      bound[to] += PetscAbsScalar(a) * PetscAbsScalar(x);
      terms[to]++;
    }
  }
  for (PetscInt k = 0; k < len; k++) {
    if (sz >= 0) {
      y[k] += ReferenceValue(sz, k);
      bound[k] += PetscAbsScalar(ReferenceValue(sz, k));
    }
    bound[k] *= (terms[k] + 8) * PETSC_MACHINE_EPSILON;
  }
  PetscCall(PetscFree(terms));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const Reference *ref, const char what[], PetscInt first, PetscInt last, const PetscScalar *found, const PetscScalar *expected, const PetscReal *bound, PetscInt *bad)
{
  PetscInt wrong = 0;

  PetscFunctionBegin;
  for (PetscInt k = first; k < last; k++) {
    if (PetscAbsScalar(found[k - first] - expected[k]) <= bound[k]) continue;
    /* the plain loop overflowed; in complex arithmetic, infinity or NaN depends on the order and on the compiler */
    if (found[k - first] == expected[k] || (PetscIsNanScalar(found[k - first]) && PetscIsNanScalar(expected[k]))) continue;
    if (PetscDefined(USE_COMPLEX) && PetscIsInfOrNanScalar(found[k - first]) && PetscIsInfOrNanScalar(expected[k])) continue;
    if (wrong++ < LINES_PER_PRODUCT && lines++ < LINES)
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s: entry %" PetscInt_FMT " is %.17g, should be %.17g, differs by %.2e, allowed %.2e\n", ref->name, what, k, (double)PetscRealPart(found[k - first]), (double)PetscRealPart(expected[k]),
                            (double)PetscAbsScalar(found[k - first] - expected[k]), (double)bound[k]));
  }
  if (wrong > LINES_PER_PRODUCT && lines++ < LINES) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s: %" PetscInt_FMT " wrong entries in all\n", ref->name, what, wrong));
  *bad += wrong;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceCheckVec(const Reference *ref, ReferenceOp op, PetscInt sx, PetscInt sz, Vec y, const char what[], PetscInt *bad)
{
  const PetscInt     len = op == REFERENCE_N ? ref->m : ref->n;
  PetscInt           first, last, N;
  const PetscScalar *found;
  PetscScalar       *expected;
  PetscReal         *bound;

  PetscFunctionBegin;
  PetscCall(VecGetSize(y, &N));
  PetscCheck(N == len, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "%s: %s: vector of length %" PetscInt_FMT ", should be %" PetscInt_FMT, ref->name, what, N, len);
  PetscCall(PetscMalloc2(len, &expected, len, &bound));
  PetscCall(Product(ref, op, sx, sz, expected, bound));
  PetscCall(VecGetOwnershipRange(y, &first, &last));
  PetscCall(VecGetArrayRead(y, &found));
  PetscCall(Compare(ref, what, first, last, found, expected, bound, bad));
  PetscCall(VecRestoreArrayRead(y, &found));
  PetscCall(PetscFree2(expected, bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceCheckDense(const Reference *ref, ReferenceOp op, PetscInt sx, Mat Y, const char what[], PetscInt *bad)
{
  const PetscInt     len = op == REFERENCE_N ? ref->m : ref->n;
  PetscInt           first, last, M, K, lda;
  const PetscScalar *found;
  PetscScalar       *expected;
  PetscReal         *bound;

  PetscFunctionBegin;
  PetscCall(MatGetSize(Y, &M, &K));
  PetscCheck(M == len, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "%s: %s: %" PetscInt_FMT " rows, should be %" PetscInt_FMT, ref->name, what, M, len);
  PetscCall(PetscMalloc2(len, &expected, len, &bound));
  PetscCall(MatGetOwnershipRange(Y, &first, &last));
  PetscCall(MatDenseGetLDA(Y, &lda));
  PetscCall(MatDenseGetArrayRead(Y, &found));
  for (PetscInt c = 0; c < K; c++) {
    char column[128];

    PetscCall(PetscSNPrintf(column, sizeof(column), "%s, column %" PetscInt_FMT " of %" PetscInt_FMT, what, c, K));
    PetscCall(Product(ref, op, sx + c, -1, expected, bound));
    PetscCall(Compare(ref, column, first, last, found + c * lda, expected, bound, bad));
  }
  PetscCall(MatDenseRestoreArrayRead(Y, &found));
  PetscCall(PetscFree2(expected, bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The next entry from *k on that is not zero, up to a tolerance; false at the end */
static PetscBool NextNonzero(const Reference *ref, PetscReal tol, PetscInt *k, PetscInt *row)
{
  while (*k < ref->nnz && PetscAbsScalar(ref->a[*k]) <= tol) (*k)++;
  if (*k == ref->nnz) return PETSC_FALSE;
  while (ref->i[*row + 1] <= *k) (*row)++;
  return PETSC_TRUE;
}

/* For complex numbers that are not finite, it depends on the multiplication algorithm which part is infinite and which is NaN */
static PetscBool SameEntry(PetscScalar a, PetscScalar b, PetscReal tol)
{
  if (a == b || (PetscIsNanScalar(a) && PetscIsNanScalar(b))) return PETSC_TRUE;
  if (PetscDefined(USE_COMPLEX) && PetscIsInfOrNanScalar(a) && PetscIsInfOrNanScalar(b)) return PETSC_TRUE;
  return PetscAbsScalar(a - b) <= tol * (1 + PetscAbsScalar(a)) ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode ReferenceCheckEntries(const Reference *ref, Mat A, PetscReal tol, const char what[], PetscInt *bad)
{
  Reference found;
  PetscInt  k = 0, l = 0, row = 0, rowfound = 0, wrong = 0;

  PetscFunctionBegin;
  PetscCall(ReferenceCreateFromMat(ref->name, A, &found));
  if (found.m != ref->m || found.n != ref->n) wrong++;
  while (!wrong) {
    const PetscBool more = NextNonzero(ref, tol, &k, &row), morefound = NextNonzero(&found, tol, &l, &rowfound);

    if (!more && !morefound) break;
    if (more != morefound || row != rowfound || ref->j[k] != found.j[l] || !SameEntry(ref->a[k], found.a[l], tol)) {
      wrong++;
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s: the entries differ from row %" PetscInt_FMT " on\n", ref->name, what, PetscMin(row, rowfound)));
    }
    k++;
    l++;
  }
  PetscCall(ReferenceDestroy(&found));
  *bad += wrong;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckUnharmed(const Reference *ref, Vec x, PetscInt s, const char what[], PetscInt *bad)
{
  PetscInt           first, last;
  const PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  PetscCall(VecGetArrayRead(x, &a));
  for (PetscInt k = first; k < last; k++) {
    if (a[k - first] == ReferenceValue(s, k)) continue;
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s: the product changed its input vector at %" PetscInt_FMT "\n", ref->name, what, k));
    (*bad)++;
    break;
  }
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef PetscErrorCode (*MultFn)(Mat, Vec, Vec);
typedef PetscErrorCode (*MultAddFn)(Mat, Vec, Vec, Vec);

/* from has the length of op's input, z and to that of its output */
static PetscErrorCode CheckOp(const Reference *ref, Mat A, ReferenceOp op, const char what[], MultFn mult, MultAddFn multadd, Vec from, Vec z, Vec to, PetscInt *bad)
{
  char label[128];

  PetscFunctionBegin;
  PetscCall(ReferenceFillVec(from, 1));
  PetscCall(VecSet(to, NAN));
  PetscCall((*mult)(A, from, to));
  PetscCall(ReferenceCheckVec(ref, op, 1, -1, to, what, bad));

  PetscCall(ReferenceFillVec(z, 2));
  PetscCall(VecSet(to, NAN));
  PetscCall((*multadd)(A, from, z, to));
  PetscCall(PetscSNPrintf(label, sizeof(label), "%sAdd", what));
  PetscCall(ReferenceCheckVec(ref, op, 1, 2, to, label, bad));
  PetscCall(CheckUnharmed(ref, z, 2, label, bad));

  PetscCall(ReferenceFillVec(to, 3));
  PetscCall((*multadd)(A, from, to, to));
  PetscCall(PetscSNPrintf(label, sizeof(label), "%sAdd in place", what));
  PetscCall(ReferenceCheckVec(ref, op, 1, 3, to, label, bad));
  PetscCall(CheckUnharmed(ref, from, 1, label, bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceCountEvents(const char name[], int *count)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PetscLogEventGetId(name, &event));
  PetscCheck(event >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "No log event %s", name);
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *count = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  By the default path: multiplies until all processes use stored nonzeros, and checks the product with which this begins. now: there were
  products before that did not use them. Two of three matrices are treated so, one by A x and one by A^T u.
*/
static PetscErrorCode MultiplyUntilStored(const Reference *ref, Mat A, Vec x, Vec y, Vec u, Vec v, PetscBool *now, PetscInt *bad)
{
  PetscBool ours, device;
  PetscInt  first, last, k;
  VecType   type;
  int       turn = -1, waits = 1, many = MANY;

  PetscFunctionBegin;
  *now = PETSC_FALSE;
  PetscCall(Turn(ref, &turn));
  PetscCall(PetscObjectHasFunction((PetscObject)A, "MatFormGetMemory_C", &ours));
  if (!ReferenceWaits || !ours || turn < 0 || turn == 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(VecGetType(x, &type));
  PetscCall(PetscStrendswith(type, VECCUDA, &device));
  if (device) many = last - first == ref->m ? MANY_DEVICE : MANY_DEVICES;
  PetscCall(ReferenceFillVec(turn ? u : x, 1));
  for (k = 0; waits && k < many; k++) {
    int before, after;

    PetscCall(ReferenceCountEvents("MatFormMult", &before));
    if (turn) PetscCall(MatMultTranspose(A, u, y));
    else PetscCall(MatMult(A, x, v));
    PetscCall(ReferenceCountEvents("MatFormMult", &after));
    waits = after == before && ref->i[last] > ref->i[first];
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &waits, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  }
  PetscCall(ReferenceCheckVec(ref, turn ? REFERENCE_T : REFERENCE_N, 1, -1, turn ? y : v, "the first product with stored nonzeros", bad));
  if (k > 1) {
    waited++;
    *now = waits ? PETSC_FALSE : PETSC_TRUE;
    if (*now) stored++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceCheckProductsWithVecs(const Reference *ref, Mat A, Vec x, Vec y, Vec u, Vec v, PetscInt *bad)
{
  PetscBool again = PETSC_FALSE;

  PetscFunctionBegin;
  do {
    PetscCall(CheckOp(ref, A, REFERENCE_N, "MatMult", MatMult, MatMultAdd, x, u, v, bad));
    PetscCall(CheckOp(ref, A, REFERENCE_T, "MatMultTranspose", MatMultTranspose, MatMultTransposeAdd, u, x, y, bad));
    PetscCall(CheckOp(ref, A, REFERENCE_H, "MatMultHermitianTranspose", MatMultHermitianTranspose, MatMultHermitianTransposeAdd, u, x, y, bad));
    if (again) break;
    PetscCall(MultiplyUntilStored(ref, A, x, y, u, v, &again, bad));
  } while (again);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceCheckProducts(const Reference *ref, Mat A, PetscInt *bad)
{
  Vec x, y, u, v;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &u));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(u, &v));
  PetscCall(ReferenceCheckProductsWithVecs(ref, A, x, y, u, v, bad));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceCheckMat(Mat C, Mat E, PetscReal tol, const char what[], const char when[], PetscInt *bad)
{
  Mat       found, expected;
  PetscReal size, difference;

  PetscFunctionBegin;
  PetscCall(MatConvert(C, MATDENSE, MAT_INITIAL_MATRIX, &found));
  PetscCall(MatConvert(E, MATDENSE, MAT_INITIAL_MATRIX, &expected));
  PetscCall(MatNorm(expected, NORM_FROBENIUS, &size));
  PetscCall(MatAXPY(found, -1, expected, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(found, NORM_FROBENIUS, &difference));
  if (!(difference <= tol * size)) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %s: differs by %g of %g\n", what, when, (double)difference, (double)size));
    (*bad)++;
  }
  PetscCall(MatDestroy(&found));
  PetscCall(MatDestroy(&expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceReport(PetscInt bad)
{
  PetscFunctionBegin;
  if (waited) PetscCall(PetscInfo(NULL, "%" PetscInt_FMT " matrices had products left to the type underneath, and %" PetscInt_FMT " of them were stored\n", waited, stored));
  if (waited > 10 && !stored) {
    bad++;
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "none of %" PetscInt_FMT " matrices was stored\n", waited));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &bad, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " faults\n", bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrepareProduct(Mat A, MatProductType type, Mat X, Mat *Y)
{
  PetscFunctionBegin;
  PetscCall(MatProductCreate(A, X, NULL, Y));
  PetscCall(MatProductSetType(*Y, type));
  PetscCall(MatProductSetFromOptions(*Y));
  PetscCall(MatProductSymbolic(*Y));
  PetscCall(ReferenceDenseFill(*Y, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceOperandsCreate(const Reference *ref, MPI_Comm comm, ReferenceOperands *o)
{
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(ReferenceToMat(ref, comm, &o->A));
  PetscCall(MatGetLocalSize(o->A, &m, &n));
  PetscCall(MatCreateVecs(o->A, &o->x, &o->y));
  PetscCall(ReferenceFillVec(o->x, 1));
  PetscCall(ReferenceFillVec(o->y, 2));
  PetscCall(ReferenceDenseCreate(comm, n, ref->n, 5, PETSC_FALSE, &o->X));
  PetscCall(ReferenceDenseCreate(comm, m, ref->m, 5, PETSC_FALSE, &o->U));
  PetscCall(ReferenceDenseFill(o->X, 4));
  PetscCall(ReferenceDenseFill(o->U, 4));
  PetscCall(PrepareProduct(o->A, MATPRODUCT_AB, o->X, &o->Y));
  PetscCall(PrepareProduct(o->A, MATPRODUCT_AtB, o->U, &o->V));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceOperandsCheck(const Reference *ref, const ReferenceOperands *o, PetscInt *bad)
{
  PetscFunctionBegin;
  PetscCall(ReferenceCheckProducts(ref, o->A, bad));
  PetscCall(MatProductNumeric(o->Y));
  PetscCall(ReferenceCheckDense(ref, REFERENCE_N, 4, o->Y, "MatMatMult", bad));
  PetscCall(MatProductNumeric(o->V));
  PetscCall(ReferenceCheckDense(ref, REFERENCE_T, 4, o->V, "MatTransposeMatMult", bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceOperandsDestroy(ReferenceOperands *o)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&o->x));
  PetscCall(VecDestroy(&o->y));
  PetscCall(MatDestroy(&o->Y));
  PetscCall(MatDestroy(&o->V));
  PetscCall(MatDestroy(&o->X));
  PetscCall(MatDestroy(&o->U));
  PetscCall(MatDestroy(&o->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
