#include "check.h"
#include <slepc/private/svdimpl.h> /* the error estimates */
#include <petscblaslapack.h>

PetscErrorCode SVDCheckGetList(const char option[], PetscInt most, PetscInt list[], PetscInt *n)
{
  PetscBool set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, option, list, &most, &set));
  if (set) *n = most;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SVDCheckCreateDiagonal(PetscInt n, const PetscReal s[], Mat *A)
{
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = first; i < last; i++) PetscCall(MatSetValue(*A, i, i, s[i], INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SVDCheckCreateSolver(Mat A, PetscInt nsv, SVD *svd)
{
  PetscFunctionBegin;
  PetscCall(SVDCreate(PETSC_COMM_WORLD, svd));
  PetscCall(SVDSetOperators(*svd, A, NULL));
  PetscCall(SVDSetType(*svd, SVDBLOCKLANCZOS));
  PetscCall(SVDSetDimensions(*svd, nsv, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(SVDSetFromOptions(*svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest entry of X^H X - I, computed on the host, since single inner products would wait for a device thousands of times */
static PetscErrorCode Orthogonality(PetscInt n, Vec X[], PetscReal *worst)
{
  const PetscScalar *x, one = 1.0, zero = 0.0;
  PetscScalar       *a, *G;
  PetscInt           m;
  PetscBLASInt       bm, bn, ld;
  PetscMPIInt        count;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(X[0], &m));
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(PetscMax(m, 1), &ld));
  PetscCall(PetscMPIIntCast(n * n, &count));
  PetscCall(PetscMalloc2(m * n, &a, n * n, &G));
  for (PetscInt j = 0; j < n; j++) {
    PetscCall(VecGetArrayRead(X[j], &x));
    PetscCall(PetscArraycpy(a + j * m, x, m));
    PetscCall(VecRestoreArrayRead(X[j], &x));
  }
  PetscCallBLAS("BLASgemm", BLASgemm_("C", "N", &bn, &bn, &bm, &one, a, &ld, a, &ld, &zero, G, &bn));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, G, count, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)X[0])));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < n; i++) *worst = PetscMax(*worst, PetscAbsScalar(G[i + j * n] - (PetscScalar)(i == j ? 1.0 : 0.0)));
  }
  PetscCall(PetscFree2(a, G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Checks the first n triplets that svd returned. Residuals are computed by MatMult() and MatMultHermitianTranspose() with the
  user's matrix: they are independent of the solver's blocks.
*/
PetscErrorCode SVDCheckSolution(SVD svd, PetscInt n, const PetscReal expected[], SVDCheck *check)
{
  Mat       A;
  Vec      *U, *V, u, v;
  PetscInt  nconv;
  PetscReal largest = 0.0;

  PetscFunctionBegin;
  check->n     = 0;
  check->value = check->orthogonal = check->residual = check->estimate = 0.0;
  PetscCall(SVDGetOperators(svd, &A, NULL));
  PetscCall(SVDGetConverged(svd, &nconv));
  n = PetscMin(n, nconv);
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(A, &v, &u));
  PetscCall(VecDuplicateVecs(v, n, &V));
  PetscCall(VecDuplicateVecs(u, n, &U));
  for (PetscInt i = 0; i < n; i++) {
    PetscReal sigma, res1, res2, res, err;

    PetscCall(SVDGetSingularTriplet(svd, i, &sigma, U[i], V[i]));
    if (!i) largest = PetscMax(sigma, expected ? expected[0] : 0.0);
    if (expected && largest > 0.0) check->value = PetscMax(check->value, PetscAbsReal(sigma - expected[i]) / largest);
    PetscCall(MatMult(A, V[i], u));
    PetscCall(VecAXPY(u, -sigma, U[i]));
    PetscCall(VecNorm(u, NORM_2, &res1));
    PetscCall(MatMultHermitianTranspose(A, U[i], v));
    PetscCall(VecAXPY(v, -sigma, V[i]));
    PetscCall(VecNorm(v, NORM_2, &res2));
    res = SlepcAbs(res1, res2);
    err = svd->errest[svd->perm[i]];
    if (largest > 0.0) {
      const PetscReal measure = PetscMax(sigma, 1e-5 * largest);

      check->residual = PetscMax(check->residual, res / measure);
      if (res > 1e-12 * largest && sigma > 1e-5 * largest) check->estimate = PetscMax(check->estimate, res / sigma / err);
    }
  }
  PetscCall(Orthogonality(n, U, &check->orthogonal));
  PetscCall(Orthogonality(n, V, &check->orthogonal));
  check->n = n;
  PetscCall(VecDestroyVecs(n, &U));
  PetscCall(VecDestroyVecs(n, &V));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets the seed of a solve, as users do */
PetscErrorCode SVDSetSeed(SVD svd, PetscInt64 seed)
{
  BV          V;
  PetscRandom random;

  PetscFunctionBegin;
  PetscCall(SVDGetBV(svd, &V, NULL));
  PetscCall(BVGetRandomContext(V, &random));
  PetscCall(PetscRandomSetSeed(random, seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}
