static char help[] = "Sparse products of products, with memory whose bits are all set where nothing was stored: results are AIJ's, and calls return.\n\n";

#include "reference.h"
#include <stdlib.h>
#include <string.h>

/* PETSc's memory, filled with a NaN that ends no search in a hash table of cuSPARSE, for which it is the sign of an empty place */
static PetscErrorCode Malloc(size_t n, PetscBool clear, int line, const char function[], const char file[], void **ptr)
{
  *ptr = NULL;
  if (!n) return PETSC_SUCCESS;
  if (posix_memalign(ptr, 64, n)) return PETSC_ERR_MEM;
  memset(*ptr, clear ? 0 : 0xff, n);
  return PETSC_SUCCESS;
}

static PetscErrorCode Free(void *ptr, int line, const char function[], const char file[])
{
  free(ptr);
  return PETSC_SUCCESS;
}

static PetscErrorCode Realloc(size_t n, int line, const char function[], const char file[], void **ptr)
{
  void *p = realloc(*ptr, n);

  if (!p && n) return PETSC_ERR_MEM;
  *ptr = p;
  return PETSC_SUCCESS;
}

/* A, and what makes it coarser */
typedef struct {
  Mat A, P, Q;
} Operands;

/* With fewer nonzeros cuSPARSE takes other ways */
static PetscErrorCode Create(MatType type, Operands *o)
{
  PetscFunctionBegin;
  PetscCall(ReferenceSparse(400, 400, 20, 7, 1, type, &o->A));
  PetscCall(ReferenceSparse(400, 300, 20, 7, 2, type, &o->P));
  PetscCall(ReferenceSparse(300, 200, 20, 7, 3, type, &o->Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P^T A P in three steps, with values that change between the last two */
static PetscErrorCode InSteps(Mat A, Mat P, Mat *C)
{
  PetscFunctionBegin;
  PetscCall(MatProductCreate(A, P, NULL, C));
  PetscCall(MatProductSetType(*C, MATPRODUCT_PtAP));
  PetscCall(MatProductSetFromOptions(*C));
  PetscCall(MatProductSymbolic(*C));
  PetscCall(MatScale(A, 2));
  PetscCall(MatProductNumeric(*C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *const names[] = {"C = P^T A P", "Q^T C Q", "D = P^T A P in steps", "Q^T D Q in steps", "A P Q", "S = P Q", "S^T A S"};
#define PRODUCTS PETSC_STATIC_ARRAY_LENGTH(names)

static PetscErrorCode Products(const Operands *o, MatReuse reuse, Mat C[])
{
  PetscFunctionBegin;
  PetscCall(MatPtAP(o->A, o->P, reuse, PETSC_CURRENT, &C[0]));
  PetscCall(MatPtAP(C[0], o->Q, reuse, PETSC_CURRENT, &C[1]));
  if (reuse == MAT_INITIAL_MATRIX) {
    PetscCall(InSteps(o->A, o->P, &C[2]));
    PetscCall(InSteps(C[2], o->Q, &C[3]));
  } else {
    PetscCall(MatProductNumeric(C[2]));
    PetscCall(MatProductNumeric(C[3]));
  }
  PetscCall(MatMatMatMult(o->A, o->P, o->Q, reuse, PETSC_CURRENT, &C[4]));
  PetscCall(MatMatMult(o->P, o->Q, reuse, PETSC_CURRENT, &C[5]));
  PetscCall(MatPtAP(o->A, C[5], reuse, PETSC_CURRENT, &C[6]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt bad = 0;
  Operands o[2]; /* of the type that is tested, and AIJ's */
  Mat      C[2][PRODUCTS];

  PetscFunctionBeginUser;
  PetscCall(PetscMallocSet(Malloc, Free, Realloc));
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (int t = 0; t < 2; t++) {
    PetscCall(Create(t ? MATAIJ : NULL, &o[t]));
    PetscCall(Products(&o[t], MAT_INITIAL_MATRIX, C[t]));
  }
  for (size_t k = 0; k < PRODUCTS; k++) PetscCall(ReferenceCheckMat(C[0][k], C[1][k], 1000 * PETSC_MACHINE_EPSILON, names[k], "at first", &bad));
  for (int t = 0; t < 2; t++) {
    PetscCall(MatScale(o[t].P, -3));
    PetscCall(MatScale(o[t].Q, 2));
    PetscCall(Products(&o[t], MAT_REUSE_MATRIX, C[t]));
  }
  for (size_t k = 0; k < PRODUCTS; k++) PetscCall(ReferenceCheckMat(C[0][k], C[1][k], 1000 * PETSC_MACHINE_EPSILON, names[k], "with new values", &bad));
  for (int t = 0; t < 2; t++) {
    for (size_t k = 0; k < PRODUCTS; k++) PetscCall(MatDestroy(&C[t][k]));
    PetscCall(MatDestroy(&o[t].A));
    PetscCall(MatDestroy(&o[t].P));
    PetscCall(MatDestroy(&o[t].Q));
  }
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c

  testset:
    output_file: output/poison_1.out
    nsize: {{1 3}}
    test:
      args: -malloc_dump false -mat_type {{aij csrccuda bccoo}}
    test:
      suffix: gpu
      args: -malloc_dump false -mat_type aijcusparse -mat_csrc_replace_aijcusparse

TEST*/
