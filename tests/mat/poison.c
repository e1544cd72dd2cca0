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

/* A, and what makes it coarser; with fewer nonzeros cuSPARSE takes other ways */
#define SIZES \
  { \
    400, 300, 200 \
  }
#define PER_ROW 20
typedef struct {
  Mat A, P, Q;
} Operands;

static PetscErrorCode Sparse(PetscInt m, PetscInt n, PetscInt s, MatType type, Mat *A)
{
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, m, n));
  if (type) PetscCall(MatSetType(*A, type));
  else PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt r = first; r < last; r++) {
    for (PetscInt k = 0; k < PER_ROW; k++) PetscCall(MatSetValue(*A, r, (r + 7 * k) % n, ReferenceValue(s, PER_ROW * r + k), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The three steps of a product, with values that change between the last two */
static PetscErrorCode InSteps(MatProductType type, Mat A, Mat B, Mat C, Mat *D)
{
  PetscFunctionBegin;
  PetscCall(MatProductCreate(A, B, C, D));
  PetscCall(MatProductSetType(*D, type));
  PetscCall(MatProductSetFromOptions(*D));
  PetscCall(MatProductSymbolic(*D));
  PetscCall(MatScale(A, 2));
  PetscCall(MatProductNumeric(*D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C[0], C[1]: coarser and coarser matrices, with the values that A, P and Q have now; C[2], C[3]: likewise in steps; C[4]: A P Q; C[5]: S = P Q; C[6]: S^T A S */
#define PRODUCTS 7
static PetscErrorCode Products(const Operands *o, MatReuse reuse, Mat C[])
{
  PetscFunctionBegin;
  PetscCall(MatPtAP(o->A, o->P, reuse, PETSC_CURRENT, &C[0]));
  PetscCall(MatPtAP(C[0], o->Q, reuse, PETSC_CURRENT, &C[1]));
  if (reuse == MAT_INITIAL_MATRIX) {
    PetscCall(InSteps(MATPRODUCT_PtAP, o->A, o->P, NULL, &C[2]));
    PetscCall(InSteps(MATPRODUCT_PtAP, C[2], o->Q, NULL, &C[3]));
  } else {
    PetscCall(MatProductNumeric(C[2]));
    PetscCall(MatProductNumeric(C[3]));
  }
  PetscCall(MatMatMatMult(o->A, o->P, o->Q, reuse, PETSC_CURRENT, &C[4]));
  PetscCall(MatMatMult(o->P, o->Q, reuse, PETSC_CURRENT, &C[5]));
  PetscCall(MatPtAP(o->A, C[5], reuse, PETSC_CURRENT, &C[6]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const char when[], Mat C[], Mat E[], PetscInt *bad)
{
  PetscFunctionBegin;
  for (int k = 0; k < PRODUCTS; k++) {
    Mat       found, expected;
    PetscReal size, difference;

    PetscCall(MatConvert(C[k], MATDENSE, MAT_INITIAL_MATRIX, &found));
    PetscCall(MatConvert(E[k], MATDENSE, MAT_INITIAL_MATRIX, &expected));
    PetscCall(MatNorm(expected, NORM_FROBENIUS, &size));
    PetscCall(MatAXPY(found, -1, expected, SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(found, NORM_FROBENIUS, &difference));
    if (!(difference <= 1000 * PETSC_MACHINE_EPSILON * size)) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Product %d %s: differs by %g of %g\n", k, when, (double)difference, (double)size));
      (*bad)++;
    }
    PetscCall(MatDestroy(&found));
    PetscCall(MatDestroy(&expected));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt n[3] = SIZES;
  PetscInt       bad  = 0;
  Operands       o[2];
  Mat            C[2][PRODUCTS];

  PetscFunctionBeginUser;
  PetscCall(PetscMallocSet(Malloc, Free, Realloc));
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (int t = 0; t < 2; t++) {
    PetscCall(Sparse(n[0], n[0], 1, t ? MATAIJ : NULL, &o[t].A));
    PetscCall(Sparse(n[0], n[1], 2, t ? MATAIJ : NULL, &o[t].P));
    PetscCall(Sparse(n[1], n[2], 3, t ? MATAIJ : NULL, &o[t].Q));
    PetscCall(Products(&o[t], MAT_INITIAL_MATRIX, C[t]));
  }
  PetscCall(Compare("at first", C[0], C[1], &bad));
  for (int t = 0; t < 2; t++) {
    PetscCall(MatScale(o[t].P, -3));
    PetscCall(MatScale(o[t].Q, 2));
    PetscCall(Products(&o[t], MAT_REUSE_MATRIX, C[t]));
  }
  PetscCall(Compare("with new values", C[0], C[1], &bad));
  for (int t = 0; t < 2; t++) {
    for (int k = 0; k < PRODUCTS; k++) PetscCall(MatDestroy(&C[t][k]));
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
    nsize: {{1 2 3}}
    test:
      args: -malloc_dump false -mat_type {{aij csrccuda bccoo}}
    test:
      suffix: gpu
      args: -malloc_dump false -mat_type aijcusparse -mat_csrc_replace_aijcusparse

TEST*/
