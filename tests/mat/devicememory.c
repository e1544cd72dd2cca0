static char help[] = "Device memory that does not suffice: an error that names bytes, on all processes also if one lacks memory, and a matrix that is as good as before.\n\n";

#include "reference.h"
#include "caught.h"
#include <petscdevice_cuda.h>

#define PIECES 4096
#define ROOM   ((size_t)1 << 29) /* bytes of device memory that the test uses at most; with all of the memory each attempt would take too long */
#define STEP   ((size_t)1 << 23) /* additional bytes in each attempt */
#define LEAST  4096

/* Device memory that the test allocates, so that little is left */
typedef struct {
  void    *piece[PIECES];
  PetscInt n;
} Taken;

static Taken    most, rest;
static PetscInt bad = 0;

/* Allocates device memory, in smaller and smaller pieces down to `least` bytes, until only `bytes` are left */
static PetscErrorCode Leave(size_t bytes, size_t least, Taken *taken)
{
  void  *left = NULL;
  size_t avail, total;

  PetscFunctionBegin;
  if (bytes) PetscCallCUDA(cudaMalloc(&left, bytes));
  PetscCallCUDA(cudaMemGetInfo(&avail, &total));
  for (size_t size = avail; size >= least && taken->n < PIECES;) {
    if (cudaMalloc(&taken->piece[taken->n], size) == cudaSuccess) taken->n++;
    else {
      (void)cudaGetLastError();
      size /= 2;
    }
  }
  PetscCallCUDA(cudaFree(left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Release(Taken *taken)
{
  PetscFunctionBegin;
  while (taken->n) PetscCallCUDA(cudaFree(taken->piece[--taken->n]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operands of products that may fail; a failed product leaves them locked */
typedef struct {
  Vec x, y, u, v;
  Mat X, Y;
} Operands;

static PetscErrorCode Multiply(Mat A, const Operands *o)
{
  PetscFunctionBegin;
  PetscCall(MatMult(A, o->x, o->y));
  PetscCall(MatMultTranspose(A, o->u, o->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultiplyDense(Mat A, const Operands *o)
{
  Mat Y = o->Y;

  PetscFunctionBegin;
  PetscCall(MatMatMult(A, o->X, MAT_REUSE_MATRIX, PETSC_CURRENT, &Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Checks the error of a call that needed more memory than there was */
static PetscErrorCode CheckError(const char what[], PetscErrorCode ierr)
{
  char *wants, *free, *way;

  PetscFunctionBegin;
  PetscCall(PetscStrstr(caught.message, "bytes", &wants));
  PetscCall(PetscStrstr(caught.message, "free", &free));
  PetscCall(PetscStrstr(caught.message, "MatBindToCPU", &way));
  if (ierr != PETSC_ERR_MEM || !wants || !free || !way) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: error %d, %s\n", what, (int)ierr, caught.message));
    bad++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Destroys the form; *avail: the free memory of the device afterwards */
static PetscErrorCode Reset(Mat A, size_t *avail)
{
  size_t        total;
  int           device;
  cudaMemPool_t pool;

  PetscFunctionBegin;
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetDefaultMemPool(&pool, device));
  PetscCallCUDA(cudaMemPoolTrimTo(pool, 0));
  PetscCallCUDA(cudaMemGetInfo(avail, &total));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets new values, equal to the old ones */
static PetscErrorCode Renew(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatScale(A, 2.0));
  PetscCall(MatScale(A, 0.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Repeats a product with more and more memory, until it succeeds: first there are errors, then results. After each error the product must
  succeed with all of the memory. renew: with new values in an existing form. Counts the attempts that failed.
*/
static PetscErrorCode Squeeze(const char what[], const Reference *ref, Mat A, PetscErrorCode (*multiply)(Mat, const Operands *), const Operands *o, PetscBool renew, PetscInt *refused)
{
  PetscErrorCode ierr;
  size_t         before, after;
  PetscBool      again = PETSC_TRUE;

  PetscFunctionBegin;
  *refused = 0;
  for (int k = 0; k < 2; k++) { /* so that everything that is kept, kernels too, is allocated now */
    PetscCall((*multiply)(A, o));
    PetscCall(Renew(A));
  }
  for (size_t bytes = 0; again; bytes += STEP) {
    PetscCall(Reset(A, &before));
    if (renew) {
      PetscCall((*multiply)(A, o));
      PetscCall(Renew(A));
    }
    PetscCall(Leave(bytes, LEAST, &rest));
    Catch(ierr, (*multiply)(A, o));
    PetscCall(Release(&rest));
    again = ierr ? PETSC_TRUE : PETSC_FALSE;
    if (ierr) {
      ++*refused;
      PetscCall(CheckError(what, ierr));
      PetscCall((*multiply)(A, o));
    }
    if (multiply == Multiply) {
      PetscCall(ReferenceCheckVec(ref, REFERENCE_N, 1, -1, o->y, what, &bad));
      PetscCall(ReferenceCheckVec(ref, REFERENCE_T, 2, -1, o->v, what, &bad));
    } else PetscCall(ReferenceCheckDense(ref, REFERENCE_N, 3, o->Y, what, &bad));
    PetscCall(Reset(A, &after));
    if (after < before) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: with %zu bytes left, %zu are lost\n", what, bytes, before - after));
      bad++;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One process: less and less memory, and none */
static PetscErrorCode Sequential(void)
{
  const PetscInt many = 200000;
  PetscInt       refused;
  Reference      ref;
  Operands       o;
  Mat            A;
  size_t         avail;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(ReferenceSparse(many, many, 5, 1000, 1, NULL, &A));
  PetscCall(ReferenceCreateFromMat("a million nonzeros", A, &ref));
  PetscCall(MatCreateVecs(A, &o.x, &o.y));
  PetscCall(MatCreateVecs(A, &o.v, &o.u));
  PetscCall(ReferenceFillVec(o.x, 1));
  PetscCall(ReferenceFillVec(o.u, 2));
  PetscCall(ReferenceDenseCreate(PETSC_COMM_WORLD, PETSC_DECIDE, many, 16, PETSC_FALSE, &o.X));
  PetscCall(ReferenceDenseFill(o.X, 3));

  PetscCall(Multiply(A, &o));
  PetscCall(Reset(A, &avail));
  PetscCall(Leave(ROOM, LEAST, &most));
  PetscCall(Squeeze("products with vectors", &ref, A, Multiply, &o, PETSC_FALSE, &refused));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "products with vectors: %s\n", refused ? "refused, then right" : "never refused"));
  PetscCall(Squeeze("new values", &ref, A, Multiply, &o, PETSC_TRUE, &refused));
  PetscCall(MatMatMult(A, o.X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &o.Y));
  PetscCall(Squeeze("products with dense matrices", &ref, A, MultiplyDense, &o, PETSC_FALSE, &refused));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "products with dense matrices: %s\n", refused ? "refused, then right" : "never refused"));

  /* the remedy that the error message names */
  PetscCall(Reset(A, &avail));
  PetscCall(Leave(0, LEAST, &rest));
  Catch(ierr, Multiply(A, &o));
  PetscCall(CheckError("without any memory", ierr));
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(ReferenceCheckEntries(&ref, A, 0.0, "after the error", &bad));
  PetscCall(Multiply(A, &o));
  PetscCall(ReferenceCheckVec(&ref, REFERENCE_N, 1, -1, o.y, "bound to the CPU", &bad));
  PetscCall(ReferenceCheckVec(&ref, REFERENCE_T, 2, -1, o.v, "bound to the CPU", &bad));
  PetscCall(Release(&rest));
  PetscCall(Release(&most));
  PetscCall(VecDestroy(&o.x));
  PetscCall(VecDestroy(&o.y));
  PetscCall(VecDestroy(&o.u));
  PetscCall(VecDestroy(&o.v));
  PetscCall(MatDestroy(&o.X));
  PetscCall(MatDestroy(&o.Y));
  PetscCall(MatDestroy(&A));
  PetscCall(ReferenceDestroy(&ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several processes, of which the last one has no memory for the stored form */
static PetscErrorCode Parallel(PetscMPIInt rank, PetscMPIInt size)
{
  const PetscInt many = 300000;
  Reference      ref;
  Mat            A;
  Vec            x, y, u, v;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(ReferenceSetTestValues());
  PetscCall(ReferenceSparse(many, many, 5, 7919, 1, NULL, &A));
  PetscCall(ReferenceCreateFromMat("a million nonzeros", A, &ref));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(ReferenceFillVec(x, 1));
  PetscCall(MatMult(A, x, y));
  PetscCall(ReferenceCheckVec(&ref, REFERENCE_N, 1, -1, y, "with all memory", &bad));

  /* frees the stored form, which has to be built again */
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(Renew(A));
  if (rank == size - 1) PetscCall(Leave(0, (size_t)1 << 16, &rest));
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
  Catch(ierr, MatMult(A, x, y));
  if (!ierr) {
    PetscCall(PetscFPrintf(PETSC_COMM_SELF, stdout, "[%d] no error\n", rank));
    bad++;
  }
  PetscCall(Release(&rest));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD)); /* all processes may share one device */

  /* new operands, since the failed product has left its operands locked */
  PetscCall(MatCreateVecs(A, &v, &u));
  PetscCall(ReferenceFillVec(v, 2));
  PetscCall(MatMult(A, v, u));
  PetscCall(ReferenceCheckVec(&ref, REFERENCE_N, 2, -1, u, "after the error", &bad));
  PetscCall(ReferenceFillVec(u, 3));
  PetscCall(MatMultTranspose(A, u, v));
  PetscCall(ReferenceCheckVec(&ref, REFERENCE_T, 3, -1, v, "after the error", &bad));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(MatDestroy(&A));
  PetscCall(ReferenceDestroy(&ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt rank, size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) PetscCall(Parallel(rank, size));
  else PetscCall(Sequential());
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c
    requires: cuda

  test:
    suffix: gpu
    args: -mat_type csrccuda

  test:
    suffix: gpu_csrc
    args: -mat_type csrccuda -mat_csrc_layout csrc

  test:
    suffix: gpu_reproducible
    args: -mat_type csrccuda -mat_csrc_reproducible

  test:
    suffix: gpu_copies
    args: -mat_type csrccuda -mat_form_copies 2

  test:
    suffix: gpu_one
    nsize: 2
    args: -mat_type csrccuda -exchange_pattern {{lists gather}}

TEST*/
