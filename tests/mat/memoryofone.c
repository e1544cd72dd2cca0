static char help[] = "Device memory that does not suffice on one process: an error on all of them, and a matrix that is as good as before.\n\n";

#include "reference.h"
#include "caught.h"
#include <petscdevice_cuda.h>

#define PIECES 4096

/* Device memory that the test allocates, so that little is left */
static void    *piece[PIECES];
static PetscInt pieces = 0;

static PetscErrorCode Take(void)
{
  size_t avail, total;

  PetscFunctionBeginUser;
  PetscCallCUDA(cudaMemGetInfo(&avail, &total));
  for (size_t size = avail; size >= ((size_t)1 << 16) && pieces < PIECES;) {
    if (cudaMalloc(&piece[pieces], size) == cudaSuccess) pieces++;
    else {
      (void)cudaGetLastError();
      size /= 2;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Release(void)
{
  PetscFunctionBeginUser;
  while (pieces) PetscCallCUDA(cudaFree(piece[--pieces]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt many = 300000;
  PetscInt       bad  = 0;
  PetscMPIInt    rank, size;
  Reference      ref;
  Mat            A;
  Vec            x, y, u, v;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(ReferenceSetPattern());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ReferenceSparse(many, many, 5, 7919, 1, NULL, &A));
  PetscCall(ReferenceCreateFromMat("a million nonzeros", A, &ref));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(ReferenceFillVec(x, 1));
  PetscCall(MatMult(A, x, y));
  PetscCall(ReferenceCheckVec(&ref, REFERENCE_N, 1, -1, y, "with all memory", &bad));

  /* frees the stored form, which has to be built again; the last process has no memory for it */
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(MatScale(A, 2.0));
  PetscCall(MatScale(A, 0.5));
  if (rank == size - 1) PetscCall(Take());
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
  Catch(ierr, MatMult(A, x, y));
  if (!ierr) {
    PetscCall(PetscFPrintf(PETSC_COMM_SELF, stdout, "[%d] no error\n", rank));
    bad++;
  }
  if (rank == size - 1) PetscCall(Release());
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD)); /* all processes may share one device */

  /* new operands, since the failed product has left its operands locked */
  PetscCall(MatCreateVecs(A, &v, &u));
  PetscCall(ReferenceFillVec(v, 2));
  PetscCall(MatMult(A, v, u));
  PetscCall(ReferenceCheckVec(&ref, REFERENCE_N, 2, -1, u, "after the error", &bad));
  PetscCall(ReferenceFillVec(u, 3));
  PetscCall(MatMultTranspose(A, u, v));
  PetscCall(ReferenceCheckVec(&ref, REFERENCE_T, 3, -1, v, "after the error", &bad));
  PetscCall(ReferenceReport(bad));
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
    nsize: 2
    args: -mat_type csrccuda -exchange_pattern {{lists gather}}

TEST*/
