static char help[] = "Preconditioners that solve with submatrices do the same with our types as with AIJ, also where these are factored in place, and then\n\
filled again with other values.\n\n";

#include "systems.h"

/* Two solves, the second one with 3 times the matrix; x: the solution of the second */
static PetscErrorCode Solve(Mat A, PCType type, const char prefix[], PetscInt its[2], Vec x)
{
  KSP                ksp;
  PC                 pc;
  Vec                b;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, 100 * PETSC_SQRT_MACHINE_EPSILON * PETSC_SQRT_MACHINE_EPSILON, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(MatCreateVecs(A, NULL, &b));
  PetscCall(SystemVec(1, b));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "%s, -%s: solve %d: %s", type, prefix, k, KSPConvergedReasons[reason]);
    if (!k) PetscCall(MatScale(A, 3.0));
  }
  PetscCall(MatScale(A, 1 / (PetscReal)3));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /* PETSc's PCGASM does not fill factored submatrices again, and PCBJACOBI would factor the matrix itself in place */
  const struct {
    PCType      type;
    const char *prefix;
  } pcs[] = {
    {PCASM,     "copy_" },
#if PETSC_VERSION_GE(3, 26, 0)  /* before, PETSc's PCASM does not fill them again either, and loses memory */
    {PCASM,     "place_"},
#endif
    {PCGASM,    "copy_" },
    {PCBJACOBI, "copy_" }
  };
  PetscInt bad = 0;
  Mat      A, B;
  Vec      x, y;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsInsertString(NULL, "-copy_sub_pc_type ilu"));
#if PETSC_VERSION_GE(3, 26, 0)
  PetscCall(PetscOptionsInsertString(NULL, "-place_sub_pc_type ilu -place_sub_pc_factor_in_place"));
#endif
  PetscCall(SystemConvection(24, PETSC_FALSE, &A));
  PetscCall(SystemConvection(24, PETSC_TRUE, &B));
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(MatCreateVecs(B, &y, NULL));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(pcs); t++) {
    PetscInt its[2], aijits[2];
    char     what[32];

    PetscCall(Solve(A, pcs[t].type, pcs[t].prefix, its, x));
    PetscCall(Solve(B, pcs[t].type, pcs[t].prefix, aijits, y));
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, -%s", pcs[t].type, pcs[t].prefix));
    PetscCall(SystemCompare(what, x, y, &bad));
    for (int k = 0; k < 2; k++) {
      if (PetscAbsInt(its[k] - aijits[k]) <= 1) continue;
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: solve %d: %" PetscInt_FMT " iterations, AIJ %" PetscInt_FMT "\n", what, k, its[k], aijits[k]));
      bad++;
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " faults\n", bad));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: systems.c

  test:
    args: -mat_type {{csrccuda bccoo}}
    nsize: {{1 3}}

  test:
    suffix: default
    args: -mat_type {{csrccuda bccoo}} -mat_form_store_at_once false
    nsize: {{1 2}}
    output_file: output/subdomains_1.out

TEST*/
