/*
  Products with A and with A^T by all processes of a run: PETSc's types for CPUs and MATBCCOO, one after the other on the same
  matrix. README.md here tells how it is used.
*/
static char help[] = "Measures products of matrix types on all processes of a run; the slowest process counts.\n"
                     "  -dll_append <libpetsccsrc.so> : the library that brings bccoo\n"
                     "  -types <aij,aijsell,bccoo>    : types to be compared\n"
                     "  -matrices generated|<names>   : generated matrices: the eight of measurements/performance.md, or some by name\n"
                     "  -file <file>, -dir <folder>   : Matrix Market files, or PETSc binary files\n"
                     "  -scale <1>                    : makes generated matrices smaller, for a trial\n"
                     "  -budget <0.1>                 : seconds that a product is timed for, about\n"
                     "  -csv <file>                   : writes what was measured there\n"
                     "  -bench_<option of the type>   : for every matrix measured, as -bench_mat_form_exchange sf\n"
                     "The exit status is 1 if a product was wrong.\n\n";

#include <petscmat.h>
#include <petsctime.h>
#include "grouptime.h"
#include "matrixlist.h"

#define MAXTYPES 8
/* Types may add in any order: how far apart two products may be, in |A| |x|, Frobenius and Euclidean norm */
#define TOLERANCE 1e-12

typedef struct {
  FILE       *csv;
  PetscMPIInt size;
  PetscReal   scale, budget;
  PetscInt    ntypes;
  char       *types[MAXTYPES];
  PetscInt    nwrong;
} Bench;

static PetscErrorCode Product(Mat A, PetscBool transposed, Vec x, Vec y)
{
  PetscFunctionBegin;
  if (transposed) PetscCall(MatMultTranspose(A, x, y));
  else PetscCall(MatMult(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds a product takes in a group of them, back to back, on the slowest process */
static PetscErrorCode TimeGroup(Mat A, PetscBool transposed, Vec x, Vec y, PetscInt n, PetscLogDouble *seconds)
{
  PetscLogDouble start, end, mine;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&start));
  for (PetscInt k = 0; k < n; k++) PetscCall(Product(A, transposed, x, y));
  PetscCall(PetscTime(&end));
  mine = (end - start) / n;
  PetscCallMPI(MPIU_Allreduce(&mine, seconds, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One product of one type, checked against what AIJ gives; on the first process, a line of the CSV */
static PetscErrorCode Measure(Bench *b, const char matrix[], const char type[], Mat A, PetscBool transposed, Vec x, Vec expected, PetscReal allowed, double *microseconds)
{
  Vec       y;
  PetscReal error;
  PetscInt  rows, cols;
  MatInfo   info;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(expected, &y));
  PetscCall(Product(A, transposed, x, y));
  PetscCall(VecAXPY(y, -1.0, expected));
  PetscCall(VecNorm(y, NORM_2, &error));
  error /= allowed;
  *microseconds = GroupTime(b->budget, [=](int n) {
    PetscLogDouble seconds;

    PetscCallAbort(PETSC_COMM_WORLD, TimeGroup(A, transposed, x, y, n, &seconds));
    return seconds;
  });
  PetscCall(VecDestroy(&y));
  if (!(error <= 1)) {
    b->nwrong++;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s %c WRONG: %g of what is allowed\n", type, transposed ? 'T' : 'N', (double)error));
  }
  PetscCall(MatGetSize(A, &rows, &cols));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  if (b->csv) {
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, b->csv, "%s,%" PetscInt_FMT ",%" PetscInt_FMT ",%.0f,%s_%c,%d,1,%.2f,%.3g\n", matrix, rows, cols, info.nz_used, type, transposed ? 'T' : 'N', b->size, *microseconds, (double)error));
    fflush(b->csv);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureSource(Bench *b, const MatrixSource *source)
{
  Mat         A, B;
  Vec         x, u, y, v;
  PetscRandom random;
  PetscReal   normA, normx, normu;
  double      N, T;

  PetscFunctionBegin;
  PetscCall(MatrixSourceLoad(PETSC_COMM_WORLD, source, b->scale, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &v));
  PetscCall(VecDuplicate(y, &u));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(VecSetRandom(x, random));
  PetscCall(VecSetRandom(u, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMultTranspose(A, u, v));
  PetscCall(MatNorm(A, NORM_FROBENIUS, &normA));
  PetscCall(VecNorm(x, NORM_2, &normx));
  PetscCall(VecNorm(u, NORM_2, &normu));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-20s", source->name));
  for (PetscInt t = 0; t < b->ntypes; t++) {
    PetscCall(MatConvert(A, b->types[t], MAT_INITIAL_MATRIX, &B));
    PetscCall(MatSetOptionsPrefix(B, "bench_"));
    PetscCall(MatSetFromOptions(B));
    PetscCall(Measure(b, source->name, b->types[t], B, PETSC_FALSE, x, y, TOLERANCE * normA * normx, &N));
    PetscCall(Measure(b, source->name, b->types[t], B, PETSC_TRUE, u, v, TOLERANCE * normA * normu, &T));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %s N %.1f T %.1f", b->types[t], N, T));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&v));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchSetFromOptions(Bench *b)
{
  static const char *const standard[] = {"aij", "aijsell", "bccoo"};
  char                     path[PETSC_MAX_PATH_LEN];
  PetscBool                set;

  PetscFunctionBegin;
  PetscOptionsBegin(PETSC_COMM_WORLD, "", "Benchmark of products on several processes", "");
  PetscCall(PetscOptionsReal("-scale", "Size of generated matrices, 1 for the original's", NULL, b->scale, &b->scale, NULL));
  PetscCall(PetscOptionsReal("-budget", "Seconds a product is timed for", NULL, b->budget, &b->budget, NULL));
  b->ntypes = MAXTYPES;
  PetscCall(PetscOptionsStringArray("-types", "Matrix types", NULL, b->types, &b->ntypes, &set));
  if (!set) {
    b->ntypes = PETSC_STATIC_ARRAY_LENGTH(standard);
    for (PetscInt t = 0; t < b->ntypes; t++) PetscCall(PetscStrallocpy(standard[t], &b->types[t]));
  }
  PetscCall(PetscOptionsString("-csv", "File for what was measured", NULL, "", path, sizeof(path), &set));
  if (set) PetscCall(PetscFOpen(PETSC_COMM_WORLD, path, "w", &b->csv));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench      b = {NULL, 1, 1.0, 0.1, 0, {NULL}, 0};
  MatrixList list;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsSetValue(NULL, "-mat_form_store_at_once", "true")); /* products of stored nonzeros are measured */
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &b.size));
  list.n = 0;
  PetscCall(BenchSetFromOptions(&b));
  PetscCall(MatrixListSetFromOptions(&list, "generated"));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d processes; microseconds of the slowest one\n", b.size));
  if (b.csv) PetscCall(PetscFPrintf(PETSC_COMM_WORLD, b.csv, "matrix,rows,columns,nonzeros,what,processes,K,microseconds,error\n"));
  for (PetscInt s = 0; s < list.n; s++) PetscCall(MeasureSource(&b, &list.sources[s]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " wrong\n", b.nwrong));
  if (b.csv) PetscCall(PetscFClose(PETSC_COMM_WORLD, b.csv));
  for (PetscInt t = 0; t < b.ntypes; t++) PetscCall(PetscFree(b.types[t]));
  PetscCall(PetscFinalize());
  return b.nwrong ? 1 : 0;
}
