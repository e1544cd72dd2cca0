static char help[] = "The library's own functions: setters and getters, what they refuse and what they say. Linked with the library.\n\n";

#include "reference.h"
#include "sys/petscolder.h"
#include "caught.h"
#include <petsccsrc.h>

static PetscInt bad = 0;

/* A call that must fail with one of two codes, and with both words in its message */
#define Fails(what, code1, code2, word1, word2, call) \
  do { \
    PetscErrorCode ierr_; \
    char          *w1_, *w2_; \
    Catch(ierr_, call); \
    PetscCall(PetscStrstr(caught.message, word1, &w1_)); \
    PetscCall(PetscStrstr(caught.message, word2, &w2_)); \
    if (!ierr_ || (caught.code != code1 && caught.code != code2) || !w1_ || !w2_) { \
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: error %d, \"%s\"; should be %d or %d, with \"%s\" and \"%s\"\n", what, (int)caught.code, caught.message, (int)code1, (int)code2, word1, word2)); \
      bad++; \
    } \
  } while (0)

#define Is(what, condition) \
  do { \
    if (!(condition)) { \
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", what)); \
      bad++; \
    } \
  } while (0)

static PetscErrorCode CheckMemory(const Reference *ref, Mat A, PetscLogDouble least, PetscLogDouble most)
{
  PetscLogDouble bytes = -1;
  PetscMemType   memtype, current;

  PetscFunctionBegin;
  PetscCall(MatFormGetMemory(A, &bytes, &memtype));
  PetscCall(MatGetCurrentMemType(A, &current));
  Is("MatFormGetMemory: bytes", bytes >= least * ref->nnz && bytes <= most * ref->nnz + 100000);
  Is("MatFormGetMemory: memory type", memtype == current);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of this type without entries */
static PetscErrorCode Create(const Reference *ref, MatType type, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, ref->m, ref->n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSeqAIJSetPreallocation(*A, 4, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 4, NULL, 2, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Enter(const Reference *ref, Mat A)
{
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt r = first; r < last; r++) PetscCall(MatSetValues(A, 1, &r, ref->i[r + 1] - ref->i[r], PetscSafePointerPlusOffset(ref->j, ref->i[r]), PetscSafePointerPlusOffset(ref->a, ref->i[r]), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckCreated(const Reference *ref, Mat A, MatType type)
{
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, type, &same));
  Is("the type of a new matrix", same);
  PetscCall(Enter(ref, A));
  PetscCall(ReferenceCheckProducts(ref, A, &bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compression: set before and after assembly, inherited, out of range, on matrices of other types */
static PetscErrorCode Compression(const Reference *ref)
{
  Mat                 A, B, D;
  MatBCCOOCompression found;
  PetscLogDouble      plain, coded;
  PetscMemType        memtype;
  PetscMPIInt         size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Create(ref, MATBCCOO, &A));
  PetscCall(MatBCCOOGetCompression(A, &found));
  Is("compression: the default", found == MAT_BCCOO_COMPRESSION_SIMD);
  PetscCall(MatBCCOOSetCompression(A, MAT_BCCOO_COMPRESSION_CSR));
  PetscCall(CheckCreated(ref, A, size > 1 ? MATMPIBCCOO : MATSEQBCCOO));
  PetscCall(MatBCCOOGetCompression(A, &found));
  Is("compression: set before assembly", found == MAT_BCCOO_COMPRESSION_CSR);
  PetscCall(MatFormGetMemory(A, &plain, &memtype));
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatBCCOOGetCompression(B, &found));
  Is("compression: inherited by a transpose", found == MAT_BCCOO_COMPRESSION_CSR);
  if (size > 1) {
    PetscCall(MatMPIAIJGetSeqAIJ(B, &D, NULL, NULL));
    PetscCall(MatBCCOOGetCompression(D, &found));
    Is("compression: inherited by the blocks of a transpose", found == MAT_BCCOO_COMPRESSION_CSR);
  }
  PetscCall(MatDestroy(&B));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatBCCOOGetCompression(B, &found));
  Is("compression: inherited by a duplicate", found == MAT_BCCOO_COMPRESSION_CSR);
  PetscCall(MatDestroy(&B));
  PetscCall(MatBCCOOSetCompression(A, MAT_BCCOO_COMPRESSION_TUPLES));
  PetscCall(ReferenceCheckProducts(ref, A, &bad));
  PetscCall(MatFormGetMemory(A, &coded, &memtype));
  Is("compression: set after the first product", coded < plain);
  PetscCall(MatBCCOOSetCompression(A, MAT_BCCOO_COMPRESSION_CSR));
  PetscCall(ReferenceCheckProducts(ref, A, &bad));
  PetscCall(MatFormGetMemory(A, &coded, &memtype));
  Is("compression: set before assembly, it reaches the blocks", coded == plain);
  PetscCall(MatBCCOOSetCompression(A, MAT_BCCOO_COMPRESSION_TUPLES));
  Fails("compression out of range", PETSC_ERR_ARG_OUTOFRANGE, PETSC_ERR_ARG_OUTOFRANGE, "17", "tuples, simd, csr", MatBCCOOSetCompression(A, (MatBCCOOCompression)17));
  Fails("compression below range", PETSC_ERR_ARG_OUTOFRANGE, PETSC_ERR_ARG_OUTOFRANGE, "-1", "tuples, simd, csr", MatBCCOOSetCompression(A, (MatBCCOOCompression)-1));
  PetscCall(MatBCCOOGetCompression(A, &found));
  Is("compression: a refused one leaves the old", found == MAT_BCCOO_COMPRESSION_TUPLES);
  PetscCall(MatBCCOOSetCompression(A, MAT_BCCOO_COMPRESSION_SIMD));
  PetscCall(MatCSRCSetLayout(A, MAT_CSRC_LAYOUT_CSRC)); /* a setting of another type is ignored */
  Fails("the layout of a bccoo matrix", PETSC_ERR_SUP, PETSC_ERR_SUP, "MatCSRCGetLayout_C", "", MatCSRCGetLayout(A, (MatCSRCLayout *)&found));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operations that replace the contents of a matrix keep its settings; operations of AIJ work */
static PetscErrorCode Kept(const Reference *ref)
{
  Mat                 A, X;
  MatBCCOOCompression compression;
  PetscBool           release, has;
  PetscInt            first, last;
  PetscMPIInt         size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Create(ref, MATBCCOO, &A));
  PetscCall(CheckCreated(ref, A, size > 1 ? MATMPIBCCOO : MATSEQBCCOO));
  PetscCall(MatBCCOOSetCompression(A, MAT_BCCOO_COMPRESSION_TUPLES));
  PetscCall(MatFormSetRelease(A, PETSC_TRUE));
  PetscCall(MatHasOperation(A, MATOP_CREATE_SUBMATRIX, &has));
  Is("MatHasOperation: submatrices", has);
  PetscCall(Create(ref, MATBCCOO, &X));
  PetscCall(MatGetOwnershipRange(X, &first, &last));
  for (PetscInt r = first; r < last; r++) PetscCall(MatSetValue(X, r, (7 * r + 3) % ref->n, 1, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAXPY(A, 1, X, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatBCCOOGetCompression(A, &compression));
  PetscCall(MatFormGetRelease(A, &release));
  Is("settings after MatAXPY", compression == MAT_BCCOO_COMPRESSION_TUPLES && release);
  PetscCall(MatTranspose(A, MAT_INPLACE_MATRIX, &A));
  PetscCall(MatBCCOOGetCompression(A, &compression));
  PetscCall(MatFormGetRelease(A, &release));
  Is("settings after MatTranspose in place", compression == MAT_BCCOO_COMPRESSION_TUPLES && release);
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Layout: set before and after assembly, inherited, out of range; a device is required but missing */
static PetscErrorCode Layout(const Reference *ref, PetscBool device)
{
  Mat           A, B;
  PetscMPIInt   size;
  MatCSRCLayout found;
  PetscBool     require, release;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Create(ref, MATCSRCCUDA, &A));
  PetscCall(MatCSRCGetLayout(A, &found));
  Is("layout: the default", found == MAT_CSRC_LAYOUT_AUTO);
  for (MatCSRCLayout layout = MAT_CSRC_LAYOUT_AUTO; layout <= MAT_CSRC_LAYOUT_BALANCED; layout++) {
    PetscCall(MatCSRCSetLayout(A, layout));
    PetscCall(MatCSRCGetLayout(A, &found));
    Is("layout: set", found == layout);
  }
  Fails("layout out of range", PETSC_ERR_ARG_OUTOFRANGE, PETSC_ERR_ARG_OUTOFRANGE, "99", "auto, csrc, balanced", MatCSRCSetLayout(A, (MatCSRCLayout)99));
  PetscCall(MatCSRCSetLayout(A, MAT_CSRC_LAYOUT_CSRC));
  PetscCall(CheckCreated(ref, A, size > 1 ? MATMPICSRCCUDA : MATSEQCSRCCUDA));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatCSRCGetLayout(B, &found));
  Is("layout: inherited by a duplicate", found == MAT_CSRC_LAYOUT_CSRC);
  PetscCall(MatDestroy(&B));
  PetscCall(MatFormSetRelease(A, PETSC_TRUE));
  PetscCall(MatScale(A, 2)); /* if there is a device, it is done there, and so is the transpose */
  for (int inplace = 0; inplace < 2; inplace++) {
    if (inplace) PetscCall(MatTranspose(B, MAT_INPLACE_MATRIX, &B));
    else PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &B));
    PetscCall(MatCSRCGetLayout(B, &found));
    PetscCall(MatFormGetRelease(B, &release));
    Is(inplace ? "layout, release: after a transpose in place" : "layout, release: inherited by a transpose", found == MAT_CSRC_LAYOUT_CSRC && release);
  }
  PetscCall(MatDestroy(&B));
  PetscCall(MatScale(A, 0.5));
  PetscCall(MatFormSetRelease(A, PETSC_FALSE));
  PetscCall(MatCSRCSetLayout(A, MAT_CSRC_LAYOUT_BALANCED));
  PetscCall(ReferenceCheckProducts(ref, A, &bad));
  PetscCall(MatCSRCGetRequireDevice(A, &require));
  Is("a device required by default", !require);
  if (device) {
    PetscCall(MatCSRCSetRequireDevice(A, PETSC_TRUE));
    PetscCall(MatCSRCGetRequireDevice(A, &require));
    Is("a device required", require);
    PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &B));
    PetscCall(MatDestroy(&B));
  } else Fails("a device required without one", PETSC_ERR_SUP, PETSC_ERR_SUP, "-mat_csrc_require_device", "csrccuda", MatCSRCSetRequireDevice(A, PETSC_TRUE));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Flags: set before assembly and after the first product, inherited; wrong uses */
static PetscErrorCode Flags(const Reference *ref, PetscBool device)
{
  Mat         A, B;
  Vec         x, y;
  PetscMPIInt size;
  PetscBool   reproducible;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Create(ref, MATCSRCCUDA, &A));
  PetscCall(MatCSRCGetReproducible(A, &reproducible));
  Is("flags: the default", !reproducible);
  PetscCall(CheckCreated(ref, A, size > 1 ? MATMPICSRCCUDA : MATSEQCSRCCUDA));
  PetscCall(MatCSRCSetReproducible(A, PETSC_TRUE));
  PetscCall(ReferenceCheckProducts(ref, A, &bad));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatCSRCGetReproducible(B, &reproducible));
  Is("flags: inherited by a duplicate", reproducible);
  PetscCall(ReferenceCheckProducts(ref, B, &bad));
  PetscCall(MatCSRCSetLayout(B, MAT_CSRC_LAYOUT_CSRC));
  if (device && size == 1) {
    PetscCall(MatCreateVecs(B, &x, &y));
    PetscCall(VecSet(x, 1));
    Fails("repeatable products from the layout csrc", PETSC_ERR_SUP, PETSC_ERR_SUP, "-mat_csrc_reproducible", "-mat_csrc_layout csrc", MatMult(B, x, y));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
  } else if (!device) PetscCall(ReferenceCheckProducts(ref, B, &bad));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two copies: set, inherited, out of range; products are right, with twice the memory; contradictory settings */
static PetscErrorCode Copies(const Reference *ref, PetscBool device)
{
  Mat            A, B;
  Vec            x, y;
  PetscMPIInt    size;
  MatFormCopies  copies;
  PetscLogDouble one, two;
  PetscMemType   memtype;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Create(ref, MATCSRCCUDA, &A));
  PetscCall(MatFormGetCopies(A, &copies));
  Is("copies: the default", copies == MAT_FORM_COPIES_ONE);
  PetscCall(CheckCreated(ref, A, size > 1 ? MATMPICSRCCUDA : MATSEQCSRCCUDA));
  PetscCall(MatFormGetMemory(A, &one, &memtype));
  PetscCall(MatCSRCSetReproducible(A, PETSC_TRUE));
  PetscCall(ReferenceCheckProducts(ref, A, &bad));
  PetscCall(MatFormGetMemory(A, &two, &memtype));
  if (device) Is("copies: twice the memory, with the same bits every time", two > 1.4 * one && two < 2.4 * one);
  else Is("copies: on the host one has the same bits every time", two == one);
  PetscCall(MatFormSetCopies(A, MAT_FORM_COPIES_TWO));
  PetscCall(ReferenceCheckProducts(ref, A, &bad));
  PetscCall(MatFormGetMemory(A, &two, &memtype));
  Is("copies: twice the memory, two and the same bits every time", two > 1.4 * one && two < 2.4 * one);
  PetscCall(MatCSRCSetReproducible(A, PETSC_FALSE));
  PetscCall(ReferenceCheckProducts(ref, A, &bad));
  PetscCall(MatFormGetMemory(A, &two, &memtype));
  Is("copies: one that is no slower on a device, or two", two > (device ? 0.6 : 1.4) * one && two < 2.4 * one);
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatFormGetCopies(B, &copies));
  Is("copies: inherited by a duplicate", copies == MAT_FORM_COPIES_TWO);
  PetscCall(MatDestroy(&B));
  Fails("copies out of range", PETSC_ERR_ARG_OUTOFRANGE, PETSC_ERR_ARG_OUTOFRANGE, "99", "1, 2, auto", MatFormSetCopies(A, (MatFormCopies)99));
  PetscCall(MatFormGetCopies(A, &copies));
  Is("copies: a refused number leaves the old", copies == MAT_FORM_COPIES_TWO);
  if (!device && size == 1) { /* on the host the second copy serves products with vectors only: wide dense operands do not ask for it */
    Mat X, Y;

    PetscCall(MatFormSetCopies(A, MAT_FORM_COPIES_AUTO));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ref->n, 64, NULL, &X));
    PetscCall(MatSetRandom(X, NULL));
    PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &Y));
    PetscCall(MatFormGetMemory(A, &two, &memtype));
    Is("copies: on the host one of A for dense operands", two < 1.4 * one);
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&Y));
    PetscCall(MatFormSetCopies(A, MAT_FORM_COPIES_TWO));
  }
  PetscCall(MatCSRCSetLayout(A, MAT_CSRC_LAYOUT_CSRC));
  if (!device) { /* the layouts are for devices: there are two copies all the same */
    PetscCall(ReferenceCheckProducts(ref, A, &bad));
    PetscCall(MatFormGetMemory(A, &two, &memtype));
    Is("copies: two on the host in any layout", two > 1.4 * one);
  } else if (size == 1) {
    PetscCall(MatCreateVecs(A, &x, &y));
    PetscCall(VecSet(x, 1));
    Fails("two copies in the layout csrc", PETSC_ERR_SUP, PETSC_ERR_SUP, "-mat_form_copies 2", "-mat_csrc_layout csrc", MatMult(A, x, y));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Memory(const Reference *ref)
{
  Mat            A;
  PetscLogDouble bytes;
  PetscMemType   memtype;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-mat_type", MATCSRCCUDA));
  PetscCall(PetscViewerPushFormat(PETSC_VIEWER_STDOUT_WORLD, PETSC_VIEWER_ASCII_INFO));
  PetscCall(ReferenceToMat(ref, PETSC_COMM_WORLD, &A));
  PetscCall(MatView(A, PETSC_VIEWER_STDOUT_WORLD)); /* builds no form */
  PetscCall(CheckMemory(ref, A, 1, 2 * sizeof(PetscScalar) + 3 * sizeof(PetscInt)));
  PetscCall(MatView(A, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscOptionsSetValue(NULL, "-mat_type", MATBCCOO));
  PetscCall(ReferenceToMat(ref, PETSC_COMM_WORLD, &A));
  PetscCall(MatView(A, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(CheckMemory(ref, A, 1, 2 * sizeof(PetscScalar) + 3 * sizeof(PetscInt)));
  PetscCall(MatView(A, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscOptionsSetValue(NULL, "-mat_type", MATAIJ));
  PetscCall(ReferenceToMat(ref, PETSC_COMM_WORLD, &A));
  Fails("the form's memory of an AIJ matrix", PETSC_ERR_SUP, PETSC_ERR_SUP, "MatFormGetMemory_C", "", MatFormGetMemory(A, &bytes, &memtype));
  PetscCall(MatView(A, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(PetscViewerPopFormat(PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscOptionsClearValue(NULL, "-mat_type"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Reference ref;
  PetscBool device = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscCSRCInitializePackage());
  PetscCall(PetscCSRCInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-device", &device, NULL));
  PetscCall(ShapesGet(56, &ref)); /* some thousand nonzeros */
  PetscCall(Compression(&ref));
  PetscCall(Kept(&ref));
  PetscCall(Layout(&ref, device));
  PetscCall(Flags(&ref, device));
  PetscCall(Copies(&ref, device));
  PetscCall(Memory(&ref));
  PetscCall(ReferenceDestroy(&ref));
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c shapes.c

  # the numbers of the views are not compared, their words are
  testset:
    filter: grep -E "type:|format|pieces|faults|should" | sed -E "/faults/!s/[0-9.]+/N/g; s/all rows on/both blocks on/; s/in format [a-z, ]*:/in a format:/"
    test:
      suffix: host
      args: -device_enable none
    test:
      suffix: host_parallel
      nsize: 2
      args: -device_enable none
    test:
      suffix: gpu
      args: -device
    test:
      suffix: pieces
      args: -device_enable none -pieces 2
    test:
      suffix: gpu_pieces
      args: -device -pieces 2
    test:
      suffix: gpu_parallel
      nsize: 2
      args: -device
      output_file: output/settings_host_parallel.out

TEST*/
