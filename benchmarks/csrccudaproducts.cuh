#pragma once

/* Products of csrccuda matrices through PETSc: what both benchmarks on a GPU share */
#include "bench.cuh"
#include "hostcheck.h"

/* A csrccuda matrix with the nonzeros of A and a layout or, with auto, two copies; its form is not built yet */
static PetscErrorCode CreateCSRC(Mat A, const char layout[], Mat *B)
{
  const bool two = !strcmp(layout, "two");

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-bench_mat_csrc_layout", two ? "auto" : layout));
  PetscCall(PetscOptionsSetValue(NULL, "-bench_mat_form_copies", two ? "2" : "1"));
  PetscCall(MatConvert(A, "csrccuda", MAT_INITIAL_MATRIX, B));
  PetscCall(MatSetOptionsPrefix(*B, "bench_"));
  PetscCall(MatSetFromOptions(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes that the matrix holds for its products */
static PetscErrorCode GetFormMemory(Mat B, double *bytes)
{
  PetscErrorCode (*getmemory)(Mat, PetscLogDouble *, PetscMemType *);
  PetscLogDouble form;
  PetscMemType   mtype;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)B, "MatFormGetMemory_C", &getmemory));
  PetscCheck(getmemory, PetscObjectComm((PetscObject)B), PETSC_ERR_SUP, "The matrix's type has no MatFormGetMemory()");
  PetscCall((*getmemory)(B, &form, &mtype));
  *bytes = form;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillNaN(const Bench *b, double *array, size_t count, PetscMemType mtype)
{
  PetscFunctionBegin;
  if (PetscMemTypeDevice(mtype)) PetscCallCUDA(cudaMemsetAsync(array, 0xff, count * sizeof(double), b->stream));
  else memset(array, 0xff, count * sizeof(double));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Puts values into a vector, and on a GPU takes care that they are there before the first product */
static PetscErrorCode FillVector(const Bench *b, Vec x, const double values[])
{
  PetscScalar       *host;
  const PetscScalar *array;
  PetscInt           n;
  PetscMemType       mtype;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayWrite(x, &host));
  PetscCall(PetscArraycpy(host, values, n));
  PetscCall(VecRestoreArrayWrite(x, &host));
  PetscCall(VecGetArrayReadAndMemType(x, &array, &mtype));
  PetscCheck(!b->gpu || !n || PetscMemTypeDevice(mtype), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Vectors of the matrix are not on the GPU");
  PetscCall(VecRestoreArrayReadAndMemType(x, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A x or A^T u by MatMult() or MatMultTranspose() */
static PetscErrorCode MeasureVector(Bench *b, Mat B, const Reference *ref, const char layout[], PetscBool transposed)
{
  Vec                x, y;
  PetscScalar       *result;
  const PetscScalar *host;
  PetscMemType       mtype;
  char               what[64];
  double             us, error, bytes = 0;
  const auto         product = [&]() -> PetscErrorCode {
    PetscFunctionBegin;
    if (transposed) PetscCall(MatMultTranspose(B, x, y));
    else PetscCall(MatMult(B, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  };

  PetscFunctionBegin;
  if (transposed) PetscCall(MatCreateVecs(B, &y, &x));
  else PetscCall(MatCreateVecs(B, &x, &y));
  PetscCall(FillVector(b, x, transposed ? ref->U : ref->X));
  PetscCall(BenchTime(b, product, &us));
  PetscCall(VecGetArrayWriteAndMemType(y, &result, &mtype));
  PetscCall(FillNaN(b, result, (size_t)(transposed ? ref->n : ref->m), mtype));
  PetscCall(VecRestoreArrayWriteAndMemType(y, &result));
  PetscCall(product());
  PetscCall(VecGetArrayRead(y, &host));
  PetscCall(ReferenceCheck(ref, transposed, 1, host, transposed ? ref->n : ref->m, &error));
  PetscCall(VecRestoreArrayRead(y, &host));
  PetscCall(GetFormMemory(B, &bytes));
  PetscCall(PetscSNPrintf(what, sizeof(what), "csrccuda_%s_%s", layout, transposed ? "T" : "N"));
  PetscCall(BenchRecord(b, what, 1, us, bytes, error));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
