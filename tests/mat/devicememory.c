static char help[] = "Device memory that does not suffice: an error that names bytes, and a matrix that is as good as before.\n\n";

#include "reference.h"
#include "caught.h"
#include <petscdevice_cuda.h>

#define PIECES 4096
#define ROOM   ((size_t)1 << 28) /* bytes of device memory that the test uses at most; with all of the memory each attempt would take too long */
#define STEP   ((size_t)1 << 23) /* additional bytes in each attempt */

/* Device memory that the test allocates, so that little is left */
typedef struct {
  void    *piece[PIECES];
  PetscInt n;
} Taken;

static Taken    most, rest;
static PetscInt bad = 0;

/* Allocates device memory, in smaller and smaller pieces, until only `bytes` are left */
static PetscErrorCode Leave(size_t bytes, Taken *taken)
{
  void  *left = NULL;
  size_t avail, total;

  PetscFunctionBegin;
  if (bytes) PetscCallCUDA(cudaMalloc(&left, bytes));
  PetscCallCUDA(cudaMemGetInfo(&avail, &total));
  for (size_t size = avail; size >= 4096 && taken->n < PIECES;) {
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

/* What PETSc prints meanwhile: the number of layouts that were left out, and the last line that says what was chosen */
static PetscInt leftout;
static char     chosen[256];

static PetscErrorCode Watch(FILE *fd, const char format[], va_list args)
{
  char line[8192], *found;

  PetscFunctionBegin;
  (void)fd;
  PetscCall(PetscVSNPrintf(line, sizeof(line), format, NULL, args));
  PetscCall(PetscStrstr(line, "left out", &found));
  if (found) leftout++;
  PetscCall(PetscStrstr(line, "chosen by timing", &found));
  if (found) PetscCall(PetscStrncpy(chosen, found, sizeof(chosen)));
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
  Repeats a product with more and more memory, until it succeeds and no layout is left out: first there are errors, then results. After each
  error the product must succeed with all of the memory. renew: with new values in an existing form. Counts the attempts that failed, and
  those that succeeded although layouts were left out.
*/
static PetscErrorCode Squeeze(const char what[], const Reference *ref, Mat A, PetscErrorCode (*multiply)(Mat, const Operands *), const Operands *o, PetscBool renew, PetscInt *refused, PetscInt *without)
{
  PetscErrorCode (*const print)(FILE *, const char[], va_list) = PetscVFPrintf;
  PetscErrorCode ierr;
  size_t         before, after;
  PetscBool      again = PETSC_TRUE;

  PetscFunctionBegin;
  *refused = *without = 0;
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
    PetscCall(Leave(bytes, &rest));
    leftout = 0;
    PetscCall(PetscInfoAllow(PETSC_TRUE));
    PetscVFPrintf = Watch;
    Catch(ierr, (*multiply)(A, o));
    PetscVFPrintf = print;
    PetscCall(PetscInfoAllow(PETSC_FALSE));
    PetscCall(Release(&rest));
    again = ierr || leftout ? PETSC_TRUE : PETSC_FALSE;
    if (!ierr && leftout) ++*without;
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

/* With new values the choice made by timing is kept */
static PetscErrorCode CheckKept(Mat A, const Operands *o)
{
  PetscErrorCode (*const print)(FILE *, const char[], va_list) = PetscVFPrintf;
  char first[256]                                              = "";

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    PetscCall(Multiply(A, o));
    chosen[0]     = 0;
    PetscVFPrintf = Watch;
    PetscCall(PetscViewerPushFormat(PETSC_VIEWER_STDOUT_SELF, PETSC_VIEWER_ASCII_INFO_DETAIL));
    PetscCall(MatView(A, PETSC_VIEWER_STDOUT_SELF));
    PetscCall(PetscViewerPopFormat(PETSC_VIEWER_STDOUT_SELF));
    PetscVFPrintf = print;
    if (!k) PetscCall(PetscStrncpy(first, chosen, sizeof(first)));
    if (!chosen[0] || strcmp(first, chosen)) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the view says \"%s\" first and \"%s\" after new values\n", first, chosen));
      bad++;
    }
    PetscCall(Renew(A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt many = 200000;
  PetscInt       refused, without;
  Reference      ref;
  Operands       o;
  Mat            A;
  PetscBool      timed = PETSC_FALSE;
  size_t         avail;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscInfoSetFile(NULL, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-mat_csrc_tune", &timed));
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
  PetscCall(Leave(ROOM, &most));
  if (timed) PetscCall(CheckKept(A, &o));
  PetscCall(Squeeze("products with vectors", &ref, A, Multiply, &o, PETSC_FALSE, &refused, &without));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "products with vectors: %s%s\n", refused ? "refused, then right" : "never refused", without ? ", also while some layouts did not fit" : ""));
  PetscCall(Squeeze("new values", &ref, A, Multiply, &o, PETSC_TRUE, &refused, &without));
  PetscCall(MatMatMult(A, o.X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &o.Y));
  PetscCall(Squeeze("products with dense matrices", &ref, A, MultiplyDense, &o, PETSC_FALSE, &refused, &without));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "products with dense matrices: %s\n", refused ? "refused, then right" : "never refused"));

  /* the remedy that the error message names */
  PetscCall(Reset(A, &avail));
  PetscCall(Leave(0, &rest));
  Catch(ierr, Multiply(A, &o));
  PetscCall(CheckError("without any memory", ierr));
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(ReferenceCheckEntries(&ref, A, 0.0, "after the error", &bad));
  PetscCall(Multiply(A, &o));
  PetscCall(ReferenceCheckVec(&ref, REFERENCE_N, 1, -1, o.y, "bound to the CPU", &bad));
  PetscCall(ReferenceCheckVec(&ref, REFERENCE_T, 2, -1, o.v, "bound to the CPU", &bad));
  PetscCall(Release(&rest));
  PetscCall(Release(&most));
  PetscCall(ReferenceReport(bad));
  PetscCall(VecDestroy(&o.x));
  PetscCall(VecDestroy(&o.y));
  PetscCall(VecDestroy(&o.u));
  PetscCall(VecDestroy(&o.v));
  PetscCall(MatDestroy(&o.X));
  PetscCall(MatDestroy(&o.Y));
  PetscCall(MatDestroy(&A));
  PetscCall(ReferenceDestroy(&ref));
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
    suffix: gpu_time
    args: -mat_type csrccuda -mat_csrc_tune time

TEST*/
