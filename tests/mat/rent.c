static char help[] = "When nonzeros are stored, or get new values: not before as many products as would pay for it, or at once; in parallel at the same product on all processes.\n\n";

#include "reference.h"

#define MANY 10000

/* The matrix, and a plain AIJ matrix with the same history */
static Mat         A, B;
static Vec         x, u;
static PetscInt    bad = 0;
static PetscBool   rents; /* whether the first products are those of the type underneath ... */
static PetscBool   host;  /* ... and this is AIJ, on the host */
static PetscMPIInt size;

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

typedef PetscErrorCode (*Mult)(Mat, Vec, Vec);
typedef PetscErrorCode (*MultAdd)(Mat, Vec, Vec, Vec);
static const struct {
  const char *name;
  Mult        mult;
  MultAdd     multadd;
  PetscBool   transpose;
} products[] = {
  {"A x",   MatMult,                   MatMultAdd,                   PETSC_FALSE},
  {"A^T u", MatMultTranspose,          MatMultTransposeAdd,          PETSC_TRUE },
  {"A^H u", MatMultHermitianTranspose, MatMultHermitianTransposeAdd, PETSC_TRUE },
};

/* Makes and checks product number k: without addition, added to another vector, or added to the output */
static PetscErrorCode Product(const char what[], int op, PetscInt k)
{
  PetscReal error, norm;
  Vec       r[3]; /* the result of A, that of B, the vector that is added */
  Vec       in = products[op].transpose ? u : x, out = products[op].transpose ? x : u;
  const Mat mats[] = {A, B};

  PetscFunctionBegin;
  for (int m = 0; m < 3; m++) PetscCall(VecDuplicate(out, &r[m]));
  PetscCall(ReferenceFillVec(r[2], 4));
  for (int m = 0; m < 2; m++) {
    PetscCall(VecCopy(r[2], r[m]));
    if (k % 3 == 0) PetscCall((*products[op].mult)(mats[m], in, r[m]));
    else PetscCall((*products[op].multadd)(mats[m], in, r[k % 3 == 1 ? 2 : m], r[m]));
  }
  PetscCall(VecNorm(r[1], NORM_INFINITY, &norm));
  PetscCall(VecAXPY(r[0], -1, r[1]));
  PetscCall(VecNorm(r[0], NORM_INFINITY, &error));
  if (!(error <= 20 * PETSC_MACHINE_EPSILON * norm) || norm == 0) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s differs by %g, norm %g\n", what, products[op].name, (double)error, (double)norm));
    bad++;
  }
  for (int m = 0; m < 3; m++) PetscCall(VecDestroy(&r[m]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds the number of the product at which nonzeros are stored or get new values; it must be between `least` and `most`, and the same on all processes */
static PetscErrorCode Expect(const char what[], int op, PetscInt least, PetscInt most)
{
  PetscInt k = 0, any[2]; /* whether some process has stored, and the negative of whether all have */
  int      before, now;

  PetscFunctionBegin;
  if (!rents || (host && PetscDefined(USE_COMPLEX) && op == 2)) least = most = 1; /* AIJ has no A^H u */
  PetscCall(CountStored(&before));
  do {
    PetscCall(Product(what, op, k++));
    PetscCall(CountStored(&now));
    any[0] = now > before ? 1 : 0;
    any[1] = -any[0];
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, any, 2, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  } while (!any[0] && k < MANY);
  if (k < least || k > most || any[0] != -any[1]) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: stored at %s number %" PetscInt_FMT " on %s processes, not from %" PetscInt_FMT " to %" PetscInt_FMT "\n", what, products[op].name, k, any[0] == -any[1] ? "all" : "some", least, most));
    bad++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ExpectStored(const char what[], int before)
{
  int now;

  PetscFunctionBegin;
  PetscCall(CountStored(&now));
  if (size > 1 ? now == before : now != before + 1) { /* in parallel there may be two matrices to store */
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: stored %d times, not once\n", what, now - before));
    bad++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other values than before, of two kinds in turn, so that they do not grow */
static PetscErrorCode NewValues(void)
{
  static PetscScalar a = 2;

  PetscFunctionBegin;
  PetscCall(MatScale(A, a));
  PetscCall(MatScale(B, a));
  a = (PetscScalar)1 / a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes A a matrix without a stored form, with its CSR on the device if that is used */
static PetscErrorCode NewMatrix(void)
{
  Mat D;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &D));
  PetscCall(MatDestroy(&A));
  A = D;
  PetscCall(MatScale(A, (PetscScalar)0.5));
  PetscCall(MatScale(B, (PetscScalar)0.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultiplyDense(void)
{
  PetscInt n, N;
  int      before;
  Mat      X, Y;

  PetscFunctionBegin;
  PetscCall(CountStored(&before));
  PetscCall(MatGetLocalSize(A, NULL, &n));
  PetscCall(MatGetSize(A, NULL, &N));
  PetscCall(ReferenceDenseCreate(PETSC_COMM_WORLD, n, N, 4, PETSC_FALSE, &X));
  PetscCall(ReferenceDenseFill(X, 5));
  PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &Y));
  PetscCall(ExpectStored("a dense matrix", before));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Sequential(void)
{
  PetscInt m, n, epochs = 0;
  int      before, now;
  Vec      v[2];

  PetscFunctionBegin;
  /* values that are only on the host are stored when they are copied to the device */
  PetscCall(Expect("values on the host", 0, host ? 16 : 1, host ? 25 : 1));

  PetscCall(NewValues());
  PetscCall(Product("new values", 0, 0));
  PetscCall(NewValues());
  PetscCall(Expect("new values after few products", 0, 2, 20));
  for (PetscInt k = 0; k < 20; k++) PetscCall(Product("stored values", 0, k));
  PetscCall(NewValues());
  PetscCall(Expect("new values after many products", 0, 1, 1));
  PetscCall(NewValues());
  PetscCall(Expect("new values after one product", 0, 2, 20));
  PetscCall(NewValues());
  PetscCall(Product("new values", 0, 0));
  PetscCall(NewValues());
  PetscCall(Expect("new values", 1, host ? 2 : 1, host ? 20 : 1));
  PetscCall(NewValues());
  PetscCall(Expect("new values after a product with A^T", 0, 1, 1));

  for (int op = 0; op < 3; op++) {
    PetscCall(NewMatrix());
    PetscCall(Expect("a new matrix", op, host ? 16 : op ? 30 : 300, host ? 25 : op ? 35 : 310));
  }

  /* many times new values, each with two products, which never pay */
  PetscCall(NewMatrix());
  PetscCall(CountStored(&before));
  for (PetscInt k = 0; k < 200 && rents; k++) {
    PetscCall(Product("values that change", 0, k));
    PetscCall(Product("values that change", 0, k + 1));
    PetscCall(NewValues());
  }
  PetscCall(CountStored(&now));
  if (now != before) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "values that change after two products: stored %d times\n", now - before));
    bad++;
  }

  /* likewise with ten products, twenty on the host */
  PetscCall(NewMatrix());
  PetscCall(CountStored(&before));
  do {
    for (PetscInt k = 0; k < (host ? 20 : 10); k++) PetscCall(Product("values that change", 0, k));
    PetscCall(NewValues());
    PetscCall(CountStored(&now));
  } while (now == before && ++epochs < MANY);
  if (rents ? epochs < (host ? 0 : 5) || epochs > (host ? 20 : 200) : epochs) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "values that change: stored after %" PetscInt_FMT " times so many products\n", epochs));
    bad++;
  }

  PetscCall(NewMatrix());
  PetscCall(CountStored(&before));
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, n, &v[0]));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, m, &v[1]));
  PetscCall(VecSet(v[0], 2));
  PetscCall(MatMult(A, v[0], v[1]));
  if (!host) PetscCall(ExpectStored("vectors on the host", before));
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&v[k]));

  PetscCall(NewMatrix());
  PetscCall(MultiplyDense());

  PetscCall(NewMatrix());
  PetscCall(PetscOptionsSetValue(NULL, "-mat_form_copies", "auto"));
  PetscCall(MatSetFromOptions(A));
  PetscCall(CountStored(&before));
  PetscCall(Product("two copies", 0, 0));
  PetscCall(ExpectStored("two copies", before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On devices all processes decide alike; on the host each for its blocks, which are equal here */
static PetscErrorCode Parallel(void)
{
  int before, now;

  PetscFunctionBegin;
  /* on devices stored at once, but where connecting them costs more than all else */
  PetscCall(Expect("values on the host", 0, host ? 16 : size > 2 ? 2 : 1, host ? 25 : size > 2 ? MANY : 1));
  for (int op = 0; op < 2; op++) {
    PetscCall(NewMatrix());
    PetscCall(Expect("a new matrix", op, host ? 16 : op ? 15 : 75, host ? 25 : op ? 20 : 80));
    for (PetscInt k = 0; k < 3; k++) PetscCall(Product("a new matrix", 1 - op, k));
    PetscCall(NewValues());
    PetscCall(Expect("new values", op, 1, 1));
    for (PetscInt k = 0; k < 3; k++) PetscCall(Product("new values", 1 - op, k));
  }

  /* many times new values, each with one product, which never pays */
  PetscCall(NewMatrix());
  PetscCall(CountStored(&before));
  for (PetscInt k = 0; k < 30; k++) {
    PetscCall(Product("values that change", 0, k));
    PetscCall(NewValues());
  }
  PetscCall(CountStored(&now));
  if (now != before) bad++;
  PetscCall(MultiplyDense());
  for (PetscInt k = 0; k < 3; k++) PetscCall(Product("after a dense matrix", 1, k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt n = 40000;
  PetscInt       m = 50000, first, last, far = 11;
  char           type[64] = "csrccuda";

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-far", &far, NULL)); /* how far nonzeros are from the diagonal */
  if (size > 1) m = n;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, m, n, 6, NULL, 6, NULL, &B));
  PetscCall(MatGetOwnershipRange(B, &first, &last));
  for (PetscInt r = PetscMax(first, size > 1 ? 0 : 7); r < last; r++) { /* on one process the first rows are empty */
    for (PetscInt k = 0; k < 6; k++) PetscCall(MatSetValue(B, r, (r + k * k * far) % n, ReferenceValue(1, 6 * r + k), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, sizeof(type), NULL));
  PetscCall(MatConvert(B, type, MAT_INITIAL_MATRIX, &A));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatCreateVecs(A, &x, &u));
  PetscCall(ReferenceFillVec(x, 2));
  PetscCall(ReferenceFillVec(u, 3));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-rents", &rents, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-host", &host, NULL));
  if (size > 1) PetscCall(Parallel());
  else PetscCall(Sequential());

  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&u));
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
    args: -options_left 0
    test:
      suffix: atonce
      args: -type {{csrccuda bccoo}} -device_enable none -mat_form_store_at_once true
    test:
      suffix: host
      env: OMP_NUM_THREADS=2
      args: -type {{csrccuda bccoo}} -device_enable none -mat_form_store_at_once false -rents -host
    test:
      suffix: host_1thread
      env: OMP_NUM_THREADS=1
      args: -type {{csrccuda bccoo}} -device_enable none -mat_form_store_at_once false -rents -host
    test:
      suffix: host_parallel
      env: OMP_NUM_THREADS=1
      nsize: {{2 3}}
      args: -type {{csrccuda bccoo}} -device_enable none -mat_form_store_at_once false -rents -host
    test:
      suffix: gpu
      args: -mat_form_store_at_once false -rents
    test:
      suffix: gpu_2
      nsize: 2
      args: -mat_form_store_at_once false -rents -far {{11 1777}}
    test:
      suffix: gpu_3
      nsize: 3
      args: -mat_form_store_at_once false -rents -far {{11 1777}}

TEST*/
