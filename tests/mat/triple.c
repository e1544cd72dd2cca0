static char help[] = "Products of three matrices, which PETSc makes of products of two, are AIJ's: with dense matrices and with MATMAIJ.\n\n";

#include "reference.h"

/* A, B and P are sparse, X and D dense. M (MATMAIJ) interpolates two fields by P, as the interpolation of a DMDA does */
typedef struct {
  Mat A, B, X, D, M;
} Operands;

static PetscErrorCode Create(MatType type, Operands *o)
{
  Mat      P;
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(ReferenceSparse(30, 12, 3, 5, 3, MATAIJ, &P));
  PetscCall(MatCreateMAIJ(P, 2, &o->M));
  PetscCall(MatDestroy(&P));
  PetscCall(MatGetLocalSize(o->M, &m, NULL));
  PetscCall(ReferenceSparse(60, 60, 3, 5, 1, type, &o->A)); /* row layouts that match M's: 30 and 60 rows on up to three processes */
  PetscCall(MatGetLocalSize(o->A, &n, NULL));
  PetscCheck(m == n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " and %" PetscInt_FMT " rows on this process", m, n);
  PetscCall(ReferenceSparse(60, 40, 3, 5, 2, type, &o->B));
  PetscCall(MatGetLocalSize(o->B, &m, &n));
  PetscCall(ReferenceDenseCreate(PETSC_COMM_WORLD, n, 40, 5, PETSC_TRUE, &o->X));
  PetscCall(ReferenceDenseCreate(PETSC_COMM_WORLD, m, 60, 60, PETSC_FALSE, &o->D));
  PetscCall(ReferenceDenseFill(o->X, 11));
  PetscCall(ReferenceDenseFill(o->D, 31));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Operands *o)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&o->A));
  PetscCall(MatDestroy(&o->B));
  PetscCall(MatDestroy(&o->X));
  PetscCall(MatDestroy(&o->D));
  PetscCall(MatDestroy(&o->M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ABX(const Operands *o, MatReuse reuse, Mat *C)
{
  PetscFunctionBegin;
  PetscCall(MatMatMatMult(o->A, o->B, o->X, reuse, PETSC_CURRENT, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MtAM(const Operands *o, MatReuse reuse, Mat *C)
{
  PetscFunctionBegin;
  PetscCall(MatPtAP(o->A, o->M, reuse, PETSC_CURRENT, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BtDB(const Operands *o, MatReuse reuse, Mat *C)
{
  PetscFunctionBegin;
  PetscCall(MatPtAP(o->D, o->B, reuse, PETSC_CURRENT, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ADX(const Operands *o, MatReuse reuse, Mat *C)
{
  PetscFunctionBegin;
  PetscCall(MatMatMatMult(o->A, o->D, o->D, reuse, PETSC_CURRENT, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct {
  const char *name;
  PetscErrorCode (*product)(const Operands *, MatReuse, Mat *);
  PetscBool sequential; /* PETSc has no products of parallel dense matrices with sparse ones, or needs another library for them */
} products[] = {
  {"A B X",            ABX,  PETSC_FALSE},
  {"M^T A M",          MtAM, PETSC_FALSE},
  {"B^T D B, D dense", BtDB, PETSC_TRUE },
  {"A D D, D dense",   ADX,  PETSC_TRUE }
};

int main(int argc, char **argv)
{
  PetscInt    bad = 0;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(products); k++) {
    Operands o, e;
    Mat      C, E;

    if (products[k].sequential && size > 1) continue;
    PetscCall(Create(NULL, &o));
    PetscCall(Create(MATAIJ, &e));
    PetscCall((*products[k].product)(&o, MAT_INITIAL_MATRIX, &C));
    PetscCall((*products[k].product)(&e, MAT_INITIAL_MATRIX, &E));
    PetscCall(ReferenceCheckMat(C, E, 100 * PETSC_MACHINE_EPSILON, products[k].name, "at first", &bad));
    PetscCall(MatScale(o.A, -3));
    PetscCall(MatScale(e.A, -3));
    PetscCall(MatShift(o.A, 2));
    PetscCall(MatShift(e.A, 2));
    PetscCall(MatScale(o.B, 2));
    PetscCall(MatScale(e.B, 2));
    PetscCall((*products[k].product)(&o, MAT_REUSE_MATRIX, &C));
    PetscCall((*products[k].product)(&e, MAT_REUSE_MATRIX, &E));
    PetscCall(ReferenceCheckMat(C, E, 100 * PETSC_MACHINE_EPSILON, products[k].name, "with new values", &bad));
    /* a product that was prepared before A and B are converted */
    PetscCall(MatConvert(o.A, MATAIJ, MAT_INPLACE_MATRIX, &o.A));
    PetscCall(MatConvert(o.B, MATAIJ, MAT_INPLACE_MATRIX, &o.B));
    PetscCall((*products[k].product)(&o, MAT_REUSE_MATRIX, &C));
    PetscCall(ReferenceCheckMat(C, E, 100 * PETSC_MACHINE_EPSILON, products[k].name, "with A and B converted", &bad));
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&E));
    PetscCall(Destroy(&o));
    PetscCall(Destroy(&e));
  }
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c

  test:
    args: -mat_type {{aij csrccuda bccoo}}
    nsize: {{1 3}}

TEST*/
