static char help[] = "Parts of PETSc that ask for aijcusparse by its name do the same with our types as with AIJ.\n\
  -verbose: copies between host and device in each second solve\n\
  -host_vectors: solves with vectors on the host\n\
  -preallocate: the matrix is preallocated, which for aijcusparse creates its blocks otherwise\n\n";

#include "systems.h"

/* Coupled fields on an n x n grid, symmetric and positive definite: the Kronecker product of a five-point stencil and a full matrix */
#define FIELDS 3

static PetscErrorCode Create(PetscBool aij, PetscInt n, Mat *A)
{
  const PetscInt di[] = {0, -1, 1, 0, 0}, dj[] = {0, 0, 0, -1, 1};
  PetscInt       first, last, rows, *sizes;
  PetscBool      preallocate = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetBlockSize(*A, FIELDS));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, FIELDS * n * n, FIELDS * n * n));
  if (aij) PetscCall(MatSetType(*A, MATAIJ));
  else PetscCall(MatSetFromOptions(*A));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-preallocate", &preallocate, NULL));
  if (preallocate) {
    PetscCall(MatSeqAIJSetPreallocation(*A, 5 * FIELDS, NULL));
    PetscCall(MatMPIAIJSetPreallocation(*A, 5 * FIELDS, NULL, 5 * FIELDS, NULL));
  } else PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt row = first / FIELDS; row < last / FIELDS; row++) {
    for (PetscInt k = 0; k < 5; k++) {
      const PetscInt i = row / n + di[k], j = row % n + dj[k], column = i * n + j;
      PetscScalar    block[FIELDS * FIELDS];

      if (i < 0 || i >= n || j < 0 || j >= n) continue;
      for (PetscInt s = 0; s < FIELDS; s++) {
        for (PetscInt t = 0; t < FIELDS; t++) block[s * FIELDS + t] = (k ? -1.0 : 4.25) * (s == t ? 2.0 + (PetscReal)s : 0.5);
      }
      PetscCall(MatSetValuesBlocked(*A, 1, &row, 1, &column, block, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  rows = (last - first) / FIELDS;
  PetscCall(PetscMalloc1(rows, &sizes));
  for (PetscInt r = 0; r < rows; r++) sizes[r] = FIELDS;
  PetscCall(MatSetVariableBlockSizes(*A, rows, sizes));
  PetscCall(PetscFree(sizes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The iterations and the copies between host and device of the second of two solves, and the solution with other values of the same pattern */
static PetscErrorCode Solve(Mat A, PCType type, PetscBool hostvectors, Vec x, PetscInt *its, PetscEventPerfInfo *info)
{
  KSP                ksp;
  PC                 pc;
  Vec                b, y;
  KSPConvergedReason reason;
  PetscLogStage      stage;
  static int         stages = 0;
  char               name[32];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "solve %d", stages++));
  PetscCall(PetscLogStageRegister(name, &stage));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, 1e3 * PETSC_SQRT_MACHINE_EPSILON * PETSC_SQRT_MACHINE_EPSILON, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(MatCreateVecs(A, &y, &b));
  if (hostvectors) {
    PetscInt n;

    PetscCall(VecGetLocalSize(b, &n));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&y));
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, n, PETSC_DETERMINE, &b));
    PetscCall(VecDuplicate(b, &y));
  }
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPSolve(ksp, b, y));
  PetscCall(PetscLogStagePush(stage));
  PetscCall(KSPSolve(ksp, b, y));
  PetscCall(PetscLogStagePop());
  PetscCall(PetscLogStageGetPerfInfo(stage, info));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "%s: %s", type, KSPConvergedReasons[reason]);
  PetscCall(MatScale(A, 3.0));
  PetscCall(KSPSolve(ksp, b, y));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "%s with other values: %s", type, KSPConvergedReasons[reason]);
  PetscCall(VecCopy(y, x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&y));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A MATIS whose local matrices are of A's sequential type, as PCBDDC needs it */
static PetscErrorCode Subdomains(Mat A, PetscBool is, Mat *B)
{
  PetscFunctionBegin;
  if (is) {
    PetscBool parallel;
    char      type[64];
    MatType   own;
    Mat       local;

    PetscCall(MatGetType(A, &own));
    PetscCall(PetscStrncpy(type, own, sizeof(type)));
    PetscCall(PetscStrncmp(type, "mpi", 3, &parallel));
    if (parallel) PetscCall(PetscMemcpy(type, "seq", 3));
    PetscCall(MatConvert(A, MATIS, MAT_INITIAL_MATRIX, B));
    PetscCall(MatISGetLocalMat(*B, &local));
    PetscCall(MatConvert(local, type, MAT_INPLACE_MATRIX, &local));
    PetscCall(MatISRestoreLocalMat(*B, &local));
  } else {
    PetscCall(PetscObjectReference((PetscObject)A));
    *B = A;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const struct {
    PCType    type;
    PetscBool is, differs; /* is: needs a MATIS; differs: is another preconditioner on the device than on the host */
  } pcs[] = {
    {PCPBJACOBI,  PETSC_FALSE, PETSC_FALSE},
    {PCVPBJACOBI, PETSC_FALSE, PETSC_FALSE},
#if PETSC_VERSION_GE(3, 26, 0)  /* before, on two processes, it diverges with AIJ too (3.22) */
    {PCBDDC,      PETSC_TRUE,  PETSC_FALSE},
#endif
#if PetscDefined(HAVE_HYPRE)
    {PCHYPRE,     PETSC_FALSE, PETSC_TRUE },
#endif
  };
  PetscInt  bad     = 0;
  PetscBool verbose = PETSC_FALSE, hostvectors = PETSC_FALSE, cusparse;
  MatType   type;
  Mat       A, reference, big, small;
  Vec       x, y, u, v, w, z;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-host_vectors", &hostvectors, NULL));
  PetscCall(Create(PETSC_FALSE, 24, &A));
  PetscCall(Create(PETSC_TRUE, 24, &reference));
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscStrendswith(type, MATAIJCUSPARSE, &cusparse));
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(MatCreateVecs(reference, &y, NULL));
  /* MATMAIJ, which interpolates fields, and its type; first, because it takes the values on the host for the newest (docs/use.md) */
  PetscCall(MatCreateMAIJ(A, FIELDS, &big));
  PetscCall(MatCreateMAIJ(reference, FIELDS, &small));
  PetscCall(MatCreateVecs(big, &u, &v));
  PetscCall(MatCreateVecs(small, &w, &z));
  PetscCall(VecSetRandom(u, NULL));
  PetscCall(VecCopy(u, w));
  for (int t = 0; t < 2; t++) {
    PetscCall(t ? MatMultTranspose(big, u, v) : MatMult(big, u, v));
    PetscCall(t ? MatMultTranspose(small, w, z) : MatMult(small, w, z));
    PetscCall(SystemCompare(t ? "MAIJ, transposed" : "MAIJ", v, z, &bad));
  }
  if (verbose) {
    MatType mtype;
    VecType vtype;

    PetscCall(MatGetType(big, &mtype));
    PetscCall(VecGetType(v, &vtype));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "MAIJ: %s, vectors %s\n", mtype, vtype));
  }
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&w));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&big));
  PetscCall(MatDestroy(&small));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(pcs); k++) {
    PetscEventPerfInfo info[2];
    PetscInt           its[2];
    Mat                B[2];

    if (pcs[k].is && cusparse) continue; /* PETSc's fails with aijcusparse */
    PetscCall(Subdomains(A, pcs[k].is, &B[0]));
    PetscCall(Subdomains(reference, pcs[k].is, &B[1]));
    PetscCall(Solve(B[0], pcs[k].type, hostvectors, x, &its[0], &info[0]));
    PetscCall(Solve(B[1], pcs[k].type, hostvectors, y, &its[1], &info[1]));
    if ((its[0] < 2 && !pcs[k].is) || (PetscAbsInt(its[0] - its[1]) > 1 && !pcs[k].differs)) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " iterations, AIJ %" PetscInt_FMT "\n", pcs[k].type, its[0], its[1]));
      bad++;
    }
#if PetscDefined(HAVE_DEVICE) /* without it PETSc does not count copies */
    if (verbose) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " iterations, %g copies (%g bytes) to the device, %g (%g) to the host, %g s\n", pcs[k].type, its[0], info[0].CpuToGpuCount, info[0].CpuToGpuSize, info[0].GpuToCpuCount,
                            info[0].GpuToCpuSize, info[0].time));
    }
#endif
    PetscCall(SystemCompare(pcs[k].type, x, y, &bad));
    for (int m = 0; m < 2; m++) PetscCall(MatDestroy(&B[m]));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " faults\n", bad));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&reference));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: systems.c

  testset:
    nsize: {{1 2}}
    output_file: output/names.out

    test:
      suffix: csrccuda
      args: -mat_type csrccuda -host_vectors {{true false}} -preallocate {{true false}}

    test:
      suffix: default
      args: -mat_type aijcsrccuda -host_vectors {{true false}} -preallocate -mat_form_store_at_once false

    test:
      suffix: gpu_replace
      args: -mat_type aijcusparse -mat_csrc_replace_aijcusparse -preallocate {{true false}}
      requires: cuda

    test:
      suffix: bccoo
      args: -mat_type bccoo

    test:
      suffix: aij
      args: -mat_type aij

TEST*/
