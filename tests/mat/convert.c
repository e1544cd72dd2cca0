static char help[] = "MatConvert() between our types and others: users' and internal names, new, in place and reused matrices.\n\n";

#include "reference.h"
#include <petsc/private/matimpl.h>

static PetscErrorCode CheckType(const Reference *ref, Mat A, MatType type, const char what[], PetscInt *bad)
{
  PetscBool   same, sameseq, samempi;
  const char *found;
  char        seq[64], mpi[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(seq, sizeof(seq), "seq%s", type));
  PetscCall(PetscSNPrintf(mpi, sizeof(mpi), "mpi%s", type));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, type, &same));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, seq, &sameseq));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, mpi, &samempi));
  if (!same && !sameseq && !samempi) {
    PetscCall(MatGetType(A, &found));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s: the type is %s, should be %s\n", ref->name, what, found, type));
    (*bad)++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Is A of the type wanted, does it hold the entries, and does it multiply as it should? */
static PetscErrorCode Check(const Reference *ref, Mat A, MatType type, const char what[], PetscInt *bad)
{
  Reference named = *ref;
  PetscBool isaij, ispeer;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(named.name, sizeof(named.name), "%s", what));
  PetscCall(CheckType(&named, A, type, what, bad));
  /* aijcusparse of PETSc 3.26.1 adds A^T x to the old contents of the output: its products are not checked */
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &ispeer, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  if (!ispeer) PetscCall(ReferenceCheckProducts(&named, A, bad));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &isaij, MATSEQAIJ, MATMPIAIJ, ""));
  if (isaij) PetscCall(ReferenceCheckEntries(&named, A, 0.0, what, bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckStep(const Reference *ref, Mat A, MatType type, MatType from, MatType to, const char step[], PetscInt *bad)
{
  char what[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s to %s, %s", from, to, step));
  PetscCall(Check(ref, A, type, what, bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Make(const Reference *ref, MatType type, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-mat_type", MATAIJ));
  PetscCall(ReferenceToMat(ref, PETSC_COMM_WORLD, A));
  PetscCall(PetscOptionsClearValue(NULL, "-mat_type"));
  PetscCall(MatConvert(*A, type, MAT_INPLACE_MATRIX, A));
  PetscCall(ReferenceMoveToDevice(ref, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Converts from one type to another by one name of each. The root is the common end of the sequential and parallel names, after seq
  and mpi, by which the resulting type is recognized. The matrix has had products before, so there is a form to be destroyed.
*/
static PetscErrorCode Between(const Reference *ref, MatType from, MatType fromroot, MatType to, MatType toroot, PetscInt *bad)
{
  Mat A, B, C;

  PetscFunctionBegin;
  PetscCall(Make(ref, from, &A));
  PetscCall(CheckStep(ref, A, fromroot, from, to, "before", bad));
  PetscCall(MatConvert(A, to, MAT_INITIAL_MATRIX, &B));
  PetscCall(CheckStep(ref, B, toroot, from, to, "new", bad));
  PetscCall(CheckStep(ref, A, fromroot, from, to, "the old one", bad));

  PetscCall(MatZeroEntries(B));
  PetscCall(MatConvert(A, to, MAT_REUSE_MATRIX, &B));
  PetscCall(CheckStep(ref, B, toroot, from, to, "reused", bad));
  PetscCall(MatDestroy(&B));

  C = A;
  PetscCall(MatConvert(A, to, MAT_INPLACE_MATRIX, &C));
  PetscCheck(A == C, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s to %s: not in place", from, to);
  PetscCall(CheckStep(ref, A, toroot, from, to, "in place", bad));
  /* and it can be used as the new type */
  PetscCall(MatScale(A, 2));
  PetscCall(MatScale(A, 0.5));
  PetscCall(CheckStep(ref, A, toroot, from, to, "in place and changed", bad));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Dense products that were prepared before A was converted in place; PETSc does not inform them */
static PetscErrorCode Prepared(const Reference *ref, MatType type, PetscInt *bad)
{
  const char *steps[] = {type, MATAIJ, type};
  char        what[128];
  PetscInt    m, n;
  Mat         A, X, U, Y, V;

  PetscFunctionBegin;
  PetscCall(Make(ref, type, &A));
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(ReferenceDenseCreate(PETSC_COMM_WORLD, n, ref->n, 3, PETSC_FALSE, &X));
  PetscCall(ReferenceDenseCreate(PETSC_COMM_WORLD, m, ref->m, 3, PETSC_FALSE, &U));
  for (PetscInt k = 0; k < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(steps); k++) {
    const MatReuse reuse = k ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX;

    PetscCall(MatConvert(A, steps[k], MAT_INPLACE_MATRIX, &A));
    PetscCall(ReferenceDenseFill(X, 5 + k));
    PetscCall(ReferenceDenseFill(U, 10 + k));
    PetscCall(MatMatMult(A, X, reuse, PETSC_CURRENT, &Y));
    PetscCall(MatTransposeMatMult(A, U, reuse, PETSC_CURRENT, &V));
    PetscCall(PetscSNPrintf(what, sizeof(what), "A X, A now %s, prepared as %s", steps[k], type));
    PetscCall(ReferenceCheckDense(ref, REFERENCE_N, 5 + k, Y, what, bad));
    PetscCall(PetscSNPrintf(what, sizeof(what), "A^T U, A now %s, prepared as %s", steps[k], type));
    PetscCall(ReferenceCheckDense(ref, REFERENCE_T, 10 + k, V, what, bad));
  }
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&U));
  PetscCall(MatDestroy(&Y));
  PetscCall(MatDestroy(&V));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Submatrices as PCASM converts them: PETSc has separate functions to destroy these, and nothing may leak */
static PetscErrorCode Submatrices(const Reference *ref, MatType type, PetscInt *bad)
{
  /* from, to */
  const char *const types[][2] = {
    {MATAIJ, type    },
    {type,   MATAIJ  },
    {type,   MATDENSE},
    {type,   MATBAIJ }
  };
  Mat A, *subs;
  Vec x, y;
  IS  rows, cols;

  PetscFunctionBegin;
  PetscCall(ISCreateStride(PETSC_COMM_SELF, ref->m, 0, 1, &rows));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, ref->n, 0, 1, &cols));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    PetscCall(Make(ref, types[k][0], &A));
    PetscCall(MatCreateSubMatrices(A, 1, &rows, &cols, MAT_INITIAL_MATRIX, &subs));
    PetscCall(MatCreateVecs(subs[0], &x, &y));
    PetscCall(ReferenceFillVec(x, 6));
    PetscCall(MatMult(subs[0], x, y));
    PetscCall(ReferenceCheckVec(ref, REFERENCE_N, 6, -1, y, "a submatrix", bad));
    PetscCall(MatConvert(subs[0], types[k][1], MAT_INPLACE_MATRIX, &subs[0]));
    PetscCall(MatMult(subs[0], x, y));
    PetscCall(ReferenceCheckVec(ref, REFERENCE_N, 6, -1, y, "a submatrix converted in place", bad));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(MatDestroySubMatrices(1, &subs));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Converts from MATNEST into an existing matrix, also after this has lost its values */
static PetscErrorCode FromNest(const Reference *ref, MatType type, MatType root, PetscInt *bad)
{
  Mat A, N, B;

  PetscFunctionBegin;
  PetscCall(Make(ref, type, &A));
  PetscCall(MatCreateNest(PETSC_COMM_WORLD, 1, NULL, 1, NULL, &A, &N));
  PetscCall(MatConvert(N, type, MAT_INITIAL_MATRIX, &B));
  PetscCall(Check(ref, B, root, "from a nest", bad));
  PetscCall(MatZeroEntries(B));
  PetscCall(MatConvert(N, type, MAT_REUSE_MATRIX, &B));
  PetscCall(Check(ref, B, root, "from a nest, reused", bad));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&N));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NoView(Mat A, PetscViewer viewer)
{
  PetscFunctionBegin;
  (void)A;
  (void)viewer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A DMDA gives its matrices a function that views them in another order. It stays with the matrix; what has become AIJ has AIJ's. */
static PetscErrorCode Viewed(const Reference *ref, MatType type, PetscInt *bad)
{
  Mat A, B;

  PetscFunctionBegin;
  PetscCall(Make(ref, type, &A));
  A->ops->view = NoView;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  if (!B->ops->view || B->ops->view == NoView) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s has the view of the %s matrix that it was\n", ref->name, MATAIJ, type));
    (*bad)++;
  }
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  On one process a matrix may be sequential or parallel. The internal names select one of these, whatever the matrix was before. A
  parallel matrix may be added to a sequential one.
*/
static PetscErrorCode Kinds(const Reference *ref, MatType root, MatType otherroot, PetscInt *bad)
{
  const char *const prefixes[] = {"seq", "mpi"};
  char              kinds[2][64], others[2][64];
  Reference         twice = *ref;
  Mat               seq, mpi;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSNPrintf(kinds[k], sizeof(kinds[k]), "%s%s", prefixes[k], root));
    PetscCall(PetscSNPrintf(others[k], sizeof(others[k]), "%s%s", prefixes[k], otherroot));
  }
  for (int from = 0; from < 2; from++) {
    PetscCall(Between(ref, kinds[from], kinds[from], kinds[!from], kinds[!from], bad));
    for (int to = 0; to < 2; to++) {
      PetscCall(Between(ref, others[from], others[from], kinds[to], kinds[to], bad));
      PetscCall(Between(ref, kinds[from], kinds[from], others[to], others[to], bad));
    }
  }
  PetscCall(PetscMalloc1(ref->nnz, &twice.a));
  for (PetscInt k = 0; k < ref->nnz; k++) twice.a[k] = 2 * ref->a[k];
  for (int k = 0; k < 3; k++) {
    const MatStructure structure[] = {SAME_NONZERO_PATTERN, SUBSET_NONZERO_PATTERN, DIFFERENT_NONZERO_PATTERN};

    PetscCall(Make(ref, kinds[0], &seq));
    PetscCall(Make(ref, kinds[1], &mpi));
    PetscCall(MatAXPY(seq, 1, mpi, structure[k]));
    PetscCall(Check(&twice, seq, kinds[0], "a parallel matrix added to a sequential one", bad));
    PetscCall(MatAXPY(mpi, -0.5, seq, structure[k]));
    PetscCall(MatAXPY(mpi, 1, seq, structure[k]));
    PetscCall(MatScale(mpi, 0.5));
    PetscCall(Check(ref, mpi, kinds[1], "a sequential matrix added to a parallel one", bad));
    PetscCall(MatDestroy(&seq));
    PetscCall(MatDestroy(&mpi));
  }
  PetscCall(PetscFree(twice.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The types have two names for users; the root is part of the internal name */
static PetscErrorCode Root(MatType type, char root[], size_t len)
{
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(PetscStrcmpAny(type, &ours, "csrccuda", "bccoo", ""));
  PetscCall(PetscSNPrintf(root, len, "%s%s", ours ? "aij" : "", type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt shapes[] = {3, 25, 60, 71}; /* in the table of shapes.c: empty, the boundary of a block, many nonzeros, a full row and column */
  char           type[64] = "", root[64], internal[64], otherroot[64], *others[16];
  PetscInt       nothers = 16, bad = 0;
  PetscMPIInt    size;
  PetscBool      kinds = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, sizeof(type), NULL));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-others", others, &nothers, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-kinds", &kinds, NULL));
  PetscCall(Root(type, root, sizeof(root)));
  PetscCall(PetscSNPrintf(internal, sizeof(internal), "%s%s", size == 1 ? "seq" : "mpi", root));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
    Reference ref;

    PetscCall(ShapesGet(shapes[s], &ref));
    for (PetscInt k = 0; k < nothers; k++) {
      PetscCall(Root(others[k], otherroot, sizeof(otherroot)));
      if (kinds) {
        PetscCall(Kinds(&ref, root, otherroot, &bad));
        continue;
      }
      PetscCall(Between(&ref, others[k], otherroot, type, root, &bad));
      PetscCall(Between(&ref, others[k], otherroot, internal, root, &bad));
      PetscCall(Between(&ref, type, root, others[k], otherroot, &bad));
      PetscCall(Between(&ref, internal, root, others[k], otherroot, &bad));
    }
    PetscCall(Prepared(&ref, type, &bad));
    PetscCall(Viewed(&ref, type, &bad));
    PetscCall(Submatrices(&ref, type, &bad));
    PetscCall(FromNest(&ref, type, root, &bad));
    PetscCall(ReferenceDestroy(&ref));
  }
  for (PetscInt k = 0; k < nothers; k++) PetscCall(PetscFree(others[k]));
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c shapes.c

  # nor does any path fall to the converter that copies entry by entry, or keep memory: PETSc says so when it does
  testset:
    output_file: output/convert_1.out
    nsize: {{1 2}}
    filter: grep -E "Using MatConvert_Basic|differ|faults|[0-9] bytes [A-Z]"
    test:
      suffix: csrccuda
      args: -type csrccuda -others aij,dense,baij,bccoo -info :mat
    test:
      suffix: bccoo
      args: -type bccoo -others aij,dense,baij,csrccuda -info :mat
    test:
      suffix: gpu
      requires: cuda
      args: -type {{csrccuda bccoo}} -others aijcusparse -info :mat
    # matrices that are converted before and after their nonzeros are stored
    test:
      suffix: default
      args: -type {{csrccuda bccoo}} -others aij,dense -info :mat -mat_form_store_at_once false
    test:
      suffix: gpu_default
      requires: cuda
      args: -type csrccuda -others aij,aijcusparse -info :mat -mat_form_store_at_once false

  # from one kind to the other PETSc's AIJ is copied entry by entry
  test:
    suffix: kinds
    output_file: output/convert_1.out
    args: -kinds -type {{csrccuda bccoo}} -others aij,baij

TEST*/
