/*
  VecCopy() to a vector of type cuda that is bound to the host is lost                                       PETSc 3.26.1, a GPU

  VecBindToCPU() leaves a vector whose values were on the device, as a new vector's zeros are, marked as current on both
  sides (PETSC_OFFLOAD_BOTH). VecSeq_CUPM::CopyAsync() looks at boundtocpu only where the result is marked as the host's;
  otherwise it copies to the device. But a bound vector has the host's operations, which do not look at the device.
  CopyAsync() should look at boundtocpu first.

  MatFDColoringCreate() binds its work vectors, and MatFDColoringSetF(), which SNESComputeJacobianDefaultColor() calls,
  copies F(x) to one of them. The Jacobian then differs by F(x) / dx in all entries of the rows where F(x) is not zero:
  ts ex26 -dm_mat_type aijcusparse -dm_vec_type cuda on four processes does not converge.

    ./boundcopy               says 0, should say 1
*/
#include <petscvec.h>

int main(int argc, char **argv)
{
  Vec                x, y;
  const PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &x));
  PetscCall(VecSetSizes(x, PETSC_DECIDE, 100));
  PetscCall(VecSetType(x, VECCUDA));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(y, 0.0)); /* as of a vector from VecSetType() or MatCreateVecs() */
  PetscCall(VecBindToCPU(y, PETSC_TRUE));
  PetscCall(VecSet(x, 1.0));
  PetscCall(VecCopy(x, y));
  PetscCall(VecGetArrayRead(y, &a)); /* VecNorm() would return the norm that VecSet() has noted */
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the first entry of the copy is %g\n", (double)PetscRealPart(a[0])));
  PetscCall(VecRestoreArrayRead(y, &a));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(PetscFinalize());
  return 0;
}
