static char help[] = "The number of OpenMP threads may change between products, and differ from the one a form was built with.\n\n";

#include "reference.h"
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process that fork() makes after a product with several threads can multiply, with the same bits */
static PetscErrorCode CheckFork(PetscInt *bad)
{
  Reference   ref;
  Mat         A;
  Vec         x, y, z;
  pid_t       child;
  int         status = 0;
  PetscBool   same;
  PetscScalar one = 1.0;

  PetscFunctionBeginUser;
  omp_set_num_threads(3);
  PetscCall(ShapesGet(0, &ref));
  for (PetscInt k = 1; ref.nnz < 100; k++) {
    PetscCall(ReferenceDestroy(&ref));
    PetscCall(ShapesGet(k, &ref));
  }
  PetscCall(ReferenceToMat(&ref, PETSC_COMM_SELF, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecSet(x, one / 3));
  PetscCall(MatMult(A, x, y));
  child = fork();
  PetscCheck(child >= 0, PETSC_COMM_SELF, PETSC_ERR_SYS, "fork() failed");
  if (!child) {
    (void)alarm(30);
    same = PETSC_FALSE;
    if (!MatMult(A, x, z) && !VecEqual(y, z, &same) && same) _exit(0);
    _exit(1);
  }
  (void)waitpid(child, &status, 0);
  if (status) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "a product after fork(): %s\n", WIFSIGNALED(status) ? "does not end" : "wrong"));
    (*bad)++;
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&A));
  PetscCall(ReferenceDestroy(&ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  PetscCall(CheckFork(&bad));
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
