static char help[] = "Vectors of every type work with our matrices, in any mixture, or are refused by an error.\n\n";

#include "reference.h"

static PetscInt bad = 0;

static PetscErrorCode Create(Mat A, PetscBool right, VecType type, Vec *x)
{
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(VecCreate(PETSC_COMM_WORLD, x));
  PetscCall(VecSetSizes(*x, right ? n : m, PETSC_DECIDE));
  PetscCall(VecSetType(*x, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All mixtures of the types for x and y = A^T u, u and v = A x */
static PetscErrorCode Mixtures(Reference *ref, Mat A, PetscInt ntypes, char *types[])
{
  char name[128];

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(name, ref->name, sizeof(name)));
  for (PetscInt i = 0; i < ntypes; i++) {
    for (PetscInt j = 0; j < ntypes; j++) {
      for (PetscInt k = 0; k < ntypes; k++) {
        Vec x, y, u, v;

        PetscCall(PetscSNPrintf(ref->name, sizeof(ref->name), "%s, %s %s %s", name, types[i], types[j], types[k]));
        PetscCall(Create(A, PETSC_TRUE, types[i], &x));
        PetscCall(Create(A, PETSC_TRUE, types[j], &y));
        PetscCall(Create(A, PETSC_FALSE, types[j], &u));
        PetscCall(Create(A, PETSC_FALSE, types[k], &v));
        PetscCall(ReferenceCheckProductsWithVecs(ref, A, x, y, u, v, &bad));
        PetscCall(VecDestroy(&x));
        PetscCall(VecDestroy(&y));
        PetscCall(VecDestroy(&u));
        PetscCall(VecDestroy(&v));
      }
    }
  }
  PetscCall(PetscStrncpy(ref->name, name, sizeof(ref->name)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors with arrays of the caller, and with arrays placed temporarily */
static PetscErrorCode Arrays(const Reference *ref, Mat A)
{
  PetscInt     m, n;
  PetscScalar *ax, *ay, *au, *av;
  Vec          x, y, u, v;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(PetscMalloc4(n, &ax, n, &ay, m, &au, m, &av));
  PetscCall(VecCreateMPIWithArray(PETSC_COMM_WORLD, 1, n, PETSC_DECIDE, ax, &x));
  PetscCall(VecCreateMPIWithArray(PETSC_COMM_WORLD, 1, m, PETSC_DECIDE, au, &u));
  PetscCall(Create(A, PETSC_TRUE, VECSTANDARD, &y));
  PetscCall(Create(A, PETSC_FALSE, VECSTANDARD, &v));
  PetscCall(VecPlaceArray(y, ay));
  PetscCall(VecPlaceArray(v, av));
  PetscCall(ReferenceCheckProductsWithVecs(ref, A, x, y, u, v, &bad));
  PetscCall(VecResetArray(y));
  PetscCall(VecResetArray(v));
  PetscCall(ReferenceCheckProductsWithVecs(ref, A, x, y, u, v, &bad));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(PetscFree4(ax, ay, au, av));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A nested vector of one part gives an error or the right result */
static PetscErrorCode Nested(const Reference *ref, Mat A)
{
  Vec            x, v, nest;
  PetscErrorCode ierr;
  PetscInt       wrong = 0;

  PetscFunctionBegin;
  PetscCall(Create(A, PETSC_TRUE, VECSTANDARD, &x));
  PetscCall(Create(A, PETSC_FALSE, VECSTANDARD, &v));
  PetscCall(ReferenceFillVec(x, 1));
  PetscCall(VecCreateNest(PETSC_COMM_WORLD, 1, NULL, &x, &nest));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatMult(A, nest, v);
  PetscCall(PetscPopErrorHandler());
  if (!ierr) PetscCall(ReferenceCheckVec(ref, REFERENCE_N, 1, -1, v, "MatMult of a nested vector", &wrong));
  bad += wrong;
  PetscCall(VecDestroy(&nest));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&v));
  PetscCall(ReferenceCheckProducts(ref, A, &bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt shapes[] = {2, 28, 43, 62}; /* in the table of shapes.c: no column, a band, scattered entries, a full row */
  char          *types[8];
  PetscInt       ntypes = 8;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-types", types, &ntypes, NULL));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
    Reference ref;
    Mat       A;

    PetscCall(ShapesGet(shapes[s], &ref));
    PetscCall(ReferenceToMat(&ref, PETSC_COMM_WORLD, &A));
    PetscCall(Mixtures(&ref, A, ntypes, types));
    PetscCall(Arrays(&ref, A));
    PetscCall(Nested(&ref, A));
    PetscCall(MatDestroy(&A));
    PetscCall(ReferenceDestroy(&ref));
  }
  for (PetscInt k = 0; k < ntypes; k++) PetscCall(PetscFree(types[k]));
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c shapes.c

  testset:
    output_file: output/vectors_1.out
    nsize: {{1 3}}
    test:
      suffix: host
      args: -mat_type {{csrccuda bccoo}} -types standard -mat_form_store_at_once {{true false}}
    test:
      suffix: gpu
      args: -mat_type {{csrccuda bccoo}} -types standard,cuda -mat_form_store_at_once {{true false}}

TEST*/
