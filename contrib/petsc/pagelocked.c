/*
  Memory on the host of parallel vectors of type cuda                                                   PETSc 3.26.1, a GPU, 2 processes

  VecSetType(v, VECCUDA) allocates page-locked memory on the host, sets it to zero and does the same on the device, if v is parallel; a sequential
  vector gets memory on either side when it is first needed. Page-locked memory takes 16 ms for 32 MB to allocate, and 5 ms to free, so that MatCreateVecs()
  of a parallel matrix takes longer than a hundred products. CreateMPICUPM_() in vecmpicupm.hpp has allocate_missing = PETSC_TRUE by default, where
  VecSeq_CUPM's function passes PETSC_FALSE.

    mpiexec -n 2 ./pagelocked              milliseconds for each vector: by VecSetType(), by VecDuplicate(), which allocates nothing

  allocate_missing should be PETSC_FALSE there too.
*/
#include <petscvec.h>

int main(int argc, char **argv)
{
  Vec            v, w;
  PetscLogDouble start, set, duplicate;
  const PetscInt n = 4000000, times = 10;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  for (PetscInt k = 0; k < 2; k++) { /* the first time CUDA begins */
    PetscCall(PetscTime(&start));
    for (PetscInt t = 0; t < times; t++) {
      PetscCall(VecCreate(PETSC_COMM_WORLD, &v));
      PetscCall(VecSetSizes(v, n, PETSC_DETERMINE));
      PetscCall(VecSetType(v, VECCUDA));
      if (t < times - 1) PetscCall(VecDestroy(&v));
    }
    PetscCall(PetscTime(&set));
    for (PetscInt t = 0; t < times; t++) {
      PetscCall(VecDuplicate(v, &w));
      PetscCall(VecDestroy(&w));
    }
    PetscCall(PetscTime(&duplicate));
    PetscCall(VecDestroy(&v));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "VecSetType() %.2f ms, VecDuplicate() %.2f ms\n", (set - start) * 1e3 / times, (duplicate - set) * 1e3 / times));
  PetscCall(PetscFinalize());
  return 0;
}
