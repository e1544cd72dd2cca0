static char help[] = "Matrices made from a matrix: duplicates, transposes, submatrices, products, copies through a file.\n\n";

#include "reference.h"
#include <petscviewer.h>

/* Each function returns a new matrix. It is called for A of the type tested, and for B of type AIJ, the reference; `how` says which of several it is */
typedef PetscErrorCode (*Derive)(Mat, PetscInt how, Mat *);

/* A duplicate without values is filled afterwards */
static PetscErrorCode Duplicate(Mat A, PetscInt option, Mat *D)
{
  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, (MatDuplicateOption)option, D));
  if (option != MAT_COPY_VALUES) PetscCall(MatAXPY(*D, option == MAT_SHARE_NONZERO_PATTERN ? -2 : 3, A, SAME_NONZERO_PATTERN));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  NEW,
  AGAIN,
  INPLACE,
  HERMITIAN
} Transposed;

static PetscErrorCode Transpose(Mat A, PetscInt how, Mat *D)
{
  PetscFunctionBegin;
  if (how == INPLACE) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, D));
  PetscCall((how == HERMITIAN ? MatHermitianTranspose : MatTranspose)(how == INPLACE ? *D : A, how == INPLACE ? MAT_INPLACE_MATRIX : MAT_INITIAL_MATRIX, D));
  if (how == AGAIN) {
    PetscCall(MatScale(*D, 5));
    PetscCall(MatTranspose(A, MAT_REUSE_MATRIX, D));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every second row, columns from the first third on */
static PetscErrorCode SubMatrix(Mat A, PetscInt how, Mat *D)
{
  PetscInt first, last, cfirst, clast, n;
  IS       rows, cols;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatGetOwnershipRangeColumn(A, &cfirst, &clast));
  cfirst = PetscMin(PetscMax(cfirst, n / 3), clast);
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, (last - first) / 2, first, 2, &rows));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, clast - cfirst, cfirst, 1, &cols));
  PetscCall(MatCreateSubMatrix(A, rows, cols, MAT_INITIAL_MATRIX, D));
  PetscCall(MatScale(*D, 7));
  PetscCall(MatCreateSubMatrix(A, rows, cols, MAT_REUSE_MATRIX, D));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Permuted(Mat A, PetscInt how, Mat *D)
{
  PetscInt first, last, cfirst, clast, *r, *c;
  IS       rows, cols;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatGetOwnershipRangeColumn(A, &cfirst, &clast));
  PetscCall(PetscMalloc2(last - first, &r, clast - cfirst, &c));
  for (PetscInt k = first; k < last; k++) r[k - first] = last - 1 - (k - first);
  for (PetscInt k = cfirst; k < clast; k++) c[k - cfirst] = clast - 1 - (k - cfirst);
  PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, last - first, r, PETSC_COPY_VALUES, &rows));
  PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, clast - cfirst, c, PETSC_COPY_VALUES, &cols));
  PetscCall(ISSetPermutation(rows));
  PetscCall(ISSetPermutation(cols));
  PetscCall(MatPermute(A, rows, cols, D));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&cols));
  PetscCall(PetscFree2(r, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sparse times sparse, twice into the same matrix */
static PetscErrorCode Gram(Mat A, PetscInt how, Mat *D)
{
  PetscFunctionBegin;
  PetscCall(MatTransposeMatMult(A, A, MAT_INITIAL_MATRIX, PETSC_CURRENT, D));
  PetscCall(MatTransposeMatMult(A, A, MAT_REUSE_MATRIX, PETSC_CURRENT, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Squared(Mat A, PetscInt how, Mat *D)
{
  Mat T;

  PetscFunctionBegin;
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatMatMult(A, T, MAT_INITIAL_MATRIX, PETSC_CURRENT, D));
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Galerkin(Mat A, PetscInt how, Mat *D)
{
  Mat G;

  PetscFunctionBegin;
  PetscCall(Squared(A, 0, &G));
  PetscCall(MatPtAP(G, A, MAT_INITIAL_MATRIX, PETSC_CURRENT, D));
  PetscCall(MatDestroy(&G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes a file and reads it into a new matrix of the same type */
static PetscErrorCode ThroughFile(Mat A, PetscInt how, Mat *D)
{
  MatType     type;
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "derived.bin", FILE_MODE_WRITE, &viewer));
  PetscCall(MatView(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "derived.bin", FILE_MODE_READ, &viewer));
  PetscCall(MatGetType(A, &type));
  PetscCall(MatCreate(PETSC_COMM_WORLD, D));
  PetscCall(MatSetType(*D, type));
  PetscCall(MatLoad(*D, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct {
  const char *name;
  Derive      derive;
  PetscInt    how;
  PetscBool   keepstype; /* the new matrix must have the type of the old one; in parallel, PETSc permutes into plain AIJ */
  PetscBool   exact;     /* its entries must be bitwise the same; parallel products add in the order of arrival */
} derivations[] = {
  {"MatDuplicate",                     Duplicate,   MAT_COPY_VALUES,           PETSC_TRUE,  PETSC_TRUE },
  {"MatDuplicate without values",      Duplicate,   MAT_DO_NOT_COPY_VALUES,    PETSC_TRUE,  PETSC_TRUE },
  {"MatDuplicate sharing the pattern", Duplicate,   MAT_SHARE_NONZERO_PATTERN, PETSC_TRUE,  PETSC_TRUE },
  {"MatTranspose",                     Transpose,   NEW,                       PETSC_TRUE,  PETSC_TRUE },
  {"MatTranspose, reused",             Transpose,   AGAIN,                     PETSC_TRUE,  PETSC_TRUE },
  {"MatTranspose in place",            Transpose,   INPLACE,                   PETSC_TRUE,  PETSC_TRUE },
  {"MatHermitianTranspose",            Transpose,   HERMITIAN,                 PETSC_TRUE,  PETSC_TRUE },
  {"MatCreateSubMatrix",               SubMatrix,   0,                         PETSC_TRUE,  PETSC_TRUE },
  {"MatPermute",                       Permuted,    0,                         PETSC_FALSE, PETSC_TRUE },
  {"MatTransposeMatMult of sparse",    Gram,        0,                         PETSC_FALSE, PETSC_FALSE},
  {"MatMatMult of sparse",             Squared,     0,                         PETSC_FALSE, PETSC_FALSE},
  {"MatPtAP",                          Galerkin,    0,                         PETSC_FALSE, PETSC_FALSE},
  {"MatView and MatLoad",              ThroughFile, 0,                         PETSC_TRUE,  PETSC_TRUE }
};

int main(int argc, char **argv)
{
  const PetscInt shapes[] = {31, 52, 74, 4}; /* in the table of shapes.c: many rows, many nonzeros, stripes, empty */
  PetscInt       bad      = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
    Reference ref;
    Mat       A, B;

    PetscCall(ShapesGet(shapes[s], &ref));
    PetscCall(ReferenceToMat(&ref, PETSC_COMM_WORLD, &A));
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(derivations); k++) {
      Mat         DA, DB;
      Reference   derived;
      const char *type, *oldtype;
      PetscBool   same;

      PetscCall((*derivations[k].derive)(A, derivations[k].how, &DA));
      PetscCall((*derivations[k].derive)(B, derivations[k].how, &DB));
      PetscCall(ReferenceCreateFromMat(derivations[k].name, DB, &derived));
      PetscCall(ReferenceCheckProducts(&derived, DA, &bad));
      if (derivations[k].exact) PetscCall(ReferenceCheckEntries(&derived, DA, 0.0, "the new matrix", &bad));
      PetscCall(ReferenceCheckEntries(&ref, A, 0.0, derivations[k].name, &bad));
      PetscCall(MatGetType(A, &oldtype));
      PetscCall(MatGetType(DA, &type));
      PetscCall(PetscStrcmp(type, oldtype, &same));
      if (derivations[k].keepstype && !same) {
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: the type is %s, was %s\n", derivations[k].name, type, oldtype));
        bad++;
      }
      PetscCall(ReferenceDestroy(&derived));
      PetscCall(MatDestroy(&DA));
      PetscCall(MatDestroy(&DB));
    }
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
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
    output_file: output/derived_1.out
    temporaries: derived.bin derived.bin.info
    nsize: {{1 2 4}}
    test:
      suffix: aij
      args: -mat_type aij
      nsize: 2
    test:
      suffix: ours
      args: -mat_type {{csrccuda bccoo}}
    test:
      suffix: default
      args: -mat_type {{csrccuda bccoo}} -mat_form_store_at_once false
      nsize: {{1 2}}
    test:
      suffix: gpu_default
      args: -mat_type csrccuda -mat_form_store_at_once false
      nsize: {{1 2}}

TEST*/
