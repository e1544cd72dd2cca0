static char help[] = "Calls that cannot be right are PETSc's errors, and the matrix is as good as before afterwards.\n\n";

#include "reference.h"
#include "caught.h"

static PetscInt bad = 0;

/* A call that must fail with the given code; PETSC_ERR_MAX_VALUE: with any code */
#define Fails(what, expected, call) \
  do { \
    PetscErrorCode ierr_; \
    Catch(ierr_, call); \
    if (!ierr_ || ((expected) != PETSC_ERR_MAX_VALUE && caught.code != (expected))) { \
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: error %d, should be %d\n", what, (int)caught.code, (int)(expected))); \
      bad++; \
    } \
  } while (0)

static PetscErrorCode Unassembled(const Reference *ref)
{
  Mat      A;
  Vec      x, y;
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, ref->m, ref->n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSetUp(A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(VecSet(y, 1));
  Fails("MatMult before assembly", PETSC_ERR_ARG_WRONGSTATE, MatMult(A, x, y));
  Fails("MatMultTranspose before assembly", PETSC_ERR_ARG_WRONGSTATE, MatMultTranspose(A, y, x));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt r = first; r < last; r++) PetscCall(MatSetValues(A, 1, &r, ref->i[r + 1] - ref->i[r], PetscSafePointerPlusOffset(ref->j, ref->i[r]), PetscSafePointerPlusOffset(ref->a, ref->i[r]), INSERT_VALUES));
  Fails("MatMult with values set, before assembly", PETSC_ERR_ARG_WRONGSTATE, MatMult(A, x, y));
  Fails("MatMultAdd before assembly", PETSC_ERR_ARG_WRONGSTATE, MatMultAdd(A, x, y, y));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(ReferenceCheckProducts(ref, A, &bad));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WrongSizes(const Reference *ref)
{
  Mat         A, X, Y = NULL;
  Vec         x, y, longer, divided = NULL;
  PetscInt    n;
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCall(ReferenceToMat(ref, PETSC_COMM_WORLD, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(VecSet(y, 1));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &longer));
  PetscCall(VecSetSizes(longer, PETSC_DECIDE, ref->m + ref->n));
  PetscCall(VecSetType(longer, VECSTANDARD));
  PetscCall(VecSet(longer, 1));
  PetscCall(VecGetLocalSize(x, &n));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size == 2) {
    PetscCall(VecCreate(PETSC_COMM_WORLD, &divided));
    PetscCall(VecSetSizes(divided, rank ? n - 1 : n + 1, PETSC_DETERMINE));
    PetscCall(VecSetType(divided, VECSTANDARD));
    PetscCall(VecSet(divided, 1));
  }
  for (int k = 0; k < 2; k++) { /* before the first product, and after */
    Fails("MatMult, x too long", PETSC_ERR_ARG_SIZ, MatMult(A, longer, y));
    Fails("MatMult, y too long", PETSC_ERR_ARG_SIZ, MatMult(A, x, longer));
    Fails("MatMultTranspose, x too long", PETSC_ERR_ARG_SIZ, MatMultTranspose(A, longer, x));
    Fails("MatMultTranspose, y too long", PETSC_ERR_ARG_SIZ, MatMultTranspose(A, y, longer));
    Fails("MatMultAdd, z too long", PETSC_ERR_ARG_SIZ, MatMultAdd(A, x, longer, y));
    Fails("MatMultTransposeAdd, z too long", PETSC_ERR_ARG_SIZ, MatMultTransposeAdd(A, y, longer, x));
    if (divided) Fails("MatMultTransposeAdd, z divided in another way", PETSC_ERR_ARG_SIZ, MatMultTransposeAdd(A, y, divided, x));
    PetscCall(ReferenceCheckProducts(ref, A, &bad));
  }
  PetscCall(ReferenceDenseCreate(PETSC_COMM_WORLD, PETSC_DECIDE, ref->m + ref->n, 3, PETSC_FALSE, &X));
  PetscCall(ReferenceDenseFill(X, 1));
  Fails("MatMatMult, X too long", PETSC_ERR_ARG_SIZ, MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &Y));
  PetscCall(MatDestroy(&Y)); /* it may be incomplete */
  Fails("MatTransposeMatMult, X too long", PETSC_ERR_ARG_SIZ, MatTransposeMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &Y));
  PetscCall(MatDestroy(&Y));
  PetscCall(MatDestroy(&X));
  PetscCall(ReferenceCheckProducts(ref, A, &bad));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&longer));
  PetscCall(VecDestroy(&divided));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product into a matrix that was made for other operands */
static PetscErrorCode WrongReuse(const Reference *ref)
{
  Mat A, X, more, Y;

  PetscFunctionBegin;
  PetscCall(ReferenceToMat(ref, PETSC_COMM_SELF, &A));
  for (int transposed = 0; transposed < 2; transposed++) {
    PetscErrorCode (*product)(Mat, Mat, MatReuse, PetscReal, Mat *) = transposed ? MatTransposeMatMult : MatMatMult;
    const PetscInt rows                                             = transposed ? ref->m : ref->n;

    PetscCall(ReferenceDenseCreate(PETSC_COMM_SELF, rows, rows, 3, PETSC_FALSE, &X));
    PetscCall(ReferenceDenseFill(X, 1));
    PetscCall((*product)(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &Y));
    for (PetscInt K = 2; K < 5; K += 2) {
      PetscCall(ReferenceDenseCreate(PETSC_COMM_SELF, rows, rows, K, PETSC_FALSE, &more));
      PetscCall(ReferenceDenseFill(more, 1));
      Fails(K < 3 ? "fewer columns than before" : "more columns than before", PETSC_ERR_ARG_SIZ, (*product)(A, more, MAT_REUSE_MATRIX, PETSC_CURRENT, &Y));
      PetscCall(MatDestroy(&more));
    }
    PetscCall((*product)(A, X, MAT_REUSE_MATRIX, PETSC_CURRENT, &Y));
    PetscCall(ReferenceCheckDense(ref, transposed ? REFERENCE_T : REFERENCE_N, 1, Y, "the old operand again", &bad));
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&Y));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SameVector(const Reference *ref)
{
  Mat A;
  Vec x;

  PetscFunctionBegin;
  PetscCall(ReferenceToMat(ref, PETSC_COMM_WORLD, &A));
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(VecSet(x, 1));
  Fails("MatMult, x and y the same", PETSC_ERR_ARG_WRONGSTATE, MatMult(A, x, x));
  Fails("MatMultTranspose, x and y the same", PETSC_ERR_ARG_WRONGSTATE, MatMultTranspose(A, x, x));
  Fails("MatMultAdd, x and y the same", PETSC_ERR_ARG_IDN, MatMultAdd(A, x, x, x));
  PetscCall(VecDestroy(&x));
  PetscCall(ReferenceCheckProducts(ref, A, &bad));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An index out of range, a new nonzero where none is allowed */
static PetscErrorCode WrongPlaces(const Reference *ref)
{
  Mat         A;
  PetscInt    first, last, row, col;
  PetscScalar one = 1;

  PetscFunctionBegin;
  PetscCall(ReferenceToMat(ref, PETSC_COMM_WORLD, &A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
  row = first;
  col = ref->n;
  /* with debugging PETSc has another code for it */
  Fails("a column out of range", PetscDefined(USE_DEBUG) ? PETSC_ERR_ARG_WRONG : PETSC_ERR_ARG_OUTOFRANGE, MatSetValues(A, 1, &row, 1, &col, &one, INSERT_VALUES));
  col = (first + ref->n / 2) % ref->n;
  Fails("a new nonzero", PETSC_ERR_MAX_VALUE, MatSetValues(A, 1, &row, 1, &col, &one, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(ReferenceCheckProducts(ref, A, &bad));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix with a pattern but no values has no products; a parallel one may have begun to communicate before the error */
static PetscErrorCode StructureOnly(const Reference *ref)
{
  Mat A;
  Vec x, y;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, ref->m, ref->n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSetUp(A));
  PetscCall(MatSetOption(A, MAT_STRUCTURE_ONLY, PETSC_TRUE));
  for (PetscInt r = 0; r < ref->m; r++) PetscCall(MatSetValues(A, 1, &r, ref->i[r + 1] - ref->i[r], PetscSafePointerPlusOffset(ref->j, ref->i[r]), NULL, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  Fails("MatMult of a structure", PETSC_ERR_ARG_WRONGSTATE, MatMult(A, x, y));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Reference ref;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(ShapesGet(20, &ref)); /* a band of 255 x 100 */
  PetscCall(Unassembled(&ref));
  PetscCall(WrongSizes(&ref));
  PetscCall(WrongReuse(&ref));
  PetscCall(WrongPlaces(&ref));
  PetscCall(StructureOnly(&ref));
  PetscCall(ReferenceDestroy(&ref));
  PetscCall(ShapesGet(24, &ref)); /* a square one */
  PetscCall(SameVector(&ref));
  PetscCall(ReferenceDestroy(&ref));
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c shapes.c

  test:
    args: -mat_type {{csrccuda bccoo}}
    nsize: {{1 2}}

TEST*/
