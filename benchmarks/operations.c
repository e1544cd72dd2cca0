static const char help[] = "What a matrix pays around its products, on a device or on the host: assembly, new values, sums, transposes, first products; types side by side.\n\n\
  -m, -n, -nnz       a random matrix with equally many nonzeros in each row; default 10^6 x 5000, 10^7 nonzeros\n\
  -type T,...        matrix types; default aijcusparse,csrccuda\n\
  -repeat r          each operation so many times, the types in turns; default 7\n\
  -columns K         of dense operands; default 8\n\
  -csv FILE          type, operation, milliseconds (median), milliseconds (first)\n\n\
A matrix has multiplied 500 times by A and by A^T before an operation on it, except for first products and products with dense operands. Times hold everything that an operation starts. 'first' is the first time in the process: the first type of the list loads what all share.\n";

#include <petscmat.h>
#include "bench.h"

#define MAXREPEATS 101

typedef struct {
  char         type[64];
  MatType      first; /* first type of the list: operands are in the memory where it multiplies */
  PetscInt     m, n, columns;
  PetscCount   ncoo;
  PetscInt    *i, *j;
  PetscScalar *values;
  Vec          devicevalues; /* its array is on the device if types multiply there */
  Mat          A, B, At, X, Y;
  Vec          x, y, u, v, d; /* y = A x, v = A^T u; d scales rows */
} Problem;

/* ------------------------------------------------------------ operations, each with a function that prepares it */
static PetscErrorCode Destroy(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&p->A));
  PetscCall(MatDestroy(&p->B));
  PetscCall(MatDestroy(&p->At));
  PetscCall(MatDestroy(&p->Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Preallocate(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &p->A));
  PetscCall(MatSetSizes(p->A, p->m, p->n, p->m, p->n));
  PetscCall(MatSetType(p->A, p->type));
  PetscCall(MatSetPreallocationCOO(p->A, p->ncoo, p->i, p->j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ValuesFromDevice(Problem *p)
{
  const PetscScalar *values;
  PetscMemType       mtype;

  PetscFunctionBegin;
  PetscCall(VecGetArrayReadAndMemType(p->devicevalues, &values, &mtype));
  PetscCall(MatSetValuesCOO(p->A, values, INSERT_VALUES));
  PetscCall(VecRestoreArrayReadAndMemType(p->devicevalues, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ValuesFromHost(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MatSetValuesCOO(p->A, p->values, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Mult(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MatMult(p->A, p->x, p->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultTranspose(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MatMultTranspose(p->A, p->u, p->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode New(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(Destroy(p));
  PetscCall(Preallocate(p));
  PetscCall(ValuesFromDevice(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewUsed(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(New(p));
  PetscCall(Mult(p));
  PetscCall(MultTranspose(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix with more products than a type may wait for before it stores nonzeros in its own way */
static PetscErrorCode Used(Problem *p)
{
  PetscFunctionBegin;
  if (!p->A) {
    PetscCall(New(p));
    for (int k = 0; k < 500; k++) {
      PetscCall(Mult(p));
      PetscCall(MultTranspose(p));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prepares a matrix whose values have changed before, and another matrix with its pattern */
static PetscErrorCode UsedTwice(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(Used(p));
  if (!p->B) {
    PetscCall(ValuesFromDevice(p));
    PetscCall(Mult(p));
    PetscCall(MatDuplicate(p->A, MAT_COPY_VALUES, &p->B));
    PetscCall(MatScale(p->B, 0.5));
    PetscCall(MatScale(p->A, 2.0));
    PetscCall(Mult(p));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Dropped(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(Destroy(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceMult(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(ValuesFromDevice(p));
  PetscCall(Mult(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceBoth(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(DeviceMult(p));
  PetscCall(MultTranspose(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HostMult(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(ValuesFromHost(p));
  PetscCall(Mult(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Scale(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MatScale(p->A, 1.5));
  PetscCall(Mult(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiagonalScale(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MatDiagonalScale(p->A, p->d, NULL));
  PetscCall(Mult(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AXPY(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MatAXPY(p->A, 0.25, p->B, SAME_NONZERO_PATTERN));
  PetscCall(Mult(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Copy(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MatCopy(p->B, p->A, SAME_NONZERO_PATTERN));
  PetscCall(Mult(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Zero(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MatZeroEntries(p->A));
  PetscCall(Mult(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Duplicate(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MatDuplicate(p->A, MAT_COPY_VALUES, &p->B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WithoutCopy(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(Used(p));
  PetscCall(MatDestroy(&p->B));
  PetscCall(MatDestroy(&p->At));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Transpose(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MatTranspose(p->A, MAT_INITIAL_MATRIX, &p->At));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Transposed(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(Used(p));
  if (!p->At) PetscCall(Transpose(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix is changed before, since PETSc would not transpose an unchanged one */
static PetscErrorCode TransposeAgain(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MatScale(p->A, 1.5));
  PetscCall(MatTranspose(p->A, MAT_REUSE_MATRIX, &p->At));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With the nonzeros stored for products with vectors */
static PetscErrorCode Dense(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MatMatMult(p->A, p->X, MAT_REUSE_MATRIX, PETSC_DETERMINE, &p->Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DenseReady(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(NewUsed(p));
  PetscCall(MatMatMult(p->A, p->X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &p->Y));
  for (PetscInt k = 0; k < 2 * p->columns; k++) PetscCall(Mult(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DenseByVectors(Problem *p)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < p->columns; k++) PetscCall(Mult(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ConvertMult(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(p->A, p->type, MAT_INPLACE_MATRIX, &p->A));
  PetscCall(Mult(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewFirst(Problem *p)
{
  char type[64];

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(type, p->type, sizeof(type)));
  PetscCall(PetscStrncpy(p->type, p->first, sizeof(p->type)));
  PetscCall(New(p));
  PetscCall(PetscStrncpy(p->type, type, sizeof(p->type)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct {
  const char *name;
  PetscErrorCode (*ready)(Problem *), (*operation)(Problem *);
} Operations[] = {
  {"coordinates, preallocation",                         Dropped,     Preallocate   },
  {"first A x",                                          New,         Mult          },
  {"A x",                                                Used,        Mult          },
  {"A^T u",                                              Used,        MultTranspose },
  {"values from the device, A x",                        UsedTwice,   DeviceMult    },
  {"values from the device, A x, A^T u",                 UsedTwice,   DeviceBoth    },
  {"values from the host, A x",                          UsedTwice,   HostMult      },
  {"MatScale, A x",                                      UsedTwice,   Scale         },
  {"MatDiagonalScale, A x",                              UsedTwice,   DiagonalScale },
  {"MatAXPY, A x",                                       UsedTwice,   AXPY          },
  {"MatCopy, A x",                                       UsedTwice,   Copy          },
  {"MatZeroEntries, A x",                                UsedTwice,   Zero          },
  {"MatDuplicate",                                       WithoutCopy, Duplicate     },
  {"MatTranspose, new",                                  WithoutCopy, Transpose     },
  {"MatScale, MatTranspose, reused",                     Transposed,  TransposeAgain},
  {"A X after products with vectors",                    DenseReady,  Dense         },
  {"as many products with vectors",                      Used,        DenseByVectors},
  {"MatConvert from the first type in place, first A x", NewFirst,    ConvertMult   },
};

static PetscErrorCode Time(Problem *p, size_t o, PetscReal *ms)
{
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  PetscCall((*Operations[o].ready)(p));
  PetscCall(WaitForDevice());
  PetscCall(PetscTime(&begin));
  PetscCall((*Operations[o].operation)(p));
  PetscCall(WaitForDevice());
  PetscCall(PetscTime(&end));
  *ms = 1e3 * (end - begin);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateVec(VecType type, PetscInt n, Vec *x)
{
  PetscFunctionBegin;
  PetscCall(VecCreate(PETSC_COMM_SELF, x));
  PetscCall(VecSetSizes(*x, n, n));
  PetscCall(VecSetType(*x, type));
  PetscCall(VecSet(*x, 1.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeProblem(Problem *p, PetscReal nnz)
{
  PetscRandom random;
  Mat         A;
  VecType     type;

  PetscFunctionBegin;
  p->ncoo = (PetscCount)nnz;
  PetscCall(PetscMalloc3(p->ncoo, &p->i, p->ncoo, &p->j, p->ncoo, &p->values));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  for (PetscCount k = 0; k < p->ncoo; k++) {
    PetscReal r;

    PetscCall(PetscRandomGetValueReal(random, &r));
    p->i[k] = (PetscInt)((PetscReal)k * p->m / p->ncoo);
    p->j[k] = PetscMin((PetscInt)(r * p->n), p->n - 1);
    PetscCall(PetscRandomGetValue(random, &p->values[k]));
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetType(A, p->first));
  PetscCall(MatGetVecType(A, &type));
  PetscCall(CreateVec(type, (PetscInt)p->ncoo, &p->devicevalues));
  {
    PetscScalar *values;

    PetscCall(VecGetArrayWrite(p->devicevalues, &values));
    PetscCall(PetscArraycpy(values, p->values, p->ncoo));
    PetscCall(VecRestoreArrayWrite(p->devicevalues, &values));
  }
  PetscCall(CreateVec(type, p->n, &p->x));
  PetscCall(CreateVec(type, p->m, &p->y));
  PetscCall(CreateVec(type, p->m, &p->u));
  PetscCall(CreateVec(type, p->n, &p->v));
  PetscCall(CreateVec(type, p->m, &p->d));
  PetscCall(VecSet(p->d, 0.999));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_SELF, type, p->n, p->columns, p->n, p->columns, PETSC_DECIDE, NULL, &p->X));
  PetscCall(MatDestroy(&A));
  PetscCall(MatSetRandom(p->X, NULL));
  PetscCall(WaitForDevice());
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem   p = {.type = "", .m = 1000000, .n = 5000, .columns = 8};
  char     *types[MAXLIST], file[PETSC_MAX_PATH_LEN];
  PetscInt  ntypes, repeat = 7;
  PetscReal nnz = 1e7, ms[MAXLIST][MAXREPEATS];
  PetscBool given;
  FILE     *csv = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-m", &p.m, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &p.n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-columns", &p.columns, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-nnz", &nnz, NULL));
  PetscCheck(repeat >= 1 && repeat <= MAXREPEATS, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "-repeat %" PetscInt_FMT ": 1 to %d", repeat, MAXREPEATS);
  PetscCheck(p.m > 0 && p.n > 0 && nnz > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "-m, -n and -nnz must be positive");
  PetscCall(GetList("-type", MATAIJCUSPARSE ",csrccuda", types, &ntypes));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", file, sizeof(file), &given));
  if (given) PetscCall(PetscFOpen(PETSC_COMM_SELF, file, "w", &csv));
  if (csv) PetscCall(PetscFPrintf(PETSC_COMM_SELF, csv, "type,operation,ms,first\n"));
  p.first = types[0];
  PetscCall(MakeProblem(&p, nnz));
  for (size_t o = 0; o < PETSC_STATIC_ARRAY_LENGTH(Operations); o++) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-50s", Operations[o].name));
    for (PetscInt t = 0; t < ntypes; t++) {
      PetscReal first;

      PetscCall(Destroy(&p));
      PetscCall(PetscStrncpy(p.type, types[t], sizeof(p.type)));
      for (PetscInt r = 0; r < repeat; r++) PetscCall(Time(&p, o, &ms[t][r]));
      PetscCall(Destroy(&p));
      first = ms[t][0];
      PetscCall(PetscSortReal(repeat, ms[t]));
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s %9.3f (first %9.3f)", types[t], ms[t][repeat / 2], first));
      if (csv) PetscCall(PetscFPrintf(PETSC_COMM_SELF, csv, "%s,\"%s\",%.4f,%.4f\n", types[t], Operations[o].name, ms[t][repeat / 2], first));
    }
    if (ntypes > 1) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s/%s %.3f", types[1], types[0], ms[1][repeat / 2] / ms[0][repeat / 2]));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  }
  if (csv) PetscCall(PetscFClose(PETSC_COMM_SELF, csv));
  PetscCall(MatDestroy(&p.X));
  PetscCall(VecDestroy(&p.x));
  PetscCall(VecDestroy(&p.y));
  PetscCall(VecDestroy(&p.u));
  PetscCall(VecDestroy(&p.v));
  PetscCall(VecDestroy(&p.d));
  PetscCall(VecDestroy(&p.devicevalues));
  PetscCall(PetscFree3(p.i, p.j, p.values));
  for (PetscInt t = 0; t < ntypes; t++) PetscCall(PetscFree(types[t]));
  PetscCall(PetscFinalize());
  return 0;
}
