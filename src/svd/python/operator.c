/* Matrices that are operators; see python.h */
#include "python.h"
#include <petscdevice.h>
#include "sys/petscolder.h"

/* ------------------------------------------------------------------------------------------------ a function of Python */
static PetscErrorCode CallPython(Mat A, PetscBool transpose, PetscMemType where, PetscInt columns, const PetscScalar x[], PetscInt ldx, PetscScalar y[], PetscInt ldy)
{
  PythonProduct product;

  PetscFunctionBegin;
  if (PetscMemTypeDevice(where)) { /* the function works on a stream of its own, for which it waits before it returns */
    PetscDeviceContext context;

    PetscCall(PetscDeviceContextGetCurrentContext(&context));
    PetscCall(PetscDeviceContextSynchronize(context));
  }
  PetscCall(MatShellGetContext(A, &product));
  PetscCheck(!(*product)(transpose, columns, (void *)x, ldx, y, ldy), PETSC_COMM_SELF, PETSC_ERR_PYTHON, "A product of the operator failed");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ApplyToVec(Mat A, PetscBool transpose, Vec x, Vec y)
{
  const PetscScalar *xx;
  PetscScalar       *yy;
  PetscInt           nx, ny;
  PetscMemType       where;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &nx));
  PetscCall(VecGetLocalSize(y, &ny));
  PetscCall(VecGetArrayReadAndMemType(x, &xx, &where));
  PetscCall(VecGetArrayWriteAndMemType(y, &yy, NULL));
  PetscCall(CallPython(A, transpose, where, 1, xx, nx, yy, ny));
  PetscCall(VecRestoreArrayWriteAndMemType(y, &yy));
  PetscCall(VecRestoreArrayReadAndMemType(x, &xx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ApplyToBlock(Mat A, PetscBool transpose, Mat X, Mat Y)
{
  const PetscScalar *x;
  PetscScalar       *y;
  PetscInt           ldx, ldy, columns;
  PetscMemType       where;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, NULL, &columns));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Y, &ldy));
  PetscCall(MatDenseGetArrayReadAndMemType(X, &x, &where));
  PetscCall(MatDenseGetArrayWriteAndMemType(Y, &y, NULL));
  PetscCall(CallPython(A, transpose, where, columns, x, ldx, y, ldy));
  PetscCall(MatDenseRestoreArrayWriteAndMemType(Y, &y));
  PetscCall(MatDenseRestoreArrayReadAndMemType(X, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_Python(Mat A, Vec x, Vec y)
{
  return ApplyToVec(A, PETSC_FALSE, x, y);
}

static PetscErrorCode MatMultTranspose_Python(Mat A, Vec x, Vec y)
{
  return ApplyToVec(A, PETSC_TRUE, x, y);
}

static PetscErrorCode MatMatMult_Python(Mat A, Mat X, Mat Y, void *ctx)
{
  return ApplyToBlock(A, PETSC_FALSE, X, Y);
}

static PetscErrorCode MatTransposeMatMult_Python(Mat A, Mat X, Mat Y, void *ctx)
{
  return ApplyToBlock(A, PETSC_TRUE, X, Y);
}

PetscErrorCode MatCreatePythonOperator(MPI_Comm comm, PetscInt m, PetscInt n, PetscBool device, PythonProduct product, Mat *A)
{
  const char *dense[] = {MATDENSE, MATDENSECUDA};

  PetscFunctionBegin;
  PetscCall(MatCreateShell(comm, m, n, PETSC_DETERMINE, PETSC_DETERMINE, (void *)product, A));
  if (device) PetscCall(MatShellSetVecType(*A, VECCUDA));
  PetscCall(MatShellSetOperation(*A, MATOP_MULT, (PetscErrorCodeFn *)MatMult_Python));
  PetscCall(MatShellSetOperation(*A, MATOP_MULT_TRANSPOSE, (PetscErrorCodeFn *)MatMultTranspose_Python));
  for (int i = 0; i < (PetscDefined(HAVE_CUDA) ? 2 : 1); i++) {
    PetscCall(MatShellSetMatProductOperation(*A, MATPRODUCT_AB, NULL, MatMatMult_Python, NULL, dense[i], dense[i]));
    PetscCall(MatShellSetMatProductOperation(*A, MATPRODUCT_AtB, NULL, MatTransposeMatMult_Python, NULL, dense[i], dense[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------ A without means */
/* A dense matrix of one column, with vectors of the type of A */
static PetscErrorCode MatOfVec(Mat A, Vec x, Mat *X)
{
  VecType  type;
  PetscInt n, N;
  Vec      column;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetSize(x, &N));
  PetscCall(MatCreateDenseFromVecType(PetscObjectComm((PetscObject)x), type, n, PETSC_DECIDE, N, 1, PETSC_DECIDE, NULL, X));
  PetscCall(MatSetVecType(*X, type));
  PetscCall(MatDenseGetColumnVecWrite(*X, 0, &column));
  PetscCall(VecCopy(x, column));
  PetscCall(MatDenseRestoreColumnVecWrite(*X, 0, &column));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreateCentered(Mat A, PetscBool rows, Mat *B)
{
  Vec      left, right;
  Mat      U, V;
  PetscInt M, N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatCreateVecs(A, &right, &left));
  PetscCall(VecSet(rows ? right : left, 1.0));
  if (rows) PetscCall(MatMult(A, right, left));
  else PetscCall(MatMultTranspose(A, left, right));
  PetscCall(VecScale(left, -(PetscReal)1 / (rows ? N : M)));
  PetscCall(VecConjugate(right));
  PetscCall(MatOfVec(A, left, &U));
  PetscCall(MatOfVec(A, right, &V));
  PetscCall(MatCreateLRC(A, U, NULL, V, B));
  PetscCall(MatDestroy(&U));
  PetscCall(MatDestroy(&V));
  PetscCall(VecDestroy(&left));
  PetscCall(VecDestroy(&right));
  PetscFunctionReturn(PETSC_SUCCESS);
}
