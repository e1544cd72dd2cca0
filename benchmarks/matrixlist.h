#pragma once

/* The matrices that a benchmark runs on: names of generated ones, and files */
#include <petscmat.h>
#include <dirent.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "support.h"

#define MATRIXLIST_MAX 128

typedef struct {
  char name[64];
  char file[PETSC_MAX_PATH_LEN]; /* empty for a generated matrix */
} MatrixSource;

typedef struct {
  PetscInt     n;
  MatrixSource sources[MATRIXLIST_MAX];
} MatrixList;

/* Two exact boundary matrices and fifteen generated ones, named after those of a collection whose size and law they have */
static const char *const matrices_all[] = {"ch7-9-b4", "ch8-8-b4", "12month1", "connectus", "ESOC", "GL7d16", "IMDB", "rail4284", "spal_004", "specular", "Rucci1", "stormG2", "tp-6", "pds-100", "Delor338K", "atmosmodd", "big"};
/* Those below four million nonzeros */
static const char *const matrices_small[] = {"ch7-9-b4", "ch8-8-b4", "connectus", "IMDB", "stormG2", "pds-100"};
/* What the bytes of a compressed format differ for: values that are few, small or all different */
static const char *const matrices_generated[] = {"atmosmodd-constant", "7point", "ecology", "audikw", "circuit", "GL7d16-integer", "rail4284-ones", "12month1-fixed"};

/* Matrices with few nonzeros, on both sides of numbers from which threads and column blocks are used, and a thousand to ten million columns */
static const int matrices_sampling[] = {4000, 16000, 17000, 24000, 25000, 98000, 99000, 1000000};

static PetscErrorCode MatrixListAdd(MatrixList *list, const char name[], const char file[])
{
  PetscFunctionBegin;
  for (PetscInt s = 0; s < list->n; s++) PetscCheck(strcmp(list->sources[s].name, name), PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "Two matrices are called %s: measure them in two runs", name);
  PetscCheck(list->n < MATRIXLIST_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "More than %d matrices", MATRIXLIST_MAX);
  PetscCall(PetscStrncpy(list->sources[list->n].name, name, sizeof(list->sources[list->n].name)));
  PetscCall(PetscStrncpy(list->sources[list->n].file, file, sizeof(list->sources[list->n].file)));
  list->n++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix by its name, or all of a set */
static PetscErrorCode MatrixListAddNames(MatrixList *list, const char names[])
{
  PetscFunctionBegin;
  if (!strcmp(names, "all")) {
    for (const char *name : matrices_all) PetscCall(MatrixListAdd(list, name, ""));
  } else if (!strcmp(names, "small")) {
    for (const char *name : matrices_small) PetscCall(MatrixListAdd(list, name, ""));
  } else if (!strcmp(names, "generated")) {
    for (const char *name : matrices_generated) PetscCall(MatrixListAdd(list, name, ""));
  } else if (!strcmp(names, "sampling")) {
    for (int nnz : matrices_sampling) {
      for (int n = 1000; n <= 10000000; n *= 10) {
        for (int length = 1; length <= 20; length += 19) { /* of a row */
          char name[64];

          PetscCall(PetscSNPrintf(name, sizeof(name), "sampling-%d-%d-%d", nnz / length, n, nnz));
          PetscCall(MatrixListAdd(list, name, ""));
        }
      }
    }
  } else PetscCall(MatrixListAdd(list, names, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A file's matrix is called by the file's name without folder and .gz; the ending tells it from a generated one of the same name */
static PetscErrorCode MatrixListAddFile(MatrixList *list, const char file[])
{
  const char *slash = strrchr(file, '/');
  char        name[PETSC_MAX_PATH_LEN], *ending;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(name, slash ? slash + 1 : file, sizeof(name)));
  if ((ending = strstr(name, ".gz"))) *ending = 0;
  PetscCall(MatrixListAdd(list, name, file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrix Market files, and PETSc binary files that are called *.petsc */
static int IsMatrix(const struct dirent *entry)
{
  const size_t length = strlen(entry->d_name);

  for (const char *ending : {".mtx", ".mtx.gz", ".petsc"}) {
    if (length > strlen(ending) && !strcmp(entry->d_name + length - strlen(ending), ending)) return 1;
  }
  return 0;
}

static PetscErrorCode MatrixListAddFolder(MatrixList *list, const char folder[])
{
  struct dirent **entries;
  const int       count = scandir(folder, &entries, IsMatrix, alphasort);

  PetscFunctionBegin;
  PetscCheck(count > 0, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "-dir %s: no such folder, or no *.mtx, *.mtx.gz or *.petsc in it", folder);
  for (int e = 0; e < count; e++) {
    char file[PETSC_MAX_PATH_LEN];

    PetscCall(PetscSNPrintf(file, sizeof(file), "%s/%s", folder, entries[e]->d_name));
    PetscCall(MatrixListAddFile(list, file));
    free(entries[e]);
  }
  free(entries);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrices that the options ask for; if they ask for none, those called standard */
static PetscErrorCode MatrixListSetFromOptions(MatrixList *list, const char standard[])
{
  char      path[PETSC_MAX_PATH_LEN], *names[MATRIXLIST_MAX];
  PetscInt  n = MATRIXLIST_MAX;
  PetscBool set;

  PetscFunctionBegin;
  PetscOptionsBegin(PETSC_COMM_WORLD, "", "Matrices of the benchmark", "");
  PetscCall(PetscOptionsString("-file", "A matrix from a file", NULL, "", path, sizeof(path), &set));
  if (set) PetscCall(MatrixListAddFile(list, path));
  PetscCall(PetscOptionsString("-dir", "All matrices of a folder", NULL, "", path, sizeof(path), &set));
  if (set) PetscCall(MatrixListAddFolder(list, path));
  PetscCall(PetscOptionsStringArray("-matrices", "Generated matrices: all, small, generated, sampling, or names", NULL, names, &n, &set));
  for (PetscInt t = 0; set && t < n; t++) {
    PetscCall(MatrixListAddNames(list, names[t]));
    PetscCall(PetscFree(names[t]));
  }
  PetscOptionsEnd();
  if (!list->n) PetscCall(MatrixListAddNames(list, standard));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number of ways to place n rooks on an a x b board */
static double RookPlacements(int a, int b, int n)
{
  double ways = 1;

  for (int t = 0; t < n; t++) ways *= (double)(a - t) * (b - t) / (t + 1);
  return ways;
}

/*
  A matrix by its source. A chessboard's boundary matrix comes in the sizes that exist: a scale below 1 takes
  the next smaller one of the same board. Files are not scaled.
*/
static PetscErrorCode MatrixSourceLoad(MPI_Comm comm, const MatrixSource *source, PetscReal scale, Mat *A)
{
  int a, b, k, end = 0;

  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetType(*A, MATAIJ));
  if (source->file[0]) PetscCall(MatLoadFile(*A, source->file));
  else if (sscanf(source->name, "ch%d-%d-b%d%n", &a, &b, &k, &end) == 3 && !source->name[end]) {
    const double rows = scale * RookPlacements(a, b, k + 1);

    while (k > 1 && RookPlacements(a, b, k + 1) > rows) k--;
    PetscCall(MatFillChessboard(*A, a, b, k));
  } else PetscCall(MatFillStandin(*A, source->name, scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}
