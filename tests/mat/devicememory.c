static char help[] = "Device memory exhausted when the form is built: an error that names bytes; the host matrix works on.\n\n";

#include "reference.h"
#include "caught.h"
#include <petscdevice_cuda.h>

#define BLOCKS 4096

/* Takes all of the device's memory, in smaller and smaller pieces */
static PetscErrorCode Exhaust(void *blocks[], PetscInt *n)
{
  size_t avail, total, piece;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemGetInfo(&avail, &total));
  for (piece = avail, *n = 0; piece >= 4096 && *n < BLOCKS;) {
    if (cudaMalloc(&blocks[*n], piece) == cudaSuccess) (*n)++;
    else {
      (void)cudaGetLastError();
      piece /= 2;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Release(void *blocks[], PetscInt *n)
{
  PetscFunctionBegin;
  while (*n) PetscCallCUDA(cudaFree(blocks[--(*n)]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static void   *blocks[BLOCKS];
  PetscInt       n, bad = 0, many = 200000, count = 0, *rows, *cols;
  PetscScalar   *vals;
  Reference      ref;
  Mat            A;
  Vec            x, y, u, v, p;
  PetscErrorCode ierr;
  char          *wants, *free, *way;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscMalloc3(5 * many, &rows, 5 * many, &cols, 5 * many, &vals));
  for (PetscInt i = 0; i < many; i++) {
    for (PetscInt k = 0; k < 5; k++) {
      rows[count]   = i;
      cols[count]   = (i + 1000 * k) % many;
      vals[count++] = ReferenceValue(1, 5 * i + k);
    }
  }
  PetscCall(ReferenceCreate("a million nonzeros", many, many, count, rows, cols, vals, &ref));
  PetscCall(PetscFree3(rows, cols, vals));
  PetscCall(ReferenceToMat(&ref, PETSC_COMM_WORLD, &A));
  PetscCall(MatCreateVecs(A, &x, &u));
  PetscCall(MatCreateVecs(A, &y, &v));
  PetscCall(VecDuplicate(x, &p)); /* for the product that fails, which leaves it locked */
  /* the vectors take their device memory now */
  PetscCall(VecSet(p, 1));
  PetscCall(VecSet(x, 1));
  PetscCall(VecSet(y, 1));
  PetscCall(VecSet(u, 1));
  PetscCall(VecSet(v, 1));

  PetscCall(Exhaust(blocks, &n));
  Catch(ierr, MatMult(A, p, v));
  PetscCall(PetscStrstr(caught.message, "bytes", &wants));
  PetscCall(PetscStrstr(caught.message, "free", &free));
  PetscCall(PetscStrstr(caught.message, "MatBindToCPU", &way));
  if (ierr == PETSC_ERR_MEM && wants && free && way) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error: names bytes wanted and free, and the way out\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error %d, %s\n", (int)ierr, caught.message));

  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(ReferenceCheckEntries(&ref, A, "after the error", &bad));
  PetscCall(ReferenceCheckProductsWithVecs(&ref, A, x, y, u, v, &bad));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "bound to the CPU: %" PetscInt_FMT " wrong entries\n", bad));

  PetscCall(Release(blocks, &n));
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
  PetscCall(ReferenceCheckProductsWithVecs(&ref, A, x, y, u, v, &bad));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "on the device again: %" PetscInt_FMT " wrong entries\n", bad));
  PetscCall(VecDestroy(&p));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
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

TEST*/
