static char help[] = "The number of OpenMP threads may change between products, and differ from the one a form was built with.\n\n";

#include "reference.h"
#include <omp.h>

int main(int argc, char **argv)
{
  const int threads[] = {4, 1, 7, 2, 4};
  PetscInt  count, bad = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(ShapesCount(&count));
  for (PetscInt k = 0; k < count; k += 3) {
    Reference ref;
    Mat       A, X, Y = NULL;

    PetscCall(ShapesGet(k, &ref));
    PetscCall(ReferenceToMat(&ref, PETSC_COMM_SELF, &A));
    PetscCall(ReferenceDenseCreate(PETSC_COMM_SELF, ref.m, ref.m, 3, PETSC_FALSE, &X));
    PetscCall(ReferenceDenseFill(X, 1));
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(threads); t++) {
      omp_set_num_threads(threads[t]);
      PetscCall(ReferenceCheckProducts(&ref, A, &bad));
      PetscCall(MatTransposeMatMult(A, X, t ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, PETSC_CURRENT, &Y));
      PetscCall(ReferenceCheckDense(&ref, REFERENCE_T, 1, Y, "MatTransposeMatMult", &bad));
      if (t == 2) { /* new values for a form that was built by another number of threads */
        PetscCall(MatScale(A, 2));
        for (PetscInt l = 0; l < ref.nnz; l++) ref.a[l] *= 2;
      }
    }
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&Y));
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
    requires: openmp

  test:
    args: -mat_type {{csrccuda bccoo}} -device_enable none -options_left 0

TEST*/
