static char help[] = "Matrices without CSR, which was freed or never made: products, what else they can do, what PETSc refuses, and the way back bit by bit.\n\n";

#include "reference.h"
#include "caught.h"
#include <petsccsrc.h>
#include "sys/petscolder.h"
#include <petscdevice.h>
#include <petscdmda.h>
#include <math.h>

static PetscInt  bad = 0;
static char      type[64]; /* -mat_type */
static PetscBool isbccoo;

static PetscErrorCode Fault(const char name[], const char what[])
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", name, what));
  bad++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckReleased(const char name[], Mat A, PetscBool expected)
{
  PetscBool released, isaij;

  PetscFunctionBegin;
  PetscCall(ReferenceIsReleased(A, &released));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &isaij, MATSEQAIJ, MATMPIAIJ, ""));
  if (released != expected || isaij == expected) PetscCall(Fault(name, expected ? "should have no CSR" : "should have a CSR"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the first product, which frees the CSR of A */
static PetscErrorCode Release(const char name[], Mat A)
{
  Vec x, y;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(CheckReleased(name, A, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Are the CSRs of two AIJ matrices, sequential ones or blocks, the same bytes? */
static PetscErrorCode SameSeqCSR(Mat A, Mat B, PetscBool *same)
{
  PetscInt           m, n;
  const PetscInt    *ai, *aj, *bi, *bj;
  const PetscScalar *aa, *ba;
  PetscBool          done;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &m, &ai, &aj, &done));
  PetscCall(MatGetRowIJ(B, 0, PETSC_FALSE, PETSC_FALSE, &n, &bi, &bj, &done));
  PetscCall(MatSeqAIJGetArrayRead(A, &aa));
  PetscCall(MatSeqAIJGetArrayRead(B, &ba));
  *same = (PetscBool)(m == n);
  if (m && *same) {
    PetscCall(PetscMemcmp(ai, bi, (m + 1) * sizeof(PetscInt), same));
    if (*same && ai[m]) PetscCall(PetscMemcmp(aj, bj, ai[m] * sizeof(PetscInt), same));
    if (*same && ai[m]) PetscCall(PetscMemcmp(aa, ba, ai[m] * sizeof(PetscScalar), same));
  }
  PetscCall(MatSeqAIJRestoreArrayRead(A, &aa));
  PetscCall(MatSeqAIJRestoreArrayRead(B, &ba));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &m, &ai, &aj, &done));
  PetscCall(MatRestoreRowIJ(B, 0, PETSC_FALSE, PETSC_FALSE, &n, &bi, &bj, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether it is so on some process; an integer, since the MPI type of PetscBool is another one in older PETScs */
static PetscErrorCode OnAny(PetscBool here, PetscBool *any)
{
  int all = here ? 1 : 0;

  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  *any = all ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSameCSR(const char name[], Mat A, Mat B, const char what[])
{
  PetscBool same = PETSC_TRUE, isseq, differ;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  if (isseq) PetscCall(SameSeqCSR(A, B, &same));
  else {
    Mat             a[2], b[2];
    const PetscInt *ag, *bg;
    PetscInt        an, bn;

    PetscCall(MatMPIAIJGetSeqAIJ(A, &a[0], &a[1], &ag));
    PetscCall(MatMPIAIJGetSeqAIJ(B, &b[0], &b[1], &bg));
    PetscCall(MatGetSize(a[1], NULL, &an));
    PetscCall(MatGetSize(b[1], NULL, &bn));
    if (an != bn) same = PETSC_FALSE;
    else if (an) PetscCall(PetscMemcmp(ag, bg, an * sizeof(PetscInt), &same));
    for (int k = 0; k < 2 && same; k++) PetscCall(SameSeqCSR(a[k], b[k], &same));
  }
  PetscCall(OnAny(same ? PETSC_FALSE : PETSC_TRUE, &differ));
  if (differ) PetscCall(Fault(name, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckNear(const char name[], const char what[], PetscReal found, PetscReal expected)
{
  PetscFunctionBegin;
  if (PetscAbsReal(found - expected) > 1000 * PETSC_MACHINE_EPSILON * expected && found != expected && !(PetscIsNanReal(found) && PetscIsNanReal(expected))) PetscCall(Fault(name, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compares diagonal, norms and information with a plain AIJ matrix B */
static PetscErrorCode CheckOperations(const char name[], Mat A, Mat B)
{
  const NormType norms[] = {NORM_1, NORM_FROBENIUS, NORM_INFINITY};
  PetscInt       M, N;
  MatInfo        found, expected;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &M, &N));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(norms); k++) {
    PetscReal a, b;

    PetscCall(MatNorm(A, norms[k], &a));
    PetscCall(MatNorm(B, norms[k], &b));
    PetscCall(CheckNear(name, NormTypes[norms[k]], a, b));
  }
  if (M == N) {
    Vec       a, b;
    PetscBool same;

    PetscCall(MatCreateVecs(A, NULL, &a));
    PetscCall(VecDuplicate(a, &b));
    PetscCall(VecSet(a, NAN));
    PetscCall(MatGetDiagonal(A, a));
    PetscCall(MatGetDiagonal(B, b));
    PetscCall(VecEqual(a, b, &same));
    if (!same) PetscCall(Fault(name, "MatGetDiagonal"));
    PetscCall(VecDestroy(&a));
    PetscCall(VecDestroy(&b));
  }
  for (MatInfoType type = MAT_LOCAL; type <= MAT_GLOBAL_SUM; type++) {
    PetscCall(MatGetInfo(A, type, &found));
    PetscCall(MatGetInfo(B, type, &expected));
    if (found.nz_used != expected.nz_used || (found.nz_used > 0 && found.memory <= 0)) PetscCall(Fault(name, "MatGetInfo"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every conversion from the type and back to it */
static PetscErrorCode CheckConversions(const Reference *ref, Mat A, Mat B)
{
  const char *const types[] = {"csrccuda", "bccoo", MATDENSE, MATBAIJ};
  Mat               C;
  PetscBool         asked;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(CheckSameCSR(ref->name, C, B, "MatConvert to aij, new"));
  PetscCall(MatZeroEntries(C));
  PetscCall(MatConvert(A, MATAIJ, MAT_REUSE_MATRIX, &C));
  PetscCall(ReferenceCheckEntries(ref, C, 0.0, "MatConvert to aij, reused", &bad)); /* by MatCopy(), which adds to zeros: -0.0 is lost */
  PetscCall(MatDestroy(&C));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    PetscCall(MatConvert(A, types[k], MAT_INITIAL_MATRIX, &C));
    PetscCall(ReferenceCheckProducts(ref, C, &bad));
    PetscCall(MatDestroy(&C));
  }
  PetscCall(CheckReleased(ref->name, A, PETSC_TRUE));

  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(CheckReleased("a duplicate", C, PETSC_TRUE));
  PetscCall(ReferenceCheckProducts(ref, C, &bad));
  PetscCall(PetscObjectSetName((PetscObject)C, "name"));
  PetscCall(MatConvert(C, MATAIJ, MAT_INPLACE_MATRIX, &C));
  PetscCall(CheckSameCSR(ref->name, C, B, "MatConvert to aij, in place"));
  PetscCall(MatConvert(C, type, MAT_INPLACE_MATRIX, &C));
  PetscCall(MatSetFromOptions(C)); /* it has default settings */
  PetscCall(Release("converted to and fro", C));
  PetscCall(ReferenceCheckProducts(ref, C, &bad));
  PetscCall(MatConvert(C, type, MAT_INPLACE_MATRIX, &C));
  PetscCall(CheckSameCSR(ref->name, C, B, "MatConvert to its own type, in place"));
  PetscCall(ReferenceCheckProducts(ref, C, &bad));
  PetscCall(CheckReleased("its CSR was brought back", C, PETSC_FALSE));
  PetscCall(MatDestroy(&C));

  /* a duplicate without values has a CSR until its first product */
  PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &C));
  PetscCall(CheckReleased("a duplicate to be filled", C, PETSC_FALSE));
  PetscCall(MatCopy(B, C, SAME_NONZERO_PATTERN));
  PetscCall(Release("a duplicate that was filled", C));
  PetscCall(ReferenceCheckProducts(ref, C, &bad));

  /* by the setter */
  PetscCall(MatFormGetRelease(C, &asked));
  if (!asked) PetscCall(Fault(ref->name, "MatFormGetRelease"));
  PetscCall(MatFormSetRelease(C, PETSC_FALSE));
  PetscCall(CheckReleased("MatFormSetRelease() to false", C, PETSC_FALSE));
  PetscCall(CheckSameCSR(ref->name, C, B, "MatFormSetRelease to false"));
  PetscCall(ReferenceCheckProducts(ref, C, &bad));
  PetscCall(CheckReleased("and a product", C, PETSC_FALSE));
  PetscCall(MatFormSetRelease(C, PETSC_TRUE));
  PetscCall(Release("MatFormSetRelease() to true", C));
  PetscCall(ReferenceCheckProducts(ref, C, &bad));

  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* If the type is set again, the matrix is empty, as after any change of type; it is filled and multiplied as before */
static PetscErrorCode CheckFilledAgain(const Reference *ref, Mat A)
{
  PetscInt rstart, rend;

  PetscFunctionBegin;
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  for (PetscInt r = rstart; r < rend; r++) PetscCall(MatSetValues(A, 1, &r, ref->i[r + 1] - ref->i[r], PetscSafePointerPlusOffset(ref->j, ref->i[r]), PetscSafePointerPlusOffset(ref->a, ref->i[r]), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(CheckReleased("filled again", A, PETSC_FALSE));
  PetscCall(ReferenceCheckProducts(ref, A, &bad));
  PetscCall(CheckReleased("filled again and multiplied", A, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix without CSR moves to the other memory; its settings are there again when its CSR is */
static PetscErrorCode CheckBound(const Reference *ref, Mat A, Mat B, int setting)
{
  Mat                 C;
  MatBCCOOCompression compression;
  MatCSRCLayout       layout;

  PetscFunctionBegin;
  for (int bound = 0; bound < 2; bound++) {
    PetscCall(MatBindToCPU(A, (PetscBool)!bound));
    PetscCall(CheckReleased(ref->name, A, PETSC_TRUE));
    PetscCall(ReferenceCheckProducts(ref, A, &bad));
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &C));
    PetscCall(CheckSameCSR(ref->name, C, B, "bound to the host and back"));
    PetscCall(MatDestroy(&C));
  }
  PetscCall(MatConvert(A, type, MAT_INITIAL_MATRIX, &C));
  if (isbccoo) PetscCall(MatBCCOOGetCompression(C, &compression));
  else PetscCall(MatCSRCGetLayout(C, &layout));
  if ((isbccoo ? (int)compression : (int)layout) != setting) PetscCall(Fault(ref->name, "a setting is lost where the CSR comes back"));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product that was prepared with the CSR, and is computed after the CSR was freed */
static PetscErrorCode CheckPreparedProduct(const Reference *ref, Mat A)
{
  Mat      X, Y;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, NULL, &n));
  PetscCall(ReferenceDenseCreate(PETSC_COMM_WORLD, n, ref->n, 3, PETSC_FALSE, &X));
  PetscCall(ReferenceDenseFill(X, 5));
  PetscCall(MatProductCreate(A, X, NULL, &Y));
  PetscCall(MatProductSetType(Y, MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(Y));
  PetscCall(MatProductSymbolic(Y));
  PetscCall(CheckReleased("a product is prepared", A, PETSC_FALSE));
  PetscCall(Release("a product was prepared", A));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatProductNumeric(Y));
    PetscCall(ReferenceCheckDense(ref, REFERENCE_N, 5, Y, "a product prepared before", &bad));
  }
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Shapes(void)
{
  PetscInt count, step = 5;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-step", &step, NULL));
  PetscCall(ShapesCount(&count));
  for (PetscInt k = 0; k < count; k += step) {
    Reference           ref;
    Mat                 A, B, C;
    MatBCCOOCompression compression = MAT_BCCOO_COMPRESSION_CSR;
    MatCSRCLayout       layout      = MAT_CSRC_LAYOUT_AUTO;

    PetscCall(ShapesGet(k, &ref));
    PetscCall(ReferenceToMat(&ref, PETSC_COMM_WORLD, &A));
    if (isbccoo) PetscCall(MatBCCOOGetCompression(A, &compression));
    else PetscCall(MatCSRCGetLayout(A, &layout));
    PetscCall(CheckReleased(ref.name, A, PETSC_FALSE));
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
    PetscCall(CheckPreparedProduct(&ref, C));
    PetscCall(MatDestroy(&C));
    PetscCall(ReferenceCheckProducts(&ref, A, &bad));
    PetscCall(CheckReleased(ref.name, A, PETSC_TRUE));
    PetscCall(CheckConversions(&ref, A, B));
    PetscCall(CheckBound(&ref, A, B, isbccoo ? (int)compression : (int)layout));
    PetscCall(CheckOperations(ref.name, A, B));
    PetscCall(CheckFilledAgain(&ref, A));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
    PetscCall(ReferenceDestroy(&ref));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of any bits, and rows with unsorted columns, some of them twice: the CSR that is restored is the same */
static PetscErrorCode RandomBits(PetscInt kinds)
{
  const PetscBool wide = (PetscBool)(kinds % 2);
  const PetscInt  m = 900, n = wide ? 588011 : 21000, step = wide ? 28 : 1, full = 7000;
  PetscInt       *i, *j;
  PetscScalar    *a;
  uint64_t        state = 88172645463325252u + (uint64_t)kinds;
  Mat             A, B;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(m + 1, &i));
  i[0] = 0;
  /* two rows in the middle are so long that threads share them */
  for (PetscInt r = 0; r < m; r++) i[r + 1] = i[r] + (r == 500 || r == 501 ? 3 * full : r % 97 == 5 ? full : r % 13);
  PetscCall(PetscMalloc1(i[m], &j));
  PetscCall(PetscMalloc1(i[m], &a));
  for (PetscInt k = 0, r = 0; k < i[m]; k++) {
    uint64_t       bits[sizeof(PetscScalar) / sizeof(uint32_t)];
    const uint64_t special[] = {0x8000000000000000u, 0x7FF0000000000000u, 0xFFF8000000000123u, 0x7FF0000000000001u, 1u};

    while (i[r + 1] <= k) r++;
    for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(bits); w++) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      bits[w] = kinds ? (state % (uint64_t)kinds) * 0x3FF123456789ABCDu : state;
      if (state % 7 == 0) bits[w] = special[state / 7 % PETSC_STATIC_ARRAY_LENGTH(special)];
    }
    PetscCall(PetscMemcpy(&a[k], bits, sizeof(*a)));
    /* columns ascend in even rows; in odd rows they descend from the last one, each twice */
    j[k] = r % 2 ? n - 1 - (k - i[r]) / 2 * 3 * step % n : (k - i[r]) * step % n;
  }
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, m, n, i, j, a, &B));
  PetscCall(MatConvert(B, "bccoo", MAT_INITIAL_MATRIX, &A));
  PetscCall(MatSetFromOptions(A));
  PetscCall(Release("random bits", A));
  PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
  PetscCall(CheckSameCSR("random bits", A, B, "MatConvert to aij"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFree(i));
  PetscCall(PetscFree(j));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* If there are several diagonal entries in a row, AIJ uses the first one, wherever it is in the row */
static PetscErrorCode Duplicates(void)
{
  PetscInt    i[] = {0, 4, 6, 12}, j[] = {2, 0, 1, 0, 1, 1, 2, 0, 2, 1, 2, 2};
  PetscScalar a[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  Mat         A, B, C;
  Vec         d, e;
  PetscBool   same;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, 3, 6, i, j, a, &B));
  PetscCall(MatConvert(B, "bccoo", MAT_INITIAL_MATRIX, &A));
  PetscCall(MatSetFromOptions(A));
  PetscCall(Release("duplicates", A));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(CheckSameCSR("duplicates", C, B, "MatConvert to aij"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatCreateVecs(A, NULL, &d));
  PetscCall(VecDuplicate(d, &e));
  PetscCall(MatGetDiagonal(A, d));
  PetscCall(MatGetDiagonal(B, e));
  PetscCall(VecEqual(d, e, &same));
  if (!same) PetscCall(Fault("duplicates", "MatGetDiagonal"));
  PetscCall(VecDestroy(&d));
  PetscCall(VecDestroy(&e));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The call must fail with PETSc's own error that the type has no such method */
#define Refused(call, method) \
  do { \
    PetscErrorCode ierr_; \
    Catch(ierr_, call); \
    if (ierr_ != PETSC_ERR_SUP || !strstr(caught.message, "No method " method " for Mat of type") || !strstr(caught.message, "released")) { \
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: error %d: %s\n", #call, (int)ierr_, caught.message)); \
      bad++; \
    } \
  } while (0)

/* What needs a CSR is refused by PETSc, which finds no operation; the matrix stays what it was */
static PetscErrorCode Refusals(void)
{
  Reference          ref;
  Mat                A, B, E, F, G;
  Vec                x;
  PetscInt           row, last, len;
  const PetscInt    *j;
  const PetscScalar *a;
  PetscBool          has;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(ShapesGet(24, &ref)); /* a square one */
  PetscCall(ReferenceToMat(&ref, PETSC_COMM_WORLD, &A));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(Release(ref.name, A));
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(VecSet(x, 1));
  PetscCall(MatGetOwnershipRange(A, &row, &last));
  PetscCall(MatHasOperation(A, MATOP_GET_ROW, &has));
  if (has) PetscCall(Fault(ref.name, "MatHasOperation"));
  Refused(MatGetRow(A, row, &len, &j, &a), "getrow");
  Refused(MatZeroEntries(A), "zeroentries");
  Refused(MatScale(A, 2), "scale");
  Refused(MatTranspose(A, MAT_INITIAL_MATRIX, &F), "transpose");
  PetscCall(MatConvert(B, "bccoo", MAT_INITIAL_MATRIX, &F));
  PetscCall(MatTransposeSetPrecursor(F, A));
  Refused(MatTranspose(F, MAT_REUSE_MATRIX, &A), "transpose"); /* PETSc would write to the CSR */
  /* the result of a product of sparse matrices, which is to be computed again */
  PetscCall(MatMatMult(F, F, MAT_INITIAL_MATRIX, PETSC_CURRENT, &G));
  PetscCall(MatFormSetRelease(G, PETSC_TRUE));
  PetscCall(Release("a product", G));
  Catch(ierr, MatMatMult(F, F, MAT_REUSE_MATRIX, PETSC_CURRENT, &G));
  if (!ierr) PetscCall(Fault(ref.name, "a product of sparse matrices was computed again"));
  PetscCall(MatDestroy(&G));
  PetscCall(MatDestroy(&F));
  Catch(ierr, MatGetFactor(A, NULL, MAT_FACTOR_ILU, &F));
  if (ierr != PETSC_ERR_MISSING_FACTOR) PetscCall(Fault(ref.name, "MatGetFactor"));
  Catch(ierr, MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_CURRENT, &F));
  if (!ierr) PetscCall(Fault(ref.name, "a product of sparse matrices"));
  PetscCall(ReferenceCheckProducts(&ref, A, &bad));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &E));
  PetscCall(MatConvert(E, MATAIJ, MAT_INPLACE_MATRIX, &E));
  PetscCall(CheckSameCSR(ref.name, E, B, "after all that was refused"));
  PetscCall(MatDestroy(&E));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(ReferenceDestroy(&ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices of single processes, without CSR, become the rows of a parallel one */
static PetscErrorCode Concatenated(void)
{
  Reference   ref;
  Mat         A, B, C, D;
  PetscBool   same;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ShapesGet(24, &ref));
  PetscCall(ReferenceToMat(&ref, PETSC_COMM_SELF, &A));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(Release("a part of rows", A));
  PetscCall(MatCreateMPIMatConcatenateSeqMat(PETSC_COMM_WORLD, A, PETSC_DECIDE, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatCreateMPIMatConcatenateSeqMat(PETSC_COMM_WORLD, B, PETSC_DECIDE, MAT_INITIAL_MATRIX, &D));
  PetscCall(MatMultEqual(C, D, 3, &same));
  if (!same) PetscCall(Fault(ref.name, "MatCreateMPIMatConcatenateSeqMat"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(ReferenceDestroy(&ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies n bytes to the device, or to other host memory, aligned for every type of the arrays */
static PetscErrorCode CopyArray(PetscBool device, size_t n, const void *from, void *to)
{
  PetscScalar *copy;

  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  if (device) {
    PetscDeviceContext dctx;
    char              *host;

    PetscCall(PetscDeviceContextGetCurrentContext(&dctx));
    PetscCall(PetscDeviceMalloc(dctx, PETSC_MEMTYPE_CUDA, n / sizeof(*copy) + 1, &copy));
    PetscCall(PetscDeviceMalloc(dctx, PETSC_MEMTYPE_HOST, PetscMax(n, 1), &host)); /* PETSc copies from memory that it knows */
    PetscCall(PetscMemcpy(host, from, n));
    PetscCall(PetscDeviceMemcpy(dctx, copy, host, n));
    PetscCall(PetscDeviceContextSynchronize(dctx));
    PetscCall(PetscDeviceFree(dctx, host));
    *(void **)to = copy;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  (void)device;
  PetscCall(PetscMalloc1(n / sizeof(*copy) + 1, &copy));
  PetscCall(PetscMemcpy(copy, from, n));
  *(void **)to = copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FreeArray(PetscBool device, void *array)
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  if (device) {
    PetscDeviceContext dctx;

    PetscCall(PetscDeviceContextGetCurrentContext(&dctx));
    PetscCall(PetscDeviceFree(dctx, array));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  (void)device;
  PetscCall(PetscFree(array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives the CSR of ref to A, as integers of this size; the arrays are freed at once */
static PetscErrorCode SetCSR(const Reference *ref, PetscBool device, size_t size, Mat A)
{
  int  *narrow[2];
  void *i, *j, *a;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(ref->m + 1, &narrow[0], ref->nnz, &narrow[1]));
  for (PetscInt k = 0; k <= ref->m; k++) narrow[0][k] = (int)ref->i[k];
  for (PetscInt k = 0; k < ref->nnz; k++) narrow[1][k] = (int)ref->j[k];
  PetscCall(CopyArray(device, (ref->m + 1) * size, size == sizeof(int) ? (void *)narrow[0] : (void *)ref->i, &i));
  PetscCall(CopyArray(device, ref->nnz * size, size == sizeof(int) ? (void *)narrow[1] : (void *)ref->j, &j));
  PetscCall(CopyArray(device, ref->nnz * sizeof(PetscScalar), ref->a, &a));
  PetscCall(MatFormSetCSR(A, 1, size, i, j, (PetscScalar *)a));
  PetscCall(FreeArray(device, i));
  PetscCall(FreeArray(device, j));
  PetscCall(FreeArray(device, a));
  PetscCall(PetscFree2(narrow[0], narrow[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices from arrays in host or device memory */
static PetscErrorCode Arrays(PetscBool device)
{
  const size_t   sizes[] = {sizeof(PetscInt), sizeof(int)};
  PetscInt       count;
  Reference      ref;
  Mat            A, B, C;
  PetscErrorCode ierr;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCall(ShapesCount(&count));
  for (PetscInt k = 0; k < count; k += 3) {
    PetscCall(ShapesGet(k, &ref));
    PetscCall(ReferenceToMat(&ref, PETSC_COMM_SELF, &B));
    PetscCall(MatConvert(B, MATAIJ, MAT_INPLACE_MATRIX, &B));
    for (int s = 0; s < 2; s++) {
      PetscCall(MatCreate(PETSC_COMM_SELF, &A));
      PetscCall(MatSetSizes(A, ref.m, ref.n, ref.m, ref.n));
      PetscCall(MatSetFromOptions(A));
      PetscCall(SetCSR(&ref, device, sizes[s], A));
      PetscCall(CheckReleased("from arrays", A, PETSC_TRUE));
      PetscCall(ReferenceCheckProducts(&ref, A, &bad));
      PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &C));
      PetscCall(CheckSameCSR(ref.name, C, B, "from arrays"));
      PetscCall(MatDestroy(&C));
      for (PetscInt l = 0; l < ref.nnz; l++) ref.a[l] *= 2; /* other nonzeros in their place */
      PetscCall(SetCSR(&ref, device, sizes[s], A));
      PetscCall(ReferenceCheckProducts(&ref, A, &bad));
      for (PetscInt l = 0; l < ref.nnz; l++) ref.a[l] /= 2;
      PetscCall(MatDestroy(&A));
    }
    PetscCall(MatDestroy(&B));
    PetscCall(ReferenceDestroy(&ref));
  }

  /* what cannot be stored is an error, and the matrix stays what it was: with a CSR and without */
  PetscCall(ShapesGet(24, &ref));
  PetscCall(ReferenceToMat(&ref, PETSC_COMM_SELF, &A));
  for (int released = 0; released < 2; released++) {
    PetscInt *i;

    PetscCall(CheckReleased("before an error", A, (PetscBool)released));
    PetscCall(PetscMalloc1(ref.m + 1, &i));
    PetscCall(PetscArraycpy(i, ref.i, ref.m + 1));
    i[ref.m - 1] = i[ref.m] + 1;
    Catch(ierr, MatFormSetCSR(A, 1, sizeof(PetscInt), i, ref.j, ref.a));
    if (ierr != PETSC_ERR_ARG_OUTOFRANGE) PetscCall(Fault("arrays", "row offsets that do not ascend"));
    Catch(ierr, MatFormSetCSR(A, 1, 2, i, ref.j, ref.a));
    if (ierr != PETSC_ERR_SUP) PetscCall(Fault("arrays", "integers of 2 bytes"));
    PetscCall(PetscFree(i));
    PetscCall(ReferenceCheckProducts(&ref, A, &bad));
  }
  PetscCall(MatDestroy(&A));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ReferenceToMat(&ref, PETSC_COMM_WORLD, &A));
  Catch(ierr, MatFormSetCSR(A, 1, sizeof(PetscInt), ref.i, ref.j, ref.a));
  if (size > 1 && ierr != PETSC_ERR_SUP) PetscCall(Fault("arrays", "a parallel matrix"));
  PetscCall(MatDestroy(&A));
  PetscCall(ReferenceDestroy(&ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckRefused(const char name[], PetscErrorCode ierr, const char why[])
{
  PetscFunctionBegin;
  if (ierr != PETSC_ERR_SUP || !strstr(caught.message, "-mat_form_release") || !strstr(caught.message, why)) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: error %d: %s\n", name, (int)ierr, caught.message));
    bad++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product must fail, with an error that names the option and says why the CSR could not be restored */
static PetscErrorCode CannotRestore(const char name[], Mat A, const char why[])
{
  Vec            x, y;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  Catch(ierr, MatMult(A, x, y));
  PetscCall(CheckRefused(name, ierr, why));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a device a row with unsorted columns: the stored form does not contain their order, so the CSR is kept. Likewise a row of more entries than columns. */
static PetscErrorCode Unordered(void)
{
  PetscInt    i[] = {0, 1, 3}, j[] = {1, 1, 0}, many[] = {0, 0, 3}, equal[] = {1, 1, 0};
  PetscScalar a[] = {1, 2, 3};
  Mat         A, B;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, 2, 2, i, j, a, &B));
  PetscCall(MatConvert(B, type, MAT_INITIAL_MATRIX, &A));
  PetscCall(MatSetFromOptions(A));
  PetscCall(CannotRestore("a row without order", A, "row 1 has column 0 behind column 1"));
  PetscCall(CheckReleased("a row without order", A, PETSC_FALSE));
  PetscCall(CheckSameCSR("a row without order", A, B, "is no longer the same"));
  PetscCall(MatDestroy(&A));

  PetscCall(MatDestroy(&B));

  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, 2, 2, many, equal, a, &B));
  PetscCall(MatConvert(B, type, MAT_INITIAL_MATRIX, &A));
  PetscCall(MatFormSetRelease(A, PETSC_TRUE));
  PetscCall(CannotRestore("a row of too many entries", A, "row 1 has 3 entries in 2 columns"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Submatrices that a function of PETSc destroys together: one of them without its CSR is one more matrix to it; on several processes, where they have
  more data, the CSR stays
*/
static PetscErrorCode SubMatrices(void)
{
  Reference   ref;
  Mat         A, *S;
  IS          is[3];
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ShapesGet(20, &ref));
  PetscCall(ReferenceToMat(&ref, PETSC_COMM_WORLD, &A));
  for (PetscInt k = 0; k < 3; k++) PetscCall(ISCreateStride(PETSC_COMM_SELF, PetscMin(ref.m, ref.n) / 2, k, 1, &is[k]));
  for (PetscInt which = 0; which < 3; which++) {
    PetscCall(MatCreateSubMatrices(A, 3, is, is, MAT_INITIAL_MATRIX, &S));
    PetscCall(MatFormSetRelease(S[which], PETSC_TRUE));
    if (size > 1) PetscCall(CannotRestore("a submatrix", S[which], "MatCreateSubMatrices()"));
    else PetscCall(Release("a submatrix", S[which]));
    PetscCall(MatDestroySubMatrices(3, &S));
  }
  for (PetscInt k = 0; k < 3; k++) PetscCall(ISDestroy(&is[k]));
  PetscCall(MatDestroy(&A));
  PetscCall(ReferenceDestroy(&ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Laplacian on a periodic grid, set by stencils */
static PetscErrorCode SetStencils(DM da, Mat A)
{
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      const MatStencil cols[] = {
        {.i = i,     .j = j    },
        {.i = i - 1, .j = j    },
        {.i = i + 1, .j = j    },
        {.i = i,     .j = j - 1},
        {.i = i,     .j = j + 1}
      };
      const PetscScalar values[] = {4, -1, -1, -1, -1};

      PetscCall(MatSetValuesStencil(A, 1, cols, 5, cols, values, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Data attached to a matrix are kept while its CSR is freed and restored: null spaces, DM, local-to-global mappings, known properties */
static PetscErrorCode Attached(void)
{
  DM                     da, dm;
  Mat                    A, S;
  MatNullSpace           nullspace, transposed, near;
  ISLocalToGlobalMapping rows, rowsthen;
  PetscBool              known, symmetric, same;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DMDA_STENCIL_STAR, 9, 7, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetMatType(da, type));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(SetStencils(da, A));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &nullspace));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &transposed));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &near));
  PetscCall(MatSetNullSpace(A, nullspace));
  PetscCall(MatSetTransposeNullSpace(A, transposed));
  PetscCall(MatSetNearNullSpace(A, near));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatGetLocalToGlobalMapping(A, &rows, NULL));
  for (int k = 0; k < 4; k++) {
    const char  *whens[] = {"freed", "brought back", "freed again", "converted in place"}, *when = whens[k];
    MatNullSpace n, t, m;

    if (k % 2 == 0) {
      PetscCall(MatFormSetRelease(A, PETSC_TRUE));
      PetscCall(Release(when, A));
    } else if (k == 1) PetscCall(MatFormSetRelease(A, PETSC_FALSE));
    else PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
    PetscCall(CheckReleased(when, A, (PetscBool)(k % 2 == 0)));
    PetscCall(MatGetNullSpace(A, &n));
    PetscCall(MatGetTransposeNullSpace(A, &t));
    PetscCall(MatGetNearNullSpace(A, &m));
    PetscCall(MatGetLocalToGlobalMapping(A, &rowsthen, NULL));
    PetscCall(MatGetDM(A, &dm));
    PetscCall(MatIsStructurallySymmetricKnown(A, &known, &symmetric));
    if (n != nullspace || t != transposed || m != near) PetscCall(Fault(when, "another null space"));
    if (rowsthen != rows) PetscCall(Fault(when, "another local numbering"));
    if (dm != da) PetscCall(Fault(when, "another DM"));
    if (!known || !symmetric) PetscCall(Fault(when, "no longer of a symmetric structure"));
    /* a type that takes symmetric matrices only */
    PetscCall(MatConvert(A, MATSBAIJ, MAT_INITIAL_MATRIX, &S));
    PetscCall(MatMultEqual(A, S, 3, &same));
    if (!same) PetscCall(Fault(when, "another product after MatConvert to sbaij"));
    PetscCall(MatDestroy(&S));
  }
  PetscCall(SetStencils(da, A));
  PetscCall(MatNullSpaceDestroy(&nullspace));
  PetscCall(MatNullSpaceDestroy(&transposed));
  PetscCall(MatNullSpaceDestroy(&near));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The memory that PETSc has allocated, which it counts with -malloc_debug, decreases by the bytes of the CSR */
static PetscErrorCode Memory(void)
{
  Mat            A;
  PetscInt       rstart, rend;
  const PetscInt n = 40000;
  PetscLogDouble before, after, bytes[2], csr;
  PetscMemType   mtype;
  MatInfo        info;
  Vec            x, y;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  for (PetscInt r = rstart; r < rend; r++) {
    for (PetscInt k = -4; k <= 4; k++) {
      const PetscInt c = (r + k * 7 + n) % n;

      PetscCall(MatSetValue(A, r, c, 1.0 / (r + k + 10), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(MatFormGetMemory(A, &bytes[0], &mtype)); /* builds the form */
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  csr = info.nz_used * (sizeof(PetscInt) + sizeof(PetscScalar));
  PetscCall(PetscMallocGetCurrentUsage(&before));
  PetscCall(MatMult(A, x, y));
  PetscCall(PetscMallocGetCurrentUsage(&after));
  if (before - after < csr) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%g bytes were freed, the CSR has %g\n", before - after, csr));
    bad++;
  }
  PetscCall(MatFormGetMemory(A, &bytes[1], &mtype));
  if (bytes[0] != bytes[1]) PetscCall(Fault("memory", "the form has another size"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode (*realmalloc)(size_t, PetscBool, int, const char[], const char[], void **);
static int left; /* number of large allocations until one fails */

static PetscErrorCode FailingMalloc(size_t bytes, PetscBool clear, int line, const char function[], const char file[], void **ptr)
{
  if (bytes > 2000 && !strstr(file, "vec/is/sf/") && !left--) { /* inside of PetscSF the processes communicate: none can go on alone */
    *ptr = NULL;
    return PetscError(PETSC_COMM_SELF, line, function, file, PETSC_ERR_MEM, PETSC_ERROR_INITIAL, "No memory, for a test");
  }
  return (*realmalloc)(bytes, clear, line, function, file, ptr);
}

/* Runs the call with the n-th large allocation of the first process failing */
#define WithoutMemory(n, call, ierr) \
  do { \
    left          = rank ? -1 : n; \
    PetscTrMalloc = FailingMalloc; \
    Catch(ierr, call); \
    PetscTrMalloc = realmalloc; \
  } while (0)

/* Whichever allocation of the first product fails on one process: A is an unchanged AIJ matrix on all processes, or, if what failed is the
   exchange of vectors, which comes last, a CSR-free matrix on all of them. */
static PetscErrorCode Allocations(void)
{
  Reference      ref;
  Mat            A, B;
  PetscErrorCode ierr = PETSC_ERR_MEM;
  PetscMemType   mtype;
  PetscMPIInt    rank;
  int            fails = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  realmalloc = PetscTrMalloc;
  PetscCall(ShapesGet(60, &ref)); /* many nonzeros */
  PetscCall(ReferenceToMat(&ref, PETSC_COMM_WORLD, &A));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  while (ierr) {
    Vec       x, y;
    PetscBool released, freed;

    PetscCall(MatCreateVecs(A, &x, &y));
    PetscCall(VecSet(x, 1));
    WithoutMemory(fails, MatMult(A, x, y), ierr);
    PetscCall(ReferenceIsReleased(A, &released));
    PetscCall(OnAny(released, &freed));
    PetscCall(CheckReleased("after a product, failed or not", A, ierr ? freed : PETSC_TRUE));
    if (ierr && !freed) PetscCall(CheckSameCSR(ref.name, A, B, "an allocation failed in the first product"));
    if (ierr) fails++;
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
  }
  PetscCall(MatGetCurrentMemType(A, &mtype)); /* a form on a device needs little host memory */
  if (fails < 2 && !PetscMemTypeDevice(mtype)) PetscCall(Fault(ref.name, "no allocation failed in the first product"));
  PetscCall(ReferenceCheckProducts(&ref, A, &bad));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(ReferenceDestroy(&ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool memory = PETSC_FALSE, failures = PETSC_FALSE, unordered = PETSC_FALSE, device = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscCSRCInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", type, sizeof(type), NULL));
  PetscCall(PetscStrcmp(type, MATBCCOO, &isbccoo));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-unordered", &unordered, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-memory", &memory, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-failures", &failures, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-device", &device, NULL));
  if (memory) PetscCall(Memory());
  else if (failures) {
    PetscCall(Refusals());
    PetscCall(Concatenated());
    PetscCall(Arrays(PETSC_FALSE));
    if (device) PetscCall(Arrays(PETSC_TRUE));
    PetscCall(Allocations());
    if (unordered && !PetscDefined(USE_DEBUG)) PetscCall(Unordered()); /* PETSc with debugging refuses it */
  } else {
    PetscCall(Shapes());
    PetscCall(Attached());
    PetscCall(SubMatrices());
    if (isbccoo && !PetscDefined(USE_DEBUG)) { /* with debugging PETSc refuses unsorted rows */
      PetscCall(Duplicates());
      for (PetscInt kinds = 0; kinds < 10000; kinds = 5 * kinds + 1) PetscCall(RandomBits(kinds));
    }
  }
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c shapes.c

  testset:
    output_file: output/released_1.out
    args: -mat_type bccoo -mat_form_release -mat_bccoo_compression {{tuples simd csr}}
    test:
      suffix: 1
      nsize: {{1 2 3}}
    test:
      suffix: copies
      nsize: {{1 2}}
      args: -mat_form_copies 2
    # calls that fail leave allocations behind
    test:
      suffix: failures
      nsize: {{1 2}}
      args: -failures
      filter: grep -oE "[0-9]+ faults"
    test:
      suffix: memory
      nsize: {{1 2}}
      args: -memory -malloc_debug

  testset:
    output_file: output/released_1.out
    args: -mat_type csrccuda -mat_form_release
    test:
      suffix: csrccuda
      nsize: {{1 2}}
    test:
      suffix: csrccuda_failures
      nsize: {{1 2}}
      args: -failures
      filter: grep -oE "[0-9]+ faults"
    # every matrix is stored on the device some thirty times, with its CSR copied there and back: few of the shapes
    test:
      suffix: gpu
      nsize: {{1 2}}
      args: -mat_csrc_layout {{balanced csrc}} -step 19
    test:
      suffix: gpu_copies
      args: -mat_form_copies 2 -mat_csrc_reproducible {{0 1}}
    test:
      suffix: pieces
      args: -pieces 3 -device_enable none -options_left 0
    test:
      suffix: gpu_pieces
      args: -pieces 3 -step 19
    test:
      suffix: gpu_failures
      args: -failures -unordered -device
      filter: grep -oE "[0-9]+ faults"
    test:
      suffix: gpu_memory
      args: -memory -malloc_debug

TEST*/
