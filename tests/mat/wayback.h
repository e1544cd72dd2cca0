#pragma once

/* The way from stored nonzeros back to a CSR */
#include <petscmat.h>

/* Frees the CSR of A and gets it back from what is stored: is it this one, bit for bit? */
static PetscErrorCode WayBack(Mat A, const PetscInt i[], const PetscInt j[], const PetscScalar a[], PetscBool *same)
{
  Mat                B;
  Vec                x, y;
  PetscInt           m, n;
  const PetscInt    *bi, *bj;
  const PetscScalar *ba;
  PetscBool          done, samej, samea;

  PetscFunctionBegin;
  *same = PETSC_TRUE;
  PetscCall(MatGetSize(A, &m, &n));
  for (PetscInt r = 0; r < m; r++) {
    if (i[r + 1] - i[r] > n) PetscFunctionReturn(PETSC_SUCCESS); /* PETSc does not preallocate such rows */
  }
  PetscCall(PetscOptionsSetValue(NULL, "-mat_form_release", NULL));
  PetscCall(MatSetFromOptions(A));
  PetscCall(PetscOptionsClearValue(NULL, "-mat_form_release"));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatGetRowIJ(B, 0, PETSC_FALSE, PETSC_FALSE, &n, &bi, &bj, &done));
  PetscCall(MatSeqAIJGetArrayRead(B, &ba));
  PetscCall(PetscArraycmp(bi, i, m + 1, same));
  PetscCall(PetscArraycmp(bj, j, i[m], &samej));
  PetscCall(PetscArraycmp(ba, a, i[m], &samea));
  *same = *same && samej && samea ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(MatSeqAIJRestoreArrayRead(B, &ba));
  PetscCall(MatRestoreRowIJ(B, 0, PETSC_FALSE, PETSC_FALSE, &n, &bi, &bj, &done));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}
