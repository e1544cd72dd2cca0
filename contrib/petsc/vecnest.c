/*
  VecNormBegin() and VecDotBegin() of a VECNEST return sums over the processes of what is summed already                    PETSc 3.26.1

  vecnest.c sets dot_local, norm_local and the others to the functions that communicate, so that VecNormEnd() and VecDotEnd() add the global
  values of all processes. Solvers that reduce in this way get wrong norms and products.

    mpiexec -n 2 ./vecnest
    VecNorm 10., VecNormBegin 14.1421; VecDot 100., VecDotBegin 200.

  The local functions should call those of the nested vectors: dot_local, norm_local and so on, and add what they return.
*/
#include <petscvec.h>

int main(int argc, char **argv)
{
  Vec         parts[2], v;
  PetscReal   norm, begun;
  PetscScalar dot, begundot;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, 50, &parts[k]));
    PetscCall(VecSet(parts[k], 1.0));
  }
  PetscCall(VecCreateNest(PETSC_COMM_WORLD, 2, NULL, parts, &v));
  PetscCall(VecNorm(v, NORM_2, &norm));
  PetscCall(VecDot(v, v, &dot));
  PetscCall(VecNormBegin(v, NORM_2, &begun));
  PetscCall(VecDotBegin(v, v, &begundot));
  PetscCall(VecNormEnd(v, NORM_2, &begun));
  PetscCall(VecDotEnd(v, v, &begundot));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "VecNorm %g, VecNormBegin %g; VecDot %g, VecDotBegin %g\n", (double)norm, (double)begun, (double)PetscRealPart(dot), (double)PetscRealPart(begundot)));
  PetscCall(VecDestroy(&v));
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&parts[k]));
  PetscCall(PetscFinalize());
  return begun == norm ? 0 : 1;
}
