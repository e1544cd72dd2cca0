static char help[] = "Products of A, A^T and A^H with vectors, over a table of shapes, entry by entry against plain loops.\n\n";

#include "reference.h"

int main(int argc, char **argv)
{
  PetscInt count, bad = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(ShapesCount(&count));
  for (PetscInt k = 0; k < count; k++) {
    Reference ref;
    Mat       A;

    PetscCall(ShapesGet(k, &ref));
    PetscCall(ReferenceToMat(&ref, PETSC_COMM_WORLD, &A));
    PetscCall(ReferenceCheckProducts(&ref, A, &bad));
    PetscCall(MatDestroy(&A));
    PetscCall(ReferenceDestroy(&ref));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " matrices, ", count));
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c shapes.c

  testset:
    output_file: output/products_1.out
    nsize: {{1 3}}
    test:
      suffix: types
      args: -mat_type {{aij csrccuda}}
    test:
      suffix: simd
      args: -mat_type bccoo
      nsize: {{1 2 3 4}}
    test:
      suffix: gpu
      nsize: {{1 2 3 4}}
      args: -mat_type csrccuda -mat_csrc_layout {{csrc balanced}}
    test:
      suffix: gpu_reproducible
      args: -mat_type csrccuda -mat_csrc_reproducible
    test:
      suffix: gpu_copies
      args: -mat_type csrccuda -mat_form_copies 2 -mat_csrc_reproducible {{0 1}}
    test:
      suffix: bccoo
      args: -mat_type bccoo -mat_bccoo_compression {{tuples csr}}
    test:
      suffix: copies
      args: -mat_type bccoo -mat_form_copies 2 -mat_bccoo_compression {{tuples simd csr}}
    test:
      suffix: csrccuda_copies
      args: -mat_type csrccuda -mat_form_copies 2 -mat_csrc_layout {{auto csrc}} -device_enable none
    test:
      suffix: released
      args: -mat_type bccoo -mat_form_release -mat_bccoo_compression {{tuples simd csr}}
    test:
      suffix: pieces
      args: -mat_type bccoo -pieces {{2 5}} -mat_form_copies {{1 2}}
    test:
      suffix: gpu_pieces
      args: -mat_type csrccuda -pieces {{2 5}}
    test:
      suffix: gpu_pieces_copies
      args: -mat_type csrccuda -pieces 3 -mat_form_copies 2 -mat_csrc_reproducible {{0 1}}

  # several processes in both patterns of exchange; on GPUs, those that have one each store into memory of the others
  testset:
    output_file: output/products_1.out
    nsize: {{2 3 4}}
    args: -exchange_pattern {{lists gather}}
    test:
      suffix: exchange
      args: -mat_type bccoo
    test:
      suffix: exchange_mpi
      args: -mat_type bccoo -mat_form_exchange mpi
    test:
      suffix: exchange_gpu
      args: -mat_type csrccuda -mat_form_exchange {{auto mpi}}
    test:
      suffix: exchange_gpu_reproducible
      args: -mat_type csrccuda -mat_csrc_reproducible

  # the default path: products of the type underneath, until the nonzeros are stored, and after that
  testset:
    output_file: output/products_1.out
    nsize: {{1 2 3}}
    args: -mat_form_store_at_once false
    test:
      suffix: default
      args: -mat_type {{csrccuda bccoo}}
    test:
      suffix: default_gather
      args: -mat_type bccoo -exchange_pattern gather
    test:
      suffix: gpu_default
      args: -mat_type csrccuda
      nsize: {{1 2}}

  # one thread, and more threads than some matrices have work
  testset:
    output_file: output/products_1.out
    args: -mat_type {{csrccuda bccoo}}
    test:
      suffix: 1thread
      env: OMP_NUM_THREADS=1
    test:
      suffix: 5threads
      env: OMP_NUM_THREADS=5

TEST*/
