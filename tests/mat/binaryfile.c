static char help[] = "PETSc binary files: right ones are read, and wrong row lengths and columns are errors that say where.\n\n";

#include "reference.h"
#include "caught.h"
#include <support.h>

#define MAXNZ 4

/* Files of a matrix of three rows; one with a cut ends after this many integers */
static const struct {
  const char *name;
  PetscInt    M, N, nz, lengths[3], columns[MAXNZ], cut;
} files[] = {
  {"diagonal",               3,             3, 3,             {1, 1, 1},                          {0, 1, 2},             0 },
  {"empty rows",             3,             5, 4,             {0, 4, 0},                          {0, 1, 3, 4},          0 },
  {"not sorted",             3,             3, 3,             {3, 0, 0},                          {2, 0, 1},             0 },
  {"column -1",              3,             3, 3,             {1, 1, 1},                          {0, -1, 2},            0 },
  {"column too large",       3,             3, 3,             {1, 0, 2},                          {0, 1, 3},             0 },
  {"largest column",         3,             3, 3,             {1, 1, 1},                          {0, 1, PETSC_INT_MAX}, 0 },
  {"first row's column",     3,             2, 4,             {2, 1, 1},                          {0, 2, 1, 0},          0 },
  {"twice in a row",         3,             3, 4,             {1, 3, 0},                          {0, 1, 2, 1},          0 },
  {"in several rows",        3,             3, 4,             {1, 2, 1},                          {1, 1, 0, 1},          0 },
  {"negative length",        3,             3, 3,             {-1, 3, 1},                         {0, 1, 2},             0 },
  {"lengths that wrap",      3,             3, 3,             {PETSC_INT_MAX, -PETSC_INT_MAX, 3}, {0, 1, 2},             0 },
  {"lengths that wrap back", 3,             3, 3,             {PETSC_INT_MAX, PETSC_INT_MAX, 5},  {0, 1, 2},             0 },
  {"lengths too small",      3,             3, 4,             {1, 1, 1},                          {0, 1, 2, 0},          0 },
  {"without columns",        3,             3, 3,             {1, 1, 1},                          {0, 1, 2},             7 },
  {"without values",         3,             3, 3,             {1, 1, 1},                          {0, 1, 2},             10},
  {"many rows",              PETSC_INT_MAX, 3, 3,             {1, 1, 1},                          {0, 1, 2},             0 },
  {"many nonzeros",          3,             3, PETSC_INT_MAX, {PETSC_INT_MAX, 0, 0},              {0, 1, 2},             0 }
};

static PetscErrorCode Write(const char file[], size_t k)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (!rank) {
    const PetscInt    nz = PetscMin(files[k].nz, MAXNZ), header[4] = {MAT_FILE_CLASSID, files[k].M, files[k].N, files[k].nz};
    const PetscScalar values[MAXNZ] = {1, 2, 3, 4};
    PetscInt          all[4 + 3 + MAXNZ];
    int               fd;

    PetscCall(PetscArraycpy(all, header, 4));
    PetscCall(PetscArraycpy(all + 4, files[k].lengths, 3));
    PetscCall(PetscArraycpy(all + 7, files[k].columns, nz));
    PetscCall(PetscBinaryOpen(file, FILE_MODE_WRITE, &fd));
    PetscCall(PetscBinaryWrite(fd, all, files[k].cut ? files[k].cut : 7 + nz, PETSC_INT));
    if (!files[k].cut) PetscCall(PetscBinaryWrite(fd, values, nz, PETSC_SCALAR));
    PetscCall(PetscBinaryClose(fd));
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that was given other sizes than the file has; rows and columns are those of the first process */
static PetscErrorCode ShowSizes(const char name[], PetscInt m, PetscInt n)
{
  Mat            A;
  PetscMPIInt    rank;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(Write("matrix.bin", 0));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, rank && m >= 0 ? 0 : m, rank && n >= 0 ? 0 : n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetFromOptions(A));
  Catch(ierr, MatLoadFile(A, "matrix.bin"));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", name, ierr ? caught.message : "read"));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    bad = 0;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(files); k++) {
    Mat            A;
    PetscErrorCode ierr;
    int            codes[2];

    PetscCall(Write("matrix.bin", k));
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetFromOptions(A));
    Catch(ierr, MatLoadFile(A, "matrix.bin"));
    codes[0] = (int)ierr;
    codes[1] = -(int)ierr;
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, codes, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
    if (codes[0] != -codes[1]) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: the processes do not agree\n", files[k].name));
      bad++;
    }
    if (ierr) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", files[k].name, caught.message));
    else {
      Reference ref;

      PetscCall(ReferenceCreateFromMat(files[k].name, A, &ref));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscInt_FMT " nonzeros\n", files[k].name, ref.m, ref.n, ref.nnz));
      PetscCall(ReferenceCheckProducts(&ref, A, &bad));
      PetscCall(ReferenceDestroy(&ref));
    }
    PetscCall(MatDestroy(&A));
  }
  PetscCall(ShowSizes("its local sizes", 3, 3));
  PetscCall(ShowSizes("fewer local rows", 2, PETSC_DECIDE));
  PetscCall(ShowSizes("more local rows", 40, PETSC_DECIDE));
  PetscCall(ShowSizes("more local columns", PETSC_DECIDE, 4));
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c

  test:
    nsize: {{1 3}}
    temporaries: matrix.bin matrix.bin.info
    requires: !defined(PETSC_USE_64BIT_INDICES)
    args: -mat_type {{aij csrccuda bccoo}}

TEST*/
