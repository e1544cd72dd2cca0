static char help[] = "A program that creates AIJ matrices and reads no matrix options is reached by -mat_seqaij_type.\n\n";

#include "reference.h"
#include <petsccsrc.h>

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

static PetscErrorCode CheckPlain(const Reference *ref, Mat A, const char what[], PetscInt *bad)
{
  PetscBool plain;
  MatType   type;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &plain, MATSEQAIJ, MATMPIAIJ, ""));
  if (!plain) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s: the type is %s, should be AIJ\n", ref->name, what, type));
    ++*bad;
  }
  PetscCall(ReferenceCheckProducts(ref, A, bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Within MatConvert() PETSc creates matrices for which it reads -mat_seqaij_type too */
static PetscErrorCode CheckConversions(const Reference *ref, Mat A, MatType kind, PetscInt *bad)
{
  PetscErrorCode (*release)(Mat, PetscBool);
  Mat B, C;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(CheckPlain(ref, B, "converted", bad));
  PetscCall(MatConvert(B, kind, MAT_INPLACE_MATRIX, &B));
  PetscCall(ReferenceCheckProducts(ref, B, bad));
  PetscCall(MatConvert(B, MATAIJ, MAT_INPLACE_MATRIX, &B));
  PetscCall(CheckPlain(ref, B, "converted in place", bad));
  PetscCall(MatDestroy(&B));

  PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatConvert(B, kind, MAT_INITIAL_MATRIX, &C));
  PetscCall(ReferenceCheckProducts(ref, C, bad));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));

  PetscCall(MatConvert(A, kind, MAT_INITIAL_MATRIX, &B));
  PetscCall(ReferenceCheckProducts(ref, B, bad));
  PetscCall(PetscObjectQueryFunction((PetscObject)B, "MatFormSetRelease_C", &release)); /* this program does not link the library */
  PetscCall((*release)(B, PETSC_TRUE));
  PetscCall(ReferenceCheckProducts(ref, B, bad));
  PetscCall(MatScale(B, 1));
  PetscCall(ReferenceCheckProducts(ref, B, bad));
  PetscCall(MatConvert(B, MATAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(CheckPlain(ref, C, "converted without CSR", bad));
  PetscCall(MatDestroy(&C));
  PetscCall(MatConvert(B, MATDENSE, MAT_INPLACE_MATRIX, &B));
  PetscCall(ReferenceCheckProducts(ref, B, bad));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An incomplete factorization in place, which is complete for a tridiagonal matrix */
static PetscErrorCode CheckFactorInPlace(PetscInt *bad)
{
  const PetscInt n = 7;
  Mat            A, F;
  IS             rows, columns;
  Vec            x, b, r;
  PetscReal      norm;
  MatFactorInfo  info;

  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_SELF, n, n, n, n, 3, NULL, 0, NULL, &A));
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = PetscMax(i - 1, 0); j < PetscMin(i + 2, n); j++) PetscCall(MatSetValue(A, i, j, i == j ? 4 : -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(b, 1));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &F));
  PetscCall(MatGetOrdering(F, MATORDERINGNATURAL, &rows, &columns));
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(MatILUFactor(F, rows, columns, &info));
  PetscCall(MatSolve(F, b, x));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAXPY(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &norm));
  if (norm > 100 * PETSC_MACHINE_EPSILON) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "Factorization in place: the residual is %g\n", (double)norm));
    ++*bad;
  }
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&F));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  count, bad           = 0;
  char      wanted[64], kind[64] = MATBCCOO;
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-wanted", wanted, sizeof(wanted), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-kind", kind, sizeof(kind), NULL));
  PetscCall(CheckFactorInPlace(&bad));
  PetscCall(ShapesCount(&count));
  for (PetscInt k = 0; k < count; k += 9) {
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
    PetscCall(CheckConversions(&ref, A, kind, &bad));
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
      args: -mat_seqaij_type seqaijcsrccuda -wanted seqaijcsrccuda -kind csrccuda
    test:
      suffix: bccoo
      args: -mat_seqaij_type seqaijbccoo -wanted seqaijbccoo
    # the users' name means the same
    test:
      suffix: users
      args: -mat_seqaij_type csrccuda -wanted seqaijcsrccuda -kind csrccuda
      nsize: {{1 2}}
    test:
      suffix: default
      args: -mat_seqaij_type bccoo -wanted seqaijbccoo -mat_form_store_at_once false
      nsize: 1
    test:
      suffix: gpu_default
      args: -mat_seqaij_type csrccuda -wanted seqaijcsrccuda -kind csrccuda -mat_form_store_at_once false
      nsize: {{1 2}}

TEST*/
