static char help[] = "What a program sees of a matrix type: names, vectors, memory, operations, binding to the CPU.\n\n";

#include "reference.h"
#include "sys/petscolder.h"

static PetscErrorCode Describe(Mat A, const char when[])
{
  PetscBool    transpose, multtranspose, mult;
  VecType      right, left;
  MatType      type;
  PetscMemType memtype;
  Vec          x, y;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecGetType(x, &right));
  PetscCall(VecGetType(y, &left));
  PetscCall(MatGetCurrentMemType(A, &memtype));
  PetscCall(MatHasOperation(A, MATOP_TRANSPOSE, &transpose));
  PetscCall(MatHasOperation(A, MATOP_MULT_TRANSPOSE, &multtranspose));
  PetscCall(MatHasOperation(A, MATOP_MULT, &mult));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s, vectors %s and %s, %s memory, has mult %d, multtranspose %d, transpose %d\n", when, type, right, left, PetscMemTypeHost(memtype) ? "host" : "device", mult, multtranspose, transpose));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What MatView() says of the exchange of vectors, on one process nothing, and whether it says that one device would be faster */
static PetscErrorCode GetExchange(Mat A, char text[], size_t len, PetscBool *slower)
{
  PetscViewer viewer;
  FILE       *file = tmpfile();
  char        next[512];

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIOpenWithFILE(PetscObjectComm((PetscObject)A), file, &viewer));
  PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO));
  PetscCall(MatView(A, viewer));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  rewind(file);
  do text[0] = 0;
  while (fgets(text, (int)len, file) && !strstr(text, "exchange of vectors"));
  *slower = text[0] && fgets(next, sizeof(next), file) && strstr(next, "on 2 H200s A x is expected to take") ? PETSC_TRUE : PETSC_FALSE;
  fclose(file);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt shape = 36;
  PetscInt       bad   = 0;
  PetscBool      slower, ondevice, aware = PETSC_TRUE;
  PetscMemType   memtype;
  Reference      ref;
  Mat            A, T;
  char           before[512], after[512];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(ShapesGet(shape, &ref));

  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, ref.m, ref.n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSetUp(A));
  PetscCall(Describe(A, "empty"));
  PetscCall(MatDestroy(&A));

  PetscCall(ReferenceToMat(&ref, PETSC_COMM_WORLD, &A));
  PetscCall(Describe(A, "assembled"));
  PetscCall(ReferenceCheckProducts(&ref, A, &bad));
  PetscCall(Describe(A, "multiplied"));
  PetscCall(GetExchange(A, before, sizeof(before), &slower));
  /* a matrix as small as this one is faster on one device */
  PetscCall(MatGetCurrentMemType(A, &memtype));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-use_gpu_aware_mpi", &aware, NULL));
  ondevice = PetscMemTypeHost(memtype) ? PETSC_FALSE : PETSC_TRUE;
  if (before[0] && !(ondevice && aware) && slower != ondevice) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s is said to be slower on two devices\n", slower ? "A matrix on the host" : "No matrix"));
    bad++;
  }

  /* binds to the CPU and back; products are right on both sides */
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(Describe(A, "bound"));
  PetscCall(ReferenceCheckProducts(&ref, A, &bad));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &T));
  PetscCall(Describe(T, "its duplicate"));
  PetscCall(ReferenceCheckProducts(&ref, T, &bad));
  PetscCall(MatDestroy(&T));
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
  PetscCall(Describe(A, "let loose"));
  PetscCall(ReferenceCheckProducts(&ref, A, &bad));
  PetscCall(GetExchange(A, after, sizeof(after), &slower));
  if (strcmp(before, after)) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%sbut bound to the host and let loose%s", before, after));
    bad++;
  }

  /* MatTranspose() works, whatever MatHasOperation() says of MATOP_TRANSPOSE */
  for (PetscInt k = 0; k < 2; k++) {
    Reference transposed;

    PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
    PetscCall(ReferenceCreateFromMat("transposed", T, &transposed));
    PetscCall(ReferenceCheckProducts(&transposed, T, &bad));
    PetscCall(ReferenceDestroy(&transposed));
    PetscCall(MatDestroy(&T));
    PetscCall(MatSetOption(A, MAT_FORM_EXPLICIT_TRANSPOSE, PETSC_TRUE));
  }
  PetscCall(Describe(A, "with an explicit transpose"));
  PetscCall(MatSetOption(A, MAT_FORM_EXPLICIT_TRANSPOSE, PETSC_FALSE));
  PetscCall(Describe(A, "without"));

  PetscCall(MatSetFromOptions(A));
  PetscCall(Describe(A, "options read again"));
  PetscCall(ReferenceCheckProducts(&ref, A, &bad));

  PetscCall(MatDestroy(&A));
  PetscCall(ReferenceDestroy(&ref));
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c shapes.c

  testset:
    nsize: {{1 2}}
    # a PETSc without devices does not know -device_enable, and warns
    filter: sed -e "s/mpi/seq/g" -e "/^WARNING! /d" -e "/unused database option/d" -e "/name:-device_enable/d"
    test:
      suffix: aij
      args: -mat_type aij
    test:
      suffix: host
      args: -mat_type csrccuda -device_enable none
    test:
      suffix: bccoo
      args: -mat_type bccoo
    test:
      suffix: gpu
      args: -mat_type csrccuda
    test:
      suffix: gpu_standard
      args: -mat_type csrccuda -mat_vec_type standard
    test:
      suffix: explicit
      args: -mat_type csrccuda -device_enable none -mat_form_explicit_transpose
    test:
      suffix: internal
      nsize: 1
      args: -mat_type seqaijcsrccuda -device_enable none
      output_file: output/types_host.out
    test:
      suffix: internal_mpi
      nsize: 2
      args: -mat_type mpiaijcsrccuda -device_enable none
      output_file: output/types_host.out

TEST*/
