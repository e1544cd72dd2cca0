/*
  VecMDot() of more than 32 vectors of type cuda can return a wrong first product                         PETSc 3.26.1, a GPU, real scalars

  sum_kernel of vecseqcupm_impl.hpp adds 128 partial sums for each vector, results[128 i ...] for vector i, and then stores the sum of
  vector i in results[i]. Those of vectors 1 to 127 are among the partial sums of vector 0. With fewer than 128 vectors threads do not wait
  for each other, so that a warp that is done before the first one overwrites what that one has not read yet. The last warp, if it is not
  full, has less to load than the others and is done first. With more than 256 vectors there are several thread blocks, and sums of the
  second one are among the partial sums of vectors 2 and 3. The kernel should store its sums in another array.

    ./mdotrace                says how many first products are wrong, should say 0
*/
#include <petscvec.h>

int main(int argc, char **argv)
{
  Vec            x, *y;
  PetscScalar   *many, one;
  const PetscInt n = 192, most = 127;
  PetscInt       wrong = 0, all = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &x));
  PetscCall(VecSetSizes(x, n, PETSC_DETERMINE));
  PetscCall(VecSetType(x, VECCUDA));
  PetscCall(VecDuplicateVecs(x, most, &y));
  PetscCall(VecSetRandom(x, NULL));
  for (PetscInt i = 0; i < most; i++) PetscCall(VecSetRandom(y[i], NULL));
  PetscCall(VecDot(x, y[0], &one));
  PetscCall(PetscMalloc1(most, &many));
  for (PetscInt times = 0; times < 100; times++) {
    for (PetscInt nv = 2; nv <= most; nv++) {
      PetscCall(VecMDot(x, nv, y, many));
      all++;
      if (PetscAbsScalar(many[0] - one) > 1e-10 * PetscAbsScalar(one)) wrong++;
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " of %" PetscInt_FMT " first products are wrong\n", wrong, all));
  PetscCall(PetscFree(many));
  PetscCall(VecDestroyVecs(most, &y));
  PetscCall(VecDestroy(&x));
  PetscCall(PetscFinalize());
  return wrong ? 1 : 0;
}
