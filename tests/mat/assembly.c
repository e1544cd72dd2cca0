static char help[] = "Every way of filling a matrix: with and without preallocation, by coordinates, from arrays with unsorted rows.\n\n";

#include "reference.h"

typedef enum {
  HASH,     /* MatSetValues() without preallocation */
  PREALLOC, /* exact preallocation */
  ROOM,     /* more room than needed, values set twice, one entry at a time */
  FOREIGN,  /* every entry set by another process than its owner */
  COO,      /* coordinates, each entry in two halves, in reverse order */
  COOADD,   /* coordinates; the values added in two calls */
  ARRAYS,   /* a sequential AIJ matrix made from arrays with unsorted rows, then converted */
  NWAYS
} Way;

static const char *const WayNames[] = {"without preallocation", "with preallocation", "with too much room", "from other processes", "by coordinates, in halves", "by coordinates, in two calls", "from arrays with unsorted rows"};

static PetscErrorCode FillByValues(const Reference *ref, Way way, Mat A)
{
  PetscMPIInt rank, size;
  PetscInt    first, last, rounds = way == ROOM ? 2 : 1;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt round = 0; round < rounds; round++) {
    for (PetscInt r = 0; r < ref->m; r++) {
      const PetscBool mine = (PetscBool)(r >= first && r < last);

      if (way == FOREIGN ? r % size != rank : !mine) continue;
      for (PetscInt k = ref->i[r + 1] - 1; k >= ref->i[r]; k--) PetscCall(MatSetValue(A, r, ref->j[k], ref->a[k], INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sums of two halves are exact */
static PetscErrorCode FillByCoordinates(const Reference *ref, Way way, Mat A)
{
  PetscInt     first, last, count = 0, *i, *j;
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(PetscMalloc3(2 * ref->nnz, &i, 2 * ref->nnz, &j, 2 * ref->nnz, &v));
  for (PetscInt half = 0; half < (way == COO ? 2 : 1); half++) {
    for (PetscInt r = last - 1; r >= first; r--) {
      for (PetscInt k = ref->i[r]; k < ref->i[r + 1]; k++) {
        i[count]   = r;
        j[count]   = ref->j[k];
        v[count++] = ref->a[k] / (PetscScalar)2.0;
      }
    }
  }
  PetscCall(MatSetPreallocationCOO(A, count, i, j));
  PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  if (way == COOADD) PetscCall(MatSetValuesCOO(A, v, ADD_VALUES));
  PetscCall(PetscFree3(i, j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Preallocate(const Reference *ref, Way way, Mat A)
{
  PetscInt m, n, first, last, cfirst, clast, *d, *o, extra = way == ROOM ? 3 : 0;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatGetOwnershipRangeColumn(A, &cfirst, &clast));
  PetscCall(PetscCalloc2(m, &d, m, &o));
  for (PetscInt r = first; r < last; r++) {
    for (PetscInt k = ref->i[r]; k < ref->i[r + 1]; k++) {
      if (ref->j[k] >= cfirst && ref->j[k] < clast) d[r - first]++;
      else o[r - first]++;
    }
    d[r - first] = PetscMin(d[r - first] + extra, n);
    o[r - first] = PetscMin(o[r - first] + extra, ref->n - n);
  }
  PetscCall(MatSeqAIJSetPreallocation(A, 0, d));
  PetscCall(MatMPIAIJSetPreallocation(A, 0, d, 0, o));
  PetscCall(PetscFree2(d, o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Make(const Reference *ref, Way way, Mat *A)
{
  PetscFunctionBegin;
  if (way == ARRAYS) {
    Mat          B;
    PetscInt    *i, *j;
    PetscScalar *a;
    char         type[64];

    PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", type, sizeof(type), NULL));
    PetscCall(PetscMalloc3(ref->m + 1, &i, ref->nnz, &j, ref->nnz, &a));
    PetscCall(PetscArraycpy(i, ref->i, ref->m + 1));
    for (PetscInt r = 0; r < ref->m; r++) {
      const PetscInt len = ref->i[r + 1] - ref->i[r], rotate = PetscDefined(USE_DEBUG) ? 0 : len / 3 + 1;

      for (PetscInt k = 0; k < len; k++) { /* rotated by a third, so not sorted; PETSc with debugging refuses some other orders */
        j[ref->i[r] + k] = ref->j[ref->i[r] + (k + rotate) % len];
        a[ref->i[r] + k] = ref->a[ref->i[r] + (k + rotate) % len];
      }
    }
    PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, ref->m, ref->n, i, j, a, &B));
    PetscCall(MatConvert(B, type, MAT_INITIAL_MATRIX, A));
    PetscCall(MatDestroy(&B));
    PetscCall(PetscFree3(i, j, a));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, ref->m, ref->n));
  PetscCall(MatSetFromOptions(*A));
  if (way == PREALLOC || way == ROOM) {
    PetscCall(MatSetUp(*A));
    PetscCall(Preallocate(ref, way, *A));
  } else PetscCall(MatSetUp(*A));
  if (way == COO || way == COOADD) PetscCall(FillByCoordinates(ref, way, *A));
  else PetscCall(FillByValues(ref, way, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    count, bad = 0;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ShapesCount(&count));
  for (PetscInt k = 0; k < count; k += 5) {
    Reference ref;
    char      name[128];

    PetscCall(ShapesGet(k, &ref));
    PetscCall(PetscStrncpy(name, ref.name, sizeof(name)));
    for (Way way = HASH; way < NWAYS; way++) {
      Mat A;

      if (way == ARRAYS && size > 1) continue;
      PetscCall(PetscSNPrintf(ref.name, sizeof(ref.name), "%s, %s", name, WayNames[way]));
      PetscCall(Make(&ref, way, &A));
      PetscCall(ReferenceCheckEntries(&ref, A, 0.0, "assembled", &bad));
      PetscCall(ReferenceCheckProducts(&ref, A, &bad));
      PetscCall(MatDestroy(&A));
    }
    PetscCall(ReferenceDestroy(&ref));
  }
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c shapes.c

  testset:
    output_file: output/assembly_1.out
    nsize: {{1 2 3}}
    test:
      suffix: aij
      args: -mat_type aij
      nsize: 2
    test:
      suffix: csrccuda
      args: -mat_type csrccuda
    test:
      suffix: gpu
      args: -mat_type csrccuda -mat_csrc_layout {{csrc balanced}}
    test:
      suffix: bccoo
      args: -mat_type bccoo -mat_bccoo_compression {{tuples simd csr}}
      nsize: 1
    test:
      suffix: default
      args: -mat_type bccoo -mat_form_store_at_once false
      nsize: 1
    test:
      suffix: gpu_default
      args: -mat_type csrccuda -mat_form_store_at_once false
      nsize: {{1 2}}

TEST*/
