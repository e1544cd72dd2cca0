static char help[] = "After every way of changing a matrix the next products see the change.\n\n";

#include "reference.h"
#include "sys/petscolder.h"

/*
  Each change is applied to A, of the type tested, and to B, a plain AIJ matrix, the reference for products of A. Some changes are
  made before the first product, most after products that have built the stored form.
*/
#define ROWS 300
#define COLS 310

typedef PetscErrorCode (*Change)(Mat);

static PetscErrorCode Finish(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds to or overwrites entries of every third row; these are new nonzeros where an earlier change removed them */
static PetscErrorCode SetBand(Mat A, PetscInt s, InsertMode mode)
{
  PetscInt first, last, n;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt i = first; i < last; i++) {
    if (i % 3) continue;
    for (PetscInt j = PetscMax(0, i - 2); j <= PetscMin(n - 1, i + 2); j++) PetscCall(MatSetValue(A, i, j, ReferenceValue(s, 1000 * i + j), mode));
  }
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Nothing(Mat A)
{
  PetscFunctionBegin;
  (void)A;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Insert(Mat A)
{
  PetscFunctionBegin;
  PetscCall(SetBand(A, 21, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Add(Mat A)
{
  PetscFunctionBegin;
  PetscCall(SetBand(A, 22, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets one value, from a process that does not own it if there is one */
static PetscErrorCode InsertFromElsewhere(Mat A)
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
static PetscErrorCode NewPlaces(Mat A)
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
static PetscErrorCode OtherPlaces(Mat A)
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

static PetscErrorCode ThreeInRow(Mat A, PetscInt shift)
{
  PetscInt first, last, n;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatGetSize(A, NULL, &n));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt k = 0; k < 3; k++) PetscCall(MatSetValue(A, i, (5 * i + 31 * k + shift) % n, ReferenceValue(31, 3 * i + k), INSERT_VALUES));
  }
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Preallocate(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJSetPreallocation(A, 4, NULL));
  PetscCall(MatMPIAIJSetPreallocation(A, 4, NULL, 4, NULL));
  PetscCall(ThreeInRow(A, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After the former change, in a sequential matrix: as many nonzeros, in the same arrays; only the nonzero state shows the change */
static PetscErrorCode PreallocateAgain(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatResetPreallocation(A));
  PetscCall(ThreeInRow(A, 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Scale(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatScale(A, -1.25));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiagonalScale(Mat A)
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

static PetscErrorCode ZeroRows(Mat A)
{
  const PetscInt rows[] = {3, 100, 299};
  PetscMPIInt    rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &rank));
  PetscCall(MatZeroRows(A, rank ? 0 : 3, rows, 0, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keeps the pattern */
static PetscErrorCode ZeroRowsKeep(Mat A)
{
  const PetscInt rows[] = {4, 101};
  PetscMPIInt    rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &rank));
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  PetscCall(MatZeroRows(A, rank ? 0 : 2, rows, 2, NULL, NULL));
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ZeroEntries(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
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

static PetscErrorCode GetArray(Mat A)
{
  Mat      blocks[2];
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(Blocks(A, &n, blocks));
  for (PetscInt k = 0; k < n; k++) {
    MatInfo      info;
    PetscScalar *a;

    PetscCall(MatGetInfo(blocks[k], MAT_LOCAL, &info));
    PetscCall(MatSeqAIJGetArray(blocks[k], &a));
    for (PetscInt l = 0; l < (PetscInt)info.nz_used; l++) a[l] += ReferenceValue(27, l);
    PetscCall(MatSeqAIJRestoreArray(blocks[k], &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetArrayWrite(Mat A)
{
  Mat      blocks[2];
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(Blocks(A, &n, blocks));
  for (PetscInt k = 0; k < n; k++) {
    MatInfo      info;
    PetscScalar *a;

    PetscCall(MatGetInfo(blocks[k], MAT_LOCAL, &info));
    PetscCall(MatSeqAIJGetArrayWrite(blocks[k], &a));
    for (PetscInt l = 0; l < (PetscInt)info.nz_used; l++) a[l] = ReferenceValue(28, l);
    PetscCall(MatSeqAIJRestoreArrayWrite(blocks[k], &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reading changes nothing */
static PetscErrorCode GetArrayRead(Mat A)
{
  Mat                blocks[2];
  PetscInt           n;
  const PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(Blocks(A, &n, blocks));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(MatSeqAIJGetArrayRead(blocks[k], &a));
    PetscCall(MatSeqAIJRestoreArrayRead(blocks[k], &a));
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

static PetscErrorCode AXPY(Mat A, MatStructure str)
{
  Mat Y;

  PetscFunctionBegin;
  PetscCall(Other(A, str, &Y));
  PetscCall(MatAXPY(A, 0.75, Y, str));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AXPYSame(Mat A)
{
  PetscFunctionBegin;
  PetscCall(AXPY(A, SAME_NONZERO_PATTERN));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AXPYSubset(Mat A)
{
  PetscFunctionBegin;
  PetscCall(AXPY(A, SUBSET_NONZERO_PATTERN));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AXPYDifferent(Mat A)
{
  PetscFunctionBegin;
  PetscCall(AXPY(A, DIFFERENT_NONZERO_PATTERN));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AYPX(Mat A)
{
  Mat Y;

  PetscFunctionBegin;
  PetscCall(Other(A, SAME_NONZERO_PATTERN, &Y));
  PetscCall(MatAYPX(A, -0.5, Y, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopySame(Mat A)
{
  Mat Y;

  PetscFunctionBegin;
  PetscCall(Other(A, SAME_NONZERO_PATTERN, &Y));
  PetscCall(MatCopy(Y, A, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopySubset(Mat A)
{
  Mat Y;

  PetscFunctionBegin;
  PetscCall(Other(A, SUBSET_NONZERO_PATTERN, &Y));
  PetscCall(MatCopy(Y, A, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Shift(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatShift(A, 2.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiagonalSet(Mat A)
{
  Vec d;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &d));
  PetscCall(ReferenceFillVec(d, 31));
  PetscCall(MatDiagonalSet(A, d, INSERT_VALUES));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Conjugate(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatConjugate(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RealPart(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatRealPart(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Random values, the same for every matrix of this shape */
static PetscErrorCode SetRandom(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetRandom(A, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetBlocked(Mat A)
{
  PetscInt    first, last;
  PetscScalar v = 0.375;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i += 5) PetscCall(MatSetValuesBlocked(A, 1, &i, 1, &i, &v, ADD_VALUES));
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StoreChangeRetrieve(Mat A)
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

static PetscErrorCode EliminateZeros(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatEliminateZeros(A, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zeros half of the columns away, with more than one process in the off-diagonal block */
static PetscErrorCode ZerosElsewhere(Mat A)
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
static PetscErrorCode ZeroBlocks(Mat A)
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

/* Drops small entries from the pattern */
static PetscErrorCode Filter(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatFilter(A, 0.25, PETSC_TRUE, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A pattern and values by coordinates, with duplicates and with entries of other processes; then only values */
static PetscErrorCode COO(Mat A)
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
} changes[] = {
  {"nothing",                        Nothing            },
  {"MatSetValues insert",            Insert             },
  {"MatSetValues add",               Add                },
  {"MatSetValues from elsewhere",    InsertFromElsewhere},
  {"MatSeqAIJGetArray",              GetArray           },
  {"MatSeqAIJGetArrayRead",          GetArrayRead       },
  {"MatSeqAIJGetArrayWrite",         GetArrayWrite      },
  {"MatScale",                       Scale              },
  {"MatDiagonalScale",               DiagonalScale      },
  {"MatAXPY same",                   AXPYSame           },
  {"MatAXPY subset",                 AXPYSubset         },
  {"MatAXPY different",              AXPYDifferent      },
  {"MatAYPX",                        AYPX               },
  {"MatCopy same",                   CopySame           },
  {"MatShift",                       Shift              },
  {"MatDiagonalSet",                 DiagonalSet        },
  {"MatStoreValues, RetrieveValues", StoreChangeRetrieve},
  {"MatZeroRows",                    ZeroRows           },
  {"MatZeroRows keeping places",     ZeroRowsKeep       },
  {"MatEliminateZeros",              EliminateZeros     },
  {"zeros elsewhere",                ZerosElsewhere     },
  {"MatEliminateZeros of them",      EliminateZeros     },
  {"new places",                     NewPlaces          },
  {"MatCopy from part",              CopySubset         },
  {"MatSetValues add again",         Add                },
  {"MatConjugate",                   Conjugate          },
  {"MatRealPart",                    RealPart           },
  {"MatSetValuesBlocked",            SetBlocked         },
  {"MatSetRandom",                   SetRandom          },
  {"MatFilter",                      Filter             },
  {"MatZeroEntries",                 ZeroEntries        },
  {"MatEliminateZeros of blocks",    ZeroBlocks         },
  {"other places",                   OtherPlaces        },
  {"preallocation",                  Preallocate        },
  {"preallocation again",            PreallocateAgain   },
  {"MatSetValuesCOO",                COO                },
  {"MatScale after COO",             Scale              }
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
  PetscCall(ReferenceSetPattern());
  /* all changes, one after the other, with products between them */
  PetscCall(Start(PETSC_COMM_WORLD, NULL, &A));
  PetscCall(Start(PETSC_COMM_WORLD, MATAIJ, &B));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(changes); k++) {
    PetscCall((*changes[k].change)(A));
    PetscCall((*changes[k].change)(B));
    PetscCall(Check(changes[k].name, A, B, &bad));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  /* each change on a new matrix, before its first product */
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(changes); k++) {
    char name[128];

    PetscCall(Start(PETSC_COMM_WORLD, NULL, &A));
    PetscCall(Start(PETSC_COMM_WORLD, MATAIJ, &B));
    PetscCall((*changes[k].change)(A));
    PetscCall((*changes[k].change)(B));
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
    nsize: {{1 2 3 4}}
    test:
      suffix: aij
      args: -mat_type aij
      nsize: {{1 3}}
    test:
      suffix: csrccuda
      args: -mat_type csrccuda
    test:
      suffix: gather
      args: -mat_type csrccuda -exchange_pattern gather
      nsize: {{2 3}}
    test:
      suffix: gpu
      args: -mat_type csrccuda -mat_csrc_layout {{csrc balanced}}
    test:
      suffix: gpu_copies
      args: -mat_type csrccuda -mat_form_copies 2 -mat_csrc_reproducible {{0 1}}
    test:
      suffix: copies
      args: -mat_type bccoo -mat_form_copies 2
    test:
      suffix: bccoo
      args: -mat_type bccoo -mat_bccoo_compression {{none tuples simd csr}}
    test:
      suffix: rent
      args: -mat_type {{csrccuda bccoo}} -mat_form_store_at_once false

TEST*/
