static char help[] = "When nonzeros are stored, or get new values: not before as many products as would pay for it, or at once.\n\n";

#include "reference.h"

#define MANY 10000

/* The matrix, and a plain AIJ matrix with the same history */
static Mat       A, B;
static Vec       x, u;
static PetscInt  bad = 0;
static PetscBool rents; /* whether the first products are those of the type underneath ... */
static PetscBool host;  /* ... and this is AIJ, on the host */

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
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s differs by %g, norm %g\n", what, products[op].name, (double)error, (double)norm));
    bad++;
  }
  for (int m = 0; m < 3; m++) PetscCall(VecDestroy(&r[m]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds the number of the product at which nonzeros are stored or get new values; it must be between `least` and `most` */
static PetscErrorCode Expect(const char what[], int op, PetscInt least, PetscInt most)
{
  PetscInt k = 0;
  int      before, now;

  PetscFunctionBegin;
  if (!rents || (host && PetscDefined(USE_COMPLEX) && op == 2)) least = most = 1; /* AIJ has no A^H u */
  PetscCall(CountStored(&before));
  do {
    PetscCall(Product(what, op, k++));
    PetscCall(CountStored(&now));
  } while (now == before && k < MANY);
  if (k < least || k > most) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: stored at %s number %" PetscInt_FMT ", not from %" PetscInt_FMT " to %" PetscInt_FMT "\n", what, products[op].name, k, least, most));
    bad++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ExpectStored(const char what[], int before)
{
  int now;

  PetscFunctionBegin;
  PetscCall(CountStored(&now));
  if (now != before + 1) {
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

int main(int argc, char **argv)
{
  PetscInt m = 50000, n = 40000, epochs = 0;
  int      before, now;
  char     type[64] = "csrccuda";
  Mat      X, Y;
  Vec      v[2];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, m, n, 6, NULL, &B));
  for (PetscInt r = 7; r < m; r++) { /* the first rows are empty */
    for (PetscInt k = 0; k < 6; k++) PetscCall(MatSetValue(B, r, (r + k * k * 11) % n, ReferenceValue(1, 6 * r + k), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &A));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, sizeof(type), NULL));
  PetscCall(MatSetType(A, type));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatCreateVecs(A, &x, &u));
  PetscCall(ReferenceFillVec(x, 2));
  PetscCall(ReferenceFillVec(u, 3));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-rents", &rents, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-host", &host, NULL));

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
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, n, &v[0]));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, m, &v[1]));
  PetscCall(VecSet(v[0], 2));
  PetscCall(MatMult(A, v[0], v[1]));
  if (!host) PetscCall(ExpectStored("vectors on the host", before));

  PetscCall(NewMatrix());
  PetscCall(CountStored(&before));
  PetscCall(MatCreateDense(PETSC_COMM_SELF, n, 4, n, 4, NULL, &X));
  PetscCall(ReferenceDenseFill(X, 5));
  PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &Y));
  PetscCall(ExpectStored("a dense matrix", before));

  PetscCall(NewMatrix());
  PetscCall(PetscOptionsSetValue(NULL, "-mat_form_copies", "auto"));
  PetscCall(MatSetFromOptions(A));
  PetscCall(CountStored(&before));
  PetscCall(Product("two copies", 0, 0));
  PetscCall(ExpectStored("two copies", before));

  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&v[k]));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
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
      suffix: gpu
      args: -mat_form_store_at_once false -rents

TEST*/
