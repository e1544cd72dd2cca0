/* Sums of absolute values by row or by column, with CSR or without */
#include "parallel.h"

static void AddRowSums(void *ctx, PetscInt n, const PetscInt row[], const PetscInt col[], const PetscScalar val[])
{
  PetscReal *sums = (PetscReal *)ctx;

  (void)col;
  for (PetscInt k = 0; k < n; k++) sums[row[k]] += PetscAbsScalar(val[k]);
}

static void AddColumnSums(void *ctx, PetscInt n, const PetscInt row[], const PetscInt col[], const PetscScalar val[])
{
  PetscReal *sums = (PetscReal *)ctx;

  (void)row;
  for (PetscInt k = 0; k < n; k++) sums[col[k]] += PetscAbsScalar(val[k]);
}

PetscErrorCode MatDerivedAddSums(Mat A, PetscBool byrow, PetscReal sums[])
{
  const Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  if (f->released) {
    if (f->cache.nnz) PetscCall((*f->cache.stored.format->visit)(f->cache.stored.data, byrow ? AddRowSums : AddColumnSums, sums));
  } else {
    AIJCSR csr;

    PetscCall(MatDerivedGetCSR(A, PETSC_FALSE, &csr));
    for (PetscInt r = 0; r < csr.m; r++) {
      for (PetscInt k = csr.i[r]; k < csr.i[r + 1]; k++) sums[byrow ? r : csr.j[k]] += PetscAbsScalar(csr.a[k]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SumBlocks(Mat A, PetscBool byrow, PetscReal *sums[2])
{
  Mat blocks[2];

  PetscFunctionBegin;
  PetscCall(MatDerivedGetBlocks(A, &blocks[0], &blocks[1], NULL));
  PetscCall(PetscCalloc1(byrow ? A->rmap->n : blocks[0]->cmap->n + blocks[1]->cmap->n, &sums[0]));
  sums[1] = byrow ? sums[0] : sums[0] + blocks[0]->cmap->n;
  for (int k = 0; k < 2; k++) PetscCall(MatDerivedAddSums(blocks[k], byrow, sums[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedSumBlocks(Mat A, PetscBool byrow, PetscReal *sums[2])
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  sums[0] = NULL;
  ierr    = PetscCSRCAgree(PetscObjectComm((PetscObject)A), SumBlocks(A, byrow, sums), "Sums of absolute values");
  if (ierr) PetscCall(PetscFree(sums[0]));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest sum of |a| over a column, for blocks with CSR or without */
PetscErrorCode MatDerivedNorm1_MPI(Mat A, PetscReal *norm)
{
  Mat             blocks[2];
  const PetscInt *garray;
  PetscReal      *part[2];
  Vec             sums, ghostsums;
  VecScatter      scatter;
  IS              from;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetBlocks(A, &blocks[0], &blocks[1], &garray));
  PetscCall(MatDerivedSumBlocks(A, PETSC_FALSE, part));
  PetscCall(VecCreateMPI(PetscObjectComm((PetscObject)A), A->cmap->n, A->cmap->N, &sums));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, blocks[1]->cmap->n, &ghostsums));
  for (int k = 0; k < 2; k++) {
    Vec          column = k ? ghostsums : sums;
    PetscScalar *sum;

    PetscCall(VecGetArrayWrite(column, &sum));
    for (PetscInt l = 0; l < blocks[k]->cmap->n; l++) sum[l] = part[k][l];
    PetscCall(VecRestoreArrayWrite(column, &sum));
  }
  PetscCall(PetscFree(part[0]));
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, blocks[1]->cmap->n, garray, PETSC_USE_POINTER, &from));
  PetscCall(VecScatterCreate(sums, from, ghostsums, NULL, &scatter));
  PetscCall(VecScatterBegin(scatter, ghostsums, sums, ADD_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterEnd(scatter, ghostsums, sums, ADD_VALUES, SCATTER_REVERSE));
  PetscCall(VecNorm(sums, NORM_INFINITY, norm));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(ISDestroy(&from));
  PetscCall(VecDestroy(&sums));
  PetscCall(VecDestroy(&ghostsums));
  PetscFunctionReturn(PETSC_SUCCESS);
}
