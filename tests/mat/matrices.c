static char help[] = "Products over the real matrices of a folder of Matrix Market files, given by -dir.\n\n";

#include "reference.h"
#include <support.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int IsMatrixMarket(const struct dirent *entry)
{
  const char *end = strrchr(entry->d_name, '.');

  return end && !strcmp(end, ".mtx");
}

/* Whether a file has complex values, which a PETSc with real scalars cannot read */
static PetscErrorCode IsComplex(const char file[], PetscBool *iscomplex)
{
  char  banner[128] = "", *word;
  FILE *f           = fopen(file, "r");

  PetscFunctionBegin;
  PetscCheck(f && fgets(banner, sizeof(banner), f), PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "Cannot read %s", file);
  fclose(f);
  PetscCall(PetscStrstr(banner, "complex", &word));
  *iscomplex = (PetscBool) !!word;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char            dir[PETSC_MAX_PATH_LEN] = ".";
  struct dirent **names;
  PetscInt        bad = 0, done = 0;
  int             n;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dir", dir, sizeof(dir), NULL));
  n = scandir(dir, &names, IsMatrixMarket, alphasort); /* in the same order on every process */
  PetscCheck(n >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot open folder %s", dir);
  for (int k = 0; k < n; k++) {
    char      file[2 * PETSC_MAX_PATH_LEN];
    PetscBool iscomplex;

    PetscCall(PetscSNPrintf(file, sizeof(file), "%s/%s", dir, names[k]->d_name));
    PetscCall(IsComplex(file, &iscomplex));
    if (!iscomplex || PetscDefined(USE_COMPLEX)) {
      Mat       A;
      Reference ref;

      PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
      PetscCall(MatSetFromOptions(A));
      PetscCall(MatLoadMatrixMarket(A, file));
      PetscCall(ReferenceCreateFromMat(names[k]->d_name, A, &ref));
      PetscCall(ReferenceMoveToDevice(&ref, A));
      PetscCall(ReferenceCheckProducts(&ref, A, &bad));
      PetscCall(ReferenceDestroy(&ref));
      PetscCall(MatDestroy(&A));
      done++;
    }
    free(names[k]);
  }
  free(names);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, ", done ? "matrices checked" : "no matrix checked"));
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c

  testset:
    output_file: output/matrices_1.out
    args: -dir ${MATRICES}/small
    nsize: {{1 3}}
    test:
      suffix: csrccuda
      args: -mat_type csrccuda
    test:
      suffix: gpu
      args: -mat_type csrccuda -mat_csrc_layout {{csrc balanced}}
    test:
      suffix: bccoo
      args: -mat_type bccoo -mat_bccoo_compression {{tuples simd csr}}
    test:
      suffix: default
      args: -mat_type bccoo -mat_form_store_at_once false
    test:
      suffix: gpu_default
      args: -mat_type csrccuda -mat_form_store_at_once false

TEST*/
