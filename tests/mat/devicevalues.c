static char help[] = "Transposes, shifted and set diagonals and duplicates are those of aij, wherever the newest values are.\n\n";

#include "reference.h"
#include <petsc/private/petscimpl.h>

/* Where the newest values are, if the matrix can be on a device */
typedef enum {
  AS_ASSEMBLED,
  ON_DEVICE,
  ON_BOTH,
  BOUND,
  PLACES
} Place;
static const char *const PlaceNames[] = {"as assembled", "on the device", "on both", "bound to the host"};

/* A matrix and its twin of type aij */
typedef struct {
  const char *shape;
  Place       place;
  Mat         A, B;
} Pair;

static PetscInt bad = 0;

/* A has the entries, the products and the block sizes of B, and the type of the matrix that it was made from */
static PetscErrorCode Check(const Pair *from, Mat A, Mat B, const char what[])
{
  char      name[128];
  PetscInt  bs[4];
  PetscBool same;
  MatType   types[2];
  Reference ref;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s, %s, %s", from->shape, PlaceNames[from->place], what));
  PetscCall(ReferenceCreateFromMat(name, B, &ref));
  PetscCall(ReferenceCheckProducts(&ref, A, &bad));
  PetscCall(ReferenceCheckEntries(&ref, A, 0.0, "after products", &bad));
  PetscCall(ReferenceDestroy(&ref));
  PetscCall(MatGetType(A, &types[0]));
  PetscCall(MatGetType(from->A, &types[1]));
  PetscCall(PetscStrcmp(types[0], types[1], &same));
  PetscCall(MatGetBlockSizes(A, &bs[0], &bs[1]));
  PetscCall(MatGetBlockSizes(B, &bs[2], &bs[3]));
  if (!same || bs[0] != bs[2] || bs[1] != bs[3]) {
    bad++;
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: type %s of %s, blocks %" PetscInt_FMT " x %" PetscInt_FMT " where aij has %" PetscInt_FMT " x %" PetscInt_FMT "\n", name, types[0], types[1], bs[0], bs[1], bs[2], bs[3]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Multiplies both matrices by a power of two, which is exact. With a device, the newest values are there afterwards */
static PetscErrorCode Scale(Mat A, Mat B)
{
  PetscFunctionBegin;
  PetscCall(MatScale(A, -2));
  PetscCall(MatScale(B, -2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Put(Mat A, Mat B, Place place)
{
  PetscReal norm;

  PetscFunctionBegin;
  if (place != AS_ASSEMBLED) PetscCall(Scale(A, B));
  if (place == ON_BOTH) PetscCall(MatNorm(A, NORM_FROBENIUS, &norm)); /* reads the values on the host */
  PetscCall(MatBindToCPU(A, place == BOUND ? PETSC_TRUE : PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AllowNew(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets the first entry of each process on the host */
static PetscErrorCode SetFirst(Mat A)
{
  Mat          block = A;
  MatInfo      info;
  PetscBool    isseq;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  if (!isseq) PetscCall(MatMPIAIJGetSeqAIJ(A, &block, NULL, NULL));
  PetscCall(MatGetInfo(block, MAT_LOCAL, &info));
  PetscCall(MatSeqAIJGetArray(block, &a));
  if (info.nz_used > 0) a[0] = 0.625;
  PetscCall(MatSeqAIJRestoreArray(block, &a));
  PetscCall(PetscObjectStateIncrease((PetscObject)A)); /* for a parallel matrix: only the state of its block was increased */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets an entry that may be a new nonzero */
static PetscErrorCode SetNew(Mat A)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(AllowNew(A));
  PetscCall(MatSetValue(A, 0, n - 1, 0.625, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Transposes both matrices again, with `hermitian` conjugated */
static PetscErrorCode Again(const Pair *p, PetscBool hermitian, Mat *C, Mat *D, const char what[])
{
  PetscFunctionBegin;
  PetscCall((hermitian ? MatHermitianTranspose : MatTranspose)(p->A, MAT_REUSE_MATRIX, C));
  PetscCall((hermitian ? MatHermitianTranspose : MatTranspose)(p->B, MAT_REUSE_MATRIX, D));
  PetscCall(Check(p, *C, *D, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Transposes(const Pair *p, PetscBool hermitian)
{
  PetscInt    m, n;
  PetscMPIInt size;
  Mat         C, D;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatGetSize(p->A, &m, &n));
  PetscCall((hermitian ? MatHermitianTranspose : MatTranspose)(p->A, MAT_INITIAL_MATRIX, &C));
  PetscCall((hermitian ? MatHermitianTranspose : MatTranspose)(p->B, MAT_INITIAL_MATRIX, &D));
  PetscCall(Check(p, C, D, "transpose"));
  PetscCall(Scale(p->A, p->B));
  PetscCall(Again(p, hermitian, &C, &D, "transpose again"));
  PetscCall(SetFirst(p->A));
  PetscCall(SetFirst(p->B));
  PetscCall(Again(p, hermitian, &C, &D, "transpose again of a value set on the host"));
  PetscCall(Scale(p->A, p->B));
  PetscCall(SetFirst(C));
  PetscCall(SetFirst(D));
  PetscCall(Again(p, hermitian, &C, &D, "transpose again, where one was set"));
  PetscCall(Scale(p->A, p->B));
  PetscCall(MatBindToCPU(C, PETSC_TRUE));
  PetscCall(Again(p, hermitian, &C, &D, "transpose again, bound to the host"));
  PetscCall(MatBindToCPU(C, PETSC_FALSE));
  PetscCall(Check(p, C, D, "transpose no longer bound"));
  PetscCall(Scale(p->A, p->B));
  PetscCall(Again(p, hermitian, &C, &D, "transpose again, no longer bound"));
  if (size == 1 && m && n) { /* in parallel it is an error of PETSc's */
    PetscCall(SetNew(p->A));
    PetscCall(SetNew(p->B));
    PetscCall(Again(p, hermitian, &C, &D, "transpose again of a new pattern"));
    PetscCall(Scale(p->A, p->B));
    PetscCall(Again(p, hermitian, &C, &D, "transpose again of what had a new pattern"));
    PetscCall(SetNew(C));
    PetscCall(SetNew(D));
  }
  for (int k = 0; k < 2 && (size == 1 || m == n); k++) {
    PetscCall(Put(C, D, p->place));
    PetscCall((hermitian ? MatHermitianTranspose : MatTranspose)(C, MAT_INPLACE_MATRIX, &C));
    PetscCall((hermitian ? MatHermitianTranspose : MatTranspose)(D, MAT_INPLACE_MATRIX, &D));
    PetscCall(Check(p, C, D, k ? "in place and back" : "in place"));
  }
  PetscCall(Put(C, D, ON_DEVICE));
  PetscCall(Check(p, C, D, "what was transposed in place, scaled"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetDiagonals(const Pair *p, PetscBool host, InsertMode mode)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    Mat      A = k ? p->B : p->A;
    Vec      d;
    PetscInt m;

    if (host) {
      PetscCall(MatGetLocalSize(A, &m, NULL));
      PetscCall(VecCreate(PETSC_COMM_WORLD, &d));
      PetscCall(VecSetSizes(d, m, PETSC_DETERMINE));
      PetscCall(VecSetType(d, VECSTANDARD));
    } else PetscCall(MatCreateVecs(A, NULL, &d));
    PetscCall(ReferenceFillVec(d, 41));
    PetscCall(MatDiagonalSet(A, d, mode));
    PetscCall(VecDestroy(&d));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Diagonals(const Pair *p)
{
  PetscInt  m, n;
  PetscBool congruent;

  PetscFunctionBegin;
  PetscCall(MatGetSize(p->A, &m, &n));
  PetscCall(MatHasCongruentLayouts(p->A, &congruent));
  if (!m || m > n || !congruent) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AllowNew(p->A));
  PetscCall(AllowNew(p->B));
  for (int k = 0; k < 2; k++) { /* at first entries may be missing */
    PetscCall(MatShift(p->A, 2.5));
    PetscCall(MatShift(p->B, 2.5));
    PetscCall(Check(p, p->A, p->B, k ? "shifted again" : "shifted"));
    PetscCall(Put(p->A, p->B, p->place));
  }
  for (int k = 0; k < 4; k++) {
    const char *const names[] = {"diagonal added to", "diagonal set", "diagonal added to by a vector on the host", "diagonal set by a vector on the host"};

    PetscCall(SetDiagonals(p, k < 2 ? PETSC_FALSE : PETSC_TRUE, k % 2 ? INSERT_VALUES : ADD_VALUES));
    PetscCall(Check(p, p->A, p->B, names[k]));
    PetscCall(Put(p->A, p->B, p->place));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Duplicates(const Pair *p)
{
  const MatDuplicateOption options[] = {MAT_COPY_VALUES, MAT_DO_NOT_COPY_VALUES, MAT_SHARE_NONZERO_PATTERN};
  Mat                      C, D;

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    PetscCall(Put(p->A, p->B, p->place));
    PetscCall(MatDuplicate(p->A, options[k], &C));
    PetscCall(MatDuplicate(p->B, options[k], &D));
    PetscCall(Check(p, C, D, k ? "duplicate without values" : "duplicate"));
    if (k) {
      PetscCall(MatCopy(p->A, C, SAME_NONZERO_PATTERN));
      PetscCall(MatCopy(p->B, D, SAME_NONZERO_PATTERN));
      PetscCall(Check(p, C, D, "duplicate, filled"));
    }
    PetscCall(Scale(C, D));
    PetscCall(Check(p, C, D, "duplicate, scaled"));
    PetscCall(Check(p, p->A, p->B, "original"));
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&D));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt count, stride = 1;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-stride", &stride, NULL));
  PetscCall(ShapesCount(&count));
  for (PetscInt k = 0; k < count; k += stride) {
    Reference ref;

    PetscCall(ShapesGet(k, &ref));
    for (int place = 0; place < PLACES; place++) {
      for (int what = 0; what < 4; what++) {
        Pair p = {.shape = ref.name, .place = (Place)place};

        PetscCall(ReferenceToMat(&ref, PETSC_COMM_WORLD, &p.A));
        PetscCall(MatConvert(p.A, MATAIJ, MAT_INITIAL_MATRIX, &p.B));
        PetscCall(Put(p.A, p.B, p.place));
        switch (what) {
        case 0:
        case 1:
          PetscCall(Transposes(&p, (PetscBool)what));
          break;
        case 2:
          PetscCall(Diagonals(&p));
          break;
        default:
          PetscCall(Duplicates(&p));
          break;
        }
        PetscCall(MatDestroy(&p.A));
        PetscCall(MatDestroy(&p.B));
      }
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
    output_file: output/devicevalues_1.out
    nsize: {{1 2}}
    test:
      suffix: aij
      args: -mat_type aij -stride 5
    test:
      suffix: csrccuda
      args: -mat_type csrccuda -stride 5 -device_enable none -options_left 0
    test:
      suffix: default
      args: -mat_type csrccuda -stride 9 -device_enable none -options_left 0 -mat_form_store_at_once false
      nsize: 1
    # each shape is stored anew on the device some 150 times, and two processes share it by time slices: few shapes, square ones among them
    test:
      suffix: gpu
      args: -mat_type csrccuda -stride 38
    test:
      suffix: gpu_default
      args: -mat_type csrccuda -stride 38 -mat_form_store_at_once false
      nsize: 1

TEST*/
