static char help[] = "After every way of changing a matrix the next products see the change.\n\n";

#include "reference.h"
#include "sys/petscolder.h"

/*
  Each change is applied to A, of the type tested, and to B, a plain AIJ matrix, the reference for products of A. Some changes are
  made before the first product, most after products that have built the stored form. The table `changes` has them in this order; they are

    single calls       Call: scale, shift, conjugate, real part, random, zero, eliminate zeros, filter
    values or places   SetBand, InsertFromElsewhere, SetBlocked, NewPlaces, OtherPlaces, Preallocate, ZerosElsewhere, ZeroRows, COO
    arrays             GetArray, StoreChangeRetrieve, ZeroBlocks
    a vector           DiagonalScale, DiagonalSet
    another matrix     AXPY, AYPX, Copy; Replaced, beside the table
*/
#define ROWS 2000
#define COLS 2010

typedef PetscErrorCode (*Change)(Mat, PetscInt); /* the second argument says which of several changes */

static PetscErrorCode Finish(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds to or overwrites entries of every third row; these are new nonzeros where an earlier change removed them */
static PetscErrorCode SetBand(Mat A, PetscInt mode)
{
  PetscInt first, last, n;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt i = first; i < last; i++) {
    if (i % 3) continue;
    for (PetscInt j = PetscMax(0, i - 2); j <= PetscMin(n - 1, i + 2); j++) PetscCall(MatSetValue(A, i, j, ReferenceValue(mode == ADD_VALUES ? 22 : 21, 1000 * i + j), (InsertMode)mode));
  }
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets one value, from a process that does not own it if there is one */
static PetscErrorCode InsertFromElsewhere(Mat A, PetscInt which)
{
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &rank));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  if (rank == size - 1) PetscCall(MatSetValue(A, 0, 1, 5, INSERT_VALUES));
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New nonzeros, also in columns that are new for a process */
static PetscErrorCode NewPlaces(Mat A, PetscInt which)
{
  PetscInt first, last, n;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt i = first; i < last; i += 7) PetscCall(MatSetValue(A, i, n - 1 - i % n, ReferenceValue(23, i), ADD_VALUES));
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same number of nonzeros in other places */
static PetscErrorCode OtherPlaces(Mat A, PetscInt which)
{
  PetscInt first, last, n;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatResetPreallocation(A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatZeroEntries(A));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt k = 0; k < 4; k++) PetscCall(MatSetValue(A, i, (7 * i + 31 * k) % n, ReferenceValue(24, 4 * i + k), INSERT_VALUES));
  }
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Three nonzeros in a row. When this is done again, shifted, a sequential matrix has as many nonzeros in the same arrays; only the nonzero state shows the change */
static PetscErrorCode Preallocate(Mat A, PetscInt shift)
{
  PetscInt first, last, n;

  PetscFunctionBegin;
  if (shift) PetscCall(MatResetPreallocation(A));
  else {
    PetscCall(MatSeqAIJSetPreallocation(A, 4, NULL));
    PetscCall(MatMPIAIJSetPreallocation(A, 4, NULL, 4, NULL));
  }
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatGetSize(A, NULL, &n));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt k = 0; k < 3; k++) PetscCall(MatSetValue(A, i, (5 * i + 31 * k + shift) % n, ReferenceValue(31, 3 * i + k), INSERT_VALUES));
  }
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  NOTHING,
  SCALE,
  SHIFT,
  CONJUGATE,
  REALPART,
  RANDOM, /* the same values for every matrix of this shape */
  ZERO,
  ELIMINATE, /* zeros from the pattern */
  FILTER     /* small entries, too */
} Single;

/* What is a single call */
static PetscErrorCode Call(Mat A, PetscInt single)
{
  PetscFunctionBegin;
  switch (single) {
  case SCALE:
    PetscCall(MatScale(A, -1.25));
    break;
  case SHIFT:
    PetscCall(MatShift(A, 2.5));
    break;
  case CONJUGATE:
    PetscCall(MatConjugate(A));
    break;
  case REALPART:
    PetscCall(MatRealPart(A));
    break;
  case RANDOM:
    PetscCall(MatSetRandom(A, NULL));
    break;
  case ZERO:
    PetscCall(MatZeroEntries(A));
    break;
  case ELIMINATE:
    PetscCall(MatEliminateZeros(A, PETSC_FALSE));
    break;
  case FILTER:
    PetscCall(MatFilter(A, 0.25, PETSC_TRUE, PETSC_TRUE));
    break;
  default:
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiagonalScale(Mat A, PetscInt which)
{
  Vec l, r;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &r, &l));
  PetscCall(ReferenceFillVec(l, 25));
  PetscCall(ReferenceFillVec(r, 26));
  PetscCall(MatDiagonalScale(A, l, r));
  PetscCall(MatDiagonalScale(A, NULL, r));
  PetscCall(VecDestroy(&l));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ZeroRows(Mat A, PetscInt keep)
{
  const PetscInt rows[2][3] = {
    {3, 100, ROWS - 1},
    {4, 101, ROWS / 2}
  };
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &rank));
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, (PetscBool)keep));
  PetscCall(MatZeroRows(A, rank ? 0 : 3, rows[keep], 2 * (PetscReal)keep, NULL, NULL));
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sequential matrices with the entries of A: itself or its blocks */
static PetscErrorCode Blocks(Mat A, PetscInt *n, Mat blocks[2])
{
  PetscBool isseq;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  *n        = isseq ? 1 : 2;
  blocks[0] = A;
  if (!isseq) PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  READ, /* changes nothing */
  CHANGE,
  WRITE
} Access;

static PetscErrorCode GetArray(Mat A, PetscInt access)
{
  Mat      blocks[2];
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(Blocks(A, &n, blocks));
  for (PetscInt k = 0; k < n; k++) {
    MatInfo            info;
    PetscScalar       *a;
    const PetscScalar *read;

    PetscCall(MatGetInfo(blocks[k], MAT_LOCAL, &info));
    if (access == READ) {
      PetscCall(MatSeqAIJGetArrayRead(blocks[k], &read));
      PetscCall(MatSeqAIJRestoreArrayRead(blocks[k], &read));
      continue;
    }
    PetscCall((access == WRITE ? MatSeqAIJGetArrayWrite : MatSeqAIJGetArray)(blocks[k], &a));
    for (PetscInt l = 0; l < (PetscInt)info.nz_used; l++) a[l] = (access == WRITE ? 0 : a[l]) + ReferenceValue(27, l);
    PetscCall((access == WRITE ? MatSeqAIJRestoreArrayWrite : MatSeqAIJRestoreArray)(blocks[k], &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y of A's type with A's pattern, part of it (every second row) or another one */
static PetscErrorCode Other(Mat A, MatStructure str, Mat *Y)
{
  PetscInt first, last, n;
  MatType  type;

  PetscFunctionBegin;
  if (str == SAME_NONZERO_PATTERN) {
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, Y));
    PetscCall(MatScale(*Y, 3));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), Y));
  PetscCall(MatSetSizes(*Y, PETSC_DECIDE, PETSC_DECIDE, ROWS, COLS));
  PetscCall(MatGetType(A, &type));
  PetscCall(MatSetType(*Y, type));
  PetscCall(MatSetUp(*Y));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    if (str == SUBSET_NONZERO_PATTERN) {
      const PetscInt *j;
      PetscInt        len;

      if (i % 2) continue;
      PetscCall(MatGetRow(A, i, &len, &j, NULL));
      for (PetscInt k = 0; k < len; k += 2) PetscCall(MatSetValue(*Y, i, j[k], ReferenceValue(29, 10 * i + k), INSERT_VALUES));
      PetscCall(MatRestoreRow(A, i, &len, &j, NULL));
    } else PetscCall(MatSetValue(*Y, i, (5 * i + 17) % n, ReferenceValue(30, i), INSERT_VALUES));
  }
  PetscCall(Finish(*Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AXPY(Mat A, PetscInt str)
{
  Mat Y;

  PetscFunctionBegin;
  PetscCall(Other(A, (MatStructure)str, &Y));
  PetscCall(MatAXPY(A, 0.75, Y, (MatStructure)str));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Copy(Mat A, PetscInt str)
{
  Mat Y;

  PetscFunctionBegin;
  PetscCall(Other(A, (MatStructure)str, &Y));
  PetscCall(MatCopy(Y, A, str == SAME_NONZERO_PATTERN ? SAME_NONZERO_PATTERN : DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AYPX(Mat A, PetscInt which)
{
  Mat Y;

  PetscFunctionBegin;
  PetscCall(Other(A, SAME_NONZERO_PATTERN, &Y));
  PetscCall(MatAYPX(A, -0.5, Y, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiagonalSet(Mat A, PetscInt which)
{
  Vec d;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &d));
  PetscCall(ReferenceFillVec(d, 31));
  PetscCall(MatDiagonalSet(A, d, INSERT_VALUES));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetBlocked(Mat A, PetscInt which)
{
  PetscInt    first, last;
  PetscScalar v = 0.375;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i += 5) PetscCall(MatSetValuesBlocked(A, 1, &i, 1, &i, &v, ADD_VALUES));
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StoreChangeRetrieve(Mat A, PetscInt which)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  PetscCall(MatStoreValues(A));
  PetscCall(MatScale(A, 17));
  PetscCall(MatRetrieveValues(A));
  PetscCall(MatScale(A, 0.5));
  PetscCall(MatRetrieveValues(A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zeros half of the columns away, with more than one process in the off-diagonal block */
static PetscErrorCode ZerosElsewhere(Mat A, PetscInt which)
{
  PetscInt first, last, n;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  for (PetscInt i = first; i < last; i += 3) PetscCall(MatSetValue(A, i, (i + n / 2) % n, 0, ADD_VALUES));
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Empties the off-diagonal block, which leaves the state of A as it was */
static PetscErrorCode ZeroBlocks(Mat A, PetscInt which)
{
  PetscInt n;
  Mat      blocks[2];

  PetscFunctionBegin;
  PetscCall(Blocks(A, &n, blocks));
  if (n == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatScale(blocks[n - 1], 0));
  PetscCall(MatEliminateZeros(blocks[n - 1], PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A pattern and values by coordinates, with duplicates and with entries of other processes; then only values */
static PetscErrorCode COO(Mat A, PetscInt which)
{
  PetscInt     first, last, m, n, count = 0, *i, *j;
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(PetscMalloc3(4 * (last - first), &i, 4 * (last - first), &j, 4 * (last - first), &v));
  for (PetscInt r = first; r < last; r++) {
    for (PetscInt k = 0; k < 4; k++) {
      i[count]   = k == 3 ? (r + m / 2) % m : r; /* a row far away */
      j[count]   = k == 2 ? (3 * r) % n : (3 * r + 11 * k) % n;
      v[count++] = (PetscReal)((r + k) % 8 - 3); /* sums are exact */
    }
  }
  PetscCall(MatSetPreallocationCOO(A, count, i, j));
  PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  PetscCall(MatSetValuesCOO(A, v, ADD_VALUES));
  PetscCall(PetscFree3(i, j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct {
  const char *name;
  Change      change;
  PetscInt    which;
} changes[] = {
  {"nothing",                        Call,                NOTHING                  },
  {"MatSetValues insert",            SetBand,             INSERT_VALUES            },
  {"MatSetValues add",               SetBand,             ADD_VALUES               },
  {"MatSetValues from elsewhere",    InsertFromElsewhere, 0                        },
  {"MatSeqAIJGetArray",              GetArray,            CHANGE                   },
  {"MatSeqAIJGetArrayRead",          GetArray,            READ                     },
  {"MatSeqAIJGetArrayWrite",         GetArray,            WRITE                    },
  {"MatScale",                       Call,                SCALE                    },
  {"MatDiagonalScale",               DiagonalScale,       0                        },
  {"MatAXPY same",                   AXPY,                SAME_NONZERO_PATTERN     },
  {"MatAXPY subset",                 AXPY,                SUBSET_NONZERO_PATTERN   },
  {"MatAXPY different",              AXPY,                DIFFERENT_NONZERO_PATTERN},
  {"MatAYPX",                        AYPX,                0                        },
  {"MatCopy same",                   Copy,                SAME_NONZERO_PATTERN     },
  {"MatShift",                       Call,                SHIFT                    },
  {"MatDiagonalSet",                 DiagonalSet,         0                        },
  {"MatStoreValues, RetrieveValues", StoreChangeRetrieve, 0                        },
  {"MatZeroRows",                    ZeroRows,            0                        },
  {"MatZeroRows keeping places",     ZeroRows,            1                        },
  {"MatEliminateZeros",              Call,                ELIMINATE                },
  {"zeros elsewhere",                ZerosElsewhere,      0                        },
  {"MatEliminateZeros of them",      Call,                ELIMINATE                },
  {"new places",                     NewPlaces,           0                        },
  {"MatCopy from part",              Copy,                SUBSET_NONZERO_PATTERN   },
  {"MatSetValues add again",         SetBand,             ADD_VALUES               },
  {"MatConjugate",                   Call,                CONJUGATE                },
  {"MatRealPart",                    Call,                REALPART                 },
  {"MatSetValuesBlocked",            SetBlocked,          0                        },
  {"MatSetRandom",                   Call,                RANDOM                   },
  {"MatFilter",                      Call,                FILTER                   },
  {"MatZeroEntries",                 Call,                ZERO                     },
  {"MatEliminateZeros of blocks",    ZeroBlocks,          0                        },
  {"other places",                   OtherPlaces,         0                        },
  {"preallocation",                  Preallocate,         0                        },
  {"preallocation again",            Preallocate,         3                        },
  {"MatSetValuesCOO",                COO,                 0                        },
  {"MatScale after COO",             Call,                SCALE                    }
};

/* Odd rows have the diagonal, even rows a band: the diagonal exists for MatShift() and MatDiagonalSet() */
static PetscErrorCode Start(MPI_Comm comm, MatType type, Mat *A)
{
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, ROWS, COLS));
  if (type) PetscCall(MatSetType(*A, type));
  else PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt j = PetscMax(0, i - 2); j <= PetscMin(COLS - 1, i + 2); j++) PetscCall(MatSetValue(*A, i, j, ReferenceValue(20, 1000 * i + j), INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, 0, ReferenceValue(20, i), INSERT_VALUES));
  }
  PetscCall(Finish(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(const char name[], Mat A, Mat B, PetscInt *bad)
{
  Reference    ref;
  PetscMemType mtype;

  PetscFunctionBegin;
  PetscCall(ReferenceCreateFromMat(name, B, &ref));
  PetscCall(ReferenceCheckProducts(&ref, A, bad));
  PetscCall(MatGetCurrentMemType(A, &mtype)); /* a device rounds once in a product and sum (FMA), the host twice */
  PetscCall(ReferenceCheckEntries(&ref, A, PetscMemTypeDevice(mtype) ? 100 * PETSC_MACHINE_EPSILON : 0.0, "after the products", bad));
  PetscCall(ReferenceDestroy(&ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A gets the contents of a matrix that has had products, by MatHeaderReplace(); A's state increases further and passes that of the other */
static PetscErrorCode Replaced(PetscInt *bad)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < 14; k++) {
    const PetscInt steps = k / 2;
    char           name[128];
    Mat            A, B, C;

    PetscCall(Start(PETSC_COMM_WORLD, NULL, &A));
    PetscCall(Start(PETSC_COMM_WORLD, NULL, &C));
    PetscCall(Start(PETSC_COMM_WORLD, MATAIJ, &B));
    for (PetscInt l = 0; l < 4; l++) PetscCall(MatScale(C, 0.5));
    PetscCall(MatScale(B, 0.0625));
    if (k % 2) PetscCall(Finish(C)); /* increases the state by one; a change increases it by two */
    PetscCall(Check("to replace another", C, B, bad));
    PetscCall(MatHeaderReplace(A, &C));
    for (PetscInt l = 0; l < steps; l++) {
      PetscCall(MatScale(A, -2));
      PetscCall(MatScale(B, -2));
    }
    PetscCall(PetscSNPrintf(name, sizeof(name), "MatHeaderReplace and %" PetscInt_FMT " changes", steps));
    PetscCall(Check(name, A, B, bad));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt bad = 0;
  Mat      A, B;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(ReferenceSetTestValues());
  /* all changes, one after the other, with products between them */
  PetscCall(Start(PETSC_COMM_WORLD, NULL, &A));
  PetscCall(Start(PETSC_COMM_WORLD, MATAIJ, &B));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(changes); k++) {
    PetscCall((*changes[k].change)(A, changes[k].which));
    PetscCall((*changes[k].change)(B, changes[k].which));
    PetscCall(Check(changes[k].name, A, B, &bad));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  /* each change on a new matrix, before its first product */
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(changes); k++) {
    char name[128];

    PetscCall(Start(PETSC_COMM_WORLD, NULL, &A));
    PetscCall(Start(PETSC_COMM_WORLD, MATAIJ, &B));
    PetscCall((*changes[k].change)(A, changes[k].which));
    PetscCall((*changes[k].change)(B, changes[k].which));
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s first", changes[k].name));
    PetscCall(Check(name, A, B, &bad));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(Replaced(&bad));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d changes, ", (int)PETSC_STATIC_ARRAY_LENGTH(changes)));
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c

  testset:
    output_file: output/state_1.out
    nsize: {{1 3}}
    test:
      suffix: types
      args: -mat_type {{aij csrccuda}}
    test:
      suffix: gather
      args: -mat_type csrccuda -exchange_pattern gather
      nsize: {{2 3}}
    test:
      suffix: simd
      args: -mat_type bccoo
      nsize: {{1 2 3 4}}
    test:
      suffix: gpu
      nsize: {{1 2 3 4}}
      args: -mat_type csrccuda -mat_csrc_layout {{csrc balanced}}
    test:
      suffix: gpu_copies
      args: -mat_type csrccuda -mat_form_copies 2 -mat_csrc_reproducible {{0 1}}
    test:
      suffix: copies
      args: -mat_type bccoo -mat_form_copies 2
    test:
      suffix: bccoo
      args: -mat_type bccoo -mat_bccoo_compression {{tuples csr}}
    test:
      suffix: pieces
      args: -mat_type bccoo -pieces 3
    test:
      suffix: gpu_pieces
      args: -mat_type csrccuda -pieces 3
    # the default path: values and patterns change while products are left to the type underneath, and when the nonzeros are stored
    test:
      suffix: default
      args: -mat_type {{csrccuda bccoo}} -mat_form_store_at_once false
      nsize: {{1 2 3}}
    test:
      suffix: gpu_default
      args: -mat_type csrccuda -mat_form_store_at_once false
      nsize: {{1 2}}

TEST*/
