static char help[] = "A program that creates AIJ matrices and reads no matrix options is reached by -mat_seqaij_type.\n\n";

#include "reference.h"

/* Creates a matrix by MatCreateAIJ(); *type: the type of the matrix on one process, otherwise that of its diagonal block */
static PetscErrorCode Create(const Reference *ref, Mat *A, MatType *type)
{
  Mat       block;
  PetscBool isseq;
  PetscInt  first, last;

  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ref->m, ref->n, 5, NULL, 5, NULL, A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt r = first; r < last; r++) PetscCall(MatSetValues(*A, 1, &r, ref->i[r + 1] - ref->i[r], PetscSafePointerPlusOffset(ref->j, ref->i[r]), PetscSafePointerPlusOffset(ref->a, ref->i[r]), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)*A, MATSEQAIJ, &isseq));
  if (isseq) block = *A;
  else PetscCall(MatMPIAIJGetSeqAIJ(*A, &block, NULL, NULL));
  PetscCall(MatGetType(block, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  count, bad = 0;
  char      wanted[64];
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-wanted", wanted, sizeof(wanted), NULL));
  PetscCall(ShapesCount(&count));
  for (PetscInt k = 0; k < count; k += 11) {
    Reference ref;
    Mat       A;
    MatType   type;

    PetscCall(ShapesGet(k, &ref));
    PetscCall(Create(&ref, &A, &type));
    PetscCall(PetscStrcmp(type, wanted, &same));
    if (!same) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: the type is %s, should be %s\n", ref.name, type, wanted));
      bad++;
    }
    PetscCall(ReferenceCheckProducts(&ref, A, &bad));
    PetscCall(MatScale(A, 2));
    for (PetscInt l = 0; l < ref.nnz; l++) ref.a[l] *= 2;
    PetscCall(ReferenceCheckProducts(&ref, A, &bad));
    PetscCall(MatDestroy(&A));
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
    output_file: output/createaij_1.out
    nsize: {{1 2 3}}
    test:
      suffix: aij
      args: -wanted seqaij
      nsize: 2
    test:
      suffix: csrccuda
      args: -mat_seqaij_type seqaijcsrccuda -wanted seqaijcsrccuda
    test:
      suffix: bccoo
      args: -mat_seqaij_type seqaijbccoo -wanted seqaijbccoo
    # the users' name means the same
    test:
      suffix: users
      args: -mat_seqaij_type csrccuda -wanted seqaijcsrccuda
      nsize: {{1 2}}

TEST*/
