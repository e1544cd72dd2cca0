/*
  PetscMergeMPIIntArray() reads beyond its second array, and may never return                                                PETSc 3.26.1

  Once all of bI[] is merged, the loop over the rest of aI[] still compares with bI[bn]. If what lies there is less than the next number of
  aI[], neither array goes on.

    ./mergempiint                 (does not end)

  The condition `!bn || aI[ai] <= bI[bi]` should be `bi == bn || aI[ai] <= bI[bi]`, and likewise in the loop over bI[].
*/
#include <petscsys.h>

int main(int argc, char **argv)
{
  const PetscMPIInt a[] = {1, 5}, b[] = {2, 0}; /* only the first of b[] is merged */
  PetscMPIInt      *l = NULL;
  PetscInt          n;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscMergeMPIIntArray(2, a, 1, b, &n, &l));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " numbers\n", n));
  PetscCall(PetscFree(l));
  PetscCall(PetscFinalize());
  return 0;
}
