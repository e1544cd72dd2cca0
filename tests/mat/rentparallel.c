static char help[] = "A parallel matrix on devices: its first products are those of mpiaijcusparse, until all processes store the nonzeros at the same product.\n\n";

#include "reference.h"

#define MANY 2000

static Mat      A, B; /* the matrix, and a plain AIJ matrix with the same values */
static PetscInt bad = 0;

/* How often nonzeros were stored, or got new values, on this process */
static PetscErrorCode CountStored(int *count)
{
  int refilled;

  PetscFunctionBegin;
  PetscCall(ReferenceCountEvents("MatFormBuild", count));
  PetscCall(ReferenceCountEvents("MatFormSetVals", &refilled));
  *count += refilled;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes and checks product number k: A x or A^T x, without addition, added to another vector, or added to the output */
static PetscErrorCode Product(const char what[], PetscBool transpose, PetscInt k)
{
  const Mat mats[] = {A, B};
  Vec       in, r[3]; /* the result of A, that of B, the vector that is added */
  PetscReal error, norm;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, transpose ? &r[0] : &in, transpose ? &in : &r[0]));
  for (int m = 1; m < 3; m++) PetscCall(VecDuplicate(r[0], &r[m]));
  PetscCall(ReferenceFillVec(in, 3));
  PetscCall(ReferenceFillVec(r[2], 4));
  for (int m = 0; m < 2; m++) {
    const Vec z = r[k % 3 == 1 ? 2 : m];

    PetscCall(VecCopy(r[2], r[m]));
    if (k % 3 == 0) PetscCall(transpose ? MatMultTranspose(mats[m], in, r[m]) : MatMult(mats[m], in, r[m]));
    else PetscCall(transpose ? MatMultTransposeAdd(mats[m], in, z, r[m]) : MatMultAdd(mats[m], in, z, r[m]));
  }
  PetscCall(VecNorm(r[1], NORM_INFINITY, &norm));
  PetscCall(VecAXPY(r[0], -1, r[1]));
  PetscCall(VecNorm(r[0], NORM_INFINITY, &error));
  if (!(error <= 20 * PETSC_MACHINE_EPSILON * norm) || norm == 0) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: product %" PetscInt_FMT " differs by %g, norm %g\n", what, k, (double)error, (double)norm));
    bad++;
  }
  PetscCall(VecDestroy(&in));
  for (int m = 0; m < 3; m++) PetscCall(VecDestroy(&r[m]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes products until nonzeros are stored, on all processes at the same product, whose number must be between `least` and `most` */
static PetscErrorCode Expect(const char what[], PetscBool transpose, PetscInt least, PetscInt most)
{
  PetscInt k = 0, any[2];
  int      before, now;

  PetscFunctionBegin;
  PetscCall(CountStored(&before));
  do {
    PetscCall(Product(what, transpose, k++));
    PetscCall(CountStored(&now));
    any[0] = now > before ? 1 : 0;
    any[1] = -any[0];
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, any, 2, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  } while (!any[0] && k < MANY);
  if (k < least || k > most || any[0] != -any[1]) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: stored at product %" PetscInt_FMT " on %s processes, not from %" PetscInt_FMT " to %" PetscInt_FMT "\n", what, k, any[0] == -any[1] ? "all" : "some", least, most));
    bad++;
  }
  for (PetscInt l = 0; l < 3; l++) PetscCall(Product(what, transpose ? PETSC_FALSE : PETSC_TRUE, l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, on the device */
static PetscErrorCode NewValues(PetscScalar a)
{
  PetscFunctionBegin;
  PetscCall(MatScale(A, a));
  PetscCall(MatScale(B, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes A a matrix without stored nonzeros, with its CSR on the device */
static PetscErrorCode NewMatrix(void)
{
  Mat D;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &D));
  PetscCall(MatDestroy(&A));
  A = D;
  PetscCall(NewValues((PetscScalar)0.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt n = 40000;
  PetscInt       first, last, far = 11;
  int            before, now;
  PetscMPIInt    size;
  Mat            X, Y;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-far", &far, NULL)); /* how far nonzeros are from the diagonal */
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 6, NULL, 6, NULL, &B));
  PetscCall(MatGetOwnershipRange(B, &first, &last));
  for (PetscInt r = first; r < last; r++) {
    for (PetscInt k = 0; k < 6; k++) PetscCall(MatSetValue(B, r, (r + k * k * far) % n, ReferenceValue(1, 6 * r + k), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatConvert(B, "csrccuda", MAT_INITIAL_MATRIX, &A));

  /* stored at once, but where connecting the devices costs more than all else */
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Expect("values on the host", PETSC_FALSE, size > 2 ? 2 : 1, size > 2 ? MANY : 1));
  for (int transpose = 0; transpose < 2; transpose++) {
    PetscCall(NewMatrix());
    PetscCall(Expect("a new matrix", transpose ? PETSC_TRUE : PETSC_FALSE, transpose ? 15 : 75, transpose ? 20 : 80));
    PetscCall(NewValues(2));
    PetscCall(Expect("new values", transpose ? PETSC_TRUE : PETSC_FALSE, 1, 1));
  }

  /* many times new values, each with one product, which never pays */
  PetscCall(NewMatrix());
  PetscCall(CountStored(&before));
  for (PetscInt k = 0; k < 30; k++) {
    PetscCall(Product("values that change", PETSC_FALSE, k));
    PetscCall(NewValues(k % 2 ? (PetscScalar)0.5 : (PetscScalar)2));
  }
  PetscCall(CountStored(&now));
  if (now != before) bad++;

  /* a dense matrix has the nonzeros stored */
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, 4, NULL, &X));
  PetscCall(ReferenceDenseFill(X, 5));
  PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &Y));
  PetscCall(CountStored(&now));
  if (now == before) bad++;
  for (PetscInt k = 0; k < 3; k++) PetscCall(Product("after a dense matrix", PETSC_TRUE, k));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));

  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c

  testset:
    output_file: output/rent_1.out
    args: -mat_form_store_at_once false -far {{11 1777}}
    test:
      suffix: gpu_2
      nsize: 2
    test:
      suffix: gpu_3
      nsize: 3

TEST*/
