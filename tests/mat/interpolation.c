static char help[] = "Interpolations of a DMDA with one field and with several, and what Galerkin makes of them, are AIJ's.\n\
  -ondevice: they are of our type, none is a MATMAIJ\n\n";

#include "reference.h"
#include <petscdmda.h>

/* The interpolation from a grid to its refinement, the scaling of restrictions, and a matrix of the refined grid, of the type of the options or of AIJ */
static PetscErrorCode Create(PetscInt dim, PetscInt fields, PetscBool aij, Mat *P, Vec *scale, Mat *A)
{
  DM       coarse, fine;
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(DMDACreate(PETSC_COMM_WORLD, &coarse));
  PetscCall(DMSetDimension(coarse, dim));
  PetscCall(DMDASetSizes(coarse, 5, dim > 1 ? 4 : 1, dim > 2 ? 3 : 1));
  PetscCall(DMDASetBoundaryType(coarse, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE));
  PetscCall(DMDASetDof(coarse, fields));
  PetscCall(DMDASetStencilType(coarse, DMDA_STENCIL_STAR));
  PetscCall(DMDASetStencilWidth(coarse, 1));
  if (aij) PetscCall(DMSetMatType(coarse, MATAIJ));
  else PetscCall(DMSetFromOptions(coarse));
  PetscCall(DMSetUp(coarse));
  PetscCall(DMRefine(coarse, PETSC_COMM_WORLD, &fine));
  PetscCall(DMCreateInterpolation(coarse, fine, P, scale));
  PetscCall(DMCreateMatrix(fine, A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt r = first; r < last; r++) PetscCall(MatSetValue(*A, r, r, ReferenceValue(7, r), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(DMDestroy(&fine));
  PetscCall(DMDestroy(&coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The reference of E, an AIJ matrix or a MATMAIJ */
static PetscErrorCode Refer(const char name[], Mat E, Reference *ref)
{
  Mat e;

  PetscFunctionBegin;
  PetscCall(MatConvert(E, MATAIJ, MAT_INITIAL_MATRIX, &e));
  PetscCall(ReferenceCreateFromMat(name, e, ref));
  PetscCall(MatDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Entries(const Reference *ref, Mat A, PetscReal tol, PetscInt *bad)
{
  Mat a;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &a));
  PetscCall(ReferenceCheckEntries(ref, a, tol, "entries", bad));
  PetscCall(MatDestroy(&a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool ondevice = PETSC_FALSE;
  PetscInt  bad      = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-ondevice", &ondevice, NULL));
  for (PetscInt dim = 1; dim <= 3; dim++) {
    for (PetscInt fields = 1; fields <= 3; fields += 2) {
      Mat       P, E, A, B, C, D;
      Vec       scale, escale;
      PetscReal difference;
      Reference ref;
      PetscBool ismaij;
      char      name[64];

      PetscCall(PetscSNPrintf(name, sizeof(name), "%" PetscInt_FMT " dimensions, %" PetscInt_FMT " fields", dim, fields));
      PetscCall(Create(dim, fields, PETSC_FALSE, &P, &scale, &A));
      PetscCall(Create(dim, fields, PETSC_TRUE, &E, &escale, &B));
      PetscCall(PetscObjectTypeCompareAny((PetscObject)P, &ismaij, MATSEQMAIJ, MATMPIMAIJ, ""));
      if (ismaij && ondevice) {
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: a MATMAIJ\n", name));
        bad++;
      }
      PetscCall(Refer(name, E, &ref));
      PetscCall(Entries(&ref, P, 0, &bad));
      if (!ismaij) PetscCall(ReferenceCheckProducts(&ref, P, &bad)); /* PETSc's own has not all of them */
      PetscCall(ReferenceDestroy(&ref));
      PetscCall(VecAXPY(escale, -1, scale));
      PetscCall(VecNorm(escale, NORM_2, &difference));
      if (!(difference <= 10 * PETSC_MACHINE_EPSILON)) {
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: scaling differs by %g\n", name, (double)difference));
        bad++;
      }
      PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_CURRENT, &C));
      PetscCall(MatPtAP(B, E, MAT_INITIAL_MATRIX, PETSC_CURRENT, &D));
      PetscCall(Refer(name, D, &ref));
      PetscCall(Entries(&ref, C, 100 * PETSC_MACHINE_EPSILON, &bad));
      PetscCall(ReferenceDestroy(&ref));
      PetscCall(MatDestroy(&C));
      PetscCall(MatDestroy(&D));
      PetscCall(MatDestroy(&A));
      PetscCall(MatDestroy(&B));
      PetscCall(MatDestroy(&P));
      PetscCall(MatDestroy(&E));
      PetscCall(VecDestroy(&scale));
      PetscCall(VecDestroy(&escale));
    }
  }
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c

  testset:
    nsize: {{1 3}}
    output_file: output/interpolation.out

    test:
      args: -dm_mat_type {{aij csrccuda aijcsrccuda aijbccoo}}

    test:
      suffix: gpu
      requires: cuda
      args: -dm_mat_type aijcsrccuda -dm_vec_type cuda -ondevice

TEST*/
