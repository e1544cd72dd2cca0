static char help[] = "Products come from the stored form: they do not notice that the CSR's values were overwritten behind PETSc's back.\n\n";

#include "reference.h"
#include "sys/petscolder.h"
#include <math.h>

/* Overwrites the CSR of a sequential matrix, or of the blocks of a parallel one, without increasing any object state */
static PetscErrorCode Overwrite(Mat A)
{
  Mat       blocks[2] = {A, NULL};
  PetscBool isseq;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  if (!isseq) PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int k = 0; k < 2 && blocks[k]; k++) {
    const PetscScalar *a; /* obtained for reading, which increases no state */
    MatInfo            info;

    PetscCall(MatGetInfo(blocks[k], MAT_LOCAL, &info));
    PetscCall(MatSeqAIJGetArrayRead(blocks[k], &a));
    for (PetscInt l = 0; l < (PetscInt)info.nz_used; l++) ((PetscScalar *)a)[l] = NAN;
    PetscCall(MatSeqAIJRestoreArrayRead(blocks[k], &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    count, bad = 0;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ShapesCount(&count));
  for (PetscInt k = 0; k < count; k += 6) {
    Reference ref;
    Mat       A, X, U, Y, V, W = NULL, Xt = NULL;
    PetscInt  m, n, unseen = 0;

    PetscCall(ShapesGet(k, &ref));
    if (PETSCCSRC_AIJ_NEEDS_ROWS && PetscMin(ref.m, ref.n) < size) {
      PetscCall(ReferenceDestroy(&ref));
      continue;
    }
    PetscCall(ReferenceToMat(&ref, PETSC_COMM_WORLD, &A));
    PetscCall(MatGetLocalSize(A, &m, &n));
    PetscCall(ReferenceDenseCreate(PETSC_COMM_WORLD, n, ref.n, 3, PETSC_FALSE, &X));
    PetscCall(ReferenceDenseCreate(PETSC_COMM_WORLD, m, ref.m, 3, PETSC_FALSE, &U));
    PetscCall(ReferenceDenseFill(X, 4));
    PetscCall(ReferenceDenseFill(U, 4));
    PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &Y));
    PetscCall(MatTransposeMatMult(A, U, MAT_INITIAL_MATRIX, PETSC_CURRENT, &V));
    if (size == 1) {
      PetscCall(MatTranspose(X, MAT_INITIAL_MATRIX, &Xt));
      PetscCall(MatMatTransposeMult(A, Xt, MAT_INITIAL_MATRIX, PETSC_CURRENT, &W));
    }
    /* the products above may keep data of A in Y, V, W; those with vectors can only use the form */
    PetscCall(ReferenceCheckProducts(&ref, A, &unseen));
    PetscCheck(!unseen, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Wrong before the CSR was touched");

    PetscCall(Overwrite(A));
    PetscCall(ReferenceCheckProducts(&ref, A, &bad));
    PetscCall(ReferenceDenseFill(Y, -1));
    PetscCall(ReferenceDenseFill(V, -1));
    PetscCall(MatMatMult(A, X, MAT_REUSE_MATRIX, PETSC_CURRENT, &Y));
    PetscCall(ReferenceCheckDense(&ref, REFERENCE_N, 4, Y, "MatMatMult", &bad));
    PetscCall(MatTransposeMatMult(A, U, MAT_REUSE_MATRIX, PETSC_CURRENT, &V));
    PetscCall(ReferenceCheckDense(&ref, REFERENCE_T, 4, V, "MatTransposeMatMult", &bad));
    if (W) {
      PetscCall(ReferenceDenseFill(W, -1));
      PetscCall(MatMatTransposeMult(A, Xt, MAT_REUSE_MATRIX, PETSC_CURRENT, &W));
      PetscCall(ReferenceCheckDense(&ref, REFERENCE_N, 4, W, "MatMatTransposeMult", &bad));
    }
    PetscCall(MatDestroy(&W));
    PetscCall(MatDestroy(&Xt));
    PetscCall(MatDestroy(&V));
    PetscCall(MatDestroy(&Y));
    PetscCall(MatDestroy(&U));
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&A));
    PetscCall(ReferenceDestroy(&ref));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &bad, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", bad ? "some product reads the CSR" : "all products come from the stored form"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c shapes.c

  # AIJ has no other form: the test sees it
  test:
    suffix: aij
    args: -mat_type aij
    nsize: {{1 2}}
    filter: grep CSR

  testset:
    output_file: output/ownform_1.out
    nsize: {{1 2 4}}
    test:
      suffix: csrccuda
      args: -mat_type csrccuda
    test:
      suffix: gpu
      args: -mat_type csrccuda -mat_csrc_layout {{csrc balanced}} -dense_mat_type {{dense densecuda}}
    test:
      suffix: bccoo
      args: -mat_type bccoo -mat_bccoo_compression {{tuples simd csr}}
      nsize: {{1 2}}

TEST*/
