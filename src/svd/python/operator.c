/* Matrices that are operators; see python.h. Both multiply blocks, which the solver uses, and single vectors, which left vectors on request use */
#include "python.h"
#include <petscdevice.h>
#include <slepcbv.h>
#include "blockops/blockbv.h"
#include "sys/petscolder.h"

typedef PetscErrorCode BlockMultiplyFn(Mat, Mat, Mat, void *);

/* Sets what a shell does for vectors and for blocks of the type of its vectors */
static PetscErrorCode SetOperations(Mat A, PetscErrorCodeFn *mult, PetscErrorCodeFn *multtranspose, BlockMultiplyFn *multiply, BlockMultiplyFn *multiplytranspose)
{
  const char *dense[] = {MATDENSE, MATDENSECUDA};

  PetscFunctionBegin;
  PetscCall(MatShellSetOperation(A, MATOP_MULT, mult));
  PetscCall(MatShellSetOperation(A, MATOP_MULT_TRANSPOSE, multtranspose));
  for (int i = 0; i < (PetscDefined(HAVE_CUDA) ? 2 : 1); i++) {
    PetscCall(MatShellSetMatProductOperation(A, MATPRODUCT_AB, NULL, multiply, NULL, dense[i], dense[i]));
    PetscCall(MatShellSetMatProductOperation(A, MATPRODUCT_AtB, NULL, multiplytranspose, NULL, dense[i], dense[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  PetscFunctionBegin;
  PetscCall(MatCreateShell(comm, m, n, PETSC_DETERMINE, PETSC_DETERMINE, (void *)product, A));
  if (device) PetscCall(MatShellSetVecType(*A, VECCUDA));
  PetscCall(SetOperations(*A, (PetscErrorCodeFn *)MatMult_Python, (PetscErrorCodeFn *)MatMultTranspose_Python, MatMatMult_Python, MatTransposeMatMult_Python));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------ A without means */
/*
  A - l r^T, where one of l and r is all ones and the other one has the means. The dot products with the conjugate of r (for A X) and of l
  (for A^T U), and the updates, are those of the solver, so they are made where the blocks are, and summed over processes.
*/
typedef struct {
  Mat            A;
  BV             left, right; /* two columns: the vector and its conjugate */
  BlockWorkspace blocks;
} Centered;

/* Y = A X - l r^T X, or A^T X - r l^T X; plain is the product without the means */
static PetscErrorCode Subtract(Mat B, PetscBool transpose, Mat X, Mat Y)
{
  Centered          *ctx;
  BlockArray         in, out;
  const PetscScalar *x;
  PetscScalar       *y, *dots;
  PetscInt           columns, nx, ny, ldx, ldy;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(B, &ctx));
  PetscCall(MatGetSize(X, NULL, &columns));
  PetscCall(MatGetLocalSize(X, &nx, NULL));
  PetscCall(MatGetLocalSize(Y, &ny, NULL));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Y, &ldy));
  PetscCall(BlockGetArray(&ctx->blocks, transpose ? ctx->left : ctx->right, &in));
  PetscCall(BlockGetArray(&ctx->blocks, transpose ? ctx->right : ctx->left, &out));
  PetscCall(BlockGetScratch(&ctx->blocks, BLOCK_SCRATCH_SMALL, columns, &dots));
  PetscCall(MatDenseGetArrayReadAndMemType(X, &x, NULL));
  PetscCall(MatDenseGetArrayAndMemType(Y, &y, NULL));
  PetscCall(BlockGram(&ctx->blocks, nx, 1, columns, in.a + in.ld, in.ld, x, ldx, dots));
  PetscCall((*ctx->blocks.ops->multiply)(ny, columns, 1, -1.0, out.a, out.ld, dots, PETSC_TRUE, y, ldy));
  PetscCall(MatDenseRestoreArrayAndMemType(Y, &y));
  PetscCall(MatDenseRestoreArrayReadAndMemType(X, &x));
  PetscCall(BlockRestoreArray(&ctx->blocks, transpose ? ctx->right : ctx->left, &out));
  PetscCall(BlockRestoreArray(&ctx->blocks, transpose ? ctx->left : ctx->right, &in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Multiply(Mat B, MatProductType type, Mat X, Mat Y)
{
  Centered *ctx;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(B, &ctx));
  PetscCall(MatProductCreateWithMat(ctx->A, X, NULL, Y));
  PetscCall(MatProductSetType(Y, type));
  PetscCall(MatProductSetFromOptions(Y));
  PetscCall(MatProductSymbolic(Y));
  PetscCall(MatProductNumeric(Y));
  PetscCall(MatProductClear(Y));
  PetscCall(Subtract(B, (PetscBool)(type == MATPRODUCT_AtB), X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMatMult_Centered(Mat B, Mat X, Mat Y, void *ctx)
{
  return Multiply(B, MATPRODUCT_AB, X, Y);
}

static PetscErrorCode MatTransposeMatMult_Centered(Mat B, Mat X, Mat Y, void *ctx)
{
  return Multiply(B, MATPRODUCT_AtB, X, Y);
}

/* y = A x - l r^T x, or with the roles exchanged */
static PetscErrorCode MultiplyVec(Mat B, PetscBool transpose, Vec x, Vec y)
{
  Centered   *ctx;
  Vec         v;
  BV          in, out;
  PetscScalar dot;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(B, &ctx));
  in  = transpose ? ctx->left : ctx->right;
  out = transpose ? ctx->right : ctx->left;
  PetscCall((transpose ? MatMultTranspose : MatMult)(ctx->A, x, y));
  PetscCall(BVGetColumn(in, 0, &v));
  PetscCall(VecTDot(x, v, &dot));
  PetscCall(BVRestoreColumn(in, 0, &v));
  PetscCall(BVGetColumn(out, 0, &v));
  PetscCall(VecAXPY(y, -dot, v));
  PetscCall(BVRestoreColumn(out, 0, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_Centered(Mat B, Vec x, Vec y)
{
  return MultiplyVec(B, PETSC_FALSE, x, y);
}

static PetscErrorCode MatMultTranspose_Centered(Mat B, Vec x, Vec y)
{
  return MultiplyVec(B, PETSC_TRUE, x, y);
}

static PetscErrorCode MatDestroy_Centered(Mat B)
{
  Centered *ctx;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(B, &ctx));
  PetscCall(BlockWorkspaceReset(&ctx->blocks));
  PetscCall(BVDestroy(&ctx->left));
  PetscCall(BVDestroy(&ctx->right));
  PetscCall(MatDestroy(&ctx->A));
  PetscCall(PetscFree(ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A BV of a vector and its conjugate */
static PetscErrorCode TwoColumns(Vec x, BV *bv)
{
  PetscFunctionBegin;
  PetscCall(BVCreate(PetscObjectComm((PetscObject)x), bv));
  PetscCall(BVSetSizesFromVec(*bv, x, 2));
  PetscCall(BVSetType(*bv, BVMAT));
  PetscCall(BVInsertVec(*bv, 0, x));
  PetscCall(VecConjugate(x));
  PetscCall(BVInsertVec(*bv, 1, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreateCentered(Mat A, PetscBool rows, Mat *B)
{
  Centered *ctx;
  Vec       left, right;
  VecType   type;
  PetscInt  m, n, M, N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatCreateVecs(A, &right, &left));
  PetscCall(PetscNew(&ctx));
  ctx->A = A;
  PetscCall(PetscObjectReference((PetscObject)A));
  PetscCall(MatCreateShell(PetscObjectComm((PetscObject)A), m, n, M, N, ctx, B));
  PetscCall(MatShellSetOperation(*B, MATOP_DESTROY, (PetscErrorCodeFn *)MatDestroy_Centered));
  PetscCall(VecGetType(left, &type));
  PetscCall(MatShellSetVecType(*B, type));
  PetscCall(SetOperations(*B, (PetscErrorCodeFn *)MatMult_Centered, (PetscErrorCodeFn *)MatMultTranspose_Centered, MatMatMult_Centered, MatTransposeMatMult_Centered));
  PetscCall(VecSet(rows ? right : left, 1.0));
  if (rows) PetscCall(MatMult(A, right, left));
  else PetscCall(MatMultTranspose(A, left, right));
  PetscCall(VecScale(rows ? left : right, (PetscReal)1 / (rows ? N : M)));
  PetscCall(TwoColumns(left, &ctx->left));
  PetscCall(TwoColumns(right, &ctx->right));
  PetscCall(BlockWorkspaceSetBV(&ctx->blocks, ctx->left));
  PetscCheck(ctx->blocks.ops, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "Means can be removed of matrices on the host or on a CUDA device only");
  PetscCall(VecDestroy(&left));
  PetscCall(VecDestroy(&right));
  PetscFunctionReturn(PETSC_SUCCESS);
}
