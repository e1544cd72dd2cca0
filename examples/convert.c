/*
  Converts an AIJ matrix to MATCSRCCUDA and MATBCCOO by MatConvert(), and back.

  A program that has assembled an AIJ matrix gets fast products with A and A^T in this way. This program is linked to
  libpetsccsrc; other programs load the library by -dll_append and choose the types by -mat_type.
*/
static char help[] = "Converts a matrix from AIJ to the types of this library and back, and checks the products.\n"
                     "  -file <file> : the matrix, a Matrix Market file (.mtx or .mtx.gz) or a PETSc binary file; by default a\n"
                     "                 boundary matrix of the chessboard complex of a 6 x 6 board\n\n";

#include <petscmat.h>
#include <petsccsrc.h>
#include "support.h"

/* Largest difference of the products of A and B with random vectors, relative to the largest entry of the product */
static PetscErrorCode CompareProducts(Mat A, Mat B, PetscReal *forward, PetscReal *transposed)
{
  Vec       x, y, u, v, Bx, Bu;
  PetscReal largest;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &Bx));
  PetscCall(VecDuplicate(y, &u));
  PetscCall(VecDuplicate(x, &v));
  PetscCall(VecDuplicate(x, &Bu));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(VecSetRandom(u, NULL));

  PetscCall(MatMult(A, x, y));
  PetscCall(MatMult(B, x, Bx));
  PetscCall(VecNorm(y, NORM_INFINITY, &largest));
  PetscCheck(!PetscIsInfOrNanReal(largest), PetscObjectComm((PetscObject)A), PETSC_ERR_FP, "The matrix holds Inf or NaN: its products cannot be compared");
  PetscCall(VecAXPY(Bx, -1.0, y));
  PetscCall(VecNorm(Bx, NORM_INFINITY, forward));
  if (largest > 0) *forward /= largest;

  PetscCall(MatMultTranspose(A, u, v));
  PetscCall(MatMultTranspose(B, u, Bu));
  PetscCall(VecNorm(v, NORM_INFINITY, &largest));
  PetscCall(VecAXPY(Bu, -1.0, v));
  PetscCall(VecNorm(Bu, NORM_INFINITY, transposed));
  if (largest > 0) *transposed /= largest;

  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&Bx));
  PetscCall(VecDestroy(&Bu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MatType   types[]   = {MATCSRCCUDA, MATBCCOO};
  const PetscReal tolerance = 1000 * PETSC_MACHINE_EPSILON;
  Mat             A;
  PetscInt        M, N;
  PetscBool       fromfile, right = PETSC_TRUE;
  char            file[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsSetValue(NULL, "-mat_form_store_at_once", NULL)); /* otherwise the first products would be AIJ's; read when the library is loaded */
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscCSRCInitializePackage()); /* registers the types */

  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetType(A, MATAIJ));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-file", file, sizeof(file), &fromfile));
  if (fromfile) PetscCall(MatLoadFile(A, file));
  else PetscCall(MatFillChessboard(A, 6, 6, 3));
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Matrix: %" PetscInt_FMT " x %" PetscInt_FMT "\n", M, N));

  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    Mat       B, C;
    MatType   there, back;
    PetscReal forward, transposed;
    PetscBool equal;

    /* A new matrix of the type; A does not change */
    PetscCall(MatConvert(A, types[t], MAT_INITIAL_MATRIX, &B));
    PetscCall(MatGetType(B, &there));
    PetscCall(CompareProducts(A, B, &forward, &transposed));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: as %s, A x differs by %.1e, A^T u by %.1e\n", types[t], there, (double)forward, (double)transposed));
    right = (PetscBool)(right && forward <= tolerance && transposed <= tolerance);

    /* And back, with the same nonzeros */
    PetscCall(MatConvert(B, MATAIJ, MAT_INITIAL_MATRIX, &C));
    PetscCall(MatGetType(C, &back));
    PetscCall(MatEqual(A, C, &equal));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: back as %s, nonzeros %s\n", types[t], back, equal ? "equal" : "NOT equal"));
    right = (PetscBool)(right && equal);
    PetscCall(MatDestroy(&C));

    /* In place: B itself changes its type */
    PetscCall(MatConvert(B, MATAIJ, MAT_INPLACE_MATRIX, &B));
    PetscCall(MatConvert(B, types[t], MAT_INPLACE_MATRIX, &B));
    PetscCall(CompareProducts(A, B, &forward, &transposed));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: in place, back and forth, A x differs by %.1e, A^T u by %.1e\n", types[t], (double)forward, (double)transposed));
    right = (PetscBool)(right && forward <= tolerance && transposed <= tolerance);
    PetscCall(MatDestroy(&B));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, right ? "All products and nonzeros agree.\n" : "WRONG: see above.\n"));

  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return right ? 0 : 1;
}
