/* The 1-norm of the parallel type, which PETSc computes wrongly where vectors are on devices */
#include "parallel.h"

/* The sums of |a| over the columns of both blocks, in one array */
static PetscErrorCode ColumnSums(Mat A, PetscReal **sums)
{
  Mat        blocks[2];
  PetscReal *first;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetBlocks(A, &blocks[0], &blocks[1], NULL));
  PetscCall(PetscCalloc1(blocks[0]->cmap->n + blocks[1]->cmap->n, sums));
  first = *sums;
  for (int k = 0; k < 2; k++, first += blocks[0]->cmap->n) {
    AIJCSR csr;

    PetscCall(MatDerivedGetCSR(blocks[k], PETSC_FALSE, &csr));
    for (PetscInt p = 0; p < csr.nnz; p++) first[csr.j[p]] += PetscAbsScalar(csr.a[p]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedNorm1_MPI(Mat A, PetscReal *norm)
{
  const MPI_Comm  comm    = PetscObjectComm((PetscObject)A);
  PetscReal      *sums    = NULL;
  PetscReal       largest = 0.0;
  Mat             Ad, Ao;
  const PetscInt *garray;
  PetscSF         sf;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetBlocks(A, &Ad, &Ao, &garray));
  ierr = PetscCSRCAgree(comm, ColumnSums(A, &sums), "Sums of absolute values");
  if (ierr) PetscCall(PetscFree(sums));
  PetscCall(ierr);
  PetscCall(PetscSFCreate(comm, &sf));
  PetscCall(PetscSFSetGraphLayout(sf, A->cmap, Ao->cmap->n, NULL, PETSC_OWN_POINTER, garray));
  PetscCall(PetscSFReduceBegin(sf, MPIU_REAL, PetscSafePointerPlusOffset(sums, Ad->cmap->n), sums, MPIU_SUM));
  PetscCall(PetscSFReduceEnd(sf, MPIU_REAL, PetscSafePointerPlusOffset(sums, Ad->cmap->n), sums, MPIU_SUM));
  PetscCall(PetscSFDestroy(&sf));
  for (PetscInt k = 0; k < Ad->cmap->n; k++) largest = PetscMax(largest, sums[k]);
  PetscCall(PetscFree(sums));
  PetscCallMPI(MPIU_Allreduce(&largest, norm, 1, MPIU_REAL, MPIU_MAX, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}
