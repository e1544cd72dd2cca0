static char help[] = "MatSetValuesCOO() with the coordinates and the values in device memory.\n\n";

#include "reference.h"
#include <petscdevice_cuda.h>

static PetscErrorCode ToDevice(const void *host, size_t bytes, void *device)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc((void **)device, bytes + 1));
  PetscCallCUDA(cudaMemcpy(*(void **)device, host, bytes, cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt count, bad = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(ShapesCount(&count));
  for (PetscInt k = 0; k < count; k += 7) {
    Reference    ref;
    Mat          A, B;
    PetscInt     first, last, n = 0, *i, *j, *di, *dj;
    PetscScalar *v, *dv;

    PetscCall(ShapesGet(k, &ref));
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, ref.m, ref.n));
    PetscCall(MatSetFromOptions(A));
    PetscCall(MatSetUp(A));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    PetscCall(PetscMalloc3(2 * ref.nnz, &i, 2 * ref.nnz, &j, 2 * ref.nnz, &v));
    for (int half = 0; half < 2; half++) { /* sums of two halves are exact */
      for (PetscInt r = first; r < last; r++) {
        for (PetscInt l = ref.i[r]; l < ref.i[r + 1]; l++) {
          i[n]   = r;
          j[n]   = ref.j[l];
          v[n++] = ref.a[l] / (PetscScalar)2.0;
        }
      }
    }
    PetscCall(ToDevice(i, n * sizeof(*i), &di));
    PetscCall(ToDevice(j, n * sizeof(*j), &dj));
    PetscCall(ToDevice(v, n * sizeof(*v), &dv));
    PetscCall(MatSetPreallocationCOO(A, n, di, dj));
    PetscCall(MatSetValuesCOO(A, dv, INSERT_VALUES));
    PetscCall(ReferenceCheckProducts(&ref, A, &bad));
    /* -a + a + a */
    PetscCall(MatScale(A, -1));
    PetscCall(MatSetValuesCOO(A, dv, ADD_VALUES));
    PetscCall(MatSetValuesCOO(A, v, ADD_VALUES));
    PetscCall(ReferenceCheckProducts(&ref, A, &bad));
    /* the duplicate has the coordinates too */
    PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &B));
    PetscCall(MatSetValuesCOO(B, dv, INSERT_VALUES));
    PetscCall(ReferenceCheckProducts(&ref, B, &bad));
    PetscCall(MatDestroy(&B));
    PetscCallCUDA(cudaFree(di));
    PetscCallCUDA(cudaFree(dj));
    PetscCallCUDA(cudaFree(dv));
    PetscCall(PetscFree3(i, j, v));
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
    requires: cuda

  test:
    suffix: gpu
    output_file: output/coodevice_1.out
    nsize: {{1 2}}
    args: -mat_type {{csrccuda bccoo}} -mat_form_store_at_once {{true false}}

TEST*/
